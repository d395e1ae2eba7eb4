"""How much is spent where, and what becomes of small groups.

`config.json` is read as the Bureau's program reads it; `safetab.toml` says the same in one table, and is also
written. Budgets are exact: 0.159 is 159/1000, not the float next to it, so a number with a decimal point is
kept as it was written (`Number`) until it is read. Rules of both files: `docs/reference/safetab-files.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Literal, TypeVar, cast

from discreet.budget.toml import hint, parse_toml
from discreet.budget.toml_lines import Place as Where
from discreet.budget.toml_lines import key_lines, nearest_line
from discreet.errors import InputError
from discreet.numbers import fraction, shown
from discreet.release.safetab.specification import GEOGRAPHIES, LEVELS, PASSES, PUERTO_RICO, STATES, Pass
from discreet.release.tables import Problems

BUDGETS = (Fraction(1, 10**6), Fraction(5000))
"""Finite budgets that are accepted: beyond them there is nothing but noise, or none worth the name."""

Privacy = Literal["zcdp", "puredp"]
"""What the budgets are: rho of zero-concentrated privacy, or epsilon of pure privacy."""

BUDGET_WORDS: dict[Privacy, str] = {"zcdp": "rho", "puredp": "epsilon"}
"""What a budget is called, by the kind of privacy."""

JSON_FILE, TOML_FILE = "config.json", "safetab.toml"
MOST_CODES = 8
"""Race codes of one person in the files."""

Place = tuple[str, int]
"""A geography and a level of iterations."""

Thresholds = tuple[int, int, int]
"""From which noisy total on a group gets sex by 4, 9 and 23 ages."""

RUNS: dict[Pass, str] = {"US": "run_us", "PR": "run_pr"}
"""The key that says whether a pass is run."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The parameters of a run, but for the groups.

    A budget of None is infinite (no noise); one of 0 says that the level is not tabulated.
    """

    max_race_codes: int
    budgets: Mapping[Place, Fraction | None]
    gamma: Fraction
    thresholds: Mapping[Place, Thresholds]
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
    found = [path for name in (JSON_FILE, TOML_FILE) if (path := Path(params) / name).is_file()]
    if len(found) == 2:
        raise InputError(f"both {JSON_FILE} and {TOML_FILE} are there; keep one of them ({params})")
    if not found:
        raise InputError(f"neither {JSON_FILE} nor {TOML_FILE} is there ({params})")
    name = found[0].name
    try:
        text = found[0].read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start + 1} is not UTF-8 ({name})") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror} ({name})") from None
    return read_json(text) if name == JSON_FILE else read_toml(text)


# -- values: each reader raises with what was found and what is allowed ------------------------------------


class Number(str):
    """A number as it was written, told apart from a text in quotes."""

    __slots__ = ()


def _found(value: object) -> str:
    if isinstance(value, Number):
        return value[:40]
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return shown(value)


def _text(value: object, name: str, quoted: bool) -> str:
    """Return the text of a number, which may stand in quotes where that is said."""
    written = isinstance(value, Number | int) and not isinstance(value, bool)
    if written or (quoted and isinstance(value, str)):
        return str(value).strip()
    extra = ' or a text such as "1/125"' if quoted else ""
    raise InputError(f"{name} is {_found(value)}; it must be a number such as 0.008{extra}")


def _budget(value: object, *, quoted: bool = False) -> Fraction | None:
    """Return a budget as an exact fraction, None if it is infinite."""
    text = _text(value, "a budget", quoted)
    if text.lower().removeprefix("+") in ("inf", "infinity"):
        return None
    if text.lower().removeprefix("+") == "nan" or text.startswith("-"):
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


def _share(value: object, *, zero: bool = False, quoted: bool = False) -> Fraction:
    """Return an exact fraction between 0 and 1, both excluded, or 0 included."""
    text = _text(value, "it", quoted)
    endless = text.lower().lstrip("+-") in ("nan", "inf", "infinity")
    number = Fraction(1) if endless else fraction(text, name="it")
    if not (0 < number < 1 or (zero and number == 0)):
        least = "at least" if zero else "above"
        raise InputError(f"it is {text[:40]}; it must be {least} 0 and below 1")
    return number


def _whole(value: object, lowest: int, highest: int | None = None) -> int:
    """Return a whole number within bounds; 8.0 is not one."""
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= lowest
    if not fits or (highest is not None and cast(int, value) > highest):
        end = f" of at least {lowest}" if highest is None else f" from {lowest} to {highest}"
        raise InputError(f"it is {_found(value)}; it must be a whole number{end}")
    return cast(int, value)


def _typed(kind: type[T], words: str) -> Callable[[object], T]:
    """Return a reader of values of one kind; 1 and 0 are neither true nor false, a number is no text."""

    def read(value: object) -> T:
        if isinstance(value, Number) or not isinstance(value, kind):
            raise InputError(f"it is {_found(value)}; it must be {words}")
        return value

    return read


_truth = _typed(bool, "true or false")
_string = _typed(str, "a string in quotes")
_mapping = _typed(dict, "an object")


def _word(value: object, allowed: tuple[str, ...]) -> str:
    if isinstance(value, str) and not isinstance(value, Number) and value in allowed:
        return value
    choice = " or ".join(f'"{one}"' for one in allowed) if len(allowed) < 4 else ", ".join(allowed)
    raise InputError(f"it is {_found(value)}; it must be {choice}{hint(value, allowed)}")


def _privacy(value: object) -> Privacy:
    return cast(Privacy, _word(value, tuple(BUDGET_WORDS)))


def _thresholds(value: object) -> Thresholds:
    """Return three thresholds that do not decrease."""
    if not isinstance(value, list) or len(value) != 3:
        found = f"a list of {len(value)}" if isinstance(value, list) else _found(value)
        raise InputError(f"it is {found}; it must be a list of exactly three thresholds")
    first, second, third = (_whole(one, 0) for one in value)
    if not first <= second <= third:
        raise InputError(f"it is {first}, {second}, {third}; thresholds must not decrease")
    return first, second, third


def _states(value: object) -> tuple[str, ...]:
    """Return the states of the United States pass, as two digits each."""
    if not isinstance(value, list):
        raise InputError('it is not a list; it must be a list of state codes such as ["01", "11"]')
    if not value:
        raise InputError("it is empty; it must name the states that are tabulated")
    for code in value:
        if isinstance(code, Number) or code not in STATES:
            extra = "; Puerto Rico is its own pass" if code == PUERTO_RICO else ""
            raise InputError(f'{shown(code)} is not a two-digit state code in quotes, "01" to "56"{extra}')
    if len(set(value)) < len(value):
        raise InputError("a state occurs twice")
    return tuple(value)


# -- files: every problem with its line and field ----------------------------------------------------------


class _Reader:
    """Read values of a table, collecting what is wrong with them; a wrong one is read as its stand-in."""

    def __init__(
        self,
        data: Mapping[str, object],
        where: str,
        line: Callable[[Where], int | None],
        problems: Problems | None = None,
        at: Where = (),
        *,
        quoted: bool = False,
    ) -> None:
        """`quoted` says whether a number may stand in quotes."""
        self.data, self.where, self.line, self.at, self.quoted = data, where, line, at, quoted
        self.problems, self.bad = Problems() if problems is None else problems, False

    def inside(self, data: Mapping[str, object], *at: str | int) -> _Reader:
        """Return a reader of a table within this one, whose problems are among this one's."""
        return _Reader(data, self.where, self.line, self.problems, (*self.at, *at))

    def get(self, key: str, read: Callable[[object], T], stand_in: T, *, name: str | None = None) -> T:
        """Return the value of a key that must be there; `name` is what a problem calls it."""
        if key not in self.data:
            self.wrong("a key is missing", field=self._label(key))
            return stand_in
        try:
            return read(self.data[key])
        except InputError as error:
            self.wrong(str(error), key, field=self._label(name or key))
            return stand_in

    def wrong(self, text: str, key: str | None = None, *, field: str) -> None:
        """Report a problem at a key, or of the table as a whole."""
        self.bad = True
        place = self.at if key is None else (*self.at, key)
        self.problems.at(text, file=self.where, line=self.line(place), field=field)

    def known(self, allowed: tuple[str, ...], why: Callable[[str], str] = lambda key: "") -> None:
        """Report keys that are not allowed."""
        for key in self.data:
            if key not in allowed:
                text = f"an unknown key{why(key) or hint(key, allowed)}"
                self.wrong(text, key, field=self._label(shown(key)))

    def _label(self, name: str) -> str:
        return f"{self.at[0]} {name}" if self.at else name

    def chance(self) -> Fraction:
        """Return the chance of dropping an empty group."""
        return self.get(_CHANCE, lambda value: _share(value, zero=True, quoted=self.quoted), Fraction(0))

    def configuration(
        self,
        gamma: str,
        *,
        budgets: Mapping[Place, Fraction | None],
        thresholds: Mapping[Place, Thresholds],
        chance: Fraction,
        states: tuple[str, ...],
        privacy: Privacy,
        runs: Mapping[str, bool],
        reader: str = "csv",
        notes: tuple[str, ...] = (),
    ) -> Configuration:
        """Return the configuration of these settings and those that both files have, if all is right."""
        made = Configuration(
            max_race_codes=self.get("max_race_codes", lambda value: _whole(value, 1, MOST_CODES), MOST_CODES),
            gamma=self.get(gamma, lambda value: _share(value, quoted=self.quoted), Fraction(1, 2)),
            allow_negative_counts=self.get("allow_negative_counts", _truth, True),
            budgets=budgets,
            thresholds=thresholds,
            zero_suppression_chance=chance,
            state_filter_us=states,
            privacy=privacy,
            run_us=runs["run_us"],
            run_pr=runs["run_pr"],
            reader=reader,
            notes=notes,
        )
        if not made.passes:
            self.wrong(
                "neither run_us nor run_pr is true; nothing would be tabulated", "run_us", field="run_us"
            )
        for which in made.passes:
            places = made.levels(which)
            if not places:
                self.wrong("no budget of this pass is above 0; nothing would be tabulated", field=which)
            if _THRESHOLDS in self.data or "levels" in self.data:
                for geography, level in (place for place in places if place not in made.thresholds):
                    label = f"{_THRESHOLDS} ({geography}, {level})"
                    self.wrong("thresholds are missing", _THRESHOLDS, field=label)
        self.problems.stop()
        return made


