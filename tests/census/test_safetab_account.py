"""The account of a run: against the presets, closed forms, and paths built by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from math import comb, exp
from pathlib import Path
from typing import Any

import pytest
from safetab_facts import groups_of_safetab
from safetab_params import config, write_params
from safetab_toy import SPEC_2020, TOY

from discreet.accounting.account import account as account_release
from discreet.accounting.privacy_loss import compose
from discreet.budget import DiscreteGaussian, DiscreteLaplace, load
from discreet.census.mechanism.groups import Iteration
from discreet.census.safetab.account import (
    SMOOTH,
    account,
    account_pass,
    budget_release,
    exact_account,
    most_total_only,
)
from discreet.census.safetab.census2020 import configuration_2020
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.specification import read_specification
from discreet.cli import run


def test_production_totals_and_exact_epsilons() -> None:
    configuration, specification = read_configuration(SPEC_2020), read_specification(SPEC_2020)
    both = {which: load(preset) for which, preset in (("US", "ddhca-2020"), ("PR", "ddhca-2020-pr"))}
    # production spends 4.944 (US) and 2.643 (PR), add/remove. Replaced: twice the first; a resident of Puerto
    # Rico whose place a resident of the United States takes meets 2.643 + 4.944
    for which, total, replaced in (("US", "4.944", "9.888"), ("PR", "2.643", "7.587")):
        found = account_pass(configuration, specification, which, deltas=["1e-10"])  # type: ignore[arg-type]
        assert found.total_for("unbounded") == Fraction(total)
        assert found.total_for("bounded") == Fraction(replaced)
        assert found.replacing == "US"
        assert found.claim.kind == "bound"  # small groups are dropped
        release = both[which]
        own = release.path_events(release.main)
        comes = both["US"].path_events(both["US"].main)
        costs = {cost.neighbours: cost for cost in found.costs}
        for relation, events in (("unbounded", own), ("bounded", (*own, *comes))):
            exact = compose(events).epsilon(delta="1e-10")
            assert costs[relation].epsilon == pytest.approx(exact, rel=1e-12)
            assert exact < costs[relation].converted
        made = budget_release(configuration, specification, which)  # type: ignore[arg-type]
        assert made.path_events(made.main) == own
        assert made.rho == Fraction(total)
        assert made.claim.kind == "bound"


def test_a_ledger_does_not_claim_more_than_two_stages_say() -> None:
    """A person in total-only groups of one geography can cost more than the release of the ledger says."""
    one = Iteration(code="1", name="", level=2, kind="alone", total_only=True)
    groups = [one, replace(one, code="2", kind="combination")]
    both = groups_of_safetab(iterations=tuple(groups), codes={"a": "A"}, mapped={"a": ("1", "2")})
    of_2020 = configuration_2020()
    budgets = {place: Fraction(place == ("STATE", 2)) for place in of_2020.budgets}
    few = replace(of_2020, budgets=budgets, passes=("US",), max_race_codes=1)
    release = budget_release(few, both, "US")
    exact = exact_account(few, both, "US", "unbounded").epsilon(delta="1e-5")
    assert exact > account_release(release).epsilon(delta="1e-5") + 0.01
    assert release.claim.kind == "model"
    assert "one, which may cost a little more" in release.claim.reasons[-1]
    alone = replace(both, iterations=tuple(replace(one, total_only=False) for one in groups))
    assert budget_release(few, alone, "US").claim.kind == "exact"


def test_a_resident_of_the_other_pass_may_take_the_place(tmp_path: Path) -> None:
    """By hand: one geography each, no total-only groups below the states, one code and an origin."""
    names = ("usa", "state", "tract", "place", "aiannh", "pr_state", "pr_tract", "pr_place")
    spends = {f"privacy_budget_p_level_2_{name}": 0 for name in names}
    spends |= {"privacy_budget_p_level_2_county": 0.5, "privacy_budget_p_level_2_pr_county": 2}
    params = write_params(tmp_path, **spends, zero_suppression_chance=0)
    us, pr = account(params, deltas=["1e-6"], neighbours=("bounded",)).passes
    stable = {one.which: one.mechanisms[0].stability.value for one in (us, pr)}
    events = {
        which: [
            DiscreteGaussian(variance=Fraction(stable[which]) / (2 * share * rho), times=stable[which])
            for share in (Fraction(1, 10), Fraction(9, 10))
        ]
        for which, rho in (("US", Fraction(1, 2)), ("PR", Fraction(2)))
    }
    assert (us.replaced, us.replacing) == (Fraction(5, 2), "PR")
    assert (pr.replaced, pr.replacing) == (4, "PR")
    for one, pair in ((us, ("US", "PR")), (pr, ("PR", "PR"))):
        wanted = compose([event for which in pair for event in events[which]]).epsilon(delta="1e-6")
        assert one.costs[0].epsilon == pytest.approx(wanted, rel=1e-9)
        assert one.claim.kind == "exact"  # nothing is dropped
    alone = account(write_params(tmp_path, **spends, run_us=False), deltas=["1e-6"], neighbours=("bounded",))
    assert [(one.which, one.replaced) for one in alone.passes] == [("PR", 4)]


def test_what_less_noise_would_do() -> None:
    found, _ = account(SPEC_2020, deltas=["1e-10"], neighbours=("unbounded",)).passes
    (cost,) = found.costs
    assert cost.reduction == pytest.approx(0.11456, abs=1e-6)  # `discreet calibrate ddhca-2020 --zcdp`


def test_infinite_budgets_are_no_privacy() -> None:
    for found in account(TOY).passes:
        assert found.total is None
        assert found.costs == ()
        assert len(found.infinite) == len(found.mechanisms)


def test_one_infinite_budget_is_enough(tmp_path: Path) -> None:
    params = write_params(tmp_path, privacy_budget_p_level_2_tract=float("inf"))
    us, pr = account(params, deltas=["1e-6"]).passes
    assert us.total is None
    assert [(part.geography, part.level) for part in us.infinite] == [("TRACT", 2)]
    assert pr.total == 2  # four geographies of a half each
    assert pr.replaced is None  # by a resident of the United States, whose tract is published as it is
    assert {cost.neighbours for cost in pr.costs} == {"unbounded"}


SMALL: dict[str, Any] = {
    f"privacy_budget_p_level_2_{name}": 0
    for name in ("state", "county", "tract", "place", "aiannh", "pr_county", "pr_tract", "pr_place")
}


def test_every_number_of_total_only_groups_is_tried(tmp_path: Path) -> None:
    params = write_params(tmp_path, privacy_budget_p_level_2_usa=9, max_race_codes=2, **SMALL)
    configuration, specification = read_configuration(params), read_specification(params)
    # two codes and an ethnicity: three groups, up to two of which (Southern) are total only
    assert most_total_only(configuration, specification, "USA", 2) == 2
    single, one, two = Fraction(3, 18), Fraction(3 * 10, 18), Fraction(3 * 10, 18 * 9)
    for relation, people in (("unbounded", 1), ("bounded", 2)):
        by_hand = []
        for many in range(2 * people + 1):
            rest = 3 * people - many
            events = [DiscreteGaussian(variance=v, times=rest) for v in (one, two)]
            if many:
                events.append(DiscreteGaussian(variance=single, times=many))
            by_hand.append(float(compose(events).epsilon(delta="1e-6")))
        assert max(by_hand) - min(by_hand) > 1e-3  # it does matter here
        found = exact_account(configuration, specification, "US", relation)  # type: ignore[arg-type]
        assert found.epsilon(delta="1e-6") == pytest.approx(max(by_hand), rel=1e-9)


@pytest.mark.parametrize("variance", [SMOOTH, 4 * SMOOTH])
def test_between_none_and_all_total_only_groups_nothing_changes(variance: int) -> None:
    """Nine groups of one level by itself: one count each of this variance, or two that share its rho.

    All with one count lie on a single lattice, and epsilon differs; the mixtures need not be compared.
    """
    stages = [Fraction(variance) / share for share in (Fraction(1, 10), Fraction(9, 10))]
    values = []
    for single in range(10):
        events = [DiscreteGaussian(variance=v, times=9 - single) for v in stages if single < 9]
        if single:
            events.append(DiscreteGaussian(variance=variance, times=single))
        values.append(float(compose(events).epsilon(delta="1e-10")))
    assert max(abs(value - values[0]) for value in values[:-1]) < 1e-7
    assert abs(values[-1] - values[0]) > 1e-4


def test_less_noise_keeps_the_promise_for_everybody(tmp_path: Path) -> None:
    params = write_params(tmp_path, privacy_budget_p_level_2_usa=9, max_race_codes=2, run_pr=False, **SMALL)
    configuration, specification = read_configuration(params), read_specification(params)
    found = account_pass(configuration, specification, "US", deltas=["1e-6"], neighbours=("unbounded",))
    (cost,) = found.costs
    assert cost.reduction is not None
    for share, kept in ((cost.reduction, True), (cost.reduction + 1e-3, False)):
        budgets = {**configuration.budgets, ("USA", 2): Fraction(9) / (1 - Fraction(round(share, 6)))}
        less = replace(configuration, budgets=budgets)
        epsilon = exact_account(less, specification, "US", "unbounded").epsilon(delta="1e-6")
        assert (epsilon <= cost.converted + 1e-9) is kept


def test_pure_privacy_is_worst_for_total_only_groups(tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        **SMALL,
        "privacy_budget_p_level_2_usa": 3,
        "max_race_codes": 2,
        "privacy_defn": "puredp",
    }
    params = write_params(tmp_path, **changes)
    configuration, specification = read_configuration(params), read_specification(params)
    values = []
    for single in range(3):
        events = [
            DiscreteLaplace(scale=10, times=3 - single),
            DiscreteLaplace(scale=Fraction(10, 9), times=3 - single),
        ]
        if single:
            events.append(DiscreteLaplace(scale=1, times=single))
        values.append(float(compose(events).epsilon(delta="1e-3")))
    assert values == sorted(values)
    found = exact_account(configuration, specification, "US", "unbounded")
    assert found.epsilon(delta="1e-3") == pytest.approx(values[-1], rel=1e-9)
    whole = account_pass(configuration, specification, "US", deltas=["1e-3"], neighbours=("unbounded",))
    assert whole.total == 3
    assert whole.costs[0].converted == 3
    assert whole.costs[0].reduction is None
    release = budget_release(configuration, specification, "US")
    assert account_release(release).epsilon(delta="1e-3") == pytest.approx(values[-1], rel=1e-9)


def test_pure_privacy_against_the_binomial(tmp_path: Path) -> None:
    """Without total-only groups and with one stage nearly all: losses are sums of signs, counted by hand."""
    groups, scale, epsilon = 6, 2, 1.0
    keep = 1 / (1 + exp(-1 / scale))
    delta = 0.0
    for up in range(groups + 1):
        loss = (2 * up - groups) / scale
        weight = comb(groups, up) * keep**up * (1 - keep) ** (groups - up)
        delta += weight * max(0.0, 1 - exp(epsilon - loss))
    assert compose([DiscreteLaplace(scale=scale, times=groups)]).delta(epsilon=1) == pytest.approx(
        delta, rel=1e-12
    )


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    params = write_params(tmp_path)
    assert run(["safetab", "account", str(params), "--delta", "1e-6", "--quiet"]) == 0
    text = capsys.readouterr().out
    assert "zCDP rho 3" in text  # six geographies of a half each
    assert "variance to spare" in text
    told = " ".join(text.split())  # the column is not about totals that stage 1 picks
    assert "groups specified as total only. A total that stage 1 picks has the variance of stage 2." in told
    assert "Claim(" not in text
    assert "Exact: " in text or "An upper bound: " in text
    assert run(["safetab", "account", str(params), "--delta", "1e-6", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    us = found["passes"][0]
    assert (us["rho_unbounded"], us["rho_bounded"]) == ("3", "6")
    assert us["levels"][0]["variance_stage_2"] == "10/3"  # 3 / (2 * 0.9 * 0.5)
    assert {row["neighbours"] for row in us["results"]} == {"bounded", "unbounded"}


@pytest.mark.parametrize("privacy", ["zcdp", "puredp"])
def test_the_command_with_infinite_budgets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], privacy: str
) -> None:
    every: dict[str, Any] = {
        key: float("inf") for key in config() if key.startswith("privacy_budget_p_level_2")
    }
    params = write_params(tmp_path, privacy_defn=privacy, run_pr=False, **every)
    assert run(["safetab", "account", str(params), "--quiet"]) == 0
    text = capsys.readouterr().out
    assert "No privacy" in text
    assert "Puerto Rico" not in text
    assert run(["safetab", "account", str(params), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passes"][0]["private"] is False


def test_bad_parameters_exit_with_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    params = write_params(tmp_path, max_race_codes=9)
    assert run(["safetab", "account", str(params)]) == 2
    assert "max_race_codes" in capsys.readouterr().err
    assert run(["safetab", "account", str(tmp_path / "nowhere")]) == 2
    assert run(["safetab", "account", str(params), "--delta", "2"]) == 2


def test_budgets_beyond_sense_still_have_a_sum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    params = write_params(tmp_path, privacy_budget_p_level_2_usa=1234.567, run_pr=False)
    (found,) = account(params, deltas=["1e-10"], neighbours=("unbounded",)).passes
    assert found.total == Fraction("1237.067")
    assert (found.costs[0].epsilon, found.costs[0].reduction) == (None, None)
    assert found.costs[0].converted > 1237
    assert run(["safetab", "account", str(params), "--delta", "1e-10", "--neighbours", "unbounded"]) == 0
    assert "too large" in capsys.readouterr().out
