"""All comparisons for one list of events."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.comparisons.curve import Comparison
from discreet.comparisons.edgeworth import Edgeworth
from discreet.comparisons.gaussian_dp import GaussianDP
from discreet.comparisons.renyi import RenyiDP
from discreet.comparisons.zcdp import ZCDP, TightZCDP
from discreet.noise import Noise


def side_by_side(events: Iterable[Noise]) -> tuple[Comparison, ...]:
    """Return every comparison for one list of events, the loosest bound first.

    >>> from discreet.noise import DiscreteGaussian
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
