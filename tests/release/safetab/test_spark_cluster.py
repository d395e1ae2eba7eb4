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
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.release.safetab.synthetic import Nation, synthesize

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
]
HERE = {"SPARK_LOCAL_IP": "127.0.0.1", "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


@pytest.fixture(scope="module")
def nation(tmp_path_factory: pytest.TempPathFactory) -> Nation:
    return synthesize(tmp_path_factory.mktemp("cluster") / "nation", people=3000, states=2, seed=7)


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


@pytest.mark.parametrize("stage", ["starting", "reading"])
def test_a_polite_end_has_no_traceback(nation: Nation, tmp_path: Path, stage: str) -> None:
    with subprocess.Popen(
        command(nation, tmp_path / "out", "--engine", "spark", "--threads", "1"),
        env={**os.environ, **HERE, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        # a directory for temporary files comes first, then those of Java, then those of the session
        wanted = {"starting": "discreet-spill-*", "reading": "discreet-spill-*/blockmgr-*"}[stage]
        for _ in range(600):
            if list(tmp_path.glob(wanted)):
                break
            time.sleep(0.1)
        time.sleep(1)
        started.send_signal(signal.SIGTERM)
        out, error = started.communicate(timeout=120)
    assert started.returncode == 128 + signal.SIGTERM
    assert (out, error) == ("", "")
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob("discreet-spill-*"))
