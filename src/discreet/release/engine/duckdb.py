"""DuckDB, in this process: the default. Spills to the private directory when memory runs short."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from discreet.errors import DiscreetError
from discreet.release.engine import (
    FULL_DISK,
    FULL_MEMORY,
    Engine,
    EngineError,
    Relation,
    UnreadableError,
    usable_cpus,
)
from discreet.release.tables import ArrowTable

SHARE = 0.75
"""Of the memory given, for DuckDB; the rest is for Python, Arrow and what DuckDB does not count."""


class DuckDB(Engine):
    """An in-memory database; file order is kept only where it is asked for."""

    name = "duckdb"

    def __init__(self, place: Path, *, memory: int, threads: int | None) -> None:
        try:
            import ibis  # type: ignore[import-untyped]
        except ImportError:  # pragma: no cover
            text = "tables are counted by Ibis and DuckDB, which are not installed"
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
        columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in header)
        return self._view(
            f"read_csv({_text(str(path))}, auto_detect = false, header = true, delim = '|', quote = '\"', "
            f"escape = '\"', nullstr = '', columns = {{{columns}}})"
        )

    def parquet(self, path: Path) -> Relation:
        """Name a Parquet file."""
        return self._view(f"read_parquet({_text(str(path))})")

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
            self._run(f"COPY ({self.sql(expression)}) TO {_text(str(target))} (FORMAT parquet{parts})")

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

    def stored(self, *folders: Path) -> Relation:
        """Name the Parquet files that were written into these folders."""
        files = ", ".join(_text(f"{folder}/*.parquet") for folder in folders)
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
            return self.backend.con.execute(sql).to_arrow_table()

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


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
