"""Work shared by Spark: each task takes one part of the units, and hands back columns as Arrow batches.

The measurements must lie where all machines can read them, and `discreet` must be installed there. Nothing is
drawn here: measurements have their noise already.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.release.engine import EngineError, connect
from discreet.release.hierarchy.arrow import arrow

ENGINES = ("local", "spark")


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
def workers(engine: str, spark_master: str | None) -> Iterator[Cluster | None]:
    """Open what shares the work: nothing for "local", a session of Spark for "spark"."""
    if engine not in ENGINES:
        raise InputError(f"engine is {engine!r}; it must be local or spark")
    if engine == "local":
        if spark_master is not None:
            raise InputError("--spark-master is given, but the engine is local; give --engine spark too")
        yield None
        return
    with connect("spark", spark_master=spark_master):
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession()
        assert session is not None
        context = session.sparkContext
        if (context.master or "").startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            context.pythonExec = sys.executable  # workers of this machine have what is installed here
        yield Cluster(session)
