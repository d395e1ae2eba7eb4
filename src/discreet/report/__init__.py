"""What a reader sees: rows of tables, curves as data, plots and words. Nothing here computes privacy.

>>> import discreet.report
>>> discreet.report.plot_profile.__name__
'plot_profile'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.report.figures import (
        Profile,
        TradeOffCurve,
        plot_profile,
        plot_tradeoff,
        sample_profile,
        sample_tradeoff,
    )
    from discreet.report.tables import PrivacyRow, delta_rows, epsilon_rows

__all__ = [
    "PrivacyRow",
    "Profile",
    "TradeOffCurve",
    "delta_rows",
    "epsilon_rows",
    "plot_profile",
    "plot_tradeoff",
    "sample_profile",
    "sample_tradeoff",
]

_HOMES = {
    "figures": (
        "Profile",
        "TradeOffCurve",
        "plot_profile",
        "plot_tradeoff",
        "sample_profile",
        "sample_tradeoff",
    ),
    "tables": ("PrivacyRow", "delta_rows", "epsilon_rows"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: a list of presets needs no NumPy."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"discreet.report.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
