"""Best estimates over tree and queries, their intervals, whole-number tables, and the accuracy of a plan."""
