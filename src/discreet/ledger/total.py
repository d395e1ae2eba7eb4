"""A total: the most that all runs of a ledger together may spend on one record."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.budget import Neighbours
from discreet.budget.neighbours import RELATIONS
from discreet.budget.release import UNITS
from discreet.budget.toml import exact, one_of
from discreet.errors import InputError
from discreet.memory import set_fields
from discreet.numbers import Exact, brief, fraction


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Total:
    """The most that all runs of a ledger together may spend on one record: a rho, or an epsilon at a delta.

    `unit` is what a record is of. Several units joined by `+` are a record of each at once, such as a person
    and the household they live in: what the runs about each of them spend is then counted together.

    >>> print(Total(unit="person", neighbours="bounded", rho="3/4"))
    person, bounded neighbours: rho 3/4
    >>> print(Total(unit="person+household", neighbours="bounded", epsilon=20, delta="1e-10"))
    person+household, bounded neighbours: epsilon 20 at delta 1e-10
    """

    unit: str
    neighbours: Neighbours
    rho: Fraction | None
    epsilon: Fraction | None
    delta: Fraction | None

    def __init__(
        self,
        *,
        unit: str,
        neighbours: Neighbours,
        rho: Exact | None = None,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
    ) -> None:
        names = [name.strip() for name in str(unit).split("+")]
        joined = [one_of(name, UNITS, name="unit of a total", field=("unit",)) for name in names]
        if len(set(joined)) < len(joined):
            raise InputError(f"unit of a total is {unit!r}, which names one twice")
        relation = one_of(neighbours, RELATIONS, name="neighbours of a total", field=("neighbours",))
        if (rho is None) == (epsilon is None) or (delta is None) != (epsilon is None):
            raise InputError("a total is a rho, or an epsilon with a delta: give one of the two")
        limits = {
            name: None if limit is None else exact(limit, name=f"{name} of a total", field=(name,))
            for name, limit in (("rho", rho), ("epsilon", epsilon))
        }
        at = None if delta is None else fraction(delta, name="delta of a total")
        if at is not None and not 0 <= at < 1:
            raise InputError(f"delta of a total is {delta}; it must be at least 0 and below 1")
        set_fields(self, unit="+".join(joined), neighbours=relation, **limits, delta=at)

    @property
    def units(self) -> tuple[str, ...]:
        """The units that are counted together."""
        return tuple(self.unit.split("+"))

    @property
    def key(self) -> tuple[str, Fraction | None]:
        """What a later total must have in common with this one to take its place."""
        return self.unit, self.delta

    @property
    def limit(self) -> str:
        """The limit in words."""
        if self.delta is None:
            return f"rho {self.rho}"
        return f"epsilon {self.epsilon} at delta {short_delta(self.delta)}"

    def document(self) -> dict[str, str]:
        """Return the total as a ledger writes it."""
        limits = ("rho",) if self.delta is None else ("epsilon", "delta")
        return {name: str(getattr(self, name)) for name in ("unit", "neighbours", *limits)}

    def __str__(self) -> str:
        return f"{self.unit}, {self.neighbours} neighbours: {self.limit}"


def short_delta(delta: Fraction | None) -> str:
    """Write a delta as people do.

    >>> short_delta(Fraction(1, 10**10)), short_delta(Fraction(0)), short_delta(Fraction(1, 3))
    ('1e-10', '0', '1/3')
    """
    assert delta is not None
    text = brief(delta)
    return text if Fraction(text) == delta else str(delta)
