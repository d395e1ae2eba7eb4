"""One page that can be handed on: the decision, its numbers with proofs, and its pictures.

`gather` computes what a page says, `render` writes it, `page` does both. The page is one HTML file that
loads nothing, runs nothing, and prints; the same inputs give the same bytes. What it says is a list of
answers (`discreet.answers.report`), each of which becomes a section; here is the frame around them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from importlib.resources import files
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from discreet import numbers
from discreet.accounting.account import Account
from discreet.accounting.account import account as account_of
from discreet.accounting.questions import Jobs, People, Relation
from discreet.answers.answer import Sentence, Words, marked
from discreet.answers.decision import Decision
from discreet.answers.facts import ALPHAS, Facts, Misses
from discreet.answers.report import report_answer, report_sections, report_subject
from discreet.budget import Release
from discreet.budget.events import Releasable, release_of
from discreet.budget.toml import line as one_line
from discreet.calls import known_as
from discreet.comparisons.costs import DELTAS, epsilon_rows, usual_zcdp
from discreet.comparisons.gaussian_dp import GaussianDP
from discreet.comparisons.sampling import sampled
from discreet.disclosure.category import Categories, release_categories
from discreet.disclosure.everything import risk
from discreet.disclosure.questions import DEFAULT_PRIOR
from discreet.errors import InputError, PrecisionError
from discreet.loss.values import read_probabilities
from discreet.noise.capabilities import require
from discreet.numbers import Exact
from discreet.questions import Option, repeated_option
from discreet.render import look
from discreet.render.html import html_words, section_of
from discreet.reports.html.pdf import print_pdf

if TYPE_CHECKING:
    from discreet.accounting.calibration import Calibration
    from discreet.estimation import Accuracy

__all__ = [
    "Facts",
    "checked_title",
    "framed",
    "gather",
    "page",
    "print_pdf",
    "render",
    "report",
    "report_answer",
]

Stage = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

_RARE = (Fraction(1, 100),)  # a report says what changes at a low prior, whatever else is asked
_COLOURS = {
    look.INK: "var(--ink)",
    look.SOFT: "var(--quiet)",
    look.GRID: "var(--grid)",
    look.colour(0): "var(--exact)",
    look.colour(1): "var(--zcdp)",
    look.colour(2): "var(--before)",
    look.GREY: "var(--gaussian)",
}
"""Colours of print, and what the page has instead (style.css)."""


@known_as("report")
def page(
    release: Releasable,
    *,
    before: Releasable | None = None,
    title: str = "",
    decided: str = "",
    decided_by: str = "",
    decided_on: str = "",
    reason: str = "",
    progress: Stage | None = None,
    **asked: Any,
) -> str:
    """Return the page about a release, beside another if there is one before it.

    `asked` goes to `gather`. The same inputs give the same text.

    >>> text = page("dhc-2022-08-25", certify=False, savings=False)
    >>> "20.3247" in text, "http://" in text
    (True, False)
    """
    checked_title(title)
    record = {"decided": decided, "decided_by": decided_by, "decided_on": decided_on, "reason": reason}
    Decision(**record)
    now = gather(release, progress=progress, **asked)
    asked = {key: value for key, value in asked.items() if key != "account"}
    then = None if before is None else gather(before, progress=progress, **{**asked, "savings": False})
    return render(now, before=then, title=title, **record)


report = page
"""Its name at the top of the package, and on the command line."""


def checked_title(title: str) -> str:
    """Return the title if it is one line of text."""
    return one_line(title, name="title", field=("title",), empty=True)


# -- what a page says --------------------------------------------------------------------------------------


@known_as("report")
def gather(
    release: Releasable,
    *,
    delta: Annotated[
        Exact | Sequence[Exact],
        repeated_option("The delta of the headline, default 1e-10; may be repeated.", "D", "delta"),
    ] = ("1e-10",),
    prior: Annotated[
        Exact, Option("The adversary's prior probability of one answer; default 1/2.", "P", reads=str)
    ] = DEFAULT_PRIOR,
    neighbours: Relation = None,
    people: People = 1,
    certify: Annotated[bool, Option("Skip the proofs; the page says so.", each="no-certify")] = True,
    savings: Annotated[
        bool,
        Option(
            "Skip the search for noise that could be saved, of a plan that states its budget in rho.",
            each="no-savings",
        ),
    ] = True,
    jobs: Jobs = 1,
    progress: Stage | None = None,
    account: Account | None = None,
) -> Facts:
    """Return what a page says of a release.

    The first delta is the one of the headline, and every delta named is certified; the table adds the
    usual ones. `prior` is the chance that an adversary gives the truth beforehand. An `account` of the same
    release that is at hand already brings its relation and its number of people with it.

    >>> from discreet.budget import load
    >>> facts = gather(load("dhc-2022-08-25"), certify=False, savings=False)
    >>> round(facts.headline.epsilon, 4), round(facts.guess.accuracy, 4)
    (20.3247, 0.9116)
    """
    release = release_of(release)
    require("report", (event for level in release.levels for event in level.events(release.neighbours)))
    many = [delta] if isinstance(delta, str | int | float | Fraction | Decimal) else list(delta)
    if not many:
        raise InputError("no delta is given; at least one is needed, such as 1e-10")
    asked = list(dict.fromkeys(read_probabilities(text, name="delta").values[0] for text in many))
    chance = numbers.prior(prior)
    if account is None:
        account = account_of(release, neighbours=neighbours, people=people, jobs=jobs)
    elif account.name != release.name:
        raise InputError(f"the account is of {account.name!r}, but the release is {release.name!r}")
    elif neighbours not in (None, account.neighbours):
        raise InputError(f"the account is for {account.neighbours} neighbours, not {neighbours}")

    def during(text: str) -> Account:
        return account.with_workers(jobs, None if progress is None else partial(progress, text))

    zcdp = usual_zcdp(account)
    unproved = _why_unproved(account, asked) if certify else ""
    certify = certify and not unproved
    proving = during("Proving epsilon" if certify else "Comparing paths")
    rows = epsilon_rows(proving, asked, zcdp=zcdp, certified=certify)
    more = [small for small in map(Fraction, DELTAS) if small not in asked]
    table = [*rows, *epsilon_rows(during("Comparing paths"), more, zcdp=zcdp)]
    missed = during("Weighing both errors").tradeoff(alpha=list(ALPHAS))
    savings_found, unsaved = None, ""
    # calibration is for one person, and zCDP's promise is one that somebody made
    if savings and account.people == 1 and _is_set_by_zcdp(release):
        savings_found, unsaved = _saving(release, asked[0], during("Looking for the least noise"))
    told = "Proving the best guess" if certify else "Weighing everything published"
    everything = risk(
        release,
        prior=[chance, *(rare for rare in _RARE if rare != chance)],
        false_positive_rates=["1e-4"],
        delta=asked[0],
        certify=certify,
        neighbours=account.neighbours,
        people=account.people,
        jobs=jobs,
        progress=None if progress is None else partial(progress, told),
    )
    return Facts(
        release=release,
        account=account.with_workers(jobs),
        gaussian=GaussianDP(account.events(account.main)) if zcdp else None,
        deltas=tuple(asked),
        rows=tuple(sorted(table, key=lambda row: -row.delta)),
        headline=rows[0],
        prior=chance,
        everything=everything,
        curve=everything.curve(),
        categories=_categories(release) if account.people == 1 else None,
        misses=tuple(
            Misses(alpha, float(value), max(float(zcdp.tradeoff(alpha=float(alpha))), 0.0) if zcdp else None)
            for alpha, value in zip(ALPHAS, missed, strict=True)
        ),
        estimates=_estimates(release),
        drawn=sampled(during("Drawing the curves"), zcdp),
        calibration=savings_found,
        unsaved=unsaved,
        certified=certify,
        unproved=unproved,
    )


def _why_unproved(account: Account, deltas: Sequence[Fraction]) -> str:
    """Why these numbers cannot be proved: of laws without a lattice only few events can."""
    if account.case_set.method == "transform":
        return ""
    try:
        account.delta(epsilon=1, certified=True, digits=2)
        if any(not isfinite(account.epsilon(delta=delta)) for delta in deltas):
            return "no epsilon holds at the delta asked for"
    except (InputError, PrecisionError) as error:
        return str(error)
    return ""


def _categories(release: Release) -> Categories | None:
    """How often a person's cell is found out, if the release says what its cells are."""
    if release.attributes is None:
        return None
    try:
        return release_categories(release)
    except InputError:  # one cell, or counts that one record changes by more than one
        return None


