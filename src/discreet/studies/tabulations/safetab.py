"""SafeTab-P with the parameters of 2020: effects of suppression on small groups, and margins against rho."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from math import log, sqrt

import numpy as np

from discreet.accounting.privacy_loss import compose
from discreet.answers.quantity import Style
from discreet.budget import load
from discreet.census.mechanism.adaptive import budget_noise, suppression_threshold
from discreet.census.mechanism.margins import Z95, bureau_margin, margin_of_error, variance_of
from discreet.census.safetab.census2020 import specification_2020
from discreet.census.safetab.design import STABILITY, exact_rho_for_margin, rho_for_margin, rivals, shown
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.studies.register import Compared, Found, check_printed, printed, study

GAMMA, CHANCE = Fraction(1, 10), Fraction(9999, 10000)
LARGEST = 300


def _stage_two(rho: Fraction) -> Noise:
    """Return the noise of a published cell at a level with this rho."""
    return budget_noise((1 - GAMMA) * rho, STABILITY, "zcdp")


@study("rho sigma2 threshold size suppressed bias_if_released bias_dropped_as_zero")
def safetab_suppression() -> Found:
    """Compute the chance of suppression and the bias of released totals by size of group.

    >>> [(check.printed.text, check.verdict.value) for check in safetab_suppression().checks[:3]]
    [('93', 'confirmed'), ('21', 'confirmed'), ('11', 'confirmed')]
    """
    sizes, below = np.arange(LARGEST + 1), []
    dropped = printed("safetab", "section 5.3.2", "chance that an empty group is dropped, percent")
    for at, entry in printed("safetab", "Table 6", "suppression threshold T").items():
        rho = Fraction(at)
        noise = _stage_two(rho)
        threshold = suppression_threshold(noise, CHANCE)
        assert threshold is not None
        yield check_printed(entry, threshold)
        less, at_most = (float(100 * noise.cdf(edge)) for edge in (threshold - 1, threshold))
        said = (
            'a total of T is dropped, as by (12), by (13) and in production; the text\'s "less than T" would '
            f"give {Style.PLACES.quantity(less, 4)}"
        )
        below.append(check_printed(dropped[at], at_most, why=said))
        effects = shown(sizes, noise, threshold)
        by_size = zip(sizes, effects.suppressed, effects.bias, effects.overall_bias, strict=True)
        yield from ((float(rho), float(variance_of(noise)), threshold, *row) for row in by_size)
    yield from below
    (gamma,) = printed("safetab", "Table 6, caption", "gamma").values()
    yield check_printed(gamma, float(GAMMA), why="with which the thresholds of Table 6 are met")


@study(
    "pass geography level wanted_margin rho rho_for_wanted_margin sigma2 margin_by_formula "
    "exact_margin exact_rho"
)
def safetab_margins() -> Found:
    """Compute rho from the margins of error, and margins from the rho of 2020, by geography and level.

    >>> rows = safetab_margins().where(geography="COUNTY").rows
    >>> [(row[2], row[3], row[4], round(row[5], 4), row[7], row[8]) for row in rows]
    [('regional', 50, 0.008, 0.0077, 49, 49), ('detailed', 11, 0.159, 0.1587, 10, 11)]
    """
    for which, preset in (("US", "ddhca-2020"), ("PR", "ddhca-2020-pr")):
        for level in load(preset).levels:
            assert level.rho is not None
            wanted, noise = wanted_margin(level.rho), _stage_two(level.rho)
            variance = variance_of(noise)
            rhos = (float(level.rho), float(rho_for_margin(wanted, stability=STABILITY, gamma=GAMMA)))
            least = float(exact_rho_for_margin(wanted, stability=STABILITY, gamma=GAMMA))
            margins = (float(variance), bureau_margin(variance), margin_of_error(noise))
            yield which, *level.name.split(", "), wanted, *rhos, *margins, least
    yield from _table_7()
    yield from _coverage()
    yield from _claims()


def _table_7() -> Iterator[Compared]:
    """Compare Table 7: step 2 follows from the margin, Total are inputs, which Theorem 2 doubles exactly."""
    inputs = {str(wanted_margin(level.rho)): level.rho for level in load("ddhca-2020").levels if level.rho}
    for scope, factor in (("add or remove", 1), ("replacement", 2)):
        for at, entry in printed("safetab", "Table 7", f"rho, {scope}, step 2").items():
            rho = factor * (1 - GAMMA) * rho_for_margin(at, stability=STABILITY, gamma=GAMMA)
            yield check_printed(entry, float(rho))
        for at, entry in printed("safetab", "Table 7", f"rho, {scope}, total").items():
            yield check_printed(
                entry, float(factor * inputs[at]), why="of the configuration" if factor == 1 else ""
            )
    (share,) = printed("safetab", "Table 7, caption", "step 2 as a share of the total, percent").values()
    rows = (printed("safetab", "Table 7", f"rho, add or remove, {part}") for part in ("step 2", "total"))
    step2, total = (one["3"].value for one in rows)
    yield check_printed(share, 100 * step2 / total, why="the first row of the table")
    (levels,) = printed("safetab", "Table 7", "levels").values()
    yield check_printed(levels, len(load("ddhca-2020").levels))


def _coverage() -> Iterator[Compared]:
    """Compare how often floor(1.96 sigma) covers the noise of a published number in 2020."""
    cells = {
        "detailed, below the states": _stage_two(Fraction("0.159")),
        "TotalOnly, nation and states": budget_noise(Fraction("2.134"), STABILITY, "zcdp"),
    }
    entries = printed("safetab", "section 6.1", "chance that floor(1.96 sigma) covers the noise, percent")
    for at, entry in entries.items():
        edge = bureau_margin(variance_of(cells[at]))
        chance = 100 * cells[at].within(edge, draws=1)
        yield check_printed(entry, chance, explained=f"the margin is {edge}; noise takes whole numbers")


def _claims() -> Iterator[Compared]:
    """Compare the other numbers: rho of a margin, three races, both kinds of noise, iterations."""
    (formula,) = printed("safetab", "Corollary 2", "rho times the squared margin").values()
    yield check_printed(formula, float((1 - GAMMA) * rho_for_margin(1, stability=1, gamma=GAMMA)))
    place = "section 6.3.1, race multiplicity"
    races = printed("safetab", place, "stability and change of the margins, percent")
    eight, three = (max(2, most) + 1 for most in (8, 3))
    yield check_printed(races["stability, 8"], eight)
    yield check_printed(races["stability, 3"], three)
    yield check_printed(races["margins"], 100 * (sqrt(three / eight) - 1))
    (codes,) = printed("safetab", "section 2.2", "race codes of a person, at most").values()
    yield check_printed(
        codes, STABILITY - 1, why="the stability of the configuration less one ethnicity code"
    )
    place = "section 6.3.1, noise distribution"
    (roughly,) = printed("safetab", place, "advantage of Gaussian noise, percent").values()
    normal, exact = geometric_cost()
    other = (
        "it refers to Haney et al. 2021, arXiv:2107.10659, and does not repeat its setting; for these levels "
        f"and margins, in one stage, epsilon at 1e-10 is {Style.PLACES.quantity(normal, 1)} % less, "
        f"{Style.PLACES.quantity(exact, 1)} by exact margins"
    )
    yield check_printed(roughly, None, why=other)
    (all_,) = printed("safetab", "section 2", "number of iterations").values()
    yield check_printed(all_, sum(iteration.level > 0 for iteration in specification_2020().iterations))


@cache
def geometric_cost() -> tuple[float, float]:
    """Return by how many percent epsilon is lower with Gaussian than with geometric noise of equal margins.

    At delta = 1e-10, for all levels of 2020 in one stage; with approximate margins (normal and exponential
    laws), and with exact ones.

    >>> [round(value, 1) for value in geometric_cost()]
    [15.7, 18.6]
    """
    margins = Counter(wanted_margin(level.rho) for level in load("ddhca-2020").levels if level.rho)
    times = [(m, STABILITY * levels) for m, levels in margins.items()]
    exact = rivals(times, delta="1e-10")
    normal = compose([DiscreteGaussian(variance=(m / Z95) ** 2, times=n) for m, n in times])
    scales = [Fraction(m / log(20)).limit_denominator(10_000) for m, _ in times]
    geometric = compose([DiscreteLaplace(scale=b, times=n) for b, (_, n) in zip(scales, times, strict=True)])
    first = normal.epsilon(delta="1e-10") / geometric.epsilon(delta="1e-10")
    return 100 * (1 - first), 100 * (1 - exact.gaussian_epsilon / exact.geometric_epsilon)


def wanted_margin(rho: Fraction) -> int:
    """Return the largest whole margin whose rho equals this one to three decimals.

    >>> [wanted_margin(Fraction(rho)) for rho in ("2.134", "0.159", "0.008")]
    [3, 11, 50]
    """
    for whole in range(200, 0, -1):
        if round(rho_for_margin(whole, stability=STABILITY, gamma=GAMMA), 3) == rho:
            return whole
    raise ValueError(f"no whole margin has rho {rho}")
