"""The two files of data, read and checked, all of them.

One lists the smallest areas and is public; the other has the records and is confidential. Each is text
(`.txt` or `.csv`) or Parquet (`.parquet`), and is read once. What stands between the fields of a text is said
by the specification, or found from its first line.

What is wrong shows in what was made of a file: values that no cell stands for, an area that the other file
does not have, a code that the specification does not have. Only then is the file read a second time, to say
where: an engine reads in parallel and does not say where it stumbled without repeating what it read, so lines
are counted here. All problems come in one report; no value of the records is ever repeated.
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
from discreet.release.mechanism.configuration import Configuration
from discreet.release.mechanism.counts import (
    STEPS,
    CodedRecords,
    GroupCounts,
    Progress,
    Resumable,
    area_table,
    broken_rules,
    cells,
    coded_cells,
    described,
)
from discreet.release.mechanism.groups import Specification
from discreet.release.mechanism.regions import Geography, build_regions, code_columns
from discreet.release.mechanism.tabulation import AdaptiveTabulation, DataFile
from discreet.release.tables import arrow
from discreet.tables import MOST, Problems

# -- files -------------------------------------------------------------------------------------------------

ENDINGS = (".txt", ".csv", ".parquet")
SEPARATORS = {"|": "pipes", ",": "commas", ";": "semicolons", "\t": "tabs"}
"""What may stand between the fields of a text."""

ROLES = ("blocks", "persons")
"""What a ledger calls the file of areas and that of records."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file, what it is for, the columns it has and those that are read."""

    role: str
    path: Path
    header: tuple[str, ...]
    columns: tuple[str, ...]
    state: tuple[int, int]
    separator: str = "|"

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
        if self.is_parquet:
            table = engine.parquet(self.path)
        elif self.separator == "|":
            table = engine.csv(self.path, self.header)
        else:
            table = engine.parquet(self._converted(engine.place / f"{engine.fresh()}.parquet"))
        return table.select(**{name: table[name].cast("string") for name in self.columns})

    def _converted(self, target: Path) -> Path:
        """Write the columns that are read of a text as Parquet, which every engine reads."""
        pa, csv, pq = arrow(), arrow("csv"), arrow("parquet")
        schema = pa.schema([(name, pa.string()) for name in self.columns])
        # Arrow's own error repeats what it found, so it must not even be the context of the one raised
        damaged = False
        try:
            reader = csv.open_csv(
                self.path,
                read_options=csv.ReadOptions(column_names=self.header, skip_rows=1),
                parse_options=csv.ParseOptions(delimiter=self.separator, newlines_in_values=True),
                convert_options=csv.ConvertOptions(
                    column_types=schema,
                    include_columns=self.columns,
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=True,
                ),
            )
            with pq.ParquetWriter(target, schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)
        except pa.ArrowInvalid:
            damaged = True
        if damaged:
            raise UnreadableError("a file cannot be read as text")
        target.chmod(0o600)
        return target

    def unchanged(self) -> None:
        """Raise if the file was written to since it was first looked at."""
        if _state(self.path) != self.state:
            raise InputError(f"{self.name} changed while it was read; none of it is used")


def find_sources(
    data: Path, tabulation: AdaptiveTabulation, roles: Sequence[str] = ROLES
) -> tuple[Source, ...]:
    """Find the files and read their headers; whatever is wrong with any of them is reported together."""
    data, problems = Path(data), Problems()
    wanted = dict(zip(ROLES, (tabulation.area_file, tabulation.record_file), strict=True))
    if not data.is_dir():
        both = " and ".join(one.name for one in wanted.values())
        raise InputError(f"{data} is not a directory; it must be one that holds {both}")
    found = []
    for role in roles:
        file = wanted[role]
        paths = [
            data / f"{file.name}{ending}" for ending in ENDINGS if (data / f"{file.name}{ending}").is_file()
        ]
        names = f"{file.name}.txt, {file.name}.csv or {file.name}.parquet"
        if not paths:
            problems.at(f"a file is missing: {names} must be in {data}", file=file.name)
        elif len(paths) > 1:
            both = " and ".join(path.name for path in paths)
            problems.at(f"{both} are both in {data}; keep one of them", file=file.name)
        else:
            separator = file.separator or _separator(paths[0], file)
            header = _header(paths[0], file, separator, tabulation, problems)
            named = (*file.columns, *((file.identifier,) if file.identifier in header else ()))
            found.append(Source(role, paths[0], header, named, _state(paths[0]), separator))
    problems.stop()
    return tuple(found)


