"""`risk audit` as a curator types it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOML = """name = "small"
neighbours = "unbounded"
[[levels]]
name = "State"
[levels.queries]
total = { variance = "4" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("release.toml").write_text(TOML, encoding="utf-8")
    Path("counts.csv").write_text("unit,level,query,cell,count\nA,State,total,all,12\n", encoding="utf-8")
    Path("exact.csv").write_text("age\n30\n", encoding="utf-8")
    Path("beside.csv").write_text("age\n31\n", encoding="utf-8")
    return tmp_path


def test_no_alarm_is_status_0(discreet: Callable[..., Any], folder: Path) -> None:
    asked = ("risk", "audit", "release.toml", "--counts", "counts.csv", "--runs", "50", "--written", "1")
    result = discreet(*asked, "--csv", "looks.csv", "--post", "none")
    assert result.status == 0
    assert result.out.startswith("No alarm in ")
    assert "No alarm is not a proof." in " ".join(result.out.split())
    assert "look,where,threshold" in (folder / "looks.csv").read_text(encoding="utf-8")


@pytest.mark.slow
def test_points_are_drawn_and_told_in_json(discreet: Callable[..., Any], folder: Path) -> None:
    asked = ("risk", "audit", "release.toml", "--counts", "counts.csv", "--runs", "50", "--at-most", "2")
    result = discreet(*asked, "--plot", "points.svg", "--json")
    assert (folder / "points.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert result.json["verdict"] == "no alarm"


def test_an_alarm_is_status_1(discreet: Callable[..., Any], folder: Path) -> None:
    """A copy of the data protects nobody."""
    result = discreet(
        *("risk", "audit", "--counts", "exact.csv", "--neighbour", "beside.csv", "--epsilon", "1"),
        *("--delta", "0", "--mechanism", "cp {in} {out}", "--runs", "60", "--false-alarm", "1/20"),
    )
    assert result.status == 1
    assert result.out.startswith("ALARM: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["release.toml"], "give --counts FILE"),
        (["--counts", "counts.csv"], "--epsilon, --delta, --mechanism and --neighbour are all needed"),
        (["release.toml", "--counts", "counts.csv", "--epsilon", "1"], "not both"),
        (["release.toml", "--counts", "counts.csv", "--runs", "1"], "runs is 1"),
        (["release.toml", "--counts", "none.csv"], "none.csv"),
    ],
)
def test_what_cannot_be_asked_is_status_2(
    discreet: Callable[..., Any], folder: Path, arguments: list[str], words: str
) -> None:
    result = discreet("risk", "audit", *arguments)
    assert result.status == 2
    assert words in " ".join(result.err.split())
