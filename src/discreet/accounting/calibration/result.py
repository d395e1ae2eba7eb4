"""What calibration finds: the new release, what changed at each level, and the proof."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from discreet.budget.answer import Claim
from discreet.budget.events import DiscreteGaussian, Event
from discreet.budget.neighbours import Neighbours
from discreet.budget.release import Release
from discreet.noise import LaplaceNoise
from discreet.numbers import Interval


@dataclass(frozen=True, slots=True)
class LevelChange:
    """One level's variances before and after; `epsilon` is its own promise, if calibrated by itself."""

    name: str
    factor: Fraction
    queries: tuple[tuple[str, Fraction, Fraction], ...]
    epsilon: Fraction | None = None

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
    by: Literal["overall", "level"] = "overall"

    @property
    def claim(self) -> Claim:
        """What kind of answer this is: the promise holds of the release as far as the release is modelled."""
        return self.release.claim

    @property
    def reduction(self) -> float | None:
        """The share of the variance that is saved; negative if the promise needs more noise."""
        return None if self.factor is None else float(1 - self.factor)

    def __str__(self) -> str:
        saved = "" if self.factor is None else f"{less_or_more(self.factor)}, "
        promise = "each level's own promise" if self.epsilon is None else f"epsilon {float(self.epsilon):.6g}"
        alone = "each level by itself: " if self.by == "level" and self.epsilon is not None else ""
        return f"{self.release.name}: {alone}{saved}{promise} at delta {float(self.delta):.3g}"


def less_or_more(factor: Fraction) -> str:
    """Say what a factor does to a variance.

    >>> less_or_more(Fraction("0.877203")), less_or_more(Fraction("7.46"))
    ('12.280 % less variance', '7.46 times the variance')
    """
    if factor <= 1:
        return f"{float(100 * (1 - factor)):.3f} % less variance"
    return f"{float(factor):.6g} times the variance"


def changes(before: Release, after: Release) -> tuple[LevelChange, ...]:
    """Return the variances of each level and query, before and after; for Laplace noise to 12 digits."""
    old = {(row.level, row.query): row.event for row in before.variance_table()}
    levels: dict[str, list[tuple[str, Fraction, Fraction]]] = {}
    factors: dict[str, list[tuple[bool, Fraction]]] = {}
    for row in after.variance_table():
        was, now = old[row.level, row.query], row.event
        levels.setdefault(row.level, []).append((row.query, _variance(was), _variance(now)))
        factors.setdefault(row.level, []).append(_ratio(was, now))
    # a factor read off Gaussian noise is exact; that of a rounded Laplace scale is not
    return tuple(LevelChange(name, max(factors[name])[1], tuple(found)) for name, found in levels.items())


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
