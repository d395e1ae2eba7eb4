"""The index from figures and tables of the papers to studies: complete, true, and the page that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from present import PRESENT

from discreet.studies import find, studies
from discreet.studies.figures import figures_page, places, places_of, where
from discreet.studies.register import papers

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "figures.md"

# how many each paper has, by its text; the journal's version of the first has one figure more
COUNTS = {
    ("pnas", "Figure"): 14,
    ("pnas", "Table"): 3,
    ("sieve", "Figure"): 5,
    ("sieve", "Table"): 1,
    ("risk", "Figure"): 6,
    ("risk", "Table"): 8,
}


@pytest.mark.parametrize(("paper", "kind"), COUNTS)
def test_every_figure_and_table_is_listed_once(paper: str, kind: str) -> None:
    labels = [place.label for place in places(paper) if place.label.startswith(kind)]
    assert sorted(labels, key=lambda label: int(label.split()[1])) == labels
    assert labels == [f"{kind} {number}" for number in range(1, COUNTS[paper, kind] + 1)]


def test_the_journal_has_fifteen_figures() -> None:
    numbers = [place.journal or place.label for place in places("pnas")]
    assert [n for n in numbers if n.startswith("Figure")] == [f"Figure {k}" for k in range(1, 16)]


def test_each_has_studies_or_a_reason_and_the_studies_are_of_its_paper() -> None:
    assert {place.paper for place in places()} == set(papers())
    for place in places():
        assert bool(place.studies) != bool(place.why), place
        assert place.label or place.journal
        for name in place.studies:
            (entry,) = find(name)
            assert entry.paper == place.paper


def test_the_list_of_studies_says_nothing_else() -> None:
    # a study that compares the printed numbers of a figure or table is in the index for it
    for entry in studies():
        for place in entry.shows:
            if re.fullmatch(r"(Figure|Table) \d+", place):
                names = {name for one in places(entry.paper) if one.label == place for name in one.studies}
                assert entry.name in names, (entry.name, place)
        assert all(place in where(entry) for place in places_of(entry.name))


@pytest.mark.skipif("studies.tabulations" not in PRESENT, reason="the page has all papers")
def test_the_page_is_the_index() -> None:
    assert PAGE.read_text(encoding="utf-8") == figures_page(), (
        "docs/reference/figures.md is not what discreet.studies.figures.page() returns; write it anew"
    )
