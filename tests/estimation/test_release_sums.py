"""Sums and weights from records to estimates: rounded exactly, clipped, estimated in real numbers."""

from __future__ import annotations

import csv
import json
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.accounting.privacy_loss import compose
from discreet.areas.layout import read_tree
from discreet.budget import RecordWeight, Release, Variable
from discreet.budget.noise_table import noise_lines
from discreet.cli import run
from discreet.disclosure import table_risk
from discreet.errors import InputError
from discreet.estimation import accuracy, estimate
from discreet.estimation.output.clipping import clipped
from discreet.ledger import create_ledger, ledger_cost, read_ledger
from discreet.measurement import measure, tabulate
from discreet.noise import DiscreteGaussian

TEXT = """
name = "work"
neighbours = "unbounded"
weight = { column = "w", at_most = 50, unit = "1/10" }
[attributes]
sex = ["f", "m"]
age = ["0-17", "18-64", "65+"]
[[levels]]
name = "Nation"
[levels.queries]
"total" = { variance = 90 }
"records by sex" = { weighted = false, variance = 4 }
"hours by sex" = { sum = "hours", at_most = 60, unit = "1/2", variance = 9000 }
"pay" = { sum = "pay", at_most = 9000, unit = 100, weighted = false, variance = 900 }
"hours above 60" = { sum = "hours", above = 60, at_most = 20, unit = "1/2", variance = 9000 }
"records with hours above 60" = { count = "hours", above = 60, unit = "1/2", variance = 4 }
"records with w above 50" = { count = "w", above = 50, unit = "1/10", variance = 4 }
"w above 50" = { sum = "w", above = 50, at_most = 1000, unit = "1/10", variance = 400 }
[[levels]]
name = "Region"
[levels.queries]
"detailed" = { variance = 90 }
"hours by age * sex" = { sum = "hours", at_most = 60, unit = "1/2", variance = 9000 }
"pay by age" = { sum = "pay", at_most = 9000, unit = 100, weighted = false, variance = 900 }
"""
RELEASE = Release.from_toml(TEXT)
UNITS = "unit,level,parent\nN,Nation,\nA,Region,N\nB,Region,N\nC,Region,N\n"
SEXES, AGES = ["f", "m"], ["0-17", "18-64", "65+"]
# ties, exponents, zeros behind and before the point, at and above the bounds
HOURS = [
    "0",
    "0.25",
    "0.75",
    "37.5",
    "59.75",
    "60",
    "60.24",
    "60.25",
    "60.75",
    "79.9",
    "80",
    "81",
    "1e3",
    "007",
]
WEIGHTS = [
    "0.05",
    "0.15",
    "0.25",
    "1",
    "1.0",
    "1e1",
    "49.95",
    "50",
    "50.04",
    "50.05",
    "51",
    "1e3",
    ".5",
    "3.",
]
PAYS = ["50", "150", "149.99", "250", "0", "8950", "9050", "1E6", "8949.9999"]


def records(seed: int, many: int = 400) -> list[dict[str, str]]:
    rng = np.random.default_rng(seed)
    columns = {"unit": ["A", "B", "C"], "sex": SEXES, "age": AGES, "hours": HOURS, "w": WEIGHTS, "pay": PAYS}
    return [{name: str(rng.choice(values)) for name, values in columns.items()} for _ in range(many)]


def units(text: str, unit: str, above: str, at_most: str) -> int:
    """Return whole units by decimal arithmetic, which knows nothing of fractions."""
    rounded = (Decimal(text) / Decimal(unit)).quantize(Decimal(1), rounding=ROUND_HALF_EVEN)
    return int(
        min(max(rounded - Decimal(above) / Decimal(unit), Decimal(0)), Decimal(at_most) / Decimal(unit))
    )


