"""The published methods, to compare with; the package itself never uses them.

Each gives a value together with the error bound that the method states for it.

*`SequentialSieve`: exact accounting by quadrature of the characteristic function, to an absolute tolerance*
(Su, Su and Wang 2026, arXiv:2606.29835).

    delta(eps) = P[S > eps - R/2] - e^eps P[S > eps + R/2],     S = sum a_k X_k,  a_k = mu_k / sigma_k^2

1. *Lattice.* The a_k are rational: S = h M with an integer M, h their greatest common divisor.
2. *Truncation.* S is sub-Gaussian with variance proxy R, P[|S| > U] <= 2 exp(-U^2 / 2R); U is where that
   reaches `tail`. What lies beyond is left out.
3. *Quadrature.* N = 2U/h + 1 nodes y_j = 2 pi j / N of the trapezoidal rule: what wraps around comes from
   beyond U. The sum over the lattice points of a tail is a Dirichlet kernel.
4. *Sieve.* Factor by factor, nodes are dropped once the product of the moduli is below `discard`. Algorithm 1
   of the paper (`as_printed`) drops those where the modulus of one X_k alone is, the largest sigma_k first:
   more nodes are left, with the same bound, since no modulus exceeds 1.

Each tail then has the absolute error E = tail + discard (1 + log(N/2)) + rounding, and delta the error
(1 + e^eps) E. That is the method's weakness: the second tail is multiplied by e^eps, and its error with it.
The accountant of this package tilts the law first and loses nothing.

*`LatticeNormal`: the normal density on the lattice for i.i.d. noise* (Su, Su and Wang, PNAS 2025,
arXiv:2410.09296), with `residual_supremum`, the true size of what it leaves out.

Let S_n be a sum of n variables N_Z(0, sigma2), phi_n the normal density of variance n sigma2,
s = 2 pi^2 sigma2. Poisson summation in each of the n variables, with the integral over one period unfolded
to the whole line, gives

    P[S_n = y] = phi_n(y) (1 + W(y)) / (1 + D),    1 + D = theta_3(0, e^-s)^n,
    W(y) = sum over integer vectors v != 0, one for each class modulo (1, ..., 1), of
           e^(-s (|v|^2 - V^2 / n)) cos(2 pi V y / n),    V the sum of v.

The ratio depends on y modulo n only. Choosing v with |V| <= n/2, and |V| <= |v|^2 =: Q as v is whole,

    |W(y)| <= W = sum over Q >= 1 of r_n(Q) e^(-s c(Q)),   c(Q) = Q - min(Q, n/2)^2 / n >= Q/2

with r_n(Q) the number of ways to write Q as a sum of n squares. Hence |P / phi_n - 1| <= W + D, and the
residual sup_y |P[S_n = y] - phi_n(y)| is at most (W + D) / sqrt(2 pi n sigma2). The leading term of W is
2n e^(-s (1 - 1/n)).

*`TwoFold`: two equal events in closed form* (the same paper, Theorem A.8). X_1 + X_2 = y leaves a sum over
one integer, the same for all even and for all odd y:

    P[X_1 + X_2 = y] = e^(-y^2 / 4 sigma2) c(y) / c_0(sigma)^2,
    c_mu(s) = sum over whole x of e^(-(x - mu)^2 / 2 s^2),
    c(y) = c_0(sigma / sqrt 2) for even y,  c_1/2(sigma / sqrt 2) for odd y.

The theorem is printed with sqrt(2) sigma in these two constants, which would give a total mass of 2.

`BooleSum`, for groups of equal events, is in `discreet.studies.boole`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from flint import arb, arb_poly, fmpq
from numpy.typing import NDArray

from discreet.errors import InputError, PrecisionError
from discreet.loss.lattice import Floats, Loss
from discreet.memory import Forgetful
from discreet.noise import LatticeNoise, Noise
from discreet.noise.balls import working_bits
from discreet.numbers import Exact, positive

MOST_NODES = 2**24
"""More quadrature nodes than this are refused: the lattice is too fine for the method."""

_UNIT = 2.0**-53
_MOST_POINTS = 2**24
_MOST_SQUARES = 64  # Q up to here is counted, the rest bounded
_TINY = 5e-324


class WithBound(NamedTuple):
    """A value and the bound on its error that the method states.

    >>> WithBound(0.5, 1e-3).covers(0.5005)
    True
    """

    value: float
    bound: float

    def covers(self, truth: float) -> bool:
        """Whether `truth` lies within the bound."""
        return abs(self.value - truth) <= self.bound


class PublishedMethod(Forgetful, ABC):
    """A method that gives delta with a bound, from which epsilon with a bound follows by bisection."""

    @abstractmethod
    def delta(self, *, epsilon: float) -> WithBound:
        """Return delta at `epsilon`, and the bound."""

    def epsilon(self, *, delta: float) -> WithBound:
        """Return epsilon at `delta`; a `PrecisionError` if the method's bound does not reach that deep."""
        if not 0 < delta < 1:
            raise InputError(f"delta is {delta:g}; it must lie in (0, 1)")
        if self.delta(epsilon=0.0).value <= delta:
            raise InputError(f"delta is {delta:g}; at epsilon = 0 the method already gives less")
        high = 1.0
        while self.delta(epsilon=high).value > delta:
            high *= 2
        centre = _crossing(lambda e: self.delta(epsilon=e).value > delta, 0.0, high)

        def surely_below(e: float) -> bool:
            value, bound = self.delta(epsilon=e)
            return value + bound <= delta

        def surely_above(e: float) -> bool:
            value, bound = self.delta(epsilon=max(e, 0.0))
            return e <= 0 or value - bound >= delta

        width = 1e-12
        while not (surely_below(centre + width) and surely_above(centre - width)):
            width *= 2
            if width > 1 + centre:
                bound = self.delta(epsilon=centre).bound
                raise PrecisionError(
                    f"delta is {delta:g}; near epsilon = {centre:.6g} the method's own error bound is "
                    f"{bound:.1e}, which does not settle it"
                )
        return WithBound(centre, width)


