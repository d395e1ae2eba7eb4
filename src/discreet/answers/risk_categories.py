"""How well an adversary finds out which category is the target's, in words and tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from discreet.answers.answer import Answer, AnswerTable, Column, Fact, Paragraph, Part, Sentence, sentence
from discreet.answers.describing import describes
from discreet.answers.figure import QUIET, Axis, Bars, Notation, Panel, Picture, points
from discreet.answers.quantity import NumberKind, Quantity, Style, count_quantity
from discreet.budget.level_names import level_name
from discreet.risk.categories import Categories, CategoryBelief, CategoryGuess

SHOWN = 20
"""Cells that a page lists: those of the largest posteriors."""

_GUESSES = (
    Column("counts of each cell", is_text=True),
    Column(key="counts"),
    Column(key="variances"),
    Column("right"),
    Column(key="right"),
    Column(key="right_may_be_off_by"),
    Column("times the chance without", "times_unaided"),
    Column("one-cell adversary", "one_cell_right_if_present"),
)
_BELIEFS = (
    Column("cell", "cell", is_text=True),
    Column("prior", "prior"),
    Column("evidence", "evidence"),
    Column("posterior", "posterior"),
    Column("ratio", "ratio"),
)


@describes(Categories)
def categories_answer(found: Categories) -> Answer:
    """Say how often the largest posterior is right, and what given numbers tell.

    >>> from discreet.risk.categories import categories
    >>> answer = categories_answer(categories(cells=5, variance="5.04"))
    >>> print(answer.summary)
    which of 5 cells: the largest posterior is right 31.72 % of the time, without the release 20.00 %
    """
    guesses, beliefs = _guesses(found), category_table(found.beliefs)
    record = {
        **({"release": found.release, "query": found.query} if found.release else {}),
        "adversary": _adversary(found),
        "cells": found.cells,
        "even_priors": found.is_even,
        "right_without_release": found.unaided,
        "guesses": guesses,
        **({"named": [one.cell for one in found.named], "results": beliefs} if found.beliefs else {}),
    }
    tables = {"guesses": guesses} | ({"beliefs": beliefs} if found.beliefs else {})
    return Answer(
        f"Which of {count_quantity(found.cells)} cells",
        record,
        tuple(_body(found)),
        tuple(_facts(found)),
        tables=tables,
        command=f"discreet risk categories {found.release or f'--cells {found.cells}'}",
        summary=_summary(found),
        figures={"categories": partial(categories_picture, found)},
    )


def categories_picture(found: Categories) -> Picture:
    """Return the largest posteriors beside their priors, or how often the guess is right.

    >>> from discreet.risk.categories import categories
    >>> picture = categories_picture(categories(variance=5, noisy=[0, 3, 1], known=[0, 0, 0]))
    >>> [item.label for item in picture.panels[0].items]
    ['before', 'after the release']
    """
    if not found.beliefs:
        names = tuple(_counts(one) for one in found.guesses)
        rights = Bars(points(range(len(names)), (one.right for one in found.guesses)), "right", 0)
        y = Axis("the largest posterior is right", low=0.0, written=Notation.PERCENT)
        return Picture(
            (Panel(Axis(names=names), y, (rights,)),), f"Which of {count_quantity(found.cells)} cells"
        )
    top = _largest(found.beliefs)
    before = Bars(
        points((x - 0.2 for x in range(len(top))), (one.prior for one in top)), "before", QUIET, 0.4
    )
    after = Bars(
        points((x + 0.2 for x in range(len(top))), (one.posterior for one in top)),
        "after the release",
        0,
        0.4,
    )
    names = tuple(one.cell for one in top)
    y = Axis("belief that the cell is the target's", low=0.0, written=Notation.PERCENT)
    more = f", the {len(top)} likeliest" if len(top) < found.cells else ""
    return Picture(
        (Panel(Axis(names=names), y, (before, after)),), f"{count_quantity(found.cells)} cells{more}"
    )


def category_table(beliefs: tuple[CategoryBelief, ...]) -> AnswerTable:
    """Return what is believed of each cell.

    >>> from discreet.risk.categories import CategoryBelief
    >>> category_table((CategoryBelief("a", 0.5, 0.1, 0.525, 1.05),)).cells
    [['a', '0.5000', '0.1', '0.5250', '1.05']]
    """
    rows = (
        (
            one.cell,
            Quantity(one.prior, Style.CHANCE),
            Quantity(one.evidence, Style.BRIEF, digits=4),
            Quantity(one.posterior, Style.CHANCE),
            Quantity(one.ratio, Style.BRIEF, digits=4),
        )
        for one in beliefs
    )
    return AnswerTable(_BELIEFS, tuple(rows))


def _largest(beliefs: tuple[CategoryBelief, ...]) -> tuple[CategoryBelief, ...]:
    return tuple(sorted(beliefs, key=lambda one: -one.posterior)[:SHOWN])


def _right(guess: CategoryGuess) -> Quantity:
    """How often the guess is right, in percent, with the digits that hold."""
    value = 100 * guess.right
    return Quantity(value, kind=NumberKind.EXACT, accuracy=100 * guess.error, digits=4, unit="%")


def _in_percent(share: float) -> Quantity:
    return Quantity(100 * share, digits=4, unit="%")


def _counts(guess: CategoryGuess) -> str:
    names = [level_name(name) for name in guess.counts]
    if len(names) == 1:
        return names[0]
    return f"{names[0]} {'and' if len(names) == 2 else 'up to'} {names[-1]}"


def _guesses(found: Categories) -> AnswerTable:
    return AnswerTable(
        _GUESSES,
        tuple(
            (
                _counts(one),
                one.counts,
                one.variances,
                _right(one),
                one.right,
                one.error,
                Quantity(one.right / found.unaided, Style.BRIEF, digits=3),
                Quantity(one.one_cell, Style.CHANCE),
            )
            for one in found.guesses
        ),
    )


def _adversary(found: Categories) -> str:
    who = "someone who knows that the target is in the area"
    if found.unsure:
        who += (
            f", knows everyone else in each cell but up to {count_quantity(found.unsure)} more, "
            "independently from cell to cell,"
        )
    else:
        who += " and everyone else there,"
    prior = "gives each cell the same chance" if found.is_even else "has a prior for each cell"
    return f"{who} {prior}, sees the noisy counts of all cells, and names the likeliest"


def _summary(found: Categories) -> Sentence:
    if not found.guesses:
        return sentence(
            "which of {cells} cells: {named} has the largest posterior, {posterior}",
            cells=count_quantity(found.cells),
            named=" or ".join(one.cell for one in found.named[:3]),
            posterior=Quantity(found.named[0].posterior, Style.CHANCE),
        )
    return sentence(
        "which of {cells} cells: the largest posterior is right {right} of the time, without the release "
        "{unaided}",
        cells=count_quantity(found.cells),
        right=_right(found.guesses[0]),
        unaided=_in_percent(found.unaided),
    )


def _facts(found: Categories) -> Iterator[Fact]:
    if found.guesses:
        yield Fact("right", _right(found.guesses[0]), f"without the release {_in_percent(found.unaided)}")
    if found.beliefs:
        best = found.named[0]
        yield Fact("largest posterior", Quantity(best.posterior, Style.CHANCE), best.cell)


def _body(found: Categories) -> Iterator[Part]:
    if found.release:
        yield sentence(
            "{release}: which of the {cells} cells of query {query} is the target's?",
            release=found.release,
            cells=count_quantity(found.cells),
            query=found.query,
        )
    yield Paragraph(f"Adversary: {_adversary(found)}.")
    yield ""
    if found.beliefs:
        if found.cells > SHOWN:
            yield f"The {SHOWN} likeliest of {count_quantity(found.cells)} cells:"
        yield category_table(_largest(found.beliefs) if found.cells > SHOWN else found.beliefs)
        yield ""
    if not found.guesses:
        yield Paragraph(
            "The posteriors are exact. How often the largest is right is not known here: counts of groups of "
            "cells make the evidence of different cells depend on each other."
        )
        return
    yield _guesses(found)
    yield ""
    first = found.guesses[0]
    yield sentence(
        "From {counts}, this adversary names the right cell {right} of the time; without the release, "
        "{unaided}.",
        counts=f"the counts of {_counts(first)}" if found.release else "these counts",
        right=_right(first),
        unaided=_in_percent(found.unaided),
    )
    if len(found.guesses) > 1:
        yield Paragraph(
            "Each further line is for someone who also knows everyone else in the larger area: the evidence "
            "of the levels adds up."
        )
    yield Paragraph(
        sentence(
            "The one-cell adversary of Kazan and Reiter looks at the count of the target's own cell alone, "
            "asks yes or no, and says yes only where the posterior exceeds one half: {often} of the time. "
            "That understates what can be learned about a category: whoever must name one compares all "
            "cells, and names the likeliest, though its posterior may be far below one half.",
            often=_in_percent(first.one_cell) if first.one_cell > 1e-8 else "practically none",
        )
    )
