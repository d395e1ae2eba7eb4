"""What users of other libraries type works here, or the error says what to type instead.

The inputs were written down before any of them was tried: as users of dp_accounting, OpenDP, SciPy, NumPy and
pandas would type them, with floats, positional numbers, columns and the names that those libraries have.
"""

from __future__ import annotations

import decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet

RELEASE = """
name = "survey"
neighbours = "unbounded"
[[levels]]
name = "Region"
rho = 0.2
queries = { "total" = "1" }
[[levels]]
name = "Town"
rho = 0.3
queries = { "total" = "1" }
"""

WORKS = {
    # noise
    "DiscreteGaussian(sigma=3.2)": 'DiscreteGaussian(sigma="3.2")',
    "DiscreteGaussian(variance=2.5)": 'DiscreteGaussian(variance="5/2")',
    "DiscreteGaussian(sigma=np.float64(0.1))": 'DiscreteGaussian(sigma="1/10")',
    "DiscreteGaussian(sigma=np.sqrt(10))": 'DiscreteGaussian(sigma="3.1622776601683795")',
    "DiscreteGaussian(variance=decimal.Decimal('2.5'))": 'DiscreteGaussian(variance="5/2")',
    "DiscreteGaussian(sigma='1/3')": "DiscreteGaussian(variance=Fraction(1, 9))",
    "DiscreteGaussian(sigma=3, times=np.int64(10))": "DiscreteGaussian(variance=9, times=10)",
    "DiscreteGaussian(sigma=3, times=10.0)": "DiscreteGaussian(variance=9, times=10)",
    "DiscreteLaplace(scale=1.5)": 'DiscreteLaplace(scale="3/2")',
    "GaussianNoise(sigma=1.5)": 'DiscreteGaussian(variance="9/4")',
    "ContinuousGaussian(sigma=2.0)": "ContinuousGaussian(variance=4)",
    "PowerNoise(exponent=1.5, scale=4)": 'PowerNoise(exponent="3/2", scale=4)',
    "TableNoise({-1: 0.25, 0: 0.5, 1: 0.25})": 'TableNoise({-1: "1/4", 0: "1/2", 1: "1/4"})',
    # its probabilities and draws
    "float(a.pmf(3))": "float(a.pmf([3])[0])",
    "a.pmf(np.linspace(-3, 3, 7)).tolist()": "a.pmf(np.arange(-3, 4)).tolist()",
    "float(a.cdf(2.0))": "float(a.cdf(2))",
    "a.quantile(0.975)": 'a.quantile("0.975")',
    "a.margin(0.9)": 'a.margin("9/10")',
    "a.sigma": "5**0.5",
    "a.mean": "0",
    "a.var": "a.true_variance()",
    "a.std": "a.true_variance() ** 0.5",
    "a.sample(5).shape": "(5,)",
    "a.sample().shape": "()",
    "sample(a, size=(2, 3)).shape": "(2, 3)",
    "(pd.Series([7, 9]) + a.sample(2)).dtype == int": "True",
    # composition
    "(a + b).epsilon(1e-6)": 'compose([a, b]).epsilon(delta="1e-6")',
    "10 * a": "DiscreteGaussian(variance=5, times=10)",
    "a * np.int64(10)": "DiscreteGaussian(variance=5, times=10)",
    "sum([a, b, a]).epsilon(delta=1e-6)": "compose([a, a, b]).epsilon(delta=1e-6)",
    "compose(a, b).epsilon(1e-6)": "compose([a, b]).epsilon(delta=1e-6)",
    "compose(10 * a).epsilon(1e-6)": "ten.epsilon(delta=1e-6)",
    "compose(2 * (a + b)).delta(1)": "compose([a, b, a, b]).delta(epsilon=1)",
    "account(a + b).epsilon(1e-6)": "account([a, b]).epsilon(delta=1e-6)",
    "account(a).epsilon(1e-6)": "account([a]).epsilon(delta=1e-6)",
    "account([a] * 10).epsilon(1e-6)": "ten.epsilon(delta=1e-6)",
    # curves
    "a.epsilon(1e-6)": "compose([a]).epsilon(delta=1e-6)",
    "ten.epsilon(1e-6)": 'ten.epsilon(delta="1/1000000")',
    "ten.delta(2)": "ten.delta(epsilon=2)",
    "ten.delta(np.linspace(0, 5, 6)).tolist()": "ten.delta(epsilon=[0, 1, 2, 3, 4, 5]).tolist()",
    "ten.epsilon(pd.Series([1e-6, 1e-9])).tolist()": "ten.epsilon(delta=['1e-6', '1e-9']).tolist()",
    "ten.tradeoff(0.05)": 'ten.tradeoff(alpha="1/20")',
    "ten.tradeoff(np.array([0.1, 0.5])).tolist()": 'ten.tradeoff(alpha=["0.1", "1/2"]).tolist()',
    # verbs
    "account('pl94-2020').pairs": "account(discreet.load('pl94-2020')).pairs",
    "account(path).epsilon(1e-6)": "account(Release.from_toml(path.read_text())).epsilon(delta=1e-6)",
    "account(str(path)).epsilon(1e-6)": "account(path).epsilon(delta=1e-6)",
    "calibrate(10 * a, epsilon=5.0, delta=1e-6).factor": "calibrate([10 * a], epsilon=5, delta=1e-6).factor",
    "calibrate(path, epsilon=1, delta=1e-6).release.name": "'survey-calibrated'",
    "noise_for(epsilon=0.5, delta=1e-6)": "noise_for(epsilon='1/2', delta='1e-6')",
    "verify([10 * a], epsilon=8.0, delta=1e-6).verdict": "'proved'",
    "verify(path, epsilon=0.1, delta=1e-6).verdict": "'refuted'",
    "discreet.explain(epsilon=1.0, delta=1e-6).right": "discreet.explain(epsilon=1, delta='1e-6').right",
    "discreet.risk(10 * a, prior=0.5).releases": "('events',)",
    "discreet.accuracy(path, tree=[20.0]).release": "'survey'",
    "discreet.compare(a, b, delta=1e-6).rows[0][0].epsilon": "account(a).at_delta('1e-6')[0].epsilon",
}

