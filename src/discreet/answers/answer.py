"""What a result tells, before anybody looks at it: a title, sentences, tables, cautions and pictures.

An answer is a small frozen record. `record` is what machines read, under the keys that a program may rely on;
`body` is what people read, in order. Both hold the same quantities and tables, so that they cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Literal

from discreet.answers.figure import Drawable
from discreet.answers.quantity import Claimed, Quantity

Cell = object
"""What a table has in one place: a quantity, a text, a number, None; for machines alone anything JSON has."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title for people, its key for machines; without one of them the other alone sees it.

    On a page a column of shares has a bar beside each number.
    """

    title: str = ""
    key: str = ""
    is_text: bool = False
    is_share: bool = False


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """Rows of typed cells; `note` says what the numbers are.

    With `groups`, rows that share their first cell belong together, and a page writes it once.

    >>> level, sd = Column("level", "level", is_text=True), Column("std. dev.", "sd")
    >>> AnswerTable((level, sd), (("State", Quantity(2.5, digits=3)),)).objects
    [{'level': 'State', 'sd': 2.5}]
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    note: str = ""
    groups: bool = False

    def taking(self, titles: Mapping[str, str], title: str = "") -> AnswerTable:
        """Return the columns with these keys, in this order, under other titles.

        >>> every = AnswerTable((Column("level", "level"), Column("sd", "sd")), (("State", 2.5),))
        >>> every.taking({"sd": "standard deviation"}).head[0].title
        'standard deviation'
        """
        places = {column.key: number for number, column in enumerate(self.columns)}
        taken = [places[key] for key in titles]
        columns = tuple(
            replace(self.columns[number], title=text)
            for number, text in zip(taken, titles.values(), strict=True)
        )
        rows = tuple(tuple(row[number] for number in taken) for row in self.rows)
        return replace(self, columns=columns, rows=rows, title=title or self.title)

    @property
    def objects(self) -> list[dict[str, object]]:
        """The rows as machines have them."""
        keys = [column.key for column in self.columns]
        rows = ({key: cell for key, cell in zip(keys, row, strict=True) if key} for row in self.rows)
        return [_as_json(row) for row in rows]

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


Role = Literal["strong", "name", "query", "term", "code", "proof", "whole", "quiet"]
"""Why a page sets words apart: they matter most, are a name that somebody chose, a term of the glossary, what
is typed, a proof, what stays on one line, or what matters less."""


@dataclass(frozen=True, slots=True)
class Marked:
    """Words of a sentence that a page sets apart; where there is only text they stand as they are."""

    parts: tuple[str | Quantity | Marked, ...]
    role: Role

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words and quantities, in order; `str` writes them."""

    parts: tuple[str | Quantity | Marked, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


Words = str | Quantity | Marked | Sentence
"""What can stand in a sentence."""


def marked(words: Words, role: Role) -> Marked:
    """Return words that a page sets apart.

    >>> print(sentence("Epsilon is {e}.", e=marked(Quantity(2.5, digits=2), "strong")))
    Epsilon is 2.5.
    """
    return Marked(words.parts if isinstance(words, Sentence) else (words,), role)


def joined_words(words: Iterable[Words], between: str = " ") -> Sentence:
    """Return several sentences, or the items of a list, as one sentence.

    >>> print(joined_words(["State", Quantity(3, digits=1)], ", "))
    State, 3
    """
    parts: list[str | Quantity | Marked] = []
    for word in words:
        parts += [between] if parts else []
        parts += word.parts if isinstance(word, Sentence) else [word]
    return Sentence(tuple(parts))


def sentence(template: str, /, **quantities: Words) -> Sentence:
    """Return a sentence with quantities, or words that hold some, in their places.

    >>> print(sentence("At delta {delta} epsilon is {epsilon}.", delta="1e-10", epsilon=Quantity(2.5)))
    At delta 1e-10 epsilon is 2.50000.
    """
    parts: list[str | Quantity | Marked] = []
    for words, name, _, _ in Formatter().parse(template):
        parts += [words] if words else []
        if name is not None:
            value = quantities[name]
            parts += value.parts if isinstance(value, Sentence) else [value]
    return Sentence(tuple(parts))


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph whose lines after the first are indented, or one line however long.

    On a page it may be the headline, a warning, or what matters less.
    """

    text: str | Sentence
    indent: str = "  "
    wraps: bool = True
    role: Literal["", "headline", "warning", "quiet"] = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of some parts of a body."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list; `role` is how a page shows it."""

    items: tuple[str | Sentence, ...]
    role: Literal["", "plain", "adversaries"] = ""


