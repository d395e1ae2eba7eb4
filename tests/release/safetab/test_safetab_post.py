"""What is done to released groups: donation between regions of the same blocks, alone against combination."""

from __future__ import annotations

import numpy as np
import pytest
from safetab_fakes import specification

from discreet.errors import InputError
from discreet.release.safetab.run import ORDER, consistent, donate, partners
from discreet.release.safetab.tables import CELLS, Part, joined


def part(geography: str, groups: list[tuple[int, int, int]], label: int, level: int = 1) -> Part:
    """Groups of (region, iteration, table); cells are a number that tells where they come from."""
    values = [
        1000 * label + 10 * region + iteration + cell
        for region, iteration, table in groups
        for cell in range(CELLS[table])
    ]
    region, iteration, table = (list(column) for column in zip(*groups, strict=True)) if groups else ([],) * 3
    return Part.of(geography, level, region, iteration, table, [label] * len(groups), values)


def groups(one: Part) -> dict[tuple[int, int], tuple[int, int, list[int]]]:
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
    after, count = donate(parts, SAME, ALL)
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
    after, _ = donate(parts, SAME, ALL, order=("TRACT", "COUNTY", "STATE", "AIANNH", "PLACE"))
    assert groups(after["COUNTY", 1])[1, 0] == groups(parts["TRACT", 1])[4, 0]
    with pytest.raises(InputError, match="the order of donors is COUNTY; it must name each of STATE, COUNTY"):
        donate(parts, SAME, ALL, order=("COUNTY",))
    assert set(ORDER) == {"STATE", "COUNTY", "TRACT", "PLACE", "AIANNH"}


def test_a_group_is_given_only_where_it_is_tabulated() -> None:
    parts = {
        ("STATE", 1): part("STATE", [(0, 0, 0), (0, 2, 0)], 1),
        ("COUNTY", 1): part("COUNTY", [(1, 3, 0)], 2),
    }
    where = {("STATE", 1): [0, 2], ("COUNTY", 1): [0, 3]}
    after, count = donate(parts, [[("STATE", 0), ("COUNTY", 1)]], where)
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
    after, _ = donate(parts, [[("PR-COUNTY", 0), ("PR-TRACT", 0)]], tabulated)
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
    after, _ = donate(parts, classes, ALL)
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


def test_a_group_whose_alone_count_exceeds_the_combination_is_dropped() -> None:
    one = Part.of(
        "COUNTY",
        1,
        [0, 0, 1, 1, 2, 3],
        [0, 1, 0, 1, 0, 1],
        [0, 0, 1, 0, 0, 0],
        [0] * 6,
        [30, 30, *[10] * 8, 79, 50, 60],
    )
    kept = consistent({("COUNTY", 1): one}, {0: 1})["COUNTY", 1]
    # equal counts stay; 80 alone against 79 goes; a group without its partner stays
    assert list(zip(kept.region.tolist(), kept.iteration.tolist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (2, 0),
        (3, 1),
    ]
    assert kept.values.tolist() == [30, 30, 50, 60]


def test_no_count_is_below_zero_afterwards() -> None:
    one = Part.of("STATE", 1, [0, 0], [0, 1], [0, 1], [0, 0], [-4, 5, -6, 7, 8, 9, 1, 2, -3])
    kept = consistent({("STATE", 1): one}, {})["STATE", 1]
    assert kept.values.tolist() == [0, 5, 0, 7, 8, 9, 1, 2, 0]


def test_parts_join_and_sort() -> None:
    first, second = part("TRACT", [(5, 1, 1), (0, 3, 0)], 1), part("TRACT", [(0, 2, 2)], 2)
    both = joined([first, second])
    assert both.region.tolist() == [0, 0, 5]
    assert both.iteration.tolist() == [2, 3, 1]
    assert groups(both) == {**groups(first), **groups(second)}
    nothing = part("TRACT", [], 0)
    assert joined([nothing, nothing]).totals().tolist() == []
