"""An answer as prose of readable width and plain tables, for a terminal or a file."""

from __future__ import annotations

import io
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Bullets,
    Cards,
    Glossary,
    Heading,
    Illustration,
    Paragraph,
    Part,
    Verbatim,
)
from discreet.errors import visible
from discreet.render.pasted import folded_command

_WIDTH = 100
"""Columns of prose where there is no terminal to ask."""

_GAPS = (3, 2, 1)
"""Between columns of a table: the widest with which no word is broken, if there is one."""


def text_of(answer: Answer) -> Iterator[str]:
    """Yield the parts of an answer, ready to print: its body, then its cautions.

    >>> from discreet.answers import Answer, Caution
    >>> answer = Answer("one count", {}, ("Epsilon is 1.5.",), cautions=(Caution("A model."),))
    >>> print(*text_of(answer), sep="\\n")
    Epsilon is 1.5.
    Note: A model.
    """
    yield from map(_part_text, answer.body)
    yield from (_part_text(Paragraph(str(caution))) for caution in (*answer.scopes, *answer.cautions))


def _part_text(part: Part) -> str:
    """Write a paragraph or a list, wrapped, a table, or lines as they are.

    >>> print(_part_text(Bullets(("One record.", "The worst case."))))
    - One record.
    - The worst case.
    """
    match part:
        case AnswerTable():
            return _table(part)
        case Bullets():
            return "\n".join(_paragraph(Paragraph(f"- {item}")) for item in part.items)
        case Glossary():
            return "\n".join(_paragraph(Paragraph(f"{word}: {means}")) for word, means in part.terms.items())
        case Cards():
            facts = (f"{fact.label}: {fact.value}. {fact.proof or fact.note}" for fact in part.facts)
            return "\n".join(_paragraph(Paragraph(fact)) for fact in facts)
        case Verbatim():
            lines = visible(part.text).split("\n")
            return "\n".join(
                folded_command(line) if _width() and _is_command(line) else line for line in lines
            )
        case Illustration():
            return _paragraph(Paragraph(f"{part.title}: {part.shows}"))
        case Heading():
            return visible(part.text)
        case Paragraph():
            return _paragraph(part)
        case _:
            return _paragraph(Paragraph(part, indent=""))


def _is_command(line: str) -> bool:
    return line.startswith("discreet ") and not line.endswith("\\")


def _paragraph(part: Paragraph) -> str:
    words = visible(str(part.text))
    width = min(_WIDTH, _width() or _WIDTH)
    is_row = words.startswith("|")  # of a table in Markdown
    if not part.wraps and (is_row or not _width() or len(words) <= width):
        return words
    return textwrap.fill(
        words,
        width,
        subsequent_indent=part.indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _table(table: AnswerTable) -> str:
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console, JustifyMethod
    from rich.table import Table as Ruled
    from rich.text import Text

    width = _width() or 500  # a table that goes into a file is as wide as it needs to be
    rows = [[visible(cell) for cell in row] for row in table.cells]
    columns = list(zip((column.title for column in table.head), *rows, strict=True))
    words = [max(cell_len(word) for cell in column for word in (cell.split() or [""])) for column in columns]
    whole = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in columns]
    gap = next((gap for gap in _GAPS if sum(words) + gap * (len(words) - 1) <= width), None)
    sides = (0, 1) if gap is None else (0, gap // 2, 0, (gap - 1) // 2)  # one more stands between columns
    made = Ruled(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", padding=sides)
    widths = [None] * len(words) if gap is None else _widths(words, whole, width - gap * (len(words) - 1))
    for column, own in zip(table.head, widths, strict=True):
        side: JustifyMethod = "left" if column.is_text else "right"
        made.add_column(column.title, justify=side, overflow="fold", width=own)
    for row in rows:
        made.add_row(*map(Text, row))  # a name may hold what rich takes for markup
    # rendered to a string first: only the one who writes it meets a closed pipe or a full disk
    page = io.StringIO()
    Console(file=page, width=width, force_terminal=sys.stdout.isatty(), highlight=False).print(made)
    text = "\n".join(line.rstrip() for line in page.getvalue().rstrip("\n").split("\n"))
    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    return text if unicode else text.replace("─", "-")


def _widths(words: Sequence[int], whole: Sequence[int], room: int) -> list[int]:
    """Return the widths of columns: at least their longest word, and at most all of their longest cell.

    >>> _widths([9, 3], [15, 3], 20), _widths([9, 3, 4], [15, 3, 12], 20)
    ([15, 3], [10, 3, 7])
    """
    widths = list(words)
    for _ in range(min(room, sum(whole)) - sum(words)):
        lacking = [most - own for most, own in zip(whole, widths, strict=True)]
        widths[lacking.index(max(lacking))] += 1
    return widths


def _width() -> int | None:
    """Columns of the terminal, if the output goes to one."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
