"""Exact counts of people by region and group: one pass over the records, then state by state.

*Regions.* The United States and Puerto Rico (state 72) are two passes over disjoint people. Blocks of the
same tract, place and tribal area (AIANNH) are never told apart by a table: together they are an *atom*. Every
region is a union of atoms, of which the nation has some hundred thousand against eight million blocks, so
people are counted by atom and regions are sums over atoms.

*Records* are coded as they are read, apart for each state: a record becomes its atom, its cell of sex and
age, and its codes as three integers of three codes each. The expressions run on any engine. They avoid what
engines do differently: nothing is cast that may fail, codes are taken apart by shifting bits (a quotient may
be a float), and sums are narrowed by the engine (DuckDB makes them 128 bits wide).

*Counts.* A state at a time the records are summed by atom, cell and combination of codes, combinations are
mapped to their groups, and totals by atom and group come out; regions, the nation and areas that cross states
are sums of those, in arrays. Cells are asked for later, for the groups that need them. So memory grows with
regions and groups, not with people.

Coded records are as confidential as the records. They lie in a directory that only its owner can read, and go
at the end: in the engine's, or, for a run that may be resumed, beside the output. Such a run that is
interrupted leaves them, with a note of what they were made from, and the next one goes on from there. The
note goes before noise is drawn: after that nothing is resumed. A cluster reads the records and sums up those
that are alike, in one plan; what it finds is stored and counted on this machine, as all else.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add, and_, or_
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError, InputError
from discreet.files import sync, whole_file
from discreet.release.commit import try_lock
from discreet.release.engine import DuckDB, Engine, Relation, connect
from discreet.release.safetab.configuration import Configuration
from discreet.release.safetab.specification import (
    BELOW_STATE,
    CODE_FILE,
    GEOGRAPHIES,
    LEVELS,
    NULL,
    PASSES,
    PR_GEOGRAPHIES,
    PUERTO_RICO,
    STATES,
    US_GEOGRAPHIES,
    Specification,
)
from discreet.release.safetab.tables import RANGES, TOP_AGE
from discreet.release.tables import ArrowSchema, ArrowTable, arrow, strings

if TYPE_CHECKING:
    from discreet.release.safetab.records import Hashes

# -- regions -----------------------------------------------------------------------------------------------

NO_PLACE, NO_AREA = "99999", "9999"
"""Codes for land outside any place, and outside any tribal area."""

OUTSIDE = -1
"""The atom of all blocks that no pass tabulates."""

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
        region = self.atoms[geography]
        inside = np.flatnonzero(region >= 0).astype(np.int32)
        return _pairs(inside, region[inside])

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
    states = columns["state"]
    us = np.isin(states, configuration.state_filter_us) & configuration.run_us
    puerto = (states == PUERTO_RICO) & configuration.run_pr
    inside = us | puerto
    if not inside.any():
        wanted = ["no state of state_filter_us"] * configuration.run_us
        wanted += [f"not Puerto Rico ({PUERTO_RICO})"] * configuration.run_pr
        raise InputError(f"GRF-C has {' and '.join(wanted)}, so nothing would be tabulated")
    # a filter of all states, as in production, fits any GRF-C; one that names some and finds none is wrong
    some = set(configuration.state_filter_us) != set(STATES)
    if configuration.run_us and some and not us.any():
        raise InputError(
            "GRF-C has no state of state_filter_us, so nothing of the United States would be tabulated; "
            "name other states, or set run_us to false"
        )
    atom = np.full(states.size, OUTSIDE, dtype=np.int32)
    atom[inside] = np.arange(int(inside.sum()), dtype=np.int32)
    state, county, tract, place, area = (columns[name][inside] for name in AREAS if name != "block")
    county = np.char.add(state, county)
    tract = np.char.add(county, tract)
    place = np.where(place == NO_PLACE, "", np.char.add(state, place))
    area = np.where(area == NO_AREA, "", area)
    # an empty name is no region
    names = [np.full(state.size, "1"), state, county, tract, place, area]
    regions: dict[str, tuple[str, ...]] = {}
    atoms: dict[str, NDArray[np.int32]] = {}
    for geographies, chosen, own in ((US_GEOGRAPHIES, us, names), (PR_GEOGRAPHIES, puerto, names[1:5])):
        for geography, texts in zip(geographies, own, strict=True):
            there = chosen[inside] & (texts != "")
            found, index = np.unique(texts[there], return_inverse=True)
            regions[geography] = tuple(found.tolist())
            atoms[geography] = np.full(texts.size, -1, dtype=np.int32)
            atoms[geography][there] = index
    keys = codes.append_column("atom", pa.array(atom))
    keys = keys.append_column("part", pa.array(states.astype(np.int8)))
    return Geography(regions, atoms, keys, tuple(tract.tolist()), _notes(configuration, set(states.tolist())))


def _notes(configuration: Configuration, found: set[str]) -> tuple[str, ...]:
    def many(states: Sequence[str]) -> str:
        return f"{len(states)} state{'s' * (len(states) != 1)}"

    notes = []
    absent = [state for state in configuration.state_filter_us if state not in found]
    if configuration.run_us and absent:
        notes.append(f"state_filter_us names {many(absent)} not in GRF-C: {', '.join(absent)}")
    outside = sorted(found - {*configuration.state_filter_us, PUERTO_RICO})
    if configuration.run_us and outside:
        notes.append(f"GRF-C has {many(outside)} that state_filter_us leaves out: {', '.join(outside)}")
    if configuration.run_pr and PUERTO_RICO not in found:
        notes.append(f"run_pr is true, but GRF-C has no block of Puerto Rico ({PUERTO_RICO})")
    return tuple(notes)


# -- records -----------------------------------------------------------------------------------------------

BLOCK_COLUMNS = ("TABBLKST", "TABBLKCOU", "TABTRACTCE", "TABBLK")
AREA_COLUMNS = (*BLOCK_COLUMNS, "PLACEFP", "AIANNHCE")
WIDTHS = dict(zip(AREA_COLUMNS, (2, 3, 6, 4, 5, 4), strict=True))
"""Digits of the codes of GRF-C."""
AREAS = dict(zip(("state", "county", "tract", "block", "place", "area"), AREA_COLUMNS, strict=True))
"""What the columns of GRF-C are called here."""
RACE_COLUMNS = tuple(f"QRACE{place}" for place in range(1, 9))
CODE_COLUMNS = (*RACE_COLUMNS, "QSPAN")
PERSON_COLUMNS = ("QAGE", "QSEX", *BLOCK_COLUMNS, *CODE_COLUMNS)
IDENTIFIER = "RECORD_ID"
"""A column that names each record once, if there is one: no two records may have the same."""
UNUSED_COLUMNS = ("HOUSEHOLDER", "CENRACE")
"""Columns of the format that no table needs: they must be there, and are not read."""
AGES = len(RANGES[-1])
"""The finest age ranges; a cell is (sex - 1) * AGES + age range."""

BITS = 21
"""Bits of a code: two million of them, and three codes fit into 63 bits."""

CODES = ("first", "second", "third")
"""The columns of a combination: races 1 to 3, 4 to 6, and 7, 8 and the origin; 0 is no code."""

NOWHERE = -1
"""The state of a record whose block is not known."""


def blocks(engine: Engine, areas: Relation, geography: Geography) -> Relation:
    """Return `tract` (eleven digits), `block`, `atom` and `part` (the number of the state) of every block."""
    keys = engine.upload(geography.keys)
    named = areas.select(**{short: areas[column] for short, column in AREAS.items()})
    joined = named.inner_join(keys, ["state", "county", "tract", "place", "area"])
    atoms = joined.select(
        tract=joined.state + joined.county + joined.tract,
        block=joined.block,
        atom=joined.atom,
        part=joined.part,
    )
    # a block that comes twice is reported, but must not make people count twice while other checks go on
    once = atoms.group_by(["tract", "block"]).agg(atom=atoms.atom.min(), part=atoms.part.min())
    return engine.keep(once)


def cells() -> ArrowTable:
    """Return an Arrow table of all ways to write age and sex, with the cell they mean."""
    pa = arrow()
    rows: dict[tuple[str, str], int] = {}
    for age in range(TOP_AGE + 1):
        place = max(place for place, (start, _) in enumerate(RANGES[-1]) if start <= age)
        for sex in (1, 2):
            rows |= {(f"{age:0{width}}", str(sex)): (sex - 1) * AGES + place for width in (1, 2, 3)}
    return pa.table(
        {
            "age": strings([age for age, _ in rows]),
            "sex": strings([sex for _, sex in rows]),
            "cell": pa.array(list(rows.values()), pa.int8()),
        }
    )


def numbers(specification: Specification) -> ArrowTable:
    """Return an Arrow table of the codes and their numbers, from 1."""
    pa, codes = arrow(), list(specification.codes)
    return pa.table({"code": strings(codes), "number": pa.array(range(1, len(codes) + 1), pa.int64())})


def tract(people: Relation) -> Relation:
    """Return state, county and tract as one text, or null if the widths of the parts are wrong.

    Without the widths, shifted digits could make another tract's name.
    """
    import ibis  # type: ignore[import-untyped]

    right = (people.TABBLKST.length() == 2) & (people.TABBLKCOU.length() == 3)
    return ibis.ifelse(right, people.TABBLKST + people.TABBLKCOU + people.TABTRACTCE, ibis.null("string"))


def described(
    engine: Engine, people: Relation, block_table: Relation, specification: Specification
) -> Relation:
    """Return each record with what its fields mean: part and atom, cell, and the numbers of its codes.

    What a field means is null if it means nothing; its own columns (`code0` to `code8`, of the eight races
    and the origin) stay beside it.
    """
    fields = {f"code{place}": people[name].nullif(NULL) for place, name in enumerate(CODE_COLUMNS)}
    kept = [name for name in ("row", IDENTIFIER) if name in people.columns]
    found = people.select(
        *kept, tract=tract(people), block=people.TABBLK, age=people.QAGE, sex=people.QSEX, **fields
    )
    kept += ["age", "sex", *fields, "part", "atom"]
    found = found.left_join(block_table, ["tract", "block"]).select(*kept)
    kept.append("cell")
    found = found.left_join(engine.upload(cells()), ["age", "sex"]).select(*kept)
    known = engine.upload(numbers(specification))
    for place, field in enumerate(fields):
        own = known.select(**{f"key{place}": known.code, f"number{place}": known.number})
        kept.append(f"number{place}")
        found = found.left_join(own, found[field] == own[f"key{place}"]).select(*kept)
    return found


def broken_rules(found: Relation) -> dict[tuple[str, str], Relation]:
    """Return which described records break a rule, by what is said of it and the field it is said of.

    Ages and sexes are not among them: together they have no cell.
    """
    given = [found[f"code{place}"].notnull() for place in range(len(CODE_COLUMNS))]
    number = [found[f"number{place}"] for place in range(len(CODE_COLUMNS))]
    races, unknown = given[:-1], f"a code is not in {CODE_FILE}"
    none = reduce(and_, (~there for there in races))
    return {
        ("a block is not in GRF-C", "TABBLK"): found.atom.isnull(),
        ("a person has no race code; at least one is required", RACE_COLUMNS[0]): none,
        **{
            ("a race code follows an empty one", name): ~before & after
            for name, (before, after) in zip(RACE_COLUMNS[1:], pairwise(races), strict=True)
        },
        **{
            (unknown, name): there & number[place].isnull()
            for place, (name, there) in enumerate(zip(RACE_COLUMNS, races, strict=True))
        },
        (unknown, CODE_COLUMNS[-1]): number[-1].isnull(),
    }


def coded(engine: Engine, people: Relation, block_table: Relation, specification: Specification) -> Relation:
    """Return each record as integers: part, atom, cell, codes, whether it breaks a rule, and that it is one.

    This is not computed yet; whoever stores it reads the file, once.
    """
    import ibis

    found = described(engine, people, block_table, specification)
    wrong = reduce(or_, (found.cell.isnull(), *broken_rules(found).values()))
    shifted = [
        found[f"number{place}"].fill_null(0) * (1 << BITS * (place % 3)) for place in range(len(CODE_COLUMNS))
    ]
    return found.select(
        part=found.part.fill_null(NOWHERE),
        atom=found.atom,
        cell=found.cell,
        **{name: reduce(add, shifted[3 * k : 3 * k + 3]) for k, name in enumerate(CODES)},
        wrong=ibis.ifelse(wrong, ibis.literal(1, "int8"), ibis.literal(0, "int8")),
        people=ibis.literal(1, "int64"),
    )


def combinations(engine: Engine, people: Relation) -> Relation:
    """Number the distinct combinations of codes."""
    import ibis

    distinct = people.select(*CODES).distinct()
    # ordered, for an engine that computes it twice must find the same numbers
    number = ibis.row_number().over(order_by=[distinct[name] for name in CODES])
    return engine.keep(distinct.mutate(combination=number.cast("int32")))


def _code(combined: Relation, place: int) -> Relation:
    """The number of a code of a combination, 0 if there is none."""
    packed = combined[CODES[place // 3]]
    return (packed >> (BITS * (place % 3))) & ((1 << BITS) - 1)


def members(engine: Engine, combined: Relation, specification: Specification, most: int) -> Relation:
    """Return the groups of each combination, each once: however many codes lead to a group, it counts once.

    Alone: groups that all codes share. In combination: groups that any code has. Ethnicity: those of QSPAN.
    """
    import ibis

    known = engine.upload(mapping(specification))
    race, ethnicity = known.filter(known.kind != "ethnicity"), known.filter(known.kind == "ethnicity")
    each = [combined.select("combination", number=_code(combined, place)) for place in range(most)]
    codes = ibis.union(*each, distinct=True) if most > 1 else each[0]
    codes = codes.filter(codes.number > 0)
    many = codes.group_by("combination").agg(many=codes.count())
    found = codes.inner_join(race, "number").select("combination", "iteration", "kind")
    shared = (
        found.filter(found.kind == "alone")
        .group_by(["combination", "iteration"])
        .agg(sharing=lambda t: t.count())
    )
    alone = shared.inner_join(many, "combination")
    alone = alone.filter(alone.sharing == alone.many).select("combination", "iteration")
    some = found.filter(found.kind == "combination").select("combination", "iteration").distinct()
    origin = combined.select("combination", number=_code(combined, len(RACE_COLUMNS)))
    spanish = origin.inner_join(ethnicity, "number").select("combination", "iteration")
    return engine.keep(alone.union(some, distinct=False).union(spanish, distinct=False))


def mapping(specification: Specification) -> ArrowTable:
    """Return an Arrow table of what codes mean: the code's number, the index of a group, the group's kind."""
    pa = arrow()
    index = {one.code: place for place, one in enumerate(specification.iterations) if one.level}
    number = {code: place for place, code in enumerate(specification.codes, 1)}
    pairs = [
        (number[code], index[group])
        for code, groups in specification.mapped.items()
        for group in groups
        if group in index
    ]
    return pa.table(
        {
            "number": pa.array([code for code, _ in pairs], pa.int64()),
            "iteration": pa.array([group for _, group in pairs], pa.int32()),
            "kind": strings([specification.iterations[group].kind for _, group in pairs]),
        }
    )


FEW = 1_000_000
"""Up to so many records are counted all at once."""

NOTE = "coded.json"
"""Says that all records are coded, and what from."""


@dataclass(frozen=True, slots=True)
class Resumable:
    """Where the coded records of a run stay if it is interrupted, and what they were made from."""

    folder: Path
    made_from: Mapping[str, object]

    @classmethod
    def beside(cls, out: Path, made_from: Mapping[str, object]) -> Resumable:
        """Return the place beside an output."""
        return cls(out.parent / f".discreet-{out.name}.coded", made_from)


class CodedRecords:
    """The coded records of a run, state by state."""

    def __init__(self, reader: Engine, resumable: Resumable | None = None) -> None:
        """`reader` reads the records; `engine`, on this machine, does the rest: the same one, if it can."""
        self._reader, self._resumable, self._open = reader, resumable, ExitStack()
        if isinstance(reader, DuckDB):
            self.engine = reader
        else:
            local = self._open.enter_context(connect("duckdb"))
            assert isinstance(local, DuckDB)
            self.engine = local
        self._lock: int | None = None
        own = self.engine.place / self.engine.fresh()
        self._folder = own if resumable is None else resumable.folder
        self.complete = False
        """Whether all records are here already, from a run that was interrupted."""
        if resumable is not None:
            try:
                self.complete = self._found(resumable)
            except BaseException:
                self._free()
                raise

    def _found(self, resumable: Resumable) -> bool:
        """Take the directory, and say whether it holds the records of such a run."""
        folder, made_from = resumable.folder, resumable.made_from
        if folder.is_symlink():
            raise InputError(f"{folder} is a link; coded records are not kept behind one")
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.stat()
        if state.st_uid != os.getuid() or state.st_mode & 0o077:
            raise InputError(f"{folder} can be read by others; remove it, or make it private to you")
        self._lock = try_lock(folder)
        if self._lock is None:
            raise InputError(f"another run uses {folder}; wait for it, or name another output")
        if not (folder / NOTE).is_file():
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            return False
        try:
            said = json.loads((folder / NOTE).read_bytes())
        except ValueError:  # damaged
            said = None
        if said != made_from:
            raise InputError(
                f"{folder} has the records of an interrupted run with other parameters, data or version; "
                "remove it to start again"
            )
        return True

    def write(self, records: Relation, progress: Callable[[float], None] | None = None) -> None:
        """Compute and store the records; this reads their file."""
        if self._reader is not self.engine:
            keys = ["part", "atom", "cell", *CODES, "wrong"]
            alike = records.group_by(keys).agg(people=records.people.sum())
            records = self.engine.upload(self._reader.fetch(alike))
        self.engine.store(records, self._folder / "coded", by="part", progress=progress)
        if self._reader is not self.engine:
            self.engine.drop(records)

    def note(self) -> None:
        """Remember that all records are here and right, so that the run can be resumed."""
        if self._resumable is not None:
            with whole_file(self._folder / NOTE, private=True) as stream:
                stream.write(json.dumps(self._resumable.made_from).encode())

    def forget(self) -> None:
        """Make sure that the run is never resumed: noise is about to be drawn."""
        if self._resumable is not None:
            (self._folder / NOTE).unlink(missing_ok=True)
            sync(self._folder)

    def place(self, name: str, state: int) -> Path:
        """Return the folder of a table of one state."""
        return self._folder / name / f"part={state}"

    def every(self, name: str) -> Relation:
        """Return a table of all states."""
        return self.engine.stored(self._folder / name, inside="*/")

    def batches(self) -> list[tuple[int, ...]]:
        """Return which states are counted together: each by itself, or all if there are few records."""
        files = sorted((self._folder / "coded").glob("part=*/*.parquet"))
        states = sorted({int(file.parent.name.partition("=")[2]) for file in files} - {NOWHERE})
        rows = sum(arrow("parquet").read_metadata(file).num_rows for file in files)
        return [(state,) for state in states] if rows > FEW else [tuple(states)] * bool(states)

    def of(self, *states: int) -> Relation:
        """Return the records of some states."""
        return self.engine.stored(*(self.place("coded", state) for state in states))

    def wrong(self) -> bool:
        """Whether a record breaks a rule."""
        if self.place("coded", NOWHERE).exists():
            return True
        batches = self.batches()
        if not batches:
            return False
        rows = self.of(*(state for batch in batches for state in batch))
        return any(self.engine.count(rows.filter(rows.wrong > 0)))

    def close(self, error: type[BaseException] | None = None, *_: object) -> None:
        """Remove what was stored, unless an interrupted run (`error`) can be resumed from it."""
        interrupted = error is not None and not issubclass(error, Exception)
        if not (interrupted and self._resumable is not None and (self._folder / NOTE).exists()):
            shutil.rmtree(self._folder, ignore_errors=True)
        self._free()

    def _free(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        self._open.close()


# -- counts ------------------------------------------------------------------------------------------------

Sums = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]
"""Numbers of groups (region times iterations, plus iteration), rising, and how many people each has."""
Progress = Callable[[int, int], None]
STEPS = 1000
"""Of the counting, for its progress."""


class GroupCounts:
    """Counts by geography and level; regions and iterations go by their index."""

    def __init__(
        self,
        geography: Geography,
        parts: CodedRecords,
        configuration: Configuration,
        specification: Specification,
        hashes: Hashes,
        progress: Progress | None = None,
    ) -> None:
        self.geography = geography
        self.specification, self._hashes = specification, hashes
        engine = self._engine = parts.engine
        self._parts = parts
        self._levels = np.array([one.level for one in specification.iterations], dtype=np.int8)
        self._below, self._above = (
            np.array([one.tabulated(name) for one in specification.iterations], dtype=bool)
            for name in ("COUNTY", "STATE")
        )
        batches = parts.batches()
        self._sums: dict[str, list[Sums]] = {name: [] for name in GEOGRAPHIES}
        self._kept: list[Relation] = []
        self._base: Relation | None = None
        if batches:
            records = parts.of(*(state for batch in batches for state in batch))
            combined = combinations(engine, records)
            self._members = members(engine, combined, specification, configuration.max_race_codes)
            self._kept += [combined, self._members]
            self._check_members(configuration)
            for done, batch in enumerate(batches, 1):
                self._count(batch, combined, apart=len(batches) > 1)
                if progress is not None:
                    progress(STEPS // 2 + STEPS * done // (2 * len(batches)), STEPS)
        # taken apart as they are summed up: both at once would be the most memory of the run
        self._totals = {name: summed(self._sums.pop(name)) for name in GEOGRAPHIES}
        self.seconds = 0.0
        """How long the engine was asked for cells."""

    def _check_members(self, configuration: Configuration) -> None:
        """Raise if somebody is in more groups of a region than the noise is made for.

        The bound is proved from the specification alone; this looks at the people who are there.
        """
        groups = self.specification.iterations
        levels = self._engine.upload(
            arrow().table(
                {
                    "iteration": np.arange(len(groups), dtype=np.int32),
                    "level": self._levels,
                    "below": self._below,
                    "above": self._above,
                }
            )
        )
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
        inside = records.filter(records.atom >= 0)
        base = inside.group_by(["atom", "cell", *CODES]).agg(people=inside.people.sum())
        base = base.inner_join(combined, list(CODES)).select("atom", "combination", "cell", "people")
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
                self._sums[name].append(summed([(key, count[inside])]))
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
        self._totals.clear()
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
        shown = self._below if geography in BELOW_STATE else self._above
        size = np.uint32(self._levels.size)  # a wider one would widen the keys
        here = ((self._levels == level) & shown)[key % size]
        region, iteration = np.divmod(key[here], size)
        columns = {"region": region, "iteration": iteration, "count": count[here]}
        return arrow().table(columns).cast(_schema(_TOTALS))

    def cells(self, geography: str, level: int, groups: ArrowTable) -> ArrowTable:
        """Return region, iteration, sex, age range and count of cells with people, for groups of `totals`."""
        if not groups.num_rows or not self._totals[_known(geography)][0].size:  # nobody is counted here
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
        return self._parts.every(own).rename(part=part), pairs


def _pairs(part: NDArray[np.int32], region: NDArray[np.int32]) -> ArrowTable:
    return arrow().table({"part": part, "region": region})


def summed(parts: Sequence[Sums]) -> Sums:
    """Return the keys of several lists, each once and rising, with the sums of their counts.

    Counts are in as few bytes as they need, keys in four or eight: a nation has tens of millions of groups.

    >>> key, count = summed([(np.array([7, 3, 7]), np.array([1, 2, 200])), (np.array([3]), np.array([5]))])
    >>> key.tolist(), count.tolist(), key.dtype.name, count.dtype.name
    ([3, 7], [7, 201], 'uint32', 'uint8')
    """
    if not parts:
        return np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint8)
    key, count = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    if not (key[1:] > key[:-1]).all():  # regions of one state follow those of the state before
        order = np.argsort(key, kind="stable")
        key, count = key[order], count[order]
        starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
        key, count = key[starts], np.add.reduceat(count, starts, dtype=np.int64)
    least = np.promote_types(np.min_scalar_type(key.max(initial=0)), np.uint32)
    return key.astype(least), count.astype(np.min_scalar_type(count.max(initial=0)))


_TOTALS = (("region", "int32"), ("iteration", "int32"), ("count", "int64"))
_CELLS = (("region", "int32"), ("iteration", "int32"), ("sex", "int8"), ("age", "int8"), ("count", "int64"))


def _schema(columns: tuple[tuple[str, str], ...]) -> ArrowSchema:
    pa = arrow()
    return pa.schema([(name, getattr(pa, kind)()) for name, kind in columns])


def _known(geography: str) -> str:
    if geography not in GEOGRAPHIES:
        raise InputError(f"geography is {geography!r}; it must be one of {', '.join(GEOGRAPHIES)}")
    return geography
