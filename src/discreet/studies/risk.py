"""The risk paper (Kazan and Reiter): one noisy count, and a block within its group; also with real noise.

In the paper rho means noise of variance 1/(2 rho). Its numbers follow from the shares of its Table 2, not
from the rounded rhos of its captions.

Two levels: 27 sibling blocks, an even prior, and a group count that is uniform from the block's count up.
Equation (3.8) has the condition k1 <= k2; the printed tables and figures agree with a Gibbs sampler whose
update of the block's count omits it. The posterior of the stated model and the limit of that chain are both
computed without sampling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import scipy

from discreet.answers.quantity import Style
from discreet.budget import load
from discreet.comparisons.zcdp import ZCDP
from discreet.disclosure import (
    Area,
    TwoLevels,
    decision_accuracy,
    expected_posterior,
    expected_ratio,
    hierarchy_posterior,
    posterior,
    ratio,
)
from discreet.disclosure.two_levels import Chance
from discreet.noise import DiscreteGaussian
from discreet.studies.register import (
    Compared,
    Floats,
    Found,
    Integers,
    Verdict,
    check_printed,
    compare_printed,
    printed,
    study,
)

PRIORS = ("1/2", "1/5", "1/10", "1/50", "1/864")
LEVELS = ("US", "State", "County", "Tract", "Optimized block group", "Block")
"""The paper's names for the levels, in the order of the preset."""
_TOTALS = "total rho, and epsilon at delta 1e-10"


def paper_rho(level: str) -> Fraction:
    """Return the rho of a level's detailed query from the printed shares.

    >>> paper_rho("Block")
    Fraction(1666368, 16793603)
    """
    shares = [printed("risk", "Table 2", f"share of the {of}")[level] for of in ("level", "detailed query")]
    total = printed("risk", "section 2.3", _TOTALS)["rho"]
    return Fraction(total.text) * Fraction(shares[0].text) * Fraction(shares[1].text)


RHO = paper_rho("Block")


@study(
    "level share_of_level share_of_detailed rho variance_as_published expected_ratio_as_published "
    "accuracy_as_published variance_real expected_ratio_real accuracy_real"
)
def risk_levels() -> Found:
    """Compute what each level of the 2020 Redistricting Data reveals, under both readings of its rho.

    >>> row = risk_levels().rows[-1]
    >>> row[0], round(row[3], 4), round(row[6], 4), round(row[9], 3)
    ('Block', 0.0991, 0.5888, 0.563)
    """
    release = load("pl94-2020-persons")
    assert release.rho is not None
    shares, parts = {}, {}
    for name, level in zip(LEVELS, release.levels, strict=True):
        index = next(i for i, query in enumerate(level.queries) if query.name == "detailed")
        event = level.events(release.neighbours)[index]
        assert level.rho is not None
        shares[name], parts[name] = float(level.rho / release.rho), float(1 / event.size / level.rho)
        values: list[float] = []
        for variance in (event.size / 2, event.size):
            right = decision_accuracy(variance=variance, prior="1/2", given="present")
            values += [float(variance), float(expected_ratio(variance=variance, prior="1/2")), float(right)]
        yield name, shares[name], parts[name], float(1 / event.size), *values
    (ln3,) = printed("risk", "introduction, epsilon", "ln 3").values()
    yield check_printed(ln3, math.log(3))
    (queries,) = printed("risk", "section 2.3", "queries of a level").values()
    many = [len(level.queries) for level in release.levels]
    why = f"five of the six levels have {many[-1]}; the nation, whose total is not asked, has {many[0]}"
    yield check_printed(queries, many[-1], why=why)
    rhos = {name: float(paper_rho(name)) for name in LEVELS}
    total = Fraction(printed("risk", "section 2.3", _TOTALS)["rho"].text)
    promise = ZCDP.from_rho(total).epsilon(delta=1e-10)
    totals = {"rho": float(release.rho), "epsilon": promise}
    group = rhos[LEVELS[4]]
    captions = {"block": rhos["Block"], "group, text on Table 6": group, "group, Figures 4 to 6": group}
    yield from compare_printed("risk", "Table 2", "share of the level", shares)
    yield from compare_printed("risk", "Table 2", "share of the detailed query", parts)
    yield from compare_printed("risk", "Table 2", "rho", rhos, why="the printed shares of the printed 2.56")
    cut = "2.56 + 2 sqrt(2.56 ln 1e10) = 17.915, cut off at two decimals"
    short = (Verdict.ROUNDED, {"epsilon": math.floor(100 * promise) / 100})
    yield from compare_printed("risk", "section 2.3", _TOTALS, totals, explained=cut, otherwise=short)
    block = {
        "all queries": float(total * Fraction(printed("risk", "Table 2", "share of the level")["Block"].text))
    }
    block["detailed query"] = rhos["Block"]
    yield from compare_printed("risk", "section 2.3", "rho of a block", block)
    label = printed("risk", "Table 2", "rho")[LEVELS[4]]
    again = (
        Verdict.ROUNDED,
        {"group, Figures 4 to 6": float(Decimal(label.text).quantize(Decimal("0.001"), "ROUND_HALF_UP"))},
    )
    twice = "0.24648 rounds to 0.246; the label 0.2465 of Table 2 rounds to 0.247"
    yield from compare_printed("risk", "captions", "rho", captions, explained=twice, otherwise=again)
    # Table 3 is data; only its sum and the numbers of cells can be computed
    people = printed("risk", "Table 3", "people of district 28-21 by group")
    yield check_printed(
        printed("risk", "section 4.2", "people of district 28-21")["together"],
        sum(int(entry.text) for entry in people.values()),
    )
    cells = {at: math.prod(map(int, at.split("*"))) for at in ("2*6*8*9", "2*2*8*63")}
    yield from compare_printed("risk", "section 4.1", "cells of a table", cells)


