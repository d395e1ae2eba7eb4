"""No person is counted in more groups of a region than the stability says: all people of small worlds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetab_facts import groups_of_safetab
from safetab_toy import SPEC_2020

from discreet.census.mechanism.groups import Iteration, Specification, Stability, paired, stability
from discreet.census.safetab.specification import read_specification
from discreet.errors import InputError

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
    race = max(groups_of(p, "", alone, combination, {}) for p in people)
    return race + max(groups_of((), e, {}, {}, island) for e in CODES)


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
def test_it_never_exceeds_the_bureaus_formula_where_groups_are_paired(
    alone: Groups, more: Groups, codes: int
) -> None:
    combination = {**{f"C{name}": members for name, members in alone.items()}, **more}
    bound = stability(alone, combination, {}, max_race_codes=codes)
    depth = max((sum(code in members for members in combination.values()) for code in CODES), default=0)
    assert bound.paired
    assert most(alone, combination, {}, codes) <= bound.value <= max(2, codes) * depth


def random_groups(random: np.random.Generator, prefix: str, largest: int) -> Groups:
    """Up to seven groups, of a few codes each, some of none."""
    sizes = random.integers(0, largest + 1, random.integers(0, 8))
    return {
        f"{prefix}{at}": frozenset(random.permutation(list(CODES))[:size]) for at, size in enumerate(sizes)
    }


@pytest.mark.parametrize("seed", range(3))
def test_it_is_never_below_the_truth_and_seldom_above(seed: int) -> None:
    """500 random specifications each, two in three paired, one to eight codes, over all people."""
    random = np.random.default_rng(seed)
    exact = smaller = 0
    for number in range(500):
        alone = random_groups(random, "A", 1 + number % 4)
        combination = random_groups(random, "D", 1 + number % 4)
        if number % 3:
            combination |= {f"C{name}": members for name, members in alone.items()}
        codes = int(random.integers(1, 9))
        bound = stability(alone, combination, {}, max_race_codes=codes)
        truth = most(alone, combination, {}, codes)
        assert truth <= bound.value
        assert truth == bound.value or not bound.reached
        exact += truth == bound.value
        depth = max(
            sum(code in members for members in groups.values())
            for groups in (alone, combination)
            for code in CODES
        )
        smaller += bound.value < max(2, codes) * depth
    assert exact > 350
    assert smaller > 250


@pytest.mark.parametrize(("many", "value"), [(1, 3), (2, 3), (3, 4), (5, 6), (7, 8)])
def test_few_pairs_of_groups_need_little_noise(many: int, value: int) -> None:
    """One or two pairs 3, three 4, five 6, where the formula says 9: by brute force."""
    groups, origin = {code: frozenset(code) for code in CODES[:many]}, {"E": frozenset("a")}
    bound = stability(groups, groups, origin, max_race_codes=8)
    assert most(groups, groups, origin, 8) == bound.value == value
    assert bound.reached
    assert bound.why.endswith(f"at most {value - 1} race groups where the formula says 8")


def test_a_bound_that_no_person_reaches_says_so() -> None:
    # in A, a has two alone groups and b three combination groups; nobody has both
    alone = {"A": frozenset("ab"), "B": frozenset("a")}
    combination = {"C": frozenset("ab"), "D": frozenset("b"), "E": frozenset("b")}
    bound = stability(alone, combination, {}, max_race_codes=2)
    assert (bound.value, most(alone, combination, {}, 2), bound.reached) == (5, 4, False)


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
    assert bound.value == 3 == most({"A": same, "B": same}, {"C": same}, {}, 1)


def made(*rows: tuple[str, str, str, bool, bool]) -> Specification:
    iterations = tuple(
        Iteration(code=code, name=code, level=2, kind=kind, total_only=total, coarse_only=coarse)
        for code, kind, _, total, coarse in rows
    )
    mapped = {letter: tuple(row[0] for row in rows if letter in row[2]) for letter in CODES}
    return groups_of_safetab(iterations=iterations, codes=dict.fromkeys(CODES, ""), mapped=mapped)


def test_groups_of_the_other_side_of_the_states_do_not_count() -> None:
    found = made(
        ("1", "alone", "ab", True, False),
        ("2", "alone", "ab", False, True),
        ("3", "combination", "ab", True, False),
        ("4", "combination", "ab", False, True),
        ("5", "combination", "ab", False, False),
    )
    assert [found.stability(2, 8, place).value for place in ("STATE", "PLACE")] == [3, 3]
    assert found.stability(1, 8) == Stability(
        value=0,
        race=0,
        ethnicity=0,
        paired=True,
        reached=True,
        why="alone and combination iterations are paired",
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
