"""Noisy measurements in the layout of the Census Bureau: read as they are, by part, or refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from health import RELEASE, TEXT, Dense, indicator, rows, truth

from discreet.cli import run
from discreet.errors import InputError
from discreet.estimation import estimate

CODES = ["0", "01", "02", "03", "0101", "0102", "0201", "0202", "0203", "0301"]
LEVELS = ["Nation", "Region", "District"]
DEPTH = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])


def ordered(query: str) -> tuple[list[str], Any]:
    """The cells of a query in the order of the attributes, which is that of the files."""
    assert RELEASE.attributes is not None
    table = RELEASE.attributes.tabulation(query)
    labels, matrix = indicator(RELEASE.attributes, query)
    if not table.factors:
        return labels, matrix
    axes = np.argsort([factor.attribute for factor in table.factors])
    turn = np.arange(table.cells).reshape(table.shape).transpose(axes).ravel()
    return [labels[k] for k in turn], matrix[turn]


def write(folder: Path, *, parts: int = 2, constraints: bool = False, shape: Any = None) -> tuple[Path, Path]:
    """Write files by level, shuffled and in parts, and the same as a noisy table for a dense solve."""
    rng = np.random.default_rng(4)
    cells = truth().reshape(10, 6)
    plain = []
    for depth, level in enumerate(RELEASE.levels):
        found = []
        for unit in np.flatnonzero(depth == DEPTH):
            for query in level.queries:
                labels, matrix = ordered(query.name)
                assert query.variance is not None
                size = float(query.variance)
                values = matrix @ cells[unit] + np.rint(rng.normal(0, size**0.5, len(labels)))
                table = RELEASE.attributes.tabulation(query.name)  # type: ignore[union-attr]
                found.append(
                    {
                        "geocode": CODES[unit],
                        "query_name": f"{query.name}_dpq",
                        "query_shape": shape or [len(groups) for groups in table.by_attribute],
                        "value": values.astype(int).tolist(),
                        "variance": size,
                    }
                )
                plain += [
                    (CODES[unit], query.name, cell, int(value), size)
                    for cell, value in zip(labels, values, strict=True)
                ]
        rng.shuffle(found)  # type: ignore[arg-type]
        place = folder / "nmf" / f"{level.name}.parquet"
        (place / "dpqueries").mkdir(parents=True)
        for part in range(parts):
            some = pa.Table.from_pylist(found[part::parts])
            if some.num_rows:
                pq.write_table(some, place / "dpqueries" / f"part-{part}.snappy.parquet", row_group_size=3)
        (place / "dpqueries" / "_SUCCESS").touch()
        if constraints and level.name == "Region":
            (place / "constraints").mkdir()
            held = [
                {"geocode": CODES[u], "query_name": "total_con", "value": [int(cells[u].sum())], "sign": "="}
                for u in (1, 2, 3)
            ]
            held += [{"geocode": "01", "query_name": "sex_ub", "value": [90, 90], "sign": "<="}]
            held += [{"geocode": "01", "query_name": "height_ub", "value": [90, 90], "sign": "<="}]
            pq.write_table(pa.Table.from_pylist(held), place / "constraints" / "part-0.parquet")
    noisy = folder / "noisy.csv"
    with noisy.open("w", newline="") as stream:
        csv.writer(stream).writerows([("unit", "query", "cell", "value", "variance"), *plain])
    return folder / "nmf", noisy


def compare(out: Path, dense: Dense, names: list[str]) -> None:
    found = rows(out / "estimates.csv")
    assert {row["unit"] for row in found} == set(names)
    for row in found:
        value, variance = dense.answer([row["unit"]], row["query"], row["cell"])
        assert float(row["estimate"]) == pytest.approx(value, rel=1e-8, abs=1e-8)
        assert float(row["sd"]) ** 2 == pytest.approx(variance, rel=1e-6, abs=1e-9)


def stated(folder: Path) -> Path:
    """The release as a file."""
    file = folder / "health.toml"
    file.write_text(TEXT)
    return file


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("constraints", [False, True])
def test_equal_to_a_dense_solve(tmp_path: Path, constraints: bool, streamed: bool) -> None:
    folder, noisy = write(tmp_path, constraints=constraints)
    exact: list[Any] = []
    if constraints:
        totals = truth().sum(axis=(1, 2))
        exact = [(CODES[unit], "total", [totals[unit]]) for unit in (1, 2, 3)]
        # a total of zero is a total of nobody
        exact += [(CODES[unit], "detailed", [0] * 6) for unit in (1, 2, 3) if not totals[unit]]
    done = estimate(
        folder,
        tmp_path / "e",
        release=RELEASE,
        queries=["total", "sex", "age * sex"],
        format="csv",
        streamed=streamed,
    )
    assert done.left_out == (("constraint 'height_ub' (<=) at Region, 1 times",) if constraints else ())
    # the files state parameters; the true variance of 1/2 is smaller by 0.2 %
    text = noisy.read_text()
    small = next(law for (level, query), law in _laws().items() if (level, query) == ("Region", "total"))
    lines = [
        line.replace(",0.5", f",{small.true_variance()!r}") if line.endswith(",0.5") else line
        for line in text.splitlines()
    ]
    noisy.write_text("\n".join(lines) + "\n")
    assert RELEASE.attributes is not None
    dense = Dense(RELEASE.attributes, [noisy], exact, names=CODES)
    compare(tmp_path / "e", dense, CODES)


def _laws() -> Any:
    from discreet.budget.noise_table import noises

    return noises(RELEASE)


def test_a_part_of_the_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Region 02 with its districts, from its own measurements: what lies outside is not looked at."""
    folder, noisy = write(tmp_path)
    call = [
        "estimate",
        str(folder),
        "--release",
        str(stated(tmp_path)),
        "--within",
        "02",
        "--format",
        "csv",
    ]
    assert run([*call, "--query", "age", "--out", str(tmp_path / "e")]) == 0
    names = ["02", "0201", "0202", "0203"]
    assert RELEASE.attributes is not None
    small = noisy.read_text().replace(",0.5\n", f",{_laws()['Region', 'total'].true_variance()!r}\n")
    kept = [line for line in small.splitlines() if line.startswith(("unit", "02"))]
    noisy.write_text("\n".join(kept) + "\n")
    dense = Dense(RELEASE.attributes, [noisy], parent=np.array([-1, 0, 0, 0]), names=names)
    compare(tmp_path / "e", dense, names)
    assert run([*call[:5], "07", "--out", str(tmp_path / "x")]) == 2
    assert "no area whose geocode begins with '07'" in capsys.readouterr().err


