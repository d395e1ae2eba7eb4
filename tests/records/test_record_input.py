"""Records as they are: every format, and every way of writing values, gives the counts of brute force."""

from __future__ import annotations

import gzip
import io
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import record_survey as survey
import xlsxwriter

from discreet.budget import Release
from discreet.errors import InputError
from discreet.measurement import tabulate
from discreet.records import check_records
from discreet.records.input import ColumnInput, TableInput, input_from_toml, load_input
from discreet.records.questions import Checking
from discreet.records.record_columns import exact_number, read_records
from discreet.records.records import count_records

RELEASE = Release.from_toml(survey.RELEASE)
ROWS = 400
MADE = survey.people(ROWS)


def how() -> TableInput:
    return input_from_toml(survey.INPUT, attributes=RELEASE.attributes)


def csv_file(folder: Path) -> Any:
    (folder / "a.csv").write_text(survey.text(MADE), encoding="latin-1", newline="")
    return folder / "a.csv"


def gz_file(folder: Path) -> Any:
    (folder / "a.csv.gz").write_bytes(gzip.compress(survey.text(MADE).encode("latin-1")))
    return folder / "a.csv.gz"


def zst_file(folder: Path) -> Any:
    with pyarrow.CompressedOutputStream(str(folder / "a.csv.zst"), "zstd") as stream:
        stream.write(survey.text(MADE).encode("latin-1"))
    return folder / "a.csv.zst"


def tsv_file(folder: Path) -> Any:
    (folder / "a.tsv").write_text(survey.text(MADE, "\t"), encoding="latin-1", newline="")
    return folder / "a.tsv"


