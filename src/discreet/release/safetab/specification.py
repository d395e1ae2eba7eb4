"""The geographies of the tables, the levels of groups, the states.

Which groups there are and which codes belong to them, and how many groups one person can be in.

A specification is four public files, pipe-delimited, UTF-8, with a header that names the columns in any order
(rules: `docs/reference/safetab-files.md`). What the noise must cover is how many groups of one region and one
level a person is counted in. A person has up to `k` race codes and one ethnicity code. Counted are

    | intersection over the codes of their *alone* iterations |      (0 if the codes have none in common)
  + | union over the codes of their *combination* iterations |
  + | iterations of the ethnicity code |.

The Bureau's number is h_r max(2, k) + h_e, h_r the most iterations of one class (alone, or combination)
that any code maps to and h_e the same for ethnicity. It holds where alone and combination iterations are
paired. `race_bound` holds for any specification. `stability` takes the smaller of those that hold. The proofs
are in `docs/explanation/safetab.md`.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nlargest
from pathlib import Path
from typing import Literal

from discreet.errors import InputError
from discreet.release.tables import Problems

US_GEOGRAPHIES = ("USA", "STATE", "COUNTY", "TRACT", "PLACE", "AIANNH")
"""The geographies of the United States, in the order of the files."""

PR_GEOGRAPHIES = ("PR-STATE", "PR-COUNTY", "PR-TRACT", "PR-PLACE")
"""The geographies of Puerto Rico."""

GEOGRAPHIES = US_GEOGRAPHIES + PR_GEOGRAPHIES
"""All geographies."""

BELOW_STATE = frozenset(("COUNTY", "TRACT", "PLACE", "AIANNH", "PR-COUNTY", "PR-TRACT", "PR-PLACE"))
"""Where small groups are suppressed, coarse-only groups are shown and total-only groups are not."""

LEVELS = (1, 2)
"""The levels of iterations that are tabulated; level 0 is in the files and ignored."""

LEVEL_WORDS = {1: "regional", 2: "detailed"}
"""What the levels are called."""

Pass = Literal["US", "PR"]
"""A pass over the people of the United States, or of Puerto Rico."""

PASSES: dict[Pass, tuple[str, ...]] = {"US": US_GEOGRAPHIES, "PR": PR_GEOGRAPHIES}
"""The geographies of each pass."""

PASS_NAMES: dict[Pass, str] = {"US": "United States", "PR": "Puerto Rico"}
"""What the passes are called."""

PUERTO_RICO = "72"
"""The state code of Puerto Rico."""

STATES = tuple(f"{code:02}" for code in range(1, 57) if code not in (3, 7, 14, 43, 52))
"""The codes of the fifty states and the District of Columbia."""

WATER_FILE = "water-only-tracts.txt"
"""A list of tracts in the folder of parameters, one of eleven digits a line: see `read_water`."""


def read_water(params: Path) -> frozenset[str]:
    """Read the tracts that are water only, if the folder of parameters lists them."""
    path, problems = Path(params) / WATER_FILE, Problems()
    if not path.is_file():
        return frozenset()
    found = []
    for line, text in enumerate(path.read_bytes().decode("utf-8-sig", "replace").splitlines(), 1):
        tract = text.strip()
        if tract and not (len(tract) == 11 and tract.isascii() and tract.isdigit()):
            problems.at("a tract is not of eleven digits: state, county, tract", file=WATER_FILE, line=line)
        elif tract:
            found.append(tract)
    problems.stop()
    return frozenset(found)


# -- groups ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """A bound on the groups of one region and level that one person is counted in, and why it holds.

    `reached` says whether a person was found who is in that many; if not, there may be none.
    """

    value: int
    race: int
    ethnicity: int
    paired: bool
    reached: bool
    why: str


PAIRED = "alone and combination iterations are paired"


def stability(
    alone: Mapping[str, frozenset[str]],
    combination: Mapping[str, frozenset[str]],
    ethnicity: Mapping[str, frozenset[str]],
    *,
    max_race_codes: int,
) -> Stability:
    """Return the stability of one level, from the codes of its iterations by class.

    Guarantee. Assumed: a person has one to `max_race_codes` race codes and one ethnicity code, and is counted
    once in each iteration that the definition above names. Claimed: no such person is counted in more than
    `value` iterations. Proved in `docs/explanation/safetab.md`, checked against all people of small worlds in
    `test_safetab_stability.py`.

    >>> pairs = {"2001": frozenset({"a", "b"})}
    >>> found = stability(pairs, pairs, {}, max_race_codes=8)
    >>> found.value, found.reached
    (2, True)
    >>> found.why
    'in this specification a person is in at most 2 race groups where the formula says 8'
    >>> unpaired = {name: frozenset({code}) for name, code in (("1", "a"), ("2", "b"))}
    >>> stability(pairs, unpaired, {}, max_race_codes=2).why
    'alone and combination iterations are not paired, and a person can be in 3 race groups where the formula \
says 2'
    """
    in_alone, in_combination, in_ethnicity = (by_code(groups) for groups in (alone, combination, ethnicity))
    most_alone, most_combination, most_ethnicity = (
        max(map(len, groups.values()), default=0) for groups in (in_alone, in_combination, in_ethnicity)
    )
    formula = max(2, max_race_codes) * max(most_alone, most_combination)
    pairs = paired(alone.values(), combination.values())
    direct = race_bound(alone, in_alone, in_combination, max_race_codes)
    race = min(direct, formula) if pairs else direct
    found = race_witness(alone, in_alone, in_combination, max_race_codes, race)
    limits = f"{race} race groups where the formula says {formula}"
    if race < formula:
        why = f"in this specification a person is in at most {limits}"
    elif pairs:
        why = PAIRED
    elif race == formula:
        why = "alone and combination iterations are not paired, but the formula holds, found directly"
    else:
        can = "can" if found == race else "could"
        why = f"alone and combination iterations are not paired, and a person {can} be in {limits}"
    return Stability(
        value=race + most_ethnicity,
        race=race,
        ethnicity=most_ethnicity,
        paired=pairs,
        reached=found == race,
        why=why,
    )


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


def race_witness(
    alone: Mapping[str, frozenset[str]],
    in_alone: Mapping[str, frozenset[str]],
    in_combination: Mapping[str, frozenset[str]],
    most: int,
    bound: int,
) -> int:
    """Return the race groups of a person with many, built code by code; stop at one who reaches a bound.

    Codes come from the whole specification, then from one alone iteration at a time. Greedy choice need not
    find the person with the most.
    """
    nothing: frozenset[str] = frozenset()
    best = 0
    for codes in ({**in_alone, **in_combination}, *alone.values()):
        left, counted = set(codes), nothing
        shared: frozenset[str] | None = None
        for _ in range(min(most, len(left))):
            # ties are broken by the code, so that the answer is the same each time
            _, code = max((len(in_combination.get(one, nothing) - counted), one) for one in left)
            left.remove(code)
            counted |= in_combination.get(code, nothing)
            own = in_alone.get(code, nothing)
            shared = own if shared is None else shared & own
            best = max(best, len(counted) + len(shared))
        if best >= bound:
            break
    return best


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
_FLAGS = ("True", "False")


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
    codes: dict[str, str] = {}
    columns: tuple[str, ...] = ("RACE_ETH_CODE", "RACE_ETH_NAME")
    for row in _rows(Path(params) / CODE_FILE, columns, problems, need="there is no code"):
        code = row.code("RACE_ETH_CODE")
        if code == NULL:
            row.wrong("Null stands for no code and cannot be one", "RACE_ETH_CODE")
        if code in codes:
            row.wrong("a code occurs twice", "RACE_ETH_CODE")
        codes[code] = row.cells["RACE_ETH_NAME"]
    iterations: dict[str, Iteration] = {}
    group = ("ITERATION_CODE", "ITERATION_NAME", "LEVEL")
    for file, columns in ((RACE_FILE, (*group, "ALONE", *_ONLY)), (ETHNICITY_FILE, (*group, *_ONLY))):
        for row in _rows(Path(params) / file, columns, problems):
            if row.cells["ITERATION_CODE"] in iterations:
                row.wrong("an iteration code occurs twice in the two files of iterations", "ITERATION_CODE")
            one = _iteration(row)
            iterations[one.code] = one
    mapped: dict[str, dict[str, None]] = {code: {} for code in codes}
    for row in _rows(Path(params) / MAPPING_FILE, ("ITERATION_CODE", "RACE_ETH_CODE"), problems):
        name, code = row.cells.values()
        if name not in iterations:
            row.wrong("an iteration is in neither file of iterations", "ITERATION_CODE")
        if code not in codes:
            row.wrong(f"a code is not in {CODE_FILE}", "RACE_ETH_CODE")
        if name in mapped.setdefault(code, {}):
            row.wrong("a pair of iteration and code occurs twice", "ITERATION_CODE")
        mapped[code][name] = None
    problems.stop()
    used = {name for groups in mapped.values() for name in groups}
    empty = sum(one.level in LEVELS and one.code not in used for one in iterations.values())
    return Specification(
        iterations=tuple(iterations.values()),
        codes=codes,
        mapped={code: tuple(groups) for code, groups in mapped.items()},
        notes=(f"{empty} iterations have no code: nobody is counted in them",) if empty else (),
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """The cells of one row by column, and where they stand."""

    cells: Mapping[str, str]
    file: str
    line: int
    problems: Problems

    def wrong(self, text: str, column: str) -> None:
        self.problems.at(text, file=self.file, line=self.line, field=column)

    def code(self, column: str) -> str:
        """Return a code; codes are written into pipe-delimited tables as they are, so they must be plain."""
        code = self.cells[column]
        if not (code.isascii() and code.isalnum() and len(code) <= 16):
            self.wrong("a code is not of 1 to 16 letters and digits", column)
        return code


def _rows(path: Path, columns: Sequence[str], problems: Problems, *, need: str = "") -> Iterator[_Row]:
    """Yield the named columns of a file, row by row; what is wrong with it is then among the problems."""
    file = path.name
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return problems.at("a file is missing", file=file)
    except OSError as error:
        return problems.at(f"a file cannot be read: {error.strerror}", file=file)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        return problems.at("a byte is not UTF-8", file=file, line=line)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter="|", strict=True)
    try:
        header = [name.strip() for name in next(lines, [])]
        wrong = [name for name in columns if header.count(name) != 1]
        for name in wrong:
            what = "occurs twice" if name in header else "is missing"
            problems.at(f"a column {what}", file=file, line=1, field=name)
        for cells in lines if not wrong else ():
            if len(cells) == len(header):
                need = ""
                found = dict(zip(header, (cell.strip() for cell in cells), strict=True))
                yield _Row({name: found[name] for name in columns}, file, lines.line_num, problems)
            elif "".join(cells).strip():
                what = f"a row does not have the {len(header)} fields of the header"
                problems.at(what, file=file, line=lines.line_num)
        if need and not wrong:
            problems.at(need, file=file)
    except csv.Error as error:
        problems.at(f"not a pipe-delimited table: {error}", file=file, line=lines.line_num)


def _iteration(row: _Row) -> Iteration:
    values, level = row.cells, row.cells["LEVEL"]
    if level not in ("0", "1", "2"):
        row.wrong("a level is not 0, 1 or 2", "LEVEL")
    kind: Kind = "ethnicity"
    if "ALONE" in values:
        if values["ALONE"] not in _FLAGS:
            row.wrong("it is not True or False", "ALONE")
        kind = "alone" if values["ALONE"] == "True" else "combination"
    for flag in _ONLY:
        if values[flag] not in _FLAGS and not (level == "0" and values[flag] == NULL):
            row.wrong("it is not True or False (or, at level 0, Null)", flag)
    if values["DETAILED_ONLY"] == values["COARSE_ONLY"] == "True":
        text = "a group is both DETAILED_ONLY and COARSE_ONLY, so it would be tabulated nowhere"
        row.wrong(text, "COARSE_ONLY")
    return Iteration(
        code=row.code("ITERATION_CODE"),
        name=values["ITERATION_NAME"],
        level=int(level) if level in ("0", "1", "2") else 0,
        kind=kind,
        total_only=values["DETAILED_ONLY"] == "True",
        coarse_only=values["COARSE_ONLY"] == "True",
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
