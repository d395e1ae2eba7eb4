"""What a set of cases must have so that the losses of all of them can be computed together.

`budget.neighbours.Cases` has it: each case takes one path, or two, of each group. Here nothing is known of
levels, releases or neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from discreet.noise import Noise

Case = tuple[object, tuple[Noise, ...]]
"""A label, and the events whose losses add up."""


class EventGroup(Protocol):
    """Alternatives of which a case takes one, or two."""

    @property
    def events(self) -> tuple[tuple[Noise, ...], ...]:
        """For each alternative, its events."""

    @property
    def main(self) -> int:
        """The index of the main alternative."""


@runtime_checkable
class GroupedCases(Protocol):
    """All cases that take alternatives of some groups, in every combination."""

    @property
    def groups(self) -> Sequence[EventGroup]:
        """The groups."""

    @property
    def paired(self) -> bool:
        """Whether a case takes two of each group."""

    @property
    def main(self) -> int:
        """The number of the case that takes the main alternatives."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many choices there are in each group."""

    def choice(self, number: int) -> tuple[tuple[int, ...], ...]:
        """The alternatives of each group in the case of this number."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int) -> Case: ...
