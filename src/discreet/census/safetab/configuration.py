"""How much is spent where, and what becomes of small groups.

`config.json` is read as the Bureau's programs read it, SafeTab-P and SafeTab-H; `safetab.toml` says the same
in one table, and is also written. Budgets are exact: 0.159 is 159/1000, not the float next to it, so a number
with a decimal point is kept as it was written until it is read. Rules of both files:
`docs/reference/safetab-files.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from discreet.budget.toml import parse_toml
from discreet.budget.toml_lines import Place as Where
from discreet.budget.toml_lines import key_lines, nearest_line
from discreet.census.mechanism.configuration import (
    BUDGET_WORDS,
    CHANCE,
    Configuration,
    Number,
    Place,
    Privacy,
    SettingsReader,
    Thresholds,
    read_budget,
    read_levels,
    read_mapping,
    read_privacy,
    read_string,
    read_thresholds,
    read_truth,
    steps_of,
)
from discreet.census.mechanism.specification import read_file
from discreet.census.mechanism.tabulation import AdaptiveTabulation
from discreet.census.safetab.specification import JSON_FILE, TOML_FILE, is_of_households, safetab_h, safetab_p
from discreet.errors import InputError
from discreet.numbers import shown

T = TypeVar("T")


def read_configuration(params: Path) -> Configuration:
    """Read the settings of parameters; all problems are reported together.

    Parameters are a folder with `config.json` or `safetab.toml`, or the file of a specification.
    """
    if Path(params).is_file():
        return read_file(Path(params))[0]
    paths = [path for name in (JSON_FILE, TOML_FILE) if (path := Path(params) / name).is_file()]
    if len(paths) == 2:
        raise InputError(f"both {JSON_FILE} and {TOML_FILE} are there; keep one of them ({params})")
    if not paths:
        raise InputError(f"neither {JSON_FILE} nor {TOML_FILE} is there ({params})")
    name = paths[0].name
    try:
        text = paths[0].read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start + 1} is not UTF-8 ({name})") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror} ({name})") from None
    return read_json(text) if name == JSON_FILE else read_toml(text)


def _states(value: object) -> tuple[str, ...]:
    """Return the parts of the country that the first pass takes, as their codes."""
    first, *others = safetab_p().passes.values()
    if not isinstance(value, list):
        raise InputError('it is not a list; it must be a list of state codes such as ["01", "11"]')
    if not value:
        raise InputError("it is empty; it must name the states that are tabulated")
    for code in value:
        if isinstance(code, Number) or code not in first.codes:
            own = (
                f"; {other_pass.title} is its own pass" for other_pass in others if code in other_pass.codes
            )
            low, high = first.codes[0], first.codes[-1]
            raise InputError(
                f'{shown(code)} is not a two-digit state code in quotes, "{low}" to "{high}"{"".join(own)}'
            )
    if len(set(value)) < len(value):
        raise InputError("a state occurs twice")
    return tuple(value)


def budget_keys(tabulation: AdaptiveTabulation) -> dict[str, Place]:
    """Return the keys of budgets in a `config.json`.

    >>> from itertools import islice
    >>> [*islice(budget_keys(safetab_h()), 3)]
    ['privacy_budget_h_t3_level_1_usa', 'privacy_budget_h_t3_level_2_usa', 'privacy_budget_h_t4_level_1_usa']
    """
    return {
        f"privacy_budget_{_letter(tabulation, level)}_level_{tabulation.workloads[level].groups}_"
        f"{geography.lower().replace('-', '_')}": (geography, level)
        for geography, level in tabulation.places
    }


def _letter(tabulation: AdaptiveTabulation, level: int) -> str:
    """Return what the keys of a level have: the letter of the program, and the table if it has several."""
    folder = tabulation.ladder(level).folder
    return f"h_{folder}" if folder else "p"


def _threshold_keys(tabulation: AdaptiveTabulation) -> dict[str, dict[int, int]]:
    """Return the tables of thresholds in a `config.json`, each with the level of every level of groups."""
    levels_by_key: dict[str, dict[int, int]] = {}
    for level, workload in tabulation.workloads.items():
        levels_by_key.setdefault(f"thresholds_{_letter(tabulation, level)}", {})[workload.groups] = level
    return levels_by_key


_GAMMA = "privacy_budget_p_stage_1_fraction"
_BOTH = (
    "max_race_codes",
    CHANCE,
    "allow_negative_counts",
    *(one_pass.switch for one_pass in safetab_p().passes.values()),
)
_TOML_KEYS = (*_BOTH, "privacy", "states", "levels", "tabulation")
_OTHER_PROGRAM = {
    "safetab": re.compile(r"(privacy_budget|thresholds)_h_.*"),
    "safetab-h": re.compile(rf"(privacy_budget|thresholds)_p(_.*)?|{CHANCE}"),
}
"""Keys of the other program, which may share the file."""
_PLACE = re.compile(r"\(\s*([A-Z-]+)\s*,\s*([0-9])\s*\)")


def read_json(text: str, where: str = JSON_FILE) -> Configuration:
    """Read a configuration from the text of a `config.json`; `where` is what an error calls it."""

    def line(key_path: Where, spot: int = 0) -> int | None:
        """Find the line of a key; JSON's reader forgets it."""
        spots = list(re.finditer(re.escape(json.dumps(key_path[-1])) + r"\s*:", text)) if key_path else []
        return text.count("\n", 0, spots[spot].start()) + 1 if spots else None

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        entries: dict[str, object] = {}
        for key, value in pairs:
            if key in entries:
                raise InputError(f"key {shown(key)} occurs twice (line {line((key,), -1)} of {where})")
            entries[key] = value
        return entries

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
    tabulation = safetab_h() if is_of_households(text) else safetab_p()
    picks = any(ladder.picks for ladder in tabulation.ladders.values())
    reader, notes = SettingsReader(data, where, line), list[str]()
    others = tuple(key for key in data if _OTHER_PROGRAM[tabulation.name].fullmatch(key))
    budgets, tables = budget_keys(tabulation), _threshold_keys(tabulation)
    own = (_GAMMA, *budgets, *tables) if picks else (*budgets, *tables)
    reader.known((*_BOTH, *own, *others, "reader", "state_filter_us", "privacy_defn"))
    if others:
        title = safetab_h().title if picks else safetab_p().title
        notes.append(f"{len(others)} keys of {JSON_FILE} are of {title} and not used")
    chance = reader.chance() if picks and CHANCE in data else Fraction(0)
    if picks and CHANCE not in data:
        notes.append(f"{JSON_FILE} has no {CHANCE}: nothing is suppressed")
    name = reader.get("reader", read_string, "csv")
    if name.lower() not in ("csv", "parquet"):
        notes.append(f"reader {shown(name)} is the Bureau's own; CSV or Parquet files are read instead")
    passes = tuple(
        which
        for which, one_pass in tabulation.passes.items()
        if reader.get(one_pass.switch, read_truth, True)
    )
    filters = {
        which: reader.get(one_pass.filter, _states, one_pass.codes)
        for which, one_pass in tabulation.passes.items()
        if one_pass.filter and which in passes
    }
    return reader.configuration(
        tabulation,
        _GAMMA if picks else None,
        budgets={place: reader.get(key, read_budget, None) for key, place in budgets.items()},
        thresholds={
            place: steps
            for key, levels in tables.items()
            for place, steps in _all_thresholds(reader, tabulation, key, levels).items()
        },
        chance=chance,
        privacy=reader.get("privacy_defn", read_privacy, "zcdp"),
        passes=passes,
        filters=filters,
        tabled={level: key for key, levels in tables.items() if key in data for level in levels.values()},
        reader=name,
        notes=tuple(notes),
    )


