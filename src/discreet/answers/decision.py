"""What was decided about a release, by whom, when and why: as given, and blank where nothing was."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from discreet.answers.answer import Answer, AnswerTable, Column
from discreet.budget.toml import line
from discreet.errors import InputError

_BLANK = "not filled in when this page was made: " + "_" * 24
_ASKED = {
    "decided": "What was decided",
    "decided_by": "By whom",
    "decided_on": "When",
    "reason": "Why",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision; a field that is empty was not filled in.

    >>> Decision(decided_on="in March")
    Traceback (most recent call last):
    discreet.errors.InputError: decided_on is 'in March'; it must be a date such as 2026-03-01
    """

    decided: str = ""
    decided_by: str = ""
    decided_on: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        for name in _ASKED:
            line(getattr(self, name), name=name, field=(name,), empty=True)
        if self.decided_on:
            try:
                date.fromisoformat(self.decided_on)
            except ValueError:
                raise InputError(
                    f"decided_on is {self.decided_on!r}; it must be a date such as 2026-03-01"
                ) from None


def decision_section(decision: Decision) -> Answer:
    """Return the record of a decision; what is blank says so, with room to write.

    >>> for row in decision_section(Decision(decided="Plan 2", decided_by="A. Example")).body[0].cells[:3]:
    ...     print(*row, sep=" | ")
    What was decided | Plan 2
    By whom | A. Example
    When | not filled in when this page was made: ________________________
    """
    rows = tuple((asked, getattr(decision, name) or _BLANK) for name, asked in _ASKED.items())
    columns = (Column("question", is_text=True), Column("answer", is_text=True))
    return Answer(
        "The record of the decision",
        body=(AnswerTable(columns, rows, "What was decided, by whom, when and why"),),
    )
