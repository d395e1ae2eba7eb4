"""How much is spent where, and what becomes of small groups: `config.json` as the Bureau's program reads it.

Budgets are exact: 0.159 is 159/1000, not the float next to it. `safetab.toml` says the same in one
table; see `safetab_toml`. Rules of both files: `docs/reference/safetab-files.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeVar

from discreet.budget.fields import hint, shown
from discreet.errors import InputError
from discreet.release.safetab import fields
from discreet.release.safetab.fields import Number
from discreet.release.safetab.geographies import GEOGRAPHIES, LEVELS, PASSES, PUERTO_RICO, STATES, Pass
from discreet.release.safetab.problems import Problems

Privacy = Literal["zcdp", "puredp"]
"""What the budgets are: rho of zero-concentrated privacy, or epsilon of pure privacy."""

JSON_FILE, TOML_FILE = "config.json", "safetab.toml"
MOST_CODES = 8
"""Race codes of one person in the files."""

Place = tuple[str, int]
"""A geography and a level of iterations."""

RUNS: dict[Pass, str] = {"US": "run_us", "PR": "run_pr"}
"""The key that says whether a pass is run."""

_BUDGETS = {
    f"privacy_budget_p_level_{level}_{geography.lower().replace('-', '_')}": (geography, level)
    for geography in GEOGRAPHIES
    for level in LEVELS
}
_GAMMA, _THRESHOLDS, _CHANCE = "privacy_budget_p_stage_1_fraction", "thresholds_p", "zero_suppression_chance"
_FLAGS = ("allow_negative_counts", "run_us", "run_pr")
_KEYS = ("max_race_codes", *_BUDGETS, _GAMMA, _THRESHOLDS, _CHANCE, *_FLAGS, "reader", "state_filter_us")
_ALL_KEYS = (*_KEYS, "privacy_defn")
_OTHER_PROGRAM = re.compile(r"(privacy_budget|thresholds)_h_.*")  # SafeTab-H may share the file
_PLACE = re.compile(r"\(\s*([A-Z-]+)\s*,\s*([0-9])\s*\)")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The parameters of a run, but for the groups.

    A budget of None is infinite (no noise); one of 0 says that the level is not tabulated.
    """

    max_race_codes: int
    budgets: Mapping[Place, Fraction | None]
    gamma: Fraction
    thresholds: Mapping[Place, tuple[int, int, int]]
    zero_suppression_chance: Fraction
    allow_negative_counts: bool
    run_us: bool
    run_pr: bool
    state_filter_us: tuple[str, ...]
    privacy: Privacy
    reader: str = field(default="csv", compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The passes that are run."""
        return tuple(which for which, run in RUNS.items() if getattr(self, run))

    def runs(self, geography: str, level: int) -> bool:
        """Whether this geography and level has a budget, so that it is tabulated if its pass is run."""
        return self.budgets[geography, level] != 0

    def levels(self, which: Pass) -> tuple[Place, ...]:
        """Return the geographies and levels of a pass that have a budget, in the order of the files."""
        return tuple(
            (geography, level)
            for geography in PASSES[which]
            for level in LEVELS
            if self.runs(geography, level)
        )


def read_configuration(params: Path) -> Configuration:
    """Read `config.json` or `safetab.toml` of a folder of parameters; all problems are reported together."""
    from discreet.release.safetab.safetab_toml import read_toml

    params = Path(params)
    found = [name for name in (JSON_FILE, TOML_FILE) if (params / name).is_file()]
    if len(found) == 2:
        raise InputError(f"both {JSON_FILE} and {TOML_FILE} are there; keep one of them ({params})")
    if not found:
        raise InputError(f"neither {JSON_FILE} nor {TOML_FILE} is there ({params})")
    text = _decoded(params / found[0])
    return read_json(text) if found[0] == JSON_FILE else read_toml(text)


def read_json(text: str, where: str = JSON_FILE) -> Configuration:
    """Read the Bureau's format from its text; `where` is what an error calls it."""
    data = _parsed(text, where)
    reader = Reader(data, where, lambda key: _line(text, key))
    return _from_json(reader)


class Reader:
    """Read values from a mapping, collecting what is wrong with them; a wrong one is read as its stand-in."""

    def __init__(self, data: Mapping[str, Any], where: str, line: Callable[[Any], int | None]) -> None:
        self.data, self.where, self.line, self.problems = data, where, line, Problems()

    def get(self, key: str, read: Callable[[Any], T], stand_in: T) -> T:
        """Return the value of a key that must be there."""
        if key not in self.data:
            self.problems.at("a key is missing", file=self.where, field=key)
            return stand_in
        return self.read(self.data[key], read, stand_in, key=key, field=key)

    def read(self, value: Any, read: Callable[[Any], T], stand_in: T, *, key: Any, field: str) -> T:
        """Return what `read` makes of a value; `key` finds its line."""
        try:
            return read(value)
        except InputError as error:
            self.wrong(str(error), key=key, field=field)
            return stand_in

    def wrong(self, text: str, *, key: Any, field: str) -> None:
        """Report a problem at a key."""
        self.problems.at(text, file=self.where, line=self.line(key), field=field)

    def known(self, allowed: tuple[str, ...]) -> None:
        """Report keys that are not allowed."""
        for key in self.data:
            if key not in allowed:
                self.wrong(f"an unknown key{hint(key, allowed)}", key=key, field=shown(key))


def privacy(value: object) -> Privacy:
    """Return which kind of privacy the budgets are of.

    >>> privacy("puredp")
    'puredp'
    """
    return "zcdp" if fields.word(value, ("zcdp", "puredp")) == "zcdp" else "puredp"


def states(value: object) -> tuple[str, ...]:
    """Return the states of the United States pass, as two digits each.

    >>> states(["01", "11"])
    ('01', '11')
    """
    if not isinstance(value, list):
        raise InputError('it is not a list; it must be a list of state codes such as ["01", "11"]')
    if not value:
        raise InputError("it is empty; it must name the states that are tabulated")
    for code in value:
        if isinstance(code, Number) or not isinstance(code, str) or code not in STATES:
            extra = "; Puerto Rico is its own pass" if code == PUERTO_RICO else ""
            raise InputError(f'{shown(code)} is not a two-digit state code in quotes, "01" to "56"{extra}')
    if len(set(value)) < len(value):
        raise InputError("a state occurs twice")
    return tuple(value)


def check_whole(reader: Reader, configuration: Configuration) -> None:
    """Report what is wrong although every value is allowed by itself."""
    if not configuration.passes:
        reader.wrong(
            "neither run_us nor run_pr is true; nothing would be tabulated", key="run_us", field="run_us"
        )
    for which in configuration.passes:
        places = configuration.levels(which)
        if not places:
            reader.wrong(
                "no budget of this pass is above 0; nothing would be tabulated", key=None, field=which
            )
        for geography, level in places:
            if (geography, level) not in configuration.thresholds:
                reader.wrong(
                    "thresholds are missing", key=_THRESHOLDS, field=f"{_THRESHOLDS} ({geography}, {level})"
                )


def _from_json(reader: Reader) -> Configuration:
    notes: list[str] = []
    others = tuple(key for key in reader.data if _OTHER_PROGRAM.fullmatch(key))
    reader.known((*_ALL_KEYS, *others))
    if others:
        notes.append(f"{len(others)} keys of {JSON_FILE} are of SafeTab-H and not used")
    zero = Fraction(0)
    flags = {key: reader.get(key, fields.truth, True) for key in _FLAGS}
    chance = zero
    if _CHANCE in reader.data:
        chance = reader.get(_CHANCE, lambda value: fields.share(value, zero=True), zero)
    else:
        notes.append(f"{JSON_FILE} has no {_CHANCE}: nothing is suppressed")
    name = reader.get("reader", _reader, "csv")
    if name.lower() not in ("csv", "parquet"):
        notes.append(f"reader {shown(name)} is the Bureau's own; CSV or Parquet files are read instead")
    configuration = Configuration(
        max_race_codes=reader.get(
            "max_race_codes", lambda value: fields.whole(value, 1, MOST_CODES), MOST_CODES
        ),
        budgets={place: reader.get(key, fields.budget, None) for key, place in _BUDGETS.items()},
        gamma=reader.get(_GAMMA, fields.share, Fraction(1, 2)),
        thresholds=_thresholds(reader),
        zero_suppression_chance=chance,
        state_filter_us=reader.get("state_filter_us", states, STATES) if flags["run_us"] else STATES,
        privacy=reader.get("privacy_defn", privacy, "zcdp"),
        reader=name,
        notes=tuple(notes),
        **flags,
    )
    if not reader.problems or _THRESHOLDS in reader.data:
        check_whole(reader, configuration)
    reader.problems.stop()
    return configuration


def _thresholds(reader: Reader) -> dict[Place, tuple[int, int, int]]:
    found: dict[Place, tuple[int, int, int]] = {}
    nothing: dict[str, Any] = {}
    table = reader.get(_THRESHOLDS, _table, nothing)
    for key, value in table.items():
        label = f"{_THRESHOLDS} {shown(key)}"
        match = _PLACE.fullmatch(key)
        if match is None or match[1] not in GEOGRAPHIES or int(match[2]) not in LEVELS:
            reader.wrong(
                'thresholds of an unknown geography or level; a key is such as "(PR-STATE, 2)"',
                key=key,
                field=label,
            )
            continue
        place = match[1], int(match[2])
        if place in found:
            reader.wrong("thresholds are given twice", key=key, field=label)
        found[place] = reader.read(value, fields.thresholds, (0, 0, 0), key=key, field=label)
    return found


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"it is {shown(value)}; it must be an object")
    return value


def _reader(value: object) -> str:
    if isinstance(value, Number) or not isinstance(value, str):
        raise InputError(f"it is {shown(value)}; it must be a string in quotes")
    return value


def _decoded(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start + 1} is not UTF-8 ({path.name})") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror} ({path.name})") from None


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        data = json.loads(
            text, parse_float=Number, parse_int=Number, parse_constant=Number, object_pairs_hook=_once
        )
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg} (line {error.lineno} of {where})") from None
    except RecursionError:
        raise InputError(f"not valid JSON: brackets are nested too deeply ({where})") from None
    except _TwiceError as error:
        key = error.args[0]
        raise InputError(
            f"key {shown(key)} occurs twice (line {_line(text, key, last=True)} of {where})"
        ) from None
    if not isinstance(data, dict):
        raise InputError(f"it must be an object of keys and values ({where})")
    return data


class _TwiceError(Exception):
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _TwiceError(key)
        found[key] = value
    return found


def _line(text: str, key: object, *, last: bool = False) -> int | None:
    """Find the line of a key; JSON's reader forgets it."""
    spots = [match.start() for match in re.finditer(re.escape(json.dumps(key)) + r"\s*:", text)]
    return text.count("\n", 0, spots[-1 if last else 0]) + 1 if spots else None
