"""The Census Bureau's files of groups: which groups there are and which codes belong to them.

A specification of groups is four public files, pipe-delimited, UTF-8, with a header that names the columns in
any order (rules: `docs/reference/safetab-files.md`). What is tabulated of them is `data/safetab-p.toml`, for
people, and `data/safetab-h.toml`, for households; the settings beside the groups say which of the two.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from discreet.budget.toml import parse_toml
from discreet.census.mechanism.groups import Iteration, Specification
from discreet.census.mechanism.specification import read_file
from discreet.census.mechanism.tabulation import AdaptiveTabulation
from discreet.census.mechanism.tabulation_toml import read_tabulation
from discreet.files import readable
from discreet.tables import Delimited, Problems, find_columns


@cache
def safetab_p() -> AdaptiveTabulation:
    """Return what SafeTab-P tabulates.

    >>> tabulation = safetab_p()
    >>> [*tabulation.passes], tabulation.ladder(2).names
    (['US', 'PR'], ('T01001', 'T02001', 'T02002', 'T02003'))
    """
    return _packaged("safetab-p.toml")


@cache
def safetab_h() -> AdaptiveTabulation:
    """Return what SafeTab-H tabulates.

    >>> tabulation = safetab_h()
    >>> tabulation.unit, [ladder.names for ladder in tabulation.ladders.values()]
    ('household', [('T03001', 'T03002', 'T03003', 'T03004'), ('T04001', 'T04002')])
    """
    return _packaged("safetab-h.toml")


def _packaged(name: str) -> AdaptiveTabulation:
    text = (files("discreet.census.safetab") / "data" / name).read_text(encoding="utf-8")
    return read_tabulation(parse_toml(text, name), text)


JSON_FILE, TOML_FILE = "config.json", "safetab.toml"
"""The settings of a folder of parameters: the Bureau's, or our own."""

_KEY = re.compile(r'"(?:privacy_budget|thresholds)_([ph])(?:_|")')
_NAMED = re.compile(r'^[ \t]*tabulation[ \t]*=[ \t]*["\']safetab-h["\']', re.MULTILINE)


def tabulation_of(params: Path) -> AdaptiveTabulation:
    """Return what the settings of a folder are of: SafeTab-P, or SafeTab-H if they are of that alone.

    What cannot be read is of SafeTab-P; who reads the settings says what is wrong with them.
    """
    for name in (JSON_FILE, TOML_FILE):
        try:
            text = (params / name).read_text(encoding="utf-8-sig", errors="replace")
        except OSError:
            continue
        return safetab_h() if is_of_households(text) else safetab_p()
    return safetab_p()


def is_of_households(settings: str) -> bool:
    """Whether the text of settings is of SafeTab-H.

    >>> is_of_households('{"thresholds_h_t3": {}}'), is_of_households('{"thresholds_p": {}}')
    (True, False)
    >>> is_of_households('tabulation = "safetab-h"')
    True
    """
    return set(_KEY.findall(settings)) == {"h"} or _NAMED.search(settings) is not None


WATER_FILE = "water-only-tracts.txt"
"""A list of tracts in the folder of parameters, one of eleven digits a line: see `read_water`."""


def read_water(params: Path) -> frozenset[str]:
    """Read the regions that are left out of comparisons of areas: tracts of water only, if they are listed.

    A specification names the file, which lies beside it.
    """
    if Path(params).is_file():
        name, _ = read_file(Path(params))[1].tabulation.without
        other = Path(params).parent / name
        return (
            frozenset(other.read_text(encoding="utf-8").split()) if name and other.is_file() else frozenset()
        )
    path, problems = Path(params) / WATER_FILE, Problems()
    if not path.is_file():
        return frozenset()
    tracts = []
    for line, text in enumerate(path.read_bytes().decode("utf-8-sig", "replace").splitlines(), 1):
        tract = text.strip()
        if tract and not (len(tract) == 11 and tract.isascii() and tract.isdigit()):
            problems.at("a tract is not of eleven digits: state, county, tract", file=WATER_FILE, line=line)
        elif tract:
            tracts.append(tract)
    problems.stop()
    return frozenset(tracts)


