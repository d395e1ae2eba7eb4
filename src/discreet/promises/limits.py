"""Limits on risk: conditions on the curves of an account, and what is proved of them.

Each limit is a condition on one curve of the whole release:

    predictive value at most v at prior p and false-positive rate a    f(a) >= 1 - v (1 - p) a / (p (1 - v))
    a guess that succeeds with b at most m                              f0(b) >= 1 - m, nobody in the place
    right at most r at prior p                                          delta(t) <= (r - 1 + q) / q
    a posterior above y with probability c at most, from prior p        P[L > l] <= c

with q = min(p, 1 - p), t = log((1 - q) / q) and l the log odds of y less those of p. The posterior itself has
no limit with Gaussian noise: some outcome exceeds every value below one.

*Proof.* All of it follows from certified deltas. For every l, f(a) >= 1 - delta(l) - e^l a; the l of the
supporting line makes it an equality, and one delta of all cases is enough. As delta is convex in u = e^l,
with slope -P0[L > l], for u' < u also P[L > l] <= (u delta(l') - u' delta(l)) / (u - u') in each case, which
takes two deltas of every case: with many of them a limit on beliefs is computed, not proved. There l' is
a thousandth below l, which may cost some thousandths of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.accounting.account import Account, account
from discreet.accounting.privacy_loss import compose
from discreet.budget.neighbours import CaseLabel, Neighbours
from discreet.budget.release import Release
from discreet.errors import InputError
from discreet.numbers import fraction, shown
from discreet.numbers import prior as read_prior

Kind = Literal["predictive", "guess", "right", "belief"]

KEYS: dict[str, tuple[str, ...]] = {
    "predictive": ("prior", "false-positive-rate"),
    "guess": ("most",),
    "right": ("prior",),
    "belief": ("prior", "chance"),
}
"""What each kind of limit needs beside its own number."""

_DIGITS = 7
_APART = Fraction(1, 1000)
_PROVED_CASES = 300  # some hundredths of a second each, a few of them seconds


@dataclass(frozen=True, slots=True)
class RiskLimit:
    """One limit: `most` is what the risk may be, the others say of what.

    >>> limit = RiskLimit.read("predictive=20%,prior=1/100,false-positive-rate=1e-3")
    >>> limit.kind, limit.most, limit.prior
    ('predictive', Fraction(1, 5), Fraction(1, 100))
    >>> RiskLimit.read("belief=0.7,prior=1/10")
    Traceback (most recent call last):
    discreet.errors.InputError: a bound on the posterior itself cannot be had: with Gaussian noise some \
