"""One noisy count, and several: what the adversary believes after seeing it, decides, and how often rightly.

An adversary knows everyone in an area but one person, the target, who has certain characteristics or has
not. The count of these characteristics is `known` if the target is not among them ("absent") and
`known` + 1 if they are ("present"). Before the release the adversary gives "present" the chance `prior`.
Released is the count plus discrete Gaussian noise.

A count is never negative, so `known` is zero or more; with that both possible counts lie within the
boundary and neither is ever excluded by it. The noisy value may be negative, and is then evidence for
"absent" like any other low value.

With v the variance of the noise, y the noisy value and k the count known without the target, Bayes' rule
adds the log of the ratio of likelihoods to the prior log odds,

    log P[y | present] / P[y | absent] = ((y - k)^2 - (y - k - 1)^2) / (2 v) = (y - k - 1/2) / v,

in which the squares, and the constants of the noise, have cancelled: nothing overflows, and nothing is lost
however far out y lies. If negative values were published as zero, a zero has the ratio of two tails
P[noise <= -k - 1] / P[noise <= -k] instead. If other people are uncertain, both likelihoods are mixtures.

*Means over the noise* are sums over all outcomes but a tail. Discrete Gaussian noise is no wider than the
normal law (Canonne, Kamath and Steinke 2020), P[|noise| > M] <= 2 exp(-M^2 / (2 v)); M is chosen so that this
bound is below the tolerance times the smallest prior, hence below the tolerance for a ratio too, which is at
most one over the prior. Means do not depend on the known count, which shifts the noisy value alone, unless
negative values are published as zero.

*Decisions.* "Present" is decided where the posterior log odds exceed a threshold t, the log of what a false
alarm costs over what a miss costs (0 for 0-1 loss). That is where y - k > 1/2 + v (t - log odds of the
prior): where y reaches one whole number. As the noise grows, v times the prior's log odds passes one whole
number after another, so the accuracy given the truth is a jagged function of the noise unless the prior is
even. A coin decides ties, as `discreet.risk.decisions` says.

*Several counts* of the same person with independent noise: likelihoods multiply, so evidence adds up,
whatever is counted, as long as the adversary knows each count without the target. That covers an adversary
who knows the block group too, a target who is unique at several levels (all known counts are 0), and several
releases of the same count.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet import numbers
from discreet.accounting.privacy_loss import compose
from discreet.accounting.values import Number as Number
from discreet.accounting.values import read
from discreet.errors import InputError
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.gaussian_tail import tail_ratio
from discreet.numbers import fraction
from discreet.numbers import prior as prior_of
from discreet.risk.decisions import TIE, Costs, LossTable
from discreet.risk.decisions import Floats as Floats

Numbers = Number | NDArray[np.generic] | Sequence["Numbers"] | None  # None where a default is meant
Answer = Any  # a float or bool where one number was asked for, else an array of them
Truth = Literal["present", "absent"]


class Counted(TypedDict, total=False):
    """What is said of counts beside what is known, as `Attack` takes it."""

    variance: Numbers
    rho: Numbers
    others: Numbers
    nonnegative: bool


LARGEST = 2**52
"""Noisy values and known counts up to here are exact as floats, halves included."""

VARIANCES = (1e-4, 1e10)
"""Variances of the noise that are accepted."""

TOLERANCE = 1e-15
"""What the terms left out of a sum may add up to, unless another bound is asked for."""

MOST_OTHERS = 10_000
"""People of whom an adversary may be unsure."""

_BLOCK = 1 << 21  # numbers that are held at a time


# -- the others, where the adversary is not sure of them -------------------------------------------


def independent_others(chances: Numbers, *, people: int | None = None) -> Floats:
    """Return the law of the number of counted people among m independent ones: the chances of 0, 1, ..., m.

    `chances` has one for each of them; or it is one chance and `people` says how many share it (binomial).

    >>> independent_others(["1/2", "1/4"]).tolist()
    [0.375, 0.5, 0.125]
    >>> independent_others("1/2", people=3).round(15).tolist()
    [0.125, 0.375, 0.375, 0.125]
    """
    found = read_prior(chances, name="chance")
    if people is not None:
        if found.present.ndim or isinstance(people, bool) or not isinstance(people, int) or people < 1:
            raise InputError(f"people is {people!r}; with one chance, a whole number from 1 on is needed")
        if people > MOST_OTHERS:
            raise InputError(f"people is {people}; at most {MOST_OTHERS} may be uncertain")
        mode = min(math.floor((people + 1) * float(found.present)), people)
        down, up = np.arange(mode, 0, -1.0), np.arange(mode + 1.0, people + 1.0)
        odds = found.present / found.absent
        # from the mode outwards: the chances near it are right to the last digit, and alike if the law is
        below = np.cumprod(down / (people + 1 - down) / odds)[::-1]
        shape = np.concatenate([below, [1.0], np.cumprod((people + 1 - up) / up * odds)])
        return np.asarray(shape / shape.sum())
    present, absent = np.atleast_1d(found.present), np.atleast_1d(found.absent)
    if present.ndim != 1 or not 1 <= present.size <= MOST_OTHERS:
        raise InputError(
            f"chances is a table of shape {present.shape}; a list of 1 to {MOST_OTHERS} is needed"
        )
    law = np.ones(1)
    for p, q in zip(present, absent, strict=True):  # all terms positive: no digits are lost
        law = np.append(law * q, 0.0) + np.append(0.0, law * p)
    return law


def _read_others(law: Numbers) -> Floats:
    found = np.asarray(law, dtype=np.float64)
    if found.ndim != 1 or not 1 <= found.size <= MOST_OTHERS + 1 or not np.isfinite(found).all():
        most = MOST_OTHERS + 1
        raise InputError(f"others must be a list of 1 to {most} chances, of 0, 1, 2, ... other people")
    if (found < 0).any():
        raise InputError(f"a chance of other people is {found.min():g}; it must not be negative")
    if abs(found.sum() - 1) > 1e-12:
        raise InputError(
            f"the chances of 0 to {found.size - 1} other people add up to {found.sum():.12g}; "
            "they must add up to 1"
        )
    return found


# -- one count -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """What may be published, the logs of both laws there, and their difference."""

    noisy: Floats
    log_present: Floats
    log_absent: Floats
    log_ratio: Floats


class Attack:
    """The attack on a count by someone who knows `known` others, and gives chances to further ones.

    The noise has this `variance`, or that of zCDP's `rho` with a record added or removed, 1/(2 rho).
    `variance` and `known` may be arrays, which broadcast with priors and noisy values; `others` (the chances
    of 0, 1, 2, ... further people) needs one of each. `nonnegative` says that negative values were published
    as zero.

    >>> sure = Attack(variance=5, known=3)
    >>> unsure = Attack(variance=5, known=3, others=independent_others("1/2", people=10))
    >>> round(sure.accuracy(prior="1/2"), 4), round(unsure.accuracy(prior="1/2"), 4)
    (0.5892, 0.5726)
    >>> clipped = Attack(variance=5, known=0, nonnegative=True)
    >>> round(clipped.expected_posterior(prior="1/2"), 4), round(sure.expected_posterior(prior="1/2"), 4)
    (0.5199, 0.5238)
    """

    def __init__(
        self,
        *,
        variance: Numbers = None,
        rho: Numbers = None,
        known: Numbers = 0,
        others: Numbers = (1.0,),
        nonnegative: bool = False,
    ) -> None:
        self._variance, self._known = read_variance(variance, rho), read_known(known)
        check_fit(variance=self._variance, known=self._known)
        self.others, self.nonnegative = _read_others(others), bool(nonnegative)
        if self.others.size > 1 and (self._variance.ndim or self._known.ndim):
            raise InputError("an attack with unsure others has one variance and one known count")

    @property
    def variance(self) -> Answer:
        """The variance of the noise."""
        return answer(self._variance)

    @property
    def known(self) -> Answer:
        """The count known without the target."""
        return answer(self._known)

    def log_ratio(self, noisy: Numbers) -> Answer:
        """Return log P[noisy | present] - log P[noisy | absent].

        >>> Attack(variance=5).log_ratio([0, 1]).tolist()
        [-0.1, 0.1]
        """
        return answer(self.evidence(read_whole(noisy)))

    def log_odds(self, noisy: Numbers, *, prior: Numbers) -> Answer:
        """Return log(posterior / (1 - posterior)), which still tells values apart where the posterior is 1.

        >>> log_odds(10**9, variance=1, prior="1/2", known=0)
        999999999.5
        """
        chance, evidence = self._seen(noisy, prior)
        return answer(np.asarray(chance.log_odds + evidence))

    def posterior(self, noisy: Numbers, *, prior: Numbers) -> Answer:
        """Return the chance of "present" after the noisy value: a float, or an array by NumPy's broadcasting.

        Relative error: a few 1e-16 times the size of the log odds' two terms.

        >>> round(posterior(1, rho="0.099", prior="1/2", known=0), 3)
        0.525
        >>> posterior([-(10**9), 10**9], variance="1/2000", prior=[0.25, 0.75], known=4).tolist()
        [0.0, 1.0]
        """
        chance, evidence = self._seen(noisy, prior)
        return answer(chance.posterior(evidence))

    def ratio(self, noisy: Numbers, *, prior: Numbers) -> Answer:
        """Return the posterior over the prior, R'(y): how many times likelier the release has made "present".

        >>> ratio(1, rho="0.099", prior=["1/2", "1/864"], known=0).round(4).tolist()
        [1.0495, 1.1039]
        """
        chance, evidence = self._seen(noisy, prior)
        return answer(chance.ratio(evidence))

    def decide(self, noisy: Numbers, *, prior: Numbers, loss: LossTable = None) -> Answer:
        """Return the chance of the decision "present": 1 where its expected loss is smaller, 0 where larger.

        Where both decisions cost the same, a coin decides: 1/2.

        >>> decide([0, 1, 2], rho="0.099", prior="1/2", known=0).tolist()
        [0.0, 1.0, 1.0]
        """
        return answer(Costs.read(loss).says_present(np.asarray(self.log_odds(noisy, prior=prior))))

    def expected_ratio(
        self, *, prior: Numbers, given: Truth = "present", tolerance: Number = TOLERANCE
    ) -> Answer:
        """Return R, the mean of the ratio over what may be published, given the truth.

        The terms left out add up to less than `tolerance`.

        >>> expected_ratio(rho="0.099", prior=["1/2", "1/5", "1/10", "1/50", "1/864"]).round(2).tolist()
        [1.05, 1.13, 1.17, 1.21, 1.22]
        """
        return answer(self._mean_ratios(read_prior(prior), given, tolerance))

    def expected_posterior(
        self, *, prior: Numbers, given: Truth = "present", tolerance: Number = TOLERANCE
    ) -> Answer:
        """Return the mean of the posterior over what may be published, given the truth.

        The terms left out add up to less than `tolerance` times the prior.

        >>> [round(expected_posterior(rho="0.099", prior="1/2", given=x), 4) for x in ("present", "absent")]
        [0.5236, 0.4764]
        """
        chance = read_prior(prior)
        return answer(np.asarray(chance.present * self._mean_ratios(chance, given, tolerance)))

    def accuracy(
        self, *, prior: Numbers, loss: LossTable = None, given: str = "prior", tolerance: Number = TOLERANCE
    ) -> Answer:
        """Return the chance that the decision of least expected loss is right, averaged over the prior.

        With `given`="present" (the paper's 3.6) or "absent" it is the chance if that is the truth. `loss` is
        a table of two rows, truth absent and present, and two columns, decision absent and present; 0-1 if
        none is given. A coin decides ties. Tails are exact, nothing is left out (but `tolerance` if
        `nonnegative`).

        >>> decision_accuracy(rho="0.099", prior=["1/2", "1/5"]).round(4).tolist()
        [0.5888, 0.8]
        >>> decision_accuracy(rho="0.099", prior=["1/2", "1/5"], given="present").round(4).tolist()
        [0.5888, 0.0018]
        """
        chance = read_prior(prior)
        return answer(_given(given, chance, *self._rights(chance, Costs.read(loss), tolerance)))

    def expected_loss(
        self, *, prior: Numbers, loss: LossTable = None, given: str = "prior", tolerance: Number = TOLERANCE
    ) -> Answer:
        """Return what the decision costs on average, over the noise and by default over the prior.

        >>> round(expected_loss(variance=10, prior="1/2", loss=[[0, 1], [2, 0]]), 4)
        0.4989
        """
        costs, chance = Costs.read(loss), read_prior(prior)
        present, absent = self._rights(chance, costs, tolerance)
        if_present = costs.present[1] * present + costs.present[0] * (1.0 - present)
        if_absent = costs.absent[0] * absent + costs.absent[1] * (1.0 - absent)
        return answer(_given(given, chance, if_present, if_absent))

    def outcomes(self, *, tolerance: float = TOLERANCE, smallest: float = 1.0) -> Outcomes:
        """Return what may be published, all but a tail of at most `tolerance` times `smallest` a truth."""
        if self._variance.ndim or self._known.ndim:
            raise InputError("outcomes are those of one variance and one known count")
        variance, known, many = float(self._variance), float(self._known), self.others.size
        nats = math.log(2.0) - math.log(tolerance) - math.log(smallest)
        first, last = 0, many - 1
        if many > 1:  # half of the tolerance is for numbers of others that hardly occur
            nats += math.log(2.0)
            rare = tolerance * smallest / 4.0
            first, last = np.flatnonzero(
                (np.cumsum(self.others) > rare) & (np.cumsum(self.others[::-1])[::-1] > rare)
            )[[0, -1]]
        reach = math.ceil(math.sqrt(2.0 * variance * nats))
        low, high = known + first - reach, known + last + 1 + reach
        if self.nonnegative:
            low = max(low, 0.0)
        noisy = np.arange(low, high + 1.0)
        noise = DiscreteGaussian(Fraction(variance))
        logs = []
        for here in (1.0, 0.0):
            off = noisy - known - here
            parts = np.array_split(off, 1 + off.size * many // _BLOCK)
            law = np.concatenate([self._mixed(noise.log_pmf, part[:, None]) for part in parts])
            if self.nonnegative and low == 0.0:
                law[0] = self._mixed(noise.log_cdf, np.array([-known - here]))
            logs.append(law)
        return Outcomes(noisy, logs[0], logs[1], self.evidence(noisy))

    def _mixed(self, log_chance: Callable[[NDArray[np.int64]], Floats], off: Floats) -> Floats:
        """log of the sum over b of P[b others] and the chance at `off` - b."""
        logs = log_chance((off - np.arange(self.others.size)).astype(np.int64))
        return logs[..., 0] if self.others.size == 1 else _log_mean(logs, self.others)

    def _seen(self, noisy: Numbers, prior: Numbers) -> tuple[Prior, Floats]:
        chance, y = read_prior(prior), read_whole(noisy)
        check_fit(noisy=y, known=self._known, variance=self._variance, prior=chance.present)
        return chance, self.evidence(y)

    def evidence(self, noisy: Floats) -> Floats:
        """Return the log ratio of the likelihoods at noisy values that have been read."""
        distance, v, m = noisy - self._known, self._variance, self.others.size
        found = np.asarray((distance - 0.5) / v) if m == 1 else self._mixed_evidence(distance)
        if not self.nonnegative:
            return found
        if (noisy < 0).any():
            raise InputError(
                f"noisy is {noisy.min():g}, but negative values are said to be published as zero"
            )
        y, k, v = np.broadcast_arrays(noisy, self._known, v)
        zero = y == 0
        if zero.any():
            found = np.array(np.broadcast_to(found, y.shape))
            found[zero] = self._zero_evidence() if m > 1 else zero_evidence(k[zero], v[zero])
        return found

    def _mixed_evidence(self, distance: Floats) -> Floats:
        found, b = [], np.arange(self.others.size + 1, dtype=np.float64)
        for part in np.array_split(distance.reshape(-1, 1), 1 + distance.size * self.others.size // _BLOCK):
            # -(d - b)^2 / (2v) less that of the nearest b: what is large cancels and would swamp the rest
            near = np.clip(np.rint(part), 0.0, b[-1])
            logs = (b - near) * (part - (b + near) / 2.0) / self._variance
            found.append(_log_mean(logs[:, 1:], self.others) - _log_mean(logs[:, :-1], self.others))
        return np.concatenate(found).reshape(distance.shape)

    def _zero_evidence(self) -> float:
        """That of a published zero with unsure others: two tails, without their common factor."""
        b = np.arange(self.others.size + 1, dtype=np.float64)
        tails = np.log(tail_ratio(self._known + b, float(self._variance)))
        tails -= b * (self._known + b / 2.0) / self._variance
        return float(_log_mean(tails[1:], self.others) - _log_mean(tails[:-1], self.others))

    def _mean_ratios(self, prior: Prior, given: str, tolerance: Number) -> Floats:
        if given not in ("present", "absent"):
            raise InputError(f"given is {given!r}; it must be 'present' or 'absent'")
        bound = read_tolerance(tolerance)

        def means(one: Attack, part: Prior) -> Floats:
            seen = one.outcomes(tolerance=bound, smallest=float(part.present.min(initial=1.0)))
            weights = np.exp(seen.log_present if given == "present" else seen.log_absent)
            return _in_parts(part, weights.size, lambda p: [p.ratio(seen.log_ratio) @ weights])

        return np.asarray(self._each(prior, means, 1)[0])

    def _rights(self, prior: Prior, costs: Costs, tolerance: Number) -> Floats:
        """The chances of a right decision, given "present" and given "absent"."""
        bound = read_tolerance(tolerance)

        def sums(one: Attack, part: Prior) -> Floats:
            seen = one.outcomes(tolerance=bound)
            present, absent = np.exp(seen.log_present), np.exp(seen.log_absent)

            def right(p: Prior) -> list[Floats]:
                chosen = costs.says_present(p.log_odds + seen.log_ratio)
                return [(chosen * present).sum(1), ((1.0 - chosen) * absent).sum(1)]

            return _in_parts(part, present.size, right)

        plain = self.others.size == 1 and not self.nonnegative
        return self._each(prior, (lambda one, p: one._tails(p, costs)) if plain else sums, 2)

    def _tails(self, prior: Prior, costs: Costs) -> Floats:
        """The same from exact tails of the noise."""
        if not math.isfinite(costs.threshold):  # what is published does not matter
            always = costs.says_present(prior.log_odds)
            return np.stack([always, 1.0 - always])
        noise = DiscreteGaussian(Fraction(float(self._variance)))
        # "present" beyond, or below if reversed; no tie: the log of a fraction, if not 0, is no fraction
        edge = 0.5 + self._variance * (costs.threshold - prior.log_odds)
        if costs.is_reversed:
            last = np.ceil(edge).astype(np.int64) - 1
            return np.stack([noise.cdf(last - 1), noise.sf(last)])
        last = np.floor(edge).astype(np.int64)  # the last y - k at which the decision is "absent"
        return np.stack([noise.sf(last - 1), noise.cdf(last)])

    def _each(self, prior: Prior, compute: Callable[[Attack, Prior], Floats], outputs: int) -> Floats:
        """What `compute` gives for each distinct variance and known count, broadcast with the prior."""
        check_fit(variance=self._variance, known=self._known, prior=prior.present)
        # a known count shifts everything alike, unless negative values become zero
        known = self._known if self.nonnegative else np.zeros_like(self._known)
        v, k, p, q = np.broadcast_arrays(self._variance, known, prior.present, prior.absent)
        shape = v.shape
        v, k, p, q = (array.reshape(-1) for array in (v, k, p, q))
        found = np.empty((outputs, v.size))
        for (one, count), rows in rows_of_equal(v, k):
            attack = Attack(variance=one, known=int(count), others=self.others, nonnegative=self.nonnegative)
            found[:, rows] = compute(attack, Prior(p[rows], q[rows]))
        return found.reshape(outputs, *shape)


def zero_evidence(known: Floats, variance: Floats) -> Floats:
    """Return log P[noise <= -known - 1] - log P[noise <= -known], one for each pair of a 1-d array.

    >>> zero_evidence(np.array([0.0]), np.array([5.0])).round(6).tolist()   # log(0.411 / 0.589)
    [-0.360685]
    """
    result = np.empty(variance.size)
    for (v,), rows in rows_of_equal(variance):
        k, place = np.unique(known[rows], return_inverse=True)
        tails = np.log(tail_ratio(k + 1.0, v)) - np.log(tail_ratio(k, v))
        result[rows] = (tails - (k + 0.5) / v)[place]
    return result


def _given(given: str, prior: Prior, present: Floats, absent: Floats) -> Floats:
    """What holds given the truth asked for, or its average over the prior."""
    found = {"present": present, "absent": absent, "prior": prior.present * present + prior.absent * absent}
    if given not in found:
        raise InputError(f"given is {given!r}; it must be 'present', 'absent' or 'prior'")
    return np.asarray(found[given])


def _in_parts(prior: Prior, size: int, of: Callable[[Prior], list[Floats]]) -> Floats:
    """What is computed from the priors as columns, in parts that fit in memory against so many outcomes."""
    step = max(1, _BLOCK // max(size, 1))
    starts = range(0, prior.present.size, step)
    both = [(prior.present[i : i + step, None], prior.absent[i : i + step, None]) for i in starts]
    return np.concatenate([of(Prior(*columns)) for columns in both], axis=1)


def _log_mean(logs: Floats, weights: Floats) -> Floats:
    """log of the weighted sum of exponentials along the last axis."""
    used = weights > 0
    return log_sum(logs[..., used] + np.log(weights[used]), axis=-1)


# -- the same in one call -------------------------------------------------------------------------------


def _in_one_call(name: str, method: Callable[..., Answer]) -> Callable[..., Answer]:
    """A method of `Attack` as a function that also takes what an attack takes; arrays are broadcast."""
    _, *asked_of = inspect.signature(method).parameters.values()
    own = {one.name for one in asked_of}

    def function(*noisy: Numbers, **given: Any) -> Answer:
        if "noisy" in own and "known" not in given:
            raise TypeError(f"{name}() needs known=, the count without the target")
        asked = {key: given.pop(key) for key in own if key in given}
        return method(Attack(**given), *noisy, **asked)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = method.__doc__
    # readers and their editors see the arguments of both
    both = [*asked_of, *inspect.signature(Attack).parameters.values()]
    if "noisy" in own:
        both = [one.replace(default=inspect.Parameter.empty) if one.name == "known" else one for one in both]
    function.__signature__ = inspect.Signature(both, return_annotation=Answer)  # type: ignore[attr-defined]
    return function


posterior = _in_one_call("posterior", Attack.posterior)
ratio = _in_one_call("ratio", Attack.ratio)
log_odds = _in_one_call("log_odds", Attack.log_odds)
decide = _in_one_call("decide", Attack.decide)
expected_posterior = _in_one_call("expected_posterior", Attack.expected_posterior)
expected_ratio = _in_one_call("expected_ratio", Attack.expected_ratio)
decision_accuracy = _in_one_call("decision_accuracy", Attack.accuracy)
expected_loss = _in_one_call("expected_loss", Attack.expected_loss)


# -- several counts of the same person -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """One release of a sequence: what was believed before and after it."""

    noisy: int
    variance: float
    prior: float
    posterior: float
    ratio: float
    total_ratio: float

    def __str__(self) -> str:
        return f"{self.noisy}: from {self.prior:.4g} to {self.posterior:.4g}, {self.ratio:.4g} times"


def joint_posterior(noisy: Numbers, *, prior: Numbers, known: Numbers, **count: Unpack[Counted]) -> Answer:
    """Return the chance of "present" after several noisy counts; the last axis of `noisy` runs over them.

    `variance` (or `rho`) and `known` have one value for each count, or one for all.

    >>> round(joint_posterior([2, 1], variance=[5, 2], prior="1/2", known=[0, 0]), 4)   # block, block group
    0.6341
    """
    chance, _, evidence = _joint(noisy, prior, Attack(known=known, **count))
    return answer(chance.posterior(evidence.sum(axis=-1)))


def joint_ratio(noisy: Numbers, *, prior: Numbers, known: Numbers, **count: Unpack[Counted]) -> Answer:
    """Return the posterior after several noisy counts over the prior.

    >>> round(joint_ratio([2, 1], variance=[5, 2], prior="1/2", known=0), 4)
    1.2683
    """
    chance, _, evidence = _joint(noisy, prior, Attack(known=known, **count))
    return answer(chance.ratio(evidence.sum(axis=-1)))


def sequence(noisy: Numbers, *, prior: Number, known: Numbers, **count: Unpack[Counted]) -> tuple[Step, ...]:
    """Return what is believed after each of several releases: a posterior is the prior of the next.

    The ratios of the steps multiply to the ratio of all. Beliefs are carried as log odds, so that a posterior
    that is 1 as a float can still be shaken.

    >>> first, second = sequence([2, 1], variance=[5, 2], prior="1/2", known=0)
    >>> print(second)
    1: from 0.5744 to 0.6341, 1.104 times
    >>> abs(first.ratio * second.ratio - second.total_ratio) < 1e-15
    True
    """
    attack = Attack(known=known, **count)
    chance, values, evidence = _joint(noisy, prior, attack)
    if evidence.ndim != 1 or chance.present.ndim:
        raise InputError("a sequence is a list of noisy values and one prior")
    sums = np.concatenate([[0.0], np.cumsum(evidence)])
    beliefs, totals = chance.posterior(sums), chance.ratio(sums)
    # the ratio of two posteriors, by the prior in between so that 0/0 does not occur
    between = Prior(beliefs[:-1], Prior(chance.absent, chance.present).posterior(-sums[:-1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = between.ratio(evidence)
    values, v = (np.broadcast_to(x, evidence.shape) for x in (values, attack.variance))
    columns = (v, beliefs[:-1], beliefs[1:], steps, totals[1:])
    return tuple(Step(int(value), *map(float, row)) for value, *row in zip(values, *columns, strict=True))


def joint_accuracy(
    *,
    variance: Numbers = None,
    rho: Numbers = None,
    prior: Numbers,
    loss: LossTable = None,
    given: str = "prior",
) -> Answer:
    """Return the chance that the decision from several counts is right, averaged over the prior.

    The counts are listed in `variance`. The sum of their evidence is the privacy loss of the counts released
    together, whose exact tails the accountant has. `given` as in `decision_accuracy`.

    >>> one = joint_accuracy(rho=["0.099"], prior="1/2")
    >>> two = joint_accuracy(rho=["0.099", "0.099"], prior="1/2")
    >>> round(one, 4), round(two, 4)
    (0.5888, 0.6225)
    """
    costs, chance, v = Costs.read(loss), read_prior(prior), np.atleast_1d(read_variance(variance, rho))
    if v.ndim != 1 or not v.size:
        raise InputError("variance must be a list, one for each count")
    if not math.isfinite(costs.threshold) or costs.is_reversed:
        raise InputError("loss must make a wrong decision cost more than a right one, whatever the truth")
    events = [DiscreteGaussian(variance=Fraction(float(one)).limit_denominator(10**9)) for one in v]
    threshold = np.asarray(costs.threshold - chance.log_odds)
    even = np.abs(threshold) < TIE
    alpha, beta = compose(events).errors(threshold=np.atleast_1d(np.where(even, 0.0, threshold)))
    present, absent = (1.0 - np.asarray(error).reshape(threshold.shape) for error in (beta, alpha))
    # Evidence is a fraction, so only an even threshold, 0, can be met exactly. The evidence is as likely to
    # be l with the target as -l without: a coin for ties makes both chances alike.
    both = (present + absent) / 2.0
    present, absent = (np.where(even, both, right) for right in (present, absent))
    return answer(_given(given, chance, present, absent))


def _joint(noisy: Numbers, prior: Numbers, attack: Attack) -> tuple[Prior, Floats, Floats]:
    chance, y = read_prior(prior), read_whole(noisy)
    check_fit(noisy=y, known=np.asarray(attack.known), variance=np.asarray(attack.variance))
    evidence = attack.evidence(y)
    if evidence.ndim == 0:
        raise InputError("noisy is one value; several counts are a list of noisy values")
    check_fit(counts=evidence[..., 0], prior=chance.present)
    return chance, y, evidence


# -- the adversary's numbers, as they are given -------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """The chance of "present" and that of "absent", each to full precision."""

    present: Floats
    absent: Floats

    @property
    def log_odds(self) -> Floats:
        """log of present over absent."""
        return np.log(self.present) - np.log(self.absent)

    def posterior(self, evidence: Floats) -> Floats:
        """Return the chance of "present" after evidence: a log ratio of likelihoods."""
        rare = np.exp(-np.abs(evidence))
        for_present = self.present / (self.present + self.absent * rare)
        for_absent = self.present * rare / (self.present * rare + self.absent)
        return np.where(evidence >= 0, for_present, for_absent)

    def ratio(self, evidence: Floats) -> Floats:
        """Return the posterior over the prior."""
        rare = np.exp(-np.abs(evidence))
        for_present = 1.0 / (self.present + self.absent * rare)
        for_absent = rare / (self.present * rare + self.absent)
        return np.where(evidence >= 0, for_present, for_absent)


def read_prior(prior: Numbers, *, name: str = "prior") -> Prior:
    """Return the prior, one or many; its complement is taken before rounding.

    >>> read_prior("0.999999999999").absent
    array(1.e-12)
    >>> read_prior([0.5, 1])
    Traceback (most recent call last):
    discreet.errors.InputError: prior is 1; it must lie strictly between 0 and 1
    """
    one = partial(prior_of, name=name)
    read = _read(prior, name=name, one=one)
    if read.dtype == object:
        return Prior(read.astype(np.float64), np.asarray(1 - read, dtype=np.float64))
    for extreme in (read.min(initial=0.5), read.max(initial=0.5)):
        one(float(extreme))
    exact = read.astype(np.float64)
    return Prior(exact, 1.0 - exact)


def read_variance(
    variance: Numbers = None, rho: Numbers = None, *, of: str = "", most: float = VARIANCES[1]
) -> Floats:
    """Return the variance of the noise: as such, or from zCDP's rho with a record added or removed.

    >>> read_variance(rho="1/10"), read_variance(variance=[5, "5/2"])
    (array(5.), array([5. , 2.5]))
    >>> read_variance(variance="1/10000"), read_variance(rho=5000), read_variance(variance=1e-4)
    (array(0.0001), array(0.0001), array(0.0001))
    >>> read_variance(rho=-1)
    Traceback (most recent call last):
    discreet.errors.InputError: rho is -1; it must be above zero
    """
    if (variance is None) == (rho is None):
        found = "neither is given" if rho is None else "both are given"
        raise InputError(f"{found}: state the noise{of} by its variance, or by its rho, variance 1/(2 rho)")
    name = f"rho{of}" if variance is None else f"variance{of}"
    read = _read(rho if variance is None else variance, name=name, one=partial(fraction, name=name))
    if (read <= 0).any():
        raise InputError(f"{name} is {numbers.shown(read[read <= 0].flat[0])}; it must be above zero")
    variances = np.asarray(read if variance is not None else 1 / (2 * read))
    least = Fraction(str(VARIANCES[0])) if variances.dtype == object else VARIANCES[0]  # no float is 1/10000
    outside = np.asarray((variances < least) | (variances > most), dtype=bool)
    if outside.any():  # compared before they are floats, which end at 1e308
        wrong = variances[outside].flat[0]
        found = f"{float(wrong):g}" if 1e-300 < wrong < 1e300 else numbers.shown(wrong)
        raise InputError(
            f"the noise{of} has variance {found}; between {VARIANCES[0]:g} and {most:g} is allowed"
        )
    return variances.astype(np.float64)


def one_variance(variance: Number | None, rho: Number | None, *, of: str = "") -> Fraction:
    """Return the variance of one count's noise, exactly; up to 1e12.

    >>> one_variance(None, "0.1"), one_variance("5/2", None)
    (Fraction(5, 1), Fraction(5, 2))
    """
    exact = [None if given is None else one_number(given, name=f"noise{of}") for given in (variance, rho)]
    read_variance(*exact, of=of, most=1e12)
    return exact[0] if exact[1] is None else 1 / (2 * exact[1])  # type: ignore[return-value]


def one_number(given: Number, *, name: str) -> Fraction:
    """Return the one number, exactly; a list is refused rather than cut."""
    found = read(given, name=name).values
    if len(found) != 1:
        raise InputError(f"{name} is a list of {len(found)} numbers; one number is needed")
    return found[0]


def read_whole(values: Numbers, *, name: str = "noisy") -> Floats:
    """Return whole numbers as floats that hold them exactly.

    >>> read_whole([3, -10**9])
    array([ 3.e+00, -1.e+09])
    >>> read_whole(1.5)
    Traceback (most recent call last):
    discreet.errors.InputError: noisy is 1.5; it must be a whole number: the noise is added in whole numbers
    """
    read = _read(values, name=name, one=partial(fraction, name=name))
    whole = np.vectorize(math.floor, otypes=[object])(read) if read.dtype == object else np.floor(read)
    if (bad := np.asarray(read != whole)).any():
        raise InputError(
            f"{name} is {numbers.shown(read[bad].flat[0])}; it must be a whole number: "
            "the noise is added in whole numbers"
        )
    if (bad := np.asarray(np.abs(read) > LARGEST)).any():
        raise InputError(f"{name} is {numbers.shown(read[bad].flat[0])}; at most 2^52 in size is allowed")
    return read.astype(np.float64)


def read_known(known: Numbers) -> Floats:
    """Return the count that the adversary knows, without the target: zero or more.

    >>> read_known(-1)
    Traceback (most recent call last):
    discreet.errors.InputError: known is -1; a count without the target is zero or more
    """
    found = read_whole(known, name="known")
    if (found < 0).any():
        raise InputError(f"known is {found[found < 0].flat[0]:g}; a count without the target is zero or more")
    return found


def read_tolerance(tolerance: Number) -> float:
    """Return a bound on what is left out of a sum."""
    found = float(_read(tolerance, name="tolerance", one=partial(fraction, name="tolerance")))
    if not 1e-300 <= found < 1:
        raise InputError(f"tolerance is {found:g}; it must be at least 1e-300 and below 1")
    return found


def check_fit(**arrays: Floats) -> None:
    """Raise unless the arrays can be broadcast together.

    >>> check_fit(noisy=np.zeros(3), prior=np.zeros(2))
    Traceback (most recent call last):
    discreet.errors.InputError: noisy (3,), prior (2,): these shapes do not fit together
    """
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(f"{found}: these shapes do not fit together") from None


def log_sum(terms: Floats, axis: int | None = None) -> Floats:
    """Return log of the sum of exponentials, -inf where all are.

    >>> float(log_sum(np.log([0.5, 0.5]))), float(log_sum(np.array([-math.inf, -math.inf])))
    (0.0, -inf)
    """
    top = np.max(terms, axis=axis, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", under="ignore"):
        total = np.log(np.sum(np.exp(terms - safe), axis=axis, keepdims=True)) + safe
    return np.asarray(np.squeeze(total, axis=axis) if axis is not None else total.reshape(()))


def logistic(log_odds: Floats) -> Floats:
    """Return the chance that log odds stand for.

    >>> logistic(np.array([-800.0, 0.0, 800.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    with np.errstate(under="ignore"):
        rare = np.exp(-np.abs(log_odds))
        return np.asarray(np.where(log_odds >= 0, 1.0, rare) / (1.0 + rare))


def answer(values: Floats) -> Answer:
    """Return a plain float where one number was asked for, else the array."""
    return float(values) if values.ndim == 0 else values


def rows_of_equal(*columns: Floats) -> Iterator[tuple[tuple[float, ...], NDArray[np.intp] | slice]]:
    """Yield each distinct row of 1-d columns of one length, with the places that have it.

    >>> [(values, rows.tolist()) for values, rows in rows_of_equal(np.array([5.0, 2.0, 5.0]))]
    [((2.0,), [1]), ((5.0,), [0, 2])]
    """
    if all((column == column[:1]).all() for column in columns):
        if columns[0].size:
            yield tuple(float(column[0]) for column in columns), slice(None)
        return
    order = np.lexsort(columns[::-1])
    changes = np.any([np.diff(column[order]) != 0 for column in columns], axis=0)
    for rows in np.split(order, np.flatnonzero(changes) + 1):
        yield tuple(float(column[rows[0]]) for column in columns), rows


def _read(
    values: Numbers, *, name: str, one: Callable[[Number], Fraction]
) -> NDArray[np.float64] | NDArray[np.object_]:
    """An array of finite floats, or of exact fractions, each read by `one`."""
    if isinstance(values, Number) and not isinstance(values, float) and not isinstance(values, bool):
        array = np.array(values, dtype=object)
    else:
        try:
            array = np.asarray(values)
        except ValueError:
            raise InputError(f"{name} is a list of lists of different lengths") from None
    if array.dtype.kind in "iuf":
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(f"{name} has a value that is not a finite number")
        return array.astype(np.float64)
    if array.dtype.kind not in "OU":
        raise InputError(f"{name} is of type {array.dtype}; a number or a list of numbers is needed")
    exact = np.empty(array.shape, dtype=object)
    for place in np.ndindex(array.shape):
        value: Number = array.item(place)  # not NumPy's text, which an error would show
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{name} has a value that is not a finite number")
        exact[place] = one(Fraction(value) if isinstance(value, float) else value)
    return exact
