"""The sentences of a page: each names the adversary, the unit and the direction in which it was rounded."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.numbers import Interval, decimal
from discreet.report import words
from discreet.report.html.markup import Markup, el, join, markup
from discreet.risk.explain import times as chances

if TYPE_CHECKING:
    from discreet.report.html.facts import Facts


def times(value: float) -> str:
    """Write how often someone is right at most, rounded up.

    >>> times(0.94239), times(0.5), times(0.99931)
    ('94.3 times in 100', '50 times in 100', '99.931 times in 100')
    """
    return chances(value, upper=True)


def about(value: float) -> str:
    """Write how often something happens, to the nearest; for a share that is not a bound.

    >>> about(0.2049), about(0.0003), about(0.001)
    ('20 times in 100', '3 times in 10,000', 'once in 1,000')
    """
    for many in (100, 1000, 10_000, 100_000, 1_000_000):
        if value >= 1 / many and many * value < many - 0.5:
            count = round(many * value)
            return f"once in {many:,}" if count == 1 else f"{count:,} times in {many:,}"
    return "less than once in 1,000,000" if value < 0.5 else "nearly every time"


def at_least(value: float) -> str:
    """Write how often something happens at least, rounded down.

    >>> at_least(0.20497), at_least(0.0308), at_least(0.0)
    ('20 times in 100', '3 times in 100', 'never')
    """
    for many in (100, 1000, 10_000, 100_000, 1_000_000):
        count = math.floor(many * value + 1e-9)
        if count >= 1:
            return f"once in {many:,}" if count == 1 else f"{count:,} times in {many:,}"
    return "less than once in 1,000,000" if value > 0 else "never"


def small(delta: float | Fraction) -> Markup:
    """Write a delta: as a power of ten where it is one.

    >>> small(1e-10), small(Fraction(1, 3))
    ('10<sup>−10</sup>', '0.333333')
    """
    digits, _, exponent = f"{float(delta):.5e}".partition("e")
    power = Markup(f"10<sup>−{-int(exponent)}</sup>")
    if float(digits) == 1 and int(exponent) < -2:
        return power
    if int(exponent) < -4:
        return join([f"{float(digits):g} × ", power])
    return markup(words.plain(delta))


def enclosed(box: Interval, symbol: str, digits: int | None = None) -> Markup:
    """Write a proof: both ends rounded outward, as the command line prints them."""
    lower, upper = (end.replace("E", "e") for end in words.interval(box, digits))
    ends = (el("span", text, class_="whole") for text in (f"{lower} ≤ {symbol}", f"≤ {upper}"))
    return el("span", join(ends, " "), class_="proof")


def safe(value: Interval | float) -> str:
    """Write a number that may be promised: the upper end, rounded up to the digits of a result.

    >>> safe(Interval(Fraction("24.4565144"), Fraction("24.4565145")))
    '24.4566'
    """
    upper = value.upper if isinstance(value, Interval) else Fraction(value)
    return decimal(upper, digits=words.DIGITS, down=False)


def whose(facts: Facts) -> str:
    """Say whose data are protected: one person, 3 households."""
    return words.records(facts.account.unit, facts.account.people)


def minus(text: str) -> str:
    """Write differences with a minus sign instead of a hyphen.

    >>> minus("-1.8841 (-7.2 %)"), minus("-6.7e-10")
    ('−1.8841 (−7.2 %)', '−6.7e-10')
    """
    return re.sub(r"(?<![0-9a-zA-Z])-(?=[0-9])", "−", text)


def possibilities(facts: Facts) -> str:
    """Say what the adversary wonders about."""
    unit, people = facts.account.unit, facts.account.people
    if facts.account.neighbours == "unbounded":
        return (
            f"whether this {unit} is in the data at all"
            if people == 1
            else (f"whether these {people} {unit}s are in the data at all")
        )
    if people == 1:
        return f"which of two possible records this {unit} has"
    return f"which of two possible sets of records these {people} {unit}s have"


def odds(prior: Fraction) -> str:
    """Say what an adversary thinks beforehand of two possibilities.

    >>> odds(Fraction(1, 2)), odds(Fraction(1, 10))
    ('takes both answers for equally likely', 'gives one of the two answers a chance of 1/10')
    """
    if prior == Fraction(1, 2):
        return "takes both answers for equally likely"
    return f"gives one of the two answers a chance of {prior}"


def headline(facts: Facts) -> Markup:
    """Return the one sentence that the page is about."""
    row = facts.headline
    return join(
        [
            f"Everything in this release together costs {whose(facts)} an exact epsilon of ",
            el("strong", words.number(row.epsilon)),
            " at delta ",
            small(row.delta),
            f": whoever knows all other records, asks {possibilities(facts)} and {odds(facts.prior)} ",
            "will be right at most ",
            el("strong", times(facts.guess.upper)),
            ", by whatever method.",
        ]
    )


def against_zcdp(facts: Facts) -> Markup:
    """Say how the exact number compares to the usual conversion."""
    row = facts.headline
    gap = row.zcdp - row.epsilon
    if row.epsilon <= 0:
        return markup("Delta alone covers all that can be lost; the usual conversion does not see that.")
    return join(
        [
            "The usual conversion (zero-concentrated differential privacy, zCDP) says ",
            f"{words.number(row.zcdp)} for the same noise. The difference of {words.number(gap, 3)} ",
            f"({words.percent(gap / row.zcdp)}) is no privacy gained or lost: it is what the conversion ",
            "cannot see.",
        ]
    )


def risk_sentences(facts: Facts) -> list[Markup]:
    """Return what the numbers mean for one record, each sentence about a named adversary."""
    before = max(facts.prior, 1 - facts.prior)
    unit = facts.account.unit
    everything = join(
        [
            el("strong", "Someone who knows everything else. "),
            f"This adversary knows every other record in full, asks {possibilities(facts)} and "
            f"{odds(facts.prior)}. Without the release the best guess is right {about(float(before))}. "
            "With everything published, unlimited computing and any method, known or not, it is right "
            f"at most {times(facts.guess.upper)}, on average over both possibilities and over the noise.",
        ]
    )
    counts = facts.risk.one_count
    best, last = max(counts, key=lambda one: one.accuracy), counts[-1]
    single = join(
        [
            el("strong", "Someone who looks at one count. "),
            f"This adversary knows everyone else who is counted there, asks whether this {unit} is, and "
            f"{odds(facts.prior)}. From the most telling single count of level “{last.scope}” the guess "
            f"is right {about(last.accuracy)}",
            "."
            if best.scope == last.scope
            else f"; from that of level “{best.scope}”, the most telling of all, {about(best.accuracy)}.",
        ]
    )
    misses = next(one for one in facts.misses if one.alpha == Fraction(1, 20))
    accuser = [
        el("strong", "Someone who must not accuse wrongly. "),
        "With false alarms in at most 5 of 100 cases, by whatever method, this adversary misses the truth "
        f"at least {at_least(misses.exact)}.",
    ]
    if at_least(misses.zcdp) != at_least(misses.exact):
        accuser.append(f" The usual conversion can promise only {at_least(misses.zcdp)}.")
    return [everything, single, join(accuser)]
