"""How little noise is enough: the smallest variances that keep a promise, and the proof that they do.

Variances are multiplied by short exact factors, rounded up, so that a calibrated release errs to the safe
side and keeps a lattice that exact accounting can use. One factor on all variances, or gains shared by
weights, against a promise about the whole release (`calibrate`); each level alone against its own promise
(`by="level"`); or wanted margins of error instead of a promise (`moe`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.accounting.account import account
from discreet.accounting.parallel import Progress
from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.accounting.questions import Calibrating
from discreet.accounting.zcdp import promised_epsilon, zcdp_rho
from discreet.budget.claims import Claim
from discreet.budget.levels import Level, Query
from discreet.budget.neighbours import Neighbours, main_case, one_case, records_apart
from discreet.budget.release import Release
from discreet.errors import InputError, PrecisionError
from discreet.faces import Summarised
from discreet.loss.curves import NO_PURE
from discreet.loss.lattice import common_step, loss_steps
from discreet.loss.law import NoiseLossLaw, loss_of
from discreet.noise import DiscreteGaussian, Noise
from discreet.numbers import Exact, Interval, positive, shown, times

if TYPE_CHECKING:
    pass

LEVEL = Fraction(95, 100)
"""How often the noise is within its margin of error."""

DIGITS = 6
"""Digits of a factor: rounding changes a variance by a millionth at most."""

SLACK = Fraction(1, 10**4)
"""The relative change allowed to a variance, to keep the losses on a coarse lattice."""

LEAST, MOST = Fraction(1, 25), 10**12
"""Variances that a search tries, for sensitivity 1: at 1/25 one count in 100,000 is noisy, and beyond the
upper end the lattice of losses is too fine to be accounted for in reasonable time."""

SOME = 10**4
"""The largest factor if some levels keep their noise: more would change next to nothing."""


@dataclass(frozen=True, slots=True)
class NoiseChange:
    """The noise of one query before and after; for Laplace noise the variance is rounded to 12 digits."""

    name: str
    events: tuple[Noise, Noise]
    step: Fraction = Fraction(1)

    @property
    def before(self) -> Fraction:
        """The variance before."""
        return _variance(self.events[0])

    @property
    def after(self) -> Fraction:
        """The variance after."""
        return _variance(self.events[1])

    @property
    def texts(self) -> tuple[str, str]:
        """Both variances as text: exact fractions, or decimals of 12 digits for Laplace noise."""
        pairs = zip((self.before, self.after), self.events, strict=True)
        old, new = (str(event.stated_variance or shown(float(size))) for size, event in pairs)
        return old, new

    @property
    def margins(self) -> tuple[float, float]:
        """The exact 95 % margins of error, before and after: 95 % of the time the noise is within them."""
        old, new = (times(event.margin(LEVEL), self.step) for event in self.events)
        return old, new

    @property
    def factor(self) -> tuple[bool, Fraction]:
        """Whether the factor on the variance is exact (not if a Laplace scale is rounded), and the factor."""
        before, after = self.events
        if before.resized(1).for_one() != after.resized(1).for_one():
            return False, self.after / self.before
        power = after.variance_power
        return power == 1, (after.size / before.size) ** power

    @property
    def saving(self) -> float:
        """The share of the variance that is saved; negative if there is more of it."""
        return float(1 - self.after / self.before)


@dataclass(frozen=True, slots=True)
class LevelChange:
    """One level's variances before and after; `epsilon` is its own promise, if calibrated alone."""

    name: str
    factor: Fraction
    queries: tuple[NoiseChange, ...]
    epsilon: Fraction | None = None

    @property
    def before(self) -> Fraction:
        """The variance of the level's most common kind of query, before."""
        return _most_common([query.before for query in self.queries])

    @property
    def after(self) -> Fraction:
        """The same, after."""
        return _most_common([query.after for query in self.queries])


