"""How a table is written that was not made for this package: the section `[input]` of a release.

It says how to read the text (encoding, delimiter, decimal sign, quotes), which column is meant by each name,
and which text stands for which value: bands of numbers, codes, missing values. It describes a file, not what
is released: two releases that differ in nothing else are equal, cost the same and have the same proofs.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from discreet.budget.text_files import read_text_file
from discreet.budget.toml import (
    FieldError,
    a_list,
    a_table,
    hint,
    inside,
    line,
    located,
    no_repeats,
    one_of,
    parse_toml,
    quoted,
    whole_number,
)
from discreet.budget.variables import number_columns
from discreet.memory import set_fields
from discreet.numbers import shown
from discreet.records.ages import ORDERS, Births, order_named, read_day

if TYPE_CHECKING:
    from discreet.budget.attributes import Attributes
    from discreet.budget.joins import Join

TABLE_KEYS = (
    "encoding",
    "delimiter",
    "decimal",
    "quote",
    "trim",
    "ignore_case",
    "missing",
    "header",
    "columns",
)
OTHER_TABLES = ("areas", "households", "addresses")
INPUT_KEYS = (*TABLE_KEYS, *OTHER_TABLES)
COLUMN_KEYS = ("column", "bands", "age_on", "dates", "codes", "missing", "as", "leave_out", "width")
AREA_NAMES = ("unit", "level", "parent")

WIDEST = 100
"""The longest code that zeros are put before."""

_NUMBER = r"-?[0-9]+(?:\.[0-9]+|,(?![0-9]{3}(?![0-9]))[0-9]+)?"  # 1,5 is one and a half; 1,000 is not read
_MORE = "over|older|more|above|älter|mehr|plus|más|più"
_RANGES = (
    (rf"({_NUMBER})\s*(?:-|\u2013|\.\.|to|bis|à|a|tot)\s*({_NUMBER})", "from to"),
    (rf"({_NUMBER})\s*(?:\+|(?:and|or|und|et|y|e)\s+(?:{_MORE}))", "from"),
    (rf"(?:>=|\u2265|from|ab)\s*({_NUMBER})", "from"),
    (rf"(?:<|under|below|less than|unter|moins de|menos de|meno di)\s*({_NUMBER})", "below"),
    (rf"(?:<=|\u2264|up to|at most|bis)\s*({_NUMBER})", "to"),
    (rf"({_NUMBER})", "only"),
)


@dataclass(frozen=True, slots=True)
class Band:
    """A band of numbers: its label, how its range is written, and its ends, the upper one not part of it."""

    label: str
    text: str
    lower: Fraction | None
    upper: Fraction | None


def read_bands(bands: Iterable[str] | Mapping[str, str]) -> tuple[Band, ...]:
    """Read bands, in order, without gaps and overlaps: labels that say their range, or ranges by label.

    What lies between the last digit of a band and the first of the next one belongs to the lower band, as
    completed years of age do.

    >>> [(one.label, str(one.lower), str(one.upper)) for one in read_bands(["under 18", "18-64", "65+"])]
    [('under 18', 'None', '18'), ('18-64', '18', '65'), ('65+', '65', 'None')]
    >>> read_bands(["0-17", "17-64"])
    Traceback (most recent call last):
    discreet.budget.toml.FieldError: bands '0-17' and '17-64' overlap; each number must be in one band
    >>> read_bands({"young": "0-17", "old": "65+"})
    Traceback (most recent call last):
    discreet.budget.toml.FieldError: bands '0-17' and '65+' leave a gap: 18 is in neither
    """
    pairs = list(bands.items()) if isinstance(bands, Mapping) else [(label, label) for label in bands]
    ends = [_range(text) for _, text in pairs]
    digits = max((len(end.partition(".")[2]) for pair in ends for end in pair[:2]), default=0)
    step = Fraction(1, 10**digits)
    made = []
    for (label, text), (low, high, kind) in zip(pairs, ends, strict=True):
        upper = None if not high else Fraction(high) + (0 if kind == "below" else step)
        made.append(Band(label, text, Fraction(low) if low else None, upper))
    made.sort(key=lambda one: (one.lower is not None, one.lower or 0))
    for one in made:
        if one.lower is not None and one.upper is not None and one.lower >= one.upper:
            raise FieldError(f"band {shown(one.text)} is empty: it ends before it begins")
    for one, after in pairwise(made):
        if one.upper is None or after.lower is None or after.lower < one.upper:
            raise FieldError(
                f"bands {shown(one.text)} and {shown(after.text)} overlap; each number must be in one band"
            )
        if after.lower > one.upper:
            raise FieldError(
                f"bands {shown(one.text)} and {shown(after.text)} leave a gap: {one.upper} is in neither"
            )
    return tuple(made)


def _range(text: str) -> tuple[str, str, str]:
    """Return the ends of a range as they are written, "" if there is none, and of which kind it is."""
    for pattern, kind in _RANGES:
        if found := re.fullmatch(pattern, text.strip(), re.IGNORECASE):
            numbers = [number.replace(",", ".") for number in found.groups()]
            if kind in ("from to", "only"):
                return numbers[0], numbers[-1], kind
            return (numbers[0], "", kind) if kind == "from" else ("", numbers[0], kind)
    raise FieldError(
        f"band {shown(text)} is not a range such as 0-17, 65+ or under 5; a label of another kind is given "
        'its range: bands = { child = "0-17", adult = "18+" }'
    )


def is_bands(labels: Sequence[str]) -> bool:
    """Tell whether labels are bands of numbers.

    >>> is_bands(["0-17", "18+"]), is_bands(["f", "m"])
    (True, False)
    """
    try:
        return bool(read_bands(labels))
    except FieldError:
        return False


def wrong_bands(labels: Sequence[str]) -> str:
    """Say why ranges of numbers, each fine alone, are no bands together; nothing of labels that are none.

    >>> wrong_bands(["0-17", "15-64", "65+"])
    "bands '0-17' and '15-64' overlap; each number must be in one band"
    >>> wrong_bands(["f", "m"]), wrong_bands(["1", "3"]), wrong_bands(["0-17", "18+"])
    ('', '', '')
    """
    if not all(is_bands([label]) for label in labels) or all(
        re.fullmatch(_NUMBER, label) for label in labels
    ):
        return ""
    try:
        read_bands(labels)
    except FieldError as error:
        return str(error)
    return ""


@dataclass(frozen=True, slots=True, init=False)
class ColumnInput:
    """Where the values of one attribute stand, and which text is which value.

    `column` is the name in the file, if it is another one. `codes` are texts and the values they stand for;
    `bands` are values for ranges of numbers. `missing` are texts that are no value (nothing at all never is
    one): they are refused, or read as the value `filled` (in TOML: `as`), or the record is left out.
    `width` puts zeros before codes of digits that have lost them. With `age_on`, a day, texts are dates
    or years of birth, and bands are of ages on that day; `dates` says what comes first in 03/04/1990.

    >>> ColumnInput(column="ALTER", bands=["0-17", "18+"]).bands[1].label
    '18+'
    """

    column: str
    bands: tuple[Band, ...]
    codes: tuple[tuple[str, str], ...]
    missing: tuple[str, ...] | None
    filled: str
    leave_out: bool
    width: int
    births: Births | None

    def __init__(
        self,
        *,
        column: str = "",
        bands: Iterable[str] | Mapping[str, str] = (),
        codes: Mapping[str, str] | None = None,
        missing: Iterable[str] | None = None,
        filled: str = "",
        leave_out: bool = False,
        width: int = 0,
        age_on: str = "",
        dates: str = "",
    ) -> None:
        with inside("bands"):
            for label in bands:
                line(label, name="label of a band", field=())
            read = read_bands(bands)
            no_repeats([one.label for one in read], name="bands", field=())
        for code, value in (codes or {}).items():
            line(code, name="code", field=("codes", code))
            line(value, name=f"value of code {shown(code)}", field=("codes", code))
        if filled and leave_out:
            raise FieldError(
                "missing values are given a value (as) and left out (leave_out); say one of both",
                field=("leave_out",),
            )
        if dates:
            one_of(dates, ORDERS, name="dates", field=("dates",))
        with inside("age_on"):
            day = read_day(line(age_on, name="age_on", field=())) if age_on else None
        if (day is None and dates) or (day is not None and not read):
            text = "age_on says on which day ages count: it goes with bands, and dates goes with it"
            raise FieldError(text, field=("dates" if day is None else "age_on",))
        set_fields(
            self,
            births=None if day is None else Births(day, order_named(dates)),
            column=line(column, name="column", field=("column",), empty=True),
            bands=read,
            codes=tuple((codes or {}).items()),
            missing=None if missing is None else _texts(missing),
            filled=line(filled, name="as", field=("as",), empty=True),
            leave_out=_flag(leave_out, "leave_out"),
            width=width if width == 0 else whole_number(width, name="width", field=("width",)),
        )
        if self.width > WIDEST:
            raise FieldError(f"width is {self.width}; at most {WIDEST} is allowed", field=("width",))

    @property
    def values(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The values that it gives, each with its place."""
        every = [("codes", code, value) for code, value in self.codes]
        every += [("bands", one.label, one.label) for one in self.bands]
        every += [("as", "", self.filled)] if self.filled else []
        return tuple((value, (key, name) if name else (key,)) for key, name, value in every)


