"""What the records say: attributes with their values, recodes that group them, and queries as products.

A query is a text such as `"hispanic * cenrace"`: the product of attributes and recodes. `"total"`
is the product of nothing and `"detailed"` that of all attributes. Each attribute enters a query in one of
three ways: in full (each value separately), not at all (all values together), or by a recode (some values
together). `"hours by sex"` sums another variable than the counts of the release. To estimates, what is added
up is one more attribute, which every query splits and takes one value of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from discreet.budget.toml import FieldError, a_table, hint, inside, line, no_repeats, quoted, whole_number
from discreet.budget.toml_lines import Place
from discreet.budget.variables import BY, COUNT, Variable
from discreet.memory import Forgetful, set_fields
from discreet.numbers import shown

TOTAL, DETAILED = "total", "detailed"
"""The queries that exist whatever the attributes are called."""

JOIN = " * "
"""Joins the factors of a query, and the values of a cell."""

ALL = "all"
"""The one cell of the total."""

MOST_VALUES = 100_000
MOST_CELLS = 10**9

_RESERVED = re.compile(r"[*\[\]=|]")

Groups = tuple[tuple[int, ...], ...]
"""Disjoint groups of the numbers of an attribute's values: one row of the query each."""


@dataclass(frozen=True, slots=True)
class Recode:
    """Groups of the values of one attribute, each value in exactly one: a coarser attribute.

    >>> Recode("age", {"child": ["0-17"], "adult": ["18-64", "65+"]}).groups[1]
    ('adult', ('18-64', '65+'))
    """

    of: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]

    def __init__(self, of: str, groups: Mapping[str, Iterable[str]]) -> None:
        set_fields(self, of=of, groups=tuple((name, tuple(values)) for name, values in groups.items()))


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of a query: which attribute, its groups of values, and what each is called."""

    attribute: int
    groups: Groups
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Tabulation(Forgetful):
    """A query as a table: one factor for each attribute that it splits, in the order of writing.

    `variable` is the number of what it adds up, among so many `variables`; None: each of them.

    >>> sexes = Attributes({"sex": ["f", "m"], "age": ["0-17", "18+"]})
    >>> table = sexes.tabulation("age * sex")
    >>> table.cells, list(table.labels)
    (4, ['0-17 * f', '0-17 * m', '18+ * f', '18+ * m'])
    """

    name: str
    factors: tuple[Factor, ...]
    sizes: tuple[int, ...]
    variable: int | None = 0
    variables: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of groups of each factor, as written."""
        return tuple(len(factor.groups) for factor in self.factors)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return prod(self.shape) * (self.variables if self.variable is None else 1)

    @property
    def labels(self) -> Iterator[str]:
        """The names of the cells, the last factor changing fastest; the total's is `all`."""
        if not self.factors:
            return iter((ALL,))
        return (JOIN.join(words) for words in product(*(factor.labels for factor in self.factors)))

    @cached_property
    def by_attribute(self) -> tuple[Groups, ...]:
        """The groups of each attribute: one group of all its values if the query does not split it."""
        split = {factor.attribute: factor.groups for factor in self.factors}
        return tuple(split.get(number, (tuple(range(size)),)) for number, size in enumerate(self.sizes))

    @cached_property
    def axes(self) -> tuple[Groups, ...]:
        """The groups of each attribute, and last of the variables, if there are several."""
        if self.variables == 1:
            return self.by_attribute
        chosen = range(self.variables) if self.variable is None else (self.variable,)
        return (*self.by_attribute, tuple((number,) for number in chosen))

    def is_full(self, attribute: int) -> bool:
        """Whether each value of the attribute is counted separately."""
        return len(self.by_attribute[attribute]) == self.sizes[attribute]

    @property
    def is_covering(self) -> bool:
        """Whether each record is in some cell, so that the cells add up to the total."""
        pairs = zip(self.by_attribute, self.sizes, strict=True)
        return all(sum(map(len, groups)) == size for groups, size in pairs)


