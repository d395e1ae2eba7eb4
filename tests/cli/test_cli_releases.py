"""`discreet presets`, `show` and `compare`, and the help."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from discreet.budget import Release, load, preset_names

PRESET = "dhc-2022-08-25"


def test_presets_lists_all(discreet):
    out = discreet("presets").out
    for name in preset_names():
        assert f"\n{name} " in out
    assert "dhc-2020 is short for dhc-2020-persons." in out


def test_presets_json(discreet):
    answer = discreet("presets", "--json").json
    found = {preset["name"]: preset for preset in answer["presets"]}
    assert tuple(found) == preset_names()
    assert found["dhc-2020-persons"] == {
        "name": "dhc-2020-persons",
        "title": load("dhc-2020").title,
        "unit": "person",
        "neighbours": "bounded",
        "rho": "24811/5000",
        "paths": 43,
    }
    assert answer["aliases"]["dhc-2020"] == "dhc-2020-persons"


def test_show_reads_well(discreet):
    out = discreet("show", "dhc-2020").out
    assert "bounded neighbours (one person replaced by another); total rho 24811/5000 = 4.9622" in out
    assert "State: rho 12987/10000 = 1.2987, 26.2 % of the total" in out
    row = next(line for line in out.splitlines() if line.startswith("age_18_64_116 * sex"))
    assert row.split()[-5:] == ["10000/73", "7.7", "%", "1", "1"]
    assert "43 paths" in out
    assert " 6  US, State + County + Primitive geography + Tract subset group" in out
    assert "Sources:" in out
    assert "Notes:" in out


def test_show_has_sensitivity_and_groups(discreet):
    assert "sensitivity" in discreet("show", "sdhc-2020").out
    query = discreet("show", "ddhca-2020", "--json").json["levels"][0]["queries"][0]
    assert query["groups"] == 9


def test_show_json(discreet, small):
    answer = discreet("show", small, "--json").json
    assert answer["rho"] == "3/4"
    assert [level["name"] for level in answer["levels"]] == ["State", "County"]
    assert answer["levels"][0]["queries"][0] == {
        "name": "total",
        "noise": "discrete Gaussian",
        "variance": 10.0,
        "variance_exact": "10",
        "rho": "1/10",
        "share": "1/5",
        "sensitivity": 1,
        "groups": 1,
    }
    assert answer["path_levels"] == {"1": ["State", "County"], "2": ["State+County"]}
    assert answer["notes"] == ["An upper bound: for the test."]


def test_show_without_an_unmerged_path(discreet, small):
    text = small.read_text().replace('1 = ["State", "County"]\n', "")
    small.write_text(text)
    answer = discreet("show", small, "--json").json
    assert [len(level["queries"]) for level in answer["levels"]] == [2, 2]


@pytest.mark.parametrize("name", ["dhc-2020", "pl94-2020-units", "sdhc-2020"])
def test_show_toml_is_the_release(discreet, name):
    assert Release.from_toml(discreet("show", name, "--toml").out) == load(name)


def test_compare_text(discreet, tmp_path):
    sample = Path(__file__).parents[1] / "budget" / "samples" / "sdhc-2020.toml"
    bound = tmp_path / "bound.toml"
    text = sample.read_text(encoding="utf-8")
    bound.write_text(text.replace("sources = [", 'kind = "bound"\nreason = "For the test."\nsources = [', 1))
    out = discreet("compare", "dhc-2022-08-25", bound, "--delta", "1e-10").out
    assert (
        "At delta 1e-10 B has epsilon at most 10.9439, at least 9.38 (46.2 %) less than A's 20.3247"
        in " ".join(out.split())
    )
    assert "No level and query have the same names in both." in out
    assert "B: An upper bound" in out


def test_compare_says_what_cannot_be_compared(discreet, small):
    out = discreet("compare", PRESET, small, "--delta", "1e-5").out
    assert "A is about unbounded and B about bounded neighbours" in out
    assert discreet("compare", PRESET, small, "--delta", "1e-5", "--json").json["comparable"] is False
    same = discreet("compare", PRESET, small, "--delta", "1e-5", "--neighbours", "bounded", "--json").json
    assert same["comparable"] is True
    assert (same["a"]["accounted"], same["b"]["accounted"]) == ("bounded", "bounded")


def test_compare_with_itself(discreet, small):
    out = discreet("compare", small, small).out
    assert "Both have the same epsilon" in out


def test_compare_json(discreet, small, tmp_path):
    louder = tmp_path / "louder.toml"
    louder.write_text(load(small).scaled(2).to_toml())
    answer = discreet("compare", small, louder, "--delta", "1e-6", "--json").json
    (row,) = answer["results"]
    assert row["difference"] == row["b"]["epsilon"] - row["a"]["epsilon"] < 0
    assert len(answer["variances"]) == 4
    assert {pair["ratio"] for pair in answer["variances"]} == {2.0}
    assert answer["a"]["rho"] == "3/4"
    assert answer["b"]["rho"] == "3/8"


def test_compare_plot(discreet, small, tmp_path):
    target = tmp_path / "plot.svg"
    assert discreet("compare", PRESET, small, "--delta", "1e-5", "--plot", target).status == 0
    assert target.read_bytes().startswith(b"<?xml")


def test_help_names_every_command(discreet):
    result = discreet("--help")
    assert result.status == 0
    for command in ("account", "compare", "presets", "show"):
        assert f" {command} " in result.out
        assert discreet(command, "--help").status == 0


def test_help_of_account_names_every_option(discreet):
    out = discreet("account", "--help").out
    for option in ("neighbours", "delta", "epsilon", "pair", "path", "people", "all-pairs", "curve"):
        assert f"--{option}" in out
    for option in ("tradeoff", "plot", "certify", "digits", "jobs", "json", "quiet"):
        assert f"--{option}" in out


def test_version(discreet):
    assert discreet("--version").out.strip() == importlib.metadata.version("discreet")


@pytest.mark.parametrize(
    "command",
    [
        ["show", "pl94-2020-units"],
        ["account", "pl94-2020-units", "--path", "4", "--delta", "1e-10"],
        ["calibrate", "pl94-2020-units", "--zcdp", "--delta", "1e-10"],
        ["compare", "pl94-2020-units", "pl94-2020-units-pr", "--delta", "1e-10"],
        ["risk", "release", "--rho", "Block_Group=0.2465", "--rho", "Block=0.0992"],
        ["accuracy", "pl94-2020-units"],
    ],
    ids=lambda command: command[0],
)
def test_text_names_levels_as_people_do_and_json_has_the_codes(discreet, command):
    text = discreet(*command).out
    assert "Block group" in text
    assert "Block_Group" not in text
    if command[0] != "account":  # which names paths by their numbers
        assert "Block_Group" in discreet(*command, "--json").out
