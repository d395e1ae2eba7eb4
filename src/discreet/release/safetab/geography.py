"""The geographies of the tables, the states, and which blocks make which regions, from GRF-C alone.

The United States and Puerto Rico (state 72) are two passes over disjoint people. Blocks of the same tract,
place and tribal area (AIANNH) are never told apart by a table: together they are an *atom*. Every region is a
union of atoms, of which the nation has some hundred thousand against eight million blocks, so people are
counted by atom and regions are sums over atoms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.release.hierarchy.arrow import ArrowTable, arrow
from discreet.release.problems import Problems

if TYPE_CHECKING:
    from discreet.release.safetab.configuration import Configuration

US_GEOGRAPHIES = ("USA", "STATE", "COUNTY", "TRACT", "PLACE", "AIANNH")
"""The geographies of the United States, in the order of the files."""

PR_GEOGRAPHIES = ("PR-STATE", "PR-COUNTY", "PR-TRACT", "PR-PLACE")
"""The geographies of Puerto Rico."""

GEOGRAPHIES = US_GEOGRAPHIES + PR_GEOGRAPHIES
"""All geographies."""

BELOW_STATE = frozenset(("COUNTY", "TRACT", "PLACE", "AIANNH", "PR-COUNTY", "PR-TRACT", "PR-PLACE"))
"""Where small groups are suppressed, coarse-only groups are shown and total-only groups are not."""

LEVELS = (1, 2)
"""The levels of iterations that are tabulated; level 0 is in the files and ignored."""

LEVEL_WORDS = {1: "regional", 2: "detailed"}
"""What the levels are called."""

Pass = Literal["US", "PR"]
"""A pass over the people of the United States, or of Puerto Rico."""

PASSES: dict[Pass, tuple[str, ...]] = {"US": US_GEOGRAPHIES, "PR": PR_GEOGRAPHIES}
"""The geographies of each pass."""

PASS_NAMES: dict[Pass, str] = {"US": "United States", "PR": "Puerto Rico"}
"""What the passes are called."""

PUERTO_RICO = "72"
"""The state code of Puerto Rico."""

STATES = tuple(f"{code:02}" for code in range(1, 57) if code not in (3, 7, 14, 43, 52))
"""The codes of the fifty states and the District of Columbia."""


NO_PLACE, NO_AREA = "99999", "9999"
"""Codes for land outside any place, and outside any tribal area."""

OUTSIDE = -1
"""The atom of all blocks that no pass tabulates."""

WATER_FILE = "water-only-tracts.txt"
"""A list of tracts in the folder of parameters, one of eleven digits a line: see `read_water`."""

Classes = Sequence[Sequence[tuple[str, int]]]
"""Regions made of the same blocks, each a geography and an index."""


@dataclass(frozen=True)
class Geography:
    """The regions of each geography, sorted, and for each atom the index of its region or -1."""

    regions: Mapping[str, tuple[str, ...]]
    atoms: Mapping[str, NDArray[np.int32]]
    keys: ArrowTable
    """Arrow table: the five codes of GRF-C that make an atom, the atom (or OUTSIDE), and the state's number
    (`part`)."""
    tracts: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def from_atoms(self, geography: str) -> ArrowTable:
        """Return an Arrow table: `part`, an atom, and its `region`."""
        pa, region = arrow(), self.atoms[geography]
        inside = np.flatnonzero(region >= 0).astype(np.int32)
        return pa.table({"part": pa.array(inside), "region": pa.array(region[inside])})

    def coterminous(self, water: frozenset[str] = frozenset()) -> Classes:
        """Return the classes of two and more regions of one pass that are made of the same blocks.

        Blocks of the tracts in `water` are left out of the comparison: nobody lives there, and they only
        make regions differ on paper. The nation is not compared.
        """
        dry = np.array([tract not in water for tract in self.tracts], dtype=bool)
        found: dict[bytes, list[tuple[str, int]]] = {}
        for geography in (name for names in PASSES.values() for name in names if name != "USA"):
            if not self.regions[geography]:
                continue
            region = self.atoms[geography]
            atoms = np.flatnonzero((region >= 0) & dry)
            order = np.argsort(region[atoms], kind="stable")
            ends = np.searchsorted(region[atoms][order], np.arange(len(self.regions[geography]) + 1))
            for index, (start, end) in enumerate(pairwise(ends)):
                if end > start:
                    key = atoms[order[start:end]].tobytes()
                    found.setdefault(key, []).append((geography, index))
        return tuple(tuple(members) for members in found.values() if len(members) > 1)


def build(codes: ArrowTable, configuration: Configuration) -> Geography:
    """Build from the distinct codes of GRF-C: an Arrow table of state, county, tract, place and area."""
    pa = arrow()
    columns = {name: np.asarray(codes.column(name).to_pylist(), dtype=str) for name in codes.column_names}
    state = columns["state"]
    us = np.isin(state, configuration.state_filter_us) & configuration.run_us
    puerto = (state == PUERTO_RICO) & configuration.run_pr
    inside = us | puerto
    if not inside.any():
        raise InputError(_nothing(configuration))
    # a filter of all states, as in production, fits any GRF-C; one that names some and finds none is wrong
    some = set(configuration.state_filter_us) != set(STATES)
    if configuration.run_us and some and not us.any():
        raise InputError(
            "GRF-C has no state of state_filter_us, so nothing of the United States would be tabulated; "
            "name other states, or set run_us to false"
        )
    atom = np.full(state.size, OUTSIDE, dtype=np.int32)
    atom[inside] = np.arange(int(inside.sum()), dtype=np.int32)
    kept = {name: values[inside] for name, values in columns.items()}
    regions: dict[str, tuple[str, ...]] = {}
    atoms: dict[str, NDArray[np.int32]] = {}
    for which, chosen in (("US", us), ("PR", puerto)):
        for geography, names in _names(kept, which).items():
            _add(geography, names, chosen[inside], regions, atoms)
    tract = _joined(kept["state"], kept["county"], kept["tract"])
    keys = codes.append_column("atom", pa.array(atom))
    keys = keys.append_column("part", pa.array(state.astype(np.int8)))
    return Geography(regions, atoms, keys, tuple(tract.tolist()), _notes(configuration, state))


def _names(codes: Mapping[str, NDArray[np.str_]], which: str) -> dict[str, NDArray[np.str_]]:
    """Return the name of each atom's region by geography; an empty name is no region."""
    state, county = codes["state"], _joined(codes["state"], codes["county"])
    tract = _joined(county, codes["tract"])
    place = np.where(codes["place"] == NO_PLACE, "", _joined(state, codes["place"]))
    if which == "PR":
        return {"PR-STATE": state, "PR-COUNTY": county, "PR-TRACT": tract, "PR-PLACE": place}
    area = np.where(codes["area"] == NO_AREA, "", codes["area"])
    nation = np.full(state.size, "1")
    return {"USA": nation, "STATE": state, "COUNTY": county, "TRACT": tract, "PLACE": place, "AIANNH": area}


