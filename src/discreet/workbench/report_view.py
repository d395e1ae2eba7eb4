"""What the Report page makes: one HTML file, by the same function as `discreet report`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from fractions import Fraction

from discreet.budget import Release
from discreet.budget.neighbours import Neighbours
from discreet.workbench.phrases import relation_options, target
from discreet.workbench.session_file import delta_text
from discreet.workbench.state import State


def reported(
    release: Release,
    before: Release | None,
    neighbours: Neighbours,
    delta: Fraction,
    title: str,
    certify: bool,
    savings: bool,
    jobs: int,
    progress: Callable[[str, int, int], None] | None = None,
) -> str:
    """Return the page as text.

    >>> from discreet.budget import load
    >>> small = load("pl94-2020-units")
    >>> text = reported(small, None, "bounded", Fraction(1, 10**10), "A title", False, False, 1)
    >>> "A title" in text
    True
    """
    from discreet.report.html import page

    return page(
        release,
        before=before,
        title=title,
        delta=(delta,),
        neighbours=neighbours,
        certify=certify,
        savings=savings,
        jobs=jobs,
        progress=progress,
    )


def file_name(release: Release) -> str:
    """Return a name for the file that every system can hold.

    >>> from discreet.budget import load
    >>> file_name(load("dhc-2020"))
    'dhc-2020-persons-report.html'
    """
    letters = (letter if letter.isalnum() or letter in "-_" else "-" for letter in release.name[:80])
    return "".join(letters) + "-report.html"


def report_command(state: State, title: str = "") -> str:
    """Return the command line that makes the same report.

    >>> report_command(State.of("dhc-2020"))
    'discreet report dhc-2020-persons --delta 1e-10 --out report.html'
    """
    parts = [
        "discreet",
        "report",
        *target(state),
        "--delta",
        delta_text(state.delta),
        *relation_options(state),
    ]
    parts += ["--title", title] if title else []
    return shlex.join([*parts, "--out", "report.html"])
