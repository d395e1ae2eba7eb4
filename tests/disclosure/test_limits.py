"""Noise from limits on risk: kept, proved, and no more than needed."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.accounting.account import account
from discreet.accounting.privacy_loss import compose
from discreet.answers.risk_limits import risk_calibration_answer
from discreet.budget import Release, load
from discreet.cli import run
from discreet.disclosure import risk
from discreet.disclosure.limits import calibrate_risk
from discreet.errors import InputError
from discreet.estimation import plan
from discreet.promises.limits import RiskLimit

LIMITS = {
    "right": "right=60%,prior=1/2",
    "predictive": "predictive=20%,prior=1/100,false-positive-rate=1e-3",
    "guess": "guess=1/2016,most=5%",
    "belief": "belief=0.7,prior=1/10,chance=1/20",
}
TINY = Release.from_toml(
    'name = "tiny"\nneighbours = "bounded"\n[[levels]]\nname = "A"\nqueries = { q = { variance = 3 } }\n'
    '[[levels]]\nname = "B"\nqueries = { q = { variance = "7/2" }, r = { variance = 5 } }\n'
    '[spine]\nmay_merge_up = ["B"]'
)


def risks(release: Release) -> dict[str, float]:
    """The four risks, by the functions that answer for a release as it is."""
    found = risk(
        release, prior=["1/2", "1/100"], false_positive_rates=["1e-3"], guess=["1/2016"], neighbours="bounded"
    )
    (row,) = found.detections
    whole, line = account(release), Fraction(float(RiskLimit.read(LIMITS["belief"]).threshold))
    tails = [compose(events).tail(above=line) for _, events in whole.cases]
    return {
        "right": found.profile.overall[0].accuracy,
        "predictive": dict(row.predictive)[0.01],
        "guess": found.guesses[0].after,
        "belief": max(map(float, tails)),
    }


@pytest.mark.parametrize(
    "kind", ["right", *(pytest.param(one, marks=pytest.mark.slow) for one in LIMITS if one != "right")]
)
def test_the_least_noise_that_keeps_a_limit(kind: str) -> None:
    found = calibrate_risk(TINY, risk=[LIMITS[kind]])
    (kept,) = found.kept
    most = float(kept.limit.most)
    assert kept.proved is not None
    assert kept.proved <= most
    now, before = risks(found.release)[kind], risks(TINY)[kind]
    assert found.factor is not None
    assert kept.risk == pytest.approx(now, rel=1e-8)
    assert kept.before == pytest.approx(before, rel=1e-8)
    assert now <= kept.proved * (1 + 1e-12)
    # a little less noise breaks it: by a thousandth where the proof of a tail takes room
    less = TINY.scaled(
        found.factor * Fraction(99 if kind == "belief" else 9999, 100 if kind == "belief" else 10000)
    )
    assert risks(less)[kind] > most
    assert found.epsilon == pytest.approx(account(found.release).epsilon(delta="1e-10"), rel=1e-9)


def right(release: Release) -> float:
    """How often decisions are right at even odds: the total variation is delta at epsilon 0."""
    return 0.5 + 0.5 * float(account(release).delta(epsilon=0))


ONE = Release.from_toml(
    'name = "one"\nneighbours = "bounded"\n[[levels]]\nname = "A"\nqueries = { q = { variance = 3 } }'
)


def brute_force(release: Release, kind: str) -> float:
    """The risk of a release of one query, by listing all outcomes: two cells change, or one by itself."""
    ((event,),) = (level.events(release.neighbours) for level in release.levels)
    law, reach = event.single(), 30 + int(9 * float(event.size) ** 0.5)
    x = np.arange(-reach, reach + 1)
    p, q = law.log_pmf(x), law.log_pmf(x - 1)
    if kind != "guess":
        p, q = np.add.outer(p, p).ravel(), np.add.outer(q, q).ravel()
    limit, order = RiskLimit.read(LIMITS[kind]), np.argsort(p - q)
    p, q = np.exp(p[order]), np.exp(q[order])
    if kind == "right":
        return 0.5 + 0.5 * float(np.maximum(q - p, 0).sum())
    if kind == "belief":
        return float(q[0.1 * q > 0.7 * (0.1 * q + 0.9 * p)].sum())
    # the best test rejects the largest ratios first, the last of them at random
    assert limit.rate is not None
    hit = float(np.interp(float(limit.rate), np.append(0, np.cumsum(p)), np.append(0, np.cumsum(q))))
    return hit if kind == "guess" else 0.01 * hit / (0.01 * hit + 0.99 * 1e-3)


@pytest.mark.parametrize("kind", LIMITS)
def test_limits_by_brute_force(kind: str) -> None:
    """Kept, and broken with a little less noise; a tail jumps, and its proof takes some room."""
    found = calibrate_risk(ONE, risk=[LIMITS[kind]])
    most = float(found.kept[0].limit.most)
    assert found.factor is not None
    assert brute_force(found.release, kind) == pytest.approx(found.kept[0].risk, rel=1e-8)
    assert brute_force(found.release, kind) <= most
    less = ONE.scaled(found.factor * (Fraction(97, 100) if kind == "belief" else Fraction(9999, 10000)))
    assert brute_force(less, kind) > most


def test_each_level_alone_keeps_the_limits() -> None:
    limits = [LIMITS["right"], LIMITS["guess"]]
    found = calibrate_risk(TINY, risk=limits, by="level")
    assert found.factor is None
    for level, own in zip(found.release.levels, found.alone, strict=True):
        # as if nothing else were published
        only = Release(name="only", neighbours="bounded", levels=[level])
        assert right(only) == pytest.approx(0.6, rel=1e-4)
        assert own.kept[0].proved is not None
        assert own.kept[0].proved <= 0.6
        assert own.epsilon == pytest.approx(account(only).epsilon(delta="1e-10"), rel=1e-9)
        assert right(only.scaled("0.9999")) > 0.6
    # together they tell more, and that is said
    assert found.kept[0].risk == pytest.approx(right(found.release), rel=1e-8)
    assert found.kept[0].risk > 0.62
    assert found.epsilon == pytest.approx(account(found.release).epsilon(delta="1e-10"), rel=1e-9)
    with pytest.raises(InputError, match="cannot be combined with calibration by level"):
        calibrate_risk(TINY, risk=limits, by="level", weights={"A": 1})


PAIR = Release.from_toml(
    'name = "pair"\nneighbours = "bounded"\n[[levels]]\nname = "Region"\nqueries = { q = { variance = 3 } }\n'
    '[[levels]]\nname = "District"\nqueries = { q = { variance = 5 } }'
)


def test_weights_share_the_gain_and_everything_keeps_the_limits() -> None:
    found = calibrate_risk(PAIR, risk=[LIMITS["right"]], weights={"Region": 2, "District": 1})
    (kept,) = found.kept
    assert kept.proved is not None
    assert 0.599 < kept.risk <= kept.proved * (1 + 1e-12)
    assert kept.proved <= 0.6
    assert right(found.release) == pytest.approx(kept.risk, rel=1e-8)
    first, second = (float(level.factor) for level in found.levels)
    assert first == pytest.approx(second**2, rel=2e-3)  # factors are short
    with pytest.raises(InputError, match="levels without a weight keep their noise"):
        calibrate_risk(PAIR, risk=[LIMITS["right"]], weights={"District": 1})


@pytest.mark.parametrize(
    "kind", ["right", *(pytest.param(one, marks=pytest.mark.slow) for one in LIMITS if one != "right")]
)
def test_the_best_plan_within_a_limit(kind: str) -> None:
    found = plan(PAIR, keep=["Region", "District"], tree=[20], risk=[LIMITS[kind]])
    (kept,) = found.limits
    most = float(kept.limit.most)
    assert kept.proved is not None
    assert kept.proved <= most
    one = right if kind == "right" else lambda release: risks(release)[kind]
    assert kept.risk == pytest.approx(one(found.release), rel=1e-8)
    assert kept.before == pytest.approx(one(PAIR), rel=1e-8)
    assert one(found.release.scaled("0.97" if kind == "belief" else "0.9999")) > most
    assert account(found.release).epsilon(delta="1e-10") == pytest.approx(float(found.epsilon), abs=2e-6)
    assert found.proof is not None
    assert found.proof.upper <= found.delta
    # the plan divides its budget as the best of that epsilon does
    other = plan(PAIR, keep=["Region", "District"], tree=[20], epsilon=found.epsilon, certify=False)
    assert float(other.rho) == pytest.approx(float(found.rho), rel=1e-4)
    assert other.ratio == pytest.approx(found.ratio, rel=1e-4)


def test_a_plan_within_an_epsilon_and_limits(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Whichever is stricter decides."""
    both = plan(PAIR, weights={"Region": 1}, tree=[20], risk=[LIMITS["right"]], epsilon=2, certify=False)
    assert float(both.epsilon) == pytest.approx(2, abs=1e-4)
    assert both.limits[0].risk < 0.6
    file = tmp_path / "pair.toml"
    file.write_text(PAIR.to_toml(), encoding="utf-8")
    asked = ["plan", str(file), "--tree", "20", "--keep", "Region", "--risk", LIMITS["right"], "--no-certify"]
    assert run([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["limits"][0]["now"] == pytest.approx(0.6, rel=1e-4)
    assert told["epsilon"] == pytest.approx(3.1657, abs=1e-3)  # the districts are not needed
    assert run([*asked, "--least-cost"]) == 2
    assert run([*asked[:-1], "--risk", "belief=0.7,prior=1/10"]) == 2


@pytest.mark.slow
def test_all_limits_are_kept_together() -> None:
    together = calibrate_risk(TINY, risk=list(LIMITS.values()))
    alone = [calibrate_risk(TINY, risk=[one]).factor for one in LIMITS.values()]
    assert together.factor == pytest.approx(max(alone), rel=1e-3)
    for one in together.kept:
        assert one.proved is not None
        assert one.risk <= one.proved * (1 + 1e-11)  # the value is a float, the proof is not
        assert one.proved <= float(one.limit.most)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("belief=0.7,prior=1/10", "a bound on the posterior itself cannot be had"),
        ("right=50%,prior=1/2", "with nothing published it is 0.5; no noise lowers it"),
        ("guess=1/10,most=5%", "no noise lowers it"),
        ("predictive=1%,prior=1/100,false-positive-rate=1e-3", "no noise lowers it"),
        ("belief=0.1,prior=1/10,chance=1/20", "not above the prior"),
        ("wrong=1/2", "begins with predictive, guess, right, belief"),
        ("right=60%", "right needs right=, prior="),
        ("right", "is written as right=60%,prior=1/2"),
        ("right=160%,prior=1/2", "between 0 and 1"),
    ],
)
def test_limits_that_cannot_be_had(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        calibrate_risk(TINY, risk=[text])


def test_all_limits_that_cannot_be_had_are_named_at_once() -> None:
    with pytest.raises(InputError) as refused:
        calibrate_risk(TINY, risk=["right=50%,prior=1/2", LIMITS["guess"], "wrong=1/2"])
    text = str(refused.value)
    assert text.startswith("2 limits on risk cannot be used:")
    assert "no noise lowers it" in text
    assert "begins with" in text


def test_a_limit_on_beliefs_is_said_to_be_a_saw() -> None:
    """One count of variance 2 times x, all outcomes: kept at the factor found, broken a little below it, kept
    again at a third of it. For other limits the chance falls steadily, and nothing is said."""
    release = Release.from_toml(
        'name = "one"\nneighbours = "unbounded"\n[[levels]]\nname = "A"\nqueries = { q = { variance = 2 } }'
    )
    found = calibrate_risk(release, risk=["belief=70%,prior=1/10,chance=1/20"])
    places = np.arange(-9, 11)

    def risk(factor: float) -> float:
        there, absent = (np.exp(-((places - count) ** 2) / (4 * factor)) for count in (1, 0))
        return float(there[there / (there + 9 * absent) > 0.7].sum() / there.sum())

    factor = float(found.factor or 0)
    assert risk(factor) == pytest.approx(found.kept[0].risk, rel=1e-9)
    assert risk(factor) < 0.05 < risk(0.998 * factor)
    assert risk(0.34 * factor) < 0.05
    assert "do not fall steadily" in str(risk_calibration_answer(found).body)
    steady = calibrate_risk(release, risk=[LIMITS["right"]])
    assert "do not fall steadily" not in str(risk_calibration_answer(steady).body)


def test_the_least_noise_of_right_decisions_where_they_are_a_saw() -> None:
    """One count, prior 1/10: right decisions by all outcomes, at every variance of a fine grid.

    From variance 1.7 halving and bisection end at 0.87; the limit is kept at 0.67 already.
    """
    release = Release.from_toml(
        'name = "one"\nneighbours = "unbounded"\n[[levels]]\nname = "A"\n'
        'queries = { q = { variance = "1.7" } }'
    )
    places = np.arange(-12, 14)

    def right(variance: float) -> float:
        there, absent = (np.exp(-((places - count) ** 2) / (2 * variance)) for count in (1, 0))
        return float(np.maximum(0.1 * there, 0.9 * absent).sum() / there.sum())

    grid = np.geomspace(0.1, 4, 4000)
    curve = np.array([right(x) for x in grid])
    least = float(grid[curve <= 0.9022][0])
    assert right(0.8) > 0.9022 > right(0.69)  # a saw
    found = calibrate_risk(release, risk=["right=90.22%,prior=1/10"])
    variance = 1.7 * float(found.factor or 0)
    assert found.kept[0].risk == pytest.approx(right(variance), rel=1e-6)
    assert variance == pytest.approx(least, rel=2e-3)
    text = " ".join(map(str, risk_calibration_answer(found).body))
    assert f"{found.tried} were tried, and each breaks a limit" in text
    assert found.tried > 10


@pytest.mark.slow
def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new.toml"
    asked = ["calibrate", "dhc-2022-08-25", "--delta", "1e-10", "--risk", LIMITS["guess"]]
    assert run([*asked, "--risk", LIMITS["right"], "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["kind"] for row in told["limits"]] == ["guess", "right"]
    assert told["limits"][1]["proved_at_most"] <= 0.6
    assert told["epsilon"] == pytest.approx(3.1436, abs=1e-4)
    assert account(load(str(out))).epsilon(delta="1e-10") == pytest.approx(told["epsilon"], rel=1e-9)
    for wrong in (["--epsilon", "4"], ["--by", "level", "--weights", "US=1"], ["--accuracy", "1e-3"]):
        assert run([*asked, *wrong]) == 2
