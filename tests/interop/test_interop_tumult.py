"""Budgets of Tumult Analytics, against the package; skipped where it is not installed.

It needs NumPy 1 and so has an environment of its own: `make test-interop`.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.errors import InputError
from discreet.interop.promise import Promise
from discreet.interop.tumult import budget_promise

budgets: Any = pytest.importorskip(
    "tmlt.analytics.privacy_budget", reason="Tumult Analytics is not installed"
)


def test_budgets_are_read_exactly() -> None:
    from tmlt.core.utils.exact_number import ExactNumber

    assert budget_promise(budgets.PureDPBudget(ExactNumber("1/3"))) == Promise(epsilon="1/3")
    assert budget_promise(budgets.RhoZCDPBudget(2)) == Promise(rho=2)
    assert budget_promise(budgets.ApproxDPBudget(1, ExactNumber("1/1000000"))) == Promise(
        epsilon=1, delta="1e-6"
    )
    assert budget_promise(budgets.PureDPBudget(0.5)).variant == "Pure DP"
    root = budget_promise(budgets.PureDPBudget(ExactNumber("sqrt(2)"))).epsilon
    assert 0 <= Fraction(root) ** 2 - 2 < Fraction(1, 10**15)  # rounded up


def test_a_session_says_what_it_has_left() -> None:
    session = SimpleNamespace(remaining_privacy_budget=budgets.RhoZCDPBudget(0.25))
    assert budget_promise(session) == Promise(rho="1/4")


def test_what_promises_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="an infinite budget promises nothing"):
        budget_promise(budgets.PureDPBudget.inf())
    with pytest.raises(InputError, match="budget is a float; it must be a session or a budget"):
        budget_promise(1.0)
