"""What the best adversary makes of a whole release, from its exact privacy loss.

Let P1 and P0 be the laws of everything published with the target's record and without it (or with another in
its place), L = log(P1 / P0) the loss under P1, p the prior of the first and t = log((1 - p) / p).

*Accuracy.* The best decision says "present" where p P1 > (1 - p) P0. Averaged over the prior it is right with
probability (1 - q) + q delta(|t|), where q is the smaller of p and 1 - p, and delta the exact privacy
profile; that is 1 - min over alpha of [(1 - p) alpha + p f(alpha)]. At p = 1/2 the excess over one half is
half of delta(0), the advantage.

*Mean posterior* of a target who is present: E[g(L - t)], g(y) = 1 / (1 + e^-y). By Mellin's inversion

    E[g(L - t)] = 1/(2 pi) integral over y of  pi / sin(pi z) e^(-z t) E[e^(z L)],   z = a + iy,  0 < a < 1,

whose integrand falls as e^(-pi |y|) for every law, lattice or not. To the left of the pole at 0 the integral
is less by 1, to the right of that at 1 by e^-t E[e^L]; the line is laid where the integrand is small, so
that no digits cancel. The trapezoidal rule of step 2 pi / D adds the values at L + D, L - D, L + 2 D, ...,
which together are below e^-40 relatively (`_period` has the bounds).

*Quantiles* of the posterior are those of L, found from its exact tails and moved to the point of its lattice.
Of a whole release each is the largest of any case, which bounds them all.

*In plain words.* A sentence says who the adversary is, what they see, and what is left out. Where one answer
is far likelier than the other beforehand, "right 99 times in 100" says nothing, since saying no of everyone
is right as often; the page then leads with what changes: the belief in a target who is present, and how often
one who is named is present.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from discreet.accounting.contour import Kind, Quadrature
from discreet.accounting.loss import Loss, TiltedTransform
from discreet.accounting.overall import Account, account
from discreet.accounting.parallel import Progress
from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.accounting.values import Number, Numbers
from discreet.budget.claims import EXACTLY, AnswerKind, Claim
from discreet.budget.level_names import level_name
from discreet.budget.neighbours import CaseLabel, Neighbours
from discreet.budget.release import Release
from discreet.errors import InputError, PrecisionError
from discreet.noise import DiscreteGaussian, Noise, grouped
from discreet.numbers import Interval, at_most, decimal, times
from discreet.numbers import chance as chance_text
from discreet.numbers import percent as in_percent
from discreet.numbers import prior as read_prior
from discreet.risk.attack import Floats, logistic, one_variance
from discreet.risk.decisions import Costs

if TYPE_CHECKING:
    from jinja2 import Environment

Pairs = Literal["all", "main"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the posterior of a target who is present: half of such targets have at most the middle one."""

DIGITS = 5
"""Of a certified accuracy. All cases lie close together there, so that more digits would take minutes."""

CERTAIN = Fraction(1, 100)
"""Noise of this variance or less is not zero with probability below 1e-21: the count is all but revealed."""

_MOST_VALUES = 2_000_000
_ROUNDING = Fraction(1, 10**12)
_NATS = 40.0
_HEIGHT = 14.0  # where e^(-pi y) is below 1e-19
_ENTRIES = 4_000_000
_FEW = 16  # cases whose tails are all asked for
_NEAR = np.array([-0.03, -0.001, 0.001, 0.03])


