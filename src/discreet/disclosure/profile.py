"""What the best adversary makes of a whole release, from its exact privacy loss.

Let P1 and P0 be the laws of everything published with the target's record and without it (or with another in
its place), L = log(P1 / P0) the loss under P1, p the prior of the first and t = log((1 - p) / p).

*Accuracy.* The best decision says "present" where p P1 > (1 - p) P0. Averaged over the prior it is right with
probability (1 - q) + q delta(|t|), where q is the smaller of p and 1 - p, and delta the exact privacy
profile; that is 1 - min over alpha of [(1 - p) alpha + p f(alpha)]. At p = 1/2 the excess over one half is
half of delta(0), the advantage.

The mean of the posterior and its quantiles come from the loss too (`discreet.disclosure.beliefs`).

*Any law.* If L has no lattice, or is not mirrored, both directions are looked at: with p at most 1/2 the
accuracy is 1 - p + p delta(t), with delta that of P1 against P0, else p + (1 - p) delta(-t), with that of P0
against P1 (`discreet.loss.spread`). Where one record replaces another, the target may be either.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from discreet.accounting.account import Account, account
from discreet.accounting.parallel import Progress
from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.budget.claims import AnswerKind, Claim
from discreet.budget.events import release_of
from discreet.budget.neighbours import CaseLabel, Cases, Neighbours
from discreet.budget.release import Release
from discreet.budget.scope import Extent, Scope
from discreet.disclosure.beliefs import QUANTILES, worst_quantiles
from discreet.disclosure.counts import OTHER_LEVELS
from discreet.disclosure.decisions import Costs
from discreet.disclosure.inputs import one_variance
from discreet.disclosure.odds import Floats
from discreet.disclosure.questions import DEFAULT_PRIOR
from discreet.errors import InputError
from discreet.faces import Displayed, page_in_words
from discreet.loss.lattice import Loss
from discreet.loss.law import prior_threshold
from discreet.loss.posteriors import logistic, mean_posteriors
from discreet.loss.values import Number, Numbers
from discreet.noise import DiscreteGaussian, Noise, grouped
from discreet.noise.capabilities import supports
from discreet.numbers import Interval, is_column
from discreet.numbers import prior as read_prior

Pairs = Literal["all", "main"]

DIGITS = 5
"""Of a certified accuracy. All cases lie close together there, so that more digits would take minutes."""

CERTAIN = Fraction(1, 100)
"""Noise of this variance or less is not zero with probability below 1e-21: the count is all but revealed."""

_MOST_VALUES = 2_000_000
_ROUNDING = Fraction(1, 10**12)


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
    claim: Claim | None = None
    """Of what the numbers are true; None only while the row is made."""

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
        return self.what.removeprefix("one count of ").removeprefix("one sum of ")

    @property
    def is_one_count(self) -> bool:
        """Whether the row is of one count, whose numbers are rounded; those of other rows are rounded up."""
        return self.what.startswith(("one count", "one sum"))


@dataclass(frozen=True, slots=True)
class RiskProfile(Displayed):
    """The risk of one count of each level, of each level, and of the whole release, by prior.

    `one_count` is the paper's attack: its adversary knows everyone else in the area and looks at the count of
    the level, holding the target, that tells most at even odds (of the largest total variation; from another
    prior another count may tell more). Levels are those of the main path, merged ones together.
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
    claim: Claim = field(kw_only=True)
    modelled: bool = True
    has_sums: bool = False
    """Whether some numbers are sums, to which the target adds the whole bound: the most telling case."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if row.claim is None:
                raise TypeError(f"the row of {row.scope}, {row.what}, does not say of what it is true")

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
        single, levels, overall = (
            tuple(row for row in rows if row.prior == wanted)
            for rows in (self.one_count, self.levels, self.overall)
        )
        return replace(self, one_count=single, levels=levels, overall=overall)


def risk_profile(
    release: Release | str | os.PathLike[str] | Mapping[str, Number] | Sequence[Number],
    *,
    prior: Numbers = DEFAULT_PRIOR,
    neighbours: Neighbours | None = None,
    people: int = 1,
    pairs: Pairs = "all",
    certify: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
    whole: Account | None = None,
) -> RiskProfile:
    """Return the best any adversary can do: one count, each level, and everything published, by prior.

    `release` is a release or its name, taken with its true variances, or rhos (a list, or a mapping by
    level), each of one count when a record is added or removed, with noise of variance 1/(2 rho). With
    bounded neighbours the target is replaced by another record, and all pairs of paths are compared;
    `pairs="main"` looks at the main pair alone: quick, but no bound. `people` is the number of people
    whose records change together.
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
    many = is_column(prior)
    given = prior if many else [prior]
    read = [read_prior(chance) for chance in given]  # type: ignore[union-attr, arg-type]
    priors = [*{float(chance): chance for chance in read}.values()]
    if not priors:
        raise InputError("no prior is given; at least one is needed")
    if pairs not in ("all", "main"):
        raise InputError(f"pairs is {pairs!r}; it must be 'all' or 'main'")
    if isinstance(release, str | os.PathLike):
        release = release_of(release)
    if not isinstance(release, Release):
        return _profile_of_rhos(release, priors)
    if whole is None:
        whole = account(release, neighbours=neighbours, people=people, jobs=jobs)
    if progress is not None:
        whole = whole.with_workers(jobs, progress)
    single, every = level_risks([release], whole.neighbours, priors, whole.people)
    complete = pairs == "all" or whole.pairs == 1
    if not complete:
        whole = whole.only_main()
    rows = (single, every, whole_risks(whole, priors, proved=priors if certify else ()))
    about = (whole.name, whole.unit, whole.neighbours)
    modelled = release.claim.kind is not AnswerKind.MODEL
    sums = any(variable.is_sum for variable in release.variables.values())
    return RiskProfile(*about, *rows, whole.pairs, complete, whole.people, modelled, sums, claim=whole.claim)


