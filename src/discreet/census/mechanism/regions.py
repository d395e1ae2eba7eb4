"""The regions of each geography, from the codes of the smallest areas.

Passes are over different people. Areas that no geography tells apart are together an *atom*: for a nation,
blocks of the same tract, place and tribal area. Every region is a union of atoms, of which a nation has some
hundred thousand against eight million blocks, so people are counted by atom and regions are sums over atoms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.areas.output import ArrowTable, arrow
from discreet.census.mechanism.configuration import Configuration
from discreet.census.mechanism.tabulation import AdaptiveTabulation, RegionType
from discreet.errors import InputError

OUTSIDE = -1
"""The atom of all areas that no pass tabulates."""

Classes = Sequence[Sequence[tuple[str, int]]]
"""Regions made of the same areas, each a geography and an index."""


@dataclass(frozen=True)
class Geography:
    """The regions of each geography, sorted, and for each atom the index of its region or -1."""

    tabulation: AdaptiveTabulation
    regions: Mapping[str, tuple[str, ...]]
    atoms: Mapping[str, NDArray[np.int32]]
    keys: ArrowTable
    """Arrow table: the codes that make an atom (`columns`), the atom (or OUTSIDE), and the number of the part
    of the country (`part`)."""
    columns: tuple[str, ...]
    passes: Mapping[int, str]
    """The pass of each part of the country, by its number."""
    left_out: tuple[str, ...] = ()
    """For each atom the region that may be left out of comparisons."""
    notes: tuple[str, ...] = ()

    def from_atoms(self, geography: str) -> ArrowTable:
        """Return an Arrow table: `part`, an atom, and its `region`."""
        region = self.atoms[geography]
        inside = np.flatnonzero(region >= 0).astype(np.int32)
        return pairs_of(inside, region[inside])

    def sums(self, geography: str, below: str | None) -> ArrowTable:
        """Return an Arrow table: `part`, a region of the geography below (or an atom), and its `region`."""
        if below is None:
            return self.from_atoms(geography)
        region, smaller = self.atoms[geography], self.atoms[below]
        both = (region >= 0) & (smaller >= 0)
        inside, first = np.unique(smaller[both], return_index=True)
        return pairs_of(inside, region[both][first])

    def coterminous(self, without: frozenset[str] = frozenset()) -> Classes:
        """Return the classes of two and more regions of one pass that are made of the same areas.

        Areas of the regions in `without` are left out of the comparison: nobody lives there, and they only
        make regions differ on paper. Geographies that are like no other are not compared.
        """
        dry = np.array([region not in without for region in self.left_out], dtype=bool)
        classes: dict[bytes, list[tuple[str, int]]] = {}
        for geography, region_type in self.tabulation.geographies.items():
            if not region_type.like or not self.regions[geography]:
                continue
            region = self.atoms[geography]
            atoms = np.flatnonzero((region >= 0) & dry)
            order = np.argsort(region[atoms], kind="stable")
            ends = np.searchsorted(region[atoms][order], np.arange(len(self.regions[geography]) + 1))
            for index, (start, end) in enumerate(pairwise(ends)):
                if end > start:
                    key = atoms[order[start:end]].tobytes()
                    classes.setdefault(key, []).append((geography, index))
        return tuple(tuple(members) for members in classes.values() if len(members) > 1)


def pairs_of(part: NDArray[np.int32], region: NDArray[np.int32]) -> ArrowTable:
    """Return an Arrow table of parts and their regions."""
    return arrow().table({"part": part, "region": region})


def code_columns(tabulation: AdaptiveTabulation) -> tuple[str, ...]:
    """Return the columns of the file of areas that tell atoms apart, in the order of the file."""
    used = {column for region_type in tabulation.geographies.values() for column in region_type.columns}
    used |= {tabulation.areas.part} if tabulation.areas.part else set()
    return tuple(name for name in tabulation.area_file.columns if name in used)


def build_regions(codes: ArrowTable, configuration: Configuration) -> Geography:
    """Build from the distinct codes of the file of areas: an Arrow table of `code_columns`."""
    pa, tabulation = arrow(), configuration.tabulation
    columns = {name: np.asarray(codes.column(name).to_pylist(), dtype=str) for name in codes.column_names}
    part = tabulation.areas.part
    parts = columns[part] if part else np.full(codes.num_rows, "")
    taken = {
        which: np.isin(parts, configuration.parts(which))
        if configuration.parts(which)
        else np.ones(parts.size, dtype=bool)
        for which in configuration.passes
    }
    inside = reduce(np.logical_or, taken.values())
    _check_parts(configuration, {which: bool(some.any()) for which, some in taken.items()})
    atom = np.full(parts.size, OUTSIDE, dtype=np.int32)
    atom[inside] = np.arange(int(inside.sum()), dtype=np.int32)
    regions: dict[str, tuple[str, ...]] = {}
    atoms: dict[str, NDArray[np.int32]] = {}
    for which, one_pass in tabulation.passes.items():
        chosen = taken.get(which, np.zeros(parts.size, dtype=bool))[inside]
        for name in one_pass.geographies:
            texts = _names(tabulation.geographies[name], columns, inside)
            # an empty name is no region
            there = chosen & (texts != "")
            distinct, index = np.unique(texts[there], return_inverse=True)
            regions[name] = tuple(distinct.tolist())
            atoms[name] = np.full(texts.size, -1, dtype=np.int32)
            atoms[name][there] = index
    every, number = np.unique(parts, return_inverse=True)
    keys = codes.append_column("atom", pa.array(atom))
    keys = keys.append_column("part", pa.array(number.astype(np.int16)))
    like = next(
        (
            region_type
            for region_type in tabulation.geographies.values()
            if region_type.like == tabulation.without[1]
        ),
        None,
    )
    left_out = [""] * int(inside.sum()) if like is None else _names(like, columns, inside).tolist()
    return Geography(
        tabulation,
        regions,
        atoms,
        keys,
        tuple(codes.column_names),
        {
            at: which
            for at, code in enumerate(every.tolist())
            for which in configuration.passes
            if not configuration.parts(which) or code in configuration.parts(which)
        },
        tuple(left_out),
        _notes(configuration, set(every.tolist())),
    )


def _names(
    region_type: RegionType, columns: Mapping[str, NDArray[np.str_]], inside: NDArray[np.bool_]
) -> NDArray[np.str_]:
    """Return the name of the region of each atom, empty where there is none."""
    if not region_type.columns:
        return np.full(int(inside.sum()), region_type.id or region_type.name)
    own = [columns[name][inside] for name in region_type.columns]
    whole: NDArray[np.str_] = reduce(np.char.add, own)
    return np.where(own[-1] == region_type.outside, "", whole) if region_type.outside else whole


def _check_parts(configuration: Configuration, has_area: Mapping[str, bool]) -> None:
    """Raise if a pass that is run has no area."""
    tabulation = configuration.tabulation
    file, word = tabulation.area_file.name, tabulation.areas.part_word
    passes = [tabulation.passes[which] for which in configuration.passes]
    if not any(has_area.values()):
        wanted = [
            f"no {word} of {one_pass.filter}"
            if one_pass.filter
            else f"not {one_pass.title} ({', '.join(one_pass.codes)})"
            for one_pass in passes
        ]
        raise InputError(f"{file} has {' and '.join(wanted)}, so nothing would be tabulated")
    for one_pass in passes:
        # a filter of all parts, as in production, fits any file; one that names some and finds none is wrong
        if (
            one_pass.filter
            and set(configuration.parts(one_pass.name)) != set(one_pass.codes)
            and not has_area[one_pass.name]
        ):
            raise InputError(
                f"{file} has no {word} of {one_pass.filter}, so nothing of {one_pass.where} would be "
                f"tabulated; name other {word}s, or set {one_pass.switch} to false"
            )


def _notes(configuration: Configuration, present: set[str]) -> tuple[str, ...]:
    tabulation = configuration.tabulation
    file, word = tabulation.area_file.name, tabulation.areas.part_word

    def many(parts: Sequence[str]) -> str:
        return f"{len(parts)} {word}{'s' * (len(parts) != 1)}"

    notes = []
    own = {code for one_pass in tabulation.passes.values() if not one_pass.filter for code in one_pass.codes}
    for one_pass in (tabulation.passes[which] for which in configuration.passes):
        wanted = configuration.parts(one_pass.name)
        absent = [part for part in wanted if part not in present]
        if one_pass.filter and absent:
            notes.append(f"{one_pass.filter} names {many(absent)} not in {file}: {', '.join(absent)}")
        outside = sorted(present - {*wanted, *own})
        if one_pass.filter and outside:
            notes.append(
                f"{file} has {many(outside)} that {one_pass.filter} leaves out: {', '.join(outside)}"
            )
        if not one_pass.filter and one_pass.codes and absent:
            codes = ", ".join(one_pass.codes)
            notes.append(
                f"{one_pass.switch} is true, but {file} has no {tabulation.areas.one} of "
                f"{one_pass.title} ({codes})"
            )
    return tuple(notes)
