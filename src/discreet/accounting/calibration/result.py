"""What calibration finds: the new release, what changed at each level, and the proof."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from discreet.budget.answer import Claim
from discreet.budget.events import DiscreteGaussian, Event
from discreet.budget.neighbours import Neighbours
from discreet.budget.release import Release
from discreet.noise import GaussianNoise, LaplaceNoise, Noise
from discreet.numbers import Interval

LEVEL = Fraction(95, 100)
"""The chance with which the noise is within its margin of error."""


@dataclass(frozen=True, slots=True)
class NoiseChange:
    """The noise of one query before and after; for Laplace noise the variance is rounded to 12 digits."""

    name: str
    before: Fraction
    after: Fraction
    events: tuple[Event, Event]

    @property
    def margins(self) -> tuple[int, int]:
        """The exact 95 % margins of error before and after: what the noise does not exceed."""
        old, new = (_law(event).margin(LEVEL) for event in self.events)
        return old, new

    @property
    def saving(self) -> float:
        """The share of the variance that is saved; negative if there is more of it."""
        return float(1 - self.after / self.before)


@dataclass(frozen=True, slots=True)
class LevelChange:
    """One level's variances before and after; `epsilon` is its own promise, if calibrated by itself."""

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

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON says of the level."""
        return {
            "name": self.name,
            "factor": float(self.factor),
            "before": float(self.before),
            "after": float(self.after),
            **({} if self.epsilon is None else {"epsilon": float(self.epsilon)}),
            "queries": [
                {
                    "name": query.name,
                    "before": str(query.before),
                    "after": str(query.after),
                    "margins": list(query.margins),
                }
                for query in self.queries
            ],
        }


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
    by: Literal["overall", "level"] = "overall"

    @property
    def claim(self) -> Claim:
        """What kind of answer this is: the promise holds of the release as far as the release is modelled."""
        return self.release.claim

    @property
    def savings(self) -> tuple[float, float]:
        """The smallest and the largest share of a query's variance that is saved; negative if noise grows."""
        found = [query.saving for level in self.levels for query in level.queries]
        return min(found), max(found)

    @property
    def reduction(self) -> float | None:
        """The share of every query's variance that is saved by one factor: the least of them.

        The factor is on the squares of Laplace scales, whose variances change a little differently.
        """
        return None if self.factor is None else self.savings[0]

    @property
    def saved(self) -> str:
        """What one factor does to the variances, in words."""
        least, most = self.savings
        if f"{100 * least:.3f}" == f"{100 * most:.3f}":
            return less_or_more(1 - least)
        if least >= 0:
            return f"{100 * least:.3f} to {100 * most:.3f} % less variance"
        return f"{1 - most:.6g} to {1 - least:.6g} times the variance"

    def __str__(self) -> str:
        saved = "" if self.factor is None else f"{self.saved}, "
        promise = "each level's own promise" if self.epsilon is None else f"epsilon {float(self.epsilon):.6g}"
        alone = "each level by itself: " if self.by == "level" and self.epsilon is not None else ""
        return f"{self.release.name}: {alone}{saved}{promise} at delta {float(self.delta):.3g}"

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON says: variances as exact texts, all else as floats."""
        return {
            "neighbours": self.neighbours,
            "factor": None if self.factor is None else float(self.factor),
            "reduction": self.reduction,
            "epsilon": None if self.epsilon is None else float(self.epsilon),
            "delta": float(self.delta),
            "answer": self.claim.as_dict(),
            "lower": None if self.proof is None else float(self.proof.lower),
            "upper": None if self.proof is None else float(self.proof.upper),
            "price": self.price,
            "levels": [level.as_dict() for level in self.levels],
            "notes": list(self.notes),
        }


def less_or_more(factor: float) -> str:
    """Say what a factor does to a variance.

    >>> less_or_more(0.877203), less_or_more(7.46)
    ('12.280 % less variance', '7.46 times the variance')
    """
    if factor <= 1:
        return f"{100 * (1 - factor):.3f} % less variance"
    return f"{factor:.6g} times the variance"


def changes(before: Release, after: Release) -> tuple[LevelChange, ...]:
    """Return the variances of each level and query, before and after; for Laplace noise to 12 digits."""
    old = {(row.level, row.query): row.event for row in before.variance_table()}
    levels: dict[str, list[NoiseChange]] = {}
    factors: dict[str, list[tuple[bool, Fraction]]] = {}
    for row in after.variance_table():
        was, now = old[row.level, row.query], row.event
        change = NoiseChange(row.query, _variance(was), _variance(now), (was, now))
        levels.setdefault(row.level, []).append(change)
        factors.setdefault(row.level, []).append(_ratio(was, now))
    # a factor read off Gaussian noise is exact; that of a rounded Laplace scale is not
    return tuple(LevelChange(name, max(factors[name])[1], tuple(found)) for name, found in levels.items())


def _law(event: Event) -> Noise:
    return GaussianNoise(event.variance) if isinstance(event, DiscreteGaussian) else LaplaceNoise(event.scale)


def _variance(event: Event) -> Fraction:
    if isinstance(event, DiscreteGaussian):
        return event.variance
    return Fraction(f"{LaplaceNoise(event.scale).true_variance():.12g}")


def _ratio(before: Event, after: Event) -> tuple[bool, Fraction]:
    """Return whether the noise is Gaussian, and the factor on its variance."""
    if isinstance(before, DiscreteGaussian) and isinstance(after, DiscreteGaussian):
        return True, after.variance / before.variance
    assert not isinstance(before, DiscreteGaussian)
    assert not isinstance(after, DiscreteGaussian)
    return False, (after.scale / before.scale) ** 2


def named(before: Release, after: Release, note: str) -> Release:
    """Return the new release under a name of its own, saying what was done to it."""
    return replace(after, name=f"{before.name}-calibrated", notes=(note, *before.notes))


def _most_common(values: list[Fraction]) -> Fraction:
    return max(values, key=lambda v: (values.count(v), -values.index(v)))
