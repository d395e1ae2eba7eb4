"""The noise of each level against the facts of the production run, and suppression against the cdf."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from safetab_params import write_params
from safetab_toy import SPEC_2020, TOY

from discreet.census.mechanism.adaptive import mechanism, suppression_threshold
from discreet.census.mechanism.margins import bureau_margin
from discreet.census.safetab.account import mechanisms
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.specification import read_specification
from discreet.errors import InputError
from discreet.noise import GaussianNoise, LaplaceNoise, Noise

CHANCE = Fraction(9999, 10000)
# rho, variances (total only, first stage, second stage) and thresholds of the 2020 production run
FACTS = {
    "regional": ("1/125", ("1125/2", "5625", "625"), (4971, 19971, 149971)),
    "wide": ("1067/500", ("2250/1067", "22500/1067", "2500/1067"), (471, 971, 6971)),
    "narrow": ("159/1000", ("1500/53", "15000/53", "5000/159"), (971, 4971, 19971)),
}


@pytest.mark.parametrize(("which", "many"), [("US", 11), ("PR", 8)])
def test_variances_and_thresholds_of_2020(which: str, many: int) -> None:
    found = mechanisms(read_configuration(SPEC_2020), read_specification(SPEC_2020), which)
    assert len(found) == many
    for one in found:
        wide = "wide" if one.geography in ("USA", "STATE", "PR-STATE") else "narrow"
        rho, variances, thresholds = FACTS["regional" if one.level == 1 else wide]
        assert one.budget == Fraction(rho)
        assert [one.total_only, one.stage_one, one.stage_two] == [
            GaussianNoise(variance=text) for text in variances
        ]
        assert one.thresholds == thresholds


@pytest.mark.parametrize(
    "noise",
    [
        GaussianNoise(variance=625),
        GaussianNoise(variance="0.3"),
        LaplaceNoise(scale=7),
        LaplaceNoise(scale="0.2"),
    ],
)
@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(9, 10), CHANCE])
def test_an_empty_group_is_dropped_with_at_least_the_chance(noise: Noise, chance: Fraction) -> None:
    # by summing probabilities, not by the quantile that is tested
    threshold = suppression_threshold(noise, chance)
    assert threshold is not None
    reach = 400 if isinstance(noise, GaussianNoise) else 800
    dropped = float(noise.pmf(np.arange(-reach, threshold + 1)).sum())
    less = dropped - float(noise.pmf(threshold))
    assert dropped >= float(chance) - 1e-12
    assert less < float(chance) + 1e-12


def test_suppression_is_only_below_the_states() -> None:
    configuration, specification = read_configuration(SPEC_2020), read_specification(SPEC_2020)
    found = {
        (one.geography, one.level): one.suppression for one in mechanisms(configuration, specification, "US")
    }
    assert found["USA", 2] is found["STATE", 1] is None
    assert [found[place] for place in (("COUNTY", 1), ("TRACT", 2), ("AIANNH", 2))] == [93, 21, 21]


def test_infinite_budgets_have_no_noise_and_drop_empty_groups() -> None:
    configuration, specification = read_configuration(TOY), read_specification(TOY)
    found = mechanism(configuration, specification, "TRACT", 2)
    assert (found.total_only, found.stage_one, found.stage_two, found.suppression) == (None, None, None, 0)
    assert mechanism(configuration, specification, "STATE", 2).suppression is None


def test_pure_privacy_has_geometric_noise(tmp_path: Path) -> None:
    params = write_params(tmp_path, privacy_defn="puredp")
    found = mechanism(read_configuration(params), read_specification(params), "TRACT", 2)
    # four groups at most (two of the island's), epsilon 1/2, a tenth of it for the first stage
    assert (found.total_only, found.stage_one) == (LaplaceNoise(scale=8), LaplaceNoise(scale=80))
    assert found.stage_two == LaplaceNoise(scale=Fraction(80, 9))
    assert found.suppression == LaplaceNoise(scale=Fraction(80, 9)).quantile("0.99")


def test_levels_without_a_budget_have_no_noise(tmp_path: Path) -> None:
    params = write_params(tmp_path)
    configuration, specification = read_configuration(params), read_specification(params)
    with pytest.raises(InputError, match="USA, level 1 has no budget"):
        mechanism(configuration, specification, "USA", 1)


def test_a_budget_beyond_all_bounds_is_refused_with_its_place(tmp_path: Path) -> None:
    params = write_params(tmp_path)
    configuration, specification = read_configuration(params), read_specification(params)
    huge = replace(configuration, budgets={**configuration.budgets, ("USA", 2): Fraction(10**9)})
    with pytest.raises(InputError, match="the budget of USA, level 2 cannot be used: variance is"):
        mechanism(huge, specification, "USA", 2)


@pytest.mark.parametrize("privacy", ["zcdp", "puredp"])
@pytest.mark.parametrize("budget", [1e-6, 5000])
def test_the_smallest_and_the_largest_budget_have_noise(tmp_path: Path, budget: float, privacy: str) -> None:
    every = {f"privacy_budget_p_level_2_{name}": budget for name in ("usa", "tract")}
    params = write_params(tmp_path, files=None, privacy_defn=privacy, **every)
    configuration, specification = read_configuration(params), read_specification(params)
    for place in ("USA", "TRACT"):
        assert mechanism(configuration, specification, place, 2).stage_one is not None


@pytest.mark.parametrize(
    ("variance", "margin"), [("625", 49), ("2500/1067", 3), ("5000/159", 10), ("0", 0), ("0.26", 0)]
)
def test_margins(variance: str, margin: int) -> None:
    assert bureau_margin(Fraction(variance)) == margin
    assert bureau_margin(float(Fraction(variance))) == margin


def test_a_margin_at_the_edge_is_exact() -> None:
    edge = Fraction(50, 49) ** 2 * 625  # 1.96 sigma is exactly 50
    assert bureau_margin(edge) == 50
    assert bureau_margin(edge - Fraction(1, 10**30)) == 49
