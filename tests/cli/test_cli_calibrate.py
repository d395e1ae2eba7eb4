"""`discreet calibrate`: the published figures, the new release, and input that cannot be used."""

from __future__ import annotations

import math
import os
from fractions import Fraction

import pytest

from discreet import account, calibrate, load
from discreet.answers import describe
from discreet.noise import GaussianNoise

PRESET = "dhc-2022-08-25"


def test_published_reduction_overall(discreet):
    found = discreet("calibrate", PRESET, "--zcdp", "--delta", "1e-10", "--jobs", 1, "--json").json
    assert round(found["reduction"], 4) == 0.1228


def test_json(discreet, small):
    result = discreet("calibrate", small, "--zcdp", "--delta", "1e-6", "--jobs", 1, "--json")
    found = result.json
    assert result.status == 0
    assert result.err == ""
    assert {"factor", "reduction", "epsilon", "delta", "lower", "upper", "levels"} <= set(found)
    assert found["reduction"] == pytest.approx(1 - found["factor"])
    assert 0 < found["lower"] <= found["upper"] <= found["delta"] == 1e-6
    assert [level["name"] for level in found["levels"]] == ["State", "County"]
    for level in found["levels"]:
        assert {"name", "factor", "before", "after", "queries"} <= set(level)
        assert level["after"] == pytest.approx(level["before"] * level["factor"])
        for query in level["queries"]:
            ratio = Fraction(query["after"]) / Fraction(query["before"])
            assert float(ratio) == pytest.approx(found["factor"])


def test_text_says_what_is_saved_and_its_price(discreet):
    result = discreet("calibrate", PRESET, "--zcdp", "--delta", "1e-10", "--jobs", 1, "--quiet")
    assert result.status == 0
    assert result.err == ""
    for words in ("std. dev.", "95 % margin", "-12.28 %", "less variance", "Proved:", "The price:"):
        assert words in result.out


def test_by_level_says_that_merged_levels_are_left_out(discreet, small):
    result = discreet("calibrate", small, "--zcdp", "--delta", "1e-6", "--by", "level", "--quiet")
    assert "merged levels are not covered" in " ".join(result.out.split())


def test_new_release_is_one_that_account_reads(discreet, small, tmp_path):
    new = tmp_path / "new.toml"
    result = discreet(
        "calibrate", small, "--epsilon", 8, "--delta", "1e-6", "--out", new, "--jobs", 1, "--json"
    )
    account = discreet("account", new, "--delta", "1e-6", "--certify", "--json").json
    assert result.json["epsilon"] == 8
    assert 7.999 < account["results"][0]["epsilon"] <= 8
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.toml", "small.toml"]


def test_certified_epsilon_and_plot(discreet, small, tmp_path):
    plot = tmp_path / "both.svg"
    arguments = ("--epsilon", 8, "--delta", "1e-6", "--certify", "--plot", plot, "--jobs", 1, "--json")
    box = discreet("calibrate", small, *arguments).json["certified_epsilon"]
    assert 7.999 < box["lower"] <= box["upper"] <= 8
    assert plot.read_bytes().startswith(b"<?xml")


@pytest.mark.slow
def test_levels_may_be_named_as_people_write_them(discreet):
    arguments = ("calibrate", "pl94-2020-units", "--delta", "1e-6", "--jobs", 1, "--json", "--moe")
    code, people = (discreet(*arguments, f"{name}=9").json for name in ("Block_Group", "block group"))
    assert [row["name"] for row in people["levels"] if row["factor"] != 1] == ["Block_Group"]
    assert {**code, "seconds": 0} == {**people, "seconds": 0}


def test_weights_share_the_gain(discreet, small):
    arguments = ("--zcdp", "--delta", "1e-6", "--weights", "State=1,County=2", "--jobs", 1, "--json")
    found = discreet("calibrate", small, *arguments).json
    state, county = (level["factor"] for level in found["levels"])
    assert county < state < 1
    assert county == pytest.approx(state**2, rel=2e-3)  # factors of four digits
    assert found["upper"] <= found["delta"]


def test_names_with_commas_and_equal_signs(discreet, tmp_path):
    odd = tmp_path / "odd.toml"
    odd.write_text(
        'name = "odd"\nneighbours = "unbounded"\n'
        '[[levels]]\nname = "A,B=C"\nqueries = { "t" = { variance = "4" } }\n'
        '[[levels]]\nname = "Región, größer"\nqueries = { "t" = { variance = "4" } }\n',
        encoding="utf-8",
    )
    wanted = "A,B=C=5,Región, größer=7/2"
    found = discreet("calibrate", odd, "--moe", wanted, "--delta", "1e-6", "--jobs", 1, "--json").json
    assert [level["queries"][0]["margins"][1] for level in found["levels"]] == [5, 3]


def test_by_level_claims_nothing_about_the_whole(discreet, small):
    arguments = ("--epsilon", 3, "--delta", "1e-6", "--by", "level", "--quiet")
    text = " ".join(discreet("calibrate", small, *arguments).out.split())
    assert "Each level alone keeps epsilon 3 at delta 1e-6." in text
    assert "The new release keeps" not in text


