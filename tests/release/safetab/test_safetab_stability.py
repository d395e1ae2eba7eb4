"""No person is counted in more groups of a region than the stability says: all people of small worlds."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetab_toy import SPEC_2020

from discreet.errors import InputError
from discreet.release.safetab.specification import (
    Iteration,
    Kind,
    Specification,
    Stability,
    paired,
    read_specification,
    stability,
)

CODES = "abcdefg"
Groups = dict[str, frozenset[str]]


def groups_of(
    person: tuple[str, ...], ethnicity: str, alone: Groups, combination: Groups, island: Groups
) -> int:
    """Count a person's groups, straight from the definition."""
    first = sum(all(code in codes for code in person) for codes in alone.values())
    second = sum(any(code in codes for code in person) for codes in combination.values())
    return first + second + sum(ethnicity in codes for codes in island.values())


def most(alone: Groups, combination: Groups, island: Groups, max_race_codes: int) -> int:
    """The largest number over all people with one to `max_race_codes` codes and any ethnicity code."""
    people = [p for k in range(1, max_race_codes + 1) for p in combinations(CODES, k)]
    return max(groups_of(p, e, alone, combination, island) for p in people for e in CODES)


def classes(prefix: str, size: int) -> st.SearchStrategy[Groups]:
    sets = st.lists(st.frozensets(st.sampled_from(CODES), max_size=5), max_size=size)
    return sets.map(lambda found: {f"{prefix}{k}": codes for k, codes in enumerate(found)})


@settings(max_examples=150, deadline=None)
@given(alone=classes("A", 5), combination=classes("C", 5), island=classes("E", 3), codes=st.integers(1, 4))
def test_it_holds_for_any_specification(
    alone: Groups, combination: Groups, island: Groups, codes: int
) -> None:
    bound = stability(alone, combination, island, max_race_codes=codes)
    assert most(alone, combination, island, codes) <= bound.value
    assert bound.value == bound.race + bound.ethnicity


@settings(max_examples=150, deadline=None)
@given(alone=classes("A", 5), more=classes("D", 2), codes=st.integers(1, 4))
def test_it_is_the_bureaus_formula_where_groups_are_paired(alone: Groups, more: Groups, codes: int) -> None:
    combination = {**{f"C{name}": members for name, members in alone.items()}, **more}
    bound = stability(alone, combination, {}, max_race_codes=codes)
    depth = max((sum(code in members for members in combination.values()) for code in CODES), default=0)
    assert bound.paired
    assert bound.value == max(2, codes) * depth
    assert most(alone, combination, {}, codes) <= bound.value


def test_it_is_reached_when_every_code_has_its_own_pair() -> None:
    groups = {f"A{code}": frozenset(code) for code in CODES}
    for codes in (1, 2, 5):
        bound = stability(groups, groups, {"E": frozenset("a")}, max_race_codes=codes)
        assert most(groups, groups, {"E": frozenset("a")}, codes) == bound.value == max(2, codes) + 1


def test_where_the_formula_is_wrong_the_larger_number_is_taken() -> None:
    # one alone group of all codes, a combination group for each: the formula says k, a person has k + 1
    alone, combination = {"A": frozenset(CODES)}, {f"C{code}": frozenset(code) for code in CODES}
    bound = stability(alone, combination, {}, max_race_codes=4)
    assert (bound.value, bound.paired) == (5, False)
    assert most(alone, combination, {}, 4) == 5
    assert "the formula says 4" in bound.why


def test_two_alone_groups_cannot_share_a_partner() -> None:
    same = frozenset("ab")
    assert not paired([same, same], [same])
    bound = stability({"A": same, "B": same}, {"C": same}, {}, max_race_codes=1)
    assert bound.value == 4 >= most({"A": same, "B": same}, {"C": same}, {}, 1) == 3


def made(*rows: tuple[str, Kind, str, bool, bool]) -> Specification:
    iterations = tuple(
        Iteration(code=code, name=code, level=2, kind=kind, total_only=total, coarse_only=coarse)
        for code, kind, _, total, coarse in rows
    )
    mapped = {letter: tuple(row[0] for row in rows if letter in row[2]) for letter in CODES}
    return Specification(iterations=iterations, codes=dict.fromkeys(CODES, ""), mapped=mapped)


def test_groups_of_the_other_side_of_the_states_do_not_count() -> None:
    found = made(
        ("1", "alone", "ab", True, False),
        ("2", "alone", "ab", False, True),
        ("3", "combination", "ab", True, False),
        ("4", "combination", "ab", False, True),
        ("5", "combination", "ab", False, False),
    )
    assert [found.stability(2, 8, place).value for place in ("STATE", "PLACE")] == [16, 16]
    assert found.stability(1, 8) == Stability(
        value=0, race=0, ethnicity=0, paired=True, why="alone and combination iterations are paired"
    )
    with pytest.raises(InputError, match="geography is 'BLOCK'"):
        found.stability(2, 8, "BLOCK")


def test_people_of_2020_reach_the_number() -> None:
    """Eight codes with eight combination groups, and an ethnicity: nine groups."""
    found = read_specification(SPEC_2020)
    kinds = {one.code: one for one in found.iterations}
    chosen: dict[str, str] = {}
    for code, groups in found.mapped.items():
        for group in groups:
            if kinds[group].level == 2 and kinds[group].kind == "combination" and len(chosen) < 8:
                chosen.setdefault(group, code)
    person = list(chosen.values())
    touched = {
        g for c in person for g in found.mapped[c] if kinds[g].level == 2 and kinds[g].kind == "combination"
    }
    island = [
        g
        for c in found.codes
        for g in found.mapped[c]
        if kinds[g].level == 2 and kinds[g].kind == "ethnicity"
    ]
    assert len(touched) + min(len(island), 1) == found.stability(2, 8).value == 9
