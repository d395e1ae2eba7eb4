"""What a report says of one release: the results of several rooms, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from discreet.accounting.account import Account
from discreet.accounting.calibration import Calibration
from discreet.answers.figure import Points
from discreet.answers.quantity import NumberKind
from discreet.budget import Release
from discreet.comparisons.costs import PrivacyRow, PrivacyTable
from discreet.comparisons.gaussian_dp import GaussianDP
from discreet.comparisons.sampling import Sampled
from discreet.disclosure.category import Categories
from discreet.disclosure.everything import ReleaseRisk
from discreet.disclosure.profile import Risk, RiskProfile
from discreet.estimation.expected_accuracy import Accuracy
from discreet.faces import Displayed

ALPHAS = tuple(map(Fraction, ("1/1000", "1/100", "1/20", "1/10", "1/4")))
"""Shares of false alarms in the table of the trade-off curve."""


class Misses(NamedTuple):
    """A point of the trade-off curve: at this share of false alarms at least that share is missed."""

    alpha: Fraction
    exact: float
    zcdp: float | None
    """What zCDP promises; nothing where losses may be infinite."""


@dataclass(frozen=True, slots=True, eq=False)
class Facts(Displayed):
    """All that a report says of one release."""

    release: Release
    account: Account
    gaussian: GaussianDP | None
    """None where losses may be infinite."""
    deltas: tuple[Fraction, ...]
    """Those that were asked for, the one of the headline first."""
    rows: tuple[PrivacyRow, ...]
    headline: PrivacyRow
    prior: Fraction
    everything: ReleaseRisk
    """The risk of everything published, at the prior asked for and at a low one."""
    curve: Points
    """Targets found at most, against the rate of wrong accusations."""
    categories: Categories | None
    """Which cell is a person's, if attributes are stated."""
    misses: tuple[Misses, ...]
    estimates: Accuracy | None
    drawn: Sampled
    """Points of the curves."""
    calibration: Calibration | None
    unsaved: str
    """Why no saving is stated, if one was looked for and there is none."""
    certified: bool
    unproved: str = ""
    """Why nothing is proved, if proofs were asked for."""

    @property
    def risk(self) -> RiskProfile:
        """The risk at the prior asked for."""
        return self.everything.profile.at(self.prior)

    @property
    def guess(self) -> Risk:
        """What the best adversary with the whole release achieves."""
        return self.risk.overall[0]

    @property
    def accuser(self) -> Misses:
        """What an adversary misses who accepts false alarms in 5 of 100 cases."""
        return self.misses[ALPHAS.index(Fraction(1, 20))]

    @property
    def costs(self) -> PrivacyTable:
        """The rows, as an account of the release has them."""
        return PrivacyTable([self.release], self.account, self.rows)

    @property
    def kind(self) -> NumberKind:
        """What the numbers claim."""
        return NumberKind.of(self.account.claim.kind)
