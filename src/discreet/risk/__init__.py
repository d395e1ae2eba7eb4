"""What can be learned about one person from what is released: posteriors, ratios and accuracies.

>>> from discreet.risk import posterior
>>> posterior([1, 2, 3, 4, 5], rho="0.099", prior="1/2", known=0).round(3).tolist()
[0.525, 0.574, 0.621, 0.667, 0.709]
"""

from discreet.risk.attack import (
    Attack,
    Step,
    decide,
    decision_accuracy,
    expected_loss,
    expected_posterior,
    expected_ratio,
    independent_others,
    joint_accuracy,
    joint_posterior,
    joint_ratio,
    log_odds,
    posterior,
    ratio,
    sequence,
)
from discreet.risk.hierarchy import Area, HierarchyPosterior, Poisson, Table, Uniform, hierarchy_posterior
from discreet.risk.profile import Risk, RiskProfile, explain_profile, risk_profile
from discreet.risk.table import table_risk
from discreet.risk.two_levels import TwoLevels

__all__ = [
    "Area",
    "Attack",
    "HierarchyPosterior",
    "Poisson",
    "Risk",
    "RiskProfile",
    "Step",
    "Table",
    "TwoLevels",
    "Uniform",
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
    "risk_profile",
    "sequence",
    "table_risk",
]
