"""An upper bound where the joint law is out of reach: the adversary is told the keys of all other records.

Then one key is left, that of the record's own group, which is uniform as long as somebody else is in the
group. The cells that count the record have this key plus a known one, and delta is averaged over the known
ones: over all of them (`arcs` where they are independent), or over a sample, with what the sample may miss
added.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log, nextafter

import numpy as np
from numpy.typing import NDArray

from discreet.cellkey.arcs import arc_pairs, mean_delta
from discreet.cellkey.lattice import are_independent, column_basis
from discreet.cellkey.table import PerturbationTable

MOST_AVERAGED = 1 << 20
"""Keys that are enumerated, known and unknown together."""

SAMPLES = 4000
FAILURE = 1e-9
"""How often the draw of a sample would leave a bound too low, for each number that is bounded."""

SEED = 28

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RevealedBound:
    """Upper bounds on delta, where e^epsilon is each of some ratios, and on delta at any epsilon.

    Without a sample they are averages over all keys; a sample leaves each too low with a chance of `failure`.
    """

    deltas: tuple[float, ...]
    certain: float
    failure: float


def revealed_bound(
    table: PerturbationTable,
    others: Sequence[Sequence[int]],
    before: Sequence[int],
    ratios: Sequence[Fraction],
) -> RevealedBound | None:
    """Return the bound for cells with these counts that all gain a record, or lose it again.

    `others` has a row for each of these cells and a column for each other group that is not empty. There is
    none where keys are too many to enumerate.

    >>> from discreet.cellkey.table import perturbation_table
    >>> table = perturbation_table({1: {-1: "1/4", 0: "1/2", 1: "1/4"}}, modulus=8)
    >>> revealed_bound(table, [(0,), (1,)], (5, 9), [Fraction(1)]).certain
    0.531250001
    """
    after = [count + 1 for count in before]
    basis = column_basis(others)
    generators = len(basis[0]) if basis else 0
    modulus = table.modulus
    # a smaller ratio gives a larger delta
    factors = np.array([nextafter(float(ratio), 0.0) for ratio in ratios])
    if modulus is not None:
        if modulus > MOST_AVERAGED:
            return None
        noises = [_by_key(table, counts, modulus) for counts in (before, after)]
        shifts: Iterator[NDArray[np.int64]]
        if modulus ** (generators + 1) <= MOST_AVERAGED:
            every = product(range(modulus), repeat=generators)
            shifts = (_shift(basis, keys, modulus) for keys in every)
            return _averaged([_of_shift(noises, shift, factors) for shift in shifts], sampled=False)
        draw = np.random.default_rng(SEED)
        shifts = (
            _shift(basis, draw.integers(0, modulus, generators).tolist(), modulus) for _ in range(SAMPLES)
        )
        return _averaged([_of_shift(noises, shift, factors) for shift in shifts], sampled=True)
    whole = _over_independent_keys(table, others, before, factors)
    if whole is not None:
        return whole
    draw_real = random.Random(SEED)
    rows = [[_row(table, count) for count in counts] for counts in (before, after)]
    deltas = []
    for _ in range(SAMPLES if generators else 1):
        keys = [draw_real.random() for _ in range(generators)]
        known = [sum(x * key for x, key in zip(row, keys, strict=True)) % 1.0 for row in basis]
        deltas.append(_on_arcs(rows, known, factors))
    return _averaged(deltas, sampled=generators > 0)


def _over_independent_keys(
    table: PerturbationTable, others: Sequence[Sequence[int]], before: Sequence[int], factors: Vector
) -> RevealedBound | None:
    """The averages over all real keys, where those of the cells are independent; none where they are not."""
    if not are_independent([(1, *row) for row in others], None):
        return None
    arcs = {count: arc_pairs(table, count) for count in set(before)}
    both = []
    for swapped in (False, True):
        known = {count: pair.swapped if swapped else pair for count, pair in arcs.items() if pair is not None}
        if len(known) < len(arcs):
            return None
        cells = [known[count] for count in before]
        means = [mean_delta(cells, float(factor)) for factor in factors] + [mean_delta(cells, None)]
        if any(mean is None for mean in means):
            return None
        both.append(means)
    return _averaged([np.array(both, dtype=np.float64)], sampled=False)


def _averaged(samples: Sequence[Vector], *, sampled: bool) -> RevealedBound:
    """Return the averages of deltas in both directions, the larger of each; of a sample, with its margin.

    The margin is the empirical Bernstein bound for the mean of numbers in [0, 1].
    """
    values = np.array(samples)
    means = values.mean(axis=0) + 1e-9  # for the rounding of floats
    if sampled:
        many, doubt = len(samples), log(4 / FAILURE)  # half of the chance for each direction
        spread = values.var(axis=0, ddof=1)
        means += np.sqrt(2 * spread * doubt / many) + 7 * doubt / (3 * (many - 1))
    worst = np.minimum(means.max(axis=0), 1.0)
    return RevealedBound(tuple(worst[:-1].tolist()), float(worst[-1]), FAILURE if sampled else 0.0)


def _by_key(table: PerturbationTable, counts: Sequence[int], modulus: int) -> NDArray[np.int64]:
    return np.array([[table.noise(count, key) for key in range(modulus)] for count in counts])


def _shift(basis: Sequence[Sequence[int]], keys: Sequence[int], modulus: int) -> NDArray[np.int64]:
    return np.array([sum(x * key for x, key in zip(row, keys, strict=True)) % modulus for row in basis])


def _of_shift(noises: Sequence[NDArray[np.int64]], shift: NDArray[np.int64], factors: Vector) -> Vector:
    modulus = noises[0].shape[1]
    places = (np.arange(modulus)[None, :] + shift[:, None]) % modulus
    first = np.take_along_axis(noises[0], places, axis=1)
    second = np.take_along_axis(noises[1], places, axis=1) + 1
    return _deltas(first, second, np.full(modulus, 1.0 / modulus), factors)


def _row(table: PerturbationTable, count: int) -> tuple[Vector, NDArray[np.int64]]:
    row = table.row(count)
    return np.array([float(upper) for upper in row.uppers]), np.array(row.noises)


def _on_arcs(
    rows: Sequence[Sequence[tuple[Vector, NDArray[np.int64]]]], known: Sequence[float], factors: Vector
) -> Vector:
    """Return the deltas for known keys: between neighbouring ends, every cell has one noise."""
    ends = np.unique(
        np.concatenate(
            [(uppers - key) % 1.0 for side in rows for (uppers, _), key in zip(side, known, strict=True)]
        )
    )
    ends = np.append(ends, ends[0] + 1.0)
    middles = (ends[:-1] + ends[1:]) / 2
    first, second = (
        np.array(
            [
                noises[
                    np.minimum(np.searchsorted(uppers, (middles + key) % 1.0, side="right"), len(noises) - 1)
                ]
                for (uppers, noises), key in zip(side, known, strict=True)
            ]
        )
        for side in rows
    )
    return _deltas(first, second + 1, np.diff(ends), factors)


def _deltas(first: NDArray[np.int64], second: NDArray[np.int64], widths: Vector, factors: Vector) -> Vector:
    """Return delta at each ratio and at any epsilon, in both directions, of what is published."""
    many = len(widths)
    shown = np.concatenate([first, second], axis=1)
    shown -= shown.min()
    base = int(shown.max()) + 1
    if base ** len(shown) < 2**62:  # one number for each outcome, which is much faster to compare
        shown = (base ** np.arange(len(shown), dtype=np.int64) @ shown)[None, :]
    _, codes = np.unique(shown, axis=1 if len(shown) > 1 else None, return_inverse=True)
    codes = codes.ravel()
    size = int(codes.max()) + 1
    p = np.bincount(codes[:many], widths, size)
    q = np.bincount(codes[many:], widths, size)
    return np.array(
        [
            [*(np.maximum(a - factor * b, 0.0).sum() for factor in factors), a[b <= 1e-12].sum()]
            for a, b in ((p, q), (q, p))
        ]
    )
