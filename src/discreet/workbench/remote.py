"""What other processes are asked to do, by name: the server itself never loads the accountant."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "quick": "budget_view",
    "errors": "budget_view",
    "saving": "budget_view",
    "overall": "budget_view",
    "least_budget": "accuracy_view",
    "calibrated": "accuracy_view",
    "reported": "report_view",
}
"""Which module of the workbench holds which function."""


def call(name: str, *arguments: Any, **more: Any) -> Any:
    """Call a view by its name, in the process where this runs.

    >>> from discreet.budget import DiscreteGaussian
    >>> call("errors", (DiscreteGaussian(variance=5),)).lines[0][0]
    (0.0, 1.0)
    """
    work = getattr(import_module(f"discreet.workbench.{_HOMES[name]}"), name)
    return work(*arguments, **more)
