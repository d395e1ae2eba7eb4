"""A table of an answer as CSV, every number with all its digits."""

from __future__ import annotations

from discreet.answers.answer import AnswerTable, machine
from discreet.files import csv_text


def csv_of(table: AnswerTable) -> str:
    """Return the columns that have a key, in order; nothing is an empty field, a list is "one; another".

    >>> from discreet.answers import Column, Quantity
    >>> csv_of(AnswerTable((Column("level", "level"), Column("sd", "sd")), (("State", Quantity(0.1)),)))
    'level,sd\\nState,0.1\\n'
    """
    keyed = [(place, column.key) for place, column in enumerate(table.columns) if column.key]
    rows = [[_field(machine(row[place])) for place, _ in keyed] for row in table.rows]
    return csv_text([key for _, key in keyed], rows)


def _field(value: object) -> object:
    return "; ".join(map(str, value)) if isinstance(value, list) else value
