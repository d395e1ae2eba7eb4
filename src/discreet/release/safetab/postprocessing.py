"""What is done to finished tables, in a run or to an output that exists. It spends nothing.

*Regions of the same blocks* publish the same numbers: the highest one that has any gives them to the others.
This is Algorithm 4 of the paper. It looks at one population group at a time: among regions of the same
blocks, the first in the order of `ORDER` whose group was not suppressed is the donor, and its table takes
the place of the others' own, also where theirs was suppressed. Where every region's group was suppressed,
nothing is published. A group is only given to geographies that tabulate it (total-only groups stay at the
state, coarse-only groups come from below it). Variance and margin of error go along: they are those of the
donor's noise. It costs nothing: which blocks make which region is public, and the rest is a function of
released numbers.

*Alone never above combination, and no count below zero* (5.3.4 of the paper). A race group comes twice, as
people of that race alone and as people of it alone or in any combination; the second cannot be smaller. Where
noise says it is, both tables of the group are dropped in that region, since either may be the wrong one.
Which iterations belong together is public: they have the same race codes.

`coterminous` and `postprocess` do either to an output, into a new directory. What the output says about its
ledger goes along.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.release.audit import sha256
from discreet.release.commit import RECEIPT, free, read_receipt, staging
from discreet.release.hierarchy.tables import Folder
from discreet.release.ledger import NOT_PRIVATE
from discreet.release.safetab.configuration import read_configuration
from discreet.release.safetab.geography import Classes
from discreet.release.safetab.specification import Specification, read_specification
from discreet.release.safetab.tables import (
    FORMAT,
    TABLES,
    Codes,
    Part,
    Released,
    Writer,
    joined,
    keys,
    read_released,
)

ORDER = ("STATE", "COUNTY", "TRACT", "PLACE", "AIANNH")
"""Who gives, first to last; those of Puerto Rico alike."""

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
    if sorted(order) != sorted(ORDER):
        raise InputError(
            f"the order of donors is {', '.join(order)}; it must name each of {', '.join(ORDER)} once"
        )
    region_of: dict[str, Codes] = {}  # the region of each class in the order of donors, -1 if it has none
    for geography in (f"{prefix}{name}" for name in order for prefix in ("", "PR-")):
        found = [next((r for name, r in members if name == geography), -1) for members in classes]
        region_of[geography] = np.array(found, dtype=np.int32)
    result, count = dict(parts), 0
    for level in sorted({level for _, level in parts}):
        here = [
            name for name, regions in region_of.items() if (name, level) in parts and (regions >= 0).any()
        ]
        donors = _donors({name: parts[name, level] for name in here}, region_of)
        for geography in here:
            part, given = parts[geography, level], []
            for donor, (group, place) in donors.items():
                if donor != geography:
                    giver, regions = parts[donor, level], region_of[geography][group]
                    mine = (regions >= 0) & np.isin(giver.iteration[place], tabulated[geography, level])
                    copies = giver.take(place[mine])
                    given.append(replace(copies, geography=geography, region=regions[mine]))
            kept = np.ones(part.size, dtype=bool)
            for copies in given:
                own = keys(copies.region, copies.iteration)
                kept &= ~np.isin(keys(part.region, part.iteration), own)
            result[geography, level] = joined([part.keep(kept), *given])
            count += sum(copies.size for copies in given)
    return result, count


def _donors(
    parts: Mapping[str, Part], region_of: Mapping[str, Codes]
) -> dict[str, tuple[Codes, NDArray[np.intp]]]:
    """Return for each geography, in the order of donors, the classes it gives to and the groups it gives."""
    seen = np.zeros(0, dtype=np.int64)
    found = {}
    for geography, part in parts.items():
        members = np.flatnonzero(region_of[geography] >= 0).astype(np.int32)
        regions = region_of[geography][members]
        class_of = np.full(max(part.region.max(initial=-1), regions.max()) + 1, -1, dtype=np.int32)
        class_of[regions] = members
        group = class_of[part.region]
        key = keys(group, part.iteration)
        place = np.flatnonzero((group >= 0) & ~np.isin(key, seen))
        found[geography] = group[place], place
        seen = np.concatenate([seen, key[place]])
    return found


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
    partner = np.full(max(int(part.iteration.max()), *pairs, *pairs.values()) + 1, -1, dtype=np.int32)
    partner[list(pairs)] = list(pairs.values())
    key = keys(part.region, part.iteration)
    other = keys(part.region, np.maximum(partner[part.iteration], 0))
    place = np.minimum(np.searchsorted(key, other), key.size - 1)
    both = (partner[part.iteration] >= 0) & (key[place] == other)
    totals = part.totals()
    wrong = np.flatnonzero(both & (totals > totals[place]))
    dropped = np.zeros(part.size, dtype=bool)
    dropped[wrong] = dropped[place[wrong]] = True
    return part.keep(~dropped)


@dataclass(frozen=True, slots=True)
class Reprocessed:
    """What a step wrote: rows by table, groups by table, and how many groups it gave or dropped."""

    out: Path
    step: str
    rows: dict[str, int]
    groups: dict[str, int]
    changed: int
    marked: bool
    files: tuple[str, ...]

    @property
    def did(self) -> str:
        """What the step does to a group."""
        return "donated" if self.step == "coterminous" else "dropped"

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON says of the step."""
        return {
            "step": self.step,
            "out": str(self.out),
            "not_private": self.marked,
            "rows": self.rows,
            "groups": self.groups,
            self.did: self.changed,
            "files": list(self.files),
        }


