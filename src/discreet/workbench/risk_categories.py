"""The part of the Risk page that asks which category is the target's, of all cells of a query."""

from __future__ import annotations

from collections.abc import Callable

from discreet.answers.answer import AnswerTable, Paragraph
from discreet.answers.risk_categories import categories_answer
from discreet.disclosure.category import Categories, release_categories
from discreet.render.tiles import tiles_of
from discreet.workbench import controls as c
from discreet.workbench.adversary import asked_category
from discreet.workbench.session import Question, Session


class _CategoriesPart(c.Page):
    def __init__(self, session: Session) -> None:
        super().__init__(session, "risk")
        self.guess: Question[Categories] = self.question(release_categories, 3.0, 300)

    def look(self, *, settled: bool) -> None:
        release = self.state.release
        if release.attributes is not None:
            self.guess.ask(release, asked=asked_category(self.state), begin=settled)

    @property
    def found(self) -> Categories | None:
        """What was found, if the release has categories."""
        return self.guess.found if self.state.release.attributes is not None else None


def build_categories(session: Session, shown_table: Callable[[AnswerTable], None]) -> None:
    """Draw the card: which cell, or which value of an attribute, and how often that is found out."""
    page = _CategoriesPart(session)

    def choices() -> dict[str, str]:
        attributes = page.state.release.attributes
        names = () if attributes is None else attributes.names
        return {"": "their cell of the most detailed query", **{name: name for name in names}}

    def build(categories: Categories) -> None:
        answer = categories_answer(categories)
        with c.box("wb-tiles"):
            for tile in tiles_of(answer):
                c.Tile(page, tile.label, "", first=True).set(tile.value, tile.note)
        for part in answer.body:
            if isinstance(part, AnswerTable):
                shown_table(part)
            elif text := str(part.text if isinstance(part, Paragraph) else part):
                c.words(text, "wb-text", "p").style("margin: 8px 0 0")

    with c.card("Which category is theirs") as card:
        page.heading("Which category is theirs?", "category")
        c.choice(page, "What is asked", page.setting("category"), choices, "asking for {}", bare=True)
        page.words(lambda: "Computing." if page.guess.at_work else "").style("margin-top: 8px")
        page.alert(lambda: page.trouble or page.guess.trouble)
        page.rebuild(c.box("").style("margin-top: 10px"), lambda: page.found, build, dims=True)
    page.show(card, lambda: page.state.release.attributes is not None)
