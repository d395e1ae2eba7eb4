"""What a design costs one person: the sum of its budgets, and the exact epsilon at delta."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.parallel import Progress
from discreet.accounting.privacy_loss import compose
from discreet.budget import Neighbours
from discreet.budget.neighbours import records_apart
from discreet.census.mechanism.configuration import Configuration
from discreet.census.mechanism.groups import Specification
from discreet.census.safetab.account import LARGEST, budget_spent, exact_account, replacing, two_stages
from discreet.comparisons.zcdp import ZCDP
from discreet.errors import InputError
from discreet.noise import Noise
from discreet.numbers import Exact, fraction


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

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> spent = cost(configuration_2020(), specification_2020(), "US", delta="1e-10")
    >>> spent.budget, round(spent.converted, 3), round(spent.epsilon, 3)
    (Fraction(618, 125), 26.283, 24.402)
    """
    check_designable(configuration, which)
    comes = [which, replacing(configuration, which)][: records_apart(neighbours)]
    budget = Fraction(0)
    for run_pass in comes:
        own = budget_spent(configuration, run_pass)
        if own is None:
            raise InputError(f"the pass {run_pass} has an infinite budget, so no noise")
        budget += own
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


def check_designable(configuration: Configuration, which: str) -> None:
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
