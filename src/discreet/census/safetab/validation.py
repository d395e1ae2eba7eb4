"""Whether parameters and records can be used: every problem of both, and no value of any record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from discreet.census.safetab.asked import EngineName, Memory, SparkMaster, Threads, Totals
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.specification import read_specification, read_water, safetab_p
from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.files import FilePath

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Validation(Summarised):
    """What a check of parameters and records found; `regions` are counted by geography."""

    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    regions: Mapping[str, int] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """Whether the input can be used."""
        return not self.problems


def check_input(
    params: FilePath,
    data: FilePath,
    *,
    totals: Totals = None,
    engine: EngineName = "duckdb",
    spark_master: SparkMaster = None,
    memory: Memory = None,
    threads: Threads = None,
) -> Validation:
    """Check the parameters of `params`, and if they are right the records of `data`.

    `totals` is a list of published totals, as for `run`.

    >>> validation = check_input("no-params", "no-data")
    >>> validation.valid, validation.notes
    (False, ('the records were not looked at, for the parameters must be right first',))
    """
    from discreet.census.mechanism.published import find_totals, picked_groups, read_lists
    from discreet.census.mechanism.records import check_person_records, find_sources
    from discreet.records.engine import connect

    params, data, problems = Path(params), Path(data), list[str]()
    configuration = _collect(lambda: read_configuration(params), problems)
    specification = _collect(lambda: read_specification(params), problems)
    _collect(lambda: read_water(params), problems)
    if configuration is None or specification is None:
        known = configuration or specification
        _collect(lambda: find_sources(data, known.tabulation if known else safetab_p()), problems)
        note = "the records were not looked at, for the parameters must be right first"
        return Validation(tuple(problems), (note,))
    notes = (*configuration.notes, *specification.notes)
    given = None if totals is None else Path(totals)
    tabulation = configuration.tabulation
    lists = _collect(
        lambda: read_lists(find_totals(tabulation, params, data, given), specification), problems
    )
    with connect(engine, spark_master=spark_master, memory=memory, threads=threads) as connection:
        geography = _collect(
            lambda: check_person_records(data, configuration, specification, engine=connection), problems
        )
    if geography is None:
        return Validation(tuple(problems), notes)
    places = [place for which in configuration.passes for place in configuration.levels(which)]
    if lists:
        _collect(partial(picked_groups, lists, geography, configuration, places), problems)
    regions = {name: len(some) for name, some in geography.regions.items() if some}
    return Validation(tuple(problems), (*notes, *geography.notes), regions)


def _collect(work: Callable[[], T], problems: list[str]) -> T | None:
    """Do the work; if it cannot be done, note each problem and return None."""
    try:
        return work()
    except InputError as error:
        head, *rest = str(error).split("\n")
        problems += [line.strip().partition(". ")[2] for line in rest] or [head]
        return None
