"""Exact counts of people by region and group: one pass over the records, then part by part.

*Records* are coded as they are read, apart for each part of the country: a record becomes its atom, its
finest cell, and its codes as integers of three codes each. The expressions run on any engine. They avoid what
engines do differently: nothing is cast that may fail, codes are taken apart by shifting bits (a quotient may
be a float), and sums are narrowed by the engine (DuckDB makes them 128 bits wide).

*Counts.* A part at a time the records are summed by atom, cell and combination of codes, combinations are
mapped to their groups, and totals by atom and group come out; regions, also those that cross parts,
are sums of those, in arrays. Cells are asked for later, for the groups that need them. So memory grows with
regions and groups, not with people.

Coded records are as confidential as the records. They lie in a directory that only its owner can read, and go
at the end: in the engine's, or, for a run that may be resumed, beside the output. Such a run that is
interrupted leaves them, with a note of what they were made from, and the next one goes on from there. The
note goes before noise is drawn: after that nothing is resumed. A cluster reads the records and sums up those
that are alike, in one plan; what it finds is stored and counted on this machine, as all else.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import reduce
from itertools import pairwise, product
from operator import add, and_, or_
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.areas.output import ArrowSchema, ArrowTable, arrow, strings
from discreet.census.mechanism.configuration import Configuration
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.regions import Geography
from discreet.census.mechanism.tabulation import AdaptiveTabulation
from discreet.errors import DiscreetError, InputError
from discreet.ledger.locks import unlock
from discreet.ledger.resumable import Resumable
from discreet.records.engine import DuckDB, Engine, Relation, connect

if TYPE_CHECKING:
    from discreet.census.mechanism.records import Hashes

# -- records -----------------------------------------------------------------------------------------------

BITS = 21
"""Bits of a code: two million of them, and three codes fit into 63 bits."""

TOGETHER = 3
"""Codes that are packed into one integer."""

NOWHERE = -1
"""The part of the country of a record whose area is not known."""


def packed(tabulation: AdaptiveTabulation) -> tuple[str, ...]:
    """Return the columns of a combination of codes, three to a column; 0 is no code."""
    many = -(-len(tabulation.answers.columns) // TOGETHER)
    return tuple(f"codes{index}" for index in range(many))


def keyed(rows: Relation, tabulation: AdaptiveTabulation) -> dict[str, Relation]:
    """Return the columns that name an area: all codes but the last as one text, and the last.

    Where the widths of the codes are known, a text of others is null: shifted digits could name another area.
    """
    import ibis  # type: ignore[import-untyped]

    *first, last = tabulation.areas.key
    widths = tabulation.areas.widths
    if not first:
        return {"last": rows[last]}
    if not all(widths[name] for name in first):
        return {**{f"key{index}": rows[name] for index, name in enumerate(first)}, "last": rows[last]}
    right = reduce(and_, (rows[name].length() == widths[name] for name in first[:-1] or first))
    whole = reduce(add, (rows[name] for name in first))
    return {"first": ibis.ifelse(right, whole, ibis.null("string")), "last": rows[last]}


def area_table(engine: Engine, areas: Relation, geography: Geography) -> Relation:
    """Return the key of every area, its `atom` and its `part` (the number of the part of the country)."""
    tabulation = geography.tabulation
    keys = engine.upload(geography.keys)
    joined = areas.inner_join(keys, list(geography.columns))
    key = keyed(joined, tabulation)
    atoms = joined.select(**key, atom=joined.atom, part=joined.part)
    # an area that comes twice is reported, but must not make people count twice while other checks go on
    once = atoms.group_by(list(key)).agg(atom=atoms.atom.min(), part=atoms.part.min())
    return engine.keep(once)


def cells(tabulation: AdaptiveTabulation) -> ArrowTable:
    """Return an Arrow table of all ways to write the attributes, with the finest cell that they mean."""
    pa = arrow()
    attributes = tabulation.attributes
    sizes = [len(attribute.parts) for attribute in attributes]
    texts, cell_numbers = [], []
    for written in product(*(attribute.texts.items() for attribute in attributes)):
        texts.append([text for text, _ in written])
        cell_numbers.append(int(np.ravel_multi_index([part for _, part in written], sizes)))
    columns = {f"value{index}": strings([row[index] for row in texts]) for index in range(len(attributes))}
    return pa.table({**columns, "cell": pa.array(cell_numbers, pa.int32())})


def numbers(specification: Specification) -> ArrowTable:
    """Return an Arrow table of the codes and their numbers, from 1."""
    pa, codes = arrow(), list(specification.codes)
    return pa.table({"code": strings(codes), "number": pa.array(range(1, len(codes) + 1), pa.int64())})


def described(engine: Engine, people: Relation, areas: Relation, specification: Specification) -> Relation:
    """Return each record with what its fields mean: part and atom, cell, and the numbers of its codes.

    What a field means is null if it means nothing; its own columns (`value0`, `code0` and so on) stay beside.
    """
    tabulation = specification.tabulation
    null, identifier = tabulation.record_file.null, tabulation.record_file.identifier
    codes = {f"code{index}": people[name] for index, name in enumerate(tabulation.answers.columns)}
    if null:
        codes = {name: column.nullif(null) for name, column in codes.items()}
    values = {
        f"value{index}": people[attribute.column] for index, attribute in enumerate(tabulation.attributes)
    }
    kept = [name for name in ("row", identifier) if name and name in people.columns]
    key = keyed(people, tabulation)
    shape = {"shaped": well_formed(people, tabulation)} if tabulation.record_file.lenient else {}
    records = people.select(*kept, **key, **values, **codes, **shape)
    kept += [*values, *codes, *shape, "part", "atom"]
    records = records.left_join(areas, list(key)).select(*kept)
    kept.append("cell")
    records = records.left_join(engine.upload(cells(tabulation)), list(values)).select(*kept)
    known = engine.upload(numbers(specification))
    for index, field in enumerate(codes):
        own = known.select(**{f"key{index}": known.code, f"number{index}": known.number})
        kept.append(f"number{index}")
        records = records.left_join(own, records[field] == own[f"key{index}"]).select(*kept)
    return records


def right_code(rows: Relation, name: str, width: int) -> Relation:
    """Whether a code of an area is of so many digits, or if that is 0 plain."""
    if not width:
        # codes of any width are written into tables as they are, so they must be plain
        return (~rows[name].re_search("[^0-9A-Za-z._-]") & (rows[name].length() <= 32)).fill_null(False)
    # not by ^ and $: to Java, a text may go on with a line break behind $
    digits = ~rows[name].re_search("[^0-9]") & (rows[name].length() == width)
    return digits.fill_null(False)


def well_formed(rows: Relation, tabulation: AdaptiveTabulation) -> Relation:
    """Whether the codes that name a record's area are such that there could be one."""
    widths = tabulation.areas.widths
    return reduce(and_, (right_code(rows, name, widths[name]) for name in tabulation.areas.key))


