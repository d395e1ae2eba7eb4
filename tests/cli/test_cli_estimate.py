"""`discreet estimate`: sampling errors, draws and tables to print, as they are asked for in a shell."""

from __future__ import annotations

import pytest

from discreet import load
from discreet.measurement import measure, write_example


@pytest.fixture
def trial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_example(".")
    measure(
        load("release.toml"),
        None,
        records="records.csv",
        units="units.csv",
        id="id",
        out="trial",
        rehearsal=1,
    )
    (tmp_path / "areas.csv").write_text("area,unit\ncoast,North\ncoast,West\ninland,South\n")
    return tmp_path


def test_tables_are_printed(discreet, refused, trial):
    given = ["estimate", "trial", "--print", "age", "--areas", "areas.csv", "--out", "t.html", "--quiet"]
    text = discreet(*given).out
    assert "NOT PRIVATE" in text
    assert "Age, by area: 2 rows, 5 columns." in text
    assert "Intervals: noise only." in text
    assert (trial / "t.html").is_file()
    found = discreet(*given[:-2], "u.xlsx", "--margins", "beneath", "--json").json
    assert found["tables"] == [{"query": "age", "rows": 2, "columns": 5}]
    assert "Give --print QUERY" in refused("estimate", "trial", "--out", "v.xlsx", "--quiet")
    assert not (trial / "v.xlsx").exists()


def test_sampling_errors_and_draws(discreet, refused, trial):
    names = [row.split(",")[0] for row in (trial / "units.csv").read_text().splitlines() if "District" in row]
    rows = "".join(f"{name},total,all,{50 + place},{52 - place}\n" for place, name in enumerate(names))
    (trial / "s.csv").write_text(f"unit,query,cell,rep_1,rep_2\n{rows}")
    given = ["estimate", "trial", "--query", "total", "--sampling", "s.csv", "--quiet"]
    text = discreet(*given, "--replicate-factor", "1/2", "--draws", 3, "--seed", 1, "--out", "out").out
    assert "Intervals: noise and sampling." in text
    assert "CAUTION: sampling errors computed from confidential records" in text
    assert "Draws: 3 of every estimate." in text
    assert "sampling_sd" in (trial / "out" / "estimates.NOT-PRIVATE.csv").read_text()
    assert "draw_3" in (trial / "out" / "draws.NOT-PRIVATE.csv").read_text()
    assert "--replicate-factor" in refused(*given, "--out", "other")


@pytest.mark.slow
def test_microdata_and_their_check(discreet, refused, trial):
    text = discreet("estimate", "trial", "--microdata", "--histogram", "--out", "out", "--quiet").out
    assert "Histogram: " in text
    assert "one for each person in the tables" in text
    assert "`discreet check-tables out` reads them back" in text.replace("\n", " ")
    checked = discreet("check-tables", "out", "--quiet")
    assert checked.status == 0
    assert "Every number is what they count to." in checked.out
    file = trial / "out" / "microdata.NOT-PRIVATE.csv"
    assert (
        file.read_text().count("NOT PRIVATE: made from a rehearsal") == len(file.read_text().splitlines()) - 1
    )
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    wrong = discreet("check-tables", "out", "--quiet")
    assert wrong.status == 2
    assert "3 numbers differ in the histogram" in wrong.out
    assert "neither microdata nor a histogram" in refused("check-tables", "trial")
    given = ["estimate", "trial", "--microdata", "--print", "age", "--out", "t.csv", "--quiet"]
    assert "microdata cannot be printed" in refused(*given)
