"""How much is spent where, and what becomes of small groups.

`config.json` is read as the Bureau's program reads it; `safetab.toml` says the same in one table, and is also
written. Budgets are exact: 0.159 is 159/1000, not the float next to it, so a number is kept as it was written
(`Number`) until it is read. Rules of both files: `docs/reference/safetab-files.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal, TypeVar

from discreet.budget.fields import hint
from discreet.budget.lines import key_lines, line_of
from discreet.budget.toml import parse_toml
from discreet.errors import InputError
from discreet.numbers import fraction, shown
from discreet.release.problems import Problems
from discreet.release.safetab.geography import GEOGRAPHIES, LEVELS, PASSES, PUERTO_RICO, STATES, Pass

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_INFINITE = ("infinity", "+infinity", "inf", "+inf")
_NO_NUMBER = ("nan", "+nan", "-nan")


BUDGETS = (Fraction(1, 10**6), Fraction(5000))
"""Finite budgets that are accepted: beyond them there is nothing but noise, or none worth the name."""


class Number(str):
    """A number as it was written, told apart from a text in quotes."""

    __slots__ = ()


def read_budget(value: object, *, quoted: bool = False) -> Fraction | None:
    """Return a budget as an exact fraction, None if it is infinite.

    >>> read_budget(Number("0.159")), read_budget(Number("Infinity")), read_budget(Number("0"))
    (Fraction(159, 1000), None, Fraction(0, 1))
    >>> read_budget(Number("-0.1"))
    Traceback (most recent call last):
    discreet.errors.InputError: a budget is -0.1; it must be 0 (not tabulated), above 0, or \
