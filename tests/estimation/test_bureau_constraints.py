"""The Bureau's files with all that is published beside measurements, against a dense constrained solve."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bureau_files import LEVELS, QUERIES, TEXT, Drawn, draw
from dense import matrix
from health import rows

from discreet.budget import Attributes, Recode, Release, Tabulation
from discreet.budget.attributes import Factor
from discreet.errors import InputError
from discreet.estimation import estimate
from discreet.estimation.input.bounds import Bounds

SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 16))]


def compare(found: Drawn, table: list[dict[str, str]]) -> int:
    """Compare each estimate and its standard deviation with the dense ones; count those determined."""
    x, covariance, free = found.dense()
    attributes, above, many = found.release.attributes, found.above, 0
    assert attributes is not None
    keys = {
        (code, LEVELS[level]): unit
        for unit, (code, level) in enumerate(zip(found.codes, found.level, strict=True))
    }
    lines: dict[tuple[int, str], Any] = {}
    labels = {query: list(attributes.tabulation(query).labels) for query in QUERIES}
    for row in table:
        unit, query = keys[row["unit"], row["level"]], row["query"]
        if (unit, query) not in lines:
            lines[unit, query] = np.kron(above[unit], matrix(attributes.tabulation(query)))
        line = lines[unit, query][labels[query].index(row["cell"])]
        if np.abs(line @ free).max(initial=0.0) > 1e-7:
            assert row["estimate"] == ""
            continue
        many += 1
        assert float(row["estimate"]) == pytest.approx(float(line @ x), rel=1e-8, abs=1e-7)
        assert float(row["sd"]) ** 2 == pytest.approx(float(line @ covariance @ line), rel=1e-6, abs=1e-8)
        if row["query"] == "hhgq":
            lower, upper = found.bounds[f"{found.level[unit]} {found.codes[unit]}"]
            kind = labels["hhgq"].index(row["cell"])
            assert lower[kind] <= float(row["lower95"]) <= float(row["upper95"]) <= upper[kind]
    return many


@pytest.mark.parametrize("seed", SEEDS)
def test_every_feature_at_once(tmp_path: Path, seed: int) -> None:
    """Partial equalities, zeros, fixed and open bounds, parts without a sign, codes that come again, levels
    that are missing, and one or two products."""
    found, paths, kept = draw(seed, tmp_path, products=1 + seed % 2)
    done = estimate(
        paths, tmp_path / "e", release=found.release, queries=QUERIES, format="csv", streamed=seed % 3 == 0
    )
    assert done.left_out == ()
    assert done.units == len(found.codes)
    assert compare(found, rows(tmp_path / "e" / "estimates.csv")) > 0
    manifest = json.loads((tmp_path / "e" / "manifest.json").read_text())
    if len(found.codes) > 5:
        assert manifest["bounds"]["areas"] > 0
    assert {row["level"] for row in rows(tmp_path / "e" / "units.csv")} == {LEVELS[number] for number in kept}


def test_what_bounds_say_about_other_tables() -> None:
    """The bounds of any cell against all small tables that keep them: the least and largest count."""
    people = Attributes(
        {"kind": ["a", "b", "c"], "sex": ["f", "m"]}, {"few": Recode("kind", {"ab": ["a", "b"], "c": ["c"]})}
    )
    table, lower, upper = people.tabulation("kind"), np.array([[1.0, 0.0, 2.0]]), np.array([[2.0, 1.0, 2.0]])
    some = Bounds(table, np.array([4]), lower, upper)
    fitting = [
        np.array(cells).reshape(3, 2)
        for cells in product(range(3), repeat=6)
        if np.all(np.array(cells).reshape(3, 2).sum(axis=1) >= lower[0])
        and np.all(np.array(cells).reshape(3, 2).sum(axis=1) <= upper[0])
    ]
    for query in ("total", "kind", "sex", "few", "few * sex", "detailed"):
        wanted = people.tabulation(query)
        counts = np.array([matrix(wanted) @ cells.ravel() for cells in fitting])
        low, high = some.of(wanted, np.array([3, 4]))
        assert low[1].tolist() == counts.min(axis=0).tolist()
        assert high[1].tolist() == counts.max(axis=0).tolist()
        assert np.isinf(high[0]).all()
        assert not low[0].any()
    # a table that does not hold everybody bounds nobody outside it
    part = Tabulation("a", (Factor(0, ((0,),), ("a",)),), people.sizes)
    alone = Bounds(part, np.array([4]), np.array([[1.0]]), np.array([[2.0]]))
    low, high = alone.of(people.tabulation("few"), np.array([4]))
    assert (low.tolist(), high.tolist()) == ([[1.0, 0.0]], [[np.inf, np.inf]])
    assert alone.of(people.tabulation("kind"), np.array([4]))[1].tolist() == [[2.0, np.inf, np.inf]]


def write_one(folder: Path, *, cap: int, least: int, sign: bool = True) -> tuple[Path, Release]:
    """One county with two tracts, noise of variance 400, and bounds on correctional facilities."""
    stated = Release.from_toml(
        TEXT
        + "".join(
            f'[[levels]]\nname = "{level}"\nqueries = {{ "hhgq" = {{ variance = 400 }} }}\n'
            for level in ("County", "Tract")
        )
    )
    codes = {"County": ["01"], "Tract": ["011", "012"]}
    for level, some in codes.items():
        base = folder / "nmf" / f"{level}.parquet"
        for name in ("DPQuery", "Constraint"):
            (base / name).mkdir(parents=True)
        asked = [
            {
                "geocode": code,
                "query_name": "hhgq_dpq",
                "query_shape": [4, 1, 1],
                "value": [500, 30, 0, 9],
                "variance": 400.0,
            }
            for code in some
        ]
        pq.write_table(pa.Table.from_pylist(asked), base / "DPQuery" / "part-0.parquet")
        held = [
            {
                "geocode": code,
                "query_name": f"hhgq_total_{end}_con",
                "value": [first, value * 2 // len(some), first, first],
            }
            | ({"sign": ">=" if end == "lb" else "<="} if sign else {})
            for code in some
            for end, first, value in (("lb", 0, least), ("ub", 99999, cap))
        ]
        pq.write_table(pa.Table.from_pylist(held), base / "Constraint" / "part-0.parquet")
    return folder / "nmf", stated


@pytest.mark.parametrize("sign", [False, True])
def test_intervals_are_cut_and_estimates_are_not(tmp_path: Path, sign: bool) -> None:
    """Without attribute columns the name says what is bounded, and without a sign how."""
    folder, stated = write_one(tmp_path, cap=25, least=20, sign=sign)
    (tmp_path / "areas.csv").write_text("area,unit\nboth,011\nboth,012\none,011\n")
    done = estimate(folder, tmp_path / "e", release=stated, format="csv", areas=tmp_path / "areas.csv")
    table = {(row["unit"], row["cell"]): row for row in rows(tmp_path / "e" / "estimates.csv")}

    def ends(row: dict[str, str]) -> tuple[str, str]:
        return row["lower95"], row["upper95"]

    assert ends(table["011", "correctional"]) == ("20", "25")
    assert ends(table["01", "correctional"]) == ("40", "50")
    assert float(table["011", "correctional"]["estimate"]) == pytest.approx(20.0)
    united = {(row["unit"], row["cell"]): row for row in rows(tmp_path / "e" / "areas.csv")}
    assert ends(united["one", "correctional"]) == ("20", "25")
    assert ends(united["both", "correctional"]) == ("40", "50")
    manifest = json.loads((tmp_path / "e" / "manifest.json").read_text())
    assert manifest["bounds"]["areas"] == 3
    assert manifest["bounds"]["estimates_with_cut_intervals"] == 3
    assert done.left_out == ()


def test_what_an_area_cannot_have_no_area_within_it_has(tmp_path: Path) -> None:
    folder, stated = write_one(tmp_path, cap=0, least=0)
    (folder / "Tract.parquet" / "Constraint" / "part-0.parquet").unlink()
    estimate(folder, tmp_path / "e", release=stated, format="csv")
    for row in rows(tmp_path / "e" / "estimates.csv"):
        assert (row["sd"] == "0") == (row["cell"] == "correctional")
        if row["cell"] == "correctional":
            assert (row["estimate"], row["upper95"]) == ("0", "0")


def test_bounds_that_contradict_each_other(tmp_path: Path) -> None:
    folder, stated = write_one(tmp_path, cap=19, least=20)
    with pytest.raises(
        InputError, match=r"'hhgq_total_\w+_con' holds two counts in one area of County.parquet, or a"
    ):
        estimate(folder, tmp_path / "e", release=stated)
    assert not (tmp_path / "e").exists()


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 4, 5)])
def test_tables_keep_bounds(seed: int, tmp_path: Path) -> None:
    """Whole numbers keep bounds of group quarters, and the manifest says so."""
    found, paths, _ = draw(seed, tmp_path)
    estimate(paths, tmp_path / "e", release=found.release, queries=["hhgq"], format="csv", tables=True)
    manifest = json.loads((tmp_path / "e" / "manifest.json").read_text())
    labels = ["household", "correctional", "juvenile", "nursing"]
    for row in rows(tmp_path / "e" / "estimates.csv"):
        lower, upper = found.bounds[f"{LEVELS.index(row['level'])} {row['unit']}"]
        kind = labels.index(row["cell"])
        assert lower[kind] <= int(row["table"]) <= upper[kind]
    assert manifest["bounds"]["table_cells_outside"] == 0
