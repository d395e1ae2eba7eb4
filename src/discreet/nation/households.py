"""Who lives with whom: households, group quarters and vacant units on the blocks of a synthetic country.

*Plausible, nothing fitted.* The people of a block are cut into addresses: a facility of group quarters in few
blocks, and households of one to sixteen people. A household has a householder of 18 or more; then, by its
kind, a spouse or partner, relatives or others. What the products derive (the type of the household, couples,
own children, generations, the oldest member) is counted from its members, never drawn, so that it agrees with
them. Ages fit the relationships: parents are at least 16 years older than their children, a foster child is a
minor, at most two are parents of the householder. Relatives mostly name the householder's races and origin.

*Portions* are runs of whole blocks with some `PORTION` people. As in `safetab.synthetic`, each has its own
stream, so that the result does not depend on how many are drawn at a time. The numbers of the addresses of a
portion begin at `FIRST_ADDRESS + portion * ADDRESSES`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.census.safetab.synthetic import PORTION, SLOTS, TOP_AGE, WATER, Population, pyramid, table

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

ADULT = 18
FIRST_ADDRESS, ADDRESSES = 100_000_000, 2 * PORTION
"""Numbers of addresses (MAFID) have nine digits."""

SIZES = (280, 340, 154, 127, 60, 24, 9, 3, 1.2, 0.8, 0.4, 0.25, 0.15, 0.1, 0.06, 0.04)
"""Households by their number of people, in thousandths."""
MARRIED, COHABITING, FAMILY, NONFAMILY = range(4)
KINDS = {True: (0.52, 0.12, 0.2, 0.16), False: (0.64, 0.09, 0.23, 0.04)}
"""Shares of these kinds among households of two people, and of more."""
SAME_SEX = (0.015, 0.08)
"""Share of couples of the same sex, among married and unmarried ones."""

HOUSEHOLDER, SPOUSE, PARTNER, SAME_SPOUSE, SAME_PARTNER = 20, 21, 22, 23, 24
CHILD, ADOPTED, STEPCHILD, SIBLING, PARENT, GRANDCHILD = 25, 26, 27, 28, 29, 30
PARENT_IN_LAW, CHILD_IN_LAW, OTHER_RELATIVE, HOUSEMATE, FOSTER, OTHER = 31, 32, 33, 34, 35, 36
INSTITUTIONAL, NONINSTITUTIONAL = 37, 38
"""Relationships to the householder (RELSHIP), and residents of group quarters."""

ROLES = np.arange(CHILD, OTHER + 1)
SHARES = {
    35: (780, 10, 30, 60, 30, 0, 10, 0, 30, 30, 5, 15),
    60: (750, 25, 50, 20, 30, 30, 15, 10, 30, 15, 5, 20),
    TOP_AGE: (350, 10, 10, 80, 40, 250, 10, 60, 100, 30, 5, 55),
}
"""Shares of `ROLES` among members who are no spouse or partner, by the householder's age (up to which)."""

QUARTERS = (
    (1, 18, 70), (2, 18, 75), (4, 18, 75), (6, 18, 60), (2, 18, 60), (0.2, 18, 45),
    (2, 8, 17), (2, 8, 17), (1, 10, 17), (30, 60, 105), (2, 18, 80), (1, 0, 90), (1, 40, 100), (0.5, 18, 60),
    (1, 5, 21), (25, 18, 25), (4, 18, 45), (1, 18, 45), (6, 0, 75), (6, 18, 80), (4, 18, 70), (0.5, 18, 65),
    (3, 18, 60), (4, 16, 80),
)  # fmt: skip
"""Kinds of group quarters in the Bureau's order: how common, and from which age to which."""
INSTITUTIONS = 15
"""The first so many are institutional."""
WITH_QUARTERS, FEWEST_QUARTERS = 0.02, 3
"""The share of blocks with group quarters, among those with people, and how many there are at least."""
VACANCIES = (20, 4, 7, 5, 35, 1, 28)
"""Vacant units by the reason (VACS 1 to 7), in hundredths."""


@dataclass(frozen=True, slots=True)
class Residents:
    """Columns of the people of a portion, in the order of their addresses; a race not named is -1."""

    address: Ints
    block: Ints
    age: NDArray[np.uint8]
    sex: NDArray[np.uint8]
    relationship: NDArray[np.uint8]
    races: NDArray[np.int16]
    origin: NDArray[np.int16]
    majors: NDArray[np.uint8]
    hispanic: Flags


