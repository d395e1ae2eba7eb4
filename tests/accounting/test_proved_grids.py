"""Proofs on grids for many events, against every outcome, closed forms, and the proofs on lattices."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from law_references import convolved_delta, drawn_events, rounded_deltas

from discreet import (
    ContinuousGaussian,
    ContinuousLaplace,
    DiscreteGaussian,
    DiscreteLaplace,
    Level,
    PowerNoise,
    PrecisionError,
    Query,
    Release,
    TableNoise,
    account,
    calibrate,
    compose,
)
from discreet.accounting.account import portfolio
from discreet.budget import Spine
from discreet.loss.grid_evaluator import GridEvaluator
from discreet.loss.masses import Masses, product
from discreet.loss.proved import is_listed, proof_near
from discreet.loss.proved_cases import CaseBounds, Halves
from discreet.loss.proved_grids import BITS, GridFactors, GridPlan
from discreet.noise import Noise
from discreet.noise.balls import ball, lower, upper, working_bits
from discreet.numbers import Interval

ANSWER = TableNoise({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"})
UNEVEN = TableNoise({0: "1/2", 1: "1/3", 2: "1/6"}, {0: "1/7", 1: "2/7", 2: "4/7"})
ENDLESS = TableNoise({-1: "1/4", 0: "1/2", 1: "1/4"})
EPSILONS = (Fraction(0), Fraction(1, 3), Fraction(2), Fraction(6), Fraction(-1, 2))


def on_grid(events: list[Noise], epsilon: Fraction, most: int) -> Interval:
    loss = GridEvaluator(events)
    return proof_near(loss, float(epsilon)).delta(epsilon, most)


def listed(events: list[Noise], epsilon: Fraction) -> Interval | None:
    """delta by every outcome in balls; outcomes beyond e^-90 are left out."""
    ctx.prec, before = 240, ctx.prec
    try:
        found = convolved_delta(events, abs(epsilon))
        if found is None:
            return None
        if epsilon < 0:
            back = ball(epsilon)
            found = -back.expm1() + back.exp() * found
        if found < arb(2) ** -4000:  # too small to be written out
            return Interval(Fraction(0), Fraction(1, 2**4000))
        return Interval(lower(found), upper(found))
    finally:
        ctx.prec = before


# -- whole numbers ------------------------------------------------------------------------------------------


def drawn_masses(draw: random.Random, level: int) -> tuple[Masses, list[Fraction]]:
    """Masses, and the exact measure that they bound: a unit or less below them, and all of it kept."""
    size = draw.randrange(1, 40)
    mass = [draw.choice([0, 1, 5, draw.getrandbits(draw.randrange(1, 55))]) for _ in range(size)]
    true = [m * Fraction(draw.choice([0, 1, 2, 2]), 2) if m < 10 else Fraction(m) for m in mass]
    over = math.ceil(sum(mass) - sum(true))
    first = draw.randrange(-50, 50)
    made = Masses(level, first, np.array(mass, dtype=np.uint64), draw.randrange(-80, 5), Fraction(0), over)
    return made, true


@pytest.mark.parametrize("seed", range(12))
def test_products_are_rounded_up_by_what_they_say(seed: int) -> None:
    draw = random.Random(seed)
    (one, p), (two, q) = drawn_masses(draw, 5), drawn_masses(draw, 5)
    both = one.times(two, 0)
    unit = Fraction(2) ** (both.exponent - one.exponent - two.exponent)
    exact: dict[int, Fraction] = {}
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            exact[one.first + i + two.first + j] = (
                exact.get(one.first + i + two.first + j, Fraction(0)) + a * b
            )
    found = {both.first + k: int(m) * unit for k, m in enumerate(both.mass)}
    assert all(found.get(point, 0) >= size for point, size in exact.items() if size)
    assert sum(found.values()) - sum(exact.values()) <= both.over * unit
    assert both.lost == 0


@pytest.mark.parametrize("shift", [0, 1, 37, 63, 64])
def test_coefficients_are_rounded_up(shift: int) -> None:
    draw = random.Random(shift)
    bits = 30 if not shift else 60
    one, two = ([draw.getrandbits(bits) for _ in range(size)] for size in (7, 4))
    exact = [sum(one[i] * two[k - i] for i in range(7) if 0 <= k - i < 4) for k in range(10)]
    if shift and max(exact).bit_length() - shift > 64:
        exact, one = [e >> 60 for e in exact], [x >> 60 for x in one]
        exact = [sum(one[i] * two[k - i] for i in range(7) if 0 <= k - i < 4) for k in range(10)]
    found = product(np.array(one, dtype=np.uint64), np.array(two, dtype=np.uint64), shift)
    assert found.tolist() == [-(-size >> shift) for size in exact]


@pytest.mark.parametrize("theta", [Fraction(0), Fraction(3, 2)])
@pytest.mark.parametrize("seed", range(4))
def test_a_coarser_grid_keeps_both_probabilities(seed: int, theta: Fraction) -> None:
    made, _ = drawn_masses(random.Random(seed), 3)
    with working_bits(200):
        coarse = made.coarser(theta)
        for power in (theta, theta + 1):  # untilted: with the person, and without
            before, after = (
                sum(
                    (
                        int(m) * (-ball(power * law.step * (law.first + k))).exp()
                        for k, m in enumerate(law.mass)
                    ),
                    arb(0),
                )
                for law in (made, coarse)
            )
            least = (-ball(power * coarse.step * (coarse.first + coarse.mass.size))).exp()
            most = (-ball(power * coarse.step * coarse.first)).exp()
            assert after >= before
            assert after - before <= (coarse.over - made.over) * most.max(least)


def test_ends_that_are_cut_off_are_lost() -> None:
    law = Masses(0, 0, np.array([1, 2, 1000, 3, 1], dtype=np.uint64), 0, Fraction(0))
    cut = law.trimmed(Fraction(4, 1007))
    assert (cut.first, cut.mass.tolist(), cut.lost) == (2, [1000], 7)


# -- one composition ----------------------------------------------------------------------------------------


def check(seed: int, most: int) -> str:
    """Check one random composition against every outcome, or a grid rounded both ways."""
    events = drawn_events(seed)
    way = "listed"
    for epsilon in EPSILONS:
        try:
            box = on_grid(events, epsilon, most)
        except PrecisionError:  # too many outcomes, or too strong a tilt
            return "refused"
        assert 0 <= box.lower <= box.upper <= 1
        true = listed(events, epsilon)
        if true is not None:
            assert box.lower <= true.upper + Fraction(1, 10**36), (seed, epsilon)
            assert box.upper >= true.lower, (seed, epsilon)
        elif epsilon >= 0:
            way = "rounded"
            (low, high), *_ = rounded_deltas(events, [float(epsilon)], 2**15)
            assert float(box.lower) <= high * (1 + 1e-9) + 1e-12, (seed, epsilon)
            assert float(box.upper) >= low * (1 - 1e-9) - 1e-12, (seed, epsilon)
    return way


@pytest.mark.parametrize("seed", range(12))
def test_random_compositions_contain_the_truth(seed: int) -> None:
    check(seed, 2**11)


@pytest.mark.slow
def test_more_random_compositions_contain_the_truth() -> None:
    ways = [check(seed, 2 ** random.Random(seed).randrange(10, 15)) for seed in range(100, 340)]
    assert ways.count("listed") > 30
    assert ways.count("rounded") > 30
    assert ways.count("refused") < 24


@pytest.mark.parametrize("times", [17, pytest.param(400, marks=pytest.mark.slow)])
def test_randomised_response_has_its_closed_form(times: int) -> None:
    with working_bits(300):
        for epsilon in (Fraction(0), Fraction(2), Fraction(math.log(3) * (times % 2)), Fraction(times, 2)):
            lift = ball(epsilon).exp()
            true = (
                sum(
                    (
                        math.comb(times, j) * (3**j - lift * 3 ** (times - j)).max(arb(0))
                        for j in range(times + 1)
                    ),
                    arb(0),
                )
                / arb(4) ** times
            )
            box = on_grid([ANSWER.repeated(times)], epsilon, 2**14)
            assert box.lower <= upper(true)
            assert lower(true) <= box.upper <= upper(true) * (1 + Fraction(1, 1000))


@pytest.mark.parametrize(
    "events",
    [
        [DiscreteGaussian(variance=5, times=30)],
        [DiscreteLaplace(scale=3, times=9), DiscreteGaussian(variance="7/3", times=4)],
        pytest.param([DiscreteLaplace(scale=2, times=40)], marks=pytest.mark.slow),
        pytest.param([DiscreteGaussian(variance=900, times=300, sensitivity=2)], marks=pytest.mark.slow),
        pytest.param(
            [DiscreteGaussian(variance="1/3", times=2), DiscreteGaussian(variance=50, times=60)],
            marks=pytest.mark.slow,
        ),
    ],
    ids=str,
)
def test_the_old_laws_agree_with_their_own_proofs(events: list[Noise]) -> None:
    whole = compose(events)
    for epsilon in ("1", "37/10", "11"):
        proved = whole.delta(epsilon=epsilon, certified=True)
        box = on_grid(events, Fraction(epsilon), 2**15)
        assert box.lower <= proved.upper
        assert proved.lower <= box.upper <= proved.upper * (1 + Fraction(1, 500))
        assert box.lower >= proved.lower * Fraction(95, 100)


@pytest.mark.parametrize("variance", ["1/2", "40"])
def test_a_normal_loss_on_the_grid_has_its_closed_form(variance: str) -> None:
    events: list[Noise] = [ContinuousGaussian(variance=variance, times=7)]
    loss = compose(events)
    for epsilon in ("0", "1/4", "5"):
        proved = loss.delta(epsilon=epsilon, certified=True)  # in closed form
        box = on_grid(events, Fraction(epsilon), 2**12)
        assert box.lower <= proved.upper
        assert proved.lower <= box.upper <= proved.upper * (1 + Fraction(1, 10**6)) + Fraction(1, 10**30)
        assert box.lower >= proved.lower * Fraction(99, 100)


def test_continuous_laplace_noise_is_proved() -> None:
    loss = compose([ContinuousLaplace(scale="3/2", sensitivity=2)])
    for epsilon in ("0", "1/5", "6/5"):
        with working_bits(200):
            true = -((ball(Fraction(epsilon)) - ball(Fraction(4, 3))) / 2).expm1()
        box = loss.delta(epsilon=epsilon, certified=True)
        assert box.lower <= lower(true) <= upper(true) <= box.upper
        assert box.width < Fraction(2, 10**6) * box.upper
    assert loss.delta(epsilon=2, certified=True).upper == 0
    assert Fraction(4, 3) in loss.epsilon(delta=0, certified=True)


def test_infinite_losses_are_part_of_every_delta() -> None:
    events: list[Noise] = [ENDLESS.repeated(3), PowerNoise("3/2", 6, times=6)]
    loss = compose(events)
    assert not is_listed(loss.law, None)  # type: ignore[arg-type]
    box = loss.delta(epsilon=30, certified=True)
    assert box.lower <= 1 - Fraction(3, 4) ** 3 <= box.upper
    assert box.width < Fraction(1, 10**9)
    assert loss.delta(epsilon=1, certified=True).lower > 1 - Fraction(3, 4) ** 3
    with pytest.raises(PrecisionError, match="no epsilon holds"):
        loss.epsilon(delta="1/2", certified=True)
    assert on_grid(
        [TableNoise({0: 1}), DiscreteGaussian(variance=5)], Fraction(3), 2**10
    ).lower > 1 - Fraction(1, 10**9)


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([PowerNoise("17/10", 5, times=10)], marks=pytest.mark.slow),
        pytest.param([UNEVEN.repeated(900), PowerNoise("3/2", 9, times=2)], marks=pytest.mark.slow),
        pytest.param(
            [ContinuousGaussian(variance=2, times=20), PowerNoise("3/2", 4, times=5)], marks=pytest.mark.slow
        ),
    ],
    ids=str,
)
def test_an_epsilon_is_enclosed(events: list[Noise]) -> None:
    loss = compose(events)
    for delta in ("1e-6", "0.97"):
        box = loss.epsilon(delta=delta, certified=True, digits=5)
        assert box.width < Fraction(1, 10**4) * max(abs(box.upper), Fraction(1, 1000))
        assert loss.delta(epsilon=box.lower, certified=True).upper >= Fraction(delta)
        assert loss.delta(epsilon=box.upper, certified=True).lower <= Fraction(delta)
        floats = loss.epsilon(delta=delta)
        assert float(box.lower) - 1e-6 <= floats <= float(box.upper) + max(1e-5, 1.01 * floats.accuracy)


def test_digits_that_cannot_be_had_are_refused() -> None:
    loss = compose([PowerNoise("17/10", 5, times=10)])
    with pytest.raises(PrecisionError, match=r"ask for \d digits"):
        loss.delta(epsilon=3, certified=True, digits=11)


# -- a whole release ----------------------------------------------------------------------------------------


def small_release(*noises: Noise, name: str = "small") -> Release:
    """Three levels of which the lowest may be merged, with other noise at the top."""
    top = [Query(name=f"top {k}", noise=noise) for k, noise in enumerate(noises)]
    levels = [Level(name="US", queries=top)]
    for level, size in (("State", "5/2"), ("County", 3), ("Tract", "9/2")):
        levels.append(Level(name=level, queries=[Query(name="total", variance=size)]))
    spine = Spine(may_merge_up=["County", "Tract"])
    return Release(name=name, neighbours="bounded", levels=levels, spine=spine)


@pytest.mark.parametrize("noise", [UNEVEN, PowerNoise("3/2", 2)], ids=str)
def test_bounds_of_all_cases_lie_above_each_of_them(noise: Noise) -> None:
    whole = account(small_release(noise))
    halves = Halves.of(whole.cases)
    assert halves is not None
    main = GridEvaluator(whole.events(whole.main))
    epsilon = Fraction(3, 2)
    found = []
    with working_bits(BITS):
        for side in main.sides:
            factors = GridFactors(GridPlan.of(side, 1.5, 2**12, -5.0))
            found.append(CaseBounds(halves, factors, side.exchanged).at(epsilon))
    for number, (_, events) in enumerate(whole.cases):
        box = on_grid(list(events), epsilon, 2**14)
        bound = max(one[number] for one in found)
        assert float(box.lower) <= bound
        assert bound <= float(box.upper) * 1.001


def test_an_epsilon_of_all_cases_is_enclosed() -> None:
    whole = account(small_release(UNEVEN), neighbours="unbounded")
    box = whole.epsilon(delta="1e-4", certified=True, digits=3)
    assert box.width < Fraction(2, 100)
    for end in (box.lower, box.upper):
        found = max(on_grid(list(events), end, 2**13).upper for _, events in whole.cases)
        assert (found >= Fraction("1e-4")) == (end == box.lower)


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["bounded", "unbounded"])
def test_all_cases_of_a_release_are_proved(relation: str) -> None:
    whole = account(small_release(UNEVEN, ENDLESS), neighbours=relation)  # type: ignore[arg-type]
    assert whole.pairs in (4, 10)
    for epsilon in ("-1/2", "10/7", "29/7"):
        box = whole.delta(epsilon=epsilon, certified=True)
        single = [on_grid(list(events), Fraction(epsilon), 2**15) for _, events in whole.cases]
        assert max(one.lower for one in single) <= box.upper
        assert box.lower <= max(one.upper for one in single)
        assert box.width < Fraction(1, 10**4) * box.upper


@pytest.mark.slow
def test_all_cases_of_a_portfolio_are_proved() -> None:
    other = Release(
        name="other",
        neighbours="bounded",
        levels=[
            Level(name="A", queries=[Query(name="a", noise=PowerNoise("3/2", 3))]),
            Level(name="B", queries=[Query(name="b", variance=4)]),
            Level(name="C", queries=[Query(name="c", variance=6)]),
        ],
        spine=Spine(may_merge_up=["C"]),
    )
    whole = portfolio([small_release(UNEVEN), other])
    assert whole.pairs == 30
    box = whole.delta(epsilon=2, certified=True)
    single = [on_grid(list(events), Fraction(2), 2**15) for _, events in whole.cases]
    assert max(one.lower for one in single) <= box.upper
    assert box.lower <= max(one.upper for one in single)
    near = whole.epsilon(delta="1e-4", certified=True)
    assert near.width < Fraction(1, 10**4)
    assert whole.delta(epsilon=near.upper, certified=True).lower <= Fraction("1e-4")
    assert whole.delta(epsilon=near.lower, certified=True).upper >= Fraction("1e-4")


def test_a_calibration_with_continuous_noise_is_proved() -> None:
    level = Level(name="State", queries=[Query(name="total", noise=ContinuousGaussian(variance=5))])
    release = Release(name="normal", neighbours="bounded", levels=[level])
    found = calibrate(release, epsilon=1, delta="1e-6")
    assert found.proof is not None
    assert found.proof.upper <= Fraction(1, 10**6)


@pytest.mark.slow
def test_a_calibration_with_power_noise_is_proved() -> None:
    level = Level(name="State", queries=[Query(name=f"q{k}", noise=PowerNoise("17/10", 5)) for k in range(9)])
    release = Release(name="powers", neighbours="unbounded", levels=[level])
    found = calibrate(release, epsilon=3, delta="1e-6")
    assert found.proof is not None
    assert found.proof.upper <= Fraction(1, 10**6)
    assert found.proof.lower > Fraction(99, 10**8)


def test_bounds_of_all_cases_change_no_float(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for least in (2, 100):  # different cases from which on most are ruled out by their bounds
        monkeypatch.setattr("discreet.accounting.grid_cases._MANY_LAWS", least)
        whole = account(small_release(UNEVEN), neighbours="unbounded")
        found.append(whole.at_epsilon(["1/2", "3"]))
    assert found[0] == found[1]
