"""Laws of noise in TOML: a file of probabilities, a table of them, an exponent, the word "continuous"."""

from __future__ import annotations

import csv
import io
import os
from fractions import Fraction

from discreet.budget.text_files import read_text_file
from discreet.budget.toml import FieldError, a_table, quoted
from discreet.errors import InputError
from discreet.noise import ContinuousGaussian, ContinuousLaplace, Noise, TableNoise
from discreet.noise.continuous import CONTINUOUS
from discreet.noise.distribution import StatedValue
from discreet.numbers import fraction, shown

COLUMNS = ("outcome", "absent", "present")
"""Of a file of probabilities; the last may be missing."""


def read_noise(stated: dict[str, object], folder: str | os.PathLike[str]) -> dict[str, object]:
    """Return what a query states with the law that its `noise` names in place of the words.

    >>> read_noise({"noise": "continuous", "variance": 5}, "")
    {'noise': ContinuousGaussian(variance=Fraction(5, 1), sensitivity=1, times=1)}
    >>> halves = {"absent": {"0": "1/2", "1": "1/2"}}
    >>> read_noise({"noise": halves, "groups": 2}, "")["noise"].variance
    Fraction(1, 4)
    """
    others = {key: value for key, value in stated.items() if key != "noise"}
    named = stated["noise"]
    try:
        if named == CONTINUOUS:
            size = {key: others.pop(key) for key in ("variance", "scale") if key in others}
            match list(size.items()):
                case [("variance", variance)]:
                    return {"noise": ContinuousGaussian(variance=variance), **others}  # type: ignore[arg-type]
                case [("scale", scale)]:
                    return {"noise": ContinuousLaplace(scale=scale), **others}  # type: ignore[arg-type]
            raise InputError(
                'noise is "continuous"; state the `variance` of Gaussian or the `scale` of Laplace noise'
            )
        if isinstance(named, dict):
            tables = a_table(named, "noise", ("absent", "present"), needed=("absent",))
            made = {key: _outcomes(a_table(table, key)) for key, table in tables.items()}
            return {"noise": TableNoise(made["absent"], made.get("present")), **others}
        if isinstance(named, str) and named.lower().endswith(".csv"):
            return {"noise": load_table_noise(os.path.join(folder, named)), **others}
    except FieldError:
        raise
    except InputError as error:
        raise FieldError(str(error), field=("noise",)) from None
    raise FieldError(
        f'noise is {shown(named)}; it must be a file of probabilities such as "table.csv", a table such as '
        '{ absent = { "-1" = "1/4", "0" = "1/2", "1" = "1/4" } }, or "continuous"',
        field=("noise",),
    )


def _outcomes(table: dict[str, object]) -> dict[int, Fraction]:
    made: dict[int, Fraction] = {}
    for text, chance in table.items():
        number = _whole(text)
        if number is None:
            raise InputError(f"outcome {shown(text)} of noise must be a whole number in quotes")
        made[number] = fraction(chance, name=f"the chance of {text}")  # type: ignore[arg-type]
    return made


def _whole(text: str) -> int | None:
    digits = text.strip().replace("\u2212", "-").removeprefix("+")
    return int(digits) if digits.removeprefix("-").isdecimal() and len(digits) < 12 else None


def load_table_noise(path: str | os.PathLike[str]) -> TableNoise:
    """Return the noise of a CSV file: `outcome`, its chance `absent`, and if it differs its chance `present`.

    >>> load_table_noise("no-such-table.csv")
    Traceback (most recent call last):
    discreet.errors.InputError: there is no file no-such-table.csv
    """
    text, name = read_text_file(path, "CSV file of probabilities")
    rows = [row for row in csv.reader(io.StringIO(text.removeprefix("\ufeff"))) if any(map(str.strip, row))]
    header = tuple(cell.strip().lower() for cell in rows[0]) if rows else ()
    if header not in (COLUMNS, COLUMNS[:2]):
        names = ", ".join(header) or "nothing"
        raise InputError(f"{name} starts with {names}; its columns must be outcome, absent and maybe present")
    problems: list[str] = []
    tables: list[dict[int, Fraction]] = [{} for _ in header[1:]]
    for line, row in enumerate(rows[1:], 2):
        number = _whole(row[0])
        if len(row) != len(header) or number is None:
            problems.append(f"line {line} must have a whole number and {len(header) - 1} chance(s)")
            continue
        for table, cell in zip(tables, row[1:], strict=True):
            if number in table:
                problems.append(f"line {line} has the outcome {number} again")
            try:
                table[number] = (
                    fraction(cell, name=f"the chance in line {line}") if cell.strip() else Fraction(0)
                )
            except InputError as error:
                problems.append(str(error))
    if problems:
        raise InputError(f"{name}: {'; '.join(problems[:8])}")
    try:
        return TableNoise(*tables)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def noise_pairs(noise: Noise) -> list[str]:
    """Write the law of a query as pairs of keys and values in TOML, from which `read_noise` makes it again.

    >>> from discreet.noise import PowerNoise
    >>> noise_pairs(PowerNoise("17/10", 5))
    ['scale = "5"', 'exponent = "17/10"']
    >>> print(*noise_pairs(TableNoise({0: "1/2", 1: "1/2"})))
    noise = { absent = { "0" = "1/2", "1" = "1/2" } }
    """
    stated = noise.stated()
    if stated is None:
        raise InputError(f"{noise} cannot be written as TOML; tables, powers and continuous noise can")
    return [f"{key} = {_value(value)}" for key, value in stated.items()]


def _value(value: StatedValue) -> str:
    """Write a number, a word, or tables of chances by name."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, Fraction):
        return quoted(value)
    texts = (f"{key} = {{ {', '.join(_pair(*pair) for pair in table)} }}" for key, table in value.items())
    return f"{{ {', '.join(texts)} }}"


def _pair(outcome: int, chance: Fraction) -> str:
    return f'"{outcome}" = {quoted(chance)}'
