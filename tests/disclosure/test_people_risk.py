"""Everyone in the data: every number against a loop over people that counts by hand."""

from __future__ import annotations

import csv
import json
import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from discreet.answers.risk_records import records_answer
from discreet.answers.risk_table import table_risk_answer
from discreet.areas.layout import read_tree
from discreet.budget import Release, load_file
from discreet.budget.noise_table import noises
from discreet.disclosure import (
    Area,
    TwoLevels,
    expected_posterior,
    expected_ratio,
    hierarchy_posterior,
    joint_posterior,
    posterior,
    table_risk,
)
from discreet.disclosure import population as people
from discreet.disclosure.area_paths import AreaPath
from discreet.disclosure.odds import Prior
from discreet.disclosure.population import ALL_ABOVE, HIERARCHY, TOGETHER, records_risk
from discreet.disclosure.records import PresentLaw, RecordsRisk, TwoLevelLaws
from discreet.disclosure.siblings import SumNoise
from discreet.errors import InputError
from discreet.estimation import accuracy, estimate
from discreet.measurement import measure
from discreet.noise import DiscreteGaussian
from discreet.render.text import text_of
from discreet.reports.records import write_records_risk
from discreet.tables.shapes import read_shapes

RELEASE = """
name = "made"
neighbours = "bounded"
[attributes]
age = ["young", "old"]
work = ["a", "b", "c"]
[[levels]]
name = "Land"
queries = { "detailed" = { variance = "6" }, "age" = { variance = "3" } }
[[levels]]
name = "County"
queries = { "detailed" = { variance = "4" } }
[[levels]]
name = "Block"
queries = { "detailed" = { variance = "5" }, "age" = { variance = "9" } }
"""
VARIANCES = {"Land": 6, "County": 4, "Block": 5}


def made(folder: Path, *, people: int = 150, seed: int = 3, counties: int = 3) -> Release:
    """Write a release, areas and records; County 2 has a single block."""
    random = np.random.default_rng(seed)
    (folder / "release.toml").write_text(RELEASE)
    blocks = [f"B{c}{b}" for c in range(counties) for b in range(1 if c == 2 else 4 + c)]
    lines = ["unit,level,parent", "L,Land,", *(f"C{c},County,L" for c in range(counties))]
    lines += [f"{name},Block,C{name[1]}" for name in blocks]
    (folder / "units.csv").write_text("\n".join(lines) + "\n")
    rows = ["unit,age,work,chance"]
    for _ in range(people):
        where = blocks[int(random.integers(len(blocks)))]
        age, work = (
            random.choice(["young", "old"], p=[0.3, 0.7]),
            random.choice(["a", "b", "c"], p=[0.8, 0.15, 0.05]),
        )
        rows.append(f"{where},{age},{work},{random.integers(1, 99) / 100}")
    (folder / "records.csv").write_text("\n".join(rows) + "\n")
    return load_file(folder / "release.toml")


