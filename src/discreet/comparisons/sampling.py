"""Points of exact curves and of those that stand beside them, as they are drawn and saved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.account import Account
from discreet.comparisons.curve import Comparison
from discreet.comparisons.zcdp import ZCDP
from discreet.loss.curves import Curves

Curve = Curves | Comparison
Floats = NDArray[np.float64]

_NEXT_TO = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Points of delta(epsilon)."""

    epsilon: Floats
    delta: Floats


@dataclass(frozen=True, slots=True, eq=False)
class TradeOffCurve:
    """Points of a trade-off curve: the least type II error beta at each type I error alpha."""

    alpha: Floats
    beta: Floats


def curve_deltas() -> Floats:
    """Return the 42 values 0.5, 0.1, 0.05, ..., 1e-21.

    >>> curve_deltas()[:3], float(curve_deltas()[-1]), len(curve_deltas())
    (array([0.5 , 0.1 , 0.05]), 1e-21, 42)
    """
    return np.array([float(f"{digit}e-{place}") for place in range(1, 22) for digit in (5, 1)])


def curve_alphas() -> Floats:
    """Return type I errors from 0 to 1, dense where the curve is steep: 1e-12, ..., 0.001, 0.002, ...

    >>> alphas = curve_alphas()
    >>> len(alphas), alphas[:2], alphas[-2:]
    (88, array([0.e+00, 1.e-12]), array([0.98, 1.  ]))
    """
    decades = [float(f"1e-{place}") for place in range(12, 3, -1)]
    spans = ((1, 10, 1), (10, 100, 5), (100, 200, 10), (200, 1001, 20))
    return np.array([0.0, *decades, *(step / 1000 for span in spans for step in range(*span))])


def epsilon_grid(zcdp: ZCDP) -> Floats:
    """Return zCDP's answers for `curve_deltas`: where its reader would look the exact curve up.

    >>> epsilon_grid(ZCDP.from_rho("3.65"))[[0, -1]].round(4)
    array([ 6.8312, 30.2201])
    """
    return zcdp.epsilon(delta=curve_deltas())


def drawing_epsilons(zcdp: ZCDP) -> Floats:
    """Return epsilons from zero on, dense where the trade-off curve is made, and all of `epsilon_grid`.

    >>> epsilons = drawing_epsilons(ZCDP.from_rho("3.65"))
    >>> len(epsilons), epsilons[[0, -1]].round(4)
    (201, array([ 0.    , 30.2201]))
    """
    return np.union1d(np.linspace(0.0, zcdp.epsilon(delta=1e-3), 160), epsilon_grid(zcdp))


def sample_profile(curve: Curve, epsilon: Floats) -> Profile:
    """Return the points of a curve at these epsilons.

    >>> sample_profile(ZCDP.from_rho(1), np.array([3.0])).delta
    array([0.36787944])
    """
    return Profile(epsilon, np.asarray(curve.delta(epsilon=epsilon), dtype=np.float64))


def sample_tradeoff(curve: Curve, alpha: Floats) -> TradeOffCurve:
    """Return the points of a trade-off curve at these type I errors.

    >>> sample_tradeoff(ZCDP.from_rho(1), np.array([0.0, 1.0])).beta
    array([1., 0.])
    """
    return TradeOffCurve(alpha, np.asarray(curve.tradeoff(alpha=alpha), dtype=np.float64))


def tradeoff_from_profile(profile: Profile, alpha: Floats) -> TradeOffCurve:
    """Return the trade-off curve that points of delta(epsilon) imply, by duality; never above the true one.

    f(alpha) is the supremum over epsilon of 1 - delta - e^epsilon alpha and e^-epsilon (1 - delta - alpha).
    With the epsilons of `drawing_epsilons` it lies within 0.001 of the supremum, and within 0.02 for a loss
    of few values: enough for a drawing.

    >>> curve = tradeoff_from_profile(Profile(np.array([0.0]), np.array([0.5])), np.array([0.0, 0.25, 1.0]))
    >>> curve.beta
    array([0.5 , 0.25, 0.  ])
    """
    epsilon, rest = profile.epsilon[:, None], 1.0 - profile.delta[:, None]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        steep = rest - np.where(alpha > 0, np.exp(epsilon) * alpha, 0.0)
        flat = np.exp(-epsilon) * (rest - alpha)
    return TradeOffCurve(alpha, np.maximum(np.maximum(steep, flat).max(axis=0), 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """The exact curves of one release as points, and the rho that zCDP would be told, if there is one."""

    name: str
    profile: Profile
    tradeoff: TradeOffCurve
    zcdp: ZCDP | None
    label: str = "exact"
    """What the curves claim to be (`AnswerKind.label`)."""


def finite_epsilons(account: Curves) -> Floats:
    """Return epsilons from zero to where delta is next to its least: the chance of an infinite loss.

    >>> from discreet.accounting.account import account
    >>> from discreet.noise import TableNoise
    >>> epsilons = finite_epsilons(account([TableNoise({-1: "1/8", 0: "3/4", 1: "1/8"})]))
    >>> len(epsilons), epsilons[[0, -1]].round(4).tolist()
    (161, [0.0, 1.7918])
    """
    least = 1.0 - float(account.tradeoff(alpha=0))
    end = 1.0
    if least < 1 - _NEXT_TO:
        end = max(float(account.epsilon(delta=least + _NEXT_TO * (1 - least))), 1e-3)
    return np.linspace(0.0, end, 161)


def sampled(account: Account, zcdp: ZCDP | None) -> Sampled:
    """Return the points that a picture needs: one pass over the cases, the trade-off curve by duality.

    >>> from discreet.comparisons.costs import zcdp_of
    >>> from discreet.accounting.account import account
    >>> from discreet.budget import load
    >>> one = account(load("dhc-2022-08-25"))
    >>> found = sampled(one, zcdp_of(one))
    >>> found.name, found.label, found.profile.epsilon.size, found.tradeoff.alpha.size
    ('dhc-2022-08-25', 'exact', 201, 88)
    """
    profile = sample_profile(account, drawing_epsilons(zcdp) if zcdp else finite_epsilons(account))
    tradeoff = tradeoff_from_profile(profile, curve_alphas())
    return Sampled(account.name, profile, tradeoff, zcdp, account.claim.kind.label)
