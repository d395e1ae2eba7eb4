"""What a run writes: formats, marks, merged levels, exact totals, the same result for rows in any order."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from release_country import UNITS, Country

from discreet.budget import Level, Query, Release, Spine
from discreet.errors import InputError
from discreet.estimation import estimate
from discreet.ledger import create_ledger, read_ledger
from discreet.measurement import measure

Read = Callable[[Path], list[dict[str, Any]]]
KEYS = ("unit", "query", "cell")


def by_key(rows: list[dict[str, Any]], column: str) -> dict[tuple[str, ...], Any]:
    return {tuple(row[key] for key in KEYS): row[column] for row in rows}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_run_writes_every_cell_with_its_variance(
    release: Release, country: Country, table: Read, kind: str
) -> None:
    counts = getattr(country, kind)()
    done = measure(release, counts, country.folder / "out")
    rows = table(done.out / f"measurements.{kind}")
    assert len(rows) == len(country.rows) == done.cells
    assert list(rows[0]) == ["unit", "level", "query", "cell", "value", "variance"]
    assert set(by_key(rows, "value")) == set(by_key(country.rows, "count"))
    levels = {(row["unit"], row["query"]): round(row["variance"], 9) for row in rows}
    assert levels["N", "sex"] == 9
    assert levels["A1", "sex"] == 3.5
    # A merged unit asks the upper level's queries with both budgets: 1/4 + 1/5 becomes 1/4 + 1/5 + 1/6 + 2/7.
    ratio = (Fraction(1, 4) + Fraction(1, 5)) / (Fraction(9, 20) + Fraction(1, 6) + Fraction(2, 7))
    assert levels["B", "total"] == round(float(4 * ratio), 9)
    assert levels["B", "sex"] == round(float(5 * ratio), 9)
    units = table(done.out / f"units.{kind}")
    assert [tuple(row.values()) for row in units] == [*UNITS[:3], *UNITS[3:]]
    assert Release.from_toml((done.out / "release.toml").read_text()) == release
    assert {path.name for path in done.out.iterdir()} == set(done.files)
    assert not list(country.folder.glob(".discreet*"))
    assert "17 noisy cells of 6 areas" in str(done)


def test_the_manifest_states_the_noise_exactly(release: Release, country: Country) -> None:
    done = measure(release, country.csv(), country.folder / "out", post="consistent")
    manifest = json.loads((done.out / "manifest.json").read_text())
    noise = {(row["level"], row["query"]): row for row in manifest["noise"]}
    assert noise["County", "sex"]["variance_parameter"] == "7/2"
    assert noise["County", "total"]["margin_95"] == 5
    assert noise["County", "sex"]["cells"] == 2
    assert "best linear unbiased" in manifest["columns"]["estimates"]["estimate"]
    assert "over levels, each query by itself; not unbiased" in manifest["columns"]["estimates"]["table"]


def test_without_post_processing_the_noise_is_all_that_is_added(
    release: Release, country: Country, table: Read
) -> None:
    truth = by_key(country.rows, "count")
    values = []
    for number in range(3):
        done = measure(release, country.csv(), country.folder / f"out{number}")
        rows = by_key(table(done.out / "measurements.csv"), "value")
        assert max(abs(rows[key] - truth[key]) for key in truth) < 40  # beyond 13 standard deviations
        values.append(tuple(rows.values()))
    assert len(set(values)) == 3  # the same noise twice: less than one in 10^12


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_rehearsal_is_reproducible_and_marked_everywhere(
    release: Release, country: Country, table: Read, kind: str
) -> None:
    counts = getattr(country, kind)()
    first = measure(release, counts, country.folder / "a", post="consistent", rehearsal=7)
    random.Random(1).shuffle(country.rows)
    again = measure(
        release, getattr(country, kind)(f"b.{kind}"), country.folder / "b", post="consistent", rehearsal=7
    )
    other = measure(release, counts, country.folder / "c", post="consistent", rehearsal=8)
    for name in first.files:
        assert "NOT-PRIVATE" in name
    for path in first.out.iterdir():
        assert b"NOT PRIVATE" in path.read_bytes(), path.name
        assert path.read_bytes() == (again.out / path.name).read_bytes()
    name = f"measurements.NOT-PRIVATE.{kind}"
    assert all(row["not_private"].startswith("NOT PRIVATE") for row in table(first.out / name))
    assert (first.out / name).read_bytes() != (other.out / name).read_bytes()
    assert first.rho == 0
    assert Release.from_toml(next(first.out.glob("release.*")).read_text()) == release
    # What is made from it stays marked.
    done = estimate(first.out, country.folder / "d", tables=True)
    assert all(
        "NOT-PRIVATE" in name and b"NOT PRIVATE" in (done.out / name).read_bytes() for name in done.files
    )


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_estimate_gives_what_measure_gives(release: Release, country: Country, kind: str) -> None:
    counts = getattr(country, kind)()
    done = measure(release, counts, country.folder / "out", post="consistent")
    again = estimate(done.out, country.folder / "again", tables=True)
    alone = estimate(
        done.out / f"measurements.{kind}",
        country.folder / "alone",
        tables=True,
        release=release,
        units=done.out / f"units.{kind}",
    )
    for result in (again, alone):
        for name in (f"estimates.{kind}", f"units.{kind}"):
            assert (result.out / name).read_bytes() == (done.out / name).read_bytes()


def test_nonnegative_sets_what_is_below_zero_to_zero(release: Release, country: Country, table: Read) -> None:
    done = measure(release, country.csv(), country.folder / "out", post="nonnegative", rehearsal=4)
    noisy, found = (table(done.out / f"{name}.NOT-PRIVATE.csv") for name in ("measurements", "estimates"))
    values = by_key(noisy, "value")
    assert min(values.values()) < 0
    assert by_key(found, "estimate") == {key: max(0, value) for key, value in values.items()}
    assert by_key(found, "variance") == by_key(noisy, "variance")


def test_consistent_estimates_add_up_and_fill_in_sums(
    release: Release, country: Country, table: Read
) -> None:
    done = measure(release, country.csv(), country.folder / "out", post="consistent")
    rows = table(done.out / "estimates.csv")
    parents = {unit: parent for unit, _, parent in UNITS}
    # The nation has no query of the total, but its states have, so it is estimated too.
    assert len(rows) == len(country.rows) + 1
    for column in ("table", "estimate"):
        values = by_key(rows, column)
        for (unit, query, cell), value in values.items():
            children = [values[child, query, cell] for child, parent in parents.items() if parent == unit]
            if children:
                assert value == pytest.approx(sum(children), abs=1e-9)
    assert all(row["table"] >= 0 for row in rows)
    noisy = by_key(table(done.out / "measurements.csv"), "variance")
    variances = {key: sd**2 for key, sd in by_key(rows, "sd").items()}
    assert all(size <= noisy.get(key, 1e9) * (1 + 1e-12) for key, size in variances.items())
    assert sum(variances.values()) < 0.8 * sum(noisy.values())


def test_totals_can_be_held_exact(release: Release, country: Country, table: Read) -> None:
    pairs = [("State", "total")]
    for how in ("nonnegative", "consistent"):
        ledger = country.folder / f"{how}.json"
        create_ledger(ledger)
        done = measure(
            release, country.csv(), country.folder / how, post=how, invariants=pairs, ledger=ledger
        )
        rows, truth = table(done.out / "estimates.csv"), by_key(country.rows, "count")
        exact = {
            key: row
            for row in rows
            if (key := tuple(row[k] for k in KEYS))[:2] in {("A", "total"), ("B", "total")}
        }
        number = "estimate" if how == "nonnegative" else "table"
        assert {key: row[number] for key, row in exact.items()} == {key: truth[key] for key in exact}
        assert all(row["variance" if how == "nonnegative" else "sd"] == 0 for row in exact.values())
        kept = table(done.out / "invariants.csv")
        assert by_key(kept, "count") == {key: truth[key] for key in exact}
        assert read_ledger(ledger).entries[0].exact == (("State", "total"),)
        assert "outside the guarantee" in str(read_ledger(ledger))
    again = estimate(done.out, country.folder / "again", tables=True)
    assert (again.out / "estimates.csv").read_bytes() == (done.out / "estimates.csv").read_bytes()
    values = by_key(rows, "table")
    assert values["N", "total", "all"] == truth["A", "total", "all"] + truth["B", "total", "all"]
    assert sum(values[unit, "total", "all"] for unit in ("A1", "A2", "A3")) == truth["A", "total", "all"]
    # The measurements themselves are noisy all the same.
    assert set(by_key(table(done.out / "measurements.csv"), "value")) == set(truth)


TWO_QUERIES = """
name = "two"
neighbours = "bounded"
[[levels]]
name = "Nation"
queries = { sex = { variance = 1 }, total = { variance = 1 } }
[[levels]]
name = "State"
queries = { sex = { variance = 16 }, total = { variance = 1 } }
[[levels]]
name = "County"
queries = { sex = { variance = 9 }, total = { variance = 90 } }
"""


@pytest.mark.slow
def test_exact_totals_leave_other_queries_alone(tmp_path: Path, table: Read) -> None:
    """Without attributes queries are apart; the whole numbers of one were split with another's weights."""
    rows = ["unit,parent,level,query,cell,count"]

    def add(unit: str, parent: str, level: str, size: int) -> None:
        counts = (("sex,f", 4), ("sex,m", 6), ("total,all", 10))
        rows.extend(f"{unit},{parent},{level},{cell},{many * size}" for cell, many in counts)

    for nation in (f"N{number}" for number in range(30)):
        add(nation, "", "Nation", 5)
        for state, counties in ((f"{nation}A", 1), (f"{nation}B", 4)):
            add(state, nation, "State", counties)
            for number in range(counties):
                add(f"{state}{number}", state, "County", 1)
    counts = tmp_path / "counts.csv"
    counts.write_text("\n".join(rows) + "\n")
    found = []
    for name, pairs in (("free", []), ("held", [("Nation", "total")])):
        release = Release.from_toml(TWO_QUERIES)
        done = measure(release, counts, tmp_path / name, post="consistent", rehearsal=1, invariants=pairs)
        values = by_key(table(done.out / "estimates.NOT-PRIVATE.csv"), "table")
        found.append({key: value for key, value in values.items() if key[1] == "sex"})
    assert found[0] == found[1]


