"""Which groups there are and which codes belong to them, and how many groups one person can be in.

A specification is four public files, pipe-delimited, UTF-8, with a header that names the columns in any order
(rules: `docs/reference/safetab-files.md`). What the noise must cover is how many groups of one region and one
level a person is counted in. A person has up to `k` race codes and one ethnicity code. Counted are

    | intersection over the codes of their *alone* iterations |      (0 if the codes have none in common)
  + | union over the codes of their *combination* iterations |
  + | iterations of the ethnicity code |.

The Bureau's number is h_r max(2, k) + h_e, h_r the most iterations of one class (alone, or combination)
that any code maps to and h_e the same for ethnicity. `stability` proves it for the specification at
hand or returns a larger number that is proved. The proofs are in `docs/explanation/safetab.md`.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nlargest
from pathlib import Path
from typing import Literal

from discreet.errors import InputError
from discreet.release.problems import Problems
from discreet.release.safetab.geography import BELOW_STATE, GEOGRAPHIES, LEVELS


@dataclass(frozen=True, slots=True)
class PipeRow:
    """The cells of one row in the order of the table's columns, and its line in the file."""

    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PipeTable:
    """The wanted columns of a file and its rows."""

    file: str
    columns: tuple[str, ...]
    rows: tuple[PipeRow, ...]


def read_table(path: Path, columns: tuple[str, ...], problems: Problems) -> PipeTable | None:
    """Read the named columns of a file; None if it cannot be read, which is then among the problems."""
    file = path.name
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        problems.at("a file is missing", file=file)
        return None
    except OSError as error:
        problems.at(f"a file cannot be read: {error.strerror}", file=file)
        return None
    except UnicodeDecodeError as error:
        problems.at("a byte is not UTF-8", file=file, line=error.object.count(b"\n", 0, error.start) + 1)
        return None
    lines = csv.reader(io.StringIO(text, newline=""), delimiter="|", strict=True)
    try:
        header = [name.strip() for name in next(lines, [])]
        missing = [name for name in columns if name not in header]
        for name in missing:
            problems.at("a column is missing", file=file, line=1, field=name)
        twice = [name for name in columns if header.count(name) > 1]
        for name in twice:
            problems.at("a column occurs twice", file=file, line=1, field=name)
        if missing or twice:
            return None
        places = [header.index(name) for name in columns]
        rows = []
        for cells in lines:
            if len(cells) == len(header):
                rows.append(PipeRow(lines.line_num, tuple(cells[place].strip() for place in places)))
            elif "".join(cells).strip():
                problems.at(
                    f"a row does not have the {len(header)} fields of the header",
                    file=file,
                    line=lines.line_num,
                )
    except csv.Error as error:
        problems.at(f"not a pipe-delimited table: {error}", file=file, line=lines.line_num)
        return None
    return PipeTable(file, columns, tuple(rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """A bound on the groups of one region and level that one person is counted in, and why it holds."""

    value: int
    race: int
    ethnicity: int
    paired: bool
    why: str


def stability(
    alone: Mapping[str, frozenset[str]],
    combination: Mapping[str, frozenset[str]],
    ethnicity: Mapping[str, frozenset[str]],
    *,
    max_race_codes: int,
) -> Stability:
    """Return the stability of one level, from the codes of its iterations by class.

    >>> alone = {"2001": frozenset({"a", "b"})}
    >>> stability(alone, {"1130": frozenset({"a", "b"})}, {}, max_race_codes=8).value
    8
    >>> unpaired = {name: frozenset({code}) for name, code in (("1", "a"), ("2", "b"))}
    >>> stability(alone, unpaired, {}, max_race_codes=2)
    Stability(value=3, race=3, ethnicity=0, paired=False, why='alone and combination iterations are not \
paired, and a person can be in 3 race groups where the formula says 2')
    """
    in_alone, in_combination, in_ethnicity = (by_code(groups) for groups in (alone, combination, ethnicity))
    most_alone, most_combination, most_ethnicity = (
        max(map(len, groups.values()), default=0) for groups in (in_alone, in_combination, in_ethnicity)
    )
    formula = max(2, max_race_codes) * max(most_alone, most_combination)
    pairs = paired(alone.values(), combination.values())
    race, why = formula, "alone and combination iterations are paired"
    if not pairs:
        direct = race_bound(alone, in_alone, in_combination, max_race_codes)
        if direct <= formula:
            why = "alone and combination iterations are not paired, but the formula holds, found directly"
        else:
            race = direct
            why = (
                "alone and combination iterations are not paired, and a person can be in "
                f"{direct} race groups where the formula says {formula}"
            )
    return Stability(value=race + most_ethnicity, race=race, ethnicity=most_ethnicity, paired=pairs, why=why)


def by_code(groups: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Turn codes by iteration into iterations by code.

    >>> by_code({"1": frozenset({"a"}), "2": frozenset({"a"})}) == {"a": frozenset({"1", "2"})}
    True
    """
    found: dict[str, set[str]] = {}
    for name, codes in groups.items():
        for code in codes:
            found.setdefault(code, set()).add(name)
    return {code: frozenset(names) for code, names in found.items()}


def paired(alone: Iterable[frozenset[str]], combination: Iterable[frozenset[str]]) -> bool:
    """Whether each alone iteration has a combination iteration of its own with the same codes.

    An iteration without codes counts nobody and needs no partner.

    >>> a = frozenset("a")
    >>> paired([a], [a, a]), paired([a, a], [a]), paired([frozenset()], [])
    (True, False, True)
    """
    wanted, offered = Counter(codes for codes in alone if codes), Counter(combination)
    return all(count <= offered[codes] for codes, count in wanted.items())


def race_bound(
    alone: Mapping[str, frozenset[str]],
    in_alone: Mapping[str, frozenset[str]],
    in_combination: Mapping[str, frozenset[str]],
    most: int,
) -> int:
    """Bound the race groups of a person with up to `most` codes, whatever the specification.

    Either the codes share no alone iteration: then only combination iterations count, at most the sum
    over the `most` largest codes. Or they all belong to some alone iteration: then the same over its
    codes only, plus the alone iterations, of which no code may have more than are counted.
    """
    bound = _union_bound(in_combination, in_combination, most)
    for codes in alone.values():
        if codes:
            shared = max(len(in_alone[code]) for code in codes)
            bound = max(bound, shared + _union_bound(codes, in_combination, most))
    return bound


def _union_bound(codes: Iterable[str], groups: Mapping[str, frozenset[str]], most: int) -> int:
    """Bound the union of the iterations of up to `most` of the codes."""
    sets = [groups[code] for code in codes if code in groups]
    return min(sum(nlargest(most, map(len, sets))), len(frozenset().union(*sets)))


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

    def places(self, geography: str, level: int) -> list[int]:
        """Return where those groups stand among all iterations."""
        every = enumerate(self.iterations)
        return [place for place, one in every if one.level == level and one.tabulated(geography)]

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


def _codes(table: PipeTable | None, problems: Problems) -> dict[str, str]:
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


def _iterations(table: PipeTable | None, found: dict[str, Iteration], problems: Problems) -> None:
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
    table: PipeTable, codes: Mapping[str, str], iterations: Mapping[str, Iteration], problems: Problems
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
