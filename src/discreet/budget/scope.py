"""Of what a number is true: the releases, the unit and its neighbours, and which part of each was looked at.

A number that is true of one pair of paths, one cell or one query is false of the whole. So a computation
says what it went through (`Extent.of` compares what was taken with all there is), a claim carries it, and
every surface writes it where it is less than the whole. Nothing here has a default: who claims must say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

MOST_NAMED = 4
"""Parts that are named one by one, at most."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How many parts of one sort were looked at, of how many there are.

    >>> Extent.of("pair of paths", taken=["(4, 4)"], every=["(1, 1)", "(1, 4)", "(4, 4)"]).words
    'the pair of paths (4, 4), 1 of 3'
    >>> Extent.of("pair of paths", taken=range(946), every=range(946)).words
    'all 946 pairs of paths'
    """

    noun: str
    """One part, such as "pair of paths" or "query"."""
    taken: int
    every: int
    names: tuple[str, ...]
    """The parts taken, where they are few and not all."""

    @classmethod
    def of(cls, noun: str, *, taken: Iterable[object], every: Iterable[object]) -> Extent:
        """Return how much of `every` was taken; what is taken must be part of it.

        >>> Extent.of("query", taken=["ages"], every=["total"])
        Traceback (most recent call last):
        ValueError: ages is no query of total
        """
        whole = list(dict.fromkeys(every))
        part = list(dict.fromkeys(taken))
        if len(part) == len(whole) and part == whole:
            return cls(noun, len(part), len(whole), ())
        known = set(whole)
        strange = [str(text) for text in part if text not in known]
        if strange:
            raise ValueError(f"{strange[0]} is no {noun} of {', '.join(map(str, whole[:MOST_NAMED]))}")
        few = len(part) < len(whole) and len(part) <= MOST_NAMED
        return cls(noun, len(part), len(whole), tuple(map(str, part)) if few else ())

    @classmethod
    def count(cls, noun: str, *, taken: int, every: int) -> Extent:
        """Return how many of some parts were taken that have no names, such as records.

        >>> Extent.count("record", taken=299, every=300).words
        '299 of 300 records'
        """
        if not 0 <= taken <= every:
            raise ValueError(f"{taken} of {every} {_plural(noun)} is no part of them")
        return cls(noun, taken, every, ())

    @property
    def is_whole(self) -> bool:
        """Whether all parts were looked at."""
        return self.taken == self.every

    @property
    def words(self) -> str:
        """What was looked at, in a few words."""
        if self.is_whole:
            return f"the only {self.noun}" if self.every == 1 else f"all {self.every:,} {_plural(self.noun)}"
        if not self.taken:
            return f"none of {self.every:,} {_plural(self.noun)}"
        if self.names:
            noun = self.noun if self.taken == 1 else _plural(self.noun)
            return f"the {noun} {_listed(self.names)}, {self.taken} of {self.every:,}"
        return f"{self.taken:,} of {self.every:,} {_plural(self.noun)}"

    @property
    def left_words(self) -> str:
        """How many parts were not looked at; empty if all were.

        >>> Extent.of("run through files", taken=range(2), every=range(200)).left_words
        '198 of 200 runs through files'
        """
        left = self.every - self.taken
        return f"{left:,} of {self.every:,} {_plural(self.noun)}" if left else ""

    def document(self) -> dict[str, object]:
        """Return it as JSON has it.

        >>> Extent.of("cell", taken=["a"], every=["a", "b"]).document()
        {'part': 'cell', 'taken': 1, 'of': 2, 'names': ['a']}
        """
        return {"part": self.noun, "taken": self.taken, "of": self.every, "names": list(self.names)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Of what a claim is true.

    >>> pairs = Extent.of("pair of paths", taken=["(4, 4)"], every=["(1, 1)", "(4, 4)"])
    >>> one = Scope.whole("survey", unit="person", neighbours="bounded").with_part(pairs)
    >>> one.is_whole, one.words
    (False, 'the pair of paths (4, 4), 1 of 2')
    >>> one.sentence
    'These numbers are about part of survey only: the pair of paths (4, 4), 1 of 2.'
    """

    of: tuple[str, ...]
    """The releases, runs or tables."""
    unit: str
    """Whose change is compared: "person", "household"; empty where nobody's is."""
    neighbours: str
    """The relation: "bounded", "unbounded"; empty where there is none."""
    people: int
    parts: tuple[Extent, ...]
    """What was looked at of them: cases, levels, queries, cells, laws, columns."""
    left_out: tuple[str, ...]
    """What belongs to it and was not looked at, in words."""

    @classmethod
    def whole(cls, *of: str, unit: str, neighbours: str, people: int = 1) -> Scope:
        """Return the scope of all of some things; a computation then says which parts it looked at."""
        return cls(of=of, unit=unit, neighbours=neighbours, people=people, parts=(), left_out=())

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out."""
        return not self.left_out and all(part.is_whole for part in self.parts)

    @property
    def words(self) -> str:
        """What the claim is about where that is less than the whole; empty if it is the whole."""
        partial = [part.words for part in self.parts if not part.is_whole]
        left = [f"without {text}" for text in self.left_out]
        return ", ".join([*partial, *left])

    @property
    def sentence(self) -> str:
        """One sentence on what is less than the whole; empty if it is the whole."""
        return self.sentence_about("These numbers")

    def sentence_about(self, numbers: str) -> str:
        """Write the sentence about some numbers; empty if they are about the whole.

        >>> survey = Scope.whole("survey", unit="person", neighbours="bounded")
        >>> survey.without("one table").sentence_about("Some of these numbers")
        'Some of these numbers are about survey, without one table.'
        """
        if self.is_whole:
            return ""
        if all(part.is_whole for part in self.parts):
            return f"{numbers} are about {_listed(self.of)}, {self.words}."
        return f"{numbers} are about part of {_listed(self.of)} only: {self.words}."

    def is_said_in(self, text: str, items: Iterable[str]) -> bool:
        """Whether a text, or a list of what was left out, says of every part what this says.

        >>> runs = Extent.of("run through files", taken=range(2), every=range(200))
        >>> survey = Scope.whole("survey", unit="", neighbours="").with_part(runs).without("one table")
        >>> survey.is_said_in("", ["198 of 200 runs through files", "one table"]), survey.is_said_in("", [])
        (True, False)
        """
        listed = set(items)
        return all(
            part.is_whole or part.words in text or part.left_words in listed for part in self.parts
        ) and all(f"without {left}" in text or left in listed for left in self.left_out)

    def with_part(self, part: Extent) -> Scope:
        """Return the scope with one more sort of parts, or the same sort as it is now."""
        return replace(self, parts=(*(known for known in self.parts if known.noun != part.noun), part))

    def without(self, *left_out: str) -> Scope:
        """Return the scope with something named that was left out.

        >>> Scope.whole("ledger", unit="person", neighbours="bounded").without("runs about households").words
        'without runs about households'
        """
        return replace(self, left_out=tuple(dict.fromkeys((*self.left_out, *left_out))))

    @classmethod
    def joint(cls, scopes: Iterable[Scope]) -> Scope:
        """Return what claims are true of together: everything that each is about, and leaves out.

        >>> Scope.joint(Scope.whole(name, unit="person", neighbours="bounded") for name in "ab").of
        ('a', 'b')
        """
        every = list(scopes)
        if not every:
            raise ValueError("a claim about nothing has no scope")
        units, relations = {scope.unit for scope in every}, {scope.neighbours for scope in every}
        return cls(
            of=tuple(dict.fromkeys(name for scope in every for name in scope.of)),
            unit=" and ".join(sorted(units)),
            neighbours=" and ".join(sorted(relations)),
            people=max(scope.people for scope in every),
            parts=tuple(dict.fromkeys(part for scope in every for part in scope.parts)),
            left_out=tuple(dict.fromkeys(left for scope in every for left in scope.left_out)),
        )

    def document(self) -> dict[str, object]:
        """Return it as JSON, a manifest or a certificate has it.

        >>> Scope.whole("survey", unit="person", neighbours="bounded").document()["whole"]
        True
        """
        return {
            "of": list(self.of),
            "unit": self.unit,
            "neighbours": self.neighbours,
            "people": self.people,
            "whole": self.is_whole,
            "parts": [part.document() for part in self.parts],
            "left_out": list(self.left_out),
        }


def _listed(names: tuple[str, ...]) -> str:
    """Names as a sentence lists them.

    >>> _listed(("1", "3", "5"))
    '1, 3 and 5'
    """
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + [*names[-1:]])


def _plural(noun: str) -> str:
    """The plural of a noun, which may go on after its first word.

    >>> [_plural(noun) for noun in ("pair of paths", "query", "case")]
    ['pairs of paths', 'queries', 'cases']
    """
    head, *rest = noun.split(" ", 1)
    head = f"{head[:-1]}ies" if head.endswith("y") else f"{head}s"
    return " ".join([head, *rest])
