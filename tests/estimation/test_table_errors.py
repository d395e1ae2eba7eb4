"""Errors and intervals of whole numbers as `estimate` writes them, says them and draws them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from discreet.answers.measurements import estimated_answer, measured_answer
from discreet.cli import run
from discreet.errors import InputError
from discreet.estimation import estimate
from discreet.estimation.whole import replicates
from discreet.measurement import measure

RELEASE = """
name = "small"
neighbours = "bounded"
[attributes]
sex = ["f", "m"]
age = ["a", "b", "c"]
[[levels]]
name = "Nation"
queries = { total = { variance = 4 }, detailed = { variance = 16 } }
[[levels]]
name = "Region"
queries = { total = { variance = 4 }, detailed = { variance = 16 } }
"""


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    (folder / "release.toml").write_text(RELEASE)
    with (folder / "records.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["unit", "sex", "age"])
        for unit, many in (("A", 60), ("B", 9), ("C", 1)):
            writer.writerows([[unit, "fm"[k % 2], "a" if k % 7 else "b"] for k in range(many)])
    units = "unit,level,parent\nN,Nation,\nA,Region,N\nB,Region,N\nC,Region,N\n"
    (folder / "units.csv").write_text(units)
    measure(
        folder / "release.toml",
        None,
        folder / "noisy",
        records=folder / "records.csv",
        units=folder / "units.csv",
        rehearsal=1,
    )
    return folder / "noisy"


def manifest(folder: Path) -> Any:
    (file,) = folder.glob("manifest*.json")
    return json.loads(file.read_text())


def test_every_table_says_its_errors_and_intervals_contain_it(noisy: Path, tmp_path: Path) -> None:
    done = estimate(noisy, tmp_path / "first", tables=True, replicates=20, seed=3)
    told = manifest(tmp_path / "first")["table_errors"]
    assert (told["replicates"], told["seed"], told["units"], told["all_units"]) == (20, 3, 4, 4)
    cells = {(one["level"], one["query"]): 0 for one in told["errors"]}
    for one in told["errors"]:
        cells[one["level"], one["query"]] += one["cells"]
        assert one["rmse"] >= abs(one["bias"]) - 1e-9
    assert cells["Region", "detailed"] == 18
    assert cells["Nation", "total"] == 1
    table = done.to_pandas()
    for name in ("90", "95"):
        assert (table[f"table_lower{name}"] <= table["table"]).all()
        assert (table[f"table_upper{name}"] >= table["table"]).all()
        assert (table[f"table_upper{name}"] >= table[f"upper{name}"]).all()
    assert (table["table_upper95"] >= table["table_upper90"]).all()
    assert {"table_lower95", "table_upper95"} <= set(manifest(tmp_path / "first")["columns"])
    estimate(noisy, tmp_path / "again", tables=True, replicates=20, seed=3)
    assert manifest(tmp_path / "again") == manifest(tmp_path / "first")
    answer = estimated_answer(done)
    words = "\n".join(str(getattr(part, "text", part)) for part in answer.body)
    assert "are not unbiased" in words
    assert "noise drawn anew 20 times" in words
    picture = answer.figures["table_errors"]()
    assert [panel.title for panel in picture.panels] == ["Bias", "Root mean square error"]


def test_errors_without_replicates_and_none_without_tables(noisy: Path) -> None:
    done = estimate(noisy, tables=True)
    assert done.table_errors is not None
    assert done.table_errors.replicates == 20
    assert "table_lower95" not in done.to_pandas()
    plain = estimate(noisy)
    assert plain.table_errors is None
    assert "table_errors" not in estimated_answer(plain).record


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replicates": 200}, "give tables, too"),
        ({"replicates": 10, "tables": True}, "replicates is 10; at least 50"),
        ({"replicates": 20_000, "tables": True}, "at most 10000"),
        ({"seed": 1}, "give draws or tables"),
    ],
)
def test_refusals(noisy: Path, tmp_path: Path, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        estimate(noisy, tmp_path / "none", **options)
    assert not (tmp_path / "none").exists()


def test_printed_numbers_beforehand_on_the_command_line(
    noisy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = str(noisy.parent / "release.toml")
    plot = tmp_path / "errors.svg"
    assert run(["accuracy", release, "--tree", "3", "--tables", "--people", "30", "--plot", str(plot)]) == 0
    assert "those assumed are synthetic" in " ".join(capsys.readouterr().out.split())
    assert plot.stat().st_size > 1000
    assert run(["accuracy", release, "--tree", "3", "--tables", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["tables"]
    assert (told["people"], told["tree"], told["populations"]) == (40, [3], 4)
    assert {"level", "query", "least", "most", "bias", "rmse", "margin95", "sd"} <= set(told["errors"][0])
    assert run(["accuracy", release, "--tree", "3", "--people", "30"]) == 2
    capsys.readouterr()
    assert run(["estimate", str(noisy), "--out", str(tmp_path / "out"), "--tables", "--json"]) == 0
    (first, *_) = json.loads(capsys.readouterr().out)["table_errors"]
    assert (first["level"], first["query"], first["most"]) == ("Nation", "total", 99)


@pytest.mark.parametrize("post", ["consistent", "tables"])
def test_measure_says_the_same_errors_as_estimate(noisy: Path, tmp_path: Path, post: str) -> None:
    given = {"records": noisy.parent / "records.csv", "units": noisy.parent / "units.csv"}
    done = measure(noisy.parent / "release.toml", None, tmp_path / post, post=post, rehearsal=1, **given)
    estimate(tmp_path / post, tmp_path / "again", tables=True)
    told = manifest(tmp_path / post)["table_errors"]
    assert told["replicates"] == 20
    assert told == manifest(tmp_path / "again")["table_errors"]
    answer = measured_answer(done)
    assert "are not unbiased" in "\n".join(str(getattr(part, "text", part)) for part in answer.body)
    assert len(answer.record["table_errors"].rows) == len(told["errors"])
    assert answer.figures["table_errors"]().panels[0].title == "Bias"


def test_measure_without_whole_numbers_has_no_errors_of_them(noisy: Path) -> None:
    assert "table_errors" not in manifest(noisy)


def test_replicates_that_would_take_long_are_fewer(noisy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicates, "SECONDS", 0.0)
    found = estimate(noisy, tables=True).table_errors
    assert found is not None
    assert found.replicates == 2
    asked = estimate(noisy, tables=True, replicates=50).table_errors
    assert asked is not None
    assert asked.replicates == 50
