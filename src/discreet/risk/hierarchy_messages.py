"""Exact sums over all counts of a hierarchy, by messages from area to area.

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
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.errors import InputError, PrecisionError
from discreet.risk.hierarchy_priors import Floats, Integers, Law
from discreet.risk.hierarchy_siblings import SiblingNoise

MOST_STEPS = 400_000_000
"""Products of two neighbouring windows that are summed before a hierarchy is called too wide."""

_BLOCK = 4_000_000
_FIRST_NATS = 60.0
_MOST_NATS = 1e7


@dataclass(frozen=True, slots=True)
class Step:
    """One area of the chain, above the first: what was seen of it and of the siblings below it."""

    law: Law
    noisy: int | None
    variance: float
    siblings: SiblingNoise | None
    """None: the smaller area is alone in this one, or the sum of its siblings is not used."""
    siblings_noisy: int
    alone: bool
    known: int | None


@dataclass(frozen=True, slots=True)
class Chain:
    """A block's possible counts with their log weights, and the steps above it."""

    first: Integers
    log_first: Floats
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """The posterior of each count on its window, the log of all weight, and the mass left out at most."""

    values: tuple[Integers, ...]
    logs: tuple[Floats, ...]
    upward: tuple[Floats, ...]
    log_total: float
    truncation_error: float


def log_noise(variance: float, offsets: Integers) -> Floats:
    """Return log P[noise = offset] of discrete Gaussian noise.

    >>> log_noise(1.0, np.array([0, 1])).round(4).tolist()
    [-0.9189, -1.4189]
    """
    from fractions import Fraction

    from discreet.noise import GaussianNoise

    return GaussianNoise(Fraction(variance)).log_pmf(offsets)


def log_sum(terms: Floats, axis: int | None = None) -> Floats:
    """Return log of the sum of exponentials, -inf where all are.

    >>> float(log_sum(np.log([0.5, 0.5]))), float(log_sum(np.array([-math.inf, -math.inf])))
    (0.0, -inf)
    """
    top = np.max(terms, axis=axis, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", under="ignore"):
        total = np.log(np.sum(np.exp(terms - safe), axis=axis, keepdims=True)) + safe
    return np.asarray(np.squeeze(total, axis=axis) if axis is not None else total.reshape(()))


def log_step(step: Step, rest: Integers) -> Floats:
    """Return log h: the law of the rest and, if used, what the sum of the siblings says of it."""
    if step.alone:
        return np.where(rest == 0, 0.0, -math.inf)
    logs = step.law.log_rest(rest)
    if step.siblings is not None:
        logs = logs + step.siblings.log_pmf(step.siblings_noisy - rest)
    return logs


def log_seen(step: Step, values: Integers) -> Floats:
    """Return log g: what the noisy count, the known count and the largest count say of each value."""
    logs = np.zeros(len(values))
    if step.noisy is not None:
        logs = logs + log_noise(step.variance, step.noisy - values)
    if step.known is not None:
        logs = np.where(values == step.known, logs, -math.inf)
    if step.law.upper is not None:
        logs = np.where(values <= step.law.upper, logs, -math.inf)
    return logs


def windows(chain: Chain, nats: float) -> tuple[list[tuple[int, int]], float] | None:
    """Return the window of each count and a bound on log(weight outside), or None if one is empty."""
    spans = [(int(chain.first[0]), int(chain.first[-1]))]
    rests: list[tuple[int, float]] = []
    tails: list[float] = []

    def around(centre: int, variance: float) -> tuple[int, int]:
        reach = math.isqrt(math.ceil(2.0 * variance * nats))
        tails.append(math.log(2.0) - (reach + 1) ** 2 / (2.0 * variance))
        return centre - reach, centre + reach

    for step in chain.steps:
        low: int = 0
        high: float = math.inf  # of the rest: how many more than in the smaller area
        if step.alone:
            high = 0
        elif step.siblings is not None:
            left, right = around(step.siblings_noisy, step.siblings.count * step.siblings.variance)
            low, high = max(left, 0), right
        rests.append((low, high))
        bottom: float = spans[-1][0] + low
        top: float = spans[-1][1] + high
        if step.noisy is not None:
            left, right = around(step.noisy, step.variance)
            bottom, top = max(bottom, left), min(top, right)
        if step.law.upper is not None:
            top = min(top, step.law.upper)
        if step.known is not None:
            bottom, top = max(bottom, step.known), min(top, step.known)
        if bottom > top:
            return None
        spans.append((int(bottom), int(top)))
    for place in range(len(chain.steps) - 1, 0, -1):  # what lies above narrows what lies below
        least, most = rests[place]
        bottom = max(spans[place][0], spans[place + 1][0] - most)
        top = min(spans[place][1], spans[place + 1][1] - least)
        if bottom > top:
            return None
        spans[place] = (int(bottom), int(top))
    return spans, float(log_sum(np.array(tails))) if tails else -math.inf


def posterior_sums(chain: Chain, *, tolerance: float) -> Sums:
    """Return the posterior of every count, with at most `tolerance` of it left out."""
    nats = _FIRST_NATS
    while nats <= _MOST_NATS:
        found = windows(chain, nats)
        if found is not None:
            spans, outside = found
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


def _passes(chain: Chain, spans: Sequence[tuple[int, int]], outside: float) -> Sums:
    values = [chain.first, *(np.arange(low, high + 1) for low, high in spans[1:])]
    steps = sum(len(a) * len(b) for a, b in pairwise(values))
    if steps > MOST_STEPS:
        raise PrecisionError(
            f"the sums over this hierarchy have {steps:.1e} terms, more than {MOST_STEPS:.1e}; "
            "its noise is too wide for an exact answer here"
        )
    seen = [chain.log_first, *(log_seen(s, v) for s, v in zip(chain.steps, values[1:], strict=True))]
    up = [seen[0]]
    for place, step in enumerate(chain.steps):
        below = up[-1] + step.law.log_child(values[place])
        up.append(seen[place + 1] + _through(step, below, values[place], values[place + 1], downward=False))
    down = [np.zeros(len(values[-1]))]
    for place in range(len(chain.steps) - 1, -1, -1):
        step, above = chain.steps[place], down[0] + seen[place + 1]
        message = _through(step, above, values[place], values[place + 1], downward=True)
        down.insert(0, message + step.law.log_child(values[place]))
    total = float(log_sum(up[-1]))
    error = math.exp(min(outside - total, 700.0)) if math.isfinite(total) else math.inf
    logs = tuple(a + b - total if math.isfinite(total) else a for a, b in zip(up, down, strict=True))
    return Sums(tuple(values), logs, tuple(up), total, 0.0 if not chain.steps else error)


def _through(step: Step, message: Floats, child: Integers, parent: Integers, *, downward: bool) -> Floats:
    """Sum a message over the child's counts (upward) or the parent's (downward)."""
    low = int(parent[0] - child[-1])
    kernel = log_step(step, np.arange(low, int(parent[-1] - child[0]) + 1))
    here, there = (child, parent) if downward else (parent, child)
    sign = -1 if downward else 1
    result = np.empty(len(here))
    rows = max(1, _BLOCK // len(there))
    for start in range(0, len(here), rows):
        part = here[start : start + rows]
        rest = sign * (part[:, None] - there[None, :]) - low
        result[start : start + rows] = log_sum(kernel[rest] + message[None, :], axis=1)
    return result
