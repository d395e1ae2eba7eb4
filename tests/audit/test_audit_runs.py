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
from discreet.audit import runs as audit_runs
from discreet.audit.looks import Audit
from discreet.audit.runs import audit_mechanism, audit_release
from discreet.budget import Level, Query, Release
from discreet.errors import InputError
from discreet.ledger import create_ledger, release_run
from discreet.measurement import measuring
from discreet.noise import DiscreteGaussian, DiscreteLaplace, sample
from discreet.render.text import text_of
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


def left(found: Audit) -> set[str]:
    """What the answer says was not looked at."""
    listed = describe(found).objects["not_looked_at"]
    assert isinstance(listed, list)
    return set(listed)


@pytest.mark.parametrize("release", [MOVED, pytest.param(ADDED, marks=pytest.mark.slow)])
def test_measure_raises_no_alarm(release: Release) -> None:
    found = quick(release, post="consistent", written=1)
    assert not found.alarms
    assert (found.mechanism, found.written, found.post) == ("measure", 1, "consistent")
    # a record moves: two cells at each of county and state by age, none in the total
    assert found.changed == (4 if release is MOVED else 3)
    assert {look.statistic for look in found.points} == {"likelihood ratio", "estimates"}
    assert "199 of 200 runs through files" in left(found)


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
    less = DiscreteGaussian(variance=law.size * 8 / 10) if law.precision else law
    return sample(less, size, source=source)


def forgotten(law: Any, size: Any, *, source: Any) -> Any:
    return sample(law, size, source=source) * (1 if law.precision else 0)


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
    for module in (audit_runs, release_run):
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
        (with_sample(forgotten), 50, "tails"),
        (other_than_drawn, 50, "written"),
        pytest.param(with_sample(less_noise), 1000, "tails", marks=pytest.mark.slow),
        pytest.param(with_sample(truncated), 300, "tails", marks=pytest.mark.slow),
        pytest.param(with_sample(same_bits), 300, "blocks", marks=pytest.mark.slow),
        pytest.param(one_seed, 50, "runs", marks=pytest.mark.slow),
    ],
    ids=["forgotten level", "written", "variance x 0.8", "truncated tails", "same bits", "one seed"],
)
def test_faults_in_the_real_path_are_caught(
    monkeypatch: pytest.MonkeyPatch, fault: Callable[..., None], runs: int, seen: str
) -> None:
    fault(monkeypatch)
    assert seen in kinds(quick(runs=runs, written=int(seen == "written"), post="none"))


def own_mechanism(source: NotPrivateSeededEntropy, times: int = 1) -> Callable[[pa.Table], pa.Table]:
    """A mechanism of a user, who counts the first child `times` times."""
    laws = (
        (0, 1, DiscreteGaussian(variance=4)),
        (1, 4, DiscreteGaussian(variance=6)),
        (4, 10, DiscreteLaplace(scale=2)),
    )

    def mechanism(table: pa.Table) -> pa.Table:
        values = table["count"].to_numpy().copy()
        values[:2] += (times - 1) * (values[1] - 6)  # all people and the children of the state
        for start, end, law in laws:
            values[start:end] += sample(law, end - start, source=source)
        return table.drop_columns(["count", "parent"]).append_column("value", pa.array(values))

    return mechanism


def test_a_mechanism_of_a_user_is_held_to_the_laws_of_the_release() -> None:
    for times, expected in ((1, False), (3, True)):
        mechanism = own_mechanism(NotPrivateSeededEntropy(4), times)
        found = audit_release(ADDED, counts(), neighbour=counts(more=1), mechanism=mechanism, runs=60)
        assert bool(found.alarms) is expected
        assert found.mechanism == "function"
    assert "shift, neighbour" in kinds(found)


SUMS = Release.from_toml(
    """
name = "work"
neighbours = "unbounded"
[attributes]
sex = ["f", "m"]
[[levels]]
name = "Nation"
[levels.queries]
"sex" = { variance = 6 }
"hours by sex" = { sum = "hours", at_most = 60, unit = "1/2", variance = 90000 }
"hours above 60" = { sum = "hours", above = 60, at_most = 20, unit = "1/2", variance = 9000 }
[[levels]]
name = "Region"
[levels.queries]
"sex" = { variance = 6 }
"hours by sex" = { sum = "hours", at_most = 60, unit = "1/2", variance = 50000 }
"""
)


