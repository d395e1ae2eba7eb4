"""What a perturbation table says of itself and what one cell with it costs, in words and tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import log

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Bullets,
    Caution,
    Column,
    Fact,
    Paragraph,
    Part,
    Sentence,
    sentence,
)
from discreet.answers.describing import describes
from discreet.answers.quantity import NumberKind, Quantity, Rounding, Style
from discreet.cellkey.check import PerturbationCheck, RangeCost, RowCheck, StepCost
from discreet.cellkey.table import PerturbationTable
from discreet.numbers import float_up

SHOWN = 12
"""Rows of a table that a page shows; machines get all."""

SECRET = (
    "These numbers hold for record keys that are uniform, independent and secret. Keys that others can work "
    "out protect nothing: delta is then 1. Default keys are of that kind: cellKey seeds its generator from a "
    "hash of the data, and the helper of the ONS program uses the seed 2025, or the identifier modulo 4096."
)

_ROWS = (
    Column("count", "count"),
    Column("mean", "mean"),
    Column("variance", "variance"),
    Column("noise from", "lowest"),
    Column("to", "highest"),
    Column("monotone", is_text=True),
    Column(key="monotone"),
    Column(key="stated_sum"),
    Column(key="largest_deviation"),
)


def delta_number(delta: Fraction) -> Quantity:
    """Return a delta as a quantity, rounded up: a smaller one would be no bound.

    >>> print(delta_number(Fraction(1, 3)), delta_number(Fraction(1)), delta_number(Fraction(0)))
    0.3334 1 0
    """
    if delta in (0, 1):
        return Quantity(int(delta), Style.BRIEF)
    return Quantity(float_up(delta), rounding=Rounding.UP, digits=4)


def least_delta(delta: Fraction) -> Quantity:
    """Return a delta below which none holds, rounded down.

    >>> print(least_delta(Fraction(2, 3)))
    0.6666
    """
    if delta in (0, 1):
        return Quantity(int(delta), Style.BRIEF)
    return Quantity(float(delta), rounding=Rounding.DOWN, digits=4)


def epsilon_quantity(ratio: Fraction | None, kind: NumberKind = NumberKind.EXACT) -> Quantity:
    """Return epsilon from e^epsilon; where there is none, no epsilon is large enough.

    >>> print(epsilon_quantity(Fraction(1)), epsilon_quantity(None))
    0 none
    """
    if ratio is None:
        return Quantity(None, missing="none")
    return Quantity(log(ratio.numerator) - log(ratio.denominator), rounding=kind.rounding, digits=6)


def given(value: Fraction) -> Quantity:
    """Return a number that was asked for."""
    return Quantity(value, Style.GIVEN)


def key_words(table: PerturbationTable) -> str:
    """Say what the keys of a table are.

    >>> from discreet.cellkey import perturbation_table
    >>> key_words(perturbation_table({1: {0: 1}}, modulus=256))
    'integers from 0 to 255'
    """
    if table.modulus is None:
        return "real numbers from 0 to 1"
    folded = ", whose four bytes are XORed" if table.folded else ""
    return f"integers from 0 to {table.modulus - 1}{folded}"


@describes(PerturbationCheck)
def perturbation_check_answer(check: PerturbationCheck) -> Answer:
    """Say whether a table keeps its rules, and what one cell costs.

    >>> from discreet.cellkey import check_table, entropy_table
    >>> answer = perturbation_check_answer(check_table(entropy_table(2, 1)))
    >>> print(answer.summary)
    D2V1: one cell has delta 0.6336 at epsilon 1, and 0.6336 however large epsilon is
    """
    table, rows, costs = check.table, _rows(check.rows), _costs(check)
    anywhere = check.anywhere
    first, certain = delta_number(anywhere.deltas[0].upper), delta_number(anywhere.most_certain.certain)
    record = {
        "table": table.name,
        "origin": table.origin,
        "keys": key_words(table),
        "keying": check.keying,
        "modulus": table.modulus,
        "last_row": table.last,
        "bound": check.bound,
        "small": check.small,
        "unbiased": check.is_unbiased,
        "variance": Quantity(check.variance, Style.BRIEF),
        "monotone": check.is_monotone,
        "negative_counts": list(check.negative),
        "without_noise": list(check.deterministic),
        "always_told_apart": [[count, count + 1] for count in check.given_away],
        "rows": rows,
        "costs": costs,
        "delta_at_any_epsilon": {
            "value": certain,
            "exact": str(anywhere.most_certain.certain),
            "between": [anywhere.most_certain.count, anywhere.most_certain.count + 1],
        },
        "epsilons": [
            {"delta": given(delta), "epsilon": epsilon_quantity(ratio)}
            for delta, ratio in zip(check.asked, check.ratios, strict=True)
        ],
        "tradeoff": [
            {"alpha": given(alpha), "beta": Quantity(error, digits=6)}
            for alpha, error in zip(check.alphas, check.errors, strict=True)
        ],
        "prior": given(check.prior),
        "best_guess_right": Quantity(check.accuracy, digits=6),
        "keys_must_be": SECRET,
    }
    return Answer(
        table.name,
        record,
        tuple(_body(check, costs)),
        (
            Fact(f"delta at epsilon {given(check.epsilons[0])}", first, "one cell, any count"),
            Fact("delta at any epsilon", certain, "the chance of certainty"),
            Fact("best guess right", Quantity(check.accuracy, Style.PERCENT), f"prior {given(check.prior)}"),
        ),
        cautions=(Caution(SECRET),),
        tables={"rows": rows, "costs": costs},
        command=f"discreet cellkey check {shlex.quote(table.name)}",
        summary=sentence(
            "{name}: one cell has delta {first} at epsilon {epsilon}, and {certain} however large epsilon is",
            name=table.name,
            first=first,
            epsilon=given(check.epsilons[0]),
            certain=certain,
        ),
    )


def _rows(rows: Sequence[RowCheck]) -> AnswerTable:
    return AnswerTable(
        _ROWS,
        tuple(
            (
                row.count,
                Quantity(row.mean, Style.BRIEF, digits=3),
                Quantity(row.variance, Style.BRIEF, digits=4),
                row.lowest,
                row.highest,
                "yes" if row.is_monotone else "no",
                row.is_monotone,
                None if row.stated_sum is None else Quantity(row.stated_sum, Style.BRIEF, digits=9),
                None if row.deviation is None else Quantity(row.deviation, Style.BRIEF, digits=3),
            )
            for row in rows
        ),
    )


def _costs(check: PerturbationCheck) -> AnswerTable:
    columns = [Column("counts", "counts", is_text=True)]
    for epsilon in check.epsilons:
        columns += [Column(f"delta at epsilon {given(epsilon)}"), Column("between", is_text=True)]
    columns += [Column("delta at any", "delta_at_any"), Column("between", is_text=True)]
    columns += [Column(key="between_at_any"), Column(key="deltas")]
    ranges = (
        ("any", check.anywhere),
        ("1 or more", check.occupied),
        (f"{check.large.smallest} or more", check.large),
    )
    return AnswerTable(tuple(columns), tuple(_cost(name, cost, check.epsilons) for name, cost in ranges))


def _cost(name: str, cost: RangeCost, epsilons: Sequence[Fraction]) -> tuple[object, ...]:
    certain, cells, deltas = cost.most_certain, list[object](), []
    for epsilon, delta, step in zip(epsilons, cost.deltas, cost.worst, strict=True):
        number, between = delta_number(delta.upper), [step.count, step.count + 1]
        cells += [number, _between(step)]
        deltas.append({"epsilon": given(epsilon), "delta": number, "between": between})
    at_any = [delta_number(certain.certain), _between(certain), [certain.count, certain.count + 1]]
    return (name, *cells, *at_any, deltas)


def _between(step: StepCost) -> str:
    return f"{step.count} and {step.count + 1}"


def _body(check: PerturbationCheck, costs: AnswerTable) -> Iterator[Part]:
    table = check.table
    yield Paragraph(
        f"{table.name}: a perturbation table with rows for counts {table.rows[0].count} to {table.last}; "
        f"keys are {key_words(table)}."
    )
    yield Bullets(tuple(_rules(check)))
    shown = check.rows if len(check.rows) <= SHOWN else (*check.rows[: SHOWN - 2], *check.rows[-2:])
    yield _rows(shown)
    if len(check.rows) > SHOWN:
        yield f"The first {SHOWN - 2} rows and the last two; --json has all {len(check.rows)}."
    yield ""
    yield Paragraph("What one record more or less in one cell costs, exactly:")
    yield costs
    yield ""
    yield Paragraph(_certainty(check))
    for delta, ratio in zip(check.asked, check.ratios, strict=True):
        yield Paragraph(_epsilon(check, delta, ratio))
    yield Paragraph(_tests(check))
    if check.given_away:
        yield Paragraph(_given_away(check))


def _rules(check: PerturbationCheck) -> Iterator[Sentence | str]:
    yield f"Noise lies within {check.bound} (D)."
    yield (
        f"Published counts from 1 to {check.small} do not occur (js is {check.small})."
        if check.small
        else "Every small count can be published (js is 0)."
    )
    biased = [row for row in check.rows if not row.is_unbiased]
    if biased:
        worst = max(biased, key=lambda row: abs(row.mean))
        yield sentence(
            "Biased: the noise of count {count} has mean {mean}, the largest of {many} counts.",
            count=str(worst.count),
            mean=Quantity(worst.mean, Style.BRIEF, digits=3),
            many=str(len(biased)),
        )
    else:
        yield "Unbiased: the noise of every count has mean 0."
    least = min((row for row in check.rows if row.count), key=lambda row: row.variance, default=None)
    if least is not None and least.variance < check.variance * Fraction(999, 1000):
        yield sentence(
            "The variance is at most {most}; it is an upper bound, and that of count {count} is {least}.",
            most=Quantity(check.variance, Style.BRIEF, digits=4),
            count=str(least.count),
            least=Quantity(least.variance, Style.BRIEF, digits=4),
        )
    else:
        yield sentence("The variance is {most}.", most=Quantity(check.variance, Style.BRIEF, digits=4))
    broken = [row.count for row in check.rows if not row.is_monotone]
    if broken:
        yield f"Not monotone towards noise 0: counts {_listed(broken)}."
    if check.negative:
        yield f"Noise can make these counts negative: {_listed(check.negative)}."
    off = [row for row in check.rows if row.stated_sum is not None and row.stated_sum != 1]
    if off:
        worst = max(off, key=lambda row: abs((row.stated_sum or Fraction(0)) - 1))
        yield sentence(
            "The stated probabilities of {many} rows do not sum to 1; those of count {count} sum to {total}. "
            "What counts are the intervals, which do.",
            many=str(len(off)),
            count=str(worst.count),
            total=Quantity(worst.stated_sum, Style.BRIEF, digits=9),
        )
    loose = [row for row in check.rows if row.deviation is not None and row.deviation > Fraction(1, 10**6)]
    if loose:
        counts = _listed([row.count for row in loose])
        yield f"Stated probabilities differ from the lengths of the intervals: counts {counts}."


def _listed(counts: Sequence[int]) -> str:
    return ", ".join(map(str, counts[:8])) + (f" and {len(counts) - 8} more" if len(counts) > 8 else "")


def _certainty(check: PerturbationCheck) -> Sentence:
    step = check.anywhere.most_certain
    shows = (step.count + 1, step.count) if step.joining else (step.count, step.count + 1)
    return sentence(
        "No epsilon, however large, holds with a delta below {certain}: with that chance a cell of {first} "
        "shows what a cell of {second} cannot.{more}",
        certain=least_delta(step.certain),
        more=f" With {delta_number(step.certain)} some epsilon does." if step.certain < 1 else "",
        first=str(shows[0]),
        second=str(shows[1]),
    )


def _epsilon(check: PerturbationCheck, delta: Fraction, ratio: Fraction | None) -> Sentence:
    if ratio is None:
        return sentence("At delta {delta} no epsilon holds.", delta=given(delta))
    return sentence(
        "At delta {delta} the exact epsilon is {epsilon}.",
        delta=given(delta),
        epsilon=epsilon_quantity(ratio),
    )


def _tests(check: PerturbationCheck) -> Sentence:
    pairs = ", ".join(
        f"{Quantity(error, digits=4)} at {given(alpha)}"
        for alpha, error in zip(check.alphas, check.errors, strict=True)
    )
    return sentence(
        "Trade-off f, the least type II error of a test of whether the record is in the cell, at its type I "
        "error: {pairs}. Someone who knows all else and gives the record a chance of {prior} guesses right "
        "{right} of the time.",
        pairs=pairs,
        prior=given(check.prior),
        right=Quantity(check.accuracy, Style.PERCENT),
    )


def _given_away(check: PerturbationCheck) -> str:
    pairs = [f"{count} and {count + 1}" for count in check.given_away]
    more = f" and {len(pairs) - 6} more pairs" if len(pairs) > 6 else ""
    why = f" Counts without noise: {_listed(check.deterministic)}." if check.deterministic else ""
    which = f"{', '.join(pairs[:6])}{more}"
    return f"Delta is 1, whatever epsilon, between counts {which}: they are always told apart.{why}"
