"""The areas around many people at once: what the noisy counts from the lowest area up to the top add.

An adversary knows everyone in the lowest area but the target. Of the areas around it, and of the other parts
of each of them, they see noisy counts: the model of `discreet.disclosure.area_chain`, with the paper's
uniform prior for every rest. There one release is looked at; here as many as there are people, in arrays.

Counts are taken less the count known in the lowest area, so that it counts s = 0 or 1 itself. With u_j the
noisy count of the j-th area, y_j the noisy sum of its siblings, g_j and h_j the laws of their noise,

    M_L(k) = g_L(u_L - k),    M_j(k) = g_j(u_j - k) sum over r >= 0 of h_j(y_j - r) M_(j+1)(k + r),

and what is added to the log odds is log S(1) - log S(0), S(s) = sum over r >= 0 of h_1(y_1 - r) M_2(s + r).
A large area has so many others that no rest near zero is possible: then its sum runs over all integers,
and two Gaussian laws become one (by Poisson summation, up to 2 exp(-2 pi^2 v) with 1/v the sum of the two
precisions). So only the small areas are summed.

Guarantee. As in `area_chain`: paths leave the windows of k only if one noise is large, and Chernoff bounds
say how rare that is; divided by the sum inside it is the relative error of S. Rows in which it could exceed
1e-9 are summed again over wider windows. `test_the_evidence_of_a_path_is_that_of_the_exact_sums` compares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.disclosure.areas import Integers
from discreet.disclosure.evidence import AddedLaw, EvidenceLaw, PresentLaw
from discreet.disclosure.odds import Floats, Prior
from discreet.disclosure.siblings import SumNoise
from discreet.errors import PrecisionError
from discreet.loss.posteriors import logistic
from discreet.noise import DiscreteGaussian

MOST_WIDE = 4096
"""Places of a window; noise that needs more is left to other adversaries."""

_TOLERANCE = 1e-9
_SMOOTH = 1.5  # variance from which on a sum over all integers is an integral, to 1e-12
_PER_DEVIATION = 12.0
_AT_ONCE = 1 << 21  # numbers in an array
_MOST_NATS = 2000.0


@dataclass(frozen=True, slots=True)
class AreaPath:
    """Areas from the lowest up: the variances of their noise, and the noise of each sum of siblings.

    `beside[j]` is that of area j inside area j + 1: an empty one if it has no siblings, None if their counts
    are not seen.

    >>> path = AreaPath((5.04, 2.03), (SumNoise.of({5.04: 27}),))
    >>> path.evidence_from_above(np.array([[1.0]]), np.array([[-1.0]])).round(3).tolist()
    [-0.285]
    """

    variances: tuple[float, ...]
    beside: tuple[SumNoise | None, ...]

    @property
    def stride(self) -> int:
        """How many neighbouring counts are taken together where all noise is wide."""
        wide = [
            *self.variances[1:],
            *(noise.variance for noise in self.beside if noise is not None and noise.count),
        ]
        return max(1, math.floor(math.sqrt(min(wide)) / _PER_DEVIATION)) if wide else 1

    @property
    def width(self) -> int:
        """How many places the widest window has."""
        return max((_width(variance, self.stride, self._nats) for variance in self.variances[1:]), default=1)

    @property
    def _nats(self) -> float:
        return 30.0 + 6.0 * len(self.variances)

    def far(self) -> tuple[int, ...]:
        """Return for each step from how many others in the siblings on their number does not matter."""
        enough = []
        for step, noise in enumerate(self.beside):
            between = self.variances[step + 1] + (self.variances[step] if step else 0.0)
            told = (
                between if noise is None or not noise.count else 1.0 / (1.0 / between + 1.0 / noise.variance)
            )
            enough.append(math.ceil(9.0 * math.sqrt(told)) + 1)
        return tuple(enough)

    def evidence_from_above(self, noisy: Floats, sums: Floats) -> Floats:
        """Return what the counts add to the log odds, a row for each release.

        `noisy` are the counts of the areas above the lowest, less the count known there; `sums` those of the
        siblings of each area but the last.
        """
        rows = len(noisy)
        if len(self.variances) == 1:
            return np.zeros(rows)
        evidence = np.full(rows, np.nan)
        left, nats = np.arange(rows), self._nats
        while left.size:
            if nats > _MOST_NATS:
                raise PrecisionError(
                    "noisy counts of areas contradict each other beyond what floats can hold"
                )
            evidence[left] = self._within(noisy[left], sums[left], nats)
            left, nats = left[np.isnan(evidence[left])], 2.0 * nats
        return evidence

    def _within(self, noisy: Floats, sums: Floats, nats: float) -> Floats:
        """The evidence from windows of so many nats; nan where they are too narrow."""
        evidence = np.empty(len(noisy))
        top, merged = self._merged(noisy, sums, nats)
        for last in np.unique(top):
            mine = np.flatnonzero(top == last)
            mean, variance, scale = merged[last]
            if last == 1 and _is_free(self.beside[0], variance):
                assert self.beside[0] is not None
                apart = mean[mine] - math.sqrt(2.0 * variance * nats) >= 1.0
                some, total = mine[apart], variance + self.beside[0].variance
                gap = mean[some] - sums[some, 0]
                logs = scale[some] + _log_density(np.abs(gap) + 1.0, total)
                error = _error(logs, len(self.variances), nats)
                evidence[some] = np.where(error <= _TOLERANCE, (gap - 0.5) / total, np.nan)
                mine = mine[~apart]
            variances = np.array([*self.variances[1:last], variance])
            means = np.column_stack([noisy[mine, : last - 1], mean[mine]])
            widths = [_width(noise_variance, self.stride, nats) for noise_variance in variances]
            many = max(1, _AT_ONCE // (2 * max(widths)))
            for start in range(0, mine.size, many):
                part = mine[start : start + many]
                evidence[part] = self._summed(
                    means[start : start + many], variances, sums[part], scale[part], nats
                )
        return evidence

    def _merged(
        self, noisy: Floats, sums: Floats, nats: float
    ) -> tuple[Integers, dict[int, tuple[Floats, float, Floats]]]:
        """Return for each row the highest area that must be summed, and by that area the Gaussian law of all
        that is seen of it and above it: means of the rows, the variance, and the log of its weight."""
        many, last = len(noisy), len(self.variances) - 1
        top, scale = np.full(many, last), np.zeros(many)
        mean, variance = noisy[:, last - 1].astype(np.float64), self.variances[last]
        laws = {last: (mean, variance, scale)}
        for step in range(last - 1, 0, -1):
            beside, own = self.beside[step], self.variances[step]
            if own < _SMOOTH or not _is_free(beside, variance):
                break
            assert beside is not None
            low = mean - math.sqrt(2.0 * variance * nats)
            high = noisy[:, step - 1] + math.sqrt(2.0 * own * nats)
            free = (top == step + 1) & (low >= np.maximum(high, 0.0))
            across = variance + beside.variance
            less = mean - sums[:, step]
            scale = scale + _log_density(noisy[:, step - 1] - less, own + across)
            variance = 1.0 / (1.0 / own + 1.0 / across)
            mean = (noisy[:, step - 1] / own + less / across) * variance
            top[free] = step
            laws[step] = (mean, variance, scale)
        return top, laws

    def _summed(self, means: Floats, variances: Floats, sums: Floats, scale: Floats, nats: float) -> Floats:
        """Sums over windows of the counts of the lower areas; `means` and `variances` are of areas 2 up."""
        if self.stride == 1:
            absent, present = self._weights(means, variances, sums, nats, (0, 1))
        else:  # all counts on one lattice with the lowest area's: a lattice for each of its counts
            absent, present = (self._weights(means - s, variances, sums, nats, (0,))[0] for s in (0, 1))
        least = np.minimum(absent, present) + scale
        with np.errstate(invalid="ignore"):
            return np.where(_error(least, len(self.variances), nats) <= _TOLERANCE, present - absent, np.nan)

    def _weights(
        self, means: Floats, variances: Floats, sums: Floats, nats: float, counts: tuple[int, ...]
    ) -> list[Floats]:
        """Return log S at counts of the lowest area."""
        step, many = self.stride, len(means)
        scale, message, low = np.zeros(many), np.ones((many, 1)), np.zeros(many)
        for index in range(len(variances) - 1, -1, -1):
            variance = float(variances[index])
            width = _width(variance, step, nats)
            here = np.maximum(np.floor((means[:, index] - math.sqrt(2.0 * variance * nats)) / step), 0) * step
            k = here[:, None] + step * np.arange(width)
            logs = -((means[:, index, None] - k) ** 2) / (2.0 * variance)
            if index < len(variances) - 1:
                carried, top = self._carried(index + 1, sums, low, message, here, width)
                scale += top
                with np.errstate(divide="ignore"):
                    logs += np.log(carried)
            most = logs.max(axis=1)
            safe = np.where(np.isfinite(most), most, 0.0)
            with np.errstate(under="ignore"):
                message = np.exp(logs - safe[:, None])
            scale += safe - 0.5 * math.log(2.0 * math.pi * variance) + math.log(step)
            low = here
        weights = []
        for count in counts:
            carried, top = self._carried(0, sums, low, message, np.full(many, float(count)), 1)
            with np.errstate(divide="ignore"):
                weights.append(np.log(carried[:, 0]) + top + scale)
        return weights

    def _carried(
        self, step: int, sums: Floats, low: Floats, message: Floats, here: Floats, width: int
    ) -> tuple[Floats, Floats]:
        """Sum a message from one area to the next smaller one, over the rest between them.

        Returned are the sums but for a factor, and its logarithm. The window of the larger area begins at
        `low`, that of the smaller at `here`.
        """
        beside, stride, wide = self.beside[step], self.stride, message.shape[1]
        rest = (low - here)[:, None] + stride * np.arange(1 - width, wide)
        if beside is None:
            weights, top = (rest >= 0).astype(np.float64), np.zeros(len(low))
        elif not beside.count:
            weights, top = (rest == 0).astype(np.float64), np.zeros(len(low))
        else:
            logs = np.where(rest >= 0, beside.log_pmf(sums[:, step, None] - rest), -np.inf)
            most = logs.max(axis=1)
            top = np.where(np.isfinite(most), most, 0.0)
            with np.errstate(under="ignore"):
                weights = np.exp(logs - top[:, None])
        if stride > 1:  # the sum over all integers from that over every so many, by its end and its slope
            first, second = (stride - 1) / (2 * stride), (stride**2 - 1) / (12 * stride**2)
            ends = -first - 1.5 * second, 2.0 * second, -0.5 * second
            weights = weights * (1.0 + sum(end * (rest == n * stride) for n, end in enumerate(ends)))
        shifted = np.lib.stride_tricks.sliding_window_view(weights, wide, axis=1)[:, ::-1]
        return np.einsum("gab,gb->ga", shifted, message), top

    # -- over the noise ----------------------------------------------------------------------------------

    def drawn_law(self, rests: Sequence[int], draws: int, random: np.random.Generator) -> SimulatedLaw:
        """Return the law of all evidence if the target is present, from draws of the noise above.

        `rests` are the others in the siblings at each step. The noise of the lowest area is not drawn: it is
        summed. Each noise is stratified: one draw from each of as many parts of equal chance.

        >>> path = AreaPath((5.04, 2.03), (SumNoise.of({5.04: 27}),))
        >>> law = path.drawn_law([0], 2000, np.random.default_rng(1))
        >>> round(float(law.chance_beyond(np.array([0.0]))[0]), 2)   # exact: 0.318
        0.32
        """
        own = EvidenceLaw.of_noise(DiscreteGaussian(variance=Fraction(self.variances[0])))
        counts = 1.0 + np.cumsum(rests)
        noisy = np.column_stack(
            [counts[j] + _drawn(SumNoise.of({v: 1}), draws, random) for j, v in enumerate(self.variances[1:])]
            or [np.zeros((draws, 0))]
        )
        sums = np.column_stack(
            [
                rests[j] + (np.zeros(draws) if noise is None else _drawn(noise, draws, random))
                for j, noise in enumerate(self.beside)
            ]
            or [np.zeros((draws, 0))]
        )
        values = np.sort(self.evidence_from_above(noisy, sums))
        kept = own.present > 1e-12
        return SimulatedLaw(
            values,
            np.full(draws, 1.0 / draws),
            PresentLaw(own.values[kept], own.present[kept] / own.present[kept].sum()),
        )


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedLaw(AddedLaw):
    """A law of evidence whose values were drawn, but for those of the lowest area's noise."""

    def standard_error(self, prior: Prior) -> Floats:
        """Return the standard error of the mean posterior at each of some priors, at most.

        It is that of draws that are not stratified, and interpolated between some of many priors.
        """
        with np.errstate(divide="ignore"):
            odds = np.minimum(prior.log_odds, 700.0)  # of a prior of 1, which has no error
        nodes = np.unique(np.quantile(odds, np.linspace(0.0, 1.0, 9)))
        chances = logistic(nodes)[:, None]
        means = np.zeros((nodes.size, self.values.size))
        for value, chance in zip(self.own.values, self.own.present, strict=True):
            means += chance * Prior(chances, 1.0 - chances).posterior(self.values + value)
        errors = means.std(axis=1, ddof=1) / math.sqrt(self.values.size)
        return np.asarray(np.interp(odds, nodes, errors), dtype=np.float64)


