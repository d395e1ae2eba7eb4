"""The transform of the tilted loss at one node, as a ball, and radii of the sieve that are proved."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import acb, arb, fmpq

from discreet.accounting.loss import Loss
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.noise.balls import ball, current_bits
from discreet.noise.distribution import RADII
from discreet.noise.theta import ball_sum

_QUARTER = fmpq(1, 4)


def verified_radii(loss: Loss, depth: float, theta: float) -> list[float]:
    """Radii beyond which |factor|^times is proved to lie below e^-depth (pi: no constraint).

    A Gaussian factor falls with the distance (Jacobi's triple product), so one ball evaluation at the
    radius proves the rest. The modulus of a discrete Laplace factor need not fall: it is enclosed at the
    points of a grid, and between them by its slope.
    """
    radii = []
    for term in loss.terms:
        radius = term.radius(depth, theta)
        if isinstance(term, DiscreteGaussian) and radius < math.pi:
            factor = _GaussianFactor(term, Fraction(theta))
            while radius < math.pi:
                turn = ball(Fraction(radius)) / (2 * arb.pi())
                if factor.modulus(turn).log() * term.times < -depth:
                    break
                radius *= 1.02
            radius = min(radius, math.pi)
        elif isinstance(term, DiscreteLaplace) and radius < math.pi:
            radius = _laplace_radius(term, depth, Fraction(theta), radius)
        radii.append(radius)
    return radii


def _laplace_radius(term: DiscreteLaplace, depth: float, theta: Fraction, radius: float) -> float:
    """The least radius, at least the given one, beyond which |factor|^times < e^-depth is proved.

    The squared modulus is a sum of p_u p_v cos((u - v) d), whose slope is at most 2 Var(X) d.
    """
    factor = FiniteFactor(term, theta)
    twice = 2 * factor.variance()
    bound = (-2 * ball(Fraction(depth)) / term.times).exp()
    first = int(np.searchsorted(RADII, radius))
    points = [Fraction(float(d)) for d in RADII[first:]]
    points[-1] = Fraction(355, 113)  # above pi
    for here, there in reversed(list(pairwise(points))):
        turn = ball(here) / (2 * arb.pi())
        height = abs(factor.at(turn)) ** 2 + twice * ball(there * (there - here))
        if not height < bound:
            return min(float(there), math.pi)
    return radius


class Factors:
    """Products of all factors at a node, relative to their values at node 0."""

    def __init__(self, loss: Loss, theta: Fraction, spacing: Fraction, last: int) -> None:
        self.centre = loss.offset
        # plain: only the nearest frequency counts, and the correction lies below the working precision
        self._plain: list[tuple[int, int, arb, Fraction]] = []
        self._others: list[tuple[int, int, _GaussianFactor | FiniteFactor, int]] = []
        slack = acb(1)
        quadratic, lean = Fraction(0), Fraction(0)
        self._inner = last + 1
        for term in loss.terms:
            rate = term.step / spacing
            factor = term_factor(term, theta)
            self.centre += term.times * term.step * factor.shift
            if (
                isinstance(term, DiscreteGaussian)
                and isinstance(factor, _GaussianFactor)
                and factor.is_plain(term.times)
            ):
                small = arb(0, factor.slack(term.times).upper())
                slack *= 1 + acb(small, small)
                weight = -2 * arb.pi() ** 2 * ball(term.variance) * term.times
                self._plain.append((rate.numerator, rate.denominator, weight, term.times * factor.near))
                quadratic += term.times * term.sensitivity * rate / spacing
                lean += term.times * factor.near * rate
                self._inner = min(self._inner, int(Fraction(1, 4) / rate))
            else:
                self._others.append((rate.numerator, rate.denominator, factor, term.times))
        self._slack = slack
        # beyond a quarter turn a plain factor is below 2^(-2 prec), and no other factor exceeds 1
        tiny = arb(0, arb(2) ** (-2 * current_bits() + 1))
        self._nothing = acb(tiny, tiny)
        # up to self._inner no turn of a plain factor passes a quarter: together they are one Gaussian
        self._quadratic = -2 * arb.pi() ** 2 * ball(quadratic)
        self._lean = lean

    def at(self, j: int, phase: Fraction) -> acb:
        """Product of the factors at node j, times e^(2 pi i j phase)."""
        turn = j * phase
        if j <= self._inner:
            exponent = self._quadratic * (j * j)
            angle = ball(_reduced(turn + j * self._lean))
        else:
            exponent = arb(0)
            angle = ball(_reduced(turn))
            for top, bottom, weight, lean in self._plain:
                place = centred(j * top, bottom)
                if abs(place) > _QUARTER:
                    return self._nothing
                exponent += weight * arb(place * place)
                angle += arb(place * fmpq(lean.numerator, lean.denominator))
        sine, cosine = (2 * angle).sin_pi(), (2 * angle).cos_pi()
        size = exponent.exp()
        result = acb(size * cosine, size * sine) * self._slack
        for top, bottom, factor, times in self._others:
            result *= factor.at(arb(centred(j * top, bottom))) ** times
        return result


def _reduced(turn: Fraction) -> Fraction:
    return turn - round(turn)


def centred(top: int, bottom: int) -> fmpq:
    """top / bottom modulo 1, in [-1/2, 1/2)."""
    rest = top % bottom
    return fmpq(rest - bottom if 2 * rest >= bottom else rest, bottom)


def term_factor(term: Noise, theta: Fraction) -> _GaussianFactor | FiniteFactor:
    """The characteristic function of one event under the tilt."""
    if isinstance(term, DiscreteLaplace):
        return FiniteFactor(term, theta)
    assert isinstance(term, DiscreteGaussian)
    return _GaussianFactor(term, theta)


class _GaussianFactor:
    """Characteristic function of a discrete Gaussian around `near`, by the shorter of two sums."""

    def __init__(self, term: DiscreteGaussian, theta: Fraction) -> None:
        centre = theta * term.sensitivity
        self.shift = round(centre)
        self.near = centre - self.shift
        self.term = term
        self._norm = ball_sum(self.near, term.variance)
        if term.is_dual:
            rate = 2 * math.pi**2 * float(term.variance)
            # at half a turn neighbour v of the nearest frequency has weight e^(-rate (v^2 - v))
            self._reach = 2 + math.ceil(math.sqrt((current_bits() + 10) * math.log(2) / rate))
        else:
            self._reach = 2 + math.ceil(
                math.sqrt((current_bits() + 10) * 2 * math.log(2) * float(term.variance))
            )

    def slack(self, times: int) -> arb:
        """A bound of how far a plain factor is from its Gaussian, relatively, up to a quarter turn.

        There each neighbouring frequency has at most e^(-pi^2 sigma2) of the weight of the nearest.
        """
        pi2 = arb.pi() ** 2
        return 8 * times * (-pi2 * ball(self.term.variance)).exp()

    def is_plain(self, times: int) -> bool:
        """Whether the correction lies below the working precision wherever the factor counts."""
        if not self.term.is_dual:
            return False
        sigma2 = float(self.term.variance)
        bits = current_bits() * math.log(2)
        return math.pi**2 * sigma2 - math.log(times) > bits + 5 and times * sigma2 * math.pi**2 / 8 > 2 * bits

    def at(self, turn: arb) -> acb:
        """E e^(2 pi i turn u), u = X - shift, for |turn| <= 1/2."""
        sigma2 = ball(self.term.variance)
        near = ball(self.near)
        total = acb(0)
        if self.term.is_dual:
            rate = -2 * arb.pi() ** 2 * sigma2
            for v in range(-self._reach, self._reach + 1):
                # Poisson: e^(-2 pi^2 sigma2 (turn - v)^2) e^(2 pi i (turn - v) near)
                size = (rate * (turn - v) ** 2).exp()
                angle = 2 * (turn - v) * near
                total += acb(size * angle.cos_pi(), size * angle.sin_pi())
            rest = 4 * (rate * ball(Fraction(2 * self._reach + 1, 2) ** 2)).exp()
        else:
            rate = -1 / (2 * sigma2)
            for u in range(-self._reach, self._reach + 1):
                size = (rate * (u - near) ** 2).exp()
                angle = 2 * turn * u
                total += acb(size * angle.cos_pi(), size * angle.sin_pi())
            rest = 4 * (rate * ball(Fraction(2 * self._reach + 1, 2) ** 2)).exp()
        error = arb(0, rest.upper())
        return (total + acb(error, error)) / self._norm

    def modulus(self, turn: arb) -> arb:
        """|at(turn)|."""
        return abs(self.at(turn))


class FiniteFactor:
    """Characteristic function of the tilted loss of discrete Laplace noise: a finite sum."""

    def __init__(self, term: DiscreteLaplace, theta: Fraction) -> None:
        self.term = term
        rate = 1 / term.scale + theta * term.step
        # from the heavier end
        self._sign = -1 if rate >= 0 else 1
        self.shift = term.sensitivity if rate >= 0 else 0
        self._fall = ball(-abs(rate))
        self._norm = acb(2 + (1 - (-ball(1 / term.scale)).exp()) * (term.sensitivity - 1))
        if rate:
            self._norm = term.series_ball(acb(self._fall))

    def at(self, turn: arb) -> acb:
        """E e^(2 pi i turn (X - shift))."""
        return self.term.series_ball(acb(self._fall, self._sign * 2 * arb.pi() * turn)) / self._norm

    def variance(self) -> arb:
        """An upper bound of the variance of X: the sum of p_k k^2, counted from the heavier end."""
        term, norm = self.term, self._norm.real
        part = 1 - (-ball(1 / term.scale)).exp()
        ratio = self._fall.exp()
        whole = arb(term.sensitivity) ** 2
        if not ratio < 1:
            return whole.upper()
        series = part * ratio * (1 + ratio) / (1 - ratio) ** 3 + whole * ratio**term.sensitivity
        return min((series / norm).upper(), whole.upper())
