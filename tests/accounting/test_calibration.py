"""Calibration: the published tables, safe rounding, proofs, and that less noise would break the promise."""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction

import pytest

from discreet.accounting.account import account
from discreet.accounting.calibration import below, margins, solve_factor
from discreet.accounting.privacy_loss import compose
from discreet.answers.calibration import kept_epsilon, proof_sentence, saved_text
from discreet.budget import Level, Query, Release, Spine, load
from discreet.errors import InputError
from discreet.noise import GaussianNoise, Noise
from discreet.promises.calibrating import calibrate


def small(neighbours: str = "bounded") -> Release:
    levels = [
        Level(name="State", queries=[Query(name="total", variance=4), Query(name="age", variance=6)]),
        Level(name="County", queries=[Query(name="total", variance=9)]),
    ]
    spine = Spine(may_merge_up=["County"])
    return Release(name="small", neighbours=neighbours, levels=levels, spine=spine)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "reduction"),
    # the paper, limited to an upper bound, found 8.59 % for the first; 12.28 and 11.456 by this engine,
    # 2026-11, certified at 1e-11 relative
    [("dhc-2022-08-25", 12.280), ("ddhca-2020", 11.456)],
)
def test_overall_reductions(name: str, reduction: float) -> None:
    found = calibrate(load(name), zcdp=True, delta="1e-10")
    assert found.reduction is not None
    assert round(100 * found.reduction, 3) == reduction
    assert found.proof is not None
    assert found.proof.upper <= found.delta


@pytest.mark.slow
def test_the_2020_dhc_saves_a_ninth() -> None:
    found = calibrate(load("dhc-2020"), zcdp=True, delta="1e-10", jobs=2)
    assert found.reduction is not None
    assert round(100 * found.reduction, 4) == 11.4457


@pytest.mark.parametrize("neighbours", ["bounded", "unbounded"])
def test_a_thousandth_less_noise_breaks_the_promise(neighbours: str) -> None:
    found = calibrate(small(), epsilon="3", delta="1e-8", neighbours=neighbours)  # type: ignore[arg-type]
    assert found.factor is not None
    kept = account(found.release, neighbours=neighbours).delta(epsilon=3, certified=True)  # type: ignore[arg-type]
    assert kept.upper <= Fraction(1, 10**8)
    less = small().scaled(found.factor * Fraction(999, 1000))
    broken = account(less, neighbours=neighbours).delta(epsilon=3, certified=True)  # type: ignore[arg-type]
    assert broken.lower > Fraction(1, 10**8)


def test_the_new_release_goes_through_toml() -> None:
    found = calibrate(small(), epsilon="3", delta="1e-8")
    again = Release.from_toml(found.release.to_toml())
    assert again == found.release
    assert again.variance_table()[0].variance == 4 * found.factor


def test_weights_give_more_to_the_heavier_level() -> None:
    one_path = small().to_toml().split("[spine]")[0]
    release = Release.from_toml(one_path)
    found = calibrate(release, epsilon="4", delta="1e-6", weights={"State": 1, "County": 3})
    state, county = found.levels
    gained = account(found.release).epsilon(delta="1e-6")
    assert gained <= 4
    assert gained > 3.999
    assert county.factor < state.factor or (county.factor > state.factor > 1)


def test_the_price_is_where_the_curves_cross() -> None:
    found = calibrate(load("dhc-2022-08-25"), zcdp=True, delta="1e-10")
    assert found.price == pytest.approx(1e-10, rel=1e-2)


def test_margins_of_error_are_reached_and_no_more() -> None:
    release = load("dhc-2022-08-25")
    new = margins(release, {"State": 5, "Block": "40"})
    for row in new.variance_table():
        if row.level == "State":
            assert row.variance is not None
            assert GaussianNoise(variance=row.variance).margin() == 5
            assert GaussianNoise(variance=row.variance * Fraction(1001, 1000)).margin() == 6
        if row.level == "US":
            assert row.variance == release.variance_table()[0].variance