def _all_thresholds(
    reader: SettingsReader, tabulation: AdaptiveTabulation, name: str, levels: Mapping[int, int]
) -> dict[Place, Thresholds]:
    """Return a table of thresholds of a `config.json`; `levels` are those of each level of groups."""
    table = reader.inside(reader.get(name, read_mapping, {}), name)
    thresholds: dict[Place, Thresholds] = {}
    for key in table.data:
        label = f"{name} {shown(key)}"
        match = _PLACE.fullmatch(key)
        if match is None or match[1] not in tabulation.geographies or int(match[2]) not in levels:
            text = 'thresholds of an unknown geography or level; a key is such as "(PR-STATE, 2)"'
            table.wrong(text, key, field=label)
            continue
        place = match[1], levels[int(match[2])]
        if place in thresholds:
            table.wrong("thresholds are given twice", key, field=label)
        many = steps_of(tabulation, place[1])
        thresholds[place] = table.get(key, read_thresholds(many), (0,) * many, name=shown(key))
    return thresholds


def read_toml(text: str, where: str = TOML_FILE) -> Configuration:
    """Read a configuration from the text of a `safetab.toml`; `where` is what an error calls it."""
    text = text.replace("\r\n", "\n")
    data = parse_toml(text, where, parse_float=Number)
    lines = key_lines(text)
    reader = SettingsReader(data, where, lambda key_path: nearest_line(lines, key_path), quoted=True)
    tabulation = safetab_h() if is_of_households(text) else safetab_p()
    picks = any(ladder.picks for ladder in tabulation.ladders.values())
    reader.known(tuple(key for key in _TOML_KEYS if picks or key != CHANCE) + ("stage_one_share",) * picks)
    if "tabulation" in data:
        reader.get("tabulation", read_tabulation_name, "")
    kind: Privacy = reader.get("privacy", read_privacy, "zcdp")
    budgets, thresholds = read_levels(reader, tabulation, BUDGET_WORDS[kind])
    passes = []
    for which, one_pass in tabulation.passes.items():
        spends = any(budgets[place] != 0 for place in budgets if place[0] in one_pass.geographies)
        if reader.get(one_pass.switch, read_truth, spends) if one_pass.switch in data else spends:
            passes.append(which)
    first = next(iter(tabulation.passes))
    return reader.configuration(
        tabulation,
        "stage_one_share" if picks else None,
        budgets=budgets,
        thresholds=thresholds,
        chance=reader.chance() if picks else Fraction(0),
        privacy=kind,
        passes=tuple(passes),
        tabled=dict.fromkeys(tabulation.levels, "levels") if "levels" in data else {},
        filters={first: reader.get("states", _states, ())} if "states" in data else None,
    )


