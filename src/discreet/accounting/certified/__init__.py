"""Certified values: intervals from ball arithmetic that provably contain the answer."""

from discreet.accounting.certified.values import (
    certified_delta,
    certified_epsilon,
    certified_tradeoff,
    delta_is_at_most,
    refined_log,
)

__all__ = ["certified_delta", "certified_epsilon", "certified_tradeoff", "delta_is_at_most", "refined_log"]