def checked_epsilon(epsilon: float) -> float:
    """Return `epsilon` if it lies in [0, 700], where e^epsilon is a float.

    >>> checked_epsilon(2.0)
    2.0
    """
    if not 0 <= epsilon <= 700:
        raise InputError(f"epsilon is {epsilon:g}; it must lie in [0, 700]")
    return float(epsilon)


def _crossing(above: Callable[[float], bool], low: float, high: float) -> float:
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) else (low, middle)
    return high


# -- the sieve paper -----------------------------------------------------------------------------------------


class SequentialSieve(PublishedMethod):
    """Exact accounting with an absolute tolerance, in float64 or with `digits` decimal digits.

    `tail` and `discard` default to 1e-18 in float64, and to 10^-digits with `digits`. `as_printed` sieves by
    Algorithm 1 of the paper, one factor at a time.

    Guarantee
    ---------
    The true value lies within `bound` of `value`. In float64 the bound on rounding is generous (some
    hundred units in the last place per tail); with `digits` it comes from ball arithmetic.

    >>> from discreet.noise import DiscreteGaussian
    >>> method = SequentialSieve([DiscreteGaussian(variance=5, times=10)])
    >>> value, bound = method.delta(epsilon=2.0)
    >>> print(f"{value:.10f}, error below {bound:.0e}; {method.survivors} of {method.nodes} nodes")
    0.1137931119, error below 4e-13; 53 of 131 nodes
    """

    def __init__(
        self,
        events: Iterable[Noise],
        *,
        tail: float | None = None,
        discard: float | None = None,
        digits: int | None = None,
        as_printed: bool = False,
    ) -> None:
        loss = Loss(events)
        if not loss.gaussian or len(loss.gaussian) < len(loss.terms):
            raise InputError("the sieve paper's method takes discrete Gaussian events only, and at least one")
        default = 1e-18 if digits is None else 10.0**-digits
        self.tail = default if tail is None else tail
        self.discard = default if discard is None else discard
        for name, value in (("tail", self.tail), ("discard", self.discard)):
            if not 0 < value < 1:
                raise InputError(f"{name} is {value:g}; it must lie in (0, 1)")
        self.digits = digits
        self.step, self.R = loss.step, loss.R
        self.truncation = math.sqrt(2 * float(self.R) * math.log(2 / self.tail))
        self._reach = math.floor(self.truncation / float(self.step)) + 1
        self.nodes = 2 * self._reach + 1
        if self.nodes > MOST_NODES:
            raise PrecisionError(
                f"the lattice step is {float(self.step):.3g} and the method needs {self.nodes} nodes; "
                f"at most {MOST_NODES} are allowed"
            )
        self.as_printed = as_printed
        # the events that cost most drop most nodes, so they go first
        terms = sorted(loss.gaussian, key=lambda term: -(term.size if as_printed else term.precision))
        self._terms = tuple(terms)
        self.sieved: tuple[int, ...] = ()
        """How many of the nodes 0 <= y <= pi are left after each group of events."""
        self._index, logs = self._sieve()
        self._heights = np.exp(logs)
        self._balls = self._ball_weights() if digits is not None else []

    @property
    def survivors(self) -> int:
        """How many of the `nodes` are left after the sieve."""
        return 2 * self._index.size - 1

    def _multiple(self, term: LatticeNoise) -> int:
        """The term's step in units of the lattice, modulo the number of nodes."""
        return int(term.step / self.step) % self.nodes

    def _sieve(self) -> tuple[NDArray[np.int64], Floats]:
        index = np.arange(self._reach + 1)
        logs = np.zeros(index.size)
        left = []
        for term in self._terms:
            turn = index * self._multiple(term) % self.nodes
            turn = np.minimum(turn, self.nodes - turn)
            own = term.log_transform(0.0, turn / self.nodes).real
            logs = logs + own
            sieved = own / term.times if self.as_printed else logs
            keep = sieved >= math.log(self.discard)
            index, logs = index[keep], logs[keep]
            left.append(index.size)
        self.sieved = tuple(left)
        return index, logs

    # -- one tail ---------------------------------------------------------------------------------

    def tail_error(self) -> float:
        """Return the bound E on the absolute error of one tail, without that of ball arithmetic."""
        spread = 1 + math.log(self.nodes / 2)
        error = self.tail + 1.01 * self.discard * spread
        return error + (self._rounding() if self.digits is None else 0.0)

    def _rounding(self) -> float:
        """Bound on the rounding of one tail in float64.

        The logarithm of a height h is off by at most 70 |log h| + G units, and h |log h| < 0.4; G is what
        the sums for the factors add at small angles. Cosine, sines and their angles add 32 units. The
        kernel over k surviving nodes sums to at most 2 + log k.
        """
        G = 2.0 * len(self._terms)
        for term in self._terms:
            sigma2 = float(term.size)
            G += term.times * (16 if sigma2 < 0.5 else 60 * sigma2 * math.exp(-(math.pi**2) * sigma2))
        k = self._index.size + 1
        return _UNIT * (64 + G + math.log2(k)) * (2 + math.log(k))

    def _window(self, threshold: Fraction) -> tuple[int, int]:
        """First lattice point above the threshold (not below -U), and how many there are up to U."""
        first = max(math.floor(threshold / self.step) + 1, -self._reach)
        return first, self._reach - first + 1

    def _tail(self, threshold: Fraction) -> float:
        first, count = self._window(threshold)
        if count <= 0:
            return 0.0
        N = self.nodes
        index = self._index[1:]
        # angles are reduced exactly, as integers, before they become floats
        phase = np.cos(math.pi * (index * (first + self._reach) % (2 * N) / N))
        ratio = np.sin(math.pi * (index * count % (2 * N) / N)) / np.sin(math.pi * (index / N))
        return float((count + 2 * (self._heights[1:] * phase * ratio).sum()) / N)

    def delta(self, *, epsilon: float) -> WithBound:
        """Return delta at `epsilon`, and the method's error bound."""
        exact = Fraction(checked_epsilon(epsilon))
        thresholds = exact - self.R / 2, exact + self.R / 2
        error = (1 + math.exp(epsilon)) * self.tail_error()
        if self.digits is None:
            first, second = self._tail(thresholds[0]), math.exp(epsilon) * self._tail(thresholds[1])
            return WithBound(first - second, error + 4 * _UNIT * (first + second))
        return self._ball_delta(epsilon, thresholds, error)

    # -- the same with more digits ------------------------------------------------------------------

    def _bits(self) -> int:
        return math.ceil((self.digits or 0) * math.log2(10)) + 32

    def _ball_weights(self) -> list[arb]:
        """2 phi(y_j) / (N sin(y_j / 2)) at all surviving nodes except the first."""
        N = self.nodes
        with working_bits(self._bits()):
            weights = [arb(2) / N / arb.sin_pi_fmpq(fmpq(int(j), N)) for j in self._index[1:]]
            for term in self._terms:
                factor, multiple = term.factor_ball(Fraction(0)), self._multiple(term)
                for k, j in enumerate(self._index[1:]):
                    turn = int(j) * multiple % N
                    height = factor.at(arb(fmpq(min(turn, N - turn), N))).real
                    weights[k] *= height**term.times
        return weights

    def _ball_tail(self, threshold: Fraction) -> arb:
        first, count = self._window(threshold)
        if count <= 0:
            return arb(0)
        N = self.nodes
        total = arb(count) / N
        for weight, node in zip(self._balls, self._index[1:], strict=True):
            j = int(node)
            phase = arb.cos_pi_fmpq(fmpq(j * (first + self._reach), N))
            total += weight * phase * arb.sin_pi_fmpq(fmpq(j * count, N))
        return total

    def _ball_delta(self, epsilon: float, thresholds: tuple[Fraction, Fraction], error: float) -> WithBound:
        with working_bits(self._bits()):
            value = self._ball_tail(thresholds[0]) - arb(epsilon).exp() * self._ball_tail(thresholds[1])
            middle = float(value.mid())
            radius = float(value.rad().upper())
        return WithBound(middle, (error + radius + 2 * _UNIT * abs(middle)) * (1 + 1e-9))