def test_factors_are_short_and_round_up() -> None:
    factor = solve_factor(lambda size: 1 / float(size), 3.0)
    assert factor == Fraction(333334, 1000000)
    assert below(1 / 3) <= Fraction(1, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": "1e-6"}, "give exactly one promise"),
        ({"delta": "1e-6", "epsilon": 1, "zcdp": True}, "give exactly one promise"),
        ({"delta": "2", "epsilon": 1}, "delta is 2"),
        ({"delta": "1e-6", "epsilon": -1}, "above zero"),
        ({"delta": "1e-6", "epsilon": 1, "by": "query"}, "'overall' or 'level'"),
        ({"delta": "1e-6", "epsilon": 1, "by": "level", "weights": {"State": 1}}, "cannot be combined with"),
        ({"delta": "1e-6", "epsilon": 1, "weights": {"Nowhere": 1}}, "Nowhere"),
        ({"delta": "1e-6", "moe": {"Nowhere": 1}}, "Nowhere"),
        ({"delta": "1e-6", "moe": {"State": 5}, "epsilon": 1}, "or margins of error .moe., not both"),
        ({"delta": "1e-6", "moe": {"State": 5}, "by": "level"}, "cannot be combined with weights, by or"),
    ],
)
def test_bad_input_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        calibrate(small(), **options)  # type: ignore[arg-type]


def one_path(**queries: Query) -> Release:
    levels = [Level(name=name, queries=[query]) for name, query in queries.items()]
    return Release(name="path", neighbours="bounded", levels=levels)


@pytest.mark.parametrize("neighbours", ["bounded", "unbounded"])
def test_a_single_level_by_itself_is_the_whole(neighbours: str) -> None:
    release = one_path(State=Query(name="total", variance=4))
    whole, alone = (
        calibrate(release, zcdp=True, delta="1e-8", neighbours=neighbours, by=by)  # type: ignore[arg-type]
        for by in ("overall", "level")
    )
    assert whole.factor == alone.levels[0].factor
    assert whole.proof == alone.proof


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    # from next to no noise to a large multiple, and where epsilon zero would be enough with the old noise
    [("30", "1e-8"), ("1/1000", "1e-6"), ("1", "1e-300"), ("1", "1/2"), ("1/10", "99/100")],
)
def test_promises_far_from_the_release(epsilon: str, delta: str) -> None:
    release = one_path(State=Query(name="total", variance=4), County=Query(name="total", variance=8))
    found = calibrate(release, epsilon=epsilon, delta=delta)
    assert found.factor is not None
    kept = account(found.release).delta(epsilon=epsilon, certified=True)
    assert kept.upper <= Fraction(delta)
    less = release.scaled(found.factor * Fraction(999, 1000))
    assert account(less).delta(epsilon=epsilon, certified=True).lower > Fraction(delta)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": "1e5"}, "kept even with .* times the variances, which is next to no noise"),
        ({"epsilon": "1e5", "by": "level"}, "level 'State' by itself: .* next to no noise"),
        ({"epsilon": "1e-9"}, "not kept even with"),
        pytest.param(
            {"epsilon": "1e-9", "by": "level"},
            "level 'State' by itself: .* not kept even with",
            marks=pytest.mark.slow,
        ),
        ({"epsilon": 1, "weights": {"State": 1}}, "of State: levels without a weight keep their noise"),
    ],
)
def test_promises_out_of_reach_are_refused(options: dict[str, object], message: str) -> None:
    release = one_path(State=Query(name="total", variance=4), County=Query(name="total", variance=4))
    with pytest.raises(InputError, match=message):
        calibrate(release, delta="1e-8", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("by", ["overall", "level"])
def test_laplace_noise_is_calibrated_too(by: str) -> None:
    release = one_path(State=Query(name="total", scale=4), County=Query(name="total", variance=8))
    found = calibrate(release, epsilon=1, delta="1e-6", by=by)  # type: ignore[arg-type]
    state, county = found.levels
    query = found.release.levels[0].queries[0]
    assert query.scale is not None
    assert query.scale.denominator <= 10**6
    assert state.factor == (query.scale / 4) ** 2
    # the variance of discrete Laplace noise, 2 q / (1 - q)^2 with q = exp(-1 / scale)
    q = math.exp(-1 / 4)
    assert float(state.before) == pytest.approx(2 * q / (1 - q) ** 2, rel=1e-11)
    assert county.after == 8 * county.factor
    if by == "overall":
        assert account(found.release).delta(epsilon=1, certified=True).upper <= Fraction(1, 10**6)
        assert state.factor == pytest.approx(float(county.factor), rel=1e-5)
    else:
        events = tuple(found.release.levels[0].events("bounded")) * 2
        assert compose(events).delta(epsilon=1, certified=True).upper <= Fraction(1, 10**6)


def test_margins_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match=r"it must leave a variance between 0\.04 "):
        margins(small(), {"State": "1e8"})
    laplace = one_path(State=Query(name="total", scale=4))
    with pytest.raises(InputError, match="'State' has Laplace noise"):
        margins(laplace, {"State": 5})


