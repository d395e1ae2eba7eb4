"""Tables of other offices: columns under their own names, areas with weights, DataFrames in and out."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pytest

from discreet.answers import describe
from discreet.budget import Attributes, load_file
from discreet.cli import run
from discreet.errors import DiscreetError, InputError
from discreet.estimation import estimate
from discreet.estimation.input.noisy_table import column_names
from discreet.measurement import measure, write_example
from discreet.render.text import text_of

Z90 = NormalDist().inv_cdf(0.95)

ACS = """GEO_ID,NAME,B01003_001E,B01003_001M
0500000US01001,"Autauga County, Alabama",6900,100
1400000US01001020100,"Census Tract 201; Autauga County; Alabama",1775,188
1400000US01001020200,"Census Tract 202; Autauga County; Alabama",2055,260
1400000US01001020300,"Census Tract 203; Autauga County; Alabama",3216,301
"""
UNITS = """unit,level,parent
0500000US01001,County,
1400000US01001020100,Tract,0500000US01001
1400000US01001020200,Tract,0500000US01001
1400000US01001020300,Tract,0500000US01001
"""
COLUMNS = "unit=GEO_ID,value=B01003_001E,margin90=B01003_001M"


def written(folder: Path, **files: str) -> dict[str, Path]:
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    return {name: folder / f"{name}.csv" for name in files}


def frame(**columns: Any) -> pandas.DataFrame:
    return pandas.DataFrame(columns)


def acs_by_hand() -> tuple[list[float], list[float]]:
    """The county and its tracts: the county's two answers, their own and the sum of the tracts, are
    weighted by inverse variances, and the difference is shared out in proportion to the variances."""
    values, sizes = np.array([1775.0, 2055, 3216]), (np.array([188.0, 260, 301]) / Z90) ** 2
    own, total = (100 / Z90) ** 2, sizes.sum()
    county = (6900 / own + values.sum() / total) / (1 / own + 1 / total)
    variance = 1 / (1 / own + 1 / total)
    tracts = values + sizes / total * (county - values.sum())
    spread = sizes - sizes**2 / total * (1 - variance / total)
    return [county, *tracts], [variance**0.5, *np.sqrt(spread)]


def test_a_download_of_the_american_community_survey(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = written(tmp_path, acs=ACS, units=UNITS)
    out = tmp_path / "out"
    words = ["estimate", files["acs"], "--columns", COLUMNS, "--units", files["units"], "--out", out]
    assert run([str(word) for word in words]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "it is taken as normal, of the variances given" in text
    assert "intervals have whole ends, not below zero" in text
    table = pandas.read_csv(out / "estimates.csv")
    values, deviations = acs_by_hand()
    assert table["estimate"].tolist() == pytest.approx(values, rel=1e-11)
    assert table["sd"].tolist() == pytest.approx(deviations, rel=1e-11)
    assert table["lower90"].tolist() == np.ceil(table["estimate"] - Z90 * table["sd"]).tolist()
    assert table["upper90"].tolist() == np.floor(table["estimate"] + Z90 * table["sd"]).tolist()
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["noise"], manifest["counts"]) == (["normal"], True)


@pytest.mark.parametrize(
    ("name", "size", "noise"),
    [
        ("variance", 4.0, "discrete gaussian"),
        ("sd", 2.0, "normal"),
        ("SE", 2.0, "normal"),
        ("margin90", 2 * Z90, "normal"),
        ("margin95", 2 * NormalDist().inv_cdf(0.975), "normal"),
        ("margin99", 2 * NormalDist().inv_cdf(0.995), "normal"),
    ],
)
def test_the_size_of_an_error_may_be_written_in_many_ways(name: str, size: float, noise: str) -> None:
    found = estimate(frame(unit=["A", "B"], value=[7, 9], **{name: [size, size]}))
    assert found.to_pandas()["sd"].tolist() == pytest.approx([2, 2])
    assert found.noise == (noise,)
    named = estimate(
        frame(code=["A", "B"], n=[7, 9], wide=[size, size]),
        columns={"unit": "code", "value": "n", name.casefold(): "wide"},
        noise="normal",
    )
    assert named.to_pandas()["sd"].tolist() == pytest.approx([2, 2])


def test_a_margin_of_any_level_can_be_named() -> None:
    table = frame(unit=["A"], value=[7.5], moe=[2 * NormalDist().inv_cdf(0.9995)])
    found = estimate(table, columns={"margin99_9": "moe"})
    assert found.to_pandas()["sd"].tolist() == pytest.approx([2.0])


def test_the_cell_may_be_in_several_columns_and_rows_may_say_nothing(tmp_path: Path) -> None:
    text = (
        "code;age;sex;estimate;se\n"
        "01;0-17;f;12.5;1.5\n01;0-17;m;13.25;1\n01;18+;f;20;2\n01;18+;m;;2\n"
        "02;0-17;f;1.5;.5\n02;0-17;m;3.25;0\n02;18+;f;2;NA\n02;18+;m;4.5;inf\n"
    )
    source = written(tmp_path, tidy=text)["tidy"]
    columns = "unit=code, value=estimate, se=se, cell=age * sex"
    done = estimate(source, columns=columns)
    table = done.to_pandas()
    assert table["query"].unique().tolist() == ["age * sex"]
    assert table["cell"].tolist() == ["0-17 * f", "0-17 * m", "18+ * f", "18+ * m"] * 2
    assert table["unit"].tolist() == ["01"] * 4 + ["02"] * 4
    expected = [12.5, 13.25, 20, np.nan, 1.5, 3.25, np.nan, np.nan]
    assert np.allclose(table["estimate"], expected, equal_nan=True)
    assert done.undetermined == 3
    assert done.left_out == ("3 cells without a value or without the size of its error",)
    people = Attributes({"age": ["0-17", "18+"], "sex": ["f", "m"]})
    sums = estimate(source, columns=columns, attributes=people, queries=["age"]).to_pandas()
    assert np.allclose(sums["estimate"], [25.75, np.nan, 4.75, np.nan], equal_nan=True)
    assert np.allclose(sums["sd"], [(1.5**2 + 1) ** 0.5, np.nan, 0.5, np.nan], equal_nan=True)
    stated = tmp_path / "people.toml"
    stated.write_text('[attributes]\nage = ["0-17", "18+"]\nsex = ["f", "m"]\n')
    assert estimate(source, columns=columns, attributes=stated, queries=["age"]).to_pandas().equals(sums)
    stated.write_text('[attributes]\nage = ["0-17", "0-17"]\n')
    with pytest.raises(InputError, match=r"\(line 2 of .*people.toml\)"):
        estimate(source, columns=columns, attributes=stated)
    stated.write_text("[other]\n")
    with pytest.raises(InputError, match=r"people.toml has no table \[attributes\]"):
        estimate(source, columns=columns, attributes=stated)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("unit", "it must be pairs such as unit=GEO_ID,value=estimate"),
        ("unit=code,unit=code", "columns names 'unit' twice"),
        ("unit=code,colour=red", "columns names 'colour'; it can name unit, value"),
        ("unit=code,sd=a,variance=b", "columns names sd and variance; one of them"),
        ("unit=code,margin=moe", "columns names 'margin'; it can name .* margin90"),
        ("unit=nothing,value=n", "has no column nothing or n; it must have nothing, n"),
        ("unit=code,value=estimate", "has no column variance; it must have one, or sd"),
        ("unit=code,value=estimate,margin90=low", r"a margin is below zero; .* -555555555: write 0"),
        ("unit=code,value=estimate,sd=low", r"a standard deviation is below zero \(line 2"),
        ("unit=code,value=text,sd=size", r"text is not a number \(line 2"),
        ({"unit": ["code", "text"], "value": "estimate"}, "only a cell may have several"),
    ],
)
def test_columns_that_cannot_be_meant_are_refused(tmp_path: Path, columns: Any, message: str) -> None:
    source = written(tmp_path, t="code,estimate,size,low,text\nA,1.5,2,-1,x\n")["t"]
    with pytest.raises(InputError, match=message):
        estimate(source, tmp_path / "out", columns=columns)
    assert not (tmp_path / "out").exists()


def test_a_column_with_a_comma_stands_in_quotes() -> None:
    assert column_names('value="Estimate, total ""all""",unit=a b') == {
        "value": 'Estimate, total "all"',
        "unit": "a b",
    }
    with pytest.raises(InputError, match="columns is"):
        column_names("value=a,b")


