"""Person records as Ibis expressions: coded as small integers, and told which groups they belong to.

A record becomes its atom, its cell of sex and age, and its codes as three integers of three codes each. The
expressions run on any engine. They avoid what engines do differently: nothing is cast that may fail, codes
are taken apart by shifting bits (a quotient may be a float), and sums are narrowed by the engine (DuckDB
makes them 128 bits wide).
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from operator import add, or_
from typing import Any

from discreet.release.engine import Engine, Relation
from discreet.release.hierarchy.arrow import arrow, strings
from discreet.release.safetab.ages import RANGES, TOP_AGE
from discreet.release.safetab.geography import Geography
from discreet.release.safetab.sources import AREA_COLUMNS, RACE_COLUMNS
from discreet.release.safetab.specification import NULL, Specification

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


def cells() -> Any:
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


def numbers(specification: Specification) -> Any:
    """Return an Arrow table of the codes and their numbers, from 1."""
    pa, codes = arrow(), list(specification.codes)
    return pa.table({"code": strings(codes), "number": pa.array(range(1, len(codes) + 1), pa.int64())})


def tract(people: Relation) -> Any:
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


def _code(combined: Relation, place: int) -> Any:
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


def mapping(specification: Specification) -> tuple[Any, Any]:
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

    def table(chosen: list[tuple[int, int, Any]]) -> Any:
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
