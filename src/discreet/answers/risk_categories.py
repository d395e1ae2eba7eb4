"""How well an adversary finds out which category is the target's, in words and tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import partial

from discreet.answers.answer import Answer, AnswerTable, Column, Fact, Paragraph, Part, Sentence, sentence
from discreet.answers.describing import describes
from discreet.answers.figure import QUIET, Axis, Bars, Notation, Panel, Picture, points
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Rounding, Style, count_quantity
from discreet.answers.risk import place_words
from discreet.budget.level_names import level_name
from discreet.disclosure.category import Categories, CategoryBelief, CategoryGuess

SHOWN = 20
"""Cells that a page lists: those of the largest posteriors."""

_GUESSES = (
    Column("counts of each cell", is_text=True),
    Column(key="counts"),
    Column(key="variances"),
    Column("right"),
    Column(key="right"),
    Column(key="kind"),
    Column(key="right_may_be_off_by"),
    Column(key="draws"),
    Column("times the chance without", "times_unaided"),
    Column("one-cell adversary"),
    Column(key="one_cell_right_if_present"),
)
_BELIEFS = (
    Column("cell", "cell", is_text=True),
    Column("prior", "prior"),
    Column("evidence", "evidence"),
    Column("posterior", "posterior"),
    Column("ratio", "ratio"),
    Column("one cell alone", "one_cell_posterior"),
)
_WHY = (
    "That understates what can be learned about a category: whoever must name one compares all cells, and "
    "names the likeliest, though its posterior may be far below one half."
)


@describes(Categories)
def categories_answer(found: Categories) -> Answer:
    """Say how often the largest posterior is right, and what given numbers tell.

    >>> from discreet.disclosure.category import categories
    >>> answer = categories_answer(categories(cells=5, variance="5.04"))
    >>> print(answer.summary)
    which of 5 cells: the largest posterior is right 31.72 % of the time, without the release 20.00 %
    """
    guesses, beliefs = _guesses(found), category_table(found.beliefs)
    groups = category_table(found.group_beliefs, of="group")
    record = {
        **({"release": found.release, "query": found.query} if found.release else {}),
        "adversary": _adversary(found),
        "cells": found.cells,
        **({"groups": found.groups} if found.groups else {}),
        **({"asked": found.asked} if found.asked else {}),
        **({"totals_of_others": list(found.totals)} if found.totals else {}),
        "even_priors": found.is_even,
        "right_without_release": found.unaided,
        "guesses": guesses,
        "one_cell_adversary": _one_cell(found) + _WHY,
        **({"named": [one.cell for one in found.named]} if found.beliefs else {}),
        **({"group_results": groups} if found.group_beliefs else {}),
        **({"results": beliefs} if found.beliefs else {}),
    }
    tables = {"guesses": guesses} | ({"beliefs": beliefs} if found.beliefs else {})
    return Answer(
        f"Which of {_among(found)}",
        record,
        tuple(_body(found)),
        tuple(_facts(found)),
        tables=tables | ({"groups": groups} if found.group_beliefs else {}),
        command=_command(found),
        summary=_summary(found),
        figures={"categories": partial(categories_picture, found)},
    )


def _among(found: Categories) -> str:
    """What is sought among: cells, or groups of them."""
    cells = f"{count_quantity(found.cells)} cells"
    return f"{count_quantity(found.groups)} groups of {cells}" if found.groups else cells


def _noun(found: Categories) -> str:
    return "group" if found.groups else "cell"


def _command(found: Categories) -> str:
    if found.release:
        named = ["discreet", "risk", "categories", found.release]
        return shlex.join([*named, *(["--asked", found.asked] if found.asked else [])])
    return f"discreet risk categories --cells {found.cells}"


def categories_picture(found: Categories) -> Picture:
    """Return the largest posteriors beside their priors, or how often the guess is right.

    >>> from discreet.disclosure.category import categories
    >>> picture = categories_picture(categories(variance=5, noisy=[0, 3, 1], known=[0, 0, 0]))
    >>> [item.label for item in picture.panels[0].items]
    ['before', 'after the release']
    """
    if not found.beliefs:
        names = tuple(_counts(one) for one in found.guesses)
        rights = Bars(points(range(len(names)), (one.right for one in found.guesses)), "right", 0)
        y = Axis("the largest posterior is right", low=0.0, written=Notation.PERCENT)
        return Picture((Panel(Axis(names=names), y, (rights,)),), f"Which of {_among(found)}")
    top = _largest(found.found_beliefs)
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
    y = Axis(f"belief that the {_noun(found)} is the target's", low=0.0, written=Notation.PERCENT)
    more = f", the {len(top)} likeliest" if len(top) < found.sought else ""
    return Picture((Panel(Axis(names=names), y, (before, after)),), f"{_among(found)}{more}")


def category_table(beliefs: tuple[CategoryBelief, ...], *, of: str = "cell") -> AnswerTable:
    """Return what is believed of each cell, or of each group of cells.

    >>> from discreet.disclosure.category import CategoryBelief
    >>> category_table((CategoryBelief("a", 0.5, 0.1, 0.525, 1.05, 0.525),)).cells
    [['a', '0.5000', '0.1', '0.5250', '1.05', '0.5250']]
    """
    columns = (Column(of, of, is_text=True), *_BELIEFS[1:])
    alone = any(one.alone is not None for one in beliefs)
    rows = (
        (
            one.cell,
            Quantity(one.prior, Style.CHANCE),
            Quantity(one.evidence, Style.BRIEF, digits=4),
            Quantity(one.posterior, Style.CHANCE),
            Quantity(one.ratio, Style.BRIEF, digits=4),
            *([Quantity(one.alone, Style.CHANCE)] if alone else []),
        )
        for one in beliefs
    )
    return AnswerTable(columns if alone else columns[:-1], tuple(rows))


def category_sentence(found: Categories) -> Sentence:
    """Say how often the right cell of a release is named, from the lowest level and from all.

    >>> from discreet.budget import Attributes, Level, Query, Release
    >>> from discreet.disclosure.category import release_categories
    >>> block = Level(name="Block", queries=[Query(name="age", variance=5)])
    >>> ages = Attributes({"age": ["0-17", "18-64", "65+"]})
    >>> small = Release(name="small", neighbours="unbounded", attributes=ages, levels=[block])
    >>> print(category_sentence(release_categories(small)))
    Someone who knows that the target is in the block, knows everyone else there, gives each of 3 cells of \
