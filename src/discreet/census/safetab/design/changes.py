"""Changes of a configuration: the levels that are tabulated, their budgets, and one total shared out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, log, log10, sqrt
from typing import Annotated

from discreet.census.mechanism.configuration import BUDGET_WORDS, BUDGETS, Configuration, Place
from discreet.census.mechanism.groups import Specification
from discreet.census.safetab.account import LARGEST, budget_spent
from discreet.census.safetab.design.budgets import FOR_MARGIN, stage_share
from discreet.census.safetab.design.costs import cost
from discreet.census.safetab.design.sizes import Of, with_derived
from discreet.errors import InputError
from discreet.numbers import Exact, brief, fraction, positive, share
from discreet.questions import Option


def changed(
    configuration: Configuration,
    specification: Specification,
    *,
    levels: Annotated[
        Iterable[Place] | None,
        Option(
            "What to tabulate, such as USA,STATE,COUNTY:2 or detailed. Default: all with a budget.",
            "PLACES",
            reads=str | None,
        ),
    ] = None,
    rhos: Annotated[
        Mapping[Place, Exact] | None,
        Option("Budgets, such as USA:2=2.134,regional=0.008.", "PLACE=R,...", each="rho", reads=str | None),
    ] = None,
    epsilons: Annotated[
        Mapping[Place, Exact] | None,
        Option("The same if the privacy is puredp.", "PLACE=E,...", each="epsilon", reads=str | None),
    ] = None,
    margins: Annotated[
        Mapping[Place, int] | None,
        Option(
            "Budgets from 95 % margins of a cell, such as COUNTY:2=11.",
            "PLACE=M,...",
            each="margin",
            reads=str | None,
        ),
    ] = None,
    total_rho: Annotated[
        Exact | None,
        Option(
            "One total, shared out over the levels of each pass as their budgets are.", "R", reads=str | None
        ),
    ] = None,
    total_epsilon: Annotated[
        Exact | None,
        Option(
            "The same by epsilon: at --delta under zCDP, the sum of epsilons under puredp.",
            "E",
            reads=str | None,
        ),
    ] = None,
    delta: Annotated[Exact, Option("The delta of the epsilon. Default: 1e-10.", "D", reads=str)] = "1e-10",
    races: Annotated[int | None, Option("How many race codes count, 1 to 8.", "N")] = None,
    gamma: Annotated[
        Exact | None, Option("The first stage's share of a budget.", "G", reads=str | None)
    ] = None,
    chance: Annotated[
        Exact | None, Option("Chance of dropping an empty group; 0: never.", "P", reads=str | None)
    ] = None,
    error: Annotated[Exact, Option("Target error, such as 0.1 (default) or 10%.", "E", reads=str)] = "0.1",
    of: Annotated[
        Of, Option("Error relative to the average cell (default), or to the whole group.", "cell|total")
    ] = "cell",
) -> Configuration:
    """Return a configuration with changes: the levels that are tabulated, their budgets, and the rest.

    Budgets are `rhos`, or under pure privacy `epsilons`. A margin becomes the least budget that keeps it,
    rounded up to four digits. `total_rho` shares out one sum of budgets over the levels of each pass, in the
    proportions that they have by then; `total_epsilon` is under pure privacy the same, and under zCDP an
    epsilon at `delta` (see `with_total_epsilon`). A level that has no thresholds gets those that follow from
    the target error.

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> plan = changed(configuration_2020(), specification_2020(), races=3, margins={("USA", 2): 3})
    >>> plan.max_race_codes, plan.budgets["USA", 2]
    (3, Fraction(849, 1250))
    """
    if total_rho is not None and total_epsilon is not None:
        raise InputError("a total of the budgets and one of epsilon are given; give one of them")
    configuration = _with_settings(configuration, races, gamma, chance)
    spends = _budgets(configuration, specification, {"rho": rhos, "epsilon": epsilons}, margins or {})
    if levels is not None:
        spends = _only(configuration, spends, set(levels))
    places = configuration.tabulation.places
    passes = tuple(
        which
        for which, one_pass in configuration.tabulation.passes.items()
        if any(spends[place] != 0 for place in places if place[0] in one_pass.geographies)
    )
    configuration = replace(configuration, budgets=spends, passes=passes)
    if total_rho is not None:
        configuration = with_total(configuration, total_rho)
    if total_epsilon is not None:
        configuration = with_total_epsilon(configuration, specification, total_epsilon, delta=delta)
    derived = with_derived(configuration, specification, error=error, of=of).thresholds
    return replace(configuration, thresholds={**derived, **configuration.thresholds})


def _with_settings(
    configuration: Configuration, races: int | None, gamma: Exact | None, chance: Exact | None
) -> Configuration:
    """Return the configuration with what holds for all levels."""
    if races is not None:
        configuration = replace(configuration, max_race_codes=races)
    if gamma is not None:
        configuration = replace(configuration, gamma=stage_share(gamma))
    if chance is not None:
        drop = fraction(chance, name="the chance of dropping an empty group")
        if not 0 <= drop < 1:
            raise InputError(
                f"the chance of dropping an empty group is {drop}; it must be at least 0 and below 1"
            )
        configuration = replace(configuration, zero_suppression_chance=drop)
    return configuration


def _budgets(
    configuration: Configuration,
    specification: Specification,
    given: Mapping[str, Mapping[Place, Exact] | None],
    margins: Mapping[Place, int],
) -> dict[Place, Fraction | None]:
    """Return the budgets of all levels: as they are, as given by the word for them, or from margins."""
    word, spends = BUDGET_WORDS[configuration.privacy], dict(configuration.budgets)
    for name, wrong in given.items():
        if wrong and name != word:
            raise InputError(
                f"a budget is given as {name}, but the privacy is {configuration.privacy}: use {word}"
            )
    for place, budget in (given[word] or {}).items():
        spends[place] = positive(budget, name=f"{word} of {configuration.tabulation.place_words(place)}")
    for (geography, level), margin in margins.items():
        often = max(specification.stability(level, configuration.max_race_codes, geography).value, 1)
        least = FOR_MARGIN[configuration.privacy](margin, stability=often, gamma=configuration.gamma)
        if not configuration.tabulation.ladder(level).picks:  # all of it goes to the cells
            least *= 1 - configuration.gamma
        grain = _grain(least)
        spends[geography, level] = ceil(least / grain) * grain
    return spends


def _only(
    configuration: Configuration, spends: Mapping[Place, Fraction | None], wanted: set[Place]
) -> dict[Place, Fraction | None]:
    """Return the budgets with nothing for the levels that are not wanted."""
    word, places = BUDGET_WORDS[configuration.privacy], configuration.tabulation.places
    without = [place for place in places if place in wanted and spends[place] == 0]
    if without:
        name = f"{without[0][0]}:{without[0][1]}"
        raise InputError(f"{name} has no {word}; give one with --{word} {name}=B or --margin {name}=M")
    return {place: budget if place in wanted else Fraction(0) for place, budget in spends.items()}


def with_total(
    configuration: Configuration, total: Exact, passes: Iterable[str] | None = None
) -> Configuration:
    """Return the configuration with one total of each pass, in the proportions that its budgets have.

    The passes count different people, so each gets the whole total.

    >>> from discreet.census.safetab.census2020 import configuration_2020
    >>> plan = with_total(configuration_2020(), 2)
    >>> budget_spent(plan, "US"), budget_spent(plan, "PR"), round(float(plan.budgets["USA", 2]), 4)
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

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> plan = with_total_epsilon(configuration_2020(), specification_2020(), 10, delta="1e-10")
    >>> budget_spent(plan, "US"), round(cost(plan, specification_2020(), "US", delta="1e-10").epsilon, 4)
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
