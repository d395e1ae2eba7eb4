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

_SHOWN = 20
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
def categories_answer(categories: Categories) -> Answer:
    """Say how often the largest posterior is right, and what given numbers tell.

    >>> from discreet.disclosure.category import categories
    >>> answer = categories_answer(categories(cells=5, variance="5.04"))
    >>> print(answer.summary)
    which of 5 cells: the largest posterior is right 31.72 % of the time, without the release 20.00 %
    """
    guesses, beliefs = _guesses(categories), _category_table(categories.beliefs)
    groups = _category_table(categories.group_beliefs, of="group")
    record = {
        **({"release": categories.release, "query": categories.query} if categories.release else {}),
        "adversary": _adversary(categories),
        "cells": categories.cells,
        **({"groups": categories.groups} if categories.groups else {}),
        **({"asked": categories.asked} if categories.asked else {}),
        **({"totals_of_others": list(categories.totals)} if categories.totals else {}),
        "even_priors": categories.is_even,
        "right_without_release": categories.unaided,
        "guesses": guesses,
        "one_cell_adversary": _one_cell(categories) + _WHY,
        **(
            {"named": [category_belief.cell for category_belief in categories.named]}
            if categories.beliefs
            else {}
        ),
        **({"group_results": groups} if categories.group_beliefs else {}),
        **({"results": beliefs} if categories.beliefs else {}),
    }
    tables = {"guesses": guesses} | ({"beliefs": beliefs} if categories.beliefs else {})
    return Answer(
        f"Which of {_among(categories)}",
        record,
        tuple(_body(categories)),
        tuple(_facts(categories)),
        tables=tables | ({"groups": groups} if categories.group_beliefs else {}),
        command=_command(categories),
        summary=_summary(categories),
        figures={"categories": partial(_categories_picture, categories)},
    )


def _among(categories: Categories) -> str:
    """What is sought among: cells, or groups of them."""
    cells = f"{count_quantity(categories.cells)} cells"
    return f"{count_quantity(categories.groups)} groups of {cells}" if categories.groups else cells


def _noun(categories: Categories) -> str:
    return "group" if categories.groups else "cell"


def _command(categories: Categories) -> str:
    if categories.release:
        named = ["discreet", "risk", "categories", categories.release]
        return shlex.join([*named, *(["--asked", categories.asked] if categories.asked else [])])
    return f"discreet risk categories --cells {categories.cells}"


def _categories_picture(categories: Categories) -> Picture:
    """Return the largest posteriors beside their priors, or how often the guess is right.

    >>> from discreet.disclosure.category import categories
    >>> picture = _categories_picture(categories(variance=5, noisy=[0, 3, 1], known=[0, 0, 0]))
    >>> [item.label for item in picture.panels[0].items]
    ['before', 'after the release']
    """
    if not categories.beliefs:
        names = tuple(_counts(guess) for guess in categories.guesses)
        rights = Bars(points(range(len(names)), (guess.right for guess in categories.guesses)), "right", 0)
        y = Axis("the largest posterior is right", low=0.0, written=Notation.PERCENT)
        return Picture((Panel(Axis(names=names), y, (rights,)),), f"Which of {_among(categories)}")
    top = _largest(categories.found_beliefs)
    before = Bars(
        points((x - 0.2 for x in range(len(top))), (category_belief.prior for category_belief in top)),
        "before",
        QUIET,
        0.4,
    )
    after = Bars(
        points((x + 0.2 for x in range(len(top))), (category_belief.posterior for category_belief in top)),
        "after the release",
        0,
        0.4,
    )
    names = tuple(category_belief.cell for category_belief in top)
    y = Axis(f"belief that the {_noun(categories)} is the target's", low=0.0, written=Notation.PERCENT)
    more = f", the {len(top)} likeliest" if len(top) < categories.sought else ""
    return Picture((Panel(Axis(names=names), y, (before, after)),), f"{_among(categories)}{more}")


