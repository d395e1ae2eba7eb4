"""A release as a table of noise, and in a few lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from discreet.budget.events import DiscreteGaussian, Event
from discreet.budget.levels import Level
from discreet.budget.neighbours import Neighbours
from discreet.budget.spine import Runs, written
from discreet.numbers import decimal

if TYPE_CHECKING:
    from discreet.budget.release import Release


class Row(NamedTuple):
    """One line of the table of noise: `share` is of the level's rho; Laplace noise has a scale and no rho."""

    level: str
    query: str
    event: Event
    rho: Fraction | None
    share: Fraction | None

    @property
    def variance(self) -> Fraction | None:
        """The variance of Gaussian noise."""
        return self.event.variance if isinstance(self.event, DiscreteGaussian) else None

    @property
    def scale(self) -> Fraction | None:
        """The scale of Laplace noise."""
        return None if isinstance(self.event, DiscreteGaussian) else self.event.scale


def rows(release: Release, runs: Runs) -> Iterator[Row]:
    """Yield the noise of each query along a path: the top level of a run spends the run's whole budget.

    With one precision for the level's own queries and one for the run, each variance shrinks by their ratio.
    """
    levels = {level.name: level for level in release.levels}
    for run in runs:
        top = levels[run[0]]
        own = top.precision(release.neighbours)
        whole = sum((levels[name].precision(release.neighbours) for name in run), Fraction(0))
        for query, event in zip(top.queries, top.events(release.neighbours), strict=True):
            if not isinstance(event, DiscreteGaussian):
                yield Row("+".join(run), query.name, event, None, None)
                continue
            if len(run) > 1:
                event = replace(event, variance=event.variance * own / whole)
            share = None if top.has_laplace else event.precision / whole
            rho = event.precision / (1 if release.neighbours == "bounded" else 2)
            yield Row("+".join(run), query.name, event, rho, share)


def summary(release: Release) -> str:
    """Return a few lines that can be pasted into a memo; `str(release)` is the same."""
    total = "" if release.rho is None else f", rho {release.rho} = {_short(release.rho)}"
    queries = sum(len(level.queries) for level in release.levels)
    lines = [
        f"{release.name}: {release.title}" if release.title else release.name,
        f"  one {release.unit}, calibrated for {release.neighbours} neighbours{total}",
        f"  {_count(len(release.levels), 'level')}, {_count(queries, 'query')}, {_paths(release)}",
    ]
    width = max(len(level.name) for level in release.levels)
    for level in release.levels:
        rho = "" if level.has_laplace else f"rho {_short(level.spent(release.neighbours)):<10}  "
        lines.append(f"  {level.name:<{width}}  {rho}{_noise(level, release.neighbours)}")
    return "\n".join(lines)


def _paths(release: Release) -> str:
    if len(release.paths) == 1:
        return "one path"
    return f"{len(release.paths)} paths (main {release.main}: {written(release.runs(release.main))})"


def _noise(level: Level, neighbours: Neighbours) -> str:
    events = level.events(neighbours)
    parts = []
    for word, sizes in (
        ("variance", sorted({event.variance for event in events if isinstance(event, DiscreteGaussian)})),
        ("scale", sorted({event.scale for event in events if not isinstance(event, DiscreteGaussian)})),
    ):
        if sizes:
            span = _short(sizes[0]) + (f" to {_short(sizes[-1])}" if len(sizes) > 1 else "")
            parts.append(f"{word} {span}")
    return f"{_count(len(events), 'query')} of {' and '.join(parts)}"


def _short(value: Fraction) -> str:
    if Fraction(1, 10**300) < value < 10**300:
        return f"{float(value):.5g}"
    return decimal(value, digits=5, down=True)


def _count(many: int, word: str) -> str:
    plural = word[:-1] + "ies" if word.endswith("y") else word + "s"
    return f"{many} {word if many == 1 else plural}"
