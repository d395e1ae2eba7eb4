"""The records: the two files of data, coded as small integers as they are read, and checked, all of them.

`GRF-C` lists the blocks and is public; `person-records` is confidential. Each is pipe-delimited text
(`.txt` or `.csv`) or Parquet (`.parquet`), and is read once. A record becomes its atom, its cell of sex and
age, and its codes as three integers of three codes each. The expressions run on any engine. They avoid what
engines do differently: nothing is cast that may fail, codes are taken apart by shifting bits (a quotient may
be a float), and sums are narrowed by the engine (DuckDB makes them 128 bits wide).

What is wrong shows in what was made of a file: an age or sex that no cell stands for, a block that GRF-C does
not have, a combination with a code that the specification does not have. Only then is the file read a second
time, to say where: an engine reads in parallel and does not say where it stumbled without repeating what it
read, so lines are counted here. All problems come in one report; no value of the records is ever repeated.

Coded records are as confidential as the records. They lie in a directory that only its owner can read, and go
at the end: in the engine's, or, for a run that may be resumed, beside the output. Such a run that is
interrupted leaves them, with a note of what they were made from, and the next one goes on from there. The
note goes before noise is drawn: after that nothing is resumed. A cluster reads the records and sums up those
that are alike, in one plan; what it finds is stored and counted on this machine, as all else.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add, or_
from pathlib import Path
from threading import Event
from typing import TextIO

from discreet.errors import InputError
from discreet.files import sync, whole_file
from discreet.release.audit import sha256
from discreet.release.commit import try_lock
from discreet.release.engine import Engine, Relation, UnreadableError, connect
from discreet.release.engine.duckdb import DuckDB
from discreet.release.hierarchy.arrow import ArrowTable, arrow, strings
from discreet.release.problems import MOST, Problems
from discreet.release.safetab.configuration import Configuration
from discreet.release.safetab.geography import Geography, build
from discreet.release.safetab.specification import CODE_FILE, NULL, Specification
from discreet.release.safetab.tables import RANGES, TOP_AGE

# -- files ---------------------------------------------------------------------------------------------------

BLOCK_COLUMNS = ("TABBLKST", "TABBLKCOU", "TABTRACTCE", "TABBLK")
AREA_COLUMNS = (*BLOCK_COLUMNS, "PLACEFP", "AIANNHCE")
WIDTHS = dict(zip(AREA_COLUMNS, (2, 3, 6, 4, 5, 4), strict=True))
"""Digits of the codes of GRF-C."""
AREAS = dict(zip(("state", "county", "tract", "block", "place", "area"), AREA_COLUMNS, strict=True))
"""What the columns of GRF-C are called here."""
RACE_COLUMNS = tuple(f"QRACE{place}" for place in range(1, 9))
PERSON_COLUMNS = ("QAGE", "QSEX", *BLOCK_COLUMNS, *RACE_COLUMNS, "QSPAN")
UNUSED_COLUMNS = ("HOUSEHOLDER", "CENRACE")
"""Columns of the format that no table needs: they must be there, and are not read."""

ROLES = {
    "blocks": ("GRF-C", AREA_COLUMNS, ()),
    "persons": ("person-records", PERSON_COLUMNS, UNUSED_COLUMNS),
}
IDENTIFIER = "RECORD_ID"
"""A column that names each record once, if there is one: no two records may have the same."""
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
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)
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


# -- coding --------------------------------------------------------------------------------------------------

AGES = len(RANGES[-1])
"""The finest age ranges; a cell is (sex - 1) * AGES + age range."""

BITS = 21
"""Bits of a code: two million of them, and three codes fit into 63 bits."""

CODES = ("first", "second", "third")
"""The columns of a combination: races 1 to 3, 4 to 6, and 7, 8 and the origin; 0 is no code."""

NOWHERE = -1
"""The state of a record whose block is not known."""


def blocks(engine: Engine, areas: Relation, geography: Geography) -> Relation:
    """Return `tract` (eleven digits), `block`, `atom` and `part` (the number of the state) of every block."""
    keys = engine.upload(geography.keys)
    named = areas.select(**{short: areas[column] for short, column in AREAS.items()})
    joined = named.inner_join(keys, ["state", "county", "tract", "place", "area"])
    atoms = joined.select(
        tract=joined.state + joined.county + joined.tract,
        block=joined.block,
        atom=joined.atom,
        part=joined.part,
    )
    # a block that comes twice is reported, but must not make people count twice while other checks go on
    once = atoms.group_by(["tract", "block"]).agg(atom=atoms.atom.min(), part=atoms.part.min())
    return engine.keep(once)


def cells() -> ArrowTable:
    """Return an Arrow table of all ways to write age and sex, with the cell they mean."""
    pa = arrow()
    rows: dict[tuple[str, str], int] = {}
    for age in range(TOP_AGE + 1):
        place = max(place for place, (start, _) in enumerate(RANGES[-1]) if start <= age)
        for sex in (1, 2):
            rows |= {(f"{age:0{width}}", str(sex)): (sex - 1) * AGES + place for width in (1, 2, 3)}
    return pa.table(
        {
            "age": strings([age for age, _ in rows]),
            "sex": strings([sex for _, sex in rows]),
            "cell": pa.array(list(rows.values()), pa.int8()),
        }
    )


def numbers(specification: Specification) -> ArrowTable:
    """Return an Arrow table of the codes and their numbers, from 1."""
    pa, codes = arrow(), list(specification.codes)
    return pa.table({"code": strings(codes), "number": pa.array(range(1, len(codes) + 1), pa.int64())})


def tract(people: Relation) -> Relation:
    """Return state, county and tract as one text, or null if the widths of the parts are wrong.

    Without the widths, shifted digits could make another tract's name.
    """
    import ibis  # type: ignore[import-untyped]

    right = (people.TABBLKST.length() == 2) & (people.TABBLKCOU.length() == 3)
    return ibis.ifelse(right, people.TABBLKST + people.TABBLKCOU + people.TABTRACTCE, ibis.null("string"))


def coded(engine: Engine, people: Relation, block_table: Relation, specification: Specification) -> Relation:
    """Return each record as integers: part, atom, cell, codes, whether it breaks a rule, and that it is one.

    This is not computed yet; whoever stores it reads the file, once.
    """
    import ibis

    fields = {f"code{place}": people[name].nullif(NULL) for place, name in enumerate(RACE_COLUMNS)}
    fields[f"code{len(RACE_COLUMNS)}"] = people.QSPAN.nullif(NULL)
    found = people.select(
        tract=tract(people), block=people.TABBLK, age=people.QAGE, sex=people.QSEX, **fields
    )
    found = found.left_join(block_table, ["tract", "block"]).select("part", "atom", "age", "sex", *fields)
    found = found.left_join(engine.upload(cells()), ["age", "sex"]).select("part", "atom", "cell", *fields)
    known = engine.upload(numbers(specification))
    for place, field in enumerate(fields):
        own = known.select(**{f"key{place}": known.code, f"number{place}": known.number})
        kept = [*("part", "atom", "cell"), *fields, *(f"number{before}" for before in range(place + 1))]
        found = found.left_join(own, found[field] == own[f"key{place}"]).select(*kept)
    given = [found[field].notnull() for field in fields]
    named = [found[f"number{place}"] for place in range(len(fields))]
    races = given[:-1]
    wrong = [
        found.atom.isnull(),
        found.cell.isnull(),
        ~races[0],
        named[-1].isnull(),
        *(~before & after for before, after in pairwise(races)),
        *(there & number.isnull() for there, number in zip(races, named, strict=False)),
    ]
    shifted = [number.fill_null(0) * (1 << BITS * (place % 3)) for place, number in enumerate(named)]
    return found.select(
        part=found.part.fill_null(NOWHERE),
        atom=found.atom,
        cell=found.cell,
        **{name: reduce(add, shifted[3 * k : 3 * k + 3]) for k, name in enumerate(CODES)},
        wrong=ibis.ifelse(reduce(or_, wrong), ibis.literal(1, "int8"), ibis.literal(0, "int8")),
        people=ibis.literal(1, "int64"),
    )


def combinations(engine: Engine, people: Relation) -> Relation:
    """Number the distinct combinations of codes."""
    import ibis

    distinct = people.select(*CODES).distinct()
    # ordered, for an engine that computes it twice must find the same numbers
    number = ibis.row_number().over(order_by=[distinct[name] for name in CODES])
    return engine.keep(distinct.mutate(combination=number.cast("int32")))


def base_counts(people: Relation, combined: Relation) -> Relation:
    """Return people by atom, combination and cell, of those who are tabulated."""
    inside = people.filter(people.atom >= 0)
    keys = ["atom", "cell", *CODES]
    some = inside.group_by(keys).agg(people=inside.people.sum())
    return some.inner_join(combined, list(CODES)).select("atom", "combination", "cell", "people")


def _code(combined: Relation, place: int) -> Relation:
    """The number of a code of a combination, 0 if there is none."""
    packed = combined[CODES[place // 3]]
    return (packed >> (BITS * (place % 3))) & ((1 << BITS) - 1)


def members(engine: Engine, combined: Relation, specification: Specification, most: int) -> Relation:
    """Return the groups of each combination, each once: however many codes lead to a group, it counts once.

    Alone: groups that all codes share. In combination: groups that any code has. Ethnicity: those of QSPAN.
    """
    import ibis

    known = engine.upload(mapping(specification))
    race, ethnicity = known.filter(known.kind != "ethnicity"), known.filter(known.kind == "ethnicity")
    each = [combined.select("combination", number=_code(combined, place)) for place in range(most)]
    codes = ibis.union(*each, distinct=True) if most > 1 else each[0]
    codes = codes.filter(codes.number > 0)
    many = codes.group_by("combination").agg(many=codes.count())
    found = codes.inner_join(race, "number").select("combination", "iteration", "kind")
    shared = (
        found.filter(found.kind == "alone")
        .group_by(["combination", "iteration"])
        .agg(sharing=lambda t: t.count())
    )
    alone = shared.inner_join(many, "combination")
    alone = alone.filter(alone.sharing == alone.many).select("combination", "iteration")
    some = found.filter(found.kind == "combination").select("combination", "iteration").distinct()
    origin = combined.select("combination", number=_code(combined, len(RACE_COLUMNS)))
    spanish = origin.inner_join(ethnicity, "number").select("combination", "iteration")
    return engine.keep(alone.union(some, distinct=False).union(spanish, distinct=False))


def mapping(specification: Specification) -> ArrowTable:
    """Return an Arrow table of what codes mean: the code's number, the index of a group, the group's kind."""
    pa = arrow()
    index = {one.code: place for place, one in enumerate(specification.iterations) if one.level}
    number = {code: place for place, code in enumerate(specification.codes, 1)}
    pairs = [
        (number[code], index[group])
        for code, groups in specification.mapped.items()
        for group in groups
        if group in index
    ]
    return pa.table(
        {
            "number": pa.array([code for code, _ in pairs], pa.int64()),
            "iteration": pa.array([group for _, group in pairs], pa.int32()),
            "kind": strings([specification.iterations[group].kind for _, group in pairs]),
        }
    )


FEW = 1_000_000
"""Up to so many records are counted all at once."""

NOTE = "coded.json"
"""Says that all records are coded, and what from."""


@dataclass(frozen=True, slots=True)
class Resumable:
    """Where the coded records of a run stay if it is interrupted, and what they were made from."""

    folder: Path
    made_from: dict[str, object]

    @classmethod
    def beside(cls, out: Path, made_from: dict[str, object]) -> Resumable:
        """Return the place beside an output."""
        return cls(out.parent / f".discreet-{out.name}.coded", made_from)


class CodedRecords:
    """The coded records of a run, state by state."""

    def __init__(self, reader: Engine, resumable: Resumable | None = None) -> None:
        """`reader` reads the records; `engine`, on this machine, does the rest: the same one, if it can."""
        self._reader, self._resumable, self._open = reader, resumable, ExitStack()
        if isinstance(reader, DuckDB):
            self.engine = reader
        else:
            local = self._open.enter_context(connect("duckdb"))
            assert isinstance(local, DuckDB)
            self.engine = local
        self._lock: int | None = None
        own = self.engine.place / self.engine.fresh()
        self._folder = own if resumable is None else resumable.folder
        self.complete = False
        """Whether all records are here already, from a run that was interrupted."""
        if resumable is not None:
            try:
                self.complete = self._found(resumable)
            except BaseException:
                self._free()
                raise

    def _found(self, resumable: Resumable) -> bool:
        """Take the directory, and say whether it holds the records of such a run."""
        folder, made_from = resumable.folder, resumable.made_from
        if folder.is_symlink():
            raise InputError(f"{folder} is a link; coded records are not kept behind one")
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.stat()
        if state.st_uid != os.getuid() or state.st_mode & 0o077:
            raise InputError(f"{folder} can be read by others; remove it, or make it private to you")
        self._lock = try_lock(folder)
        if self._lock is None:
            raise InputError(f"another run uses {folder}; wait for it, or name another output")
        if not (folder / NOTE).is_file():
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            return False
        try:
            said = json.loads((folder / NOTE).read_bytes())
        except ValueError:  # damaged
            said = None
        if said != made_from:
            raise InputError(
                f"{folder} has the records of an interrupted run with other parameters, data or version; "
                "remove it to start again"
            )
        return True

    def write(self, records: Relation, progress: Callable[[float], None] | None = None) -> None:
        """Compute and store the records; this reads their file."""
        if self._reader is not self.engine:
            keys = ["part", "atom", "cell", *CODES, "wrong"]
            alike = records.group_by(keys).agg(people=records.people.sum())
            records = self.engine.upload(self._reader.fetch(alike))
        self.engine.store(records, self._folder / "coded", by="part", progress=progress)
        if self._reader is not self.engine:
            self.engine.drop(records)

    def note(self) -> None:
        """Remember that all records are here and right, so that the run can be resumed."""
        if self._resumable is not None:
            with whole_file(self._folder / NOTE, private=True) as stream:
                stream.write(json.dumps(self._resumable.made_from).encode())

    def forget(self) -> None:
        """Make sure that the run is never resumed: noise is about to be drawn."""
        if self._resumable is not None:
            (self._folder / NOTE).unlink(missing_ok=True)
            sync(self._folder)

    def place(self, name: str, state: int | None = None) -> Path:
        """Return the folder of a table of one state, or a pattern for those of all states."""
        return self._folder / name / ("*" if state is None else f"part={state}")

    def batches(self) -> list[tuple[int, ...]]:
        """Return which states are counted together: each by itself, or all if there are few records."""
        files = sorted((self._folder / "coded").glob("part=*/*.parquet"))
        states = sorted({int(file.parent.name.partition("=")[2]) for file in files} - {NOWHERE})
        rows = sum(arrow("parquet").read_metadata(file).num_rows for file in files)
        return [(state,) for state in states] if rows > FEW else [tuple(states)] * bool(states)

    def of(self, *states: int) -> Relation:
        """Return the records of some states."""
        return self.engine.stored(*(self.place("coded", state) for state in states))

    def wrong(self) -> bool:
        """Whether a record breaks a rule."""
        if self.place("coded", NOWHERE).exists():
            return True
        batches = self.batches()
        if not batches:
            return False
        rows = self.of(*(state for batch in batches for state in batch))
        bad = rows.filter(rows.wrong > 0)
        return bool(self.engine.fetch(bad.agg(rows=bad.count())).column("rows").to_pylist()[0])

    def close(self, error: type[BaseException] | None = None) -> None:
        """Remove what was stored, unless an interrupted run (`error`) can be resumed from it."""
        interrupted = error is not None and not issubclass(error, Exception)
        if not (interrupted and self._resumable is not None and (self._folder / NOTE).exists()):
            shutil.rmtree(self._folder, ignore_errors=True)
        self._free()

    def _free(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        self._open.close()


# -- checks --------------------------------------------------------------------------------------------------


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
        try:
            for line, fields in _records(stream, strict=True):
                many = len(fields)
                if many != due and not (many == due + 1 and not fields[-1]):
                    size = "fewer" if many < due else "more"
                    text = f"a record has {size} than the {due} fields of the header"
                    problems.at(text, file=source.name, line=line)
        except _BrokenRecordError as error:
            text = "a quoted field does not end, or goes on behind its quote"
            problems.at(text, file=source.name, line=error.args[0])


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
    grfc, persons = sources
    parts = CodedRecords(engine, resumable)
    try:
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
    import ibis

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


@contextmanager
def _numbered(source: Source, engine: Engine) -> Iterator[tuple[Engine, Relation]]:
    """Read a file again with its rows numbered from 0 (`row`), which DuckDB can and Spark cannot."""
    with nullcontext(engine) if isinstance(engine, DuckDB) else connect("duckdb") as local:
        assert isinstance(local, DuckDB)
        table = local.keep(source.relation(local), in_order=True)
        yield local, table.mutate(row=table.rowid())
        local.drop(table)


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
        known = cells()
        for field, column, text in (
            ("QAGE", "age", "an age is not a whole number from 0 to 115"),
            ("QSEX", "sex", "a sex is not 1 or 2"),
        ):
            allowed = local.upload(known.group_by(column).aggregate([]))
            places.add(text, field, rows.anti_join(allowed, rows[field] == allowed[column]))
        table = local.upload(blocks)
        keys = rows.mutate(tract=tract(rows), block=rows.TABBLK)
        places.add("a block is not in GRF-C", "TABBLK", keys.anti_join(table, ["tract", "block"]))
        codes = local.upload(numbers(specification))
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