@dataclass(frozen=True, slots=True)
class Calibration(Summarised):
    """A calibrated release, what it saves, and its proof.

    Guarantee. `proof.upper <= delta`: for every case of the relation, the new release is
    (epsilon, delta)-differentially private. By level, each level alone keeps its own promise, and the proof
    is that of the level which comes closest to delta.
    """

    release: Release
    neighbours: Neighbours
    factor: Fraction | None
    epsilon: Fraction | None
    delta: Fraction
    proof: Interval | None
    levels: tuple[LevelChange, ...]
    price: float | None
    by: Literal["overall", "weights", "level", "margins"]
    before: Release
    certified: Interval | None = None
    """What provably contains the exact epsilon of the new release at delta, if asked for."""
    law: object = None
    """Which law was asked for or found, and what it is compared with (`promises.best_law.law_choice`)."""
    unproved: str = ""
    """Why there is no proof, if it was asked for."""

    @property
    def events(self) -> tuple[Noise, ...]:
        """The new noise as a list of events: that of a record where no levels are merged."""
        return self.release.path_events(self.release.main)

    @property
    def claim(self) -> Claim:
        """What kind of answer this is: the promise holds as far as the release is modelled."""
        return self.release.claim

    @property
    def savings(self) -> tuple[float, float]:
        """The smallest and the largest share of a query's variance that is saved; negative if noise grows."""
        savings = [query.saving for level in self.levels for query in level.queries]
        return min(savings), max(savings)

    @property
    def reduction(self) -> float | None:
        """The share of every query's variance that is saved by one factor: the least of them.

        The factor is on the squares of Laplace scales, whose variances change a little differently.
        """
        return None if self.factor is None else self.savings[0]


def changes(before: Release, after: Release) -> tuple[LevelChange, ...]:
    """Return the variances of each level and query, before and after; for Laplace noise to 12 digits."""
    old = {(row.level, row.query): row.event for row in before.variance_table()}
    levels: dict[str, list[NoiseChange]] = {}
    for row in after.variance_table():
        change = NoiseChange(row.query, (old[row.level, row.query], row.event), row.step)
        levels.setdefault(row.level, []).append(change)
    return tuple(
        LevelChange(name, max(query.factor for query in queries)[1], tuple(queries))
        for name, queries in levels.items()
    )


def _variance(event: Noise) -> Fraction:
    return event.listed_variance


def named(before: Release, after: Release, note: str) -> Release:
    """Return the new release under its own name, with a note on what was done to it."""
    return replace(after, name=f"{before.name}-calibrated", notes=(note, *before.notes))


def calibrated_note(epsilon: Fraction, delta: Fraction, more: str = "") -> str:
    """Say what a release was calibrated to.

    >>> calibrated_note(Fraction(4), Fraction(1, 10**8))
    'Calibrated to epsilon 4.000000 at delta 1e-08.'
    """
    return f"Calibrated to epsilon {float(epsilon):.6f} at delta {float(delta):.3g}{more}."


def _most_common(values: list[Fraction]) -> Fraction:
    return max(values, key=lambda v: (values.count(v), -values.index(v)))


# -- the search for a factor, rounded to the safe side -------------------------------------------------------


def below(value: float) -> Fraction:
    """Return a short fraction just below a float, for a target that must not be exceeded.

    >>> below(26.340588852722323) < Fraction("26.340588852722323")
    True
    """
    return Fraction(math.floor(value * 10**12), 10**12)


def rounded_up(factor: float | Fraction) -> Fraction:
    """Return the factor rounded up to `DIGITS` significant decimals.

    >>> rounded_up(0.87720251)
    Fraction(877203, 1000000)
    """
    return math.ceil(Fraction(factor) / last_place(factor)) * last_place(factor)


def lattice_unit(events: Iterable[Noise]) -> Fraction:
    """Return the largest step of which all losses on lattices are multiples; 1 if there are none.

    >>> lattice_unit([DiscreteGaussian(variance=4), DiscreteGaussian(variance="6", sensitivity=5)])
    Fraction(1, 12)
    """
    return common_step(loss_steps(events)) or Fraction(1)