def expected(rows: list[dict[str, str]]) -> dict[tuple[str, str, str], int]:
    """Return every cell of every query by adding up records one by one."""
    found: dict[tuple[str, str, str], int] = {}
    labels = {
        "Nation": {"total": [], "records": ["sex"], "hours": ["sex"], "pay": [], "hours above 60": []},
        "Region": {"detailed": ["sex", "age"], "hours": ["age", "sex"], "pay": ["age"]},
    }
    labels["Nation"] |= {"records with hours above 60": [], "records with w above 50": [], "w above 50": []}
    for row in rows:
        w = units(row["w"], "0.1", "0", "50")
        adds = {
            "total": w,
            "detailed": w,
            "records": 1,
            "hours": w * units(row["hours"], "0.5", "0", "60"),
            "pay": units(row["pay"], "100", "0", "9000"),
            "hours above 60": w * units(row["hours"], "0.5", "60", "20"),
            "records with hours above 60": int(units(row["hours"], "0.5", "60", "1000") > 0),
            "records with w above 50": int(units(row["w"], "0.1", "50", "1000") > 0),
            "w above 50": units(row["w"], "0.1", "50", "1000"),
        }
        for level, unit in (("Nation", "N"), ("Region", row["unit"])):
            for name, split in labels[level].items():
                by = f" by {' * '.join(split)}" if split and name != "detailed" else ""
                cell = " * ".join(row[one] for one in split) or "all"
                key = (unit, f"{name}{by}", cell)
                found[key] = found.get(key, 0) + adds[name]
    return found


def written(rows: list[dict[str, str]], path: Path) -> Path:
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    (path.parent / "units.csv").write_text(UNITS)
    return path


def table(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sums_are_those_of_the_records(tmp_path: Path, seed: int) -> None:
    rows = records(seed)
    tabulate(
        RELEASE, records=written(rows, tmp_path / "r.csv"), units=tmp_path / "units.csv", out=tmp_path / "t"
    )
    found = {(one["unit"], one["query"], one["cell"]): one for one in table(tmp_path / "t/counts.csv")}
    due = expected(rows)
    assert {key: int(one["count"]) for key, one in found.items() if int(one["count"])} == {
        key: many for key, many in due.items() if many
    }
    said = {query: one["in_units_of"] for (_, query, _), one in found.items()}
    assert said["total"] == "0.1"
    assert said["hours by sex"] == "0.05"
    assert said["pay"] == "100"
    assert said["records by sex"] == "1"


def test_typed_columns_give_the_same(tmp_path: Path) -> None:
    """Numbers of a Parquet file or a data frame, floats among them, are what they are written as."""
    rows = records(4)
    texts = {name: [row[name] for row in rows] for name in rows[0]}
    numbers = {name: list(map(float, texts[name])) for name in ("hours", "w", "pay")}
    frame = pa.table({**texts, **numbers})
    areas = written(rows, tmp_path / "r.csv").parent / "units.csv"
    tabulate(RELEASE, records=tmp_path / "r.csv", units=areas, out=tmp_path / "one", format="csv")
    tabulate(RELEASE, records=frame, units=areas, out=tmp_path / "two", format="csv")
    assert (tmp_path / "one/counts.csv").read_text() == (tmp_path / "two/counts.csv").read_text()


def test_counts_that_were_tabulated_are_measured_alike(tmp_path: Path) -> None:
    """From records or from their table the same noise gives the same measurements, in the same units."""
    path = written(records(5), tmp_path / "r.csv")
    areas = tmp_path / "units.csv"
    tabulate(RELEASE, records=path, units=areas, out=tmp_path / "t")
    measure(RELEASE, None, records=path, units=areas, out=tmp_path / "one", rehearsal=9)
    measure(RELEASE, counts=tmp_path / "t/counts.csv", units=areas, out=tmp_path / "two", rehearsal=9)
    name = "measurements.NOT-PRIVATE.csv"
    assert (tmp_path / "one" / name).read_text() == (tmp_path / "two" / name).read_text()


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("hours", "-0.01", "a number below zero; what is summed is zero or more"),
        ("w", "-1e-3", "a number below zero; what is summed is zero or more"),
        ("pay", "much", "not a number"),
        ("hours", "", "a value is missing"),
    ],
)
def test_what_cannot_be_summed_is_refused_by_its_line(
    tmp_path: Path, column: str, value: str, words: str
) -> None:
    rows = records(6, 9)
    rows[4][column] = value
    path = written(rows, tmp_path / "r.csv")
    with pytest.raises(InputError) as refused:
        measure(RELEASE, None, records=path, units=tmp_path / "units.csv", out=tmp_path / "m")
    assert words in str(refused.value)
    assert f"line 6 of r.csv, field {column}" in str(refused.value)
    assert not value or value not in str(refused.value).replace("6", "")
    assert not (tmp_path / "m").exists()


