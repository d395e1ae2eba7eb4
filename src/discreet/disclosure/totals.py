"""Others of whom only the total is known: what the counts of all cells then say of the target's cell.

M others are in the target's area, and each is in cell j with chance q_j, independently of the others: their
counts are multinomial. (Independent Poisson counts, once their total is known, have the same law.) If cell k
is the target's, the noisy counts y have the likelihood

    L_k  =  M! sum over n_1 + ... + n_K = M  of  prod_j q_j^(n_j) / n_j!  g(y_j - n_j - [j = k]),

which ties all cells together. With a_j(n) = q_j^n / n! g(y_j - n) and b_j(n) = q_j^n / n! g(y_j - n - 1) it
is the coefficient of x^M in b_k(x) prod_(j != k) a_j(x). Products of the polynomials before and after each
cell give all of them in one pass each way. Every term is positive, so nothing cancels.

*Several levels.* The area lies in a larger one, with noisy counts of the same cells and further people of
whom only the number is known; and so on. Each ring of people (those of one level that are not in the level
below) has its own total and one variable of the polynomials; a count sums all rings up to its level.

*Tilting.* A factor r^n leaves the sums as they are but for r^M. It is chosen so that the means add up to the
total: then each a_j is a probability law with little mass far from what matters. Values below exp(-100) of
the largest are left out, of the laws and of their products. Where noisy counts contradict the totals by so
much that those values matter, the same sums are made of logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray

from discreet.disclosure.areas import whole_or_none
from discreet.disclosure.inputs import Numbers
from discreet.disclosure.odds import Floats, log_sum
from discreet.errors import InputError
from discreet.loss.values import Number
from discreet.loss.values import read as values
from discreet.noise.gaussian import DiscreteGaussian

MOST_TABLED = 10_000_000
"""Numbers of others, over all different cells and levels, that are held."""

MOST_PRODUCTS = 10_000_000_000
"""Products that are summed before a total is called too large."""

MOST_LOGARITHMS = 500_000_000
"""The same of logarithms, which take longer."""

MOST_LEVELS = 8
"""Levels of which totals are known."""

MOST_DIFFERENT = 20_000
"""Cells that differ in their noisy counts or their shares."""

MOST_DRAWN = 100_000
"""Cells times draws of a simulation."""

_NATS = 100.0
_SURE = 50.0  # of them, that are left above what is left out
_SWEEPS = 60
_INSTEAD = (
    "Give smaller totals or fewer levels, or unsure and chance, which take the cells as independent: with "
    "many cells that is nearly the same"
)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The law of totals of some cells: the least of each ring, and the chances from there on, scaled."""

    least: tuple[int, ...]
    chances: Floats
    log_scale: float = 0.0

    @property
    def is_nobody(self) -> bool:
        """Whether there is certainly nobody."""
        return (
            self.chances.size == 1
            and not any(self.least)
            and self.chances.flat[0] == 1.0
            and not self.log_scale
        )

    def times(self, other: _Part, most: Sequence[int]) -> _Part:
        """Return the law of the sum, up to the totals."""
        if other.is_nobody or self.is_nobody:
            return self if other.is_nobody else other
        big, small = sorted((self.chances, other.chances), key=lambda chances: -chances.size)
        shape = tuple(a + b - 1 for a, b in zip(big.shape, small.shape, strict=True))
        *rows, wide = big.shape
        padded = np.zeros((*rows, shape[-1]))
        padded[..., :wide] = big
        sums = np.zeros(shape)
        for lead in np.ndindex(small.shape[:-1]):  # each row of the smaller, along all rows of the larger
            line = np.convolve(padded.ravel(), small[lead])[: padded.size].reshape(padded.shape)
            sums[tuple(slice(at, at + size) for at, size in zip(lead, rows, strict=True))] += line
        least = tuple(a + b for a, b in zip(self.least, other.least, strict=True))
        room = tuple(slice(0, max(top - low + 1, 0)) for top, low in zip(most, least, strict=True))
        return _trimmed(least, sums[room], self.log_scale + other.log_scale)

    def power(self, times: int, most: Sequence[int]) -> _Part:
        """Return the law of the sum of several of these."""
        product = _Part((0,) * len(most), np.ones((1,) * len(most)))
        square = self
        while times:
            if times & 1:
                product = product.times(square, most)
            times >>= 1
            if times:
                square = square.times(square, most)
        return product

    def log_at(self, other: _Part, totals: Sequence[int]) -> float:
        """Return the log of the chance that this and an independent part have these totals."""
        mine, theirs = [], []
        for low, size, beside, many, total in zip(
            self.least, self.chances.shape, other.least, other.chances.shape, totals, strict=True
        ):
            first, last = max(low, total - beside - many + 1), min(low + size - 1, total - beside)
            if first > last:
                return -math.inf
            mine.append(slice(first - low, last - low + 1))
            theirs.append(slice(total - last - beside, total - first - beside + 1))
        turned = np.flip(other.chances[tuple(theirs)])
        chance = float((self.chances[tuple(mine)] * turned).sum())
        return math.log(chance) + self.log_scale + other.log_scale if chance > 0 else -math.inf


