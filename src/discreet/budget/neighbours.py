"""Neighbouring databases, and the cases in which the events of a release tell two of them apart.

*Unbounded*: one record is added or removed, and the events of its path tell the two apart. *Bounded*: one
record is replaced by another, and the events of both paths do, so that all pairs of paths count. Releases
about the same people over the same spine are joined path by path, since a record has the same path in each;
for releases over different spines it is not known which paths go together, so all combinations count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal, overload

from discreet import numbers
from discreet.budget.spine import Runs
from discreet.budget.toml import one_of
from discreet.errors import InputError
from discreet.memory import Forgetful
from discreet.noise import Noise, grouped

if TYPE_CHECKING:
    from discreet.budget.release import Release

Neighbours = Literal["bounded", "unbounded"]
"""Bounded: one record is replaced. Unbounded: one record is added or removed."""

RELATIONS: tuple[Neighbours, ...] = ("bounded", "unbounded")
"""Both relations."""

CaseLabel = tuple[int, ...] | tuple[tuple[int, ...], ...]
"""`(i, j)` or `(i,)` in numbers of paths; for several releases a tuple of those."""

Case = tuple[CaseLabel, tuple[Noise, ...]]
"""A label and the grouped events that tell two neighbours apart."""


def records_apart(neighbours: Neighbours) -> int:
    """Return how many records make two neighbours differ: one that is added, or two if one replaces another.

    >>> [records_apart(relation) for relation in RELATIONS]
    [2, 1]
    """
    return 2 if one_of(neighbours, RELATIONS, name="neighbours", field=("neighbours",)) == "bounded" else 1


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
        both = (way for g in self.groups for events in g.events for event in events for way in _ways(event))
        return grouped(both)

    @cached_property
    def _ranked(self) -> tuple[tuple[dict[int, int], ...], ...]:
        """For each group and path, the times of each kind."""
        rank = {event.key: number for number, event in enumerate(self._kinds)}
        return tuple(
            tuple({rank[event.key]: event.times for event in events} for events in g.events)
            for g in self.groups
        )

    @cached_property
    def _other_way(self) -> dict[int, int]:
        """For each kind whose loss is not mirrored, the number of that with the hypotheses exchanged."""
        rank = {event.key: number for number, event in enumerate(self._kinds)}
        uneven = ((number, event) for number, event in enumerate(self._kinds) if not event.is_mirrored)
        other = ((number, rank.get(event.exchanged().key)) for number, event in uneven)
        # (what is exchanged already is not exchanged again)
        return {number: kind for number, kind in other if kind is not None}

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
            for position, path in enumerate(paths):
                for key, often in ranked[path].items():
                    # the record of the second path comes where that of the first leaves
                    kind = self._other_way.get(key, key) if position else key
                    times[kind] = times.get(kind, 0) + often
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


def _ways(event: Noise) -> tuple[Noise, ...]:
    """The event, and with its hypotheses exchanged if its loss is not mirrored."""
    return (event,) if event.is_mirrored else (event, event.exchanged())


def _pair(number: int, many: int) -> tuple[int, int]:
    """The pair of this number among (0, 0), (0, 1), ..., (1, 1), ... of `many` paths."""
    # i rows before it hold i (2 many - i + 1) / 2 pairs
    i = int((2 * many + 1 - math.sqrt((2 * many + 1) ** 2 - 8 * number)) // 2)
    while i * (2 * many - i + 1) // 2 > number:
        i -= 1
    while (i + 1) * (2 * many - i) // 2 <= number:
        i += 1
    return i, i + number - i * (2 * many - i + 1) // 2


def case_name(label: CaseLabel) -> str:
    """Write the label of a case: a pair of paths, a path, or one of them for each release.

    >>> case_name((6, 6)), case_name((4,)), case_name(((1, 1), (6, 6)))
    ('(6, 6)', '4', '(1, 1) with (6, 6)')
    """
    if all(isinstance(part, tuple) for part in label):
        return " with ".join(case_name(part) for part in label if isinstance(part, tuple))
    return str(label) if len(label) > 1 else str(label[0])


def cases(
    release: Release, neighbours: Neighbours, people: int = 1, *, one_area: Collection[str] = ()
) -> Cases:
    """Return all cases that an accountant must compare, in the order of the paths.

    `people` is the size of the group that is protected together: every sensitivity is multiplied by it. The
    totals of levels with `one_area` are left out where no neighbour can change them.

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
    paired = records_apart(neighbours) == 2
    left_out = [release.constants(neighbours, one_area)]
    group = _joined([(0, release)], numbers.whole(people, name="people"), left_out)
    return Cases((group,), paired)


