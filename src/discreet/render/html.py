"""An answer as HTML: a section of a page, or what a notebook shows.

A page has a style sheet, and holds what is printed on it and nothing else. A notebook has none, so that
alignment is written into the cells there; its numbers carry their machine values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from html import escape
from itertools import groupby

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Bullets,
    Cards,
    Cell,
    Column,
    Fact,
    Glossary,
    Heading,
    Illustration,
    Marked,
    Paragraph,
    Part,
    Sentence,
    Verbatim,
    Words,
    text,
)
from discreet.answers.figure import Picture
from discreet.answers.quantity import Quantity
from discreet.errors import visible

_SHORT = 16
"""Rows of a table that is printed on one page."""

_LONE = re.compile("[\ud800-\udfff]")
_POWER = re.compile(r"(?<![\w.])(?:1(?:\.0+)?|(\d+(?:\.\d+)?))e([+-])0*(\d+)(?!\w)")
_MINUS = re.compile(r"(?<![\w.])-(?=[0-9])")


def html_of(answer: Answer) -> str:
    """Return what a notebook shows; numbers in its sentences carry their machine values.

    >>> from discreet.answers import Answer, Quantity, sentence
    >>> print(html_of(Answer("one count", {}, (sentence("Epsilon is {e}.", e=Quantity(1.5, digits=2)),))))
    <section class="answer">
    <h3>one count</h3>
    <p>Epsilon is <data value="1.5">1.5</data>.</p>
    </section>
    """
    return _Writer(in_notebook=True).section(answer, 'class="answer"', 3)


def section_of(answer: Answer, *, anchor: str, colours: Mapping[str, str] | None = None) -> str:
    """Return the section of a page, which links find under `anchor`; `colours` replace those of print.

    >>> from discreet.answers import Answer
    >>> print(section_of(Answer("one count", {}, ("Epsilon is 1.5.",)), anchor="decision"))
    <section id="decision">
    <h2>one count</h2>
    <p>Epsilon is 1.5.</p>
    </section>
    """
    return _Writer(colours=colours or {}).section(answer, f'id="{anchor}"', 2)


def _marked_up(body: Sequence[Part]) -> Iterator[Part]:
    """Yield the parts of a body; paragraphs that begin with a dash become a list.

    >>> list(_marked_up((Paragraph("- One."), Paragraph("- Two."), "Three.")))
    [Bullets(items=('One.', 'Two.'), role=''), 'Three.']
    """
    for is_item, run in groupby(body, _is_item):
        parts = tuple(run)
        yield from (Bullets(tuple(map(_without_dash, parts))),) if is_item else parts


def _is_item(part: Part) -> bool:
    return isinstance(part, Paragraph) and str(part.text).startswith("- ")


def _without_dash(part: Part) -> str | Sentence:
    assert isinstance(part, Paragraph)
    if isinstance(part.text, str):
        return part.text.removeprefix("- ")
    first, *rest = part.text.parts
    return Sentence((str(first).removeprefix("- "), *rest))


def html_words(words: Words | None) -> str:
    """Write words on a page, with quantities typeset and with what is set apart; nothing is a dash.

    >>> html_words(Quantity(-2.5e-12, digits=2))
    '−2.5 × 10<sup>−12</sup>'
    """
    return _Writer().words(words)


def typeset(number: str) -> str:
    """Write a number as a page does: with a minus sign, and with powers of ten.

    >>> typeset("1e-10"), typeset("-1.8841 (-7.2 %)"), typeset("3.2e+12")
    ('10<sup>−10</sup>', '−1.8841 (−7.2 %)', '3.2 × 10<sup>12</sup>')
    """
    powers = _POWER.sub(
        lambda match: (
            (f"{match[1]} × " if match[1] else "")
            + f"10<sup>{'−' if match[2] == '-' else ''}{match[3]}</sup>"
        ),
        number,
    )
    return _MINUS.sub("−", powers)


def _escaped(words: str) -> str:
    return escape(visible(_LONE.sub("\ufffd", words)), quote=False)


@dataclass(frozen=True, slots=True)
class _Writer:
    """How parts of a body are written, on a page or in a notebook."""

    in_notebook: bool = False
    colours: Mapping[str, str] = field(default_factory=dict)

    def section(self, answer: Answer, attributes: str, level: int) -> str:
        """A section with its heading; a text starts with its title, which here is the heading.

        Pictures stand where the body places them, or else at the end.
        """
        parted = (part for part in _marked_up(answer.body) if part not in ("", Paragraph("", wraps=False)))
        body = [part for part in parted if not _is_title(part, answer.title)]
        parts: list[str] = []
        for is_placed, run in groupby(body, lambda part: isinstance(part, Illustration)):
            written = [self.part(part, answer, level + 1) for part in run]
            parts += ['<div class="figures">', *written, "</div>"] if is_placed else written
        placed = {part.name for part in body if isinstance(part, Illustration)}
        others = [self.drawn(name, make()) for name, make in answer.figures.items() if name not in placed]
        cautions = [
            f'<p class="caution">{_escaped(str(scope))}</p>' for scope in (*answer.scopes, *answer.cautions)
        ]
        title = [f"<h{level}>{_escaped(answer.title)}</h{level}>"] if answer.title else []
        return "\n".join([f"<section {attributes}>", *title, *parts, *cautions, *others, "</section>"])

    def part(self, part: Part, answer: Answer, level: int) -> str:
        """One part of a body; headings in it are of this level."""
        match part:
            case AnswerTable():
                return "\n".join(self.table(part, answer.title))
            case Heading():
                return f"<h{level}>{_escaped(part.text)}</h{level}>"
            case Bullets():
                items = (f"<li>{self.words(item)}</li>" for item in part.items)
                return "\n".join([f"<ul{_class(part.role)}>", *items, "</ul>"])
            case Glossary():
                terms = (
                    f'<dt id="{_anchor(word)}">{_escaped(word)}</dt><dd>{_escaped(means)}</dd>'
                    for word, means in part.terms.items()
                )
                return "\n".join(["<dl>", *terms, "</dl>"])
            case Verbatim():
                lines = f"<pre><code>{_escaped(part.text)}</code></pre>"
                folded = f"<details><summary>{_escaped(part.title)}</summary>{lines}</details>"
                return folded if part.title else lines
            case Cards():
                return "\n".join(['<div class="cards">', *map(self.card, part.facts), "</div>"])
            case Illustration():
                return self.figure(part, answer)
            case Paragraph():
                return f"<p{_class(part.role)}>{self.words(part.text)}</p>"
            case _:
                return f"<p>{self.words(part)}</p>"

    def card(self, fact: Fact) -> str:
        """A number of the headline with its name, its proof and a note."""
        lines = (("label", fact.label), ("value", fact.value), ("proof", fact.proof), ("note", fact.note))
        written = [f'<p class="card-{name}">{self.words(line)}</p>' for name, line in lines if line != ""]
        return "\n".join(['<div class="card">', *written, "</div>"])

    def figure(self, part: Illustration, answer: Answer) -> str:
        """A picture of an answer where it is placed, with what it shows for those who cannot see it."""
        from discreet.render.pictures import inline_svg

        picture = answer.figures[part.name]()
        key = self.key(part.name, picture)
        head, rest = inline_svg(picture, key, self.colours)
        ids = [f"{key}-title", f"{key}-text"]
        return (
            f'<figure>{head} role="img" aria-labelledby="{" ".join(ids)}" class="chart">'
            f'<title id="{ids[0]}">{_escaped(part.title)}</title>'
            f'<desc id="{ids[1]}">{_escaped(str(part.shows))}</desc>{rest}'
            f"<figcaption>{_escaped(part.caption)}</figcaption></figure>"
        )

    def drawn(self, name: str, picture: Picture) -> str:
        """A picture, described for those who cannot see it."""
        from discreet.render.pictures import inline_svg

        head, rest = inline_svg(picture, self.key(name, picture), self.colours)
        said = escape(visible(picture.caption or picture.title or name))
        wide = ' style="max-width: 45em; margin: 1em 0"' if self.in_notebook else ""
        return f'<figure{wide}>{head} role="img" aria-label="{said}">{rest}</figure>'

    def key(self, name: str, picture: Picture) -> str:
        """What the ids in a picture start with: a notebook may hold several pictures of one name."""
        return f"{name}-{sha256(repr(picture).encode()).hexdigest()[:8]}" if self.in_notebook else name

    # -- tables ------------------------------------------------------------------------------------------

    def table(self, table: AnswerTable, heading: str) -> Iterator[str]:
        """A table that scrolls if it is wide; its title is its caption, unless it is the heading."""
        said = ("" if table.title == heading else table.title, table.note)
        caption = ". ".join(text for text in said if text)
        shown = [number for number, column in enumerate(table.columns) if column.title]
        columns = [table.columns[number] for number in shown]
        rows = [[row[number] for number in shown] for row in table.rows]
        short = " short" if len(rows) <= _SHORT else ""
        if not self.in_notebook:
            yield f'<div class="scroll{short}" tabindex="0" role="group" aria-label="Table">'
        yield "<table>"
        if caption:
            yield f"<caption>{_escaped(caption)}</caption>"
        heads = (f'<th scope="col"{self.side(column)}>{_escaped(column.title)}</th>' for column in columns)
        yield f"<thead><tr>{''.join(heads)}</tr></thead>"
        for group in _groups(rows, table.groups):
            yield "<tbody>"
            for index, row in enumerate(group):
                cells = list(map(self.cell, columns, row, range(len(row))))
                if table.groups:
                    spans = f' rowspan="{len(group)}"' if len(group) > 1 else ""
                    first = f'<th scope="rowgroup" class="group"{spans}>{html_words(_words(row[0]))}</th>'
                    named = f'<th scope="row"{self.side(columns[1])}>{html_words(_words(row[1]))}</th>'
                    cells[:2] = [named] if index else [first, named]
                yield f"<tr>{''.join(cells)}</tr>"
            yield "</tbody>"
        yield "</table>" if self.in_notebook else "</table></div>"

    def cell(self, column: Column, cell: Cell, number: int) -> str:
        """A cell; the first of a row names it, and a share has its bar."""
        tag = '<th scope="row"' if number == 0 else "<td"
        bar = ""
        if column.is_share and isinstance(cell, Quantity) and isinstance(cell.value, int | float | Fraction):
            bar = _bar(float(cell.value))
        return f"{tag}{self.side(column)}>{html_words(_words(cell))}{bar}</{'td' if number else 'th'}>"

    def side(self, column: Column) -> str:
        """How a column is aligned."""
        if self.in_notebook:
            return f' style="text-align: {"left" if column.is_text else "right"}; padding: 0 0.5em"'
        return _class("text" if column.is_text else "number")

    # -- words -------------------------------------------------------------------------------------------

    def words(self, words: Words | None) -> str:
        """Words with their quantities and with what is set apart in them."""
        match words:
            case None:
                return "–"
            case Sentence():
                return "".join(map(self.words, words.parts))
            case Quantity():
                return self.quantity(words)
            case Marked():
                inner = "".join(map(self.words, words.parts))
                return self.mark(words, inner)
            case _:
                return _escaped(words)

    def quantity(self, quantity: Quantity) -> str:
        """A number, in a notebook with all its digits for machines."""
        value, written = quantity.machine, typeset(_escaped(str(quantity)))
        if not self.in_notebook or isinstance(value, dict) or value is None:
            return written
        return f'<data value="{escape(str(value))}">{written}</data>'

    def mark(self, words: Marked, inner: str) -> str:
        """Words that are set apart."""
        match words.role:
            case "strong" | "code":
                return f"<{words.role}>{inner}</{words.role}>"
            case "name":
                return f"<bdi>{inner}</bdi>"
            case "query":
                return f'<span class="query"><bdi>{inner}</bdi></span>'
            case "term":
                return (
                    inner
                    if self.in_notebook
                    else f'<a class="term" href="#{_anchor(str(words))}">{inner}</a>'
                )
            case _:
                return f'<span class="{words.role}">{inner}</span>'


def _words(cell: Cell) -> Words | None:
    return cell if cell is None or isinstance(cell, Sentence | Quantity | Marked) else text(cell)


def _groups(rows: list[list[Cell]], groups: bool) -> list[list[list[Cell]]]:
    """Rows that share their first cell, or all of them together."""
    return [list(run) for _, run in groupby(rows, lambda row: text(row[0]))] if groups else [rows]


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _anchor(term: str) -> str:
    return f"term-{term.lower().replace(' ', '-')}"


def _bar(share: float) -> str:
    return (
        ' <svg viewBox="0 0 100 8" preserveAspectRatio="none" class="bar" aria-hidden="true">'
        '<rect x="0" y="0" width="100" height="8" class="bar-back"/>'
        f'<rect x="0" y="0" width="{100 * share:.2f}" height="8" class="bar-front"/></svg>'
    )


def _is_title(part: Part, title: str) -> bool:
    return isinstance(part, str | Sentence | Paragraph) and title == str(
        part.text if isinstance(part, Paragraph) else part
    )