def test_declared_cells_and_units_complete_a_sparse_table(
    release: Release, country: Country, table: Read
) -> None:
    full = measure(release, country.csv(), country.folder / "full", rehearsal=3)
    cells = country.folder / "cells.csv"
    cells.write_text("query,cell\ntotal,all\nsex,f\nsex,m\n")
    country.rows = [row for row in country.rows if row["count"]]
    for row in country.rows:
        del row["parent"]
    sparse = country.csv("sparse.csv")
    units = full.out / "units.NOT-PRIVATE.csv"
    ledger = country.folder / "discreet-ledger.json"
    create_ledger(ledger)
    done = measure(release, sparse, country.folder / "out", rehearsal=3, units=units, cells=cells)
    name = "measurements.NOT-PRIVATE.csv"
    assert (done.out / name).read_bytes() == (full.out / name).read_bytes()
    assert [one["role"] for one in read_ledger(ledger).entries[0].inputs] == ["counts", "units", "cells"]


def test_areas_are_not_those_that_happen_to_have_people(release: Release, country: Country) -> None:
    """If rows are left out, an area may be: which there are is then a secret, and must be said otherwise."""
    cells = country.folder / "cells.csv"
    cells.write_text("query,cell\ntotal,all\nsex,f\nsex,m\n")
    measure(release, country.csv(), country.folder / "whole", cells=cells)
    country.rows = [row for row in country.rows if row["count"] > 0]
    with pytest.raises(
        InputError, match=r"rows are left out, and an area in which nobody is counted .* list"
    ):
        measure(release, country.csv("sparse.csv"), country.folder / "sparse", cells=cells)
    assert not (country.folder / "sparse").exists()


