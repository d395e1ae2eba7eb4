"""Person records as small integers: coded as they are read, kept in Parquet apart for each state.

A record becomes its atom, its cell of sex and age, and its codes as three integers of three codes each. The
expressions run on any engine. They avoid what engines do differently: nothing is cast that may fail, codes
are taken apart by shifting bits (a quotient may be a float), and sums are narrowed by the engine (DuckDB
makes them 128 bits wide).

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
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add, or_
from pathlib import Path

from discreet.errors import InputError
from discreet.files import sync, whole_file
from discreet.release.commit import try_lock
from discreet.release.engine import Engine, Relation, connect
from discreet.release.engine.duckdb import DuckDB
from discreet.release.hierarchy.arrow import ArrowTable, arrow, strings
from discreet.release.safetab.geography import Geography
from discreet.release.safetab.sources import AREA_COLUMNS, RACE_COLUMNS
from discreet.release.safetab.specification import NULL, Kind, Specification
from discreet.release.safetab.tables import RANGES, TOP_AGE

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
    names = dict(zip(AREA_COLUMNS, ("state", "county", "tract", "block", "place", "area"), strict=True))
    named = areas.select(**{short: areas[column] for column, short in names.items()})
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


def coded(engine: Engine, people: Relation, block_table: Relation, specification: Specification) -> Relation:
    """Return each record as integers: part, atom, cell, codes, whether it breaks a rule, and that it is one.

    This is not computed yet; whoever stores it reads the file, once.
    """
    import ibis

    fields = {f"code{place}": people[name].nullif(NULL) for place, name in enumerate(RACE_COLUMNS)}
    fields[f"code{len(RACE_COLUMNS)}"] = people.QSPAN.nullif(NULL)
    found = people.select(
        tract=tract(people), block=people.TABBLK, age=people.QAGE, sex=people.QSEX, **fields
    )
    found = found.left_join(block_table, ["tract", "block"]).select("part", "atom", "age", "sex", *fields)
    found = found.left_join(engine.upload(cells()), ["age", "sex"]).select("part", "atom", "cell", *fields)
    known = engine.upload(numbers(specification))
    for place, field in enumerate(fields):
        own = known.select(**{f"key{place}": known.code, f"number{place}": known.number})
        kept = [*("part", "atom", "cell"), *fields, *(f"number{before}" for before in range(place + 1))]
        found = found.left_join(own, found[field] == own[f"key{place}"]).select(*kept)
    given = [found[field].notnull() for field in fields]
    named = [found[f"number{place}"] for place in range(len(fields))]
    races = given[:-1]
    wrong = [
        found.atom.isnull(),
        found.cell.isnull(),
        ~races[0],
        named[-1].isnull(),
        *(~before & after for before, after in pairwise(races)),
        *(there & number.isnull() for there, number in zip(races, named, strict=False)),
    ]
    shifted = [number.fill_null(0) * (1 << BITS * (place % 3)) for place, number in enumerate(named)]
    return found.select(
        part=found.part.fill_null(NOWHERE),
        atom=found.atom,
        cell=found.cell,
        **{name: reduce(add, shifted[3 * k : 3 * k + 3]) for k, name in enumerate(CODES)},
        wrong=ibis.ifelse(reduce(or_, wrong), ibis.literal(1, "int8"), ibis.literal(0, "int8")),
        people=ibis.literal(1, "int64"),
    )


def summed(records: Relation) -> Relation:
    """Return coded records with those that are alike in one row."""
    keys = ["part", "atom", "cell", *CODES, "wrong"]
    return records.group_by(keys).agg(people=records.people.sum())


def combinations(engine: Engine, people: Relation) -> Relation:
    """Number the distinct combinations of codes."""
    import ibis

    distinct = people.select(*CODES).distinct()
    # ordered, for an engine that computes it twice must find the same numbers
    number = ibis.row_number().over(order_by=[distinct[name] for name in CODES])
    return engine.keep(distinct.mutate(combination=number.cast("int32")))


def base(people: Relation, combined: Relation) -> Relation:
    """Return people by atom, combination and cell, of those who are tabulated."""
    inside = people.filter(people.atom >= 0)
    keys = ["atom", "cell", *CODES]
    some = inside.group_by(keys).agg(people=inside.people.sum())
    return some.inner_join(combined, list(CODES)).select("atom", "combination", "cell", "people")


def _code(combined: Relation, place: int) -> Relation:
    """The number of a code of a combination, 0 if there is none."""
    packed = combined[CODES[place // 3]]
    return (packed >> (BITS * (place % 3))) & ((1 << BITS) - 1)


def members(engine: Engine, combined: Relation, specification: Specification, most: int) -> Relation:
    """Return the groups of each combination, each once: however many codes lead to a group, it counts once.

    Alone: groups that all codes share. In combination: groups that any code has. Ethnicity: those of QSPAN.
    """
    import ibis

    race, ethnicity = (engine.upload(table) for table in mapping(specification))
    each = [combined.select("combination", number=_code(combined, place)) for place in range(most)]
    codes = ibis.union(*each, distinct=True) if most > 1 else each[0]
    codes = codes.filter(codes.number > 0)
    many = codes.group_by("combination").agg(many=codes.count())
    found = codes.inner_join(race, "number").select("combination", "iteration", "alone")
    shared = found.filter(found.alone).group_by(["combination", "iteration"]).agg(sharing=lambda t: t.count())
    alone = shared.inner_join(many, "combination")
    alone = alone.filter(alone.sharing == alone.many).select("combination", "iteration")
    some = found.filter(~found.alone).select("combination", "iteration").distinct()
    origin = combined.select("combination", number=_code(combined, len(RACE_COLUMNS)))
    spanish = origin.inner_join(ethnicity, "number").select("combination", "iteration")
    return engine.keep(alone.union(some, distinct=False).union(spanish, distinct=False))


def mapping(specification: Specification) -> tuple[ArrowTable, ArrowTable]:
    """Return Arrow tables of what codes mean: (number, iteration, alone) for races, without alone else."""
    pa = arrow()
    index = {one.code: place for place, one in enumerate(specification.iterations) if one.level}
    number = {code: place for place, code in enumerate(specification.codes, 1)}
    rows = [
        (number[code], index[group], specification.iterations[index[group]].kind)
        for code, groups in specification.mapped.items()
        for group in groups
        if group in index
    ]

    def table(chosen: list[tuple[int, int, Kind]]) -> ArrowTable:
        return pa.table(
            {
                "number": pa.array([row[0] for row in chosen], pa.int64()),
                "iteration": pa.array([row[1] for row in chosen], pa.int32()),
                "alone": pa.array([row[2] == "alone" for row in chosen], pa.bool_()),
            }
        )

    race = [row for row in rows if row[2] != "ethnicity"]
    ethnicity = [row for row in rows if row[2] == "ethnicity"]
    return table(race), table(ethnicity).drop_columns(["alone"])


FEW = 1_000_000
"""Up to so many records are counted all at once."""


NOTE = "coded.json"
"""Says that all records are coded, and what from."""


@dataclass(frozen=True, slots=True)
class Resumable:
    """Where the coded records of a run stay if it is interrupted, and what they were made from."""

    folder: Path
    made_from: dict[str, object]

    @classmethod
    def beside(cls, out: Path, made_from: dict[str, object]) -> Resumable:
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
        try:
            self.complete = resumable is not None and self._found(resumable)
        except BaseException:
            self._open.close()
            raise
        """Whether all records are here already, from a run that was interrupted."""

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
        if json.loads((folder / NOTE).read_text(encoding="utf-8")) != made_from:
            os.close(self._lock)
            raise InputError(
                f"{folder} has the records of an interrupted run with other parameters, data or version; "
                "remove it to start again"
            )
        return True

    def write(self, records: Relation, progress: Callable[[float], None] | None = None) -> None:
        """Compute and store the records; this reads their file."""
        if self._reader is not self.engine:
            records = self.engine.upload(self._reader.fetch(summed(records)))
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

    def place(self, name: str, state: int | None = None) -> Path:
        """Return the folder of a table of one state, or a pattern for those of all states."""
        return self._folder / name / ("*" if state is None else f"part={state}")

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
        bad = rows.filter(rows.wrong > 0)
        return bool(self.engine.fetch(bad.agg(rows=bad.count())).column("rows").to_pylist()[0])

    def close(self, error: type[BaseException] | None = None) -> None:
        """Remove what was stored, unless an interrupted run (`error`) can be resumed from it."""
        interrupted = error is not None and not issubclass(error, Exception)
        if not (interrupted and self._resumable is not None and (self._folder / NOTE).exists()):
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        self._open.close()
