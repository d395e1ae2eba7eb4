"""Neighbouring databases: which events tell one from the other.

*Unbounded*: one record is added or removed, and the events of its path tell. *Bounded*: one record is
replaced by another, and the events of both paths tell, so that all pairs of paths count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from discreet.budget.events import Event, kind, of_kind
from discreet.budget.fields import one_of, whole

if TYPE_CHECKING:
    from discreet.budget.release import Release

Neighbours = Literal["bounded", "unbounded"]
"""Bounded: one record is replaced. Unbounded: one record is added or removed."""

RELATIONS: tuple[Neighbours, ...] = ("bounded", "unbounded")
"""Both relations."""

Case = tuple[tuple[int, ...], tuple[Event, ...]]
"""A label, `(i, j)` or `(i,)` in numbers of paths, and the grouped events."""


def cases(release: Release, neighbours: Neighbours, people: int = 1) -> list[Case]:
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
    many = whole(people, name="people")
    single = {
        number: tuple(event.for_people(many) for event in release.path_events(number))
        for number in release.paths
    }
    if neighbours == "unbounded":
        return [((number,), events) for number, events in single.items()]

    # Each kind of event gets its rank in the order of `grouped`: pairs then need no arithmetic of fractions.
    kinds = sorted({kind(event) for events in single.values() for event in events})
    rank = {key: place for place, key in enumerate(kinds)}
    ranked = [
        (number, {rank[kind(event)]: event.times for event in events}) for number, events in single.items()
    ]
    made: dict[tuple[int, int], Event] = {}
    found: list[Case] = []
    for place, (i, first) in enumerate(ranked):
        for j, second in ranked[place:]:
            times = dict(first)
            for key, often in second.items():
                times[key] = times.get(key, 0) + often
            events = []
            for item in sorted(times.items()):
                if item not in made:
                    made[item] = of_kind(kinds[item[0]], item[1])
                events.append(made[item])
            found.append(((i, j), tuple(events)))
    return found
