"""`discreet measure` and `discreet estimate`: what they write and say, and input that cannot be used."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import pytest

TOML = """\
name = "regional-counts"
neighbours = "bounded"

[[levels]]
name = "Nation"
queries = { "sex" = { variance = "9" } }

[[levels]]
name = "State"
queries = { "total" = { variance = "4" }, "sex" = { variance = "5" } }

[[levels]]
name = "County"
queries = { "total" = { variance = "6" }, "sex" = { variance = "7/2" } }

[spine]
may_merge_up = ["County"]
"""
COUNTS = """\
unit,parent,level,query,cell,count
N,,Nation,sex,f,318
N,,Nation,sex,m,47
A,N,State,total,all,360
A,N,State,sex,f,313
A,N,State,sex,m,47
A1,A,County,total,all,308
A1,A,County,sex,f,301
A1,A,County,sex,m,7
A2,A,County,total,all,52
A2,A,County,sex,f,12
A2,A,County,sex,m,40
B,N,State+County,total,all,5
B,N,State+County,sex,f,5
B,N,State+County,sex,m,0
"""
UNITS = "unit,level,parent\nN,Nation,\nA,State,N\nA1,County,A\nA2,County,A\nB,State+County,N\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A directory with a release and its counts, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    Path("release.toml").write_text(TOML)
    Path("counts.csv").write_text(COUNTS)
    return tmp_path


@pytest.fixture
def measure(discreet, here):
    def invoke(out, *arguments):
        return discreet(
            "measure", "release.toml", "--counts", "counts.csv", "--out", out, "--no-ledger", *arguments
        )

    return invoke


def _names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


# -- measure ---------------------------------------------------------------------------------------------


def test_measure_says_what_was_spent(measure):
    result = measure("published", "--quiet")
    assert (result.status, result.err) == (0, "")
    assert "14 cells of 5 areas" in result.out
    assert "rho 1277/1260, about 1.01349" in result.out
    assert "NOT PRIVATE" not in result.out
    told = " ".join(result.out.split())
    assert "No ledger: nothing keeps count" in told
    assert "the noise of repeated runs can be averaged away" in told
    assert _names("published") == [
        "manifest.json",
        "measurements.csv",
        "release.toml",
        "units.csv",
    ]


def test_measure_json(measure):
    result = measure("published", "--json", "--post", "consistent", "--invariant", "State/total")
    found = result.json
    assert result.err == ""
    assert found.pop("seconds") > 0
    levels = {error["level"] for error in found.pop("table_errors")}
    assert levels == {"Nation", "State", "State+County", "County"}
    files = ["measurements.csv", "estimates.csv", "units.csv", "invariants.csv"]
    assert found == {
        "release": "regional-counts",
        "unit": "person",
        "neighbours": "bounded",
        "rho": "1277/1260",
        "at_most": 1,
        "rehearsal": None,
        "not_private": False,
        "exact": [["State", "total"]],
        "post": "consistent",
        "units": 5,
        "cells": 14,
        "out": "published",
        "files": [*files, "release.toml", "manifest.json"],
        "ledger": None,
        "together": False,
    }


def test_rehearsal_is_repeated_and_marked(measure):
    first, second = (measure(out, "--rehearsal", 7, "--post", "consistent") for out in ("one", "two"))
    assert first.status == second.status == 0
    assert first.out.startswith("NOT PRIVATE: a rehearsal with seed 7.")
    assert "nothing was spent" in " ".join(first.out.split())
    assert "Time: " in first.err
    for name in ("measurements", "estimates"):
        texts = [Path(out, f"{name}.NOT-PRIVATE.csv").read_text() for out in ("one", "two")]
        assert texts[0] == texts[1]
    assert all("NOT-PRIVATE" in name for name in _names("one"))
    found = measure("three", "--rehearsal", 7, "--json").json
    assert (found["rehearsal"], found["not_private"], found["rho"]) == (7, True, "0")


def test_parquet_out(measure):
    assert measure("published", "--format", "parquet").status == 0
    assert "measurements.parquet" in _names("published")


def test_tables_of_units_and_cells(discreet, here):
    lines = COUNTS.splitlines(keepends=True)
    Path("counts.csv").write_text("".join(line for line in lines if not line.endswith(",0\n")))
    Path("units.csv").write_text(UNITS)
    Path("cells.csv").write_text("query,cell\ntotal,all\nsex,f\nsex,m\n")
    arguments = ("measure", "release.toml", "--counts", "counts.csv", "--rehearsal", 1, "--json")
    found = discreet(*arguments, "--out", "trial", "--units", "units.csv", "--cells", "cells.csv").json
    assert (found["units"], found["cells"]) == (5, 14)
    assert discreet(*arguments, "--out", "other").status == 2


def test_counts_that_do_not_add_up(discreet, refused, here):
    Path("counts.csv").write_text(COUNTS.replace("A2,A,County,sex,m,40", "A2,A,County,sex,m,41"))
    arguments = ("measure", "release.toml", "--counts", "counts.csv", "--out", "out", "--no-ledger")
    assert "or --not-additive, leaves this unchecked" in refused(*arguments)
    assert "(--not-additive) out" in refused(*arguments, "--not-additive", "--post", "consistent")
    assert discreet(*arguments, "--not-additive", "--quiet").status == 0
    assert Path("out/measurements.csv").exists()


def test_invariants_are_named_as_outside_the_guarantee(measure):
    arguments = ("--invariant", "State/total", "--invariant", "County/total", "--post", "consistent")
    result = measure("published", *arguments)
    assert "outside the guarantee: total of State, total of County." in result.out
    with Path("published", "estimates.csv").open() as stream:
        row = next(row for row in csv.DictReader(stream) if (row["unit"], row["query"]) == ("A", "total"))
    assert (row["sd"], row["lower95"], row["upper95"], row["table"]) == ("0", "360", "360", "360")


def test_invariant_of_a_query_with_slashes(discreet, here):
    Path("release.toml").write_text(TOML.replace('"sex"', '"sex/age"'))
    Path("counts.csv").write_text(COUNTS.replace(",sex,", ",sex/age,"))
    arguments = (
        "measure",
        "release.toml",
        "--counts",
        "counts.csv",
        "--out",
        "published",
        "--no-ledger",
    )
    found = discreet(*arguments, "--json", "--invariant", "Nation/sex/age").json
    assert found["exact"] == [["Nation", "sex/age"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--invariant", "total"], "--invariant is 'total'; it must be LEVEL/QUERY"),
        (["--invariant", "Town/total"], "level 'Town'; the release has Nation, State, County"),
        (["--invariant", "State/age"], "query 'age' of level 'State', which has total, sex"),
        (["--post", "tidy"], "Choose from"),
        (["--format", "xlsx"], "Choose from"),
        (["--rehearsal", "one"], 'unable to convert "one" into int'),
        (["--ledger", "no.json"], "there is no ledger"),
        (["--ledger", "release.toml"], "not a ledger"),
        (["--units", "no.csv"], "there is no file no.csv"),
        (["--cells", "counts.csv", "--units", "release.toml"], "release.toml"),
        (["--counts", "no.csv"], "no.csv"),
        (["--out", "counts.csv"], "counts.csv exists and is not a directory"),
        (["--out", "."], "exists and is not empty"),
        (["--out", "no/such"], "no cannot hold the output: it is not a directory"),
    ],
)
def test_what_cannot_be_used(refused, here, arguments, message):
    given = {"--counts": "counts.csv", "--out": "published"}
    for name, value in zip(arguments[::2], arguments[1::2], strict=True):
        given[name] = value
    before = _names(".")
    count = [] if "--ledger" in given else ["--no-ledger"]
    assert message in refused("measure", "release.toml", *count, *(x for pair in given.items() for x in pair))
    assert _names(".") == before


def test_counts_and_out_are_needed(refused, here):
    assert "give either counts or records; neither is given" in refused(
        "measure", "release.toml", "--out", "published", "--no-ledger"
    )
    assert "measure needs --out DIR (A new directory" in refused(
        "measure", "release.toml", "--counts", "counts.csv"
    )


@pytest.mark.parametrize("command", ["measure", "estimate"])
def test_without_pyarrow(refused, here, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    rest = ["release.toml", "--counts", "counts.csv"] if command == "measure" else ["published"]
    line = refused(command, *rest, "--out", "new")
    assert "PyArrow, which is not installed: pip install '.[release]' in a checkout" in line
    assert _names(".") == ["counts.csv", "release.toml"]


def test_terminal_sees_that_work_goes_on(here, monkeypatch):
    from discreet.cli.console import Screen

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for show in (True, False):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        with Screen(quiet=not show).working("Measuring [red]"):
            pass
        assert ("Measuring [red] ..." in terminal.getvalue()) is show


# -- estimate --------------------------------------------------------------------------------------------


def test_estimate_gives_what_measure_gave(measure, discreet):
    measure("published", "--post", "consistent")
    result = discreet("estimate", "published", "--out", "again", "--tables", "--quiet")
    assert (result.status, result.err) == (0, "")
    assert "Nothing was spent." in result.out
    one, other = (Path(out, "estimates.csv").read_bytes() for out in ("published", "again"))
    assert other == one


def test_json_of_a_rehearsal_stays_marked(measure, discreet):
    measure("trial", "--rehearsal", 1)
    found = discreet("estimate", "trial", "--out", "again", "--json").json
    names = [f"{stem}.NOT-PRIVATE.{end}" for stem, end in (("estimates", "csv"), ("units", "csv"))]
    assert found["files"] == [*names, "manifest.NOT-PRIVATE.json"]
    assert (found["units"], found["cells"]) == (5, 15)
    assert discreet("estimate", "trial", "--out", "third").out.startswith("NOT PRIVATE")


def test_post_of_a_table_with_its_units_and_totals(measure, discreet):
    measure("published")
    Path("noisy.csv").write_bytes(Path("published", "measurements.csv").read_bytes())
    Path("units.csv").write_text(UNITS)
    Path("held.csv").write_text("unit,query,cell,count\nA,total,all,360\nB,total,all,5\n")
    arguments = ("--units", "units.csv", "--invariants", "held.csv", "--format", "parquet", "--json")
    found = discreet("estimate", "noisy.csv", "--out", "new", *arguments).json
    assert found["files"] == ["estimates.parquet", "units.parquet", "manifest.json"]


def test_post_that_cannot_be_done(measure, refused):
    measure("published")
    before = _names(".")
    assert "there are no measurements in" in refused("estimate", "nowhere", "--out", "new")
    assert "exists and is not empty" in refused("estimate", "published", "--out", "published")
    assert "there is no file" in refused("estimate", "published", "--out", "new", "--units", "no.csv")
    assert "estimate needs --out DIR (A new directory" in refused("estimate", "published")
    assert _names(".") == before


def test_cells_that_a_spreadsheet_would_run(discreet, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    level = '[[levels]]\nname = "@L"\nqueries = { "@q" = { variance = "4" } }\n'
    Path("release.toml").write_text(f'name = "r"\nneighbours = "bounded"\n{level}')
    Path("counts.csv").write_text(
        'unit,parent,level,query,cell,count\n=HYPERLINK("x"),,@L,@q,-c,5\n"=HYPERLINK(""y"")",,@L,@q,-c,5\n'
    )
    command = (
        "measure",
        "release.toml",
        "--counts",
        "counts.csv",
        "--post",
        "nonnegative",
        "--quiet",
        "--no-ledger",
    )
    assert discreet(*command, "--out", "plain").status == 0
    assert discreet(*command, "--out", "safe", "--for-spreadsheets").status == 0
    for name in ("measurements", "estimates", "units"):
        plain, safe = (
            list(csv.reader(io.StringIO(Path(out, f"{name}.csv").read_text()))) for out in ("plain", "safe")
        )
        assert any(cell.startswith("=") for row in plain for cell in row)
        texts = [cell for row in safe[1:] for cell in row[: 4 if name != "units" else 3]]
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in texts)
        assert {cell.removeprefix("'") for cell in texts} == {
            cell for row in plain[1:] for cell in row[: 4 if name != "units" else 3]
        }
    assert discreet("estimate", "plain", "--out", "again", "--for-spreadsheets").status == 0
    assert Path("again", "estimates.csv").read_text().count("'=HYPERLINK") == 2
    assert "is for tables in CSV" in refused(
        *command, "--out", "x", "--format", "parquet", "--for-spreadsheets"
    )
