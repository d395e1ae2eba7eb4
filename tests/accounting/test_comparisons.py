"""The comparisons against an independent direct convolution: exact weights, big integers, no transform."""

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
from discreet.accounting.zcdp import zcdp_rho
from discreet.comparisons import side_by_side
from discreet.comparisons.curve import Comparison
from discreet.comparisons.edgeworth import Edgeworth, cumulants
from discreet.comparisons.gaussian_dp import GaussianDP
from discreet.comparisons.normal import log_upper_tail, mills_ratio, quantile
from discreet.comparisons.renyi import RenyiDP
from discreet.comparisons.zcdp import ZCDP, TightZCDP
from discreet.errors import InputError, PrecisionError
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise

BITS = 1300  # weights are integers over 2^1300, so tails of 1e-300 keep 90 digits

COMPOSITIONS: dict[str, tuple[Noise, ...]] = {
    "ten of variance 5": (DiscreteGaussian(variance=5, times=10),),
    "two variances, sensitivity 2": (
        DiscreteGaussian(variance=5, times=3),
        DiscreteGaussian(variance="7/2", sensitivity=2, times=2),
    ),
    "variance 1/4": (DiscreteGaussian(variance="1/4", times=3),),
    "with Laplace": (DiscreteGaussian(variance=3, times=2), DiscreteLaplace(scale=2, sensitivity=3, times=2)),
}
BOUNDS = (ZCDP, TightZCDP, RenyiDP)


@functools.cache
def direct(events: tuple[Noise, ...]) -> tuple[list[Fraction], list[int]]:
    """The law of the loss under the alternative: losses, and probabilities over 2^BITS."""
    laws = []
    with mp.workprec(BITS + 50):
        for event in events:
            if isinstance(event, DiscreteGaussian):
                v, mu = event.variance, event.sensitivity
                reach = math.ceil(math.sqrt(2 * v * 800))
                points = range(-reach, reach + 1)
                weight = [mp.exp(-_mpf(x * x / (2 * v))) for x in points]
                losses = [(2 * mu * x + mu * mu) / (2 * v) for x in points]
            else:
                b, mu = event.scale, event.sensitivity
                reach = 1600 * math.ceil(b)
                points = range(-reach, reach + 1)
                weight = [mp.exp(-_mpf(abs(x) / b)) for x in points]
                losses = [(abs(x + mu) - abs(x)) / b for x in points]
            total = mp.fsum(weight)
            law: dict[Fraction, int] = {}
            for loss, w in zip(losses, weight, strict=True):
                law[loss] = law.get(loss, 0) + int(mp.floor(mp.ldexp(w / total, BITS)))
            laws += [law] * event.times
    values = {x for law in laws for x in law}
    unit = Fraction(1, math.lcm(*(x.denominator for x in values)))
    low, pmf = Fraction(0), np.array([1 << BITS], dtype=object)
    for law in laws:
        start = min(law)
        total = np.zeros(pmf.size + int((max(law) - start) / unit), dtype=object)
        for loss, w in law.items():
            at = int((loss - start) / unit)
            total[at : at + pmf.size] += pmf * w
        pmf = total >> BITS
        low += start
    keep = [i for i, p in enumerate(pmf) if p]
    return [low + i * unit for i in keep], [pmf[i] for i in keep]


def exact_delta(events: tuple[Noise, ...], epsilon: float) -> mp.mpf:
    eps = Fraction(epsilon)
    with mp.workprec(BITS + 50):
        terms = (
            mp.ldexp(p, -BITS) * -mp.expm1(_mpf(eps - loss))
            for loss, p in zip(*direct(events), strict=True)
            if loss > eps
        )
        return mp.fsum(terms)


def _mpf(x: Fraction) -> mp.mpf:
    return mp.mpf(x.numerator) / x.denominator


def log(x: mp.mpf) -> float:
    return float(mp.log(x))


# -- golden values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rho", "epsilon"),
    [
        # 2020 DHC persons; PL 94-171 persons; PL 94-171 units, where the Bureau's certificate prints
        # 1455307/588081 = 2.47. delta = 1e-10, tight conversion, computed from the production settings.
        ("24811/5000", 25.419282576549477),
        ("293764/114921", 17.14355074359592),
        ("11417641/152349649", 2.474671065034922),
    ],
)
def test_tight_conversion_gives_the_certified_epsilon(rho: str, epsilon: float) -> None:
    assert TightZCDP.from_rho(rho).epsilon(delta=1e-10) == pytest.approx(epsilon, rel=1e-14)


