"""What the paper does to a finished table (5.3.4): alone never above combination, and no count below zero.

A race group comes twice, as people of that race alone and as people of it alone or in any combination; the
second cannot be smaller. Where noise says it is, both tables of the group are dropped in that region, since
either may be the wrong one. Which iterations belong together is public: they have the same race codes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.release.safetab.parts import Part
from discreet.release.safetab.specification import Specification


def partners(specification: Specification) -> dict[int, int]:
    """Return, for each alone iteration that has one, the combination iteration of the same level and codes.

    Several of the same codes are matched in the order of the files.
    """
    waiting: dict[tuple[int, frozenset[str]], list[int]] = {}
    for place, one in enumerate(specification.iterations):
        if one.kind == "combination":
            waiting.setdefault((one.level, specification.members[one.code]), []).append(place)
    found = {}
    for place, one in enumerate(specification.iterations):
        key = one.level, specification.members[one.code]
        if one.kind == "alone" and key[1] and waiting.get(key):
            found[place] = waiting[key].pop(0)
    return found


def consistent(
    parts: Mapping[tuple[str, int], Part], pairs: Mapping[int, int]
) -> dict[tuple[str, int], Part]:
    """Drop the groups whose alone count exceeds the combination count, and clamp cells at zero.

    Counts are compared as they are published, so after clamping. A group of which only one was
    released is left as it is.

    >>> part = Part.of("COUNTY", 1, [0, 0, 1, 1], [3, 7, 3, 7], [0] * 4, [0] * 4, [40, 39, 40, 41])
    >>> kept = consistent({("COUNTY", 1): part}, {3: 7})["COUNTY", 1]
    >>> kept.region.tolist(), kept.values.tolist()
    ([1, 1], [40, 41])
    """
    return {place: _consistent(part.clamped(), pairs) for place, part in parts.items()}


def _consistent(part: Part, pairs: Mapping[int, int]) -> Part:
    if not part.size or not pairs:
        return part
    partner = np.full(max(int(part.iteration.max()), *pairs, *pairs.values()) + 1, -1, dtype=np.int64)
    partner[list(pairs)] = list(pairs.values())
    key = part.region.astype(np.int64) << 32 | part.iteration
    other = part.region.astype(np.int64) << 32 | np.maximum(partner[part.iteration], 0)
    place = np.minimum(np.searchsorted(key, other), key.size - 1)
    both = (partner[part.iteration] >= 0) & (key[place] == other)
    totals = part.totals()
    wrong = np.flatnonzero(both & (totals > totals[place]))
    dropped = np.zeros(part.size, dtype=bool)
    dropped[wrong] = dropped[place[wrong]] = True
    return part.keep(~dropped)