def summed(more: int = 0) -> pa.Table:
    """Ten women and ten men in each of two regions; one woman more works `more` half hours."""
    rows = []
    for unit, above, level, times in (
        ("N", "", "Nation", 2),
        ("A", "N", "Region", 1),
        ("B", "N", "Region", 1),
    ):
        one = bool(more) and unit != "B"
        for sex in "fm":
            here = one and sex == "f"
            rows.append((unit, above, level, "sex", sex, 10 * times + here, "1"))
            rows.append((unit, above, level, "hours by sex", sex, 300 * times + here * more, "1/2"))
    rows.append(("N", "", "Nation", "hours above 60", "all", 40, "1/2"))
    names = ("unit", "parent", "level", "query", "cell", "count", "in_units_of")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def test_sums_are_audited_at_their_bounds() -> None:
    """The pair that is made costs what the account says: a record adds the bound to every sum."""
    found = audit_release(SUMS, summed(), runs=30, written=0)
    whole = audit_runs.account(SUMS)
    assert found.changed == 5
    for alpha, most in found.curve[5::20]:
        assert most == pytest.approx(1 - whole.tradeoff(alpha=str(alpha)), abs=1e-7)
    with pytest.raises(InputError, match="not neighbours: they differ by more than one person"):
        audit_release(SUMS, summed(), neighbour=summed(more=250), runs=2, written=0)


