"""Empty groups drawn by skips against empty groups drawn one by one: the same law.

Seeded. A chi-squared test accepts at a p-value above 1e-6: a true law is refused for one seed in a million
and test. Chances that are 10 % off are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray
from safetab_facts import CELLS
from safetab_fakes import FakeCounts, mechanism, specification
from scipy import stats

from discreet.census.mechanism import adaptive as mechanisms
from discreet.census.mechanism.adaptive import Mechanism, measured, noisy
from discreet.census.mechanism.parts import GroupArrays
from discreet.noise import GaussianNoise, LaplaceNoise, Noise
from discreet.testing import NotPrivateSeededEntropy

ALARM = 1e-6
REGIONS, ITERATIONS = 600, 500
NOISES: list[tuple[Noise, Noise]] = [
    (GaussianNoise(variance=30), GaussianNoise(variance=20)),
    (LaplaceNoise(scale=6), LaplaceNoise(scale=4)),
]
IDS = ("zcdp", "puredp")


def small(first: Noise, second: Noise) -> Mechanism:
    """Thresholds so low that empty groups get every table."""
    return mechanism(stage_one=first, stage_two=second, thresholds=(7, 10, 14), suppression=5)


def drawn(one: Mechanism, seed: int) -> GroupArrays:
    nobody = np.zeros(0, dtype=np.int32)
    iterations = np.arange(ITERATIONS, dtype=np.int32)
    return mechanisms.survivors(
        one, REGIONS, iterations, nobody, nobody, source=NotPrivateSeededEntropy(seed)
    )


def materialised(one: Mechanism, seed: int) -> GroupArrays:
    """Every group, with a count of zero, through both stages; then suppression."""
    region, iteration = (part.ravel().astype(np.int32) for part in np.indices((REGIONS, ITERATIONS)))
    counts = FakeCounts({("COUNTY", 1): np.zeros((REGIONS, ITERATIONS, 2, 23), dtype=np.int64)})
    none = np.zeros(ITERATIONS, dtype=bool)
    zeros = np.zeros(region.size, dtype=np.int64)
    source = NotPrivateSeededEntropy(seed)
    return measured(counts, one, none, region, iteration, zeros, source)


def outcomes(part: GroupArrays, bound: int) -> NDArray[np.int64]:
    """How often: dropped; a total of bound + 1, bound + 2, ..., bound + 20 or more; tables 1, 2, 3."""
    totals = np.minimum(part.totals()[part.table == 0] - bound, 20)
    kinds = np.bincount(part.table, minlength=4)
    dropped = REGIONS * ITERATIONS - part.size
    return np.array([dropped, *np.bincount(totals, minlength=21)[1:], *kinds[1:]])


def theory(one: Mechanism) -> NDArray[np.float64]:
    """The chances of the same outcomes, in floats, from the probabilities of the noise."""
    first, second, bound, steps = one.stage_one, one.stage_two, one.suppression, one.thresholds
    assert first is not None
    assert second is not None
    assert bound is not None
    alone = first.cdf(steps[0] - 1)
    totals = alone * np.append(second.pmf(np.arange(bound + 1, bound + 20)), second.sf(bound + 19))
    above = first.sf(np.array(steps) - 1)
    return np.array([alone * second.cdf(bound), *totals, *(above - np.append(above[1:], 0.0))])


def merged(
    counts: NDArray[np.int64], chances: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Put outcomes that are expected less than 20 times together."""
    rare = chances * counts.sum() < 20
    return (
        np.append(counts[~rare], counts[rare].sum())[: None if rare.any() else -1],
        np.append(chances[~rare], chances[rare].sum())[: None if rare.any() else -1],
    )


def p_value(counts: NDArray[np.int64], chances: NDArray[np.float64]) -> float:
    found, expected = merged(counts, chances)
    return float(stats.chisquare(found, expected / expected.sum() * found.sum()).pvalue)


@pytest.mark.parametrize("pair", NOISES, ids=IDS)
def test_skips_and_plain_drawing_have_one_law(pair: tuple[Noise, Noise]) -> None:
    one = small(*pair)
    bound = one.suppression
    assert bound is not None
    by_skips, plainly = outcomes(drawn(one, 1), bound), outcomes(materialised(one, 2), bound)
    chances = theory(one)
    assert chances.sum() == pytest.approx(1.0, abs=1e-12)
    assert p_value(by_skips, chances) > ALARM
    assert p_value(plainly, chances) > ALARM
    rows = np.stack([merged(by_skips, chances)[0], merged(plainly, chances)[0]])
    assert stats.chi2_contingency(rows).pvalue > ALARM
    # every table did come up
    assert (by_skips[-3:] > 50).all()


@dataclass(frozen=True)
class Wrong(mechanisms.Survival):
    """A chance of survival that is 10 % too large."""

    def __call__(self):  # type: ignore[no-untyped-def]
        return super().__call__() * 11 / 10


