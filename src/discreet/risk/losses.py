"""What a decision costs: a 2x2 table, truth by decision, and the decision of least expected loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.numbers import fraction
from discreet.risk.model import Floats

ZERO_ONE = ((0.0, 1.0), (1.0, 0.0))
"""Right costs nothing, wrong costs one."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The costs: `absent` if the target is absent, `present` if present, each for deciding absent, present.

    The decision is "present" where its expected loss is the smaller one; equal losses decide "absent".

    >>> Loss((0, 1), (1, 0)).says_present(np.array([-0.1, 0.0, 0.1])).tolist()
    [False, False, True]
    >>> Loss((0, 1), (9, 0)).threshold == -math.log(9)   # to miss somebody costs nine times as much
    True
    """

    absent: tuple[float, float]
    present: tuple[float, float]

    @property
    def miss(self) -> float:
        """What deciding "absent" costs more than "present" if the target is present."""
        return self.present[0] - self.present[1]

    @property
    def alarm(self) -> float:
        """What deciding "present" costs more than "absent" if the target is absent."""
        return self.absent[1] - self.absent[0]

    @property
    def threshold(self) -> float:
        """The log odds beyond which the decision changes; infinite if it never does."""
        if self.miss * self.alarm > 0:
            return math.log(self.alarm / self.miss)
        always = self.miss > 0 or self.alarm < 0
        return -math.inf if always else math.inf

    @property
    def is_reversed(self) -> bool:
        """Whether being wrong is cheaper than being right, in both cases."""
        return self.miss < 0 and self.alarm < 0

    def says_present(self, log_odds: Floats) -> NDArray[np.bool_]:
        """Return whether the decision is "present" at these posterior log odds."""
        return log_odds < self.threshold if self.is_reversed else log_odds > self.threshold


def read_loss(loss: Any) -> Loss:
    """Return a loss from a table of two rows (truth absent, present) and two columns (decision).

    >>> read_loss(None)
    Loss(absent=(0.0, 1.0), present=(1.0, 0.0))
    >>> read_loss([[0, 1], ["1/2", 0]]).present
    (0.5, 0.0)
    >>> read_loss([[0, 1]])
    Traceback (most recent call last):
    discreet.errors.InputError: loss must be a table of two rows, truth absent and present, and two columns, \
decision absent and present
    """
    if isinstance(loss, Loss):
        return loss
    try:
        given: NDArray[Any] = np.array(ZERO_ONE if loss is None else loss, dtype=object)
        table: NDArray[Any] = np.vectorize(_number, otypes=[np.float64])(given)
    except (TypeError, ValueError):  # also an InputError of a text that is no number
        table = np.empty(0)
    if table.shape != (2, 2) or not np.isfinite(table).all():
        raise InputError(
            "loss must be a table of two rows, truth absent and present, and two columns, "
            "decision absent and present"
        )
    return Loss((float(table[0, 0]), float(table[0, 1])), (float(table[1, 0]), float(table[1, 1])))


def _number(cost: Any) -> float:
    return float(fraction(cost, name="loss") if isinstance(cost, str) else cost)
