"""The commands on systems without what POSIX has: its modules are hidden in processes of their own."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from discreet.budget import load_file
from discreet.ledger import Total, create_ledger, read_ledger, spent
from discreet.measurement import write_example

HERE = Path(__file__).parent / "elsewhere"


def environment(system: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    # without pytest's mark, by which NiceGUI would take the server for a test of its own
    here = {key: text for key, text in os.environ.items() if not key.startswith("PYTEST")}
    return {**here, "PYTHONPATH": path, "ELSEWHERE": system, "COLUMNS": "100", "NO_COLOR": "1"}


def start(system: str, *words: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=cwd,
        env=environment(system),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def run(system: str, *words: str, cwd: Path) -> tuple[int, str, str]:
    process = start(system, "-m", "discreet", *words, cwd=cwd)
    out, err = process.communicate(timeout=240)
    return process.returncode, out, err


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    write_example(tmp_path / "survey")
    return tmp_path / "survey"


MEASURE = (
    "measure",
    "release.toml",
    "--records",
    "records.csv",
    "--units",
    "units.csv",
    "--id",
    "id",
    "--quiet",
)
RUN_LOCKS = """
import sys
from pathlib import Path
from discreet.ledger.locks import locked
tally = Path("tally")
for _ in range(40):
    with locked(Path.cwd()):
        tally.write_text(str(int(tally.read_text()) + 1))
"""


@pytest.mark.slow
def test_the_journey_on_windows(survey: Path) -> None:
    create_ledger(survey / "discreet-ledger.json")
    for words in (
        ("account", "release.toml", "--delta", "1e-6", "--jobs", "2", "--quiet"),
        ("account", "pl94-2020", "--delta", "1e-6", "--jobs", "2", "--quiet"),
        ("calibrate", "release.toml", "--zcdp", "--delta", "1e-6", "--out", "less.toml", "--quiet"),
        (*MEASURE, "--out", "published"),
        ("estimate", "published", "--out", "estimates", "--quiet"),
        ("ledger", "show", "discreet-ledger.json"),
    ):
        status, out, err = run("windows", *words, cwd=survey)
        assert (status, err) == (0, ""), words
        assert out.strip(), words
    assert len(read_ledger(survey / "discreet-ledger.json").entries) == 1
    # the ledger's directory keeps its lock file, and nothing else is left
    assert {path.name for path in survey.glob(".*")} == {".discreet-lock"}
    # the run counts here too: a ledger means the same on every system
    status, _, err = run("", *MEASURE, "--out", "second", cwd=survey)
    assert status == 2
    assert "this input was released before, in run 1" in err


@pytest.mark.slow
def test_no_budget_is_spent_twice_on_windows(survey: Path) -> None:
    one = spent(load_file(survey / "release.toml"))
    create_ledger(survey / "discreet-ledger.json", [Total(unit="person", neighbours="bounded", rho=2 * one)])
    running = [
        start("windows", "-m", "discreet", *MEASURE, "--spend-again", "--out", f"out-{number}", cwd=survey)
        for number in range(4)
    ]
    said = [process.communicate(timeout=240)[1] for process in running]
    assert sorted(process.returncode for process in running) == [0, 0, 2, 2], said
    assert len(list(survey.glob("out-*"))) == 2
    assert len(read_ledger(survey / "discreet-ledger.json").entries) == 2
    assert not list(survey.glob(".discreet-*.partial*"))


@pytest.mark.slow
def test_locks_of_files_exclude_each_other(tmp_path: Path) -> None:
    (tmp_path / "tally").write_text("0")
    running = [start("windows", "-c", RUN_LOCKS, cwd=tmp_path) for _ in range(4)]
    assert [process.communicate(timeout=240)[1] for process in running] == [""] * 4
    assert (tmp_path / "tally").read_text() == "160"


HELD = """
import os
from pathlib import Path
from discreet.ledger.locks import remove_if_dead, try_lock, unlock
place, other = Path("work.partial"), Path("other.partial")
place.mkdir(), other.mkdir()
held = try_lock(place)
assert held is not None and try_lock(place) is None
remove_if_dead(place)
assert place.is_dir()
place.rename("done")  # the lock lies beside it
unlock(place, held)
remove_if_dead(other)
print(sorted(os.listdir()))
"""


def test_a_directory_in_use_is_left_alone(tmp_path: Path) -> None:
    out, err = start("windows", "-c", HELD, cwd=tmp_path).communicate(timeout=60)
    assert (out, err) == ("['done']\n", "")


def test_without_any_lock_a_sentence_says_so(survey: Path) -> None:
    status, out, err = run("unlocked", *MEASURE, "--no-ledger", "--out", "published", cwd=survey)
    assert (status, out) == (2, "")
    assert re.fullmatch("discreet: this command locks files, so that no budget .*Windows\n", err)
    assert not (survey / "published").exists()


@pytest.mark.slow
def test_a_policy_whose_owner_cannot_be_told_must_be_signed(survey: Path) -> None:
    (survey / "discreet-policy.toml").write_text('format = "discreet policy 1"\n', encoding="utf-8")
    status, _, err = run("windows", *MEASURE, "--out", "published", cwd=survey)
    assert status == 2
    assert "cannot be told on this system, where files have no owners: it must be signed" in err


@pytest.mark.slow
def test_the_workbench_starts_on_windows(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = start("windows", "-m", "discreet", "workbench", "--port", str(port), "--no-token", cwd=tmp_path)
    try:
        url = f"http://127.0.0.1:{port}/budget"
        for _ in range(300):
            try:
                page = urllib.request.urlopen(url, timeout=30).read().decode()
                break
            except OSError:
                time.sleep(0.2)
        assert "discreet" in page
    finally:
        server.terminate()
        server.communicate(timeout=60)
