"""A release: what is published with which noise, and on which paths one record is counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.budget.answer import STATED, AnswerKind, Claim
from discreet.budget.attributes import Attributes
from discreet.budget.fields import FieldError, exact, hint, inside, line, no_repeats, one_of
from discreet.budget.levels import Level, Query
from discreet.budget.neighbours import RELATIONS, Neighbours
from discreet.budget.spine import Runs, Spine, written
from discreet.errors import InputError
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise, grouped
from discreet.numbers import Exact, decimal, shown

UNITS = ("person", "household", "housing unit", "establishment")
"""What one record may be of."""


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
        return self.event.variance if isinstance(self.event, DiscreteGaussian) else None

    @property
    def scale(self) -> Fraction | None:
        """The scale of Laplace noise."""
        return self.event.scale if isinstance(self.event, DiscreteLaplace) else None


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Release:
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
    _runs: dict[int, Runs] = field(repr=False, compare=False, init=False)
    _events: dict[int, tuple[Noise, ...]] = field(repr=False, compare=False, init=False)

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
        put(
            self,
            "kind",
            AnswerKind(one_of(kind, [one.value for one in STATED], name="kind", field=("kind",))),
        )
        put(self, "reason", line(reason, name="reason", field=("reason",), empty=True))
        if (self.kind is AnswerKind.EXACT) == bool(self.reason):
            found = "but no reason is given" if not self.reason else "and a reason is given"
            raise FieldError(
                f"kind of the release is {shown(self.kind.value)}, {found}; "
                'a reason is needed for "bound" and "model", and is not allowed otherwise',
                field=("reason",) if self.reason else ("kind",),
            )
        if not self.levels:
            raise FieldError(
                f"release {shown(name)} has no levels; it must have at least one", field=("levels",)
            )
        names = [level.name for level in self.levels]
        no_repeats(names, name=f"release {shown(name)}", field=("levels",))
        put(self, "attributes", attributes)
        self._check_budgets()
        self._check_queries()
        with inside("spine"):
            put(self, "_runs", spine.resolve(names) if spine else {1: tuple((one,) for one in names)})
            self._check_merged()
        put(self, "_events", {})

    def _check_budgets(self) -> None:
        for place, level in enumerate(self.levels):
            spent = level.spent(self.neighbours)
            if level.rho is not None and (level.has_laplace or level.rho != spent):
                what = f"queries that add up to {spent}"
                if level.has_laplace:
                    what = "Laplace noise, which has no rho"
                raise FieldError(
                    f"rho of level {shown(level.name)} is {level.rho}, but it has {what}; both must agree",
                    field=("levels", place, "rho"),
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
                f"rho of the release is {self.rho}, but its levels add up to {total}; both must agree",
                field=("rho",),
            )

    def _check_queries(self) -> None:
        """With attributes, every query is a product of them."""
        for place, level in enumerate(self.levels if self.attributes is not None else ()):
            for query in level.queries:
                with inside("levels", place, "queries", query.name):
                    assert self.attributes is not None
                    self.attributes.tabulation(query.name)

    def _check_merged(self) -> None:
        laplace = {level.name for level in self.levels if level.has_laplace}
        for number, runs in self._runs.items() if laplace else ():
            for run in runs:
                if len(run) > 1 and laplace.intersection(run):
                    name = next(one for one in run if one in laplace)
                    key = ("paths", str(number)) if self.spine and self.spine.paths else ("may_merge_up",)
                    raise FieldError(
                        f"path {number} merges level {shown(name)}, which has Laplace noise; "
                        "only levels of Gaussian noise can be merged",
                        field=key,
                    )

    @property
    def claim(self) -> Claim:
        """What an account of all paths claims, and why it is not exact.

        >>> from discreet.budget import load
        >>> load("sdhc-2020").claim.kind.beside(10.9438)
        'at most 10.9438'
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
            self._events[path] = grouped(row.event for row in rows(self, runs))
        return self._events[path]

    def variance_table(self, path: int | None = None) -> tuple[Row, ...]:
        """Return the noise of each query by level, on the main path if none is named.

        >>> state = Level(name="State", rho="1/2", queries=[Query(name="total", share=1)])
        >>> row, = Release(name="small", neighbours="unbounded", levels=[state]).variance_table()
        >>> row.level, row.query, row.variance, row.rho, row.share
        ('State', 'total', Fraction(1, 1), Fraction(1, 2), Fraction(1, 1))
        """
        return tuple(rows(self, self.runs(self.main if path is None else path)))

    def scaled(self, factor: Exact, *, level: str | None = None) -> Release:
        """Return the release with all variances, or those of one level, multiplied by an exact factor.

        A Laplace scale is multiplied by the root of the factor, rounded up by less than 2^-64 if irrational.

        >>> state = Level(name="State", rho="1/2", queries=[Query(name="total", share=1)])
        >>> wide = Release(name="small", neighbours="bounded", rho="1/2", levels=[state]).scaled("3/2")
        >>> wide.rho, wide.variance_table()[0].variance
        (Fraction(1, 3), Fraction(3, 1))
        """
        times = exact(factor, name="factor", field=())
        if level is not None:
            self._level(level)
        levels = [one.scaled(times) if level in (None, one.name) else one for one in self.levels]
        return self._with_levels(levels)

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
            names = [one.name for one in self._level(name).queries]
            if query is not None and query not in names:
                raise InputError(f"level {shown(name)} has no query {shown(query)}{hint(query, names)}")
            for one in names if query is None else [query]:
                wanted.setdefault(name, {})[one] = variance
        levels = [
            _restated(level, wanted[level.name], self.neighbours) if level.name in wanted else level
            for level in self.levels
        ]
        return self._with_levels(levels)

    def _level(self, name: str) -> Level:
        names = [level.name for level in self.levels]
        if name not in names:
            raise InputError(
                f"release {shown(self.name)} has no level {shown(name)}; "
                f"it has {', '.join(names)}{hint(name, names)}"
            )
        return self.levels[names.index(name)]

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
        from discreet.budget.toml import read

        return read(text, where)

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
        from discreet.budget.toml import write

        return write(self)

    def account(self, neighbours: Neighbours | None = None, people: int = 1) -> Any:
        """Return what the release costs, by default under the neighbours it was calibrated for."""
        from discreet.accounting.overall import account

        return account(self, neighbours=neighbours or self.neighbours, people=people)

    def __str__(self) -> str:
        return summary(self)


