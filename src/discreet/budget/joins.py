"""Tables over two files of records: people, with the attributes of the households that they live in.

A table counts people or households of a universe (`where`), split by attributes and by maps that may have no
cell for a record. Of a household it counts at most so many people (`at_most`): a household then adds a vector
of whole numbers, none below zero, whose sum is at most that. So replacing a household by another takes at
most `at_most` away from some cells, and puts at most `at_most` into others. That one cell loses them all, and
another gets them all, is the worst case for every noise whose law is log-concave: see
`docs/explanation/joins.md`. It is what an account of bounded neighbours compares, with `at_most` as the
sensitivity of the query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from discreet.budget.attributes import ALL, JOIN, as_runs, from_runs, spelled_values
from discreet.budget.toml import (
    FieldError,
    a_list,
    a_table,
    hint,
    inside,
    line,
    no_repeats,
    one_of,
    quoted,
    whole_number,
)
from discreet.memory import Forgetful, set_fields
from discreet.numbers import shown

PEOPLE, HOUSEHOLDS, ADDRESSES = "people", "households", "addresses"
FILES = (PEOPLE, HOUSEHOLDS, ADDRESSES)
"""The files of a join: the last is public, and need not be there."""

LEAVE_OUT, REFUSE = "leave_out", "refuse"
AREA = "unit"
"""The column of the lowest area."""

MOST_COMBINATIONS = 10**7
"""Combinations of values that one split may look at."""

Values = tuple[tuple[str, tuple[str, ...]], ...]
"""Attributes with their values."""

Condition = tuple[tuple[str, tuple[str, ...]], ...]
"""Attributes and the values that they may have; nothing is asked of others."""


@dataclass(frozen=True, slots=True)
class Split:
    """Cells by conditions on attributes; a record that meets none of them is in no cell, or is refused."""

    cells: tuple[tuple[str, tuple[Condition, ...]], ...]
    otherwise: str = LEAVE_OUT

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that decide."""
        named = (name for _, boxes in self.cells for box in boxes for name, _ in box)
        return tuple(dict.fromkeys(named))


@dataclass(frozen=True, slots=True)
class JoinedTable:
    """What a table counts: people or households, of which universe, how many of a household, by what.

    With `above`, that many people of each household are passed over, and at most `at_most` of the others are
    counted: what a limit of `above` takes away.
    """

    of: str = PEOPLE
    where: Condition = ()
    at_most: int | None = None
    by: tuple[str, ...] = ()
    above: int = 0

    @property
    def bound(self) -> int:
        """How much one household (without a limit: one person) adds at most to one cell."""
        return 1 if self.at_most is None else self.at_most


@dataclass(frozen=True, slots=True)
class AverageOf:
    """An average: the people of one table for each household of another, and the least that it can be."""

    people: str
    households: str
    at_least: int = 0


@dataclass(frozen=True, slots=True)
class ContentOrder:
    """Columns whose SHA-256 orders the people of a household; those of `integers` are hashed as numbers."""

    columns: tuple[str, ...]
    integers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, init=False)
