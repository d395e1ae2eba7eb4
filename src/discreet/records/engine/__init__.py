"""Engines that count: they take tables, evaluate Ibis expressions, return Arrow tables of counts; no noise.

A lazy plan may be computed twice, and noise in it would then be drawn twice. So an engine returns exact
integers in an Arrow table; noise is added to that table, once, elsewhere.

What an engine spills to disk is confidential. It lies in a private directory, which is removed at the end,
also after Ctrl-C. If a process is killed outright its directory stays. A directory is locked while its
process lives, so the next run recognises an abandoned one and removes it.
"""

from __future__ import annotations

import atexit
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
from discreet.areas.output import ArrowTable
from discreet.errors import DiscreetError, InputError, install_hint
from discreet.files import belongs_to_another, surely
from discreet.ledger.locks import locked, remove_if_dead, try_lock, unlock

_ENGINES = ("duckdb", "spark")
_MEMORY = "4GB"
"""The default memory of an engine."""

_LEAST = 256_000_000
"""The fewest bytes with which an engine starts."""

FULL_MEMORY = "there is not enough memory; give more with --memory"
FULL_DISK = "the disk with the temporary files is full; make room, or name another place in TMPDIR"

Relation = Any
"""An Ibis table expression; Ibis offers no types that a checker could use."""


class EngineError(DiscreetError):
    """The engine gave up: too little memory, a full disk, or no Java. The message never quotes the data."""


class UnreadableError(EngineError):
    """The engine could not read a file; the caller knows which one, and finds the line."""


class Engine(ABC):
    """A connection: `upload`, `csv`, `parquet` return expressions, `keep` and `fetch` compute them.

    Use `keep` for anything read twice. Names of tables are unique to the engine; engines share nothing.
    """

    name: ClassVar[str]
    quote: ClassVar[str] = '"'
    integers: ClassVar[dict[str, str]] = {
        "int8": "TINYINT",
        "int16": "SMALLINT",
        "int32": "INT",
        "int64": "BIGINT",
    }

    def __init__(self, backend: Any, folder: Path) -> None:
        self.backend, self.place = backend, folder
        self._names = count()

    def fresh(self) -> str:
        """Return an unused name for a table."""
        return f"discreet_{id(self)}_{next(self._names)}"

    def sql(self, expression: Relation) -> str:
        """Return SQL whose integers have the widths that Ibis assumes.

        DuckDB sums 64-bit integers in 128 bits, but Ibis assumes 64, so a cast in Ibis would do nothing.
        """
        columns = []
        for column, kind in expression.schema().items():
            name = f"{self.quote}{column}{self.quote}"
            wanted = self.integers.get(str(kind).lstrip("!"))
            columns.append(f"CAST({name} AS {wanted}) AS {name}" if wanted else name)
        return f"SELECT {', '.join(columns)} FROM ({self.backend.compile(expression)}) AS narrowed"

    @abstractmethod
    def upload(self, table: ArrowTable) -> Relation:
        """Load an Arrow table into the engine; meant for small tables."""

    @abstractmethod
    def csv(self, path: Path, header: Sequence[str]) -> Relation:
        """Refer to a pipe-delimited file with this header; columns are text, and an empty field is null."""

    @abstractmethod
    def parquet(self, path: Path) -> Relation:
        """Refer to a Parquet file."""

    @abstractmethod
    def keep(self, expression: Relation) -> Relation:
        """Compute an expression once and keep its rows in the engine, on disk if memory is short."""

    @abstractmethod
    def drop(self, table: Relation) -> None:
        """Drop a table that `keep` or `upload` returned."""

    @abstractmethod
    def fetch(self, expression: Relation, *, sort: Sequence[str] = ()) -> ArrowTable:
        """Compute an expression and return it as a sorted Arrow table; for results of modest size only."""

    @abstractmethod
    def close(self) -> None:
        """End the connection."""

    def count(self, *relations: Relation) -> list[int]:
        """Count the rows of several relations in one query."""
        import ibis  # type: ignore[import-untyped]

        counts = [
            relation.agg(rows=relation.count()).mutate(place=ibis.literal(number, "int32"))
            for number, relation in enumerate(relations)
        ]
        sizes: list[int] = self.fetch(ibis.union(*counts), sort=["place"]).column("rows").to_pylist()
        return sizes


