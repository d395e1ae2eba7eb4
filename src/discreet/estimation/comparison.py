"""Areas compared: values or rates of areas, and the differences or ratios of pairs of them, in one call.

Errors come from the standard deviations in the table, then areas are taken as independent of each other, or
from draws of all estimates (`estimate --draws`), which have every covariance. Ratios have Fieller's interval.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy

from discreet.areas.tree import Floats
from discreet.errors import InputError
from discreet.estimation.error_laws import normal_quantile
from discreet.estimation.estimates import ratio_interval
from discreet.estimation.linear_algebra import one_algebra_thread
from discreet.faces import Summarised
from discreet.numbers import share, shown
from discreet.tables import Problems, TableSource, open_table, read_table

_MOST_PAIRS = 100_000
_SUREST = 0.001
"""The chance that the order of two areas is the other one is not stated to be smaller than this."""
_DRAW = re.compile(r"draw_(\d+)")


@dataclass(frozen=True, slots=True)
class AreaValue:
    """A value or rate of one area, or of two compared; the ends are None where the interval is unbounded."""

    name: str
    estimate: float
    error: float
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True)
class AreaPair:
    """Two areas compared, and the chance that the first has the larger value, as the estimates see it.

    The chance is 0.001 to 0.999, or 0 or 1 if neither has an error.
    """

    one: str
    two: str
    estimate: float
    error: float
    lower: float | None
    upper: float | None
    larger: float


@dataclass(frozen=True, slots=True)
class AreaComparison(Summarised):
    """Values or rates of areas, and their differences or ratios.

    Guarantee. Assumed: errors close to normal, with the stated deviations; without draws also that areas, and
    the parts of a rate, have errors that are independent but for the stated covariance. Claimed: intervals
    cover with the level, each by itself, not all at once (tests/estimation/test_comparison.py).
    """

    areas: tuple[AreaValue, ...]
    pairs: tuple[AreaPair, ...]
    kind: str
    """Of pairs: difference or ratio."""
    is_rate: bool
    level: float
    draws: int
    """How many draws the errors come from; 0: standard deviations, areas taken as independent."""

    def pair(self, first: str, second: str) -> AreaPair:
        """Return the comparison of two areas."""
        for pair in self.pairs:
            if (pair.one, pair.two) == (first, second):
                return pair
        raise InputError(f"{shown(first)} and {shown(second)} were not compared in this order")


@one_algebra_thread()
def compare_areas(
    frame: TableSource,
    *,
    where: Mapping[str, str] | None = None,
    per: Mapping[str, str] | None = None,
    pairs: str | Sequence[tuple[str, str]] = "all",
    kind: str = "difference",
    area: str = "unit",
    value: str = "estimate",
    sd: str = "sd",
    covariance: float = 0.0,
    level: float = 0.95,
) -> AreaComparison:
    """Compare areas: their values in the rows `where` columns have these texts, or rates `per` other rows.

    The table is that of `estimate` (estimates, areas, contrasts or draws), or one like it. `pairs` are "all",
    "none", or names of two areas each; `kind` is "difference" or "ratio". Without draws `covariance` is that
    of the errors of a rate's two parts in one area.

    >>> frame = {"unit": ["A", "B"], "estimate": [520.0, 480.0], "sd": [6.0, 8.0]}
    >>> found = compare_areas(frame).pair("A", "B")
    >>> found.estimate, found.error, round(found.lower, 1), round(found.upper, 1), found.larger
    (40.0, 10.0, 20.4, 59.6, 0.999)
    """
    if kind not in ("difference", "ratio"):
        raise InputError(f"kind is {shown(kind)}; it must be difference or ratio")
    if not isinstance(covariance, int | float) or not math.isfinite(covariance):
        raise InputError(f"covariance is {shown(str(covariance))}; it must be a finite number")
    chance = float(share(level, name="level", floats=True))
    names, parts, draws = _parts(frame, where, per, area, value, sd)
    if draws and covariance:
        raise InputError("a covariance is given beside draws, which have all covariances: leave it out")
    values = _Values.of(names, parts, draws, covariance, chance)
    asked = _asked(pairs, names)
    area_pairs = []
    for first, second in asked:
        a, b = names.index(first), names.index(second)
        area_pairs.append(values.compared(a, b, kind))
    return AreaComparison(
        tuple(values.area(number) for number in range(len(names))),
        tuple(area_pairs),
        kind,
        bool(per),
        chance,
        draws,
    )


def _asked(pairs: str | Sequence[tuple[str, str]], names: Sequence[str]) -> list[tuple[str, str]]:
    if isinstance(pairs, str):
        if pairs not in ("all", "none"):
            raise InputError(f'pairs is {shown(pairs)}; it must be "all", "none", or pairs of names')
        asked = list(combinations(names, 2)) if pairs == "all" else []
    else:
        asked = [(first, second) for first, second in pairs]
    if len(asked) > _MOST_PAIRS:
        raise InputError(f"{len(names)} areas make {len(asked)} pairs; at most {_MOST_PAIRS} are compared")
    for name in (name for pair in asked for name in pair):
        if name not in names:
            raise InputError(f"there is no area {shown(name)}; there are {', '.join(names[:8])}")
    return asked


@dataclass(frozen=True, slots=True)
class _Part:
    """One number for each area: the estimate, its standard deviation, and draws (area, draw)."""

    estimate: Floats
    sd: Floats
    draws: Floats


def _parts(
    frame: TableSource,
    where: Mapping[str, str] | None,
    per: Mapping[str, str] | None,
    area: str,
    value: str,
    sd: str,
) -> tuple[list[str], list[_Part], int]:
    """Return the areas, the value and, for rates, what it is divided by; and how many draws there are."""
    if isinstance(frame, Mapping):
        from discreet.files import arrow

        frame = arrow().table({name: list(column) for name, column in frame.items()})
    columns = open_table(frame, wanted=[area, value], name="frame").names
    draws = sorted((name for name in columns if _DRAW.fullmatch(name)), key=lambda name: int(name[5:]))
    if 0 < len(draws) < 20:
        raise InputError(f"there are {len(draws)} draws; at least 20 are needed for an interval")
    words = list(dict.fromkeys([area, *(where or {}), *(per or {})]))
    floats = [value, *(draws or [sd])]
    problems = Problems()
    table = read_table(frame, words=words, floats=floats, name="frame", problems=problems)
    problems.stop()
    texts = {
        name: np.array([*table.words[name].values.to_pylist(), ""], dtype=object)[table.words[name].codes]
        for name in words
    }
    parts: list[_Part] = []
    names: list[str] = []
    for chosen in [where or {}] if per is None else [where or {}, per]:
        mine = np.ones(table.rows, dtype=bool)
        for name, text in chosen.items():
            mine &= texts[name] == text
        rows = np.flatnonzero(mine)
        here = texts[area][rows].tolist()
        said = ", ".join(f"{name} {text!r}" for name, text in chosen.items()) or "all"
        if not here or len(set(here)) < len(here):
            problem = f"{len(here)} rows for {len(set(here))} areas" if here else "no rows"
            raise InputError(
                f"{problem} ({said}); one row for each area is needed: say more in where and per"
            )
        numbers = np.column_stack([np.asarray(table.numbers[name], dtype=float)[rows] for name in floats])
        lost = ~np.isfinite(numbers).all(axis=1)
        if lost.any():
            raise InputError(
                f"{lost.sum()} areas have no number ({said}), such as {here[int(np.argmax(lost))]!r}"
            )
        if not draws and (numbers[:, 1] < 0).any():
            raise InputError(f"a standard deviation is below zero ({said})")
        order = [here.index(name) for name in (names or here) if name in here]
        names = [here[number] for number in order]
        numbers = numbers[order]
        spread = numbers[:, 1:] if draws else np.zeros((len(names), 0))
        parts.append(_Part(numbers[:, 0], numbers[:, 1], spread))
    if len({len(part.estimate) for part in parts}) > 1:
        raise InputError("some areas have a value and nothing to divide it by; the rows must match")
    return names, parts, len(draws)


@dataclass(frozen=True)
class _Values:
    """Values or rates of all areas with what their errors come from."""

    names: Sequence[str]
    values: Floats
    errors: Floats
    ends: tuple[Floats, Floats]
    spread: Floats
    """Draws of the values, or nothing."""
    factor: float
    """The quantile of the interval."""

    @classmethod
    def of(
        cls, names: Sequence[str], parts: Sequence[_Part], draws: int, covariance: float, level: float
    ) -> _Values:
        factor = normal_quantile(level)
        if draws:
            factor = float(scipy.special.stdtrit(draws - 1, (1 + level) / 2))
        top = parts[0]
        if len(parts) == 1:
            spread = top.draws
            errors = spread.std(axis=1, ddof=1) if draws else top.sd
            return cls(
                names,
                top.estimate,
                errors,
                (top.estimate - factor * errors, top.estimate + factor * errors),
                spread,
                factor,
            )
        bottom = parts[1]
        if draws:
            centred = [part.draws - part.draws.mean(axis=1, keepdims=True) for part in parts]
            sizes = [np.sum(a * b, axis=1) / (draws - 1) for a, b in _products(centred)]
        else:
            both = np.full(len(names), float(covariance))
            if (both**2 > (top.sd * bottom.sd) ** 2 * (1 + 1e-9)).any():
                raise InputError("the covariance is larger than the deviations of the two parts allow")
            sizes = [top.sd**2, bottom.sd**2, both]
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(bottom.estimate != 0, top.estimate / bottom.estimate, np.nan)
            variance = (sizes[0] - 2 * rate * sizes[2] + rate**2 * sizes[1]) / bottom.estimate**2
        if np.isnan(rate).any():
            raise InputError("an area is divided by zero: leave it out")
        ends = ratio_interval(
            top.estimate, bottom.estimate, (sizes[0], sizes[1], sizes[2]), np.full(len(names), factor)
        )
        # a draw of the rate by its first derivatives: a denominator near zero does no harm
        spread = np.zeros((len(names), 0))
        if draws:
            spread = (centred[0] - rate[:, None] * centred[1]) / bottom.estimate[:, None] + rate[:, None]
        return cls(names, rate, np.sqrt(np.maximum(variance, 0.0)), ends, spread, factor)

    def area(self, number: int) -> AreaValue:
        """Return one area."""
        lower, upper = (_end(end[number]) for end in self.ends)
        return AreaValue(
            self.names[number], float(self.values[number]), float(self.errors[number]), lower, upper
        )

    def compared(self, a: int, b: int, kind: str) -> AreaPair:
        """Compare two areas."""
        first, second = float(self.values[a]), float(self.values[b])
        var_a, var_b = float(self.errors[a]) ** 2, float(self.errors[b]) ** 2
        both = float(np.cov(self.spread[a], self.spread[b])[0, 1]) if self.spread.size else 0.0
        gap = math.sqrt(max(var_a + var_b - 2 * both, 0.0))
        larger = _larger(first - second, gap)
        if kind == "difference":
            ends: tuple[float | None, float | None] = (
                first - second - self.factor * gap,
                first - second + self.factor * gap,
            )
            return AreaPair(self.names[a], self.names[b], first - second, gap, *ends, larger)
        if second == 0:
            raise InputError(f"{self.names[b]!r} is zero, and nothing can be divided by it")
        ratio = first / second
        error = math.sqrt(max(var_a - 2 * ratio * both + ratio**2 * var_b, 0.0)) / abs(second)
        sizes = np.array([var_a]), np.array([var_b]), np.array([both])
        interval = ratio_interval(np.array([first]), np.array([second]), sizes, np.array([self.factor]))
        lower, upper = (_end(end[0]) for end in interval)
        return AreaPair(self.names[a], self.names[b], ratio, error, lower, upper, larger)


def _products(parts: Sequence[Floats]) -> list[tuple[Floats, Floats]]:
    return [(parts[0], parts[0]), (parts[1], parts[1]), (parts[0], parts[1])]


def _end(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _larger(difference: float, error: float) -> float:
    """The chance that the first is larger, if the error is normal; how it ends beyond that is not known."""
    if error == 0:
        return 0.5 if difference == 0 else float(difference > 0)
    return min(max(0.5 * math.erfc(-difference / error / math.sqrt(2)), _SUREST), 1 - _SUREST)
