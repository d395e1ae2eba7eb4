"""Totals that are published already: they say which groups are measured, and pick the table of each.

A list has the columns of a table of totals: the type and the id of a region, a group, a count. It is public,
so what is done with it costs nothing. Of its rows, those are taken whose group is tabulated there and whose
region can be: the whole country; a region whose id begins with a part of the country that the pass takes,
with or without an area; and any other region if the file of areas has it. Where nobody can be counted, there
is noise on zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.areas.output import MARK, MARKED, ArrowArray, ArrowTable, arrow, find_output, strings
from discreet.census.mechanism.configuration import Configuration, Place
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.ladder import Ladder
from discreet.census.mechanism.parts import Codes, Integers
from discreet.census.mechanism.regions import Geography
from discreet.census.mechanism.released import ENDINGS, open_columns
from discreet.census.mechanism.tabulation import AdaptiveTabulation
from discreet.census.mechanism.writer import GROUP_COLUMNS, T1_COLUMNS
from discreet.errors import InputError
from discreet.tables import FILE_ENDINGS


@dataclass(frozen=True, slots=True)
class Picked:
    """Groups of one geography and level whose totals are published already: they pick the tables.

    Sorted by region and iteration. No other group is measured.
    """

    region: Codes
    iteration: Codes
    count: Integers


@dataclass(frozen=True, eq=False)
class PublishedTotals:
    """The rows of a list: number of the geography, id of the region, number of the group (or -1), count."""

    path: Path
    specification: Specification
    geography: Integers
    region: ArrowArray
    iteration: Integers
    count: Integers
    marked: bool
    """Whether the list is of an output that is not private."""

    def picked(
        self, geography: Geography, configuration: Configuration, places: Sequence[Place], *, strict: bool
    ) -> tuple[Geography, dict[Place, Picked]]:
        """Return the groups of each place, and the regions with those that only the list has.

        `strict`: a region or a group that is not known is refused.
        """
        tabulation, regions = self.specification.tabulation, dict(geography.regions)
        numbers = {name: number for number, name in enumerate(tabulation.geographies)}
        self._refuse_others(geography, strict)
        picked_by_place: dict[Place, Picked] = {}
        for name in dict.fromkeys(name for name, _ in places):
            rows = np.flatnonzero((self.geography == numbers[name]) & (self.iteration >= 0))
            rows, region, regions[name] = self._regions(rows, name, geography, configuration)
            iteration = self.iteration[rows].astype(np.int32)
            order = np.lexsort((iteration, region))
            region, iteration, count = region[order], iteration[order], self.count[rows][order]
            for place in (asked_place for asked_place in places if asked_place[0] == name):
                own = np.isin(iteration, self.specification.places(*place))
                picked_by_place[place] = Picked(region[own], iteration[own], count[own])
        return replace(geography, regions=regions), picked_by_place

    def _refuse_others(self, geography: Geography, strict: bool) -> None:
        """Raise if a row is of a region or group that is not known."""
        if not strict:
            return
        tabulation = self.specification.tabulation
        if (self.iteration < 0).any():
            raise InputError(
                f"{self.path.name} has an iteration that is not in the specification (column ITERATION_CODE)"
            )
        for number, name in enumerate(tabulation.geographies):
            rows = np.flatnonzero(self.geography == number)
            if (self._places(rows, geography.regions[name]) < 0).any():
                raise InputError(
                    f"{self.path.name} has a region that is not in {tabulation.area_file.name} "
                    "(column REGION_ID)"
                )

    def _places(self, rows: NDArray[np.intp], known: Sequence[str]) -> Integers:
        """Return where the regions of some rows stand among those known, -1 where they do not."""
        ids = self.region.take(arrow().array(rows))
        positions = arrow("compute").index_in(ids, value_set=strings(list(known)))
        return np.asarray(positions.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)

    def _regions(
        self, rows: NDArray[np.intp], name: str, geography: Geography, configuration: Configuration
    ) -> tuple[NDArray[np.intp], Codes, tuple[str, ...]]:
        """Return the rows that are taken, the number of each one's region, and all regions there are then."""
        known = geography.regions[name]
        position = self._places(rows, known)
        others = self.region.take(arrow().array(rows[position < 0])).unique().to_pylist()
        taken = sorted(set(others) & _possible(others, name, geography, configuration))
        more = self._places(rows, taken)
        region = np.where(position >= 0, position, more + len(known))
        kept = (position >= 0) | (more >= 0)
        return rows[kept], region[kept].astype(np.int32), (*known, *taken)


def _possible(ids: Sequence[str], name: str, geography: Geography, configuration: Configuration) -> set[str]:
    """Return those of some ids that can be of regions of a geography although no area is in them."""
    tabulation = geography.tabulation
    region_type, part = tabulation.geographies[name], tabulation.areas.part
    if not region_type.columns:
        return set(ids)
    which = next(own.name for own in tabulation.passes.values() if name in own.geographies)
    if part and region_type.columns[0] == part:
        return {text for text in ids if text.startswith(configuration.parts(which))}
    # areas that are in no region have a code all the same
    keys = geography.keys
    own = np.isin(keys.column("part").to_numpy(), [at for at, of in geography.passes.items() if of == which])
    columns = [np.asarray(keys.column(column).to_pylist(), dtype=str)[own] for column in region_type.columns]
    return set(reduce(np.char.add, columns).tolist())


