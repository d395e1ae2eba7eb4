"""The rehearsal of the whole census: its page marks what it is, and all of it runs on few people."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from present import IS_WHOLE

from discreet.accounting.account import account
from discreet.budget import Level, Query, Release, Spine
from discreet.cli import run
from discreet.ledger import create_ledger, ledger_cost, ledger_release, read_ledger
from discreet.measurement import measure

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def census(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(DOCS)
    import make_census

    return make_census


@pytest.fixture
def steps() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads((DOCS / "demo" / "census.toml").read_text("utf-8"))["steps"]
    return found


def _noted(names: list[str]) -> dict[str, Any]:
    ran = {"command": "synth nation", "printed": "a < b", "seconds": 4, "processor": 2.0, "memory": 10**9}
    done = {name: {"runs": [{**ran, "load": 1.5}], "disk": 5_000_000} for name in names}
    return {"nation": {"people": 331_449_281 // 1000, "seed": 1, "areas": 9}, "done": done, "started": {}}


def test_the_page_says_what_is_invented_extrapolated_and_left_out(
    census: Any, steps: list[dict[str, Any]], tmp_path: Path
) -> None:
    page = census.page(steps, _noted(["nation", "ddhca"]), tmp_path)
    assert "Everybody here is invented (331,449 people, seed 1)" in page
    assert "a &lt; b" in page
    assert "Left out of this run: One ledger; Redistricting Data: persons" in page
    # twice 2 seconds for a thousandth of the nation: 4,000 seconds are 1.1 hours
    assert "Extrapolated, not run." in page
    assert "about 1.1 processor hours" in page
    assert page.count("<td>") == 2 * 5


@pytest.mark.skipif(not IS_WHOLE, reason="it runs commands of many guests")
def test_every_command_of_a_step_is_there(census: Any, steps: list[dict[str, Any]]) -> None:
    """Commands exist, and what they read is made before: the nation, or an earlier step."""
    from discreet.cli.commands import all_commands

    made: set[str] = {"nation"}
    for step in steps:
        for command in step["commands"]:
            word = command.split()[0]
            assert word in all_commands() or hasattr(census, word.removeprefix("!"))
            for text in command.split():
                top = text.partition("/")[0]
                assert "/" not in text or top in made | {"1"}, text
            made |= set(step.get("makes", ()))
    assert len({step["name"] for step in steps}) == len(steps)


def test_a_folder_of_something_else_is_kept(census: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(SystemExit, match="no census was rehearsed there"):
        census.main([str(tmp_path), "2000"])
    assert (tmp_path / "mine.txt").read_text() == "kept"


def test_a_stopped_rehearsal_goes_on(census: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of two commands that stopped after the first repeats neither it nor the steps before."""
    ran: list[str] = []

    def timed(command: str, _: Path) -> dict[str, Any]:
        if command == "b" and ran.count("b") == 0:
            ran.append("b")
            raise KeyboardInterrupt
        ran.append(command)
        return {"command": command, "printed": "", "seconds": 1, "processor": 1.0, "memory": 1, "load": 0.0}

    monkeypatch.setattr(census, "timed", timed)
    one = {"title": "x", "text": "y"}
    steps = [{"name": "first", "commands": ["a"], **one}, {"name": "second", "commands": ["a2", "b"], **one}]
    nation = {"people": 10, "seed": 1, "areas": 9}
    with pytest.raises(KeyboardInterrupt):
        census.rehearse(tmp_path / "out", steps, nation, ())
    census.rehearse(tmp_path / "out", steps, nation, ())
    assert ran == ["a", "a2", "b", "b"]
    assert (tmp_path / "out" / "index.html").exists()


def test_a_line_through_the_sizes() -> None:
    """Exact points of 3 + 2 x give that line, marked as extrapolated."""
    from benchmarks import bench_census

    found = []
    for people in (10**6, 2 * 10**6, 4 * 10**6):
        noted = _noted(["ddhca"])
        noted["nation"]["people"] = people
        noted["done"]["ddhca"]["runs"][0]["processor"] = 3 + 2 * people / 1e6
        found.append(noted)
    assert bench_census.line(found, "ddhca") == pytest.approx((3, 2))
    text = bench_census.markdown(found)
    assert "| 2.0 | 0.2 h |" in text  # 3 + 2 * 331 seconds
    assert "*Extrapolated*, not run" in text


