"""How little noise will do: the smallest variances that keep a promise, and the proof that they do.

Variances are multiplied by short exact factors, rounded up, so that a calibrated release errs to the safe
side and keeps a lattice that exact accounting can use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from discreet.accounting.arguments import Number, read, read_probabilities
from discreet.accounting.comparisons import ZCDP
from discreet.accounting.overall import account
from discreet.accounting.parallel import Progress
from discreet.accounting.privacy_loss import compose
from discreet.budget.events import DiscreteGaussian, Event
from discreet.budget.neighbours import Neighbours
from discreet.budget.release import Release
from discreet.errors import InputError
from discreet.exact import Exact, Interval, positive

_DIGITS = 6  # of a factor: variances change by a millionth at most through rounding
_NORMAL95 = Fraction(196, 100)

Scaling = Callable[[Fraction, bool], Release]
"""Releases that get less noisy as a parameter falls; the flag says whether variances are to be short."""


@dataclass(frozen=True, slots=True)
class LevelChange:
    """One level's variances before and after."""

    name: str
    factor: Fraction
    queries: tuple[tuple[str, Fraction, Fraction], ...]

    @property
    def before(self) -> Fraction:
        """The variance of the level's most common kind of query, before."""
        return _most_common([before for _, before, _ in self.queries])

    @property
    def after(self) -> Fraction:
        """The same, after."""
        return _most_common([after for _, _, after in self.queries])


@dataclass(frozen=True, slots=True)
class Calibration:
    """A calibrated release, what it saves, and its proof.

    Guarantee. `proof.upper <= delta`: for every case of the relation, the new release is
    (epsilon, delta)-differentially private. By level, each level keeps its own promise by itself, and the
    proof is that of the level which comes closest to delta.
    """

    release: Release
    neighbours: Neighbours
    factor: Fraction | None
    epsilon: Fraction | None
    delta: Fraction
    proof: Interval | None
    levels: tuple[LevelChange, ...]
    price: float | None
    notes: tuple[str, ...] = ()

    @property
    def reduction(self) -> float | None:
        """The share of the variance that is saved."""
        return None if self.factor is None else float(1 - self.factor)

    def __str__(self) -> str:
        saved = "" if self.reduction is None else f"{100 * self.reduction:.3f} % less variance, "
        promise = "each level's own promise" if self.epsilon is None else f"epsilon {float(self.epsilon):.6g}"
        return f"{self.release.name}: {saved}{promise} at delta {float(self.delta):.3g}"


