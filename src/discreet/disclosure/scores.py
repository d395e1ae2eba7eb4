"""How often the largest posterior is right: the law of the largest score, for cells and groups of cells.

The score of a cell is its prior times exp(evidence), so that posteriors are scores divided by their sum. All
laws here are those with nobody more anywhere (P0), under which the evidence of different cells is
independent and a score has its prior as mean. Whoever names the largest is right with probability

    P[right] = sum over outcomes of max_k prior_k P[outcome | k] = E0[max_k score_k],

so ties need no rule. The score of a *group* is the sum of those of its cells; a count of the whole group
multiplies it by exp(its evidence). As long as groups nest, the scores of disjoint ones are independent, and
the law of the largest is a product.

*Below and above.* Lists of values grow with every sum. A long one is replaced twice by a list on a grid: once
by the conditional means in the intervals of the grid, which lies below the law in convex order (Jensen), and
once with each value split between the two ends of its interval so that the mean stays, which lies above. The
order is kept by independent sums and by products with independent positive factors, and E[max] is convex in
each of several independent scores: so the two results enclose P[right]. Their distance falls with the square
of the grid's step. Above, the weight beyond the last value that is kept is added to the result (E[max(S, R)]
<= E[max(min(S, c), R)] + E[S; S > c]), below it is merged. Rounding is not enclosed: about 1e-13.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.disclosure.evidence import EvidenceLaw
from discreet.disclosure.odds import Floats
from discreet.errors import InputError

Side = Literal["below", "above"]
Labels = NDArray[np.int64]

MOST_SCORES = 1 << 9
"""Values of a score that are told apart; the law of a cell is never shortened to fewer."""

MOST_TERMS = 1 << 23
"""Values of all cells together among which the largest is sought."""

MOST_SUMS = 1000
"""Different scores that are added up to those of groups."""

_GRID = 1 << 16
_RARE = 1e-16  # chance, and part of the mean, at either end that the grid does not resolve
_BLOCK = 1 << 21  # pairs of values that are held at a time


@dataclass(frozen=True, slots=True, eq=False)
class ScoreLaw:
    """Logarithms of a score, rising, with the chance of each and the part of the mean it has.

    `weight` is exp(logs) times `chance`; where the chance is too small for a float it still has its digits.
    `lost` is the part of the mean beyond the last value, left out.
    """

    logs: Floats
    chance: Floats
    weight: Floats
    lost: float = 0.0

    @classmethod
    def of_cell(cls, law: EvidenceLaw, prior: float = 1.0) -> ScoreLaw:
        """Return the law of the score of one cell.

        >>> from discreet.noise import DiscreteGaussian
        >>> cell = ScoreLaw.of_cell(EvidenceLaw.of_noise(DiscreteGaussian(variance=5)), 0.25)
        >>> round(float(cell.weight.sum()), 12)   # its mean is the prior
        0.25
        """
        return cls(law.values, law.absent, law.present).times(prior)

    def times(self, prior: float) -> ScoreLaw:
        """Return the law of the score times a number."""
        return ScoreLaw(self.logs + math.log(prior), self.chance, self.weight * prior, self.lost * prior)

    def plus(self, other: ScoreLaw, side: Side) -> ScoreLaw:
        """Return the law of the sum of two independent scores.

        >>> two = ScoreLaw(np.log([1.0, 3.0]), np.array([0.5, 0.5]), np.array([0.5, 1.5]))
        >>> both = two.plus(two, "below")
        >>> np.exp(both.logs).round(12).tolist(), both.chance.tolist()
        ([2.0, 4.0, 6.0], [0.25, 0.5, 0.25])
        """

        def pairs(part: slice) -> Iterator[Floats]:
            yield np.logaddexp.outer(self.logs[part], other.logs)
            yield np.multiply.outer(self.chance[part], other.chance)
            yield np.multiply.outer(self.weight[part], other.chance) + np.multiply.outer(
                self.chance[part], other.weight
            )

        ends = (np.logaddexp(self.logs[end], other.logs[end]) for end in (0, -1))
        return _collected(self, other, pairs, tuple(map(float, ends)), side)

    def with_evidence(self, law: EvidenceLaw, side: Side) -> ScoreLaw:
        """Return the law of the score times exp(evidence) of an independent count.

        >>> from discreet.noise import DiscreteGaussian
        >>> law = EvidenceLaw.of_noise(DiscreteGaussian(variance=5))
        >>> both = ScoreLaw.of_cell(law).with_evidence(law, "below")
        >>> bool(np.allclose(both.chance.sum(), 1)), bool(np.allclose(both.weight.sum(), 1))
        (True, True)
        """
        other = ScoreLaw.of_cell(law).shortened(side)

        def pairs(part: slice) -> Iterator[Floats]:
            yield np.add.outer(self.logs[part], other.logs)
            yield np.multiply.outer(self.chance[part], other.chance)
            yield np.multiply.outer(self.weight[part], other.weight)

        ends = (self.logs[end] + other.logs[end] for end in (0, -1))
        return _collected(self, other, pairs, tuple(map(float, ends)), side)

    def shortened(self, side: Side, most: int = MOST_SCORES) -> ScoreLaw:
        """Return the law itself, or if it has more values one with at most these, below or above it.

        >>> from discreet.noise import DiscreteGaussian
        >>> law = ScoreLaw.of_cell(EvidenceLaw.of_noise(DiscreteGaussian(variance=500)))
        >>> [law.shortened(side, 64).logs.size <= 66 for side in ("below", "above")]
        [True, True]
        """
        if self.logs.size <= most:
            return self
        # intervals as wide as the cube root of the density asks for, which makes the error least
        mass = self.chance + self.weight / max(float(self.weight.sum()), 1e-300)
        position = np.cumsum(np.cbrt(mass))
        steps = np.floor(position * (most / position[-1]))
        ends = np.flatnonzero(np.diff(steps, prepend=-1.0))
        knots = self.logs[np.append(ends, self.logs.size - 1)]
        grid = _Knots(knots, side)
        grid.add(self.logs, self.chance, self.weight)
        return replace(grid.law(), lost=self.lost)

    def trimmed(self, side: Side) -> ScoreLaw:
        """Return the law with both ends that hardly occur made one value each, or left out above."""
        parts = [self.chance, self.weight / max(float(self.weight.sum()), 1e-300)]
        low = min(int(np.searchsorted(np.cumsum(masses), _RARE)) for masses in parts)
        high = max(masses.size - 1 - int(np.searchsorted(np.cumsum(masses[::-1]), _RARE)) for masses in parts)
        low, high = min(low, self.logs.size - 1), max(high, 0)
        if (low <= 1 and high >= self.logs.size - 2) or low >= high:
            return self
        logs, chance, weight = (
            column[low : high + 1].copy() for column in (self.logs, self.chance, self.weight)
        )
        chance[0] += self.chance[:low].sum()
        chance[-1] += self.chance[high + 1 :].sum()
        lost = self.lost
        if side == "below":
            weight[0] += self.weight[:low].sum()
            weight[-1] += self.weight[high + 1 :].sum()
            for end in (0, -1):
                if chance[end] > 0 and weight[end] > 0:
                    logs[end] = math.log(weight[end]) - math.log(chance[end])
        else:
            with np.errstate(divide="ignore"):
                weight[0] = np.exp(logs[0] + np.log(chance[0])) if low else weight[0]
                weight[-1] += np.exp(logs[-1] + np.log(self.chance[high + 1 :].sum()))
            lost += float(self.weight[high + 1 :].sum())
        return ScoreLaw(logs, chance, weight, lost)


class _Knots:
    """Rising logarithms on which chances and weights are collected, below or above the law."""

    def __init__(self, knots: Floats, side: Side, *, even: bool = False) -> None:
        self.knots, self.side, self.even = np.unique(knots), side, even
        self.steps = np.append(np.diff(self.knots), 1.0)
        self.chance, self.weight = np.zeros(self.knots.size), np.zeros(self.knots.size)

    def add(self, logs: Floats, chance: Floats, weight: Floats) -> None:
        many = self.knots.size
        if self.even and many > 1:
            step = (self.knots[-1] - self.knots[0]) / (many - 1)
            left = np.clip(((logs - self.knots[0]) / step).astype(np.int64), 0, many - 1)
        else:
            left = np.maximum(np.searchsorted(self.knots, logs, side="right") - 1, 0)
        if self.side == "below":
            self.chance += _summed(left, chance, many)
            self.weight += _summed(left, weight, many)
            return
        wide = self.steps[left]
        inside = np.clip(logs - self.knots[left], 0.0, wide)
        # s of the chance goes right, where exp(inside) = (1 - s) + s exp(wide), and `heavier` of the weight
        heavier = np.expm1(-inside) / np.expm1(-wide)
        right = heavier * np.exp(inside - wide)
        beside = np.minimum(left + 1, many - 1)
        for knot, share, part in ((left, 1.0 - right, 1.0 - heavier), (beside, right, heavier)):
            self.chance += _summed(knot, chance * share, many)
            self.weight += _summed(knot, weight * part, many)

    def law(self) -> ScoreLaw:
        """Return what was collected."""
        used = np.flatnonzero((self.chance > 0) | (self.weight > 0))
        logs, chance, weight = self.knots[used], self.chance[used], self.weight[used]
        if self.side == "below":  # conditional means; where no digits are left, the lower end
            exact = (chance > 1e-280) & (weight > 1e-280)
            means = np.log(np.where(exact, weight, 1.0)) - np.log(np.where(exact, chance, 1.0))
            logs = np.where(exact, np.clip(means, logs, logs + self.steps[used]), logs)
        return ScoreLaw(logs, chance, weight)


def _summed(positions: Labels, values: Floats, many: int) -> Floats:
    """The sum of the values at each position."""
    return np.asarray(np.bincount(positions, values, many), dtype=np.float64)


def _collected(
    first: ScoreLaw,
    second: ScoreLaw,
    pairs: Callable[[slice], Iterable[Floats]],
    ends: tuple[float, ...],
    side: Side,
) -> ScoreLaw:
    """The law of what is made of all pairs of values: a list if it is short, else on a grid."""
    lost = first.lost + second.lost
    if first.logs.size * second.logs.size <= 8 * MOST_SCORES:
        logs, chance, weight = (column.ravel() for column in pairs(slice(None)))
        values, positions = np.unique(np.round(logs, 12), return_inverse=True)
        chance, weight = (_summed(positions, column, values.size) for column in (chance, weight))
        return ScoreLaw(values, chance, weight, lost)
    grid = _Knots(np.linspace(ends[0], ends[1], _GRID), side, even=True)
    rows = max(1, _BLOCK // second.logs.size)
    for start in range(0, first.logs.size, rows):
        grid.add(*(column.ravel() for column in pairs(slice(start, start + rows))))
    shorter = grid.law().trimmed(side).shortened(side)
    return replace(shorter, lost=shorter.lost + lost)


def largest_score(laws: Sequence[ScoreLaw], sizes: Sequence[int]) -> ScoreLaw:
    """Return the law of the largest of independent scores, `sizes` of each law; its mean is P[right].

    P[max <= x] is a product. It is summed from above, where nothing cancels.

    >>> from discreet.noise import DiscreteGaussian
    >>> cell = ScoreLaw.of_cell(EvidenceLaw.of_noise(DiscreteGaussian(variance="5.04")))
    >>> [round(100 * float(largest_score([cell.times(1 / k)], [k]).weight.sum()), 3) for k in (2, 5)]
    [62.261, 31.719]
    """
    columns = [_conditional(law, size) for law, size in zip(laws, sizes, strict=True)]
    where, steps, here, weight = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    order = np.argsort(where, kind="stable")[::-1]
    with np.errstate(invalid="ignore"):
        above = -np.concatenate([[0.0], np.cumsum(steps[order])[:-1]])
        beaten = np.where(np.isneginf(above), 0.0, np.exp(above))  # the chance that nothing above occurs
    chance, mean = beaten * here[order], weight[order]
    mean = np.where(beaten > 0, mean * beaten, 0.0)
    kept = np.flatnonzero((chance > 0) | (mean > 0))[::-1]
    lost = sum(law.lost * size for law, size in zip(laws, sizes, strict=True))
    return ScoreLaw(where[order][kept], chance[kept], mean[kept], lost)


def _conditional(law: ScoreLaw, size: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Of each value: its log, -log of the chance of less given at most this, the chance of it, its weight."""
    upper = np.append(np.cumsum(law.chance[::-1])[::-1][1:], 0.0)  # P[score > value]
    lower = np.cumsum(law.chance)
    log_chance = np.where(upper < 0.5, np.log1p(-np.minimum(upper, 0.5)), np.log(np.maximum(lower, 1e-300)))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        new = np.minimum(law.chance * np.exp(-log_chance), 1.0)  # P[score = value | score <= value]
        new[0] = 1.0
        rise = -np.log1p(-new)
        here = -np.expm1(-size * rise)
        often = np.where(new > 0, here / np.where(new > 0, new, 1.0), size)
        # weight / P[score <= value]: below the smallest chances of floats there is nothing to be told apart
        weight = often * law.weight * np.exp(-log_chance)
    return law.logs, size * rise, here, np.where(np.isfinite(weight), weight, 0.0)