def test_a_unit_without_runs_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `account --unit` says of a unit that no run is about, in place of a traceback."""
    create_ledger(tmp_path / "ledger.json")
    levels = '[[levels]]\nname = "N"\nqueries = { "total" = { variance = 4 } }\n'
    (tmp_path / "r.toml").write_text(f'name = "r"\nneighbours = "bounded"\n{levels}')
    (tmp_path / "c.csv").write_text("unit,level,query,cell,count\nN,N,total,all,5\n")
    place = ["--counts", str(tmp_path / "c.csv"), "--out", str(tmp_path / "o")]
    assert run(["measure", str(tmp_path / "r.toml"), *place, "--ledger", str(tmp_path / "ledger.json")]) == 0
    capsys.readouterr()
    assert run(["account", str(tmp_path / "ledger.json"), "--unit", "person+household"]) == 2
    assert "no run about the unit 'household'; its runs are about person" in capsys.readouterr().err


def test_units_that_change_together_are_one_release(tmp_path: Path) -> None:
    """A person and a household are on paths of their own, even in one tree; the ledger says the same cost."""
    ledger = tmp_path / "ledger.json"
    create_ledger(ledger)
    levels = [Level(name=name, queries=[Query(name="total", variance=4)]) for name in ("N", "S", "B")]
    rows = [("N", "", "N", 5), ("s", "N", "S", 5), ("b", "s", "B", 5)]
    for number, (unit, merged) in enumerate((("person", "B"), ("household", "S"), ("household", "B"))):
        release = Release(
            name=f"r{number}",
            unit=unit,
            neighbours="bounded",
            levels=levels,
            spine=Spine(may_merge_up=[merged]),
        )
        table = {"unit": [], "parent": [], "level": [], "query": [], "cell": [], "count": []}
        for row in rows:
            for column, value in zip(table, (*row[:3], "total", "all", row[3] + number), strict=True):
                table[column].append(value)
        measure(release, pyarrow.table(table), out=tmp_path / release.name, ledger=ledger)
    joint = ledger_release(ledger, unit="household+person")
    assert (joint.unit, joint.title) == (
        "household",
        "3 runs of one ledger, one household and one person changed together",
    )
    assert len(joint.paths) == 8  # two for each run; the runs of households differ in what is merged
    cost = ledger_cost(read_ledger(ledger), unit="person+household", neighbours="bounded")
    assert account(joint).epsilon(delta=1e-10) == pytest.approx(cost.epsilon, rel=1e-12)
    alone = account(ledger_release(ledger, unit="household")).epsilon(delta=1e-10)
    assert alone < cost.epsilon


@pytest.mark.slow
@pytest.mark.skipif(not IS_WHOLE, reason="it runs commands of many guests")
def test_the_whole_census_on_few_people(tmp_path: Path) -> None:
    """All steps but the whole-number tables of the DHC, which take minutes. Measured: 91 CPU-seconds."""
    out = tmp_path / "census"
    command = [sys.executable, str(DOCS / "make_census.py"), str(out), "2000", "--areas", "9"]
    skipped = ["dhc-persons-tables", "dhc-units-tables"]
    subprocess.run([*command, "--skip", *skipped], check=True, capture_output=True, timeout=3000)
    noted = json.loads((out / "steps.json").read_text())
    printed = {name: [run["printed"] for run in done["runs"]] for name, done in noted["done"].items()}
    shown = " ".join(printed["account"][0].split())
    assert "discreet-ledger.json: 8 runs." in shown
    for unit in ("person", "household", "housing unit"):
        assert f"charged to this unit together cost one {unit} (bounded neighbours) epsilon at most" in shown
    everything = "All runs together cost one person+housing unit+household (bounded neighbours)"
    assert f"{everything} epsilon at most" in shown
    assert shown.count("; left out: ") == 3
    assert "sound; 8 runs" in printed["account"][2]
    assert (out / "report.html").exists()
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "Everybody here is invented (2,000 people" in page
