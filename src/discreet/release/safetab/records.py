"""The two files of data, read and checked, all of them.

`GRF-C` lists the blocks and is public; `person-records` is confidential. Each is pipe-delimited text
(`.txt` or `.csv`) or Parquet (`.parquet`), and is read once.

What is wrong shows in what was made of a file: an age or sex that no cell stands for, a block that GRF-C does
not have, a combination with a code that the specification does not have. Only then is the file read a second
time, to say where: an engine reads in parallel and does not say where it stumbled without repeating what it
read, so lines are counted here. All problems come in one report; no value of the records is ever repeated.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import TextIO

from discreet.errors import InputError
from discreet.files import sha256
from discreet.release.engine import DuckDB, Engine, Relation, UnreadableError, connect
from discreet.release.safetab.configuration import Configuration
from discreet.release.safetab.counts import (
    AREA_COLUMNS,
    AREAS,
    BLOCK_COLUMNS,
    IDENTIFIER,
    PERSON_COLUMNS,
    STEPS,
    UNUSED_COLUMNS,
    WIDTHS,
    CodedRecords,
    Geography,
    GroupCounts,
    Progress,
    Resumable,
    blocks,
    broken_rules,
    build,
    cells,
    coded,
    described,
)
from discreet.release.safetab.specification import Specification
from discreet.release.tables import MOST, Problems, arrow

# -- files -------------------------------------------------------------------------------------------------

ROLES = {
    "blocks": ("GRF-C", AREA_COLUMNS, ()),
    "persons": ("person-records", PERSON_COLUMNS, UNUSED_COLUMNS),
}
ENDINGS = (".txt", ".csv", ".parquet")
_NUMBERS = ("QAGE", "QSEX")
"""Columns that may be numbers in Parquet; codes are texts, for they have leading zeros."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file, what it is for, the columns it has and those that are read."""

    role: str
    path: Path
    header: tuple[str, ...]
    columns: tuple[str, ...]
    state: tuple[int, int]

    @property
    def name(self) -> str:
        """The file's name, as problems are reported."""
        return self.path.name

    @property
    def is_parquet(self) -> bool:
        """Whether it is Parquet; its problems are found by row, not by line."""
        return self.path.suffix == ".parquet"

    def relation(self, engine: Engine) -> Relation:
        """Return the columns that are read, as texts; an empty field is null."""
        table = engine.parquet(self.path) if self.is_parquet else engine.csv(self.path, self.header)
        return table.select(**{name: table[name].cast("string") for name in self.columns})

    def unchanged(self) -> None:
        """Raise if the file was written to since it was first looked at."""
        if _state(self.path) != self.state:
            raise InputError(f"{self.name} changed while it was read; none of it is used")


def find_sources(data: Path, roles: Sequence[str] = tuple(ROLES)) -> tuple[Source, ...]:
    """Find the files and read their headers; whatever is wrong with any of them is reported together."""
    data, problems = Path(data), Problems()
    if not data.is_dir():
        raise InputError(f"{data} is not a directory; it must be one that holds GRF-C and person-records")
    found = []
    for role in roles:
        stem, columns, unused = ROLES[role]
        paths = [data / f"{stem}{ending}" for ending in ENDINGS if (data / f"{stem}{ending}").is_file()]
        names = f"{stem}.txt, {stem}.csv or {stem}.parquet"
        if not paths:
            problems.at(f"a file is missing: {names} must be in {data}", file=stem)
        elif len(paths) > 1:
            both = " and ".join(path.name for path in paths)
            problems.at(f"{both} are both in {data}; keep one of them", file=stem)
        else:
            header = _header(paths[0], columns, unused, problems)
            named = (*columns, *((IDENTIFIER,) if role == "persons" and IDENTIFIER in header else ()))
            found.append(Source(role, paths[0], header, named, _state(paths[0])))
    problems.stop()
    return tuple(found)


