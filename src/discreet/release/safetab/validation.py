"""Every rule of the two files of data, checked before anything is counted; all problems in one report.

Each file is read once. What is wrong shows in what was made of it: an age or sex that no cell stands for,
a block that GRF-C does not have, a combination with a code that the specification does not have. Only
then is the file read a second time, to say where. No value of the records is ever repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from discreet.errors import InputError
from discreet.release.engine import Engine, Relation, UnreadableError, connect
from discreet.release.hierarchy.arrow import arrow, strings
from discreet.release.safetab import people
from discreet.release.safetab.coded import Parts, Resumable
from discreet.release.safetab.configuration import Configuration
from discreet.release.safetab.faults import line_numbers, report_unreadable
from discreet.release.safetab.geography import Geography, build
from discreet.release.safetab.problems import MOST, Problems
from discreet.release.safetab.sources import (
    AREA_COLUMNS,
    BLOCK_COLUMNS,
    IDENTIFIER,
    RACE_COLUMNS,
    Source,
    find_sources,
)
from discreet.release.safetab.specification import CODE_FILE, NULL, Specification

WIDTHS = dict(zip(AREA_COLUMNS, (2, 3, 6, 4, 5, 4), strict=True))
"""Digits of the codes of GRF-C."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Data without problems: the regions, and the coded records."""

    geography: Geography
    parts: Parts


def check(
    data: Path, configuration: Configuration, specification: Specification, *, engine: Engine
) -> Geography:
    """Check a folder of data; raise with all problems if there is one."""
    found = checked(find_sources(data), configuration, specification, engine=engine)
    found.parts.close()
    return found.geography


def read_geography(data: Path, configuration: Configuration, *, engine: Engine) -> Geography:
    """Read and check GRF-C alone, the public file."""
    problems = Problems()
    (source,) = find_sources(data, ["blocks"])
    areas = _areas(source, engine, problems)
    geography = _geography(areas, configuration, engine, problems)
    engine.drop(areas)
    return geography


def checked(
    sources: tuple[Source, ...],
    configuration: Configuration,
    specification: Specification,
    *,
    engine: Engine,
    resumable: Resumable | None = None,
    progress: Callable[[float], None] | None = None,
) -> Checked:
    """Read both files and check them; what was read is kept, as coded records."""
    problems = Problems()
    blocks, persons = sources
    parts = Parts(engine, resumable)
    try:
        local = parts.engine
        areas = _areas(blocks, local, problems)
        geography = _geography(areas, configuration, local, problems, stop=False)
        table = people.blocks(local, _whole(areas), geography)
        local.drop(areas)
        if not parts.complete:
            with _readable(persons, problems):
                known = table if local is engine else engine.upload(local.fetch(table))
                records = people.coded(engine, persons.relation(engine), known, specification)
                parts.write(records, progress=progress)
            if parts.wrong() or _identified_twice(engine, persons):
                before = problems.count
                places = local.fetch(table.select("tract", "block"))
                _locate(persons, local, places, specification, problems)
                if problems.count == before:  # two engines that read one file differently; never seen
                    problems.at("a record breaks a rule, and which one cannot be told", file=persons.name)
        local.drop(table)
        problems.stop()
        parts.note()
    except BaseException as error:
        parts.close(type(error))
        raise
    return Checked(geography, parts)


def _identified_twice(engine: Engine, persons: Source) -> bool:
    """Whether two records have the same identifier, if records have one."""
    if IDENTIFIER not in persons.columns:
        return False
    rows = persons.relation(engine)
    named = rows.filter(rows[IDENTIFIER].notnull())
    many = named.group_by(IDENTIFIER).agg(many=named.count())
    return bool(_sizes(engine, many.filter(many.many > 1))[0])


@contextmanager
def _readable(source: Source, problems: Problems) -> Iterator[None]:
    """Say what is wrong with a file that the engine cannot read."""
    try:
        yield
        return
    except UnreadableError:
        report_unreadable(source, problems)
    problems.stop()


def _areas(source: Source, engine: Engine, problems: Problems) -> Relation:
    """Read GRF-C and report what is wrong with it."""
    with _readable(source, problems):
        areas = engine.keep(source.relation(engine))
    rows, right, blocks = _sizes(engine, areas, _whole(areas), areas.select(*BLOCK_COLUMNS).distinct())
    if not rows:
        raise InputError(f"{source.name} has no block; it must list all of them")
    if right < rows or blocks < rows:
        _locate_areas(source, engine, problems)
    return areas


def _sizes(engine: Engine, *relations: Relation) -> list[int]:
    """Count the rows of relations, all in one question to the engine."""
    import ibis  # type: ignore[import-untyped]

    counts = [
        relation.agg(rows=relation.count()).mutate(place=ibis.literal(place, "int32"))
        for place, relation in enumerate(relations)
    ]
    sizes: list[int] = engine.fetch(ibis.union(*counts), sort=["place"]).column("rows").to_pylist()
    return sizes


def _right(areas: Relation, name: str) -> Any:
    # not by ^ and $: to Java, a text may go on with a line break behind $
    digits = ~areas[name].re_search("[^0-9]") & (areas[name].length() == WIDTHS[name])
    return digits.fill_null(False)


