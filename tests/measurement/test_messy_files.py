"""Messy little files: a first draft reads each as it is meant, or asks; none is silently wrong."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from discreet.errors import InputError
from discreet.measurement.drafting import Sketch, sketch
from discreet.measurement.questions import Drafting
from discreet.records.input import input_from_toml, input_lines
from discreet.records.questions import Checking
from discreet.records.records import examine_records

DRAW = random.Random(2026)
AREAS = ("01001", "01002", "02001")
PEOPLE = [(DRAW.choice(AREAS), DRAW.randrange(98), DRAW.choice("fm")) for _ in range(240)]
AREA, AGE, SEX = ([row[at] for row in PEOPLE] for at in range(3))
BANDS = "0-17, 18-64, 65+"
CONFIDENTIAL = "731946"
"""Stands in files for what no message may repeat."""

Cell = tuple[str, ...]


def band(age: float) -> str:
    return "0-17" if age < 18 else "18-64" if age < 65 else "65+"


def counted(
    areas: Sequence[str] = AREA, ages: Sequence[float] = AGE, sexes: Sequence[str] = SEX
) -> Counter[Cell]:
    return Counter(zip(areas, map(band, ages), sexes, strict=True))


def text(*columns: Sequence[object], head: str = "unit,age,sex", sign: str = ",", end: str = "\n") -> str:
    rows = [sign.join(map(str, row)) for row in zip(*columns, strict=True)]
    return end.join([*([head] if head else []), *rows]) + end


PLAIN = text(AREA, AGE, SEX)
NO_ZEROS = [one.lstrip("0") for one in AREA]
TOWNS = [{"01001": "Köln", "01002": "Trier", "02001": "Bad Ems"}[one] for one in AREA]


def read_as(found: Sketch, file: Path) -> Counter[Cell]:
    """Return how many records are in each area and cell, as the draft reads them."""
    asked = Checking(found.release, file, units=found.area_table, input=found.input)
    examined = examine_records(found.release, asked)
    assert not examined.problems
    assert examined.tree is not None
    assert found.release.attributes is not None
    names, cells = examined.tree.names.to_pylist(), [*found.release.attributes.tabulation("detailed").labels]
    rows = zip(
        examined.unit[examined.counted].tolist(), examined.cell[examined.counted].tolist(), strict=True
    )
    return Counter((names[unit], *cells[cell].split(" * ")) for unit, cell in rows)


def changed(column: Sequence[object], *values: object) -> list[object]:
    """Return a column whose first rows have other values."""
    return [*values, *column[len(values) :]]


READ: dict[str, tuple[str | bytes, dict[str, object], Counter[Cell]]] = {
    "commas": (PLAIN, {}, counted()),
    "semicolons and CRLF": (text(AREA, AGE, SEX, head="unit;age;sex", sign=";", end="\r\n"), {}, counted()),
    "tabs": (text(AREA, AGE, SEX, head="unit\tage\tsex", sign="\t"), {}, counted()),
    "bars": (text(AREA, AGE, SEX, head="unit|age|sex", sign="|"), {}, counted()),
    "UTF-8 with a byte order mark": (PLAIN.encode("utf-8-sig"), {}, counted()),
    "Latin-1": (text(TOWNS, AGE, SEX).encode("latin-1"), {}, counted(TOWNS)),
    "Windows-1252": (
        text(TOWNS, AGE, SEX, ["5 €"] * 240, head="unit,age,sex,fee").encode("windows-1252"),
        {},
        counted(TOWNS),
    ),
    "UTF-16": (text(TOWNS, AGE, SEX).encode("utf-16"), {}, counted(TOWNS)),
    "an encoding of Central Europe": (
        text([one.replace("ö", "ő") for one in TOWNS], AGE, SEX).encode("iso-8859-2"),
        {"encoding": "iso-8859-2"},
        counted([one.replace("ö", "ő") for one in TOWNS]),
    ),
    "UTF-16 without a mark": (text(TOWNS, AGE, SEX).encode("utf-16-le"), {}, counted(TOWNS)),
    "decimal commas": (
        text(AREA, [f"{age},5" for age in AGE], SEX, head="unit;age;sex", sign=";"),
        {},
        counted(),
    ),
    "blank lines at the end": (PLAIN + "\n\n", {}, counted()),
    "spaces around names": (text(AREA, AGE, SEX, head=" unit , age , sex "), {}, counted()),
    "no end of the last line": (PLAIN.rstrip("\n"), {}, counted()),
    "missing values in many spellings": (
        text(AREA, AGE, changed(SEX, "NA", "n/a", ".", "", "-9")),
        {"missing": "leave-out"},
        counted(AREA[5:], AGE[5:], SEX[5:]),
    ),
    "missing ages are a value": (
        text(AREA, changed(AGE, "NA", "-99"), SEX),
        {"missing": "unknown"},
        counted(AREA[2:], AGE[2:], SEX[2:]) + Counter((AREA[at], "unknown", SEX[at]) for at in range(2)),
    ),
    "a delimiter within quotes": (
        text([f'"{one}, town"' for one in TOWNS], AGE, SEX),
        {},
        counted([f"{one}, town" for one in TOWNS]),
    ),
    "a line break within quotes": (
        text(AREA, AGE, SEX, ['"two\nlines"'] * 240, head="unit,age,sex,note"),
        {},
        counted(),
    ),
    "spaces and capitals": (
        text(AREA, AGE, [f" {one.upper()}" if at % 2 else one for at, one in enumerate(SEX)]),
        {},
        counted(),
    ),
    "ages with their unit": (text(AREA, [f"{age} years" for age in AGE], SEX), {}, counted()),
    "ages as a program writes them": (text(AREA, [f"{age}.0" for age in AGE], SEX), {}, counted()),
    "years of birth, at a stated day": (
        text(AREA, [2025 - age for age in AGE], SEX),
        {"age_on": "2025-12-31"},
        counted(),
    ),
    "dates of birth, at a stated day": (
        text(
            AREA,
            [f"{2025 - age}-06-30" if at % 2 else f"{2024 - age}-07-01" for at, age in enumerate(AGE)],
            SEX,
        ),
        {"age_on": "2025-06-30"},
        counted(),
    ),
    "dates with points": (
        text(AREA, [f"01.02.{2025 - age}" for age in AGE], SEX),
        {"age_on": "2025-06-30"},
        counted(),
    ),
    "dates with slashes, one beyond the twelfth": (
        text(AREA, changed([f"03/04/{2025 - age}" for age in AGE], f"25/04/{2025 - AGE[0]}"), SEX),
        {"age_on": "2025-06-30"},
        counted(),
    ),
    "codes": (
        text(AREA, AGE, [{"f": 2, "m": 1}[one] for one in SEX]),
        {"attributes": [f"age: {BANDS}", "sex: f=2, m=1"]},
        counted(),
    ),
    "zeros that codes have lost": (
        text(NO_ZEROS, AGE, SEX),
        {"areas": "areas.csv"},
        counted(),
    ),
    "an area whose code is a usual mark": (
        text(["NA" if one == AREAS[0] else one for one in AREA], AGE, SEX),
        {"areas": "world.csv"},
        counted(["NA" if one == AREAS[0] else one for one in AREA]),
    ),
    "packed": (gzip.compress(PLAIN.encode()), {}, counted()),
}
"""What is read: the content of the file, more options, and the records of each area and cell."""

ASKED: dict[str, tuple[str | bytes, dict[str, object], str]] = {
    "the sep line of a spreadsheet": (
        "sep=;\r\n" + text(AREA, AGE, SEX, head="unit;age;sex", sign=";", end="\r\n"),
        {},
        "named in line 2",
    ),
    "a title above the header": ("Survey 2026\n" + PLAIN, {}, "named in line 2"),
    "a title and a blank line": ("Survey 2026,,\n,,\n" + PLAIN, {}, "named in line 3"),
    "a blank line above the header": ("\n" + PLAIN, {}, "named in line 2"),
    "no header": (text(AREA, AGE, SEX, head=""), {}, "seems to be a record"),
    "a header twice": (
        text(AREA, AGE, AGE[::-1], SEX, head="unit,age,age,sex"),
        {},
        "column age stands twice in FILE",
    ),
    "a header in the middle": (PLAIN + PLAIN, {"area_columns": []}, "stand again"),
    "a blank line between": (PLAIN + "\n" + f"01001,3,f,{CONFIDENTIAL}\n", {}, "empty line|4 fields"),
    "a line of totals": (PLAIN + "Total,45,f\n", {}, "total"),
    "a line of totals without names": (PLAIN + ",240,\n", {}, "no value|120"),
    "a footnote": (PLAIN + "Source: survey\n", {}, "1 field"),
    "a footnote with commas": (PLAIN + "Source: survey,,\n", {}, "no value"),
    "a footnote among areas that is left out elsewhere": (
        PLAIN + "Source: survey,,\n",
        {"missing": "leave-out"},
        "footnote",
    ),
    "zeros lost by some": (text(changed(AREA, *NO_ZEROS[:9]), AGE, SEX), {}, "zeros"),
    "an area in two spellings": (text(changed(TOWNS, TOWNS[0].upper()), AGE, SEX), {}, "capitals or spaces"),
    "codes in scientific notation": (text([f"{one}E+00" for one in AREA], AGE, SEX), {}, "exponent"),
    "an area that is not known": (text(changed(AREA, "unknown"), AGE, SEX), {}, "not known"),
    "letters coded in two ways": (
        text(TOWNS, AGE, SEX).encode("latin-1") + "Köln,3,f\n".encode(),
        {},
        "coded in two ways",
    ),
    "codes that became dates": (text(changed(AREA, "1-Jan"), AGE, SEX), {}, "made dates"),
    "an age that cannot be, among true numbers": (
        text(AREA, changed(AGE, 200), SEX),
        {"attributes": ["age: young=0-17, old=18+", "sex: f, m"]},
        "above 120",
    ),
    "codes as formulas": (text([f'="{one}"' for one in AREA], AGE, SEX), {}, "formulas"),
    "codes with a point among others": (text(changed(NO_ZEROS, f"{NO_ZEROS[0]}.0"), AGE, SEX), {}, "zeros"),
    "missing values that nobody decided": (
        text(AREA, changed(AGE, ""), SEX),
        {},
        "in column age: leave them out",
    ),
    "an answer refused": (text(AREA, AGE, changed(SEX, CONFIDENTIAL)), {}, "a value that attribute 'sex'"),
    "an age below zero": (
        text(AREA, changed(AGE, -5), SEX),
        {"attributes": ["age: under 18, 18-64, 65+", "sex"]},
        "below zero|in no band",
    ),
    "an age that cannot be": (text(AREA, changed(AGE, 999), SEX), {}, "120"),
    "an age in words": (text(AREA, changed(AGE, "thirty"), SEX), {}, "not a number"),
    "ages in months": (text(AREA, changed(AGE, "6 months"), SEX), {}, "not a number"),
    "years of birth": (text(AREA, [2025 - age for age in AGE], SEX), {}, "years of birth"),
    "years of birth in the middle of a year": (
        text(AREA, [2025 - age for age in AGE], SEX),
        {"age_on": "2025-06-30"},
        "31 December",
    ),
    "dates of birth": (text(AREA, [f"{2025 - age}-03-04" for age in AGE], SEX), {}, "date"),
    "dates in an order that may be two": (
        text(AREA, [f"03/04/{2025 - age}" for age in AGE], SEX),
        {"age_on": "2025-06-30"},
        "day or the month",
    ),
    "dates as a spreadsheet counts them": (
        text(AREA, [45000 - 365 * age for age in AGE], SEX),
        {"age_on": "2025-06-30"},
        "spreadsheet",
    ),
    "thousands": (
        text(AREA, [f'"{age + 1},{age:03}"' for age in AGE], SEX, head="unit,income,sex"),
        {"attributes": ["income: under 20000, 20000+", "sex"]},
        "thousands",
    ),
    "a percent sign": (text(AREA, [f"{age}%" for age in AGE], SEX), {}, "no values|not a number|which text"),
    "too many fields": (PLAIN + "01001,5,f,4\n", {}, "4 fields"),
    "a quote that is not closed": (text(AREA, changed(AGE, '"5'), SEX), {}, "quotation|CSV|field"),
    "single quotes": (text(AREA, AGE, [f"'{one}'" for one in SEX]), {}, "sex"),
    "a control character": (text(AREA, AGE, changed(SEX, "f\x00")), {}, "control character"),
    "letters that mean two things": (
        text(AREA, AGE, [{"f": "h", "m": "m"}[one] for one in SEX]),
        {"attributes": [f"age: {BANDS}", "sex"]},
        "attribute 'sex' has no values",
    ),
    "codes without a codebook": (
        text(AREA, AGE, [{"f": 2, "m": 1}[one] for one in SEX]),
        {"attributes": [f"age: {BANDS}", "sex"]},
        "attribute 'sex' has no values",
    ),
    "a person twice": (
        text(AREA, AGE, SEX, changed(range(240), 1), head="unit,age,sex,person"),
        {"id": "person"},
        "an identifier occurs twice",
    ),
    "no records": ("unit,age,sex\n", {}, "no record has an area"),
    "a code that may be a mark": (
        text(["NA" if one == AREAS[0] else one for one in AREA], AGE, SEX),
        {},
        "a mark such as NA",
    ),
    "years of two digits": (
        text(AREA, [f"01.02.{(2025 - age) % 100:02}" for age in AGE], SEX),
        {"age_on": "2025-06-30"},
        "age_on is stated, but no column",
    ),
    "bands that are not those stated": (
        text(AREA, ["18-24" if band(age) == "18-64" else band(age) for age in AGE], SEX),
        {},
        "not a number|does not have|which text",
    ),
    "ends of lines of old computers": (PLAIN.replace("\n", "\r"), {}, "carriage return"),
    "a date that stands for none": (
        text(AREA, changed([f"{2025 - age}-01-01" for age in AGE], "1900-01-01"), SEX),
        {"age_on": "2025-06-30"},
        "may stand for none",
    ),
    "a birth to come": (
        text(AREA, changed([f"{2025 - age}-01-01" for age in AGE], "9999-12-31"), SEX),
        {"age_on": "2025-06-30"},
        "after the day",
    ),
    "no areas at all": (text([""] * 240, AGE, SEX), {"missing": "leave-out"}, "no record has an area"),
    "an identifier for an area": (
        text(range(240), AGE, SEX),
        {},
        "identifier",
    ),
    "areas that do not nest": (
        text(changed(TOWNS, "Berlin"), changed(AREA, AREA[1], AREA[1]), AGE, SEX, head="land,unit,age,sex"),
        {"area_columns": ["land", "unit"]},
        "do not nest",
    ),
}
"""What is asked: the content of the file, more options, and what the sentence says."""


def sketched(
    content: str | bytes, options: dict[str, object], folder: Path, name: str
) -> tuple[Sketch, Path]:
    packed = isinstance(content, bytes) and content.startswith(b"\x1f\x8b")
    file = folder / ("survey.csv.gz" if packed else "survey.csv")
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "areas.csv").write_text(
        "unit,level,parent\nLand,Land,\n" + "".join(f"{one},Town,Land\n" for one in AREAS)
    )
    (folder / "world.csv").write_text(
        "unit,level,parent\nLand,Land,\nNA,Town,Land\n01002,Town,Land\n02001,Town,Land\n"
    )
    given = {"area_columns": ["unit"], "attributes": [f"age: {BANDS}", "sex: f, m"]} | options
    if "areas" in given:
        given["areas"] = folder / str(given["areas"])
    return sketch(Drafting(file, **given)), file  # type: ignore[arg-type]


@pytest.mark.parametrize("name", READ)
def test_a_messy_file_is_read_as_it_is_meant(name: str, tmp_path: Path) -> None:
    content, options, expected = READ[name]
    found, file = sketched(content, options, tmp_path, name)
    assert read_as(found, file) == expected
    assert input_from_toml("\n".join(input_lines(found.input))) == found.input


@pytest.mark.parametrize("name", ASKED)
def test_a_doubtful_file_is_asked_about(name: str, tmp_path: Path) -> None:
    content, options, expected = ASKED[name]
    with pytest.raises(InputError, match=expected.replace("FILE", "survey.csv")) as caught:
        sketched(content, options, tmp_path, name)
    assert CONFIDENTIAL not in str(caught.value)


def test_a_weight_is_named_among_what_is_not_read(tmp_path: Path) -> None:
    content = text(AREA, AGE, SEX, [2.5] * 240, head="unit,age,sex,weight")
    found, file = sketched(content, {}, tmp_path, "weight")
    assert found.scope.left_out == ("column weight",)
    assert read_as(found, file) == counted()
