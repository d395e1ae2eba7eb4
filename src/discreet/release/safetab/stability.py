"""How many groups of one region and one level a person can be counted in: what the noise must cover.

A person has up to `k` race codes and one ethnicity code. Counted are

    | intersection over the codes of their *alone* iterations |      (0 if the codes have none in common)
  + | union over the codes of their *combination* iterations |
  + | iterations of the ethnicity code |.

The Bureau's number is h_r max(2, k) + h_e, h_r the most iterations of one class (alone, or combination)
that any code maps to and h_e the same for ethnicity. `stability` proves it for the specification at
hand or returns a larger number that is proved. The proofs are in `docs/explanation/safetab.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nlargest


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """A bound on the groups of one region and level that one person is counted in, and why it holds."""

    value: int
    race: int
    ethnicity: int
    paired: bool
    why: str


def stability(
    alone: Mapping[str, frozenset[str]],
    combination: Mapping[str, frozenset[str]],
    ethnicity: Mapping[str, frozenset[str]],
    *,
    max_race_codes: int,
) -> Stability:
    """Return the stability of one level, from the codes of its iterations by class.

    >>> alone = {"2001": frozenset({"a", "b"})}
    >>> stability(alone, {"1130": frozenset({"a", "b"})}, {}, max_race_codes=8).value
    8
    >>> unpaired = {name: frozenset({code}) for name, code in (("1", "a"), ("2", "b"))}
    >>> stability(alone, unpaired, {}, max_race_codes=2)
    Stability(value=3, race=3, ethnicity=0, paired=False, why='alone and combination iterations are not \
paired, and a person can be in 3 race groups where the formula says 2')
    """
    in_alone, in_combination, in_ethnicity = (by_code(groups) for groups in (alone, combination, ethnicity))
    most_alone, most_combination, most_ethnicity = (
        max(map(len, groups.values()), default=0) for groups in (in_alone, in_combination, in_ethnicity)
    )
    formula = max(2, max_race_codes) * max(most_alone, most_combination)
    pairs = paired(alone.values(), combination.values())
    race, why = formula, "alone and combination iterations are paired"
    if not pairs:
        direct = race_bound(alone, in_alone, in_combination, max_race_codes)
        if direct <= formula:
            why = "alone and combination iterations are not paired, but the formula holds, found directly"
        else:
            race = direct
            why = (
                "alone and combination iterations are not paired, and a person can be in "
                f"{direct} race groups where the formula says {formula}"
            )
    return Stability(value=race + most_ethnicity, race=race, ethnicity=most_ethnicity, paired=pairs, why=why)


def by_code(groups: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Turn codes by iteration into iterations by code.

    >>> by_code({"1": frozenset({"a"}), "2": frozenset({"a"})}) == {"a": frozenset({"1", "2"})}
    True
    """
    found: dict[str, set[str]] = {}
    for name, codes in groups.items():
        for code in codes:
            found.setdefault(code, set()).add(name)
    return {code: frozenset(names) for code, names in found.items()}


def paired(alone: Iterable[frozenset[str]], combination: Iterable[frozenset[str]]) -> bool:
    """Whether each alone iteration has a combination iteration of its own with the same codes.

    An iteration without codes counts nobody and needs no partner.

    >>> a = frozenset("a")
    >>> paired([a], [a, a]), paired([a, a], [a]), paired([frozenset()], [])
    (True, False, True)
    """
    wanted, offered = Counter(codes for codes in alone if codes), Counter(combination)
    return all(count <= offered[codes] for codes, count in wanted.items())


def race_bound(
    alone: Mapping[str, frozenset[str]],
    in_alone: Mapping[str, frozenset[str]],
    in_combination: Mapping[str, frozenset[str]],
    most: int,
) -> int:
    """Bound the race groups of a person with up to `most` codes, whatever the specification.

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


def _union_bound(codes: Iterable[str], groups: Mapping[str, frozenset[str]], most: int) -> int:
    """Bound the union of the iterations of up to `most` of the codes."""
    sets = [groups[code] for code in codes if code in groups]
    return min(sum(nlargest(most, map(len, sets))), len(frozenset().union(*sets)))
