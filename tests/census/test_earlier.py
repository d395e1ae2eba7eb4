"""Groups that could be total-only, from an earlier count: against draws, and what is said of the count."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from math import exp, fsum
from pathlib import Path

import pytest
from safetab_params import write_params

from discreet.census.mechanism.configuration import Configuration
from discreet.census.mechanism.groups import Specification
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.earlier import total_only_groups
from discreet.census.safetab.specification import read_specification
from discreet.cli import run
from discreet.errors import InputError


@pytest.fixture
def plan(tmp_path: Path) -> tuple[Configuration, Specification]:
    """Thresholds of 10 at USA, STATE, COUNTY; groups 11, 21 and 31 have two stages, 12 and 22 do not."""
    params = write_params(tmp_path, run_pr=False)
    found = read_configuration(params)
    budgets = {
        place: budget if place in (("USA", 2), ("STATE", 2), ("COUNTY", 2)) else Fraction(0)
        for place, budget in found.budgets.items()
    }
    return replace(found, budgets=budgets), read_specification(params)


HEAD = "REGION_ID|REGION_TYPE|ITERATION_CODE|COUNT"
ROWS = ["1|USA|11|4", "01|STATE|11|3", "02|STATE|11|1", "01001|COUNTY|11|2", "01003|COUNTY|11|9"]
ROWS += ["1|USA|21|12", "01|STATE|21|8", "1|USA|31|-3", "1|USA|12|1", "01|STATE|32|1"]


def write(folder: Path, rows: list[str], head: str = HEAD, name: str = "t1.csv") -> Path:
    (folder / name).write_text("\n".join([head, *rows]) + "\n")
    return folder / name


def below(variance: float, limit: int) -> float:
    """P[N < limit], N discrete Gaussian."""
    weights = {x: exp(-x * x / (2 * variance)) for x in range(-400, 401)}
    return fsum(p for x, p in weights.items() if x < limit) / fsum(weights.values())


def test_chances_are_those_of_the_first_stage(
    tmp_path: Path, plan: tuple[Configuration, Specification]
) -> None:
    found = total_only_groups(*plan, write(tmp_path, ROWS), sure="0.3")
    # stability 3, rho 1/2, gamma 1/10: variances 30 and 10/3; below the states 4, so 40 and 40/9
    wanted = {
        "11": below(30, 10 - 4) * below(30, 10 - 3) * below(30, 10 - 1),
        "31": below(30, 10),
    }
    assert {one.group.code: one.chance for one in found.groups} == pytest.approx(wanted)
    assert (found.judged, found.unknown) == (3, 0)
    groups = {one.group.code: one for one in found.groups}
    assert (groups["11"].largest, groups["31"].largest) == (4, 0)
    # below the states: two counties, each kept unless the first stage gives a total and it is not above T
    cut = next(x for x in range(100) if below(40 / 9, x + 1) >= 0.99)
    kept = sum(1 - below(40, 10 - size) * below(40 / 9, cut - size + 1) for size in (2, 9))
    assert (groups["11"].below, groups["31"].below) == (2, 0)
    assert groups["11"].kept == pytest.approx(kept)
    gain = found.gains[0]
    assert (gain.place, gain.variance, gain.variance_total_only) == (("USA", 2), pytest.approx(10 / 3), 3.0)
    surer = total_only_groups(*plan, tmp_path / "t1.csv")
    assert [one.group.code for one in surer.groups] == ["31"]


def test_a_margin_of_error_counts_against_the_group(
    tmp_path: Path, plan: tuple[Configuration, Specification]
) -> None:
    rows = [f"{row}|5" for row in ROWS]
    found = total_only_groups(*plan, write(tmp_path, rows, HEAD + "|MOE95"), sure="0.1")
    chances = {one.group.code: one.chance for one in found.groups}
    assert chances["31"] == pytest.approx(below(30, 10 - 5))


def test_groups_without_an_earlier_count_are_not_judged(
    tmp_path: Path, plan: tuple[Configuration, Specification]
) -> None:
    # the count of the nation is missing, and a group is not known
    rows = ["01|STATE|11|0", "1|USA|31|0", "1|USA|999|5"]
    found = total_only_groups(*plan, write(tmp_path, rows, name="t1.NOT-PRIVATE.csv"))
    assert [one.group.code for one in found.groups] == ["31"]
    assert found.unknown == 2
    assert found.notes == (
        "1 groups of t1.NOT-PRIVATE.csv are not in the specification",
        "t1.NOT-PRIVATE.csv is NOT PRIVATE: a list made from it tells about its records",
    )


def test_both_passes_must_agree(tmp_path: Path) -> None:
    params = write_params(tmp_path)
    plan = read_configuration(params), read_specification(params)
    rows = ["1|USA|11|0", "01|STATE|11|0"]
    assert total_only_groups(*plan, write(tmp_path, rows)).groups == ()
    rows += ["72|PR-STATE|11|0"]
    (found,) = total_only_groups(*plan, write(tmp_path, rows), sure="0.8").groups
    assert found.chance == pytest.approx(below(30, 10) ** 3)


@pytest.mark.parametrize(
    ("rows", "head", "text"),
    [
        (["1|USA|999|5"], HEAD, "t1.csv has no group of this specification"),
        (["1|USA|11|x"], HEAD, r"COUNT is not a whole number \(line 2 of t1.csv, field COUNT\)"),
        (["1|USA|11|"], HEAD, r"COUNT is not a whole number \(line 2 of t1.csv, field COUNT\)"),
        (["1|USA||5"], HEAD, r"a text is missing \(line 2 of t1.csv, field ITERATION_CODE\)"),
        (["1|USA|11|5|"], HEAD + "|MOE95", r"MOE95 is not a whole number \(line 2 of t1.csv"),
        (["1|USA|11"], HEAD.removesuffix("|COUNT"), "t1.csv has no column COUNT"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, plan: tuple[Configuration, Specification], rows: list[str], head: str, text: str
) -> None:
    with pytest.raises(InputError, match=text):
        total_only_groups(*plan, write(tmp_path, rows, head))


def test_bad_settings(tmp_path: Path, plan: tuple[Configuration, Specification]) -> None:
    with pytest.raises(InputError, match="sure is 1; it must be above 0 and below 1"):
        total_only_groups(*plan, write(tmp_path, ROWS), sure=1)
    county = {
        place: budget * (place[0] == "COUNTY")
        for place, budget in plan[0].budgets.items()
        if budget is not None
    }
    with pytest.raises(InputError, match="none could be total-only"):
        total_only_groups(replace(plan[0], budgets=county), plan[1], write(tmp_path, ROWS))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    params = write_params(tmp_path, run_pr=False)
    call = ["safetab", "design", str(params), "--levels", "USA:2,COUNTY:2", "--quiet"]
    call += ["--earlier", str(write(tmp_path, ROWS))]
    assert run([*call, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["total_only"]
    assert [one["group"] for one in found["groups"]] == ["31"]
    assert found["gains"][0]["variance_total_only"] == 3.0
    assert run(call) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Total only: 1 of 3 groups would get no table by sex and age in the nation or any state" in said
    assert "t1.csv must be public, or already paid for" in said