def test_one_file_a_level(tmp_path: Path) -> None:
    """A level may also be a single file."""
    folder, _ = write(tmp_path, parts=1)
    flat = tmp_path / "flat"
    flat.mkdir()
    for level in LEVELS:
        (folder / f"{level}.parquet" / "dpqueries" / "part-0.snappy.parquet").rename(
            flat / f"{level}.parquet"
        )
    done = estimate(flat, tmp_path / "e", release=RELEASE, format="csv")
    assert done.units == 10


def change(folder: Path, level: str, **columns: Any) -> None:
    for file in (folder / f"{level}.parquet" / "dpqueries").glob("*.parquet"):
        table = pq.read_table(file)
        for name, value in columns.items():
            place = table.column_names.index(name)
            if value is None:
                table = table.remove_column(place)
            else:
                new = [value(one) for one in table.column(name).to_pylist()]
                table = table.set_column(place, name, pa.array(new, table.schema.field(name).type))
        pq.write_table(table, file)


@pytest.mark.parametrize(
    ("level", "columns", "said"),
    [
        ("Region", {"variance": None}, "has no column variance; it must have geocode, query_name"),
        ("Region", {"variance": lambda _: 0.0}, "is not above zero"),
        (
            "Region",
            {"query_name": lambda one: one.replace("adult", "height")},
            "which is none of the release's",
        ),
        ("Region", {"query_name": lambda _: "total_dpq"}, "occurs twice for one area of Region.parquet"),
        ("Region", {"value": lambda one: one[1:] if len(one) > 1 else one}, "the attributes give it"),
        ("Region", {"query_shape": lambda one: one[::-1]}, "has shape"),
        ("District", {"geocode": lambda one: f"9{one}"}, "lies in no area of Region.parquet"),
    ],
)
def test_refusals(tmp_path: Path, level: str, columns: dict[str, Any], said: str) -> None:
    folder, _ = write(tmp_path)
    change(folder, level, **columns)
    with pytest.raises(InputError) as caught:
        estimate(folder, tmp_path / "x", release=RELEASE)
    assert said in str(caught.value)
    assert not (tmp_path / "x").exists()


def test_all_parts_are_looked_at_in_one_round(tmp_path: Path) -> None:
    folder, _ = write(tmp_path)
    change(folder, "Region", variance=None, query_shape=None)
    for file in (folder / "District.parquet").rglob("*.parquet"):
        table = pq.read_table(file)
        place = table.column_names.index("variance")
        texts = table.column("variance").cast(pa.string())
        pq.write_table(table.set_column(place, "variance", texts), file)
    (folder / "Nation.parquet" / "part-9.parquet").write_bytes(b"PAR1" + b"31415" * 40)
    with pytest.raises(InputError) as caught:
        estimate(folder, tmp_path / "x", release=RELEASE)
    said = str(caught.value)
    assert "part-9.parquet cannot be read as Parquet: it is damaged, or something else" in said
    assert "has no column query_shape or variance; it must have geocode, query_name" in said
    assert "is of type string; a column of numbers is needed" in said
    assert "31415" not in said