def _category_table(beliefs: tuple[CategoryBelief, ...], *, of: str = "cell") -> AnswerTable:
    """Return what is believed of each cell, or of each group of cells.

    >>> from discreet.disclosure.category import CategoryBelief
    >>> _category_table((CategoryBelief("a", 0.5, 0.1, 0.525, 1.05, 0.525),)).cells
    [['a', '0.5000', '0.1', '0.5250', '1.05', '0.5250']]
    """
    columns = (Column(of, of, is_text=True), *_BELIEFS[1:])
    alone = any(belief.alone is not None for belief in beliefs)
    rows = (
        (
            belief.cell,
            Quantity(belief.prior, Style.CHANCE),
            Quantity(belief.evidence, Style.BRIEF, digits=4),
            Quantity(belief.posterior, Style.CHANCE),
            Quantity(belief.ratio, Style.BRIEF, digits=4),
            *([Quantity(belief.alone, Style.CHANCE)] if alone else []),
        )
        for belief in beliefs
    )
    return AnswerTable(columns if alone else columns[:-1], tuple(rows))


def category_sentence(categories: Categories) -> Sentence:
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
    first, *_, last = [*categories.guesses, *categories.guesses]
    more = sentence("")
    if len(categories.guesses) > 1:
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
        cells=_among(categories),
        query=categories.query,
        noun=_noun(categories),
        right=_claimed(first),
        unaided=_in_percent(categories.unaided),
        more=more,
    )


def _largest(beliefs: tuple[CategoryBelief, ...]) -> tuple[CategoryBelief, ...]:
    return tuple(sorted(beliefs, key=lambda category_belief: -category_belief.posterior)[:_SHOWN])


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


def _guesses(categories: Categories) -> AnswerTable:
    return AnswerTable(
        _GUESSES,
        tuple(
            (
                _counts(guess),
                guess.counts,
                guess.variances,
                _claimed(guess),
                Claimed(value=guess.right, kind=_kind(guess), scope=categories.scope),
                "simulated" if guess.draws else _kind(guess).value,
                guess.error,
                guess.draws,
                Quantity(guess.right / categories.unaided, Style.FACTOR, _kind(guess).rounding),
                _in_percent(guess.one_cell),
                guess.one_cell,
            )
            for guess in categories.guesses
        ),
    )


def _adversary(categories: Categories) -> str:
    who = "someone who knows that the target is in the area,"
    if categories.totals:
        many = " and ".join(str(count_quantity(total)) for total in categories.totals)
        areas = "in the areas from the smallest up" if len(categories.totals) > 1 else "there"
        who += f" and that {many} others are {areas}, each in some cell with a known chance,"
    elif categories.unsure:
        who += (
            f" knows everyone else in each cell but up to {count_quantity(categories.unsure)} more, "
            "independently from cell to cell,"
        )
    else:
        who += " knows everyone else there,"
    prior = "gives each cell the same chance" if categories.is_even else "has a prior for each cell"
    return f"{who} {prior}, sees the noisy counts of all cells, and names the likeliest {_noun(categories)}"


def _one_cell(categories: Categories) -> str:
    """What the adversary of the paper does, and how often; it ends with a space."""
    text = (
        "The one-cell adversary of Kazan and Reiter looks at the count of the target's own cell alone, "
        "asks yes or no, and says yes only where the posterior exceeds one half"
    )
    if not categories.guesses:
        return f"{text}. "
    often = categories.guesses[0].one_cell
    return f"{text}: {f'{_in_percent(often)} of the time' if often > 1e-8 else 'practically never'}. "


def _summary(categories: Categories) -> Sentence:
    if not categories.guesses:
        return sentence(
            "which of {cells}: {named} has the largest posterior, {posterior}",
            cells=_among(categories),
            named=" or ".join(category_belief.cell for category_belief in categories.named[:3]),
            posterior=Quantity(categories.named[0].posterior, Style.CHANCE),
        )
    return sentence(
        "which of {cells}: the largest posterior is right {right} of the time, without the release {unaided}",
        cells=_among(categories),
        right=_claimed(categories.guesses[0]),
        unaided=_in_percent(categories.unaided),
    )


