"""What the papers print beside the package's functions themselves, and a study's data estimated anew."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet
from discreet.accounting.privacy_loss import PrivacyLoss
from discreet.budget import load
from discreet.estimation import noisy_ratio, regress
from discreet.promises.calibrating import calibrate
from discreet.studies import Printed, printed
from discreet.studies.population import noisy_education

PRINTED = printed("sieve", "tables of all pairs, authors' repository", "delta of the main pair")
PRESET = "dhc-2022-08-25"


@pytest.fixture(scope="module")
def main_pair() -> PrivacyLoss:
    account = discreet.account(load("dhc-2020"))
    assert account.main == (13, 13)
    return account.case((13, 13))


def test_census_main_pair_at_the_epsilon_of_zcdp(main_pair: PrivacyLoss) -> None:
    # docs of the accounting mathematics, section 6: 2020 DHC persons, zCDP's answer for delta = 1e-10
    assert main_pair.delta(epsilon="26.340588852722323") == pytest.approx(PRINTED["1e-10"].value, rel=1e-11)
    assert main_pair.epsilon(delta="1e-10") == pytest.approx(24.4565, abs=5e-5)


def test_census_main_pair_where_the_published_value_is_wrong(main_pair: PrivacyLoss) -> None:
    # the printed value at zCDP's epsilon for 1e-21 has an absolute error c e^eps (docs/errata.md)
    rho = Fraction(24811, 5000)
    epsilon = float(rho) + 2 * math.sqrt(float(rho) * 21 * math.log(10))
    assert epsilon == pytest.approx(35.94, abs=0.01)
    assert main_pair.delta(epsilon=epsilon) == pytest.approx(9.614584784830053e-24, rel=1e-12)
    assert main_pair.delta(epsilon=epsilon) < PRINTED["1e-21"].value / 3


def texts(entries: dict[str, Printed]) -> dict[str, str]:
    return {name: entry.text for name, entry in entries.items()}


def test_by_level_gives_the_published_table() -> None:
    found = calibrate(load("dhc-2022-08-25"), zcdp=True, delta="1e-11", by="level")
    # Su, Su and Wang, PNAS 2025, Table 1: delta = 1e-11, allocation of 2022-08-25
    levels = {level.name: level for level in found.levels}
    variances, percents = (
        printed("pnas", "Table 1", what) for what in ("reduced variance", "reduction, percent")
    )
    assert set(variances) == set(levels)
    assert {name: f"{float(levels[name].after):.2f}" for name in variances} == texts(variances)
    assert {name: f"{100 * float(1 - levels[name].factor):.2f}" for name in percents} == texts(percents)
    assert found.factor is None
    assert found.proof is not None
    assert found.proof.upper <= Fraction(1, 10**11)


def test_published_table_by_level(discreet):
    found = discreet("calibrate", PRESET, "--zcdp", "--delta", "1e-11", "--by", "level", "--json").json
    levels = {level["name"]: level for level in found["levels"]}
    for name, entry in printed("pnas", "Table 1", "reduced variance").items():
        assert f"{levels[name]['after']:.2f}" == entry.text
    for name, entry in printed("pnas", "Table 1", "reduction, percent").items():
        assert f"{100 * (1 - levels[name]['factor']):.2f}" == entry.text
    assert found["upper"] <= found["delta"] == 1e-11
    assert found["factor"] is None
    # zCDP at 1e-11 for ten queries of variance 4.9995 (rounded): rho + 2 sqrt(rho log 1e11)
    rho = 10 / (2 * 4.9995)
    assert found["levels"][1]["epsilon"] == pytest.approx(rho + 2 * (rho * math.log(1e11)) ** 0.5, rel=1e-5)


@pytest.mark.slow
def test_the_earnings_study_is_corrected() -> None:
    table = noisy_education("Place")
    ratio = noisy_ratio(
        table["degrees"],
        table["adults"],
        part_variance=table["noise"],
        whole_variance=6 * table["noise"],
        covariance=table["noise"],
    )
    kept = ratio.steady
    frame = {"y": table["earnings"][kept], "x": ratio.value[kept], "n": ratio.variance[kept]}
    slope = regress(frame, "y", "x", noise={"x": "n"}, about="table").slope("x")
    truth = np.polyfit(table["share"][kept], frame["y"], 1)[0]
    assert slope.lower is not None
    assert slope.upper is not None
    assert slope.naive < slope.lower < truth < slope.upper
