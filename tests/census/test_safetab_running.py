"""Whole runs: equal to the published program without noise, with the right noise otherwise, and recorded.

Seeded where noise is looked at. A variance of n draws of Gaussian noise is accepted within 5 standard errors,
sqrt(2/n) of itself: one false alarm in a million. The same test refuses variances that are 10 % off.
"""

from __future__ import annotations

import csv
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from safetab_brute import random_blocks, random_person, tabulate
from safetab_facts import BELOW_STATE, LADDER, RANGES
from safetab_toy import DATA, SPEC_2020, TOY
from safetab_toy import published as published_tables

from discreet.answers import describe
from discreet.census.mechanism import adaptive as mechanism
from discreet.census.mechanism import counts as counting
from discreet.census.mechanism import records
from discreet.census.mechanism.counts import GroupCounts
from discreet.census.mechanism.margins import label as margins
from discreet.census.mechanism.records import count
from discreet.census.safetab.account import mechanisms
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.run import run
from discreet.census.safetab.run_plan import Options, RunPlan
from discreet.census.safetab.specification import read_specification
from discreet.cli import run as command
from discreet.errors import InputError
from discreet.ledger import Total, check_ledger, create_ledger, read_ledger
from discreet.ledger.clock import Clock
from discreet.noise import GaussianNoise, LaplaceNoise
from discreet.records.engine import Engine, connect
from discreet.rehearsal import rehearsal_entropy

BUREAU = Options(bureau_columns=True, coterminous=False, no_noise=True)


@pytest.fixture
def params(tmp_path: Path) -> Callable[..., Path]:
    """Make a folder of the toy's parameters with changes; `budgets` are by the end of their key."""

    def make(budgets: Mapping[str, Any] | None = None, **changes: Any) -> Path:
        folder = tmp_path / "params"
        shutil.copytree(TOY, folder, dirs_exist_ok=True)
        data = json.loads((TOY / "config.json").read_text())
        for key in data:
            if key.startswith("privacy_budget_p_level_") and budgets is not None:
                data[key] = next((value for end, value in budgets.items() if key.endswith(end)), 0)
        passes = {"run_pr": budgets is None or any("pr_" in key or key[0] == "_" for key in budgets)}
        text = json.dumps({**data, **passes, **changes})
        (folder / "config.json").write_text(text)
        return folder

    return make


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream, delimiter="|"))


def same_as_published(out: Path) -> bool:
    """Whether the rows of both tables are those of the published program, in any order."""
    for name, theirs in published_tables().items():
        ours = (out / f"{name}.NOT-PRIVATE.csv").read_text().splitlines()
        if ours[0] != theirs[0] or sorted(ours) != sorted(theirs):
            return False
    return True


def test_without_noise_the_output_is_that_of_the_published_program(tmp_path: Path) -> None:
    done = run(TOY, DATA, tmp_path / "out", options=BUREAU)
    assert same_as_published(tmp_path / "out")
    assert done.warning == "NOT PRIVATE: no noise"
    assert done.entries == ()
    assert (
        json.loads((tmp_path / "out" / "summary.NOT-PRIVATE.json").read_text())["warning"]
        == "NOT PRIVATE: no noise"
    )


def test_both_engines_give_the_rows_of_the_published_program(
    tmp_path: Path, params: Callable[..., Path], engine: Engine
) -> None:
    # a question to Spark takes a second, so two geographies are asked for here, and all in a slow test
    folder = params({"2_usa": float("inf"), "1_pr_county": float("inf")})
    run(folder, DATA, tmp_path / "out", engine=engine, options=BUREAU)
    specification = read_specification(folder)
    levels = {one.code: one.level for one in specification.iterations}
    for name in ("t1", "t2"):
        wanted = [
            line
            for line in published_tables()[name][1:]
            if (line.split("|")[1], levels[line.split("|")[2]]) in (("USA", 2), ("PR-COUNTY", 1))
        ]
        assert sorted((tmp_path / "out" / f"{name}.NOT-PRIVATE.csv").read_text().splitlines()[1:]) == sorted(
            wanted
        )
        assert wanted


