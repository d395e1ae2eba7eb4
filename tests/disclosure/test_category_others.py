"""Groups of cells, and others of whom only totals are known: against all tables and all outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from discreet.budget import Attributes, Level, Query, Release
from discreet.disclosure import categories, release_categories, table_categories
from discreet.disclosure.evidence import EvidenceLaw
from discreet.disclosure.scores import CoarseCount, ScoreLaw, chance_right, largest_score, repeated
from discreet.disclosure.totals import TotalsAttack, evidence_given_totals
from discreet.errors import InputError
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise

# -- groups ------------------------------------------------------------------------------------------


def enumerated(
    noise: Noise,
    priors: list[float],
    asked: list[int],
    reach: int,
    coarse: tuple[Noise, list[int]] | None = None,
) -> float:
    """The chance of naming the right group, by every outcome of all counts."""
    values = np.arange(-reach, reach + 1)
    cells = len(priors)
    own = np.array([[noise.pmf(values - shift) for shift in (0, 1)]])[0]
    axes = [cells] if coarse is None else [cells, max(coarse[1]) + 1]
    best = None
    for group in range(max(asked) + 1):
        score = 0.0
        for truth in range(cells):
            if asked[truth] != group:
                continue
            law = np.ones(1)
            for cell in range(cells):
                law = np.multiply.outer(law, own[int(cell == truth)])
            for part in range(axes[-1] if coarse is not None else 0):
                assert coarse is not None
                law = np.multiply.outer(law, coarse[0].pmf(values - int(coarse[1][truth] == part)))
            score = score + priors[truth] * law
        best = score if best is None else np.maximum(best, score)
    return float(np.sum(best))


@pytest.mark.parametrize("noise", [DiscreteGaussian(variance=1), DiscreteLaplace(scale="1/2")])
@pytest.mark.parametrize(
    ("priors", "asked"),
    [
        ([0.25] * 4, [0, 0, 1, 1]),
        ([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1]),
        ([0.7, 0.1, 0.1, 0.1], [0, 1, 1, 2]),
        ([0.2] * 5, [0, 0, 0, 0, 1]),
    ],
)
def test_the_right_group_is_named_as_often_as_in_all_outcomes(
    noise: Noise, priors: list[float], asked: list[int]
) -> None:
    reach = 8 if len(priors) < 5 else 6
    right, error = chance_right(EvidenceLaw.of_noise(noise), np.array(priors), asked=np.array(asked))
    left_out = 2 * len(priors) * float(noise.sf(reach - 1))
    assert error < 1e-7
    assert right == pytest.approx(enumerated(noise, priors, asked, reach), abs=error + left_out + 1e-12)
    wrong = enumerated(noise, priors, list(range(len(priors))), reach)
    assert abs(right - wrong) > 1e-3, "that of naming the cell is another number"


def test_counts_of_groups_add_to_what_their_cells_say() -> None:
    """Two groups of two cells, each cell and each group with a noisy count: all outcomes of six numbers."""
    fine, coarse, labels = DiscreteGaussian(variance="1/2"), DiscreteGaussian(variance=1), [0, 0, 1]
    priors, reach = [0.5, 0.2, 0.3], 6
    count = [CoarseCount(np.array(labels), EvidenceLaw.of_noise(coarse))]
    for asked in (labels, [0, 1, 2]):
        of = np.array(labels) if asked == labels else None
        right, error = chance_right(EvidenceLaw.of_noise(fine), np.array(priors), coarse=count, asked=of)
        assert right == pytest.approx(
            enumerated(fine, priors, asked, reach, (coarse, labels)), abs=error + 1e-6
        )
        assert error < 1e-6


def test_a_group_of_all_its_noise_is_bounded_by_its_count_alone() -> None:
    """Groups that are told by their own counts alone are cells: the same number on both ways."""
    law, nothing = (
        EvidenceLaw.of_noise(DiscreteGaussian(variance=2)),
        EvidenceLaw(*[np.zeros(1)], *[np.ones(1)] * 2),
    )
    labels = np.array([0, 0, 1, 2, 2])
    priors = np.array([0.1, 0.2, 0.3, 0.15, 0.25])
    ways = [
        chance_right(nothing, priors, coarse=[CoarseCount(labels, law)], asked=labels)[0],
        chance_right(law, np.bincount(labels, priors))[0],
    ]
    assert ways[0] == pytest.approx(ways[1], rel=1e-9)


@pytest.mark.parametrize("variance", ["1/10000", "1/20", "1/2", "5", "5000"])
def test_below_and_above_enclose(variance: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid 16 times as coarse encloses the finer one's interval."""
    law = EvidenceLaw.of_noise(DiscreteGaussian(variance=variance))
    priors = np.random.default_rng(1).dirichlet(np.ones(12)).round(2) + 0.01
    asked = np.arange(12) % 3
    fine, close = chance_right(law, priors / priors.sum(), asked=asked)
    monkeypatch.setattr("discreet.disclosure.scores.MOST_SCORES", 64)
    monkeypatch.setattr(ScoreLaw.shortened, "__defaults__", (64,))
    rough, wide = chance_right(law, priors / priors.sum(), asked=asked)
    assert rough - wide <= fine - close + 1e-12
    assert fine + close <= rough + wide + 1e-12
    assert close <= wide < 0.01


