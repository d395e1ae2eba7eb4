"""Write a synthetic nation: PARAMS and DATA, all or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.budget.fields import whole
from discreet.errors import InputError
from discreet.release.commit import free, staging
from discreet.release.safetab.configuration import read_configuration
from discreet.release.safetab.geographies import STATES
from discreet.release.safetab.specification import read_specification
from discreet.release.safetab.synthetic import invented
from discreet.release.safetab.synthetic.answers import answers
from discreet.release.safetab.synthetic.geography import NO_AREA, NO_PLACE, Country, build
from discreet.release.safetab.synthetic.people import Population
from discreet.release.safetab.synthetic.writing import Format, write_blocks, write_people

MOST_PEOPLE = 10**9
PEOPLE_OF_A_STATE = 50_000
"""So many people for each state, if it is not said how many states there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nation:
    """What was written."""

    out: Path
    params: Path
    data: Path
    people: int
    seed: int
    states: int
    counties: int
    tracts: int
    blocks: int
    places: int
    areas: int
    codes: int
    files: tuple[str, ...]
    bytes: int


def synthesize(
    out: str | os.PathLike[str],
    *,
    people: int,
    states: int | None = None,
    seed: int = 1,
    params: str | os.PathLike[str] | None = None,
    format: Format = "csv",
    progress: Callable[[int, int], None] | None = None,
) -> Nation:
    """Write a synthetic nation to the new directory `out`; the same files for the same arguments.

    `out/data` gets the blocks and the people. `out/params` gets a small specification with a configuration;
    with `params`, people have the codes of that specification instead, and it stays where it is.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     made = synthesize(Path(folder) / "nation", people=500, states=2)
    >>> made.files[:3], made.states, made.codes
    (('data/GRF-C.txt', 'data/person-records.txt', 'params/config.json'), 3, 136)
    """
    if whole(people, name="people") > MOST_PEOPLE:
        raise InputError(f"people is {people}; at most {MOST_PEOPLE} are allowed")
    if seed < 0:
        raise InputError(f"seed is {seed}; it must be zero or more")
    chosen = _states(people, states, None if params is None else Path(params))
    free(out)
    source = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    with staging(out) as stage:
        data = stage.path / "data"
        data.mkdir()
        if params is None:
            (stage.path / "params").mkdir()
            invented.write(stage.path / "params", chosen)
        specification = read_specification(stage.path / "params" if params is None else Path(params))
        country = build(people, chosen, source)
        population = Population(country, answers(specification, source), seed, source)
        end = "txt" if format == "csv" else "parquet"
        write_blocks(data / f"GRF-C.{end}", country, format)
        for done in write_people(data / f"person-records.{end}", population, format):
            if progress is not None:
                progress(done, people)
        files = sorted(path for path in stage.path.rglob("*") if path.is_file())
        names = tuple(path.relative_to(stage.path).as_posix() for path in files)
        size = sum(path.stat().st_size for path in files)
        stage.commit()
    where = Path(out)
    return Nation(
        out=where,
        params=where / "params" if params is None else Path(params),
        data=where / "data",
        people=people,
        seed=seed,
        codes=len(population.answers.codes),
        files=names,
        bytes=size,
        **_sizes(country),
    )


def _states(people: int, states: int | None, params: Path | None) -> tuple[str, ...]:
    """Return the states: those that the configuration names, or as many as the people fill."""
    known = STATES if params is None else _named(params)
    if states is None:
        many = len(known) if params is not None else max(3, people // PEOPLE_OF_A_STATE)
        return tuple(known[:many])
    if not 1 <= whole(states, name="states") <= len(known):
        raise InputError(f"states is {states}; there are 1 to {len(known)}, and Puerto Rico besides")
    return tuple(known[:states])


def _named(params: Path) -> Sequence[str]:
    """Return the states of a configuration's filter."""
    return sorted(read_configuration(params).state_filter_us)


def _sizes(country: Country) -> dict[str, int]:
    tracts = country.tracts
    state = tracts.state[country.tract]
    inside = country.place != NO_PLACE
    return {
        "states": len(country.states),
        "counties": np.unique(tracts.state * 1000 + tracts.county).size,
        "tracts": tracts.state.size,
        "blocks": country.tract.size,
        "places": np.unique((state * 100_000 + country.place)[inside]).size,
        "areas": np.unique(country.area[country.area != NO_AREA]).size,
    }
