"""Several releases of the same people, and what is compared: all of it against dense solutions."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from health import NAMES, RELEASE, TEXT, Dense, records, rows, truth

from discreet.budget import Attributes, Level, Release, load
from discreet.cli import run
from discreet.errors import InputError
from discreet.estimation import estimate
from discreet.measurement import measure

SECOND = """
name = "second"
neighbours = "bounded"
[attributes]
sex = ["f", "m"]
age = ["0-17", "18-64", "65+"]
[attributes.old]
of = "age"
groups = { no = ["0-17", "18-64"], yes = ["65+"] }
[[levels]]
name = "Nation"
queries = { "total" = { variance = 2 }, "old * sex" = { variance = 3 } }
[[levels]]
name = "Region"
queries = { "total" = { variance = 1 }, "detailed" = { variance = 9 } }
"""
OTHER = """
name = "other"
neighbours = "bounded"
[attributes]
sex = ["f", "m"]
work = ["yes", "no"]
[[levels]]
name = "Nation"
queries = { "total" = { variance = 2 } }
[[levels]]
name = "Region"
queries = { "sex" = { variance = 1 }, "detailed" = { variance = 9 } }
"""
FILE = "measurements.NOT-PRIVATE.csv"


@pytest.fixture
def folders(tmp_path: Path) -> Callable[..., list[Path]]:
    """Measure the same people by several releases; those without districts count records by region."""

    def make(*texts: str, seed: int = 1) -> list[Path]:
        cells = truth(seed)
        found = []
        for number, text in enumerate(texts):
            folder = tmp_path / f"{seed}-{number}"
            folder.mkdir()
            people, units = records(folder, cells)
            release = Release.from_toml(text)
            if len(release.levels) == 2:
                region = {
                    NAMES[unit]: NAMES[above] for unit, above in enumerate([-1, 0, 0, 0, 1, 1, 2, 2, 2, 3])
                }
                lines = people.read_text().splitlines()
                head = "unit,sex,work" if "work" in text else lines[0]
                moved = []
                for line in lines[1:]:
                    unit, sex, age = line.split(",")
                    moved.append(
                        f"{region[unit]},{sex},{'yes' if age == '18-64' else 'no'}"
                        if "work" in text
                        else f"{region[unit]},{sex},{age}"
                    )
                people.write_text("\n".join([head, *moved]) + "\n")
                units.write_text(
                    "".join(
                        line for line in units.read_text().splitlines(keepends=True) if "District" not in line
                    )
                )
            out = folder / "m"
            measure(release, None, out, records=people, units=units, rehearsal=100 * seed + number)
            found.append(out)
        return found

    return make


def table(folder: Path, stem: str) -> dict[tuple[str, str, str], dict[str, float]]:
    """Rows by unit, query and cell."""
    found = {}
    for row in rows(folder / f"{stem}.NOT-PRIVATE.csv"):
        numbers = {
            key: float(value or "nan")
            for key, value in row.items()
            if key not in ("unit", "level", "query", "cell", "not_private")
        }
        found[row["unit"], row["query"], row["cell"]] = numbers
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_tree_where_attributes_and_areas_agree(folders: Any, tmp_path: Path, seed: int) -> None:
    """The second release has a recode of its own, no districts, and measures total and detailed again."""
    given = folders(TEXT, SECOND, seed=seed)
    done = estimate(given, tmp_path / "e", queries=["total", "age * sex", "old"])
    assert done.additive
    assert done.releases == 2
    assert RELEASE.attributes is not None
    recodes = TEXT[TEXT.index("[attributes.adult]") : TEXT.index("[[levels]]")]
    both = Release.from_toml(SECOND.replace("[[levels]]", f"{recodes}[[levels]]", 1)).attributes
    assert both is not None
    dense = Dense(both, [one / FILE for one in given])
    for (unit, query, cell), row in table(tmp_path / "e", "estimates").items():
        value, variance = dense.answer([unit], query, cell)
        assert row["estimate"] == pytest.approx(value, rel=1e-8, abs=1e-8)
        assert row["sd"] ** 2 == pytest.approx(variance, rel=1e-8)


def test_the_order_of_releases_does_not_matter(folders: Any, tmp_path: Path) -> None:
    given = folders(TEXT, SECOND)
    for name, some in (("a", given), ("b", given[::-1])):
        estimate(some, tmp_path / name, queries=["total", "sex"])
    one, two = (table(tmp_path / name, "estimates") for name in "ab")
    assert one.keys() == two.keys()
    for key in one:
        assert one[key] == pytest.approx(two[key], rel=1e-8)


def test_tabulation_by_tabulation_where_they_do_not(
    folders: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = folders(TEXT, OTHER)
    out = tmp_path / "e"
    assert run(["estimate", *map(str, given), "--out", str(out), "--query", "total", "--query", "sex"]) == 0
    assert "NOT ADDITIVE" in " ".join(capsys.readouterr().out.split())
    manifest = json.loads((out / "manifest.NOT-PRIVATE.json").read_text())
    assert manifest["additive"] is False
    assert "NOT ADDITIVE" in manifest["estimates"]
    assert not list(out.glob("units*"))
    alone = []
    for number, folder in enumerate(given):
        estimate(folder, tmp_path / f"alone{number}", queries=["total", "sex"])
        alone.append(table(tmp_path / f"alone{number}", "estimates"))
    both = table(out, "estimates")
    assert set(both) == set(alone[0]) | set(alone[1])
    for key, row in both.items():
        parts = [one[key] for one in alone if key in one]
        precision = sum(1 / part["sd"] ** 2 for part in parts)
        assert row["sd"] ** 2 == pytest.approx(1 / precision, rel=1e-9)
        mean = sum(part["estimate"] / part["sd"] ** 2 for part in parts) / precision
        assert row["estimate"] == pytest.approx(mean, rel=1e-9)
        assert len(parts) == (2 if key[0] in ("N", "R1", "R2", "R3") else 1)


def test_redistricting_data_and_a_table_of_the_dhc(tmp_path: Path) -> None:
    """The published noise of PL 94-171 and of the DHC's "hispanic * sex", on a small tree of either's levels.

    Attributes and areas differ, so each number that both know is the mean weighted by inverse variances.
    """
    pl94, dhc = load("pl94-2020-persons"), load("dhc-2020-persons")
    levels = [
        Level(name=level.name, queries=[one for one in level.queries if one.name == "hispanic * sex"])
        for level in dhc.levels
    ]
    sexes = Attributes({"hispanic": ["not Hispanic", "Hispanic"], "sex": ["f", "m"]})
    dhc = replace(dhc, rho=None, levels=tuple(levels), attributes=sexes)
    rng = np.random.default_rng(5)
    people = [["unit", "hhgq", "votingage", "hispanic", "cenrace", "sex"]]
    counties = {"C1": ["B1", "B2"], "C2": ["B3"]}
    for block, many in (("B1", 400), ("B2", 30), ("B3", 900)):
        for _ in range(many):
            age, ethnicity = rng.choice(["under 18", "18 and over"]), rng.choice(["not Hispanic", "Hispanic"])
            race, sex = rng.choice(["white", "black", "asian"]), rng.choice(["f", "m"])
            people.append([block, "household", str(age), str(ethnicity), str(race), str(sex)])
    (tmp_path / "people.csv").write_text("\n".join(map(",".join, people)) + "\n")
    given, alone = [], []
    for number, release in enumerate((pl94, dhc)):
        names = [level.name for level in release.levels]
        units = ["unit,level,parent", "US,US,", "S,State,US"]
        for county, blocks in counties.items():
            units.append(f"{county},County,S")
            above = county
            for level in names[3:-1]:  # tracts, or what the DHC has in their place
                units.append(f"{county} {level},{level},{above}")
                above = f"{county} {level}"
            units += [f"{block},Block,{above}" for block in blocks]
        file = tmp_path / f"units{number}.csv"
        file.write_text("\n".join(units) + "\n")
        out = tmp_path / f"m{number}"
        measure(
            release, None, out, records=tmp_path / "people.csv", units=file, rehearsal=7, format="parquet"
        )
        estimate(out, tmp_path / f"alone{number}", queries=["total", "hispanic"], format="csv")
        given.append(out)
        alone.append(table(tmp_path / f"alone{number}", "estimates"))
    done = estimate(given, tmp_path / "both", queries=["total", "hispanic"], format="csv")
    assert not done.additive
    both = table(tmp_path / "both", "estimates")
    assert set(both) == set(alone[0]) | set(alone[1])
    shared = {"US", "S", "C1", "C2", "C1 Block_Group", "C2 Block_Group", "B1", "B2", "B3"}
    assert {key[0] for key in set(alone[0]) & set(alone[1])} == shared
    for key, row in both.items():
        parts = [one[key] for one in alone if key in one]
        precision = sum(1 / part["sd"] ** 2 for part in parts)
        assert row["sd"] ** 2 == pytest.approx(1 / precision, rel=1e-9)
        mean = sum(part["estimate"] / part["sd"] ** 2 for part in parts) / precision
        assert row["estimate"] == pytest.approx(mean, rel=1e-9, abs=1e-9)
        assert row["lower95"] <= row["upper95"]
    # 1,330 people; a sum that is six standard deviations off has a chance of 2e-9
    assert abs(both["S", "total", "all"]["estimate"] - 1330) < 6 * both["S", "total", "all"]["sd"]


@pytest.mark.slow
def test_coverage_of_releases_that_differ(folders: Any, tmp_path: Path) -> None:
    """40 rehearsals of two releases, 12 cells of total and sex each. 90 % intervals cover more than 0.9 less
    four standard errors, as if each rehearsal had three independent cells: a false alarm in 30,000 seeds."""
    from discreet.estimation.input.joint_estimates import JointEstimates
    from discreet.estimation.input.measurements import read_published
    from discreet.estimation.intervals import count_ends

    cells, inside = truth(1), []
    given = folders(TEXT, OTHER)
    for seed in range(40):
        published = []
        for number, folder in enumerate(given):
            parent = folder.parent
            release = Release.from_toml((TEXT, OTHER)[number])
            out = parent / f"run{seed}"
            measure(
                release,
                None,
                out,
                records=parent / "records.csv",
                units=parent / "units.csv",
                rehearsal=seed * 2 + number,
            )
            published.append(read_published(out))
        found = JointEstimates.of(published)
        units = np.arange(4)
        for query, exact in (("total", cells.sum(axis=(1, 2))[:, None]), ("sex", cells.sum(axis=2))):
            values, _, widths = found.numbers(found.at(units), 4, query, [("90", 0.9)])
            ends = count_ends(values, widths[0])
            inside.append(np.mean((ends.lower <= exact[:4]) & (exact[:4] <= ends.upper)))
    assert np.mean(inside) > 0.9 - 4 * 0.3 / np.sqrt(40 * 3)
    assert np.mean(inside) < 0.99


@pytest.mark.slow
def test_contrasts_of_areas_and_queries(folders: Any, tmp_path: Path) -> None:
    (given,) = folders(TEXT)
    (tmp_path / "areas.csv").write_text("area,unit\nwest,D1\nwest,D3\neast,R3\n")
    call = ["estimate", str(given), "--out", str(tmp_path / "e"), "--areas", str(tmp_path / "areas.csv")]
    call += ["--query", "women = sex[f]", "--query", "men = sex[m]", "--query", "total", "--query", "age"]
    call += [
        "--difference",
        "west,east",
        "--ratio",
        "R1,R2",
        "--difference",
        "women,men",
        "--ratio",
        "age,total",
    ]
    assert run([*call, "--quiet"]) == 0
    assert RELEASE.attributes is not None
    dense = Dense(RELEASE.attributes, [given / FILE])
    found = table(tmp_path / "e", "contrasts")
    areas = {"west": ["D1", "D3"], "east": ["R3"], **{name: [name] for name in NAMES}}

    def compare(key: tuple[str, str, str], one: Any, two: Any, is_ratio: bool) -> None:
        a, b = float(one @ dense.x), float(two @ dense.x)
        va, vb, ab = (float(p @ dense.covariance @ q) for p, q in ((one, one), (two, two), (one, two)))
        row = found[key]
        if not is_ratio:
            sd = (va + vb - 2 * ab) ** 0.5
            assert row["estimate"] == pytest.approx(a - b, rel=1e-8, abs=1e-8)
            assert row["sd"] == pytest.approx(sd, rel=1e-8)
            assert row["upper95"] - row["lower95"] == pytest.approx(2 * 1.959963985 * sd, rel=0.03)
            return
        assert row["estimate"] == pytest.approx(a / b, rel=1e-8)
        delta = (va - 2 * a / b * ab + (a / b) ** 2 * vb) / b**2
        assert row["sd"] == pytest.approx(delta**0.5, rel=1e-7)
        if not np.isnan(row["lower95"]):  # Fieller: at its ends |a - r b| is about 1.96 of its deviations
            for end in ("lower95", "upper95"):
                r = row[end]
                z2 = (a - r * b) ** 2 / (va - 2 * r * ab + r * r * vb)
                assert z2 == pytest.approx(1.959963985**2, rel=0.06)

    for query, cell in (("total", "all"), ("age", "65+")):
        compare(
            ("west - east", query, cell),
            dense.row(areas["west"], query, cell),
            dense.row(areas["east"], query, cell),
            False,
        )
        compare(
            ("R1 / R2", query, cell), dense.row(["R1"], query, cell), dense.row(["R2"], query, cell), True
        )
    for name, units in areas.items():
        compare((name, "women - men", "f"), dense.row(units, "sex", "f"), dense.row(units, "sex", "m"), False)
        for cell in ("0-17", "18-64", "65+"):
            compare(
                (name, "age / total", cell),
                dense.row(units, "age", cell),
                dense.row(units, "total", "all"),
                True,
            )
    manifest = json.loads((tmp_path / "e" / "manifest.NOT-PRIVATE.json").read_text())
    assert "Fieller" in manifest["contrasts"]["ratio"]


def test_changes_between_times(folders: Any, tmp_path: Path) -> None:
    (now,), (before,) = folders(TEXT, seed=1), folders(TEXT, seed=2)
    call = [
        "estimate",
        str(now),
        "--since",
        str(before),
        "--out",
        str(tmp_path / "e"),
        "--query",
        "total",
        "--query",
        "adult",
    ]
    assert run([*call, "--quiet"]) == 0
    found = table(tmp_path / "e", "changes")
    assert RELEASE.attributes is not None
    dense = [Dense(RELEASE.attributes, [one / FILE]) for one in (now, before)]
    assert len(found) == 30
    for (unit, query, cell), row in found.items():
        (a, va), (b, vb) = (one.answer([unit], query, cell) for one in dense)
        assert row["now"] == pytest.approx(a, rel=1e-8, abs=1e-8)
        assert row["difference"] == pytest.approx(a - b, rel=1e-8, abs=1e-7)
        assert row["sd"] == pytest.approx((va + vb) ** 0.5, rel=1e-8)
        assert row["ratio"] == pytest.approx(a / b, rel=1e-7)
        if not np.isnan(row["ratio_lower90"]):
            r = row["ratio_lower90"]
            assert (a - r * b) ** 2 / (va + r * r * vb) == pytest.approx(1.6448536**2, rel=0.06)
    (other,) = folders(OTHER, seed=3)
    with pytest.raises(InputError, match="'adult' cannot be answered by the earlier release"):
        estimate(now, tmp_path / "x", since=other, queries=["adult"])
    assert not (tmp_path / "x").exists()


def test_zeros_of_two_releases_of_which_one_adds_up_a_column(tmp_path: Path) -> None:
    """Nobody is there, so nothing adds up there either: refused before, as "different counts"."""
    head = 'neighbours = "unbounded"\n[attributes]\nage = ["0-17", "18+"]\nsex = ["f", "m"]\n'
    queries = {
        "counts": '"age * sex" = { variance = 4 }',
        "sums": '"sex" = { variance = 9 }, "hours" = { sum = "hours", at_most = 80, variance = 40 }',
    }
    (tmp_path / "units.csv").write_text("unit,level,parent\nL,Land,\nA,Kreis,L\nB,Kreis,L\n")
    (tmp_path / "zeros.csv").write_text("unit,age,sex\nA,0-17,m\n")
    rows = [f"{'AB'[n % 2]},{('0-17', '18+')[n % 3 > 0]},{'fm'[n % 5 > 1]},{n % 60}\n" for n in range(200)]
    (tmp_path / "r.csv").write_text("unit,age,sex,hours\n" + "".join(rows))
    noisy = {}
    for name, some in queries.items():
        levels = "".join(f'[[levels]]\nname = "{one}"\nqueries = {{ {some} }}\n' for one in ("Land", "Kreis"))
        where = {"records": tmp_path / "r.csv", "units": tmp_path / "units.csv", "rehearsal": 3}
        release = Release.from_toml(f'name = "{name}"\n{head}{levels}')
        measure(release, None, tmp_path / name, **where)  # type: ignore[arg-type]
        lines = (tmp_path / name / "measurements.NOT-PRIVATE.csv").read_text().splitlines()
        for row in csv.DictReader(line for line in lines if not line.startswith('"#')):
            noisy[row["unit"], row["cell"]] = float(row["value"]), float(row["variance"])
    # dense: eight cells (area, age, sex), of which one is nobody
    labels = [f"{age} * {sex}" for age in ("0-17", "18+") for sex in "fm"]
    place = {
        (area, cell): 4 * number + at for number, area in enumerate("AB") for at, cell in enumerate(labels)
    }
    design, known = [], []
    for (area, cell), (value, variance) in noisy.items():
        if cell != "all":
            inside = [area in ("L", unit) and cell in (one, one[-1]) for unit, one in place]
            design.append(np.array(inside) / variance**0.5)
            known.append(value / variance**0.5)
    free = [number for pair, number in place.items() if pair != ("A", "0-17 * m")]
    best = np.zeros(8)
    best[free] = np.linalg.lstsq(np.array(design)[:, free], np.array(known), rcond=None)[0]
    for pair in (("counts", "sums"), ("sums", "counts")):
        given = [tmp_path / one for one in pair]
        done = estimate(given, zeros=tmp_path / "zeros.csv", queries=["detailed", "hours"])
        table = done.to_pandas().set_index(["query", "unit", "cell"])["estimate"]
        assert done.additive
        assert [table["detailed", *pair] for pair in place] == pytest.approx(best.tolist(), abs=1e-6)


def test_zeros_of_single_units(folders: Any, tmp_path: Path) -> None:
    """Nobody above 64 in R1, no men in D6: equal to a dense solution with exact zeros."""
    (given,) = folders(TEXT)
    (tmp_path / "old.csv").write_text("unit,age\nR1,65+\n")
    (tmp_path / "men.csv").write_text("unit,sex,age\nD6,m,0-17\nD6,m,18-64\n")
    assert RELEASE.attributes is not None
    for file, exact in (
        ("old.csv", [(unit, "sex * age[65+]", [0, 0]) for unit in ("R1", "D1", "D2")]),
        ("men.csv", [("D6", "sex[m] * age[0-17]", [0]), ("D6", "sex[m] * age[18-64]", [0])]),
    ):
        out = tmp_path / f"e-{file}"
        estimate(given, out, zeros=tmp_path / file, queries=["detailed", "adult"])
        dense = Dense(RELEASE.attributes, [given / FILE], exact)
        for (unit, query, cell), row in table(out, "estimates").items():
            value, variance = dense.answer([unit], query, cell)
            assert row["estimate"] == pytest.approx(value, rel=1e-8, abs=1e-8)
            assert row["sd"] ** 2 == pytest.approx(variance, rel=1e-8, abs=1e-10)
    (tmp_path / "bad.csv").write_text("unit,age\nR9,65+\nR1,66+\n")
    with pytest.raises(InputError, match="2 kinds of problems"):
        estimate(given, tmp_path / "x", zeros=tmp_path / "bad.csv")


def test_a_level_that_is_not_written(folders: Any, tmp_path: Path) -> None:
    (given,) = folders(TEXT)
    done = estimate(given, tmp_path / "e", down_to="region")
    assert {key[0] for key in table(tmp_path / "e", "estimates")} == {"N", "R1", "R2", "R3"}
    assert done.units == 4
    with pytest.raises(
        InputError, match="down_to names level 'Block'; the areas have District, Nation, Region"
    ):
        estimate(given, tmp_path / "x", down_to="Block")


def measured_again(parent: Path, **options: Any) -> None:
    """The same records as Parquet, in the folder p."""
    records, units = parent / "records.csv", parent / "units.csv"
    measure(
        RELEASE, None, parent / "p", records=records, units=units, format="parquet", rehearsal=5, **options
    )


@pytest.mark.slow
@pytest.mark.parametrize("invariant", [False, True])
def test_streamed_is_what_is_held(
    folders: Any, tmp_path: Path, invariant: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every number equal to 1e-9, with tiny pieces; units of the last depth are read again."""
    import pyarrow.parquet as pq

    from discreet.areas import output as tables
    from discreet.estimation import estimates

    (folder,) = folders(TEXT)
    monkeypatch.setattr(tables, "ROWS", 25)
    pairs = [("Region", "total")] if invariant else []
    parent = folder.parent
    measured_again(parent, invariants=pairs)
    assert pq.ParquetFile(parent / "p" / "measurements.NOT-PRIVATE.parquet").metadata.num_row_groups > 3
    monkeypatch.setattr(estimates, "PIECE", 7)
    (tmp_path / "areas.csv").write_text("area,unit\nwest,D1\nwest,D3\neast,R3\n")
    for name, streamed in (("a", False), ("b", True)):
        estimate(
            parent / "p",
            tmp_path / name,
            streamed=streamed,
            format="csv",
            areas=tmp_path / "areas.csv",
            differences=[("west", "D6")],
            ratios=[("sex", "total")],
            queries=["total", "sex", "detailed"],
        )
    for stem in ("estimates", "areas", "contrasts"):
        one, two = (table(tmp_path / name, stem) for name in "ab")
        assert one.keys() == two.keys()
        for key in one:
            assert one[key] == pytest.approx(two[key], rel=1e-9, abs=1e-9, nan_ok=True)