RACE_FILE = "race-characteristic-iterations.txt"
ETHNICITY_FILE = "ethnicity-characteristic-iterations.txt"
CODE_FILE = "race-and-ethnicity-codes.txt"
MAPPING_FILE = "race-and-ethnicity-code-to-iteration.txt"
FILES = (CODE_FILE, RACE_FILE, ETHNICITY_FILE, MAPPING_FILE)
"""The files of a specification."""

NULL = "Null"
_ONLY = ("DETAILED_ONLY", "COARSE_ONLY")
_FLAGS = ("True", "False")


def read_specification(params: Path) -> Specification:
    """Read the groups of parameters, a folder of four files or the file of a specification.

    All problems of the four files are reported together.
    """
    if Path(params).is_file():
        return read_file(Path(params))[1]
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
            iteration = _iteration(row)
            iterations[iteration.code] = iteration
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
    empty = sum(iteration.level > 0 and iteration.code not in used for iteration in iterations.values())
    return Specification(
        tabulation=tabulation_of(Path(params)),
        iterations=tuple(iterations.values()),
        codes=codes,
        mapped={code: tuple(groups) for code, groups in mapped.items()},
        notes=(f"{empty} iterations have no code: nobody is counted in them",) if empty else (),
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """The cells of one row by column, and where they stand."""

    cells: Mapping[str, str]
    place: int
    problems: Problems

    def wrong(self, text: str, column: str) -> None:
        self.problems.row(self.place, text, column)

    def code(self, column: str) -> str:
        """Return a code; codes are written into pipe-delimited tables as they are, so they must be plain."""
        code = self.cells[column]
        if not (code.isascii() and code.isalnum() and len(code) <= 16):
            self.wrong("a code is not of 1 to 16 letters and digits", column)
        return code


def _rows(path: Path, columns: Sequence[str], problems: Problems, *, need: str = "") -> Iterator[_Row]:
    """Yield the named columns of a file, row by row; what is wrong with it is then among the problems."""
    if not path.is_file():
        return problems.at("a file is missing", file=path.name)
    with problems.gathering(), readable(path):
        table = Delimited.open(path, columns)
        mine = problems.of(table.shown, first_line=table.first_line)
        mine.written = find_columns(
            table.names, needed=columns, optional=(), table=table.shown, problems=mine
        )
        if len(mine.written) < len(columns):
            return None
        places = {name: table.names.index(mine.written[name]) for name in columns}
        for row_number, fields in table.rows(mine, strict=True, gaps=True):
            need = ""
            yield _Row({name: fields[at].strip() for name, at in places.items()}, row_number, mine)
        if need:
            problems.at(need, file=path.name)


def _iteration(row: _Row) -> Iteration:
    values, level = row.cells, row.cells["LEVEL"]
    if level not in ("0", "1", "2"):
        row.wrong("a level is not 0, 1 or 2", "LEVEL")
    kind = "ethnicity"
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
    >>> group = Iteration(code="1", name="A alone", level=2, kind="alone")
    >>> codes, mapped = {"7": "A"}, {"7": ("1",)}
    >>> small = Specification(tabulation=safetab_p(), iterations=(group,), codes=codes, mapped=mapped)
    >>> with TemporaryDirectory() as folder:
    ...     write_specification(small, Path(folder))
    ...     read_specification(Path(folder)) == small
    True
    """
    race: list[Sequence[str]] = [("ITERATION_CODE", "ITERATION_NAME", "LEVEL", "ALONE", *_ONLY)]
    origin: list[Sequence[str]] = [("ITERATION_CODE", "ITERATION_NAME", "LEVEL", *_ONLY)]
    for iteration in specification.iterations:
        only = (
            (NULL, NULL) if iteration.level == 0 else (str(iteration.total_only), str(iteration.coarse_only))
        )
        alone = () if iteration.kind == "ethnicity" else (str(iteration.kind == "alone"),)
        rows = origin if iteration.kind == "ethnicity" else race
        rows.append((iteration.code, iteration.name, str(iteration.level), *alone, *only))
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
