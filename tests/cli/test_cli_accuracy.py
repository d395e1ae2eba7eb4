"""`discreet accuracy`: what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.cli import run


def test_json_is_what_python_says(capsys: pytest.CaptureFixture[str]) -> None:
    from discreet import load
    from discreet.answers import describe
    from discreet.estimation import accuracy

    assert run(["accuracy", "pl94-2020-units", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == describe(accuracy(load("pl94-2020-units"))).objects


def test_a_real_tree_with_merged_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r.toml").write_text(
        'name = "r"\nneighbours = "bounded"\n[attributes]\nsex = ["f", "m"]\n'
        '[[levels]]\nname = "A"\nqueries = { "total" = { variance = 4 } }\n'
        '[[levels]]\nname = "B"\nqueries = { "sex" = { variance = 2 } }\n[spine]\nmay_merge_up = ["B"]\n'
    )
    units = tmp_path / "units.csv"
    units.write_text("unit,level,parent\na,A,\nb,A+B,\na1,B,a\na2,B,a\n")
    assert run(["accuracy", str(tmp_path / "r.toml"), "--tree", str(units), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["levels"]
    assert [one["name"] for one in said] == ["A", "A+B", "B"]
    found = {one["name"]: one for one in said}
    assert found["A+B"]["queries"][1]["sd"] is None  # the merged unit answers the total alone
    assert found["A+B"]["queries"][0]["sd"] == pytest.approx((1 / (1 / 4 + 1 / 2)) ** 0.5, rel=1e-3)
    units.write_text("unit,level,parent\na,A,\na1,B,a\na2,B,x\n")
    assert run(["accuracy", str(tmp_path / "r.toml"), "--tree", str(units)]) == 2
    assert "a child without a parent" in capsys.readouterr().err


def test_help_says_for_which_releases_there_is_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["accuracy", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert (
        "Default: the United States of 2020, for releases with its levels US, State, County, Tract," in said
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dhc-2020"], "the tree of areas is not known: give the average number of children of an area"),
        (["pl94-2020", "--tree", "2,x"], "--tree is '2,x'; it must be numbers such as 51,61.6 or a file"),
        (["pl94-2020", "--tree", "2"], "the tree has 1 numbers; the levels US, State, .* need 5"),
        (["pl94-2020", "--tree", "no.csv"], "there is no file no.csv"),
        (["pl94-2020", "--plot", "x.gif"], "must end in .svg, .png or .pdf"),
    ],
)
def test_refusals(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    import re

    assert run(["accuracy", *arguments]) == 2
    error = capsys.readouterr().err
    assert re.search(said, error)
    assert error.count("\n") == 1
