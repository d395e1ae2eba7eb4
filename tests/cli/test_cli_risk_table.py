from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.disclosure import expected_ratio, ratio

ROWS = "unit,level,query,cell,value,variance\na,State,t,c,70,5\nb,Block,t,c,8,5\nc,Block,t,c,1,5\n"


@pytest.fixture
def released(tmp_path: Path) -> Path:
    path = tmp_path / "measurements.csv"
    path.write_text(ROWS)
    return path


def test_words(discreet: Callable[..., Any], released: Path) -> None:
    result = discreet("risk", "table", released, "--prior", "1/10", "--known", "0", "--quiet")
    assert result.status == 0
    text = " ".join(result.out.split())
    assert (
        "someone who knows everyone else in the row, 0 with the characteristics, and gives the target" in text
    )
    assert "Block 2 50 % 1.094 3.324 3.324 3.324 3.324" in text
    assert "all rows 3 66.7 %" in text
    assert "In 66.7 of 100 rows this adversary's odds that the target is present (chance present to" in text
    assert "chance absent) more than double." in text


def test_json_csv_and_plot(discreet: Callable[..., Any], released: Path, tmp_path: Path) -> None:
    out, plot = tmp_path / "rows.csv", tmp_path / "figure.svg"
    found = discreet(
        "risk", "table", released, "--prior", "1/10", "--json", "--csv", out, "--plot", plot
    ).json
    assert found["rows"] == 3
    assert (
        "weighted as the table itself suggests (for 3 rows that are large or have few" in found["adversary"]
    )
    state = found["levels"][0]
    assert state["level"] == "State"
    assert state["maximum_ratio"] == pytest.approx(expected_ratio(variance=5, prior="1/10"), rel=1e-13)
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0])[-3:] == ["posterior", "ratio", "chance_odds_doubled"]
    assert float(rows[0]["ratio"]) == state["maximum_ratio"]
    assert b"<svg" in plot.read_bytes()[:1000]


def test_a_prior_and_a_weight_for_each_row(discreet: Callable[..., Any], tmp_path: Path) -> None:
    table, out = tmp_path / "table.csv", tmp_path / "rows.csv"
    table.write_text("value,variance,others,chance\n8,5,0,0.1\n2,5,3,0.5\n9,5,5,0.002\n")
    given = ("risk", "table", table, "--prior-column", "chance", "--known-column", "others")
    found = discreet(*given, "--json", "--csv", out).json
    assert found["prior"] is None
    assert "gives the target the chance that column 'chance' says" in found["adversary"]
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    own = [
        ratio(int(row["value"]), variance=5, prior=float(row["chance"]), known=int(row["others"]))
        for row in rows
    ]
    assert [float(row["ratio"]) for row in rows] == pytest.approx(own, rel=1e-13)
    # evidence 1.5, -0.3 and 0.7: the odds double in the first and the third, which count 1 and 6 of 11 people
    assert found["all"]["share_odds_doubled"] == pytest.approx(2 / 3)
    assert found["all"]["targets_odds_doubled"] == pytest.approx(7 / 11)
    assert "these rows count 63.6 in 100 of all people" in " ".join(discreet(*given).out.split())


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "value,variance,p\n8,5,1\n",
            ("--known", "0"),
            "a prior does not lie strictly between 0 and 1 (line 2",
        ),
        ("value,variance,p\n8,5,0.5\n", (), "with a prior for each row the known counts are needed"),
        ("value,variance,p\n8,5,0.5\n", ("--prior", "1/2"), "both are given: state one prior"),
    ],
)
def test_bad_priors_of_rows(
    discreet: Callable[..., Any], tmp_path: Path, text: str, options: tuple[str, ...], message: str
) -> None:
    (tmp_path / "table.csv").write_text(text)
    result = discreet("risk", "table", tmp_path / "table.csv", "--prior-column", "p", *options)
    assert result.status == 2
    assert message in result.err


def test_output_of_measure(discreet: Callable[..., Any], small: Path, tmp_path: Path) -> None:
    counts, out = tmp_path / "counts.csv", tmp_path / "out"
    lines = ["unit,parent,level,query,cell,count"]
    for unit, parent, level, count in (
        ("S", "", "State", 30),
        ("A", "S", "County", 10),
        ("B", "S", "County", 20),
    ):
        for query, cells in (("total", ["all"]), ("age by sex", ["m", "f"])):
            lines += [f"{unit},{parent},{level},{query},{cell},{count // len(cells)}" for cell in cells]
    counts.write_text("\n".join(lines) + "\n")
    for kind in ("csv", "parquet"):
        here = out.with_name(kind)
        done = discreet(
            "measure", small, "--counts", counts, "--out", here, "--rehearsal", "3", "--format", kind
        )
        assert done.status == 0, done.err
        (file,) = here.glob(f"measurements*.{kind}")
        found = discreet("risk", "table", file, "--prior", "1/2", "--known", "9", "--json").json
        assert [(level["level"], level["rows"]) for level in found["levels"]] == [("State", 3), ("County", 6)]


def test_detailed_groups(discreet: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "t1.csv"
    path.write_text(
        "REGION_ID|REGION_TYPE|ITERATION_CODE|COUNT|NOISE_VARIANCE\n01|STATE|1|7|4\n02|STATE|1|0|4\n"
    )
    found = discreet("risk", "table", path, "--prior", "1/2", "--known", "3", "--nonnegative", "--json").json
    assert found["levels"][0]["maximum_ratio"] == ratio(7, variance=4, prior="1/2", known=3)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--level-column", "region"), "has no column 'region'"),
        (("--known", "-1"), "known is -1"),
        (("--known", "1", "--known-column", "value"), "stated twice"),
        (("--prior", "1"), "prior is 1"),
        (("--csv", "rows.txt"), "its name must end in .csv"),
    ],
)
def test_refusals(
    refused: Callable[..., str], tmp_path: Path, released: Path, options: tuple[str, ...], says: str
) -> None:
    prior = () if "--prior" in options else ("--prior", "1/2")
    assert says in refused("risk", "table", released, *prior, *options)
    assert [one.name for one in tmp_path.iterdir()] == [released.name]


def test_the_table_itself_is_not_overwritten(refused: Callable[..., str], released: Path) -> None:
    assert "which is the table itself" in refused(
        "risk", "table", released, "--prior", "1/2", "--csv", released
    )
    assert released.read_text() == ROWS
