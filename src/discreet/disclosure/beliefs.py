"""Quantiles of the belief in a target who is present, of a whole release.

Those of one loss are `loss.quantiles`. Of a whole release each is the largest of any case, which bounds them
all.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.accounting.account import Account
from discreet.budget.neighbours import CaseLabel, Cases
from discreet.disclosure.odds import Floats
from discreet.loss.contour import Kind
from discreet.loss.lattice import Loss
from discreet.loss.quantiles import tails_by_differences

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the posterior of a target who is present: half of such targets have at most the middle one."""

_FEW = 16  # cases whose tails are all asked for
_MANY = 2000  # cases of which tails are bounded, not computed


def _quantiles(whole: Account, label: CaseLabel) -> Floats:
    return whole.case(label).law.quantiles(QUANTILES)


def worst_quantiles(whole: Account) -> Floats:
    """Return for each chance the largest quantile of any case: all of them have at most that.

    From the main case upwards: whichever case has the largest tail beyond its quantiles is solved next, until
    none has too large a one. Where tails are smooth but for a lattice too fine to be seen in them, the result
    lies above the largest quantile by at most a step of it; with many cases that are not smooth, by at most a
    thousandth of a standard deviation of the loss.
    """
    if whole.together is None:
        return np.asarray(np.max([_quantiles(whole, label) for label, _ in whole.cases], axis=0))
    above, asked = 1.0 - np.array(QUANTILES), {whole.main}
    quantiles = _quantiles(whole, whole.main)
    step = _largest_step(whole)
    while True:
        # just beyond an atom
        tails, room = _tails_of_all(whole, quantiles + 1e-9 * (1.0 + np.abs(quantiles)), step)
        larger = {whole.label(int(k)) for k in tails.argmax(axis=0)[tails.max(axis=0) > above + 4e-9]}
        if not larger - asked:
            return quantiles + room
        for label in larger - asked:
            quantiles = np.maximum(quantiles, _quantiles(whole, label))
        asked |= larger


def _largest_step(whole: Account) -> float:
    """A bound on the step of the lattice of any case: that of a path in it is no finer than its own."""
    if not isinstance(whole.cases, Cases):
        return max(float(Loss(events).step) for _, events in whole.cases)
    return min(max(float(Loss(events).step) for events in group.events) for group in whole.cases.groups)


def _tails_of_all(whole: Account, points: Floats, step: float) -> tuple[Floats, float]:
    """P[L > t] with the target, a row for each case, and by how much t may be off."""
    together = whole.together
    assert together is not None

    def deltas(at: Floats) -> Floats:
        by_case = np.empty((whole.pairs, at.size))
        for scan in together.scan(Kind.DELTA, [Fraction(abs(t)) for t in at], exact=False):
            t = float(at[scan.threshold])
            values = scan.value * math.exp(scan.exponent)
            by_case[:, scan.threshold] = values if t >= 0 else -math.expm1(t) + math.exp(t) * values
        return by_case

    is_smooth = together.lattice is None and whole.pairs <= _MANY
    smooth = tails_by_differences(deltas, points, together.spread) if is_smooth else None
    if smooth is None and whole.pairs > _FEW:
        # delta is convex: its fall over h is at least h times the slope at the end, e^t P0[L > t]
        h = 1e-3 * together.spread
        before, after = deltas(points), deltas(points + h)
        return after + (before - after) / h, h
    if smooth is None:
        return 1.0 - np.asarray(whole.errors(threshold=points.tolist())[1]), 0.0
    return smooth[0], step
