"""One direction of a composition of any laws: the loss with the person there, or with the two exchanged.

The loss is a sum of independent ones: L = sum of the losses of single outcomes, of losses with a density,
and of one normal loss. With some probability it is infinite; that probability is part of every delta. If a
law is not mirrored both directions count: delta is the larger of the two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy

from discreet.loss.lattice import Floats
from discreet.memory import Forgetful
from discreet.noise import CountLoss, Noise
from discreet.noise.balls import ball, lower, working_bits
from discreet.numbers import float_up

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
"""Of Gauss's rule, on [-1, 1]."""

ROUNDING = 4e-16
"""The relative error of one operation with floats, and some room."""

_LONGEST = 20_000  # bits of a probability that is kept exactly
_NARROW = 0.05  # standard deviations of a normal loss below which differences of Mills ratios cancel


@dataclass(frozen=True, eq=False)
class Side(Forgetful):
    """The loss of a composition in one direction."""

    terms: tuple[Noise, ...]
    exchanged: bool

    @cached_property
    def laws(self) -> list[tuple[CountLoss, int]]:
        """The losses of single counts that are not normal, and how often each occurs."""
        laws = ((term.loss_law(exchanged=self.exchanged), term.times) for term in self.terms)
        return [(law, times) for law, times in laws if not law.normal]

    @cached_property
    def normal(self) -> float:
        """The variance of the normal loss, which is twice its mean."""
        others = (term for term in self.terms if term.normal_loss is None)
        rest = sum(term.times * term.loss_law(exchanged=self.exchanged).normal for term in others)
        return float(normal_variance(self.terms)) + rest

    @cached_property
    def certain(self) -> Fraction:
        """The probability of an infinite loss: of tables exactly, or hardly more where that is too long."""
        finite = Fraction(1)
        for term in self.terms:
            rest = 1 - term.certain_loss(exchanged=self.exchanged)
            if rest.denominator.bit_length() * term.times > _LONGEST:
                with working_bits(256):
                    finite *= lower(ball(rest) ** term.times)
            else:
                finite *= rest**term.times
        return 1 - finite

    @cached_property
    def infinite(self) -> float:
        """The probability of an infinite loss, rounded up."""
        return float_up(self.certain)

    @cached_property
    def left_out(self) -> float:
        """At most the probability of outcomes that no law lists."""
        return float(sum(times * law.left_out for law, times in self.laws))

    @cached_property
    def depth(self) -> float:
        """How many roundings the probabilities of all counts together may be off by."""
        return 10.0 * sum(times for _, times in self.laws)

    @cached_property
    def has_density(self) -> bool:
        """Whether a loss has a continuous part that is not normal."""
        return any(law.density is not None for law, _ in self.laws)

    @cached_property
    def largest(self) -> float:
        """The largest loss, or infinity."""
        return math.inf if self.infinite > 0 else self.top

    @cached_property
    def top(self) -> float:
        """The largest finite loss, or hardly more, or infinity where they have no bound."""
        if self.normal > 0 or any(term_is_endless(term) for term in self.terms):
            return math.inf
        total = sum(times * float(law.value[-1]) if law.value.size else 0.0 for law, times in self.laws)
        return total + 2 * self.rounding(total)

    @cached_property
    def last(self) -> Fraction | None:
        """The largest loss where it is a fraction: that of Laplace noise alone."""
        known = [
            term.times * term.largest
            for term in self.terms
            if (term.as_lattice or term.exact_density) is not None and term.largest is not None
        ]
        return sum(known, Fraction(0)) if len(known) == len(self.terms) else None

    def rounding(self, epsilon: float) -> float:
        """By how much the float of a loss near epsilon may be off, and logarithms of its probability."""
        return ROUNDING * (self.depth + abs(epsilon))

    @cached_property
    def _atoms(self) -> list[tuple[Floats, Floats, int]]:
        """Values, log-probabilities and times; of densities at the nodes of a fine rule."""
        return [(*with_density(law, 64), times) for law, times in self.laws]

    def log_mgf(self, theta: Floats) -> Floats:
        """log E e^(theta L) over finite losses, at real tilts."""
        total = 0.5 * self.normal * (theta + theta * theta)
        for value, log, times in self._atoms:
            total = total + times * np.logaddexp.reduce(np.multiply.outer(theta, value) + log, axis=-1)
        return np.asarray(total)

    def tilted_moments(self, theta: float) -> tuple[float, float]:
        """Mean and variance of L under the tilt."""
        mean, variance = self.normal * (0.5 + theta), self.normal
        for value, log, times in self._atoms:
            weight = log + theta * value
            p = np.exp(weight - np.logaddexp.reduce(weight))
            centre = float(p @ value)
            mean += times * centre
            variance += times * float(p @ (value - centre) ** 2)
        return mean, variance

    def saddle(self, epsilon: float) -> float:
        """The tilt at which delta's integrand is flattest: K'(theta) = epsilon + 1/theta + 1/(theta + 1)."""
        low, high = 1e-9, 1e9
        for _ in range(80):
            middle = math.sqrt(low * high)
            mean, _ = self.tilted_moments(middle)
            low, high = (low, middle) if mean > epsilon + 1 / middle + 1 / (middle + 1) else (middle, high)
            if high < low * 1.01:
                break
        return min(math.sqrt(low * high), self._steepest)

    @cached_property
    def _steepest(self) -> float:
        """A tilt beyond which floats do not hold both ends of a bounded loss."""
        spread = math.sqrt(max(self.tilted_moments(0.0)[1], 1e-300))
        if self.top == math.inf:
            return max(1e5 / spread, 1.0)
        width = sum(times * float(value[-1] - value[0]) for value, _, times in self._atoms)
        return max(600 / max(width, 1e-300), 1.0)


