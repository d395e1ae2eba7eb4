"""Every rule of the data: broken, it is reported with file, line and field, and without what stood there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetab_brute import GRF_HEADER, PERSON_HEADER

from discreet.answers import describe
from discreet.census.mechanism.configuration import Configuration
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.records import check_person_records
from discreet.census.safetab.validation import check_input
from discreet.errors import InputError
from discreet.records.engine import Engine

Parameters = tuple[Configuration, Specification]
Write = Callable[..., Path]
Row = tuple[str, ...]

BLOCKS: list[Row] = [("01", "001", "000001", f"{number:04}", "22800", "9999") for number in range(1, 6)] + [
    ("72", "031", "050901", "2040", "99999", "9999")
]
PERSON: Row = ("028", "1", "True", "01", "001", "000001", "0001", "01", "1000", *["Null"] * 7, "1010")
SECRET = "2718"
"""Stands in wrong fields and must never be printed."""


def person(**changes: str) -> Row:
    return tuple(changes.get(name, text) for name, text in zip(PERSON_HEADER, PERSON, strict=True))


def block(place: int = 0, **changes: str) -> Row:
    return tuple(changes.get(name, text) for name, text in zip(GRF_HEADER, BLOCKS[place], strict=True))


def refused(data: Path, parameters: Parameters, engine: Engine) -> list[str]:
    with pytest.raises(InputError) as caught:
        check_person_records(data, *parameters, engine=engine)
    assert SECRET not in str(caught.value)
    head, *rest = str(caught.value).split("\n")
    assert [line.split(". ")[0].strip() for line in rest] == [str(i + 1) for i in range(len(rest))]
    return [line.partition(". ")[2] for line in rest] or [head]


def among(rows: Sequence[Row], wrong: Row, line: int) -> list[Row]:
    """Put a row where it is this line of the file."""
    return [*rows[: line - 2], wrong, *rows[line - 2 :]]


CODE = "a code is not in race-and-ethnicity-codes.txt"
PERSONS: dict[str, tuple[dict[str, str], str, str]] = {
    "age 116": ({"QAGE": "116"}, "an age is not a whole number from 0 to 115", "QAGE"),
    "age below 0": ({"QAGE": "-01"}, "an age is not a whole number from 0 to 115", "QAGE"),
    "age not whole": ({"QAGE": "1e1"}, "an age is not a whole number from 0 to 115", "QAGE"),
    "age with a space": ({"QAGE": " 28"}, "an age is not a whole number from 0 to 115", "QAGE"),
    "age too long": ({"QAGE": "0028"}, "an age is not a whole number from 0 to 115", "QAGE"),
    "age missing": ({"QAGE": ""}, "an age is not a whole number from 0 to 115", "QAGE"),
    "sex 3": ({"QSEX": "3"}, "a sex is not 1 or 2", "QSEX"),
    "sex missing": ({"QSEX": ""}, "a sex is not 1 or 2", "QSEX"),
    "unknown block": ({"TABBLK": SECRET}, "a block is not in GRF-C", "TABBLK"),
    "unknown state": ({"TABBLKST": "99"}, "a block is not in GRF-C", "TABBLK"),
    "block missing": ({"TABBLK": ""}, "a block is not in GRF-C", "TABBLK"),
    "shifted digits": ({"TABBLKST": "0", "TABBLKCOU": "1001"}, "a block is not in GRF-C", "TABBLK"),
    "a sign for a digit": ({"TABBLKST": "+1"}, "a block is not in GRF-C", "TABBLK"),
    "unknown code": ({"QRACE1": SECRET}, CODE, "QRACE1"),
    "unknown second code": ({"QRACE2": SECRET}, CODE, "QRACE2"),
    "unknown eighth code": ({f"QRACE{n}": "1000" for n in range(2, 8)} | {"QRACE8": SECRET}, CODE, "QRACE8"),
    "two codes in a field": ({"QRACE1": "1000,1010"}, CODE, "QRACE1"),
    "null in small letters": ({"QRACE2": "null"}, CODE, "QRACE2"),
    "unknown origin": ({"QSPAN": SECRET}, CODE, "QSPAN"),
    "no origin": ({"QSPAN": "Null"}, CODE, "QSPAN"),
    "no race": ({"QRACE1": "Null"}, "a person has no race code; at least one is required", "QRACE1"),
    "a race after Null": ({"QRACE3": "1010"}, "a race code follows an empty one", "QRACE3"),
    "only a second race": (
        {"QRACE1": "Null", "QRACE2": "1010"},
        "a race code follows an empty one",
        "QRACE2",
    ),
}


def test_rules_of_persons(write: Write, duckdb_engine: Engine, toy_parameters: Parameters) -> None:
    # one file with a line of each kind among good ones: each is named, under its own rule, and nothing else
    rows, lines = [PERSON], defaultdict(list)
    for changes, text, field in PERSONS.values():
        rows += [person(**changes), PERSON]
        lines[text, field].append(str(len(rows)))  # the header is line 1
    named = [
        f"{text} ({'lines' if others else 'line'} {', '.join(others)}{' and ' if others else ''}{last} "
        f"of person-records.txt, field {field})"
        for (text, field), (*others, last) in lines.items()
    ]
    assert sorted(refused(write(BLOCKS, rows), toy_parameters, duckdb_engine)) == sorted(named)


AREAS: dict[str, tuple[list[Row], str]] = {
    "width": ([block(1, TABBLKST="1")], "a code is not of 2 digits (line 8 of GRF-C.txt, field TABBLKST)"),
    "letters": (
        [block(1, TABTRACTCE="00000x")],
        "a code is not of 6 digits (line 8 of GRF-C.txt, field TABTRACTCE)",
    ),
    "formula": (
        [block(1, PLACEFP="=1+12")],
        "a code is not of 5 digits (line 8 of GRF-C.txt, field PLACEFP)",
    ),
    "no place": ([block(1, PLACEFP="")], "a code is not of 5 digits (line 8 of GRF-C.txt, field PLACEFP)"),
    "area": ([block(1, AIANNHCE="99990")], "a code is not of 4 digits (line 8 of GRF-C.txt, field AIANNHCE)"),
    "twice": ([block(3)], "a block occurs twice; each may occur once (line 8 of GRF-C.txt, field TABBLK)"),
    "twice, but elsewhere": (
        [block(3, PLACEFP="00001"), block(4)],
        "a block occurs twice; each may occur once (lines 8 and 9 of GRF-C.txt, field TABBLK)",
    ),
}


@pytest.mark.parametrize("kind", AREAS)
def test_rules_of_blocks(kind: str, write: Write, duckdb_engine: Engine, toy_parameters: Parameters) -> None:
    rows, text = AREAS[kind]
    if kind in ("width", "letters", "formula", "no place", "area"):
        rows = [tuple(cell if place != 3 else "0099" for place, cell in enumerate(row)) for row in rows]
    data = write([*BLOCKS, *rows], [PERSON] * 3)
    assert refused(data, toy_parameters, duckdb_engine) == [text]


def test_no_block(write: Write, duckdb_engine: Engine, toy_parameters: Parameters) -> None:
    assert refused(write([], []), toy_parameters, duckdb_engine) == [
        "GRF-C.txt has no block; it must list all of them"
    ]


def test_all_problems_at_once(engine: Engine, write: Write, toy_parameters: Parameters) -> None:
    persons = [PERSON] * 3
    persons += [person(QAGE="116")] * 25  # lines 5 to 29
    persons += [person(QSEX=SECRET), person(TABBLK=SECRET), person(QRACE1="9999", QRACE3="9999")]
    data = write([*BLOCKS, block(0), block(1, TABBLKCOU="1")], persons)
    first = ", ".join(map(str, range(5, 25)))
    assert refused(data, toy_parameters, engine) == [
        "a code is not of 3 digits (line 9 of GRF-C.txt, field TABBLKCOU)",
        "a block occurs twice; each may occur once (line 8 of GRF-C.txt, field TABBLK)",
        "an age is not a whole number from 0 to 115 "
        f"(lines {first} and 5 more of person-records.txt, field QAGE)",
        "a sex is not 1 or 2 (line 30 of person-records.txt, field QSEX)",
        "a block is not in GRF-C (line 31 of person-records.txt, field TABBLK)",
        "a race code follows an empty one (line 32 of person-records.txt, field QRACE3)",
        f"{CODE} (line 32 of person-records.txt, field QRACE1)",
        f"{CODE} (line 32 of person-records.txt, field QRACE3)",
    ]


def test_lines_behind_blank_ones_and_line_breaks(
    write: Write, duckdb_engine: Engine, toy_parameters: Parameters
) -> None:
    folder = write(BLOCKS, [])
    broken = "|".join(PERSON).replace("True", '"a\nb\nc"')
    lines = ["|".join(PERSON_HEADER), "|".join(PERSON), "", broken, "", "|".join(person(QAGE="116")), ""]
    (folder / "person-records.txt").write_text("\n".join(lines))
    # 1 header, 2 person, 3 blank, 4 to 6 one person, 7 blank, 8
    assert refused(folder, toy_parameters, duckdb_engine) == [
        "an age is not a whole number from 0 to 115 (line 8 of person-records.txt, field QAGE)"
    ]


@pytest.mark.slow
def test_lines_of_a_large_file(write: Write, duckdb_engine: Engine, toy_parameters: Parameters) -> None:
    # large enough that DuckDB reads it in several pieces at once
    rows = [PERSON] * 300_000
    for line in (150_000, 299_999, 200_000):
        rows[line - 2] = person(QSEX="9")
    data = write(BLOCKS, rows)
    assert refused(data, toy_parameters, duckdb_engine) == [
        "a sex is not 1 or 2 (lines 150000, 200000 and 299999 of person-records.txt, field QSEX)"
    ]


def test_rows_of_parquet(write: Write, duckdb_engine: Engine, toy_parameters: Parameters) -> None:
    folder = write(BLOCKS, [])
    (folder / "person-records.txt").unlink()
    rows = among([PERSON] * 9, person(QSEX="9"), 7)
    columns = dict(zip(PERSON_HEADER, map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), folder / "person-records.parquet", row_group_size=2)
    assert refused(folder, toy_parameters, duckdb_engine) == [
        "a sex is not 1 or 2 (row 6 of person-records.parquet, field QSEX)"
    ]


def discreet(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "discreet", "safetab", "validate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_command_says_yes(toy: Path) -> None:
    done = discreet(toy / "params", toy, "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The input can be used. Regions: USA 1, STATE 3, COUNTY 5, TRACT 9,")
    assert not done.stderr


def test_the_command_says_no(toy: Path, write: Write, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    data = write(BLOCKS, [PERSON, person(QAGE=SECRET), person(QSPAN=SECRET)])
    done = discreet(toy / "params", data, "--json")
    assert done.returncode == 2
    found = json.loads(done.stdout)
    assert not found["valid"]
    assert found["problems"] == [
        "an age is not a whole number from 0 to 115 (line 3 of person-records.txt, field QAGE)",
        f"{CODE} (line 4 of person-records.txt, field QSPAN)",
    ]
    assert describe(check_input(toy / "params", data)).objects == found
    assert SECRET not in done.stdout + done.stderr
    assert set(tmp_path.iterdir()) - before == {data}


def test_the_command_reports_parameters_too(toy: Path, write: Write, tmp_path: Path) -> None:
    params = tmp_path / "params"
    params.mkdir()
    for path in (toy / "params").iterdir():
        (params / path.name).write_bytes(path.read_bytes())
    config = params / "config.json"
    config.write_text(config.read_text().replace('"max_race_codes": 8', '"max_race_codes": 9'))
    (params / "race-and-ethnicity-codes.txt").unlink()
    done = discreet(params, toy / "nowhere")
    assert done.returncode == 2
    assert "max_race_codes" in done.stdout
    assert "race-and-ethnicity-codes.txt" in done.stdout
    assert "is not a directory" in done.stdout


@pytest.mark.parametrize("kind", ["text", "parquet"])
def test_a_record_identifier_that_comes_again_is_found(
    tmp_path: Path, toy: Path, toy_parameters: Any, duckdb_engine: Engine, kind: str
) -> None:
    """Where records have an identifier, no two have the same; one that is missing is not compared."""
    lines = (toy / "person-records.txt").read_text().splitlines()
    names = ["RECORD_ID", "a", "b", "", "c", "", "b", "d", "e", "a", "f"]
    for name, data in (("right", [*names[:7], "g", *names[8:]]), ("wrong", names)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "GRF-C.txt").write_text((toy / "GRF-C.txt").read_text())
        if name == "right":
            data = [data[0], *(f"{one}{place}" if one else "" for place, one in enumerate(data[1:]))]
        rows = [f"{line}|{own}" for line, own in zip(lines, data, strict=True)]
        if kind == "text":
            (folder / "person-records.txt").write_text("\n".join(rows) + "\n")
        else:
            cells = [row.split("|") for row in rows]
            columns = {head: [row[place] or None for row in cells[1:]] for place, head in enumerate(cells[0])}
            pq.write_table(pa.table(columns), folder / "person-records.parquet")
    check_person_records(tmp_path / "right", *toy_parameters, engine=duckdb_engine)
    with pytest.raises(InputError) as caught:
        check_person_records(tmp_path / "wrong", *toy_parameters, engine=duckdb_engine)
    text = str(caught.value)
    assert "a record identifier occurs twice" in text
    assert "RECORD_ID" in text
    # the second b and the second a, by line or by row
    assert all(str(row + (kind == "text")) in text for row in (6, 9))
