"""The best law of noise for a promise: which one, and of which size, makes variance, margin or error least.

P[X = x] ~ exp(-|x/c|^p) is discrete Laplace noise at p = 1 and discrete Gaussian noise at p = 2. With few
counts a small p is best, with many a large one, and in between neither of the two ends
(docs/explanation/best-law.md). For an exponent, one factor on all variances keeps the promise; the scale of
each query is the least short one whose true variance is what the factor asks for.

*The search.* At each exponent, in tenths and then twentieths around the best, the factor is found for one
case: delta falls with the noise, so a few evaluations of delta at epsilon are enough. Then all cases are
compared. If another is worse, its neighbouring exponents are tried. Levels with laws of their own (`each`)
are changed in turn, by tenths, as long as one of them gains. That is a search: another exponent may be
better by less than neighbouring ones differ. What is claimed of the noise that was found is proved all the
same, for every case (`calibration.prove`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.accounting import calibration
from discreet.accounting.account import account
from discreet.accounting.calibration import Calibration
from discreet.accounting.parallel import Progress
from discreet.accounting.questions import Calibrating
from discreet.budget.levels import Level, Query
from discreet.budget.neighbours import Neighbours, main_case, one_case
from discreet.budget.release import Release
from discreet.comparisons.zcdp import ZCDP
from discreet.errors import InputError, PrecisionError
from discreet.loss.curves import NO_PURE
from discreet.loss.law import loss_of
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise, PowerNoise
from discreet.numbers import Exact, fraction, positive

LAPLACE, GAUSSIAN = Fraction(1), Fraction(2)
"""The exponents at the ends."""

COARSE, FINE = Fraction(1, 10), Fraction(1, 20)
"""Steps of the search over exponents: all multiples of the first, then of the second beside the best."""

DIGITS = 7
"""Digits of a scale and of a factor: rounding changes a variance by less than 2e-6."""

MARGIN = 0.95
"""How often the noise is within its margin."""

FARTHEST = 10**12
"""The largest x of P(>x)."""

_ROUGH = 1e-3  # accuracy of delta while exponents are compared; factors are then good to about 1e-5
_ROUNDS = 4
_NEVER = 1e-250  # no chance: floats end soon
_JUMP = -60.0  # delta is next to nothing beside the one promised


# -- what is asked ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Objective:
    """What is to be least: the mean over all queries of the variance, the 95 % margin or a large error.

    Variances and margins are relative to those of the noise before, so that all queries count alike; the
    chance of an error above `beyond` is taken as it is. Between whole numbers margins are interpolated, for
    comparisons.

    >>> Objective.of("P(>10)"), str(Objective.of("variance"))
    (Objective(kind='chance', beyond=Fraction(10, 1)), 'variance')
    """

    kind: str
    beyond: Fraction = Fraction(0)

    @classmethod
    def of(cls, text: str) -> Objective:
        """Read `variance`, `margin` or `P(>x)`."""
        if text in ("variance", "margin"):
            return cls(text)
        matched = re.fullmatch(r"P\(>\s*([^\s()]+)\s*\)", text)
        if matched is None:
            raise InputError(f"the objective is {text!r}; it must be variance, margin or P(>x), x a number")
        beyond = fraction(matched[1], name="x of P(>x)")
        if not 0 <= beyond <= FARTHEST:
            raise InputError(f"x of P(>x) is {matched[1]}; it must lie between 0 and {FARTHEST:,}")
        return cls("chance", beyond)

    def __str__(self) -> str:
        return f"P(>{self.beyond})" if self.kind == "chance" else self.kind

    def value(self, before: Release, after: Release) -> float:
        """The mean over all queries of the main path."""
        rows = zip(before.variance_table(), after.variance_table(), strict=True)
        return float(np.mean([self._of_query(old.event, new.event, new.step) for old, new in rows]))

    def _of_query(self, old: Noise, new: Noise, step: Fraction) -> float:
        if self.kind == "chance":
            return 2.0 * float(new.sf(math.floor(self.beyond / step)))
        if self.kind == "margin":
            return smooth_margin(new) / smooth_margin(old)
        return new.true_variance() / old.true_variance()


def smooth_margin(noise: Noise) -> float:
    """The 95 % margin between whole numbers: the logarithm of the tail is interpolated.

    It lies in the unit below the exact margin, and so orders noise as that does.

    >>> noise = DiscreteGaussian(variance=100)
    >>> noise.margin(), round(smooth_margin(noise), 2)
    (20, 19.09)
    """
    most = noise.margin(Fraction(95, 100))
    low, high = (float(noise.log_sf(x)) for x in (most - 1, most))
    if most == 0:  # even no noise at all is within it
        return math.exp(high) * 2 / (1 - MARGIN) * 0.5
    return most - 1 + (low - math.log((1 - MARGIN) / 2)) / (low - high)


def exponent_named(text: str) -> Fraction | str:
    """The exponent of a law by its name, or `best` or `each`.

    >>> exponent_named("gaussian"), exponent_named("power:17/10"), exponent_named("best")
    (Fraction(2, 1), Fraction(17, 10), 'best')
    """
    known: dict[str, Fraction | str] = {
        "gaussian": GAUSSIAN,
        "laplace": LAPLACE,
        "best": "best",
        "each": "each",
    }
    if text in known:
        return known[text]
    if text.startswith("power:"):
        exponent = positive(text.removeprefix("power:"), name="exponent")
        return PowerNoise(exponent, 1).exponent
    raise InputError(
        f"the law is {text!r}; it must be best, each, gaussian, laplace or power:P, such as power:17/10"
    )


def law_name(exponent: Fraction) -> str:
    """The name of a law by its exponent.

    >>> law_name(Fraction(2)), law_name(Fraction(17, 10))
    ('discrete Gaussian', 'power 17/10')
    """
    ends = {LAPLACE: "discrete Laplace", GAUSSIAN: "discrete Gaussian"}
    return ends.get(exponent, f"power {exponent}")


# -- noise of a law with a variance ----------------------------------------------------------------------


@lru_cache(maxsize=4096)
def noise_with(exponent: Fraction, variance: float) -> Noise:
    """The noise of a law on one count whose scale is the least short one with at least this variance.

    >>> noise = noise_with(Fraction(17, 10), 12.0)
    >>> str(noise.size), round(noise.true_variance(), 5)
    ('4442553/1000000', 12.0)
    """
    power = float(exponent)
    # of the continuous law; the discrete one hardly differs but where -1, 0 and 1 are nearly all of it
    x = 0.5 * math.log(variance * math.gamma(1 / power) / math.gamma(3 / power))
    if variance < 0.2:
        x = -math.log(-math.log(variance / 2)) / power
    target, last = math.log(variance), None
    for _ in range(40):
        here = math.log(_made(exponent, Fraction(math.exp(x))).true_variance()) - target
        slope = 2.0 if last is None or x == last[0] else (here - last[1]) / (x - last[0])
        last = (x, here)
        if abs(here) < 1e-12:
            break
        x -= min(max(here / max(slope, 0.5), -0.5), 0.5)
    return _made(exponent, _short(math.exp(x) * (1 + 1e-12)))


def _made(exponent: Fraction, scale: Fraction) -> Noise:
    return DiscreteLaplace(scale=scale) if exponent == LAPLACE else PowerNoise(exponent, scale)


def _short(size: float | Fraction) -> Fraction:
    """A number rounded up to a few digits."""
    unit = Fraction(10) ** (math.floor(math.log10(size)) + 1 - DIGITS)
    return math.ceil(Fraction(size) / unit) * unit


def gaussian_like(release: Release) -> Release:
    """The release with discrete Gaussian noise of the same variances, to twelve digits."""
    levels = []
    for level in release.levels:
        events = level.events(release.neighbours)
        sizes = [event.for_one().listed_variance for event in events]
        pairs = zip(level.queries, sizes, strict=True)
        queries = tuple(query.with_variance(size) for query, size in pairs)
        levels.append(replace(level, rho=None, queries=queries))
    return _with(release, levels)


def with_laws(release: Release, exponents: Mapping[str, Fraction]) -> Release:
    """A release of Gaussian noise with other laws of the same true variances, by level.

    >>> from discreet.budget import load
    >>> units = load("pl94-2020-units")
    >>> other = with_laws(units, {level.name: LAPLACE for level in units.levels}).path_events(1)[0]
    >>> print(other)
    discrete Laplace noise of scale 3953971/1000000
    >>> other.true_variance() / units.path_events(1)[0].true_variance() - 1 < 1e-6
    True
    """
    levels = []
    for level in release.levels:
        exponent = exponents[level.name]
        if exponent == GAUSSIAN:
            levels.append(level)
            continue
        events = level.events(release.neighbours)
        queries = [
            _with_noise(query, noise_with(exponent, DiscreteGaussian(variance=event.size).true_variance()))
            for query, event in zip(level.queries, events, strict=True)
        ]
        levels.append(replace(level, rho=None, queries=tuple(queries)))
    return _with(release, levels)


def _with_noise(query: Query, noise: Noise) -> Query:
    return query.with_noise(noise)


def _with(release: Release, levels: Sequence[Level]) -> Release:
    total = None if any(level.lacks_rho for level in levels) else release.rho
    if total is not None:
        total = sum((level.spent(release.neighbours) for level in levels), Fraction(0))
    return replace(release, rho=total, levels=tuple(levels))


def law_groups(release: Release) -> tuple[tuple[str, ...], ...]:
    """Levels that must have one law, since they may merge; each of the others by itself.

    >>> from discreet.budget import load
    >>> [len(group) for group in law_groups(load("dhc-2020"))]
    [1, 7]
    """
    group = {level.name: {level.name} for level in release.levels}
    for path in release.paths:
        for run in release.runs(path):
            joined = set().union(*(group[name] for name in run))
            group |= dict.fromkeys(joined, joined)
    order = [level.name for level in release.levels]
    groups = dict.fromkeys(tuple(name for name in order if name in group[level]) for level in order)
    return tuple(groups)


# -- the search ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TriedLaw:
    """Exponents that were tried, one for each group of levels: their factor, and the objective."""

    exponents: tuple[Fraction, ...]
    factor: float
    value: float


@dataclass(frozen=True, slots=True)
class LawSide:
    """Noise in figures, each a mean over all queries: variance and margin relative to the noise before."""

    variance: float
    margin: float
    chance: float | None
    """How often an error is above the bound, if the objective has one."""

    @classmethod
    def of(cls, before: Release, after: Release, objective: Objective) -> LawSide:
        """The figures of a release."""
        variance, margin = (Objective(kind).value(before, after) for kind in ("variance", "margin"))
        chance = objective.value(before, after) if objective.kind == "chance" else None
        return cls(variance, margin, chance)

    def value(self, objective: Objective) -> float:
        """The figure that was to be least."""
        value: float = getattr(self, objective.kind)
        return value


@dataclass(frozen=True, slots=True)
class LawChoice:
    """Which law was chosen for each level, for what, and what else was tried.

    `found` is the noise that was chosen, `today` the noise before, and `gaussian` Gaussian noise that keeps
    the same promise. What was `tried` keeps it for one case, with factors to about four digits.
    """

    asked: str
    objective: Objective
    laws: tuple[tuple[str, Fraction], ...]
    found: LawSide
    today: LawSide
    gaussian: LawSide | None
    tried: tuple[TriedLaw, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The laws that were chosen, each once."""
        return tuple(dict.fromkeys(law_name(exponent) for _, exponent in self.laws))

    @property
    def saved(self) -> tuple[float, float | None]:
        """The part of the objective saved beside the noise before, and beside the calibrated Gaussian."""
        chosen, today = self.found.value(self.objective), self.today.value(self.objective)
        gaussian = None if self.gaussian is None else self.gaussian.value(self.objective)
        return 1 - chosen / today, None if gaussian is None else 1 - chosen / gaussian


