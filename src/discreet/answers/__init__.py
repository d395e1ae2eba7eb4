"""What a result tells: one function a kind of result says it once, as an `Answer` that every surface shows.

Rooms below return typed results without words. A module here has the words of one family of results, in
functions marked with `describes`; `discreet.render` turns any answer into text, JSON, CSV, HTML, tiles and
pictures. A new question is a result and one such function.
"""

from __future__ import annotations

from discreet.answers.answer import Answer, AnswerTable, Caution, Column, Fact, Paragraph, Sentence, sentence
from discreet.answers.describing import describe, describes
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Rounding, Style

__all__ = [
    "Answer",
    "AnswerTable",
    "Caution",
    "Claimed",
    "Column",
    "Fact",
    "NumberKind",
    "Paragraph",
    "Quantity",
    "Rounding",
    "Sentence",
    "Style",
    "describe",
    "describes",
    "sentence",
]
