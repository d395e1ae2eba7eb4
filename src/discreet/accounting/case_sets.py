"""All cases of an account together: what is computed for all at once, and which few that leaves open.

`CaseSet` is one interface for cases of any laws. On lattices all cases share contours (`lattice_cases`),
which bound every delta from both sides, and the trade-off is the envelope of their curves; of other laws
upper bounds come from one grid (`grid_cases`), and the trade-off from the best test of all cases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple

from discreet.budget.neighbours import CaseLabel
from discreet.loss.all_pairs import AllPairs
from discreet.loss.curves import Quantity
from discreet.loss.lattice import Floats
from discreet.memory import Forgetful
from discreet.noise.capabilities import supports
from discreet.numbers import Interval

if TYPE_CHECKING:
    from discreet.accounting.account import Account
    from discreet.loss.certified.all_cases import UpperBounds


class LeastError(NamedTuple):
    """f of all cases at an alpha, the case where it is least if known, and whether that case attains it."""

    beta: float
    case: CaseLabel | None
    is_attained: bool


class CaseSet(Forgetful, ABC):
    """All cases of an account."""

    method: Literal["transform", "values"]
    """How the account is computed: by the transform of the loss, or from its values, listed or on a grid."""
    together: AllPairs | None = None
    """All cases evaluated together, where that is possible and there are enough of them to be worth it."""
    upper_bounds: UpperBounds | None = None
    """Proofs for all cases together, where they are evaluated together."""

    def __init__(self, account: Account) -> None:
        self.account = account

    @property
    @abstractmethod
    def is_provable(self) -> bool:
        """Whether deltas and epsilons of all cases can be proved."""

    @abstractmethod
    def bounded_rows(self, numbers: list[int], thresholds: list[Fraction]) -> tuple[Floats, Floats] | None:
        """Logarithms of delta and their errors of chosen cases, -inf where the largest rules a case out.

        None if that is not worth it, or not possible.
        """

    @abstractmethod
    def tradeoffs(self, alphas: list[Fraction]) -> tuple[Floats, Floats]:
        """f and its relative errors, rounded to the digits that hold."""

    @abstractmethod
    def least_errors(self, alphas: Sequence[Fraction]) -> list[LeastError]:
        """f at each alpha, and the case that attains it."""

    @abstractmethod
    def least_error(self, alpha: Fraction) -> tuple[float, CaseLabel]:
        """f at alpha for a search, and a case at or near which it is attained."""

    @abstractmethod
    def threshold(self, alpha: Fraction, worst: CaseLabel) -> float:
        """About the loss at which the best test has its threshold; any threshold gives a bound of f."""

    @abstractmethod
    def intervals(self, quantity: Quantity, at: list[Fraction], digits: int | None) -> list[Interval]:
        """Intervals that provably contain the values of the whole release."""

    @abstractmethod
    def largest_loss_box(self, largest: Fraction) -> Interval:
        """An interval that contains the largest loss, of which this fraction is an upper bound."""

    @abstractmethod
    def other_bounds(
        self, epsilon: Fraction, likely: CaseLabel, waiting: int
    ) -> tuple[Mapping[CaseLabel, Fraction], str]:
        """Proved upper bounds of delta by case, not those that certify it, and the name of the method.

        Without any if that is not worth it for so many cases `waiting`.
        """

    @abstractmethod
    def errors(self, thresholds: list[Fraction]) -> tuple[Floats, Floats, list[int]]:
        """Type I and type II errors of different cases at thresholds, and the row of each case."""


def case_set_of(account: Account) -> CaseSet:
    """All cases of an account, by what its noise answers.

    >>> from discreet import PowerNoise, account
    >>> account("dhc-2020").case_set.method, account([PowerNoise("3/2", 4)]).case_set.method
    ('transform', 'values')
    """
    if supports("lattice", account.all_events):
        from discreet.accounting.lattice_cases import LatticeCases

        return LatticeCases(account)
    from discreet.accounting.grid_cases import GridCases

    return GridCases(account)
