"""A file of persons with its header alone: every group is empty, and the run goes as any other."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetab_toy import DATA, TOY

from discreet.census.safetab.run import run
from discreet.census.safetab.run_plan import Options
from discreet.cli import run as command
from discreet.records.engine import Engine


def nobody(folder: Path, kind: str) -> Path:
    """Copy the toy's data without its people."""
    data = folder / f"nobody-{kind}"
    data.mkdir()
    shutil.copy(DATA / "GRF-C.txt", data)
    header = (DATA / "person-records.txt").read_text().splitlines()[0]
    if kind == "parquet":
        columns = {name: pa.array([], type=pa.string()) for name in header.split("|")}
        pq.write_table(pa.table(columns), data / "person-records.parquet")
    else:
        (data / f"person-records.{kind}").write_text(header + "\n")
    return data


def counts(out: Path) -> list[tuple[str, int]]:
    """Return region type and count of all rows of the totals."""
    lines = (out / "t1.NOT-PRIVATE.csv").read_text().splitlines()
    names = lines[0].split("|")
    where, what = names.index("REGION_TYPE"), names.index("COUNT")
    return [(line.split("|")[where], int(line.split("|")[what])) for line in lines[1:]]


def noisy(folder: Path) -> Path:
    """Copy the toy's parameters, with a finite budget for the nation and one geography below the states."""
    params = folder / "params"
    shutil.copytree(TOY, params)
    data = json.loads((TOY / "config.json").read_text())
    budgets = {key: 0 for key in data if key.startswith("privacy_budget_p_level_")}
    budgets |= {key: 0.1 for key in budgets if key.endswith(("1_usa", "2_county"))}
    (params / "config.json").write_text(json.dumps({**data, **budgets, "run_pr": False}))
    return params


@pytest.mark.parametrize("kind", ["txt", "csv", "parquet"])
def test_nobody_gives_zeros_and_noise(tmp_path: Path, kind: str) -> None:
    data = nobody(tmp_path, kind)
    run(TOY, data, tmp_path / "exact", options=Options(no_noise=True))
    assert {count for _, count in counts(tmp_path / "exact")} == {0}
    run(noisy(tmp_path), data, tmp_path / "noisy", options=Options(rehearsal=1))
    assert len({count for where, count in counts(tmp_path / "noisy") if where == "USA"}) > 2


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_both_engines_give_the_rows_of_nobody(tmp_path: Path, spark_engine: Engine) -> None:
    data = nobody(tmp_path, "txt")
    run(noisy(tmp_path), data, tmp_path / "out", engine=spark_engine, options=Options(rehearsal=1))
    run(noisy(tmp_path / "again"), data, tmp_path / "local", options=Options(rehearsal=1))
    assert counts(tmp_path / "out") == counts(tmp_path / "local") != []


def test_every_command_takes_nobody(tmp_path: Path) -> None:
    params, data = str(noisy(tmp_path)), str(nobody(tmp_path, "txt"))
    out = str(tmp_path / "out")
    assert command(["safetab", "validate", params, data]) == 0
    assert command(["safetab", "run", params, data, out, "--resume", "--no-ledger", "--quiet"]) == 0
    assert command(["safetab", "report", params, data, out]) == 0


def test_the_header_must_be_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = nobody(tmp_path, "txt")
    (data / "person-records.txt").write_text("")
    assert (
        command(["safetab", "run", str(noisy(tmp_path)), str(data), str(tmp_path / "out"), "--no-ledger"])
        == 2
    )
    assert "person-records.txt is empty; a header and rows are needed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
