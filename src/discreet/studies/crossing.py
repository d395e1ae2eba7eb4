"""Where reduced noise breaks the promise that it keeps at one delta: as powers of tests, and as odds.

The PNAS paper reduces the noise of a level until its exact epsilon equals zCDP's at delta = 1e-11. At smaller
delta the order is reversed. With L the privacy loss if the person is present, this can be read in three ways:

- *delta.* Any event is at most e^epsilon times as likely, up to delta. Reduced noise keeps the whole promised
  curve if eta = sup over epsilon of (delta_reduced - delta_promised) is added to every delta; then every test
  has at most eta more power than promised.
- *power.* 1 - f(alpha), the largest chance of detecting a person with a test of level alpha.
- *odds.* The release multiplies the odds that the person is present by e^L, whatever the prior odds;
  P[L > epsilon] is the chance that the factor exceeds e^epsilon. Bun and Steinke's
  exp(-(epsilon - rho)^2 / (4 rho)) bounds this chance, and delta, which is smaller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.accounting.privacy_loss import compose
from discreet.comparisons.zcdp import ZCDP
from discreet.loss.contour import Kind
from discreet.loss.lattice import Loss
from discreet.noise import DiscreteGaussian
from discreet.studies.dhc import DELTA, level_events, reduced_events
from discreet.studies.register import Floats, Found, Study, check_printed, made, printed, study

PEOPLE = 331_449_281
"""The resident population of the 2020 Census."""


def powers(event: DiscreteGaussian, alphas: Sequence[float]) -> Floats:
    """Return 1 - f(alpha) of equal events, to the accountant's relative accuracy however small it is.

    By Neyman and Pearson: both tails at the lattice points of the loss, and straight lines between them.

    >>> [f"{p:.4e}" for p in powers(level_events()["County"], [1e-12, 1e-6])]
    ['2.0921e-10', '3.6566e-05']
    """
    loss, whole = compose([event]), Loss([event])
    step, spread = whole.step, math.sqrt(whole.R)
    # under the null the loss has mean -R/2: a tail below the smallest alpha lies within these points
    least = math.sqrt(-2 * math.log(min(alphas))) + 1
    first, last = (
        math.floor((Fraction(z * spread) - whole.R / 2 - whole.offset) / step) for z in (-least, least)
    )
    points = [whole.offset + step * m + step / 2 for m in range(first, last + 1)]  # between lattice points
    falling = [np.exp(loss.law.log_tails(kind, points)) for kind in (Kind.NULL, Kind.ALT)]
    alpha, power = (tail[::-1] for tail in falling)
    return np.asarray(np.interp(np.asarray(alphas), alpha, power), dtype=np.float64)


def promised_powers(rho: float, alphas: Sequence[float]) -> Floats:
    """Return the power that Bun and Steinke's (epsilon, delta) curve allows: min of delta + e^epsilon alpha.

    >>> [f"{p:.4e}" for p in promised_powers(0.31025, [1e-12, 1e-6])]
    ['3.5754e-10', '6.9746e-05']
    """
    epsilon = np.linspace(rho, rho + 12 * math.sqrt(rho), 20_001)
    delta = np.exp(-((epsilon - rho) ** 2) / (4 * rho))
    return np.array([float((delta + np.exp(epsilon) * alpha).min()) for alpha in alphas])


def county_tradeoff() -> Study:
    """Compute the trade-off curves of County as powers, for alpha from 1e-14 to 1e-10, where they cross.

    >>> study = county_tradeoff()
    >>> above = study.numbers("power_reduced") > study.numbers("power_promised")
    >>> f"{study.numbers('alpha')[above].max():.0e}"      # below it reduced noise gives the test more power
    '2e-13'
    """
    old, new = level_events()["County"], reduced_events()["County"]
    zcdp = ZCDP([old])
    alphas = np.geomspace(1e-14, 1e-10, 81).tolist()
    same, reduced = powers(old, alphas), powers(new, alphas)
    promised, by_rho = (
        promised_powers(float(zcdp.rho), alphas),
        1 - zcdp.tradeoff(alpha=np.array(alphas)),
    )
    wide = np.geomspace(1e-14, 0.1, 261)
    proved = powers(new, wide.tolist()) > 1 - zcdp.tradeoff(alpha=wide)
    ratios = (same / promised, reduced / promised, by_rho / promised, np.ones(len(alphas)))
    return made(
        "county-tradeoff",
        "alpha power_same power_reduced power_promised power_by_rho "
        "same_over_promised reduced_over_promised rho_over_promised promised",
        zip(alphas, same, reduced, promised, by_rho, *ratios, strict=True),
        crossing=max(np.asarray(alphas)[reduced > promised]),
        by_rho=max(wide[proved]),
    )


@study(
    "level promised_delta epsilon odds_factor chance_same chance_reduced chance_ratio delta_reduced "
    "delta_ratio largest_excess people"
)
def reversal() -> Found:
    """Compute by how much reduced noise breaks zCDP's promise at small delta, by level: as delta and as odds.

    >>> row = reversal().where(level="County", promised_delta=1e-13).rows[0]
    >>> f"{row[3]:.0f} {row[5]:.1e} {row[8]:.2f} {row[9]:.1e}"
    '605 1.4e-12 1.94 6.1e-13'
    """
    (reciprocal,) = printed("pnas", "introduction, footnote 2", "reciprocal of the population").values()
    yield check_printed(reciprocal, 1 / PEOPLE)
    for level, event in level_events().items():
        zcdp, same, reduced = ZCDP([event]), compose([event]), compose([reduced_events()[level]])
        # both curves decrease: between two points the excess is at most left reduced minus right promised
        fine = np.geomspace(float(DELTA), 1e-16, 2001)
        at = [Fraction(epsilon) for epsilon in zcdp.epsilon(delta=fine)]
        eta = float((np.exp(reduced.law.log_deltas(at))[:-1] - fine[1:]).max())
        coarse = np.array([float(f"1e-{power}") for power in range(5, 22)])
        at = [Fraction(epsilon) for epsilon in zcdp.epsilon(delta=coarse)]
        chances = [np.exp(loss.law.log_tails(Kind.ALT, at)) for loss in (same, reduced)]
        deltas = np.exp(reduced.law.log_deltas(at))
        for promised, epsilon, chance, other, delta in zip(coarse, at, *chances, deltas, strict=True):
            odds = (math.exp(epsilon), chance, other, other / promised)
            yield level, promised, float(epsilon), *odds, delta, delta / promised, eta, PEOPLE * eta
