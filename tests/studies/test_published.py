"""The published methods against an independent direct convolution, and where their tolerance fails."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.privacy_loss import compose
from discreet.errors import InputError, PrecisionError
from discreet.loss.contour import Kind
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.studies import printed
from discreet.studies.boole import BooleSum, boole_error
from discreet.studies.published import (
    LatticeNormal,
    SequentialSieve,
    TwoFold,
    WithBound,
    _sums_of_squares,
    residual_supremum,
)

PRINTED = printed("sieve", "tables of all pairs, authors' repository", "delta of the main pair")
BITS = 500  # probabilities are integers over 2^500

Events = tuple[DiscreteGaussian, ...]

COMPOSITIONS: dict[str, Events] = {
    "ten of variance 5": (DiscreteGaussian(variance=5, times=10),),
    "two variances": (DiscreteGaussian(variance=5, times=4), DiscreteGaussian(variance="3/2", times=2)),
    "three variances, sensitivity 2 and 3": (
        DiscreteGaussian(variance=4),
        DiscreteGaussian(variance=6, sensitivity=3, times=2),
        DiscreteGaussian(variance=9, sensitivity=2, times=2),
    ),
    "small variances": (DiscreteGaussian(variance="1/5", times=2), DiscreteGaussian(variance="2/5")),
}

DHC_MAIN_PAIR = tuple(
    # 2020 DHC persons, United States, pair (13, 13): query budgets rho and their number over both paths,
    # variance 1/rho; from the production configuration (sum of rho over one path: 24811/5000)
    DiscreteGaussian(variance=1 / Fraction(rho), times=times)
    for rho, times in [
        ("999/2500", 2), ("217/625", 4), ("239/1250", 4), ("31/250", 4), ("999/10000", 18), ("217/2500", 16),
        ("239/5000", 36), ("43/1000", 20), ("31/1000", 16), ("73/2500", 2), ("73/10000", 18),
        ("11/10000", 20),
    ]
)  # fmt: skip


@functools.cache
def direct(events: Events) -> tuple[Fraction, dict[int, int]]:
    """The law of S = sum a_k X_k: lattice step, and probabilities over 2^BITS, by plain convolution."""
    weights = [event.sensitivity / event.variance for event in events]
    step = Fraction(1, math.lcm(*(a.denominator for a in weights)))
    law = {0: 1 << BITS}
    with mp.workprec(BITS + 40):
        for event, a in zip(events, weights, strict=True):
            v = event.variance
            reach = math.ceil(math.sqrt(2 * v * 340))
            xs = range(-reach, reach + 1)
            raw = [mp.exp(-mp.mpf(x * x) * v.denominator / (2 * v.numerator)) for x in xs]
            total = mp.fsum(raw)
            one = [int(mp.floor(mp.ldexp(w / total, BITS))) for w in raw]
            for _ in range(event.times):
                wider: dict[int, int] = {}
                for m, p in law.items():
                    for x, w in zip(xs, one, strict=True):
                        at = m + x * int(a / step)
                        wider[at] = wider.get(at, 0) + p * w
                law = {m: p >> BITS for m, p in wider.items() if p >> BITS}
    return step, law


def exact_delta(events: Events, epsilon: float) -> mp.mpf:
    """P[S > eps - R/2] - e^eps P[S > eps + R/2], from the law."""
    step, law = direct(events)
    R = sum(event.precision for event in events)
    low, high = Fraction(epsilon) - R / 2, Fraction(epsilon) + R / 2
    first = sum(p for m, p in law.items() if m * step > low)
    second = sum(p for m, p in law.items() if m * step > high)
    with mp.workprec(BITS):
        return mp.ldexp(first, -BITS) - mp.exp(epsilon) * mp.ldexp(second, -BITS)


def error(found: WithBound, exact: mp.mpf) -> mp.mpf:
    return abs(mp.mpf(found.value) - exact)


# -- the sieve paper ----------------------------------------------------------------------------------


SLOWEST = (None, "three variances, sensitivity 2 and 3")


@pytest.mark.parametrize(
    ("digits", "name"),
    [
        pytest.param(*case, marks=pytest.mark.slow if case == SLOWEST else ())
        for case in itertools.product([None, 30, 50], COMPOSITIONS)
    ],
)
def test_sieve_is_within_its_own_bound(digits: int | None, name: str) -> None:
    events = COMPOSITIONS[name]
    method = SequentialSieve(events, digits=digits)
    for epsilon in (0.0, 0.4, 1.0, 2.5, 6.0, 11.0, 17.5, 25.0):
        found, exact = method.delta(epsilon=epsilon), exact_delta(events, epsilon)
        assert error(found, exact) <= found.bound
    # and the bound is worth something in the bulk: a hundred units of rounding, or the float it is given as
    value, bound = method.delta(epsilon=1.0)
    assert bound < (1e-12 if digits is None else 1e-15 * value)


def test_algorithm_1_keeps_what_no_factor_alone_discards() -> None:
    events = [DiscreteGaussian(variance=Fraction(v), times=n) for v, n in (("5", 3), ("20/3", 2), ("10", 4))]
    method = SequentialSieve(events, tail=1e-12, discard=1e-9, as_printed=True)
    # by hand: the modulus of one count at each node, as a cosine sum
    nodes, kept = np.arange(-(method.nodes // 2), method.nodes // 2 + 1), 0
    x = np.arange(-80, 81)
    small = np.zeros(nodes.size, dtype=bool)
    for event in events:
        weights = np.exp(-(x**2) / (2 * float(event.variance)))
        turn = 2 * math.pi * nodes * int(1 / event.variance / method.step) / method.nodes
        small |= np.abs(np.cos(np.multiply.outer(turn, x)) @ (weights / weights.sum())) < method.discard
    kept = int((~small).sum())
    assert method.survivors == kept < method.nodes
    by_product = SequentialSieve(events, tail=1e-12, discard=1e-9)
    assert by_product.survivors < kept
    exact = compose(events)
    for epsilon in (0.5, 2.0):
        assert method.delta(epsilon=epsilon).covers(float(exact.delta(epsilon=epsilon)))


def test_sieve_tolerances_are_really_used() -> None:
    events = COMPOSITIONS["ten of variance 5"]
    # at epsilon = 5 the second threshold lies beyond the truncation level for tail mass 1e-3
    for tail, discard, epsilon in ((1e-3, 1e-18, 5.0), (1e-18, 1e-3, 1.0)):
        found = SequentialSieve(events, tail=tail, discard=discard).delta(epsilon=epsilon)
        assert 1e-5 < error(found, exact_delta(events, epsilon)) <= found.bound
    assert SequentialSieve(events, tail=1e-3).tail_error() == pytest.approx(1e-3, rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    variances=st.lists(st.sampled_from(["1/3", "1/2", "1", "2", "7/2", "6"]), min_size=1, max_size=3),
    sensitivity=st.integers(min_value=1, max_value=3),
    epsilon=st.floats(min_value=0, max_value=12),
)
def test_sieve_in_floats_and_in_balls_agree(variances: list[str], sensitivity: int, epsilon: float) -> None:
    events = [DiscreteGaussian(variance=v, sensitivity=sensitivity) for v in variances]
    fast, slow = SequentialSieve(events), SequentialSieve(events, digits=25)
    one, other = fast.delta(epsilon=epsilon), slow.delta(epsilon=epsilon)
    assert abs(one.value - other.value) <= one.bound + other.bound


@pytest.mark.parametrize(
    ("share", "delta", "epsilon"),
    [
        # allocation of 2022-08-25, rho = 3.65, ten events of variance 10 / (2 share rho) per level
        ("0.02", 1e-11, 2.4682),  # US
        ("0.02", 1e-5, 1.4781),
        ("0.274", 1e-11, 10.125),  # State
        ("0.274", 1e-5, 6.5716),
        ("0.085", 1e-11, 5.3276),  # County
        ("0.085", 1e-5, 3.3285),
        ("0.003", 1e-11, 0.91783),  # Block
        ("0.003", 1e-5, 0.52219),
    ],
)
def test_levels_of_the_allocation(share: str, delta: float, epsilon: float) -> None:
    events = [DiscreteGaussian(variance=10 / (2 * Fraction(share) * Fraction("3.65")), times=10)]
    for method in (SequentialSieve(events, digits=40), LatticeNormal(events)):
        value, bound = method.epsilon(delta=delta)
        assert f"{value:.{len(str(epsilon).replace('.', '').lstrip('0'))}g}" == f"{epsilon}"
        assert bound < 1e-9


def test_published_deep_tail() -> None:
    method = SequentialSieve(DHC_MAIN_PAIR, digits=50)
    assert method.step == Fraction(1, 10_000)
    assert method.nodes > 900_000
    assert method.survivors < 200
    # at zCDP's epsilon for delta = 1e-10 the printed value is sound
    assert method.delta(epsilon=26.340588852722323).value == pytest.approx(PRINTED["1e-10"].value, rel=1e-11)
    # zCDP's epsilon for delta = 1e-21: tilted quadrature gives 9.614584784830053e-24
    rho = 4.9622
    epsilon = rho + 2 * math.sqrt(rho * 21 * math.log(10))
    truth = 9.614584784830053e-24
    assert method.delta(epsilon=epsilon).value == pytest.approx(truth, rel=1e-12)
    for tail in (1e-36, 4e-37):
        coarse = SequentialSieve(DHC_MAIN_PAIR, digits=50, tail=tail).delta(epsilon=epsilon)
        assert coarse.value > 3 * truth
        assert coarse.bound > abs(coarse.value - truth) > 4e-39 * math.exp(epsilon)
    # the printed value is what a truncation at tail mass 4e-37 gives, within 2 percent
    assert coarse.value == pytest.approx(PRINTED["1e-21"].value, rel=0.02)


def test_double_precision_loses_the_tail_much_earlier() -> None:
    found = SequentialSieve(DHC_MAIN_PAIR).delta(epsilon=26.340588852722323)
    assert abs(found.value - PRINTED["1e-10"].value) > 1e-13
    assert found.covers(PRINTED["1e-10"].value)
    assert found.bound > 1e-4
    with pytest.raises(PrecisionError, match="the method's own error bound"):
        SequentialSieve(DHC_MAIN_PAIR).epsilon(delta=1e-10)
    # exact epsilon at delta = 1e-10 is 24.4565 (tilted quadrature), against zCDP's 26.3406
    found = SequentialSieve(DHC_MAIN_PAIR, digits=50).epsilon(delta=1e-10)
    assert found.value == pytest.approx(24.4565, abs=5e-5)


def test_sieve_refuses_what_it_cannot_do() -> None:
    with pytest.raises(PrecisionError, match="nodes"):
        SequentialSieve([DiscreteGaussian(variance="1000003/7"), DiscreteGaussian(variance="999983/11")])
    with pytest.raises(InputError, match="discrete Gaussian events only"):
        SequentialSieve([DiscreteLaplace(scale=2)])
    with pytest.raises(InputError, match="tail is 0"):
        SequentialSieve(COMPOSITIONS["two variances"], tail=0.0)
    with pytest.raises(InputError, match="epsilon is -1"):
        SequentialSieve(COMPOSITIONS["two variances"]).delta(epsilon=-1.0)
    with pytest.raises(InputError, match="at epsilon = 0"):
        SequentialSieve([DiscreteGaussian(variance=100)]).epsilon(delta=0.9)


# -- the lattice-normal method ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variance", "supremum", "printed"),
    # n = 10: the true suprema, and the bounds that the first paper prints (arXiv:2410.09296)
    [(1, 4.18e-8, 4e-7), (5, 2.99e-39, 3e-37), (10, 5.60e-78, 3e-75)],
)
def test_residuals_of_the_first_paper(variance: int, supremum: float, printed: float) -> None:
    found = residual_supremum(variance=variance, times=10)
    assert found == pytest.approx(supremum, rel=2e-3)
    bound = LatticeNormal([DiscreteGaussian(variance=variance, times=10)]).residual_bound
    assert found <= bound < 1.4 * found < printed


@settings(max_examples=30, deadline=None)
@given(
    variance=st.fractions(min_value="1/5", max_value=3, max_denominator=10),
    times=st.integers(min_value=1, max_value=12),
)
def test_residual_bound_bounds(variance: Fraction, times: int) -> None:
    method = LatticeNormal([DiscreteGaussian(variance=variance, times=times)])
    found = residual_supremum(variance=variance, times=times)
    assert 0 < found <= method.residual_bound


def test_ratio_has_period_n() -> None:
    events = (DiscreteGaussian(variance="3/5", times=4),)
    step, law = direct(events)
    assert step == Fraction(5, 3) / 5  # a = 5/3 on the lattice of thirds
    v = 4 * 0.6
    ratio = {
        m: float(mp.ldexp(law[5 * m], -BITS)) / (math.exp(-m * m / (2 * v)) / math.sqrt(2 * math.pi * v))
        for m in range(-6, 7)
    }
    for m in range(-6, 3):
        assert ratio[m] == pytest.approx(ratio[m + 4], rel=1e-12)
    assert abs(ratio[0] - ratio[2]) > 1e-4
    bound = LatticeNormal(events).ratio_bound
    assert 0.3 * bound < max(abs(r - 1) for r in ratio.values()) <= bound


@pytest.mark.parametrize(
    "event",
    [
        DiscreteGaussian(variance=5, times=10),
        DiscreteGaussian(variance=1, times=6),
        DiscreteGaussian(variance="1/2", sensitivity=2, times=3),
        DiscreteGaussian(variance=3, sensitivity=3, times=2),
        DiscreteGaussian(variance="1/4"),
    ],
    ids=str,
)
def test_lattice_normal_is_within_its_own_bounds(event: DiscreteGaussian) -> None:
    method = LatticeNormal([event])
    for epsilon in (0.0, 0.4, 1.0, 2.5, 6.0, 11.0, 17.5, 25.0):
        exact = exact_delta((event,), epsilon)
        assert error(method.delta(epsilon=epsilon), exact) <= method.delta(epsilon=epsilon).bound
        relative = method.relative_delta(epsilon=epsilon)
        assert error(relative, exact) <= relative.bound
        assert relative.bound <= 1.01 * method.ratio_bound * relative.value + 1e-12 * relative.value


def test_ratio_keeps_the_deep_tail_that_the_residual_loses() -> None:
    event = DiscreteGaussian(variance=1, times=10)
    method = LatticeNormal([event])
    exact = exact_delta((event,), 30.0)  # 1.8e-16
    absolute, relative = method.delta(epsilon=30.0), method.relative_delta(epsilon=30.0)
    assert absolute.bound > 10 * exact  # of no use, though the value is right
    assert error(relative, exact) <= relative.bound < 1e-6 * exact
    deep = method.relative_delta(epsilon=120.0)
    assert 0 < deep.value < 1e-250
    assert deep.bound < 1e-6 * deep.value


def test_the_two_methods_agree() -> None:
    events = [DiscreteGaussian(variance=8, sensitivity=3, times=5)]
    one, other = LatticeNormal(events), SequentialSieve(events, digits=40)
    for epsilon in np.linspace(0, 30, 7).tolist():
        first, second = one.relative_delta(epsilon=epsilon), other.delta(epsilon=epsilon)
        assert abs(first.value - second.value) <= first.bound + second.bound
        assert first.bound < 1e-11 * first.value


def test_sums_of_squares() -> None:
    # Jacobi's four-square theorem: 8 times the sum of the divisors not divisible by 4
    jacobi = [8 * sum(d for d in range(1, Q + 1) if Q % d == 0 and d % 4) for Q in range(1, 65)]
    assert _sums_of_squares(4) == jacobi


def test_lattice_normal_refuses_what_it_cannot_do() -> None:
    with pytest.raises(InputError, match="found 2 kinds"):
        LatticeNormal(COMPOSITIONS["two variances"])
    with pytest.raises(InputError, match="discrete Gaussian events of one variance"):
        LatticeNormal([DiscreteLaplace(scale=3)])
    with pytest.raises(PrecisionError, match="terms"):
        LatticeNormal([DiscreteGaussian(variance=10**14)]).delta(epsilon=0.0)
    with pytest.raises(PrecisionError, match="points"):
        residual_supremum(variance=100, times=100)


# -- two equal events, in closed form ----------------------------------------------------------------------


@pytest.mark.parametrize("variance", ["1/10", "1/2", "5", "25", "400"])
@pytest.mark.parametrize("sensitivity", [1, 2, 3])
def test_theorem_a8_is_the_engine(variance: str, sensitivity: int) -> None:
    events = (DiscreteGaussian(variance=variance, sensitivity=sensitivity, times=2),)
    method, exact = TwoFold(events), compose(events)
    for epsilon in (0.0, 0.4, 1.0, 2.5, 6.0, 11.0, 17.5):
        found = method.delta(epsilon=epsilon)
        assert found.value == pytest.approx(
            float(exact.delta(epsilon=Fraction(epsilon))), rel=1e-12, abs=1e-26
        )
    for alpha in (0.0, 1e-6, 0.001, 0.05, 0.3, 0.9, 1.0):
        assert method.tradeoff(alpha=alpha) == pytest.approx(float(exact.tradeoff(alpha=alpha)), abs=1e-10)


@settings(max_examples=20, deadline=None)
@given(
    variance=st.fractions(min_value="1/5", max_value=4, max_denominator=10),
    sensitivity=st.integers(min_value=1, max_value=3),
    epsilon=st.floats(min_value=0, max_value=12),
)
def test_theorem_a8_by_direct_convolution(variance: Fraction, sensitivity: int, epsilon: float) -> None:
    events = (DiscreteGaussian(variance=variance, sensitivity=sensitivity, times=2),)
    found = TwoFold(events, digits=40).delta(epsilon=epsilon)
    # the reference itself: probabilities over 2^500
    assert error(found, exact_delta(events, epsilon)) <= found.bound + 1e-120


def test_theorem_a8_as_printed_has_mass_two() -> None:
    # c of sqrt(2) sigma in place of sigma / sqrt(2): Poisson summation makes each constant twice as large
    def constant(mu: float, s: float) -> float:
        return float(np.exp(-((np.arange(-200, 201) - mu) ** 2) / (2 * s * s)).sum())

    sigma = math.sqrt(5)
    for width, mass in ((sigma / math.sqrt(2), 1.0), (sigma * math.sqrt(2), 2.0)):
        even, odd = (constant(mu, width) * constant(mu, sigma / math.sqrt(2)) for mu in (0, 0.5))
        assert (even + odd) / constant(0, sigma) ** 2 == pytest.approx(mass, rel=1e-12)


def test_theorem_a8_refuses_what_it_cannot_do() -> None:
    with pytest.raises(InputError, match="found 3 events of 1 kinds"):
        TwoFold([DiscreteGaussian(variance=5, times=3)])
    with pytest.raises(InputError, match="found 2 events of 2 kinds"):
        TwoFold([DiscreteGaussian(variance=5), DiscreteGaussian(variance=6)])
    with pytest.raises(InputError, match="alpha is 2"):
        TwoFold([DiscreteGaussian(variance=5, times=2)]).tradeoff(alpha=2.0)
    with pytest.raises(PrecisionError, match="terms"):
        TwoFold([DiscreteGaussian(variance=10**12, times=2)])


# -- groups of equal events, by Boole's rule -----------------------------------------------------------------

ALLOCATION = tuple(
    # Table 3 of the PNAS paper: shares of rho = 3.65, ten queries each; PEPG and Tract Subset Group together
    DiscreteGaussian(variance=10 / (2 * Fraction(share) * Fraction("3.65")), times=times)
    for share, times in [
        ("0.02", 10), ("0.274", 10), ("0.085", 10), ("0.131", 20), ("0.238", 10), ("0.118", 10),
        ("0.003", 10),
    ]
)  # fmt: skip


@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.parametrize("digits", [pytest.param(None, marks=pytest.mark.slow), 30])
def test_boole_is_within_its_own_bound(name: str, digits: int | None) -> None:
    events = COMPOSITIONS[name]
    method = BooleSum(events, nodes=40_001 if digits is None else 401, digits=digits)
    for epsilon in (0.0, 0.4, 1.0, 2.5, 6.0, 11.0):
        found, exact = method.delta(epsilon=epsilon), exact_delta(events, epsilon)
        assert error(found, exact) <= found.bound


def test_boole_bound_is_worth_something() -> None:
    events = (DiscreteGaussian(variance=5, times=10), DiscreteGaussian(variance=8, times=4))
    found = BooleSum(events, nodes=100_001).delta(epsilon=1.0)
    assert found.covers(float(compose(events).delta(epsilon=1)))
    assert found.bound < 1e-9 * found.value
    # with small variances the normal density errs, and the bound says so
    small = BooleSum(COMPOSITIONS["small variances"], nodes=4001).delta(epsilon=1.0)
    assert small.bound > 1e-3


@pytest.mark.parametrize(
    ("place", "bound"),
    [
        # most of the integral left out, or few nodes: that part of the bound must grow
        ("cut", 0.1),
        ("quadrature", 1.0),
    ],
)
def test_boole_errors_follow_the_settings(place: str, bound: float) -> None:
    events = (DiscreteGaussian(variance=5, times=10), DiscreteGaussian(variance=8, times=4))
    method = BooleSum(events, nodes=40_001, cut=0.005) if place == "cut" else BooleSum(events, nodes=401)
    value, errors = method.tail(Fraction(1))
    assert getattr(errors, place) > bound
    truth = math.exp(float(compose(events).law.log_tails(Kind.ALT, [Fraction(1) + method.R / 2])[0]))
    assert abs(value - truth) <= errors.total
    assert abs(value - truth) > 1e-3  # it is really lost


def test_boole_at_the_printed_settings() -> None:
    method = BooleSum(ALLOCATION)
    assert method.nodes == 10**7 + 1
    assert method.cut == 0.01  # Fact A.14
    threshold = Fraction("21.97") - method.R / 2
    # D.4: bounds on E|X|^p, p = 1 to 6, and on the sixth derivative
    for mine, theirs in zip(
        method.moments()[1:], (7.0e3, 7.6e7, 1.1e12, 1.8e16, 3.3e20, 6.6e24), strict=True
    ):
        assert 0.95 * theirs < mine <= theirs
    assert 1.1e35 < method.sixth_derivative(threshold) <= 1.2e35
    # Fact A.15: 2/945 * 1.2e35 * 0.01 * 1e-54 = 2.5397e-24, printed as 2.54e-24
    assert f"{boole_error(1.2e35, h=1e-9, length=0.01):.4e}" == "2.5397e-24"
    assert method.quadrature_error(threshold) <= 2.54e-24
    # A.12: 3.41e-29, from residuals a hundred times ours; A.13: 5.6e-29 for one term, D.2's union is more
    assert method.density_error < 3.41e-29
    assert method.union_bound(threshold) == pytest.approx(5.80e-29, rel=2e-3)
    assert method.cut_error(threshold) < 1.3e-30  # Fact A.14


def test_boole_and_the_first_tail_of_the_allocation() -> None:
    method = BooleSum(ALLOCATION, nodes=100_001)
    found = method.first_tail(epsilon=21.97)
    truth = math.exp(float(compose(ALLOCATION).law.log_tails(Kind.ALT, [Fraction(21.97)])[0]))
    assert found.covers(truth)
    assert found.value == pytest.approx(truth, rel=1e-3)
    # the paper gives the second tail up: in float64 its error times e^epsilon is of no use
    assert method.delta(epsilon=21.97).bound > 1e-6


@pytest.mark.slow
def test_boole_with_all_the_nodes_of_the_paper() -> None:
    method = BooleSum(ALLOCATION)
    found = method.first_tail(epsilon=18.0)
    truth = math.exp(float(compose(ALLOCATION).law.log_tails(Kind.ALT, [Fraction(18)])[0]))
    assert found.covers(truth)
    assert found.value == pytest.approx(truth, rel=1e-7)


def test_boole_refuses_what_it_cannot_do() -> None:
    with pytest.raises(InputError, match="discrete Gaussian events only"):
        BooleSum([DiscreteLaplace(scale=2)])
    with pytest.raises(InputError, match="nodes is 100; it must be a multiple of 4, plus 1"):
        BooleSum(ALLOCATION, nodes=100)
    with pytest.raises(InputError, match="cut is 4"):
        BooleSum(ALLOCATION, cut=4.0)