def _state(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_size, state.st_mtime_ns


def _header(path: Path, columns: Sequence[str], unused: Sequence[str], problems: Problems) -> tuple[str, ...]:
    """Read the names of the columns, and report those that are missing or come twice."""
    try:
        header = _parquet_header(path, columns, problems) if path.suffix == ".parquet" else _csv_header(path)
    except OSError as error:
        problems.at(f"a file cannot be read: {error.strerror or 'it is damaged'}", file=path.name)
        return ()
    except UnreadableError as error:
        problems.at(str(error), file=path.name)
        return ()
    if not set(columns) & set(header):
        text = "no column has a name that is known; the first line must name them, with pipes between"
        if set(columns) & {name.upper() for name in header}:
            text = "the names of the columns must be in capital letters"
        problems.at("a file is empty" if not path.stat().st_size else text, file=path.name)
        return ()
    for name in (*columns, *unused, IDENTIFIER):
        count = header.count(name)
        if count != 1 and not (name == IDENTIFIER and count == 0):
            text = "a column occurs twice" if count else "a column is missing"
            problems.at(text, file=path.name, line=None if path.suffix == ".parquet" else 1, field=name)
    # the engine wants distinct names; columns that are not read may be called anything
    wanted = {*columns, *unused, IDENTIFIER}
    return tuple(name if name in wanted else f"unread {place}" for place, name in enumerate(header))


def _csv_header(path: Path) -> tuple[str, ...]:
    with path.open("rb") as stream:
        first = stream.readline(1 << 20).removeprefix(b"\xef\xbb\xbf")
    try:
        names = next(csv.reader([first.decode("utf-8")], delimiter="|", strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        raise UnreadableError(
            "the first line is not a header in UTF-8 with pipes between the names"
        ) from None
    return tuple(name.strip() for name in names)


def _parquet_header(path: Path, columns: Sequence[str], problems: Problems) -> tuple[str, ...]:
    pa, pq = arrow(), arrow("parquet")
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise UnreadableError("a file is damaged, or not Parquet") from None
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        is_text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
        text = any(is_one(kind) for is_one in is_text)
        number = field.name in (*_NUMBERS, IDENTIFIER) and pa.types.is_integer(kind)
        if field.name in (*columns, IDENTIFIER) and not (text or number):
            problems.at(f"a column is of type {kind}; it must be text", file=path.name, field=field.name)
    return tuple(schema.names)


class Hashes:
    """SHA-256 of the files, computed beside the counting."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources, self._stop = sources, Event()
        self._pool = ThreadPoolExecutor(1)
        self._results = [self._pool.submit(sha256, source.path, self._stop) for source in sources]

    def origins(self) -> list[dict[str, str | int]]:
        """Wait for the hashes; return role, hash and size of the files, as a ledger lists them."""
        return [
            {"role": source.role, "sha256": result.result(), "bytes": source.state[0]}
            for source, result in zip(self._sources, self._results, strict=True)
        ]

    def close(self) -> None:
        """Stop if not done: a program that ends would wait for the rest of a large file."""
        self._stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)


# -- checks ------------------------------------------------------------------------------------------------


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


def _records(lines: Iterable[str], *, strict: bool = False) -> Iterator[tuple[int, list[str] | None]]:
    """Yield the first line and the fields of each record after the header; blank lines are none.

    A record that cannot be taken apart has no fields and is the last one.
    """
    reader = csv.reader(lines, delimiter="|", strict=strict)
    next(reader, None)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield line, None
            return
        if fields:
            yield line, fields


def _report_encoding(source: Source, problems: Problems) -> None:
    """Report bytes that are not UTF-8, and lines that end in another way than the first."""
    first = b""
    with source.path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            end = b"\r\n" if line.endswith(b"\r\n") else b"\n" if line.endswith(b"\n") else b""
            first = first or end
            if end and end != first:
                text = "a line ends in another way than the first one (CRLF, LF); all must end alike"
                problems.at(text, file=source.name, line=number)
            if not line.isascii():
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    problems.at("a byte is not UTF-8", file=source.name, line=number)


def _report_records(source: Source, problems: Problems) -> None:
    """Report records with too few or too many fields, and quotes that are not closed."""
    due = len(source.header)
    with _opened(source) as stream:
        for line, fields in _records(stream, strict=True):
            if fields is None:
                text = "a quoted field does not end, or goes on behind its quote"
                problems.at(text, file=source.name, line=line)
            elif len(fields) != due and (len(fields) != due + 1 or fields[-1]):
                size = "fewer" if len(fields) < due else "more"
                text = f"a record has {size} than the {due} fields of the header"
                problems.at(text, file=source.name, line=line)


def check(
    data: Path, configuration: Configuration, specification: Specification, *, engine: Engine
) -> Geography:
    """Check a folder of data; raise with all problems if there is one."""
    geography, parts = checked(find_sources(data), configuration, specification, engine=engine)
    parts.close()
    return geography


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
) -> tuple[Geography, CodedRecords]:
    """Read both files and check them; what was read is kept, as coded records."""
    problems = Problems()
    grfc, persons = sources
    with ExitStack() as undo:
        parts = CodedRecords(engine, resumable)
        undo.push(parts.close)
        local = parts.engine
        areas = _areas(grfc, local, problems)
        geography = _geography(areas, configuration, local, problems, stop=False)
        table = blocks(local, _whole(areas), geography)
        local.drop(areas)
        if not parts.complete:
            with _readable(persons, problems):
                known = table if local is engine else engine.upload(local.fetch(table))
                records = coded(engine, persons.relation(engine), known, specification)
                parts.write(records, progress=progress)
            if parts.wrong() or _identified_twice(engine, persons):
                before = problems.count
                _locate(persons, local, problems, partial(_person_rules, local, table, specification))
                if problems.count == before:  # two engines that read one file differently; never seen
                    problems.at("a record breaks a rule, but it could not be found which", file=persons.name)
        local.drop(table)
        problems.stop()
        parts.note()
        undo.pop_all()
    return geography, parts


def _identified_twice(engine: Engine, persons: Source) -> bool:
    """Whether two records have the same identifier, if records have one."""
    if IDENTIFIER not in persons.columns:
        return False
    rows = persons.relation(engine)
    named = rows.filter(rows[IDENTIFIER].notnull())
    many = named.group_by(IDENTIFIER).agg(many=named.count())
    return any(engine.count(many.filter(many.many > 1)))


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
    rows, right, blocks = engine.count(areas, _whole(areas), areas.select(*BLOCK_COLUMNS).distinct())
    if not rows:
        raise InputError(f"{source.name} has no block; it must list all of them")
    if right < rows or blocks < rows:
        _locate(source, engine, problems, _area_rules)
    return areas


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
    whole, names = _whole(areas), [name for name in AREAS if name != "block"]
    codes = whole.select(**{name: whole[AREAS[name]] for name in names}).distinct()
    table = engine.fetch(codes, sort=names)
    if stop or not table.num_rows:
        problems.stop()
    try:
        return build(table, configuration)
    except InputError:
        problems.stop()  # what is wrong with the file comes first
        raise


Rules = tuple[Relation, dict[tuple[str, str], Relation]]
"""Numbered rows, and which of them break a rule, by what is said of it and the field it is said of."""


def _locate(source: Source, engine: Engine, problems: Problems, rules: Callable[[Relation], Rules]) -> None:
    """Read a file again, its rows numbered from 0 (`row`), and report the lines that break each rule."""
    # DuckDB can number rows, and Spark cannot
    with nullcontext(engine) if isinstance(engine, DuckDB) else connect("duckdb") as local:
        assert isinstance(local, DuckDB)
        table = local.keep(source.relation(local), in_order=True)
        rows, broken = rules(table.mutate(row=table.rowid()))
        flags = local.keep(rows.select("row", **{f"rule{at}": one for at, one in enumerate(broken.values())}))
        some: dict[tuple[str, str], tuple[list[int], int]] = {}
        wrong = [flags.filter(flags[f"rule{at}"]) for at in range(len(broken))]
        for rule, those, total in zip(broken, wrong, local.count(*wrong), strict=True):
            if total:
                first = local.fetch(those.select("row").order_by("row").limit(MOST), sort=["row"])
                some[rule] = first.column("row").to_pylist(), total
        local.drop(flags)
        local.drop(table)
    lines = line_numbers(source, (row for places, _ in some.values() for row in places))
    for (text, field), (places, total) in some.items():
        named = [lines[row] for row in places if row in lines]
        problems.many(text, file=source.name, lines=named, total=total, field=field)


def _again(rows: Relation, *names: str) -> Relation:
    """Whether a row above has the same values in these columns."""
    import ibis  # type: ignore[import-untyped]

    return ibis.row_number().over(group_by=[rows[name] for name in names], order_by=rows.row) > 0


def _area_rules(rows: Relation) -> Rules:
    rules = {
        (f"a code is not of {width} digits", name): ~_right(rows, name) for name, width in WIDTHS.items()
    }
    rules["a block occurs twice; each may occur once", "TABBLK"] = _again(rows, *BLOCK_COLUMNS)
    return rows, rules


def _person_rules(engine: Engine, blocks: Relation, specification: Specification, rows: Relation) -> Rules:
    found, known = described(engine, rows, blocks, specification), cells()

    def outside(column: str) -> Relation:
        return ~found[column].isin(known.column(column).unique().to_pylist()).fill_null(False)

    rules = {
        ("an age is not a whole number from 0 to 115", "QAGE"): outside("age"),
        ("a sex is not 1 or 2", "QSEX"): outside("sex"),
        **broken_rules(found),
    }
    if IDENTIFIER in rows.columns:
        text = "a record identifier occurs twice; each may occur once"
        rules[text, IDENTIFIER] = found[IDENTIFIER].notnull() & _again(found, IDENTIFIER)
    return found, rules


def count(
    data: Path,
    configuration: Configuration,
    specification: Specification,
    *,
    engine: Engine,
    resumable: Callable[[Sequence[Source]], Resumable] | None = None,
    progress: Progress | None = None,
) -> GroupCounts:
    """Read and check the data, all of it, and make it countable; raise with every problem if there is one.

    `resumable` says where coded records stay if the run is interrupted. `progress` is told how many of all
    steps are done: reading is half of them, then the states.
    """
    sources = find_sources(data)

    def read(part: float) -> None:
        if progress is not None:
            progress(round(part * STEPS / 2), STEPS)

    with ExitStack() as undo:
        hashes = Hashes(sources)
        undo.callback(hashes.close)
        geography, parts = checked(
            sources,
            configuration,
            specification,
            engine=engine,
            resumable=None if resumable is None else resumable(sources),
            progress=None if progress is None else read,
        )
        undo.push(parts.close)
        read(1)
        for source in sources:
            source.unchanged()
        counts = GroupCounts(geography, parts, configuration, specification, hashes, progress)
        undo.pop_all()
    return counts
