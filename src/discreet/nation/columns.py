"""How each product's files write the same people and addresses: names of files and columns, and codes.

*The Bureau's files*, as its programs read them: SafeTab-P (`person-records`, `GRF-C`), SafeTab-H
(`household-records`) and PHSafe (`persons`, `units`, `geo`). *Records for `measure`*: `persons` with the
attributes of the presets of PL 94-171 and DHC; `housing-units` with those of PL 94-171; `addresses` and
`households` for DHC, whose preset states budgets but no attributes: `UNIT_ATTRIBUTES` and
`HOUSEHOLD_ATTRIBUTES` are ours, with the names that its queries use. Production tells 522 types of household
apart; here a type is what the queries ask of it (couple, generations, own children, size).
*Areas*: the trees of both products, from the nation to the blocks. In that of DHC a county consists of its
places and the rest (Prim), which consist of groups of parts of tracts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.areas.output import ArrowArray, arrow, strings
from discreet.budget import Attributes, Recode, load
from discreet.census.safetab.synthetic import (
    BLOCK_COLUMNS,
    IN_A_GROUP,
    PERSON,
    RACE_COLUMNS,
    TOP_AGE,
    Country,
    People,
    Population,
    census_race,
    person_columns,
    word_column,
)
from discreet.nation.households import ADULT, HOUSEHOLDER, INSTITUTIONAL, SPOUSE, Addresses, Ints, Residents

Texts = NDArray[np.str_]
Columns = dict[str, ArrowArray]

DIVISIONS = (
    "09 23 25 33 44 50", "34 36 42", "17 18 26 39 55", "19 20 27 29 31 38 46",
    "10 11 12 13 24 37 45 51 54", "01 21 28 47", "05 22 40 48", "04 08 16 30 32 35 49 56", "02 06 15 41 53",
)  # fmt: skip
"""The states of the Census Bureau's nine divisions, in order."""
REGIONS = (1, 1, 2, 2, 3, 3, 3, 4, 4)
"""The region of each division."""

QUARTERS_GROUPS = (6, 3, 1, 5, 1, 2, 6)
"""How many kinds of group quarters each of the seven major types has."""

AGES = (15, 25, 35, 45, 55, 60, 65, 75, 85)
"""Where the nine groups of the householder's age begin."""

COUPLES = (
    "married, opposite-sex",
    "married, same-sex",
    "unmarried, opposite-sex",
    "unmarried, same-sex",
    "no couple",
)
GENERATIONS = ("one or two generations", "three generations")
OWN = ("no own child", "own child under 6", "own child 6 to 17", "own children of both ages")
LARGEST = 7


@cache
def household_types() -> tuple[tuple[int, int, int, int], ...]:
    """Return all types of household that can be: couple, generations, own children, size.

    >>> len(household_types())
    183
    """
    types = []
    for couple, generations, own in product(range(5), range(2), range(4)):
        least = 1 + (couple < 4) + (0, 1, 1, 2)[own] + (0, 2 if own == 0 else 1)[generations]
        types += [(couple, generations, own, size) for size in range(least, LARGEST + 1)]
    return tuple(types)


def household_attributes() -> Attributes:
    """Return what a household can be, by the names of DHC's queries.

    >>> household_attributes().tabulation("coupled_hh_type * hisp * hhtenshort_2lev").cells
    20
    """
    types = household_types()
    names = {
        (couple, generations, own, size): f"{COUPLES[couple]}, {GENERATIONS[generations]}, {OWN[own]}, {size}"
        + "+" * (size == LARGEST)
        for couple, generations, own, size in types
    }

    def of_types(label: Callable[[tuple[int, int, int, int]], str]) -> Recode:
        groups: dict[str, list[str]] = {}
        for kind in types:
            groups.setdefault(label(kind), []).append(names[kind])
        return Recode("hhtype", groups)

    ends = [*(str(age - 1) for age in AGES[1:]), "over"]
    partners = ("married", "married", "unmarried", "unmarried", "no couple")
    values = {
        "sex": ("male", "female"),
        "hhage": [f"{first} to {last}" for first, last in zip(AGES, ends, strict=True)],
        "hisp": ("not Hispanic", "Hispanic"),
        "race": ("white", "black", "aian", "asian", "nhpi", "sor", "two or more"),
        "elderly": ("nobody of 60", "somebody of 60 to 64", "somebody of 65 to 74", "somebody of 75"),
        "hhtenshort_3lev": ("mortgage", "owned", "rented"),
        "hhtype": list(names.values()),
    }
    recodes = {
        "hhtenshort_2lev": Recode(
            "hhtenshort_3lev", {"owned": ("mortgage", "owned"), "not owned": ("rented",)}
        ),
        "multig": of_types(lambda kind: GENERATIONS[kind[1]]),
        "coupled_hh_type": of_types(lambda kind: COUPLES[kind[0]]),
        "partner_type_detailed_own_child_status": of_types(
            lambda kind: f"{partners[kind[0]]}, {OWN[kind[2]]}"
        ),
        "DetailedCoupleTypeMultGenDetOwnChildSize": of_types(lambda kind: names[kind]),
    }
    return Attributes(values, recodes)


