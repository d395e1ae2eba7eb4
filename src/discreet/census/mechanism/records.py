"""The two files of data, read and checked, all of them.

One lists the smallest areas and is public; the other has the records and is confidential. Each is a table of
any kind that `discreet.tables` reads, and is read once. An engine reads Parquet, and text with bars between
the fields, itself; anything else is copied for it, as Parquet, to its private directory.

What is wrong shows in what was made of a file: values that no cell stands for, an area that the other file
does not have, a code that the specification does not have. Only then is the file read a second time, to say
where: an engine reads in parallel and does not say where it stumbled without repeating what it read. All
problems come in one report; no value of the records is ever repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event

from discreet.areas.output import arrow
from discreet.census.mechanism.configuration import Configuration
from discreet.census.mechanism.counts import (
    STEPS,
    CodedRecords,
    GroupCounts,
    Progress,
    area_table,
    broken_rules,
    cells,
    coded_cells,
    described,
    right_code,
)
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.regions import Geography, build_regions, code_columns
from discreet.census.mechanism.tabulation import AdaptiveTabulation, DataFile
from discreet.errors import InputError
from discreet.files import sha256
from discreet.ledger.resumable import Resumable
from discreet.records.engine import DuckDB, Engine, Relation, UnreadableError, connect
from discreet.tables import (
    FILE_ENDINGS,
    MOST,
    SIGNS,
    Columnar,
    Delimited,
    Kind,
    OpenTable,
    Problems,
    find_columns,
    open_table,
)

# -- files -------------------------------------------------------------------------------------------------

USUAL = (".txt", ".csv", ".parquet")
"""How the names of the files usually end; other tables are looked for if there is none of these."""

BAR = "|"
"""What stands between the fields of a text that an engine reads itself."""

ROLES = ("blocks", "persons")
"""What a ledger calls the file of areas and that of records, if they are of people."""
OTHER_RECORDS = "records"
"""What it calls records of another unit."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file, what it is for, and the columns that are read: what they hold, and their names in the file."""

    role: str
    path: Path
    table: OpenTable
    kinds: Mapping[str, Kind]
    written: Mapping[str, str]
    state: tuple[int, int]

    @property
    def name(self) -> str:
        """The file's name, as problems are reported."""
        return self.path.name

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, by the names that the specification has."""
        return tuple(self.kinds)

    def problems(self, every: Problems) -> Problems:
        """Return what collects the problems of this file among all."""
        mine = every.of(self.table.shown, first_line=self.table.first_line, word=self.table.word)
        mine.written = self.written
        return mine

    @property
    def text(self) -> Delimited | None:
        """The text, if it is one that an engine reads itself."""
        table, plain = self.table, self.path.suffix in USUAL
        return table if isinstance(table, Delimited) and table.sign == BAR and plain else None

    @property
    def is_parquet(self) -> bool:
        """Whether an engine reads it itself, as Parquet; it would not write 30.0 as 30."""
        if not isinstance(self.table, Columnar) or self.table.kind != "parquet":
            return False
        types, is_a = self.table.schema, arrow().types
        held = [types.field(self.written[name]).type for name in self.columns]
        return not any(is_a.is_floating(column_type) or is_a.is_decimal(column_type) for column_type in held)

    def relation(self, engine: Engine, problems: Problems) -> Relation:
        """Return the columns that are read, as texts; an empty field is null."""
        if self.text is not None:
            known = {self.written[name]: name for name in self.columns}
            # the engine wants distinct names; columns that are not read may be called anything
            names = (known.get(name, f"unread {at}") for at, name in enumerate(self.table.names))
            table, written = engine.csv(self.path, tuple(names)), {name: name for name in self.columns}
        elif self.is_parquet:
            table, written = engine.parquet(self.path), {name: self.written[name] for name in self.columns}
        else:
            table = engine.parquet(self._copied(engine.place / f"{engine.fresh()}.parquet", problems))
            written = {name: name for name in self.columns}
        return table.select(
            **{name: table[written_name].cast("string") for name, written_name in written.items()}
        )

    def _copied(self, target: Path, problems: Problems) -> Path:
        """Write the columns that are read as Parquet, which every engine reads; raise if a row is none."""
        pa, pc, pq = arrow(), arrow("compute"), arrow("parquet")
        schema = pa.schema([(name, pa.string()) for name in self.columns])
        kinds = {self.written[name]: kind for name, kind in self.kinds.items()}
        before = problems.count
        target.touch(mode=0o600)
        with pq.ParquetWriter(target, schema) as writer:
            for batch in self.table.batches(kinds, self.problems(problems), coded=False):
                texts = (batch.column(column).cast(pa.string()) for column in kinds)
                fields = [
                    pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text) for text in texts
                ]
                writer.write_batch(pa.RecordBatch.from_arrays(fields, schema=schema))
        if problems.count > before:
            problems.stop()
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
        both = " and ".join(data_file.name for data_file in wanted.values())
        raise InputError(f"{data} is not a directory; it must be one that holds {both}")
    sources = []
    for role in roles:
        file = wanted[role]
        paths = _files(data, file.name, USUAL) or _files(data, file.name, FILE_ENDINGS)
        if not paths:
            names = f"{file.name}.txt, {file.name}.csv or {file.name}.parquet"
            problems.at(f"a file is missing: {names} (or another table) must be in {data}", file=file.name)
        elif len(paths) > 1:
            both = " and ".join(path.name for path in paths)
            problems.at(f"{both} are both in {data}; keep one of them", file=file.name)
        else:
            with problems.gathering():
                sources.append(_opened(role, paths[0], file, tabulation, problems))
    problems.stop()
    return tuple(sources)


def _files(data: Path, name: str, endings: Iterable[str]) -> list[Path]:
    return [path for ending in endings if (path := data / f"{name}{ending}").is_file()]


def _state(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_size, state.st_mtime_ns


def _opened(
    role: str, path: Path, file: DataFile, tabulation: AdaptiveTabulation, problems: Problems
) -> Source:
    """Read the names of the columns, and report those that are missing, come twice or hold something else."""
    state = _state(path)
    needed = list(dict.fromkeys((*file.columns, *file.unread)))
    optional = [file.identifier] if file.identifier else []
    table = open_table(path, wanted=[*needed, *optional])
    if isinstance(table, Delimited) and file.separator not in ("", table.sign):
        separator, due = SIGNS[table.sign], SIGNS[file.separator]
        problems.say(f"{path.name} has {separator} between the fields; the specification asks for {due}")
    written = find_columns(
        table.names, needed=needed, optional=optional, table=table.shown, problems=problems
    )
    # ages may be numbers; codes are texts, for they have leading zeros
    numbers = {attribute.column for attribute in tabulation.attributes} | {file.identifier}
    kinds: dict[str, Kind] = {
        name: "text" if name in numbers else "code" for name in (*file.columns, *optional) if name in written
    }
    if isinstance(table, Columnar):
        table.check({written[name]: kind for name, kind in kinds.items()}, problems)
    if role == ROLES[1] and tabulation.unit != "person":
        role = OTHER_RECORDS
    return Source(role, path, table, kinds, written, state)


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


def _report_unreadable(source: Source, problems: Problems) -> None:
    """Report why an engine could not read a file."""
    if source.text is not None:
        source.text.report_lines({}, source.problems(problems), strict=True)
    else:  # a copy that was just made is readable
        problems.say(f"{source.name} cannot be read as Parquet: it is damaged, or something else")


def check_person_records(
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
                records = coded_cells(engine, persons.relation(engine, problems), known, specification)
                parts.write(records, progress=progress)
            identifier = tabulation.record_file.identifier
            lenient = tabulation.record_file.lenient
            if parts.wrong(lenient=lenient) or _identified_twice(engine, persons, identifier, problems):
                before = problems.count
                _locate(persons, local, problems, partial(_person_rules, local, table, specification))
                if problems.count == before:  # two engines that read one file differently; never seen
                    problems.at("a record breaks a rule, but it could not be found which", file=persons.name)
        local.drop(table)
        problems.stop()
        parts.note()
        undo.pop_all()
    return geography, parts


def _identified_twice(engine: Engine, persons: Source, identifier: str, problems: Problems) -> bool:
    """Whether two records have the same identifier, if records have one."""
    if identifier not in persons.columns:
        return False
    rows = persons.relation(engine, problems)
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
        _report_unreadable(source, problems)
    problems.stop()


def _areas(source: Source, tabulation: AdaptiveTabulation, engine: Engine, problems: Problems) -> Relation:
    """Read the file of areas and report what is wrong with it."""
    with _readable(source, problems):
        areas = engine.keep(source.relation(engine, problems))
    distinct = areas.select(*tabulation.areas.key).distinct()
    rows, right, different = engine.count(areas, _whole(areas, tabulation), distinct)
    if not rows:
        raise InputError(f"{source.name} has no {tabulation.areas.one}; it must list all of them")
    if right < rows or different < rows:
        _locate(source, engine, problems, partial(_area_rules, tabulation))
    return areas


def _whole(areas: Relation, tabulation: AdaptiveTabulation) -> Relation:
    """Return the rows whose codes are what they must be."""
    return areas.filter([right_code(areas, name, width) for name, width in tabulation.areas.widths.items()])


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
        table = local.keep(source.relation(local, problems), in_order=True)
        rows, broken = rules(table.mutate(row=table.rowid()))
        flags = local.keep(
            rows.select("row", **{f"rule{at}": condition for at, condition in enumerate(broken.values())})
        )
        some: dict[tuple[str, str], tuple[list[int], int]] = {}
        wrong = [flags.filter(flags[f"rule{at}"]) for at in range(len(broken))]
        for rule, those, total in zip(broken, wrong, local.count(*wrong), strict=True):
            if total:
                first = local.fetch(those.select("row").order_by("row").limit(MOST), sort=["row"])
                some[rule] = first.column("row").to_pylist(), total
        local.drop(flags)
        local.drop(table)
    mine, first = source.problems(problems), source.table.first_line
    every = {row for places, _ in some.values() for row in places}
    # an engine passes over empty lines
    lines = {row: row + first for row in every} if source.text is None else source.text.lines_of(every)
    for (text, field), (places, total) in some.items():
        named = [lines[row] for row in places if row in lines]
        mine.many(text, lines=named, total=total, field=source.written.get(field, field))


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
        ): ~right_code(rows, name, width)
        for name, width in areas.widths.items()
    }
    rules[f"a {areas.one} occurs twice; each may occur once", areas.key[-1]] = _again(rows, *areas.key)
    return rows, rules


def _person_rules(engine: Engine, areas: Relation, specification: Specification, rows: Relation) -> Rules:
    tabulation = specification.tabulation
    records, known = described(engine, rows, areas, specification), cells(tabulation)

    def outside(column: str) -> Relation:
        return ~records[column].isin(known.column(column).unique().to_pylist()).fill_null(False)

    rules = {
        (attribute.wrong, attribute.column): outside(f"value{index}")
        for index, attribute in reversed([*enumerate(tabulation.attributes)])
    }
    rules |= broken_rules(records, tabulation)
    identifier = tabulation.record_file.identifier
    if identifier and identifier in rows.columns:
        text = "a record identifier occurs twice; each may occur once"
        rules[text, identifier] = records[identifier].notnull() & _again(records, identifier)
    return records, rules


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
