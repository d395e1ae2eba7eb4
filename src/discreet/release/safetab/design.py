"""Sizing a tabulation: budgets from margins, group sizes from a wanted accuracy, what suppression does.

`sizing` answers it all for a configuration: the command line prints it, the workbench shows it, a spreadsheet
holds it. It takes milliseconds but for the exact cost, so that a page can follow a slider. A table of `cells`
cells (1, 8, 18 or 46) has independent noise of the second stage in each.

A design as a spreadsheet: what has a closed form is a live formula, so that a committee can try changes.

The law of the noise is on a sheet of its own, so margins of error and suppression follow too. Only the exact
epsilon is a number; if a setting is changed, its cell says that `discreet` must be run again.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from itertools import pairwise
from math import ceil, exp, floor, log10, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.comparisons import ZCDP
from discreet.accounting.parallel import Progress
from discreet.accounting.privacy_loss import compose
from discreet.budget import Claim, Neighbours
from discreet.budget.release import EXACTLY
from discreet.errors import DiscreetError, InputError
from discreet.files import csv_text
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.numbers import Exact, fraction, plain, positive
from discreet.release.safetab.account import (
    LARGEST,
    claim,
    exact_account,
    mechanisms,
    replacing,
    spent,
    two_stages,
)
from discreet.release.safetab.configuration import RUNS, Configuration, Place
from discreet.release.safetab.mechanism import Mechanism, noise_for
from discreet.release.safetab.specification import (
    GEOGRAPHIES,
    LEVEL_WORDS,
    LEVELS,
    PASS_NAMES,
    PASSES,
    Pass,
    Specification,
)
from discreet.release.safetab.tables import CONFIDENCE, Z95, variance_of
from discreet.release.safetab.tables import margin as margin_of

Floats = NDArray[np.float64]
Of = Literal["cell", "total"]
"""What a target error is a part of: the average cell, or the whole group."""

CELLS = (1, 8, 18, 46)
"""Published cells of a group by table: a total, or sex by 4, 9 or 23 ages."""

STABILITY = 9
"""Groups of one region and level that a person can be in, in the specification of 2020."""

_PLACES = [(geography, level) for geography in GEOGRAPHIES for level in LEVELS]
_LARGEST_MARGIN = 10**6
_DIGITS = 6  # of a size of noise that is searched for, rounded to the safe side


def rho_for_margin(margin: Exact, *, stability: int = STABILITY, gamma: Exact = "0.1") -> Fraction:
    """Return the rho of a level whose published cells have a 95 % margin of error by the normal law.

    1.9208 / margin^2 for each of the groups a person is in; the first stage takes its share on top.

    >>> [round(float(rho_for_margin(margin)), 3) for margin in (3, 11, 50)]
    [2.134, 0.159, 0.008]
    """
    wanted, share = positive(margin, name="margin"), _share(gamma)
    return stability * Z95**2 / (2 * wanted**2 * (1 - share))


def exact_rho_for_margin(margin: int, *, stability: int = STABILITY, gamma: Exact = "0.1") -> Fraction:
    """Return the least rho with which noise exceeds an integer margin in 5 % of the cells at most.

    Integer noise beyond a margin of 3 is at least 4 off, which the normal law does not know.

    >>> round(float(exact_rho_for_margin(3)), 3), round(float(exact_rho_for_margin(50)), 5)
    (1.528, 0.00753)
    """
    return Fraction(stability) / (2 * _widest(DiscreteGaussian, margin) * (1 - _share(gamma)))


def smallest_sizes(noise: Noise, *, relative_margin: Exact, of: Of = "cell") -> tuple[int, int, int, int]:
    """Return from which size on a group can be shown as a total, and by sex and 4, 9 and 23 ages.

    `cell`: 95 % of the time the noise of a cell is at most this part of the average cell. `total`: that of
    the sum of all cells is at most this part of the group. Both by the exact law of the noise.

    >>> smallest_sizes(DiscreteGaussian(625), relative_margin="0.5")
    (98, 784, 1764, 4508)
    >>> smallest_sizes(DiscreteGaussian(625), relative_margin="0.1", of="total")
    (490, 1390, 2080, 3320)
    """
    part = positive(relative_margin, name="relative_margin")
    total, four, nine, many = (
        ceil((cells * margin_of(noise) if of == "cell" else margin_of(noise, cells)) / part)
        for cells in CELLS
    )
    return total, four, nine, many


def thresholds_for(
    sizes: Sequence[int], stage_one: Noise | None, *, chance: Exact = "0.95"
) -> tuple[int, int, int]:
    """Return thresholds with which a group of each size gets its table with this chance, or more.

    >>> thresholds_for((500, 1000, 7000), DiscreteGaussian("22500/1067"), chance="0.95")
    (492, 992, 6992)
    """
    if len(sizes) != 3:
        raise InputError(f"there are {len(sizes)} sizes; three are needed, one for each threshold")
    slack = 0 if stage_one is None else stage_one.quantile(fraction(chance, name="chance"))
    first, second, third = (max(0, int(size) - slack) for size in sizes)
    return first, second, third


@dataclass(frozen=True, slots=True)
class Shown:
    """What becomes of groups that would get a total, by their true sizes.

    `suppressed` is the chance to be dropped; `bias` is E[released - size] if released, and
    `overall_bias` counts a dropped group as a zero.
    """

    sizes: NDArray[np.int64]
    suppressed: Floats
    bias: Floats
    overall_bias: Floats


def shown(sizes: ArrayLike, noise: Noise, suppression: int) -> Shown:
    """Return the chance of suppression and the bias of released totals by true size, all at once.

    >>> found = shown([0, 93, 186], DiscreteGaussian(625), 93)
    >>> found.suppressed.round(4).tolist(), found.bias.round(2).tolist()
    ([0.9999, 0.508, 0.0001], [99.47, 20.27, 0.01])
    """
    sizes = np.asarray(sizes)
    if sizes.dtype.kind not in "iu" or (sizes.size and sizes.min() < 0):
        raise InputError("sizes of groups must be whole numbers, zero or more")
    below = suppression - sizes.astype(np.int64)  # dropped if the noise is not above this
    suppressed = np.asarray(noise.cdf(below), dtype=np.float64)
    upper = partial_means(noise, below)
    released = np.asarray(noise.sf(below), dtype=np.float64)
    bias = upper / released
    return Shown(sizes.astype(np.int64), suppressed, bias, upper - sizes * suppressed)


def partial_means(noise: Noise, below: ArrayLike) -> Floats:
    """Return E[X 1{X > b}] for each b: by symmetry the same at b and at -b - 1.

    >>> round(float(partial_means(DiscreteLaplace(1), 0)), 6)   # r / (1 - r^2), r = e^-1
    0.425459
    """
    edges = np.atleast_1d(np.asarray(below, dtype=np.int64))
    start = np.maximum(edges + 1, -edges)  # the first x of the upper tail, at least 1 or 0
    spread = sqrt(noise.true_variance()) + 1.0
    reach = int(start.max(initial=0) + (12 if noise.is_gaussian else 60) * spread)
    first = int(start.min(initial=0))
    support = np.arange(first, reach + 1, dtype=np.int64)
    terms = support * noise.pmf(support)
    sums = np.cumsum(terms[::-1])[::-1]  # small terms first
    means: Floats = sums[start - first].reshape(np.shape(below))
    return means


def table_chances(sizes: ArrayLike, stage_one: Noise | None, thresholds: Sequence[int]) -> Floats:
    """Return the chance of each table (total, 4, 9, 23 ages), a column each, by true size.

    >>> table_chances([971], DiscreteGaussian("15000/53"), (971, 4971, 19971)).round(3).tolist()
    [[0.488, 0.512, 0.0, 0.0]]
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    reached = [np.ones(sizes.shape)]
    for step in thresholds:
        gap = step - sizes
        reached.append(np.asarray(gap <= 0, dtype=np.float64) if stage_one is None else stage_one.sf(gap - 1))
    reached.append(np.zeros(sizes.shape))
    return np.stack([a - b for a, b in pairwise(reached)], axis=-1)