def test_what_cannot_be_decided_is_asked() -> None:
    with pytest.raises(InputError, match="has the columns sd and margin90; say which"):
        estimate(frame(unit=["A"], value=[1.5], sd=[1.0], margin90=[1.6]))
    with pytest.raises(InputError, match="a value is not whole, but discrete gaussian noise is"):
        estimate(frame(unit=["A"], value=[1.5], variance=[1.0]), noise="discrete gaussian")
    with pytest.raises(InputError, match="noise is 'uniform'; it must be discrete gaussian"):
        estimate(frame(unit=["A"], value=[1.5], variance=[1.0]), noise="uniform")
    with pytest.raises(InputError, match="a value is infinite"):
        estimate(frame(unit=["A"], value=[np.inf], variance=[1.0]))
    with pytest.raises(InputError, match="columns are named 2 times for 1 table"):
        estimate(frame(unit=["A"], value=[1.5], variance=[1.0]), columns=[{}, {}])
    with pytest.raises(InputError, match="the noisy table is of type list; a file or a pandas, polars or"):
        estimate([[1, 2]])


def test_counts_are_said_or_seen() -> None:
    whole, real = frame(unit=["A"], value=[2], sd=[3.0]), frame(unit=["A"], value=[2.5], sd=[3.0])
    ends = {
        (said, source is whole): estimate(source, counts=said).to_pandas()[["lower90", "upper90"]].iloc[0]
        for said in (None, True, False)
        for source in (whole, real)
    }
    assert ends[None, True].tolist() == ends[True, True].tolist() == [0, 6]
    assert ends[True, False].tolist() == [0, 7]
    assert ends[False, True].tolist() == pytest.approx([2 - 3 * Z90, 2 + 3 * Z90])
    assert ends[None, False].tolist() == pytest.approx([2.5 - 3 * Z90, 2.5 + 3 * Z90])