@study("prior noisy mass_present mass_absent posterior ratio")
def risk_table_4() -> Found:
    """Compute posterior and ratio at noisy values 1 to 5 for five priors, and how likely each value is.

    >>> [f"{row[2]:.3f} {row[3]:.3f} {row[4]:.3f}" for row in risk_table_4().rows[:2]]
    ['0.178 0.161 0.525', '0.161 0.119 0.574']
    """
    noise = DiscreteGaussian(variance=1 / (2 * RHO))
    masses = {str(noisy): (float(noise.pmf(noisy - 1)), float(noise.pmf(noisy))) for noisy in range(1, 6)}
    other = "printed are the masses given X1 = 0; the caption says given X1 = 1"
    present = {at: mass for at, (mass, _) in masses.items()}
    yield from compare_printed("risk", "Table 4", "mass", present, explained=other)
    percent = {at: 100 * mass for at, mass in present.items()}
    yield from compare_printed("risk", "text on Table 4", "mass, percent", percent, explained=other)
    for prior in PRIORS:
        both = [
            {at: float(of(int(at), rho=RHO, prior=prior, known=0)) for at in masses}
            for of in (posterior, ratio)
        ]
        if prior != "1/864":  # for this prior only the ratios are printed
            yield from compare_printed("risk", "Table 4", f"posterior, p = {prior}", both[0])
        yield from compare_printed("risk", "Table 4", f"ratio, p = {prior}", both[1])
        yield from ((prior, int(at), *masses[at], both[0][at], both[1][at]) for at in masses)


@study("prior expected_posterior expected_ratio expected_ratio_real_noise")
def risk_table_5() -> Found:
    """Compute the expected posterior and R, the expected ratio, for five priors.

    >>> [round(row[2], 2) for row in risk_table_5().rows]
    [1.05, 1.13, 1.17, 1.21, 1.22]
    """
    beliefs, ratios = (of(rho=RHO, prior=PRIORS).tolist() for of in (expected_posterior, expected_ratio))
    yield from zip(PRIORS, beliefs, ratios, expected_ratio(variance=1 / RHO, prior=PRIORS), strict=True)
    yield from compare_printed(
        "risk", "Table 5", "expected posterior", dict(zip(PRIORS, beliefs, strict=True))
    )
    yield from compare_printed("risk", "Table 5", "expected ratio", dict(zip(PRIORS, ratios, strict=True)))
    ends, why = {"smallest": min(ratios), "largest": max(ratios)}, "leaves out the last row, p = 1/864"
    yield from compare_printed("risk", "text on Table 5", "expected ratio", ends, explained=why)