def law_choice(calibrated: Calibration) -> LawChoice | None:
    """Return which law a calibration was asked for or found, if it was."""
    return calibrated.law if isinstance(calibrated.law, LawChoice) else None


@dataclass(frozen=True)
class LawSearch:
    """The search for laws and a factor with which a release keeps (epsilon, delta)."""

    before: Release
    family: Callable[[Fraction], Release]
    """Releases of Gaussian noise, less noisy as the factor falls."""
    relation: Neighbours
    epsilon: Fraction
    delta: Fraction
    objective: Objective
    gaussian: TriedLaw
    """Gaussian noise that keeps the promise."""
    jobs: int = 1
    progress: Progress | None = None

    def made(self, exponents: Sequence[Fraction], factor: Fraction) -> Release:
        """The release with these laws, one for each group of levels."""
        laws = zip(law_groups(self.before), exponents, strict=True)
        return with_laws(self.family(factor), {name: law for group, law in laws for name in group})

    def _height(self, exponents: Sequence[Fraction], label: tuple[int, ...], x: float, exact: bool) -> float:
        """How far log delta lies above the one promised, with e^x times the variances."""
        unit = Fraction(2) ** (math.frexp(math.exp(x))[1] - 41)
        release = self.made(exponents, round(Fraction(math.exp(x)) / unit) * unit)
        loss = loss_of(one_case(release, label), aim=None if exact else _ROUGH)
        with np.errstate(all="ignore"):
            log = float(loss.log_deltas([self.epsilon])[0]) if exact else loss.rough_log_delta(self.epsilon)
        return max(log, -800.0) - math.log(self.delta)

    def factor(
        self, exponents: Sequence[Fraction], label: tuple[int, ...], *, start: float, exact: bool
    ) -> float:
        """The factor with which one case just keeps the promise, by secants in logarithms."""
        near = 1e-7 if exact else 1e-4
        low, high, x = -math.inf, math.inf, math.log(start)
        last: tuple[float, float] | None = None
        slope = -0.6 * max(float(self.epsilon), 1.0)
        for turn in range(60):
            here = self._height(exponents, label, x, exact)
            low, high = (max(low, x), high) if here > 0 else (low, min(high, x))
            inside = math.isfinite(low) and math.isfinite(high)
            if inside and high - low < near:
                return math.exp(high)
            if here < _JUMP:  # losses that are bounded leave no delta at all from here on: no slope to follow
                x = 0.5 * (low + high) if inside else high - 0.5
                continue
            if last is not None and x != last[0]:
                secant = (here - last[1]) / (x - last[0])
                slope = secant if secant < -0.05 else slope
            step = min(max(-here / slope, -1.5), 1.5)
            last = (x, here)
            x += step
            if abs(step) < near:
                return math.exp(x)
            if turn % 6 == 5 or not low < x < high:
                x = 0.5 * (low + high) if inside else high - 1.5 if math.isfinite(high) else low + 1.5
            if abs(x) > 60:
                break
        raise PrecisionError(f"no factor was found that keeps epsilon {float(self.epsilon):.6g}")

    def tried(self, exponents: Sequence[Fraction], label: tuple[int, ...], start: float) -> TriedLaw | None:
        """Exponents with the factor that they need for one case; None if the law cannot have it."""
        try:
            factor = self.factor(exponents, label, start=start, exact=False)
            release = self.made(exponents, Fraction(factor))
            return TriedLaw(tuple(exponents), factor, self.objective.value(self.before, release))
        except (InputError, PrecisionError, OverflowError):
            return None

    def best(self, label: tuple[int, ...], known: list[TriedLaw], candidates: Iterable[Fraction]) -> TriedLaw:
        """The best of these exponents for all levels, or of those beside it; all are kept in `known`."""
        many = len(law_groups(self.before))
        done: dict[Fraction, TriedLaw | None] = {GAUSSIAN: self.gaussian}
        wanted = sorted(set(candidates) - {GAUSSIAN}, reverse=True)
        start = self.gaussian.factor
        for k, exponent in enumerate(wanted):
            done[exponent] = trial = self.tried([exponent] * many, label, start)
            start = trial.factor if trial is not None else start
            if self.progress is not None:
                self.progress(k + 1, len(wanted) + 2)
        best = _least(done.values(), self.epsilon)
        for side in (FINE, -FINE):
            exponent = best.exponents[0] + side
            if LAPLACE <= exponent <= GAUSSIAN and exponent not in done:
                done[exponent] = self.tried([exponent] * many, label, best.factor)
        known.extend(tried for _, tried in sorted(done.items()) if tried is not None)
        return _least(done.values(), self.epsilon)

    def each(self, label: tuple[int, ...], start: TriedLaw, known: list[TriedLaw]) -> TriedLaw:
        """The best exponents of each group of levels, changed in turn by tenths while one of them gains."""
        best, many = start, len(start.exponents)
        for _ in range(_ROUNDS):
            before = best
            for group in range(many) if many > 1 else ():
                for side in (COARSE, -COARSE):
                    while True:
                        law = min(max(best.exponents[group] + side, LAPLACE), GAUSSIAN)
                        if law == best.exponents[group]:
                            break
                        laws = (*best.exponents[:group], law, *best.exponents[group + 1 :])
                        trial = self.tried(laws, label, best.factor)
                        if self.progress is not None:
                            self.progress(group + 1, many + 1)
                        if trial is None or trial.value >= best.value * (1 - 1e-5):
                            break
                        known.append(trial)
                        best = trial
            if best is before:
                break
        return best

    def settled(
        self, exponents: Sequence[Fraction], label: tuple[int, ...], start: float
    ) -> tuple[Fraction, Release, tuple[int, ...]]:
        """The least factor for which all cases keep the promise, its release, and the worst case."""
        least = Fraction(0)
        for _ in range(8):
            factor = self.factor(exponents, label, start=start, exact=True)
            least = max(_short(factor * (1 + 1e-9)), least)
            release = self.made(exponents, least)
            cost = account(release, neighbours=self.relation).with_workers(self.jobs, self.progress)
            (worst,) = cost.with_accuracy(None).at_epsilon(self.epsilon)
            if worst.delta <= self.delta:
                return least, release, worst.paths
            if worst.paths == label:  # rounding
                least = _short(least * (1 + Fraction(1, 10**6)))
            label, start = worst.paths, float(least)
        raise PrecisionError(f"no factor was found that keeps epsilon {float(self.epsilon):.6g}")


