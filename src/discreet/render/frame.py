"""A table of an answer as a DataFrame of pandas, every number with all its digits."""

from __future__ import annotations

from discreet.answers.answer import Answer, AnswerTable, machine
from discreet.errors import InputError
from discreet.tables.frames import DataFrame, pandas_library


def tables_of(answer: Answer) -> dict[str, AnswerTable]:
    """Return the tables of an answer by name: those that can be saved, or else those that it shows.

    >>> from discreet.answers import Column
    >>> levels = AnswerTable((Column("level", "level"),), (("State",),))
    >>> list(tables_of(Answer("noise", {"levels": levels}))), list(tables_of(Answer("noise", {}, (levels,))))
    (['levels'], ['table 1'])
    """
    named = {name: table for name, table in answer.record.items() if isinstance(table, AnswerTable)}
    shown = [part for part in answer.body if isinstance(part, AnswerTable)]
    numbered = {table.title or f"table {number}": table for number, table in enumerate(shown, 1)}
    return dict(answer.tables) or named or numbered


def frame_of(answer: Answer, name: str = "") -> DataFrame:
    """Return the table of this name, or the first: a column for each key, or for each title if it has none.

    >>> from discreet.answers import Column, Quantity
    >>> table = AnswerTable((Column("level", "level"), Column("sd", "sd")), (("State", Quantity(0.1)),))
    >>> frame_of(Answer("noise", tables={"levels": table})).to_dict("list")
    {'level': ['State'], 'sd': [0.1]}
    """
    tables = tables_of(answer)
    if not tables:
        raise InputError(f"{answer.title!r} has no table")
    if name and name not in tables:
        raise InputError(f"{answer.title!r} has no table {name!r}; there are {', '.join(tables)}")
    table = tables[name] if name else next(iter(tables.values()))
    keyed = any(column.key for column in table.columns)
    heads = [column.key if keyed else column.title for column in table.columns]
    rows = [[machine(cell) for cell, head in zip(row, heads, strict=True) if head] for row in table.rows]
    return pandas_library("to_frame").DataFrame(rows, columns=[head for head in heads if head])