class Join(Forgetful):
    """Files of records with a key that they share, and the tables that are counted over them.

    `people` and `households` are attributes with their values; `addresses`, if there is such a file, is
    public and says where each household is. `located` says which of the addresses count. A household whose
    key is `repeated` is refused, or left out with its people. With an `order`, the limit keeps the people
    whose SHA-256 comes first; without one, a secret key makes the order.

    >>> join = Join(key="address", people={"age": ["0-17", "18+"]}, households={"tenure": ["own", "rent"]},
    ...     tables={"people by tenure": JoinedTable(at_most=10, by=("tenure",))})
    >>> join.labels("people by tenure"), join.table("people by tenure").bound
    (('own', 'rent'), 10)
    """

    key: str
    people: Values
    households: Values
    addresses: Values | None
    located: Condition
    repeated: str
    order: ContentOrder | None
    splits: tuple[tuple[str, Split], ...]
    tables: tuple[tuple[str, JoinedTable], ...]
    averages: tuple[tuple[str, AverageOf], ...]

    def __init__(
        self,
        *,
        key: str,
        people: Mapping[str, Iterable[str] | int] | Values,
        households: Mapping[str, Iterable[str] | int] | Values,
        addresses: Mapping[str, Iterable[str] | int] | Values | None = None,
        located: Condition = (),
        repeated: str = REFUSE,
        order: ContentOrder | None = None,
        splits: Mapping[str, Split] | Iterable[tuple[str, Split]] = (),
        tables: Mapping[str, JoinedTable] | Iterable[tuple[str, JoinedTable]],
        averages: Mapping[str, AverageOf] | Iterable[tuple[str, AverageOf]] = (),
    ) -> None:
        given = {PEOPLE: people, HOUSEHOLDS: households, ADDRESSES: addresses}
        made: dict[str, Values | None] = {}
        for name, one in given.items():
            with inside(name, "attributes"):
                made[name] = None if one is None else spelled_values(dict(one))
        set_fields(
            self,
            key=line(key, name="key of the households", field=(HOUSEHOLDS, "key")),
            **made,
            located=located,
            repeated=one_of(repeated, (REFUSE, LEAVE_OUT), name="repeated", field=(HOUSEHOLDS, "repeated")),
            order=order,
            splits=tuple(dict(splits).items()),
            tables=tuple(dict(tables).items()),
            averages=tuple(dict(averages).items()),
        )
        self._check_names()
        with inside(ADDRESSES, "where"):
            self._check_condition(located, (ADDRESSES,))
        for name, split in self.splits:
            with inside("splits", name):
                self._check_split(name, split)
        if not self.tables:
            raise FieldError("there are no tables; there must be at least one", field=("tables",))
        for name, table in self.tables:
            with inside("tables", name):
                self._check_table(name, table)
        for name, average in self.averages:
            with inside("averages", name):
                self._check_average(name, average)
        if order is not None:
            with inside(PEOPLE, "order"):
                self._check_order(order)

    @cached_property
    def values(self) -> dict[str, tuple[str, ...]]:
        """The values of each attribute, whichever file it is in."""
        files = (self.people, self.households, self.addresses or ())
        return {name: values for file in files for name, values in file}

    def file_of(self, attribute: str) -> str:
        """Return the file that an attribute is in."""
        return next(file for file in FILES if attribute in dict(getattr(self, file) or ()))

    def table(self, name: str) -> JoinedTable:
        """Return a table by its name."""
        return dict(self.tables)[name]

    def factors(self, name: str) -> tuple[Split, ...]:
        """Return what a table is split by: an attribute alone is a split, too."""
        return tuple(self.split(attribute) for attribute in self.table(name).by)

    def split(self, name: str) -> Split:
        """Return a split by its name, which may be that of an attribute."""
        known = dict(self.splits)
        if name in known:
            return known[name]
        return Split(tuple((value, (((name, (value,)),),)) for value in self.values[name]))

    def labels(self, name: str) -> tuple[str, ...]:
        """Return the names of the cells of a table, the last factor changing fastest."""
        words = [[label for label, _ in split.cells] for split in self.factors(name)]
        return tuple(JOIN.join(cell) for cell in product(*words)) if words else (ALL,)

    def uses(self, name: str) -> frozenset[str]:
        """Return the attributes that decide where a record is counted in a table."""
        splits = (attribute for split in self.factors(name) for attribute in split.attributes)
        return frozenset([*splits, *(attribute for attribute, _ in self.table(name).where)])

    @property
    def is_one_table(self) -> bool:
        """Whether there is one table, of several cells: one household can change it as much as it may."""
        return len(self.tables) == 1 and len(self.labels(self.tables[0][0])) > 1

    def is_about_people_alone(self, name: str) -> bool:
        """Whether a table counts people by what they say of themselves, and of a household as many as it has.

        Then one person is counted once, and nobody else's household matters.
        """
        table = self.table(name)
        files = {self.file_of(attribute) for attribute in self.uses(name)}
        return table.of == PEOPLE and table.at_most is None and HOUSEHOLDS not in files

    def check_unit(self, unit: str) -> None:
        """Check that tables are limited as the protection of a unit asks for."""
        for name, table in self.tables:
            with inside("tables", name):
                if unit == "person" and not self.is_about_people_alone(name):
                    raise FieldError(
                        f"table {shown(name)} counts households, or people by attributes of their household, "
                        "which one person can change for all who live there; such a release protects a "
                        'household: say unit = "household"'
                    )
                if unit != "person" and table.of == PEOPLE and table.at_most is None:
                    raise FieldError(
                        f"table {shown(name)} states no at_most; without a limit on the people of a "
                        f"{unit}, no noise protects it"
                    )

    # -- checks ----------------------------------------------------------------------------------------------

    def _check_names(self) -> None:
        names = [*self.values, *(name for name, _ in self.splits)]
        every = [name for file in FILES for name, _ in getattr(self, file) or ()]
        no_repeats([*every, *(name for name, _ in self.splits)], name="the join", field=("splits",))
        for name in names:
            if name in (self.key, AREA):
                raise FieldError(f"{shown(name)} is the key or the area, and an attribute or a split")

    def _check_condition(self, condition: Condition, files: Sequence[str]) -> None:
        known = [name for file in files for name, _ in getattr(self, file) or ()]
        no_repeats([name for name, _ in condition], name="a condition", field=())
        for name, words in condition:
            with inside(name):
                if name not in known:
                    near = hint(name, known) or f"; there are {', '.join(map(shown, known))}"
                    raise FieldError(f"a condition names {shown(name)}, which is not an attribute{near}")
                for word in words:
                    if word not in self.values[name]:
                        near = hint(word, self.values[name])
                        raise FieldError(f"{shown(name)} does not have the value {shown(word)}{near}")
                if not words:
                    raise FieldError(f"a condition on {shown(name)} has no values; no record would meet it")

    def _check_split(self, name: str, split: Split) -> None:
        one_of(split.otherwise, (LEAVE_OUT, REFUSE), name="otherwise", field=("otherwise",))
        if not split.cells:
            raise FieldError(f"split {shown(name)} has no cells")
        met: list[tuple[str, Condition]] = []
        for label, boxes in split.cells:
            line(label, name="name of a cell", field=(label,))
            with inside(label):
                for box in boxes:
                    self._check_condition(box, FILES)
                    for other, before in met:
                        if _overlap(dict(box), dict(before)):
                            both = shown(label) if other == label else f"{shown(other)} and {shown(label)}"
                            raise FieldError(
                                f"a record can meet two conditions of split {shown(name)}, in {both}; each "
                                "record must be in one cell at most"
                            )
                    met.append((label, box))
        if (many := prod(len(self.values[attribute]) for attribute in split.attributes)) > MOST_COMBINATIONS:
            raise FieldError(
                f"split {shown(name)} looks at {many} combinations of values; at most {MOST_COMBINATIONS} "
                "are allowed: make two splits of it"
            )

    def _check_table(self, name: str, table: JoinedTable) -> None:
        one_of(table.of, (PEOPLE, HOUSEHOLDS), name="of", field=("of",))
        if table.at_most is not None:
            whole_number(table.at_most, name="at_most", field=("at_most",))
            if table.of == HOUSEHOLDS:
                raise FieldError("at_most limits the people of a household; this table counts households")
        if table.above and table.at_most is None:
            raise FieldError(
                f"table {shown(name)} counts people above {table.above} of a household; it must state "
                "at_most, how many of those",
                field=("above",),
            )
        splits, attributes = dict(self.splits), self.values
        for attribute in table.by:
            if attribute not in splits and attribute not in attributes:
                known = [*splits, *attributes]
                near = hint(attribute, known) or f"; there are {', '.join(map(shown, known))}"
                raise FieldError(
                    f"table {shown(name)} is split by {shown(attribute)}, which is neither a split nor an "
                    f"attribute{near}",
                    field=("by",),
                )
        no_repeats(table.by, name=f"table {shown(name)}", field=("by",))
        with inside("where"):
            self._check_condition(table.where, FILES if table.of == PEOPLE else FILES[1:])
        if table.of == HOUSEHOLDS:
            for attribute in self.uses(name):
                if self.file_of(attribute) == PEOPLE:
                    counted = f"table {shown(name)} counts households"
                    text = f"{counted}, but {shown(attribute)} is an attribute of people"
                    raise FieldError(text, field=("by",))

    def _check_average(self, name: str, average: AverageOf) -> None:
        known = dict(self.tables)
        for key, of in (("people", PEOPLE), ("households", HOUSEHOLDS)):
            table = getattr(average, key)
            if table not in known or known[table].of != of:
                due = [counted for counted, other in self.tables if other.of == of]
                near = hint(table, due) or f"; there are {', '.join(map(shown, due)) or 'none'}"
                text = f"average {shown(name)} names {shown(table)}, which is no table of {of}{near}"
                raise FieldError(text, field=(key,))
        people = known[average.people]
        if people.at_most is None or people.above:
            text = f"average {shown(name)} is of a table without a limit on the people of a household"
            raise FieldError(text, field=("people",))
        if not 0 <= average.at_least < people.at_most:
            text = (
                f"at_least of average {shown(name)} is {average.at_least}; it must lie below {people.at_most}"
            )
            raise FieldError(text, field=("at_least",))
        if missing := [attribute for attribute in known[average.households].by if attribute not in people.by]:
            raise FieldError(
                f"average {shown(name)}: households are split by {shown(missing[0])}, and people are not",
                field=("households",),
            )

    def _check_order(self, order: ContentOrder) -> None:
        known = (self.key, *dict(self.people))
        no_repeats(order.columns, name="order", field=())
        for name in (*order.columns, *order.integers):
            if name not in known:
                raise FieldError(f"order names {shown(name)}, which people do not have{hint(name, known)}")
        if missing := [name for name in known if name not in order.columns]:
            text = f"order leaves out {', '.join(map(shown, missing))}; people who differ must have an order"
            raise FieldError(text)