def _estimates(release: Release) -> Accuracy | None:
    """How accurate estimates will be, if attributes are stated and the tree is that of the United States."""
    if release.attributes is None:
        return None
    from discreet.estimation import accuracy

    try:
        return accuracy(release)
    except InputError:  # another tree is not known here
        return None


def _is_set_by_zcdp(release: Release) -> bool:
    """Whether a plan states a budget in rho, so that its promise is the one zCDP converts that into.

    >>> from discreet.budget import load
    >>> _is_set_by_zcdp(load("pl94-2020-units"))
    True
    """
    return release.rho is not None or any(level.rho is not None for level in release.levels)


def _saving(release: Release, delta: Fraction, account: Account) -> tuple[Calibration | None, str]:
    """How little noise keeps zCDP's promise, or why that is not said: a report is worth having without it."""
    from discreet.promises.calibrating import calibrate

    find = partial(calibrate, release, delta=delta, zcdp=True, neighbours=account.neighbours)
    try:
        return find(jobs=account.jobs, progress=account.progress), ""
    except (InputError, PrecisionError) as error:
        return None, str(error)


# -- the page ----------------------------------------------------------------------------------------------


def render(
    facts: Facts,
    *,
    before: Annotated[
        Facts | None,
        Option(
            "Another release to compare with, such as the one before a change.", "OTHER", reads=str | None
        ),
    ] = None,
    title: Annotated[str, Option("The title of the page.", "TEXT")] = "",
    decided: Annotated[str, Option("What was decided, for the record on the page.", "TEXT")] = "",
    decided_by: Annotated[str, Option("Who decided.", "NAMES")] = "",
    decided_on: Annotated[str, Option("When it was decided, such as 2026-03-01.", "DATE")] = "",
    reason: Annotated[str, Option("Why it was decided.", "TEXT")] = "",
) -> str:
    """Return the page as text; nothing is computed here."""
    decision = Decision(decided=decided, decided_by=decided_by, decided_on=decided_on, reason=reason)
    sections = report_sections(facts, before=before, decision=decision)
    heading = checked_title(title) or facts.release.title or facts.release.name
    return framed(
        {anchor: section_of(answer, anchor=anchor, colours=_COLOURS) for anchor, answer in sections.items()},
        title=f"{heading} – privacy report",
        kicker="Privacy report",
        heading=heading,
        about=report_subject(facts),
        contents={anchor: answer.title for anchor, answer in sections.items()},
    )


def framed(
    sections: Mapping[str, str],
    *,
    title: str,
    kicker: str,
    heading: Words,
    about: Words = "",
    contents: Mapping[str, str] | None = None,
    warning: str = "",
) -> str:
    """Return a page that loads nothing and runs nothing around sections, with its contents if they are given.

    A warning stands first and last.

    >>> framed({"all": "<section></section>"}, title="A page", kicker="Draft", heading="One")[:15]
    '<!DOCTYPE html>'
    """

    def word(words: Words) -> Markup:
        return Markup(html_words(words))

    return _template().render(
        style=Markup(_source("style.css")),
        title=word(title),
        kicker=kicker,
        heading=word(heading if isinstance(heading, Sentence) else marked(heading, "name")),
        about=word(about),
        contents={anchor: word(text) for anchor, text in (contents or {}).items()},
        warning=word(warning),
        sections=[Markup(section) for section in sections.values()],
    )


@cache
def _template() -> Template:
    """The frame of a page; texts are escaped unless they are markup."""
    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return made.from_string(_source("page.html.jinja"))


def _source(file: str) -> str:
    return files("discreet.reports.html").joinpath(file).read_text(encoding="utf-8")