@pytest.mark.slow
def test_spark_gives_the_same(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="needs PySpark: install the extra `test`")
    if shutil.which("java") is None:
        pytest.skip("needs Java: `make system` installs it")
    call = ["safetab", "run", str(TOY), str(DATA), str(tmp_path / "out"), "--no-ledger"]
    options = ["--bureau-columns", "--no-coterminous", "--no-noise", "--engine", "spark", "--quiet"]
    # a process of its own: Spark leaves sockets open until its process ends
    subprocess.run([sys.executable, "-m", "discreet", *call, *options], check=True, capture_output=True)
    assert same_as_published(tmp_path / "out")


def published(params: Path, blocks: Any, people: Any) -> tuple[set[str], set[str]]:
    """The rows of both tables without noise, from a second tabulator and the rules, in plain loops."""
    configuration, specification = read_configuration(params), read_specification(params)
    totals, cells = tabulate(blocks, people, configuration, specification)
    level = {one.code: one for one in specification.iterations}
    passes = {"USA": ("1",), "STATE": configuration.parts("US"), "PR-STATE": ("72",)}
    states = {block[0] for block in blocks}
    passes["STATE"] = tuple(state for state in passes["STATE"] if state in states)
    every = set(totals)
    for where, regions in passes.items():
        every |= {
            (where, r, code)
            for r in regions
            for code, one in level.items()
            if one.tabulated(below=where in BELOW_STATE)
        }
    t1, t2 = set(), set()
    for where, region, code in every:
        name, total = f"{region}|{where}|{code}", totals[where, region, code]
        t1.add(f"{name}|{total}")
        steps = configuration.thresholds[where, level[code].level]
        table = 0 if level[code].total_only else sum(total >= step for step in steps)
        if not table:
            continue
        for sex in (1, 2):
            ages = [cells[where, region, code, sex, age] for age in range(23)]
            t2.add(f"{name}|*|*|{sex}|{sum(ages)}")
            for low, high in RANGES[table - 1]:
                inside = (i for i, (first, last) in enumerate(RANGES[2]) if low <= first and last <= high)
                t2.add(f"{name}|{low}|{high}|{sex}|{sum(ages[i] for i in inside)}")
    return t1, t2


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_other_people_with_the_specification_of_2020(
    tmp_path: Path, write: Callable[..., Path], seed: int
) -> None:
    source = random.Random(seed)
    params = tmp_path / "params"
    shutil.copytree(SPEC_2020, params)
    config = json.loads((TOY / "config.json").read_text())
    config["thresholds_p"] = {place: [2, 4, 9] for place in config["thresholds_p"]}
    (params / "safetab.toml").unlink()
    (params / "config.json").write_text(json.dumps(config))
    blocks = random_blocks(source, 40)
    codes = list(read_specification(params).codes)
    people = [random_person(source, blocks, codes) for _ in range(250)]
    run(params, write(blocks, people), tmp_path / "out", options=BUREAU)
    for name, wanted in zip(("t1", "t2"), published(params, blocks, people), strict=True):
        _, *found = (tmp_path / "out" / f"{name}.NOT-PRIVATE.csv").read_text().splitlines()
        assert len(found) == len(set(found))
        assert set(found) == wanted


def covering(variance: float, cells: int) -> int:
    """The smallest margin with 95 % of a sum of cells inside, by adding up probabilities."""
    one = np.exp(-(np.arange(-400, 401) ** 2) / (2 * variance))
    mass = one / one.sum()
    for _ in range(cells - 1):
        mass = np.convolve(mass, one / one.sum())
    middle = mass.size // 2
    inside = mass[middle] + np.append(0, 2 * np.cumsum(mass[middle + 1 :]))
    return int(np.argmax(inside >= 0.95))


