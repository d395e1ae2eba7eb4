"""A cap on race codes: what it saves in noise, and what it costs in people that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, sqrt

import numpy as np

from discreet.census.mechanism.configuration import Configuration, Place
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.margins import margin_of_error as margin_of
from discreet.census.safetab.account import mechanisms
from discreet.errors import InputError
from discreet.numbers import Exact, fraction

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

    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> plan = replace(configuration_2020(), max_race_codes=2)
    >>> capped = cap(plan, specification_2020(), "US", ["0.9", "0.08", "0.02"])
    >>> county = next(level for level in capped.levels if level.place == ("COUNTY", 2))
    >>> county.margin_all, county.margin, county.harm, round(float(capped.lost), 4)
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
    for mechanism, whole in zip(mechanisms(configuration, specification, which), every, strict=True):
        noise, wider = mechanism.stage_two, whole.stage_two
        assert noise is not None
        assert wider is not None
        margin = margin_of(noise)
        gone = np.array([0] if lost is None else [0, *(round(lost * size) for size in CAP_SIZES)])
        within, *reach = (noise.cdf(margin + gone) - noise.cdf(gone - margin - 1)).tolist()
        levels.append(
            CapLevel(
                place=mechanism.place,
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
    people_shares = [fraction(share, name="a share of people by codes named") for share in shares]
    total = sum(people_shares, Fraction(0))
    if not 1 <= len(people_shares) <= most or min(people_shares) < 0 or abs(total - 1) > Fraction(1, 100):
        raise InputError(
            f"the shares of people by codes named are {len(people_shares)} numbers that add up to "
            f"{float(total):.4g}; they must be one to {most} shares, none negative, that add up to 1"
        )
    return tuple(share / total for share in people_shares)