def calibrate(
    release: Release,
    *,
    delta: Number,
    epsilon: Number | None = None,
    zcdp: bool = False,
    by: Literal["overall", "level"] = "overall",
    neighbours: Neighbours | None = None,
    weights: Mapping[str, Exact] | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Calibration:
    """The least noise with which the release keeps (epsilon, delta), or what zCDP promises at delta.

    `overall`: one factor on all variances (or, with `weights`, gains shared in proportion to them). `level`:
    each level by itself against its own promise.

    >>> from discreet.budget import load
    >>> found = calibrate(load("dhc-2022-08-25"), zcdp=True, delta="1e-10")
    >>> round(100 * found.reduction, 2)
    12.28
    """
    relation = neighbours or release.neighbours
    (small,) = read_probabilities(delta, name="delta").values
    if (epsilon is None) != zcdp:
        raise InputError("say either epsilon or zcdp=True: exactly one target is needed")
    if by not in ("overall", "level"):
        raise InputError(f"by is {by!r}; it must be 'overall' or 'level'")
    target = None if epsilon is None else read(epsilon, name="epsilon").values[0]
    if target is not None and target <= 0:
        raise InputError(f"epsilon is {float(target):g}; it must be above zero")
    if by == "level":
        if weights:
            raise InputError("weights share one gain between the levels: they go with by='overall'")
        return _by_level(release, relation, target, small)
    before = account(release, neighbours=relation, jobs=jobs)
    if target is None:
        target = below(ZCDP(dict(before.cases)[before.main]).epsilon(delta=float(small)))
    family = _weighted(release, weights) if weights else _uniform(release)
    factor, after = _overall(release, relation, family, target, small, jobs, progress)
    proof = _proof(after, relation, target, small, jobs, progress)
    notes = ("one factor on all variances",) if not weights else ("gains shared by the stated weights",)
    return Calibration(
        _named(release, after, f"Calibrated to epsilon {float(target):.6f} at delta {float(small):.3g}."),
        relation,
        None if weights else factor,
        target,
        small,
        proof,
        changes(release, after),
        _price(release, after, relation),
        notes,
    )


def below(value: float) -> Fraction:
    """A short fraction just below a float, for a target that must not be exceeded.

    >>> below(26.340588852722323) < Fraction("26.340588852722323")
    True
    """
    return Fraction(math.floor(value * 10**12), 10**12)


def margins(release: Release, wanted: Mapping[str, Exact]) -> Release:
    """The release of least cost whose queries at these levels have the wanted 95 % margins of error.

    A margin M allows the variance (M / 1.96)^2, a zCDP cost of 1.92 / M^2 for each group of a person under
    add/remove neighbours.

    >>> from discreet.budget import load
    >>> new = margins(load("dhc-2022-08-25"), {"State": 5})
    >>> float(new.variance_table()[10].variance)
    6.507705
    """
    result = release
    for level, margin in wanted.items():
        size = positive(margin, name=f"the margin of error of level {level!r}")
        variance = (size / _NORMAL95) ** 2
        result = result.with_variances({level: Fraction(math.floor(variance * 10**_DIGITS), 10**_DIGITS)})
    return result


def reached(
    release: Release,
    wanted: Mapping[str, Exact],
    *,
    delta: Number,
    neighbours: Neighbours | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Calibration:
    """The release of least cost with the wanted margins of error, and what it costs at delta."""
    relation = neighbours or release.neighbours
    (small,) = read_probabilities(delta, name="delta").values
    after = margins(release, wanted)
    point = account(after, neighbours=relation).with_workers(jobs, progress).at_delta(small)[0]
    # rounded up, so that what is said of it holds
    epsilon = Fraction(math.ceil(point.epsilon * 10**6), 10**6)
    proof = _proof(after, relation, epsilon, small, jobs, progress)
    notes = ("the least cost that reaches the wanted margins of error",)
    after = _named(release, after, "Noise set by wanted margins of error.")
    return Calibration(after, relation, None, epsilon, small, proof, changes(release, after), None, notes)


def changes(before: Release, after: Release) -> tuple[LevelChange, ...]:
    """Variances of each level and query, before and after."""
    old = {(row.level, row.query): row for row in before.variance_table()}
    levels: dict[str, list[tuple[str, Fraction, Fraction]]] = {}
    for row in after.variance_table():
        was = old[row.level, row.query].variance
        if was is not None and row.variance is not None:
            levels.setdefault(row.level, []).append((row.query, was, row.variance))
    return tuple(
        LevelChange(name, queries[0][2] / queries[0][1], tuple(queries)) for name, queries in levels.items()
    )


def _most_common(values: list[Fraction]) -> Fraction:
    return max(values, key=lambda v: (values.count(v), -values.index(v)))


def _rounded_up(factor: float) -> Fraction:
    """The factor to `_DIGITS` significant decimals, upward."""
    places = _DIGITS - math.floor(math.log10(factor)) - 1
    scale = Fraction(10) ** places
    return Fraction(math.ceil(Fraction(factor) * scale)) / scale


def _overall(
    release: Release,
    relation: Neighbours,
    family: Scaling,
    target: Fraction,
    delta: Fraction,
    jobs: int,
    progress: Progress | None,
) -> tuple[Fraction, Release]:
    """The least parameter for which the worst case keeps the target, and its release.

    Solved on one case, then checked on all; whichever is worst there is solved next.
    """
    label = account(release, neighbours=relation).main
    factor = Fraction(0)
    for _ in range(6):

        def epsilon(size: Fraction, label: tuple[int, ...] = label) -> float:
            made = account(family(size, False), neighbours=relation)
            return float(made.case(label).epsilon(delta=delta))

        factor = max(factor, solve_factor(epsilon, float(target)))
        after = family(factor, True)
        worst = account(after, neighbours=relation).with_workers(jobs, progress).at_delta(delta)[0]
        if Fraction(worst.epsilon) <= target:
            return factor, after
        if worst.worst == label:  # rounding: one unit in the last place does it
            factor += Fraction(1, 10**_DIGITS)
        label = worst.worst
    raise InputError(f"no factor was found that keeps epsilon {float(target):.6g}; please report this")


def solve_factor(epsilon: Callable[[Fraction], float], target: float) -> Fraction:
    """The factor at which a falling epsilon(factor) meets the target, rounded up to a short decimal."""
    low, high = 0.0, math.inf
    x = 1.0
    last: tuple[float, float] | None = None
    for _ in range(60):
        size = Fraction(round(x * 2**40), 2**40)
        gap = math.log(epsilon(size) / target)
        if gap > 0:
            low = max(low, x)
        else:
            high = min(high, x)
        slope = -0.6  # epsilon falls between the root and the first power of the factor
        if last is not None and math.log(x) != last[0]:
            found = (gap - last[1]) / (math.log(x) - last[0])
            slope = found if found < -0.1 else slope
        last = (math.log(x), gap)
        better = x * math.exp(-gap / slope)
        if not low < better < high:
            better = 2 * x if not math.isfinite(high) else 0.5 * (low + high)
        done = abs(better / x - 1) < 1e-9
        x = better
        if done:
            break
    return _rounded_up(x * (1 + 1e-9))


def _uniform(release: Release) -> Scaling:
    def family(size: Fraction, short: bool) -> Release:
        return release.scaled(size)

    return family


def _weighted(release: Release, weights: Mapping[str, Exact]) -> Scaling:
    """Releases in which level l has the factor x^(w_l / max w): a power, so that none becomes negative."""
    shares = {
        name: positive(weight, name=f"the weight of level {name!r}") for name, weight in weights.items()
    }
    top = max(shares.values())

    def family(size: Fraction, short: bool) -> Release:
        result = release
        for name, share in shares.items():
            factor = float(size) ** float(share / top)
            exact = _rounded_up(factor) if short else Fraction(round(factor * 2**40), 2**40)
            result = result.scaled(exact, level=name)
        return result

    return family


def _proof(
    release: Release,
    relation: Neighbours,
    target: Fraction,
    delta: Fraction,
    jobs: int,
    progress: Progress | None,
) -> Interval:
    """The certified delta of all cases at the target."""
    made = account(release, neighbours=relation).with_workers(jobs, progress)
    found: Interval = made.delta(epsilon=target, certified=True)
    if found.upper > delta:
        raise InputError("the proof failed although the calculation succeeded; please report this")
    return found


def _by_level(
    release: Release, relation: Neighbours, target: Fraction | None, delta: Fraction
) -> Calibration:
    result = release
    copies = 2 if relation == "bounded" else 1
    worst = Interval(Fraction(0), Fraction(0))
    for level in release.levels:
        events = tuple(level.events(release.neighbours)) * copies
        promise = target or below(ZCDP(events).epsilon(delta=float(delta)))

        def epsilon(size: Fraction, events: tuple[Event, ...] = events) -> float:
            return compose(_scaled(events, size)).epsilon(delta=delta)

        factor = solve_factor(epsilon, float(promise))
        proof = compose(_scaled(events, factor)).delta(epsilon=promise, certified=True)
        while proof.upper > delta:
            factor += Fraction(1, 10**_DIGITS)
            proof = compose(_scaled(events, factor)).delta(epsilon=promise, certified=True)
        worst = max(worst, proof, key=lambda box: box.upper)
        result = result.scaled(factor, level=level.name)
    notes = ["each level by itself keeps its own promise; nothing is said about all levels together"]
    if len(release.paths) > 1:
        notes.append("spines with merged levels were not looked at by this mode")
    made = _named(release, result, f"Each level calibrated by itself at delta {float(delta):.3g}.")
    return Calibration(
        made, relation, None, target, delta, worst, changes(release, result), None, tuple(notes)
    )


def _named(before: Release, after: Release, note: str) -> Release:
    """The new release under a name of its own, saying what was done to it."""
    return replace(after, name=f"{before.name}-calibrated", notes=(note, *before.notes))


def _scaled(events: tuple[Event, ...], factor: Fraction) -> list[Event]:
    found: list[Event] = []
    for event in events:
        if not isinstance(event, DiscreteGaussian):
            raise InputError("calibration by level is for Gaussian noise; this level also has Laplace noise")
        found.append(
            DiscreteGaussian(
                variance=event.variance * factor, sensitivity=event.sensitivity, times=event.times
            )
        )
    return found


def _price(before: Release, after: Release, relation: Neighbours) -> float | None:
    """The delta below which the old noise's zCDP curve is the better promise, by the main case."""
    old = account(before, neighbours=relation)
    promise = ZCDP(dict(old.cases)[old.main])
    new = account(after, neighbours=relation).case(old.main)

    def gain(exponent: float) -> float:
        delta = 10.0**exponent
        return float(promise.epsilon(delta=delta)) - float(new.epsilon(delta=delta))

    low, high = -290.0, -0.5
    if gain(low) >= 0 or gain(high) <= 0:
        return None
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if gain(middle) > 0 else (middle, high)
    return float(10.0**high)