def test_a_run_with_noise_says_how_much(tmp_path: Path, params: Callable[..., Path]) -> None:
    folder = params({"1_usa": 0.5, "2_county": 0.159, "2_pr_tract": 0.008}, zero_suppression_chance=0.9)
    done = run(folder, DATA, tmp_path / "out", options=Options(bureau_margins=True))
    assert done.warning is None
    assert done.files == ("t1.csv", "t2.csv", "summary.json")
    assert {place.mechanism.geography for place in done.places} == {"USA", "COUNTY", "PR-TRACT"}
    t1 = rows(tmp_path / "out" / "t1.csv")
    assert ",".join(t1[0]) == (
        "REGION_ID,REGION_TYPE,ITERATION_CODE,COUNT,TABLE,NOISE_VARIANCE,MOE95,MOE95_BUREAU"
    )
    assert {row["TABLE"] for row in t1} == {"T01001"}
    # gamma 1/10: sigma^2 = s / (2 * 0.9 * rho) a cell, of which a total has 1, 8, 18 or 46;
    # total-only groups spend everything: s / (2 * rho)
    allowed = {}
    for where, s, rho in (("USA", 7, "0.5"), ("COUNTY", 6, "0.159"), ("PR-TRACT", 6, "0.008")):
        for cells, share in ((1, 1), (1, "0.9"), (8, "0.9"), (18, "0.9"), (46, "0.9")):
            each = s / (2 * Fraction(share) * Fraction(rho))
            allowed[where, f"{float(cells * each):.15g}"] = covering(float(each), cells)
    for row in t1:
        assert int(row["MOE95"]) == allowed[row["REGION_TYPE"], row["NOISE_VARIANCE"]]
        assert int(row["MOE95_BUREAU"]) == int(1.96 * float(row["NOISE_VARIANCE"]) ** 0.5)
    for row in rows(tmp_path / "out" / "t2.csv"):
        table = {"T02001": 4, "T02002": 9, "T02003": 23}[row["TABLE"]]
        s, rho = {"USA": (7, 0.5), "COUNTY": (6, 0.159), "PR-TRACT": (6, 0.008)}[row["REGION_TYPE"]]
        cells = table if row["AGESTART"] == "*" else 1
        assert float(row["NOISE_VARIANCE"]) == pytest.approx(cells * s / (1.8 * rho), rel=1e-14)


def test_totals_and_sexes_are_sums_of_the_cells(tmp_path: Path, params: Callable[..., Path]) -> None:
    folder = params({"_state": 2, "_county": 1}, zero_suppression_chance=0.5)
    run(folder, DATA, tmp_path / "out")
    sums: dict[tuple[str, ...], int] = {}
    sexes: dict[tuple[str, ...], int] = {}
    for row in rows(tmp_path / "out" / "t2.csv"):
        group = row["REGION_TYPE"], row["REGION_ID"], row["ITERATION_CODE"]
        if row["AGESTART"] == "*":
            sexes[*group, row["SEX"]] = int(row["COUNT"])
        else:
            sums[group] = sums.get(group, 0) + int(row["COUNT"])
            sums[*group, row["SEX"]] = sums.get((*group, row["SEX"]), 0) + int(row["COUNT"])
    assert sexes
    assert all(sums[key] == value for key, value in sexes.items())
    t1 = {
        (r["REGION_TYPE"], r["REGION_ID"], r["ITERATION_CODE"]): int(r["COUNT"])
        for r in rows(tmp_path / "out" / "t1.csv")
    }
    assert all(t1[key] == value for key, value in sums.items() if len(key) == 3)


def test_formats_agree_and_a_rehearsal_is_marked_and_can_be_repeated(
    tmp_path: Path, params: Callable[..., Path]
) -> None:
    folder = params({"1_state": 1, "1_county": 1}, zero_suppression_chance=0.5)
    for name, kind, seed in (("a", "csv", 7), ("b", "parquet", 7), ("c", "csv", 8)):
        run(folder, DATA, tmp_path / name, options=Options(format=kind, rehearsal=seed))
    for stem in ("t1", "t2"):
        text = rows(tmp_path / "a" / f"{stem}.NOT-PRIVATE.csv")
        table = pq.read_table(tmp_path / "b" / f"{stem}.NOT-PRIVATE.parquet")
        assert table.schema.metadata[b"warning"] == b"NOT PRIVATE: rehearsal with seed 7"
        typed = [
            {
                **row,
                "COUNT": int(row["COUNT"]),
                "MOE95": int(row["MOE95"]),
                "NOISE_VARIANCE": float(row["NOISE_VARIANCE"]),
            }
            for row in text
        ]
        assert table.to_pylist() == typed
        assert {row["not_private"] for row in text} == {"NOT PRIVATE: rehearsal with seed 7"}
        assert text != rows(tmp_path / "c" / f"{stem}.NOT-PRIVATE.csv")
    assert json.loads((tmp_path / "a" / "summary.NOT-PRIVATE.json").read_text())["warning"].startswith(
        "NOT PRIV"
    )


