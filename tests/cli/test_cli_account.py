"""`discreet account` in process: numbers, text, JSON and files."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.account import account
from discreet.budget import load
from discreet.comparisons.zcdp import ZCDP

PRESET = "dhc-2022-08-25"


def test_main_figures_of_the_2020_dhc(discreet):
    # the paper's figures: exact epsilon 24.4565 against zCDP's 26.3406 at delta 1e-10, 946 pairs of paths
    result = discreet("account", "dhc-2020", "--delta", "1e-10", "--json")
    assert result.status == 0
    answer = result.json
    assert answer["release"] == "dhc-2020-persons"
    assert answer["neighbours"] == "bounded"
    assert answer["pairs"] == 946
    (row,) = answer["results"]
    assert row["epsilon"] == pytest.approx(24.456514457, abs=1e-8)
    assert row["zcdp_epsilon"] == pytest.approx(26.340588852722323, rel=1e-13)
    assert row["worst"] == [6, 6]


def test_json_has_one_object_of_the_promised_shape(discreet):
    answer = discreet("account", PRESET, "--json").json
    assert set(answer) >= {"release", "neighbours", "pairs", "results", "seconds"}
    assert answer["neighbours"] == "unbounded"
    assert answer["pairs"] == 1
    assert answer["rho"] == "73/20"
    assert [row["delta"] for row in answer["results"]] == [1e-5, 1e-10, 1e-15, 1e-20]
    exact = account(load(PRESET))
    for row in answer["results"]:
        assert list(row) == ["delta", "epsilon", "zcdp_epsilon", "worst", "claims"]
        assert row["worst"] == [1]
        assert row["epsilon"] == pytest.approx(exact.epsilon(delta=row["delta"]), rel=1e-12)
        assert row["zcdp_epsilon"] == ZCDP.from_rho("3.65").epsilon(delta=row["delta"])
    assert isinstance(answer["seconds"], float)


def test_epsilon_alone_gives_no_rows_by_delta(discreet):
    answer = discreet("account", PRESET, "--epsilon", "4", "--epsilon", "41/2", "--json").json
    assert [list(row) for row in answer["results"]] == [
        ["epsilon", "delta", "zcdp_delta", "worst", "claims"]
    ] * 2
    assert [row["epsilon"] for row in answer["results"]] == [4.0, 20.5]
    exact = account(load(PRESET)).delta(epsilon=["4", "41/2"])
    assert [row["delta"] for row in answer["results"]] == pytest.approx(exact, rel=1e-12)


def test_both_give_both(discreet):
    answer = discreet("account", PRESET, "--epsilon", "4", "--delta", "1e-5", "--json").json
    assert ["zcdp_epsilon" in row for row in answer["results"]] == [True, False]


def test_delta_is_taken_exactly(discreet):
    # 0.1 and 1/10 are the same number; the float 0.1 is not
    answer = discreet("account", PRESET, "--delta", "0.1", "--delta", "1/10", "--json").json
    assert len(answer["results"]) == 1


def test_certified_interval_contains_the_value_and_keeps_its_digits(discreet):
    arguments = ("account", PRESET, "--delta", "1e-10", "--epsilon", "4", "--certify", "--digits", "25")
    text = discreet(*arguments, "--json").out
    rows = json.loads(text, parse_float=Decimal)["results"]
    for row, value in zip(rows, ("epsilon", "delta"), strict=True):
        lower, upper = row["lower"], row["upper"]
        assert lower < upper
        assert abs(row[value] - lower) < Decimal("1e-9")
        assert upper - lower < lower * Decimal("1e-24")
        assert len(upper.as_tuple().digits) >= 25
    proof = account(load(PRESET)).epsilon(delta="1e-10", certified=True, digits=25)
    assert Fraction(rows[0]["lower"]) <= proof.lower
    assert proof.upper <= Fraction(rows[0]["upper"])
    shown = discreet(*arguments, "--quiet").out
    assert f"{rows[0]['lower']} <= epsilon <= {rows[0]['upper']}" in shown


def test_text_says_what_is_meant(discreet):
    result = discreet("account", PRESET)
    assert result.status == 0
    assert "one person added or removed" in result.out
    assert "zCDP rho 73/20 = 3.65" in result.out
    assert "20.3247" in result.out
    assert "21.9851" in result.out
    assert result.err.startswith("Time: ")
    assert not any(line.endswith(" ") for line in result.out.splitlines())


def test_quiet_says_nothing_beside_the_answer(discreet):
    assert discreet("account", PRESET, "--quiet").err == ""


def test_digits_are_shown_as_asked(discreet):
    out = discreet("account", PRESET, "--delta", "1e-10", "--digits", "9", "--quiet").out
    assert "20.3246898 " in out


def test_tiny_delta_is_not_called_zero(discreet):
    out = discreet("account", PRESET, "--epsilon", "1000").out
    assert "below 1e-300" in out


def test_pair_and_path_are_single_cases(discreet, small):
    exact = account(load(small))
    (row,) = discreet("account", small, "--pair", "2", "1", "--delta", "1e-6", "--json").json["results"]
    assert row["worst"] == [1, 2]
    assert row["epsilon"] == pytest.approx(exact.pair(1, 2).epsilon(delta="1e-6"), rel=1e-12)
    answer = discreet("account", small, "--path", "2", "--delta", "1e-6", "--json").json
    assert answer["neighbours"] == "unbounded"
    assert answer["pairs"] == 1
    (row,) = answer["results"]
    assert row["worst"] == [2]
    assert row["epsilon"] == pytest.approx(exact.path(2).epsilon(delta="1e-6"), rel=1e-12)


def test_people_and_neighbours_reach_the_accountant(discreet, small):
    answer = discreet(
        "account", small, "--people", "2", "--neighbours", "unbounded", "--delta", "1e-6", "--json"
    ).json
    exact = account(load(small), neighbours="unbounded", people=2)
    assert (answer["people"], answer["neighbours"], answer["pairs"]) == (2, "unbounded", 2)
    assert answer["results"][0]["epsilon"] == pytest.approx(exact.epsilon(delta="1e-6"), rel=1e-12)
    assert answer["rho"] == "3/2"  # 3/8 for one person added or removed, four times as much for two


def test_notes_that_limit_the_result_are_shown(discreet, small):
    result = discreet("account", small, "--neighbours", "unbounded")
    assert "Note: An upper bound: for the test." in result.out
    assert "calibrated for bounded neighbours" in result.out
    assert "Note: A household that is replaced by another" in discreet("account", "sdhc-2020").out


def test_worst_paths_are_explained(discreet, small):
    out = discreet("account", small).out
    assert "Path 2: State+County." in out or "Path 1: State, County." in out


def test_portfolio_adds_up(discreet, small):
    answer = discreet("account", small, small, "--delta", "1e-6", "--json").json
    assert answer["rho"] == "3/2"
    assert answer["releases"] == ["small", "small"]
    assert answer["pairs"] == 3  # of one spine: the same person has the same path in both
    assert answer["results"][0]["worst"] == [[2, 2], [2, 2]]
    main = discreet("account", small, small, "--delta", "1e-6", "--main-path", "--json").json
    assert main["pairs"] == 1
    assert main["results"][0]["worst"] == [[1, 1], [1, 1]]
    assert main["answer"]["kind"] == "main path"
    assert any("--all-pairs" in line for line in main["cautions"])
    assert answer["results"][0]["epsilon"] >= main["results"][0]["epsilon"] * (1 - 1e-12)


@pytest.mark.parametrize(
    "asked",
    [
        ("account", "pl94-2020", "pl94-2020", "--main-path", "--delta", "1e-6"),
        ("account", "pl94-2020", "--pair", "1", "1", "--delta", "1e-6"),
        ("risk", "release", "pl94-2020", "--prior", "1/2", "--main-only"),
    ],
)
def test_an_answer_of_one_path_does_not_say_that_all_were_compared(discreet, asked):
    answer = discreet(*asked, "--json").json
    said = [*answer["answer"]["reasons"], *answer.get("cautions", ())]
    compared = [text for text in said if "all are compared" in text]
    assert compared
    assert all(text.startswith("An account of all paths would be an upper bound: ") for text in compared)
    text = " ".join(discreet(*asked).out.split())
    assert text.count("all are compared") == text.count("An account of all paths would be an upper bound: ")
    assert "bounds, rounded up" not in text
    assert "none has more" not in text


def test_the_main_path_of_one_release_is_refused(refused, small):
    assert "for one release give --pair 1 1 or --path 1" in refused("account", small, "--main-path")


def test_portfolio_of_different_relations_is_about_replacement(discreet, small):
    answer = discreet("account", small, PRESET, "--delta", "1e-6", "--json").json
    assert answer["neighbours"] == "bounded"
    assert answer["rho"] == "161/20"  # 3/4, and twice 3.65
    assert any("calibrated for unbounded neighbours" in line for line in answer["cautions"])


def test_laplace_noise_is_pure(discreet, tmp_path):
    path = tmp_path / "laplace.toml"
    path.write_text(
        'name = "laplace"\nneighbours = "unbounded"\n[[levels]]\nname = "Nation"\n'
        '[levels.queries]\n"visits" = { scale = "2", sensitivity = 3 }\n'
    )
    (row,) = discreet("account", path, "--epsilon", "3/2", "--json").json["results"]
    assert row["delta"] == 0
    out = discreet("account", path, "--epsilon", "3/2", "--delta", "0.9").out
    assert "below 1e-300" not in out
    assert "delta alone covers the whole loss" in out


# -- files ---------------------------------------------------------------------------------------------


def test_curve_has_42_points_at_zcdps_answers(discreet, tmp_path):
    target = tmp_path / "curve.csv"
    assert discreet("account", PRESET, "--curve", target).status == 0
    rows = list(csv.DictReader(target.read_text().splitlines()))
    assert list(rows[0]) == ["epsilon", "delta", "zcdp_delta"]
    assert len(rows) == 42
    assert float(rows[0]["zcdp_delta"]) == pytest.approx(0.5)
    assert float(rows[-1]["zcdp_delta"]) == pytest.approx(1e-21)
    exact = account(load(PRESET))
    for row in rows[::10]:
        assert float(row["delta"]) == pytest.approx(exact.delta(epsilon=float(row["epsilon"])), rel=1e-12)
        assert float(row["delta"]) < float(row["zcdp_delta"])


def test_tradeoff_file(discreet, small, tmp_path):
    target = tmp_path / "tradeoff.csv"
    assert discreet("account", small, "--pair", "1", "1", "--tradeoff", target).status == 0
    rows = list(csv.DictReader(target.read_text().splitlines()))
    assert list(rows[0]) == ["alpha", "f", "zcdp_f"]
    assert [float(rows[0][key]) for key in rows[0]] == [0, 1, 1]
    assert [float(rows[-1][key]) for key in rows[-1]] == [1, 0, 0]
    assert all(float(row["f"]) >= float(row["zcdp_f"]) for row in rows)
    exact = account(load(small)).pair(1, 1)
    middle = rows[len(rows) // 2]
    assert float(middle["f"]) == pytest.approx(exact.tradeoff(alpha=float(middle["alpha"])), rel=1e-10)


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("PDF", b"%PDF")])
def test_plot_is_of_the_kind_that_its_name_says(discreet, tmp_path, kind, start):
    target = tmp_path / f"a.{kind}"
    assert discreet("account", PRESET, "--delta", "1e-5", "--plot", target).status == 0
    assert target.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [target]


def test_plot_is_the_same_every_time(discreet, tmp_path):
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    for target in (first, second):
        assert discreet("account", PRESET, "--delta", "1e-5", "--plot", target).status == 0
    assert first.read_bytes().startswith(b"<?xml")
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        (("--pair", 2, 1), "small, pair (1, 2): one person replaced by another"),
        (("--path", 2), "small, path 2: one person added or removed"),
        ((), "small: one person replaced by another"),
    ],
)
def test_a_picture_names_the_case_that_it_shows(discreet, small, tmp_path, asked, title):
    target = tmp_path / "a.svg"
    assert discreet("account", small, "--delta", "1e-5", *asked, "--plot", target).status == 0
    assert f"<!-- {title} -->" in target.read_text()  # letters are drawn; Matplotlib notes what they say


def test_curve_is_the_same_with_and_without_a_plot(discreet, tmp_path):
    alone, beside = tmp_path / "alone.csv", tmp_path / "beside.csv"
    discreet("account", PRESET, "--curve", alone)
    discreet("account", PRESET, "--curve", beside, "--plot", tmp_path / "plot.svg")
    lines = (csv.reader(path.read_text().splitlines()) for path in (alone, beside))
    for one, two in zip(*lines, strict=True):
        assert one[0] == two[0]
        if one[0] != "epsilon":
            assert float(one[1]) == pytest.approx(float(two[1]), rel=1e-12)


def test_a_file_replaces_the_old_one_and_follows_links(discreet, tmp_path):
    old = tmp_path / "old.csv"
    old.write_text("old")
    link = tmp_path / "link.csv"
    link.symlink_to(old)
    assert discreet("account", PRESET, "--curve", link).status == 0
    assert link.is_symlink()
    assert old.read_text().startswith("epsilon,")


def test_a_file_is_as_readable_as_any_other(discreet, tmp_path):
    plain = tmp_path / "plain"
    plain.touch()
    target = tmp_path / "curve.csv"
    discreet("account", PRESET, "--curve", target)
    assert target.stat().st_mode == plain.stat().st_mode


def test_targets_may_stand_after_options(discreet, small):
    assert discreet("account", "--json", "--delta", "1e-5", small, "--quiet", Path(small)).json["pairs"] == 3


def test_accuracy_is_said_and_only_digits_that_hold_are_printed(discreet, refused):
    exact = account(load("pl94-2020-units")).epsilon(delta="1e-10")
    question = ("account", "pl94-2020-units", "--delta", "1e-10", "--accuracy", "1e-2")
    (row,) = discreet(*question, "--json").json["results"]
    assert exact <= row["epsilon"] <= exact + row["accuracy"]
    assert row["accuracy"] <= 0.1
    text = discreet(*question, "--quiet").out
    assert "epsilon is at most 2.37, 0.34 (12.5 %) below" in text
    assert "-0.34 (-12.5 %)" in text
    for bad in ("2", "0", "nan", "1e-20", "-1"):
        assert "accuracy" in refused("account", PRESET, "--accuracy", bad)
    assert "cannot be combined with a proof" in refused("account", PRESET, "--accuracy", "1e-3", "--certify")
    result = discreet("compare", "pl94-2020-units", "pl94-2020-units-pr", "--accuracy", "1e-2", "--quiet")
    assert "2.37" in result.out
