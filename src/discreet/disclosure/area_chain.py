"""Exact sums over the counts of a block and the areas around it, by messages from area to area.

The counts k_1 <= k_2 <= ... <= k_L of a block and the areas around it form a chain. With noise of known law
on each count and on the sum of each area's siblings, and a law for each count given the one below,

    weight(k) = prior(k_1) prod_j g_j(k_j) prod_j h_j(k_(j+1) - k_j) w_j(k_j),

and sums over all of them but one are found by passing one array up the chain and one down.

Guarantee. Sums run over windows. Chernoff bounds P[|noise| >= m] <= 2 exp(-m^2 / (2 v)) of the discrete
Gaussian, and of sums of them, bound the weight outside: a path leaves the windows only if one noise is that
large, and the other factors of each step add up to at most one. Divided by the sum inside, which is a lower
bound of the whole, this is the truncation error that is stated: it bounds the posterior mass left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from discreet.disclosure.areas import Area, Integers, Uniform, whole_or_none
from discreet.disclosure.odds import Floats, log_sum
from discreet.disclosure.siblings import SiblingNoise, log_noise
from discreet.errors import InputError, PrecisionError

MOST_STEPS = 400_000_000
"""Products of two neighbouring windows that are summed before a hierarchy is called too wide."""

SIBLINGS = ("exact", "single")
_MOST_AREAS = 20
_BLOCK = 4_000_000
_FIRST_NATS, _MOST_NATS = 60.0, 1e7  # of windows


class Rung(NamedTuple):
    """One step: an area, the next larger one, and the noise of the siblings' sum, if that is used."""

    below: Area
    area: Area
    noise: SiblingNoise | None

    def log_rest(self, rest: Integers) -> Floats:
        """Return log h: the law of the rest and, if used, what the sum of the siblings says of it."""
        if self.below.siblings == 0:
            return np.where(rest == 0, 0.0, -math.inf)
        logs = self.area.given_smaller.log_rest(rest)
        return logs if self.noise is None else logs + self.log_beside(rest)

    def log_beside(self, rest: Integers) -> Floats:
        """Return what the sum of the siblings says of the rest."""
        assert self.noise is not None
        assert self.below.siblings_noisy is not None
        return self.noise.log_pmf(self.below.siblings_noisy - rest)

    def log_seen(self, values: Integers) -> Floats:
        """Return log g: what the noisy count, the known count and the largest count say of each value."""
        area, largest, logs = self.area, self.area.given_smaller.largest, np.zeros(len(values))
        if area.noisy is not None:
            logs = log_noise(float(area.variance), area.noisy - values)
        if area.count is not None:
            logs = np.where(values == area.count, logs, -math.inf)
        return logs if largest is None else np.where(values <= largest, logs, -math.inf)


@dataclass(frozen=True, slots=True)
class AreaChain:
    """A block's possible counts with their log weights, but for a common `log_scale`, and the steps above."""

    first: Integers
    log_first: Floats
    log_scale: float
    steps: tuple[Rung, ...]


def build_chain(
    areas: Sequence[Area], *, prior: Fraction, known: int, siblings: Literal["exact", "single"] = "exact"
) -> AreaChain:
    """Return the chain of sums of a hierarchy, after checking that it nests."""
    if not 1 <= len(areas) <= _MOST_AREAS:
        raise InputError(f"a hierarchy has 1 to {_MOST_AREAS} areas; {len(areas)} were given")
    if siblings not in SIBLINGS:
        raise InputError(f"siblings is {siblings!r}; it must be 'exact' or 'single'")
    if (whole_or_none(known, "known") or 0) < 0 or known is None:
        raise InputError(f"known is {known}; the count of the others in the block is zero or more")
    _check_nesting(areas, known)
    _check_laws(areas)
    values = np.array([known, known + 1])
    block, logs, scale = areas[0], np.log([float(1 - prior), float(prior)]), 0.0
    if block.noisy is not None:  # by their difference: of two large numbers it would have few digits
        gain = float((block.noisy - known - Fraction(1, 2)) / block.variance)
        logs += [min(-gain, 0.0), min(gain, 0.0)]
        scale = float(log_noise(float(block.variance), block.noisy - values).max())
    if block.count is not None:
        logs = np.where(values == block.count, logs, -math.inf)
    steps = []
    for below, area in pairwise(areas):
        noise = None
        if below.siblings > 0 and below.siblings_noisy is not None:
            noise = SiblingNoise.of(below.siblings, float(below.variance), exact=siblings == "exact")
        steps.append(Rung(below, area, noise))
    return AreaChain(values, logs, scale, tuple(steps))