def test_the_ledger_says_what_was_spent(tmp_path: Path, params: Callable[..., Path]) -> None:
    folder = params({"2_state": 0.25, "1_tract": 0.159, "2_pr_state": 0.25, "1_pr_tract": 0.159})
    done = run(folder, DATA, tmp_path / "out")
    us, pr = done.entries
    assert us.command == "safetab run US"
    assert (us.rho, pr.rho) == (Fraction("0.409"), Fraction("0.409"))
    assert (us.release.unit, us.release.neighbours) == ("person", "unbounded")
    assert done.budgets == {"US": Fraction("0.409"), "PR": Fraction("0.409")}
    roles = {item["role"] for item in us.inputs}
    assert {"blocks", "persons", "config.json"} <= roles
    assert all(len(item["sha256"]) == 64 for item in us.inputs)


def test_pure_privacy_is_counted_in_epsilons(tmp_path: Path, params: Callable[..., Path]) -> None:
    folder = params({"2_state": 0.9, "2_county": 1.8}, privacy_defn="puredp", allow_negative_counts=False)
    done = run(folder, DATA, tmp_path / "out")
    assert done.budgets == {"US": Fraction("2.7")}
    state, county = (place.mechanism for place in done.places)
    # stability 9 and 6: scales 9 / 0.81 and 6 / 1.62 of the second stage
    assert state.stage_two == LaplaceNoise(scale="100/9")
    assert county.stage_two == LaplaceNoise(scale="100/27")
    assert county.suppression == county.stage_two.quantile("0.5") == 0
    t1 = rows(tmp_path / "out" / "t1.csv")
    assert min(int(row["COUNT"]) for row in t1) == 0
    noises = [noise for one in (state, county) for noise in (one.total_only, one.stage_two)]
    known = [margins(noise, LADDER, table).total for noise in noises for table in range(4)]
    found = {(row["NOISE_VARIANCE"], int(row["MOE95"])) for row in t1}
    assert found <= {(one.variance, one.margin) for one in known}
    (entry,) = done.entries
    assert "scale" in entry.release.to_toml()