@dataclass(frozen=True, slots=True, eq=False)
class TotalsAttack:
    """Someone who knows how many others there are in each area, and with which chance each is in a cell.

    >>> attack = TotalsAttack.read(2, np.array([2.0]), [1, 1], 2)
    >>> attack.totals, attack.shares.tolist()
    ((2,), [[0.5, 0.5]])
    """

    totals: tuple[int, ...]
    variances: tuple[float, ...]
    shares: Floats

    @classmethod
    def read(cls, totals: object, variances: Floats, shares: Numbers, cells: int) -> TotalsAttack:
        """Return what is stated of the others, checked: totals for each count, shares for each cell."""
        listed = list(totals) if isinstance(totals, (list, tuple)) else [totals]
        counted = [whole_or_none(total, "a total of others") for total in listed]
        stated = [total for total in counted if total is not None]
        if len(stated) != variances.size:
            raise InputError(
                f"totals of others are stated for {len(stated)} counts; there are {variances.size}, and each "
                "needs the number of others in its area"
            )
        if len(stated) > MOST_LEVELS:
            raise InputError(
                f"totals of others are stated for {len(stated)} levels; at most {MOST_LEVELS} are summed"
            )
        for before, later in pairwise([0, *stated]):
            if later < before:
                what = "zero or more" if before == 0 else f"at least the {before} of the area inside it"
                raise InputError(f"a total of others is {later}; it must be {what}")
        read = [[float(share) for share in values(row, name="share").values] for row in _rows(shares)]
        if len({len(row) for row in read} | {cells}) > 1:
            raise InputError(
                f"shares have {', '.join(str(len(row)) for row in read)} numbers; there are {cells} cells"
            )
        parts = np.array(read)
        if parts.shape[0] not in (1, variances.size):
            raise InputError(
                f"shares have {parts.shape[0]} rows; one for all counts or one for each is needed"
            )
        if not np.isfinite(parts).all() or (parts < 0).any() or not (parts.sum(axis=1) > 0).all():
            raise InputError("shares must be weights of the cells for the others: zero or more, not all zero")
        parts = np.broadcast_to(parts / parts.sum(axis=1, keepdims=True), (variances.size, cells))
        return cls(tuple(stated), tuple(map(float, variances)), np.asarray(parts))

    def evidence(self, off: Floats, priors: Floats) -> Floats:
        """Return the log of how much likelier noisy counts, less those known, make each cell than before."""
        logs = evidence_given_totals(off, self.variances, self.totals, self.shares)
        return np.asarray(logs - log_sum(np.log(priors) + logs))

    def simulated(
        self, priors: Floats, labels: NDArray[np.int64] | None, *, draws: int, seed: int | None
    ) -> tuple[float, float]:
        """Return how often the largest posterior is right in so many draws, and how far that may be off.

        Target, others and noise are drawn, and the largest posterior is averaged: it is the chance of being
        right given what is published. It lies between the largest prior and 1, so that the mean is within
        the empirical Bernstein bound of the truth 99 times in 100 (Maurer and Pontil 2009, Theorem 4, on both
        sides).

        >>> attack = TotalsAttack.read(0, np.array([5.04]), [1, 1], 2)
        >>> mean, error = attack.simulated(np.array([0.5, 0.5]), None, draws=200, seed=1)
        >>> abs(mean - 0.6226) < error
        True
        """
        if isinstance(draws, bool) or not isinstance(draws, int) or draws < 100:
            raise InputError(f"draws is {draws}; at least 100 are needed")
        if draws * priors.size > MOST_DRAWN:
            raise InputError(
                f"draws is {draws}; with {priors.size} cells at most {MOST_DRAWN // priors.size} are made. "
                "Without draws a bound is given"
            )
        if seed is not None and seed < 0:
            raise InputError(f"seed is {seed}; it must be zero or more")
        random = np.random.default_rng(seed)
        rings = [later - before for before, later in pairwise([0, *self.totals])]
        noises = [_drawing(variance) for variance in self.variances]
        largest = np.empty(draws)
        for draw in range(draws):
            counts, off = np.zeros(priors.size), np.empty((len(rings), priors.size))
            counts[random.choice(priors.size, p=priors)] = 1.0
            for level, (ring, (least, law)) in enumerate(zip(rings, noises, strict=True)):
                counts = counts + random.multinomial(ring, self.shares[level])
                off[level] = counts + np.searchsorted(law, random.random(priors.size)) + least
            posterior = priors * np.exp(self.evidence(off, priors))
            largest[draw] = (posterior if labels is None else np.bincount(labels, posterior)).max()
        nats, room = (
            math.log(4.0 / 0.01),
            1.0 - float((priors if labels is None else np.bincount(labels, priors)).max()),
        )
        error = math.sqrt(2.0 * largest.var(ddof=1) * nats / draws) + 7.0 * room * nats / (3.0 * (draws - 1))
        return float(largest.mean()), error


