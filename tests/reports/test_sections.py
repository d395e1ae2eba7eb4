"""A report is a list of answers: each has words for a page and for a terminal; pages show tables alike."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from discreet.answers import Answer, AnswerTable, Column, Quantity, Style, sentence
from discreet.answers.account import account_answer
from discreet.answers.answer import Cards, Fact, Glossary, Illustration, Verbatim, marked
from discreet.answers.calibration import calibration_answer
from discreet.answers.figure import Axis, Panel, Picture
from discreet.answers.report import report_sections
from discreet.budget import Attributes, Level, Query, Release, load
from discreet.comparisons.costs import privacy_table
from discreet.disclosure.category import release_categories
from discreet.render.html import html_of, section_of, typeset
from discreet.render.text import text_of
from discreet.reports.html import Facts, gather, render


@pytest.fixture(scope="module")
def facts() -> Facts:
    return gather(load("dhc-2022-08-25"), certify=False)


def words(html: str) -> str:
    """The text of a page, with powers of ten as they are typed."""
    html = re.sub(r"10<sup>−(\d+)</sup>", r"1e-\1", html.replace(" × 10<sup>−", "e-<sup>"))
    return " ".join(re.sub(r"<[^>]+>", "", html).split())


def test_every_section_is_an_answer_in_the_order_of_the_contents(facts: Facts) -> None:
    sections, html = report_sections(facts), render(facts)
    assert re.findall(r'<section id="(\w+)">\n<h2>(.*?)</h2>', html) == [
        (anchor, answer.title) for anchor, answer in sections.items()
    ]
    assert re.findall(r'<li><a href="#(\w+)">', html) == list(sections)


def test_a_section_reads_as_text_too(facts: Facts) -> None:
    html = words(render(facts))
    for anchor, answer in report_sections(facts).items():
        text = "\n".join(text_of(answer))
        assert text.strip(), anchor
        assert not re.search(r"<\w|Sentence\(|Marked\(|Quantity\(", text), anchor
    decision = " ".join("\n".join(text_of(report_sections(facts)["decision"])).split())
    assert "an exact epsilon of 20.3247 at delta 1e-10." in decision
    assert "an exact epsilon of 20.3247 at delta 1e-10." in html


def test_page_and_command_line_say_the_same_sentences(facts: Facts) -> None:
    html = words(render(facts)).replace("−", "-")
    release, found = facts.release, facts.calibration
    account = account_answer(privacy_table([release], delta=["1e-10"]))
    assert str(account.body[-1]) in html
    assert found is not None
    said = [
        str(part) for part in calibration_answer(found).body if str(part).startswith(("All ", "The price"))
    ]
    assert len(said) == 2
    for text in said:
        assert text in html
    (row,) = account.tables["results"].cells
    assert "".join(row[:3]) in html


def test_a_table_names_its_rows_and_its_caption_unless_that_is_the_heading() -> None:
    columns = (Column("level", is_text=True), Column("query", is_text=True), Column("share", is_share=True))
    share = Quantity(Fraction(1, 4), Style.PERCENT)
    rows = (("State", "total", share), ("State", "age", share), ("County", "total", None))
    table = AnswerTable(columns, rows, "Shares", "Of the budget", groups=True)
    page = section_of(Answer("Parts", body=(table,)), anchor="parts")
    assert "<caption>Shares. Of the budget</caption>" in page
    assert page.count('<th scope="rowgroup" class="group" rowspan="2">State</th>') == 1
    assert page.count('scope="row"') == len(rows)
    assert page.count("<tbody>") == 2
    assert page.count('width="25.00"') == 2
    assert '<td class="number">–</td>' in page
    alone = section_of(Answer("Shares", body=(table,)), anchor="parts")
    assert "<caption>Of the budget</caption>" in alone
    assert "class=" not in html_of(Answer("Shares", body=(table,))).replace('class="answer"', "").replace(
        'class="group"', ""
    ).replace('class="bar', "")


def test_what_is_set_apart_is_escaped_and_kept() -> None:
    hostile = "<b>\u202e&</b>"
    body = (
        sentence("{a} {b}", a=marked(hostile, "name"), b=marked(Quantity(1e-10, Style.GIVEN), "strong")),
        Cards((Fact(hostile, Quantity(-2.5, digits=2), hostile, hostile),)),
        Glossary({"zCDP": hostile}),
        Verbatim("a < b\nc", hostile),
        Illustration("picture", hostile, sentence(hostile), hostile),
    )
    figures = {
        name: lambda: Picture((Panel(Axis("x"), Axis(), ()),), "Beside") for name in ("picture", "more")
    }
    page = section_of(Answer(hostile, body=body, figures=figures), anchor="x")
    assert "<b>" not in page
    assert page.count("&lt;b&gt;\\u202e&amp;&lt;/b&gt;") == 10
    assert "<strong>10<sup>−10</sup></strong>" in page
    assert '<p class="card-value">−2.5</p>' in page
    assert '<dt id="term-zcdp">zCDP</dt>' in page
    assert "a &lt; b\nc" in page
    assert 'aria-labelledby="picture-title picture-text"' in page
    assert page.count("<figure>") == 2  # one where it is placed, the other at the end
    assert page.index('aria-labelledby="picture') < page.index('aria-label="Beside"')


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1e-10", "10<sup>−10</sup>"),
        ("1.00e+07", "10<sup>7</sup>"),
        ("2.5e-07 %", "2.5 × 10<sup>−7</sup> %"),
        ("-1.8841", "−1.8841"),
        ("0.999999", "0.999999"),
        ("1 - 2.0e-09", "1 - 2.0 × 10<sup>−9</sup>"),
        ("73/20 = 3.65", "73/20 = 3.65"),
        ("Laplace, scale 4", "Laplace, scale 4"),
    ],
)
def test_numbers_on_a_page(text: str, wanted: str) -> None:
    assert typeset(text) == wanted


def test_which_category_is_said_where_the_cells_are_known() -> None:
    ages = Attributes({"age": ["0-17", "18-64", "65+"]})
    levels = [Level(name=name, queries=[Query(name="age", variance=5)]) for name in ("State", "Block")]
    release = Release(name="ages", neighbours="unbounded", attributes=ages, levels=levels)
    found = gather(release, certify=False, savings=False)
    text = words(section_of(report_sections(found)["risk"], anchor="risk"))
    for guess in release_categories(release).guesses:
        assert f"{100 * guess.right:.2f} %" in text
    assert "names the likeliest cell" in text
    assert found.categories == release_categories(release)
    # of two people, or of cells that nobody states, nothing is said
    assert gather(release, people=2, certify=False, savings=False).categories is None
    bare = Release(name="bare", neighbours="unbounded", levels=levels)
    assert gather(bare, certify=False, savings=False).categories is None