def test_a_streamed_table_is_checked(folders: Any, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder,) = folders(TEXT)
    parent = folder.parent
    measured_again(parent)
    file = parent / "p" / "measurements.NOT-PRIVATE.parquet"
    table = pq.read_table(file)
    order = list(range(table.num_rows))
    order[30], order[31] = order[31], order[30]
    wrong = {
        "(row 31 of measurements.NOT-PRIVATE.parquet, field cell)": table.take(order),
        "(row 71 of measurements.NOT-PRIVATE.parquet, field variance)": table.set_column(
            table.column_names.index("variance"),
            "variance",
            pa.array([2.0 if k == 70 else x for k, x in enumerate(table.column("variance").to_pylist())]),
        ),
        "rows; the areas and the release need": table.slice(1),
    }
    for said, changed in wrong.items():
        pq.write_table(changed, file)
        with pytest.raises(InputError) as caught:
            estimate(parent / "p", tmp_path / "x", streamed=True)
        assert said in str(caught.value)
        assert not (tmp_path / "x").exists()


def test_the_dhc_comes_apart() -> None:
    """Ages in four groupings, relationships in four: 12 and 13 orbits, counted by hand."""
    from discreet.budget.noise_table import queries_of
    from discreet.estimation.model import Model

    dhc = load("dhc-2020")
    assert dhc.attributes is not None
    assert dhc.attributes.cells == 42 * 2 * 116 * 2 * 63
    assert [dhc.attributes.tabulation(one).cells for one in queries_of(dhc)] == [
        12, 6, 76, 4, 8, 60, 19, 2 * 2 * 40 * 25 * 63, 42 * 40 * 2 * 63 * 2, 1_227_744,
    ]  # fmt: skip
    components = Model(dhc.attributes, queries_of(dhc)).components
    assert len(components) == 144
    assert max(one.size for one in components) == 12 * 13
    assert sum(one.size * one.copies for one in components) == 1_227_744