def workbook(folder: Path) -> Any:
    with xlsxwriter.Workbook(folder / "a.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, survey.HEADER)
        for at, row in enumerate(MADE, 1):
            values = (row[0], int(row[1]), "" if row[2] is None else row[2], *row[3:])
            for place, value in enumerate(values):
                sheet.write(at, place, value)
    return folder / "a.xlsx"


def parquet(folder: Path) -> Any:
    pyarrow.parquet.write_table(arrow(folder), folder / "a.parquet")
    return folder / "a.parquet"


def duck(folder: Path) -> Any:
    import duckdb

    table = arrow(folder)
    with closing(duckdb.connect(str(folder / "a.duckdb"))) as connection:
        connection.register("frame", table)
        connection.execute("CREATE TABLE survey AS SELECT * FROM frame")
    return folder / "a.duckdb"


def sqlite(folder: Path) -> Any:
    """SQLite has a type for each value: among numbers, what is missing is a text."""
    with closing(sqlite3.connect(folder / "a.sqlite")) as connection:
        names = ", ".join(f'"{name}"' for name in survey.HEADER)
        connection.execute(f"CREATE TABLE survey ({names})")
        rows = [(n, int(area), "NA" if age is None else age, *rest) for n, area, age, *rest in MADE]
        connection.executemany("INSERT INTO survey VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.commit()
    return folder / "a.sqlite"


def arrow(folder: Path) -> Any:
    return pyarrow.table(survey.columns(MADE))


def pandas_frame(folder: Path) -> Any:
    import pandas

    frame = pandas.DataFrame(survey.columns(MADE))
    frame["BESCHÄFTIGT"] = frame["BESCHÄFTIGT"].astype(float)
    return frame


def pandas_mixture(folder: Path) -> Any:
    frame = pandas_frame(folder)
    frame["ALTER"] = [("NA" if age is None else age) for _, _, age, *_ in MADE]
    return frame


def polars_frame(folder: Path) -> Any:
    polars = pytest.importorskip("polars", reason="needs polars: pip install polars")
    return polars.DataFrame(survey.columns(MADE))


SOURCES = [csv_file, gz_file, zst_file, tsv_file, workbook, parquet, duck, sqlite, arrow]
SOURCES += [pandas_frame, pandas_mixture, polars_frame]


@pytest.mark.parametrize("source", SOURCES, ids=lambda one: one.__name__)
def test_every_format_gives_the_same_counts(tmp_path: Path, source: Callable[[Path], Any]) -> None:
    (tmp_path / "units.csv").write_text(survey.UNITS)
    table = how()
    if source is tsv_file:
        table = load_input(_saved(tmp_path, survey.INPUT.replace('";"', '"\\t"')))
    done = tabulate(
        RELEASE, source(tmp_path), tmp_path / "t", units=tmp_path / "units.csv", input=table, format="csv"
    )
    assert +survey.counted(tmp_path / "t") == survey.due(MADE)
    assert (done.records, done.incomplete) == (ROWS, sum(row[4] == 9 for row in MADE))
    assert done.incomplete > 0


def _saved(folder: Path, text: str) -> Path:
    (folder / "saved.toml").write_text(text, encoding="utf-8")
    return folder / "saved.toml"


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "units.csv").write_text(survey.UNITS)
    content = io.BytesIO(survey.text(MADE).encode("latin-1"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content))
    tabulate(RELEASE, "-", tmp_path / "t", units=tmp_path / "units.csv", input=how(), format="csv")
    assert +survey.counted(tmp_path / "t") == survey.due(MADE)


def test_the_section_may_stand_in_the_release(tmp_path: Path) -> None:
    survey.files(tmp_path, ROWS)
    inside = Release.from_toml(survey.RELEASE + survey.INPUT)
    tabulate(inside, tmp_path / "survey.csv", tmp_path / "t", units=tmp_path / "units.csv")
    assert +survey.counted(tmp_path / "t") == survey.due(MADE)


# -- what is made of values ----------------------------------------------------------------------------------


def values_of(
    texts: list[str | None], column: ColumnInput, known: list[str], **more: Any
) -> list[str | None]:
    """What a column of texts means, one by one."""
    table = TableInput(columns={"a": column}, **more)
    found = read_records(pyarrow.table({"a": pyarrow.array(texts, "string")}), table, values={"a": known})
    words = found.table.words["a"]
    return [None if code < 0 else words.values[int(code)].as_py() for code in words.codes]


def test_the_band_of_a_number_is_found_as_by_hand() -> None:
    rng = np.random.default_rng(7)
    for _ in range(40):
        ends = sorted(rng.choice(np.arange(-20, 60), size=5, replace=False).tolist())
        labels = [f"under {ends[0]}"] + [f"{a}-{b - 1}" for a, b in pairwise(ends)]
        labels += [f"{ends[-1]}+"]
        rng.shuffle(labels)
        numbers = [f"{value:.2f}" for value in rng.uniform(-30, 70, size=60)] + [str(end) for end in ends]
        found = values_of(numbers, ColumnInput(bands=labels), labels)
        for number, label in zip(numbers, found, strict=True):
            value, place = Fraction(number), sum(Fraction(number) >= end for end in ends)
            due = (
                f"under {ends[0]}"
                if place == 0
                else f"{ends[-1]}+"
                if place == 5
                else f"{ends[place - 1]}-{ends[place] - 1}"
            )
            assert label == due, (value, labels)


def test_numbers_beyond_the_last_band_are_in_none() -> None:
    column, known = ColumnInput(bands=["0-17", "18-64"]), ["0-17", "18-64"]
    assert values_of(["0", "64", "64.99"], column, known) == ["0-17", "18-64", "18-64"]
    for beyond in ("65", "-0.5", "65.0", "1e9"):
        with pytest.raises(InputError, match=r"a number that is in no band of \[input\] \(row 2"):
            values_of(["3", beyond], column, known)


def test_texts_are_read_in_turn_as_missing_codes_values_and_bands() -> None:
    column = ColumnInput(bands=["0-17", "18+"], codes={"99": "unknown"}, missing=["-9"], filled="unknown")
    known = ["0-17", "18+", "unknown"]
    texts = ["17", "99", "99.0", "-9", "-9.00", "", None, "18+", "17,999", "1e1", "unknown"]
    assert values_of(texts, column, known, decimal=",") == [
        "0-17",
        *["unknown"] * 6,
        "18+",
        "0-17",
        "0-17",
        "unknown",
    ]


def test_trimming_case_and_zeros() -> None:
    found = values_of([" F", "m ", "M"], ColumnInput(), ["f", "m"], trim=True, ignore_case=True)
    assert found == ["f", "m", "m"]
    assert values_of(["7", "7.0", "007", "1234567", "x"], ColumnInput(width=5), []) == [
        "00007",
        "00007",
        "00007",
        "1234567",
        "x",
    ]


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("17,5", ",", Fraction(35, 2)),
        ("17.5", ".", Fraction(35, 2)),
        ("-.5", ".", Fraction(-1, 2)),
        ("1e3", ".", Fraction(1000)),
        ("17,5", ".", None),
        ("1.000", ",", None),
        ("1,000.5", ".", None),
        ("", ".", None),
        ("nan", ".", None),
        ("1e9999", ".", None),
    ],
)
def test_numbers_are_exact_or_none(text: str, decimal: str, number: Fraction | None) -> None:
    assert exact_number(text, decimal) == number


