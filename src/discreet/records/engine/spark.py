"""Spark, on this machine or a cluster: the same expressions, for inputs that one machine cannot hold.

Estimation can also share its work through Spark: each task takes part of the units and returns columns as
Arrow batches. The measurements must lie where all machines can read them, and `discreet` must be installed
there. No noise is drawn here: measurements already have theirs.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from discreet.accounting.parallel import usable_cpus
from discreet.areas.output import ArrowTable, arrow
from discreet.errors import DiscreetError, install_hint
from discreet.records.engine import (
    FULL_DISK,
    FULL_MEMORY,
    Engine,
    EngineError,
    Relation,
    UnreadableError,
    connect,
)

if TYPE_CHECKING:
    from pyspark import SparkConf

_STOP = 2.0
"""Seconds to wait for a session to stop after an error or a signal."""


class Spark(Engine):
    """A Spark session: the active one of this process, which stays open, or a new one, stopped at the end.

    On a cluster the input must lie where all machines can read it. Kept tables are not replicated: if a
    machine is lost, the run ends with an error and must be started again.
    """

    name = "spark"
    quote = "`"

    def __init__(self, folder: Path, *, memory: int, threads: int | None, master: str | None) -> None:
        need_java()
        try:
            import ibis  # type: ignore[import-untyped]
            import pyspark  # noqa: F401
        except ImportError:
            text = f"Spark is not installed: {install_hint('spark')}, or use --engine duckdb"
            raise DiscreetError(text) from None
        from pyspark.sql import SparkSession

        self._own = SparkSession.getActiveSession() is None
        cores = threads or usable_cpus()
        self._session = _start(folder, master or f"local[{cores}]", memory, cores)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            super().__init__(ibis.pyspark.connect(self._session), folder)
        self._kept: dict[str, Any] = {}

    def upload(self, table: ArrowTable) -> Relation:
        """Load an Arrow table into the engine."""
        return self._named(self._session.createDataFrame(table))

    def csv(self, path: Path, header: Sequence[str]) -> Relation:
        """Refer to a pipe-delimited file."""
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
        # a pruned column is not parsed, so a row with too few fields would pass
        reader = reader.option("columnPruning", "false")
        frame = reader.csv(_literal(path), schema=fields, enforceSchema=True)
        return self._named(frame.replace("", None))  # Spark does not read a quoted empty field as null

    def parquet(self, path: Path) -> Relation:
        """Refer to a Parquet file."""
        with _translated():
            return self._named(self._session.read.parquet(_literal(path)))

    def keep(self, expression: Relation) -> Relation:
        """Compute an expression once and drop its plan: growing plans take Spark longer than the counting."""
        with _translated():
            return self._named(self._frame(expression).localCheckpoint(eager=True))

    def drop(self, table: Relation) -> None:
        """Drop a kept table."""
        frame = self._kept.pop(table.get_name(), None)
        if frame is not None:
            frame.unpersist()
            self._session.catalog.dropTempView(table.get_name())

    def fetch(self, expression: Relation, *, sort: Sequence[str] = ()) -> ArrowTable:
        """Return an Arrow table; it is sorted here, since Spark would sample and shuffle first."""
        with _translated(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # Spark closes its sockets late
            table = self._frame(expression).toArrow()
        return table.sort_by([(name, "ascending") for name in sort]) if sort else table

    def close(self) -> None:
        """End the session if it was started here; its files on disk go with it."""
        for name in self._kept:
            self._session.catalog.dropTempView(name)
        if self._own:
            # after a signal or an error do not keep the user waiting: Java ends with this process anyway
            with suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _aside(self._session.stop, None if sys.exc_info()[0] is None else _STOP)

    def _frame(self, expression: Relation) -> Any:
        return self._session.sql(self.sql(expression))

    def _named(self, frame: Any) -> Relation:
        name = self.fresh()
        frame.createOrReplaceTempView(name)
        self._kept[name] = frame
        return self.backend.table(name)


def _literal(path: Path) -> str:
    """Return a path, escaped: Spark takes any path as a pattern.

    >>> _literal(Path("wave[1]/what*.csv"))
    'wave\\\\[1\\\\]/what\\\\*.csv'
    """
    return re.sub(r"[*?\[\]{}\\]", r"\\\g<0>", str(path))


def need_java() -> None:
    """Raise unless Java is installed."""
    home = os.environ.get("JAVA_HOME")
    installed = (Path(home) / "bin" / "java").exists() if home else shutil.which("java") is not None
    if not installed:
        where = "JAVA_HOME has none" if home else "none was found in PATH and JAVA_HOME is not set"
        raise EngineError(f"Spark needs Java 17, and {where}; install it, or use --engine duckdb")


def _start(folder: Path, master: str, memory: int, cores: int) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.memory": f"{memory // 2**20}m",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.csv.parser.columnPruning.enabled": "false",
        "spark.driver.maxResultSize": "0",
    }
    if master.startswith("local"):
        settings["spark.sql.shuffle.partitions"] = str(2 * cores)
        # adaptive planning runs every stage of a plan as a job: worth it only on many machines
        settings["spark.sql.adaptive.enabled"] = "false"
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_not_of_py4j)
    conf = SparkConf().setAppName("discreet").setMaster(master).setAll(list(settings.items()))
    own, opened = SparkSession.getActiveSession() is None, list[SparkContext]()
    try:
        with _java(folder, conf):
            # started from this thread, Spark would handle Ctrl-C itself
            _aside(lambda: opened.append(SparkContext.getOrCreate(conf)))
            session = SparkSession.builder.config(conf=conf).getOrCreate()
            session.sparkContext.setLogLevel("OFF")
            return session
    except Exception:
        for context in opened if own else ():  # otherwise the next attempt would get this one
            with suppress(Exception):
                context.stop()
        text = "Spark did not start; it needs Java 17 or newer, and the master must be reachable"
        raise EngineError(text) from None


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """Filter out what Py4J logs to the root logger when this process ends and Java is already gone."""
    return "py4j" not in Path(record.pathname).parts


_started: list[subprocess.Popen[bytes]] = []
"""The Java process that all sessions of this process share."""


@contextmanager
def _java(path: Path, conf: SparkConf) -> Iterator[None]:
    """Start the Java process that all sessions share, unless there is one, and end it with this process.

    PySpark is not trusted with this: if a signal comes while Java starts, PySpark loses track of the process,
    which then waits for ever. Java's output is discarded: it is long, and may quote the data.
    """
    import pyspark
    from pyspark.sql import SparkSession

    if _started or "PYSPARK_GATEWAY_PORT" in os.environ or SparkSession.getActiveSession() is not None:
        yield
        return
    package = Path(pyspark.__file__).parent
    homes = (os.environ.get("SPARK_HOME"), package / "spark-distribution", package)
    home = next(Path(folder) for folder in homes if folder and Path(folder).is_dir())
    options = [text for key, value in conf.getAll() for text in ("--conf", f"{key}={value}")]
    more = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    said = path / "gateway"
    atexit.register(_end_java)  # registered after the directory, so Java ends before it is removed
    try:
        with _signals_wait():
            _started.append(
                subprocess.Popen(
                    [home / "bin" / "spark-submit", *options, *more],
                    env={
                        **os.environ,
                        "SPARK_CONNECT_MODE": "0",
                        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(said),
                    },
                    stdin=subprocess.PIPE,  # Java ends when this is closed, even if this process is killed
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C is for this process alone
                )
            )
        while not said.exists():
            if _started[0].poll() is not None:
                raise RuntimeError
            time.sleep(0.05)
        port, _, secret = struct.unpack(f">ii{said.stat().st_size - 8}s", said.read_bytes())
    except BaseException:
        _end_java()
        raise
    # PySpark adopts this Java and keeps using it, so it must stay alive for a second attempt
    known = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret.decode()}
    os.environ |= known
    interrupted = True
    try:
        yield
        interrupted = False
    except Exception:
        interrupted = False
        raise
    finally:
        # after a signal a thread may still read them, and without them PySpark would start another Java
        for name in () if interrupted else known:
            os.environ.pop(name, None)


def _end_java() -> None:
    while _started:
        process = _started.pop()
        if process.poll() is None:
            # the shell, and the Java process it started; without groups Java ends when its input is closed
            os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
            process.wait()


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Defer Ctrl-C and SIGTERM to the end of the block, so that a new process is never lost track of."""
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    here = threading.current_thread() is threading.main_thread()
    try:
        for number in before if here else ():
            signal.signal(number, lambda number, frame: came.append(number))
        yield
    finally:
        for number, handler in before.items() if here else ():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def _aside(work: Callable[[], object], seconds: float | None = None) -> None:
    """Talk to Java in a thread, which no signal interrupts, and wait for it, at most `seconds`."""
    failed: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    for error in failed:
        raise error