@pytest.mark.parametrize(
    ("rho", "epsilon"),
    # 2020 DHC persons and PL 94-171 units, delta = 1e-10: rho + 2 sqrt(rho log(1/delta))
    [("24811/5000", 26.340588852722323), ("11417641/152349649", 2.7022172702747818)],
)
def test_bun_steinke(rho: str, epsilon: float) -> None:
    curve = ZCDP.from_rho(rho)
    assert curve.epsilon(delta=1e-10) == pytest.approx(epsilon, rel=1e-15)
    assert curve.delta(epsilon=epsilon) == pytest.approx(1e-10, rel=1e-13)
    assert curve.delta(epsilon=float(curve.rho) / 2) == 1.0


def test_gaussian_dp_is_not_a_bound() -> None:
    events = COMPOSITIONS["ten of variance 5"]
    curve = GaussianDP(events)
    epsilon = curve.epsilon(delta=1e-11)
    # 10.1158 from mu = sqrt 2; exact 10.12483 by direct convolution
    assert epsilon == pytest.approx(10.1158, abs=5e-5)
    assert exact_delta(events, epsilon) > 1.01e-11
    assert exact_delta(events, 10.12484) < 1e-11 < exact_delta(events, 10.12482)
    assert not curve.is_bound
    assert not Edgeworth(events).is_bound


def test_rho_is_exact() -> None:
    assert zcdp_rho(COMPOSITIONS["with Laplace"]) == Fraction(2, 6) + sum(
        event.zcdp or 0 for event in COMPOSITIONS["with Laplace"] if event.FAMILY == "discrete Laplace"
    )
    assert zcdp_rho(COMPOSITIONS["two variances, sensitivity 2"]) == Fraction(3, 10) + Fraction(8, 7)


# -- bounds bound, in the right order ----------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "two variances, sensitivity 2" else ())
        for name in COMPOSITIONS
    ],
)
def test_bounds_bound_and_are_ordered(name: str) -> None:
    events = COMPOSITIONS[name]
    for epsilon in (0.0, 0.3, 1.0, 2.5, 5.0, 12.0, 40.0):
        exact = exact_delta(events, epsilon)
        if exact < mp.mpf("1e-330"):
            continue
        logs = [curve(events).log_delta(epsilon=epsilon) for curve in BOUNDS]
        assert logs[0] >= logs[1] - 1e-12 >= logs[2] - 2e-12
        assert logs[2] >= log(exact)
        # and they are not vacuous
        assert logs[2] <= log(exact) + 5


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_bounds_on_the_tradeoff_curve_lie_below_it(name: str) -> None:
    events = COMPOSITIONS[name]
    losses, masses = direct(events)
    alt = np.array([float(mp.ldexp(p, -BITS)) for p in masses])
    null = alt * np.exp(-np.array([float(x) for x in losses]))
    # reject above each threshold: alpha under the null, beta under the alternative
    alpha, beta = np.cumsum(null[::-1])[::-1][1:], np.cumsum(alt)[:-1]
    use = (alpha > 1e-12) & (alpha < 1) & (beta > 1e-12)
    curves = [curve(events).tradeoff(alpha=alpha[use]) for curve in BOUNDS]
    assert use.sum() > 5
    assert np.all(curves[2] <= beta[use] * (1 + 1e-9))
    assert np.all(curves[1] <= curves[2] + 1e-12)
    assert np.all(curves[0] <= curves[1] + 1e-12)


