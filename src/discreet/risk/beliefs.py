"""The belief in a target who is present, from the privacy loss L: its mean and its quantiles.

The prior is p, and t = log((1 - p) / p).

*Mean posterior* of a target who is present: E[g(L - t)], g(y) = 1 / (1 + e^-y). By Mellin's inversion

    E[g(L - t)] = 1/(2 pi) integral over y of  pi / sin(pi z) e^(-z t) E[e^(z L)],   z = a + iy,  0 < a < 1,

whose integrand falls as e^(-pi |y|) for every law, lattice or not. To the left of the pole at 0 the integral
is less by 1, to the right of that at 1 by e^-t E[e^L]; the line is laid where the integrand is small, so
that no digits cancel. The trapezoidal rule of step 2 pi / D adds the values at L + D, L - D, L + 2 D, ...,
which together are below e^-40 relatively (`_period` has the bounds).

*Quantiles* of the posterior are those of L, found from its exact tails and moved to the point of its lattice.
Where the lattice is too fine, tails are differences of delta, or those of a grid (`GridTails`), which are off
by a few hundred-thousandths of a standard deviation. Of a whole release each is the largest of any case,
which bounds them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.accounting.contour import Kind, Quadrature
from discreet.accounting.grids import Grid, GridTails
from discreet.accounting.loss import Loss, TiltedTransform
from discreet.accounting.overall import Account
from discreet.accounting.privacy_loss import PrivacyLoss
from discreet.budget.neighbours import Cases
from discreet.errors import PrecisionError
from discreet.noise import Noise
from discreet.risk.odds import Floats

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the posterior of a target who is present: half of such targets have at most the middle one."""

_NATS = 40.0
_HEIGHT = 14.0  # where e^(-pi y) is below 1e-19
_ENTRIES = 4_000_000
_FEW = 16  # cases whose tails are all asked for
_MANY = 2000  # cases of which tails are bounded, not computed
_NEAR = np.array([-0.03, -0.001, 0.001, 0.03])


def loss_quantiles(loss: PrivacyLoss, chances: Sequence[float] = QUANTILES) -> Floats:
    """Return quantiles of the loss with the target present: points of its lattice, or 1e-9 deviations off.

    Of a loss that has no usable lattice and is not smooth they are bounds, at most 1e-3 deviations above.

    >>> from discreet.accounting.privacy_loss import compose
    >>> from discreet.budget import DiscreteLaplace
    >>> loss_quantiles(compose([DiscreteLaplace(scale=1, times=2)])).tolist()
    [-2.0, 0.0, 2.0, 2.0, 2.0]
    """
    above = 1.0 - np.array(chances)
    if _is_fine(loss):
        return _fine_quantiles(loss, above)
    deviation, lattice, offset = math.sqrt(loss.variance), loss.workings.loss.step, loss.workings.loss.offset
    # Cantelli: beyond k standard deviations on one side lies at most 1 / (1 + k^2)
    reach = 1.001 * deviation * np.sqrt(1.0 / np.minimum(above, 1.0 - above).min() - 1.0) + 1e-9
    points, tails = loss.mean + np.array([-reach, reach]), np.array([1.0, 0.0])
    enough = max(1e-9 * deviation + 4e-16 * abs(loss.mean), 0.9 * float(lattice))
    asked = loss.mean + deviation * np.linspace(-2.6, 2.6, 14)
    while asked.size:  # few rounds of several points: tails asked for together share their work
        points, tails = np.append(points, asked), np.append(tails, _exact_tails(loss, asked))
        order = np.argsort(points)
        points, tails = points[order], tails[order]
        place = np.maximum((tails <= above[:, None] + 1e-15).argmax(axis=1), 1)
        low, high = points[place - 1], points[place]
        # the middle, and points close to where a smooth tail would have the value
        share = (tails[place - 1] - above) / np.maximum(tails[place - 1] - tails[place], 1e-300)
        steps = np.append(np.clip(share[:, None] + _NEAR, 0.0, 1.0), np.full((share.size, 1), 0.5), axis=1)
        open_ = high - low > enough
        asked = np.unique((low[:, None] + (high - low)[:, None] * steps)[open_])
        asked = asked[~np.isin(asked, points)]
    found = []
    for left, right in zip(low.tolist(), high.tolist(), strict=True):
        point = offset + lattice * math.floor((Fraction(right) - offset) / lattice)
        found.append(float(point) if point >= Fraction(left) else right)
    return np.maximum.accumulate(found)


