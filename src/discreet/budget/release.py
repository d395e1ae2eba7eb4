"""A release: what is published with which noise, on which paths one record is counted, and what is claimed.

A number without its kind misleads: "10.94" may be the loss itself, or only a bound of it. A release says
which (`kind` and `reason` in its TOML), an account passes it on, and every surface writes it beside the
number.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from discreet.budget.attributes import Attributes, attribute_lines, read_attributes
from discreet.budget.levels import (
    RELATIONS,
    WAYS,
    Level,
    Neighbours,
    Query,
    Runs,
    Spine,
    find_level,
    runs_text,
)
from discreet.budget.toml import (
    FieldError,
    a_list,
    a_table,
    exact,
    hint,
    inside,
    line,
    located,
    no_repeats,
    one_of,
    parse_toml,
    quoted,
)
from discreet.errors import InputError
from discreet.faces import Displayed
from discreet.memory import Forgetful
from discreet.noise import Noise, grouped
from discreet.numbers import Exact, brief, shown, whole

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


class AnswerKind(StrEnum):
    """What a number claims, from the strongest claim to the weakest."""

    EXACT = "exact"
    """The value itself: no smaller one is true of the release."""
    BOUND = "bound"
    """No more than this; the true value may be smaller."""
    MODEL = "model"
    """Exact for what is modelled; part of what was released is not, so this bounds nothing."""
    MAIN = "main path"
    """About the main path alone; others may cost more, so this bounds nothing."""

    @property
    def label(self) -> str:
        """The word that stands beside a number, or above a column of them.

        >>> [kind.label for kind in AnswerKind]
        ['exact', 'at most', 'as modelled', 'main path only']
        """
        return _LABELS[self]


_LABELS = {
    AnswerKind.EXACT: "exact",
    AnswerKind.BOUND: "at most",
    AnswerKind.MODEL: "as modelled",
    AnswerKind.MAIN: "main path only",
}

STATED = (AnswerKind.EXACT, AnswerKind.BOUND, AnswerKind.MODEL)
"""The kinds that a release may state; that only the main path was accounted for, the account says."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The kind of an answer, and why it is not exact.

    >>> joint = Claim.of_all([Claim(), Claim(AnswerKind.BOUND, ("Sensitivities are upper bounds.",))])
    >>> joint.kind.label, joint.reasons
    ('at most', ('Sensitivities are upper bounds.',))
    """

    kind: AnswerKind = AnswerKind.EXACT
    reasons: tuple[str, ...] = ()

    @classmethod
    def of_all(cls, claims: Iterable[Claim]) -> Claim:
        """Return what can be claimed of several answers taken together: the weakest of their claims.

        >>> Claim.of_all([Claim(AnswerKind.BOUND), Claim(AnswerKind.MAIN)]).kind.value
        'main path'
        """
        joint = list(claims)
        order = list(AnswerKind)
        weakest = max((claim.kind for claim in joint), key=order.index, default=AnswerKind.EXACT)
        if weakest is AnswerKind.MAIN:
            joint = [claim.of_one_path() for claim in joint]
        return cls(weakest, tuple(dict.fromkeys(reason for claim in joint for reason in claim.reasons)))

    def of_one_path(self) -> Claim:
        """Return the claim of an account of one path: its reasons are those of an account of all paths.

        >>> print(*Claim(AnswerKind.BOUND, ("All paths are compared.",)).of_one_path().reasons)
        An account of all paths would be an upper bound: All paths are compared.
        """
        leads = {
            AnswerKind.BOUND: "An account of all paths would be an upper bound: ",
            AnswerKind.MODEL: "An account of all paths would be exact for what is modelled only: ",
        }
        return replace(self, reasons=tuple(leads.get(self.kind, "") + reason for reason in self.reasons))

    def document(self) -> dict[str, object]:
        """Return what a certificate, a manifest or JSON states of it.

        >>> Claim().document()
        {'kind': 'exact', 'says': 'exact', 'reasons': []}
        """
        return {"kind": self.kind.value, "says": self.kind.label, "reasons": list(self.reasons)}


EXACTLY = Claim()
"""The claim of most accounts."""


UNITS = ("person", "household", "housing unit", "establishment")
"""What one record may describe."""


class Row(NamedTuple):
    """One line of the table of noise: `share` is of the level's rho; Laplace noise has a scale and no rho."""

    level: str
    query: str
    event: Noise
    rho: Fraction | None
    share: Fraction | None

    @property
    def variance(self) -> Fraction | None:
        """The variance of Gaussian noise."""
        return self.event.size if self.event.is_gaussian else None

    @property
    def scale(self) -> Fraction | None:
        """The scale of Laplace noise."""
        return None if self.event.is_gaussian else self.event.size

    def single(self) -> Noise:
        """Return the noise of one count alone, if it can be drawn; else raise an `InputError`."""
        try:
            return self.event.single()
        except InputError as error:
            text = f"{error} (query {shown(self.query)}, level {shown(self.level)})"
            raise InputError(text) from None


