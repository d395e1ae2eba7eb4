"""All runs of a ledger as one release, so that the accountant can say what they cost together."""

from __future__ import annotations

import os
from itertools import product

from discreet.budget import DiscreteGaussian, Level, Neighbours, Query, Release, Spine
from discreet.budget.spine import MOST_PATHS, Runs
from discreet.errors import InputError
from discreet.release.ledger import Entry, read_ledger


def ledger_release(
    path: str | os.PathLike[str], *, unit: str | None = None, neighbours: Neighbours | None = None
) -> Release:
    """Return one release that stands for all runs of a ledger; rehearsals are left out.

    Its levels are those of all runs, each with its run's number. A record's path is made of its paths in the
    single runs. Runs over the same tree of units follow the same path; for others nothing is
    known, so all combinations are taken: the result can only be too large.

    `unit` picks what the record is of, if the ledger has runs about several. `neighbours` is needed if the
    runs were calibrated for different relations.
    """
    entries = [entry for entry in read_ledger(path).entries if entry.counted]
    unit = unit or _only({entry.release.unit for entry in entries}, "unit", path)
    entries = [entry for entry in entries if entry.release.unit == unit]
    relation = neighbours or _only({entry.release.neighbours for entry in entries}, "neighbours", path)
    numbered = list(enumerate(entries, start=1))
    levels = [level for number, entry in numbered for level in _levels(entry.release, number)]
    exact = dict.fromkeys(f"{level}: {query}" for entry in entries for level, query in entry.exact)
    notes = [f"Held exact, outside the guarantee: {pair}" for pair in exact]
    return Release(
        name="ledger",
        title=f"{len(entries)} {'run' if len(entries) == 1 else 'runs'} of one ledger",
        unit=unit,
        neighbours=relation,  # type: ignore[arg-type]
        levels=levels,
        spine=_spine(numbered, path),
        notes=notes,
    )


def _only(found: set[str], what: str, path: str | os.PathLike[str]) -> str:
    if not found:
        raise InputError(f"the ledger {path} has no run that counts, so there is nothing to account for")
    if len(found) > 1:
        raise InputError(
            f"the ledger {path} has runs of different {what} ({', '.join(sorted(found))}); name one"
        )
    return found.pop()


def _levels(release: Release, number: int) -> list[Level]:
    levels = []
    for level in release.levels:
        queries = []
        for query, event in zip(level.queries, level.events(release.neighbours), strict=True):
            gaussian = isinstance(event, DiscreteGaussian)
            queries.append(
                Query(
                    name=query.name,
                    variance=event.variance if isinstance(event, DiscreteGaussian) else None,
                    scale=None if gaussian else query.scale,
                    sensitivity=query.sensitivity,
                    groups=query.groups,
                )
            )
        levels.append(Level(name=_named(level.name, number), queries=queries))
    return levels


def _named(level: str, number: int) -> str:
    return f"run {number} {level}"


def _spine(numbered: list[tuple[int, Entry]], path: str | os.PathLike[str]) -> Spine | None:
    groups: dict[tuple[str, frozenset[Runs]], list[tuple[int, Entry]]] = {}
    for number, entry in numbered:
        runs = frozenset(entry.release.runs(one) for one in entry.release.paths)
        alone = entry.tree or entry.id  # a run without a tree has its path to itself
        groups.setdefault((alone, runs), []).append((number, entry))
    count = 1
    for _, runs in groups:
        count *= len(runs)
    if count == 1 and all(len(run) == 1 for _, paths in groups for one in paths for run in one):
        return None
    if count > MOST_PATHS:
        raise InputError(
            f"the runs of {path} give {count} combinations of paths; at most {MOST_PATHS} can be accounted "
            "for together. Runs over the same tree of units share their paths"
        )
    paths = []
    for chosen in product(*(sorted(runs) for _, runs in groups)):
        by_number = {
            number: one for members, one in zip(groups.values(), chosen, strict=True) for number, _ in members
        }
        texts = [
            "+".join(_named(name, number) for name in run)
            for number in sorted(by_number)
            for run in by_number[number]
        ]
        paths.append(texts)
    # The main path, which merges the fewest levels, gets the number 1.
    paths.sort(key=lambda texts: -len(texts))
    return Spine(paths=dict(enumerate(paths, start=1)))
