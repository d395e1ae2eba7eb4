"""Which data sets a question of risk compares, and the counts that tell them apart.

*Held exact.* Counts that are published without noise are the same in every data set that is still possible.
With `State:total` exact, a record is replaced by another one of the same state; with `State:sex`, also of the
same sex. Queries that what is held determines are the same in both data sets and drop out: a query of that
level or of one above it, whose cells are unions of cells of what is held. If one record changes, all that is
held counts together (who agrees on sex and on age agrees on sex by age); if several do, of several people or
of one who has several, two may have swapped values, and each held query counts alone. Adding or removing a
record changes every exact total, so that the two data sets are told apart with certainty.

*One attribute.* The record stays in its place, so both data sets have the same path, and only a query that
splits the attribute, with the two values in different groups, sees the change: one of its cells loses the
record, another gains it. Of all pairs of values those count that the most queries tell apart.

*Nobody in the place.* To bound how often a person's values are guessed, a fixed law will do as the reference:
that of the noisy counts without the person, the same for every value. What is the same for every value drops
out of it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from discreet.accounting.account import Account, account, portfolio
from discreet.budget.attributes import TOTAL, Tabulation
from discreet.budget.claims import AnswerKind
from discreet.budget.level_names import find_level
from discreet.budget.neighbours import Cases, Neighbours, PathGroup, cases, joint_cases
from discreet.budget.release import Release
from discreet.budget.toml import FieldError
from discreet.errors import InputError
from discreet.noise import Noise, grouped
from discreet.numbers import shown

Ways = tuple[int, ...]
"""The group of each value of an attribute, as one query splits it."""

Keeps = Callable[[int, tuple[str, ...], str], bool]
"""Whether a query, of a release by its number and of a run of levels, may differ."""

_MOST_CLASSES = 1000  # of values that recodes tell apart; with more, all queries count as seeing every change


@dataclass(frozen=True, slots=True)
class ExactCount:
    """A query of a level whose counts are published without noise.

    >>> print(ExactCount.read("State:total"))
    State:total
    """

    level: str
    query: str

    @classmethod
    def read(cls, text: str | ExactCount | tuple[str, str]) -> ExactCount:
        """Read LEVEL:QUERY.

        >>> ExactCount.read("State")
        Traceback (most recent call last):
        discreet.errors.InputError: what is held exact is 'State'; it is written LEVEL:QUERY, such as \
