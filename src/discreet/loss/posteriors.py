"""The mean posterior of a target who is present, from the privacy loss L of noise on lattices.

The prior is p, and t = log((1 - p) / p). The mean posterior is E[g(L - t)], g(y) = 1 / (1 + e^-y). By
Mellin's inversion

    E[g(L - t)] = 1/(2 pi) integral over y of  pi / sin(pi z) e^(-z t) E[e^(z L)],   z = a + iy,  0 < a < 1,

whose integrand falls as e^(-pi |y|) for every law, lattice or not. To the left of the pole at 0 the integral
is less by 1, to the right of that at 1 by e^-t E[e^L]; the line is laid where the integrand is small, so
that no digits cancel. The trapezoidal rule of step 2 pi / D adds the values at L + D, L - D, L + 2 D, ...,
which together are below e^-40 relatively (`_period` has the bounds).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.errors import PrecisionError
from discreet.loss.cases import GroupedCases
from discreet.loss.lattice import Floats, Loss, TiltedTransform
from discreet.noise import Noise
from discreet.noise.capabilities import require

_NATS = 40.0
_HEIGHT = 14.0  # where e^(-pi y) is below 1e-19
_ENTRIES = 4_000_000


def logistic(log_odds: Floats) -> Floats:
    """Return the chance that log odds stand for.

    >>> logistic(np.array([-800.0, 0.0, 800.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    with np.errstate(under="ignore"):
        rare = np.exp(-np.abs(log_odds))
        return np.asarray(np.where(log_odds >= 0, 1.0, rare) / (1.0 + rare))


def mean_posteriors(cases: GroupedCases | Sequence[Sequence[Noise]], priors: Sequence[Fraction]) -> Floats:
    """Return the mean posterior of a target who is present: a row for each case, a column for each prior.

    Relative error: some 1e-12. See the head of this module.

    >>> from discreet.noise import DiscreteGaussian
    >>> mean_posteriors([[DiscreteGaussian(variance=5)]], [Fraction(1, 2), Fraction(1, 5)]).round(12).tolist()
    [[0.523842579115, 0.225620914562]]
    """
    kinds, times = _times(cases)
    require("posterior", kinds)
    losses = [Loss([event]) for event in kinds]
    means = np.empty((len(cases), len(priors)))
    with np.errstate(all="ignore"):
        for column, prior in enumerate(priors):
            odds = math.log(1 - prior) - math.log(prior)
            lines = _lines(losses, times, odds)
            for line in np.unique(lines):
                rows = np.flatnonzero(lines == line)
                used = np.flatnonzero(times[rows].any(axis=0))
                means[rows, column] = _on_line(
                    float(line), [losses[i] for i in used], times[np.ix_(rows, used)], odds
                )
    if not np.isfinite(means).all():
        raise PrecisionError(
            "the mean posterior is beyond what floating point can follow here: some noise is next to none"
        )
    return np.clip(means, 0.0, 1.0)


def _times(cases: GroupedCases | Sequence[Sequence[Noise]]) -> tuple[tuple[Noise, ...], Floats]:
    """The kinds of events, and how often each occurs: a row for each case."""
    if isinstance(cases, GroupedCases):
        lists = [events for group in cases.groups for events in group.events]
    else:
        lists = [tuple(events) for events in cases]
    kinds = {event.key: event.repeated(1) for events in lists for event in events}
    columns = {key: column for column, key in enumerate(kinds)}
    times = np.zeros((len(lists), len(kinds)))
    for row, events in enumerate(lists):
        for event in events:
            times[row, columns[event.key]] += event.times
    if not isinstance(cases, GroupedCases):
        return tuple(kinds.values()), times
    # a case has the events of its paths, in the order of the cases
    total, start = np.zeros((1, len(kinds))), 0
    for group in cases.groups:
        own = times[start : start + len(group.events)]
        start += len(group.events)
        if cases.paired:
            first, second = np.triu_indices(len(group.events))
            own = own[first] + own[second]
        total = (total[:, None] + own[None]).reshape(-1, len(kinds))
    return tuple(kinds.values()), total


def _lines(losses: Sequence[Loss], times: Floats, odds: float) -> Floats:
    """For each case the a of a line on which neither the integrand nor what a pole adds is large."""
    spread = times @ np.array(
        [max(loss.tilted_moments(tilt)[1] for tilt in (-1.0, 0.0, 1.0)) for loss in losses]
    )
    # lines a 16th apart, or less where the integrand varies faster than that
    parts = 2.0 ** np.clip(np.ceil(np.log2(np.sqrt(np.maximum(spread, 1.0)))), 4, 12)
    sums = np.empty(len(times))
    for count in np.unique(parts):
        rows = np.flatnonzero(parts == count)
        inner = np.arange(1, int(count)) / count
        tilts = np.concatenate([inner - 1.0, inner, inner + 1.0, [1.0]])
        logs = times[rows] @ np.array([loss.log_mgf(tilts) for loss in losses])
        first = logs[:, -1] - odds
        strips = (logs[:, :-1] - tilts[:-1] * odds).reshape(len(rows), 3, -1)
        strips = strips - np.log(np.sin(np.pi * inner))
        best = strips.min(axis=2)
        size = np.stack([np.maximum(best[:, 0], 0.0), best[:, 1], np.maximum(best[:, 2], first)], axis=1)
        strip = size.argmin(axis=1)
        sums[rows] = strip - 1.0 + inner[strips[np.arange(len(rows)), strip].argmin(axis=1)]
    return sums


def _on_line(a: float, losses: Sequence[Loss], times: Floats, odds: float) -> Floats:
    """The mean posterior of some cases, by the integral along Re z = a."""
    strip = math.floor(a)
    ends = np.array([loss.log_mgf(np.array([a, 1.0, 2.0])) for loss in losses])
    here, first, second = (times @ ends).T
    size = here - a * odds + math.log(math.pi / abs(math.sin(math.pi * a)))
    period = math.ceil(max(_period(a, strip, odds, *logs) for logs in zip(size, first, second, strict=True)))
    transforms = [TiltedTransform(loss, a) for loss in losses]
    total = np.zeros(len(times))
    last = math.ceil(_HEIGHT * period / (2 * math.pi))
    width = max(16, _ENTRIES // max(len(losses), len(times)))
    for start in range(0, last + 1, width):
        nodes = np.arange(start, min(start + width, last + 1))
        y = (2 * math.pi / period) * nodes
        logs = np.array([t.log(nodes, Fraction(period)) + 1j * (float(t.centre) * y) for t in transforms])
        kernel = math.pi / np.sin(math.pi * (a + 1j * y)) * np.exp(-1j * odds * y)
        values = (np.exp(times @ logs) * kernel).real
        total += 2.0 * values.sum(axis=1) - (values[:, 0] if start == 0 else 0.0)
    integral = np.exp(here - a * odds) * total / period
    if strip == 0:
        return np.asarray(integral)
    return np.asarray(integral + (1.0 if strip == -1 else np.exp(first - odds)))


def _period(a: float, strip: int, odds: float, size: float, first: float, second: float) -> float:
    """How long the period must be that shifted arguments add less than e^-40 to the result.

    A shift by m periods D multiplies by e^(-a m D). Right of 0 the function is at most 1 and at most e^y, so
    shifts add at most e^(-a D) and E[e^L] e^(-t - (1 - a) D); left of 0 likewise, with E[e^-L] = 1; right of
    1 what remains is at most e^y and at most e^(2 y).
    """
    if strip == -1:
        return max(_NATS / -a, (_NATS + odds) / (1.0 + a))
    if strip == 0:
        return max((_NATS - size) / a, (_NATS + first - odds - size) / (1.0 - a))
    return max(_NATS / (a - 1.0), (_NATS + second - odds - first) / (2.0 - a))
