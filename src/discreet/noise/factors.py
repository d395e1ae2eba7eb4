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


class GaussianFactor(BallFactor):
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
        sigma2, near, total = balls.ball(self.term.variance), balls.ball(self.near), balls.acb(0)
        rate = -2 * balls.arb.pi() ** 2 * sigma2 if self.term.is_dual else -1 / (2 * sigma2)
        for v in range(-self._reach, self._reach + 1):
            if self.term.is_dual:  # Poisson: e^(-2 pi^2 sigma2 (turn - v)^2) e^(2 pi i (turn - v) near)
                size, angle = (rate * (turn - v) ** 2).exp(), 2 * (turn - v) * near
            else:
                size, angle = (rate * (v - near) ** 2).exp(), 2 * turn * v
            total += balls.acb(size * angle.cos_pi(), size * angle.sin_pi())
        rest = 4 * (rate * balls.ball(Fraction(2 * self._reach + 1, 2) ** 2)).exp()
        error = balls.arb(0, rest.upper())
        return (total + balls.acb(error, error)) / self._norm


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
