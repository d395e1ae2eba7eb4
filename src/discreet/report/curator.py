"""The curator's report, confidential: a page and a CSV file."""

from __future__ import annotations

from discreet.answers.curator import REHEARSED, STAR, curator_answer, curator_headline, curator_sheets
from discreet.files import csv_text
from discreet.numbers import brief
from discreet.release.safetab.curator import CONFIDENTIAL, Curated


def table_csv(found: Curated) -> str:
    """Return the finest table, one line for each geography, level, table, kind of number and size."""
    rows = curator_answer(found).tables["errors"].objects
    texts = [[brief(x) if isinstance(x, float) else x for x in row.values()] for row in rows]
    return f"# {CONFIDENTIAL}\n" + (csv_text(list(rows[0]), texts) if rows else "")


def curator_page(found: Curated) -> str:
    """Return the report as one HTML page that loads nothing."""
    from discreet.report.html import environment

    template = environment().get_template("curator")
    return template.render(
        found=found,
        confidential=CONFIDENTIAL,
        rehearsed=REHEARSED if found.rehearsal else "",
        headline=curator_headline(found),
        sheets=curator_sheets(found),
        star=STAR,
    )
