"""Chances and odds: a prior to full precision, and what evidence makes of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """The chance of "present" and that of "absent", each to full precision."""

    present: Floats
    absent: Floats

    @property
    def log_odds(self) -> Floats:
        """log of present over absent."""
        return np.log(self.present) - np.log(self.absent)

    def posterior(self, evidence: Floats) -> Floats:
        """Return the chance of "present" after evidence: a log ratio of likelihoods."""
        rare = np.exp(-np.abs(evidence))
        for_present = self.present / (self.present + self.absent * rare)
        for_absent = self.present * rare / (self.present * rare + self.absent)
        return np.where(evidence >= 0, for_present, for_absent)

    def ratio(self, evidence: Floats) -> Floats:
        """Return the posterior over the prior."""
        rare = np.exp(-np.abs(evidence))
        for_present = 1.0 / (self.present + self.absent * rare)
        for_absent = rare / (self.present * rare + self.absent)
        return np.where(evidence >= 0, for_present, for_absent)


def log_sum(terms: Floats, axis: int | None = None) -> Floats:
    """Return log of the sum of exponentials, -inf where all are.

    >>> float(log_sum(np.log([0.5, 0.5]))), float(log_sum(np.array([-np.inf, -np.inf])))
    (0.0, -inf)
    """
    top = np.max(terms, axis=axis, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", under="ignore"):
        total = np.log(np.sum(np.exp(terms - safe), axis=axis, keepdims=True)) + safe
    return np.asarray(np.squeeze(total, axis=axis) if axis is not None else total.reshape(()))