BUDGET_KEYS = {
    f"privacy_budget_p_level_{level}_{geography.lower().replace('-', '_')}": (geography, level)
    for geography in GEOGRAPHIES
    for level in LEVELS
}
"""The keys of budgets in a `config.json`."""

_GAMMA, _THRESHOLDS, _CHANCE = "privacy_budget_p_stage_1_fraction", "thresholds_p", "zero_suppression_chance"
_BOTH = ("max_race_codes", _CHANCE, "allow_negative_counts", *RUNS.values())
_JSON_KEYS = (*_BOTH, *BUDGET_KEYS, _GAMMA, _THRESHOLDS, "reader", "state_filter_us", "privacy_defn")
_TOML_KEYS = (*_BOTH, "privacy", "stage_one_share", "states", "levels")
_OTHER_PROGRAM = re.compile(r"(privacy_budget|thresholds)_h_.*")  # SafeTab-H may share the file
_PLACE = re.compile(r"\(\s*([A-Z-]+)\s*,\s*([0-9])\s*\)")


def read_json(text: str, where: str = JSON_FILE) -> Configuration:
    """Read a configuration from the text of a `config.json`; `where` is what an error calls it."""

    def line(place: Where, spot: int = 0) -> int | None:
        """Find the line of a key; JSON's reader forgets it."""
        spots = list(re.finditer(re.escape(json.dumps(place[-1])) + r"\s*:", text)) if place else []
        return text.count("\n", 0, spots[spot].start()) + 1 if spots else None

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, value in pairs:
            if key in found:
                raise InputError(f"key {shown(key)} occurs twice (line {line((key,), -1)} of {where})")
            found[key] = value
        return found

    try:
        data = json.loads(text, parse_float=Number, parse_constant=Number, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg} (line {error.lineno} of {where})") from None
    except RecursionError:
        raise InputError(f"not valid JSON: brackets are nested too deeply ({where})") from None
    except InputError:
        raise
    except ValueError:  # int() refuses numbers of thousands of digits
        raise InputError(f"not usable JSON: a number in it cannot be read ({where})") from None
    if not isinstance(data, dict):
        raise InputError(f"it must be an object of keys and values ({where})")
    reader, notes = _Reader(data, where, line), list[str]()
    others = tuple(key for key in data if _OTHER_PROGRAM.fullmatch(key))
    reader.known((*_JSON_KEYS, *others))
    if others:
        notes.append(f"{len(others)} keys of {JSON_FILE} are of SafeTab-H and not used")
    chance = reader.chance() if _CHANCE in data else Fraction(0)
    if _CHANCE not in data:
        notes.append(f"{JSON_FILE} has no {_CHANCE}: nothing is suppressed")
    name = reader.get("reader", _string, "csv")
    if name.lower() not in ("csv", "parquet"):
        notes.append(f"reader {shown(name)} is the Bureau's own; CSV or Parquet files are read instead")
    runs = {key: reader.get(key, _truth, True) for key in RUNS.values()}
    return reader.configuration(
        _GAMMA,
        budgets={place: reader.get(key, _budget, None) for key, place in BUDGET_KEYS.items()},
        thresholds=_all_thresholds(reader),
        chance=chance,
        states=reader.get("state_filter_us", _states, STATES) if runs["run_us"] else STATES,
        privacy=reader.get("privacy_defn", _privacy, "zcdp"),
        reader=name,
        notes=tuple(notes),
        runs=runs,
    )


