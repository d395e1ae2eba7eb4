"""Best estimates with intervals, whole-number tables, the accuracy of a plan, and regression on estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.estimation.accuracy import Accuracy, accuracy

if TYPE_CHECKING:
    from discreet.budget.goals import Goal
    from discreet.estimation.best_plan import Plan, plan
    from discreet.estimation.comparison import AreaComparison, compare_areas
    from discreet.estimation.regression import NoisyRatio, Regression, noisy_ratio, regress

__all__ = [
    "Accuracy",
    "AreaComparison",
    "Goal",
    "NoisyRatio",
    "Plan",
    "Regression",
    "accuracy",
    "compare_areas",
    "noisy_ratio",
    "plan",
    "regress",
]

_COMPARISON: tuple[str, ...] = ("AreaComparison", "compare_areas")
_PLAN: tuple[str, ...] = ("Goal", "Plan", "plan")
_REGRESSION: tuple[str, ...] = ("NoisyRatio", "Regression", "noisy_ratio", "regress")


def __getattr__(name: str) -> object:
    """Load the rest on first use: the planner imports the accountant, which accuracy does not need."""
    from importlib import import_module

    if name in _PLAN:
        module, names = import_module("discreet.estimation.best_plan"), _PLAN
    elif name in _COMPARISON:
        module, names = import_module("discreet.estimation.comparison"), _COMPARISON
    elif name in _REGRESSION:
        module, names = import_module("discreet.estimation.regression"), _REGRESSION
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals().update({one: getattr(module, one) for one in names})
    return globals()[name]
