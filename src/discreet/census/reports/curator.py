"""The curator's report, confidential: a page and a CSV file."""

from __future__ import annotations

from discreet.answers.answer import marked, sentence
from discreet.census.answers.curator import REHEARSED, curator_answer, curator_sections
from discreet.census.safetab.curator import CONFIDENTIAL, Curated
from discreet.files import csv_text
from discreet.numbers import brief
from discreet.render.html import section_of


def table_csv(curated: Curated) -> str:
    """Return the finest table, one line for each geography, level, table, kind of number and size."""
    rows = curator_answer(curated).tables["errors"].objects
    texts = [[brief(x) if isinstance(x, float) else x for x in row.values()] for row in rows]
    return f"# {CONFIDENTIAL}\n" + (csv_text(list(rows[0]), texts) if rows else "")


def curator_page(curated: Curated) -> str:
    """Return the report as one HTML page that loads nothing."""
    from discreet.reports.html import framed

    sections = {f"part-{number}": answer for number, answer in enumerate(curator_sections(curated), 1)}
    return framed(
        {anchor: section_of(answer, anchor=anchor) for anchor, answer in sections.items()},
        title=f"CONFIDENTIAL – {curated.out} – curator's report",
        kicker="Curator's report",
        heading=sentence("True against released: {out}", out=marked(curated.out, "name")),
        about=REHEARSED if curated.rehearsal else "",
        warning=CONFIDENTIAL,
    )
