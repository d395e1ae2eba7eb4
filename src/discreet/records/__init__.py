"""Records of people and households: how they are read, checked, joined and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.records.record_check import RecordCheck, check_records
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.records.record_check": "RecordCheck check_records",
        },
    )

__all__ = [
    "RecordCheck",
    "check_records",
]
