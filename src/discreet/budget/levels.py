"""Levels of geography and their queries, and the spine: which levels a record's geography passes through.

A query states its noise in one of four ways: a `share` of its level's rho, its own `rho`, the
`variance` of discrete Gaussian noise, or the `scale` of discrete Laplace noise. A rho becomes a
variance by the neighbours it was calibrated for: with sensitivity s and a record counted g times,
g s^2 / rho if bounded and g s^2 / (2 rho) if unbounded.

Where a geographic unit has exactly one child, the two are one, and the level of the upper one
spends the budget of both. A path is a list of such runs, written `"State+County"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import isqrt

from discreet.budget.neighbours import Neighbours
from discreet.budget.toml import FieldError, exact, hint, inside, line, no_repeats, whole
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.numbers import Exact, shown

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
            found = " and ".join(given) if given else "no noise"
            raise FieldError(f"query {shown(name)} states {found}; it must state one of {', '.join(WAYS)}")
        for way, value in stated.items():
            label = f"{way} of query {shown(name)}"
            put(self, way, None if value is None else exact(value, name=label, field=(way,)))
        for key, count in (("sensitivity", sensitivity), ("groups", groups)):
            put(self, key, whole(count, name=f"{key} of query {shown(name)}", field=(key,)))

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


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Level:
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
                f"shares of the queries of {label} add up to {sum(shares)}; they must add up to 1",
                field=("queries",),
            )

    @property
    def has_laplace(self) -> bool:
        """Whether a query has discrete Laplace noise.

        >>> Level(name="State", queries=[Query(name="total", scale=2)]).has_laplace
        True
        """
        return any(query.scale is not None for query in self.queries)

    def events(self, neighbours: Neighbours) -> tuple[Noise, ...]:
        """Return one event a query, in the order of the queries."""
        return tuple(query.event(neighbours, self.rho) for query in self.queries)

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
    if isqrt(square) ** 2 == square:
        return Fraction(isqrt(square), factor.denominator)
    return Fraction(isqrt(square << 128) + 1, factor.denominator << 64)


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
    ...     print(number, written(runs))
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
            found = "both" if self.paths else "neither"
            raise FieldError(f"the spine states {found} of paths and may_merge_up; it must state one of them")
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


def written(runs: Runs) -> str:
    """Write the runs of a path on one line.

    >>> written((("US",), ("State", "County")))
    'US, State+County'
    """
    return ", ".join("+".join(run) for run in runs)


def _checked(number: int, runs: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    number = whole(number, name="number of a path", field=("paths",))
    with inside("paths", str(number)):
        if isinstance(runs, str) or not isinstance(runs, Sequence):
            raise FieldError(
                f'path {number} is {shown(runs)}; it must be a list such as ["US", "State+County"]'
            )
        texts = [line(run, name=f"run of path {number}", field=()) for run in runs]
    return number, tuple("+".join(part.strip() for part in text.split("+")) for text in texts)


def _check_cover(number: int, runs: Runs, levels: Sequence[str]) -> None:
    found = [name for run in runs for name in run]
    for name in found:
        if name not in levels:
            raise FieldError(f"path {number} names {shown(name)}, which is not a level{hint(name, levels)}")
    for name in levels:
        if found.count(name) != 1:
            count = "twice" if found.count(name) > 1 else "not at all"
            raise FieldError(f"path {number} has level {shown(name)} {count}; it must have each level once")
    for above, below in zip(levels, found, strict=True):
        if above != below:
            raise FieldError(
                f"path {number} has level {shown(below)} where {shown(above)} belongs; "
                "it must keep the order of the levels"
            )


# -- names for readers -----------------------------------------------------------------------------------

_PLACES = {"Prim": "Primitive geography", "USA": "US", "STATE": "State", "COUNTY": "County", "TRACT": "Tract"}
_PLACES |= {"PLACE": "Place", "PR-STATE": "Puerto Rico", "PR-COUNTY": "Municipio", "PR-TRACT": "Tract"}
_PLACES |= {"PR-PLACE": "Place"}
_KINDS = ("Block", "Group", "Subset", "Tract")  # in names of levels; other capitals are names themselves


def level_name(text: str) -> str:
    """Write the name of a level as people do; one that is no plain code stays as it is.

    >>> [level_name(name) for name in ("Tract_Subset_Group", "US", "State+County", "STATE, detailed", "Prim")]
    ['Tract subset group', 'US', 'State + County', 'State, detailed', 'Primitive geography']
    >>> [level_name(name) for name in ("Optimized Block Group", "PR_COUNTY, regional", "New York")]
    ['Optimized block group', 'Municipio, regional', 'New York']
    """
    if not re.fullmatch(r"[A-Za-z_+, *-]+", text):
        return text
    return " + ".join(_place(run) for run in text.split("+"))


def find_level(text: str, names: Sequence[str]) -> str | None:
    """Return which of these levels a text means, as a code or as people write it; None if not exactly one.

    >>> [find_level(text, ["US", "Block_Group"]) for text in ("Block_Group", "block group", "Block")]
    ['Block_Group', 'Block_Group', None]
    """
    if text in names:
        return text
    wanted = level_name(text.strip()).casefold()
    found = [name for name in names if wanted == level_name(name).casefold()]
    return found[0] if len(found) == 1 else None


def _place(run: str) -> str:
    if run in _PLACES:
        return _PLACES[run]
    head, comma, rest = run.partition(", ")
    head = _PLACES.get(head.replace("_", "-"), head)
    is_code = "_" in head
    first, *later = head.replace("_", " ").split(" ")
    later = [word.lower() if word in _KINDS or (is_code and not word.isupper()) else word for word in later]
    return " ".join([first, *later]) + comma + rest
