"""Estimates say of what they are: one query of three, one level left out, one number and not all together."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.answers import describe
from discreet.answers.accuracy import margins_section
from discreet.answers.changes import changes_section
from discreet.answers.fit import fit_sentence
from discreet.answers.measurements import each_by_itself
from discreet.answers.printed import footnotes
from discreet.budget import Release
from discreet.cli import run
from discreet.estimation import Estimated, accuracy, compare_areas, estimate, regress
from discreet.estimation.output.fit_report import fit_record
from discreet.measurement import measure
from discreet.render.text import text_of
from discreet.reports.printed import print_tables

TEXT = """
name = "s"
neighbours = "unbounded"
[attributes]
age = ["0-17", "18+"]
sex = ["f", "m"]
[[levels]]
name = "Land"
queries = { "total" = { variance = 2 }, "age" = { variance = 4 }, "age * sex" = { variance = 8 } }
[[levels]]
name = "Kreis"
queries = { "total" = { variance = 2 }, "age" = { variance = 4 }, "age * sex" = { variance = 8 } }
[[levels]]
name = "Ort"
queries = { "age" = { variance = 4 }, "age * sex" = { variance = 8 } }
"""
RELEASE = Release.from_toml(TEXT)
APART = Release.from_toml(re.sub(r"\[attributes\].*?(?=\[\[levels)", "", TEXT, count=1, flags=re.DOTALL))
AREAS = "unit,level,parent\nL,Land,\nA,Kreis,L\nB,Kreis,L\na1,Ort,A\na2,Ort,A\nb1,Ort,B\n"


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("scope")
    (here / "units.csv").write_text(AREAS)
    lines = [f"{('a1', 'a2', 'b1')[n % 3]},{('0-17', '18+')[n % 5 > 1]},{'fm'[n % 2]}" for n in range(120)]
    (here / "r.csv").write_text("\n".join(["unit,age,sex", *lines]) + "\n")
    measure(RELEASE, None, here / "noisy", records=here / "r.csv", units=here / "units.csv", rehearsal=1)
    return here / "noisy"


def words(found: object) -> str:
    return " ".join(" ".join(text_of(describe(found))).split())


def said(found: Estimated) -> dict[str, Any]:
    return describe(found).objects["claims"]["cells"]["scope"]  # type: ignore[index,no-any-return]


def test_all_that_was_measured_is_the_whole(noisy: Path) -> None:
    found = estimate(noisy)
    assert found.scope.is_whole
    assert said(found)["whole"] is True
    assert "about part of" not in words(found)


@pytest.mark.parametrize("query", ["total", "age", "age * sex"])
@pytest.mark.parametrize("only", [False, True])
def test_one_query_of_three_is_named(noisy: Path, query: str, only: bool) -> None:
    found = estimate(noisy, queries=[query], only_tables=only)
    assert f"These numbers are about part of noisy only: the query {query}, 1 of 3." in words(found)
    part = {"part": "query", "taken": 1, "of": 3, "names": [query]}
    assert said(found)["parts"][0] == part
    assert said(found)["whole"] is False


@pytest.mark.parametrize(
    ("level", "told", "areas"),
    [("Land", "the level Land, 1 of 3", 1), ("Kreis", "the levels Land and Kreis, 2 of 3", 3)],
)
@pytest.mark.parametrize("only", [False, True])
def test_levels_that_were_not_written_are_left_out(
    noisy: Path, level: str, told: str, areas: int, only: bool
) -> None:
    found = estimate(noisy, down_to=level, only_tables=only)
    assert f"These numbers are about part of noisy only: {told}, {areas} of 6 areas." in words(found)
    assert [one["taken"] for one in said(found)["parts"]] == [3, told.count(" and ") + 1, areas]


def test_a_table_in_memory_is_called_by_its_number(noisy: Path) -> None:
    frames = [{"unit": ["A", "B"], "value": [10.0, 20.0], "sd": [1.0, 1.0]} for _ in range(2)]
    frames[1]["value"] = [11.0, 19.5]
    import pyarrow

    found = estimate([pyarrow.table(one) for one in frames])
    assert found.scope.of == ("table 1", "table 2")


@pytest.mark.parametrize("levels", [["0.9"], ["0.9", "0.99"]])
def test_intervals_hold_one_by_one(noisy: Path, levels: list[str]) -> None:
    found = estimate(noisy, queries=["age"], levels=levels)
    often = {1: "90 %", 2: "90 % and 99 %"}[len(levels)]
    sentence = f"Each interval holds {often} of the time by itself; nothing is said of all 12 together."
    assert sentence in words(found)
    assert describe(found).objects["coverage"] == {
        "of": "each number by itself",
        "numbers": 12,
        "levels": levels,
    }
    one = estimate(noisy, queries=["total"], down_to="Land")
    assert "nothing is said of all" not in words(one)
    assert each_by_itself(5, []) == ""


def test_whole_numbers_alone_have_no_intervals(noisy: Path) -> None:
    found = estimate(noisy, only_tables=True)
    assert "holds" not in words(found)
    assert describe(found).objects["coverage"]["numbers"] == 0  # type: ignore[index,call-overload]


def test_a_fit_says_how_many_measurements_it_saw(noisy: Path) -> None:
    fit = estimate(noisy).fit
    assert fit is not None
    assert "of the" not in str(fit_sentence(fit))
    assert fit_record(fit, numbered=False)["checked"] == fit.checked.document()
    every = fit.cells
    partial = replace(fit, cells=every - 8, unread=8)
    assert f"Fit of {every - 8} of {every} measurements: chi-square" in str(fit_sentence(partial))
    assert partial.checked.document()["taken"] == every - 8


def test_margins_to_print_are_each_of_one_number(noisy: Path, tmp_path: Path) -> None:
    found = print_tables(noisy, tmp_path / "t.csv", prints=["age"], down_to="Kreis")
    assert (
        "Each margin of error holds 95 % of the time by itself; nothing is said of all 9 together."
        in words(found)
    )
    assert "is within it, each number by itself." in (tmp_path / "t.csv").read_text()
    scope: Any = describe(found).objects["scope"]
    assert [one["names"] for one in scope["parts"]] == [["age"], ["Land", "Kreis"], []]
    none = print_tables(noisy, tmp_path / "n.csv", prints=["age"], margins="none")
    assert "holds" not in words(none)
    assert "Intervals:" not in words(none)  # there are none
    (tmp_path / "areas.csv").write_text("area,unit\nboth,a1\nboth,b1\n")
    own = print_tables(noisy, tmp_path / "a.csv", prints=["age"], areas=tmp_path / "areas.csv")
    assert [part.noun for part in own.scope.parts] == ["query"]


def test_printed_numbers_say_what_they_are_made_from(noisy: Path, tmp_path: Path) -> None:
    found = print_tables(noisy, tmp_path / "t.csv", prints=["age"])
    for changed, told in (
        ({}, "are the best estimates from all of them together."),
        ({"whole": True}, "are whole numbers near the best estimates from all of them together."),
        ({"together": False}, "are the best estimates, each query by itself."),
        (
            {"additive": False},
            "are the best estimates, each release by itself and then their weighted means.",
        ),
    ):
        text = footnotes(found.tables[0], replace(found, **changed))[0]  # type: ignore[arg-type]
        assert told in text, changed


def test_a_margin_of_a_plan_is_of_one_cell() -> None:
    found = accuracy(RELEASE, tree=[2, 2])
    assert "A margin is of one cell in one area by itself" in words(found)
    assert describe(found).objects["margins"] == "of one cell in one area, by itself"
    for release, told in (
        (RELEASE, "from all queries and levels together"),
        (APART, "from each query by itself"),
    ):
        section = margins_section(release, accuracy(release, tree=[2, 2]))
        assert told in str(section.body[0])
        assert "of 2020" not in str(section.body[0])
        assert "Land to Kreis 2" in str(section.body[0])


@pytest.mark.parametrize("slopes", [1, 2])
def test_coefficients_are_covered_one_by_one(slopes: int) -> None:
    rng = np.random.default_rng(7)
    frame = {name: rng.normal(size=80).tolist() for name in ("x", "z")}
    frame["y"] = [
        x + z + error for x, z, error in zip(frame["x"], frame["z"], rng.normal(size=80), strict=True)
    ]
    found = regress(frame, "y", ["x", "z"][:slopes], noise={"x": 0.05})
    assert "Intervals cover 95 % of the time, each by itself. They are about" in words(found)
    unbounded = replace(found, slopes=tuple(replace(one, lower=None) for one in found.slopes))
    assert "Intervals cover 95 % of the time. They are about" in words(unbounded)


def test_compared_areas_are_covered_one_by_one() -> None:
    found = compare_areas({"unit": ["A", "B"], "estimate": [520.0, 480.0], "sd": [6.0, 8.0]})
    assert "each by itself." in words(found)


@pytest.mark.parametrize(
    ("release", "told"), [(RELEASE, "over areas and queries."), (APART, "each query by itself")]
)
def test_whole_numbers_beside_measurements_add_up_as_the_release_lets_them(
    noisy: Path, tmp_path: Path, release: Release, told: str
) -> None:
    counts = noisy.parent / "counts"
    if not counts.exists():
        where = ["--units", str(noisy.parent / "units.csv"), "--out", str(counts)]
        (noisy.parent / "s.toml").write_text(TEXT)
        made = run(
            ["tabulate", str(noisy.parent / "s.toml"), "--records", str(noisy.parent / "r.csv"), *where]
        )
        assert made == 0
    done = measure(
        release,
        counts / "counts.csv",
        tmp_path / "out",
        units=counts / "units.csv",
        rehearsal=1,
        post="consistent",
    )
    assert told in words(done)
    assert describe(done).objects["together"] is (release is RELEASE)


def test_every_query_is_every_query_that_both_releases_have() -> None:
    from discreet.reports.html import gather

    fewer = Release.from_toml(TEXT.rpartition("[[levels]]")[0])
    for other, told in ((RELEASE, "All 3 levels: 100"), (fewer, "All 2 levels that both have: 100")):
        both = (gather(one, certify=False, savings=False) for one in (other.scaled(2), RELEASE))
        text = " ".join(str(item) for item in changes_section(*both).body[1].items)  # type: ignore[union-attr]
        assert told in text


def test_the_command_writes_the_scope(
    noisy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "o")
    assert run(["estimate", str(noisy), "--out", out, "--query", "age", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["claims"]["cells"]["scope"]["parts"][0]["names"] == ["age"]
    assert record["fit"]["checked"]["of"] == record["fit"]["checked"]["taken"]