def level_risks(
    releases: Sequence[Release],
    neighbours: Neighbours,
    priors: Sequence[Fraction],
    people: int = 1,
    keeps: Callable[[int, tuple[str, ...], str], bool] | None = None,
    done: Callable[[], None] = lambda: None,
) -> tuple[tuple[Risk, ...], tuple[Risk, ...]]:
    """Return the risks of the count of each level that tells most at even odds, and of all counts of each.

    Levels are those of the main paths; those of several releases with one name are one. `keeps` says of a
    query, by the number of its release and its run of levels, whether it counts; `done` is called after each
    level.
    """
    levels: dict[str, list[tuple[str, Noise, str]]] = {}
    for member, release in enumerate(releases):
        for run in release.runs(release.main):
            for row in release.run_table(run):
                if keeps is None or keeps(member, run, row.query):
                    named = row.query if len(releases) == 1 else f"{row.query} ({release.name})"
                    noun = "sum" if release.variables[row.query].is_sum else "count"
                    levels.setdefault(row.level, []).append((named, row.event.for_people(people), noun))
    single: list[Risk] = []
    every: list[Risk] = []
    taken: list[str] = []
    for name, events in levels.items():
        query, event, noun = max(events, key=lambda row: _advantage(row[1].repeated(1)))
        taken.append(f"{name}: {query}")
        single += part_risks([event.repeated(1)], priors, scope=name, what=f"one {noun} of {query}")
        together = [noise for _, noise, _ in events]
        if neighbours == "bounded":  # another record comes where the target's leaves
            together += [noise.exchanged() for noise in together]
        every += part_risks(together, priors, scope=name, what="every count of the level")
        done()
    counts = [f"{name}: {query}" for name, events in levels.items() for query, _, _ in events]
    of = Scope.joint(
        Scope.whole(release.name, unit=release.unit, neighbours=neighbours, people=people)
        for release in releases
    )
    if any(len(release.paths) > 1 for release in releases):
        of = of.without("paths other than the main one")
    modelled = any(release.claim.kind is AnswerKind.MODEL for release in releases)
    return _claimed_parts(of, single, every, taken, counts, is_modelled=modelled)


def _claimed_parts(
    of: Scope,
    single: Sequence[Risk],
    every: Sequence[Risk],
    taken: Sequence[str],
    counts: Sequence[str],
    *,
    is_modelled: bool,
) -> tuple[tuple[Risk, ...], tuple[Risk, ...]]:
    """Say of rows of one count, and of one level, of which counts and levels they are true."""
    single_scope = of.with_part(Extent.of("count", taken=taken, every=counts))
    if len(counts) > 1:
        single_scope = single_scope.without("the other counts, in rows of one count")
    level = of.without(OTHER_LEVELS) if len({row.scope for row in every}) > 1 else of
    kind = AnswerKind.MODEL if is_modelled else AnswerKind.BOUND
    return (
        tuple(replace(row, claim=Claim(single_scope)) for row in single),
        tuple(replace(row, claim=Claim(level, kind)) for row in every),
    )


