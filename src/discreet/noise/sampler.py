"""Exact samples of integer noise, a hundred million and more a second.

`sample` draws from one distribution, `sample_many` from one per group of cells. Both use integers and
certified bounds only: narrow noise comes from a table (`inversion_table.py`), wide noise from narrow noise
(`wide_sampler.py`), noise with exact fractions from these (`fraction_sampler.py`), and every tie is settled
by exact inversion (`inversion.py`). Random bits are an argument (`entropy.py`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np

from discreet.calls import understandable
from discreet.errors import InputError
from discreet.noise.distribution import Noise
from discreet.noise.entropy import Entropy, SystemEntropy
from discreet.noise.fraction_sampler import FractionSampler
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.inversion import Integers
from discreet.noise.inversion_table import InversionTable, Workspace
from discreet.noise.lattice import LatticeNoise
from discreet.noise.table import TableNoise
from discreet.noise.wide_sampler import WideSampler
from discreet.numbers import Exact, is_column, shown

BLOCK = 1 << 18
"""Draws at a time: enough to spread the cost of each NumPy call, few enough for the cache."""

Sampler = InversionTable | WideSampler | FractionSampler
"""What draws one law."""

PARALLEL_FROM = 1 << 20
THREADS = 4


@understandable
def sample(distribution: Noise, size: int | Sequence[int], *, source: Entropy | None = None) -> Integers:
    """Return `size` independent draws as 64-bit integers.

    Guarantee. Assumed: `source` gives uniform and independent bits. Claimed: the draws are independent and
    have exactly the distribution named, far into both tails; no rounding, no truncation, no total-variation
    distance to account for. (What does not fit into 64 bits has a chance below exp(-2^30).) Each draw
    inverts the cumulative distribution at a uniform real of which as many bits are drawn as the answer
    needs. Decisions are comparisons of integers with thresholds certified by ball arithmetic. Not
    claimed: constant time. The argument is written out in `docs/explanation/sampling.md`.

    Large samples use several threads if `source` is the system's; any other source is read in order, so
    a seeded one gives the same draws again.

    >>> noise = sample(DiscreteGaussian(variance="5"), 100_000)
    >>> bool(4.8 < np.mean(noise.astype(float) ** 2) < 5.2)
    True
    >>> sample(DiscreteGaussian(variance="1/2"), (2, 3)).shape
    (2, 3)
    """
    shape = _shape(size)
    if not isinstance(distribution, Noise):
        raise InputError(f"{distribution!r} cannot be sampled; use DiscreteGaussian or DiscreteLaplace")
    source = SystemEntropy() if source is None else source
    sampler = _sampler(distribution.single())
    out = np.empty(math.prod(shape), dtype=np.int64)
    threads = min(THREADS, os.cpu_count() or 1)
    if out.size < PARALLEL_FROM or threads == 1 or type(source) is not SystemEntropy:
        _fill(sampler, out, source)
    else:
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(_fill, sampler, part, source) for part in np.array_split(out, threads)]:
                done.result()
    return out.reshape(shape)


def _shape(size: object) -> tuple[int, ...]:
    """The shape of a sample; its whole numbers may be floats, such as 10.0."""
    many = size if isinstance(size, tuple | list) else [size]
    shape = tuple(int(n) for n in many if isinstance(n, int | float | np.integer) and n == n // 1 >= 0)
    if len(shape) < len(many):
        found = "a column; for noise on counts take counts + sample(law, len(counts))"
        found = found if is_column(size) and size is not many else ", ".join(map(shown, many))
        raise InputError(f"size is {found}; it must be whole numbers, zero or more, such as 5 or (2, 3)")
    return shape


def sample_many(
    distributions: Sequence[Noise | Exact],
    counts: Sequence[int] | None = None,
    *,
    source: Entropy | None = None,
) -> Integers:
    """Return draws for many groups of cells, each with its own noise, in one array in the order given.

    A number stands for the variance of discrete Gaussian noise. `counts` says how many draws each group
    gets (one each, if left out). Groups with equal noise are drawn together. Guarantee: as for `sample`.

    >>> from discreet.noise import DiscreteLaplace
    >>> noise = sample_many(["5", 625, DiscreteLaplace(scale=2)], [3, 2, 4])
    >>> [part.size for part in np.split(noise, np.cumsum([3, 2]))]
    [3, 2, 4]
    """
    sizes = np.asarray([1] * len(distributions) if counts is None else counts, dtype=np.int64)
    if sizes.shape != (len(distributions),) or (sizes < 0).any():
        raise InputError(
            f"counts are {sizes.size} numbers for {len(distributions)} groups, the smallest "
            f"{sizes.min(initial=0)}; one number, zero or more, is needed for each group"
        )
    groups: dict[Noise, list[int]] = {}
    for i, item in enumerate(distributions):
        groups.setdefault(item if isinstance(item, Noise) else DiscreteGaussian(variance=item), []).append(i)
    out = np.empty(int(sizes.sum()), dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    for noise, members in groups.items():
        counts_here = sizes[members]
        draws = sample(noise, int(counts_here.sum()), source=source)
        # Draw number j of a group goes to the group's start plus j.
        ahead = np.cumsum(counts_here) - counts_here
        out[np.repeat(starts[members] - ahead, counts_here) + np.arange(draws.size)] = draws
    return out


def _fill(sampler: Sampler, out: Integers, source: Entropy) -> None:
    workspace = Workspace()
    for start in range(0, out.size, BLOCK):
        sampler.draw(out[start : start + BLOCK], source, workspace)


@lru_cache(maxsize=64)
def _sampler(noise: Noise) -> Sampler:
    """Return the tables of a distribution, which take at most 0.1 s to build and some 0.3 MB."""
    if isinstance(noise, TableNoise):
        return FractionSampler.of(noise.absent)
    if not isinstance(noise, LatticeNoise):
        return InversionTable.of(noise)
    shift = 0
    while noise.narrowed(shift).size > noise.WIDEST:
        shift += 1
    return WideSampler.of(noise, shift) if shift else InversionTable.of(noise)
