"""Whole-number tables for other programs: every cell that is not zero, and one row a person.

Both come from the same detailed cells as the column `table` of estimates, so that whoever counts them gets
these tables again (`table_check`). Nobody in the records corresponds to a row: rows are made of estimates.
Units are in the order of the tree, cells in the order of the attributes, so equal tables give equal files.
What every table keeps (exact counts, zeros, bounds) is written beside them, as a sum of cells and its limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from discreet.areas.output import MARK, ROWS, ArrowArray, Folder, WordCodes, arrow, strings
from discreet.areas.tree import Floats, Integers, Tree
from discreet.budget import Attributes, Tabulation
from discreet.budget.attributes import JOIN, TOTAL, attribute_lines
from discreet.budget.variables import BY, COUNT
from discreet.errors import InputError
from discreet.estimation.estimates import Measurements
from discreet.estimation.input.bounds import Bounds
from discreet.estimation.whole.tables import WholeTables
from discreet.tables import Numbers

AT_ONCE = 4096
"""Units whose cells are asked for together."""

Part = Mapping[str, Numbers | WordCodes]

_COUNTED = "how many records the area has with these values; combinations without any are left out"


@dataclass(frozen=True, slots=True)
class PeopleFiles:
    """What was written of whole tables: the rows of each file, None if it was not asked for."""

    histogram: int | None = None
    microdata: int | None = None
    held: int = 0

    @property
    def rows(self) -> dict[str, int]:
        """The rows of each file that was written."""
        both = {"histogram": self.histogram, "microdata": self.microdata}
        return {name: rows for name, rows in both.items() if rows is not None}

    def manifest(self, attributes: Attributes | None, tree: Tree) -> dict[str, object]:
        """Return what the manifest of an output says of these files."""
        if attributes is None or not self.rows:
            return {}
        columns = people_columns(tree, attributes)
        return {name: {"rows": rows, "columns": columns[name]} for name, rows in self.rows.items()}


def people_columns(tree: Tree, attributes: Attributes) -> dict[str, dict[str, str]]:
    """Say what each column of the histogram and of the microdata is."""
    values = {name: f"a value of the attribute {name}" for name in attributes.names}
    above = {column: f"the area of level {level}" for level, column in area_columns(tree, attributes)}
    return {
        "histogram": {"unit": "an area", "level": "its level", **values, "count": _COUNTED},
        "microdata": {"unit": "the lowest area", **above, **values},
    }


def check_people(attributes: Attributes | None, measured: Iterable[str]) -> None:
    """Refuse measurements that cannot be written as records; `measured` are their queries.

    >>> check_people(Attributes({"count": ["1", "2"]}), ["count"])
    Traceback (most recent call last):
    discreet.errors.InputError: an attribute is called count, which is a column of the histogram or the \