QUIET = RELEASE.with_variances({"Nation": "1/10000", "Region": "1/10000"})


def estimated(tmp_path: Path, release: Release, rows: list[dict[str, str]], **asked: Any) -> Any:
    path = written(rows, tmp_path / "r.csv")
    measure(release, None, records=path, units=tmp_path / "units.csv", out=tmp_path / "m", rehearsal=1)
    return estimate(tmp_path / "m", out=tmp_path / "e", **asked)


def test_estimates_are_in_real_numbers(tmp_path: Path) -> None:
    """With next to no noise they are the sums themselves, in hours and weights, and so are means."""
    rows = records(7)
    asked = {"queries": ["sex", "hours by sex", "pay", "records"], "ratios": [("hours by sex", "sex")]}
    done = estimated(tmp_path, QUIET, rows, **asked)
    due = expected(rows)
    got = {
        (one["unit"], one["query"], one["cell"]): one
        for name in ("estimates", "contrasts")
        for one in table(tmp_path / f"e/{name}.NOT-PRIVATE.csv")
    }
    for sex in SEXES:
        hours, people = due["N", "hours by sex", sex] / 20, due["N", "records by sex", sex]
        weighted = sum(units(row["w"], "0.1", "0", "50") for row in rows if row["sex"] == sex) / 10
        assert float(got["N", "hours by sex", sex]["estimate"]) == pytest.approx(hours, rel=1e-9)
        assert float(got["N", "sex", sex]["estimate"]) == pytest.approx(weighted, rel=1e-9)
        ratio = got["N", "hours by sex / sex", sex]
        assert float(ratio["estimate"]) == pytest.approx(hours / weighted, rel=1e-9)
        assert float(ratio["lower95"]) <= hours / weighted + 1e-9
        assert people
    assert float(got["N", "records", "all"]["estimate"]) == pytest.approx(len(rows))
    assert float(got["N", "pay", "all"]["estimate"]) == pytest.approx(100 * due["N", "pay", "all"])
    one, two, three = done.clipped
    assert (three.column, three.records, three.amount, three.beyond) == ("pay", None, None, None)
    assert (one.column, one.is_weight, one.beyond) == ("w", True, 1050)
    assert one.records.estimate == pytest.approx(due["N", "records with w above 50", "all"])
    assert one.amount.estimate == pytest.approx(due["N", "w above 50", "all"] / 10)
    assert (two.column, two.is_weight, two.beyond) == ("hours", False, 80)
    assert two.amount.estimate == pytest.approx(due["N", "hours above 60", "all"] / 20)


def test_accuracy_is_in_real_numbers_too(tmp_path: Path) -> None:
    """The standard deviations that are foretold are those of the estimates."""
    estimated(tmp_path, RELEASE, records(8))
    areas = read_tree(tmp_path / "units.csv", RELEASE)
    levels = {level.name: level for level in accuracy(RELEASE, tree=areas).levels}
    for one in table(tmp_path / "e/estimates.NOT-PRIVATE.csv"):
        due = next(query for query in levels[one["level"]].queries if query.name == one["query"]).sd
        assert float(one["sd"] or "nan") == pytest.approx(due or float("nan"), rel=1e-6, nan_ok=True)
    foretold = {line.queries: line for line in noise_lines(RELEASE) if line.level == "Nation"}
    assert foretold[("pay",)].deviation == pytest.approx(100 * 30)
    assert foretold[("hours by sex",)].margin == pytest.approx(DiscreteGaussian(variance=9000).margin() / 20)


