"""The privacy tables: rows of exact values beside what zCDP says, of one account or of two compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet import numbers
from discreet.accounting.arguments import count_of_digits
from discreet.accounting.comparisons import ZCDP
from discreet.accounting.overall import Account
from discreet.budget import AnswerKind, Release
from discreet.numbers import Exact, Interval, fraction
from discreet.report import words
from discreet.report.releases import matching_noise, preset_object

if TYPE_CHECKING:
    from discreet.accounting.calibration import NoiseChange

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
    accuracy: float = 0.0
    """How far the number that was asked for may be off: a delta relatively, an epsilon absolutely."""

    def digits(self, asked: str, most: int) -> int:
        """How many digits of the epsilon or delta that was asked for hold."""
        value = self.epsilon if asked == "epsilon" else self.delta
        return count_of_digits(value, self.accuracy * (1.0 if asked == "epsilon" else value), most)


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
            boxes = account.delta(epsilon=wanted, certified=True, digits=digits)
    else:
        points, bounds = account.at_delta(wanted), [zcdp.epsilon(delta=float(x)) for x in wanted]
        # the promise with a negative epsilon is stronger than asked for; zero will do
        points = [replace(point, epsilon=max(point.epsilon, 0.0)) for point in points]
        if certified:
            proved = account.epsilon(delta=wanted, certified=True, digits=digits)
            boxes = [Interval(max(box.lower, Fraction(0)), max(box.upper, Fraction(0))) for box in proved]
    return [
        PrivacyRow(point.epsilon, point.delta, bound, point.worst, box, point.accuracy)
        for point, bound, box in zip(points, bounds, boxes, strict=True)
    ]


def difference(gap: float, doubt: float) -> str:
    """Write a difference of two epsilons with the digits that hold.

    >>> difference(-1.88407, 0.0), difference(-1.88407, 1e-3)
    ('-1.8841', '-1.88')
    """
    if gap == 0 or doubt < 1e-5:
        return numbers.change(gap)
    return f"{gap:+.{count_of_digits(gap, doubt, 4)}g}"


@dataclass(frozen=True, slots=True)
class PrivacyTable:
    """What one release, or several together, cost: rows by delta and by epsilon, and how to read them."""

    releases: Sequence[Release]
    account: Account
    by_delta: Sequence[PrivacyRow]
    by_epsilon: Sequence[PrivacyRow] = ()
    digits: int | None = None

    def tables(self) -> Iterator[tuple[str, str, Sequence[PrivacyRow]]]:
        """Yield what was given, what was asked, and the rows."""
        if self.by_delta:
            yield "delta", "epsilon", self.by_delta
        if self.by_epsilon:
            yield "epsilon", "delta", self.by_epsilon

    def certified(self) -> Iterator[tuple[str, float, str, str, str]]:
        """Yield what was given, its value, what was asked, and both ends of the proved interval."""
        for given, asked, rows in self.tables():
            for row in rows:
                if row.certified is not None:
                    yield given, getattr(row, given), asked, *numbers.interval(row.certified, self.digits)

    def cautions(self) -> list[tuple[Release | None, str]]:
        """What limits how the result may be read, with the release that it is about."""
        found: list[tuple[Release | None, str]] = []
        if len(self.releases) > 1 and self.account.claim.kind is AnswerKind.MAIN:
            text = (
                "Only the main path of each release is accounted for, the one that merges nothing; "
                "other combinations of paths may cost a little more. --all-pairs compares them all."
            )
            found.append((None, text))
        for release in self.releases:
            if release.neighbours != self.account.neighbours:
                who = words.relation(release.neighbours, release.unit)
                text = f"The noise was calibrated for {release.neighbours} neighbours ({who})."
                found.append((release, text))
            notes = words.cautions(release, all_paths=self.account.pairs > 1)
            found += [(release, text) for text in notes]
        return found

    def as_dict(self) -> dict[str, object]:
        """Return what JSON says: the ends of proved intervals with all their digits."""
        account, results = self.account, []
        for given, asked, rows in self.tables():
            for row in rows:
                result = {given: getattr(row, given), asked: getattr(row, asked), f"zcdp_{asked}": row.zcdp}
                result["worst"] = row.worst
                if account.accuracy is not None:
                    result["accuracy"] = row.accuracy
                if row.certified is not None:
                    lower, upper = numbers.interval(row.certified, self.digits)
                    result |= {"lower": Decimal(lower), "upper": Decimal(upper)}
                results.append(result)
        return {
            "release": account.name,
            "releases": [release.name for release in self.releases],
            "unit": account.unit,
            "neighbours": account.neighbours,
            "people": account.people,
            "rho": str(account.rho),
            "pairs": account.pairs,
            "answer": account.claim.as_dict(),
            "results": results,
            "cautions": [text for _, text in self.cautions()],
        }


@dataclass(frozen=True, slots=True)
class TwoReleases:
    """Two releases at the same deltas."""

    a: PrivacyTable
    b: PrivacyTable

    @property
    def rows(self) -> list[tuple[PrivacyRow, PrivacyRow]]:
        """The rows of both, delta by delta."""
        return list(zip(self.a.by_delta, self.b.by_delta, strict=True))

    @property
    def noise(self) -> list[tuple[str, NoiseChange]]:
        """Levels and noise of the queries that stand under the same names in both."""
        return matching_noise(self.a.releases[0], self.b.releases[0])

    @property
    def differences(self) -> list[str]:
        """Why the two epsilons may not mean the same."""
        a, b = self.a.account, self.b.account
        lines = []
        if a.neighbours != b.neighbours:
            lines.append(
                f"A is about {a.neighbours} and B about {b.neighbours} neighbours, so the two "
                "epsilons promise different things; --neighbours takes one relation for both."
            )
        if a.unit != b.unit:
            lines.append(f"A protects a {a.unit}, B a {b.unit}.")
        return lines

    def __str__(self) -> str:
        """Say which of the two promises more."""
        pairs = self.rows
        signs = {_sign(one.epsilon, two.epsilon) for one, two in pairs}
        if signs == {0}:
            return "Both have the same epsilon at every delta shown, to the digits shown."
        if {1, -1} <= signs:
            return "Neither promises more throughout: which epsilon is smaller depends on delta."
        lower, higher = ("A", "B") if 1 in signs else ("B", "A")
        one, two = next((pair for pair in pairs if pair[0].delta == 1e-10), pairs[0])
        digits = min(row.digits("epsilon", numbers.DIGITS) for row in (one, two))
        kinds = {"A": self.a.account.claim.kind, "B": self.b.account.claim.kind}
        if kinds[lower] not in (AnswerKind.EXACT, AnswerKind.BOUND) or kinds[higher] is not AnswerKind.EXACT:
            return (
                f"At delta {numbers.plain(one.delta)} A has epsilon "
                f"{kinds['A'].beside(one.epsilon, digits)} and B "
                f"{kinds['B'].beside(two.epsilon, digits)}: these numbers do not tell which promises more."
            )
        small, large = sorted((one.epsilon, two.epsilon))
        is_bound = kinds[lower] is AnswerKind.BOUND
        small_text = kinds[lower].beside(small, digits) if is_bound else numbers.number(small, digits)
        few = count_of_digits(large - small, one.accuracy + two.accuracy, 3)
        gap = f"{numbers.number(large - small, few)} ({numbers.percent((large - small) / large)})"
        gap = f"at least {gap}" if is_bound else gap
        return (
            f"At delta {numbers.plain(one.delta)} {lower} has epsilon {small_text}, "
            f"{gap} less than {higher}'s {numbers.number(large, digits)}: {lower} promises more."
        )

    def as_dict(self) -> dict[str, object]:
        """Return what JSON says."""
        return {
            **{
                letter: preset_object(side.releases[0])
                | {
                    "accounted": side.account.neighbours,
                    "answer": side.account.claim.as_dict(),
                    "accounted_rho": str(side.account.rho),
                    "pairs": side.account.pairs,
                }
                for letter, side in (("a", self.a), ("b", self.b))
            },
            "results": [
                {
                    "delta": one.delta,
                    "a": {"epsilon": one.epsilon, "zcdp_epsilon": one.zcdp, "worst": one.worst},
                    "b": {"epsilon": two.epsilon, "zcdp_epsilon": two.zcdp, "worst": two.worst},
                    "difference": two.epsilon - one.epsilon,
                }
                for one, two in self.rows
            ],
            "variances": [
                {
                    "level": level,
                    "query": query.name,
                    "a": str(query.before),
                    "b": str(query.after),
                    "ratio": float(query.after / query.before),
                }
                for level, query in self.noise
            ],
            "comparable": not self.differences,
        }


def _sign(first: float, second: float) -> int:
    """Which is larger, to the digits shown."""
    if numbers.number(first) == numbers.number(second):
        return 0
    return 1 if second > first else -1
