"""What other processes are asked to do, by name: the server itself reads no file and loads no accountant.

Every task states how long it may take; its cost is estimated from the release that it is about.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from discreet.budget import Release
from discreet.workbench.state import State


@dataclass(frozen=True, slots=True)
class Task:
    """Which module of the workbench holds a function, and what calling it costs."""

    module: str
    seconds: float
    """For one case of a release of ten kinds of noise, on one processor."""
    deadline: float
    all_cases: bool = False
    """Whether each pair of paths is a case, and not the main path alone."""


TASKS = {
    "read_link": Task("session_file", 0.02, 20),
    "read_file": Task("session_file", 0.05, 20),
    "quick_of": Task("budget_view", 0.03, 120),
    "errors_of": Task("budget_view", 0.04, 120),
    "saving_of": Task("budget_view", 0.2, 300),
    "overall": Task("budget_view", 0.03, 1800, all_cases=True),
    "least_budget": Task("accuracy_view", 0.1, 300),
    "calibrated": Task("accuracy_view", 0.3, 3600, all_cases=True),
    "reported": Task("report_view", 2, 3600, all_cases=True),
    "printed": Task("report_view", 5, 120),
    "design_numbers": Task("design_view", 0.1, 120),
    "design_exact": Task("design_view", 3, 600),
    "design_margin": Task("design_view", 0.1, 120),
    "design_rivals": Task("design_view", 0.3, 120),
    "design_toml": Task("design_view", 0.05, 60),
    "design_opened": Task("design_view", 0.05, 20),
    "risk_numbers": Task("risk_view", 0.1, 120),
    "risk_bounds": Task("risk_view", 0.3, 300),
    "risk_overall": Task("risk_view", 0.2, 1800, all_cases=True),
}


def call(name: str, *arguments: Any, **more: Any) -> Any:
    """Call a function by its name, in the process where this runs.

    >>> call("errors_of", State.of("dhc-2022-08-25")).lines[0][0]
    (0.0, 1.0)
    """
    work = getattr(import_module(f"discreet.workbench.{TASKS[name].module}"), name)
    return work(*arguments, **more)


def cost(name: str, *arguments: Any) -> float:
    """Estimate the seconds that a task takes, from the release or state among its arguments.

    >>> cost("quick_of", State.of("dhc-2020")) < 1 < cost("overall", State.of("dhc-2020").release)
    True
    """
    task = TASKS[name]
    releases = [one.release if isinstance(one, State) else one for one in arguments]
    seconds = task.seconds
    for release in releases:
        if isinstance(release, Release):
            kinds = {
                query.variance or query.scale or query.share
                for level in release.levels
                for query in level.queries
            }
            many = len(release.paths)
            cases = many * (many + 1) / 2 if task.all_cases and release.neighbours == "bounded" else 1
            seconds *= max(1.0, len(kinds) * len(release.levels) / 10) * cases
    return seconds


def warm() -> None:
    """Make the first real request as fast as the others."""
    from fractions import Fraction

    from discreet.budget import DiscreteGaussian
    from discreet.workbench.budget_view import errors, quick

    events = (DiscreteGaussian(variance=5, times=10),)
    errors(events)
    quick(events, Fraction(1, 10**10))