# -- the first paper -----------------------------------------------------------------------------------------


class LatticeNormal(PublishedMethod):
    """(epsilon, delta) of equal events with the normal density in place of the true probabilities.

    `delta` bounds its error by the residual times the number of lattice points, as an absolute error;
    `relative_delta` by the ratio, which costs nothing more and holds in the deepest tail.

    >>> from discreet.noise import DiscreteGaussian
    >>> method = LatticeNormal([DiscreteGaussian(variance=5, times=10)])
    >>> print(f"{method.residual_bound:.1e}", f"{method.delta(epsilon=2.0).value:.10f}")
    3.0e-39 0.1137931119
    """

    def __init__(self, events: Iterable[Noise]) -> None:
        loss = Loss(events)
        terms = loss.terms
        if len(terms) != 1 or terms != loss.gaussian:
            raise InputError(
                f"the lattice-normal method takes discrete Gaussian events of one variance and sensitivity; "
                f"found {len(terms)} kinds of events"
            )
        self._term = terms[0]

    @property
    def variance(self) -> Fraction:
        """n sigma2, the variance of the normal density."""
        return self._term.times * self._term.size

    @cached_property
    def log_ratio_bound(self) -> float:
        """The logarithm of W + D, which bounds |P / phi_n - 1|."""
        return _log_ratio_bound(self._term.size, self._term.times)

    @property
    def ratio_bound(self) -> float:
        """Bound on the relative error of every probability, and of delta."""
        return max(math.exp(min(self.log_ratio_bound, 700.0)), _TINY)

    @property
    def residual_bound(self) -> float:
        """Bound on sup_y |P[S_n = y] - phi_n(y)|."""
        log = self.log_ratio_bound - math.log(2 * math.pi * self.variance) / 2
        return max(math.exp(min(log, 700.0)), _TINY)

    def delta(self, *, epsilon: float) -> WithBound:
        """Return delta at `epsilon`, with the absolute bound that the residual gives.

        delta is the sum of P[S_n = m] (1 - e^(eps - L(m))) over losses L(m) > eps. Up to a level U every
        term is off by the residual at most; beyond it neither law has more than a multiple of
        e^(-U^2 / (2 n sigma2)) left, and U is where that equals the residual.
        """
        value, rounding, first = self._sum(epsilon)
        variance = float(self.variance)
        residual = self.residual_bound
        level = math.sqrt(2 * variance * -math.log(min(residual, 0.5)))
        points = max(level - first + 1, 0.0)
        peak = 1 / math.sqrt(2 * math.pi * variance)
        beyond = (1.5 + peak) * math.exp(-(max(level, first) ** 2) / (2 * variance))
        return WithBound(value, residual * points + beyond + rounding)

    def relative_delta(self, *, epsilon: float) -> WithBound:
        """Return delta at `epsilon`, with the bound that the ratio gives: (W + D) delta.

        >>> from discreet.noise import DiscreteGaussian
        >>> method = LatticeNormal([DiscreteGaussian(variance=5, times=10)])
        >>> value, bound = method.relative_delta(epsilon=53.0)
        >>> value < 1e-290, bound < 1e-12 * value
        (True, True)
        """
        value, rounding, _ = self._sum(epsilon)
        return WithBound(value, self.ratio_bound * value + rounding)

    def _sum(self, epsilon: float) -> tuple[float, float, int]:
        """The sum of phi_n(m) (1 - e^(eps - L(m))), a bound on its rounding, and the first m."""
        term = self._term
        step = term.step
        at = Fraction(checked_epsilon(epsilon)) - term.times * term.offset
        first = math.floor(at / step) + 1
        variance = float(self.variance)
        lowest = -math.ceil(math.sqrt(120 * variance))
        start = max(first, lowest)
        end = math.ceil(math.sqrt(max(start, 0) ** 2 + 120 * variance)) + 1
        if end - start > _MOST_POINTS:
            raise PrecisionError(f"the sum has {end - start} terms; at most {_MOST_POINTS} are allowed")
        m = np.arange(start, end + 1)
        exponent = (m / variance) * (m / 2)
        least = float(exponent.min())
        gap = float(start * step - at) + float(step) * np.arange(m.size)
        total = float((np.exp(least - exponent) * -np.expm1(-gap)).sum())
        value = math.exp(math.log(total) - least - math.log(2 * math.pi * variance) / 2)
        # dominant terms have exponents up to least + 60; what is cut off is below e^-59 of the rest
        return value, max(8 * (least + 80) * _UNIT * value, _TINY), first