def _rows(shares: Numbers) -> list[Sequence[Number]]:
    """Shares as a row for each count, or one for all; what is no number is refused where it is read."""
    if isinstance(shares, np.ndarray):
        return cast("list[Sequence[Number]]", np.atleast_2d(shares).tolist())
    listed = list(shares) if isinstance(shares, (list, tuple)) else [shares]
    nests = bool(listed) and isinstance(listed[0], (list, tuple, np.ndarray))
    return cast("list[Sequence[Number]]", listed if nests else [listed])


def _drawing(variance: float) -> tuple[int, Floats]:
    """The least noise, and the chances of at most each value from there on, to draw from."""
    noise = DiscreteGaussian(variance=Fraction(variance))
    reach = math.ceil(math.sqrt(2.0 * variance * 40.0)) + 1
    law = np.cumsum(noise.pmf(np.arange(-reach, reach + 1)))
    law[-1] = 1.0
    return -reach, law


def evidence_given_totals(
    off: Floats, variances: Sequence[float], totals: Sequence[int], shares: Floats
) -> Floats:
    """Return the log of how much likelier each cell becomes than the average one, up to one constant.

    `off` has a row of noisy counts, less what is known, for each level from the lowest, `totals` the number
    of further people at each level, those of the levels below among them, and `shares` the chance of each
    cell for the people of each ring.

    >>> near = evidence_given_totals(np.array([[3.0, 0.0]]), [2.0], [2], np.array([[0.5, 0.5]]))
    >>> sure = evidence_given_totals(np.array([[3.0, 0.0]]), [2.0], [0], np.array([[0.5, 0.5]]))
    >>> round(float(near[0] - near[1]), 4), round(float(sure[0] - sure[1]), 4)   # sure: (3 - 0) / 2
    (0.9722, 1.5)
    """
    rings = [later - before for before, later in pairwise([0, *totals])]
    columns, cell, sizes = np.unique(
        np.concatenate([off, shares]), axis=1, return_inverse=True, return_counts=True
    )
    off, shares = columns[: len(variances)], columns[len(variances) :]
    top = [rings[0] + 1, *rings[1:]]  # with the target, there is one more in the lowest ring
    box = math.prod(most + 1 for most in top)
    if sizes.size > MOST_DIFFERENT:
        raise InputError(
            f"{sizes.size} cells differ in noisy counts or shares; with totals, at most {MOST_DIFFERENT} "
            f"may. Give even shares, or fewer cells. {_INSTEAD}"
        )
    if box * sizes.size > MOST_TABLED:
        raise InputError(
            f"{sizes.size} different cells with totals of {', '.join(map(str, rings))} others have "
            f"{box * sizes.size:.1e} counts to sum over; at most {MOST_TABLED:.0e} are. {_INSTEAD}"
        )
    tables = _tables(off, variances, shares, top)
    tilt = _tilted(tables, sizes, top)
    lean = _leaning(tilt, top)
    laws = [_trimmed((0,) * len(top), table + lean, logs=True) for table in tables]
    del tables
    _check_cost(laws, sizes, top)
    rest = [law.power(int(size) - 1, top) for law, size in zip(laws, sizes, strict=True)]
    whole = [others.times(law, top) for others, law in zip(rest, laws, strict=True)]
    nobody = _Part((0,) * len(top), np.ones((1,) * len(top)))
    after = list(accumulate(reversed(whole), lambda part, more: part.times(more, top), initial=nobody))[::-1]
    log_likelihoods, before = np.empty(sizes.size), nobody
    # no term is larger than the product of the largest values, so what is left out is below exp(-100) of it
    largest = sum(float(size) * law.log_scale for law, size in zip(laws, sizes, strict=True))
    gain = ((off - 0.5) / np.array(variances)[:, None]).sum(axis=0)
    for kind, law in enumerate(whole):
        (table,) = _tables(off[:, [kind]] - 1.0, variances, shares[:, [kind]], rings)
        own = _trimmed((0,) * len(top), table + _leaning(tilt, rings), logs=True)
        with_target = own.times(before.times(rest[kind], top), top)
        log_likelihoods[kind] = with_target.log_at(after[kind + 1], rings)
        if log_likelihoods[kind] < largest + own.log_scale - laws[kind].log_scale - _NATS + _SURE:
            log_likelihoods = _in_logarithms(off, variances, shares, rings, sizes)
            break
        before = before.times(law, top)
    return np.asarray((log_likelihoods + gain)[cell.reshape(-1)])


