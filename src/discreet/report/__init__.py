"""What a reader sees: rows of tables, curves as data, plots and words. Nothing here computes privacy.

>>> import discreet.report
>>> discreet.report.plot_profile.__name__
'plot_profile'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.accounting.costs import PrivacyRow, delta_rows, epsilon_rows
    from discreet.accounting.sampling import Profile, TradeOffCurve, sample_profile, sample_tradeoff
    from discreet.report.plots import plot_profile, plot_tradeoff

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


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: a list of presets needs no NumPy."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("PrivacyRow", "delta_rows", "epsilon_rows"):
        from discreet.accounting import costs

        return getattr(costs, name)
    if name in ("plot_profile", "plot_tradeoff"):
        from discreet.report import plots

        return getattr(plots, name)
    from discreet.accounting import sampling

    return getattr(sampling, name)
