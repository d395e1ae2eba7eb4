"""A tabulation from one file: an invented country, its two ladders, account, design, report and ledger."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.census.mechanism.records import count
from discreet.census.mechanism.specification import read_file, read_specification_text
from discreet.census.safetab.account import account, budget_release, exact_account
from discreet.census.safetab.curator import curate
from discreet.census.safetab.design import sizing
from discreet.census.safetab.run import postprocess, run
from discreet.census.safetab.run_plan import Options
from discreet.cli import run as command
from discreet.errors import InputError
from discreet.ledger.ledger_file import create_ledger, read_ledger
from discreet.records.engine import Engine, connect

EXAMPLE = Path(str(files("discreet.measurement") / "examples" / "birthplace"))
TEXT = (EXAMPLE / "specification.toml").read_text()
REGION = ("REGION_ID", "REGION_TYPE", "ITERATION_CODE")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A copy of the example that a test may change."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "birthplace"))


def people(folder: Path = EXAMPLE) -> list[dict[str, str]]:
    with (folder / "people.csv").open() as stream:
        return list(csv.DictReader(stream))


def counted(*columns: str) -> Counter[Any]:
    """The people of the example by region, group and columns, by hand."""
    with (EXAMPLE / "areas.csv").open() as stream:
        areas = {row["municipality"]: row for row in csv.DictReader(stream)}
    world = {"EU": "DE PL RO IT", "Europe": "UA TR", "Africa": "MA", "Asia": "SY IN CN", "Americas": "BR US"}
    part = {code: name for name, codes in {**world, "home": "NL"}.items() for code in codes.split()}
    found: Counter[Any] = Counter()
    for person in people():
        area, code = areas[person["municipality"]], person["country_of_birth"]
        for region in (("NL0", "COUNTRY"), (area["region"], "REGION"), (area["district"], "DISTRICT")):
            for group in {part[code], code} - {"NL"}:
                found[(*region, group, *(person[name] for name in columns))] += 1
    return found


def rows(out: Path, stem: str) -> list[dict[str, str]]:
    (path,) = out.glob(f"{stem}.*csv")
    with path.open() as stream:
        return list(csv.DictReader(stream, delimiter="|"))


def totals_of(out: Path, stem: str) -> dict[tuple[str, ...], int]:
    return {tuple(row[name] for name in REGION): int(row["COUNT"]) for row in rows(out, stem)}


def without_noise(place: Path) -> Path:
    """The specification with infinite budgets, and thresholds that all tables are used with."""
    lines = ["rho = inf" if line.startswith("rho = ") else line for line in TEXT.split("\n")]
    (place / "specification.toml").write_text("\n".join(lines))
    return place / "specification.toml"


def test_without_noise_every_number_is_a_count(place: Path, tmp_path: Path) -> None:
    run(without_noise(place), place, tmp_path / "out", options=Options(no_noise=True))
    totals, ages, tenures = counted(), counted("sex", "age"), counted("tenure")
    published = [line.split(",") for line in (place / "published.csv").read_text().splitlines()[1:]]
    by_age = totals_of(tmp_path / "out", "age-totals")
    assert {key: number for key, number in by_age.items() if number} == {
        key: number
        for key, number in totals.items()
        if key[1] != "DISTRICT" or (len(key[2]) == 2 and key[2] not in ("EU", "US"))
    }
    # tables are picked by the count itself: below 60, from 60 and from 200 on
    seen = set()
    for row in rows(tmp_path / "out", "age"):
        group = tuple(row[name] for name in REGION)
        low, high = (0, 110) if row["AGE"] == "*" else map(int, row["AGE"].split("-"))
        inside = sum(
            number
            for (*own, sex, age), number in ages.items()
            if tuple(own) == group and sex == row["SEX"] and low <= int(age) <= high
        )
        assert int(row["COUNT"]) == inside, row
        assert row["TABLE"] == ("A2" if totals[group] < 200 else "A3")
        seen.add(row["TABLE"])
    assert seen == {"A2", "A3"}
    # the other ladder has the groups of the published list, each with the table that its count there picks
    listed = {tuple(row[:3]): int(row[3]) for row in published}
    assert totals_of(tmp_path / "out", "tenure-totals") == {key: totals[key] for key in listed}
    parts = {"owner": ("outright", "mortgage"), "tenant": ("market", "reduced")}
    shown: Counter[Any] = Counter()
    for row in rows(tmp_path / "out", "tenure"):
        group = tuple(row[name] for name in REGION)
        wanted = parts.get(row["TENURE"], (row["TENURE"],))
        assert int(row["COUNT"]) == sum(tenures[(*group, one)] for one in wanted), row
        shown[group, row["TABLE"]] += 1
    assert shown == {
        (group, "H2" if number < 120 else "H3"): 2 if number < 120 else 6
        for group, number in listed.items()
        if number >= 40
    }


def test_both_engines_count_alike(engine: Engine) -> None:
    configuration, groups = read_file(EXAMPLE / "specification.toml")
    with count(EXAMPLE, configuration, groups, engine=engine) as counts:
        table = counts.totals("REGION", 3).to_pylist()
        names = counts.regions("REGION")
        codes = [one.code for one in groups.iterations]
        found = {(names[row["region"]], "REGION", codes[row["iteration"]]): row["count"] for row in table}
    assert found == {
        key: number
        for key, number in counted().items()
        if key[1] == "REGION" and len(key[2]) == 2 and key[2] != "EU"
    }


def test_a_sign_between_the_fields_that_is_stated(place: Path, duckdb_engine: Engine) -> None:
    """It must be the one in the file; if none is stated, any is read."""
    named = place / "specification.toml"
    text = (place / "people.csv").read_text()
    named.write_text(TEXT.replace('file = "people"', 'file = "people"\nseparator = ";"'))
    for sign, word in ((",", "commas"), ("|", "bars")):
        (place / "people.csv").write_text(text.replace(",", sign))
        with pytest.raises(InputError) as caught:
            count(place, *read_file(named), engine=duckdb_engine)
        assert str(caught.value) == (
            f"people.csv has {word} between the fields; the specification asks for semicolons"
        )
    (place / "people.csv").write_text(text.replace(",", ";"))
    with count(place, *read_file(named), engine=duckdb_engine):
        pass


@pytest.mark.slow
def test_the_noise_is_that_of_the_budgets(place: Path, tmp_path: Path) -> None:
    """Where an input picks the table, cells have noise s / (2 rho): 5/2. Half and twice that are rejected.

    Bounds of four standard errors: a false alarm for one set of seeds in 15,000.
    """
    errors, tenures = [], counted("tenure")
    parts = {"owner": ("outright", "mortgage"), "tenant": ("market", "reduced")}
    for seed in range(16):
        run(place / "specification.toml", place, tmp_path / str(seed), options=Options(rehearsal=seed))
        for row in rows(tmp_path / str(seed), "tenure"):
            if row["REGION_TYPE"] == "COUNTRY" and (row["TABLE"] == "H2" or row["TENURE"] not in parts):
                assert row["NOISE_VARIANCE"] == "2.5"
                group = tuple(row[name] for name in REGION)
                true = sum(tenures[(*group, one)] for one in parts.get(row["TENURE"], (row["TENURE"],)))
                errors.append(int(row["COUNT"]) - true)
    found, spread = float(np.mean(np.square(errors))), 4 * np.sqrt(2 / len(errors))
    assert abs(found - 2.5) < 2.5 * spread
    assert abs(found - 5) > 5 * spread
    assert abs(found - 1.25) > 1.25 * spread


def test_account_design_and_ledger_agree(place: Path, tmp_path: Path) -> None:
    path = place / "specification.toml"
    configuration, groups = read_file(path)
    (whole,) = account(path, deltas=["1e-6"]).passes
    assert whole.total == Fraction("1.4") == sum(one.budget for one in whole.mechanisms if one.budget)
    release = budget_release(configuration, groups, "all")
    assert (release.name, release.unit) == ("birthplace", "person")
    names = {query.name for level in release.levels for query in level.queries}
    assert names == {"stage 1", "stage 2", "cells"}
    exact = exact_account(configuration, groups, "all", "unbounded").at_delta([Fraction("1e-6")])[0].epsilon
    sized = sizing(configuration, groups, "all", delta="1e-6")
    assert sized.costs[0].epsilon == pytest.approx(exact, rel=1e-9)
    assert whole.costs[1].epsilon == pytest.approx(exact, rel=1e-9)
    assert [len(level.sizes) for level in sized.levels] == [3] * 7
    ledger = tmp_path / "ledger.json"
    create_ledger(ledger)
    run(path, place, tmp_path / "out", ledger=ledger)
    (entry,) = read_ledger(ledger).entries
    assert entry.release.rho == Fraction("1.4")
    assert {item["role"] for item in entry.inputs} == {
        "specification.toml",
        "published.csv",
        "blocks",
        "persons",
    }


def test_the_report_compares_with_the_truth(tmp_path: Path) -> None:
    path = EXAMPLE / "specification.toml"
    run(path, EXAMPLE, tmp_path / "out", options=Options(rehearsal=3))
    found = curate(path, EXAMPLE, tmp_path / "out")
    tables = {line.table for line in found.errors}
    assert tables == {"A1", "A2", "A3", "H1", "H2", "H3"}
    totals = sum(line.errors.numbers for line in found.errors if line.kind == "total")
    assert totals == len(rows(tmp_path / "out", "age-totals")) + len(rows(tmp_path / "out", "tenure-totals"))
    listed = [line for line in found.groups if line.level == 3]
    assert all(line.released == line.groups == line.expected for line in listed)


@pytest.mark.slow
def test_the_commands(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(place / "specification.toml")
    assert command(["safetab", "validate", path, str(place), "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["regions"] == {"COUNTRY": 1, "REGION": 2, "DISTRICT": 6}
    assert command(["safetab", "account", path, "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["passes"][0]["rho_unbounded"] == "7/5"
    assert command(["safetab", "design", path, "--levels", "countries", "--json", "--quiet"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["passes"]
    assert [level["geography"] for level in one["levels"]] == ["COUNTRY", "REGION", "DISTRICT"]
    out = str(tmp_path / "design.csv")
    assert command(["safetab", "design", path, "--out", out, "--quiet"]) == 2
    assert "2 ladders (age, tenure)" in capsys.readouterr().err
    assert command(["safetab", "design", path, "--levels", "countries", "--out", out, "--quiet"]) == 0
    capsys.readouterr()
    assert "size_3_ages" in Path(out).read_text().splitlines()[0]
    assert (
        command(["safetab", "run", path, str(place), str(tmp_path / "o"), "--rehearsal", "1", "--quiet"]) == 0
    )
    assert command(["safetab", "report", path, str(place), str(tmp_path / "o"), "--json", "--quiet"]) == 0


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_ordinary_records_are_read_whatever_stands_between(place: Path, separator: str) -> None:
    text = (place / "people.csv").read_text()
    (place / "people.csv").write_bytes(b"\xef\xbb\xbf" + text.replace(",", separator).encode())
    configuration, groups = read_file(place / "specification.toml")
    with (
        connect("duckdb", memory="1GB") as engine,
        count(place, configuration, groups, engine=engine) as counts,
    ):
        assert sum(counts.totals("COUNTRY", 1).column("count").to_pylist()) == 3000


def test_what_is_wrong_with_records_is_told_by_line_and_never_by_value(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (place / "people.csv").read_text().splitlines()
    lines[4] = "NL999,DE,f,33,market"
    lines[7] = "NL111,Atlantis,f,33,market"
    lines[9] = "NL111,DE,x,111,castle"
    (place / "people.csv").write_text("\n".join(lines) + "\n")
    assert command(["safetab", "validate", str(place / "specification.toml"), str(place), "--quiet"]) == 2
    told = " ".join(capsys.readouterr().out.split())
    for text in (
        "a municipality is not in areas (line 5 of people.csv, field municipality)",
        "a code is not in the specification (line 8 of people.csv, field country_of_birth)",
        "sex is not one of f, m (line 10 of people.csv, field sex)",
        "age is not a whole number from 0 to 110 (line 10 of people.csv, field age)",
        "tenure is not one of outright, mortgage, market, reduced (line 10 of people.csv, field tenure)",
    ):
        assert text in told, told
    assert not any(value in told for value in ("NL999", "Atlantis", "castle", "111"))


WRONG: dict[str, tuple[Callable[[str], str], str]] = {
    "ladder": (lambda text: text.replace('ladder = "tenure"', 'ladder = "tenures"'), 'did you mean "tenure"'),
    "code": (lambda text: text.replace('codes = ["MA"]', 'codes = ["MO"]', 1), "is not among codes"),
    "thresholds": (lambda text: text.replace("[40, 120]", "[40]", 1), "exactly two thresholds"),
    "key": (lambda text: text.replace("below = true", "under = true"), "unknown key 'under'"),
    "partition": (
        lambda text: text.replace('tenant = ["market", "reduced"] } }', 'tenant = ["market"] } }', 1),
        "once",
    ),
    "starts": (lambda text: text.replace("[0, 15, 65]", "[0, 16, 65]"), "it must rise from 0, among"),
    "level": (lambda text: text.replace("level = 3\nrho = 0.2", "level = 4\nrho = 0.2"), "from 1 to 3"),
    "input": (lambda text: text.replace('input = "published.csv"\n', ""), "names an input file"),
    "folder": (
        lambda text: text.replace('totals = "tenure-totals"\n', ""),
        "or a folder in which each table",
    ),
    "folder's total": (
        lambda text: text.replace('totals = "tenure-totals"\n', 'totals = "t"\ntotal = "0"\n'),
        "total names the row of the total",
    ),
    "a file outside": (
        lambda text: text.replace('totals = "tenure-totals"', 'totals = "../tenure"'),
        "it must be of letters, digits",
    ),
    "budget": (lambda text: text.replace("rho = 0.3", "rho = -1"), "above 0"),
    "toml": (lambda text: text + "[", "not valid TOML"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_specification_is_refused_with_its_line(name: str) -> None:
    change, told = WRONG[name]
    assert change(TEXT) != TEXT
    with pytest.raises(InputError) as caught:
        read_specification_text(change(TEXT), "births.toml")
    assert told in str(caught.value)
    assert "of births.toml" in str(caught.value)


def in_a_folder(place: Path, *, others: str = "") -> Path:
    """The specification with the tables of the second ladder in a folder, and all budgets infinite."""
    path = without_noise(place)
    files = 'totals = "tenure-totals"\ncells = "tenure"\n'
    assert files in path.read_text()
    path.write_text(path.read_text().replace(files, f'folder = "tenure"\ntotal = "all"\n{others}'))
    return path


def test_each_table_may_be_a_folder_of_its_own_with_its_total(place: Path, tmp_path: Path) -> None:
    done = run(in_a_folder(place), place, tmp_path / "out", options=Options(no_noise=True))
    totals, tenures = counted(), counted("tenure")
    listed = [line.split(",") for line in (place / "published.csv").read_text().splitlines()[1:]]
    parts = {"owner": ("outright", "mortgage"), "tenant": ("market", "reduced")}
    shown = {
        "H1": ["all"],
        "H2": ["all", "owner", "tenant"],
        # a sum comes before what it adds up
        "H3": ["all", "owner", "outright", "mortgage", "tenant", "market", "reduced"],
    }
    groups = []
    for table, labels in shown.items():
        found = rows(tmp_path / "out" / "tenure" / table, "all")
        assert done.rows[table] == len(found)
        for row, label in zip(found, labels * (len(found) // len(labels)), strict=True):
            group = tuple(row[name] for name in REGION)
            wanted = parts.get(label, (label,))
            due = totals[group] if label == "all" else sum(tenures[(*group, one)] for one in wanted)
            assert (row["TENURE"], row["TABLE"], int(row["COUNT"])) == (label, table, due)
            groups += [(*group, table)] * (label == "all")
    steps = {"COUNTRY": (40, 120), "REGION": (40, 120)}
    picks = [(*one[:3], f"H{1 + sum(step <= int(one[3]) for step in steps[one[1]])}") for one in listed]
    assert sorted(groups) == sorted(picks)
    # what was written is read back
    again = postprocess(
        tmp_path / "out", tmp_path / "post", params=place / "specification.toml", negative="zero"
    )
    assert again.rows == done.rows


def test_rows_of_a_list_that_are_of_nothing_known_may_be_left_out(place: Path, tmp_path: Path) -> None:
    with (place / "published.csv").open("a") as stream:
        stream.write("NL9,REGION,DE,50\nNL1,REGION,XX,50\n")
    with pytest.raises(InputError, match=r"published\.csv has an? (region|iteration)"):
        run(in_a_folder(place), place, tmp_path / "out", options=Options(no_noise=True))
    path = in_a_folder(place, others='others = "left out"\n')
    run(path, place, tmp_path / "out", options=Options(no_noise=True))
    found = rows(tmp_path / "out" / "tenure" / "H2", "all")
    assert found
    assert not {row["REGION_ID"] for row in found} & {"NL9"}


def test_a_published_list_with_a_strange_region_is_refused(place: Path, tmp_path: Path) -> None:
    with (place / "published.csv").open("a") as stream:
        stream.write("NL9,REGION,DE,50\n")
    with pytest.raises(InputError, match=r"published\.csv has a region that is not in areas"):
        run(place / "specification.toml", place, tmp_path / "out", options=Options(rehearsal=1))
    assert not (tmp_path / "out").exists()