def _joined(first: NDArray[np.str_], *more: NDArray[np.str_]) -> NDArray[np.str_]:
    for texts in more:
        first = np.char.add(first, texts)
    return first


def _add(
    geography: str,
    names: NDArray[np.str_],
    chosen: NDArray[np.bool_],
    regions: dict[str, tuple[str, ...]],
    atoms: dict[str, NDArray[np.int32]],
) -> None:
    there = chosen & (names != "")
    found, index = np.unique(names[there], return_inverse=True)
    regions[geography] = tuple(found.tolist())
    atoms[geography] = np.full(names.size, -1, dtype=np.int32)
    atoms[geography][there] = index.astype(np.int32)


def _nothing(configuration: Configuration) -> str:
    wanted = []
    if configuration.run_us:
        wanted.append("no state of state_filter_us")
    if configuration.run_pr:
        wanted.append(f"not Puerto Rico ({PUERTO_RICO})")
    return f"GRF-C has {' and '.join(wanted)}, so nothing would be tabulated"


def _notes(configuration: Configuration, states: NDArray[np.str_]) -> tuple[str, ...]:
    found, notes = set(states.tolist()), []
    absent = [state for state in configuration.state_filter_us if state not in found]
    if configuration.run_us and absent:
        notes.append(f"state_filter_us names {_count(absent)} not in GRF-C: {', '.join(absent)}")
    outside = sorted(found - {*configuration.state_filter_us, PUERTO_RICO})
    if configuration.run_us and outside:
        notes.append(f"GRF-C has {_count(outside)} that state_filter_us leaves out: {', '.join(outside)}")
    if configuration.run_pr and PUERTO_RICO not in found:
        notes.append(f"run_pr is true, but GRF-C has no block of Puerto Rico ({PUERTO_RICO})")
    return tuple(notes)


def _count(states: Sequence[str]) -> str:
    return f"{len(states)} state{'s' * (len(states) != 1)}"


def read_water(params: Path) -> frozenset[str]:
    """Read the tracts that are water only, if the folder of parameters lists them."""
    path, problems = Path(params) / WATER_FILE, Problems()
    if not path.is_file():
        return frozenset()
    found = []
    for line, text in enumerate(path.read_bytes().decode("utf-8-sig", "replace").splitlines(), 1):
        tract = text.strip()
        if tract and not (len(tract) == 11 and tract.isascii() and tract.isdigit()):
            problems.at("a tract is not of eleven digits: state, county, tract", file=WATER_FILE, line=line)
        elif tract:
            found.append(tract)
    problems.stop()
    return frozenset(found)
