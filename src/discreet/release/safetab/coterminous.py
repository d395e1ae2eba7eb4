"""Regions made of the same blocks publish the same numbers: the highest one that has any gives them to the
others.

This is Algorithm 4 of the paper. It looks at one population group at a time: among regions of the same
blocks, the first in the order of `ORDER` whose group was not suppressed is the donor, and its table takes
the place of the others' own, also where theirs was suppressed. Where every region's group was suppressed,
nothing is published. A group is only given to geographies that tabulate it (total-only groups stay at the
state, coarse-only groups come from below it). Variance and margin of error go along: they are those of the
donor's noise.

It costs nothing: which blocks make which region is public, and the rest is a function of released numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.release.safetab.parts import Integers, Part, joined

ORDER = ("STATE", "COUNTY", "TRACT", "PLACE", "AIANNH")
"""Who gives, first to last; those of Puerto Rico alike."""

Classes = Sequence[Sequence[tuple[str, int]]]
"""Regions of the same blocks, each a geography and a region's index."""

Parts = Mapping[tuple[str, int], Part]
"""Released groups by geography and level."""


def donated(
    parts: Parts,
    classes: Classes,
    tabulated: Mapping[tuple[str, int], Sequence[int]],
    *,
    order: Sequence[str] = ORDER,
) -> tuple[dict[tuple[str, int], Part], int]:
    """Return the groups after donation, and how many were given; `tabulated` are the iterations of each
    place.

    >>> county = Part.of("COUNTY", 1, [0], [0], [0], [0], [30])
    >>> tract = Part.of("TRACT", 1, [0], [0], [0], [0], [41])
    >>> same = [[("COUNTY", 0), ("TRACT", 0)]]
    >>> parts = {("COUNTY", 1): county, ("TRACT", 1): tract}
    >>> after, given = donated(parts, same, {("COUNTY", 1): [0], ("TRACT", 1): [0]})
    >>> after["TRACT", 1].values.tolist(), given
    ([30], 1)
    """
    ranks = _ranks(order)
    members = [
        (group, geography, region)
        for group, regions in enumerate(classes)
        for geography, region in regions
        if geography in ranks
    ]
    result, count = dict(parts), 0
    for level in sorted({level for _, level in parts}):
        here = [member for member in members if (member[1], level) in parts]
        for geography, (kept, given) in _level(parts, level, here, ranks, tabulated).items():
            result[geography, level] = joined([kept, *given])
            count += sum(part.size for part in given)
    return result, count


def _ranks(order: Sequence[str]) -> dict[str, int]:
    if sorted(order) != sorted(ORDER):
        raise InputError(
            f"the order of donors is {', '.join(order)}; it must name each of {', '.join(ORDER)} once"
        )
    return {f"{prefix}{name}": i for i, name in enumerate(order) for prefix in ("", "PR-")}


def _level(
    parts: Parts,
    level: int,
    members: Sequence[tuple[int, str, int]],
    ranks: Mapping[str, int],
    tabulated: Mapping[tuple[str, int], Sequence[int]],
) -> dict[str, tuple[Part, list[Part]]]:
    """Return for each geography of one level the groups that it keeps and those that it is given."""
    geographies = sorted({geography for _, geography, _ in members}, key=ranks.__getitem__)
    donors = _donors(parts, level, members, geographies)
    result = {}
    for geography in geographies:
        part, given = parts[geography, level], []
        region_of = np.full(1 + max(group for group, _, _ in members), -1, dtype=np.int32)
        for group, where, region in members:
            if where == geography:
                region_of[group] = region
        replaced = np.zeros(part.size, dtype=bool)
        for donor, (groups, places) in donors.items():
            if donor == geography:
                continue
            giver = parts[donor, level]
            mine = (region_of[groups] >= 0) & np.isin(giver.iteration[places], tabulated[geography, level])
            copies = replace(giver.take(places[mine]), geography=geography, region=region_of[groups[mine]])
            given.append(copies)
            replaced |= np.isin(_keys(part), _keys(copies))
        result[geography] = (part.keep(~replaced), given)
    return result


def _donors(
    parts: Parts, level: int, members: Sequence[tuple[int, str, int]], geographies: Sequence[str]
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.intp]]]:
    """Return for each geography the classes it gives to and the places of the groups that it gives."""
    seen = np.zeros(0, dtype=np.int64)
    found = {}
    for geography in geographies:  # in the order of donors
        part = parts[geography, level]
        class_of = np.full(int(part.region.max(initial=-1)) + 1, -1, dtype=np.int64)
        for group, where, region in members:
            if where == geography and region < class_of.size:
                class_of[region] = group
        classes = class_of[part.region]
        place = np.flatnonzero(classes >= 0)
        key = classes[place] << 32 | part.iteration[place]
        first = ~np.isin(key, seen)
        found[geography] = (classes[place][first], place[first])
        seen = np.concatenate([seen, key[first]])
    return found


def _keys(part: Part) -> Integers:
    return part.region.astype(np.int64) << 32 | part.iteration