def _overlap(one: Mapping[str, Iterable[str]], other: Mapping[str, Iterable[str]]) -> bool:
    """Whether a record can meet both conditions."""
    return all(set(one[name]) & set(other[name]) for name in one if name in other)


# -- TOML ----------------------------------------------------------------------------------------------------

JOIN_KEYS = (PEOPLE, HOUSEHOLDS, ADDRESSES, "splits", "tables", "averages")
_FILE_KEYS = {
    PEOPLE: ("attributes", "order"),
    HOUSEHOLDS: ("key", "attributes", "repeated"),
    ADDRESSES: ("attributes", "where"),
}


def read_join(data: Mapping[str, object]) -> Join:
    """Read the tables `[people]`, `[households]`, `[addresses]`, `[splits]` and `[tables]` of a release."""
    given = next(key for key in JOIN_KEYS if key in data)
    for key in (PEOPLE, HOUSEHOLDS, "tables"):
        if key not in data:
            raise FieldError(f"a release with [{given}] needs [{key}], too", field=(given,))
    files, attributes = {}, dict[str, Mapping[str, Iterable[str] | int] | None]()
    for file, keys in _FILE_KEYS.items():
        with inside(file):
            needed = ("key",) if file == HOUSEHOLDS else ()
            table = a_table(data.get(file, {}), f"[{file}]", keys, needed=needed)
            files[file] = table
            stated = None if file == ADDRESSES and file not in data else table.get("attributes", {})
            attributes[file] = stated if stated is None else _attributes(stated, file)
    known = {name: values for one in attributes.values() for name, values in (one or {}).items()}
    spelled = dict(spelled_values(known))
    splits, tables = {}, {}
    with inside("splits"):
        for name, split in a_table(data.get("splits", {}), "[splits]").items():
            with inside(name):
                splits[name] = _read_split(split, name, spelled)
    with inside("tables"):
        for name, table in a_table(data["tables"], "[tables]").items():
            with inside(name):
                tables[name] = _read_table(table, name, spelled)
    averages = {}
    with inside("averages"):
        for name, average in a_table(data.get("averages", {}), "[averages]").items():
            with inside(name):
                averages[name] = _read_average(average, name)
    with inside(ADDRESSES, "where"):
        located = _condition(files[ADDRESSES].get("where", {}), spelled)
    with inside(PEOPLE, "order"):
        order = _read_order(files[PEOPLE].get("order"))
    return Join(
        key=files[HOUSEHOLDS]["key"],
        people=attributes[PEOPLE] or {},
        households=attributes[HOUSEHOLDS] or {},
        addresses=attributes[ADDRESSES],
        located=located,
        repeated=files[HOUSEHOLDS].get("repeated", REFUSE),
        order=order,
        splits=splits,
        tables=tables,
        averages=averages,
    )