def test_the_order_of_rows_does_not_show(release: Release, country: Country, table: Read) -> None:
    country.rows.sort(key=lambda row: -row["count"])
    done = measure(release, country.csv(), country.folder / "out")
    units = [row["unit"] for row in table(done.out / "measurements.csv")]
    assert list(dict.fromkeys(units)) == [unit for unit, _, _ in UNITS]


def test_laplace_noise_and_a_single_level(country: Country, table: Read) -> None:
    level = Level(name="Nation", queries=[Query(name="sex", scale=2)])
    release = Release(name="flat", neighbours="unbounded", levels=[level])
    counts = country.folder / "flat.csv"
    counts.write_text('unit,level,query,cell,count\nx,Nation,sex,f,3\nx,Nation,sex,"m, or ""other""",0\n')
    done = measure(release, counts, country.folder / "out", post="consistent")
    rows = table(done.out / "estimates.csv")
    assert [row["cell"] for row in rows] == ["f", 'm, or "other"']
    assert rows[0]["sd"] ** 2 == pytest.approx(7.835, abs=0.01)
    assert float(done.rho) == pytest.approx(0.12245933120185457, rel=1e-12)


def test_other_formats_can_be_asked_for(release: Release, country: Country) -> None:
    done = measure(release, country.csv(), country.folder / "out", format="parquet")
    assert pq.read_table(done.out / "measurements.parquet").num_rows == done.cells
    with pytest.raises(InputError, match="csv or parquet"):
        measure(release, country.csv(), country.folder / "no", format="xlsx")


