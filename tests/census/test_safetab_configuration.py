"""The two files of a configuration: what is read, exactly, and what is refused, with its place."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetab_facts import GEOGRAPHIES, LEVELS, STATES
from safetab_params import config, write_params
from safetab_toy import SPEC_2020, TOY

from discreet.census.mechanism.configuration import Configuration
from discreet.census.safetab.configuration import read_configuration, read_json, read_toml, write_toml
from discreet.census.safetab.specification import safetab_p
from discreet.errors import InputError

SMALL = read_json(json.dumps(config()))


def refused(**changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_json(json.dumps(config(**changes), indent=1))
    return str(caught.value)


def test_the_production_file_is_read_as_it_is() -> None:
    found = read_configuration(SPEC_2020)
    assert found.budgets["USA", 2] == Fraction(2134, 1000)
    assert found.budgets["AIANNH", 1] == 0
    assert found.gamma == Fraction(1, 10)
    assert found.thresholds["PR-TRACT", 2] == (971, 4971, 19971)
    assert found.zero_suppression_chance == Fraction(9999, 10000)
    assert (found.max_race_codes, found.privacy, found.passes) == (8, "zcdp", ("US", "PR"))
    assert len(found.parts("US")) == 51
    assert ("AIANNH", 1) not in found.levels("US")
    assert len(found.levels("US")) == 11
    assert len(found.levels("PR")) == 8
    # the sums of the published allocation: 4.944 and 2.643
    assert sum(found.budgets[place] or 0 for place in found.levels("US")) == Fraction("4.944")
    assert sum(found.budgets[place] or 0 for place in found.levels("PR")) == Fraction("2.643")


def test_the_reader_of_the_bureau_is_noted() -> None:
    found = read_json(json.dumps(config(reader="cef")))  # as in the production file
    assert found.reader == "cef"
    assert "cef" in found.notes[0]


def test_infinite_budgets_of_the_toy() -> None:
    found = read_configuration(TOY)
    assert set(found.budgets.values()) == {None}
    assert found.parts("US") == ("01", "02", "11")
    assert found.notes == ()


def test_decimals_are_exact_however_long() -> None:
    text = json.dumps(config()).replace(": 0.5", ": 0.1000000000000000000000000000000001")
    found = read_json(text)
    assert found.budgets["USA", 2] == Fraction(1, 10) + Fraction(1, 10**34)
    assert found.budgets["USA", 2] != Fraction(0.1)


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("-inf"), "0.1", True, None, [1], 1e-7, 5001])
def test_a_budget_that_is_none(value: object) -> None:
    text = refused(privacy_budget_p_level_2_tract=value)
    assert "a budget is" in text
    assert "config.json" in text
    assert "privacy_budget_p_level_2_tract" in text
    assert "line 10" in text


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("max_race_codes", 0),
        ("max_race_codes", 9),
        ("max_race_codes", 8.0),
        ("max_race_codes", True),
        ("max_race_codes", "8"),
        ("privacy_budget_p_stage_1_fraction", 0),
        ("privacy_budget_p_stage_1_fraction", 1),
        ("privacy_budget_p_stage_1_fraction", float("nan")),
        ("zero_suppression_chance", 1),
        ("zero_suppression_chance", -0.5),
        ("zero_suppression_chance", 1.5),
        ("zero_suppression_chance", float("inf")),
        ("allow_negative_counts", "yes"),
        ("run_us", 1),
        ("run_pr", None),
        ("privacy_defn", "pure"),
        ("reader", 3),
        ("state_filter_us", ["1"]),
        ("state_filter_us", [1]),
        ("state_filter_us", ["03"]),
        ("state_filter_us", ["72"]),
        ("state_filter_us", ["01", "01"]),
        ("state_filter_us", []),
        ("state_filter_us", "01"),
    ],
)
def test_a_wrong_value_is_named_with_its_field(key: str, value: object) -> None:
    text = refused(**{key: value})
    assert f" of config.json, field {key})" in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([1, 2, 3, 4], "a list of 4; it must be a list of exactly three"),
        ([1, 2], "a list of 2"),
        ([3, 2, 1], "thresholds must not decrease"),
        ([1, 2.5, 3], "it is 2.5; it must be a whole number"),
        ([-1, 2, 3], "it is -1; it must be a whole number of at least 0"),
        ([1, True, 3], "whole number"),
        ("1", "exactly three"),
    ],
)
def test_wrong_thresholds(steps: object, reason: str) -> None:
    text = refused(thresholds_p={**config()["thresholds_p"], "(PR-TRACT, 2)": steps})
    assert reason in text
    assert "thresholds_p '(PR-TRACT, 2)'" in text


def test_equal_thresholds_are_allowed() -> None:
    equal = {**config()["thresholds_p"], "(USA, 2)": [5, 5, 5]}
    assert read_json(json.dumps(config(thresholds_p=equal))).thresholds["USA", 2] == (5, 5, 5)


def test_thresholds_are_needed_where_there_is_a_budget_and_only_there() -> None:
    some = {key: value for key, value in config()["thresholds_p"].items() if key.endswith("2)")}
    assert len(read_json(json.dumps(config(thresholds_p=some))).thresholds) == 10
    del some["(PLACE, 2)"]
    assert "thresholds are missing (line 24 of config.json, field thresholds_p (PLACE, 2)" in refused(
        thresholds_p=some
    )
    assert "unknown geography or level" in refused(thresholds_p={**some, "(BLOCK, 2)": [1, 2, 3]})
    assert "unknown geography or level" in refused(thresholds_p={**some, "(PLACE, 3)": [1, 2, 3]})


def test_all_problems_are_reported_together() -> None:
    text = refused(max_race_codes=..., run_us="x", gamma=3, privacy_budget_p_level_1_usa=-1)
    assert text.startswith("4 kinds of problems")
    for part in (
        "a key is missing (config.json, field max_race_codes)",
        "an unknown key",
        "'gamma'",
        "run_us",
        "-1",
    ):
        assert part in text


def test_what_is_wrong_with_the_whole() -> None:
    assert "neither run_us nor run_pr" in refused(run_us=False, run_pr=False)
    none = {key: 0 for key in config() if key.startswith("privacy_budget_p_level")}
    assert "no budget of this pass is above 0" in refused(**none)


def test_suppression_can_be_switched_off_as_in_the_bureaus_program() -> None:
    assert read_json(json.dumps(config(zero_suppression_chance=0))).zero_suppression_chance == 0
    found = read_json(json.dumps(config(zero_suppression_chance=...)))
    assert found.zero_suppression_chance == 0
    assert "nothing is suppressed" in found.notes[0]


def test_keys_of_the_households_program_are_left_alone() -> None:
    found = read_json(json.dumps(config(privacy_budget_h_t3_level_1_usa=1, thresholds_h_t4={})))
    assert found == SMALL
    assert "2 keys" in found.notes[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not valid JSON"),
        ("[]", "must be an object"),
        ('{"run_us": true,\n "run_us": false}', "key 'run_us' occurs twice (line 2"),
        ("[" * 100_000, "not valid JSON"),
        (json.dumps(config()).replace("0.5", "1e99999", 1), "a budget is"),
    ],
)
def test_files_that_are_no_configuration(text: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        read_json(text)
    assert reason in str(caught.value)


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"neither config\.json nor safetab\.toml"):
        read_configuration(tmp_path)
    write_params(
        tmp_path,
        {"config.json": b"\xef\xbb\xbf" + json.dumps(config(), indent=1).replace("\n", "\r\n").encode()},
    )
    assert read_configuration(tmp_path) == SMALL
    (tmp_path / "safetab.toml").write_text(write_toml(SMALL))
    with pytest.raises(InputError, match="both"):
        read_configuration(tmp_path)
    (tmp_path / "config.json").unlink()
    assert read_configuration(tmp_path) == SMALL
    (tmp_path / "safetab.toml").write_bytes(b"\xff")
    with pytest.raises(InputError, match="byte 1 is not UTF-8"):
        read_configuration(tmp_path)


budget_sizes = st.fractions(min_value=0, max_value=5, max_denominator=10**6)
shares = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000), max_denominator=1000)
thresholds = st.lists(st.integers(0, 10**6), min_size=3, max_size=3).map(lambda steps: tuple(sorted(steps)))


@settings(max_examples=30)  # of twenty budgets and thresholds each
@given(
    budgets=st.lists(st.one_of(st.none(), budget_sizes), min_size=20, max_size=20),
    steps=st.lists(thresholds, min_size=20, max_size=20),
    gamma=shares,
    chance=st.one_of(st.just(Fraction(0)), shares),
    codes=st.integers(1, 8),
    flags=st.tuples(st.booleans(), st.booleans()),
    states=st.lists(st.sampled_from(STATES), min_size=1, unique=True),
    privacy=st.sampled_from(["zcdp", "puredp"]),
)
def test_toml_comes_back_as_it_went(
    budgets: Any,
    steps: Any,
    gamma: Fraction,
    chance: Fraction,
    codes: int,
    flags: Any,
    states: Any,
    privacy: Any,
) -> None:
    places = [(geography, level) for geography in GEOGRAPHIES for level in LEVELS]
    spent = {**dict(zip(places, budgets, strict=True)), ("USA", 1): Fraction(1, 3), ("PR-STATE", 1): None}
    configuration = Configuration(
        max_race_codes=codes,
        budgets=spent,
        gamma=gamma,
        thresholds=dict(zip(places, steps, strict=True)),
        zero_suppression_chance=chance,
        allow_negative_counts=flags[0],
        tabulation=safetab_p(),
        passes=("US", "PR") if flags[1] else ("US",),
        filters={"US": tuple(states)} if tuple(states) != STATES else {},
        privacy=privacy,
    )
    assert read_toml(write_toml(configuration)) == configuration


def test_toml_needs_no_more_than_its_table() -> None:
    text = """
