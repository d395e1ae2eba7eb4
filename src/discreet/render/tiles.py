"""The headline of an answer as tiles, as the workbench shows them: a name, a number, a few words."""

from __future__ import annotations

from typing import NamedTuple

from discreet.answers.answer import Answer, Fact
from discreet.answers.quantity import Claimed, NumberKind


class AnswerTile(NamedTuple):
    """What stands on a tile: its name, its number as a text, and a note below it."""

    label: str
    value: str
    note: str = ""


def tiles_of(answer: Answer) -> tuple[AnswerTile, ...]:
    """Return a tile for each fact of an answer.

    >>> from discreet.answers import Answer
    >>> from discreet.budget import load
    >>> fact = Fact("Epsilon", Claimed.by(load("sdhc-2020").claim, 10.94372), "a bound")
    >>> tiles_of(Answer("one count", facts=(fact,)))
    (AnswerTile(label='Epsilon', value='at most 10.9438', note='a bound'),)
    """
    return tuple(map(tile_of, answer.facts))


def tile_of(fact: Fact) -> AnswerTile:
    """Return the tile of one fact; a bound says that it is one, other kinds stand in the note.

    >>> from discreet.answers import Quantity
    >>> tile_of(Fact("zCDP", Quantity(26.34058), "for comparison")).value
    '26.3406'
    """
    value = fact.value
    if isinstance(value, Claimed) and (
        value.kind in (NumberKind.AT_MOST, NumberKind.AT_LEAST) or not value.scope.is_whole
    ):
        return AnswerTile(str(fact.label), value.claimed, str(fact.note))
    return AnswerTile(str(fact.label), str(value), str(fact.note))