def worst_quantiles(whole: Account) -> Floats:
    """Return for each chance the largest quantile of any case: all of them have at most that.

    From the main case upwards: whichever case has the largest tail beyond its quantiles is solved next, until
    none has too large a one. Where tails are smooth but for a lattice too fine to be seen in them, the result
    lies above the largest quantile by at most a step of it; with many cases that are not smooth, by at most a
    thousandth of a standard deviation of the loss.
    """
    if whole.together is None:
        return np.asarray(np.max([loss_quantiles(whole.case(label)) for label, _ in whole.cases], axis=0))
    above, asked = 1.0 - np.array(QUANTILES), {whole.main}
    found = loss_quantiles(whole.case(whole.main))
    step = _largest_step(whole)
    while True:
        tails, room = _tails_of_all(whole, found + 1e-9 * (1.0 + np.abs(found)), step)  # just beyond an atom
        larger = {whole.label(int(k)) for k in tails.argmax(axis=0)[tails.max(axis=0) > above + 4e-9]}
        if not larger - asked:
            return found + room
        for label in larger - asked:
            found = np.maximum(found, loss_quantiles(whole.case(label)))
        asked |= larger


def _largest_step(whole: Account) -> float:
    """A bound on the step of the lattice of any case: that of a path in it is no finer than its own."""
    if not isinstance(whole.cases, Cases):
        return max(float(Loss(events).step) for _, events in whole.cases)
    return min(max(float(Loss(events).step) for events in group.events) for group in whole.cases.groups)


def _tails_of_all(whole: Account, points: Floats, step: float) -> tuple[Floats, float]:
    """P[L > t] with the target, a row for each case, and by how much t may be off."""
    together = whole.together
    assert together is not None

    def deltas(at: Floats) -> Floats:
        found = np.empty((whole.pairs, at.size))
        for scan in together.scan(Kind.DELTA, [Fraction(abs(t)) for t in at]):
            t = float(at[scan.threshold])
            values = scan.value * math.exp(scan.exponent)
            found[:, scan.threshold] = values if t >= 0 else -math.expm1(t) + math.exp(t) * values
        return found

    is_smooth = together.lattice is None and whole.pairs <= _MANY
    smooth = _differences(deltas, points, together.spread) if is_smooth else None
    if smooth is None and whole.pairs > _FEW:
        # delta is convex: its fall over h is at least h times the slope at the end, e^t P0[L > t]
        h = 1e-3 * together.spread
        before, after = deltas(points), deltas(points + h)
        return after + (before - after) / h, h
    if smooth is None:
        return 1.0 - np.asarray(whole.errors(threshold=points.tolist())[1]), 0.0
    return smooth[0], step


def loss_tails(loss: PrivacyLoss, points: Floats, *, null: bool = False) -> Floats:
    """Return P[L > t] with the target, or without; where only bounds are quick, the upper one.

    >>> from discreet.accounting.privacy_loss import compose
    >>> from discreet.budget import DiscreteLaplace
    >>> loss_tails(compose([DiscreteLaplace(scale=1)]), np.array([0.0])).round(4).tolist()
    [0.7311]
    """
    if _is_fine(loss):
        return _fine_tails(loss, points)[1 if null else 0]
    return _exact_tails(loss, points, null=null)


def both_tails(loss: PrivacyLoss, points: Floats) -> tuple[Floats, Floats]:
    """Return P[L > t] with the target and without, which share much of their work."""
    if _is_fine(loss):
        return _fine_tails(loss, points)
    return _exact_tails(loss, points), _exact_tails(loss, points, null=True)


def _fine_tails(loss: PrivacyLoss, points: Floats) -> tuple[Floats, Floats]:
    smooth = _smooth_tails(loss, points)
    if smooth is not None:
        return smooth
    grid = _grid_tails(loss.events)
    return grid.at(points)[1], grid.at(points, null=True)[1]


def _is_fine(loss: PrivacyLoss) -> bool:
    """Whether a tail takes long: the lattice is too fine to be summed over."""
    engine = loss.workings.engine
    is_cut = isinstance(engine, Quadrature) and engine.remainder > 0
    is_fine = is_cut and float(loss.workings.loss.step) < 1e-6 * math.sqrt(loss.variance)
    return is_fine or isinstance(engine, Grid)


def _exact_tails(loss: PrivacyLoss, points: Floats, *, null: bool = False) -> Floats:
    exact = [Fraction(point) for point in points]
    return np.asarray(loss.tail(above=exact, under="null" if null else "alternative"))


def _smooth_tails(loss: PrivacyLoss, points: Floats) -> tuple[Floats, Floats] | None:
    """P[L > t] with the target and without, of a law that is smooth but for its lattice, from delta."""
    if isinstance(loss.workings.engine, Grid):
        return None  # delta is not known well enough
    return _differences(lambda at: np.asarray(loss.delta(epsilon=at)), points, math.sqrt(loss.variance))