# -- areas ---------------------------------------------------------------------------------------------------


def test_areas_nest_by_prefixes_of_their_codes() -> None:
    table = frame(unit=["01001", "01003", "02001", "02"], value=[1.5, 2.5, 4.0, 6.0], sd=[1.0, 1.0, 1.0, 2.0])
    done = estimate(table, geocodes="2,5")
    found = done.to_pandas().set_index("unit")
    assert done.to_pandas("units").to_dict("list") == {
        "unit": ["01", "02", "01001", "01003", "02001"],
        "level": ["level 1"] * 2 + ["level 2"] * 3,
        "parent": ["", "", "01", "01", "02"],
    }
    assert found["estimate"]["01"] == pytest.approx(4.0)  # never measured: the sum of its parts
    assert found["estimate"]["02"] == pytest.approx((4 / 1 + 6 / 4) / 1.25)
    with pytest.raises(InputError, match="a geocode that is not 2 or 4 characters long"):
        estimate(table, geocodes="2,4")
    with pytest.raises(InputError, match="geocodes is '5,2'; it must be rising lengths"):
        estimate(table, geocodes="5,2")
    with pytest.raises(InputError, match="leave one out"):
        estimate(table, geocodes="2,5", units=frame(unit=["01"], level=["a"]))
    named = table.assign(level=["County", "County", "County", "State"])
    assert estimate(named, geocodes="2,5").to_pandas("units")["level"].unique().tolist() == [
        "State",
        "County",
    ]
    with pytest.raises(InputError, match="several levels for geocodes of one length"):
        estimate(table.assign(level=["a", "b", "c", "d"]), geocodes="2,5")


