"""What others would say: zCDP, Renyi DP, Gaussian DP and Edgeworth, beside the exact curve.

Every comparison is named for what it is and says of itself whether it is a bound. All share one small
interface: `delta(epsilon=)`, `log_delta(epsilon=)`, `epsilon(delta=)`, `tradeoff(alpha=)`.
"""

from __future__ import annotations

from collections.abc import Iterable

from discreet.accounting.comparisons.curve import Comparison
from discreet.accounting.comparisons.edgeworth import Cumulants, Edgeworth, cumulants
from discreet.accounting.comparisons.gaussian import GaussianDP
from discreet.accounting.comparisons.renyi import ZCDP, RenyiDP, TightZCDP, zcdp_rho
from discreet.budget.events import Event

__all__ = [
    "ZCDP",
    "Comparison",
    "Cumulants",
    "Edgeworth",
    "GaussianDP",
    "RenyiDP",
    "TightZCDP",
    "cumulants",
    "side_by_side",
    "zcdp_rho",
]


def side_by_side(events: Iterable[Event]) -> tuple[Comparison, ...]:
    """Return every comparison for one list of events, the loosest bound first.

    >>> from discreet.budget.events import DiscreteGaussian
    >>> for curve in side_by_side([DiscreteGaussian(variance=5, times=10)]):
    ...     print(f"{curve.name:28}{'bound' if curve.is_bound else 'approximation':15}"
    ...           f"{curve.epsilon(delta=1e-11):.4f}")
    zCDP, Bun-Steinke           bound          11.0655
    zCDP, tight conversion      bound          10.5207
    Renyi DP                    bound          10.5207
    Gaussian DP                 approximation  10.1158
    Edgeworth                   approximation  10.1158
    """
    listed = tuple(events)
    return ZCDP(listed), TightZCDP(listed), RenyiDP(listed), GaussianDP(listed), Edgeworth(listed)
