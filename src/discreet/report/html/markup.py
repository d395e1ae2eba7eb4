"""HTML that cannot forget to escape: a text is escaped unless it already is markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

_EMPTY = {"meta", "link", "br", "hr", "path", "line", "rect", "circle"}
# C0 and C1 controls and unpaired surrogates have no place in HTML; line feeds matter only in a listing
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def markup(value: object) -> Markup:
    """Return HTML for a value: itself if it is markup, else its text, escaped.

    >>> markup("a < b"), markup(Markup("<b>a</b>"))
    ('a &lt; b', '<b>a</b>')
    """
    return value if isinstance(value, Markup) else Markup(escape(_UNFIT.sub("\ufffd", str(value))))


def join(parts: Iterable[object], between: str = "") -> Markup:
    """Return all parts, one after another.

    >>> join(["a", Markup("<br>"), "&"], " ")
    'a <br> &amp;'
    """
    return Markup(between.join(markup(part) for part in parts))


def el(tag: str, *children: object, **attributes: object) -> Markup:
    """Return one element; `class_` and `aria_label` lose their underscores, and None leaves one out.

    >>> el("a", "R&D", href="#top", class_="plain")
    '<a href="#top" class="plain">R&amp;D</a>'
    """
    stated = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{markup(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in _EMPTY and not children:
        return Markup(f"<{tag}{stated}>" if tag in ("meta", "link", "br", "hr") else f"<{tag}{stated}/>")
    return Markup(f"<{tag}{stated}>{join(children)}</{tag}>")


def name(text: str) -> Markup:
    """Return a name that somebody chose, kept apart from the direction of the text around it.

    >>> name("<script>")
    '<bdi>&lt;script&gt;</bdi>'
    """
    return el("bdi", text)


def term(text: str) -> Markup:
    """Return a term with a link to its place in the glossary.

    >>> term("epsilon")
    '<a class="term" href="#term-epsilon">epsilon</a>'
    """
    return el("a", text, class_="term", href=f"#term-{text.lower().replace(' ', '-')}")


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of a table that share their first cell, `heading`, or share nothing."""

    heading: object | None
    rows: Sequence[Sequence[object]]


def table(
    caption: object, columns: Sequence[str], groups: Sequence[Group], *, left: Sequence[int] = (0,)
) -> Markup:
    """Return a table with a caption; columns in `left` are texts, the others are numbers.

    >>> "scope" in table("Two", ["a", "b"], [Group(None, [["x", 1]])])
    True
    """
    kind = ["text" if place in left else "number" for place in range(len(columns))]
    head = el("tr", *(el("th", text, scope="col", class_=kind[i]) for i, text in enumerate(columns)))
    bodies = []
    for group in groups:
        lines = []
        for k, row in enumerate(group.rows):
            cells = []
            if group.heading is not None and k == 0:
                shared = {"rowspan": len(group.rows)} if len(group.rows) > 1 else {}
                cells.append(el("th", group.heading, scope="rowgroup", class_="group", **shared))
            start = 0 if group.heading is None else 1
            for place, cell in enumerate(row, start):
                tag, scope = ("th", "row") if place == start else ("td", None)
                cells.append(el(tag, cell, scope=scope, class_=kind[place]))
            lines.append(el("tr", *cells))
        bodies.append(el("tbody", join(lines, "\n")))
    made = el("table", el("caption", caption), el("thead", head), "\n", join(bodies, "\n"))
    short = sum(len(group.rows) for group in groups) <= 16
    # a wide table can be scrolled on a small screen, by keyboard too; the caption names the region
    return el(
        "div",
        made,
        class_="scroll short" if short else "scroll",
        tabindex=0,
        role="group",
        aria_label="Table",
    )
