"""Laws of errors: quantiles of sums of weighted integer noises, rounded to the safe side.

The error of an estimate is E = sum of w N over independent symmetric integer noises N. Its transform is the
product of theirs, and gives P(|E| <= x), exactly up to rounding, in two ways.

*On a lattice.* If all weights are multiples of some d (two queries of equal variance: 2/3, 1/3, 1/3), so is
E, and one Fourier transform gives its law. Otherwise d is chosen so that all weights are nearly multiples.
The remainder D = sum of (w - p d) N is small; its bound is added to the half-width.

*With a Gaussian.* Many fine terms are Gaussian together: either their weights are negligible (NEGLIGIBLE
standard deviations of E; half of the largest is added to the half-width), or the terms finer still have a
standard deviation of SMOOTH times the weight, so that every image of the noise's lattice in the frequencies
is below 1e-6. The other terms keep their own law. If there are none, E is Gaussian. Terms that are normal
themselves have no lattice: they are part of the Gaussian whatever their weights, and hide finer and coarser
weights alike.

Any probability left out is added to the level, so that P(|E| <= half-width) >= level holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.areas.tree import Floats, Integers
from discreet.estimation.normal import Law, Normal, all_normal
from discreet.noise import Noise
from discreet.noise.capabilities import require
from discreet.noise.distribution import Traits

_SMOOTH = 1.7
"""Finer terms hide a weight if their standard deviation is this many weights: e^-(1.7 pi)^2/2 is 6e-7."""
NEGLIGIBLE = 1 / 300
"""Weights up to this many standard deviations of the error are negligible; half of it is added to a width."""
SETTLED = 1e-3
"""Errors are settled if no lattice with a wider step, in standard deviations, can show."""
_PEAKED = 1e-3
"""Excess kurtosis up to which a sum of terms is taken as Gaussian: coverage changes by 1e-5."""
_LEFT_OUT = 1e-5
"""Probability added to a level if part of an error is taken as Gaussian."""
_NATS = 14.0
"""A remainder exceeds its bound with probability at most 2 e^-14, less than what is added to the level."""
_CLOSE = 1e-7
"""The tolerance in the level of a quantile."""
_SURE = 22.0
"""The same for the end of a law: 2 e^-22 is 6e-10."""
ROUNDING = 1e-8
"""The largest remainder, in standard deviations, of weights that are multiples of a step up to rounding."""
FEW, MOST_OUTCOMES = 4, 20_000
"""The most noises, and the most outcomes of them, that are enumerated."""
_MOST_POINTS = 1 << 16
"""The most points of a lattice on each side of zero."""
_MOST_STEPS = 4096
"""The most steps of a lattice tried within one weight."""
_WIDER = 5e-3
"""A remainder of at most this many standard deviations is small enough."""
AT_ONCE = 1 << 20
"""Numbers held in memory at once."""


@lru_cache(maxsize=4096)
def traits(law: Law) -> Traits:
    """Return the properties of a noise."""
    _check(law)
    return law.traits()


def transform(law: Law, angle: Floats) -> Floats:
    """Return E cos(angle N) of noise N; it is positive.

    >>> from discreet.noise import DiscreteGaussian
    >>> transform(DiscreteGaussian(variance=1), np.array([0.0, 1.0])).round(6).tolist()
    [1.0, 0.606532]
    """
    _check(law)
    return law.transform(angle)


def _check(law: Law) -> None:
    """Refuse noise of which no estimates can be made."""
    if not law.is_estimated and isinstance(law, Noise):
        require("estimates", [law])


Part = tuple[Integers, Floats, Law, Floats | float]
"""Entries of one law: rows of the errors, weights, the law, and multiplicities."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The noises in many errors; each entry has the row of the error, a weight, a law and a multiplicity.

    Entries of one row need not be adjacent.
    """

    row: Integers
    weight: Floats
    law: Integers
    times: Floats
    laws: tuple[Law, ...]

    @classmethod
    def of(cls, parts: Sequence[Part]) -> Terms:
        """Collect entries given as rows, weights, their law and multiplicities."""
        laws = tuple(dict.fromkeys(law for _, _, law, _ in parts))
        position_of = {law: code for code, law in enumerate(laws)}
        columns = [
            (rows, np.abs(weights), np.full(len(rows), position_of[law]), np.broadcast_to(times, rows.shape))
            for rows, weights, law, times in parts
        ] or [(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0))]
        row, weight, code, times = (np.concatenate(column) for column in zip(*columns, strict=True))
        return cls(row, weight, code, times.astype(np.float64), laws)

    @classmethod
    def together(cls, some: Sequence[Terms]) -> Terms:
        """Join the entries of several."""
        if some and all(terms.laws is some[0].laws for terms in some):
            columns = zip(*((terms.row, terms.weight, terms.law, terms.times) for terms in some), strict=True)
            row, weight, law, times = (np.concatenate(column) for column in columns)
            return cls(row, weight, law, times, some[0].laws)
        return cls.of([part for terms in some for part in terms.parts])

    @property
    def parts(self) -> list[Part]:
        """The entries, law by law."""
        entries: list[Part] = []
        for code, law in enumerate(self.laws):
            its = np.flatnonzero(self.law == code)
            entries.append((self.row[its], self.weight[its], law, self.times[its]))
        return entries

    def picked(self, rows: Integers, new: Integers, scale: Floats) -> Terms:
        """Return the entries of some rows under new row numbers, with their weights scaled."""
        order = np.argsort(self.row, kind="stable")
        begin, end = (np.searchsorted(self.row[order], rows, side=side) for side in ("left", "right"))
        many = end - begin
        which = order[np.repeat(begin - np.cumsum(many) + many, many) + np.arange(many.sum())]
        picked = self.some(which)
        return Terms(
            np.repeat(new, many), picked.weight * np.repeat(scale, many), picked.law, picked.times, self.laws
        )

    def some(self, which: Integers) -> Terms:
        """Return some of the entries."""
        return Terms(self.row[which], self.weight[which], self.law[which], self.times[which], self.laws)


class Errors:
    """Errors with these variances, as sums of the listed terms. Terms that are not listed have weights of at
    most `unlisted`, or negligible ones; a law they may have is listed, possibly without an entry.

    Terms are sorted into bins by weight, so that fine ones need not be kept. An error is `settled` if the
    listed terms make it Gaussian, whatever the others are: they hide every step up to `unlisted`, except
    the finest.

    >>> from discreet.noise import DiscreteGaussian
    >>> law = DiscreteGaussian(variance=1)
    >>> terms = Terms.of([(np.array([0, 1, 1]), np.array([1.0, 2 / 3, 1 / 3]), law, np.array([1, 1, 2]))])
    >>> errors = Errors(law.true_variance() * np.array([1, 2 / 3]), [terms])
    >>> errors.half_widths(0.9).round(4).tolist()
    [2.0, 1.3333]
    """

    def __init__(self, variances: Floats, listed: Iterable[Terms], unlisted: Floats | None = None) -> None:
        self._size = np.sqrt(np.maximum(variances, 0.0))
        self._kept: tuple[Integers, Floats, Floats, Floats, Floats] | None = None
        rows = len(variances)
        whole, smooth, peaks = np.zeros(rows), np.zeros(rows * _BINS), np.zeros(rows * _BINS)
        normal, seen = np.zeros(rows), list[Law]()
        kept: list[Terms] = []
        least, peak, share = np.inf, 0.0, 0.8
        with np.errstate(divide="ignore"):
            scale = np.where(self._size > 0, 1 / self._size, 0.0)
        laws: tuple[Law, ...] | None = None
        for terms in listed:
            if terms.laws is not laws:
                laws, known = terms.laws, _columns(terms.laws)
                seen += laws
            law = terms.law
            least = min(least, known.variance[~known.normal].min(initial=np.inf))
            peak = max(peak, (known.fourth / known.variance).max(initial=0.0))
            share = min(share, (known.smooth / known.variance).min(initial=1.0))
            if not law.size:
                kept.append(terms)
                continue
            relative = terms.weight * scale[terms.row]
            square = terms.times * relative**2
            shares = square * known.variance[law]
            whole += np.bincount(terms.row, weights=shares, minlength=rows)
            if known.normal.any():
                mine = known.normal[law]
                normal += np.bincount(terms.row, weights=shares * mine, minlength=rows)
                terms = terms.some(np.flatnonzero(~mine))
                law, relative, square = terms.law, relative[~mine], square[~mine]
            position = terms.row * _BINS + _bin(relative)
            smooth += np.bincount(position, weights=square * known.smooth[law], minlength=rows * _BINS)
            fourth = square * relative**2 * known.fourth[law]
            if known.fourth.any():
                peaks += np.bincount(position, weights=fourth, minlength=rows * _BINS)
            kept.append(terms.some(np.flatnonzero((relative > NEGLIGIBLE) | (fourth > _PEAKED**2))))
        rest = np.where((whole < 1 - 1e-9) & (self._size > 0), 1 - whole, 0.0)
        bound = np.full(rows, NEGLIGIBLE) if unlisted is None else unlisted * scale
        if least < np.inf:
            bound = np.minimum(bound, np.sqrt(rest / least))
        if all_normal(seen):
            normal, rest = normal + rest, np.zeros(rows)
        self._normal, self._pure = normal, normal >= 1 - 1e-9
        by_bin = smooth.reshape(rows, _BINS), peaks.reshape(rows, _BINS)
        calm = by_bin[1].sum(axis=1) + rest * bound**2 * peak <= _PEAKED
        self._divide(*by_bin, (rest, share * rest, bound), Terms.together(kept), calm)

    def _divide(
        self,
        smooth: Floats,
        peaks: Floats,
        unlisted: tuple[Floats, Floats, Floats],
        kept: Terms,
        calm: NDArray[np.bool_],
    ) -> None:
        """Find the terms that keep their own law, and the step of the finest lattice that is not hidden.

        Bins are examined from the finest upwards. Terms that are not listed take part with their variance,
        a lower bound on their smoothness, and the bound on their weights."""
        rest, least, bound = unlisted
        every = np.arange(len(rest))
        other = _bin(bound)
        smooth[every, other] += least
        finer = np.cumsum(smooth, axis=1) - smooth + self._normal[:, None]
        hidden = finer >= (_SMOOTH * _EDGES) ** 2
        # unlisted terms cannot be coarse, whatever their bound
        full = (smooth > 0) & ((rest == 0)[:, None] | (np.arange(_BINS) != other[:, None]))
        bad = full & ~((hidden | (_EDGES <= NEGLIGIBLE * 1.2)) & (np.cumsum(peaks, axis=1) <= _PEAKED))
        first = np.where(bad.any(axis=1), np.argmax(bad, axis=1), _BINS)
        shown = (smooth > 0) & ~hidden & (np.arange(_BINS) < first[:, None])
        lattice = np.where(shown.any(axis=1), _EDGES[_BINS - 1 - np.argmax(shown[:, ::-1], axis=1)], 0.0)
        lattice = np.where(~hidden[every, other] & (rest > 0), np.maximum(lattice, bound), lattice)
        # unlisted terms may have any weight up to their bound
        doubtful = ~hidden & (np.arange(_BINS) <= other[:, None]) & (rest > 0)[:, None]
        doubt = np.where(doubtful.any(axis=1), _EDGES[_BINS - 1 - np.argmax(doubtful[:, ::-1], axis=1)], 0.0)
        self.settled = (first == _BINS) & calm & (np.maximum(lattice, doubt) <= SETTLED)
        seen = (smooth > 0) & ~hidden | doubtful
        self._coarsest = np.where(seen.any(axis=1), _EDGES[_BINS - 1 - np.argmax(seen[:, ::-1], axis=1)], 0.0)
        lattice = np.where(self.settled, np.maximum(lattice, doubt), lattice)
        self._lattice = lattice * self._size
        relative = kept.weight / np.where(self._size > 0, self._size, 1.0)[kept.row]
        coarse = np.flatnonzero((_bin(relative) >= first[kept.row]) & (relative > 0))
        self._terms = kept.some(coarse[np.argsort(kept.row[coarse], kind="stable")])
        self._known = _columns(kept.laws)
        parts = self._terms.times * self._terms.weight**2 * self._known.variance[self._terms.law]
        whole = self._size**2
        fine = whole - np.bincount(self._terms.row, weights=parts, minlength=len(rest))
        self._fine = np.sqrt(np.where(fine > 1e-9 * whole, fine, 0.0))

    def _quantiles(self, level: float) -> Floats:
        """Return half-widths of Gaussian errors in standard deviations; where all is normal, nothing is
        left out."""
        padded = normal_quantile(_padded(level, _LEFT_OUT))
        return np.where(self._pure, normal_quantile(level), padded)

    def settled_widths(self, level: float) -> Floats:
        """Return the half-widths of `settled` errors: Gaussian, whatever the unlisted terms are."""
        return self._quantiles(level) * self._size + self._lattice / 2

    def safe_widths(self, level: float) -> Floats:
        """Return half-widths that cover whatever law the weights not hidden by finer terms have: half of the
        largest of them is added."""
        return (safe_quantile(self._terms.laws, level) + self._coarsest / 2) * self._size

    def half_widths(self, level: float) -> Floats:
        """Return the w for which |error| <= w has probability at least `level`."""
        terms, known, fine = self._terms, self._known, self._fine
        rows = len(fine)
        half = np.zeros(rows)
        begin = np.searchsorted(terms.row, np.arange(rows + 1))
        many = np.diff(begin)
        plain = (many == 0) & (self._size > 0)
        half[plain] = (self._quantiles(level) * self._size)[plain]
        smoothed = (many > 0) & (fine >= 1e-3 * self._size)
        target = _padded(level, _LEFT_OUT)
        for at, t, phi, step, reach in self._series(np.flatnonzero(smoothed)):
            half[at] = _crossing(t, phi, step, reach, target)
        alike: dict[tuple[tuple[Law, float], ...], list[int]] = {}
        for row in np.flatnonzero((many > 0) & ~smoothed).tolist():
            mine = slice(begin[row], begin[row + 1])
            laws = [terms.laws[code] for code in terms.law[mine].tolist()]
            alike.setdefault(tuple(zip(laws, terms.times[mine].tolist(), strict=True)), []).append(row)
        for noises, some in alike.items():
            at = np.array(some)
            weights = terms.weight[begin[at][:, None] + np.arange(len(noises))]
            outcomes = _outcomes(noises) if len(noises) <= FEW else None
            if outcomes is not None:
                half[at] = _outcome_widths(weights, *outcomes, level) + math.sqrt(4 * _NATS) * fine[at]
                continue
            widths: dict[bytes, float] = {}
            for row, its in zip(some, weights, strict=True):
                key = np.round(np.append(its, fine[row]), 12).tobytes()
                if key not in widths:
                    entries = terms.some(np.arange(begin[row], begin[row + 1]))
                    widths[key] = _lattice_width(entries, float(fine[row]), known, level)
                half[row] = widths[key]
        return half + self._lattice / 2

    def _series(self, rows: Integers) -> Iterator[tuple[Integers, Floats, Floats, Floats, Floats]]:
        """Yield portions of the errors that are partly Gaussian, with frequencies t, the transform there,
        the step of t, and the reach.

        P(|E| <= x) is a Fourier series in x, with as many terms as the Gaussian lets through. If a single
        portion holds all errors, it is kept for other levels."""
        if not rows.size:
            return
        if self._kept is not None:
            yield self._kept
            return
        terms, fine = self._terms, self._fine
        reach = _reach(terms, self._known, _SURE, len(fine)) + math.sqrt(2 * _SURE) * fine
        step = math.pi / reach[rows]
        nodes = np.ceil(5.9 / (fine[rows] * step)).astype(np.int64)
        begin = np.searchsorted(terms.row, np.arange(len(fine) + 1))
        order = np.argsort(nodes, kind="stable")
        while order.size:
            wide = int(nodes[order[-1]])
            many = max(1, AT_ONCE // wide)
            some, order = order[-many:], order[:-many]
            at = rows[some]
            t = step[some, None] * np.arange(1, wide + 1)
            logs = -0.5 * (fine[at, None] * t) ** 2
            for number in range(int(np.max(begin[at + 1] - begin[at]))):
                mine = np.flatnonzero(begin[at] + number < begin[at + 1])
                entry = begin[at[mine]] + number
                for law in np.unique(terms.law[entry]).tolist():
                    of = terms.law[entry] == law
                    angle = terms.weight[entry[of], None] * t[mine[of]]
                    log = np.log(np.maximum(transform(terms.laws[law], angle), 1e-300))
                    logs[mine[of]] += terms.times[entry[of], None] * log
            portion = at, t, np.exp(logs), step[some], reach[at]
            if len(at) == len(rows):
                self._kept = portion
            yield portion


_BINS = 64
"""Bins of weights: four for each power of two, up to 4 standard deviations; the last bin takes the rest."""
_EDGES = np.append(2.0 ** ((np.arange(_BINS - 1) - 54) / 4), np.inf)
"""The upper ends of the bins."""


def _bin(relative: Floats) -> Integers:
    return np.searchsorted(_EDGES, relative)


def half_widths(variances: Floats, terms: Terms, level: float, unlisted: Floats | None = None) -> Floats:
    """Return the half-widths of many errors from their variances and terms; see `Errors`.

    >>> half_widths(np.array([100.0]), Terms.of([]), 0.9).round(2).tolist()
    [16.47]
    """
    return Errors(variances, [terms], unlisted).half_widths(level)


def _padded(level: float, chance: float) -> float:
    """Add a probability to a level, but never more than a tenth of the distance to 1."""
    return level + min(chance, 0.1 * (1 - level))


@dataclass(frozen=True, slots=True)
class _Known:
    """The traits of several laws as columns."""

    variance: Floats
    fourth: Floats
    smooth: Floats
    proxy: Floats
    scale: Floats
    normal: NDArray[np.bool_]


@lru_cache(maxsize=8)
def _columns(laws: tuple[Law, ...]) -> _Known:
    columns = np.array([traits(law) for law in laws], dtype=np.float64).reshape(-1, 5).T
    variance, fourth, smooth, proxy, scale = columns
    normal = np.array([isinstance(law, Normal) for law in laws], dtype=np.bool_)
    return _Known(variance, fourth, smooth, proxy, scale, normal)


def _reach(entries: Terms, known: _Known, nats: float, rows: int, leftover: Floats | None = None) -> Floats:
    """Return for each row a bound that the sum exceeds with probability at most 2 e^-nats: Chernoff's, or
    Bernstein's for Laplace noise."""
    weight = entries.weight if leftover is None else np.abs(leftover)
    proxy = np.bincount(
        entries.row, weights=entries.times * weight**2 * known.proxy[entries.law], minlength=rows
    )
    longest = np.zeros(rows)
    np.maximum.at(longest, entries.row, weight * known.scale[entries.law])
    return np.asarray(np.sqrt(2 * nats * proxy) + nats * longest, dtype=np.float64)


