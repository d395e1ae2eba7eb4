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

from discreet.budget.answer import AnswerKind
from discreet.budget.levels import level_name
from discreet.numbers import at_most, times
from discreet.risk.profile import Risk, RiskProfile

LOPSIDED = 0.8
"""From this share of right guesses without any release on, the page leads with beliefs."""

_WORDS = re.compile(r"[A-Z][a-z]+( [a-z]+)*")
_LEFT_OUT = "records that change together with the target's, and what is published without noise"


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
right at most 58.9 times in 100, by whatever method.
    """
    (row,) = profile.overall
    who = f"Someone who {_knows(profile)}"
    if not profile.complete:
        return (
            f"{who} is right {times(row.accuracy)} if the target is on the main path; other paths were not "
            "looked at, so this is no bound."
        )
    if not profile.is_bound:
        return (
            f"{who} is right {times(row.accuracy)} as far as the release is modelled; not all of it is, so "
            "this is no bound."
        )
    return f"{who} is right at most {times(row.accuracy, upper=True)}, by whatever method."


def belief_sentence(profile: RiskProfile) -> str:
    """Say what someone who sees everything published comes to believe of a target who is present."""
    (row,) = profile.overall
    most = "at most " if profile.is_bound else ""
    where = "where the release tells most"
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
    (whole,) = profile.overall
    who = f"one {profile.unit}" if profile.people == 1 else f"{profile.people} records that change together"
    chance = chance_words(whole.prior)
    lopsided = whole.baseline >= LOPSIDED
    worst = max(profile.one_count, key=lambda row: row.advantage)
    nothing = (
        f"- *With nothing published*, someone who gives the target {chance} and says the likelier answer is "
        f"right {times(whole.baseline)}."
    )
    everything = f"- *From everything.* {right_sentence(profile)} This leaves out {_LEFT_OUT}."
    if lopsided:
        short = [
            f"- *What changes.* {belief_sentence(profile)} This leaves out {_LEFT_OUT}.",
            f"- *Whom they would name.* {naming_sentence(profile)} This leaves out {_LEFT_OUT}.",
            f"- *From one count.* {_one_belief(worst, chance, profile.unit)}",
            f"{nothing} That is why the next number says little at this prior.",
            everything,
        ]
    else:
        short = [
            nothing,
            f"- *From one count.* {_one_count(worst, chance, profile.unit)}",
            everything,
            f"- *How sure they become.* {belief_sentence(profile)} This leaves out {_LEFT_OUT}.",
        ]
    levels = [
        f"- {_level(one, level, chance, profile, lopsided)}"
        for one, level in zip(profile.one_count, profile.levels, strict=True)
    ]
    return "\n".join(
        [
            f"# What can be learned about {who} from {profile.name}",
            "",
            *([title, ""] if title else []),
            f"This page is about {who}, here called the target, and about one question: {_question(profile)} "
            f"If it is, the target is *present*. Beforehand the adversaries of this page give that {chance}.",
            "",
            "## In short",
            "",
            *short,
            "",
            "## Level by level",
            "",
            *levels,
            "",
            f"Levels are those of the main path. Left out: other levels, {_LEFT_OUT}.",
            "",
            "## What this page leaves out",
            "",
            *(f"- {text}" for text in _limits(profile)),
            "",
            "## The numbers",
            "",
            *_table(profile),
            "",
        ]
    )


def _knows(profile: RiskProfile, *, last: bool = True) -> str:
    """What the adversary who sees everything knows."""
    known = f"knows every other record, gives the target {chance_words(profile.overall[0].prior)}"
    return f"{known} and sees everything published" if last else known


def _question(profile: RiskProfile) -> str:
    one = profile.people == 1
    record = "is the target's record" if one else "are the target's records"
    other = f"that of another {profile.unit} in its place" if one else "others in their place"
    return f"{record} in the data, or {other if profile.neighbours == 'bounded' else 'not'}?"


def _others(unit: str) -> str:
    return "everyone else" if unit == "person" else f"every other {unit}"


def _sees(row: Risk, unit: str) -> str:
    """Who looks at one count."""
    area = place_words(row.scope)
    owner = area.partition(" of ")[0]  # the area's count, not the area of "STATE, A-G"'s
    what = _plain(row.query)
    count = f"the {owner}'s count{'' if what == 'one count' else f' ({what})'}"
    return (
        f"Someone who knows {_others(unit)} in the {area}, gives the target {{chance}} and sees only {count}"
    )


def _one_count(row: Risk, chance: str, unit: str) -> str:
    who = _sees(row, unit).format(chance=chance)
    return f"{who} is right {times(row.accuracy)}. Every other count is left out."


def _one_belief(row: Risk, chance: str, unit: str) -> str:
    who = _sees(row, unit).format(chance=chance)
    return (
        f"{who} comes to believe in a present target with a chance of {_c(row.expected)} on average, "
        f"{row.ratio:.3g} times the prior. Every other count is left out."
    )


def _level(one: Risk, level: Risk, chance: str, profile: RiskProfile, lopsided: bool) -> str:
    area = place_words(one.scope)
    first = f"*{_plain(level_name(one.scope))}.* Someone who knows {_others(profile.unit)} in the {area}"
    second = f"someone who knows every other record and gives the target {chance}"
    if lopsided:
        return (
            f"{first} and gives the target {chance} comes to believe in a present one with a chance of "
            f"{_c(one.expected)} on average from its most telling count, {one.ratio:.3g} times the prior; "
            f"{second}, with {_c(level.expected)} from all counts of this level, {level.ratio:.3g} times."
        )
    return (
        f"{first} and gives the target {chance} is right {times(one.accuracy)} from its most telling count; "
        f"{second} is right at most {times(level.accuracy, upper=True)} from all counts of this level."
    )


def _limits(profile: RiskProfile) -> list[str]:
    together = (
        "Records that change together. Each number is about one record. Two people who move together change "
        "two, and someone who knows that they do learns more than this page says; ask for `--people 2`."
    )
    if profile.people > 1:
        together = f"Records that change together beyond the {profile.people} that this page is about."
    how = "replaced by another" if profile.neighbours == "bounded" else "added or removed"
    many = f"all {profile.compared} cases" if profile.compared > 1 else "the one case"
    coverage = f"The bound covers {many} of one {profile.unit} {how}, with the noise that the release has."
    if not profile.complete:
        coverage = "Paths other than the main one. Leave out `--main-only` to have a bound."
    elif profile.claim.kind is not AnswerKind.EXACT:
        coverage = f"{coverage} {profile.claim}"
    return [
        "Luck. The numbers are averages over the noise, and over the answers yes and no as the adversary "
        "expects them. After a lucky draw of the noise an adversary may be far surer; nothing bounds that.",
        together,
        "Invariants. Whatever is published without noise, such as the number of people in each state, may "
        "tell more about the target. It is not in these numbers.",
        "Adversaries who know less. Someone who knows less about records that have nothing to do with the "
        "target's does worse than this page says; someone who knows how they depend on it may do better.",
        "What follows about the target from published statistics whether or not the target is in the data, "
        "for instance that a disease is common in a town.",
        coverage,
    ]


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


def _table(profile: RiskProfile) -> list[str]:
    lines = [
        "| adversary sees | right, of 100 | advantage | mean posterior if present | named, of 100 present |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in profile.rows:
        what = _plain(row.what if row.scope == "overall" else f"{level_name(row.scope)}: {row.what}")
        exact = row in profile.one_count
        right = f"{100 * row.accuracy:.2f}" if exact else at_most(row.accuracy, percent=True)
        lines.append(
            f"| {what} | {right} | {row.advantage:.4f} | {row.expected:.4g} | {100 * row.named:.3g} |"
        )
    bounds = "every count and of everything are" if profile.is_bound else "every count are"
    return [*lines, "", f"Rows of {bounds} bounds, rounded up."]
