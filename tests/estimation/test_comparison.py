"""Areas compared in one call: formulas, covariances from draws, coverage, and input that cannot be used."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import InputError, load
from discreet.answers import describe
from discreet.estimation import compare_areas, estimate
from discreet.estimation.comparison import AreaComparison
from discreet.measurement import measure, write_example
from discreet.render.json import json_of
from discreet.render.text import text_of

TABLE = {
    "unit": ["A", "B", "C"] * 2,
    "query": ["part"] * 3 + ["whole"] * 3,
    "estimate": [30.0, 50.0, 20.0, 100.0, 120.0, 90.0],
    "sd": [3.0, 4.0, 2.0, 5.0, 6.0, 4.0],
}


def test_values_differences_and_ratios_are_the_formulas() -> None:
    found = compare_areas(TABLE, where={"query": "part"})
    assert [one.name for one in found.areas] == ["A", "B", "C"]
    assert len(found.pairs) == 3
    pair = found.pair("A", "B")
    assert (pair.estimate, pair.error) == (-20.0, 5.0)
    assert pair.lower == pytest.approx(-20 - 1.959964 * 5)
    assert pair.larger == 0.001
    assert [row[-1] for row in describe(found).tables["pairs"].cells] == ["< 0.001", "0.997", "> 0.999"]
    assert found.pair("A", "C").larger == pytest.approx(0.5 * math.erfc(-10 / math.sqrt(13) / math.sqrt(2)))
    ratio = compare_areas(TABLE, where={"query": "part"}, kind="ratio", pairs=[("B", "A")]).pairs[0]
    assert ratio.estimate == pytest.approx(5 / 3)
    assert ratio.error == pytest.approx(math.sqrt(16 + 25 / 9 * 9) / 30)
    # Fieller: the ratios for which 50 - r 30 is within 1.96 standard deviations of zero
    for end in (ratio.lower, ratio.upper):
        assert end is not None
        assert abs(50 - 30 * end) == pytest.approx(1.959964 * math.sqrt(16 + 9 * end**2), rel=1e-6)


def test_rates_and_their_differences() -> None:
    found = compare_areas(TABLE, where={"query": "part"}, per={"query": "whole"}, covariance=9.0 / 4)
    one = found.areas[0]
    assert one.estimate == 0.3
    assert one.error == pytest.approx(math.sqrt(9 - 2 * 0.3 * 9 / 4 + 0.09 * 25) / 100)
    pair = found.pair("A", "C")
    assert pair.estimate == pytest.approx(0.3 - 20 / 90)
    assert pair.error == pytest.approx(math.hypot(one.error, found.areas[2].error))
    text = " ".join(" ".join(text_of(describe(found))).split())
    assert "taken as independent" in text
    assert "noise only" in text
    assert '"pairs"' in json_of(describe(found))
    assert str(found) == "3 areas, 3 differences of pairs"


def test_a_denominator_near_zero_has_no_bounded_interval() -> None:
    frame = {"unit": ["A", "B"], "estimate": [10.0, 1.0], "sd": [1.0, 1.0]}
    found = compare_areas(frame, kind="ratio")
    assert found.pairs[0].lower is None
    assert any("may be zero" in caution.text for caution in describe(found).cautions)


def test_covariances_come_from_draws(tmp_path: Path) -> None:
    """Against the exact contrasts of `estimate`; 200 draws know a standard deviation to 5 %."""
    write_example(tmp_path)
    measure(
        load(tmp_path / "release.toml"),
        None,
        records=tmp_path / "records.csv",
        units=tmp_path / "units.csv",
        id="id",
        out=tmp_path / "in",
        rehearsal=2,
    )
    estimate(
        tmp_path / "in",
        tmp_path / "out",
        queries=["total", "limited = limitation[some | severe]"],
        differences=[("South", "Nation")],
        ratios=[("South", "Nation"), ("limited", "total")],
        draws=200,
        seed=1,
        down_to="Region",
    )
    with (tmp_path / "out" / "contrasts.NOT-PRIVATE.csv").open() as stream:
        exact = {(row["unit"], row["query"]): row for row in csv.DictReader(stream)}
    draws = tmp_path / "out" / "draws.NOT-PRIVATE.csv"
    total, limited = {"query": "total"}, {"query": "limited"}
    given = {"where": total, "pairs": [("South", "Nation")]}
    gap = compare_areas(draws, **given).pairs[0]  # type: ignore[arg-type]
    assert gap.error == pytest.approx(float(exact["South - Nation", "total"]["sd"]), rel=0.2)
    ratio = compare_areas(draws, kind="ratio", **given).pairs[0]  # type: ignore[arg-type]
    assert ratio.error == pytest.approx(float(exact["South / Nation", "total"]["sd"]), rel=0.2)
    rates = compare_areas(draws, where=limited, per=total)
    row = exact["South", "limited / total"]
    south = next(one for one in rates.areas if one.name == "South")
    assert south.estimate == pytest.approx(float(row["estimate"]))
    assert south.error == pytest.approx(float(row["sd"]), rel=0.2)
    assert rates.draws == 200
    # without covariances the difference of a part and the whole is off
    alone = compare_areas(tmp_path / "out" / "estimates.NOT-PRIVATE.csv", **given).pairs[0]  # type: ignore[arg-type]
    assert abs(alone.error / gap.error - 1) > 0.05


@pytest.mark.parametrize("many", [100, pytest.param(400, marks=pytest.mark.slow)])
def test_intervals_of_rates_and_their_differences_cover(many: int) -> None:
    """Tables of four areas; of 100, standard errors are 1.1 % of rates, and 2.2 % of a difference."""
    draw = np.random.default_rng(8)
    part, whole = np.array([300.0, 420, 510, 200]), np.array([1000.0, 1200, 1500, 900])
    names, inside, pairs = list("ABCD"), [], []
    for _ in range(many):
        noise = draw.normal(size=(2, 4)) * np.array([[12.0], [20.0]])
        frame = {
            "unit": names * 2,
            "query": ["part"] * 4 + ["whole"] * 4,
            "estimate": np.concatenate([part + noise[0], whole + noise[0] + noise[1]]),
            "sd": [12.0] * 4 + [math.hypot(12, 20)] * 4,
        }
        found = compare_areas(
            frame, where={"query": "part"}, per={"query": "whole"}, pairs=[("A", "B")], covariance=144.0
        )
        truth = part / whole
        inside += [one.lower <= rate <= one.upper for one, rate in zip(found.areas, truth, strict=True)]  # type: ignore[operator]
        gap = found.pairs[0]
        pairs.append(gap.lower <= truth[0] - truth[1] <= gap.upper)  # type: ignore[operator]
    assert abs(np.mean(inside) - 0.95) <= 0.4 / math.sqrt(many)
    assert abs(np.mean(pairs) - 0.95) <= 3 * math.sqrt(0.95 * 0.05 / many)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "6 rows for 3 areas"),
        ({"where": {"query": "none"}}, "no rows"),
        ({"where": {"query": "part"}, "kind": "odds"}, "kind is 'odds'"),
        ({"where": {"query": "part"}, "pairs": "some"}, "pairs is 'some'"),
        ({"where": {"query": "part"}, "pairs": [("A", "Z")]}, "there is no area 'Z'"),
        ({"where": {"query": "part"}, "level": 1.5}, "level"),
        ({"where": {"query": "part"}, "per": {"query": "whole"}, "covariance": 99.0}, "covariance is larger"),
        ({"where": {"query": "part"}, "value": "amount"}, "amount"),
    ],
)
def test_what_cannot_be_compared_is_refused(more: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare_areas(TABLE, **more)  # type: ignore[arg-type]


def test_few_draws_and_unknown_pairs_are_refused() -> None:
    frame = {"unit": ["A", "B"], "estimate": [1.0, 2.0], "draw_1": [1.0, 2.0], "draw_2": [1.0, 2.0]}
    with pytest.raises(InputError, match="there are 2 draws; at least 20"):
        compare_areas(frame)
    found: AreaComparison = compare_areas(TABLE, where={"query": "part"}, pairs="none")
    assert found.pairs == ()
    with pytest.raises(InputError, match="were not compared"):
        found.pair("A", "B")


@pytest.mark.parametrize("covariance", ["part", float("nan"), float("inf")])
def test_a_covariance_that_is_no_number(covariance: Any) -> None:
    frame = {"unit": ["A", "B"], "estimate": [520.0, 480.0], "sd": [6.0, 8.0]}
    with pytest.raises(InputError, match=r"covariance is .*; it must be a finite number"):
        compare_areas(frame, covariance=covariance)
    draws = {"unit": ["A", "B"], "estimate": [5.0, 4.0]}
    draws |= {f"draw_{number}": [5.0 + 0.1 * number, 4.0 - 0.1 * number] for number in range(1, 31)}
    with pytest.raises(InputError, match="beside draws"):
        compare_areas(draws, covariance=1.0)
