"""Messy little files of records: a suggestion reads each as it is meant, or asks; none is silently wrong."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from discreet.answers.records import record_check_answer
from discreet.budget import Release
from discreet.cli import run
from discreet.errors import InputError
from discreet.records import check_records
from discreet.records.record_check import RecordCheck
from discreet.records.record_columns import read_records
from discreet.render.text import text_of
from discreet.tables import read_table

AREAS = ("01001", "01002", "02001")
RELEASE = Release.from_toml(
    """
name = "messy"
neighbours = "unbounded"
[attributes]
age = ["0-17", "18-64", "65+"]
sex = ["f", "m"]
[[levels]]
name = "Land"
queries = { "age * sex" = { variance = 8 } }
[[levels]]
name = "Gemeinde"
queries = { "sex" = { variance = 8 } }
"""
)
SUMMED = Release.from_toml(
    """
name = "summed"
neighbours = "unbounded"
[attributes]
sex = ["f", "m"]
[[levels]]
name = "Gemeinde"
queries = { "income" = { sum = "income", at_most = 100000, variance = 8 } }
"""
)

Row = tuple[str, int, str]
DRAW = random.Random(80)
PEOPLE: list[Row] = [
    (AREAS[DRAW.randrange(3)], DRAW.choice((number % 98, DRAW.randrange(98))), DRAW.choice("fm"))
    for number in range(300)
]
GROUPS = [min(17, age // 5) + 1 for _, age, _ in PEOPLE]
COUNTER = range(1, 301)
ONE = ["1"] * 300


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ["unit,level,parent", "Land,Land,", *(f"{area},Gemeinde,Land" for area in AREAS)]
    Path("areas.csv").write_text("\n".join(lines) + "\n")


def checked(
    header: str, columns: Sequence[Sequence[object]], *, sign: str = ",", release: Release = RELEASE
) -> RecordCheck:
    lines = [sign.join(map(str, row)) for row in zip(*columns, strict=True)]
    Path("a.csv").write_text("\n".join([*([header] if header else []), *lines]) + "\n", encoding="utf-8")
    flat = release.levels[0].name == "Gemeinde"
    if flat:
        Path("flat.csv").write_text("unit,level,parent\n" + "".join(f"{one},Gemeinde,\n" for one in AREAS))
    person = "ID" if "ID" in header.split(sign) else None
    return check_records(release, "a.csv", units="flat.csv" if flat else "areas.csv", id=person, suggest=True)


AREA, AGE, SEX = ([row[place] for row in PEOPLE] for place in range(3))


BORN = [2024 - age for age in AGE]


def band(age: int) -> str:
    return "0-17" if age < 18 else "18-64" if age < 65 else "65+"


RIGHT = {
    "names as they are": ("unit,age,sex", (AREA, AGE, SEX), ","),
    "an identifier and a weight between": (
        "ID,weight,unit,age,sex",
        (COUNTER, [2.5] * 300, AREA, AGE, SEX),
        ",",
    ),
    "German": (
        "LFDNR;GEMEINDE;ALTER;GESCHL",
        (
            COUNTER,
            [one.lstrip("0") for one in AREA],
            AGE,
            [{"f": "weiblich", "m": "männlich"}[one] for one in SEX],
        ),
        ";",
    ),
    "a year of birth beside the age": (
        "YOB,unit,AGE,SEX",
        ([2024 - one for one in AGE], AREA, AGE, SEX),
        ",",
    ),
    "an age of the mother beside the age": ("age_mother,unit,Age,sex", (AGE[::-1], AREA, AGE, SEX), ","),
    "the sex of the partner first": (
        "sex_partner,unit,age,Gender",
        ([{"f": "m", "m": "f"}[one] for one in SEX], AREA, AGE, SEX),
        ",",
    ),
    "several sorts of areas": (
        "land;kreis;gemeinde;age;sex",
        (ONE, ONE, AREA, AGE, SEX),
        ";",
    ),
    "ages with a decimal comma": (
        "unit;age;sex",
        (AREA, [f"{age},5" if age % 7 == 0 else age for age in AGE], SEX),
        ";",
    ),
}

ASKED = {
    "an identifier alone is a number": ("ID,unit,sex", (COUNTER, AREA, SEX), "age"),
    "another identifier": ("person_nr,unit,sex", (COUNTER, AREA, SEX), "age"),
    "a weight alone is a number": ("weight,unit,sex", ([age + 0.5 for age in AGE], AREA, SEX), "age"),
    "codes of groups": ("unit,age,sex", (AREA, GROUPS, SEX), "age"),
    "codes of groups, named so": ("unit,AGE_GROUP,sex", (AREA, GROUPS, SEX), "age"),
    "a year of birth": ("unit,year_of_birth,sex", (AREA, BORN, SEX), "age"),
    "a year of birth called age": ("unit,age,sex", (AREA, BORN, SEX), "age"),
    "one value beyond all ages": ("unit,age,sex", (AREA, [*AGE[:-1], 999], SEX), "age"),
    "months of infants": ("unit,age,sex", (AREA, [age % 18 / 4 for age in AGE], SEX), "age"),
    "all of one band": ("unit,age,sex", (AREA, [18 + number % 46 for number in range(300)], SEX), "age"),
    "the age of somebody else": ("unit,age_mother,sex", (AREA, AGE, SEX), "age"),
    "the sex of somebody else": ("unit,age,sex_partner", (AREA, AGE, SEX), "sex"),
    "yes and no of something else": ("unit,age,q7", (AREA, AGE, SEX), "sex"),
    "two columns named as well": ("unit,age,geschlecht,sexe", (AREA, AGE, SEX, SEX[::-1]), "sex"),
    "codes of the sexes": ("unit,age,sex", (AREA, AGE, ["12"["fm".index(one)] for one in SEX]), "sex"),
    "H and M": ("unit,age,sex", (AREA, AGE, ["MH"["fm".index(one)] for one in SEX]), "sex"),
    "areas of work alone": ("work_area,age,sex", (AREA, AGE, SEX), "unit"),
}


def values_read(found: RecordCheck) -> list[Row]:
    assert found.suggestion is not None
    names = {"unit": (), **dict(RELEASE.attributes.values)} if RELEASE.attributes else {}
    words = read_records("a.csv", found.suggestion.table, values=names).table.words
    columns = [[words[one].values[int(code)].as_py() for code in words[one].codes] for one in names]
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_named_is_read_as_it_is_meant(name: str) -> None:
    header, columns, sign = RIGHT[name]
    found = checked(header, columns, sign=sign)
    assert found.sufficient, found.suggestion
    assert values_read(found) == [(area, band(age), sex) for area, age, sex in PEOPLE]
    assert "With it, all records can be counted" in " ".join(text_of(record_check_answer(found)))


@pytest.mark.parametrize("name", ASKED)
def test_what_is_not_sure_is_asked(name: str) -> None:
    header, columns, asked = ASKED[name]
    found = checked(header, columns)
    assert found.suggestion is not None
    assert found.suggestion.undecided == (asked,)
    assert not found.sufficient
    assert asked not in dict(found.suggestion.table.columns)
    words = " ".join(text_of(record_check_answer(found)))
    assert f"# {asked}: " in words
    assert "can be counted" not in words.replace("cannot be counted", "")


def test_the_command_ends_with_2_and_says_what_to_state(capsys: pytest.CaptureFixture[str]) -> None:
    checked("unit,age,sex", (AREA, GROUPS, SEX))
    Path("release.toml").write_text(RELEASE.to_toml())
    status = run(["check-records", "a.csv", "--release", "release.toml", "--units", "areas.csv", "--suggest"])
    text = capsys.readouterr().out
    assert status == 2
    assert "# age: column age has few different numbers" in text
    assert '# "age" = { column = "age", bands = ["0-17", "18-64", "65+"] }' in text


@pytest.mark.parametrize("income", ["1.775", '"1,775"', "12.345"])
def test_separators_of_thousands_are_asked_about(income: str) -> None:
    """1.775 of a file with 950 beside it was one and three quarters."""
    found = checked("unit,sex,income", (AREA, SEX, [income, "950"] * 150), release=SUMMED)
    assert found.suggestion is not None
    assert found.suggestion.undecided == ("income",)
    assert "separators of thousands" in found.suggestion.text
    sure = checked("unit,sex,income", (AREA, SEX, [income.replace('"', ""), "9.5"] * 150), release=SUMMED)
    if "," not in income:  # a decimal point elsewhere in the file makes it sure
        assert sure.sufficient


def test_a_decimal_comma_elsewhere_makes_a_point_one_of_thousands() -> None:
    found = checked(
        "unit;sex;income;w", (AREA, SEX, ["1.775"] * 300, ["2,5"] * 300), sign=";", release=SUMMED
    )
    assert found.suggestion is not None
    assert found.suggestion.table.decimal == ","
    assert not found.sufficient
    assert "may separate thousands" in found.suggestion.problems[0].text


@pytest.mark.parametrize("sign", [",", ";"])
def test_no_first_record_is_lost(sign: str) -> None:
    with pytest.raises(InputError, match=r"the first line of a\.csv seems to be a record; it must name"):
        checked("", (AREA, AGE, SEX), sign=sign)


@pytest.mark.parametrize("first", ["01001,34,f", "Quentin,young,m", "2024-01-31,young,x"])
def test_header_takes_the_place_of_names_not_of_a_record(first: str) -> None:
    """299 of 300 records were counted, and nothing said so."""
    bands = '[input.columns]\nage = { bands = ["0-17", "18-64", "65+"] }'
    how = f'[input]\nheader = ["unit", "age", "sex"]\n{bands}\n'
    release = Release.from_toml(f"{RELEASE.to_toml()}\n{how}")
    Path("a.csv").write_text(f"{first}\n01001,7,m\n")
    found = check_records(release, "a.csv", units="areas.csv")
    assert not found.usable
    assert "seems to be a record, which would be lost" in found.problems[0].text
    for names in ("a,b,c", "0,1,2"):
        Path("a.csv").write_text(f"{names}\n01001,7,m\n")
        assert check_records(release, "a.csv", units="areas.csv").usable


def test_all_is_said_of_what_was_looked_at_alone() -> None:
    """Areas that were not looked at, and records that are left out, are none of those that can be counted."""
    checked("unit,age,sex", (AREA, AGE, SEX))
    found = check_records(RELEASE, "a.csv", suggest=True)
    assert found.suggestion is not None
    assert found.sufficient
    words = " ".join(text_of(record_check_answer(found)))
    assert "With it, all records can be counted; not looked at: their areas." in words
    assert found.suggestion.scope is not None
    assert found.suggestion.scope.document()["left_out"] == ["their areas"]
    columns = "[input.columns]\nage = { bands = ['0-17', '18-64', '65+'] }\nsex = { leave_out = true }"
    release = Release.from_toml(f"{RELEASE.to_toml()}\n[input]\n{columns}\n")
    checked("unit,age,sex", (AREA, AGE, ["", "", *SEX[2:]]))
    found = check_records(release, "a.csv", units="areas.csv", suggest=True)
    words = " ".join(text_of(record_check_answer(found)))
    assert "300 records, of which 298 count." in words
    assert "With it, 298 of 300 records can be counted." in words
    assert not found.scope.is_whole


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("1,775", "leave separators of thousands out"),
        ("1,234,567", "leave separators of thousands out"),
        ("12.345.678", "leave separators of thousands out"),
        ("±188", "a margin of error"),
        ("+/-1,188", "a margin of error"),
        ("17,5", "has a decimal comma"),
    ],
)
def test_numbers_of_tables_for_people_are_named_as_what_they_are(value: str, words: str) -> None:
    Path("acs.csv").write_text(f'GEOID,estimate\n01,"{value}"\n02,950\n', encoding="utf-8")
    with pytest.raises(InputError, match=words) as caught:
        read_table("acs.csv", words=["GEOID"], floats=["estimate"])
    assert value not in str(caught.value)
    assert ("decimal comma" in str(caught.value)) == (value == "17,5")


def test_columns_that_were_not_read_are_named() -> None:
    """A number of people in each row: 300 records were said to be all there is of a file of 1,200 people."""
    found = checked("unit,age,sex,people", (AREA, AGE, SEX, [4] * 300))
    assert found.suggestion is not None
    assert found.suggestion.scope is not None
    assert found.suggestion.scope.left_out == ("column people",)
    words = " ".join(" ".join(text_of(record_check_answer(found))).split())
    assert "With it, all records can be counted; not looked at: column people." in words
    many = [f"q{number}" for number in range(7)]
    found = checked(",".join(["unit,age,sex", *many]), (AREA, AGE, SEX, *[[1] * 300 for _ in many]))
    assert found.suggestion is not None
    assert found.suggestion.scope is not None
    assert found.suggestion.scope.left_out == ("columns q0, q1, q2, q3 and 3 more",)
    assert checked("unit,age,sex", (AREA, AGE, SEX)).suggestion.scope.is_whole  # type: ignore[union-attr]