@dataclass(frozen=True, slots=True)
class DesignCost:
    """What a design costs one person: the sum of its rho, zCDP's epsilon and the exact one at delta.

    `cases` is how many mixes of groups with and without a first stage were compared; 1: two stages only.
    """

    rho: Fraction
    zcdp_epsilon: float
    epsilon: float
    neighbours: Neighbours = "unbounded"
    cases: int = 1


def cost(
    configuration: Configuration,
    specification: Specification,
    which: Pass,
    *,
    delta: Exact,
    neighbours: Neighbours = "unbounded",
    exact: bool = False,
    progress: Progress | None = None,
) -> DesignCost:
    """Return what a configuration costs one person of a pass.

    With two stages throughout, in milliseconds; `exact`: the worst over groups that get a total only.

    >>> from discreet.release.safetab.census2020 import configuration_2020, specification_2020
    >>> found = cost(configuration_2020(), specification_2020(), "US", delta="1e-10")
    >>> found.rho, round(found.zcdp_epsilon, 3), round(found.epsilon, 3)
    (Fraction(618, 125), 26.283, 24.402)
    """
    _check(configuration, which)
    comes = [which] if neighbours == "unbounded" else [which, replacing(configuration, which)]
    rho = sum((spent(configuration, one) or Fraction(0) for one in comes), Fraction(0))
    small = fraction(delta, name="delta")
    if exact:
        whole = exact_account(configuration, specification, which, neighbours).with_workers(1, progress)
        epsilon, cases = whole.at_delta([small])[0].epsilon, len(whole.cases)
    else:
        epsilon, cases = _epsilon(two_stages(configuration, specification, which, neighbours), small), 1
    zcdp = ZCDP.from_rho(rho).epsilon(delta=float(small))
    return DesignCost(rho, zcdp, max(epsilon, 0.0), neighbours, cases)


