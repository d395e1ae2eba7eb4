"""`safetab.toml`: the configuration in one table and few lines, in and out."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from discreet.budget.fields import hint, shown
from discreet.budget.lines import key_lines, line_of
from discreet.budget.toml import parse_toml
from discreet.errors import InputError
from discreet.release.safetab import fields
from discreet.release.safetab.configuration import (
    MOST_CODES,
    RUNS,
    TOML_FILE,
    Configuration,
    Place,
    Privacy,
    Reader,
    check_whole,
    privacy,
    states,
)
from discreet.release.safetab.fields import Number
from discreet.release.safetab.geographies import GEOGRAPHIES, LEVELS, PASSES, STATES

BUDGET_WORDS: dict[Privacy, str] = {"zcdp": "rho", "puredp": "epsilon"}
"""What a budget is called, by the kind of privacy."""

_KEYS = (
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
    reader.known(_KEYS)
    kind: Privacy = reader.get("privacy", privacy, "zcdp")
    budgets, thresholds = _levels(reader, BUDGET_WORDS[kind])
    runs = {}
    for which, key in RUNS.items():
        spends = any(budgets[place] != 0 for place in budgets if place[0] in PASSES[which])
        runs[key] = _optional(reader, key, fields.truth, spends)
    configuration = Configuration(
        max_race_codes=reader.get(
            "max_race_codes", lambda value: fields.whole(value, 1, MOST_CODES), MOST_CODES
        ),
        budgets=budgets,
        gamma=reader.get("stage_one_share", lambda value: fields.share(value, quoted=True), Fraction(1, 2)),
        thresholds=thresholds,
        zero_suppression_chance=reader.get(
            "zero_suppression_chance", lambda value: fields.share(value, zero=True, quoted=True), Fraction(0)
        ),
        allow_negative_counts=reader.get("allow_negative_counts", fields.truth, True),
        state_filter_us=_optional(reader, "states", states, STATES),
        privacy=kind,
        **runs,
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
    nothing: list[dict[str, Any]] = []
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
            lambda value: fields.word(value, GEOGRAPHIES),
            "",
            key=(*at, "geography"),
            field="levels geography",
        )
        level = reader.read(
            row["level"], lambda value: fields.whole(value, 1, 2), 0, key=(*at, "level"), field="levels level"
        )
        budget = reader.read(
            row[word],
            lambda value: fields.budget(value, quoted=True),
            None,
            key=(*at, word),
            field=f"levels {word}",
        )
        steps = None
        if "thresholds" in row:
            steps = reader.read(
                row["thresholds"], fields.thresholds, None, key=(*at, "thresholds"), field="levels thresholds"
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


def _rows(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not value or not all(isinstance(row, dict) for row in value):
        raise InputError('it must be a list of rows such as { geography = "USA", level = 2, ... }')
    return value


def _optional(reader: Reader, key: str, read: Callable[[Any], Any], default: Any) -> Any:
    return reader.get(key, read, default) if key in reader.data else default
