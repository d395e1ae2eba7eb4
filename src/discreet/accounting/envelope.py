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
from discreet.accounting.parallel import map_cases
from discreet.accounting.privacy_loss import compose
from discreet.accounting.saddle import Kind
from discreet.budget.events import Event

if TYPE_CHECKING:
    from discreet.accounting.overall import Account

_SETTLED = 1e-12
_MOST_ROUNDS = 8
_NEWCOMERS = 3


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
    inner = [i for i, a in enumerate(alphas) if 0 < a < 1]
    if not inner:
        return points
    asked = [alphas[i] for i in inner]
    subsets: list[list[Any]] = [[account.main] for _ in inner]
    open_ = list(range(len(inner)))
    found: list[EnvelopePoint | None] = [None] * len(inner)
    for _ in range(_MOST_ROUNDS):
        for k in open_:
            found[k] = _on_subset(account, asked[k], subsets[k])
        thresholds = [found[k].threshold for k in open_]  # type: ignore[union-attr]
        heights_ = _heights(account, thresholds, [asked[k] for k in open_])
        still = []
        for column, k in enumerate(open_):
            point = found[k]
            assert point is not None
            column_heights = heights_[:, column]
            lower = [
                account.cases[i][0]
                for i in np.argsort(column_heights)[:_NEWCOMERS]
                if column_heights[i] < point.beta * (1 - _SETTLED)
            ]
            fresh = [label for label in lower if label not in subsets[k]]
            if fresh:
                subsets[k] += fresh
                still.append(k)
        open_ = still
        if not open_:
            break
    for k, i in enumerate(inner):
        point = found[k]
        assert point is not None
        points[i] = point
    return points


def _on_subset(account: Account, alpha: Fraction, labels: list[Any]) -> EnvelopePoint:
    """The envelope over a few cases: the best line of one of them, or the one where two of them meet."""
    losses = {label: account.case(label) for label in labels}
    starts = {label: losses[label].tradeoff_thresholds([alpha])[0] for label in labels}

    def lowest(threshold: Fraction) -> tuple[float, Any]:
        return min((height(losses[label].log_tails, threshold, alpha), label) for label in labels)

    # at its own threshold a case attains its own f; if no other is lower there, that is the supremum
    best, other = (-1.0, Fraction(0), labels[0]), labels[0]
    for label, threshold in starts.items():
        value, at = lowest(threshold)
        best = max(best, (value, threshold, at))
        if at == label:
            return EnvelopePoint(alpha, value, threshold, label)
    # otherwise two cases cross between their thresholds: bisect towards where they meet
    _, threshold, other = best
    low, high = sorted((threshold, starts[other]))
    rising = lowest(low)[1]
    for _ in range(30):
        if float(high - low) <= 1e-9 * (1 + abs(float(high))):
            break
        middle = Fraction(float((low + high) / 2))
        value, at = lowest(middle)
        best = max(best, (value, middle, at))
        low, high = (middle, high) if at == rising else (low, middle)
    return EnvelopePoint(alpha, best[0], best[1], best[2])


def height(
    log_tails: Callable[[Kind, list[Fraction]], Floats], threshold: Fraction, alpha: Fraction
) -> float:
    """1 - delta(l) - e^l alpha of one case, without cancellation on either side of alpha = 1/2."""
    return float(heights(log_tails, [threshold], [alpha])[0])


def heights(
    log_tails: Callable[[Kind, list[Fraction]], Floats], thresholds: list[Fraction], alphas: list[Fraction]
) -> Floats:
    """The same for many: from 1 - delta(l) for small alpha, from delta(-l) for large."""
    result = np.zeros(len(thresholds))
    above = [
        i for i, (t, a) in enumerate(zip(thresholds, alphas, strict=True)) if t >= 0 or a < Fraction(1, 2)
    ]
    below = [i for i in range(len(thresholds)) if i not in set(above)]
    if above:
        logs = log_tails(Kind.REST, [thresholds[i] for i in above])
        for i, log in zip(above, logs, strict=True):
            result[i] = math.exp(log) - math.exp(float(thresholds[i])) * float(alphas[i])
    if below:
        logs = log_tails(Kind.DELTA, [-thresholds[i] for i in below])
        for i, log in zip(below, logs, strict=True):
            result[i] = math.exp(float(thresholds[i])) * (float(1 - alphas[i]) - math.exp(log))
    return result


def _heights(account: Account, thresholds: list[Fraction], alphas: list[Fraction]) -> Floats:
    """Heights of all cases (rows) at each threshold."""
    if len(account.cases) < 64:
        return np.array(
            [heights(account.case(label).log_tails, thresholds, alphas) for label, _ in account.cases]
        )
    tasks = [(events, thresholds, alphas) for _, events in account.cases]
    return np.array(map_cases(_heights_of_case, tasks, jobs=account.jobs, progress=account.progress))


def _heights_of_case(task: tuple[tuple[Event, ...], list[Fraction], list[Fraction]]) -> Floats:
    events, thresholds, alphas = task
    return heights(compose(events).log_tails, thresholds, alphas)