def test_units_may_come_as_integers_in_parquet(country: Country, table: Read) -> None:
    level = Level(name="Nation", queries=[Query(name="sex", variance=2)])
    release = Release(name="flat", neighbours="bounded", levels=[level])
    rows = [
        {"unit": u, "level": "Nation", "query": "sex", "cell": c, "count": 1} for u in (10, 9) for c in "fm"
    ]
    country.rows = rows
    done = measure(release, country.parquet(), country.folder / "out")
    assert [row["unit"] for row in table(done.out / "units.parquet")] == ["10", "9"]


def test_nothing_heavy_is_imported_early() -> None:
    code = "import sys, discreet.measurement; assert not {'pyarrow', 'duckdb'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 10**9))
def test_random_trees_come_back_consistent(tmp_path: Path, table: Read, seed: int) -> None:
    """Any tree with merged branches: estimates add up, are whole and non-negative, and come again."""
    rng = np.random.default_rng(seed)
    folder = tmp_path / str(seed)
    if folder.exists():
        return
    folder.mkdir()
    names = ["Top", "Mid", "Low"]
    levels = [Level(name=name, queries=[Query(name="q", variance=int(rng.integers(1, 9)))]) for name in names]
    spine = Spine(may_merge_up=["Mid", "Low"])
    release = Release(name="random", neighbours="bounded", levels=levels, spine=spine)
    rows: list[dict[str, Any]] = []
    leaves: dict[str, Any] = {}
    parents: dict[str, str] = {}

    def add(unit: str, parent: str, first: int) -> Any:
        last = int(rng.integers(first, 3))
        level = "+".join(names[first : last + 1])
        parents[unit] = parent
        if last == 2:
            total = leaves[unit] = rng.integers(0, 4, 2)
        else:
            total = sum(add(f"{unit}{i}", unit, last + 1) for i in range(int(rng.integers(1, 5))))
        for cell, count in zip("xy", total, strict=True):
            row = {"unit": unit, "parent": parent, "level": level, "query": "q", "cell": cell}
            rows.append(row | {"count": int(count)})
        return total

    for i in range(int(rng.integers(1, 4))):
        add(f"u{i}", "", 0)
    rng.shuffle(rows)  # type: ignore[arg-type]
    done = measure(release, _write(folder, rows), folder / "out", post="consistent")
    estimates = table(done.out / "estimates.csv")
    assert len(estimates) == len(rows)
    values = by_key(estimates, "table")
    assert min(values.values()) >= 0
    for (unit, query, cell), value in values.items():
        below = [values[child, query, cell] for child, parent in parents.items() if parent == unit]
        assert not below or sum(below) == value
    again = estimate(done.out, folder / "again", tables=True)
    assert (again.out / "estimates.csv").read_bytes() == (done.out / "estimates.csv").read_bytes()


def _write(folder: Path, rows: list[dict[str, Any]]) -> Path:
    country = Country(folder)
    country.rows = rows
    return country.csv()


def test_arrow_has_loaded_all_before_its_first_comparison() -> None:
    # PyArrow loads pandas on first use; an interrupt there, within a comparison, came out as a TypeError
    code = (
        "import sys\n"
        "from discreet.areas.output import arrow\n"
        "compute = arrow('compute')\n"
        "before = set(sys.modules)\n"
        "compute.equal(arrow().array(['a', '']), '')\n"
        "assert not {name for name in set(sys.modules) - before if name.startswith('pandas')}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
