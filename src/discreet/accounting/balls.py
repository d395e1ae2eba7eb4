"""Ball arithmetic (python-flint): every number carries a radius that provably covers its error."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb, fmpq

from discreet.accounting.loss import LaplaceTerm, Term


def ball(value: Fraction | int) -> arb:
    """The exact value, rounded outward to the working precision."""
    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def ball_log_factor(term: Term, theta: Fraction) -> arb:
    """log of what one event of the term contributes beyond e^(theta offset + theta^2 R / 2).

    For a Gaussian the ratio of the lattice sums at centre theta * mu and at 0; for discrete Laplace
    noise log E e^(theta step X).
    """
    if isinstance(term, LaplaceTerm):
        return _laplace(term, theta).log()
    centre = theta * term.mu
    near = centre - round(centre)
    if term.is_dual:
        return (theta3(near, term.sigma2) / theta3(Fraction(0), term.sigma2)).log()
    return (lattice_sum(near, term.sigma2) / lattice_sum(Fraction(0), term.sigma2)).log()


def theta3(centre: Fraction, sigma2: Fraction) -> arb:
    """theta_3(pi c, q) = 1 + 2 sum_v q^(v^2) cos(2 pi v c), q = e^(-2 pi^2 sigma2), tail enclosed."""
    rate = 2 * arb.pi() ** 2 * ball(sigma2)
    turn = 2 * arb.pi() * ball(centre)
    total = arb(1)
    for v in _until_negligible(2 * math.pi**2 * float(sigma2)):
        total += 2 * (-rate * (v * v)).exp() * (turn * v).cos()
        last = v
    # the rest is below twice its first term over (1 - q)
    rest = 4 * (-rate * ((last + 1) ** 2)).exp()
    return total + arb(0, rest.upper())


def lattice_sum(centre: Fraction, sigma2: Fraction) -> arb:
    """sum_u e^(-(u - c)^2 / 2 sigma2) for |c| <= 1/2, tail enclosed."""
    rate = 1 / (2 * ball(sigma2))
    total = (-rate * ball(centre * centre)).exp()
    for v in _until_negligible(1 / (2 * float(sigma2)), slack=1):
        total += (-rate * ball((v - centre) ** 2)).exp() + (-rate * ball((v + centre) ** 2)).exp()
        last = v
    rest = 4 * (-rate * ball((last + Fraction(1, 2)) ** 2)).exp()
    return total + arb(0, rest.upper())


def _until_negligible(rate: float, slack: int = 0) -> range:
    """1, 2, ... until e^(-rate v^2) is below the working precision."""
    from flint import ctx

    return range(1, math.ceil(math.sqrt((ctx.prec + 10) * math.log(2) / rate)) + 1 + slack)


def laplace_weights(term: LaplaceTerm) -> list[arb]:
    """P[X = j], j = 0..mu, under the alternative."""
    r = (-1 / ball(term.b)).exp()
    total = 1 + r
    inner = [(1 - r) / total * r ** (term.mu - j) for j in range(1, term.mu)]
    return [r**term.mu / total, *inner, 1 / total]


def _laplace(term: LaplaceTerm, theta: Fraction) -> arb:
    tilt = (ball(theta * term.step)).exp()
    return sum((w * tilt**j for j, w in enumerate(laplace_weights(term))), arb(0))
