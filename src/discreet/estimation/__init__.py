"""Best estimates over tree and queries, their intervals, whole-number tables, and the accuracy of a plan."""

from discreet.estimation.accuracy import Accuracy, accuracy

__all__ = ["Accuracy", "accuracy"]
