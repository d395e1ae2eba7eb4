"""The questions of `discreet init` on a terminal: what no option said, asked one after the other.

Texts of the file are shown to its owner here, and nowhere else. What is typed will be public; what was shown
is not kept.
"""

from __future__ import annotations

import csv
import io
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from discreet.cli import console
from discreet.errors import InputError, visible
from discreet.ledger.admission import Request, admit
from discreet.measurement.drafting import UNKNOWN, public_values
from discreet.numbers import brief, positive
from discreet.records.ages import are_births, read_day
from discreet.records.suggestion import AGE_BANDS, ColumnProfile, is_named, profiles_of_file

_ALL = "all"
"""What takes the texts that are shown as the values."""

_EACH = {"area_columns": "--area-column", "attributes": "--attribute", "tables": "--table"}
"""Options that are given once for each of several values."""

_MOST_SHOWN = 30
"""Texts of a column that are shown."""


def ask_for(records: Path, given: Mapping[str, console.Given], *, out: Path) -> dict[str, console.Given]:
    """Return the options with answers to what was left open; with attributes and a promise nothing is.

    The command that is shown writes to the same directory, `out`.
    """
    asked = dict(given)
    if given.get("attributes") and (given.get("epsilon") or given.get("margin")):
        return asked
    admit(records, Request(exact_counts=True, entered=False))
    columns = profiles_of_file(records)[2]
    console.write(f"CONFIDENTIAL, for your eyes: the columns of {records.name}\n")
    for column in columns.values():
        console.write(f"  {visible(column.name)}: {visible(_described(column))}\n")
    if not asked.get("area_columns"):
        likely = [name for name in columns if is_named(name, "area")]
        question = "Which columns are areas, the largest first? A minus if there are none."
        if asked.get("areas"):
            question, likely = "Which column is the lowest area?", likely[-1:]
        asked["area_columns"] = _columns(question, columns, ", ".join(likely), "-")
    if not asked.get("attributes"):
        chosen = _columns("Which columns may be counted and published?", columns, "", "")
        asked["attributes"] = [_attribute(columns[name]) for name in chosen]
        if not asked.get("tables"):
            text = "Which tables, such as age * sex? Enter: the total, each of them, and all together."
            asked["tables"] = _listed(_answer(text, may_be_empty=True))
    if not (asked.get("epsilon") or asked.get("margin")):
        asked |= _promise(has_delta="delta" in asked)
    used = [name for name in columns if any(_names(text, name) for text in _stated(asked))]
    if not asked.get("missing") and (gaps := [name for name in used if columns[name].has_gaps()]):
        asked["missing"] = _choice(
            f"Some records have no value of {', '.join(gaps)}. Leave them out (leave-out), or count them "
            f"under a value ({UNKNOWN})?",
            ("leave-out", UNKNOWN),
        )
    if not asked.get("age_on") and (born := [name for name in used if are_births(columns[name].values)]):
        question = f"{', '.join(born)} holds births. On which day do ages count, such as 2025-12-31?"
        asked["age_on"] = _until(question, "", _no_day)
    where = {} if out == Path() else {"out": out}
    console.write(f"\nThe same without questions:\n{as_command(records, asked | where)}\n\n")
    return asked


def as_command(records: Path, asked: Mapping[str, console.Given]) -> str:
    """Return the command with all options.

    >>> as_command(Path("a.csv"), {"attributes": ["sex: f, m"], "age_on": "2025-12-31"})
    "discreet init a.csv --attribute 'sex: f, m' --age-on 2025-12-31"
    """
    words = ["discreet", "init", str(records)]
    for name, value in asked.items():
        option = _EACH.get(name, f"--{name.replace('_', '-')}")
        for one in value if name in _EACH else [value]:
            words += [option, str(one)]
    return shlex.join(words)


def _described(column: ColumnProfile) -> str:
    """Say what a column holds."""
    if column.numeric_share >= 0.5 and column.least is not None and column.most is not None:
        return f"numbers from {brief(float(column.least))} to {brief(float(column.most))}"
    values = list(column.values)
    if column.texts is None or len(values) > _MOST_SHOWN:
        return "many different texts"
    return ", ".join(values) or "nothing"


def _answer(question: str, default: str = "", *, may_be_empty: bool = False) -> str:
    """Ask until there is an answer."""
    while True:
        console.write(f"\n{question}{f' [{default}]' if default else ''}\n> ")
        line = sys.stdin.readline()
        if not line:
            raise InputError("the questions were not answered to the end; nothing was written")
        if answer := line.strip() or default:
            return answer
        if may_be_empty:
            return ""


def _until(question: str, default: str, wrong: Callable[[str], str]) -> str:
    """Ask until nothing is wrong with the answer."""
    while why := wrong(answer := _answer(question, default)):
        console.write(f"{why}\n")
    return answer


def _choice(question: str, choices: Sequence[str]) -> str:
    return _until(question, "", lambda text: "" if text in choices else f"Type {' or '.join(choices)}.")


def _columns(question: str, columns: Mapping[str, ColumnProfile], default: str, none: str) -> list[str]:
    """Ask for columns by their names."""

    def wrong(text: str) -> str:
        unknown = [name for name in _listed(text) if name not in columns]
        return "" if text == none or not unknown else f"There is no column {', '.join(unknown)}."

    text = _until(question, default, wrong)
    return [] if text == none else _listed(text)


def _attribute(column: ColumnProfile) -> str:
    """Ask for the values of a column, and return them as the option has them."""
    known, shown = public_values(column), list(column.values)
    if are_births(shown):
        known = AGE_BANDS
    question = (
        f"Which values can {column.name} have? All of the questionnaire, whether anybody gave them or not; "
        "VALUE=CODE where the file has a code."
    )
    is_short = not known and column.texts is not None and 0 < len(shown) <= _MOST_SHOWN
    if is_short:
        question += f" {_ALL!r} takes what the file has: {visible(', '.join(shown))}."
    answer = _answer(question, _written(known))
    return f"{column.name}: {_written(sorted(shown)) if is_short and answer == _ALL else answer}"


def _promise(*, has_delta: bool) -> dict[str, str]:
    """Ask for a promise, or for a margin of error."""
    kind = _choice(
        "State a promise (epsilon), or how accurate estimates must be (margin)?", ("epsilon", "margin")
    )
    what = "Epsilon?" if kind == "epsilon" else "The 95 % margin of error of every estimate, in people?"
    made = {kind: _until(what, "", _no_number)}
    return made if has_delta else made | {"delta": _until("Delta?", "1e-10", _no_number)}


def _no_number(text: str) -> str:
    try:
        positive(text, name="it")
    except InputError as error:
        return f"{error}."
    return ""


def _no_day(text: str) -> str:
    try:
        read_day(text)
    except InputError as error:
        return f"{error}."
    return ""


def _listed(text: str) -> list[str]:
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True), []) if part.strip()]


def _written(values: Sequence[str]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="").writerow(values)
    return stream.getvalue().replace(",", ", ") if values else ""


def _stated(asked: Mapping[str, console.Given]) -> list[str]:
    return [*asked.get("attributes", ()), *asked.get("area_columns", ())]


def _names(text: str, column: str) -> bool:
    """Whether what is said of a column is about this one."""
    left = text.partition(":")[0].strip()
    return column.casefold() in (left.casefold(), left.partition("=")[2].strip().casefold())