def _all_thresholds(reader: _Reader) -> dict[Place, Thresholds]:
    """Return the thresholds of a `config.json`, which are a table of their own."""
    table = reader.inside(reader.get(_THRESHOLDS, _mapping, {}), _THRESHOLDS)
    found: dict[Place, Thresholds] = {}
    for key in table.data:
        label = f"{_THRESHOLDS} {shown(key)}"
        match = _PLACE.fullmatch(key)
        if match is None or match[1] not in GEOGRAPHIES or int(match[2]) not in LEVELS:
            text = 'thresholds of an unknown geography or level; a key is such as "(PR-STATE, 2)"'
            table.wrong(text, key, field=label)
            continue
        place = match[1], int(match[2])
        if place in found:
            table.wrong("thresholds are given twice", key, field=label)
        found[place] = table.get(key, _thresholds, (0, 0, 0), name=shown(key))
    return found


def read_toml(text: str, where: str = TOML_FILE) -> Configuration:
    """Read a configuration from the text of a `safetab.toml`; `where` is what an error calls it."""
    text = text.replace("\r\n", "\n")
    data = parse_toml(text, where, parse_float=Number)
    lines = key_lines(text)
    reader = _Reader(data, where, lambda place: nearest_line(lines, place), quoted=True)
    reader.known(_TOML_KEYS)
    kind: Privacy = reader.get("privacy", _privacy, "zcdp")
    budgets, thresholds = _levels(reader, BUDGET_WORDS[kind])
    runs = {}
    for which, key in RUNS.items():
        spends = any(budgets[place] != 0 for place in budgets if place[0] in PASSES[which])
        runs[key] = reader.get(key, _truth, spends) if key in data else spends
    return reader.configuration(
        "stage_one_share",
        budgets=budgets,
        thresholds=thresholds,
        chance=reader.chance(),
        states=reader.get("states", _states, STATES) if "states" in data else STATES,
        privacy=kind,
        runs=runs,
    )


