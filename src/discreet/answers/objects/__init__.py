"""The keys that commands print with --json: one type an object, from which its JSON Schema is made.

A program may rely on them (docs/reference/stability.md). The tests compare what every command prints with its
type, so that a key that comes or goes is one here too. Guests declare their own, in `objects.py`.
"""

from __future__ import annotations

from discreet.answers.objects.shared import Claims, ScopeKeys

DESCRIPTIONS = {
    "answer": "The kind of the numbers: exact, a bound, a model, or of the main path only.",
    "cautions": "What limits how the answer may be read.",
    "delta": "The delta of a promise (epsilon, delta).",
    "epsilon": "The epsilon of a promise (epsilon, delta).",
    "files": "The files written.",
    "ledger": "The ledger, which keeps count of what runs spend.",
    "not_private": "Whether the output protects nobody: a rehearsal.",
    "problems": "All that is wrong.",
    "release": "The name of the release.",
    "rho": "zCDP's rho; an exact fraction if it is a text.",
    "seconds": "How long it took.",
    "unit": "What a record is of, such as a person; in tables the area.",
}
"""What is said of a key wherever it stands."""

SHARED: dict[str, object] = {"claims": Claims, "scope": ScopeKeys}
"""Types that a schema defines once and refers to."""
