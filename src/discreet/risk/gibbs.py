"""Gibbs samplers of a hierarchy: of the stated model, and of the program behind the paper's tables.

Both draw each count in turn given its neighbours. `constrained=False` draws the block's count without the
condition that it does not exceed the group's, which the paper states and its tables lack. Then X1 > X2 can
occur, the conditionals fit no joint law, and what the chain tends to is not the posterior of the stated
model. `TwoLevels` has its stationary law.

Draws come from a seeded NumPy generator. That is right here: they estimate a number for an analyst and are
never added to anything that is released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.risk.hierarchy import AreaChain, Integers, Sums, Uniform, log_seen, log_step
from discreet.risk.model import Floats

CHAINS = 500
BURN_IN = 200
MOST_DRAWS = 10**9


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Shares of the draws by area and value, and the standard error of the target's probability."""

    values: tuple[Integers, ...]
    probabilities: tuple[Floats, ...]
    standard_error: float
    draws: int


def run_chains(chain: AreaChain, sums: Sums, *, constrained: bool, draws: int, seed: int | None) -> Drawn:
    """Run independent chains side by side and count where they are after `BURN_IN` steps.

    The standard error is that between chains, so it holds however slowly they mix, if they mix at all.
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or not 2 <= draws <= MOST_DRAWS:
        raise InputError(f"draws is {draws}; it must be a whole number from 2 to {MOST_DRAWS}")
    if not constrained:
        _check_unconstrained(chain)
    sums = _trimmed(sums)
    random = np.random.default_rng(seed)
    chains = min(CHAINS, draws)
    rounds = math.ceil(draws / chains)
    values = sums.values
    seen = [chain.log_first]
    for step, value in zip(chain.steps, values[1:], strict=True):
        seen.append(log_seen(step, value))
    kernels = [_Kernel(chain, values, place, constrained=constrained) for place in range(len(chain.steps))]
    state = [np.full(chains, start) for start in _start(chain, sums)]
    counts = [np.zeros(len(value)) for value in values]
    hits = np.zeros(chains)
    for number in range(BURN_IN + rounds):
        for place in range(len(values)):
            weights = np.broadcast_to(seen[place], (chains, len(values[place])))
            if place < len(kernels):
                weights = weights + kernels[place].from_above(state[place + 1] + values[place + 1][0])
            if place > 0:
                weights = weights + kernels[place - 1].from_below(state[place - 1] + values[place - 1][0])
            state[place] = _pick(weights, random)
        if number >= BURN_IN:
            for place, where in enumerate(state):
                counts[place] += np.bincount(where, minlength=len(values[place]))
            hits += state[0]
    total = chains * rounds
    spread = float(np.std(hits / rounds, ddof=1)) / math.sqrt(chains) if chains > 1 else math.nan
    return Drawn(values, tuple(count / total for count in counts), spread, total)


def _trimmed(sums: Sums) -> Sums:
    """Drop ends of windows that hold less than 1e-12 of the mass each: no run of draws would see them."""
    spans = []
    for logs in sums.logs[1:]:
        mass = np.exp(logs)
        low = int(np.searchsorted(np.cumsum(mass), 1e-12))
        high = len(mass) - int(np.searchsorted(np.cumsum(mass[::-1]), 1e-12))
        spans.append(slice(low, high))

    def cut(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        return (arrays[0], *(array[span] for array, span in zip(arrays[1:], spans, strict=True)))

    return replace(sums, values=cut(sums.values), logs=cut(sums.logs), upward=cut(sums.upward))


def _check_unconstrained(chain: AreaChain) -> None:
    """Refuse hierarchies for which the chain without the condition is not defined."""
    if len(chain.steps) != 1:
        raise InputError("the unconstrained chain has two levels; use method='gibbs' for other hierarchies")
    (step,) = chain.steps
    if step.siblings is None or step.noisy is None or step.law != Uniform() or step.known is not None:
        raise InputError(
            "the unconstrained chain needs the noisy counts of block, group and siblings, and the uniform "
            "prior; use method='gibbs' otherwise"
        )


class _Kernel:
    """Log weights of a step between two areas, seen from either side."""

    def __init__(
        self, chain: AreaChain, values: tuple[Integers, ...], place: int, *, constrained: bool = True
    ) -> None:
        step, child, parent = chain.steps[place], values[place], values[place + 1]
        self.child, self.parent, self.low = child, parent, int(parent[0] - child[-1])
        rest = np.arange(self.low, int(parent[-1] - child[0]) + 1)
        self.sound = log_step(step, rest)
        self.upward = self.sound
        if not constrained and step.siblings is not None:  # the rest may be negative
            self.upward = step.siblings.log_pmf(step.siblings_noisy - rest)
        self.child_logs = step.law.log_child(child)

    def from_above(self, parent: Integers) -> Floats:
        """Weights of the child's values given each chain's parent."""
        return np.asarray(self.upward[parent[:, None] - self.child[None, :] - self.low] + self.child_logs)

    def from_below(self, child: Integers) -> Floats:
        """Weights of the parent's values given each chain's child."""
        return np.asarray(self.sound[self.parent[None, :] - child[:, None] - self.low])


def _pick(logs: Floats, random: np.random.Generator) -> Integers:
    """Draw one place in each row, by inversion."""
    with np.errstate(under="ignore"):
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    sums = np.cumsum(weights, axis=1)
    aim = random.random(len(sums)) * sums[:, -1]
    return np.asarray((sums <= aim[:, None]).sum(axis=1), dtype=np.int64)


def _start(chain: AreaChain, sums: Sums) -> list[int]:
    """Places of a possible path: the likeliest top, and each count below it the likeliest given the next."""
    values = sums.values
    places = [int(np.argmax(sums.upward[-1]))]
    for place in range(len(chain.steps) - 1, -1, -1):
        kernel = _Kernel(chain, values, place)
        above = np.array([values[place + 1][places[0]]])
        places.insert(0, int(np.argmax(sums.upward[place] + kernel.from_above(above)[0])))
    return places