@dataclass(frozen=True, slots=True)
class Risk:
    """What the best adversary gets out of one part of a release, at one prior.

    `accuracy` is averaged over the prior, and `certified` contains it where a proof was asked for; `baseline`
    is what guessing the likelier value gives without any release. `advantage` is the total variation.
    `expected` and `quantiles` are of the posterior of a target who is present. An adversary who names those
    whose posterior exceeds one half (of those at one half every other one: a coin decides) names a present
    target with the chance `named`, and whom they name is present with the chance `predictive` (None if nobody
    is ever named). `most` is the posterior that no
    outcome exceeds, where the noise bounds it (Laplace alone). Over several cases accuracy, advantage,
    `expected`, each of the `quantiles` and `most` are the largest of any; `named` and `predictive` are of
    `case`, the one that decides the accuracy.
    """

    scope: str
    what: str
    prior: float
    accuracy: float
    advantage: float
    expected: float
    quantiles: tuple[float, ...]
    named: float
    predictive: float | None
    most: float | None = None
    case: CaseLabel | None = None
    certified: Interval | None = None

    @property
    def baseline(self) -> float:
        """How often the likelier value is right with no release at all."""
        return max(self.prior, 1.0 - self.prior)

    @property
    def ratio(self) -> float:
        """The expected posterior over the prior."""
        return self.expected / self.prior

    @property
    def query(self) -> str:
        """The query of a row of one count."""
        return self.what.removeprefix("one count of ")

    @property
    def is_one_count(self) -> bool:
        """Whether the row is of one count, whose numbers are rounded; those of other rows are rounded up."""
        return self.what.startswith("one count")

    def right(self, *, percent: bool = False) -> str:
        """Write the accuracy as every surface does: of one count rounded, of more than one rounded up.

        >>> profile = risk_profile({"block group": "0.2465", "block": "0.0992"}, prior="1/2")
        >>> [row.right() for row in profile.rows], profile.overall[0].right(percent=True)
        (['0.6401', '0.5888', '0.6401', '0.5889', '0.6614'], '66.14')
        """
        return (_nearest if self.is_one_count else at_most)(self.accuracy, percent=percent)

    @property
    def over_chance(self) -> str:
        """The advantage as every surface writes it, rounded as the accuracy is.

        >>> profile = risk_profile({"block group": "0.2465", "block": "0.0992"}, prior="1/2")
        >>> [f"{row.over_chance} of {row.advantage:.6f}" for row in profile.rows[::2]]
        ['0.2801 of 0.280113', '0.2802 of 0.280113', '0.3227 of 0.322630']
        """
        return (_nearest if self.is_one_count else at_most)(self.advantage)

    def belief(self, value: float) -> str:
        """Write the mean or a quantile of the belief as every surface does, rounded as the accuracy is.

        >>> one, _, every, *_ = risk_profile({"block group": "0.2465", "block": "0.0992"}, prior="1/2").rows
        >>> one.belief(0.56781), every.belief(0.56781), every.belief(0.99987123)
        ('0.5678', '0.5679', '0.9999')
        """
        return chance_text(value) if self.is_one_count else _up(value, 4)

    @property
    def factor(self) -> str:
        """The ratio as every surface writes it, rounded as the accuracy is.

        >>> [row.factor for row in risk_profile({"block": 5000}, prior="1/3000").rows[:2]]
        ['3,000', '3,000']
        """
        if self.ratio >= 999:
            return f"{self.ratio if self.is_one_count else math.ceil(self.ratio * (1.0 - 1e-12)):,.0f}"
        return f"{self.ratio:.3g}" if self.is_one_count else _up(self.ratio)

    @property
    def times(self) -> str:
        """The same digits as so many times in 100."""
        return f"{self.right(percent=True)} times in 100"

    def as_dict(self) -> dict[str, object]:
        """Return the row as JSON has it."""
        return {
            "scope": self.scope,
            "what": self.what,
            "prior": self.prior,
            "baseline": self.baseline,
            "accuracy": self.accuracy,
            "advantage": self.advantage,
            "expected_posterior": self.expected,
            "posterior_quantiles": {f"{c:g}": q for c, q in zip(QUANTILES, self.quantiles, strict=True)},
            "true_positive_rate": self.named,
            "positive_predictive_value": self.predictive,
            "largest_posterior": self.most,
            "worst_case": None if self.case is None else list(self.case),
        }