def test_parents_without_levels_make_levels_by_depth() -> None:
    table = frame(
        area=["N", "A", "B", "A1"], above=["", "N", "N", "A"], value=[10.0, 4.0, 5.5, 3.75], sd=[1.0] * 4
    )
    columns = {"unit": "area", "parent": "above"}
    units = estimate(table, columns=columns).to_pandas("units").set_index("unit")
    assert units["level"].to_dict() == {"N": "level 1", "A": "level 2", "B": "level 2", "A1": "level 3"}
    with pytest.raises(InputError, match="no way up"):
        estimate(table.assign(above=["B", "N", "A", "A"]), columns=columns)


def test_without_a_tree_areas_are_side_by_side_unless_levels_differ() -> None:
    table = frame(unit=["A", "B"], value=[1.5, 2.5], sd=[1.0, 1.0])
    assert estimate(table).to_pandas("units")["parent"].tolist() == ["", ""]
    assert estimate(table.assign(level="County")).to_pandas("units")["level"].tolist() == ["County"] * 2
    with pytest.raises(InputError, match="no column parent; the tree of areas is needed"):
        estimate(table.assign(level=["State", "County"]))


def test_areas_are_weighted_sums(tmp_path: Path) -> None:
    table = frame(
        unit=["N", "A", "B", "C"],
        level=["Up", "Low", "Low", "Low"],
        parent=["", "N", "N", "N"],
        value=[40, 10, 12, 21],
        sd=[1.0, 2.0, 2.0, 3.0],
    )
    areas = frame(
        area=["half", "half", "rest", "rest", "twice", "twice", "all", "all", "all"],
        unit=["A", "B", "N", "A", "A", "B", "A", "B", "C"],
        weight=[0.5, 1.0, 1.0, -1.0, 2.0, 1.0, 0.25, 0.25, 0.25],
    )
    done = estimate(table, areas=areas, differences=[("half", "rest")])
    # the estimates of the three units are x + S/T d, with their covariances
    V = np.diag([4.0, 4, 9])
    J = np.linalg.inv(V) + np.ones((3, 3))
    P, x = np.linalg.inv(J), np.linalg.solve(J, np.array([10 / 4, 12 / 4, 21 / 9]) + 40)
    weights = {"half": [0.5, 1, 0], "rest": [0, 1, 1], "twice": [2, 1, 0], "all": [0.25] * 3}
    found = done.to_pandas("areas").set_index("unit")
    for name, row in weights.items():
        w = np.array(row, dtype=float)
        sd = (w @ P @ w) ** 0.5
        assert found["estimate"][name] == pytest.approx(w @ x, rel=1e-12)
        assert found["sd"][name] == pytest.approx(sd, rel=1e-12)
        lower, upper = w @ x - Z90 * sd, w @ x + Z90 * sd
        if name in ("rest", "twice"):  # weights are whole: so is the number
            lower, upper = np.ceil(lower), np.floor(upper)
        assert [found["lower90"][name], found["upper90"][name]] == pytest.approx([lower, upper], rel=1e-9)
    w = np.array(weights["half"]) - np.array(weights["rest"])
    row = done.to_pandas("contrasts").iloc[0]
    assert row["estimate"] == pytest.approx(w @ x, rel=1e-12)
    assert row["sd"] == pytest.approx((w @ P @ w) ** 0.5, rel=1e-12)

    def fails(message: str, **columns: Any) -> None:
        with pytest.raises(InputError, match=message):
            estimate(table, areas=areas.assign(**columns))

    fails("an area names another twice", area="one")
    fails("a weight is missing or not a finite number", weight=[np.nan] + [1.0] * 8)
    fails("an area that is not among the areas", unit=["X", "B", "N", "A", "A", "B", "A", "B", "C"])
    with pytest.raises(InputError, match="an area names another and one that lies within it"):
        estimate(table, areas=areas.drop(columns="weight"))
    with pytest.raises(InputError, match="weight is not a number"):
        estimate(table, areas=written(tmp_path, a="area,unit,weight\nx,A,much\n")["a"])


