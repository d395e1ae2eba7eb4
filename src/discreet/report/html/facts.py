"""What a page says of one release, computed once: `gather` does all the work that takes time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.accounting.arguments import read_probabilities
from discreet.accounting.comparisons import ZCDP, GaussianDP
from discreet.accounting.overall import Account
from discreet.accounting.overall import account as account_of
from discreet.accounting.parallel import Progress
from discreet.accounting.privacy_loss import compose
from discreet.budget import Neighbours, Release
from discreet.budget.events import Event
from discreet.errors import InputError
from discreet.numbers import Exact, Interval, fraction
from discreet.report.figures import Sampled, sampled
from discreet.report.tables import DELTAS, PrivacyRow, epsilon_rows, zcdp_of
from discreet.risk.profile import epsilon_of

if TYPE_CHECKING:
    from discreet.accounting.calibration import Calibration

Stage = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

ALPHAS = ("1/1000", "1/100", "1/20", "1/10", "1/4")
"""Shares of false alarms in the table of the trade-off curve."""
_ROUNDING = Fraction(1, 10**12)
LEAST_PRIOR = Fraction(1, 10**12)
GUESS_DIGITS = 5
"""Of a chance that is said in hundredths; all cases lie close together there, so more would take minutes."""


@dataclass(frozen=True, slots=True)
class Guess:
    """How often an adversary is right, on average over the prior; `certified` contains it if there."""

    accuracy: float
    certified: Interval | None = None

    @property
    def upper(self) -> float:
        """What is safe to say."""
        return self.accuracy if self.certified is None else float(self.certified.upper)


@dataclass(frozen=True, slots=True)
class Onlooker:
    """How often someone is right who sees one level only: its most telling single count, or all of it."""

    level: str
    query: str
    count: float
    whole: float


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
    guess: Guess
    onlookers: tuple[Onlooker, ...]
    misses: tuple[Misses, ...]
    drawn: Sampled
    calibration: Calibration | None
    certified: bool

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
    chance = checked_prior(prior)
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
        gaussian=GaussianDP(dict(whole.cases)[whole.main]),
        rows=tuple(sorted(rows, key=lambda row: -row.delta)),
        headline=rows[0],
        prior=chance,
        guess=best_guess(during("Proving the best guess"), chance, certify=certify),
        onlookers=_onlookers(release, whole, chance),
        misses=_misses(during("Weighing both errors"), zcdp),
        drawn=sampled(during("Drawing the curves"), zcdp),
        calibration=_calibrated(release, whole, asked[0], jobs, progress) if savings else None,
        certified=certify,
    )


def checked_prior(prior: Exact) -> Fraction:
    """Return the prior as the exact number it denotes.

    >>> checked_prior("0.1")
    Fraction(1, 10)
    """
    chance = fraction(prior, name="prior")
    if not LEAST_PRIOR <= chance <= 1 - LEAST_PRIOR:
        raise InputError(f"prior is {prior}; it must lie between 1e-12 and 1 - 1e-12")
    return chance


def best_guess(account: Account, prior: Fraction, *, certify: bool) -> Guess:
    """Return how often the best adversary is right who has the whole release.

    With q the smaller of the prior and its complement, the least error is q (1 - delta(t)), where
    t = log((1 - q) / q): the smallest value of (1 - q) alpha + q f(alpha). The loss is symmetric, so it does
    not matter which of the two possibilities has the prior q.

    >>> from discreet.budget import load
    >>> from discreet.accounting.overall import account
    >>> small = account(load("dhc-2022-08-25"))
    >>> round(best_guess(small, Fraction(1, 2), certify=False).accuracy - small.total_variation / 2, 12)
    0.5
    """
    q = min(prior, 1 - prior)
    accuracy = float(1 - q) + float(q) * float(account.delta(epsilon=Fraction(epsilon_of(q))))
    if not certify:
        return Guess(accuracy)
    threshold = _odds_box(q)
    box = account.delta(epsilon=threshold.lower, certified=True, digits=GUESS_DIGITS)
    # delta falls by no more than epsilon rises, so the exact t costs the lower end no more than its width
    low, high = max(box.lower - threshold.width, Fraction(0)), box.upper
    # wide enough for the float beside it, which is rounded
    return Guess(accuracy, Interval(1 - q + q * low - _ROUNDING, 1 - q + q * high + _ROUNDING))


def _odds_box(q: Fraction) -> Interval:
    """An interval that contains log((1 - q) / q)."""
    from discreet.noise.balls import ball, interval, working_bits

    if q == Fraction(1, 2):
        return Interval(Fraction(0), Fraction(0))
    with working_bits(160):
        found = interval(ball((1 - q) / q).log())
    # short ends: the threshold goes into ball arithmetic again
    scale = 2**80
    return Interval(Fraction(math.floor(found.lower * scale), scale), found.upper)


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


def _onlookers(release: Release, account: Account, prior: Fraction) -> tuple[Onlooker, ...]:
    """What each level gives away by itself, where no level is merged."""
    copies = 2 if account.neighbours == "bounded" else 1
    seen: dict[Event, float] = {}
    found = []
    for level in release.levels:
        events = [event.for_people(account.people) for event in level.events(release.neighbours)]
        single = [replace(event, times=1) for event in events]
        for event in single:
            if event not in seen:
                seen[event] = _accuracy([event], prior)
        best = max(range(len(single)), key=lambda k: (seen[single[k]], -k))
        whole = _accuracy(events * copies, prior)
        found.append(Onlooker(level.name, level.queries[best].name, seen[single[best]], whole))
    return tuple(found)


def _accuracy(events: Sequence[Event], prior: Fraction) -> float:
    q = min(prior, 1 - prior)
    return float(1 - q) + float(q) * compose(events).delta(epsilon=Fraction(epsilon_of(q)))


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