@pytest.mark.slow
@pytest.mark.parametrize("post", ["consistent", "nonnegative"])
def test_sums_that_are_written_are_those_drawn(post: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = audit_release(SUMS, summed(), runs=200, written=2, post=post)
    assert not found.alarms
    assert {"written", "again"} <= {look.kind for look in found.noise}
    assert audit_release(SUMS, summed(), neighbour=summed(more=120), runs=2, written=0).changed == 4
    with_sample(less_noise)(monkeypatch)
    assert audit_release(SUMS, summed(), runs=1500, written=0).alarms


def test_people_with_several_records() -> None:
    found = audit_release(ADDED, counts(), at_most=3, runs=30, written=0)
    whole = audit_runs.account(ADDED, people=3)
    for alpha, most in found.curve[5::20]:
        assert most == pytest.approx(1 - whole.tradeoff(alpha=str(alpha)), abs=1e-7)
    said = counts().append_column("at_most", pa.array([3] * 10))  # as `tabulate` writes it
    again = audit_release(ADDED, said, neighbour=counts(more=3), runs=30, written=0)
    assert again.curve == found.curve
    with pytest.raises(InputError, match="more than one person with 2 records may change"):
        audit_release(ADDED, counts(), neighbour=counts(more=3), at_most=2, runs=2, written=0)


def estimates_of_the_counts(patch: pytest.MonkeyPatch) -> None:
    """Estimates are made from the exact counts instead of the measurements."""
    honest = measuring._Tables._estimates
    patch.setattr(
        measuring._Tables,
        "_estimates",
        lambda self, folder, values, pattern: honest(self, folder, self.found.read(slice(0, 3)), pattern),
    )


def test_estimates_that_do_not_follow_from_the_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    """One written run is enough for it."""
    assert not quick(runs=2, written=1).alarms
    estimates_of_the_counts(monkeypatch)
    assert kinds(quick(runs=2, written=1)) == {"again"}


@pytest.mark.slow
def test_the_statistic_of_the_estimates_needs_as_many_runs_as_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    estimates_of_the_counts(monkeypatch)
    needed = quick(runs=70, written=1).needed
    assert "estimates" not in kinds(quick(runs=70, written=needed - 4))
    assert "estimates" in kinds(quick(runs=70, written=needed + 4))  # a look or two more share the chance


def test_the_statistic_of_the_estimates_is_the_likelihood_ratio() -> None:
    """Of Gaussian noise, and least squares: <d, P y> = <d, y> for a difference d that adds up."""
    up = np.array([[1.0, 1], [1, 0], [0, 1]])  # a state and its two counties
    variances, d = np.array([3.0, 5, 7]), up @ np.array([1.0, 0])
    y = np.array([20.0, 4, 9])
    weights = np.diag(1 / variances)
    best = up @ np.linalg.solve(up.T @ weights @ up, up.T @ weights @ y)
    assert d @ weights @ best == pytest.approx(d @ weights @ y)


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


def test_another_number_of_rows_is_an_alarm() -> None:
    ages = pa.table({"age": [30, 40]})
    found = audit_mechanism(lambda table: table, ages, ages.slice(1), epsilon=1, delta=0, runs=200)
    assert "number of rows" in kinds(found)
    assert "the numbers (runs do not put out as many)" in found.scope.left_out


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
                "mechanism": lambda table: table.set_column(3, "cell", [["sex"] * 10]).rename_columns(
                    ["unit", "level", "query", "cell", "parent", "value"]
                )
            },
            "unknown cell",
        ),
    ],
)
def test_what_cannot_be_audited(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        quick(ADDED, **given)


def test_nothing_runs_before_all_is_read_and_checked(tmp_path: Path) -> None:
    ran = []

    def mechanism(table: pa.Table) -> list[int]:
        ran.append(table)
        return [1]

    with pytest.raises(InputError, match="no-such-file"):
        audit_mechanism(mechanism, counts(), tmp_path / "no-such-file.csv", epsilon=1, delta=0, runs=3)
    with pytest.raises(InputError, match=r"(?s)2 kinds of problems.*runs is 1.*epsilon is -1"):
        audit_mechanism(mechanism, counts(), counts(1), epsilon=-1, delta=0, runs=1)
    assert not ran
    with pytest.raises(InputError) as refused:
        audit_release(MOVED, tmp_path / "no-such-file.csv", runs=1, written=-1, post="best", false_alarm="2")
    for part in ("4 kinds of problems", "runs is 1", "written is -1", "post is 'best'", "false_alarm is 2"):
        assert part in str(refused.value)


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
    found = quick(runs=20, written=1)
    answer = describe(found)
    assert answer.objects["verdict"] == "no alarm"
    assert len(answer.objects["looks"]) == found.looks  # type: ignore[arg-type]
    blind = sum(look.runs[0] < found.needed for look in found.points)
    assert 0 < blind == found.blind < found.looks
    assert str(found) == (
        f"No alarm in {found.looks} looks at 2 x 20 runs of measure, of which {blind} could raise none with "
        "so few runs; not looked at: "
        f"{len(answer.objects['not_looked_at'])} things, listed below."  # type: ignore[arg-type]
    )
    json.dumps(answer.objects)
    # a shift of all counts changes nothing that is told
    large = counts()
    million = pa.array(
        [
            n + 10**6 * {"S": 2, "a": 1, "b": 1}[u] * (3 if c == "all" else 1)
            for n, u, c in zip(*(large[k].to_pylist() for k in ("count", "unit", "cell")), strict=True)
        ]
    )
    other = audit_release(MOVED, large.set_column(5, "count", million), runs=20, written=0)
    assert describe(other).objects["looks"] == describe(quick(runs=20, written=0)).objects["looks"]
    figure = answer.figures["points"]()
    assert [item.label for item in figure.panels[0].items if getattr(item, "label", "")][:2] == [
        "guessing",
        "promised at most",
    ]


# -- what is true of a part ----------------------------------------------------------------------------------

Leak = Callable[[pa.Table, pa.Table], pa.Table]


def with_column(made: pa.Table, table: pa.Table) -> pa.Table:
    return made.append_column("check", table["count"])


def with_words(made: pa.Table, table: pa.Table) -> pa.Table:
    return made.append_column("note", pa.array([f"n = {n}" for n in table["count"].to_pylist()]))


def in_order(made: pa.Table, table: pa.Table) -> pa.Table:
    """The rows come in the order of the true counts: one child more changes it."""
    return made.take(np.argsort(-table["count"].to_numpy(), kind="stable"))


def in_metadata(made: pa.Table, table: pa.Table) -> pa.Table:
    return made.replace_schema_metadata({"counts": str(table["count"].to_pylist())})


def in_rows(made: pa.Table, table: pa.Table) -> pa.Table:
    """Cells with the true count 0 or 1 are left out."""
    return made.filter(pa.array(table["count"].to_numpy() > 4))


LEAKS: list[tuple[Leak, set[str]]] = [
    (with_column, {"linear statistic of other columns", "digits of other columns"}),
    (with_words, {"column note"}),
    (in_order, {"order of rows"}),
    (in_metadata, {"metadata"}),
    (in_rows, {"rows", "number of rows"}),
]


@pytest.mark.parametrize(("leak", "seen"), LEAKS, ids=lambda one: getattr(one, "__name__", ""))
def test_counts_that_are_published_beside_the_values_are_seen(leak: Leak, seen: set[str]) -> None:
    """The noise of the values is what is claimed, and the truth stands elsewhere."""
    honest = own_mechanism(NotPrivateSeededEntropy(4))
    found = audit_release(
        ADDED,
        counts(),
        neighbour=counts(more=1),
        mechanism=lambda table: leak(honest(table), table),
        runs=110,
    )
    assert seen <= kinds(found)


def test_an_order_by_the_counts_that_one_record_does_not_change() -> None:
    """The rows are in the order of the true counts, ascending: of these two tables it is the same order."""
    honest = own_mechanism(NotPrivateSeededEntropy(4))
    found = audit_release(
        ADDED,
        counts(),
        neighbour=counts(more=1),
        mechanism=lambda table: honest(table).take(np.argsort(table["count"].to_numpy(), kind="stable")),
        runs=110,
    )
    assert "other pairs of tables" in left(found)
    assert found.alarms


def test_what_is_beside_the_values_and_tells_nothing_is_no_alarm() -> None:
    """Another column of noise, a clock, a random order of rows."""
    source, clock = NotPrivateSeededEntropy(7), iter(range(10**6))
    honest, law = own_mechanism(source), DiscreteLaplace(scale=3)
    rng = np.random.default_rng(1)

    def mechanism(table: pa.Table) -> pa.Table:
        made = honest(table).append_column("more", pa.array(sample(law, 10, source=source)))
        made = made.append_column("time", pa.array([str(next(clock))] * 10))
        return made.take(rng.permutation(10))

    found = audit_release(ADDED, counts(), neighbour=counts(more=1), mechanism=mechanism, runs=60)
    assert not found.alarms
    columns, _ = found.scope.parts
    assert (columns.noun, columns.taken, columns.every) == ("column", 6, 7)
    assert {"order of rows (other ones in every run)", "1 of 7 columns", "time and memory"} <= left(found)


def test_a_written_file_that_tells_more_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """One written run on each table is enough for it: all but the values must be the same."""
    honest = audit_runs._beside
    assert "beside" not in kinds(quick(runs=2, written=1, post="none"))
    tells = iter(range(10))
    monkeypatch.setattr(audit_runs, "_beside", lambda file: (honest(file), next(tells)))
    assert kinds(quick(runs=2, written=1, post="none")) == {"beside"}


def test_how_numbers_are_written_is_seen(tmp_path: Path) -> None:
    """A program that writes 007 for the neighbour and 7 for the table, with the same noise."""

    def mechanism(table: pa.Table) -> Path:
        file = tmp_path / "out.csv"
        file.write_text("value\n" + ("7" if table.num_rows == 3 else "007") + "\n")
        return file

    ages = pa.table({"age": [30, 40, 50]})
    found = audit_mechanism(mechanism, ages, ages.slice(1), epsilon=1, delta=0, runs=120)
    assert kinds(found) == {"how the file is written"}


def test_an_identifier_that_reads_as_a_huge_number_is_no_number(tmp_path: Path) -> None:
    """Random identifiers such as 7e3456 ended the audit of an honest mechanism with a traceback."""
    file, rng = tmp_path / "out.csv", np.random.default_rng(5)

    def mechanism(table: pa.Table) -> Path:
        file.write_text(
            f"value,id\n{rng.laplace(table.num_rows)},{rng.integers(1, 10)}e{rng.integers(10**4)}\n"
        )
        return file

    ages = pa.table({"age": [30, 40, 50]})
    assert not audit_mechanism(mechanism, ages, ages.slice(1), epsilon=1, delta=0, runs=60).alarms


def test_an_audit_without_alarm_lists_what_it_did_not_look_at() -> None:
    """A column that is another in every run tells nothing, and is named; without it the list is shorter."""
    law = Release(
        name="r", neighbours="unbounded", levels=[Level(name="S", queries=[Query(name="q", variance=4)])]
    )
    rng, clock = np.random.default_rng(3), iter(range(10**6))
    table = pa.table({"unit": ["A"], "level": ["S"], "query": ["q"], "cell": ["all"], "count": [9]})

    def mechanism(given: pa.Table, *, with_clock: bool) -> pa.Table:
        # discrete Gaussian noise of variance 4, by inversion
        noise = rng.choice(np.arange(-30, 31), p=weights, size=given.num_rows)
        made = given.drop_columns(["count", "parent"])
        made = made.append_column("value", pa.array(given["count"].to_numpy() + noise))
        return made.append_column("at", pa.array([f"t{next(clock)}"])) if with_clock else made

    weights = np.exp(-(np.arange(-30, 31) ** 2) / 8)
    weights /= weights.sum()
    for with_clock, many in ((True, "1 of 6 columns"), (False, "")):
        found = audit_release(
            law,
            table,
            mechanism=lambda given, clocked=with_clock: mechanism(given, with_clock=clocked),
            runs=70,
        )
        answer = describe(found)
        assert answer.objects["verdict"] == "no alarm"
        listed = answer.objects["not_looked_at"]
        assert (many in listed) if many else len(listed) == 3  # type: ignore[operator, arg-type]
        assert answer.scopes == ()  # the list says it already
        assert "- other pairs of tables" in "\n".join(text_of(answer))
        assert answer.objects["claims"]["alarms"]["scope"]["whole"] is False  # type: ignore[index]
        assert str(found).startswith("No alarm in ")
        assert "not looked at: " in str(found)
