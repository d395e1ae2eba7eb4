"""On which line of a TOML text a key stands, for messages."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

Place = tuple[str | int, ...]
"""A key with all that it stands in: `("levels", 2, "queries", "total")`."""


_BLANK = re.compile(r"(?:[ \t\r\n,]|#[^\n]*)*")
_KEY = re.compile(r"[ \t]*(?:([A-Za-z0-9_-]+)|(\"(?:\\.|[^\"\\\n])*\")|('[^'\n]*'))[ \t]*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_BARE = re.compile(r"[^,\]}\n#]*")


def key_lines(text: str) -> dict[Place, int]:
    """Return the line, counted from 1, of every table, key and list item.

    >>> key_lines('name = "a"\\n[[levels]]\\nrho = 1\\n[levels.queries]\\ntotal = { share = 1 }')[
    ...     ("levels", 0, "queries", "total")]
    5
    """
    return _Scanner(text).scan()


def nearest_line(lines: dict[Place, int], place: Place) -> int | None:
    """Return the line of a place, or of the nearest enclosing place that has one.

    >>> nearest_line({("levels", 0): 7}, ("levels", 0, "rho"))
    7
    """
    while place:
        if place in lines:
            return lines[place]
        place = place[:-1]
    return None


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.breaks = [match.start() for match in re.finditer("\n", text)]
        self.lines: dict[Place, int] = {}
        self.counts: dict[Place, int] = {}

    def scan(self) -> dict[Place, int]:
        table: Place = ()
        at = self.blank(0)
        while at < len(self.text):
            if self.text[at] == "[":
                table, at = self.header(at)
            else:
                at = self.pair(table, at)
            at = self.blank(at)
        return self.lines

    def note(self, place: Place, at: int) -> None:
        """Note the line of a place, and of the dotted keys around it, unless already noted."""
        number = bisect_right(self.breaks, at - 1) + 1
        for length in range(1, len(place) + 1):
            self.lines.setdefault(place[:length], number)

    def blank(self, at: int) -> int:
        match = _BLANK.match(self.text, at)
        return match.end() if match else at

    def header(self, at: int) -> tuple[Place, int]:
        many = self.text.startswith("[[", at)
        parts, end = self.key(at + (2 if many else 1))
        place: Place = ()
        for depth, part in enumerate(parts, start=1):
            place = (*place, part)
            if many and depth == len(parts):
                self.counts[place] = self.counts.get(place, -1) + 1
            if place in self.counts:
                place = (*place, self.counts[place])
        self.note(place, at)
        return place, end + (2 if many else 1)

    def pair(self, table: Place, at: int) -> int:
        parts, end = self.key(at)
        place = (*table, *parts)
        self.note(place, at)
        return self.value(place, self.blank(end + 1))

    def key(self, at: int) -> tuple[list[str], int]:
        parts = []
        while match := _KEY.match(self.text, at):
            bare, basic, literal = match.groups()
            if bare is not None:
                parts.append(bare)
            elif literal is not None:
                parts.append(literal[1:-1])
            else:
                parts.append(next(iter(tomllib.loads(f"{basic} = 0"))) if "\\" in basic else basic[1:-1])
            at = match.end()
            if not self.text.startswith(".", at):
                break
            at += 1
        return parts, at

    def value(self, place: Place, at: int) -> int:
        first = self.text[at : at + 1]
        if first in ("[", "{"):
            close = "]" if first == "[" else "}"
            at, item = self.blank(at + 1), 0
            while at < len(self.text) and self.text[at] != close:
                if first == "[":
                    self.note((*place, item), at)
                    at, item = self.value((*place, item), at), item + 1
                else:
                    at = self.pair(place, at)
                at = self.blank(at)
            return at + 1
        match = (_STRING if first in ("'", '"') else _BARE).match(self.text, at)
        return match.end() if match else len(self.text)
