"""One page that can be handed on: the decision, its numbers with proofs, and its pictures.

`gather` computes what a page says, `render` writes it, `page` does both. The page is one HTML file that
loads nothing, runs nothing, and prints; the same inputs give the same bytes. A template presents the facts.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from importlib.metadata import version
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from discreet import numbers
from discreet.accounting.calibration import calibrated_lines, matching_noise, variance_lines
from discreet.accounting.comparisons.gaussian_dp import GaussianDP
from discreet.accounting.costs import DELTAS, PrivacyRow, epsilon_rows, zcdp_of
from discreet.accounting.overall import Account
from discreet.accounting.overall import account as account_of
from discreet.accounting.sampling import Sampled, sampled
from discreet.accounting.values import read_probabilities
from discreet.answers import Answer, Fact, NumberKind, Quantity, Style, describes, sentence
from discreet.answers import release as words
from discreet.answers import risk as risk_words
from discreet.answers.account import case_text, compared
from discreet.answers.answer import Part
from discreet.answers.calibration import saved_text
from discreet.answers.curves import decision_picture
from discreet.answers.figure import Picture
from discreet.budget import Neighbours, Release, load_preset, preset_names
from discreet.budget.level_names import level_name
from discreet.budget.noise_table import levels_of, noise_lines, rho_total
from discreet.budget.toml import line as one_line
from discreet.errors import InputError, PrecisionError, visible
from discreet.estimation.accuracy import margin_lines
from discreet.faces import Displayed
from discreet.numbers import Exact
from discreet.render import look
from discreet.render.pictures import inline_svg
from discreet.report.html.pdf import print_pdf
from discreet.risk.profile import DIGITS as RISK_DIGITS
from discreet.risk.profile import Risk, RiskProfile, risk_profile

if TYPE_CHECKING:
    from discreet.accounting.calibration import Calibration
    from discreet.estimation import Accuracy

__all__ = ["Facts", "checked_title", "gather", "page", "print_pdf", "render"]

Stage = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

ALPHAS = tuple(map(Fraction, ("1/1000", "1/100", "1/20", "1/10", "1/4")))
"""Shares of false alarms in the table of the trade-off curve."""

_STYLES = {
    "about": Style.OFTEN,
    "exactly": Style.FRACTION,
    "number": Style.RESULT,
    "percent": Style.PERCENT,
    "plain": Style.EXACT,
}
"""How numbers are written, by the names of the template's filters."""

# C0 and C1 controls and unpaired surrogates have no place in HTML; line feeds matter only in a listing
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


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
    return one_line(title, name="title", field=("title",), empty=True)


# -- what a page says --------------------------------------------------------------------------------------


class Misses(NamedTuple):
    """A point of the trade-off curve: at this share of false alarms at least that share is missed."""

    alpha: Fraction
    exact: float
    zcdp: float


@dataclass(frozen=True, slots=True, eq=False)
class Facts(Displayed):
    """All that a page says of one release."""

    release: Release
    account: Account
    gaussian: GaussianDP
    deltas: tuple[Fraction, ...]
    """Those that were asked for, the one of the headline first."""
    rows: tuple[PrivacyRow, ...]
    headline: PrivacyRow
    prior: Fraction
    risk: RiskProfile
    misses: tuple[Misses, ...]
    estimates: Accuracy | None
    drawn: Sampled
    calibration: Calibration | None
    unsaved: str
    """Why no saving is stated, if one was looked for and there is none."""
    certified: bool

    @property
    def guess(self) -> Risk:
        """What the best adversary with the whole release achieves."""
        return self.risk.overall[0]

    @property
    def accuser(self) -> Misses:
        """What an adversary misses who accepts false alarms in 5 of 100 cases."""
        return self.misses[ALPHAS.index(Fraction(1, 20))]