def multiple_above(value: Fraction, unit: Fraction, slack: Fraction = SLACK) -> tuple[Fraction, Fraction]:
    """Return the least multiple of unit / 10^k above the value, within `slack` of it, and that unit.

    Steps that are multiples of one short unit keep the losses on a lattice that can be accounted for; an
    arbitrary fraction would destroy it.

    >>> multiple_above(Fraction(1, 7), Fraction(1, 12))
    (Fraction(17143, 120000), Fraction(1, 120000))
    """
    while unit > slack * value:
        unit /= 10
    return math.ceil(value / unit) * unit, unit


def last_place(factor: float | Fraction) -> Fraction:
    """Return the value of one unit in the last significant decimal.

    >>> last_place(0.877203), last_place(12345.6)
    (Fraction(1, 1000000), Fraction(1, 10))
    """
    return Fraction(10) ** (math.floor(math.log10(factor)) + 1 - DIGITS)


def short_scales(release: Release) -> Release:
    """Return the release with Laplace scales rounded up: their factor is a square root.

    >>> from discreet.budget import Query
    >>> state = Level(name="State", queries=[Query(name="total", scale=4)])
    >>> small = Release(name="small", neighbours="bounded", levels=[state]).scaled(2)
    >>> before, after = (each.levels[0].queries[0].scale for each in (small, short_scales(small)))
    >>> before.denominator > 10**18, str(after)
    (True, '282843/50000')
    """
    if not any(level.lacks_rho for level in release.levels):
        return release
    levels = []
    for level in release.levels:
        levels.append(replace(level, queries=tuple(map(_with_short_scale, level.queries))))
    return replace(release, levels=tuple(levels))


def _with_short_scale(query: Query) -> Query:
    if query.scale is not None:
        return replace(query, scale=rounded_up(query.scale))
    if query.noise is not None and (scale := query.noise.stated_scale) is not None:
        return replace(query, noise=query.noise.resized(rounded_up(scale)))
    return query


def bounds(events: Iterable[Noise]) -> tuple[float, float]:
    """Return the factors between which a search makes sense for these events.

    >>> from discreet.budget import DiscreteGaussian
    >>> bounds([DiscreteGaussian(variance=5), DiscreteGaussian(variance=100)])
    (0.008, 10000000000.0)
    """
    sizes = [event.nominal_variance / event.sensitivity**2 for event in events]
    return float(min(Fraction(1), LEAST / min(sizes))), float(max(Fraction(10), MOST / max(sizes)))


def epsilon_or_zero(loss: NoiseLossLaw, delta: Fraction) -> float:
    """Return the exact epsilon at delta, or zero if the promise is kept even with epsilon zero.

    >>> epsilon_or_zero(loss_of([DiscreteGaussian(variance=10**6)]), Fraction(1, 2))
    0.0
    """
    if float(loss.log_deltas([Fraction(0)])[0]) <= math.log(delta):
        return 0.0
    return float(loss.epsilons([delta])[0])  # not rounded, for a search