def _whole(areas: Relation) -> Relation:
    """Return the rows whose codes are what they must be."""
    return areas.filter([_right(areas, name) for name in AREA_COLUMNS])


def _geography(
    areas: Relation, configuration: Configuration, engine: Engine, problems: Problems, *, stop: bool = True
) -> Geography:
    names = dict(zip(AREA_COLUMNS, ("state", "county", "tract", "block", "place", "area"), strict=True))
    del names["TABBLK"]
    whole = _whole(areas)
    codes = whole.select(**{short: whole[name] for name, short in names.items()}).distinct()
    table = engine.fetch(codes, sort=list(names.values()))
    if stop or not table.num_rows:
        problems.stop()
    try:
        return build(table, configuration)
    except InputError:
        problems.stop()  # what is wrong with the file comes first
        raise


def _codes(specification: Specification) -> Any:
    return arrow().table({"code": strings(list(specification.codes))})


@contextmanager
def _numbered(source: Source, engine: Engine) -> Iterator[tuple[Engine, Relation]]:
    """Read a file again with its rows numbered from 0 (`row`), which DuckDB can and Spark cannot."""
    from discreet.release.engine.duckdb import DuckDB

    if isinstance(engine, DuckDB):
        table = engine.keep(source.relation(engine), in_order=True)
        yield engine, table.mutate(row=table.rowid())
        engine.drop(table)
        return
    with connect("duckdb") as other:
        assert isinstance(other, DuckDB)
        table = other.keep(source.relation(other), in_order=True)
        yield other, table.mutate(row=table.rowid())


class _Places:
    """Collect the rows that break rules, then report them by line."""

    def __init__(self, source: Source, engine: Engine, problems: Problems) -> None:
        self._source, self._engine, self._problems = source, engine, problems
        self._found: list[tuple[str, str, list[int], int]] = []

    def add(self, text: str, field: str, wrong: Relation) -> None:
        """Note the rows of a relation with a column `row`."""
        (total,) = _sizes(self._engine, wrong)
        if total:
            first = self._engine.fetch(wrong.select("row").order_by("row").limit(MOST), sort=["row"])
            self._found.append((text, field, first.column("row").to_pylist(), total))

    def report(self) -> None:
        """Give all to the problems, with lines for rows."""
        lines = line_numbers(self._source, (row for *_, rows, _ in self._found for row in rows))
        for text, field, rows, total in self._found:
            named = [lines[row] for row in rows if row in lines]
            self._problems.many(text, file=self._source.name, lines=named, total=total, field=field)


def _locate_areas(source: Source, engine: Engine, problems: Problems) -> None:
    import ibis

    with _numbered(source, engine) as (local, rows):
        places = _Places(source, local, problems)
        for name, width in WIDTHS.items():
            places.add(f"a code is not of {width} digits", name, rows.filter(~_right(rows, name)))
        place = ibis.row_number().over(group_by=[rows[name] for name in BLOCK_COLUMNS], order_by=rows.row)
        again = rows.mutate(place=place)
        places.add("a block occurs twice; each may occur once", "TABBLK", again.filter(again.place > 0))
        places.report()


def _locate(
    source: Source, engine: Engine, blocks: Any, specification: Specification, problems: Problems
) -> None:
    """Read the records again to say which lines break which rule."""
    import ibis

    with _numbered(source, engine) as (local, rows):
        places = _Places(source, local, problems)
        known = people.cells()
        for field, column, text in (
            ("QAGE", "age", "an age is not a whole number from 0 to 115"),
            ("QSEX", "sex", "a sex is not 1 or 2"),
        ):
            allowed = local.upload(known.group_by(column).aggregate([]))
            places.add(text, field, rows.anti_join(allowed, rows[field] == allowed[column]))
        table = local.upload(blocks)
        keys = rows.mutate(tract=people.tract(rows), block=rows.TABBLK)
        places.add("a block is not in GRF-C", "TABBLK", keys.anti_join(table, ["tract", "block"]))
        codes = local.upload(_codes(specification))
        _locate_codes(rows, codes, places)
        if IDENTIFIER in source.columns:
            named = rows.filter(rows[IDENTIFIER].notnull())
            place = ibis.row_number().over(group_by=named[IDENTIFIER], order_by=named.row)
            again = named.mutate(place=place)
            text = "a record identifier occurs twice; each may occur once"
            places.add(text, IDENTIFIER, again.filter(again.place > 0))
        places.report()


def _locate_codes(rows: Relation, codes: Relation, places: _Places) -> None:
    empty = {name: rows[name].isnull() | (rows[name] == NULL) for name in RACE_COLUMNS}
    none = rows.filter([empty[name] for name in RACE_COLUMNS])
    places.add("a person has no race code; at least one is required", RACE_COLUMNS[0], none)
    for before, name in pairwise(RACE_COLUMNS):
        places.add("a race code follows an empty one", name, rows.filter(empty[before] & ~empty[name]))
    for name in RACE_COLUMNS:
        given = rows.filter(~empty[name])
        unknown = given.anti_join(codes, given[name] == codes.code)
        places.add(f"a code is not in {CODE_FILE}", name, unknown)
    span = rows.anti_join(codes, codes.code == rows.QSPAN)
    places.add(f"a code is not in {CODE_FILE}", "QSPAN", span)
