"""What is computed for the pages, by name, in other processes: the server itself loads no accountant.

Every task is one question to a function elsewhere in the package; it states how long it may take, and its
cost is estimated from the release that it is about. `quick` and `errors` are of the main path and run while a
slider is dragged; `overall` and `saving` are of all pairs and run when it is let go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.budget import Release
from discreet.budget.neighbours import Neighbours
from discreet.errors import InputError
from discreet.noise import DiscreteGaussian, Noise

if TYPE_CHECKING:
    from discreet.accounting.calibration import Calibration
    from discreet.report.releases import NoiseLine
    from discreet.risk.profile import RiskProfile
    from discreet.workbench.settings import Adversary, Wanted

Events = tuple[Noise, ...]
Line = tuple[tuple[float, float], ...]
"""Points to draw."""

Counting = Callable[[int, int], None]

POINTS = 42
"""Points of a curve while a slider moves."""

_DEEPEST = 1e-16  # the curve is drawn down to here, or to below the chosen delta
_THRESHOLDS = 24
_SEEN = 160  # points of a curve of beliefs
_PRIORS = tuple(Fraction(place, 100) for place in (1, 2, 5, *range(10, 91, 5), 95, 98, 99))


@dataclass(frozen=True, slots=True)
class Task:
    """Which module of the workbench holds a function, and what calling it costs."""

    seconds: float
    """For one case of a release of ten kinds of noise, on one processor."""
    deadline: float
    module: str = "tasks"
    all_cases: bool = False
    """Whether each pair of paths is a case, and not the main path alone."""
    reports: bool = False
    """Whether it takes a function to report its progress to."""


TASKS = {
    "read_link": Task(0.02, 20, "session_file"),
    "read_file": Task(0.05, 20, "session_file"),
    "quick": Task(0.03, 120),
    "errors": Task(0.04, 120),
    "saving": Task(0.2, 1800, all_cases=True),
    "overall": Task(0.03, 1800, all_cases=True, reports=True),
    "noise": Task(0.1, 120),
    "estimates": Task(0.5, 300),
    "least_budget": Task(0.1, 1800, all_cases=True),
    "calibrated": Task(0.3, 3600, all_cases=True, reports=True),
    "reported": Task(2, 3600, all_cases=True, reports=True),
    "printed": Task(5, 120, reports=True),
    "attacked": Task(0.1, 120),
    "best_on_main_path": Task(0.3, 300),
    "best_of_anyone": Task(0.2, 1800, all_cases=True, reports=True),
    "design_numbers": Task(0.1, 120, "tabulation"),
    "design_exact": Task(3, 600, "tabulation", reports=True),
    "design_margin": Task(0.1, 120, "tabulation"),
    "design_rivals": Task(0.3, 120, "tabulation"),
    "design_toml": Task(0.05, 60, "tabulation"),
    "design_opened": Task(0.05, 20, "tabulation"),
}


def call(name: str, *arguments: Any, **more: Any) -> Any:
    """Call a task by its name, in the process where this runs.

    >>> call("errors", (DiscreteGaussian(variance=5, times=10),)).lines[0][0]
    (0.0, 1.0)
    """
    work = getattr(import_module(f"discreet.workbench.{TASKS[name].module}"), name)
    return work(*arguments, **more)


def cost(name: str, *arguments: Any) -> float:
    """Estimate the seconds that a task takes, from the release or the events among its arguments.

    >>> from discreet.budget import load
    >>> release = load("dhc-2020")
    >>> cost("quick", release.path_events(release.main), Fraction(1, 10)) < 1 < cost("overall", release)
    True
    """
    task = TASKS[name]
    seconds = task.seconds
    for one in arguments:
        if isinstance(one, Release):
            many = len(one.paths)
            cases = many * (many + 1) / 2 if one.neighbours == "bounded" else many
            kinds = len(set(one.path_events(one.main)))
            seconds *= max(1.0, kinds / 10) * (cases if task.all_cases else 1)
        elif isinstance(one, tuple):
            seconds *= max(1.0, len(set(one)) / 10)
    return seconds


def warm() -> None:
    """Make the first real request as fast as the others."""
    events = (DiscreteGaussian(variance=5, times=10),)
    errors(events)
    quick(events, Fraction(1, 10**10))


def line_of(x: Iterable[Any], y: Iterable[Any]) -> Line:
    """Return points to draw."""
    return tuple((float(a), float(b)) for a, b in zip(x, y, strict=True))


# -- Budget ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Quick:
    """The main path at the chosen delta, and its curve: `profile` has a line each for exact, zCDP and GDP."""

    epsilon: float
    zcdp: float
    gdp: float
    advantage: float
    right: str
    """How often anyone who guesses between two databases can be right, in words."""
    profile: tuple[Line, Line, Line]


@dataclass(frozen=True, slots=True)
class ErrorCurves:
    """The trade-off curves, exact, zCDP and GDP, and the least misses at 5 % false alarms."""

    lines: tuple[Line, Line, Line]
    missed: float


@dataclass(frozen=True, slots=True)
class Overall:
    """The worst over all pairs of paths."""

    epsilon: float
    worst: tuple[int, ...]
    cases: int


def quick(events: Events, delta: Fraction) -> Quick:
    """Return the numbers and the curve of one case.

    >>> from discreet.workbench.state import State
    >>> found = quick(State.of("dhc-2020").main_events, Fraction(1, 10**10))
    >>> round(found.epsilon, 4), round(found.zcdp, 4), round(found.gdp, 4)
    (24.4565, 26.3406, 24.4565)
    """
    import numpy as np

    from discreet.accounting.comparisons import ZCDP, GaussianDP
    from discreet.accounting.privacy_loss import compose
    from discreet.numbers import times

    loss, zcdp, gdp = compose(events), ZCDP(events), GaussianDP(events)
    small = float(delta)
    top = float(zcdp.epsilon(delta=min(_DEEPEST, small / 10)))
    grid = np.linspace(0.0, top, POINTS)
    exact = loss.delta(epsilon=grid)
    return Quick(
        max(float(loss.epsilons([delta])[0]), 0.0),
        float(zcdp.epsilon(delta=small)),
        float(gdp.epsilon(delta=small)),
        float(exact[0]),
        times((1 + float(exact[0])) / 2, upper=True),
        (
            line_of(grid, exact),
            line_of(grid, zcdp.delta(epsilon=grid)),
            line_of(grid, gdp.delta(epsilon=grid)),
        ),
    )


def errors(events: Events) -> ErrorCurves:
    """Return the trade-off curves of one case: type I against type II error.

    The exact one by its points at fixed losses, each of which lies on the curve; by symmetry those of one
    half give the other.

    >>> found = errors((DiscreteGaussian(variance=5, times=10),))
    >>> found.lines[0][0], found.lines[0][-1], round(found.missed, 6)
    ((0.0, 1.0), (1.0, 0.0), 0.591342)
    """
    import numpy as np

    from discreet.accounting.comparisons import ZCDP, GaussianDP
    from discreet.accounting.privacy_loss import compose

    loss, zcdp, gdp = compose(events), ZCDP(events), GaussianDP(events)
    # from the middle of the curve out to where nothing can be seen
    far = loss.mean + 5 * math.sqrt(max(loss.variance, 1e-12))
    alpha, beta = loss.errors(threshold=np.linspace(0.0, far, _THRESHOLDS))
    points = {(float(a), float(b)) for a, b in zip(alpha, beta, strict=True)}
    points |= {(b, a) for a, b in points} | {(0.0, 1.0), (1.0, 0.0)}
    exact = tuple(sorted(points, key=lambda point: (point[0], -point[1])))
    alphas = np.concatenate([[0.0], np.geomspace(1e-6, 0.02, 14), np.linspace(0.03, 1.0, 40)])
    bounds = [line_of(alphas, curve.tradeoff(alpha=alphas)) for curve in (zcdp, gdp)]
    return ErrorCurves((exact, bounds[0], bounds[1]), float(loss.tradeoff(alpha="1/20")))


def overall(
    release: Release, neighbours: Neighbours, delta: Fraction, jobs: int = 1, progress: Counting | None = None
) -> Overall:
    """Return the worst over all cases, as `discreet account` finds it.

    >>> from discreet.budget import load
    >>> overall(load("dhc-2022-08-25"), "unbounded", Fraction(1, 10**10)).worst
    (1,)
    """
    from discreet.accounting.overall import account

    made = account(release, neighbours=neighbours, jobs=jobs)
    point = made.with_workers(jobs, progress).at_delta(delta)[0]
    return Overall(max(point.epsilon, 0.0), point.worst, made.pairs)


def saving(release: Release, neighbours: Neighbours, delta: Fraction, jobs: int = 1) -> float:
    """Return the part of every variance that could be saved, over all pairs of paths, by `calibrate --zcdp`.

    >>> from discreet.budget import load
    >>> round(100 * saving(load("dhc-2022-08-25"), "unbounded", Fraction(1, 10**10)), 2)
    12.28
    """
    from discreet.accounting.calibration import calibrate

    return calibrate(release, delta=delta, zcdp=True, neighbours=neighbours, proof=False, jobs=jobs).savings[
        0
    ]


# -- Accuracy --------------------------------------------------------------------------------------------


def noise(release: Release) -> tuple[NoiseLine, ...]:
    """Return the noise of each level, queries of equal noise together, with exact margins.

    >>> from discreet.budget import load
    >>> line = noise(load("pl94-2020-units"))[0]
    >>> line.level, round(line.deviation, 3), line.margin
    ('US', 52.301, 103)
    """
    from discreet.report.releases import noise_lines

    return noise_lines(release)


def estimates(release: Release, tree: tuple[float, ...] | None) -> tuple[NoiseLine, ...]:
    """Return the noise with the best estimates of `discreet accuracy` beside it."""
    from discreet.estimation import accuracy
    from discreet.report.releases import noise_lines

    return noise_lines(release, accuracy(release, tree=tree))


def least_budget(
    release: Release,
    neighbours: Neighbours,
    wanted: tuple[tuple[str, str], ...],
    delta: Fraction,
    jobs: int = 1,
) -> tuple[Calibration, float]:
    """Return the release of least cost with these margins, by `calibrate --moe`, and zCDP's epsilon."""
    from discreet.accounting.calibration import reached
    from discreet.accounting.overall import account
    from discreet.report.tables import zcdp_of

    made = reached(release, dict(wanted), delta=delta, neighbours=neighbours, proof=False, jobs=jobs)
    zcdp = zcdp_of(account(made.release, neighbours=neighbours))
    return made, float(zcdp.epsilon(delta=float(delta)))