def _levels(reader: _Reader, word: str) -> tuple[dict[Place, Fraction | None], dict[Place, Thresholds]]:
    """Return budgets and thresholds from the rows of a `safetab.toml`."""
    budgets: dict[Place, Fraction | None] = {
        (geography, level): Fraction(0) for geography in GEOGRAPHIES for level in LEVELS
    }
    thresholds: dict[Place, Thresholds] = {}
    seen: set[Place] = set()

    def why(key: str) -> str:
        return f"; with this privacy the budget is called {word}" if key in BUDGET_WORDS.values() else ""

    for index, table in enumerate(reader.get("levels", _rows, list[dict[str, object]]())):
        row = reader.inside(table, "levels", index)
        row.known(("geography", "level", word, "thresholds"), why)
        geography = row.get("geography", lambda value: _word(value, GEOGRAPHIES), "")
        level = row.get("level", lambda value: _whole(value, *LEVELS), 0)
        budget = row.get(word, lambda value: _budget(value, quoted=True), None)
        steps = row.get("thresholds", _thresholds, (0, 0, 0)) if "thresholds" in table else None
        if row.bad:
            continue
        if (geography, level) in seen:
            row.wrong("a geography and level occur twice", field="levels")
        seen.add((geography, level))
        budgets[geography, level] = budget
        if steps is not None:
            thresholds[geography, level] = steps
    return budgets, thresholds


