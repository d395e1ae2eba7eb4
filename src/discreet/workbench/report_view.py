"""What the Report page makes: one HTML file, by the same function as `discreet report`, or a PDF of it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.budget import Release
from discreet.budget.neighbours import Neighbours
from discreet.errors import DiscreetError, InputError
from discreet.workbench.phrases import relation_options, target
from discreet.workbench.session_file import delta_text
from discreet.workbench.state import State

NAME = "report"
LONGEST_TITLE = 120


@dataclass(frozen=True, slots=True)
class Wanted:
    """All that the bytes of a report depend on."""

    release: Release
    before: Release | None
    neighbours: Neighbours
    delta: Fraction
    prior: str
    title: str
    certify: bool
    savings: bool


def wanted(state: State, before: State | None) -> Wanted:
    """Return the report that two states ask for, with the prior of the Risk page.

    >>> wanted(State.of("dhc-2020").with_settings("risk", {"prior": "0.1"}), None).prior
    '1/10'
    """
    from discreet.workbench.risk_plan import plain_text

    try:
        prior = plain_text(state.setting("risk", "prior", "1/2"))
    except DiscreetError:  # the Risk page says what is wrong
        prior = "1/2"
    return Wanted(
        release=state.release,
        before=None if before is None else before.release,
        neighbours=state.relation,
        delta=state.delta,
        prior=prior,
        title=state.setting(NAME, "title")[:LONGEST_TITLE],
        certify=state.setting(NAME, "proofs") != "no",
        savings=state.setting(NAME, "savings") != "no",
    )


def checked_title(text: str) -> str:
    """Return a title without what surrounds it.

    >>> checked_title("x" * 121)
    Traceback (most recent call last):
    discreet.errors.InputError: a title has at most 120 characters; this one has 121
    """
    short = text.strip()
    if len(short) > LONGEST_TITLE:
        raise InputError(f"a title has at most {LONGEST_TITLE} characters; this one has {len(short)}")
    return short


def reported(asked: Wanted, jobs: int, progress: Callable[[str, int, int], None] | None = None) -> str:
    """Return the page as text.

    >>> chosen = {"title": "A title", "proofs": "no", "savings": "no"}
    >>> asked = wanted(State.of("pl94-2020-units").with_settings("report", chosen), None)
    >>> "A title" in reported(asked, 1)
    True
    """
    from discreet.report.html import page

    return page(
        asked.release,
        before=asked.before,
        title=asked.title,
        delta=(asked.delta,),
        prior=asked.prior,
        neighbours=asked.neighbours,
        certify=asked.certify,
        savings=asked.savings,
        jobs=jobs,
        progress=progress,
    )


def printed(html: str, progress: Callable[[str, int, int], None] | None = None) -> bytes:
    """Return a report as PDF."""
    from discreet.report.html.pdf import print_pdf

    if progress is not None:
        progress("printing", 0, 1)
    return print_pdf(html)


def can_print() -> bool:
    """Whether there is a Chromium that prints."""
    from discreet.report.html.pdf import find_chromium

    try:
        return bool(find_chromium())
    except InputError:
        return False


def file_name(release: Release, ending: str = "html") -> str:
    """Return a name for the file that every system can hold.

    >>> from discreet.budget import load
    >>> file_name(load("dhc-2020"))
    'dhc-2020-persons-report.html'
    """
    letters = (letter if letter.isalnum() or letter in "-_" else "-" for letter in release.name[:80])
    return "".join(letters) + f"-report.{ending}"


def report_command(state: State, before: State | None = None) -> str:
    """Return the command line that makes the same report.

    >>> report_command(State.of("dhc-2020"), State.of("dhc-2020"))
    'discreet report dhc-2020-persons --delta 1e-10 --before dhc-2020-persons --out report.html'
    """
    asked = wanted(state, before)
    parts = ["discreet", "report", *target(state), "--delta", delta_text(state.delta)]
    parts += relation_options(state)
    parts += ["--prior", asked.prior] if asked.prior != "1/2" else []
    if before is not None:
        parts += ["--before", *target(before, "before.toml")]
        # one option is for both, and the first of them may say otherwise
        if not relation_options(state) and before.base.neighbours != asked.neighbours:
            parts += ["--neighbours", asked.neighbours]
    parts += ["--title", asked.title] if asked.title else []
    parts += [] if asked.certify else ["--no-certify"]
    parts += [] if asked.savings else ["--no-savings"]
    return shlex.join([*parts, "--out", "report.html"])