def broken_rules(records: Relation, tabulation: AdaptiveTabulation) -> dict[tuple[str, str], Relation]:
    """Return which described records break a rule, by what is said of it and the field it is said of.

    The values of attributes are not among them: together they have no cell.
    """
    answers, areas = tabulation.answers, tabulation.areas
    several, word, unknown = answers.several, answers.word, f"a code is not in {answers.codes}"
    rules = {(f"a {areas.one} is not in {tabulation.area_file.name}", areas.key[-1]): records.atom.isnull()}
    if tabulation.record_file.lenient:
        rules = {(f"a code of a {areas.one} is not of the digits it must be", areas.key[-1]): ~records.shaped}
    given = [records[f"code{index}"].notnull() for index in range(len(answers.columns))]
    number = [records[f"number{index}"] for index in range(len(answers.columns))]
    several_given = given[: len(several)]
    if several:
        none = reduce(and_, (~there for there in several_given))
        rules[f"a {tabulation.unit} has no {word} code; at least one is required", several[0]] = none
    for name, (before, after) in zip(several[1:], pairwise(several_given), strict=True):
        rules[f"a {word} code follows an empty one", name] = ~before & after
    for index, (name, there) in enumerate(zip(several, several_given, strict=True)):
        rules[unknown, name] = there & number[index].isnull()
    if answers.one:
        rules[unknown, answers.one] = number[-1].isnull()
    return rules


def coded_cells(engine: Engine, people: Relation, areas: Relation, specification: Specification) -> Relation:
    """Return each record as integers: part, atom, cell, codes, whether it breaks a rule, and that it is one.

    This is not computed yet; whoever stores it reads the file, once.
    """
    import ibis

    tabulation = specification.tabulation
    records = described(engine, people, areas, specification)
    wrong = reduce(or_, (records.cell.isnull(), *broken_rules(records, tabulation).values()))
    shifted = [
        records[f"number{index}"].fill_null(0) * (1 << BITS * (index % TOGETHER))
        for index in range(len(tabulation.answers.columns))
    ]
    return records.select(
        part=records.part.fill_null(NOWHERE),
        atom=records.atom,
        cell=records.cell,
        **{
            name: reduce(add, shifted[TOGETHER * index : TOGETHER * (index + 1)])
            for index, name in enumerate(packed(tabulation))
        },
        wrong=ibis.ifelse(wrong, ibis.literal(1, "int8"), ibis.literal(0, "int8")),
        people=ibis.literal(1, "int64"),
    )