def _least(tried: Iterable[TriedLaw | None], epsilon: Fraction) -> TriedLaw:
    kept = [trial for trial in tried if trial is not None]
    if not kept:
        raise InputError(
            f"no law was found that keeps epsilon {float(epsilon):.6g} at this delta; a larger epsilon or "
            "delta is needed"
        )
    return min(kept, key=lambda trial: trial.value)


def tenths() -> list[Fraction]:
    """The exponents that are tried first.

    >>> [str(exponent) for exponent in tenths()][:3]
    ['1', '11/10', '6/5']
    """
    return [LAPLACE + COARSE * k for k in range(11)]


def search_laws(
    search: LawSearch, law: Fraction | str, label: tuple[int, ...]
) -> tuple[tuple[Fraction, ...], Fraction, Release | None, tuple[TriedLaw, ...]]:
    """Return the best exponents, their factor, the release unless it is Gaussian, and what was tried."""
    many = len(law_groups(search.before))
    known: list[TriedLaw] = []
    if isinstance(law, Fraction):
        factor, release, _ = search.settled([law] * many, label, search.gaussian.factor)
        return (law,) * many, factor, release, ()
    candidates = tenths()
    for _ in range(3):
        best = search.best(label, known, candidates)
        if law == "each":
            best = search.each(label, best, known)
        if set(best.exponents) == {GAUSSIAN}:
            return best.exponents, Fraction(best.factor), None, tuple(known)
        factor, release, worst = search.settled(best.exponents, label, best.factor)
        if worst == label:
            break
        # another case is the worst: are neighbouring laws better there?
        near = {
            exponent for exponent in tenths() for own in best.exponents if abs(exponent - own) <= 2 * COARSE
        }
        candidates, label = sorted(near), worst
    return best.exponents, factor, release, tuple(known)


