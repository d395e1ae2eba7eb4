"""Sums and weights of a release: names, bounds, units, TOML, and what they cost."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import account, calibrate
from discreet.accounting.privacy_loss import compose
from discreet.budget import Attributes, Level, Query, RecordWeight, Release, Variable
from discreet.comparisons import ZCDP
from discreet.comparisons.noise_differences import noise_differences
from discreet.errors import InputError
from discreet.noise import DiscreteGaussian, DiscreteLaplace

TEXT = """
name = "work"
neighbours = "unbounded"
WEIGHT
[attributes]
sex = ["f", "m"]
age = ["0-17", "18-64", "65+"]
[[levels]]
name = "US"
[levels.queries]
"total" = { variance = 5 }
"hours" = { sum = "hours", at_most = 80, unit = "1/2", variance = 40000 }
"hours above 80" = { sum = "hours", above = 80, at_most = 400, unit = "1/2", scale = 900 }
"records with hours above 80" = { count = "hours", above = 80, unit = "1/2", variance = "7/2" }
[[levels]]
name = "State"
rho = "1/10"
[levels.queries]
"sex * age" = "1/2"
"hours by age * sex" = { sum = "hours", at_most = 80, unit = "1/2", share = "1/4", groups = 2 }
"pay" = { sum = "pay", at_most = 9000, unit = 100, share = "1/4", weighted = false }
"""
PLAIN = Release.from_toml(TEXT.replace("WEIGHT", ""))
WEIGHT = 'weight = { column = "w", at_most = 500, unit = "1/10" }'
WEIGHTED = Release.from_toml(TEXT.replace("WEIGHT", WEIGHT))


@pytest.mark.parametrize("release", [PLAIN, WEIGHTED, PLAIN.for_people(3), WEIGHTED.for_people(3)])
def test_the_file_is_read_back(release: Release) -> None:
    assert Release.from_toml(release.to_toml()) == release
    assert Release.from_toml(release.scaled("3/2").to_toml()) == release.scaled("3/2")
    assert (
        release.with_variances({"US": 7}).levels[0].queries[1].variable
        == release.levels[0].queries[1].variable
    )


def sensitivities(release: Release) -> list[list[int]]:
    return [[query.sensitivity for query in level.queries] for level in release.levels]


def test_bounds_are_sensitivities() -> None:
    """In units: 80 hours are 160 halves; the weight multiplies what it applies to, and records never."""
    assert sensitivities(PLAIN) == [[1, 160, 800, 1], [1, 160, 90]]
    assert sensitivities(WEIGHTED) == [[5000, 800_000, 4_000_000, 1], [5000, 800_000, 90]]
    assert sensitivities(WEIGHTED.for_people(3))[1] == [15000, 2_400_000, 270]
    steps = [query.variable.step for query in WEIGHTED.levels[0].queries]
    assert steps == [Fraction(1, 10), Fraction(1, 20), Fraction(1, 20), 1]
    assert WEIGHTED.variables["pay"].step == 100


def test_the_account_is_that_of_the_events() -> None:
    """A rho is shared out by the bound: g s^2 / (2 rho), and the loss is that of the list of events."""
    events = [
        DiscreteGaussian(variance=5),
        DiscreteGaussian(variance=40000, sensitivity=160),
        DiscreteLaplace(scale=900, sensitivity=800),
        DiscreteGaussian(variance="7/2"),
        DiscreteGaussian(variance=10),
        DiscreteGaussian(variance=Fraction(2 * 160**2 * 40, 2), sensitivity=160, times=2),
        DiscreteGaussian(variance=Fraction(90**2 * 40, 2), sensitivity=90),
    ]
    loss = compose(events)
    for epsilon in (0, 1, 3):
        assert account(PLAIN).delta(epsilon=epsilon) == pytest.approx(loss.delta(epsilon=epsilon), rel=1e-9)
    gaussian = Release.from_toml(TEXT.replace("WEIGHT", "").replace("scale = 900", "variance = 810000"))
    assert gaussian.levels[1].spent("unbounded") == Fraction(1, 10)
    assert ZCDP([e for level in gaussian.levels for e in level.events("unbounded")]).rho == (
        gaussian.levels[0].spent("unbounded") + Fraction(1, 10)
    )


def test_calibration_keeps_the_sums() -> None:
    found = calibrate(PLAIN.with_variances({"US": 40000}), epsilon=2, delta="1e-6", proof=False)
    assert found.release.variables == PLAIN.variables
    assert found.levels[0].queries[1].step == Fraction(1, 2)


def test_a_sum_with_another_bound_is_not_compared() -> None:
    """Variances of sums in other units say nothing of each other; such sums are gone here and new there."""
    other = Release.from_toml(TEXT.replace("WEIGHT", "").replace("at_most = 9000", "at_most = 8000"))
    found = noise_differences(PLAIN, other)
    assert found.gone == found.new == (("State", "pay"),)
    assert all("pay" not in line.queries for line in found.lines)


def test_python_is_as_short_as_the_file() -> None:
    """The release puts its weight into its queries, once, however often it is made anew."""
    hours = Query(name="hours by sex", variable=Variable(sum="hours", at_most=80), variance=100)
    levels = [Level(name="US", queries=[Query(name="total", variance=5), hours])]
    weight = RecordWeight(column="w", at_most=50, unit="1/2")
    made = Release(
        name="work",
        neighbours="bounded",
        levels=levels,
        attributes=Attributes({"sex": ["f", "m"]}),
        weight=weight,
    )
    assert [query.sensitivity for query in made.levels[0].queries] == [100, 8000]
    assert made.scaled(2).scaled("1/2") == made == Release.from_toml(made.to_toml())
    assert [one.name for one in made.attributes.variables] == ["", "hours"]


def test_a_weight_is_never_lost() -> None:
    """Weighted levels in a release without that weight would be accounted for with too small a change."""
    for weight in (None, RecordWeight(column="w", at_most=5)):
        with pytest.raises(InputError, match="which is not that of the release"):
            Release(name="a", neighbours="bounded", levels=WEIGHTED.levels, weight=weight)


@pytest.mark.parametrize(
    ("text", "variable", "cells"),
    [
        ("hours", 1, 1),
        ("hours by total", 1, 1),
        ("hours by detailed", 1, 6),
        ("hours by sex * age", 1, 6),
        ("young = hours by sex * age[0-17]", 1, 2),
        ("hours above 80 by age", 2, 3),
        ("records with hours above 80 by sex", 3, 2),
        ("pay by sex", 4, 2),
        ("sex", 0, 2),
    ],
)
def test_names_of_queries(text: str, variable: int, cells: int) -> None:
    table = PLAIN.attributes.tabulation(text, sums=True)
    assert (table.variable, table.cells, len(list(table.labels))) == (variable, cells, cells)
    assert PLAIN.attributes.variable_of(text) == PLAIN.attributes.variables[variable]


def test_an_unknown_sum_is_refused() -> None:
    with pytest.raises(InputError, match="names 'salary by sex'"):
        PLAIN.attributes.tabulation("salary by sex")


def test_without_attributes_names_are_free() -> None:
    text = 'name = "a"\nneighbours = "bounded"\n[[levels]]\nname = "US"\n[levels.queries]\n'
    free = Release.from_toml(text + '"anything" = { sum = "hours", at_most = 8, variance = 9 }')
    assert free.levels[0].queries[0].sensitivity == 8
    assert Release.from_toml(free.to_toml()) == free


def test_releases_without_sums_are_as_before() -> None:
    from discreet.budget import load

    release = load("pl94-2020")
    assert {one.name for one in release.attributes.variables} == {""}
    assert "weight" not in release.to_toml()
    assert release.attributes.axes == release.attributes.sizes
