"""Averages of people a household, as a release over a join states them, from the measurements alone.

For each area, and each cell of the table of households: all people counted there, and people of each cell by
what else they are split by. The average is of at most so many people of each household, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from discreet.areas.layout import Laws, Layout
from discreet.areas.output import Folder, strings
from discreet.areas.tree import Integers
from discreet.budget.attributes import ALL, JOIN
from discreet.budget.joins import AverageOf, Join
from discreet.estimation.averages import Average, average
from discreet.noise import Noise

_LEVEL = 0.9

COLUMNS = {
    "average": "people a household, of at most of_at_most people in each: not of all, if some have more",
    "lower90": "the lower end of an interval that holds that average 90 % of the time",
    "upper90": "its upper end",
    "of_at_most": "how many people of a household are counted at most",
}


@dataclass(frozen=True, slots=True)
class _Part:
    """One average of a cell: which cells of the two tables it is made of, and the least that it can be."""

    label: str
    people: tuple[int, ...]
    household: int
    at_least: int


def write_averages(folder: Folder, join: Join, layout: Layout, values: Integers, laws: Laws) -> None:
    """Write the averages of a release with their intervals."""
    rows = list(_rows(join, layout, values, laws))
    words = [[row[k] for row in rows] for k in range(4)]
    columns = {}
    for name, texts in zip(("unit", "level", "average_of", "cell"), words, strict=True):
        known = list(dict.fromkeys(texts))
        number_of = {text: number for number, text in enumerate(known)}
        columns[name] = strings(known), np.array([number_of[text] for text in texts], dtype=np.int32)
    numbers = {
        "average": np.array([row[4].value for row in rows]),
        "lower90": np.array([row[4].lower for row in rows]),
        "upper90": np.array([row[4].upper for row in rows]),
        "of_at_most": np.array([row[5] for row in rows], dtype=np.int64),
    }
    folder.rows("averages", [{**columns, **numbers}])


def _rows(
    join: Join, layout: Layout, values: Integers, laws: Laws
) -> Iterator[tuple[str, str, str, str, Average, int]]:
    names = layout.tree.names.to_pylist()
    for name, averages in join.averages:
        most, parts = join.table(averages.people).at_most or 1, list(_parts(join, averages))
        for unit, area in enumerate(names):
            kind = int(layout.kind[unit])
            asked = layout.asked[kind]
            if averages.people not in asked or averages.households not in asked:
                continue
            begin = layout.base[unit]
            people, households = (
                begin + layout.offset(kind, query) for query in (averages.people, averages.households)
            )
            noises = laws[kind][averages.people], laws[kind][averages.households]
            level = layout.tree.levels[layout.tree.kind[unit]]
            for part in parts:
                total = float(sum(values[people + cell] for cell in part.people))
                got = _average(total, float(values[households + part.household]), part, noises, most)
                yield area, level, name, part.label, got, most


def _average(total: float, number: float, part: _Part, noises: tuple[Noise, Noise], most: int) -> Average:
    return average(
        total,
        number,
        total_noise=[noises[0]] * len(part.people),
        number_noise=[noises[1]],
        at_least=part.at_least,
        at_most=most,
        level=_LEVEL,
    )


def _parts(join: Join, average_of: AverageOf) -> Iterator[_Part]:
    """Yield the averages of each cell of households: of all people there, and by what else splits them."""
    by, of = join.table(average_of.people).by, join.table(average_of.households).by
    labels = {name: [label for label, _ in join.split(name).cells] for name in by}
    number_of = {cell: number for number, cell in enumerate(product(*(labels[name] for name in by)))}
    households = {cell: number for number, cell in enumerate(product(*(labels[name] for name in of)))}
    for cell, number in households.items():
        fixed = dict(zip(of, cell, strict=True))
        mine = [
            key for key in number_of if all(key[by.index(name)] == label for name, label in fixed.items())
        ]
        shown = JOIN.join(cell) or ALL
        yield _Part(shown, tuple(number_of[key] for key in mine), number, average_of.at_least)
        if len(mine) > 1:
            for each in mine:
                rest = [label for name, label in zip(by, each, strict=True) if name not in of]
                yield _Part(JOIN.join([*cell, *rest]), (number_of[each],), number, 0)
