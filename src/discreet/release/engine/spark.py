"""Spark, on this machine or a cluster: the same expressions, for inputs that one machine cannot hold.

Work shared by Spark: each task takes one part of the units, and hands back columns as Arrow batches.

The measurements must lie where all machines can read them, and `discreet` must be installed there. Nothing is
drawn here: measurements have their noise already.
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
from discreet.errors import DiscreetError
from discreet.release.engine import (
    FULL_DISK,
    FULL_MEMORY,
    Engine,
    EngineError,
    Relation,
    UnreadableError,
    connect,
)
from discreet.release.tables import ArrowTable, arrow

if TYPE_CHECKING:
    from pyspark import SparkConf

STOP = 2.0
"""Seconds that a session has to stop after an error or a signal."""


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
        frame = reader.csv(_literal(path), schema=fields, enforceSchema=True)
        return self._named(frame.replace("", None))  # an empty field in quotes is no null to Spark

    def parquet(self, path: Path) -> Relation:
        """Name a Parquet file."""
        with _translated():
            return self._named(self._session.read.parquet(_literal(path)))

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
            # after a signal, or an error, nobody should wait: Java ends with this process in any case
            with suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _aside(self._session.stop, None if sys.exc_info()[0] is None else STOP)

    def _frame(self, expression: Relation) -> Any:
        return self._session.sql(self.sql(expression))

    def _named(self, frame: Any) -> Relation:
        name = self.fresh()
        frame.createOrReplaceTempView(name)
        self._kept[name] = frame
        return self.backend.table(name)


def _literal(path: Path) -> str:
    """Return a path as Spark reads it: to Spark any path is a pattern, and could name other files.

    >>> _literal(Path("wave[1]/what*.csv"))
    'wave\\\\[1\\\\]/what\\\\*.csv'
    """
    return re.sub(r"[*?\[\]{}\\]", r"\\\g<0>", str(path))


def need_java() -> None:
    """Raise unless there is a Java to start."""
    home = os.environ.get("JAVA_HOME")
    found = (Path(home) / "bin" / "java").exists() if home else shutil.which("java") is not None
    if not found:
        where = "JAVA_HOME has none" if home else "none was found in PATH and JAVA_HOME is not set"
        raise EngineError(f"Spark needs Java 17, and {where}; install it, or use --engine duckdb")


def _start(place: Path, master: str, memory: int, cores: int) -> Any:
    from pyspark import SparkConf, SparkContext
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
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_not_of_py4j)
    conf = SparkConf().setAppName("discreet").setMaster(master).setAll(list(settings.items()))
    own, opened = SparkSession.getActiveSession() is None, list[SparkContext]()
    try:
        with _java(place, conf):
            # asked for in this thread, Spark would take Ctrl-C for itself
            _aside(lambda: opened.append(SparkContext.getOrCreate(conf)))
            session = SparkSession.builder.config(conf=conf).getOrCreate()
            session.sparkContext.setLogLevel("OFF")
            return session
    except Exception:
        for context in opened if own else ():  # or the next try would be given it
            with suppress(Exception):
                context.stop()
        text = "Spark did not start; it needs Java 17 or newer, and the master must be reachable"
        raise EngineError(text) from None


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """Py4J also tells the root logger of a Java that is gone, when this process ends."""
    return "py4j" not in Path(record.pathname).parts


_started: list[subprocess.Popen[bytes]] = []
"""The Java that all sessions of this process share."""


@contextmanager
def _java(place: Path, conf: SparkConf) -> Iterator[None]:
    """Start the Java that all sessions of this process share, if there is none, and end it with the process.

    Not left to PySpark: if a signal comes while Java starts, PySpark forgets the process, which then waits
    for ever. What Java has to say goes nowhere: it is much, and may repeat what was read.
    """
    import pyspark
    from pyspark.sql import SparkSession

    if _started or "PYSPARK_GATEWAY_PORT" in os.environ or SparkSession.getActiveSession() is not None:
        yield
        return
    package = Path(pyspark.__file__).parent
    homes = (os.environ.get("SPARK_HOME"), package / "spark-distribution", package)
    home = next(Path(one) for one in homes if one and Path(one).is_dir())
    options = [text for key, value in conf.getAll() for text in ("--conf", f"{key}={value}")]
    more = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    said = place / "gateway"
    atexit.register(_end_java)  # after the directory was: it goes when Java has gone
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
                    stdin=subprocess.PIPE,  # Java ends when it is closed, also if this process is killed
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
    # PySpark takes this Java for its own, and goes on using it: whoever tries again must find it alive
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
        # after a signal a thread may be about to read them: without them PySpark starts a Java of its own
        for name in () if interrupted else known:
            os.environ.pop(name, None)


def _end_java() -> None:
    while _started:
        process = _started.pop()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # a shell, and the Java that it starts
            process.wait()


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the block ends: one could come before a new process is known."""
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
    """Talk to Java in a thread, into which no signal breaks, and wait for it; at most some seconds."""
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


# -- work that is shared -----------------------------------------------------------------------------------


class Cluster:
    """Tasks on a Spark session."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._tasks = 4 * int(session.sparkContext.defaultParallelism)

    def map(
        self, function: Callable[[slice], Mapping[str, NDArray[Any]]], parts: Sequence[slice]
    ) -> Iterator[Mapping[str, NDArray[Any]]]:
        """Yield what the function makes of each part, in their order; some parts are under way at a time."""
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
                    # one row of lists: columns need not be of one length
                    table = pa.table({name: _list(one) for name, one in function(parts[number]).items()})
                    sink = pa.BufferOutputStream()
                    with ipc.new_stream(sink, table.schema) as stream:
                        stream.write_table(table)
                    data = pa.array([sink.getvalue().to_pybytes()], pa.binary())
                    yield pa.RecordBatch.from_arrays([pa.array([number]), data], ["id", "data"])

        many = len(parts)
        frame = self._session.range(0, many, 1, many).mapInArrow(task, "id long, data binary")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)  # its sockets are closed late
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
    """Return an array as an Arrow column of one row."""
    pa = arrow()
    return pa.LargeListArray.from_arrays(pa.array([0, len(column)], pa.int64()), pa.array(column))


@contextmanager
def cluster(master: str | None) -> Iterator[Cluster]:
    """Open a session of Spark that shares work."""
    with connect("spark", spark_master=master):
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession()
        assert session is not None
        context = session.sparkContext
        if (context.master or "").startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            context.pythonExec = sys.executable  # workers of this machine have what is installed here
        yield Cluster(session)