@contextmanager
def _translated() -> Iterator[None]:
    """Turn Spark's errors into ours: theirs quote the data."""
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


# -- shared work -------------------------------------------------------------------------------------------


class Cluster:
    """Runs tasks on a Spark session."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._tasks = 4 * int(session.sparkContext.defaultParallelism)

    def map(
        self, function: Callable[[slice], Mapping[str, NDArray[Any]]], parts: Sequence[slice]
    ) -> Iterator[Mapping[str, NDArray[Any]]]:
        """Yield the function's result for each part, in order; several parts are computed at a time."""
        for first in range(0, len(parts), self._tasks):
            yield from self._job(function, parts[first : first + self._tasks])

    def _job(
        self, function: Callable[[slice], Mapping[str, NDArray[Any]]], parts: Sequence[slice]
    ) -> Iterator[Mapping[str, NDArray[Any]]]:
        from pyspark.errors import PySparkException

        def task(batches: Iterator[Any]) -> Iterator[Any]:
            pa, ipc = arrow(), arrow("ipc")
            for batch in batches:
                for number in batch.column("id").to_pylist():
                    # one row of lists, since columns may differ in length
                    columns = function(parts[number])
                    table = pa.table({name: _list(column) for name, column in columns.items()})
                    sink = pa.BufferOutputStream()
                    with ipc.new_stream(sink, table.schema) as stream:
                        stream.write_table(table)
                    data = pa.array([sink.getvalue().to_pybytes()], pa.binary())
                    yield pa.RecordBatch.from_arrays([pa.array([number]), data], ["id", "data"])

        many = len(parts)
        frame = self._session.range(0, many, 1, many).mapInArrow(task, "id long, data binary")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)  # Spark closes its sockets late
                done = frame.toArrow().sort_by("id")
        except PySparkException as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            said = next((line for line in reversed(lines) if "Error: " in line), type(error).__name__)
            raise EngineError(f"Spark ended with an error: {said.strip()}") from None
        ipc = arrow("ipc")
        for data in done.column("data"):
            table = ipc.open_stream(data.as_py()).read_all()
            yield {name: table.column(name).chunk(0).flatten().to_numpy() for name in table.column_names}


def _list(column: NDArray[Any]) -> Any:
    """Return an array as an Arrow column with one row."""
    pa = arrow()
    return pa.LargeListArray.from_arrays(pa.array([0, len(column)], pa.int64()), pa.array(column))


@contextmanager
def cluster(master: str | None) -> Iterator[Cluster]:
    """Open a Spark session that shares work."""
    with connect("spark", spark_master=master):
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession()
        assert session is not None
        context = session.sparkContext
        if (context.master or "").startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            context.pythonExec = sys.executable  # local workers need the packages installed here
        yield Cluster(session)
