"""What a page says of one release, computed once: `gather` does all the work, the page only presents it."""

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
from discreet.errors import InputError, PrecisionError
from discreet.numbers import Exact, interval
from discreet.numbers import prior as read_prior
from discreet.report.figures import Sampled, sampled
from discreet.report.releases import (
    NoiseLine,
    VarianceLine,
    calibrated_lines,
    levels_of,
    matching_noise,
    noise_lines,
    rho_total,
    variance_lines,
)
from discreet.report.tables import DELTAS, PrivacyRow, epsilon_rows, zcdp_of
from discreet.risk.profile import DIGITS, Risk, RiskProfile, profile_of

if TYPE_CHECKING:
    from discreet.accounting.calibration import Calibration
    from discreet.estimation import Accuracy

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
    rho: Fraction | None
    rows: tuple[PrivacyRow, ...]
    gaussian_epsilons: tuple[float, ...]
    headline: PrivacyRow
    prior: Fraction
    risk: RiskProfile
    misses: tuple[Misses, ...]
    noise: tuple[NoiseLine, ...]
    estimates: Accuracy | None
    errors: tuple[NoiseLine, ...]
    """The noise with the best estimates beside it, where there are any."""
    drawn: Sampled
    calibration: Calibration | None
    saved: tuple[VarianceLine, ...]
    unsaved: str
    """Why no saving is stated, if one was looked for and there is none."""
    certified: bool

    @property
    def guess(self) -> Risk:
        """What the best adversary with the whole release achieves."""
        return self.risk.overall[0]

    @property
    def accuser(self) -> Misses:
        """What an adversary misses who accepts false alarms in 5 of 100 cases."""
        return next(one for one in self.misses if one.alpha == Fraction(1, 20))

    @property
    def asked(self) -> tuple[PrivacyRow, ...]:
        """The rows whose deltas were asked for, the headline first."""
        proved = [row for row in self.rows if row.certified is not None and row is not self.headline]
        return (self.headline, *proved)

    def as_dict(self) -> dict[str, object]:
        """Return the headline for JSON."""
        row, guess = self.headline, self.guess
        made: dict[str, object] = {
            "release": self.account.name,
            "neighbours": self.account.neighbours,
            "answer": self.account.claim.as_dict(),
            "delta": row.delta,
            "epsilon": row.epsilon,
            "zcdp_epsilon": row.zcdp,
            "worst": row.worst,
            "prior": str(self.prior),
            "accuracy": guess.accuracy,
            "reduction": None if self.calibration is None else self.calibration.reduction,
            "certified": self.certified,
        }
        for name, box, digits in (("", row.certified, None), ("accuracy_", guess.certified, DIGITS)):
            if box is not None:
                lower, upper = interval(box, digits)
                made |= {f"{name}lower": Decimal(lower), f"{name}upper": Decimal(upper)}
        return made


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
    many = [delta] if isinstance(delta, str | int | Fraction | Decimal) else list(delta)
    if not many:
        raise InputError("no delta is given; at least one is needed, such as 1e-10")
    asked = list(dict.fromkeys(read_probabilities(one, name="delta").values[0] for one in many))
    chance = read_prior(prior)
    if account is None:
        account = account_of(release, neighbours=neighbours, people=people, jobs=jobs)
    elif account.name != release.name:
        raise InputError(f"the account is of {account.name!r}, but the release is {release.name!r}")
    elif neighbours not in (None, account.neighbours):
        raise InputError(f"the account is for {account.neighbours} neighbours, not {neighbours}")

    def telling(text: str) -> Progress | None:
        return None if progress is None else lambda done, total: progress(text, done, total)

    def during(text: str) -> Account:
        return account.with_workers(jobs, telling(text))

    zcdp, gaussian = zcdp_of(account), GaussianDP(account.events(account.main))
    rows = epsilon_rows(
        during("Proving epsilon" if certify else "Comparing paths"), asked, zcdp=zcdp, certified=certify
    )
    more = [small for small in map(Fraction, DELTAS) if small not in asked]
    table = sorted(
        [*rows, *epsilon_rows(during("Comparing paths"), more, zcdp=zcdp)], key=lambda row: -row.delta
    )
    alphas = [Fraction(alpha) for alpha in ALPHAS]
    missed = during("Weighing both errors").tradeoff(alpha=alphas)
    estimates = _estimates(release)
    found, unsaved = None, ""
    if savings and account.people == 1:  # calibration is for one person
        from discreet.accounting.calibration import calibrate

        try:
            found = calibrate(
                release,
                delta=asked[0],
                zcdp=True,
                neighbours=account.neighbours,
                jobs=jobs,
                progress=telling("Looking for the least noise"),
            )
        except (InputError, PrecisionError) as error:  # a report is worth having without this section
            unsaved = str(error)
    return Facts(
        release=release,
        account=account.with_workers(jobs),
        zcdp=zcdp,
        gaussian=gaussian,
        rho=rho_total(release),
        rows=tuple(table),
        gaussian_epsilons=tuple(float(gaussian.epsilon(delta=row.delta)) for row in table),
        headline=rows[0],
        prior=chance,
        risk=profile_of(during("Proving the best guess"), release, [chance], certify=certify),
        misses=tuple(
            Misses(alpha, float(value), max(float(zcdp.tradeoff(alpha=float(alpha))), 0.0))
            for alpha, value in zip(alphas, missed, strict=True)
        ),
        noise=noise_lines(release),
        estimates=estimates,
        errors=noise_lines(release, estimates),
        drawn=sampled(during("Drawing the curves"), zcdp),
        calibration=found,
        saved=() if found is None else calibrated_lines(found),
        unsaved=unsaved,
        certified=certify,
    )


def _estimates(release: Release) -> Accuracy | None:
    """How accurate the best estimates are, where the release has attributes and its tree is known."""
    if release.attributes is None:
        return None
    from discreet.estimation import accuracy

    try:
        return accuracy(release)
    except InputError:  # a tree that is not that of the United States is not known here
        return None


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to the noise of a level: the smallest and largest ratio of variances after and before."""

    level: str
    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Two states of a release side by side."""

    before: Facts
    lines: tuple[VarianceLine, ...]
    levels: tuple[Change, ...]
    gone: tuple[tuple[str, str], ...]
    new: tuple[tuple[str, str], ...]

    @property
    def unchanged(self) -> tuple[Change, ...]:
        """Levels whose noise stays as it is."""
        return tuple(one for one in self.levels if one.low == one.high == 1)


def compare(after: Facts, before: Facts) -> Changes:
    """Return how two states differ: variances of queries that both have, and what is gone or new."""
    both = matching_noise(before.release, after.release)
    ratios: dict[str, list[Fraction]] = {}
    for level, query in both:
        ratios.setdefault(level, []).append(query.after / query.before)
    old, new = (
        {(level, row.query) for level, rows in levels_of(one.release).items() for row in rows}
        for one in (before, after)
    )
    return Changes(
        before,
        variance_lines(both),
        tuple(Change(level, min(found), max(found)) for level, found in ratios.items()),
        tuple(sorted(old - new)),
        tuple(sorted(new - old)),
    )
