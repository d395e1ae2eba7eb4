"""Best estimates over tree and queries, their intervals, whole-number tables, and the accuracy of a plan."""

from discreet.estimation.accuracy import Accuracy, accuracy
from discreet.estimation.plan import Goal, Plan, plan

__all__ = ["Accuracy", "Goal", "Plan", "accuracy", "plan"]
