"""What a promise (epsilon, delta) means for one person, whatever the mechanism that keeps it.

Among all mechanisms that keep it one tells most: with probability delta it reveals the answer, otherwise it
says the truth with odds of e^epsilon to 1. Its trade-off curve,

    f(a) = max(0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)),

lies below that of every other, so that what any adversary gains on average is at most what they gain from it
(Blackwell): right decisions, the mean belief in a present target, detection, and guesses.

A belief after one outcome is another matter. If L is the loss with the target present, then for s > 0
delta >= E[(1 - e^(epsilon - L))+] >= (1 - e^-s) P[L > epsilon + s]; with s = log 2 the odds rise by more than
2 e^epsilon with probability 2 delta at most. Nothing bounds how far they rise then. With delta 0 they never
rise by more than e^epsilon.

All of this is about the two data sets that the promise compares. If they differ by one record more or less,
that is whether she is there. What her record says is then a change of two steps, out and in
again: (2 epsilon, (1 + e^epsilon) delta). If one record is replaced, it is what her record says, and that a
record is there is not hidden at all. A guess at her values compares with a guess without her record in either
case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from discreet.budget import Neighbours
from discreet.budget.claims import AnswerKind, Claim
from discreet.budget.events import Releasable
from discreet.budget.scope import Scope
from discreet.calls import understandable
from discreet.disclosure.everything import Detection, ReleaseRisk, predictive_value, risk
from discreet.disclosure.questions import DEFAULT_PRIOR
from discreet.errors import InputError
from discreet.faces import Displayed
from discreet.loss.values import Number, read, read_probabilities
from discreet.numbers import exact_text, one_or_more
from discreet.numbers import prior as read_prior
from discreet.questions import Option, repeated_option

RATES = ("1e-4", "1e-3", "1e-2", "1e-1")
"""How often an adversary may accuse wrongly, where nothing is said."""

GUESSES = ("1/1000", "1/100")
"""How often her values are guessed with nothing published, where nothing is said."""

LARGEST = 700
"""Of an epsilon: e^epsilon is a float."""


@dataclass(frozen=True, slots=True)
class PromisedRisk(Displayed):
    """The most that any adversary gains from a mechanism that keeps a promise, at one prior.

    `right`, `mean` and the detections are the largest of any mechanism with this promise, and are attained by
    one. `belief` is the posterior that odds of `factor` times the prior's lead to, 2 e^epsilon, or e^epsilon
    if delta is 0; it is exceeded with probability `chance` at most. `guesses` has the chance of a right guess
    without the data, and the bound with it. All are about whether she is there if `neighbours` are unbounded,
    and `value` is then the same of what her record says; if they are bounded, they are about that.
    """

    neighbours: Neighbours
    epsilon: Fraction
    delta: Fraction
    prior: Fraction
    value: PromisedRisk | None
    right: float
    mean: float
    belief: float
    chance: float
    detections: tuple[Detection, ...]
    guesses: tuple[tuple[float, float], ...]
    claim: Claim

    @property
    def baseline(self) -> float:
        """How often the likelier answer is right with nothing published."""
        return float(max(self.prior, 1 - self.prior))

    @property
    def factor(self) -> float:
        """By how much the odds rise at most, but for rare outcomes."""
        return (2.0 if self.delta else 1.0) * math.exp(float(self.epsilon))


@understandable
def promised_risk(
    *,
    epsilon: Annotated[Number, Option("The epsilon of the promise.", "E", reads=str)],
    delta: Annotated[Number, Option("The delta of the promise, such as 1e-6; 0 is allowed.", "D", reads=str)],
    prior: Annotated[
        Number, Option("The adversary's chance that the target is present; default 1/2.", "P", reads=str)
    ] = DEFAULT_PRIOR,
    neighbours: Annotated[
        Neighbours,
        Option(
            "What the promise compares. unbounded (default): one record more or less; bounded: another "
            "in its place.",
            "bounded|unbounded",
        ),
    ] = "unbounded",
    false_positive_rates: Annotated[
        Sequence[Number],
        repeated_option(
            "How often an adversary may accuse wrongly; may be repeated.", "A", "false-positive-rate"
        ),
    ] = RATES,
    guess: Annotated[
        Sequence[Number],
        repeated_option(
            "How often her values are guessed with nothing published; may be repeated.", "B", "guess"
        ),
    ] = GUESSES,
) -> PromisedRisk:
    """Return what (epsilon, delta) means for one person who is in the data with this prior probability.

    The promise compares data with one record more or less (`unbounded`) or another in its place (`bounded`).
    Then the prior is that of what her record says.

    >>> promised = promised_risk(epsilon=4, delta="1e-6", prior="1/100")
    >>> round(promised.mean, 4), round(promised.right, 4), round(promised.detections[1].true_positive_rate, 4)
    (0.3491, 0.99, 0.0546)
    """
    if neighbours not in ("bounded", "unbounded"):
        raise InputError(f"neighbours is {neighbours!r}; it must be bounded or unbounded")
    (height,) = read(epsilon, name="epsilon").values
    if not 0 <= height <= LARGEST:
        raise InputError(f"epsilon is {float(height):g}; it must lie between 0 and {LARGEST}")
    (small,) = read_probabilities(delta, name="delta", zero=True).values
    p = read_prior(prior)
    rates = read_probabilities(one_or_more(false_positive_rates), name="a false-positive rate").values
    befores = read_probabilities(one_or_more(guess), name="a chance to guess").values
    said = f"the promise of epsilon {exact_text(height)} and delta {exact_text(small)}"
    claim = Claim(Scope.whole(said, unit="person", neighbours=neighbours), AnswerKind.BOUND)
    detections = []
    for rate in rates:
        true = true_positive_rate(float(height), float(small), float(rate))
        share = predictive_value(float(p), true, float(rate))
        detections.append(Detection(float(rate), true, ((float(p), share),), None, claim))
    raised = float(height) + (math.log(2) if small else 0.0)
    value = None
    if neighbours == "unbounded":
        twice = min(2 * height, Fraction(LARGEST))
        more = small * (1 + Fraction(math.exp(float(height)) * (1 + 1e-15))) if small else small
        value = promised_risk(
            epsilon=twice,
            delta=min(more, 1 - Fraction(1, 2**60)),
            prior=p,
            neighbours="bounded",
            false_positive_rates=false_positive_rates,
            guess=guess,
        )
    return PromisedRisk(
        neighbours,
        height,
        small,
        p,
        value,
        _right(float(height), float(small), float(p)),
        _mean(float(height), float(small), float(p)),
        _posterior(raised, float(p)),
        min(1.0, 2 * float(small)),
        tuple(detections),
        tuple((float(b), true_positive_rate(float(height), float(small), float(b))) for b in befores),
        claim,
    )


@understandable
def explain(
    release: Releasable | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    prior: Number = DEFAULT_PRIOR,
    neighbours: Neighbours | None = None,
    false_positive_rates: Sequence[Number] | None = None,
    guess: Sequence[Number] | None = None,
) -> ReleaseRisk | PromisedRisk:
    """Say how risky a release is for one person, or whatever keeps a promise, as `discreet explain` does.

    `risk` answers more about releases.

    >>> print(explain("pl94-2020-units").profile.overall[0].accuracy > 0.5)
    True
    >>> round(explain(epsilon=4, delta="1e-6").right, 4)
    0.982
    """
    of_a_promise = (epsilon, delta, false_positive_rates, guess)
    if release is not None:
        if any(value is not None for value in of_a_promise):
            raise InputError("give a release, or the epsilon and delta of a promise, and not both")
        return risk(release, prior=prior, neighbours=neighbours)
    if epsilon is None or delta is None:
        raise InputError(
            'give a release or a promise: type explain("dhc-2020") or explain(epsilon=1, delta=1e-6)'
        )
    return promised_risk(
        epsilon=epsilon,
        delta=delta,
        prior=prior,
        neighbours=neighbours or "unbounded",
        false_positive_rates=RATES if false_positive_rates is None else false_positive_rates,
        guess=GUESSES if guess is None else guess,
    )


def true_positive_rate(epsilon: float, delta: float, rate: float) -> float:
    """Return the largest chance to find a present target at a rate of wrong accusations.

    >>> true_positive_rate(0.0, 0.25, 0.5), round(true_positive_rate(1.0, 0.0, 0.5), 4)
    (0.75, 0.8161)
    """
    rising = delta + math.exp(epsilon) * rate
    falling = 1.0 - math.exp(-epsilon) * max(1.0 - delta - rate, 0.0)
    return min(rising, falling, 1.0)


def _posterior(loss: float, p: float) -> float:
    """The belief that a loss leads to."""
    return 1.0 / (1.0 + math.exp(min(-loss, LARGEST)) * (1.0 - p) / p)


def _right(epsilon: float, delta: float, p: float) -> float:
    """The best accuracy averaged over the prior: 1 - q + q delta(log((1 - q) / q))."""
    less = min(p, 1.0 - p)
    threshold = math.log((1.0 - less) / less)
    # the profile of the mechanism that tells most
    gain = max(-math.expm1(threshold - epsilon), 0.0) / (1.0 + math.exp(-epsilon))
    return min(1.0 - less + less * (delta + (1.0 - delta) * gain), 1.0)


def _mean(epsilon: float, delta: float, p: float) -> float:
    """The mean posterior of a target who is present."""
    up = 1.0 / (1.0 + math.exp(-epsilon))
    return delta + (1.0 - delta) * (up * _posterior(epsilon, p) + (1.0 - up) * _posterior(-epsilon, p))