def read(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return list(csv.DictReader(stream))


def words(found: RecordsRisk) -> str:
    return " ".join(" ".join(text_of(records_answer(found))).split())


class ByHand:
    """Counts of records and noisy values in dictionaries."""

    def __init__(self, folder: Path) -> None:
        self.parent = {row["unit"]: row["parent"] for row in read(folder / "units.csv")}
        self.people = [(row["unit"], f"{row['age']} * {row['work']}") for row in read(folder / "records.csv")]
        self.count: Counter[tuple[str, str]] = Counter()
        for unit, cell in self.people:
            for area in (unit, self.parent[unit], "L"):
                self.count[area, cell] += 1
        file = next((folder / "noisy").glob("measurements*.csv"))
        self.noisy = {
            (row["unit"], row["cell"]): int(row["value"]) for row in read(file) if row["query"] == "detailed"
        }

    def siblings(self, unit: str) -> list[str]:
        return [one for one, above in self.parent.items() if above == self.parent[unit] and one != unit]

    def hierarchy(self, unit: str, cell: str, prior: str) -> float:
        group, others = self.parent[unit], self.siblings(unit)
        block = Area(
            noisy=self.noisy[unit, cell],
            variance=5,
            siblings=len(others),
            siblings_noisy=sum(self.noisy[one, cell] for one in others) if others else None,
        )
        above = Area(noisy=self.noisy[group, cell], variance=4)
        known = self.count[unit, cell] - 1
        return hierarchy_posterior([block, above], prior=prior, known=known).probability


@pytest.fixture(scope="module", autouse=True)
def few_draws() -> Iterator[None]:
    """Draw little: what needs many draws is compared with its stated error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(people, "MOST_DRAWS", 64)
        yield


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ByHand, RecordsRisk]:
    folder = tmp_path_factory.mktemp("people")
    release = made(folder)
    records, units = folder / "records.csv", folder / "units.csv"
    measure(release, None, folder / "noisy", records=records, units=units, rehearsal=5)
    found = records_risk(
        None, records, noisy=folder / "noisy", priors=["1/10", "area", "column:chance"], estimates=True
    )
    return folder, ByHand(folder), found


def test_every_person_has_the_posteriors_of_the_other_commands(
    study: tuple[Path, ByHand, RecordsRisk],
) -> None:
    _, hand, found = study
    assert found.each is not None
    group = found.each.group
    for level, variance in VARIANCES.items():
        risk = found.each.risks["1/10", level]
        for place, (unit, cell) in enumerate(hand.people):
            area = {"Block": unit, "County": hand.parent[unit], "Land": "L"}[level]
            own = posterior(
                hand.noisy[area, cell], variance=variance, prior="1/10", known=hand.count[area, cell] - 1
            )
            assert risk.drawn_posterior[group[place]] == pytest.approx(own, rel=1e-12)
            assert risk.drawn_ratio[group[place]] == pytest.approx(own * 10, rel=1e-12)
        assert risk.posterior == pytest.approx(expected_posterior(variance=variance, prior="1/10"), rel=1e-12)
        assert risk.ratio == pytest.approx(expected_ratio(variance=variance, prior="1/10"), rel=1e-12)


def test_levels_together_and_with_the_hierarchy(study: tuple[Path, ByHand, RecordsRisk]) -> None:
    _, hand, found = study
    assert found.each is not None
    together, hierarchy = (found.each.risks["1/10", name] for name in (TOGETHER, HIERARCHY))
    for place, (unit, cell) in enumerate(hand.people):
        areas = (unit, hand.parent[unit], "L")
        joint = joint_posterior(
            [hand.noisy[area, cell] for area in areas],
            variance=[5, 4, 6],
            prior="1/10",
            known=[hand.count[area, cell] - 1 for area in areas],
        )
        at = found.each.group[place]
        assert together.drawn_posterior[at] == pytest.approx(joint, rel=1e-12)
        assert hierarchy.drawn_posterior[at] == pytest.approx(hand.hierarchy(unit, cell, "1/10"), rel=1e-9)


def test_people_are_counted_one_by_one(study: tuple[Path, ByHand, RecordsRisk]) -> None:
    _, hand, found = study
    for who in ("everyone", "uniques"):
        row = found.row("Block", who=who)
        mine = [
            (unit, cell) for unit, cell in hand.people if who == "everyone" or hand.count[unit, cell] == 1
        ]
        ratios = [
            10 * posterior(hand.noisy[one], variance=5, prior="1/10", known=hand.count[one] - 1)
            for one in mine
        ]
        assert row.people == len(mine)
        assert row.drawn is not None
        assert row.drawn.ratio_above == tuple(
            sum(ratio > mark for ratio in ratios) for mark in (1.5, 2, 5, 10)
        )
        assert row.drawn.largest_ratio == pytest.approx(max(ratios))
        least = int(np.floor(5 * np.log(2 * 0.9 / 0.8) - 0.5))  # the noise must exceed this
        beyond = float(DiscreteGaussian(variance=5).sf(least))
        assert row.ratio_above[1] == pytest.approx(len(mine) * beyond, rel=1e-12)
        assert row.drawn.mean_ratio == pytest.approx(sum(ratios) / len(ratios))
        areas = next(one for one in found.areas if (one.prior, one.level) == ("1/10", "Block"))
        assert sum(areas.people) == found.people
    assert found.uniques == len([one for one in hand.people if hand.count[one] == 1])
    assert sum(one.people for one in found.sizes if one.prior == "1/10") == found.people
    drawn = next(one for one in found.histograms if (one.prior, one.adversary) == ("1/10", "Block"))
    assert drawn.expected is not None
    assert drawn.drawn is not None
    assert sum(drawn.drawn) == found.people == pytest.approx(sum(drawn.expected))


def test_priors_by_area_and_by_column(study: tuple[Path, ByHand, RecordsRisk]) -> None:
    folder, hand, found = study
    assert found.each is not None
    people: Counter[str] = Counter(hand.parent[unit] for unit, _ in hand.people)
    chances = [float(row["chance"]) for row in read(folder / "records.csv")]
    for place, (unit, cell) in enumerate(hand.people):
        county, at = hand.parent[unit], found.each.group[place]
        assert found.each.prior["area"][at] == pytest.approx(hand.count[county, cell] / people[county])
        assert found.each.prior["column:chance"][at] == chances[place]
        own = expected_posterior(variance=5, prior=chances[place])
        risk = found.each.risks["column:chance", "Block"]
        assert risk.posterior[at] == pytest.approx(own, rel=1e-9)


def test_the_variance_after_estimation_goes_into_the_posterior(
    study: tuple[Path, ByHand, RecordsRisk],
) -> None:
    folder, _, found = study
    release = load_file(folder / "release.toml")
    best = accuracy(release, tree=read_tree(folder / "units.csv", release))
    row = found.row("Land, after estimation")
    own = expected_posterior(variance=best.sd("Land", "detailed") ** 2, prior="1/10")
    assert row.mean_posterior == pytest.approx(own, rel=1e-6)
    assert row.mean_posterior > found.row("Land").mean_posterior


def test_estimates_of_the_numbers_drawn_go_into_the_posterior(
    study: tuple[Path, ByHand, RecordsRisk],
) -> None:
    """The written estimates and their standard deviations, for every person, by the one-count posterior."""
    folder, hand, found = study
    table = estimate(folder / "noisy").to_arrow().to_pylist()
    best = {(one["unit"], one["cell"]): one for one in table if one["query"] == "detailed"}
    assert found.each is not None
    for level in VARIANCES:
        risk = found.each.risks["1/10", f"{level}, after estimation"]
        for place, (unit, cell) in enumerate(hand.people):
            area = {"Block": unit, "County": hand.parent[unit], "Land": "L"}[level]
            off = best[area, cell]["estimate"] - (hand.count[area, cell] - 1)
            odds = np.exp((off - 0.5) / best[area, cell]["sd"] ** 2) / 9
            own = odds / (1 + odds)
            assert risk.drawn_posterior[found.each.group[place]] == pytest.approx(own, rel=1e-6)
    row = found.row("Block, after estimation").drawn
    assert row is not None
    assert row.mean_ratio != pytest.approx(found.row("Block").drawn.mean_ratio, rel=1e-3)


def test_merged_levels_are_levels_of_their_own(tmp_path: Path) -> None:
    text = RELEASE + ('[spine]\nmay_merge_up = ["Block"]\n')
    made(tmp_path, people=40, counties=2)
    (tmp_path / "release.toml").write_text(text)
    with (tmp_path / "units.csv").open("a") as stream:
        stream.write("D,County+Block,L\n")
    with (tmp_path / "records.csv").open("a") as stream:
        stream.write("D,old,c,0.5\nD,old,a,0.5\nD,old,a,0.5\n")
    release = load_file(tmp_path / "release.toml")
    records, units = tmp_path / "records.csv", tmp_path / "units.csv"
    measure(release, None, tmp_path / "noisy", records=records, units=units, rehearsal=5)
    found = records_risk(None, records, noisy=tmp_path / "noisy", priors=["1/10"])
    assert found.row("Land").people == found.row(TOGETHER).people == found.people == 43
    assert found.row("County+Block").people == 3
    assert found.row("County+Block", who="uniques").people == 1
    assert found.row("County").people == found.row("Block").people == found.row(HIERARCHY).people == 40
    assert found.row(TOGETHER, who="uniques").people == found.uniques  # with the one in D
    assert "alone in their cell in their lowest area" in words(found)


def test_families_of_several_kinds_alone_leave_the_hierarchy_out(tmp_path: Path) -> None:
    """Blocks do not ask: the lowest areas that do are a tract, and a tract and block at once beside it."""
    (tmp_path / "release.toml").write_text(
        RELEASE.replace('name = "County"', 'name = "Tract"').replace(
            '{ "detailed" = { variance = "5" }, ', "{"
        )
        + '[spine]\nmay_merge_up = ["Block"]\n'
    )
    lines = "L,Land, T,Tract,L D,Tract+Block,L A,Block,T B,Block,T"
    (tmp_path / "units.csv").write_text("unit,level,parent\n" + lines.replace(" ", "\n") + "\n")
    (tmp_path / "records.csv").write_text("unit,age,work\nD,old,a\nA,old,a\nB,old,c\n")
    found = records_risk(
        load_file(tmp_path / "release.toml"),
        tmp_path / "records.csv",
        units=tmp_path / "units.csv",
        query="detailed",
    )
    assert (HIERARCHY, "needs families of areas of one kind") in found.left_out
    assert found.row(ALL_ABOVE).people == found.row(TOGETHER).people == 3
    assert HIERARCHY in words(found)


def test_figures_do_not_depend_on_the_order_of_priors(tmp_path: Path) -> None:
    """All of one cell: with prior `area` everyone is certain, which says nothing about prior 1/10."""
    release = made(tmp_path, people=1)
    (tmp_path / "records.csv").write_text("unit,age,work\n" + "B00,old,a\n" * 3)
    records, units = tmp_path / "records.csv", tmp_path / "units.csv"
    one, other = (
        records_risk(release, records, units=units, priors=priors)
        for priors in (["1/10", "area"], ["area", "1/10"])
    )
    assert {curve.prior for curve in one.curves} == {curve.prior for curve in other.curves} == {"1/10"}
    assert len(one.decisions) == len(other.decisions) == 1


def test_sums_beside_counts_are_passed_over(study: tuple[Path, ByHand, RecordsRisk], tmp_path: Path) -> None:
    folder, _, plain = study
    text = RELEASE.replace(
        '"age" = { variance = "9" }',
        '"chance" = { sum = "chance", at_most = 1, unit = "1/100", variance = "9" }',
    )
    (tmp_path / "release.toml").write_text(text)
    release, records, units = (
        load_file(tmp_path / "release.toml"),
        folder / "records.csv",
        folder / "units.csv",
    )
    measure(release, None, tmp_path / "noisy", records=records, units=units, rehearsal=5)
    found = records_risk(None, records, noisy=tmp_path / "noisy", priors=["1/10"], estimates=True)
    assert (found.query, found.cells) == ("detailed", 6)
    # (the posteriors of 150 people are added in another order)
    assert found.row("Block").mean_posterior == pytest.approx(plain.row("Block").mean_posterior, rel=1e-14)
    with pytest.raises(InputError, match="has no query 'chance' that counts records"):
        records_risk(release, records, units=units, query="chance")


@pytest.mark.parametrize(("siblings", "rest"), [(1, 0), (3, 0), (3, 2), (5, 40)])
def test_the_law_with_the_hierarchy_is_that_of_all_outcomes(siblings: int, rest: int) -> None:
    two = TwoLevels(variance=("5", "2"), siblings=siblings, prior="1/10")
    (x, px), (z, pz), (y, py) = two.grid(block=1, group=1 + rest)
    chances = px[:, None, None] * pz[:, None] * py
    beliefs = two.probability(x[:, None, None], z[:, None], y)
    laws = TwoLevelLaws(5, 2)
    law: PresentLaw = laws.law(siblings, min(rest, laws.far(siblings)))
    prior = Prior(np.array([0.1]), np.array([0.9]))
    assert law.expected_posterior(prior)[0] == pytest.approx(float((chances * beliefs).sum()), rel=1e-6)
    for mark in (0.15, 0.2, 0.3):
        limit = np.array([np.log(mark / (1 - mark)) + np.log(9)])
        assert law.chance_beyond(limit)[0] == pytest.approx(float(chances[beliefs > mark].sum()), abs=1e-9)


def test_wide_noise_in_steps_is_as_good_as_in_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    prior, limit = Prior(np.array([0.1]), np.array([0.9])), np.array([-0.02, 0.0501, 0.1])
    wide = TwoLevelLaws(900, 700)
    assert wide.stride(3) == 3
    steps = [wide.law(3, rest) for rest in (0, 31)]
    monkeypatch.setattr(TwoLevelLaws, "stride", lambda self, siblings: 1)
    for law, rest in zip(steps, (0, 31), strict=True):
        ones = TwoLevelLaws(900, 700).law(3, rest)
        assert law.expected_posterior(prior) == pytest.approx(ones.expected_posterior(prior), rel=1e-6)
        assert law.chance_beyond(limit) == pytest.approx(ones.chance_beyond(limit), abs=2e-3)


@pytest.mark.parametrize("variance", ["500", pytest.param("90000", marks=pytest.mark.slow)])
def test_the_hierarchy_is_left_out_where_noise_is_too_wide(
    variance: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variance == "500":
        monkeypatch.setattr(people, "MOST_OUTCOMES", 1 << 10)
    assert TwoLevelLaws(variance, 4).outcomes(3) > people.MOST_OUTCOMES
    made(tmp_path, people=20)
    file = tmp_path / "release.toml"
    file.write_text(RELEASE.replace('variance = "5"', f'variance = "{variance}"'))
    found = records_risk(load_file(file), tmp_path / "records.csv", units=tmp_path / "units.csv")
    assert found.left_out == ((HIERARCHY, "needs noise of the siblings that is less wide"),)
    assert found.row("Block").mean_ratio == pytest.approx(expected_ratio(variance=variance, prior="1/2"))


@pytest.mark.parametrize("people", [600, pytest.param(15_204, marks=pytest.mark.slow)])
def test_thousands_of_people_by_the_command_and_by_a_loop(people: int, tmp_path: Path) -> None:
    """Seed 11, made here; how many are above ratio 2 is counted by a loop."""
    release = made(tmp_path, people=people, seed=11, counties=9)
    records, units = tmp_path / "records.csv", tmp_path / "units.csv"
    measure(release, None, tmp_path / "noisy", records=records, units=units, rehearsal=2)
    found = records_risk(None, records, noisy=tmp_path / "noisy", priors=["1/10"])
    hand, above = ByHand(tmp_path), 0
    for one in hand.people:
        odds = np.exp((hand.noisy[one] - (hand.count[one] - 1) - 0.5) / 5) / 9
        above += odds / (1 + odds) / 0.1 > 2
    drawn = found.row("Block").drawn
    assert drawn is not None
    assert (found.people, drawn.ratio_above[1]) == (people, above)
    assert 0 < above < people


@pytest.mark.slow
def test_expected_shares_are_met_by_many_releases(tmp_path: Path) -> None:
    """60 rehearsals: the mean above ratio 2 within 4 standard errors; twice as many is rejected."""
    release = made(tmp_path, people=60, counties=2)
    records, units = tmp_path / "records.csv", tmp_path / "units.csv"
    drawn = []
    for seed in range(60):
        out = tmp_path / f"noisy{seed}"
        measure(release, None, out, records=records, units=units, rehearsal=seed)
        found = records_risk(None, records, noisy=out, priors=["1/10"])
        row = found.row("Block").drawn
        assert row is not None
        drawn.append(row.ratio_above[1])
    error = np.std(drawn, ddof=1) / np.sqrt(len(drawn))
    expected = found.row("Block").ratio_above[1]
    assert abs(np.mean(drawn) - expected) < 4 * error
    assert abs(np.mean(drawn) - 2 * expected) > 4 * error


def shapes_file(folder: Path, names: list[str]) -> Path:
    features = [
        {
            "type": "Feature",
            "properties": {"code": name, "n": place},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[place, 0], [place, 1], [place + 1, 1], [place + 1, 0], [place, 0]]],
            },
        }
        for place, name in enumerate(names)
    ]
    (folder / "map.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return folder / "map.geojson"


def test_files_are_for_their_owner_alone(study: tuple[Path, ByHand, RecordsRisk], tmp_path: Path) -> None:
    _, hand, found = study
    shapes = shapes_file(tmp_path, ["B00", "B01", "nowhere"])
    plain = replace(found, curves=(), decisions=())  # whose pictures the next test draws
    written = write_records_risk(plain, tmp_path / "out", shapes=shapes, shape_key="code")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    assert sorted(os.listdir(tmp_path / "out")) == sorted(written.files)
    for file in (tmp_path / "out").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert "CONFIDENTIAL" in file.name
    people = read(tmp_path / "out" / "people.CONFIDENTIAL.csv")
    assert [row["unit"] for row in people] == [unit for unit, _ in hand.people]
    unit, cell = hand.people[7]
    own = posterior(hand.noisy[unit, cell], variance=5, prior="1/10", known=hand.count[unit, cell] - 1)
    assert float(people[7]["posterior:Block:1/10"]) == pytest.approx(own)
    areas = read(tmp_path / "out" / "areas.CONFIDENTIAL.csv")
    assert (
        sum(int(row["people"]) for row in areas if (row["prior"], row["level"]) == ("1/10", "County")) == 150
    )
    assert b"<svg" in (tmp_path / "out" / "map.CONFIDENTIAL.svg").read_bytes()[:1000]
    page = (tmp_path / "out" / "report.CONFIDENTIAL.html").read_text()
    assert page.index("people, the Block counts drawn") < page.index("<svg") < page.index("<table")
    assert "<image" not in page  # which its policy would not show


@pytest.mark.slow
def test_all_tables_and_pictures_are_written(study: tuple[Path, ByHand, RecordsRisk], tmp_path: Path) -> None:
    written = write_records_risk(study[2], tmp_path / "out", format="parquet")
    assert "people.CONFIDENTIAL.parquet" in written.files
    assert {"curves.CONFIDENTIAL.svg", "decisions.CONFIDENTIAL.svg"} < set(written.files)
    for file in (tmp_path / "out").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("{", None, "map.geojson is no GeoJSON"),
        ('{"features": []}', None, "has no features"),
        ('{"features": [{"properties": {"a": 1, "b": 2}}]}', None, r"name the property .* 'a', 'b'"),
        ('{"features": [{"properties": {"a": 1}}]}', "b", "no feature has a property 'b'; it has 'a'"),
        ('{"features": [{"properties": {"a": 1}, "geometry": {"type": "Point"}}]}', "a", "no Polygon"),
        ('{"features": [{"properties": {"a": null}}]}', "a", "feature 1 of map.geojson"),
        (
            '{"features": [{"properties": {"a": 1}, "geometry": {"type": "Polygon", "coordinates": [[1]]}}]}',
            "a",
            "no lines of points",
        ),
    ],
)
def test_bad_shapes(tmp_path: Path, text: str, key: str | None, message: str) -> None:
    (tmp_path / "map.geojson").write_text(text)
    with pytest.raises(InputError, match=message):
        read_shapes(tmp_path / "map.geojson", key)


def test_nothing_is_left_where_a_map_cannot_be_drawn(
    study: tuple[Path, ByHand, RecordsRisk], tmp_path: Path
) -> None:
    shapes = shapes_file(tmp_path, ["elsewhere"])
    with pytest.raises(InputError, match="no shape has the name of an area of any level"):
        write_records_risk(study[2], tmp_path / "out", shapes=shapes, shape_key="code")
    assert os.listdir(tmp_path) == ["map.geojson"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"priors": ["often"]}, "prior is 'often'; it must be a chance such as 1/10, flat"),
        ({"priors": ["1"]}, "prior is 1; it must lie strictly between 0 and 1"),
        ({"priors": ["1/2", "1/2"]}, "prior 1/2 is given twice"),
        ({"priors": []}, "at least one prior"),
        ({"priors": ["column:none"]}, "no column none"),
        ({"priors": ["column:age"]}, "age"),
        ({"query": "sex"}, "release 'made' has no query 'sex' that counts records; it has 'detailed', 'age'"),
        ({"priors": ["area"], "prior_level": "Street"}, "Street"),
    ],
)
def test_what_cannot_be_asked(
    study: tuple[Path, ByHand, RecordsRisk], given: dict[str, object], message: str
) -> None:
    folder = study[0]
    with pytest.raises(InputError, match=message):
        records_risk(
            load_file(folder / "release.toml"), folder / "records.csv", units=folder / "units.csv", **given
        )


def test_all_that_is_wrong_with_what_is_asked_is_said_before_the_records_are_read(
    study: tuple[Path, ByHand, RecordsRisk],
) -> None:
    folder = study[0]
    with pytest.raises(InputError) as refused:
        records_risk(
            load_file(folder / "release.toml"),
            folder / "no-such-file.csv",
            units=folder / "units.csv",
            priors=["often", "2", "1/3", "1/3"],
            query="sex",
            prior_level="Street",
            example=1,
        )
    text = str(refused.value)
    assert text.startswith("7 kinds of problems")
    for part in ("often", "prior is 2", "1/3 is given twice", "'sex'", "Street", "--prior area", "--noisy"):
        assert part in text
    assert "no-such-file" not in text
    with pytest.raises(InputError, match="no-such-folder cannot be read: No such file"):
        records_risk(None, folder / "records.csv", noisy=folder / "no-such-folder")


def test_areas_must_be_those_that_were_measured(
    study: tuple[Path, ByHand, RecordsRisk], tmp_path: Path
) -> None:
    folder = study[0]
    made(tmp_path, counties=2)
    with pytest.raises(InputError, match="the areas of the records are not those of"):
        records_risk(None, tmp_path / "records.csv", units=tmp_path / "units.csv", noisy=folder / "noisy")


def test_a_prior_that_leaves_no_doubt(tmp_path: Path) -> None:
    release = made(tmp_path, people=3)
    (tmp_path / "records.csv").write_text("unit,age,work\nB00,old,a\nB01,old,a\n")
    found = records_risk(
        release, tmp_path / "records.csv", units=tmp_path / "units.csv", priors=["population", "flat"]
    )
    assert found.certain == 2
    row = found.row("Block", prior="population")
    assert (row.mean_posterior, row.mean_ratio, row.ratio_above[1]) == (1.0, 1.0, 0.0)
    assert found.row("Block", prior="flat").mean_prior == pytest.approx(1 / 6)
    assert "leaves no doubt" in words(found)


def test_a_column_of_priors_is_read_as_the_input_says(tmp_path: Path) -> None:
    """A survey with German signs and names: the same chances as in a plain table, by the same lines."""
    release = made(tmp_path, people=30)
    plain = records_risk(
        release, tmp_path / "records.csv", units=tmp_path / "units.csv", priors=["column:chance"]
    )
    rows = read(tmp_path / "records.csv")
    text = "ORT;ALTER;work;P\n"
    for place, row in enumerate(rows):
        chance = "k. A." if place == 4 else row["chance"].replace(".", ",")
        text += f"{row['unit']};{row['age']};{row['work']};{chance}\n"
    (tmp_path / "survey.csv").write_text(text, encoding="latin-1")
    how = f"""[input]
encoding = "latin-1"
decimal = ","
[input.columns]
unit.column = "ORT"
age.column = "ALTER"
chance = {{ column = "P", missing = ["k. A."], as = "{rows[4]["chance"]}" }}
"""
    given = {
        "units": tmp_path / "units.csv",
        "priors": ["column:chance"],
        "input": tmp_path / "input.toml",
    }
    (tmp_path / "input.toml").write_text(how)
    found = records_risk(release, tmp_path / "survey.csv", **given)
    assert found.rows == plain.rows
    (tmp_path / "input.toml").write_text(how.replace(', as = "', ', leave_out = true } # "'))
    with pytest.raises(InputError, match="leaves out records without 'chance', which measures nothing"):
        records_risk(release, tmp_path / "survey.csv", **given)
    (tmp_path / "input.toml").write_text(how.replace(', as = "', ' } # "'))
    (tmp_path / "survey.csv").write_text(text.replace(";young;", ";younger;", 1), encoding="latin-1")
    with pytest.raises(InputError, match=r"(?s)a value is missing.*attribute 'age' does not have") as refused:
        records_risk(release, tmp_path / "survey.csv", **given)
    assert "younger" not in str(refused.value)


# -- all levels above ----------------------------------------------------------------------------------------


@cache
def sum_law(variances: tuple[Fraction, ...]) -> dict[int, float]:
    """The law of a sum of noises, by convolution in dictionaries."""
    law = {0: 1.0}
    for variance in variances:
        noise = DiscreteGaussian(variance=variance)
        chances = {two: float(noise.pmf(two)) for two in range(-25, 26)}
        more: Counter[int] = Counter()
        for one, chance in law.items():
            for two, other in chances.items():
                more[one + two] += chance * other
        law = dict(more)
    return law


def brute_force(
    path: list[str],
    cell: str,
    parent: dict[str, str],
    size: dict[str, Fraction],
    noisy: dict[tuple[str, str], int],
    known: int,
) -> float:
    """The posterior at prior 1/10 of someone in the first area: all counts of all areas above, in loops."""
    beside = []
    for unit in path[:-1]:
        others = [one for one, above in parent.items() if above == parent[unit] and one != unit]
        beside.append((sum(noisy[one, cell] for one in others), sum_law(tuple(size[one] for one in others))))
    laws = {unit: DiscreteGaussian(variance=size[unit]) for unit in path}

    @cache
    def weight(place: int, count: int) -> float:
        """The weight of all that is seen of an area and above it."""
        seen = float(laws[path[place]].pmf(noisy[path[place], cell] - count))
        if place == len(path) - 1 or seen < 1e-18:
            return seen
        total, law = beside[place]
        rests = [0] if len(law) == 1 else range(0, 60)
        return seen * sum(
            law.get(total - rest, 0.0) * weight(place + 1, count + rest)
            for rest in rests
            if law.get(total - rest, 0.0) > 1e-18
        )

    there, absent = weight(0, known + 1), weight(0, known)
    return there / (there + 9 * absent)


def merged(folder: Path, people: int = 18) -> Release:
    """Four levels, of which two are merged in some places: C is a county, D county and block at once."""
    (folder / "release.toml").write_text(
        RELEASE.replace(
            '[[levels]]\nname = "County"',
            '[[levels]]\nname = "Region"\nqueries = { "detailed" = { variance = "3" } }\n'
            '[[levels]]\nname = "County"',
        )
        + '[spine]\nmay_merge_up = ["Block"]\n'
    )
    lines = (
        "L,Land, R,Region,L S,Region,L C,County,R E,County,S D,County+Block,R A,Block,C B,Block,C F,Block,E"
    )
    (folder / "units.csv").write_text("unit,level,parent\n" + lines.replace(" ", "\n") + "\n")
    random, rows = np.random.default_rng(8), ["unit,age,work"]
    for _ in range(people):
        rows.append(
            f"{random.choice(list('ABDF'))},{random.choice(['young', 'old'])},{random.choice(['a', 'b'])}"
        )
    (folder / "records.csv").write_text("\n".join(rows) + "\n")
    return load_file(folder / "release.toml")


def test_all_levels_above_are_a_sum_over_all_counts_of_a_merged_tree(tmp_path: Path) -> None:
    release = merged(tmp_path)
    records, units = tmp_path / "records.csv", tmp_path / "units.csv"
    measure(release, None, tmp_path / "noisy", records=records, units=units, rehearsal=3)
    found = records_risk(None, records, noisy=tmp_path / "noisy", priors=["1/10"])
    parent = {row["unit"]: row["parent"] for row in read(units)}
    level = {row["unit"]: row["level"] for row in read(units)}
    people = [(row["unit"], f"{row['age']} * {row['work']}") for row in read(records)]
    file = next((tmp_path / "noisy").glob("measurements*.csv"))
    rows = [row for row in read(file) if row["query"] == "detailed"]
    noisy = {(row["unit"], row["cell"]): int(row["value"]) for row in rows}
    known = noises(release, tuple(dict.fromkeys(level.values())))
    size = {unit: known[name, "detailed"].single().size for unit, name in level.items()}
    assert size["D"] != size["C"]  # beside each other
    assert found.each is not None
    assert found.row(ALL_ABOVE).people == len(people) > found.row(HIERARCHY).people
    risk, done = found.each.risks["1/10", ALL_ABOVE], set()
    for place, (unit, cell) in enumerate(people):
        if (unit, cell) in done:
            continue
        done.add((unit, cell))
        path = [unit]
        while parent[path[-1]]:
            path.append(parent[path[-1]])
        own = brute_force(path, cell, parent, size, noisy, people.count((unit, cell)) - 1)
        assert risk.drawn_posterior[found.each.group[place]] == pytest.approx(own, rel=1e-9)
    assert {"D", "A", "F"} <= {unit for unit, _ in done}  # merged, with siblings, an only child


@pytest.mark.parametrize(
    ("variances", "siblings", "rests", "off"),
    [
        ((5, 4, 6), (3, 2), (0, 0), 1e-12),
        ((10, 4, 19, 20), (40, 50, 50), (3, 20, 900), 1e-12),
        (("0.4", "0.3", "0.5"), (3, 2), (1, 1), 1e-12),
        ((5, 4, 6, 3, 7, 2), (3, 0, 4, 1, 9), (0, 0, 0, 2, 50), 1e-12),
        ((900, 700, 800), (3, 4), (5, 40), 1e-5),
    ],
)
def test_the_evidence_of_a_path_is_that_of_the_exact_sums(
    variances: tuple[object, ...], siblings: tuple[int, ...], rests: tuple[int, ...], off: float
) -> None:
    """Releases drawn at true counts, seed 5: each by `hierarchy_posterior`, one by one."""
    sizes = [float(Fraction(str(one))) for one in variances]
    path = AreaPath(
        tuple(sizes), tuple(SumNoise.of({size: many}) for size, many in zip(sizes, siblings, strict=False))
    )
    random = np.random.default_rng(5)
    noisy = np.rint(1 + np.cumsum(rests) + random.normal(0, np.sqrt(sizes[1:]), (12, len(rests))))
    spread = np.sqrt(np.array(sizes[:-1]) * siblings)
    sums = np.rint(np.array(rests) + spread * random.normal(size=(12, len(rests))))
    found = path.evidence_from_above(noisy, sums)
    for row, above, beside in zip(found, noisy, sums, strict=True):
        counts = [1, *map(int, above)]
        areas = [
            Area(
                noisy=count,
                variance=str(variance),
                siblings=many,
                siblings_noisy=int(total) if many else None,
            )
            for count, variance, many, total in zip(counts, variances, siblings, beside, strict=False)
        ]
        areas.append(Area(noisy=counts[-1], variance=str(variances[-1])))
        own = hierarchy_posterior(areas, prior="1/2").probability
        assert row == pytest.approx(np.log(own / (1 - own)) - 0.5 / sizes[0], abs=off)


def test_drawn_laws_are_within_their_errors_of_the_exact_one() -> None:
    """Two levels, where the law is known: the mean within 4 of the stated standard errors, which are used."""
    exact, prior = TwoLevelLaws(5, 2).law(3, 1), Prior(np.array([0.1, 0.5]), np.array([0.9, 0.5]))
    law = AreaPath((5.0, 2.0), (SumNoise.of({5.0: 3}),)).drawn_law([1], 2000, np.random.default_rng(4))
    errors = law.standard_error(prior)
    off = np.abs(law.expected_posterior(prior) - exact.expected_posterior(prior))
    assert (off < 4 * errors).all()
    assert (errors < 3e-3).all()
    assert law.chance_beyond(np.array([0.2])) == pytest.approx(exact.chance_beyond(np.array([0.2])), abs=0.03)


def test_many_laws_are_rounded_and_agree(
    study: tuple[Path, ByHand, RecordsRisk], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _, found = study
    exact = found.row(ALL_ABOVE)
    assert found.rounded == 0.0
    assert exact.errors is not None
    monkeypatch.setattr(people, "MOST_LAWS", 8)
    rough = records_risk(None, folder / "records.csv", noisy=folder / "noisy", priors=["1/10"])
    assert rough.rounded > 0
    assert "are rounded by up to" in words(rough)
    assert rough.row(ALL_ABOVE).drawn.ratio_above == exact.drawn.ratio_above
    assert rough.row(ALL_ABOVE).mean_posterior == pytest.approx(exact.mean_posterior, rel=0.01)


# -- the paper's Tables 6 to 8 and Figure 4 ------------------------------------------------------------------


def test_one_person_as_in_the_tables_of_the_paper(study: tuple[Path, ByHand, RecordsRisk]) -> None:
    folder, hand, found = study
    one = found.examples[0]
    unit, cell = hand.people[one.record - 1]
    others, group = hand.siblings(unit), hand.parent[unit]
    assert one.areas == (unit, group)
    assert one.counts[:2] == (hand.count[unit, cell], hand.count[group, cell])
    assert one.counts[2] == sum(hand.count[other, cell] for other in others)
    assert one.noisy == (
        hand.noisy[unit, cell],
        hand.noisy[group, cell],
        sum(hand.noisy[other, cell] for other in others),
    )
    assert one.posterior == pytest.approx(hand.hierarchy(unit, cell, "1/10"), rel=1e-12)
    assert sum(chance for _, chance in one.group) == pytest.approx(1, abs=1e-3)
    assert one.counts[0] == 1  # somebody is unique there
    here = Counter(name for where, name in hand.people if where == unit)
    assert (one.cells[0][0], dict(one.cells)) == (cell, dict(here))
    row = next(place for place, (_, name) in enumerate(hand.people, 1) if name != cell)
    chosen = records_risk(None, folder / "records.csv", noisy=folder / "noisy", example=row)
    assert (chosen.examples[0].record, chosen.examples[0].areas[0]) == (row, hand.people[row - 1][0])
    for wrong in (0, 151):
        with pytest.raises(InputError, match=f"example is {wrong}; it must be the row of a record"):
            records_risk(None, folder / "records.csv", noisy=folder / "noisy", example=wrong)
    with pytest.raises(InputError, match="an example needs the numbers drawn"):
        records_risk(
            load_file(folder / "release.toml"),
            folder / "records.csv",
            units=folder / "units.csv",
            example=1,
        )


def test_decisions_are_those_of_the_posterior_one_half(study: tuple[Path, ByHand, RecordsRisk]) -> None:
    """Every tile by the posterior at its threshold and one below; how often they change by a sum of tiles."""
    one = study[2].decisions[0]
    two = TwoLevels(variance=("5", "4"), siblings=one.siblings, prior="1/10")
    z, y = one.group[:, None], one.others
    assert (two.probability(one.thresholds, z, y) > 0.5).all()
    assert (two.probability(one.thresholds - 1, z, y) <= 0.5 + 1e-9).all()
    (x, px), (all_z, pz), (all_y, py) = two.grid(block=1, group=1)
    weights = px[:, None, None] * pz[np.isin(all_z, one.group)][:, None] * py[np.isin(all_y, one.others)]
    after, before = x[:, None, None] >= one.thresholds, (x >= one.alone)[:, None, None]
    assert one.to_yes == pytest.approx(float(weights[after & ~before].sum()), rel=1e-9)
    assert one.to_no == pytest.approx(float(weights[~after & before].sum()), rel=1e-9)
    assert one.inside == pytest.approx(float(weights.sum()), rel=1e-9)
    assert posterior(one.alone, variance=5, prior="1/10", known=0) > 0.5
    assert posterior(one.alone - 1, variance=5, prior="1/10", known=0) <= 0.5


def test_a_table_of_the_same_counts_tells_the_same_of_its_people(
    study: tuple[Path, ByHand, RecordsRisk], tmp_path: Path
) -> None:
    """`risk table` with known counts and a prior in each row: the people of `risk records`, by area."""
    _, hand, found = study
    total: Counter[str] = Counter(hand.parent[unit] for unit, _ in hand.people)
    lines = ["level,value,variance,others,chance"]
    for unit, cell in dict.fromkeys(hand.people):
        chance = Fraction(hand.count[hand.parent[unit], cell], total[hand.parent[unit]])
        lines.append(f"Block,{hand.noisy[unit, cell]},5,{hand.count[unit, cell] - 1},{float(chance)!r}")
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    table = table_risk(tmp_path / "table.csv", prior_column="chance", known_column="others")
    own, row = table.total.drawn, found.row("Block", prior="area").drawn
    assert own is not None
    assert row is not None
    assert table.total.people == found.people
    assert (own.ratio_above, own.posterior_above) == (row.ratio_above, row.posterior_above)
    assert own.mean_posterior == pytest.approx(row.mean_posterior, rel=1e-12)
    assert own.mean_ratio == pytest.approx(row.mean_ratio, rel=1e-12)
    assert (own.largest_ratio, *own.quantiles) == pytest.approx((row.largest_ratio, *row.quantiles))
    assert any(str(part).startswith("Of 150 people counted") for part in table_risk_answer(table).body)


def test_siblings_that_are_not_seen_say_nothing() -> None:
    """The level between does not ask: the area above has any count from the target's area's up."""
    path, noise = AreaPath((5.0, 6.0), (None,)), DiscreteGaussian(variance=6)
    for noisy in (-4, 0, 3, 90):
        chances = noise.pmf(np.arange(noisy, noisy - 140, -1))
        own = np.log(chances[1:].sum() / chances.sum())
        found = path.evidence_from_above(np.array([[float(noisy)]]), np.zeros((1, 1)))
        assert found[0] == pytest.approx(own, abs=1e-12)


def test_who_is_in_no_area_that_asks_has_no_line(tmp_path: Path) -> None:
    """D is county, tract and block at once, and answers the county's queries: not the one looked at."""
    (tmp_path / "release.toml").write_text(
        RELEASE.replace(
            'name = "County"\nqueries = { "detailed" = { variance = "4" } }',
            'name = "County"\nqueries = { "age" = { variance = "4" } }\n[[levels]]\nname = "Tract"\n'
            'queries = { "detailed" = { variance = "4" } }',
        ).replace('{ "detailed" = { variance = "6" }, "age"', '{ "age"')
        + '[spine]\nmay_merge_up = ["Tract", "Block"]\n'
    )
    lines = "L,Land, C,County,L D,County+Tract+Block,L T,Tract,C A,Block,T B,Block,T"
    (tmp_path / "units.csv").write_text("unit,level,parent\n" + lines.replace(" ", "\n") + "\n")
    (tmp_path / "records.csv").write_text("unit,age,work\nD,old,a\nA,old,a\nB,old,c\n")
    release = load_file(tmp_path / "release.toml")
    records, units = tmp_path / "records.csv", tmp_path / "units.csv"
    measure(release, None, tmp_path / "noisy", records=records, units=units, rehearsal=5)
    found = records_risk(None, records, noisy=tmp_path / "noisy", priors=["1/10"], estimates=True)
    assert found.people == 3
    assert {row.people for row in found.rows if row.who == "everyone"} == {2}
    assert found.row(ALL_ABOVE).adversary in words(found)
