"""Certified values: intervals from ball arithmetic that provably contain the answer."""

from discreet.accounting.certified.intervals import (
    certified_delta,
    certified_epsilon,
    certified_tradeoff,
    refined_log,
)

__all__ = ["certified_delta", "certified_epsilon", "certified_tradeoff", "refined_log"]