# -- a release with the best law ----------------------------------------------------------------------------


def calibrate_law(
    asked: Calibrating, release: Release, relation: Neighbours, target: Fraction | None, delta: Fraction
) -> Calibration:
    """Return the release with the law that was asked for, or the best one, and the least noise of it.

    The ratios of variances stay, unless weights change them.
    """
    law, objective = exponent_named(asked.law or ""), Objective.of(asked.objective)
    if asked.moe or asked.by == "level":
        raise InputError(
            "a law is chosen for one promise about everything: it cannot be combined with moe or by='level'; "
            "law='each' chooses one for each level"
        )
    if not delta:
        return _pure(asked, release, relation, target, law, objective)
    main = main_case(release, relation)
    promise = target or calibration.below(ZCDP(one_case(release, main)).epsilon(delta=float(delta)))
    base = gaussian_like(release)
    plain = replace(asked, law=None, epsilon=promise, zcdp=False)
    calibrated = calibration.calibrate_overall(
        replace(plain, proof=asked.proof and law == GAUSSIAN), base, relation, promise, delta
    )
    value = objective.value(release, calibrated.release)
    if min(value, objective.value(release, release)) < _NEVER:
        raise InputError(
            f"x of P(>x) is {objective.beyond}; an error as large as that has next to no chance with "
            "Gaussian noise, or with the noise as it was, so there is nothing to compare: give a smaller x"
        )
    groups = law_groups(release)
    laws: tuple[Fraction, ...] = (GAUSSIAN,) * len(groups)
    tried: tuple[TriedLaw, ...] = ()
    after, factor, gaussian = calibrated.release, calibrated.factor, calibrated
    if law != GAUSSIAN:
        size = float(_top_factor(calibrated, asked.weights))
        search = LawSearch(
            release,
            _smooth_family(base, asked.weights),
            relation,
            promise,
            delta,
            objective,
            TriedLaw(laws, size, value),
            asked.jobs,
            asked.progress,
        )
        laws, least, made, tried = search_laws(search, law, main)
        if made is None:
            calibrated = calibration.calibrate_overall(plain, base, relation, promise, delta)
            after, factor = calibrated.release, calibrated.factor
        else:
            after, factor = made, None if asked.weights else least
            calibrated = _proved(asked, search, laws, least, made)
            after = calibrated.release
    by_level = {name: law for group, law in zip(groups, laws, strict=True) for name in group}
    choice = LawChoice(
        asked.law or "",
        objective,
        tuple((level.name, by_level[level.name]) for level in release.levels),
        LawSide.of(release, after, objective),
        LawSide.of(release, release, objective),
        LawSide.of(release, gaussian.release, objective),
        tried,
    )
    note = calibration.calibrated_note(promise, delta, f", {', '.join(choice.names)} noise")
    return replace(
        calibrated,
        release=calibration.named(release, after, note),
        before=release,
        factor=factor,
        levels=calibration.changes(release, after),
        law=choice,
    )