def repeated(law: ScoreLaw, size: int, side: Side) -> ScoreLaw:
    """Return the law of the sum of `size` independent scores of one law.

    >>> coin = ScoreLaw(np.log([1.0, 2.0]), np.array([0.5, 0.5]), np.array([0.5, 1.0]))
    >>> [round(float(chance), 6) for chance in repeated(coin, 3, "below").chance]
    [0.125, 0.375, 0.375, 0.125]
    """
    if size * law.logs.size < 2 * MOST_SCORES:  # one by one costs less, as the law of a cell is short
        summed = law
        for _ in range(size - 1):
            summed = summed.plus(law, side)
        return summed
    power, sums = law, []
    while True:
        if size & 1:
            sums.append(power)
        size >>= 1
        if not size:
            return reduce(lambda total, more: more.plus(total, side), sums)
        power = power.plus(power, side)


@dataclass(frozen=True, slots=True, eq=False)
class CoarseCount:
    """A count of groups of cells: the group of each cell, and the evidence; no law where it is only asked."""

    labels: Labels
    law: EvidenceLaw | None = None


def chance_right(
    law: EvidenceLaw,
    priors: Floats,
    *,
    coarse: Sequence[CoarseCount] = (),
    asked: Labels | None = None,
) -> tuple[float, float]:
    """Return how often the largest posterior is right, and how far that may be off.

    `law` is that of the evidence of each cell's own counts. `coarse` counts speak for groups of cells, which
    must nest. `asked` has the group of each cell if the question is which group is the target's.

    >>> from discreet.noise import DiscreteGaussian
    >>> law = EvidenceLaw.of_noise(DiscreteGaussian(variance="5.04"))
    >>> right, error = chance_right(law, np.full(4, 0.25), asked=np.array([0, 0, 1, 1]))
    >>> round(right, 4), error < 1e-6
    (0.59, True)
    """
    labels = [count.labels for count in coarse] + ([] if asked is None else [asked])
    ordered = nested(labels)
    ends = []
    for side in ("below", "above"):
        scores = _Scores(law, priors, side, exact=not labels)
        for number in ordered:
            if number == len(coarse):
                scores.gather(labels[number], add=True)
                continue
            # up to the groups that are asked for, their cells add up; beyond, the largest counts
            add = asked is not None and ordered.index(number) < ordered.index(len(coarse))
            scores.gather(labels[number], add=add, law=coarse[number].law)
        ends.append(scores.mean_of_largest())
        if not scores.is_shortened:
            ends *= 2
            break
    low, high = ends[0], max(ends)
    return (low + high) / 2, (high - low) / 2 + high * math.expm1(law.blur)


