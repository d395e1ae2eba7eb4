"""How much an adaptive tabulation spends where, and what becomes of small groups.

Budgets are exact: 0.159 is 159/1000, not the float next to it, so a number with a decimal point is kept as it
was written (`Number`) until it is read. Every problem of a file is reported with its line and field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Literal, TypeVar, cast

from discreet.budget.toml import hint
from discreet.budget.toml_lines import Place as Where
from discreet.budget.toml_lines import key_lines, nearest_line
from discreet.census.mechanism.tabulation import AdaptiveTabulation
from discreet.errors import InputError
from discreet.numbers import fraction, shown
from discreet.tables import Problems

T = TypeVar("T")

BUDGETS = (Fraction(1, 10**6), Fraction(5000))
"""Finite budgets that are accepted: beyond them there is nothing but noise, or none worth the name."""

Privacy = Literal["zcdp", "puredp"]
"""What the budgets are: rho of zero-concentrated privacy, or epsilon of pure privacy."""

BUDGET_WORDS: dict[Privacy, str] = {"zcdp": "rho", "puredp": "epsilon"}
"""What a budget is called, by the kind of privacy."""

Place = tuple[str, int]
"""A geography and a level of groups."""

Thresholds = tuple[int, ...]
"""From which total on a group gets each table of its ladder but the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The parameters of a run, but for the groups.

    A budget of None is infinite (no noise); one of 0 says that the level is not tabulated. `passes` are those
    that are run, `filters` the parts of the country that a pass takes where not all of them.
    """

    tabulation: AdaptiveTabulation
    max_race_codes: int
    budgets: Mapping[Place, Fraction | None]
    gamma: Fraction
    thresholds: Mapping[Place, Thresholds]
    zero_suppression_chance: Fraction
    allow_negative_counts: bool
    passes: tuple[str, ...]
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    privacy: Privacy
    reader: str = field(default="csv", compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def most_codes(self) -> int:
        """How many codes of one person the files have, of the question with several answers."""
        return max(1, len(self.tabulation.answers.several))

    def parts(self, which: str) -> tuple[str, ...]:
        """Return the codes of the parts of the country that a pass takes."""
        return self.filters.get(which, self.tabulation.passes[which].codes)

    def runs(self, geography: str, level: int) -> bool:
        """Whether this geography and level has a budget, so that it is tabulated if its pass is run."""
        return self.budgets[geography, level] != 0

    def levels(self, which: str) -> tuple[Place, ...]:
        """Return the geographies and levels of a pass that have a budget, in the order of the files."""
        return tuple(
            (geography, level)
            for geography in self.tabulation.passes[which].geographies
            for level in self.tabulation.levels
            if self.runs(geography, level)
        )


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


def _number_of(value: object, name: str, quoted: bool) -> str:
    """Return the text of a number, which may stand in quotes where that is said."""
    written = isinstance(value, Number | int) and not isinstance(value, bool)
    if written or (quoted and isinstance(value, str)):
        return str(value).strip()
    extra = ' or a text such as "1/125"' if quoted else ""
    raise InputError(f"{name} is {_found(value)}; it must be a number such as 0.008{extra}")


def read_budget(value: object, *, quoted: bool = False) -> Fraction | None:
    """Return a budget as an exact fraction, None if it is infinite."""
    text = _number_of(value, "a budget", quoted)
    if text.lower().removeprefix("+") in ("inf", "infinity"):
        return None
    if text.lower().removeprefix("+") == "nan" or text.startswith("-"):
        raise InputError(
            f"a budget is {text[:40]}; it must be 0 (not tabulated), above 0, or infinite (no noise)"
        )
    budget = fraction(text, name="a budget")
    if budget and not BUDGETS[0] <= budget <= BUDGETS[1]:
        raise InputError(
            f"a budget is {text[:40]}; one that is neither 0 nor infinite must lie between "
            f"{float(BUDGETS[0]):g} and {BUDGETS[1]}"
        )
    return budget


def read_share(value: object, *, zero: bool = False, quoted: bool = False) -> Fraction:
    """Return an exact fraction between 0 and 1, both excluded, or 0 included."""
    text = _number_of(value, "it", quoted)
    endless = text.lower().lstrip("+-") in ("nan", "inf", "infinity")
    number = Fraction(1) if endless else fraction(text, name="it")
    if not (0 < number < 1 or (zero and number == 0)):
        least = "at least" if zero else "above"
        raise InputError(f"it is {text[:40]}; it must be {least} 0 and below 1")
    return number


def read_whole_number(value: object, lowest: int, highest: int | None = None) -> int:
    """Return a whole number within bounds; 8.0 is not one."""
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= lowest
    if not fits or (highest is not None and cast(int, value) > highest):
        end = f" of at least {lowest}" if highest is None else f" from {lowest} to {highest}"
        raise InputError(f"it is {_found(value)}; it must be a whole number{end}")
    return cast(int, value)


def typed(kind: type[T], words: str) -> Callable[[object], T]:
    """Return a reader of values of one kind; 1 and 0 are neither true nor false, a number is no text."""

    def read(value: object) -> T:
        if isinstance(value, Number) or not isinstance(value, kind):
            raise InputError(f"it is {_found(value)}; it must be {words}")
        return value

    return read


read_truth = typed(bool, "true or false")
read_string = typed(str, "a string in quotes")
read_mapping = typed(dict, "an object")


def _word(value: object, allowed: tuple[str, ...]) -> str:
    if isinstance(value, str) and not isinstance(value, Number) and value in allowed:
        return value
    choice = " or ".join(f'"{option}"' for option in allowed) if len(allowed) < 4 else ", ".join(allowed)
    raise InputError(f"it is {_found(value)}; it must be {choice}{hint(value, allowed)}")


def read_privacy(value: object) -> Privacy:
    """Return the kind of privacy."""
    return cast(Privacy, _word(value, tuple(BUDGET_WORDS)))


_NUMBERS = ("no", "one", "two", "three", "four", "five", "six")


def read_thresholds(many: int) -> Callable[[object], Thresholds]:
    """Return a reader of the thresholds of a ladder: one for each table but the total."""
    words = f"{_NUMBERS[many]} threshold{'s' * (many != 1)}" if many < len(_NUMBERS) else f"{many} thresholds"

    def read(value: object) -> Thresholds:
        if not isinstance(value, list) or len(value) != many:
            given = f"a list of {len(value)}" if isinstance(value, list) else _found(value)
            raise InputError(f"it is {given}; it must be a list of exactly {words}")
        steps = tuple(read_whole_number(step, 0) for step in value)
        if list(steps) != sorted(steps):
            raise InputError(f"it is {', '.join(map(str, steps))}; thresholds must not decrease")
        return steps

    return read


def steps_of(tabulation: AdaptiveTabulation, level: int) -> int:
    """Return how many thresholds a level has: one for each table of its ladder but the total."""
    return len(tabulation.ladder(level).rungs) - 1


# -- files: every problem with its line and field ----------------------------------------------------------


class SettingsReader:
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

    def inside(self, data: Mapping[str, object], *at: str | int) -> SettingsReader:
        """Return a reader of a table within this one, whose problems are among this one's."""
        return SettingsReader(data, self.where, self.line, self.problems, (*self.at, *at))

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
        key_path = self.at if key is None else (*self.at, key)
        self.problems.at(text, file=self.where, line=self.line(key_path), field=field)

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
        return self.get(CHANCE, lambda value: read_share(value, zero=True, quoted=self.quoted), Fraction(0))

    def configuration(
        self,
        tabulation: AdaptiveTabulation,
        gamma: str | None,
        *,
        budgets: Mapping[Place, Fraction | None],
        thresholds: Mapping[Place, Thresholds],
        chance: Fraction,
        privacy: Privacy,
        passes: tuple[str, ...],
        filters: Mapping[str, tuple[str, ...]] | None = None,
        tabled: Mapping[int, str] | None = None,
        reader: str = "csv",
        notes: tuple[str, ...] = (),
    ) -> Configuration:
        """Return the configuration of these settings and those that all files have, if all is right.

        `gamma` is the key of the first stage's share, if there is a first stage; `tabled` are the keys under
        which the thresholds of each level are looked for, if they are there.
        """
        share, half = partial(read_share, quoted=self.quoted), Fraction(1, 2)
        most, limit = max(1, len(tabulation.answers.several)), tabulation.answers.limit
        whole = partial(read_whole_number, lowest=1, highest=most)
        made = Configuration(
            tabulation=tabulation,
            # a question with one answer has no limit to state
            max_race_codes=self.get(limit, whole, most) if most > 1 or limit in self.data else 1,
            gamma=half if gamma is None else self.get(gamma, share, half),
            allow_negative_counts=self.get("allow_negative_counts", read_truth, True),
            budgets=budgets,
            thresholds=thresholds,
            zero_suppression_chance=chance,
            privacy=privacy,
            passes=passes,
            filters={
                which: own for which, own in (filters or {}).items() if own != tabulation.passes[which].codes
            },
            reader=reader,
            notes=notes,
        )
        switches = [one_pass.switch for one_pass in tabulation.passes.values()]
        if not made.passes:
            text = f"neither {' nor '.join(switches)} is true; nothing would be tabulated"
            self.wrong(text, switches[0], field=switches[0])
        for which in made.passes:
            places = made.levels(which)
            if not places:
                self.wrong("no budget of this pass is above 0; nothing would be tabulated", field=which)
            for geography, level in (place for place in places if place not in made.thresholds):
                if key := (tabled or {}).get(level):
                    groups = tabulation.workloads[level].groups if key.startswith("thresholds") else level
                    self.wrong("thresholds are missing", key, field=f"{key} ({geography}, {groups})")
        self.problems.stop()
        return made