@study("prior noisy posterior ratio")
def risk_priors_noisy() -> Found:
    """Compute posterior and ratio over the noisy value for five priors.

    >>> study = risk_priors_noisy().where(prior="1/2", noisy=1)
    >>> round(study.rows[0][2], 3)
    0.525
    """
    noisy = np.arange(-10, 21)
    yield from _by_prior(noisy, *(partial(of, noisy, rho=RHO, known=0) for of in (posterior, ratio)))


def _by_prior(places: Sequence[float] | Integers, *curves: Callable[..., Floats]) -> list[tuple[object, ...]]:
    """Return rows of curves over the same points, for each prior."""
    return [
        (prior, *row)
        for prior in PRIORS
        for row in zip(places, *(curve(prior=prior) for curve in curves), strict=True)
    ]


def rho_grid(points: int = 121) -> list[float]:
    """Return values of rho from 0.001 to 10, evenly spaced in the logarithm, and those of the paper."""
    return sorted([*(float(f"{rho:.6g}") for rho in np.geomspace(1e-3, 10.0, points)), float(RHO), 0.5, 0.6])


@study("prior rho expected_posterior expected_ratio")
def risk_priors_rho() -> Found:
    """Compute the expected posterior and R over rho for five priors.

    >>> study = risk_priors_rho().where(prior="1/2")
    >>> bool((np.diff(study.numbers("expected_ratio")) > 0).all())
    True
    """
    rhos = rho_grid()
    yield from _by_prior(rhos, *(partial(of, rho=rhos) for of in (expected_posterior, expected_ratio)))
    place, ends = "text on Figure 2", {"low": 0.25, "high": 5.0}
    ratios = {prior: float(expected_ratio(rho=ends["low"], prior=prior)) for prior in PRIORS}
    said = "stated for all priors; this is the ratio at rho = 0.25 for this one"
    yield from compare_printed("risk", place, "ratio below rho = 0.25: approximately", ratios, explained=said)
    beliefs = {prior: float(expected_posterior(rho=ends["high"], prior=prior)) for prior in PRIORS}
    at_end = expected_ratio(rho=ends["high"], prior=PRIORS[-1])
    ratio = Style.PLACES.quantity(at_end, 0)
    said = f"stated for all priors, with a ratio of 1/p; for this one the ratio at rho = 5 is {ratio}"
    yield from compare_printed(
        "risk", place, "posterior above rho = 5: approximately", beliefs, explained=said
    )


@study("prior rho accuracy_present accuracy_average")
def risk_accuracy_rho() -> Found:
    """Compute how often the decision is right against rho: if the person is present, and on average.

    >>> [(check.printed.text, f"{check.computed:.4f}") for check in risk_accuracy_rho().checks[:4]]  # slow
    [('.59', '0.5889'), ('.30', '0.3005'), ('.28', '0.2815'), ('1', '0.1752')]
    """
    rhos = rho_grid(641)
    curves = (partial(decision_accuracy, rho=rhos, given=given) for given in ("present", "prior"))
    yield from _by_prior(rhos, *curves)
    right = partial(decision_accuracy, given="present")
    mine = {f"p = 1/5, rho = .{k}": right(rho=k / 10, prior="1/5") for k in (5, 6)}
    mine["p = 1/2"] = right(rho=RHO, prior="1/2")
    yield from compare_printed("risk", "text on Figure 3", "right decisions", mine)
    what = "right decisions, percent: a fraction of"
    rare = {at: 100 * right(rho=RHO, prior=at) for at in printed("risk", "text on Figure 3", what)}
    yield from compare_printed("risk", "text on Figure 3", what, rare)


# -- a block and its block group ---------------------------------------------------------------------------

RHOS = (RHO, paper_rho(LEVELS[4]))


def _inputs(place: str, what: str) -> list[int]:
    return [int(entry.text) for entry in printed("risk", place, what).values()]


EXAMPLE = tuple(_inputs("Table 6", "noisy counts"))
"""Noisy counts of the block, the group and the sum of the siblings."""
SIBLINGS = _inputs("section 4.3, districts", "districts, and siblings d")[1]
DRAWS = _inputs("Figure 5", "data sets and draws")[1]
"""Draws of the chain for each data set of Figures 5 and 6."""


