"""Every rule of the two files of data, checked before anything is counted; all problems in one report.

Each file is read once. What is wrong shows in what was made of it: an age or sex that no cell stands for, a
block that GRF-C does not have, a combination with a code that the specification does not have. Only then is
the file read a second time, to say where: an engine reads in parallel and does not say where it stumbled
without repeating what it read, so lines are counted here. No value of the records is ever repeated.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TextIO

from discreet.errors import InputError
from discreet.release.engine import Engine, Relation, UnreadableError, connect
from discreet.release.hierarchy.arrow import ArrowTable, arrow, strings
from discreet.release.problems import MOST, Problems
from discreet.release.safetab import people
from discreet.release.safetab.configuration import Configuration
from discreet.release.safetab.geography import Geography, build
from discreet.release.safetab.people import CodedRecords, Resumable
from discreet.release.safetab.sources import (
    AREA_COLUMNS,
    BLOCK_COLUMNS,
    IDENTIFIER,
    RACE_COLUMNS,
    Source,
    find_sources,
)
from discreet.release.safetab.specification import CODE_FILE, NULL, Specification


def line_numbers(source: Source, rows: Iterable[int]) -> dict[int, int]:
    """Return for rows (from 0, header not counted) where they begin: lines of a text, rows of Parquet."""
    wanted = sorted(set(rows))
    if source.is_parquet or not wanted:
        return {row: row + 1 for row in wanted}
    found: dict[int, int] = {}
    with _opened(source) as stream:
        for row, (line, _) in enumerate(_records(stream)):
            if row > wanted[-1]:
                break
            if row in found or row == wanted[len(found)]:
                found[row] = line
    return found


def report_unreadable(source: Source, problems: Problems) -> None:
    """Report why an engine could not read a file."""
    if source.is_parquet:
        problems.at("a file is damaged, or not Parquet", file=source.name)
        return
    before = problems.count
    _report_encoding(source, problems)
    _report_records(source, problems)
    if problems.count == before:
        text = "a file cannot be read as text in UTF-8 with pipes between the fields and one record a line"
        problems.at(text, file=source.name)


def _opened(source: Source) -> TextIO:
    return source.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")


class _BrokenRecordError(Exception):
    """A record that is none, with its first line."""


def _records(lines: Iterable[str], *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line and the fields of each record after the header; blank lines are none."""
    reader = csv.reader(lines, delimiter="|", strict=strict)
    next(reader, None)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader, None)
        except csv.Error:
            raise _BrokenRecordError(line) from None
        if fields is None:
            return
        if fields:
            yield line, fields


def _report_encoding(source: Source, problems: Problems) -> None:
    """Report bytes that are not UTF-8, and lines that end in another way than the first."""
    wrong, odd, first = _Lines(), _Lines(), b""
    with source.path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            end = b"\r\n" if line.endswith(b"\r\n") else b"\n" if line.endswith(b"\n") else b""
            first = first or end
            if end and end != first:
                odd.add(number)
            if not line.isascii():
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    wrong.add(number)
    wrong.report("a byte is not UTF-8", source, problems)
    odd.report(
        "a line ends in another way than the first one (CRLF, LF); all must end alike", source, problems
    )


def _report_records(source: Source, problems: Problems) -> None:
    """Report records with too few or too many fields, and quotes that are not closed."""
    due, short, long = len(source.header), _Lines(), _Lines()
    with _opened(source) as stream:
        try:
            for line, fields in _records(stream, strict=True):
                if len(fields) < due:
                    short.add(line)
                elif len(fields) > due and not (len(fields) == due + 1 and not fields[-1]):
                    long.add(line)
        except _BrokenRecordError as error:
            text = "a quoted field does not end, or goes on behind its quote"
            problems.at(text, file=source.name, line=error.args[0])
    short.report(f"a record has fewer than the {due} fields of the header", source, problems)
    long.report(f"a record has more than the {due} fields of the header", source, problems)


class _Lines:
    """The first lines of one kind, and their number."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.total = 0

    def add(self, line: int) -> None:
        self.total += 1
        if len(self.lines) < MOST:
            self.lines.append(line)

    def report(self, text: str, source: Source, problems: Problems) -> None:
        problems.many(text, file=source.name, lines=self.lines, total=self.total)


WIDTHS = dict(zip(AREA_COLUMNS, (2, 3, 6, 4, 5, 4), strict=True))
"""Digits of the codes of GRF-C."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Data without problems: the regions, and the coded records."""

    geography: Geography
    parts: CodedRecords


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
    parts = CodedRecords(engine, resumable)
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


def _right(areas: Relation, name: str) -> Relation:
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


def _codes(specification: Specification) -> ArrowTable:
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
    source: Source, engine: Engine, blocks: ArrowTable, specification: Specification, problems: Problems
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