SAYS = {
    "DiscreteGaussian(std=3)": "DiscreteGaussian(sigma=3)",
    "DiscreteLaplace(b=2)": "DiscreteLaplace(scale=2)",
    "ten.get_epsilon(1e-6)": ".epsilon(1e-6)",
    "noise_for(1, 1e-6)": "noise_for(epsilon=1, delta=1e-06)",
    "a.rvs(5)": ".sample(5)",
}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What the inputs speak of: everything at the top of the package, two laws, an account and a file."""
    path = tmp_path_factory.mktemp("typed") / "release.toml"
    path.write_text(RELEASE, encoding="utf-8")
    top = {name: getattr(discreet, name) for name in discreet.__all__}
    a, b = discreet.DiscreteGaussian(variance=5), discreet.DiscreteLaplace(scale=4)
    others = {"np": np, "pd": pd, "decimal": decimal, "Fraction": Fraction, "discreet": discreet}
    return {**top, **others, "path": path, "a": a, "b": b, "ten": discreet.account([10 * a])}


def test_sixty_are_tried_and_at_most_five_are_told_what_to_type() -> None:
    assert len(WORKS) + len(SAYS) == 60
    assert len(SAYS) <= 5


@pytest.mark.parametrize("typed", WORKS)
def test_it_works(names: dict[str, object], typed: str) -> None:
    found, expected = eval(typed, names), eval(WORKS[typed], names)
    if isinstance(expected, float | list):
        assert found == pytest.approx(expected, rel=1e-9)
    else:
        assert found == expected


@pytest.mark.parametrize("typed", SAYS)
def test_the_error_says_what_to_type(names: dict[str, object], typed: str) -> None:
    with pytest.raises((discreet.InputError, AttributeError)) as caught:
        eval(typed, names)
    assert str(caught.value).endswith(f"type {SAYS[typed]}")
