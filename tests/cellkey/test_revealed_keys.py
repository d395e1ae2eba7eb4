"""Bounds with all other keys known: averages over the known keys against sums over all of their places."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from discreet.cellkey import FractionLaw, PerturbationTable, entropy_table, perturbation_table, revealed
from discreet.cellkey.arcs import ArcPairs, arc_pairs, mean_delta
from discreet.cellkey.revealed import revealed_bound

UNIT = 40


def random_rows(draw: random.Random) -> PerturbationTable:
    """Three rows of three or four noises, in any order, with ends that are multiples of 1/40."""
    laws = {}
    for count in (1, 2, 3):
        noises = draw.sample(range(-1, 3), draw.choice((3, 4)))
        while True:
            cuts = sorted(draw.sample(range(1, UNIT), len(noises) - 1))
            widths = [b - a for a, b in zip([0, *cuts], [*cuts, UNIT], strict=True)]
            if max(widths) <= UNIT // 2:
                break
        noises = sorted(noises) if draw.random() < 0.7 else noises
        laws[count] = {v: Fraction(w, UNIT) for v, w in zip(noises, widths, strict=True)}
    return perturbation_table(laws)


def places(cells: int, parts: int) -> Iterator[tuple[float, ...]]:
    """Centroids of equal pieces of the known keys, the first key being 0; every end is the end of a piece."""
    many = UNIT * parts
    for x in range(many if cells > 1 else 1):
        if cells < 3:
            yield (0.0, (x + 0.5) / many)[:cells]
            continue
        for y in range(many):  # two triangles: the difference of two keys has ends, too
            yield 0.0, (x + 1 / 3) / many, (y + 2 / 3) / many
            yield 0.0, (x + 2 / 3) / many, (y + 1 / 3) / many


def summed(table: PerturbationTable, counts: list[int], ratio: float, parts: int) -> np.ndarray:
    """delta at a ratio and at any epsilon, in both directions: the average over pieces of the known keys."""
    rows = [[revealed._row(table, count + gained) for count in counts] for gained in (0, 1)]
    found = [revealed._on_arcs(rows, known, np.array([ratio])) for known in places(len(counts), parts)]
    return np.array(found).mean(axis=0)


def pairs_of(table: PerturbationTable, counts: list[int], swapped: bool) -> list[ArcPairs]:
    made = {}
    for count in counts:
        one = arc_pairs(table, count)
        assert one is not None
        made[count] = one.swapped if swapped else one
    return [made[count] for count in counts]


@pytest.mark.parametrize(
    "seed", [*range(5), *(pytest.param(n, marks=pytest.mark.slow) for n in range(5, 15))]
)
def test_averages_over_independent_keys_against_their_places(seed: int) -> None:
    """At any epsilon delta is linear between the ends, so that the sum over pieces is the average."""
    draw = random.Random(seed)
    table, counts = random_rows(draw), [draw.randint(1, 4) for _ in range(1 + seed % 3)]
    ratio = draw.choice((1.5, math.e))
    parts = 1 if len(counts) == 3 else 12
    true = summed(table, counts, ratio, parts)
    for direction, swapped in enumerate((False, True)):
        cells = pairs_of(table, counts, swapped)
        at_ratio, certain = mean_delta(cells, ratio), mean_delta(cells, None)
        assert at_ratio is not None
        assert certain is not None
        # rows in any order and arcs of half the circle may lead around it: then it is a bound
        rows = [table.row(count + gained) for count in counts for gained in (0, 1)]
        ascending = all(
            list(row.noises) == sorted(row.noises) and max(row.widths) < Fraction(1, 2) for row in rows
        )
        assert certain >= true[direction][1] - 1e-9
        assert at_ratio >= true[direction][0] - (5e-3 if len(counts) == 3 else 1e-4)
        if ascending and len(counts) < 4:
            assert certain == pytest.approx(true[direction][1], abs=1e-9)
            assert at_ratio == pytest.approx(true[direction][0], abs=5e-3 if len(counts) == 3 else 1e-4)


def test_one_cell_is_the_pair_of_its_rows() -> None:
    table = entropy_table(5, 3, small=2)
    for count in (2, 3, 9):
        laws = FractionLaw.of(table.law(count), table.law(count + 1))
        for swapped, pair in ((False, laws), (True, laws.swapped)):
            cells = pairs_of(table, [count], swapped)
            assert mean_delta(cells, 2.0) == pytest.approx(float(pair.excess(Fraction(2))), abs=1e-12)
            assert mean_delta(cells, None) == pytest.approx(float(pair.certain), abs=1e-12)


@pytest.mark.parametrize(("name", "figures"), [("D2V1", (0.96, 0.95)), ("D5V3js2", (0.94, 0.93))])
def test_eight_nested_cells_with_all_other_keys_known(name: str, figures: tuple[float, float]) -> None:
    """Figures of a simulation made for this project in July 2026, to two digits."""
    table = entropy_table(2, 1) if name == "D2V1" else entropy_table(5, 3, small=2)
    nested = [tuple(int(group < cell) for group in range(7)) for cell in range(8)]
    ratio = Fraction(math.e)
    found = revealed_bound(table, nested, [20] * 8, [ratio])
    assert found is not None
    assert found.failure == 0
    assert (found.deltas[0], found.certain) == pytest.approx(figures, abs=6e-3)
    # a sample of the known keys has the same mean, to three standard errors
    rows = [[revealed._row(table, 20 + gained)] * 8 for gained in (0, 1)]
    draw = random.Random(28)
    sample = np.array(
        [
            revealed._on_arcs(rows, [draw.random() for _ in range(8)], np.array([math.e]))[0]
            for _ in range(600)
        ]
    )
    off = np.abs(sample.mean(axis=0) - [found.deltas[0], found.certain])
    assert (off < 3 * sample.std(axis=0) / math.sqrt(600)).all()


def test_rows_with_a_noise_twice_or_wide_arcs_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revealed, "SAMPLES", 50)
    wide = perturbation_table({1: {-1: "1/5", 0: "3/5", 1: "1/5"}})
    assert arc_pairs(wide, 5) is None
    found = revealed_bound(wide, [(0,), (1,)], [5, 9], [Fraction(2)])
    assert found is not None
    assert found.failure == 1e-9