def test_a_typed_number_has_a_point_whatever_texts_have() -> None:
    """decimal = "," is about texts: 1.125 in a column of numbers is not 1125, nor refused."""
    table = TableInput(decimal=",", columns={"w": ColumnInput(column="W")})
    frame = pyarrow.table({"W": [1.125, 2.0, 1e15]})
    found = read_records(frame, table, values={}, numbers=["w"]).numbers["w"]
    assert [found.values[code] for code in found.codes] == [Fraction(9, 8), 2, 10**15]
    with pytest.raises(InputError, match=r"thousands; .* \(row 1 of records, field W\)"):
        read_records(pyarrow.table({"W": ["1.125"]}), table, values={}, numbers=["w"])


def test_areas_may_be_written_in_their_own_way(tmp_path: Path) -> None:
    survey.files(tmp_path, ROWS)
    rows = [line.split(",") for line in survey.UNITS.splitlines()[1:]]
    lines = ["AGS|Ebene|Über", *(f"{unit.lstrip('0')}|{level}|{up.lstrip('0')}" for unit, level, up in rows)]
    (tmp_path / "areas.csv").write_text("\n".join(lines) + "\n", encoding="latin-1")
    districts = 'codes = { "1" = "01", "2" = "02", "3" = "03" }'
    areas = f"""
[input.areas]
encoding = "latin-1"
delimiter = "|"
[input.areas.columns]
unit = {{ column = "AGS", {districts}, width = 5 }}
level = "Ebene"
parent = {{ column = "Über", {districts} }}
"""
    both, units = _saved(tmp_path, survey.INPUT + areas), tmp_path / "areas.csv"
    tabulate(RELEASE, tmp_path / "survey.csv", tmp_path / "t", units=units, input=both)
    assert +survey.counted(tmp_path / "t") == survey.due(MADE)


# -- privacy -------------------------------------------------------------------------------------------------


def test_one_record_changes_one_cell_of_a_query_by_one_at_most(tmp_path: Path) -> None:
    """Leaving a record out, or giving it a value, depends on that record alone: sensitivity stays 1."""
    (tmp_path / "units.csv").write_text(survey.UNITS)
    made, table = survey.people(40, seed=3), how()

    def counts(some: list[survey.Row]) -> np.ndarray[Any, Any]:
        frame = pyarrow.table(survey.columns(some))
        found = count_records(RELEASE, Checking(RELEASE, frame, units=tmp_path / "units.csv", input=table))
        vector, layout = found.read(slice(0, found.layout.tree.size)), found.layout
        parts = {}
        for rows, (unit, query) in _places(layout).items():
            level = layout.tree.levels[layout.tree.kind[unit]]
            parts.setdefault((level, query), []).append(vector[rows[0] : rows[1]])
        every = [np.concatenate(some) for _, some in sorted(parts.items())]
        return np.stack([np.pad(one, (0, 2000 - len(one))) for one in every])

    whole = counts(made)
    incomplete = 0
    for place, row in enumerate(made):
        apart = np.abs(whole - counts(made[:place] + made[place + 1 :])).sum(axis=1)
        incomplete += row[4] == 9
        assert apart.tolist() == [0 if row[4] == 9 else 1] * len(apart)
    assert incomplete


def _places(layout: Any) -> dict[tuple[int, int], tuple[int, str]]:
    return {
        (int(first), int(first) + len(layout.cells[query])): (unit, query)
        for query in layout.queries
        for unit, first in enumerate(layout.first(query).tolist())
        if first >= 0
    }


