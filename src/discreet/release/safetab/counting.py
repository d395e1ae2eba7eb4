"""Exact counts of people by region and group: one pass over the records, then sums of sums.

People are grouped by atom, cell and combination of codes as the file is read; combinations are mapped to
groups once; tracts add up to counties, counties to states, states to the nation, and places and tribal
areas are sums of atoms. Only groups with people in them leave the engine, and cells only of the groups
that are asked for, so nothing in Python grows with the number of people.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.release.engine import Engine, Relation
from discreet.release.hierarchy.arrow import arrow
from discreet.release.safetab import people
from discreet.release.safetab.configuration import Configuration
from discreet.release.safetab.geographies import BELOW_STATE, GEOGRAPHIES, LEVELS
from discreet.release.safetab.geography import Classes, Geography
from discreet.release.safetab.sources import Hashes, Origin, find_sources
from discreet.release.safetab.specification import Iteration, Specification
from discreet.release.safetab.validation import Checked, checked

_KEPT = ("STATE", "COUNTY", "PR-STATE", "PR-COUNTY")
"""Geographies whose people by combination and cell are kept: others are summed from them."""


def count(
    data: Path, configuration: Configuration, specification: Specification, *, engine: Engine
) -> Counts:
    """Read and check the data, all of it, and make it countable; raise with every problem if there is one."""
    sources = find_sources(data)
    hashes = Hashes(sources)
    try:
        found = checked(sources, configuration, specification, engine=engine)
        for source in sources:
            source.unchanged()
        return Counts(found, configuration, specification, engine, hashes)
    except BaseException:
        hashes.close()
        raise


class Counts:
    """Counts by geography and level; regions and iterations go by their index."""

    def __init__(
        self,
        found: Checked,
        configuration: Configuration,
        specification: Specification,
        engine: Engine,
        hashes: Hashes,
    ) -> None:
        self.geography: Geography = found.geography
        self.specification, self._hashes = specification, hashes
        self._engine = engine
        self._base = people.base(engine, found.groups, found.combinations)
        engine.drop(found.groups)
        self._members = people.members(
            engine, found.combinations, specification, configuration.max_race_codes
        )
        engine.drop(found.combinations)
        self._iterations = engine.upload(_iterations(specification))
        self._levels = np.array([one.level for one in specification.iterations], dtype=np.int8)
        self._fetched: tuple[str, Any] = "", None
        self._totals: dict[str, Relation] = {}
        self._cells: dict[str, Relation] = {}

    def __enter__(self) -> Counts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hashes.close()
        for table in (
            *self._totals.values(),
            *self._cells.values(),
            self._base,
            self._members,
            self._iterations,
        ):
            self._engine.drop(table)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks about the geography that a user should see."""
        return self.geography.notes

    @property
    def sources(self) -> tuple[Origin, ...]:
        """The files that were read, with their hashes."""
        return self._hashes.origins()

    def origins(self) -> list[dict[str, Any]]:
        """Return role, hash and size of the files, for a ledger."""
        return [{"role": one.role, "sha256": one.sha256, "bytes": one.bytes} for one in self.sources]

    def regions(self, geography: str) -> tuple[str, ...]:
        """Return the regions of GRF-C, sorted, with or without people."""
        return self.geography.regions[_known(geography)]

    def groups(self, geography: str, level: int) -> tuple[Iteration, ...]:
        """Return the iterations that are tabulated at a geography."""
        return self.specification.tabulated(_known(geography), level)

    def totals(self, geography: str, level: int) -> Any:
        """Return an Arrow table of region, iteration and count: groups with people, sorted."""
        if level not in LEVELS:
            raise InputError(f"level is {level}; it must be one of {', '.join(map(str, LEVELS))}")
        if not self.regions(geography):
            return _empty(_TOTALS)
        if self._fetched[0] != geography:  # all levels at once: a question costs an engine more than rows
            found = self._all_totals(geography).semi_join(self._chosen(geography), "iteration")
            found = found.select("region", "iteration", "count")
            self._fetched = "", None
            table = self._engine.fetch(found, sort=["region", "iteration"]).cast(_schema(_TOTALS))
            self._fetched = geography, table
        table = self._fetched[1]
        here = self._levels[table.column("iteration").to_numpy()] == level
        return table.filter(arrow().array(here))

    def cells(self, geography: str, level: int, groups: Any) -> Any:
        """Return region, iteration, sex, age range and count of cells with people, for groups of `totals`."""
        _known(geography)
        if not groups.num_rows:
            return _empty(_CELLS)
        engine, groups = self._engine, groups.select(["region", "iteration"]).cast(_schema(_TOTALS[:2]))
        asked = engine.upload(groups)
        # regions and groups that nobody asked for go before people are spread over their groups
        rows = self._by_combination(geography).semi_join(asked, "region")
        members = self._members.semi_join(asked, "iteration")
        found = rows.inner_join(members, "combination").select("region", "iteration", "cell", "people")
        found = found.semi_join(asked, ["region", "iteration"])
        found = found.group_by(["region", "iteration", "cell"]).agg(count=found.people.sum())
        found = found.select(
            region=found.region,
            iteration=found.iteration,
            sex=(found.cell // people.AGES + 1).cast("int8"),
            age=(found.cell % people.AGES).cast("int8"),
            count=found["count"],
        )
        table = engine.fetch(found, sort=["region", "iteration", "sex", "age"])
        engine.drop(asked)
        return table.cast(_schema(_CELLS))

    def coterminous(self, water: frozenset[str] = frozenset()) -> Classes:
        """Return the classes of regions made of the same blocks; see `Geography.coterminous`."""
        return self.geography.coterminous(water)

    def _chosen(self, geography: str) -> Relation:
        """Return the iterations that are tabulated."""
        table = self._iterations
        return table.filter(table.below if geography in BELOW_STATE else table.above).select("iteration")

    def _all_totals(self, geography: str) -> Relation:
        """Return (and keep) region, iteration and count of all levels."""
        if geography not in self._totals:
            engine, finer = self._engine, Geography.finer(geography)
            parents = engine.upload(self.geography.parents(geography))
            if finer:
                rows = self._all_totals(finer).rename(part="region")
            else:
                # people by region and combination first: far fewer rows are then mapped to groups
                rows = self._base.rename(part="atom").inner_join(parents, "part")
                rows = rows.group_by(["region", "combination"]).agg(people=rows.people.sum())
                rows = rows.inner_join(self._members, "combination").select("region", "iteration", "people")
                rows = rows.group_by(["region", "iteration"]).agg(count=rows.people.sum())
            if finer:
                rows = rows.inner_join(parents, "part").select("region", "iteration", "count")
                rows = rows.group_by(["region", "iteration"]).agg(count=rows["count"].sum())
            self._totals[geography] = engine.keep(rows)
            engine.drop(parents)
        return self._totals[geography]

    def _by_combination(self, geography: str) -> Relation:
        """Return people by region, combination and cell."""
        if geography in self._cells:
            return self._cells[geography]
        finer = Geography.finer(geography)
        if finer in _KEPT:
            source = self._by_combination(finer).rename(part="region")
        else:  # from atoms, for a tract has nearly as many rows as its atoms
            source = self._base.rename(part="atom")
        parents = self._engine.upload(
            self.geography.parents(geography) if finer in _KEPT else self.geography.from_atoms(geography)
        )
        rows = source.inner_join(parents, "part").select("region", "combination", "cell", "people")
        if geography in _KEPT:
            rows = rows.group_by(["region", "combination", "cell"]).agg(people=rows.people.sum())
            rows = self._cells[geography] = self._engine.keep(rows)
            self._engine.drop(parents)
        return rows


def _iterations(specification: Specification) -> Any:
    """Return an Arrow table of the iterations: whether tabulated below the states, and above."""
    pa, all_of_them = arrow(), specification.iterations
    return pa.table(
        {
            "iteration": pa.array(range(len(all_of_them)), pa.int32()),
            "below": pa.array([one.tabulated("COUNTY") for one in all_of_them], pa.bool_()),
            "above": pa.array([one.tabulated("STATE") for one in all_of_them], pa.bool_()),
        }
    )


_TOTALS = (("region", "int32"), ("iteration", "int32"), ("count", "int64"))
_CELLS = (("region", "int32"), ("iteration", "int32"), ("sex", "int8"), ("age", "int8"), ("count", "int64"))


def _schema(columns: tuple[tuple[str, str], ...]) -> Any:
    pa = arrow()
    return pa.schema([(name, getattr(pa, kind)()) for name, kind in columns])


def _empty(columns: tuple[tuple[str, str], ...]) -> Any:
    return _schema(columns).empty_table()


def _known(geography: str) -> str:
    if geography not in GEOGRAPHIES:
        raise InputError(f"geography is {geography!r}; it must be one of {', '.join(GEOGRAPHIES)}")
    return geography
