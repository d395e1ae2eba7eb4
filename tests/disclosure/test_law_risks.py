"""Right decisions and beliefs with any law: against sums over all outcomes, closed forms and lists."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from discreet import Level, Query, Release
from discreet.disclosure import risk
from discreet.disclosure.beliefs import QUANTILES
from discreet.disclosure.profile import part_risks, risk_profile
from discreet.loss import spread
from discreet.noise import ContinuousGaussian, DiscreteGaussian, Noise, PowerNoise, TableNoise

UNEVEN = TableNoise({-1: "1/8", 0: "1/2", 1: "3/8"})
EVEN = TableNoise({-1: "1/4", 0: "1/2", 1: "1/4"})
ANSWER = TableNoise({0: "3/4", 1: "1/4"}, {0: "1/8", 1: "7/8"})
PRIORS = [Fraction(1, 2), Fraction(1, 100), Fraction(9, 10), Fraction(1, 5)]


def outcomes(events: list[TableNoise]) -> list[tuple[Fraction, Fraction]]:
    """The chances of everything that is shown, without the target and with."""
    singles = [event.pairs for event in events for _ in range(event.times)]
    found = []
    for shown in itertools.product(*singles):
        absent, present = zip(*shown, strict=True)
        found.append((math.prod(absent, start=Fraction(1)), math.prod(present, start=Fraction(1))))
    return found


def listed_risk(events: list[TableNoise], prior: Fraction) -> dict[str, object]:
    """Everything by its definition, in fractions."""
    right, mean, named, wrongly = Fraction(0), Fraction(0), Fraction(0), Fraction(0)
    beliefs: dict[Fraction, Fraction] = {}
    for absent, present in outcomes(events):
        both = prior * present + (1 - prior) * absent
        if not both:
            continue
        belief = prior * present / both
        right += max(prior * present, (1 - prior) * absent)
        mean += present * belief
        says = Fraction(1) if 2 * belief > 1 else Fraction(1, 2) if 2 * belief == 1 else Fraction(0)
        named, wrongly = named + present * says, wrongly + absent * says
        beliefs[belief] = beliefs.get(belief, Fraction(0)) + present
    marks = []
    for chance in QUANTILES:
        below = Fraction(0)
        for belief in sorted(beliefs):
            below += beliefs[belief]
            if below >= Fraction(str(chance)):
                marks.append(float(belief))
                break
    hit = prior * named
    predictive = None if not named + wrongly else float(hit / (hit + (1 - prior) * wrongly))
    return {
        "accuracy": float(right),
        "expected": float(mean),
        "named": float(named),
        "predictive": predictive,
        "quantiles": marks,
    }


@pytest.mark.parametrize(
    "events",
    [
        [UNEVEN],
        [EVEN.repeated(3)],
        [ANSWER.repeated(4)],
        [UNEVEN, ANSWER.repeated(2), EVEN],
        [UNEVEN, UNEVEN.exchanged()],
        [UNEVEN.for_people(2), ANSWER.exchanged().repeated(2)],
        [TableNoise({0: "1/2", 1: "1/2"}, {5: "1/3", 6: "2/3"})],
    ],
    ids=str,
)
def test_tables_against_their_definition(events: list[TableNoise]) -> None:
    for prior, row in zip(PRIORS, part_risks(events, PRIORS), strict=True):
        wanted = listed_risk(events, prior)
        for name in ("accuracy", "expected", "named"):
            assert getattr(row, name) == pytest.approx(wanted[name], rel=1e-9), (name, prior)
        assert row.predictive == (
            None if wanted["predictive"] is None else pytest.approx(wanted["predictive"])
        )
        assert row.quantiles == pytest.approx(wanted["quantiles"], rel=1e-9)


def test_the_two_directions_are_two_questions() -> None:
    there, back = (part_risks([event], [Fraction(1, 5)])[0] for event in (ANSWER, ANSWER.exchanged()))
    assert there.accuracy != pytest.approx(back.accuracy, rel=1e-3)


@pytest.mark.parametrize("times", [1, 12])
def test_a_normal_loss_has_its_closed_form(times: int) -> None:
    """Accuracy Phi(s/2), quantiles s^2/2 + s z, s the standard deviation of the loss."""
    s = math.sqrt(times / 5)
    row, rare = part_risks([ContinuousGaussian(variance=5, times=times)], [Fraction(1, 2), Fraction(1, 50)])
    assert row.accuracy == pytest.approx(norm.cdf(s / 2), rel=1e-10)
    marks = 1 / (1 + np.exp(-(s * s / 2 + s * norm.ppf(QUANTILES))))
    assert np.all(np.array(row.quantiles) >= marks)
    assert row.quantiles == pytest.approx(marks, rel=3e-4)
    t = math.log(49)
    x = np.linspace(-12, 12, 200_001)
    mean = np.trapezoid(norm.pdf(x) / (1 + np.exp(t - s * s / 2 - s * x)), x)
    assert rare.expected == pytest.approx(mean, rel=1e-7)
    true, false = norm.cdf((s * s / 2 - t) / s), norm.cdf((-s * s / 2 - t) / s)
    assert rare.named == pytest.approx(true, rel=1e-3)
    assert rare.predictive == pytest.approx(true / (true + 49 * false), rel=1e-3)


@pytest.mark.parametrize("events", [[PowerNoise("3/2", 3, times=2)], [UNEVEN.repeated(6), EVEN.repeated(2)]])
def test_a_grid_bounds_what_a_list_has(events: list[Noise], monkeypatch: pytest.MonkeyPatch) -> None:
    exact = part_risks(events, PRIORS)
    monkeypatch.setattr(spread, "_listed", lambda side: None)
    spread.spread_of.cache_clear()
    from discreet.disclosure import profile

    profile._part_risks.cache_clear()
    try:
        bounded = part_risks(events, PRIORS)
    finally:
        spread.spread_of.cache_clear()
        profile._part_risks.cache_clear()
    for one, other in zip(exact, bounded, strict=True):
        assert other.expected >= one.expected * (1 - 1e-12)
        assert other.expected == pytest.approx(one.expected, rel=1e-5)
        assert all(b >= a * (1 - 1e-12) for a, b in zip(one.quantiles, other.quantiles, strict=True))


def test_power_noise_of_exponent_two_is_gaussian() -> None:
    law = PowerNoise(2, 4, times=3)
    same = DiscreteGaussian(variance=8, times=3)
    for one, other in zip(part_risks([law], PRIORS), part_risks([same], PRIORS), strict=True):
        assert one.accuracy == pytest.approx(other.accuracy, rel=1e-8)
        assert one.expected == pytest.approx(other.expected, rel=1e-6)
        assert one.quantiles == pytest.approx(other.quantiles, rel=1e-3)
        assert one.named == pytest.approx(other.named, rel=1e-6)


def two_levels(law: Noise, neighbours: str) -> Release:
    levels = [Level(name=name, queries=[Query(name="total", noise=law)]) for name in ("State", "County")]
    return Release(name="small", neighbours=neighbours, levels=levels)  # type: ignore[arg-type]


@pytest.mark.parametrize("law", [UNEVEN, ANSWER], ids=str)
def test_whole_releases_of_uneven_laws(law: TableNoise) -> None:
    prior = Fraction(1, 5)
    alone = risk_profile(two_levels(law, "unbounded"), prior=prior).overall[0]
    assert alone.accuracy == pytest.approx(listed_risk([law, law], prior)["accuracy"], rel=1e-9)
    both = risk_profile(two_levels(law, "bounded"), prior=prior)
    events = [law, law, law.exchanged(), law.exchanged()]
    assert both.overall[0].accuracy == pytest.approx(listed_risk(events, prior)["accuracy"], rel=1e-9)
    level = listed_risk([law, law.exchanged()], prior)
    assert both.levels[0].expected == pytest.approx(level["expected"], rel=1e-9)


def test_detections_and_guesses_of_a_table() -> None:
    found = risk(two_levels(EVEN, "unbounded"), prior=["1/2"], false_positive_rates=["1/10"], guess=["1/4"])
    pairs = sorted(outcomes([EVEN, EVEN]), key=lambda one: -(one[1] / one[0] if one[0] else math.inf))
    left, power = Fraction(1, 10), Fraction(0)
    for absent, present in pairs:  # the best test: likeliest ratios first, the last by a coin
        part = min(left / absent, Fraction(1)) if absent else Fraction(1)
        left, power = left - part * absent, power + part * present
    assert found.detections[0].true_positive_rate == pytest.approx(float(power), rel=1e-9)
    assert found.guesses[0].after >= 0.25