@dataclass(frozen=True, slots=True)
class Addresses:
    """Columns of the addresses of a portion: housing units, occupied or vacant, and group quarters.

    `head` is the first resident, in a household the householder. `quarters` and `vacancy` are -1 and 0 at
    other addresses; what only households have (`tenure` to `oldest`) is 0 elsewhere. `own` is 1 if all own
    children under 18 are under 6, 2 if none is, 3 if some are; `oldest` is 1, 2 or 3 from 60, 65 or 75 on.
    """

    number: Ints
    block: Ints
    head: Ints
    people: Ints
    quarters: Ints
    vacancy: Ints
    tenure: Ints
    family: Ints
    type: Ints
    detailed_type: Ints
    couple: Ints
    own: Ints
    generations: Ints
    oldest: Ints

    @property
    def household(self) -> Flags:
        """Which addresses are households."""
        return (self.people > 0) & (self.quarters < 0)


class Homes:
    """All that is fixed before the people of a portion are drawn."""

    def __init__(self, population: Population, source: np.random.Generator) -> None:
        self.population = population
        country = population.country
        blocks, tracts = country.people.size, country.tracts.state.size
        lived = np.flatnonzero(country.people)
        many = min(lived.size, max(FEWEST_QUARTERS, round(WITH_QUARTERS * lived.size)))
        chosen = np.isin(np.arange(blocks), source.choice(lived, many, replace=False))
        common = np.array([share for share, _, _ in QUARTERS])
        kind = source.choice(len(QUARTERS), blocks, p=common / common.sum())
        self._quarters = np.where(chosen, kind, -1)
        inside = np.ceil(country.people * source.uniform(0.2, 1.0, blocks)).astype(np.int64)
        self._inside = np.where(chosen, np.minimum(inside, country.people), 0)
        self._rented = source.beta(2.0, 3.5, tracts)
        self._vacant = source.gamma(2.0, 0.05, tracts) * (country.tracts.code != WATER)
        self._adult = np.stack(
            [table(pyramid(profile, sex)[ADULT:]) for profile in range(3) for sex in range(2)]
        )
        self._sizes = table(np.array(SIZES)) + 1
        ends = np.searchsorted(population.ends, np.arange(PORTION, population.total, PORTION)) + 1
        ends = ends[population.ends[ends - 1] < population.total]  # somebody lives in every portion
        self.cuts = np.unique(np.concatenate([[0], ends, [blocks]]))

    @property
    def portions(self) -> int:
        """How many portions there are."""
        return self.cuts.size - 1

    def portion(self, index: int) -> tuple[Residents, Addresses]:
        """Draw the people and the addresses of a portion; the same ones each time."""
        source = np.random.default_rng(np.random.SeedSequence(self.population.seed, spawn_key=(2, index)))
        country = self.population.country
        blocks = slice(int(self.cuts[index]), int(self.cuts[index + 1]))
        counts = country.people[blocks]
        block = np.repeat(np.arange(blocks.start, blocks.stop), counts)
        inside = np.arange(block.size) - np.repeat(np.cumsum(counts) - counts, counts)
        quarters = inside < self._inside[block]
        head = self._heads(inside, quarters, self._inside[block], source)
        address = np.cumsum(head == np.arange(block.size)) - 1
        first = np.flatnonzero(head == np.arange(block.size))
        people = self._members(block, head, quarters, source)
        return self._place(index, blocks, address, first, people, source)

    def _heads(self, inside: Ints, quarters: Flags, facility: Ints, source: np.random.Generator) -> Ints:
        """Cut the people into addresses, and return the first of the address of each."""
        many = inside.size
        cuts = np.cumsum(self._sizes[source.integers(0, SLOTS, many, dtype=np.uint32)])
        begins = np.zeros(many + 1, dtype=bool)
        begins[cuts[cuts < many]] = True
        starts = np.where(quarters, inside == 0, begins[:many] | (inside == facility) | (inside == 0))
        head: Ints = np.maximum.accumulate(np.where(starts, np.arange(many), 0))
        return head

    def _members(self, block: Ints, head: Ints, quarters: Flags, source: np.random.Generator) -> Residents:
        population, many = self.population, block.size
        tract = population.country.tract[block]
        order_within, size = np.arange(many) - head, np.bincount(head, minlength=many)[head]
        sex = source.integers(0, 2, many, dtype=np.uint8)
        kind = _kinds(size, head, source)
        lone = (kind == FAMILY) & (order_within == 0)
        sex[lone & (source.random(many) < 0.4)] = 1  # seven of ten lone parents are women
        oldest = self._householder_ages(tract, sex, size, source)[head]
        role, same = _roles(kind, order_within, oldest, head, source)
        sex = np.where(same, sex[head], sex)
        sex = np.where((role == SPOUSE) | (role == PARTNER), 1 - sex[head], sex).astype(np.uint8)
        age = np.where(role == HOUSEHOLDER, oldest, _ages(role, oldest, source))
        kinds = np.where(quarters, self._quarters[block], 0)
        role = np.where(quarters, np.where(kinds < INSTITUTIONS, INSTITUTIONAL, NONINSTITUTIONAL), role)
        least, most = (np.array([quarter[at] for quarter in QUARTERS])[kinds] for at in (1, 2))
        age = np.where(quarters, source.integers(least, most + 1), age)
        related = np.isin(role, (SPOUSE, SAME_SPOUSE, PARTNER, SAME_PARTNER)) | (
            (role >= CHILD) & (role <= OTHER_RELATIVE)
        )
        alike = np.where(related & (source.random(many) < 0.88), head, np.arange(many))
        races, majors = population.races(block, tract, source)
        origin = population.origins(tract, source)[alike]
        return Residents(
            address=head,
            block=block,
            age=age.astype(np.uint8),
            sex=sex + np.uint8(1),
            relationship=role.astype(np.uint8),
            races=races[alike],
            origin=origin,
            majors=majors[alike],
            hispanic=origin != population.answers.no_origin,
        )

    def _householder_ages(
        self, tract: Ints, sex: NDArray[np.uint8], size: Ints, source: np.random.Generator
    ) -> Ints:
        row = 2 * self.population.profile[tract] + sex
        drawn = [
            self._adult[row, source.integers(0, SLOTS, tract.size, dtype=np.uint32)] + ADULT for _ in range(2)
        ]
        # who lives alone is often older, and families of three or more are younger
        age = np.where(size == 1, np.maximum(*drawn), drawn[0]).astype(np.int64)
        younger: Ints = np.where((size > 2) & (age > 70), age - 35, age)
        return younger

    def _place(
        self,
        index: int,
        blocks: slice,
        address: Ints,
        first: Ints,
        people: Residents,
        source: np.random.Generator,
    ) -> tuple[Residents, Addresses]:
        """Add the vacant units, number the addresses by block, and count what households are."""
        country = self.population.country
        here = np.arange(blocks.start, blocks.stop)
        homes = np.bincount(people.block[first] - blocks.start, minlength=here.size)
        empty = np.repeat(here, source.poisson(self._vacant[country.tract[here]] * (homes + 0.3)))
        block = np.concatenate([people.block[first], empty])
        order = np.argsort(block, kind="stable")
        rank = np.empty(order.size, dtype=np.int64)
        rank[order] = np.arange(order.size)
        block, occupied = block[order], order < first.size
        where = rank[address]
        head = np.where(occupied, first[np.minimum(order, first.size - 1)], 0)
        in_quarters = occupied & (people.relationship[head] >= INSTITUTIONAL)
        quarters = np.where(in_quarters, self._quarters[block], -1)
        vacancy = table(np.array(VACANCIES, dtype=float))[source.integers(0, SLOTS, block.size)] + 1
        placed = _households(where, order.size, people, head)
        household = occupied & (quarters < 0)
        rented = source.random(block.size) < self._rented[country.tract[block]] * np.where(
            placed["age"] < 35, 1.5, 0.8
        )
        lucky = source.random(block.size)
        owned = np.where(lucky < 1.1 - placed["age"] / 100, 1, 2)
        tenure = np.where(rented, np.where(lucky < 0.03, 4, 3), owned)
        if order.size > ADDRESSES:
            raise AssertionError("a portion has more addresses than numbers")
        of_households = {
            name: np.where(household, placed[name], 0)
            for name in ("family", "type", "detailed_type", "couple", "own", "generations", "oldest")
        }
        addresses = Addresses(
            number=FIRST_ADDRESS + index * ADDRESSES + np.arange(order.size),
            block=block,
            head=head,
            people=placed["people"],
            quarters=quarters,
            vacancy=np.where(occupied, 0, vacancy),
            tenure=np.where(household, tenure, 0),
            **of_households,
        )
        return replace(people, address=where), addresses