def _crossing(t: Floats, phi: Floats, step: Floats, reach: Floats, level: float) -> Floats:
    """Return for each row the x with P(|E| <= x) = level, by Newton's method, or bisection where it fails."""
    low, high = np.zeros(len(step)), reach.copy()
    # start from a Gaussian's quantile
    x: Floats = np.minimum(normal_quantile(level) * np.sqrt(-2 * np.log(phi[:, 0])) / t[:, 0], reach / 2)
    density, live = phi / t, np.arange(len(step))
    for turn in range(80):
        here, angle = x[live], x[live, None] * t[live]
        over = step[live] / math.pi * (here + 2 * np.sum(density[live] * np.sin(angle), axis=1)) - level
        slope = step[live] / math.pi * (1 + 2 * np.sum(phi[live] * np.cos(angle), axis=1))
        low[live] = np.where(over < 0, here, low[live])
        high[live] = np.where(over < 0, high[live], here)
        done = (np.abs(over) < _CLOSE) | (high[live] - low[live] < 1e-9 * reach[live])
        with np.errstate(divide="ignore", invalid="ignore"):
            new = here - over / slope
        inside = (new > low[live]) & (new < high[live]) & (turn % 4 < 3)
        x[live] = np.where(
            np.abs(over) < _CLOSE,
            here,
            np.where(done, high[live], np.where(inside, new, (low + high)[live] / 2)),
        )
        live = live[~done]
        if not live.size:
            break
    return x