@dataclass(frozen=True, slots=True)
class Glossary:
    """Terms and what they mean, to which a page links the terms in its sentences."""

    terms: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Lines to copy as they are: commands, or a file under its title, which a page folds away."""

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Illustration:
    """Where the picture of this name stands, with what it shows for those who cannot see it."""

    name: str
    title: str
    shows: Sentence
    caption: str


@dataclass(frozen=True, slots=True)
class Caution:
    """What limits how an answer may be read; `about` names the release, where there are several. A `loud` one
    says that the answer may be wrong.

    >>> print(Caution("The numbers contradict each other.", loud=True))
    WARNING: The numbers contradict each other.
    """

    text: str
    about: str = ""
    loud: bool = False

    def __str__(self) -> str:
        head = "WARNING" if self.loud else "Note"
        return f"{head} on {self.about}: {self.text}" if self.about else f"{head}: {self.text}"


@dataclass(frozen=True, slots=True)
class Fact:
    """A number of the headline: what it is, itself, a few words on it, and what is proved of it."""

    label: str | Sentence
    value: Quantity | str
    note: str | Sentence = ""
    proof: str | Sentence = ""


@dataclass(frozen=True, slots=True)
class Cards:
    """Where a body shows numbers of the headline side by side."""

    facts: tuple[Fact, ...]


Part = (
    str | Sentence | Paragraph | AnswerTable | Heading | Bullets | Glossary | Verbatim | Illustration | Cards
)
"""What a body is made of; an empty text is an empty line."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A title, what machines read, what people read in order, cautions, and the command that gives it.

    `facts` are the few numbers of a headline or of tiles, `tables` are those that can be saved as CSV files,
    `figures` the pictures that can be drawn, each by name; `on_request` are those that take seconds, drawn
    only when somebody asks for one. `summary` is what `print` shows of the result, in one line.

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
    on_request: Mapping[str, Drawable] = field(default_factory=dict)

    @property
    def objects(self) -> dict[str, object]:
        """What machines read, made of what JSON has."""
        return _as_json(self.record)

    @property
    def scopes(self) -> tuple[Caution, ...]:
        """What the claims in it are true of, where that is less than the whole and the body does not say so.

        >>> from discreet.answers.quantity import NumberKind
        >>> from discreet.budget.scope import Scope
        >>> scope = Scope.whole("survey", unit="person", neighbours="bounded").without("one table")
        >>> epsilon = Claimed(value=2.5, kind=NumberKind.EXACT, scope=scope)
        >>> print(*Answer("a survey", body=(sentence("Epsilon is {e}.", e=epsilon),)).scopes)
        Note: These numbers are about survey, without one table.
        >>> Answer("a survey", body=(f"Epsilon is {epsilon.claimed}.",)).scopes
        ()
        """
        claims = _claims((self.body, self.facts, self.tables, self.record))
        scopes = dict.fromkeys(claim.scope for claim in claims)
        said = list(_said(self.body))
        text, numbers = " ".join(said), "These numbers" if len(scopes) == 1 else "Some of these numbers"
        partial = (scope for scope in scopes if not scope.is_whole and not scope.is_said_in(text, said))
        return tuple(Caution(scope.sentence_about(numbers)) for scope in partial)


def machine(value: object) -> object:
    """Return a value as JSON has it: quantities by their numbers, tables by their rows.

    >>> machine({"rows": (Quantity(1, digits=3), None), "kind": "exact"})
    {'rows': [1, None], 'kind': 'exact'}
    """
    if isinstance(value, Quantity):
        return value.machine
    if isinstance(value, AnswerTable):
        return value.objects
    if isinstance(value, Sentence | Marked):
        return str(value)
    if isinstance(value, Mapping):
        return _as_json(value)
    if isinstance(value, list | tuple):
        return [machine(item) for item in value]
    return value


def _as_json(record: Mapping[str, object]) -> dict[str, object]:
    """A record as JSON has it; beside the numbers in it, what each of them claims and of what.

    >>> from discreet.answers.quantity import NumberKind
    >>> from discreet.budget.scope import Scope
    >>> scope = Scope.whole("survey", unit="person", neighbours="bounded")
    >>> epsilon = Claimed(value=2.5, kind=NumberKind.AT_MOST, scope=scope)
    >>> made = _as_json({"delta": Quantity(0.1), "epsilon": epsilon})
    >>> made["epsilon"], list(made["claims"]), made["claims"]["epsilon"]["kind"]
    (2.5, ['epsilon'], 'at most')
    """
    made: dict[str, object] = {str(key): machine(item) for key, item in record.items()}
    claims = {str(key): item.claim_document for key, item in record.items() if isinstance(item, Claimed)}
    return made | {"claims": claims} if claims else made


def _said(value: object) -> Iterator[str]:
    """The sentences in a part of a body."""
    if isinstance(value, str | Sentence):
        yield str(value)
    elif isinstance(value, tuple):
        for item in value:
            yield from _said(item)
    elif isinstance(value, Bullets):
        yield from _said(value.items)
    elif isinstance(value, Paragraph):
        yield str(value.text)


def _claims(value: object) -> Iterator[Claimed]:
    """All claims in a part of an answer, however deep."""
    if isinstance(value, Claimed):
        yield value
    elif isinstance(value, Mapping):
        yield from _claims(tuple(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _claims(item)
    elif isinstance(value, Sentence | Marked):
        yield from _claims(value.parts)
    elif isinstance(value, AnswerTable):
        yield from _claims(value.rows)
    elif isinstance(value, Bullets):
        yield from _claims(value.items)
    elif isinstance(value, Cards):
        yield from _claims(value.facts)
    elif isinstance(value, Paragraph):
        yield from _claims(value.text)
    elif isinstance(value, Fact):
        yield from _claims((value.label, value.value, value.note, value.proof))


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
