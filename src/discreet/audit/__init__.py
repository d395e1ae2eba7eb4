"""Audits of mechanisms and of ledgers' runs, a guest: the command `discreet risk audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.audit.runs import audit_mechanism, audit_release
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.audit.runs": "audit_mechanism audit_release",
        },
    )

__all__ = [
    "audit_mechanism",
    "audit_release",
]
