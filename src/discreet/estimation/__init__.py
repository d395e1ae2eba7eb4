"""Best estimates with intervals, whole-number tables, the accuracy of a plan, and regression on estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.estimation.best_plan import Plan, plan
    from discreet.estimation.comparison import AreaComparison, compare_areas
    from discreet.estimation.estimating import Estimated, estimate
    from discreet.estimation.expected_accuracy import Accuracy, accuracy
    from discreet.estimation.goals import Goal
    from discreet.estimation.output.table_check import TableCheck, check_tables
    from discreet.estimation.regression import NoisyRatio, Regression, noisy_ratio, regress
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.estimation.best_plan": "Plan plan",
            "discreet.estimation.comparison": "AreaComparison compare_areas",
            "discreet.estimation.estimating": "Estimated estimate",
            "discreet.estimation.expected_accuracy": "Accuracy accuracy",
            "discreet.estimation.goals": "Goal",
            "discreet.estimation.output.table_check": "TableCheck check_tables",
            "discreet.estimation.regression": "NoisyRatio Regression noisy_ratio regress",
        },
    )

__all__ = [
    "Accuracy",
    "AreaComparison",
    "Estimated",
    "Goal",
    "NoisyRatio",
    "Plan",
    "Regression",
    "TableCheck",
    "accuracy",
    "check_tables",
    "compare_areas",
    "estimate",
    "noisy_ratio",
    "plan",
    "regress",
]