def solve_factor(
    epsilon: Callable[[Fraction], float],
    target: float,
    *,
    least: float = 0.0,
    most: float = math.inf,
    tolerance: float = 1e-9,
) -> Fraction:
    """Return the factor at which the falling epsilon meets the target, rounded up, as a short decimal.

    An epsilon of zero means that the promise is kept with room to spare. A target that is met only outside
    `least` and `most` is refused.
    """
    low, high, room = 0.0, math.inf, math.inf
    x = 1.0
    last: tuple[float, float] | None = None
    for step in range(100):
        unit = Fraction(2) ** (
            math.frexp(x)[1] - 41
        )  # some forty binary digits, so that fractions stay short
        value = epsilon(round(Fraction(x) / unit) * unit)
        if value > target:
            low = max(low, x)
            if x >= most:
                raise InputError(
                    f"epsilon {target:.6g} at this delta is not kept even with {most:.3g} times the "
                    "variances; a larger epsilon or delta is needed"
                )
        else:
            high = min(high, x)
            if x <= least:
                raise InputError(
                    f"epsilon {target:.6g} at this delta is kept even with {least:.3g} times the variances, "
                    "which is next to no noise; choose a smaller epsilon or delta"
                )
        if low and high / low < 1 + tolerance:
            return rounded_up(high)
        better = math.nan
        if value > 0:
            gap = math.log(value / target)
            slope = -0.6  # epsilon falls between the root and the first power of the factor
            if last is not None and math.log(x) != last[0]:
                secant = (gap - last[1]) / (math.log(x) - last[0])
                slope = secant if secant < -0.1 else slope
            last = (math.log(x), gap)
            better = x * math.exp(min(max(-gap / slope, -5.0), 5.0))
        if step % 3 == 2:  # on plateaus the secant creeps: if three steps have not halved the bracket, bisect
            width = math.log(high / low) if low else math.inf
            better = math.nan if math.isfinite(width) and width > 0.5 * room else better
            room = width
        if not low < better < high:
            inside = low and math.isfinite(high)
            better = math.sqrt(low * high) if inside else 8 * x if math.isinf(high) else x / 8
        done = abs(better / x - 1) < tolerance and not (tolerance > 1e-9 and value > target)
        x = min(max(better, least), most)
        if done:
            return rounded_up(x * (1 + tolerance))
    raise PrecisionError(f"no factor was found that keeps epsilon {target:.6g}")


# -- the proof, and what less noise costs in the far tail ----------------------------------------------------


class RefutedError(PrecisionError):
    """The proof gives more than the delta that was promised."""


def prove(
    release: Release,
    relation: Neighbours,
    target: Fraction,
    delta: Fraction,
    jobs: int,
    progress: Progress | None,
) -> Interval:
    """Return the certified delta of all cases at the target."""
    cost = account(release, neighbours=relation).with_workers(jobs, progress)
    proof: Interval = cost.delta(epsilon=target, certified=True)
    if proof.upper > delta:
        raise RefutedError(
            f"epsilon {float(target):.6g} was found for delta {float(delta):.3g}, but the proof gives {proof}"
        )
    return proof


def crossing(rho: Fraction, new: PrivacyLoss) -> float | None:
    """Return the delta at which what zCDP promised falls below the epsilon of the new noise, if there is one.

    >>> from discreet.accounting.privacy_loss import compose
    >>> from discreet.budget import DiscreteGaussian
    >>> old, less = (DiscreteGaussian(variance=v, times=10) for v in (5, "9/2"))
    >>> f"{crossing(zcdp_rho([old]), compose([less])):.2g}"
    '6.9e-20'
    """

    def gain(exponent: float) -> float:
        # where the old promise stands at this delta, is the new delta smaller? No inversion is needed
        epsilon = promised_epsilon(rho, 10.0**exponent)
        return exponent * math.log(10) - float(new.log_delta(epsilon=epsilon))

    low, high = -290.0, -0.5
    if gain(low) >= 0 or gain(high) <= 0:
        return None
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if gain(middle) > 0 else (middle, high)
    return float(10.0**high)


# -- the whole release ---------------------------------------------------------------------------------------