def test_an_area_with_a_weight_below_zero_is_not_cut_at_zero() -> None:
    table = frame(unit=["A", "B"], value=[1, 9], sd=[1.0, 1.0])
    areas = frame(area=["d", "d", "s"], unit=["A", "B", "A"], weight=[1.0, -1.0, 0.5])
    found = estimate(table, areas=areas).to_pandas("areas").set_index("unit")
    assert found["upper90"]["d"] == np.floor(-8 + Z90 * 2**0.5)
    assert found["lower90"]["s"] == 0.0  # half of a count is not whole, and not below zero
    assert found["upper90"]["s"] == pytest.approx(0.5 + Z90 / 2)


# -- several tables, and DataFrames --------------------------------------------------------------------------


def test_tables_with_different_columns_are_put_together() -> None:
    one = frame(unit=["A", "B"], value=[10.0, 20.5], sd=[1.0, 2.0])
    two = pa.table({"place": ["A", "B"], "n": [12.5, 18.0], "moe": [2 * Z90, 2 * Z90]})
    done = estimate([one, two], columns=[{}, {"unit": "place", "value": "n", "margin90": "moe"}])
    assert not done.additive
    table = done.to_pandas()
    assert table["estimate"].tolist() == pytest.approx([(10 + 12.5 / 4) / 1.25, (20.5 + 18.0) / 2])
    assert table["sd"].tolist() == pytest.approx([0.8**0.5, 2**0.5])
    half = Z90 * table["sd"]
    assert table["upper90"].tolist() == pytest.approx((table["estimate"] + half).tolist(), rel=1e-9)
    with pytest.raises(InputError, match="table 2 holds the same measurements as table 1"):
        estimate([one, one.copy()])


def test_two_columns_of_one_file_are_two_measurements(tmp_path: Path) -> None:
    """They were "the same measurements", as one column twice is."""
    file = tmp_path / "t.csv"
    file.write_text("unit,spring,autumn,sd\nA,10.5,12.5,1\nB,20,18,2\n")
    both = ["value=spring,sd=sd", "value=autumn,sd=sd"]
    table = estimate([file, file], columns=both).to_pandas()
    assert table["estimate"].tolist() == pytest.approx([11.5, 19.0])
    assert table["sd"].tolist() == pytest.approx([0.5**0.5, 2**0.5])
    said = " ".join(" ".join(text_of(describe(estimate([file, file], columns=both)))).split())
    assert "state no attributes" in said  # not that they differ: the areas of one file are the same
    for again in ("value=spring,sd=sd", "value=SPRING,margin90=sd"):
        with pytest.raises(InputError, match="holds the same measurements as"):
            estimate([file, file], columns=["value=spring,sd=sd", again])


def test_changes_since_a_table_of_an_earlier_year() -> None:
    now, before = (frame(unit=["A", "B"], value=v, sd=[3.0, 4.0]) for v in ([10.5, 30.0], [13.0, 20.0]))
    row = estimate(now, since=before).to_pandas("changes").set_index("unit").loc["A"]
    assert row["difference"] == pytest.approx(-2.5)
    assert row["sd"] == pytest.approx(18**0.5)
    assert row["upper90"] == pytest.approx(-2.5 + Z90 * 18**0.5)


def test_what_is_in_memory_is_what_would_be_written(tmp_path: Path) -> None:
    files = written(tmp_path, acs=ACS, units=UNITS)
    areas = frame(area=["x", "x"], unit=["1400000US01001020100", "1400000US01001020200"], weight=[0.5, 1.0])
    more: dict[str, Any] = {"columns": COLUMNS, "areas": areas, "differences": [("x", "0500000US01001")]}
    held = estimate(pandas.read_csv(files["acs"]), units=pandas.read_csv(files["units"]), **more)
    assert held.out is None
    assert sorted(tmp_path.iterdir()) == sorted(files.values())
    assert "in memory" in str(held)
    for kind in ("csv", "parquet"):
        done = estimate(files["acs"], tmp_path / kind, units=files["units"], format=kind, **more)
        for name in ("estimates", "units", "areas", "contrasts"):
            pandas.testing.assert_frame_equal(done.to_pandas(name), held.to_pandas(name), check_dtype=False)
            assert done.to_arrow(name).column("unit").type == pa.string()
        with pytest.raises(InputError, match="has no table changes"):
            done.to_arrow("changes")
    with pytest.raises(InputError, match="there is no table 'changes'; there are estimates, units, areas"):
        held.to_arrow("changes")