infinite (no noise)
    """
    text = _text(value, "a budget", quoted)
    if text.lower() in _INFINITE:
        return None
    if text.lower() in _NO_NUMBER or text.startswith("-"):
        raise InputError(
            f"a budget is {text[:40]}; it must be 0 (not tabulated), above 0, or infinite (no noise)"
        )
    found = fraction(text, name="a budget")
    if found and not BUDGETS[0] <= found <= BUDGETS[1]:
        raise InputError(
            f"a budget is {text[:40]}; one that is neither 0 nor infinite must lie between "
            f"{float(BUDGETS[0]):g} and {BUDGETS[1]}"
        )
    return found


def read_share(value: object, *, zero: bool = False, quoted: bool = False) -> Fraction:
    """Return an exact fraction between 0 and 1, both excluded, or 0 included.

    >>> read_share(Number("0.1")), read_share(Number("0"), zero=True)
    (Fraction(1, 10), Fraction(0, 1))
    """
    text = _text(value, "it", quoted)
    allowed = "it must be at least 0 and below 1" if zero else "it must be above 0 and below 1"
    if text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise InputError(f"it is {text}; {allowed}")
    number = fraction(text, name="it")
    if not (0 < number < 1 or (zero and number == 0)):
        raise InputError(f"it is {text[:40]}; {allowed}")
    return number


def read_whole(value: object, lowest: int, highest: int | None = None) -> int:
    """Return a whole number within bounds; 8.0 is not one.

    >>> read_whole(Number("8"), 1, 8)
    8
    >>> read_whole(Number("2.5"), 1, 8)
    Traceback (most recent call last):
    discreet.errors.InputError: it is 2.5; it must be a whole number from 1 to 8
    """
    allowed = (
        f"a whole number from {lowest} to {highest}" if highest else f"a whole number of at least {lowest}"
    )
    found = str(value)[:40] if isinstance(value, Number | int | float) else shown(value)
    text = str(value) if isinstance(value, Number | int) and not isinstance(value, bool) else ""
    if not _WHOLE.fullmatch(text) or int(text) < lowest or (highest is not None and int(text) > highest):
        raise InputError(f"it is {found}; it must be {allowed}")
    return int(text)


def read_truth(value: object) -> bool:
    """Return true or false, as which 1, 0 and texts do not count.

    >>> read_truth(True)
    True
    """
    if not isinstance(value, bool):
        raise InputError(f"it is {_found(value)}; it must be true or false")
    return value


def read_word(value: object, allowed: tuple[str, ...]) -> str:
    """Return one of the allowed words.

    >>> read_word("zcdp", ("zcdp", "puredp"))
    'zcdp'
    """
    if isinstance(value, str) and not isinstance(value, Number) and value in allowed:
        return value
    choice = " or ".join(f'"{one}"' for one in allowed) if len(allowed) < 4 else ", ".join(allowed)
    raise InputError(f"it is {_found(value)}; it must be {choice}{hint(value, allowed)}")


def read_thresholds(value: object) -> tuple[int, int, int]:
    """Return three thresholds that do not decrease.

    >>> read_thresholds([Number("471"), Number("971"), Number("6971")])
    (471, 971, 6971)
    """
    if not isinstance(value, list) or len(value) != 3:
        found = f"a list of {len(value)}" if isinstance(value, list) else _found(value)
        raise InputError(f"it is {found}; it must be a list of exactly three thresholds")
    first, second, third = (read_whole(one, 0) for one in value)
    if not first <= second <= third:
        raise InputError(f"it is {first}, {second}, {third}; thresholds must not decrease")
    return first, second, third


def _text(value: object, name: str, quoted: bool) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, Number) or (quoted and isinstance(value, str)):
        return str(value).strip()
    extra = ' or a text such as "1/125"' if quoted else ""
    raise InputError(f"{name} is {_found(value)}; it must be a number such as 0.008{extra}")


def _found(value: object) -> str:
    if isinstance(value, Number):
        return str(value)[:40]
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return shown(value)


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
    from discreet.release.safetab.configuration import read_toml

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

    def __init__(self, data: Mapping[str, object], where: str, line: Callable[[object], int | None]) -> None:
        self.data, self.where, self.line, self.problems = data, where, line, Problems()

    def get(self, key: str, read: Callable[[object], T], stand_in: T) -> T:
        """Return the value of a key that must be there."""
        if key not in self.data:
            self.problems.at("a key is missing", file=self.where, field=key)
            return stand_in
        return self.read(self.data[key], read, stand_in, key=key, field=key)

    def read(self, value: object, read: Callable[[object], T], stand_in: T, *, key: object, field: str) -> T:
        """Return what `read` makes of a value; `key` finds its line."""
        try:
            return read(value)
        except InputError as error:
            self.wrong(str(error), key=key, field=field)
            return stand_in

    def wrong(self, text: str, *, key: object, field: str) -> None:
        """Report a problem at a key."""
        self.problems.at(text, file=self.where, line=self.line(key), field=field)

    def known(self, allowed: tuple[str, ...]) -> None:
        """Report keys that are not allowed."""
        for key in self.data:
            if key not in allowed:
                self.wrong(f"an unknown key{hint(key, allowed)}", key=key, field=shown(key))


def read_privacy(value: object) -> Privacy:
    """Return which kind of privacy the budgets are of.

    >>> read_privacy("puredp")
    'puredp'
    """
    return "zcdp" if read_word(value, ("zcdp", "puredp")) == "zcdp" else "puredp"


def read_states(value: object) -> tuple[str, ...]:
    """Return the states of the United States pass, as two digits each.

    >>> read_states(["01", "11"])
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
    flags = {key: reader.get(key, read_truth, True) for key in _FLAGS}
    chance = zero
    if _CHANCE in reader.data:
        chance = reader.get(_CHANCE, lambda value: read_share(value, zero=True), zero)
    else:
        notes.append(f"{JSON_FILE} has no {_CHANCE}: nothing is suppressed")
    name = reader.get("reader", _reader, "csv")
    if name.lower() not in ("csv", "parquet"):
        notes.append(f"reader {shown(name)} is the Bureau's own; CSV or Parquet files are read instead")
    configuration = Configuration(
        max_race_codes=reader.get(
            "max_race_codes", lambda value: read_whole(value, 1, MOST_CODES), MOST_CODES
        ),
        budgets={place: reader.get(key, read_budget, None) for key, place in _BUDGETS.items()},
        gamma=reader.get(_GAMMA, read_share, Fraction(1, 2)),
        thresholds=_thresholds(reader),
        zero_suppression_chance=chance,
        state_filter_us=reader.get("state_filter_us", read_states, STATES) if flags["run_us"] else STATES,
        privacy=reader.get("privacy_defn", read_privacy, "zcdp"),
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
    nothing: dict[str, object] = {}
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
        found[place] = reader.read(value, read_thresholds, (0, 0, 0), key=key, field=label)
    return found


def _table(value: object) -> dict[str, object]:
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


def _parsed(text: str, where: str) -> dict[str, object]:
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


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise _TwiceError(key)
        found[key] = value
    return found


def _line(text: str, key: object, *, last: bool = False) -> int | None:
    """Find the line of a key; JSON's reader forgets it."""
    spots = [match.start() for match in re.finditer(re.escape(json.dumps(key)) + r"\s*:", text)]
    return text.count("\n", 0, spots[-1 if last else 0]) + 1 if spots else None


BUDGET_WORDS: dict[Privacy, str] = {"zcdp": "rho", "puredp": "epsilon"}
"""What a budget is called, by the kind of privacy."""

_TOML_KEYS = (
    "privacy",
    "max_race_codes",
    "stage_one_share",
    "zero_suppression_chance",
    "allow_negative_counts",
    "run_us",
    "run_pr",
    "states",
    "levels",
)


def read_toml(text: str, where: str = TOML_FILE) -> Configuration:
    """Read a configuration from the text of a `safetab.toml`; `where` is what an error calls it."""
    text = text.replace("\r\n", "\n")
    data = parse_toml(text, where, parse_float=Number)
    lines = key_lines(text)
    reader = Reader(data, where, lambda key: line_of(lines, key if isinstance(key, tuple) else (key,)))
    reader.known(_TOML_KEYS)
    kind: Privacy = reader.get("privacy", read_privacy, "zcdp")
    budgets, thresholds = _levels(reader, BUDGET_WORDS[kind])
    runs = {}
    for which, key in RUNS.items():
        spends = any(budgets[place] != 0 for place in budgets if place[0] in PASSES[which])
        runs[key] = _optional(reader, key, read_truth, spends)
    configuration = Configuration(
        max_race_codes=reader.get(
            "max_race_codes", lambda value: read_whole(value, 1, MOST_CODES), MOST_CODES
        ),
        budgets=budgets,
        gamma=reader.get("stage_one_share", lambda value: read_share(value, quoted=True), Fraction(1, 2)),
        thresholds=thresholds,
        zero_suppression_chance=reader.get(
            "zero_suppression_chance", lambda value: read_share(value, zero=True, quoted=True), Fraction(0)
        ),
        allow_negative_counts=reader.get("allow_negative_counts", read_truth, True),
        state_filter_us=_optional(reader, "states", read_states, STATES),
        privacy=kind,
        run_us=runs["run_us"],
        run_pr=runs["run_pr"],
    )
    check_whole(reader, configuration)
    reader.problems.stop()
    return configuration


def write_toml(configuration: Configuration) -> str:
    """Write a configuration as the text of a `safetab.toml`, from which `read_toml` makes an equal one."""
    word = BUDGET_WORDS[configuration.privacy]
    lines = [
        f'privacy = "{configuration.privacy}"',
        f"max_race_codes = {configuration.max_race_codes}",
        f"stage_one_share = {number_text(configuration.gamma)}",
        f"zero_suppression_chance = {number_text(configuration.zero_suppression_chance)}",
        *(
            f"{key} = {str(getattr(configuration, key)).lower()}"
            for key in ("allow_negative_counts", "run_us", "run_pr")
        ),
    ]
    if configuration.state_filter_us != STATES:
        lines.append(
            f"states = [{', '.join(f'{code!r}' for code in configuration.state_filter_us)}]".replace("'", '"')
        )
    lines += ["", "levels = ["]
    for (geography, level), budget in configuration.budgets.items():
        steps = configuration.thresholds.get((geography, level))
        if budget == 0 and steps is None:
            continue
        shown_budget = "inf" if budget is None else number_text(budget)
        row = f'{{ geography = "{geography}", level = {level}, {word} = {shown_budget}'
        lines.append(f"  {row}{f', thresholds = {list(steps)}' if steps else ''} }},")
    return "\n".join([*lines, "]", ""])


def number_text(value: Fraction) -> str:
    """Write an exact number as a decimal if it is one, otherwise as a fraction in quotes.

    >>> number_text(Fraction(159, 1000)), number_text(Fraction(1, 3)), number_text(Fraction(5))
    ('0.159', '"1/3"', '5')
    """
    rest, places = value.denominator, 0
    while rest % 10 == 0:
        rest, places = rest // 10, places + 1
    for prime in (2, 5):
        while rest % prime == 0:
            rest, places = rest // prime, places + 1
    if rest != 1 or places > 50:
        return f'"{value}"'
    if places == 0:
        return str(value.numerator)
    digits = str(value.numerator * 10**places // value.denominator).rjust(places + 1, "0")
    whole, decimals = digits[:-places], digits[-places:].rstrip("0")
    return f"{whole}.{decimals}"


def _levels(
    reader: Reader, word: str
) -> tuple[dict[Place, Fraction | None], dict[Place, tuple[int, int, int]]]:
    budgets: dict[Place, Fraction | None] = {
        (geography, level): Fraction(0) for geography in GEOGRAPHIES for level in LEVELS
    }
    thresholds: dict[Place, tuple[int, int, int]] = {}
    seen: set[Place] = set()
    allowed = ("geography", "level", word, "thresholds")
    nothing: list[dict[str, object]] = []
    for index, row in enumerate(reader.get("levels", _rows, nothing)):
        at = ("levels", index)
        for key in row:
            if key not in allowed:
                other = (
                    f"; with this privacy the budget is called {word}" if key in BUDGET_WORDS.values() else ""
                )
                reader.wrong(
                    f"an unknown key{other or hint(key, allowed)}",
                    key=(*at, key),
                    field=f"levels {shown(key)}",
                )
        for key in ("geography", "level", word):
            if key not in row:
                reader.wrong("a key is missing", key=at, field=f"levels {key}")
        if not {"geography", "level", word} <= row.keys():
            continue
        bad = reader.problems.count
        geography = reader.read(
            row["geography"],
            lambda value: read_word(value, GEOGRAPHIES),
            "",
            key=(*at, "geography"),
            field="levels geography",
        )
        level = reader.read(
            row["level"], lambda value: read_whole(value, 1, 2), 0, key=(*at, "level"), field="levels level"
        )
        budget = reader.read(
            row[word],
            lambda value: read_budget(value, quoted=True),
            None,
            key=(*at, word),
            field=f"levels {word}",
        )
        steps = None
        if "thresholds" in row:
            steps = reader.read(
                row["thresholds"], read_thresholds, None, key=(*at, "thresholds"), field="levels thresholds"
            )
        if reader.problems.count > bad:
            continue
        if (geography, level) in seen:
            reader.wrong("a geography and level occur twice", key=at, field="levels")
        seen.add((geography, level))
        budgets[geography, level] = budget
        if steps is not None:
            thresholds[geography, level] = steps
    return budgets, thresholds


def _rows(value: object) -> list[dict[str, object]]:
    if not isinstance(value, list) or not value or not all(isinstance(row, dict) for row in value):
        raise InputError('it must be a list of rows such as { geography = "USA", level = 2, ... }')
    return value


def _optional(reader: Reader, key: str, read: Callable[[object], T], default: T) -> T:
    return reader.get(key, read, default) if key in reader.data else default