def _rows(value: object) -> list[dict[str, object]]:
    if not isinstance(value, list) or not value or not all(isinstance(row, dict) for row in value):
        raise InputError('it must be a list of rows such as { geography = "USA", level = 2, ... }')
    return value


def write_toml(configuration: Configuration) -> str:
    """Write a configuration as the text of a `safetab.toml`, from which `read_toml` makes an equal one."""
    word = BUDGET_WORDS[configuration.privacy]
    lines = [
        f'privacy = "{configuration.privacy}"',
        f"max_race_codes = {configuration.max_race_codes}",
        f"stage_one_share = {_number_text(configuration.gamma)}",
        f"zero_suppression_chance = {_number_text(configuration.zero_suppression_chance)}",
        *(
            f"{key} = {json.dumps(getattr(configuration, key))}"
            for key in ("allow_negative_counts", "run_us", "run_pr")
        ),
    ]
    if configuration.state_filter_us != STATES:
        lines.append(f"states = {json.dumps(configuration.state_filter_us)}")
    lines += ["", "levels = ["]
    for (geography, level), budget in configuration.budgets.items():
        steps = configuration.thresholds.get((geography, level))
        if budget == 0 and steps is None:
            continue
        spends = "inf" if budget is None else _number_text(budget)
        row = f'{{ geography = "{geography}", level = {level}, {word} = {spends}'
        lines.append(f"  {row}{f', thresholds = {list(steps)}' if steps else ''} }},")
    return "\n".join([*lines, "]", ""])


def _number_text(value: Fraction) -> str:
    """Write an exact number as a decimal of at most 60 digits if it is one, else as a fraction in quotes.

    >>> _number_text(Fraction(159, 1000)), _number_text(Fraction(1, 3)), _number_text(Fraction(50))
    ('0.159', '"1/3"', '50')
    """
    decimal = Context(prec=60).divide(Decimal(value.numerator), Decimal(value.denominator))
    return format(decimal.normalize(), "f") if Fraction(decimal) == value else f'"{value}"'