def residual_supremum(*, variance: Exact, times: int) -> float:
    """Return the true sup_y |P[S_n = y] - phi_n(y)|, from the n-fold convolution in ball arithmetic.

    The ratio of the two has period n in y and the density falls, so 0 <= y <= n/2 is enough.

    >>> [f"{residual_supremum(variance=v, times=10):.2e}" for v in (1, 5, 10)]
    ['4.18e-08', '2.99e-39', '5.60e-78']
    """
    sigma2 = positive(variance, name="variance")
    depth = 60 - min(_log_ratio_bound(sigma2, times), 0.0)  # nats: the residual and 26 digits of it
    reach = math.ceil(math.sqrt(2 * float(sigma2) * (depth + math.log(times) + 5)))
    if reach * times > 2**15:
        raise PrecisionError(f"the convolution has {2 * reach * times} points; at most 65536 are allowed")
    with working_bits(math.ceil(depth / math.log(2)) + 64):
        ball = arb(fmpq(sigma2.numerator, sigma2.denominator))
        weights = [(-arb(u * u) / (2 * ball)).exp() for u in range(-reach, reach + 1)]
        beyond = 2 * (-arb((reach + 1) ** 2) / (2 * ball)).exp() / (1 - (-(reach + 1) / ball).exp())
        total = sum(weights, arb(0)) + arb(0, 1) * beyond.abs_upper()
        powers = arb_poly(weights) ** times
        # with some |u| beyond the reach: at most times * beyond * total^(times - 1) of the weight
        missing = arb(0, 1) * (times * beyond * total ** (times - 1)).abs_upper()
        width = times * ball
        best = 0.0
        for y in range(times // 2 + 1):
            exact = (powers[reach * times + y] + missing) / total**times
            density = (-arb(y * y) / (2 * width)).exp() / (2 * arb.pi() * width).sqrt()
            best = max(best, float(abs(exact - density).mid()))
    return best


def _log_ratio_bound(sigma2: Fraction, times: int) -> float:
    """log of W + D, for sums of `times` variables of variance proxy sigma2."""
    s = 2 * math.pi**2 * float(sigma2)
    v = np.arange(1, 40)
    D = math.log1p(2 * float(np.exp(-s * v * v).sum()))
    logs = [math.log(math.expm1(min(times * D, 700.0))) if D > 1e-290 else math.log(2 * times) - s]
    if times > 1:  # a single variable has no class but that of 0
        for Q, ways in enumerate(_sums_of_squares(times), start=1):
            if ways:
                logs.append(math.log(ways) - s * (Q - min(Q, times / 2) ** 2 / times))
        # beyond: sum of r_n(Q) e^(-s Q / 2) <= e^(-s M / 4) * theta_3(e^(-s / 4))^n
        logs.append(-s * _MOST_SQUARES / 4 + times * math.log1p(2 * float(np.exp(-s / 4 * v * v).sum())))
    top = max(logs)
    return top + math.log(sum(math.exp(log - top) for log in logs)) + 1e-9


def _sums_of_squares(n: int) -> list[int]:
    """r_n(Q) for Q = 1 .. 64: coefficients of theta^n, by Euler's recurrence for powers of a series."""
    theta = {v * v: 2 for v in range(1, math.isqrt(_MOST_SQUARES) + 1)}
    counts = [1]
    for k in range(1, _MOST_SQUARES + 1):
        counts.append(sum((n * i - (k - i)) * c * counts[k - i] for i, c in theta.items() if i <= k) // k)
    return counts[1:]


class TwoFold(PublishedMethod):
    """(epsilon, delta) and trade-off curve of two equal events, in closed form (Theorem A.8).

    The formula is exact; the bound is that of the arithmetic, with `digits` decimal digits.

    >>> from discreet.noise import DiscreteGaussian
    >>> method = TwoFold([DiscreteGaussian(variance=5, times=2)])
    >>> value, bound = method.delta(epsilon=1.0)
    >>> print(f"{value:.12f}", bound < 1e-15)
    0.023483608878 True
    """

    def __init__(self, events: Iterable[Noise], *, digits: int = 30) -> None:
        loss = Loss(events)
        terms = loss.terms
        if len(terms) != 1 or terms != loss.gaussian or terms[0].times != 2:
            raise InputError(
                "Theorem A.8 takes exactly two discrete Gaussian events of one variance and sensitivity; "
                f"found {sum(term.times for term in terms)} events of {len(terms)} kinds"
            )
        if digits < 1:
            raise InputError(f"digits is {digits}; it must be at least 1")
        self._term = terms[0]
        self._bits = math.ceil(digits * math.log2(10)) + 16
        v = float(self._term.size)
        nats = (self._bits + 8) * math.log(2)
        # e^(-y^2 / 4 v) is negligible beyond, for the sum and for the sum shifted by 2 mu
        self._reach = math.ceil(2 * math.sqrt(v * (nats + 1))) + 2 * self._term.sensitivity + 2
        if self._reach > _MOST_POINTS // 64:
            raise PrecisionError(
                f"the sums have {2 * self._reach} terms; at most {_MOST_POINTS // 32} are allowed"
            )

    def delta(self, *, epsilon: float) -> WithBound:
        """Return delta at `epsilon`: 1 less the least of e^epsilon alpha(t) + beta(t) over the knots t."""
        checked_epsilon(epsilon)
        with working_bits(self._bits):
            factor = arb(epsilon).exp()
            # the least is at the last knot whose slope is steeper than -e^epsilon: (t - mu) mu / v <= epsilon
            mu, v = self._term.sensitivity, self._term.size
            middle = math.floor(Fraction(epsilon) * v / mu) + mu
            best = max(
                (
                    1 - factor * alpha - beta
                    for alpha, beta in map(self._errors, range(middle - 1, middle + 2))
                ),
                key=lambda ball: ball.mid(),
            )
            value = max(float(best.mid()), 0.0)
            return WithBound(value, float(best.rad().upper()) + 2 * _UNIT * value + _TINY)

    def knots(self) -> Floats:
        """Return the knots of the trade-off curve, rows (alpha, beta), alpha falling, at whole thresholds t.

        >>> from discreet.noise import DiscreteGaussian
        >>> TwoFold([DiscreteGaussian(variance="1/2", times=2)]).knots()[11:15].round(4).tolist()
        [[0.2977, 0.0593], [0.0593, 0.2977], [0.0045, 0.7023], [0.0001, 0.9407]]
        """
        return self._knots.copy()

    @cached_property
    def _knots(self) -> Floats:
        mu = self._term.sensitivity
        # in floats: beyond 1e-17 nothing is left to show
        reach = math.ceil(2 * math.sqrt(40 * float(self._term.size))) + 2 * mu
        with working_bits(self._bits):
            even, odd, ratio = self._weights
            above = [self._tail(reach + 2 * mu)]  # P[X_1 + X_2 >= y] for y downwards
            for y in range(reach + 2 * mu - 1, 0, -1):
                above.append(above[-1] + (odd if y % 2 else even) * (ratio * (y * y)).exp())
            tails = np.array([float(ball.mid()) for ball in reversed(above)])  # from y = 1

        def tail(first: int) -> float:
            return float(tails[first - 1]) if first > 0 else 1 - float(tails[-first])

        return np.array([[tail(t + 1), tail(2 * mu - t)] for t in range(-reach, reach + 1)])

    def tradeoff(self, *, alpha: float) -> float:
        """Return the type II error at the type I error `alpha`, between knots on the straight line.

        >>> from discreet.noise import DiscreteGaussian
        >>> round(TwoFold([DiscreteGaussian(variance=5, times=2)]).tradeoff(alpha=0.05), 10)
        0.8453532278
        """
        if not 0 <= alpha <= 1:
            raise InputError(f"alpha is {alpha:g}; it must lie in [0, 1]")
        corners = np.vstack([[0.0, 1.0], self._knots[::-1], [1.0, 0.0]])
        return float(np.interp(alpha, corners[:, 0], corners[:, 1]))

    def _errors(self, t: int) -> tuple[arb, arb]:
        """alpha(t) = P[X_1 + X_2 > t] and beta(t) = P[X_1 + X_2 <= t - 2 mu]."""
        above = max(t + 1, -self._reach)
        below = max(2 * self._term.sensitivity - t, -self._reach)  # y <= t - 2 mu, mirrored
        return self._tail(above), self._tail(below)

    def _tail(self, first: int) -> arb:
        """P[X_1 + X_2 >= first]."""
        if first <= 0:
            return 1 - self._tail(1 - first)
        even, odd, ratio = self._weights
        end = max(self._reach, first) + 1
        total = arb(0)
        for y in range(first, end):
            total += (odd if y % 2 else even) * (ratio * (y * y)).exp()
        beyond = (ratio * (end * end)).exp() / (1 - (ratio * end).exp())
        return total + arb(0, 1) * (2 * beyond).abs_upper()

    @cached_property
    def _weights(self) -> tuple[arb, arb, arb]:
        """c_0(sigma / sqrt 2) and c_1/2(sigma / sqrt 2) over c_0(sigma)^2, and -1 / 4 sigma2."""
        v = arb(fmpq(self._term.size.numerator, self._term.size.denominator))
        terms = range(1, self._reach + 1)
        cut = arb(0, 1) * (4 * (-arb(self._reach**2) / (2 * v)).exp() * (1 + v)).abs_upper()
        even = 1 + 2 * sum(((-arb(u * u) / v).exp() for u in terms), arb(0)) + cut
        odd = 2 * sum(((-((arb(u) - arb(1) / 2) ** 2) / v).exp() for u in terms), arb(0)) + cut
        whole = 1 + 2 * sum(((-arb(u * u) / (2 * v)).exp() for u in terms), arb(0)) + cut
        return even / whole**2, odd / whole**2, -1 / (4 * v)
