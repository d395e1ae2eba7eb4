"""The exact trade-off curve f of a loss, by Neyman and Pearson.

The best test rejects where the loss exceeds a threshold l, and where it equals l with some probability. The
curve passes through the points

    alpha(l) = P_null[L > l],   beta(l) = P_alt[L <= l]

and is linear between them, with slope -e^l at the value l. By symmetry f(f(alpha)) = alpha, and small
lower tails are upper tails of the other hypothesis: P_alt[L <= l] = P_null[L >= -l], so that each error is
computed to relative accuracy, however small. There are two ways to f(alpha), each with its own error:

*Points.* If alpha(t2) <= alpha <= alpha(t1), every slope in between lies between -e^t1 and -e^t2, so

    f(alpha) = beta(t1) + e^t (alpha(t1) - alpha)    for some t in [t1, t2],

a sum of positive numbers; with one value of the loss in (t1, t2] it is exact. For alpha above one half the
same from the other end: f(alpha) = P_null[L > t2] + e^-t (1 - alpha - P_alt[L > t2]).

*Duality*, where only delta is known: f(alpha) is the supremum over l of 1 - delta(l) - e^l alpha. Every l
gives a lower bound; the function is concave in e^l, so that two neighbours with lower values enclose it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import InputError, PrecisionError
from discreet.loss.contour import Kind, Tail, roots, saddlepoint_guess
from discreet.loss.lattice import Floats, Loss, log_fraction

Tails = Callable[[Kind, list[Fraction]], Tail]
NextValue = Callable[[Fraction], tuple[Fraction, Fraction]]
"""(before, after], which holds the next value of the loss above a threshold."""

CLOSE = 2e-14
"""Two thresholds this close have slopes that floats can hardly tell apart."""

_AIM = 1e-11
_HALF = Fraction(1, 2)
_MOST_RESIDUES = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Knots:
    """Corners of f, alpha ascending: between them f is linear, with slope -e^loss."""

    loss: Floats
    alpha: Floats
    beta: Floats


@dataclass(frozen=True, slots=True)
class Bracket:
    """P[L > low] >= target >= P[L > high]: one value of the loss in (low, high], or many close together."""

    low: Fraction
    high: Fraction

    def room(self, step: Fraction) -> float:
        """How far apart values of the loss may lie in it: zero if it is no longer than a step."""
        return 0.0 if self.high - self.low <= step else float(self.high - self.low)


class _Search:
    """The search for the bracket of one target: by secants, and by bisection where they creep."""

    def __init__(self, bottom: float, high: Fraction, start: float, slope: float, tight: bool) -> None:
        self.low, self.high, self.tight = Fraction(bottom), high, tight
        self.point, self.slope = Fraction(min(max(start, bottom), float(high))), slope
        self.above, self.below = math.inf, -math.inf  # logarithms relative to the target, at both ends
        self.last: tuple[Fraction, float] | None = None
        self.before = self.lift = 4 * (high - self.low)  # how far apart the ends were a round ago
        self.bisections, self.patience = 0, 1
        self.bracket: Bracket | None = None

    def cell(self, next_value: NextValue) -> tuple[Fraction, Fraction]:
        """The point lifted to the next value of the loss, unless lifts are small against the room left."""
        if self.high - self.low > 1000 * self.lift:
            return self.point, self.point
        cell = next_value(self.point)
        self.lift = cell[1] - self.point
        return cell

    def narrow(self, point: Fraction, height: float) -> None:
        """Take in how far the tail lies above its target at a point; choose the next point, or finish."""
        if height > 0:
            self.low, self.above = max(point, self.low), height
        else:
            self.high, self.below = min(point, self.high), height
        room = self.high - self.low
        # the slope leaves open the room times the part of the tail that lies in it
        between = self.above - self.below
        # (among atoms, where the search takes many slow rounds, somewhat less is enough)
        enough = 1e-15 if self.patience == 1 else 1e-13
        is_dense = not self.tight and between < 0.1 and float(room) * between < enough
        if is_dense or room <= CLOSE * (1 + abs(self.high)) / 8:
            self.bracket = Bracket(self.low, self.high)
            return
        previous, self.last = self.last, (point, height)
        if previous is not None and point != previous[0]:
            secant = (height - previous[1]) / float(point - previous[0])
            self.slope = secant if -math.inf < secant < 0 else self.slope
        # among noticeable atoms secants do not lead to the target: then bisect for a while
        if self.bisections:
            self.bisections -= 1
        elif 4 * room > self.before:
            self.bisections = self.patience
            self.patience += 1
        self.before = room
        self.point = self.low + room / 2
        if math.isfinite(height) and not self.bisections:
            further = point + Fraction(-1.02 * height / self.slope)
            if not self.low < further < self.high and math.isfinite(between):
                further = self.low + room * Fraction(self.above / between)
            self.point = further if self.low < further < self.high else self.point
        if room > Fraction(1, 10**9):
            self.point = Fraction(float(self.point))  # short fractions are quick


class TradeOff:
    """Evaluates f for one loss, from its tails and their errors."""

    def __init__(
        self,
        loss: Loss,
        tails: Tails,
        next_value: NextValue | None = None,
        smooth: Tails | None = None,
        *,
        singly: bool = False,
    ) -> None:
        self.loss = loss
        self.tails = tails
        self.next_value = next_value  # None: only delta is known
        self.smooth = smooth  # without the fine structure of the loss: quick, and close
        self.singly = singly  # whether neighbouring thresholds are quicker one after the other

    def errors(self, thresholds: list[Fraction]) -> tuple[Tail, Tail]:
        """alpha = P_null[L > l] and beta = P_alt[L <= l] at each threshold l."""
        mirrored = [self.loss.below(-t) for t in thresholds]
        return self.tails(Kind.NULL, thresholds), self.tails(Kind.NULL, mirrored)

    def values(self, alphas: list[Fraction]) -> tuple[Floats, Floats]:
        """f at each alpha, and its relative error."""
        value = np.array([float(1 - a) for a in alphas])
        error = np.zeros(len(alphas))
        if not self.loss.terms:
            return value, error
        for large in (False, True):
            chosen = [i for i, a in enumerate(alphas) if 0 < a < 1 and (a > _HALF) == large]
            if chosen:
                asked = [alphas[i] for i in chosen]
                by_points = self.next_value is not None
                f, off = self._by_points(asked, large=large) if by_points else self._by_duality(asked)
                value[chosen], error[chosen] = np.minimum(f, value[chosen]), off
        return value, error

    def thresholds(self, alphas: list[Fraction]) -> list[Fraction]:
        """The threshold of the best test of each type I error: a value of the loss, or close to one."""
        thresholds = [Fraction(0)] * len(alphas)
        for large in (False, True):
            chosen = [i for i, a in enumerate(alphas) if (a > _HALF) == large]
            if not chosen:
                continue
            # P_null[L <= l] = P_alt[L >= -l]
            kind = Kind.ALT if large else Kind.NULL
            targets = [1 - alphas[i] if large else alphas[i] for i in chosen]
            if self.next_value is None:
                points = [Fraction(x) for x in self._rough(kind, targets)]
            else:
                points = [bracket.high for bracket in self.brackets(kind, targets)]
            for i, point in zip(chosen, points, strict=True):
                thresholds[i] = -point if large else point
        return thresholds

    # -- from points of the curve --------------------------------------------------------------------

    def _by_points(self, alphas: list[Fraction], *, large: bool) -> tuple[Floats, Floats]:
        if self.singly and len(alphas) > 1:
            value, error = np.zeros(len(alphas)), np.zeros(len(alphas))
            for i in sorted(range(len(alphas)), key=alphas.__getitem__):
                (value[i],), (error[i],) = self._by_points([alphas[i]], large=large)
            return value, error
        kind = Kind.ALT if large else Kind.NULL
        targets = [1 - a for a in alphas] if large else alphas
        value, error = self._on_segments(targets, self.brackets(kind, targets, tight=False), large=large)
        poor = np.flatnonzero(~(error <= _AIM))
        if poor.size:
            again = [targets[i] for i in poor]
            value[poor], error[poor] = self._on_segments(again, self.brackets(kind, again), large=large)
        return value, error

    def _on_segments(
        self, targets: list[Fraction], brackets: list[Bracket], *, large: bool
    ) -> tuple[Floats, Floats]:
        assert self.next_value is not None
        kind = Kind.ALT if large else Kind.NULL
        low, high = [b.low for b in brackets], [b.high for b in brackets]
        aim = np.array([log_fraction(t) for t in targets])
        if large:
            end, along = self.tails(Kind.NULL, high), self.tails(Kind.ALT, high)
        else:
            mirrored = [self.loss.below(-t) for t in low]
            end, along = self.tails(Kind.NULL, mirrored), self.tails(Kind.NULL, low)
        # the segment that is left, e^t (alpha(t1) - alpha) or e^-t (1 - alpha - P_alt[L > t2]), in logarithms
        room = np.array([b.room(self.loss.step) for b in brackets])
        slope = np.array([float(-t if large else t) for t in high])
        slope += 0.5 * room if large else -0.5 * room  # known up to `room`: the middle is taken
        whole, less = (aim, along.log) if large else (along.log, aim)
        with np.errstate(all="ignore"):
            segment = whole + slope + np.log(np.maximum(-np.expm1(less - whole), 0.0))
            value = np.logaddexp(end.log, segment)
            error = np.exp(end.log - value) * end.error + np.exp(segment - value) * room
            # the part that cancels leaves only its rounding
            rounding = along.error + 2.3e-16 * (2 + np.abs(aim))
            error += np.exp(along.log + slope - value) * rounding + 1e-15
        # where the other end may be on the wrong side of the target, the segment beyond it is steeper
        other = self.tails(kind, low if large else high)
        for i in np.flatnonzero(np.abs(other.log - aim) <= 8 * (other.error + rounding)):
            steeper = -self.previous(low[i])[1] if large else self.next_value(high[i])[1]
            beyond = min(float(steeper) + other.log[i] - value[i], 700.0)
            error[i] += 8 * math.exp(beyond) * (other.error[i] + rounding[i])
        return np.exp(value), np.where(np.isfinite(error), error, math.inf)

    def brackets(self, kind: Kind, targets: list[Fraction], *, tight: bool = True) -> list[Bracket]:
        """Thresholds on either side of each target, up to one half, with one value of the loss between them.

        Or so close that it does not matter how many. The search uses secants that aim a little beyond the
        target, so that both ends come closer, and bisection where they do not. Each point is lifted to the
        next value of the loss, so that values far apart are found exactly.
        """
        assert self.next_value is not None
        aim = np.array([log_fraction(t) for t in targets])
        start, slope, top = saddlepoint_guess(self.loss, kind, aim)
        if self.smooth is not None:
            start = self._rough(kind, targets)
        bottom = self._median_below(kind)
        ends = [Fraction(max(float(t), bottom)) + 1 for t in top]
        if self.loss.largest is not None:
            ends = [max(self.loss.largest, Fraction(bottom) + 1)] * len(targets)
        pairs = zip(ends, start, slope, strict=True)
        searches = [_Search(bottom, end, guess, rate, tight) for end, guess, rate in pairs]
        active = list(zip(searches, aim, strict=True))
        for _ in range(400):
            if not active:
                break
            cells = [search.cell(self.next_value) for search, _ in active]
            # the upper end is known: ask before it instead
            is_end = [after >= s.high for (s, _), (_, after) in zip(active, cells, strict=True)]
            asked = [s.point if end else c[1] for (s, _), c, end in zip(active, cells, is_end, strict=True)]
            logs = self.tails(kind, asked).log
            for (search, level), point, cell, end, log in zip(
                active, asked, cells, is_end, logs, strict=True
            ):
                height = float(log) - float(level)
                if math.isnan(height):  # it may lie on either side of the target
                    raise ValueError(f"the tail at {float(point):.6g} is beyond floats")
                if height >= 0 and end:
                    search.bracket = Bracket(*cell)
                else:
                    search.narrow(point, height)
            active = [(search, level) for search, level in active if search.bracket is None]
        brackets = [search.bracket for search in searches]
        if None in brackets:
            lost = float(targets[brackets.index(None)])
            raise PrecisionError(f"the threshold of the test of error {lost:.6g} was not found")
        return [bracket for bracket in brackets if bracket is not None]

    def previous(self, threshold: Fraction) -> tuple[Fraction, Fraction]:
        """The cell of the next value of the loss at or below a threshold."""
        assert self.next_value is not None
        back = self.loss.step
        cell = self.next_value(threshold - back)
        while cell[1] > threshold:
            back *= 4
            cell = self.next_value(threshold - back)
        while (after := self.next_value(cell[1]))[1] <= threshold:
            cell = after
        return cell

    def _median_below(self, kind: Kind) -> float:
        """A point below the median of the loss, which lies within a standard deviation of the mean."""
        mean = self.loss.tilted_moments(0.0)[0]
        return (mean if kind is Kind.ALT else -mean) - 2 * self.loss.spread - float(self.loss.step)

    # -- by duality ------------------------------------------------------------------------------------

    def _rough(self, kind: Kind, targets: list[Fraction]) -> Floats:
        """About where the tail of this kind passes its targets, ignoring the fine structure of the loss."""
        aim = np.array([log_fraction(t) for t in targets])
        guess, slope, high = saddlepoint_guess(self.loss, kind, aim)
        if self.smooth is None:
            return guess
        search = self.smooth

        def falling(which: list[int], x: Floats) -> Floats:
            return search(kind, [Fraction(v) for v in x]).log

        low = np.full(len(targets), self._median_below(kind))
        return roots(falling, np.clip(guess, low, high), slope, aim, low=low, high=high, tolerance=1e-9)

    def _by_duality(self, alphas: list[Fraction]) -> tuple[Floats, Floats]:
        pairs = [self._dual(a, t) for a, t in zip(alphas, self.thresholds(alphas), strict=True)]
        return np.array([value for value, _ in pairs]), np.array([error for _, error in pairs])

    def _dual(self, alpha: Fraction, start: Fraction) -> tuple[float, float]:
        """The supremum of the heights, enclosed by three of them, and its relative error."""
        spread = self.loss.spread
        point, step = float(start), 1e-5 * spread
        best, best_error = 0.0, math.inf
        for _ in range(40):
            levels = [Fraction(point - step), Fraction(point), Fraction(point + step)]
            height, doubt = heights(self.tails, levels, [alpha] * 3)
            left, middle, right = height.tolist()
            noise = float(doubt.max())
            if middle - left > 2 * noise and middle - right > 2 * noise:
                # concave in w = e^l: past the middle the function lies below the chord from the other side
                ahead, behind = math.expm1(step), -math.expm1(-step)
                tops = [
                    middle + (middle - left + 2 * noise) * ahead / behind,
                    middle + (middle - right + 2 * noise) * behind / ahead,
                ]
                error = (max(tops) + noise - middle) / middle if middle > 0 else math.inf
                if error < best_error:
                    best, best_error = middle, error
                narrower = step * 0.5 * math.sqrt(_AIM / error) if error > _AIM else step
                curve = (middle - min(left, right)) / step**2
                narrower = max(narrower, math.sqrt(8 * noise / curve))
                if error <= _AIM or narrower > 0.7 * step:
                    break
                bend = left - 2 * middle + right
                point += 0.5 * step * (left - right) / bend if bend < 0 else 0.0
                step = narrower
            elif max(left, right) - middle <= 2 * noise:
                step *= 4  # too close together to tell them apart
            else:
                point += step if right > left else -step
                step *= 2
            if step > 1e3 * spread:
                break
        return best, best_error

    def knots(self, low: Fraction, high: Fraction, most: int) -> tuple[Knots, float]:
        """All knots with alpha in [low, high], and the largest relative error among them."""
        h, offset = self.loss.step, self.loss.offset
        if not self.loss.terms:
            return Knots(np.zeros(2), np.array([0.0, 1.0]), np.array([1.0, 0.0])), 0.0
        floor = Fraction(1, 10**300)
        top = self.thresholds([max(low, floor)])[0] if low <= _HALF else self.thresholds([low])[0]
        bottom = self.thresholds([high if high <= _HALF else 1 - max(1 - high, floor)])[0]
        first, last = math.floor((bottom - offset) / h) - 1, math.ceil((top - offset) / h) + 1
        if last - first > most:
            raise InputError(
                f"f has about {last - first} knots there (losses {float(h):.3g} apart); at most {most} are "
                "listed: ask for a smaller range of alpha, or raise `most`"
            )
        points = [offset + h * i for i in occurring(self.loss, first, last)[::-1]]  # alpha ascending
        tails = self.errors(points)
        with np.errstate(under="ignore"):
            alpha, beta = (np.minimum(np.exp(tail.log), 1.0) for tail in tails)
        # rounding must not change the order of corners that floats cannot tell apart
        alpha, beta = np.maximum.accumulate(alpha), np.minimum.accumulate(beta)
        keep = np.flatnonzero((alpha >= float(low)) & (alpha <= float(high)))
        worst = max(float(tail.error[keep].max()) for tail in tails) if keep.size else 0.0
        losses, alpha, beta = np.array([float(points[i]) for i in keep]), alpha[keep], beta[keep]
        if high == 1 and self.loss.largest is not None:  # below the least loss everything is rejected
            losses = np.append(losses, -float(self.loss.largest + h))
            alpha, beta = np.append(alpha, 1.0), np.append(beta, 0.0)
        return Knots(losses, alpha, beta), worst


def occurring(loss: Loss, first: int, last: int) -> list[int]:
    """The i from first to last for which offset + step i is a value that the loss takes.

    A Gaussian X takes every integer, so that only what Laplace terms add to the multiples of the Gaussian
    steps has to be listed.

    >>> from discreet.noise import DiscreteGaussian, DiscreteLaplace
    >>> three = [DiscreteGaussian(variance="0.11"), DiscreteLaplace(scale="1.1", times=3)]
    >>> occurring(Loss(three), -5, 5)   # of five steps, Laplace noise takes none to three
    [-5, -4, -3, -2, 0, 1, 2, 3, 5]
    """
    multiples = [(int(term.step / loss.step), term) for term in loss.terms]
    whole = math.gcd(*(k for k, term in multiples if term.largest is None))
    if whole == 1:
        return list(range(first, last + 1))
    residues = {0}
    for k, term in multiples:
        if term.largest is None:
            continue
        count, have = term.times * term.sensitivity + 1, 1  # 0, k, ..., doubling what is there
        while have < count and len(residues) != whole:
            more = k * min(have, count - have)
            residues |= {(x + more) % whole if whole else x + more for x in residues}
            have += min(have, count - have)
            if len(residues) > _MOST_RESIDUES:
                raise PrecisionError(
                    f"the loss takes more than {_MOST_RESIDUES} values; its corners cannot be listed"
                )
    return [i for i in range(first, last + 1) if (i % whole if whole else i) in residues]


def heights(tails: Tails, thresholds: list[Fraction], alphas: list[Fraction]) -> tuple[Floats, Floats]:
    """1 - delta(l) - e^l alpha and its absolute error.

    From 1 - delta(l) for small alpha, and as e^l (1 - alpha - delta(-l)) for large alpha.
    """
    level = np.array([float(t) for t in thresholds])
    asked = np.array([float(a) for a in alphas])
    kept = np.array([float(1 - a) for a in alphas])
    above = np.array([is_from_rest(t, a) for t, a in zip(thresholds, alphas, strict=True)])
    value, doubt = np.zeros(len(thresholds)), np.zeros(len(thresholds))
    with np.errstate(under="ignore"):
        if above.any():
            tail = tails(Kind.REST, [t for t, up in zip(thresholds, above, strict=True) if up])
            rest, line = np.exp(tail.log), np.exp(level[above]) * asked[above]
            value[above], doubt[above] = rest - line, rest * tail.error + 2.3e-16 * line
        if not above.all():
            tail = tails(Kind.DELTA, [-t for t, up in zip(thresholds, above, strict=True) if not up])
            scale, delta = np.exp(level[~above]), np.exp(tail.log)
            value[~above] = scale * (kept[~above] - delta)
            doubt[~above] = scale * (delta * tail.error + 2.3e-16 * kept[~above])
    return value, doubt


def is_from_rest(threshold: Fraction, alpha: Fraction) -> bool:
    """Whether a height is computed from 1 - delta(l) rather than from delta(-l)."""
    return threshold >= 0 or 2 * alpha < 1