def calibrated(
    release: Release, neighbours: Neighbours, delta: Fraction, jobs: int = 1, progress: Counting | None = None
) -> Calibration:
    """Return the calibration of all pairs to what zCDP promises, with its proof."""
    from discreet.accounting.calibration import calibrate

    return calibrate(release, delta=delta, zcdp=True, neighbours=neighbours, jobs=jobs, progress=progress)


# -- Report ----------------------------------------------------------------------------------------------


def reported(asked: Wanted, jobs: int, progress: Callable[[str, int, int], None] | None = None) -> str:
    """Return the report as text, by the function of `discreet report`."""
    from discreet.report.html import page

    return page(
        asked.release,
        before=asked.before,
        title=asked.title,
        delta=(asked.delta,),
        prior=asked.prior,
        neighbours=asked.neighbours,
        certify=asked.certify,
        savings=asked.savings,
        jobs=jobs,
        progress=progress,
    )


def printed(html: str, progress: Callable[[str, int, int], None] | None = None) -> bytes:
    """Return a report as PDF."""
    from discreet.report.html.pdf import print_pdf

    if progress is not None:
        progress("printing", 0, 1)
    return print_pdf(html)


# -- Risk ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Attacked:
    """What an adversary believes and decides; None where the scenario has no such number.

    `right` has how often the decision is right if the target is there, if not, and over the prior; `accuracy`
    that over the prior against priors.
    """

    posterior: float
    ratio: float
    baseline: float
    curve: Line
    mean_present: float | None = None
    mean_absent: float | None = None
    right: tuple[float, float, float] | None = None
    accuracy: Line = ()
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MainPath:
    """The profile on the main path, and `line`, the best accuracy there against priors."""

    profile: RiskProfile
    line: Line