def _check_nesting(areas: Sequence[Area], known: int) -> None:
    least = known
    for index, area in enumerate(areas):
        name = area.name or f"area {index + 1}"
        if area.count is not None:
            if area.count < least:
                raise InputError(
                    f"the hierarchy does not nest: {name} is known to count {area.count}, "
                    f"but inside it {least} are known"
                )
            if index == 0 and area.count > known + 1:
                raise InputError(f"{name} is known to count {area.count}, but known is {known}")
            least = area.count
        if index and area.given_smaller.largest is not None and area.given_smaller.largest < least:
            raise InputError(
                f"the hierarchy does not nest: the prior of {name} ends at {area.given_smaller.largest}, "
                f"but inside it {least} are known"
            )
        below = areas[index - 1] if index else None
        seen = {area.noisy, area.count, area.given_smaller.largest}
        if below is not None and below.siblings > 0 and {*seen, below.siblings_noisy} == {None}:
            raise InputError(
                f"nothing says how large {name} is: give its noisy count, its known count, "
                "or the noisy sum of the areas beside the smaller one"
            )
        if index == len(areas) - 1 and area.siblings_noisy is not None:
            raise InputError(f"{name} is the largest area, so it has no siblings here; leave them out")


def _check_laws(areas: Sequence[Area]) -> None:
    """Refuse a law of what an area holds beside the smaller one, where it holds nothing beside it."""
    wrong = []
    for index, area in enumerate(areas):
        name, below = area.name or f"area {index + 1}", areas[index - 1] if index else None
        if area.states_law and below is None:
            wrong.append(
                f"{name} is the smallest area, whose prior is that of the target; leave its own (given) out"
            )
        elif area.states_law and below is not None and not below.siblings:
            inside = below.name or f"area {index}"
            wrong.append(
                f"the prior of {name} (given) is about the areas beside {inside}, which has none; say how "
                f"many (siblings of {inside}), or leave it out"
            )
    if wrong:
        raise InputError("; ".join(wrong))


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """The posterior of each count on its window, the log of all weight, and the mass left out at most."""

    values: tuple[Integers, ...]
    logs: tuple[Floats, ...]
    upward: tuple[Floats, ...]
    log_total: float
    truncation_error: float


def windows(chain: AreaChain, nats: float) -> tuple[list[tuple[int, int]], float] | None:
    """Return the window of each count and a bound on log(weight outside), or None if one is empty."""
    spans = [(int(chain.first[0]), int(chain.first[-1]))]
    rests: list[tuple[int, float]] = []  # how many more than in the smaller area
    tails: list[float] = []

    def around(centre: int, variance: float) -> tuple[int, int]:
        reach = math.isqrt(math.ceil(2.0 * variance * nats))
        tails.append(math.log(2.0) - (reach + 1) ** 2 / (2.0 * variance))
        return centre - reach, centre + reach

    for below, area, noise in chain.steps:
        rest: tuple[int, float] = (0, math.inf if below.siblings else 0)
        if noise is not None:
            low, high = around(below.siblings_noisy or 0, noise.count * noise.variance)
            rest = (max(low, 0), high)
        rests.append(rest)
        ends: list[tuple[float, float]] = [(spans[-1][0] + rest[0], spans[-1][1] + rest[1])]
        if area.noisy is not None:
            ends.append(around(area.noisy, float(area.variance)))
        if area.given_smaller.largest is not None:
            ends.append((-math.inf, area.given_smaller.largest))
        if area.count is not None:
            ends.append((area.count, area.count))
        bottom, top = max(low for low, _ in ends), min(high for _, high in ends)
        if bottom > top:
            return None
        spans.append((int(bottom), int(top)))
    for index in range(len(chain.steps) - 1, 0, -1):  # what lies above narrows what lies below
        least, most = rests[index]
        bottom = max(spans[index][0], spans[index + 1][0] - most)
        top = min(spans[index][1], spans[index + 1][1] - least)
        if bottom > top:
            return None
        spans[index] = (int(bottom), int(top))
    return spans, float(log_sum(np.array(tails))) if tails else -math.inf