def calibrate_pure(
    asked: Calibrating, release: Release, relation: Neighbours, target: Fraction | None
) -> Calibration:
    """Return the release with one factor on all Laplace scales that keeps (epsilon, 0).

    The largest loss is a sum of terms over scales, so it is as many times smaller as the scales are larger.
    """
    cost = account(release, neighbours=relation)
    before = cost.at_delta(0)[0]
    if not math.isfinite(before.epsilon):
        raise InputError(NO_PURE)
    if target is None or asked.weights or asked.by == "level":
        raise InputError(
            "at delta 0 one factor on all scales keeps an epsilon; zcdp, weights, moe and by='level' need a "
            "delta above 0"
        )
    largest = cost.case(before.worst).epsilon(delta=0, certified=True).upper
    factor = (largest / target) ** 2
    after = short_scales(release.scaled(factor))
    return Calibration(
        named(release, after, f"Calibrated to epsilon {float(target):.6f} at delta 0."),
        relation,
        factor,
        target,
        Fraction(0),
        prove(after, relation, target, Fraction(0), asked.jobs, asked.progress) if asked.proof else None,
        changes(release, after),
        None,
        "overall",
        release,
    )


def calibrate_overall(
    asked: Calibrating, release: Release, relation: Neighbours, target: Fraction | None, small: Fraction
) -> Calibration:
    """Return the release with one factor on all variances, or with gains shared by weights."""
    weights, jobs, progress = asked.weights, asked.jobs, asked.progress
    main = main_case(release, relation)
    rho = zcdp_rho(one_case(release, main))
    target = target or below(promised_epsilon(rho, float(small)))
    family = weighted_family(release, weights)
    ends = bounds(event for level in release.levels for event in level.events(release.neighbours))
    if weights and len(weights) < len(release.levels):
        if epsilon_or_zero(loss_of(one_case(family(Fraction(SOME)), main)), small) > target:
            raise InputError(
                f"epsilon {float(target):.6g} at this delta is not kept even with {SOME:,} times the "
                f"variances of {', '.join(weights)}: levels without a weight keep their noise, so more of "
                "them need one"
            )
        ends = ends[0], float(SOME)
    # short factors come in steps of a thousandth or less: no search is finer than that
    fine = max(2e-5 if weights else 1e-9, (asked.accuracy or 0.0) / 50)
    factor, after = _least_overall(
        family, main, relation, ends, target, small, jobs, progress, tolerance=fine, accuracy=asked.accuracy
    )
    is_bound = loss_of(one_case(after, main)).is_bound
    proved, more = None, last_place(factor)
    while asked.proof and proved is None:
        try:
            proved = prove(after, relation, target, small, jobs, progress)
        except PrecisionError:
            # on a grid the proved bound lies a little above the float: slightly more noise is proved
            if not is_bound or more > 100 * last_place(factor):
                raise
            factor, more = factor + more, 4 * more
            after = short_scales(family(factor))
    changed = changes(release, after)
    falls = any(level.factor < 1 for level in changed)  # more noise keeps the old promise at every delta
    return Calibration(
        named(release, after, calibrated_note(target, small)),
        relation,
        None if weights else factor,
        target,
        small,
        proved,
        changed,
        crossing(rho, compose(one_case(after, main))) if falls and asked.proof and not is_bound else None,
        "weights" if weights else "overall",
        release,
    )


def _least_overall(
    family: Callable[[Fraction], Release],
    label: tuple[int, ...],
    relation: Neighbours,
    ends: tuple[float, float],
    target: Fraction,
    delta: Fraction,
    jobs: int,
    progress: Progress | None,
    *,
    tolerance: float,
    accuracy: float | None,
) -> tuple[Fraction, Release]:
    """Return the least parameter for which the worst case keeps the target, and its release.

    Solved for one case, that of the label, then checked for all; whichever is worst is solved next.
    """
    factor = Fraction(0)
    for _ in range(6):

        def epsilon(size: Fraction, label: tuple[int, ...] = label) -> float:
            return epsilon_or_zero(loss_of(one_case(family(size), label), aim=accuracy), delta)

        solved = solve_factor(epsilon, float(target), least=ends[0], most=ends[1], tolerance=tolerance)
        factor = max(factor, solved)
        after = short_scales(family(factor))
        cost = account(after, neighbours=relation).with_workers(jobs, progress)
        worst = cost.with_accuracy(accuracy).at_delta(delta)[0]
        if Fraction(worst.epsilon) <= target:
            return factor, after
        if worst.paths == label:  # rounding: one unit in the last place is enough
            factor += max(last_place(factor), Fraction(tolerance) * factor)
        label = worst.paths
    raise PrecisionError(f"no factor was found that keeps epsilon {float(target):.6g}")