def test_a_rehearsal_is_marked_in_memory_too(tmp_path: Path) -> None:
    release, units, records, _ = write_example(tmp_path / "example")
    done = measure(load_file(release), None, tmp_path / "run", records=records, units=units, rehearsal=1)
    held = estimate(done.out).to_pandas()
    assert held["not_private"].str.contains("NOT PRIVATE").all()


def test_codes_that_look_like_numbers_stay_texts(tmp_path: Path) -> None:
    source = written(tmp_path, t="unit,value,sd\n01,1.5,1\n02,2.5,1\n")["t"]
    done = estimate(source, tmp_path / "out")
    assert done.to_pandas()["unit"].tolist() == ["01", "02"]


def test_polars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = estimate(frame(unit=["A"], value=[1.5], sd=[1.0]))
    real = importlib.import_module

    def missing(name: str, *rest: Any) -> Any:
        if name in ("polars", "pandas"):
            raise ImportError(name)
        return real(name, *rest)

    with monkeypatch.context() as patch:
        patch.setattr("discreet.tables.frames.import_module", missing)
        with pytest.raises(
            DiscreetError, match="to_polars needs polars, which is not installed: pip install"
        ):
            done.to_polars()
        with pytest.raises(DiscreetError, match="to_pandas needs pandas"):
            done.to_pandas()
    polars = pytest.importorskip("polars", reason="polars is not installed")
    table = polars.DataFrame({"unit": ["A"], "value": [1.5], "sd": [1.0]})
    assert estimate(table).to_polars().equals(done.to_polars())


def test_draws_have_the_errors_of_normal_noise_and_of_weighted_areas(tmp_path: Path) -> None:
    """1,000 draws, seeded: their standard deviation is known to 2.2 %, so 10 % is far out."""
    table = frame(unit=["N", "A", "B"], parent=["", "N", "N"], value=[9.5, 4.0, 6.0], sd=[1.0, 2.0, 3.0])
    areas = frame(area=["x", "x"], unit=["A", "B"], weight=[0.5, -2.0])
    done = estimate(table, areas=areas, draws=1000, seed=3)
    draws = done.to_pandas("draws").set_index("unit")
    expected = pandas.concat([done.to_pandas(), done.to_pandas("areas")]).set_index("unit")
    for unit in ("N", "A", "B", "x"):
        numbers = draws.filter(like="draw_").loc[unit].to_numpy()
        assert np.std(numbers) == pytest.approx(expected["sd"][unit], rel=0.1)
        assert abs(np.mean(numbers) - expected["estimate"][unit]) < 5 * expected["sd"][unit] / 1000**0.5
    sampled = frame(unit=["N", "A", "B"], query="total", cell="all", sampling_sd=[1.0, 1.0, 1.0])
    source = written(tmp_path, s=sampled.to_csv(index=False))["s"]
    with pytest.raises(InputError, match="sampling errors are for unions of areas, without weights"):
        estimate(table, areas=areas, sampling=source)
    assert estimate(table, sampling=source).to_pandas()["sd"].tolist() > done.to_pandas()["sd"].tolist()


def test_a_table_that_contradicts_itself_is_warned_of_by_the_names_of_its_cells() -> None:
    """Variances differ within the query, so it is solved in pieces; the fit names the query and its cell."""
    table = frame(
        unit=["N", "N", "A", "A", "B", "B"],
        parent=["", "", "N", "N", "N", "N"],
        cell=["x", "y"] * 3,
        value=[100.5, 50.0, 61.0, 24.0, 90.0, 25.0],
        sd=[3.0, 1.0, 3.0, 2.0, 3.0, 4.0],
    )
    fit = estimate(table).fit
    assert fit.chi_square == pytest.approx(50.5**2 / 27 + 1 / 21)
    assert fit.degrees_of_freedom == pytest.approx(2.0)
    assert fit.warning
    assert {(one.query, one.cell) for one in fit.largest[:3]} == {("total", "x")}