def _attributes(data: object, file: str) -> dict[str, Iterable[str] | int]:
    with inside("attributes"):
        table = a_table(data, f"attributes of [{file}]")
        for name, values in table.items():
            if not isinstance(values, list | int) or isinstance(values, bool):
                text = f"attribute {shown(name)} is {shown(values)}; it must be a list of values, or a number"
                raise FieldError(text, field=(name,))
    return dict(table)


def _condition(data: object, known: Mapping[str, Sequence[str]]) -> Condition:
    met = []
    for name, words in a_table(data, "a condition").items():
        with inside(name):
            texts = [words] if isinstance(words, str) else words
            if not isinstance(texts, list) or not all(isinstance(word, str) for word in texts):
                text = f"{shown(name)} is {shown(words)}; it must be a value, or a list of values, in quotes"
                raise FieldError(text)
            met.append((name, tuple(from_runs(texts, known.get(name, ())))))
    return tuple(met)


def _read_split(data: object, name: str, known: Mapping[str, Sequence[str]]) -> Split:
    cells, otherwise = [], LEAVE_OUT
    for label, value in a_table(data, f"split {shown(name)}").items():
        with inside(label):
            if label == "otherwise" and isinstance(value, str):
                otherwise = value
                continue
            boxes = value if isinstance(value, list) else [value]
            cells.append((label, tuple(_condition(box, known) for box in boxes)))
    return Split(tuple(cells), otherwise)


