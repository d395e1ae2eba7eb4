"""`discreet ledger`, and `discreet account` on a ledger."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.errors import PrecisionError
from discreet.ledger import read_ledger

TOML = """\
name = "counts"
neighbours = "bounded"

[[levels]]
name = "State"
queries = { "total" = { variance = "4" } }

[[levels]]
name = "County"
queries = { "total" = { variance = "4" } }
"""
COUNTS = """\
unit,parent,level,query,cell,count
A,,State,total,all,60
A1,A,County,total,all,50
A2,A,County,total,all,10
"""


@pytest.fixture
def measure(discreet, tmp_path, monkeypatch):
    """Run one measurement of rho 1/2 that is noted in ledger.json."""
    monkeypatch.chdir(tmp_path)
    Path("release.toml").write_text(TOML)
    Path("counts.csv").write_text(COUNTS)

    def invoke(out, *arguments):
        fixed = ("measure", "release.toml", "--counts", "counts.csv", "--ledger", "ledger.json")
        if "--once" not in arguments:
            fixed += ("--spend-again",)
        arguments = [one for one in arguments if one != "--once"]
        return discreet(*fixed, "--out", out, *arguments)

    return invoke


def _lines(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_new_show_check_account(measure, discreet):
    made = discreet("ledger", "new", "ledger.json", "--total", "person:bounded:5/4")
    assert made.status == 0
    assert _lines(made.out)[-1] == "on one person, bounded neighbours: rho 5/4"
    measure("one")
    measure("two", "--invariant", "State/total")
    measure("trial", "--rehearsal", 3)

    shown = discreet("ledger", "show", "ledger.json")
    assert (shown.status, shown.err) == (0, "")
    lines = _lines(shown.out)
    assert lines[0] == "ledger.json: 3 runs."
    assert "person bounded 5/4 1 1/4" in lines
    assert "person unbounded no total 1/2" in lines
    assert "Run 2 publishes total of State without noise, outside the guarantee." in lines
    assert sum("NOT PRIVATE" in line for line in lines) == 1

    checked = discreet("ledger", "check", "ledger.json")
    assert (checked.status, checked.err) == (0, "")
    assert _lines(checked.out)[0] == "ledger.json: sound; 3 runs, 13 files as recorded"

    told = " ".join(discreet("account", "ledger.json", "--delta", "1e-10", "--quiet").out.split())
    assert "Note: Held exact, outside the guarantee: State: total" in told
    found = discreet("account", "ledger.json", "--unit", "person", "--delta", "1e-10", "--json").json
    assert found["release"] == "ledger"
    both = discreet("account", "release.toml", "release.toml", "--delta", "1e-10", "--json").json
    assert found["results"][0]["epsilon"] == pytest.approx(both["results"][0]["epsilon"], rel=1e-9)


def test_a_ledger_and_a_portfolio_of_the_same_runs_agree(measure, discreet):
    """Three runs of two levels that may merge: 13.617059 at 1e-2, where the main path alone has 13.519938."""
    text = (
        TOML.replace("bounded", "unbounded").replace('"4"', '"1/2"') + '[spine]\nmay_merge_up = ["County"]\n'
    )
    Path("release.toml").write_text(text)
    discreet("ledger", "new", "ledger.json")
    assert [measure(run).status for run in ("one", "two", "three")] == [0, 0, 0]
    by_ledger = discreet("account", "ledger.json", "--delta", "1e-2", "--json").json["results"][0]
    together = ("account", *["release.toml"] * 3, "--delta", "1e-2", "--json")
    by_portfolio = discreet(*together).json["results"][0]
    assert by_ledger["epsilon"] == pytest.approx(by_portfolio["epsilon"], rel=1e-12)
    assert round(by_ledger["epsilon"], 6) == 13.617059
    shown = discreet("ledger", "show", "ledger.json", "--delta", "1e-2").out
    assert "13.6171" in " ".join(shown.split())


def test_show_json(measure, discreet):
    discreet(
        "ledger", "new", "ledger.json", "--total", "person:unbounded:1", "--total", "household:bounded:2"
    )
    measure("one")
    found = discreet("ledger", "show", "ledger.json", "--json").json
    assert found["ledger"] == "ledger.json"
    person, household = found["totals"]
    assert person == {"unit": "person", "neighbours": "unbounded", "rho": "1", "spent": "1/4", "left": "3/4"}
    assert (household["spent"], household["left"]) == ("0", "2")
    assert found["spent"] == [{"unit": "person", "bounded": "1/2", "unbounded": "1/4"}]
    (run,) = found["runs"]
    assert (run["release"], run["rho"], run["rehearsal"], run["output"]) == ("counts", "1/2", None, "one")
    (cost,) = found["costs"]
    assert (cost["unit"], cost["neighbours"], cost["delta"], cost["kind"]) == (
        "person",
        "bounded",
        1e-10,
        "exact",
    )
    account = discreet("account", "ledger.json", "--delta", "1e-10", "--json").json
    assert cost["epsilon"] == account["results"][0]["epsilon"]
    assert (
        discreet("ledger", "show", "ledger.json", "--delta", "1e-5", "--json").json["costs"][0]["delta"]
        == 1e-5
    )
    assert "measurements.csv" in run["files"]


def test_a_total_is_never_exceeded(measure, discreet, refused):
    discreet("ledger", "new", "ledger.json", "--total", "person:bounded:1/2")
    assert measure("one").status == 0
    before = Path("ledger.json").read_bytes()
    result = measure("two")
    assert (result.status, result.out) == (2, "")
    assert "the run needs rho 1/2" in result.err
    assert "only 0 is left" in result.err
    assert not Path("two").exists()
    assert Path("ledger.json").read_bytes() == before


def test_a_unit_with_a_space(measure, discreet):
    result = discreet("ledger", "new", "ledger.json", "--total", "housing unit:bounded:0.5")
    assert "housing unit, bounded neighbours: rho 1/2" in result.out
    assert "no total" not in discreet("ledger", "show", "ledger.json").out
    refusal = measure("one")
    assert refusal.status == 2
    assert "none for person" in refusal.err


def test_empty_ledgers(discreet, refused, tmp_path):
    ledger = tmp_path / "ledger.json"
    assert "without totals" in " ".join(discreet("ledger", "new", ledger).out.split())
    assert discreet("ledger", "show", ledger).out.rstrip().endswith("0 runs.")
    assert "sound" in discreet("ledger", "check", ledger).out
    assert "has no run that counts" in refused("account", ledger)


def test_check_lists_problems_one_a_line(measure, discreet):
    discreet("ledger", "new", "ledger.json", "--total", "person:bounded:1")
    measure("one")
    measure("two")
    Path("one", "measurements.csv").write_text("changed")
    Path("two", "units.csv").unlink()
    # a total below what is spent is refused; older versions wrote it
    low = {"unit": "person", "neighbours": "bounded", "rho": "3/4", "time": "", "reason": "too late"}
    ledger = read_ledger("ledger.json")
    records = (*ledger.records, {"kind": "total"} | low)
    Path("ledger.json").write_text(replace(ledger, records=records).to_text())
    checked = discreet("ledger", "check", "ledger.json")
    assert (checked.status, checked.err) == (2, "")
    head, *problems = checked.out.splitlines()
    assert head.startswith("ledger.json: 3 problems; 2 runs, 6 files")
    assert [line.partition(":")[0] for line in problems] == ["problem"] * 3 + ["not seen"]
    assert "rho 1, more than the total" in problems[0]
    assert "measurements.csv of one was changed" in problems[1]
    assert "units.csv of two is missing" in problems[2]


def _checked(discreet, *folders):
    done = discreet("ledger", "check", "ledger.json", *folders)
    assert done.err == ""
    return done.status, done.out


def test_check_reads_the_outputs_that_it_is_given(measure, discreet):
    discreet("ledger", "new", "ledger.json")
    measure("one")
    Path("published").mkdir()
    copy = Path(shutil.copytree("one", "published/copy"))
    for folder in ("published", "published/copy", "one"):
        status, out = _checked(discreet, folder)
        assert (status, "sound" in out) == (0, True), folder
    assert "8 files as recorded" in _checked(discreet, "published")[1]
    for name, old in (("measurements.csv", '"A1"'), ("manifest.json", '"cells": 3')):
        text = (copy / name).read_text()
        assert old in text
        (copy / name).write_text(text.replace(old, old.replace("1", "7").replace("3", "4")))
        for folder in ("published", copy):
            status, out = _checked(discreet, folder)
            assert status == 2
            assert "1 problem;" in out
            assert f"{name} of published/copy was changed since it was written" in out
        (copy / name).write_text(text)
    (copy / "units.csv").unlink()
    assert "units.csv of published/copy is missing" in _checked(discreet, "published")[1]
    (copy / "manifest.json").write_text("{")
    status, out = _checked(discreet, "published")
    assert (status, "published/copy has no readable manifest" in out) == (2, True)


def test_check_finds_outputs_that_the_ledger_lacks(measure, discreet):
    for name in ("ledger.json", "other.json"):
        discreet("ledger", "new", name)
    measure("one")
    fixed = ("measure", "release.toml", "--counts", "counts.csv", "--out")
    assert discreet(*fixed, "without", "--no-ledger").status == 0
    same = "measurements.csv"
    while (Path("without") / same).read_bytes() == (Path("one") / same).read_bytes():
        shutil.rmtree("without")  # three cells may get the same noise twice, as a copy of run 1 would have
        assert discreet(*fixed, "without", "--no-ledger").status == 0
    assert discreet(*fixed, "other", "--ledger", "other.json").status == 0
    assert discreet(*fixed, "trial", "--rehearsal", 1).status == 0
    Path("empty").mkdir()
    said = {
        "without": "without comes from a run that the ledger lacks: it was made without a ledger",
        "other": "other comes from a run of another ledger",
        "empty": "empty holds no output of a run",
    }
    for folder, words in said.items():
        status, out = _checked(discreet, folder)
        assert status == 2
        assert f"problem: {words}" in out
    status, out = _checked(discreet, ".")
    assert (status, out.count("problem: ")) == (2, 2)
    status, out = _checked(discreet, "trial")
    assert (status, "remark: trial comes from a rehearsal, NOT PRIVATE" in out) == (0, True)


def test_totals_below_what_is_spent(measure, discreet, refused):
    discreet("ledger", "new", "ledger.json", "--total", "person:bounded:3/2")
    measure("one")
    measure("two")
    before = Path("ledger.json").read_bytes()
    total = ("ledger", "total", "ledger.json")
    message = refused(*total, "person:bounded:1/2", "--reason", "less")
    assert (
        "the runs have spent rho 1 on one person (bounded neighbours), more than a total of rho 1/2"
        in message
    )
    cost = discreet("account", "ledger.json", "--delta", "1e-10", "--json")
    epsilon = json.loads(cost.out)["results"][0]["epsilon"]
    message = refused(*total, f"person:bounded:{int(epsilon)}@1e-10", "--reason", "less")
    assert f"the runs have spent epsilon {epsilon:.6g} (exact) at delta 1e-10" in message
    message = refused(*total, "person:bounded:20@0", "--reason", "pure")
    assert "no finite epsilon at delta 0" in message
    message = refused(*total, "person:bounded:20@1e-400", "--reason", "tiny")
    assert "below 1e-300, the smallest" in message
    assert "below 1e-300" in refused("ledger", "new", "tiny.json", "--total", "person:bounded:20@1e-400")
    assert "smallest supported is 1e-300" in refused("ledger", "show", "ledger.json", "--delta", "1e-400")
    assert Path("ledger.json").read_bytes() == before
    assert not Path("tiny.json").exists()
    assert discreet(*total, "person:bounded:1", "--reason", "no more").status == 0
    assert discreet(*total, f"person:bounded:{int(epsilon) + 1}@1e-10", "--reason", "cap").status == 0


def test_words_of_the_cap_and_of_the_help(measure, discreet, refused):
    discreet("ledger", "new", "ledger.json", "--total", "person:bounded:1@1e-10")
    refusal = measure("one")
    assert refusal.status == 2
    assert " at epsilon 1, more than its total of epsilon 1 at delta 1e-10" in " ".join(refusal.err.split())
    assert '"' not in discreet("ledger", "--help").out


def test_moved_output_is_a_remark(measure, discreet):
    discreet("ledger", "new", "ledger.json")
    measure("one")
    Path("one").rename("elsewhere")
    checked = discreet("ledger", "check", "ledger.json")
    assert checked.status == 0
    assert "remark: run 1" in checked.out


@pytest.mark.parametrize("command", [["ledger", "show"], ["ledger", "check"], ["account"]])
def test_damaged_ledger(measure, discreet, refused, command):
    discreet("ledger", "new", "ledger.json")
    measure("one")
    data = json.loads(Path("ledger.json").read_text())
    data["entries"][0]["time"] = "earlier"
    Path("ledger.json").write_text(json.dumps(data))
    assert "the ledger is damaged" in refused(*command, "ledger.json")


def test_account_of_runs_of_different_neighbours(measure, discreet, refused):
    discreet("ledger", "new", "ledger.json")
    measure("one")
    Path("release.toml").write_text(TOML.replace('"bounded"', '"unbounded"'))
    measure("two")
    assert "different neighbours (bounded, unbounded)" in refused("account", "ledger.json")
    found = discreet("account", "ledger.json", "--neighbours", "unbounded", "--json").json
    assert found["neighbours"] == "unbounded"


def test_account_of_a_ledger_with_a_preset(measure, discreet):
    discreet("ledger", "new", "ledger.json")
    measure("one")
    found = discreet("account", "ledger.json", "dhc-2022-08-25", "--delta", "1e-5", "--json").json
    assert found["releases"] == ["ledger", "dhc-2022-08-25"]


@pytest.mark.parametrize(
    ("total", "message"),
    [
        ("person:3/2", "it must be UNIT:NEIGHBOURS:RHO or"),
        ("person:bounded:3/2:", "it must be UNIT:NEIGHBOURS:RHO"),
        ("", "it must be UNIT:NEIGHBOURS:RHO"),
        ("persn:bounded:3/2", 'did you mean "person"?'),
        ("person:bonded:3/2", 'did you mean "bounded"?'),
        ("person:bounded:0", "it must be above zero"),
        ("person:bounded:lots", "an exact number such as"),
        ("person:bounded:20@", "delta of a total is ''"),
        ("person:bounded:20@2", "it must be at least 0 and below 1"),
        ("person:bounded:0@1e-10", "it must be above zero"),
        ("person+persn:bounded:1", 'did you mean "person"?'),
    ],
)
def test_totals_that_cannot_be_used(refused, tmp_path, total, message):
    assert message in refused("ledger", "new", tmp_path / "ledger.json", "--total", total)
    assert list(tmp_path.iterdir()) == []


def test_files_that_cannot_be_used(discreet, refused, small, tmp_path):
    ledger = tmp_path / "ledger.json"
    discreet("ledger", "new", ledger)
    before = ledger.read_bytes()
    assert "never overwritten" in refused("ledger", "new", ledger)
    assert ledger.read_bytes() == before
    assert "cannot be made" in refused("ledger", "new", tmp_path / "no" / "ledger.json")
    twice = ("--total", "person:bounded:1", "--total", "person:bounded:2")
    assert "two totals for one unit" in refused("ledger", "new", tmp_path / "b.json", *twice)
    assert "there is no ledger" in refused("ledger", "show", tmp_path / "none.json")
    assert "not a ledger" in refused("ledger", "show", small)
    assert "there is no ledger" in refused("ledger", "check", tmp_path)
    assert 'Did you mean "show"?' in refused("ledger", "shw", ledger)


def test_unit_is_for_ledgers_and_must_be_there(measure, discreet, refused):
    discreet("ledger", "new", "ledger.json")
    measure("one")
    assert "no run about the unit 'household'; its runs are about person" in refused(
        "account", "ledger.json", "--unit", "household"
    )
    assert "release.toml is not a ledger" in refused("account", "release.toml", "--unit", "person")


def test_totals_of_epsilon(measure, discreet):
    discreet("ledger", "new", "ledger.json", "--total", "person:bounded:10@1e-10")
    assert measure("one").status == 0
    shown = " ".join(discreet("ledger", "show", "ledger.json").out.split())
    assert (
        "Total for one person, bounded neighbours: epsilon 10 at delta 1e-10; spent so far: 6.52416 (exact)."
        in shown
    )
    assert (
        "All runs together cost one person (bounded neighbours) epsilon 6.52416 (exact) at delta 1e-10."
        in shown
    )
    assert measure("two").status == 0  # 9.5
    refused = measure("three")
    assert refused.status == 2
    assert "more than its total of epsilon 10 at delta 1e-10; nothing was measured" in refused.err
    assert not Path("three").exists()
    changed = discreet("ledger", "total", "ledger.json", "person:bounded:15@1e-10", "--reason", "agreed")
    assert changed.status == 0
    assert measure("three").status == 0


def test_a_cost_that_cannot_be_computed_hides_nothing_else(measure, discreet, monkeypatch):
    discreet("ledger", "new", "ledger.json", "--total", "person:bounded:10@1e-10")
    measure("one")

    def refuse(*_, **__):
        raise PrecisionError("too many paths")

    monkeypatch.setattr("discreet.ledger.composition.ledger_cost", refuse)
    shown = discreet("ledger", "show", "ledger.json")
    assert shown.status == 0
    assert shown.out.count("The epsilon of one person could not be computed: too many paths") == 1
    spent = read_ledger("ledger.json").spent("person", "bounded")
    assert f" {spent} " in shown.out  # rho adds up all the same
    found = discreet("ledger", "show", "ledger.json", "--json").json
    assert (found["costs"], len(found["runs"])) == ([], 1)


def test_totals_need_a_reason(measure, refused, discreet):
    discreet("ledger", "new", "ledger.json")
    before = Path("ledger.json").read_bytes()
    assert "--reason" in refused("ledger", "total", "ledger.json", "person:bounded:1")
    assert "reason" in refused("ledger", "total", "ledger.json", "person:bounded:1", "--reason", "")
    assert Path("ledger.json").read_bytes() == before


def test_the_same_input_needs_a_word(measure, discreet):
    discreet("ledger", "new", "ledger.json")
    assert measure("one", "--once").status == 0
    again = measure("two", "--once")
    assert again.status == 2
    assert "give --spend-again" in again.err
    assert not Path("two").exists()
    assert measure("two").status == 0


def test_a_ledger_beside_the_input_is_found(measure, discreet, monkeypatch):
    monkeypatch.delenv("DISCREET_LEDGER", raising=False)
    fixed = ("measure", "release.toml", "--counts", "counts.csv")
    measure  # noqa: B018  # made the files
    assert "say --ledger FILE" in discreet(*fixed, "--out", "none").err
    assert "No ledger" in discreet(*fixed, "--out", "none", "--no-ledger").out
    discreet("ledger", "new", "discreet-ledger.json")
    assert "Ledger: discreet-ledger.json" in discreet(*fixed, "--out", "one").out
    assert len(discreet("ledger", "show", "discreet-ledger.json", "--json").json["runs"]) == 1


def test_witness_and_old_copies(measure, discreet, refused):
    discreet("ledger", "new", "ledger.json")
    measure("one")
    old = Path("ledger.json").read_bytes()
    measure("two")
    witness = discreet("ledger", "witness", "ledger.json").out.strip()
    assert discreet("ledger", "witness", "ledger.json", witness).status == 0
    assert discreet("ledger", "check", "ledger.json", "--witness", witness).status == 0
    Path("ledger.json").write_bytes(old)
    assert discreet("ledger", "witness", "ledger.json", witness).status == 2
    checked = discreet("ledger", "check", "ledger.json", "two", "--witness", witness)
    assert checked.status == 2
    assert "this is an older copy" in checked.out
    assert "does not continue from the witness" in checked.out
    assert measure("three").status == 2
    assert "the witness is 'x'" in refused("ledger", "witness", "ledger.json", "x")


def test_signing(measure, discreet, refused, monkeypatch):
    monkeypatch.delenv("DISCREET_LEDGER_KEY", raising=False)
    discreet("ledger", "new", "ledger.json")
    assert "there is no ledger" in refused("ledger", "sign", "other.json", "--key", "new.key")
    assert not Path("new.key").exists()
    told = discreet("ledger", "sign", "ledger.json", "--key", "a.key").out.split()
    public = told[-1]
    assert len(public) == 64
    assert "the ledger is signed" in measure("one").err
    assert measure("one", "--key", "a.key").status == 0
    assert discreet("ledger", "check", "ledger.json", "--key", public).status == 0
    assert discreet("ledger", "check", "ledger.json", "--key", "0" * 64).status == 2
    assert "signed with this key already" in refused("ledger", "sign", "ledger.json", "--key", "a.key")
    assert "name the file of the key" in refused("ledger", "sign", "ledger.json", "--key", "b.key")
    assert not Path("b.key").exists()
    assert discreet("ledger", "sign", "ledger.json", "--key", "b.key", "--old-key", "a.key").status == 0
    assert "is not that of the ledger" in measure("two", "--key", "a.key").err


def test_a_missing_ledger_is_named_as_it_was_given(measure):
    assert "there is no ledger ledger.json" in measure("one").err