def _kinds(size: Ints, head: Ints, source: np.random.Generator) -> Ints:
    """Draw the kind of each household, and return it for each of its people."""
    lucky = source.random(size.size)
    limits = np.array([np.cumsum(KINDS[two])[:3] for two in (False, True)])
    kind = (lucky[:, None] >= limits[(size == 2).astype(np.int64)]).sum(axis=1)
    return np.where(size == 1, NONFAMILY, kind)[head]


def _roles(
    kind: Ints, order_within: Ints, oldest: Ints, head: Ints, source: np.random.Generator
) -> tuple[Ints, Flags]:
    """Draw the relationship of each member, and who is of the householder's sex as spouse or partner."""
    lucky = source.random(kind.size)
    role = np.empty(kind.size, dtype=np.int64)
    before = 0
    for limit, shares in SHARES.items():
        chosen = (oldest > before) & (oldest <= limit)
        role[chosen] = ROLES[np.searchsorted(np.cumsum(shares) / sum(shares), lucky[chosen], side="right")]
        before = limit
    couple = kind <= COHABITING
    role[(role == FOSTER) & (oldest < 21)] = OTHER
    role[(role == PARENT_IN_LAW) & ~couple] = OTHER_RELATIVE
    role[np.isin(role, (PARENT, PARENT_IN_LAW)) & (oldest > 90)] = SIBLING
    role[(kind == FAMILY) & (order_within == 1) & (role >= HOUSEMATE)] = CHILD  # a family has a relative
    role[kind == NONFAMILY] = np.where(lucky < 0.7, HOUSEMATE, OTHER)[kind == NONFAMILY]
    for parent in (PARENT, PARENT_IN_LAW):
        role[(role == parent) & (_so_far(role == parent, order_within, head) > 2)] = OTHER_RELATIVE
    same = (source.random(kind.size) < np.array([*SAME_SEX, 0, 0])[kind])[head]
    second = couple & (order_within == 1)
    role[second] = np.where(same, SAME_SPOUSE, SPOUSE)[second] + (kind[second] == COHABITING)
    role[order_within == 0] = HOUSEHOLDER
    return role, same & second


