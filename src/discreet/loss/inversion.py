"""From delta back to epsilon: where the curve of a loss passes through a delta, and with which error.

An error of delta moves epsilon by that error over the slope of delta, which may be small: between atoms that
lie far apart delta hardly falls, and near 1 it falls as slowly as 1 - delta rises. Deltas near 1 are solved
for 1 - delta, and the error of every epsilon follows from the slope there.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import PrecisionError
from discreet.loss.contour import Kind, roots, saddlepoint_guess
from discreet.loss.evaluation import ACCURACY
from discreet.loss.lattice import Floats, log_fraction

if TYPE_CHECKING:
    from discreet.loss.lattice_evaluator import LatticeEvaluator

NEXT_TO_ONE = Fraction(9, 10)
"""Larger deltas are solved for 1 - delta, which is known to relative accuracy."""

_REFINED = 1e-6  # at this accuracy tails are refined by balls where those are quick
_CHORDS = np.array([1e-6, 1e-3, 0.1])  # in standard deviations of the loss, for slopes of delta
_LONGEST_CHORD = 600.0
_ROUNDING = 1e-15


def full_epsilon(epsilon: float, delta: Fraction) -> float:
    """The error allowed to an epsilon that keeps all its digits.

    Where epsilon passes through zero it is as accurate as delta.
    """
    return max(1e-11 * abs(epsilon), 2e-12 * float(delta))


class Inversion:
    """Finds the epsilons of one loss."""

    def __init__(self, curve: LatticeEvaluator) -> None:
        self.curve, self.loss = curve, curve.loss

    def epsilons(self, deltas: list[Fraction], accuracy: float) -> tuple[Floats, Floats]:
        """Epsilons at these deltas and their errors, at most `accuracy`; otherwise refused."""
        value = self._roots(deltas)
        if not self.loss.terms:
            return value, np.zeros(len(deltas))
        doubt, error = self._errors(deltas, value)
        if self.curve.has_quick_balls and (doubt > ACCURACY).any():
            # floats lead close to the root, balls to the last digits
            value = self._roots(deltas, start=value, accuracy=_REFINED)
            doubt, error = self._errors(deltas, value, _REFINED)
        for i, delta in enumerate(deltas):
            full = full_epsilon(float(value[i]), delta)
            if not error[i] <= full:
                value[i], error[i] = self._better(delta, float(value[i]), float(error[i]), accuracy)
                full = full_epsilon(float(value[i]), delta)
            error[i] = max(error[i], full)
            if not error[i] <= max(accuracy, full):
                raise PrecisionError(
                    f"epsilon at delta {float(delta):.6g} is {value[i]:.6g} to an accuracy of "
                    f"{error[i]:.1g}, not {accuracy:.1g}: {self.curve.why_hard()}"
                )
        return value, error

    def _errors(
        self, deltas: list[Fraction], epsilons: Floats, accuracy: float = math.inf
    ) -> tuple[Floats, Floats]:
        """The relative errors of delta (near 1, of 1 - delta), and the errors of epsilon that follow."""
        doubt, slope = self._slopes(deltas, epsilons, accuracy)
        return doubt, (doubt + _ROUNDING) / slope + 4e-16 * np.abs(epsilons)

    def moves(self, deltas: list[Fraction], epsilons: Floats, off: float) -> Floats:
        """By how much epsilons move if their deltas change by this relative amount."""
        with np.errstate(divide="ignore"):
            return off / self._slopes(deltas, epsilons, math.inf)[1] if self.loss.terms else 0 * epsilons

    def _slopes(self, deltas: list[Fraction], epsilons: Floats, accuracy: float) -> tuple[Floats, Floats]:
        """The relative errors of delta (near 1, of 1 - delta), and lower bounds of its log-slope.

        In w = e^epsilon delta is convex, so that it falls at least as steeply as any chord to the right; the
        steepest chord is taken.
        """
        doubt, slopes = np.zeros(len(deltas)), np.zeros(len(deltas))
        steps = np.minimum(_CHORDS * self.loss.spread, _LONGEST_CHORD)
        for kind in (Kind.DELTA, Kind.REST):
            which = [i for i, d in enumerate(deltas) if (d > NEXT_TO_ONE) == (kind is Kind.REST)]
            if not which:
                continue
            # delta(-e) follows from delta(e)
            start = epsilons[which] if kind is Kind.REST else np.abs(epsilons[which])
            points = [Fraction(x) + Fraction(step) for x in start for step in (0.0, *steps)]
            tail = self.curve.tails(kind, points, accuracy)
            log, off = (row.reshape(len(which), -1) for row in (tail.log, tail.error))
            with np.errstate(all="ignore"):
                noise = np.where(log == -math.inf, 0.0, off) + _ROUNDING
                ratio = np.exp(log[:, 1:] - log[:, :1])
                noise = noise[:, :1] + ratio * noise[:, 1:]
                slope = np.nan_to_num((np.abs(ratio - 1) - noise) / np.expm1(steps)).max(axis=1)
                # that of delta(-e) = 1 - e^-e + e^-e delta(e) is at least e^-e P_alt[L < 0], and twice this
                # probability is at least 1 - delta(0)
                is_turned = (kind is Kind.DELTA) & (epsilons[which] < 0)
                lacks = np.array([float(1 - deltas[i]) for i in which])
                slope = np.where(is_turned, 0.5 * lacks / np.exp(log[:, 0]), slope)
            doubt[which], slopes[which] = off[:, 0], np.maximum(slope, 1e-300)
        return doubt, slopes

    def _better(self, delta: Fraction, epsilon: float, error: float, accuracy: float) -> tuple[float, float]:
        """Improve an epsilon whose error is too large: by its room, or by balls where those are quick."""
        from discreet.loss.certified.intervals import certified_epsilon

        full = full_epsilon(epsilon, delta)
        error = min(error, self._room(delta, epsilon, full))  # a chord across an atom overstates the error
        if error > full and self.curve.has_quick_balls and accuracy < math.inf:
            with suppress(PrecisionError):
                proved = float(certified_epsilon(self.curve, delta, digits=12))
                return proved, full_epsilon(proved, delta)
        return epsilon, error

    def _room(self, delta: Fraction, epsilon: float, least: float) -> float:
        """The distance to either side of an epsilon within which the curve certainly passes through delta."""
        is_large, room = delta > NEXT_TO_ONE, least
        aim = -log_fraction(1 - delta) if is_large else log_fraction(delta)
        while room < max(1.0, 1e3 * least):
            points = [Fraction(epsilon) - Fraction(room), Fraction(epsilon) + Fraction(room)]
            tail = (
                self.curve.tails(Kind.REST, points, math.inf)
                if is_large
                else self.curve.delta_tails(points, math.inf)
            )
            height = -tail.log if is_large else tail.log
            if height[0] - tail.error[0] >= aim >= height[1] + tail.error[1]:
                return room
            room *= 4
        return math.inf

    def _roots(
        self, deltas: list[Fraction], start: Floats | None = None, accuracy: float = math.inf
    ) -> Floats:
        """The epsilons at which the curve passes through the given deltas."""
        if not self.loss.terms:
            return np.array([math.log1p(-float(d)) for d in deltas])
        result = np.zeros(len(deltas))
        large = [i for i, d in enumerate(deltas) if d > NEXT_TO_ONE]
        if large:
            first = None if start is None else start[large]
            try:
                result[large] = self._roots_of_rest([deltas[i] for i in large], first, accuracy)
            except PrecisionError:  # hardly any noise: solve for delta itself, as accurately as possible
                large = []
            if large and len(large) == len(deltas):
                return result
        target = np.array([log_fraction(d) for d in deltas])
        guess, slope, high = saddlepoint_guess(self.loss, Kind.DELTA, target)
        if start is not None:
            guess = np.abs(start)
        at_zero = (
            self.curve.log_deltas([Fraction(0)], accuracy)[0] if (guess <= 5 / np.abs(slope)).any() else 0.0
        )
        is_small = np.ones(len(deltas), dtype=bool)
        is_small[large] = False
        below = (target > at_zero) & is_small
        inside = np.flatnonzero(is_small & ~below).tolist()
        if inside:

            def falling(which: list[int], x: Floats) -> Floats:
                return self.curve.log_deltas([Fraction(v) for v in x], accuracy)

            first = np.maximum(guess[inside], 0.1 / np.abs(slope[inside])) if start is None else guess[inside]
            top = high[inside]
            if self.loss.largest is not None:
                top = np.minimum(top, float(self.loss.largest))
                # from below: at the top delta has no slope
                first = np.minimum(first, top - np.minimum(1e-3 * top, 1 / np.abs(slope[inside])))
            first = np.minimum(first, top)
            result[inside] = roots(
                falling, first, slope[inside], target[inside], low=np.zeros(len(inside)), high=top
            )
        for i in np.flatnonzero(below):
            result[i] = self._negative_epsilon(deltas[i], accuracy)
        return result

    def _roots_of_rest(self, deltas: list[Fraction], start: Floats | None, accuracy: float) -> Floats:
        """The epsilons, of either sign, at which 1 - delta passes through 1 less the given deltas."""
        rest = [1 - d for d in deltas]
        aim = np.array([-log_fraction(x) for x in rest])

        def falling(which: list[int], x: Floats) -> Floats:
            return -self.curve.tails(Kind.REST, [Fraction(v) for v in x], accuracy).log

        # start from a normal law; 1 - delta(e) is at most e^e, and its logarithm is no steeper
        low, sd = -aim, self.loss.spread
        normal = np.array([-NormalDist().inv_cdf(max(float(x), 1e-300)) for x in rest])
        slope = -np.minimum(np.maximum(normal, 0.5) / sd, 1.0)
        guess = np.maximum(self.curve.mean - sd * normal, low) if start is None else start
        top = self.loss.largest
        high = np.full(len(rest), math.inf if top is None else float(top))
        epsilons = roots(falling, np.minimum(guess, high), slope, aim, low=low, high=high)
        tails = self.curve.tails(Kind.REST, [Fraction(x) for x in epsilons], accuracy)
        if not np.isfinite(tails.error).all():
            raise PrecisionError
        return epsilons

    def _negative_epsilon(self, delta: Fraction, accuracy: float) -> float:
        """Solve 1 - e^-e (1 - delta(e)) = delta for e > 0, in logarithms of both sides' distance to 1."""
        aim = log_fraction(1 - delta)

        def falling(which: list[int], x: Floats) -> Floats:
            inner = self.curve.log_deltas([Fraction(v) for v in x], accuracy)
            return np.where(inner > -0.7, np.log(-np.expm1(inner)), np.log1p(-np.exp(inner))) - x

        # 1 - delta(e) rises with e, but slower than e^e, so the function falls
        first = np.array([max(-aim - 1e-3, 1e-3)])
        return -float(roots(falling, first, np.array([-1.0]), np.array([aim]), low=np.zeros(1))[0])
