"""Tables to print: the same numbers in a workbook, on a page and in CSV, with totals and footnotes."""

from __future__ import annotations

import csv
import io
import re
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import numpy as np
import pytest

from discreet import InputError
from discreet.answers import describe
from discreet.answers.printed import headings
from discreet.budget import load
from discreet.errors import DiscreetError
from discreet.estimation import estimate
from discreet.estimation.output.printed import PrintedRow, PrintedTable, PrintedTables
from discreet.measurement import measure, write_example
from discreet.reports.printed import csv_table, print_tables

QUERY = "age * limitation"
Margins = Literal["beside", "beneath", "none"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("printed")
    write_example(here)
    release = load(here / "release.toml")
    for out, more in (("trial", {"rehearsal": 1}), ("real", {})):
        measure(
            release,
            None,
            records=here / "records.csv",
            units=here / "units.csv",
            id="id",
            out=here / out,
            **more,  # type: ignore[arg-type]
        )
    (here / "areas.csv").write_text("area,unit\ncoast,North\ncoast,West\ninland,South\ninland,East\n")
    return here


def table_of(file: Path) -> tuple[list[str], dict[str, list[str]]]:
    """The head of a CSV file, and its rows by area, without the mark and the footnotes."""
    rows = list(csv.reader(io.StringIO(file.read_text())))
    start = next(place for place, row in enumerate(rows) if row[:1] == ["area"])
    end = next(place for place, row in enumerate(rows) if place > start and not row)
    return rows[start], {row[0]: row for row in rows[start + 1 : end]}


def test_numbers_and_margins_are_those_of_the_estimates(folder: Path, tmp_path: Path) -> None:
    found = print_tables(folder / "real", tmp_path / "t.csv", prints=[QUERY])
    queries = [QUERY, "age", "limitation", "total"]
    estimate(folder / "real", tmp_path / "out", queries=queries, levels=["0.95"])
    with (tmp_path / "out" / "estimates.csv").open() as stream:
        known = {(row["unit"], row["cell"]): row for row in csv.DictReader(stream)}
    head, rows = table_of(tmp_path / "t.csv")
    assert len(head) == 2 + 2 * 20
    assert head[2:4] == ["0-17, none", "0-17, none ± 95 % (noise only)"]
    assert len(rows) == 25
    columns = {
        "18-39, some": "18-39 * some",
        "18-39, Total": "18-39",
        "Total, severe": "severe",
        "Total": "all",
    }
    for area in ("Nation", "South", "Elm"):
        for shown, cell in columns.items():
            at = head.index(shown)
            row = known[area, cell]
            number, error = int(rows[area][at]), int(rows[area][at + 1])
            assert number == round(float(row["estimate"]))
            # all that the interval holds is within the margin, and no more than rounding is added; an
            # interval ends at zero where a count cannot be less, and a rounded estimate may lie below
            assert number - error <= float(row["lower95"]) or float(row["lower95"]) == 0
            assert number + error >= float(row["upper95"]) or float(row["upper95"]) == 0
            assert number + error <= float(row["upper95"]) + 3
    assert found.tables[0].factors == ("age", "limitation")
    assert not found.not_private
    assert [one.name for one in found.tables[0].rows[:3]] == ["Nation", "East", "Elm"]
    assert [one.depth for one in found.tables[0].rows[:3]] == [0, 1, 2]


def test_whole_tables_add_up_and_margins_contain_the_interval(folder: Path, tmp_path: Path) -> None:
    table = print_tables(folder / "real", tmp_path / "t.csv", prints=[QUERY], tables=True).tables[0]
    values, columns = table.values, table.columns
    assert (values >= 0).all()
    detailed = [place for place, column in enumerate(columns) if None not in column]
    total = columns.index((None, None))
    assert (values[:, detailed].sum(axis=1) == values[:, total]).all()
    deep = np.array([row.depth for row in table.rows])
    assert (values[deep == 1].sum(axis=0) == values[0]).all()


@pytest.mark.slow
def test_margins_of_whole_numbers_reach_the_farther_end(folder: Path, tmp_path: Path) -> None:
    """Those of `estimate`, from the same seed: with replicates its intervals of whole numbers."""
    known = estimate(folder / "real", tables=True, replicates=50, queries=[QUERY]).to_pandas()
    for replicates, name in ((None, ""), (50, "table_")):
        given = {"prints": [QUERY], "tables": True, "replicates": replicates}
        found = print_tables(folder / "real", tmp_path / f"t{name}.csv", **given)
        table = found.tables[0]
        for place, row in enumerate(table.rows):
            mine = known[known["unit"] == row.name].set_index("cell")
            for column, value, margin in zip(
                table.columns, table.values[place], table.margins[place], strict=True
            ):
                if None in column:
                    continue
                one = mine.loc[" * ".join(column)]
                ends = one[f"{name}upper95"] - value, value - one[f"{name}lower95"]
                assert (value, margin) == (one["table"], max(abs(ends[0]), abs(ends[1])))
        whose = "number's own interval, from 50" if replicates else "estimate's interval"
        assert whose in (tmp_path / f"t{name}.csv").read_text()
    (tmp_path / "areas.csv").write_text("area,unit\ncoast,North\n")
    given |= {"areas": tmp_path / "areas.csv"}
    with pytest.raises(InputError, match="leave them or the areas out"):
        print_tables(folder / "real", tmp_path / "no.csv", **given)
    with pytest.raises(InputError, match="give tables, too"):
        print_tables(folder / "real", tmp_path / "no.csv", prints=[QUERY], replicates=50)
    assert not (tmp_path / "no.csv").exists()


def test_every_printed_number_adds_up(folder: Path, tmp_path: Path) -> None:
    """Over values, areas, unions and tables; and all are what the microdata count to."""
    (tmp_path / "areas.csv").write_text(
        "area,unit\ncoast,North\ncoast,West\ninland,South\ninland,East\nall,North\nall,West\nall,South\n"
        "all,East\n"
    )
    prints = ["limitation * age", "adult", "old = age[40-64 | 65+] * limitation"]
    made = {
        areas: print_tables(
            folder / "real", tmp_path / f"t{areas}", prints=prints, tables=True, **given
        ).tables
        for areas, given in ((False, {}), (True, {"areas": tmp_path / "areas.csv"}))
    }
    people = estimate(folder / "real", microdata=True).to_pandas("microdata")
    people["adult"] = people["age"].map(lambda age: "no" if age == "0-17" else "yes")
    old = people["age"].isin(["40-64", "65+"])
    for table in made[False]:
        for place, row in enumerate(table.rows):
            below = [
                number
                for number, other in enumerate(table.rows)
                if other.depth == row.depth + 1
                and place < number
                and all(one.depth > row.depth for one in table.rows[place + 1 : number])
            ]
            if below:
                assert (table.values[below].sum(axis=0) == table.values[place]).all()
            mine = people[(people[row.level] if row.depth < 2 else people["unit"]) == row.name]
            for column, number in zip(table.columns, table.values[place], strict=True):
                chosen = mine[old.loc[mine.index]] if table.query.startswith("old") else mine
                for factor, label in zip(table.factors, column, strict=True):
                    if label is not None and "|" not in label:
                        chosen = chosen[chosen[factor] == label]
                assert len(chosen) == number
    by_name = {row.name: place for place, row in enumerate(made[False][0].rows)}
    for units, unions in zip(made[False], made[True], strict=True):
        rows = {row.name: numbers for row, numbers in zip(unions.rows, unions.values, strict=True)}
        assert (rows["coast"] + rows["inland"] == rows["all"]).all()
        assert (rows["all"] == units.values[by_name["Nation"]]).all()
        assert (rows["coast"] == units.values[[by_name["North"], by_name["West"]]].sum(axis=0)).all()
    footnotes = (tmp_path / "tFalse" / "adult.csv").read_text()
    assert "Numbers are whole, none is negative, and all add up" in footnotes


def test_areas_and_sampling_errors(folder: Path, tmp_path: Path) -> None:
    districts = [
        row.split(",")[0] for row in (folder / "units.csv").read_text().splitlines() if "District" in row
    ]
    rows = "".join(f"{name},total,all,50\n" for name in districts)
    (tmp_path / "s.csv").write_text(f"unit,query,cell,sampling_sd\n{rows}")
    found = print_tables(
        folder / "real",
        tmp_path / "t.csv",
        prints=["total"],
        areas=folder / "areas.csv",
        sampling=tmp_path / "s.csv",
        levels=["0.9"],
    )
    head, lines = table_of(tmp_path / "t.csv")
    assert head == ["area", "level", "Total", "Total ± 90 % (noise and sampling)"]
    assert list(lines) == ["coast", "inland"]
    # nine districts of standard deviation 50, and a little noise
    assert 1.645 * 150 <= float(lines["coast"][3]) <= 1.645 * 150 + 3
    assert found.sampled
    assert "noise and sampling" in (tmp_path / "t.csv").read_text()
    assert "CAUTION" in "".join(str(part) for part in describe(found).body)


def sheets(file: Path) -> dict[str, list[list[str]]]:
    """The sheets of a workbook by name, as texts."""
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(file) as book:
        texts = [
            "".join(part.text or "" for part in one.iter(f"{space}t"))
            for one in ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
        ]
        names = [
            one.attrib["name"]
            for one in ElementTree.fromstring(book.read("xl/workbook.xml")).iter(f"{space}sheet")
        ]
        found = {}
        for number, name in enumerate(names, start=1):
            rows = []
            sheet = ElementTree.fromstring(book.read(f"xl/worksheets/sheet{number}.xml"))
            for row in sheet.iter(f"{space}row"):
                cells = []
                for cell in row.iter(f"{space}c"):
                    value = cell.find(f"{space}v")
                    text = "" if value is None else value.text or ""
                    cells.append(texts[int(text)] if cell.attrib.get("t") == "s" else text)
                rows.append(cells)
            found[name] = rows
    return found


@pytest.mark.parametrize("margins", ["beside", "beneath", "none"])
def test_workbook_and_page_have_the_numbers_of_csv(folder: Path, tmp_path: Path, margins: str) -> None:
    given = {"prints": [QUERY, "total"], "margins": margins}
    found = print_tables(folder / "trial", tmp_path / "t.xlsx", **given)  # type: ignore[arg-type]
    print_tables(folder / "trial", tmp_path / "t.html", **given)  # type: ignore[arg-type]
    print_tables(folder / "trial", tmp_path / "csv", **given)  # type: ignore[arg-type]
    names = ["age-limitation.NOT-PRIVATE.csv", "total.NOT-PRIVATE.csv"]
    assert sorted(file.name for file in (tmp_path / "csv").iterdir()) == names
    book, page = sheets(tmp_path / "t.xlsx"), (tmp_path / "t.html").read_text()
    assert list(book) == ["age limitation", "total"]
    assert page.count("NOT PRIVATE: made from a rehearsal. Not to be published.") == 2
    for sheet in book.values():
        assert ["NOT PRIVATE: made from a rehearsal. Not to be published."] in sheet
        assert any("discrete Gaussian noise of variance 5 to 20" in "".join(row) for row in sheet)
    _, lines = table_of(tmp_path / "csv" / names[0])
    printed = next(row for row in book["age limitation"] if row and row[0] == "South")
    at = [row.name for row in found.tables[0].rows].index("South")
    numbers = found.tables[0].values[at].tolist()
    wide = 2 if margins == "beside" else 1
    assert [float(one) for one in printed[1::wide]] == numbers
    in_page = re.search(r">South</th>(.*?)</tr>", page)
    assert in_page is not None
    cells = re.findall(r"<td(?: class=\"total\")?>([^<]*)</td>", in_page[1])
    assert [float(one.replace(",", "").replace("−", "-")) for one in cells] == numbers
    if margins != "beneath":
        start = 2
        assert [float(one) for one in lines["South"][start::wide]] == numbers
    for table in found.tables:
        wide = 2 if margins == "beside" else 1
        for row in headings(table, found):
            assert sum(one.wide for one in row) == wide * len(table.columns)
    assert ("margins of error (noise only)" in page) == (margins != "none")


def test_no_formula_and_no_markup_from_names(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "areas.csv").write_text('area,unit\n"=1+1<b>",North\n')
    given = {"prints": ["total"], "areas": tmp_path / "areas.csv"}
    print_tables(folder / "real", tmp_path / "t.html", **given)  # type: ignore[arg-type]
    assert "=1+1&lt;b&gt;" in (tmp_path / "t.html").read_text()
    print_tables(folder / "real", tmp_path / "t.csv", **given)  # type: ignore[arg-type]
    assert "'=1+1<b>" in (tmp_path / "t.csv").read_text()
    print_tables(folder / "real", tmp_path / "t.xlsx", **given)  # type: ignore[arg-type]
    with zipfile.ZipFile(tmp_path / "t.xlsx") as book:
        assert b"<f>" not in book.read("xl/worksheets/sheet1.xml")


@pytest.mark.parametrize("margins", ["beside", "beneath", "none"])
@pytest.mark.parametrize("name", ['=HYPERLINK("http://x")', "+1", "-1", "@SUM(1)", "\t=1", "East"])
def test_no_cell_of_a_csv_file_is_a_formula(folder: Path, margins: Margins, name: str) -> None:
    """Whatever areas, levels and values are called; numbers below zero stay numbers."""
    columns, values = (("young", name), (name, None)), np.array([[-4.0, 5.0]])
    table = PrintedTable(f"{name} * sex", ("age", "sex"), columns, (PrintedRow(name, name),), values, values)
    found = print_tables(folder / "real", folder / f"t{margins}{ord(name[0])}.csv", prints=["total"])
    rows = list(
        csv.reader(io.StringIO(csv_table(table, replace(found, margins=margins)).decode(), newline=""))
    )
    cells = [cell for row in rows for cell in row]
    risky = [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r")) and cell != "-4"]
    assert (risky, "-4" in cells) == ([], True)
    assert ("East" if name == "East" else f"'{name}") in cells


@pytest.mark.parametrize("ending", ["csv", "html", "xlsx", ""])
def test_only_tables_prints_whole_numbers_without_margins(folder: Path, tmp_path: Path, ending: str) -> None:
    """They were estimates, rounded: totals that are no sums."""
    given = {"prints": [QUERY], "only_tables": True}
    found = print_tables(folder / "real", tmp_path / f"t.{ending}".rstrip("."), **given)  # type: ignore[arg-type]
    (table,) = found.tables
    detailed = [place for place, column in enumerate(table.columns) if None not in column]
    total = table.values[:, table.columns.index((None, None))]
    assert (table.values[:, detailed].sum(axis=1) == total).all()
    assert (table.values >= 0).all()
    assert (found.whole, found.margins) == (True, "none")
    known = estimate(folder / "real", only_tables=True, queries=[QUERY]).to_pandas("tables")
    at = [row.name for row in table.rows].index("South")
    mine = known[known["unit"] == "South"].set_index("cell")["table"]
    cells = [" * ".join(filter(None, table.columns[place])) for place in detailed]
    assert table.values[at, detailed].tolist() == [mine[cell] for cell in cells]


def test_only_tables_has_no_margins_to_print(folder: Path, tmp_path: Path) -> None:
    for wrong, message in (
        ({"margins": "beneath"}, "without margins of error"),
        ({"levels": ["0.99"], "replicates": 9}, "levels, replicates are about these"),
    ):
        with pytest.raises(InputError, match=message):
            print_tables(folder / "real", tmp_path / "t.csv", prints=["age"], only_tables=True, **wrong)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
    (tmp_path / "areas.csv").write_text("area,unit\ncoast,North\ncoast,West\n")
    done = print_tables(
        folder / "real", tmp_path / "t.csv", prints=["age"], only_tables=True, areas=tmp_path / "areas.csv"
    )
    assert done.whole


def test_what_cannot_be_printed_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "t.csv"
    for wrong, message in (
        ({"prints": []}, "nothing to print"),
        ({"prints": ["total", "age"]}, "can hold one table, and 2 are to be printed"),
        ({"prints": ["age"], "ratios": [("North", "South")], "draws": 3}, "ratios, draws cannot be printed"),
        ({"prints": ["sex"]}, "sex"),
        ({"prints": ["age"], "down_to": "Block"}, "down_to names level"),
    ):
        with pytest.raises(InputError, match=message):
            print_tables(folder / "real", out, **wrong)  # type: ignore[arg-type]
    for name in ("tables.pdf", "tables.docx"):
        with pytest.raises(InputError, match=r"ends with .xlsx, .html or .csv, or to a directory.*for PDF"):
            print_tables(folder / "real", tmp_path / name, prints=["age"])
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match="print_tables"):
        estimate(folder / "real", tmp_path / "x", prints=["age"])
    out.write_text("mine")
    with pytest.raises(InputError, match="exists; name a new file"):
        print_tables(folder / "real", out, prints=["age"])
    assert out.read_text() == "mine"
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    monkeypatch.setattr("discreet.reports.printed.find_spec", lambda name: None)
    with pytest.raises(DiscreetError, match=r"\.\[spreadsheet\]"):
        print_tables(folder / "real", tmp_path / "t.xlsx", prints=["age"])
    assert [one.name for one in tmp_path.iterdir()] == ["t.csv"]


def test_a_result_says_where_it_is(folder: Path, tmp_path: Path) -> None:
    found = print_tables(folder / "real", tmp_path / "t.html", prints=["age"], down_to="Region")
    assert isinstance(found, PrintedTables)
    assert str(found) == f"1 table to print, in {tmp_path / 't.html'}"
    assert len(found.tables[0].rows) == 5


WORK = """
name = "work"
neighbours = "unbounded"
[attributes]
sex = ["f", "m"]
[[levels]]
name = "Nation"
[levels.queries]
"total" = { variance = 9 }
"hours by sex" = { sum = "hours", at_most = 60, unit = "1/4", variance = 640 }
[[levels]]
name = "District"
[levels.queries]
"sex" = { variance = 9 }
"hours by sex" = { sum = "hours", at_most = 60, unit = "1/4", variance = 640 }
"""


@pytest.fixture(scope="module")
def hours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rehearsal with counts and sums of quarters of hours."""
    here = tmp_path_factory.mktemp("hours")
    (here / "work.toml").write_text(WORK)
    (here / "units.csv").write_text("unit,level,parent\nN,Nation,\nAsh,District,N\nElm,District,N\n")
    rows = [
        f"{unit},{sex},{10 + 7.25 * (number % 5)}\n"
        for unit in ("Ash", "Elm")
        for sex in "fm"
        for number in range(30)
    ]
    (here / "records.csv").write_text("unit,sex,hours\n" + "".join(rows))
    (here / "areas.csv").write_text("area,unit,weight\nP,Ash,0.25\nP,Elm,1\n")
    release = load(here / "work.toml")
    measure(
        release,
        None,
        records=here / "records.csv",
        units=here / "units.csv",
        out=here / "noisy",
        rehearsal=1,
    )
    return here


def test_totals_of_a_sum_are_sums(hours: Path, tmp_path: Path) -> None:
    """The total of hours by sex is one of hours, not the number of people."""
    found = print_tables(hours / "noisy", tmp_path / "t", prints=["hours by sex", "hours"])
    split, alone = found.tables
    assert split.columns == (("f",), ("m",), (None,))
    assert split.factors == ("sex",)
    np.testing.assert_allclose(split.values[:, 2], split.values[:, :2].sum(axis=1), atol=1.5)
    np.testing.assert_array_equal(split.values[:, 2], alone.values[:, 0])
    text = [(tmp_path / "t" / f"{name}.NOT-PRIVATE.csv").read_text() for name in ("hours-by-sex", "hours")]
    assert "Hours by sex, by area" in text[0]
    assert "Hours, by area" in text[1]
    # in hours, and without the noise of counts: 640/16
    assert "variance 40 was added to each published number of this kind (hours)" in text[0]
    assert "the number in the data" in text[0]


def test_areas_with_weights_are_printed_with_them(hours: Path, tmp_path: Path) -> None:
    one = print_tables(hours / "noisy", tmp_path / "t.csv", prints=["sex"], areas=hours / "areas.csv")
    done = estimate(hours / "noisy", queries=["sex"], areas=hours / "areas.csv", levels=["0.95"])
    rows = done.to_arrow("areas").to_pylist()
    assert len(rows) == 2
    printed = one.tables[0].values[0][:2], one.tables[0].margins[0][:2]  # the total stands last
    for value, margin, row in zip(*printed, rows, strict=True):
        assert value == round(row["estimate"])
        assert value - margin <= row["lower95"] < row["upper95"] <= value + margin
    with pytest.raises(DiscreetError, match="areas with weights"):
        print_tables(
            hours / "noisy", tmp_path / "u.csv", prints=["sex"], areas=hours / "areas.csv", tables=True
        )
    assert not (tmp_path / "u.csv").exists()


def test_whole_numbers_of_fractions_add_up_but_for_rounding(hours: Path, tmp_path: Path) -> None:
    print_tables(hours / "noisy", tmp_path / "t", prints=["hours by sex", "sex"], tables=True)
    assert (
        "add up within and between tables, but for rounding"
        in (tmp_path / "t" / "hours-by-sex.NOT-PRIVATE.csv").read_text()
    )
    assert (
        "add up within and between tables. For that" in (tmp_path / "t" / "sex.NOT-PRIVATE.csv").read_text()
    )


def test_errors_as_given_are_not_called_noise(tmp_path: Path) -> None:
    """Of a survey's table nothing protects anybody, and its errors are normal."""
    rows = [("N", "", 90, 4), ("a", "N", 40, 3), ("b", "N", 45, 2), ("c", "N", 8, 1)]
    lines = "".join(",".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "survey.csv").write_text(f"unit,parent,value,sd\n{lines}")
    found = print_tables(tmp_path / "survey.csv", tmp_path / "t.csv", prints=["total"])
    text = (tmp_path / "t.csv").read_text()
    assert "Errors of the published numbers are taken as normal, of variance 1 to 16." in text
    assert "± 95 % (errors as given)" in text
    assert "protects" not in text
    lines = "unit,parent,value,variance,sampling_sd\nN,,90,4,2\na,N,40,3,1\nb,N,45,2,1\n"
    (tmp_path / "both.csv").write_text(lines)
    print_tables(tmp_path / "both.csv", tmp_path / "u.csv", prints=["total"])
    assert "± 95 % (noise and sampling)" in (tmp_path / "u.csv").read_text()
    assert "protects" not in (tmp_path / "u.csv").read_text()
    said = "\n".join(str(part) for part in describe(found).body)
    assert "errors as given" in said
    assert "noise only" not in said


def test_contradictions_are_warned_of_in_print(tmp_path: Path) -> None:
    (tmp_path / "wrong.csv").write_text("unit,parent,value,variance\nN,,900,4\na,N,40,4\nb,N,45,4\n")
    found = print_tables(tmp_path / "wrong.csv", tmp_path / "t.csv", prints=["total"])
    assert found.fit.warning
    warning = "THE MEASUREMENTS CONTRADICT EACH OTHER"
    assert warning in (tmp_path / "t.csv").read_text()
    assert warning in str(describe(found).cautions)
    assert warning in str(found)
    print_tables(tmp_path / "wrong.csv", tmp_path / "t.html", prints=["total"])
    assert warning in (tmp_path / "t.html").read_text()


def test_all_measurements_are_checked_if_they_are_streamed(hours: Path, tmp_path: Path) -> None:
    release = load(hours / "work.toml")
    records, units = hours / "records.csv", hours / "units.csv"
    measure(release, None, tmp_path / "noisy", records=records, units=units, rehearsal=2, format="parquet")
    some = [
        print_tables(tmp_path / "noisy", tmp_path / f"{way}.csv", prints=["hours by sex"], streamed=way)
        for way in (True, False)
    ]
    assert some[0].fit.unread == some[1].fit.unread == 0
    assert some[0].fit.chi_square == pytest.approx(some[1].fit.chi_square)
    np.testing.assert_array_equal(some[0].tables[0].values, some[1].tables[0].values)
