"""What a query adds up over its records: ones, the values of a column, or weights.

Values are whole numbers of units: rounded exactly to multiples of the `unit`, half to even, then clipped to
lie between 0 and `at_most`. So one record adds at most `bound` units to a sum: that is the sensitivity of the
query. What clipping takes away can be measured too, by a query of what lies *above* a number, with a bound of
its own, and by the number of records that have a value above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.budget.toml import FieldError, a_table, exact, line, quoted
from discreet.budget.toml_lines import Place
from discreet.memory import set_fields
from discreet.numbers import MOST_TIMES, Exact, shown

RECORDS = "records"
"""What unweighted counts are called in a release that has weights."""

IN_UNITS_OF = "in_units_of"
"""The column of a table of sums that says what one unit of its whole numbers is worth."""

BY = " by "
"""Joins what is added up with the attributes by which it is split."""

WEIGHT_KEYS = ("column", "at_most", "unit")
VARIABLE_KEYS = ("sum", "count", "above", "at_most", "unit", "weighted")

_RESERVED = re.compile(r"[*\[\]=|]| by | above ")
_NAMES = ("total", "detailed", "impossible", "unit", RECORDS)


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class RecordWeight:
    """A column of weights: each record counts as its weight, rounded to a multiple of `unit` and clipped.

    >>> RecordWeight(column="w", at_most=500, unit="1/10").bound
    5000
    """

    column: str
    at_most: Fraction
    unit: Fraction

    def __init__(self, *, column: str, at_most: Exact, unit: Exact = 1) -> None:
        set_fields(
            self,
            column=_column_name(column, "column of the weight", ("column",)),
            at_most=exact(at_most, name="at_most of the weight", field=("at_most",)),
            unit=exact(unit, name="unit of the weight", field=("unit",)),
        )
        _multiple(self.at_most, self.unit, "at_most of the weight", ("at_most",))

    @property
    def bound(self) -> int:
        """The largest weight, in units."""
        return int(self.at_most / self.unit)

    @property
    def line(self) -> str:
        """The weight as a line of TOML."""
        unit = f", unit = {quoted(self.unit)}" if self.unit != 1 else ""
        return f"weight = {{ column = {quoted(self.column)}, at_most = {quoted(self.at_most)}{unit} }}"


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Variable:
    """What each record adds to a query: one, or a column's value; times its weight, if there is one.

    `sum` names a column whose values are added up, each clipped at `at_most`; with `above`, only what lies
    above that number is. `count` names a column too: records with a value `above` a number are counted.
    Without any, records are counted. `weighted` is whether the weight of the release applies; the release
    puts it in.

    >>> hours = Variable(sum="hours", at_most=80, unit="1/2")
    >>> hours.name, hours.bound, str(hours.step)
    ('hours', 160, '1/2')
    >>> Variable(sum="hours", above=80, at_most=400).name, Variable(count="hours", above=80).name
    ('hours above 80', 'records with hours above 80')
    """

    sum: str | None
    count: str | None
    above: Fraction | None
    at_most: Fraction | None
    unit: Fraction
    weighted: bool
    weight: RecordWeight | None

    def __init__(
        self,
        *,
        sum: str | None = None,
        count: str | None = None,
        above: Exact | None = None,
        at_most: Exact | None = None,
        unit: Exact = 1,
        weighted: bool = True,
        weight: RecordWeight | None = None,
    ) -> None:
        if sum is not None and count is not None:
            raise FieldError(
                "a query states sum and count; it must state one of them, or neither", field=("count",)
            )
        key = "sum" if sum is not None else "count"
        column = None if sum is None and count is None else _column_name(sum or count, key, (key,))
        given = {"above": above, "at_most": at_most, "unit": None if unit == 1 else unit}
        if column is None and (
            stray := next((name for name, value in given.items() if value is not None), None)
        ):
            text = f'{stray} is for a query that states what it sums, such as sum = "hours"'
            raise FieldError(text, field=(stray,))
        if not isinstance(weighted, bool):
            raise FieldError(f"weighted is {shown(weighted)}; it must be true or false", field=("weighted",))
        numbers = {
            name: None if value is None else exact(value, name=f"{name} of {shown(column)}", field=(name,))
            for name, value in {**given, "unit": unit}.items()
        }
        is_count = count is not None
        set_fields(self, sum=sum, count=count, weighted=weighted and not is_count, weight=weight, **numbers)
        if sum is not None and self.at_most is None:
            text = f"the sum of {shown(sum)} states no at_most; without a bound no noise protects a record"
            raise FieldError(text, field=("sum",))
        if is_count and (self.at_most is not None or self.above is None):
            text = f"records with a value of {shown(count)} above a number are counted: state above, such as "
            raise FieldError(f"{text}above = 80, and no at_most", field=("count",))
        for name, value in (("above", self.above), ("at_most", self.at_most)):
            if value is not None:
                _multiple(value, self.unit, f"{name} of {shown(column)}", (name,))
        if self.bound > MOST_TIMES:
            text = (
                f"at_most of {shown(column)} is {shown(self.bound)} units; at most {MOST_TIMES} are allowed"
            )
            raise FieldError(text, field=("at_most",))

    @property
    def column(self) -> str | None:
        """The column of the records that it is about, if any."""
        return self.sum or self.count

    @property
    def is_sum(self) -> bool:
        """Whether something else than records is added up: values, or weights."""
        return self.sum is not None or self.weight is not None

    @property
    def name(self) -> str:
        """How queries of it are called, but for what they are split by; empty for the counts of a release."""
        if self.column is None:
            return "" if self.weighted else RECORDS
        above = "" if self.above is None else f" above {as_decimal(self.above)}"
        return f"{f'{RECORDS} with ' if self.count else ''}{self.column}{above}"

    @property
    def bound(self) -> int:
        """How much one record adds at most, in units: the sensitivity of a query of it."""
        own = 1 if self.at_most is None else int(self.at_most / self.unit)
        return own * (1 if self.weight is None else self.weight.bound)

    @property
    def step(self) -> Fraction:
        """What one unit of a measured number is worth."""
        own = self.unit if self.sum is not None else Fraction(1)
        return own * (1 if self.weight is None else self.weight.unit)

    def weighted_by(self, weight: RecordWeight | None) -> Variable:
        """Return it with the weight of a release, if that applies to it."""
        applies = self.weighted and weight is not None and self.column != weight.column
        return replace(self, weight=weight if applies else None)

    @property
    def pairs(self) -> list[str]:
        """What a query of it states in TOML."""
        texts = {"sum": self.sum, "count": self.count, "above": self.above, "at_most": self.at_most}
        stated = [f"{key} = {quoted(value)}" for key, value in texts.items() if value is not None]
        stated += [f"unit = {quoted(self.unit)}"] if self.unit != 1 else []
        return stated + (["weighted = false"] if not self.weighted and self.count is None else [])


COUNT = Variable()
"""Records, each counted once (or as its weight, if the release has weights)."""


def read_weight(table: object) -> RecordWeight:
    """Read the TOML table `weight`; the places of errors are relative to it."""
    return RecordWeight(**a_table(table, "weight", WEIGHT_KEYS, needed=("column", "at_most")))


def read_variable(table: Mapping[str, object], weight: RecordWeight | None) -> Variable:
    """Read what a query adds up from its TOML table, in a release with this weight."""
    stated = {key: table[key] for key in VARIABLE_KEYS if key in table}
    if not stated and weight is None:
        return COUNT
    return Variable(**stated).weighted_by(weight)  # type: ignore[arg-type]


def number_columns(variables: Iterable[Variable]) -> list[str]:
    """Return the columns of numbers that are added up: values and weights.

    >>> number_columns([Variable(sum="hours", at_most=80), Variable()])
    ['hours']
    """
    pairs = [(variable.column, variable.weight.column if variable.weight else None) for variable in variables]
    return list(dict.fromkeys(column for pair in pairs for column in pair if column is not None))


def as_decimal(number: Fraction) -> str:
    """Write a number as a decimal if it is one, else as a fraction.

    >>> as_decimal(Fraction(80)), as_decimal(Fraction(1, 40)), as_decimal(Fraction(1, 3))
    ('80', '0.025', '1/3')
    """
    digits = 0
    while digits <= 30 and (number * 10**digits).denominator > 1:
        digits += 1
    if digits in (0, 31):
        return str(number)
    whole, rest = divmod(int(number * 10**digits), 10**digits)
    return f"{whole}.{rest:0{digits}}"


def _column_name(name: object, what: str, field: Place) -> str:
    """Check the name of a column that is added up: queries are called after it."""
    word = line(name, name=what, field=field)
    if word != word.strip() or _RESERVED.search(word) or word in _NAMES:
        text = f"{what} is {shown(word)}; it must not begin or end with a space, nor contain any of * [ ] = |"
        raise FieldError(f'{text} or the words "by" and "above", nor be {", ".join(_NAMES)}', field=field)
    return word


def _multiple(number: Fraction, unit: Fraction, what: str, field: Place) -> None:
    if (number / unit).denominator > 1:
        text = f"{what} is {as_decimal(number)}, which is not a whole number of units of {as_decimal(unit)}"
        raise FieldError(text, field=field)