@st.composite
def compositions(draw: st.DrawFn) -> tuple[Noise, ...]:
    sizes = st.fractions(min_value="1/10", max_value=50, max_denominator=20)
    whole = st.integers(min_value=1, max_value=4)
    gaussian = st.builds(DiscreteGaussian, variance=sizes, sensitivity=whole, times=whole)
    laplace = st.builds(DiscreteLaplace, scale=sizes, sensitivity=whole, times=whole)
    return tuple(draw(st.lists(st.one_of(gaussian, gaussian, laplace), min_size=1, max_size=4)))


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(events=compositions())
def test_order_monotony_and_round_trip(events: tuple[Noise, ...]) -> None:
    epsilon = np.linspace(0.0, 30.0, 13)
    delta = np.logspace(-300, -0.01, 13)
    alpha = np.linspace(0.0, 1.0, 21)
    curves = [curve(events) for curve in BOUNDS]
    for curve in curves:
        assert np.all(np.diff(np.maximum(curve.log_delta(epsilon=epsilon), -1e6)) <= 1e-9)
        assert np.all(np.diff(curve.epsilon(delta=delta)) <= 1e-12)
        found = curve.epsilon(delta=delta)
        inside = found > 0
        again = curve.log_delta(epsilon=found[inside] * (1 + 1e-12))
        assert np.all(again <= np.log(delta[inside]) + 1e-8)
        f = curve.tradeoff(alpha=alpha)
        assert np.all(np.diff(f) <= 1e-12)
        assert np.all(np.diff(f, n=2) >= -1e-9)
        assert np.all(f <= 1 - alpha + 1e-12)
    for loose, tight in itertools.pairwise(curves):
        assert np.all(loose.log_delta(epsilon=epsilon) >= tight.log_delta(epsilon=epsilon) - 1e-9)
        assert np.all(loose.epsilon(delta=delta) >= tight.epsilon(delta=delta) * (1 - 1e-9) - 1e-12)
        assert np.all(loose.tradeoff(alpha=alpha) <= tight.tradeoff(alpha=alpha) + 1e-9)


# -- duality -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("curve", [ZCDP.from_rho(1), TightZCDP.from_rho("1/20"), TightZCDP.from_rho(5)])
def test_tradeoff_is_never_below_the_dual_of_delta(curve: Comparison) -> None:
    epsilon = np.linspace(0.0, 40.0, 4001)
    delta = curve.delta(epsilon=epsilon)
    for alpha in (1e-8, 1e-3, 0.05, 0.3, 0.5, 0.9, 0.999):
        steep = 1 - delta - np.exp(epsilon) * alpha
        flat = np.exp(-epsilon) * (1 - delta - alpha)
        assert max(steep.max(), flat.max()) <= curve.tradeoff(alpha=alpha) * (1 + 1e-12)


# -- from divergences to f ---------------------------------------------------------------------------


def test_rho_proves_more_than_its_epsilon_delta_lines() -> None:
    # 2020 DHC persons, by the divergences of the two Bernoulli laws at 4,000 orders (another program): with
    # all real orders f cannot be smaller. The dual of Bun and Steinke's lines has 0.00017 at 0.001
    alpha = np.array([0.0001, 0.001, 0.01, 0.05, 0.2])
    found = ZCDP.from_rho("24811/5000").tradeoff(alpha=alpha)
    np.testing.assert_allclose(found, [0.4948, 0.2091, 0.00629, 0.00437, 0.00109], rtol=0, atol=5e-5)
    np.testing.assert_array_equal(TightZCDP.from_rho("24811/5000").tradeoff(alpha=alpha), found)
    # the same computed here at 60 digits: least b by bisection for each of 4,000 orders, and their maximum
    for a, b in ((0.001, 0.20914783589), (0.01, 0.00628979560), (0.2, 0.00109004134)):
        assert ZCDP.from_rho("24811/5000").tradeoff(alpha=a) == pytest.approx(b, rel=1e-8)


def excess(t: mp.mpf, a: mp.mpf, b: mp.mpf, rho: mp.mpf) -> mp.mpf:
    """The larger divergence of order t + 1 of the two laws over rho times the order, less 1."""
    there = (1 - b) ** (t + 1) * a**-t + b ** (t + 1) * (1 - a) ** -t
    back = a ** (t + 1) * (1 - b) ** -t + (1 - a) ** (t + 1) * b**-t
    return mp.log(max(there, back)) / t / (rho * (t + 1)) - 1


def most_excess(a: mp.mpf, b: mp.mpf, rho: mp.mpf) -> mp.mpf:
    """The largest of them over orders above 1: a grid, and the neighbourhood of its best, ever finer."""
    low, high = mp.mpf(-30), mp.mpf(16)
    for count in (184, 40, 40, 40, 40):
        places = [low + (high - low) * k / count for k in range(count + 1)]
        values = [excess(mp.exp(x), a, b, rho) for x in places]
        best = max(range(count + 1), key=values.__getitem__)
        low, high = places[max(best - 1, 0)], places[min(best + 1, count)]
    return values[best]


