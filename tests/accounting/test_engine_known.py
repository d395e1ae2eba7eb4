"""Known values, each with its source."""

from __future__ import annotations

import math
import random
import time
from fractions import Fraction
from itertools import product

import mpmath as mp
import numpy as np
import pytest
from compositions import G, L
from reference import mpf

from discreet.accounting.account import account
from discreet.accounting.privacy_loss import compose
from discreet.budget import DiscreteGaussian, load
from discreet.comparisons.gaussian_dp import GaussianDP
from discreet.errors import InputError, PrecisionError
from discreet.loss.contour import Kind
from discreet.loss.grids import Grid
from discreet.loss.lattice import Loss
from discreet.loss.lists import ListEvaluator
from discreet.loss.windows import window
from discreet.noise import Noise


@pytest.mark.parametrize(
    ("share", "at_1e_11", "at_1e_5"),
    # section 6, allocation of 2022-08-25: rho = 3.65, ten i.i.d. queries a level, sigma^2 = 10 / (2 a rho);
    # the shares a of the levels are those of the preset dhc-2022-08-25 (its levels' rho over 3.65)
    [
        ("US", 2.4682, 1.4781),
        ("State", 10.125, 6.5716),
        ("County", 5.3276, 3.3285),
        ("Block", 0.91783, 0.52219),
    ],
)
def test_levels_of_the_allocation_of_2022_08_25(share: str, at_1e_11: float, at_1e_5: float) -> None:
    level = next(one for one in load("dhc-2022-08-25").levels if one.name == share)
    rho = level.spent("unbounded") if level.rho is None else level.rho
    variance = Fraction(10) / (2 * rho)
    loss = compose([G(variance, 1, 10)])
    assert loss.epsilon(delta="1e-11") == pytest.approx(at_1e_11, rel=6e-5)
    assert loss.epsilon(delta="1e-5") == pytest.approx(at_1e_5, rel=6e-5)


def test_ten_events_of_variance_5() -> None:
    # section 6 (State level, ten events of variance 5): epsilon 10.12483 at delta 1e-11
    assert compose([G(5, 1, 10)]).epsilon(delta="1e-11") == pytest.approx(10.12483, abs=5e-6)


