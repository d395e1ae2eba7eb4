"""What the best adversary makes of a release, in words and tables: how often right, and with what belief.

A row of one count is rounded to the nearest; other rows bound what anyone can do, and are rounded up. A
sentence says who the adversary is, what they see, and what is left out. Sentences are about one prior.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Column,
    Fact,
    Paragraph,
    Part,
    Sentence,
    sentence,
)
from discreet.answers.describing import describes
from discreet.answers.figure import (
    QUIET,
    Axis,
    Dots,
    Item,
    Line,
    Notation,
    Panel,
    Picture,
    Points,
    Rule,
    Symbol,
    Weight,
)
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Style
from discreet.answers.release import claim_note, claim_text, relation
from discreet.budget import AnswerKind, Claim
from discreet.budget.level_names import level_name
from discreet.disclosure.beliefs import QUANTILES
from discreet.disclosure.profile import Risk, RiskProfile
from discreet.numbers import brief

_WORDS = re.compile(r"[A-Z][a-z]+( [a-z]+)*")
_COLUMNS = (
    Column("level", is_text=True),
    Column(key="scope"),
    Column("seen", "what", is_text=True),
    Column(key="prior"),
    Column(key="baseline"),
    Column("right", "accuracy"),
    Column("advantage", "advantage"),
    Column("mean posterior", "expected_posterior"),
    Column("5 % to 95 %"),
    Column(key="posterior_quantiles"),
    Column(key="true_positive_rate"),
    Column(key="positive_predictive_value"),
    Column(key="largest_posterior"),
    Column(key="worst_case"),
)


OF_SUMS = (
    "Of sums, a target who is present adds the whole bound, and is known to: the most telling case. Someone "
    "who adds less is better hidden."
)


@describes(RiskProfile)
def risk_answer(profile: RiskProfile, *, is_held: bool = False) -> Answer:
    """Say how much the best adversary learns: from one count, from each level, from everything.

    `is_held` says that some counts are held exact.

    >>> from discreet.disclosure.profile import risk_profile
    >>> answer = risk_answer(risk_profile({"block group": "0.2465", "block": "0.0992"}, prior="1/2"))
    >>> [row[3] for row in answer.body[3].cells], str(answer.facts[0].value)
    (['0.2801', '0.1777', '0.2802', '0.1777', '0.3227'], '66.14 %')
    """
    record = {
        "name": profile.name,
        "unit": profile.unit,
        "neighbours": profile.neighbours,
        "cases_compared": profile.compared,
        "is_bound": profile.is_bound,
        "answer": profile.claim.document(),
        "rows": _table(profile.rows),
    }
    body = tuple(_body(profile, "whatever else" if is_held else "what"))
    facts = risk_facts(profile.at(profile.priors[0]))
    priors = " ".join(f"--prior {prior_text(prior)}" for prior in profile.priors)
    command = f"discreet risk release {profile.name} {priors}"
    return Answer(
        profile.name,
        record,
        body,
        facts,
        tables={"risks": _saved(profile)},
        command=command,
        figures={"levels": partial(_levels_picture, profile)},
    )


def _levels_picture(profile: RiskProfile) -> Picture:
    """Return how often the best adversary is right, by level, a panel for each prior.

    >>> from discreet.disclosure.profile import risk_profile
    >>> picture = _levels_picture(risk_profile({"block": "0.0992"}, prior=["1/2", "1/10"]))
    >>> [panel.title for panel in picture.panels], picture.title
    (['prior 0.5', 'prior 0.1'], 'rhos: the best any adversary can do')
    """
    panels = tuple(levels_panel(profile.at(prior)) for prior in profile.priors)
    return Picture(panels, f"{profile.name}: the best any adversary can do", shares_y=True)


def levels_panel(profile: RiskProfile) -> Panel:
    """Return how often the best adversary is right, for one prior: from one count, from a level, from all.

    >>> from discreet.disclosure.profile import risk_profile
    >>> [item.label for item in levels_panel(risk_profile({"block": "0.0992"}, prior="1/2")).items]
    ['all its counts', 'its most precise count', 'everything published', 'nothing published']
    """
    whole, risks, every = profile.overall[0], profile.one_count, profile.levels
    kinds = (
        ("all its counts", every, Symbol.SQUARE, 0),
        ("its most precise count", risks, Symbol.CIRCLE, QUIET),
    )
    dots = (
        Dots(
            tuple((row.accuracy, float(number)) for number, row in enumerate(rows)),
            name,
            kind,
            symbol,
            tuple(str(right_percent(row, unit="%")) for row in rows),
        )
        for name, rows, symbol, kind in kinds
    )
    low = min([whole.baseline, *(row.accuracy for row in risks)])
    high = max([whole.accuracy, *(row.accuracy for row in every)])
    spread = max(0.01, high - low)
    x = Axis(
        "right decisions, averaged over the prior",
        max(0.0, low - 0.04 * spread),
        min(1.0, high + 0.06 * spread),
        written=Notation.PERCENT,
    )
    return Panel(
        x,
        Axis(names=tuple(level_name(row.scope) for row in every), is_downward=True),
        (
            *dots,
            Rule(whole.accuracy, "everything published", 1),
            Rule(whole.baseline, "nothing published"),
        ),
        f"prior {prior_text(whole.prior)}",
    )


def right_panel(
    mine: Points, bound: Points, *, prior: float, right: float | None, is_main_path: bool = False
) -> Panel:
    """Return how often decisions are right against the prior: one adversary, the best one, no release.

    >>> best = ((0.5, 0.9), (0.75, 0.95))
    >>> [item.label for item in right_panel((), best, prior=0.5, right=None).items]
    ['best of anyone', 'without the release']
    """
    blind = tuple((p, max(p, 1 - p)) for p, _ in bound or mine)
    items: list[Item] = [Line(mine, "this adversary", 0, Weight.HEAVY)] if mine else []
    items += [
        Line(bound, "best of anyone, main path" if is_main_path else "best of anyone", 1),
        Line(blind, "without the release", QUIET),
    ]
    items += [] if right is None else [Dots(((prior, right),), is_marked=True)]
    y = Axis("right decisions", 0.5, 1.0, written=Notation.PERCENT)
    return Panel(Axis("prior", 0.0, 1.0), y, tuple(items))


def risk_facts(profile: RiskProfile) -> tuple[Fact, ...]:
    """Return the numbers of the headline: right decisions, advantage, mean and median belief; of one prior.

    >>> from discreet.disclosure.profile import risk_profile
    >>> [str(fact.value) for fact in risk_facts(risk_profile({"block": "0.0992"}, prior="1/2"))]
    ['58.89 %', '0.1777', '0.5237', '0.5248']
    """
    (row,) = profile.overall
    note, name = NumberKind.of(profile.claim.kind).value, "Right decisions, so far"
    if profile.is_bound:
        note = "all pairs of paths" if profile.compared > 1 else "the only case"
        name = "Right decisions, at most"
    unaided = Quantity(row.baseline, Style.PERCENT, digits=2)
    return (
        Fact(name, right_percent(row, unit="%"), f"{note}; {unaided} with nothing published"),
        Fact("Advantage", advantage_of(row), f"{note}, over chance"),
        Fact("Mean belief if there", belief_of(row, row.expected), note),
        Fact("Median belief", belief_of(row, row.quantiles[2]), "of targets who are present"),
    )


def _table(rows: Sequence[Risk]) -> AnswerTable:
    return AnswerTable(
        _COLUMNS,
        tuple(
            (
                level_name(row.scope),
                row.scope,
                row.what,
                row.prior,
                row.baseline,
                right_of(row),
                advantage_of(row),
                belief_of(row, row.expected),
                f"{belief_of(row, row.quantiles[0])} to {belief_of(row, row.quantiles[-1])}",
                {brief(chance): mark for chance, mark in zip(QUANTILES, row.quantiles, strict=True)},
                row.named,
                row.predictive,
                row.most,
                row.case,
            )
            for row in rows
        ),
    )


def _saved(profile: RiskProfile) -> AnswerTable:
    """The rows with a column for each quantile."""
    keys = ("scope", "what", "prior", "baseline", "accuracy", "advantage", "expected_posterior")
    marks = (f"quantile_{brief(chance)}" for chance in QUANTILES)
    rows = (
        (r.scope, r.what, r.prior, r.baseline, r.accuracy, r.advantage, r.expected, *r.quantiles)
        for r in profile.rows
    )
    return AnswerTable(tuple(Column(key=key) for key in (*keys, *marks)), tuple(rows))


def _body(profile: RiskProfile, without_noise: str) -> Iterator[Part]:
    who = relation(profile.neighbours, profile.unit, profile.people)
    cases = f"{profile.compared:,} cases compared" if profile.compared > 1 else "one case"
    yield Paragraph(f"{profile.name}: {who}; {cases}.")
    if claim_note(profile.claim):
        yield Paragraph(claim_text(profile.claim))
    for prior in profile.priors:
        part = profile.at(prior)
        yield ""
        yield Paragraph(
            sentence(
                "Prior {prior}: right {often} with nothing published.",
                prior=Quantity(prior, Style.PRIOR),
                often=Quantity(part.overall[0].baseline, Style.TIMES),
            ),
            wraps=False,
        )
        yield _table(part.rows)
    yield ""
    bounds = "bounds, rounded up" if profile.is_bound else "rounded up"
    largest = "Of the cases compared, none has more. " if profile.compared > 1 else ""
    yield (
        "right: how often the best adversary with this prior is right, averaged over the prior. Rows of one "
        "count: someone who knows everyone else in the area. Other rows: someone who knows every other "
        f"record; {bounds}. Posteriors are those of a target who is present. {largest}Left out: records that "
        f"change together with the target's (see --people), and {without_noise} is published without noise."
    )
    if profile.has_sums:
        yield Paragraph(OF_SUMS)


# -- the numbers of a row ----------------------------------------------------------------------------------


def most_of(claim: Claim, value: float, style: Style = Style.SHARE, unit: str = "") -> Claimed:
    """Return a number that nobody exceeds, as far as its claim goes; it is rounded up.

    >>> from discreet.budget import load
    >>> print(most_of(load("sdhc-2020").claim, 0.58884))
    0.5889
    """
    kind = NumberKind.of(claim.kind)
    is_partial = kind is NumberKind.MAIN_PATH and not claim.scope.is_whole
    if kind is NumberKind.EXACT or is_partial:
        kind = NumberKind.AT_MOST
    return Claimed.by(claim, value, style, kind=kind, unit=unit)


def _claimed(row: Risk, value: float, style: Style, unit: str = "") -> Claimed:
    """A number of a row, with what it is true of; it is rounded up, but of one count that is exact."""
    if row.claim is None:
        raise TypeError(f"the row of {row.scope} does not say of what it is true")
    if row.is_one_count and row.claim.kind is AnswerKind.EXACT:
        return Claimed.by(row.claim, value, style, unit=unit)
    return most_of(row.claim, value, style, unit)


def right_of(row: Risk) -> Quantity:
    """Return how often the best guess is right.

    >>> from discreet.disclosure.profile import risk_profile
    >>> profile = risk_profile({"block group": "0.2465", "block": "0.0992"}, prior="1/2")
    >>> [str(right_of(row)) for row in profile.rows]
    ['0.6401', '0.5888', '0.6401', '0.5889', '0.6614']
    """
    return _claimed(row, row.accuracy, Style.SHARE)


def right_percent(row: Risk, *, unit: str = "") -> Quantity:
    """Return the same digits as so many of 100.

    >>> from discreet.disclosure.profile import risk_profile
    >>> print(right_percent(risk_profile({"block": "0.0992"}, prior="1/2").overall[0], unit="%"))
    58.89 %
    """
    return _claimed(row, row.accuracy, Style.HUNDRED, unit)


def times_right(row: Risk) -> Sentence:
    """Write the same digits as so many times in 100.

    >>> from discreet.disclosure.profile import risk_profile
    >>> print(times_right(risk_profile({"block": "0.0992"}, prior="1/2").overall[0]))
    58.89 times in 100
    """
    return sentence("{right} times in 100", right=right_percent(row))


def advantage_of(row: Risk) -> Quantity:
    """Return the advantage over chance, at an even prior.

    >>> from discreet.disclosure.profile import risk_profile
    >>> profile = risk_profile({"block group": "0.2465", "block": "0.0992"}, prior="1/2")
    >>> [f"{advantage_of(row)} of {row.advantage:.6f}" for row in profile.rows[::2]]
    ['0.2801 of 0.280113', '0.2802 of 0.280113', '0.3227 of 0.322630']
    """
    return _claimed(row, row.advantage, Style.SHARE)


def belief_of(row: Risk, value: float) -> Quantity:
    """Return the mean or a quantile of the belief.

    >>> from discreet.disclosure.profile import risk_profile
    >>> one, _, every, *_ = risk_profile({"block group": "0.2465", "block": "0.0992"}, prior="1/2").rows
    >>> [str(belief_of(*asked)) for asked in ((one, 0.56781), (every, 0.56781), (every, 0.99987123))]
    ['0.5678', '0.5679', '0.9999']
    """
    return _claimed(row, value, Style.BELIEF)


def factor_of(row: Risk) -> Quantity:
    """Return the mean belief over the prior.

    >>> from discreet.disclosure.profile import risk_profile
    >>> [str(factor_of(row)) for row in risk_profile({"block": 5000}, prior="1/3000").rows[:2]]
    ['3,000', '3,000']
    """
    return _claimed(row, row.ratio, Style.FACTOR)


# -- words about adversaries -------------------------------------------------------------------------------


def prior_text(prior: float) -> str:
    """Write a prior.

    >>> prior_text(1 / 3), prior_text(1 - 1e-9)
    ('0.333333', '1 - 1e-09')
    """
    return str(Quantity(prior, Style.PRIOR))


def chance_words(prior: Fraction | float) -> str:
    """Say a prior in words.

    >>> chance_words(0.5), chance_words(Fraction(1, 864)), chance_words(0.37), chance_words(1 - 1e-9)
    ('an even chance', 'a chance of 1 in 864', 'a chance of 0.37', 'a chance of 1 - 1e-09')
    """
    value = float(prior)
    if value == 0.5:
        return "an even chance"
    often = round(1.0 / value)
    if 1 < often < 1e12 and math.isclose(1.0 / often, value, rel_tol=1e-9):
        return f"a chance of 1 in {Quantity(often, Style.COUNT)}"
    return f"a chance of {prior_text(value)}"


def place_words(level: str) -> str:
    """Say a level's name as one would of an area.

    >>> place_words("Block_Group"), place_words("STATE, A-G")
    ('block group', 'area of "State, A-G"')
    """
    name = level_name(level)
    if _WORDS.fullmatch(name):
        return name.lower()
    return "country" if name == "US" else f'area of "{name}"'


def _knows(profile: RiskProfile) -> str:
    return f"knows every other record, gives the target {chance_words(profile.overall[0].prior)}"


def worst_case(row: Risk) -> str:
    """Name the case that decides the accuracy.

    >>> from discreet.budget import load
    >>> from discreet.disclosure.profile import risk_profile
    >>> worst_case(risk_profile(load("dhc-2022-08-25"), prior="1/2").overall[0])
    'path 1'
    """
    case = row.case or ()
    return f"path {case[0]}" if len(case) == 1 else f"the pair of paths {case}"


def belief_sentence(profile: RiskProfile) -> Sentence:
    """Say what probability someone who sees everything published gives a target who is present.

    A quantile is the least value that so many have at most: with atoms more of them may, never fewer.

    >>> from discreet.disclosure.profile import risk_profile
    >>> print(belief_sentence(risk_profile({"Block": "0.0992"}, prior="1/5")))
    If the target is present, someone who knows every other record, gives the target a chance of 1 in 5 and \
