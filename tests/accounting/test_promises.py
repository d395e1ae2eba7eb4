"""From a promise to noise and to rho; releases by name and as lists of events; delta 0."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import (
    ZCDP,
    Account,
    DiscreteGaussian,
    DiscreteLaplace,
    InputError,
    Interval,
    Level,
    PrivacyLoss,
    Query,
    Release,
    TightZCDP,
    account,
    calibrate,
    compose,
    load,
    noise_for,
    portfolio,
    rho_for,
)
from discreet.budget.claims import Claim
from discreet.budget.scope import Scope
from discreet.cli import run
from discreet.comparisons.costs import compare, privacy_table
from discreet.disclosure import risk, risk_profile
from discreet.estimation import accuracy, plan
from discreet.reports.html import gather

QUICK, UNITS = "dhc-2022-08-25", "pl94-2020-units"
MIXED = [
    DiscreteGaussian(variance=5, times=9),
    DiscreteGaussian(variance=5),
    DiscreteLaplace(scale=4, sensitivity=2),
]
LAPLACE = [DiscreteLaplace(scale=4, times=3), DiscreteLaplace(scale="1/2", sensitivity=2)]

# -- noise and rho for a promise -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "counts", "sensitivity", "law"),
    [
        pytest.param(1, "1e-6", 10, 1, "gaussian", marks=pytest.mark.slow),
        ("1/2", "1e-9", 1, 3, "gaussian"),
        (20, 1e-10, 1, 1, "gaussian"),
        (10, "1e-6", 100, 1, "laplace"),
    ],
)
def test_the_noise_for_a_promise_keeps_it_and_a_little_less_does_not(
    epsilon: Any, delta: Any, counts: int, sensitivity: int, law: Any
) -> None:
    noise = noise_for(epsilon=epsilon, delta=delta, counts=counts, sensitivity=sensitivity, law=law)
    assert (noise.times, noise.sensitivity, noise.stated_variance is not None) == (
        counts,
        sensitivity,
        law == "gaussian",
    )
    target, small = Fraction(epsilon), Fraction(delta)
    assert compose([noise]).delta(epsilon=target, certified=True).upper <= small
    less = noise.resized(noise.size * Fraction(99998, 100000))
    assert compose([less]).delta(epsilon=target, certified=True).lower > small
    assert len(str(noise.size)) <= 16  # a short fraction


def test_the_noise_at_delta_zero_is_laplace_and_exact() -> None:
    noise = noise_for(epsilon="3/2", delta=0, counts=10, sensitivity=2, law="laplace")
    assert noise == DiscreteLaplace(scale="40/3", sensitivity=2, times=10)
    assert compose([noise]).epsilon(delta=0, certified=True) == Interval(Fraction(3, 2), Fraction(3, 2))
    with pytest.raises(InputError, match="at delta 0 no epsilon holds: the loss of discrete Gaussian noise"):
        noise_for(epsilon=1, delta=0)


@pytest.mark.parametrize("tight", [True, False])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1, "1e-10"), ("0.1", "0.01"), (10, "1e-5"), (300, "1e-100"), (2, "0.9")]
)
def test_the_rho_for_a_promise_is_the_largest(epsilon: Any, delta: str, tight: bool) -> None:
    curve = TightZCDP if tight else ZCDP
    rho = rho_for(epsilon=epsilon, delta=delta, tight=tight)
    assert curve.from_rho(rho).epsilon(delta=float(delta)) <= float(Fraction(epsilon))
    assert curve.from_rho(rho * Fraction(1_000_012, 10**6)).epsilon(delta=float(delta)) > float(
        Fraction(epsilon)
    )


def test_rho_by_the_conversion_of_bun_and_steinke_is_its_closed_form() -> None:
    # epsilon = rho + 2 sqrt(rho log(1/delta)), solved for rho (Bun and Steinke 2016, Proposition 1.3)
    deep = 10 * math.log(10)
    exact = (math.sqrt(deep + 3) - math.sqrt(deep)) ** 2
    assert float(rho_for(epsilon=3, delta="1e-10", tight=False)) == pytest.approx(exact, rel=2e-6)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"epsilon": 0, "delta": "1e-6"}, "epsilon is 0; it must be above zero"),
        ({"epsilon": 1, "delta": 2}, "delta is 2; it must be 0 or more, and less than 1"),
        ({"epsilon": 1, "delta": "1e-6", "counts": 0}, "counts is 0; it must be a whole number above zero"),
        (
            {"epsilon": 1, "delta": "1e-6", "counts": 3.5},
            "counts is 3.5; it must be a whole number",
        ),
        ({"epsilon": [1, 2], "delta": "1e-6"}, "epsilon is of type list; a number such as 5 or 0.159"),
        ({"epsilon": 100, "delta": "1e-6"}, "discrete Gaussian noise of variance 1/25 keeps at delta 1e-06"),
        (
            {"epsilon": 20, "delta": "1e-6", "counts": 2, "law": "laplace"},
            "2 times discrete Laplace noise of scale .* keeps at delta 1e-06: that is next to no noise",
        ),
        ({"epsilon": 1, "delta": "1e-6", "law": "normal"}, "law is 'normal'; it must be 'gaussian' or 'lap"),
    ],
)
def test_a_promise_that_cannot_be_kept_is_refused(asked: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        noise_for(**asked)


@pytest.mark.parametrize("epsilon", ["1e-200", "1e200"])
def test_a_rho_beyond_floats_is_refused(epsilon: str) -> None:
    with pytest.raises(InputError, match=r"epsilon is 1e.?200; it must lie between 1e-100 and 1e100"):
        rho_for(epsilon=epsilon, delta="1e-10")
    assert rho_for(epsilon="1e-100", delta="0.5", tight=False) > 0


def test_no_rho_is_enough_at_delta_zero() -> None:
    with pytest.raises(InputError, match="at delta 0 zCDP promises nothing, whatever rho is"):
        rho_for(epsilon=1, delta=0)


# -- releases by name, and as lists of events ----------------------------------------------------------------


def test_an_account_of_a_preset_and_of_a_file(tmp_path: Path) -> None:
    assert account(QUICK).release == load(QUICK)
    file = tmp_path / "one.toml"
    file.write_text(load(QUICK).to_toml(), encoding="utf-8")
    assert account(file).epsilon(delta="1e-10") == account(str(file)).epsilon(delta="1e-10")
    with pytest.raises(InputError, match="'pl94-2021' is neither a preset nor a file; did you mean"):
        account("pl94-2021")


def test_an_account_of_events_is_their_composition() -> None:
    whole, loss = account(MIXED), compose(MIXED)
    assert set(whole.case(whole.main).events) == set(loss.events)
    for delta in ("1e-3", "1e-10"):
        assert whole.epsilon(delta=delta) == pytest.approx(loss.epsilon(delta=delta), rel=1e-12)
    three = compose([event.for_people(3) for event in MIXED])
    assert account(MIXED, people=3).delta(epsilon=5) == pytest.approx(three.delta(epsilon=5), rel=1e-11)
    assert account(DiscreteGaussian(variance=5)).delta(epsilon=1) == account(
        [DiscreteGaussian(variance=5)]
    ).delta(epsilon=1)
    assert account(np.array(MIXED, dtype=object)).pairs == 1


def test_every_question_reads_a_release_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "units.toml"
    file.write_text(load(UNITS).to_toml(), encoding="utf-8")
    for named in (UNITS, file):
        whole = compare(named, QUICK, delta=["1e-10"])
        assert [side.releases[0].name for side in (whole.a, whole.b)] == [load(UNITS).name, load(QUICK).name]
        assert privacy_table(named, delta=["1e-10"]).releases == [load(UNITS)]
        assert accuracy(named) == accuracy(load(UNITS))
        assert risk_profile(named, pairs="main").rows == risk_profile(load(UNITS), pairs="main").rows
        assert portfolio([named, UNITS]).pairs == account([named, file]).pairs


@pytest.mark.slow
def test_longer_questions_read_a_release_by_its_name_too() -> None:
    assert plan(UNITS, keep=["Tract"], certify=False).before == accuracy(load(UNITS))
    assert gather(QUICK, certify=False, savings=False).release == load(QUICK)
    found, same = (
        risk(one, prior="1/2", pairs="main", false_positive_rates=["1e-2"]) for one in (UNITS, load(UNITS))
    )
    assert found.profile == same.profile


@pytest.mark.parametrize("by", [pytest.param("weights", marks=pytest.mark.slow), "moe"])
def test_levels_may_be_named_by_the_index_of_a_column(by: str) -> None:
    import pandas

    asked = {"epsilon": 15} if by == "weights" else {}
    levels = {level.name: 1 + (level.name == "State") for level in load(QUICK).levels}
    found, same = (
        calibrate(QUICK, delta="1e-10", proof=False, **asked, **{by: one})  # type: ignore[arg-type]
        for one in (pandas.Series(levels), levels)
    )
    assert found.release == same.release
    with pytest.raises(
        InputError, match=f'{by} is of type list; it must name levels, such as {{"State": 5}}'
    ):
        calibrate(QUICK, delta="1e-10", **asked, **{by: ["State"]})  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"epsilon": [5, 6]}, {"epsilon": 5, "delta": ["1e-6", "1e-7"]}])
def test_a_calibration_has_one_epsilon_and_one_delta(wrong: Any) -> None:
    with pytest.raises(InputError, match=r"(epsilon|delta) is of type list; a number such as 5 or 0.159"):
        calibrate(QUICK, **({"delta": "1e-6"} | wrong))


def test_several_releases_in_a_list_are_a_portfolio() -> None:
    both = account([QUICK, load(QUICK)])
    assert both.epsilon(delta="1e-10") == portfolio([load(QUICK), load(QUICK)]).epsilon(delta="1e-10")


@pytest.mark.parametrize("wrong", [5, [5], None, {"a": 1}])
def test_what_is_no_release_is_refused(wrong: Any) -> None:
    expected = "a release is of type .*; it must be a Release, the name of a preset or file, or a list of ev"
    with pytest.raises(InputError, match=expected):
        account(wrong)


def test_no_events_cost_nothing_and_are_no_release() -> None:
    with pytest.raises(InputError, match="the list of events is empty"):
        account([])
    assert "nothing is spent" in compose([])._repr_html_()


@pytest.mark.slow
def test_calibrating_events() -> None:
    found = calibrate(MIXED, epsilon=12, delta="1e-10")
    assert compose(found.events).delta(epsilon=12, certified=True).upper <= Fraction(1, 10**10)
    again = calibrate(account(MIXED).release, epsilon=12, delta="1e-10")
    assert found.factor == again.factor
    assert calibrate(QUICK, zcdp=True, delta="1e-10", proof=False).before == load(QUICK)


# -- sigma beside variance -----------------------------------------------------------------------------------


def test_sigma_is_the_root_of_the_variance() -> None:
    assert DiscreteGaussian(sigma="3/2", times=2) == DiscreteGaussian(variance="9/4", times=2)
    assert Query(name="total", sigma=3) == Query(name="total", variance=9)
    for wrong in ({}, {"variance": 4, "sigma": 2}):
        with pytest.raises(InputError, match=r"^variance is .*given.* sigma; give one of them"):
            DiscreteGaussian(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="query 'a' states variance and sigma; it must state one of them"):
        Query(name="a", variance=4, sigma=2)
    assert DiscreteGaussian(sigma=1.5) == DiscreteGaussian(variance="9/4")


# -- delta 0 -------------------------------------------------------------------------------------------------


def test_the_epsilon_of_pure_privacy_is_the_largest_loss() -> None:
    loss = compose(LAPLACE)
    assert loss.epsilon(delta=0) == 3 / 4 + 4  # times * sensitivity / scale, added up
    assert loss.epsilon(delta=0).accuracy == 0
    assert loss.delta(epsilon="19/4", certified=True) == Interval(Fraction(0), Fraction(0))
    assert loss.delta(epsilon="18/4") > 0
    mixed = loss.epsilon(delta=["0", "1e-6", 0.0])
    assert mixed.tolist() == [4.75, loss.epsilon(delta="1e-6"), 4.75]
    boxes = loss.epsilon(delta=[0, "1e-6"], certified=True)
    assert boxes[0] == Interval(Fraction(19, 4), Fraction(19, 4))
    assert Fraction(loss.epsilon(delta="1e-6")) in boxes[1] or boxes[1].relative_width < 1e-10


def test_gaussian_noise_has_no_pure_privacy() -> None:
    for curve in (compose(MIXED), account(MIXED), account(QUICK)):
        assert curve.epsilon(delta=0) == math.inf
        with pytest.raises(InputError, match="at delta 0 no epsilon holds"):
            curve.epsilon(delta=0, certified=True)
    (point,) = account(MIXED).at_delta(0)
    assert str(point) == "no epsilon holds at delta 0"
    assert ZCDP.from_rho(1).epsilon(delta=np.array([0, 1e-5])).tolist()[0] == math.inf


def test_delta_zero_over_all_paths() -> None:
    """The worst case is the one of the largest loss, not the main one."""
    scales = {"A": 4, "B": 3}
    levels = [Level(name=name, queries=[Query(name="t", scale=size)]) for name, size in scales.items()]
    (point,) = account(Release(name="two", neighbours="bounded", levels=levels)).at_delta(0)
    assert point.epsilon == pytest.approx(2 * (1 / 4 + 1 / 3), rel=1e-15)
    assert Fraction(point.epsilon) >= Fraction(7, 6)  # rounded up
    cases = [((1,), (LAPLACE[0],)), ((2,), (LAPLACE[1],)), ((3,), (DiscreteLaplace(scale=5),))]
    scope = Scope.whole("three", unit="person", neighbours="unbounded")
    whole = Account("three", "person", "unbounded", cases, (1,), stated=Claim(scope), every=cases)
    assert (whole.at_delta(0)[0].epsilon, whole.at_delta(0)[0].worst) == (4.0, (2,))


def test_calibrating_to_pure_privacy() -> None:
    found = calibrate(LAPLACE, epsilon="19/8", delta=0)
    assert found.factor == 4
    assert sorted(event.size for event in found.events) == [1, 8]
    assert found.proof == Interval(Fraction(0), Fraction(0))
    assert compose(found.events).epsilon(delta=0) == 19 / 8
    with pytest.raises(InputError, match="at delta 0 no epsilon holds"):
        calibrate(QUICK, epsilon=1, delta=0)
    with pytest.raises(InputError, match="at delta 0 one factor on all scales keeps an epsilon; zcdp"):
        calibrate(LAPLACE, zcdp=True, delta=0)


def test_delta_zero_on_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["account", QUICK, "--delta", "0"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "0 infinite infinite - 1" in shown
    assert "At delta 0 no epsilon holds: the loss of Gaussian noise has no largest value." in shown
    assert run(["account", QUICK, "--delta", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["epsilon"] is None
    file = tmp_path / "laplace.toml"
    file.write_text(account(LAPLACE).release.to_toml(), encoding="utf-8")
    assert run(["account", str(file), "--delta", "0", "--certify"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "4.75 <= epsilon <= 4.75" in shown
    assert "At delta 0 the exact epsilon is 4.75000: pure differential privacy." in shown
    assert run(["calibrate", QUICK, "--epsilon", "1", "--delta", "0"]) == 2
    assert "at delta 0 no epsilon holds" in capsys.readouterr().err


# -- what a user needs of a loss -----------------------------------------------------------------------------

NEEDED = [
    *("delta", "epsilon", "errors", "events", "knots", "law", "log_delta", "mean", "plot", "tail"),
    *("to_frame", "total_variation", "tradeoff", "variance"),
]


def test_the_public_names_of_a_loss_are_few() -> None:
    loss = compose([DiscreteGaussian(variance=5)])
    assert [name for name in dir(loss) if not name.startswith("_")] == NEEDED


@pytest.mark.parametrize(("name", "given"), [("log_deltas", ([Fraction(1)],)), ("why_hard", ())])
def test_an_old_name_works_and_says_where_it_is(name: str, given: Any) -> None:
    loss: Any = compose([DiscreteGaussian(variance=5)])
    with pytest.warns(DeprecationWarning, match=f"PrivacyLoss.{name} is no longer public: `loss.law.{name}`"):
        found = getattr(loss, name)
    assert found(*given) == getattr(loss.law, name)(*given)
    with pytest.raises(AttributeError, match="'PrivacyLoss' object has no attribute 'hurried'"):
        loss.hurried  # noqa: B018


# -- numbers and columns of other libraries ------------------------------------------------------------------


def columns() -> list[Any]:
    import pandas
    import pyarrow

    found = [np.array, pandas.Series, pyarrow.array, tuple, lambda items: (item for item in items)]
    try:
        import polars
    except ImportError:
        return found
    return [*found, polars.Series]


@pytest.mark.parametrize("column", columns())
@pytest.mark.parametrize("asked", [[1e-5, 1e-10], ["1e-5", "1e-10"]])
def test_a_column_is_several_numbers(column: Any, asked: list[Any]) -> None:
    loss = compose([DiscreteGaussian(variance=5, times=10)])
    found = loss.epsilon(delta=column(asked))
    assert isinstance(found, np.ndarray)
    assert found.tolist() == [loss.epsilon(delta=one) for one in asked]
    assert [point.epsilon for point in account(QUICK).at_delta(column(asked))] == pytest.approx(
        [account(QUICK).epsilon(delta=one) for one in asked], rel=1e-14
    )


@pytest.mark.parametrize("whole", [np.int64, np.int8, np.uint32])
def test_numbers_of_numpy(whole: Any) -> None:
    assert DiscreteGaussian(variance=whole(5), times=whole(3), sensitivity=whole(2)) == DiscreteGaussian(
        variance=5, times=3, sensitivity=2
    )
    assert account([DiscreteGaussian(variance=5)], people=whole(2)).people == 2


def test_exact_numbers_stay_welcome() -> None:
    assert {DiscreteGaussian(variance=one).variance for one in ("5/2", Fraction(5, 2), Decimal("2.5"))} == {
        Fraction(5, 2)
    }
    assert isinstance(compose([DiscreteGaussian(variance=5)]), PrivacyLoss)