@dataclass(frozen=True, slots=True)
class RiskProfile:
    """The risk of one count of each level, of each level, and of the whole release, by prior.

    `one_count` is the paper's attack: its adversary knows everyone else in the area and looks at the most
    telling count of the level that holds the target. Levels are those of the main path, merged ones together.
    `compared` says how many cases the overall numbers cover and `complete` whether these are all of them;
    `claim` says what kind of answer they are, and why; `modelled` whether all that was released is modelled.
    """

    name: str
    unit: str
    neighbours: Neighbours
    one_count: tuple[Risk, ...]
    levels: tuple[Risk, ...]
    overall: tuple[Risk, ...]
    compared: int
    complete: bool
    people: int = 1
    claim: Claim = EXACTLY
    modelled: bool = True

    @property
    def rows(self) -> tuple[Risk, ...]:
        """All rows, from single counts up to the whole release."""
        return (*self.one_count, *self.levels, *self.overall)

    @property
    def priors(self) -> tuple[float, ...]:
        """The priors, in the order asked for."""
        return tuple(dict.fromkeys(row.prior for row in self.overall))

    @property
    def is_bound(self) -> bool:
        """Whether the overall numbers hold for every case and for all that was released."""
        return self.claim.kind in (AnswerKind.EXACT, AnswerKind.BOUND)

    def at(self, prior: Number) -> RiskProfile:
        """Return the rows of one prior."""
        wanted = float(read_prior(prior))
        if wanted not in self.priors:
            raise InputError(f"the profile was not computed at prior {wanted:g}")
        one, levels, overall = (
            tuple(row for row in rows if row.prior == wanted)
            for rows in (self.one_count, self.levels, self.overall)
        )
        return replace(self, one_count=one, levels=levels, overall=overall)

    def as_dict(self) -> dict[str, object]:
        """Return the profile as JSON has it."""
        return {
            "name": self.name,
            "unit": self.unit,
            "neighbours": self.neighbours,
            "cases_compared": self.compared,
            "is_bound": self.is_bound,
            "answer": self.claim.document(),
            "rows": [row.as_dict() for row in self.rows],
        }

    def table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return the header and the rows of a table with all digits, as CSV has it."""
        names = ("scope", "what", "prior", "baseline", "accuracy", "advantage", "expected_posterior")
        return (*names, *(f"quantile_{chance:g}" for chance in QUANTILES)), [
            (r.scope, r.what, r.prior, r.baseline, r.accuracy, r.advantage, r.expected, *r.quantiles)
            for r in self.rows
        ]


def risk_profile(
    release: Release | Mapping[str, Number] | Sequence[Number],
    *,
    prior: Numbers = "1/2",
    neighbours: Neighbours | None = None,
    people: int = 1,
    pairs: Pairs = "all",
    certify: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
    whole: Account | None = None,
) -> RiskProfile:
    """Return the best any adversary can do: one count, each level, and everything published, by prior.

    `release` is a release, taken with its true variances, or rhos (a list, or a mapping by level), each of
    one count when a record is added or removed, with noise of variance 1/(2 rho). With bounded neighbours the
    target is replaced by another record, and all pairs of paths are compared; `pairs="main"` looks at the
    main pair alone: quick, but no bound. `people` is the number of people whose records change together.
    `certify` adds a proof of the overall accuracy. `whole` is the account of the release, where it is at
    hand; it says who the neighbours are.

    Guarantee. Neighbours are in the stated relation, and the adversary knows every other record. Then no
    procedure whatever, applied to what is published, is right more often than `accuracy` when averaged over
    the prior. Not covered: what invariants published without noise tell; records that move with the target's
    (count them in `people`); the posterior at one lucky outcome; accuracy given that the target is present.

    >>> profile = risk_profile({"block group": "0.2465", "block": "0.0992"}, prior="1/2")
    >>> [(row.scope, round(row.accuracy, 4)) for row in profile.rows[2:]]
    [('block group', 0.6401), ('block', 0.5888), ('overall', 0.6613)]
    """
    many = isinstance(prior, Sequence | np.ndarray) and not isinstance(prior, str)
    given = prior if many else [prior]
    read = [read_prior(one) for one in given]  # type: ignore[union-attr, arg-type]
    priors = [*{float(one): one for one in read}.values()]
    if not priors:
        raise InputError("no prior is given; at least one is needed")
    if pairs not in ("all", "main"):
        raise InputError(f"pairs is {pairs!r}; it must be 'all' or 'main'")
    if not isinstance(release, Release):
        return _profile_of_rhos(release, priors)
    if whole is None:
        whole = account(release, neighbours=neighbours, people=people, jobs=jobs)
    if progress is not None:
        whole = whole.with_workers(jobs, progress)
    levels: dict[str, list[tuple[str, Noise]]] = {}
    for row in release.variance_table():
        levels.setdefault(row.level, []).append((row.query, row.event.for_people(whole.people)))
    single: list[Risk] = []
    every: list[Risk] = []
    for name, events in levels.items():
        query, event = max(events, key=lambda pair: _advantage(pair[1].repeated(1)))
        single += part_risks([event.repeated(1)], priors, scope=name, what=f"one count of {query}")
        together = [one for _, one in events] * (2 if whole.neighbours == "bounded" else 1)
        every += part_risks(together, priors, scope=name, what="every count of the level")
    complete = pairs == "all" or whole.pairs == 1
    claim = release.claim
    if not complete:
        claim = Claim.of_all([claim, Claim(AnswerKind.MAIN)])
        main = (whole.main, whole.events(whole.main))
        whole = Account(whole.name, whole.unit, whole.neighbours, [main], whole.main, whole.people)
    rows = (tuple(single), tuple(every), _overall(whole, priors, certify=certify))
    about = (whole.name, whole.unit, whole.neighbours)
    modelled = release.claim.kind is not AnswerKind.MODEL
    return RiskProfile(*about, *rows, whole.pairs, complete, whole.people, claim, modelled)


def part_risks(
    events: Sequence[Noise], priors: Sequence[Fraction], *, scope: str = "", what: str = ""
) -> tuple[Risk, ...]:
    """Return the risks of some counts together, at each prior.

    >>> row, = part_risks([DiscreteGaussian(variance="10.08")], [Fraction(1, 2)])
    >>> round(row.accuracy, 4), round(row.expected, 4)
    (0.5628, 0.5121)
    """
    if len(events) == 1 and events[0].times == 1 and _reach(events[0]) <= _MOST_VALUES:
        rows = tuple(_count_risk(events[0], p) for p in priors)
    else:
        rows = _part_risks(tuple(grouped(events)), tuple(priors))
    return tuple(replace(row, scope=scope, what=what) for row in rows)


@lru_cache(maxsize=256)
def _part_risks(events: tuple[Noise, ...], priors: tuple[Fraction, ...]) -> tuple[Risk, ...]:
    """The risks of some counts, kept: a level alone may be all of a release, and every surface asks."""
    loss = compose(events)
    none, *deltas = np.asarray(loss.delta(epsilon=[Fraction(0), *map(_threshold, priors)])).tolist()
    means, marks = mean_posteriors([loss.events], priors)[0].tolist(), loss_quantiles(loss)
    return tuple(
        _risk(p, _naming(loss, p), accuracy_at(p, delta), none, mean, marks, loss.loss.largest)
        for p, delta, mean in zip(priors, deltas, means, strict=True)
    )


def _risk(
    p: Fraction,
    naming: Sequence[float],
    accuracy: float,
    advantage: float,
    mean: float,
    marks: Floats,
    largest: Fraction | None,
) -> Risk:
    """The risk, from how often a present and an absent target is named, and from quantiles of the loss.

    The posterior rises with the loss: its quantiles and its largest value are those of the loss.
    """
    true, false = naming
    named = float(p) * true + float(1 - p) * false
    predictive = None if named <= 0 else min(float(p) * true / named, 1.0)
    ends = marks if largest is None else np.append(marks, float(largest))
    posteriors = logistic(ends + (math.log(p) - math.log(1 - p))).tolist()
    quantiles, most = tuple(posteriors[: marks.size]), None if largest is None else posteriors[-1]
    accuracy = max(accuracy, float(p), 1.0 - float(p))  # in the last digit it may lie below the baseline
    return Risk("", "", float(p), accuracy, advantage, mean, quantiles, min(true, 1.0), predictive, most)


def _naming(loss: PrivacyLoss, p: Fraction) -> list[float]:
    """How often a present target, and an absent one, is said to be present."""
    odds = np.array([math.log(1 - p) - math.log(p)])
    true, false = (float(_tails(loss, odds, null=null)[0]) for null in (False, True))
    if 2 * p != 1:
        return [true, false]
    # a coin decides ties; the loss is as likely to be l with the target as -l without
    return [(1.0 + true - false) / 2.0, (1.0 - true + false) / 2.0]


def accuracy_at(prior: Fraction, delta: float) -> float:
    """Return the best accuracy, averaged over the prior, from delta at |log((1 - p) / p)|."""
    less = min(prior, 1 - prior)
    return min(float(1 - less) + float(less) * delta, 1.0)  # rounding may lift a certainty above one


def best_accuracies(loss: PrivacyLoss, priors: Sequence[Fraction]) -> Floats:
    """Return the best accuracy from one loss at each prior.

    >>> best_accuracies(compose([DiscreteGaussian(variance="10.08")]), [Fraction(1, 2)]).round(4).tolist()
    [0.5628]
    """
    deltas = np.asarray(loss.delta(epsilon=[_threshold(p) for p in priors]))
    return np.array([accuracy_at(p, float(delta)) for p, delta in zip(priors, deltas, strict=True)])


def _threshold(prior: Fraction) -> Fraction:
    """|log((1 - p) / p)|, the epsilon at which the profile tells the accuracy."""
    less = min(prior, 1 - prior)
    return Fraction(math.log((1 - less) / less) if 2 * less != 1 else 0.0)


def _overall(whole: Account, priors: Sequence[Fraction], *, certify: bool) -> tuple[Risk, ...]:
    if whole.pairs == 1:
        rows, cases = part_risks(whole.cases[0][1], priors), [whole.main] * len(priors)
    else:
        none, *points = whole.at_epsilon([Fraction(0), *map(_threshold, priors)])
        means = mean_posteriors([events for _, events in whole.cases], priors).max(axis=0).tolist()
        bounds = [Loss(events).largest for _, events in whole.cases]
        of_all = worst_quantiles(whole), None if None in bounds else max(filter(None, bounds))
        cases = [point.worst for point in points]
        rows = tuple(
            _risk(p, _naming(whole.case(at.worst), p), accuracy_at(p, at.delta), none.delta, mean, *of_all)
            for p, at, mean in zip(priors, points, means, strict=True)
        )
    proofs = [_certified(whole, p) if certify else None for p in priors]
    about = {"scope": "overall", "what": "everything published"}
    return tuple(
        replace(row, **about, case=case, certified=proof)  # type: ignore[arg-type]
        for row, case, proof in zip(rows, cases, proofs, strict=True)
    )


def _certified(whole: Account, prior: Fraction) -> Interval:
    """An interval that contains the best accuracy."""
    from discreet.noise.balls import as_interval, ball, working_bits

    q = min(prior, 1 - prior)
    threshold = Interval(Fraction(0), Fraction(0))
    if 2 * q != 1:
        with working_bits(160):
            found = as_interval(ball((1 - q) / q).log())
        # short ends: the threshold goes into ball arithmetic again
        threshold = Interval(Fraction(math.floor(found.lower * 2**80), 2**80), found.upper)
    box = whole.delta(epsilon=threshold.lower, certified=True, digits=DIGITS)
    # delta falls by no more than epsilon rises, so the exact t costs the lower end no more than its width
    low = max(box.lower - threshold.width, Fraction(0))
    # wide enough for the float beside it, which is rounded
    return Interval(1 - q + q * low - _ROUNDING, min(1 - q + q * box.upper + _ROUNDING, Fraction(1)))


# -- one count, value by value -----------------------------------------------------------------------------


def _reach(event: Noise) -> int:
    """All but 1e-17 of the chances of a noisy count, with the target and without, lie this close to zero."""
    return event.sensitivity - event.single().quantile("1e-17")


def _values(event: Noise) -> tuple[Floats, Floats, Floats]:
    """The chances of each value with the target and without, and the loss there."""
    far = _reach(event)
    values = np.arange(-far, far + 1)
    noise = event.single()
    before, after = noise.log_pmf(values), noise.log_pmf(values - event.sensitivity)
    return np.exp(after), np.exp(before), after - before


@lru_cache(maxsize=1024)
def _advantage(event: Noise) -> float:
    """The total variation of one count: how much it tells."""
    if _reach(event) > _MOST_VALUES:
        return compose([event]).total_variation
    present, absent, _ = _values(event)
    return float(np.maximum(present - absent, 0.0).sum())


def _count_risk(event: Noise, prior: Fraction) -> Risk:
    """The risk of one count, by sums over its values."""
    present, absent, losses = _values(event)
    places = np.searchsorted(np.cumsum(present), np.array(QUANTILES) * (1.0 - 1e-15))
    marks = losses[np.minimum(places, losses.size - 1)]
    p, q = float(prior), float(1 - prior)
    gain = float(np.maximum(min(p, q) * present - max(p, q) * absent, 0.0).sum())
    # p P1 / (p P1 + q P0), from the loss so that values of tiny chances count too
    odds = losses + (math.log(prior) - math.log(1 - prior))
    mean = min(float(present @ logistic(odds)), 1.0)
    naming = [float(law @ Costs().says_present(odds)) for law in (present, absent)]
    accuracy, largest = min(max(p, q) + gain, 1.0), Loss([event]).largest
    return _risk(prior, naming, accuracy, _advantage(event), mean, marks, largest)


# -- many counts --------------------------------------------------------------------------------------------


def loss_quantiles(loss: PrivacyLoss, chances: Sequence[float] = QUANTILES) -> Floats:
    """Return quantiles of the loss with the target present: points of its lattice, or 1e-9 deviations off.

    >>> from discreet.budget import DiscreteLaplace
    >>> loss_quantiles(compose([DiscreteLaplace(scale=1, times=2)])).tolist()
    [-2.0, 0.0, 2.0, 2.0, 2.0]
    """
    above = 1.0 - np.array(chances)
    deviation, lattice, offset = math.sqrt(loss.variance), loss.loss.step, loss.loss.offset
    # Cantelli: beyond k standard deviations on one side lies at most 1 / (1 + k^2)
    reach = 1.001 * deviation * np.sqrt(1.0 / np.minimum(above, 1.0 - above).min() - 1.0) + 1e-9
    points, tails = loss.mean + np.array([-reach, reach]), np.array([1.0, 0.0])
    enough = max(1e-9 * deviation + 4e-16 * abs(loss.mean), 0.9 * float(lattice))
    asked = loss.mean + deviation * np.linspace(-2.6, 2.6, 14)
    while asked.size:  # few rounds of several points: tails asked for together share their work
        points, tails = np.append(points, asked), np.append(tails, _tails(loss, asked))
        order = np.argsort(points)
        points, tails = points[order], tails[order]
        place = np.maximum((tails <= above[:, None] + 1e-15).argmax(axis=1), 1)
        low, high = points[place - 1], points[place]
        # the middle, and points close to where a smooth tail would have the value
        share = (tails[place - 1] - above) / np.maximum(tails[place - 1] - tails[place], 1e-300)
        steps = np.append(np.clip(share[:, None] + _NEAR, 0.0, 1.0), np.full((share.size, 1), 0.5), axis=1)
        open_ = high - low > enough
        asked = np.unique((low[:, None] + (high - low)[:, None] * steps)[open_])
        asked = asked[~np.isin(asked, points)]
    found = []
    for left, right in zip(low.tolist(), high.tolist(), strict=True):
        point = offset + lattice * math.floor((Fraction(right) - offset) / lattice)
        found.append(float(point) if point >= Fraction(left) else right)
    return np.maximum.accumulate(found)


def worst_quantiles(whole: Account) -> Floats:
    """Return for each chance the largest quantile of any case: all of them have at most that.

    From the main case upwards: whichever case has the largest tail beyond its quantiles is solved next, until
    none has too large a one. Where tails are smooth but for a lattice too fine to be seen in them, the result
    lies above the largest quantile by at most a step of it; with many cases that are not smooth, by at most a
    thousandth of a standard deviation of the loss.
    """
    if whole.together is None:
        return np.asarray(np.max([loss_quantiles(whole.case(label)) for label, _ in whole.cases], axis=0))
    above, asked = 1.0 - np.array(QUANTILES), {whole.main}
    found = loss_quantiles(whole.case(whole.main))
    while True:
        tails, room = _tails_of_all(whole, found + 1e-9 * (1.0 + np.abs(found)))  # just beyond an atom
        larger = {whole.label(int(k)) for k in tails.argmax(axis=0)[tails.max(axis=0) > above + 4e-9]}
        if not larger - asked:
            return found + room
        for label in larger - asked:
            found = np.maximum(found, loss_quantiles(whole.case(label)))
        asked |= larger


def _tails_of_all(whole: Account, points: Floats) -> tuple[Floats, float]:
    """P[L > t] with the target, a row for each case, and by how much t may be off."""
    together = whole.together
    assert together is not None

    def deltas(at: Floats) -> Floats:
        found = np.empty((whole.pairs, at.size))
        for scan in together.scan(Kind.DELTA, [Fraction(abs(t)) for t in at]):
            t = float(at[scan.threshold])
            values = scan.value * math.exp(scan.exponent)
            found[:, scan.threshold] = values if t >= 0 else -math.expm1(t) + math.exp(t) * values
        return found

    smooth = _differences(deltas, points, together.spread) if together.lattice is None else None
    if smooth is None and whole.pairs > _FEW:
        # delta is convex: its fall over h is at least h times the slope at the end, e^t P0[L > t]
        h = 1e-3 * together.spread
        before, after = deltas(points), deltas(points + h)
        return after + (before - after) / h, h
    if smooth is None:
        return 1.0 - np.asarray(whole.errors(threshold=points.tolist())[1]), 0.0
    return smooth[0], max(float(Loss(events).step) for _, events in whole.cases)


def _tails(loss: PrivacyLoss, points: Floats, *, null: bool = False) -> Floats:
    """P[L > t] with the target, or without."""
    deviation = math.sqrt(loss.variance)
    is_cut = isinstance(loss.engine, Quadrature) and loss.engine.remainder > 0
    if is_cut and float(loss.loss.step) < 1e-6 * deviation:
        smooth = _differences(lambda at: np.asarray(loss.delta(epsilon=at)), points, deviation)
        if smooth is not None:
            return smooth[1 if null else 0]
    exact = [Fraction(point) for point in points]
    return np.asarray(loss.tail(above=exact, under="null" if null else "alternative"))


def _differences(
    delta: Callable[[Floats], Floats], points: Floats, deviation: float
) -> tuple[Floats, Floats] | None:
    """P[L > t] with the target and without, from delta alone; None where that does not do.

    By delta(t) = P1[L > t] - e^t P0[L > t], whose slope is -e^t P0[L > t]: where the points of the lattice
    are too close to matter, and the line of integration is cut off rather than summed to its end, differences
    of delta give the tails to 1e-9, many times faster than the tails themselves come. Differences over two
    distances that disagree say that the law is not as smooth as that.
    """
    h = 3e-3 * deviation
    steps = np.array([-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0])
    around = delta((points + h * steps[:, None]).ravel())
    a, b, c, d, e, f, g = np.moveaxis(around.reshape(*around.shape[:-1], 7, -1), -2, 0)
    slope, wider = (b - 8 * c + 8 * e - f) / (12 * h), (a - 8 * b + 8 * f - g) / (24 * h)
    if not np.abs(slope - wider).max() < 2e-9:
        return None
    return np.clip(d - slope, 0.0, 1.0), np.clip(-slope * np.exp(-points), 0.0, 1.0)


def mean_posteriors(cases: Sequence[Sequence[Noise]], priors: Sequence[Fraction]) -> Floats:
    """Return the mean posterior of a target who is present: a row for each case, a column for each prior.

    Relative error: some 1e-12. See the head of this module.

    >>> mean_posteriors([[DiscreteGaussian(variance=5)]], [Fraction(1, 2), Fraction(1, 5)]).round(12).tolist()
    [[0.523842579115, 0.225620914562]]
    """
    kinds = {event.repeated(1): None for events in cases for event in events}
    place = {event: row for row, event in enumerate(kinds)}
    losses = [Loss([event]) for event in kinds]
    times = np.zeros((len(cases), len(kinds)))
    for row, events in enumerate(cases):
        for event in events:
            times[row, place[event.repeated(1)]] += event.times
    found = np.empty((len(cases), len(priors)))
    with np.errstate(all="ignore"):
        for column, prior in enumerate(priors):
            odds = math.log(1 - prior) - math.log(prior)
            lines = _lines(losses, times, odds)
            for line in np.unique(lines):
                rows = np.flatnonzero(lines == line)
                used = np.flatnonzero(times[rows].any(axis=0))
                found[rows, column] = _on_line(
                    float(line), [losses[i] for i in used], times[np.ix_(rows, used)], odds
                )
    if not np.isfinite(found).all():
        raise PrecisionError(
            "the mean posterior is beyond what floating point can follow here: some noise is next to none"
        )
    return np.clip(found, 0.0, 1.0)


def _lines(losses: Sequence[Loss], times: Floats, odds: float) -> Floats:
    """For each case the a of a line on which neither the integrand nor what a pole adds is large."""
    spread = times @ np.array(
        [max(loss.tilted_moments(tilt)[1] for tilt in (-1.0, 0.0, 1.0)) for loss in losses]
    )
    # lines a 16th apart, or less where the integrand varies faster than that
    parts = 2.0 ** np.clip(np.ceil(np.log2(np.sqrt(np.maximum(spread, 1.0)))), 4, 12)
    found = np.empty(len(times))
    for count in np.unique(parts):
        rows = np.flatnonzero(parts == count)
        inner = np.arange(1, int(count)) / count
        tilts = np.concatenate([inner - 1.0, inner, inner + 1.0, [1.0]])
        logs = times[rows] @ np.array([loss.log_mgf(tilts) for loss in losses])
        first = logs[:, -1] - odds
        strips = (logs[:, :-1] - tilts[:-1] * odds).reshape(len(rows), 3, -1)
        strips = strips - np.log(np.sin(np.pi * inner))
        best = strips.min(axis=2)
        size = np.stack([np.maximum(best[:, 0], 0.0), best[:, 1], np.maximum(best[:, 2], first)], axis=1)
        strip = size.argmin(axis=1)
        found[rows] = strip - 1.0 + inner[strips[np.arange(len(rows)), strip].argmin(axis=1)]
    return found


def _on_line(a: float, losses: Sequence[Loss], times: Floats, odds: float) -> Floats:
    """The mean posterior of some cases, by the integral along Re z = a."""
    strip = math.floor(a)
    ends = np.array([loss.log_mgf(np.array([a, 1.0, 2.0])) for loss in losses])
    here, first, second = (times @ ends).T
    size = here - a * odds + math.log(math.pi / abs(math.sin(math.pi * a)))
    period = math.ceil(max(_period(a, strip, odds, *logs) for logs in zip(size, first, second, strict=True)))
    transforms = [TiltedTransform(loss, a) for loss in losses]
    total = np.zeros(len(times))
    last = math.ceil(_HEIGHT * period / (2 * math.pi))
    width = max(16, _ENTRIES // max(len(losses), len(times)))
    for start in range(0, last + 1, width):
        nodes = np.arange(start, min(start + width, last + 1))
        y = (2 * math.pi / period) * nodes
        logs = np.array([t.log(nodes, Fraction(period)) + 1j * (float(t.centre) * y) for t in transforms])
        kernel = math.pi / np.sin(math.pi * (a + 1j * y)) * np.exp(-1j * odds * y)
        values = (np.exp(times @ logs) * kernel).real
        total += 2.0 * values.sum(axis=1) - (values[:, 0] if start == 0 else 0.0)
    integral = np.exp(here - a * odds) * total / period
    if strip == 0:
        return np.asarray(integral)
    return np.asarray(integral + (1.0 if strip == -1 else np.exp(first - odds)))


def _period(a: float, strip: int, odds: float, size: float, first: float, second: float) -> float:
    """How long the period must be that shifted arguments add less than e^-40 to the result.

    A shift by m periods D multiplies by e^(-a m D). Right of 0 the function is at most 1 and at most e^y, so
    shifts add at most e^(-a D) and E[e^L] e^(-t - (1 - a) D); left of 0 likewise, with E[e^-L] = 1; right of
    1 what remains is at most e^y and at most e^(2 y).
    """
    if strip == -1:
        return max(_NATS / -a, (_NATS + odds) / (1.0 + a))
    if strip == 0:
        return max((_NATS - size) / a, (_NATS + first - odds - size) / (1.0 - a))
    return max(_NATS / (a - 1.0), (_NATS + second - odds - first) / (2.0 - a))


# -- counts that are stated by their rhos alone ------------------------------------------------------------


def _profile_of_rhos(rhos: object, priors: Sequence[Fraction]) -> RiskProfile:
    """One count a level, all of them about the same target: rhos by level, or in a list."""
    if isinstance(rhos, np.ndarray):
        rhos = np.atleast_1d(rhos).tolist()
    if isinstance(rhos, str) or not isinstance(rhos, Mapping | Sequence):
        raise InputError(
            "a release is needed (a preset's is load('dhc-2020')), or rhos by level or in a list; "
            f"this is of type {type(rhos).__name__}"
        )
    if not rhos:
        raise InputError("no rho is given; rhos by level such as {'block': '0.0992'} are needed")
    named = rhos if isinstance(rhos, Mapping) else {f"level {i}": rho for i, rho in enumerate(rhos, start=1)}
    events = {
        str(name): DiscreteGaussian(variance=one_variance(None, rho, of=f" of {name}"))
        for name, rho in named.items()
    }
    single, levels = (
        tuple(row for name, one in events.items() for row in part_risks([one], priors, scope=name, what=what))
        for what in ("one count", "every count of the level")
    )
    least = min(events.values(), key=lambda event: event.variance)
    # beside noise that is hardly any, the other counts add nothing to the last digit
    seen = [least] if least.variance <= CERTAIN else list(events.values())
    overall = part_risks(seen, priors, scope="overall", what="everything published")
    return RiskProfile("rhos", "person", "unbounded", single, levels, overall, 1, True)


# -- in plain words ---------------------------------------------------------------------------------------

LOPSIDED = 0.8
"""From this share of right guesses without any release on, the page leads with beliefs."""

_WORDS = re.compile(r"[A-Z][a-z]+( [a-z]+)*")


def chance_words(prior: Fraction | float) -> str:
    """Say a prior in words.

    >>> chance_words(0.5), chance_words(Fraction(1, 864)), chance_words(0.37), chance_words(1 - 1e-9)
    ('an even chance', 'a chance of 1 in 864', 'a chance of 0.37', 'a chance of 1 - 1e-09')
    """
    value = float(prior)
    if value == 0.5:
        return "an even chance"
    often = round(1.0 / value)
    if often > 1 and math.isclose(1.0 / often, value, rel_tol=1e-9):
        return f"a chance of 1 in {often:,}"
    return f"a chance of {prior_text(value)}"


def prior_text(prior: float) -> str:
    """Write a prior in six digits; one that would seem to be certain by what is missing.

    >>> prior_text(1 / 3), prior_text(0.999), prior_text(1 - 1e-9)
    ('0.333333', '0.999', '1 - 1e-09')
    """
    text = f"{prior:.6g}"
    return text if text != "1" else f"1 - {1.0 - prior:.6g}" if prior < 1.0 else "almost 1"


def place_words(level: str) -> str:
    """Say a level's name as one would of an area.

    >>> place_words("Block_Group"), place_words("STATE, A-G")
    ('block group', 'area of "State, A-G"')
    """
    name = level_name(level)
    if _WORDS.fullmatch(name):
        return name.lower()
    return "country" if name == "US" else f'area of "{_plain(name)}"'


def right_sentence(profile: RiskProfile) -> str:
    """Say how often the best guess with everything published is right; the profile holds one prior.

    >>> print(right_sentence(risk_profile({"Block": "0.0992"}, prior="1/2")))
    Someone who knows every other record, gives the target an even chance and sees everything published is \
