"""Probabilities, quantiles and transforms against sums in mpmath, closed forms and known facts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, PrecisionError
from discreet.noise import GaussianNoise, LaplaceNoise, Noise, balls, gaussian_tail, sample

VARIANCES = ["1/10000", "0.05", "0.1", "1/6", "0.3", "1", "4.25", "25", "25.01", "625", "12345.6"]
SCALES = ["1/10000", "0.1", "1/2", "3", "170.5", "100000"]


def exact(value: Fraction) -> mp.mpf:
    return mp.mpf(value.numerator) / value.denominator


def reference(noise: Noise, x: int) -> tuple[mp.mpf, mp.mpf]:
    """P[X = x] and P[X > x] for x >= 0, by adding up the definition (geometric series for Laplace)."""
    if isinstance(noise, LaplaceNoise):
        r = mp.exp(-1 / exact(noise.scale))
        return r**x * (1 - r) / (1 + r), r ** (x + 1) / (1 + r)
    assert isinstance(noise, GaussianNoise)
    v = exact(noise.variance)
    far = int(17 * mp.sqrt(v)) + 3

    def weight(k: int) -> mp.mpf:
        return mp.exp(-mp.mpf(k * k) / (2 * v))

    total = 1 + 2 * mp.fsum(weight(k) for k in range(1, far))
    return weight(x) / total, mp.fsum(weight(k) for k in range(x + 1, x + 1 + far)) / total


NOISES = [GaussianNoise(variance=v) for v in VARIANCES] + [LaplaceNoise(scale=b) for b in SCALES]


def points(noise: Noise) -> list[int]:
    size = noise.true_variance() ** 0.5
    near = [0, 1, 2, 7]
    return sorted({*near, *(int(k * size) for k in (0.4, 1, 3, 9, 25, 60))})


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_logarithms_are_good_in_both_tails(noise: Noise) -> None:
    def close(log_p: float, p: mp.mpf) -> bool:
        """Whether log_p is as good as the docstring of Noise says."""
        if p < 0.9:
            return bool(abs(log_p / mp.log(p) - 1) < 4e-15)
        rest = 1 - p
        return rest < 1e-40 or bool(abs(log_p / mp.log1p(-rest) - 1) < 1e-15 * (4 - mp.log(rest)))

    with mp.workdps(80):
        for x in points(noise):
            pmf, sf = reference(noise, x)
            assert close(float(noise.log_pmf(x)), pmf)
            assert noise.log_pmf(-x) == noise.log_pmf(x)
            assert close(float(noise.log_sf(x)), sf)
            assert noise.log_cdf(-x - 1) == noise.log_sf(x)
            assert close(float(noise.log_cdf(x)), 1 - sf)
            if sf > mp.mpf("1e-300"):
                assert abs(float(noise.sf(x)) / sf - 1) < 1e-15 * (4 - mp.log(sf))


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_certified_intervals_contain_the_sums(noise: Noise) -> None:
    with mp.workdps(60):
        for x in points(noise):
            pmf, sf = reference(noise, x)
            for interval, value in [
                (noise.certified_pmf(-x), pmf),
                (noise.certified_sf(x), sf),
                (noise.certified_cdf(x), 1 - sf),
            ]:
                slack = mp.mpf(10) ** -50
                assert exact(interval.lower) * (1 - slack) <= value <= exact(interval.upper) * (1 + slack)
                assert interval.relative_width < 2.0**-100


@pytest.mark.parametrize("variance", [10**6, 10**9])
def test_large_variances_against_extended_precision_sums(variance: int) -> None:
    noise, sigma = GaussianNoise(variance=variance), variance**0.5
    v = np.longdouble(variance)
    for x in [0, 1, int(sigma), int(5 * sigma), int(12 * sigma)]:
        k = np.arange(x + 1, x + int(14 * sigma), dtype=np.longdouble)
        tail = np.sum(np.exp((x * x - k * k) / (2 * v)))
        # the sum of all weights is sqrt(2 pi v) up to a factor 1 + 2 exp(-2 pi^2 v)
        expected = np.log(tail) - np.longdouble(x * x) / (2 * v) - np.log(2 * np.pi * v) / 2
        assert abs(float(noise.log_sf(x)) / float(expected) - 1) < 4e-15
        assert abs(float(mp.log(exact(noise.certified_sf(x).midpoint))) / float(expected) - 1) < 4e-15


@pytest.mark.parametrize(("m", "variance"), [(1, 2000), (90, 2000), (500, 2000), (1200, 2000), (40, 400)])
@pytest.mark.parametrize("bits", [128, 300])
def test_euler_maclaurin_balls_overlap_direct_sums(m: int, variance: int, bits: int) -> None:
    with balls.working_bits(bits):
        direct = gaussian_tail._ball_direct(m, Fraction(variance), 3000)
        for order in (8, 16, 40, 80):
            smooth = gaussian_tail._ball_euler_maclaurin(m, Fraction(variance), order)
            assert smooth.overlaps(direct)
        assert gaussian_tail.ball_tail_ratio(m, Fraction(variance)).rel_accuracy_bits() > bits - 40


def test_remainder_bound_is_needed() -> None:
    # Without the bound on what is left out, an early cut would exclude the truth: the test above can fail.
    with balls.working_bits(200):
        direct = gaussian_tail._ball_direct(90, Fraction(2000), 3000)
        early = gaussian_tail._ball_euler_maclaurin(90, Fraction(2000), 4)
        assert not early.mid().overlaps(direct)


@pytest.mark.parametrize(
    "noise", [*NOISES[:-1], pytest.param(NOISES[-1], marks=pytest.mark.slow)], ids=str
)  # the last is the widest
def test_pmf_sums_to_one_and_matches_variance_and_transform(noise: Noise) -> None:
    reach = int(45 * max(noise.true_variance() ** 0.5, 1.0))
    x = np.arange(-reach, reach + 1)
    pmf = noise.pmf(x)
    assert abs(np.sum(pmf) - 1.0) < 1e-13
    assert np.sum(pmf * x.astype(float) ** 2) == pytest.approx(noise.true_variance(), rel=1e-12)
    for fraction in (0.1, 0.6, 0.9):
        rate = 1.0 / float(noise.scale) if isinstance(noise, LaplaceNoise) else 3.0 / reach**0.5
        s = fraction * min(rate, 3.0)
        if isinstance(noise, LaplaceNoise) and fraction > 0.3:
            continue  # the cut at `reach` would show
        expected = np.log(np.sum(np.exp(noise.log_pmf(x) + s * x)))
        assert noise.log_mgf(s) == pytest.approx(expected, rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_log_mgf_near_zero_is_half_the_variance(noise: Noise) -> None:
    s = 1e-7 / max(1.0, noise.true_variance() ** 0.5)
    assert noise.log_mgf(s) == pytest.approx(noise.true_variance() * s * s / 2, rel=1e-9)
    assert noise.log_mgf([0.0, -s, s]).tolist() == [0.0, float(noise.log_mgf(s)), float(noise.log_mgf(s))]


@pytest.mark.parametrize("variance", ["0.05", "0.16", "1/6", "0.2", "3"])
def test_gaussian_log_mgf_far_out(variance: str) -> None:
    # E exp(sX) grows by exp(s + 1/(2v)) when s grows by 1/v: shift the sum by one
    noise = GaussianNoise(variance=variance)
    v = float(noise.variance)
    s = np.linspace(0.0, 40.0, 97)
    assert noise.log_mgf(s + 1 / v) == pytest.approx(noise.log_mgf(s) + s + 0.5 / v, rel=1e-12)
    with mp.workdps(30):
        for tilt in (0.3, 7.0, 33.3):
            total = [mp.exp(mp.mpf(tilt) * k - mp.mpf(k) ** 2 / (2 * mp.mpf(v))) for k in range(-200, 201)]
            flat = [mp.exp(-(mp.mpf(k) ** 2) / (2 * mp.mpf(v))) for k in range(-200, 201)]
            expected = mp.log(mp.fsum(total) / mp.fsum(flat))
            assert float(noise.log_mgf(tilt)) == pytest.approx(float(expected), rel=1e-13)


def test_laplace_log_mgf_up_to_its_pole() -> None:
    noise = LaplaceNoise(scale=1000)
    with mp.workdps(40):
        for s in (1e-5, 4.9e-4, 5.1e-4, 9.99e-4, 1e-3 - 1e-9):
            r = mp.exp(-mp.mpf(1) / 1000)
            expected = mp.log((1 - r) ** 2 / ((1 - r * mp.exp(mp.mpf(s))) * (1 - r * mp.exp(-mp.mpf(s)))))
            # next to the pole 1/scale, s itself (rounded) limits what can be said
            assert float(noise.log_mgf(s)) == pytest.approx(float(expected), rel=1e-11)
    assert noise.log_mgf([0.001, 5.0, -5.0]).tolist() == [np.inf] * 3


def test_variance_deficit_stays_below_the_published_bound() -> None:
    # sigma^2 - Var < 5.8e-34 for 4.25 <= sigma^2 <= 5; at 4.25 it is not much less
    for variance in ("4.25", "4.5", "4.75", "5"):
        assert 0 < GaussianNoise(variance=variance).variance_deficit() < 5.8e-34
    assert GaussianNoise(variance="4.25").variance_deficit() > 4e-34


@pytest.mark.parametrize("variance", ["0.05", "0.15", "1/6", "0.5", "2"])
def test_variance_and_deficit_against_sums(variance: str) -> None:
    noise = GaussianNoise(variance=variance)
    with mp.workdps(40):
        v = exact(noise.variance)
        weights = [(k, mp.exp(-mp.mpf(k * k) / (2 * v))) for k in range(-40, 41)]
        var = mp.fsum(k * k * w for k, w in weights) / mp.fsum(w for _, w in weights)
        assert float(var) == pytest.approx(noise.true_variance(), rel=1e-14)
        assert float(v - var) == pytest.approx(noise.variance_deficit(), rel=1e-13)


@pytest.mark.parametrize(("rho", "threshold"), [("0.008", 93), ("0.159", 21), ("0.543", 11)])
def test_suppression_thresholds_of_the_detailed_tables(rho: str, threshold: int) -> None:
    stage_two = Fraction(9) / (2 * Fraction("0.9") * Fraction(rho))
    assert GaussianNoise(variance=stage_two).quantile("0.9999") == threshold


@settings(max_examples=60, deadline=None)
@given(
    noise=st.one_of(
        st.fractions("1/20", 10**9, max_denominator=10**4).map(lambda size: GaussianNoise(variance=size)),
        st.fractions("1/20", 10**6, max_denominator=10**4).map(lambda size: LaplaceNoise(scale=size)),
    ),
    p=st.one_of(
        st.fractions(0, 1, max_denominator=10**9),
        st.integers(1, 250).map(lambda k: Fraction(1, 10**k)),
        st.integers(1, 250).map(lambda k: 1 - Fraction(1, 10**k)),
    ).filter(lambda p: 0 < p < 1),
)
def test_quantile_is_the_smallest_integer_that_reaches_p(noise: Noise, p: Fraction) -> None:
    x = noise.quantile(p)
    assert noise.certified_cdf(x, bits=900).lower >= p > noise.certified_cdf(x - 1, bits=900).upper


def test_quantile_next_to_a_jump() -> None:
    noise = GaussianNoise(variance=7)
    jump = noise.certified_cdf(4, bits=400)
    assert noise.quantile(jump.lower) == 4
    assert noise.quantile(jump.upper) == 5
    assert noise.quantile("1/2") == 0


def test_refusals_say_what_is_allowed() -> None:
    with pytest.raises(InputError, match="which is next to 3/10; write 0"):
        GaussianNoise(variance=0.1 + 0.2)
    ask: list[Callable[[Noise], object]] = [
        lambda noise: noise.single(),
        lambda noise: noise.pmf(0),
        lambda noise: noise.log_sf(3),
        lambda noise: noise.cdf(-1),
        lambda noise: noise.true_variance(),
        lambda noise: noise.log_mgf(0.1),
        lambda noise: noise.margin(),
        lambda noise: noise.quantile("0.9"),
        lambda noise: noise.certified_sf(2),
        lambda noise: sample(noise, 3),
    ]
    for question in ask:
        with pytest.raises(InputError, match="variance is 1/100000; it must lie between"):
            question(GaussianNoise(variance="1e-5"))
        with pytest.raises(InputError, match="scale is 10000000000"):
            question(LaplaceNoise(scale="1e10"))
    with pytest.raises(InputError, match="integers"):
        GaussianNoise(variance=5).pmf(0.5)
    for p in ("1", "0", "-1/2"):
        with pytest.raises(InputError):
            GaussianNoise(variance=5).quantile(p)
    with pytest.raises(PrecisionError, match="logarithm"):
        GaussianNoise(variance=1).certified_pmf(10**6)


def test_shapes_and_scalars() -> None:
    noise = GaussianNoise(variance="5/2")
    assert noise.cdf(np.arange(6).reshape(2, 3)).shape == (2, 3)
    assert np.ndim(noise.sf(3)) == 0
    assert noise.pmf(np.array([], dtype=np.int64)).shape == (0,)
    assert GaussianNoise(variance="2.5") == noise
    assert len({noise, GaussianNoise(variance="2.5"), LaplaceNoise(scale="2.5")}) == 2


def test_sum_of_weights_at_any_precision_contains_the_sum() -> None:
    # At few bits the terms left out are as large as the rounding: a missing bound on them shows.
    for parts in range(6, 60):
        noise = GaussianNoise(variance=Fraction(1, parts))
        with balls.working_bits(600):
            fine = noise._ball_total()
        for bits in (24, 30, 53):
            with balls.working_bits(bits):
                assert noise._ball_total().overlaps(fine)
