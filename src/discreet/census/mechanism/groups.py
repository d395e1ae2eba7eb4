"""The groups of a tabulation, which codes belong to them, and how many groups one person can be in.

What the noise must cover is how many groups of one region and one level a person is counted in. A person has
up to `k` codes of a question with several answers, and one code of another question. Counted are

    | intersection over the several codes of their *all* groups |      (0 if the codes have none in common)
  + | union over the several codes of their *any* groups |
  + | groups of the one code |.

The Bureau's number is h max(2, k) + h1, h the most groups of one kind (all, or any) that one of the several
codes has and h1 the same for the one code. It holds where all and any groups are paired. `several_bound`
holds for any specification. `stability` takes the smaller of those that hold. The proofs are in
`docs/explanation/safetab.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nlargest

from discreet.census.mechanism.tabulation import AdaptiveTabulation


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """A bound on the groups of one region and level that one person is counted in, and why it holds.

    `reached` says whether a person was found who is in that many; if not, there may be none.
    """

    value: int
    race: int
    ethnicity: int
    paired: bool
    reached: bool
    why: str
    plain: bool = True
    """Whether it is the formula's number, and nothing need be said."""


NAMES = ("alone", "combination", "race")
"""What the kinds of groups of several codes, and these codes, are called unless a specification says."""


def stability(
    alone: Mapping[str, frozenset[str]],
    combination: Mapping[str, frozenset[str]],
    ethnicity: Mapping[str, frozenset[str]],
    *,
    max_race_codes: int,
    names: tuple[str, str, str] = NAMES,
) -> Stability:
    """Return the stability of one level, from the codes of its iterations by class.

    Guarantee. Assumed: a person has one to `max_race_codes` of the several codes and one other code, and is
    counted once in each iteration that the definition above names. Claimed: no such person is counted in more
    than `value` iterations. Proved in `docs/explanation/safetab.md`, checked against all people of small
    worlds in `test_safetab_stability.py`.

    >>> pairs = {"2001": frozenset({"a", "b"})}
    >>> bound = stability(pairs, pairs, {}, max_race_codes=8)
    >>> bound.value, bound.reached
    (2, True)
    >>> bound.why
    'in this specification a person is in at most 2 race groups where the formula says 8'
    >>> unpaired = {name: frozenset({code}) for name, code in (("1", "a"), ("2", "b"))}
    >>> stability(pairs, unpaired, {}, max_race_codes=2).why
    'alone and combination iterations are not paired, and a person can be in 3 race groups where the formula \
says 2'
    """
    in_alone, in_combination, in_ethnicity = (by_code(groups) for groups in (alone, combination, ethnicity))
    most_alone, most_combination, most_ethnicity = (
        max(map(len, groups.values()), default=0) for groups in (in_alone, in_combination, in_ethnicity)
    )
    formula = max(2, max_race_codes) * max(most_alone, most_combination)
    pairs = paired(alone.values(), combination.values())
    direct = several_bound(alone, in_alone, in_combination, max_race_codes)
    race = min(direct, formula) if pairs else direct
    witnessed = several_witness(alone, in_alone, in_combination, max_race_codes, race)
    kinds, word = f"{names[0]} and {names[1]} iterations are", names[2]
    limits = f"{race} {word} groups where the formula says {formula}"
    if race < formula:
        why = f"in this specification a person is in at most {limits}"
    elif pairs:
        why = f"{kinds} paired"
    elif race == formula:
        why = f"{kinds} not paired, but the formula holds, found directly"
    else:
        can = "can" if witnessed == race else "could"
        why = f"{kinds} not paired, and a person {can} be in {limits}"
    return Stability(
        value=race + most_ethnicity,
        race=race,
        ethnicity=most_ethnicity,
        paired=pairs,
        reached=witnessed == race,
        why=why,
        plain=pairs and race >= formula,
    )