def test_randomised_response() -> None:
    # Kairouz, Oh, Viswanath (2015), Theorem 3.3: k-fold composition of (1, 0)-DP randomised response;
    # discrete Laplace noise of scale 1 and sensitivity 1 has exactly its loss
    k = 5
    loss = compose([L(1, 1, k)])
    p = math.e / (1 + math.e)
    for i in range(k // 2 + 1):
        epsilon = k - 2 * i
        terms = (
            math.comb(k, j) * (p ** (k - j) * (1 - p) ** j) * -math.expm1(epsilon - (k - 2 * j))
            for j in range(i)
        )
        assert loss.delta(epsilon=epsilon) == pytest.approx(sum(terms), rel=1e-12)


def gdp_delta(epsilon: float, mu: float) -> float:
    """Dong, Roth, Su (2022), Corollary 2.13."""

    def normal(x: float) -> float:
        return 0.5 * math.erfc(-x / math.sqrt(2))

    return normal(-epsilon / mu + mu / 2) - math.exp(epsilon) * normal(-epsilon / mu - mu / 2)


@pytest.mark.parametrize(("variance", "times"), [(10**6, 10**6), (10**4, 400), (10**6, 1)])
def test_large_variances_are_close_to_a_continuous_gaussian(variance: int, times: int) -> None:
    # lattice step 1/variance: the kinks of delta are below (step / spread)^2 of it, relatively
    loss = compose([G(variance, 1, times)])
    mu = math.sqrt(times / variance)
    for epsilon in (0.0, 0.3 * mu, mu, 3 * mu):
        expected = gdp_delta(epsilon, mu)
        assert loss.delta(epsilon=epsilon) == pytest.approx(
            expected, rel=2 * (1 / variance / mu) ** 2 + 3e-11
        )


def test_small_variances_are_not() -> None:
    # the same comparison must be able to fail: at variance 1 delta(0) differs from mu-GDP by per cents
    assert compose([G(1)]).delta(epsilon=0) != pytest.approx(gdp_delta(0.0, 1.0), rel=1e-2)


@pytest.mark.parametrize(("variance", "times"), [(5, 10), (2, 3), (25, 40)])
def test_dp_accounting_agrees_where_it_is_sound(variance: int, times: int) -> None:
    # Google's dp-accounting, PLD accounting with connect-the-dots (Doroshenko et al. 2022): pessimistic, of
    # discretisation interval 1e-4; its discrete Gaussian is truncated, so only for delta well above 1e-12
    pld = pytest.importorskip(
        "dp_accounting.pld.privacy_loss_distribution", reason="needs dp-accounting: install the extra `bench`"
    )
    interval = 1e-4
    one = pld.from_discrete_gaussian_mechanism(
        math.sqrt(variance), value_discretization_interval=interval, use_connect_dots=True
    )
    theirs = one.self_compose(times)
    loss = compose([G(variance, 1, times)])
    for epsilon in (0.0, 0.5, 1.0, 2.0, 3.0):
        ours = loss.delta(epsilon=epsilon)
        if ours > 1e-9:
            delta = theirs.get_delta_for_epsilon(epsilon)
            assert delta >= ours * (1 - 1e-6)
            assert delta == pytest.approx(ours, rel=2e-3)


def test_closed_form_of_one_discrete_gaussian() -> None:
    # Canonne, Kamath, Steinke (2020), Theorem 7:
    # delta = P[Y > eps sigma^2 - 1/2] - e^eps P[Y > eps sigma^2 + 1/2]
    sigma2, epsilon = 3.0, 0.7
    x = np.arange(-200, 201)
    weight = np.exp(-(x**2) / (2 * sigma2))
    weight /= weight.sum()
    delta = (
        weight[x > epsilon * sigma2 - 0.5].sum()
        - math.exp(epsilon) * weight[x > epsilon * sigma2 + 0.5].sum()
    )
    assert compose([G(3)]).delta(epsilon="0.7") == pytest.approx(delta, rel=1e-13)


def test_a_single_event_is_a_list_of_one() -> None:
    assert compose(G(variance=5)).delta(1) == compose([G(variance=5)]).delta(1)
    for wrong in ("G5", 5):
        with pytest.raises(InputError, match=f"contains a {type(wrong).__name__}"):
            compose(wrong)  # type: ignore[arg-type]


def test_delta_is_never_above_one() -> None:
    # close to 1 rounding used to lift it by up to 7.5e-15
    rng = random.Random(20)
    for draw in range(60):
        events = [
            rng.choice((G, L))(Fraction(rng.randint(20, 3000), 1000), rng.randint(1, 4), rng.randint(1, 9))
            for _ in range(rng.randint(1, 2))
        ]
        loss = compose(events)
        points = [0, "-1/1000", "-1/3", -5, Fraction(loss.mean) / 10]
        assert np.all(loss.delta(epsilon=points) <= 1), events
        assert np.all(loss.tail(above=[-100, *points]) <= 1)
        if draw < 5:
            assert loss.delta(epsilon=0, certified=True).upper <= 1


@pytest.mark.parametrize("variance", ["1/500", "1/2000", "1/5000"])
def test_noise_that_is_hardly_any(variance: str) -> None:
    # the noise is zero but for a chance of e^-250 or less: the loss is 1 / (2 variance), and
    # 1 - e^(epsilon - loss) = delta to all digits
    loss = compose([DiscreteGaussian(variance=variance)])
    top = 1 / (2 * Fraction(variance))
    assert loss.epsilon(delta="1e-10") == pytest.approx(float(top) + math.log1p(-1e-10), rel=1e-14)
    assert loss.delta(epsilon=top - Fraction(1, 10**9)) == pytest.approx(-math.expm1(-1e-9), rel=1e-12)


@pytest.mark.slow
def test_a_pair_of_puerto_rico_whose_sieve_comes_in_pieces() -> None:
    # 7 million intervals on the way to a few thousand; close to its neighbour (4, 13), which needs no pieces
    cases = dict(account(load("dhc-2020-persons-pr")).cases)
    hard, easy = (compose(cases[pair]).epsilon(delta="1e-10") for pair in ((4, 14), (4, 13)))
    assert hard == pytest.approx(easy, rel=1e-6)
    # Gaussian DP with the same R is within 1e-5 of such compositions
    assert hard == pytest.approx(GaussianDP(cases[4, 14]).epsilon(delta=1e-10), rel=1e-5)


NINE = ("1.828", "4.02", "4.342", "2.938", "7.443", "0.535", "2.531", "3.909", "4.399")


@pytest.mark.slow
def test_nine_counts_of_unrelated_variances() -> None:
    # accounting design note, section 8: listing by meeting in the middle; these were refused
    loss = compose([G(v) for v in NINE])
    delta = loss.delta(epsilon=14)
    assert delta == pytest.approx(1.06203691e-9, rel=1e-8)
    assert delta.accuracy < 1e-10
    assert loss.epsilon(delta="1e-10") == pytest.approx(14.7818852, abs=5e-8)


def test_bounds_on_a_grid_contain_the_value_of_the_list() -> None:
    # two evaluations that share nothing but the laws of single terms
    loss = Loss([G("5.123"), G("2.71"), G("0.91"), L("3.3", 2)])
    points = [Fraction(x) for x in ("0.5", "2", "5", "9")]
    listed, grid = ListEvaluator(loss).tail(Kind.DELTA, points), Grid(loss).tail(Kind.DELTA, points)
    assert np.all(listed.error < 1e-12)
    assert np.all(grid.error < 1e-6)
    above = np.expm1(grid.log - listed.log)  # the upper bound, relative to the value
    assert np.all(above >= -1e-12)
    assert np.all(above <= grid.error)
    assert np.all(above < 1e-7)


def test_a_list_counts_what_it_leaves_out() -> None:
    # eleven counts, section 8: 5.70997687479e-10 at epsilon 18; a shorter list is worse and says so
    loss = Loss([G(v) for v in (*NINE, "0.535", "4.399")])
    errors = []
    for most in (20_000, 200_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("discreet.loss.lists.MOST_VALUES", most)
            patch.setattr("discreet.loss.lists._SHORT", most)
            tail = ListEvaluator(loss).tail(Kind.DELTA, [Fraction(18)])
        off = abs(math.expm1(tail.log[0] - math.log(5.70997687479e-10)))
        assert off <= tail.error[0]
        errors.append(tail.error[0])
    assert errors[0] > 10 * errors[1] > 1e-9


def test_laplace_of_a_large_sensitivity() -> None:
    # within a step 2 / scale of the largest loss 50, delta = (1 - e^(epsilon - 50)) / (1 + r)
    r = math.exp(-1 / 1000)
    expected = 50 + math.log1p(-1e-10 * (1 + r))
    assert compose([L(1000, 50_000)]).epsilon(delta="1e-10") == pytest.approx(expected, rel=1e-13)
    assert compose([L(5, 10**12, 10)]).epsilon(delta="1e-10") == pytest.approx(2e12, rel=1e-13)


@pytest.mark.parametrize("event", [G("1e-8"), G("1e-10"), G("3e-30"), L("1e-17"), L("1e-20"), L("1e-50")])
def test_next_to_no_noise(event: Noise) -> None:
    # the loss is nearly always `top`, and below it delta = 1 - e^(epsilon - top)
    top = event.offset if event.largest is None else event.largest
    loss = compose([event])
    for delta in ("1e-10", "1/3", "0.9"):
        expected = float(top) + math.log1p(-float(Fraction(delta)))
        assert loss.epsilon(delta=delta) == pytest.approx(expected, rel=1e-12)


def _law(event: Noise) -> list[tuple[Fraction, mp.mpf]]:
    """Losses and probabilities of one count, from the noise itself."""
    reach = math.ceil(40 * event.size) + 3

    def cost(x: int) -> Fraction:
        return x * x / (2 * event.size) if event.largest is None else abs(x) / event.size

    law: dict[Fraction, mp.mpf] = {}
    for x in range(-reach, reach + 1):
        loss = cost(x + event.sensitivity) - cost(x)
        law[loss] = law.get(loss, 0) + mp.exp(-mpf(cost(x)))
    total = sum(law.values())
    return [(loss, p / total) for loss, p in law.items()]


@pytest.mark.parametrize(
    "events",
    [
        (G(3), G("5e-4")),
        (G("1/2"), L(3), L("1e-3", 2)),
        (L(10), L("1e-14", 2)),
        (G(2), G("1e-6", 2), L("1e-5")),
    ],
)
def test_next_to_no_noise_beside_other_noise(events: tuple[Noise, ...]) -> None:
    loss = compose(events)
    top = sum((e.offset if e.largest is None else e.largest) for e in events if e.size < Fraction(1, 10))
    with mp.workdps(60):
        rows = product(*map(_law, events))
        pairs = [(sum(value for value, _ in row), mp.fprod(p for _, p in row)) for row in rows]

        def delta(epsilon: Fraction) -> mp.mpf:
            return mp.fsum(p * -mp.expm1(mpf(epsilon - value)) for value, p in pairs if value > epsilon)

        for epsilon in (Fraction(0), top - 3, top, top + Fraction(1, 20), top + 2):
            assert loss.delta(epsilon=epsilon) == pytest.approx(float(delta(epsilon)), rel=1e-11, abs=0)
            above = mp.fsum(p for value, p in pairs if value > epsilon)
            assert loss.tail(above=epsilon) == pytest.approx(float(above), rel=1e-11, abs=0)
        for small in (Fraction(1, 3), Fraction(1, 10**5), Fraction(1, 10**10)):
            found, room = Fraction(loss.epsilon(delta=small)), Fraction(1, 10**11) * (top + 1)
            assert delta(found - room) >= mpf(small) >= delta(found + room)
            sure = loss.epsilon(delta=small, certified=True)
            assert delta(sure.lower) >= mpf(small) >= delta(sure.upper)
    assert loss.tradeoff(alpha=[0, "1e-200", "1/20", 1]).tolist() == [1, 0, 0, 0]
    assert loss.tradeoff(alpha="1/20", certified=True).upper < Fraction(1, 10**330)
    assert loss.errors(threshold=0) == (0.0, 0.0)
    assert loss.delta(epsilon=3 * top) == 0.0


def _normal(epsilon: mp.mpf, variance: int) -> mp.mpf:
    """delta of one continuous Gaussian; that of a discrete one is off by about 1 / (24 variance)."""
    mu = 1 / mp.sqrt(variance)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


LARGE = [12, 15, 18, 24, 30]


@pytest.mark.parametrize(
    "digits", [10, 20, 60, 99, *(pytest.param(digits, marks=pytest.mark.slow) for digits in LARGE)]
)
def test_hardly_any_loss(digits: int) -> None:
    variance = 10**digits
    loss = compose([G(variance)])
    with mp.workdps(400):
        for delta in ("1e-3", "1e-10", "1e-20", "1e-100"):
            epsilon = loss.epsilon(delta=delta)
            found = _normal(mp.mpf(abs(epsilon)), variance)
            if epsilon < 0:
                found = -mp.expm1(epsilon) + mp.exp(epsilon) * found
            assert float(found / mp.mpf(delta)) == pytest.approx(1, abs=1e-8)
            assert digits > 30 or epsilon in loss.epsilon(delta=delta, certified=True)
        assert loss.total_variation == pytest.approx(float(_normal(mp.mpf(0), variance)), rel=1e-10, abs=0)


@pytest.mark.parametrize("epsilon", ["4.59511985013459", 100, 10_000])
def test_deltas_far_below_the_smallest_float(epsilon: str | int) -> None:
    m = math.ceil(
        Fraction(epsilon) * 10**10 - Fraction(1, 2)
    )  # the loss X / 10^10 + ... exceeds epsilon from m on
    with mp.workdps(60):
        top = -(mp.mpf(m) ** 2) / (2 * 10**10) - mp.log(2 * mp.pi * 10**10) / 2
        gaps = [(Fraction(2 * (m + j) + 1, 2 * 10**10) - Fraction(epsilon)) for j in range(60)]
        weights = [
            mp.exp(-mp.mpf(2 * m * j + j * j) / (2 * 10**10))
            * -mp.expm1(-mp.mpf(g.numerator) / g.denominator)
            for j, g in enumerate(gaps)
        ]
        expected = float(top + mp.log(sum(weights)))
    loss = compose([G(10**10)])
    assert loss.log_delta(epsilon=epsilon) == pytest.approx(expected, rel=2e-15)
    assert loss.delta(epsilon=epsilon) == 0.0


def test_a_group_of_a_million_million_people() -> None:
    # losses lie 2e11 apart, so epsilon is next to the value at which the tail passes 1e-10
    loss = compose([G(5, 10**12, 10)])
    steps = (Fraction(loss.epsilon(delta="1e-10")) - loss.law.loss.offset) / loss.law.loss.step
    one = compose([G(5, 1, 10)])  # its loss is 1 + X / 5
    above, at = one.tail(above=[1 + (round(steps) + s) / Fraction(5) for s in (0, Fraction(-1, 2))])
    assert above <= 1e-10 <= at
    # f is below every float: the sign of the loss alone errs in e^(-2e24) of the cases
    assert [float(f) for f in loss.tradeoff(alpha=["0", "1e-300", "0.05", "1"])] == [1, 0, 0, 0]
    for ask in (loss.knots, lambda: loss.tradeoff(alpha="0.05", digits=5)):
        with pytest.raises(PrecisionError, match="leave the range of floating point"):
            ask()


@pytest.mark.parametrize("scales", [("125/137", "125/863"), ("25/107", "25/93"), ("0.001", "0.0002")])
def test_two_counts_of_a_pure_release(scales: tuple[str, str]) -> None:
    # near the largest loss delta = (1 - e^(epsilon - largest)) P[both at their largest]
    loss = compose([L(s) for s in scales])
    largest = sum(1 / Fraction(s) for s in scales)
    top = math.prod(1 / (1 + math.exp(-1 / float(Fraction(s)))) for s in scales)
    expected = float(largest) + math.log1p(-1e-10 / top)
    assert loss.epsilon(delta="1e-10") == pytest.approx(expected, rel=1e-12)


def test_a_delta_below_the_smallest_is_refused_in_python_too() -> None:
    loss = compose([G(5)])
    assert loss.epsilon(delta="1e-300") > 0
    for delta in ("1e-301", 1e-305, ["1e-5", "1e-400"]):
        with pytest.raises(InputError, match="the smallest supported is 1e-300"):
            loss.epsilon(delta=delta)
    with pytest.raises(InputError, match="the smallest supported is 1e-300"):
        account(load("dhc-2022-08-25")).epsilon(delta="1e-301")


def test_wide_noise_on_few_counts_beside_laplace_noise() -> None:
    # the law of the four was had by a transform at thousands of nodes, anew at every step of the search:
    # 31 processor seconds. Its value then, which the interval has in its middle: 18.497303740516173
    loss = compose([DiscreteGaussian(variance=27000, sensitivity=37, times=4), L("0.18", sensitivity=2)])
    start = time.process_time()
    epsilon = loss.epsilon(delta="1e-60")
    assert time.process_time() - start < 5
    box = loss.epsilon(delta="1e-60", digits=16)
    assert epsilon == pytest.approx(float(box), rel=1e-15)
    assert epsilon == pytest.approx(18.497303740516173, rel=1e-15)


@pytest.mark.parametrize("variance", ["0.6", "1.3", "50", "2000"])
@pytest.mark.parametrize("times", [2, 7, 40])
@pytest.mark.parametrize("theta", [0.0, 0.4375, 3.25])
def test_the_law_of_a_sum_is_the_same_in_closed_form_and_convolved(
    variance: str, times: int, theta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    term = DiscreteGaussian(variance=variance, sensitivity=3, times=times)
    laws = []
    for most in (0, 10**6):
        monkeypatch.setattr("discreet.loss.windows._CONVOLVED", most)
        law = window(term, theta, deep=False)
        laws.append({law.first + k: p for k, p in enumerate(law.p)})
    for value in {*laws[0], *laws[1]}:
        # how well a transform knows a probability
        assert abs(laws[0].get(value, 0.0) - laws[1].get(value, 0.0)) < 3e-16 * max(times, 10) / 10
