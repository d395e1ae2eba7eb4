"""Counts become noisy measurements, or tables without noise; both from records or from counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.measurement.drafting import Draft, draft
    from discreet.measurement.example import write_example
    from discreet.measurement.measuring import POSTS, Measured, measure
    from discreet.measurement.tabulating import Tabulated, tabulate
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.measurement.drafting": "Draft draft",
            "discreet.measurement.example": "write_example",
            "discreet.measurement.measuring": "POSTS Measured measure",
            "discreet.measurement.tabulating": "Tabulated tabulate",
        },
    )

__all__ = [
    "POSTS",
    "Draft",
    "Measured",
    "Tabulated",
    "draft",
    "measure",
    "tabulate",
    "write_example",
]
