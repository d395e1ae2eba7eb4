"""Presets against the facts they encode: every variance, every budget, every path, exactly."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from discreet.budget import (
    ALIASES,
    AnswerKind,
    DiscreteGaussian,
    Release,
    cases,
    load,
    load_preset,
    preset_names,
    preset_titles,
)

FACTS = tomllib.loads((Path(__file__).parent / "facts.toml").read_text(encoding="utf-8"))
REGIONS = [("US", ""), ("PR", "-pr")]


def facts(name: str) -> dict[str, Any]:
    found: dict[str, Any] = FACTS[name]
    return found


def variances(release: Release, path: int | None = None) -> dict[tuple[str, str], Fraction | None]:
    return {(row.level, row.query): row.variance for row in release.variance_table(path)}


def precision(release: Release, path: int) -> Fraction:
    events = release.path_events(path)
    return sum((event.precision for event in events if isinstance(event, DiscreteGaussian)), Fraction(0))


def test_the_list_of_presets() -> None:
    assert set(preset_names()) == {
        *(f"dhc-2020-{kind}{region}" for kind in ("persons", "units") for region in ("", "-pr")),
        *(f"pl94-2020-{kind}{region}" for kind in ("persons", "units") for region in ("", "-pr")),
        *(f"{product}-2020{region}" for product in ("ddhca", "ddhcb", "sdhc") for region in ("", "-pr")),
        "dhc-2022-08-25",
    }
    assert load("dhc-2020") is load_preset("dhc-2020-persons")
    assert set(ALIASES.values()) <= set(preset_names())
    assert not set(ALIASES) & set(preset_names())


@pytest.mark.parametrize("name", preset_names())
def test_each_preset_says_what_it_is(name: str) -> None:
    release = load_preset(name)
    assert release.name == name
    assert release.title == preset_titles()[name]
    assert 20 < len(release.title) <= 110
    assert release.sources
    assert release.notes
    assert release.rho is not None
    assert len(release.runs(release.main)) == len(release.levels)
    half = 1 if release.neighbours == "bounded" else 2
    assert {precision(release, path) / half for path in release.paths} == {release.rho}


def test_titles_tell_presets_apart() -> None:
    assert len(set(preset_titles().values())) == len(preset_names())


def test_every_dhc_path_spends_the_total() -> None:
    """Sum of 1/variance along each path: rho = 24811/5000 (US Census Bureau, 2020 DHC, persons)."""
    release = load("dhc-2020")
    assert len(release.paths) == 43
    for path in release.paths:
        total = Fraction(0)
        for event in release.path_events(path):
            assert isinstance(event, DiscreteGaussian)
            assert event.sensitivity == 1
            total += event.times / event.variance
        assert total == Fraction(24811, 5000)


@pytest.mark.parametrize(("region", "suffix"), REGIONS)
@pytest.mark.parametrize(("kind", "unit"), [("persons", "person"), ("units", "housing unit")])
def test_dhc(kind: str, unit: str, region: str, suffix: str) -> None:
    stated = facts(f"dhc_{kind}")[region]
    release = load_preset(f"dhc-2020-{kind}{suffix}")
    assert (release.unit, release.neighbours) == (unit, "bounded")
    assert release.rho == Fraction(stated["global_rho"])
    assert [level.name for level in release.levels] == stated["levels_top_down"]
    assert [level.rho for level in release.levels] == [
        Fraction(stated["level_rho"][name]) for name in stated["levels_top_down"]
    ]
    assert variances(release) == {
        (level, query): 1 / Fraction(rho)
        for level, queries in stated["query_rho"].items()
        for query, rho in queries.items()
    }
    assert stated["strategy_class"] in release.sources[0]
    shares = stated["query_prop_within_level"]
    for row in release.variance_table():
        assert row.share == Fraction(shares[row.level][row.query])


def test_dhc_paths_are_numbered_as_published() -> None:
    stated = facts("dhc_spines")
    release = load("dhc-2020")
    names = {"US": "US", **stated["abbreviations"]}
    assert release.main == stated["main"]
    assert {str(path): release.runs(path) for path in release.paths} == {
        number: tuple(tuple(names[short] for short in run.split("+")) for run in runs)
        for number, runs in stated["spines"].items()
    }


def test_dhc_paths_spend_the_run_in_the_proportions_of_its_top() -> None:
    stated, shares = (
        facts("dhc_persons")["US"]["level_rho"],
        facts("dhc_persons")["US"]["query_prop_within_level"],
    )
    release = load("dhc-2020")
    for path in release.paths:
        wanted = {}
        for run in release.runs(path):
            rho = sum(Fraction(stated[level]) for level in run)
            for query, share in shares[run[0]].items():
                wanted["+".join(run), query] = 1 / (rho * Fraction(share))
        assert variances(release, path) == wanted


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("dhc-2020-units", 64),
        ("dhc-2020-units-pr", 32),
        ("dhc-2020-persons-pr", 32),
        ("pl94-2020-units", 8),
        ("pl94-2020-persons-pr", 4),
        ("pl94-2020-units-pr", 4),
    ],
)
def test_where_paths_are_not_known_all_that_the_rule_allows_are_taken(name: str, count: int) -> None:
    release = load_preset(name)
    assert len({release.runs(path) for path in release.paths}) == len(release.paths) == count
    assert (release.main, release.paths[-1]) == (1, count)
    assert {len(release.runs(path)[0]) for path in release.paths} == {1}  # the top level is never merged
    assert str(count) in " ".join([release.reason, *release.notes])


def test_the_paths_of_persons_are_among_those_of_units() -> None:
    persons, units = load("dhc-2020"), load("dhc-2020-units")
    assert {persons.runs(path) for path in persons.paths} < {units.runs(path) for path in units.paths}


@pytest.mark.parametrize(("region", "suffix"), REGIONS)
def test_pl94_persons(region: str, suffix: str) -> None:
    stated = facts("pl94_persons")[region]
    release = load_preset(f"pl94-2020-persons{suffix}")
    assert (release.unit, release.neighbours) == ("person", "bounded")
    assert release.rho == Fraction(stated["global_rho"])
    assert variances(release) == {
        (level, query): 1 / Fraction(rho)
        for level, queries in stated["query_rho"].items()
        for query, rho in queries.items()
    }
    assert len(release.variance_table()) == stated["n_measurements_per_path"]


@pytest.mark.parametrize(("region", "suffix"), REGIONS)
def test_pl94_units(region: str, suffix: str) -> None:
    stated = facts("pl94_units")[region]
    release = load_preset(f"pl94-2020-units{suffix}")
    assert (release.unit, release.neighbours) == ("housing unit", "bounded")
    assert release.rho == Fraction(stated["global_rho"])
    assert variances(release) == {
        (level, "detailed"): 1 / Fraction(rho) for level, rho in stated["level_rho"].items()
    }


def test_pl94_bypass_patterns_are_the_merging_rule() -> None:
    patterns = facts("pl94_persons")["possible_bypass_patterns_US"]
    release = load("pl94-2020-persons")
    assert len(release.paths) == len(patterns) == 8
    found = {}
    for path in release.paths:
        spent: dict[str, Fraction] = {}
        for row in release.variance_table(path):
            assert row.rho is not None
            top = row.level.split("+")[0]
            spent[top] = spent.get(top, Fraction(0)) + row.rho
        bypassed = tuple(name for run in release.runs(path) for name in run[1:])
        found[bypassed] = spent
    assert found == {
        tuple(pattern["bypassed"]): {level: Fraction(rho) for level, rho in pattern["level_rho"].items()}
        for pattern in patterns.values()
    }


def test_the_allocation_of_2022_08_25() -> None:
    """Su, Su and Wang, PNAS 2025: rho = 3.65, ten equal queries a level, variance 10 / (2 a rho)."""
    release = load("dhc-2022-08-25")
    percent = ["2.0", "27.4", "8.5", "13.1", "13.1", "23.8", "11.8", "0.3"]
    assert (release.neighbours, release.rho, release.paths) == ("unbounded", Fraction("3.65"), (1,))
    assert [[event.variance for event in level.events("unbounded")] for level in release.levels] == [  # type: ignore[union-attr]
        [10 / (2 * Fraction(share) / 100 * Fraction("3.65"))] * 10 for share in percent
    ]


@pytest.mark.parametrize(("region", "suffix"), REGIONS)
def test_ddhca(region: str, suffix: str) -> None:
    stated = facts("ddhca")[region]
    release = load_preset(f"ddhca-2020{suffix}")
    assert (release.unit, release.neighbours, release.paths) == ("person", "unbounded", (1,))
    assert release.rho == Fraction(stated["total_rho_unbounded"])
    rows = {(row.level.replace(", ", ","), row.query): row.event for row in release.variance_table()}
    assert rows == {
        (level, f"stage {stage}"): DiscreteGaussian(variance=numbers[f"sigma2_stage{stage}"], times=9)
        for level, numbers in stated["levels"].items()
        for stage in (1, 2)
    }


@pytest.mark.parametrize(("region", "suffix"), REGIONS)
def test_ddhcb(region: str, suffix: str) -> None:
    stated = facts("ddhcb")[region]
    release = load_preset(f"ddhcb-2020{suffix}")
    assert (release.unit, release.neighbours, release.paths) == ("household", "unbounded", (1,))
    assert release.rho == Fraction(stated["total_rho_unbounded"])
    rows = {
        (row.query[:2].lower(), row.level.replace(", ", ",")): row.event for row in release.variance_table()
    }
    assert rows == {
        (table, level): DiscreteGaussian(variance=numbers["sigma2"], times=9)
        for table in ("t3", "t4")
        for level, numbers in stated[table].items()
    }


@pytest.mark.parametrize(("region", "suffix"), REGIONS)
def test_sdhc(region: str, suffix: str) -> None:
    """The noise is that of production, with the limits on people a household as sensitivities."""
    stated = facts("sdhc")[region]
    release = load_preset(f"sdhc-2020{suffix}")
    assert (release.unit, release.neighbours, release.paths) == ("household", "bounded", (1,))
    assert release.kind is AnswerKind.BOUND
    assert release.join is not None
    rows = {(row.query, row.level.lower()): row.event for row in release.variance_table()}
    limits = {22: 10, 14: 6, 2: 1}  # production declares 2 tau + 2, and 2 for denominators
    assert rows == {
        (f"{table} {cell.partition('_')[2]}", cell.partition("_")[0]): DiscreteGaussian(
            variance=numbers["sigma2"], sensitivity=limits[content["L2_sensitivity"]]
        )
        for table, content in stated["tables"].items()
        for cell, numbers in content["cells"].items()
    }
    claimed = sum(
        Fraction(content["L2_sensitivity"] ** 2, 2) / Fraction(numbers["sigma2"])
        for content in stated["tables"].values()
        for numbers in content["cells"].values()
    )
    assert claimed == Fraction(stated["total_rho_unbounded"])
    assert any(str(claimed) in note for note in release.notes)


@pytest.mark.parametrize(("name", "neighbours"), list(product(preset_names(), ["bounded", "unbounded"])))
def test_cases_of_every_preset(name: str, neighbours: str) -> None:
    release = load_preset(name)
    many = len(release.paths)
    found = cases(release, neighbours)  # type: ignore[arg-type]
    assert len(found) == (many if neighbours == "unbounded" else many * (many + 1) // 2)
    label, events = found[0]
    whole = sum(precision(release, path) for path in label)
    assert sum(event.precision for event in events if isinstance(event, DiscreteGaussian)) == whole