@lru_cache(maxsize=64)
def _epsilon(events: tuple[Noise, ...], delta: Fraction) -> float:
    """Remembered, as most sliders of a design do not change it."""
    return float(compose(events).epsilon(delta=delta))


def _check(configuration: Configuration, which: Pass) -> None:
    """Raise if a pass cannot be designed here."""
    if configuration.privacy != "zcdp":
        raise InputError("the budgets are for pure differential privacy; a design needs zCDP budgets (rho)")
    places = configuration.levels(which)
    if not places:
        raise InputError("no geography has a budget")
    infinite = [place for place in places if configuration.budgets[place] is None]
    if infinite:
        raise InputError(
            f"{infinite[0][0]}, {LEVEL_WORDS[infinite[0][1]]} has an infinite budget, so no noise"
        )
    if sum((configuration.budgets[place] or 0 for place in places), Fraction(0)) > LARGEST:
        raise InputError(f"the budgets add up to more than {LARGEST}, which protects nobody")


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedLevel:
    """One geography and level: its noise, its margin of error, and the sizes from which tables are shown.

    `stability` is how many groups of one region a person can be in, `rho` what is spent, one person added or
    removed, `variance` that of a published cell.
    """

    mechanism: Mechanism
    place: Place
    stability: int
    rho: Fraction
    variance: Fraction
    margin: int
    sizes: tuple[int, int, int, int]
    thresholds: tuple[int, int, int]
    suppression: int | None

    @classmethod
    def of(cls, one: Mechanism, error: Fraction, of: Of) -> SizedLevel:
        """Return a mechanism that has noise with what follows from a target error."""
        assert one.stage_two is not None
        return cls(
            mechanism=one,
            place=one.place,
            stability=one.stability.value,
            rho=one.budget or Fraction(0),
            variance=Fraction(variance_of(one.stage_two)),
            margin=margin_of(one.stage_two),
            sizes=smallest_sizes(one.stage_two, relative_margin=error, of=of),
            thresholds=one.thresholds,
            suppression=one.suppression,
        )

    def as_dict(self) -> dict[str, object]:
        """Return what JSON says."""
        second = self.mechanism.stage_two
        assert second is not None
        return {
            "geography": self.place[0],
            "level": self.place[1],
            "stability": self.stability,
            "rho": str(self.rho),
            "rho_stage_2": str(Fraction(self.stability) / (2 * self.variance)),
            "variance": str(self.variance),
            "margin": self.margin,
            "sizes": dict(zip(TABLE_WORDS, self.sizes, strict=True)),
            "thresholds": list(self.thresholds),
            "suppressed_up_to": self.suppression,
            "empty_dropped": None if self.suppression is None else float(second.cdf(self.suppression)),
        }