def coterminous(
    released: str | os.PathLike[str],
    new: str | os.PathLike[str],
    *,
    params: str | os.PathLike[str],
    data: str | os.PathLike[str],
    order: Sequence[str] = ORDER,
    format: str | None = None,
) -> Reprocessed:
    """Make regions of the same blocks agree in an output; `data` needs its GRF-C only, which is public."""
    from discreet.release.engine import connect
    from discreet.release.safetab.geography import read_water
    from discreet.release.safetab.records import read_geography

    configuration, specification = read_configuration(Path(params)), read_specification(Path(params))
    water = read_water(Path(params))
    free(new)
    with connect() as engine:
        geography = read_geography(Path(data), configuration, engine=engine)
    classes = geography.coterminous(water)
    found = read_released(Path(released), specification, geography.regions)
    tabulated = {
        (where, level): specification.places(where, level)
        for where, level in found.parts
        if configuration.runs(where, level)
    }
    parts = {place: part for place, part in found.parts.items() if place in tabulated}
    after, given = donated(parts, classes, tabulated, order=order)
    return _write(
        Path(released), new, "coterminous", found, {**found.parts, **after}, given, specification, format
    )


def postprocess(
    released: str | os.PathLike[str],
    new: str | os.PathLike[str],
    *,
    params: str | os.PathLike[str],
    format: str | None = None,
) -> Reprocessed:
    """Drop groups whose alone count exceeds the combination count, and clamp counts at zero, in an output."""
    specification = read_specification(Path(params))
    free(new)
    found = read_released(Path(released), specification)
    parts = consistent(found.parts, partners(specification))
    dropped = sum(part.size for part in found.parts.values()) - sum(part.size for part in parts.values())
    return _write(Path(released), new, "post", found, parts, dropped, specification, format)


def _write(
    released: Path,
    new: str | os.PathLike[str],
    step: str,
    found: Released,
    parts: Parts,
    changed: int,
    specification: Specification,
    format: str | None,
) -> Reprocessed:
    kind = format or found.format
    if kind not in ("csv", "parquet"):
        raise InputError(f"format is {kind!r}; it must be csv or parquet")
    codes = [one.code for one in specification.iterations]
    receipt = read_receipt(released)
    with staging(new) as stage:
        mark = f"{NOT_PRIVATE}: made from an output that is not" if found.marked else None
        folder = Folder(stage.path, kind, mark=mark)
        with Writer(
            folder, codes, found.labels, bureau=found.bureau, bureau_margins=found.bureau_margins
        ) as writer:
            for (geography, _), part in parts.items():
                writer.write(part, found.regions[geography])
        tables = np.sum([np.bincount(part.table, minlength=len(TABLES)) for part in parts.values()], axis=0)
        groups = dict(zip(TABLES, map(int, tables), strict=True))
        folder.json(
            "summary",
            {
                "format": FORMAT,
                "version": version("discreet"),
                "step": step,
                "source": [{"name": path.name, "sha256": sha256(path)} for path in found.files],
                "rows": writer.rows,
                "groups": groups,
                "donated" if step == "coterminous" else "dropped": changed,
                **({} if receipt is None else {RECEIPT: receipt}),
            },
        )
        stage.commit()
    return Reprocessed(Path(new), step, writer.rows, groups, changed, found.marked, tuple(folder.names))