@describes(Facts)
def report_answer(facts: Facts, *, written: Sequence[str] = ()) -> Answer:
    """Say the headline of a page, and into which files it was written.

    >>> from discreet.budget import load
    >>> print(*report_answer(gather(load("dhc-2022-08-25"), certify=False, savings=False)).body)
    dhc-2022-08-25: epsilon 20.3247 (exact) at delta 1e-10; the best guess is right at most 91.17 times in \
100 (not certified).
    """
    row, guess, account = facts.headline, facts.guess, facts.account
    epsilon, delta = (
        NumberKind.of(account.claim.kind).quantity(row.epsilon),
        Quantity(row.delta, Style.GIVEN),
    )
    record: dict[str, object] = {
        "release": account.name,
        "neighbours": account.neighbours,
        "answer": account.claim.document(),
        "delta": delta,
        "epsilon": epsilon,
        "zcdp_epsilon": row.zcdp,
        "worst": row.worst,
        "prior": str(facts.prior),
        "accuracy": guess.accuracy,
        "reduction": None if facts.calibration is None else facts.calibration.reduction,
        "certified": facts.certified,
    }
    for name, box, digits in (("", row.certified, None), ("accuracy_", guess.certified, RISK_DIGITS)):
        if box is not None:
            lower, upper = map(Decimal, Quantity(box, digits=digits).ends)
            record |= {f"{name}lower": lower, f"{name}upper": upper}
    right = f"{'at most ' if facts.risk.is_bound else ''}{risk_words.times_right(guess)}"
    said = sentence(
        "{name}: epsilon {epsilon} at delta {delta}; the best guess is right {right}{proof}.",
        name=account.name,
        epsilon=epsilon.claimed,
        delta=delta,
        right=right,
        proof="" if facts.certified else " (not certified)",
    )
    body: tuple[Part, ...] = (said, f"Written: {', '.join(written)}") if written else (said,)
    told = (
        Fact(f"epsilon at delta {delta}", epsilon, epsilon.kind.value),
        Fact("best guess right", right, f"prior {facts.prior}"),
    )
    return Answer(
        words.heading(facts.release),
        record | ({"files": list(written)} if written else {}),
        body,
        told,
        command=f"discreet report {account.name}",
        summary=said,
    )


def gather(
    release: Release,
    *,
    delta: Exact | Sequence[Exact] = ("1e-10",),
    prior: Exact = "1/2",
    neighbours: Neighbours | None = None,
    people: int = 1,
    certify: bool = True,
    savings: bool = True,
    jobs: int = 1,
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
    many = [delta] if isinstance(delta, str | int | Fraction | Decimal) else list(delta)
    if not many:
        raise InputError("no delta is given; at least one is needed, such as 1e-10")
    asked = list(dict.fromkeys(read_probabilities(one, name="delta").values[0] for one in many))
    chance = numbers.prior(prior)
    if account is None:
        account = account_of(release, neighbours=neighbours, people=people, jobs=jobs)
    elif account.name != release.name:
        raise InputError(f"the account is of {account.name!r}, but the release is {release.name!r}")
    elif neighbours not in (None, account.neighbours):
        raise InputError(f"the account is for {account.neighbours} neighbours, not {neighbours}")

    def during(text: str) -> Account:
        return account.with_workers(jobs, None if progress is None else partial(progress, text))

    zcdp = zcdp_of(account)
    proving = during("Proving epsilon" if certify else "Comparing paths")
    rows = epsilon_rows(proving, asked, zcdp=zcdp, certified=certify)
    more = [small for small in map(Fraction, DELTAS) if small not in asked]
    table = [*rows, *epsilon_rows(during("Comparing paths"), more, zcdp=zcdp)]
    missed = during("Weighing both errors").tradeoff(alpha=list(ALPHAS))
    found, unsaved = None, ""
    if savings and account.people == 1:  # calibration is for one person
        found, unsaved = _saving(release, asked[0], during("Looking for the least noise"))
    return Facts(
        release=release,
        account=account.with_workers(jobs),
        gaussian=GaussianDP(account.events(account.main)),
        deltas=tuple(asked),
        rows=tuple(sorted(table, key=lambda row: -row.delta)),
        headline=rows[0],
        prior=chance,
        risk=risk_profile(release, prior=chance, whole=during("Proving the best guess"), certify=certify),
        misses=tuple(
            Misses(alpha, float(value), max(float(zcdp.tradeoff(alpha=float(alpha))), 0.0))
            for alpha, value in zip(ALPHAS, missed, strict=True)
        ),
        estimates=_estimates(release),
        drawn=sampled(during("Drawing the curves"), zcdp),
        calibration=found,
        unsaved=unsaved,
        certified=certify,
    )


def _estimates(release: Release) -> Accuracy | None:
    """How accurate estimates will be, if attributes are stated and the tree is that of the United States."""
    if release.attributes is None:
        return None
    from discreet.estimation import accuracy

    try:
        return accuracy(release)
    except InputError:  # another tree is not known here
        return None


def _saving(release: Release, delta: Fraction, account: Account) -> tuple[Calibration | None, str]:
    """How little noise keeps zCDP's promise, or why that is not said: a report is worth having without it."""
    from discreet.accounting.calibration import calibrate

    find = partial(calibrate, release, delta=delta, zcdp=True, neighbours=account.neighbours)
    try:
        return find(jobs=account.jobs, progress=account.progress), ""
    except (InputError, PrecisionError) as error:
        return None, str(error)


class Change(NamedTuple):
    """What happens to the noise of a level: the smallest and largest ratio of variances after and before."""

    level: str
    low: Fraction
    high: Fraction


def changes_between(after: Facts, before: Facts) -> dict[str, object]:
    """Return how two states differ: variances of queries that both have, and what is gone or new."""
    both = matching_noise(before.release, after.release)
    ratios: dict[str, list[Fraction]] = {}
    for level, query in both:
        ratios.setdefault(level, []).append(query.after / query.before)
    levels = [Change(level, min(found), max(found)) for level, found in ratios.items()]
    old, new = (
        {(level, row.query) for level, rows in levels_of(one.release).items() for row in rows}
        for one in (before, after)
    )
    return {
        "before": before,
        "lines": variance_lines(both),
        "levels": levels,
        "unchanged": [one for one in levels if one.low == one.high == 1],
        "gone": sorted(old - new),
        "new": sorted(new - old),
    }


# -- the page ----------------------------------------------------------------------------------------------


def render(facts: Facts, *, before: Facts | None = None, title: str = "") -> str:
    """Return the page as text; nothing is computed here."""
    return (
        environment()
        .get_template("page")
        .render(
            f=facts,
            title=checked_title(title),
            changes=None if before is None else changes_between(facts, before),
            pictures=pictures(facts, before),
            worst=sorted({path for row in facts.rows for path in row.paths}),
            version=version("discreet"),
        )
    )


@cache
def environment() -> Environment:
    """Return where templates find each other and their filters; texts are escaped unless they are markup."""

    def source(name: str) -> str:
        file = "style.css" if name == "style" else f"{name}.html.jinja"
        return files("discreet.report.html").joinpath(file).read_text(encoding="utf-8")

    made = Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda text: text if isinstance(text, Markup) else visible(_UNFIT.sub("\ufffd", str(text))),
    )
    made.filters |= {name: partial(_written, style) for name, style in _STYLES.items()}
    made.filters |= {
        "at_least": partial(_written, Style.OFTEN, kind=NumberKind.AT_LEAST),
        "percent_down": partial(_written, Style.PERCENT, kind=NumberKind.AT_LEAST),
        "exact": numbers.exact_text,
        "level": level_name,
        "case": case_text,
        "change": lambda value: minus(_written(Style.CHANGE, value)),
        "minus": minus,
        "small": small,
        "ends": lambda box, digits=None: [end.replace("E", "e") for end in Quantity(box, digits=digits).ends],
        "zip": zip,
        "by_level": lambda lines: [(k, list(group)) for k, group in groupby(lines, lambda one: one.level)],
        "by_first": lambda rows: [(k, list(group)) for k, group in groupby(rows, lambda row: row[0])],
        "anchor": lambda term: term.lower().replace(" ", "-"),
    }
    made.globals |= {"words": words, "noise_lines": noise_lines, "rho_total": rho_total}
    made.globals |= {"margin_lines": margin_lines, "calibrated_lines": calibrated_lines, "compared": compared}
    made.globals |= {
        "risk": risk_words,
        "RISK_DIGITS": RISK_DIGITS,
        "numbers": numbers,
        "target": release_argument,
    }
    made.globals |= {"number_kind": NumberKind.of, "saved_text": saved_text}
    return made