def _fine_quantiles(loss: PrivacyLoss, above: Floats) -> Floats:
    """Quantiles by a grid, and between its bounds by the smooth tail, which is straight so close."""
    grid = _grid_tails(loss.events)
    high = grid.quantiles(1.0 - above)
    low = high - 3.0 * grid.apart
    ends = _smooth_tails(loss, np.append(low, high))
    if ends is None:
        return high
    first, last = np.split(ends[0], 2)
    share = np.clip((first - above) / np.maximum(first - last, 1e-300), 0.0, 1.0)
    return np.maximum.accumulate(low + share * (high - low))


@lru_cache(maxsize=2)
def _grid_tails(events: tuple[Noise, ...]) -> GridTails:
    """The tails of a loss on a grid, kept: quantiles and single tails are asked for in turn."""
    return GridTails.of(Loss(events))


def _differences(
    delta: Callable[[Floats], Floats], points: Floats, deviation: float
) -> tuple[Floats, Floats] | None:
    """P[L > t] with the target and without, from delta alone; None where that does not do.

    By delta(t) = P1[L > t] - e^t P0[L > t], whose slope is -e^t P0[L > t]: where the points of the lattice
    are too close to matter, and the line of integration is cut off rather than summed to its end, differences
    of delta give the tails to 1e-9, many times faster than the tails themselves come. Differences over two
    distances that disagree say that the law is not as smooth as that.
    """
    h = 3e-3 * deviation
    steps = np.array([-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0])
    around = delta((points + h * steps[:, None]).ravel())
    a, b, c, d, e, f, g = np.moveaxis(around.reshape(*around.shape[:-1], 7, -1), -2, 0)
    slope, wider = (b - 8 * c + 8 * e - f) / (12 * h), (a - 8 * b + 8 * f - g) / (24 * h)
    if not np.abs(slope - wider).max() < 2e-9:
        return None
    return np.clip(d - slope, 0.0, 1.0), np.clip(-slope * np.exp(-points), 0.0, 1.0)


def mean_posteriors(cases: Cases | Sequence[Sequence[Noise]], priors: Sequence[Fraction]) -> Floats:
    """Return the mean posterior of a target who is present: a row for each case, a column for each prior.

    Relative error: some 1e-12. See the head of this module.

    >>> from discreet.budget import DiscreteGaussian
    >>> mean_posteriors([[DiscreteGaussian(variance=5)]], [Fraction(1, 2), Fraction(1, 5)]).round(12).tolist()
    [[0.523842579115, 0.225620914562]]
    """
    kinds, times = _times(cases)
    losses = [Loss([event]) for event in kinds]
    found = np.empty((len(cases), len(priors)))
    with np.errstate(all="ignore"):
        for column, prior in enumerate(priors):
            odds = math.log(1 - prior) - math.log(prior)
            lines = _lines(losses, times, odds)
            for line in np.unique(lines):
                rows = np.flatnonzero(lines == line)
                used = np.flatnonzero(times[rows].any(axis=0))
                found[rows, column] = _on_line(
                    float(line), [losses[i] for i in used], times[np.ix_(rows, used)], odds
                )
    if not np.isfinite(found).all():
        raise PrecisionError(
            "the mean posterior is beyond what floating point can follow here: some noise is next to none"
        )
    return np.clip(found, 0.0, 1.0)


def _times(cases: Cases | Sequence[Sequence[Noise]]) -> tuple[tuple[Noise, ...], Floats]:
    """The kinds of events, and how often each occurs: a row for each case."""
    if isinstance(cases, Cases):
        lists = [events for group in cases.groups for events in group.events]
    else:
        lists = [tuple(events) for events in cases]
    kinds = {event.key: event.repeated(1) for events in lists for event in events}
    place = {key: column for column, key in enumerate(kinds)}
    times = np.zeros((len(lists), len(kinds)))
    for row, events in enumerate(lists):
        for event in events:
            times[row, place[event.key]] += event.times
    if not isinstance(cases, Cases):
        return tuple(kinds.values()), times
    # a case has the events of its paths, in the order of the cases
    total, start = np.zeros((1, len(kinds))), 0
    for group in cases.groups:
        own = times[start : start + len(group)]
        start += len(group)
        if cases.paired:
            first, second = np.triu_indices(len(group))
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
    found = np.empty(len(times))
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
        found[rows] = strip - 1.0 + inner[strips[np.arange(len(rows)), strip].argmin(axis=1)]
    return found


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
