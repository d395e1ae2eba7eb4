"""The tables and figures of the papers, recomputed by this package beside the printed values.

>>> from discreet.studies import find
>>> (entry,) = find("variance-deficit")
>>> [(check.printed.text, check.verdict.value) for check in entry.compute().checks][0]
('5.8e-34', 'confirmed')
"""

from __future__ import annotations

from discreet.studies.answer import verdicts
from discreet.studies.register import (
    Compared,
    Printed,
    Study,
    StudyEntry,
    Verdict,
    find,
    printed,
    register,
    studies,
)

__all__ = [
    "Compared",
    "Printed",
    "Study",
    "StudyEntry",
    "Verdict",
    "find",
    "printed",
    "register",
    "studies",
    "verdicts",
]