def test_records_left_out_are_nobodys_when_the_records_of_a_person_are_limited(tmp_path: Path) -> None:
    (tmp_path / "units.csv").write_text(survey.UNITS)
    made = [(1, AREA, 20.0, "weiblich", 9, 1.0), (1, AREA, 20.0, "weiblich", 1, 1.0)]
    asked = partial(Checking, RELEASE, units=tmp_path / "units.csv", input=how(), id="LFDNR")
    frame = pyarrow.table(survey.columns(made))
    found = count_records(RELEASE, asked(frame))
    assert (found.incomplete, found.left_out) == (1, 0)
    twice = pyarrow.table(survey.columns([*made, made[1]]))
    with pytest.raises(InputError, match=r"an identifier occurs twice; .* \(row 3 of records, field LFDNR\)"):
        count_records(RELEASE, asked(twice))


AREA = survey.AREAS[0]


def test_a_check_counts_what_is_wrong_and_names_no_text(tmp_path: Path) -> None:
    (tmp_path / "units.csv").write_text(survey.UNITS)
    made = [
        *MADE[:50],
        (50, AREA, -731946.0, "geheim731946", 1, 1.0),
        (50, "731946", 3.0, "weiblich", 7, 1.0),
    ]
    frame = pyarrow.table(survey.columns(made))
    asked = {"units": tmp_path / "units.csv", "input": how(), "id": "LFDNR"}
    found = check_records(RELEASE, frame, **asked)
    assert not found.usable
    by = {one.name: (one.unknown, one.distinct, one.texts) for one in found.columns}
    assert by == {"unit": (1, 1, ()), "age": (1, 1, ()), "sex": (1, 1, ()), "employed": (1, 1, ())}
    assert [(one.field, one.count) for one in found.problems] == [
        ("ALTER", 1),
        ("LFDNR", 1),
        ("GEMEINDE", 1),
        ("GESCHL", 1),
        ("BESCHÄFTIGT", 1),
    ]
    assert "731946" not in repr(found)
    shown = check_records(RELEASE, frame, **asked, show=True)
    assert {one.name: one.texts for one in shown.columns}["sex"] == (("geheim731946", 1),)


# -- how a text is written -----------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252", "utf-16", "utf-8-sig", "cp850", "utf-32-le"])
@pytest.mark.parametrize("quote", ['"', "'", ""])
@pytest.mark.parametrize("sign", [";", "^", "\t"])
def test_dialects(tmp_path: Path, encoding: str, quote: str, sign: str) -> None:
    """Names and values with umlauts and with signs of the dialect, in 40,000 bytes and more."""
    inner = f"a{sign}ü" if quote and sign != "\t" else "aü"
    lines = [["Größe", "x"], *([inner, str(number)] for number in range(4_000))]
    text = "\n".join(sign.join(f"{quote}{field}{quote}" for field in line) for line in lines)
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    table = TableInput(
        encoding=encoding, delimiter=sign, quote=quote, columns={"size": ColumnInput(column="Größe")}
    )
    found = read_records(tmp_path / "a.csv", table, values={"size": [inner]}, identifiers=["x"]).table
    assert found.words["size"].values.to_pylist() == [inner]
    assert (found.rows, len(found.words["x"].values)) == (4_000, 4_000)


def test_bytes_that_an_encoding_does_not_have_are_refused_by_line(tmp_path: Path) -> None:
    lines = [b"a", *[b"\xfc"] * 3, b"731946\x81", b"b"]
    (tmp_path / "a.csv").write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(InputError) as caught:
        read_records(tmp_path / "a.csv", TableInput(encoding="windows-1252"), values={"a": ()})
    text = "not windows-1252, as encoding in [input] says: a byte has no meaning there (line 5 of a.csv)"
    assert str(caught.value) == text


def test_a_text_has_the_same_hash_in_every_encoding(tmp_path: Path) -> None:
    """A ledger knows records by their content, however they are encoded or packed."""
    hashes = set()
    for encoding in ("utf-8", "latin-1", "utf-16"):
        (tmp_path / "a.csv").write_bytes("a\nü\n".encode(encoding))
        read = read_records(tmp_path / "a.csv", TableInput(encoding=encoding), values={"a": ()})
        hashes.add(read.table.sha256)
    assert len(hashes) == 1


ONE_LEVEL = """
name = "pay"
neighbours = "unbounded"
[attributes]
sex = ["f", "m"]
[[levels]]
name = "Nation"
queries = { "sex" = { variance = 4 }, "pay" = { sum = "pay", at_most = 9000, variance = 4 } }
"""