@dataclass(frozen=True, kw_only=True, init=False)
class Release(Forgetful, Displayed):
    """What is released: levels of queries, and the paths on which one record is counted.

    `neighbours` is the relation the noise was calibrated for. `rho`, if stated, is the total, and the
    levels must add up to it. Without a spine there is one path, with the number 1. If `attributes` say what
    a record can be, every query is a product of them. `kind` says what an account of it is: "exact", an upper
    "bound", or a "model" that leaves part of the real release out; the last two need a `reason`.

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
    ) -> None:
        put = object.__setattr__
        put(self, "name", line(name, name="name of the release", field=("name",)))
        put(self, "title", line(title, name="title", field=("title",), empty=True))
        put(self, "unit", one_of(unit, UNITS, name="unit", field=("unit",)))
        put(self, "neighbours", one_of(neighbours, RELATIONS, name="neighbours", field=("neighbours",)))
        put(self, "rho", None if rho is None else exact(rho, name="rho of the release", field=("rho",)))
        put(self, "levels", tuple(levels))
        put(self, "spine", spine)
        for key, texts in (("sources", sources), ("notes", notes)):
            lines = (line(text, name=f"item of {key}", field=(key, i)) for i, text in enumerate(texts))
            put(self, key, tuple(lines))
        stated = one_of(kind, [each.value for each in STATED], name="kind", field=("kind",))
        put(self, "kind", AnswerKind(stated))
        put(self, "reason", line(reason, name="reason", field=("reason",), empty=True))
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
        put(self, "attributes", attributes)
        self._check_budgets()
        for index, level in enumerate(self.levels if attributes is not None else ()):
            for query in level.queries:  # every query is a product of the attributes
                with inside("levels", index, "queries", query.name):
                    assert attributes is not None
                    attributes.tabulation(query.name)
        with inside("spine"):
            self._check_paths()

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
            if level.rho is not None and (level.has_laplace or level.rho != spent):
                what = f"queries that add up to {spent}"
                if level.has_laplace:
                    what = "Laplace noise, which has no rho"
                raise FieldError(
                    f"rho of level {shown(level.name)} is {level.rho}, but it has {what}; both must agree",
                    field=("levels", index, "rho"),
                )
        if self.rho is None:
            return
        for level in self.levels:
            if level.has_laplace:
                raise FieldError(
                    f"rho of the release is {self.rho}, but level {shown(level.name)} has Laplace noise, "
                    "which has no rho; leave the total out",
                    field=("rho",),
                )
        total = sum((level.spent(self.neighbours) for level in self.levels), Fraction(0))
        if total != self.rho:
            raise FieldError(
                f"rho of the release is {shown(self.rho)}, but its levels add up to {shown(total)}; "
                "both must agree",
                field=("rho",),
            )

    def _check_paths(self) -> None:
        paths = self._runs.items()  # a spine that does not fit the levels is refused here
        laplace = {level.name for level in self.levels if level.has_laplace}
        for path, runs in paths if laplace else ():
            for run in runs:
                if len(run) > 1 and laplace.intersection(run):
                    name = next(level for level in run if level in laplace)
                    key = ("paths", str(path)) if self.spine and self.spine.paths else ("may_merge_up",)
                    raise FieldError(
                        f"path {path} merges level {shown(name)}, which has Laplace noise; "
                        "only levels of Gaussian noise can be merged",
                        field=key,
                    )

    @property
    def claim(self) -> Claim:
        """What an account of all paths claims, and why it is not exact.

        >>> from discreet.budget import load
        >>> load("sdhc-2020").claim.kind.label
        'at most'
        """
        return Claim(self.kind, (self.reason,) if self.reason else ())

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

    def path_events(self, path: int) -> tuple[Noise, ...]:
        """Return the grouped events of one record whose geography follows this path.

        A merged run is held by its top level, which spends the run's whole budget in its own proportions.
        """
        runs = self.runs(path)
        if path not in self._events:
            self._events[path] = grouped(row.event for run in runs for row in self.run_table(run))
        return self._events[path]

    def variance_table(self, path: int | None = None) -> tuple[Row, ...]:
        """Return the noise of each query by level, on the main path if none is named.

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
        ratio.

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
            if not event.is_gaussian:
                yield Row("+".join(run), query.name, event, None, None)
                continue
            if len(run) > 1:
                event = event.resized(event.size * own / whole_run)
            share = None if top.has_laplace else event.precision / whole_run
            rho = event.precision / (1 if self.neighbours == "bounded" else 2)
            yield Row("+".join(run), query.name, event, rho, share)

    def scaled(self, factor: Exact, *, level: str | None = None) -> Release:
        """Return the release with all variances, or those of one level, multiplied by an exact factor.

        A Laplace scale is multiplied by the root of the factor, rounded up by less than 2^-64 if irrational.

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
                    size = wanted[level.name].get(old.name, event.size if event.is_gaussian else None)
                    queries.append(old if size is None else old.with_variance(size))
                levels[index] = Level(name=level.name, queries=queries)
        return self._with_levels(levels)

    def for_people(self, people: int) -> Release:
        """Return the release as it protects a group of `people`, or a person with that many records.

        The noise stays; every sensitivity is that many times larger. What was stated as rho is stated as
        variances.

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
                stated = query.with_variance(event.size) if event.is_gaussian else query
                queries.append(replace(stated, sensitivity=people * event.sensitivity))
            levels.append(Level(name=level.name, queries=queries))
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
        if self.rho is not None and not any(level.has_laplace for level in levels):
            rho = sum((level.spent(self.neighbours) for level in levels), Fraction(0))
        return replace(self, rho=rho, levels=tuple(levels))

    @classmethod
    def from_toml(cls, text: str, where: str = "the TOML text") -> Release:
        """Read a release from TOML; an error names the line, and `where` if given.

        >>> Release.from_toml('name = "small"\\nneighbours = "bonded"\\nlevels = []', where="small.toml")
        Traceback (most recent call last):
        discreet.errors.InputError: neighbours is 'bonded'; it must be "bounded" or "unbounded"; \
did you mean "bounded"? (line 2 of small.toml)
        """
        text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        data = parse_toml(text, where)
        try:
            return _read(data)
        except FieldError as error:
            raise located(error, text, data, where) from None

    def to_toml(self) -> str:
        """Write the release as TOML, from which `from_toml` makes an equal one.

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
        return "\n".join(_lines(self)) + "\n"

    def __str__(self) -> str:
        total = "" if self.rho is None else f", rho {self.rho} = {brief(self.rho, 5)}"
        queries = sum(len(level.queries) for level in self.levels)
        main = f"(main {self.main}: {runs_text(self.runs(self.main))})"
        paths = "one path" if len(self.paths) == 1 else f"{len(self.paths)} paths {main}"
        lines = [
            f"{self.name}: {self.title}" if self.title else self.name,
            f"  one {self.unit}, calibrated for {self.neighbours} neighbours{total}",
            f"  {_count(len(self.levels), 'level')}, {_count(queries, 'query')}, {paths}",
        ]
        width = max(len(level.name) for level in self.levels)
        for level in self.levels:
            rho = "" if level.has_laplace else f"rho {brief(level.spent(self.neighbours), 5):<10}  "
            lines.append(f"  {level.name:<{width}}  {rho}{_noise_text(level, self.neighbours)}")
        return "\n".join(lines)


def _noise_text(level: Level, neighbours: Neighbours) -> str:
    events = level.events(neighbours)
    parts = []
    for word in sorted({event.PARAMETER for event in events}, reverse=True):
        sizes = sorted({event.size for event in events if word == event.PARAMETER})
        span = brief(sizes[0], 5) + (f" to {brief(sizes[-1], 5)}" if len(sizes) > 1 else "")
        parts.append(f"{word} {span}")
    return f"{_count(len(events), 'query')} of {' and '.join(parts)}"


def _count(many: int, word: str) -> str:
    plural = word[:-1] + "ies" if word.endswith("y") else word + "s"
    return f"{many} {word if many == 1 else plural}"


# -- TOML, in and out ------------------------------------------------------------------------------------

_PARTS = ("attributes", "levels", "spine")
RELEASE_KEYS = ("name", "title", "unit", "neighbours", "rho", "kind", "reason", "sources", "notes", *_PARTS)
LEVEL_KEYS = ("name", "rho", "queries")
QUERY_KEYS = (*WAYS, "sensitivity", "groups")
SPINE_KEYS = ("paths", "may_merge_up")


def _read(data: object) -> Release:
    table = a_table(data, "the release", RELEASE_KEYS, needed=("name", "neighbours", "levels"))
    levels = []
    for index, level in enumerate(a_list(table["levels"], "levels", "tables, each [[levels]]")):
        with inside("levels", index):
            levels.append(_read_level(level))
    parts: dict[str, Spine | Attributes] = {}
    for key, read in (("spine", _read_spine), ("attributes", read_attributes)):
        if key in table:
            with inside(key):
                parts[key] = read(table[key])
    for key in ("sources", "notes"):
        a_list(table.get(key, []), key, "texts in quotes")
    return Release(**{**table, **parts, "levels": levels})


def _read_level(data: object) -> Level:
    level = a_table(data, "a level", LEVEL_KEYS, needed=("name", "queries"))
    with inside("queries"):
        values = a_table(level["queries"], "queries of a level")
    queries = []
    for name, value in values.items():
        with inside("queries", name):
            queries.append(_read_query(name, value, has_rho="rho" in level))
    return Level(name=level["name"], rho=level.get("rho"), queries=queries)


def _read_query(name: str, value: Exact | dict[str, object] | list[object], *, has_rho: bool) -> Query:
    if isinstance(value, dict):
        return Query(name=name, **a_table(value, f"query {shown(name)}", QUERY_KEYS))
    if isinstance(value, list) or not has_rho:
        raise FieldError(
            f"query {shown(name)} is {shown(value)}; it must be a table such as "
            '{ variance = "5" }, or in a level with a rho a share such as "1/10"'
        )
    try:
        return Query(name=name, share=value)
    except FieldError as error:
        raise FieldError(str(error)) from None  # the share stands at the query's own key


def _read_spine(data: object) -> Spine:
    spine = a_table(data, "the spine", SPINE_KEYS)
    paths: list[tuple[int, Sequence[str]]] = []
    with inside("paths"):
        for key, runs in a_table(spine.get("paths", {}), "paths").items():
            if not re.fullmatch(r"[1-9][0-9]{0,8}", key):
                text = f"path {shown(key)} has no usable number; it must be a whole number above zero"
                raise FieldError(text, field=(key,))
            paths.append((int(key), runs))
    merging = spine.get("may_merge_up", [])
    if not isinstance(merging, list) or not all(isinstance(name, str) for name in merging):
        text = f'may_merge_up is {shown(merging)}; it must be a list of levels such as ["Block"]'
        raise FieldError(text, field=("may_merge_up",))
    return Spine(paths=paths, may_merge_up=merging)


def _lines(release: Release) -> Iterator[str]:
    """The lines of a release's TOML."""
    yield f"name = {quoted(release.name)}"
    if release.title:
        yield f"title = {quoted(release.title)}"
    yield f"unit = {quoted(release.unit)}"
    yield f"neighbours = {quoted(release.neighbours)}"
    if release.rho is not None:
        yield f"rho = {quoted(release.rho)}"
    if release.reason:
        yield f"kind = {quoted(release.kind.value)}"
        yield f"reason = {quoted(release.reason)}"
    for key, texts in (("sources", release.sources), ("notes", release.notes)):
        if texts:
            yield from (f"{key} = [", *(f"  {quoted(text)}," for text in texts), "]")
    if release.attributes is not None:
        yield from ("", "[attributes]", *attribute_lines(release.attributes))
    for level in release.levels:
        yield from ("", "[[levels]]", f"name = {quoted(level.name)}")
        if level.rho is not None:
            yield f"rho = {quoted(level.rho)}"
        yield "[levels.queries]"
        for query in level.queries:
            size: Fraction = getattr(query, query.way)
            counts = [f"{k} = {v}" for k in ("sensitivity", "groups") if (v := getattr(query, k)) != 1]
            is_plain = query.share is not None and not counts
            noise = ", ".join([f"{query.way} = {quoted(size)}", *counts])
            yield f"{quoted(query.name)} = {quoted(size) if is_plain else f'{{ {noise} }}'}"
    if release.spine is not None:
        yield from ("", "[spine]")
        if release.spine.may_merge_up:
            yield f"may_merge_up = {quoted(release.spine.may_merge_up)}"
        else:
            yield "[spine.paths]"
            yield from (f"{path} = {quoted(runs)}" for path, runs in release.spine.paths)


