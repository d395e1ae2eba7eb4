"""The page in plain words: true, and each sentence with its adversary and what it leaves out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from discreet.budget import load
from discreet.cli import run
from discreet.numbers import times
from discreet.risk.profile import RiskProfile, explain_profile, risk_profile


@pytest.fixture(scope="module")
def even() -> RiskProfile:
    return risk_profile(load("pl94-2020-persons"), prior="1/2")


def short(page: str) -> list[str]:
    """The sentences under "In short"."""
    return re.findall(
        r"^- .*", page.partition("## In short")[2].partition("## Level by level")[0], re.MULTILINE
    )


def test_the_page_says_what_the_profile_says(even: RiskProfile) -> None:
    page = explain_profile(even)
    bound = even.overall[0].accuracy
    (said,) = re.findall(r"sees everything published is right at most ([\d.]+) times in 100", page)
    assert 100 * bound <= float(said) < 100 * bound + 0.1
    # the design note's 0.563, block
    assert "is right 56 times in 100 from its most informative count" in page
    for line in page.splitlines():
        if "times in 100" in line:
            assert "omeone who" in line, line


def test_no_sentence_claims_all_knowledge(even: RiskProfile) -> None:
    # false for people who move together, and for what invariants tell
    page = explain_profile(even)
    assert "whatever they know" not in page
    assert "no one" not in page.lower()
    for sentence in short(page)[1:]:
        assert "leaves out records that change together" in sentence or "other count is left out" in sentence
    assert "ask for `--people 2`" in page
    assert "Invariants." in page


def test_people_who_move_together_are_at_more_risk(even: RiskProfile) -> None:
    two = risk_profile(load("pl94-2020-persons"), prior="1/2", people=2)
    # the printed 0.871 for one record is 0.988 for two that move together
    assert even.overall[0].accuracy == pytest.approx(0.8709, abs=5e-5)
    assert two.overall[0].accuracy == pytest.approx(0.9881, abs=5e-5)
    page = explain_profile(two)
    assert page.startswith("# What can be learned about 2 records that change together")
    assert "`--people 2`" not in page


def test_in_short_takes_the_worst_level(even: RiskProfile) -> None:
    # the state's total tells most, and the block, which comes last, least but one
    worst = max(even.one_count, key=lambda row: row.accuracy)
    assert worst.scope == "State"
    assert even.one_count[-1].scope == "Block"
    one = short(explain_profile(even))[1]
    assert f"sees only the state's count (total) is right {times(worst.accuracy)}" in one


def test_low_priors_lead_with_what_changes() -> None:
    profile = risk_profile(load("pl94-2020-persons"), prior="1/864")
    (row,) = profile.overall
    first, second, one, nothing, last = short(explain_profile(profile))
    assert first.startswith(
        "- *What changes.* If the target is present, someone who knows every other record"
    )
    assert f"at most {row.expected:.3g} on average, {row.ratio:.3g} times the prior" in first
    assert "names 3.1 in 100 of those who are, and is right 66 times in 100" in second
    assert "2.28 times the prior" in one
    assert "times in 100" not in one
    assert "right 99.88 times in 100" in nothing
    assert "whatever the method" in last


def test_an_incomplete_profile_claims_no_bound() -> None:
    page = explain_profile(risk_profile(load("pl94-2020-persons"), prior="1/10", pairs="main"))
    assert "this is not a bound" in page
    assert "at most" not in short(page)[0]
    assert "on the main path; others were not looked at" in page
    assert "a chance of 1 in 10" in page


@pytest.mark.parametrize("chance", [0.5, 0.56277, 0.9424, 0.99951, 0.999999999, 0.012, 1e-6, 0.58970001])
def test_an_upper_bound_is_never_rounded_down(chance: float) -> None:
    assert float(times(chance, upper=True).split()[0]) >= 100 * chance - 1e-9


def test_rows_of_bounds_are_rounded_up_and_attacks_are_not() -> None:
    profile = risk_profile({"Block_Group": "0.2465", "Block": "0.0992"}, prior="1/2")
    page = explain_profile(profile)
    rows = re.findall(r"^\| ([^|]+) \| ([\d.]+) \|", page, flags=re.MULTILINE)
    assert len(rows) == 5
    for (_, said), row in zip(rows, profile.rows, strict=True):
        if row in profile.one_count:
            assert float(said) == pytest.approx(100 * row.accuracy, abs=0.005)
        else:
            assert 100 * row.accuracy <= float(said) < 100 * row.accuracy + 0.01


def test_names_and_near_certainty_read_well() -> None:
    page = explain_profile(risk_profile({"STATE, *": "7"}, prior="1/2"))
    assert r'in the area of "State, \*"' in page  # an unescaped star would start an emphasis
    assert "sees only the area's count is right" in page
    groups = explain_profile(risk_profile({"Block_Group": "0.2"}, prior="1/2"))
    assert "*Block group.* Someone who knows everyone else in the block group" in groups
    units = explain_profile(risk_profile(load("pl94-2020-units"), prior="1/2", pairs="main"))
    assert "knows every other housing unit in the block" in units
    assert "everyone else" not in units


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.md"
    assert run(["risk", "explain", "sdhc-2020", "--prior", "1/2", "--out", str(out), "--quiet"]) == 0
    page = out.read_text()
    assert page.startswith("# What can be learned about one person from sdhc-2020")
    assert "one person added or removed" in page
    capsys.readouterr()
    assert run(["risk", "explain", "pl94-2020-persons", "--json", "--main-only"]) == 0
    assert json.loads(capsys.readouterr().out)["is_bound"] is False


def test_command_refuses(tmp_path: Path) -> None:
    for arguments in (
        ["pl94-2020-persons", "--prior", "1"],
        ["pl94-2020-persons", "--people", "0"],
        ["pl94-2020-persons", "--out", str(tmp_path / "a.doc")],
        ["pl94-2020-persons", "--json", "--out", str(tmp_path / "a.md")],
        ["no-such-preset"],
    ):
        assert run(["risk", "explain", *arguments]) == 2
    assert list(tmp_path.iterdir()) == []