CHANCE = "zero_suppression_chance"


def read_settings(
    data: Mapping[str, object], text: str, where: str, tabulation: AdaptiveTabulation
) -> Configuration:
    """Read the settings and budgets of a specification: its tables `settings` and `budgets`."""
    lines = key_lines(text)
    reader = SettingsReader(data, where, lambda key_path: nearest_line(lines, key_path), quoted=True)
    given = reader.inside(reader.get("settings", read_mapping, {}), "settings")
    given.quoted = True
    picks = any(ladder.picks for ladder in tabulation.ladders.values())
    given.known(("privacy", "stage_one_share", CHANCE, "allow_negative_counts", tabulation.answers.limit))
    kind: Privacy = given.get("privacy", read_privacy, "zcdp")
    budgets, thresholds = read_levels(reader, tabulation, BUDGET_WORDS[kind], "budgets")
    passes = tuple(
        which
        for which, one_pass in tabulation.passes.items()
        if any(budgets[place] != 0 for place in budgets if place[0] in one_pass.geographies)
    )
    if not passes:
        reader.wrong("no budget is above 0; nothing would be tabulated", "budgets", field="budgets")
    defaults = {} if picks else {"stage_one_share": Number("0.5")}
    defaults[CHANCE] = Number("0")
    given.data = {**defaults, "allow_negative_counts": True, **given.data}
    return given.configuration(
        tabulation,
        "stage_one_share",
        budgets=budgets,
        thresholds=thresholds,
        chance=given.chance(),
        privacy=kind,
        passes=passes or tuple(tabulation.passes),
        tabled=dict.fromkeys(tabulation.levels, "budgets"),
    )