def _facts(categories: Categories) -> Iterator[Fact]:
    if categories.guesses:
        yield Fact(
            "right", _right(categories.guesses[0]), f"without the release {_in_percent(categories.unaided)}"
        )
    if categories.beliefs:
        best = categories.named[0]
        yield Fact("largest posterior", Quantity(best.posterior, Style.CHANCE), best.cell)


def _body(categories: Categories) -> Iterator[Part]:
    noun = _noun(categories)
    if categories.release:
        yield sentence(
            "{release}: which of the {cells} of query {query}{asked} is the target's?",
            release=categories.release,
            cells=_among(categories),
            query=categories.query,
            asked=f", by {categories.asked}," if categories.asked else "",
        )
    yield Paragraph(f"Adversary: {_adversary(categories)}.")
    yield ""
    if categories.beliefs:
        if categories.sought > _SHOWN:
            yield f"The {_SHOWN} likeliest of {_among(categories)}:"
        beliefs = categories.found_beliefs
        yield _category_table(_largest(beliefs) if categories.sought > _SHOWN else beliefs, of=noun)
        yield ""
        yield _named_sentence(categories)
        yield ""
    if not categories.guesses:
        yield Paragraph(
            "The posteriors are exact. How often the largest is right is not known here: counts of groups of "
            "cells that do not nest, or of too many different ones, make the evidence of different cells "
            "depend on each other."
        )
        yield Paragraph(_one_cell(categories) + _WHY)
        return
    yield _guesses(categories)
    yield ""
    first = categories.guesses[0]
    yield sentence(
        "{from_counts}, this adversary names the right {noun} {right} of the time; without the release, "
        "{unaided}.",
        from_counts=f"From the counts of {_counts(first)}"
        if categories.release
        else "From such counts, averaged over the noise"
        if categories.beliefs
        else "From these counts",
        noun=noun,
        right=_right(first) if _kind(first) is NumberKind.EXACT else _claimed(first),
        unaided=_in_percent(categories.unaided),
    )
    yield from _how_known(categories, first)
    if categories.is_asked_counted:
        yield f"The counts of {categories.asked} speak too, at the levels that have them."
    if len(categories.guesses) > 1:
        yield Paragraph(
            "Each further line is for someone who also knows everyone else in the larger area: the evidence "
            "of the levels adds up."
        )
    if categories.release:
        yield Paragraph(
            "The counts of other queries of the release tell more. What everything published tells is "
            "bounded by discreet risk release."
        )
    yield Paragraph(_one_cell(categories) + _WHY)


def _named_sentence(categories: Categories) -> Sentence:
    """Which cell, or group, the numbers drawn make the likeliest."""
    names = [category_belief.cell for category_belief in categories.named[:3]]
    several = len(categories.named) > 1
    return sentence(
        "From the numbers drawn, this adversary names {names}{more}: a probability of {posterior}{each}, "
        "beforehand {prior}.",
        names=" or ".join(names),
        more=f" or {count_quantity(len(categories.named) - 3)} more" if len(categories.named) > 3 else "",
        posterior=Quantity(categories.named[0].posterior, Style.CHANCE),
        each=" each" if several else "",
        prior=Quantity(categories.named[0].prior, Style.CHANCE),
    )


def _how_known(categories: Categories, guess: CategoryGuess) -> Iterator[Part]:
    """What the chance of being right is, where it is not exact."""
    if guess.is_bound:
        yield Paragraph(
            "That is how often someone is right who knows every other person: whoever knows less cannot be "
            "right more often. The posteriors are exact for the totals; draws simulate how often they are "
            "right."
        )
    elif guess.draws:
        low, high = max(guess.right - guess.error, categories.unaided), guess.right + guess.error
        yield Paragraph(
            sentence(
                "Simulated, {draws} draws of target, others and noise, each with its posterior: between "
                "{low} and {high} with 99 % confidence.",
                draws=count_quantity(guess.draws),
                low=Quantity(100 * low, rounding=Rounding.DOWN, digits=3, unit="%"),
                high=Quantity(100 * high, rounding=Rounding.UP, digits=3, unit="%"),
            )
        )