@lru_cache(maxsize=256)
def _outcomes(noises: tuple[tuple[Law, float], ...]) -> tuple[Floats, Floats] | None:
    """Return all outcomes of a few noises, each with a multiplicity, one row per outcome, with their
    probabilities; None if there are too many. The probability left out is below 1e-11."""
    values, chances = np.zeros((1, 0)), np.ones(1)
    for law, often in noises:
        if isinstance(law, Normal) or often != round(often) or law.true_variance() * often > 100:
            return None
        far = math.ceil(14 * math.sqrt(law.true_variance())) + 8
        single = law.pmf(np.arange(-far, far + 1))
        total = np.ones(1)
        for _ in range(round(often)):
            total = np.convolve(total, single)
        steps = np.arange(len(total)) - len(total) // 2
        steps, total = steps[total > 1e-14], total[total > 1e-14]
        if len(values) * len(steps) > MOST_OUTCOMES:
            return None
        values = np.column_stack([np.repeat(values, len(steps), axis=0), np.tile(steps, len(values))])
        chances = np.outer(chances, total).ravel()
    order = np.argsort(-chances, kind="stable")
    values, chances = values[order], chances[order]
    enough = int(np.searchsorted(np.cumsum(chances), 1 - 1e-11)) + 1
    return values[:enough], chances[:enough]


