"""Makes docs/reference/command-line.md from what `--help` says: `.venv/bin/python docs/make_command_line.py`.

Commands, options and their meanings come from the help alone; an option that says the same in several
commands is described once. tests/test_docs.py compares the page with the help.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from discreet.cli import run

PAGE = Path(__file__).parent / "reference" / "command-line.md"
SHARED_BY = 4
"""An option that has the same words in so many commands is described once."""

MORE = {
    "account": "[What it prints](output.md#discreet-account)",
    "accuracy": "[Reference](estimation.md#discreet-accuracy)",
    "calibrate": "[How to](../howto/calibrate.md), [what it prints](output.md#other-commands)",
    "compare": "[How to](../howto/compare-releases.md)",
    "estimate": "[Reference](estimation.md#discreet-estimate)",
    "ledger": "[Reference](measurements.md#the-ledger)",
    "measure": "[How to](../howto/measure.md), [files](measurements.md)",
    "plan": "[Reference](estimation.md#discreet-plan)",
    "report": "[How to](../howto/report.md)",
    "reproduce": "[How to](../howto/reproduce.md)",
    "risk": "[Reference](risk.md)",
    "safetab": "[Reference](safetab.md)",
    "show": "[Release files](release-toml.md)",
    "tabulate": "[Reference](estimation.md#discreet-tabulate)",
    "verify": "[How to](../howto/hand-on.md)",
    "workbench": "[How to](../howto/workbench.md)",
}
"""Where to read on about a command."""

HEAD = """\
# The command line

Every command with its options, as `discreet COMMAND --help` prints them; `make command-line` made this page.
[What commands take and print](output.md) has targets, numbers, tables, JSON and exit statuses, and the
[glossary](../glossary.md) terms such as [ledger](../glossary.md#ledger),
[neighbours](../glossary.md#neighbours) and [query](../glossary.md#query).
"""


@dataclass(frozen=True)
class Help:
    """What `--help` says of one command."""

    usage: str
    text: tuple[str, ...]
    """Paragraphs outside the boxes, without the examples."""
    boxes: dict[str, dict[str, str]]
    """Arguments, options (`Parameters`) and commands, with their meanings."""
    examples: tuple[str, ...]


def read(printed: str) -> Help:
    """Take a help text apart; it must have been printed so wide that no row is wrapped.

    >>> box = "╭─ Parameters ─╮\\n│ *  --out DIR  Where to. [required] │\\n╰─╯"
    >>> read(f"Usage: discreet show\\n\\nShow it.\\n\\n{box}\\n\\nExamples:\\n  discreet show a").boxes
    {'Parameters': {'--out DIR': 'Where to. Required.'}}
    """
    boxes: dict[str, dict[str, str]] = {}
    text: list[str] = []
    for line in printed.splitlines():
        if title := re.match(r"╭─ (\w+) ", line):
            rows = boxes.setdefault(title[1], {})
        elif line.startswith("│"):
            name, _, meaning = re.sub(r"^\*\s+", "", line.strip("│ ")).partition("  ")
            meaning = re.sub(r" ?\[required\]$", " Required.", meaning.strip()).strip()
            rows[name] = meaning
        elif not line.startswith("╰"):
            text.append(line)
    usage, *paragraphs = (part.strip("\n") for part in "\n".join(text).split("\n\n") if part.strip())
    examples = [part for part in paragraphs if part.startswith("Example")]
    said = tuple(" ".join(part.split()) for part in paragraphs if part not in examples)
    commands = tuple(line.strip() for part in examples for line in part.splitlines()[1:])
    return Help(" ".join(usage.removeprefix("Usage: ").split()), said, boxes, commands)


def ask(*words: str) -> Help:
    """Return the help of a command, or of the program."""
    printed = io.StringIO()
    wide = {"COLUMNS": "2000", "NO_COLOR": "1", "TERM": "dumb"}
    with mock.patch.dict(os.environ, wide), contextlib.redirect_stdout(printed):
        run([*words, "--help"])
    return read(printed.getvalue())


def commands() -> dict[tuple[str, ...], Help]:
    """Return the help of every command and of what it is made of, in the order of the help."""
    found: dict[tuple[str, ...], Help] = {}
    waiting: list[tuple[str, ...]] = [(name,) for name in _names(ask())]
    while waiting:
        words = waiting.pop(0)
        found[words] = ask(*words)
        waiting = [(*words, name) for name in _names(found[words])] + waiting
    return found


def _names(said: Help) -> list[str]:
    return [name for name in said.boxes.get("Commands", {}) if not name.startswith("-")]


def page() -> str:
    """Return the whole page."""
    found = commands()
    counted = Counter(
        row for said in found.values() for row in said.boxes.get("Parameters", {}).items() if row[1]
    )
    shared = {row for row, times in counted.items() if times >= SHARED_BY}
    listed = [
        (f"[`discreet {words[0]}`](#discreet-{words[0]})", said.text[0])
        for words, said in found.items()
        if len(words) == 1
    ]
    parts = [HEAD, _list(listed), "## Options of several commands\n"]
    parts.append(_list([(f"`{name}`", meaning) for name, meaning in sorted(shared)]))
    shown: set[tuple[str, ...]] = set()
    first: dict[str, str] = {}
    for words, said in found.items():
        name = f"discreet {' '.join(words)}"
        parts.append(f"{'#' * (1 + len(words))} `{name}`\n")
        more = f" {MORE[words[0]]}." if len(words) == 1 and words[0] in MORE else ""
        parts.append(f"`{said.usage}`\n\n{' '.join(said.text)}{more}\n")
        same = first.setdefault(repr(said.boxes), name)
        if said.boxes and same != name:
            parts.append(f"Arguments and options are those of `{same}`.\n")
            continue
        rows = [(f"`{argument}`", meaning) for argument, meaning in said.boxes.get("Arguments", {}).items()]
        options = said.boxes.get("Parameters", {}).items()
        rows += [(f"`{row[0]}`", row[1]) for row in options if row not in shared]
        if rows:
            parts.append(_list(rows))
        if also := [f"`{row[0].split()[0]}`" for row in options if row in shared]:
            parts.append(f"Also {', '.join(also)}.\n")
        if said.examples and said.examples not in shown:
            shown.add(said.examples)
            parts.append("```sh\n" + "\n".join(said.examples) + "\n```\n")
    return "\n".join(parts)


def _list(rows: list[tuple[str, str]]) -> str:
    return "".join(f"- {name}: {meaning}\n" if meaning else f"- {name}\n" for name, meaning in rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
