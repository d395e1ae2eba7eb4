"""Joint laws of cells whose keys depend on each other, and bounds on them: other ways to the same numbers."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product
from math import gcd, prod

import pytest

from discreet.cellkey import FractionLaw, PerturbationTable, entropy_table, perturbation_table
from discreet.cellkey.joint import JointLaws
from discreet.cellkey.lattice import are_independent, blocks, column_basis, group_size, invariants
from discreet.cellkey.revealed import revealed_bound

SPLIT = perturbation_table({1: {-1: "1/4", 0: "1/2", 1: "1/4"}}, modulus=8)
NESTED = [(1, 0), (0, 1), (1, 1)]


def test_the_example_modulo_eight() -> None:
    """A, B and A + B with noise -1, 0, 1 on 2, 4 and 2 keys: worked out by hand for the design."""
    law = JointLaws(SPLIT).law(NESTED, (5, 5, 10))
    assert law is not None
    down = {noises[2]: chance for noises, chance in law.items() if noises[:2] == (-1, -1)}
    assert down == {-1: Fraction(3, 64), 0: Fraction(1, 64)}  # 3/4 and 1/4 of 1/16; +1 is impossible
    moved = {(a + 1, b, t + 1): chance for (a, b, t), chance in law.items()}
    assert FractionLaw.of(law, moved).certain == Fraction(1, 2)
    alone = FractionLaw.of(SPLIT.law(5), SPLIT.law(6))
    assert (alone + alone).certain == Fraction(7, 16)


def by_slices(table: PerturbationTable, count: int) -> dict[tuple[int, ...], Fraction]:
    """The law of A, B and A + B for real keys: lengths for a fixed key of A are linear between some keys."""
    uppers = [Fraction(0), *table.row(count).uppers]
    turns = {(t - b) % 1 for t in uppers for b in uppers}
    law: Counter[tuple[int, ...]] = Counter()
    for low, high in pairwise(sorted({*uppers, *turns, Fraction(1)})):
        for part, weight in ((low, 1), (high, 1)):
            inside = (low + high) / 2
            a = table.noise(count, inside)
            ends = sorted({*uppers, *((t - part) % 1 for t in uppers), Fraction(1)})
            # which noises an arc has is asked at the middle key, and how long it is at both ends
            for x, y in pairwise(ends):
                if x < y:
                    middle = (x + y) / 2
                    near = part + (inside - part) / 10**9
                    b, t = table.noise(count, middle), table.noise(count, (middle + near) % 1)
                    law[a, b, t] += weight * (y - x) * (high - low) / 2
    return {noises: chance for noises, chance in law.items() if chance}


@pytest.mark.parametrize("seed", range(4))
def test_areas_of_polygons_against_slices(seed: int) -> None:
    draw = random.Random(seed)
    weights = [draw.randint(1, 30) for _ in range(draw.randint(2, 4))]
    law = {v - 1: Fraction(w, sum(weights)) for v, w in enumerate(weights)}
    table = perturbation_table({1: law})
    found = JointLaws(table).law(NESTED, (1, 1, 2))
    assert found is not None
    assert found == by_slices(table, 1)


def test_real_keys_are_the_limit_of_integer_keys() -> None:
    """Up to the carry: with keys that are multiples of 1/M, the joint law differs by at most a few of M^2."""
    real = JointLaws(perturbation_table({1: {-1: "1/4", 0: "1/2", 1: "1/4"}})).law(NESTED, (9, 9, 18))
    fine = JointLaws(perturbation_table({1: {-1: "1/4", 0: "1/2", 1: "1/4"}}, modulus=512)).law(
        NESTED, (9, 9, 18)
    )
    assert real is not None
    assert fine is not None
    assert set(real) == set(fine) - {noises for noises, chance in fine.items() if chance < Fraction(1, 1000)}
    assert max(abs(real[noises] - fine.get(noises, 0)) for noises in real) < Fraction(1, 300)


@pytest.mark.parametrize(("pairs", "figure"), [(1, ".219"), (2, ".095"), (3, ".045")])
def test_differencing_pairs(pairs: int, figure: str) -> None:
    """k pairs A and A + r, D2 V1: how often all of them show the same although r is there; else always."""
    table, count = entropy_table(2, 1), 9
    uppers = [Fraction(0), *table.row(count).uppers]
    ends = sorted({(x - y) % 1 for x in uppers for y in uppers} | {Fraction(1)})
    # for a key of r, pairs are independent, and the chance of each is linear between these ends
    at_ends = []
    for key in ends:
        cuts = sorted({*uppers, *((x - key) % 1 for x in uppers), Fraction(1)})
        middles = [((x + y) / 2, y - x) for x, y in pairwise(cuts)]
        same = [w for u, w in middles if table.noise(count, u) == table.noise(count, (u + key) % 1) + 1]
        at_ends.append(sum(same, Fraction(0)))
    # the integral of a power of a linear function
    chance = Fraction(0)
    for (low, high), (x, y) in zip(pairwise(ends), pairwise(at_ends), strict=True):
        powers = [x**j * y ** (pairs - j) for j in range(pairs + 1)]
        chance += (high - low) * sum(powers) / (pairs + 1)
    assert float(chance) == pytest.approx(float(figure), abs=5.1e-4)
    if pairs == 1:
        law = JointLaws(table).law([(1, 0), (1, 1)], (count, count + 1))
        assert law is not None
        assert chance == sum(p for (a, t), p in law.items() if a == t + 1)


CARRIES = {
    2: {0: Fraction(1, 2), 1: Fraction(1, 2)},
    3: {0: Fraction(1, 6), 1: Fraction(2, 3), 2: Fraction(1, 6)},
}
"""Whole parts of the sum of uniform numbers: Euler's numbers over a factorial."""


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_a_total_of_real_keys_against_carries(parts: int, seed: int) -> None:
    """Keys are (g + w)/M with g of M values and w uniform; the total has the sum of g and the carry of w."""
    draw, size = random.Random(seed), 6
    cuts = sorted(draw.sample(range(1, size), 2))
    weights = [b - a for a, b in pairwise([0, *cuts, size])]
    noises = draw.sample([-1, 0, 1, 2], 3)
    laws = {v: Fraction(w, size) for v, w in zip(sorted(noises), weights, strict=True)}
    table = perturbation_table({1: laws, 2: {0: "1/3", 1: "1/6", 2: "1/2"}})
    matrix = [*(tuple(int(i == j) for j in range(parts)) for i in range(parts)), (1,) * parts]
    found = JointLaws(table).law(matrix, (*(1,) * parts, parts))
    truth: Counter[tuple[int, ...]] = Counter()
    for keys in product(range(size), repeat=parts):
        for carry, chance in CARRIES[parts].items():
            total = (sum(keys) + carry) % size
            values = (
                *(table.noise(1, Fraction(key, size)) for key in keys),
                table.noise(2, Fraction(total, size)),
            )
            truth[values] += chance / size**parts
    assert found == dict(truth)


