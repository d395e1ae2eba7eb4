"""A table of an answer as CSV, every number with all its digits."""

from __future__ import annotations

import re

from discreet.answers.answer import AnswerTable, machine
from discreet.files import csv_text, inert_text

_NUMBER = re.compile(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?(/[0-9]+)?")
"""A number, or a fraction, as an answer writes it."""


def csv_of(table: AnswerTable) -> str:
    """Return the columns that have a key, in order; nothing is an empty field, a list is "one; another".

    >>> from discreet.answers import Column, Quantity
    >>> csv_of(AnswerTable((Column("level", "level"), Column("sd", "sd")), (("State", Quantity(0.1)),)))
    'level,sd\\nState,0.1\\n'

    People open it in a spreadsheet, where a name must not be a formula. Numbers stay, whatever their sign.

    >>> area, change = Column("area", "area"), Column("change", "change")
    >>> csv_of(AnswerTable((area, change), (("=1+1", Quantity(-3)), ("-7", "-1/2"))))
    "area,change\\n'=1+1,-3\\n-7,-1/2\\n"
    """
    keyed = [(number, column.key) for number, column in enumerate(table.columns) if column.key]
    rows = [[_field(machine(row[number])) for number, _ in keyed] for row in table.rows]
    return csv_text([key for _, key in keyed], rows)


def _field(value: object) -> object:
    text = "; ".join(map(str, value)) if isinstance(value, list) else value
    return inert_text(text) if isinstance(text, str) and not _NUMBER.fullmatch(text) else text
