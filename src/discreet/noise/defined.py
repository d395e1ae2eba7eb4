"""The loss of one count from its definition, in balls: what a second opinion on delta starts from.

The noise X is compared with X + sensitivity. For every outcome the loss log P/Q is an exact fraction and P a
ball. Nothing here is shared with the evaluations that make a certificate, except FLINT.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from discreet.errors import PrecisionError
from discreet.noise import balls

MOST_DENSE = 1 << 18
"""Points of a lattice on which all events are convolved as one polynomial."""


class DefinedLoss(NamedTuple):
    """Losses start + step * k with probabilities p[k]; `missed` bounds the probability of all others."""

    start: Fraction
    step: Fraction
    p: list[balls.arb]
    missed: balls.arb


def gaussian_loss(variance: Fraction, sensitivity: int, bits: int) -> DefinedLoss:
    """Under P the noise is x with weight e^(-x^2 / (2 v)), under Q it is x - s: L = s (s + 2 x) / (2 v).

    (x stands for -x, which is as likely.)
    """
    v, s = variance, sensitivity
    reach = 2 + math.ceil(math.sqrt(2 * float(v) * math.log(2) * bits))
    if reach > MOST_DENSE:
        raise PrecisionError(f"noise of variance {float(v):.3g} has too many values to be listed")
    rate = -1 / (2 * balls.ball(v))
    half = [(rate * (x * x)).exp() for x in range(reach + 1)]
    inside = half[0] + 2 * sum(half[1:], balls.arb(0))
    # beyond, weights fall at least as fast as a geometric series
    ratio = (rate * (2 * reach + 3)).exp()
    outside = 2 * (rate * (reach + 1) ** 2).exp() / (1 - ratio)
    total = inside + outside.upper() * balls.arb(0.5, 0.5)
    p = [w / total for w in [*half[:0:-1], *half]]
    return DefinedLoss(s * (s - 2 * reach) / (2 * v), s / v, p, (outside / inside).upper())


def laplace_loss(scale: Fraction, sensitivity: int) -> DefinedLoss:
    """Under P the noise is x with weight r^|x|, r = e^(-1/b): L = (|x - s| - |x|) / b, from -s/b to s/b."""
    b, s = scale, sensitivity
    if s > MOST_DENSE:
        raise PrecisionError(f"a count that changes by {s} has too many losses to be listed")
    r = (-1 / balls.ball(b)).exp()
    # x >= s, then s - 1, ..., 1, then x <= 0
    p = [(-balls.ball(Fraction(s) / b)).exp() / (1 + r)]
    p += [(1 - r) / (1 + r) * (-balls.ball(Fraction(x) / b)).exp() for x in range(s - 1, 0, -1)]
    p += [1 / (1 + r)]
    return DefinedLoss(-s / b, 2 / b, p, balls.arb(0))