def test_nonnegative_estimates_and_exact_sums(tmp_path: Path) -> None:
    rows = records(9)
    path = written(rows, tmp_path / "r.csv")
    pairs = [("Nation", "pay"), ("Nation", "total")]
    asked = {"units": tmp_path / "units.csv", "post": "nonnegative", "invariants": pairs, "rehearsal": 1}
    measure(RELEASE, None, records=path, out=tmp_path / "m", **asked)
    got = {(o["unit"], o["query"], o["cell"]): o for o in table(tmp_path / "m/estimates.NOT-PRIVATE.csv")}
    noisy = {
        (o["unit"], o["query"], o["cell"]): o for o in table(tmp_path / "m/measurements.NOT-PRIVATE.csv")
    }
    key = ("N", "hours by sex", "f")
    assert float(got[key]["estimate"]) == pytest.approx(int(noisy[key]["value"]) / 20)
    assert float(got[key]["variance"]) == float(noisy[key]["variance"]) / 400  # to the last digit
    assert float(got["N", "pay", "all"]["estimate"]) == 100 * expected(rows)["N", "pay", "all"]
    held = {one["query"]: one for one in table(tmp_path / "m/invariants.NOT-PRIVATE.csv")}
    assert (held["pay"]["in_units_of"], held["total"]["in_units_of"]) == ("100", "0.1")
    estimate(tmp_path / "m", out=tmp_path / "e", queries=["pay"])
    one = next(o for o in table(tmp_path / "e/estimates.NOT-PRIVATE.csv") if o["unit"] == "N")
    assert (float(one["estimate"]), float(one["sd"])) == (100 * expected(rows)["N", "pay", "all"], 0.0)
    (tmp_path / "m/release.NOT-PRIVATE.toml").unlink()  # without the release, the column tells the unit
    name = "measurements.NOT-PRIVATE.csv"
    estimate(tmp_path / "m" / name, out=tmp_path / "a", units=tmp_path / "units.csv")
    alone = {(o["unit"], o["query"], o["cell"]): o for o in table(tmp_path / "a/estimates.NOT-PRIVATE.csv")}
    assert float(alone[key]["estimate"]) == pytest.approx(int(noisy[key]["value"]) / 20)


def test_whole_tables_of_each_variable(tmp_path: Path) -> None:
    """Counts and sums add up over areas and attributes, each by itself; what has no detail has no table."""
    text = TEXT.replace('"pay by age"', '"pay by detailed"')
    estimated(tmp_path, Release.from_toml(text), records(10), tables=True)
    rows = table(tmp_path / "e/estimates.NOT-PRIVATE.csv")
    found = {(one["unit"], one["query"], one["cell"]): one["table"] for one in rows}
    for query, step in (("detailed", 0.1), ("hours by age * sex", 0.05), ("pay by detailed", 100.0)):
        cells = {key: float(value) for key, value in found.items() if key[1] == query}
        assert all(value >= 0 for value in cells.values())
        assert all(round(value / step) == pytest.approx(value / step) for value in cells.values())
        for cell in {key[2] for key in cells}:
            parts = sum(cells[unit, query, cell] for unit in "ABC")
            assert parts == pytest.approx(cells["N", query, cell])
    total = sum(float(found["N", "detailed", f"{s} * {a}"]) for s in SEXES for a in AGES)
    assert float(found["N", "total", "all"]) == pytest.approx(total)
    assert found["N", "w above 50", "all"] == found["N", "hours above 60", "all"] == ""


