"""Write a synthetic nation: one set of files for all products, all or nothing, the same for the same seed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from discreet.census.safetab.census2020 import configuration_2020, packaged
from discreet.census.safetab.configuration import write_toml
from discreet.census.safetab.specification import TOML_FILE, write_specification
from discreet.census.safetab.synthetic import (
    Country,
    Format,
    Population,
    answers,
    area_counts,
    build,
    choose_states,
    text_table,
    write_blocks,
)
from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.ledger.commit import free, whole_folder
from discreet.nation.columns import FILES, Columns, Files, area_tree
from discreet.nation.households import Homes, Ints
from discreet.numbers import whole
from discreet.questions import Option

MOST = 400_000_000
"""People: numbers of addresses have nine digits."""
MARK = "SYNTHETIC.json"
"""The file that says so, with what was asked for."""
PARAMETERS = {"params": False, "params-h": True}
"""Folders of groups and settings, and whether those are of households."""
TREES = {"records/areas": False, "records/areas-dhc": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticNation(Summarised):
    """What was written: people in households and in group quarters, and their addresses."""

    out: Path
    people: int
    in_quarters: int
    households: int
    vacant: int
    quarters: int
    seed: int
    states: int
    counties: int
    tracts: int
    blocks: int
    places: int
    areas: int
    groups: str
    codes: int
    files: tuple[str, ...]
    bytes: int

    @property
    def params(self) -> Path:
        """The groups and settings of Detailed DHC-A; those of Detailed DHC-B are in `params-h`."""
        return self.out / "params"

    @property
    def data(self) -> Path:
        """The records of the detailed groups: of persons and of households."""
        return self.out / "data"


def synthesize_nation(
    out: str | os.PathLike[str],
    *,
    people: Annotated[int, Option("How many people.", "N")],
    states: Annotated[int | None, Option("How many states. Default: by the number of people.", "S")] = None,
    seed: Annotated[int, Option("Another seed makes another nation. Default: 1.", "K")] = 1,
    groups: Annotated[
        Literal["invented", "2020"],
        Option("Codes of races and origins: a few invented ones (default), or those of 2020.", "NAME"),
    ] = "invented",
    format: Annotated[Format, Option("Format of the data. Default: csv.", "csv|parquet")] = "csv",
    progress: Callable[[int, int], None] | None = None,
) -> SyntheticNation:
    """Write a nation with households to the new directory `out`; the same files for the same arguments.

    `data` has the files of SafeTab-P and SafeTab-H, `params` and `params-h` the groups with the settings of
    2020, `phsafe` the files of PHSafe (always text), `records` records and areas for `measure`. Everybody is
    invented; `SYNTHETIC.json` says so.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     made = synthesize_nation(Path(folder) / "nation", people=500, states=2)
    >>> made.people, made.files[:4]
    (500, ('SYNTHETIC.json', 'data/GRF-C.txt', 'data/household-records.txt', 'data/person-records.txt'))
    """
    if whole(people, name="people") > MOST:
        raise InputError(f"people is {people}; at most {MOST} are allowed")
    if seed < 0:
        raise InputError(f"seed is {seed}; it must be zero or more")
    if groups not in ("invented", "2020"):
        raise InputError(f"groups is {groups!r}; it must be invented or 2020")
    chosen = choose_states(people, states)
    free(out)
    source = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    with whole_folder(out) as folder:
        for name in ("data", "phsafe", "records", *PARAMETERS):
            (folder / name).mkdir()
        specification = packaged(groups)
        for name, households in PARAMETERS.items():
            write_specification(specification, folder / name)
            settings = configuration_2020(households=households)
            settings = replace(settings, passes=("US",), filters={"US": chosen})
            (folder / name / TOML_FILE).write_text(write_toml(settings), encoding="utf-8")
        country = build(people, chosen, source, island=False)
        homes = Homes(Population(country, answers(specification, source), seed, source), source)
        counted = np.zeros(4, dtype=np.int64)
        for done in _write(folder, homes, format, counted):
            if progress is not None:
                progress(done, people)
        _write_areas(folder, country, format)
        in_quarters, homes_there, vacant, quarters = counted.tolist()
        record: dict[str, object] = {
            "synthetic": True, "people": people, "in_quarters": in_quarters, "households": homes_there,
            "vacant": vacant, "quarters": quarters, "seed": seed, "states": list(chosen), "groups": groups,
        }  # fmt: skip
        (folder / MARK).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        names = tuple(path.relative_to(folder).as_posix() for path in files)
        size = sum(path.stat().st_size for path in files)
    return SyntheticNation(
        out=Path(out),
        people=people,
        in_quarters=in_quarters,
        households=homes_there,
        vacant=vacant,
        quarters=quarters,
        seed=seed,
        groups=groups,
        codes=len(specification.codes),
        files=names,
        bytes=size,
        **area_counts(country),
    )


def _write(folder: Path, homes: Homes, format: Format, counted: Ints, threads: int = 2) -> Iterator[int]:
    """Write the records portion by portion, and yield after each how many people there are."""
    written, done = Files(homes.population), 0

    def make(index: int) -> tuple[int, Ints, dict[str, Columns]]:
        people, addresses = homes.portion(index)
        inside = addresses.people[addresses.quarters >= 0]
        counts = [inside.sum(), addresses.household.sum(), (addresses.vacancy > 0).sum(), inside.size]
        return people.age.size, np.array(counts), written.columns(people, addresses)

    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(threads))
        append = {}
        for name, (path, delimiter, names) in FILES.items():
            kind: Format = "csv" if delimiter == "," else format  # PHSafe reads text
            ending = "txt" if kind == "csv" and delimiter == "|" else kind
            table = text_table(folder / f"{path}.{ending}", names, kind, delimiter=delimiter)
            append[name] = stack.enter_context(table)
        # a few portions are made ahead, and written in their order
        waiting = [pool.submit(make, index) for index in range(min(homes.portions, threads + 1))]
        for index in range(homes.portions):
            many, counts, columns = waiting.pop(0).result()
            if index + threads + 1 < homes.portions:
                waiting.append(pool.submit(make, index + threads + 1))
            for name, column in columns.items():
                append[name](column)
            counted += counts
            done += many
            yield done


def _write_areas(folder: Path, country: Country, format: Format) -> None:
    """Write the blocks of SafeTab and the trees of PL 94-171 and DHC."""
    write_blocks(folder / "data" / f"GRF-C.{'txt' if format == 'csv' else 'parquet'}", country, format)
    for path, dhc in TREES.items():
        names = ("unit", "level", "parent")
        with text_table(folder / f"{path}.{format}", names, format, delimiter=None) as append:
            for columns in area_tree(country, dhc=dhc).values():
                append(columns)