def address_attributes() -> Attributes:
    """Return what an address can be: by tenure, reason of vacancy or kind of group quarters.

    >>> address_attributes().sizes
    (35,)
    """
    tenures = ("mortgage", "owned", "rented", "no rent")
    vacancies = ("for rent", "rented", "for sale", "sold", "seasonal", "migrant workers", "other")
    kinds = _persons().values_of("relgq")[18:]
    return Attributes({"tenvacgq": [*tenures, *(f"vacant, {vacancy}" for vacancy in vacancies), *kinds]})


class _Values:
    """The values of attributes by name."""

    def __init__(self, attributes: Attributes) -> None:
        self._values = {name: list(values) for name, values in attributes.values}

    def values_of(self, name: str) -> list[str]:
        """Return the values of an attribute."""
        return self._values[name]


@cache
def _persons() -> _Values:
    attributes = load("dhc-2020-persons").attributes
    assert attributes is not None
    return _Values(attributes)


@cache
def _redistricting() -> _Values:
    attributes = load("pl94-2020-persons").attributes
    assert attributes is not None
    return _Values(attributes)


class Files:
    """The columns of every file, for the people and addresses of a portion."""

    def __init__(self, population: Population) -> None:
        self.population = population
        self.country = population.country
        self._texts = self.country.texts()
        self._geocode = _joined(*self._texts[:4])
        self._race = np.array([int(race) for race in census_race()])
        self._households = household_attributes()
        self._type = {kind: at for at, kind in enumerate(household_types())}

    def columns(self, people: Residents, addresses: Addresses) -> dict[str, Columns]:
        """Return the columns of each file."""
        homes = np.flatnonzero(addresses.household)
        return {
            "person-records": self._person_records(people),
            "household-records": self._household_records(people, addresses, homes),
            "persons": self._phsafe_persons(people, addresses),
            "units": self._phsafe_units(people, addresses),
            "geo": self._phsafe_geo(addresses),
            "records/persons": self._persons(people, addresses),
            "records/housing-units": self._housing_units(addresses),
            "records/addresses": self._addresses(addresses),
            "records/households": self._households_of(people, addresses, homes),
        }

    # -- the Bureau's files ----------------------------------------------------------------------------

    def _person_records(self, people: Residents) -> Columns:
        found = People(
            age=people.age,
            sex=people.sex,
            householder=people.relationship == HOUSEHOLDER,
            block=people.block,
            races=people.races,
            origin=people.origin,
            majors=people.majors,
        )
        return person_columns(self.population, found, self._texts[:4])

    def _blocks(self, block: Ints, columns: Sequence[Texts]) -> list[ArrowArray]:
        first, last = int(block[0]), int(block[-1]) + 1
        return [word_column(block - first, column[first:last]) for column in columns]

    def _household_records(self, people: Residents, addresses: Addresses, homes: Ints) -> Columns:
        head = addresses.head[homes]
        codes = (*self.population.answers.codes, "Null")
        type_ = addresses.type[homes]
        blocks = self._blocks(addresses.block[homes], self._texts[:4]) if homes.size else self._empty(4)
        return {
            **dict(zip(BLOCK_COLUMNS, blocks, strict=True)),
            "HHRACE": word_column(people.majors[head], census_race()),
            **{name: word_column(people.races[head, at], codes) for at, name in enumerate(RACE_COLUMNS)},
            "QSPAN": word_column(people.origin[head], codes),
            # the two kinds of a woman's nonfamily household are as those of a man's
            "HOUSEHOLD_TYPE": word_column(np.where(type_ > 5, type_ - 2, type_), _numbers(5)),
            "TEN": word_column(addresses.tenure[homes], _numbers(4)),
        }

    def _empty(self, many: int) -> list[ArrowArray]:
        return [strings([]).dictionary_encode() for _ in range(many)]

    def _phsafe_persons(self, people: Residents, addresses: Addresses) -> Columns:
        quarters = people.relationship >= INSTITUTIONAL
        return {
            "RTYPE": word_column(quarters, ["3", "5"]),
            "MAFID": _identifiers(addresses.number[people.address]),
            "QAGE": word_column(people.age, _numbers(TOP_AGE)),
            "CENHISP": word_column(people.hispanic, ["1", "2"]),
            "CENRACE": word_column(people.majors, census_race()),
            "RELSHIP": word_column(people.relationship, _numbers(38)),
        }

    def _phsafe_units(self, people: Residents, addresses: Addresses) -> Columns:
        home, head = addresses.household, addresses.head
        race = np.where(home, self._race[people.majors[head]], 0)
        two_digits = [f"{number:02d}" for number in range(64)]
        return {
            "RTYPE": word_column(addresses.quarters >= 0, ["2", "4"]),
            "MAFID": _identifiers(addresses.number),
            "FINAL_POP": word_column(addresses.people, _numbers(int(addresses.people.max()))),
            "NPF": word_column(addresses.family, _numbers(int(addresses.family.max()))),
            "HHSPAN": word_column(np.where(home, 1 + people.hispanic[head], 0), _numbers(2)),
            "HHRACE": word_column(race, two_digits),
            "TEN": word_column(addresses.tenure, _numbers(4)),
            "HHT": word_column(addresses.type, _numbers(7)),
            "HHT2": word_column(addresses.detailed_type, two_digits),
            "CPLT": word_column(addresses.couple, _numbers(5)),
        }

    def _phsafe_geo(self, addresses: Addresses) -> Columns:
        block = addresses.block
        state, county, tract, number, place_code, area = self._blocks(block, self._texts)
        states = self.country.tracts.state[self.country.tract[block]]
        division = np.array(
            [at for code in self.country.states for at, own in enumerate(DIVISIONS) if code in own.split()]
        )[states]
        group = self.country.number[block] // IN_A_GROUP
        return {
            "RTYPE": word_column(addresses.quarters >= 0, ["2", "4"]),
            "MAFID": _identifiers(addresses.number),
            "TABBLKST": state,
            "TABBLKCOU": county,
            "TABTRACTCE": tract,
            "TABBLK": number,
            "TABBLKGRPCE": word_column(group, _numbers(9)),
            "REGIONCE": word_column(np.array(REGIONS)[division], _numbers(4)),
            "DIVISIONCE": word_column(division + 1, _numbers(9)),
            "PLACEFP": place_code,
            "AIANNHCE": area,
        }

    # -- records for `measure` -------------------------------------------------------------------------

    def _unit(self, block: Ints) -> ArrowArray:
        return self._blocks(block, [self._geocode])[0] if block.size else self._empty(1)[0]

    def _persons(self, people: Residents, addresses: Addresses) -> Columns:
        role, kind = people.relationship.astype(np.int64), addresses.quarters[people.address]
        alone = addresses.people[people.address] == 1
        relation = np.where(role == HOUSEHOLDER, np.where(alone, 0, 1), role - SPOUSE + 2)
        # the file lists opposite-sex partners before same-sex spouses, as RELSHIP does
        relation = np.where(kind >= 0, 18 + kind, relation)
        major = np.repeat(np.arange(1, 8), QUARTERS_GROUPS)[kind]
        persons, redistricting = _persons(), _redistricting()
        return {
            "unit": self._unit(people.block),
            "relgq": word_column(relation, persons.values_of("relgq")),
            "sex": word_column(people.sex - 1, persons.values_of("sex")),
            "age": word_column(people.age, persons.values_of("age")),
            "hispanic": word_column(people.hispanic, persons.values_of("hispanic")),
            "cenrace": word_column(self._race[people.majors] - 1, persons.values_of("cenrace")),
            "hhgq": word_column(np.where(kind >= 0, major, 0), redistricting.values_of("hhgq")),
            "votingage": word_column(people.age >= ADULT, redistricting.values_of("votingage")),
        }

    def _housing_units(self, addresses: Addresses) -> Columns:
        units = np.flatnonzero(addresses.quarters < 0)
        occupied = addresses.people[units] > 0
        return {
            "unit": self._unit(addresses.block[units]),
            "h1": word_column(occupied, ["vacant", "occupied"]),
        }

    def _addresses(self, addresses: Addresses) -> Columns:
        kind = np.where(addresses.quarters >= 0, 11 + addresses.quarters, addresses.tenure - 1)
        kind = np.where(addresses.vacancy > 0, 3 + addresses.vacancy, kind)
        (name, values), *_ = address_attributes().values
        return {"unit": self._unit(addresses.block), name: word_column(kind, values)}

    def _households_of(self, people: Residents, addresses: Addresses, homes: Ints) -> Columns:
        head = addresses.head[homes]
        race = np.minimum(self._race[people.majors[head]], 7) - 1
        size = np.minimum(addresses.people[homes], LARGEST)
        keys = zip(
            (addresses.couple[homes] - 1).tolist(),
            addresses.generations[homes].tolist(),
            addresses.own[homes].tolist(),
            size.tolist(),
            strict=True,
        )
        places = {
            "sex": people.sex[head] - 1,
            "hhage": np.searchsorted(AGES, people.age[head], side="right") - 1,
            "hisp": people.hispanic[head].astype(np.int64),
            "race": race,
            "elderly": addresses.oldest[homes],
            "hhtenshort_3lev": np.minimum(addresses.tenure[homes], 3) - 1,
            "hhtype": np.fromiter((self._type[key] for key in keys), np.int64, homes.size),
        }
        values = dict(self._households.values)
        written = {name: word_column(index, values[name]) for name, index in places.items()}
        return {"unit": self._unit(addresses.block[homes]), **written}


