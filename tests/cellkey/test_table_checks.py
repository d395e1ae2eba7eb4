"""What a perturbation table says of itself, and what one cell costs: by definition, and known figures."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import chain, combinations

import pytest

from discreet.answers.answer import Paragraph
from discreet.cellkey import (
    FractionLaw,
    LargeCounts,
    PerturbationTable,
    check_table,
    entropy_table,
    perturbation_table,
)
from discreet.cellkey.answers.table import perturbation_check_answer
from discreet.cellkey.convolution import lattice_product
from discreet.cellkey.fraction_law import cell_epsilon, together
from discreet.errors import InputError

FIGURES = {
    "D2V1": {"large": (".135", ".064"), "occupied": (".193", ".064"), "anywhere": (".634", ".634")},
    "D5V3js2": {"large": (".0173", ".0038"), "occupied": (".0545", ".0201"), "anywhere": (".266", ".266")},
}
"""Delta at epsilon 1 and at any, to the digits shown: a separate computation of the same tables, of maximum
entropy with D, V and js, made for this project in July 2026."""


def named(name: str) -> PerturbationTable:
    return entropy_table(2, 1) if name == "D2V1" else entropy_table(5, 3, small=2)


def agrees(found: Fraction | float, figure: str) -> bool:
    return abs(float(found) - float(figure)) <= 0.51 * 10 ** -(len(figure) - 1)


@pytest.mark.parametrize("name", FIGURES)
def test_known_figures_of_one_cell(name: str) -> None:
    found = check_table(named(name))
    for part, (at_one, at_any) in FIGURES[name].items():
        worst = getattr(found, part)
        assert agrees(worst.deltas[0].upper, at_one), part
        assert agrees(worst.most_certain.certain, at_any), part


@pytest.mark.parametrize(
    ("name", "three", "eight"),
    [
        ("D2V1", ".951", (".768", ".410")),
        pytest.param("D5V3js2", ".604", (".374", ".030"), marks=pytest.mark.slow),
    ],
)
def test_three_and_eight_cells_as_a_product(name: str, three: str, eight: tuple[str, str]) -> None:
    """The figures of independent cells: three over all counts, and eight with large counts."""
    table = named(name)
    joins = FractionLaw.of(table.law(0), table.law(1)).swapped
    assert agrees(together([joins] * 3).delta(epsilon=1, certified=True).upper, three)
    large = FractionLaw.of(table.law(table.last), table.law(table.last + 1))
    many = together([large] * 8)
    assert agrees(many.delta(epsilon=1, certified=True).upper, eight[0])
    assert agrees(many.certain, eight[1])


def test_tables_of_maximum_entropy_keep_their_rules() -> None:
    for bound, variance, small in ((1, "1/2", 0), (2, 1, 0), (3, "1.5", 1), (5, 3, 2), (5, 3, 0)):
        found = check_table(entropy_table(bound, variance, small=small))
        assert found.bound == bound
        assert found.small == small
        assert found.is_unbiased
        assert all(row.mean == 0 for row in found.rows)
        assert found.variance <= Fraction(variance) + Fraction(1, 10**6)
        assert not found.negative
        assert found.table.last == (bound + small + 1 if small else bound)
    # row 1 of D2 V1 does not reach its variance: probabilities must not fall from -1 to 0
    rows = check_table(entropy_table(2, 1)).rows
    assert agrees(rows[1].variance, ".932")
    assert abs(entropy_table(2, 1).noise_law(1)[-1] - entropy_table(2, 1).noise_law(1)[0]) < Fraction(
        1, 10**7
    )
    with pytest.raises(InputError, match="js is 2"):
        entropy_table(2, 1, small=2)
    with pytest.raises(InputError, match="cannot have a variance that small"):
        entropy_table(5, "0.01", small=2)


def random_table(draw: random.Random, *, rows: int = 4, modulus: int | None = None) -> PerturbationTable:
    laws = {}
    for count in range(draw.choice((0, 1)), rows):
        noises = draw.sample(range(-min(count, 2), 3), draw.randint(1, min(count, 2) + 3))
        weights = [draw.randint(0, 4) for _ in noises]
        weights[0] += 1
        total = modulus or sum(weights)
        if modulus:
            cuts = sorted(draw.randint(0, modulus) for _ in noises[1:])
            weights = [b - a for a, b in zip([0, *cuts], [*cuts, modulus], strict=True)]
        laws[count] = {v: Fraction(w, total) for v, w in zip(noises, weights, strict=True)}
    return perturbation_table(laws, modulus=modulus)


def test_one_cell_against_every_set_of_outcomes() -> None:
    """Delta is the largest excess over all sets; f and the best guess are the best over all tests."""
    draw = random.Random(281)
    for _ in range(5):
        table = random_table(draw)
        count = draw.randint(0, 5)
        first, second = table.law(count), table.law(count + 1)
        pair = FractionLaw.of(first, second)
        outcomes = sorted({*first, *second})
        sets = list(chain.from_iterable(combinations(outcomes, n) for n in range(len(outcomes) + 1)))
        tests = [(sum(first.get(y, 0) for y in s), sum(second.get(y, 0) for y in s)) for s in sets]
        for ratio in (Fraction(1), Fraction(3, 2), Fraction(27, 10), Fraction(50)):
            assert pair.excess(ratio) == max(p - ratio * q for p, q in tests)
        assert pair.certain == max(p for p, q in tests if q == 0)
        directions = [*tests, *((q, p) for p, q in tests)]
        assert pair.right_guesses("1/3") == max((p + 2 * (1 - q)) / Fraction(3) for p, q in directions)
        for alpha in (Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1)):
            best = min(
                1 - (p + (a - p) * share)
                for p, q in tests
                for a, b in tests
                for share in [0 if b == q else min(max((alpha - q) / (b - q), Fraction(0)), Fraction(1))]
                if q + (b - q) * share <= alpha
            )
            assert pair.least_error(alpha) == max(best, 0)
        for delta in (Fraction(0), Fraction(1, 20), Fraction(1, 3), Fraction(9, 10)):
            ratio = pair.ratio_for(delta)
            if ratio is None:
                assert pair.certain > delta
            else:
                assert pair.excess(ratio) <= delta
                assert pair.excess(ratio - Fraction(1, 10**9)) > delta


def test_the_enclosure_of_delta_is_narrow_and_right() -> None:
    pair = FractionLaw.of({0: Fraction(3, 4), 1: Fraction(1, 4)}, {0: Fraction(1, 10), 1: Fraction(9, 10)})
    for epsilon in ("0", "1/10", "1", "2"):
        box = pair.delta(epsilon=epsilon, certified=True)
        truth = max(0.75 - math.exp(float(Fraction(epsilon))) * 0.1, 0.0)
        assert box.width < Fraction(1, 10**30)
        assert float(box.upper) == pytest.approx(truth, abs=1e-14)
    with pytest.raises(InputError, match="from 0 to 200"):
        cell_epsilon(201)
    with pytest.raises(InputError, match="from 0 to 200"):
        check_table(entropy_table(2, 1), epsilons=[-1])


def test_the_lattice_tells_more_and_little_more() -> None:
    draw = random.Random(9)
    for _ in range(15):
        table = random_table(draw)
        pair = FractionLaw.of(table.law(3), table.law(4))
        coarse = FractionLaw.gathered(lattice_product([(pair.masses, 1)]), is_exact=False)
        assert sum(p for p, _ in coarse.masses) == sum(q for _, q in coarse.masses) == 1
        for ratio in (Fraction(1), Fraction(3, 2), Fraction(5), Fraction(10**6)):
            assert pair.excess(ratio) <= coarse.excess(ratio) <= pair.excess(ratio) + Fraction(1, 900)


def test_rows_without_noise_cost_everything() -> None:
    table = perturbation_table({1: {0: 1}, 2: {0: 1}, 3: {-1: "1/2", 1: "1/2"}})
    found = check_table(table, deltas=["1/2"])
    assert found.deterministic == (1, 2)
    assert found.given_away == (0, 1, 3)  # 3 shows 2 or 4, and 4 shows 3 or 5
    assert found.accuracy == 1
    assert found.ratios == (None,)
    assert found.errors == (0, 0, 0)


def test_the_step_across_the_turn_of_rows_is_compared() -> None:
    """As 750 to 751 with tables of the ONS: each row alone is harmless, and the turn is not."""
    up, down = {0: "1/2", 1: "1/2"}, {-1: "1/2", 0: "1/2"}
    table = perturbation_table({1: down, 2: down, 3: up}, large=LargeCounts(above=3, period=2, start=2))
    found = check_table(table)
    assert [table.row(count).count for count in (3, 4, 5, 6)] == [3, 2, 3, 2]
    assert found.steps[3].certain == 0  # 3 shows 3 or 4, and so does 4
    assert found.steps[2].certain == 1  # 2 shows 1 or 2, and 3 shows 3 or 4
    assert found.large.most_certain.count == 4  # as every second step is from there on
    assert 5 in [step.count for step in found.steps]


def test_stated_probabilities_that_differ_from_the_intervals_are_seen() -> None:
    from dataclasses import replace

    table = perturbation_table({1: {-1: "1/2", 1: "1/2"}})
    row = replace(table.rows[0], stated={-1: Fraction(1, 2), 1: Fraction(2, 5)})
    found = check_table(replace(table, rows=(row,))).rows[0]
    assert (found.stated_sum, found.deviation) == (Fraction(9, 10), Fraction(1, 10))


def test_zeros_kept_and_unbiased_cost_at_least_one_in_d_plus_one() -> None:
    """Delta at any epsilon is at least 1/(D + 1) where zeros stay and the noise has mean zero."""
    draw = random.Random(5)
    for _ in range(10):
        bound = draw.randint(1, 6)
        table = entropy_table(bound, Fraction(draw.randint(3, 12), 4) if bound > 1 else Fraction(9, 10))
        assert check_table(table).anywhere.most_certain.certain >= Fraction(1, bound + 1)


def test_where_no_delta_below_one_holds_no_epsilon_is_promised() -> None:
    answer = perturbation_check_answer(check_table(perturbation_table({1: {0: 1}})))
    said = " ".join(str(part.text) for part in answer.body if isinstance(part, Paragraph))
    assert "holds with a delta below 1" in said
    assert "some epsilon does" not in said
