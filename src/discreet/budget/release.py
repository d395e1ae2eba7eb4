"""A release: what is published with which noise, on which paths a record is counted, what is claimed."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from discreet.budget.attributes import TOTAL, Attributes
from discreet.budget.claims import STATED, AnswerKind, Claim
from discreet.budget.joins import Join
from discreet.budget.level_names import find_level
from discreet.budget.levels import Level, Query, root_up
from discreet.budget.neighbours import RELATIONS, Neighbours, records_apart
from discreet.budget.scope import Scope
from discreet.budget.spine import Runs, Spine
from discreet.budget.toml import (
    FieldError,
    exact,
    hint,
    inside,
    line,
    located,
    no_repeats,
    one_of,
    parse_toml,
)
from discreet.budget.variables import BY, COUNT, RecordWeight, Variable
from discreet.calls import understandable
from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.memory import Forgetful, set_fields
from discreet.noise import Noise, grouped
from discreet.numbers import Exact, shown, whole

if TYPE_CHECKING:
    from discreet.records.input import TableInput

UNITS = ("person", "household", "housing unit", "establishment")
"""What one record may describe."""


_ALL_TABLES = (
    "Each table is accounted for as if one household took all that its limit allows from one cell and put as "
    "much into another, in all tables at once."
)


_CONSTANT = (
    "Replacing a record cannot change {queries}, since the level has one area; it is counted as if it could, "
    "as published accounts do (--one-area leaves it out)."
)


class Row(NamedTuple):
    """One line of the table of noise: `share` is of the level's rho; noise that is not Gaussian has no rho.

    The noise is a whole number of units; one unit is worth `step`.
    """

    level: str
    query: str
    event: Noise
    rho: Fraction | None
    share: Fraction | None
    step: Fraction = Fraction(1)

    @property
    def variance(self) -> Fraction | None:
        """The variance of Gaussian noise."""
        return self.event.stated_variance

    @property
    def scale(self) -> Fraction | None:
        """The scale of Laplace noise, and of other noise that has one."""
        return self.event.stated_scale

    def single(self) -> Noise:
        """Return the noise of one count alone, if it can be drawn; else raise an `InputError`."""
        try:
            return self.event.single()
        except InputError as error:
            text = f"{error} (query {shown(self.query)}, level {shown(self.level)})"
            raise InputError(text) from None


def _without_rho(level: Level) -> str:
    """The noise of a level that states no rho."""
    laws = [query.noise for query in level.queries if query.noise is not None]
    return f"{laws[0].FAMILY} noise" if laws else "Laplace noise"


def _weight(event: Noise) -> Fraction:
    """How much of a person a count tells, among counts of one law."""
    return event.times * event.sensitivity**2 / event.size**event.variance_power


def _shrunk(event: Noise, part: Fraction) -> Noise:
    """The noise with this part of its variance, a scale rounded up to six digits.

    >>> from discreet.noise import PowerNoise
    >>> print(_shrunk(PowerNoise("3/2", 5), Fraction(1, 2)))
    power noise of exponent 3/2, scale 176777/50000
    """
    if event.variance_power == 1:
        return event.resized(event.size * part)
    scale = event.size * root_up(part)
    unit = Fraction(10) ** (math.floor(math.log10(scale)) - 5)
    return event.resized(math.ceil(scale / unit) * unit)


def _lines(texts: Iterable[str], key: str) -> tuple[str, ...]:
    return tuple(line(text, name=f"item of {key}", field=(key, at)) for at, text in enumerate(texts))


@dataclass(frozen=True, kw_only=True, init=False)
class Release(Forgetful, Summarised):
    """What is released: levels of queries, and the paths on which one record is counted.

    `neighbours` is the relation the noise was calibrated for. `rho`, if stated, is the total, and the
    levels must add up to it. Without a spine there is one path, with the number 1. If `attributes` say what
    a record can be, every query is a product of them. With a `weight`, records count as their weights. `kind`
    says what an account of it is: "exact", an upper "bound", or a "model" that leaves part of the real
    release out; the last two need a `reason`. `input` says how the records are written; it is no part of what
    is released, so releases that differ in it are equal. With a `join`, every query is a table of it, over
    people and their households.

    >>> from discreet.budget import Query
    >>> state = Level(name="State", rho="1/2", queries=[Query(name="total", share=1)])
    >>> two = [Query(name="a", share="2/3"), Query(name="b", share="1/3")]
    >>> county = Level(name="County", rho="1/4", queries=two)
    >>> spine = Spine(may_merge_up=["County"])
    >>> small = Release(name="small", neighbours="bounded", rho="3/4", levels=[state, county], spine=spine)
    >>> small.paths, small.main, small.runs(2)
    ((1, 2), 1, (('State', 'County'),))
    >>> [[str(event.variance) for event in small.path_events(path)] for path in small.paths]
    [['2', '6', '12'], ['4/3']]
    """

    name: str
    title: str
    unit: str
    neighbours: Neighbours
    rho: Fraction | None
    levels: tuple[Level, ...]
    spine: Spine | None
    sources: tuple[str, ...]
    notes: tuple[str, ...]
    attributes: Attributes | None
    kind: AnswerKind
    reason: str
    weight: RecordWeight | None
    join: Join | None
    input: TableInput | None = field(compare=False)

    @understandable
    def __init__(
        self,
        *,
        name: str,
        title: str = "",
        unit: str = "person",
        neighbours: Neighbours,
        rho: Exact | None = None,
        levels: Iterable[Level],
        spine: Spine | None = None,
        sources: Iterable[str] = (),
        notes: Iterable[str] = (),
        attributes: Attributes | None = None,
        kind: str = AnswerKind.EXACT,
        reason: str = "",
        weight: RecordWeight | None = None,
        join: Join | None = None,
        input: TableInput | None = None,
    ) -> None:
        set_fields(
            self,
            name=line(name, name="name of the release", field=("name",)),
            title=line(title, name="title", field=("title",), empty=True),
            unit=one_of(unit, UNITS, name="unit", field=("unit",)),
            neighbours=one_of(neighbours, RELATIONS, name="neighbours", field=("neighbours",)),
            rho=None if rho is None else exact(rho, name="rho of the release", field=("rho",)),
            levels=tuple(level.weighted_by(weight) for level in levels),
            spine=spine,
            sources=_lines(sources, "sources"),
            notes=_lines(notes, "notes"),
            weight=weight,
            attributes=attributes,
            kind=AnswerKind(one_of(kind, [stated.value for stated in STATED], name="kind", field=("kind",))),
            reason=line(reason, name="reason", field=("reason",), empty=True),
            join=join,
            input=input,
        )
        if (self.kind is AnswerKind.EXACT) == bool(self.reason):
            given = "but no reason is given" if not self.reason else "and a reason is given"
            raise FieldError(
                f"kind of the release is {shown(self.kind.value)}, {given}; "
                'a reason is needed for "bound" and "model", and is not allowed otherwise',
                field=("reason",) if self.reason else ("kind",),
            )
        if not self.levels:
            text = f"release {shown(name)} has no levels; it must have at least one"
            raise FieldError(text, field=("levels",))
        names = [level.name for level in self.levels]
        no_repeats(names, name=f"release {shown(name)}", field=("levels",))
        self._check_budgets()
        self._check_variables()
        self._check_join()
        if attributes is not None:
            plain = COUNT.weighted_by(weight)
            known = {plain.name: plain} | {variable.name: variable for variable in self.variables.values()}
            set_fields(self, attributes=attributes.with_variables(known.values()))
        for index, level in enumerate(self.levels if attributes is not None else ()):
            for query in level.queries:  # every query is a product of the attributes
                with inside("levels", index, "queries", query.name):
                    self._check_name(query)
        with inside("spine"):
            self._check_paths()
        if input is not None:
            with inside("input"):
                if self.attributes is not None:
                    input.check(self.attributes)
                if join is not None:
                    input.check_join(join)

    @cached_property
    def _runs(self) -> dict[int, Runs]:
        names = [level.name for level in self.levels]
        return self.spine.resolve(names) if self.spine else {1: tuple((name,) for name in names)}

    @cached_property
    def _rows(self) -> dict[tuple[str, ...], tuple[Row, ...]]:
        """The noise of each run: most of them belong to many paths."""
        return {}

    @cached_property
    def _events(self) -> dict[int, tuple[Noise, ...]]:
        return {}

    def _check_budgets(self) -> None:
        for index, level in enumerate(self.levels):
            spent = level.spent(self.neighbours)
            if level.rho is not None and (level.lacks_rho or level.rho != spent):
                what = f"queries that add up to {spent}"
                if level.lacks_rho:
                    what = f"{_without_rho(level)}, which states no rho"
                raise FieldError(
                    f"rho of level {shown(level.name)} is {level.rho}, but it has {what}; both must agree",
                    field=("levels", index, "rho"),
                )
        if self.rho is None:
            return
        for level in self.levels:
            if level.lacks_rho:
                raise FieldError(
                    f"rho of the release is {self.rho}, but level {shown(level.name)} has "
                    f"{_without_rho(level)}, which states no rho; leave the total out",
                    field=("rho",),
                )
        total = sum((level.spent(self.neighbours) for level in self.levels), Fraction(0))
        if total != self.rho:
            raise FieldError(
                f"rho of the release is {shown(self.rho)}, but its levels add up to {shown(total)}; "
                "both must agree",
                field=("rho",),
            )

    @property
    def variables(self) -> dict[str, Variable]:
        """What each query adds up, by the query's name."""
        return {query.name: query.variable for level in self.levels for query in level.queries}

    def _check_variables(self) -> None:
        """What is added up under one name, or of one column, is one thing in the whole release."""
        known: dict[str, Variable] = {}
        units = {} if self.weight is None else {self.weight.column: self.weight.unit}
        for index, level in enumerate(self.levels):
            for query in level.queries:
                variable, column = query.variable, query.variable.column
                keys = [query.name] if self.attributes is None else [query.name, f"{variable.name}{BY}"]
                if any(known.setdefault(key, variable) != variable for key in keys):
                    raise FieldError(
                        f"query {shown(query.name)} adds up {shown(variable.name or 'records')} with another "
                        "bound, unit or weight than a query before; a release has one of each",
                        field=("levels", index, "queries", query.name),
                    )
                if column is not None and units.setdefault(column, variable.unit) != variable.unit:
                    raise FieldError(
                        f"query {shown(query.name)} rounds {shown(column)} to units of {variable.unit}, and "
                        f"{units[column]} elsewhere; a column has one unit",
                        field=("levels", index, "queries", query.name),
                    )

    def _check_join(self) -> None:
        """Over a join, queries are its tables, and one unit changes them as much as its limits allow."""
        if self.join is None:
            return
        if self.attributes is not None or self.weight is not None:
            what = "attributes" if self.attributes is not None else "weight"
            raise FieldError(
                f"a release over people and households has no {what} of its own; [people.attributes] and "
                "[households.attributes] say what they are",
                field=(what,),
            )
        self.join.check_unit(self.unit)
        tables = dict(self.join.tables)
        for index, level in enumerate(self.levels):
            for query in level.queries:
                with inside("levels", index, "queries", query.name):
                    if query.name not in tables:
                        raise FieldError(
                            f"query {shown(query.name)} is not one of the [tables]{hint(query.name, tables)}"
                        )
                    if query.noise is not None and not query.noise.is_proved_over_joins:
                        raise FieldError(
                            f"noise of query {shown(query.name)} is {query.noise}; over a join of people and "
                            "households the worst case is proved for discrete Gaussian, discrete Laplace and "
                            "power noise"
                        )
                    bound = tables[query.name].bound
                    if query.sensitivity % bound or query.variable != COUNT or query.groups != 1:
                        raise FieldError(
                            f"query {shown(query.name)} has sensitivity {query.sensitivity}, but one "
                            f"{self.unit} adds up to {bound} to a cell of its table, and is counted there "
                            "alone; leave sensitivity, groups and sums out"
                        )

    def _check_name(self, query: Query) -> None:
        """A query must be a product of the attributes, and be called after what it adds up."""
        assert self.attributes is not None
        named, stated = self.attributes.variable_of(query.name), query.variable
        if named != stated:
            name = stated.name
            what = f"adds up {shown(name)}" if name else "counts records"
            due = f'"{name}", or "{name}{BY}..."' if name else "by the attributes that split it"
            raise FieldError(f"query {shown(query.name)} {what}, so it must be called {due}")
        self.attributes.tabulation(query.name)

    def _check_paths(self) -> None:
        paths = self._runs.items()  # a spine that does not fit the levels is refused here
        others = {level.name: level for level in self.levels if level.lacks_rho}
        for path, runs in paths if others else ():
            for run in runs:
                if len(run) > 1 and not others.keys().isdisjoint(run) and self._law_of(run) is None:
                    level = others[next(name for name in run if name in others)]
                    key = ("paths", str(path)) if self.spine and self.spine.paths else ("may_merge_up",)
                    raise FieldError(
                        f"path {path} merges level {shown(level.name)}, which has {_without_rho(level)}; "
                        "only levels whose noise is of one law can be merged, and no tables",
                        field=key,
                    )

    def _law_of(self, run: tuple[str, ...]) -> tuple[object, ...] | None:
        """The one law, but for its size, of all noise of a run; None if there are several, or a table."""
        laws = {
            event.resized(1).for_one().key if event.has_size else None
            for name in run
            for event in self.level(name).events(self.neighbours)
        }
        return laws.pop() if len(laws) == 1 else None

    @property
    def claim(self) -> Claim:
        """What an account of all paths claims, and why it is not exact.

        >>> from discreet.budget import load
        >>> load("sdhc-2020").claim.kind.label
        'at most'
        """
        return self.claim_under(self.neighbours)

    def claim_under(self, neighbours: Neighbours, one_area: Collection[str] = ()) -> Claim:
        """Return what an account under a relation claims, without the totals of levels with one area.

        >>> from discreet.budget import Query
        >>> nation = Level(name="Nation", areas=1, queries=[Query(name="total", variance=1)])
        >>> one = Release(name="one", neighbours="bounded", levels=[nation])
        >>> [one.claim_under(relation).kind.label for relation in RELATIONS]
        ['at most', 'exact']
        >>> one.claim_under("bounded", ["Nation"]).scope.left_out
        ('query total of Nation, which has one area: replacing a record does not change it',)
        """
        claim = Claim(self.scope, self.kind, (self.reason,) if self.reason else ())
        if self.join is not None and self.kind is AnswerKind.EXACT and not self.join.is_one_table:
            claim = Claim(self.scope, AnswerKind.BOUND, (_ALL_TABLES,))
        left_out = self.constants(neighbours, one_area)
        known = self.constants(neighbours, [level.name for level in self.levels if level.areas == 1])
        counted = [f"query {query} of {level}" for level, query in known if (level, query) not in left_out]
        if counted:
            claim = claim.weakened(AnswerKind.BOUND, _CONSTANT.format(queries=", ".join(counted)))
        names = (
            f"query {query} of {level}, which has one area: replacing a record does not change it"
            for level, query in left_out
        )
        return replace(claim, scope=claim.scope.without(*names))

    def constants(self, neighbours: Neighbours, one_area: Collection[str]) -> tuple[tuple[str, str], ...]:
        """Return level and query of each total that no neighbour can change, in levels with one area.

        A total counts every record once: where records are replaced, and there is one area, it stays.

        >>> from discreet.budget import load
        >>> [load("pl94-2020-persons").constants(relation, ["State"]) for relation in RELATIONS]
        [(('State', 'total'),), ()]
        """
        one_of(neighbours, RELATIONS, name="neighbours", field=("neighbours",))
        chosen = {self.level(name).name for name in one_area}
        if neighbours != "bounded" or self.join is not None:
            return ()
        return tuple(
            (level.name, query.name)
            for level in self.levels
            if level.name in chosen
            for query in level.queries
            if self._counts_all(query)
        )

    def _counts_all(self, query: Query) -> bool:
        """Whether a query is one cell that counts every record once."""
        if query.sensitivity != 1 or query.groups != 1 or query.variable.is_sum or query.variable.column:
            return False
        return query.name in (TOTAL, query.variable.name)

    @property
    def scope(self) -> Scope:
        """What a number of this release is true of, if all of it is looked at.

        >>> from discreet.budget import load
        >>> load("dhc-2020").scope.of
        ('dhc-2020-persons',)
        """
        return Scope.whole(self.name, unit=self.unit, neighbours=self.neighbours)

    @property
    def paths(self) -> tuple[int, ...]:
        """The numbers of the paths, as the release numbers them."""
        return tuple(self._runs)

    @property
    def main(self) -> int:
        """The path on which no level is merged; if there is none, the one that merges the fewest."""
        return max(self._runs, key=lambda number: (len(self._runs[number]), -number))

    def runs(self, path: int) -> Runs:
        """Return the runs of merged levels of a path, from the top down."""
        if path not in self._runs:
            many = len(self.paths)
            span = ", ".join(map(str, self.paths)) if many < 9 else f"{many} of them, up to {max(self.paths)}"
            raise InputError(f"release {shown(self.name)} has no path {shown(path)}; it has {span}")
        return self._runs[path]

    def path_events(self, path: int, without: Collection[tuple[str, str]] = ()) -> tuple[Noise, ...]:
        """Return the grouped events of one record whose geography follows this path.

        A merged run is held by its top level, which spends the run's whole budget in its own proportions.
        Queries that are named `without`, by level and name, are left out: the noise of the others stays.
        """
        runs = self.runs(path)
        if without:
            kept = [(run[0], row) for run in runs for row in self.run_table(run)]
            return grouped(row.event for top, row in kept if (top, row.query) not in without)
        if path not in self._events:
            self._events[path] = grouped(row.event for run in runs for row in self.run_table(run))
        return self._events[path]

    def variance_table(self, path: int | None = None) -> tuple[Row, ...]:
        """Return the noise of each query by level, on the main path if none is named.

        >>> from discreet.budget import Query
        >>> state = Level(name="State", rho="1/2", queries=[Query(name="total", share=1)])
        >>> row, = Release(name="small", neighbours="unbounded", levels=[state]).variance_table()
        >>> row.level, row.query, row.variance, row.rho, row.share
        ('State', 'total', Fraction(1, 1), Fraction(1, 2), Fraction(1, 1))
        """
        runs = self.runs(self.main if path is None else path)
        return tuple(row for run in runs for row in self.run_table(run))

    def run_table(self, run: tuple[str, ...]) -> tuple[Row, ...]:
        """Return the noise of each query of a run: its top level spends the budget of the whole run.

        With one precision for the level's own queries and one for the run, each variance shrinks by their
        ratio. Noise that has a scale, all of one law, shrinks alike: its precision is that of the squared
        scale, and the new scale is rounded up to six digits.

        >>> from discreet.budget import load
        >>> [str(load("dhc-2020").run_table(run)[0].variance) for run in (("US",), ("US", "State"))]
        ['10000/73', '625/67']
        """
        if run not in self._rows:
            self._rows[run] = tuple(self._run_rows(run))
        return self._rows[run]

    def _run_rows(self, run: tuple[str, ...]) -> Iterator[Row]:
        levels = {level.name: level for level in self.levels}
        top = levels[run[0]]
        own = top.precision(self.neighbours)
        whole_run = sum((levels[name].precision(self.neighbours) for name in run), Fraction(0))
        for query, event in zip(top.queries, top.events(self.neighbours), strict=True):
            if not event.precision:
                if len(run) > 1:
                    parts = [sum(map(_weight, levels[name].events(self.neighbours))) for name in run]
                    event = _shrunk(event, Fraction(parts[0] / sum(parts)))
                yield Row("+".join(run), query.name, event, None, None, query.variable.step)
                continue
            if len(run) > 1:
                event = event.resized(event.size * own / whole_run)
            share = None if top.lacks_rho else event.precision / whole_run
            rho = event.precision * records_apart(self.neighbours) / 2
            yield Row("+".join(run), query.name, event, rho, share, query.variable.step)

    def scaled(self, factor: Exact, *, level: str | None = None) -> Release:
        """Return the release with all variances, or those of one level, multiplied by an exact factor.

        A Laplace scale is multiplied by the root of the factor, rounded up by less than 2^-64 if irrational.

        >>> from discreet.budget import Query
        >>> state = Level(name="State", rho="1/2", queries=[Query(name="total", share=1)])
        >>> wide = Release(name="small", neighbours="bounded", rho="1/2", levels=[state]).scaled("3/2")
        >>> wide.rho, wide.variance_table()[0].variance
        (Fraction(1, 3), Fraction(3, 1))
        """
        times = exact(factor, name="factor", field=())
        chosen = None if level is None else self.level(level).name
        return self._with_levels(
            [each.scaled(times) if chosen in (None, each.name) else each for each in self.levels]
        )

    def with_variances(self, changes: Mapping[str | tuple[str, str], Exact]) -> Release:
        """Return the release with new variances for whole levels, or for single queries by (level, query).

        What a changed level stated as rho is from then on stated as variances.

        >>> from discreet.budget import Query
        >>> queries = [Query(name="a", share="1/2"), Query(name="b", share="1/2")]
        >>> state = Level(name="State", rho=1, queries=queries)
        >>> small = Release(name="small", neighbours="bounded", levels=[state])
        >>> [row.variance for row in small.with_variances({("State", "a"): "5"}).variance_table()]
        [Fraction(5, 1), Fraction(2, 1)]
        """
        wanted: dict[str, dict[str, Exact]] = {}
        for key, variance in sorted(changes.items(), key=lambda item: isinstance(item[0], tuple)):
            name, query = key if isinstance(key, tuple) else (key, None)
            names = [known.name for known in self.level(name).queries]
            if query is not None and query not in names:
                raise InputError(f"level {shown(name)} has no query {shown(query)}{hint(query, names)}")
            for changed in names if query is None else [query]:
                wanted.setdefault(self.level(name).name, {})[changed] = variance
        levels = list(self.levels)
        for index, level in enumerate(levels):
            if level.name in wanted:
                queries = []
                for old, event in zip(level.queries, level.events(self.neighbours), strict=True):
                    size = wanted[level.name].get(old.name)
                    queries.append(old.without_rho(event) if size is None else old.with_variance(size))
                levels[index] = replace(level, rho=None, queries=tuple(queries))
        return self._with_levels(levels)

    def for_people(self, people: int) -> Release:
        """Return the release as it protects a group of `people`, or a person with that many records.

        The noise stays; every sensitivity is that many times larger. What was stated as rho is stated as
        variances.

        >>> from discreet.budget import Query
        >>> state = Level(name="State", rho="1/2", queries=[Query(name="total", share=1)])
        >>> two = Release(name="small", neighbours="bounded", rho="1/2", levels=[state]).for_people(2)
        >>> two.rho, two.levels[0].queries[0].variance, two.levels[0].queries[0].sensitivity
        (Fraction(2, 1), Fraction(2, 1), 2)
        """
        if whole(people, name="people") == 1:
            return self
        levels = []
        for level in self.levels:
            queries = []
            for query, event in zip(level.queries, level.events(self.neighbours), strict=True):
                stated = query.without_rho(event)
                queries.append(replace(stated, sensitivity=people * event.sensitivity))
            levels.append(replace(level, rho=None, queries=tuple(queries)))
        return self._with_levels(levels)

    def level(self, name: str) -> Level:
        """Return a level by its name, as a code or as people write it.

        >>> from discreet.budget import load
        >>> load("dhc-2020").level("block group").name
        'Block_Group'
        """
        names = [level.name for level in self.levels]
        known = find_level(name, names)
        if known is None:
            raise InputError(
                f"release {shown(self.name)} has no level {shown(name)}; "
                f"it has {', '.join(names)}{hint(name, names)}"
            )
        return self.levels[names.index(known)]

    def _with_levels(self, levels: list[Level]) -> Release:
        rho = None
        if self.rho is not None and not any(level.lacks_rho for level in levels):
            rho = sum((level.spent(self.neighbours) for level in levels), Fraction(0))
        return replace(self, rho=rho, levels=tuple(levels))

    @classmethod
    def from_toml(
        cls, text: str, where: str = "the TOML text", *, folder: str | os.PathLike[str] = ""
    ) -> Release:
        """Read a release from TOML; an error names the line, and `where` if given.

        Tables of noise that it names by their files are read from `folder`.

        >>> Release.from_toml('name = "small"\\nneighbours = "bonded"\\nlevels = []', where="small.toml")
        Traceback (most recent call last):
        discreet.errors.InputError: neighbours is 'bonded'; it must be "bounded" or "unbounded"; \
did you mean "bounded"? (line 2 of small.toml)
        """
        from discreet.budget.release_toml import release_from_tables

        text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        data = parse_toml(text, where)
        try:
            return release_from_tables(data, folder)
        except FieldError as error:
            raise located(error, text, data, where) from None

    def to_toml(self, *, input: bool = True) -> str:
        """Write the release as TOML, from which `from_toml` makes an equal one, with its `input` or without.

        >>> from discreet.budget import Query
        >>> state = Level(name="State", queries=[Query(name="total", variance="5/2")])
        >>> print(Release(name="small", neighbours="bounded", levels=[state]).to_toml(), end="")
        name = "small"
        unit = "person"
        neighbours = "bounded"
        <BLANKLINE>
        [[levels]]
        name = "State"
        [levels.queries]
        "total" = { variance = "5/2" }
        """
        from discreet.budget.release_toml import release_lines

        return "\n".join(release_lines(self if input else replace(self, input=None))) + "\n"
