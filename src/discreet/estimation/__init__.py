"""Best estimates with intervals, whole-number tables, the accuracy of a plan, and regression on estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.estimation.accuracy import Accuracy, accuracy

if TYPE_CHECKING:
    from discreet.estimation.plan import Goal, Plan, plan
    from discreet.estimation.regression import NoisyRatio, Regression, noisy_ratio, regress

__all__ = [
    "Accuracy",
    "Goal",
    "NoisyRatio",
    "Plan",
    "Regression",
    "accuracy",
    "noisy_ratio",
    "plan",
    "regress",
]

_LATER = {
    "discreet.estimation.plan": ("Goal", "Plan", "plan"),
    "discreet.estimation.regression": ("NoisyRatio", "Regression", "noisy_ratio", "regress"),
}
"""Loaded on first use: the planner imports the accountant, which accuracy does not need."""


def __getattr__(name: str) -> object:
    """Load a module on first use, and take all its public names from it."""
    from importlib import import_module

    for module, names in _LATER.items():
        if name in names:
            # the submodule `plan` and its function share a name, and the function must win
            loaded = import_module(module)
            globals().update({one: getattr(loaded, one) for one in names})
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
