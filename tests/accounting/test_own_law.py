"""An office's own law, in one class here: every question is answered, or refused in its sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from discreet import InputError, Level, Query, Release, account, calibrate, compose, verify
from discreet.disclosure import risk
from discreet.errors import DiscreetError
from discreet.noise import DiscreteGaussian, Noise, balls
from discreet.noise.capabilities import QUESTIONS, require, supports
from discreet.noise.distribution import ProvedCost, StatedValue
from discreet.numbers import Exact
from discreet.testing import check_law

Floats = NDArray[np.float64]


@dataclass(frozen=True, init=False)
class LogisticNoise(Noise):
    """Logistic noise, rounded to the nearest whole number: P[X >= m] = 1 / (1 + e^((m - 1/2) / scale))."""

    FAMILY: ClassVar = "logistic"
    PARAMETER: ClassVar = "scale"
    RANGE: ClassVar = (Fraction(1, 10), Fraction(700))

    scale: Fraction
    sensitivity: int
    times: int

    def __init__(self, scale: Exact, *, sensitivity: int = 1, times: int = 1) -> None:
        super().__init__(scale, sensitivity=sensitivity, times=times)

    def log_tail(self, m: Floats) -> Floats:
        """Return log P[X >= m]."""
        return np.asarray(-np.logaddexp(0.0, (np.asarray(m) - 0.5) / self._size))

    def _log_pmf(self, x: Floats) -> Floats:
        # P[X >= m] - P[X >= m + 1] = e^t (e^rate - 1) / ((1 + e^t) (1 + e^(t + rate)))
        t = (np.abs(x) - 0.5) / self._size
        rate = 1 / self._size
        return np.asarray(math.log(math.expm1(rate)) + t - np.logaddexp(0.0, t) - np.logaddexp(0.0, t + rate))

    def reach(self, nats: float) -> float:
        """Return some m whose tail is below exp(-nats)."""
        return self._size * nats + 1.5

    @cached_property
    def _points(self) -> tuple[Floats, Floats]:
        x = np.arange(-math.ceil(self.reach(60.0)), math.ceil(self.reach(60.0)) + 1)
        return x.astype(np.float64), self.log_pmf(x)

    def true_variance(self) -> float:
        """Return E X^2."""
        x, log = self._points
        return math.fsum(np.exp(log) * x * x)

    def log_mgf(self, s: ArrayLike) -> Floats:
        """Return log E exp(s X); infinite from |s| = 1 / scale on."""
        slope, (x, log) = np.asarray(s, dtype=np.float64), self._points
        total = np.logaddexp.reduce(np.multiply.outer(slope, x) + log, axis=-1)
        return np.asarray(np.where(np.abs(slope) * self._size < 1, total, math.inf))[()]

    def ball_tail(self, m: int) -> balls.arb:
        """Return a ball around P[X >= m]."""
        return 1 / (1 + balls.ball((m - Fraction(1, 2)) / self.scale).exp())

    def ball_pmf(self, x: int) -> balls.arb:
        """Return a ball around P[X = x]."""
        t, rate = balls.ball((abs(x) - Fraction(1, 2)) / self.scale), balls.ball(1 / self.scale)
        return rate.expm1() * t.exp() / ((1 + t.exp()) * (1 + (t + rate).exp()))

    def ball_pmfs(self, count: int) -> list[balls.arb]:
        """Return balls around P[X = 0], ..., P[X = count - 1]."""
        return [self.ball_pmf(x) for x in range(count)]


OWN = LogisticNoise("5/2")


def release(*laws: Noise) -> Release:
    queries = [Query(name=f"q{k}", noise=law) for k, law in enumerate(laws)]
    return Release(name="own", neighbours="unbounded", levels=[Level(name="Nation", queries=queries)])


def delta_of(scale: float, epsilon: float) -> float:
    """delta of one count, by its definition."""
    x = np.arange(-400, 401)
    tails = [1 / (1 + np.exp((x + k - 0.5) / scale)) for k in (-1, 0, 1)]
    with_, without = tails[0] - tails[1], tails[1] - tails[2]
    return float(np.maximum(with_ - math.exp(epsilon) * without, 0.0).sum())


def test_the_law_passes_the_checks_of_a_law() -> None:
    assert {"accounts", "balls", "draws"} <= {*check_law(OWN)}


def test_it_is_accounted_for() -> None:
    for epsilon in (0.0, 0.1, 0.3):
        assert account([OWN]).delta(epsilon=str(epsilon)) == pytest.approx(delta_of(2.5, epsilon), rel=1e-9)
    both = compose([OWN, DiscreteGaussian(variance=5)])
    assert both.law.supports("errors") is False
    assert (compose([OWN]).law + compose([DiscreteGaussian(variance=5)]).law).events == both.events
    # f(alpha) >= 1 - delta(0) - alpha, the line of slope -1
    assert both.tradeoff(alpha="1/20") >= 1 - both.delta(epsilon=0) - 0.05


def test_claims_about_it_are_proved_and_refuted() -> None:
    truth = delta_of(2.5, 0.1)
    assert verify(release(OWN), epsilon="0.1", delta=str(truth * 1.001)).verdict == "proved"
    assert verify(release(OWN), epsilon="0.1", delta=str(truth * 0.999)).verdict == "refuted"
    box = account([OWN]).delta(epsilon="0.1", certified=True)
    assert box.lower <= Fraction(truth) * (1 + Fraction(1, 10**9)) <= box.upper * (1 + Fraction(2, 10**9))


def test_the_least_noise_is_found_and_proved() -> None:
    found = calibrate([OWN.repeated(4)], epsilon=1, delta="1e-3")
    assert found.proof is not None
    assert found.proof.upper <= Fraction(1, 1000)
    assert type(found.events[0]) is LogisticNoise
    assert (
        compose([found.events[0].resized(found.events[0].size * Fraction(999, 1000))]).delta(epsilon=1) > 1e-3
    )


def test_what_everything_published_tells() -> None:
    found = risk(release(OWN), prior=["1/2"])
    (overall,) = found.profile.overall
    assert overall.accuracy == pytest.approx((1 + delta_of(2.5, 0.0)) / 2, rel=1e-9)


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_is_taken_or_refused_in_its_sentence(question: str) -> None:
    if supports(question, [OWN]):
        assert question in ("divergences", "rho", "ledger", "drawing", "margins", "estimates", "scaling")
        return
    with pytest.raises(InputError, match=QUESTIONS[question].asks):
        require(question, [OWN])


def test_a_report_is_refused_before_anything_is_computed() -> None:
    from discreet.reports.html import page

    with pytest.raises(
        InputError, match="a report needs noise that a file of the release can state, not log"
    ):
        page(release(OWN))


def test_a_file_cannot_state_it() -> None:
    with pytest.raises(InputError, match="cannot be written as TOML"):
        release(OWN).to_toml()


def test_an_old_name_of_a_capability_still_answers() -> None:
    with pytest.warns(DeprecationWarning, match="stated_variance"):
        assert [law.is_gaussian for law in (DiscreteGaussian(variance=5), OWN)] == [True, False]


class BoastingNoise(LogisticNoise):
    """It says that it costs next to nothing, and that files state it."""

    FAMILY: ClassVar = "boasting"

    @property
    def proved_cost(self) -> ProvedCost:
        return ProvedCost(Fraction(1, 10**6), Fraction(1, 10**6), Fraction(0))

    def stated(self) -> dict[str, StatedValue]:
        return {"scale": self.scale}


class HeirNoise(BoastingNoise):
    FAMILY: ClassVar = "heir"


def test_a_law_that_claims_what_is_not_true_is_found() -> None:
    with pytest.raises(DiscreetError, match=r"claims: `proved_cost` says rho is 1e-06, and it is 0\.0"):
        check_law(BoastingNoise(3))


def test_claims_are_of_a_law_itself_and_not_of_laws_made_of_it() -> None:
    assert (HeirNoise(3).proved_cost, HeirNoise(3).stated()) == (None, None)
    assert BoastingNoise(3).stated() == {"scale": 3}
