"""The exact trade-off curve f of a loss, by Neyman and Pearson.

The best test rejects where the loss exceeds a threshold l, and where it equals l with some probability:

    alpha(l) = P_null[L > l],   beta(l) = P_alt[L <= l],   f(alpha) = beta(l) - e^l (alpha - alpha(l))

for alpha(l) <= alpha <= P_null[L >= l]. By symmetry f(f(alpha)) = alpha, and small lower tails are
upper tails of the other hypothesis: P_alt[L <= l] = P_null[L >= -l], so that each error is had to
relative accuracy, however small. Since f(alpha) is the supremum over l of 1 - delta(l) - e^l alpha, an
error in l counts only to second order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.accounting.loss import Floats, Loss
from discreet.accounting.saddle import Kind
from discreet.accounting.solve import roots, saddlepoint_guess
from discreet.errors import InputError, PrecisionError

LogTails = Callable[[Kind, list[Fraction]], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Knots:
    """Corners of f, alpha ascending: between them f is linear, with slope -e^loss."""

    loss: Floats
    alpha: Floats
    beta: Floats


def _floats(numbers: list[Fraction]) -> Floats:
    return np.array([float(x) for x in numbers])


class TradeOff:
    """Evaluates f for one loss, from its upper tails."""

    def __init__(
        self,
        loss: Loss,
        log_tails: LogTails,
        *,
        rough: LogTails,
        smooth: LogTails | None = None,
        smooth_only: bool = False,
        snap: Callable[[Fraction], list[Fraction]] | None = None,
        refine: Callable[[Fraction], float | None] | None = None,
    ) -> None:
        self.loss = loss
        self.log_tails = log_tails
        self.rough = rough  # the same without a check of their accuracy, for finding thresholds
        self.smooth = smooth  # without the fine structure of the loss: quick, and close
        self.smooth_only = smooth_only  # where the fine structure costs too much: f is then good to 1e-9
        self.refine = refine  # f from ball arithmetic, for where floats are not enough
        self.snap = snap  # values of the loss next to a point, where they are known one by one

    def below(self, thresholds: list[Fraction]) -> list[Fraction]:
        """A point between each threshold and the loss next below it, so that L >= t means L > point."""
        h, offset = self.loss.step, self.loss.offset
        return [offset + h * (math.ceil((t - offset) / h)) - h / 2 if h else t for t in thresholds]

    def errors(self, thresholds: list[Fraction]) -> tuple[Floats, Floats]:
        """alpha = P_null[L > l] and beta = P_alt[L <= l] at each threshold l."""
        with np.errstate(under="ignore"):
            alpha = np.exp(self.log_tails(Kind.NULL, thresholds))
            mirrored = self.below([-t for t in thresholds])
            return alpha, np.exp(self.log_tails(Kind.NULL, mirrored))

    def values(self, alphas: list[Fraction]) -> Floats:
        """f at each alpha."""
        result = np.zeros(len(alphas))
        if not self.loss.terms:
            return np.array([float(1 - a) for a in alphas])
        small = [i for i, a in enumerate(alphas) if 0 < a <= Fraction(1, 2)]
        large = [i for i, a in enumerate(alphas) if Fraction(1, 2) < a < 1]
        for chosen, one_side in ((small, self._small), (large, self._large)):
            if chosen:
                asked = [alphas[i] for i in chosen]
                points = self.thresholds(asked)
                value, whole = one_side(points, asked)
                for other in self._neighbours(points):
                    value = np.maximum(value, one_side(other, asked)[0])
                result[chosen] = value
                # next to a steep corner f is a small difference of tails, whatever way it is written
                for i, lost in zip(chosen, value < 2e-5 * whole, strict=True):
                    if lost:
                        result[i] = self._refined(alphas[i])
        for i, a in enumerate(alphas):
            if a == 0:
                result[i] = 1.0
        return np.clip(result, 0.0, 1.0)

    def _refined(self, alpha: Fraction) -> float:
        """f where floats cannot tell it."""
        better = None if self.refine is None else self.refine(alpha)
        if better is None:
            raise PrecisionError(
                f"f({float(alpha):.6g}) is too small a difference of tails for floating point; "
                "ask for certified=True, which says what is known"
            )
        return better

    def _neighbours(self, points: list[Fraction]) -> list[list[Fraction]]:
        """Other values of the loss to try at each point: every line lies below f, the best one touches it."""
        if self.snap is None:
            return []
        near = [self.snap(p) for p in points]
        most = max(len(values) for values in near)
        return [[v[k] if k < len(v) else p for v, p in zip(near, points, strict=True)] for k in range(most)]

    def thresholds(self, alphas: list[Fraction]) -> list[Fraction]:
        """Where the best test of each type I error has its threshold: at that loss, or next to it."""
        small = [i for i, a in enumerate(alphas) if a <= Fraction(1, 2)]
        large = [i for i, a in enumerate(alphas) if a > Fraction(1, 2)]
        found = [Fraction(0)] * len(alphas)
        if small:
            points = self._thresholds(Kind.NULL, [alphas[i] for i in small])
            for i, point in zip(small, points, strict=True):
                found[i] = point
        if large:
            # P_null[L <= l] = P_alt[L >= -l]
            points = self._thresholds(Kind.ALT, [1 - alphas[i] for i in large])
            for i, point in zip(large, points, strict=True):
                found[i] = -point
        return found

    def _small(self, points: list[Fraction], alphas: list[Fraction]) -> tuple[Floats, Floats]:
        """alpha up to one half: f = 1 - delta(l) - e^l alpha."""
        asked = _floats(alphas)
        whole = np.exp(self.log_tails(Kind.REST, points))
        value = whole - np.exp(_floats(points)) * asked
        return self._settled(value, whole, points, asked, self._by_errors_above), whole

    def _large(self, points: list[Fraction], alphas: list[Fraction]) -> tuple[Floats, Floats]:
        """alpha above one half, l = -m < 0: the same number as e^-m (1 - alpha - delta(m))."""
        kept = _floats([1 - a for a in alphas])
        mirrored = [max(-p, Fraction(0)) for p in points]
        scale = np.exp(-_floats(mirrored))
        value = (kept - np.exp(self.log_tails(Kind.DELTA, mirrored))) * scale
        whole = kept * scale
        return self._settled(value, whole, mirrored, kept, self._by_errors_below), whole

    def _settled(
        self,
        value: Floats,
        whole: Floats,
        points: list[Fraction],
        asked: Floats,
        by_errors: Callable[[list[Fraction], Floats], Floats],
    ) -> Floats:
        """The values, those of which much has cancelled computed from both errors instead.

        Tails on a long contour are costly, and may not be had: there only where nearly all has cancelled.
        """
        weak = np.flatnonzero(value < (0.1 if self.smooth is None else 0.003) * whole)
        if weak.size:
            value[weak] = by_errors([points[i] for i in weak], asked[weak])
        return value

    def _by_errors_above(self, points: list[Fraction], asked: Floats) -> Floats:
        """f = P_alt[L < l] + e^l (P_null[L >= l] - alpha), from the right end of the segment: a sum."""
        end = np.exp(self.log_tails(Kind.NULL, [-p for p in points]))
        reach = np.exp(self.log_tails(Kind.NULL, self.below(points)))
        return np.asarray(end + np.exp(_floats(points)) * np.maximum(reach - asked, 0.0))

    def _by_errors_below(self, points: list[Fraction], kept: Floats) -> Floats:
        """The same with m = -l > 0: P_null[L > m] + e^-m (1 - alpha - P_alt[L > m])."""
        end = np.exp(self.log_tails(Kind.NULL, points))
        reach = np.exp(self.log_tails(Kind.ALT, points))
        return np.asarray(end + np.exp(-_floats(points)) * np.maximum(kept - reach, 0.0))

    def _thresholds(self, kind: Kind, targets: list[Fraction]) -> list[Fraction]:
        """Values l of the loss with P[L > l] <= target <= P[L >= l] (or so close that f cannot tell)."""
        aim = np.array([math.log(float(t)) if float(t) > 0 else -745.0 for t in targets])
        guess, slope, high = saddlepoint_guess(self.loss, kind, aim)
        h = float(self.loss.step)
        spread = math.sqrt(self.loss.tilted_moments(0.0)[1])
        fine = h < 1e-7 * spread
        search = self.smooth or (self.rough if fine else None)
        if search is not None:
            # the tangent at a point off by 1e-9 of the spread is off by 1e-18
            def falling(which: list[int], x: Floats) -> Floats:
                return search(kind, [Fraction(v) for v in x])

            low = np.full(len(targets), self._median_below(kind))
            start = np.clip(guess, low, high)
            guess = roots(falling, start, slope, aim, low=low, high=high, tolerance=1e-12)
        if fine or self.smooth_only:
            return [Fraction(x) for x in guess]
        return self._lattice_thresholds(kind, aim, guess)

    def _median_below(self, kind: Kind) -> float:
        """A point below the median of the loss, which is within a standard deviation of the mean."""
        mean, variance = self.loss.tilted_moments(0.0)
        return (mean if kind is Kind.ALT else -mean) - 2 * math.sqrt(variance) - float(self.loss.step)

    def _lattice_thresholds(self, kind: Kind, aim: Floats, guess: Floats) -> list[Fraction]:
        """The first lattice point l with P[L > l] <= target, by bisection from a close guess."""
        h, offset = self.loss.step, self.loss.offset
        # index of a point below the median, where P[L > it] is above the target
        first = math.floor((Fraction(self._median_below(kind)) - offset) / h) - 1
        count = aim.size
        low = [first] * count
        high: list[int | None] = [None] * count
        index = [max(first + 1, round((Fraction(g) - offset) / h)) for g in guess]
        stride = [1] * count
        active = list(range(count))
        while active:
            logs = self.rough(kind, [offset + h * index[i] for i in active])
            still = []
            for i, log in zip(active, logs, strict=True):
                if log <= aim[i]:
                    high[i] = index[i]
                else:
                    low[i] = index[i]
                top = high[i]
                if top is not None and top - low[i] <= 1:
                    index[i] = top
                    continue
                if top is None:
                    index[i] = low[i] + stride[i]
                elif low[i] == first and top - stride[i] > first:
                    index[i] = top - stride[i]
                else:
                    index[i] = (low[i] + top) // 2
                stride[i] *= 2
                still.append(i)
            active = still
        return [offset + h * i for i in index]

    def knots(self, low: Fraction, high: Fraction, most: int) -> Knots:
        """All knots with alpha in [low, high]."""
        h, offset = self.loss.step, self.loss.offset
        if not self.loss.terms:
            return Knots(np.zeros(2), np.array([0.0, 1.0]), np.array([1.0, 0.0]))
        floor = Fraction(1, 10**300)
        top = self._thresholds(Kind.NULL, [max(low, floor)])[0]
        rest = max(1 - high, floor)
        bottom = -self._thresholds(Kind.ALT, [rest])[0]
        first, last = math.floor((bottom - offset) / h) - 1, math.ceil((top - offset) / h) + 1
        if last - first > most:
            raise InputError(
                f"f has about {last - first} knots there (losses {float(h):.3g} apart); at most {most} are "
                "listed: ask for a smaller range of alpha, or raise `most`"
            )
        points = [offset + h * i for i in range(first, last + 1)]
        alpha, beta = self.errors(points)
        alpha = np.minimum.accumulate(alpha)  # rounding near 1 must not disturb the order
        keep = (alpha >= float(low)) & (alpha <= float(high))
        # a value that does not occur leaves no corner: of equal alphas the smallest loss is the real one
        order = np.flatnonzero(keep)[::-1]
        fresh = np.append(np.diff(alpha[order]) > 0, True)
        order = order[fresh]
        return Knots(np.array([float(points[i]) for i in order]), alpha[order], beta[order])
