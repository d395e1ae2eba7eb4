"""Theta sums: the sum of a discrete Gaussian's weights around any centre, by the shorter of two series.

Poisson summation turns the sum of the weights around a centre c into one of frequencies,

    sum_u e^(-(u - c)^2 / (2v)) = sqrt(2 pi v) (1 + 2 sum_k q^(k^2) cos(2 pi k c)),   q = e^(-2 pi^2 v),

where the left side converges quickly for small v, and the right side, its dual, for large v. Both have period
1 in c.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.noise import balls
from discreet.noise.distribution import Floats
from discreet.noise.lattice import Complexes, log1p_complex

DUAL_FROM = Fraction(1, 2)
"""Variances from here on use the dual sum, where two terms are enough for floats; smaller ones the sum."""

TERMS = np.arange(1.0, 9.0)
"""Integers that a sum needs for a small variance: even tilted by half a step, e^(-81 + 9) is left out."""


def dual_log_ratio(centre: Floats, v: Floats | float) -> Floats:
    """log of the dual sum at a centre over that at 0, for v >= 1/2: at most 0, accurate to its last digits.

    >>> dual_log_ratio(np.array([0.25, 0.5]), 1.0)
    array([-5.35057597e-09, -1.07011520e-08])
    """
    q = np.exp(-2 * math.pi**2 * v)
    q4 = q**4
    turn = math.pi * (centre - np.round(centre))
    wave = q * np.sin(turn) ** 2 + q4 * np.sin(2 * turn) ** 2
    return np.asarray(np.log1p(-4 * wave / (1 + 2 * (q + q4))))


def dual_derivatives(centre: float, v: float) -> tuple[float, float]:
    """v d/dc and v^2 d2/dc2 of the logarithm of the dual sum: what the lattice adds to mean and variance."""
    q = math.exp(-2 * math.pi**2 * v)
    turn = 2 * math.pi * (centre - round(centre))
    base = 1 + 2 * (q * math.cos(turn) + q**4 * math.cos(2 * turn))
    first = -4 * math.pi * (q * math.sin(turn) + 2 * q**4 * math.sin(2 * turn)) / base
    second = -8 * math.pi**2 * (q * math.cos(turn) + 4 * q**4 * math.cos(2 * turn)) / base - first**2
    return v * first, v * v * second


def log_ratio(centre: Floats, v: float) -> Floats:
    """log of the sum around a centre over that around 0, for v < 1/2.

    >>> log_ratio(np.array([0.0, 0.5, 1.0]), 0.1).round(6).tolist()
    [0.0, -0.570193, 0.0]
    """
    near = centre - np.round(centre)
    reach = math.ceil(math.sqrt(80 * v)) + 1
    u = np.arange(-reach, reach + 1)
    at_zero = np.exp(-(u**2) / (2 * v)).sum()
    # the largest term is e^(-near^2 / 2v): taken out, so that no sum underflows
    sums = np.exp(-(u * u - 2 * np.multiply.outer(near, u)) / (2 * v)).sum(axis=-1)
    return np.asarray(-(near**2) / (2 * v) + np.log(sums / at_zero))


def dual_transform(angle: Floats, near: float, v: float) -> Complexes:
    """log of E e^(i angle u), u discrete Gaussian around `near`, by the dual sum: v >= 1/2, |angle| <= pi.

    The nearest frequency gives a Gaussian; the others are a correction to it, divided by that at angle 0.
    """
    rises, falls = np.zeros(angle.shape), np.zeros(angle.shape)
    at_zero = 0.0
    # from variance 1 on the second neighbours are below e^(-4 pi^2) even at half a turn
    for k in (-1, 1) if v >= 1 else (-2, -1, 1, 2):
        weight = -2 * math.pi**2 * v * k * k
        neighbour = np.exp(weight + 2 * math.pi * v * k * angle)
        rises += neighbour * math.cos(2 * math.pi * k * near)
        if near:
            falls -= neighbour * math.sin(2 * math.pi * k * near)
        at_zero += math.exp(weight) * math.cos(2 * math.pi * k * near)
    # (around an integer the law is symmetric and its transform real)
    ratio = log1p_complex(rises + 1j * falls) if near else np.log1p(rises).astype(np.complex128)
    # by parts: a factor that vanishes has the logarithm -inf, which complex sums turn into nan
    real = -0.5 * v * angle * angle + (ratio.real - math.log1p(at_zero))
    return np.asarray(real + 1j * (near * angle + ratio.imag))


def ball_sum(centre: Fraction, v: Fraction) -> balls.arb:
    """A ball around the shorter of the two sums, without its factor sqrt(2 pi v) if that is the dual.

    >>> with balls.working_bits(64):
    ...     bool(abs(ball_sum(Fraction(0), Fraction(1)) - 1) < balls.ball(Fraction(1, 10**8)))
    ...     bool(ball_sum(Fraction(0), Fraction(1, 4)) > 1 + 2 * balls.ball(-2).exp())
    True
    True
    """
    centre -= round(centre)
    if v >= DUAL_FROM:
        rate, turn = 2 * balls.arb.pi() ** 2 * balls.ball(v), 2 * balls.arb.pi() * balls.ball(centre)
        total = balls.arb(1)
        for k in range(1, terms_needed(2 * math.pi**2 * float(v)) + 1):
            total += 2 * (-rate * (k * k)).exp() * (turn * k).cos()
        # the rest is below twice its first term over (1 - q)
        return balls.padded(total, 4 * (-rate * ((k + 1) ** 2)).exp())
    rate = 1 / (2 * balls.ball(v))
    total = (-rate * balls.ball(centre * centre)).exp()
    for k in range(1, terms_needed(1 / (2 * float(v))) + 2):
        total += (-rate * balls.ball((k - centre) ** 2)).exp() + (-rate * balls.ball((k + centre) ** 2)).exp()
    return balls.padded(total, 4 * (-rate * balls.ball((k + Fraction(1, 2)) ** 2)).exp())


def terms_needed(rate: float) -> int:
    """The first k, at least 1, from which on e^(-rate k^2) is below the working precision."""
    return max(1, math.ceil(math.sqrt((balls.current_bits() + 10) * math.log(2) / rate)))
