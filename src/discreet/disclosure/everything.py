"""One risk of everything published: what the best adversary makes of all releases about a person together.

All of it comes from the trade-off curve f of the whole, the least over all pairs of paths, convex. With a
prior p of the target's presence:

*Detection.* Who accuses wrongly with probability a finds a present target with probability 1 - f(a) at most.
Of those accused at most a share of p (1 - f(a)) / (p (1 - f(a)) + (1 - p) a) is present, the predictive
value. It rises as a falls: the bound at one rate says nothing about smaller ones.

*Guessing.* Somebody who guesses a person's values (or reconstructs a record up to some error) succeeds with
probability b without the data, whatever the best guess. With the data it is 1 - f(b) at most, for the f of
any fixed reference law P0. Proof: for a value v with prior w(v), let a(v) be the probability under P0 of
naming v, or something close enough. To name v is a test of P0 against P_v, so it succeeds with probability
1 - f(a(v)) at most. Under P0 the guess does not depend on v, so the mean of a(v) over the prior is how often
some blind guess succeeds: b at most. As 1 - f is concave and rises, the mean of 1 - f(a(v)) is at most
1 - f(b). "Another person in the place" and "nobody in the place" are such references; the second is nearer
to every v.

*One attribute.* If only one attribute of a person changes, queries that do not see it drop out: epsilon, f
and the guess of that attribute alone (`discreet.disclosure.compared`).

Guarantee. As that of `risk_profile`, for all that is listed, and for data sets that agree on what is held
exact. `tests/disclosure/test_everything.py` compares each number with an enumeration of data sets and
outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from discreet.accounting.account import Account
from discreet.accounting.parallel import Progress
from discreet.budget.claims import AnswerKind, Claim
from discreet.budget.events import releases_of
from discreet.budget.neighbours import CaseLabel
from discreet.disclosure.compared import DataSetPairs, ExactCount, Keeps
from discreet.disclosure.profile import Pairs, Risk, RiskProfile, accuracy_at, level_risks, whole_risks
from discreet.disclosure.questions import Risking
from discreet.errors import InputError
from discreet.faces import Displayed
from discreet.loss.values import Number, read_probabilities
from discreet.numbers import Exact, is_column, one_or_more, read_delta
from discreet.numbers import prior as read_prior
from discreet.questions import asked_with

OTHER_ATTRIBUTES = "changes of the other attributes"
_CURVE = tuple(Fraction(10.0 ** (k / 3 - 6)) for k in range(18))


@dataclass(frozen=True, slots=True)
class Detection:
    """How often a present target is found by those who accuse wrongly this often; each is at most so large.

    `predictive` has, by prior, the share of those accused who are present. `case` is where f is least. The
    `claim` is exact where the curve of that case has the rate; the convex envelope of several may lie below
    each of them, and is a bound.
    """

    false_positive_rate: float
    true_positive_rate: float
    predictive: tuple[tuple[float, float], ...]
    case: CaseLabel | None
    claim: Claim


@dataclass(frozen=True, slots=True)
class Guess:
    """How often a person's values are guessed: without the data, and at most with it, by the reference.

    `possibilities` is how many equally likely values that stands for, if it does. `replaced` is None if the
    relation is that of a record added or removed; nobody in the place is then the reference.
    """

    claim: Claim
    before: float
    replaced: float | None
    nobody: float
    possibilities: int | None = None

    @property
    def after(self) -> float:
        """The least of the bounds."""
        return self.nobody if self.replaced is None else min(self.replaced, self.nobody)


@dataclass(frozen=True, slots=True)
class AttributeRisk:
    """What everything published tells about one attribute of a person, all others known.

    `seen` and `queries` count queries of the main paths. `epsilon` at `delta` is for a change of the
    attribute, `right` the best accuracy at an even prior between two values, `detections` that of the test
    between them, and `guess` the guess of one of all values. All are None where an exact count tells the
    values apart, and zero knowledge where no query sees the attribute.
    """

    attribute: str
    values: int
    seen: int
    queries: int
    claim: Claim
    epsilon: float | None
    delta: Fraction
    right: float | None
    detections: tuple[Detection, ...]
    guess: Guess | None
    case: CaseLabel | None = None


@dataclass(frozen=True, slots=True)
class ReleaseRisk(Displayed):
    """The risk of everything published together.

    `profile` has right decisions and beliefs by prior, and level by level. `told_apart` says that an exact
    count tells the compared data sets apart with certainty: f is 0. `dropped` counts the queries of the main
    paths that what is held exact determines. `account` is what all of it comes from.
    """

    profile: RiskProfile
    detections: tuple[Detection, ...]
    guesses: tuple[Guess, ...]
    attributes: tuple[AttributeRisk, ...]
    releases: tuple[str, ...]
    exact: tuple[ExactCount, ...] = ()
    dropped: int = 0
    queries: int = 0
    told_apart: bool = False
    account: Account | None = field(default=None, compare=False, repr=False)

    def curve(self) -> tuple[tuple[float, float], ...]:
        """Return points of the curve: the largest true-positive rate against the false-positive rate."""
        rates = _true_rates(self.account, _CURVE, self.profile.claim, self.told_apart)
        return tuple((float(alpha), true) for alpha, (true, _, _) in zip(_CURVE, rates, strict=True))

    @property
    def people(self) -> int:
        """How many people change together."""
        return self.profile.people

    def at(self, prior: Number) -> ReleaseRisk:
        """Return the risk at one prior."""
        return replace(self, profile=self.profile.at(prior))


@asked_with(Risking)
def risk(asked: Risking) -> ReleaseRisk:
    """Return what the best adversary makes of all releases together.

    `people` move together. `exact` names counts that are published without noise, `"State:total"`: only data
    sets that agree on them are compared. `false_positive_rates` are how often the adversary may
    accuse wrongly; `guess` are chances of guessing a
    person's values without the data (default: one of all detailed cells of a release, and 1/100); `delta` is
    for the epsilon of each attribute. With `pairs="main"` only the main paths are looked at: no bound.
    `certify` proves how often the best guess is right at the first prior.

    >>> told = risk("dhc-2022-08-25", prior="1/100", false_positive_rates=["1e-4"], guess=["1/2016"])
    >>> row, = told.detections
    >>> round(row.true_positive_rate, 4), round(row.predictive[0][1], 4), round(told.guesses[0].after, 4)
    (0.1545, 0.9398, 0.2773)
    """
    listed = releases_of(asked.releases)
    priors, pairs = _priors(asked.prior), asked.pairs
    alphas = [_open_rate(rate, "a false-positive rate") for rate in one_or_more(asked.false_positive_rates)]
    chances = [_open_rate(chance, "a chance to guess") for chance in one_or_more(asked.guess)]
    small = read_delta(asked.delta, floats=True)
    if pairs not in ("all", "main"):
        raise InputError(f"pairs is {pairs!r}; it must be 'all' or 'main'")
    compared = DataSetPairs(
        listed, neighbours=asked.neighbours, people=asked.people, exact=asked.exact, jobs=asked.jobs
    )
    whole, nobody = compared.whole(), compared.nobody()
    levels = {level.name for release in listed for level in release.levels}
    parts = _Parts(asked.progress, 3 + len(compared.attributes) + len(levels))
    if pairs == "main":
        whole, nobody = (
            None if accounted is None else compared.main_only(accounted) for accounted in (whole, nobody)
        )
    elif whole is not None:
        whole = whole.with_workers(asked.jobs, parts)
    rates = _true_rates(whole, alphas, compared.plain.claim, compared.told_apart)
    parts.done()
    counted = [
        (member, run, row.query)
        for member, release in enumerate(listed)
        for run in release.runs(release.main)
        for row in release.run_table(run)
    ]
    attributes = []
    for name in compared.attributes:
        attributes.append(_attribute(compared, name, small, pairs, counted, alphas, priors))
        parts.done()
    profile = _profile(compared, whole, priors, pairs, priors[:1] if asked.certify else [], parts)
    return ReleaseRisk(
        profile,
        tuple(_detection(alpha, rate, priors) for alpha, rate in zip(alphas, rates, strict=True)),
        _guesses(compared, whole, nobody, chances),
        tuple(attributes),
        tuple(release.name for release in listed),
        compared.exact,
        sum(compared.fixed(*count) for count in counted),
        len(counted),
        compared.told_apart,
        None if whole is None else whole.with_workers(asked.jobs),  # what it reports to stays here
    )


# -- reading -------------------------------------------------------------------------------------------------


def _priors(prior: Exact | Sequence[Exact]) -> list[Fraction]:
    many = is_column(prior)
    read = [read_prior(chance) for chance in (prior if many else [prior])]  # type: ignore[union-attr, arg-type]
    if not read:
        raise InputError("no prior is given; at least one is needed")
    return list(dict.fromkeys(read))


def _open_rate(value: Number, what: str) -> Fraction:
    (read,) = read_probabilities(value, name=what).values
    return read


class _Parts:
    """How far a question of many parts has come, told as (done, total) in hundredths of all."""

    def __init__(self, told: Progress | None, many: int) -> None:
        self.told, self.many, self.finished = told, many, 0

    def __call__(self, done: int, total: int) -> None:
        """Take in how far the current part has come."""
        if self.told is not None:
            part = min(done / total, 0.99)
            self.told(math.floor(100 * (self.finished + part) / self.many), 100)

    def done(self) -> None:
        """Finish a part."""
        self.finished = min(self.finished + 1, self.many - 1)  # the last part ends with the answer
        self(0, 1)


# -- everything ----------------------------------------------------------------------------------------------


def _profile(
    compared: DataSetPairs,
    whole: Account | None,
    priors: list[Fraction],
    pairs: Pairs,
    proved: list[Fraction],
    parts: _Parts,
) -> RiskProfile:
    """Right decisions and beliefs: level by level, and of everything."""
    plain, kept = compared.plain, compared.varies
    about_levels = (compared.releases, plain.neighbours, priors, compared.people, kept)
    single, every = level_risks(*about_levels, parts.done)
    claim = plain.claim if whole is None else whole.claim
    cases = plain.pairs if whole is None else whole.pairs
    if compared.told_apart:
        rows: tuple[Risk, ...] = tuple(replace(_certain(p), claim=claim) for p in priors)
    elif whole is None:
        rows = tuple(replace(_nothing(p), claim=claim) for p in priors)
    else:
        rows = whole_risks(whole, priors, proved=proved)
    parts.done()
    complete = pairs == "all" or plain.pairs == 1
    modelled = plain.claim.kind is not AnswerKind.MODEL
    about = (plain.name, plain.unit, plain.neighbours)
    sums = any(variable.is_sum for release in compared.releases for variable in release.variables.values())
    return RiskProfile(
        *about, single, every, rows, cases, complete, plain.people, modelled, sums, claim=claim
    )


_OVERALL = ("overall", "everything published")


def _certain(p: Fraction) -> Risk:
    """An exact count tells the data sets apart."""
    return Risk(*_OVERALL, float(p), 1.0, 1.0, 1.0, (1.0,) * 5, 1.0, 1.0, 1.0)


def _nothing(p: Fraction) -> Risk:
    """No count differs, so that the prior stays."""
    prior = float(p)
    named, right = (1.0, prior) if p > Fraction(1, 2) else (0.0, None)
    return Risk(*_OVERALL, prior, max(prior, 1 - prior), 0.0, prior, (prior,) * 5, named, right, prior)


Rate = tuple[float, CaseLabel | None, Claim]
"""A rate of true positives, the case where f is least, and what is claimed: exact if that case attains it."""


def _true_rates(
    whole: Account | None, alphas: Sequence[Fraction], about: Claim, told_apart: bool = False
) -> list[Rate]:
    """1 - f(alpha), rounded up, the case where f is least, and the claim; `about` is that of no account."""
    if told_apart:
        return [(1.0, None, about)] * len(alphas)
    if whole is None:
        return [(float(alpha), None, about) for alpha in alphas]
    exact, bound = whole.claim, whole.claim.weakened(AnswerKind.BOUND)
    return [
        (min(max(1.0 - least.beta, float(alpha)), 1.0), least.case, exact if least.is_attained else bound)
        for least, alpha in zip(whole.least_errors(alphas), alphas, strict=True)
    ]


def predictive_value(prior: float, true: float, false: float) -> float:
    """Return the share of those accused who are present.

    >>> round(predictive_value(0.01, 0.285, 1e-4), 3)
    0.966
    """
    hit = prior * true
    return hit / (hit + (1.0 - prior) * false) if hit > 0 else 0.0


def _detection(alpha: Fraction, rate: Rate, priors: Sequence[Fraction]) -> Detection:
    true, case, claim = rate
    shares = tuple((float(p), predictive_value(float(p), true, float(alpha))) for p in priors)
    return Detection(float(alpha), true, shares, case, claim)


def _guesses(
    compared: DataSetPairs, whole: Account | None, nobody: Account | None, asked: list[Fraction]
) -> tuple[Guess, ...]:
    """The bound on each guess, by reference; by default of one of all detailed cells."""
    sizes = {release.attributes.cells: None for release in compared.releases if release.attributes}
    chances: dict[Fraction, int | None] = dict.fromkeys(asked)
    if not asked:
        chances |= {Fraction(1, size): size for size in (*sizes, 100) if size > 1}
    befores = list(chances)
    plain = compared.plain.claim
    alone = _true_rates(nobody, befores, plain)
    other: list[Rate | None] = [None] * len(befores)
    if compared.neighbours == "bounded":
        other = [*_true_rates(whole, befores, plain)]
    return tuple(
        Guess(
            Claim.of_all(rate[2] for rate in (single, replaced) if rate).weakened(AnswerKind.BOUND),
            float(before),
            replaced and replaced[0],
            single[0],
            _possibilities(before, many),
        )
        for (before, many), replaced, single in zip(chances.items(), other, alone, strict=True)
    )


def _possibilities(chance: Fraction, many: int | None) -> int | None:
    return many or (chance.denominator if chance.numerator == 1 else None)


# -- one attribute -------------------------------------------------------------------------------------------


def _attribute(
    compared: DataSetPairs,
    name: str,
    delta: Fraction,
    pairs: Pairs,
    counted: Sequence[tuple[int, tuple[str, ...], str]],
    alphas: Sequence[Fraction],
    priors: Sequence[Fraction],
) -> AttributeRisk:
    """The risk of one attribute: the largest over the changes that most queries see."""
    values, ways = len(compared.attributes[name]), compared.changes(name)
    rows = [_change(compared, keeps, delta, pairs, alphas) for keeps in ways]
    claim = Claim.of_all([row[4] for row in rows] or [compared.plain.claim])
    if not compared.is_seen_throughout(name) or len(compared.exact) > 0:
        claim = claim.weakened(AnswerKind.BOUND)
    if len(compared.attributes) > 1:
        claim = replace(claim, scope=claim.scope.without(OTHER_ATTRIBUTES))
    seen = max((sum(keeps(*count) for count in counted) for keeps in ways), default=0)
    about = (name, values, seen, len(counted), claim)
    if not ways:
        return AttributeRisk(*about, None, delta, None, (), None)
    epsilon, case = max(((row[0], row[1]) for row in rows), key=lambda pair: pair[0])
    right = max(row[2] for row in rows)
    best = [max((row[3][k] for row in rows), key=lambda pair: pair[0]) for k in range(len(alphas))]
    before = Fraction(1, values)
    after = max(_guess_one(compared, keeps, pairs, before) for keeps in ways)
    if values == 2:  # to guess one of two values is to tell them apart
        after = min(after, right)
    detections = tuple(_detection(a, rate, priors) for a, rate in zip(alphas, best, strict=True))
    guess = Guess(claim.weakened(AnswerKind.BOUND), float(before), None, after, values)
    return AttributeRisk(*about, epsilon, delta, right, detections, guess, case)


def _change(
    compared: DataSetPairs, keeps: Keeps, delta: Fraction, pairs: Pairs, alphas: Sequence[Fraction]
) -> tuple[float, CaseLabel | None, float, list[Rate], Claim]:
    """Epsilon, its case, the accuracy at an even prior, the rates and the claim, if these queries see it."""
    plain = compared.plain.claim
    whole = compared.account(keeps, paired=False, copies=2)
    if whole is None:
        return 0.0, None, 0.5, _true_rates(None, alphas, plain), plain
    whole = compared.main_only(whole) if pairs == "main" else whole
    (none,) = whole.at_epsilon([Fraction(0)])
    if none.delta <= float(delta):
        epsilon, case = 0.0, whole.main
    else:
        (point,) = whole.at_delta([delta])
        epsilon, case = max(point.epsilon, 0.0), point.worst
    rates = _true_rates(whole, alphas, plain)
    return epsilon, case, accuracy_at(Fraction(1, 2), none.delta), rates, whole.claim


def _guess_one(compared: DataSetPairs, keeps: Keeps, pairs: Pairs, before: Fraction) -> float:
    """The bound on guessing the attribute, against the counts without the person."""
    if before == 1:
        return 1.0
    alone = compared.account(keeps, paired=False)
    if alone is not None and pairs == "main":
        alone = compared.main_only(alone)
    return _true_rates(alone, [before], compared.plain.claim)[0][0]