@dataclass(frozen=True, slots=True, init=False)
class TableInput:
    """How a table is written: as `[input]` says for records, and `[input.areas]` for the table of areas.

    `encoding` is any that Python knows. An empty `delimiter` is found by the header, an empty `quote` means
    that fields are not quoted. `trim` takes spaces around values away, `ignore_case` reads M as m. `missing`
    are texts that are no value of any attribute; see `ColumnInput`. A `header` names the first columns of a
    text in their order, in place of its first line. Over a join, `households` and `addresses` say how those
    files are written.

    >>> TableInput(encoding="latin-1", columns={"sex": ColumnInput(column="GESCHL")}).of("sex").column
    'GESCHL'
    """

    encoding: str
    delimiter: str
    decimal: str
    quote: str
    trim: bool
    ignore_case: bool
    missing: tuple[str, ...]
    columns: tuple[tuple[str, ColumnInput], ...]
    areas: TableInput | None
    header: tuple[str, ...]
    households: TableInput | None
    addresses: TableInput | None

    def __init__(
        self,
        *,
        encoding: str = "utf-8",
        delimiter: str = "",
        decimal: str = ".",
        quote: str = '"',
        trim: bool = False,
        ignore_case: bool = False,
        missing: Iterable[str] = (),
        columns: Mapping[str, ColumnInput] | None = None,
        areas: TableInput | None = None,
        header: Iterable[str] = (),
        households: TableInput | None = None,
        addresses: TableInput | None = None,
    ) -> None:
        names = tuple(
            line(one, name="name of header", field=("header", place)) for place, one in enumerate(header)
        )
        no_repeats(names, name="header", field=("header",))
        set_fields(
            self,
            encoding=_encoding(encoding),
            delimiter=_sign(delimiter, "delimiter", ', such as ";" or "\\t"'),
            decimal=one_of(decimal, (".", ","), name="decimal", field=("decimal",)),
            quote=_sign(quote, "quote", ", or empty if fields are not quoted"),
            trim=_flag(trim, "trim"),
            ignore_case=_flag(ignore_case, "ignore_case"),
            missing=_texts(missing),
            columns=tuple((columns or {}).items()),
            areas=areas,
            header=names,
            households=households,
            addresses=addresses,
        )
        if self.delimiter and self.delimiter == self.quote:
            raise FieldError("delimiter and quote are the same sign", field=("delimiter",))
        if areas is not None:
            with inside("areas"):
                areas.check_areas()

    def of(self, name: str) -> ColumnInput:
        """Return how the column of an attribute, of the area or of a number is written."""
        return dict(self.columns).get(name) or ColumnInput()

    def missing_of(self, name: str) -> frozenset[str]:
        """Return the texts that stand for no value of an attribute; nothing at all is always one."""
        own = self.of(name).missing
        return frozenset(("", *(self.missing if own is None else own)))

    @property
    def is_of_one_area(self) -> bool:
        """Whether records without a column of areas are all of one area, which `as` of `unit` names.

        >>> TableInput(columns={"unit": ColumnInput(filled="All")}).is_of_one_area
        True
        """
        return bool(self.of("unit").filled and not self.of("unit").column)

    @property
    def leaving_out(self) -> tuple[str, ...]:
        """Attributes without whose values a record is left out."""
        return tuple(name for name, one in self.columns if one.leave_out)

    def check(self, attributes: Attributes) -> None:
        """Check that the values it gives are those of the attributes."""
        known = dict(attributes.values)
        others = ("unit", *number_columns(attributes.variables))
        for name, one in self.columns:
            with inside("columns", name):
                if name not in known and (name not in others and (near := hint(name, [*known, *others[1:]]))):
                    raise FieldError(f"[input] names {shown(name)}, which is not an attribute{near}")
                if name not in known and one.bands:
                    text = f"bands of {shown(name)}, which is not an attribute; there are "
                    raise FieldError(text + ", ".join(map(shown, known)), field=("bands",))
                for value, place in one.values if name in known else ():
                    if value not in known[name]:
                        text = f"{place[0]} of [input] has {shown(value)}, which attribute {shown(name)} "
                        near = hint(value, known[name]) or f"; it has {_some(known[name])}"
                        raise FieldError(f"{text}does not have{near}", field=place)

    def check_join(self, join: Join) -> None:
        """Check that the values it gives are those of a join's attributes, file by file."""
        parts = {"people": self, "households": self.households, "addresses": self.addresses}
        for file, part in parts.items():
            if part is not None:
                known = dict(getattr(join, file) or ())
                with inside(*(() if part is self else (file,))):
                    part.check_values(known, (join.key, "unit"))

    def check_values(self, known: Mapping[str, Sequence[str]], others: Sequence[str]) -> None:
        """Check that columns are known ones, and that the values given are theirs."""
        for name, one in self.columns:
            with inside("columns", name):
                if name not in known and name not in others:
                    near = hint(name, [*known, *others]) or f"; there are {_some([*known, *others])}"
                    raise FieldError(
                        f"[input] names {shown(name)}, which is not an attribute of this file{near}"
                    )
                for value, place in one.values if name in known else ():
                    if value not in known[name]:
                        text = f"{place[0]} of [input] has {shown(value)}, which attribute {shown(name)} "
                        near = hint(value, known[name]) or f"; it has {_some(known[name])}"
                        raise FieldError(f"{text}does not have{near}", field=place)

    def check_areas(self) -> None:
        """Check that this can describe a table of areas."""
        if self.areas is not None:
            raise FieldError("areas of areas make no sense", field=("areas",))
        for name, one in self.columns:
            with inside("columns", name):
                one_of(name, AREA_NAMES, name="column of [input.areas]", field=())
                if one.bands or one.leave_out or one.filled:
                    text = "areas have neither bands nor missing values; column, codes and width are allowed"
                    raise FieldError(text)


