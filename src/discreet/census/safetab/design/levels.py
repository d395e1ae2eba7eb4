"""A design of one pass: what each geography and level shows, and what one person pays for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

from discreet.accounting.parallel import Progress
from discreet.budget import Claim
from discreet.census.mechanism.adaptive import Mechanism
from discreet.census.mechanism.configuration import BUDGET_WORDS, Configuration, Place
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.margins import margin_of_error as margin_of
from discreet.census.mechanism.margins import variance_of
from discreet.census.safetab.account import claim, mechanisms
from discreet.census.safetab.design.budgets import LARGEST_MARGIN, Rivals, rivals
from discreet.census.safetab.design.caps import Cap, cap
from discreet.census.safetab.design.costs import DesignCost, check_designable, cost
from discreet.census.safetab.design.sizes import Of, smallest_sizes, with_derived
from discreet.errors import InputError
from discreet.faces import Displayed
from discreet.numbers import Exact, brief, fraction, positive
from discreet.questions import Option


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
        mechanism: Mechanism,
        configuration: Configuration,
        specification: Specification,
        error: Fraction,
        of: Of,
    ) -> SizedLevel:
        """Return a mechanism that has noise with what follows from a target error."""
        assert mechanism.stage_two is not None
        budget = mechanism.budget or Fraction(0)
        every = range(1, configuration.most_codes + 1)
        return cls(
            mechanism=mechanism,
            place=mechanism.place,
            stability=mechanism.stability.value,
            by_races=tuple(
                specification.stability(mechanism.level, k, mechanism.geography).value for k in every
            ),
            budget=budget,
            second=(1 - configuration.gamma) * budget if mechanism.ladder.picks else budget,
            variance=variance_of(mechanism.stage_two),
            margin=margin_of(mechanism.stage_two),
            sizes=smallest_sizes(mechanism.stage_two, mechanism.ladder, relative_margin=error, of=of),
            thresholds=mechanism.thresholds,
            suppression=mechanism.suppression,
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
    cap: Cap | None = None
    claim: Claim = field(kw_only=True)

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
    derive: Annotated[bool, Option("Derive the thresholds from the target error.")] = False,
    exact: bool = True,
    codes_named: Annotated[
        Sequence[Exact] | None,
        Option(
            "Public shares of people who name 1, 2, ... race codes; tells what --races leaves out.",
            "S,...",
            reads=str | None,
        ),
    ] = None,
    progress: Progress | None = None,
) -> Sizing:
    """Size a configuration: margins, the sizes from which each table has at most the target error, the cost.

    Thresholds are the configuration's, or with `derive` those with which a group just large enough gets its
    table 95 % of the time. Without `exact`, costs are those of two stages throughout, and kinds of noise are
    not compared. Where not all race codes count, `cap` says what that saves and costs; `codes_named` are the
    shares of people who name one, two, three ... codes, from a public source.

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> design = sizing(configuration_2020(), specification_2020(), "US", exact=False)
    >>> county = next(level for level in design.levels if level.place == ("COUNTY", 2))
    >>> county.margin, county.sizes, county.thresholds, county.suppression
    (11, (110, 880, 1980, 5060), (971, 4971, 19971), 21)
    """
    check_designable(configuration, which)
    part = positive(error, name="the target error")
    if derive:
        configuration = with_derived(configuration, specification, error=part, of=of)
    parts = mechanisms(configuration, specification, which)
    levels = tuple(SizedLevel.of(mechanism, configuration, specification, part, of) for mechanism in parts)
    for level in levels if exact else ():
        if level.margin > LARGEST_MARGIN:
            name = ":".join(map(str, level.place))
            budget = "epsilon" if configuration.privacy == "puredp" else "rho"
            raise InputError(
                f"{budget} of {name} is {brief(level.budget)}: the 95 % margin of its cells is "
                f"{level.margin}, and at most {LARGEST_MARGIN} is compared"
            )
    costs = [
        cost(
            configuration,
            specification,
            which,
            delta=delta,
            neighbours=neighbours,
            exact=exact,
            progress=progress,
        )
        for neighbours in ("unbounded", "bounded")
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
        claim=claim(configuration, which, parts),
        cap=cap(configuration, specification, which, codes_named),
    )
