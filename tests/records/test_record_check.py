"""From a messy survey to a rehearsal in two commands, and nothing of the survey in what is said meanwhile."""

from __future__ import annotations

import csv
import io
import json
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
import record_survey as survey

from discreet.budget import Release
from discreet.cli import run
from discreet.ledger import create_ledger, read_ledger
from discreet.measurement import measure
from discreet.records import check_records
from discreet.records.input import load_input

RELEASE = Release.from_toml(survey.RELEASE)
CHECK = ("check-records", "survey.csv", "--release", "release.toml", "--units", "units.csv")
MEASURE = ("measure", "release.toml", "--records", "survey.csv", "--units", "units.csv", "--rehearsal", "1")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Run a command; return its status and all that it said."""
    capsys.readouterr()
    status = run(arguments)
    seen = capsys.readouterr()
    return status, seen.out + seen.err


def test_a_survey_is_rehearsed_in_two_commands(capsys: pytest.CaptureFixture[str]) -> None:
    made = survey.files(Path(), 40_000)
    refusals = 0
    status, text = said(capsys, *CHECK, "--suggest", "--out", "found.toml")
    refusals += status == 2
    assert "left open in it: employed" in text
    # what a person fills in: the codebook of the survey says what 1, 2 and 9 are
    lines = Path("found.toml").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("# employed")] == [
        "# employed: which column is it? LFDNR, BESCHÄFTIGT, GEWICHT"
    ]
    filled = [
        '"employed" = { column = "BESCHÄFTIGT", codes = { "1" = "yes", "2" = "no" }, missing = ["9"], '
        "leave_out = true }"
        if line.startswith('# "employed"')
        else line
        for line in lines
    ]
    Path("found.toml").write_text("\n".join(filled), encoding="utf-8")
    status, text = said(capsys, *MEASURE, "--input", "found.toml", "--out", "trial")
    assert status == 0, text
    assert refusals <= 1
    with Path("trial/measurements.NOT-PRIVATE.csv").open() as stream:
        rows_of = [row for row in csv.reader(stream) if not row[0].startswith("#")]
    noisy = {tuple(row[:1] + row[2:4]): int(row[4]) for row in rows_of[1:]}
    # noise of a variance of at most 8: none of 1,000 cells is off by 20 but with a chance below 1e-9
    exact = survey.due(made)
    assert max(abs(value - exact[key]) for key, value in noisy.items()) < 20  # type: ignore[index]


def test_what_can_be_known_is_suggested_without_a_refusal(capsys: pytest.CaptureFixture[str]) -> None:
    """German words for values, a value for what is missing: nothing is left to a person."""
    made = [(*row[:4], 1 + row[4] % 2, row[5]) for row in survey.people(500)]
    text = survey.text(made).replace("BESCHÄFTIGT", "Erwerbstätig")
    lines = [line.split(";") for line in text.splitlines()]
    for fields in lines[1:]:
        fields[4] = {"1": "ja", "2": "nein"}[fields[4]]
    Path("survey.csv").write_text("\n".join(map(";".join, lines)) + "\n", encoding="latin-1")
    Path("units.csv").write_text(survey.UNITS)
    Path("release.toml").write_text(survey.RELEASE)
    status, text = said(capsys, *CHECK, "--suggest", "--out", "found.toml")
    assert (status, "With it, all records can be counted; not looked at: column" in text) == (0, True)
    found = load_input("found.toml", RELEASE.attributes)
    assert (found.encoding, found.delimiter, found.decimal) == ("latin-1", ";", ",")
    assert found.of("unit").width == 5
    assert [found.of(name).column for name in ("unit", "age", "sex", "employed")] == [
        "GEMEINDE",
        "ALTER",
        "GESCHL",
        "Erwerbstätig",
    ]
    assert stat.S_IMODE(Path("found.toml").stat().st_mode) == 0o600
    assert said(capsys, *MEASURE, "--input", "found.toml", "--out", "trial")[0] == 0
    status, text = said(capsys, *CHECK, "--suggest", "--out", "found.toml")
    assert (status, "which exists" in text) == (2, True)


def secret_survey() -> set[str]:
    """A survey whose texts occur nowhere else; return them."""
    rows = [survey.written(row) for row in survey.people(60)]
    for place, row in enumerate(rows):
        row[0] = f"Q{place}731946"
        row[1:5] = (
            [f"{row[1]}731946", f"{row[2]}731946", f"{row[3]}ZZ", f"731946{row[4]}"]
            if place % 7 == 0
            else row[1:5]
        )
        row[5] = f"{row[5]}731946"
    stream = io.StringIO()
    csv.writer(stream, delimiter=";").writerows([survey.HEADER, *rows])
    Path("survey.csv").write_text(stream.getvalue(), encoding="latin-1")
    return {text for row in rows for text in row if "731946" in text or "ZZ" in text}


def test_no_text_of_the_file_is_said_or_left_behind(capsys: pytest.CaptureFixture[str]) -> None:
    survey.files(Path(), 1)
    secrets = secret_survey()
    everything = ""
    for more in (
        (),
        ("--json",),
        ("--suggest",),
        ("--suggest", "--json"),
        ("--suggest", "--out", "found.toml"),
    ):
        for how in ((), ("--input", "input.toml"), ("--input", "input.toml", "--id", "GESCHL")):
            if "--out" in more:
                Path("found.toml").unlink(missing_ok=True)
            status, text = said(capsys, *CHECK, *how, *more)
            assert status == 2
            everything += text
    everything += said(capsys, *MEASURE, "--input", "input.toml", "--out", "trial")[1]
    everything += "".join(
        path.read_text(encoding="utf-8", errors="replace")
        for path in Path().rglob("*")
        if path.is_file() and path.name not in ("survey.csv",)
    )
    assert len(secrets) > 60
    assert not [text for text in secrets if text in everything]
    assert "731946" not in everything


def test_values_are_shown_on_a_terminal_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    survey.files(Path(), 1)
    secret_survey()
    status, text = said(capsys, *CHECK, "--input", "input.toml", "--show")
    assert status == 2
    assert "so it is for a terminal" in text
    assert "731946" not in text
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True, raising=False)
    status, text = said(capsys, *CHECK, "--input", "input.toml", "--show", "--suggest")
    assert status == 2
    assert "CONFIDENTIAL" in text
    assert re.search(r"männlichZZ +\d", text)


def test_a_file_without_a_header_shows_no_names(capsys: pytest.CaptureFixture[str]) -> None:
    survey.files(Path(), 30)
    lines = Path("survey.csv").read_bytes().splitlines(keepends=True)
    Path("survey.csv").write_bytes(b"".join(lines[1:]))
    status, text = said(capsys, *CHECK, "--suggest")
    assert status == 2
    assert "the first line of survey.csv seems to be a record; it must name the columns" in text
    assert "weiblich" not in text
    assert "männlich" not in text


def test_all_problems_in_one_round_of_records_and_areas() -> None:
    """Those of the encoding, of the areas, of columns and of values, at once."""
    survey.files(Path(), 200)
    Path("areas.csv").write_text(survey.UNITS.replace("01001,Gemeinde,01", "01001,Gemeinde,99"))
    how = survey.INPUT.replace('encoding = "latin-1"\n', "").replace('"9"', '"8"').replace('"ALTER"', '"AGE"')
    Path("half.toml").write_text(how, encoding="utf-8")
    found = check_records(RELEASE, "survey.csv", units="areas.csv", input="half.toml", id="GEMEINDE")
    texts = [one.text for one in found.problems]
    assert [text.split(";")[0].split(":")[0] for text in texts] == [
        "a child without a parent",
        "survey.csv has no column AGE",
        "an identifier occurs twice",
        "a value that attribute 'employed' does not have",
        "not UTF-8, but perhaps Latin-1 or Windows-1252",
    ]


def test_the_check_is_the_same_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    made = survey.files(Path(), 300)
    status, text = said(capsys, *CHECK, "--input", "input.toml", "--json")
    record = json.loads(text)
    assert (status, record["usable"], record["rows"], record["areas"]) == (0, True, 300, 40)
    assert record["incomplete"] == sum(row[4] == 9 for row in made)
    by_name: dict[str, Any] = {one["name"]: one for one in record["columns"]}
    assert by_name["age"]["missing"] == sum(row[2] is None for row in made)
    assert "texts" not in record


# -- what is published ---------------------------------------------------------------------------------------


def test_what_is_published_says_what_was_left_out_and_not_how_much() -> None:
    """The release of the ledger and of the output has no [input]: it describes a file, not a release."""
    made = survey.files(Path(), 300)
    create_ledger("ledger.json")
    inside = Release.from_toml(survey.RELEASE + survey.INPUT)
    done = measure(inside, None, "out", records="survey.csv", units="units.csv", ledger="ledger.json")
    many = sum(row[4] == 9 for row in made)
    assert many > 9
    assert done.left_out == ("employed",)
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert manifest["left_out_without"] == ["employed"]
    assert many not in [value for value in manifest.values() if isinstance(value, int)]
    assert "GESCHL" not in Path("out/release.toml").read_text() + Path("ledger.json").read_text()
    assert read_ledger("ledger.json").entries[0].release == RELEASE


SMALL = """
name = "small"
neighbours = "unbounded"
[attributes]
sex = ["f", "m"]
[[levels]]
name = "Nation"
queries = { "sex" = { variance = 4 } }
"""


def suggested(capsys: pytest.CaptureFixture[str], records: bytes) -> tuple[int, str]:
    Path("a.csv").write_bytes(records)
    Path("areas.csv").write_text("unit,level,parent\nNorth,Nation,\n")
    Path("small.toml").write_text(SMALL)
    asked = ("check-records", "a.csv", "--release", "small.toml", "--units", "areas.csv", "--suggest")
    return said(capsys, *asked)


@pytest.mark.parametrize("line", ["Quentin,f,North", "Quentin,x,North", "Quentin,f,f"])
def test_a_first_line_with_values_of_the_release_is_no_header(
    capsys: pytest.CaptureFixture[str], line: str
) -> None:
    """No other record repeats a value of the first one, and yet it is one, which nobody wants to lose."""
    status, text = suggested(capsys, f"{line}\nRosalind,m,South\n".encode())
    assert (status, "seems to be a record" in text, "Quentin" in text) == (2, True, False)


def test_a_column_may_be_called_as_a_value_is(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = suggested(capsys, b"unit,Sex,f\nNorth,F,1\n")
    assert (status, "With it, all records can be counted; not looked at: column f." in text) == (0, True)


def test_a_column_whose_name_is_no_line_is_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = suggested(capsys, b"unit,x\x1by,sex\nNorth,1,F\n")
    assert (status, "With it, all records can be counted; not looked at: column" in text) == (0, True)
    assert "\x1b" not in text


def test_utf_16_is_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = suggested(capsys, "unit,sex\nNorth,f\n".encode("utf-16"))
    assert (status, 'encoding = "utf-16"' in text, "perhaps UTF-16" in text) == (0, True, True)
    assert "Latin-1" not in text


WEIGHTED = """
name = "weighted"
neighbours = "unbounded"
weight = { column = "w", at_most = 500, unit = "1/10" }
[attributes]
sex = ["f", "m"]
[[levels]]
name = "Nation"
queries = { "sex" = { variance = 4 }, "hours" = { sum = "hours", at_most = 80, variance = 4 } }
"""


def test_columns_of_numbers_are_suggested_too(capsys: pytest.CaptureFixture[str]) -> None:
    """Their decimal commas and gaps as well: else the next command would refuse them."""
    Path("a.csv").write_bytes("Kreis;SEX;HOURS;GEWICHT\nNorth;f;7,5;1,25\nNorth;m;;NA\n".encode("latin-1"))
    Path("areas.csv").write_text("unit,level,parent\nNorth,Nation,\n")
    Path("weighted.toml").write_text(WEIGHTED)
    asked = ("check-records", "a.csv", "--release", "weighted.toml", "--units", "areas.csv", "--suggest")
    status, text = said(capsys, *asked, "--out", "found.toml")
    assert status == 2
    assert "What nobody but you can know is left open in it: w, hours." in text
    found = load_input("found.toml")
    assert (found.decimal, "NA" in found.missing) == (",", True)
    assert [found.of(name).column for name in ("unit", "w", "hours")] == ["Kreis", "GEWICHT", "HOURS"]
    lines = Path("found.toml").read_text(encoding="utf-8").replace('HOURS"', 'HOURS", as = "0"')
    Path("found.toml").write_text(lines.replace('GEWICHT"', 'GEWICHT", leave_out = true'), encoding="utf-8")
    assert said(capsys, *asked[:-1], "--input", "found.toml")[0] == 0


def test_a_column_of_numbers_that_is_not_found_is_left_open(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_bytes(b"unit;sex;hours;x\nNorth;f;7,5;1,25\nNorth;m;3;NA\n")
    Path("areas.csv").write_text("unit,level,parent\nNorth,Nation,\n")
    Path("weighted.toml").write_text(WEIGHTED)
    asked = ("check-records", "a.csv", "--release", "weighted.toml", "--units", "areas.csv", "--suggest")
    status, text = said(capsys, *asked, "--out", "found.toml")
    assert (status, "# w: which column is it? x" in text) == (2, True)
    assert "NA" in load_input("found.toml").missing  # whichever it is, its gaps are known


def test_one_record_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text("unit,sex\nNorth,f\nNorth,\n")
    Path("areas.csv").write_text("unit,level,parent\nNorth,Nation,\n")
    Path("small.toml").write_text(SMALL + "[input]\ncolumns = { sex = { leave_out = true } }\n")
    asked = ("check-records", "a.csv", "--release", "small.toml", "--units", "areas.csv")
    assert "1 of 2 records is left out because" in said(capsys, *asked)[1]
    Path("a.csv").write_text("unit,sex\nNorth,f\n")
    assert "for small: 1 record." in said(capsys, *asked)[1]
