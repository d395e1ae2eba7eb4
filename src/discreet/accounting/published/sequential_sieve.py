"""The sieve paper's method: tails of S from its characteristic function, to an absolute tolerance.

    delta(eps) = P[S > eps - R/2] - e^eps P[S > eps + R/2],     S = sum a_k X_k,  a_k = mu_k / sigma_k^2

1. *Lattice.* The a_k are rational: S = h M with an integer M, h their greatest common divisor.
2. *Truncation.* S is sub-Gaussian with variance proxy R, P[|S| > U] <= 2 exp(-U^2 / 2R); U is where that
   reaches `tail`. What lies beyond is left out.
3. *Quadrature.* N = 2U/h + 1 nodes y_j = 2 pi j / N of the trapezoidal rule: what wraps around comes from
   beyond U. The sum over the lattice points of a tail is a Dirichlet kernel.
4. *Sieve.* Factor by factor, nodes are dropped once the product of the moduli is below `discard`.

Each tail then has the absolute error E = tail + discard (1 + log(N/2)) + rounding, and delta the error
(1 + e^eps) E. That is the method's weakness: the second tail is multiplied by e^eps, and its error with it.
The accounting proper tilts the law first and has no such loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.loss import Floats, GaussianTerm, Loss
from discreet.accounting.published.bounded import PublishedMethod, WithBound, checked
from discreet.budget.events import Event
from discreet.errors import InputError, PrecisionError
from discreet.noise.balls import working_bits

if TYPE_CHECKING:
    from flint import arb

MOST_NODES = 2**24
"""More quadrature nodes than this are refused: the lattice is too fine for the method."""

_UNIT = 2.0**-53


class SequentialSieve(PublishedMethod):
    """Exact accounting with an absolute tolerance, in float64 or with `digits` decimal digits.

    `tail` and `discard` default to 1e-18 in float64, and to 10^-digits with `digits`.

    Guarantee
    ---------
    The true value lies within `bound` of `value`. In float64 the bound on rounding is generous (some
    hundred units in the last place per tail); with `digits` it comes from ball arithmetic.

    >>> from discreet.budget.events import DiscreteGaussian
    >>> method = SequentialSieve([DiscreteGaussian(variance=5, times=10)])
    >>> value, bound = method.delta(epsilon=2.0)
    >>> print(f"{value:.10f}, error below {bound:.0e}; {method.survivors} of {method.nodes} nodes")
    0.1137931119, error below 4e-13; 53 of 131 nodes
    """

    def __init__(
        self,
        events: Iterable[Event],
        *,
        tail: float | None = None,
        discard: float | None = None,
        digits: int | None = None,
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
        # the events that cost most drop most nodes, so they go first
        terms = sorted(loss.gaussian, key=lambda term: -(term.times * term.mu * term.step))
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

    def _multiple(self, term: GaussianTerm) -> int:
        """The term's step in units of the lattice, modulo the number of nodes."""
        return int(term.step / self.step) % self.nodes

    def _sieve(self) -> tuple[NDArray[np.int64], Floats]:
        index = np.arange(self._reach + 1)
        logs = np.zeros(index.size)
        left = []
        for term in self._terms:
            turn = index * self._multiple(term) % self.nodes
            turn = np.minimum(turn, self.nodes - turn)
            logs = logs + term.times * _log_factor(2 * math.pi * (turn / self.nodes), float(term.sigma2))
            keep = logs >= math.log(self.discard)
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
            sigma2 = float(term.sigma2)
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
        exact = Fraction(checked(epsilon))
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
        """2 phi(y_j) / (N sin(y_j / 2)) at the surviving nodes but the first."""
        from flint import acb, arb, fmpq

        N = self.nodes
        with working_bits(self._bits()):
            weights = [arb(2) / N / arb.sin_pi_fmpq(fmpq(int(j), N)) for j in self._index[1:]]
            for term in self._terms:
                # theta_3 at imaginary tau = i / (2 pi sigma2): flint takes the short sum by itself
                tau = acb(0, arb(fmpq(term.sigma2.denominator, 2 * term.sigma2.numerator)) / arb.pi())
                at_zero = acb.modular_theta(acb(0), tau)[2].real
                multiple = self._multiple(term)
                for place, j in enumerate(self._index[1:]):
                    turn = int(j) * multiple % N
                    height = acb.modular_theta(acb(fmpq(min(turn, N - turn), N)), tau)[2].real / at_zero
                    weights[place] *= height**term.times
        return weights

    def _ball_tail(self, threshold: Fraction) -> arb:
        from flint import arb, fmpq

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
        from flint import arb

        with working_bits(self._bits()):
            value = self._ball_tail(thresholds[0]) - arb(epsilon).exp() * self._ball_tail(thresholds[1])
            middle = float(value.mid())
            radius = float(value.rad().upper())
        return WithBound(middle, (error + radius + 2 * _UNIT * abs(middle)) * (1 + 1e-9))


def _log_factor(angle: Floats, sigma2: float) -> Floats:
    """log of the characteristic function of N_Z(0, sigma2) at an angle in [0, pi], by the shorter sum."""
    if sigma2 < 0.5:
        u = np.arange(1, math.ceil(math.sqrt(80 * sigma2)) + 2)
        weight = 2 * np.exp(-(u**2) / (2 * sigma2))
        return np.asarray(np.log((1 + np.cos(np.multiply.outer(angle, u)) @ weight) / (1 + weight.sum())))
    total, at_zero = np.zeros_like(angle), 0.0
    for v in (-2, -1, 1, 2):
        total += np.exp(2 * math.pi * sigma2 * v * (angle - math.pi * v))
        at_zero += math.exp(-2 * math.pi**2 * sigma2 * v * v)
    return np.asarray(-sigma2 * angle * angle / 2 + np.log1p(total) - math.log1p(at_zero))