def weighted_family(release: Release, weights: Mapping[str, Exact] | None) -> Callable[[Fraction], Release]:
    """Releases, less noisy as a factor x falls; with weights level l has the factor x^(w_l / max w)."""
    if not weights:
        return release.scaled
    shares = {name: positive(size, name=f"the weight of level {name!r}") for name, size in weights.items()}
    top = max(shares.values())

    def family(size: Fraction) -> Release:
        result = release
        for name, share in shares.items():
            result = result.scaled(_short_factor(float(size) ** float(share / top)), level=name)
        return result

    return family


def _short_factor(factor: float) -> Fraction:
    """A factor just above, one over a decimal of four digits, so that losses stay on a coarse lattice.

    >>> _short_factor(0.87720251)
    Fraction(1000, 1139)
    """
    unit = Fraction(10) ** (math.floor(-math.log10(factor)) - 3)
    return 1 / (math.floor(1 / Fraction(factor) / unit) * unit)


# -- each level alone ----------------------------------------------------------------------------------------


def calibrate_levels(
    release: Release, relation: Neighbours, target: Fraction | None, delta: Fraction
) -> Calibration:
    """Return the release whose levels each keep the target, or their own zCDP promise, alone."""
    result, copies = release, records_apart(relation)
    worst, prices = Interval(Fraction(0), Fraction(0)), []
    promises: dict[str, Fraction] = {}
    for index, level in enumerate(release.levels):
        events = tuple(level.events(release.neighbours)) * copies

        def loss(size: Fraction, index: int = index, name: str = level.name) -> PrivacyLoss:
            scaled = short_scales(release.scaled(size, level=name)).levels[index]
            return compose(tuple(scaled.events(release.neighbours)) * copies)

        rho = zcdp_rho(events)
        promise = promises[level.name] = target or below(promised_epsilon(rho, float(delta)))
        try:
            factor, proof = _least(loss, promise, delta, bounds(events))
        except InputError as error:
            raise InputError(f"level {level.name!r} by itself: {error}") from None
        least = loss(factor)
        prices.append(None if factor >= 1 or least.law.is_bound else crossing(rho, least))
        worst = max(worst, proof, key=lambda box: box.upper)
        result = result.scaled(factor, level=level.name)
    result = short_scales(result)
    renamed = named(release, result, f"Each level calibrated by itself at delta {float(delta):.3g}.")
    known = [value for value in prices if value is not None]
    return Calibration(
        renamed,
        relation,
        None,
        target,
        delta,
        worst,
        tuple(replace(level, epsilon=promises[level.name]) for level in changes(release, result)),
        max(known, default=None),
        "level",
        release,
    )


def _least(
    loss: Callable[[Fraction], PrivacyLoss], promise: Fraction, delta: Fraction, ends: tuple[float, float]
) -> tuple[Fraction, Interval]:
    """Return the least short factor that keeps the promise, and the certified delta that proves it."""

    def epsilon(size: Fraction) -> float:
        return epsilon_or_zero(loss(size).law, delta)

    factor = solve_factor(epsilon, float(promise), least=ends[0], most=ends[1])
    while True:
        proof = loss(factor).delta(epsilon=promise, certified=True)
        if proof.upper <= delta:
            return factor, proof
        factor += last_place(factor)


# -- wanted margins of error instead of a promise ------------------------------------------------------------


