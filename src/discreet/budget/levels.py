"""Levels of geography and their queries.

A query states its noise in one of five ways: a `share` of its level's rho, its own `rho`, the
`variance` of discrete Gaussian noise, the `scale` of discrete Laplace noise (with an `exponent`, of power
noise), or any other law as its `noise`. A rho becomes a
variance by the neighbours it was calibrated for: with sensitivity s and a record counted g times,
g s^2 / rho if bounded and g s^2 / (2 rho) if unbounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from discreet.budget.neighbours import Neighbours, records_apart
from discreet.budget.toml import FieldError, exact, line, no_repeats, whole_number
from discreet.budget.variables import COUNT, RecordWeight, Variable
from discreet.calls import understandable
from discreet.errors import InputError
from discreet.memory import Forgetful, set_fields
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise, PowerNoise
from discreet.noise.capabilities import require
from discreet.numbers import Exact, is_column, shown

WAYS = ("share", "rho", "variance", "scale", "noise")
"""The ways in which a query may state its noise."""


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Query:
    """One query of a level: one of `share`, `rho`, `variance` (or its root, `sigma`), `scale` and `noise`.

    `sensitivity` is how much one record changes a count; `groups` is how many counts of the query
    one record is part of. A query of sums states the `variable` that it adds up, and its noise is in units of
    that. The variable's bound is its sensitivity, or of a person with several records a multiple of it.

    >>> Query(name="age by sex", rho="73/10000").event("bounded")
    DiscreteGaussian(variance=Fraction(10000, 73), sensitivity=1, times=1)
    >>> Query(name="groups", rho="1/1250", groups=9).event("unbounded")
    DiscreteGaussian(variance=Fraction(5625, 1), sensitivity=1, times=9)
    >>> Query(name="total", scale=5, exponent="17/10").event("bounded")
    PowerNoise(exponent=Fraction(17, 10), scale=Fraction(5, 1), sensitivity=1, times=1)
    >>> Query(name="hours by sex", variable=Variable(sum="hours", at_most=80), variance=400).event("bounded")
    DiscreteGaussian(variance=Fraction(400, 1), sensitivity=80, times=1)
    """

    name: str
    share: Fraction | None
    rho: Fraction | None
    variance: Fraction | None
    scale: Fraction | None
    noise: Noise | None
    sensitivity: int
    groups: int
    variable: Variable

    @understandable
    def __init__(
        self,
        *,
        name: str,
        share: Exact | None = None,
        rho: Exact | None = None,
        variance: Exact | None = None,
        sigma: Exact | None = None,
        scale: Exact | None = None,
        noise: Noise | None = None,
        exponent: Exact | None = None,
        sensitivity: int | None = None,
        groups: int = 1,
        variable: Variable = COUNT,
    ) -> None:
        set_fields(self, name=line(name, name="name of a query", field=("name",)))
        if sigma is not None:
            if variance is not None:
                raise FieldError(f"query {shown(name)} states variance and sigma; it must state one of them")
            variance = exact(sigma, name=f"sigma of query {shown(name)}", field=("sigma",)) ** 2
        if exponent is not None:
            if scale is None:
                text = (
                    f"query {shown(name)} states an exponent; it must state the scale of the power noise, too"
                )
                raise FieldError(text, field=("exponent",))
            try:
                noise, scale = PowerNoise(exponent, scale), None
            except InputError as error:
                raise FieldError(f"query {shown(name)}: {error}", field=("exponent",)) from None
        elif isinstance(noise, Noise) and noise.own_way is not None:
            sizes = {noise.own_way: _one_count(noise, name).size}
            variance, scale = sizes.get("variance", variance), sizes.get("scale", scale)
            noise = None
        set_fields(self, noise=None if noise is None else _one_count(noise, name))
        stated = dict(zip(WAYS, (share, rho, variance, scale, noise), strict=True))
        given = [way for way, value in stated.items() if value is not None]
        if len(given) != 1:
            stated_ways = " and ".join(given) if given else "no noise"
            ways = ", ".join(WAYS)
            raise FieldError(f"query {shown(name)} states {stated_ways}; it must state exactly one of {ways}")
        for way, value in zip(WAYS, (share, rho, variance, scale), strict=False):
            label = f"{way} of query {shown(name)}"
            set_fields(self, **{way: None if value is None else exact(value, name=label, field=(way,))})
        change = variable.bound if sensitivity is None else sensitivity
        for key, count in (("sensitivity", change), ("groups", groups)):
            set_fields(self, **{key: whole_number(count, name=f"{key} of query {shown(name)}", field=(key,))})
        set_fields(self, variable=variable)
        if self.sensitivity % variable.bound:
            raise FieldError(
                f"sensitivity of query {shown(name)} is {self.sensitivity}; the bound of what it adds up is "
                f"{variable.bound}, so leave it out (a multiple is for people with several records)",
                field=("sensitivity",),
            )
        if self.noise is not None:
            try:
                self.noise.check_changes(self.sensitivity, spread=False)
            except InputError as error:
                raise FieldError(f"query {shown(name)}: {error}", field=("sensitivity",)) from None

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
        if self.noise is not None:
            return self.noise.changing_by(self.sensitivity).repeated(self.groups)
        variance = self.variance
        if variance is None:
            rho = self.rho
            if self.share is not None:
                if level_rho is None:
                    raise FieldError(f"query {shown(self.name)} states a share, but its level states no rho")
                rho = self.share * level_rho
            assert rho is not None
            variance = self.groups * self.sensitivity**2 * records_apart(neighbours) / (2 * rho)
        return DiscreteGaussian(variance=variance, sensitivity=self.sensitivity, times=self.groups)

    def with_variance(self, variance: Exact) -> Query:
        """Return the query with discrete Gaussian noise of this variance."""
        size = exact(variance, name=f"variance of query {shown(self.name)}", field=("variance",))
        return replace(self, variance=size, share=None, rho=None, scale=None, noise=None)

    def with_noise(self, noise: Noise) -> Query:
        """Return the query with this noise on one count.

        >>> Query(name="total", rho=1).with_noise(DiscreteLaplace(scale=3)).scale
        Fraction(3, 1)
        """
        return replace(self, share=None, rho=None, variance=None, scale=None, noise=noise)

    def without_rho(self, event: Noise) -> Query:
        """Return the query with the variance of its event where it states a rho or a share of one."""
        if self.scale is not None or self.noise is not None:
            return self
        return self.with_variance(event.size)

    def weighted_by(self, weight: RecordWeight | None) -> Query:
        """Return the query in a release with this weight: as many records change it as before.

        A query that has a weight keeps it, or one record would change it by more than is accounted for.
        """
        variable = self.variable.weighted_by(weight)
        if self.variable.weight is not None and variable != self.variable:
            text = (
                f"query {shown(self.name)} has the weight {shown(self.variable.weight.column)} with its bound"
            )
            raise FieldError(f"{text}, which is not that of the release", field=("queries", self.name))
        if variable == self.variable:
            return self
        records = self.sensitivity // self.variable.bound
        return replace(self, variable=variable, sensitivity=records * variable.bound)

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
        if self.noise is not None:
            require("scaling", [self.noise])
            times = factor if self.noise.variance_power == 1 else root_up(factor)
            return replace(self, noise=self.noise.resized(self.noise.size * times))
        return self


@dataclass(frozen=True, kw_only=True, init=False)
class Level(Forgetful):
    """A level and its queries. If they state shares, the level states the `rho` that they share.

    `areas` is how many areas it has, where that is known: replacing a record changes no total of a single
    area.

    >>> queries = [Query(name="a", share="1/4"), Query(name="b", share="3/4")]
    >>> state = Level(name="State", rho="1/2", queries=queries)
    >>> [str(event.variance) for event in state.events("bounded")]
    ['8', '8/3']
    """

    name: str
    rho: Fraction | None
    queries: tuple[Query, ...]
    areas: int | None

    @understandable
    def __init__(
        self, *, name: str, rho: Exact | None = None, queries: Iterable[Query], areas: int | None = None
    ) -> None:
        label = f"level {shown(line(name, name='name of a level', field=('name',)))}"
        if "+" in name:
            raise FieldError(f"{label} has a + in its name, which marks merged levels", field=("name",))
        if name != name.strip():
            raise FieldError(f"{label} has a space before or after its name", field=("name",))
        total = None if rho is None else exact(rho, name=f"rho of {label}", field=("rho",))
        many = None if areas is None else whole_number(areas, name=f"areas of {label}", field=("areas",))
        made = tuple(queries) if is_column(queries) else (queries,)
        if not all(isinstance(query, Query) for query in made):
            text = f'queries of {label} must be a list of them, such as [Query(name="total", variance=5)]'
            raise FieldError(text, field=("queries",))
        set_fields(self, name=name, rho=total, queries=made, areas=many)
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

    def weighted_by(self, weight: RecordWeight | None) -> Level:
        """Return the level in a release with this weight."""
        queries = tuple(query.weighted_by(weight) for query in self.queries)
        return self if queries == self.queries else replace(self, queries=queries)

    @property
    def lacks_rho(self) -> bool:
        """Whether a query has noise other than discrete Gaussian, which states no rho.

        >>> Level(name="State", queries=[Query(name="total", scale=2)]).lacks_rho
        True
        """
        return any(query.scale is not None or query.noise is not None for query in self.queries)

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
        """Return the sum of g s^2 / variance over the queries, noise other than Gaussian left out.

        >>> Level(name="State", queries=[Query(name="total", variance=5, groups=2)]).precision("bounded")
        Fraction(2, 5)
        """
        return sum((event.precision for event in self.events(neighbours)), Fraction(0))

    def spent(self, neighbours: Neighbours) -> Fraction:
        """Return the rho of the level's Gaussian noise under the given neighbours.

        >>> Level(name="State", queries=[Query(name="total", variance=5)]).spent("unbounded")
        Fraction(1, 10)
        """
        return self.precision(neighbours) * records_apart(neighbours) / 2

    def scaled(self, factor: Fraction) -> Level:
        """Return the level with every variance multiplied by `factor`.

        >>> Level(name="State", rho=1, queries=[Query(name="total", share=1)]).scaled(Fraction(4)).rho
        Fraction(1, 4)
        """
        rho = None if self.rho is None else self.rho / factor
        return replace(self, rho=rho, queries=tuple(query.scaled(factor) for query in self.queries))


def _one_count(noise: Noise, name: str) -> Noise:
    """The noise of one count that one record changes by 1: the query says how often, and by how much."""
    if not isinstance(noise, Noise):
        raise FieldError(
            f"noise of query {shown(name)} is {shown(noise)}; it must be a law of noise, such as "
            "PowerNoise(3, scale=2) or TableNoise({-1: '1/4', 0: '1/2', 1: '1/4'})",
            field=("noise",),
        )
    if noise.sensitivity != 1 or noise.times != 1:
        raise FieldError(
            f"noise of query {shown(name)} is {noise}; give it for one count, and state `sensitivity` and "
            "`groups` of the query",
            field=("noise",),
        )
    return noise


def root_up(factor: Fraction) -> Fraction:
    """Return the square root, exact if it is rational, else rounded up to a multiple of 2^-64 / denominator.

    >>> root_up(Fraction(4, 9)), float(root_up(Fraction(2)))
    (Fraction(2, 3), 1.4142135623730951)
    """
    square = factor.numerator * factor.denominator
    if math.isqrt(square) ** 2 == square:
        return Fraction(math.isqrt(square), factor.denominator)
    return Fraction(math.isqrt(square << 128) + 1, factor.denominator << 64)
