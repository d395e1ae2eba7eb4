"""An audit of `safetab run` accuses no honest run, and catches faults in either stage and in the account.

Faults are caught at the shipped chance of a false alarm, 1e-6. What so many successes in a row prove of their
power at 95 % is stated with the slow test.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetab_facts import GEOGRAPHIES
from safetab_toy import DATA, TOY
from scipy import stats

from discreet.answers import describe
from discreet.audit.looks import ALPHAS, Audit, summed_look
from discreet.audit.tabulations import runs as audit
from discreet.audit.tabulations.runs import TabulationPair, _fetched, audit_tabulation, judged_runs
from discreet.census.mechanism import adaptive
from discreet.census.mechanism.parts import GroupArrays
from discreet.census.mechanism.records import count
from discreet.census.safetab import account
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.run_plan import Options, RunPlan
from discreet.census.safetab.specification import read_specification
from discreet.cli import run as command
from discreet.errors import InputError
from discreet.ledger import release_run
from discreet.noise import Noise
from discreet.records.engine import Engine
from discreet.testing import NotPrivateSeededEntropy

Drawn = Sequence[Sequence[Mapping[tuple[str, int], GroupArrays]]]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Parameters of a nation, its states and counties, with groups near thresholds; and data without one."""
    place = tmp_path_factory.mktemp("audit")
    params, beside = place / "params", place / "without"
    shutil.copytree(TOY, params)
    settings = json.loads((TOY / "config.json").read_text())
    budgets = {"_1_usa": 2, "_1_state": 1, "_1_county": 1}
    for key in settings:
        if key.startswith("privacy_budget_p_level_"):
            settings[key] = next((value for end, value in budgets.items() if key.endswith(end)), 0)
    thresholds = {f"({name}, {level})": [4, 8, 30] for name in GEOGRAPHIES for level in (1, 2)}
    settings |= {"run_pr": False, "thresholds_p": thresholds, "zero_suppression_chance": 0.9}
    (params / "config.json").write_text(json.dumps(settings))
    beside.mkdir()
    shutil.copy(DATA / "GRF-C.txt", beside)
    lines = (DATA / "person-records.txt").read_text().splitlines(keepends=True)
    (beside / "person-records.txt").write_text("".join(lines[:2] + lines[3:]))
    return params, beside


@pytest.fixture(scope="module")
def pair(folders: tuple[Path, Path], duckdb_engine: Engine) -> TabulationPair:
    """The toy and the toy without one person, counted once."""
    params, beside = folders
    plan = RunPlan(params, Options(format="parquet"), read_configuration(params), read_specification(params))
    sides = [
        _fetched(count(data, plan.configuration, plan.specification, engine=duckdb_engine), plan)
        for data in (DATA, beside)
    ]
    return TabulationPair(plan, (DATA, beside), (sides[0], sides[1]))


def kinds(found: Audit) -> set[str]:
    return {getattr(look, "kind", getattr(look, "statistic", "")) for look in found.alarms}


def audited(pair: TabulationPair, runs: int, seed: int, false_alarm: str = "1e-6") -> Audit:
    return judged_runs(pair, pair.drawn(runs, seed), seed=seed, false_alarm=Fraction(false_alarm))


# -- faults --------------------------------------------------------------------------------------------------


def resized(pair: TabulationPair, stage: str, factor: str) -> Callable[..., Any]:
    """Noise of a stage has another variance than the parameters say."""
    laws, real = {getattr(one, stage) for one in pair.plan.mechanisms}, adaptive.sample

    def sample(law: Noise, size: int, *, source: Any = None) -> Any:
        return real(law.resized(law.size * Fraction(factor)) if law in laws else law, size, source=source)

    return sample


def truncated(law: Noise, size: int, *, source: Any = None) -> Any:
    drawn, most = SAMPLE(law, size, source=source), 3 * law.true_variance() ** 0.5
    while (outside := np.abs(drawn) > most).any():
        drawn[outside] = SAMPLE(law, int(outside.sum()), source=source)
    return drawn


SAMPLE = adaptive.sample


