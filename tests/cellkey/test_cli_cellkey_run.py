"""`discreet cellkey design` and `run`: files that are read again, one answer for people and machines."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.cellkey import perturb
from discreet.cellkey.answers.design import table_design_answer
from discreet.cellkey.answers.run import perturbed_answer
from discreet.cellkey.design import design_perturbation
from discreet.cli import run
from discreet.measurement import write_example
from discreet.render.json import json_of


def design(options: str) -> int:
    return run(["cellkey", "design", "5", "--epsilon", "1", "--quiet", *options.split()])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_example(".")
    assert (
        run(["cellkey", "design", "5", "--epsilon", "1", "--delta", "0.01", "--out", "table.csv", "--quiet"])
        == 0
    )
    return tmp_path


def test_a_design_is_written_and_checked(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(["cellkey", "design", "5", "--epsilon", "1", "--delta", "0.01", "--csv", "commas.csv", "--quiet"])
        == 0
    )
    said = capsys.readouterr().out
    assert "variance 1.51630" in said
    assert "truncated Gaussian" in said
    texts = Path("table.csv").read_text(), Path("commas.csv").read_text()
    assert texts[0].replace(";", ",") == texts[1]
    assert texts[0].splitlines()[0] == "i;j;p;v;p_int_lb;p_int_ub"
    for name in ("table.csv", "commas.csv"):
        assert run(["cellkey", "check", name, "--keying", "definition", "--quiet"]) == 0
        said = capsys.readouterr().out
        assert "Unbiased" in said
        assert "0.01000" in said  # as the design says


def test_what_machines_read_of_a_design() -> None:
    found = design_perturbation(5, delta="0.25", variance=4, zeros="kept")
    told = json.loads(json_of(table_design_answer(found)))
    assert told["made_least"] == "epsilon"
    assert told["variances"][0]["count"] == 1
    assert sum(Fraction(row["probability"]) for row in told["rows"] if row["count"] == 2) == 1
    assert told["delta"] <= 0.25


def test_a_wish_that_cannot_be(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(
            [
                "cellkey",
                "design",
                "5",
                "--epsilon",
                "1",
                "--delta",
                "0.16",
                "--zeros",
                "kept",
                "--out",
                "no.csv",
            ]
        )
        == 2
    )
    assert "at least 1/(D + 1) = 1/6" in capsys.readouterr().err
    assert not Path("no.csv").exists()


def test_a_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fixed = ["cellkey", "run", "records.csv", "--table", "table.csv", "--attributes", "release.toml"]
    assert run([*fixed, "--secret", "secret.json", "--out", "out", "--quiet"]) == 2
    assert "say --ledger FILE" in capsys.readouterr().err
    fixed.append("--no-ledger")
    assert run([*fixed, "--secret", "secret.json", "--out", "out", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "A new secret: secret.json" in said
    assert json.loads(Path("secret.json").read_text())["secret"] not in said
    done = perturb("records.csv", "table.csv", "again", attributes="release.toml", secret="secret.json")
    assert Path("again/cells.csv").read_bytes() == Path("out/cells.csv").read_bytes()
    told = json.loads(json_of(perturbed_answer(done)))
    assert told["margins"] == 4
    assert told["of_one_cell"]["epsilon"] == "1"
    assert not told["new_secret"]
    assert run([*fixed, "--out", "other"]) == 2
    assert "keys need a secret or a column of record keys" in capsys.readouterr().err
    assert not Path("other").exists()


_CHILD = """
import os, signal, sys
from discreet.cli import main
from discreet.cellkey import run
how = getattr(signal, sys.argv[1])
def stop(*_):
    os.kill(os.getpid(), how)
    signal.pause()
run._Plan.manifest = stop
sys.argv = ["discreet", *sys.argv[2:]]
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_a_stopped_run_leaves_nothing(here: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process cannot tidy up: the next run does."""
    temporary = here / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    before = {path.name for path in here.iterdir()}
    files = "records.csv --table table.csv --attributes release.toml --secret s.json --out out"
    asked = ["cellkey", "run", *files.split(), "--no-ledger"]
    child = [sys.executable, "-c", _CHILD, how, *asked]
    done = subprocess.run(child, check=False, capture_output=True, timeout=120)
    expected = {"SIGINT": 130, "SIGTERM": 143, "SIGKILL": -signal.SIGKILL}[how]
    assert done.returncode == expected
    if how == "SIGKILL":
        assert not (here / "s.json").exists()
        assert not (here / "out").exists()
        subprocess.run([sys.executable, "-m", "discreet.cli", *asked], check=True, capture_output=True)
        before |= {"s.json", "out"}
    assert {path.name for path in here.iterdir()} == before
    assert not list(temporary.iterdir())