FILES = {
    "person-records": ("data/person-records", "|", PERSON),
    "household-records": (
        "data/household-records",
        "|",
        (*BLOCK_COLUMNS, "HHRACE", *RACE_COLUMNS, "QSPAN", "HOUSEHOLD_TYPE", "TEN"),
    ),
    "persons": ("phsafe/persons", ",", ("RTYPE", "MAFID", "QAGE", "CENHISP", "CENRACE", "RELSHIP")),
    "units": (
        "phsafe/units",
        ",",
        ("RTYPE", "MAFID", "FINAL_POP", "NPF", "HHSPAN", "HHRACE", "TEN", "HHT", "HHT2", "CPLT"),
    ),
    "geo": (
        "phsafe/geo",
        ",",
        (
            "RTYPE", "MAFID", "TABBLKST", "TABBLKCOU", "TABTRACTCE", "TABBLK", "TABBLKGRPCE", "REGIONCE",
            "DIVISIONCE", "PLACEFP", "AIANNHCE",
        ),
    ),
    "records/persons": (
        "records/persons",
        None,
        ("unit", "relgq", "sex", "age", "hispanic", "cenrace", "hhgq", "votingage"),
    ),
    "records/housing-units": ("records/housing-units", None, ("unit", "h1")),
    "records/addresses": ("records/addresses", None, ("unit", "tenvacgq")),
    "records/households": (
        "records/households",
        None,
        ("unit", "sex", "hhage", "hisp", "race", "elderly", "hhtenshort_3lev", "hhtype"),
    ),
}  # fmt: skip
"""Where each file lies, what separates its fields (None: commas, and texts are quoted), and its columns."""