def part_risks(
    events: Sequence[Noise], priors: Sequence[Fraction], *, scope: str = "", what: str = ""
) -> tuple[Risk, ...]:
    """Return the risks of some counts together, at each prior.

    >>> row, = part_risks([DiscreteGaussian(variance="10.08")], [Fraction(1, 2)])
    >>> round(row.accuracy, 4), round(row.expected, 4)
    (0.5628, 0.5121)
    """
    is_single = len(events) == 1 and events[0].times == 1 and supports("posterior", events)
    if is_single and _reach(events[0]) <= _MOST_VALUES:
        rows = tuple(_count_risk(events[0], p) for p in priors)
    else:
        rows = _part_risks(tuple(grouped(events)), tuple(priors))
    return tuple(replace(row, scope=scope, what=what) for row in rows)


@lru_cache(maxsize=2048)
def _part_risks(events: tuple[Noise, ...], priors: tuple[Fraction, ...]) -> tuple[Risk, ...]:
    """The risks of some counts, kept: a level alone may be all of a release, and every surface asks."""
    law = compose(events).law
    none, deltas = law.advantage_and_deltas(priors)
    means, marks, largest = law.mean_posteriors(priors), law.quantiles(QUANTILES), law.largest
    return tuple(
        _risk(p, naming, accuracy_at(p, delta), none, mean, marks, largest)
        for p, naming, delta, mean in zip(priors, law.naming_chances(priors), deltas, means, strict=True)
    )


def _law_cases(whole: Account) -> dict[tuple[Noise, ...], CaseLabel]:
    """The different events of all cases, each by its first label; where records are replaced both ways."""
    labels: dict[tuple[Noise, ...], CaseLabel] = {}
    for label, events in whole.cases:
        labels.setdefault(events, label)
        if whole.neighbours == "bounded" and not all(event.is_mirrored for event in events):
            labels.setdefault(grouped(event.exchanged() for event in events), label)
    return labels


def _worst_law_risks(
    whole: Account, priors: Sequence[Fraction]
) -> tuple[tuple[Risk, ...], list[CaseLabel | None]]:
    """The risks of several cases with noise of any law: each number the largest of any."""
    cases = _law_cases(whole)
    each = [part_risks(events, priors) for events in cases]
    rows, worst = [], list[CaseLabel | None]()
    for index in range(len(priors)):
        here = [row[index] for row in each]
        top, label = max(zip(here, cases.values(), strict=True), key=lambda pair: pair[0].accuracy)
        most = [row.most for row in here]
        rows.append(
            replace(
                top,
                advantage=max(row.advantage for row in here),
                expected=max(row.expected for row in here),
                quantiles=tuple(map(max, zip(*(row.quantiles for row in here), strict=True))),
                most=None if None in most else max(bound for bound in most if bound is not None),
            )
        )
        worst.append(label)
    return tuple(rows), worst


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


def accuracy_at(prior: Fraction, delta: float) -> float:
    """Return the best accuracy, averaged over the prior, from delta at |log((1 - p) / p)|."""
    less = min(prior, 1 - prior)
    return min(float(1 - less) + float(less) * delta, 1.0)  # rounding may lift a certainty above one


def best_accuracies(loss: PrivacyLoss, priors: Sequence[Fraction]) -> Floats:
    """Return the best accuracy from one loss at each prior.

    >>> best_accuracies(compose([DiscreteGaussian(variance="10.08")]), [Fraction(1, 2)]).round(4).tolist()
    [0.5628]
    """
    deltas = loss.law.prior_deltas(priors)
    return np.array([accuracy_at(p, float(delta)) for p, delta in zip(priors, deltas, strict=True)])


