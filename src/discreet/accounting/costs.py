"""What a release costs, row by row: exact values beside zCDP's, of one account or of two compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.accounting.calibration import NoiseChange, matching_noise
from discreet.accounting.comparisons.zcdp import ZCDP
from discreet.accounting.overall import Account
from discreet.budget import Release
from discreet.budget.neighbours import CaseLabel
from discreet.faces import Displayed
from discreet.numbers import Exact, Interval, fraction

DELTAS = ("1e-5", "1e-10", "1e-15", "1e-20")
"""Deltas of the default table; the second is the one the US Census Bureau reports at."""


@dataclass(frozen=True, slots=True)
class PrivacyRow:
    """One point of the exact curve beside zCDP's (Bun and Steinke).

    `zcdp` is an epsilon in a row at a given delta, and a delta in a row at a given epsilon; `certified`, if
    there, provably contains the exact value beside it.
    """

    epsilon: float
    delta: float
    zcdp: float
    worst: CaseLabel
    certified: Interval | None = None
    accuracy: float = 0.0
    """The largest error of the number asked for: relative for a delta, absolute for an epsilon."""

    @property
    def paths(self) -> set[int]:
        """The paths of the worst case; none where several releases are accounted for together."""
        return {path for path in self.worst if isinstance(path, int)}


def zcdp_of(account: Account) -> ZCDP:
    """Return zCDP's curve for an account, that of the largest rho among its cases.

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
    """Return a row for each delta: the smallest epsilon, zero or more, for which the promise holds.

    >>> from discreet.budget import load
    >>> from discreet.accounting.overall import account
    >>> row, = epsilon_rows(account(load("dhc-2022-08-25")), ["1e-10"])
    >>> round(row.epsilon, 4), round(row.zcdp, 4), row.worst
    (20.3247, 21.9851, (1,))
    """
    return _rows(account, "delta", deltas, zcdp, certified, digits)


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
    return _rows(account, "epsilon", epsilons, zcdp, certified, digits)


def _rows(
    account: Account,
    given: str,
    values: Sequence[Exact],
    zcdp: ZCDP | None,
    certified: bool,
    digits: int | None,
) -> list[PrivacyRow]:
    wanted = [fraction(value, name=given) for value in values]
    if not wanted:
        return []
    zcdp = zcdp or zcdp_of(account)
    boxes: Sequence[Interval | None] = [None] * len(wanted)
    if given == "epsilon":
        points, bounds = account.at_epsilon(wanted), [zcdp.delta(epsilon=float(x)) for x in wanted]
        if certified:
            boxes = list(account.delta(epsilon=wanted, certified=True, digits=digits))
    else:
        points, bounds = account.at_delta(wanted), [zcdp.epsilon(delta=float(x)) for x in wanted]
        # a negative epsilon promises more than was asked for; zero is enough
        points = [replace(point, epsilon=max(point.epsilon, 0.0)) for point in points]
        if certified:
            proved = account.epsilon(delta=wanted, certified=True, digits=digits)
            boxes = [Interval(max(box.lower, Fraction(0)), max(box.upper, Fraction(0))) for box in proved]
    return [
        PrivacyRow(point.epsilon, point.delta, bound, point.worst, box, point.accuracy)
        for point, bound, box in zip(points, bounds, boxes, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class PrivacyTable(Displayed):
    """What one release, or several together, cost: rows by delta and by epsilon."""

    releases: Sequence[Release]
    account: Account
    by_delta: Sequence[PrivacyRow]
    by_epsilon: Sequence[PrivacyRow] = ()
    digits: int | None = None
    """Digits that were asked for."""


@dataclass(frozen=True, slots=True)
class TwoReleases(Displayed):
    """Two releases at the same deltas."""

    a: PrivacyTable
    b: PrivacyTable

    @property
    def rows(self) -> list[tuple[PrivacyRow, PrivacyRow]]:
        """The rows of both, delta by delta."""
        return list(zip(self.a.by_delta, self.b.by_delta, strict=True))

    @property
    def noise(self) -> list[tuple[str, NoiseChange]]:
        """Levels and noise of the queries that have the same names in both."""
        return matching_noise(self.a.releases[0], self.b.releases[0])
