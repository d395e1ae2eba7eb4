"""What other accountants say: zCDP, Renyi DP, Gaussian DP and Edgeworth, beside the exact curve.

Every comparison has the name of its method and says whether it is a bound. All share one small interface:
`delta(epsilon=)`, `log_delta(epsilon=)`, `epsilon(delta=)`, `tradeoff(alpha=)`.

*zCDP and Renyi DP.* Bounds from Renyi divergences. With K(t) = log E e^(tL) under the alternative,
t = order - 1 (so D_order = K(t) / t; zCDP is K(t) = rho t (t + 1)), and

    g(t) = t log t - (t + 1) log(t + 1)        ( = log of the maximum of (1 - e^-x) e^(-tx) ),

Canonne, Kamath and Steinke (2020) show delta(eps) <= exp(K(t) - t eps + g(t)) for every t > 0:

    log delta(eps) = min_t  K(t) - t eps + g(t)
    eps(delta)     = min_t  (K(t) + g(t) - log delta) / t

Bun and Steinke (2016) leave out g(t). Either way some of what K says is lost. To f there is one best
conversion, and it loses nothing: a test sees one bit, and by data processing the divergences of that bit,
of law (1 - b, b) under the alternative and (a, 1 - a) under the null hypothesis, are at most those of the
release,

    D_order((1 - b, b), (a, 1 - a)) <= K(t) / t    and    D_order((a, 1 - a), (1 - b, b)) <= K(t) / t.

f(a) is the least b that satisfies all of them. No larger curve holds: the two laws of the bit are a release
with such divergences. Each order alone gives a lower bound, so that an order missed errs to the safe side.
The bounds are convex sets of (a, b), each the mirror image of another: f is convex and its own inverse.

*Gaussian DP.* The composition replaced by one continuous Gaussian. An approximation, not a bound.

*Edgeworth.* The expansion of the loss: the normal law corrected by third and fourth cumulants.
With x = (l - mean) / sd, skewness c3 and excess kurtosis c4 of the loss under the alternative,

    P[L > l] ~ Phi(-x) + phi(x) p(x),   p = c3/6 He_2 + c4/24 He_3 + c3^2/72 He_5

(He_n the Hermite polynomials). The loss lives on a lattice, which the expansion does not know: it has no
term for the jumps, which for few events are the larger error. In the far tail p may turn negative and
take the tail with it; delta is then reported as 0.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from statistics import NormalDist
from typing import ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.loss import Floats, Loss
from discreet.errors import InputError, PrecisionError
from discreet.memory import Forgetful
from discreet.noise import DiscreteGaussian, Noise
from discreet.noise.gaussian_tail import erfcx
from discreet.numbers import Exact, positive

Real = TypeVar("Real", float, Floats)

_GRID = np.exp(np.arange(-46.0, 60.0, 0.25))
_BELOW_ONE = -np.exp(np.arange(-20.0, 0.0, 0.25)) / 2  # t of orders below 1, in both directions ...
_HALFWAY = -0.5  # ... up to the order 1/2, beyond which they change places
_GOLDEN = (math.sqrt(5) - 1) / 2
_LARGEST_PRODUCT = 1e6  # of t and eps: beyond it K(t) - t eps loses its digits to cancellation
_gauss_legendre = cache(np.polynomial.legendre.leggauss)
_HALF_LOG_TWO_PI = math.log(2 * math.pi) / 2
_MOST_SD = 1e50  # a loss farther from zero, in standard deviations, has no expansion in floats
_TOGETHER = 256  # type I errors for which f is computed together
_MOST_ROUNDS = 40
_SECTIONS = 36  # of a stretch of half a unit in log t: to 1e-8, where the divergence is flat to 1e-16
_HALVINGS = 66  # of a gap of up to 1500, to 1e-17
_DIRECT_UP_TO = 4.0  # mu: above, Mills ratios are subtracted, which costs at most two digits


def side_by_side(events: Iterable[Noise]) -> tuple[Comparison, ...]:
    """Return every comparison for one list of events, the loosest bound first.

    >>> from discreet.noise import DiscreteGaussian
    >>> for curve in side_by_side([DiscreteGaussian(variance=5, times=10)]):
    ...     print(f"{curve.name:28}{'bound' if curve.is_bound else 'approximation':15}"
    ...           f"{curve.epsilon(delta=1e-11):.4f}")
    zCDP, Bun-Steinke           bound          11.0655
    zCDP, tight conversion      bound          10.5207
    Renyi DP                    bound          10.5207
    Gaussian DP                 approximation  10.1158
    Edgeworth                   approximation  10.1158
    """
    listed = tuple(events)
    return ZCDP(listed), TightZCDP(listed), RenyiDP(listed), GaussianDP(listed), Edgeworth(listed)


class Comparison(Forgetful, ABC):
    """A curve to compare with the exact one. Scalars give floats, arrays give arrays of the same shape.

    Guarantee
    ---------
    If `is_bound`, then up to rounding (about 1e-13 relative in delta) the true delta is at most `delta`,
    the true epsilon at most `epsilon`, and the true trade-off curve at least `tradeoff`. If not, the
    curve is an approximation that may err to either side.
    """

    name: ClassVar[str]
    """What it is, for tables and legends."""

    is_bound: ClassVar[bool]
    """Whether the curve provably errs to the safe side."""

    def log_delta(self, *, epsilon: Real) -> Real:
        """Return the natural logarithm of delta at `epsilon` >= 0: no underflow, however deep the tail."""
        return _apply(self._log_delta, epsilon, name="epsilon", low=0.0, high=np.inf, ends=(True, False))

    def delta(self, *, epsilon: Real) -> Real:
        """Return delta at `epsilon` >= 0."""
        logs = self.log_delta(epsilon=epsilon)
        return np.exp(logs) if isinstance(logs, np.ndarray) else float(np.exp(logs))

    def epsilon(self, *, delta: Real) -> Real:
        """Return epsilon >= 0 at `delta`, strictly between 0 and 1."""
        return _apply(
            lambda d: self._epsilon(np.log(d)), delta, name="delta", low=0.0, high=1.0, ends=(False, False)
        )

    def tradeoff(self, *, alpha: Real) -> Real:
        """Return the type II error at type I error `alpha` in [0, 1]: 1 at 0, and 0 at 1."""

        def to_ends(alpha: Floats) -> Floats:
            result = np.where(alpha == 0, 1.0, 0.0)
            inside = (alpha > 0) & (alpha < 1)
            result[inside] = self._tradeoff(alpha[inside])
            return result

        return _apply(to_ends, alpha, name="alpha", low=0.0, high=1.0, ends=(True, True))

    @abstractmethod
    def _log_delta(self, epsilon: Floats) -> Floats:
        """log delta, at most 0, for a vector of epsilon >= 0."""

    @abstractmethod
    def _tradeoff(self, alpha: Floats) -> Floats:
        """The trade-off curve for a vector of alpha strictly between 0 and 1."""

    def _epsilon(self, log_delta: Floats) -> Floats:
        """Solve log delta(epsilon) = `log_delta` by bisection; 0 where delta(0) is already small enough."""
        low, high = np.zeros_like(log_delta), np.ones_like(log_delta)
        for _ in range(64):
            above = self._log_delta(high) > log_delta
            if not above.any():
                break
            high = np.where(above, 2 * high, high)
        else:
            raise PrecisionError(f"{self.name} does not reach delta = {np.exp(log_delta.min()):.3g}")
        for _ in range(70):
            middle = (low + high) / 2
            above = self._log_delta(middle) > log_delta
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.where(self._log_delta(np.zeros_like(high)) <= log_delta, 0.0, high)


def _apply(
    function: Callable[[Floats], Floats],
    value: Real,
    *,
    name: str,
    low: float,
    high: float,
    ends: tuple[bool, bool],
) -> Real:
    """Check the range, flatten to a vector, compute, and restore the shape."""
    array = np.asarray(value, dtype=np.float64)
    above = array >= low if ends[0] else array > low
    below = array <= high if ends[1] else array < high
    if not np.all(above & below):
        wrong = array[~(above & below)].flat[0]
        left, right = "[" if ends[0] else "(", "]" if ends[1] else ")"
        raise InputError(f"{name} is {wrong:g}; it must lie in {left}{low:g}, {high:g}{right}")
    result = function(array.ravel()).reshape(array.shape)
    return float(result) if array.ndim == 0 else result  # type: ignore[return-value]


def _composed(events: Iterable[Noise]) -> Loss:
    loss = Loss(events)
    if not loss.terms:
        raise InputError("the list of events is empty; a comparison needs at least one event")
    return loss


# -- zCDP and Renyi DP ---------------------------------------------------------------------------------------


def zcdp_rho(events: Iterable[Noise]) -> Fraction:
    """Return the zCDP rho of a composition, exactly.

    A discrete Gaussian costs mu^2 / (2 sigma2); discrete Laplace noise is pure (mu / b)-DP and costs
    (mu / b)^2 / 2.

    >>> from discreet.noise import DiscreteLaplace
    >>> zcdp_rho([DiscreteGaussian(variance=5, times=10), DiscreteLaplace(scale=2)])
    Fraction(9, 8)
    """
    rho = Fraction(0)
    for event in events:
        rho += (event.precision + event.times * (event.largest or 0) ** 2) / 2
    if rho == 0:
        _composed(())  # says that there are no events
    return rho


class _ByOrder(Comparison):
    """A curve that is the best over all orders t + 1."""

    @abstractmethod
    def _log_mgf(self, t: Floats) -> Floats:
        """K(t), or an upper bound of it."""

    @cached_property
    def _on_grid(self) -> Floats:
        return self._log_mgf(_GRID)

    def _log_delta(self, epsilon: Floats) -> Floats:
        def objective(t: Floats, k: Floats, eps: Floats) -> Floats:
            return np.where(t * eps > _LARGEST_PRODUCT, np.inf, k - t * eps + _g(t))

        return np.minimum(self._best(objective, epsilon), 0.0)

    def _epsilon(self, log_delta: Floats) -> Floats:
        return np.maximum(self._best(lambda t, k, target: (k + _g(t) - target) / t, log_delta), 0.0)

    @cached_property
    def _orders(self) -> tuple[Floats, Floats]:
        """The t used for f, and the divergences K(t) / t there."""
        return _GRID, self._on_grid / _GRID

    def _divergence(self, t: Floats) -> Floats:
        """K(t) / t, rounded up."""
        return self._log_mgf(t) / t

    def _tradeoff(self, alpha: Floats) -> Floats:
        rows = [alpha[i : i + _TOGETHER] for i in range(0, alpha.size, _TOGETHER)]
        return np.concatenate([self._least_error(row) for row in rows]) if rows else alpha

    def _least_error(self, alpha: Floats) -> Floats:
        """The least type II error that no order rules out, by the order that rules out most, repeatedly."""
        bit = _Bit(np.log(alpha), np.log1p(-alpha))
        t, most = self._orders
        # start with the second term of orders above 1 alone, which always gives a bound
        above = t > 0
        low = ((1 + 1 / t[above, None]) * bit.log_right - most[above, None]).max(axis=0)
        gap = bit.gap(low)
        # a bound above every divergence that a test could have rules out nothing
        use = most < max(float(np.max(-bit.log_alpha)), float(np.max(bit.log_right - low)))
        t, most = t[use], most[use]
        active = np.arange(alpha.size)
        for _ in range(_MOST_ROUNDS):
            if not (active.size and t.size):
                break
            some, here = bit.take(active), gap[active]
            excess = [
                some.divergence(t[:, None], here, turned=turned) / most[:, None] for turned in (False, True)
            ]
            turned = excess[1].max(axis=0) > excess[0].max(axis=0)
            at = np.where(turned, excess[1].argmax(axis=0), excess[0].argmax(axis=0))
            order = self._worst_order(t, at, lambda s: some.divergence(s, here, turned=turned))  # noqa: B023
            bound = self._divergence(order)
            # how far below 1 - alpha: from where the order rules out to where it does not
            far, near = here, np.zeros_like(here)
            for _ in range(_HALVINGS):
                middle = 0.5 * (far + near)
                is_ruled_out = some.divergence(order, middle, turned=turned) > bound
                far, near = np.where(is_ruled_out, middle, far), np.where(is_ruled_out, near, middle)
            gap[active] = far
            active = active[here - far > 1e-15 * here]
        return np.minimum(bit.error(gap), 1 - alpha)

    def _worst_order(
        self, t: Floats, at: NDArray[np.int64], divergence: Callable[[Floats], Floats]
    ) -> Floats:
        """The t near a point of the grid at which a divergence is the largest multiple of its bound."""
        sign = np.sign(t[at])
        low, high = (t[np.clip(at + step, 0, t.size - 1)] for step in (-1, 1))
        low, high = (np.log(np.abs(np.where(end * sign > 0, end, t[at]))) for end in (low, high))

        def excess(log_t: Floats) -> Floats:
            s = sign * np.exp(log_t)
            return divergence(s) / self._divergence(s)

        log_t = golden_section(lambda x: -excess(x), low, high, _SECTIONS)
        better = excess(log_t) > excess(np.log(np.abs(t[at])))
        return np.where(better, sign * np.exp(log_t), t[at])

    def _best(self, objective: Callable[[Floats, Floats, Floats], Floats], given: Floats) -> Floats:
        """The minimum over t of objective(t, K(t), given): a grid, then golden section around its best."""
        rows = objective(_GRID[:, None], self._on_grid[:, None], given)
        at = np.clip(np.argmin(rows, axis=0), 1, _GRID.size - 2)
        best = rows.min(axis=0)
        low, high = np.log(_GRID[at - 1]), np.log(_GRID[at + 1])

        def value(log_t: Floats) -> Floats:
            t = np.exp(log_t)
            return objective(t, self._log_mgf(t), given)

        return np.asarray(np.minimum(best, value(golden_section(value, low, high, 40))))


def golden_section(value: Callable[[Floats], Floats], low: Floats, high: Floats, sections: int) -> Floats:
    """The minimiser of each of many functions between two ends.

    >>> golden_section(lambda x: (x - 2) ** 2, np.array([0.0]), np.array([10.0]), 40).round(6)
    array([2.])
    """
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = value(left), value(right)
    for _ in range(sections):
        go_left = at_left < at_right
        low, high = np.where(go_left, low, left), np.where(go_left, right, high)
        fresh = np.where(go_left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_fresh = value(fresh)
        left, right = np.where(go_left, fresh, right), np.where(go_left, left, fresh)
        at_left, at_right = np.where(go_left, at_fresh, at_right), np.where(go_left, at_left, at_fresh)
    return np.where(at_left < at_right, left, right)


@dataclass(frozen=True, slots=True)
class _Bit:
    """What a test of type I error alpha sees: one bit, of law (alpha, 1 - alpha) under the null hypothesis.

    Under the alternative it is (1 - b, b). The gap is how far logit(b) lies below logit(1 - alpha).
    """

    log_alpha: Floats
    log_right: Floats
    """log(1 - alpha)."""

    def take(self, chosen: NDArray[np.int64]) -> _Bit:
        """Some of the tests."""
        return _Bit(self.log_alpha[chosen], self.log_right[chosen])

    def gap(self, log_b: Floats) -> Floats:
        """The gap of a type II error."""
        with np.errstate(divide="ignore"):
            return np.maximum(self.log_right - self.log_alpha - log_b + np.log(-np.expm1(log_b)), 0.0)

    def error(self, gap: Floats) -> Floats:
        """The type II error b."""
        return np.exp(-np.logaddexp(0.0, gap - self.log_right + self.log_alpha))

    def divergence(self, t: Floats, gap: Floats, *, turned: bool | NDArray[np.bool_]) -> Floats:
        """The divergence of order t + 1 of the alternative from the null hypothesis, or turned around."""
        logit = self.log_right - self.log_alpha - gap
        log_b, log_power = -np.logaddexp(0.0, -logit), -np.logaddexp(0.0, logit)
        # log((1 - b) / alpha) >= 0 >= log(b / (1 - alpha)), from a small gap to its relative accuracy
        small = np.minimum(gap, 1.0)
        more = np.where(gap < 1, np.log1p(np.exp(log_b) * np.expm1(small)), log_power - self.log_alpha)
        less = np.where(gap < 1, np.log1p(np.exp(log_power) * np.expm1(-small)), log_b - self.log_right)
        sign = np.where(turned, -1.0, 1.0)
        first, second = np.where(turned, self.log_alpha, log_power), np.where(turned, self.log_right, log_b)
        up, down = t * (sign * more), t * (sign * less)
        near = np.exp(first) * np.expm1(np.clip(up, -1, 1)) + np.exp(second) * np.expm1(np.clip(down, -1, 1))
        is_near = np.maximum(np.abs(up), np.abs(down)) < 0.5
        return np.asarray(np.where(is_near, np.log1p(near), np.logaddexp(first + up, second + down)) / t)


class TightZCDP(_ByOrder):
    """zCDP with the (epsilon, delta) of Canonne, Kamath and Steinke; f is the best that rho alone can give.

    >>> curve = TightZCDP.from_rho("24811/5000")
    >>> round(curve.epsilon(delta=1e-10), 10), round(curve.tradeoff(alpha=0.001), 4)
    (25.4192825765, 0.2091)
    """

    name = "zCDP, tight conversion"
    is_bound = True

    def __init__(self, events: Iterable[Noise]) -> None:
        self.rho = zcdp_rho(events)

    @classmethod
    def from_rho(cls, rho: Exact) -> Self:
        """Build the curve from rho itself.

        >>> TightZCDP.from_rho("1/2").rho
        Fraction(1, 2)
        """
        curve = cls.__new__(cls)
        curve.rho = positive(rho, name="rho")
        return curve

    def _log_mgf(self, t: Floats) -> Floats:
        return float(self.rho) * t * (t + 1)

    def _divergence(self, t: Floats) -> Floats:
        return float(self.rho) * (t + 1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.from_rho({str(self.rho)!r})"


class ZCDP(TightZCDP):
    """zCDP with the (epsilon, delta) of Bun and Steinke (2016), which the Bureau reports.

    delta = exp(-(eps - rho)^2 / (4 rho)) for eps >= rho, and eps = rho + 2 sqrt(rho log(1/delta)). To the
    trade-off curve there is one conversion: `tradeoff` is that of `TightZCDP`, all that rho proves.

    >>> ZCDP.from_rho("24811/5000").epsilon(delta=1e-10)
    26.340588852722323
    """

    name = "zCDP, Bun-Steinke"
    is_bound = True

    def _log_delta(self, epsilon: Floats) -> Floats:
        rho = float(self.rho)
        return -(np.maximum(epsilon - rho, 0.0) ** 2) / (4 * rho)

    def _epsilon(self, log_delta: Floats) -> Floats:
        rho = float(self.rho)
        return rho + 2 * np.sqrt(-rho * log_delta)


class RenyiDP(_ByOrder):
    """Renyi DP: the exact divergences of the composition, every real order, the tight conversion.

    Orders below 1, about which rho says nothing, matter to the trade-off curve.

    >>> curve = RenyiDP([DiscreteGaussian(variance="1/4", times=3)])
    >>> round(curve.epsilon(delta=1e-6), 3), round(TightZCDP.from_rho(6).epsilon(delta=1e-6), 3)
    (23.026, 23.084)
    """

    name = "Renyi DP"
    is_bound = True

    def __init__(self, events: Iterable[Noise]) -> None:
        self.loss = _composed(events)

    def divergence(self, *, order: float) -> float:
        """Return the Renyi divergence of the composition at an order above 1.

        >>> round(RenyiDP([DiscreteGaussian(variance=5, times=10)]).divergence(order=3.0), 12)
        3.0
        """
        if not order > 1:
            raise InputError(f"order is {order:g}; it must be above 1")
        return float(self.loss.log_mgf(np.array([order - 1.0]))[0]) / (order - 1.0)

    def _log_mgf(self, t: Floats) -> Floats:
        return self.loss.log_mgf(t)

    @cached_property
    def _orders(self) -> tuple[Floats, Floats]:
        t = np.concatenate([_BELOW_ONE, [_HALFWAY], _GRID])
        return t, self._divergence(t)

    def _divergence(self, t: Floats) -> Floats:
        counts = sum(term.times for term in self.loss.primal)
        size = np.abs(t) * float(self.loss.offset) + t * t * float(self.loss.R)
        return (self._log_mgf(t) + np.sign(t) * 1e-15 * (counts + size)) / t

    def _log_delta(self, epsilon: Floats) -> Floats:
        logs = super()._log_delta(epsilon)
        # order infinity: a bounded loss never exceeds its largest value
        largest = self.loss.largest
        return logs if largest is None else np.where(epsilon >= float(largest), -np.inf, logs)

    def _epsilon(self, log_delta: Floats) -> Floats:
        epsilon = super()._epsilon(log_delta)
        return epsilon if self.loss.largest is None else np.minimum(epsilon, float(self.loss.largest))


def _g(t: Floats) -> Floats:
    """t log t - (t + 1) log(t + 1), without cancellation."""
    return -t * np.log1p(1 / t) - np.log1p(t)


# -- Gaussian DP ---------------------------------------------------------------------------------------------


class GaussianDP(Comparison):
    """mu-GDP with mu = sqrt(R), R = 2 rho (Dong, Roth and Su 2022).

    It can lie below the truth: ten events of variance 5 have exact epsilon 10.12483 at delta = 1e-11.
    Where discrete Laplace noise takes part, mu = 2 E[L] / sqrt(R + variance of the Laplace losses), the
    central limit theorem's choice, which is sqrt(R) without them; infinite where that variance vanishes.

    >>> from discreet.noise import DiscreteGaussian
    >>> curve = GaussianDP([DiscreteGaussian(variance=5, times=10)])
    >>> round(curve.epsilon(delta=1e-11), 4), curve.is_bound
    (10.1158, False)
    """

    name = "Gaussian DP"
    is_bound = False

    def __init__(self, events: Iterable[Noise]) -> None:
        loss = _composed(events)
        mean = sum(term.times * term.mean_loss for term in loss.terms)
        variance = float(loss.R)
        for term in loss.terms:
            if term.precision == 0:  # discrete Laplace
                variance += term.times * float(term.step) ** 2 * term.tilted_variance()
        self.mu = 2 * mean / math.sqrt(variance) if variance > 0 else math.inf

    @classmethod
    def from_rho(cls, rho: Exact) -> Self:
        """Build the curve from a zCDP rho: mu = sqrt(2 rho).

        >>> GaussianDP.from_rho(2).mu
        2.0
        """
        curve = cls.__new__(cls)
        curve.mu = math.sqrt(2 * positive(rho, name="rho"))
        return curve

    @property
    def _is_endless(self) -> bool:
        """Whether mu^2 is too large for a float, as for noise that is nearly always zero."""
        return math.isinf(self.mu * self.mu)

    def _log_delta(self, epsilon: Floats) -> Floats:
        if self._is_endless:
            return np.zeros_like(epsilon)
        return np.minimum(log_gap(epsilon / self.mu - self.mu / 2, self.mu), 0.0)

    def _epsilon(self, log_delta: Floats) -> Floats:
        if self._is_endless:
            return np.full_like(log_delta, math.inf)
        mu = self.mu
        rho = mu * mu / 2
        # log delta is concave in epsilon, so Newton's method comes down from above without overshooting
        epsilon = rho + 2 * np.sqrt(-rho * log_delta)
        for _ in range(60):
            x = epsilon / mu - mu / 2
            log_now = log_gap(x, mu)
            slope = -np.exp(log_density(x) + np.log(mills_ratio(x + mu)) - log_now)
            step = (log_now - log_delta) / slope
            epsilon = np.maximum(epsilon - step, 0.0)
            if np.all(np.abs(step) <= 1e-15 * (1 + epsilon)):
                break
        return epsilon

    def _tradeoff(self, alpha: Floats) -> Floats:
        if self._is_endless:
            return np.zeros_like(alpha)
        # G(alpha) = Phi(Phi^-1(1 - alpha) - mu), and Phi^-1(1 - alpha) = -Phi^-1(alpha)
        return np.exp(log_upper_tail(quantile(alpha) + self.mu))

    def __repr__(self) -> str:
        return f"GaussianDP with mu = {self.mu!r}"


# -- Edgeworth -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cumulants:
    """The first four cumulants of the composed loss, under the alternative."""

    mean: float
    variance: float
    third: float
    fourth: float

    @property
    def skewness(self) -> float:
        """Third cumulant over variance^(3/2)."""
        return self.third / (self.variance * math.sqrt(self.variance))

    @property
    def excess_kurtosis(self) -> float:
        """Fourth cumulant over variance^2."""
        return self.fourth / self.variance**2


def cumulants(events: Iterable[Noise]) -> Cumulants:
    """Return the cumulants of the composed loss.

    For discrete Gaussians the third is zero and the fourth is of the order of e^(-2 pi^2 sigma2).

    >>> from discreet.noise import DiscreteGaussian
    >>> four = cumulants([DiscreteGaussian(variance="1/2", times=4)])
    >>> round(four.mean, 12), round(four.variance, 6), four.third, round(four.fourth, 6)
    (4.0, 7.983666, 0.0, 0.644637)
    """
    totals = np.sum([_of_term(term) for term in _composed(events).terms], axis=0)
    return Cumulants(*totals.tolist())


def _of_term(term: Noise) -> Floats:
    if isinstance(term, DiscreteGaussian) and term.is_dual:
        # derivatives of log theta_3 at 0, so that a fourth cumulant of 1e-40 is not lost in rounding
        sigma2, mu = float(term.variance), term.sensitivity
        v = np.arange(1, 5)
        weight = 2 * np.exp(-2 * math.pi**2 * sigma2 * v**2)
        turn2 = (2 * math.pi * mu * v) ** 2
        total = 1 + weight.sum()
        second = -float(weight @ turn2) / total
        fourth = float(weight @ turn2**2) / total - 3 * second**2
        return term.times * np.array([float(term.offset), mu * mu / sigma2 + second, 0.0, fourth])
    _, u, p = term.tilted(0.0)
    centre = float(p @ u)
    m2, m3, m4 = (float(p @ (u - centre) ** power) for power in (2, 3, 4))
    third = 0.0 if term.largest is None else m3  # Gaussians are symmetric under no tilt
    step = float(term.step) if m2 > 0 else 0.0  # its powers may be too large for a float
    return term.times * np.array(
        [term.mean_loss, step**2 * m2, step**3 * third, step**4 * (m4 - 3 * m2 * m2)]
    )


class Edgeworth(Comparison):
    """The second-order Edgeworth expansion, applied to both tails in delta. An approximation.

    >>> from discreet.noise import DiscreteGaussian
    >>> curve = Edgeworth([DiscreteGaussian(variance="1/2", times=10)])
    >>> round(curve.delta(epsilon=10.0), 4), curve.is_bound
    (0.4115, False)
    """

    name = "Edgeworth"
    is_bound = False

    def __init__(self, events: Iterable[Noise]) -> None:
        self.cumulants = cumulants(events)
        self._sd = math.sqrt(self.cumulants.variance)
        if not (self.cumulants.variance**2 > 0 and self.cumulants.mean < _MOST_SD * self._sd):
            raise PrecisionError("the loss hardly varies: its cumulants are too small for an expansion")

    def _correction(self, x: Floats) -> Floats:
        c3, c4 = self.cumulants.skewness, self.cumulants.excess_kurtosis
        square = x * x
        he2, he3, he5 = square - 1, x * (square - 3), x * (square * (square - 10) + 15)
        return c3 / 6 * he2 + c4 / 24 * he3 + c3 * c3 / 72 * he5

    def _log_delta(self, epsilon: Floats) -> Floats:
        mean, sd = self.cumulants.mean, self._sd
        x, y = (epsilon - mean) / sd, (epsilon + mean) / sd
        # e^eps phi(y) = e^drift phi(x): the drift is zero for a Gaussian, where variance = 2 mean
        drift = epsilon * (1 - 2 * mean / sd**2)
        # both parts over the density at x; before the mean the gap alone is of order one
        lead = log_gap(x, 2 * mean / sd)
        scale = np.where(x > 0, log_density(x), 0.0)
        with np.errstate(over="ignore", invalid="ignore"):  # so far out that there is no tail
            rest = self._correction(x) - np.expm1(drift) * mills_ratio(y)
            rest += np.exp(drift) * self._correction(-y)
            total = np.exp(lead - scale) + np.exp(log_density(x) - scale) * rest
        logs = np.full_like(total, -np.inf)
        np.log(total, out=logs, where=total > 0)
        return np.minimum(scale + logs, 0.0)

    def _lower_tail(self, x: Floats) -> Floats:
        """P[standardised loss <= x]."""
        return np.clip(np.exp(log_upper_tail(-x)) - np.exp(log_density(x)) * self._correction(x), 0.0, 1.0)

    def _tradeoff(self, alpha: Floats) -> Floats:
        # under the null the loss is the negative of the loss under the alternative: with
        # P[X <= x] = alpha the threshold is -(mean + sd x), and beta = P[X <= -x - 2 mean / sd]
        low, high = np.full_like(alpha, -39.0), np.full_like(alpha, 39.0)
        for _ in range(70):
            middle = (low + high) / 2
            above = self._lower_tail(middle) > alpha
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return self._lower_tail(-(low + high) / 2 - 2 * self.cumulants.mean / self._sd)


# -- the normal distribution far out -------------------------------------------------------------------------


def log_density(x: Floats) -> Floats:
    """Return the logarithm of the standard normal density.

    >>> float(log_density(np.array([0.0]))[0]).__round__(6)
    -0.918939
    """
    return -x * x / 2 - _HALF_LOG_TWO_PI


def mills_ratio(x: Floats) -> Floats:
    """Return Mills' ratio, P[Z > x] over the density at x, for x >= 0.

    >>> mills_ratio(np.array([0.0, 1.0, 40.0])).round(9).tolist()
    [1.253314137, 0.655679542, 0.024984404]
    """
    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))


def log_upper_tail(x: Floats) -> Floats:
    """Return log P[Z > x] for a standard normal Z.

    >>> log_upper_tail(np.array([-1.0, 0.0, 37.5])).round(6).tolist()
    [-0.172754, -0.693147, -707.668989]
    """
    far = log_density(x) + np.log(mills_ratio(np.abs(x)))
    return np.where(x >= 0, far, np.log1p(-np.exp(far)))


def log_gap(x: Floats, mu: float) -> Floats:
    """Return the logarithm of P[Z > x] - e^(mu x + mu^2 / 2) P[Z > x + mu], for x >= -mu / 2.

    With x = eps/mu - mu/2 it is delta(eps) of mu-GDP. It equals the integral of the density at x + z
    times (1 - e^(-mu z)), z > 0, which is how it is computed while mu is small.

    >>> log_gap(np.array([-0.5, 37.0]), 1.0).round(6).tolist()
    [-0.959916, -692.669572]
    """
    if mu <= _DIRECT_UP_TO:
        z, weights = _nodes(x)  # positive terms: nothing cancels
        terms = weights * np.exp(-x[:, None] * z - z * z / 2) * -np.expm1(-mu * z)
        return np.asarray(log_density(x) + np.log(terms.sum(axis=1)))
    second = mills_ratio(x + mu)
    with np.errstate(divide="ignore", invalid="ignore"):  # each is used where it holds
        beyond = log_density(x) + np.log(mills_ratio(np.maximum(x, 0.0)) - second)
        before = np.log(-np.expm1(log_upper_tail(-x)) - np.exp(log_density(x)) * second)
    return np.where(x >= 0, beyond, before)


def quantile(p: Floats) -> Floats:
    """Return the x with P[Z <= x] = p, strictly between 0 and 1; small p keep their relative accuracy.

    >>> quantile(np.array([1e-300, 0.5])).round(6).tolist()
    [-37.047096, 0.0]
    """
    inverse = NormalDist().inv_cdf
    return np.array([inverse(value) for value in p.tolist()], dtype=np.float64)


def _nodes(x: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights of a quadrature, one row for every x, on the z where xz + z^2/2 stays below 40."""
    z, weights = _gauss_legendre(100)
    root = np.sqrt(x * x + 80)
    # root - x, written without cancellation for large x
    length = np.where(x > 0, 80 / (root + np.abs(x)), root - x)[:, None] / 2
    return length * (1 + z), length * weights
