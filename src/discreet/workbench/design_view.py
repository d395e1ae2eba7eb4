"""What the Tabulation design page shows: sizes, thresholds, suppression and cost of a SafeTab design.

The groups are those of a specification in which every race code belongs to one group alone and one in
combination, and every ethnicity code to one group, at each level and with or without the groups that get a
total only. That is the specification of 2020; another one has its own stability, which
`discreet safetab account` finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.budget import Neighbours
from discreet.errors import InputError
from discreet.release.safetab.geographies import LEVEL_WORDS
from discreet.workbench.design_plan import Design, Line, Rivalry
from discreet.workbench.design_plan import opened as design_opened
from discreet.workbench.results import Line as Points

__all__ = ["DesignNumbers", "design_numbers", "design_opened"]

_POINTS = 160
_RELATIONS: tuple[Neighbours, ...] = ("unbounded", "bounded")


@dataclass(frozen=True, slots=True)
class Curves:
    """One chosen row: the chance to be dropped and the bias by true size, and the table by true size."""

    suppressed: Points
    bias: Points
    overall_bias: Points
    tables: tuple[Points, Points, Points, Points]


@dataclass(frozen=True, slots=True)
class DesignNumbers:
    """All that follows from a design in milliseconds.

    `costs` has (rho, zCDP's epsilon, exact epsilon), by neighbours; none if nothing is tabulated.
    """

    lines: tuple[Line, ...]
    costs: tuple[tuple[Neighbours, Fraction, float, float], ...]
    suppression: tuple[tuple[str, Points], ...]
    curves: Curves | None


@lru_cache(maxsize=1)
def groups() -> Any:
    """Return the smallest specification that is like that of 2020."""
    from discreet.release.safetab.specification import Iteration, Specification

    iterations, mapped = [], {"race": [], "race, total only": [], "origin": [], "origin, total only": []}  # type: ignore[var-annotated]
    for level in (1, 2):
        for only in (False, True):
            for kind in ("alone", "combination", "ethnicity"):
                if (level, only, kind) == (1, True, "ethnicity"):
                    continue  # no regional group of an ethnicity is total-only
                code = f"{level}{kind[0]}{only:d}"
                iterations.append(Iteration(code=code, name=code, level=level, kind=kind, total_only=only))
                who = "origin" if kind == "ethnicity" else "race"
                mapped[f"{who}, total only" if only else who].append(code)
    codes = {name: name for name in mapped}
    return Specification(
        iterations=tuple(iterations), codes=codes, mapped={name: tuple(them) for name, them in mapped.items()}
    )


def design_numbers(design: Design, delta: Fraction) -> DesignNumbers:
    """Return the numbers of a design for the pass that is looked at."""
    parts = _mechanisms(design)
    lines = tuple(_line(design, part) for part in parts)
    budgets = tuple(((part.geography, part.level), part.budget) for part in parts)
    often = parts[0].stability.value if parts else 1
    costs = tuple(_cost(budgets, often, design.gamma, delta, one) for one in _RELATIONS if parts)
    chosen = next((part for part in parts if (part.geography, part.level) == design.chosen), None)
    curves = None if chosen is None else _curves(chosen)
    return DesignNumbers(lines, costs, _suppression(parts), curves)


@lru_cache(maxsize=64)
def _cost(
    budgets: tuple[tuple[tuple[str, int], Fraction], ...],
    stability: int,
    gamma: Fraction,
    delta: Fraction,
    relation: Neighbours,
) -> tuple[Neighbours, Fraction, float, float]:
    """The cost with two stages throughout; remembered, as most sliders do not change it."""
    from discreet.release.safetab.design import cost

    found = cost(dict(budgets), delta=delta, gamma=gamma, stability=stability, neighbours=relation)
    return relation, found.rho, found.zcdp_epsilon, found.epsilon


def _mechanisms(design: Design) -> tuple[Any, ...]:
    from discreet.release.safetab.account import mechanisms

    return mechanisms(configuration(design), groups(), design.which)


def configuration(design: Design) -> Any:
    """Return the design as the parameters of a run, with thresholds from the target error if so chosen."""
    from discreet.release.safetab.configuration import Configuration
    from discreet.release.safetab.geographies import GEOGRAPHIES, LEVELS, PASSES, STATES

    budgets = {
        (geography, level): design.rho((geography, level)) for geography in GEOGRAPHIES for level in LEVELS
    }
    thresholds = {place: _thresholds(design, place) for place, rho in budgets.items() if rho}
    runs = [any(budgets[place] for place in budgets if place[0] in PASSES[which]) for which in ("US", "PR")]
    return Configuration(
        max_race_codes=design.races,
        budgets=budgets,
        gamma=design.gamma,
        thresholds=thresholds,
        zero_suppression_chance=design.chance,
        allow_negative_counts=design.negatives,
        run_us=runs[0],
        run_pr=runs[1],
        state_filter_us=design.states or STATES,
        privacy="zcdp",
    )


def _thresholds(design: Design, place: tuple[str, int]) -> tuple[int, int, int]:
    if not design.derived:
        return design.stated_thresholds(place)
    stability = groups().stability(place[1], design.races, place[0]).value
    steps: tuple[int, int, int] = derived(
        design.rho(place), stability, design.gamma, design.target, design.of
    )
    return steps


@lru_cache(maxsize=512)
def derived(rho: Fraction, stability: int, gamma: Fraction, target: Fraction, of: str) -> Any:
    """Return the thresholds with which groups that are large enough get their table, 95 times in 100."""
    from discreet.release.safetab.design import smallest_sizes, thresholds_for
    from discreet.release.safetab.mechanism import noise_for

    second = noise_for((1 - gamma) * rho, stability, "zcdp")
    sizes = smallest_sizes(second, relative_margin=target, of=of)  # type: ignore[arg-type]
    return thresholds_for(sizes[1:], noise_for(gamma * rho, stability, "zcdp"))


def _line(design: Design, part: Any) -> Line:
    from discreet.release.safetab.design import smallest_sizes
    from discreet.release.safetab.mechanism import margin, variance_of

    return Line(
        place=(part.geography, part.level),
        stability=part.stability.value,
        variance=float(variance_of(part.stage_two)),
        margin=margin(part.stage_two),
        sizes=smallest_sizes(part.stage_two, relative_margin=design.target, of=design.of),  # type: ignore[arg-type]
        thresholds=part.thresholds,
        suppression=part.suppression,
    )


def _suppression(parts: Iterable[Any]) -> tuple[tuple[str, Points], ...]:
    """The chance to be dropped by true size, a line for each kind of noise below the states."""
    from discreet.release.safetab.design import shown

    kinds: dict[Any, list[Any]] = {}
    for part in parts:
        if part.suppression is not None:
            kinds.setdefault((part.stage_two, part.suppression), []).append(part)
    if not kinds:
        return ()
    most = max(int(cut) for _, cut in kinds)
    found = []
    for (noise, cut), them in kinds.items():
        seen = shown(_sizes(min(3 * max(cut, 5), max(3 * cut, 2 * most))), noise, cut)
        found.append((_name(them), _points(seen.sizes, seen.suppressed)))
    return tuple(found[:5])


def _name(parts: list[Any]) -> str:
    words = {LEVEL_WORDS[part.level] for part in parts}
    if len(parts) == 1:
        return f"{parts[0].geography}, {words.pop()}"
    return f"{' and '.join(sorted(words))} ({len(parts)} geographies)"


def _sizes(most: int) -> list[int]:
    step = max(1, -(-most // _POINTS))
    return list(range(0, most + 1, step))


def _curves(part: Any) -> Curves:
    from discreet.release.safetab.design import shown, table_chances

    first, _, last = part.thresholds
    low, high = (float(f"{size:.0e}") for size in (max(1.0, first / 4), max(10.0, last * 2.0)))
    steps = sorted({round(low * (high / low) ** (place / _POINTS)) for place in range(_POINTS + 1)})
    reached = table_chances(steps, part.stage_one, part.thresholds)
    tables = tuple(_points(steps, reached[:, column]) for column in range(4))
    if part.suppression is None:
        return Curves((), (), (), tables)  # type: ignore[arg-type]
    seen = shown(_sizes(3 * max(part.suppression, 5)), part.stage_two, part.suppression)
    lines = [_points(seen.sizes, values) for values in (seen.suppressed, seen.bias, seen.overall_bias)]
    return Curves(lines[0], lines[1], lines[2], tables)  # type: ignore[arg-type]


def _points(x: Any, y: Any) -> Points:
    return tuple((float(a), float(b)) for a, b in zip(x, y, strict=True))


def design_exact(
    design: Design, delta: Fraction, *, progress: Callable[[int, int], None] | None = None
) -> dict[str, tuple[float, int]]:
    """Return the exact epsilon by neighbours, the worst over groups that get a total only, and of how many.

    >>> from discreet.workbench.design_plan import Design
    >>> alone = Design().with_on([("USA", 2)], level=1, on=False)
    >>> found = design_exact(alone, Fraction(1, 10**10))
    >>> {relation: round(epsilon, 4) for relation, (epsilon, cases) in found.items()}
    {'unbounded': 24.2817, 'bounded': 37.3637}
    """
    from discreet.release.safetab.account import LARGEST, exact_account

    plan = configuration(design)
    if sum((rho for rho in design.shown_rhos()), Fraction(0)) > LARGEST:
        raise InputError(f"the budgets add up to more than {LARGEST}, which protects nobody")
    found: dict[str, tuple[float, int]] = {}
    for relation in _RELATIONS:
        whole = exact_account(plan, groups(), design.which, relation)
        (point,) = whole.with_workers(1, progress).at_delta([delta])
        found[relation] = (max(point.epsilon, 0.0), len(whole.cases))
    return found


def design_margin(design: Design, place: tuple[str, int], margin: str) -> tuple[Fraction, Fraction]:
    """Return the rho for a wanted margin by the normal law, and the least one that exactly keeps it.

    >>> from discreet.workbench.design_plan import Design
    >>> [round(float(rho), 4) for rho in design_margin(Design(), ("COUNTY", 2), "11")]
    [0.1588, 0.1449]
    """
    from discreet.release.safetab.design import exact_rho_for_margin, rho_for_margin

    if not margin.strip().isdigit():
        raise InputError(f"the margin is {margin!r}; it must be a whole number such as 11")
    stability = groups().stability(place[1], design.races, place[0]).value
    wanted = int(margin)
    exact = exact_rho_for_margin(wanted, stability=stability, gamma=design.gamma)
    return _short(rho_for_margin(wanted, stability=stability, gamma=design.gamma)), _short(exact)


def _short(rho: Fraction) -> Fraction:
    """Five digits, rounded up: a little more budget keeps the margin."""
    places = Fraction(10) ** (4 - len(str(int(rho))) if rho >= 1 else _zeros(rho) + 5)
    return -(-rho * places // 1) / places


def _zeros(rho: Fraction) -> int:
    count = 0
    while rho * 10 < 1:
        rho, count = rho * 10, count + 1
    return count


@lru_cache(maxsize=256)
def design_rivals(margin: int, counts: int, delta: Fraction) -> Rivalry:
    """Compare discrete Gaussian and geometric noise of the same margin on one person's counts."""
    from discreet.release.safetab.design import rivals

    found = rivals(margin, counts=counts, delta=delta)
    return Rivalry(
        margin,
        counts,
        float(found.gaussian.variance),
        float(found.geometric.scale),
        found.gaussian_epsilon,
        found.geometric_epsilon,
    )


def design_toml(design: Design) -> str:
    """Write the design as the text of a `safetab.toml`."""
    from discreet.release.safetab.safetab_toml import read_toml, write_toml

    text = write_toml(configuration(design))
    read_toml(text)  # a design with nothing in it is refused here
    return text
