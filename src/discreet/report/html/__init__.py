"""One page that can be handed on: the decision, its numbers with proofs, and its pictures.

`gather` computes what a page says, `render` writes it, `page` does both. The page is one HTML file that
loads nothing, runs nothing, and prints; the same inputs give the same bytes. A template presents the facts.
"""

from __future__ import annotations

import re
import shlex
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from itertools import groupby
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from discreet import numbers
from discreet.budget import Release, load_preset, preset_names
from discreet.budget.levels import level_name
from discreet.budget.toml import line
from discreet.numbers import Interval, about, at_least, at_most, decimal, percent_down, percent_up, times
from discreet.report import words
from discreet.report.html.facts import Facts, Stage, compare, gather
from discreet.report.html.pdf import print_pdf
from discreet.report.html.pictures import pictures
from discreet.report.releases import path_text
from discreet.risk.explain import belief_sentence, naming_sentence, right_sentence
from discreet.risk.profile import DIGITS

__all__ = ["Facts", "gather", "page", "print_pdf", "render"]

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
    return line(title, name="title", field=("title",), empty=True)


def render(facts: Facts, *, before: Facts | None = None, title: str = "") -> str:
    """Return the page as text; nothing is computed here."""
    release, account = facts.release, facts.account
    numbers = sorted({path for row in facts.rows for path in row.worst})
    return (
        environment()
        .get_template("page")
        .render(
            f=facts,
            release=release,
            account=account,
            claim=account.claim,
            kind=account.claim.kind,
            changes=None if before is None else compare(facts, before),
            heading=checked_title(title) or release.title or release.name,
            pictures=pictures(facts, before),
            paths=[(path, path_text(release, path)) for path in numbers],
            commands=commands(facts, before),
            files=[("release.toml", release)] + ([("before.toml", before.release)] if before else []),
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
        finalize=lambda value: value if isinstance(value, Markup) else _UNFIT.sub("\ufffd", str(value)),
    )
    made.filters |= {
        "number": numbers.number,
        "plain": numbers.plain,
        "percent": numbers.percent,
        "exactly": numbers.with_fraction,
        "level": level_name,
        "case": words.label,
        "change": lambda value: minus(numbers.change(value)),
        "minus": minus,
        "small": small,
        "about": about,
        "at_least": at_least,
        "at_most": lambda chance: at_most(chance, percent=True),
        "times": lambda chance: times(chance, upper=True),
        "ends": lambda box, digits=None: [end.replace("E", "e") for end in numbers.interval(box, digits)],
        "safe_to_promise": safe_to_promise,
        "percent_up": percent_up,
        "percent_down": percent_down,
        "zip": zip,
        "by_level": lambda lines: [(k, list(group)) for k, group in groupby(lines, lambda one: one.level)],
        "by_first": lambda rows: [(k, list(group)) for k, group in groupby(rows, lambda row: row[0])],
        "anchor": lambda term: term.lower().replace(" ", "-"),
    }
    made.globals |= {
        "relation": words.relation,
        "records": words.records,
        "compared": words.compared,
        "right": right_sentence,
        "belief": belief_sentence,
        "naming": naming_sentence,
        "DIGITS": DIGITS,
        "RESULT_DIGITS": numbers.DIGITS,
    }
    return made


# -- numbers as the page writes them -----------------------------------------------------------------------


def small(delta: float | Fraction) -> Markup:
    """Write a delta: as a power of ten where it is one.

    >>> small(1e-10), small(Fraction(1, 3))
    (Markup('10<sup>−10</sup>'), Markup('0.333333'))
    """
    digits, _, exponent = f"{float(delta):.5e}".partition("e")
    power = f"10<sup>−{-int(exponent)}</sup>"
    if float(digits) == 1 and int(exponent) < -2:
        return Markup(power)
    return Markup(f"{float(digits):g} × {power}" if int(exponent) < -4 else numbers.plain(delta))


def safe_to_promise(box: Interval) -> str:
    """Write a number that may be promised: the upper end, rounded up to the digits of a result.

    >>> safe_to_promise(Interval(Fraction("24.4565144"), Fraction("24.4565145")))
    '24.4566'
    """
    return decimal(box.upper, digits=numbers.DIGITS, down=False)


def minus(text: str) -> str:
    """Write differences with a minus sign instead of a hyphen.

    >>> minus("-1.8841 (-7.2 %)"), minus("-6.7e-10")
    ('−1.8841 (−7.2 %)', '−6.7e-10')
    """
    return re.sub(r"(?<![0-9a-zA-Z])-(?=[0-9])", "−", text)


def commands(facts: Facts, before: Facts | None) -> list[str]:
    """Return the commands that give the numbers of the page."""
    target = _target(facts.release, "release.toml")
    deltas = "".join(f" --delta {numbers.plain(row.delta)}" for row in facts.asked)
    relation = ""
    if facts.account.neighbours != facts.release.neighbours:
        relation = f" --neighbours {facts.account.neighbours}"
    people = f" --people {facts.account.people}" if facts.account.people != 1 else ""
    certify = " --certify" if facts.certified else ""
    found = [f"discreet account {target}{deltas}{relation}{people}{certify}"]
    if facts.calibration is not None:
        found.append(
            f"discreet calibrate {target} --zcdp --delta {numbers.plain(facts.headline.delta)}{relation}"
        )
    if facts.account.people == 1:
        found.append(f"discreet risk explain {target} --prior {facts.prior}{relation}")
    if before is not None:
        other = _target(before.release, "before.toml")
        found.append(f"discreet compare {other} {target}{deltas}{relation}{people}")
    return found


def _target(release: Release, file: str) -> str:
    """The preset's name if it is one, else the file that the page shows at its end."""
    if release.name in preset_names() and load_preset(release.name) == release:
        return shlex.quote(release.name)
    return file