def test_sums_of_scores_have_their_mean_and_the_largest_is_a_product() -> None:
    cell = ScoreLaw.of_cell(EvidenceLaw.of_noise(DiscreteGaussian(variance=3)), 0.02)
    for side in ("below", "above"):
        both = repeated(cell, 50, side)
        assert float(both.weight.sum()) + both.lost == pytest.approx(1.0, rel=1e-12)
        assert float(both.chance.sum()) == pytest.approx(1.0, rel=1e-12)
    two = ScoreLaw(np.log([1.0, 3.0]), np.array([0.5, 0.5]), np.array([0.5, 1.5]))
    assert float(largest_score([two], [3]).weight.sum()) == pytest.approx(3 - 2 / 8)


def simulated(variance: str, asked: np.ndarray, priors: np.ndarray, draws: int, seed: int) -> float:
    random, v = np.random.default_rng(seed), float(variance)
    cumulated = np.cumsum(DiscreteGaussian(variance=variance).pmf(np.arange(-60, 61)))
    off = np.searchsorted(cumulated, random.random((draws, priors.size))) - 60
    truth = random.choice(priors.size, draws, p=priors)
    off[np.arange(draws), truth] += 1
    scores = priors * np.exp((off - 0.5) / v)
    groups = np.stack([scores[:, asked == one].sum(axis=1) for one in range(asked.max() + 1)], axis=1)
    return float(np.mean(groups.argmax(axis=1) == asked[truth]))


def test_groups_agree_with_simulation_and_other_noise_does_not() -> None:
    """40,000 draws of 24 cells in 4 groups, seed 11: within 4 standard errors (once in 16,000 beyond)."""
    priors = np.random.default_rng(2).dirichlet(np.full(24, 2.0))
    asked = np.arange(24) % 4
    drawn = simulated("5.04", asked, priors, 40_000, 11)
    bound = 4 * np.sqrt(drawn * (1 - drawn) / 40_000)
    found = categories(variance="5.04", prior=priors, asked=asked.tolist()).guesses[0]
    assert abs(found.right - drawn) < bound
    assert (
        abs(categories(variance="2.5", prior=priors, asked=asked.tolist()).guesses[0].right - drawn) > bound
    )


def test_which_group_of_a_release() -> None:
    people = Attributes({"age": ["0", "1", "2"], "sex": ["f", "m"]})
    queries = [Query(name="detailed", variance=4)]
    levels = [Level(name="Block", queries=queries)]
    release = Release(name="one", neighbours="bounded", levels=levels, attributes=people)
    by_sex = release_categories(release, asked="sex")
    same = categories(cells=6, variance=4, asked=[0, 1, 0, 1, 0, 1])
    assert by_sex.groups == 2
    assert by_sex.unaided == 0.5
    errors = by_sex.guesses[0].error + same.guesses[0].error
    assert by_sex.guesses[0].right == pytest.approx(same.guesses[0].right, abs=errors)
    assert errors < 1e-6
    more = [Level(name="Block", queries=[*queries, Query(name="sex", variance=3)])]
    counted = release_categories(
        Release(name="two", neighbours="bounded", levels=more, attributes=people), asked="sex"
    )
    assert counted.is_asked_counted
    assert counted.guesses[0].right > by_sex.guesses[0].right + 0.05
    sexes = [Level(name="Block", queries=[Query(name="sex", variance=3)])]
    only = Release(name="three", neighbours="bounded", levels=sexes, attributes=people)
    with pytest.raises(InputError, match="no query of level 'Block' that counts records tells 'age'"):
        release_categories(only, asked="age")
    with pytest.raises(InputError, match="are split by 'age'; ask for a coarser query"):
        release_categories(only, query="sex", asked="age")