def _read_table(data: object, name: str, known: Mapping[str, Sequence[str]]) -> JoinedTable:
    table = a_table(data, f"table {shown(name)}", ("of", "where", "above", "at_most", "by"))
    by = line(table.get("by", ""), name="by", field=("by",), empty=True)
    most, above = table.get("at_most"), table.get("above")
    with inside("where"):
        where = _condition(table.get("where", {}), known)
    return JoinedTable(
        of=table.get("of", PEOPLE),
        where=where,
        at_most=None if most is None else whole_number(most, name="at_most", field=("at_most",)),
        by=tuple(part.strip() for part in by.split(JOIN.strip())) if by.strip() else (),
        above=0 if above is None else whole_number(above, name="above", field=("above",)),
    )


def _read_average(data: object, name: str) -> AverageOf:
    who = f"average {shown(name)}"
    table = a_table(data, who, ("people", "households", "at_least"), needed=("people", "households"))
    for key in ("people", "households"):
        line(table[key], name=f"{key} of {who}", field=(key,))
    least = table.get("at_least", 0)
    if least != 0:
        least = whole_number(least, name=f"at_least of {who}", field=("at_least",))
    return AverageOf(table["people"], table["households"], least)


def _read_order(data: object) -> ContentOrder | None:
    if data is None or data == "secret":
        return None
    table = a_table(data, "order", ("sha256", "integers"), needed=("sha256",))
    columns = a_list(table["sha256"], "sha256", "columns")
    return ContentOrder(tuple(columns), tuple(a_list(table.get("integers", []), "integers", "columns")))


def join_lines(join: Join) -> Iterator[str]:
    """Yield the lines of a release's TOML about the join, from which `read_join` makes an equal one."""
    known = join.values
    yield from ("", "[people]")
    if join.order is not None:
        integers = f", integers = {quoted(join.order.integers)}" if join.order.integers else ""
        yield f"order = {{ sha256 = {quoted(join.order.columns)}{integers} }}"
    yield from _attribute_lines(PEOPLE, join.people)
    yield from ("", "[households]", f"key = {quoted(join.key)}")
    if join.repeated != REFUSE:
        yield f"repeated = {quoted(join.repeated)}"
    yield from _attribute_lines(HOUSEHOLDS, join.households)
    if join.addresses is not None:
        yield from ("", "[addresses]")
        if join.located:
            yield f"where = {_condition_text(join.located, known)}"
        yield from _attribute_lines(ADDRESSES, join.addresses)
    for name, split in join.splits:
        yield from ("", f"[splits.{quoted(name)}]")
        if split.otherwise != LEAVE_OUT:
            yield f"otherwise = {quoted(split.otherwise)}"
        for label, boxes in split.cells:
            text = ", ".join(_condition_text(box, known) for box in boxes)
            yield f"{quoted(label)} = {text if len(boxes) == 1 else f'[{text}]'}"
    for name, table in join.tables:
        yield from ("", f"[tables.{quoted(name)}]")
        if table.of != PEOPLE:
            yield f"of = {quoted(table.of)}"
        if table.where:
            yield f"where = {_condition_text(table.where, known)}"
        if table.above:
            yield f"above = {table.above}"
        if table.at_most is not None:
            yield f"at_most = {table.at_most}"
        if table.by:
            yield f"by = {quoted(JOIN.join(table.by))}"
    for name, average in join.averages:
        yield from ("", f"[averages.{quoted(name)}]", f"people = {quoted(average.people)}")
        yield f"households = {quoted(average.households)}"
        if average.at_least:
            yield f"at_least = {average.at_least}"


def _attribute_lines(file: str, values: Values) -> Iterator[str]:
    if values:
        yield f"[{file}.attributes]"
    for name, words in values:
        numbered = words == tuple(map(str, range(len(words))))
        yield f"{quoted(name)} = {len(words) if numbered else quoted(words)}"


def _condition_text(condition: Condition, known: Mapping[str, Sequence[str]]) -> str:
    parts = (f"{quoted(name)} = {quoted(as_runs(words, known[name]))}" for name, words in condition)
    return f"{{ {', '.join(parts)} }}" if condition else "{}"
