"""What other processes are asked to do, by name: the server itself never loads the accountant."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "quick_of": "budget_view",
    "errors_of": "budget_view",
    "saving_of": "budget_view",
    "overall": "budget_view",
    "least_budget": "accuracy_view",
    "calibrated": "accuracy_view",
    "reported": "report_view",
    "printed": "report_view",
    "design_numbers": "design_view",
    "design_exact": "design_view",
    "design_margin": "design_view",
    "design_rivals": "design_view",
    "design_toml": "design_view",
    "design_opened": "design_view",
    "risk_numbers": "risk_view",
    "risk_bounds": "risk_view",
    "risk_overall": "risk_view",
}
"""Which module of the workbench holds which function."""


def call(name: str, *arguments: Any, **more: Any) -> Any:
    """Call a view by its name, in the process where this runs.

    >>> from discreet.workbench.state import State
    >>> call("errors_of", State.of("dhc-2022-08-25")).lines[0][0]
    (0.0, 1.0)
    """
    work = getattr(import_module(f"discreet.workbench.{_HOMES[name]}"), name)
    return work(*arguments, **more)
