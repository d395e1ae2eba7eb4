"""What both engines promise: the same integers, nothing left behind, and errors that tell no secrets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import ibis  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import InputError
from discreet.records.engine import PREFIX, Engine, EngineError, UnreadableError, connect, remove_abandoned
from discreet.records.engine.spark import need_java


def test_sums_stay_64_bits_wide(engine: Engine) -> None:
    # the sum of two int32 that does not fit in 32 bits; DuckDB would make it 128 bits wide
    table = engine.upload(
        pa.table({"key": pa.array([1, 1], pa.int8()), "n": pa.array([2**31 - 1] * 2, pa.int32())})
    )
    summed = engine.keep(table.group_by("key").agg(n=table.n.sum()))
    again = engine.fetch(summed.agg(n=summed.n.sum()))
    assert again.schema.types == [pa.int64()]
    assert again.to_pylist() == [{"n": 2**32 - 2}]
    engine.drop(summed)


def test_many_small_numbers_do_not_overflow(engine: Engine) -> None:
    table = engine.upload(pa.table({"n": pa.array([100] * 1000, pa.int8())}))
    assert engine.fetch(table.agg(n=table.n.sum())).to_pylist() == [{"n": 100_000}]


def test_fetch_sorts(engine: Engine) -> None:
    table = engine.upload(pa.table({"a": [2, 1, 2, 1], "b": [1, 2, 0, 1]}))
    rows = engine.fetch(table, sort=["a", "b"]).to_pylist()
    assert rows == sorted(rows, key=lambda row: (row["a"], row["b"]))


def test_a_broken_file_is_told_without_its_content(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "records.txt"
    path.write_text("a|b\n31415926|2\n31415926|2|3\n")
    with pytest.raises(UnreadableError) as caught:
        engine.keep(engine.csv(path, ["a", "b"]))
    assert "31415926" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("name", "other"), [("wave*", "wave2"), ("wave?", "wave2"), ("wave[1]", "wave1"), ("{a,b}", "a")]
)
def test_a_path_names_one_file_and_is_no_pattern(
    engine: Engine, tmp_path: Path, name: str, other: str
) -> None:
    """To both engines `wave*` is every folder that begins so: other people's records would be counted."""
    for folder in (name, other):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "records.txt").write_text(f"folder\n{folder}\n")
        pq.write_table(pa.table({"folder": [folder]}), tmp_path / folder / "records.parquet")
    found = [engine.csv(tmp_path / name / "records.txt", ["folder"])]
    found.append(engine.parquet(tmp_path / name / "records.parquet"))
    for table in found:
        assert engine.fetch(table).to_pylist() == [{"folder": name}]


def test_names_of_folders_are_no_columns(duckdb_engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "year=2020" / "records.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"a": [1]}), path)
    assert duckdb_engine.fetch(duckdb_engine.parquet(path)).to_pylist() == [{"a": 1}]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"engine": "postgres"}, "engine is 'postgres'; it must be duckdb or spark"),
        ({"memory": "lots"}, "memory is 'lots'"),
        ({"memory": "10MB"}, "at least 256MB"),
        ({"threads": 0}, "threads is 0"),
        ({"spark_master": "local[2]"}, "the engine is duckdb"),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text.replace("(", r"\(")), connect(**arguments):  # type: ignore[arg-type]
        pass


def test_a_signal_at_any_question_to_duckdb_is_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB says it by a RuntimeError, also where Ibis asks: while it connects, or for a table's columns."""

    def interrupted(*_: object, **__: object) -> None:
        raise RuntimeError("Query interrupted")

    with pytest.raises(KeyboardInterrupt), connect("duckdb"):
        interrupted()
    with pytest.raises(RuntimeError, match="of another kind"), connect("duckdb"):
        raise RuntimeError("of another kind")
    monkeypatch.setattr(ibis.duckdb, "connect", interrupted)
    with pytest.raises(KeyboardInterrupt), connect("duckdb"):
        pass


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EngineError, match="Spark needs Java 17, and none was found"):
        need_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match="JAVA_HOME has none"):
        need_java()


def test_too_little_memory_spills_or_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    numbers = pa.table({"n": pa.array(range(2_000_000), pa.int64())})
    with connect(memory="256MB", threads=2) as engine:
        table = engine.upload(numbers)
        text = table.n.cast("string")
        wide = engine.keep(table.select(n=table.n, text=text + ("x" * 100) + text))
        assert list(tmp_path.rglob("duckdb_temp*")), "nothing was spilled, so this test tests nothing"
        counted = engine.fetch(wide.agg(rows=wide.count(), last=wide.n.max()))
    assert counted.to_pylist() == [{"rows": 2_000_000, "last": 1_999_999}]
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with connect(memory="256MB", threads=2) as engine:
        engine.backend.con.execute("SET max_temp_directory_size = '1MB'")
        table = engine.upload(pa.table({"n": pa.array(range(2_000_000), pa.int64())}))
        text = table.n.cast("string")
        with pytest.raises(EngineError, match="the disk with the temporary files is full"):
            engine.keep(table.select(text=text + ("x" * 200) + text))
    assert not list(tmp_path.iterdir())


_WORK = """
import sys, time, os
from discreet.records.engine import connect
with connect(threads=1) as engine:
    print(engine.place, flush=True)
    a = engine.upload(__import__("pyarrow").table({"n": list(range(200000))}))
    b = a.view()
    print("ready", flush=True)
    engine.fetch(a.join(b, a.n > b.n).agg(rows=lambda t: t.count()))
"""


def _working(tmp_path: Path) -> tuple[subprocess.Popen[str], Path]:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", _WORK],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout
    place = Path(process.stdout.readline().strip())
    assert process.stdout.readline().strip() == "ready"
    time.sleep(0.5)
    assert process.poll() is None, "it ended before it could be stopped"
    assert place.is_dir()
    return process, place


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    process, place = _working(tmp_path)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in error
    assert not place.exists()


def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    process, place = _working(tmp_path)
    remove_abandoned(tmp_path)
    assert place.is_dir(), "removed although its process lives"
    process.kill()
    process.communicate(timeout=60)
    assert place.is_dir()
    assert place.name.startswith(PREFIX)
    remove_abandoned(tmp_path)
    assert not place.exists()


LASTING = """\
from pathlib import Path
from discreet.records.engine import lasting_directory, remove_abandoned
with lasting_directory() as outer:
    (outer / "spilled").write_text("")
    with lasting_directory() as inner:
        assert inner == outer
    assert (outer / "spilled").exists(), "emptied although a session uses it"
assert list(outer.iterdir()) == []
remove_abandoned(outer.parent)  # as another run does
with lasting_directory() as again:
    assert again == outer and again.is_dir()
"""


def test_sessions_of_one_process_share_a_directory_until_it_ends(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", LASTING], env=environment, check=True, timeout=120)
    assert list(tmp_path.iterdir()) == []