def read_totals(path: Path, specification: Specification) -> PublishedTotals:
    """Read a list of totals; raise with all that is wrong with it."""
    if not path.is_file():
        raise InputError(f"there is no file {path}, which picks the tables of a ladder")
    table, problems = open_columns(path, T1_COLUMNS)
    pc = arrow("compute")
    types = table.column("REGION_TYPE").combine_chunks()
    geographies = strings(list(specification.tabulation.geographies))
    geography = pc.index_in(types, value_set=geographies).fill_null(-1).to_numpy(zero_copy_only=False)
    problems.rows(geography < 0, "a region type is not known", "REGION_TYPE")
    ids = table.column("REGION_ID").combine_chunks()
    plain = pc.match_substring_regex(ids, "^[0-9A-Za-z._-]{1,32}$").fill_null(False)
    odd = ~plain.to_numpy(zero_copy_only=False)
    problems.rows(odd, "an id is not of 1 to 32 letters and digits", "REGION_ID")
    problems.rows(_again(table), "a group occurs twice; each may occur once", "ITERATION_CODE")
    problems.stop()
    codes = strings([group.code for group in specification.iterations])
    iteration = pc.index_in(table.column("ITERATION_CODE").combine_chunks(), value_set=codes)
    return PublishedTotals(
        path,
        specification,
        geography.astype(np.int64),
        ids,
        iteration.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64),
        table.column("COUNT").to_numpy().astype(np.int64),
        MARK in table.column_names or MARKED in path.name,
    )


def _again(table: ArrowTable) -> NDArray[np.bool_]:
    """Whether a row above is of the same region and group."""
    key = np.zeros(table.num_rows, dtype=np.int64)
    for name in GROUP_COLUMNS:
        coded = table.column(name).combine_chunks().dictionary_encode()
        number = key * max(len(coded.dictionary), 1) + coded.indices.to_numpy(zero_copy_only=False)
        # numbered anew, so that they stay small
        _, key = np.unique(number, return_inverse=True)
    _, first = np.unique(key, return_index=True)
    again = np.ones(table.num_rows, dtype=bool)
    again[first] = False
    return again


def find_totals(
    tabulation: AdaptiveTabulation, params: Path, data: Path, totals: Path | None = None
) -> dict[str, Path]:
    """Return the list of each ladder that has one, by the ladder's name.

    `totals` is a list, or the folder of an output that has one, `t1`. Without it the specification says: a
    name with an ending is a file beside it, a name without one a table of the folder of data.
    """
    ladders = [ladder for ladder in tabulation.ladders.values() if not ladder.picks]
    if totals is not None:
        if not ladders:
            raise InputError(
                f"totals are given, but {tabulation.title} measures its own: no ladder takes its table from "
                "an input"
            )
        return dict.fromkeys((ladder.name for ladder in ladders), _list(totals))
    return {ladder.name: _own(ladder, params, data) for ladder in ladders}


def _list(totals: Path) -> Path:
    if not totals.is_dir():
        return totals
    path = find_output(totals, "t1", ENDINGS)
    if path is None:
        raise InputError(f"there is no t1 in {totals}; name the output of a tabulation, or a list of totals")
    return path


def _own(ladder: Ladder, params: Path, data: Path) -> Path:
    if Path(ladder.input).suffix:
        return (params.parent if params.is_file() else params) / ladder.input
    paths = [path for ending in FILE_ENDINGS if (path := data / f"{ladder.input}{ending}").is_file()]
    if len(paths) > 1:
        both = " and ".join(path.name for path in paths)
        raise InputError(f"{both} are both in {data}; keep one of them ({ladder.input})")
    return paths[0] if paths else data / f"{ladder.input}.txt"


def read_lists(paths: Mapping[str, Path], specification: Specification) -> dict[str, PublishedTotals]:
    """Read the lists of ladders, by the ladders' names; each file once."""
    read = {path: read_totals(path, specification) for path in dict.fromkeys(paths.values())}
    return {name: read[path] for name, path in paths.items()}


def picked_groups(
    lists: Mapping[str, PublishedTotals],
    geography: Geography,
    configuration: Configuration,
    places: Sequence[Place],
) -> tuple[Geography, dict[Place, Picked]]:
    """Return the groups that lists pick, and the regions with those that only a list has."""
    tabulation, picked_by_place = configuration.tabulation, dict[Place, Picked]()
    for name, published_totals in lists.items():
        ladder = tabulation.ladders[name]
        own = [place for place in places if tabulation.ladder(place[1]) is ladder]
        strict = ladder.others == "refused"
        geography, some = published_totals.picked(geography, configuration, own, strict=strict)
        picked_by_place |= some
    if len(lists) == len(tabulation.ladders) and not any(
        picked.region.size for picked in picked_by_place.values()
    ):
        names = " and ".join(dict.fromkeys(published_totals.path.name for published_totals in lists.values()))
        raise InputError(f"{names} has no group that is tabulated, so nothing would be published")
    return geography, picked_by_place