def test_accuracy_of_the_dhc_is_that_of_its_tables_alone() -> None:
    """Two levels of the DHC, one unit each: a table's precision adds up where nothing else is asked."""
    from discreet.estimation import accuracy

    dhc = load("dhc-2020")
    levels = tuple(
        replace(
            level, rho=None, queries=tuple(one for one in level.queries if one.name == "age_38_groups * sex")
        )
        for level in dhc.levels[:2]
    )
    one = replace(dhc, rho=None, levels=levels, spine=None)
    found = accuracy(one, tree=[1])
    laws = [level.queries[0].noise_sd for level in found.levels]
    expected = sum(1 / law**2 for law in laws if law is not None) ** -0.5
    assert found.sd("State", "age_38_groups * sex") == pytest.approx(expected, rel=1e-12)


def test_exact_counts_must_not_contradict_each_other(folders: Any, tmp_path: Path) -> None:
    (given,) = folders(TEXT)
    exact = tmp_path / "exact.csv"
    cells = truth(1).sum(axis=(1, 2))
    lines = [f"{name},total,all,{cells[place]}" for place, name in enumerate(NAMES[:4])]
    exact.write_text("\n".join(["unit,query,cell,count", *lines]) + "\n")
    done = estimate(given, tmp_path / "held", invariants=exact, queries=["total"])
    found = rows(done.out / "estimates.NOT-PRIVATE.csv")
    assert [(row["estimate"], row["sd"]) for row in found[:4]] == [(str(one), "0") for one in cells[:4]]
    exact.write_text("\n".join(["unit,query,cell,count", *lines[:-1], f"R3,total,all,{cells[3] + 1}"]) + "\n")
    with pytest.raises(InputError, match="exact contradict each other: those of query 'total' in area 'N'"):
        estimate(given, tmp_path / "never", invariants=exact)
    assert not (tmp_path / "never").exists()


