"""Tumult: the budget of a session as a promise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.errors import DiscreetError, InputError
from discreet.interop.promise import Promise


def budget_promise(budget: Any) -> Promise:
    """Return a privacy budget of Tumult Analytics, or what a session has left, as an exact promise."""
    try:
        from tmlt.analytics.privacy_budget import (
            ApproxDPBudget,
            PrivacyBudget,
            PureDPBudget,
            RhoZCDPBudget,
        )
    except ImportError:
        raise DiscreetError(
            "Tumult Analytics is not installed; it needs NumPy 1, so give it an environment of its own: "
            "pip install tmlt.analytics"
        ) from None
    budget = getattr(budget, "remaining_privacy_budget", budget)
    if not isinstance(budget, PrivacyBudget):
        raise InputError(
            f"budget is a {type(budget).__name__}; it must be a session or a budget of Tumult Analytics"
        )
    if budget.is_infinite:
        raise InputError(f"budget is {budget}; an infinite budget promises nothing")
    match budget:
        case PureDPBudget():
            return Promise(epsilon=_exact(budget.value))
        case ApproxDPBudget():
            epsilon, delta = budget.value
            return Promise(epsilon=_exact(epsilon), delta=_exact(delta))
        case RhoZCDPBudget():
            return Promise(rho=_exact(budget.value))
        case _:
            raise InputError(
                f"budget is a {type(budget).__name__}; it must be a PureDPBudget, ApproxDPBudget or "
                "RhoZCDPBudget"
            )


def _exact(number: Any) -> Fraction:
    """Return one of Tumult's exact numbers as a fraction; one that is none is rounded up."""
    if number.expr.is_Rational:
        return Fraction(int(number.expr.p), int(number.expr.q))
    return Fraction(number.to_float(round_up=True))
