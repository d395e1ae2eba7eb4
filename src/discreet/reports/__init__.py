"""What a reader sees: rows of tables, curves as data, plots and words. Nothing here computes privacy.

>>> import discreet.reports
>>> discreet.reports.plot_profile.__name__
'plot_profile'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.comparisons.costs import PrivacyRow, delta_rows, epsilon_rows
    from discreet.comparisons.sampling import Profile, TradeOffCurve, sample_profile, sample_tradeoff
    from discreet.reports.plots import plot_profile, plot_tradeoff
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.comparisons.costs": "PrivacyRow delta_rows epsilon_rows",
            "discreet.comparisons.sampling": "Profile TradeOffCurve sample_profile sample_tradeoff",
            "discreet.reports.plots": "plot_profile plot_tradeoff",
        },
    )

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
