"""A drafted release as TOML that explains itself: above each line stands why it is there.

The lines are those in which every release is written, so what is explained is what will be read. A line that
nothing here explains is an error, and not a line without a reason.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from discreet.budget import Release
from discreet.budget.attributes import DETAILED, TOTAL
from discreet.budget.release_toml import release_lines
from discreet.measurement.drafting import UNKNOWN, Draft
from discreet.numbers import brief

_PLAIN = {
    "name": "what ledgers and outputs call this release",
    "unit": "whose privacy is protected: each line of the file is one person, who is counted once",
    "neighbours": "what is hidden: one person's answers and place (bounded: the number of records is known; "
    "unbounded would hide that, too)",
    "encoding": "the letters of the file are coded so",
    "delimiter": "this stands between the columns of the file",
    "decimal": "this stands before the decimals in the numbers of the file",
    "quote": "this stands around texts of the file that hold a delimiter",
    "trim": "spaces around values of the file are no part of them",
    "ignore_case": "capitals make no difference between values of the file",
    "missing": "texts that usually stand for no value: a public list, whether the file has them or not",
}
"""Why a line stands there, by its key."""

_HEADS = {
    "[attributes]": "what is counted: every value that there can be, whether anybody has it or not",
    "[levels.queries]": "the tables of each area, each with its part of the budget: variance 1/rho",
    "[input]": "how the file is written; it may stay as it is",
    "[input.columns]": "which column is which attribute, and the area (unit)",
}
"""Why a table begins, by its line."""


def commented(draft: Draft) -> str:
    """Return the release of a draft as TOML, with a reason above each line.

    >>> from discreet.measurement import draft
    >>> import pyarrow
    >>> survey = pyarrow.table({"sex": ["f", "m"]})
    >>> text = commented(draft(survey, attributes=["sex"], margin=10, name="survey"))
    >>> print(*text.splitlines()[3:5], sep="\\n")
    # what ledgers and outputs call this release
    name = "survey"
    """
    return "\n".join(_lines(draft)) + "\n"


def _lines(draft: Draft) -> Iterator[str]:
    release = draft.release
    promise = f"epsilon {brief(float(draft.plan.epsilon))} at delta {brief(float(draft.plan.delta))}"
    yield f"# A draft. It promises {promise}; nothing is spent before a run without --rehearsal."
    yield "# Each line says why it is there. Change what is wrong, then ask discreet account again."
    yield ""
    level, section = "", ""
    for line in release_lines(release):
        if not line:
            yield ""
            continue
        if line.startswith("["):
            section = line
        key = _key(line)
        if section == "[[levels]]" and key == "name":
            level = tomllib.loads(line)["name"]
        yield f"# {_reason(draft, section, key, level, line)}"
        yield line


def _key(line: str) -> str:
    """Return the key of a line, or nothing if it begins a table.

    >>> _key('"age" = ["0-17", "18+"]'), _key("[input]")
    ('age', '')
    """
    return "" if line.startswith("[") else next(iter(tomllib.loads(line)))


def _reason(draft: Draft, section: str, key: str, level: str, line: str) -> str:
    """Return why a line of the release stands there."""
    if not key:
        return "areas that get the same tables" if section == "[[levels]]" else _HEADS[line]
    if section == "[attributes]":
        return _attribute(draft, key)
    if section == "[[levels]]":
        number = dict(draft.sizes)[level]
        is_open = number > 1 and _is_open(draft, level)
        which = " that the file has: add those in which nobody was counted" if is_open else ""
        return _one_area(draft, level) if key == "areas" else f"{number:,} area{'s' * (number != 1)}{which}"
    if section == "[levels.queries]":
        return _query(draft.release, level, key)
    if section == "[input.columns]":
        return _column(draft, key)
    return _PLAIN[key]


def _one_area(draft: Draft, level: str) -> str:
    """Say what it means that a level has one area."""
    if level in draft.public_totals:
        what = "its total is the number of records, which is known, and so not measured"
    else:
        what = "where its total is measured, discreet account says at most"
    more = "; if there are more, draft again with a table of all (--areas)" if _is_open(draft, level) else ""
    return f"a single area: {what}{more}"


def _is_open(draft: Draft, level: str) -> bool:
    """Whether the areas of a level are only those that the file has."""
    return draft.are_of_the_file and level != draft.sizes[0][0]


def _attribute(draft: Draft, name: str) -> str:
    assert draft.release.attributes is not None
    values = dict(draft.release.attributes.values)[name]
    more = f"; {UNKNOWN} is for records without a value" if UNKNOWN in values else ""
    return f"the values of {name}, in the order of the tables{more}"


def _query(release: Release, level: str, query: str) -> str:
    """Say what a query is, and how large its noise is."""
    found = release.level(level)
    events = found.events(release.neighbours)
    noise = next(event for one, event in zip(found.queries, events, strict=True) if one.name == query)
    words = {TOTAL: "how many people", DETAILED: "all attributes together"}
    what = words.get(query, f"by {query}")
    return f"{what}; 95 % of the time the noise of a count is within {noise.margin():,}"


def _column(draft: Draft, name: str) -> str:
    """Say how a column is read."""
    assert draft.release.input is not None
    how = draft.release.input.of(name)
    if draft.release.input.is_of_one_area and name == "unit":
        return "the file has no column of areas: all records are of one"
    said = [f"column {how.column or name} is {'the lowest area' if name == 'unit' else name}"]
    said += ["its numbers fall into these bands"] if how.bands else []
    said += ["what its texts stand for"] if how.codes else []
    said += ["a record without a value counts here"] if how.filled else []
    said += ["a record without a value is left out"] if how.leave_out else []
    said += ["zeros that codes have lost are put back"] if how.width else []
    return "; ".join(said)
