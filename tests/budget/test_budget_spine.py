"""Merged runs: the top level spends the budget of the run, in its own proportions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.budget import DiscreteGaussian, Level, Neighbours, Query, Release, Spine
from discreet.errors import InputError

LEVELS = ["US", "State", "County", "Block"]


def test_a_merged_run_is_held_by_its_top_level() -> None:
    state = Level(
        name="State", rho="1/2", queries=[Query(name="a", share="1/4"), Query(name="b", share="3/4")]
    )
    county = Level(
        name="County", rho="1/3", queries=[Query(name="a", share="1/2"), Query(name="c", share="1/2")]
    )
    release = Release(
        name="r", neighbours="bounded", levels=[state, county], spine=Spine(paths={4: ["State+County"]})
    )
    a, b = release.variance_table(4)
    assert (a.level, a.query, a.rho, a.share) == ("State+County", "a", Fraction(5, 24), Fraction(1, 4))
    assert (b.level, b.query, b.rho, b.share) == ("State+County", "b", Fraction(5, 8), Fraction(3, 4))
    assert (a.variance, b.variance) == (Fraction(24, 5), Fraction(8, 5))


def test_variances_merge_by_precision_with_sensitivity_and_groups() -> None:
    state = Level(name="State", queries=[Query(name="a", variance=8, sensitivity=2, groups=4)])  # 16/8 = 2
    county = Level(name="County", queries=[Query(name="a", variance=3, groups=3)])  # 3/3 = 1
    release = Release(
        name="r", neighbours="unbounded", levels=[state, county], spine=Spine(may_merge_up=["County"])
    )
    assert release.path_events(2) == (DiscreteGaussian(variance=Fraction(16, 3), sensitivity=2, times=4),)


def test_rho_becomes_variance_by_relation_sensitivity_and_groups() -> None:
    query = Query(name="a", rho="1/10", sensitivity=3, groups=5)
    level = Level(name="State", queries=[query])
    for neighbours, variance in (("bounded", 450), ("unbounded", 225)):
        release = Release(name="r", neighbours=neighbours, levels=[level])  # type: ignore[arg-type]
        assert release.path_events(1) == (DiscreteGaussian(variance=variance, sensitivity=3, times=5),)
        assert release.levels[0].spent(release.neighbours) == Fraction(1, 10)


@pytest.mark.slow
@given(
    st.lists(
        st.lists(
            st.tuples(
                st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=50),
                st.integers(1, 3),
                st.integers(1, 9),
            ),
            min_size=1,
            max_size=3,
        ),
        min_size=2,
        max_size=5,
    ),
    st.sampled_from(["bounded", "unbounded"]),
    st.booleans(),
)
def test_every_path_spends_the_same_total(
    sizes: list[list[tuple[Fraction, int, int]]], neighbours: Neighbours, as_rho: bool
) -> None:
    levels = [
        Level(
            name=f"L{place}",
            queries=[
                Query(name=str(i), sensitivity=s, groups=g, **{"rho" if as_rho else "variance": size})
                for i, (size, s, g) in enumerate(queries)
            ],
        )
        for place, queries in enumerate(sizes)
    ]
    names = [level.name for level in levels]
    release = Release(name="r", neighbours=neighbours, levels=levels, spine=Spine(may_merge_up=names[1:]))
    assert len(release.paths) == 2 ** (len(names) - 1)
    totals = {
        sum(event.precision for event in release.path_events(path) if isinstance(event, DiscreteGaussian))
        for path in release.paths
    }
    assert len(totals) == 1
    for path in release.paths:
        for top in release.runs(path):
            rows = [row for row in release.variance_table(path) if row.level == "+".join(top)]
            held = release.levels[names.index(top[0])]
            alone = [row for row in release.variance_table(1) if row.level == held.name]
            assert [row.share for row in rows] == [row.share for row in alone]


def test_combinations_are_numbered_in_binary_order() -> None:
    runs = Spine(may_merge_up=["State", "Block"]).resolve(LEVELS)
    assert runs == {
        1: (("US",), ("State",), ("County",), ("Block",)),
        2: (("US",), ("State",), ("County", "Block")),
        3: (("US", "State"), ("County",), ("Block",)),
        4: (("US", "State"), ("County", "Block")),
    }
    assert Spine(may_merge_up=["Block", "State"]).resolve(LEVELS) == runs


def test_main_is_the_path_that_merges_nothing() -> None:
    levels = [Level(name=name, queries=[Query(name="t", variance=1)]) for name in LEVELS]
    paths = {
        9: ["US", "State", "County+Block"],
        3: ["US", "State", "County", "Block"],
        1: ["US+State+County+Block"],
    }
    assert Release(name="r", neighbours="bounded", levels=levels, spine=Spine(paths=paths)).paths == (1, 3, 9)
    assert Release(name="r", neighbours="bounded", levels=levels, spine=Spine(paths=paths)).main == 3
    del paths[3]
    assert Release(name="r", neighbours="bounded", levels=levels, spine=Spine(paths=paths)).main == 9
    alone = Release(name="r", neighbours="bounded", levels=levels)
    assert (alone.paths, alone.main) == ((1,), 1)
    assert [below for _, below in pairwise(alone.runs(1))] == [("State",), ("County",), ("Block",)]


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ({1: ["US", "State", "County"]}, "path 1 has level 'Block' not at all; it must have each level once"),
        ({1: ["US", "State+State", "County", "Block"]}, "path 1 has level 'State' twice"),
        ({1: ["State", "US", "County", "Block"]}, "path 1 has level 'State' where 'US' belongs"),
        (
            {1: ["US", "Stat", "County", "Block"]},
            "path 1 names 'Stat', which is not a level; did you mean \"State\"",
        ),
        ({1: ["US", "State", "", "Block"]}, "run of path 1 is empty"),
        ({1: ["US", "State+", "County", "Block"]}, "path 1 names '', which is not a level"),
        ({1: "US+State+County+Block"}, "path 1 is 'US.*'; it must be a list"),
        ({0: ["US+State+County+Block"]}, "number of a path is 0; it must be a whole number"),
        ({1: ["US+State+County+Block"], 2: ["US + State+County+Block"]}, "path 2 is the same as path 1"),
        ({}, "the spine states neither of paths and may_merge_up"),
    ],
)
def test_paths_that_do_not_fit(paths: dict[int, list[str]], message: str) -> None:
    levels = [Level(name=name, queries=[Query(name="t", variance=1)]) for name in LEVELS]
    with pytest.raises(InputError, match=message.replace("+", r"\+")):
        Release(name="r", neighbours="bounded", levels=levels, spine=Spine(paths=paths))


@pytest.mark.parametrize(
    ("merging", "message"),
    [
        (["Stat"], "may_merge_up names 'Stat', which is not a level; did you mean \"State\""),
        (["US"], "may_merge_up names 'US', which has no level above it"),
        (["State", "State"], "may_merge_up has 'State' twice"),
        ([f"L{i}" for i in range(13)], r"the spine has 2\^13 paths; at most 4096"),
    ],
)
def test_merging_that_does_not_fit(merging: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Spine(may_merge_up=merging).resolve(LEVELS)


def test_laplace_levels_cannot_be_merged() -> None:
    levels = [
        Level(name="State", queries=[Query(name="t", variance=1)]),
        Level(name="County", queries=[Query(name="t", scale=1)]),
    ]
    with pytest.raises(InputError, match="path 2 merges level 'County', which has Laplace noise"):
        Release(name="r", neighbours="bounded", levels=levels, spine=Spine(may_merge_up=["County"]))
