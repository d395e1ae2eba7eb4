"""The risk profile of counts that are stated by their rhos alone, each with noise of variance 1/(2 rho)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.privacy_loss import compose
from discreet.budget.events import DiscreteGaussian
from discreet.errors import InputError
from discreet.risk.hierarchy import read_variance
from discreet.risk.profile import RiskProfile, count_risks, loss_risks

CERTAIN = Fraction(1, 100)
"""Noise of this variance or less is not zero with probability below 1e-21: the count is as good as told."""


def read_rhos(rhos: Any) -> dict[str, Fraction]:
    """Return the variance of each level's noise, from rhos by level or in a list.

    >>> read_rhos({"block": "0.1"}), read_rhos(["1/4", 1])
    ({'block': Fraction(5, 1)}, {'level 1': Fraction(2, 1), 'level 2': Fraction(1, 2)})
    >>> read_rhos("dhc-2020")
    Traceback (most recent call last):
    discreet.errors.InputError: a release is needed (a preset's is load('dhc-2020')), or rhos by level or in \
a list; this is of type str
    """
    if isinstance(rhos, np.ndarray):
        rhos = np.atleast_1d(rhos).tolist()
    if isinstance(rhos, str) or not isinstance(rhos, Mapping | Sequence):
        raise InputError(
            "a release is needed (a preset's is load('dhc-2020')), or rhos by level or in a list; "
            f"this is of type {type(rhos).__name__}"
        )
    if not rhos:
        raise InputError("no rho is given; rhos by level such as {'block': '0.0992'} are needed")
    named = rhos if isinstance(rhos, Mapping) else {f"level {i}": rho for i, rho in enumerate(rhos, start=1)}
    return {str(name): read_variance(None, rho, who=f" of {name}") for name, rho in named.items()}


def profile_of_rhos(variances: Mapping[str, Fraction], priors: Sequence[Fraction]) -> RiskProfile:
    """Return the profile of one count a level, all of them about the same target.

    >>> profile = profile_of_rhos(read_rhos([1000, "0.1"]), [Fraction(1, 2)])
    >>> [round(row.accuracy, 3) for row in profile.rows]
    [1.0, 0.589, 1.0, 0.589, 1.0]
    """
    events = {name: DiscreteGaussian(variance=variance) for name, variance in variances.items()}
    single, levels = (
        tuple(
            row for name, event in events.items() for row in count_risks(event, priors, scope=name, what=what)
        )
        for what in ("one count", "every count of the level")
    )
    least = min(events.values(), key=lambda event: event.variance)
    names = {"scope": "overall", "what": "everything published"}
    if least.variance <= CERTAIN or len(events) == 1:
        # one count alone tells all there is to tell, to the last digit of the accuracy
        overall = count_risks(least, priors, **names)
    else:
        overall = loss_risks(compose(events.values()), priors, **names)
    return RiskProfile("rhos", "person", "unbounded", single, levels, overall, 1, True)
