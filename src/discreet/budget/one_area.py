"""Levels that have a single area: replacing a record changes no total of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from discreet.budget.level_names import find_level
from discreet.budget.neighbours import Neighbours
from discreet.budget.release import Release
from discreet.errors import InputError
from discreet.numbers import shown


def levels_with_one_area(
    releases: Sequence[Release], neighbours: Neighbours, named: Collection[str]
) -> list[tuple[str, ...]]:
    """Return, for each release, its levels among those named to have one area; each has a total to leave out.

    >>> from discreet.budget import load
    >>> levels_with_one_area([load("pl94-2020-persons"), load("dhc-2020")], "bounded", ["state"])
    [('State',), ('State',)]
    """
    if isinstance(named, str):
        raise InputError(f"one_area is {named!r}; it must be a list of levels, such as [{named!r}]")
    if named and neighbours != "bounded":
        raise InputError(
            "one_area leaves out totals that do not change where a record is replaced; neighbours are "
            "unbounded, and a record that is added changes every total"
        )
    levels: list[tuple[str, ...]] = []
    problems: list[str] = []
    for release in releases:
        found = {name: find_level(name, [level.name for level in release.levels]) for name in named}
        levels.append(tuple(dict.fromkeys(own for own in found.values() if own is not None)))
    for name in named:
        own = [(release, find_level(name, [level.name for level in release.levels])) for release in releases]
        there = [(release, release.level(level)) for release, level in own if level is not None]
        known = list(dict.fromkeys(level.name for release in releases for level in release.levels))
        if not there:
            problems.append(f"one_area names {shown(name)}, which is no level; there are {', '.join(known)}")
        elif not any(release.constants(neighbours, [level.name]) for release, level in there):
            problems.append(f"level {shown(name)} has no total of records that could be left out")
        problems += [
            f"level {shown(name)} of {release.name} states areas = {level.areas}, not 1"
            for release, level in there
            if level.areas not in (None, 1)
        ]
    if problems:
        raise InputError("; ".join(problems))
    return levels