privacy = "zcdp"
max_race_codes = 8
stage_one_share = 0.1
zero_suppression_chance = "9999/10000"
allow_negative_counts = true
levels = [
  { geography = "USA", level = 2, rho = 2.134, thresholds = [471, 971, 6971] },
  { geography = "TRACT", level = 2, rho = "159/1000", thresholds = [971, 4971, 19971] },
]
"""
    found = read_toml(text)
    assert (found.passes, found.parts("US")) == (("US",), STATES)
    assert found.levels("US") == (("USA", 2), ("TRACT", 2))
    assert found.budgets["TRACT", 2] == Fraction("0.159")
    assert found.zero_suppression_chance == Fraction("0.9999")


def test_toml_rows_may_be_tables_of_their_own() -> None:
    scalars, _, table = write_toml(SMALL).partition("levels = [")
    rows = [
        line.strip().removeprefix("{").removesuffix("},").strip()
        for line in table.splitlines()
        if "{" in line
    ]
    spread = [re.sub(r", (?=[a-z])", "\n", row) for row in rows]
    text = scalars + "".join(f"[[levels]]\n{row}\n" for row in spread)
    assert read_toml(text) == SMALL
    with pytest.raises(InputError, match=r"a budget is -1; .* \(line 13 of safetab.toml, field levels rho\)"):
        read_toml(text.replace("rho = 0", "rho = -1", 1))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("rho = 0.5", "rho = nan", "a budget is nan"),
        ("rho = 0.5", "rho = -1", "a budget is -1"),
        ("rho = 0.5", "rho = true", "a budget is true"),
        ("rho = 0.5", "epsilon = 0.5", "with this privacy the budget is called rho"),
        ("rho = 0.5, ", "", "a key is missing (line 11 of safetab.toml, field levels rho)"),
        (
            "level = 2",
            "level = 3",
            "it must be a whole number from 1 to 2 (line 11 of safetab.toml, field levels level)",
        ),
        ('"USA", level = 2', '"STATE", level = 2', "a geography and level occur twice"),
        ('"USA"', '"US"', "it is 'US'; it must be USA, STATE"),
        ("[10, 20, 30]", "[30, 20, 10]", "thresholds must not decrease"),
        (", thresholds = [10, 20, 30]", "", "thresholds are missing"),
        ("run_us", "run_uss", "an unknown key"),
        ("max_race_codes = 8", "max_race_codes = 8.0", "(line 2 of safetab.toml, field max_race_codes)"),
        ('privacy = "zcdp"', "privacy = zcdp", "not valid TOML: Invalid value (line 1"),
    ],
)
def test_wrong_toml(old: str, new: str, reason: str) -> None:
    text = write_toml(
        replace(SMALL, thresholds=dict.fromkeys(SMALL.levels("US") + SMALL.levels("PR"), (10, 20, 30)))
    )
    assert old in text
    with pytest.raises(InputError) as caught:
        read_toml(text.replace(old, new, 1))
    assert reason in str(caught.value)