def test_the_query_that_tells_most_of_a_group_is_looked_at() -> None:
    """Sexes of six cells each at variance 4, of two at variance 9: the second tells more, with the sexes'."""
    people = Attributes(
        {"age": ["0", "1", "2"], "work": ["n", "y"], "sex": ["f", "m"]},
    )
    names = {"detailed": 4, "work * sex": 9, "sex": 30}
    queries = [Query(name=name, variance=variance) for name, variance in names.items()]
    levels = [Level(name="Block", queries=queries)]
    release = Release(name="one", neighbours="bounded", levels=levels, attributes=people)
    found = release_categories(release, asked="sex")
    other = release_categories(release, query="detailed", asked="sex")
    alone = release_categories(release, query="sex", asked="sex")
    assert (found.query, found.cells, found.groups) == ("work * sex", 4, 2)
    assert found.is_asked_counted
    assert found.guesses[0].right > other.guesses[0].right > alone.guesses[0].right > 0.52


# -- others of whom only totals are known -----------------------------------------------------------------


def tables(total: int, cells: int) -> Iterator[tuple[int, ...]]:
    """Every way to put so many people into cells."""
    if cells == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for others in tables(total - first, cells - 1):
            yield (first, *others)


def likelihoods(off: np.ndarray, variances: list[float], totals: list[int], shares: np.ndarray) -> np.ndarray:
    """The likelihood of each cell, over all tables of all rings."""
    levels, cells = off.shape
    rings = np.diff([0, *totals])
    noises = [DiscreteGaussian(variance=str(v)) for v in variances]
    found = np.zeros(cells)
    for truth in range(cells):
        for people in product(*(list(tables(int(ring), cells)) for ring in rings)):
            counts, chance = np.eye(cells, dtype=np.int64)[truth], 1.0
            for level in range(levels):
                chance *= math.factorial(sum(people[level]))
                for cell, many in enumerate(people[level]):
                    chance *= shares[level, cell] ** many / math.factorial(many)
                counts = counts + people[level]
                chance *= float(np.prod(noises[level].pmf((off[level] - counts).astype(np.int64))))
            found[truth] += chance
    return found


@pytest.mark.parametrize(
    ("totals", "cells"),
    [
        ([0], 3),
        ([5], 2),
        ([4], 3),
        ([3], 4),
        ([2, 4], 2),
        ([1, 3], 3),
        ([2, 2], 3),
        ([0, 3], 3),
        ([1, 2, 4], 2),
    ],
)
@pytest.mark.parametrize("zero_share", [False, True])
def test_totals_are_the_sum_over_all_tables(totals: list[int], cells: int, zero_share: bool) -> None:
    random = np.random.default_rng(sum(totals) + cells)
    off = random.integers(-3, 6, (len(totals), cells)).astype(float)
    variances = [float(one) for one in random.integers(1, 24, len(totals)) / 4]
    shares = random.dirichlet(np.ones(cells), len(totals))
    if zero_share:
        shares[0, 0] = 0.0
        shares /= shares.sum(axis=1, keepdims=True)
    exact = likelihoods(off, variances, totals, shares)
    logs = evidence_given_totals(off, variances, totals, shares)
    assert np.exp(logs - logs.max()) == pytest.approx(exact / exact.max(), rel=1e-11)