def whole_risks(
    whole: Account, priors: Sequence[Fraction], *, proved: Sequence[Fraction] = ()
) -> tuple[Risk, ...]:
    """Return the risks of everything that an account is of, each the largest of any case.

    At the priors `proved` the accuracy has a proof.
    """
    cases: Sequence[CaseLabel | None]
    if not supports("posterior", whole.all_events):
        rows, cases = _worst_law_risks(whole, priors)
    elif whole.pairs == 1:
        rows, cases = part_risks(whole.cases[0][1], priors), [whole.main] * len(priors)
    else:
        none, *points = whole.at_epsilon([Fraction(0), *map(prior_threshold, priors)])
        compared = whole.cases
        every = compared if isinstance(compared, Cases) else [events for _, events in compared]
        means = mean_posteriors(every, priors).max(axis=0).tolist()
        of_all = worst_quantiles(whole), _largest_loss(whole)
        cases = [point.worst for point in points]
        rows = tuple(
            _risk(p, naming, accuracy_at(p, at.delta), none.delta, mean, *of_all)
            for p, at, mean in zip(priors, points, means, strict=True)
            for naming in whole.case(at.worst).law.naming_chances([p])
        )
    proofs = [_certified(whole, p) if p in proved else None for p in priors]
    about = {"scope": "overall", "what": "everything published"}
    return tuple(
        replace(row, **about, case=case, certified=proof, claim=whole.claim)  # type: ignore[arg-type]
        for row, case, proof in zip(rows, cases, proofs, strict=True)
    )


def _largest_loss(whole: Account) -> Fraction | None:
    """The largest loss that can occur in any case; None where there is no bound."""
    if not isinstance(whole.cases, Cases):
        bounds = [Loss(events).largest for _, events in whole.cases]
        return None if None in bounds else max(filter(None, bounds))
    ends = [[Loss(events).largest for events in group.events] for group in whole.cases.groups]
    if any(None in row for row in ends):
        return None
    # the loss of a case is that of its paths together
    return (2 if whole.cases.paired else 1) * sum((max(filter(None, row)) for row in ends), Fraction(0))


def _certified(whole: Account, prior: Fraction) -> Interval:
    """An interval that contains the best accuracy."""
    from discreet.noise.balls import as_interval, ball, working_bits

    q = min(prior, 1 - prior)
    threshold = Interval(Fraction(0), Fraction(0))
    if 2 * q != 1:
        with working_bits(160):
            log_odds = as_interval(ball((1 - q) / q).log())
        # short ends: the threshold goes into ball arithmetic again
        threshold = Interval(Fraction(math.floor(log_odds.lower * 2**80), 2**80), log_odds.upper)
    box = whole.delta(epsilon=threshold.lower, certified=True, digits=DIGITS)
    # delta falls by no more than epsilon rises, so the exact t costs the lower end no more than its width
    low = max(box.lower - threshold.width, Fraction(0))
    if not all(event.is_mirrored for event in whole.all_events):
        low = Fraction(0)  # the larger delta may be that of the other direction
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
    if not supports("posterior", [event]) or _reach(event) > _MOST_VALUES:
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
        tuple(
            row
            for name, event in events.items()
            for row in part_risks([event], priors, scope=name, what=what)
        )
        for what in ("one count", "every count of the level")
    )
    least = min(events.values(), key=lambda event: event.variance)
    # beside noise that is hardly any, the other counts add nothing to the last digit
    seen = [least] if least.variance <= CERTAIN else list(events.values())
    overall = part_risks(seen, priors, scope="overall", what="everything published")
    counts = [f"{name}: one count" for name in events]
    of = Scope.whole("rhos", unit="person", neighbours="unbounded")
    single, levels = _claimed_parts(of, single, levels, counts, counts, is_modelled=False)
    scope = Scope.whole("rhos", unit="person", neighbours="unbounded").with_part(
        Extent.of("level", taken=events, every=map(str, named))
    )
    overall = tuple(replace(row, claim=Claim(scope)) for row in overall)
    return RiskProfile("rhos", "person", "unbounded", single, levels, overall, 1, True, claim=Claim(scope))


def explain_profile(profile: RiskProfile, *, title: str = "") -> str:
    """Return a page in plain words, as Markdown; the profile must hold one prior.

    >>> page = explain_profile(risk_profile({"Block": "0.0992"}, prior="1/2"))
    >>> "is right 58.88 times in 100" in page
    True
    """
    return page_in_words(profile, title=title)
