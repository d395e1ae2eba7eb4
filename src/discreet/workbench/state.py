"""What a session has decided so far: immutable, comparable, and all that a page needs to be drawn again.

A budget is a total, the levels' weights and each level's shares. Weights rather than shares, because one
level can then change while the others keep short numbers, and short numbers keep the lattice on which
accounting is fast.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from discreet.budget import Level, Neighbours, Query, Release, load
from discreet.budget.neighbours import RELATIONS
from discreet.errors import InputError
from discreet.noise import Noise
from discreet.numbers import read_delta

DELTA = Fraction(1, 10**10)
"""The delta at which the US Census Bureau reports."""

CHANGED = "-changed"
"""What the name of a release ends in once its budget was changed."""

_REMEMBERED = 64
_PLACES = 4  # a weight set by a slider is short: within a ten-thousandth of the others' sum


@dataclass(frozen=True, slots=True)
class Budget:
    """How the total rho is spent; a level of Laplace noise has weight 0 and stays as it is.

    >>> budget = Budget.of(load("dhc-2022-08-25"))
    >>> budget.total, budget.weights[:3]
    (Fraction(73, 20), (Fraction(20, 1), Fraction(274, 1), Fraction(85, 1)))
    """

    total: Fraction
    weights: tuple[Fraction, ...]
    shares: tuple[tuple[Fraction, ...], ...]

    @classmethod
    def of(cls, release: Release) -> Budget:
        """Return the budget as a release states it, weights as whole numbers without a common divisor."""
        spent, shares = [], []
        for level in release.levels:
            rho = Fraction(0) if level.has_laplace else level.spent(release.neighbours)
            spent.append(rho)
            copies = 1 if release.neighbours == "bounded" else 2
            events = level.events(release.neighbours)
            shares.append(tuple(_precision(event) / (copies * rho) for event in events) if rho else ())
        total = sum(spent, Fraction(0))
        return cls(total, whole_weights(spent), tuple(shares))

    def share(self, place: int) -> Fraction:
        """Return a level's part of the total."""
        whole = sum(self.weights, Fraction(0))
        return self.weights[place] / whole if whole else Fraction(0)

    def with_share(self, place: int, share: Fraction) -> Budget:
        """Return the budget with about this part for one level, the others in their old proportions.

        >>> budget = Budget.of(load("dhc-2022-08-25")).with_share(1, Fraction(1, 2))
        >>> budget.share(1), budget.total
        (Fraction(1, 2), Fraction(73, 20))
        """
        others = sum(self.weights, Fraction(0)) - self.weights[place]
        if not 0 < share < 1 or not others:
            raise InputError(f"the share of a level is {share}; it must lie strictly between 0 and 1")
        unit = Fraction(10) ** (math.floor(math.log10(others)) - _PLACES)
        weight = max(round(share / (1 - share) * others / unit), 1) * unit
        weights = (*self.weights[:place], weight, *self.weights[place + 1 :])
        return replace(self, weights=whole_weights(weights))

    def with_shares(self, place: int, shares: tuple[Fraction, ...]) -> Budget:
        """Return the budget with these shares of the queries of one level."""
        return replace(self, shares=(*self.shares[:place], shares, *self.shares[place + 1 :]))


