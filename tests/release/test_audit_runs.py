"""An audit runs the code that draws and writes the noise of a release: faults put there are caught."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.answers import describe
from discreet.budget import Level, Query, Release
from discreet.errors import InputError
from discreet.noise import DiscreteGaussian, DiscreteLaplace, sample
from discreet.release import create_ledger
from discreet.release.hierarchy import audit_runs, measuring
from discreet.release.hierarchy.audit_runs import audit_mechanism, audit_release
from discreet.risk.audit import Audit
from discreet.testing import NotPrivateSeededEntropy

LEVELS = [
    Level(name="State", queries=[Query(name="total", variance=4), Query(name="age", variance=6)]),
    Level(name="County", queries=[Query(name="age", scale=2)]),
]
MOVED = Release(name="small", neighbours="bounded", levels=LEVELS)
ADDED = Release(name="small", neighbours="unbounded", levels=LEVELS)
AGES = ("child", "adult", "old")


def counts(more: int = 0) -> pa.Table:
    """Two counties in a state; `more` children live in the first county."""
    ages = {"a": (4 + more, 7, 1), "b": (2, 5, 0)}
    rows = [("S", "", "State", "total", "all", sum(map(sum, ages.values())))]
    rows += [
        ("S", "", "State", "age", age, sum(one[k] for one in ages.values())) for k, age in enumerate(AGES)
    ]
    rows += [(c, "S", "County", "age", age, ages[c][k]) for c in ages for k, age in enumerate(AGES)]
    names = ("unit", "parent", "level", "query", "cell", "count")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def quick(release: Release = MOVED, **more: Any) -> Audit:
    return audit_release(release, counts(), **{"runs": 200, "written": 2, "post": "nonnegative", **more})


def kinds(found: Audit) -> set[str]:
    return {getattr(look, "kind", getattr(look, "statistic", "")) for look in found.alarms}


@pytest.mark.parametrize("release", [MOVED, ADDED])
def test_measure_raises_no_alarm(release: Release) -> None:
    found = quick(release, post="consistent", written=1)
    assert not found.alarms
    assert (found.mechanism, found.written, found.post) == ("measure", 1, "consistent")
    # a record moves: two cells at each of county and state by age, none in the total
    assert found.changed == (4 if release is MOVED else 3)
    assert {look.statistic for look in found.points} == {"likelihood ratio", "estimates"}


def test_the_pair_that_is_made_costs_what_the_account_says() -> None:
    found = quick(ADDED, written=0)
    account = audit_runs.account(ADDED)
    for alpha, most in found.curve[5::10]:
        assert most == pytest.approx(1 - account.tradeoff(alpha=str(alpha)), abs=1e-7)


def with_sample(change: Callable[..., Any]) -> Callable[[pytest.MonkeyPatch], None]:
    def put(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(measuring, "sample", change)

    return put


def less_noise(law: Any, size: Any, *, source: Any) -> Any:
    less = DiscreteGaussian(law.size * 8 / 10) if law.is_gaussian else law
    return sample(less, size, source=source)


def forgotten(law: Any, size: Any, *, source: Any) -> Any:
    return sample(law, size, source=source) * (1 if law.is_gaussian else 0)


def truncated(law: Any, size: Any, *, source: Any) -> Any:
    drawn, most = sample(law, size, source=source), 3 * law.true_variance() ** 0.5
    while (outside := np.abs(drawn) > most).any():
        drawn[outside] = sample(law, int(outside.sum()), source=source)
    return drawn


def same_bits(law: Any, size: Any, *, source: Any) -> Any:
    """The generator is started again for every query."""
    seeds = [int.from_bytes(os.urandom(4), "big")] if source is None else vars(source).setdefault("own", [])
    if not seeds:
        word = np.empty(8, dtype=np.uint8)
        source.fill(word)
        seeds.append(int(word.view(np.int64)[0]))
    return sample(law, size, source=NotPrivateSeededEntropy(seeds[0]))


def one_seed(patch: pytest.MonkeyPatch) -> None:
    """Every run has the same noise."""
    for module in (audit_runs, measuring):
        patch.setattr(module, "rehearsal_entropy", lambda seed: NotPrivateSeededEntropy(1))


def other_than_drawn(patch: pytest.MonkeyPatch) -> None:
    """What is written is not what was drawn: noise is drawn again."""
    honest = measuring._drawn
    patch.setattr(
        measuring, "_drawn", lambda found, laws, source: honest(found, laws, NotPrivateSeededEntropy(5))
    )


@pytest.mark.parametrize(
    ("fault", "runs", "seen"),
    [
        (with_sample(less_noise), 1000, "tails"),
        (with_sample(forgotten), 50, "tails"),
        (with_sample(truncated), 300, "tails"),
        (with_sample(same_bits), 300, "blocks"),
        (one_seed, 50, "runs"),
        (other_than_drawn, 50, "written"),
    ],
    ids=["variance x 0.8", "forgotten level", "truncated tails", "same bits", "one seed", "written"],
)
def test_faults_in_the_real_path_are_caught(
    monkeypatch: pytest.MonkeyPatch, fault: Callable[..., None], runs: int, seen: str
) -> None:
    assert not quick(runs=50, written=1).alarms  # before the fault
    fault(monkeypatch)
    assert seen in kinds(quick(runs=runs, written=1, post="none"))


def own_mechanism(source: NotPrivateSeededEntropy, times: int = 1) -> Callable[[pa.Table], pa.Table]:
    """A mechanism of a user, who counts the first child `times` times."""
    laws = {("State", "total"): DiscreteGaussian(4), ("State", "age"): DiscreteGaussian(6)}

    def mechanism(table: pa.Table) -> pa.Table:
        rows = table.to_pylist()
        extra = (times - 1) * (rows[1]["count"] - 6)  # of the children of the state
        values = []
        for row in rows:
            law = laws.get((row["level"], row["query"]), DiscreteLaplace(2))
            twice = extra if row["level"] == "State" and row["cell"] in ("all", "child") else 0
            values.append(row["count"] + twice + int(sample(law, 1, source=source)[0]))
        return table.drop_columns(["count", "parent"]).append_column("value", pa.array(values))

    return mechanism


def test_a_mechanism_of_a_user_is_held_to_the_laws_of_the_release() -> None:
    for times, expected in ((1, False), (3, True)):
        mechanism = own_mechanism(NotPrivateSeededEntropy(4), times)
        found = audit_release(ADDED, counts(), neighbour=counts(more=1), mechanism=mechanism, runs=120)
        assert bool(found.alarms) is expected
        assert found.mechanism == "function"
    assert "shift, neighbour" in kinds(found)


def test_a_command_is_run_on_both_tables() -> None:
    """A copy of the input tells all; its copy of a constant tells nothing."""
    ages = pa.table({"age": [30, 40]})
    found = audit_mechanism(
        "cp {in} {out}", ages, pa.table({"age": [30, 41]}), epsilon=1, delta=0, runs=60, false_alarm="1/20"
    )
    assert found.alarms
    assert (found.mechanism, found.cells) == ("command", 2)
    assert not audit_mechanism("cp {in} {out}", ages, ages, epsilon=0, delta=0, runs=20).alarms
    with pytest.raises(InputError, match=r"must have \{out\}"):
        audit_mechanism("mine {in}", ages, ages, epsilon=1, delta=0, runs=2)
    with pytest.raises(InputError, match="ended with status 1"):
        audit_mechanism("false {in} {out}", ages, ages, epsilon=1, delta=0, runs=2)
    with pytest.raises(InputError, match=r"wrote no \{out\}"):
        audit_mechanism("true {in} {out}", ages, ages, epsilon=1, delta=0, runs=2)
    with pytest.raises(InputError, match="cannot be run"):
        audit_mechanism("no-such-program {in} {out}", ages, ages, epsilon=1, delta=0, runs=2)
    with pytest.raises(InputError, match="as many in each run"):
        audit_mechanism("cp {in} {out}", ages, ages.slice(1), epsilon=1, delta=0, runs=2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"runs": 1}, "runs is 1; it must be 2 or more"),
        ({"written": -1}, "written is -1"),
        ({"post": "best"}, "post is 'best'"),
        ({"false_alarm": "2"}, "false_alarm is 2"),
        ({"runs": 10**8}, "more numbers than"),
        ({"neighbour": counts()}, "the same counts"),
        ({"neighbour": counts(more=3)}, "not neighbours: they differ by more than one person"),
        (
            {
                "mechanism": lambda table: table.slice(1).rename_columns(
                    ["unit", "level", "query", "cell", "parent", "value"]
                )
            },
            "lacks 1 of 10 cells",
        ),
    ],
)
def test_what_cannot_be_audited(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        quick(ADDED, **given)


def test_nothing_is_entered_into_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = tmp_path / "ledger.json"
    create_ledger(ledger)
    before = ledger.read_bytes()
    monkeypatch.setenv("DISCREET_LEDGER", str(ledger))
    with pytest.raises(InputError, match="written runs would be entered into the ledger"):
        quick()
    assert not quick(written=0).alarms
    assert ledger.read_bytes() == before


def test_all_surfaces_tell_the_same_and_no_count() -> None:
    found = quick(runs=100)
    answer = describe(found)
    assert answer.objects["verdict"] == "no alarm"
    assert len(answer.objects["looks"]) == found.looks  # type: ignore[arg-type]
    assert str(found) == f"No alarm in {found.looks} looks at 2 x 100 runs of measure."
    json.dumps(answer.objects)
    # a shift of all counts changes nothing that is told
    large = counts()
    million = pa.array(
        [
            n + 10**6 * {"S": 2, "a": 1, "b": 1}[u] * (3 if c == "all" else 1)
            for n, u, c in zip(*(large[k].to_pylist() for k in ("count", "unit", "cell")), strict=True)
        ]
    )
    other = audit_release(MOVED, large.set_column(5, "count", million), runs=100, written=2, post="none")
    assert describe(other).objects["looks"] == describe(quick(runs=100, post="none")).objects["looks"]
    figure = answer.figures["points"]()
    assert [item.label for item in figure.panels[0].items if getattr(item, "label", "")][:2] == [
        "guessing",
        "promised at most",
    ]