def _proved(
    asked: Calibrating, search: LawSearch, laws: Sequence[Fraction], factor: Fraction, made: Release
) -> Calibration:
    """Return the release that was found, with its proof; a little more noise if the proof asks for it."""
    proof, unproved, more = None, "", Fraction(1, 10**6)
    for _ in range(5 if asked.proof else 0):
        try:
            proof = calibration.prove(
                made, search.relation, search.epsilon, search.delta, asked.jobs, asked.progress
            )
            break
        except calibration.RefutedError:
            # a proof may lie a little above the float: slightly more noise is proved
            factor, more = _short(factor * (1 + more)), 4 * more
            made = search.made(laws, factor)
        except PrecisionError as error:
            unproved = str(error)
            break
    return calibration.Calibration(
        made,
        search.relation,
        None if asked.weights else factor,
        search.epsilon,
        search.delta,
        proof,
        (),
        None,
        "weights" if asked.weights else "overall",
        search.before,
        unproved=unproved,
    )


def _pure(
    asked: Calibrating,
    release: Release,
    relation: Neighbours,
    target: Fraction | None,
    law: Fraction | str,
    objective: Objective,
) -> Calibration:
    """Return the release with the least Laplace noise that keeps (epsilon, 0): other laws keep none."""
    if law not in (LAPLACE, "best", "each"):
        raise InputError(NO_PURE)
    laws = {level.name: LAPLACE for level in release.levels}
    base = with_laws(gaussian_like(release), laws)
    calibrated = calibration.calibrate_pure(replace(asked, law=None), base, relation, target)
    side, today = (LawSide.of(release, compared, objective) for compared in (calibrated.release, release))
    choice = LawChoice(asked.law or "", objective, tuple(laws.items()), side, today, None)
    return replace(
        calibrated, before=release, levels=calibration.changes(release, calibrated.release), law=choice
    )


def _smooth_family(base: Release, weights: Mapping[str, Exact] | None) -> Callable[[Fraction], Release]:
    """Releases, less noisy as a factor x falls; with weights level l has the factor x^(w_l / max w)."""
    if not weights:
        return base.scaled
    shares = {name: positive(size, name=f"the weight of level {name!r}") for name, size in weights.items()}
    top = max(shares.values())

    def family(size: Fraction) -> Release:
        result = base
        for name, share in shares.items():
            result = result.scaled(_short(float(size) ** float(share / top)), level=name)
        return result

    return family


def _top_factor(calibrated: Calibration, weights: Mapping[str, Exact] | None) -> Fraction:
    """The factor on the variances of the level with the largest weight."""
    if calibrated.factor is not None:
        return calibrated.factor
    name = max(weights or {}, key=lambda name: positive((weights or {})[name], name="weight"))
    level = calibrated.before.level(name).name
    return next(change.factor for change in calibrated.levels if change.name == level)
