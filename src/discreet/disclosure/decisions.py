"""What decisions cost, which one is taken, and what happens where two are as good: a coin is tossed.

An adversary must say "present" or "absent". The answer of least expected loss is "present" where the
posterior log odds exceed a threshold, the log of what a false alarm costs over what a miss costs (0 for 0-1
loss).

*Ties.* Where both answers have the same expected loss, the adversary tosses a fair coin. That is the one rule
for ties, everywhere. Averaged over the prior, what a decision costs does not depend on it, nor under 0-1 loss
does how often it is right. How often it is right given one of the truths does: were ties "absent", two equal
counts would seem to tell less about a target who is present than one of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.disclosure.odds import Floats
from discreet.errors import InputError
from discreet.numbers import fraction

LossTable = object  # two rows, truth absent and present, of two costs, decision absent and present

TIE = 1e-13
"""Log odds this close to a threshold are equal to it, but for rounding."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs: `absent` if the target is absent, `present` if present, each for deciding absent, present.

    >>> Costs((0, 1), (1, 0)).says_present(np.array([-0.1, 0.0, 0.1])).tolist()
    [0.0, 0.5, 1.0]
    >>> Costs((0, 1), (9, 0)).threshold == -math.log(9)   # to miss somebody costs nine times as much
    True
    """

    absent: tuple[float, float] = (0.0, 1.0)
    present: tuple[float, float] = (1.0, 0.0)

    @classmethod
    def read(cls, loss: LossTable) -> Costs:
        """Return the costs from a table of two rows (truth absent, present) and two columns (decision).

        >>> Costs.read(None), Costs.read([[0, 1], ["1/2", 0]]).present
        (Costs(absent=(0.0, 1.0), present=(1.0, 0.0)), (0.5, 0.0))
        """
        if loss is None or isinstance(loss, Costs):
            return loss or cls()
        try:
            table = np.array(loss, dtype=object)
            costs = [float(fraction(x, name="loss") if isinstance(x, str) else x) for x in table.flat]
            costs = costs if table.shape == (2, 2) else [math.nan]
        except (TypeError, ValueError):  # also an InputError of a text that is no number
            costs = [math.nan]
        if not all(map(math.isfinite, costs)):
            raise InputError(
                "loss must be a table of two rows, truth absent and present, and two columns, "
                "decision absent and present"
            )
        return cls((costs[0], costs[1]), (costs[2], costs[3]))

    @property
    def threshold(self) -> float:
        """The log odds beyond which the decision changes; infinite if it never does, nan if none matters."""
        miss, alarm = self._more
        if miss == alarm == 0:
            return math.nan
        if miss * alarm > 0:
            return math.log(alarm / miss)
        return -math.inf if miss > 0 or alarm < 0 else math.inf

    @property
    def is_reversed(self) -> bool:
        """Whether being wrong is cheaper than being right, in both cases."""
        return max(self._more) < 0

    @property
    def _more(self) -> tuple[float, float]:
        """What a miss, and what a false alarm, cost more than the right decision."""
        return self.present[0] - self.present[1], self.absent[1] - self.absent[0]

    def says_present(self, log_odds: Floats) -> Floats:
        """Return the chance of the decision "present" at these posterior log odds: 0, 1, or 1/2 at a tie."""
        beyond = np.asarray(log_odds - self.threshold)
        beyond = -beyond if self.is_reversed else beyond
        return np.where(np.abs(beyond) > TIE, beyond > 0, 0.5)
