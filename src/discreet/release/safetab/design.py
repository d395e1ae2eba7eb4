"""Sizing a tabulation: budgets from margins, group sizes from a wanted accuracy, what suppression does.

`sizing` answers it all for a configuration: the command line prints it, the workbench shows it, a spreadsheet
holds it. It takes milliseconds but for the exact cost, so that a page can follow a slider. A table of `cells`
cells has independent noise of the second stage in each.

Budgets are rho under zCDP and epsilons under pure privacy; `changed` shares out one total over the levels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor, log, log10, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.comparisons.zcdp import ZCDP
from discreet.accounting.parallel import Progress
from discreet.accounting.privacy_loss import compose
from discreet.budget import Claim, Neighbours
from discreet.budget.claims import EXACTLY
from discreet.errors import InputError
from discreet.faces import Displayed
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.numbers import Exact, brief, fraction, positive, share
from discreet.release.mechanism.adaptive import Mechanism, noise_for
from discreet.release.mechanism.configuration import BUDGET_WORDS, BUDGETS, Configuration, Place
from discreet.release.mechanism.groups import Specification
from discreet.release.mechanism.tables import CONFIDENCE, Z95, variance_of
from discreet.release.mechanism.tables import margin_of_error as margin_of
from discreet.release.mechanism.tabulation import Ladder
from discreet.release.safetab.account import (
    LARGEST,
    budget_spent,
    claim,
    exact_account,
    mechanisms,
    replacing,
    two_stages,
)
from discreet.release.safetab.specification import safetab_p

Floats = NDArray[np.float64]
Of = Literal["cell", "total"]
"""What a target error is a part of: the average cell, or the whole group."""

STABILITY = 9
"""Groups of one region and level that a person can be in, in the specification of 2020."""

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


def exact_epsilon_for_margin(margin: int, *, stability: int = STABILITY, gamma: Exact = "0.1") -> Fraction:
    """Return the same of pure privacy: the least epsilon whose geometric noise keeps the margin.

    >>> round(float(exact_epsilon_for_margin(11)), 3)
    2.598
    """
    return Fraction(stability) / (_widest(DiscreteLaplace, margin) * (1 - _share(gamma)))


FOR_MARGIN = {"zcdp": exact_rho_for_margin, "puredp": exact_epsilon_for_margin}
"""The least budget for a margin, by the kind of privacy."""


def smallest_sizes(
    noise: Noise, ladder: Ladder | None = None, *, relative_margin: Exact, of: Of = "cell"
) -> tuple[int, ...]:
    """Return from which size on a group can be shown by each table of a ladder, by default SafeTab-P's.

    `cell`: 95 % of the time the noise of a cell is at most this part of the average cell. `total`: that of
    the sum of all cells is at most this part of the group. Both by the exact law of the noise.

    >>> smallest_sizes(DiscreteGaussian(625), relative_margin="0.5")
    (98, 784, 1764, 4508)
    >>> smallest_sizes(DiscreteGaussian(625), relative_margin="0.1", of="total")
    (490, 1390, 2080, 3320)
    """
    part = positive(relative_margin, name="relative_margin")
    rungs = (ladder or safetab_p().ladder(1)).rungs
    return tuple(
        ceil((rung.cells * margin_of(noise) if of == "cell" else margin_of(noise, rung.cells)) / part)
        for rung in rungs
    )


def thresholds_for(
    sizes: Sequence[int], stage_one: Noise | None, *, chance: Exact = "0.95"
) -> tuple[int, ...]:
    """Return thresholds with which a group of each size gets its table with this chance, or more.

    >>> thresholds_for((500, 1000, 7000), DiscreteGaussian("22500/1067"), chance="0.95")
    (492, 992, 6992)
    """
    if not len(sizes):
        raise InputError("there are no sizes; one is needed for each threshold")
    slack = 0 if stage_one is None else stage_one.quantile(fraction(chance, name="chance"))
    return tuple(max(0, int(size) - slack) for size in sizes)


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
    """Return the chance of each table of a ladder, a column each, by true size.

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
    """What a design costs one person: the sum of its budgets, and the exact epsilon at delta.

    `converted` is zCDP's epsilon at this delta; under pure privacy it is the sum of the epsilons itself.
    `cases` is how many mixes of groups with and without a first stage were compared; 1: two stages only.
    """

    budget: Fraction
    converted: float
    epsilon: float
    neighbours: Neighbours = "unbounded"
    cases: int = 1


