"""One noisy count: tables and figures of the risk paper, and the same with the noise that was really used.

The paper is Kazan and Reiter's; rho means noise of variance 1/(2 rho) there. Its numbers follow from the
shares of its Table 2, not from the rounded rhos of its captions.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.accounting.comparisons import ZCDP
from discreet.budget import load
from discreet.noise import DiscreteGaussian
from discreet.risk import decision_accuracy, expected_posterior, expected_ratio, posterior, ratio
from discreet.studies.register import Compared, Study, check, compare, made, printed

PRIORS = ("1/2", "1/5", "1/10", "1/50", "1/864")
LEVELS = ("US", "State", "County", "Tract", "Optimized block group", "Block")
"""The paper's names of the levels, in the order of the preset."""
_TOTALS = "total rho, and epsilon at delta 1e-10"


def paper_rho(level: str) -> Fraction:
    """Return the rho of a level's detailed query from the shares that the paper prints.

    >>> paper_rho("Block")
    Fraction(1666368, 16793603)
    """
    shares = [printed("risk", "Table 2", f"share of the {of}")[level] for of in ("level", "detailed query")]
    total = printed("risk", "Table 2", _TOTALS)["rho"]
    return Fraction(total.text) * Fraction(shares[0].text) * Fraction(shares[1].text)


RHO = paper_rho("Block")


def risk_levels() -> Study:
    """Compute what each level of the 2020 Redistricting Data tells, with both readings of its rho.

    >>> row = risk_levels().rows[-1]
    >>> row[0], round(row[3], 4), round(row[6], 4), round(row[9], 3)
    ('Block', 0.0991, 0.5888, 0.563)
    """
    release = load("pl94-2020-persons")
    assert release.rho is not None
    rows, shares, parts = [], {}, {}
    for name, level in zip(LEVELS, release.levels, strict=True):
        place = next(i for i, query in enumerate(level.queries) if query.name == "detailed")
        event = level.events(release.neighbours)[place]
        assert level.rho is not None
        shares[name], parts[name] = float(level.rho / release.rho), float(1 / event.size / level.rho)
        values: list[float] = []
        for variance in (event.size / 2, event.size):
            right = decision_accuracy(variance=variance, prior="1/2")
            values += [float(variance), float(expected_ratio(variance=variance, prior="1/2")), float(right)]
        rows.append((name, shares[name], parts[name], float(1 / event.size), *values))
    rhos = {name: float(paper_rho(name)) for name in LEVELS}
    promise = ZCDP.from_rho(Fraction(printed("risk", "Table 2", _TOTALS)["rho"].text)).epsilon(delta=1e-10)
    totals = {"rho": float(release.rho), "epsilon": promise}
    captions = {"block": rhos["Block"]} | dict.fromkeys(
        ("group, Table 6", "group, Figures 4 to 6"), rhos[LEVELS[4]]
    )
    cut = "2.56 + 2 sqrt(2.56 ln 1e10), cut off instead of rounded"
    twice = "0.24648 rounds to 0.246; 0.247 is 0.2465 rounded again"
    return made(
        "risk-levels",
        "level share_of_level share_of_detailed rho variance_as_published expected_ratio_as_published "
        "accuracy_as_published variance_real expected_ratio_real accuracy_real",
        rows,
        compare("risk", "Table 2", "share of the level", shares),
        compare("risk", "Table 2", "share of the detailed query", parts),
        compare("risk", "Table 2", "rho", rhos, why="the printed shares of the printed 2.56"),
        compare("risk", "Table 2", _TOTALS, totals, explained=cut),
        compare("risk", "captions", "rho", captions, explained=twice),
        _table_3(),
    )


def _table_3() -> list[Compared]:
    """Table 3 is data; what can be computed from it are its sum and the numbers of cells."""
    people = printed("risk", "Table 3", "people of district 28-21 by group, and together")
    whole = sum(int(people[at].text) for at in ("first", "second", "third"))
    cells = {at: math.prod(map(int, at.split("*"))) for at in ("2*6*8*9", "2*2*8*63")}
    return [check(people["together"], whole), *compare("risk", "Table 3", "cells of a table", cells)]


