"""Intervals where few noises dominate that are not near in the tree, or that are many and equal."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.budget import Attributes, Level, Query, Release
from discreet.estimation import accuracy
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.estimation.intervals import Term, half_widths
from discreet.estimation.tree import Tree
from discreet.noise import DiscreteGaussian, Noise
from discreet.numbers import bound, float_up
from discreet.release import estimate, measure


def widths(
    parent: Sequence[int], starts: Sequence[int], asked: Sequence[Mapping[str, Noise]], cells: int, unit: int
) -> list[float]:
    """The half-widths of a unit's total at 90 and 95 %; each unit is of its own kind."""
    size = {"total": 1, "detailed": cells}
    noisy = {}
    for query in ("total", "detailed"):
        units = np.array([place for place, one in enumerate(asked) if query in one], dtype=np.int64)
        if units.size:
            noisy[query] = units, np.zeros((units.size, size[query]))
    tree = Tree(np.array(parent), np.arange(len(parent)), tuple(starts))
    found = Estimates(Attributes({"a": cells}), Measurements(tree, (InMemory(asked, noisy),)))
    return [float(found.at().widths("total", level)[unit, 0]) for level in (0.9, 0.95)]


ONE = {"total": DiscreteGaussian(1)}
MANY = {"detailed": DiscreteGaussian(2)}


@pytest.mark.parametrize(
    ("parent", "starts", "asked", "cells", "unit", "law"),
    [
        ([-1, 0, 1], [0, 1, 2], [{}, {}, ONE], 1, 0, (1, 1)),  # two levels without measurements
        ([-1, 0, 1], [0, 1, 2], [ONE, {}, {}], 1, 2, (1, 1)),
        ([-1, 0, 0], [0, 1], [ONE, ONE, {}], 1, 2, (1, 2)),  # a parent less a sibling
        ([-1, 0, 0], [0, 1], [{}, ONE, ONE], 1, 0, (1, 2)),
        ([-1], [0], [MANY], 9, 0, (2, 9)),  # nine cells of one table
    ],
)
def test_noises_that_dominate_are_found(
    parent: list[int],
    starts: list[int],
    asked: list[dict[str, Noise]],
    cells: int,
    unit: int,
    law: tuple[int, int],
) -> None:
    variance, many = law
    reach = np.arange(-60, 61)
    one = DiscreteGaussian(variance).pmf(reach)
    chances = one
    for _ in range(many - 1):
        chances = np.convolve(chances, one)
    far = np.abs(np.arange(len(chances)) - len(chances) // 2)
    for level, width in zip((0.9, 0.95), widths(parent, starts, asked, cells, unit), strict=True):
        needed = next(w for w in range(100) if chances[far <= w].sum() >= level)
        assert width == pytest.approx(needed)


def test_wide_noises_of_different_weights_take_little_memory() -> None:
    """The points of two laws were multiplied: 12,000 by 12,000 of them."""
    law = DiscreteGaussian(1_000_000)
    terms = [Term(1.0, law), Term(-0.7, law), Term(1.0, law)]
    variance = (2 + 0.49) * law.true_variance()
    (width,) = half_widths(np.array([variance]), [terms], 0.95)
    assert width == pytest.approx(1.959964 * variance**0.5, rel=1e-3)


def test_a_union_of_few_noises_has_their_law() -> None:
    """Two children of three, each with noise of variance 1: the Gaussian 95 % interval covers 92.9 %."""
    law = DiscreteGaussian(1)
    tree = Tree(np.array([-1, 0, 0, 0]), np.array([0, 1, 1, 1]), (0, 1))
    noisy = {"total": (np.arange(1, 4), np.array([[4], [5], [6]]))}
    given = Measurements(tree, (InMemory([{}, {"total": law}], noisy),))
    found = Estimates(Attributes({"a": 1}), given)
    pair = np.convolve(law.pmf(np.arange(-30, 31)), law.pmf(np.arange(-30, 31)))
    far = np.abs(np.arange(len(pair)) - 60)
    needed = next(w for w in range(60) if pair[far <= w].sum() >= 0.95)
    assert found.union([1, 2]).widths("total", 0.95).tolist() == [[needed]]
    assert found.union([1]).widths("total", 0.95).tolist() == found.at([1]).widths("total", 0.95).tolist()


PEOPLE = Attributes({"sex": ["f", "m"], "age": ["y", "o"]})


def release(name: str, queries: Sequence[str], attributes: Attributes | None = PEOPLE) -> Release:
    levels = [
        Level(name=level, queries=[Query(name=query, variance="3") for query in queries])
        for level in ("Top", "Low")
    ]
    return Release(name=name, neighbours="bounded", levels=levels, attributes=attributes)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    (tmp_path / "units.csv").write_text("unit,level,parent\nT,Top,\nA,Low,T\nB,Low,T\n")
    rows = ["A,f,y"] * 9 + ["A,m,o"] * 4 + ["B,f,o"] * 7 + ["B,m,y"]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["unit,sex,age", *rows]) + "\n")
    return path


