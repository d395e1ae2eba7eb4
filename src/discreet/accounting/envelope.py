"""The trade-off curve of a whole release: the lower convex envelope of the minimum over its cases.

f(alpha) = sup over l of min over cases of 1 - delta(l) - e^l alpha. A few cases decide it: the supremum for a
subset of cases is an upper bound of that for all, and the minimum over all cases at one l is a lower bound;
where the two meet, that is the value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.budget.neighbours import CaseLabel
from discreet.loss.contour import Kind
from discreet.loss.lattice import Floats
from discreet.loss.tradeoff import Tails, heights, is_from_rest

if TYPE_CHECKING:
    from discreet.accounting.account import Account

_SETTLED = 1e-10
_MOST_ROUNDS = 6
_NEWCOMERS = 6
_TIE = 2e-12  # cases whose deltas differ by less count as equal


@dataclass(frozen=True, slots=True)
class EnvelopePoint:
    """f(alpha), the threshold of the supporting line, the case that attains it, and the error of f."""

    alpha: Fraction
    beta: float
    threshold: Fraction
    worst: CaseLabel
    error: float = 0.0
    """Relative: f lies between the least height of all cases and the envelope over some of them."""
    own: float | None = None
    """f of that case alone, where its best line is this one, and so known already."""


def envelope(account: Account, alphas: list[Fraction]) -> list[EnvelopePoint]:
    """f of a whole release at each alpha: the convex envelope of its cases."""
    points = [EnvelopePoint(a, float(1 - a), Fraction(0), account.main) for a in alphas]
    open_ = [i for i, a in enumerate(alphas) if 0 < a < 1]
    chosen = [account.main]
    starts: dict[CaseLabel, dict[Fraction, Fraction]] = {}
    settled = max(_SETTLED, account.accuracy or 0.0)
    for _ in range(_MOST_ROUNDS):
        if not open_:
            break
        asked = [alphas[i] for i in open_]
        tops = _on_subset(account, asked, chosen, starts)
        lower = _lowest(account, [p.threshold for p in tops], asked)
        for i, point, (low, label, doubt) in zip(open_, tops, lower, strict=True):
            top = point.beta * (1 + point.error)
            # the least of all cases never exceeds f. (The owner's own height is known better already.)
            is_own = label == point.worst and low >= point.beta * (1 - _SETTLED)
            beta = point.beta if is_own else min(point.beta, low)
            error = (top - beta + doubt) / beta if beta > 0 else math.inf
            points[i] = replace(point, beta=beta, error=error)
        short = [low < p.beta * (1 - settled) for (low, _, _), p in zip(lower, tops, strict=True)]
        wanted: dict[CaseLabel, int] = {}
        for (_, label, _), is_short in zip(lower, short, strict=True):
            if is_short and label not in chosen:
                wanted[label] = wanted.get(label, 0) + 1
        open_ = [i for i, is_short in zip(open_, short, strict=True) if is_short]
        if not wanted:
            break
        chosen += sorted(wanted, key=lambda label: -wanted[label])[:_NEWCOMERS]
    return points


def _on_subset(
    account: Account,
    alphas: list[Fraction],
    labels: list[CaseLabel],
    known: dict[CaseLabel, dict[Fraction, Fraction]],
) -> list[EnvelopePoint]:
    """The envelope of a few cases: the best line of one of them, or the line where two of them meet.

    `known` keeps the threshold of each case's best test, by its type I error.
    """
    losses = [account.case(label).law.on_lattice() for label in labels]
    count = len(alphas)
    for label, loss in zip(labels, losses, strict=True):
        of_case = known.setdefault(label, {})
        if new := [alpha for alpha in alphas if alpha not in of_case]:
            of_case.update(zip(new, loss.tradeoff_thresholds(new), strict=True))
    starts = [[known[label][alpha] for alpha in alphas] for label in labels]
    every = [threshold for row in starts for threshold in row]
    # table[case, start of case, alpha]
    both = [heights(loss.tails, every, alphas * len(labels)) for loss in losses]
    table, doubts = (np.array([pair[k] for pair in both]).reshape(len(labels), -1, count) for k in (0, 1))
    lowest, at = table.min(axis=0), table.argmin(axis=0)
    best = lowest.argmax(axis=0)
    points = []
    for k, alpha in enumerate(alphas):
        start, owner = int(best[k]), int(at[best[k], k])
        line = _Line(starts[start][k], float(lowest[start, k]), owner)
        line = replace(line, top=line.value + float(doubts[owner, start, k]))
        # at its own threshold a case attains its own f; if no other case is lower there, that is the supremum
        is_own = starts[owner][k] == line.threshold
        if not is_own and line.value < table[start, start, k] * (1 - _SETTLED):
            ends = [row[k] for row in starts]
            line = _crossing([loss.tails for loss in losses], alpha, min(ends), max(ends), line)
        elif not losses[owner if is_own else start].has_exact_thresholds:
            owner = owner if is_own else start
            line = _summit(losses[owner].tails, alpha, replace(line, owner=owner), losses[owner].loss.spread)
        error = line.top / line.value - 1 if line.value > 0 else math.inf
        is_known = is_own and losses[owner].has_exact_thresholds
        own = line.value if is_known else None
        points.append(EnvelopePoint(alpha, line.value, line.threshold, labels[line.owner], error, own))
    return points


@dataclass(frozen=True, slots=True)
class _Line:
    """A supporting line: threshold, height at alpha, the case it belongs to, and an upper bound of f."""

    threshold: Fraction
    value: float
    owner: int
    top: float = math.inf


def _summit(tails: Tails, alpha: Fraction, line: _Line, spread: float) -> _Line:
    """The highest line of a case whose threshold is known roughly, by parabolas, with an upper bound."""
    point = float(line.threshold)
    for step in (3e-4 * spread, 3e-6 * spread):
        levels = [Fraction(point - step), Fraction(point), Fraction(point + step)]
        height, doubt = heights(tails, levels, [alpha] * 3)
        left, middle, right = height.tolist()
        noise, bend = float(doubt.max()), left - 2 * middle + right
        # concave in e^l: beyond the middle it lies below the chord from the other side
        ahead, behind = math.expm1(step), -math.expm1(-step)
        tops = middle + np.array([(middle - left) * ahead / behind, (middle - right) * behind / ahead])
        if middle >= max(left, right) - 2 * noise:
            top = max(float(tops.max()), middle) + 4 * noise
            if middle > line.value or top < line.top:
                line = _Line(levels[1], middle, line.owner, min(top, line.top))
        point += min(max(0.5 * step * (left - right) / bend, -step), step) if bend < 0 else 0.0
    return line


def _crossing(tails: list[Tails], alpha: Fraction, low: Fraction, high: Fraction, best: _Line) -> _Line:
    """The largest minimum between two thresholds, where cases cross.

    By golden section, since the minimum is concave, until one case is the lowest on the left and another on
    the right; then where those two meet.
    """

    def lowest(threshold: Fraction) -> tuple[float, int]:
        return min((float(heights(t, [threshold], [alpha])[0][0]), i) for i, t in enumerate(tails))

    def better(line: _Line, threshold: Fraction, value: float, owner: int) -> _Line:
        return _Line(threshold, value, owner) if value > line.value else line

    golden = Fraction(618034, 10**6)
    inner = [Fraction(float(high - golden * (high - low))), Fraction(float(low + golden * (high - low)))]
    minima = [lowest(threshold) for threshold in inner]
    ends: list[int | None] = [None, None]
    best = replace(best, top=math.inf)
    for _ in range(44):
        if float(high - low) <= 1e-9 * (1 + abs(float(high))):
            break
        if None not in ends and ends[0] != ends[1] and float(high - low) <= 1e-3 * (1 + abs(float(high))):
            break
        for threshold, (value, at) in zip(inner, minima, strict=True):
            best = better(best, threshold, value, at)
        if minima[0][0] > minima[1][0]:
            high, ends[1], inner[1], minima[1] = inner[1], minima[1][1], inner[0], minima[0]
            inner[0] = Fraction(float(high - golden * (high - low)))
            minima[0] = lowest(inner[0])
        else:
            low, ends[0], inner[0], minima[0] = inner[0], minima[0][1], inner[1], minima[1]
            inner[1] = Fraction(float(low + golden * (high - low)))
            minima[1] = lowest(inner[1])
    left, right = ends
    if left is not None and right is not None and left != right:
        best = _meeting(tails, alpha, (low, high), (left, right), best)
    top = best.top if best.top < math.inf else best.value * (1 + 1e-9)
    return replace(best, top=max(top, best.value))


def _meeting(
    tails: list[Tails],
    alpha: Fraction,
    span: tuple[Fraction, Fraction],
    cases: tuple[int, int],
    best: _Line,
) -> _Line:
    """Where the case that is lowest on the left, and rises, meets the one that is lowest on the right."""
    low, high = span

    def both(threshold: Fraction) -> tuple[Floats, float]:
        pairs = [heights(tails[case], [threshold], [alpha]) for case in cases]
        return np.array([float(value[0]) for value, _ in pairs]), max(float(doubt[0]) for _, doubt in pairs)

    (at_low, _), (at_high, _) = both(low), both(high)
    gap_low, gap_high = at_low[0] - at_low[1], at_high[0] - at_high[1]
    here, values, noise = high, at_high, 0.0
    for turn in range(60):
        if not (gap_low < 0 < gap_high) or float(high - low) <= 4e-16 * (1 + abs(float(high))):
            break
        share = Fraction(1, 2) if turn % 4 == 3 else Fraction(float(gap_low / (gap_low - gap_high)))
        here = Fraction(float(low + (high - low) * share))
        if not low < here < high:
            break
        values, noise = both(here)
        gap = float(values[0] - values[1])
        if abs(gap) <= noise:
            break
        if gap < 0:
            low, at_low, gap_low = here, values, gap
        else:
            high, at_high, gap_high = here, values, gap
    value = min((float(heights(t, [here], [alpha])[0][0]), i) for i, t in enumerate(tails))
    # left of the meeting the first rises, right of it the second falls: no point is higher than both there
    top = float(max(values)) + noise
    is_kink = value[1] in cases and at_low[0] <= values[0] + noise and at_high[1] <= values[1] + noise
    if value[0] < best.value * (1 - 1e-9):
        return best
    return _Line(here, value[0], value[1], top if is_kink else math.inf)


def lowest_heights(
    account: Account, thresholds: list[Fraction], alphas: list[Fraction]
) -> list[tuple[float, CaseLabel]]:
    """The least height of all cases at each threshold, and its case: that of the largest delta."""
    return [(value, label) for value, label, _ in _lowest(account, thresholds, alphas)]


def _lowest(
    account: Account, thresholds: list[Fraction], alphas: list[Fraction]
) -> list[tuple[float, CaseLabel, float]]:
    """The least height of all cases at each threshold, its case, and its error."""
    least: list[tuple[float, CaseLabel, float]] = [(0.0, account.main, 0.0)] * len(thresholds)
    above = [is_from_rest(t, a) for t, a in zip(thresholds, alphas, strict=True)]
    for kind, chosen in ((Kind.REST, True), (Kind.DELTA, False)):
        which = [k for k, up in enumerate(above) if up is chosen]
        extremes = account.extremes(kind, [thresholds[k] if chosen else -thresholds[k] for k in which])
        for k, (log, label, error) in zip(which, extremes, strict=True):
            level, error = math.exp(thresholds[k]), error + _TIE
            if chosen:
                least[k] = (math.exp(log) - level * float(alphas[k]), label, math.exp(log) * error)
            else:
                height = level * (float(1 - alphas[k]) - math.exp(log))
                least[k] = (height, label, level * math.exp(log) * error)
    return least