def _two(rho: tuple[Fraction, Fraction] = RHOS) -> TwoLevels:
    return TwoLevels(rho=rho, siblings=SIBLINGS, prior="1/2")


@dataclass(frozen=True, slots=True, eq=False)
class Sampler:
    """The limit of a two-level Gibbs sampler, and the variances of its shares of visits, times the draws."""

    block: Floats
    group: Floats
    block_variance: Floats
    group_variance: Floats


def sampler(*, condition: bool) -> Sampler:
    """Return the limit of the sampler at the paper's example; with the condition it is the posterior.

    Given X1 the group's count has the law A[X1], given X2 the block's has B[X2]; X1 alone is a chain of two
    states with matrix T = A B. Autocovariances decay by T's second eigenvalue: their sum has a closed form.

    >>> [round(float(sampler(condition=c).block[1]), 4) for c in (True, False)]
    [0.5033, 0.5777]
    """
    (x, z, y), (rho1, rho2) = EXAMPLE, map(float, RHOS)
    k1, k2 = np.arange(2)[:, None], np.arange(80)[None, :]
    beside = np.exp(-rho1 / SIBLINGS * (y - k2 + k1) ** 2)
    down = np.where(k2 >= k1, np.exp(-rho2 * (z - k2) ** 2) * beside, 0.0)
    up = np.exp(-rho1 * (x - k1) ** 2) * beside * ((k1 <= k2) if condition else 1.0)
    A = down / down.sum(axis=1, keepdims=True)
    B = (up / up.sum(axis=0)).T
    T = A @ B
    block = np.array([T[1, 0], T[0, 1]]) / (T[1, 0] + T[0, 1])
    second = T[0, 0] + T[1, 1] - 1  # eigenvalue
    group = block @ A
    again = np.einsum("ki,ik->k", B - block, A) / (1 - second)  # sum over time of P[back at k] - P[at k]
    return Sampler(
        block,
        group,
        block * (1 - block) * (1 + second) / (1 - second),
        group * (1 - group) + 2 * group * again,
    )


def _sampled(place: str, what: str, laws: list[tuple[Floats, Floats]]) -> Iterator[Compared]:
    """Compare printed shares of draws with the (law, variance) of the exact posterior and of the chain."""
    for at, entry in printed("risk", place, what).items():
        assert entry.draws is not None
        exact, limit = (100 * float(law[int(at)]) for law, _ in laws)
        errors = [100 * math.sqrt(variance[int(at)] / entry.draws) for _, variance in laws]
        why = (
            f"a sampler without the condition k1 <= k2 tends to {Style.BRIEF.quantity(limit, 3)}, "
            f"{Style.PLACES.quantity(abs(entry.value - limit) / errors[1], 1)} standard errors from the print"
        )
        yield check_printed(entry, exact, error=errors[0], explained=why)


@study("method probability standard_error")
def risk_two_levels() -> Found:
    """Compute the posterior at the paper's example by every method.

    >>> [(row[0], round(float(row[1]), 4)) for row in risk_two_levels().rows[1:3]]
    [('exact', 0.5033), ('chain without the condition', 0.5777)]
    """
    x, z, y = EXAMPLE

    def areas(factor: int) -> list[Area]:
        v1, v2 = (factor / (2 * rho) for rho in RHOS)
        block = Area(name="block", noisy=x, variance=v1, siblings=SIBLINGS, siblings_noisy=y)
        return [block, Area(name="block group", noisy=z, variance=v2)]

    exact, limit = sampler(condition=True), sampler(condition=False)
    alone = hierarchy_posterior([Area(noisy=x, rho=RHO)], prior="1/2")
    yield "block alone", alone.probability, None
    yield "exact", hierarchy_posterior(areas(1), prior="1/2").probability, None
    yield "chain without the condition", float(limit.block[1]), None
    for name, method in (("sampler, sound", "gibbs"), ("sampler, without", "gibbs-unconstrained")):
        drawn = hierarchy_posterior(areas(1), prior="1/2", method=method, draws=100_000, seed=2020)  # type: ignore[arg-type]
        yield name, drawn.probability, drawn.standard_error
    yield "exact, real noise 1/rho", hierarchy_posterior(areas(2), prior="1/2").probability, None
    laws = [(limits.block, limits.block_variance) for limits in (exact, limit)]
    yield from _sampled("Table 7", "posterior of the block's count, percent", laws)
    what = "posterior from the block alone, percent"
    yield from compare_printed("risk", "text on Table 7", what, {"1": 100 * alone.probability})


