"""Noise from limits on risk: kept, proved, and no more than needed."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.overall import account
from discreet.accounting.privacy_loss import compose
from discreet.budget import Release, load
from discreet.cli import run
from discreet.errors import InputError
from discreet.risk import risk
from discreet.risk.limits import RiskLimit, calibrate_risk

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
    assert kept.risk == pytest.approx(now, rel=1e-8)
    assert kept.before == pytest.approx(before, rel=1e-8)
    assert now <= kept.proved * (1 + 1e-12)
    # a little less noise breaks it: by a thousandth where the proof of a tail takes room
    less = TINY.scaled(
        found.factor * Fraction(99 if kind == "belief" else 9999, 100 if kind == "belief" else 10000)
    )
    assert risks(less)[kind] > most
    assert found.epsilon == pytest.approx(account(found.release).epsilon(delta="1e-10"), rel=1e-9)


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


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new.toml"
    asked = ["calibrate", "dhc-2022-08-25", "--delta", "1e-10", "--risk", LIMITS["guess"]]
    assert run([*asked, "--risk", LIMITS["right"], "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["kind"] for row in told["limits"]] == ["guess", "right"]
    assert told["limits"][1]["proved_at_most"] <= 0.6
    assert told["epsilon"] == pytest.approx(3.1436, abs=1e-4)
    assert account(load(str(out))).epsilon(delta="1e-10") == pytest.approx(told["epsilon"], rel=1e-9)
    for wrong in (["--epsilon", "4"], ["--by", "level"], ["--accuracy", "1e-3"]):
        assert run([*asked, *wrong]) == 2
