"""Bounds from the trade-off curve: closed forms, a second route, and attacks that never exceed them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.account import account
from discreet.accounting.privacy_loss import compose
from discreet.answers.risk import advantage_of, belief_of, right_of, right_percent, risk_answer
from discreet.budget import DiscreteGaussian, DiscreteLaplace, Level, Query, Release, Spine, load
from discreet.cli import run
from discreet.disclosure import explain_profile
from discreet.disclosure.beliefs import QUANTILES, worst_quantiles
from discreet.disclosure.profile import best_accuracies, part_risks, risk_profile
from discreet.disclosure.two_levels import TwoLevels
from discreet.errors import InputError
from discreet.loss.posteriors import mean_posteriors
from discreet.loss.quantiles import loss_tails
from discreet.noise import Noise


@pytest.mark.slow
def test_accuracy_is_one_less_the_least_error_on_the_tradeoff_curve() -> None:
    loss = compose([DiscreteGaussian(variance=5, times=4), DiscreteGaussian(variance="7/2")])
    for p in (Fraction(1, 2), Fraction(1, 5), Fraction(9, 10)):
        (row,) = part_risks(loss.events, [p])
        alphas = np.linspace(0, 1, 2001)
        f = loss.tradeoff(alpha=alphas)
        least = float(np.min((1 - float(p)) * alphas + float(p) * f))
        assert row.accuracy == pytest.approx(1 - least, abs=1e-5)  # the grid of alpha
        assert row.accuracy >= 1 - least - 1e-12
        assert row.advantage == pytest.approx(loss.total_variation, rel=1e-12)


def listed(events: list[Noise]) -> tuple[np.ndarray, np.ndarray]:
    """Both laws of independent counts, outcome by outcome, from the weights of the noise alone."""
    null, there = np.ones(1), np.ones(1)
    for event in events:
        for _ in range(event.times):
            wide = 9 * math.sqrt(event.variance) if isinstance(event, DiscreteGaussian) else 40 * event.scale
            x = np.arange(-math.ceil(wide) - 1, math.ceil(wide) + event.sensitivity + 2)
            if isinstance(event, DiscreteGaussian):
                law = [np.exp(-((x - s) ** 2) / (2 * float(event.variance))) for s in (0, event.sensitivity)]
            else:
                law = [np.exp(-np.abs(x - s) / float(event.scale)) for s in (0, event.sensitivity)]
            null, there = (np.outer(a, b / b.sum()).ravel() for a, b in ((null, law[0]), (there, law[1])))
    seen = (null > 1e-300) & (there > 1e-300)
    return null[seen], there[seen]


NASTY: list[list[Noise]] = [
    [DiscreteGaussian(variance="1/10")],
    [DiscreteGaussian(variance=4)],
    [DiscreteLaplace(scale=1)],
    [DiscreteLaplace(scale=1, times=2)],
    [DiscreteLaplace(scale=2, sensitivity=3), DiscreteGaussian(variance="1/4")],
    [DiscreteGaussian(variance=4), DiscreteGaussian(variance="5/2")],
    [DiscreteGaussian(variance=9, sensitivity=2), DiscreteGaussian(variance=3), DiscreteLaplace(scale="1/2")],
]


@pytest.mark.parametrize("events", NASTY)
@pytest.mark.parametrize("prior", ["1/2", "1/100", "4/5", "1e-12"])
def test_everything_against_a_list_of_all_outcomes(events: list[Noise], prior: str) -> None:
    null, there = listed(events)
    (row,) = part_risks(events, [Fraction(prior)])
    p, q = float(Fraction(prior)), float(1 - Fraction(prior))
    assert row.accuracy == pytest.approx(np.maximum(p * there, q * null).sum(), abs=1e-12)
    posterior = p * there / (p * there + q * null)
    assert row.expected == pytest.approx(there @ posterior, rel=1e-11)
    named = np.where(np.abs(posterior - 0.5) < 1e-12, 0.5, posterior > 0.5)  # a coin decides ties
    assert row.named == pytest.approx(there @ named, rel=1e-9, abs=1e-15)
    if row.named > 1e-12:
        share = p * (there @ named) / ((p * there + q * null) @ named)
        assert row.predictive == pytest.approx(share, rel=1e-9)
    for chance, mark in zip((0.05, 0.25, 0.5, 0.75, 0.95), row.quantiles, strict=True):
        assert there[posterior <= mark * (1 + 1e-8)].sum() >= chance - 1e-12
        assert there[posterior < mark * (1 - 1e-8)].sum() <= chance + 1e-12
    assert list(row.quantiles) == sorted(row.quantiles)


def test_numbers_that_were_printed_differently_in_two_places() -> None:
    # sums of 40 digits over all outcomes, mpmath: 0.59853204847 and 0.31844464479
    (small,) = part_risks([DiscreteGaussian(variance="1/10")], [Fraction(1, 100)])
    (laplace,) = part_risks([DiscreteLaplace(scale=1)], [Fraction(1, 5)])
    assert small.expected == pytest.approx(0.598532048472133, rel=1e-13)
    assert laplace.expected == pytest.approx(0.3184446447901161, rel=1e-13)
    # by the contour, not by the list of outcomes
    assert mean_posteriors([[DiscreteGaussian(variance="1/10")]], [Fraction(1, 100)])[0, 0] == pytest.approx(
        small.expected, rel=1e-13
    )
    assert laplace.quantiles[0] == laplace.quantiles[1]  # the loss is -1 with probability 0.269


@pytest.mark.parametrize("prior", ["1/2", "1e-300", "1/864", "999/1000"])
def test_the_mean_posterior_of_wide_and_narrow_noise(prior: str) -> None:
    # of many counts of equal noise, the loss is a multiple of their sum, whose law is a convolution
    p = Fraction(prior)
    for variance, times in (("1/2", 40), ("1/50", 3), (30, 500)):
        v = float(Fraction(variance))
        x = np.arange(-60, 61)
        one = np.exp(-(x**2) / (2 * v))
        law, base = np.ones(1), one / one.sum()
        for _ in range(times):
            law = np.convolve(law, base)
            law = law[len(law) // 2 - min(len(law) // 2, 1500) : len(law) // 2 + 1501]
        total = np.arange(law.size) - law.size // 2
        odds = (total + times / 2) / v + math.log(p) - math.log(1 - p)
        rare = np.exp(-np.abs(odds))
        wanted = law @ (np.where(odds >= 0, 1.0, rare) / (1 + rare))
        found = mean_posteriors([[DiscreteGaussian(variance=variance, times=times)]], [p])[0, 0]
        assert found == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize(
    ("event", "wanted"),
    [  # noise that is hardly any, and so many counts that nothing stays hidden; and noise that hides all
        (DiscreteGaussian(variance="1/50", times=10**6), (1, 1, 1)),
        (
            DiscreteGaussian(variance=1000, times=10**6),
            (1, 1, 8.569e-10),
        ),  # P[loss > 691], sd 31.6 around 500
        (DiscreteLaplace(scale="1/100", times=5), (1, 1, math.exp(500) * 1e-300)),
        (DiscreteGaussian(variance=10**9), (0.5, 1 / 864, 1e-300)),
    ],
)
def test_the_mean_posterior_at_the_ends(event: Noise, wanted: tuple[float, ...]) -> None:
    priors = [Fraction(1, 2), Fraction(1, 864), Fraction(1, 10**300)]
    assert mean_posteriors([[event]], priors)[0] == pytest.approx(wanted, rel=1e-3)


def test_noise_that_is_hardly_any_tells_all() -> None:
    (one,) = part_risks([DiscreteGaussian(variance="1/10000")], [Fraction(1, 864)])
    assert one.expected == 1
    (two,) = part_risks([DiscreteGaussian(variance="1/10000", times=2)], [Fraction(1, 2)])
    assert two.expected == two.accuracy == 1
    # loss 50 + 100 N: next to nothing at N = 0, and e^150 1e-100 at N = 1, which has probability e^-50
    found = mean_posteriors([[DiscreteGaussian(variance="1/100")]], [Fraction(1, 10**100)])[0, 0]
    assert found == pytest.approx(math.exp(100) * 1e-100, rel=1e-10)


def test_cases_together_are_cases_alone() -> None:
    made = [[*events, DiscreteGaussian(variance=k + 1)] for k, events in enumerate(NASTY)]
    priors = [Fraction(1, 2), Fraction(1, 864)]
    together = mean_posteriors(made, priors)
    for events, row in zip(made, together, strict=True):
        assert row == pytest.approx(mean_posteriors([events], priors)[0], rel=1e-12)


def small_release(**queries: object) -> Release:
    made = [Query(name=name, **noise) for name, noise in queries.items()]  # type: ignore[arg-type]
    return Release(name="small", neighbours="unbounded", levels=[Level(name="State", queries=made)])


def test_one_count_is_one_number_in_every_row() -> None:
    for noise in ({"variance": "1/10"}, {"scale": 1}, {"variance": 6}):
        rows = risk_profile(small_release(a=noise), prior=["1/100", "1/5"]).rows
        for prior in (rows[0].prior, rows[1].prior):
            numbers = {
                (row.accuracy, row.advantage, row.expected, row.quantiles, row.named, row.predictive)
                for row in rows
                if row.prior == prior
            }
            assert len(numbers) == 1


def test_levels_that_are_always_merged_are_one_level() -> None:
    levels = [Level(name=name, queries=[Query(name="total", variance=6)]) for name in ("State", "County")]
    spine = Spine(paths={1: ["State+County"]})
    merged = Release(name="merged", neighbours="unbounded", levels=levels, spine=spine)
    profile = risk_profile(merged)
    assert [row.scope for row in profile.rows] == ["State+County", "State+County", "overall"]
    x = np.arange(-60, 61)
    law = np.exp(-(x**2) / 6.0)  # one count of variance 3
    for row in profile.rows:
        assert row.accuracy == pytest.approx(0.5 + law[60] / law.sum() / 2, rel=1e-13)


def test_the_most_telling_count_is_the_one_of_the_largest_advantage() -> None:
    release = small_release(
        a={"scale": 2}, b={"variance": 9, "sensitivity": 3, "groups": 2}, c={"variance": 2}
    )
    (one,) = risk_profile(release).one_count
    each = {q: part_risks([replace(e, times=1)], [Fraction(1, 2)])[0] for q, e in noise_of(release)}
    assert one.query == max(each, key=lambda name: each[name].advantage)


def noise_of(release: Release) -> list[tuple[str, Noise]]:
    return [(row.query, row.event) for row in release.variance_table()]


def test_people_who_change_together_have_their_sensitivity() -> None:
    two = risk_profile(small_release(a={"variance": 5}), people=2).overall[0]
    (wanted,) = part_risks([DiscreteGaussian(variance=5, sensitivity=2)], [Fraction(1, 2)])
    assert two.accuracy == wanted.accuracy


def test_a_certified_accuracy_contains_the_float() -> None:
    release = small_release(a={"variance": 2}, b={"variance": 5})
    for prior in ("1/2", "1/864"):
        (row,) = risk_profile(release, prior=prior, certify=True).overall
        assert row.certified is not None
        assert row.accuracy in row.certified
        assert row.accuracy <= row.certified.upper < row.accuracy + 1e-5


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


THREE = """
name = "three"
neighbours = "{neighbours}"
levels = [
  {{ name = "A", queries = {{ total = {{ variance = {a} }} }} }},
  {{ name = "B", queries = {{ total = {{ variance = {b} }} }} }},
  {{ name = "C", queries = {{ total = {{ variance = {c} }} }} }},
]
[spine.paths]
1 = ["A", "B", "C"]
2 = ["A", "B+C"]
3 = ["A+B", "C"]
4 = ["A+B+C"]
"""


@pytest.mark.parametrize("neighbours", ["bounded", "unbounded"])
@pytest.mark.parametrize(
    "variances", [(3, 4, 6), ('"1/2"', '"1/2"', '"1/3"'), pytest.param((40, 7, 9), marks=pytest.mark.slow)]
)
def test_quantiles_of_a_release_are_the_largest_of_all_cases(neighbours: str, variances: tuple) -> None:
    texts = dict(zip("abc", variances, strict=True))
    whole = account(Release.from_toml(THREE.format(neighbours=neighbours, **texts)))
    p = Fraction(1, 100)
    (row,) = risk_profile(whole.release, prior=p).overall
    each = [part_risks(events, [p])[0].quantiles for _, events in whole.cases]
    assert row.quantiles == pytest.approx(tuple(np.max(each, axis=0)), rel=1e-8)
    assert len(set(each)) > 1
    # no case has fewer targets at or below a quantile than its level says
    marks = np.log(np.array(row.quantiles) / (1 - np.array(row.quantiles))) + math.log(99) + 1e-9
    _, at_most_so_much = whole.errors(threshold=marks.tolist())
    assert (at_most_so_much >= np.array(QUANTILES) - 1e-9).all()


@pytest.mark.parametrize("neighbours", ["bounded", "unbounded"])
def test_many_cases_that_are_not_smooth_are_bounded_closely(
    neighbours: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.disclosure.beliefs._FEW", 0)
    whole = account(Release.from_toml(THREE.format(neighbours=neighbours, a=3, b=4, c=6)))
    largest = np.max([whole.case(label).law.quantiles(QUANTILES) for label, _ in whole.cases], axis=0)
    found = worst_quantiles(whole)
    spread = math.sqrt(whole.case(whole.main).variance)
    assert (largest <= found).all()
    assert (found <= largest + 1.001e-3 * spread).all()


def test_three_levels_have_the_quantile_of_the_pair_that_has_most() -> None:
    # the pair (3, 4) decides the accuracy and has 0.136; the pair (4, 4) has 0.1687
    three = Release.from_toml(THREE.format(neighbours="bounded", a=3, b=4, c=6))
    (row,) = risk_profile(three, prior="1/100").overall
    assert row.case == (3, 4)
    assert row.quantiles[-1] == pytest.approx(0.1687, abs=5e-5)
    assert row.most is None


def test_quantiles_of_many_smooth_cases_are_the_largest() -> None:
    whole = account(load("dhc-2020"))
    found = worst_quantiles(whole)
    for label in [(6, 6), (13, 13), (1, 1), (4, 37), (1, 43)]:
        some = whole.case(label).law.quantiles(QUANTILES)
        assert (some <= found + 1e-8).all()
        assert (found < some + 1e-3).all()  # laws of one rho that differ by their lattices alone


def test_the_2020_dhc() -> None:
    # design note: replacement, even prior, right about 94 times in 100; the main pair alone comes close
    loss = account(load("dhc-2020")).case((13, 13))
    assert best_accuracies(loss, [Fraction(1, 2)])[0] == pytest.approx(0.94, abs=5e-3)


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


@pytest.mark.slow
@given(
    v1=st.fractions("1/2", "12"),
    v2=st.fractions("1/2", "6"),
    p=st.fractions("1/50", "49/50"),
    siblings=st.integers(1, 12),
    rest=st.integers(0, 8),
    known=st.integers(0, 3),
    chance=st.sampled_from(["exact", "unconstrained"]),
)
@settings(max_examples=20, deadline=None)
def test_no_attack_beats_the_bound(
    v1: Fraction, v2: Fraction, p: Fraction, siblings: int, rest: int, known: int, chance: str
) -> None:
    # the target adds one to the block's count and one to the group's; the siblings' sum says nothing of them
    two = TwoLevels(variance=(v1, v2), siblings=siblings, prior=p, known=known)
    attack = two.accuracy(rest=rest, chance=chance)  # type: ignore[arg-type]
    events = [DiscreteGaussian(variance=v1), DiscreteGaussian(variance=v2)]
    (bound,), (one,) = part_risks(events, [p]), part_risks(events[:1], [p])
    assert attack <= bound.accuracy + 1e-11
    assert one.accuracy <= bound.accuracy + 1e-11


def test_the_bound_would_notice_an_attack_that_knows_too_much() -> None:
    # with known siblings' true sum and no noise on the group the attack is perfect, and the bound says so
    (bound,) = part_risks([DiscreteGaussian(variance="1/100")], [Fraction(1, 2)])
    assert bound.accuracy > 1 - 1e-5


def test_a_swap_of_prior_and_complement_changes_nothing() -> None:
    a, b = part_risks([DiscreteGaussian(variance=3, times=6)], [Fraction(1, 7), Fraction(6, 7)])
    assert a.accuracy == pytest.approx(b.accuracy, rel=1e-13)


def test_many_counts_are_close_to_the_normal_law() -> None:
    (row,) = part_risks([DiscreteGaussian(variance=50, times=50)], [Fraction(1, 2)])
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
    assert profile.overall[0].accuracy == pytest.approx(profile.levels[0].accuracy, abs=1e-12)


@pytest.mark.parametrize("prior", [0, 1, "3/2", "1e-301", []])
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


@pytest.mark.parametrize("wrong", [None, 0.1, [], {}, {"a": ["0.1", "0.2"]}, ["x"], [0]])
def test_what_is_neither_a_release_nor_rhos_is_refused(wrong: object) -> None:
    with pytest.raises(InputError):
        risk_profile(wrong, prior="1/2")  # type: ignore[arg-type]


ODD = {
    "one count": small_release(a={"variance": "1/10"}),
    "Laplace": small_release(a={"scale": 1}, b={"scale": "5/2", "groups": 3}),
    "merged": Release(
        name="merged",
        neighbours="unbounded",
        levels=[Level(name=n, queries=[Query(name="total", variance=6)]) for n in ("State", "County")],
        spine=Spine(paths={1: ["State+County"]}),
    ),
    "two paths": Release(
        name="two",
        neighbours="bounded",
        levels=[Level(name=n, queries=[Query(name="total", variance="1/2")]) for n in ("S", "C")],
        spine=Spine(may_merge_up=["C"]),
    ),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("prior", [pytest.param("1/5", marks=pytest.mark.slow), "1/100"])
def test_one_answer_on_every_surface(
    name: str, prior: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from discreet.reports.html import gather

    release, target = ODD[name], str(tmp_path / "release.toml")
    Path(target).write_text(release.to_toml())
    profile = risk_profile(release, prior=prior)
    # a report asks at more priors, and what is evaluated together has its last digits in common
    reported = gather(release, prior=prior, certify=False, savings=False)
    asked = risk_profile(release, prior=reported.everything.profile.priors)
    assert reported.risk == asked.at(prior)
    assert reported.risk.overall[0].accuracy == pytest.approx(profile.overall[0].accuracy, rel=1e-14)
    assert risk_profile(release, neighbours=release.neighbours, prior=prior) == profile  # on the Risk page
    assert run(["risk", "release", target, "--prior", prior, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    for key, value in json.loads(json.dumps(risk_answer(profile).objects)).items():
        assert told[key] == value, key
    assert run(["risk", "release", target, "--prior", prior, "--quiet"]) == 0
    last = capsys.readouterr().out.partition("\noverall ")[2].partition("everything published")[2].split()
    (row,) = profile.overall
    mean = str(belief_of(row, row.expected))
    assert row.expected <= float(mean) < 1.001 * row.expected
    assert last[:3] == [str(right_of(row)), str(advantage_of(row)), mean]
    page, right = explain_profile(profile), str(right_percent(row))
    assert f"| everything published | {right} | {advantage_of(row)} | {mean} |" in page


@pytest.mark.parametrize(
    ("events", "smooth"),
    [
        (
            [DiscreteGaussian(variance=Fraction(v, 97), times=20) for v in (3001, 5003, 7919, 10007, 12007)],
            True,
        ),
        ([DiscreteGaussian(variance="1.828"), DiscreteGaussian(variance="4.0217")], False),
        ([DiscreteLaplace(scale="0.7071", times=2), DiscreteGaussian(variance="3.14159")], False),
    ],
)
def test_tails_from_differences_are_the_tails(events: list[Noise], smooth: bool) -> None:
    """Where no lattice is coarse enough to be felt; a law that is not smooth is found out."""
    loss = compose(events)
    points = loss.mean + math.sqrt(loss.variance) * np.array([-2.1, -0.7, 0.0, 0.4, 1.9])
    for law in ("alternative", "null"):
        tails = loss_tails(loss.law, points, null=law == "null")
        true = np.asarray(loss.tail(above=[Fraction(point) for point in points], under=law))
        np.testing.assert_allclose(tails, true, rtol=0, atol=5e-9)
        assert (np.abs(tails - true) < 1e-14).all() != smooth  # the tails themselves, or differences
    for chance, mark in zip(QUANTILES, loss.law.quantiles(QUANTILES), strict=True):
        apart = 1e-7 * math.sqrt(loss.variance)
        below, above = (float(loss.tail(above=Fraction(mark + side))) for side in (-apart, apart))
        assert above - 1e-8 <= 1 - chance <= below + 1e-8


def test_a_certified_chance_is_at_most_one() -> None:
    release = Release.from_toml(
        'name = "a"\nneighbours = "unbounded"\n'
        '[[levels]]\nname = "A"\nqueries = { q = { variance = "1/10000" } }'
    )
    (row,) = risk_profile(release, prior="1/2", certify=True).overall
    assert row.certified is not None
    assert 1 - Fraction(1, 10**9) < row.certified.lower <= row.certified.upper == 1  # it was 1.000000000001
    assert row.accuracy in row.certified


def test_page_and_report_name_the_same_level_where_two_tell_as_much() -> None:
    from discreet.reports.html import gather, render

    level = '[[levels]]\nname = "{}"\nqueries = {{ q = {{ variance = 5 }} }}\n'
    release = Release.from_toml(
        'name = "a"\nneighbours = "unbounded"\n' + "".join(map(level.format, ("Region", "District")))
    )
    assert "sees only the region's count" in explain_profile(risk_profile(release, prior="1/2"))
    report = render(gather(release, certify=False, savings=False))
    assert (
        "count that tells most at even odds is at level “Region”" in report
    )  # it was the last of them, District


@pytest.mark.parametrize("prior", ["1/3", "1/7", "2/3", "1/864"])
def test_nothing_learned_is_right_as_often_as_nothing_published(prior: str) -> None:
    # 0.6666666666666666 beside a baseline of 0.6666666666666667
    for row in risk_profile({"a": "1e-6", "b": "1e-7"}, prior=prior).rows:
        assert row.baseline <= row.accuracy == pytest.approx(row.baseline, abs=2e-16)


def test_numbers_near_certainty_stay_true() -> None:
    # bounds rounded up stay bounds however close to one; a prior that is not 1 is not written as 1
    row = risk_profile({"Block": 5}, prior="0.9999999999").overall[0]
    for value in (row.expected, *row.quantiles):
        assert float(str(belief_of(row, value))) >= value - 1e-16, value
    assert 1 - 2e-15 <= float(str(belief_of(row, 1 - 2e-15))) < 1
    page = explain_profile(risk_profile({"Block": "0.0992"}, prior="0.9999999999"))
    assert "a chance of 1 - 1e-10" in page
    assert "a chance of 1 and" not in page


def test_a_prior_stated_twice_is_one_prior() -> None:
    profile = risk_profile({"Block": "0.0992"}, prior=["1/2", "0.5", 0.5, "1/3"])
    assert [row.prior for row in profile.overall] == [0.5, 1 / 3]
    assert len(profile.rows) == 6
