"""What an adaptive tabulation is, as data: passes, geographies, files, groups and ladders.

A tabulation counts people (or another unit) by region and group. A group gets one table of a *ladder*: a
noisy total picks it, or a count that was published before. Everything that tells one tabulation from another
is in a specification, a TOML file: the passes over different people, the geographies of each, the attributes
of a record and how the tables of each ladder put their values together, the levels (groups on a ladder), and
which columns of which files say it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod

from discreet.census.mechanism.ladder import Attribute, Ladder
from discreet.errors import InputError


@dataclass(frozen=True, slots=True)
class RegionType:
    """A geography: how its regions are named from the codes of an area, and what is shown there."""

    name: str
    which: str
    columns: tuple[str, ...]
    id: str = ""
    outside: str = ""
    below: bool = False
    like: str = ""
    sums_of: str = ""


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass over some of the people: the codes of their part of the country, and its geographies."""

    name: str
    title: str
    where: str
    codes: tuple[str, ...]
    filter: str
    switch: str
    rolled_up: tuple[str, ...]
    geographies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """A level: the groups of one level on one ladder."""

    number: int
    word: str
    groups: int
    ladder: str


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a folder of data: its name without an ending, its columns, and what stands between them.

    Without a separator it is found from the first line. `lenient`: records of no known area are left out.
    """

    name: str
    columns: tuple[str, ...]
    separator: str = ""
    unread: tuple[str, ...] = ()
    identifier: str = ""
    null: str = ""
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class Areas:
    """What the file of areas says: widths of codes, the columns that records have too, and parts."""

    one: str
    widths: Mapping[str, int]
    key: tuple[str, ...]
    part: str
    part_word: str

    @property
    def many(self) -> str:
        """What several areas are called."""
        return f"{self.one[:-1]}ies" if self.one.endswith("y") else f"{self.one}s"


@dataclass(frozen=True, slots=True)
class CodeColumns:
    """The columns of codes that place a record in groups, and what the kinds of groups are called.

    `several` codes have a group all together (`all`) or any of them has it (`any`); `one` has its own.
    """

    several: tuple[str, ...]
    one: str
    kinds: tuple[str, str, str]
    codes: str
    word: str
    one_word: str
    limit: str

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of codes."""
        return (*self.several, *((self.one,) if self.one else ()))


@dataclass(frozen=True, eq=False, kw_only=True)
class AdaptiveTabulation:
    """The specification of an adaptive tabulation, but for its groups and its budgets."""

    name: str
    title: str
    unit: str
    areas: Areas
    area_file: DataFile
    record_file: DataFile
    answers: CodeColumns
    passes: Mapping[str, Pass]
    geographies: Mapping[str, RegionType]
    attributes: tuple[Attribute, ...]
    ladders: Mapping[str, Ladder]
    workloads: Mapping[int, Workload]
    order: tuple[str, ...] = ()
    without: tuple[str, str] = ("", "")
    above: str = ""
    below: str = ""
    outside: str = ""
    sides: tuple[str, str] = ("above", "below")
    stability: str = "paired or counted"
    proof: str = ""
    text: str = field(default="", repr=False)
    """The text that it was read from: two of the same text are the same."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AdaptiveTabulation) and (self.name, self.text) == (other.name, other.text)

    def __hash__(self) -> int:
        return hash((self.name, self.text))

    @property
    def units(self) -> str:
        """What several of the unit are called.

        >>> from discreet.census.safetab.specification import safetab_h, safetab_p
        >>> safetab_p().units, safetab_h().units
        ('people', 'households')
        """
        return "people" if self.unit == "person" else f"{self.unit}s"

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The numbers of the levels."""
        return tuple(self.workloads)

    @cached_property
    def places(self) -> tuple[tuple[str, int], ...]:
        """Every geography and level."""
        return tuple(product(self.geographies, self.workloads))

    @cached_property
    def finest(self) -> int:
        """How many finest cells there are."""
        return prod(len(attribute.parts) for attribute in self.attributes)

    def ladder(self, level: int) -> Ladder:
        """Return the ladder of a level."""
        return self.ladders[self.workloads[level].ladder]

    def is_below(self, geography: str) -> bool:
        """Whether small groups are dropped at a geography."""
        return self.geographies[geography].below

    def side(self, *, below: bool) -> str | None:
        """Return a geography of one side, if there is one."""
        return next(
            (name for name, region_type in self.geographies.items() if region_type.below == below), None
        )

    def place_words(self, place: tuple[str, int]) -> str:
        """Name a geography and level for a reader."""
        return f"{place[0]}, {self.workloads[place[1]].word}"

    def known(self, geography: str) -> str:
        """Return a geography that there is; raise if there is none of this name."""
        if geography not in self.geographies:
            names = ", ".join(self.geographies)
            raise InputError(f"geography is {geography!r}; it must be one of {names}")
        return geography