def _numbers(last: int) -> list[str]:
    return [str(number) for number in range(last + 1)]


def _identifiers(numbers: Ints) -> ArrowArray:
    return arrow().array(numbers).cast(arrow().string()).dictionary_encode()


# -- areas ---------------------------------------------------------------------------------------------------

REDISTRICTING_LEVELS = ("US", "State", "County", "Tract", "Block_Group", "Block")
DHC_LEVELS = ("US", "State", "County", "Prim", "Tract_Subset_Group", "Tract_Subset", "Block_Group", "Block")
SUBSETS_IN_A_GROUP = 8


def area_tree(country: Country, *, dhc: bool = False) -> dict[str, Columns]:
    """Return the areas of each level with their parents: of PL 94-171, or of DHC."""
    state, county, tract, number, place_code, _ = country.texts()
    counties, group = _joined(state, county), number.astype("U1")
    if dhc:
        prim = _joined(counties, "P", place_code)
        subset = _joined(prim, "T", tract)
        lower = [prim, _subset_groups(prim, subset), subset, _joined(subset, "B", group)]
    else:
        lower = [_joined(counties, tract), _joined(counties, tract, group)]
    chain = [np.full(state.size, "US"), state, counties, *lower, _joined(counties, tract, number)]
    written, above = {}, np.full(state.size, "")
    for level, names in zip(DHC_LEVELS if dhc else REDISTRICTING_LEVELS, chain, strict=True):
        own, first = np.unique(names, return_index=True)
        columns = {"unit": own, "level": np.full(own.size, level), "parent": above[first]}
        written[level] = {name: strings(column).dictionary_encode() for name, column in columns.items()}
        above = names
    return written


def _joined(*texts: Texts | str) -> Texts:
    joined = np.array("")
    for text in texts:
        joined = np.char.add(joined, text)
    return joined


def _subset_groups(prim: Texts, subset: Texts) -> Texts:
    """Put the parts of tracts of each Prim into groups of a few, in order."""
    own, first, where = np.unique(subset, return_index=True, return_inverse=True)
    parents = prim[first]
    _, starts = np.unique(parents, return_index=True)
    rank = np.arange(own.size) - np.repeat(starts, np.diff(starts, append=own.size))
    group = (rank // SUBSETS_IN_A_GROUP + 1).astype("U6")
    return _joined(parents, "G", group)[where]
