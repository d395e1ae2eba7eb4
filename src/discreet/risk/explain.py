"""One page in plain words: what can be learned about one person, each sentence with its adversary.

A sentence says who the adversary is, what they see, and what is left out. Where one answer is far likelier
than the other beforehand, "right 99 times in 100" says nothing, since saying no of everyone is right as
often; the page then leads with what changes: the belief in a target who is present, and how often one who is
named is present.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from importlib.resources import files

from discreet.budget.levels import level_name
from discreet.numbers import at_most, times
from discreet.risk.profile import RiskProfile

LOPSIDED = 0.8
"""From this share of right guesses without any release on, the page leads with beliefs."""

_WORDS = re.compile(r"[A-Z][a-z]+( [a-z]+)*")


def chance_words(prior: Fraction | float) -> str:
    """Say a prior in words.

    >>> chance_words(0.5), chance_words(Fraction(1, 864)), chance_words(0.37)
    ('an even chance', 'a chance of 1 in 864', 'a chance of 0.37')
    """
    value = float(prior)
    if value == 0.5:
        return "an even chance"
    often = round(1.0 / value)
    if often > 1 and math.isclose(1.0 / often, value, rel_tol=1e-9):
        return f"a chance of 1 in {often:,}"
    return f"a chance of {value:.6g}"


def place_words(level: str) -> str:
    """Say a level's name as one would of an area.

    >>> place_words("Block_Group"), place_words("STATE, A-G")
    ('block group', 'area of "State, A-G"')
    """
    name = level_name(level)
    if _WORDS.fullmatch(name):
        return name.lower()
    return "country" if name == "US" else f'area of "{_plain(name)}"'


def right_sentence(profile: RiskProfile) -> str:
    """Say how often the best guess with everything published is right; the profile holds one prior.

    >>> from discreet.risk.profile import risk_profile
    >>> print(right_sentence(risk_profile({"Block": "0.0992"}, prior="1/2")))
    Someone who knows every other record, gives the target an even chance and sees everything published is \
right at most 58.9 times in 100, whatever the method.
    """
    (row,) = profile.overall
    who = f"Someone who {_knows(profile)}"
    if not profile.complete:
        return (
            f"{who} is right {times(row.accuracy)} if the target is on the main path; other paths were not "
            "looked at, so this is not a bound."
        )
    if not profile.is_bound:
        return (
            f"{who} is right {times(row.accuracy)} as far as the release is modelled; not all of it is, so "
            "this is not a bound."
        )
    return f"{who} is right at most {times(row.accuracy, upper=True)}, whatever the method."


def belief_sentence(profile: RiskProfile) -> str:
    """Say what someone who sees everything published comes to believe of a target who is present."""
    (row,) = profile.overall
    most = "at most " if profile.is_bound else ""
    where = "where the release reveals most"
    if not profile.complete:
        where = "on the main path; others were not looked at"
    return (
        f"If the target is present, someone who {_knows(profile)} comes to believe it with a chance of "
        f"{most}{_c(row.expected)} on average, {row.ratio:.3g} times the "
        f"prior; for one such target in twenty {_c(row.quantiles[0])} or less, for half of them "
        f"{_c(row.quantiles[2])} or less, for one in twenty more than {_c(row.quantiles[4])} ({where})."
    )


def naming_sentence(profile: RiskProfile) -> str:
    """Say whom an adversary would name, and how often rightly."""
    (row,) = profile.overall
    who = (
        f"Someone who {_knows(profile, last=False)}, sees everything published and names only those whom "
        "they then hold likelier than not to be present"
    )
    if row.named < 1e-6 or row.predictive is None:
        return f"{who} names fewer than one in a million of those who are."
    return (
        f"{who} names {_share(row.named)} of those who are, and is right {times(row.predictive)} when naming."
    )


def explain_profile(profile: RiskProfile, *, title: str = "") -> str:
    """Return the page, as Markdown; the profile must hold one prior.

    >>> from discreet.risk.profile import risk_profile
    >>> page = explain_profile(risk_profile({"Block": "0.0992"}, prior="1/2"))
    >>> "is right 59 times in 100" in page
    True
    """
    from jinja2 import Environment, StrictUndefined

    (whole,) = profile.overall
    text = files("discreet.risk").joinpath("explain.md.jinja").read_text(encoding="utf-8")
    made = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {"times": times, "at_most": at_most, "zip": zip, "chance": _c}
    made.filters |= {"level": level_name, "place": place_words, "plain": _plain}
    made.globals |= {"right": right_sentence, "belief": belief_sentence, "naming": naming_sentence}
    made.globals |= {"LOPSIDED": LOPSIDED}
    page = made.from_string(text).render(p=profile, title=title, prior=chance_words(whole.prior))
    return f"{page}\n"


def _knows(profile: RiskProfile, *, last: bool = True) -> str:
    """What the adversary who sees everything knows."""
    known = f"knows every other record, gives the target {chance_words(profile.overall[0].prior)}"
    return f"{known} and sees everything published" if last else known


def _plain(name: str) -> str:
    """A name in which Markdown sees no emphasis."""
    return name.replace("*", r"\*").replace("_", r"\_")


def _share(chance: float) -> str:
    """Write a share of people.

    >>> _share(0.0315), _share(0.00002)
    ('3.1 in 100', '2 in 100,000')
    """
    for whole in (100, 1000, 10_000, 100_000):
        if chance * whole >= 1:
            return f"{chance * whole:.2g} in {whole:,}"
    return f"{chance * 1e6:.2g} in 1,000,000"


def _c(chance: float) -> str:
    """A chance in three digits, or as many as it takes to tell it from one.

    >>> _c(0.81449), _c(0.99987123), _c(1.0)
    ('0.814', '0.99987', '0.999999999999')
    """
    if chance < 0.9995:
        return f"{chance:.3g}"
    places = min(12, 1 + math.ceil(-math.log10(max(1.0 - chance, 1e-12))))
    return f"{min(math.floor(chance * 10**places) / 10**places, 1.0 - 1e-12):.{places}f}"
