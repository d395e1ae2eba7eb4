"""The page in plain words: true, and each sentence with its adversary and what it leaves out."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

import pytest

from discreet.answers import Quantity, Rounding, Style
from discreet.answers.risk import (
    advantage_of,
    belief_of,
    belief_sentence,
    luck_sentence,
    right_of,
    right_percent,
)
from discreet.budget import Release, load
from discreet.cli import run
from discreet.disclosure import RiskProfile, explain_profile, risk, risk_profile


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
    (said,) = re.findall(r"one person: right at most \*([\d.]+) times in 100\* instead of 50", page)
    assert 100 * bound <= float(said) < 100 * bound + 0.1
    # the design note's 0.563, block
    assert "is right 56.28 times in 100 from the count that tells most at even odds" in page
    for line in page.splitlines():
        if "times in 100" in line:
            assert "omeone who" in line, line


def test_no_sentence_claims_all_knowledge(even: RiskProfile) -> None:
    # false for people who move together, and for what invariants tell
    page = explain_profile(even)
    assert "whatever they know" not in page
    assert "no one" not in page.lower()
    assert "This leaves out records that change together" in page.partition("## In short")[0]
    for sentence in short(page):
        assert "leaves out records that change together" in sentence or "other count is left out" in sentence
    assert "ask for `discreet risk explain --people 2`" in page
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
    *_, one = short(explain_profile(even))
    assert f"sees only the state's count (total) is right {100 * worst.accuracy:.2f} times in 100" in one


def test_low_priors_lead_with_what_changes() -> None:
    profile = risk_profile(load("pl94-2020-persons"), prior="1/864")
    (row,) = profile.overall
    page = explain_profile(profile)
    first, second, one = short(page)
    assert first.startswith(
        "- *What changes.* If the target is present, someone who knows every other record"
    )
    said = re.search(r"a probability of at most ([\d.]+) on average, ([\d.]+) times the prior", first)
    assert said is not None
    for text, value in zip(said.groups(), (row.expected, row.ratio), strict=True):
        assert value <= float(text) < 1.01 * value  # a bound, rounded up
    assert "names 3.1 in 100 of those who are, and is right 66 times in 100" in second
    assert "2.28 times the prior" in one
    assert "times in 100" not in one
    assert "one of them given a chance of 1 in 864: right at most *99." in page
    assert "instead of 99.88 with nothing published, whatever the method." in page
    assert "known" not in page.partition("## In short")[0].replace("know", "")  # compared at even odds alone


def test_an_incomplete_profile_claims_no_bound() -> None:
    page = explain_profile(risk_profile(load("pl94-2020-persons"), prior="1/10", pairs="main"))
    assert "this is not a bound" in page
    assert "at most" not in short(page)[0]
    assert "on the main path; others were not looked at" in page
    assert "a chance of 1 in 10" in page


@pytest.mark.parametrize("pairs", ["all", "main"])
def test_a_belief_is_written_alike_everywhere_and_never_below_it(pairs: Literal["all", "main"]) -> None:
    profile = risk_profile(load("pl94-2020-persons"), prior="1/10", pairs=pairs)
    (row,) = profile.overall
    said = re.search(
        r"probability of (?:at most )?(\S+) on average, (\S+) times", str(belief_sentence(profile))
    )
    assert said is not None
    assert said[1] == str(belief_of(row, row.expected))
    assert row.expected <= float(said[1]) < 1.001 * row.expected
    assert row.ratio <= float(said[2]) < 1.01 * row.ratio  # of the main path alone it was 0.999999999999
    assert f"| {belief_of(row, row.expected)} |" in explain_profile(profile)


def one_level(noise: str, neighbours: str = "unbounded") -> Release:
    """One count of one level."""
    return Release.from_toml(
        f"""
        name = "one"
        neighbours = "{neighbours}"
        [[levels]]
        name = "Nation"
        queries = {{ "persons" = {{ {noise} }} }}
        """
    )


@pytest.mark.parametrize("prior", ["1/5", "1/100", "1/2"])
def test_beliefs_are_true_where_the_loss_has_atoms(prior: str) -> None:
    # Laplace, scale 1: the loss is -1 with probability 0.269 and 1 with 0.731, and nothing else
    page = explain_profile(risk_profile(one_level("scale = 1"), prior=prior))
    odds = float(Fraction(prior) / (1 - Fraction(prior)))
    values = [odds * math.exp(loss) / (1 + odds * math.exp(loss)) for loss in (-1, 1)]
    chances = [1 / (1 + math.e), math.e / (1 + math.e)]
    (said,) = set(
        re.findall(
            r"it is ([\d.]+) or less for at least one such target in twenty, ([\d.]+) or less for at least "
            r"half of them, and ([\d.]+) or less for at least 95 in 100",
            page,
        )
    )
    for text, share in zip(said, (0.05, 0.5, 0.95), strict=True):
        assert sum(c for v, c in zip(values, chances, strict=True) if v <= float(text)) >= share
    # nobody is ever surer than this, so that luck is bounded
    (most,) = re.findall(r"never gives a probability of more than ([\d.]+): this noise bounds it", page)
    assert values[1] <= float(most) < 1.01 * values[1]
    assert most == said[2]  # the largest belief is the 95 % quantile here: in as many digits
    assert "nothing bounds that" not in page


def test_luck_is_unbounded_with_gaussian_noise(even: RiskProfile) -> None:
    assert "may be far surer; nothing bounds that" in explain_profile(even)
    assert "may be far surer; nothing bounds that" in str(
        luck_sentence(risk_profile(one_level("variance = 2"), prior="1/2"))
    )


@pytest.mark.parametrize("chance", [0.5, 0.56277, 0.9424, 0.99951, 0.999999999, 0.012, 1e-6, 0.58970001])
def test_an_upper_bound_is_never_rounded_down(chance: float) -> None:
    assert float(str(Quantity(chance, Style.TIMES, Rounding.UP)).split()[0]) >= 100 * chance - 1e-9


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


def test_the_advantage_and_the_ratio_of_bounds_are_rounded_up_too() -> None:
    # 0.280113 was printed as 0.2801, and 1.2702 times the prior as 1.27
    profile = risk_profile({"Block_Group": "0.2465", "Block": "0.0992"}, prior="1/2")
    rows = re.findall(r"^\| [^|]+ \| [\d.]+ \| ([\d.]+) \|", explain_profile(profile), flags=re.MULTILINE)
    for said, row in zip(rows, profile.rows, strict=True):
        gap = float(said) - row.advantage
        assert abs(gap) <= 5e-5 if row in profile.one_count else -1e-12 <= gap < 1e-4
    lopsided = risk_profile({"Block_Group": "0.2465", "Block": "0.0992"}, prior="1/10")
    said = re.findall(
        r"gives it at most \S+ on average from all counts of this level, (\S+) times",
        explain_profile(lopsided),
    )
    for text, row in zip(said, lopsided.levels, strict=True):
        assert row.ratio * (1 - 1e-12) <= float(text) < 1.01 * row.ratio


def test_one_count_is_never_said_to_tell_more_than_everything() -> None:
    # right 100.00 times in 100 from one count, at most 99.99991 from everything
    one, every, whole = risk_profile({"Block": "0.0992"}, prior="0.999999").rows
    assert [str(right_percent(row)) for row in (one, every, whole)] == ["99.9999"] * 3
    assert [str(right_of(row)) for row in (one, every, whole)] == ["0.999999"] * 3
    sure = risk_profile({"Block": "12"}, prior="1/2").one_count[0]
    assert sure.advantage < 1 - 1e-6
    assert float(str(advantage_of(sure))) < 1


def test_large_ratios_and_shares_are_written_out() -> None:
    # they read "1.6e+2 times the prior", "1e+03 times" and "names 1e+02 in 100"
    page = explain_profile(risk_profile({"Block": 5}, prior="1/3000"))
    assert "160 times the prior" in page
    sure = explain_profile(risk_profile({"Block": 5000}, prior="1/3000"))
    assert "3,000 times the prior" in sure
    assert "names 100 in 100 of those who are" in sure
    near = explain_profile(risk_profile({"Block": 10}, prior="1/864"))
    assert re.search(r"names 99\.\d+ in 100 of those who are", near)
    for text in (page, sure, near):
        assert not re.search(r"\de\+\d", text)


def test_names_and_near_certainty_read_well() -> None:
    page = explain_profile(risk_profile({"STATE, *": "7"}, prior="1/2"))
    assert r'in the area of "State, \*"' in page  # an unescaped star would start an emphasis
    assert "sees only the area's count is right" in page
    groups = explain_profile(risk_profile({"Block_Group": "0.2"}, prior="1/2"))
    assert "*Block group.* Someone who knows everyone else in the block group" in groups
    units = explain_profile(risk_profile(load("pl94-2020-units"), prior="1/2", pairs="main"))
    assert "knows every other housing unit in the block" in units
    assert "everyone else" not in units


def test_the_command_says_what_changes_at_low_priors_and_for_each_attribute(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["risk", "explain", "pl94-2020-persons", "--prior", "1/2", "--main-only", "--quiet"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "gives each target a chance of 1 in 100" in page
    assert "accuses 1 in 10,000 of those who are not there finds 7.25 % of those who are" in page
    assert "which of 2,016 equally likely sets of values" in page
    assert re.search(r"- cenrace: .*\(epsilon 9\.6\d+ at delta 1e-10", page)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.md"
    assert run(["risk", "explain", "sdhc-2020", "--prior", "1/2", "--out", str(out), "--quiet"]) == 0
    page = out.read_text()
    assert page.startswith("# What can be learned about one household from sdhc-2020")
    assert "one household replaced by another" in page
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


def test_a_page_about_several_people_and_one_about_a_part() -> None:
    profile = risk_profile(load("dhc-2022-08-25"), prior="1/2", people=2)
    page = explain_profile(profile)
    assert "the one case of 2 persons added or removed" in page
    assert "If they are, the target is *present*." in page
    assert "is right at most" in page.partition("## Level by level")[2]
    part = explain_profile(replace(profile, modelled=False)).partition("## Level by level")[2]
    assert "is right at most" not in part  # more may be published at a level than is modelled


TINY = """
name = "tiny"
neighbours = "{}"
[attributes]
sex = ["f", "m"]
[[levels]]
name = "State"
queries = {{ total = {{ variance = 2 }}, sex = {{ variance = 4 }} }}
[[levels]]
name = "Block"
queries = {{ detailed = {{ variance = 4 }} }}
"""


def explained(tmp_path: Path, capsys: pytest.CaptureFixture[str], relation: str, *more: str) -> dict:
    file = tmp_path / f"{relation}.toml"
    file.write_text(TINY.format(relation))
    assert run(["risk", "explain", str(file), "--json", *more]) == 0
    return json.loads(capsys.readouterr().out)


def test_counts_held_exact_are_named_with_what_they_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = explained(tmp_path, capsys, "bounded", "--held-exact", "State:total")
    assert found["held_exact"] == ["State:total"]
    rows = {row["what"]: row for row in found["changed_by_exact_counts"]}
    release = Release.from_toml(TINY.format("bounded"))
    for name, exact in (("all_data_sets", ()), ("those_that_agree", ("State:total",))):
        whole = risk(release, prior="1/2", exact=exact, false_positive_rates=["1e-4"])
        for what, value in (
            ("right decisions, prior 0.5", whole.profile.overall[0].accuracy),
            ("found, 1 in 10,000 wrongly accused", whole.detections[0].true_positive_rate),
            ("guess one of 2", whole.guesses[0].after),
            ("epsilon of sex", whole.attributes[0].epsilon),
        ):
            assert rows[what][name] == pytest.approx(value, rel=1e-6), what
    assert (
        rows["right decisions, prior 0.5"]["those_that_agree"]
        < 0.99 * (rows["right decisions, prior 0.5"]["all_data_sets"])
    )
    page = found["page"]
    assert "Held exact: total of each state." in page
    assert "## What the exact counts change" in page
    assert "Beside State:total, anything published without noise" in page
    assert "and what is published without noise" not in page
    plain = explained(tmp_path, capsys, "bounded")
    assert "held_exact" not in plain
    assert "exact counts" not in plain["page"]


def test_an_exact_total_tells_whether_a_record_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = explained(tmp_path, capsys, "unbounded", "--held-exact", "State:total")
    assert "in the data: *right every time*, from any prior" in found["page"]
    assert found["best_guess"]["right"] == 1
    assert "wrongly" not in " ".join(short(found["page"]))  # nobody has to accuse wrongly
    rows = {row["what"]: row for row in found["changed_by_exact_counts"]}
    assert rows["right decisions, prior 0.5"]["those_that_agree"] == 1


def test_what_cannot_be_held_exact_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tiny.toml"
    file.write_text(TINY.format("bounded"))
    assert run(["risk", "explain", str(file), "--held-exact", "County:total"]) == 2
    assert "tiny has the levels State, Block" in capsys.readouterr().err