@pytest.mark.parametrize("pair", NOISES, ids=IDS)
def test_a_chance_that_is_ten_percent_off_is_noticed(
    pair: tuple[Noise, Noise], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = small(*pair)
    monkeypatch.setattr(mechanisms, "Survival", Wrong)
    assert p_value(outcomes(drawn(one, 1), 5), theory(one)) < ALARM


def test_a_bound_that_is_one_off_is_noticed() -> None:
    one = small(*NOISES[0])
    assert p_value(outcomes(drawn(replace(one, suppression=6), 1), 5), theory(one)) < ALARM


def test_thresholds_that_are_equal_skip_a_table() -> None:
    one = replace(small(*NOISES[0]), thresholds=(7, 7, 14))
    part = drawn(one, 6)
    assert set(part.table.tolist()) == {0, 2, 3}
    assert (
        p_value(outcomes(part, 5)[[0, *range(1, 21), 22, 23]], theory(one)[[0, *range(1, 21), 22, 23]])
        > ALARM
    )


def test_a_geography_without_regions_has_no_groups() -> None:
    groups = specification(4)
    for changes in ({"suppression": None}, {"suppression": 3}):
        one = mechanism(stage_one=GaussianNoise(variance=5), stage_two=GaussianNoise(variance=5), **changes)
        counts = FakeCounts({("COUNTY", 1): np.zeros((0, 4, 2, 23), dtype=np.int64)})
        assert noisy(counts, groups, one, allow_negative=False).size == 0


def test_the_cells_of_empty_groups_are_the_noise_of_stage_two() -> None:
    one = small(GaussianNoise(variance=30), GaussianNoise(variance=20))
    part = drawn(one, 3)
    cells = part.keep(part.table > 0).values.astype(float)
    assert cells.size > 100_000
    # mean and variance within 5 standard errors: a false alarm once in a million seeds
    error = np.sqrt(2.0 / cells.size)
    assert abs(np.mean(cells)) < 5 * np.sqrt(20 / cells.size)
    assert abs(np.mean(cells**2) / 20 - 1) < 5 * error < 0.1
    assert part.values.size == np.take(CELLS, part.table).sum()


def test_no_region_and_no_iteration_is_favoured() -> None:
    part = drawn(small(*NOISES[0]), 4)
    for places, size in ((part.region, REGIONS), (part.iteration, ITERATIONS)):
        assert stats.chisquare(np.bincount(places, minlength=size)).pvalue > ALARM
    pairs = part.region.astype(np.int64) * ITERATIONS + part.iteration
    assert (np.diff(pairs) > 0).all()


def test_groups_with_people_are_left_to_their_own_count() -> None:
    one = mechanism(
        stage_one=GaussianNoise(variance=30), stage_two=GaussianNoise(variance=20), suppression=-2
    )
    region, iteration = (part.ravel().astype(np.int32) for part in np.indices((REGIONS, ITERATIONS)))
    full = np.random.default_rng(1).random(region.size) < 0.3
    part = mechanisms.survivors(
        one,
        REGIONS,
        np.arange(ITERATIONS, dtype=np.int32),
        region[full],
        iteration[full],
        source=NotPrivateSeededEntropy(5),
    )
    taken = set(zip(region[full].tolist(), iteration[full].tolist(), strict=True))
    found = list(zip(part.region.tolist(), part.iteration.tolist(), strict=True))
    assert taken.isdisjoint(found)
    chance = mechanisms.Survival.of(one).chance()
    assert stats.binomtest(len(found), int(np.sum(~full)), chance).pvalue > ALARM


def test_iterations_need_not_be_numbered_through() -> None:
    one = mechanism(
        stage_one=GaussianNoise(variance=30), stage_two=GaussianNoise(variance=20), suppression=-2
    )
    iterations = np.array([3, 8, 20], dtype=np.int32)
    part = mechanisms.survivors(one, 100, iterations, np.array([7], np.int32), np.array([8], np.int32))
    assert set(part.iteration.tolist()) == {3, 8, 20}
    assert (7, 8) not in set(zip(part.region.tolist(), part.iteration.tolist(), strict=True))


def test_without_noise_an_empty_group_is_dropped_unless_it_is_large() -> None:
    counts = FakeCounts({("COUNTY", 1): np.zeros((3, 4, 2, 23), dtype=np.int64)})
    groups = specification(4)
    for thresholds, size in (((1, 2, 3), 0), ((0, 2, 3), 12)):
        one = mechanism(thresholds=thresholds)
        part = noisy(counts, groups, one, allow_negative=True)
        assert part.size == size
        assert (part.table == 1).all()


def test_the_chance_of_production_is_that_of_the_published_thresholds() -> None:
    # the paper: T = 93 at rho 0.008 and gamma 0.1, so 1e-4 of the empty groups survive at most
    survival = mechanisms.Survival(
        GaussianNoise(variance=5625), GaussianNoise(variance=625), (4971, 19971, 149971), 93
    )
    assert survival.chance() == pytest.approx(float(GaussianNoise(variance=625).sf(93)), rel=1e-12)
    assert survival.chance() < 1e-4
    # 2.6e8 pairs: some 24,000 groups instead of 5e8 draws, in well under a second
    part = mechanisms.survivors(
        mechanism(
            stage_one=GaussianNoise(variance=5625),
            stage_two=GaussianNoise(variance=625),
            thresholds=(4971, 19971, 149971),
            suppression=93,
        ),
        90_000,
        np.arange(2_900, dtype=np.int32),
        np.zeros(0, np.int32),
        np.zeros(0, np.int32),
    )
    expected = 2.61e8 * survival.chance()
    assert abs(part.size - expected) < 5 * np.sqrt(expected)
    assert part.values.min() == 94
