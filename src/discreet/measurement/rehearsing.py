"""A drafted release rehearsed: invented people, noise from a seed, and what would be published of them.

The people are drawn evenly from all areas and values that the draft names. They tell nothing of the file.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet.areas.output import TEXTS, read_output
from discreet.estimation import Accuracy, accuracy, estimate
from discreet.files import ArrowTable, arrow
from discreet.measurement.drafting import Draft
from discreet.measurement.measuring import measure
from discreet.records.input import TableInput
from discreet.records.questions import Checking
from discreet.records.records import count_records
from discreet.rehearsal import not_private_mark

SEED = 1
"""The seed of a rehearsal, as documents state it."""

_PER_AREA, _MOST_PEOPLE = 200, 100_000
"""Invented people in a lowest area, and in all."""

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class RehearsedCount:
    """A count of invented people in one area: the truth, and what `measure` and `estimate` make of it.

    The interval from `lower` to `upper` holds the truth 95 % of the time.
    """

    unit: str
    level: str
    query: str
    cell: str
    invented: int
    noisy: float
    estimate: float
    lower: float
    upper: float

    @property
    def holds(self) -> bool:
        """Whether the truth is in the interval."""
        return self.lower <= self.invented <= self.upper


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """A rehearsal: the counts of one area of each level, and how many of all intervals hold the truth."""

    draft: Draft
    mark: str
    people: int
    counts: tuple[RehearsedCount, ...]
    held: int
    every: int
    accuracy: Accuracy
    """How accurate estimates will be, in the tree of the areas on average."""


def rehearse(draft: Draft, *, seed: int = SEED) -> Rehearsed:
    """Rehearse a draft on invented people; nothing is read, spent, or kept but what is returned.

    >>> from discreet.measurement import draft
    >>> survey = arrow().table({"sex": ["f", "m"]})
    >>> found = rehearse(draft(survey, attributes=["sex"], margin=10, name="survey"))
    >>> found.people, [count.cell for count in found.counts], found.mark
    (200, ['f', 'm'], 'NOT PRIVATE: rehearsal with seed 1')
    """
    mark = not_private_mark(seed)
    assert mark is not None
    people = _invented(draft, seed)
    with TemporaryDirectory() as folder:
        noisy, known = Path(folder, "noisy"), {"units": draft.area_table, "input": TableInput()}
        measure(draft.release, None, noisy, records=people, rehearsal=seed, **known)
        found = estimate(noisy)
        measured = _by_key(read_output(noisy, "measurements", TEXTS), "value")
    columns = ("estimate", "lower95", "upper95")
    ends = _by_key(found.to_arrow("estimates"), *columns)
    level_of = {unit: level for unit, level, _ in draft.areas}
    first = {level: unit for unit, level, _ in reversed(draft.areas)}
    made = [
        RehearsedCount(key[0], level_of[key[0]], *key[1:], truth, measured[key][0], *ends[key])
        for key, truth in _counted(draft, people).items()
    ]
    return Rehearsed(
        draft,
        mark,
        people.num_rows,
        tuple(count for count in made if first[count.level] == count.unit),
        sum(count.holds for count in made),
        len(made),
        accuracy(draft.release, tree=draft.plan.before.children),
    )


def _invented(draft: Draft, seed: int) -> ArrowTable:
    """Draw people evenly from the lowest areas and the values of each attribute."""
    assert draft.release.attributes is not None
    above = {parent for _, _, parent in draft.areas}
    lowest = [unit for unit, _, _ in draft.areas if unit not in above]
    many = max(1, min(_PER_AREA, _MOST_PEOPLE // len(lowest)))
    draw = random.Random(seed)
    columns = {"unit": [unit for unit in lowest for _ in range(many)]}
    for name, values in draft.release.attributes.values:
        columns[name] = draw.choices(values, k=many * len(lowest))
    return arrow().table(columns)


def _counted(draft: Draft, people: ArrowTable) -> dict[Key, int]:
    """Count invented people; no rule for real ones is asked."""
    asked = Checking(draft.release, people, units=draft.area_table, input=TableInput())
    counts = count_records(draft.release, asked)
    layout = counts.layout
    cells = {query: layout.cells[query].to_pylist() for query in layout.queries}
    keys = [
        (unit, query, cell)
        for unit, kind in zip(layout.tree.names.to_pylist(), layout.kind.tolist(), strict=True)
        for query in layout.asked[kind]
        for cell in cells[query]
    ]
    return dict(zip(keys, counts.read(slice(0, layout.tree.size)).tolist(), strict=True))


def _by_key(table: ArrowTable, *columns: str) -> dict[Key, tuple[float, ...]]:
    """Return columns of a table by unit, query and cell."""
    keys = zip(*(table.column(name).to_pylist() for name in ("unit", "query", "cell")), strict=True)
    values = zip(*(table.column(name).to_pylist() for name in columns), strict=True)
    return dict(zip(keys, values, strict=True))