def by_code(groups: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Turn codes by iteration into iterations by code.

    >>> by_code({"1": frozenset({"a"}), "2": frozenset({"a"})}) == {"a": frozenset({"1", "2"})}
    True
    """
    iterations_of: dict[str, set[str]] = {}
    for name, codes in groups.items():
        for code in codes:
            iterations_of.setdefault(code, set()).add(name)
    return {code: frozenset(names) for code, names in iterations_of.items()}


def paired(alone: Iterable[frozenset[str]], combination: Iterable[frozenset[str]]) -> bool:
    """Whether each alone iteration has a combination iteration of its own with the same codes.

    An iteration without codes counts nobody and needs no partner.

    >>> a = frozenset("a")
    >>> paired([a], [a, a]), paired([a, a], [a]), paired([frozenset()], [])
    (True, False, True)
    """
    wanted, offered = Counter(codes for codes in alone if codes), Counter(combination)
    return all(count <= offered[codes] for codes, count in wanted.items())


def several_bound(
    alone: Mapping[str, frozenset[str]],
    in_alone: Mapping[str, frozenset[str]],
    in_combination: Mapping[str, frozenset[str]],
    most: int,
) -> int:
    """Bound the groups of several codes of a person with up to `most` codes, whatever the specification.

    Either the codes share no alone iteration: then only combination iterations count, at most the sum
    over the `most` largest codes. Or they all belong to some alone iteration: then the same over its
    codes only, plus the alone iterations, of which no code may have more than are counted.
    """
    bound = _union_bound(in_combination, in_combination, most)
    for codes in alone.values():
        if codes:
            shared = max(len(in_alone[code]) for code in codes)
            bound = max(bound, shared + _union_bound(codes, in_combination, most))
    return bound


def several_witness(
    alone: Mapping[str, frozenset[str]],
    in_alone: Mapping[str, frozenset[str]],
    in_combination: Mapping[str, frozenset[str]],
    most: int,
    bound: int,
) -> int:
    """Return the groups of several codes of a person with many, found code by code up to a bound.

    Codes come from the whole specification, then from one alone iteration at a time. Greedy choice need not
    find the person with the most.
    """
    nothing: frozenset[str] = frozenset()
    best = 0
    for codes in ({**in_alone, **in_combination}, *alone.values()):
        left, counted = set(codes), nothing
        shared: frozenset[str] | None = None
        for _ in range(min(most, len(left))):
            # ties are broken by the code, so that the answer is the same each time
            _, code = max(
                (len(in_combination.get(candidate, nothing) - counted), candidate) for candidate in left
            )
            left.remove(code)
            counted |= in_combination.get(code, nothing)
            own = in_alone.get(code, nothing)
            shared = own if shared is None else shared & own
            best = max(best, len(counted) + len(shared))
        if best >= bound:
            break
    return best


def _union_bound(codes: Iterable[str], groups: Mapping[str, frozenset[str]], most: int) -> int:
    """Bound the union of the iterations of up to `most` of the codes."""
    sets = [groups[code] for code in codes if code in groups]
    return min(sum(nlargest(most, map(len, sets))), len(frozenset().union(*sets)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """One group of people, in the Bureau's files a characteristic iteration.

    `total_only` groups get a total alone, and none at geographies below; `coarse_only` groups are tabulated
    at geographies below only.
    """

    code: str
    name: str
    level: int
    kind: str
    total_only: bool = False
    coarse_only: bool = False

    def tabulated(self, *, below: bool) -> bool:
        """Whether the group is tabulated at geographies below, or at the others.

        >>> Iteration(code="1", name="A", level=2, kind="alone", total_only=True).tabulated(below=True)
        False
        """
        return self.level > 0 and not (self.total_only if below else self.coarse_only)


@dataclass(frozen=True, kw_only=True)
class Specification:
    """The groups, the codes, and which code belongs to which groups (level 0 included)."""

    tabulation: AdaptiveTabulation
    iterations: tuple[Iteration, ...]
    codes: Mapping[str, str]
    mapped: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def members(self) -> Mapping[str, frozenset[str]]:
        """The codes that belong to each group."""
        codes_of: dict[str, set[str]] = {iteration.code: set() for iteration in self.iterations}
        for code, groups in self.mapped.items():
            for group in groups:
                codes_of[group].add(code)
        return {group: frozenset(codes) for group, codes in codes_of.items()}

    def tabulated(self, geography: str, level: int) -> tuple[Iteration, ...]:
        """Return the groups of a level that are tabulated at a geography, in the order of the files."""
        return tuple(self.iterations[index] for index in self.places(geography, level))

    def places(self, geography: str, level: int) -> list[int]:
        """Return where those groups stand among all iterations."""
        own, below = self.tabulation.workloads[level].groups, self.tabulation.is_below(geography)
        every = enumerate(self.iterations)
        return [
            index for index, iteration in every if iteration.level == own and iteration.tabulated(below=below)
        ]

    def stability(self, level: int, max_race_codes: int, geography: str | None = None) -> Stability:
        """Return how many groups of one region one person can be counted in, at most.

        Total-only groups do not exist at geographies below and coarse-only ones not above, so the number may
        differ; without a geography it is the larger one.
        """
        tabulation = self.tabulation
        if geography is None:
            names = (tabulation.side(below=below) for below in (False, True))
            sides = (self.stability(level, max_race_codes, name) for name in names if name is not None)
            return max(sides, key=lambda side: side.value)
        key = (
            tabulation.workloads[level].groups,
            max_race_codes,
            tabulation.is_below(tabulation.known(geography)),
        )
        if key not in self._stabilities:
            answers = tabulation.answers
            classes: dict[str, dict[str, frozenset[str]]] = {kind: {} for kind in answers.kinds}
            for iteration in self.tabulated(geography, level):
                classes[iteration.kind][iteration.code] = self.members[iteration.code]
            every, some, single = classes.values()
            self._stabilities[key] = stability(
                every,
                some,
                single,
                max_race_codes=max_race_codes,
                names=(answers.kinds[0], answers.kinds[1], answers.word),
            )
        return self._stabilities[key]

    @cached_property
    def _stabilities(self) -> dict[tuple[int, int, bool], Stability]:
        return {}
