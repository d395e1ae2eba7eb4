"""Spark, on this machine or a cluster: the same expressions, for inputs that one machine cannot hold."""

from __future__ import annotations

import logging
import os
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
from discreet.release.hierarchy.arrow import ArrowTable


class Spark(Engine):
    """A Spark session: the one that this process has, left open at the end, or a new one, stopped then.

    On a cluster the input must lie where all its machines can read it. What is kept is not kept twice:
    if a machine is lost, the run ends with an error and is started again.
    """

    name = "spark"
    quote = "`"

    def __init__(self, place: Path, *, memory: int, threads: int | None, master: str | None) -> None:
        need_java()
        try:
            import ibis  # type: ignore[import-untyped]
            import pyspark  # noqa: F401
        except ImportError:
            text = "Spark is not installed: pip install 'discreet[spark]', or use --engine duckdb"
            raise DiscreetError(text) from None
        from pyspark.sql import SparkSession

        self._own = SparkSession.getActiveSession() is None
        cores = threads or usable_cpus()
        self._session = _start(place, master or f"local[{cores}]", memory, cores)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            super().__init__(ibis.pyspark.connect(self._session), place)
        self._kept: dict[str, Any] = {}

    def upload(self, table: ArrowTable) -> Relation:
        """Give an Arrow table to the engine."""
        return self._named(self._session.createDataFrame(table))

    def csv(self, path: Path, header: Sequence[str]) -> Relation:
        """Name a pipe-delimited file."""
        from pyspark.sql.types import StringType, StructField, StructType

        fields = StructType([StructField(name, StringType()) for name in header])
        reader = self._session.read.options(
            sep="|",
            header=True,
            quote='"',
            escape='"',
            mode="FAILFAST",
            encoding="UTF-8",
            nullValue="",
            emptyValue="",
        )
        # a pruned column is not parsed, and then a row of too few fields would pass
        reader = reader.option("columnPruning", "false")
        frame = reader.csv(str(path), schema=fields, enforceSchema=True)
        return self._named(frame.replace("", None))  # an empty field in quotes is no null to Spark

    def parquet(self, path: Path) -> Relation:
        """Name a Parquet file."""
        with _translated():
            return self._named(self._session.read.parquet(str(path)))

    def keep(self, expression: Relation) -> Relation:
        """Compute once, and forget how: plans that grow take Spark longer than the counting."""
        with _translated():
            return self._named(self._frame(expression).localCheckpoint(eager=True))

    def drop(self, table: Relation) -> None:
        """Forget a kept table."""
        frame = self._kept.pop(table.get_name(), None)
        if frame is not None:
            frame.unpersist()
            self._session.catalog.dropTempView(table.get_name())

    def fetch(self, expression: Relation, *, sort: Sequence[str] = ()) -> ArrowTable:
        """Bring an Arrow table; sorted here, for Spark would sample and shuffle first."""
        with _translated(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # its sockets are closed late
            table = self._frame(expression).toArrow()
        return table.sort_by([(name, "ascending") for name in sort]) if sort else table

    def close(self) -> None:
        """End the session if it was started here; what it kept on disk goes with it."""
        for name in self._kept:
            self._session.catalog.dropTempView(name)
        if self._own:
            with _quiet():
                self._session.stop()

    def _frame(self, expression: Relation) -> Any:
        return self._session.sql(self.sql(expression))

    def _named(self, frame: Any) -> Relation:
        name = self.fresh()
        frame.createOrReplaceTempView(name)
        self._kept[name] = frame
        return self.backend.table(name)


def need_java() -> None:
    """Raise unless there is a Java to start."""
    home = os.environ.get("JAVA_HOME")
    found = (Path(home) / "bin" / "java").exists() if home else shutil.which("java") is not None
    if not found:
        where = "JAVA_HOME has none" if home else "none was found in PATH and JAVA_HOME is not set"
        raise EngineError(f"Spark needs Java 17, and {where}; install it, or use --engine duckdb")


def _start(place: Path, master: str, memory: int, cores: int) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.memory": f"{memory // 2**20}m",
        "spark.local.dir": str(place),
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.csv.parser.columnPruning.enabled": "false",
        "spark.driver.maxResultSize": "0",
    }
    if master.startswith("local"):
        settings["spark.sql.shuffle.partitions"] = str(2 * cores)
        # it makes a job of every stage of a plan, to plan the next: worth it where machines are many
        settings["spark.sql.adaptive.enabled"] = "false"
    builder = SparkSession.builder.appName("discreet").master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        with _quiet():
            session = builder.getOrCreate()
            session.sparkContext.setLogLevel("OFF")
    except (PySparkException, RuntimeError, OSError):
        text = "Spark did not start; it needs Java 17 or newer, and the master must be reachable"
        raise EngineError(text) from None
    except Exception as error:  # py4j's own errors are no PySparkException
        raise EngineError(f"Spark did not start ({type(error).__name__})") from None
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    return session


@contextmanager
def _quiet() -> Iterator[None]:
    """Start Java with its messages going nowhere: they are many, and may repeat what was read."""
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)


@contextmanager
def _translated() -> Iterator[None]:
    """Turn Spark's errors into ours: theirs repeat what was read."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    problem: Exception
    try:
        yield
        return
    except (Py4JJavaError, PySparkException) as error:
        text = str(error)
        if any(
            word in text for word in ("MALFORMED", "FAILED_READ_FILE", "CANNOT_READ", "not a Parquet file")
        ):
            problem = UnreadableError("a file is unreadable")
        elif "OutOfMemoryError" in text:
            problem = EngineError(FULL_MEMORY)
        elif "No space left" in text:
            problem = EngineError(FULL_DISK)
        else:
            problem = EngineError(f"the engine failed ({type(error).__name__})")
    raise problem from None