microdata; give it another name, or ask for tables alone
    """
    if attributes is None:
        raise InputError(
            "histogram and microdata have a column for each attribute, and no attributes are stated: give "
            "them (--attributes, or a release with [attributes]), or ask for tables alone"
        )
    if attributes.variables[0] != COUNT:
        raise InputError(
            "histogram and microdata count records, and the counts of this release are weighted: ask for "
            "tables alone"
        )
    if not any(attributes.variable_of(query) == COUNT for query in measured):
        raise InputError(
            "histogram and microdata count records, and only sums were measured: ask for tables alone"
        )
    for name in attributes.names:
        if name.casefold() in ("unit", "level", "count", MARK):
            raise InputError(
                f"an attribute is called {name}, which is a column of the histogram or the microdata; give "
                "it another name, or ask for tables alone"
            )


def write_as_records(
    folder: Folder,
    whole: WholeTables,
    tree: Tree,
    attributes: Attributes,
    *,
    histogram: bool = True,
    microdata: bool = True,
) -> PeopleFiles:
    """Write every cell of every unit that is not zero, and one row a person of the lowest units."""
    cells = _CellColumns(attributes)
    written: dict[str, int] = {}

    def counted(stem: str, parts: Iterator[Part]) -> Iterator[Part]:
        written[stem] = 0
        for part in parts:
            written[stem] += len(part["unit"][1])
            yield part

    if histogram:
        folder.rows("histogram", counted("histogram", _histogram(whole, tree, cells)))
    if microdata:
        folder.rows("microdata", counted("microdata", _microdata(whole, tree, cells)))
    return PeopleFiles(written.get("histogram"), written.get("microdata"))


def write_held(
    folder: Folder, tree: Tree, attributes: Attributes, given: Measurements, bounds: Sequence[Bounds]
) -> int:
    """Write the attributes, and the sums of cells that every table keeps within limits; return how many."""
    folder.text("attributes", "toml", "\n".join(["[attributes]", *attribute_lines(attributes), ""]))
    parts = list(_held(tree, attributes, given, bounds))
    if parts:
        folder.rows("held", parts)
    return sum(len(part["unit"][1]) for part in parts)


# -- cells and rows ------------------------------------------------------------------------------------------


class _CellColumns:
    """The values of the attributes in detailed cells."""

    def __init__(self, attributes: Attributes) -> None:
        self.attributes = attributes
        self._words = [strings(list(values)) for _, values in attributes.values]

    def of(self, cells: Integers) -> dict[str, WordCodes]:
        """Return a column for each attribute."""
        places = np.unravel_index(cells, self.attributes.sizes)
        named = zip(self.attributes.names, self._words, places, strict=True)
        return {name: (words, position.astype(np.int32)) for name, words, position in named}


def _histogram(whole: WholeTables, tree: Tree, cells: _CellColumns) -> Iterator[Part]:
    levels = strings(tree.levels)
    for units in _batches(np.arange(tree.size)):
        position, cell, count = whole.cells(units)
        yield {
            "unit": (tree.names.take(arrow().array(units)), position),
            "level": (levels, tree.kind[units][position]),
            **cells.of(cell),
            "count": count,
        }


def _microdata(whole: WholeTables, tree: Tree, cells: _CellColumns) -> Iterator[Part]:
    above = area_columns(tree, cells.attributes)
    yield _people(
        tree, np.zeros(0, dtype=np.int64), above, np.zeros(0, np.int64), cells, np.zeros(0, np.int64)
    )
    for units in _batches(np.flatnonzero(tree.leaf)):
        position, cell, count = whole.cells(units)
        ends = np.cumsum(count)
        for start in range(0, int(ends[-1]) if ends.size else 0, ROWS):
            person = np.arange(start, min(start + ROWS, int(ends[-1])))
            row = np.searchsorted(ends, person, side="right")
            yield _people(tree, units, above, position[row], cells, cell[row])


def _people(
    tree: Tree,
    units: Integers,
    above: Sequence[tuple[str, str]],
    position: Integers,
    cells: _CellColumns,
    cell: Integers,
) -> Part:
    areas = areas_above(tree, units, [level for level, _ in above])
    return {
        "unit": (tree.names.take(arrow().array(units)), position),
        **{column: _named(tree, area, position) for (_, column), area in zip(above, areas, strict=True)},
        **cells.of(cell),
    }


def _named(tree: Tree, areas: Integers, position: Integers) -> WordCodes:
    """Return a column of areas; nothing stands where there is none."""
    distinct, of = np.unique(areas, return_inverse=True)
    names: ArrowArray = tree.names.take(arrow().array(distinct, mask=distinct < 0)).fill_null("")
    return names, of.ravel()[position]


def _batches(units: Integers) -> Iterator[Integers]:
    for start in range(0, len(units), AT_ONCE):
        yield units[start : start + AT_ONCE]


def area_columns(tree: Tree, attributes: Attributes) -> list[tuple[str, str]]:
    """Return the levels above the lowest areas, from the top down, and the columns of microdata for them.

    A column is called as its level, unless an attribute is: then `County area`.

    >>> tree = Tree(np.array([-1, 0, 0, 1]), np.array([0, 1, 2, 3]), (0, 1, 3),
    ...     ("Nation", "State", "State+County", "County"))
    >>> area_columns(tree, Attributes({"state": ["a"]}))
    [('Nation', 'Nation'), ('State', 'State area')]
    """
    columns: list[str] = []
    for part in tree.depths:
        for kind in np.unique(tree.kind[part]).tolist():
            parts, mine = tree.levels[kind].split("+"), tree.kind[part] == kind
            inner = bool((~tree.leaf[part][mine]).any())
            columns += [level for level in (parts if inner else parts[:-1]) if level not in columns]
    taken = {"unit", MARK, *(name.casefold() for name in attributes.names)}
    return [(level, f"{level} area" if level.casefold() in taken else level) for level in columns]


def areas_above(tree: Tree, units: Integers, levels: Sequence[str]) -> list[Integers]:
    """Return for each level the area that each unit is or lies in, -1 if there is none."""
    has = np.array([[level in run.split("+") for run in tree.levels] for level in levels], dtype=bool)
    above = [np.full(len(units), -1, dtype=np.int64) for _ in levels]
    here = units.copy()
    while (here >= 0).any():
        for number, areas in enumerate(above):
            mine = (here >= 0) & (areas < 0) & has[number][tree.kind[here]]
            areas[mine] = here[mine]
        here = np.where(here >= 0, tree.parent[here], -1)
    return above


# -- what every table keeps ----------------------------------------------------------------------------------


def _held(
    tree: Tree, attributes: Attributes, given: Measurements, bounds: Sequence[Bounds]
) -> Iterator[dict[str, Numbers | WordCodes]]:
    for query, (units, rows) in given.exact.items():
        block = given.blocks.get(query)
        if block is not None and not rows.any():  # its cells are zero, so their sum is
            none = np.zeros((len(units), 1))
            yield from _limits(tree, [_together(attributes, block)], units, none, none)
            continue
        piece = given.pieces.get(query)
        table = block or (piece and piece.table) or attributes.tabulation(query)
        counts = rows.astype(np.float64)
        yield from _limits(tree, list(_sums(attributes, table)), units, counts, counts)
    for bound in bounds:
        yield from _limits(tree, list(_sums(attributes, bound.table)), bound.units, bound.lower, bound.upper)


def _limits(
    tree: Tree, sums: Sequence[str], units: Integers, least: Floats, most: Floats
) -> Iterator[dict[str, Numbers | WordCodes]]:
    """Yield rows of units and sums of cells with limits, some units at a time; a sum without is left out."""
    words = strings(sums)
    step = max(1, ROWS // len(sums))
    chosen = np.flatnonzero(units < tree.size)
    for start in range(0, len(chosen), step):
        mine = chosen[start : start + step]
        low, high = least[mine], most[mine]
        position, cell = np.nonzero((low > 0) | np.isfinite(high))
        if not position.size:
            continue
        limit = high[position, cell]
        none = ~np.isfinite(limit)
        yield {
            "unit": (tree.names.take(arrow().array(units[mine])), position),
            "level": (strings(tree.levels), tree.kind[units[mine]][position]),
            "query": (words, cell),
            "least": low[position, cell].astype(np.int64),
            "most": np.ma.array(np.where(none, 0, limit).astype(np.int64), mask=none),
        }


def _sums(attributes: Attributes, table: Tabulation) -> Iterator[str]:
    """Yield each cell of a table as a query of one cell, in the order of the attributes."""
    for groups in product(*table.by_attribute):
        yield _sum(attributes, table, groups)


def _together(attributes: Attributes, table: Tabulation) -> str:
    """Write all cells of a table as a query of one cell."""
    groups = [tuple(sorted(value for group in some for value in group)) for some in table.by_attribute]
    return _sum(attributes, table, groups)


def _sum(attributes: Attributes, table: Tabulation, groups: Sequence[Sequence[int]]) -> str:
    parts = []
    for (name, values), group in zip(attributes.values, groups, strict=True):
        if len(group) < len(values):
            parts.append(f"{name}[{' | '.join(values[rank] for rank in group)}]")
    added = attributes.variables[table.variable or 0].name
    return (added + BY if added else "") + (JOIN.join(parts) or TOTAL)
