"""Accounts of tables, powers and continuous noise, against closed forms, every outcome, and a second grid."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from flint import arb, ctx
from law_references import (
    Direction,
    EveryOutcome,
    Interpolated,
    convolved_delta,
    drawn_events,
    rounded_deltas,
)

from discreet import (
    ContinuousGaussian,
    ContinuousLaplace,
    DiscreteGaussian,
    DiscreteLaplace,
    InputError,
    PowerNoise,
    PrecisionError,
    TableNoise,
    account,
    compose,
)
from discreet.loss.grid_evaluator import GridEvaluator
from discreet.noise import Noise
from discreet.noise.balls import lower, upper, working_bits

ANSWER = TableNoise({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"})
UNEVEN = TableNoise({0: "1/2", 1: "1/3", 2: "1/6"}, {0: "1/7", 1: "2/7", 2: "4/7"})


def slowly(*values: object) -> object:
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize("times", [1, 2, 5, 17, 60, 200])
def test_randomised_response_has_its_closed_form(times: int) -> None:
    # k answers of which each is true with probability 3/4: a sum over the number of true ones
    loss = compose([ANSWER.repeated(times)])
    for epsilon in (Fraction(0), Fraction(1, 3), Fraction(2), Fraction(7), Fraction(times)):
        lift = Fraction(math.exp(epsilon))
        true = sum(
            math.comb(times, j) * max(Fraction(0), 3**j - lift * 3 ** (times - j)) for j in range(times + 1)
        ) / Fraction(4**times)
        found = loss.delta(epsilon=epsilon)
        assert float(true) * (1 - 1e-15) <= found <= float(true) * (1 + 1e-11) + 1e-300
    assert loss.epsilon(delta=0) == pytest.approx(times * math.log(3), rel=1e-13)


def normal_delta(epsilon: float, variance: Fraction) -> float:
    ctx.prec, before = 300, ctx.prec
    try:
        s, e = (arb(variance.numerator) / variance.denominator).sqrt(), arb(epsilon)
        a = s / 2 - e / s
        root = arb(2).sqrt()
        return float(((-a / root).erfc() - e.exp() * ((s - a) / root).erfc()) / 2)
    finally:
        ctx.prec = before


@pytest.mark.parametrize(
    "variance", ["1/100", "1/2", slowly("3"), slowly("40"), slowly("900"), slowly("123456")]
)
@pytest.mark.parametrize("times", [1, 7])
def test_continuous_gaussians_have_their_closed_form(variance: str, times: int) -> None:
    loss = compose([ContinuousGaussian(variance=variance, times=times)])
    r = Fraction(times) / Fraction(variance)
    for epsilon in (-2.0, -0.01, 0.0, 1e-3, 0.25, 1.0, 5.0, 20.0, 300.0):
        true = normal_delta(epsilon, r)
        if true > 1e-250:
            assert loss.delta(epsilon=epsilon) == pytest.approx(true, rel=1e-12)
    for delta in ("1e-3", "1e-10", "1e-100"):
        epsilon = float(loss.epsilon(delta=delta))
        assert normal_delta(epsilon, r) == pytest.approx(float(Fraction(delta)), rel=1e-9)


def test_continuous_laplace_alone_has_its_closed_form() -> None:
    loss = compose([ContinuousLaplace(scale="3/2", sensitivity=2)])
    for epsilon in (0.0, 0.2, 0.7, 1.2):
        true = -math.expm1((epsilon - 4 / 3) / 2)
        assert true <= loss.delta(epsilon=epsilon) <= true * (1 + 1e-6)
    assert loss.delta(epsilon=2) == 0
    assert loss.epsilon(delta=0) == pytest.approx(4 / 3, rel=1e-13)


def test_an_epsilon_lies_above_the_truth_and_has_its_delta() -> None:
    # delta = 1 - e^((epsilon - 5/8) / 2); the bound of delta was once rounded up twice, to 1.000001e-6
    loss = compose([ContinuousLaplace(scale="24/5", sensitivity=3)])
    epsilon = loss.epsilon(delta="1e-6")
    true = 5 / 8 + 2 * math.log1p(-1e-6)
    assert true <= epsilon <= true + 1e-12
    assert loss.delta(epsilon=float(epsilon)) <= 1e-6


@pytest.mark.parametrize(
    ("power", "old"),
    [
        slowly(PowerNoise(1, 3, times=4), DiscreteLaplace(scale=3, times=4)),
        slowly(PowerNoise(1, 2, sensitivity=3, times=30), DiscreteLaplace(scale=2, sensitivity=3, times=30)),
        (PowerNoise(2, 4, times=3), DiscreteGaussian(variance=8, times=3)),
        slowly(
            PowerNoise(2, 4, sensitivity=2, times=30), DiscreteGaussian(variance=8, sensitivity=2, times=30)
        ),
    ],
)
def test_the_ends_of_the_powers_are_the_old_laws(power: Noise, old: Noise) -> None:
    one, two = compose([power]), compose([old])
    for delta in ("0.3", "1e-3", "1e-12"):
        assert one.epsilon(delta=delta) == pytest.approx(float(two.epsilon(delta=delta)), rel=1e-9)
    for alpha in ("0.001", "0.2", "0.6"):
        assert one.tradeoff(alpha=alpha) == pytest.approx(float(two.tradeoff(alpha=alpha)), rel=1e-9)


@pytest.mark.parametrize("alpha", ["1e-10", "1e-14", "1e-20", "1e-100"])
def test_the_tradeoff_of_a_rare_large_loss(alpha: str) -> None:
    # a loss of 14.9 with chance 0.003, 18 standard deviations from the mean: the best test is about it alone
    rare = TableNoise({0: 1 - Fraction(1, 10**9), 1: Fraction(1, 10**9)}, {0: "0.997", 1: "0.003"})
    true = 1 - float(Fraction(alpha)) * 3e6
    found = compose([rare]).tradeoff(alpha=alpha)
    assert found <= true
    assert found * (1 + found.accuracy) >= true * (1 - 1e-15)


DELTAS = (Fraction(1, 20), Fraction(1, 10**6), Fraction(1, 10**20))


def check_composition(seed: int) -> str:
    """Check delta, epsilon and f of a random composition; return in which way, and what was refused.

    A delta is at most the one returned, and at least as much as its accuracy says; so are epsilons, and f
    the other way round. Discrete Gaussian and Laplace noise alone have values rounded to the nearest.
    """
    events, draw = tuple(drawn_events(seed)), random.Random(seed)
    loss, exact, grid = compose(events), EveryOutcome.of(events), Interpolated(events)
    nearest = not isinstance(loss.law, GridEvaluator)
    infinite = max(Direction(events, exchanged).infinite for exchanged in (False, True))
    errors, refused = [0.0], list[str]()

    def true_delta(epsilon: float) -> tuple[float, float, float]:
        """delta by the second way, its relative and its absolute error."""
        if exact is not None:
            return exact.delta(epsilon), 1e-15, exact.left_out + 1e-300
        value, error = grid.delta(epsilon)
        errors.append(error)
        return (value, error, 1e-30) if error < 0.01 else (value, error, 1.0)  # too rough to say anything

    def check_delta(epsilon: float) -> None:
        found, (true, error, least) = loss.delta(epsilon=epsilon), true_delta(epsilon)
        below, above = (max(found.accuracy, 1e-12) if nearest else 0.0), max(found.accuracy, 1e-12)
        assert found * (1 + below) >= true * (1 - error) - least, (seed, epsilon, found, true)
        assert found <= true * (1 + 1.01 * above + error) + least, (seed, epsilon, found, true, above)

    def check_epsilon(delta: Fraction) -> None:
        epsilon = loss.epsilon(delta=delta)
        if delta < infinite:
            assert epsilon == math.inf, (seed, delta, epsilon)
            return
        above = float(epsilon) + (epsilon.accuracy if nearest else 0.0)
        if above > 0:
            true, error, least = true_delta(above)
            assert true * (1 - error) - least <= float(delta), (seed, delta, epsilon, true)
            # the logarithm of a tiny delta is rounded, and then its digits are
            here = loss.delta(epsilon=above)
            assert here <= float(delta) * (1 + 1e-12 + 20 * here.accuracy), (seed, delta, epsilon, here)
        below = float(epsilon) - 1.01 * epsilon.accuracy - 1e-12 * abs(epsilon)
        if below > 0:
            true, error, least = true_delta(below)
            assert true * (1 + error + 1e-12) + least >= float(delta), (seed, delta, epsilon, true)

    def check_tradeoff(alpha: float) -> None:
        f = loss.tradeoff(alpha=alpha)
        true, error = (exact.tradeoff(alpha), 1e-13) if exact is not None else grid.tradeoff(alpha)
        assert f <= 1 - alpha, (seed, alpha, f)
        if true > 1e-12 and error < 0.01:
            errors.append(error)
            room = max(f.accuracy, 1e-12) if nearest else 0.0
            assert f * (1 - room) <= true * (1 + error) + 1e-15, (seed, alpha, f, true, error)
            assert f * (1 + 1.01 * f.accuracy + error) >= true - 1e-12, (seed, alpha, f, true, error)

    checks: list[tuple[str, Callable[[], None]]] = [
        (f"delta({e:.3g})", partial(check_delta, e))
        for e in draw.sample([0.0, 0.01, 1 / 3, 1.0, 2.0, 6.0, 20.0], 3)
    ]
    delta, alpha = draw.choice(DELTAS), draw.choice([0.001, 0.05, 0.4, 0.9])
    checks += [(f"epsilon({float(delta):.1g})", partial(check_epsilon, delta))]
    checks += [(f"f({alpha})", partial(check_tradeoff, alpha))]
    for name, check in checks:
        try:
            check()
        except PrecisionError:
            refused.append(name)
    way = "every outcome" if exact is not None else "interpolated grid"
    if exact is None and max(errors) > 1e-5:
        way, epsilons = "rounded grid", [0.0, 1 / 3, 2.0]
        for at, (low, high) in zip(epsilons, rounded_deltas(events, epsilons), strict=True):
            found = loss.delta(epsilon=at)
            assert found >= low * (1 - 1e-12) - 2e-11, (seed, at, found, low)
            assert found <= high * (1 + 1e-3) + 2e-11, (seed, at, found, high)
    return f"{way}; refused: {', '.join(refused)}" if refused else way


QUICK = (10017, 10090, 10145, 10218, 10282, 10369, 11553, 12388, 12389)
"""Compositions that take a tenth of a second or so each; the last three were once wrong, here or there."""


IN_BALLS = (20001, 20003, 20046, 20219, 20430, 20492)
"""Compositions of few outcomes, over all laws; the last four have infinite losses, whose chance is a floor.
"""


@pytest.mark.parametrize("seed", QUICK)
def test_random_compositions_agree_with_a_second_way(seed: int) -> None:
    check_composition(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 3000, 100))
def test_three_hundred_random_compositions(first: int) -> None:
    for seed in range(10_000 + first, 10_010 + first):
        check_composition(seed)


@pytest.mark.slow
def test_a_sum_over_every_outcome_beside_two_densities() -> None:
    # the sum over 100,845 outcomes of the discrete events, each times delta of the two continuous Laplace
    # losses (a closed form, integrated piece by piece), in floats: 18 November 2026
    true = 0.17537351008458624
    loss = compose(drawn_events(10983))
    found = loss.delta(epsilon=20)
    assert true * (1 - 1e-12) <= found <= true * (1 + 1e-6)
    box = loss.delta(epsilon=20, certified=True)
    assert float(box.lower) <= true * (1 + 1e-12)
    assert true * (1 - 1e-12) <= float(box.upper)


def check_in_balls(seed: int) -> bool:
    """Check delta of a few events against direct convolution in balls; False: too many outcomes."""
    events = drawn_events(seed)
    with working_bits(240):
        for epsilon in (Fraction(0), Fraction(1, 3), Fraction(2)):
            true = convolved_delta(events, epsilon)
            if true is None:
                return False
            loss = compose(events)
            try:
                found = loss.delta(epsilon=epsilon)
            except PrecisionError:
                continue
            least = Fraction(1, 10**36)  # outcomes that are not listed; and what rounding leaves of zero
            above = least + Fraction(2, 10**12)
            nearest = not isinstance(loss.law, GridEvaluator)
            room = Fraction(max(3 * found.accuracy, 1e-15) if nearest else max(found.accuracy, 1e-15))
            lowest = lower(true) * (1 - room if nearest else 1) - least
            assert lowest <= Fraction(float(found)) <= upper(true) * (1 + room) + above, (seed, epsilon)
    return True


@pytest.mark.parametrize("seed", IN_BALLS)
def test_few_events_agree_with_direct_convolution_in_balls(seed: int) -> None:
    assert check_in_balls(seed)


@pytest.mark.slow
def test_more_events_agree_with_direct_convolution_in_balls() -> None:
    assert sum(check_in_balls(seed) for seed in range(20_000, 20_600)) > 100


def test_the_larger_of_both_directions_counts() -> None:
    one, other = compose([UNEVEN]), compose([UNEVEN.exchanged()])
    pairs = UNEVEN.pairs
    for epsilon in (0.0, 0.4, 1.0):
        ways = [
            sum(max(0.0, float(p) - math.exp(epsilon) * float(q)) for p, q in order)
            for order in (pairs, [(q, p) for p, q in pairs])
        ]
        assert one.delta(epsilon=epsilon) == pytest.approx(max(ways), rel=1e-11)
        assert other.delta(epsilon=epsilon) == pytest.approx(max(ways), rel=1e-11)
    assert not UNEVEN.is_mirrored


def test_the_tradeoff_is_the_hull_of_both_directions() -> None:
    # knots of both Neyman-Pearson curves, and the lower convex hull of all of them
    knots = []
    for order in (UNEVEN.pairs, [(q, p) for p, q in UNEVEN.pairs]):
        alpha, beta = 0.0, 1.0
        knots.append((alpha, beta))
        for p, q in sorted(order, key=lambda pair: pair[0] / pair[1]):
            alpha, beta = alpha + float(p), beta - float(q)
            knots.append((alpha, beta))
    points = sorted(knots)
    for at in (0.02, 0.1, 0.3, 0.5, 0.8):
        hull = min(
            (b * (x - at) + y * (at - a)) / (x - a)
            for a, b in points
            for x, y in points
            if a <= at <= x and x > a + 1e-15
        )
        assert compose([UNEVEN]).tradeoff(alpha=at) == pytest.approx(hull, rel=1e-9)


def test_infinite_losses_go_into_delta_as_they_are() -> None:
    cut = TableNoise({-1: "1/4", 0: "1/2", 1: "1/4"}, times=3)
    loss = compose([cut])
    mass = 1 - 0.75**3
    assert loss.delta(epsilon=100) == pytest.approx(mass, rel=1e-12)
    assert loss.epsilon(delta="1/2") == math.inf
    assert loss.epsilon(delta=0) == math.inf
    assert loss.tradeoff(alpha=0) == pytest.approx(1 - mass, rel=1e-12)
    assert cut.zcdp is None


def test_a_table_without_overlap_reveals_everything() -> None:
    loss = compose([TableNoise({0: 1}), DiscreteGaussian(variance=5)])
    assert loss.delta(epsilon=3) == 1
    assert loss.tradeoff(alpha="1/2") == 0


def test_pairs_of_paths_exchange_the_second() -> None:
    from discreet import Level, Query, Release

    level = Level(name="State", queries=[Query(name="total", noise=UNEVEN)])
    whole = account(Release(name="small", neighbours="bounded", levels=[level]))
    # the record that leaves and the record that comes: one table each way, which is mirrored
    leaving = [(p, q) for p, q in UNEVEN.pairs]
    for epsilon in (0.0, 0.8, 2.0):
        true = sum(
            max(0.0, float(q * c) - math.exp(epsilon) * float(p * d)) for p, q in leaving for c, d in leaving
        )
        assert whole.delta(epsilon=epsilon) == pytest.approx(true, rel=1e-11)
        assert whole.pair(1, 1).delta(epsilon=epsilon) == pytest.approx(true, rel=1e-11)


@pytest.mark.parametrize(
    "events",
    [
        [ANSWER.repeated(9)],
        [UNEVEN.repeated(5)],
        slowly([PowerNoise("17/10", 2), DiscreteLaplace(scale=2)]),
        slowly([PowerNoise("3/2", 2), ContinuousGaussian(variance=4, times=3)]),
        [
            TableNoise({-2: "1/8", -1: "1/4", 0: "1/4", 1: "1/4", 2: "1/8"}, times=3),
            DiscreteGaussian(variance="1/2"),
        ],
    ],
    ids=str,
)
def test_proofs_contain_the_truth_and_the_float(events: list[Noise]) -> None:
    loss = compose(events)
    outcomes = EveryOutcome.of(events)
    assert outcomes is not None
    true = outcomes.delta(0.5)
    box = loss.delta(epsilon="1/2", certified=True)
    assert float(box.lower) * (1 - 1e-15) <= true <= float(box.upper) * (1 + 1e-15)
    assert box.lower <= Fraction(float(loss.delta(epsilon="1/2"))) <= box.upper
    proved = loss.epsilon(delta="2/5", certified=True)
    epsilon = loss.epsilon(delta="2/5")  # rounded up to the digits that hold
    assert float(proved.lower) <= epsilon <= float(proved.upper) + epsilon.accuracy


def test_what_cannot_be_proved_is_refused() -> None:
    with pytest.raises(PrecisionError, match="on the finest grid"):
        compose([ContinuousLaplace(scale=3)]).delta(epsilon="1/5", certified=True, digits=12)
    with pytest.raises(InputError, match="trade-off curve needs discrete Gaussian"):
        compose([ANSWER]).tradeoff(alpha="0.1", certified=True)


@pytest.mark.slow
def test_many_counts_are_bounded_by_the_grid_from_above() -> None:
    events = [
        PowerNoise("17/10", 5, times=160),
        TableNoise({0: "1/2", 1: "1/2"}, {0: "2/5", 1: "3/5"}, times=9),
    ]
    loss = compose(events)
    (low, high), *_ = rounded_deltas(events, [8.0], 2**19)
    found = loss.delta(epsilon=8)
    assert low <= found <= high
    assert found.accuracy < 1e-4
    assert found * (1 - found.accuracy) >= low


def test_group_privacy_shifts_tables_and_refuses_answers() -> None:
    noise = TableNoise({-1: "1/4", 0: "1/2", 1: "1/4"})
    assert account([noise], people=2).delta(epsilon=50) == pytest.approx(0.75, rel=1e-12)
    with pytest.raises(InputError, match="nothing of 2 people"):
        account([ANSWER], people=2)


def test_portfolios_of_laws() -> None:
    from discreet import Level, Query, Release, portfolio

    def release(name: str, noise: Noise) -> Release:
        level = Level(name="State", queries=[Query(name="total", noise=noise)])
        return Release(name=name, neighbours="unbounded", levels=[level])

    both = portfolio([release("a", ANSWER), release("b", PowerNoise("3/2", 3))])
    alone = compose([ANSWER, PowerNoise("3/2", 3)])
    assert both.epsilon(delta="1e-6") == pytest.approx(float(alone.epsilon(delta="1e-6")), rel=1e-9)
    assert both.tradeoff(alpha="0.1") == pytest.approx(float(alone.tradeoff(alpha="0.1")), rel=1e-9)


@pytest.mark.slow
def test_rho_of_a_law_bounds_its_divergences() -> None:
    for noise in (
        PowerNoise("17/10", 4),
        ANSWER,
        UNEVEN,
        TableNoise({0: "1/3", 1: "2/3"}, {0: "1/2", 1: "1/2"}),
    ):
        rho = noise.zcdp
        assert rho is not None
        best = 0.0
        for exchanged in (False, True):
            law = noise.loss_law(exchanged=exchanged)
            for t in np.geomspace(1e-3, 1e3, 300):
                best = max(best, float(np.logaddexp.reduce(law.log + t * law.value)) / (t * (t + 1)))
        assert best <= float(rho) <= best * 1.001 + 1e-8
    assert float(PowerNoise(2, 4).zcdp or 0) == pytest.approx(
        float(DiscreteGaussian(variance=8).zcdp or 0), rel=3e-5
    )
