"""Releases as objects: changes of noise, cases of neighbours, a face."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.budget import (
    DiscreteGaussian,
    DiscreteLaplace,
    Level,
    Neighbours,
    Query,
    Release,
    Spine,
    cases,
    grouped,
    load,
)
from discreet.budget.neighbours import main_case, one_case
from discreet.errors import InputError


def mixed() -> Release:
    state = Level(
        name="State", rho="1/2", queries=[Query(name="a", share="1/4"), Query(name="b", share="3/4")]
    )
    county = Level(name="County", queries=[Query(name="a", rho="1/8"), Query(name="b", variance=7, groups=2)])
    block = Level(name="Block", queries=[Query(name="a", scale="3/2")])
    spine = Spine(may_merge_up=["County"])
    return Release(name="mixed", neighbours="bounded", levels=[state, county, block], spine=spine)


@given(st.fractions(min_value=Fraction(1, 1000), max_value=1000, max_denominator=1000))
def test_scaling_multiplies_every_variance_on_every_path(factor: Fraction) -> None:
    before = mixed()
    after = before.scaled(factor)
    for path in before.paths:
        for old, new in zip(before.variance_table(path), after.variance_table(path), strict=True):
            assert (old.level, old.query, old.share) == (new.level, new.query, new.share)
            if old.variance is not None:
                assert new.variance == factor * old.variance
            else:
                assert old.scale is not None
                assert new.scale is not None
                excess = (new.scale / old.scale) ** 2 / factor - 1
                assert 0 <= excess < Fraction(1, 2**50)


def test_scaling_a_square_is_exact_for_laplace_too() -> None:
    assert mixed().scaled("9/4").variance_table()[-1].scale == Fraction(9, 4)


def test_scaling_restates_budgets_and_keeps_the_rest() -> None:
    dhc = load("dhc-2020")
    half = dhc.scaled(2)
    assert half.rho == Fraction(24811, 10000)
    assert half.scaled("1/2") == dhc
    assert (half.notes, half.sources, half.paths) == (dhc.notes, dhc.sources, dhc.paths)


def test_scaling_one_level() -> None:
    dhc = load("dhc-2020")
    one = dhc.scaled("4", level="State")
    assert dhc.rho is not None
    assert one.rho == dhc.rho - Fraction(12987, 10000) * Fraction(3, 4)
    changed = {
        new.level
        for old, new in zip(dhc.variance_table(), one.variance_table(), strict=True)
        if old.variance != new.variance
    }
    assert changed == {"State"}


@pytest.mark.parametrize("factor", [0, -1, 2 / 3, "inf", float("nan"), True])
def test_factors_are_exact_and_above_zero(factor: object) -> None:
    with pytest.raises(InputError, match=r"^factor is"):
        mixed().scaled(factor)  # type: ignore[arg-type]


def test_new_variances_for_levels_and_queries() -> None:
    changed = mixed().with_variances({("State", "b"): "5", "County": 9})
    assert [row.query for row in changed.variance_table()[:4]] == ["a", "b", "a", "b"]
    assert [row.variance for row in changed.variance_table()[:4]] == [8, 5, 9, 9]
    assert changed.variance_table()[3].event == DiscreteGaussian(variance=9, times=2)
    assert changed.variance_table()[4].event == DiscreteLaplace(scale="3/2")
    both = mixed().with_variances({("State", "b"): 5, "State": 4})
    assert [row.variance for row in both.variance_table()[:2]] == [4, 5]


def test_a_declared_total_follows_new_variances() -> None:
    dhc = load("dhc-2020").with_variances({"Block": "1000"})
    assert dhc.rho == Fraction(24811, 5000) - Fraction(11, 1000) + Fraction(10, 1000)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"Stat": 1},
            "release 'mixed' has no level 'Stat'; it has State, County, Block; did you mean \"State\"",
        ),
        ({("State", "c"): 1}, "level 'State' has no query 'c'"),
        ({"State": 0}, "variance of query 'a' is 0; it must be above zero"),
        ({"State": 1 / 3}, "variance of query 'a' is the float 0.3333333333333333, which is next to 1/3"),
    ],
)
def test_new_variances_that_do_not_fit(changes: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        mixed().with_variances(changes)  # type: ignore[arg-type]


def test_unbounded_cases_are_single_paths() -> None:
    release = mixed()
    assert cases(release, "unbounded") == [((1,), release.path_events(1)), ((2,), release.path_events(2))]


def test_bounded_cases_are_pairs_of_paths() -> None:
    release = mixed()
    found = cases(release, "bounded")
    assert [label for label, _ in found] == [(1, 1), (1, 2), (2, 2)]
    for (i, j), events in found:
        assert events == grouped([*release.path_events(i), *release.path_events(j)])


def test_groups_of_people_multiply_every_sensitivity() -> None:
    for _, events in cases(mixed(), "bounded", people=3):
        assert {event.sensitivity for event in events} == {3}


def test_all_pairs_of_the_dhc_quickly_and_as_grouped() -> None:
    release = Release.from_toml(load("dhc-2020").to_toml())
    start = time.process_time()
    found = cases(release, "bounded")
    assert time.process_time() - start < 0.5
    labels = [label for label, _ in found]
    assert len(found) == 946
    assert labels == sorted(labels) == [(i, j) for i in range(1, 44) for j in range(i, 44)]
    for label in [(6, 6), (7, 31), (13, 13), (1, 43)]:
        both = [*release.path_events(label[0]), *release.path_events(label[1])]
        assert found[labels.index(label)][1] == grouped(both)


def test_unknown_neighbours_people_and_paths() -> None:
    with pytest.raises(InputError, match=r'^neighbours is \'bound\'; it must be "bounded" or "unbounded"'):
        cases(mixed(), "bound")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^people is 0"):
        cases(mixed(), "bounded", people=0)
    with pytest.raises(InputError, match=r"^release 'mixed' has no path 3; it has 1, 2"):
        mixed().path_events(3)
    with pytest.raises(InputError, match="has no path 44; it has 43 of them, up to 43"):
        load("dhc-2020").runs(44)


def test_releases_travel_between_processes() -> None:
    release = load("dhc-2020")
    release.path_events(1)
    again = pickle.loads(pickle.dumps(release))
    assert again == release
    assert hash(again) == hash(release)
    assert again.path_events(6) == release.path_events(6)


def test_a_release_has_a_face() -> None:
    text = str(mixed())
    assert text.splitlines() == [
        "mixed",
        "  one person, calibrated for bounded neighbours",
        "  3 levels, 5 queries, 2 paths (main 1: State, County, Block)",
        "  State   rho 0.5         2 queries of variance 2.6667 to 8",
        "  County  rho 0.41071     2 queries of variance 7 to 8",
        "  Block   1 query of scale 1.5",
    ]


@pytest.mark.parametrize(
    ("variance", "shown"),
    [("1e500", "1e+500"), ("1e300", "1e+300"), ("1e-300", "1e-300"), (f"1/{3**500}", "2.75025e-239")],
)
def test_a_number_that_no_account_can_hold_is_refused_where_it_stands(variance: str, shown: str) -> None:
    text = (
        f'name = "r"\nneighbours = "bounded"\n[[levels]]\nname = "L"\n[levels.queries]\n'
        f'a = {{ variance = "{variance}" }}\n'
    )
    with pytest.raises(InputError) as raised:
        Release.from_toml(text, where="r.toml")
    assert str(raised.value) == (
        f"variance of query 'a' is {shown}; it must lie between 1e-100 and 1e+100 "
        "(level 'L', line 6 of r.toml)"
    )


def test_the_widest_numbers_have_a_face() -> None:
    queries = [Query(name="a", variance="1e100"), Query(name="b", scale="1e-100")]
    text = str(Release(name="r", neighbours="bounded", levels=[Level(name="L", queries=queries)]))
    assert text.endswith("L  2 queries of variance 1e+100 and scale 1e-100")


def test_noise_that_cannot_be_drawn_names_its_query() -> None:
    level = Level(name="State", queries=[Query(name="total", variance="1e50")])
    release = Release(name="r", neighbours="bounded", levels=[level])
    (row,) = release.variance_table()
    with pytest.raises(InputError, match=r"variance is 1e.50; it must lie .* .query 'total', level 'State'."):
        row.single()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Query(name="a"),
            "query 'a' states no noise; it must state exactly one of share, rho, variance, scale",
        ),
        (lambda: Query(name="a", rho=1, scale=1), "query 'a' states rho and scale"),
        (lambda: Query(name="a\nb", rho=1), "name of a query is 'a.nb'; it must be one line"),
        (lambda: Level(name="a+b", queries=[]), "has a . in its name"),
        (lambda: Level(name=" a", queries=[]), "has a space before or after"),
        (lambda: Level(name="a", queries=[]), "level 'a' has no queries"),
        (lambda: Level(name="a", queries=[Query(name="x", rho=1)] * 2), "level 'a' has 'x' twice"),
        (
            lambda: Level(name="a", queries=[Query(name="x", share=1)]),
            "the level must state the rho they share",
        ),
        (lambda: Release(name="r", neighbours="bounded", levels=[]), "release 'r' has no levels"),
        (
            lambda: Query(name="a", variance=10**1001),
            "variance of query 'a' is too long; at most 1000 digits",
        ),
        (lambda: Query(name="a", variance="1e5000"), "variance of query 'a' is too long"),
        (lambda: Query(name="a", variance="9" * 5000), "variance of query 'a' is too long"),
    ],
)
def test_objects_that_do_not_fit(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]


def test_importing_budget_loads_no_ball_arithmetic_and_no_engine() -> None:
    code = "import sys, discreet.budget; sys.exit(len({'flint', 'pandas', 'duckdb'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("neighbours", ["bounded", "unbounded"])
def test_one_case_is_that_of_the_list(neighbours: Neighbours) -> None:
    release = load("dhc-2020")
    listed = cases(release, neighbours)
    for place in (0, 5, len(listed) // 2, len(listed) - 1):
        label, events = listed[place]
        assert one_case(release, label) == events
        assert one_case(release, label, people=3) == cases(release, neighbours, people=3)[place][1]
    assert main_case(release, neighbours) == listed.label(listed.main)


def test_levels_are_found_by_code_and_as_people_write_them() -> None:
    def release(*names: str) -> Release:
        levels = [Level(name=name, queries=[Query(name="total", variance=5)]) for name in names]
        return Release(name="r", neighbours="bounded", levels=levels)

    census = release("US", "Tract_Subset_Group", "Block_Group")
    for text in ("Block_Group", "Block group", "block group", " BLOCK GROUP "):
        assert census.level(text).name == "Block_Group"
    for text in ("Block", "Group", "Tract subset", ""):
        with pytest.raises(InputError, match="has no level"):
            census.level(text)
    alike = release("Block_Group", "Block group")  # each is itself; what may be either is neither
    assert [alike.level(name).name for name in ("Block_Group", "Block group")] == [
        "Block_Group",
        "Block group",
    ]
    with pytest.raises(InputError, match="it has Block_Group, Block group"):
        alike.level("block group")
    wide = census.scaled(2, level="tract subset group").with_variances({("block group", "total"): 7})
    assert [row.variance for row in wide.variance_table()] == [5, 10, 7]
