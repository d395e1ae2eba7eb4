"""What can be learned about one person from what is released: posteriors, ratios and accuracies.

>>> from discreet.risk import posterior
>>> posterior([1, 2, 3, 4, 5], rho="0.099", prior="1/2", known=0).round(3).tolist()
[0.525, 0.574, 0.621, 0.667, 0.709]
"""

from discreet.faces import page_in_words
from discreet.risk.areas import Area, Poisson, Table, Uniform
from discreet.risk.attack import (
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
from discreet.risk.categories import Categories, categories, release_categories, table_categories
from discreet.risk.everything import WholeRisk, risk
from discreet.risk.hierarchy import HierarchyPosterior, hierarchy_posterior
from discreet.risk.joint import Step, joint_accuracy, joint_posterior, joint_ratio, sequence
from discreet.risk.profile import Risk, RiskProfile, risk_profile
from discreet.risk.table import table_risk
from discreet.risk.two_levels import TwoLevels

__all__ = [
    "Area",
    "Attack",
    "Categories",
    "HierarchyPosterior",
    "Poisson",
    "Risk",
    "RiskProfile",
    "Step",
    "Table",
    "TwoLevels",
    "Uniform",
    "WholeRisk",
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
    "release_categories",
    "risk",
    "risk_profile",
    "sequence",
    "table_categories",
    "table_risk",
]


def explain_profile(profile: RiskProfile, *, title: str = "") -> str:
    """Return a page in plain words, as Markdown; the profile must hold one prior.

    >>> page = explain_profile(risk_profile({"Block": "0.0992"}, prior="1/2"))
    >>> "is right 58.88 times in 100" in page
    True
    """
    return page_in_words(profile, title=title)
