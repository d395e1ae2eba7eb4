"""An answer as HTML: a section of a page, or what a notebook shows."""

from __future__ import annotations

from html import escape

from discreet.answers.answer import Answer, AnswerTable, Paragraph, Part, Sentence
from discreet.answers.figure import Picture
from discreet.answers.quantity import Quantity
from discreet.errors import visible


def html_of(answer: Answer) -> str:
    """Return a section: title, paragraphs, tables, cautions, pictures. Numbers carry their machine value.

    >>> from discreet.answers import Answer, Quantity, sentence
    >>> print(html_of(Answer("one count", {}, (sentence("Epsilon is {e}.", e=Quantity(1.5, digits=2)),))))
    <section class="answer">
    <h3>one count</h3>
    <p>Epsilon is <data value="1.5">1.5</data>.</p>
    </section>
    """
    # a text starts with its title, which here is the heading
    parts = [_part(part) for part in answer.body if part != "" and not _is_title(part, answer.title)]
    cautions = [f'<p class="caution">{_words(str(caution))}</p>' for caution in answer.cautions]
    title = f"<h3>{_words(answer.title)}</h3>"
    figures = [_figure(name, drawn()) for name, drawn in answer.figures.items()]
    return "\n".join(['<section class="answer">', title, *parts, *cautions, *figures, "</section>"])


def _figure(name: str, picture: Picture) -> str:
    """A picture, described for those who cannot see it."""
    from discreet.render.pictures import inline_svg

    head, rest = inline_svg(picture, name)
    said = escape(visible(picture.caption or picture.title or name))
    return f'<figure>{head} role="img" aria-label="{said}">{rest}</figure>'


def _part(part: Part) -> str:
    if isinstance(part, AnswerTable):
        head = "".join(f"<th{_side(column.is_text)}>{_words(column.title)}</th>" for column in part.head)
        sides = [_side(column.is_text) for column in part.head]
        rows = (
            "".join(f"<td{side}>{_words(cell)}</td>" for side, cell in zip(sides, row, strict=True))
            for row in part.cells
        )
        body = "\n".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    text = part.text if isinstance(part, Paragraph) else part
    return f"<p>{_sentence(text) if isinstance(text, Sentence) else _words(text)}</p>"


def _is_title(part: Part, title: str) -> bool:
    return str(part.text if isinstance(part, Paragraph) else part) == title


def _sentence(text: Sentence) -> str:
    return "".join(_data(part) if isinstance(part, Quantity) else _words(part) for part in text.parts)


def _data(quantity: Quantity) -> str:
    value = quantity.machine
    if isinstance(value, dict) or value is None:
        return _words(str(quantity))
    return f'<data value="{escape(str(value))}">{_words(str(quantity))}</data>'


def _side(is_text: bool) -> str:
    return f' style="text-align: {"left" if is_text else "right"}; padding: 0 0.5em"'


def _words(text: str) -> str:
    return escape(visible(text), quote=False)
