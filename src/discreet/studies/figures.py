"""Every figure and table of the papers, with the studies that compute it, or the reason why none does.

`figures.toml` is the list; `figures_page()` writes `docs/reference/figures.md`, and a test compares the two.

>>> [place.studies for place in places("sieve") if place.label == "Figure 3"]
[('dhc-spine-tradeoff',)]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from discreet.studies.register import StudyEntry, in_order_of_papers, papers, stated_in


@dataclass(frozen=True, slots=True)
class Place:
    """One figure, table, theorem or algorithm of a paper."""

    paper: str
    shows: str
    label: str = ""
    """The label as printed; for the PNAS paper, in its long version."""
    journal: str = ""
    """The label in the journal, if it differs."""
    studies: tuple[str, ...] = ()
    why: str = ""
    """Why no study computes it."""

    def __str__(self) -> str:
        if self.label and self.journal:
            return f"{self.label} ({self.journal} in the journal)"
        return self.label or f"{self.journal} in the journal"


@cache
def places(paper: str | None = None) -> tuple[Place, ...]:
    """Return the figures and tables of a paper, or of all papers.

    >>> sum(not place.studies for place in places("risk"))      # a list of tables
    1
    """
    stated = (fields for _, file in stated_in("figures.toml") for fields in file["place"])
    every = (Place(**fields | {"studies": tuple(fields.get("studies", ()))}) for fields in stated)
    return tuple(in_order_of_papers(place for place in every if paper in (None, place.paper)))


def places_of(study: str) -> tuple[str, ...]:
    """Return the figures and tables that a study computes.

    >>> places_of("slope"), places_of("reduced-noise")
    (('Figure 8 (Figure 9 in the journal)',), ('Table 1', 'Table 3'))
    """
    return tuple(str(place) for place in places() if study in place.studies)


def where(study: StudyEntry) -> str:
    """Return where a study belongs: its figures and tables, or else the places of its printed numbers.

    >>> from discreet.studies.register import find
    >>> where(find("dhc-spines")[0]), where(find("overall-reduction")[0])
    ('Figure 4', 'section 3.3 ...')
    """
    others = [study.shows[0] + " ..." * (len(study.shows) > 1)] if study.shows else []
    return "; ".join(places_of(study.name) or others)


def figures_page() -> str:
    """Return the reference page, in Markdown."""
    lines = [
        "# Figures and tables of the papers",
        "",
        "Which study of [`discreet reproduce`](../howto/reproduce.md) computes which figure or table, or why",
        "none does. Figures of the PNAS paper are numbered as in its long version (arXiv:2410.09296, January",
        "2025); in brackets the number in the journal, if it differs.",
    ]
    for paper, source in papers().items():
        mine = places(paper)
        if not mine:
            continue
        lines += ["", f"## {source}", ""]
        for place in mine:
            names = ", ".join(f"`{name}`" for name in place.studies)
            label = f"{place.label} ({place.journal})" if place.journal else place.label
            lines.append(f"- {label.strip()}, {place.shows}: {names or f'none ({place.why})'}")
    return "\n".join(lines) + "\n"