@dataclass(frozen=True)
class Attributes(Forgetful):
    """Attributes with their values, recodes of them, and combinations of values that no record can have.

    >>> people = Attributes({"sex": ["f", "m"], "age": ["0-17", "18-64", "65+"]},
    ...     recodes={"adult": Recode("age", {"no": ["0-17"], "yes": ["18-64", "65+"]})})
    >>> people.cells, people.tabulation("adult * sex").shape
    (6, (2, 2))
    >>> people.tabulation("sex * aeg")
    Traceback (most recent call last):
    discreet.budget.toml.FieldError: query 'sex * aeg' names 'aeg', which is neither an attribute nor a \
recode; did you mean "age"?
    """

    values: tuple[tuple[str, tuple[str, ...]], ...]
    recodes: tuple[tuple[str, Recode], ...]
    impossible: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...]
    variables: tuple[Variable, ...] = (COUNT,)
    """What is added up: first what plain counts are."""

    def __init__(
        self,
        values: Mapping[str, Iterable[str] | int],
        recodes: Mapping[str, Recode] | None = None,
        impossible: Iterable[Mapping[str, Iterable[str]]] = (),
        variables: Iterable[Variable] = (COUNT,),
    ) -> None:
        set_fields(
            self,
            values=tuple((name, _values(name, given)) for name, given in values.items()),
            recodes=tuple((recodes or {}).items()),
            impossible=tuple(
                tuple((name, tuple(words)) for name, words in each.items()) for each in impossible
            ),
            variables=tuple(variables),
        )
        if not self.values:
            raise FieldError("attributes has no attribute; it must have at least one with its values")
        for name in [*values, *(recodes or {})]:
            _check_name(name)
        if prod(self.sizes) > MOST_CELLS:
            raise FieldError(
                f"the attributes have {prod(self.sizes)} cells; at most {MOST_CELLS} are allowed"
            )
        for name, recode in self.recodes:
            with inside(name):
                self._check_recode(name, recode)
        for number, combination in enumerate(self.impossible):
            with inside("impossible", number):
                self._check_combination(combination)
        for variable in self.variables:
            if variable.name and variable.name in self._factors:
                text = f"{shown(variable.name)} is an attribute or a recode, and is summed"
                raise FieldError(f"{text}; each name may be used once")

    def with_variables(self, variables: Iterable[Variable]) -> Attributes:
        """Return the attributes with what a release adds up, plain counts first."""
        variables = tuple(variables)
        if variables == self.variables:
            return self
        zeros = [dict(combination) for combination in self.impossible]
        return Attributes(dict(self.values), dict(self.recodes), zeros, variables)

    def detailed(self, variable: Variable) -> str:
        """Return the query of all attributes that adds up a variable."""
        return f"{variable.name}{BY}{DETAILED}" if variable.name else DETAILED

    @property
    def axes(self) -> tuple[int, ...]:
        """How many values each attribute has, and last how many variables there are, if there are several."""
        many = len(self.variables)
        return self.sizes if many == 1 else (*self.sizes, many)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes, recodes left out."""
        return tuple(name for name, _ in self.values)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each attribute has."""
        return tuple(len(values) for _, values in self.values)

    @property
    def cells(self) -> int:
        """The number of cells of the detailed table, impossible ones included."""
        return prod(self.sizes)

    def tabulation(self, query: str, *, sums: bool = False) -> Tabulation:
        """Read a query; with `sums`, a factor may be a sum of values in brackets, and a name may come first.

        >>> people = Attributes({"sex": ["f", "m"], "age": ["0-17", "18-64", "65+"]})
        >>> people.tabulation("adults by sex = sex * age[18-64 | 65+]", sums=True).cells
        2
        """
        name, text = query, query
        if sums and "=" in query:
            name, _, text = (part.strip() for part in query.partition("="))
        variable, text = self._variable(text.strip())
        among = variable, len(self.variables)
        if text.strip() == TOTAL:
            return Tabulation(name, (), self.sizes, *among)
        parts = self.names if text.strip() == DETAILED else [part.strip() for part in text.split("*")]
        factors = tuple(self._factor(part, query, sums) for part in parts)
        split = [factor.attribute for factor in factors]
        for attribute in split:
            if split.count(attribute) > 1:
                raise FieldError(
                    f"query {shown(query)} splits attribute {shown(self.names[attribute])} twice; each "
                    "attribute may be used once, directly or through one recode"
                )
        return Tabulation(name, factors, self.sizes, *among)

    def variable_of(self, query: str) -> Variable:
        """Return what a query adds up, by its name."""
        return self.variables[self._variable(query.rpartition("=")[2].strip())[0]]

    def _variable(self, text: str) -> tuple[int, str]:
        """Return the number of what a query adds up, and what it is split by."""
        for number, variable in enumerate(self.variables):
            if variable.name and text == variable.name:
                return number, TOTAL
            if variable.name and text.startswith(variable.name + BY):
                return number, text.removeprefix(variable.name + BY)
        return 0, text

    def zeros(self) -> tuple[Tabulation, ...]:
        """Return the combinations that no record can have, as tables of cells that are all zero."""
        return tuple(self.block(dict(combination), name="impossible") for combination in self.impossible)

    def block(self, values: Mapping[str, Iterable[str]], *, name: str) -> Tabulation:
        """Return the detailed cells with these values of some attributes, as a table."""
        chosen = {}
        for attribute, words in values.items():
            known = dict(self.values)[attribute]
            chosen[attribute] = [known.index(word) for word in words]
        factors = []
        for number, (attribute, known) in enumerate(self.values):
            ranks = chosen.get(attribute, range(len(known)))
            groups, labels = tuple((rank,) for rank in ranks), tuple(known[rank] for rank in ranks)
            factors.append(Factor(number, groups, labels))
        return Tabulation(name, tuple(factors), self.sizes, None, len(self.variables))

    def _factor(self, part: str, query: str, sums: bool) -> Factor:
        name, bracket, inner = (word.strip() for word in part.partition("["))
        if bracket and not sums:
            raise FieldError(
                f"query {shown(query)} has a sum of values in brackets; a release splits by recodes"
            )
        factor = self._factors.get(name)
        if factor is None:
            known = [*self._factors, TOTAL, DETAILED]
            raise FieldError(
                f"query {shown(query)} names {shown(name)}, which is neither an attribute nor a recode"
                + (hint(name, known) or f"; there are {_some(known)}")
            )
        if not bracket:
            return factor
        labels, groups = factor.labels, factor.groups
        if not inner.endswith("]"):
            raise FieldError(
                f"query {shown(query)} has a bracket that is not closed; a sum of values is written "
                f"{name}[{labels[0]}{f' | {labels[1]}' if len(labels) > 1 else ''}]"
            )
        words = [word.strip() for word in inner.removesuffix("]").split("|")]
        rows: list[int] = []
        for word in words:
            if word not in labels:
                raise FieldError(
                    f"query {shown(query)} names the value {shown(word)} of {shown(name)}, "
                    f"which has {_some(labels)}{hint(word, labels)}"
                )
            rows += groups[labels.index(word)]
        if len(set(rows)) < len(rows):
            raise FieldError(f"query {shown(query)} names a value of {shown(name)} twice")
        return Factor(factor.attribute, (tuple(sorted(rows)),), (" | ".join(words),))

    @cached_property
    def _factors(self) -> dict[str, Factor]:
        """What each attribute and each recode splits."""
        factors: dict[str, Factor] = {}
        for number, (name, values) in enumerate(self.values):
            factors[name] = Factor(number, tuple((rank,) for rank in range(len(values))), values)
        for name, recode in self.recodes:
            of = factors[recode.of]
            rank = {value: k for k, value in enumerate(of.labels)}
            groups = tuple(tuple(sorted(rank[value] for value in words)) for _, words in recode.groups)
            factors[name] = Factor(of.attribute, groups, tuple(label for label, _ in recode.groups))
        return factors

    def _check_recode(self, name: str, recode: Recode) -> None:
        values = dict(self.values)
        if name in values:
            raise FieldError(f"{shown(name)} is an attribute and a recode; each name may be used once")
        who = f"recode {shown(name)}"
        with inside("of"):
            self._check_is_attribute(recode.of, f"{who} is of")
        with inside("groups"):
            if not recode.groups:
                raise FieldError(f"{who} has no groups")
            seen: dict[str, str] = {}
            for label, words in recode.groups:
                _check_label(label, f"name of a group of {who}", ())
                with inside(label):
                    _check_values(words, values[recode.of], who, recode.of)
                    for word in words:
                        if word in seen:
                            raise FieldError(
                                f"{who} has the value {shown(word)} in {shown(seen[word])} and in "
                                f"{shown(label)}; each value must be in one group"
                            )
                        seen[word] = label
                    if not words:
                        raise FieldError(f"group {shown(label)} of {who} has no values")
            if left := [value for value in values[recode.of] if value not in seen]:
                raise FieldError(
                    f"{who} leaves out {_some(left)} of {shown(recode.of)}; each value must be in one group"
                )

    def _check_combination(self, combination: Sequence[tuple[str, tuple[str, ...]]]) -> None:
        if not combination:
            raise FieldError("an impossible combination names no attribute")
        for name, words in combination:
            with inside(name):
                self._check_is_attribute(name, "an impossible combination names")
                _check_values(words, dict(self.values)[name], "an impossible combination", name)
                no_repeats(words, name=f"impossible combination, {name},", field=())
                if not words:
                    raise FieldError(f"an impossible combination has no values of {shown(name)}")

    def _check_is_attribute(self, name: str, text: str) -> None:
        if name not in self.names:
            raise FieldError(
                f"{text} {shown(name)}, which is not an attribute"
                + (hint(name, self.names) or f"; there are {_some(self.names)}")
            )