@pytest.mark.parametrize(
    ("rho", "alpha"),
    [
        ("24811/5000", 0.001),
        ("24811/5000", 0.3),
        ("1", 1e-12),
        ("1", 0.5),
        ("1/1000", 0.01),
        ("1e-9", 0.25),
        ("1e-6", 1 - 2.0**-40),
        ("100", 1e-40),
        ("150", 0.9),
    ],
)
def test_f_is_the_least_error_that_no_order_rules_out(rho: str, alpha: float) -> None:
    found = ZCDP.from_rho(rho).tradeoff(alpha=alpha)
    with mp.workdps(120):
        a, exact = mp.mpf(alpha), _mpf(Fraction(rho))
        move = 1e-11 * found * (1 - found) + 2e-16  # as far as a float tells
        for b, is_ruled_out in ((found - mp.mpf(move), True), (found + mp.mpf(move), False)):
            if 0 < b < 1 - a:
                assert (most_excess(a, b, exact) > 0) is is_ruled_out


@pytest.mark.parametrize("rho", ["1e-30", "1e-12", "1e-4", "1/2", "24811/5000", "60", "1e4", "1e100"])
def test_f_of_rho_falls_is_convex_and_its_own_inverse(rho: str) -> None:
    curve = ZCDP.from_rho(rho)
    alpha = np.concatenate([np.geomspace(1e-300, 1e-3, 40), np.linspace(0.002, 0.998, 80)])
    f = curve.tradeoff(alpha=alpha)
    assert np.all(np.diff(f) <= 0)
    assert np.all((f >= 0) & (f <= 1 - alpha))
    even = alpha >= 0.002  # equally spaced
    assert np.all(np.diff(f[even], 2) >= -1e-12 * f[even][1:-1])
    inside = (f > 1e-290) & (f < 0.9)
    # (f of f of f: where f is flat, f of f says little)
    twice = curve.tradeoff(alpha=f[inside])
    np.testing.assert_allclose(curve.tradeoff(alpha=twice), f[inside], rtol=1e-9)
    # small rho: 1 - alpha - f is about sqrt(2 rho alpha (1 - alpha)), as for laws that hardly differ
    if Fraction(rho) < Fraction(1, 10**3):
        middle = 0.5 - curve.tradeoff(alpha=0.5)
        assert middle == pytest.approx(math.sqrt(float(Fraction(rho)) / 2), rel=1e-3, abs=2e-16)


@settings(max_examples=6, deadline=None)
@given(events=compositions(), seed=st.integers(0, 2**32 - 1))
def test_f_of_divergences_is_never_above_the_exact_one(events: tuple[Noise, ...], seed: int) -> None:
    alpha = np.random.default_rng(seed).random(4) ** 3 * 0.999 + 1e-6
    loss = compose(events)
    try:
        exact = loss.tradeoff(alpha=alpha)
    except PrecisionError:
        return
    loose, renyi = ZCDP(events).tradeoff(alpha=alpha), RenyiDP(events).tradeoff(alpha=alpha)
    assert exact.accuracy is not None
    assert np.all(renyi <= exact * (1 + exact.accuracy + 1e-9))
    assert np.all(loose <= renyi + 1e-12)


def test_gaussian_dp_delta_from_its_tradeoff() -> None:
    curve = GaussianDP.from_rho("9/8")  # mu = 3/2
    z = np.linspace(-12, 12, 200_001)
    alpha = np.exp(log_upper_tail(-z))
    f = curve.tradeoff(alpha=alpha)
    for epsilon in (0.0, 0.5, 3.0, 6.0):
        dual = (1 - f - math.exp(epsilon) * alpha).max()
        assert dual == pytest.approx(curve.delta(epsilon=epsilon), rel=1e-7)  # grid