def _separator(path: Path, file: DataFile) -> str:
    """Find what stands between the fields of a text: what gives the most columns that are wanted."""
    if path.suffix == ".parquet":
        return ""
    with path.open("rb") as stream:
        first = stream.readline(1 << 20).decode("utf-8", "replace").removeprefix("\ufeff").strip()

    def known(separator: str) -> int:
        return len({name.strip().strip('"') for name in first.split(separator)} & set(file.columns))

    return max(SEPARATORS, key=known)


def _state(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_size, state.st_mtime_ns


def _header(
    path: Path, file: DataFile, separator: str, tabulation: AdaptiveTabulation, problems: Problems
) -> tuple[str, ...]:
    """Read the names of the columns, and report those that are missing or come twice."""
    columns, unused = file.columns, file.unread
    try:
        if path.suffix == ".parquet":
            header = _parquet_header(path, file, tabulation, problems)
        else:
            header = _csv_header(path, separator)
    except OSError as error:
        problems.at(f"a file cannot be read: {error.strerror or 'it is damaged'}", file=path.name)
        return ()
    except UnreadableError as error:
        problems.at(str(error), file=path.name)
        return ()
    if not set(columns) & set(header):
        between = (
            SEPARATORS.get(separator, "commas") if file.separator else "commas, semicolons, tabs or pipes"
        )
        text = f"no column has a name that is known; the first line must name them, with {between} between"
        if set(columns) & {name.upper() for name in header}:
            text = "the names of the columns must be in capital letters"
        problems.at("a file is empty" if not path.stat().st_size else text, file=path.name)
        return ()
    wanted = {*columns, *unused, *((file.identifier,) if file.identifier else ())}
    for name in dict.fromkeys((*columns, *unused, *((file.identifier,) if file.identifier else ()))):
        count = header.count(name)
        if count != 1 and not (name == file.identifier and count == 0):
            text = "a column occurs twice" if count else "a column is missing"
            problems.at(text, file=path.name, line=None if path.suffix == ".parquet" else 1, field=name)
    # the engine wants distinct names; columns that are not read may be called anything
    return tuple(name if name in wanted else f"unread {place}" for place, name in enumerate(header))


def _csv_header(path: Path, separator: str) -> tuple[str, ...]:
    with path.open("rb") as stream:
        first = stream.readline(1 << 20).removeprefix(b"\xef\xbb\xbf")
    try:
        names = next(csv.reader([first.decode("utf-8")], delimiter=separator, strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        raise UnreadableError(
            f"the first line is not a header in UTF-8 with {SEPARATORS[separator]} between the names"
        ) from None
    return tuple(name.strip() for name in names)


def _parquet_header(
    path: Path, file: DataFile, tabulation: AdaptiveTabulation, problems: Problems
) -> tuple[str, ...]:
    pa, pq = arrow(), arrow("parquet")
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise UnreadableError("a file is damaged, or not Parquet") from None
    # columns that may be numbers in Parquet; codes are texts, for they have leading zeros
    numbers = {one.column for one in tabulation.attributes} | {file.identifier}
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        is_text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
        text = any(is_one(kind) for is_one in is_text)
        number = field.name in numbers and pa.types.is_integer(kind)
        if field.name in (*file.columns, file.identifier) and not (text or number):
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
        for row, (line, _) in enumerate(_records(stream, source.separator)):
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
        between = SEPARATORS[source.separator]
        text = (
            f"a file cannot be read as text in UTF-8 with {between} between the fields and one record a line"
        )
        problems.at(text, file=source.name)


def _opened(source: Source) -> TextIO:
    return source.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")


def _records(
    lines: Iterable[str], separator: str, *, strict: bool = False
) -> Iterator[tuple[int, list[str] | None]]:
    """Yield the first line and the fields of each record after the header; blank lines are none.

    A record that cannot be taken apart has no fields and is the last one.
    """
    reader = csv.reader(lines, delimiter=separator, strict=strict)
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
        for line, fields in _records(stream, source.separator, strict=True):
            if fields is None:
                text = "a quoted field does not end, or goes on behind its quote"
                problems.at(text, file=source.name, line=line)
            elif len(fields) != due and (len(fields) != due + 1 or fields[-1]):
                size = "fewer" if len(fields) < due else "more"
                text = f"a record has {size} than the {due} fields of the header"
                problems.at(text, file=source.name, line=line)


def check_records(
    data: Path, configuration: Configuration, specification: Specification, *, engine: Engine
) -> Geography:
    """Check a folder of data; raise with all problems if there is one."""
    sources = find_sources(data, specification.tabulation)
    geography, parts = checked(sources, configuration, specification, engine=engine)
    parts.close()
    return geography


def read_geography(data: Path, configuration: Configuration, *, engine: Engine) -> Geography:
    """Read and check the file of areas alone, the public one."""
    problems = Problems()
    (source,) = find_sources(data, configuration.tabulation, ROLES[:1])
    areas = _areas(source, configuration.tabulation, engine, problems)
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
    problems, tabulation = Problems(), specification.tabulation
    public, persons = sources
    with ExitStack() as undo:
        parts = CodedRecords(engine, resumable)
        undo.push(parts.close)
        local = parts.engine
        areas = _areas(public, tabulation, local, problems)
        geography = _geography(areas, configuration, local, problems, stop=False)
        table = area_table(local, _whole(areas, tabulation), geography)
        local.drop(areas)
        if not parts.complete:
            with _readable(persons, problems):
                known = table if local is engine else engine.upload(local.fetch(table))
                records = coded_cells(engine, persons.relation(engine), known, specification)
                parts.write(records, progress=progress)
            if parts.wrong() or _identified_twice(engine, persons, tabulation.record_file.identifier):
                before = problems.count
                _locate(persons, local, problems, partial(_person_rules, local, table, specification))
                if problems.count == before:  # two engines that read one file differently; never seen
                    problems.at("a record breaks a rule, but it could not be found which", file=persons.name)
        local.drop(table)
        problems.stop()
        parts.note()
        undo.pop_all()
    return geography, parts


def _identified_twice(engine: Engine, persons: Source, identifier: str) -> bool:
    """Whether two records have the same identifier, if records have one."""
    if identifier not in persons.columns:
        return False
    rows = persons.relation(engine)
    named = rows.filter(rows[identifier].notnull())
    many = named.group_by(identifier).agg(many=named.count())
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


def _areas(source: Source, tabulation: AdaptiveTabulation, engine: Engine, problems: Problems) -> Relation:
    """Read the file of areas and report what is wrong with it."""
    with _readable(source, problems):
        areas = engine.keep(source.relation(engine))
    distinct = areas.select(*tabulation.areas.key).distinct()
    rows, right, different = engine.count(areas, _whole(areas, tabulation), distinct)
    if not rows:
        raise InputError(f"{source.name} has no {tabulation.areas.one}; it must list all of them")
    if right < rows or different < rows:
        _locate(source, engine, problems, partial(_area_rules, tabulation))
    return areas


def _right(areas: Relation, name: str, width: int) -> Relation:
    if not width:
        # codes of any width are written into tables as they are, so they must be plain
        return (~areas[name].re_search("[^0-9A-Za-z._-]") & (areas[name].length() <= 32)).fill_null(False)
    # not by ^ and $: to Java, a text may go on with a line break behind $
    digits = ~areas[name].re_search("[^0-9]") & (areas[name].length() == width)
    return digits.fill_null(False)


def _whole(areas: Relation, tabulation: AdaptiveTabulation) -> Relation:
    """Return the rows whose codes are what they must be."""
    return areas.filter([_right(areas, name, width) for name, width in tabulation.areas.widths.items()])


def _geography(
    areas: Relation, configuration: Configuration, engine: Engine, problems: Problems, *, stop: bool = True
) -> Geography:
    tabulation = configuration.tabulation
    whole, names = _whole(areas, tabulation), list(code_columns(tabulation))
    table = engine.fetch(whole.select(*names).distinct(), sort=names)
    if stop or not table.num_rows:
        problems.stop()
    try:
        return build_regions(table, configuration)
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


def _area_rules(tabulation: AdaptiveTabulation, rows: Relation) -> Rules:
    areas = tabulation.areas
    rules = {
        (
            f"a code is not of {width} digits" if width else "a code is not of 1 to 32 letters and digits",
            name,
        ): ~_right(rows, name, width)
        for name, width in areas.widths.items()
    }
    rules[f"a {areas.one} occurs twice; each may occur once", areas.key[-1]] = _again(rows, *areas.key)
    return rows, rules


def _person_rules(engine: Engine, areas: Relation, specification: Specification, rows: Relation) -> Rules:
    tabulation = specification.tabulation
    found, known = described(engine, rows, areas, specification), cells(tabulation)

    def outside(column: str) -> Relation:
        return ~found[column].isin(known.column(column).unique().to_pylist()).fill_null(False)

    rules = {
        (one.wrong, one.column): outside(f"value{place}")
        for place, one in reversed([*enumerate(tabulation.attributes)])
    }
    rules |= broken_rules(found, tabulation)
    identifier = tabulation.record_file.identifier
    if identifier and identifier in rows.columns:
        text = "a record identifier occurs twice; each may occur once"
        rules[text, identifier] = found[identifier].notnull() & _again(found, identifier)
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
    steps are done: reading is half of them, then the parts of the country.
    """
    sources = find_sources(data, specification.tabulation)

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