def combinations(engine: Engine, people: Relation, codes: Sequence[str]) -> Relation:
    """Number the distinct combinations of codes."""
    import ibis

    distinct = people.select(*codes).distinct()
    # ordered, for an engine that computes it twice must find the same numbers
    number = ibis.row_number().over(order_by=[distinct[name] for name in codes])
    return engine.keep(distinct.mutate(combination=number.cast("int32")))


def _code(combined: Relation, index: int) -> Relation:
    """The number of a code of a combination, 0 if there is none."""
    column = combined[f"codes{index // TOGETHER}"]
    return (column >> (BITS * (index % TOGETHER))) & ((1 << BITS) - 1)


def members(engine: Engine, combined: Relation, specification: Specification, most: int) -> Relation:
    """Return the groups of each combination, each once: however many codes lead to a group, it counts once.

    Of several codes: groups that all share, and groups that any has. Of the one code: those that it has.
    """
    import ibis

    answers = specification.tabulation.answers
    every, some, single_kind = answers.kinds
    known = engine.upload(mapping(specification))
    memberships = []
    if answers.several:
        own = known.filter(known.kind != single_kind)
        each = [combined.select("combination", number=_code(combined, index)) for index in range(most)]
        codes = ibis.union(*each, distinct=True) if most > 1 else each[0]
        codes = codes.filter(codes.number > 0)
        many = codes.group_by("combination").agg(many=codes.count())
        joined = codes.inner_join(own, "number").select("combination", "iteration", "kind")
        shared = (
            joined.filter(joined.kind == every)
            .group_by(["combination", "iteration"])
            .agg(sharing=lambda t: t.count())
        )
        alone = shared.inner_join(many, "combination")
        memberships.append(alone.filter(alone.sharing == alone.many).select("combination", "iteration"))
        memberships.append(joined.filter(joined.kind == some).select("combination", "iteration").distinct())
    if answers.one:
        own = known.filter(known.kind == single_kind)
        single = combined.select("combination", number=_code(combined, len(answers.several)))
        memberships.append(single.inner_join(own, "number").select("combination", "iteration"))
    return engine.keep(reduce(lambda left, right: left.union(right, distinct=False), memberships))


def mapping(specification: Specification) -> ArrowTable:
    """Return an Arrow table of what codes mean: the code's number, the index of a group, the group's kind."""
    pa = arrow()
    index = {
        iteration.code: position
        for position, iteration in enumerate(specification.iterations)
        if iteration.level
    }
    number = {code: position for position, code in enumerate(specification.codes, 1)}
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