NATION = pyarrow.table({"unit": ["N"], "level": ["Nation"]})
PAY = Release.from_toml(ONE_LEVEL)


def pay_of(folder: Path, rows: str, **how: Any) -> list[int]:
    """The counts of `sex` and the sum of `pay`."""
    (folder / "a.csv").write_text(rows)
    counted = count_records(PAY, Checking(PAY, folder / "a.csv", units=NATION, input=TableInput(**how)))
    return counted.read(slice(0, 1)).tolist()


def test_a_missing_number_can_be_zero(tmp_path: Path) -> None:
    columns = {"pay": ColumnInput(filled="0")}
    rows = "unit,sex,pay\nN,f,100\nN,m,\nN,m,NA\n"
    assert pay_of(tmp_path, rows, missing=["NA"], columns=columns) == [1, 2, 100]


def test_thousands_are_no_code_with_zeros_behind_its_point(tmp_path: Path) -> None:
    """In a file with decimal commas 9.000 is nine thousand: not the mark 9 of a missing value, nor a code."""
    columns = {"pay": ColumnInput(leave_out=True, codes={"8": "800"})}
    for text in ("9.000", "8.000"):
        with pytest.raises(InputError, match="not a number"):
            pay_of(tmp_path, f"unit;sex;pay\nN;f;{text}\n", decimal=",", missing=["9"], columns=columns)
    rows = "unit;sex;pay\nN;f;9,000\nN;f;9.0\nN;f;8,0\nN;m;7,000\n"
    assert pay_of(tmp_path, rows, decimal=",", missing=["9"], columns=columns) == [1, 1, 807]
    with pytest.raises(InputError, match="may separate thousands"):  # nobody knows, with a point stated
        pay_of(tmp_path, "unit;sex;pay\nN;f;9,000\n", missing=["9"], columns=columns)


@pytest.mark.parametrize("other", ["P1 ", "p1", " p1"])
def test_one_person_is_one_however_their_identifier_is_written(tmp_path: Path, other: str) -> None:
    """Otherwise somebody would count twice where the account has them once."""
    table = TableInput(trim=True, ignore_case=True, missing=["7"])
    (tmp_path / "a.csv").write_text(f"pid,unit,sex,pay\nP1,N,f,1\n7,N,f,1\n{other},N,m,1\n")
    found = check_records(PAY, tmp_path / "a.csv", units=NATION, id="pid", input=table)
    assert [(one.text.partition(";")[0], one.lines) for one in found.problems] == [
        ("an identifier occurs twice", (4,))
    ]
    plain = check_records(PAY, tmp_path / "a.csv", units=NATION, id="pid")
    assert plain.usable  # nobody said that these are the same


def test_an_identifier_that_is_missing_is_reported_or_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("pid,unit,sex,pay\nP1,N,f,1\n,N,f,1\n0,N,m,1\n")
    for leave_out in (False, True):
        columns = {"pid": ColumnInput(missing=["0"], leave_out=leave_out)}
        found = check_records(
            PAY, tmp_path / "a.csv", units=NATION, id="pid", input=TableInput(columns=columns)
        )
        assert (found.usable, found.incomplete) == ((True, 2) if leave_out else (False, 0))
        assert [one.lines for one in found.problems] == ([] if leave_out else [(3, 4)])


def test_a_summed_column_cannot_identify_people(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("unit,sex,pay\nN,f,1\nN,m,1\n")
    with pytest.raises(InputError, match="it cannot identify people"):
        tabulate(PAY, tmp_path / "a.csv", tmp_path / "out", units=NATION, id="pay")


@pytest.mark.parametrize("stated", ["2500.0", "2500,0", "2500"])
def test_a_code_of_a_number_has_a_point_or_a_comma_whatever_the_file_has(tmp_path: Path, stated: str) -> None:
    columns = {"pay": ColumnInput(codes={"high": stated}, filled=stated)}
    for decimal in ".,":
        rows = f"unit;sex;pay\nN;f;high\nN;f;\nN;m;1{decimal}0\n"
        assert pay_of(tmp_path, rows, decimal=decimal, columns=columns) == [2, 1, 5001]
