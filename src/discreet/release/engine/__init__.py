"""The engine that counts: Ibis expressions on DuckDB, or on Spark. It counts and never draws noise.

A lazy plan may be computed twice, and noise in it would then be drawn twice. So what leaves an engine are
exact integers in an Arrow table; noise is added to that, once, elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from discreet.errors import InputError
from discreet.release.engine.engine import Engine, EngineError, Relation, UnreadableError
from discreet.release.engine.memory import memory_bytes
from discreet.release.engine.spill import lasting_directory, spill_directory

ENGINES = ("duckdb", "spark")
MEMORY = "4GB"
"""Memory of an engine if nothing is said."""

__all__ = ["ENGINES", "MEMORY", "Engine", "EngineError", "Relation", "UnreadableError", "connect"]


@contextmanager
def connect(
    name: str = "duckdb", *, memory: str = MEMORY, threads: int | None = None, spark_master: str | None = None
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
    if name not in ENGINES:
        raise InputError(f"engine is {name!r}; it must be {' or '.join(ENGINES)}")
    if threads is not None and not 1 <= threads <= 1024:
        raise InputError(f"threads is {threads}; it must be from 1 to 1024")
    if spark_master is not None and name != "spark":
        raise InputError("--spark-master is given, but the engine is duckdb; give --engine spark too")
    size = memory_bytes(memory)
    with lasting_directory() if name == "spark" else spill_directory() as place:
        engine: Engine
        if name == "duckdb":
            from discreet.release.engine.duckdb import DuckDB

            engine = DuckDB(place, memory=size, threads=threads)
        else:
            from discreet.release.engine.spark import Spark

            engine = Spark(place, memory=size, threads=threads, master=spark_master)
        try:
            yield engine
        finally:
            engine.close()
