"""Write a synthetic nation: PARAMS and DATA, as text or Parquet, all or nothing.

A line of `person-records.txt` is made of fields of fixed width, filled for a whole portion at a time; what a
shorter text leaves free is a zero byte, and zero bytes are dropped at the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.budget.fields import whole
from discreet.errors import InputError
from discreet.release.commit import free, staging
from discreet.release.hierarchy.arrow import arrow, strings
from discreet.release.safetab.configuration import read_configuration
from discreet.release.safetab.geography import STATES
from discreet.release.safetab.specification import read_specification
from discreet.release.safetab.synthetic import invented
from discreet.release.safetab.synthetic.geography import NO_AREA, NO_PLACE, Country, build
from discreet.release.safetab.synthetic.people import (
    MOST_RACES,
    TOP_AGE,
    People,
    Population,
    answers,
    census_race,
)

BLOCK = ("TABBLKST", "TABBLKCOU", "TABTRACTCE", "TABBLK")
RACES = tuple(f"QRACE{place}" for place in range(1, MOST_RACES + 1))
PERSON = ("QAGE", "QSEX", "HOUSEHOLDER", *BLOCK, "CENRACE", *RACES, "QSPAN")
BLOCKS = (*BLOCK, "PLACEFP", "AIANNHCE")
LINES = 1 << 16
Format = Literal["csv", "parquet"]


def write_blocks(file: Path, country: Country, format: Format) -> None:
    """Write `GRF-C`: one row for each block."""
    columns = country.texts()
    if format == "parquet":
        rows = arrow().table({name: strings(column) for name, column in zip(BLOCKS, columns, strict=True)})
        arrow("parquet").write_table(rows, file)
        return
    with file.open("wb") as stream:
        stream.write("|".join(BLOCKS).encode() + b"\n")
        for start in range(0, columns[0].size, LINES):
            rows = zip(*(column[start : start + LINES].tolist() for column in columns), strict=True)
            stream.write("".join("|".join(row) + "\n" for row in rows).encode())


def write_people(file: Path, population: Population, format: Format, *, threads: int = 2) -> Iterator[int]:
    """Write the person records, and yield after each portion how many there are."""
    if format == "parquet":
        yield from _write_parquet(file, population, threads)
        return
    lines = Lines(population)
    with file.open("wb") as stream:
        stream.write("|".join(PERSON).encode() + b"\n")
        done = 0
        for made in _ordered(lines.portion, population.portions, threads):
            many, content = made
            stream.write(content)
            done += many
            yield done


class Lines:
    """Texts of every value that a field can have, looked up for a portion at a time."""

    def __init__(self, population: Population) -> None:
        self._population = population
        texts = population.country.texts()[:4]
        self._block = _bytes(["|".join(row) for row in zip(*(t.tolist() for t in texts), strict=True)])
        self._age = _bytes([f"{age:03d}" for age in range(TOP_AGE + 1)])
        self._sex = _bytes(["", "1", "2"])
        self._householder = _bytes(["False", "True"])
        self._major = _bytes(census_race())
        self._code = _bytes([*population.answers.codes, "Null"])  # the last is also number -1
        self._origin = _bytes(list(population.answers.codes), end="\n")
        fields = [("age", self._age), ("sex", self._sex), ("householder", self._householder)]
        fields += [("block", self._block), ("major", self._major)]
        kinds: list[Any] = [(name, values.dtype) for name, values in fields]
        kinds += [("races", self._code.dtype, (MOST_RACES,)), ("origin", self._origin.dtype)]
        self._line = np.dtype(kinds)

    def portion(self, index: int) -> tuple[int, memoryview]:
        """Return how many people a portion has, and their lines."""
        people = self._population.portion(index)
        lines = np.empty(people.age.size, dtype=self._line)
        lines["age"] = self._age[people.age]
        lines["sex"] = self._sex[people.sex]
        lines["householder"] = self._householder[people.householder.view(np.uint8)]
        lines["block"] = self._block[people.block]
        lines["major"] = self._major[people.majors]
        lines["races"] = self._code[people.races]
        lines["origin"] = self._origin[people.origin]
        flat = lines.view(np.uint8)
        return people.age.size, memoryview(flat[flat != 0])


def _bytes(texts: list[str], end: str = "|") -> NDArray[np.bytes_]:
    return np.array([f"{text}{end}".encode() for text in texts])


def _ordered(make: Callable[[int], Any], many: int, threads: int) -> Iterator[Any]:
    """Make portions on several threads, a few ahead, and give them in their order."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: list[Future[Any]] = [pool.submit(make, index) for index in range(min(many, threads + 1))]
        for index in range(many):
            yield waiting.pop(0).result()
            if index + threads + 1 < many:
                waiting.append(pool.submit(make, index + threads + 1))


def _write_parquet(file: Path, population: Population, threads: int) -> Iterator[int]:
    texts = population.country.texts()[:4]
    kind = arrow().dictionary(arrow().int32(), arrow().string())
    schema = arrow().schema([(name, kind) for name in PERSON])
    done = 0

    def make(index: int) -> Any:
        return arrow().table(_columns(population, population.portion(index), texts), schema=schema)

    # the schema that Arrow would store says "dictionary"; readers should see plain texts
    with arrow("parquet").ParquetWriter(file, schema, store_schema=False) as writer:
        for table in _ordered(make, population.portions, threads):
            writer.write_table(table)
            done += table.num_rows
            yield done


def _columns(population: Population, people: People, texts: list[NDArray[np.str_]]) -> dict[str, Any]:
    def column(index: NDArray[Any], values: Sequence[str]) -> Any:
        # the texts that occur, so that a small portion does not carry a large dictionary
        used, place = np.unique(index, return_inverse=True)
        chosen = strings([values[at] for at in used.tolist()])
        return arrow().DictionaryArray.from_arrays(place.astype(np.int32), chosen)

    first, last = int(people.block[0]), int(people.block[-1]) + 1
    blocks = [[str(text) for text in column[first:last]] for column in texts]
    codes = (*population.answers.codes, "Null")  # the last is also number -1
    return {
        "QAGE": column(people.age, [f"{age:03d}" for age in range(TOP_AGE + 1)]),
        "QSEX": column(people.sex, ["", "1", "2"]),
        "HOUSEHOLDER": column(people.householder.view(np.uint8), ["False", "True"]),
        **{name: column(people.block - first, text) for name, text in zip(BLOCK, blocks, strict=True)},
        "CENRACE": column(people.majors, census_race()),
        **{name: column(people.races[:, at], codes) for at, name in enumerate(RACES)},
        "QSPAN": column(people.origin, codes),
    }


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

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON says."""
        return {
            "out": str(self.out),
            "params": str(self.params),
            "data": str(self.data),
            "persons": self.people,
            "seed": self.seed,
            "states": self.states,
            "counties": self.counties,
            "tracts": self.tracts,
            "blocks": self.blocks,
            "places": self.places,
            "aiannh_areas": self.areas,
            "codes": self.codes,
            "files": list(self.files),
            "bytes": self.bytes,
        }


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