age the same chance, sees their noisy counts and names the likeliest cell is right 46.52 % of the time, and \
33.33 % without the release.
    """
    first, *_, last = [*found.guesses, *found.guesses]
    more = sentence("")
    if len(found.guesses) > 1:
        more = sentence(
            " With the counts of the same cells of {counts}, and everyone else known there too, it is "
            "{right}.",
            counts=_counts(last),
            right=_claimed(last),
        )
    return sentence(
        "Someone who knows that the target is in the {area}, knows everyone else there, gives each of "
        "{cells} of {query} the same chance, sees their noisy counts and names the likeliest {noun} is right "
        "{right} of the time, and {unaided} without the release.{more}",
        area=place_words(first.counts[0]),
        cells=_among(found),
        query=found.query,
        noun=_noun(found),
        right=_claimed(first),
        unaided=_in_percent(found.unaided),
        more=more,
    )


def _largest(beliefs: tuple[CategoryBelief, ...]) -> tuple[CategoryBelief, ...]:
    return tuple(sorted(beliefs, key=lambda one: -one.posterior)[:SHOWN])


def _kind(guess: CategoryGuess) -> NumberKind:
    if guess.draws:
        return NumberKind.ABOUT
    return NumberKind.AT_MOST if guess.is_bound else NumberKind.EXACT


def _right(guess: CategoryGuess) -> Quantity:
    """How often the guess is right, in percent, with the digits that hold."""
    value, error = 100 * guess.right, 100 * guess.error
    if guess.is_bound:
        value, error = min(value + error, 100.0), 0.0
    if guess.draws:  # its interval stands beside it
        return Quantity(value, digits=2, unit="%")
    return Quantity(value, rounding=_kind(guess).rounding, accuracy=error, digits=4, unit="%")


def _claimed(guess: CategoryGuess) -> str:
    """The same in a sentence: at most, or about."""
    kind = _kind(guess)
    return f"{_right(guess)}" if kind is NumberKind.EXACT else f"{kind.value} {_right(guess)}"


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
                _claimed(one),
                Claimed(value=one.right, kind=_kind(one), scope=found.scope),
                "simulated" if one.draws else _kind(one).value,
                one.error,
                one.draws,
                Quantity(one.right / found.unaided, Style.FACTOR, _kind(one).rounding),
                _in_percent(one.one_cell),
                one.one_cell,
            )
            for one in found.guesses
        ),
    )


def _adversary(found: Categories) -> str:
    who = "someone who knows that the target is in the area,"
    if found.totals:
        many = " and ".join(str(count_quantity(one)) for one in found.totals)
        areas = "in the areas from the smallest up" if len(found.totals) > 1 else "there"
        who += f" and that {many} others are {areas}, each in some cell with a known chance,"
    elif found.unsure:
        who += (
            f" knows everyone else in each cell but up to {count_quantity(found.unsure)} more, "
            "independently from cell to cell,"
        )
    else:
        who += " knows everyone else there,"
    prior = "gives each cell the same chance" if found.is_even else "has a prior for each cell"
    return f"{who} {prior}, sees the noisy counts of all cells, and names the likeliest {_noun(found)}"


def _one_cell(found: Categories) -> str:
    """What the adversary of the paper does, and how often; it ends with a space."""
    text = (
        "The one-cell adversary of Kazan and Reiter looks at the count of the target's own cell alone, "
        "asks yes or no, and says yes only where the posterior exceeds one half"
    )
    if not found.guesses:
        return f"{text}. "
    often = found.guesses[0].one_cell
    return f"{text}: {f'{_in_percent(often)} of the time' if often > 1e-8 else 'practically never'}. "


def _summary(found: Categories) -> Sentence:
    if not found.guesses:
        return sentence(
            "which of {cells}: {named} has the largest posterior, {posterior}",
            cells=_among(found),
            named=" or ".join(one.cell for one in found.named[:3]),
            posterior=Quantity(found.named[0].posterior, Style.CHANCE),
        )
    return sentence(
        "which of {cells}: the largest posterior is right {right} of the time, without the release {unaided}",
        cells=_among(found),
        right=_claimed(found.guesses[0]),
        unaided=_in_percent(found.unaided),
    )


def _facts(found: Categories) -> Iterator[Fact]:
    if found.guesses:
        yield Fact("right", _right(found.guesses[0]), f"without the release {_in_percent(found.unaided)}")
    if found.beliefs:
        best = found.named[0]
        yield Fact("largest posterior", Quantity(best.posterior, Style.CHANCE), best.cell)


def _body(found: Categories) -> Iterator[Part]:
    noun = _noun(found)
    if found.release:
        yield sentence(
            "{release}: which of the {cells} of query {query}{asked} is the target's?",
            release=found.release,
            cells=_among(found),
            query=found.query,
            asked=f", by {found.asked}," if found.asked else "",
        )
    yield Paragraph(f"Adversary: {_adversary(found)}.")
    yield ""
    if found.beliefs:
        if found.sought > SHOWN:
            yield f"The {SHOWN} likeliest of {_among(found)}:"
        beliefs = found.found_beliefs
        yield category_table(_largest(beliefs) if found.sought > SHOWN else beliefs, of=noun)
        yield ""
        yield _named_sentence(found)
        yield ""
    if not found.guesses:
        yield Paragraph(
            "The posteriors are exact. How often the largest is right is not known here: counts of groups of "
            "cells that do not nest, or of too many different ones, make the evidence of different cells "
            "depend on each other."
        )
        yield Paragraph(_one_cell(found) + _WHY)
        return
    yield _guesses(found)
    yield ""
    first = found.guesses[0]
    yield sentence(
        "{from_counts}, this adversary names the right {noun} {right} of the time; without the release, "
        "{unaided}.",
        from_counts=f"From the counts of {_counts(first)}"
        if found.release
        else "From such counts, averaged over the noise"
        if found.beliefs
        else "From these counts",
        noun=noun,
        right=_right(first) if _kind(first) is NumberKind.EXACT else _claimed(first),
        unaided=_in_percent(found.unaided),
    )
    yield from _how_known(found, first)
    if found.is_asked_counted:
        yield f"The counts of {found.asked} speak too, at the levels that have them."
    if len(found.guesses) > 1:
        yield Paragraph(
            "Each further line is for someone who also knows everyone else in the larger area: the evidence "
            "of the levels adds up."
        )
    if found.release:
        yield Paragraph(
            "The counts of other queries of the release tell more. What everything published tells is "
            "bounded by discreet risk release."
        )
    yield Paragraph(_one_cell(found) + _WHY)


def _named_sentence(found: Categories) -> Sentence:
    """Which cell, or group, the numbers drawn make the likeliest."""
    names = [one.cell for one in found.named[:3]]
    several = len(found.named) > 1
    return sentence(
        "From the numbers drawn, this adversary names {names}{more}: a probability of {posterior}{each}, "
        "beforehand {prior}.",
        names=" or ".join(names),
        more=f" or {count_quantity(len(found.named) - 3)} more" if len(found.named) > 3 else "",
        posterior=Quantity(found.named[0].posterior, Style.CHANCE),
        each=" each" if several else "",
        prior=Quantity(found.named[0].prior, Style.CHANCE),
    )


def _how_known(found: Categories, guess: CategoryGuess) -> Iterator[Part]:
    """What the chance of being right is, where it is not exact."""
    if guess.is_bound:
        yield Paragraph(
            "That is how often someone is right who knows every other person: whoever knows less cannot be "
            "right more often. The posteriors are exact for the totals; draws simulate how often they are "
            "right."
        )
    elif guess.draws:
        low, high = max(guess.right - guess.error, found.unaided), guess.right + guess.error
        yield Paragraph(
            sentence(
                "Simulated, {draws} draws of target, others and noise, each with its posterior: between "
                "{low} and {high} with 99 % confidence.",
                draws=count_quantity(guess.draws),
                low=Quantity(100 * low, rounding=Rounding.DOWN, digits=3, unit="%"),
                high=Quantity(100 * high, rounding=Rounding.UP, digits=3, unit="%"),
            )
        )
