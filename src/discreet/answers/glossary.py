"""The terms of the package: what they mean exactly, and in plain words for those who decide.

`glossary.toml` holds both. The page docs/glossary.md, the glossary of a report and `discreet help TERM` are
made of it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NotRequired, TypedDict, cast

from discreet.answers.answer import Answer, Glossary, Paragraph

NO_TERM: dict[str, str | None] = {"term": None, "in_plain_words": None, "meaning": None}
"""What machines read of a topic that is no term."""

_FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True, slots=True)
class TermRow:
    """A row of the glossary: its terms, and what they mean, in Markdown.

    >>> TermRow("bound of a sum", "the most").links
    ('bound-of-a-sum',)
    """

    terms: str
    meaning: str
    linked: tuple[str, ...] = ()

    @property
    def links(self) -> tuple[str, ...]:
        """The words by which pages link it."""
        return self.linked or tuple(term.replace(" ", "-") for term in self.terms.split(", "))


@cache
def glossary_rows() -> tuple[TermRow, ...]:
    """Return the rows of the glossary, in the order of its page.

    >>> glossary_rows()[0].terms
    'account'
    """
    return tuple(
        TermRow(row["terms"], row["meaning"], tuple(row.get("linked", ()))) for row in _stated()["rows"]
    )


@cache
def in_plain_words() -> Mapping[str, str]:
    """Return the terms of a report, in the order of the alphabet, whatever the case of letters.

    >>> in_plain_words()["calibration"]
    'Choosing the smallest noise that still keeps a promise.'
    """
    return _stated()["plain"]


def glossary_section() -> Answer:
    """Return the terms of a report.

    >>> len(glossary_section().body[0].terms)
    17
    """
    return Answer("Glossary", body=(Glossary(in_plain_words()),))


def glossary_terms() -> tuple[str, ...]:
    """Return all terms that can be asked about, in the order of the alphabet.

    >>> {"epsilon", "ledger", "path", "zCDP"} <= set(glossary_terms())
    True
    """
    return tuple(sorted({*_of_words().values()}, key=str.casefold))


def term_of(asked: str) -> str | None:
    """Return the term that is meant: in the plural too, with hyphens or without, in any case of letters.

    >>> term_of("Paths"), term_of("trade-off curves"), term_of("queries"), term_of("nonsense")
    ('path', 'trade-off curve', 'query', None)
    """
    word = _key(asked)
    meant = (word, word.removesuffix("s"), re.sub("ies$", "y", word))
    return next((_of_words()[one] for one in meant if one in _of_words()), None)


def term_answer(term: str) -> Answer:
    """Say what a term means: in plain words, if a report explains it, and exactly.

    >>> plain, exact = term_answer("epsilon").body
    >>> plain.text[:30], exact.text[:68]
    ('epsilon: The measure of what i', 'Exactly: the two numbers of approximate differential privacy: whatev')
    """
    plain = in_plain_words().get(term)
    row = next((row for row in glossary_rows() if _key(term) in map(_key, row.links)), None)
    meaning = None if row is None else re.sub(r"(?<=[^.])$", ".", _without_marks(row.meaning))
    said = []
    if plain is not None:
        said.append(Paragraph(f"{term}: {plain}"))
    if row is not None:
        said.append(Paragraph(f"{'Exactly' if plain else row.terms}: {meaning}"))
    return Answer(term, NO_TERM | {"term": term, "in_plain_words": plain, "meaning": meaning}, tuple(said))


class _Stated(TypedDict):
    """What the file says."""

    rows: list[_StatedRow]
    plain: dict[str, str]


class _StatedRow(TypedDict):
    terms: str
    meaning: str
    linked: NotRequired[list[str]]


def _stated() -> _Stated:
    return cast("_Stated", tomllib.loads(_FILE.read_text(encoding="utf-8")))


@cache
def _of_words() -> Mapping[str, str]:
    """Return each term, by how it is looked up."""
    links = {_key(link): link for row in glossary_rows() for link in row.links}
    terms = {_key(term): term for row in glossary_rows() for term in row.terms.split(", ")}
    named = {key: terms.get(key, link.replace("-", " ")) for key, link in links.items()}
    return named | {_key(term): term for term in in_plain_words()}


def _key(word: str) -> str:
    return word.casefold().replace("-", " ").replace("neighbor", "neighbour").strip()


def _without_marks(markdown: str) -> str:
    """Return a text without the marks of Markdown.

    >>> _without_marks("the *cost*, [`zCDP`](accounting.md)")
    'the cost, zCDP'
    """
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown)
    return re.sub(r"`([^`]*)`", r"\1", re.sub(r"(?<!\w)\*([^*]+)\*(?!\w)", r"\1", words)).replace(r"\|", "|")
