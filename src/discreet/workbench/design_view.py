"""What the Tabulation design page shows: `discreet safetab design` of the groups of 2020, and its curves.

Another specification has its own stability, which `discreet safetab design FOLDER` finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from discreet.budget import Neighbours
from discreet.errors import InputError
from discreet.release.safetab.geographies import LEVEL_WORDS
from discreet.workbench.design_plan import Design, Rivalry
from discreet.workbench.design_plan import opened as design_opened
from discreet.workbench.results import Line as Points

if TYPE_CHECKING:
    from discreet.release.safetab.design import SizedLevel

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

    lines: tuple[SizedLevel, ...]
    costs: tuple[tuple[Neighbours, Fraction, float, float], ...]
    suppression: tuple[tuple[str, Points], ...]
    curves: Curves | None


def groups() -> Any:
    """Return the groups of 2020."""
    from discreet.release.safetab.census2020 import specification_2020

    return specification_2020()


def design_numbers(design: Design, delta: Fraction) -> DesignNumbers:
    """Return the numbers of a design for the pass that is looked at."""
    from discreet.release.safetab.design import sizing

    plan = configuration(design)
    if not plan.levels(design.which):
        return DesignNumbers((), (), (), None)
    sized = sizing(plan, groups(), design.which, error=design.target, of=design.of, delta=delta, exact=False)
    parts = [level.mechanism for level in sized.levels]
    costs = tuple((one.neighbours, one.rho, one.zcdp_epsilon, one.epsilon) for one in sized.costs)
    chosen = next((part for part in parts if (part.geography, part.level) == design.chosen), None)
    curves = None if chosen is None else _curves(chosen)
    return DesignNumbers(sized.levels, costs, _suppression(parts), curves)


def configuration(design: Design) -> Any:
    """Return the design as the parameters of a run, with thresholds from the target error if so chosen."""
    from discreet.release.safetab.configuration import Configuration
    from discreet.release.safetab.design import with_derived
    from discreet.release.safetab.geographies import GEOGRAPHIES, LEVELS, PASSES, STATES

    budgets = {
        (geography, level): design.rho((geography, level)) for geography in GEOGRAPHIES for level in LEVELS
    }
    thresholds = {place: design.stated_thresholds(place) for place, rho in budgets.items() if rho}
    runs = [any(budgets[place] for place in budgets if place[0] in PASSES[which]) for which in ("US", "PR")]
    plan = Configuration(
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
    return with_derived(plan, groups(), error=design.target, of=design.of) if design.derived else plan


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
    from discreet.release.safetab.design import cost

    plan, found = configuration(design), {}
    for relation in _RELATIONS:
        whole = cost(
            plan, groups(), design.which, delta=delta, neighbours=relation, exact=True, progress=progress
        )
        found[str(relation)] = (whole.epsilon, whole.cases)
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

    found = rivals([(margin, counts)], delta=delta)
    return Rivalry(
        margin,
        counts,
        float(found.variances[0]),
        float(found.scales[0]),
        found.gaussian_epsilon,
        found.geometric_epsilon,
    )


def design_toml(design: Design) -> str:
    """Write the design as the text of a `safetab.toml`."""
    from discreet.release.safetab.safetab_toml import read_toml, write_toml

    text = write_toml(configuration(design))
    read_toml(text)  # a design with nothing in it is refused here
    return text