def posterior_sums(chain: AreaChain, *, tolerance: float) -> Sums:
    """Return the posterior of every count, with at most `tolerance` of it left out."""
    nats = _FIRST_NATS
    while nats <= _MOST_NATS:
        windowed = windows(chain, nats)
        if windowed is not None:
            spans, outside = windowed
            sums = _passes(chain, spans, outside)
            if sums.truncation_error <= tolerance:
                return sums
            if math.isfinite(sums.log_total):
                # the sum inside only grows with the windows, so this many nats are enough
                nats = max(
                    1.01 * nats, 3.0 + math.log(2 * len(chain.steps)) - sums.log_total - math.log(tolerance)
                )
                continue
        nats *= 4.0
    raise InputError(
        "the hierarchy does not nest: no counts of its areas agree with what is known and the noisy counts "
        "(noise of more than 4,000 standard deviations would be needed)"
    )


def _passes(chain: AreaChain, spans: Sequence[tuple[int, int]], outside: float) -> Sums:
    values = [chain.first, *(np.arange(low, high + 1) for low, high in spans[1:])]
    steps = sum(len(a) * len(b) for a, b in pairwise(values))
    if steps > MOST_STEPS:
        raise PrecisionError(
            f"the sums over this hierarchy have {steps:.1e} terms, more than {MOST_STEPS:.1e}; "
            "its noise is too wide for an exact answer here"
        )
    seen, kernels = chain_parts(chain, values)
    up = [seen[0]]
    for kernel, here in zip(kernels, seen[1:], strict=True):
        up.append(here + _summed(kernel.from_above, kernel.parent, up[-1] + kernel.child_logs))
    down = [np.zeros(len(values[-1]))]
    for kernel, here in zip(reversed(kernels), reversed(seen[1:]), strict=True):
        down.insert(0, _summed(kernel.from_below, kernel.child, down[0] + here) + kernel.child_logs)
    total = float(log_sum(up[-1]))
    weight = total + chain.log_scale
    error = math.exp(min(outside - weight, 700.0)) if math.isfinite(total) else math.inf
    logs = tuple(a + b - total if math.isfinite(total) else a for a, b in zip(up, down, strict=True))
    return Sums(tuple(values), logs, tuple(up), weight, 0.0 if not chain.steps else error)


def chain_parts(
    chain: AreaChain, values: Sequence[Integers], *, constrained: bool = True
) -> tuple[list[Floats], list[Kernel]]:
    """Return what is seen of each count by itself, and the weights of each step between two of them."""
    seen = [chain.log_first, *(step.log_seen(v) for step, v in zip(chain.steps, values[1:], strict=True))]
    steps = zip(chain.steps, values[:-1], values[1:], strict=True)
    return seen, [Kernel(*step, constrained=constrained) for step in steps]


def _summed(weights: Callable[[Integers], Floats], here: Integers, message: Floats) -> Floats:
    """Sum a message over the counts on the other side of a step, for each count on this side."""
    rows = max(1, _BLOCK // len(message))
    parts = (here[start : start + rows] for start in range(0, len(here), rows))
    return np.concatenate([log_sum(weights(part) + message, axis=1) for part in parts])


class Kernel:
    """Log weights of a step between two areas, seen from either side, but for those of the child."""

    def __init__(self, step: Rung, child: Integers, parent: Integers, *, constrained: bool = True) -> None:
        self.child, self.parent, self.low = child, parent, int(parent[0] - child[-1])
        rest = np.arange(self.low, int(parent[-1] - child[0]) + 1)
        self.sound = step.log_rest(rest)
        self.upward = self.sound if constrained else step.log_beside(rest)  # whose rest may be negative
        # without siblings both counts are the same, whatever the law of the rest
        law = step.area.given_smaller if step.below.siblings else Uniform()
        self.child_logs = law.log_child(child)

    def from_above(self, parent: Integers) -> Floats:
        """Return the weights of the child's values given each of some parents."""
        return np.asarray(self.upward[parent[:, None] - self.child - self.low])

    def from_below(self, child: Integers) -> Floats:
        """Return the weights of the parent's values given each of some children."""
        return np.asarray(self.sound[self.parent - child[:, None] - self.low])
