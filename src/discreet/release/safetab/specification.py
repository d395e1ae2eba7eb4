"""Which groups there are and which codes belong to them: the four public files of a specification.

Pipe-delimited, UTF-8, with a header that names the columns in any order. Rules of the files:
`docs/reference/safetab-files.md`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from discreet.errors import InputError
from discreet.release.safetab.geographies import BELOW_STATE, GEOGRAPHIES, LEVELS
from discreet.release.safetab.problems import Problems
from discreet.release.safetab.stability import Stability, stability
from discreet.release.safetab.tables import Table, read_table

RACE_FILE = "race-characteristic-iterations.txt"
ETHNICITY_FILE = "ethnicity-characteristic-iterations.txt"
CODE_FILE = "race-and-ethnicity-codes.txt"
MAPPING_FILE = "race-and-ethnicity-code-to-iteration.txt"
FILES = (CODE_FILE, RACE_FILE, ETHNICITY_FILE, MAPPING_FILE)
"""The files of a specification."""

Kind = Literal["alone", "combination", "ethnicity"]
"""A race alone, alone or in any combination, or an ethnicity."""

NULL = "Null"
_ONLY = ("DETAILED_ONLY", "COARSE_ONLY")
_FLAGS = {"True": True, "False": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """One group of people, in the files a characteristic iteration.

    `total_only` groups get no table by sex and age, and none below the states; `coarse_only` groups
    are tabulated below the states only.
    """

    code: str
    name: str
    level: int
    kind: Kind
    total_only: bool = False
    coarse_only: bool = False

    def tabulated(self, geography: str) -> bool:
        """Whether the group is tabulated at a geography.

        >>> Iteration(code="1", name="A", level=2, kind="alone", total_only=True).tabulated("TRACT")
        False
        """
        if self.level not in LEVELS:
            return False
        return not (self.total_only if geography in BELOW_STATE else self.coarse_only)


@dataclass(frozen=True, kw_only=True)
class Specification:
    """The groups, the codes, and which code belongs to which groups (level 0 included)."""

    iterations: tuple[Iteration, ...]
    codes: Mapping[str, str]
    mapped: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def members(self) -> Mapping[str, frozenset[str]]:
        """The codes that belong to each group."""
        found: dict[str, set[str]] = {iteration.code: set() for iteration in self.iterations}
        for code, groups in self.mapped.items():
            for group in groups:
                found[group].add(code)
        return {group: frozenset(codes) for group, codes in found.items()}

    def tabulated(self, geography: str, level: int) -> tuple[Iteration, ...]:
        """Return the groups of a level that are tabulated at a geography, in the order of the files."""
        return tuple(one for one in self.iterations if one.level == level and one.tabulated(geography))

    def stability(self, level: int, max_race_codes: int, geography: str | None = None) -> Stability:
        """Return how many groups of one region one person can be counted in, at most.

        Total-only groups do not exist below the states and coarse-only ones not above, so the number may
        differ; without a geography it is the larger one.
        """
        if geography is None:
            sides = (self.stability(level, max_race_codes, one) for one in ("USA", "COUNTY"))
            return max(sides, key=lambda side: side.value)
        if geography not in GEOGRAPHIES:
            raise InputError(f"geography is {geography!r}; it must be one of {', '.join(GEOGRAPHIES)}")
        key = level, max_race_codes, geography in BELOW_STATE
        if key not in self._stabilities:
            classes: dict[Kind, dict[str, frozenset[str]]] = {"alone": {}, "combination": {}, "ethnicity": {}}
            for one in self.tabulated(geography, level):
                classes[one.kind][one.code] = self.members[one.code]
            self._stabilities[key] = stability(*classes.values(), max_race_codes=max_race_codes)
        return self._stabilities[key]

    @cached_property
    def _stabilities(self) -> dict[tuple[int, int, bool], Stability]:
        return {}


def read_specification(params: Path) -> Specification:
    """Read the four files of a folder of parameters; all problems are reported together."""
    problems = Problems()
    params = Path(params)
    codes = _codes(read_table(params / CODE_FILE, ("RACE_ETH_CODE", "RACE_ETH_NAME"), problems), problems)
    columns = ("ITERATION_CODE", "ITERATION_NAME", "LEVEL", "DETAILED_ONLY", "COARSE_ONLY")
    race = read_table(params / RACE_FILE, (*columns[:3], "ALONE", *columns[3:]), problems)
    ethnicity = read_table(params / ETHNICITY_FILE, columns, problems)
    iterations: dict[str, Iteration] = {}
    for table in (race, ethnicity):
        _iterations(table, iterations, problems)
    mapping = read_table(params / MAPPING_FILE, ("ITERATION_CODE", "RACE_ETH_CODE"), problems)
    mapped = {} if mapping is None else _mapped(mapping, codes, iterations, problems)
    problems.stop()
    return Specification(
        iterations=tuple(iterations.values()), codes=codes, mapped=mapped, notes=_notes(iterations, mapped)
    )


def write_specification(specification: Specification, folder: Path) -> None:
    """Write the four files, from which `read_specification` makes an equal specification.

    >>> from tempfile import TemporaryDirectory
    >>> one = Iteration(code="1", name="A alone", level=2, kind="alone")
    >>> small = Specification(iterations=(one,), codes={"7": "A"}, mapped={"7": ("1",)})
    >>> with TemporaryDirectory() as place:
    ...     write_specification(small, Path(place))
    ...     read_specification(Path(place)) == small
    True
    """
    race: list[Sequence[str]] = [("ITERATION_CODE", "ITERATION_NAME", "LEVEL", "ALONE", *_ONLY)]
    origin: list[Sequence[str]] = [("ITERATION_CODE", "ITERATION_NAME", "LEVEL", *_ONLY)]
    for one in specification.iterations:
        only = (NULL, NULL) if one.level == 0 else (str(one.total_only), str(one.coarse_only))
        alone = () if one.kind == "ethnicity" else (str(one.kind == "alone"),)
        rows = origin if one.kind == "ethnicity" else race
        rows.append((one.code, one.name, str(one.level), *alone, *only))
    pairs = [(group, code) for code, groups in specification.mapped.items() for group in groups]
    tables: dict[str, list[Sequence[str]]] = {
        CODE_FILE: [("RACE_ETH_CODE", "RACE_ETH_NAME"), *specification.codes.items()],
        RACE_FILE: race,
        ETHNICITY_FILE: origin,
        MAPPING_FILE: [("ITERATION_CODE", "RACE_ETH_CODE"), *pairs],
    }
    for name, lines in tables.items():
        with (Path(folder) / name).open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, delimiter="|", lineterminator="\n").writerows(lines)


def _codes(table: Table | None, problems: Problems) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in table.rows if table else ():
        code, name = row.cells
        _code(code, row.line, "RACE_ETH_CODE", CODE_FILE, problems)
        if code == NULL:
            problems.at(
                "Null stands for no code and cannot be one",
                file=CODE_FILE,
                line=row.line,
                field="RACE_ETH_CODE",
            )
        if code in found:
            problems.at("a code occurs twice", file=CODE_FILE, line=row.line, field="RACE_ETH_CODE")
        found[code] = name
    if table and not found:
        problems.at("there is no code", file=CODE_FILE)
    return found


def _iterations(table: Table | None, found: dict[str, Iteration], problems: Problems) -> None:
    for row in table.rows if table else ():
        assert table is not None
        values = dict(zip(table.columns, row.cells, strict=True))
        wrong = _reporter(problems, table.file, row.line)
        _code(values["ITERATION_CODE"], row.line, "ITERATION_CODE", table.file, problems)
        if values["ITERATION_CODE"] in found:
            wrong("an iteration code occurs twice in the two files of iterations", "ITERATION_CODE")
        level = values["LEVEL"]
        if level not in ("0", "1", "2"):
            wrong("a level is not 0, 1 or 2", "LEVEL")
        kind: Kind = "ethnicity"
        if "ALONE" in values:
            if values["ALONE"] not in _FLAGS:
                wrong("it is not True or False", "ALONE")
            kind = "alone" if values["ALONE"] == "True" else "combination"
        for flag in ("DETAILED_ONLY", "COARSE_ONLY"):
            if values[flag] not in _FLAGS and not (level == "0" and values[flag] == NULL):
                wrong("it is not True or False (or, at level 0, Null)", flag)
        if values["DETAILED_ONLY"] == values["COARSE_ONLY"] == "True":
            wrong(
                "a group is both DETAILED_ONLY and COARSE_ONLY, so it would be tabulated nowhere",
                "COARSE_ONLY",
            )
        found[values["ITERATION_CODE"]] = Iteration(
            code=values["ITERATION_CODE"],
            name=values["ITERATION_NAME"],
            level=int(level) if level in ("0", "1", "2") else 0,
            kind=kind,
            total_only=values["DETAILED_ONLY"] == "True",
            coarse_only=values["COARSE_ONLY"] == "True",
        )


def _mapped(
    table: Table, codes: Mapping[str, str], iterations: Mapping[str, Iteration], problems: Problems
) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {code: {} for code in codes}
    for row in table.rows:
        wrong = _reporter(problems, MAPPING_FILE, row.line)
        group, code = row.cells
        if group not in iterations:
            wrong("an iteration is in neither file of iterations", "ITERATION_CODE")
        if code not in codes:
            wrong(f"a code is not in {CODE_FILE}", "RACE_ETH_CODE")
        if group in found.setdefault(code, {}):
            wrong("a pair of iteration and code occurs twice", "ITERATION_CODE")
        found[code][group] = None
    return {code: tuple(groups) for code, groups in found.items()}


def _reporter(problems: Problems, file: str, line: int) -> Callable[[str, str], None]:
    return lambda text, column: problems.at(text, file=file, line=line, field=column)


def _code(code: str, line: int, column: str, file: str, problems: Problems) -> None:
    """Codes are written into pipe-delimited tables as they are, so they must be plain."""
    if not (code.isascii() and code.isalnum() and len(code) <= 16):
        problems.at("a code is not of 1 to 16 letters and digits", file=file, line=line, field=column)


def _notes(iterations: Mapping[str, Iteration], mapped: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    used = {group for groups in mapped.values() for group in groups}
    empty = sum(one.level in LEVELS and one.code not in used for one in iterations.values())
    return (f"{empty} iterations have no code: nobody is counted in them",) if empty else ()
