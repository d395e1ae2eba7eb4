"""The engine that counts: tables in, Ibis expressions between, Arrow tables of counts out; no noise.

A lazy plan may be computed twice, and noise in it would then be drawn twice. So what leaves an engine are
exact integers in an Arrow table; noise is added to that, once, elsewhere.

What an engine spills to disk is confidential. It lies in a private directory, removed at the end and also
after Ctrl-C. If a process is killed outright its directory stays; it is locked while its process lives, so
the next run can tell, and removes it.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from discreet.errors import DiscreetError, InputError
from discreet.release.commit import locked, try_lock
from discreet.release.tables import ArrowTable

ENGINES = ("duckdb", "spark")
MEMORY = "4GB"
"""Memory of an engine if nothing is said."""

LEAST = 256_000_000
"""Bytes below which an engine does not even start."""

FULL_MEMORY = "there is not enough memory; give more with --memory"
FULL_DISK = "the disk with the temporary files is full; make room, or name another place in TMPDIR"

Relation = Any
"""An Ibis table expression; Ibis has no types of its own that a checker could use."""


class EngineError(DiscreetError):
    """The engine gave up: too little memory, a full disk, or no Java. Never repeats what it read."""


class UnreadableError(EngineError):
    """The engine could not read a file as what it should be; the caller knows which, and finds out where."""


class Engine(ABC):
    """A connection: `upload`, `csv` and `parquet` give expressions, `keep` computes one, `fetch` brings it.

    `keep` is what to use for anything read twice. All names are the engine's own and nothing is shared.
    """

    name: ClassVar[str]
    quote: ClassVar[str] = '"'
    integers: ClassVar[dict[str, str]] = {
        "int8": "TINYINT",
        "int16": "SMALLINT",
        "int32": "INT",
        "int64": "BIGINT",
    }

    def __init__(self, backend: Any, place: Path) -> None:
        self.backend, self.place = backend, place
        self._names = count()

    def fresh(self) -> str:
        """Return a name for a table that is not taken."""
        return f"discreet_{id(self)}_{next(self._names)}"

    def sql(self, expression: Relation) -> str:
        """Return SQL whose integers have the widths that Ibis thinks they have.

        DuckDB gives the sum of 64-bit integers 128 bits, Ibis takes it for 64, so its own casts do nothing.
        """
        columns = []
        for column, kind in expression.schema().items():
            name = f"{self.quote}{column}{self.quote}"
            wanted = self.integers.get(str(kind).lstrip("!"))
            columns.append(f"CAST({name} AS {wanted}) AS {name}" if wanted else name)
        return f"SELECT {', '.join(columns)} FROM ({self.backend.compile(expression)}) AS narrowed"

    @abstractmethod
    def upload(self, table: ArrowTable) -> Relation:
        """Give an Arrow table to the engine; meant for small ones."""

    @abstractmethod
    def csv(self, path: Path, header: Sequence[str]) -> Relation:
        """Name a pipe-delimited file with this header; every column is text, and an empty field is null."""

    @abstractmethod
    def parquet(self, path: Path) -> Relation:
        """Name a Parquet file."""

    @abstractmethod
    def keep(self, expression: Relation) -> Relation:
        """Compute an expression once and keep its rows in the engine, on disk where memory is short."""

    @abstractmethod
    def drop(self, table: Relation) -> None:
        """Forget a table that `keep` or `upload` gave."""

    @abstractmethod
    def fetch(self, expression: Relation, *, sort: Sequence[str] = ()) -> ArrowTable:
        """Compute an expression and bring it as an Arrow table, sorted; only for results of modest size."""

    @abstractmethod
    def close(self) -> None:
        """End the connection."""


@contextmanager
def connect(
    engine: str = "duckdb",
    *,
    memory: str | None = None,
    threads: int | None = None,
    spark_master: str | None = None,
) -> Iterator[Engine]:
    """Open an engine with a private directory for what does not fit in memory; both go at the end.

    `memory` is for the whole process with DuckDB, and for the driver with Spark.

    >>> with connect(threads=1) as engine:
    ...     engine.name
    'duckdb'
    >>> with connect("sqlite"):
    ...     pass
    Traceback (most recent call last):
    discreet.errors.InputError: engine is 'sqlite'; it must be duckdb or spark
    """
    if engine not in ENGINES:
        raise InputError(f"engine is {engine!r}; it must be {' or '.join(ENGINES)}")
    if threads is not None and not 1 <= threads <= 1024:
        raise InputError(f"threads is {threads}; it must be from 1 to 1024")
    if spark_master is not None and engine != "spark":
        raise InputError("--spark-master is given, but the engine is duckdb; give --engine spark too")
    size = memory_bytes(memory or MEMORY)
    with lasting_directory() if engine == "spark" else spill_directory() as place:
        opened: Engine
        if engine == "duckdb":
            from discreet.release.engine.duckdb import DuckDB

            opened = DuckDB(place, memory=size, threads=threads)
        else:
            from discreet.release.engine.spark import Spark

            opened = Spark(place, memory=size, threads=threads, master=spark_master)
        try:
            yield opened
        finally:
            opened.close()


_UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_SIZE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*([A-Za-z]+)")


def memory_bytes(text: str) -> int:
    """Return the bytes of a size such as 4GB.

    >>> memory_bytes("4GB"), memory_bytes("1.5 GiB")
    (4000000000, 1610612736)
    >>> memory_bytes("4 gigs")
    Traceback (most recent call last):
    discreet.errors.InputError: memory is '4 gigs'; it must be a size such as 4GB or 500MB, at least 256MB
    """
    match = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(match[2].upper()) if match else None
    size = int(float(match[1]) * unit) if match and unit else 0
    if size < LEAST:
        raise InputError(f"memory is {text!r}; it must be a size such as 4GB or 500MB, at least 256MB")
    return size


PREFIX = "discreet-spill-"


@contextmanager
def spill_directory() -> Iterator[Path]:
    """Make the directory, in the system's place for temporary files (TMPDIR), readable by its owner only.

    >>> with spill_directory() as place:
    ...     oct(place.stat().st_mode)[-3:]
    '700'
    >>> place.exists()
    False
    """
    root = Path(tempfile.gettempdir())
    lock: int | None = None
    try:
        with locked(root):  # nobody looks for abandoned ones while this one has no lock yet
            remove_abandoned(root)
            place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
            lock = try_lock(place)
    except OSError as error:
        raise InputError(f"no temporary directory can be made in {root}: {error.strerror}") from None
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@contextmanager
def lasting_directory() -> Iterator[Path]:
    """The same directory for every session of this process, emptied when none uses it, removed at exit.

    Java goes on using the first one that it was given, so Spark must not find it gone.

    >>> with lasting_directory() as first, lasting_directory() as second:
    ...     first == second
    True
    """
    place = _of_this_process()
    _users.append(place)
    try:
        yield place
    finally:
        _users.remove(place)
        if not _users:
            for path in place.iterdir():
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


_users: list[Path] = []


@cache
def _of_this_process() -> Path:
    until_exit = ExitStack()
    atexit.register(until_exit.close)
    return until_exit.enter_context(spill_directory())


def remove_abandoned(root: Path) -> None:
    """Remove directories of ours whose process is gone: the lock of a directory dies with its process."""
    with suppress(OSError):
        for place in root.glob(f"{PREFIX}*"):
            if place.is_symlink() or place.stat().st_uid != os.getuid():
                continue
            with suppress(OSError):
                lock = try_lock(place)
                if lock is not None:
                    shutil.rmtree(place, ignore_errors=True)
                    os.close(lock)


def usable_cpus() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
