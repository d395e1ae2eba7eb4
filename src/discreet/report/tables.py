"""Rows of the privacy tables: the exact value, what zCDP says, and the case that is worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.accounting.comparisons import ZCDP
from discreet.accounting.overall import Account
from discreet.numbers import Exact, Interval, fraction

DELTAS = ("1e-5", "1e-10", "1e-15", "1e-20")
"""Deltas of the default table; the second is the one the US Census Bureau reports at."""


@dataclass(frozen=True, slots=True)
class PrivacyRow:
    """One point of the exact curve beside zCDP's (Bun and Steinke).

    `zcdp` is an epsilon in a row that was asked by its delta, and a delta in one asked by its epsilon;
    `certified`, if there, provably contains the exact value that stands beside it.
    """

    epsilon: float
    delta: float
    zcdp: float
    worst: Any
    certified: Interval | None = None


def zcdp_of(account: Account) -> ZCDP:
    """Return what zCDP says of an account: the curve of the largest rho among its cases.

    >>> from discreet.budget import load
    >>> from discreet.accounting.overall import account
    >>> zcdp_of(account(load("dhc-2022-08-25"))).rho
    Fraction(73, 20)
    """
    return ZCDP.from_rho(account.rho)


def epsilon_rows(
    account: Account,
    deltas: Sequence[Exact] = DELTAS,
    *,
    zcdp: ZCDP | None = None,
    certified: bool = False,
    digits: int | None = None,
) -> list[PrivacyRow]:
    """Return a row for each delta: the smallest epsilon, not below zero, for which the promise holds.

    >>> from discreet.budget import load
    >>> from discreet.accounting.overall import account
    >>> row, = epsilon_rows(account(load("dhc-2022-08-25")), ["1e-10"])
    >>> round(row.epsilon, 4), round(row.zcdp, 4), row.worst
    (20.3247, 21.9851, (1,))
    """
    wanted = [fraction(delta, name="delta") for delta in deltas]
    if not wanted:
        return []
    points = account.at_delta(wanted)
    zcdp = zcdp or zcdp_of(account)
    boxes: Sequence[Interval | None] = [None] * len(wanted)
    if certified:
        boxes = [_from_zero(box) for box in account.epsilon(delta=wanted, certified=True, digits=digits)]
    return [
        PrivacyRow(max(point.epsilon, 0.0), point.delta, zcdp.epsilon(delta=float(delta)), point.worst, box)
        for point, delta, box in zip(points, wanted, boxes, strict=True)
    ]


def delta_rows(
    account: Account,
    epsilons: Sequence[Exact],
    *,
    zcdp: ZCDP | None = None,
    certified: bool = False,
    digits: int | None = None,
) -> list[PrivacyRow]:
    """Return a row for each epsilon: the smallest delta for which the promise holds.

    >>> from discreet.budget import load
    >>> from discreet.accounting.overall import account
    >>> row, = delta_rows(account(load("dhc-2022-08-25")), [20])
    >>> f"{row.delta:.4g} {row.zcdp:.4g}"
    '2.151e-10 1.117e-08'
    """
    wanted = [fraction(epsilon, name="epsilon") for epsilon in epsilons]
    if not wanted:
        return []
    points = account.at_epsilon(wanted)
    zcdp = zcdp or zcdp_of(account)
    boxes: Sequence[Interval | None] = [None] * len(wanted)
    if certified:
        boxes = list(account.delta(epsilon=wanted, certified=True, digits=digits))
    return [
        PrivacyRow(point.epsilon, point.delta, zcdp.delta(epsilon=float(epsilon)), point.worst, box)
        for point, epsilon, box in zip(points, wanted, boxes, strict=True)
    ]


def _from_zero(box: Interval) -> Interval:
    """The promise with a negative epsilon is stronger than asked for; zero will do."""
    return Interval(max(box.lower, Fraction(0)), max(box.upper, Fraction(0)))