def forgotten_place(pair: TabulationPair) -> Callable[..., Any]:
    """The nation gets no noise in its cells."""
    law_of_usa = pair.plan.mechanisms[0].stage_two

    def sample(law: Noise, size: int, *, source: Any = None) -> Any:
        return SAMPLE(law, size, source=source) * (0 if law == law_of_usa else 1)

    return sample


def one_seed(patch: pytest.MonkeyPatch, _: TabulationPair) -> None:
    for module in (audit, release_run):
        patch.setattr(module, "rehearsal_entropy", lambda seed: NotPrivateSeededEntropy(1))


def patched(sample: Callable[[TabulationPair], Callable[..., Any]]) -> Callable[..., None]:
    return lambda patch, pair: patch.setattr(adaptive, "sample", sample(pair))


FAULTS: dict[str, tuple[Callable[..., None], int, str]] = {
    "hardly any noise, stage 1": (patched(lambda pair: resized(pair, "stage_one", "1/50")), 25, "picked"),
    "half the variance, stage 1": (patched(lambda pair: resized(pair, "stage_one", "1/2")), 120, "picked"),
    "half the variance, stage 2": (patched(lambda pair: resized(pair, "stage_two", "1/2")), 20, "tails"),
    "variance x 0.8, stage 2": (patched(lambda pair: resized(pair, "stage_two", "4/5")), 40, "tails"),
    "half the variance, total only": (patched(lambda pair: resized(pair, "total_only", "1/2")), 60, "tails"),
    "a place without noise": (patched(forgotten_place), 10, "tails"),
    "truncated tails": (patched(lambda _: truncated), 60, "tails"),
    "one seed": (one_seed, 10, "runs"),
}


QUICK = {"hardly any noise, stage 1", "a place without noise"}