@study("count exact_percent chain_percent standard_error_exact standard_error_chain")
def risk_table_8() -> Found:
    """Compute the posterior of the group's count at the example, exactly and for the chain.

    >>> [round(row[1], 1) for row in risk_table_8().rows][:4]
    [12.9, 38.7, 29.8, 13.9]
    """
    laws = [
        (chain.group, chain.group_variance) for chain in (sampler(condition=True), sampler(condition=False))
    ]
    what = "posterior of the group's count, percent"
    checks = list(_sampled("Table 8", what, laws))
    columns = [100 * law for law, _ in laws] + [100 * np.sqrt(variance / 10_000) for _, variance in laws]
    yield from zip(map(str, range(len(checks))), *columns, strict=False)
    yield from checks
    yield from _sampled("text on Table 8", what, laws)


def chain_chances(two: TwoLevels, x: Integers, z: Integers, y: Integers) -> Floats:
    """Return the limit of the chain without the condition, for all noisy counts of block, group, siblings.

    >>> EXAMPLE, chain_chances(_two(), *(np.array([count]) for count in EXAMPLE)).round(4).item()
    ((2, 1, -1), 0.5777)
    """
    chain = two.chain(*np.broadcast_arrays(z[:, None], y))
    return np.array([chain.stationary(value) for value in x])


def with_draws(two: TwoLevels, group: int) -> float:
    """Return how often a chain is right that says yes if at least half of its 1,000 independent draws do."""
    (x, px), (z, pz), (y, py) = two.grid(block=1, group=group, outside=1e-9)
    return float(np.einsum("x,z,y,xzy->", px, pz, py, says_yes(chain_chances(two, x, z, y))))