def written(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_queries_written_in_another_order_are_compared_as_written(tmp_path: Path, records: Path) -> None:
    """f * o less y * m is no difference of a cell with itself: it had the standard deviation 0."""
    measure(
        release("one", ["total", "detailed"]),
        None,
        records=records,
        units=tmp_path / "units.csv",
        out_dir=tmp_path / "m",
        rehearsal=1,
    )
    estimate(
        tmp_path / "m",
        tmp_path / "e",
        queries=["sex * age", "flip = age * sex"],
        differences=[("sex * age", "flip")],
    )
    found = {
        (row["unit"], row["cell"]): float(row["sd"])
        for row in written(tmp_path / "e" / "contrasts.NOT-PRIVATE.csv")
    }
    for unit in "TAB":
        assert found[unit, "f * y"] == found[unit, "m * o"] == 0.0
        assert found[unit, "f * o"] == pytest.approx(found[unit, "m * y"])
        assert found[unit, "f * o"] > 1.0


def test_what_no_release_determines_is_no_number_in_areas(tmp_path: Path, records: Path) -> None:
    """Of releases that differ, neither determines the cells: their mean was 0, with no standard deviation."""
    wide = Attributes({"age": ["y", "o"], "sex": ["f", "m"]})
    for name, attributes in (("one", PEOPLE), ("two", wide)):
        measure(
            release(name, ["total", "sex"], attributes),
            None,
            records=records,
            units=tmp_path / "units.csv",
            out_dir=tmp_path / name,
            rehearsal=len(name) + (name == "two"),
        )
    (tmp_path / "areas.csv").write_text("area,unit\nx,A\n")
    done = estimate(
        [tmp_path / "one", tmp_path / "two"],
        tmp_path / "e",
        queries=["sex * age", "sex"],
        areas=tmp_path / "areas.csv",
        differences=[("A", "B")],
    )
    assert not done.additive
    for name in ("areas", "contrasts"):
        for row in written(tmp_path / "e" / f"{name}.NOT-PRIVATE.csv"):
            assert (row["estimate"] == "") == (row["query"] == "sex * age") == (row["sd"] == "")


def test_the_margin_is_the_largest_of_a_level() -> None:
    """Where cells differ, the one with the largest variance need not have the widest interval."""
    laws = {"Top": "0.3", "Low": "0.2"}
    levels = [Level(name=one, queries=[Query(name="total", variance=v)]) for one, v in laws.items()]
    made = Release(name="small", neighbours="bounded", levels=levels, attributes=Attributes({"a": 1}))
    tree = Tree(np.array([-1, -1, 0, 1, 1]), np.array([0, 0, 1, 1, 1]), (0, 2), ("Top", "Low"))
    found = accuracy(made, tree=tree)
    told = [{"total": DiscreteGaussian(Fraction(v))} for v in laws.values()]
    given = Measurements(tree, (InMemory(told, {"total": (np.arange(5), np.zeros((5, 1)))}),))
    widths = Estimates(Attributes({"a": 1}), given).at().widths("total", 0.95)[:, 0]
    assert found.levels[0].queries[0].margin95 == pytest.approx(widths[:2].max())
    assert found.levels[1].queries[0].margin95 == pytest.approx(widths[2:].max())


def test_bounds_are_written_to_the_safe_side() -> None:
    assert bound(Fraction("13.1234564"), digits=17) == "13.1234564"
    assert bound(Fraction("9.99999123e-11")) == "1e-10"
    assert bound(Fraction("9.876541e-11")) == "9.87655e-11"
    for value in (Fraction(1, 3), Fraction(2, 3), Fraction(1, 10), Fraction(10)):
        assert Fraction(bound(value)) >= value
        assert Fraction(float_up(value)) >= value


def test_a_margin_below_a_thousand_is_not_written_with_an_exponent() -> None:
    levels = [Level(name="Top", queries=[Query(name="total", variance="999400")])]
    found = accuracy(Release(name="one", neighbours="bounded", levels=levels), tree=[])
    assert found.rows()[0][2:4] == ("1000", "1000")
