"""What a page says of one release, computed once: `gather` does all the work that takes time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.accounting.arguments import read_probabilities
from discreet.accounting.comparisons import ZCDP, GaussianDP
from discreet.accounting.overall import Account
from discreet.accounting.overall import account as account_of
from discreet.accounting.parallel import Progress
from discreet.budget import Neighbours, Release
from discreet.errors import InputError
from discreet.numbers import Exact
from discreet.numbers import prior as read_prior
from discreet.report.figures import Sampled, sampled
from discreet.report.tables import DELTAS, PrivacyRow, epsilon_rows, zcdp_of
from discreet.risk.profile import Risk, RiskProfile, profile_of

if TYPE_CHECKING:
    from discreet.accounting.calibration import Calibration

Stage = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

ALPHAS = ("1/1000", "1/100", "1/20", "1/10", "1/4")
"""Shares of false alarms in the table of the trade-off curve."""


@dataclass(frozen=True, slots=True)
class Misses:
    """A point of the trade-off curve: at this share of false alarms at least that share is missed."""

    alpha: Fraction
    exact: float
    zcdp: float


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """All that a page says of one release."""

    release: Release
    account: Account
    zcdp: ZCDP
    gaussian: GaussianDP
    rows: tuple[PrivacyRow, ...]
    headline: PrivacyRow
    prior: Fraction
    risk: RiskProfile
    misses: tuple[Misses, ...]
    drawn: Sampled
    calibration: Calibration | None
    certified: bool

    @property
    def guess(self) -> Risk:
        """What the best adversary with the whole release achieves."""
        return self.risk.overall[0]

    @property
    def asked(self) -> tuple[PrivacyRow, ...]:
        """The rows whose deltas were asked for, those with a proof if there is any."""
        return tuple(row for row in self.rows if row.certified is not None)


def gather(
    release: Release,
    *,
    delta: Exact | Sequence[Exact] = ("1e-10",),
    prior: Exact = "1/2",
    neighbours: Neighbours | None = None,
    people: int = 1,
    certify: bool = True,
    savings: bool = True,
    jobs: int = 1,
    progress: Stage | None = None,
    account: Account | None = None,
) -> Facts:
    """Return what a page says of a release.

    The first delta is the one of the headline, and every delta named is certified; the table adds the
    usual ones. `prior` is the chance that an adversary gives the truth beforehand. An `account` of the same
    release that is at hand already brings its relation and its number of people with it.

    >>> from discreet.budget import load
    >>> facts = gather(load("dhc-2022-08-25"), certify=False, savings=False)
    >>> round(facts.headline.epsilon, 4), round(facts.guess.accuracy, 4)
    (20.3247, 0.9116)
    """
    asked = _deltas(delta)
    chance = read_prior(prior)
    if account is None:
        account = account_of(release, neighbours=neighbours, people=people, jobs=jobs)
    elif account.name != release.name:
        raise InputError(f"the account is of {account.name!r}, but the release is {release.name!r}")
    elif neighbours not in (None, account.neighbours):
        raise InputError(f"the account is for {account.neighbours} neighbours, not {neighbours}")

    whole = account.with_workers(jobs)

    def during(text: str) -> Account:
        return whole.with_workers(jobs, _telling(progress, text))

    zcdp = zcdp_of(whole)
    certain = "Proving epsilon" if certify else "Comparing paths"
    rows = epsilon_rows(during(certain), asked, zcdp=zcdp, certified=certify)
    more = [small for small in map(Fraction, DELTAS) if small not in asked]
    rows += epsilon_rows(during("Comparing paths"), more, zcdp=zcdp)
    return Facts(
        release=release,
        account=whole,
        zcdp=zcdp,
        gaussian=GaussianDP(whole.events(whole.main)),
        rows=tuple(sorted(rows, key=lambda row: -row.delta)),
        headline=rows[0],
        prior=chance,
        risk=profile_of(during("Proving the best guess"), release, [chance], certify=certify),
        misses=_misses(during("Weighing both errors"), zcdp),
        drawn=sampled(during("Drawing the curves"), zcdp),
        calibration=_calibrated(release, whole, asked[0], jobs, progress) if savings else None,
        certified=certify,
    )


def _deltas(delta: Exact | Sequence[Exact]) -> list[Fraction]:
    many = [delta] if isinstance(delta, str | int | Fraction | Decimal) else list(delta)
    if not many:
        raise InputError("no delta is given; at least one is needed, such as 1e-10")
    return list(dict.fromkeys(read_probabilities(one, name="delta").values[0] for one in many))


def _telling(progress: Stage | None, text: str) -> Progress | None:
    if progress is None:
        return None
    return lambda done, total: progress(text, done, total)


def _misses(account: Account, zcdp: ZCDP) -> tuple[Misses, ...]:
    alphas = [Fraction(alpha) for alpha in ALPHAS]
    exact = account.tradeoff(alpha=alphas)
    bound = [float(zcdp.tradeoff(alpha=float(alpha))) for alpha in alphas]
    return tuple(Misses(*point) for point in zip(alphas, map(float, exact), bound, strict=True))


def _calibrated(
    release: Release, account: Account, delta: Fraction, jobs: int, progress: Stage | None
) -> Calibration | None:
    """The least noise that keeps what zCDP promises; it is found for one person."""
    if account.people != 1:
        return None
    from discreet.accounting.calibration import calibrate

    return calibrate(
        release,
        delta=delta,
        zcdp=True,
        neighbours=account.neighbours,
        jobs=jobs,
        progress=_telling(progress, "Looking for the least noise"),
    )
