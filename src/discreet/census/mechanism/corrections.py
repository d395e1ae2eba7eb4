"""What is done to noisy tables before they are published. It uses noisy counts and public files: it is free.

*Regions of the same areas* publish the same numbers: the highest one that has any gives them to the others.
This is Algorithm 4 of the SafeTab-P paper. It looks at one population group at a time: among regions of the
same areas, the first in the specification's order whose group was not suppressed is the donor, and its table
takes the place of the others' own, also where theirs was suppressed. Where every region's group was
suppressed, nothing is published. A group is only given to geographies that tabulate it. Variance and margin
of error go along: they are those of the donor's noise.

*Alone never above combination, and no count below zero*. The paper (5.3.4) names both and leaves open how, so
they are options. A group of several codes comes twice, as people of whom all codes have it ("alone") and as
people of whom any has; the second cannot be smaller. Where noise says it is, both tables of the group are
dropped in that region, since either may be the wrong one, or only the first. It is dropped too where the
second was not published: its noisy count was then too small to be shown, and that of the first was not. Which
groups belong together is public: they have the same codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.parts import Codes, GroupArrays, joined, keys
from discreet.census.mechanism.regions import Classes
from discreet.census.mechanism.tabulation import AdaptiveTabulation
from discreet.errors import InputError
from discreet.memory import set_fields

Parts = Mapping[tuple[str, int], GroupArrays]
"""Released groups by geography and level."""


def donate(
    parts: Parts,
    classes: Classes,
    tabulated: Mapping[tuple[str, int], Sequence[int]],
    tabulation: AdaptiveTabulation,
    *,
    order: Sequence[str] | None = None,
) -> tuple[dict[tuple[str, int], GroupArrays], int]:
    """Return the groups after donation, and how many were given; `tabulated` are the iterations of each
    place. `order` is that of the donors, by default the specification's.

    >>> from discreet.census.safetab.specification import safetab_p
    >>> own = safetab_p()
    >>> county = GroupArrays.of(own.ladder(1), "COUNTY", 1, [0], [0], [0], [0], [30])
    >>> tract = GroupArrays.of(own.ladder(1), "TRACT", 1, [0], [0], [0], [0], [41])
    >>> same = [[("COUNTY", 0), ("TRACT", 0)]]
    >>> parts = {("COUNTY", 1): county, ("TRACT", 1): tract}
    >>> after, given = donate(parts, same, {("COUNTY", 1): [0], ("TRACT", 1): [0]}, own)
    >>> after["TRACT", 1].values.tolist(), given
    ([30], 1)
    """
    usual = tabulation.order
    order = usual if order is None else order
    if sorted(order) != sorted(usual):
        raise InputError(
            f"the order of donors is {', '.join(order)}; it must name each of {', '.join(usual)} once"
        )
    region_of: dict[str, Codes] = {}  # the region of each class in the order of donors, -1 if it has none
    donors_first = [
        name
        for like in order
        for name, region_type in tabulation.geographies.items()
        if region_type.like == like
    ]
    for geography in donors_first:
        region_of_class = [next((r for name, r in members if name == geography), -1) for members in classes]
        region_of[geography] = np.array(region_of_class, dtype=np.int32)
    result, count = dict(parts), 0
    for level in sorted({level for _, level in parts}):
        here = [
            name for name, regions in region_of.items() if (name, level) in parts and (regions >= 0).any()
        ]
        donors = _donors({name: parts[name, level] for name in here}, region_of)
        for geography in here:
            part, given = parts[geography, level], []
            for donor, (group, position) in donors.items():
                if donor != geography:
                    giver, regions = parts[donor, level], region_of[geography][group]
                    mine = (regions >= 0) & np.isin(giver.iteration[position], tabulated[geography, level])
                    copies = giver.take(position[mine])
                    given.append(replace(copies, geography=geography, region=regions[mine]))
            kept = np.ones(part.size, dtype=bool)
            for copies in given:
                own = keys(copies.region, copies.iteration)
                kept &= ~np.isin(keys(part.region, part.iteration), own)
            result[geography, level] = joined([part.keep(kept), *given])
            count += sum(copies.size for copies in given)
    return result, count


def _donors(
    parts: Mapping[str, GroupArrays], region_of: Mapping[str, Codes]
) -> dict[str, tuple[Codes, NDArray[np.intp]]]:
    """Return for each geography, in the order of donors, the classes it gives to and the groups it gives."""
    seen = np.zeros(0, dtype=np.int64)
    donors = {}
    for geography, part in parts.items():
        members = np.flatnonzero(region_of[geography] >= 0).astype(np.int32)
        regions = region_of[geography][members]
        class_of = np.full(max(part.region.max(initial=-1), regions.max()) + 1, -1, dtype=np.int32)
        class_of[regions] = members
        group = class_of[part.region]
        key = keys(group, part.iteration)
        position = np.flatnonzero((group >= 0) & ~np.isin(key, seen))
        donors[geography] = group[position], position
        seen = np.concatenate([seen, key[position]])
    return donors


def partners(specification: Specification) -> dict[int, int]:
    """Return, for each alone iteration that has one, the combination iteration of the same level and codes.

    Several of the same codes are matched in the order of the files.
    """
    every, some, _ = specification.tabulation.answers.kinds
    waiting: dict[tuple[int, frozenset[str]], list[int]] = {}
    for index, iteration in enumerate(specification.iterations):
        if iteration.kind == some:
            waiting.setdefault((iteration.level, specification.members[iteration.code]), []).append(index)
    partner_of = {}
    for index, iteration in enumerate(specification.iterations):
        key = iteration.level, specification.members[iteration.code]
        if iteration.kind == every and key[1] and waiting.get(key):
            partner_of[index] = waiting[key].pop(0)
    return partner_of


Suppression = Literal["both", "alone"]
"""Which groups are dropped where the alone count exceeds the combination count."""
Negative = Literal["zero", "drop"]
"""What becomes of a count below zero: it is set to zero, or its group is dropped."""


@dataclass(frozen=True, slots=True)
class Corrections:
    """The corrections of 5.3.4: which suppression, and what becomes of negative counts; None: neither.

    Suppression compares what is published, so it sets negative counts to zero unless told to drop them.

    >>> Corrections("alone")
    Corrections(suppression='alone', negative='zero')
    >>> Corrections(negative="drop")
    Corrections(suppression=None, negative='drop')
    """

    suppression: Suppression | None = None
    negative: Negative | None = None

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("tabulation suppression", self.suppression, get_args(Suppression)),
            ("negative", self.negative, get_args(Negative)),
        ):
            if value is not None and value not in allowed:
                raise InputError(f"{name} is {value!r}; it must be {' or '.join(allowed)}")
        if self.suppression is not None and self.negative is None:
            set_fields(self, negative="zero")

    def __bool__(self) -> bool:
        return self.negative is not None

    def document(self) -> dict[str, str | None]:
        """Return the choices under the names of the options."""
        return {"tabulation_suppression": self.suppression, "negative": self.negative}


def corrected(
    parts: Parts,
    pairs: Mapping[int, int],
    tabulated: Mapping[tuple[str, int], Sequence[int]],
    how: Corrections,
) -> dict[tuple[str, int], GroupArrays]:
    """Correct released groups; `pairs` are `partners`, `tabulated` the iterations of each place.

    First negative counts: cells below zero become zero, or a group with such a cell is dropped. Then an alone
    group is dropped if its total exceeds that of its combination group, which goes too if `both` are to.
    It is also dropped where its combination group is tabulated but was not published.

    >>> from discreet.census.safetab.specification import safetab_p
    >>> region, iteration, none = [0, 0, 1, 1, 2], [3, 7, 3, 7, 3], [0] * 5
    >>> ladder = safetab_p().ladder(1)
    >>> part = GroupArrays.of(ladder, "COUNTY", 1, region, iteration, none, none, [40, 39, 40, 41, 25])
    >>> for which in ("both", "alone"):
    ...     kept = corrected({("COUNTY", 1): part}, {3: 7}, {("COUNTY", 1): [3, 7]}, Corrections(which))
    ...     kept["COUNTY", 1].region.tolist(), kept["COUNTY", 1].values.tolist()
    ([1, 1], [40, 41])
    ([0, 1, 1], [39, 40, 41])
    """
    alone, combined = (np.array([*indices], dtype=np.int32) for indices in (pairs, pairs.values()))
    corrected_parts = {}
    for place, part in parts.items():
        if how.negative == "drop" and part.size:
            part = part.keep(np.minimum.reduceat(part.values, part.starts()) >= 0)
        elif how.negative == "zero":
            part = part.clamped()
        if how.suppression is not None:
            partner = np.full(max(part.iteration.max(initial=0), alone.max(initial=0)) + 1, -1, np.int32)
            partner[alone] = combined
            other, key = partner[part.iteration], keys(part.region, part.iteration)
            wanted = keys(part.region, np.maximum(other, 0))
            at = np.searchsorted(key, wanted)
            both = (other >= 0) & (np.append(key, -1)[at] == wanted)
            mine, theirs = np.flatnonzero(both), at[both]
            totals = part.totals()
            kept = both | ~np.isin(other, tabulated[place])
            wrong = totals[mine] > totals[theirs]
            kept[mine[wrong]] = False
            if how.suppression == "both":
                kept[theirs[wrong]] = False
            part = part.keep(kept)
        corrected_parts[place] = part
    return corrected_parts
