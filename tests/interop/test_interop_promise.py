"""Promises of other tools, and what is said where a tool is missing."""

from __future__ import annotations

import sys
from fractions import Fraction

import pytest

from discreet import DiscreteGaussian, InputError, TightZCDP, compose
from discreet.errors import DiscreetError
from discreet.interop import dp_accounting, opendp, riskcal, tumult
from discreet.interop.promise import Promise


def test_a_promise_is_exact_and_says_what_it_implies() -> None:
    assert Promise(epsilon="1/3").epsilon == Fraction(1, 3)
    assert Promise(epsilon=2, delta="1e-6").epsilon_at(delta="1e-5") == 2.0
    assert Promise(rho=0).epsilon_at(delta="1e-5") == 0.0
    tight = TightZCDP.from_rho("1/2").epsilon(delta=1e-6)
    assert tight < Promise(rho="1/2").epsilon_at(delta="1e-6") < tight * (1 + 1e-11)
    with pytest.raises(InputError, match="made at delta 1e-06, and implies nothing at a smaller one"):
        Promise(epsilon=2, delta="1e-6").epsilon_at(delta="1e-9")


@pytest.mark.parametrize(
    "wrong", [{}, {"epsilon": 1, "rho": 1}, {"epsilon": -1}, {"rho": 1, "delta": "1e-6"}]
)
def test_a_promise_that_is_none_is_refused(wrong: dict[str, int | str]) -> None:
    with pytest.raises(InputError):
        Promise(**wrong)


def test_a_missing_package_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dp_accounting", "dp_accounting.pld", "opendp", "opendp.mod", "opendp.context"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("riskcal", "riskcal.analysis", "tmlt", "tmlt.analytics"):
        monkeypatch.setitem(sys.modules, name, None)
    loss = compose([DiscreteGaussian(variance=5)])
    for call, named in (
        (lambda: dp_accounting.from_dp_event(None), r"\.\[dp-accounting\]"),
        (lambda: dp_accounting.to_pld(loss), r"\.\[dp-accounting\]"),
        (lambda: opendp.measurement_promise(None), r"\.\[opendp\]"),
        (lambda: opendp.to_privacy_loss(loss), r"\.\[opendp\]"),
        (lambda: riskcal.to_plrvs(loss), r"\.\[riskcal\]"),
        (lambda: tumult.budget_promise(None), "pip install tmlt.analytics"),
    ):
        with pytest.raises(DiscreetError, match=named):
            call()
