"""What other accountants say: zCDP, Renyi DP, Gaussian DP and Edgeworth, beside the exact curve.

Every comparison has the name of its method and says whether it is a bound. All share one small interface
(`curve.py`): `delta(epsilon=)`, `log_delta(epsilon=)`, `epsilon(delta=)`, `tradeoff(alpha=)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.accounting.comparisons.curve import Comparison
    from discreet.accounting.comparisons.edgeworth import Edgeworth
    from discreet.accounting.comparisons.gaussian_dp import GaussianDP
    from discreet.accounting.comparisons.renyi import RenyiDP
    from discreet.accounting.comparisons.together import side_by_side
    from discreet.accounting.comparisons.zcdp import ZCDP, TightZCDP
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.accounting.comparisons.curve": "Comparison",
            "discreet.accounting.comparisons.edgeworth": "Edgeworth",
            "discreet.accounting.comparisons.gaussian_dp": "GaussianDP",
            "discreet.accounting.comparisons.renyi": "RenyiDP",
            "discreet.accounting.comparisons.together": "side_by_side",
            "discreet.accounting.comparisons.zcdp": "ZCDP TightZCDP",
        },
    )

__all__ = ["ZCDP", "Comparison", "Edgeworth", "GaussianDP", "RenyiDP", "TightZCDP", "side_by_side"]
