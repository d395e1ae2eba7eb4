"""Noise from risk: the least noise with which everything published keeps limits on what an adversary gains.

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
takes two deltas of every case: with many cases a limit on beliefs is computed, not proved. There l' is a
thousandth below l, which may cost some thousandths of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.accounting.calibration import LevelChange, bounds, changes, named, rounded_up
from discreet.accounting.overall import Account, account
from discreet.accounting.parallel import Progress
from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.accounting.tradeoff import envelope
from discreet.accounting.values import Number, read_probabilities
from discreet.budget.neighbours import CaseLabel, Neighbours
from discreet.budget.release import Release
from discreet.errors import InputError, PrecisionError
from discreet.faces import Displayed
from discreet.numbers import fraction, shown
from discreet.numbers import prior as read_prior
from discreet.risk.beliefs import loss_tails

Kind = Literal["predictive", "guess", "right", "belief"]

KEYS: dict[str, tuple[str, ...]] = {
    "predictive": ("prior", "false-positive-rate"),
    "guess": ("most",),
    "right": ("prior",),
    "belief": ("prior", "chance"),
}
"""What each kind of limit needs beside its own number."""

_TOLERANCE = 1e-7
_DIGITS = 7
_APART = Fraction(1, 1000)
_PROVED_CASES = 64
_STEP = 2e-5  # of the factor, where a proof needs a little more room


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
        found = dict(_pair(part, text) for part in text.split(","))
        kind = next(iter(found))
        if kind not in KEYS:
            raise InputError(f"a limit on risk is {shown(text)}; it begins with {', '.join(KEYS)}")
        if kind == "belief" and "chance" not in found and "prior" in found:
            raise InputError(
                "a bound on the posterior itself cannot be had: with Gaussian noise some outcome exceeds "
                f"every value below one. Say how often it may be exceeded: {text},chance=1/20"
            )
        needed = (kind, *KEYS[kind])
        if set(found) != set(needed):
            raise InputError(
                f"a limit on risk is {shown(text)}; {kind} needs {', '.join(f'{key}=' for key in needed)}"
            )
        values = {key: _read_share(value, f"{key} of a limit on risk") for key, value in found.items()}
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

    `proved` is None where a proof would need two certified deltas of each of too many cases.
    """

    limit: RiskLimit
    risk: float
    proved: float | None
    before: float
    case: CaseLabel


@dataclass(frozen=True, slots=True)
class RiskCalibration(Displayed):
    """The release with the least noise that keeps all limits, by one factor on all variances.

    Guarantee. For every case of the relation each limit is kept: `proved` of each, where there is one, is at
    most its `most`.
    """

    before: Release
    release: Release
    neighbours: Neighbours
    factor: Fraction
    kept: tuple[KeptLimit, ...]
    epsilon: float
    delta: Fraction
    levels: tuple[LevelChange, ...]


