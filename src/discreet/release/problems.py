"""All problems of the inputs in one report: of each kind the first places, never a value of the data.

Records and counts are confidential, and a row whose fields are shifted could carry anything anywhere, so what
stands in a file is not repeated: the file, the lines, the field and what is allowed must do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError

MOST = 20
"""Places named of one kind of problem, and kinds in one report."""


@dataclass(slots=True)
class _Kind:
    lines: list[int] = field(default_factory=list)
    count: int = 0


class Problems:
    """Collect problems by kind, then raise them together.

    >>> problems = Problems()
    >>> for line in (3, 9):
    ...     problems.at("a level is not 0, 1 or 2", file="race.txt", line=line, field="LEVEL")
    >>> problems.stop()
    Traceback (most recent call last):
    discreet.errors.InputError: a level is not 0, 1 or 2 (lines 3 and 9 of race.txt, field LEVEL)

    Those of one table, whose rows are known by masks:

    >>> problems = Problems("counts.csv", first_line=2)
    >>> problems.rows(np.array([False, True, True]), "a count is below zero", "count")
    >>> problems.stop()
    Traceback (most recent call last):
    discreet.errors.InputError: a count is below zero (lines 3 and 4 of counts.csv, field count)
    """

    def __init__(self, where: str = "", *, first_line: int = 1, word: str = "line") -> None:
        """Of any files, or of the table `where`, whose row 0 is `first_line`; a place is called by `word`."""
        self.where, self._first, self._word = where, first_line, word
        self._kinds: dict[tuple[str, str, str], _Kind] = {}

    def __bool__(self) -> bool:
        return bool(self._kinds)

    @property
    def count(self) -> int:
        """How many kinds of problems were found."""
        return len(self._kinds)

    def at(self, text: str, *, file: str = "", line: int | None = None, field: str = "") -> None:
        """Report one place; places of the same text, file and field are one kind."""
        self.many(text, file=file, lines=() if line is None else (line,), total=1, field=field)

    def many(self, text: str, *, file: str = "", lines: Iterable[int], total: int, field: str = "") -> None:
        """Report `total` places at once, of which `lines` are the first; nothing if there are none."""
        if total <= 0:
            return
        kind = self._kinds.setdefault((text, file or self.where, field), _Kind())
        kind.count += total
        for line in lines:
            if len(kind.lines) >= MOST:
                break
            kind.lines.append(line)

    def rows(self, wrong: NDArray[np.bool_], text: str, column: str) -> None:
        """Report the rows of the table where a mask is true."""
        found = np.flatnonzero(wrong)
        self.many(text, lines=(found[:MOST] + self._first).tolist(), total=int(found.size), field=column)

    def row(self, row: int, text: str, column: str) -> None:
        """Report one row of the table."""
        self.at(text, line=row + self._first, field=column)

    def say(self, text: str) -> None:
        """Report what is wrong with the table as a whole."""
        self.at(text)

    def line(self, row: int) -> str:
        """Name a row of the table as a person finds it in the file."""
        return f"{self._word} {row + self._first}"

    def texts(self) -> list[str]:
        """Return one line of text for each kind, in the order in which they were found."""
        return [
            f"{text} ({self._spots(file, kind)}{file}{f', field {field}' if field else ''})"
            for (text, file, field), kind in self._kinds.items()
        ]

    def stop(self) -> None:
        """Raise if there is any problem."""
        texts = self.texts()
        if len(texts) == 1:
            raise InputError(texts[0])
        if texts:  # numbered, for the command line puts them into one line
            lines = [f"  {place}. {text}" for place, text in enumerate(texts[:MOST], 1)]
            raise InputError(f"{len(texts)} kinds of problems:\n" + "\n".join(lines))

    def _spots(self, file: str, kind: _Kind) -> str:
        """Write `line 3 of `, `lines 3, 9 and 12 of `, or `lines 3, 9 and 40 more of `."""
        if not kind.lines:
            return f"{kind.count} times in " if kind.count > 1 else ""
        rest = kind.count - len(kind.lines)
        words = [str(line) for line in kind.lines] + ([f"{rest} more"] if rest else [])
        many = f"s {', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else f" {words[0]}"
        return f"{'row' if file.endswith('.parquet') else self._word}{many} of "
