"""The computations for the pages, which run in other processes.

Every task calls one function, in most cases a public one of another package of `discreet`. It states how long
it may take, and its cost is estimated from its release. `quick` and `errors` cover the main path and run
while a slider is dragged; `overall` and `saving` cover all pairs and run when it is let go.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from discreet.accounting.account import account
from discreet.accounting.calibration import Calibration
from discreet.accounting.privacy_loss import compose
from discreet.budget import Release
from discreet.budget.neighbours import Neighbours
from discreet.comparisons.costs import usual_zcdp
from discreet.comparisons.curve import Comparison
from discreet.comparisons.gaussian_dp import GaussianDP
from discreet.comparisons.sampling import finite_epsilons, sample_profile, tradeoff_from_profile
from discreet.comparisons.zcdp import ZCDP
from discreet.disclosure.adversary import PRIORS, Line, line_of
from discreet.disclosure.everything import ReleaseRisk, risk
from discreet.disclosure.profile import RiskProfile, best_accuracies, risk_profile
from discreet.estimation import accuracy
from discreet.estimation.expected_accuracy import MarginLine, margin_lines
from discreet.noise import DiscreteGaussian, Noise
from discreet.promises.calibrating import calibrate

Answer = TypeVar("Answer")
Events = tuple[Noise, ...]
POINTS = 42
"""Points of a curve while a slider moves."""

_THRESHOLDS = 24
_UNSEEN = 1e-12


class Task(NamedTuple, Generic[Answer]):
    """A function that computes something for a page, and what calling it costs."""

    work: Callable[..., Answer]
    seconds: float
    """For one case of a release with ten kinds of noise, on one processor."""
    deadline: float
    all_cases: bool = False
    """Whether each pair of paths is a case, rather than the main path alone."""
    reports: bool = False
    """Whether it takes a function to which it reports progress."""

    def cost(self, *arguments: object) -> float:
        """Estimate its duration in seconds, from the release or the events among its arguments.

        >>> from discreet.budget import load
        >>> release = load("dhc-2020")
        >>> QUICK.cost(release.path_events(release.main), Fraction(1, 10)) < 1 < OVERALL.cost(release)
        True
        """
        seconds = self.seconds
        for argument in arguments:
            if isinstance(argument, Release):
                many = len(argument.paths)
                cases = many * (many + 1) / 2 if argument.neighbours == "bounded" else many
                kinds = len(set(argument.path_events(argument.main)))
                seconds *= max(1.0, kinds / 10) * (cases if self.all_cases else 1)
            elif isinstance(argument, tuple):
                seconds *= max(1.0, len(set(argument)) / 10)
        return seconds


def warm() -> None:
    """Make the first real request as fast as the others."""
    events = (DiscreteGaussian(variance=5, times=10),)
    errors(events)
    quick(events, Fraction(1, 10**10))


def deepest_drawn(delta: Fraction) -> Fraction:
    """Return down to where a curve is drawn: a usual delta, or below the chosen one.

    >>> deepest_drawn(Fraction(1, 10**10)) == Fraction(1, 10**16)
    True
    """
    return min(Fraction(1, 10**16), delta / 10)


class Quick(NamedTuple):
    """The main path at the chosen delta, and its curve: `profile` has lines for exact, zCDP and GDP.

    Where losses may be infinite zCDP and GDP say nothing: they are infinite, without a line.
    """

    epsilon: float
    zcdp: float
    gdp: float
    advantage: float
    profile: tuple[Line, Line, Line]


def quick(events: Events, delta: Fraction) -> Quick:
    """Return the numbers and the curve of one case.

    >>> from discreet.workbench.state import State
    >>> found = quick(State.of("dhc-2020").main_events, Fraction(1, 10**10))
    >>> round(found.epsilon, 4), round(found.zcdp, 4), round(found.gdp, 4)
    (24.4565, 26.3406, 24.4565)
    """
    loss, usual = compose(events), _usual(events)
    deepest = deepest_drawn(delta)
    small, floor = float(delta), float(deepest)
    end = float(usual[0].epsilon(delta=floor)) if usual else float(finite_epsilons(loss)[-1])
    grid = np.linspace(0.0, end, POINTS)
    exact = loss.delta(epsilon=grid)
    chosen, last = map(float, loss.law.epsilons([delta, deepest]))
    # the curve may drop between two points of the grid, as with Laplace noise
    known = ((chosen, small), (last, floor))
    line = [at for at in line_of(grid, exact) if at[1] > floor]
    line += [at for at in known if 0 < at[0] < math.inf]
    at_zcdp, at_gdp = [float(curve.epsilon(delta=small)) for curve in usual] or [math.inf, math.inf]
    bounds: list[Line] = [line_of(grid, curve.delta(epsilon=grid)) for curve in usual] or [(), ()]
    return Quick(
        max(chosen, 0.0), at_zcdp, at_gdp, float(exact[0]), (tuple(sorted(line)), bounds[0], bounds[1])
    )


def _usual(events: Events) -> tuple[Comparison, ...]:
    """The usual bounds, zCDP and Gaussian DP; none where losses may be infinite."""
    if any(event.zcdp is None for event in events):
        return ()
    return ZCDP(events), GaussianDP(events)


class ErrorCurves(NamedTuple):
    """The trade-off curves (exact, zCDP and GDP), and the lowest rate of misses at 5 % false alarms."""

    lines: tuple[Line, Line, Line]
    missed: float


def errors(events: Events) -> ErrorCurves:
    """Return the trade-off curves of one case: type I against type II error.

    The exact one is given by its points at fixed losses, all of which lie on the curve; by symmetry one half
    gives the other.

    >>> found = errors((DiscreteGaussian(variance=5, times=10),))
    >>> found.lines[0][0], found.lines[0][-1], round(found.missed, 6)
    ((0.0, 1.0), (1.0, 0.0), 0.591342)
    """
    loss, usual = compose(events), _usual(events)
    alphas = np.concatenate([[0.0], np.geomspace(1e-6, 0.02, 14), np.linspace(0.03, 1.0, 40)])
    bounds: list[Line] = [line_of(alphas, curve.tradeoff(alpha=alphas)) for curve in usual] or [(), ()]
    if not loss.law.supports("errors"):
        profile = sample_profile(loss, finite_epsilons(loss)[::2])
        exact: Line = line_of(alphas, tradeoff_from_profile(profile, alphas).beta)
        return ErrorCurves((exact, bounds[0], bounds[1]), float(loss.tradeoff(alpha="1/20")))
    # from the middle of the curve outwards until nothing is visible
    far = loss.mean + 5 * math.sqrt(max(loss.variance, 1e-12))
    alpha, beta = loss.errors(threshold=np.linspace(0.0, far, _THRESHOLDS))
    points = {(float(a), float(b)) for a, b in zip(alpha, beta, strict=True)}
    points |= {(b, a) for a, b in points} | {(0.0, 1.0), (1.0, 0.0)}
    exact = tuple(sorted(points, key=lambda point: (point[0], -point[1])))
    return ErrorCurves((exact, bounds[0], bounds[1]), float(loss.tradeoff(alpha="1/20")))


class Overall(NamedTuple):
    """The worst case over all pairs of paths, with the advantage and the misses at 5 % false alarms."""

    epsilon: float
    worst: tuple[int, ...]
    cases: int
    advantage: float
    missed: float


def overall(
    release: Release,
    *,
    delta: Fraction,
    neighbours: Neighbours,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Overall:
    """Return the worst case, as `discreet account` finds it.

    >>> from discreet.budget import load
    >>> overall(load("dhc-2022-08-25"), neighbours="unbounded", delta=Fraction(1, 10**10)).worst
    (1,)
    """
    whole = account(release, neighbours=neighbours, jobs=jobs)
    point = whole.with_workers(jobs, progress).at_delta(delta)[0]
    missed = float(whole.tradeoff(alpha="1/20"))
    return Overall(max(point.epsilon, 0.0), point.paths, whole.pairs, whole.total_variation, missed)


def saving(release: Release, *, delta: Fraction, neighbours: Neighbours, jobs: int = 1) -> Calibration:
    """Return the least noise that keeps zCDP's promise, without a proof."""
    return calibrate(release, zcdp=True, proof=False, delta=delta, neighbours=neighbours, jobs=jobs)