def calibrate_risk(
    release: Release,
    *,
    risk: Sequence[str | RiskLimit],
    delta: Number = "1e-10",
    neighbours: Neighbours | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> RiskCalibration:
    """Find the least noise, by one factor on all variances, whose risk keeps all limits, and prove it.

    >>> from discreet.budget import load
    >>> found = calibrate_risk(load("dhc-2022-08-25"), risk=["right=60%,prior=1/2"])
    >>> float(found.factor), round(found.kept[0].risk, 5), round(found.epsilon, 4)
    (28.4336, 0.6, 3.1436)
    """
    limits = [RiskLimit.read(one) for one in risk]
    if not limits:
        raise InputError("no limit on risk is given; one is right=60%,prior=1/2")
    (small,) = read_probabilities(delta, name="delta").values
    relation = neighbours or release.neighbours
    whole = account(release, neighbours=relation)
    ends = bounds(event for level in release.levels for event in level.events(release.neighbours))
    cases: dict[RiskLimit, list[CaseLabel]] = {one: [_account(release, relation, one).main] for one in limits}
    for _ in range(8):
        factor = _least(release, relation, cases, ends)
        after = release.scaled(factor)
        open_ = False
        for limit in limits:
            told, label = _told(_account(after, relation, limit).with_workers(jobs, progress), limit)
            if told > limit.room * (1 + 1e-9) and label not in cases[limit]:
                cases[limit].append(label)
                open_ = True
        if not open_:
            break
    factor, kept = _proved(release, relation, limits, _together(release, relation, limits, factor), jobs)
    after = release.scaled(factor)
    cost = account(after, neighbours=whole.neighbours, jobs=jobs)
    (none,) = cost.at_epsilon([Fraction(0)])
    epsilon = 0.0 if none.delta <= float(small) else float(cost.epsilon(delta=small))
    note = "Calibrated to limits on risk."
    return RiskCalibration(
        release,
        named(release, after, note),
        relation,
        factor,
        kept,
        epsilon,
        small,
        changes(release, after),
    )


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


def _account(release: Release, relation: Neighbours, limit: RiskLimit) -> Account:
    """The account that a limit is about: a guess is compared with nobody in the place."""
    return account(release, neighbours="unbounded" if limit.kind == "guess" else relation)


def _told(whole: Account, limit: RiskLimit) -> tuple[float, CaseLabel]:
    """What the curve of all cases tells, and the case that decides it."""
    if limit.kind == "right":
        (point,) = whole.at_epsilon([limit.threshold])
        return point.delta, point.worst
    if limit.kind == "belief":
        _, beta = whole.errors(threshold=[limit.threshold])
        worst = int(np.argmin(beta[:, 0]))
        return 1.0 - float(beta[worst, 0]), whole.label(worst)
    assert limit.rate is not None
    (line,) = envelope(whole, [limit.rate])
    return 1.0 - line.beta, line.worst


def _told_by(loss: PrivacyLoss, limit: RiskLimit) -> float:
    """The same of one case."""
    if limit.kind == "right":
        return float(loss.delta(epsilon=limit.threshold))
    if limit.kind == "belief":
        return float(loss_tails(loss, np.array([float(limit.threshold)]))[0])
    return 1.0 - float(loss.tradeoff(alpha=limit.rate))  # type: ignore[arg-type]


def _least(
    release: Release,
    relation: Neighbours,
    cases: dict[RiskLimit, list[CaseLabel]],
    ends: tuple[float, float],
) -> Fraction:
    """The least factor with which these cases keep their limits, rounded up."""

    def is_kept(factor: float) -> bool:
        after = release.scaled(rounded_up(factor))
        for limit, labels in cases.items():
            own = _account(after, relation, limit)
            for label in labels:
                if _told_by(compose(own.events(label)), limit) > limit.room:
                    return False
        return True

    return rounded_up(_first(is_kept, *ends))


def _first(is_kept: Callable[[float], bool], low: float, high: float) -> float:
    """The least factor at which limits are kept: bracketed by factors of two from 1, then bisected."""
    x = 1.0
    if is_kept(x):
        while x > low and is_kept(x / 2):
            x /= 2
        if x <= low:
            raise InputError(
                f"the limits on risk are kept even with {low:.3g} times the variances, which is next to no "
                "noise; choose lower ones"
            )
        under, over = x / 2, x
    else:
        while not is_kept(2 * x):
            x *= 2
            if x > high:
                raise InputError(f"the limits on risk are not kept even with {high:.3g} times the variances")
        under, over = x, 2 * x
    while over / under > 1 + _TOLERANCE:
        middle = math.sqrt(under * over)
        under, over = (under, middle) if is_kept(middle) else (middle, over)
    return over


def _together(
    release: Release, relation: Neighbours, limits: Sequence[RiskLimit], factor: Fraction
) -> Fraction:
    """The factor from which on all cases together keep the limits: their envelope may lie below each f."""

    def is_kept(x: float) -> bool:
        after = release.scaled(rounded_up(x))
        return all(_told(_account(after, relation, one), one)[0] <= one.room for one in limits)

    low, width = float(factor), 1e-5
    if is_kept(low):
        return factor
    high = low * (1 + width)
    while not is_kept(high):
        low, width = high, 2 * width
        high = low * (1 + width)
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_kept(middle) else (middle, high)
    return rounded_up(high)


def _proved(
    release: Release, relation: Neighbours, limits: Sequence[RiskLimit], factor: Fraction, jobs: int
) -> tuple[Fraction, tuple[KeptLimit, ...]]:
    """Prove all limits, with a little more noise where the proof needs room."""
    for attempt in range(12):
        more = rounded_up(float(factor) * (1 + _STEP * (2**attempt - 1)))
        after = release.scaled(more)
        found = []
        for limit in limits:
            whole = _account(after, relation, limit).with_workers(jobs)
            told, label = _told(whole, limit)
            proved = _upper(whole, limit)
            before = limit.risk(_told(_account(release, relation, limit), limit)[0])
            bound = None if proved is None else limit.risk(proved)
            found.append(KeptLimit(limit, limit.risk(told), bound, before, label))
            if proved is not None and proved > limit.room:
                break
        else:
            return more, tuple(found)
    raise PrecisionError("the limits on risk are kept as far as floats can tell, but the proof fails")


def _upper(whole: Account, limit: RiskLimit) -> float | None:
    """A proved upper bound on what the curve tells, from certified deltas."""
    if limit.kind == "belief":
        return _upper_tail(whole, limit)
    if limit.kind == "right":
        box = whole.delta(epsilon=limit.threshold, certified=True, digits=_DIGITS)
        return float(box.upper) * (1 + 1e-15)
    assert limit.rate is not None
    (line,) = envelope(whole, [limit.rate])
    at = Fraction(math.floor(line.threshold * 2**40), 2**40)
    box = whole.delta(epsilon=at, certified=True, digits=_DIGITS)
    return (float(box.upper) + math.exp(at) * float(limit.rate)) * (1 + 1e-15)


def _upper_tail(whole: Account, limit: RiskLimit) -> float | None:
    """A proved upper bound on P[L > l] of every case; as soon as one exceeds the limit, that one."""
    different = {events: label for label, events in whole.cases} if whole.pairs <= _PROVED_CASES else {}
    if not different:
        return None
    at = limit.threshold
    u, v = (Fraction(math.exp(one)) for one in (at, at - _APART))
    first = whole.events(_told(whole, limit)[1])
    worst = 0.0
    for events in sorted(different, key=lambda one: one != first):  # what may fail comes first
        loss = compose(events)
        near, here = (loss.delta(epsilon=one, certified=True, digits=_DIGITS) for one in (at - _APART, at))
        bound = (u * near.upper - v * here.lower) / (u - v)
        worst = max(worst, float(bound) * (1 + 1e-11))  # the rounding of the exponentials
        if worst > limit.room:
            break
    return worst
