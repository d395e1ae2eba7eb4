"""Exact samples of integer noise, a hundred million and more a second.

`sample` draws from one distribution, `sample_many` from one per group of cells. Narrow noise comes from
`table`, wide noise from `wide`; both use integers and certified bounds only.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.errors import InputError
from discreet.noise.distribution import Noise
from discreet.noise.entropy import Entropy, SystemEntropy
from discreet.noise.gaussian import GaussianNoise
from discreet.noise.laplace import LaplaceNoise
from discreet.noise.table import Integers, InversionTable
from discreet.noise.wide import WideSampler
from discreet.noise.workspace import Workspace
from discreet.numbers import Exact

BLOCK = 1 << 18
"""Draws made at a time: enough to spread the cost of each NumPy call, few enough for the cache."""

PARALLEL_FROM = 1 << 20
THREADS = 4

WIDE_FROM = {GaussianNoise: Fraction(1 << 22), LaplaceNoise: Fraction(1 << 9)}
"""Parameters from here on are split; the narrow part keeps between a quarter (half) of it and it."""


def sample(distribution: Noise, size: int | tuple[int, ...], *, source: Entropy | None = None) -> Integers:
    """Return `size` independent draws as 64-bit integers.

    Guarantee. Assumed: `source` gives uniform and independent bits. Claimed: the draws are independent and
    have exactly the distribution named, far into both tails; no rounding, no truncation, no total-variation
    distance to account for. (What does not fit into 64 bits has a chance below exp(-2^30).) Each draw
    inverts the cumulative distribution at a uniform real of which as many bits are drawn as the answer
    needs. Decisions are comparisons of integers with thresholds certified by ball arithmetic. Not
    claimed: constant time. The argument is written out in `docs/explanation/sampling.md`.

    Large samples use several threads if `source` is the system's; any other source is read in order, so
    a seeded one gives the same draws again.

    >>> noise = sample(GaussianNoise("5"), 100_000)
    >>> bool(4.8 < np.mean(noise.astype(float) ** 2) < 5.2)
    True
    >>> sample(LaplaceNoise("1/2"), (2, 3)).shape
    (2, 3)
    """
    shape = size if isinstance(size, tuple) else (operator.index(size),)
    if any(n < 0 for n in shape):
        raise InputError(f"size is {size}; a number of draws is zero or more")
    source = SystemEntropy() if source is None else source
    sampler = _sampler(distribution)
    out = np.empty(math.prod(shape), dtype=np.int64)
    threads = min(THREADS, os.cpu_count() or 1)
    if out.size < PARALLEL_FROM or threads == 1 or type(source) is not SystemEntropy:
        _fill(sampler, out, source)
    else:
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(_fill, sampler, part, source) for part in np.array_split(out, threads)]:
                done.result()
    return out.reshape(shape)


def sample_many(
    distributions: Sequence[Noise | Exact],
    counts: Sequence[int] | None = None,
    *,
    source: Entropy | None = None,
) -> Integers:
    """Return draws for many groups of cells, each with its own noise, in one array in the order given.

    A number stands for the variance of discrete Gaussian noise. `counts` says how many draws each group
    gets (one each, if left out). Groups with equal noise are drawn together. Guarantee: as for `sample`.

    >>> noise = sample_many(["5", 625, LaplaceNoise(2)], [3, 2, 4])
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
        groups.setdefault(item if isinstance(item, Noise) else GaussianNoise(item), []).append(i)
    out = np.empty(int(sizes.sum()), dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    for noise, members in groups.items():
        counts_here = sizes[members]
        draws = sample(noise, int(counts_here.sum()), source=source)
        # Draw number j of a group goes to the group's start plus j.
        ahead = np.cumsum(counts_here) - counts_here
        out[np.repeat(starts[members] - ahead, counts_here) + np.arange(draws.size)] = draws
    return out


def _fill(sampler: InversionTable | WideSampler, out: Integers, source: Entropy) -> None:
    workspace = Workspace()
    for start in range(0, out.size, BLOCK):
        sampler.draw(out[start : start + BLOCK], source, workspace)


@lru_cache(maxsize=64)
def _sampler(noise: Noise) -> InversionTable | WideSampler:
    """Return the tables of a distribution: at most 0.1 s to make, some 0.3 MB to keep."""
    if isinstance(noise, GaussianNoise):
        # s = 2^shift divides the variance by 4^shift
        shift = _halvings(noise.variance / WIDE_FROM[GaussianNoise], 4)
    elif isinstance(noise, LaplaceNoise):
        shift = _halvings(noise.scale / WIDE_FROM[LaplaceNoise], 2)
    else:
        raise InputError(f"{noise!r} cannot be sampled; use GaussianNoise or LaplaceNoise")
    return WideSampler.of(noise, shift) if shift else InversionTable.of(noise)


def _halvings(excess: Fraction, base: int) -> int:
    shift = 0
    while excess > 1:
        excess /= base
        shift += 1
    return shift
