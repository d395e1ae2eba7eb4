"""What the Budget page shows, computed from the state alone: numbers, curves, the worst pair, savings.

`quick` and `errors` are for the main path and run while a slider is dragged; `overall` and `saving` run when
it is let go. All take and return plain data that can be sent to another process.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.calibration import below, solve_factor
from discreet.accounting.comparisons import ZCDP, GaussianDP
from discreet.accounting.overall import account
from discreet.accounting.privacy_loss import compose
from discreet.budget.events import DiscreteGaussian, Event
from discreet.budget.neighbours import Neighbours
from discreet.budget.release import Release
from discreet.workbench.results import Errors, Line, Overall, Quick
from discreet.workbench.state import State

POINTS = 42
"""Points of a curve while a slider moves."""

_DEEPEST = 1e-16  # the curve is drawn down to here, or to below the chosen delta
_THRESHOLDS = 24
_CORNERS = np.concatenate([np.geomspace(1e-6, 0.02, 14), np.linspace(0.03, 1.0, 40)])

Events = tuple[Event, ...]


def quick(events: Events, delta: Fraction) -> Quick:
    """Return the numbers and the curve of one case.

    >>> from discreet.workbench.state import State
    >>> found = quick(State.of("dhc-2020").main_events, Fraction(1, 10**10))
    >>> round(found.epsilon, 4), round(found.zcdp, 4), round(found.gdp, 4)
    (24.4565, 26.3406, 24.4565)
    """
    loss, zcdp, gdp = compose(events), ZCDP(events), GaussianDP(events)
    small = float(delta)
    top = float(zcdp.epsilon(delta=min(_DEEPEST, small / 10)))
    grid = np.linspace(0.0, top, POINTS)
    exact = loss.delta(epsilon=grid)
    lines = (exact, zcdp.delta(epsilon=grid), gdp.delta(epsilon=grid))
    return Quick(
        max(float(loss.epsilons([delta])[0]), 0.0),
        float(zcdp.epsilon(delta=small)),
        float(gdp.epsilon(delta=small)),
        zcdp.rho,
        float(exact[0]),
        tuple(_line(grid, line) for line in lines),  # type: ignore[arg-type]
    )


def errors(events: Events) -> Errors:
    """Return the trade-off curves of one case: type I against type II error.

    The exact one by its points at fixed losses, each of which lies on the curve; by symmetry those of one
    half give the other.

    >>> found = errors((DiscreteGaussian(variance=5, times=10),))
    >>> found.lines[0][0], found.lines[0][-1], round(found.missed, 6)
    ((0.0, 1.0), (1.0, 0.0), 0.591342)
    """
    loss, zcdp, gdp = compose(events), ZCDP(events), GaussianDP(events)
    spread = math.sqrt(max(loss.variance, 1e-12))
    # from the middle of the curve out to where nothing can be seen
    far = loss.mean + 5 * spread
    alpha, beta = loss.errors(threshold=np.linspace(0.0, far, _THRESHOLDS))
    points = {(float(a), float(b)) for a, b in zip(alpha, beta, strict=True)}
    points |= {(b, a) for a, b in points} | {(0.0, 1.0), (1.0, 0.0)}
    ordered = sorted(points, key=lambda point: (point[0], -point[1]))
    alphas = np.concatenate([[0.0], _CORNERS])
    lines = (tuple(ordered), *(_line(alphas, curve.tradeoff(alpha=alphas)) for curve in (zcdp, gdp)))
    return Errors(lines, float(loss.tradeoff(alpha="1/20")))  # type: ignore[arg-type]


def quick_of(state: State) -> Quick:
    """Return `quick` of the main path of a state."""
    return quick(state.main_events, state.delta)


def errors_of(state: State) -> Errors:
    """Return `errors` of the main path of a state."""
    return errors(state.main_events)


def saving_of(state: State) -> float:
    """Return `saving` of the main path of a state."""
    return saving(state.main_events, state.delta)


def main_events(release: Release, neighbours: Neighbours) -> Events:
    """Return the events that tell two neighbours of the main path apart."""
    events = release.path_events(release.main)
    return (*events, *events) if neighbours == "bounded" else events


def overall(
    release: Release,
    neighbours: Neighbours,
    delta: Fraction,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Overall:
    """Return the worst over all cases, as `discreet account` finds it.

    >>> from discreet.budget import load
    >>> overall(load("dhc-2022-08-25"), "unbounded", Fraction(1, 10**10)).worst
    (1,)
    """
    made = account(release, neighbours=neighbours, jobs=jobs)
    point = made.with_workers(jobs, progress).at_delta(delta)[0]
    return Overall(max(point.epsilon, 0.0), point.worst, made.main, made.pairs)


def saving(events: Events, delta: Fraction) -> float:
    """Return the part of all variances that could be saved while zCDP's promise at delta is kept.

    By the main path, with one factor on all variances; `discreet calibrate --zcdp` does it for all pairs.

    >>> from discreet.workbench.state import State
    >>> round(100 * saving(State.of("dhc-2022-08-25").main_events, Fraction(1, 10**10)), 2)
    12.28
    """
    return float(1 - saving_factor(events, delta))


def saving_factor(events: Events, delta: Fraction) -> Fraction:
    """Return the factor on all variances at which the exact epsilon is what zCDP says now."""
    target = float(below(ZCDP(events).epsilon(delta=float(delta))))
    return solve_factor(lambda size: float(compose(scaled(events, size)).epsilons([delta])[0]), target)


def scaled(events: Events, factor: Fraction) -> Events:
    """Return the events with Gaussian variances times a factor; Laplace noise stays."""
    return tuple(
        DiscreteGaussian(variance=event.variance * factor, sensitivity=event.sensitivity, times=event.times)
        if isinstance(event, DiscreteGaussian)
        else event
        for event in events
    )


def _line(x: Any, y: Any) -> Line:
    return tuple((float(a), float(b)) for a, b in zip(x, y, strict=True))
