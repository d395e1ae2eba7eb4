"""A release before and after a change, as a report shows it: what is promised, and how the noise differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.answers.account import different_promises, larger_of, proof_words
from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Bullets,
    Cell,
    Column,
    Part,
    Sentence,
    Words,
    joined_words,
    marked,
    sentence,
)
from discreet.answers.calibration import variance_table
from discreet.answers.facts import Facts
from discreet.answers.quantity import Claimed, Quantity, Style
from discreet.answers.risk import right_percent, times_right
from discreet.budget import Release
from discreet.budget.level_names import level_name
from discreet.budget.noise_table import rho_total
from discreet.comparisons.costs import PrivacyRow
from discreet.comparisons.noise_differences import LevelRatio, NoiseDifferences, noise_differences
from discreet.disclosure.profile import DIGITS as RISK_DIGITS
from discreet.numbers import Interval

_MOST_LEVELS = 8
_NOISE = {
    "level": "level",
    "query": "query",
    "variance": "variance before",
    "new_variance": "after",
    "margin95": "margin before",
    "new_margin95": "after",
    "change": "variance change",
}


def changes_section(after: Facts, before: Facts) -> Answer:
    """Say how a release differs from the one before: its epsilon, the best guess, and the noise by level.

    >>> from discreet.budget import load
    >>> from discreet.reports.html import gather
    >>> release = load("dhc-2022-08-25")
    >>> both = (gather(one, certify=False, savings=False) for one in (release.scaled(2), release))
    >>> print(changes_section(*both).body[1].items[-1])
    All 8 levels: 100.0 % more variance in every query.
    """
    noise = noise_differences(before.release, after.release)
    said = sentence(
        "Before: {before}. After: {after}.",
        before=_release_words(before.release),
        after=_release_words(after.release),
    )
    changed = variance_table(noise.lines, named=3, sign="± ")
    both = changed.taking(_NOISE, "Noise of the levels and queries that both releases have")
    names = ("The release before", "the one after")
    items: list[str | Sentence] = [*different_promises(before.account, after.account, names)]
    items += [*_promises(after, before), *_noise_words(noise)]
    body: list[Part] = [said, Bullets(tuple(items)), _numbers(after, before)]
    return Answer("Before and after", body=(*body, both) if both.rows else tuple(body))


def _release_words(release: Release) -> Sentence:
    name = marked(release.name, "name")
    if not release.title:
        return sentence("{name}", name=name)
    return sentence("{name} ({title})", name=name, title=marked(release.title, "name"))


# -- in words ----------------------------------------------------------------------------------------------


def _promises(after: Facts, before: Facts) -> Iterator[Sentence]:
    if after.kind != before.kind:
        yield sentence(
            "The number before is {before}, the one after {after}: they are different kinds of answers.",
            before=before.kind.value,
            after=after.kind.value,
        )
    yield _epsilon_sentence(after, before)
    signs = {larger_of(old.epsilon, new.epsilon) for old, new in zip(before.rows, after.rows, strict=True)}
    if {1, -1} <= signs:
        yield sentence("At other deltas it is the reverse: see the table.")
    if after.risk.is_bound and before.risk.is_bound:
        then, now = times_right(before.guess), times_right(after.guess)
        same = str(then) == str(now)
        yield sentence(
            "The best guess of any adversary is right at most {now}, {then}.",
            now=now,
            then="before and after" if same else sentence("previously {then}", then=then),
        )


def _epsilon_sentence(after: Facts, before: Facts) -> Sentence:
    row, was = after.headline, before.headline
    then, now = Claimed.by(before.account.claim, was.epsilon), Claimed.by(after.account.claim, row.epsilon)
    delta = Quantity(row.delta, Style.GIVEN)
    if str(then) == str(now):
        text = "Epsilon at delta {delta} is the same to the digits shown, {now}."
        return sentence(text, delta=delta, now=now)
    more, gap = row.epsilon > was.epsilon, abs(row.epsilon - was.epsilon)
    share = Quantity(gap / was.epsilon, Style.PERCENT) if was.epsilon > 0 else None
    return sentence(
        "Epsilon at delta {delta} {moves} from {then} to {now}, by {gap}{share}: the release promises {less} "
        "privacy.",
        delta=delta,
        moves="rises" if more else "falls",
        then=then,
        now=now,
        gap=Quantity(gap, digits=3),
        share="" if share is None else sentence(" ({share})", share=share),
        less="less" if more else "more",
    )


def _noise_words(noise: NoiseDifferences) -> Iterator[Sentence]:
    changed = [level for level in noise.levels if not level.is_one]
    same = [level.level for level in noise.levels if level.is_one]
    if len(changed) > 1 and not same and len({(level.low, level.high) for level in changed}) == 1:
        many = Quantity(len(changed), Style.COUNT)
        both = " that both have" if noise.gone or noise.new else ""
        yield sentence("All {many} levels{both}: {how}", many=many, both=both, how=_ratio_words(changed[0]))
    else:
        for level in changed:
            name = level_name(level.level)
            yield sentence("Level “{name}”: {how}", name=name, how=_ratio_words(level))
    if same:
        every = "every level that both have" if noise.gone or noise.new else "every level"
        where = every if len(same) == len(noise.levels) else _quoted(same)
        yield sentence("Noise unchanged at {where}.", where=where)
    for word, left in (("No longer there", noise.gone), ("New", noise.new)):
        if left:
            levels = list(dict.fromkeys(level for level, _ in left))
            yield sentence(
                "{word}: {many} {queries} at {levels}{others}.",
                word=word,
                many=Quantity(len(left), Style.COUNT),
                queries="query" if len(left) == 1 else "queries",
                levels=_quoted(levels[:_MOST_LEVELS]),
                others=" and others" if len(levels) > _MOST_LEVELS else "",
            )


def _quoted(levels: Sequence[str]) -> str:
    return ", ".join(f"“{level_name(level)}”" for level in levels)


def _ratio_words(level: LevelRatio) -> Sentence:
    if level.low == level.high:
        part = Quantity(float(abs(1 - level.low)), Style.PERCENT)
        which = "more" if level.low > 1 else "less"
        return sentence("{part} {which} variance in every query.", part=part, which=which)
    return sentence(
        "variances times {low} to {high}, depending on the query.",
        low=Quantity(float(level.low), digits=4),
        high=Quantity(float(level.high), digits=4),
    )


# -- the headline numbers ----------------------------------------------------------------------------------


def _numbers(after: Facts, before: Facts) -> AnswerTable:
    row, was = after.headline, before.headline
    rhos = [rho_total(facts.release) for facts in (before, after)]
    gap = None if None in rhos else rhos[1] - rhos[0]  # type: ignore[operator]
    rows: list[tuple[Cell, ...]] = [
        _epsilon_cells(after, before, old, new) for old, new in zip(before.rows, after.rows, strict=True)
    ]
    delta = Quantity(row.delta, Style.GIVEN)
    rows += [
        (
            sentence("zCDP epsilon, delta {delta}", delta=delta),
            *(Quantity(facts.zcdp) for facts in (was, row)),
            Quantity(row.zcdp - was.zcdp, Style.CHANGE),
        ),
        _guess_cells(after, before),
        (
            "Total rho",
            *(None if rho is None else Quantity(rho, Style.FRACTION) for rho in rhos),
            None if gap is None else Quantity(float(gap), Style.CHANGE),
        ),
    ]
    columns = (Column("number", is_text=True), *map(Column, ("before", "after", "change")))
    return AnswerTable(columns, tuple(rows), "The headline numbers")


def _epsilon_cells(after: Facts, before: Facts, old: PrivacyRow, new: PrivacyRow) -> tuple[Cell, ...]:
    head = after.kind.column("epsilon").capitalize()
    return (
        sentence("{head}, delta {delta}", head=head, delta=Quantity(new.delta, Style.GIVEN)),
        _proved(before, Claimed.by(before.account.claim, old.epsilon), old.certified, "ε"),
        _proved(after, Claimed.by(after.account.claim, new.epsilon), new.certified, "ε"),
        Quantity(new.epsilon - old.epsilon, Style.CHANGE),
    )


def _guess_cells(after: Facts, before: Facts) -> tuple[Cell, ...]:
    then, now = right_percent(before.guess), right_percent(after.guess)
    return (
        f"Best guess right, times in 100{', at most' if after.risk.is_bound else ''}",
        _proved(before, then, before.guess.certified, "chance", RISK_DIGITS),
        _proved(after, now, after.guess.certified, "chance", RISK_DIGITS),
        # of the numbers shown, which are rounded up
        Quantity(float(str(now)) - float(str(then)), Style.CHANGE, digits=2)
        if str(now) != str(then)
        else Quantity(0, Style.COUNT),
    )


def _proved(
    facts: Facts, value: Quantity, box: Interval | None, name: str, digits: int | None = None
) -> Words:
    return value if box is None else joined_words([value, proof_words(facts.costs, box, name, digits)])