def one_case(release: Release, label: Sequence[int], people: int = 1) -> tuple[Noise, ...]:
    """Return the events of one case of a release by its label, without building the others.

    >>> from discreet.budget import load
    >>> one_case(load("dhc-2020"), (6, 14)) == dict(cases(load("dhc-2020"), "bounded"))[6, 14]
    True
    """
    many = numbers.whole(people, name="people")
    # the record of the second path comes where that of the first leaves
    return grouped(
        event.exchanged() if position else event
        for position, path in enumerate(label)
        for event in (counted.for_people(many) for counted in release.path_events(path))
    )


def main_case(release: Release, neighbours: Neighbours) -> tuple[int, ...]:
    """Return the label of the case whose records follow the main path."""
    return (release.main,) * records_apart(neighbours)


def joint_cases(
    releases: Sequence[Release],
    neighbours: Neighbours,
    people: int = 1,
    *,
    one_area: Sequence[Collection[str]] | None = None,
) -> Cases:
    """Return all cases of several releases about the same people.

    Releases over the same spine are joined path by path; for different spines all combinations are compared.
    `one_area` names, for each release, the levels with one area, as `cases` takes them.

    >>> from discreet.budget import load
    >>> len(joint_cases([load("pl94-2020-persons"), load("dhc-2020")], "bounded"))
    34056
    >>> joint_cases([load("dhc-2020"), load("dhc-2020")], "bounded")[1][0]
    ((1, 2), (1, 2))
    """
    paired = records_apart(neighbours) == 2
    many = numbers.whole(people, name="people")
    spines: dict[frozenset[Runs], list[tuple[int, Release]]] = {}
    for number, release in enumerate(releases):
        spine = frozenset(release.runs(path) for path in release.paths)
        spines.setdefault(spine, []).append((number, release))
    named: Sequence[Collection[str]] = [()] * len(releases) if one_area is None else one_area
    left_out = [
        release.constants(neighbours, levels) for release, levels in zip(releases, named, strict=True)
    ]
    groups = tuple(_joined(members, many, left_out) for members in spines.values())
    return Cases(groups, paired, single=False)


def _joined(
    members: Sequence[tuple[int, Release]], people: int, left_out: Sequence[Collection[tuple[str, str]]]
) -> PathGroup:
    """The paths of releases over one spine, which may number them differently, but for some queries."""
    first = members[0][1]
    numbered: list[Mapping[Runs, int]] = [{r.runs(path): path for path in r.paths} for _, r in members]
    numbers, events = [], []
    for path in first.paths:
        runs = first.runs(path)
        here = tuple(by_runs[runs] for by_runs in numbered)
        own = [
            event
            for (member, release), path_ in zip(members, here, strict=True)
            for event in release.path_events(path_, left_out[member])
        ]
        # where no query of a path can change, a record of it costs no more than one of any other path
        if own or not any(left_out):
            numbers.append(here)
            events.append(grouped(event.for_people(people) for event in own))
    if not events:
        raise InputError(
            "one_area leaves out every query: replacing a record changes nothing that is counted, so nothing "
            "is spent, and epsilon is 0 at every delta"
        )
    mains = [k for k, here in enumerate(numbers) if here[0] == first.main]
    return PathGroup(tuple(number for number, _ in members), tuple(numbers), tuple(events), *(mains or [0]))