def read_levels(
    reader: SettingsReader, tabulation: AdaptiveTabulation, word: str, key: str = "levels"
) -> tuple[dict[Place, Fraction | None], dict[Place, Thresholds]]:
    """Return budgets and thresholds from the rows of a `safetab.toml`, or of a specification."""
    budgets: dict[Place, Fraction | None] = dict.fromkeys(tabulation.places, Fraction(0))
    thresholds: dict[Place, Thresholds] = {}
    seen: set[Place] = set()

    def why(key: str) -> str:
        return f"; with this privacy the budget is called {word}" if key in BUDGET_WORDS.values() else ""

    names, numbers = tuple(tabulation.geographies), tabulation.levels
    for index, table in enumerate(reader.get(key, _budget_rows, list[dict[str, object]]())):
        row = reader.inside(table, key, index)
        row.known(("geography", "level", word, "thresholds"), why)
        geography = row.get("geography", lambda value: _word(value, names), "")
        level = row.get("level", lambda value: read_whole_number(value, min(numbers), max(numbers)), 0)
        if not row.bad and level not in numbers:
            row.wrong(f"a level is not one of {', '.join(map(str, numbers))}", "level", field="level")
        budget = row.get(word, lambda value: read_budget(value, quoted=True), None)
        if level not in numbers:
            continue
        many = steps_of(tabulation, level)
        steps = row.get("thresholds", read_thresholds(many), (0,) * many) if "thresholds" in table else None
        if row.bad:
            continue
        if (geography, level) in seen:
            row.wrong("a geography and level occur twice", field=key)
        seen.add((geography, level))
        budgets[geography, level] = budget
        if steps is not None:
            thresholds[geography, level] = steps
    return budgets, thresholds


def _budget_rows(value: object) -> list[dict[str, object]]:
    if not isinstance(value, list) or not value or not all(isinstance(row, dict) for row in value):
        raise InputError('it must be a list of rows such as { geography = "USA", level = 2, ... }')
    return value