right at most 58.89 times in 100, whatever the method.
    """
    return _said("right", profile)


def belief_sentence(profile: RiskProfile) -> str:
    """Say what probability someone who sees everything published gives a target who is present.

    A quantile is the least value that so many have at most: with atoms more of them may, never fewer.

    >>> print(belief_sentence(risk_profile({"Block": "0.0992"}, prior="1/5")))
    If the target is present, someone who knows every other record, gives the target a chance of 1 in 5 and \
sees everything published gives it a probability of at most 0.2255 on average, 1.13 times the prior; it is \
0.111 or less for at least one such target in twenty, 0.2164 or less for at least half of them, and 0.3791 \
or less for at least 95 in 100.
    """
    return _said("belief", profile)


def luck_sentence(profile: RiskProfile) -> str:
    """Say how sure a lucky draw of the noise may make an adversary: without bound, unless noise is Laplace.

    >>> print(luck_sentence(risk_profile({"Block": "0.0992"}, prior="1/5")))
    After a lucky draw of the noise an adversary may be far surer; nothing bounds that.
    """
    return _said("luck", profile)


def naming_sentence(profile: RiskProfile) -> str:
    """Say whom an adversary would name, and how often rightly."""
    return _said("naming", profile)


def explain_profile(profile: RiskProfile, *, title: str = "") -> str:
    """Return the page, as Markdown; the profile must hold one prior.

    >>> page = explain_profile(risk_profile({"Block": "0.0992"}, prior="1/2"))
    >>> "is right 58.88 times in 100" in page
    True
    """
    page = _words().get_template("explain.md.jinja").render(p=profile, title=title)
    return f"{page}\n"


@cache
def _words() -> Environment:
    """The templates of the page and of its sentences, and how they write numbers and names."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(loader=PackageLoader("discreet.risk", ""), undefined=StrictUndefined)
    made.trim_blocks = made.lstrip_blocks = True
    made.filters |= {"times": times, "share": _share, "prior": chance_words, "zip": zip}
    made.filters |= {"level": level_name, "place": place_words, "plain": _plain}
    made.globals["LOPSIDED"] = LOPSIDED
    return made


