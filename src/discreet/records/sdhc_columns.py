"""The tables of the Supplemental DHC in the columns of the Census Bureau's program, one file for each table.

A query of the release is a table and a group of iterations, such as "PH3 A-G"; the cells begin with the
iteration. What the program does not measure it derives: PH5_num is PH4, and PH8_num adds the cells of PH7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from discreet.areas.layout import Laws, Layout
from discreet.areas.output import Folder
from discreet.areas.tree import Integers
from discreet.budget import Release
from discreet.budget.attributes import ALL, JOIN
from discreet.errors import InputError
from discreet.noise import Noise

_EVERYBODY = "*"
_ITERATIONS = {"A-G": "ABCDEFG", "H,I": "HI", _EVERYBODY: _EVERYBODY}
_WITHOUT_ITERATIONS = ("PH2", "PH6")
_DERIVED = {
    "PH5_num": ("PH4", {"2": "2", "3": "3"}),
    "PH8_num": ("PH7", {"2": "2", "3": "2", "4": "3"}),
}
"""Tables made of others, and the cell that each of theirs belongs to."""

_NATION = "USA"
_NATION_ID = "1"

Row = tuple[str, str, str, str, int, str, float]
"""Region, its type, iteration, cell, count, noise and its variance."""


def check_bureau_names(release: Release) -> None:
    """Refuse a release whose queries are not tables and groups of iterations."""
    names = (query.name for level in release.levels for query in level.queries)
    wrong = [name for name in names if name.partition(" ")[2] not in _ITERATIONS]
    if release.join is None or wrong:
        raise InputError(
            f"{release.name} has no tables of the Supplemental DHC, such as 'PH3 A-G'; the Bureau's columns "
            "are for those (sdhc-2020, or a release with the same queries)"
        )


def write_bureau_tables(
    folder: Folder, layout: Layout, read: Callable[[slice], Integers], laws: Laws | None = None
) -> None:
    """Write a file of pipe-delimited text for each table; with `laws`, its noise stands beside each count."""
    tables: dict[str, list[Row]] = {}
    for table, row in _rows(layout, read, laws):
        tables.setdefault(table, []).append(row)
    for name, (of, cells) in _DERIVED.items():
        if of in tables:
            tables[name] = _derived(tables[of], cells)
    for name in sorted(tables):
        lines = [_line(name, line, noisy=laws is not None) for line in tables[name]]
        folder.text(name, "csv", "".join([_header(name, noisy=laws is not None), *lines]))


def _rows(layout: Layout, read: Callable[[slice], Integers], laws: Laws | None) -> Iterator[tuple[str, Row]]:
    names = layout.tree.names.to_pylist()
    for unit, region in enumerate(names):
        counts, kind = read(slice(unit, unit + 1)), int(layout.kind[unit])
        level = layout.tree.levels[layout.tree.kind[unit]]
        region = _NATION_ID if level == _NATION else region
        for query in layout.asked[kind]:
            table, _, group = query.partition(" ")
            noise, variance = _noise(None if laws is None else laws[kind][query])
            start = layout.offset(kind, query)
            for number, label in enumerate(layout.cells[query].to_pylist()):
                code, cell = _code_and_cell(label, group)
                yield table, (region, level, code, cell, int(counts[start + number]), noise, variance)


def _code_and_cell(label: str, group: str) -> tuple[str, str]:
    """Take the name of a cell apart; a table that counts everybody in one cell has the cell 1."""
    parts = [] if label == ALL else label.split(JOIN)
    code = _EVERYBODY if group == _EVERYBODY else parts.pop(0)
    return code, parts[0] if parts else "1"


def _noise(law: Noise | None) -> tuple[str, float]:
    if law is None:
        return "", 0.0
    return law.bureau_name or law.FAMILY, float(law.size) if law.variance_power == 1 else law.true_variance()


def _derived(rows: Sequence[Row], cells: dict[str, str]) -> list[Row]:
    """Add up cells of another table; the noises are independent, so their variances add up, too."""
    made: dict[tuple[str, str, str, str], Row] = {}
    for region, level, code, cell, count, noise, variance in rows:
        key = (region, level, code, cells[cell])
        old = made.get(key, (*key, 0, noise, 0.0))
        made[key] = (*key, old[4] + count, noise, old[6] + variance)
    return list(made.values())


def _header(name: str, *, noisy: bool) -> str:
    words = ["REGION_ID", "REGION_TYPE", "ITERATION_CODE", f"{name.upper()}_DATA_CELL", "COUNT"]
    if name in _WITHOUT_ITERATIONS:
        words.remove("ITERATION_CODE")
    return "|".join([*words, *(["NOISE_DISTRIBUTION", "VARIANCE"] if noisy else [])]) + "\n"


def _line(name: str, row: Row, *, noisy: bool) -> str:
    words = list(map(str, row if noisy else row[:5]))
    if name in _WITHOUT_ITERATIONS:
        del words[2]
    return "|".join(words) + "\n"
