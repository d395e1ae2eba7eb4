"""The account of a release: the worst case at each point, the envelope, groups, neighbours, processes."""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction
from itertools import product

import mpmath as mp
import numpy as np
import pytest
from reference import Reference

import discreet
from discreet.accounting.account import account, portfolio
from discreet.accounting.privacy_loss import compose
from discreet.budget import AnswerKind, Level, Query, Release, Spine, load
from discreet.errors import InputError
from discreet.noise import Noise
from discreet.numbers import Exact

DELTAS = ("0.9", "0.1", "1e-5", "1e-10", "1e-40")


@pytest.fixture(scope="module")
def release() -> Release:
    """Two levels of three queries, the lower of which may be merged: paths 1 and 2, three pairs."""
    state = Level(name="State", queries=[Query(name="total", variance=4), Query(name="sex", variance=4)])
    county = Level(name="County", queries=[Query(name="total", variance=2)])
    spine = Spine(may_merge_up=["County"])
    return Release(name="small", neighbours="bounded", levels=[state, county], spine=spine)


@pytest.fixture(scope="module")
def crossing() -> Release:
    """Merging makes few coarse steps of many fine ones: different cases are worst at different deltas."""
    top = Level(name="A", queries=[Query(name="a", variance="1/2")])
    low = Level(name="B", queries=[Query(name="b", variance=4, groups=8)])
    return Release(name="crossing", neighbours="bounded", levels=[top, low], spine=Spine(may_merge_up=["B"]))


@functools.cache
def reference(events: tuple[Noise, ...]) -> Reference:
    return Reference(events, bits=600)


def test_delta_is_the_largest_of_all_pairs(release: Release) -> None:
    account = discreet.account(release)
    assert account.pairs == 3
    references = {label: reference(events) for label, events in account.cases}
    for epsilon in ("-1", "0", "1/2", "1", "3", "10"):
        truth = {label: one.delta(Fraction(epsilon)) for label, one in references.items()}
        assert account.delta(epsilon=epsilon) == pytest.approx(float(max(truth.values())), rel=1e-12)
        (point,) = account.at_epsilon([epsilon])
        assert truth[point.worst] >= max(truth.values()) * (1 - mp.mpf(10) ** -12)


