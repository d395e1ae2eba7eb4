"""Levels of geography and their queries, the spine they form, and who are neighbours on it.

A query states its noise in one of four ways: a `share` of its level's rho, its own `rho`, the
`variance` of discrete Gaussian noise, or the `scale` of discrete Laplace noise. A rho becomes a
variance by the neighbours it was calibrated for: with sensitivity s and a record counted g times,
g s^2 / rho if bounded and g s^2 / (2 rho) if unbounded.

Where a geographic unit has exactly one child, the two are one, and the level of the upper one
spends the budget of both. A path is a list of such runs, written `"State+County"`.

Neighbouring databases. *Unbounded*: one record is added or removed, and the events of its path tell the two
apart. *Bounded*: one record is replaced by another, and the events of both paths do, so that all pairs of
paths count. Releases about the same people over the same spine are joined path by path, since a record has
the same path in each; for releases over different spines it is not known which paths go together, so all
combinations count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Literal, overload

from discreet import numbers
from discreet.budget.toml import FieldError, exact, hint, inside, line, no_repeats, one_of, whole_number
from discreet.memory import Forgetful
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise, grouped
from discreet.numbers import Exact, shown

if TYPE_CHECKING:
    from discreet.budget.release import Release

Neighbours = Literal["bounded", "unbounded"]
"""Bounded: one record is replaced. Unbounded: one record is added or removed."""

RELATIONS: tuple[Neighbours, ...] = ("bounded", "unbounded")
"""Both relations."""

Runs = tuple[tuple[str, ...], ...]
"""The runs of one path, from the top down, each a tuple of level names."""

MOST_PATHS = 4096
"""The largest number of paths of one release."""

WAYS = ("share", "rho", "variance", "scale")
"""The ways in which a query may state its noise."""


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Query:
    """One query of a level: exactly one of `share`, `rho`, `variance` and `scale`.

    `sensitivity` is how much one record changes a count; `groups` is how many counts of the query
    one record is part of.

    >>> Query(name="age by sex", rho="73/10000").event("bounded")
    DiscreteGaussian(variance=Fraction(10000, 73), sensitivity=1, times=1)
    >>> Query(name="groups", rho="1/1250", groups=9).event("unbounded")
    DiscreteGaussian(variance=Fraction(5625, 1), sensitivity=1, times=9)
    """

    name: str
    share: Fraction | None
    rho: Fraction | None
    variance: Fraction | None
    scale: Fraction | None
    sensitivity: int
    groups: int

    def __init__(
        self,
        *,
        name: str,
        share: Exact | None = None,
        rho: Exact | None = None,
        variance: Exact | None = None,
        scale: Exact | None = None,
        sensitivity: int = 1,
        groups: int = 1,
    ) -> None:
        put = object.__setattr__
        put(self, "name", line(name, name="name of a query", field=("name",)))
        stated = dict(zip(WAYS, (share, rho, variance, scale), strict=True))
        given = [way for way, value in stated.items() if value is not None]
        if len(given) != 1:
            stated_ways = " and ".join(given) if given else "no noise"
            ways = ", ".join(WAYS)
            raise FieldError(f"query {shown(name)} states {stated_ways}; it must state exactly one of {ways}")
        for way, value in stated.items():
            label = f"{way} of query {shown(name)}"
            put(self, way, None if value is None else exact(value, name=label, field=(way,)))
        for key, count in (("sensitivity", sensitivity), ("groups", groups)):
            put(self, key, whole_number(count, name=f"{key} of query {shown(name)}", field=(key,)))

    @property
    def way(self) -> str:
        """The way in which the noise is stated.

        >>> Query(name="total", variance=5).way
        'variance'
        """
        return next(way for way in WAYS if getattr(self, way) is not None)

    def event(self, neighbours: Neighbours, level_rho: Fraction | None = None) -> Noise:
        """Return what the query releases; a rho becomes a variance by the neighbours it was calibrated for.

        >>> Query(name="total", share="1/4").event("bounded", Fraction(1, 5))
        DiscreteGaussian(variance=Fraction(20, 1), sensitivity=1, times=1)
        """
        if self.scale is not None:
            return DiscreteLaplace(scale=self.scale, sensitivity=self.sensitivity, times=self.groups)
        variance = self.variance
        if variance is None:
            rho = self.rho
            if self.share is not None:
                if level_rho is None:
                    raise FieldError(f"query {shown(self.name)} states a share, but its level states no rho")
                rho = self.share * level_rho
            assert rho is not None
            variance = self.groups * self.sensitivity**2 / (rho if neighbours == "bounded" else 2 * rho)
        return DiscreteGaussian(variance=variance, sensitivity=self.sensitivity, times=self.groups)

    def with_variance(self, variance: Exact) -> Query:
        """Return the query with discrete Gaussian noise of this variance."""
        return Query(name=self.name, variance=variance, sensitivity=self.sensitivity, groups=self.groups)

    def scaled(self, factor: Fraction) -> Query:
        """Return the query with its variance multiplied by `factor`; a share stays, its level's rho changes.

        A Laplace scale is multiplied by the root of `factor`, rounded up by less than 2^-64 if irrational.

        >>> Query(name="total", rho="1/2").scaled(Fraction(4)).rho
        Fraction(1, 8)
        >>> Query(name="total", scale=3).scaled(Fraction(4)).scale
        Fraction(6, 1)
        """
        if self.rho is not None:
            return replace(self, rho=self.rho / factor)
        if self.variance is not None:
            return replace(self, variance=self.variance * factor)
        if self.scale is not None:
            return replace(self, scale=self.scale * root_up(factor))
        return self


@dataclass(frozen=True, kw_only=True, init=False)
class Level(Forgetful):
    """A level and its queries. If they state shares, the level states the `rho` that they share.

    >>> queries = [Query(name="a", share="1/4"), Query(name="b", share="3/4")]
    >>> state = Level(name="State", rho="1/2", queries=queries)
    >>> [str(event.variance) for event in state.events("bounded")]
    ['8', '8/3']
    """

    name: str
    rho: Fraction | None
    queries: tuple[Query, ...]

    def __init__(self, *, name: str, rho: Exact | None = None, queries: Iterable[Query]) -> None:
        label = f"level {shown(line(name, name='name of a level', field=('name',)))}"
        if "+" in name:
            raise FieldError(f"{label} has a + in its name, which marks merged levels", field=("name",))
        if name != name.strip():
            raise FieldError(f"{label} has a space before or after its name", field=("name",))
        put = object.__setattr__
        put(self, "name", name)
        put(self, "rho", None if rho is None else exact(rho, name=f"rho of {label}", field=("rho",)))
        put(self, "queries", tuple(queries))
        if not self.queries:
            raise FieldError(f"{label} has no queries; it must have at least one", field=("queries",))
        no_repeats((query.name for query in self.queries), name=label, field=("queries",))
        shares = [query.share for query in self.queries if query.share is not None]
        if not shares:
            return
        for query in self.queries:
            if query.share is None:
                raise FieldError(
                    f"query {shown(query.name)} of {label} states a {query.way} where others state a share; "
                    "either all queries of a level state a share or none does",
                    field=("queries", query.name),
                )
        if self.rho is None:
            raise FieldError(
                f"the queries of {label} state shares, so the level must state the rho they share"
            )
        if sum(shares) != 1:
            raise FieldError(
                f"shares of the queries of {label} add up to {shown(sum(shares))}; they must add up to 1",
                field=("queries",),
            )

    @property
    def has_laplace(self) -> bool:
        """Whether a query has discrete Laplace noise.

        >>> Level(name="State", queries=[Query(name="total", scale=2)]).has_laplace
        True
        """
        return any(query.scale is not None for query in self.queries)

    @cached_property
    def _events(self) -> dict[Neighbours, tuple[Noise, ...]]:
        return {}

    def events(self, neighbours: Neighbours) -> tuple[Noise, ...]:
        """Return one event for each query, in the order of the queries."""
        if neighbours not in self._events:
            made = tuple(query.event(neighbours, self.rho) for query in self.queries)
            self._events[neighbours] = made
        return self._events[neighbours]

    def precision(self, neighbours: Neighbours) -> Fraction:
        """Return the sum of g s^2 / variance over the queries, Laplace noise left out.

        >>> Level(name="State", queries=[Query(name="total", variance=5, groups=2)]).precision("bounded")
        Fraction(2, 5)
        """
        return sum((event.precision for event in self.events(neighbours)), Fraction(0))

    def spent(self, neighbours: Neighbours) -> Fraction:
        """Return the rho of the level's Gaussian noise under the given neighbours.

        >>> Level(name="State", queries=[Query(name="total", variance=5)]).spent("unbounded")
        Fraction(1, 10)
        """
        return self.precision(neighbours) / (1 if neighbours == "bounded" else 2)

    def scaled(self, factor: Fraction) -> Level:
        """Return the level with every variance multiplied by `factor`.

        >>> Level(name="State", rho=1, queries=[Query(name="total", share=1)]).scaled(Fraction(4)).rho
        Fraction(1, 4)
        """
        rho = None if self.rho is None else self.rho / factor
        return Level(name=self.name, rho=rho, queries=(query.scaled(factor) for query in self.queries))


def root_up(factor: Fraction) -> Fraction:
    """Return the square root, exact if it is rational, else rounded up to a multiple of 2^-64 / denominator.

    >>> root_up(Fraction(4, 9)), float(root_up(Fraction(2)))
    (Fraction(2, 3), 1.4142135623730951)
    """
    square = factor.numerator * factor.denominator
    if math.isqrt(square) ** 2 == square:
        return Fraction(math.isqrt(square), factor.denominator)
    return Fraction(math.isqrt(square << 128) + 1, factor.denominator << 64)


# -- spines -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Spine:
    """Either the `paths` by number, or the levels that `may_merge_up`, in which case all combinations occur.

    Combinations are numbered from 1 in binary order: the last digit is the lowest level that may merge,
    and a digit 1 says that the level is merged with the one above it. So path 1 merges nothing.

    >>> levels = ["State", "Tract", "Block"]
    >>> Spine(paths={7: ["State", "Tract+Block"]}).resolve(levels)
    {7: (('State',), ('Tract', 'Block'))}
    >>> for number, runs in Spine(may_merge_up=["Tract", "Block"]).resolve(levels).items():
    ...     print(number, runs_text(runs))
    1 State, Tract, Block
    2 State, Tract+Block
    3 State+Tract, Block
    4 State+Tract+Block
    """

    paths: tuple[tuple[int, tuple[str, ...]], ...]
    may_merge_up: tuple[str, ...]

    def __init__(
        self,
        *,
        paths: Mapping[int, Sequence[str]] | Iterable[tuple[int, Sequence[str]]] = (),
        may_merge_up: Iterable[str] = (),
    ) -> None:
        pairs = paths.items() if isinstance(paths, Mapping) else paths
        object.__setattr__(self, "paths", tuple(sorted(_checked(number, runs) for number, runs in pairs)))
        object.__setattr__(self, "may_merge_up", tuple(may_merge_up))
        if bool(self.paths) == bool(self.may_merge_up):
            stated = "both" if self.paths else "neither"
            raise FieldError(
                f"the spine states {stated} of paths and may_merge_up; it must state one of them"
            )
        if max(len(self.paths), 2 ** len(self.may_merge_up)) > MOST_PATHS:
            many = len(self.paths) or f"2^{len(self.may_merge_up)}"
            raise FieldError(f"the spine has {many} paths; at most {MOST_PATHS} are allowed")
        no_repeats((str(number) for number, _ in self.paths), name="paths of the spine", field=("paths",))

    def resolve(self, levels: Sequence[str]) -> dict[int, Runs]:
        """Return the runs of each path by number, checked against the names of the levels."""
        if self.may_merge_up:
            return dict(enumerate(self._combinations(levels), start=1))
        resolved: dict[int, Runs] = {}
        owner: dict[Runs, int] = {}
        for number, texts in self.paths:
            runs = tuple(tuple(text.split("+")) for text in texts)
            with inside("paths", str(number)):
                _check_cover(number, runs, levels)
                if runs in owner:
                    raise FieldError(
                        f"path {number} is the same as path {owner[runs]}; each path may be listed once"
                    )
            owner[runs] = number
            resolved[number] = runs
        return resolved

    def _combinations(self, levels: Sequence[str]) -> Iterator[Runs]:
        with inside("may_merge_up"):
            no_repeats(self.may_merge_up, name="may_merge_up", field=())
            for name in self.may_merge_up:
                if name not in levels:
                    raise FieldError(
                        f"may_merge_up names {shown(name)}, which is not a level{hint(name, levels)}"
                    )
            if levels[0] in self.may_merge_up:
                raise FieldError(f"may_merge_up names {shown(levels[0])}, which has no level above it")
        movable = [name for name in levels if name in self.may_merge_up]
        for digits in product((False, True), repeat=len(movable)):
            merged = dict(zip(movable, digits, strict=True))
            runs: list[tuple[str, ...]] = []
            for name in levels:
                if merged.get(name):
                    runs[-1] = (*runs[-1], name)
                else:
                    runs.append((name,))
            yield tuple(runs)


def runs_text(runs: Runs) -> str:
    """Write the runs of a path on one line.

    >>> runs_text((("US",), ("State", "County")))
    'US, State+County'
    """
    return ", ".join("+".join(run) for run in runs)


def _checked(number: int, runs: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    number = whole_number(number, name="number of a path", field=("paths",))
    with inside("paths", str(number)):
        if isinstance(runs, str) or not isinstance(runs, Sequence):
            raise FieldError(
                f'path {number} is {shown(runs)}; it must be a list such as ["US", "State+County"]'
            )
        texts = [line(run, name=f"run of path {number}", field=()) for run in runs]
    return number, tuple("+".join(part.strip() for part in text.split("+")) for text in texts)


def _check_cover(number: int, runs: Runs, levels: Sequence[str]) -> None:
    named = [name for run in runs for name in run]
    for name in named:
        if name not in levels:
            raise FieldError(f"path {number} names {shown(name)}, which is not a level{hint(name, levels)}")
    for name in levels:
        if named.count(name) != 1:
            count = "twice" if named.count(name) > 1 else "not at all"
            raise FieldError(f"path {number} has level {shown(name)} {count}; it must have each level once")
    for above, below in zip(levels, named, strict=True):
        if above != below:
            raise FieldError(
                f"path {number} has level {shown(below)} where {shown(above)} belongs; "
                "it must keep the order of the levels"
            )


# -- names for readers -----------------------------------------------------------------------------------

_READABLE = {
    "Prim": "Primitive geography",
    "PEPG": "Primitive geography",
    "USA": "US",
    "STATE": "State",
    "COUNTY": "County",
    "TRACT": "Tract",
    "PLACE": "Place",
    "PR-STATE": "Puerto Rico",
    "PR-COUNTY": "Municipio",
    "PR-TRACT": "Tract",
    "PR-PLACE": "Place",
}
_KINDS = ("Block", "Group", "Subset", "Tract")  # in names of levels; other capitals are names themselves


def level_name(text: str) -> str:
    """Write the name of a level as people do; a name that is not a plain code stays as it is.

    >>> [level_name(name) for name in ("Tract_Subset_Group", "US", "State+County", "STATE, detailed", "Prim")]
    ['Tract subset group', 'US', 'State + County', 'State, detailed', 'Primitive geography']
    >>> [level_name(name) for name in ("Optimized Block Group", "PR_COUNTY, regional", "New York")]
    ['Optimized block group', 'Municipio, regional', 'New York']
    """
    if not re.fullmatch(r"[A-Za-z_+, *-]+", text):
        return text
    return " + ".join(_run_name(run) for run in text.split("+"))


def find_level(text: str, names: Sequence[str]) -> str | None:
    """Return which of these levels a text means, as a code or as people write it; None if not exactly one.

    >>> [find_level(text, ["US", "Block_Group"]) for text in ("Block_Group", "block group", "Block")]
    ['Block_Group', 'Block_Group', None]
    """
    if text in names:
        return text
    wanted = level_name(text.strip()).casefold()
    matches = [name for name in names if wanted == level_name(name).casefold()]
    return matches[0] if len(matches) == 1 else None


def _run_name(run: str) -> str:
    if run in _READABLE:
        return _READABLE[run]
    head, comma, rest = run.partition(", ")
    head = _READABLE.get(head.replace("_", "-"), head)
    is_code = "_" in head
    first, *later = head.replace("_", " ").split(" ")
    later = [word.lower() if word in _KINDS or (is_code and not word.isupper()) else word for word in later]
    return " ".join([first, *later]) + comma + rest


# -- neighbours --------------------------------------------------------------------------------------------

CHILDREN_2020 = {"State": 51.0, "County": 61.6, "Tract": 23.2, "Block_Group": 2.83, "Block": 34.0}
"""The average number of children of a unit of the level above, United States, 2020."""

CaseLabel = tuple[int, ...] | tuple[tuple[int, ...], ...]
"""`(i, j)` or `(i,)` in numbers of paths; for several releases a tuple of those."""

Case = tuple[CaseLabel, tuple[Noise, ...]]
"""A label and the grouped events that tell two neighbours apart."""


@dataclass(frozen=True)
class PathGroup:
    """The paths of one spine: of one release, or of several over the same spine, joined path by path."""

    members: tuple[int, ...]
    """Numbers of the releases in the portfolio."""
    numbers: tuple[tuple[int, ...], ...]
    """For each path, its number in each of them."""
    events: tuple[tuple[Noise, ...], ...]
    """For each path, the grouped events of one record in all of them together."""
    main: int
    """The index of the main path."""

    def __len__(self) -> int:
        return len(self.events)


@dataclass(frozen=True, eq=False)
class Cases(Forgetful, Sequence[Case]):
    """All cases that an accountant must compare, in the order of the paths, each built when asked for.

    A case takes one path (unbounded) or two (bounded) of each group, in every combination.
    """

    groups: tuple[PathGroup, ...]
    paired: bool
    single: bool = True
    """Whether a label is that of one release, and not a tuple of several."""

    @cached_property
    def _made(self) -> dict[tuple[int, int], Noise]:
        return {}

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many choices there are in each group."""
        return tuple(len(g) * (len(g) + 1) // 2 if self.paired else len(g) for g in self.groups)

    @cached_property
    def _length(self) -> int:
        return math.prod(self.sizes)

    def __len__(self) -> int:
        return self._length

    @cached_property
    def _indices(self) -> tuple[dict[tuple[int, ...], int], ...]:
        """For each group, the index of each path by its numbers."""
        return tuple({numbers: k for k, numbers in enumerate(g.numbers)} for g in self.groups)

    @cached_property
    def _kinds(self) -> tuple[Noise, ...]:
        """All kinds of events in the order of `grouped`, so that a case needs no arithmetic of fractions."""
        return grouped(event for g in self.groups for events in g.events for event in events)

    @cached_property
    def _ranked(self) -> tuple[tuple[dict[int, int], ...], ...]:
        """For each group and path, the times of each kind."""
        rank = {event.key: number for number, event in enumerate(self._kinds)}
        return tuple(
            tuple({rank[event.key]: event.times for event in events} for events in g.events)
            for g in self.groups
        )

    def choice(self, number: int) -> tuple[tuple[int, ...], ...]:
        """Return the paths of each group, by their indices, in the case of this number."""
        chosen = []
        for size, group in zip(reversed(self.sizes), reversed(self.groups), strict=True):
            number, rest = divmod(number, size)
            chosen.append(_pair(rest, len(group)) if self.paired else (rest,))
        return tuple(reversed(chosen))

    def _number(self, choice: Sequence[tuple[int, ...]]) -> int:
        number = 0
        for size, group, paths in zip(self.sizes, self.groups, choice, strict=True):
            at = paths[0]
            if self.paired:
                i, j = paths
                at = i * len(group) - i * (i - 1) // 2 + (j - i)
            number = number * size + at
        return number

    def _label(self, choice: Sequence[tuple[int, ...]]) -> CaseLabel:
        labels: dict[int, tuple[int, ...]] = {}
        for group, paths in zip(self.groups, choice, strict=True):
            for k, member in enumerate(group.members):
                labels[member] = tuple(group.numbers[path][k] for path in paths)
        return labels[0] if self.single else tuple(labels[member] for member in sorted(labels))

    def _events(self, choice: Sequence[tuple[int, ...]]) -> tuple[Noise, ...]:
        times: dict[int, int] = {}
        for ranked, paths in zip(self._ranked, choice, strict=True):
            for path in paths:
                for key, often in ranked[path].items():
                    times[key] = times.get(key, 0) + often
        events = []
        for item in sorted(times.items()):
            if item not in self._made:
                self._made[item] = self._kinds[item[0]].repeated(item[1])
            events.append(self._made[item])
        return tuple(events)

    def find(self, label: CaseLabel) -> int | None:
        """Return the number of the case with this label, or None if there is none."""
        parts = (label,) if self.single else label
        choice = []
        try:
            for group, indices in zip(self.groups, self._indices, strict=True):
                sides = zip(*(parts[member] for member in group.members), strict=True)
                choice.append(tuple(indices[tuple(numbers)] for numbers in sides))
        except (KeyError, TypeError, IndexError, ValueError):
            return None
        width = 2 if self.paired else 1
        if any(len(paths) != width or list(paths) != sorted(paths) for paths in choice):
            return None
        number = self._number(choice)
        return number if self._label(choice) == label else None

    @cached_property
    def main(self) -> int:
        """The number of the case whose records all follow the main path."""
        return self._number([(g.main,) * (2 if self.paired else 1) for g in self.groups])

    def label(self, number: int) -> CaseLabel:
        """Return the label of a case without building its events."""
        return self._label(self.choice(number))

    @overload
    def __getitem__(self, number: int) -> Case: ...
    @overload
    def __getitem__(self, number: slice) -> list[Case]: ...

    def __getitem__(self, number: int | slice) -> Case | list[Case]:
        if isinstance(number, slice):
            return [self[k] for k in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(f"there are {len(self)} cases; there is no case number {number}")
        choice = self.choice(number % len(self))
        return self._label(choice), self._events(choice)

    def __iter__(self) -> Iterator[Case]:
        for number in range(len(self)):
            yield self[number]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(own == others for own, others in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def largest(self, cost: Callable[[tuple[Noise, ...]], Fraction]) -> Fraction:
        """Return the largest cost of a case, for a cost that adds up over events."""
        sides = 2 if self.paired else 1
        return sum((sides * max(cost(events) for events in g.events) for g in self.groups), Fraction(0))

    def only_main(self) -> Cases:
        """Return the case of the main paths alone."""
        groups = tuple(
            PathGroup(g.members, (g.numbers[g.main],), (g.events[g.main],), 0) for g in self.groups
        )
        return Cases(groups, self.paired, self.single)


def _pair(number: int, many: int) -> tuple[int, int]:
    """The pair of this number among (0, 0), (0, 1), ..., (1, 1), ... of `many` paths."""
    # i rows before it hold i (2 many - i + 1) / 2 pairs
    i = int((2 * many + 1 - math.sqrt((2 * many + 1) ** 2 - 8 * number)) // 2)
    while i * (2 * many - i + 1) // 2 > number:
        i -= 1
    while (i + 1) * (2 * many - i) // 2 <= number:
        i += 1
    return i, i + number - i * (2 * many - i + 1) // 2


def cases(release: Release, neighbours: Neighbours, people: int = 1) -> Cases:
    """Return all cases that an accountant must compare, in the order of the paths.

    `people` is the size of the group that is protected together: every sensitivity is multiplied by it.

    >>> from discreet.budget import Level, Query, Release, Spine
    >>> state = Level(name="State", queries=[Query(name="total", variance=4)])
    >>> county = Level(name="County", queries=[Query(name="total", variance=9)])
    >>> spine = Spine(may_merge_up=["County"])
    >>> small = Release(name="small", neighbours="bounded", levels=[state, county], spine=spine)
    >>> for label, events in cases(small, "bounded"):
    ...     print(label, ", ".join(f"{event.times} x {event.variance}" for event in events))
    (1, 1) 2 x 4, 2 x 9
    (1, 2) 1 x 36/13, 1 x 4, 1 x 9
    (2, 2) 2 x 36/13
    >>> [label for label, _ in cases(small, "unbounded")]
    [(1,), (2,)]
    """
    one_of(neighbours, RELATIONS, name="neighbours", field=("neighbours",))
    group = _joined([(0, release)], numbers.whole(people, name="people"))
    return Cases((group,), neighbours == "bounded")


def one_case(release: Release, label: Sequence[int], people: int = 1) -> tuple[Noise, ...]:
    """Return the events of one case of a release by its label, without building the others.

    >>> from discreet.budget import load
    >>> one_case(load("dhc-2020"), (6, 14)) == dict(cases(load("dhc-2020"), "bounded"))[6, 14]
    True
    """
    many = numbers.whole(people, name="people")
    return grouped(event.for_people(many) for path in label for event in release.path_events(path))


def main_case(release: Release, neighbours: Neighbours) -> tuple[int, ...]:
    """Return the label of the case whose records follow the main path."""
    one_of(neighbours, RELATIONS, name="neighbours", field=("neighbours",))
    return (release.main,) * (2 if neighbours == "bounded" else 1)


def joint_cases(releases: Sequence[Release], neighbours: Neighbours, people: int = 1) -> Cases:
    """Return all cases of several releases about the same people.

    Releases over the same spine are joined path by path; for different spines all combinations are compared.

    >>> from discreet.budget import load
    >>> len(joint_cases([load("pl94-2020-persons"), load("dhc-2020")], "bounded"))
    34056
    >>> joint_cases([load("dhc-2020"), load("dhc-2020")], "bounded")[1][0]
    ((1, 2), (1, 2))
    """
    one_of(neighbours, RELATIONS, name="neighbours", field=("neighbours",))
    many = numbers.whole(people, name="people")
    spines: dict[frozenset[Runs], list[tuple[int, Release]]] = {}
    for number, release in enumerate(releases):
        spine = frozenset(release.runs(path) for path in release.paths)
        spines.setdefault(spine, []).append((number, release))
    groups = tuple(_joined(members, many) for members in spines.values())
    return Cases(groups, neighbours == "bounded", single=False)


def _joined(members: Sequence[tuple[int, Release]], people: int) -> PathGroup:
    """The paths of releases over one spine, which may number them differently."""
    first = members[0][1]
    numbered: list[Mapping[Runs, int]] = [{r.runs(path): path for path in r.paths} for _, r in members]
    numbers, events = [], []
    for path in first.paths:
        runs = first.runs(path)
        here = tuple(by_runs[runs] for by_runs in numbered)
        numbers.append(here)
        own = [e for (_, r), n in zip(members, here, strict=True) for e in r.path_events(n)]
        events.append(grouped(event.for_people(people) for event in own))
    return PathGroup(
        tuple(number for number, _ in members), tuple(numbers), tuple(events), first.paths.index(first.main)
    )
