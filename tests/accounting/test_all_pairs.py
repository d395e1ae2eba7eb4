"""All pairs at once against each pair by itself: presets, odd releases, portfolios."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.accounting.account import Account, account, portfolio
from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.budget import Level, Query, Release, Spine, cases, load, preset_names
from discreet.loss.all_pairs import FARTHEST, AllPairs, both_errors
from discreet.loss.certified.all_cases import Moduli, UpperBounds
from discreet.loss.contour import Kind
from discreet.loss.lattice import Loss, TiltedTransform
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise

DELTAS = [Fraction(d) for d in ("0.9", "1e-3", "1e-10")]
EPSILONS = [Fraction(e) for e in ("-1", "0", "3", "12")]


def made(levels: list[list[dict[str, Any]]], merge: list[str], neighbours: Any = "bounded") -> Release:
    return Release(
        name="odd",
        neighbours=neighbours,
        levels=[
            Level(name=f"L{i}", queries=[Query(name=f"q{k}", **query) for k, query in enumerate(queries)])
            for i, queries in enumerate(levels)
        ],
        spine=Spine(may_merge_up=merge),
    )


ODD = {
    "halves": made([[{"variance": "1/2"}]] * 3, ["L1", "L2"]),
    "tiny": made(
        [[{"variance": "1/10"}], [{"variance": "1/4"}], [{"variance": "2/5", "groups": 2}]], ["L1", "L2"]
    ),
    "whole": made(
        [[{"variance": 3}, {"variance": 5}], [{"variance": 4}], [{"variance": 6, "groups": 3}]], ["L1", "L2"]
    ),
    "laplace": made(
        [[{"variance": 3}], [{"variance": 4}], [{"scale": 2}, {"scale": "3/2", "sensitivity": 3}]], ["L1"]
    ),
    "equal": made([[{"variance": 5, "groups": 10}]] * 4, ["L1", "L2", "L3"]),
    "sensitive": made(
        [
            [{"variance": 30, "sensitivity": 4}],
            [{"variance": 44, "sensitivity": 3, "groups": 4}],
            [{"variance": 8}],
        ],
        ["L1", "L2"],
        "unbounded",
    ),
    "decimals": made([[{"variance": "1.828"}], [{"variance": "4.02"}], [{"variance": "2.938"}]], ["L2"]),
}


# single cases of the others take a second each: the comparison is long, not the thing compared
LONG = ("tiny", "decimals", "whole", "halves", "equal")
NAMES = [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in ODD]


@pytest.mark.parametrize("neighbours", ["bounded", "unbounded"])
@pytest.mark.parametrize("name", NAMES)
def test_the_worst_of_all_is_that_of_single_cases(
    name: str, neighbours: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.accounting.account._ENOUGH", 1)
    whole = account(ODD[name], neighbours=neighbours)
    single = [compose(events) for _, events in whole.cases]
    epsilons = np.max([loss.law.epsilons(DELTAS) for loss in single], axis=0)
    deltas = np.max([loss.law.log_deltas(EPSILONS) for loss in single], axis=0)
    for point, epsilon in zip(whole.at_delta(DELTAS), epsilons, strict=True):
        assert point.epsilon == pytest.approx(epsilon, rel=1e-11, abs=1e-13)
    for point, log in zip(whole.at_epsilon(EPSILONS), deltas, strict=True):
        assert (
            point.delta == 0
            if log < -700
            else math.log(point.delta) == pytest.approx(log, rel=1e-13, abs=1e-12)
        )


@pytest.mark.parametrize("kind", [Kind.DELTA, Kind.REST])
@pytest.mark.parametrize("name", NAMES)
def test_every_case_lies_within_its_bound(name: str, kind: Kind) -> None:
    listed = cases(ODD[name], "bounded")
    thresholds = [Fraction(1, 2), Fraction(3), Fraction(9)]
    table = np.array([compose(events).law.log_tails(kind, thresholds) for _, events in listed])
    for scan in AllPairs(listed).scan(kind, thresholds):
        true = np.exp(table[:, scan.threshold] - scan.exponent)
        for value, error in ((scan.value, scan.error), *([scan.exact] if scan.exact else [])):
            has = np.isfinite(value)  # by its own lattice, if a case has one
            assert (np.abs(value - true)[has] <= (error + 2e-12 * true)[has]).all()


SLOW = ("dhc-2020-persons-pr", "dhc-2020-units", "dhc-2020-units-pr")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in preset_names()
        if len(load(name).paths) > 1
    ],
)
def test_presets_within_their_bounds(name: str) -> None:
    """Twelve cases of each, chosen at random with a fixed seed."""
    listed = cases(load(name), load(name).neighbours)
    thresholds = [Fraction(1), Fraction(12)]
    chosen = np.random.default_rng(7).choice(len(listed), size=min(12, len(listed)), replace=False)
    table = {int(k): compose(listed[int(k)][1]).law.log_tails(Kind.DELTA, thresholds) for k in chosen}
    for scan in AllPairs(listed).scan(Kind.DELTA, thresholds):
        for k, logs in table.items():
            true = math.exp(logs[scan.threshold] - scan.exponent)
            assert abs(scan.value[k] - true) <= scan.error[k] + 2e-12 * true
            if scan.exact and math.isfinite(scan.exact[0][k]):
                assert abs(scan.exact[0][k] - true) <= scan.exact[1][k] + 2e-12 * true


@pytest.mark.parametrize("name", [name for name in ODD if name not in LONG])
def test_a_case_stays_within_its_bound_octave_by_octave(name: str) -> None:
    listed, threshold = cases(ODD[name], "bounded"), Fraction(3)
    whole = AllPairs(listed)
    (scan,) = whole.scan(Kind.DELTA, [threshold])
    for place, (_, events) in enumerate(listed):
        true = math.exp(compose(events).law.log_tails(Kind.DELTA, [threshold])[0] - scan.exponent)
        value, error = scan.value[place], scan.error[place]
        for octave in range(FARTHEST):
            more = whole.outward(Kind.DELTA, threshold, place, octave)
            if more is None:
                break
            value, error = value + more[0], error + more[1]
            assert error >= 0
            assert abs(value - true) <= error + 2e-12 * true


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["2", "17.5", "34"])
def test_pairs_of_puerto_rico_stay_within_their_bounds_octave_by_octave(epsilon: str) -> None:
    """Forty pairs without a coarse lattice, chosen at random with a fixed seed."""
    listed, threshold = cases(load("dhc-2020-persons-pr"), "bounded"), Fraction(epsilon)
    whole = AllPairs(listed)
    (scan,) = whole.scan(Kind.DELTA, [threshold])
    for place in np.random.default_rng(11).choice(len(listed), size=40, replace=False):
        found = compose(listed[int(place)][1]).law.tails(Kind.DELTA, [threshold])
        true = math.exp(found.log[0] - scan.exponent)
        value, error = scan.value[place], scan.error[place]
        for octave in range(FARTHEST):
            more = whole.outward(Kind.DELTA, threshold, int(place), octave)
            if more is None:
                break
            value, error = value + more[0], error + more[1]
            assert abs(value - true) <= error + (2e-13 + found.error[0]) * true


@pytest.mark.slow
def test_pairs_that_agree_to_ten_digits_are_not_evaluated_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """At delta 1e-5 135 pairs of Puerto Rico could be the worst, by what their two paths leave out.

    They were 120 lists of events, evaluated in half a minute; octaves rule all of them out. The answer is
    the one that evaluating each gave, to the last digit.
    """
    evaluated: list[int] = []
    one_by_one = Account.evaluated

    def counted(self: Account, places: Any, *rest: Any) -> list[Any]:
        evaluated.append(len(places))
        return one_by_one(self, places, *rest)

    monkeypatch.setattr(Account, "evaluated", counted)
    (point,) = account(load("dhc-2020-persons-pr")).at_delta("1e-5")
    assert sum(evaluated) < 10
    assert (point.epsilon, point.worst) == (pytest.approx(17.768499640529573, rel=1e-15), (5, 21))


def test_pairs_that_are_soon_evaluated_need_no_fine_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    # four pairs of 2 ms each got grids of two million points: seconds, and 0.4 GB
    sizes: list[int] = []
    on_grid = AllPairs.on_grid

    def counted(self: AllPairs, threshold: Fraction, places: Any, size: int) -> Any:
        sizes.append(size)
        return on_grid(self, threshold, places, size)

    monkeypatch.setattr(AllPairs, "on_grid", counted)
    (point,) = account(load("pl94-2020-units")).at_delta("1e-15")
    assert max(sizes, default=0) <= 2**14
    assert (point.epsilon, point.worst) == (pytest.approx(2.999392198390016, rel=1e-15), (1, 1))


# not ru_maxrss: a process starts with the peak of the one that started it, here all tests before this one
_COST = """
import sys, time
from discreet.cli import run
status = run(sys.argv[1:])
[peak] = [int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(status, time.process_time(), peak, file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads the peak of memory from /proc: run on Linux"
)
@pytest.mark.parametrize("name", preset_names())
def test_every_preset_costs_at_most_ten_seconds_and_300_megabytes(name: str) -> None:
    """At each of the deltas that `discreet account` takes by default, and at all of them; processor time."""
    from discreet.comparisons.costs import DELTAS as DEFAULT

    for deltas in ([], *([delta] for delta in DEFAULT)):
        asked = [part for delta in deltas for part in ("--delta", delta)]
        command = [sys.executable, "-c", _COST, "account", name, *asked, "--jobs", "1", "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        status, seconds, peak = done.stderr.splitlines()[-1].split()
        assert status == "0"
        assert float(seconds) < 10
        assert int(peak) < 300 * 1024  # in kilobytes


def test_cases_on_lattices_of_their_own_are_known_better() -> None:
    """Where the repetitions of the core are summed exactly, little is left out."""
    for scan in AllPairs(cases(load("dhc-2020"), "bounded")).scan(Kind.DELTA, [Fraction(12)]):
        assert scan.exact is not None
        has = np.isfinite(scan.exact[0])
        assert has.sum() > 500
        assert np.median(scan.exact[1][has] / scan.error[has]) < 0.1


def test_a_portfolio_of_three_products() -> None:
    """All 34,056 joint cases; the worst one and the main one against their own evaluation."""
    joint = portfolio([load("pl94-2020-persons"), load("dhc-2020"), load("ddhca-2020")])
    assert joint.pairs == 34_056
    (point,) = joint.at_delta("1e-10")
    assert point.epsilon == pytest.approx(joint.case(point.worst).epsilon(delta="1e-10"), rel=1e-12)
    assert joint.case(joint.main).epsilon(delta="1e-10") <= point.epsilon
    rng = np.random.default_rng(3)
    for k in rng.choice(joint.pairs, size=12, replace=False):
        assert compose(joint.cases[int(k)][1]).epsilon(delta="1e-10") <= point.epsilon * (1 + 1e-12)


# -- many paths --------------------------------------------------------------------------------------------


def growing(merged: int) -> Release:
    """Two queries a level, all levels but one may merge: 2^merged paths on all sorts of lattices."""
    levels = [
        [{"variance": Fraction(1000, 100 + 17 * i)}, {"variance": Fraction(1000, 310 + 23 * i)}]
        for i in range(merged + 1)
    ]
    return made(levels, [f"L{i}" for i in range(1, merged + 1)])


@pytest.mark.parametrize("name", ["whole", "laplace", "sensitive"])
def test_no_delta_exceeds_its_bound_on_a_grid(name: str) -> None:
    """And the bound is close: the width of a cell is 0.005 at most, the bound off by its square."""
    listed = cases(ODD[name], ODD[name].neighbours)
    every = np.arange(len(listed))
    for threshold in (Fraction(2), Fraction(6)):
        upper, exponent = AllPairs(listed).on_grid(threshold, every, 2**14)
        true = np.array([compose(events).law.log_deltas([threshold])[0] for _, events in listed])
        excess = np.log(upper) + exponent - true
        assert (excess > -1e-12).all()
        assert excess.max() < 1e-3


def test_octaves_beyond_the_core_lead_to_the_value() -> None:
    """Each octave brings the sum closer to the delta of the case by itself, and within the stated error."""
    whole, threshold = AllPairs(cases(load("pl94-2020-units"), "bounded")), Fraction(2)
    (scan,) = whole.scan(Kind.DELTA, [threshold])
    for place in (14, 24, 25):
        true = math.exp(compose(whole.cases[place][1]).law.log_deltas([threshold])[0] - scan.exponent)
        value, error = scan.value[place], scan.error[place]
        for octave in range(4):
            more = whole.outward(Kind.DELTA, threshold, place, octave)
            assert more is not None
            value, error, before = value + more[0], error + more[1], error
            assert error <= before * (1 + 1e-9)
            assert abs(value - true) <= error + 2e-12 * true
        assert error < 0.01 * scan.error[place]


@pytest.mark.slow
def test_a_release_of_many_paths() -> None:
    """64 paths, 2,080 pairs: 24 of them, chosen at random with a fixed seed, cost no more than the worst."""
    whole = account(growing(6))
    (point,) = whole.at_delta("1e-10")
    # 1e-10 is attained by the worst case ...
    assert whole.case(point.worst).delta(epsilon=point.epsilon) == pytest.approx(1e-10, rel=1e-11)
    # ... and by no other: bounded from above by a grid
    for k in np.random.default_rng(5).choice(whole.pairs, size=24, replace=False):
        loss = compose(whole.cases[int(k)][1]).law.with_accuracy(1e-3)
        assert loss.delta(epsilon=point.epsilon, accuracy=1e-3) <= 1.001e-10


@pytest.mark.slow
def test_a_release_of_a_thousand_paths() -> None:
    (point,) = account(growing(10)).at_delta("1e-10")
    assert point.epsilon == pytest.approx(29.47374214762663, rel=1e-11)  # case (1016, 1016) by itself


# -- in balls ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["bounded", "unbounded"])
@pytest.mark.parametrize("name", NAMES)
def test_no_delta_exceeds_its_proved_bound(
    name: str, neighbours: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every case by itself, in floats that are good to 1e-12, against the bounds of all at once."""
    if name != "sensitive":  # the others also where it does not pay
        monkeypatch.setattr("discreet.loss.certified.all_cases._EACH", 10**9)
    listed = cases(ODD[name], neighbours)
    bounds = UpperBounds(AllPairs(listed))
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(3)):
        tops = bounds.at(epsilon, bounds.whole.main)
        assert len(tops) == len(listed)
        assert name == "sensitive" or all(top.is_finite() for top in tops)
        for (_, events), top in zip(listed, tops, strict=True):
            true = float(np.exp(compose(events).law.log_deltas([epsilon], math.inf)[0]))
            assert true * (1 - 2e-12) <= top
    # on one lattice nothing is left out: the bounds are the values
    if bounds.whole.lattice is not None:
        assert float(tops[-1]) == pytest.approx(true, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("name", ["dhc-2020", pytest.param("pl94-2020-persons", marks=pytest.mark.slow)])
def test_proved_bounds_are_close_and_never_below(name: str) -> None:
    listed = cases(load(name), "bounded")
    bounds = UpperBounds(AllPairs(listed))
    tops = [float(top) for top in bounds.at(Fraction(12), bounds.whole.main)]
    (scan,) = bounds.whole.scan(Kind.DELTA, [Fraction(12)])
    values, errors = (np.exp(scan.exponent) * part for part in (scan.value, scan.error))
    assert (np.array(tops) >= values - errors).all()
    assert np.median(np.array(tops) / values - 1) < 1e-7


@pytest.mark.slow
def test_the_worst_pair_is_not_proved_below_its_own_delta() -> None:
    whole = account(load("dhc-2020"))
    worst = whole.case((6, 6))
    box = worst.delta(epsilon="24.456", certified=True)
    open_ = whole.case_set.upper_bounds.unproved(
        Fraction("24.456"), box.lower * (1 - Fraction(1, 10**6)), worst.law.loss
    )
    assert whole.cases.find((6, 6)) in open_
    assert len(open_) < 20


def test_proved_bounds_of_a_portfolio() -> None:
    both = portfolio([load("pl94-2020-persons"), load("dhc-2022-08-25")])
    tops = both.case_set.upper_bounds.at(Fraction(14), both.case(both.main).law.loss)
    assert len(tops) == both.pairs
    (scan,) = both.together.scan(Kind.DELTA, [Fraction(14)])
    values, errors = (np.exp(scan.exponent) * part for part in (scan.value, scan.error))
    assert (np.array([float(top) for top in tops]) >= values - errors).all()


@pytest.mark.parametrize(
    "term",
    [
        DiscreteGaussian(variance="1/20", times=3),
        DiscreteGaussian(variance="1/2", sensitivity=2),
        DiscreteGaussian(variance="29/3", times=40),
        DiscreteGaussian(variance=10**6, sensitivity=3),
        DiscreteLaplace(scale="3/2", times=2),
        DiscreteLaplace(scale=50, sensitivity=7),
    ],
)
def test_tables_of_moduli_bound_the_transform(term: Noise) -> None:
    """At 4,000 random nodes, near and far; the transform itself in floats, good to 1e-12."""
    theta, period = 1.25, Fraction(40)
    nodes = np.unique(np.random.default_rng(5).integers(0, [100, 10**5, 10**9, 10**11], size=(1000, 4)))
    table = Moduli(term, Fraction(theta))
    true = TiltedTransform(Loss([term]), theta).log(nodes, period).real
    assert (table.at(nodes, period) >= true - 1e-11 - 1e-12 * np.abs(true)).all()
    for depth in (0.5, 4.0, 30.0):
        turn = np.abs((nodes * float(term.step / period) + 0.5) % 1 - 0.5)
        far = 2 * math.pi * turn > table.radius(depth) + 1e-4
        assert (true[far] <= -depth + 1e-9).all()


@pytest.mark.parametrize("people", [1, 2, 5])
def test_both_errors_of_all_pairs_are_those_of_single_ones(people: int) -> None:
    # more people: tilts a fraction of 1 apart, where transforms are complex
    whole = account(load("dhc-2020"), people=people)
    spread = math.sqrt(float(2 * whole.rho))
    # also values that the loss takes, where L > t and L >= t differ
    values = [
        Fraction(k) * Loss(whole.cases[0][1]).step + Loss(whole.cases[0][1]).offset for k in (0, -70_000)
    ]
    thresholds = [Fraction(float(x)) for x in np.linspace(-14 * spread, 14 * spread, 23)] + values
    places = [0, 5, 6, 222, 500, 945]
    losses = [Loss(whole.cases[k][1]) for k in places]
    found = both_errors(losses, thresholds)
    assert not np.isnan(found).any()
    for row, place in enumerate(places):
        for one, errors in zip(
            found, compose(whole.cases[place][1]).errors(threshold=thresholds), strict=True
        ):
            assert one[row] == pytest.approx(errors, rel=1e-12, abs=1e-307)


def test_both_errors_without_a_lattice_and_of_small_variances_come_from_single_cases() -> None:
    for name in ("laplace", "tiny", "decimals"):
        whole = account(ODD[name])
        alpha, beta = whole.errors(threshold=np.array([[-2.0, 0.0], [1.0, 3.0]]))
        assert alpha.shape == (whole.pairs, 2, 2)
        for k in range(0, whole.pairs, 2):
            one, two = compose(whole.cases[k][1]).errors(threshold=[-2, 0, 1, 3])
            assert alpha[k].ravel() == pytest.approx(one, rel=1e-12)
            assert beta[k].ravel() == pytest.approx(two, rel=1e-12)


@pytest.mark.slow
def test_hard_cases_are_ruled_out_on_finer_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    # at epsilon 0 the cases of Puerto Rico agree to 3e-9: fourteen were evaluated, seconds each
    evaluated: list[Any] = []

    def counted(whole: Account, label: Any) -> PrivacyLoss:
        evaluated.append(label)
        return case(whole, label)

    case = Account.case
    monkeypatch.setattr(Account, "case", counted)
    (point,) = account(load("dhc-2020-persons-pr")).at_epsilon([0])
    assert (point.delta, point.worst) == (pytest.approx(0.8847783594039338, rel=1e-12), (16, 16))
    assert len(evaluated) <= 4


class _EnoughError(Exception):
    """The rest of an account would tell nothing more."""


@pytest.mark.slow
def test_octaves_that_rule_out_nothing_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    # of so many people the pairs of paths are as good as equal: 946 pairs by 6 octaves took minutes
    asked: list[int] = []
    outward = AllPairs.outward

    def counted(
        self: AllPairs, kind: Kind, threshold: Fraction, place: int, octave_: int
    ) -> tuple[float, float] | None:
        asked.append(octave_)
        return outward(self, kind, threshold, place, octave_)

    def stopped(*_: object, **__: object) -> None:
        raise _EnoughError

    monkeypatch.setattr(AllPairs, "outward", counted)
    monkeypatch.setattr("discreet.accounting.account.map_cases", stopped)
    with pytest.raises(_EnoughError):
        account(load("dhc-2020"), people=10**12).epsilon(delta="1e-10")
    assert max(asked) < 2
