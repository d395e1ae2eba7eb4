"""riskcal: an account as what it computes risks from."""

from __future__ import annotations

from typing import Any

from discreet.accounting.privacy_loss import PrivacyLoss
from discreet.errors import DiscreetError, install_hint
from discreet.interop.dp_accounting import INTERVAL, to_pld
from discreet.numbers import Exact


def to_plrvs(loss: PrivacyLoss, *, interval: float = INTERVAL, smallest: Exact = "1e-10") -> Any:
    """Return the privacy-loss variables from which riskcal's `get_beta_from_plrvs` has the trade-off curve.

    Guarantee. They are those of `to_pld(loss)`, which riskcal's other functions take as it is: type II errors
    are never above the exact ones, advantages never below, but for the rounding of riskcal's own sums.
    """
    try:
        from riskcal.analysis import pld_to_plrvs
    except ImportError:
        raise DiscreetError(f"riskcal is not installed: {install_hint('riskcal')}") from None
    return pld_to_plrvs(to_pld(loss, interval=interval, smallest=smallest))