def margins(release: Release, wanted: Mapping[str, Exact]) -> Release:
    """Return the release of least cost whose queries at these levels have the wanted 95 % margins of error.

    The noise is a whole number, so a margin M is met if 95 % of the time it is within the whole part of M, of
    sums in units of what they are of.
    The variance is the largest that meets it, rounded down by at most a ten-thousandth, so that the losses
    keep the lattice of the other levels.

    >>> from discreet.budget import load
    >>> new = margins(load("dhc-2022-08-25"), {"State": 5})
    >>> row = new.variance_table()[10]
    >>> round(float(row.variance), 3), DiscreteGaussian(variance=row.variance).margin()
    (7.958, 5)
    """
    result = release
    kept = [level for level in release.levels if level.name not in wanted]
    unit = lattice_unit(event for level in kept for event in level.events(release.neighbours))
    for name, margin in wanted.items():
        size = positive(margin, name=f"the margin of error of level {name!r}")
        if size > 10**10:
            raise InputError(
                f"the margin of error of level {name!r} is {float(size):.6g}; at most 1e10 is allowed"
            )
        level = release.level(name)
        steps = {query.name: query.variable.step for query in level.queries}
        by_step = {step: widest(math.floor(size / step), unit) for step in set(steps.values())}
        variances = {query: by_step[step] for query, step in steps.items()}
        result = result.with_variances({(name, query): size for query, size in variances.items()})
        _check_noise(level, size, variances)
    return result


def widest(margin: int, unit: Fraction) -> Fraction:
    """Return the largest variance with noise within `margin` 95 % of the time, as one over a short fraction.

    >>> float(widest(0, Fraction(1))), float(widest(10, Fraction(1)))   # doctest: +ELLIPSIS
    (0.137..., 28.7...)
    """
    outside = float(1 - LEVEL) / 2

    def is_met(variance: float) -> bool:
        return float(DiscreteGaussian(variance=Fraction(variance)).sf(margin)) <= outside

    low, high = 1e-2, 2.0 * (margin + 1) ** 2
    while high > low * (1 + 1e-12):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if is_met(middle) else (low, middle)
    step, last_unit = multiple_above(1 / Fraction(low), unit)
    # certified, in case floats were off by a digit
    while DiscreteGaussian(variance=1 / step).margin(LEVEL) > margin:
        step += last_unit
    return 1 / step


def _check_noise(level: Level, margin: Fraction, variances: Mapping[str, Fraction]) -> None:
    """Refuse a margin for Laplace noise, and one that leaves next to no noise, or nothing but noise."""
    if level.lacks_rho:
        law = next((query.noise.FAMILY for query in level.queries if query.noise is not None), "Laplace")
        raise InputError(f"level {level.name!r} has {law} noise; margins of error are for Gaussian noise")
    for query in level.queries:
        variance, least, most = (
            variances[query.name],
            LEAST * query.sensitivity**2,
            MOST * query.sensitivity**2,
        )
        if not least <= variance <= most:
            raise InputError(
                f"the margin of error of level {level.name!r} is {float(margin):.6g}; for query "
                f"{query.name!r} it must leave a variance between {float(least):.3g} (next to no noise) and "
                f"{float(most):.3g}, not {float(variance):.3g}"
            )


def calibrate_margins(
    asked: Calibrating, release: Release, relation: Neighbours, small: Fraction
) -> Calibration:
    """Return the release of least cost with the wanted margins of error, and what it costs at delta."""
    jobs, progress = asked.jobs, asked.progress
    after = margins(release, asked.moe or {})
    cost = account(after, neighbours=relation).with_workers(jobs, progress)
    # rounded up, so that the promise holds; zero if delta alone is enough
    free = cost.delta(epsilon=0) <= float(small)
    epsilon = Fraction(0) if free else Fraction(math.ceil(cost.at_delta(small)[0].epsilon * 10**6), 10**6)
    proved = prove(after, relation, epsilon, small, jobs, progress) if asked.proof else None
    after = named(release, after, "Noise set from margins of error.")
    changed = changes(release, after)
    return Calibration(after, relation, None, epsilon, small, proved, changed, None, "margins", release)
