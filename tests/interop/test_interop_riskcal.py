"""riskcal on our accounts, against the package; skipped where it is not installed."""

from __future__ import annotations

from typing import Any

import pytest

from discreet import DiscreteLaplace, compose
from discreet.interop.dp_accounting import to_pld
from discreet.interop.riskcal import to_plrvs

analysis: Any = pytest.importorskip("riskcal.analysis", reason="riskcal is not installed")


def test_its_risks_are_ours_on_the_safe_side() -> None:
    loss = compose([DiscreteLaplace(scale=2, times=3)])
    pld, plrvs = to_pld(loss), to_plrvs(loss)
    for alpha in (0.01, 0.05, 0.3):
        ours = float(loss.tradeoff(alpha=alpha))
        for theirs in (analysis.get_beta_from_pld(pld, alpha), analysis.get_beta_from_plrvs(plrvs, alpha)):
            assert ours - 1e-4 <= float(theirs) <= ours + 1e-9
    advantage = float(analysis.get_advantage_from_pld(pld))
    assert loss.total_variation - 1e-9 <= advantage <= loss.total_variation + 1e-4