def nested(labels: Sequence[Labels]) -> list[int]:
    """Return the order of groupings from the finest to the coarsest; refuse those that do not nest.

    >>> nested([np.array([0, 0, 0]), np.array([0, 0, 1])])
    [1, 0]
    """
    order = sorted(range(len(labels)), key=lambda number: -len(np.unique(labels[number])))
    for finer, coarser in pairwise(order):
        many = int(labels[coarser].max()) + 1
        if len(np.unique(labels[finer] * many + labels[coarser])) != len(np.unique(labels[finer])):
            raise InputError(
                "the groups of cells do not nest: one grouping splits groups of another, which makes their "
                "evidence depend on each other, so how often the largest posterior is right is not known "
                "here; leave one of them out, or give noisy and known for the posteriors"
            )
    return order


class _Scores:
    """The scores of disjoint groups of cells: kinds of them, by their law, and the kind of each group."""

    def __init__(self, law: EvidenceLaw, priors: Floats, side: Side, *, exact: bool) -> None:
        self.side, self.is_shortened, self.sums = side, False, 0
        distinct, self.kinds = np.unique(priors, return_inverse=True)
        self.cells = np.arange(priors.size)  # one of each group
        cell = ScoreLaw.of_cell(law)
        most = MOST_TERMS // distinct.size
        if not exact:
            most = min(most, MOST_SCORES)
        if cell.logs.size > most:
            self.is_shortened = True
            cell = cell.shortened(side, max(most, 8))
        self.laws = [cell.times(prior) for prior in distinct.tolist()]

    def gather(self, labels: Labels, *, add: bool, law: EvidenceLaw | None = None) -> None:
        """Make one score of those of each group, and add the evidence of its count."""
        groups = labels[self.cells]
        kinds = len(self.laws)
        _, firsts, group = np.unique(groups, return_index=True, return_inverse=True)
        keys, counts = np.unique(group * kinds + self.kinds, return_counts=True)
        starts = np.flatnonzero(np.diff(keys // kinds)) + 1
        made: dict[bytes, int] = {}
        laws: list[ScoreLaw] = []
        kind_of = []
        for part in np.split(np.stack([keys % kinds, counts]), starts, axis=1):
            kind = made.setdefault(part.tobytes(), len(laws))
            if kind == len(laws):
                laws.append(self._made(part, add=add, law=law))
            kind_of.append(kind)
        self.cells, self.kinds, self.laws = self.cells[firsts], np.array(kind_of), laws

    def _made(self, part: NDArray[np.int64], *, add: bool, law: EvidenceLaw | None) -> ScoreLaw:
        self.sums += part.shape[1] if add else 1
        if self.sums > MOST_SUMS:
            raise InputError(
                f"the cells of the groups have more than {MOST_SUMS} different priors, too many to "
                "sum up; round the priors, or give noisy and known for the posteriors alone"
            )
        members = [(self.laws[kind], int(many)) for kind, many in part.T.tolist()]
        if add:
            sums = [repeated(score, many, self.side) for score, many in members]
            combined = sums[0]
            for further in sums[1:]:
                combined = combined.plus(further, self.side)
        else:
            combined = largest_score([score for score, _ in members], [many for _, many in members])
        if law is not None:
            combined = combined.with_evidence(law, self.side)
        self.is_shortened = True
        return combined.shortened(self.side)

    def mean_of_largest(self) -> float:
        """Return the mean of the largest score."""
        kinds, sizes = np.unique(self.kinds, return_counts=True)
        largest = largest_score([self.laws[kind] for kind in kinds], sizes.tolist())
        return float(largest.weight.sum()) + (largest.lost if self.side == "above" else 0.0)