@pytest.mark.parametrize(
    "fault", [one if one in QUICK else pytest.param(one, marks=pytest.mark.slow) for one in FAULTS]
)
def test_faults_of_the_noise_are_caught(
    fault: str, pair: TabulationPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, runs, seen = FAULTS[fault]
    put(monkeypatch, pair)
    assert seen in kinds(audited(pair, runs, 1))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_the_power_that_is_stated_of_tabulations(
    fault: str, pair: TabulationPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """59 of 59: a power of at least 95 %, with 95 % confidence; 14 of 14, where runs take long: 80 %."""
    put, runs, _ = FAULTS[fault]
    put(monkeypatch, pair)
    audits = 14 if fault in ("half the variance, stage 1", "truncated tails") else 59
    assert all(audited(pair, runs, 100 + seed).alarms for seed in range(audits))


def counted_twice(pair: TabulationPair) -> Drawn:
    """The person who is there is counted once more in each group."""
    first = pair.counts[0]
    totals, cells = dict(first.known_totals), dict(first.known_cells)
    for place, table in totals.items():
        beside = {
            (row["region"], row["iteration"]): row["count"]
            for row in pair.counts[1].totals(*place).to_pylist()
        }
        rows = table.to_pylist()
        for row in rows:
            row["count"] += row["count"] - beside.get((row["region"], row["iteration"]), 0)
        totals[place] = type(table).from_pylist(rows, schema=table.schema)
        found = cells[place]
        fewer = {
            tuple(row.values())[:3]: row["count"] for row in pair.counts[1].known_cells[place].to_pylist()
        }
        rows = found.to_pylist()
        for row in rows:
            row["count"] += row["count"] - fewer.get((row["region"], row["iteration"], row["cell"]), 0)
        cells[place] = type(found).from_pylist(rows, schema=found.schema)
    wrong = replace(first, known_totals=totals, known_cells=cells)
    return replace(pair, counts=(wrong, pair.counts[1])).drawn(250, 3)


@pytest.mark.slow
def test_a_record_that_is_counted_twice(pair: TabulationPair) -> None:
    assert "shift, table" in kinds(judged_runs(pair, counted_twice(pair), seed=3))


@pytest.mark.parametrize("stage", ["stage_one", pytest.param("stage_two", marks=pytest.mark.slow)])
def test_a_stage_that_the_account_forgets(
    stage: str, pair: TabulationPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No run shows it: the noise is as it should be. A second composition of the noise does."""
    real, sizes = account._events, {getattr(one, stage).size for one in pair.plan.mechanisms}
    assert pair.account_look.observed == 0
    monkeypatch.setattr(
        account, "_events", lambda *given: tuple(one for one in real(*given) if one.size not in sizes)
    )
    assert replace(pair).account_look.observed == len(ALPHAS)


# -- honest runs ---------------------------------------------------------------------------------------------


def false_alarms(pair: TabulationPair, audits: int, runs: int) -> list[int]:
    found = [0, 0]
    for seed in range(audits):
        drawn = pair.drawn(runs, 1000 + seed)
        for place, chance in enumerate(("1e-6", "1/20")):
            found[place] += bool(judged_runs(pair, drawn, seed=seed, false_alarm=Fraction(chance)).alarms)
    return found


def test_honest_tabulations_are_not_accused(pair: TabulationPair) -> None:
    shipped, often = false_alarms(pair, 1, 10)
    assert (shipped, often) == (0, 0)


@pytest.mark.slow
def test_two_hundred_honest_audits_of_tabulations(pair: TabulationPair) -> None:
    shipped, often = false_alarms(pair, 200, 10)
    assert shipped == 0
    assert often <= stats.binom.isf(1e-6, 200, 0.05)


def test_sums_of_unequal_chances_are_bounded() -> None:
    """Against the exact law of a sum of unequal chances, by convolution."""
    chances = np.linspace(0.02, 0.45, 60)
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    for found in range(61):
        rare = min(law[found:].sum(), law[: found + 1].sum())
        assert (
            summed_look("picked", "", found, 60, float(chances.mean())).chance >= min(1.0, 2 * rare) - 1e-12
        )


@pytest.mark.slow
def test_the_chances_of_tables_and_drops_are_those_of_many_runs(pair: TabulationPair) -> None:
    """The laws that an audit claims, and which of them the toy shows."""
    found = judged_runs(pair, pair.drawn(50, 7), seed=7)
    assert not found.alarms
    assert found.unseen == ()
    assert {"picked", "dropped", "tails", "law", "account", "repeats"} <= {look.kind for look in found.noise}
    for look in found.noise:
        if look.kind in ("picked", "dropped") and look.trials > 2000:
            assert look.observed == pytest.approx(look.expected, abs=0.05)
    assert {look.statistic for look in found.points} == {"likelihood ratio"}


@pytest.mark.slow
def test_command_and_what_it_cannot_audit(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    params, _ = folders
    asked = ["risk", "audit", str(params), "--data", str(DATA), "--runs", "20", "--written", "1"]
    assert command([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["mechanism"], told["written"], told["verdict"]) == ("safetab run", 1, "no alarm")
    assert command([*asked, "--counts", str(DATA / "GRF-C.txt")]) == 2
    assert command(["risk", "audit", "--data", str(DATA)]) == 2
    assert "both are given" in capsys.readouterr().err
    with pytest.raises(InputError, match="the same counts"):
        audit_tabulation(params, DATA, neighbour=DATA, runs=2)
    lines = (DATA / "person-records.txt").read_text().splitlines(keepends=True)
    shutil.copy(DATA / "GRF-C.txt", tmp_path)
    (tmp_path / "person-records.txt").write_text("".join(lines[:1] + lines[4:]))
    with pytest.raises(InputError, match="one record"):
        audit_tabulation(params, DATA, neighbour=tmp_path, runs=2)


@pytest.mark.slow
def test_what_is_written_is_what_was_drawn(
    folders: tuple[Path, Path], pair: TabulationPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    params, _ = folders
    found = audit_tabulation(params, DATA, neighbour=pair.folders[1], runs=4, written=1)
    assert not found.alarms
    assert "safetab run" in str(found)
    assert describe(found).objects["written"] == 1
    honest = audit.run

    def again(*given: Any, options: Options, **more: Any) -> Any:
        return honest(*given, options=replace(options, rehearsal=5), **more)

    monkeypatch.setattr(audit, "run", again)
    assert kinds(audit_tabulation(params, DATA, neighbour=pair.folders[1], runs=4, written=1)) == {"written"}