def read_attributes(table: object) -> Attributes:
    """Read the TOML table `[attributes]`; the places of errors are relative to it."""
    values: dict[str, Iterable[str] | int] = {}
    recodes: dict[str, Recode] = {}
    impossible: list[Mapping[str, Iterable[str]]] = []
    for name, value in a_table(table, "attributes").items():
        with inside(name):
            if name == "impossible":
                impossible = _impossible(value)
            elif isinstance(value, dict):
                recodes[name] = _recode(f"recode {shown(name)}", value)
            elif isinstance(value, list | int) and not isinstance(value, bool):
                values[name] = value
            else:
                raise FieldError(
                    f"attribute {shown(name)} is {shown(value)}; it must be a list of values, their number, "
                    'or a recode such as { of = "age", groups = { child = ["0-17"], adult = ["18+"] } }'
                )
    spelled = {name: _values(name, value) for name, value in values.items()}
    for name, recode in recodes.items():
        known = spelled.get(recode.of, ())
        recodes[name] = Recode(recode.of, {label: from_runs(words, known) for label, words in recode.groups})
    return Attributes(values, recodes, impossible)


TO = ".."
"""Joins the first and the last value of a run."""


def from_runs(words: Iterable[str], known: Sequence[str]) -> list[str]:
    """Spell out runs of an attribute's values.

    >>> from_runs(["0", "2..4"], ["0", "1", "2", "3", "4", "5"])
    ['0', '2', '3', '4']
    """
    spelled: list[str] = []
    for word in words:
        first, is_run, last = word.partition(TO)
        if is_run and word not in known and first in known and last in known:
            spelled += known[known.index(first) : known.index(last) + 1] or [word]
        else:
            spelled.append(word)
    return spelled