def test_an_area_that_exact_counts_determine_with_its_neighbours(folders: Any, tmp_path: Path) -> None:
    """The nation and one region are exact, so the others are together, though neither is by itself."""
    (given,) = folders(TEXT)
    exact, areas = tmp_path / "exact.csv", tmp_path / "areas.csv"
    cells = truth(1).sum(axis=(1, 2))
    exact.write_text(f"unit,query,cell,count\nN,total,all,{cells[0]}\nR1,total,all,{cells[1]}\n")
    areas.write_text("area,unit\nrest,R2\nrest,D6\n")
    done = estimate(given, tmp_path / "e", invariants=exact, areas=areas, queries=["total", "age"])
    found = rows(done.out / "areas.NOT-PRIVATE.csv")
    assert (found[0]["estimate"], found[0]["sd"], found[0]["upper95"]) == (
        str(cells[0] - cells[1]),
        "0",
        str(cells[0] - cells[1]),
    )
    assert all(float(row["sd"]) > 0.1 for row in found[1:])


def test_questions_that_are_refused(folders: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (given,) = folders(TEXT)
    areas = tmp_path / "areas.csv"
    areas.write_text("area,unit\n")
    for options, said in [
        (
            ["--query", "age[0-17 | 65+"],
            "has a bracket that is not closed; a sum of values is written age[0-",
        ),
        (["--query", "x = age", "--query", "x = sex"], "two queries are called 'x'"),
        (["--areas", str(areas)], "there are no areas (areas.csv)"),
        (["--difference", "R1,R2,R3"], 'a name with a comma in it stands in quotes: "Paris, Texas",Rome'),
    ]:
        assert run(["estimate", str(given), "--out", str(tmp_path / "never"), *options]) == 2
        assert said in capsys.readouterr().err
        assert not (tmp_path / "never").exists()
    areas.write_text('area,unit\n"R1, R2",R1\n"R1, R2",R2\n')
    options = ["--areas", str(areas), "--difference", '"R1, R2",R3', "--query", "total", "--quiet"]
    assert run(["estimate", str(given), "--out", str(tmp_path / "e"), *options]) == 0
    found = rows(tmp_path / "e" / "contrasts.NOT-PRIVATE.csv")
    assert [row["unit"] for row in found] == ["R1, R2 - R3"]
