"""What other accountants say: zCDP, Renyi DP, Gaussian DP and Edgeworth, beside the exact curve.

Every comparison has the name of its method and says whether it is a bound. All share one small interface
(`curve.py`): `delta(epsilon=)`, `log_delta(epsilon=)`, `epsilon(delta=)`, `tradeoff(alpha=)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.comparisons.curve import Comparison
    from discreet.comparisons.edgeworth import Edgeworth
    from discreet.comparisons.gaussian_dp import GaussianDP
    from discreet.comparisons.renyi import RenyiDP
    from discreet.comparisons.together import side_by_side
    from discreet.comparisons.zcdp import ZCDP, TightZCDP
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.comparisons.curve": "Comparison",
            "discreet.comparisons.edgeworth": "Edgeworth",
            "discreet.comparisons.gaussian_dp": "GaussianDP",
            "discreet.comparisons.renyi": "RenyiDP",
            "discreet.comparisons.together": "side_by_side",
            "discreet.comparisons.zcdp": "ZCDP TightZCDP",
        },
    )

__all__ = ["ZCDP", "Comparison", "Edgeworth", "GaussianDP", "RenyiDP", "TightZCDP", "side_by_side"]
