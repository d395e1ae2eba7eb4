"""One noisy count: what the adversary believes after seeing it, decides, and how often that is right.

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
even. A coin decides ties, as `discreet.disclosure.decisions` says.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from discreet.disclosure.decisions import Costs, LossTable
from discreet.disclosure.inputs import (
    FloatOrArray,
    Numbers,
    as_asked,
    check_fit,
    read_known,
    read_prior,
    read_tolerance,
    read_variance,
    read_whole,
)
from discreet.disclosure.odds import Floats, Prior, log_sum
from discreet.errors import InputError
from discreet.loss.values import Number
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.gaussian_tail import tail_ratio

Truth = Literal["present", "absent"]


class Counted(TypedDict, total=False):
    """What is said of counts beside what is known, as `Attack` takes it."""

    variance: Numbers
    rho: Numbers
    others: Numbers
    nonnegative: bool


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
    counted = read_prior(chances, name="chance")
    if people is not None:
        if counted.present.ndim or isinstance(people, bool) or not isinstance(people, int) or people < 1:
            raise InputError(f"people is {people!r}; with one chance, a whole number from 1 on is needed")
        if people > MOST_OTHERS:
            raise InputError(f"people is {people}; at most {MOST_OTHERS} may be uncertain")
        mode = min(math.floor((people + 1) * float(counted.present)), people)
        down, up = np.arange(mode, 0, -1.0), np.arange(mode + 1.0, people + 1.0)
        odds = counted.present / counted.absent
        # from the mode outwards: the chances near it are right to the last digit, and alike if the law is
        below = np.cumprod(down / (people + 1 - down) / odds)[::-1]
        shape = np.concatenate([below, [1.0], np.cumprod((people + 1 - up) / up * odds)])
        return np.asarray(shape / shape.sum())
    present, absent = np.atleast_1d(counted.present), np.atleast_1d(counted.absent)
    if present.ndim != 1 or not 1 <= present.size <= MOST_OTHERS:
        raise InputError(
            f"chances is a table of shape {present.shape}; a list of 1 to {MOST_OTHERS} is needed"
        )
    law = np.ones(1)
    for p, q in zip(present, absent, strict=True):  # all terms positive: no digits are lost
        law = np.append(law * q, 0.0) + np.append(0.0, law * p)
    return law


def _read_others(law: Numbers) -> Floats:
    chances = np.asarray(law, dtype=np.float64)
    if chances.ndim != 1 or not 1 <= chances.size <= MOST_OTHERS + 1 or not np.isfinite(chances).all():
        most = MOST_OTHERS + 1
        raise InputError(f"others must be a list of 1 to {most} chances, of 0, 1, 2, ... other people")
    if (chances < 0).any():
        raise InputError(f"a chance of other people is {chances.min():g}; it must not be negative")
    if abs(chances.sum() - 1) > 1e-12:
        raise InputError(
            f"the chances of 0 to {chances.size - 1} other people add up to {chances.sum():.12g}; "
            "they must add up to 1"
        )
    return chances


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
    def variance(self) -> FloatOrArray:
        """The variance of the noise."""
        return as_asked(self._variance)

    @property
    def known(self) -> FloatOrArray:
        """The count known without the target."""
        return as_asked(self._known)

    def log_ratio(self, noisy: Numbers) -> FloatOrArray:
        """Return log P[noisy | present] - log P[noisy | absent].

        >>> Attack(variance=5).log_ratio([0, 1]).tolist()
        [-0.1, 0.1]
        """
        return as_asked(self.evidence(read_whole(noisy)))

    def log_odds(self, noisy: Numbers, *, prior: Numbers) -> FloatOrArray:
        """Return log(posterior / (1 - posterior)), which still tells values apart where the posterior is 1.

        >>> log_odds(10**9, variance=1, prior="1/2", known=0)
        999999999.5
        """
        chance, evidence = self._seen(noisy, prior)
        return as_asked(np.asarray(chance.log_odds + evidence))

    def posterior(self, noisy: Numbers, *, prior: Numbers) -> FloatOrArray:
        """Return the chance of "present" after the noisy value: a float, or an array by NumPy's broadcasting.

        Relative error: a few 1e-16 times the size of the log odds' two terms.

        >>> round(posterior(1, rho="0.099", prior="1/2", known=0), 3)
        0.525
        >>> posterior([-(10**9), 10**9], variance="1/2000", prior=[0.25, 0.75], known=4).tolist()
        [0.0, 1.0]
        """
        chance, evidence = self._seen(noisy, prior)
        return as_asked(chance.posterior(evidence))

    def ratio(self, noisy: Numbers, *, prior: Numbers) -> FloatOrArray:
        """Return the posterior over the prior, R'(y): how many times likelier the release has made "present".

        >>> ratio(1, rho="0.099", prior=["1/2", "1/864"], known=0).round(4).tolist()
        [1.0495, 1.1039]
        """
        chance, evidence = self._seen(noisy, prior)
        return as_asked(chance.ratio(evidence))

    def decide(self, noisy: Numbers, *, prior: Numbers, loss: LossTable = None) -> FloatOrArray:
        """Return the chance of the decision "present": 1 where its expected loss is smaller, 0 where larger.

        Where both decisions cost the same, a coin decides: 1/2.

        >>> decide([0, 1, 2], rho="0.099", prior="1/2", known=0).tolist()
        [0.0, 1.0, 1.0]
        """
        return as_asked(Costs.read(loss).says_present(np.asarray(self.log_odds(noisy, prior=prior))))

    def expected_ratio(
        self, *, prior: Numbers, given: Truth = "present", tolerance: Number = TOLERANCE
    ) -> FloatOrArray:
        """Return R, the mean of the ratio over what may be published, given the truth.

        The terms left out add up to less than `tolerance`.

        >>> expected_ratio(rho="0.099", prior=["1/2", "1/5", "1/10", "1/50", "1/864"]).round(2).tolist()
        [1.05, 1.13, 1.17, 1.21, 1.22]
        """
        return as_asked(self._mean_ratios(read_prior(prior), given, tolerance))

    def expected_posterior(
        self, *, prior: Numbers, given: Truth = "present", tolerance: Number = TOLERANCE
    ) -> FloatOrArray:
        """Return the mean of the posterior over what may be published, given the truth.

        The terms left out add up to less than `tolerance` times the prior.

        >>> [round(expected_posterior(rho="0.099", prior="1/2", given=x), 4) for x in ("present", "absent")]
        [0.5236, 0.4764]
        """
        chance = read_prior(prior)
        return as_asked(np.asarray(chance.present * self._mean_ratios(chance, given, tolerance)))

    def accuracy(
        self, *, prior: Numbers, loss: LossTable = None, given: str = "prior", tolerance: Number = TOLERANCE
    ) -> FloatOrArray:
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
        return as_asked(given_truth(given, chance, *self._rights(chance, Costs.read(loss), tolerance)))

    def expected_loss(
        self, *, prior: Numbers, loss: LossTable = None, given: str = "prior", tolerance: Number = TOLERANCE
    ) -> FloatOrArray:
        """Return what the decision costs on average, over the noise and by default over the prior.

        >>> round(expected_loss(variance=10, prior="1/2", loss=[[0, 1], [2, 0]]), 4)
        0.4989
        """
        costs, chance = Costs.read(loss), read_prior(prior)
        present, absent = self._rights(chance, costs, tolerance)
        if_present = costs.present[1] * present + costs.present[0] * (1.0 - present)
        if_absent = costs.absent[0] * absent + costs.absent[1] * (1.0 - absent)
        return as_asked(given_truth(given, chance, if_present, if_absent))

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
        noise = DiscreteGaussian(variance=Fraction(variance))
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
        log_ratios = np.asarray((distance - 0.5) / v) if m == 1 else self._mixed_evidence(distance)
        if not self.nonnegative:
            return log_ratios
        if (noisy < 0).any():
            raise InputError(
                f"noisy is {noisy.min():g}, but negative values are said to be published as zero"
            )
        y, k, v = np.broadcast_arrays(noisy, self._known, v)
        zero = y == 0
        if zero.any():
            log_ratios = np.array(np.broadcast_to(log_ratios, y.shape))
            log_ratios[zero] = self._zero_evidence() if m > 1 else zero_evidence(k[zero], v[zero])
        return log_ratios

    def _mixed_evidence(self, distance: Floats) -> Floats:
        parts, b = [], np.arange(self.others.size + 1, dtype=np.float64)
        for part in np.array_split(distance.reshape(-1, 1), 1 + distance.size * self.others.size // _BLOCK):
            # -(d - b)^2 / (2v) less that of the nearest b: what is large cancels and would swamp the rest
            near = np.clip(np.rint(part), 0.0, b[-1])
            logs = (b - near) * (part - (b + near) / 2.0) / self._variance
            parts.append(_log_mean(logs[:, 1:], self.others) - _log_mean(logs[:, :-1], self.others))
        return np.concatenate(parts).reshape(distance.shape)

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

        def means(attack: Attack, part: Prior) -> Floats:
            seen = attack.outcomes(tolerance=bound, smallest=float(part.present.min(initial=1.0)))
            weights = np.exp(seen.log_present if given == "present" else seen.log_absent)
            return _in_parts(part, weights.size, lambda p: [p.ratio(seen.log_ratio) @ weights])

        return np.asarray(self._each(prior, means, 1)[0])

    def _rights(self, prior: Prior, costs: Costs, tolerance: Number) -> Floats:
        """The chances of a right decision, given "present" and given "absent"."""
        bound = read_tolerance(tolerance)

        def sums(attack: Attack, part: Prior) -> Floats:
            seen = attack.outcomes(tolerance=bound)
            present, absent = np.exp(seen.log_present), np.exp(seen.log_absent)

            def right(p: Prior) -> list[Floats]:
                chosen = costs.says_present(p.log_odds + seen.log_ratio)
                return [(chosen * present).sum(1), ((1.0 - chosen) * absent).sum(1)]

            return _in_parts(part, present.size, right)

        plain = self.others.size == 1 and not self.nonnegative
        return self._each(prior, (lambda attack, p: attack._tails(p, costs)) if plain else sums, 2)

    def _tails(self, prior: Prior, costs: Costs) -> Floats:
        """The same from exact tails of the noise."""
        if not math.isfinite(costs.threshold):  # what is published does not matter
            always = costs.says_present(prior.log_odds)
            return np.stack([always, 1.0 - always])
        noise = DiscreteGaussian(variance=Fraction(float(self._variance)))
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
        by_output = np.empty((outputs, v.size))
        for (variance, count), rows in rows_of_equal(v, k):
            attack = Attack(
                variance=variance, known=int(count), others=self.others, nonnegative=self.nonnegative
            )
            by_output[:, rows] = compute(attack, Prior(p[rows], q[rows]))
        return by_output.reshape(outputs, *shape)


def zero_evidence(known: Floats, variance: Floats) -> Floats:
    """Return log P[noise <= -known - 1] - log P[noise <= -known], one for each pair of a 1-d array.

    >>> zero_evidence(np.array([0.0]), np.array([5.0])).round(6).tolist()   # log(0.411 / 0.589)
    [-0.360685]
    """
    result = np.empty(variance.size)
    for (v,), rows in rows_of_equal(variance):
        k, inverse = np.unique(known[rows], return_inverse=True)
        tails = np.log(tail_ratio(k + 1.0, v)) - np.log(tail_ratio(k, v))
        result[rows] = (tails - (k + 0.5) / v)[inverse]
    return result


def given_truth(given: str, prior: Prior, present: Floats, absent: Floats) -> Floats:
    """Return what holds given the truth asked for, or its average over the prior."""
    by_truth = {
        "present": present,
        "absent": absent,
        "prior": prior.present * present + prior.absent * absent,
    }
    if given not in by_truth:
        raise InputError(f"given is {given!r}; it must be 'present', 'absent' or 'prior'")
    return np.asarray(by_truth[given])


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


def _in_one_call(name: str, method: Callable[..., FloatOrArray]) -> Callable[..., FloatOrArray]:
    """A method of `Attack` as a function that also takes what an attack takes; arrays are broadcast."""
    _, *asked_of = inspect.signature(method).parameters.values()
    own = {parameter.name for parameter in asked_of}

    def function(*noisy: Numbers, **given: Any) -> FloatOrArray:
        if "noisy" in own and "known" not in given:
            raise TypeError(f"{name}() needs known=, the count without the target")
        asked = {key: given.pop(key) for key in own if key in given}
        return method(Attack(**given), *noisy, **asked)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = method.__doc__
    # readers and their editors see the arguments of both
    both = [*asked_of, *inspect.signature(Attack).parameters.values()]
    if "noisy" in own:
        both = [
            parameter.replace(default=inspect.Parameter.empty) if parameter.name == "known" else parameter
            for parameter in both
        ]
    function.__signature__ = inspect.Signature(both, return_annotation=FloatOrArray)  # type: ignore[attr-defined]
    return function


posterior = _in_one_call("posterior", Attack.posterior)
ratio = _in_one_call("ratio", Attack.ratio)
log_odds = _in_one_call("log_odds", Attack.log_odds)
decide = _in_one_call("decide", Attack.decide)
expected_posterior = _in_one_call("expected_posterior", Attack.expected_posterior)
expected_ratio = _in_one_call("expected_ratio", Attack.expected_ratio)
decision_accuracy = _in_one_call("decision_accuracy", Attack.accuracy)
expected_loss = _in_one_call("expected_loss", Attack.expected_loss)


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