def _texts(words: Iterable[str]) -> tuple[str, ...]:
    made = tuple(
        line(word, name="text of missing", field=("missing", place), empty=True)
        for place, word in enumerate(words)
    )
    no_repeats(made, name="missing", field=("missing",))
    return made


def _flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise FieldError(f"{name} is {shown(value)}; it must be true or false", field=(name,))
    return value


def _sign(value: object, name: str, more: str) -> str:
    if value == "\t" and name == "delimiter":
        return "\t"
    is_sign = isinstance(value, str) and (
        not value or (len(value) == 1 and value.isascii() and value.isprintable() and not value.isalnum())
    )
    if not is_sign:
        raise FieldError(f"{name} is {shown(value)}; it must be one sign{more}", field=(name,))
    return str(value)


_NO_TEXT = ("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem")


def _encoding(value: object) -> str:
    name = line(value, name="encoding", field=("encoding",))
    try:
        "".encode(name)
        if codecs.lookup(name).name.replace("-", "_") not in _NO_TEXT:
            return name
    except (LookupError, ValueError):
        pass
    usual = ("utf-8", "latin-1", "windows-1252", "iso-8859-15", "utf-16", "cp850", "mac-roman")
    near = hint(name.lower(), usual) or f"; usual ones are {', '.join(usual)}"
    raise FieldError(f"encoding is {shown(name)}, which is not known{near}", field=("encoding",))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(map(shown, names[:12])) + more


