"""Intervals where few noises dominate that are not near in the tree, or that are many and equal."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.answers import describe
from discreet.areas.tree import Floats, Tree
from discreet.budget import Attributes, Level, Query, Release
from discreet.estimation import accuracy, estimate, intervals
from discreet.estimation.error_laws import Terms, half_widths
from discreet.estimation.estimates import Estimates, InMemory, Measurements, Moments
from discreet.measurement import measure
from discreet.noise import DiscreteGaussian, Noise
from discreet.numbers import bound, float_up


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


ONE = {"total": DiscreteGaussian(variance=1)}
MANY = {"detailed": DiscreteGaussian(variance=2)}


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
    one = DiscreteGaussian(variance=variance).pmf(reach)
    chances = one
    for _ in range(many - 1):
        chances = np.convolve(chances, one)
    far = np.abs(np.arange(len(chances)) - len(chances) // 2)
    for level, width in zip((0.9, 0.95), widths(parent, starts, asked, cells, unit), strict=True):
        needed = next(w for w in range(100) if chances[far <= w].sum() >= level)
        assert width == pytest.approx(needed)


def test_wide_noises_of_different_weights_take_little_memory() -> None:
    """The points of two laws were multiplied: 12,000 by 12,000 of them."""
    law = DiscreteGaussian(variance=1_000_000)
    terms = Terms.of([(np.zeros(3, dtype=np.int64), np.array([1.0, -0.7, 1.0]), law, 1.0)])
    variance = (2 + 0.49) * law.true_variance()
    (width,) = half_widths(np.array([variance]), terms, 0.95)
    assert width == pytest.approx(1.959964 * variance**0.5, rel=1e-3)


def test_a_union_of_few_noises_has_their_law() -> None:
    """Two children of three, each with noise of variance 1: the Gaussian 95 % interval covers 92.9 %."""
    law = DiscreteGaussian(variance=1)
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
        out=tmp_path / "m",
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
            out=tmp_path / name,
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
    told = [{"total": DiscreteGaussian(variance=Fraction(v))} for v in laws.values()]
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
    assert describe(found).tables["accuracy"].cells[0][2:4] == ["1,000", "1,000"]


def covered(folder: Path, variances: tuple[str, str], truth: tuple[int, int]) -> dict[tuple[str, str], float]:
    """How often intervals of p - q and p / q have the truth: each unit is one outcome of the noise."""
    laws = [DiscreteGaussian(variance=one) for one in variances]
    reach = [int(np.count_nonzero(law.pmf(np.arange(200)) > 1e-9)) for law in laws]
    draws = [(a, b) for a in range(1 - reach[0], reach[0]) for b in range(1 - reach[1], reach[1])]
    chances = np.prod(
        [law.pmf(np.array(one)) for law, one in zip(laws, zip(*draws, strict=True), strict=True)], 0
    )
    lines = ["unit,level,parent,query,cell,value,variance"]
    for place, draw in enumerate(draws):
        for query, count, noise, law in zip("pq", truth, draw, laws, strict=True):
            lines.append(f"{place:04},L,,{query},all,{count + noise},{law.true_variance()!r}")
    folder.mkdir()
    (folder / "noisy.csv").write_text("\n".join(lines))
    queries = [Query(name=name, variance=one) for name, one in zip("pq", variances, strict=True)]
    made = Release(name="two", neighbours="bounded", levels=[Level(name="L", queries=queries)])
    pair = [("p", "q")]
    estimate(folder / "noisy.csv", folder / "e", release=made, differences=pair, ratios=pair)
    found, true = {}, {"p - q": truth[0] - truth[1], "p / q": truth[0] / truth[1]}
    for query, value in true.items():
        rows = sorted(
            (one for one in written(folder / "e" / "contrasts.csv") if one["query"] == query),
            key=lambda one: one["unit"],
        )
        for level in ("90", "95"):
            ends = [(one[f"lower{level}"], one[f"upper{level}"]) for one in rows]
            inside = [not low or float(low) <= value <= float(high) for low, high in ends]
            found[query, level] = float(chances @ np.array(inside))
    return found


@pytest.mark.parametrize(
    "variances",
    [
        ("0.2", "0.2"),
        ("0.5", "0.5"),
        ("1", "1"),
        *(pytest.param(two, marks=pytest.mark.slow) for two in (("2", "2"), ("1", "2"))),
    ],
)
@pytest.mark.parametrize(
    "truth", [*(pytest.param(truth, marks=pytest.mark.slow) for truth in ((30, 20), (20, 20))), (0, 10)]
)
def test_intervals_of_contrasts_cover_what_they_say(
    tmp_path: Path, variances: tuple[str, str], truth: tuple[int, int]
) -> None:
    """All outcomes of two noises, with their chances: Gaussian intervals of 90 % covered 75 to 93 %."""
    for (_, level), chance in covered(tmp_path / "x", variances, truth).items():
        assert chance >= float(level) / 100


def test_noise_that_two_areas_share_counts_once_in_their_difference(tmp_path: Path) -> None:
    """A, and A with B: what is in both cancels, so the difference has the exact law of B's noise alone."""
    lines = ["unit,level,parent,query,cell,value,variance"]
    lines += [
        f"{unit},L,,n,all,9,{DiscreteGaussian(variance=1).true_variance()!r}" for unit in ("A", "B", "x=1")
    ]
    (tmp_path / "noisy.csv").write_text("\n".join(lines))
    (tmp_path / "areas.csv").write_text("area,unit\nboth,A\nboth,B\n")
    made = Release(
        name="one", neighbours="bounded", levels=[Level(name="L", queries=[Query(name="n", variance=1)])]
    )
    estimate(
        tmp_path / "noisy.csv",
        tmp_path / "e",
        release=made,
        areas=tmp_path / "areas.csv",
        differences=[("both", "A"), ("x=1", "A")],
    )
    shared, apart = written(tmp_path / "e" / "contrasts.csv")
    assert [shared[key] for key in ("estimate", "lower90", "upper90")] == ["9", "7", "11"]
    # a name may have an equals sign; two noises of variance 1 are within 2 of the truth 92.9 % of the time
    assert [apart[key] for key in ("unit", "lower90", "upper90")] == ["x=1 - A", "-2", "2"]


