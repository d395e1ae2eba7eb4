"""Person records as Ibis expressions: encoded, grouped by atom, and told which groups they belong to.

The expressions run on any engine. They avoid what engines do differently: texts are split at a comma (a
pipe would be a regular expression to Spark), nothing is cast that may fail, and sums are narrowed by the
engine (DuckDB makes them 128 bits wide).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from discreet.release.engine import Engine, Relation
from discreet.release.hierarchy.arrow import arrow, strings
from discreet.release.safetab.ages import RANGES, TOP_AGE
from discreet.release.safetab.geography import Geography
from discreet.release.safetab.sources import AREA_COLUMNS, RACE_COLUMNS
from discreet.release.safetab.specification import NULL, Specification

AGES = len(RANGES[-1])
"""The finest age ranges; a cell is (sex - 1) * AGES + age range."""

SEPARATOR = ","
"""Between the codes of a combination; no code has it, and a field with one shows in the number of codes."""

GAP = -1
"""Stands for the number of race codes if one follows an empty field."""


def blocks(engine: Engine, areas: Relation, geography: Geography) -> Relation:
    """Return `tract` (eleven digits), `block` and `atom` of every block."""
    keys = engine.upload(geography.keys)
    names = dict(zip(AREA_COLUMNS, ("state", "county", "tract", "block", "place", "area"), strict=True))
    named = areas.select(**{short: areas[column] for column, short in names.items()})
    joined = named.inner_join(keys, ["state", "county", "tract", "place", "area"])
    atoms = joined.select(
        tract=joined.state + joined.county + joined.tract, block=joined.block, atom=joined.atom
    )
    # a block that comes twice is reported, but must not make people count twice while other checks go on
    return engine.keep(atoms.group_by(["tract", "block"]).agg(atom=atoms.atom.min()))


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


def coded(people: Relation) -> Relation:
    """Return the keys of each person: tract, block, age, sex, and the codes as one text."""
    import ibis  # type: ignore[import-untyped]

    races = [people[name].nullif(NULL) for name in RACE_COLUMNS]
    count = races[0].notnull().cast("int8")
    gap = ibis.literal(False)
    for before, after in pairwise(races):
        count = count + after.notnull().cast("int8")
        gap = gap | (before.isnull() & after.notnull())
    return people.select(
        tract=tract(people),
        block=people.TABBLK,
        age=people.QAGE,
        sex=people.QSEX,
        races=_join(SEPARATOR, races),
        codes=ibis.ifelse(gap, ibis.literal(GAP, "int8"), count.cast("int8")),
        span=people.QSPAN.nullif(NULL),
    )


def tract(people: Relation) -> Any:
    """Return state, county and tract as one text, or null if the widths of the parts are wrong.

    Without the widths, shifted digits could make another tract's name.
    """
    import ibis

    right = (people.TABBLKST.length() == 2) & (people.TABBLKCOU.length() == 3)
    return ibis.ifelse(right, people.TABBLKST + people.TABBLKCOU + people.TABTRACTCE, ibis.null("string"))


def _join(separator: str, texts: list[Any]) -> Any:
    """Join texts, leaving out nulls; engines have it by one name, Ibis only by another way that is slow."""
    import ibis

    @ibis.udf.scalar.builtin(name="concat_ws")  # type: ignore[untyped-decorator]
    def joined(separator: str, a: str, b: str, c: str, d: str, e: str, f: str, g: str, h: str) -> str:  # type: ignore[empty-body]
        """Stand for the engine's own function."""

    return joined(separator, *texts)


def grouped(engine: Engine, people: Relation, block_table: Relation) -> Relation:
    """Return how many people have the same atom, cell and codes; null where a file says what cannot be.

    This reads the file, once.
    """
    keys = coded(people)
    known = engine.upload(cells())
    found = keys.left_join(block_table, ["tract", "block"])
    found = found.select("atom", "age", "sex", "races", "codes", "span")
    found = found.left_join(known, ["age", "sex"]).select("atom", "cell", "races", "codes", "span")
    return engine.keep(found.group_by(["atom", "cell", "races", "codes", "span"]).agg(people=found.count()))


def combinations(engine: Engine, groups: Relation) -> Relation:
    """Number the distinct combinations of codes."""
    import ibis

    distinct = groups.select("races", "codes", "span").distinct()
    # ordered, for an engine that computes it twice must find the same numbers
    number = ibis.row_number().over(order_by=[distinct.races, distinct.codes, distinct.span])
    return engine.keep(distinct.mutate(combination=number.cast("int32")))


def base(engine: Engine, groups: Relation, combined: Relation) -> Relation:
    """Return people by atom, combination and cell."""
    joined = groups.inner_join(
        combined,
        [
            groups.races == combined.races,
            groups.codes == combined.codes,
            groups.span == combined.span,
        ],
    )
    inside = joined.filter(joined.atom >= 0)
    return engine.keep(inside.select("atom", "combination", "cell", "people"))


def race_codes(combined: Relation, most: int) -> Relation:
    """Return `combination` and `code`, each pair once, for the first `most` codes."""
    parts = combined.races.split(SEPARATOR)[:most]
    return combined.select(combination=combined.combination, code=parts.unnest()).distinct()


def members(engine: Engine, combined: Relation, specification: Specification, most: int) -> Relation:
    """Return the groups of each combination, each once: however many codes lead to a group, it counts once.

    Alone: groups that all codes share. In combination: groups that any code has. Ethnicity: those of QSPAN.
    """
    race, ethnicity = (engine.upload(table) for table in mapping(specification))
    codes = race_codes(combined, most)
    number = codes.group_by("combination").agg(number=codes.count())
    found = codes.inner_join(race, "code").select("combination", "iteration", "alone")
    shared = found.filter(found.alone).group_by(["combination", "iteration"]).agg(sharing=lambda t: t.count())
    alone = shared.inner_join(number, "combination")
    alone = alone.filter(alone.sharing == alone.number).select("combination", "iteration")
    some = found.filter(~found.alone).select("combination", "iteration").distinct()
    spanish = combined.inner_join(ethnicity, [combined.span == ethnicity.code]).select(
        "combination", "iteration"
    )
    return engine.keep(alone.union(some, distinct=False).union(spanish, distinct=False))


def mapping(specification: Specification) -> tuple[Any, Any]:
    """Return Arrow tables of what codes mean: (code, iteration, alone) for races, (code, iteration) else."""
    pa = arrow()
    index = {one.code: place for place, one in enumerate(specification.iterations) if one.level}
    rows = [
        (code, index[group], specification.iterations[index[group]].kind)
        for code, groups in specification.mapped.items()
        for group in groups
        if group in index
    ]
    race = [row for row in rows if row[2] != "ethnicity"]
    ethnicity = [row for row in rows if row[2] == "ethnicity"]

    def table(chosen: list[tuple[str, int, Any]]) -> Any:
        return pa.table(
            {
                "code": strings([row[0] for row in chosen]),
                "iteration": pa.array([row[1] for row in chosen], pa.int32()),
                "alone": pa.array([row[2] == "alone" for row in chosen], pa.bool_()),
            }
        )

    return table(race), table(ethnicity).drop_columns(["alone"])