def test_wide_margins_may_cost_no_epsilon() -> None:
    found = calibrate(small(), moe={"State": 1000, "County": 1000}, delta="1/2")
    assert found.epsilon == 0
    assert found.proof is not None
    assert found.proof.upper <= Fraction(1, 2)


@pytest.mark.parametrize("block", [10, *(pytest.param(m, marks=pytest.mark.slow) for m in (2, 7, 16))])
def test_margins_keep_a_lattice_that_can_be_accounted_for(block: int) -> None:
    """Arbitrary variances of six decimals destroyed the lattice, and the accountant refused."""
    found = calibrate(load("dhc-2022-08-25"), moe={"Block": block}, delta="1e-10")
    assert found.proof is not None
    assert found.proof.upper <= found.delta
    assert found.levels[-1].queries[0].margins[1] == block


def test_one_laplace_query_tells_one_saving() -> None:
    """Scale 3 to 1: the variance 2q / (1 - q)^2 falls by 89.68 %, the square of the scale by 88.889 %."""
    release = one_path(State=Query(name="total", scale=3))
    found = calibrate(release, epsilon=1, delta="1e-300", neighbours="unbounded")
    scales = (release.levels[0].queries[0].scale, found.release.levels[0].queries[0].scale)
    q = [math.exp(-1 / float(scale)) for scale in scales if scale is not None]
    before, after = (2 * x / (1 - x) ** 2 for x in q)
    assert found.reduction == pytest.approx(1 - after / before, rel=1e-9)
    assert saved_text(found) == "89.675 % less variance"
    assert saved_text(found) in str(found)
    assert kept_epsilon(found) == 1
    by_level = calibrate(release, by="level", zcdp=True, delta="1e-6", neighbours="unbounded")
    assert by_level.epsilon is None
    with pytest.raises(InputError, match="no epsilon is that of the whole release"):
        proof_sentence(by_level)


def test_a_search_makes_the_case_it_solves_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    path_events = Release.path_events

    def counted(self: Release, path: int, without: Collection[tuple[str, str]] = ()) -> tuple[Noise, ...]:
        made.append(path)
        return path_events(self, path, without)

    monkeypatch.setattr(Release, "path_events", counted)
    spine = Spine(may_merge_up=["County", "Tract"])
    levels = [
        Level(name=name, queries=[Query(name="total", variance=9)]) for name in ("US", "County", "Tract")
    ]
    release = Release(name="small", neighbours="bounded", levels=levels, spine=spine)
    calibrate(release, epsilon=2, delta="1e-6")
    # all four paths are looked at to check the worst case and to prove it: twice, or one more round
    assert len(release.paths) == 4
    for path in release.paths:
        if path != release.main:
            assert made.count(path) <= 4
    assert made.count(release.main) > 10
