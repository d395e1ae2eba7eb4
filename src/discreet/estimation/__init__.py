"""Best estimates over tree and queries, their intervals, whole-number tables, and the accuracy of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.estimation.accuracy import Accuracy, accuracy

if TYPE_CHECKING:
    from discreet.budget.goals import Goal
    from discreet.estimation.plan import Plan, plan

__all__ = ["Accuracy", "Goal", "Plan", "accuracy", "plan"]


def __getattr__(name: str) -> object:
    """Load the planner on first use: it imports the accountant, which accuracy does not need."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module("discreet.estimation.plan")
    # the submodule `plan` and its function share a name, and the function must win
    globals().update({name: getattr(module, name) for name in ("Goal", "Plan", "plan")})
    return globals()[name]
