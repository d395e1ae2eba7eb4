"""The two files of a folder of data: which they are, their columns, and their hashes for the ledger.

`GRF-C` lists the blocks and is public; `person-records` is confidential. Each is pipe-delimited text
(`.txt` or `.csv`) or Parquet (`.parquet`).
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from discreet.errors import InputError
from discreet.release.audit import sha256
from discreet.release.engine import Engine, Relation, UnreadableError
from discreet.release.hierarchy.arrow import arrow
from discreet.release.problems import Problems

BLOCK_COLUMNS = ("TABBLKST", "TABBLKCOU", "TABTRACTCE", "TABBLK")
AREA_COLUMNS = (*BLOCK_COLUMNS, "PLACEFP", "AIANNHCE")
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


@dataclass(frozen=True, slots=True)
class Origin:
    """What may be told about an input: its role, name, size and hash, never its content."""

    role: str
    name: str
    bytes: int
    sha256: str


class Hashes:
    """SHA-256 of the files, computed beside the counting."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources, self._stop = sources, Event()
        self._pool = ThreadPoolExecutor(1)
        self._results = [self._pool.submit(sha256, source.path, self._stop) for source in sources]

    def origins(self) -> tuple[Origin, ...]:
        """Wait for the hashes and return them."""
        return tuple(
            Origin(source.role, source.name, source.state[0], result.result())
            for source, result in zip(self._sources, self._results, strict=True)
        )

    def close(self) -> None:
        """Stop if not done: a program that ends would wait for the rest of a large file."""
        self._stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