def _in_logarithms(
    off: Floats, variances: Sequence[float], shares: Floats, rings: Sequence[int], sizes: NDArray[np.int64]
) -> Floats:
    """The log likelihood of each cell by sums over all tables of which no term is left out."""
    box = math.prod(people + 1 for people in rings)
    products = float(box) ** 2 * (4.0 * sizes.size + float(np.log2(sizes).sum()))
    if products > MOST_LOGARITHMS:
        raise InputError(
            "the noisy counts are so far from what the totals allow that all tables count, about "
            f"{products:.1e} products of {sizes.size} different cells; at most {MOST_LOGARITHMS:.0e} are "
            f"summed. See whether the totals are those of these counts. {_INSTEAD}"
        )
    nobody = np.full(tuple(people + 1 for people in rings), -np.inf)
    nobody[(0,) * len(rings)] = 0.0
    without = _tables(off, variances, shares, rings)
    rest = []
    for law, size in zip(without, sizes.tolist(), strict=True):
        power, times, square = nobody, size - 1, law
        while times:
            power = _log_times(power, square) if times & 1 else power
            times >>= 1
            square = _log_times(square, square) if times else square
        rest.append(power)
    whole = [_log_times(others, law) for others, law in zip(rest, without, strict=True)]
    after = list(accumulate(reversed(whole), _log_times, initial=nobody))[::-1]
    log_likelihoods, before = np.empty(sizes.size), nobody
    for kind, law in enumerate(whole):
        (own,) = _tables(off[:, [kind]] - 1.0, variances, shares[:, [kind]], rings)
        mine = _log_times(_log_times(own, rest[kind]), before)
        log_likelihoods[kind] = log_sum((mine + np.flip(after[kind + 1])).ravel())
        before = _log_times(before, law)
    return log_likelihoods


def _log_times(first: Floats, second: Floats) -> Floats:
    """The logarithms of the coefficients of a product, up to the totals.

    >>> np.exp(_log_times(np.log([1.0, 2.0]), np.log([3.0, 5.0]))).round(6).tolist()   # 3 + 11 x + ...
    [3.0, 11.0]
    """
    logs = np.full(first.shape, -np.inf)
    for index in np.ndindex(second.shape):
        if second[index] > -np.inf:
            moved = tuple(slice(at, None) for at in index)
            kept = tuple(slice(0, size - at) for at, size in zip(index, first.shape, strict=True))
            logs[moved] = np.logaddexp(logs[moved], first[kept] + second[index])
    return logs


def _tables(off: Floats, variances: Sequence[float], shares: Floats, top: Sequence[int]) -> Floats:
    """log a of each cell, at each number of people of each ring; the squares of `off` are left out."""
    logs = np.zeros((off.shape[1], *(most + 1 for most in top)))
    summed = np.zeros((1,) * len(top))
    for level, many in enumerate(top):
        people = np.arange(many + 1.0)
        factorials = np.concatenate([[0.0], np.cumsum(np.log(people[1:]))])
        with np.errstate(divide="ignore", invalid="ignore"):
            prior = np.where(people > 0, np.log(shares[level])[:, None] * people, 0.0) - factorials
        logs += prior.reshape(-1, *(many + 1 if axis == level else 1 for axis in range(len(top))))
        summed = summed + _along(people, level, len(top))
        wide = off[level].reshape(-1, *(1,) * len(top))
        logs += (wide * summed - summed**2 / 2.0) / variances[level]
    return logs


def _along(values: Floats, axis: int, axes: int) -> Floats:
    """An array of as many axes, with the values along one of them."""
    return values.reshape(tuple(values.size if dimension == axis else 1 for dimension in range(axes)))