def test_dependent_sets_of_cells_beside_each_other() -> None:
    """Cells A, B and A + B of some records, and D of others: a product of a joint law and a single one."""
    table = perturbation_table({1: {-1: "1/4", 0: "1/2", 1: "1/4"}})
    whole = JointLaws(table).law([(1, 0, 0), (0, 0, 1), (0, 1, 0), (1, 1, 0)], (3, 4, 5, 8))
    part = JointLaws(table).law(NESTED, (3, 5, 8))
    assert whole is not None
    assert part is not None
    alone = table.noise_law(4)
    assert whole == {(a, d, b, t): p * q for (a, b, t), p in part.items() for d, q in alone.items()}


def test_pairs_that_difference_a_record_by_their_joint_law() -> None:
    """A1, A1 + r, A2, A2 + r: four cells, three keys; .095 as by the integral of the differencing test."""
    law = JointLaws(entropy_table(2, 1)).law([(1, 0, 0), (1, 0, 1), (0, 1, 0), (0, 1, 1)], (9, 10, 9, 10))
    assert law is not None
    assert sum(law.values()) == 1
    same = sum(p for (a, b, c, d), p in law.items() if a == b + 1 and c == d + 1)
    assert float(same) == pytest.approx(0.095, abs=5e-4)


def minors_gcd(matrix: list[tuple[int, ...]]) -> int:
    """The gcd of the maximal minors, from the definition of determinants."""
    from itertools import combinations, permutations

    rows, columns = len(matrix), len(matrix[0])
    found = 0
    for chosen in combinations(range(columns), rows):
        value = 0
        for order in permutations(range(rows)):
            sign = prod(-1 if order[i] > order[j] else 1 for i in range(rows) for j in range(i + 1, rows))
            value += sign * prod(matrix[i][chosen[order[i]]] for i in range(rows))
        found = gcd(found, value)
    return found


