"""Noise from risk: the least noise with which everything published keeps limits on what an adversary gains.

One factor on all variances, gains shared by weights, or each level alone (`by="level"`), as for promises of
epsilon. What a limit is, and how it is proved: `discreet.promises.limits`.

Noise in whole numbers makes a risk a saw: it may rise a little where the noise grows, so that bisection
finds a factor below which a limit breaks, but perhaps not the least one that keeps it. So smaller factors are
tried, and the answer says how many. A limit on beliefs is a coarse saw, of which the first tooth is meant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.accounting.account import account
from discreet.accounting.calibration import (
    SOME,
    LevelChange,
    bounds,
    changes,
    named,
    rounded_up,
    short_scales,
    weighted_family,
)
from discreet.accounting.parallel import Progress
from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.budget.events import Releasable, release_of
from discreet.budget.neighbours import CaseLabel, Neighbours
from discreet.budget.release import Release
from discreet.disclosure.questions import Limits
from discreet.errors import InputError, PrecisionError
from discreet.faces import Displayed
from discreet.loss.quantiles import loss_tails
from discreet.loss.values import Number
from discreet.noise.capabilities import require
from discreet.numbers import Exact, by_name, read_delta
from discreet.promises.limits import (
    KeptLimit,
    RiskLimit,
    largest_part,
    limited_account,
    proved_limits,
    read_limits,
    told_of_all,
)

_TOLERANCE = 1e-7
_STEP = 2e-5  # of the factor, where a proof needs a little more room
_TRIED, _SMALLEST = 48, 1 / 8  # smaller factors, down to this part of the one that was found


@dataclass(frozen=True, slots=True)
class KeptLevel:
    """A level that keeps all limits alone: its factor, what is proved of it, and its own epsilon at delta."""

    name: str
    factor: Fraction
    kept: tuple[KeptLimit, ...]
    epsilon: float


@dataclass(frozen=True, slots=True)
class RiskCalibration(Displayed):
    """The release with the least noise that keeps all limits.

    Guarantee. For every case of the relation each limit is kept: `proved` of each, where there is one, is at
    most its `most`. By level that holds of each level alone (`alone`), and `kept` says what everything
    published together tells, which is more.
    """

    before: Release
    release: Release
    neighbours: Neighbours
    factor: Fraction | None
    """On all variances; None with weights or by level."""
    kept: tuple[KeptLimit, ...]
    epsilon: float
    delta: Fraction
    levels: tuple[LevelChange, ...]
    by: Literal["overall", "weights", "level"] = "overall"
    alone: tuple[KeptLevel, ...] = ()
    tried: int = 0
    """How many smaller factors were tried, and break a limit; others between them may keep all."""

    @property
    def is_saw(self) -> bool:
        """Whether another factor, smaller than the one found, may keep the limits too."""
        return any(kept.limit.is_saw for kept in self.kept)


def calibrate_risk(
    release: Releasable,
    *,
    risk: Limits,
    delta: Number = "1e-10",
    by: Literal["overall", "level"] = "overall",
    weights: Mapping[str, Exact] | None = None,
    neighbours: Neighbours | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> RiskCalibration:
    """Find the least noise whose risk keeps all limits, and prove it.

    `overall`: one factor on all variances (or, with `weights`, gains shared in proportion to them), and the
    limits are about everything published. `level`: each level alone keeps them.

    >>> from discreet.budget import load
    >>> calibrated = calibrate_risk(load("dhc-2022-08-25"), risk=["right=60%,prior=1/2"])
    >>> float(calibrated.factor), round(calibrated.kept[0].risk, 5), round(calibrated.epsilon, 4)
    (28.4336, 0.6, 3.1436)
    >>> calibrated = calibrate_risk(load("dhc-2022-08-25"), risk=["right=60%,prior=1/2"], by="level")  # slow
    >>> [(level.name, float(level.factor)) for level in calibrated.alone][:2]
    [('US', 0.568429), ('State', 7.78747)]
    """
    release, limits = release_of(release), read_limits(risk)
    weights = by_name(weights, name="weights")
    small = read_delta(delta, floats=True)
    relation = release.neighbours if neighbours is None else neighbours
    if by not in ("overall", "level"):
        raise InputError(f"by is {by!r}; it must be overall or level")
    if by == "level":
        if weights:
            raise InputError(
                "weights share one gain between the levels: they cannot be combined with calibration by level"
            )
        return _each_level(release, relation, limits, small, jobs, progress)
    if any(limit.kind == "belief" for limit in limits):
        require("limits on beliefs", (row.event for row in release.variance_table()))
    search = _Search(release, relation, limits, weighted_family(release, weights), jobs, progress)
    ends = bounds(event for level in release.levels for event in level.events(release.neighbours))
    if weights and len(weights) < len(release.levels):
        ends = ends[0], float(SOME)
        if not search.keeps_main(ends[1]):
            raise InputError(
                f"the limits on risk are not kept even with {SOME:,} times the variances of "
                f"{', '.join(weights)}: levels without a weight keep their noise, so more of them need one"
            )
    after, factor, kept, tried = search.found(ends)
    return RiskCalibration(
        release,
        named(release, after, "Calibrated to limits on risk."),
        relation,
        None if weights else factor,
        kept,
        _epsilon_of(after, relation, small, jobs),
        small,
        changes(release, after),
        "weights" if weights else "overall",
        tried=tried,
    )


def _each_level(
    release: Release,
    relation: Neighbours,
    limits: Sequence[RiskLimit],
    delta: Fraction,
    jobs: int,
    progress: Progress | None,
) -> RiskCalibration:
    """Return the release whose levels each keep the limits alone, and the risk of all of them together."""
    result, alone, tried = release, [], 0
    for level in release.levels:
        only = replace(release, levels=(level,), rho=None, spine=None)
        try:
            calibrated = calibrate_risk(
                only, risk=limits, delta=delta, neighbours=relation, jobs=jobs, progress=progress
            )
        except InputError as error:
            raise InputError(f"level {level.name!r} alone: {error}") from None
        assert calibrated.factor is not None
        alone.append(KeptLevel(level.name, calibrated.factor, calibrated.kept, calibrated.epsilon))
        result, tried = result.scaled(calibrated.factor, level=level.name), calibrated.tried
    result = short_scales(result)
    together = proved_limits(result, relation, limits, _risks(release, relation, limits), certify=False)
    return RiskCalibration(
        release,
        named(release, result, "Each level calibrated alone to limits on risk."),
        relation,
        None,
        together,
        _epsilon_of(result, relation, delta, jobs),
        delta,
        changes(release, result),
        "level",
        tuple(alone),
        tried,
    )


def _risks(release: Release, relation: Neighbours, limits: Sequence[RiskLimit]) -> list[float]:
    return [limit.risk(told_of_all(limited_account(release, relation, limit), limit)[0]) for limit in limits]


def _epsilon_of(release: Release, relation: Neighbours, delta: Fraction, jobs: int) -> float:
    """The exact epsilon at delta; zero if delta alone is enough."""
    cost = account(release, neighbours=relation, jobs=jobs)
    (none,) = cost.at_epsilon([Fraction(0)])
    return 0.0 if none.delta <= float(delta) else float(cost.epsilon(delta=delta))


def _told_by(loss: PrivacyLoss, limit: RiskLimit) -> float:
    """What the curve of one case tells."""
    if limit.kind == "right":
        return float(loss.delta(epsilon=limit.threshold))
    if limit.kind == "belief":
        return float(
            loss_tails(loss.law.on_lattice("limits on beliefs"), np.array([float(limit.threshold)]))[0]
        )
    return 1.0 - float(loss.tradeoff(alpha=limit.rate))  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Search:
    """The search for the least noise among releases that get noisier with a factor."""

    before: Release
    relation: Neighbours
    limits: Sequence[RiskLimit]
    family: Callable[[Fraction], Release]
    jobs: int
    progress: Progress | None

    def found(self, ends: tuple[float, float]) -> tuple[Release, Fraction, tuple[KeptLimit, ...], int]:
        """Return the release, its factor, its proofs, and how many smaller factors break a limit.

        Solved for one case of each limit, then checked for all; whichever is worst is solved next.
        """
        cases = self._main_cases()
        for _ in range(8):
            factor = rounded_up(_first(lambda x: self._is_kept(x, cases), *ends))
            if not self._opened(factor, cases):
                break
        smaller = self._tried(factor, ends[0])
        for position, low in enumerate(smaller):
            if not self._is_kept(low, cases):
                continue
            high, under = low, smaller[position - 1] if position else low
            less = rounded_up(_bisected(lambda x: self._is_kept(x, cases), under, high))
            if not self._opened(less, cases):
                factor, smaller = less, smaller[:position]
                break
        return *self._proved(self._together(factor)), len(smaller)

    def _opened(self, factor: Fraction, cases: dict[RiskLimit, list[CaseLabel]]) -> bool:
        """Whether some other case breaks a limit at a factor; it is looked at from now on."""
        after, is_open = self.made(factor), False
        for limit in self.limits:
            whole = limited_account(after, self.relation, limit).with_workers(self.jobs, self.progress)
            told, label = told_of_all(whole, limit)
            if told > limit.room * (1 + 1e-9) and label not in cases[limit]:
                cases[limit].append(label)
                is_open = True
        return is_open

    def _tried(self, factor: Fraction, least: float) -> list[float]:
        """Smaller factors to try, ascending, where a risk may be a saw, but not of beliefs."""
        if not any(limit.is_saw for limit in self.limits) or any(
            limit.kind == "belief" for limit in self.limits
        ):
            return []
        low = max(least, float(factor) * _SMALLEST)
        return [] if low >= float(factor) else np.geomspace(low, float(factor), _TRIED + 1)[:-1].tolist()

    def made(self, factor: float | Fraction) -> Release:
        """Return the release of a factor, rounded up."""
        return short_scales(self.family(rounded_up(factor)))

    def keeps_main(self, factor: float) -> bool:
        """Whether the main case keeps all limits."""
        return self._is_kept(factor, self._main_cases())

    def _main_cases(self) -> dict[RiskLimit, list[CaseLabel]]:
        return {limit: [limited_account(self.before, self.relation, limit).main] for limit in self.limits}

    def _is_kept(self, factor: float, cases: Mapping[RiskLimit, Sequence[CaseLabel]]) -> bool:
        after = self.made(factor)
        for limit, labels in cases.items():
            own = limited_account(after, self.relation, limit)
            if any(_told_by(compose(own.events(label)), limit) > limit.room for label in labels):
                return False
        return True

    def _together(self, factor: Fraction) -> Fraction:
        """The factor from which all cases together keep the limits: their envelope may lie below each f."""

        def is_kept(x: float) -> bool:
            return largest_part(self.made(x), self.relation, self.limits) <= 1.0

        low, width = float(factor), 1e-5
        if is_kept(low):
            return factor
        high = low * (1 + width)
        while not is_kept(high):
            low, width = high, 2 * width
            high = low * (1 + width)
        while high / low > 1 + 1e-6:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if is_kept(middle) else (middle, high)
        return rounded_up(high)

    def _proved(self, factor: Fraction) -> tuple[Release, Fraction, tuple[KeptLimit, ...]]:
        """Prove all limits, with a little more noise where the proof needs room."""
        before = _risks(self.before, self.relation, self.limits)
        for attempt in range(12):
            more = rounded_up(float(factor) * (1 + _STEP * (2**attempt - 1)))
            after = self.made(more)
            proofs = proved_limits(after, self.relation, self.limits, before, jobs=self.jobs)
            if not proofs[-1].is_refuted:
                return after, more, proofs
        raise PrecisionError("the limits on risk are kept as far as floats can tell, but the proof fails")


def _first(is_kept: Callable[[float], bool], low: float, high: float) -> float:
    """The least factor at which limits are kept: bracketed by factors of two from 1, then bisected."""
    x = 1.0
    if is_kept(x):
        while x > low and is_kept(x / 2):
            x /= 2
        if x <= low:
            raise InputError(
                f"the limits on risk are kept even with {low:.3g} times the variances, which is next to no "
                "noise; choose lower ones"
            )
        under, over = x / 2, x
    else:
        while not is_kept(2 * x):
            x *= 2
            if x > high:
                raise InputError(f"the limits on risk are not kept even with {high:.3g} times the variances")
        under, over = x, 2 * x
    return _bisected(is_kept, under, over)


def _bisected(is_kept: Callable[[float], bool], under: float, over: float) -> float:
    """A factor at which limits are kept, with one next to it at which they are not, between two such."""
    while over / under > 1 + _TOLERANCE:
        middle = math.sqrt(under * over)
        under, over = (under, middle) if is_kept(middle) else (middle, over)
    return over
