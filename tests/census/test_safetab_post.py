"""What is done to released groups: donation between regions of the same blocks, alone against combination."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from safetab_facts import CELLS, part_of
from safetab_fakes import specification

from discreet.census.mechanism.corrections import Corrections, corrected, donate, partners
from discreet.census.mechanism.parts import GroupArrays, joined
from discreet.census.safetab.run_plan import Options
from discreet.census.safetab.specification import safetab_p
from discreet.errors import InputError


def part(geography: str, groups: list[tuple[int, int, int]], label: int, level: int = 1) -> GroupArrays:
    """Groups of (region, iteration, table); cells are a number that tells where they come from."""
    values = [
        1000 * label + 10 * region + iteration + cell
        for region, iteration, table in groups
        for cell in range(CELLS[table])
    ]
    region, iteration, table = (list(column) for column in zip(*groups, strict=True)) if groups else ([],) * 3
    return part_of(geography, level, region, iteration, table, [label] * len(groups), values)


def groups(one: GroupArrays) -> dict[tuple[int, int], tuple[int, int, list[int]]]:
    """Table, label and cells of each group."""
    starts, widths = one.starts(), one.widths()
    return {
        (int(region), int(iteration)): (
            int(one.table[i]),
            int(one.label[i]),
            one.values[starts[i] : starts[i] + widths[i]].tolist(),
        )
        for i, (region, iteration) in enumerate(zip(one.region, one.iteration, strict=True))
    }


ALL = {(geography, 1): range(9) for geography in ("STATE", "COUNTY", "TRACT", "PLACE")}
SAME = [[("COUNTY", 1), ("TRACT", 4), ("PLACE", 0)]]


def test_the_highest_region_that_has_the_group_gives_it() -> None:
    parts = {
        ("COUNTY", 1): part("COUNTY", [(0, 0, 0), (1, 0, 2)], 1),
        ("TRACT", 1): part("TRACT", [(3, 0, 0), (4, 0, 1), (4, 5, 3)], 2),
        ("PLACE", 1): part("PLACE", [(0, 5, 0), (0, 7, 0), (2, 0, 0)], 3),
    }
    before = {place: groups(one) for place, one in parts.items()}
    after, count = donate(parts, SAME, ALL, safetab_p())
    county, tract, place = (groups(after[name, 1]) for name in ("COUNTY", "TRACT", "PLACE"))
    # group 0: the county's table, its cells and its noise, in all three
    assert county[1, 0] == tract[4, 0] == place[0, 0] == before["COUNTY", 1][1, 0]
    # group 5 was suppressed in the county: the tract gives it, upward too
    assert county[1, 5] == tract[4, 5] == place[0, 5] == before["TRACT", 1][4, 5]
    # group 7 has the place only
    assert county[1, 7] == tract[4, 7] == place[0, 7] == before["PLACE", 1][0, 7]
    # group 1 was suppressed everywhere
    assert (1, 1) not in county
    # the others are as they were
    assert county[0, 0] == before["COUNTY", 1][0, 0]
    assert tract[3, 0] == before["TRACT", 1][3, 0]
    assert place[2, 0] == before["PLACE", 1][2, 0]
    assert count == 6
    assert {place: len(groups(one)) for place, one in after.items()} == {
        ("COUNTY", 1): 4,
        ("TRACT", 1): 4,
        ("PLACE", 1): 4,
    }


def test_another_order_is_another_donor() -> None:
    parts = {("COUNTY", 1): part("COUNTY", [(1, 0, 0)], 1), ("TRACT", 1): part("TRACT", [(4, 0, 0)], 2)}
    after, _ = donate(parts, SAME, ALL, safetab_p(), order=("TRACT", "COUNTY", "STATE", "AIANNH", "PLACE"))
    assert groups(after["COUNTY", 1])[1, 0] == groups(parts["TRACT", 1])[4, 0]
    with pytest.raises(InputError, match="the order of donors is COUNTY; it must name each of STATE, COUNTY"):
        donate(parts, SAME, ALL, safetab_p(), order=("COUNTY",))
    assert set(safetab_p().order) == {"STATE", "COUNTY", "TRACT", "PLACE", "AIANNH"}


def test_a_group_is_given_only_where_it_is_tabulated() -> None:
    parts = {
        ("STATE", 1): part("STATE", [(0, 0, 0), (0, 2, 0)], 1),
        ("COUNTY", 1): part("COUNTY", [(1, 3, 0)], 2),
    }
    where = {("STATE", 1): [0, 2], ("COUNTY", 1): [0, 3]}
    after, count = donate(parts, [[("STATE", 0), ("COUNTY", 1)]], where, safetab_p())
    assert set(groups(after["STATE", 1])) == {(0, 0), (0, 2)}
    assert set(groups(after["COUNTY", 1])) == {(1, 0), (1, 3)}
    assert count == 1


def test_levels_and_passes_are_apart() -> None:
    parts = {
        ("PR-COUNTY", 1): part("PR-COUNTY", [(0, 0, 0)], 1),
        ("PR-TRACT", 1): part("PR-TRACT", [(0, 0, 0)], 2),
        ("PR-TRACT", 2): part("PR-TRACT", [(0, 5, 0)], 3, level=2),
    }
    tabulated = {place: range(9) for place in parts}
    after, _ = donate(parts, [[("PR-COUNTY", 0), ("PR-TRACT", 0)]], tabulated, safetab_p())
    assert groups(after["PR-TRACT", 1])[0, 0] == groups(parts["PR-COUNTY", 1])[0, 0]
    # the county has no budget at level 2: nothing comes into being there
    assert set(after) == set(parts)
    assert groups(after["PR-TRACT", 2]) == groups(parts["PR-TRACT", 2])


def test_many_regions_against_a_plain_loop() -> None:
    random = np.random.default_rng(7)
    geographies = ("COUNTY", "TRACT", "PLACE")
    parts, classes = (
        {},
        [[("COUNTY", i), ("TRACT", 40 - i), ("PLACE", 2 * i)][: 2 + i % 2] for i in range(20)],
    )
    for label, geography in enumerate(geographies):
        pairs = random.permutation(60 * 9)[:200]
        chosen = [(int(pair // 9), int(pair % 9), int(random.integers(0, 4))) for pair in pairs]
        parts[geography, 1] = part(geography, chosen, label)
    after, _ = donate(parts, classes, ALL, safetab_p())
    expected = {geography: groups(parts[geography, 1]) for geography in geographies}
    for members in classes:
        for iteration in range(9):
            have = [
                expected[where][region, iteration]
                for where, region in members
                if (region, iteration) in groups(parts[where, 1])
            ]
            for where, region in members:
                if have:
                    expected[where][region, iteration] = have[0]
    for geography in geographies:
        assert groups(after[geography, 1]) == expected[geography]
        assert after[geography, 1].size == after[geography, 1].sorted().size


def test_partners_have_the_same_codes() -> None:
    assert partners(specification(7)) == {0: 1, 2: 3, 4: 5}


def kept_groups(
    one: GroupArrays, how: Corrections, pairs: dict[int, int], tabulated: list[int]
) -> list[tuple[int, ...]]:
    kept = corrected({(one.geography, 1): one}, pairs, {(one.geography, 1): tabulated}, how)
    return sorted(groups(kept[one.geography, 1]))


COUNTIES = part_of(
    "COUNTY",
    1,
    [0, 0, 1, 1, 2, 3],
    [0, 1, 0, 1, 0, 1],
    [0, 0, 1, 0, 0, 0],
    [0] * 6,
    [30, 30, *[10] * 8, 79, 50, 60],
)
"""Equal counts; 80 alone against 79; alone without its partner; a combination group without its partner."""


@pytest.mark.parametrize(
    ("which", "kept"), [("both", [(0, 0), (0, 1), (3, 1)]), ("alone", [(0, 0), (0, 1), (1, 1), (3, 1)])]
)
def test_where_alone_exceeds_the_combination_both_go_or_alone(
    which: Literal["both", "alone"], kept: list[tuple[int, int]]
) -> None:
    assert kept_groups(COUNTIES, Corrections(which), {0: 1}, [0, 1]) == kept
    # a combination group that is not tabulated here was not suppressed either
    assert kept_groups(COUNTIES, Corrections(which), {0: 1}, [0]) == sorted([*kept, (2, 0)])
    # and an alone group that has no partner anywhere stays
    every = sorted(groups(COUNTIES))
    assert kept_groups(COUNTIES, Corrections(which), {}, [0, 1]) == every
    assert kept_groups(COUNTIES, Corrections(negative="zero"), {0: 1}, [0, 1]) == every


def test_no_count_is_below_zero_afterwards() -> None:
    cells = [5, -6, 7, 8, 9, 1, 2, -3]
    one = part_of("STATE", 1, [0, 0, 1], [0, 1, 1], [0, 1, 0], [0, 0, 0], [-4, *cells, 0])
    place = {("STATE", 1): one}
    zero = corrected(place, {}, {}, Corrections(negative="zero"))["STATE", 1]
    assert zero.values.tolist() == [0, 5, 0, 7, 8, 9, 1, 2, 0, 0]
    drop = corrected(place, {}, {}, Corrections(negative="drop"))["STATE", 1]
    assert list(groups(drop)) == [(1, 1)]
    nothing = corrected({("STATE", 1): drop.keep(drop.region < 0)}, {}, {}, Corrections(negative="drop"))
    assert nothing["STATE", 1].size == 0


def test_negative_counts_go_before_counts_are_compared() -> None:
    """-5 alone and -9 in combination: zero and zero are consistent; dropped, neither is there."""
    one = part_of("STATE", 1, [0, 0, 1, 1], [0, 1, 0, 1], [0] * 4, [0] * 4, [-5, -9, 3, -2])
    tabulated = [0, 1]
    assert kept_groups(one, Corrections("alone", "zero"), {0: 1}, tabulated) == [(0, 0), (0, 1), (1, 1)]
    assert kept_groups(one, Corrections("alone", "drop"), {0: 1}, tabulated) == []
    assert kept_groups(one, Corrections(None, "drop"), {0: 1}, tabulated) == [(1, 0)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("which", ["both", "alone"])
@pytest.mark.parametrize("negative", ["zero", "drop"])
def test_corrections_against_a_plain_loop(
    seed: int, which: Literal["both", "alone"], negative: Literal["zero", "drop"]
) -> None:
    random = np.random.default_rng(seed)
    chosen = sorted(random.permutation(400)[:250].tolist())
    tables = random.integers(0, 2, 250).tolist()
    values = random.integers(-4, 30, sum(CELLS[table] for table in tables)).tolist()
    one = part_of("TRACT", 1, [g // 8 for g in chosen], [g % 8 for g in chosen], tables, [0] * 250, values)
    pairs, tabulated = {0: 1, 2: 5, 4: 3, 6: 7}, [0, 1, 2, 3, 4, 5, 6]  # 7 is not tabulated
    wanted = {key: list(cells) for key, (_, _, cells) in groups(one).items()}
    if negative == "drop":
        wanted = {key: cells for key, cells in wanted.items() if min(cells) >= 0}
    wanted = {key: [max(cell, 0) for cell in cells] for key, cells in wanted.items()}
    gone = set()
    for region, iteration in wanted:
        other = pairs.get(iteration)
        if other is None:
            continue
        if (region, other) not in wanted:
            gone |= {(region, iteration)} if other in tabulated else set()
        elif sum(wanted[region, iteration]) > sum(wanted[region, other]):
            gone |= {(region, iteration), (region, other)} if which == "both" else {(region, iteration)}
    after = corrected({("TRACT", 1): one}, pairs, {("TRACT", 1): tabulated}, Corrections(which, negative))
    assert gone
    assert {key: cells for key, (_, _, cells) in groups(after["TRACT", 1]).items()} == {
        key: cells for key, cells in wanted.items() if key not in gone
    }


def test_choices_that_there_are_not() -> None:
    with pytest.raises(InputError, match="tabulation suppression is 'one'; it must be both or alone"):
        Options(tabulation_suppression="one")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="negative is 'keep'; it must be zero or drop"):
        Corrections(negative="keep")  # type: ignore[arg-type]


def test_parts_join_and_sort() -> None:
    first, second = part("TRACT", [(5, 1, 1), (0, 3, 0)], 1), part("TRACT", [(0, 2, 2)], 2)
    both = joined([first, second])
    assert both.region.tolist() == [0, 0, 5]
    assert both.iteration.tolist() == [2, 3, 1]
    assert groups(both) == {**groups(first), **groups(second)}
    nothing = part("TRACT", [], 0)
    assert joined([nothing, nothing]).totals().tolist() == []