@pytest.mark.parametrize("totals", [[0, 0], [1, 2], [3, 3]])
@pytest.mark.parametrize("seed", range(4))
def test_counts_that_contradict_the_totals(totals: list[int], seed: int) -> None:
    """Little noise and far counts: terms below exp(-100) of the largest are what is left."""
    random = np.random.default_rng(seed)
    off = random.integers(-6, 10, (2, 3)).astype(float)
    variances, shares = [0.01, 0.5], random.dirichlet(np.ones(3), 2)
    rings, true = np.diff([0, *totals]), []
    for truth in range(3):
        terms = []
        for people in product(*(list(tables(int(ring), 3)) for ring in rings)):
            counts, log = np.eye(3)[truth], 0.0
            for level in range(2):
                log += math.lgamma(sum(people[level]) + 1)
                log += sum(
                    many * math.log(shares[level, cell]) - math.lgamma(many + 1)
                    for cell, many in enumerate(people[level])
                )
                counts = counts + people[level]
                log -= float(((off[level] - counts) ** 2).sum()) / (2 * variances[level])
            terms.append(log)
        true.append(np.logaddexp.reduce(terms))
    logs = evidence_given_totals(off, variances, totals, shares)
    assert logs - logs.max() == pytest.approx(np.array(true) - max(true), rel=1e-10, abs=1e-9)


def test_counts_that_contradict_too_large_totals_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.disclosure.totals.MOST_LOGARITHMS", 10_000)
    with pytest.raises(InputError, match="so far from what the totals allow"):
        categories(variance=["1/1000"] * 2, noisy=[[-50, 100, 20], [90, 0, 0]], totals=[30, 60])


def test_poisson_counts_given_their_total_are_the_same() -> None:
    """Independent Poisson counts of any means in these proportions, restricted to tables of the total."""
    off, total, rates = np.array([2.0, 0.0, 3.0]), 4, np.array([3.0, 1.0, 2.5])
    noise, found = DiscreteGaussian(variance=3), np.zeros(3)
    for truth in range(3):
        for people in tables(total, 3):
            poisson = math.prod(
                math.exp(-r) * r**n / math.factorial(n) for r, n in zip(rates, people, strict=True)
            )
            counts = np.array(people) + np.eye(3, dtype=np.int64)[truth]
            found[truth] += poisson * float(np.prod(noise.pmf((off - counts).astype(np.int64))))
    seen = categories(variance=3, noisy=off, totals=total, shares=rates)
    assert [one.posterior for one in seen.beliefs] == pytest.approx(found / found.sum(), rel=1e-12)


def test_the_cells_are_tied_together() -> None:
    """Each cell alone, with a binomial number of others, has another posterior: no independent cells."""
    noisy, total = [4, 0, 1], 4
    joint = categories(variance=1, noisy=noisy, totals=total)
    alone = categories(variance=1, noisy=noisy, known=[0, 0, 0], unsure=total, chance="1/3")
    gaps = [abs(a.posterior - b.posterior) for a, b in zip(joint.beliefs, alone.beliefs, strict=True)]
    assert max(gaps) > 0.01


def test_with_many_cells_they_are_nearly_independent() -> None:
    """2,016 even cells, 30 others: multinomial counts are nearly independent, as the refusals say."""
    random = np.random.default_rng(4)
    noisy = random.integers(-5, 6, 2016)
    joint = categories(variance=5, noisy=noisy, totals=30)
    alone = categories(variance=5, noisy=noisy, known=np.zeros(2016), unsure=30, chance="1/2016")
    ratios = [a.posterior / b.posterior for a, b in zip(joint.beliefs, alone.beliefs, strict=True)]
    assert max(abs(one - 1) for one in ratios) < 0.003


def test_without_noise_only_the_table_with_the_target_is_known() -> None:
    """Then the target is any one of the people, if the shares are the prior: their counts over all."""
    seen = categories(variance="1/10000", noisy=[5, 2, 1], totals=7)
    assert [one.posterior for one in seen.beliefs] == pytest.approx([5 / 8, 2 / 8, 1 / 8], rel=1e-10)


def test_nobody_else_is_everyone_known() -> None:
    given = {"variance": [5, 2], "noisy": [[3, 0, 1], [4, 4, 0]], "known": [[1, 0, 0], [2, 4, 0]]}
    known, none = categories(**given), categories(**given, totals=[0, 0])
    assert [one.posterior for one in none.beliefs] == pytest.approx(
        [one.posterior for one in known.beliefs], rel=1e-12
    )
    assert none.guesses[0].is_bound
    assert none.guesses[0].right == known.guesses[0].right


