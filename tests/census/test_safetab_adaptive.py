"""Two stages: which table a group gets, what noise its cells have, and what is dropped.

Seeded. A variance of n draws is accepted within 5 standard errors, sqrt(2/n) of itself for Gaussian noise
(for geometric noise, of kurtosis 6, sqrt(5/n)): one false alarm in a million. With the sizes used here a
variance that is 10 % off is refused.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from safetab_facts import CELLS, LADDER, RANGES, TABLES, table_cell
from safetab_fakes import FakeCounts, mechanism, specification

from discreet.census.mechanism import adaptive as mechanisms
from discreet.census.mechanism.adaptive import STAGE_TWO, TOTAL_ONLY, Mechanism, noisy
from discreet.census.mechanism.parts import GroupArrays
from discreet.noise import GaussianNoise, LaplaceNoise, Noise
from discreet.testing import NotPrivateSeededEntropy


def nation(regions: int, iterations: int, mean: float, seed: int = 1) -> NDArray[np.int64]:
    cells = np.random.default_rng(seed).poisson(mean, (regions, iterations, 2, 23))
    return cells.astype(np.int64)


def released(
    cells: NDArray[np.int64],
    one: Mechanism,
    *,
    seed: int | None = None,
    negative: bool = True,
    total_only: tuple[int, ...] = (),
) -> GroupArrays:
    counts = FakeCounts({(one.geography, one.level): cells})
    groups = specification(cells.shape[1], total_only=total_only, level=one.level)
    source = None if seed is None else NotPrivateSeededEntropy(seed)
    return noisy(counts, groups, one, allow_negative=negative, source=source)


def true_cells(cells: NDArray[np.int64], part: GroupArrays) -> NDArray[np.int64]:
    """The true values of the cells that a part has, by sums over ages that lie in each range."""
    sums = [cells.sum(axis=(2, 3))[:, :, None]]
    for ranges in RANGES:
        inside = [[first <= low and high <= last for low, high in RANGES[-1]] for first, last in ranges]
        table = np.stack([cells[..., mask].sum(axis=-1) for mask in inside], axis=-1)
        sums.append(table.reshape(*cells.shape[:2], -1))
    groups = zip(part.region, part.iteration, part.table, strict=True)
    return np.concatenate([sums[table][region, iteration] for region, iteration, table in groups])


def test_age_ranges_nest_and_cover_every_age() -> None:
    for table, ranges in enumerate(RANGES, 1):
        coarser = LADDER.cell_of[table]
        assert [age for low, high in ranges for age in range(low, high + 1)] == list(range(116))
        for fine, (low, high) in enumerate(RANGES[-1]):
            assert ranges[coarser[fine]][0] <= low <= high <= ranges[coarser[fine]][1]
        for fine in range(len(RANGES[-1])):
            assert LADDER.cell_of[table, len(RANGES[-1]) + fine] == table_cell(table, 2, fine)
    assert tuple(LADDER.cells) == CELLS
    assert LADDER.names == TABLES


def test_without_noise_everything_is_exact() -> None:
    cells = nation(12, 10, 0.04, seed=3)
    one = mechanism(thresholds=(1, 2, 4))
    part = released(cells, one)
    totals = cells.sum(axis=(2, 3))
    assert part.size == int((totals > 0).sum())
    assert part.values.tolist() == true_cells(cells, part).tolist()
    for region, iteration, table in zip(part.region, part.iteration, part.table, strict=True):
        assert table == sum(totals[region, iteration] >= step for step in (1, 2, 4))
    assert set(part.table.tolist()) == {1, 2, 3}
    assert part.totals().tolist() == totals[part.region, part.iteration].tolist()


def test_a_count_that_equals_a_threshold_moves_up_and_one_that_equals_t_is_dropped() -> None:
    cells = np.zeros((1, 6, 2, 23), dtype=np.int64)
    cells[0, :, 0, 0] = [4, 5, 6, 9, 10, 11]
    part = released(cells, mechanism(thresholds=(10, 11, 12), suppression=5))
    assert part.iteration.tolist() == [2, 3, 4, 5]
    assert part.table.tolist() == [0, 0, 1, 2]


def test_above_the_counties_every_group_is_released_and_total_only_groups_get_a_total() -> None:
    cells = nation(3, 8, 5.0)
    cells[0] = 0
    one = mechanism(geography="STATE", suppression=None, thresholds=(1, 50, 100))
    part = released(cells, one, total_only=(2, 5))
    assert part.size == 24
    simple = np.isin(part.iteration, (2, 5))
    assert (part.table[simple] == 0).all()
    assert (part.label == np.where(simple, TOTAL_ONLY, STAGE_TWO)).all()
    assert part.values.tolist() == true_cells(cells, part).tolist()


def accepts(noise: NDArray[np.float64], variance: float, kurtosis: float) -> bool:
    error = np.sqrt((kurtosis - 1.0) / noise.size)
    return bool(abs(np.mean(noise**2) / variance - 1.0) < 5 * error)


FAMILIES = [
    ((GaussianNoise(variance="9/2"), GaussianNoise(variance=45), GaussianNoise(variance=5)), 3.0),
    ((LaplaceNoise(scale=3), LaplaceNoise(scale=20), LaplaceNoise(scale="10/3")), 6.1),
]


@pytest.mark.parametrize(("noises", "kurtosis"), FAMILIES, ids=("zcdp", "puredp"))
@pytest.mark.parametrize("level", [1, 2])
def test_every_stage_has_its_variance_and_no_other(
    noises: tuple[Noise, Noise, Noise], kurtosis: float, level: int
) -> None:
    total_only, first, second = noises
    cells = nation(60, 100, 6.0, seed=level)  # 276 people a group, so nothing is near the thresholds
    one = mechanism(
        geography="STATE",
        level=level,
        suppression=None,
        total_only=total_only,
        stage_one=first,
        stage_two=second,
        thresholds=(10_000, 20_000, 30_000),
    )
    for thresholds, table in (
        ((10_000,) * 3, 0),
        ((1, 10_000, 10_000), 1),
        ((1, 1, 10_000), 2),
        ((1, 1, 1), 3),
    ):
        changed = mechanism(**{**_fields(one), "thresholds": thresholds})
        simple = tuple(range(50))
        part = released(cells, changed, seed=table + 10 * level, total_only=simple)
        noise = (part.values - true_cells(cells, part)).astype(float)
        alone = np.repeat(np.isin(part.iteration, simple), part.widths())
        assert (part.table[part.iteration >= 50] == table).all()
        for which, law in ((noise[alone], total_only), (noise[~alone], second)):
            variance = law.true_variance()
            assert accepts(which, variance, kurtosis)
            if which.size > 10_000 * (kurtosis - 1):
                assert not accepts(which, 0.9 * variance, kurtosis)
                assert not accepts(which, 1.1 * variance, kurtosis)


def _fields(one: Mechanism) -> dict[str, object]:
    return {name: getattr(one, name) for name in Mechanism.__slots__}


@pytest.mark.parametrize("noise", [GaussianNoise(variance=45), LaplaceNoise(scale=20)], ids=str)
def test_stage_one_picks_the_table_with_its_own_noise(noise: Noise) -> None:
    cells = np.zeros((100, 300, 2, 23), dtype=np.int64)
    cells[:, :, 1, 4] = 100
    one = mechanism(
        geography="STATE",
        suppression=None,
        stage_one=noise,
        stage_two=GaussianNoise(variance=5),
        total_only=GaussianNoise(variance=5),
        thresholds=(95, 102, 110),
    )
    part = released(cells, one, seed=5)
    counts = np.bincount(part.table, minlength=4)
    edges = np.array([0.0, *noise.cdf(np.array([-6, 1, 9])), 1.0])
    for found, chance in zip(counts, np.diff(edges), strict=True):
        assert abs(found - 30_000 * chance) < 5 * np.sqrt(30_000 * chance * (1 - chance))
    # the first noise only picks: that a group is large says nothing about its cells
    noise_in_cells = part.values - true_cells(cells, part)
    assert abs(noise_in_cells[np.repeat(part.table == 3, part.widths())].mean()) < 0.03


@pytest.mark.parametrize("size", [80, 93, 100])
def test_suppression_keeps_groups_with_the_chance_of_the_cdf(size: int) -> None:
    noise = GaussianNoise(variance=625)
    cells = np.zeros((100, 400, 2, 23), dtype=np.int64)
    cells[:, :, 0, 3] = size
    one = mechanism(
        stage_one=GaussianNoise(variance=5625),
        stage_two=noise,
        thresholds=(4971, 19971, 149971),
        suppression=93,
    )
    part = released(cells, one, seed=size)
    chance = float(noise.sf(93 - size))
    assert abs(part.size - 40_000 * chance) < 5 * np.sqrt(40_000 * chance * (1 - chance))
    assert part.values.min() > 93


def test_clamping_comes_after_suppression_and_before_the_sums() -> None:
    cells = nation(20, 30, 0.3)
    one = mechanism(
        stage_one=GaussianNoise(variance=9),
        stage_two=GaussianNoise(variance=9),
        total_only=GaussianNoise(variance=9),
        thresholds=(10, 15, 18),
        suppression=-3,
    )
    plain, clamped = (released(cells, one, seed=6, negative=allowed) for allowed in (True, False))
    assert plain.values.min() < 0 == clamped.values.min()
    assert clamped.size == plain.size
    assert clamped.values.tolist() == np.maximum(plain.values, 0).tolist()
    assert (clamped.totals() >= plain.totals()).all()


def test_a_seed_repeats_a_run_and_the_system_does_not() -> None:
    cells = nation(10, 10, 1.0)
    one = mechanism(stage_one=GaussianNoise(variance=9), stage_two=GaussianNoise(variance=99), suppression=-9)
    first, second, other = (released(cells, one, seed=seed) for seed in (1, 1, 2))
    assert first.values.tolist() == second.values.tolist()
    assert first.values.tolist() != other.values.tolist()
    assert released(cells, one).values.tolist() != released(cells, one).values.tolist()


def test_drawn_some_groups_at_a_time_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise the same groups; with noise (seed 5) as many as before, give or take chance."""
    chance = np.random.default_rng(4)
    true = chance.poisson(3, (40, 30, 2, 23)) * (chance.random((40, 30, 1, 1)) < 0.6)
    counts = FakeCounts({("COUNTY", 1): true})
    exact, loud = (
        mechanism(),
        mechanism(stage_one=GaussianNoise(variance=400), stage_two=GaussianNoise(variance=9)),
    )
    none = specification(30)
    whole = noisy(counts, none, exact, allow_negative=True)
    sizes = [noisy(counts, none, loud, allow_negative=True, source=NotPrivateSeededEntropy(5)).size]
    monkeypatch.setattr(mechanisms, "AT_ONCE", 7)
    apart = noisy(counts, none, exact, allow_negative=True)
    sizes.append(noisy(counts, none, loud, allow_negative=True, source=NotPrivateSeededEntropy(5)).size)
    for name in ("region", "iteration", "table", "values"):
        assert getattr(apart, name).tolist() == getattr(whole, name).tolist()
    assert abs(sizes[0] - sizes[1]) < 100  # of 1,200 groups, each kept or not: 5 standard deviations at most
