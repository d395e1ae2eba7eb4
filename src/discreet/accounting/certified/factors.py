"""The transform of the tilted loss at one node, as a ball, and radii of the sieve that are proved."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import acb, arb, fmpq

from discreet.accounting.loss import GaussianTerm, LaplaceTerm, Loss, Term
from discreet.accounting.sieve import modulus_radius
from discreet.noise.balls import ball, current_bits, lattice_sum, theta3

_QUARTER = fmpq(1, 4)


def verified_radii(loss: Loss, depth: float, theta: float) -> list[float]:
    """Radii beyond which |factor|^times is proved to lie below e^-depth (pi: no constraint).

    A Gaussian factor falls with the distance (Jacobi's triple product), so one ball evaluation at the
    radius proves the rest; radii of other terms carry their own margin.
    """
    radii = []
    for term in loss.terms:
        radius = modulus_radius(term, depth, theta)
        if isinstance(term, GaussianTerm) and radius < math.pi:
            factor = _GaussianFactor(term, Fraction(theta))
            while radius < math.pi:
                turn = ball(Fraction(radius)) / (2 * arb.pi())
                if factor.modulus(turn).log() * term.times < -depth:
                    break
                radius *= 1.02
            radius = min(radius, math.pi)
        radii.append(radius)
    return radii


class Factors:
    """Products of all factors at a node, relative to their values at node 0."""

    def __init__(self, loss: Loss, theta: Fraction, spacing: Fraction, last: int) -> None:
        self.centre = loss.offset
        # plain: only the nearest frequency counts, and the correction lies below the working precision
        self._plain: list[tuple[int, int, arb, Fraction]] = []
        self._others: list[tuple[int, int, _GaussianFactor | _FiniteFactor, int]] = []
        slack = acb(1)
        quadratic, lean = Fraction(0), Fraction(0)
        self._inner = last + 1
        for term in loss.terms:
            rate = term.step / spacing
            factor = _factor(term, theta)
            self.centre += term.times * term.step * factor.shift
            if isinstance(factor, _GaussianFactor) and factor.is_plain(term.times):
                small = arb(0, factor.slack(term.times).upper())
                slack *= 1 + acb(small, small)
                weight = -2 * arb.pi() ** 2 * ball(term.sigma2) * term.times  # type: ignore[union-attr]
                self._plain.append((rate.numerator, rate.denominator, weight, term.times * factor.near))
                quadratic += term.times * term.mu * rate / spacing
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
                place = _centred(j * top, bottom)
                if abs(place) > _QUARTER:
                    return self._nothing
                exponent += weight * arb(place * place)
                angle += arb(place * fmpq(lean.numerator, lean.denominator))
        sine, cosine = (2 * angle).sin_pi(), (2 * angle).cos_pi()
        size = exponent.exp()
        result = acb(size * cosine, size * sine) * self._slack
        for top, bottom, factor, times in self._others:
            result *= factor.at(arb(_centred(j * top, bottom))) ** times
        return result


def _reduced(turn: Fraction) -> Fraction:
    return turn - round(turn)


def _centred(top: int, bottom: int) -> fmpq:
    """top / bottom modulo 1, in [-1/2, 1/2)."""
    rest = top % bottom
    return fmpq(rest - bottom if 2 * rest >= bottom else rest, bottom)


def _factor(term: Term, theta: Fraction) -> _GaussianFactor | _FiniteFactor:
    if isinstance(term, LaplaceTerm):
        return _FiniteFactor(term, theta)
    return _GaussianFactor(term, theta)


class _GaussianFactor:
    """Characteristic function of a discrete Gaussian around `near`, by the shorter of two sums."""

    def __init__(self, term: GaussianTerm, theta: Fraction) -> None:
        centre = theta * term.mu
        self.shift = round(centre)
        self.near = centre - self.shift
        self.term = term
        if term.is_dual:
            self._norm = theta3(self.near, term.sigma2)
            rate = 2 * math.pi**2 * float(term.sigma2)
            # at half a turn neighbour v of the nearest frequency has weight e^(-rate (v^2 - v))
            self._reach = 2 + math.ceil(math.sqrt((current_bits() + 10) * math.log(2) / rate))
        else:
            self._norm = lattice_sum(self.near, term.sigma2)
            self._reach = 2 + math.ceil(
                math.sqrt((current_bits() + 10) * 2 * math.log(2) * float(term.sigma2))
            )

    def slack(self, times: int) -> arb:
        """A bound of how far a plain factor is from its Gaussian, relatively, up to a quarter turn.

        There each neighbouring frequency has at most e^(-pi^2 sigma2) of the weight of the nearest.
        """
        pi2 = arb.pi() ** 2
        return 8 * times * (-pi2 * ball(self.term.sigma2)).exp()

    def is_plain(self, times: int) -> bool:
        """Whether the correction lies below the working precision wherever the factor counts."""
        if not self.term.is_dual:
            return False
        sigma2 = float(self.term.sigma2)
        bits = current_bits() * math.log(2)
        return math.pi**2 * sigma2 - math.log(times) > bits + 5 and times * sigma2 * math.pi**2 / 8 > 2 * bits

    def at(self, turn: arb) -> acb:
        """E e^(2 pi i turn u), u = X - shift, for |turn| <= 1/2."""
        sigma2 = ball(self.term.sigma2)
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


class _FiniteFactor:
    """Characteristic function of the tilted loss of discrete Laplace noise: a finite sum."""

    def __init__(self, term: LaplaceTerm, theta: Fraction) -> None:
        weights = term.tilted_balls(theta)
        total = sum(weights, arb(0))
        self.shift = max(range(len(weights)), key=lambda j: float(weights[j].mid()))
        self.p = [w / total for w in weights]

    def at(self, turn: arb) -> acb:
        """E e^(2 pi i turn (X - shift))."""
        total = acb(0)
        for j, p in enumerate(self.p):
            angle = 2 * turn * (j - self.shift)
            total += acb(p * angle.cos_pi(), p * angle.sin_pi())
        return total