def as_runs(words: Sequence[str], known: Sequence[str]) -> list[str]:
    """Write values that follow each other as runs, if there are three or more.

    >>> as_runs(["0", "2", "3", "4"], ["0", "1", "2", "3", "4", "5"])
    ['0', '2..4']
    """
    runs: list[list[str]] = []
    for word in words:
        if runs and known.index(word) == known.index(runs[-1][-1]) + 1:
            runs[-1].append(word)
        else:
            runs.append([word])
    return [word for run in runs for word in ([f"{run[0]}{TO}{run[-1]}"] if len(run) > 2 else run)]


def _recode(who: str, table: dict[str, object]) -> Recode:
    recode = a_table(table, who, ("of", "groups"))
    of, groups = recode.get("of"), recode.get("groups")
    if not isinstance(of, str):
        raise FieldError(f'{who} must name its attribute, such as of = "age"')
    if not isinstance(groups, dict):
        raise FieldError(f"{who} must state its groups, each a list of values")
    for label, words in groups.items():
        if not _is_texts(words):
            text = f"group {shown(label)} of {who} is {shown(words)}; a list of values is needed"
            raise FieldError(text, field=("groups", label))
    return Recode(of, groups)


def _impossible(data: object) -> list[Mapping[str, Iterable[str]]]:
    if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
        raise FieldError(
            f"impossible is {shown(data)}; it must be a list of tables such as "
            '{ age = ["0-14"], employed = ["yes"] }'
        )
    for number, combination in enumerate(data):
        for name, words in combination.items():
            if not _is_texts(words):
                text = f"{shown(name)} of an impossible combination is {shown(words)}, not a list of values"
                raise FieldError(text, field=(number, name))
    return list(data)


