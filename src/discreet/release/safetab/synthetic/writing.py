"""People as lines of `person-records.txt` or as row groups of a Parquet file.

A line is made of fields of fixed width, filled for a whole portion at a time; what a shorter text leaves free
is a zero byte, and zero bytes are dropped at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.release.hierarchy.arrow import arrow, strings
from discreet.release.safetab.synthetic.answers import census_race
from discreet.release.safetab.synthetic.geography import Country
from discreet.release.safetab.synthetic.people import MOST_RACES, TOP_AGE, People, Population

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
