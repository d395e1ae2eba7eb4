"""A release by whatever names it: itself, a preset, a file, or a list of events."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from discreet.budget.levels import Level, Query
from discreet.budget.presets import load
from discreet.budget.release import Release
from discreet.errors import InputError
from discreet.noise import Noise, grouped

Releasable = Release | str | os.PathLike[str] | Noise | Iterable[Noise]
"""What a release is named by."""

Releasables = Releasable | Sequence[Release | str | os.PathLike[str]]
"""What one release, or several together, are named by."""


def release_of(named: Releasable) -> Release:
    """Return a release as it is, by the name of its preset or file, or as a list of events.

    Events say what one person who is added or removed can change, so they are a release for unbounded
    neighbours, of one level and one path.

    >>> from discreet.noise import DiscreteGaussian, DiscreteLaplace
    >>> release_of("pl94-2020").name
    'pl94-2020-persons'
    >>> event = DiscreteGaussian(variance=5)
    >>> made = release_of([9 * event, event, DiscreteLaplace(scale=4)])
    >>> [str(event) for event in made.path_events(1)]
    ['10 times discrete Gaussian noise of variance 5', 'discrete Laplace noise of scale 4']
    """
    if isinstance(named, Release):
        return named
    if isinstance(named, str | os.PathLike):
        return load(named)
    events = [named] if isinstance(named, Noise) else _listed(named)
    if not events:
        raise InputError("the list of events is empty; there is nothing to account for")
    queries = [
        Query(
            name=f"counts {number}",
            noise=event.for_one(),
            sensitivity=event.sensitivity,
            groups=event.times,
        )
        for number, event in enumerate(grouped(events), 1)
    ]
    return Release(name="events", neighbours="unbounded", levels=[Level(name="events", queries=queries)])


def releases_of(named: Releasables) -> list[Release]:
    """Return releases of whom one is named, or several in a list; a list of events alone is one.

    >>> from discreet.noise import DiscreteGaussian
    >>> [one.name for one in releases_of(["pl94-2020", release_of("dhc-2020")])]
    ['pl94-2020-persons', 'dhc-2020-persons']
    >>> len(releases_of([DiscreteGaussian(variance=5), DiscreteGaussian(variance=4)]))
    1
    """
    listed: list[object] = list(named) if isinstance(named, list | tuple) else []
    if any(isinstance(item, Release | str | os.PathLike) for item in listed):
        return [release_of(item) for item in listed]  # type: ignore[arg-type]  # it says what is wrong
    return [release_of(named)]  # type: ignore[arg-type]


def _listed(named: Iterable[object]) -> list[Noise]:
    try:
        items = list(named)
    except TypeError:
        raise _unusable(named) from None
    for item in items:
        if not isinstance(item, Noise):
            raise _unusable(item)
    return [item for item in items if isinstance(item, Noise)]


def _unusable(given: object) -> InputError:
    return InputError(
        f"a release is of type {type(given).__name__}; it must be a Release, the name of a preset or file, "
        "or a list of events such as [DiscreteGaussian(variance=5, times=10)]"
    )