def cost(
    configuration: Configuration,
    specification: Specification,
    which: str,
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
    >>> found.budget, round(found.converted, 3), round(found.epsilon, 3)
    (Fraction(618, 125), 26.283, 24.402)
    """
    _check(configuration, which)
    comes = [which] if neighbours == "unbounded" else [which, replacing(configuration, which)]
    budget = sum((budget_spent(configuration, one) or Fraction(0) for one in comes), Fraction(0))
    small = fraction(delta, name="delta")
    # under pure privacy two stages are not the worst: groups with a total only cost more
    if exact or configuration.privacy == "puredp":
        whole = exact_account(configuration, specification, which, neighbours).with_workers(1, progress)
        epsilon, cases = whole.at_delta([small])[0].epsilon, len(whole.cases)
    else:
        epsilon, cases = _epsilon(two_stages(configuration, specification, which, neighbours), small), 1
    converted = float(budget)
    if configuration.privacy == "zcdp":
        converted = ZCDP.from_rho(budget).epsilon(delta=float(small))
    return DesignCost(budget, converted, max(epsilon, 0.0), neighbours, cases)


@lru_cache(maxsize=64)
def _epsilon(events: tuple[Noise, ...], delta: Fraction) -> float:
    """Remembered, as most sliders of a design do not change it."""
    return float(compose(events).epsilon(delta=delta))


def _check(configuration: Configuration, which: str) -> None:
    """Raise if a pass cannot be designed here."""
    places = configuration.levels(which)
    if not places:
        raise InputError("no geography has a budget")
    infinite = [place for place in places if configuration.budgets[place] is None]
    if infinite:
        raise InputError(
            f"{configuration.tabulation.place_words(infinite[0])} has an infinite budget, so no noise"
        )
    if sum((configuration.budgets[place] or 0 for place in places), Fraction(0)) > LARGEST:
        raise InputError(f"the budgets add up to more than {LARGEST}, which protects nobody")


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedLevel:
    """One geography and level: its noise, its margin of error, and the sizes from which tables are shown.

    `stability` is how many groups of one region a person can be in, `by_races` the same if one to eight race
    codes count, `budget` what is spent, one person added or removed, `second` the part of it that the
    published cells get, `variance` that of a published cell.
    """

    mechanism: Mechanism
    place: Place
    stability: int
    by_races: tuple[int, ...]
    budget: Fraction
    second: Fraction
    variance: Fraction | float
    margin: int
    sizes: tuple[int, ...]
    thresholds: tuple[int, ...]
    suppression: int | None

    @classmethod
    def of(
        cls,
        one: Mechanism,
        configuration: Configuration,
        specification: Specification,
        error: Fraction,
        of: Of,
    ) -> SizedLevel:
        """Return a mechanism that has noise with what follows from a target error."""
        assert one.stage_two is not None
        budget = one.budget or Fraction(0)
        every = range(1, configuration.most_codes + 1)
        return cls(
            mechanism=one,
            place=one.place,
            stability=one.stability.value,
            by_races=tuple(specification.stability(one.level, k, one.geography).value for k in every),
            budget=budget,
            second=(1 - configuration.gamma) * budget if one.ladder.picks else budget,
            variance=variance_of(one.stage_two),
            margin=margin_of(one.stage_two),
            sizes=smallest_sizes(one.stage_two, one.ladder, relative_margin=error, of=of),
            thresholds=one.thresholds,
            suppression=one.suppression,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing(Displayed):
    """A design of one pass: what each geography and level shows, and what one person pays for it."""

    which: str
    configuration: Configuration
    error: Fraction
    of: Of
    delta: Fraction
    levels: tuple[SizedLevel, ...]
    costs: tuple[DesignCost, ...]
    rivals: Rivals | None = None
    claim: Claim = EXACTLY
    cap: Cap | None = None

    @property
    def word(self) -> str:
        """What a budget is called."""
        return BUDGET_WORDS[self.configuration.privacy]


def sizing(
    configuration: Configuration,
    specification: Specification,
    which: str,
    *,
    error: Exact = "0.1",
    of: Of = "cell",
    delta: Exact = "1e-10",
    derive: bool = False,
    exact: bool = True,
    codes_named: Sequence[Exact] | None = None,
    progress: Progress | None = None,
) -> Sizing:
    """Size a configuration: margins, the sizes from which each table has at most the target error, the cost.

    Thresholds are the configuration's, or with `derive` those with which a group just large enough gets its
    table 95 % of the time. Without `exact`, costs are those of two stages throughout, and kinds of noise are
    not compared. Where not all race codes count, `cap` says what that saves and costs; `codes_named` are the
    shares of people who name one, two, three ... codes, from a public source.

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
    levels = tuple(SizedLevel.of(one, configuration, specification, part, of) for one in parts)
    for level in levels if exact else ():
        if level.margin > _LARGEST_MARGIN:
            name = ":".join(map(str, level.place))
            budget = "epsilon" if configuration.privacy == "puredp" else "rho"
            raise InputError(
                f"{budget} of {name} is {brief(level.budget)}: the 95 % margin of its cells is "
                f"{level.margin}, and at most {_LARGEST_MARGIN} is compared"
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
        cap=cap(configuration, specification, which, codes_named),
    )


CAP_SIZES = (100, 1_000, 10_000)
"""People of a group for which the reach of a margin is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapLevel:
    """One geography and level under a cap on race codes, and if all codes counted, with the same budget.

    From `harm` people that a count misses on, its mean square error is larger with the cap than without.
    `within` is the chance that the noise of a count is within its margin: the reach of the margin against
    counts that have the cap too. `reach` is that against people with all their codes, for groups of
    `CAP_SIZES` people that miss the share `Cap.lost`; None if that is not known.
    """

    place: Place
    margin: int
    margin_all: int
    harm: int
    within: float
    reach: tuple[float, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """What a cap on race codes saves and costs.

    `cut` is the share of people who name more codes than count, `lost` that of their codes among all codes
    named: what combination groups miss on average, if codes named late lead to groups as often as the others.
    """

    races: int
    cut: Fraction | None
    lost: Fraction | None
    levels: tuple[CapLevel, ...]
    limit: str = "max_race_codes"


def cap(
    configuration: Configuration,
    specification: Specification,
    which: str,
    codes_named: Sequence[Exact] | None = None,
) -> Cap | None:
    """Return what the cap on race codes saves in noise and costs in missing people; None if all codes count.

    >>> from discreet.release.safetab.census2020 import configuration_2020, specification_2020
    >>> plan = replace(configuration_2020(), max_race_codes=2)
    >>> found = cap(plan, specification_2020(), "US", ["0.9", "0.08", "0.02"])
    >>> county = next(level for level in found.levels if level.place == ("COUNTY", 2))
    >>> county.margin_all, county.margin, county.harm, round(float(found.lost), 4)
    (11, 6, 5, 0.0179)
    >>> round(county.within, 3), [round(chance, 3) for chance in county.reach]
    (0.956, [0.914, 0.0, 0.0])
    """
    races, most = configuration.max_race_codes, configuration.most_codes
    if races >= most and codes_named is not None:
        raise InputError(
            f"shares of people by codes named are given, but all {most} "
            f"{configuration.tabulation.answers.word} codes count; they tell what a smaller number leaves out"
        )
    if races >= most:
        return None
    cut = lost = None
    if codes_named is not None:
        shares = _named(codes_named, most)
        cut = sum(shares[races:], Fraction(0))
        missing = sum((share * many for many, share in enumerate(shares[races:], 1)), Fraction(0))
        lost = missing / sum(share * many for many, share in enumerate(shares, 1))
    every = mechanisms(replace(configuration, max_race_codes=most), specification, which)
    levels = []
    for one, whole in zip(mechanisms(configuration, specification, which), every, strict=True):
        noise, wider = one.stage_two, whole.stage_two
        assert noise is not None
        assert wider is not None
        margin = margin_of(noise)
        gone = np.array([0] if lost is None else [0, *(round(lost * size) for size in CAP_SIZES)])
        within, *reach = (noise.cdf(margin + gone) - noise.cdf(gone - margin - 1)).tolist()
        levels.append(
            CapLevel(
                place=one.place,
                margin=margin,
                margin_all=margin_of(wider),
                harm=floor(sqrt(max(0.0, wider.true_variance() - noise.true_variance()))) + 1,
                within=within,
                reach=None if lost is None else tuple(reach),
            )
        )
    limit = configuration.tabulation.answers.limit
    return Cap(races=races, cut=cut, lost=lost, levels=tuple(levels), limit=limit)


def _named(shares: Sequence[Exact], most: int) -> tuple[Fraction, ...]:
    """Return the shares of people by how many codes they name, adding up to one."""
    found = [fraction(share, name="a share of people by codes named") for share in shares]
    total = sum(found, Fraction(0))
    if not 1 <= len(found) <= most or min(found) < 0 or abs(total - 1) > Fraction(1, 100):
        raise InputError(
            f"the shares of people by codes named are {len(found)} numbers that add up to "
            f"{float(total):.4g}; they must be one to {most} shares, none negative, that add up to 1"
        )
    return tuple(share / total for share in found)


def with_derived(
    configuration: Configuration, specification: Specification, *, error: Exact, of: Of = "cell"
) -> Configuration:
    """Return the configuration with the thresholds that follow from a target error."""
    thresholds = dict(configuration.thresholds)
    for (geography, level), budget in configuration.budgets.items():
        if budget:
            often = max(specification.stability(level, configuration.max_race_codes, geography).value, 1)
            first: Noise | None
            first, second = (
                noise_for(share * budget, often, configuration.privacy)
                for share in (configuration.gamma, 1 - configuration.gamma)
            )
            ladder = configuration.tabulation.ladder(level)
            if not ladder.picks:
                first, second = None, noise_for(budget, often, configuration.privacy)
            sizes = smallest_sizes(second, ladder, relative_margin=error, of=of)
            thresholds[geography, level] = thresholds_for(sizes[1:], first)
    return replace(configuration, thresholds=thresholds)


def changed(
    configuration: Configuration,
    specification: Specification,
    *,
    levels: Iterable[Place] | None = None,
    rhos: Mapping[Place, Exact] | None = None,
    epsilons: Mapping[Place, Exact] | None = None,
    margins: Mapping[Place, int] | None = None,
    total_rho: Exact | None = None,
    total_epsilon: Exact | None = None,
    delta: Exact = "1e-10",
    races: int | None = None,
    gamma: Exact | None = None,
    chance: Exact | None = None,
    error: Exact = "0.1",
    of: Of = "cell",
) -> Configuration:
    """Return a configuration with changes: the levels that are tabulated, their budgets, and the rest.

    Budgets are `rhos`, or under pure privacy `epsilons`. A margin becomes the least budget that keeps it,
    rounded up to four digits. `total_rho` shares out one sum of budgets over the levels of each pass, in the
    proportions that they have by then; `total_epsilon` is under pure privacy the same, and under zCDP an
    epsilon at `delta` (see `with_total_epsilon`). A level that has no thresholds gets those that follow from
    the target error.

    >>> from discreet.release.safetab.census2020 import configuration_2020, specification_2020
    >>> found = changed(configuration_2020(), specification_2020(), races=3, margins={("USA", 2): 3})
    >>> found.max_race_codes, found.budgets["USA", 2]
    (3, Fraction(849, 1250))
    """
    word = BUDGET_WORDS[configuration.privacy]
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
    spends, places = dict(configuration.budgets), configuration.tabulation.places
    given = {"rho": rhos, "epsilon": epsilons}
    for name, wrong in given.items():
        if wrong and name != word:
            raise InputError(
                f"a budget is given as {name}, but the privacy is {configuration.privacy}: use {word}"
            )
    for place, budget in (given[word] or {}).items():
        spends[place] = positive(budget, name=f"{word} of {configuration.tabulation.place_words(place)}")
    for (geography, level), margin in (margins or {}).items():
        often = max(specification.stability(level, configuration.max_race_codes, geography).value, 1)
        least = FOR_MARGIN[configuration.privacy](margin, stability=often, gamma=configuration.gamma)
        if not configuration.tabulation.ladder(level).picks:  # all of it goes to the cells
            least *= 1 - configuration.gamma
        grain = _grain(least)
        spends[geography, level] = ceil(least / grain) * grain
    if levels is not None:
        wanted = set(levels)
        without = [place for place in places if place in wanted and spends[place] == 0]
        if without:
            name = f"{without[0][0]}:{without[0][1]}"
            raise InputError(f"{name} has no {word}; give one with --{word} {name}=B or --margin {name}=M")
        spends = {place: budget if place in wanted else Fraction(0) for place, budget in spends.items()}
    passes = tuple(
        which
        for which, one in configuration.tabulation.passes.items()
        if any(spends[place] != 0 for place in places if place[0] in one.geographies)
    )
    configuration = replace(configuration, budgets=spends, passes=passes)
    if total_rho is not None and total_epsilon is not None:
        raise InputError("a total of the budgets and one of epsilon are given; give one of them")
    if total_rho is not None:
        configuration = with_total(configuration, total_rho)
    if total_epsilon is not None:
        configuration = with_total_epsilon(configuration, specification, total_epsilon, delta=delta)
    derived = with_derived(configuration, specification, error=error, of=of).thresholds
    return replace(configuration, thresholds={**derived, **configuration.thresholds})


def with_total(
    configuration: Configuration, total: Exact, passes: Iterable[str] | None = None
) -> Configuration:
    """Return the configuration with one total of each pass, in the proportions that its budgets have.

    The passes count different people, so each gets the whole total.

    >>> from discreet.release.safetab.census2020 import configuration_2020
    >>> found = with_total(configuration_2020(), 2)
    >>> budget_spent(found, "US"), budget_spent(found, "PR"), round(float(found.budgets["USA", 2]), 4)
    (Fraction(2, 1), Fraction(2, 1), 0.8633)
    """
    whole = positive(total, name=f"the total {BUDGET_WORDS[configuration.privacy]}")
    budgets = dict(configuration.budgets)
    for which in configuration.passes if passes is None else passes:
        before = budget_spent(configuration, which)
        if before is None:
            raise InputError("a budget is infinite, so that no total can be shared out; make it finite")
        for place in configuration.levels(which):
            budget = (budgets[place] or Fraction(0)) * whole / before
            if not BUDGETS[0] <= budget <= BUDGETS[1]:
                raise InputError(
                    f"of the total {brief(whole)}, {configuration.tabulation.place_words(place)} would get "
                    f"{float(budget):.3g}; a budget lies between {brief(BUDGETS[0])} and {brief(BUDGETS[1])}"
                )
            budgets[place] = budget
    return replace(configuration, budgets=budgets)


def with_total_epsilon(
    configuration: Configuration, specification: Specification, epsilon: Exact, *, delta: Exact
) -> Configuration:
    """Return the configuration with one epsilon of each pass, one person added or removed.

    Under pure privacy it is the sum of the epsilons. Under zCDP it is the exact epsilon at `delta`: the total
    rho is the largest of four digits with which the account stays at or below it.

    >>> from discreet.release.safetab.census2020 import configuration_2020, specification_2020
    >>> found = with_total_epsilon(configuration_2020(), specification_2020(), 10, delta="1e-10")
    >>> budget_spent(found, "US"), round(cost(found, specification_2020(), "US", delta="1e-10").epsilon, 4)
    (Fraction(1071, 1000), 9.9963)
    """
    if configuration.privacy == "puredp":
        return with_total(configuration, epsilon)
    wanted, small = float(positive(epsilon, name="the total epsilon")), share(delta, name="delta")
    for which in configuration.passes:
        total = _largest_rho(configuration, specification, which, wanted, small)
        configuration = with_total(configuration, total, [which])
    return configuration


def _largest_rho(
    configuration: Configuration, specification: Specification, which: str, wanted: float, delta: Fraction
) -> Fraction:
    """Return the largest total rho of a pass, of four digits, whose exact epsilon is at most `wanted`."""

    def fits(total: Fraction, *, exact: bool = False) -> bool:
        plan = with_total(configuration, total, [which])
        return cost(plan, specification, which, delta=delta, exact=exact).epsilon <= wanted

    # zCDP's own conversion solved for rho: the exact account needs no less
    depth = -log(delta)
    low = Fraction((sqrt(depth + wanted) - sqrt(depth)) ** 2)
    high = low
    while high <= LARGEST and fits(high):
        low, high = high, high * Fraction(6, 5)
    if high > LARGEST:
        raise InputError(
            f"the total epsilon is {wanted:g}; it would take a total rho of more than {float(low):.3g}, and "
            f"at most {LARGEST} is allowed"
        )
    while high / low > 1 + Fraction(1, 10**5):
        middle = Fraction(sqrt(low * high))
        low, high = (middle, high) if fits(middle) else (low, middle)
    grain = _grain(high)
    total = floor(high / grain) * grain
    while not fits(total, exact=True):  # with the cases that the search did not look at
        total -= grain
    return total


def _grain(value: Fraction) -> Fraction:
    """Return one unit of the fourth digit of a number."""
    return Fraction(10) ** (floor(log10(value)) - 3)


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