State:total
        """
        if isinstance(text, ExactCount):
            return text
        parts = text.partition(":")[::2] if isinstance(text, str) else text
        level, query = (part.strip() for part in parts)
        if not level or not query:
            raise InputError(
                f"what is held exact is {shown(text)}; it is written LEVEL:QUERY, such as State:total"
            )
        return cls(level, query)

    def __str__(self) -> str:
        return f"{self.level}:{self.query}"


@dataclass(frozen=True, slots=True)
class _HeldIn:
    """What is held, as one release has it: the number of its level, and how it splits the attributes."""

    level: int
    query: str
    ways: tuple[Ways, ...] | None
    counts: bool
    """Whether it counts records, and is no sum of values: only then it tells the cell of a record."""


class DataSetPairs:
    """Releases, what is held exact beside them, and the accounts of what then tells data sets apart.

    >>> from discreet.budget import load
    >>> compared = DataSetPairs([load("pl94-2020-persons")], exact=["State:total"])
    >>> compared.fixed(0, ("US",), "total"), compared.fixed(0, ("County",), "total")
    (True, False)
    """

    def __init__(
        self,
        releases: Sequence[Release],
        *,
        neighbours: Neighbours | None = None,
        people: int = 1,
        exact: Iterable[str | ExactCount | tuple[str, str]] = (),
        jobs: int = 1,
    ) -> None:
        self.releases, self.people, self.jobs = tuple(releases), people, jobs
        self.exact = tuple(dict.fromkeys(ExactCount.read(count) for count in exact))
        # checks the units, the relation and the number of people
        self.plain = (
            account(releases[0], neighbours=neighbours, people=people, jobs=jobs)
            if len(self.releases) == 1
            else portfolio(releases, neighbours=neighbours, people=people, jobs=jobs)
        )
        self.neighbours: Neighbours = self.plain.neighbours
        self.held = self._read_held()
        self.is_one_record = people == 1 and not any(
            query.sensitivity > query.variable.bound
            for release in releases
            for level in release.levels
            for query in level.queries
        )
        self._splits: dict[tuple[int, str], tuple[Ways, ...] | None] = {}

    @property
    def told_apart(self) -> bool:
        """Whether an exact count tells the compared data sets apart with certainty."""
        is_counted = any(holding.counts for held in self.held for holding in held)
        return is_counted and self.neighbours == "unbounded"

    # -- the accounts ----------------------------------------------------------------------------------

    def whole(self) -> Account | None:
        """Everything published; None if no count is left that could differ."""
        if not self.exact:
            return self.plain
        if self.neighbours == "unbounded":
            return self.account(self.varies, paired=False)
        return self.account(self.varies, paired=True, reason=self._loose_pairs())

    def nobody(self) -> Account | None:
        """Everything published, against the counts without the person."""
        if not self.exact and self.neighbours == "unbounded":
            return self.plain
        return self.account(self.varies, paired=False)

    def main_only(self, whole: Account) -> Account:
        """The account of the main case alone, which bounds nothing."""
        return whole.only_main()

    def account(self, keeps: Keeps, *, paired: bool, copies: int = 1, reason: str = "") -> Account | None:
        """The account of the queries that may differ, each counted `copies` times on every path."""
        single = len(self.releases) == 1
        every = (
            cases(self.releases[0], "unbounded", self.people)
            if single
            else joint_cases(self.releases, "unbounded", self.people)
        )
        groups = [self._kept(group, keeps, copies) for group in every.groups]
        left = tuple(group for group in groups if group is not None)
        if not left:
            return None
        claim = self.plain.claim
        if reason:
            claim = claim.weakened(AnswerKind.BOUND, reason)
        made = Cases(_numbered(left, single=single), paired, single=single)
        relation: Neighbours = "bounded" if paired else "unbounded"
        main = made.label(made.main)
        about = (self.plain.name, self.plain.unit, relation, made, main, self.people, self.jobs)
        return Account(*about, stated=claim, every=made)

    def _kept(self, group: PathGroup, keeps: Keeps, copies: int) -> PathGroup | None:
        """The paths of a spine with the events that are left; paths without any tell nothing."""
        numbers: list[tuple[int, ...]] = []
        events: list[tuple[Noise, ...]] = []
        main = 0
        for position, path in enumerate(group.numbers):
            own: list[Noise] = []
            for member, number in zip(group.members, path, strict=True):
                release = self.releases[member]
                for run in release.runs(number):
                    for row in release.run_table(run):
                        if keeps(member, run, row.query):
                            event = row.event.for_people(self.people)
                            own.append(event)
                            # a record leaves one cell for another: there the hypotheses are exchanged
                            own += [event.exchanged()] * (copies - 1)
            if own:
                main = len(numbers) if position == group.main else main
                numbers.append(path)
                events.append(grouped(own))
        return PathGroup(group.members, tuple(numbers), tuple(events), main) if numbers else None

    # -- what is held exact ----------------------------------------------------------------------------

    def varies(self, member: int, run: tuple[str, ...], query: str) -> bool:
        """Whether a query may differ between two data sets that agree on what is held exact."""
        return not self.fixed(member, run, query)

    def fixed(self, member: int, run: tuple[str, ...], query: str) -> bool:
        """Whether what is held exact determines a query of a run of levels."""
        held = self.held[member]
        names = [level.name for level in self.releases[member].levels]
        below = [holding for holding in held if holding.level >= names.index(run[0])]
        if any(holding.query == query for holding in below):
            return True
        counting = [holding for holding in below if holding.counts]
        if not counting or not _counts_records(self.releases[member], query):
            return False
        # every query counts each record, so that its cells add up to the total
        if query == TOTAL:
            return True
        ways = self.ways(member, query)
        if ways is None:
            return False
        if not self.is_one_record:
            return any(_determines([holding.ways], ways) for holding in counting if holding.ways is not None)
        return _determines(
            [holding.ways for holding in held if holding.counts and holding.ways is not None], ways
        )

    def _read_held(self) -> tuple[tuple[_HeldIn, ...], ...]:
        by_release: list[list[_HeldIn]] = [[] for _ in self.releases]
        for held in self.exact:
            problems = []
            for member, release in enumerate(self.releases):
                names = [level.name for level in release.levels]
                level = find_level(held.level, names)
                if level is None:
                    problems.append(f"{release.name} has the levels {', '.join(names)}")
                    continue
                ways, problem = _held_ways(release, held.query)
                if problem:
                    problems.append(problem)
                else:
                    is_counted = _counts_records(release, held.query)
                    by_release[member].append(_HeldIn(names.index(level), held.query, ways, is_counted))
            if len(problems) == len(self.releases):
                raise InputError(f"held exact is {held}, which no release has: {'; '.join(problems)}")
        return tuple(map(tuple, by_release))

    def _loose_pairs(self) -> str:
        """Why the pairs of paths that are compared may be more than those that agree on what is held."""
        if not all(self.held):
            return "A release has no such level, so that all its counts are taken as able to differ."
        for release, held in zip(self.releases, self.held, strict=True):
            lowest = max((holding.level for holding in held if holding.counts), default=-1)
            names = [level.name for level in release.levels]
            # records of one area have the runs of levels down to it in common
            tops = {
                tuple(run for run in release.runs(path) if names.index(run[0]) <= lowest)
                for path in release.paths
            }
            if len(tops) > 1:
                return "Pairs of paths are compared too whose records cannot agree on what is held exact."
        return ""

    # -- one attribute ---------------------------------------------------------------------------------

    def ways(self, member: int, query: str) -> tuple[Ways, ...] | None:
        """How a query of a release splits each attribute; None if the release does not say."""
        if (member, query) not in self._splits:
            attributes = self.releases[member].attributes
            split = None if attributes is None else _ways(attributes.tabulation(query))
            self._splits[member, query] = split
        return self._splits[member, query]

    def is_seen_throughout(self, attribute: str) -> bool:
        """Whether every release says what it sees of the attribute."""
        return all(self.place_of(member, attribute) is not None for member in range(len(self.releases)))

    @property
    def attributes(self) -> dict[str, tuple[str, ...]]:
        """All attributes of the releases with their values; of two with one name, the first."""
        by_name: dict[str, tuple[str, ...]] = {}
        for release in self.releases:
            for name, values in release.attributes.values if release.attributes else ():
                by_name.setdefault(name, values)
        return by_name

    def place_of(self, member: int, attribute: str) -> int | None:
        """The number of an attribute in a release that has it, with the same values."""
        own = self.releases[member].attributes
        if own is None or attribute not in own.names:
            return None
        position = own.names.index(attribute)
        return position if own.values[position][1] == self.attributes[attribute] else None

    def changes(self, attribute: str) -> list[Keeps]:
        """Return, for each kind of change that most queries see, which queries those are.

        An empty list means that every change alters a count that is held exact.
        """
        places = [self.place_of(member, attribute) for member in range(len(self.releases))]
        kinds: dict[Ways, None] = {}
        held: dict[Ways, None] = {}
        for member, (release, position) in enumerate(zip(self.releases, places, strict=True)):
            if position is not None:
                for query in {query.name for level in release.levels for query in level.queries}:
                    split = self.ways(member, query)
                    assert split is not None
                    kinds[split[position]] = None
                if self.is_one_record:
                    held |= {
                        holding.ways[position]: None
                        for holding in self.held[member]
                        if holding.counts and holding.ways is not None
                    }
        seen = _largest_sets(list(kinds), list(held), len(self.attributes[attribute]))
        return [self._seeing(places, frozenset(ways)) for ways in seen]

    def _seeing(self, places: Sequence[int | None], seen: frozenset[Ways]) -> Keeps:
        named: set[str] = set()
        for release, number in zip(self.releases, places, strict=True):
            if number is not None and release.attributes is not None:
                named |= set(release.attributes.names)

        def keeps(member: int, run: tuple[str, ...], query: str) -> bool:
            if self.fixed(member, run, query):
                return False
            split, position = self.ways(member, query), places[member]
            if split is None:
                return True
            if position is not None:
                return split[position] in seen
            # what only this release has may be another name for the attribute: age and voting age
            own = self.releases[member].attributes
            assert own is not None
            return any(max(way) > 0 for name, way in zip(own.names, split, strict=True) if name not in named)

        return keeps


def _numbered(groups: tuple[PathGroup, ...], *, single: bool) -> tuple[PathGroup, ...]:
    """The groups with members numbered without gaps, as labels of cases need them."""
    if single:
        return groups
    order = sorted(member for group in groups for member in group.members)
    return tuple(replace(g, members=tuple(order.index(member) for member in g.members)) for g in groups)


def _ways(table: Tabulation) -> tuple[Ways, ...]:
    """The group of each value of each attribute; values that no group has are together."""
    ways = []
    for groups, size in zip(table.by_attribute, table.sizes, strict=True):
        way = [len(groups)] * size
        for number, members in enumerate(groups):
            for value in members:
                way[value] = number
        ways.append(tuple(way))
    return tuple(ways)


def _held_ways(release: Release, query: str) -> tuple[tuple[Ways, ...] | None, str]:
    """How a query splits the attributes of a release, and what is wrong with it."""
    if release.attributes is not None:
        try:
            return _ways(release.attributes.tabulation(query)), ""
        except FieldError as error:
            return None, str(error)
    known = dict.fromkeys(released.name for level in release.levels for released in level.queries)
    if query == TOTAL or query in known:
        return None, ""
    return None, f"{release.name} states no attributes, and has the queries {', '.join(known)}"


def _counts_records(release: Release, query: str) -> bool:
    """Whether a query counts records, each as one, and does not add up values or weights."""
    variable = release.variables.get(query)
    if variable is not None:
        return variable.column is None and variable.weight is None
    if release.attributes is None:
        return query == TOTAL and release.weight is None
    return not release.attributes.tabulation(query).variable and release.weight is None


def _determines(held: Sequence[tuple[Ways, ...]], asked: tuple[Ways, ...]) -> bool:
    """Whether agreeing on what is held means agreeing on what is asked, attribute by attribute."""
    return bool(held) and all(
        _is_function([ways[axis] for ways in held], way) for axis, way in enumerate(asked)
    )


def _is_function(given: Sequence[Sequence[Hashable]], wanted: Sequence[Hashable]) -> bool:
    images: dict[tuple[Hashable, ...], Hashable] = {}
    return all(
        images.setdefault(key, image) == image
        for key, image in zip(zip(*given, strict=True), wanted, strict=True)
    )


def _largest_sets(kinds: Sequence[Ways], held: Sequence[Ways], size: int) -> list[set[Ways]]:
    """The largest sets of ways to split an attribute that tell two of its values apart.

    Only pairs of values count that no held way tells apart.

    >>> coarse, fine = (0, 0, 1), (0, 1, 2)
    >>> [len(split) for split in _largest_sets([coarse, fine], [], 3)]
    [2]
    >>> _largest_sets([coarse, fine], [coarse], 3) == [{fine}]
    True
    >>> _largest_sets([coarse], [fine], 3)
    []
    """
    classes: dict[tuple[int, ...], int] = {}
    fine = [way for way in kinds if len(set(way)) == size]
    others = [way for way in kinds if len(set(way)) < size]
    for value in range(size):
        key = tuple(way[value] for way in (*others, *held))
        classes[key] = classes.get(key, 0) + 1
    if len(classes) > _MOST_CLASSES:
        return [set(kinds)]
    splits: set[frozenset[int]] = set()
    many = len(others)
    for first, second in combinations(classes, 2):
        if first[many:] == second[many:]:
            splits.add(frozenset(k for k in range(many) if first[k] != second[k]))
    if not splits and any(often > 1 for often in classes.values()):
        splits.add(frozenset())
    largest = [split for split in splits if not any(split < other for other in splits)]
    return [{others[k] for k in split} | set(fine) for split in sorted(largest, key=sorted)]
