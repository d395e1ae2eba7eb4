"""The best perturbation tables: figures of the design, wishes checked by another evaluation, refusals."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import exp
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.cellkey import read_perturbation_table
from discreet.cellkey.design import (
    TableDesign,
    Wishes,
    design_perturbation,
    noise_variance,
    truncated_law,
    worst_delta,
)
from discreet.errors import InputError


def direct_delta(here: dict[int, float], there: dict[int, float], epsilon: float) -> float:
    """The largest P(S) - e^epsilon Q(S) over all sets of results, one by one."""
    results = sorted({*here, *there})
    gaps = [here.get(y, 0.0) - exp(epsilon) * there.get(y, 0.0) for y in results]
    return max(sum(chosen) for size in range(len(gaps) + 1) for chosen in itertools.combinations(gaps, size))


def results(found: TableDesign, count: int) -> dict[int, float]:
    """The law of a published count, before it is set to 0 from below, read from the table."""
    if count == 0 and found.wishes.zeros != "noisy":
        return {0: 1.0}
    return {y: float(p) for y, p in found.table.law(count, keying="definition").items()}


def check(found: TableDesign) -> None:
    """Every wish, from the table alone."""
    wishes, epsilon = found.wishes, float(found.epsilon)
    for row in found.table.rows:
        law = found.table.noise_law(row.count, keying="definition")
        assert sum(law.values()) == 1
        assert sum(v * p for v, p in law.items()) == 0
        assert max(map(abs, law)) <= wishes.largest
        assert noise_variance(law) == found.variances[row.count] <= found.variance
        assert all((p * 10**8).denominator == 1 for p in law.values())
        if wishes.zeros != "noisy":
            assert all(row.count + v == 0 or row.count + v > wishes.small for v in law)
        if wishes.monotone:
            for v, p in law.items():
                if v not in (0, 1, -1):
                    nearer = v - 1 if v > 0 else v + 1
                    allowed = nearer in wishes.noises(row.count)
                    assert not allowed or law.get(nearer, Fraction(0)) >= p
    worst = 0.0
    first = 0 if wishes.zeros != "public" else 1
    for count in range(first, found.table.last + 2):
        one, two = results(found, count), results(found, count + 1)
        for here, there in ((one, two), (two, one)):
            gap = [max(0.0, p - exp(epsilon) * there.get(y, 0.0)) for y, p in here.items()]
            worst = max(worst, sum(gap))
    assert worst == pytest.approx(float(found.delta), abs=1e-12)
    assert found.asked_delta is None or found.delta <= found.asked_delta
    assert found.asked_variance is None or found.variance <= found.asked_variance


@pytest.mark.parametrize(
    ("largest", "delta", "variance", "laplace", "gaussian"),
    # variances 1.06, 1.52, 1.77 and those of Gaussian noise 1.78, 3.44, 6.5: computed beforehand with HiGHS
    # by the same program written apart; Laplace noise: by this package, 2026-11-18
    [
        (3, "0.05", 1.0587, 1.2229, 1.7795),
        (5, "0.01", 1.5163, 1.5354, 3.4368),
        (8, "0.001", 1.7739, 1.8027, 6.483),
    ],
)
def test_the_least_variance_of_one_row(
    largest: int, delta: str, variance: float, laplace: float, gaussian: float
) -> None:
    found = design_perturbation(largest, epsilon=1, delta=delta)
    check(found)
    assert float(found.variance) == pytest.approx(variance, abs=1e-4)
    assert found.optimum <= float(found.variance) <= found.optimum * (1 + 1e-4)
    assert [one.variance for one in found.others] == pytest.approx([laplace, gaussian], rel=1e-3)
    assert all(one.variance > float(found.variance) for one in found.others)


def test_no_small_counts_halve_delta_beside_the_entropy_table() -> None:
    """D5 V3 js2 for counts from 1 on: .0120 against .0545 of the table that ptable makes."""
    found = design_perturbation(5, epsilon=1, variance=3, zeros="public", small=2)
    check(found)
    assert float(found.delta) == pytest.approx(0.0120, abs=5e-5)
    assert set(found.table.law(2)) <= {0, 3, 4, 5, 6, 7}


def test_zeros_kept() -> None:
    """Closed form: delta 1/4 needs variance 3 in row 1, and D = 3 reaches 1/4 exactly."""
    found = design_perturbation(5, epsilon=1, delta="0.25", zeros="kept")
    check(found)
    assert float(found.variance) == pytest.approx(3, abs=1e-5)
    edge = design_perturbation(3, epsilon=1, delta="0.25", zeros="kept")
    check(edge)
    assert edge.delta == Fraction(1, 4)
    assert edge.law(1) == {-1: Fraction(3, 4), 3: Fraction(1, 4)}


def test_the_least_epsilon() -> None:
    """Just below it no table exists; the least variance at it is what was asked for."""
    found = design_perturbation(5, delta="0.01", variance=2)
    check(found)
    assert found.objective == "epsilon"
    back = design_perturbation(5, epsilon=found.epsilon - Fraction(3, 10**4), delta="0.01")
    assert back.variance > 2
    assert float(design_perturbation(5, epsilon=found.epsilon, delta="0.01").variance) == pytest.approx(
        2, abs=1e-3
    )


@pytest.mark.parametrize("seed", range(9))
def test_random_wishes_are_kept(seed: int) -> None:
    draw = np.random.default_rng(seed)
    zeros = ["noisy", "kept", "public"][seed % 3]
    small = 0 if zeros == "noisy" else int(draw.integers(0, 3))
    largest = int(draw.integers(small + 2, 8))
    least = 1 / (largest + 1) if zeros == "kept" else 0.05
    delta = Fraction(round(1e4 * draw.uniform(least + 0.05, 0.6)), 10**4)
    monotone = bool(draw.integers(2))
    epsilon = Fraction(round(100 * draw.uniform(0.2, 4)), 100)
    check(
        design_perturbation(
            largest, epsilon=epsilon, delta=delta, zeros=zeros, small=small, monotone=monotone
        )
    )  # type: ignore[arg-type]


def test_against_a_solver_that_knows_no_linear_programs() -> None:
    """Three probabilities, symmetric: variance 2 p with p >= ... by a search over the one free number."""
    found = design_perturbation(2, epsilon=1, delta="0.2")

    def variance(x: np.ndarray) -> float:
        one, two = abs(x[0]), abs(x[1])
        law = {-2: two, -1: one, 0: 1 - 2 * one - 2 * two, 1: one, 2: two}
        shifted = {v + 1: p for v, p in law.items()}
        over = max(direct_delta(law, shifted, 1.0) - 0.2, 0) + max(-min(law.values()), 0)
        return float(2 * one + 8 * two + 1e3 * over)

    starts = [(0.1, 0.1), (0.2, 0.05), (0.15, 0.12), (0.25, 0.02)]
    best = min(
        minimize(
            variance, s, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9, "maxiter": 600}
        ).fun
        for s in starts
    )
    assert float(found.variance) == pytest.approx(best, abs=2e-5)


def test_delta_is_the_largest_difference_over_all_sets() -> None:
    draw = np.random.default_rng(7)
    for _ in range(30):
        weights = draw.integers(0, 20, size=(2, 5)) + np.eye(2, 5, dtype=int)
        one, two = ({y: Fraction(int(w), int(row.sum())) for y, w in enumerate(row) if w} for row in weights)
        found = worst_delta(one, two, Fraction(1, 2))
        laws = [{y: float(p) for y, p in law.items()} for law in (one, two)]
        direct = max(direct_delta(*laws, 0.5), direct_delta(*laws[::-1], 0.5))
        assert float(found) == pytest.approx(direct, abs=1e-13)


def test_files_are_read_again(tmp_path: Path) -> None:
    for name, found in {
        "rows": design_perturbation(5, epsilon=1, delta="0.25", zeros="kept"),
        "one": design_perturbation(5, epsilon=1, delta="0.01"),
    }.items():
        file = tmp_path / f"{name}.csv"
        for text in (found.table.to_csv(), found.table.to_csv().replace(";", ",")):
            file.write_text(text)
            back = read_perturbation_table(file)
            assert [(row.count, row.noises, row.uppers) for row in back.rows] == [
                (row.count, row.noises, row.uppers) for row in found.table.rows
            ]


def test_what_cannot_be_is_explained() -> None:
    for text, wishes in {
        r"1/\(D \+ 1\) = 1/6 for D = 5.*a D of at least 6": {"delta": "0.16", "zeros": "kept"},
        r"least delta of a table with epsilon 1 \(D = 2, zeros noisy\) is 0.0674": {
            "delta": "0.05",
            "largest": 2,
        },
        r"no unbiased table .* has less than 4": {"variance": "1/2", "zeros": "public", "small": 3},
        "it must be noisy, kept or public": {"delta": "0.1", "zeros": "some"},
        "can only become 0 or 3, with probability 2/3": {
            "delta": ".5",
            "largest": 2,
            "zeros": "public",
            "small": 2,
        },
        "cannot avoid results": {"delta": ".5", "small": 2},
        "give two of epsilon, delta and variance.*epsilon is given": {},
    }.items():
        with pytest.raises(InputError, match=text):
            design_perturbation(**{"largest": 5, "epsilon": 1, **wishes})  # type: ignore[arg-type]
    text = r"that of count 1 is at least \(1 - delta\)/delta = 3"
    with pytest.raises(InputError, match=text):
        design_perturbation(5, delta="0.25", variance=2, zeros="kept")


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InputError) as caught:
        design_perturbation(0, epsilon=30, delta=2, variance=-1, small=3)
    assert len(str(caught.value).splitlines()) == 7


def test_noises_of_a_count() -> None:
    wishes = Wishes(largest=2, small=2, zeros="public")
    assert [wishes.noises(count) for count in (1, 2, 3, 5)] == [
        (-1, 2),
        (-2, 1, 2),
        (0, 1, 2),
        (-2, -1, 0, 1, 2),
    ]
    assert wishes.counts[-1] == 5


def test_a_truncated_law_that_no_scale_gives() -> None:
    assert truncated_law("laplace", epsilon="0.001", delta="1e-6") is None