@pytest.mark.parametrize("seed", range(25))
def test_which_keys_are_independent(seed: int) -> None:
    draw = random.Random(seed)
    cells, atoms, modulus = draw.randint(1, 3), draw.randint(1, 4), draw.choice((2, 3, 4, 6))
    matrix = [tuple(draw.randint(0, 1) for _ in range(atoms)) for _ in range(cells)]
    every = Counter(
        tuple(sum(x * u for x, u in zip(row, keys, strict=True)) % modulus for row in matrix)
        for keys in product(range(modulus), repeat=atoms)
    )
    assert len(set(every.values())) == 1  # uniform on a subgroup
    assert group_size(matrix, modulus) == len(every)
    assert are_independent(matrix, modulus) == (len(every) == modulus**cells)
    basis = column_basis(matrix)
    again = Counter(
        tuple(sum(x * u for x, u in zip(row, keys, strict=True)) % modulus for row in basis)
        for keys in product(range(modulus), repeat=len(basis[0]))
    )
    assert set(again) == set(every)
    if atoms >= cells and len(invariants(matrix)) == cells:
        assert prod(invariants(matrix)) == minors_gcd(matrix)
    parts = blocks([matrix], modulus)
    assert sorted(cell for part in parts for cell in part) == list(range(cells))
    apart = prod(len({tuple(keys[cell] for cell in part) for keys in every}) for part in parts)
    assert apart == len(every)


def test_keys_dependent_by_parity_alone() -> None:
    """Cells ab, bc and ca: independent for real keys, not for keys modulo an even number."""
    triangle = [(1, 1, 0), (0, 1, 1), (1, 0, 1)]
    assert blocks([triangle], None) == [[0], [1], [2]]
    assert blocks([triangle], 7) == [[0], [1], [2]]
    assert blocks([triangle], 8) == [[0, 1, 2]]


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_with_other_keys_known(seed: int) -> None:
    """It is the average of delta over known keys, and not below delta of the joint law."""
    draw = random.Random(seed)
    modulus, cells, atoms = 8, draw.randint(1, 3), draw.randint(1, 2)
    cuts = sorted(draw.sample(range(1, modulus), 2))
    weights = [b - a for a, b in pairwise([0, *cuts, modulus])]
    table = perturbation_table(
        {1: {v: Fraction(w, modulus) for v, w in zip((-1, 0, 2), weights, strict=True)}}, modulus=8
    )
    others = [tuple(draw.randint(0, 1) for _ in range(atoms)) for _ in range(cells)]
    counts = [draw.randint(1, 5) for _ in range(cells)]
    ratio = Fraction(3, 2)
    found = revealed_bound(table, others, counts, [ratio])
    assert found is not None
    averages = []
    for keys in product(range(modulus), repeat=atoms):
        first: Counter[tuple[int, ...]] = Counter()
        second: Counter[tuple[int, ...]] = Counter()
        for own in range(modulus):
            known = [(own + sum(x * k for x, k in zip(row, keys, strict=True))) % modulus for row in others]
            first[tuple(n + table.noise(n, k) for n, k in zip(counts, known, strict=True))] += 1
            second[tuple(n + 1 + table.noise(n + 1, k) for n, k in zip(counts, known, strict=True))] += 1
        pair = FractionLaw.of(*({y: Fraction(n, modulus) for y, n in law.items()} for law in (first, second)))
        averages.append((pair.excess(ratio), pair.swapped.excess(ratio), pair.certain, pair.swapped.certain))
    means = [sum(column) / len(averages) for column in zip(*averages, strict=True)]
    assert found.deltas[0] == pytest.approx(float(max(means[:2])), abs=2e-9)
    assert found.certain == pytest.approx(float(max(means[2:])), abs=2e-9)
    matrix = [(1, *row) for row in others]
    law = JointLaws(table).law(matrix, counts)
    after = JointLaws(table).law(matrix, [n + 1 for n in counts])
    assert law is not None
    assert after is not None
    pair = FractionLaw.of(law, {tuple(v + 1 for v in noises): chance for noises, chance in after.items()})
    assert max(pair.excess(ratio), pair.swapped.excess(ratio)) <= Fraction(found.deltas[0])


@pytest.mark.parametrize("zero", [{}, {0: {0: "1/2", 1: "1/2"}}])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_an_empty_cell_beside_two_keys(zero: dict[int, dict[int, str]], place: int) -> None:
    """It has the noise of key 0, and the other cells have the law that they have without it."""
    table = perturbation_table({**zero, 1: {-1: "1/4", 0: "1/2", 1: "1/4"}})
    rows, counts = [(1, 0), (0, 1), (1, 1)], [1, 2, 3]
    without = JointLaws(table).law(rows, counts)
    found = JointLaws(table).law(
        [*rows[:place], (0, 0), *rows[place:]], [*counts[:place], 0, *counts[place:]]
    )
    assert without is not None
    assert found == {(*y[:place], 0, *y[place:]): chance for y, chance in without.items()}
