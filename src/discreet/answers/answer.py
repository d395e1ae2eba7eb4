"""What a result tells, before anybody looks at it: a title, sentences, tables, cautions and pictures.

An answer is a small frozen record. `record` is what machines read, under the keys that a program may rely on;
`body` is what people read, in order. Both hold the same quantities and tables, so that they cannot differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Formatter

from discreet.answers.figure import Drawable
from discreet.answers.quantity import Quantity

Cell = object
"""What a table has in one place: a quantity, a text, a number, None; for machines alone anything JSON has."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title for people, its key for machines; without one of them the other alone sees it."""

    title: str = ""
    key: str = ""
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """Rows of typed cells.

    >>> level, sd = Column("level", "level", is_text=True), Column("std. dev.", "sd")
    >>> AnswerTable((level, sd), (("State", Quantity(2.5, digits=3)),)).objects
    [{'level': 'State', 'sd': 2.5}]
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""

    @property
    def objects(self) -> list[dict[str, object]]:
        """The rows as machines have them."""
        return [
            {column.key: machine(cell) for column, cell in zip(self.columns, row, strict=True) if column.key}
            for row in self.rows
        ]

    @property
    def head(self) -> list[Column]:
        """The columns that people see."""
        return [column for column in self.columns if column.title]

    @property
    def cells(self) -> list[list[str]]:
        """The rows as people see them."""
        return [
            [text(cell) for column, cell in zip(self.columns, row, strict=True) if column.title]
            for row in self.rows
        ]


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words and quantities, in order; `str` writes them."""

    parts: tuple[str | Quantity, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


def sentence(template: str, /, **quantities: Quantity | str | Sentence) -> Sentence:
    """Return a sentence with quantities, or words that hold some, in their places.

    >>> print(sentence("At delta {delta} epsilon is {epsilon}.", delta="1e-10", epsilon=Quantity(2.5)))
    At delta 1e-10 epsilon is 2.50000.
    """
    parts: list[str | Quantity] = []
    for words, name, _, _ in Formatter().parse(template):
        parts += [words] if words else []
        if name is not None:
            value = quantities[name]
            parts += value.parts if isinstance(value, Sentence) else [value]
    return Sentence(tuple(parts))


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph whose lines after the first are indented, or one line however long."""

    text: str | Sentence
    indent: str = "  "
    wraps: bool = True


Part = str | Sentence | Paragraph | AnswerTable
"""What a body is made of; an empty text is an empty line."""


@dataclass(frozen=True, slots=True)
class Caution:
    """What limits how an answer may be read; `about` names the release, where there are several."""

    text: str
    about: str = ""

    def __str__(self) -> str:
        return f"Note on {self.about}: {self.text}" if self.about else f"Note: {self.text}"


@dataclass(frozen=True, slots=True)
class Fact:
    """A number of the headline: what it is, itself, and a few words on it."""

    label: str
    value: Quantity | str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A title, what machines read, what people read in order, cautions, and the command that gives it.

    `facts` are the few numbers of a headline or of tiles, `tables` are those that can be saved as CSV files,
    `figures` the pictures that can be drawn, each by name. `summary` is what `print` shows of the result, in
    one line.

    >>> epsilon = Quantity(2.5, digits=3)
    >>> answer = Answer("ten counts", {"epsilon": epsilon}, (sentence("Epsilon is {e}.", e=epsilon),))
    >>> answer.objects, [str(part) for part in answer.body]
    ({'epsilon': 2.5}, ['Epsilon is 2.50.'])
    """

    title: str
    record: Mapping[str, object] = field(default_factory=dict)
    body: tuple[Part, ...] = ()
    facts: tuple[Fact, ...] = ()
    cautions: tuple[Caution, ...] = ()
    tables: Mapping[str, AnswerTable] = field(default_factory=dict)
    command: str = ""
    summary: str | Sentence = ""
    figures: Mapping[str, Drawable] = field(default_factory=dict)

    @property
    def objects(self) -> dict[str, object]:
        """What machines read, made of what JSON has."""
        return {key: machine(value) for key, value in self.record.items()}


def machine(value: object) -> object:
    """Return a value as JSON has it: quantities by their numbers, tables by their rows.

    >>> machine({"rows": (Quantity(1, digits=3), None), "kind": "exact"})
    {'rows': [1, None], 'kind': 'exact'}
    """
    if isinstance(value, Quantity):
        return value.machine
    if isinstance(value, AnswerTable):
        return value.objects
    if isinstance(value, Sentence):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): machine(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [machine(item) for item in value]
    return value


def text(cell: Cell) -> str:
    """Write a cell for people; nothing is a dash.

    >>> text(Quantity(0.5)), text(None), text((6, 6))
    ('0.500000', '-', '6, 6')
    """
    if cell is None:
        return "-"
    if isinstance(cell, list | tuple):
        return ", ".join(map(text, cell))
    return str(cell)