def attribute_lines(attributes: Attributes) -> Iterator[str]:
    """Yield the lines of the TOML table `[attributes]`, from which `read_attributes` makes an equal one."""
    for name, values in attributes.values:
        numbered = values == tuple(map(str, range(len(values))))
        yield f"{quoted(name)} = {len(values) if numbered else quoted(values)}"
    if attributes.impossible:
        yield "impossible = ["
        for combination in attributes.impossible:
            yield (
                "  { " + ", ".join(f"{quoted(name)} = {quoted(words)}" for name, words in combination) + " },"
            )
        yield "]"
    for name, recode in attributes.recodes:
        yield f"[attributes.{quoted(name)}]"
        yield f"of = {quoted(recode.of)}"
        yield f"[attributes.{quoted(name)}.groups]"
        known = dict(attributes.values)[recode.of]
        yield from (f"{quoted(label)} = {quoted(as_runs(words, known))}" for label, words in recode.groups)


def _is_texts(words: object) -> bool:
    return isinstance(words, list) and all(isinstance(word, str) for word in words)


def _check_values(words: Iterable[str], known: Sequence[str], who: str, name: str) -> None:
    for word in words:
        if word not in known:
            text = f"{who} has the value {shown(word)}, which {shown(name)} does not have"
            raise FieldError(text + hint(word, known))


def spelled_values(values: Mapping[str, Iterable[str] | int]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return attributes with their values spelled out, each name and value checked.

    >>> spelled_values({"sex": ["f", "m"], "rooms": 3})
    (('sex', ('f', 'm')), ('rooms', ('0', '1', '2')))
    """
    for name in values:
        _check_name(name)
    return tuple((name, _values(name, given)) for name, given in values.items())


def _values(name: str, given: Iterable[str] | int) -> tuple[str, ...]:
    who = f"attribute {shown(name)}"
    with inside(name):
        if isinstance(given, int):
            many = whole_number(given, name=who, field=())
            if many > MOST_VALUES:
                raise FieldError(f"{who} has {many} values; at most {MOST_VALUES} are allowed")
            return tuple(map(str, range(many)))
        values = tuple(given)
        for number, value in enumerate(values):
            _check_label(value, f"value of {who}", (number,))
        no_repeats(values, name=who, field=())
        if not values:
            raise FieldError(f"{who} has no values; it must have at least one")
    return values


def _check_name(name: str) -> None:
    _check_label(name, "name of an attribute", (name,))
    if name in (TOTAL, DETAILED, "impossible"):
        raise FieldError(f"an attribute is called {shown(name)}, which is a reserved name", field=(name,))


def _check_label(text: object, what: str, field: Place) -> None:
    word = line(text, name=what, field=field)
    if word != word.strip() or _RESERVED.search(word):
        raise FieldError(
            f"{what} is {shown(word)}; it must not begin or end with a space, nor contain any of * [ ] = |",
            field=field,
        )


def _some(names: Iterable[str]) -> str:
    words = [f'"{name}"' for name in names]
    return ", ".join(words) if len(words) <= 12 else f"{', '.join(words[:12])} and {len(words) - 12} more"