# -- releases by name: the presets that come with the package, and files ----------------------------------

LARGEST_FILE = 10_000_000
"""The largest file that is read, in bytes."""

ALIASES = {"dhc-2020": "dhc-2020-persons", "pl94-2020": "pl94-2020-persons"}
"""Short names of presets."""


def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, in alphabetical order.

    >>> "dhc-2020-persons" in preset_names()
    True
    """
    return tuple(
        sorted(item.name.removesuffix(".toml") for item in _folder().iterdir() if item.name.endswith(".toml"))
    )


def preset_titles() -> dict[str, str]:
    """Return each preset's name and its title, a one-line description.

    >>> preset_titles()["dhc-2020-persons"]
    '2020 Census, Demographic and Housing Characteristics (DHC), persons, United States'
    """
    return {name: load_preset(name).title for name in preset_names()}


def load(name_or_path: str | os.PathLike[str]) -> Release:
    """Return a preset by its name or alias, or the release that a TOML file states.

    >>> load("dhc-2020").name
    'dhc-2020-persons'
    >>> load("dhc-2021")
    Traceback (most recent call last):
    discreet.errors.InputError: 'dhc-2021' is neither a preset nor a file; did you mean "dhc-2020"? \
`discreet presets` lists all names
    """
    if isinstance(name_or_path, str):
        if name_or_path in ALIASES or name_or_path in preset_names():
            return load_preset(name_or_path)
        if not _looks_like_file(name_or_path):
            name = name_or_path.strip().lower().replace("_", "-")
            if name in ALIASES or name in preset_names():
                return load_preset(name)
            raise _unknown(f"{shown(name_or_path)} is neither a preset nor a file", name_or_path)
    return load_file(name_or_path)


def load_preset(name: str) -> Release:
    """Return a preset by its name or alias; each file is read once.

    >>> load_preset("dhc-2020") is load_preset("dhc-2020-persons")
    True
    """
    full = ALIASES.get(name, name)
    if full not in preset_names():
        raise _unknown(f"there is no preset {shown(name)}", name)
    return _read_preset(full)


def load_file(path: str | os.PathLike[str]) -> Release:
    """Return the release that a TOML file states.

    >>> load_file("no-such-file.toml")
    Traceback (most recent call last):
    discreet.errors.InputError: there is no file no-such-file.toml
    """
    text, name = read_text_file(path)
    return Release.from_toml(text, where=name)


def read_text_file(path: str | os.PathLike[str], kind: str = "TOML file") -> tuple[str, str]:
    """Return the text of a file, and its name for error messages; files that are too large are refused.

    >>> read_text_file("no-such-file.json", "certificate")
    Traceback (most recent call last):
    discreet.errors.InputError: there is no file no-such-file.json
    """
    file = Path(path)
    name = str(file) if str(file).isprintable() else ascii(str(file))
    try:
        if file.is_dir():
            raise InputError(f"{name} is a directory; the path of a {kind} is needed")
        if not file.exists():
            raise InputError(f"there is no file {name}")
        if not file.is_file():
            raise InputError(f"{name} is not a regular file; the path of a {kind} is needed")
        with file.open("rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from None
    if len(content) > LARGEST_FILE:
        raise InputError(f"{name} is larger than {LARGEST_FILE // 10**6} MB, the largest file that is read")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"not UTF-8: byte 0x{content[error.start]:02x} (line {line} of {name})") from None
    return text, name


@cache
def _read_preset(name: str) -> Release:
    text = (_folder() / f"{name}.toml").read_text(encoding="utf-8")
    return Release.from_toml(text, where=f"preset {name}")


@cache
def _folder() -> Traversable:
    from importlib.resources import files

    return files("discreet.budget") / "presets"


def _unknown(what: str, name: str) -> InputError:
    near = hint(name, [*preset_names(), *ALIASES]) or ";"
    return InputError(f"{what}{near} `discreet presets` lists all names")


def _looks_like_file(text: str) -> bool:
    return text.endswith(".toml") or "/" in text or os.sep in text or os.path.exists(text)