class CodedRecords:
    """The coded records of a run, part by part of the country."""

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
                self._lock = resumable.take()
                self.complete = resumable.found()
            except BaseException:
                self._free()
                raise

    def write(self, records: Relation, progress: Callable[[float], None] | None = None) -> None:
        """Compute and store the records; this reads their file."""
        if self._reader is not self.engine:
            keys = [name for name in records.columns if name != "people"]
            alike = records.group_by(keys).agg(people=records.people.sum())
            records = self.engine.upload(self._reader.fetch(alike))
        self.engine.store(records, self._folder / "coded", by="part", progress=progress)
        if self._reader is not self.engine:
            self.engine.drop(records)

    def note(self) -> None:
        """Remember that all records are here and right, so that the run can be resumed."""
        if self._resumable is not None:
            self._resumable.write_note()

    def place(self, name: str, part: int) -> Path:
        """Return the folder of a table of one part."""
        return self._folder / name / f"part={part}"

    def every(self, name: str) -> Relation:
        """Return a table of all parts."""
        return self.engine.stored(self._folder / name, inside="*/")

    def batches(self) -> list[tuple[int, ...]]:
        """Return which parts are counted together: each by itself, or all if there are few records."""
        files = sorted((self._folder / "coded").glob("part=*/*.parquet"))
        parts = sorted({int(file.parent.name.partition("=")[2]) for file in files} - {NOWHERE})
        rows = sum(arrow("parquet").read_metadata(file).num_rows for file in files)
        return [(part,) for part in parts] if rows > FEW else [tuple(parts)] * bool(parts)

    def of(self, *parts: int) -> Relation:
        """Return the records of some parts."""
        return self.engine.stored(*(self.place("coded", part) for part in parts))

    def wrong(self, *, lenient: bool) -> bool:
        """Whether a record breaks a rule; one whose area is not known does unless `lenient`."""
        outside = self.place("coded", NOWHERE).exists()
        if outside and not lenient:
            return True
        parts = [state for batch in self.batches() for state in batch] + [NOWHERE] * outside
        if not parts:
            return False
        rows = self.of(*parts)
        return any(self.engine.count(rows.filter(rows.wrong > 0)))

    def close(self, error: type[BaseException] | None = None, *_: object) -> None:
        """Remove what was stored, unless an interrupted run (`error`) can be resumed from it."""
        interrupted = error is not None and not issubclass(error, Exception)
        if not (interrupted and self._resumable is not None and self._resumable.is_noted):
            shutil.rmtree(self._folder, ignore_errors=True)
        self._free()

    def _free(self) -> None:
        if self._lock is not None:
            unlock(self._folder, self._lock)
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
        self.tabulation = specification.tabulation
        self._codes = packed(self.tabulation)
        self._levels = np.array([iteration.level for iteration in specification.iterations], dtype=np.int8)
        self._below, self._above = (
            np.array([iteration.tabulated(below=below) for iteration in specification.iterations], dtype=bool)
            for below in (True, False)
        )
        batches = parts.batches()
        self._sums: dict[str, list[Sums]] = {name: [] for name in self.tabulation.geographies}
        self._kept: list[Relation] = []
        self._base: Relation | None = None
        if batches:
            records = parts.of(*(state for batch in batches for state in batch))
            combined = combinations(engine, records, self._codes)
            self._members = members(engine, combined, specification, configuration.max_race_codes)
            self._kept += [combined, self._members]
            self._check_members(configuration)
            for done, batch in enumerate(batches, 1):
                self._count(batch, combined, apart=len(batches) > 1)
                if progress is not None:
                    progress(STEPS // 2 + STEPS * done // (2 * len(batches)), STEPS)
        # taken apart as they are summed up: both at once would be the most memory of the run
        self._totals = {name: summed(self._sums.pop(name)) for name in self.tabulation.geographies}
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
        memberships = self._members.inner_join(levels, "iteration")
        many = memberships.group_by(["combination", "level"]).agg(
            below=memberships.below.cast("int64").sum(), above=memberships.above.cast("int64").sum()
        )
        most = many.group_by("level").agg(below=many.below.max(), above=many.above.max())
        of_groups = {workload.groups: level for level, workload in self.tabulation.workloads.items()}
        for row, below in product(self._engine.fetch(most).to_pylist(), (True, False)):
            geography, side = self.tabulation.side(below=below), "below" if below else "above"
            if geography is not None and row["level"] in of_groups:
                level = of_groups[row["level"]]
                bound = self.specification.stability(level, configuration.max_race_codes, geography).value
                if row[side] > bound:
                    raise DiscreetError(
                        f"a {self.tabulation.unit} is in {row[side]} groups of level {row['level']}, but the "
                        f"noise is scaled for {bound}; this is a bug, and nothing was released"
                    )
        self._engine.drop(levels)

    def _count(self, batch: Sequence[int], combined: Relation, *, apart: bool) -> None:
        """Sum up some parts: their base, kept for cells, and their totals by atom and group."""
        engine, records = self._engine, self._parts.of(*batch)
        inside = records.filter(records.atom >= 0)
        base = inside.group_by(["atom", "cell", *self._codes]).agg(people=inside.people.sum())
        base = base.inner_join(combined, list(self._codes)).select("atom", "combination", "cell", "people")
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
        for name in self.tabulation.geographies:
            region = self.geography.atoms[name][atom]
            inside = region >= 0
            if inside.any():
                key = region[inside].astype(np.int64) * self._levels.size + iteration[inside]
                self._sums[name].append(summed([(key, count[inside])]))
        if apart:
            self._roll_up(engine, base, state)
            engine.drop(base)

    def _roll_up(self, engine: DuckDB, base: Relation, part: int) -> None:
        """Store the people of a part by region, combination and cell, from small regions up."""
        which = self.geography.passes.get(part)
        if which is None:  # no pass takes this part
            return
        source, below = base.rename(part="atom"), None
        for name in self.tabulation.passes[which].rolled_up:
            parents = engine.upload(self.geography.sums(name, below))
            rows = source.inner_join(parents, "part")
            rows = rows.group_by(["region", "combination", "cell"]).agg(people=rows.people.sum())
            engine.store(rows, self._parts.place(name, part))
            engine.drop(parents)
            source, below = engine.stored(self._parts.place(name, part)).rename(part="region"), name

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

    def origins(self) -> list[dict[str, str | int]]:
        """Return role, hash and size of the files, for a ledger."""
        return self._hashes.origins()

    def regions(self, geography: str) -> tuple[str, ...]:
        """Return the regions of the file of areas, sorted, with or without people."""
        return self.geography.regions[self.tabulation.known(geography)]

    def totals(self, geography: str, level: int) -> ArrowTable:
        """Return an Arrow table of region, iteration and count: groups with people, sorted."""
        if level not in self.tabulation.workloads:
            levels = ", ".join(map(str, self.tabulation.levels))
            raise InputError(f"level is {level}; it must be one of {levels}")
        key, count = self._totals[self.tabulation.known(geography)]
        shown = self._below if self.tabulation.is_below(geography) else self._above
        size = np.uint32(self._levels.size)  # a wider one would widen the keys
        here = ((self._levels == self.tabulation.workloads[level].groups) & shown)[key % size]
        region, iteration = np.divmod(key[here], size)
        columns = {"region": region, "iteration": iteration, "count": count[here]}
        return arrow().table(columns).cast(_schema(_TOTALS))

    def cells(self, geography: str, level: int, groups: ArrowTable) -> ArrowTable:
        """Return region, iteration, finest cell and count of cells with people, for some groups."""
        counted = self._totals[self.tabulation.known(geography)][0]
        if not groups.num_rows or not counted.size:  # nobody is counted here
            return _schema(_CELLS).empty_table()
        start = time.perf_counter()
        engine, groups = self._engine, groups.select(["region", "iteration"]).cast(_schema(_TOTALS[:2]))
        asked = engine.upload(groups)
        source, parents = self._source(geography)
        parents = engine.upload(parents)
        # regions and groups that nobody asked for go before people are spread over their groups
        rows = source.inner_join(parents.semi_join(asked, "region"), "part")
        members = self._members.semi_join(asked, "iteration")
        cell_counts = rows.inner_join(members, "combination").select("region", "iteration", "cell", "people")
        cell_counts = cell_counts.semi_join(asked, ["region", "iteration"])
        cell_counts = cell_counts.group_by(["region", "iteration", "cell"]).agg(
            count=cell_counts.people.sum()
        )
        cell_counts = cell_counts.select("region", "iteration", "cell", "count")
        table = engine.fetch(cell_counts, sort=["region", "iteration", "cell"])
        engine.drop(asked)
        engine.drop(parents)
        self.seconds += time.perf_counter() - start
        return table.cast(_schema(_CELLS))

    def _source(self, geography: str) -> tuple[Relation, ArrowTable]:
        """Return people by part, combination and cell, and which parts make which regions."""
        if self._base is not None:
            return self._base.rename(part="atom"), self.geography.from_atoms(geography)
        region_type = self.tabulation.geographies[geography]
        rolled = {name for own in self.tabulation.passes.values() for name in own.rolled_up}
        own = geography if geography in rolled else region_type.sums_of
        if own in rolled:
            return self._parts.every(own).rename(part="region"), self.geography.sums(geography, own)
        return self._parts.every("atoms").rename(part="atom"), self.geography.from_atoms(geography)


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
    if not (key[1:] > key[:-1]).all():  # regions of one part follow those of the part before
        order = np.argsort(key, kind="stable")
        key, count = key[order], count[order]
        starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
        key, count = key[starts], np.add.reduceat(count, starts, dtype=np.int64)
    least = np.promote_types(np.min_scalar_type(key.max(initial=0)), np.uint32)
    return key.astype(least), count.astype(np.min_scalar_type(count.max(initial=0)))


_TOTALS = (("region", "int32"), ("iteration", "int32"), ("count", "int64"))
_CELLS = (("region", "int32"), ("iteration", "int32"), ("cell", "int32"), ("count", "int64"))


def _schema(columns: tuple[tuple[str, str], ...]) -> ArrowSchema:
    pa = arrow()
    return pa.schema([(name, getattr(pa, kind)()) for name, kind in columns])