def test_margins_of_error(discreet, small):
    found = discreet("calibrate", small, "--moe", "State=5", "--delta", "1e-6", "--jobs", 1, "--json").json
    state, county = found["levels"]
    for query in state["queries"]:
        assert query["margins"][1] == 5
        assert GaussianNoise(variance=Fraction(query["after"]) * Fraction(1001, 1000)).margin() == 6
    assert county["factor"] == 1
    assert found["upper"] <= found["delta"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one target is needed: --epsilon E, --zcdp, --moe LEVEL=M,... or --risk LIMIT; none is given"),
        (["--epsilon", "2", "--zcdp"], "--epsilon and --zcdp are given"),
        (["--zcdp", "--weights", "Stat=1"], "no level 'Stat'; it has State, County"),
        (["--moe", "Stat=3"], "no level 'Stat'; it has State, County"),
        (["--zcdp", "--weights", "State"], "--weights has 'State'; it must be LEVEL=NUMBER"),
        (["--zcdp", "--weights", "=1"], "--weights has '=1'; it must be LEVEL=NUMBER"),
        (["--zcdp", "--weights", "State=1,"], "--weights has ''; it must be LEVEL=NUMBER"),
        (["--zcdp", "--weights", "State,County=1"], "no level 'State,County'; it has State, County"),
        (["--zcdp", "--weights", "State=1,State=2"], "names level 'State' twice"),
        (["--zcdp", "--weights", "State=0"], "it must be above zero"),
        (["--zcdp", "--weights", "State=1", "--by", "level"], "weights share one gain"),
        (["--moe", "State=wide"], "--moe of level 'State' is 'wide'"),
        (["--moe", "State=-1"], "it must be above zero"),
        (["--moe", "State=5", "--zcdp"], "--zcdp and --moe are given"),
        (["--moe", "State=5", "--epsilon", "3"], "--epsilon and --moe are given"),
        (["--moe", "State=5", "--by", "level"], "cannot be combined with"),
        (["--epsilon", "0"], "epsilon is 0"),
        (["--epsilon", "-1"], "epsilon is -1"),
        (["--zcdp", "--by", "county"], "overall"),
    ],
)
def test_what_cannot_be_used(refused, small, arguments, message):
    new = small.with_name("new.toml")
    assert message in refused("calibrate", small, "--delta", "1e-6", *arguments, "--out", new)
    assert not new.exists()


def test_delta_is_needed_and_checked(refused, small):
    assert "calibrate needs --delta D (The delta of the promise, such as 1e-10)" in refused(
        "calibrate", small, "--zcdp"
    )
    assert "0 or more, and less than 1" in refused("calibrate", small, "--zcdp", "--delta", "1")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere: run as another user")
def test_directory_that_is_not_writable(refused, small, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    line = refused("calibrate", small, "--zcdp", "--delta", "1e-6", "--out", closed / "new.toml")
    assert "cannot be written" in line


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no/new.toml", "there is no directory"),
        ("new.json", "its name must end in .toml"),
        ("folder.toml", "is a directory"),
    ],
)
def test_output_that_cannot_be_written(refused, small, tmp_path, monkeypatch, name, message):
    def work(*_, **__):
        raise AssertionError("the work has started")

    monkeypatch.setattr("discreet.promises.calibrating.calibrate", work)
    (tmp_path / "folder.toml").mkdir()
    before = sorted(tmp_path.iterdir())
    assert message in refused("calibrate", small, "--zcdp", "--delta", "1e-6", "--out", tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before


def test_accuracy_shortens_the_search_and_keeps_the_promise(discreet, small, refused):
    question = ("calibrate", small, "--epsilon", "6", "--delta", "1e-8", "--json")
    least, more = discreet(*question).json, discreet(*question, "--accuracy", "1e-2").json
    assert least["factor"] <= more["factor"] <= 1.02 * least["factor"]
    assert more["upper"] <= 1e-8
    assert "no search" in refused(
        "calibrate", small, "--moe", "State=5", "--delta", "1e-8", "--accuracy", "0.1"
    )


def test_laplace_scales_are_said_to_be_rounded_and_are_compared(discreet, tmp_path):
    old, new = tmp_path / "old.toml", tmp_path / "new.toml"
    head = 'name = "old"\nneighbours = "unbounded"\n[[levels]]\nname = "N"\n'
    old.write_text(head + '[levels.queries]\n"p" = { scale = "3" }\n')
    wanted = ("--epsilon", 1, "--delta", "1e-10")
    said = discreet("calibrate", old, *wanted, "--out", new, "--quiet").out
    assert "All squares of scales times" in said
    assert "scales rounded up to six digits" in " ".join(said.split())
    (query,) = discreet("calibrate", old, *wanted, "--json").json["levels"][0]["queries"]
    q = math.exp(-1 / 3)
    assert query["before"] == f"{2 * q / (1 - q) ** 2:.12g}"  # a decimal: the variance is no fraction
    (row,) = discreet("compare", old, new, "--delta", "1e-10", "--json").json["variances"]
    assert (row["a"], row["b"]) == (query["before"], query["after"])


def test_the_release_that_is_read_is_not_overwritten(refused, small):
    before = small.read_bytes()
    said = refused("calibrate", small, "--epsilon", 4, "--delta", "1e-5", "--out", small)
    assert "the release that is read; choose another name" in said
    assert small.read_bytes() == before


def test_a_promise_is_not_rounded_down(discreet, small):
    # epsilon 0.333333 at delta 0.000333333 would be more than was proved
    text = discreet("calibrate", small, "--epsilon", "1/3", "--delta", "1/3000", "--jobs", 1).out
    assert "for epsilon 0.33333334 at delta 1/3000." in " ".join(text.split())


def test_ends_of_proofs_are_rounded_outward(discreet, small):
    found = calibrate(load(small), epsilon=8, delta="1e-6")
    ends = describe(found).objects
    assert Fraction(ends["lower"]) <= found.proof.lower < found.proof.upper <= Fraction(ends["upper"])
    arguments = ("--epsilon", 8, "--delta", "1e-6", "--certify", "--jobs", 1, "--json")
    shown = discreet("calibrate", small, *arguments).json["certified_epsilon"]
    box = account(found.release).epsilon(delta="1e-6", certified=True)
    assert Fraction(shown["lower"]) <= box.lower < box.upper <= Fraction(shown["upper"])
