"""The check of a certificate or a claim, by another method than the one that made it.

Epsilon at some delta lies between two ends if and only if

    in every case  delta(upper end) <= delta      and      in some case  delta(lower end) >= delta,

and likewise for delta at some epsilon. Each of these is a question about delta of one case at one exact
point. The makers of a certificate answer it on a contour or from a tilted list. `verify` answers it again:
far out by the bound of zCDP, for all cases; otherwise, for the cases that bind, by convolution from the
definition (`certified.definition`) or, where that takes too long, on another contour with more bits; and for
all others, which have room to spare, by Chernoff's bound, by a contour as coarse as the room allows, or all
together on another contour. Floats only choose the order.

A type II error comes down to the same question. With w = e^l every case has f(alpha) = sup over w of
g(w) = 1 - delta(l) - w alpha, and the release has the supremum of the least g of all cases. So any one l
proves beta >= lower, if delta(l) <= 1 - lower - e^l alpha in every case. And g is concave: delta of one case
at three points proves beta <= upper (`_least_error`).
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

from flint import arb

from discreet.accounting.certificate import FORMAT_WITHOUT_SCOPE, Certificate, strict_json
from discreet.accounting.envelope import envelope, lowest_heights
from discreet.accounting.parallel import Progress, map_cases
from discreet.budget.claims import AnswerKind
from discreet.budget.events import Releasables
from discreet.budget.neighbours import RELATIONS, CaseLabel, Neighbours
from discreet.budget.presets import load
from discreet.budget.text_files import read_text_file
from discreet.budget.toml import parse_toml
from discreet.calls import understandable
from discreet.errors import InputError, PrecisionError
from discreet.faces import Summarised, reason_in_words
from discreet.loss.lattice import log_fraction
from discreet.loss.law import loss_of
from discreet.loss.second_opinion import enclosed_delta, exp_above
from discreet.loss.tradeoff import heights
from discreet.noise import Noise
from discreet.noise.balls import ball, lower, upper, working_bits
from discreet.noise.capabilities import require
from discreet.noise.distribution import ProvedCost
from discreet.numbers import Exact, Interval, shown, whole

Verdict = Literal["proved", "refuted", "undecided"]

BY_ZCDP = "the bound of zCDP"


class Ground(StrEnum):
    """What a verdict rests on."""

    SETTLED = "settled"
    """Every case lies on the stated side."""
    EXCEEDED = "exceeded"
    """Delta of the witness is above what is stated."""
    NOT_SETTLED = "not settled"
    """Neither side could be proved of some cases."""
    NOT_REACHED = "not reached"
    """Delta is below what is stated in every case."""
    PERHAPS_REACHED = "perhaps reached"
    """Whether delta is as large as stated is open."""
    GUESSING = "guessing"
    """A test that ignores the data has a smaller type II error than stated."""
    NO_START = "no start"
    """No test was found in floats."""
    TEST = "test"
    """A test has a type II error as small as stated."""
    NO_TEST = "no test"
    """No test could be shown to have one."""
    ALL_LARGER = "all larger"
    """Every test has a larger type II error than stated."""
    SMALLER = "smaller"
    """A test has a smaller type II error than stated."""
    PERHAPS_SMALLER = "perhaps smaller"
    """Whether a test has a smaller type II error than stated is open."""
    NO_SCOPE = "no scope"
    """The numbers hold in the cases taken, but the file does not state that it is about these alone."""


class ErrorBound(NamedTuple):
    """A proved upper bound of the least type II error, the case or the two cases that give it, and how."""

    beta: Fraction
    cases: tuple[CaseLabel, ...]
    road: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Summarised):
    """The result of checking a statement.

    `case` and `delta` are the witness: a case, and an interval that provably contains its delta at `epsilon`;
    `level` is what delta was compared with. `roads` counts the cases settled by each method, `compared` are
    all of them, and `open_cases` those of which neither side could be proved. `test` bounds the least type II
    error; `larger` is what no test has a smaller one than. `trouble` says why floats found no test.
    """

    certificate: Certificate
    verdict: Verdict
    ground: Ground
    case: CaseLabel | None = None
    epsilon: Fraction | None = None
    delta: Interval | None = None
    level: Fraction | None = None
    roads: Mapping[str, int] = field(default_factory=dict)
    compared: int = 1
    open_cases: int = 0
    test: ErrorBound | None = None
    larger: Fraction | None = None
    trouble: str = ""

    @property
    def not_checked(self) -> tuple[str, ...]:
        """What the certificate states beside the claim that this check neither used nor proved."""
        stated = self.certificate
        if stated.worst is None and stated.method is None:
            return ()  # a claim names neither
        is_shown = self.verdict == "proved" and self.case == stated.worst
        return ("program", "method") if is_shown else ("program", "method", "worst")

    @property
    def rests_on_a_bound(self) -> bool:
        """Whether some case breaks a promise that the release may keep: its account is an upper bound."""
        return (
            self.ground in (Ground.EXCEEDED, Ground.SMALLER)
            and self.certificate.is_one_sided
            and self.certificate.account().claim.kind is AnswerKind.BOUND
        )

    @property
    def reason(self) -> str:
        """Why, in words."""
        return reason_in_words(self)


@understandable
def verify(
    what: Certificate | Releasables,
    *,
    epsilon: Exact | None = None,
    delta: Exact | None = None,
    alpha: Exact | None = None,
    beta: Exact | None = None,
    neighbours: Neighbours | None = None,
    people: int = 1,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Verification:
    """Prove or refute a certificate, a file with a claim, or that a release is (epsilon, delta)-private.

    With an epsilon and a delta, a release is named as for `account`: by a preset, a file or a list of events.
    With `alpha` and `beta`, the claim is that no test of type I error alpha has a type II error below beta.

    Guarantee. "proved" and "refuted" rest on ball arithmetic for every case of the release; anything neither
    proved nor refuted is "undecided". So is a promise that a release may keep although its account, which is
    an upper bound, exceeds it. What is trusted: docs/explanation/certified.md.

    >>> from discreet.budget import Level, Query, Release
    >>> level = Level(name="State", queries=[Query(name="total", variance=5)])
    >>> release = Release(name="one", neighbours="unbounded", levels=[level])
    >>> print(verify(release, epsilon="2.8", delta="1e-10"))
    Proved: This is (2.8, 1e-10)-differentially private. One case: convolution from the definition.
    >>> verify(release, epsilon="2.72", delta="1e-10").verdict
    'refuted'
    >>> verify(release, alpha="0.05", beta="0.8").verdict, verify(release, alpha="0.05", beta="0.9").verdict
    ('proved', 'refuted')
    """
    is_claim = any(value is not None for value in (epsilon, delta, alpha, beta))
    if isinstance(what, str | os.PathLike) and (os.fspath(what).endswith(".json") or not is_claim):
        what = read_statement(what)
    if isinstance(what, Certificate):
        if is_claim:
            raise InputError("a certificate states its own numbers; none can be given beside it")
        stated = what
    else:
        stated = Certificate.claim(
            what,
            epsilon=epsilon,
            delta=delta,
            alpha=alpha,
            beta=beta,
            neighbours=neighbours,
            people=people,
        )
    checked = _Check(stated, jobs, progress).run()
    if stated.format == FORMAT_WITHOUT_SCOPE and checked.verdict == "proved":
        return replace(checked, verdict="undecided", ground=Ground.NO_SCOPE)
    if checked.rests_on_a_bound:
        return replace(checked, verdict="undecided")
    return checked


def read_statement(path: str | os.PathLike[str]) -> Certificate:
    """Read a certificate (JSON), or a claim (TOML or JSON) about `releases`, such as epsilon and delta."""
    text, name = read_text_file(path, "certificate or claim")
    if text.lstrip().startswith("{"):
        data = strict_json(text, name)
        if "format" in data:
            return Certificate.from_text(text, where=name)
    else:
        data = parse_toml(text, name, parse_float=str)
    pair = ("alpha", "beta") if "alpha" in data or "beta" in data else ("epsilon", "delta")
    for key in data:
        if key not in ("releases", *pair, "neighbours", "people"):
            raise InputError(
                f"{name} is neither a certificate nor a claim: it has {shown(key)}, and a claim states "
                "releases, epsilon and delta (or alpha and beta), and perhaps neighbours and people"
            )
    for key in ("releases", *pair):
        if key not in data:
            raise InputError(f"{name} has no {key}; a claim states releases, {pair[0]} and {pair[1]}")
    names = [data["releases"]] if isinstance(data["releases"], str) else data["releases"]
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise InputError(f"releases in {name} must be a list of names of presets or of TOML files")
    folder = Path(path).parent
    releases = [load(folder / each if (folder / each).is_file() else each) for each in names]
    relation = data.get("neighbours")
    if relation not in (None, *RELATIONS):
        raise InputError(f'neighbours in {name} is {shown(relation)}; it must be "bounded" or "unbounded"')
    return Certificate.claim(
        releases,
        **{key: data[key] for key in pair},
        neighbours=relation,
        people=whole(data.get("people", 1), name=f"people in {name}"),
    )


class _Enclosure(NamedTuple):
    """An interval that contains delta of a case at an epsilon, and the method used."""

    label: CaseLabel
    epsilon: Fraction
    box: Interval
    road: str


class _Task(NamedTuple):
    events: tuple[Noise, ...]
    epsilon: Fraction
    level: Fraction
    binds: bool
    """Whether the case decides, so that a coarse method is not enough."""


class _Check:
    """One verification: its cases, and what is known about them."""

    def __init__(self, stated: Certificate, jobs: int, progress: Progress | None) -> None:
        self.stated, self.jobs, self.progress = stated, jobs, progress
        self.account = stated.account(jobs=jobs)
        self.roads: Counter[str] = Counter()

    def run(self) -> Verification:
        given, low, high = self.stated.given, self.stated.interval.lower, self.stated.interval.upper
        if self.stated.quantity == "beta":
            return self._of_errors(given, low, high)
        if self.stated.quantity == "epsilon":
            top, bottom = (high, given), (low, given)
        else:
            top, bottom = (given, high), (given, low)
        # the lower end takes one case, the upper end all of them
        below = None if low == 0 else self._some_reach(*bottom)
        if below is not None and below.verdict != "proved":
            return below
        above = self._none_exceeds(*top)
        if above.verdict == "proved" and below is not None:
            return replace(above, case=below.case, epsilon=below.epsilon, delta=below.delta)
        return above

    def _answer(
        self,
        verdict: Verdict,
        ground: Ground,
        witness: _Enclosure | None = None,
        level: Fraction | None = None,
        *,
        case: CaseLabel | None = None,
        open_cases: int = 0,
        test: ErrorBound | None = None,
        larger: Fraction | None = None,
        trouble: str = "",
    ) -> Verification:
        return Verification(
            certificate=self.stated,
            verdict=verdict,
            ground=ground,
            case=case if witness is None else witness.label,
            epsilon=None if witness is None else witness.epsilon,
            delta=None if witness is None else witness.box,
            level=level,
            roads=dict(self.roads),
            compared=self.account.pairs,
            open_cases=open_cases,
            test=test,
            larger=larger,
            trouble=trouble,
        )

    def _likeliest(self, epsilon: Fraction) -> list[CaseLabel]:
        """The cases to check first: the one that the certificate names, and the worst in floats."""
        labels = [] if self.stated.worst is None else [self.stated.worst]
        try:
            labels.append(self.account.at_epsilon([epsilon])[0].worst)
        except PrecisionError:
            labels.append(self.account.main)
        return list(dict.fromkeys(labels))

    def _each(self, epsilon: Fraction, level: Fraction) -> Iterator[_Enclosure]:
        """Enclose every case, equal events once: the likeliest first and closely, then the others.

        Where one bound for all of them is below the level, the main case stands for all.
        """
        bound = self._far_out(epsilon)
        if bound < level:
            self.roads[BY_ZCDP] += self.account.pairs
            yield _Enclosure(self.account.main, epsilon, Interval(Fraction(0), bound), BY_ZCDP)
            return
        first = self._likeliest(epsilon)
        done = [self.account.events(label) for label in first]
        settled = [_settle(_Task(events, epsilon, level, True)) for events in done]
        self.roads.update(road for _, road in settled)
        for label, (box, road) in zip(first, settled, strict=True):
            yield _Enclosure(label, epsilon, box, road)
        waiting: dict[tuple[Noise, ...], list[CaseLabel]] = {}
        for label, events in self.account.cases:
            if events not in done:
                waiting.setdefault(events, []).append(label)
        self.roads["the same events as another case"] += self.account.pairs - len(first) - len(waiting)
        self.roads += Counter()  # leave out what is zero
        # upper bounds of all cases together
        ends, road = self.account.case_set.other_bounds(epsilon, first[0], len(waiting))
        for events, (label, *_) in list(waiting.items()):
            if label in ends and ends[label] < level:
                self.roads[road] += 1
                yield _Enclosure(label, epsilon, Interval(Fraction(0), ends[label]), road)
                waiting.pop(events)
        tasks = [_Task(events, epsilon, level, False) for events in waiting]
        boxes = map_cases(_settle, tasks, jobs=self.jobs, progress=self.progress, least=16)
        for (label, *_), (box, road) in zip(waiting.values(), boxes, strict=True):
            self.roads[road] += 1
            yield _Enclosure(label, epsilon, box, road)

    def _far_out(self, epsilon: Fraction) -> Fraction:
        """A bound of delta in every case, by zCDP: discrete Laplace noise by its rho, or as pure DP.

        If a loss is the sum of one that is at most `pure` and one that is rho-zCDP, delta(epsilon) is at most
        e^-((epsilon - pure - rho)^2 / (4 rho)).
        """
        best = Fraction(1)
        if any(event.proved_cost is None for event in self.account.all_events):
            return best
        whole, gaussian, pure = (self.account.largest(cost) for cost in (_rho, _normal_rho, _pure))
        for rho, room in ((whole, epsilon - whole), (gaussian, epsilon - pure - gaussian)):
            if rho == 0 and room >= 0:
                return Fraction(0)
            if room > 0:
                with working_bits(96):
                    best = min(best, exp_above(-ball(room * room / (4 * rho))))
        return best

    def _none_exceeds(self, epsilon: Fraction, level: Fraction) -> Verification:
        """Whether delta(epsilon) <= level in every case."""
        self.roads.clear()
        enclosures = []
        for case in self._each(epsilon, level):
            if case.box.lower > level:
                return self._answer("refuted", Ground.EXCEEDED, case, level)
            enclosures.append(case)
        open_ = [case for case in enclosures if case.box.upper > level]
        if not open_:
            return self._answer("proved", Ground.SETTLED, enclosures[0], level)
        return self._answer("undecided", Ground.NOT_SETTLED, open_[0], level, open_cases=len(open_))

    def _some_reach(self, epsilon: Fraction, level: Fraction) -> Verification:
        """Whether delta(epsilon) >= level in some case."""
        enclosures = []
        for case in self._each(epsilon, level):
            if case.box.lower >= level:
                return self._answer("proved", Ground.SETTLED, case, level)
            enclosures.append(case)
        largest = max(enclosures, key=lambda case: case.box.upper)
        if largest.box.upper < level:
            return self._answer("refuted", Ground.NOT_REACHED, largest, level)
        return self._answer("undecided", Ground.PERHAPS_REACHED, largest, level)

    # -- the two errors of a test --------------------------------------------------------------------

    def _of_errors(self, alpha: Fraction, low: Fraction, high: Fraction) -> Verification:
        """Check that the least type II error at alpha lies between two ends."""
        require("proved trade-off", self.account.all_events)
        if low > 1 - alpha:
            return self._answer("refuted", Ground.GUESSING)
        try:
            (point,) = envelope(self.account, [alpha])
            thresholds = [*self._crossing(alpha, point.threshold), point.threshold]
            worst, about = point.worst, Fraction(point.beta)
        except PrecisionError as problem:
            return self._answer("undecided", Ground.NO_START, trouble=str(problem))
        test: ErrorBound | None = None
        if high < 1 - alpha:
            test = self._least_error(alpha, thresholds, worst, about, high)
            if test is None or test.beta > high:
                between = (high + about) / 2
                if between > high and self._some_line(alpha, thresholds, between) is not None:
                    return self._answer("refuted", Ground.ALL_LARGER, larger=between)
                return self._answer("undecided", Ground.NO_TEST, test=test)
        if low == 0:
            return self._answer("proved", Ground.TEST, case=worst, test=test)
        line = self._some_line(alpha, thresholds, low)
        if line is not None:
            return replace(line, test=test)
        alone = self.stated.is_claim_of_errors
        if alone:
            worst, about, thresholds = self._least_alone(alpha, thresholds)
        test = self._least_error(alpha, thresholds, worst, about, low, alone=alone)
        if test is not None and test.beta < low:
            return self._answer("refuted", Ground.SMALLER, case=worst, test=test)
        return self._answer("undecided", Ground.PERHAPS_SMALLER)

    def _least_alone(
        self, alpha: Fraction, thresholds: Sequence[Fraction]
    ) -> tuple[CaseLabel, Fraction, list[Fraction]]:
        """The case whose own type II error is least in floats, that error, and its threshold."""
        labels = [label for label, _ in self.account.cases[:16]]
        labels += [
            label for _, label in lowest_heights(self.account, [*thresholds], [alpha] * len(thresholds))
        ]
        best = min(labels, key=lambda label: float(self.account.case(label).tradeoff(alpha=alpha)))
        loss = self.account.case(best)
        return best, Fraction(float(loss.tradeoff(alpha=alpha))), loss.law.tradeoff_thresholds([alpha])

    def _some_line(
        self, alpha: Fraction, thresholds: Sequence[Fraction], beta: Fraction
    ) -> Verification | None:
        """A proof, from one l, that no test of type I error alpha has a type II error below beta."""
        for threshold in thresholds:
            bits = 256 + 3 * abs(float(threshold)) - log_fraction(beta) / math.log(2)
            with working_bits(bits):
                if threshold >= 0:
                    level = lower(1 - ball(beta) - ball(threshold).exp() * ball(alpha))
                else:  # g(w) = w (1 - alpha - delta(-l))
                    level = lower(1 - ball(alpha) - ball(-threshold).exp() * ball(beta))
            if level > 0 and (proof := self._none_exceeds(abs(threshold), level)).verdict == "proved":
                return proof
        return None

    def _crossing(self, alpha: Fraction, threshold: Fraction) -> list[Fraction]:
        """Where the two cases cross that have the least g on either side of a threshold, if they differ."""
        spread = self.account.case(self.account.main).law.on_lattice().loss.spread
        for part in (1e-5, 1e-3):
            low, high = threshold - Fraction(part * spread), threshold + Fraction(part * spread)
            (_, left), (_, right) = lowest_heights(self.account, [low, high], [alpha, alpha])
            if left != right:
                tails = [self.account.case(label).law.tails for label in (left, right)]
                for _ in range(50):
                    middle = Fraction(float((low + high) / 2))
                    first, second = (float(heights(each, [middle], [alpha])[0][0]) for each in tails)
                    low, high = (middle, high) if first < second else (low, middle)
                return [high]
        return []

    def _least_error(
        self,
        alpha: Fraction,
        thresholds: Sequence[Fraction],
        worst: CaseLabel,
        beta: Fraction,
        aim: Fraction,
        *,
        alone: bool = False,
    ) -> ErrorBound | None:
        """A proved upper bound of f(alpha), which is about beta, as sharp as the aim needs.

        Around each threshold three points are used; the closer they are, the sharper the bound. To the left
        of the middle one the supremum of g is bounded by any one case, to the right of it by the same case or
        by another: the curve of a release is convex and lies below those of its cases. With `alone`, by one
        case only.
        """
        spread = self.account.case(worst).law.on_lattice().loss.spread
        best: ErrorBound | None = None
        # the bound is off by about the square of a step, relatively
        first = math.sqrt(min(max(float(abs(aim - beta) / aim), 1e-13), 1e-6)) / 2
        for part in (first, first / 4, first / 20):
            for threshold in thresholds:
                step = Fraction(part * spread)
                levels = (threshold - step, threshold, threshold + step)
                heads = lowest_heights(self.account, [levels[0], levels[2]], [alpha, alpha])
                labels = dict.fromkeys([worst, *(label for _, label in heads)])
                cases = {self.account.events(label): label for label in labels}
                try:
                    bounds = [
                        (*_greatest(events, levels, alpha, part**2 / 100 * float(aim)), label)
                        for events, label in cases.items()
                    ]
                except (ArithmeticError, ValueError, MemoryError):
                    continue
                left, right = min(bounds, key=lambda bound: bound[0]), min(bounds, key=lambda bound: bound[1])
                if alone:
                    left = right = min(bounds, key=lambda bound: max(bound[:2]))
                top = max(left[0], right[1], Fraction(0))
                if best is None or top < best.beta:
                    best = ErrorBound(top, tuple(dict.fromkeys((left[3], right[3]))), left[2])
                if best.beta < aim:
                    return best
        return best


def _greatest(
    events: tuple[Noise, ...], levels: Sequence[Fraction], alpha: Fraction, accuracy: float
) -> tuple[Fraction, Fraction, str]:
    """Upper bounds of g(w) = 1 - delta - w alpha up to the middle of three levels, and from there on.

    A concave function lies below its chords continued beyond their ends; beyond w = 1 / alpha g is negative;
    and between two neighbouring values of the loss g is linear.
    """
    law = loss_of(events).on_lattice("proved trade-off")
    boxes, roads = zip(*(enclosed_delta(law, abs(level), accuracy) for level in levels), strict=True)
    loss = law.loss
    steps = [(level - loss.offset) / loss.step for level in levels]
    linear = [math.floor(a) + 2 > math.ceil(b) for a, b in pairwise(steps)]
    zero = Fraction(0)
    with working_bits(200 - 3 * math.log2(accuracy) + 3 * max(abs(float(level)) for level in levels)):
        w, g = [], []
        for level, box in zip(levels, boxes, strict=True):
            delta = arb.union(ball(box.lower), ball(box.upper))
            w.append(ball(level).exp())
            if level >= 0:
                g.append(1 - delta - w[-1] * ball(alpha))
            else:
                g.append(w[-1] * (ball(1 - alpha) - delta))
        first, second = ((g[i + 1] - g[i]) / (w[i + 1] - w[i]) for i in (0, 1))
        ends = [upper(v) for v in g]
        rise, fall = max(upper(first), zero), max(-lower(second), zero)

        def above(start: arb, slope: Fraction, length: arb) -> Fraction:
            return upper(start + ball(slope) * length)

        inner = max(ends[:2]) if linear[0] else above(g[1], fall, w[1] - w[0])
        outer = above(g[0], max(-lower(first), zero), w[0])
        left = min(above(g[1], fall, w[1]), max(inner, outer))
        inner = max(ends[1:]) if linear[1] else above(g[1], rise, w[2] - w[1])
        room = [ball(max(1 / alpha - lower(v), zero)) for v in w]
        outer = above(g[2], max(upper(second), zero), room[2])
        right = min(above(g[1], rise, room[1]), max(inner, outer))
    return left, right, str(max(roads, key=roads.count))


def _settle(task: _Task) -> tuple[Interval, str]:
    """Enclose delta of one case until it lies on one side of the level, or no method is left."""
    best = Interval(Fraction(0), Fraction(1))
    last = "nothing"
    for road in loss_of(task.events).second_opinions(task.epsilon, task.level, binds=task.binds):
        try:
            for box, last in road:
                low, high = max(best.lower, box.lower), min(best.upper, box.upper)
                if low > high:
                    raise RuntimeError("two proofs contradict each other; this is a bug")
                best = Interval(low, high)
                if not low < task.level < high:
                    return best, last
        except (ArithmeticError, ValueError, MemoryError):
            continue  # refused, or beyond the range of floats, which guide every method: try the next one
    return best, last


def _rho(events: tuple[Noise, ...]) -> Fraction:
    """A rho of zCDP: Gaussian noise by its own, Laplace noise by its pure epsilon."""
    return sum((cost.rho for cost in _costs(events)), Fraction(0))


def _normal_rho(events: tuple[Noise, ...]) -> Fraction:
    """The rho of Gaussian noise alone."""
    return sum((cost.normal for cost in _costs(events)), Fraction(0))


def _pure(events: tuple[Noise, ...]) -> Fraction:
    """The largest loss of all but Gaussian noise."""
    return sum((cost.pure for cost in _costs(events)), Fraction(0))


def _costs(events: tuple[Noise, ...]) -> Iterator[ProvedCost]:
    return (event.proved_cost for event in events if event.proved_cost is not None)
