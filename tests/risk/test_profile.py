"""Bounds from the trade-off curve: closed forms, a second route, and attacks that never exceed them."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.overall import account
from discreet.accounting.privacy_loss import compose
from discreet.budget import DiscreteGaussian, DiscreteLaplace, Level, Query, Release, load
from discreet.cli.commands import run
from discreet.errors import InputError
from discreet.risk.hierarchy_decisions import TwoLevels
from discreet.risk.profile import (
    best_accuracy,
    count_risks,
    expected_posteriors,
    loss_risks,
    reach,
    risk_profile,
)


def test_accuracy_is_one_less_the_least_error_on_the_tradeoff_curve() -> None:
    loss = compose([DiscreteGaussian(variance=5, times=4), DiscreteGaussian(variance="7/2")])
    for p in (Fraction(1, 2), Fraction(1, 5), Fraction(9, 10)):
        (row,) = loss_risks(loss, [p], scope="", what="")
        alphas = np.linspace(0, 1, 2001)
        f = loss.tradeoff(alpha=alphas)
        least = float(np.min((1 - float(p)) * alphas + float(p) * f))
        assert row.accuracy == pytest.approx(1 - least, abs=1e-5)  # the grid of alpha
        assert row.accuracy >= 1 - least - 1e-12
        assert row.advantage == pytest.approx(loss.total_variation, rel=1e-12)


def listed(events: list[DiscreteGaussian]) -> tuple[np.ndarray, np.ndarray]:
    """Both laws of two or more independent counts, cell by cell."""
    null, there = np.ones(1), np.ones(1)
    for event in events:
        x = np.arange(-40, 42)
        law = [np.exp(-((x - s) ** 2) / (2 * float(event.variance))) for s in (0, event.sensitivity)]
        null, there = (np.outer(a, b / b.sum()).ravel() for a, b in ((null, law[0]), (there, law[1])))
    return null, there


@pytest.mark.parametrize("events", [[(4, 1)], [(4, 1), ("5/2", 1)], [(9, 2), (3, 1), (6, 1)]])
@pytest.mark.parametrize("prior", ["1/2", "1/20", "4/5"])
def test_everything_against_a_list_of_all_outcomes(events: list[tuple[object, int]], prior: str) -> None:
    made = [DiscreteGaussian(variance=v, sensitivity=s) for v, s in events]  # type: ignore[arg-type]
    null, there = listed(made)
    p = Fraction(prior)
    for row in (
        loss_risks(compose(made), [p], scope="", what="")[0],
        *(count_risks(made[0], [p], scope="", what="") if len(made) == 1 else ()),
    ):
        both = float(p) * there + float(1 - p) * null
        assert row.accuracy == pytest.approx(
            np.maximum(float(p) * there, float(1 - p) * null).sum(), abs=1e-9
        )
        assert row.expected == pytest.approx((there * float(p) * there / both).sum(), abs=2e-5)
        posterior = float(p) * there / both
        for chance, mark in zip((0.05, 0.25, 0.5, 0.75, 0.95), row.quantiles, strict=True):
            assert there[posterior <= mark + 1e-3].sum() >= chance - 1e-9
            assert there[posterior < mark - 2e-3].sum() <= chance + 1e-9


def test_one_block_count_and_the_whole_census() -> None:
    profile = risk_profile(load("pl94-2020-persons"), prior=["1/2", "1/10"])
    block = profile.at("1/2").one_count[-1]
    assert block.scope == "Block"
    assert block.accuracy == pytest.approx(0.563, abs=5e-4)  # design note, true variance 1/rho
    assert profile.complete
    assert profile.compared == 36
    for row in profile.rows:
        whole = profile.at(row.prior).overall[0]
        assert row.baseline - 1e-12 <= row.accuracy <= whole.accuracy + 1e-12
        assert row.prior - 1e-9 <= row.expected <= whole.expected + 1e-6
        assert list(row.quantiles) == sorted(row.quantiles)


def test_the_2020_dhc() -> None:
    # design note: replacement, even prior, right about 94 times in 100; the main pair alone comes close
    loss = account(load("dhc-2020")).case((13, 13))
    found = best_accuracy(lambda eps: loss.delta(epsilon=eps), [Fraction(1, 2)])
    assert found[0] == pytest.approx(0.94, abs=5e-3)


def test_the_main_pair_alone_is_no_bound() -> None:
    alone = risk_profile(load("pl94-2020-persons"), prior="1/2", pairs="main")
    assert not alone.complete
    assert alone.overall[0].accuracy <= risk_profile(load("pl94-2020-persons")).overall[0].accuracy + 1e-12


@pytest.mark.slow
def test_all_pairs_of_the_2020_dhc() -> None:
    profile = risk_profile(load("dhc-2020"), prior="1/2")
    assert profile.compared == 946
    assert profile.overall[0].accuracy == pytest.approx(0.94, abs=5e-3)
    main = risk_profile(load("dhc-2020"), prior="1/2", pairs="main").overall[0]
    assert main.accuracy <= profile.overall[0].accuracy


@given(
    v1=st.fractions("1/2", "12"),
    v2=st.fractions("1/2", "6"),
    p=st.fractions("1/50", "49/50"),
    siblings=st.integers(1, 12),
    rest=st.integers(0, 8),
    known=st.integers(0, 3),
    chance=st.sampled_from(["exact", "published"]),
)
@settings(max_examples=20, deadline=None)
def test_no_attack_beats_the_bound(
    v1: Fraction, v2: Fraction, p: Fraction, siblings: int, rest: int, known: int, chance: str
) -> None:
    # the target adds one to the block's count and one to the group's; the siblings' sum says nothing of them
    two = TwoLevels(variance=(v1, v2), siblings=siblings, prior=p, known=known)
    attack = two.averaged_accuracy(rest=rest, chance=chance)  # type: ignore[arg-type]
    events = [DiscreteGaussian(variance=v1), DiscreteGaussian(variance=v2)]
    (bound,) = loss_risks(compose(events), [p], scope="", what="")
    (one,) = count_risks(events[0], [p], scope="", what="")
    assert attack <= bound.accuracy + 1e-11
    assert one.accuracy <= bound.accuracy + 1e-11


def test_the_bound_would_notice_an_attack_that_knows_too_much() -> None:
    # with known siblings' true sum and no noise on the group the attack is perfect, and the bound says so
    (bound,) = loss_risks(compose([DiscreteGaussian(variance="1/100")]), [Fraction(1, 2)], scope="", what="")
    assert bound.accuracy > 1 - 1e-5


def test_a_swap_of_prior_and_complement_changes_nothing() -> None:
    loss = compose([DiscreteGaussian(variance=3, times=6)])
    a, b = loss_risks(loss, [Fraction(1, 7), Fraction(6, 7)], scope="", what="")
    assert a.accuracy == pytest.approx(b.accuracy, rel=1e-13)


def test_many_counts_are_close_to_the_normal_law() -> None:
    (row,) = loss_risks(
        compose([DiscreteGaussian(variance=50, times=50)]), [Fraction(1, 2)], scope="", what=""
    )
    assert row.accuracy == pytest.approx(0.5 * (1 + math.erf(0.5 / math.sqrt(2))), abs=2e-5)
    # mean of 1 / (1 + exp(-L)), L normal with mean 1/2 and variance 1
    x = np.linspace(-12, 13, 200_001)
    density = np.exp(-((x - 0.5) ** 2) / 2) / math.sqrt(2 * math.pi)
    assert row.expected == pytest.approx(float(np.sum(density / (1 + np.exp(-x))) * (x[1] - x[0])), abs=2e-5)


def test_rhos_mean_the_papers_variance() -> None:
    profile = risk_profile({"block": "0.0992"}, prior="1/2")
    assert profile.one_count[0].accuracy == pytest.approx(0.5888, abs=5e-4)  # design note, at rho 0.099
    assert profile.overall[0].accuracy == pytest.approx(profile.one_count[0].accuracy, abs=1e-12)


def test_laplace_noise_and_sensitivities() -> None:
    queries = [Query(name="a", scale=2), Query(name="b", variance=9, sensitivity=3, groups=2)]
    release = Release(name="small", neighbours="unbounded", levels=[Level(name="State", queries=queries)])
    profile = risk_profile(release, prior="1/2")
    assert profile.one_count[0].what == "one count of b"
    assert profile.overall[0].accuracy == pytest.approx(profile.levels[0].accuracy, abs=1e-12)


@pytest.mark.parametrize("prior", [0, 1, "3/2", "1e-13", []])
def test_bad_priors_are_refused(prior: object) -> None:
    with pytest.raises(InputError, match="prior"):
        risk_profile({"block": "0.1"}, prior=prior)  # type: ignore[arg-type]


def test_bad_rhos_are_refused() -> None:
    for rhos in ({}, {"block": 0}, {"block": "-1"}):
        with pytest.raises(InputError, match="rho"):
            risk_profile(rhos, prior="1/2")
    with pytest.raises(InputError, match="pairs is"):
        risk_profile(load("pl94-2020-persons"), pairs="some")  # type: ignore[arg-type]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, figure = tmp_path / "r.csv", tmp_path / "r.png"
    rhos = ["--rho", "block=0.0992", "--rho", "group=0.2465"]
    files = ["--csv", str(table), "--plot", str(figure)]
    assert run(["risk", "release", *rhos, "--prior", "1/2", "--prior", "1/5", *files, "--quiet"]) == 0
    assert "0.6614" in capsys.readouterr().out  # 0.66132, a bound: rounded up
    assert len(table.read_text().splitlines()) == 11
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert run(["risk", "release", *rhos, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["is_bound"] is True
    assert found["rows"][-1]["accuracy"] == pytest.approx(0.6613, abs=5e-5)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--prior", "0", "--rho", "block=1"],
        ["--rho", "block"],
        ["--rho", "block=0"],
        ["--rho", "a=1", "--rho", "a=2"],
        [],
        ["nothing-of-that-name"],
        ["pl94-2020-persons", "--rho", "a=1"],
        ["pl94-2020-persons", "--plot", "r.gif"],
    ],
)
def test_command_refuses(arguments: list[str]) -> None:
    assert run(["risk", "release", *arguments]) == 2


def test_rhos_in_a_list_are_those_of_a_mapping() -> None:
    listed = risk_profile(["0.2465", 0.0992], prior="1/2")
    named = risk_profile({"level 1": "0.2465", "level 2": 0.0992}, prior="1/2")
    assert listed == named


@pytest.mark.parametrize("rhos", [["1000"], ["70", "0.1"], ["100", "100"], ["45", "0.1"]])
def test_rhos_that_tell_nearly_everything(rhos: list[str]) -> None:
    for row in risk_profile(rhos, prior=["1/2", "1/864"]).overall:
        assert 1 - 1e-12 < row.accuracy <= 1  # noise is not zero with probability below 1e-19
        assert row.expected == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("wrong", ["dhc-2020", None, 0.1, [], {}, {"a": ["0.1", "0.2"]}, ["x"], [0]])
def test_what_is_neither_a_release_nor_rhos_is_refused(wrong: object) -> None:
    with pytest.raises(InputError):
        risk_profile(wrong, prior="1/2")  # type: ignore[arg-type]


def test_reach_is_beyond_all_that_matters() -> None:
    for events in (
        [DiscreteGaussian(variance=5625, times=9), DiscreteGaussian(variance=625, times=9)],
        [DiscreteGaussian(variance="10.08", times=2)],
        [DiscreteLaplace(scale=3, times=4)],
    ):
        loss = compose(events)
        assert float(loss.delta(epsilon=reach(events))) < 1e-20
        assert float(loss.delta(epsilon=reach(events) / 8)) > 1e-20  # and not so far that it costs time
        (row,) = loss_risks(loss, [Fraction(1, 5)], scope="", what="")
        far = expected_posteriors(lambda eps, loss=loss: loss.delta(epsilon=eps), [Fraction(1, 5)], reach=3.0)
        assert row.expected == pytest.approx(float(far[0]), abs=1e-5)