def attacked(asked: Adversary) -> Attacked:
    """Return what an adversary learns.

    >>> from discreet.workbench.settings import Adversary, Count
    >>> found = attacked(Adversary("one", "1/2", (Count("Block", "total", Fraction(5)),), 0, 1))
    >>> round(found.posterior, 4), round(found.ratio, 4), round(found.right[2], 4)
    (0.525, 1.05, 0.5892)
    """
    from discreet.workbench.words import attack_sentences

    prior = Fraction(asked.prior)
    baseline = float(max(prior, 1 - prior))
    if asked.scenario == "several" and len(asked.counts) > 1:
        found = _several(asked, baseline)
    elif asked.scenario == "hierarchy":
        found = _hierarchy(asked, baseline)
    else:
        found = _single(asked, baseline)
    return replace(found, said=tuple(attack_sentences(asked, found)))


def _published(asked: Adversary) -> list[int]:
    """The published values that are drawn."""
    more = asked.people if asked.scenario == "unsure" else 0
    low = min(asked.known - asked.reach, asked.published)
    high = max(asked.known + 1 + asked.reach + more, asked.published)
    if asked.scenario == "floor":
        low = max(low, 0)
    step = max(1, (high - low) // _SEEN)
    return sorted({*range(low, high + 1, step), max(asked.published, low)})


def _single(asked: Adversary, baseline: float) -> Attacked:
    from discreet.risk import Attack, independent_others

    others: Any = (1.0,)
    if asked.scenario == "unsure":
        others = independent_others(asked.chance, people=asked.people)
    attack = Attack(
        variance=asked.counts[0].variance,
        known=asked.known,
        others=others,
        nonnegative=asked.scenario == "floor",
    )
    seen, prior = _published(asked), asked.prior
    return Attacked(
        posterior=attack.posterior(asked.published, prior=prior),
        ratio=attack.ratio(asked.published, prior=prior),
        mean_present=attack.expected_posterior(prior=prior),
        mean_absent=attack.expected_posterior(prior=prior, given="absent"),
        right=(
            attack.accuracy(prior=prior, given="present"),
            attack.accuracy(prior=prior, given="absent"),
            attack.accuracy(prior=prior, given="prior"),
        ),
        baseline=baseline,
        curve=line_of(seen, attack.posterior(seen, prior=prior)),
        accuracy=line_of(_PRIORS, attack.accuracy(prior=[float(one) for one in _PRIORS], given="prior")),
    )


def _several(asked: Adversary, baseline: float) -> Attacked:
    from discreet.risk import joint_accuracy, joint_posterior, joint_ratio

    variances = [count.variance for count in asked.counts]
    shared: dict[str, Any] = {"variance": variances, "prior": asked.prior, "known": asked.known}
    many, seen, priors = len(variances), _published(asked), [float(one) for one in _PRIORS]

    def right(given: str, prior: Any = asked.prior) -> Any:
        return joint_accuracy(variance=variances, prior=prior, given=given)

    return Attacked(
        posterior=joint_posterior([asked.published] * many, **shared),
        ratio=joint_ratio([asked.published] * many, **shared),
        right=(right("present"), right("absent"), right("prior")),
        baseline=baseline,
        curve=line_of(seen, joint_posterior([[value] * many for value in seen], **shared)),
        accuracy=line_of(_PRIORS, right("prior", priors)),
    )


def _hierarchy(asked: Adversary, baseline: float) -> Attacked:
    from discreet.risk import Area, TwoLevels, hierarchy_posterior

    if len(asked.counts) < 2:
        raise InputError(f"{asked.counts[0].level} is the highest level; there is no area above it")
    block, above = asked.counts
    area = Area(
        name=block.level,
        noisy=asked.published,
        variance=block.variance,
        siblings=asked.siblings,
        siblings_noisy=asked.beside,
    )
    around = Area(name=above.level, noisy=asked.above, variance=above.variance)
    found = hierarchy_posterior([area, around], prior=asked.prior, known=asked.known)
    variances = (block.variance, above.variance)
    two = TwoLevels(variance=variances, siblings=asked.siblings, prior=asked.prior, known=asked.known)
    seen = _published(asked)
    return Attacked(
        posterior=found.probability,
        ratio=found.ratio,
        baseline=baseline,
        curve=line_of(seen, two.probability(seen, [asked.above], [asked.beside])),
    )


def best_on_main_path(release: Release, neighbours: Neighbours, prior: str) -> MainPath:
    """Return the best any adversary can do on the main path."""
    from discreet.accounting.overall import account
    from discreet.risk.profile import best_accuracies, profile_of

    whole = account(release, neighbours=neighbours)
    profile = profile_of(whole, release, [Fraction(prior)], pairs="main")
    return MainPath(profile, line_of(_PRIORS, best_accuracies(whole.case(whole.main), _PRIORS)))


def best_of_anyone(
    release: Release, neighbours: Neighbours, prior: str, jobs: int = 1, *, progress: Counting | None = None
) -> RiskProfile:
    """Return the best any adversary can do over all pairs of paths.

    >>> from discreet.budget import load
    >>> found = best_of_anyone(load("dhc-2022-08-25"), "bounded", "1/2")
    >>> round(found.overall[0].accuracy, 6), found.compared
    (0.971965, 1)
    """
    from discreet.risk import risk_profile

    return risk_profile(release, prior=prior, neighbours=neighbours, jobs=jobs, progress=progress)