TABLE_WORDS = ("total", "4 ages", "9 ages", "23 ages")
"""What the four tables of a group are called: a total, or sex by so many ages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """A design of one pass: what each geography and level shows, and what one person pays for it."""

    which: Pass
    configuration: Configuration
    error: Fraction
    of: Of
    delta: Fraction
    levels: tuple[SizedLevel, ...]
    costs: tuple[DesignCost, ...]
    rivals: Rivals | None = None
    claim: Claim = EXACTLY

    def as_dict(self) -> dict[str, object]:
        """Return what JSON says; exact numbers are fractions in quotes."""
        found: dict[str, object] = {
            "pass": self.which,
            "error": str(self.error),
            "of": self.of,
            "delta": float(self.delta),
            "max_race_codes": self.configuration.max_race_codes,
            "gamma": str(self.configuration.gamma),
            "zero_suppression_chance": str(self.configuration.zero_suppression_chance),
            "answer": self.claim.as_dict(),
            "levels": [level.as_dict() for level in self.levels],
            "costs": [
                {
                    "neighbours": cost.neighbours,
                    "rho": str(cost.rho),
                    "zcdp_epsilon": cost.zcdp_epsilon,
                    "epsilon": cost.epsilon,
                    "cases": cost.cases,
                }
                for cost in self.costs
            ],
        }
        if self.rivals is not None:
            found["one_stage"] = {
                "gaussian_epsilon": self.rivals.gaussian_epsilon,
                "geometric_epsilon": self.rivals.geometric_epsilon,
            }
        return found


def sizing(
    configuration: Configuration,
    specification: Specification,
    which: Pass,
    *,
    error: Exact = "0.1",
    of: Of = "cell",
    delta: Exact = "1e-10",
    derive: bool = False,
    exact: bool = True,
    progress: Progress | None = None,
) -> Sizing:
    """Size a configuration: margins, the sizes from which each table has at most the target error, the cost.

    Thresholds are the configuration's, or with `derive` those with which a group just large enough gets its
    table 95 % of the time. Without `exact`, costs are those of two stages throughout, and kinds of noise are
    not compared.

    >>> from discreet.release.safetab.census2020 import configuration_2020, specification_2020
    >>> found = sizing(configuration_2020(), specification_2020(), "US", exact=False)
    >>> county = next(level for level in found.levels if level.place == ("COUNTY", 2))
    >>> county.margin, county.sizes, county.thresholds, county.suppression
    (11, (110, 880, 1980, 5060), (971, 4971, 19971), 21)
    """
    _check(configuration, which)
    part = positive(error, name="the target error")
    if derive:
        configuration = with_derived(configuration, specification, error=part, of=of)
    parts = mechanisms(configuration, specification, which)
    levels = tuple(SizedLevel.of(one, part, of) for one in parts)
    for level in levels if exact else ():
        if level.margin > _LARGEST_MARGIN:
            raise InputError(
                f"rho of {':'.join(map(str, level.place))} is {plain(level.rho)}: the 95 % margin of its "
                f"cells is {level.margin}, and at most {_LARGEST_MARGIN} is compared"
            )
    costs = [
        cost(configuration, specification, which, delta=delta, neighbours=one, exact=exact, progress=progress)
        for one in ("unbounded", "bounded")
    ]
    together = (
        rivals([(max(level.margin, 1), level.stability) for level in levels], delta=delta) if exact else None
    )
    return Sizing(
        which=which,
        configuration=configuration,
        error=part,
        of=of,
        delta=fraction(delta, name="delta"),
        levels=levels,
        costs=tuple(costs),
        rivals=together,
        claim=claim(parts),
    )


def with_derived(
    configuration: Configuration, specification: Specification, *, error: Exact, of: Of = "cell"
) -> Configuration:
    """Return the configuration with the thresholds that follow from a target error."""
    thresholds = dict(configuration.thresholds)
    for (geography, level), rho in configuration.budgets.items():
        if rho:
            often = max(specification.stability(level, configuration.max_race_codes, geography).value, 1)
            first, second = (
                noise_for(share * rho, often, "zcdp")
                for share in (configuration.gamma, 1 - configuration.gamma)
            )
            sizes = smallest_sizes(second, relative_margin=error, of=of)
            thresholds[geography, level] = thresholds_for(sizes[1:], first)
    return replace(configuration, thresholds=thresholds)


def changed(
    configuration: Configuration,
    specification: Specification,
    *,
    levels: Iterable[Place] | None = None,
    rhos: Mapping[Place, Exact] | None = None,
    margins: Mapping[Place, int] | None = None,
    races: int | None = None,
    gamma: Exact | None = None,
    chance: Exact | None = None,
    error: Exact = "0.1",
    of: Of = "cell",
) -> Configuration:
    """Return a configuration with changes: which levels are tabulated, their rho or margins, and the rest.

    A margin becomes the least rho that keeps it, rounded up to four digits. A level that has no thresholds
    gets those that follow from the target error.

    >>> from discreet.release.safetab.census2020 import configuration_2020, specification_2020
    >>> found = changed(configuration_2020(), specification_2020(), races=3, margins={("USA", 2): 3})
    >>> found.max_race_codes, found.budgets["USA", 2]
    (3, Fraction(849, 1250))
    """
    if configuration.privacy != "zcdp":
        raise InputError("the budgets are for pure differential privacy; a design needs zCDP budgets (rho)")
    if races is not None:
        configuration = replace(configuration, max_race_codes=races)
    if gamma is not None:
        configuration = replace(configuration, gamma=_share(gamma))
    if chance is not None:
        drop = fraction(chance, name="the chance of dropping an empty group")
        if not 0 <= drop < 1:
            raise InputError(
                f"the chance of dropping an empty group is {drop}; it must be at least 0 and below 1"
            )
        configuration = replace(configuration, zero_suppression_chance=drop)
    budgets = dict(configuration.budgets)
    for place, rho in (rhos or {}).items():
        budgets[place] = positive(rho, name=f"rho of {place[0]}, {LEVEL_WORDS[place[1]]}")
    for (geography, level), margin in (margins or {}).items():
        often = specification.stability(level, configuration.max_race_codes, geography).value
        least = exact_rho_for_margin(margin, stability=often, gamma=configuration.gamma)
        grain = Fraction(10) ** (floor(log10(least)) - 3)
        budgets[geography, level] = ceil(least / grain) * grain
    if levels is not None:
        wanted = set(levels)
        without = [place for place in _PLACES if place in wanted and budgets[place] == 0]
        if without:
            name = f"{without[0][0]}:{without[0][1]}"
            raise InputError(f"{name} has no rho; give one with --rho {name}=R or --margin {name}=M")
        budgets = {place: rho if place in wanted else Fraction(0) for place, rho in budgets.items()}
    run_us, run_pr = (
        any(budgets[place] != 0 for place in _PLACES if place[0] in PASSES[which]) for which in RUNS
    )
    configuration = replace(configuration, budgets=budgets, run_us=run_us, run_pr=run_pr)
    derived = with_derived(configuration, specification, error=error, of=of).thresholds
    return replace(configuration, thresholds={**derived, **configuration.thresholds})


@dataclass(frozen=True, slots=True)
class Rivals:
    """What discrete Gaussian and geometric noise of the same margins cost at the same delta, in one stage.

    Each has the most noise that stays within the margin 95 % of the time: `variances` and `scales`.
    """

    margins: tuple[tuple[int, int], ...]
    variances: tuple[Fraction, ...]
    scales: tuple[Fraction, ...]
    gaussian_epsilon: float
    geometric_epsilon: float


def rivals(margins: Sequence[tuple[int, int]], *, delta: Exact) -> Rivals:
    """Compare both kinds of noise at equal accuracy: margins, each with the counts that one person is in.

    >>> found = rivals([(11, 9)], delta="1e-10")
    >>> round(found.gaussian_epsilon, 2), round(found.geometric_epsilon, 2)
    (3.17, 2.34)
    """
    small = fraction(delta, name="delta")
    variances = tuple(_widest(DiscreteGaussian, margin) for margin, _ in margins)
    scales = tuple(_widest(DiscreteLaplace, margin) for margin, _ in margins)
    kinds: list[list[Noise]] = [[*map(DiscreteGaussian, variances)], [*map(DiscreteLaplace, scales)]]
    gaussian, geometric = (
        max(float(compose([one.repeated(n) for one, (_, n) in each]).epsilon(delta=small)), 0.0)
        for each in (zip(laws, margins, strict=True) for laws in kinds)
    )
    return Rivals(tuple(margins), variances, scales, gaussian, geometric)


@lru_cache(maxsize=256)
def _widest(kind: type[DiscreteGaussian] | type[DiscreteLaplace], margin: int) -> Fraction:
    """Find the largest variance or scale, cut to six digits, of noise that keeps a margin with 95 %."""
    if isinstance(margin, bool) or not isinstance(margin, int) or not 1 <= margin <= _LARGEST_MARGIN:
        raise InputError(f"margin is {margin}; it must be a whole number from 1 to {_LARGEST_MARGIN}")
    tail = float(1 - CONFIDENCE) / 2
    low, high = 0.01, 4.0 * (margin + 1.0) ** 2
    for _ in range(60):  # until the ends are neighbours at six digits; the tail grows with the size
        middle = sqrt(low * high)
        if float(kind(Fraction(middle)).sf(margin)) <= tail:
            low = middle
        else:
            high = middle
        if high / low < 1 + 1e-9:
            break
    grain = Fraction(10) ** (floor(log10(low)) + 1 - _DIGITS)
    size = floor(Fraction(low) / grain) * grain
    while margin_of(kind(size)) > margin:  # certified
        size -= grain
    return size


def _share(gamma: Exact) -> Fraction:
    share = fraction(gamma, name="gamma")
    if not 0 < share < 1:
        raise InputError(f"gamma is {share}; it must be above 0 and below 1")
    return share


# -- a design as a spreadsheet -----------------------------------------------------------------------------


class Cell(NamedTuple):
    """A cell of a level's row: its column's name in CSV and head in the sheet, its value, and its formula.

    Without a name the column is the sheet's alone; without a formula the value stands in it as it is.
    """

    name: str
    head: str
    value: object
    kind: str = "number"
    formula: str | None = None


class Law(NamedTuple):
    """Where the sheet holds the two-sided weights of a noise up to 0, 1, ..., and their sum."""

    weights: str = ""
    end: str = ""
    reach: int = 0


def cells(one: Sizing, level: SizedLevel, row: int = 0, law: Law | None = None) -> list[Cell]:
    """Return the row of a geography and level, with formulas for a row of the sheet and its noise.

    A replaced person is one removed and one added in the same pass.
    """
    weights, end, reach = law or Law()

    def below(part: str) -> str:
        """The smallest x up to which this part of the two-sided weights lies."""
        return f'=IF(K{row}>{reach}/8,"too wide",SUMPRODUCT(--({weights}<({part})*{end})))'

    second = level.mechanism.stage_two
    assert second is not None
    races, stable = one.configuration.max_race_codes, level.mechanism.stability
    variance, deviation = float(level.variance), sqrt(float(level.variance))
    paired = stable.paired and stable.race % max(2, races) == 0
    spend, step = level.rho, Fraction(level.stability) / (2 * level.variance)
    groups = f"=C{row}*MAX(2,race_codes)+D{row}" if paired else None
    cut, words = level.suppression, [name.replace(" ", "_") for name in TABLE_WORDS]
    found = [
        Cell("geography", "geography", level.place[0], "text"),
        Cell("level", "level", level.place[1], "text"),
        Cell("", "groups of a race code", stable.race // max(2, races) if paired else stable.race, "input"),
        Cell("", "groups of an ethnicity code", stable.ethnicity, "input"),
        Cell("stability", "groups of a person", level.stability, formula=groups),
        Cell("rho", "rho", float(spend), "input"),
        Cell("rho_stage_2", "rho, second stage", float(step), "decimal", f"=(1-first_share)*F{row}"),
        Cell("rho_stage_2_replaced", "second stage, replaced", float(2 * step), "decimal", f"=2*G{row}"),
        Cell("rho_replaced", "rho, replaced", float(2 * spend), "decimal", f"=2*F{row}"),
        Cell("variance", "variance of a cell", variance, "decimal", f"=E{row}/(2*G{row})"),
        Cell("", "standard deviation", deviation, "decimal", f"=SQRT(J{row})"),
        Cell("", "1.96 standard deviations", float(Z95) * deviation, "decimal", f"={float(Z95)}*K{row}"),
        Cell("margin", "margin of error", level.margin, formula=below("confidence_level")),
    ]
    for name, word, many, size in zip(words, TABLE_WORDS, CELLS, level.sizes, strict=True):
        formula = f"=ROUNDUP(ROUND(M{row}*{many}/target_error,6),0)" if one.of == "cell" else None
        found.append(Cell(f"size_{name}", f"size, {word}", size, formula=formula))
    for name, word, limit in zip(words[1:], TABLE_WORDS[1:], level.thresholds, strict=True):
        found.append(Cell(f"threshold_{name}", f"threshold, {word}", limit, "input"))
    if cut is None:
        ends = ("suppressed_up_to", "dropped up to"), ("empty_dropped", "empty groups dropped")
        return [*found, *(Cell(name, head, "") for name, head in ends)]
    share = f"=(1+INDEX({weights},U{row}+1)/{end})/2"
    return [
        *found,
        Cell("suppressed_up_to", "dropped up to", cut, formula=below("2*drop_chance-1")),
        Cell("empty_dropped", "empty groups dropped", float(second.cdf(cut)), "share", share),
    ]


def rows(found: Sequence[Sizing]) -> list[tuple[object, ...]]:
    """Return the table of designs: the pass, and the cells that have a name in CSV."""
    return [
        (one.which, *(cell.value for cell in cells(one, level) if cell.name))
        for one in found
        for level in one.levels
    ]


def csv_bytes(found: Sequence[Sizing]) -> bytes:
    """Return the table of designs as CSV, a row for each geography and level."""
    first = cells(found[0], found[0].levels[0])
    return csv_text(["pass", *(cell.name for cell in first if cell.name)], rows(found)).encode()


def xlsx_bytes(found: Sequence[Sizing], specification: Specification) -> bytes:
    """Return the designs as a spreadsheet, every formula with its value."""
    if find_spec("xlsxwriter") is None:
        raise DiscreetError(
            "a spreadsheet is written with XlsxWriter, which is not installed: "
            "pip install 'discreet[spreadsheet]'"
        )
    import xlsxwriter

    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream, {"in_memory": True}) as book:
        _Book(book, found).write(specification)
    return stream.getvalue()


class _Book:
    """The workbook while it grows."""

    def __init__(self, book: Any, found: Sequence[Sizing]) -> None:
        from xlsxwriter.utility import xl_col_to_name

        self.book, self.found, self.letter = book, found, xl_col_to_name
        self.design = book.add_worksheet("Design")
        self.noise = book.add_worksheet("Noise")
        self.about = book.add_worksheet("About")
        kinds: dict[str, dict[str, object]] = {
            "title": {"bold": True, "font_size": 13},
            "head": {"bold": True, "text_wrap": True, "valign": "top", "bottom": 1},
            "text": {},
            "wrapped": {"text_wrap": True, "valign": "top"},
            "input": {"bg_color": "#FFF7D6", "font_color": "#1F3A93"},
            "number": {"num_format": "#,##0"},
            "decimal": {"num_format": "0.0000"},
            "share": {"num_format": "0.0000 %"},
            "bold": {"bold": True, "num_format": "0.0000", "top": 1},
        }
        plain = {"font_name": "Calibri", "font_size": 10}
        self.formats = {name: book.add_format({**plain, **more}) for name, more in kinds.items()}
        widest = max(sqrt(float(level.variance)) for one in found for level in one.levels)
        self.reach = min(4000, max(400, ceil(16 * widest)))
        self.column = 0  # of the sheet of noise

    def write(self, specification: Specification) -> None:
        """Fill all sheets."""
        first, put, form = self.found[0], self.design.write, self.formats
        put(0, 0, "SafeTab design: shaded cells are settings, all else follows from them", form["title"])
        plan = first.configuration
        settings = (
            ("race_codes", "race codes that are counted, 1 to 8", plan.max_race_codes),
            ("first_share", "gamma, the first stage's share of a rho", float(plan.gamma)),
            ("target_error", f"target error, as a fraction of the {_PARTS[first.of]}", float(first.error)),
            ("confidence_level", "confidence of margins", float(CONFIDENCE)),
            ("drop_chance", "chance of dropping an empty group", float(plan.zero_suppression_chance)),
            ("wanted_delta", "delta", float(first.delta)),
        )
        for row, (name, words, value) in enumerate(settings, 2):
            put(row, 0, words, form["text"])
            put(row, 5, value, form["input"])
            self.book.define_name(name, f"=Design!$F${row + 1}")
        self.noise.write(0, 0, "x", form["head"])
        self.noise.write(1, 0, "2 variance", form["text"])
        for x in range(self.reach + 1):
            self.noise.write_number(x + 2, 0, x, form["text"])
        row = 10
        sums: list[tuple[Sizing, int, int]] = []
        for one in self.found:
            row = self._table(one, row, sums)
        self._costs(row + 1, sums)
        self.design.set_column(0, 0, 12)
        self.design.set_column(1, 21, 11)
        self.design.freeze_panes(0, 1)
        self.design.set_landscape()
        self.design.fit_to_pages(1, 0)
        self._explain(specification)

    def _table(self, one: Sizing, row: int, sums: list[tuple[Sizing, int, int]]) -> int:
        """Write the table of a pass and return the first row below it."""
        form = self.formats
        self.design.write(row - 1, 0, PASS_NAMES[one.which], form["title"])
        self.design.set_row(row, 42)
        for place, cell in enumerate(cells(one, one.levels[0])):
            self.design.write(row, place, cell.head, form["head"])
        for number, level in enumerate(one.levels, 1):
            self._level(one, level, row + number)
        last = row + len(one.levels)
        total = sum((level.rho for level in one.levels), Fraction(0))
        self.design.write(last + 1, 0, "together", form["bold"])
        for column, value in ((5, total), (8, 2 * total)):
            name = self.letter(column)
            self.design.write_formula(
                last + 1, column, f"=SUM({name}{row + 2}:{name}{last + 1})", form["bold"], float(value)
            )
        sums.append((one, row + 1, last))
        return last + 4

    def _level(self, one: Sizing, level: SizedLevel, row: int) -> None:
        form, r = self.formats, row + 1
        name = LEVEL_WORDS[level.place[1]]
        column = self.letter(self._law(f"{level.place[0]} {name}", r, float(level.variance)))
        end = f"Noise!{column}${self.reach + 3}"
        law = Law(f"Noise!{column}$3:{column}${self.reach + 3}", end, self.reach)
        for place, cell in enumerate(cells(one, level, r, law)):
            value = name if cell.name == "level" else cell.value
            if cell.formula is not None:
                self.design.write_formula(row, place, cell.formula, form[cell.kind], value)
            elif value != "":
                self.design.write(row, place, value, form[cell.kind])

    def _law(self, name: str, row: int, variance: float) -> int:
        """Write the sums of weights exp(-x^2 / 2 variance) over |x| <= 0, 1, ...; return their column."""
        self.column += 1
        letter, weight = self.letter(self.column), 1.0
        self.noise.write(0, self.column, name, self.formats["head"])
        self.noise.write_formula(1, self.column, f"=2*Design!J{row}", self.formats["decimal"], 2 * variance)
        self.noise.write_number(2, self.column, 1, self.formats["decimal"])
        for x in range(1, self.reach + 1):
            weight += 2 * exp(-x * x / (2 * variance))
            # a spreadsheet reads -x^2 as (-x)^2
            formula = f"={letter}{x + 2}+2*EXP(-($A{x + 3}^2)/{letter}$2)"
            self.noise.write_formula(x + 2, self.column, formula, self.formats["decimal"], weight)
        return self.column

    def _costs(self, row: int, sums: Sequence[tuple[Sizing, int, int]]) -> None:
        form, said = self.formats, self.found[0].claim.kind
        self.design.write(row - 1, 0, "What one person pays", form["title"])
        for place, head in enumerate(
            ("pass", "one person", "", "", "", "rho", "zCDP epsilon", said.titled("epsilon"))
        ):
            self.design.write(row, place, head, form["head"])
        totals = {one.which: f"F{last + 2}" for one, _, last in sums}
        for one, first, last in sums:
            # what the exact epsilon was computed from; anything else must be computed again
            spent = sum(float(level.rho) * (first + k + 1) for k, level in enumerate(one.levels))
            gamma = float(one.configuration.gamma)
            rows = f"F{first + 1}:F{last + 1}"
            same = (
                f"AND(ABS(SUMPRODUCT({rows},ROW({rows}))-{spent!r})<1E-9,race_codes={one.configuration.max_race_codes},"
                f"ABS(first_share-{gamma!r})<1E-12,ABS(wanted_delta/{float(one.delta)!r}-1)<1E-9)"
            )
            for cost in one.costs:
                row += 1
                r = row + 1
                own = totals[one.which]
                whole = own if cost.neighbours == "unbounded" else f"{own}+MAX({','.join(totals.values())})"
                who = "added or removed" if cost.neighbours == "unbounded" else "replaced by another"
                self.design.write(row, 0, PASS_NAMES[one.which], form["text"])
                self.design.write(row, 1, who, form["text"])
                self.design.write_formula(row, 5, f"={whole}", form["decimal"], float(cost.rho))
                zcdp = f"=F{r}+2*SQRT(F{r}*LN(1/wanted_delta))"
                self.design.write_formula(row, 6, zcdp, form["decimal"], cost.zcdp_epsilon)
                known = one.claim.kind.number(cost.epsilon)
                exact = f'=IF({same},{known},"changed: run discreet safetab design again")'
                self.design.write_formula(row, 7, exact, form["decimal"], float(known))

    def _explain(self, specification: Specification) -> None:
        first = self.found[0]
        lines = [
            f"Groups: {len(specification.iterations):,}, of {len(specification.codes):,} codes.",
            "groups of a person: the most of one region and level that a person can be in, which is "
            "the groups of a race code times the number of race codes (at least two), plus those of an "
            "ethnicity.",
            "rho: zCDP, one person added or removed. The first stage's part (gamma) goes to a noisy total "
            "that picks the table, the rest to its cells. replaced: by another person of the same pass.",
            "margin of error: the smallest whole number that the noise of a cell does not exceed with the "
            "stated confidence, from the law of the noise (sheet Noise). 1.96 standard deviations is the "
            "normal law's, which integer noise does not keep.",
            "size: the number of people from which the margin is at most the target error, as a fraction of "
            f"the {_PARTS[first.of]}.",
            "threshold: the noisy total from which a group gets the table.",
            "dropped up to: below the states a group with a total only is dropped if its noisy count is "
            "not above this; empty groups are, with the chance beside it.",
            f"{first.claim.kind.titled('epsilon')}: {first.claim}",
        ]
        for one in self.found:
            if one.rivals is not None:
                lines.append(
                    f"{PASS_NAMES[one.which]}, kinds of noise at these margins in one stage, one person "
                    f"added: epsilon {one.rivals.gaussian_epsilon:.4g} with discrete Gaussian noise, "
                    f"{one.rivals.geometric_epsilon:.4g} with geometric noise."
                )
        self.about.set_column(0, 0, 110)
        for row, line in enumerate(lines):
            self.about.write(row, 0, line, self.formats["wrapped"])


_PARTS = {"cell": "average cell", "total": "whole group"}