@pytest.mark.slow
def test_several_releases(tmp_path: Path) -> None:
    """Releases of the same sums are one; of sums with other bounds they are refused, not mixed."""
    path, areas = written(records(11), tmp_path / "r.csv"), tmp_path / "units.csv"
    other = Release.from_toml(TEXT.replace('"hours above 60" =', '#"hours above 60" ='))
    wrong = Release.from_toml(TEXT.replace("at_most = 9000", "at_most = 8000"))
    unweighted = Release.from_toml(
        "\n".join(line for line in TEXT.split("\n") if not line.startswith(("weight", '"records by')))
    )
    for name, release in {"a": RELEASE, "b": other, "c": wrong, "d": unweighted}.items():
        measure(release, None, records=path, units=areas, out=tmp_path / name, rehearsal=ord(name))
    done = estimate([tmp_path / "a", tmp_path / "b"], out=tmp_path / "ab", queries=["hours", "total"])
    assert done.together
    sds = {}
    for folder in ("ab", "only"):
        if folder == "only":
            estimate(tmp_path / "a", out=tmp_path / "only", queries=["hours", "total"])
        rows = table(tmp_path / folder / "estimates.NOT-PRIVATE.csv")
        sds[folder] = [float(one["sd"]) for one in rows]
    assert np.allclose(np.array(sds["ab"]) * 2**0.5, sds["only"])
    with pytest.raises(InputError, match="add up different things in query 'pay'"):
        estimate([tmp_path / "a", tmp_path / "c"], out=tmp_path / "ac", queries=["pay"])
    with pytest.raises(InputError, match="add up different things in query 'total'"):
        estimate([tmp_path / "a", tmp_path / "d"], out=tmp_path / "ad", queries=["total"])
    with pytest.raises(InputError, match="adds up something else in the earlier release"):
        estimate(tmp_path / "a", since=tmp_path / "d", out=tmp_path / "s", queries=["total"])
    estimate(tmp_path / "a", since=tmp_path / "b", out=tmp_path / "s", queries=["hours"])
    change = table(tmp_path / "s/changes.NOT-PRIVATE.csv")[0]
    assert float(change["now"]) - float(change["before"]) == pytest.approx(float(change["difference"]))


def test_a_table_of_sums_says_its_unit(tmp_path: Path) -> None:
    estimated(tmp_path, RELEASE, records(12))
    pair = ("hours", "total")
    with pytest.raises(InputError, match="add up different things, which have no difference"):
        estimate(tmp_path / "m", out=tmp_path / "x", differences=[pair], queries=pair)
    with pytest.raises(InputError, match=r"has sums in it \(column in_units_of\)"):
        table_risk(tmp_path / "m/measurements.NOT-PRIVATE.csv", prior="1/2")
    rows = (tmp_path / "m/measurements.NOT-PRIVATE.csv").read_text()
    tabulate(RELEASE, records=tmp_path / "r.csv", units=tmp_path / "units.csv", out=tmp_path / "t")
    counts, areas = tmp_path / "t/counts.csv", tmp_path / "units.csv"
    kept = counts.read_text()
    counts.write_text(kept.replace('"0.05"', '"1"'))
    with pytest.raises(InputError, match="the unit is not the one that the release states"):
        measure(RELEASE, counts, units=areas, out=tmp_path / "x")
    counts.write_text("\n".join(line.rpartition(",")[0] for line in kept.splitlines()))
    with pytest.raises(InputError, match="must have a column in_units_of"):
        measure(RELEASE, counts, units=areas, out=tmp_path / "x")
    assert "in_units_of" in rows


def test_queries_of_one_variable_must_agree(tmp_path: Path) -> None:
    """Sums that do not add up are found, and counts are not compared with sums."""
    path = written(records(13), tmp_path / "r.csv")
    tabulate(RELEASE, records=path, units=tmp_path / "units.csv", out=tmp_path / "t")
    counts = tmp_path / "t/counts.csv"
    lines = counts.read_text().splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith('"N","Nation","hours by sex","f"'))
    fields = lines[at].split(",")
    fields[4] = str(int(fields[4]) + 1)
    counts.write_text("\n".join([*lines[:at], ",".join(fields), *lines[at + 1 :]]))
    release = Release.from_toml(TEXT.replace('"hours by age * sex"', '"hours by sex"'))
    text = counts.read_text().replace("hours by age * sex", "hours by sex")
    kept = [line for line in text.splitlines() if not ("hours by sex" in line and " * " in line)]
    for unit in "ABC":
        for sex in SEXES:
            mine = [line.split(",") for line in lines if f'"{unit}"' in line and "hours by age" in line]
            total = sum(int(one[4]) for one in mine if one[3].endswith(f' * {sex}"'))
            kept.append(f'"{unit}","Region","hours by sex","{sex}",{total},"0.05"')
    counts.write_text("\n".join(kept))
    with pytest.raises(InputError, match="not the sum of its children"):
        measure(release, counts, units=tmp_path / "units.csv", out=tmp_path / "x")


