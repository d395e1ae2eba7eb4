"""The whole page: one HTML file that loads nothing, runs nothing, and prints."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from discreet.budget import Release
from discreet.budget.fields import line
from discreet.report import words
from discreet.report.html import changes, ending, sections
from discreet.report.html.facts import Facts, Stage, gather
from discreet.report.html.markup import Markup, el, join, name

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What a browser is told: nothing may be loaded, run or sent."""

_CONTENTS = {
    "decision": "The decision",
    "changes": "Before and after",
    "parameters": "Parameters",
    "curves": "How much privacy is lost",
    "risk": "Risk in plain words",
    "accuracy": "Accuracy",
    "savings": "Noise that could be saved",
    "limits": "Assumptions and limits",
    "method": "Method and version",
    "glossary": "Glossary",
    "file": "The release as a file",
}


def page(
    release: Release,
    *,
    before: Release | None = None,
    title: str = "",
    progress: Stage | None = None,
    **asked: Any,
) -> str:
    """Return the page about a release, beside another if there is one before it.

    `asked` goes to `gather`. The same inputs give the same text.

    >>> from discreet.budget import load
    >>> text = page(load("dhc-2022-08-25"), certify=False, savings=False)
    >>> "20.3247" in text, "http://" in text
    (True, False)
    """
    checked_title(title)
    now = gather(release, progress=progress, **asked)
    asked = {key: value for key, value in asked.items() if key != "account"}
    then = None if before is None else gather(before, progress=progress, **{**asked, "savings": False})
    return render(now, before=then, title=title)


def checked_title(title: str) -> str:
    """Return the title if it is one line of text."""
    return line(title, name="title", field=("title",), empty=True)


def render(facts: Facts, *, before: Facts | None = None, title: str = "") -> str:
    """Return the page as text; nothing is computed here."""
    release = facts.release
    heading = checked_title(title) or release.title or release.name
    parts = [sections.decision(facts)]
    if before is not None:
        parts.append(changes.side_by_side(facts, before))
    parts += [
        sections.parameters(facts),
        sections.curves(facts, before),
        sections.risk(facts),
        sections.accuracy(facts),
    ]
    if facts.calibration is not None:
        parts.append(sections.savings(facts))
    parts += [
        ending.limits(facts),
        ending.method(facts, before),
        ending.glossary(),
        ending.appendix(facts, before),
    ]
    shown = "\n\n".join(parts)
    present = {key: text for key, text in _CONTENTS.items() if f'<section id="{key}">' in shown}
    body = el(
        "body",
        el("a", "To the decision", href="#decision", class_="skip"),
        "\n",
        _header(facts, heading),
        "\n",
        _contents(present),
        "\n",
        el("main", "\n", Markup(shown), "\n"),
        "\n",
    )
    head = el(
        "head",
        join(
            [
                "",
                el("meta", charset="utf-8"),
                el("meta", http_equiv="Content-Security-Policy", content=POLICY),
                el("meta", name="viewport", content="width=device-width, initial-scale=1"),
                el("meta", name="color-scheme", content="light dark"),
                el("title", f"{heading} – privacy report"),
                el("style", Markup(_style())),
                "",
            ],
            "\n",
        ),
    )
    return f"<!DOCTYPE html>\n{el('html', head, Markup(chr(10)), body, lang='en')}\n"


def _header(facts: Facts, heading: str) -> Markup:
    account = facts.account
    who = words.relation(account.neighbours, account.unit, account.people)
    parts = [el("p", "Privacy report", class_="kicker"), el("h1", name(heading))]
    about = join(
        [
            el("code", name(facts.release.name)),
            f" · {who} ({account.neighbours} neighbours) · prior {facts.prior} · ",
            "certified" if facts.certified else "not certified",
        ]
    )
    return el("header", join([*parts, el("p", about, class_="about")], "\n"))


def _contents(present: dict[str, str]) -> Markup:
    items = join((el("li", el("a", text, href=f"#{key}")) for key, text in present.items()), "\n")
    return el("nav", el("ol", items), aria_label="Contents")


def _style() -> str:
    return files("discreet.report.html").joinpath("style.css").read_text(encoding="utf-8")
