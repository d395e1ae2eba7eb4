"""The body of an answer as a page of Markdown, for those who keep or hand on the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.answers.answer import (
    AnswerTable,
    Bullets,
    Heading,
    Marked,
    Paragraph,
    Part,
    Sentence,
    Verbatim,
    Words,
)


def markdown_of(title: str, body: Sequence[Part]) -> str:
    """Return a page with this title; in names nothing is taken for an emphasis.

    >>> from discreet.answers.answer import marked, sentence
    >>> said = sentence("{name} A county*sex.", name=marked("One.", "strong"))
    >>> print(markdown_of("A page", [Heading("Part"), Bullets((said,))]), end="")
    # A page
    <BLANKLINE>
    ## Part
    <BLANKLINE>
    - *One.* A county\\*sex.
    """
    lines = [f"# {escaped(title)}", ""]
    for part in body:
        if part == "":
            continue
        lines += [*_lines(part), ""]
    return "\n".join(lines)


def escaped(words: str) -> str:
    """Write words in which Markdown sees no emphasis.

    >>> print(escaped("sex*age"))
    sex\\*age
    """
    return words.replace("*", r"\*").replace("_", r"\_")


def _lines(part: Part) -> Iterator[str]:
    match part:
        case Heading():
            yield f"## {escaped(part.text)}"
        case Bullets():
            yield from (f"- {_words(item)}" for item in part.items)
        case AnswerTable():
            if part.title:
                yield from (f"{escaped(part.title)}:", "")
            yield f"| {' | '.join(escaped(column.title) for column in part.head)} |"
            yield f"|{' --- |' * len(part.head)}"
            yield from (f"| {' | '.join(map(escaped, row))} |" for row in part.cells)
        case Verbatim():
            yield from (f"    {line}" for line in part.text.splitlines())
        case Paragraph():
            yield _words(part.text)
        case str() | Sentence():
            yield _words(part)
        case _:
            raise TypeError(f"a page of Markdown has no {type(part).__name__}")


def _words(words: Words) -> str:
    match words:
        case Marked(role="code"):
            return f"`{words}`"
        case Marked(role="strong"):
            return f"*{''.join(map(_words, words.parts))}*"
        case Marked() | Sentence():
            return "".join(map(_words, words.parts))
        case _:
            return escaped(str(words))