def write_toml(configuration: Configuration) -> str:
    """Write a configuration as the text of a `safetab.toml`, from which `read_toml` makes an equal one."""
    tabulation = configuration.tabulation
    if tabulation not in (safetab_p(), safetab_h()):
        raise InputError(
            f"{TOML_FILE} holds settings of {safetab_p().title} or {safetab_h().title}, not of "
            f"{tabulation.title}; change the budgets of the specification itself"
        )
    word = BUDGET_WORDS[configuration.privacy]
    two_stages = [
        f"stage_one_share = {_number_text(configuration.gamma)}",
        f"zero_suppression_chance = {_number_text(configuration.zero_suppression_chance)}",
    ]
    households = tabulation == safetab_h()
    lines = [
        *([f'tabulation = "{tabulation.name}"'] if households else []),
        f'privacy = "{configuration.privacy}"',
        f"max_race_codes = {configuration.max_race_codes}",
        *([] if households else two_stages),
        f"allow_negative_counts = {json.dumps(configuration.allow_negative_counts)}",
        *(
            f"{one_pass.switch} = {json.dumps(which in configuration.passes)}"
            for which, one_pass in configuration.tabulation.passes.items()
        ),
    ]
    for which, one_pass in configuration.tabulation.passes.items():
        if configuration.parts(which) != one_pass.codes:
            lines.append(f"states = {json.dumps(configuration.parts(which))}")
    lines += ["", "levels = ["]
    for (geography, level), budget in configuration.budgets.items():
        steps = configuration.thresholds.get((geography, level))
        if budget == 0 and steps is None:
            continue
        spends = "inf" if budget is None else _number_text(budget)
        row = f'{{ geography = "{geography}", level = {level}, {word} = {spends}'
        lines.append(f"  {row}{f', thresholds = {list(steps)}' if steps else ''} }},")
    return "\n".join([*lines, "]", ""])


def read_tabulation_name(value: object) -> str:
    """Return which program settings are of."""
    known = (safetab_p().name, safetab_h().name)
    if value not in known:
        raise InputError(f"it is {shown(value)}; it must be {' or '.join(known)}")
    return str(value)


def _number_text(value: Fraction) -> str:
    """Write an exact number as a decimal of at most 60 digits if it is one, else as a fraction in quotes.

    >>> _number_text(Fraction(159, 1000)), _number_text(Fraction(1, 3)), _number_text(Fraction(50))
    ('0.159', '"1/3"', '50')
    """
    decimal = Context(prec=60).divide(Decimal(value.numerator), Decimal(value.denominator))
    return format(decimal.normalize(), "f") if Fraction(decimal) == value else f'"{value}"'