def _restated(level: Level, variances: Mapping[str, Exact], neighbours: Neighbours) -> Level:
    queries = []
    for query, event in zip(level.queries, level.events(neighbours), strict=True):
        variance = variances.get(query.name, event.variance if isinstance(event, DiscreteGaussian) else None)
        if variance is None:
            queries.append(query)
            continue
        queries.append(
            Query(name=query.name, variance=variance, sensitivity=query.sensitivity, groups=query.groups)
        )
    return Level(name=level.name, queries=queries)


def rows(release: Release, runs: Runs) -> Iterator[Row]:
    """Yield the noise of each query along a path: the top level of a run spends the run's whole budget.

    With one precision for the level's own queries and one for the run, each variance shrinks by their ratio.
    """
    levels = {level.name: level for level in release.levels}
    for run in runs:
        top = levels[run[0]]
        own = top.precision(release.neighbours)
        whole = sum((levels[name].precision(release.neighbours) for name in run), Fraction(0))
        for query, event in zip(top.queries, top.events(release.neighbours), strict=True):
            if not isinstance(event, DiscreteGaussian):
                yield Row("+".join(run), query.name, event, None, None)
                continue
            if len(run) > 1:
                event = replace(event, variance=event.variance * own / whole)
            share = None if top.has_laplace else event.precision / whole
            rho = event.precision / (1 if release.neighbours == "bounded" else 2)
            yield Row("+".join(run), query.name, event, rho, share)


def summary(release: Release) -> str:
    """Return a few lines that can be pasted into a memo; `str(release)` is the same."""
    total = "" if release.rho is None else f", rho {release.rho} = {_short(release.rho)}"
    queries = sum(len(level.queries) for level in release.levels)
    main = f"(main {release.main}: {written(release.runs(release.main))})"
    paths = "one path" if len(release.paths) == 1 else f"{len(release.paths)} paths {main}"
    lines = [
        f"{release.name}: {release.title}" if release.title else release.name,
        f"  one {release.unit}, calibrated for {release.neighbours} neighbours{total}",
        f"  {_count(len(release.levels), 'level')}, {_count(queries, 'query')}, {paths}",
    ]
    width = max(len(level.name) for level in release.levels)
    for level in release.levels:
        rho = "" if level.has_laplace else f"rho {_short(level.spent(release.neighbours)):<10}  "
        lines.append(f"  {level.name:<{width}}  {rho}{_noise(level, release.neighbours)}")
    return "\n".join(lines)


def _noise(level: Level, neighbours: Neighbours) -> str:
    events = level.events(neighbours)
    parts = []
    for word in sorted({event.PARAMETER for event in events}, reverse=True):
        sizes = sorted({event.size for event in events if word == event.PARAMETER})
        span = _short(sizes[0]) + (f" to {_short(sizes[-1])}" if len(sizes) > 1 else "")
        parts.append(f"{word} {span}")
    return f"{_count(len(events), 'query')} of {' and '.join(parts)}"


def _short(value: Fraction) -> str:
    if Fraction(1, 10**300) < value < 10**300:
        return f"{float(value):.5g}"
    return decimal(value, digits=5, down=True)


def _count(many: int, word: str) -> str:
    plural = word[:-1] + "ies" if word.endswith("y") else word + "s"
    return f"{many} {word if many == 1 else plural}"