def normal_variance(events: Iterable[Noise]) -> Fraction:
    """The variance of all losses together that are normal, exactly."""
    normal = ((event.times, event.normal_loss) for event in events)
    return sum((times * variance for times, variance in normal if variance is not None), Fraction(0))


def term_is_endless(term: Noise) -> bool:
    """Whether a law leaves out outcomes, so that its loss may have no bound."""
    law = term.loss_law()
    return law.normal > 0 or law.left_out > 0


def with_density(law: CountLoss, panels: int) -> tuple[Floats, Floats]:
    """The values of a law; its density at the nodes of Gauss's rule on equal panels."""
    if law.density is None:
        return law.value, law.log
    low, high, log = law.density
    edges = np.linspace(low, high, panels + 1)
    half = 0.5 * (edges[1] - edges[0])
    nodes = (edges[:-1, None] + half * (NODES + 1)).ravel()
    weight = np.log(half * np.tile(WEIGHTS, panels)) + log(nodes)
    order = np.argsort(np.concatenate([law.value, nodes]), kind="stable")
    return np.concatenate([law.value, nodes])[order], np.concatenate([law.log, weight])[order]


def sides_of(events: Sequence[Noise]) -> tuple[Side, ...]:
    """The directions that count: one if all losses are mirrored."""
    terms = tuple(events)
    if all(term.is_mirrored for term in terms):
        return (Side(terms, False),)
    return Side(terms, False), Side(terms, True)


# -- the normal loss ------------------------------------------------------------------------------------


def normal_delta(epsilon: Floats, variance: float) -> Floats:
    """delta of a normal loss of this variance, at epsilons of either sign, without cancellation.

    With a = s/2 - eps/s and b = a - s, s the standard deviation, delta = Phi(a) - e^eps Phi(b). Both are
    phi(a) times Mills ratios; of a small s their difference is one positive integral.

    >>> normal_delta(np.array([0.0, 10.0]), 2.0).round(12).tolist()
    [0.520499877813, 1.7e-11]
    """
    s = math.sqrt(variance)
    a = s / 2 - np.asarray(epsilon, dtype=np.float64) / s
    with np.errstate(under="ignore", over="ignore"):
        phi = np.exp(-0.5 * a * a) / math.sqrt(2 * math.pi)
        upper = a <= 1.0
        x = np.where(upper, -a, 0.0)
        if s >= _NARROW:
            ratio = math.sqrt(math.pi / 2) * (
                scipy.special.erfcx(x / math.sqrt(2)) - scipy.special.erfcx((x + s) / math.sqrt(2))
            )
        else:  # the integral of e^(-x t - t^2/2) (1 - e^(-s t)) over t > 0
            edges = np.concatenate([np.linspace(0, 2, 9), np.linspace(3, 12, 10), [20.0, 40.0]])
            # where x is large everything happens near zero
            scale = 1 / np.maximum(1.0, x / 4)
            ratio = np.zeros(np.shape(x))
            for low, high in pairwise(edges):
                for node, weight in zip(NODES, WEIGHTS, strict=True):
                    t = scale * (low + 0.5 * (high - low) * (node + 1))
                    part = np.exp(-x * t - 0.5 * t * t) * -np.expm1(-s * t)
                    ratio += 0.5 * (high - low) * weight * scale * part
        # far above the mean: 1 - P[N <= eps] - e^eps Q[N > eps]
        rest = scipy.special.ndtr(-a) + np.exp(
            np.minimum(np.asarray(epsilon) + scipy.special.log_ndtr(a - s), 0.0)
        )
    return np.asarray(np.where(upper, phi * ratio, 1.0 - rest))


def normal_errors(threshold: Floats, variance: float) -> tuple[Floats, Floats, Floats]:
    """log Q[N > t], P[N <= t] and P[N > t] of a normal loss."""
    s = math.sqrt(variance)
    t = threshold / s
    return (
        np.asarray(scipy.special.log_ndtr(-t - s / 2)),
        np.asarray(scipy.special.ndtr(t - s / 2)),
        np.asarray(scipy.special.ndtr(s / 2 - t)),
    )