def test_a_streamed_table_gives_the_same(tmp_path: Path) -> None:
    path, areas = written(records(14), tmp_path / "r.csv"), tmp_path / "units.csv"
    measure(RELEASE, None, records=path, units=areas, out=tmp_path / "m", rehearsal=1, format="parquet")
    for streamed in (False, True):
        estimate(tmp_path / "m", out=tmp_path / str(streamed), streamed=streamed, format="csv")
    one, two = (table(tmp_path / name / "estimates.NOT-PRIVATE.csv") for name in ("False", "True"))
    for a, b in zip(one, two, strict=True):
        assert float(a["estimate"] or "nan") == pytest.approx(float(b["estimate"] or "nan"), nan_ok=True)


def test_the_command_line_says_what_clipping_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(records(15), tmp_path / "r.csv")
    (tmp_path / "work.toml").write_text(TEXT)
    asked = f"{tmp_path}/work.toml --records {tmp_path}/r.csv --units {tmp_path}/units.csv --out {tmp_path}/m"
    assert run(["measure", *asked.split(), "--rehearsal", "3", "--quiet"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Clipping weights (w) at 50 took away about " in said
    assert "What a record has above 1050 is not in it. Clipping hours at 60 took away" in said
    assert 'What clipping pay at 9000 takes away is not measured; the queries "records with pay above' in said
    assert run(["estimate", f"{tmp_path}/m", "--out", f"{tmp_path}/e", "--json", "--quiet"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [one["column"] for one in record["clipped"]] == ["w", "hours", "pay"]
    assert record["clipped"][2]["amount"] is None


def test_a_ledger_knows_what_sums_cost(tmp_path: Path) -> None:
    """Runs of weighted releases, with other bounds each, cost what their events cost together."""
    path, areas = written(records(16), tmp_path / "r.csv"), tmp_path / "units.csv"
    ledger = tmp_path / "discreet-ledger.json"
    create_ledger(ledger, [])
    wide = Release.from_toml(TEXT.replace("at_most = 50,", "at_most = 80,"))
    noise = {"Nation": 10**8, "Region": 10**8}
    releases = [release.with_variances(noise) for release in (RELEASE, wide)]
    for place, release in enumerate(releases):
        measure(release, None, records=path, units=areas, out=tmp_path / f"m{place}", spend_again=True)
    events = [event for one in releases for level in one.levels for event in level.events("unbounded")]
    found = ledger_cost(read_ledger(ledger), unit="person", neighbours="unbounded", delta=Fraction(1, 10**6))
    assert found.epsilon == pytest.approx(float(compose(events).epsilon(delta=Fraction(1, 10**6))), rel=1e-9)
    assert (
        sum(max(event.sensitivity for event in one.levels[1].events("unbounded")) for one in releases) > 1000
    )


def coverage(folder: Path, variances: tuple[int, int], seed: int, places: int) -> tuple[float, float]:
    """Return how often the 95 % interval of a mean holds the truth, and how often what is 15 % above it.

    The means are of areas that are alike, each with its noise: 200 people who work 7,000 hours.
    """
    text = 'name = "mean"\nneighbours = "bounded"\n[attributes]\nsex = ["f", "m"]\n[[levels]]\nname = "A"\n'
    text += f'[levels.queries]\n"total" = {{ variance = {variances[1]} }}\n'
    text += f'"hours" = {{ sum = "hours", at_most = 80, unit = "1/2", variance = {variances[0]} }}\n'
    names = [f"{place:05}" for place in range(places)]
    counts = pa.table(
        {
            "unit": names * 2,
            "level": ["A"] * 2 * places,
            "query": ["total"] * places + ["hours"] * places,
            "cell": ["all"] * 2 * places,
            "count": [200] * places + [14_000] * places,
            "in_units_of": ["1"] * places + ["0.5"] * places,
        }
    )
    measure(Release.from_toml(text), counts, out=folder / "m", rehearsal=seed, format="csv")
    estimate(folder / "m", out=folder / "e", ratios=[("hours", "total")])
    rows = table(folder / "e/contrasts.NOT-PRIVATE.csv")
    ends = np.array([[float(one[name] or "nan") for name in ("lower95", "upper95")] for one in rows])
    assert len(rows) == places
    held = [np.mean((ends[:, 0] <= mean) & (mean <= ends[:, 1])) for mean in (35.0, 35.0 * 1.15)]
    return float(held[0]), float(held[1])


LITTLE, MUCH = (900, 1), (90_000, 100)
"""Variances of hours, in half hours, and of people. With little noise one person weighs more than the noise
of the hours: where a table is so large that the law of each ratio is bounded and not computed, its intervals
hold the truth more often than they say."""


def test_intervals_of_means_cover(tmp_path: Path) -> None:
    """Of 200 intervals, 95 % within 5 % (false alarms: 1 in 500); a mean that is 15 % off is held less often.

    `test_intervals_of_many_means_cover` is sharper.
    """
    held, wrong = coverage(tmp_path, MUCH, 1, 200)
    assert 0.9 <= held <= 0.99
    assert wrong < held - 0.1


@pytest.mark.slow
@pytest.mark.parametrize("variances", [LITTLE, MUCH], ids=["little", "much"])
def test_intervals_of_many_means_cover(tmp_path: Path, variances: tuple[int, int]) -> None:
    """Four tables of 500 means, whose laws are exact: 95 % within 1.7 % (false alarms: 1 in 2,000).

    Twenty of them, with the seeds 100 to 119, held the truth in 95.03 % and 95.33 % of 10,000 intervals
    (17 November 2026), and what is 15 % off in 0 % and 85.6 %.
    """
    held = []
    for seed in range(4):
        (tmp_path / str(seed)).mkdir()
        held.append(coverage(tmp_path / str(seed), variances, 100 + seed, 500)[0])
    assert 0.933 <= np.mean(held) <= 0.967


def test_an_unweighted_amount_tells_nothing_of_what_clipping_takes_from_a_weighted_sum() -> None:
    weight = RecordWeight(column="w", at_most=50)
    hours = Variable(sum="hours", at_most=60, weight=weight)
    summed_weights = Variable(sum="w", at_most=20)
    asked: list[Variable] = []
    for weighted in (True, False):
        above = Variable(
            sum="hours", above=60, at_most=40, weighted=weighted, weight=weight if weighted else None
        )
        found = clipped([hours, above, summed_weights], lambda one: asked.append(one))
        assert asked == ([above] if weighted else [])
        assert [(one.column, one.is_weight, one.at_most, one.beyond) for one in found] == [
            ("w", True, 50, None),
            ("hours", False, 60, 100 if weighted else None),
            ("w", False, 20, None),
        ]
        asked.clear()


def test_a_table_of_sums_has_whole_numbers_of_units(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(records(3), tmp_path / "r.csv")
    (tmp_path / "work.toml").write_text(TEXT.replace('"pay by age"', '"pay by detailed"'))
    asked = f"{tmp_path}/work.toml --records {tmp_path}/r.csv --units {tmp_path}/units.csv --out {tmp_path}/m"
    assert run(["measure", *asked.split(), "--rehearsal", "3", "--post", "consistent", "--quiet"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The column table has whole numbers of units, none negative" in said