def _said(sentence: str, profile: RiskProfile) -> str:
    return str(getattr(_words().get_template("sentences.md.jinja").module, sentence)(profile))


def _plain(name: str) -> str:
    """A name in which Markdown sees no emphasis."""
    return name.replace("*", r"\*").replace("_", r"\_")


def _share(chance: float) -> str:
    """Write a share of people.

    >>> _share(0.0315), _share(0.00002), _share(0.9996)
    ('3.1 in 100', '2 in 100,000', '99.96 in 100')
    """
    if chance >= 0.995:
        return times(chance).replace(" times", "")
    for whole in (100, 1000, 10_000, 100_000):
        if chance * whole >= 1:
            return f"{chance * whole:.2g} in {whole:,}"
    return f"{chance * 1e6:.2g} in 1,000,000"


def _nearest(value: float, *, percent: bool = False) -> str:
    """A chance in four digits, or in as many as it takes to tell it from none and from certainty.

    >>> _nearest(0.58882), _nearest(0.58882, percent=True), _nearest(0.9999988), _nearest(1.0)
    ('0.5888', '58.88', '0.999999', '1.0000')
    """
    hundred = in_percent(value, 2).removesuffix(" %")
    return hundred if percent else f"{value:.{len(hundred.partition('.')[2]) + 2}f}"


def _up(value: float, least: int = 3) -> str:
    """A bound in three digits, rounded up; a chance in as many as it takes to tell it from one.

    >>> _up(0.40461), _up(0.2), _up(0.99987123), _up(1.0), _up(3.9194), _up(159.3), _up(1.1382e-6)
    ('0.405', '0.2', '0.9999', '1', '3.92', '160', '1.14e-06')
    >>> _up(1 - 3e-14)
    '0.99999999999998'
    """
    # less what rounding may have added, which is little beside what is missing to one
    true = Fraction(value) - Fraction(min(value, 1.0 - value) if value < 1.0 else value) / 10**12
    for digits in range(least, 17):
        text = decimal(true, digits=digits, down=False)
        if float(text) != 1.0 or value >= 1.0:
            break
    return f"{float(text):.{digits}g}"