@dataclass(frozen=True)
class State:
    """One state of a session.

    >>> state = State.of("dhc-2022-08-25")
    >>> state.release is state.base, state.release.rho
    (True, Fraction(73, 20))
    >>> half = state.with_budget(replace(state.budget, total=Fraction(73, 40)))
    >>> half.release.name, half.release.rho, half.release.variance_table()[0].variance
    ('dhc-2022-08-25-changed', Fraction(73, 40), Fraction(10000, 73))
    """

    base: Release
    source: str
    is_preset: bool
    changed: Budget | None = None
    delta: Fraction = DELTA
    neighbours: Neighbours | None = None
    settings: tuple[tuple[str, str, str], ...] = field(default=())
    """What other pages remember: (page, name, text)."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel to another process without what was derived here."""
        stated = (self.base, self.source, self.is_preset, self.changed, self.delta, self.neighbours)
        return State, (*stated, self.settings)

    @classmethod
    def of(cls, preset: str) -> State:
        """Return the first state of a preset."""
        release = load(preset)
        return cls(release, release.name, True)

    @property
    def stated(self) -> Budget:
        """The budget as the base states it."""
        return _stated(self.base)

    @property
    def budget(self) -> Budget:
        """The budget as it is now."""
        return self.changed or self.stated

    @cached_property
    def release(self) -> Release:
        """The release as it is now; the base itself while nothing was changed."""
        return self.base if self.changed is None else _rebuilt(self.base, self.changed)

    @property
    def relation(self) -> Neighbours:
        """The neighbours that are accounted for."""
        return self.neighbours or self.base.neighbours

    @property
    def factor(self) -> Fraction:
        """The total over the stated total."""
        return self.budget.total / self.stated.total if self.stated.total else Fraction(1)

    @cached_property
    def main_events(self) -> tuple[Noise, ...]:
        """The events that tell two neighbours of the main path apart."""
        events = self.release.path_events(self.release.main)
        return (*events, *events) if self.relation == "bounded" else events

    def with_budget(self, budget: Budget) -> State:
        """Return the state with another budget; one that equals the stated one is no change."""
        return replace(self, changed=None if budget == self.stated else budget)

    def with_total(self, factor: Fraction) -> State:
        """Return the state with the stated total times a factor."""
        return self.with_budget(replace(self.budget, total=self.stated.total * factor))

    def with_release(self, release: Release) -> State:
        """Return the state with the budget of another release of the same levels and queries."""
        return self.with_budget(Budget.of(release))

    def with_delta(self, text: str) -> State:
        """Return the state with another delta.

        >>> State.of("dhc-2020").with_delta("1")
        Traceback (most recent call last):
        discreet.errors.InputError: delta is 1; it must lie strictly between 0 and 1
        """
        delta = read_delta(text)
        return replace(self, delta=delta)

    def with_neighbours(self, relation: str) -> State:
        """Return the state with other neighbours; those of the base are no change."""
        for known in RELATIONS:
            if relation == known:
                return replace(self, neighbours=None if known == self.base.neighbours else known)
        raise InputError(f"neighbours is {relation!r}; it must be 'bounded' or 'unbounded'")

    def setting(self, page: str, name: str, default: str = "") -> str:
        """Return what a page has remembered under a name."""
        return next((text for p, n, text in self.settings if (p, n) == (page, name)), default)

    def gives_same(self, other: State) -> bool:
        """Whether another state has the same numbers; what pages remember for themselves may differ.

        >>> state = State.of("dhc-2020")
        >>> state.gives_same(state.with_settings("risk", {"prior": "1/3"}))
        True
        """
        mine = (self.base, self.changed, self.delta, self.neighbours)
        return mine == (other.base, other.changed, other.delta, other.neighbours)

    def with_settings(self, page: str, values: Mapping[str, str]) -> State:
        """Return the state with texts that a page remembers; an empty one is forgotten.

        >>> state = State.of("dhc-2020").with_settings("risk", {"prior": "1/2"})
        >>> state.setting("risk", "prior"), state.setting("risk", "level", "Block")
        ('1/2', 'Block')
        """
        kept = [item for item in self.settings if item[0] != page or item[1] not in values]
        new = [(page, name, text) for name, text in values.items() if text]
        return replace(self, settings=tuple(sorted([*kept, *new])))


_known: OrderedDict[int, tuple[Release, Budget]] = OrderedDict()


def _stated(base: Release) -> Budget:
    """The budget of a release, by its identity: a dragged slider asks for that of one and the same object."""
    found = _known.get(id(base))
    if found is None or found[0] is not base:
        found = _known[id(base)] = (base, Budget.of(base))
        while len(_known) > _REMEMBERED:
            _known.popitem(last=False)
    return found[1]


def _precision(event: Noise) -> Fraction:
    return event.precision


def whole_weights(weights: list[Fraction] | tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Return the same proportions in whole numbers without a common divisor.

    >>> whole_weights((Fraction(1, 2), Fraction(1, 3)))
    (Fraction(3, 1), Fraction(2, 1))
    """
    scale = math.lcm(*(weight.denominator for weight in weights))
    numbers = [int(weight * scale) for weight in weights]
    divisor = math.gcd(*numbers) or 1
    return tuple(Fraction(number // divisor) for number in numbers)


def _rebuilt(base: Release, budget: Budget) -> Release:
    levels = []
    for place, level in enumerate(base.levels):
        if not budget.weights[place]:
            levels.append(level)
            continue
        queries = [
            Query(name=query.name, share=share, sensitivity=query.sensitivity, groups=query.groups)
            for query, share in zip(level.queries, budget.shares[place], strict=True)
        ]
        levels.append(Level(name=level.name, rho=budget.total * budget.share(place), queries=queries))
    has_laplace = any(level.has_laplace for level in base.levels)
    name = base.name if base.name.endswith(CHANGED) else base.name + CHANGED
    return replace(base, name=name, rho=None if has_laplace else budget.total, levels=tuple(levels))


TOTAL_STEPS = 100
_WIDEST = 4  # the total slider spans a quarter to four times the stated total


def factor_at(step: int) -> Fraction:
    """Return the factor on the total at a step of the slider, of three digits; 0 is exactly 1.

    >>> factor_at(0), factor_at(100), factor_at(-50), factor_at(1)
    (Fraction(1, 1), Fraction(4, 1), Fraction(1, 2), Fraction(101, 100))
    """
    step = max(-TOTAL_STEPS, min(TOTAL_STEPS, step))
    return Fraction(f"{_WIDEST ** (step / TOTAL_STEPS):.3g}")


def step_of(factor: Fraction) -> int:
    """Return the step of the total slider that is nearest to a factor.

    >>> [step_of(factor_at(step)) for step in (-100, -1, 0, 7, 100)]
    [-100, -1, 0, 7, 100]
    """
    if factor <= 0:
        return -TOTAL_STEPS
    step = round(math.log(factor, _WIDEST) * TOTAL_STEPS)
    return max(-TOTAL_STEPS, min(TOTAL_STEPS, step))


def differing_levels(first: Budget, second: Budget) -> list[int]:
    """Return the places of the levels whose part of the total is not the same in two budgets."""
    return [i for i in range(len(first.weights)) if first.share(i) != second.share(i)]
