"""What can be learned about one person from what is released: posteriors, ratios and accuracies.

>>> from discreet.disclosure import posterior
>>> posterior([1, 2, 3, 4, 5], rho="0.099", prior="1/2", known=0).round(3).tolist()
[0.525, 0.574, 0.621, 0.667, 0.709]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.disclosure.areas import Area, Poisson, Table, Uniform
    from discreet.disclosure.attack import (
        Attack,
        decide,
        decision_accuracy,
        expected_loss,
        expected_posterior,
        expected_ratio,
        independent_others,
        log_odds,
        posterior,
        ratio,
    )
    from discreet.disclosure.category import Categories, categories, release_categories, table_categories
    from discreet.disclosure.everything import ReleaseRisk, risk
    from discreet.disclosure.hierarchy import HierarchyPosterior, hierarchy_posterior
    from discreet.disclosure.joint import Step, joint_accuracy, joint_posterior, joint_ratio, sequence
    from discreet.disclosure.population import records_risk
    from discreet.disclosure.profile import Risk, RiskProfile, explain_profile, risk_profile
    from discreet.disclosure.table import table_risk
    from discreet.disclosure.two_levels import TwoLevels
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.disclosure.areas": "Area Poisson Table Uniform",
            "discreet.disclosure.attack": "Attack decide decision_accuracy expected_loss expected_posterior "
            "expected_ratio independent_others log_odds posterior ratio",
            "discreet.disclosure.category": "Categories categories release_categories table_categories",
            "discreet.disclosure.everything": "ReleaseRisk risk",
            "discreet.disclosure.hierarchy": "HierarchyPosterior hierarchy_posterior",
            "discreet.disclosure.joint": "Step joint_accuracy joint_posterior joint_ratio sequence",
            "discreet.disclosure.population": "records_risk",
            "discreet.disclosure.profile": "Risk RiskProfile explain_profile risk_profile",
            "discreet.disclosure.table": "table_risk",
            "discreet.disclosure.two_levels": "TwoLevels",
        },
    )

__all__ = [
    "Area",
    "Attack",
    "Categories",
    "HierarchyPosterior",
    "Poisson",
    "ReleaseRisk",
    "Risk",
    "RiskProfile",
    "Step",
    "Table",
    "TwoLevels",
    "Uniform",
    "categories",
    "decide",
    "decision_accuracy",
    "expected_loss",
    "expected_posterior",
    "expected_ratio",
    "explain_profile",
    "hierarchy_posterior",
    "independent_others",
    "joint_accuracy",
    "joint_posterior",
    "joint_ratio",
    "log_odds",
    "posterior",
    "ratio",
    "records_risk",
    "release_categories",
    "risk",
    "risk_profile",
    "sequence",
    "table_categories",
    "table_risk",
]