# -- TOML ----------------------------------------------------------------------------------------------------


def read_input(data: object, keys: tuple[str, ...] = INPUT_KEYS) -> TableInput:
    """Read the TOML table `[input]`; the places of errors are relative to it.

    >>> read_input({"columns": {"age": {"column": "ALTER", "bands": ["0-17", "18+"]}}}).of("age").column
    'ALTER'
    """
    table = dict(a_table(data, "[input]", keys))
    if "missing" in table:
        a_list(table["missing"], "missing", "texts in quotes")
    if "header" in table:
        a_list(table["header"], "header", "names of columns in quotes")
    for other in OTHER_TABLES:
        if other in table:
            with inside(other):
                table[other] = read_input(table[other], TABLE_KEYS)
    columns = {}
    with inside("columns"):
        for name, column in a_table(table.pop("columns", {}), "columns of [input]").items():
            with inside(name):
                columns[name] = _read_column(column, name)
    return TableInput(**table, columns=columns)


def _read_column(data: object, name: str) -> ColumnInput:
    if isinstance(data, str):
        return ColumnInput(column=line(data, name="column", field=()))
    who = f"{shown(name)} of [input]"
    if not isinstance(data, dict):
        raise FieldError(
            f'{who} is {shown(data)}; it must be a column such as "ALTER", or a table such as '
            '{ column = "ALTER", bands = ["0-17", "18+"] }'
        )
    table = dict(a_table(data, who, COLUMN_KEYS))
    for key in ("bands", "missing"):
        if key in table and not (key == "bands" and isinstance(table[key], dict)):
            a_list(table[key], key, "texts in quotes")
    for key in ("bands", "codes"):
        if isinstance(table.get(key), dict):
            for label, text in table[key].items():
                line(text, name=f"{key} {shown(label)}", field=(key, label))
    if "codes" in table and not isinstance(table["codes"], dict):
        text = f'codes is {shown(table["codes"])}; it must be a table such as {{ "1" = "m", "2" = "w" }}'
        raise FieldError(text, field=("codes",))
    if table.get("width") == 0:
        raise FieldError("width is 0; it must be a whole number above zero", field=("width",))
    filled = line(table.pop("as"), name="as", field=("as",)) if "as" in table else ""
    return ColumnInput(**table, filled=filled)


