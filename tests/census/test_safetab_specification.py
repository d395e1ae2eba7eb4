"""The four files of a specification: every way in which they may be written, and every rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from safetab_params import FILES, write_params
from safetab_toy import SPEC_2020, TOY

from discreet.census.safetab.specification import read_specification
from discreet.errors import InputError
from discreet.tables import MOST

CODES, RACE, ETHNICITY, MAPPING = (
    "race-and-ethnicity-codes.txt",
    "race-characteristic-iterations.txt",
    "ethnicity-characteristic-iterations.txt",
    "race-and-ethnicity-code-to-iteration.txt",
)


def refused(folder: Path, **texts: str | bytes) -> str:
    names = {"codes": CODES, "race": RACE, "ethnicity": ETHNICITY, "mapping": MAPPING}
    with pytest.raises(InputError) as caught:
        read_specification(write_params(folder, {names[key]: text for key, text in texts.items()}))
    return str(caught.value)


def test_a_small_specification(tmp_path: Path) -> None:
    found = read_specification(write_params(tmp_path))
    assert [one.code for one in found.iterations] == ["10", "11", "12", "21", "22", "31", "32"]
    assert [one.kind for one in found.iterations] == [
        *["alone"] * 3,
        *["combination"] * 2,
        *["ethnicity"] * 2,
    ]
    assert found.codes["1001"] == "Southern"
    assert found.mapped["1000"] == ("10", "11", "21")
    assert found.members["10"] == {"1000", "1001"}
    assert [one.code for one in found.tabulated("USA", 2)] == ["11", "12", "21", "22", "31"]
    assert [one.code for one in found.tabulated("TRACT", 2)] == ["11", "21", "31", "32"]
    assert found.tabulated("USA", 1) == ()
    # below the states the islanders are in two groups
    assert (found.stability(2, 8, "USA").value, found.stability(2, 8).value) == (3, 4)


def test_every_way_of_writing_the_same(tmp_path: Path) -> None:
    plain = read_specification(write_params(tmp_path))
    header, *rows = FILES[RACE].splitlines()
    order = [5, 3, 0, 2, 1, 4]

    def moved(line: str) -> str:
        return "|".join(f'"{line.split("|")[place]}"' for place in order) + "|further"

    written: dict[str, str | bytes] = {
        RACE: (
            "\r\n".join([moved(header).replace("further", "MORE"), *map(moved, rows)]) + "\r\n\r\n \r\n"
        ).encode("utf-8-sig"),
        CODES: FILES[CODES].rstrip("\n"),
        MAPPING: FILES[MAPPING].replace("\n", "\r\n") + "\n\n",
    }
    assert read_specification(write_params(tmp_path, written)) == plain


def test_the_specification_of_2020() -> None:
    found = read_specification(SPEC_2020)
    # counts of the Bureau's specification, by kind and level
    assert len(found.codes) == 1755
    for level, kind, count in (
        (1, "alone", 24),
        (1, "combination", 24),
        (2, "alone", 1457),
        (2, "combination", 1457),
        (1, "ethnicity", 4),
        (2, "ethnicity", 30),
    ):
        assert sum(one.level == level and one.kind == kind for one in found.iterations) == count
    assert found.notes == ()
    for level in (1, 2):
        for geography in ("USA", "STATE", "COUNTY", "PR-STATE", "PR-TRACT"):
            bound = found.stability(level, 8, geography)
            assert (bound.value, bound.race, bound.ethnicity, bound.paired) == (9, 8, 1, True)
        assert found.stability(level, 1).value == 3  # one code: alone and in combination, and the ethnicity


def test_the_toy() -> None:
    found = read_specification(TOY)
    # European alone has a code (1340) that European in combination lacks: not paired; the formula says 9
    assert not found.stability(1, 8).paired
    for (level, place), value in {(1, "USA"): 7, (1, "TRACT"): 4, (2, "USA"): 9, (2, "TRACT"): 6}.items():
        bound = found.stability(level, 8, place)
        assert (bound.value, bound.reached) == (value, True)


@pytest.mark.parametrize(
    ("file", "old", "new", "reason"),
    [
        ("race", "12|Southern alone", "11|Southern alone", "an iteration code occurs twice in the two files"),
        ("ethnicity", "31|Islander", "11|Islander", "an iteration code occurs twice in the two files"),
        ("race", "alone|2|True|True", "alone|3|True|True", "a level is not 0, 1 or 2"),
        ("race", "alone|2|True|True", "alone|2|Yes|True", "it is not True or False (line 4 of race"),
        ("race", "alone|2|True|True", "alone|2|True|Null", "it is not True or False (or, at level 0, Null)"),
        ("race", "True|True|False", "True|True|True", "both DETAILED_ONLY and COARSE_ONLY"),
        ("race", "12|Southern", "1-2|Southern", "a code is not of 1 to 16 letters and digits"),
        ("race", "12|Southern", "=2|Southern", "a code is not of 1 to 16 letters and digits"),
        ("codes", "1001|", "1000|", "a code occurs twice"),
        ("codes", "1001|", "Null|", "Null stands for no code"),
        ("mapping", "12|1001", "99|1001", "an iteration is in neither file"),
        ("mapping", "12|1001", "12|9999", "a code is not in race-and-ethnicity-codes.txt"),
        ("mapping", "12|1001", "11|1000", "a pair of iteration and code occurs twice"),
        ("mapping", "12|1001", "12", "1 field, 2 expected"),
        ("mapping", "12|1001", '12|"10"01', "not a line of CSV"),
    ],
)
def test_rules(tmp_path: Path, file: str, old: str, new: str, reason: str) -> None:
    name = {"codes": CODES, "race": RACE, "ethnicity": ETHNICITY, "mapping": MAPPING}[file]
    assert old in FILES[name]
    text = refused(tmp_path, **{file: FILES[name].replace(old, new, 1)})
    assert reason in text
    assert re.search(rf"\(lines? [0-9].* of {name}", text)


def test_files_and_columns_that_are_missing(tmp_path: Path) -> None:
    text = refused(tmp_path, race=FILES[RACE].replace("ALONE", "LONE"), codes=b"\xff|", ethnicity="")
    assert "race-characteristic-iterations.txt has no column ALONE; it must have ITERATION_CODE, " in text
    assert "save it as UTF-8 (line 1 of race-and-ethnicity-codes.txt)" in text
    assert "ethnicity-characteristic-iterations.txt is empty; a header and rows are needed" in text
    (tmp_path / MAPPING).unlink()
    with pytest.raises(InputError, match=rf"a file is missing \({MAPPING}\)"):
        read_specification(tmp_path)


def test_a_column_that_comes_twice(tmp_path: Path) -> None:
    text = refused(
        tmp_path, mapping=FILES[MAPPING].replace("ITERATION_CODE|", "RACE_ETH_CODE|ITERATION_CODE|", 1)
    )
    assert f"{MAPPING} has two columns named RACE_ETH_CODE; each may occur once" in text


@pytest.mark.parametrize("sign", ",;\t")
def test_other_dialects(tmp_path: Path, sign: str) -> None:
    plain = read_specification(write_params(tmp_path))
    for name, text in FILES.items():
        lines = [line.split("|") for line in text.splitlines()]
        quoted = [[f'"{cell}"' if sign in cell else cell for cell in line] for line in lines]
        made = "\r\n".join(map(sign.join, [[cell.lower() for cell in quoted[0]], *quoted[1:]]))
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + made.encode())
    assert read_specification(tmp_path) == plain


def test_the_first_lines_of_each_kind_are_named(tmp_path: Path) -> None:
    more = "".join(f"99|{1000 + k % 2}\n" for k in range(50))
    text = refused(tmp_path, mapping=FILES[MAPPING] + more, race=FILES[RACE].replace("|2|", "|7|"))
    assert f"lines {', '.join(str(10 + k) for k in range(MOST))} and 30 more of {MAPPING}" in text
    assert (
        "a level is not 0, 1 or 2 (lines 3, 4, 5 and 6 of race-characteristic-iterations.txt, field LEVEL)"
        in text
    )


def test_iterations_without_a_code_are_said(tmp_path: Path) -> None:
    found = read_specification(write_params(tmp_path, {MAPPING: FILES[MAPPING].replace("32|2000\n", "")}))
    assert found.notes == ("1 iterations have no code: nobody is counted in them",)
