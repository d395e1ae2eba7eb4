"""A standalone cluster, a master and two workers in processes of their own, gives what DuckDB gives.

Noise of a rehearsal follows from its seed, so equal counts give equal files.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from discreet.census.safetab.synthetic import Nation, synthesize

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="needs Java: `make system` installs it")
HERE = {"SPARK_LOCAL_IP": "127.0.0.1", "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


@pytest.fixture(scope="module")
def nation(tmp_path_factory: pytest.TempPathFactory) -> Nation:
    return synthesize(tmp_path_factory.mktemp("cluster") / "nation", persons=3000, states=2, seed=7)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master that two workers have joined."""
    import pyspark

    folder = tmp_path_factory.mktemp("spark")
    program = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    log = folder / "log"
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> None:
        environment = {**os.environ, **HERE, "SPARK_WORKER_DIR": str(folder / f"worker{len(started)}")}
        with log.open("ab") as stream:
            started.append(
                subprocess.Popen(
                    [program, *arguments],
                    stdout=stream,
                    stderr=stream,
                    env=environment,
                    start_new_session=True,
                )
            )

    def until(text: str, many: int) -> None:
        for _ in range(600):
            if log.exists() and log.read_text(errors="replace").count(text) >= many:
                return
            assert all(one.poll() is None for one in started), log.read_text(errors="replace")
            time.sleep(0.2)
        pytest.fail(log.read_text(errors="replace"))

    try:
        address = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        start("org.apache.spark.deploy.master.Master", *address)
        until("I have been elected leader", 1)
        for _ in range(2):
            size = ("--cores", "1", "--memory", "1g", "--webui-port", "0")
            start("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", *size, master)
        until("Registering worker", 2)
        yield master
    finally:
        for one in started:
            os.killpg(one.pid, signal.SIGKILL)
            one.wait()


def command(nation: Nation, out: Path, *options: str) -> list[str]:
    folders = [str(nation.params), str(nation.data), str(out)]
    return [sys.executable, "-m", "discreet", "safetab", "run", *folders, "--rehearsal", "3", *options]


@pytest.mark.slow
def test_the_counts_are_those_of_duckdb(cluster: str, nation: Nation, tmp_path: Path) -> None:
    environment = {**os.environ, **HERE}
    for name, options in (("one", ()), ("many", ("--engine", "spark", "--spark-master", cluster))):
        done = subprocess.run(
            command(nation, tmp_path / name, *options, "--quiet"), env=environment, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        assert not done.stderr
    for file in sorted((tmp_path / "one").iterdir()):
        assert (tmp_path / "many" / file.name).read_bytes() == file.read_bytes()


TABLES = """
import sys
from discreet.estimation import estimate
from discreet.estimation.output import part_tables
part_tables.CELLS = 200  # parts of few areas
engine = {"engine": "spark", "spark_master": sys.argv[3]} if sys.argv[3:] else {}
done = estimate(sys.argv[1], sys.argv[2], tables=True, histogram=True, microdata=True, **engine)
"""


@pytest.mark.slow
def test_whole_numbers_are_those_of_one_process(cluster: str, tmp_path: Path) -> None:
    """Parts of the tree are settled by the workers of the cluster: the same bytes."""
    environment = {**os.environ, **HERE, "PYSPARK_PYTHON": sys.executable}
    survey = tmp_path / "survey"
    measured = ["--records", str(survey / "records.csv"), "--units", str(survey / "units.csv")]
    measured += ["--out", str(tmp_path / "noisy"), "--rehearsal", "1", "--format", "parquet"]
    for arguments in (
        ["-m", "discreet", "example", str(survey)],
        ["-m", "discreet", "measure", str(survey), *measured],
        ["-c", TABLES, str(tmp_path / "noisy"), str(tmp_path / "one")],
        ["-c", TABLES, str(tmp_path / "noisy"), str(tmp_path / "many"), cluster],
    ):
        done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True)
        assert done.returncode == 0, done.stderr
    for stem in ("histogram", "microdata"):
        one, many = (next((tmp_path / name).glob(f"{stem}.*")) for name in ("one", "many"))
        assert one.read_bytes() == many.read_bytes()


def processes(word: str) -> list[str]:
    """The command lines that name something."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in found if word in line]


@contextmanager
def started(nation: Nation, place: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A run whose temporary files are in `place`; when it has ended, neither they nor a process are left."""
    with subprocess.Popen(
        command(nation, place / "out", "--engine", "spark", "--threads", "1"),
        env={**os.environ, **HERE, "TMPDIR": str(place), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        yield run
        assert run.communicate(timeout=30) == ("", "")
    assert not processes(f"{place}/discreet-spill-")
    assert not [path.name for path in place.iterdir() if path.name != "home"]


def until(condition: Callable[[], object]) -> None:
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("it did not come to pass in a minute")


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_polite_end_while_java_starts_ends_java_too(nation: Nation, tmp_path: Path, number: int) -> None:
    """A Java that never gets ready, as one that was left alone did: it waited for ever."""
    program = tmp_path / "home" / "bin" / "spark-submit"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\ntouch "$SPARK_HOME/here"\nsleep 600\n')
    program.chmod(0o700)
    with started(nation, tmp_path, SPARK_HOME=str(tmp_path / "home")) as run:
        until((tmp_path / "home" / "here").exists)
        run.send_signal(number)
    assert run.returncode == 128 + number


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("stage", ["shell", "starting", "ready", "reading"])
def test_a_polite_end_has_no_traceback(nation: Nation, tmp_path: Path, stage: str, number: int) -> None:
    with started(nation, tmp_path) as run:
        # a directory for temporary files comes first, then what Java says in it, then what the session has
        wanted = {"ready": "discreet-spill-*/gateway", "reading": "discreet-spill-*/blockmgr-*"}
        until(lambda: list(tmp_path.glob(wanted.get(stage, "discreet-spill-*"))))
        time.sleep(0 if stage in ("shell", "ready") else 1)
        run.send_signal(number)
    assert run.returncode == 128 + number


@pytest.mark.slow
def test_after_a_master_that_is_not_there_another_can_be_named() -> None:
    """In one process: what is left of the first try must not be in the way of the second."""
    program = """
from discreet.records.engine import EngineError, connect
for master in ("spark://localhost:1", "local[1]"):
    try:
        with connect("spark", spark_master=master, threads=1) as engine:
            print(engine.name)
    except EngineError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    said, name = done.stdout.splitlines()
    assert "the master must be reachable" in said
    assert name == "spark"