def _outcome_widths(weights: Floats, values: Floats, chances: Floats, level: float) -> Floats:
    """Return the half-widths of errors with these weights (row, noise), from all outcomes of the noises."""
    half = np.empty(len(weights))
    many = max(1, AT_ONCE // len(values))
    for start in range(0, len(weights), many):
        far = np.abs(weights[start : start + many] @ values.T)
        order = np.argsort(far, axis=1)
        inside = np.cumsum(chances[order], axis=1)
        last = np.minimum(np.sum(inside < level + 2e-11, axis=1), len(chances) - 1)
        at = np.take_along_axis(order, last[:, None], axis=1)
        half[start : start + many] = np.take_along_axis(far, at, axis=1)[:, 0]
    return half


def _lattice_width(entries: Terms, fine: float, known: _Known, level: float) -> float:
    """Return the half-width of an error close to a lattice, with a negligible Gaussian of this standard
    deviation."""
    alone = replace(entries, row=np.zeros_like(entries.row))
    reach = float(_reach(alone, known, _SURE, 1)[0])
    step, left = _best_step(alone, reach, known)
    leftover = entries.weight - step * np.rint(entries.weight / step)
    # if the weights are multiples up to rounding, almost nothing remains: the level needs no addition
    nats, target = (2 * _NATS, level + 2e-12) if left <= ROUNDING else (_NATS, _padded(level, _LEFT_OUT))
    wider = float(_reach(alone, known, nats, 1, leftover)[0]) + math.sqrt(2 * nats) * fine
    many = 2 * math.ceil(reach / step) + 2
    many = 1 << max(1, (many - 1).bit_length())
    steps = np.rint(entries.weight / step).astype(np.int64)
    kinds, of = np.unique(np.column_stack([steps, entries.law]), axis=0, return_inverse=True)
    often = np.bincount(of.ravel(), weights=entries.times)
    turns, logs = np.arange(many // 2 + 1), np.zeros(many // 2 + 1)
    for (multiple, law), times in zip(kinds.tolist(), often.tolist(), strict=True):
        if multiple:
            logs += times * _log_transform(entries.laws[law], many)[multiple * turns & (many - 1)]
    chances = np.fft.irfft(np.exp(logs), many)[: many // 2]
    inside = 2 * np.cumsum(chances) - chances[0]
    return step * int(np.searchsorted(inside, target)) + wider


@lru_cache(maxsize=32)
def _log_transform(law: Law, many: int) -> Floats:
    """Return the logarithm of a noise's transform at `many` equally spaced angles."""
    angle: Floats = 2 * math.pi / many * np.arange(many, dtype=np.float64)
    return np.log(np.maximum(transform(law, angle), 1e-300))


def _best_step(entries: Terms, reach: float, known: _Known) -> tuple[float, float]:
    """Return the step of the coarsest lattice close to all weights, and how far from it the error is, in
    standard deviations: the fewest steps in the strongest weight that leave almost nothing, or little."""
    shares = entries.times * known.variance[entries.law]
    size = math.sqrt(float(shares @ entries.weight**2))
    strongest = float(entries.weight[np.argmax(shares * entries.weight**2)])
    most = max(1, min(_MOST_STEPS, int(_MOST_POINTS * strongest / reach)))
    steps = strongest / np.arange(1.0, most + 1)
    proxies = entries.times * known.proxy[entries.law]
    left = np.empty(most)
    many = max(1, AT_ONCE // len(entries.weight))
    for start in range(0, most, many):
        some = steps[start : start + many, None]
        over = entries.weight - some * np.rint(entries.weight / some)
        left[start : start + many] = np.sqrt(over**2 @ proxies) / size
    for enough in (ROUNDING, _WIDER / math.sqrt(2 * _NATS)):
        near = np.flatnonzero(left <= enough)
        if near.size:
            return float(steps[near[0]]), float(left[near[0]])
    best = int(np.argmin(left))
    return float(steps[best]), float(left[best])


def safe_quantile(laws: Sequence[Law], level: float) -> float:
    """Return a half-width, in standard deviations, that is safe for any sum of fine noises with these laws.

    The law of a sum of Laplace noises lies between a single one and a Gaussian. For discrete Gaussian noise
    the parameter is used: it is at least the variance, and bounds the tails.

    >>> from discreet.noise import DiscreteGaussian, DiscreteLaplace
    >>> laws = DiscreteGaussian(variance=10), DiscreteLaplace(scale=2)
    >>> [round(safe_quantile([law], 0.95), 3) for law in laws]
    [1.96, 2.118]
    """
    known = _columns(tuple(laws))
    quantile = normal_quantile(_padded(level, _LEFT_OUT))
    if known.scale.any():
        quantile = max(quantile, -math.log(1 - level) / math.sqrt(2))
    return quantile * math.sqrt((known.proxy / known.variance).max(initial=1.0))


@lru_cache(maxsize=64)
def normal_quantile(level: float) -> float:
    """Return the half-width of the central interval that holds a standard Gaussian with this probability.

    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    from statistics import NormalDist

    return NormalDist().inv_cdf((1.0 + level) / 2)
