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
import secrets
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any, ClassVar

from discreet.accounting.parallel import usable_cpus
from discreet.errors import DiscreetError, InputError
from discreet.files import surely
from discreet.release.commit import locked, remove_if_dead, try_lock
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

    def count(self, *relations: Relation) -> list[int]:
        """Count the rows of relations, all in one question."""
        import ibis  # type: ignore[import-untyped]

        counts = [
            relation.agg(rows=relation.count()).mutate(place=ibis.literal(place, "int32"))
            for place, relation in enumerate(relations)
        ]
        sizes: list[int] = self.fetch(ibis.union(*counts), sort=["place"]).column("rows").to_pylist()
        return sizes


SHARE = 0.75
"""Of the memory given, for DuckDB; the rest is for Python, Arrow and what DuckDB does not count."""


class DuckDB(Engine):
    """DuckDB, in this process: the default. Spills to the private directory when memory runs short.

    An in-memory database; file order is kept only where it is asked for.
    """

    name = "duckdb"

    def __init__(self, place: Path, *, memory: int, threads: int | None) -> None:
        try:
            import duckdb
            import ibis
        except ImportError:  # pragma: no cover
            text = "counting needs Ibis and DuckDB, which are not installed"
            raise DiscreetError(f"{text}: pip install 'discreet[release]'") from None
        backend = ibis.duckdb.connect(
            ":memory:",
            memory_limit=f"{int(memory * SHARE)}B",
            threads=threads or usable_cpus(),
            temp_directory=str(place / "duckdb"),
            preserve_insertion_order=False,
            autoinstall_known_extensions=False,
            autoload_known_extensions=False,
        )
        super().__init__(backend, place)
        # the system keeps what was read of a file, where it does not count as ours
        with suppress(duckdb.CatalogException):  # before DuckDB 1.3 there was no such setting
            backend.con.execute("SET enable_external_file_cache = false")
        self._views: set[str] = set()
        # rows of one value that wait in one thread, of at most 60 values: a fifth of the memory together
        self._waiting = max(2048, int(0.2 * memory / (60 * 48 * (threads or usable_cpus()))))

    def upload(self, table: ArrowTable) -> Relation:
        """Give an Arrow table to the engine."""
        name, view = self.fresh(), self.fresh()
        connection = self.backend.con
        connection.register(view, table)
        self._run(f'CREATE TEMP TABLE "{name}" AS SELECT * FROM "{view}"')
        connection.unregister(view)
        return self.backend.table(name)

    def csv(self, path: Path, header: Sequence[str]) -> Relation:
        """Name a pipe-delimited file."""
        columns = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in header)
        return self._view(
            f"read_csv({_literal(path)}, auto_detect = false, header = true, delim = '|', quote = '\"', "
            f"escape = '\"', nullstr = '', columns = {{{columns}}}, hive_partitioning = false)"
        )

    def parquet(self, path: Path) -> Relation:
        """Name a Parquet file."""
        return self._view(f"read_parquet({_literal(path)}, hive_partitioning = false)")

    def keep(self, expression: Relation, *, in_order: bool = False) -> Relation:
        """Compute once; `in_order` keeps the order of a file, so that `rowid` numbers its rows."""
        name = self.fresh()
        self._run(f"SET preserve_insertion_order = {str(in_order).lower()}")
        self._run(f'CREATE TEMP TABLE "{name}" AS {self.sql(expression)}')
        return self.backend.table(name)

    def store(
        self,
        expression: Relation,
        folder: Path,
        *,
        by: str | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        """Compute once and write Parquet files into a folder: one folder in it for each value of `by`.

        Rows are written as they come: memory holds some thousand of each value. `progress` is told, from
        another thread, which part of the input was read.
        """
        self._run("SET preserve_insertion_order = false")
        self._run(f"SET partitioned_write_flush_threshold = {self._waiting}")
        parts = f", PARTITION_BY ({by})" if by else ""
        target = folder if by else folder / "rows.parquet"
        folder.mkdir(parents=True, exist_ok=True)
        with self._watched(progress):
            self._run(f"COPY ({self.sql(expression)}) TO {_quoted(str(target))} (FORMAT parquet{parts})")

    @contextmanager
    def _watched(self, progress: Callable[[float], None] | None) -> Iterator[None]:
        """Look from time to time how far a query is."""
        if progress is None:
            yield
            return
        over = Event()

        def look() -> None:
            while not over.wait(0.5):
                done = self.backend.con.query_progress()
                if done > 0:
                    progress(done / 100)

        self._run("SET enable_progress_bar = true")
        self._run("SET enable_progress_bar_print = false")
        watcher = Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
            self._run("SET enable_progress_bar = false")

    def stored(self, *folders: Path, inside: str = "") -> Relation:
        """Name the Parquet files that were written into these folders, or into folders `inside` them."""
        files = ", ".join(_literal(folder, f"/{inside}*.parquet") for folder in folders)
        return self._view(f"read_parquet([{files}], hive_partitioning = false)")

    def drop(self, table: Relation) -> None:
        """Forget a kept table."""
        name = table.get_name()
        self._run(f'DROP {"VIEW" if name in self._views else "TABLE"} IF EXISTS "{name}"')
        self._views.discard(name)

    def fetch(self, expression: Relation, *, sort: Sequence[str] = ()) -> ArrowTable:
        """Bring an Arrow table."""
        sql = self.sql(expression)
        if sort:
            sql += " ORDER BY " + ", ".join(f'"{name}"' for name in sort)
        with _translated():
            return self.backend.con.sql(sql).to_arrow_table()  # `execute` of DuckDB 1.2 has none

    def close(self) -> None:
        """End the connection."""
        self.backend.disconnect()

    def _view(self, source: str) -> Relation:
        name = self.fresh()
        self._run(f'CREATE TEMP VIEW "{name}" AS SELECT * FROM {source}')
        self._views.add(name)
        return self.backend.table(name)

    def _run(self, sql: str) -> None:
        with _translated():
            self.backend.con.execute(sql)


@contextmanager
def _translated() -> Iterator[None]:
    """Turn DuckDB's errors into ours: theirs repeat the line they stumbled over."""
    import duckdb

    problem: BaseException
    try:
        yield
        return
    except duckdb.OutOfMemoryException as error:
        disk = "max_temp_directory_size" in str(error)
        problem = EngineError(FULL_DISK if disk else FULL_MEMORY)
    except duckdb.IOException as error:
        problem = (
            EngineError(FULL_DISK)
            if "No space left" in str(error)
            else UnreadableError("a file is unreadable")
        )
    except (duckdb.InvalidInputException, duckdb.ConversionException, duckdb.SerializationException):
        problem = UnreadableError("a file is unreadable")
    except duckdb.InternalException:  # its CSV reader, at a byte that is not UTF-8 in a line's last field
        problem = UnreadableError("a file is unreadable, or the engine failed (InternalException)")
    except duckdb.InterruptException:
        problem = KeyboardInterrupt()
    except duckdb.Error as error:
        if type(error) is duckdb.Error:  # what its Parquet reader says of nonsense has no kind
            problem = UnreadableError("a file is unreadable")
        else:
            problem = EngineError(f"the engine failed ({type(error).__name__})")
    except RuntimeError as error:
        if "interrupted" not in str(error):
            raise
        problem = KeyboardInterrupt()
    raise problem from None


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _literal(path: Path, pattern: str = "") -> str:
    """Return a path, and a pattern of files in it: to DuckDB any path is one, and could name other files.

    >>> _literal(Path("wave[1]/what*.csv"))
    "'wave[[]1]/what[*].csv'"
    """
    return _quoted(re.sub(r"[*?\[]", r"[\g<0>]", str(path)) + pattern)


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
        # a signal may come at any question to DuckDB, also at those that Ibis asks
        with _translated() if engine == "duckdb" and find_spec("duckdb") else nullcontext():
            if engine == "duckdb":
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
    place = root / f"{PREFIX}{secrets.token_hex(8)}"
    lock: list[int] = []

    def remove() -> None:
        shutil.rmtree(place, ignore_errors=True)
        while lock:
            os.close(lock.pop())

    with surely(remove):
        try:
            with locked(root):  # nobody looks for abandoned ones while this one has no lock yet
                remove_abandoned(root)
                place.mkdir(0o700)
                lock += [held for held in [try_lock(place)] if held is not None]
        except OSError as error:
            raise InputError(f"no temporary directory can be made in {root}: {error.strerror}") from None
        yield place


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
                remove_if_dead(place)
