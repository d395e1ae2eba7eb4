"""zCDP: what rho alone proves, by the conversion of Bun and Steinke (2016) and by the tight one.

Both are bounds from Renyi divergences, K(t) = rho t (t + 1) in the letters of `renyi.py`. Bun and Steinke
leave out g(t).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np

from discreet.accounting.zcdp import bun_steinke_epsilon, zcdp_rho
from discreet.calls import understandable
from discreet.comparisons.renyi import ByOrder
from discreet.loss.lattice import Floats
from discreet.noise import Noise
from discreet.numbers import Exact, positive


class TightZCDP(ByOrder):
    """zCDP with the (epsilon, delta) of Canonne, Kamath and Steinke; f is the best that rho alone can give.

    >>> curve = TightZCDP.from_rho("24811/5000")
    >>> round(curve.epsilon(delta=1e-10), 10), round(curve.tradeoff(alpha=0.001), 4)
    (25.4192825765, 0.2091)
    """

    name = "zCDP, tight conversion"
    is_bound = True

    @understandable
    def __init__(self, events: Noise | Iterable[Noise]) -> None:
        self.rho = zcdp_rho(events)

    @classmethod
    def from_rho(cls, rho: Exact) -> Self:
        """Build the curve from rho itself.

        >>> TightZCDP.from_rho("1/2").rho
        Fraction(1, 2)
        """
        curve = cls.__new__(cls)
        curve.rho = positive(rho, name="rho")
        return curve

    def _log_mgf(self, t: Floats) -> Floats:
        return float(self.rho) * t * (t + 1)

    def _divergence(self, t: Floats) -> Floats:
        return float(self.rho) * (t + 1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.from_rho({str(self.rho)!r})"


class ZCDP(TightZCDP):
    """zCDP with the (epsilon, delta) of Bun and Steinke (2016), which the Bureau reports.

    delta = exp(-(eps - rho)^2 / (4 rho)) for eps >= rho, and eps = rho + 2 sqrt(rho log(1/delta)). To the
    trade-off curve there is one conversion: `tradeoff` is that of `TightZCDP`, all that rho proves.

    >>> ZCDP.from_rho("24811/5000").epsilon(delta=1e-10)
    26.340588852722323
    """

    name = "zCDP, Bun-Steinke"
    is_bound = True

    def _log_delta(self, epsilon: Floats) -> Floats:
        rho = float(self.rho)
        return -(np.maximum(epsilon - rho, 0.0) ** 2) / (4 * rho)

    def _epsilon(self, log_delta: Floats) -> Floats:
        return bun_steinke_epsilon(float(self.rho), log_delta)
