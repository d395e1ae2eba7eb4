"""zCDP: the least rho of a composition, and the epsilon that rho promises.

What else rho proves, and the curves of other accountants, stand above: `discreet.comparisons`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from discreet.errors import InputError
from discreet.loss.lattice import Floats, noises_of
from discreet.noise import Noise
from discreet.noise.capabilities import require

NO_EVENTS = "the list of events is empty; a comparison needs at least one event"


def zcdp_rho(events: Noise | Iterable[Noise]) -> Fraction:
    """Return the zCDP rho of a composition: the sum of the least rhos of its events.

    A Gaussian costs mu^2 / (2 sigma2), exactly. Laplace noise and randomised response cost their mean loss,
    rounded up in the last of 15 digits: (1 / b) tanh(1 / (2 b)) if mu is 1. Of tables and powers the least
    rho is rounded up.

    >>> from discreet.noise import DiscreteGaussian, DiscreteLaplace
    >>> float(zcdp_rho([DiscreteGaussian(variance=5, times=10), DiscreteLaplace(scale=2)]))
    1.122459331201855
    """
    rho = Fraction(0)
    for event in noises_of(events):
        if event.zcdp is None:
            require("rho", [event])
            raise AssertionError(f"{event!r} says that it has a rho, and has none")
        rho += event.zcdp
    if rho == 0:
        raise InputError(NO_EVENTS)
    return rho


def bun_steinke_epsilon(rho: float, log_delta: Floats) -> Floats:
    """Return epsilon by Bun and Steinke (2016), as the Bureau reports it: rho + 2 sqrt(rho log(1/delta)).

    >>> bun_steinke_epsilon(4.9622, np.log([1e-10])).round(6).tolist()
    [26.340589]
    """
    return rho + 2 * np.sqrt(-rho * log_delta)


def promised_epsilon(rho: Fraction, delta: float) -> float:
    """Return what zCDP promises at `delta`, for which noise is calibrated.

    >>> round(promised_epsilon(Fraction("24811/5000"), 1e-10), 6)
    26.340589
    """
    return float(bun_steinke_epsilon(float(rho), np.log(np.array([delta])))[0])
