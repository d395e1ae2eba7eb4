"""Commands as they are pasted: what is too long for a terminal goes on in the next line."""

from __future__ import annotations

_WIDTH = 80
"""Columns that a command may take."""


def folded_command(line: str, *, indent: str = "") -> str:
    r"""Write a command so that 80 columns hold it, and it can be pasted from there.

    >>> line = "discreet plan survey --tree survey/units.csv --keep Region --epsilon 1/2 --json"
    >>> print(folded_command(line))
    discreet plan survey --tree survey/units.csv --keep Region --epsilon 1/2 \
        --json
    """
    first, *options = line.split(" --")  # an option stays with its value
    made = [f"{indent}{first}"]
    for option in options:
        word = f" --{option}"
        if len(made[-1]) + len(word) + 2 > _WIDTH:
            made[-1] += " \\"
            made.append(f"{indent}   ")
        made[-1] += word
    return "\n".join(made)
