"""All problems of the inputs in one report: of each kind the first lines, never a value of the data.

The person records are confidential and a shifted row could carry anything anywhere, so what stands in
a file is not repeated: the file, the lines, the field and what is allowed must do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from discreet.errors import InputError

MOST = 20
"""Lines named of one kind of problem."""


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
    discreet.errors.InputError: a level is not 0, 1 or 2 (race.txt, field LEVEL, lines 3 and 9)
    """

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str, str], _Kind] = {}

    def __bool__(self) -> bool:
        return bool(self._kinds)

    @property
    def count(self) -> int:
        """How many kinds of problems were found."""
        return len(self._kinds)

    def at(self, text: str, *, file: str, line: int | None = None, field: str = "") -> None:
        """Report one place; places of the same text, file and field are one kind."""
        self.many(text, file=file, lines=() if line is None else (line,), total=1, field=field)

    def many(self, text: str, *, file: str, lines: Iterable[int], total: int, field: str = "") -> None:
        """Report `total` places at once, of which `lines` are the first; nothing if there are none."""
        if total <= 0:
            return
        kind = self._kinds.setdefault((text, file, field), _Kind())
        kind.count += total
        for line in lines:
            if len(kind.lines) >= MOST:
                break
            kind.lines.append(line)

    def texts(self) -> list[str]:
        """Return one line of text for each kind, in the order in which they were found."""
        return [
            f"{text} ({', '.join(part for part in (file, _named(field), _spots(kind)) if part)})"
            for (text, file, field), kind in self._kinds.items()
        ]

    def stop(self) -> None:
        """Raise if there is any problem."""
        texts = self.texts()
        if len(texts) == 1:
            raise InputError(texts[0])
        if texts:  # numbered, for the command line puts them into one line
            lines = [f"  {place}. {text}" for place, text in enumerate(texts, 1)]
            raise InputError(f"{len(texts)} kinds of problems:\n" + "\n".join(lines))


def _named(field: str) -> str:
    return f"field {field}" if field else ""


def _spots(kind: _Kind) -> str:
    """Write `line 3`, `lines 3, 9 and 12`, or `lines 3, 9 and 40 more`."""
    if not kind.lines:
        return f"{kind.count} times" if kind.count > 1 else ""
    rest = kind.count - len(kind.lines)
    words = [str(line) for line in kind.lines] + ([f"{rest} more"] if rest else [])
    if len(words) == 1:
        return f"line {words[0]}"
    return f"lines {', '.join(words[:-1])} and {words[-1]}"
