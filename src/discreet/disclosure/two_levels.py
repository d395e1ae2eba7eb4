"""Two levels: what an adversary decides for every possible release, and how often that is right.

Under the 0-1 loss the adversary says "present" where the posterior exceeds one half, and tosses a coin where
it is one half exactly, as everywhere (`discreet.disclosure.decisions`). That happens: with the group's count
all but known, at every d-th sum of the siblings. The posterior's log-odds are linear in the block's noisy
count, so for each pair (noisy group count, noisy sum of the siblings) there is one threshold, and the
probability of being right is a sum over pairs of a tail of the block's noise.

The tables of the paper agree with a sampler that lets the block count more than the group: one whose update
of X1 given X2 lacks the condition k1 <= k2 that the paper states. That chain has two states in X1; with T its
transition matrix, its stationary law is T01 / (T01 + T10), computed here exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.disclosure.areas import Integers
from discreet.disclosure.hierarchy import TRUNCATION
from discreet.disclosure.inputs import one_variance
from discreet.disclosure.odds import Floats, log_sum
from discreet.disclosure.siblings import SiblingNoise, log_noise
from discreet.errors import InputError
from discreet.loss.posteriors import logistic
from discreet.loss.values import Number
from discreet.memory import set_fields
from discreet.noise import DiscreteGaussian
from discreet.numbers import prior as read_prior

Chance = Literal["exact", "unconstrained"]
_SOME = 20_000  # noisy counts, at a time
_TIE = 1e-10  # odds closer to even than this are even: what differs from them does so by far more


def reach(variance: float, outside: float) -> int:
    """Return an m with P[|noise| > m] below `outside`, by the Chernoff bound.

    >>> reach(5.0, 1e-15)
    18
    """
    return math.ceil(math.sqrt(2.0 * variance * math.log(2.0 / outside))) - 1


@dataclass(frozen=True, slots=False, init=False)
class TwoLevels:
    """A block among `siblings` others in a group; the prior on the group's count is the paper's uniform one.

    >>> two = TwoLevels(rho=("0.0992", "0.2465"), siblings=27, prior="1/2")
    >>> float(two.probability(2, 1, -1).round(4)), float(two.unconstrained_probability(2, 1, -1).round(4))
    (0.5033, 0.5777)
    >>> round(two.accuracy(rest=0), 3)
    0.604
    >>> [round(two.accuracy_given(group=x), 3) for x in (1, 2, 4, 10)]
    [0.318, 0.435, 0.562, 0.59]
    """

    variances: tuple[float, float]
    siblings: SiblingNoise
    prior: Fraction
    known: int

    def __init__(
        self,
        *,
        rho: tuple[Number, Number] | None = None,
        variance: tuple[Number, Number] | None = None,
        siblings: int,
        prior: Number,
        known: int = 0,
        single: bool = False,
    ) -> None:
        pairs = zip(variance or (None, None), rho or (None, None), strict=False)
        variances = [float(one_variance(*pair)) for pair in pairs]
        if siblings < 1:
            raise InputError(f"siblings is {siblings}; with two levels there must be at least one")
        if known < 0:
            raise InputError(f"known is {known}; the count of the others in the block is zero or more")
        set_fields(
            self,
            variances=(variances[0], variances[1]),
            siblings=SiblingNoise.of(siblings, variances[0], exact=not single),
            prior=read_prior(prior),
            known=known,
        )

    @cached_property
    def _log_odds(self) -> float:
        return math.log(self.prior) - math.log(1 - self.prior)

    # -- posterior probabilities -----------------------------------------------------------------------

    def probability(self, block: object, group: object, others: object) -> Floats:
        """Return the exact posterior of the target being counted, at noisy counts of any shape."""
        x, z, y = _grids(block, group, others)
        return logistic(self._from_block(x) + self._from_above(z, y))

    def unconstrained_probability(self, block: object, group: object, others: object) -> Floats:
        """Return what the chain without the condition k1 <= k2 tends to: not the posterior of the model."""
        arrays = np.broadcast_arrays(*_grids(block, group, others))
        x, z, y = (array.ravel() for array in arrays)
        chances = [
            self.chain(z[i : i + _SOME], y[i : i + _SOME]).stationary(x[i : i + _SOME])
            for i in range(0, x.size, _SOME)
        ]
        return np.concatenate(chances or [np.empty(0)]).reshape(arrays[0].shape)

    def _from_block(self, x: Integers) -> Floats:
        """Log-odds from the prior and the block's noisy count."""
        odds = self._log_odds + (2.0 * (x - self.known) - 1.0) / (2.0 * self.variances[0])
        return np.asarray(odds, dtype=np.float64)

    def _tables(self, z: Integers, y: Integers) -> tuple[Floats, Floats, Floats]:
        """Log weights of group counts given X1 = known and known + 1, and what siblings add to the odds.

        For arrays z, y of one shape, the group's counts along a new last axis.
        """
        # the product of both Gaussians is centred between z and y + known, and narrower than the first
        top = max(int(z.max(initial=0)), int(y.max(initial=0)) + self.known + 1, self.known)
        k = np.arange(self.known, top + reach(self.variances[1], 1e-30) + 2)
        seen = log_noise(self.variances[1], z[..., None] - k)
        beside = [self.siblings.log_pmf(y[..., None] - k + self.known + present) for present in (0, 1)]
        there = np.where(k >= self.known + 1, seen + beside[1], -math.inf)
        return seen + beside[0], there, beside[1] - beside[0]

    def _from_above(self, z: Integers, y: Integers) -> Floats:
        """Log-odds from the group and the siblings: log of a quotient of two sums over the group's count."""
        z, y = np.broadcast_arrays(z, y)
        absent, there, _ = self._tables(z, y)
        return np.asarray(log_sum(there, axis=-1) - log_sum(absent, axis=-1))

    def evidence_from_above(self, group: Integers, others: Integers) -> Floats:
        """Return the log odds that noisy counts of the group and the siblings add to those of the block.

        >>> two = TwoLevels(rho=("0.0992", "0.2465"), siblings=27, prior="1/2")
        >>> two.evidence_from_above(np.array([1]), np.array([-1])).round(4).tolist()
        [-0.2845]
        """
        return self._from_above(group, others)

    def chain(self, z: Integers, y: Integers) -> UnconstrainedChain:
        """Return the chain without the condition k1 <= k2, at noisy counts of group and siblings.

        >>> two = TwoLevels(rho=("0.0992", "0.2465"), siblings=27, prior="1/2")
        >>> two.chain(np.array([1]), np.array([-1])).stationary(np.array([2])).round(4).tolist()
        [0.5777]
        """
        absent, there, gain = self._tables(z, y)
        with np.errstate(under="ignore"):
            laws = [np.exp(logs - log_sum(logs, axis=-1)[..., None]) for logs in (absent, there)]
        return UnconstrainedChain(self._from_block, laws[0], laws[1], gain)

    # -- decisions -------------------------------------------------------------------------------------

    def grid(
        self, *, block: int, group: int, outside: float = TRUNCATION
    ) -> tuple[tuple[Integers, Floats], ...]:
        """Return values and probabilities of the three noisy counts, given the true ones."""
        if not self.known <= block <= self.known + 1:
            raise InputError(f"block is {block}; it must be {self.known} or {self.known + 1}")
        if group < block:
            raise InputError(f"the hierarchy does not nest: group is {group}, but the block counts {block}")
        parts = []
        for centre, variance in ((block, self.variances[0]), (group, self.variances[1])):
            off = np.arange(-(m := reach(variance, outside / 3.0)), m + 1)
            parts.append((centre + off, np.exp(log_noise(variance, off))))
        m = reach(self.siblings.count * self.variances[0], outside / 3.0)
        off = np.arange(-m, m + 1)
        return *parts, (group - block + off, np.exp(self.siblings.log_pmf(off)))

    def thresholds(self, z: Integers, y: Integers, *, chance: Chance = "exact") -> Integers:
        """Return the least noisy block count at which "present" is the likelier; z down, y across."""
        return self._thresholds(z, y, chance)[0]

    @property
    def threshold_alone(self) -> int:
        """The least noisy block count at which "present" is the likelier if only the block's is seen."""
        limit = self.known + 0.5 - self.variances[0] * self._log_odds
        return math.floor(limit + _TIE * self.variances[0]) + 1

    def changes(
        self, z: Integers, y: Integers, *, block: int, group: int, chance: Chance = "exact"
    ) -> tuple[float, float]:
        """Return how often, given the true counts, group and siblings turn the block's decision to "present"
        and how often to "absent", among releases whose other two counts are in z and y.

        >>> two = TwoLevels(rho=("0.0992", "0.2465"), siblings=27, prior="1/2")
        >>> [round(x, 4) for x in two.changes(np.arange(-3, 6), np.arange(-30, 31), block=1, group=1)]
        [0.002, 0.2698]
        """
        _, (all_z, pz), (all_y, py) = self.grid(block=block, group=group)
        of_z, of_y = np.interp(z, all_z, pz, 0.0, 0.0), np.interp(y, all_y, py, 0.0, 0.0)
        noise = DiscreteGaussian(variance=Fraction(self.variances[0]))
        limits = np.append(self.thresholds(z, y, chance=chance), self.threshold_alone) - 1 - block
        says = np.exp(noise.log_sf(np.clip(limits, -(10**9), 10**9)))
        more = (says[:-1] - says[-1]).reshape(len(z), len(y))
        to_yes, to_no = (of_z @ np.maximum(sign * more, 0.0) @ of_y for sign in (1, -1))
        return float(to_yes), float(to_no)

    def _thresholds(self, z: Integers, y: Integers, chance: str) -> tuple[Integers, NDArray[np.bool_]]:
        """The thresholds, and whether both answers are equally likely one below."""
        if chance not in ("exact", "unconstrained"):
            raise InputError(f"chance is {chance!r}; it must be 'exact' or 'unconstrained'")
        thresholds = self._exact if chance == "exact" else self._unconstrained
        limits, ties = zip(*(thresholds(np.full_like(y, value), y) for value in z), strict=True)
        return np.stack(limits), np.stack(ties)

    def _exact(self, z: Integers, y: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        limit = self.known + 0.5 - self.variances[0] * (self._log_odds + self._from_above(z, y))
        limit = np.clip(limit, -1e15, 1e15)
        # there both answers are equally likely, if it is a whole number
        tied = np.abs(limit - np.rint(limit)) < _TIE * self.variances[0]
        return np.where(tied, np.rint(limit), np.floor(limit)).astype(np.int64) + 1, tied

    def _unconstrained(self, z: Integers, y: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        """By halving: the chain's stationary law rises with the block's noisy count."""
        chain = self.chain(z, y)
        room = reach(self.variances[0], 1e-40)
        low = np.full(y.shape, self.known - room)
        high = np.full(y.shape, self.known + room + 1)
        while np.any(high - low > 1):
            middle = (low + high) // 2
            says = chain.stationary(middle) > 0.5 + _TIE
            low, high = np.where(says, low, middle), np.where(says, middle, high)
        return high, np.abs(chain.stationary(high - 1) - 0.5) <= _TIE

    def accuracy(self, *, rest: int, chance: Chance = "exact") -> float:
        """Return how often the decision is right, averaged over the prior, `rest` others in the siblings."""
        there = self.accuracy_given(group=self.known + 1 + rest, chance=chance)
        absent = self.accuracy_given(group=self.known + rest, block=self.known, chance=chance)
        return float(self.prior) * there + float(1 - self.prior) * absent

    def accuracy_given(self, *, group: int, block: int | None = None, chance: Chance = "exact") -> float:
        """Return how often the decision is right, given the truth: by default that the target is counted.

        `group` is the true count of the group. With `chance="unconstrained"` the decision follows the
        stationary law of the chain without the condition k1 <= k2. The grid leaves out at most 1e-15.
        """
        true = self.known + 1 if block is None else block
        _, (z, pz), (y, py) = self.grid(block=true, group=group)
        limits, ties = self._thresholds(z, y, chance)
        noise = DiscreteGaussian(variance=Fraction(self.variances[0]))
        off = np.clip(limits - 1 - true, -(10**9), 10**9)
        says = np.exp(noise.log_sf(off)) + np.where(ties, 0.5 * np.exp(noise.log_pmf(off)), 0.0)
        says_present = float(pz @ says @ py)
        return says_present if true == self.known + 1 else 1.0 - says_present


@dataclass(frozen=True, slots=True, eq=False)
class UnconstrainedChain:
    """The chain without the condition: laws of X2 given each X1, and what X2 adds to the odds of X1."""

    odds: Callable[[Integers], Floats]
    absent: Floats
    there: Floats
    gain: Floats

    def stationary(self, x: Integers) -> Floats:
        """Its stationary probability of X1 = known + 1, at noisy counts of the block."""
        up = logistic(self.odds(x)[..., None] + self.gain)
        rise = np.einsum("...k,...k->...", self.absent, up)
        fall = np.einsum("...k,...k->...", self.there, 1.0 - up)
        return np.asarray(rise / (rise + fall))


def _grids(*arrays: object) -> list[Integers]:
    counts = [np.asarray(array) for array in arrays]
    if any(array.dtype.kind not in "iu" for array in counts):
        raise InputError("noisy counts are whole numbers; another kind of number was given")
    return [array.astype(np.int64) for array in counts]