def input_lines(table: TableInput, name: str = "input") -> Iterator[str]:
    """Yield the lines of the TOML table `[input]`, from which `read_input` makes an equal one.

    >>> survey = TableInput(delimiter=";", columns={"sex": ColumnInput(column="GESCHL")})
    >>> print(*input_lines(survey), sep="\\n")
    [input]
    delimiter = ";"
    [input.columns]
    "sex" = { column = "GESCHL" }
    """
    yield f"[{name}]"
    plain = TableInput()
    for key in ("encoding", "delimiter", "decimal", "quote"):
        if (text := getattr(table, key)) != getattr(plain, key):
            yield f"{key} = {quoted(text)}".replace("\t", "\\t")
    for key in ("trim", "ignore_case"):
        if getattr(table, key):
            yield f"{key} = true"
    if table.missing:
        yield f"missing = {quoted(table.missing)}"
    if table.header:
        yield f"header = {quoted(table.header)}"
    if table.columns:
        yield f"[{name}.columns]"
        yield from (f"{quoted(one)} = {column_text(column)}" for one, column in table.columns)
    for other in OTHER_TABLES:
        if (one := getattr(table, other)) is not None:
            yield from input_lines(one, f"{name}.{other}")


def column_text(column: ColumnInput) -> str:
    """Write how a column is read, as the value of its key in TOML.

    >>> print(column_text(ColumnInput(column="ALTER", bands=["0-17", "18+"], filled="18+")))
    { column = "ALTER", bands = ["0-17", "18+"], as = "18+" }
    """
    parts = [f"column = {quoted(column.column)}"] if column.column else []
    if column.bands and all(one.label == one.text for one in column.bands):
        parts.append(f"bands = {quoted([one.label for one in column.bands])}")
    elif column.bands:
        parts.append(f"bands = {_pairs((one.label, one.text) for one in column.bands)}")
    if column.births is not None:
        parts.append(f"age_on = {quoted(column.births.day.isoformat())}")
        parts += [f"dates = {quoted(column.births.order)}"] if column.births.order else []
    if column.codes:
        parts.append(f"codes = {_pairs(column.codes)}")
    if column.missing is not None:
        parts.append(f"missing = {quoted(column.missing)}")
    if column.filled:
        parts.append(f"as = {quoted(column.filled)}")
    if column.leave_out:
        parts.append("leave_out = true")
    if column.width:
        parts.append(f"width = {column.width}")
    return f"{{ {', '.join(parts)} }}" if parts else "{}"


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return f"{{ {', '.join(f'{quoted(key)} = {quoted(text)}' for key, text in pairs)} }}"


def input_from_toml(
    text: str, where: str = "the TOML text", attributes: Attributes | None = None
) -> TableInput:
    """Read a text that holds the section `[input]` and nothing else, for a release with these attributes.

    >>> input_from_toml('[input]\\nencoding = "latin1"').encoding
    'latin1'
    >>> input_from_toml('encoding = "latin1"', "survey.toml")
    Traceback (most recent call last):
    discreet.errors.InputError: survey.toml has the unknown key 'encoding'; allowed are input \
(line 1 of survey.toml)
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    data = parse_toml(text, where)
    try:
        table = a_table(data, where, ("input",), needed=("input",))
        with inside("input"):
            found = read_input(table["input"])
            if attributes is not None:
                found.check(attributes)
        return found
    except FieldError as error:
        raise located(error, text, data, where) from None


def load_input(path: str | os.PathLike[str], attributes: Attributes | None = None) -> TableInput:
    """Return the section `[input]` that a file of its own holds, for a release with these attributes.

    >>> load_input("no-such-file.toml")
    Traceback (most recent call last):
    discreet.errors.InputError: there is no file no-such-file.toml
    """
    text, name = read_text_file(path)
    return input_from_toml(text, name, attributes)
