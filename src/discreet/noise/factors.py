"""Characteristic functions of noise under a tilt, in balls: the factors of a loss's transform."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.memory import Forgetful
from discreet.noise import balls
from discreet.noise.theta import ball_sum, terms_needed

if TYPE_CHECKING:
    from discreet.noise.gaussian import DiscreteGaussian
    from discreet.noise.laplace import DiscreteLaplace


class BallFactor(ABC):
    """The characteristic function of an integer X under a tilt, in balls."""

    shift: int

    @abstractmethod
    def at(self, turn: balls.arb) -> balls.acb:
        """E e^(2 pi i turn (X - shift)), for |turn| <= 1/2."""


class GaussianFactor(Forgetful, BallFactor):
    """Characteristic function of a discrete Gaussian around `near`, by the shorter of two sums."""

    def __init__(self, term: DiscreteGaussian, theta: Fraction) -> None:
        centre = theta * term.sensitivity
        self.shift = round(centre)
        self.near = centre - self.shift
        self.term = term
        self._norm = ball_sum(self.near, term.variance)
        # (dual: at half a turn neighbour v of the nearest frequency has weight e^(-rate (v^2 - v)))
        v = float(term.variance)
        self._reach = 2 + terms_needed(2 * math.pi**2 * v if term.is_dual else 1 / (2 * v))
        sigma2 = balls.ball(term.variance)
        self._rate = -2 * balls.arb.pi() ** 2 * sigma2 if term.is_dual else -1 / (2 * sigma2)

    @cached_property
    def _rest(self) -> balls.acb:
        """What the terms beyond the reach add at most, at any turn."""
        rest = (4 * (self._rate * balls.ball(Fraction(2 * self._reach + 1, 2) ** 2)).exp()).upper()
        return balls.acb(balls.arb(0, rest), balls.arb(0, rest))

    @cached_property
    def _terms(self) -> list[balls.acb]:
        """The terms of the sum at turn 0, that of v at place v."""
        return [self._at_zero(v) for v in (*range(self._reach + 1), *range(-self._reach, 0))]

    def _at_zero(self, v: int) -> balls.acb:
        if not self.term.is_dual:
            return balls.acb((self._rate * balls.ball((v - self.near) ** 2)).exp())
        return _polar((self._rate * (v * v)).exp(), balls.ball(-2 * v * self.near))

    @property
    def slack(self) -> balls.arb:
        """A bound of the relative difference of a plain factor from its Gaussian, up to a quarter turn.

        There each neighbouring frequency has at most e^(-pi^2 variance) of the weight of the nearest.
        """
        return 8 * self.term.times * (-(balls.arb.pi() ** 2) * balls.ball(self.term.variance)).exp()

    @property
    def is_plain(self) -> bool:
        """Whether the correction is below the working precision wherever the factor matters."""
        v, times, bits = float(self.term.variance), self.term.times, balls.current_bits() * math.log(2)
        is_narrow = math.pi**2 * v - math.log(times) > bits + 5 and times * v * math.pi**2 / 8 > 2 * bits
        return self.term.is_dual and is_narrow

    def at(self, turn: balls.arb) -> balls.acb:
        """E e^(2 pi i turn (X - shift)), for |turn| <= 1/2."""
        if self.term.is_dual:  # Poisson: e^(-2 pi^2 sigma2 (turn - v)^2) e^(2 pi i (turn - v) near)
            first = _polar((self._rate * turn**2).exp(), 2 * turn * balls.ball(self.near))
            up = balls.acb((-2 * self._rate * turn).exp())
            down = 1 / up
        else:
            first, up = balls.acb(1), _polar(balls.arb(1), 2 * turn)
            down = up.conjugate()
        # each term is that at turn 0, times `first` and a power of `up`
        above, below = balls.acb(0), balls.acb(0)
        for v in range(self._reach, 0, -1):
            above, below = (above + self._terms[v]) * up, (below + self._terms[-v]) * down
        return (first * (self._terms[0] + above + below) + self._rest) / self._norm


def _polar(size: balls.arb, half_turns: balls.arb) -> balls.acb:
    """The number of this size and angle."""
    return balls.acb(size * half_turns.cos_pi(), size * half_turns.sin_pi())


class LaplaceFactor(Forgetful, BallFactor):
    """Characteristic function of the tilted loss of discrete Laplace noise: a finite sum."""

    def __init__(self, term: DiscreteLaplace, theta: Fraction) -> None:
        self.term = term
        rate = 1 / term.scale + theta * term.step
        # from the heavier end
        self._sign = -1 if rate >= 0 else 1
        self.shift = term.sensitivity if rate >= 0 else 0
        self._fall = balls.ball(-abs(rate))
        self._norm = balls.acb(2 + (1 - (-balls.ball(1 / term.scale)).exp()) * (term.sensitivity - 1))
        if rate:
            self._norm = term.series_ball(balls.acb(self._fall))

    def at(self, turn: balls.arb) -> balls.acb:
        """E e^(2 pi i turn (X - shift))."""
        return (
            self.term.series_ball(balls.acb(self._fall, self._sign * 2 * balls.arb.pi() * turn)) / self._norm
        )

    @cached_property
    def _variance(self) -> balls.arb:
        """An upper bound of the variance of X: the sum of p_k k^2, counted from the heavier end."""
        part, ratio = 1 - (-balls.ball(1 / self.term.scale)).exp(), self._fall.exp()
        whole = balls.arb(self.term.sensitivity) ** 2
        if not ratio < 1:
            return whole.upper()
        series = part * ratio * (1 + ratio) / (1 - ratio) ** 3 + whole * ratio**self.term.sensitivity
        return min((series / self._norm.real).upper(), whole.upper())

    def square_bound(self, here: Fraction, there: Fraction) -> balls.arb:
        """A bound of the squared modulus between two distances: a sum of p_u p_v cos((u - v) d).

        Its slope is at most 2 Var(X) d.
        """
        at_here = abs(self.at(balls.ball(here) / (2 * balls.arb.pi()))) ** 2
        return at_here + 2 * self._variance * balls.ball(there * (there - here))