# -- deep tails --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.5, 3.99, 4.01, 12.0])
def test_gaussian_dp_keeps_relative_accuracy(mu: float) -> None:
    curve = GaussianDP.from_rho(Fraction(mu) ** 2 / 2)
    mu = curve.mu
    for t in (0.0, 0.2, 1.0, 5.0, 20.0, 36.5):
        epsilon = mu * t
        with mp.workdps(700):
            m, e = mp.mpf(mu), mp.mpf(epsilon)
            exact = mp.ncdf(-e / m + m / 2) - mp.exp(e) * mp.ncdf(-e / m - m / 2)
            assert curve.log_delta(epsilon=epsilon) == pytest.approx(log(exact), abs=2e-12)
            back = curve.epsilon(delta=float(exact))
        if exact < 0.9:  # near 1 a float delta no longer determines epsilon
            assert back == pytest.approx(epsilon, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("curve", side_by_side(COMPOSITIONS["ten of variance 5"]), ids=lambda c: c.name)
def test_delta_of_1e_300(curve: Comparison) -> None:
    epsilon = curve.epsilon(delta=1e-300)
    assert 50 < epsilon < 60
    assert curve.delta(epsilon=epsilon) == pytest.approx(1e-300, rel=1e-9)
    assert -2000 > curve.log_delta(epsilon=2 * epsilon) > -20_000


def test_normal_helpers_against_scipy() -> None:
    from scipy import special

    x = np.linspace(-30, 37, 135)
    np.testing.assert_allclose(log_upper_tail(x), special.log_ndtr(-x), rtol=1e-12)
    np.testing.assert_allclose(
        mills_ratio(x[x >= 0]), special.erfcx(x[x >= 0] / math.sqrt(2)) * math.sqrt(math.pi / 2), rtol=5e-14
    )
    p = np.array([1e-300, 1e-20, 0.3, 0.999])
    np.testing.assert_allclose(quantile(p), special.ndtri(p), rtol=1e-13)


# -- Renyi DP and bounded losses ---------------------------------------------------------------------


@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.parametrize("order", [1.001, 1.5, 3.0, 6.25])
def test_renyi_divergence_against_the_law(name: str, order: float) -> None:
    events = COMPOSITIONS[name]
    with mp.workprec(400):
        moment = mp.fsum(
            mp.ldexp(p, -BITS) * mp.exp((mp.mpf(order) - 1) * _mpf(loss))
            for loss, p in zip(*direct(events), strict=True)
        )
        expected = float(mp.log(moment) / (mp.mpf(order) - 1))
    assert RenyiDP(events).divergence(order=order) == pytest.approx(expected, rel=1e-11)


def test_pure_dp_ends_at_its_largest_loss() -> None:
    curve = RenyiDP([DiscreteLaplace(scale=2, times=3)])
    assert curve.delta(epsilon=1.5) == 0.0
    assert curve.delta(epsilon=1.4) > 0.0
    assert curve.epsilon(delta=1e-300) == pytest.approx(1.5, rel=1e-12)
    assert curve.tradeoff(alpha=1e-9) == pytest.approx(1 - math.exp(1.5) * 1e-9, rel=1e-12)


def test_gaussian_dp_with_laplace_follows_the_central_limit() -> None:
    events = (DiscreteLaplace(scale=20, times=400),)
    found = cumulants(events)
    curve = GaussianDP(events)
    assert curve.mu == pytest.approx(2 * found.mean / math.sqrt(found.variance), rel=1e-12)
    # 400 bounded losses of size 1/20: the limit is close, and Renyi DP bounds it from above
    assert curve.delta(epsilon=2.0) == pytest.approx(Edgeworth(events).delta(epsilon=2.0), rel=0.02)
    assert curve.delta(epsilon=2.0) < RenyiDP(events).delta(epsilon=2.0)


# -- Edgeworth ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_cumulants_against_the_law(name: str) -> None:
    events = COMPOSITIONS[name]
    losses, masses = direct(events)
    with mp.workprec(400):
        p = [mp.ldexp(m, -BITS) for m in masses]
        x = [_mpf(loss) for loss in losses]
        mean = mp.fsum(a * b for a, b in zip(p, x, strict=True))
        m2, m3, m4 = (mp.fsum(a * (b - mean) ** k for a, b in zip(p, x, strict=True)) for k in (2, 3, 4))
        fourth = m4 - 3 * m2**2
        found = cumulants(events)
        assert found.mean == pytest.approx(float(mean), rel=1e-13)
        assert found.variance == pytest.approx(float(m2), rel=1e-13)
        assert found.third == pytest.approx(float(m3), rel=1e-11, abs=1e-100)
        assert found.fourth == pytest.approx(float(fourth), rel=1e-9)


@pytest.mark.parametrize("name", ["variance 1/4", "with Laplace"])
def test_edgeworth_is_its_formula(name: str) -> None:
    events = COMPOSITIONS[name]
    k = cumulants(events)
    c3, c4, sd = k.skewness, k.excess_kurtosis, math.sqrt(k.variance)

    def upper(loss: float) -> mp.mpf:
        x = (mp.mpf(loss) - k.mean) / sd
        p = c3 / 6 * (x**2 - 1) + c4 / 24 * (x**3 - 3 * x) + c3**2 / 72 * (x**5 - 10 * x**3 + 15 * x)
        return mp.ncdf(-x) + mp.npdf(x) * p

    curve = Edgeworth(events)
    with mp.workdps(60):
        for epsilon in (0.0, 0.5, 2.0, 6.0):
            expected = upper(epsilon) - mp.exp(epsilon) * (1 - upper(-epsilon))
            assert curve.delta(epsilon=epsilon) == pytest.approx(max(float(expected), 0.0), rel=1e-10)
        for loss in (0.5, 2.0):
            alpha, beta = float(1 - upper(-loss)), float(1 - upper(loss))
            assert curve.tradeoff(alpha=alpha) == pytest.approx(beta, rel=1e-9)


def test_edgeworth_meets_gaussian_dp_where_the_lattice_is_fine() -> None:
    events = [DiscreteGaussian(variance=40, times=7)]
    epsilon = np.linspace(0, 10, 11)
    np.testing.assert_allclose(
        Edgeworth(events).delta(epsilon=epsilon), GaussianDP(events).delta(epsilon=epsilon), rtol=1e-11
    )


# -- the interface -----------------------------------------------------------------------------------


@pytest.mark.parametrize("curve", side_by_side(COMPOSITIONS["with Laplace"]), ids=lambda c: c.name)
def test_shapes(curve: Comparison) -> None:
    grid = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    for method, key in (
        (curve.delta, "epsilon"),
        (curve.log_delta, "epsilon"),
        (curve.epsilon, "delta"),
        (curve.tradeoff, "alpha"),
    ):
        many = method(**{key: grid})
        one = method(**{key: 0.5})
        assert many.shape == grid.shape
        assert type(one) is float
        assert many[1, 1] == pytest.approx(one, rel=1e-12)
        assert method(**{key: np.array([])}).shape == (0,)
    assert curve.tradeoff(alpha=np.array([0.0, 1.0])).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("curve", side_by_side(COMPOSITIONS["variance 1/4"]), ids=lambda c: c.name)
def test_wrong_inputs_are_named(curve: Comparison) -> None:
    with pytest.raises(InputError, match=r"epsilon is -1; it must lie in \[0, inf\)"):
        curve.delta(epsilon=-1.0)
    with pytest.raises(InputError, match=r"delta is -0.5; it must lie in \[0, 1\)"):
        curve.epsilon(delta=np.array([0.5, -0.5]))
    with pytest.raises(InputError, match=r"alpha is nan; it must lie in \[0, 1\]"):
        curve.tradeoff(alpha=math.nan)
    with pytest.raises(InputError, match="at least one event"):
        type(curve)([])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", ["1/744", "1/100000", "1e-100"])
def test_noise_that_is_zero_with_near_certainty(scale: str) -> None:
    # the variance of the loss, 4 / scale^2 e^(-1 / scale), is too small for a float, and mu too large
    events = [DiscreteLaplace(scale=scale)]
    gaussian = GaussianDP(events)
    assert gaussian.epsilon(delta=1e-10) == math.inf
    assert gaussian.delta(epsilon=10.0) == 1.0
    assert gaussian.tradeoff(alpha=0.05) == 0.0
    with pytest.raises(PrecisionError, match="hardly varies"):
        Edgeworth(events)
    for curve in (ZCDP(events), TightZCDP(events), RenyiDP(events)):
        assert curve.delta(epsilon=10.0) == 1.0
        # the exact epsilon is 1 / scale + log(1 - delta), all but e^(-1 / scale)
        assert curve.epsilon(delta=1e-10) >= (1 - 1e-12) / float(Fraction(scale))


@pytest.mark.parametrize("scale", [10**3, 10**10, 10**50])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_mean_of_small_laplace_losses_keeps_its_digits(scale: int, sensitivity: int) -> None:
    event = DiscreteLaplace(scale=scale, sensitivity=sensitivity)
    with mp.workdps(160):
        r = mp.exp(-mp.mpf(1) / scale)
        # beyond the count's change the losses are -s / scale and s / scale, on either side
        both = sum(
            (1 - r) / (1 + r) * r ** abs(x) * (abs(x + sensitivity) - abs(x)) / mp.mpf(scale)
            for x in range(-sensitivity, 1)
        )
        rest = mp.mpf(sensitivity) / scale * (r / (1 + r) - r ** (sensitivity + 1) / (1 + r))
        mean = float(both + rest)
    assert compose([event]).mean == pytest.approx(mean, rel=1e-14, abs=0)
    assert cumulants([event]).mean == pytest.approx(mean, rel=1e-14, abs=0)
    spread = float(event.step) * math.sqrt(event.tilted_variance())
    assert GaussianDP([event]).mu == pytest.approx(2 * mean / spread, rel=1e-14, abs=0)
