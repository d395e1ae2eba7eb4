"""Draws from the posterior of a hierarchy, as a check of the exact sums, and as in the paper.

Both samplers draw each count in turn given its neighbours. `constrained=False` draws the block's count
without the condition that it does not exceed the group's, which the paper states; its tables agree with
draws without it. Then X1 > X2 can occur, the conditionals fit no joint law, and what the chain tends to is
not the posterior of the stated model. `TwoLevels` has its stationary law.

Draws come from a seeded NumPy generator. That is right here: they estimate a number for an analyst and are
never added to anything that is released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.disclosure.area_chain import AreaChain, Kernel, Sums, chain_parts
from discreet.disclosure.areas import Integers, Uniform
from discreet.disclosure.odds import Floats
from discreet.errors import InputError

CHAINS = 500
BURN_IN = 200
MOST_DRAWS = 10**9


def run_chains(
    chain: AreaChain, sums: Sums, *, constrained: bool, draws: int, seed: int | None
) -> tuple[tuple[Integers, ...], tuple[Floats, ...], float, int]:
    """Run independent chains side by side and count where they are after `BURN_IN` steps.

    Returned are the values of each area's count, the shares of the draws there, the standard error of the
    target's probability, and the number of draws. The standard error is that between chains, so it holds
    however slowly they mix, if they mix at all.
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or not 2 <= draws <= MOST_DRAWS:
        raise InputError(f"draws is {draws}; it must be a whole number from 2 to {MOST_DRAWS}")
    if not constrained:  # the chain without the condition is defined for few hierarchies
        if len(chain.steps) != 1:
            raise InputError(
                "the unconstrained chain has two levels; use method='gibbs' for other hierarchies"
            )
        ((_, area, noise),) = chain.steps
        seen_alone = area.given_smaller == Uniform() and area.count is None
        if noise is None or area.noisy is None or not seen_alone:
            raise InputError(
                "the unconstrained chain needs the noisy counts of block, group and siblings, and the "
                "uniform prior; use method='gibbs' otherwise"
            )
    sums = _trimmed(sums)
    random = np.random.default_rng(seed)
    chains = min(CHAINS, draws)
    rounds = math.ceil(draws / chains)
    values = sums.values
    seen, kernels = chain_parts(chain, values, constrained=constrained)
    state = [np.full(chains, start) for start in _start(sums, chain_parts(chain, values)[1])]
    seen = [logs + kernel.child_logs for logs, kernel in zip(seen, kernels, strict=False)] + seen[-1:]
    counts = [np.zeros(len(value)) for value in values]
    hits = np.zeros(chains)
    for number in range(BURN_IN + rounds):
        for level in range(len(values)):
            weights = np.broadcast_to(seen[level], (chains, len(values[level])))
            if level < len(kernels):
                weights = weights + kernels[level].from_above(state[level + 1] + values[level + 1][0])
            if level > 0:
                weights = weights + kernels[level - 1].from_below(state[level - 1] + values[level - 1][0])
            state[level] = _pick(weights, random)
        if number >= BURN_IN:
            for level, where in enumerate(state):
                counts[level] += np.bincount(where, minlength=len(values[level]))
            hits += state[0]
    total = chains * rounds
    spread = float(np.std(hits / rounds, ddof=1)) / math.sqrt(chains) if chains > 1 else math.nan
    return values, tuple(count / total for count in counts), spread, total


def _trimmed(sums: Sums) -> Sums:
    """Drop ends of windows that hold less than 1e-12 of the mass each: no run of draws would see them."""
    spans = []
    for logs in sums.logs[1:]:
        mass = np.exp(logs)
        low = int(np.searchsorted(np.cumsum(mass), 1e-12))
        high = len(mass) - int(np.searchsorted(np.cumsum(mass[::-1]), 1e-12))
        spans.append(slice(low, high))

    whole = [slice(None), *spans]
    return replace(
        sums,
        values=tuple(array[span] for array, span in zip(sums.values, whole, strict=True)),
        logs=tuple(array[span] for array, span in zip(sums.logs, whole, strict=True)),
        upward=tuple(array[span] for array, span in zip(sums.upward, whole, strict=True)),
    )


def _pick(logs: Floats, random: np.random.Generator) -> Integers:
    """Draw one place in each row, by inversion."""
    with np.errstate(under="ignore"):
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    sums = np.cumsum(weights, axis=1)
    aim = random.random(len(sums)) * sums[:, -1]
    return np.asarray((sums <= aim[:, None]).sum(axis=1), dtype=np.int64)


def _start(sums: Sums, kernels: Sequence[Kernel]) -> list[int]:
    """Places of a possible path: the likeliest top, and each count below it the likeliest given the next."""
    places = [int(np.argmax(sums.upward[-1]))]
    for kernel, upward in zip(reversed(kernels), reversed(sums.upward[:-1]), strict=True):
        logs = kernel.from_above(kernel.parent[places[:1]])[0] + kernel.child_logs
        places.insert(0, int(np.argmax(upward + logs)))
    return places
