"""The first paper's method: the normal density on the lattice, for i.i.d. discrete Gaussians.

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
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.accounting.loss import GaussianTerm, Loss
from discreet.accounting.published.bounded import PublishedMethod, WithBound, checked
from discreet.budget.events import Event
from discreet.errors import InputError, PrecisionError
from discreet.noise.balls import working_bits
from discreet.numbers import Exact, positive

_UNIT = 2.0**-53
_MOST_POINTS = 2**24
_MOST_SQUARES = 64  # Q up to here is counted, the rest bounded
_TINY = 5e-324


class LatticeNormal(PublishedMethod):
    """(epsilon, delta) of equal events with the normal density in place of the true probabilities.

    `delta` bounds its error by the residual times the number of lattice points, as an absolute error;
    `relative_delta` by the ratio, which costs nothing more and holds in the deepest tail.

    >>> from discreet.budget.events import DiscreteGaussian
    >>> method = LatticeNormal([DiscreteGaussian(variance=5, times=10)])
    >>> print(f"{method.residual_bound:.1e}", f"{method.delta(epsilon=2.0).value:.10f}")
    3.0e-39 0.1137931119
    """

    def __init__(self, events: Iterable[Event]) -> None:
        terms = Loss(events).terms
        if len(terms) != 1 or not isinstance(terms[0], GaussianTerm):
            raise InputError(
                f"the lattice-normal method takes discrete Gaussian events of one variance and sensitivity; "
                f"found {len(terms)} kinds of events"
            )
        self._term = terms[0]

    @property
    def variance(self) -> Fraction:
        """n sigma2, the variance of the normal density."""
        return self._term.times * self._term.sigma2

    @cached_property
    def log_ratio_bound(self) -> float:
        """The logarithm of W + D, which bounds |P / phi_n - 1|."""
        return _log_ratio_bound(self._term.sigma2, self._term.times)

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

        >>> from discreet.budget.events import DiscreteGaussian
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
        at = Fraction(checked(epsilon)) - term.times * term.offset
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
    from flint import arb, arb_poly, fmpq

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