def test_a_part_without_noise_is_outside_the_guarantee(tmp_path: Path, params: Callable[..., Path]) -> None:
    folder = params({"2_state": 0.25, "1_tract": float("inf")})
    with pytest.raises(InputError, match=r"the budget of TRACT regional is infinite.*say --no-noise"):
        run(folder, DATA, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    done = run(folder, DATA, tmp_path / "out", options=Options(no_noise=True))
    assert done.warning == "NOT PRIVATE: no noise at TRACT regional"
    assert all("NOT-PRIVATE" in name for name in done.files)
    for name in ("t1", "t2"):
        found = rows(tmp_path / "out" / f"{name}.NOT-PRIVATE.csv")
        assert {row["not_private"] for row in found} == {done.warning}
    (entry,) = done.entries
    assert entry.exact == (("TRACT", "regional"),)
    assert entry.rho == Fraction(1, 4)
    with pytest.raises(InputError, match="--no-noise is given, but every budget is finite"):
        run(params({"2_state": 0.25}), DATA, tmp_path / "other", options=Options(no_noise=True))


def test_a_shared_ledger_counts_and_refuses(tmp_path: Path, params: Callable[..., Path]) -> None:
    ledger = tmp_path / "ledger.json"
    create_ledger(ledger, [Total(unit="person", neighbours="unbounded", rho="0.5")])
    folder = params({"2_state": 0.3})
    run(folder, DATA, tmp_path / "one", ledger=ledger)
    assert read_ledger(ledger).left("person") == Fraction("0.2")
    check = check_ledger(ledger, [tmp_path])
    assert check.sound
    assert check.files == 3
    summary = json.loads((tmp_path / "one" / "summary.json").read_text())
    assert summary["ledger"]["head"] == read_ledger(ledger).head
    small = params({"2_state": 0.1})
    with pytest.raises(InputError, match=r"this input was released before.*--spend-again"):
        run(small, DATA, tmp_path / "two", ledger=ledger)
    folder = params({"2_state": 0.3})
    with pytest.raises(InputError, match="the run needs rho 3/10, but of the total 1/2"):
        run(folder, DATA, tmp_path / "two", ledger=ledger)
    both = params({"2_state": 0.1, "2_pr_state": 0.1})
    with pytest.raises(InputError, match="the two passes count different people"):
        run(both, DATA, tmp_path / "two", ledger=ledger)
    infinite = params({"2_state": float("inf")})
    with pytest.raises(InputError, match="a budget is infinite"):
        run(infinite, DATA, tmp_path / "two", ledger=ledger, options=Options(no_noise=True))
    folder = params({"2_state": 0.3})
    run(folder, DATA, tmp_path / "trial", ledger=ledger, options=Options(rehearsal=1))
    assert read_ledger(ledger).left("person") == Fraction("0.2")
    assert not (tmp_path / "two").exists()


def test_the_summary_can_be_recounted_from_the_output(tmp_path: Path, params: Callable[..., Path]) -> None:
    folder = params({"1_state": 1, "1_county": 0.5}, zero_suppression_chance=0.5)
    done = run(folder, DATA, tmp_path / "out", options=Options(coterminous=False))
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    told = describe(done).objects
    assert {key: told[key] for key in summary if key != "format"} == {
        key: value for key, value in summary.items() if key != "format"
    }
    t1, t2 = (rows(tmp_path / "out" / f"{stem}.csv") for stem in ("t1", "t2"))
    tables = {(r["REGION_TYPE"], r["REGION_ID"], r["ITERATION_CODE"]): r["TABLE"] for r in t2}
    assert summary["rows"] == {
        "T01001": len(t1),
        **{name: sum(row["TABLE"] == name for row in t2) for name in ("T02001", "T02002", "T02003")},
    }
    for place in summary["places"]:
        here = [row for row in t1 if row["REGION_TYPE"] == place["geography"]]
        found = [tables.get((r["REGION_TYPE"], r["REGION_ID"], r["ITERATION_CODE"]), "T01001") for r in here]
        assert place["groups"] == {name: found.count(name) for name in place["groups"]}
        assert place["suppressed"] == place["regions"] * place["iterations"] - len(here)
    # how long it took depends on the records: it is not in the file
    assert "seconds" not in summary


def test_what_was_spent_is_never_rounded_down(tmp_path: Path, params: Callable[..., Path]) -> None:
    done = run(params({"1_state": 1}), DATA, tmp_path / "out")
    third = describe(replace(done, budgets={"US": Fraction(1, 3)}))
    spent = "Spent on one person of the US pass, added or removed: rho 0.333334."
    assert spent in [str(part) for part in third.body]
    assert [str(fact.value) for fact in third.facts if fact.label == "rho of the US pass"] == ["0.333334"]
    assert str(done).endswith(f"suppressed {done.suppressed:,}")


def test_an_output_that_is_there_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and is not empty"):
        run(TOY, DATA, out, options=Options(no_noise=True))
    assert [path.name for path in out.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("damage", ["an unknown block", "an age", "a missing file"])
def test_bad_data_ends_with_2_and_writes_nothing(
    tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("GRF-C.txt", "person-records.txt"):
        shutil.copy(DATA / name, data)
    people = (data / "person-records.txt").read_text().splitlines()
    if damage == "a missing file":
        (data / "GRF-C.txt").unlink()
    else:
        fields = people[3].split("|")
        place, value = (6, "9998") if damage == "an unknown block" else (0, "116")
        fields[place] = value
        people[3] = "|".join(fields)
        (data / "person-records.txt").write_text("\n".join(people) + "\n")
    assert command(["safetab", "run", str(TOY), str(data), str(tmp_path / "out"), "--no-noise"]) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err.startswith("discreet: ")
    assert "9998" not in seen.err
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".discreet*"))


class Remembered:
    """GroupCounts that ask the engine once."""

    def __init__(self, counts: GroupCounts) -> None:
        self._counts, self._kept = counts, {}  # type: ignore[var-annotated]

    def regions(self, geography: str) -> Any:
        return self._counts.regions(geography)

    def totals(self, *place: Any) -> Any:
        if place not in self._kept:
            self._kept[place] = self._counts.totals(*place)
        return self._kept[place]

    def cells(self, geography: str, level: int, groups: Any) -> Any:
        key = geography, level, groups.num_rows
        if key not in self._kept:
            self._kept[key] = self._counts.cells(geography, level, groups)
        return self._kept[key]


ABOVE = {"1_usa": 0.5, "2_usa": 1, "1_state": 2, "2_state": 0.25}
BELOW = {"1_county": 0.5, "2_tract": 1, "1_place": 2, "2_aiannh": 0.25}


@pytest.mark.parametrize(
    ("large", "privacy"),
    [
        pytest.param(False, "zcdp", id="totals-zcdp"),
        pytest.param(False, "puredp", id="totals-puredp"),
        pytest.param(True, "zcdp", id="large tables-zcdp"),
        pytest.param(True, "puredp", id="large tables-puredp", marks=pytest.mark.slow),
    ],
)
def test_noise_of_repeated_runs_has_its_variance_by_level_and_stage(
    params: Callable[..., Path], privacy: str, large: bool
) -> None:
    # below the states totals are selected by suppression, large tables are not
    folder = params({**ABOVE, **(BELOW if large else {})}, privacy_defn=privacy)
    config = json.loads((folder / "config.json").read_text())
    config["thresholds_p"] = {place: [0 if large else 10**6] * 3 for place in config["thresholds_p"]}
    (folder / "config.json").write_text(json.dumps(config))
    configuration, specification = read_configuration(folder), read_specification(folder)
    plan = mechanisms(configuration, specification, "US")
    exact = [replace(one, stage_one=None, stage_two=None, total_only=None) for one in plan]
    if large:  # without noise in the first stage, so that every group reaches the threshold 0
        plan = tuple(replace(one, stage_one=None) for one in plan)
    noise: dict[tuple[str, int, int], list[Any]] = {}
    with connect() as engine, count(DATA, configuration, specification, engine=engine) as counts:
        kept: Any = Remembered(counts)
        told = RunPlan(folder, Options(), configuration, specification)
        told.__dict__["mechanisms"] = exact
        truth = told.add_noise(kept, None, Clock())
        for seed in range(160):
            trial = RunPlan(folder, Options(rehearsal=seed), configuration, specification)
            trial.__dict__["mechanisms"] = plan
            found = trial.add_noise(kept, rehearsal_entropy(seed), Clock())
            for place, part in found.items():
                off = part.values - truth[place].values
                stage = np.repeat(part.label % 2, part.widths())
                for which in (0, 1):
                    noise.setdefault((*place, which), []).append(off[stage == which])
    seen = 0
    for one in plan:
        for which, law in ((0, one.stage_two), (1, one.total_only)):
            draws = np.concatenate(noise[one.geography, one.level, which]).astype(float)
            if draws.size < 1000:
                continue
            seen += 1
            assert isinstance(law, GaussianNoise | LaplaceNoise)
            variance, kurtosis = law.true_variance(), 3.0 if privacy == "zcdp" else 6.1
            error = 5 * np.sqrt((kurtosis - 1) / draws.size)
            ratio = np.mean(draws**2) / variance
            assert abs(ratio - 1) < error
            if error < 0.05:
                assert abs(ratio / 0.9 - 1) > error
                assert abs(ratio / 1.1 - 1) > error
    # each place has a second stage, and above the counties total-only groups
    assert seen == len(plan) + len(ABOVE)


def test_the_command_line(
    tmp_path: Path, params: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = params({"1_state": 1, "1_county": 0.5, "1_pr_state": 1, "1_pr_county": 0.5})
    call = ["safetab", "run", str(folder), str(DATA), str(tmp_path / "out"), "--no-ledger"]
    assert (
        command([*call, "--json", "--tabulation-suppression", "alone", "--threads", "1", "--memory", "1GB"])
        == 0
    )
    answer = json.loads(capsys.readouterr().out)
    assert answer["options"]["tabulation_suppression"] == "alone"
    assert answer["options"]["negative"] == "zero"
    assert set(answer["seconds"]) == {"counting", "noise", "post-processing", "writing", "all"}
    assert answer["rows"]["T01001"] > 0
    assert answer["not_private"] is False
    assert [entry["rho"] for entry in answer["ledger"]["entries"]] == ["3/2", "3/2"]
    assert command(call) == 2
    assert "exists and is not empty" in capsys.readouterr().err
    assert command([*call[:-2], str(tmp_path / "no"), "--no-ledger", "--negative", "keep"]) == 2
    assert "zero" in capsys.readouterr().err
    other = [*call[:-2], str(tmp_path / "two"), "--no-ledger", "--quiet"]
    assert command(other) == 0
    text = capsys.readouterr()
    assert "Spent on one person of the US pass, added or removed: rho 1.5." in text.out
    assert text.err == ""


def people_once(*_: object, **__: object) -> Any:
    raise AssertionError("the records were read again")


def test_an_interrupted_run_is_resumed_before_the_noise_and_never_after(
    tmp_path: Path, params: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = params({"2_state": 1, "2_tract": 1})
    options = Options(rehearsal=3, resume=True)
    run(folder, DATA, tmp_path / "whole", options=options)
    assert not list(tmp_path.glob(".discreet*"))  # nothing stays of a run that ended
    monkeypatch.setattr(counting, "FEW", 0)  # state by state
    kept = tmp_path / ".discreet-out.coded"
    once = GroupCounts._count

    def interrupted(self: GroupCounts, batch: Any, *rest: Any, **named: Any) -> None:
        if batch != (1,):
            raise KeyboardInterrupt
        once(self, batch, *rest, **named)

    with monkeypatch.context() as patch:
        patch.setattr(GroupCounts, "_count", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(folder, DATA, tmp_path / "other", options=replace(options, resume=False))
        assert not list(tmp_path.glob(".discreet*"))  # nobody asked to keep it
        with pytest.raises(KeyboardInterrupt):
            run(folder, DATA, tmp_path / "out", options=options)
    assert oct(kept.stat().st_mode)[-3:] == "700"
    assert not (tmp_path / "out").exists()
    with pytest.raises(InputError, match="with other parameters, data or version"):
        run(params({"2_state": 2}), DATA, tmp_path / "out", options=options)
    folder = params({"2_state": 1, "2_tract": 1})
    with monkeypatch.context() as patch:
        patch.setattr(records, "coded_cells", people_once)
        # noise is drawn: what is interrupted now is gone
        with patch.context() as inner:
            inner.setattr(mechanism, "drawn", interrupted_noise)
            with pytest.raises(KeyboardInterrupt):
                run(folder, DATA, tmp_path / "out", options=options)
        assert not kept.exists()
    with monkeypatch.context() as patch:
        patch.setattr(GroupCounts, "_count", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(folder, DATA, tmp_path / "out", options=options)
    monkeypatch.setattr(records, "coded_cells", people_once)
    run(folder, DATA, tmp_path / "out", options=options)
    assert not kept.exists()
    for name in ("t1", "t2"):
        files = [tmp_path / out / f"{name}.NOT-PRIVATE.csv" for out in ("whole", "out")]
        assert files[0].read_text() == files[1].read_text()


def test_a_run_that_is_interrupted_while_its_inputs_are_hashed_is_resumed(
    tmp_path: Path, params: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, options = params({"2_state": 1}), Options(rehearsal=3, resume=True)
    with monkeypatch.context() as patch:
        patch.setattr(GroupCounts, "origins", interrupted_noise)
        with pytest.raises(KeyboardInterrupt):
            run(folder, DATA, tmp_path / "out", options=options)
    note = tmp_path / ".discreet-out.coded" / "coded.json"
    assert note.is_file()
    with monkeypatch.context() as patch:
        patch.setattr(records, "coded_cells", people_once)
        run(folder, DATA, tmp_path / "out", options=options)
    assert not note.parent.exists()


def test_a_damaged_note_is_told(tmp_path: Path, params: Callable[..., Path]) -> None:
    kept = tmp_path / ".discreet-out.coded"
    kept.mkdir(mode=0o700)
    (kept / "coded.json").write_text("{")
    for _ in range(2):  # the directory is free again after the message
        with pytest.raises(InputError, match="remove it to start again"):
            run(params({"2_state": 1}), DATA, tmp_path / "out", options=Options(rehearsal=3, resume=True))


def interrupted_noise(*_: object) -> Any:
    raise KeyboardInterrupt


def test_progress_of_counting_rises_to_its_end(tmp_path: Path, params: Callable[..., Path]) -> None:
    seen: list[tuple[str, int, int]] = []
    run(params({"2_state": 1}), DATA, tmp_path / "out", progress=lambda *step: seen.append(step))
    counting = [done / total for stage, done, total in seen if stage == "counting"]
    assert counting == sorted(counting)
    assert counting[-1] == 1
    assert 0.5 in counting
