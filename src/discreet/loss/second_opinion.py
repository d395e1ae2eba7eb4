"""Second opinions on delta of one composition: by other methods than those that compute and certify it.

On a lattice: convolution from the definition (`certified.definition`); another contour, at a tilt beside the
saddle point and with more bits; and where much room is left, Chernoff's bound and a contour that is just fine
enough. Of any other laws: every outcome in balls, or bounds on a grid in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from flint import arb

from discreet.loss.certified.definition import defined_delta, seconds
from discreet.loss.certified.tails import FEW_BALL_NODES, log_mgf_ball, tail_ball
from discreet.loss.contour import Kind, Quadrature, saddle
from discreet.loss.grid_evaluator import GridEvaluator
from discreet.loss.lattice import Loss, is_coarse, log_fraction
from discreet.loss.lattice_evaluator import LatticeEvaluator
from discreet.loss.proved import DIGITS, is_listed, largest_loss_box, proof_near, proved_delta
from discreet.loss.proved_grids import SIZES
from discreet.noise.balls import as_interval, ball, upper, working_bits
from discreet.numbers import Interval

DEFINITION = "convolution from the definition"
CHERNOFF = "Chernoff's bound"
COARSE = "a coarse contour"
ANOTHER = "another contour"
OUTCOMES = "all outcomes listed in balls"
GRID = "bounds on a grid in whole numbers"

LEAST = Fraction(1, 10**400)
"""Below every delta that can be claimed; bounds are not written as smaller numbers."""

_LITTLE = FEW_BALL_NODES // 5  # nodes of a contour that is to be quick ...
_MOST = 6 * FEW_BALL_NODES  # ... and of one that may take seconds

LEAN = 0.07
"""How far another contour lies from the makers', as a share of its distance from the pole."""

Opinion = Iterator[tuple[Interval, str]]
"""Intervals that contain delta, narrower and narrower, and the method of each."""


def lattice_opinions(
    law: LatticeEvaluator, epsilon: Fraction, level: Fraction, *, binds: bool
) -> Sequence[Opinion]:
    """Ways to enclose delta of a loss on a lattice, likeliest first."""
    definition = _by_definition(law, epsilon, level)
    another = _by_another_contour(law, epsilon, level)
    if binds:
        return [definition, another]
    is_quickly_defined = seconds(law.events, bits=_depth(level) + 60) < 0.3
    slower = [definition, another] if is_quickly_defined else [another, definition]
    return [_by_little(law.loss, epsilon), *slower]


def outcome_opinions(law: GridEvaluator, epsilon: Fraction, level: Fraction) -> Sequence[Opinion]:
    """The way to enclose delta of any laws together."""
    return [_by_outcomes(law, epsilon, level)]


def enclosed_delta(law: LatticeEvaluator, epsilon: Fraction, accuracy: float) -> tuple[Interval, str]:
    """delta of one case to an absolute accuracy, from the definition, or on another contour."""
    bits = math.ceil(-math.log2(accuracy)) + 4
    if seconds(law.events, bits=bits) < 20:
        return defined_delta(law.events, epsilon, bits=bits), DEFINITION
    step = _step(law)
    size = math.exp(min(float(law.log_deltas([epsilon], math.inf)[0]), 0.0))
    relative = min(accuracy / size, 0.01)
    with working_bits(120 - 2 * math.log2(relative) + 2 * math.log2(2 + abs(float(epsilon)))):
        box = as_interval(tail_ball(law.loss, Kind.DELTA, epsilon, h=step, accuracy=relative, lean=LEAN))
    return box, ANOTHER


def _by_outcomes(law: GridEvaluator, epsilon: Fraction, level: Fraction) -> Opinion:
    """Noise of any laws: no loss beyond the largest; every outcome in balls, or bounds on a grid."""
    is_bounded = all(event.largest is not None for event in law.events)
    if is_bounded and epsilon >= largest_loss_box(law).upper:
        yield Interval(Fraction(0), Fraction(0)), OUTCOMES
        return
    # tails are left out far below the level
    digits = min(max(DIGITS, math.ceil((_depth(level) * math.log(2) - 20) / 2.5)), 400)
    if is_listed(law, digits):
        yield proved_delta(law, epsilon, digits), OUTCOMES
        return
    proof = proof_near(law, float(epsilon))
    for size in SIZES[:4]:
        yield proof.delta(epsilon, size), GRID


def _by_little(loss: Loss, epsilon: Fraction) -> Opinion:
    """Chernoff's bound, then a contour that is just fine enough."""
    if loss.largest is not None and epsilon >= loss.largest:
        yield Interval(Fraction(0), Fraction(0)), CHERNOFF  # no loss is as large
        return
    theta = Fraction(saddle(loss, Kind.DELTA, float(epsilon), 0.0))
    with working_bits(96):
        # (1 - e^-x) <= c e^(theta x), c = theta^theta / (1 + theta)^(1 + theta)
        t = ball(theta)
        log = log_mgf_ball(loss, theta) - t * ball(epsilon) + t * t.log() - (1 + t) * (1 + t).log()
        bound = exp_above(log)
    yield Interval(Fraction(0), bound), CHERNOFF
    for accuracy in (0.05, 0.002):
        with working_bits(96):
            tail = tail_ball(loss, Kind.DELTA, epsilon, h=_coarse_step(loss), accuracy=accuracy, most=_LITTLE)
        yield as_interval(tail), COARSE


def exp_above(log: arb) -> Fraction:
    """An upper bound of e^log, at most 1 and at least the least number written."""
    return min(LEAST if log < -1000 else above(log.exp()), Fraction(1)) if log < 0 else Fraction(1)


def above(value: arb) -> Fraction:
    """The upper end of a ball, or the least number written."""
    return LEAST if value < ball(LEAST) else upper(value)


def _coarse_step(loss: Loss) -> Fraction | None:
    """The lattice step if there are few enough nodes to sum them all, or None for a cut line."""
    return loss.step if is_coarse(float(loss.step), loss.spread) else None


def _step(law: LatticeEvaluator) -> Fraction | None:
    """The step of the contour: on a lattice where there is one, as the engine does."""
    return law.engine.h if isinstance(law.engine, Quadrature) else law.loss.step


def _depth(level: Fraction) -> int:
    """Bits of the level."""
    return 0 if level == 0 else max(0, math.ceil(-log_fraction(level) / math.log(2)))


def _by_definition(law: LatticeEvaluator, epsilon: Fraction, level: Fraction) -> Opinion:
    for more in (60, 200, 1200):
        yield defined_delta(law.events, epsilon, bits=_depth(level) + more), DEFINITION


def _by_another_contour(law: LatticeEvaluator, epsilon: Fraction, level: Fraction) -> Opinion:
    """A contour at a tilt beside the saddle point, and with more bits, finer and finer."""
    # coarse values are quicker on a cut line
    step = _step(law)
    accuracy = 1e-3
    for _ in range(8):
        h = step if accuracy < 1e-4 else _coarse_step(law.loss)
        bits = 120 - 2 * math.log2(accuracy) + 2 * math.log2(2 + abs(float(epsilon)))
        with working_bits(bits):
            tail = tail_ball(law.loss, Kind.DELTA, epsilon, h=h, accuracy=accuracy, lean=LEAN, most=_MOST)
        box = as_interval(tail)
        yield box, ANOTHER
        gap = float(abs(box.midpoint - level) / level) if level else 0.0
        accuracy = max(min(accuracy / 30, gap / 4), 1e-12)
