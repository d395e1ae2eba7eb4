"""What a run writes into a ledger: one entry for each pass, since they are over different people.

A geography and level with an infinite budget is published without noise. Such a run is not entered: what has
no noise has no cost that could be counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import version
from typing import Any

from discreet.errors import InputError
from discreet.release.ledger import NOT_PRIVATE, Entry, now
from discreet.release.safetab.account import budget_release
from discreet.release.safetab.configuration import Configuration
from discreet.release.safetab.geographies import LEVEL_WORDS, Pass
from discreet.release.safetab.specification import Specification

COMMAND = "safetab run"


def exact_places(configuration: Configuration, which: Pass) -> tuple[tuple[str, str], ...]:
    """Return the geographies and levels of a pass that are published without noise."""
    places = configuration.levels(which)
    return tuple(
        (where, LEVEL_WORDS[level]) for where, level in places if configuration.budgets[where, level] is None
    )


def warning(configuration: Configuration, rehearsal: int | None) -> str | None:
    """Return why the output is not private, if it is not."""
    reasons = [] if rehearsal is None else [f"rehearsal with seed {rehearsal}"]
    exact = [pair for which in configuration.passes for pair in exact_places(configuration, which)]
    everything = sum(len(configuration.levels(which)) for which in configuration.passes)
    if exact:
        places = ", ".join(f"{where} {level}" for where, level in exact)
        reasons.append("no noise" if len(exact) == everything else f"no noise at {places}")
    return f"{NOT_PRIVATE}: {'; '.join(reasons)}" if reasons else None


def entries(
    configuration: Configuration,
    specification: Specification,
    *,
    id: str,
    rehearsal: int | None,
    inputs: Sequence[Mapping[str, Any]],
    files: Mapping[str, str],
) -> tuple[Entry, ...]:
    """Return the ledger entries of a run: one for each pass that has noise."""
    made = []
    for which in configuration.passes:
        finite = with_noise(configuration)
        if not finite.levels(which):
            continue
        made.append(
            Entry(
                id=f"{id}-{which}",
                time=now(),
                version=version("discreet"),
                command=f"{COMMAND} {which}",
                release=budget_release(finite, specification, which),
                rehearsal=rehearsal,
                inputs=tuple(dict(item) for item in inputs),
                exact=exact_places(configuration, which),
                output=".",
                files=dict(files),
            )
        )
    return tuple(made)


def with_noise(configuration: Configuration) -> Configuration:
    """Return the part of a configuration whose budgets are finite."""
    finite = {place: Fraction(0) if rho is None else rho for place, rho in configuration.budgets.items()}
    return replace(configuration, budgets=finite)


def check_noise(configuration: Configuration, *, said: bool) -> None:
    """Raise unless budgets are infinite if and only if it was said that there is to be no noise."""
    exact = [pair for which in configuration.passes for pair in exact_places(configuration, which)]
    if exact and not said:
        where, level = exact[0]
        more = f" and {len(exact) - 1} more" if len(exact) > 1 else ""
        raise InputError(
            f"the budget of {where} {level}{more} is infinite, so exact counts would be written; if you "
            "mean that, say --no-noise; the output is then marked NOT PRIVATE"
        )
    if said and not exact:
        raise InputError(
            "--no-noise is given, but every budget is finite; leave it out, or make a budget infinite"
        )


def check_shared(configuration: Configuration) -> None:
    """Raise unless a run fits into a ledger that several runs share: one pass, all of it with noise."""
    if len(configuration.passes) > 1:
        raise InputError(
            "the run is to be entered in a ledger, but both run_us and run_pr are true; the two passes "
            "count different "
            "people, and a ledger is for one population: run one pass at a time, each with its own ledger"
        )
    for which in configuration.passes:
        if exact_places(configuration, which):
            raise InputError(
                "the run is to be entered in a ledger, but a budget is infinite; what is published "
                "without noise has no finite "
                "cost to enter: give finite budgets, or use no ledger"
            )
