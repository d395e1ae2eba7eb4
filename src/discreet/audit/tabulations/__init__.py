"""Audits of tabulations of detailed groups, a guest: what `discreet risk audit` does with `--data`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.audit.tabulations.runs import audit_tabulation
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.audit.tabulations.runs": "audit_tabulation",
        },
    )

__all__ = ["audit_tabulation"]