outcome exceeds every value below one. Say how often it may be exceeded: belief=0.7,prior=1/10,chance=1/20
    """

    kind: Kind
    most: Fraction
    prior: Fraction | None = None
    rate: Fraction | None = None
    """The false-positive rate, the chance of a guess without the data, or the belief."""

    @classmethod
    def read(cls, text: str | RiskLimit) -> RiskLimit:
        """Read key=value pairs; the first names the kind."""
        if isinstance(text, RiskLimit):
            return text
        stated = dict(_pair(part, text) for part in text.split(","))
        kind = next(iter(stated))
        if kind not in KEYS:
            raise InputError(f"a limit on risk is {shown(text)}; it begins with {', '.join(KEYS)}")
        if kind == "belief" and "chance" not in stated and "prior" in stated:
            raise InputError(
                "a bound on the posterior itself cannot be had: with Gaussian noise some outcome exceeds "
                f"every value below one. Say how often it may be exceeded: {text},chance=1/20"
            )
        needed = (kind, *KEYS[kind])
        if set(stated) != set(needed):
            raise InputError(
                f"a limit on risk is {shown(text)}; {kind} needs {', '.join(f'{key}=' for key in needed)}"
            )
        values = {key: _read_share(value, f"{key} of a limit on risk") for key, value in stated.items()}
        prior = read_prior(values["prior"]) if "prior" in values else None
        own = values[kind]
        made = {
            "predictive": lambda: cls("predictive", own, prior, values["false-positive-rate"]),
            "guess": lambda: cls("guess", values["most"], None, own),
            "right": lambda: cls("right", own, prior),
            "belief": lambda: cls("belief", values["chance"], prior, own),
        }[kind]()
        made._check()
        return made

    def _check(self) -> None:
        """Refuse what holds for no noise whatever."""
        told = {"predictive": self.prior, "guess": self.rate, "belief": None}.get(self.kind)
        if self.kind == "right":
            assert self.prior is not None
            told = max(self.prior, 1 - self.prior)
        if told is not None and self.most <= told:
            raise InputError(
                f"a limit on risk is {self.kind} at most {float(self.most):g}, but with nothing published it "
                f"is {float(told):g}; no noise lowers it"
            )
        if self.kind == "belief":
            assert self.prior is not None
            assert self.rate is not None
            if self.rate <= self.prior:
                raise InputError(
                    f"a limit on risk is about beliefs above {float(self.rate):g}, which is not above the "
                    f"prior {float(self.prior):g}"
                )

    @property
    def is_saw(self) -> bool:
        """Whether more noise in whole numbers may raise the risk: for all but right decisions at even odds.

        >>> [RiskLimit.read(f"right=95%,prior={prior}").is_saw for prior in ("1/2", "1/10")]
        [False, True]
        """
        return self.kind != "right" or self.prior != Fraction(1, 2)

    @property
    def threshold(self) -> Fraction:
        """The loss at which the profile, or the tail, tells the risk."""
        assert self.prior is not None
        odds = math.log((1 - self.prior) / self.prior)
        if self.kind == "belief":
            assert self.rate is not None
            return Fraction(odds - math.log((1 - self.rate) / self.rate))
        return Fraction(abs(odds))

    def risk(self, told: float) -> float:
        """Return the risk from what the curve tells: 1 - f, delta or the tail."""
        if self.kind == "predictive":
            assert self.prior is not None
            assert self.rate is not None
            hit, false = float(self.prior) * told, float((1 - self.prior) * self.rate)
            return hit / (hit + false)
        if self.kind == "right":
            assert self.prior is not None
            less = float(min(self.prior, 1 - self.prior))
            return 1.0 - less + less * told
        return told

    @property
    def room(self) -> float:
        """The most that the curve may tell: 1 - f, delta or the tail."""
        if self.kind == "predictive":
            assert self.prior is not None
            assert self.rate is not None
            return float(self.most * (1 - self.prior) * self.rate / (self.prior * (1 - self.most)))
        if self.kind == "right":
            assert self.prior is not None
            less = min(self.prior, 1 - self.prior)
            return float((self.most - 1 + less) / less)
        return float(self.most)


@dataclass(frozen=True, slots=True)
class KeptLimit:
    """A limit, the exact risk of the new release, its proved upper bound, and the case that decides it.

    `proved` is None where a proof would need two certified deltas of each of too many cases, or where noise
    has too many losses to list.
    """

    limit: RiskLimit
    risk: float
    proved: float | None
    before: float
    case: CaseLabel

    @property
    def is_refuted(self) -> bool:
        """Whether the proof gives more than the limit allows."""
        return self.proved is not None and self.proved > float(self.limit.most)


def read_limits(risk: Sequence[str | RiskLimit]) -> list[RiskLimit]:
    """Read limits, at least one; all that is wrong is said at once.

    >>> [limit.kind for limit in read_limits(["right=60%,prior=1/2", "guess=1/2016,most=5%"])]
    ['right', 'guess']
    """
    if isinstance(risk, str) or not risk:
        raise InputError("no list of limits on risk is given; one is right=60%,prior=1/2")
    limits, wrong = list[RiskLimit](), list[str]()
    for given in risk:
        try:
            limits.append(RiskLimit.read(given))
        except InputError as error:
            wrong.append(str(error))
    if len(wrong) > 1:
        listed = ";\n".join(f"  {number}. {text}" for number, text in enumerate(wrong, 1))
        raise InputError(f"{len(wrong)} limits on risk cannot be used:\n{listed}")
    if wrong:
        raise InputError(wrong[0])
    return limits


def limited_account(release: Release, relation: Neighbours, limit: RiskLimit) -> Account:
    """Return the account that a limit is about: a guess is compared with nobody in the place."""
    return account(release, neighbours="unbounded" if limit.kind == "guess" else relation)


def told_of_all(whole: Account, limit: RiskLimit) -> tuple[float, CaseLabel]:
    """Return what the curve of all cases tells (1 - f, delta or a tail), and the case that decides it.

    >>> from discreet.budget import load
    >>> limit = RiskLimit.read("right=60%,prior=1/2")
    >>> told, case = told_of_all(account(load("pl94-2020-units")), limit)
    >>> round(limit.risk(told), 4), case
    (0.5767, (1, 1))
    """
    if limit.kind == "right":
        (point,) = whole.at_epsilon([limit.threshold])
        return point.delta, point.worst
    if limit.kind == "belief":
        _, beta = whole.errors(threshold=[limit.threshold])
        worst = int(np.argmin(beta[:, 0]))
        return 1.0 - float(beta[worst, 0]), whole.label(worst)
    assert limit.rate is not None
    least, near = whole.case_set.least_error(limit.rate)
    return 1.0 - least, near


def largest_part(release: Release, relation: Neighbours, limits: Sequence[RiskLimit]) -> float:
    """Return the largest part of its room that a limit takes: above 1 some limit is not kept.

    >>> from discreet.budget import load
    >>> round(largest_part(load("pl94-2020-units"), "bounded", read_limits(["right=60%,prior=1/2"])), 4)
    0.7675
    """
    return max(
        told_of_all(limited_account(release, relation, limit), limit)[0] / limit.room for limit in limits
    )


def proved_limits(
    release: Release,
    relation: Neighbours,
    limits: Sequence[RiskLimit],
    before: Sequence[float],
    *,
    jobs: int = 1,
    certify: bool = True,
) -> tuple[KeptLimit, ...]:
    """Return the limits with what is proved of each; the first that is refuted is the last of them.

    `before` are the risks of the noise before.
    """
    kept = []
    for limit, old in zip(limits, before, strict=True):
        whole = limited_account(release, relation, limit).with_workers(jobs)
        told, label = told_of_all(whole, limit)
        proved = _upper(whole, limit, label) if certify and whole.case_set.is_provable else None
        bound = None if proved is None else limit.risk(proved)
        kept.append(KeptLimit(limit, limit.risk(told), bound, old, label))
        if kept[-1].is_refuted:
            break
    return tuple(kept)


def _pair(part: str, text: str) -> tuple[str, str]:
    key, sign, value = (word.strip() for word in part.partition("="))
    if not sign or not value:
        raise InputError(f"a limit on risk is {shown(text)}; it is written as right=60%,prior=1/2")
    return key.lower().replace("_", "-"), value


def _read_share(text: str, name: str) -> Fraction:
    value = fraction(text.removesuffix("%").strip(), name=name) / (100 if text.endswith("%") else 1)
    if not 0 < value < 1:
        raise InputError(f"{name} is {text}; it must lie between 0 and 1, or between 0 % and 100 %")
    return value


def _upper(whole: Account, limit: RiskLimit, worst: CaseLabel) -> float | None:
    """A proved upper bound on what the curve tells, from certified deltas."""
    if limit.kind == "belief":
        return _upper_tail(whole, limit, worst)
    if limit.kind == "right":
        box = whole.delta(epsilon=limit.threshold, certified=True, digits=_DIGITS)
        return float(box.upper) * (1 + 1e-15)
    assert limit.rate is not None
    threshold = whole.case_set.threshold(limit.rate, worst)
    at = Fraction(math.floor(threshold * 2**40), 2**40)
    box = whole.delta(epsilon=at, certified=True, digits=_DIGITS)
    return (float(box.upper) + math.exp(at) * float(limit.rate)) * (1 + 1e-15)


def _upper_tail(whole: Account, limit: RiskLimit, likely: CaseLabel) -> float | None:
    """A proved upper bound on P[L > l] of every case; as soon as one exceeds the limit, that one."""
    different = dict.fromkeys(events for _, events in whole.cases)
    if len(different) > _PROVED_CASES:
        return None
    at = limit.threshold
    u, v = (Fraction(math.exp(point)) for point in (at, at - _APART))
    first = whole.events(likely)
    worst = 0.0
    for events in sorted(different, key=lambda case: case != first):  # what may fail comes first
        loss = compose(events)
        near, here = (
            loss.delta(epsilon=point, certified=True, digits=_DIGITS) for point in (at - _APART, at)
        )
        bound = (u * near.upper - v * here.lower) / (u - v)
        worst = max(worst, float(bound) * (1 + 1e-11))  # the rounding of the exponentials
        if worst > limit.room:
            break
    return worst
