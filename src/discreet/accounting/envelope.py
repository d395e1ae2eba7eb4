"""The trade-off curve of a whole release: the lower convex envelope of the minimum over its cases.

By duality f(alpha) = sup over l of min over cases of 1 - delta(l) - e^l alpha, concave in e^l. A few
cases decide it: the supremum over a subset of cases is an upper bound of the one over all, and the
minimum over all cases at one l is a lower bound; where the two meet, the value is found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.loss import Floats
from discreet.accounting.saddle import Kind

if TYPE_CHECKING:
    from discreet.accounting.overall import Account

_SETTLED = 1e-10
_MOST_ROUNDS = 6
_NEWCOMERS = 6

LogTails = Callable[[Kind, list[Fraction]], Floats]


@dataclass(frozen=True, slots=True)
class EnvelopePoint:
    """f(alpha), the threshold of the supporting line, and the case that attains it."""

    alpha: Fraction
    beta: float
    threshold: Fraction
    worst: Any


def overall_tradeoff(account: Account, alphas: list[Fraction]) -> list[EnvelopePoint]:
    """The envelope at each alpha."""
    points = [EnvelopePoint(a, float(1 - a), Fraction(0), account.main) for a in alphas]
    open_ = [i for i, a in enumerate(alphas) if 0 < a < 1]
    chosen = [account.main]
    for _ in range(_MOST_ROUNDS):
        if not open_:
            break
        asked = [alphas[i] for i in open_]
        found = _on_subset(account, asked, chosen)
        for i, point in zip(open_, found, strict=True):
            points[i] = point
        if len(account.cases) == 1:
            break
        lower = lowest_heights(account, [p.threshold for p in found], asked)
        short = [low < p.beta * (1 - _SETTLED) for (low, _), p in zip(lower, found, strict=True)]
        wanted: dict[Any, int] = {}
        for (_, label), is_short in zip(lower, short, strict=True):
            if is_short and label not in chosen:
                wanted[label] = wanted.get(label, 0) + 1
        open_ = [i for i, is_short in zip(open_, short, strict=True) if is_short]
        if not wanted:
            break
        chosen += sorted(wanted, key=lambda label: -wanted[label])[:_NEWCOMERS]
    return points


def _on_subset(account: Account, alphas: list[Fraction], labels: list[Any]) -> list[EnvelopePoint]:
    """The envelope over a few cases: the best line of one of them, or the one where two of them meet."""
    losses = [account.case(label) for label in labels]
    count = len(alphas)
    starts = [loss.tradeoff_thresholds(alphas) for loss in losses]
    every = [threshold for row in starts for threshold in row]
    # table[case, start of case, alpha]
    table = np.array([heights(loss.log_tails, every, alphas * len(labels)) for loss in losses])
    table = table.reshape(len(labels), len(labels), count)
    lowest, at = table.min(axis=0), table.argmin(axis=0)
    best = lowest.argmax(axis=0)
    points = []
    for k, alpha in enumerate(alphas):
        start, owner = int(best[k]), int(at[best[k], k])
        threshold, value = starts[start][k], float(lowest[start, k])
        own = table[start, start, k]
        # at its own threshold a case attains its own f: if no other is lower there, that is the supremum
        if value < own * (1 - _SETTLED):
            ends = [row[k] for row in starts]
            threshold, value, owner = _crossing(
                [loss.log_tails for loss in losses], alpha, min(ends), max(ends), (threshold, value, owner)
            )
        points.append(EnvelopePoint(alpha, value, threshold, labels[owner]))
    return points


def _crossing(
    tails: list[LogTails], alpha: Fraction, low: Fraction, high: Fraction, best: tuple[Fraction, float, int]
) -> tuple[Fraction, float, int]:
    """The largest minimum between two thresholds, where cases cross: by golden section, being concave."""

    def lowest(threshold: Fraction) -> tuple[float, int]:
        return min((float(heights(t, [threshold], [alpha])[0]), i) for i, t in enumerate(tails))

    golden = Fraction(618034, 10**6)
    inner = [Fraction(float(high - golden * (high - low))), Fraction(float(low + golden * (high - low)))]
    found = [lowest(threshold) for threshold in inner]
    for _ in range(44):
        if float(high - low) <= 1e-9 * (1 + abs(float(high))):
            break
        for threshold, (value, at) in zip(inner, found, strict=True):
            if value > best[1]:
                best = (threshold, value, at)
        if found[0][0] > found[1][0]:
            high, inner[1], found[1] = inner[1], inner[0], found[0]
            inner[0] = Fraction(float(high - golden * (high - low)))
            found[0] = lowest(inner[0])
        else:
            low, inner[0], found[0] = inner[0], inner[1], found[1]
            inner[1] = Fraction(float(low + golden * (high - low)))
            found[1] = lowest(inner[1])
    return best


def heights(log_tails: LogTails, thresholds: list[Fraction], alphas: list[Fraction]) -> Floats:
    """1 - delta(l) - e^l alpha, from 1 - delta(l) for small alpha and from delta(-l) for large ones."""
    level = np.array([float(t) for t in thresholds])
    asked = np.array([float(a) for a in alphas])
    kept = np.array([float(1 - a) for a in alphas])
    above = np.array([_is_above(t, a) for t, a in zip(thresholds, alphas, strict=True)])
    result = np.zeros(len(thresholds))
    if above.any():
        logs = log_tails(Kind.REST, [t for t, up in zip(thresholds, above, strict=True) if up])
        result[above] = np.exp(logs) - np.exp(level[above]) * asked[above]
    if not above.all():
        logs = log_tails(Kind.DELTA, [-t for t, up in zip(thresholds, above, strict=True) if not up])
        result[~above] = np.exp(level[~above]) * (kept[~above] - np.exp(logs))
    return result


def lowest_heights(
    account: Account, thresholds: list[Fraction], alphas: list[Fraction]
) -> list[tuple[float, Any]]:
    """The least height of all cases at each threshold, and its case: that of the largest delta."""
    found: list[tuple[float, Any]] = [(0.0, account.main)] * len(thresholds)
    above = [_is_above(t, a) for t, a in zip(thresholds, alphas, strict=True)]
    for kind, chosen in ((Kind.REST, True), (Kind.DELTA, False)):
        places = [k for k, up in enumerate(above) if up is chosen]
        extremes = account.extremes(kind, [thresholds[k] if chosen else -thresholds[k] for k in places])
        for k, (log, label, _) in zip(places, extremes, strict=True):
            level = math.exp(thresholds[k])
            if chosen:
                found[k] = (math.exp(log) - level * float(alphas[k]), label)
            else:
                found[k] = (level * (float(1 - alphas[k]) - math.exp(log)), label)
    return found


def _is_above(threshold: Fraction, alpha: Fraction) -> bool:
    """Whether a height is better had from 1 - delta(l) than from delta(-l)."""
    return threshold >= 0 or 2 * alpha < 1