def test_what_is_exact_has_no_error_in_contrasts() -> None:
    """The covariance of what is exact is rounding: a standard deviation of 2e-7 was written."""
    one, none = np.full((1, 1), 7.0), np.zeros((1, 1))
    found = Moments(one, one, none, none, np.full((1, 1), -2.5e-14))
    assert found.variances(np.ones((1, 1))).tolist() == [[0.0]]


def test_noise_of_next_to_no_variance_is_estimated(tmp_path: Path, records: Path) -> None:
    """Its variance is 0 to a float, and what `measure` wrote was refused."""
    levels = [
        Level(name="Top", queries=[Query(name="total", variance="1/10000")]),
        Level(name="Low", queries=[Query(name="total", variance="2")]),
    ]
    made = Release(name="r", neighbours="bounded", levels=levels, attributes=PEOPLE)
    measure(made, None, tmp_path / "m", records=records, units=tmp_path / "units.csv", rehearsal=1)
    estimate(tmp_path / "m", tmp_path / "e")
    found = {row["unit"]: row for row in written(tmp_path / "e" / "estimates.NOT-PRIVATE.csv")}
    assert (found["T"]["lower95"], found["T"]["upper95"]) == ("21", "21")
    assert float(found["A"]["sd"]) == pytest.approx(1.0)
    (tmp_path / "m" / "release.NOT-PRIVATE.toml").unlink()
    estimate(tmp_path / "m", tmp_path / "f")  # the variances of the table alone: 0 is exact
    found = {row["unit"]: row for row in written(tmp_path / "f" / "estimates.NOT-PRIVATE.csv")}
    assert (found["T"]["lower95"], found["T"]["upper95"], found["T"]["sd"]) == ("21", "21", "0")


@pytest.mark.parametrize(
    ("variances", "truth"),
    [
        (("0.2", "3"), (7, 20)),
        pytest.param(("3", "3"), (7, 20), marks=pytest.mark.slow),
        (("0.2", "3"), (19, 40)),
    ],
)
def test_ratios_of_lattices_side_by_side_cover_what_they_say(
    tmp_path: Path, variances: tuple[str, str], truth: tuple[int, int]
) -> None:
    """Those of 95 % covered 93.8 and 94.5 %: the smaller noise was taken to smooth the larger one."""
    for (_, level), chance in covered(tmp_path / "x", variances, truth).items():
        assert chance >= float(level) / 100


def test_equal_contrasts_are_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand units with the same noises have one law of their differences, and one width."""
    laws: list[int] = []
    of_laws, one = intervals.half_widths, DiscreteGaussian(variance="1/2")

    def counted(variances: Floats, *more: Any) -> Floats:
        laws.append(len(variances))
        return of_laws(variances, *more)

    monkeypatch.setattr(intervals, "half_widths", counted)
    both = intervals.Shared.of([(np.array([[1.0, 0.0], [0.3, 0.9]]), one, 1.0)])
    factors, of = np.ones((1000, 1)), np.zeros((1000, 1), dtype=np.int64)
    variances = np.full((1000, 1), (1.0 + 0.6**2) * one.true_variance() + 0.01)
    widths = intervals.shared_widths([both], of, factors, variances, 0.9)
    assert laws == [1]
    assert np.ptp(widths) == 0.0


def test_ratios_of_large_tables_are_wider() -> None:
    """A law of its own for each of thousands of ratios would take hours: half of the largest weight is added
    to a Gaussian's half-width."""
    law = DiscreteGaussian(variance=1)
    noises = intervals.Shared.of([(np.array([[1.0, 0.0]]), law, 1), (np.array([[0.0, 1.0]]), law, 1)])
    a, b, size = np.full((1, 1), 9.0), np.full((1, 1), 20.0), np.full((1, 1), law.true_variance())
    exact = Moments(a, b, size, size, np.zeros((1, 1)), ([noises], np.zeros((1, 1), dtype=np.int64)))
    small, large = (exact.ratio_ends(b, a / b, 0.9, places) for places in (500, 501))
    for end in large:
        deviation = np.sqrt(law.true_variance() * (1 + end**2))
        assert np.abs(a - end * b) == pytest.approx(1.644854 * deviation + np.maximum(1, end) / 2, rel=1e-6)
    assert large[0] < small[0] < small[1] < large[1]