def says_yes(chances: Floats, draws: int = DRAWS) -> Floats:
    """Return P[Binomial(draws, chance) >= draws / 2].

    >>> says_yes(np.array([0.3, 0.5, 0.7])).round(4).tolist()
    [0.0, 0.5126, 1.0]
    """
    return np.asarray(scipy.special.bdtrc(draws // 2 - 1, draws, chances))


def _drawn(place: str, what: str, mine: float) -> Compared:
    """Compare a printed percentage of right decisions with the chain of 1,000 draws."""
    (entry,) = printed("risk", place, what).values()
    assert entry.draws is not None
    error = 100 * math.sqrt(mine * (1 - mine) / entry.draws)
    why = "beside 1,000 draws that say yes at a share of one half; decided exactly, 58.97 % would be right"
    return check_printed(entry, 100 * mine, error=error, why=why)


def _right(two: TwoLevels, group: int) -> tuple[float, float]:
    """Return how often the exact posterior and the chain are right, given that the target is counted."""
    return two.accuracy_given(group=group), two.accuracy_given(group=group, chance="unconstrained")


@study("group exact chain chain_1000_draws block_alone exact_averaged_over_prior")
def risk_group_count() -> Found:
    """Compute how often the decision is right, given that the target is counted, by the group's true count.

    >>> study = risk_group_count().where(group=1)  # slow
    >>> [round(float(study.numbers(name)[0]), 4) for name in ("exact", "chain", "chain_1000_draws")]
    [0.3182, 0.5946, 0.5954]
    """
    two, alone = _two(), float(decision_accuracy(rho=RHO, prior="1/2", given="present"))
    sampled = {group: with_draws(two, group) for group in (1, 2, 4, 10)}
    for group in (1, 2, 3, 4, 6, 8, 10, 15):
        averaged = two.accuracy(rest=group - 1)
        yield group, *_right(two, group), sampled.get(group), alone, averaged
    yield _drawn("text on Figure 5", "right decisions, mean over larger groups, percent", sampled[10])


@study("rho2 group exact chain")
def risk_group_rho() -> Found:
    """Compute the accuracy against the group's rho, up to 100, with the block's rho fixed."""
    *groups, largest, _ = _inputs("Figure 6", "counts of the group, largest rho2, draws")
    for rho in np.geomspace(0.01, largest, 7):
        two = _two((RHO, Fraction(f"{rho:.6g}")))
        yield from ((float(f"{rho:.6g}"), group, *_right(two, group)) for group in groups)
    accuracy = with_draws(_two((RHO, Fraction(largest))), groups[1])
    yield _drawn("text on Figure 6", "right decisions, percent", accuracy)
    alone = {"block alone": 100 * float(decision_accuracy(rho=RHO, prior="1/2", given="present"))}
    what = "right decisions from the block alone, percent"
    yield from compare_printed("risk", "text on Figure 6", what, alone)


def _grid() -> tuple[Integers, Integers]:
    """Return the noisy counts of group and siblings in Figure 4."""
    a, b, c, d, *_ = _inputs("Figure 4", "grid")
    return np.arange(a, b + 1), np.arange(c, d + 1)


@study("group_noisy siblings_noisy exact chain block_alone")
def risk_decisions() -> Found:
    """Compute the smallest noisy block count at which the adversary says yes, for every pair of other counts.

    >>> row = risk_decisions().where(group_noisy=1, siblings_noisy=-1).rows[0]
    >>> row[2:4]
    (2, 1)
    """
    two, (z, y) = _two(), _grid()
    exact, chain = two.thresholds(z, y), two.thresholds(z, y, chance="unconstrained")
    yield from (
        (z[i], y[j], exact[i, j], chain[i, j], two.threshold_alone) for i, j in np.ndindex(exact.shape)
    )


@study("change exact chain chain_undecided")
def risk_changed() -> Found:
    """Compute how often, in percent, the group changes the decision on Figure 4's grid, for truth (1, 1, 0).

    >>> [(row[0], round(row[1], 3), round(row[2], 3)) for row in risk_changed().rows]
    [('to yes', 0.2, 2.298), ('to no', 26.985, 1.721), ('net', -26.785, 0.577)]
    """
    two, (z, y) = _two(), _grid()
    block, group, _ = _inputs("Table 6", "true counts")
    (x, px), (all_z, pz), (all_y, py) = two.grid(block=block, group=group)
    pz, py = pz[np.isin(all_z, z)], py[np.isin(all_y, y)]
    weights = 100 * px[:, None, None] * pz[None, :, None] * py[None, None, :]
    data = x[:, None, None], z[None, :, None], y[None, None, :]
    before = np.broadcast_to(data[0] >= two.threshold_alone, weights.shape)
    near = 1 / math.sqrt(4 * _inputs("Figure 4", "grid")[5])  # one standard error of the longer runs
    masses, undecided = [], []
    every: tuple[tuple[Chance, Floats], ...] = (
        ("exact", two.probability(*data)),
        ("unconstrained", chain_chances(two, x, z, y)),
    )
    for name, chances in every:
        after, close = chances > 0.5, np.abs(chances - 0.5) < near
        changed = two.changes(z, y, block=block, group=group, chance=name)
        to_yes, to_no = (100 * mass for mass in changed)
        masses.append((to_yes, to_no, to_yes - to_no))
        undecided.append([weights[close & mask] for mask in (~after & ~before, after & before)])
    sums = [float(part.sum()) for part in undecided[1]]
    rows = list(zip(("to yes", "to no", "net"), *masses, (*sums, None), strict=True))
    yield from rows
    on_grid = {"all": 100 * float(pz.sum() * py.sum())}
    less = "a little less than said"
    yield from compare_printed("risk", "Figure 4", "mass on the grid, percent", on_grid, explained=less)
    error = math.sqrt(sum(float((part**2).sum()) for part in undecided[0]) / 4)
    said = printed("risk", "Figure 4", "mass of decisions that the group changes, percent")
    for at, exact, limit, _ in rows:
        why = (
            f"the limit of a sampler without the condition k1 <= k2 is {Style.PLACES.quantity(limit, 3)}, "
            f"and data that its longest runs cannot decide carry {Style.PLACES.quantity(sums[0], 3)} "
            f"(to yes) and {Style.PLACES.quantity(sums[1], 3)} (to no)"
        )
        yield check_printed(said[at], exact, error=error, explained=why)