def risk_table_4() -> Study:
    """Compute posterior and ratio at noisy values 1 to 5 for five priors, and how likely each value is.

    >>> [f"{row[2]:.3f} {row[3]:.3f} {row[4]:.3f}" for row in risk_table_4().rows[:2]]
    ['0.178 0.161 0.525', '0.161 0.119 0.574']
    """
    noise = DiscreteGaussian(1 / (2 * RHO))
    masses = {str(noisy): (float(noise.pmf(noisy - 1)), float(noise.pmf(noisy))) for noisy in range(1, 6)}
    other = "printed are the masses given X1 = 0; the caption says given X1 = 1"
    present = {at: mass for at, (mass, _) in masses.items()}
    rows, checks = [], compare("risk", "Table 4", "mass", present, explained=other)
    for prior in PRIORS:
        both = [
            {at: float(of(int(at), rho=RHO, prior=prior, known=0)) for at in masses}
            for of in (posterior, ratio)
        ]
        if prior != "1/864":  # of which only the ratios are printed
            checks += compare("risk", "Table 4", f"posterior, p = {prior}", both[0])
        checks += compare("risk", "Table 4", f"ratio, p = {prior}", both[1])
        rows += [(prior, int(at), *masses[at], both[0][at], both[1][at]) for at in masses]
    return made("risk-table-4", "prior noisy mass_present mass_absent posterior ratio", rows, checks)


def risk_table_5() -> Study:
    """Compute the expected posterior and R, the expected ratio, for five priors.

    >>> [round(row[2], 2) for row in risk_table_5().rows]
    [1.05, 1.13, 1.17, 1.21, 1.22]
    """
    beliefs, ratios = (of(rho=RHO, prior=PRIORS).tolist() for of in (expected_posterior, expected_ratio))
    real = expected_ratio(variance=1 / RHO, prior=PRIORS)
    ends = {"smallest": min(ratios), "largest": max(ratios)}
    return made(
        "risk-table-5",
        "prior expected_posterior expected_ratio expected_ratio_real_noise",
        zip(PRIORS, beliefs, ratios, real, strict=True),
        compare("risk", "Table 5", "expected posterior", dict(zip(PRIORS, beliefs, strict=True))),
        compare("risk", "Table 5", "expected ratio", dict(zip(PRIORS, ratios, strict=True))),
        compare(
            "risk", "text on Table 5", "expected ratio", ends, explained="leaves out the last row, p = 1/864"
        ),
    )


def risk_priors_noisy() -> Study:
    """Compute posterior and ratio over the noisy value for five priors.

    >>> study = risk_priors_noisy().where(prior="1/2", noisy=1)
    >>> round(study.rows[0][2], 3)
    0.525
    """
    noisy = np.arange(-10, 21)
    rows = []
    for prior in PRIORS:
        both = [of(noisy, rho=RHO, prior=prior, known=0) for of in (posterior, ratio)]
        rows += [(prior, *row) for row in zip(noisy, *both, strict=True)]
    return made("risk-priors-noisy", "prior noisy posterior ratio", rows)


def rho_grid(points: int = 121) -> list[float]:
    """Return values of rho from 0.001 to 10, evenly spaced in their logarithms, and those of the paper."""
    return sorted([*(float(f"{rho:.6g}") for rho in np.geomspace(1e-3, 10.0, points)), float(RHO), 0.5, 0.6])


def risk_priors_rho() -> Study:
    """Compute the expected posterior and R over rho for five priors.

    >>> study = risk_priors_rho().where(prior="1/2")
    >>> bool((np.diff(study.numbers("expected_ratio")) > 0).all())
    True
    """
    rhos = rho_grid()
    rows = []
    for prior in PRIORS:
        both = [of(rho=rhos, prior=prior) for of in (expected_posterior, expected_ratio)]
        rows += [(prior, *row) for row in zip(rhos, *both, strict=True)]
    return made("risk-priors-rho", "prior rho expected_posterior expected_ratio", rows)


def risk_accuracy_rho() -> Study:
    """Compute how often the decision is right over rho: given that the person is there, and on average.

    >>> [(check.printed.text, f"{check.computed:.4f}") for check in risk_accuracy_rho().checks]
    [('.59', '0.5889'), ('.30', '0.3005'), ('.28', '0.2815')]
    """
    rhos = rho_grid(641)
    rows = []
    for prior in PRIORS:
        both = [decision_accuracy(rho=rhos, prior=prior, given=given) for given in ("present", "prior")]
        rows += [(prior, *row) for row in zip(rhos, *both, strict=True)]
    found = {row[:2]: float(row[2]) for row in rows}
    mine = {f"p = 1/5, rho = .{k}": found["1/5", k / 10] for k in (5, 6)} | {
        "p = 1/2": found["1/2", float(RHO)]
    }
    checks = compare("risk", "Figure 3, text", "right decisions", mine)
    return made("risk-accuracy-rho", "prior rho accuracy_present accuracy_average", rows, checks)