def _written(
    style: Style, value: float | Fraction, digits: int | None = None, kind: NumberKind = NumberKind.EXACT
) -> str:
    return str(Quantity(value, style, kind, digits))


def small(delta: float | Fraction) -> Markup:
    """Write a delta: as a power of ten where it is one.

    >>> small(1e-10), small(Fraction(1, 3))
    (Markup('10<sup>−10</sup>'), Markup('0.333333'))
    """
    digits, _, exponent = f"{float(delta):.5e}".partition("e")
    power = f"10<sup>−{-int(exponent)}</sup>"
    if float(digits) == 1 and int(exponent) < -2:
        return Markup(power)
    return Markup(f"{float(digits):g} × {power}" if int(exponent) < -4 else _written(Style.EXACT, delta))


def minus(text: str) -> str:
    """Write differences with a minus sign instead of a hyphen.

    >>> minus("-1.8841 (-7.2 %)"), minus("-6.7e-10")
    ('−1.8841 (−7.2 %)', '−6.7e-10')
    """
    return re.sub(r"(?<![0-9a-zA-Z])-(?=[0-9])", "−", text)


def release_argument(release: Release, file: str) -> str:
    """Return the preset's name if it is one, for a shell, or else the file that the page shows at its end."""
    is_preset = release.name in preset_names() and load_preset(release.name) == release
    return shlex.quote(release.name) if is_preset else file


# -- its two pictures --------------------------------------------------------------------------------------

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


def pictures(facts: Facts, before: Facts | None = None) -> dict[str, object]:
    """Return the privacy profile and the trade-off curve as SVG, and where its axis of epsilon ends."""
    row = facts.headline
    both = decision_picture(
        facts.drawn, facts.gaussian, at=(row.epsilon, row.delta), before=before.drawn if before else None
    )
    drawn = {
        key: tuple(
            map(Markup, inline_svg(Picture((replace(panel, title=""),), size=(5.2, 4.2)), key, _COLOURS))
        )
        for key, panel in zip(("profile", "tradeoff"), both.panels, strict=True)
    }
    return {"high": both.panels[0].x.high, **drawn}