def _leaning(tilt: Sequence[float], top: Sequence[int]) -> Floats:
    """The logarithm of the factors r^n of all rings."""
    parts = [slope * np.arange(many + 1.0) for slope, many in zip(tilt, top, strict=True)]
    return np.asarray(sum(_along(part, axis, len(top)) for axis, part in enumerate(parts)))


def _tilted(tables: Floats, sizes: NDArray[np.int64], top: Sequence[int]) -> list[float]:
    """The tilt of each ring for which the means of all cells add up to its total, to half a deviation."""
    axes = tuple(range(1, tables.ndim))
    tilt = [0.0] * len(top)
    with np.errstate(invalid="ignore"):
        steps = [np.diff(tables, axis=axis) for axis in axes]
    # tilted further, all are at one end
    reach = [
        float(np.abs(differences[np.isfinite(differences)]).max(initial=0.0)) + _NATS for differences in steps
    ]
    del steps
    for _ in range(_SWEEPS if len(top) > 1 else 1):
        worst = 0.0
        for axis, many in enumerate(top):
            if many == 0:
                continue
            low, high, now = -reach[axis], reach[axis], tilt[axis]
            tilt[axis] = 0.0
            logs = log_sum_over(
                tables + _leaning(tilt, top), tuple(other for other in axes if other != axis + 1)
            )
            people = np.arange(many + 1.0)
            first = True
            for _ in range(200):
                leaning = logs + now * people
                law = np.exp(leaning - leaning.max(axis=1, keepdims=True))
                law /= law.sum(axis=1, keepdims=True)
                means = law @ people
                spread = float(((law @ people**2) - means**2) @ sizes)
                miss = float(means @ sizes) - many
                if first:
                    worst, first = max(worst, abs(miss) / math.sqrt(spread + 1e-6)), False
                if abs(miss) <= 0.2 * math.sqrt(max(spread, 0.0)) or high - low < 1e-12 * reach[axis]:
                    break
                low, high = (low, now) if miss > 0 else (now, high)
                step = now - miss / spread if spread > 1e-12 else math.inf
                now = step if low < step < high else (low + high) / 2.0
            tilt[axis] = now
        if worst <= 0.5:
            break
    return tilt


def log_sum_over(logs: Floats, axes: tuple[int, ...]) -> Floats:
    """Return log of the sum of exponentials over some axes.

    >>> log_sum_over(np.zeros((2, 3, 4)), (2,)).round(4).tolist()[0]
    [1.3863, 1.3863, 1.3863]
    """
    for axis in sorted(axes, reverse=True):
        logs = log_sum(logs, axis=axis)
    return logs


def _trimmed(least: tuple[int, ...], chances: Floats, log_scale: float = 0.0, *, logs: bool = False) -> _Part:
    """A law without the margins that hardly matter; the largest chance is one."""
    if not chances.size:
        return _Part(least, np.zeros((1,) * chances.ndim), log_scale)
    top = float(chances.max())
    if logs:
        chances, log_scale = np.exp(chances - top), log_scale + top
    elif top > 0:
        chances, log_scale = chances / top, log_scale + math.log(top)
    used = np.argwhere(chances > math.exp(-_NATS))
    if not used.size:
        return _Part(least, np.zeros((1,) * chances.ndim), log_scale)
    first, last = used.min(axis=0), used.max(axis=0)
    box = tuple(slice(a, b + 1) for a, b in zip(first, last, strict=True))
    return _Part(tuple(a + int(b) for a, b in zip(least, first, strict=True)), chances[box].copy(), log_scale)


def _check_cost(laws: Sequence[_Part], sizes: NDArray[np.int64], top: Sequence[int]) -> None:
    """Refuse sums that would take minutes."""
    boxes = np.array([law.chances.size for law in laws], dtype=np.float64)
    wide = 1.0
    for axis, many in enumerate(top):
        spread = 0.0
        for law, size in zip(laws, sizes, strict=True):
            line = law.chances.sum(axis=tuple(other for other in range(len(top)) if other != axis))
            places, line = np.arange(line.size), line / line.sum()
            spread += float(size) * (float(line @ places**2) - float(line @ places) ** 2)
        wide *= min(many + 1.0, 2.0 * math.sqrt(2.0 * _NATS * max(spread, 0.0)) + 2.0)
    products = 4.0 * float((wide * np.minimum(wide, boxes * sizes)).sum())
    if products > MOST_PRODUCTS:
        raise InputError(
            f"totals of {', '.join(str(people) for people in top)} people in {int(sizes.sum())} cells take "
            f"about {products:.1e} products; at most {MOST_PRODUCTS:.0e} are summed. {_INSTEAD}"
        )
