"""Whom a run is charged to: the unit it is about, and the people whom it counts in their households.

A run over people and households protects a household. A person is not safe from it: whatever happens to them
happens to the household they live in (`docs/explanation/joins.md`). So such a run is charged to a person too:

- Somebody who *comes or goes* makes one household another one. At its place in the tree, each table loses at
  most its limit in some cells and gets at most its limit in others: two counts of each query change.
- Somebody who is *replaced* by another person, who may live elsewhere, changes two households. Both may
  change from one cell to the same other one: two counts change by twice the limit.

Both are bounds, by the theorem of that page, and may not be attained. A run whose records are households,
with no people in it, is charged to households alone: what is left out of a sum is for its sentence to name.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.budget import Level, Neighbours, Release
from discreet.budget.claims import AnswerKind
from discreet.budget.neighbours import records_apart
from discreet.errors import InputError
from discreet.ledger.entry import Entry

PERSON, HOUSEHOLD = "person", "household"

_REASON = {
    "bounded": "Runs that count people in households are charged to a person as two households that change: "
    "the one they leave, and the one where another person comes.",
    "unbounded": "Runs that count people in households are charged to a person as one household that "
    "becomes another.",
}


def counts_people(release: Release) -> bool:
    """Whether the release is about households, and its records are people.

    >>> from discreet.budget import load
    >>> counts_people(load("sdhc-2020")), counts_people(load("dhc-2020"))
    (True, False)
    """
    return release.join is not None and release.unit == HOUSEHOLD


def charged_units(release: Release) -> tuple[str, ...]:
    """Return the units that a run of the release is charged to, its own first.

    >>> from discreet.budget import load
    >>> charged_units(load("sdhc-2020"))
    ('household', 'person')
    """
    return (release.unit, PERSON) if counts_people(release) else (release.unit,)


def charged(entry: Entry, unit: str, neighbours: Neighbours) -> Entry | None:
    """Return a run as one record of a unit is charged for it, under the given neighbours; None if it is not.

    Of several units joined by `+`, one record of each changes: a person, and the household they live in. That
    household is among those that a person changes.

    >>> from discreet.budget import load
    >>> from discreet.ledger.spending import spent
    >>> run = Entry(release=load("sdhc-2020"))
    >>> of_one = charged(run, "person", "bounded")
    >>> spent(of_one.release, "bounded") / spent(run.release, "bounded")
    Fraction(4, 1)
    >>> spent(charged(run, "person", "unbounded").release, "unbounded") == spent(run.release, "bounded")
    True
    """
    units = unit.split("+")
    if PERSON in units and counts_people(entry.release):
        if entry.delta:
            raise InputError(
                f"the run of {entry.time} ({entry.command}) counts people in households and holds but for an "
                f"event of probability {entry.delta}: what it costs one person is not known; ask for one "
                f"{HOUSEHOLD}"
            )
        # what was written is the charge of the household; a person's is computed
        return replace(entry, release=_of_a_person(entry.release, neighbours), charged=None)
    return entry if entry.release.unit in units else None


def _of_a_person(release: Release, neighbours: Neighbours) -> Release:
    """Return a release of households as one person can change it, for one relation between people."""
    levels = []
    for level in release.levels:
        queries = []
        for query, event in zip(level.queries, level.events(release.neighbours), strict=True):
            stated = query.without_rho(event)
            if records_apart(neighbours) == 2:
                queries.append(replace(stated, sensitivity=2 * event.sensitivity))
            else:  # the household stays where it is: one path, and two counts of each of its queries
                queries.append(replace(stated, groups=2 * event.times))
        levels.append(Level(name=level.name, queries=queries))
    reasons = (*release.claim.reasons, _REASON[neighbours])
    model = release.claim.kind is AnswerKind.MODEL
    return replace(
        release,
        unit=PERSON,
        neighbours=neighbours,
        rho=None,
        levels=tuple(levels),
        join=None,
        input=None,
        kind=AnswerKind.MODEL if model else AnswerKind.BOUND,
        reason=" ".join(reasons),
    )
