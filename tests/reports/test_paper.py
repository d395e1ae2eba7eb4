"""Tables on paper: what does not fit is split between columns, and every number can be read from the PDF."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from pdf_text import Page, pages_of

from discreet.answers.printed import count_text, printed_margin
from discreet.budget import load
from discreet.errors import DiscreetError
from discreet.estimation.output.printed import PrintedTables
from discreet.measurement import measure, write_example
from discreet.reports.html.pdf import find_chromium
from discreet.reports.printed import paper_parts, print_tables

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PAPERS = {"A4": (842, 595), "Letter": (792, 612)}
WIDE = "age * limitation"


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("paper")
    write_example(here)
    files = {"records": here / "records.csv", "units": here / "units.csv"}
    measure(load(here / "release.toml"), None, **files, id="id", out=here / "trial", rehearsal=1)
    return here / "trial"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs Playwright: install the extra `test`"
    )
    try:
        chromium = find_chromium()
    except DiscreetError as error:
        pytest.skip(str(error))
    with playwright.sync_playwright() as running:
        launched = running.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


def printed(browser: Browser, html: Path, paper: str) -> list[Page]:
    page = browser.new_page()
    page.goto(html.as_uri())
    return pages_of(page.pdf(format=paper, prefer_css_page_size=True))


def rows_of(pages: list[Page], found: PrintedTables) -> dict[str, list[str]]:
    """What stands beside each area, over all parts of the table."""
    names = {row.name for row in found.tables[0].rows}
    rows: dict[str, list[str]] = {}
    for page in pages:
        for name, *cells in page.lines:
            if name in names and cells:
                rows.setdefault(name, []).extend(cells)
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("margins", ["beside", "none"])
@pytest.mark.parametrize("paper", PAPERS)
def test_every_number_of_a_wide_table_is_on_paper(
    trial: Path, tmp_path: Path, browser: Browser, paper: str, margins: str
) -> None:
    found = print_tables(trial, tmp_path / "t.html", prints=[WIDE], margins=margins)  # type: ignore[arg-type]
    (table,) = found.tables
    pages = printed(browser, tmp_path / "t.html", paper)
    beside = margins == "beside"
    expected = {
        row.name: [
            text
            for value, margin in zip(values, errors, strict=True)
            for text in (count_text(value), *([printed_margin(margin)] if beside else []))
        ]
        for row, values, errors in zip(table.rows, table.values.tolist(), table.margins.tolist(), strict=True)
    }
    assert rows_of(pages, found) == expected
    # the paper turns, and nothing is beyond its edge
    for page in pages:
        assert (page.width, page.height) == pytest.approx(PAPERS[paper], abs=2)
        assert all(30 < x < page.width - 34 and 30 < y < page.height - 30 for x, y, _ in page.texts)
    heads = [[text for text in line if text != "Area"] for page in pages for line in page.lines]
    parts = paper_parts(table, found, 792 - 68)
    assert len(parts) == (3 if beside else 2)
    for part in parts:
        assert [column[1] or "Total" for column in table.columns[part.first - 1 : part.last]] in heads
    said = {text for page in pages for _, _, text in page.texts if re.search("columns? [0-9]+", text)}
    assert said == {
        f"Age by limitation, by area: columns {part.first} to {part.last} of 20" for part in parts
    }
    # each page with rows of the table has its head
    assert all(any("Area" in line for line in page.lines) for page in pages if rows_of([page], found))


@pytest.mark.slow
def test_a_narrow_table_stays_upright(trial: Path, tmp_path: Path, browser: Browser) -> None:
    print_tables(trial, tmp_path / "t.html", prints=["total"])
    (page,) = printed(browser, tmp_path / "t.html", "A4")
    assert (page.width, page.height) == pytest.approx((595, 842), abs=2)
    assert not any("columns" in text for _, _, text in page.texts)


@pytest.mark.parametrize("margins", ["beside", "beneath", "none"])
def test_parts_hold_all_columns_and_fit(trial: Path, tmp_path: Path, margins: str) -> None:
    found = print_tables(trial, tmp_path / "t.html", prints=[WIDE], margins=margins)  # type: ignore[arg-type]
    (table,) = found.tables
    for across in (200.0, 527.0, 724.0):
        parts = paper_parts(table, found, across)
        assert [number for part in parts for number in range(part.first, part.last + 1)] == [*range(1, 21)]
        for part in parts:
            assert part.of_all == 20
            assert part.stub + sum(part.widths) <= across or part.first == part.last
    large = replace(table, values=table.values + 10**9)
    assert len(paper_parts(large, found, 724.0)) > len(paper_parts(table, found, 724.0))
    assert np.array_equal(paper_parts(table, found, 200.0)[0].of(table).values[:, 0], table.values[:, 0])


def test_a_number_without_error_has_a_footnote(trial: Path, tmp_path: Path) -> None:
    found = print_tables(trial, tmp_path / "t.html", prints=[WIDE])
    assert (found.tables[0].margins == 0).any()  # nobody of 0-17 is severely limited: the release says so
    note = "±0: the number is exact"
    assert note in (tmp_path / "t.html").read_text()
    print_tables(trial, tmp_path / "total.html", prints=["total"])
    assert note not in (tmp_path / "total.html").read_text()


def test_a_sheet_is_split_as_well(trial: Path, tmp_path: Path) -> None:
    book_file = tmp_path / "t.xlsx"
    pytest.importorskip("xlsxwriter")
    print_tables(trial, book_file, prints=[WIDE])
    with zipfile.ZipFile(book_file) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
        texts = book.read("xl/sharedStrings.xml").decode()
        names = book.read("xl/workbook.xml").decode()
    breaks = [int(at) for at in re.findall(r'<brk id="(\d+)"', sheet.partition("<colBreaks")[2])]
    said = [(int(a), int(b)) for a, b in re.findall(r"columns (\d+) to (\d+) of 20", texts)]
    assert [1 + 2 * (first - 1) for first, _ in said[1:]] == breaks
    assert [*range(1, 21)] == [number for first, last in said for number in range(first, last + 1)]
    assert "$A:$A" in names
    assert 'orientation="landscape"' in sheet