def test_equal_events_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The 946 pairs of paths share their levels and runs: of 20,000 events few are different."""
    made = 0
    build = Noise.__init__

    def counted(self: Noise, *size: Exact, **counts: int) -> None:
        nonlocal made
        made += 1
        build(self, *size, **counts)

    monkeypatch.setattr(Noise, "__init__", counted)
    whole = account(Release.from_toml(load("dhc-2020").to_toml()))
    whole.at_delta(["1e-5", "1e-10", "1e-15", "1e-20"])
    assert 500 < made < 1500


@pytest.mark.parametrize("which", ["release", "crossing"])
def test_at_delta_finds_the_worst_pair(which: str, request: pytest.FixtureRequest) -> None:
    account = discreet.account(request.getfixturevalue(which))
    references = {label: reference(events) for label, events in account.cases}
    for delta in DELTAS:
        truth = {label: one.epsilon(Fraction(delta)) for label, one in references.items()}
        (point,) = account.at_delta([delta])
        assert point.epsilon == pytest.approx(float(max(truth.values())), rel=1e-11)
        assert float(truth[point.worst]) == pytest.approx(float(max(truth.values())), rel=1e-11)


def test_different_cases_are_worst_at_different_deltas(crossing: Release) -> None:
    account = discreet.account(crossing)
    assert len({point.worst for point in account.at_delta(list(DELTAS))}) > 1, "the fixture should cross"


def hull(points: list[tuple[mp.mpf, mp.mpf]]) -> list[tuple[mp.mpf, mp.mpf]]:
    """The lower convex hull, from left to right."""
    kept: list[tuple[mp.mpf, mp.mpf]] = []
    for x, y in sorted(points):
        while len(kept) > 1:
            (x0, y0), (x1, y1) = kept[-2:]
            if (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) > 0:
                break
            kept.pop()
        kept.append((x, y))
    return kept


@pytest.mark.parametrize("which", ["release", "crossing"])
def test_f_is_the_lower_convex_envelope(which: str, request: pytest.FixtureRequest) -> None:
    account = discreet.account(request.getfixturevalue(which))
    with mp.workprec(400):
        corners = [(mp.mpf(0), mp.mpf(1)), (mp.mpf(1), mp.mpf(0))]
        for _, events in account.cases:
            corners += [(a, b) for _, a, b in reference(events).knots() if a > mp.mpf(10) ** -40]
        brute = hull(corners)
        alphas = [Fraction(a) for a in ("1e-9", "1e-4", "0.01", "0.1", "0.3", "0.5", "0.8", "0.99")]
        found = account.tradeoff(alpha=alphas)
        for alpha, value in zip(alphas, found, strict=True):
            a = mp.mpf(alpha.numerator) / alpha.denominator
            (x0, y0), (x1, y1) = next((p, q) for p, q in itertools.pairwise(brute) if p[0] <= a <= q[0])
            truth = y0 + (y1 - y0) * (a - x0) / (x1 - x0)
            assert value == pytest.approx(float(truth), rel=1e-9)
            assert all(
                value <= account.case(label).tradeoff(alpha=alpha) * (1 + 1e-12) for label, _ in account.cases
            )


def test_people_multiply_sensitivities(release: Release) -> None:
    account = discreet.account(release, people=3)
    one = discreet.account(release)
    assert account.delta(epsilon=3) > one.delta(epsilon=3)
    references = [reference(tuple(event.for_people(3) for event in events)) for _, events in one.cases]
    truth = max(group.delta(Fraction(3)) for group in references)
    assert account.delta(epsilon=3) == pytest.approx(float(truth), rel=1e-12)
    assert account.pair(1, 2).delta(epsilon=3) == pytest.approx(
        account.case((1, 2)).delta(epsilon=3), rel=1e-14
    )


def test_unbounded_is_one_path(release: Release) -> None:
    account = discreet.account(release, neighbours="unbounded")
    assert [label for label, _ in account.cases] == [(1,), (2,)]
    truth = max(reference(events).delta(Fraction(1)) for _, events in account.cases)
    assert account.delta(epsilon=1) == pytest.approx(float(truth), rel=1e-12)
    assert account.delta(epsilon=1) < discreet.account(release).delta(epsilon=1)
    assert account.path(2).delta(epsilon=1) == pytest.approx(account.case((2,)).delta(epsilon=1), rel=1e-14)


def test_certified_holds_the_float(release: Release) -> None:
    account = discreet.account(release)
    for epsilon in ("0", "1", "5"):
        box = account.delta(epsilon=epsilon, certified=True)
        assert box.relative_width <= 1e-10
        assert account.delta(epsilon=epsilon) in box
    for delta in ("0.1", "1e-10"):
        box = account.epsilon(delta=delta, certified=True)
        assert box.relative_width <= 1e-10
        assert account.epsilon(delta=delta) in box


@pytest.mark.slow
def test_two_processes_give_the_same_numbers() -> None:
    account = discreet.account(load("dhc-2020"))
    points = ["1", "10", "24.4565"]
    assert np.array_equal(account.delta(epsilon=points), account.with_workers(2).delta(epsilon=points))
    one, two = account.at_delta(["1e-10"]), account.with_workers(2).at_delta(["1e-10"])
    assert one == two
    # accounting.md, section 6
    assert one[0].epsilon == pytest.approx(24.4565, abs=5e-5)


def test_census_paths_all_spend_the_same() -> None:
    # 2020 DHC persons: every path spends rho = 24811/5000, whatever it merges; the variances are 1/rho_k,
    # so that rho = sum 1/sigma^2
    release = load("dhc-2020")
    assert len(release.paths) == 43
    for path in release.paths:
        spent = sum((event.precision for event in release.path_events(path)), Fraction(0))
        assert spent == Fraction(24811, 5000)
    assert discreet.account(release).pairs == 946


def test_a_case_that_is_not_there(release: Release) -> None:
    from discreet.errors import InputError

    with pytest.raises(InputError, match="no case"):
        discreet.account(release).case((7, 7))
    with pytest.raises(InputError, match="no path 9"):
        discreet.account(release).pair(9, 1)


def two_levels(neighbours: str) -> Release:
    levels = [Level(name=name, queries=[Query(name="q", variance="1/2")]) for name in ("S", "C")]
    spine = Spine(may_merge_up=["C"])
    return Release(name="two", neighbours=neighbours, levels=levels, spine=spine)  # type: ignore[arg-type]


def test_releases_over_one_spine_are_joined_path_by_path() -> None:
    """The main paths alone give 13.519938, which is no bound: where levels are merged, more is lost."""
    release = two_levels("unbounded")
    joint = portfolio([release] * 3)
    assert [label for label, _ in joint.cases] == [((1,),) * 3, ((2,),) * 3]
    by_hand = [compose(release.path_events(path) * 3).epsilon(delta="1e-2") for path in release.paths]
    assert joint.epsilon(delta="1e-2") == pytest.approx(max(by_hand), rel=1e-12)
    assert round(max(by_hand), 6) == 13.617059
    assert joint.claim.kind is AnswerKind.EXACT
    assert Fraction(max(by_hand)) in joint.epsilon(delta="1e-2", certified=True)
    main = portfolio([release] * 3, all_pairs=False)
    assert main.claim.kind is AnswerKind.MAIN
    assert round(main.epsilon(delta="1e-2"), 6) == 13.519938


def test_a_portfolio_does_not_depend_on_how_paths_are_numbered() -> None:
    release = two_levels("bounded")
    other = Release(
        name="other",
        neighbours="bounded",
        levels=release.levels,
        spine=Spine(paths={4: ["S+C"], 9: ["S", "C"]}),
    )
    joint = portfolio([release, other])
    assert [label for label, _ in joint.cases] == [((1, 1), (9, 9)), ((1, 2), (9, 4)), ((2, 2), (4, 4))]
    assert joint.events(((1, 2), (9, 4))) == portfolio([release] * 2).events(((1, 2), (1, 2)))


def test_different_spines_take_all_combinations() -> None:
    first = two_levels("unbounded")
    level = Level(name="Block", queries=[Query(name="q", variance="3/4")])
    below = Level(name="Person", queries=[Query(name="q", variance=2)])
    spine = Spine(may_merge_up=["Person"])
    second = Release(name="b", neighbours="unbounded", levels=[level, below], spine=spine)
    joint = portfolio([first, second])
    combinations = list(product(first.paths, second.paths))
    assert [label for label, _ in joint.cases] == [((i,), (j,)) for i, j in combinations]
    by_hand = max(
        compose(first.path_events(i) + second.path_events(j)).epsilon(delta="1e-4") for i, j in combinations
    )
    assert joint.epsilon(delta="1e-4") == pytest.approx(by_hand, rel=1e-12)
    assert Fraction(by_hand) in joint.epsilon(delta="1e-4", certified=True)
    assert joint.claim.kind is AnswerKind.BOUND  # which paths go together is not known


def test_an_account_is_short_in_print_and_makes_no_case_that_is_not_asked_for() -> None:
    whole = account(load("dhc-2020"))
    assert len(repr(whole)) < 300
    assert whole.events((6, 9)) == dict(whole.cases)[6, 9]
    for wrong in [(9, 6), (6,), (0, 6), "x", ((6, 9),)]:
        with pytest.raises(InputError, match="there is no case"):
            whole.events(wrong)


@pytest.mark.parametrize("alpha", [pytest.param("0.05", marks=pytest.mark.slow), "0.7"])
def test_a_certified_envelope_is_as_narrow_as_asked_where_cases_cross(alpha: str) -> None:
    """The upper end was f of one case: 0.9 % above the envelope, without a word."""
    sizes = (("A", 3), ("B", 4), ("C", 6))
    levels = [Level(name=n, queries=[Query(name="q", variance=v)]) for n, v in sizes]
    spine = Spine(may_merge_up=["B", "C"])
    whole = discreet.account(Release(name="r", neighbours="bounded", levels=levels, spine=spine))
    box = whole.tradeoff(alpha=alpha, digits=12)
    assert box.relative_width < 2e-12
    # the place where they cross was known to a float's digits only
    finer = whole.tradeoff(alpha=alpha, digits=20)
    assert finer.relative_width < 2e-20
    assert box.lower <= finer.lower <= finer.upper <= box.upper
    value = whole.tradeoff(alpha=alpha)
    assert float(box.lower) * (1 - 1e-10) <= value <= float(box.upper) * (1 + 1e-10)
    tops = [whole.case(label).tradeoff(alpha=alpha, certified=True).upper for label, _ in whole.cases]
    assert box.lower <= min(tops)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("variance", "missed"), [("1/1000000", 0.0), ("1e24", 0.95 - 1.0314e-13)])
def test_extreme_noise_is_accounted_for_without_warnings(variance: str, missed: float) -> None:
    release = Release.from_toml(
        f'name = "extreme"\nneighbours = "unbounded"\n[[levels]]\nname = "State"\n[levels.queries]\n'
        f'"total" = {{ variance = "{variance}" }}\n'
    )
    # next to no noise: no error is left; hardly any loss: 1 - alpha less mu times the normal density at 1.645
    assert discreet.account(release).tradeoff(alpha="1/20") == pytest.approx(missed, rel=1e-14, abs=0)