def estimates(release: Release, tree: tuple[float, ...] | None) -> tuple[MarginLine, ...]:
    """Return the noise beside the best estimates of `discreet accuracy`."""
    return margin_lines(release, accuracy(release, tree=tree))


def least_budget(
    release: Release,
    wanted: tuple[tuple[str, str], ...],
    *,
    delta: Fraction,
    neighbours: Neighbours,
    jobs: int = 1,
) -> tuple[Calibration, float]:
    """Return the cheapest release with these margins, by `calibrate --moe`, and zCDP's epsilon."""
    cheapest = calibrate(
        release, moe=dict(wanted), proof=False, delta=delta, neighbours=neighbours, jobs=jobs
    )
    zcdp = usual_zcdp(account(cheapest.release, neighbours=neighbours))
    return cheapest, math.inf if zcdp is None else float(zcdp.epsilon(delta=float(delta)))


class MainPath(NamedTuple):
    """The profile on the main path, and `line`, the best accuracy there against priors."""

    profile: RiskProfile
    line: Line


def best_on_main_path(release: Release, *, prior: str, neighbours: Neighbours) -> MainPath:
    """Return the best any adversary can do on the main path."""
    whole = account(release, neighbours=neighbours)
    profile = risk_profile(release, prior=prior, whole=whole, pairs="main")
    usual = _usual(whole.events(whole.main))
    # at extreme priors almost no outcome changes the decision: too little to see in a chart
    near = [p for p in PRIORS if not usual or usual[0].delta(epsilon=abs(math.log((1 - p) / p))) > _UNSEEN]
    best = dict(zip(near, best_accuracies(whole.case(whole.main), near), strict=True))
    return MainPath(profile, line_of(PRIORS, (best.get(p, max(p, 1 - p)) for p in PRIORS)))


RARE = "1/100"
"""The low prior at which the Risk page says what changes."""


def everything_published(
    release: Release,
    *,
    prior: str,
    neighbours: Neighbours,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> ReleaseRisk:
    """Return the risk of everything published, at the prior asked for and at a low one."""
    priors = list(dict.fromkeys([prior, RARE]))
    return risk(release, prior=priors, neighbours=neighbours, jobs=jobs, progress=progress)


QUICK = Task(quick, 0.03, 120)
ERRORS = Task(errors, 0.04, 120)
SAVING = Task(saving, 0.2, 1800, all_cases=True)
OVERALL = Task(overall, 0.03, 1800, all_cases=True, reports=True)
