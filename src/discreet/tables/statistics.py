"""Files of Stata, SPSS and SAS, as text would have them: labels for codes, dates as 1990-12-31.

A code that has a label stands for it: it is what the codebook in the file says, and a number that means
"refused" is not taken for a number. Values that the file declares missing are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from importlib import import_module
from numbers import Real
from pathlib import Path

from discreet.errors import DiscreetError, InputError, install_hint
from discreet.files import ArrowArray, ArrowTable, arrow
from discreet.tables.columns import text_of_number

Labels = Mapping[object, str]
"""What the codes of a column stand for."""

READERS = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""How the names of files end, and what reads them."""


def read_statistics(path: Path) -> ArrowTable:
    """Return a file of Stata, SPSS or SAS as a table; other files are refused."""
    try:
        package = import_module("pyreadstat")
    except ImportError:
        text = f"reading {path.name} needs pyreadstat, which is not installed"
        raise DiscreetError(f"{text}: {install_hint('statistics')}") from None
    read = getattr(package, READERS[path.suffix.lower()])
    # what it says of an error may repeat a value
    with suppress(package.ReadstatError, package.PyreadstatError, UnicodeDecodeError, ValueError):
        columns, told = read(str(path), output_format="dict")
        labels: Mapping[str, Labels] = told.variable_value_labels
        pa = arrow()
        return pa.table(
            {name: _column(list(values), labels.get(name, {})) for name, values in columns.items()}
        )
    raise InputError(
        f"{path.name} cannot be read as a file of Stata, SPSS or SAS: it is damaged, or something else"
    )


def _column(values: Sequence[object], labels: Labels) -> ArrowArray:
    """Return a column: numbers as such if there is nothing else, and everything else as text.

    >>> _column([1.0, 2.0, float("nan")], {}).to_pylist(), _column([1.0, 97.0], {97: "refused"}).to_pylist()
    ([1, 2, None], ['1', 'refused'])
    >>> _column([date(1990, 12, 31), None], {}).to_pylist()
    ['1990-12-31', None]
    """
    pa = arrow()
    known = [None if value is None or value != value else value for value in values]
    if not labels and all(value is None or _is_number(value) for value in known):
        numbers = [None if value is None else float(value) for value in known]  # type: ignore[arg-type]
        is_whole = all(number is None or (number.is_integer() and abs(number) < 2**53) for number in numbers)
        return pa.array(numbers, type=pa.float64()).cast(pa.int64() if is_whole else pa.float64())
    return pa.array([_text(labels.get(value, value)) for value in known], type=pa.string())


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _text(value: object) -> str | None:
    """Return a value as text has it.

    >>> _text(datetime(1990, 12, 31)), _text(datetime(1990, 12, 31, 9)), _text(17.0), _text("")
    ('1990-12-31', '1990-12-31T09:00:00', '17', None)
    """
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        return (value.date() if value.time() == time() else value).isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    return str(text_of_number(value))