sees everything published gives it a probability of at most 0.2255 on average, 1.13 times the prior; it is \
0.111 or less for at least one such target in twenty, 0.2164 or less for at least half of them, and 0.3791 \
or less for at least 95 in 100.
    """
    row = profile.overall[0]
    cases = f" (none of the {profile.compared:,} cases has more)" if profile.compared > 1 else ""
    return sentence(
        "If the target is present, someone who {knows} and sees everything published gives it a probability "
        "of {most}{mean} on average, {factor} times the prior; it is {low} or less for at least one such "
        "target in twenty, {middle} or less for at least half of them, and {high} or less for at least 95 in "
        "100{cases}.",
        knows=_knows(profile),
        most="at most " if profile.is_bound else "",
        mean=belief_of(row, row.expected),
        factor=factor_of(row),
        low=belief_of(row, row.quantiles[0]),
        middle=belief_of(row, row.quantiles[2]),
        high=belief_of(row, row.quantiles[4]),
        cases=cases if profile.complete else " (on the main path; others were not looked at)",
    )


def luck_sentence(profile: RiskProfile) -> Sentence:
    """Say how sure a lucky draw of the noise may make an adversary: without bound, unless noise is Laplace.

    >>> from discreet.disclosure.profile import risk_profile
    >>> print(luck_sentence(risk_profile({"Block": "0.0992"}, prior="1/5")))
    After a lucky draw of the noise an adversary may be far surer; nothing bounds that.
    """
    row = profile.overall[0]
    start = "After a lucky draw of the noise an adversary may be "
    if row.most is None:
        return sentence(start + "far surer; nothing bounds that.")
    if not profile.is_bound:
        return sentence(start + "far surer; how much is not said here.")
    return sentence(
        start + "surer, but never gives a probability of more than {most}: this noise bounds it.",
        most=belief_of(row, row.most),
    )


def naming_sentence(profile: RiskProfile) -> Sentence:
    """Say whom an adversary would name, and how often that is right.

    >>> from discreet.disclosure.profile import risk_profile
    >>> print(naming_sentence(risk_profile({"Block": "0.0992"}, prior="1/864")))
    Someone who knows every other record, gives the target a chance of 1 in 864, sees everything published \
and names only those who then seem more likely present than not names fewer than one in a million of those \
who are.
    """
    row = profile.overall[0]
    where = f" (on {worst_case(row)}, where the best guess is best)" if profile.compared > 1 else ""
    start = (
        "Someone who {knows}, sees everything published and names only those who then seem more likely "
        "present than not names "
    )
    if row.named < 1e-6 or row.predictive is None:
        few = "fewer than one in a million of those who are{where}."
        return sentence(start + few, knows=_knows(profile), where=where)
    return sentence(
        start + "{share} of those who are, and is right {times} when naming{where}.",
        knows=_knows(profile),
        share=Quantity(row.named, Style.PEOPLE),
        times=Quantity(row.predictive, Style.TIMES),
        where=where,
    )