def _so_far(flag: Flags, order_within: Ints, head: Ints) -> Ints:
    """Return how many of a household are flagged, up to each of its members; the head counts for none.

    >>> _so_far(np.array([1, 1, 1, 1]) > 0, np.array([0, 1, 2, 0]), np.array([0, 0, 0, 3])).tolist()
    [0, 1, 2, 0]
    """
    running = np.cumsum(flag & (order_within > 0))
    many: Ints = running - running[head]
    return many


def _ages(role: Ints, oldest: Ints, source: np.random.Generator) -> Ints:
    """Draw ages that fit the relationship to a householder of this age."""
    many = role.size
    generation = source.integers(16, 42, many)
    near, any_age = np.rint(source.normal(0, 5, many)).astype(np.int64), source.integers(0, 80, many)
    partners = (SPOUSE, PARTNER, SAME_SPOUSE, SAME_PARTNER)
    children, parents = (CHILD, ADOPTED, STEPCHILD), (PARENT, PARENT_IN_LAW)
    return np.select(
        [
            np.isin(role, partners), np.isin(role, children), np.isin(role, parents), role == GRANDCHILD,
            role == CHILD_IN_LAW, role == SIBLING, role == HOUSEMATE, role == FOSTER,
        ],
        [
            np.clip(oldest + near, ADULT, TOP_AGE), np.maximum(oldest - generation, 0),
            np.minimum(oldest + generation, TOP_AGE), np.maximum(oldest - 2 * generation, 0),
            np.maximum(oldest - generation, ADULT), np.clip(oldest + 2 * near, 0, TOP_AGE),
            np.clip(oldest + near, ADULT, TOP_AGE), any_age % ADULT,
        ],
        any_age,
    )  # fmt: skip


def _households(where: Ints, many: int, people: Residents, head: Ints) -> dict[str, Ints]:
    """Count what the products derive of a household from its members."""
    role, age = people.relationship.astype(np.int64), people.age.astype(np.int64)

    def having(flag: Flags) -> Ints:
        return np.bincount(where[flag], minlength=many)

    size = np.bincount(where, minlength=many)
    relatives = having(np.isin(role, (SPOUSE, SAME_SPOUSE)) | ((role >= CHILD) & (role <= OTHER_RELATIVE)))
    child = (role >= CHILD) & (role <= STEPCHILD)
    young, older = having(child & (age < 6)) > 0, having(child & (age >= 6) & (age < ADULT)) > 0
    own = young + 2 * older
    couple = np.full(many, 5)
    for code, partner in enumerate((SPOUSE, SAME_SPOUSE, PARTNER, SAME_PARTNER), start=1):
        couple[having(role == partner) > 0] = code
    woman = people.sex[head] == 2
    alone, family = size == 1, relatives > 0
    type_ = np.where(family, np.where(woman, 3, 2), np.where(alone, 4, 5) + 2 * woman)
    type_[couple <= 2] = 1
    single = np.where(alone, 0, np.where(own > 0, 1, np.where(family, 2, 3))) + np.where(woman, 5, 9)
    detailed = np.where(couple <= 2, 1, 3) + (own == 0)
    younger = having(child | (role == CHILD_IN_LAW)) > 0
    elders, youngest = having(np.isin(role, (PARENT, PARENT_IN_LAW))) > 0, having(role == GRANDCHILD) > 0
    oldest = np.zeros(many, dtype=np.int64)
    np.maximum.at(oldest, where, age)
    return {
        "people": size,
        "family": np.where(family, relatives + 1, 0),
        "type": type_,
        "detailed_type": np.where(couple == 5, single, detailed),
        "couple": couple,
        "own": own,
        "generations": ((elders & younger) | (elders & youngest) | (younger & youngest)).astype(np.int64),
        "oldest": np.searchsorted([60, 65, 75], oldest, side="right"),
        "age": age[head],
    }