_SHARE = 0.75
"""DuckDB's share of the memory given; the rest is for Python, Arrow and what DuckDB does not count."""


class DuckDB(Engine):
    """DuckDB, in this process: the default. Spills to the private directory when memory runs short.

    The database is in memory; the order of rows in a file is kept only on request.
    """

    name = "duckdb"

    def __init__(self, folder: Path, *, memory: int, threads: int | None) -> None:
        try:
            import duckdb
            import ibis
        except ImportError:  # pragma: no cover
            text = "counting needs Ibis and DuckDB, which are not installed"
            raise DiscreetError(f"{text}: {install_hint('release')}") from None
        backend = ibis.duckdb.connect(
            ":memory:",
            memory_limit=f"{int(memory * _SHARE)}B",
            threads=threads or usable_cpus(),
            temp_directory=str(folder / "duckdb"),
            preserve_insertion_order=False,
            autoinstall_known_extensions=False,
            autoload_known_extensions=False,
        )
        super().__init__(backend, folder)
        # the operating system caches files anyway, in memory that is not counted as this process's
        with suppress(duckdb.CatalogException):  # before DuckDB 1.3 there was no such setting
            backend.con.execute("SET enable_external_file_cache = false")
        self._views: set[str] = set()
        # rows buffered for one value in one thread; with at most 60 values, a fifth of the memory in all
        self._waiting = max(2048, int(0.2 * memory / (60 * 48 * (threads or usable_cpus()))))

    def upload(self, table: ArrowTable) -> Relation:
        """Load an Arrow table into the engine."""
        name, view = self.fresh(), self.fresh()
        connection = self.backend.con
        connection.register(view, table)
        self._run(f'CREATE TEMP TABLE "{name}" AS SELECT * FROM "{view}"')
        connection.unregister(view)
        return self.backend.table(name)

    def csv(self, path: Path, header: Sequence[str]) -> Relation:
        """Refer to a pipe-delimited file."""
        columns = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in header)
        return self._view(
            f"read_csv({_literal(path)}, auto_detect = false, header = true, delim = '|', quote = '\"', "
            f"escape = '\"', nullstr = '', columns = {{{columns}}}, hive_partitioning = false)"
        )

    def parquet(self, path: Path) -> Relation:
        """Refer to a Parquet file."""
        return self._view(f"read_parquet({_literal(path)}, hive_partitioning = false)")

    def keep(self, expression: Relation, *, in_order: bool = False) -> Relation:
        """Compute an expression once; `in_order` keeps the file's order, so that `rowid` numbers its rows."""
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
        """Compute an expression once and write it as Parquet into a folder, one subfolder per value of `by`.

        Rows are written as they come: memory holds a few thousand for each value. `progress` is called from
        another thread with the fraction of the input read so far.
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
        """Report the progress of a query twice a second."""
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
        """Refer to the Parquet files that were written into these folders, or into folders `inside` them."""
        files = ", ".join(_literal(folder, f"/{inside}*.parquet") for folder in folders)
        return self._view(f"read_parquet([{files}], hive_partitioning = false)")

    def drop(self, table: Relation) -> None:
        """Drop a kept table."""
        name = table.get_name()
        self._run(f'DROP {"VIEW" if name in self._views else "TABLE"} IF EXISTS "{name}"')
        self._views.discard(name)

    def fetch(self, expression: Relation, *, sort: Sequence[str] = ()) -> ArrowTable:
        """Compute an expression and return it as an Arrow table."""
        sql = self.sql(expression)
        if sort:
            sql += " ORDER BY " + ", ".join(f'"{name}"' for name in sort)
        with _translated():
            return self.backend.con.sql(sql).to_arrow_table()  # in DuckDB 1.2 `execute` lacks it

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
    """Turn DuckDB's errors into ours: theirs quote the line they failed on."""
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
    except duckdb.InternalException:  # the CSV reader raises it if the last field of a line is not UTF-8
        problem = UnreadableError("a file is unreadable, or the engine failed (InternalException)")
    except duckdb.InterruptException:
        problem = KeyboardInterrupt()
    except duckdb.Error as error:
        if type(error) is duckdb.Error:  # the Parquet reader raises the base class for a corrupt file
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
    """Return a path and a pattern of files in it, escaped: DuckDB takes any path as a pattern.

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
    """Open an engine with a private directory for what does not fit in memory; both are gone afterwards.

    `memory` limits the whole process with DuckDB, and the driver with Spark.

    >>> with connect(threads=1) as engine:
    ...     engine.name
    'duckdb'
    >>> with connect("sqlite"):
    ...     pass
    Traceback (most recent call last):
    discreet.errors.InputError: engine is 'sqlite'; it must be duckdb or spark
    """
    if engine not in _ENGINES:
        raise InputError(f"engine is {engine!r}; it must be {' or '.join(_ENGINES)}")
    if threads is not None and not 1 <= threads <= 1024:
        raise InputError(f"threads is {threads}; it must be from 1 to 1024")
    if spark_master is not None and engine != "spark":
        raise InputError("--spark-master is given, but the engine is duckdb; give --engine spark too")
    size = _memory_bytes(memory or _MEMORY)
    with lasting_directory() if engine == "spark" else spill_directory() as folder:
        opened: Engine
        # a signal may interrupt any query to DuckDB, including those that Ibis sends
        with _translated() if engine == "duckdb" and find_spec("duckdb") else nullcontext():
            if engine == "duckdb":
                opened = DuckDB(folder, memory=size, threads=threads)
            else:
                from discreet.records.engine.spark import Spark

                opened = Spark(folder, memory=size, threads=threads, master=spark_master)
            try:
                yield opened
            finally:
                opened.close()


_UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_SIZE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*([A-Za-z]+)")


def _memory_bytes(text: str) -> int:
    """Return a size such as 4GB in bytes.

    >>> _memory_bytes("4GB"), _memory_bytes("1.5 GiB")
    (4000000000, 1610612736)
    >>> _memory_bytes("4 gigs")
    Traceback (most recent call last):
    discreet.errors.InputError: memory is '4 gigs'; it must be a size such as 4GB or 500MB, at least 256MB
    """
    match = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(match[2].upper()) if match else None
    size = int(float(match[1]) * unit) if match and unit else 0
    if size < _LEAST:
        raise InputError(f"memory is {text!r}; it must be a size such as 4GB or 500MB, at least 256MB")
    return size


PREFIX = "discreet-spill-"


@contextmanager
def spill_directory() -> Iterator[Path]:
    """Make a directory among the system's temporary files (TMPDIR), readable by its owner only.

    >>> with spill_directory() as place:
    ...     oct(place.stat().st_mode)[-3:]
    '700'
    >>> place.exists()
    False
    """
    root = Path(tempfile.gettempdir())
    folder = root / f"{PREFIX}{secrets.token_hex(8)}"
    lock: list[int] = []

    def remove() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        while lock:
            unlock(folder, lock.pop())

    with surely(remove):
        try:
            with locked(root):  # no other process may remove this one before it has its lock
                remove_abandoned(root)
                folder.mkdir(0o700)
                lock += [held for held in [try_lock(folder)] if held is not None]
        except OSError as error:
            raise InputError(f"no temporary directory can be made in {root}: {error.strerror}") from None
        yield folder


@contextmanager
def lasting_directory() -> Iterator[Path]:
    """Yield one directory for all sessions of this process, emptied when none uses it, removed at exit.

    Java keeps using the first directory it was given, so that one must stay until the end.

    >>> with lasting_directory() as first, lasting_directory() as second:
    ...     first == second
    True
    """
    folder = _of_this_process()
    _users.append(folder)
    try:
        yield folder
    finally:
        _users.remove(folder)
        if not _users:
            for path in folder.iterdir():
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
    """Remove spill directories whose process has ended, which releases the lock of the directory."""
    with suppress(OSError):
        for folder in root.glob(f"{PREFIX}*"):
            if folder.is_symlink() or belongs_to_another(folder.stat()):
                continue
            with suppress(OSError):
                remove_if_dead(folder)
