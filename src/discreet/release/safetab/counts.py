"""Exact counts of people by region and group: one pass over the records, then state by state.

The records are coded as they are read, apart for each state (`coded`). A state at a time they are summed by
atom, cell and combination of codes, combinations are mapped to their groups, and totals by atom and group
come out; regions, the nation and areas that cross states are sums of those, in arrays. Cells are asked for
later, for the groups that need them. So memory grows with regions and groups, not with people.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError, InputError
from discreet.release.engine import Engine, Relation
from discreet.release.engine.duckdb import DuckDB
from discreet.release.hierarchy.arrow import ArrowTable, arrow
from discreet.release.safetab.configuration import Configuration
from discreet.release.safetab.geography import (
    BELOW_STATE,
    GEOGRAPHIES,
    LEVELS,
    PUERTO_RICO,
    Geography,
)
from discreet.release.safetab.records import (
    AGES,
    Checked,
    Hashes,
    Resumable,
    Source,
    base_counts,
    checked,
    combinations,
    find_sources,
    members,
)
from discreet.release.safetab.specification import Specification

Sums = NDArray[np.int64]
Progress = Callable[[int, int], None]
STEPS = 1000
"""Of the counting, for its progress."""


def count(
    data: Path,
    configuration: Configuration,
    specification: Specification,
    *,
    engine: Engine,
    resumable: Callable[[Sequence[Source]], Resumable] | None = None,
    progress: Progress | None = None,
) -> GroupCounts:
    """Read and check the data, all of it, and make it countable; raise with every problem if there is one.

    `resumable` says where coded records stay if the run is interrupted. `progress` is told how many of all
    steps are done: reading is half of them, then the states.
    """
    sources = find_sources(data)
    hashes = Hashes(sources)

    def read(part: float) -> None:
        if progress is not None:
            progress(round(part * STEPS / 2), STEPS)

    try:
        found = checked(
            sources,
            configuration,
            specification,
            engine=engine,
            resumable=None if resumable is None else resumable(sources),
            progress=None if progress is None else read,
        )
        try:
            read(1)
            for source in sources:
                source.unchanged()
            return GroupCounts(found, configuration, specification, hashes, progress)
        except BaseException as error:
            found.parts.close(type(error))
            raise
    except BaseException:
        hashes.close()
        raise


class GroupCounts:
    """Counts by geography and level; regions and iterations go by their index."""

    def __init__(
        self,
        found: Checked,
        configuration: Configuration,
        specification: Specification,
        hashes: Hashes,
        progress: Progress | None = None,
    ) -> None:
        self.geography: Geography = found.geography
        self.specification, self._hashes = specification, hashes
        engine = self._engine = found.parts.engine
        self._parts = found.parts
        self._levels = np.array([one.level for one in specification.iterations], dtype=np.int8)
        self._below, self._above = (
            np.array([one.tabulated(name) for one in specification.iterations], dtype=bool)
            for name in ("COUNTY", "STATE")
        )
        batches = found.parts.batches()
        self._sums: dict[str, list[tuple[Sums, Sums]]] = {name: [] for name in GEOGRAPHIES}
        self._kept: list[Relation] = []
        self._base: Relation | None = None
        if batches:
            records = found.parts.of(*(state for batch in batches for state in batch))
            combined = combinations(engine, records)
            self._members = members(engine, combined, specification, configuration.max_race_codes)
            self._kept += [combined, self._members]
            self._check_members(configuration)
            for done, batch in enumerate(batches, 1):
                self._count(batch, combined, apart=len(batches) > 1)
                if progress is not None:
                    progress(STEPS // 2 + STEPS * done // (2 * len(batches)), STEPS)
        self._totals = {name: _summed(parts) for name, parts in self._sums.items()}
        self.seconds = 0.0
        """How long the engine was asked for cells."""

    def _check_members(self, configuration: Configuration) -> None:
        """Raise if somebody is in more groups of a region than the noise is made for.

        The bound is proved from the specification alone; this looks at the people who are there.
        """
        levels = self._engine.upload(_levels(self.specification))
        found = self._members.inner_join(levels, "iteration")
        many = found.group_by(["combination", "level"]).agg(
            below=found.below.cast("int64").sum(), above=found.above.cast("int64").sum()
        )
        most = many.group_by("level").agg(below=many.below.max(), above=many.above.max())
        for row in self._engine.fetch(most).to_pylist():
            for side, geography in (("below", "COUNTY"), ("above", "STATE")):
                bound = self.specification.stability(
                    row["level"], configuration.max_race_codes, geography
                ).value
                if row[side] > bound:
                    raise DiscreetError(
                        f"a person is in {row[side]} groups of level {row['level']}, but the noise is scaled "
                        f"for {bound}; this is a bug, and nothing was released"
                    )
        self._engine.drop(levels)

    def _count(self, batch: Sequence[int], combined: Relation, *, apart: bool) -> None:
        """Sum up some states: their base, kept for cells, and their totals by atom and group."""
        engine, records = self._engine, self._parts.of(*batch)
        base = base_counts(records, combined)
        if apart:
            (state,) = batch
            engine.store(base, self._parts.place("atoms", state))
            engine.drop(records)
            base = engine.stored(self._parts.place("atoms", state))
        else:
            base = self._base = engine.keep(base)
            self._kept.append(base)
        # people by atom and combination first: far fewer rows are then mapped to groups
        some = base.group_by(["atom", "combination"]).agg(people=base.people.sum())
        some = some.inner_join(self._members, "combination")
        some = some.group_by(["atom", "iteration"]).agg(count=some.people.sum())
        table = engine.fetch(some)
        atom, iteration, count = (table.column(name).to_numpy() for name in ("atom", "iteration", "count"))
        for name in GEOGRAPHIES:
            region = self.geography.atoms[name][atom]
            inside = region >= 0
            if inside.any():
                key = region[inside].astype(np.int64) * self._levels.size + iteration[inside]
                self._sums[name].append(_summed([(key, count[inside])]))
        if apart:
            self._roll_up(engine, base, state)
            engine.drop(base)

    def _roll_up(self, engine: DuckDB, base: Relation, state: int) -> None:
        """Store the people of a state by county, combination and cell, and by state, for cells of those."""
        prefix = "PR-" if f"{state:02}" == PUERTO_RICO else ""
        county, whole = f"{prefix}COUNTY", f"{prefix}STATE"
        region = self.geography.atoms
        pairs = {county: self.geography.from_atoms(county)}
        both = (region[county] >= 0) & (region[whole] >= 0)
        inside, first = np.unique(region[county][both], return_index=True)
        pairs[whole] = _pairs(inside, region[whole][both][first])
        source = base.rename(part="atom")
        for name, table in pairs.items():
            parents = engine.upload(table)
            rows = source.inner_join(parents, "part")
            rows = rows.group_by(["region", "combination", "cell"]).agg(people=rows.people.sum())
            engine.store(rows, self._parts.place(name, state))
            engine.drop(parents)
            source = engine.stored(self._parts.place(name, state)).rename(part="region")

    def __enter__(self) -> GroupCounts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hashes.close()
        for table in self._kept:
            self._engine.drop(table)
        self._parts.close(kind)

    def forget(self) -> None:
        """Make sure that the run is never resumed: noise is about to be drawn."""
        self._parts.forget()

    def origins(self) -> list[dict[str, str | int]]:
        """Return role, hash and size of the files, for a ledger."""
        return self._hashes.origins()

    def regions(self, geography: str) -> tuple[str, ...]:
        """Return the regions of GRF-C, sorted, with or without people."""
        return self.geography.regions[_known(geography)]

    def totals(self, geography: str, level: int) -> ArrowTable:
        """Return an Arrow table of region, iteration and count: groups with people, sorted."""
        if level not in LEVELS:
            raise InputError(f"level is {level}; it must be one of {', '.join(map(str, LEVELS))}")
        key, count = self._totals[_known(geography)]
        region, iteration = np.divmod(key, self._levels.size)
        shown = self._below if geography in BELOW_STATE else self._above
        here = (self._levels[iteration] == level) & shown[iteration]
        pa = arrow()
        columns = [region[here].astype(np.int32), iteration[here].astype(np.int32), count[here]]
        return pa.Table.from_arrays([pa.array(one) for one in columns], schema=_schema(_TOTALS))

    def cells(self, geography: str, level: int, groups: ArrowTable) -> ArrowTable:
        """Return region, iteration, sex, age range and count of cells with people, for groups of `totals`."""
        _known(geography)
        if not groups.num_rows:
            return _schema(_CELLS).empty_table()
        start = time.perf_counter()
        engine, groups = self._engine, groups.select(["region", "iteration"]).cast(_schema(_TOTALS[:2]))
        asked = engine.upload(groups)
        source, parents = self._source(geography)
        parents = engine.upload(parents)
        # regions and groups that nobody asked for go before people are spread over their groups
        rows = source.inner_join(parents.semi_join(asked, "region"), "part")
        members = self._members.semi_join(asked, "iteration")
        found = rows.inner_join(members, "combination").select("region", "iteration", "cell", "people")
        found = found.semi_join(asked, ["region", "iteration"])
        found = found.group_by(["region", "iteration", "cell"]).agg(count=found.people.sum())
        found = found.select(
            region=found.region,
            iteration=found.iteration,
            sex=(found.cell // AGES + 1).cast("int8"),
            age=(found.cell % AGES).cast("int8"),
            count=found["count"],
        )
        table = engine.fetch(found, sort=["region", "iteration", "sex", "age"])
        engine.drop(asked)
        engine.drop(parents)
        self.seconds += time.perf_counter() - start
        return table.cast(_schema(_CELLS))

    def _source(self, geography: str) -> tuple[Relation, ArrowTable]:
        """Return people by part, combination and cell, and which parts make which regions."""
        if self._base is not None:
            return self._base.rename(part="atom"), self.geography.from_atoms(geography)
        if geography == "USA":
            states = np.arange(len(self.regions("STATE")), dtype=np.int32)
            pairs, own, part = _pairs(states, np.zeros_like(states)), "STATE", "region"
        elif geography.endswith(("STATE", "COUNTY")):
            every = np.arange(len(self.regions(geography)), dtype=np.int32)
            pairs, own, part = _pairs(every, every), geography, "region"
        else:
            pairs, own, part = self.geography.from_atoms(geography), "atoms", "atom"
        return self._engine.stored(self._parts.place(own)).rename(part=part), pairs


def _levels(specification: Specification) -> ArrowTable:
    """Return an Arrow table of the iterations: level, and whether tabulated below the states, and above."""
    pa, all_of_them = arrow(), specification.iterations
    return pa.table(
        {
            "iteration": pa.array(range(len(all_of_them)), pa.int32()),
            "level": pa.array([one.level for one in all_of_them], pa.int8()),
            "below": pa.array([one.tabulated("COUNTY") for one in all_of_them], pa.bool_()),
            "above": pa.array([one.tabulated("STATE") for one in all_of_them], pa.bool_()),
        }
    )


def _pairs(part: NDArray[np.int32], region: NDArray[np.int32]) -> ArrowTable:
    pa = arrow()
    return pa.table({"part": pa.array(part), "region": pa.array(region)})


def _summed(parts: Sequence[tuple[Sums, Sums]]) -> tuple[Sums, Sums]:
    """Return the keys of several lists, each once and rising, with the sums of their counts."""
    if not parts:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    key, count = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(key, kind="stable")
    key, count = key[order], count[order]
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if key.size else np.zeros(0, dtype=np.intp)
    return key[starts], np.add.reduceat(count, starts).astype(np.int64) if key.size else count


_TOTALS = (("region", "int32"), ("iteration", "int32"), ("count", "int64"))
_CELLS = (("region", "int32"), ("iteration", "int32"), ("sex", "int8"), ("age", "int8"), ("count", "int64"))


def _schema(columns: tuple[tuple[str, str], ...]) -> Any:
    pa = arrow()
    return pa.schema([(name, getattr(pa, kind)()) for name, kind in columns])


def _known(geography: str) -> str:
    if geography not in GEOGRAPHIES:
        raise InputError(f"geography is {geography!r}; it must be one of {', '.join(GEOGRAPHIES)}")
    return geography