def _is_free(beside: SumNoise | None, variance: float) -> bool:
    """Whether a sum over all rests is that of two Gaussian laws, the siblings' and one of some variance."""
    if beside is None or not beside.count or not beside.is_single:
        return False
    return beside.variance * variance / (beside.variance + variance) >= _SMOOTH


def _log_density(values: Floats, variance: float) -> Floats:
    return -(values**2) / (2.0 * variance) - 0.5 * math.log(2.0 * math.pi * variance)


def _error(log_weight: Floats, areas: int, nats: float) -> Floats:
    """A bound on what the windows leave out, relative to a sum of weights."""
    with np.errstate(invalid="ignore"):
        error = 2.0 * areas * np.exp(np.minimum(-nats - log_weight, 700.0))
    return np.where(np.isfinite(log_weight), error, np.inf)


def _width(variance: float, stride: int, nats: float) -> int:
    return 2 * math.ceil(math.sqrt(2.0 * variance * nats) / stride) + 3


def _drawn(noise: SumNoise, draws: int, random: np.random.Generator) -> Floats:
    """Stratified draws, in a random order."""
    if not noise.count:
        return np.zeros(draws)
    reach = math.ceil(9.0 * math.sqrt(noise.variance)) + 2
    places: Floats = np.arange(-reach, reach + 1.0)
    below = np.cumsum(np.exp(noise.log_pmf(places)))
    chances = (random.permutation(draws) + random.random(draws)) / draws * below[-1]
    return np.asarray(places[np.minimum(np.searchsorted(below, chances), places.size - 1)])
