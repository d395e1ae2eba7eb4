"""Makes docs/reference/command-line.md from what `--help` says: `.venv/bin/python docs/make_command_line.py`.

Commands, options and their meanings come from the help alone; an argument or option that says the same in
several commands is described once. tests/test_docs.py compares the page with the help.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from discreet.cli import run
from discreet.cli.console import TRY

PAGE = Path(__file__).parent / "reference" / "command-line.md"
MORE = {
    "account": "[What it prints](output.md#discreet-account)",
    "accuracy": "[Reference](estimation.md#discreet-accuracy)",
    "calibrate": "[How to](../howto/calibrate.md), [what it prints](output.md#other-commands)",
    "check-tables": "[How to](../howto/microdata.md#3-check-them)",
    "completion": "[How to](../howto/shell.md)",
    "compare": "[How to](../howto/compare-releases.md)",
    "estimate": "[Reference](estimation.md#discreet-estimate)",
    "init": "[How to](../howto/init.md)",
    "ledger": "[Reference](measurements.md#the-ledger)",
    "measure": "[How to](../howto/measure.md), [files](measurements.md)",
    "plan": "[Reference](estimation.md#discreet-plan)",
    "policy": "[How to](../howto/policy.md), [rules](policy.md)",
    "registry": "[How to](../howto/registry.md)",
    "explain": "[Reference](risk.md#discreet-explain)",
    "report": "[How to](../howto/report.md)",
    "reproduce": "[How to](../howto/reproduce.md)",
    "risk": "[Reference](risk.md)",
    "safetab": "[Reference](safetab.md)",
    "schema": "[Schemas](output.md#json-and-its-schemas)",
    "show": "[Release files](release-toml.md)",
    "tabulate": "[Reference](estimation.md#discreet-tabulate)",
    "verify": "[How to](../howto/hand-on.md)",
    "workbench": "[How to](../howto/workbench.md)",
}
"""Where to read on about a command."""

SHARED_BY = 3
"""What so many commands describe in the same words is described at the top; less often, where it is first."""
HEAD = """\
# The command line

Every command with its options. `discreet COMMAND --help` prints the same, with examples; `make command-line`
made this page. The first line of a command shows what follows its name: required unless in brackets, or
unless an option says that it stands instead.
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

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Arguments and options, with their meanings."""
        return [row for box in ("Arguments", "Parameters") for row in self.boxes.get(box, {}).items()]


def read(printed: str) -> Help:
    """Take a help text apart; it must have been printed so wide that no row is wrapped.

    >>> box = "╭─ Parameters ─╮\\n│ *  --out DIR  Where to. [required] │\\n╰─╯"
    >>> read(f"Usage: discreet show\\n\\nShow it.\\n\\n{box}\\n\\nExamples:\\n  discreet show a").boxes
    {'Parameters': {'--out DIR': 'Where to.'}}
    """
    boxes: dict[str, dict[str, str]] = {}
    text: list[str] = []
    for line in printed.splitlines():
        if title := re.match(r"╭─ (\w+) ", line):
            rows = boxes.setdefault(title[1], {})
        elif line.startswith("│"):
            name, _, meaning = re.sub(r"^\*\s+", "", line.strip("│ ")).partition("  ")
            rows[name] = meaning.strip().removesuffix("[required]").strip()
        elif not line.startswith("╰"):
            text.append(line)
    usage, *paragraphs = (part.strip("\n") for part in "\n".join(text).split("\n\n") if part.strip())
    said = tuple(" ".join(part.split()) for part in paragraphs if not part.startswith(("Example", TRY)))
    return Help(" ".join(usage.removeprefix("Usage: ").split()), said, boxes)


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


def shared(found: Iterable[Help]) -> list[tuple[str, str]]:
    """Return what several commands describe in the same words; of one name, the most frequent description.

    >>> one, two = {"--out DIR": "Where to.", "--json": "As JSON."}, {"--out DIR": "Where to."}
    >>> shared(Help("", (), {"Parameters": options}) for options in (one, two, two))
    [('--out DIR', 'Where to.')]
    """
    counted = Counter(row for said in found for row in said.rows if row[1])
    rows: dict[str, tuple[str, str]] = {}
    for row, times in counted.most_common():
        if times >= SHARED_BY:
            rows.setdefault(_name(row), row)
    return sorted(rows.values())


def page() -> str:
    """Return the whole page."""
    found = commands()
    once = shared(found.values())
    listed = [f"[`{words[0]}`](#discreet-{words[0]})" for words in found if len(words) == 1]
    parts = [HEAD, ", ".join(listed) + ".\n", "## In several commands\n", _list(once)]
    where = dict.fromkeys(once, "[above](#in-several-commands)")
    for words, said in found.items():
        name = f"discreet {' '.join(words)}"
        parts.append(f"{'#' * (1 + len(words))} `{name}`\n")
        more = f" {MORE[words[0]]}." if len(words) == 1 and words[0] in MORE else ""
        usage = said.usage.replace(f"{name} ", "").removesuffix("[OPTIONS]").strip()
        if usage:
            parts.append(f"`{usage}`\n")
        parts.append(f"{' '.join(said.text)}{more}\n")
        here = f"[`{name}`](#{name.replace(' ', '-')})"
        new: list[tuple[str, str]] = []
        told: dict[str, list[str]] = {}
        for row in said.rows:
            if where.setdefault(row, here) == here:
                new.append(row)
            elif row not in once or row[0].startswith("-") or _name(row) not in usage:
                told.setdefault(where[row], []).append(f"`{_name(row)}`")
        if new:
            parts.append(_list(new))
        if told:
            also = (f"As {place}: {', '.join(names)}." for place, names in told.items())
            parts.append(" ".join(also) + "\n")
    return "\n".join(parts)


def _name(row: tuple[str, str]) -> str:
    return row[0].split()[0]


def _list(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(f"- `{name}`: {meaning}\n" if meaning else f"- `{name}`\n" for name, meaning in rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