@pytest.mark.parametrize("noisy", [[10**9, 0, 0], [-(10**9), 3, 0], [2**50, -(2**50), 0]])
@pytest.mark.parametrize("variance", ["1/10000", 5, 10**10])
def test_impossible_counts_have_posteriors(noisy: list[int], variance: str | int) -> None:
    """Counts that no table explains: the posterior is that of the least impossible ones."""
    seen = categories(variance=variance, noisy=noisy, totals=3)
    assert sum(one.posterior for one in seen.beliefs) == pytest.approx(1.0, rel=1e-12)
    assert all(0 <= one.posterior <= 1 for one in seen.beliefs)


@pytest.mark.slow
def test_a_simulation_says_how_far_it_may_be_off() -> None:
    """No others: the exact chance is known. 400 draws, seeds 1 to 20: all intervals hold it, as 99 % do."""
    attack = TotalsAttack.read(0, np.array([5.04]), [1, 1], 2)
    even = np.full(2, 0.5)
    found = [attack.simulated(even, None, draws=400, seed=seed) for seed in range(1, 21)]
    assert all(abs(mean - 0.62261459412957) < error for mean, error in found)
    assert np.mean([mean for mean, _ in found]) == pytest.approx(0.62261, abs=0.006)
    wrong = TotalsAttack.read(0, np.array([1.0]), [1, 1], 2).simulated(even, None, draws=400, seed=1)
    assert abs(wrong[0] - 0.62261459412957) > wrong[1]


def test_whoever_knows_less_is_right_less_often() -> None:
    told = {"cells": 3, "variance": 2}
    drawn = categories(**told, totals=5, draws=120, seed=3).guesses[0]
    known = categories(**told).guesses[0]
    assert drawn.draws == 120
    assert drawn.right < known.right - 0.03
    assert drawn.right > 1 / 3


def test_a_table_with_totals_and_groups(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("cells") / "cells.csv"
    file.write_text("cell,noisy,group,share\na,3,x,1\nb,0,y,0\nc,7,x,2\n")
    found = table_categories(file, variance=5, totals=8)
    same = categories(variance=5, noisy=[3, 0, 7], totals=8, shares=[1, 0, 2], asked=["x", "y", "x"])
    assert found.group_beliefs == same.group_beliefs
    assert [one.cell for one in found.named] == ["x"]
    file.write_text("cell,noisy,group,share\na,3,x,-1\nb,0,y,0\n")
    with pytest.raises(InputError, match=r"a share is below zero \(line 2"):
        table_categories(file, variance=5, totals=8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "right", "draws"), [(2, 0.62261459, 1_000_000), (2016, 0.00207785, 1_000_000)]
)
def test_the_chance_by_a_large_simulation(cells: int, right: float, draws: int) -> None:
    """Seed 25. The largest of the other cells' noises is drawn by its exact law, so a draw is cheap.

    Within 4 standard errors: 0.2 and 0.02 points; 0.184 %, once found by 20,000 draws, is beyond them.
    """
    random, reach = np.random.default_rng(25), 60
    pmf = DiscreteGaussian(variance="5.04").pmf(np.arange(-reach, reach + 1))
    law = np.cumsum(pmf)
    right_now = 0.0
    for _ in range(draws // 100_000):
        own = np.searchsorted(law, random.random(100_000)) - reach + 1
        top = np.searchsorted(law, random.random(100_000) ** (1 / (cells - 1))) - reach
        # ties: the number of others at the top, given that there is one
        share = pmf[top + reach] / law[top + reach]
        tied = np.zeros(100_000)
        here = own == top
        more = random.binomial(cells - 1, share[here])
        while (more == 0).any():
            again = more == 0
            more[again] = random.binomial(cells - 1, share[here][again])
        tied[here] = 1.0 / (1.0 + more)
        right_now += float(np.sum(own > top) + tied.sum())
    found = right_now / draws
    assert abs(found - right) < 4 * math.sqrt(right * (1 - right) / draws)
    assert cells == 2 or abs(0.00184 - right) > 4 * math.sqrt(right * (1 - right) / draws)