def test_a_part_that_is_damaged_within(tmp_path: Path) -> None:
    folder, _ = write(tmp_path)
    for file in (folder / "Region.parquet" / "dpqueries").glob("*.parquet"):
        content = bytearray(file.read_bytes())
        content[4 : len(content) // 3] = b"\xff" * (len(content) // 3 - 4)
        file.write_bytes(content)
    with pytest.raises(InputError, match=r"Region.parquet cannot be read as Parquet: it is damaged"):
        estimate(folder, tmp_path / "x", release=RELEASE)


def test_what_is_needed(tmp_path: Path) -> None:
    folder, _ = write(tmp_path)
    with pytest.raises(InputError, match="name the release"):
        estimate(folder, tmp_path / "x")
    (folder / "Block.parquet").mkdir()
    with pytest.raises(InputError, match=r"Block.parquet, which is no level of release 'health'"):
        estimate(folder, tmp_path / "x", release=RELEASE)


def test_an_area_without_areas_below_it(tmp_path: Path) -> None:
    """Region 03 has no district: its own measurements are all that is known of it."""
    folder, noisy = write(tmp_path)
    change(folder, "District", geocode=lambda one: one.replace("0301", "0209"))
    done = estimate(folder, tmp_path / "e", release=RELEASE, format="csv")
    assert done.units == 10
    manifest = json.loads((tmp_path / "e" / "manifest.json").read_text())
    assert manifest["source"]["areas_without_areas_below"] == {"Region": 1}
    assert RELEASE.attributes is not None
    text = noisy.read_text().replace("0301,", "0209,")
    noisy.write_text(text.replace(",0.5\n", f",{_laws()['Region', 'total'].true_variance()!r}\n"))
    parent = np.array([-1, 0, 0, 0, 1, 1, 2, 2, 2, 2])
    names = [*CODES[:-1], "0209"]
    compare(tmp_path / "e", Dense(RELEASE.attributes, [noisy], parent=parent, names=names), names)


def test_levels_that_are_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One level alone, as a path, as a directory, or two named one by one: what is there is used."""
    folder, noisy = write(tmp_path)
    assert RELEASE.attributes is not None
    text = noisy.read_text().replace(",0.5\n", f",{_laws()['Region', 'total'].true_variance()!r}\n")
    lines = text.splitlines()

    def dense(units: list[int], parent: list[int]) -> Dense:
        names = [CODES[unit] for unit in units]
        kept = [line for line in lines if line.startswith("unit") or line.split(",")[0] in names]
        noisy.write_text("\n".join(kept) + "\n")
        assert RELEASE.attributes is not None
        return Dense(RELEASE.attributes, [noisy], parent=np.array(parent), names=names)

    alone = dense([1, 2, 3], [-1, -1, -1])
    call = ["estimate", str(folder / "Region.parquet"), "--release", str(stated(tmp_path)), "--format", "csv"]
    assert run([*call, "--out", str(tmp_path / "a"), "--query", "age"]) == 0
    compare(tmp_path / "a", alone, ["01", "02", "03"])
    done = estimate(folder / "Region.parquet", tmp_path / "s", release=RELEASE, streamed=True, format="csv")
    compare(tmp_path / "s", alone, ["01", "02", "03"])
    assert done.fit.degrees_of_freedom == pytest.approx(3 * (1 + 2 + 6 - 6))
    both = [folder / "District.parquet", folder / "Nation.parquet"]
    done = estimate(both, tmp_path / "b", release=RELEASE, queries=["sex"], format="csv")
    assert done.releases == 1
    compare(
        tmp_path / "b",
        dense([0, 4, 5, 6, 7, 8, 9], [-1, 0, 0, 0, 0, 0, 0]),
        [CODES[unit] for unit in (0, 4, 5, 6, 7, 8, 9)],
    )
    capsys.readouterr()
    (folder / "Region.parquet").rename(folder / "Parish.parquet")
    assert run(["estimate", str(folder / "Parish.parquet"), *call[2:], "--out", str(tmp_path / "c")]) == 2
    assert "Parish.parquet, which is no level of release 'health'" in " ".join(
        capsys.readouterr().err.split()
    )


def test_exact_counts_beside_the_files(tmp_path: Path) -> None:
    """State totals are published elsewhere: they come as a table."""
    folder, noisy = write(tmp_path)
    totals = truth().sum(axis=(1, 2))
    (tmp_path / "held.csv").write_text(
        "unit,query,cell,count\n" + "".join(f"{CODES[unit]},total,all,{totals[unit]}\n" for unit in (1, 2))
    )
    estimate(folder, tmp_path / "e", release=RELEASE, invariants=tmp_path / "held.csv", format="csv")
    assert RELEASE.attributes is not None
    noisy.write_text(
        noisy.read_text().replace(",0.5\n", f",{_laws()['Region', 'total'].true_variance()!r}\n")
    )
    exact = [(CODES[unit], "total", [totals[unit]]) for unit in (1, 2)]
    compare(tmp_path / "e", Dense(RELEASE.attributes, [noisy], exact, names=CODES), CODES)


def test_constraints_that_contradict_each_other(tmp_path: Path) -> None:
    folder, _ = write(tmp_path, constraints=True)
    held = [{"geocode": "01", "query_name": "total_con", "value": [1], "sign": "="}]
    more = folder / "Region.parquet" / "constraints" / "part-1.parquet"
    pq.write_table(pa.Table.from_pylist(held), more)
    with pytest.raises(InputError, match=r"'total_con' holds two counts in one area of Region.parquet"):
        estimate(folder, tmp_path / "out", release=RELEASE)
    assert not (tmp_path / "out").exists()
