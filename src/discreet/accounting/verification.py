"""The check of a certificate or a claim, by another road than the one that made it.

That epsilon at some delta, or delta at some epsilon, lies between two ends holds if and only if

    delta(upper) <= delta of every case      and      delta(lower) >= delta of some case,

and each of these is a question about delta of one case at one exact point. The makers of a certificate answer
it on a contour or from a tilted list. `verify` answers it anew: far out by the bound of zCDP, for all cases;
else for the cases that bind by convolution from the definition (`certified.definition`) or, where that is too
long, on another contour with more bits; for all others, which have room to spare, by Chernoff's bound or by a
contour as coarse as the room allows, or all at once on another contour. Floats only choose the order.

A type II error is taken to the same question. With w = e^l every case has f(alpha) = sup over w of
g(w) = 1 - delta(l) - w alpha, and the release has the supremum of the least g of all cases. Any one l thus
shows beta >= lower, by delta(l) <= 1 - lower - e^l alpha for every case. And g is concave: delta of one case
at three points shows beta <= upper (`_least_error`).
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

from flint import arb

from discreet.accounting.certificate import Certificate, listed, number_text, strict_json
from discreet.accounting.certified.all_cases import UpperBounds
from discreet.accounting.certified.definition import defined_delta, seconds
from discreet.accounting.certified.tails import log_mgf_ball, tail_ball
from discreet.accounting.comparisons import zcdp_rho
from discreet.accounting.contour import Kind, Quadrature, saddle
from discreet.accounting.loss import Loss, is_coarse, log_fraction
from discreet.accounting.parallel import Progress, map_cases
from discreet.accounting.privacy_loss import compose
from discreet.accounting.tradeoff import envelope, heights, lowest_heights
from discreet.budget.levels import RELATIONS, CaseLabel, Neighbours
from discreet.budget.release import Release, load, read_text_file
from discreet.budget.toml import parse_toml
from discreet.errors import InputError, PrecisionError
from discreet.noise import Noise
from discreet.noise.balls import ball, interval, lower, upper, working_bits
from discreet.numbers import Exact, Interval, decimal, shown, whole

Verdict = Literal["proved", "refuted", "undecided"]

DEFINITION = "convolution from the definition"
ZCDP = "the bound of zCDP"
CHERNOFF = "Chernoff's bound"
COARSE = "a coarse contour"
ANOTHER = "another contour"
TOGETHER = "another contour for all"

LEAST = Fraction(1, 10**400)
"""Below every delta that can be claimed: no bound is written as a smaller number."""

LEAN = 0.07
"""How far another contour lies from that of the makers, as a part of its distance from the pole."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What came out when a statement was checked.

    `case` and `delta` are the witness: a case, and an interval that provably contains its delta at `epsilon`.
    `roads` says how many cases were settled by which method.
    """

    certificate: Certificate
    verdict: Verdict
    reason: str
    case: CaseLabel | None = None
    epsilon: Fraction | None = None
    delta: Interval | None = None
    roads: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """What JSON says of it."""
        witness = None
        if self.case is not None and self.epsilon is not None and self.delta is not None:
            ends = {
                "lower": decimal(max(self.delta.lower, Fraction(0)), down=True),
                "upper": decimal(self.delta.upper, down=False),
            }
            witness = {"case": listed(self.case), "epsilon": number_text(self.epsilon), "delta": ends}
        found = self.certificate.account()
        return {
            "verdict": self.verdict,
            "says": self.certificate.says,
            "reason": self.reason,
            "release": found.name,
            "unit": found.unit,
            "neighbours": found.neighbours,
            "people": found.people,
            "pairs": found.pairs,
            "answer": found.claim.as_dict(),
            "witness": witness,
            "roads": dict(self.roads),
        }

    def __str__(self) -> str:
        return f"{self.verdict.capitalize()}: {self.certificate.says} {self.reason}"


def verify(
    what: Certificate | Release | Sequence[Release] | str | os.PathLike[str],
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

    With `alpha` and `beta`: that no test of type I error alpha has a type II error below beta.

    Guarantee. "proved" and "refuted" rest on ball arithmetic for every case of the release; whatever neither
    can be shown of is "undecided". What is trusted: docs/explanation/certified.md.

    >>> from discreet.budget import Level, Query
    >>> level = Level(name="State", queries=[Query(name="total", variance=5)])
    >>> release = Release(name="one", neighbours="unbounded", levels=[level])
    >>> print(verify(release, epsilon="2.8", delta="1e-10"))
    Proved: This is (2.8, 1e-10)-differentially private. One case: convolution from the definition.
    >>> verify(release, epsilon="2.72", delta="1e-10").verdict
    'refuted'
    >>> verify(release, alpha="0.05", beta="0.8").verdict, verify(release, alpha="0.05", beta="0.9").verdict
    ('proved', 'refuted')
    """
    if isinstance(what, Certificate | str | os.PathLike):
        if any(value is not None for value in (epsilon, delta, alpha, beta)):
            raise InputError("a certificate states its own numbers; none can be given beside it")
        stated = what if isinstance(what, Certificate) else read_statement(what)
    else:
        releases = [what] if isinstance(what, Release) else list(what)
        stated = Certificate.claim(
            releases,
            epsilon=epsilon,
            delta=delta,
            alpha=alpha,
            beta=beta,
            neighbours=neighbours,
            people=people,
        )
    return _Check(stated, jobs, progress).run()


def read_statement(path: str | os.PathLike[str]) -> Certificate:
    """Read a certificate (JSON), or a claim (TOML or JSON) on `releases`: `epsilon` and `delta`, say."""
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
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise InputError(f"releases in {name} must be a list of names of presets or of TOML files")
    folder = Path(path).parent
    releases = [load(folder / one if (folder / one).is_file() else one) for one in names]
    relation = data.get("neighbours")
    if relation not in (None, *RELATIONS):
        raise InputError(f'neighbours in {name} is {shown(relation)}; it must be "bounded" or "unbounded"')
    return Certificate.claim(
        releases,
        **{key: data[key] for key in pair},
        neighbours=relation,
        people=whole(data.get("people", 1), name=f"people in {name}"),
    )


class _Found(NamedTuple):
    """An interval that contains delta of a case at an epsilon, and how it was had."""

    label: CaseLabel
    epsilon: Fraction
    box: Interval
    road: str


class _Task(NamedTuple):
    events: tuple[Noise, ...]
    epsilon: Fraction
    level: Fraction
    anew: bool
    """Whether a coarse road is not enough: the case binds."""


class _Check:
    """One verification: the cases, and what has been found of them."""

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
        # the witness of the lower end costs one case, all others are for the upper one
        below = None if low == 0 else self._some_reach(*bottom)
        if below is not None and below.verdict != "proved":
            return below
        above = self._none_exceeds(*top)
        if above.verdict == "proved" and below is not None:
            return self._answer("proved", self._how(), below.case, below.epsilon, below.delta)
        return above

    def _answer(
        self,
        verdict: Verdict,
        reason: str,
        case: CaseLabel | None = None,
        epsilon: Fraction | None = None,
        box: Interval | None = None,
    ) -> Verification:
        return Verification(self.stated, verdict, reason, case, epsilon, box, dict(self.roads))

    def _how(self) -> str:
        if self.account.pairs == 1:
            return f"One case: {next(iter(self.roads), 'nothing to show')}."
        parts = [f"{road} ({many})" for road, many in self.roads.most_common()]
        return f"All {self.account.pairs} cases: {', '.join(parts)}."

    def _likeliest(self, epsilon: Fraction) -> list[CaseLabel]:
        """Cases to look at first: where floats see the largest delta, and what the certificate names."""
        found = [] if self.stated.worst is None else [self.stated.worst]
        try:
            found.append(self.account.at_epsilon([epsilon])[0].worst)
        except PrecisionError:
            found.append(self.account.main)
        return list(dict.fromkeys(found))

    def _each(self, epsilon: Fraction, level: Fraction) -> Iterator[_Found]:
        """Every case, those with the same events as one: the likeliest first and anew, then the others.

        Where one bound for all of them is below the level, the main case stands for all.
        """
        bound = self._far_out(epsilon)
        if bound < level:
            self.roads[ZCDP] += self.account.pairs
            yield _Found(self.account.main, epsilon, Interval(Fraction(0), bound), ZCDP)
            return
        first = self._likeliest(epsilon)
        done = [self.account.events(label) for label in first]
        known = [_settle(_Task(events, epsilon, level, True)) for events in done]
        self.roads.update(road for _, road in known)
        for label, found in zip(first, known, strict=True):
            yield _Found(label, epsilon, *found)
        waiting: dict[tuple[Noise, ...], list[CaseLabel]] = {}
        for label, events in self.account.cases:
            if events not in done:
                waiting.setdefault(events, []).append(label)
        self.roads["the same events as another case"] += self.account.pairs - len(first) - len(waiting)
        self.roads += Counter()  # leave out what is zero
        if (together := self.account.together) is not None:
            # upper bounds by one contour for all
            tops = UpperBounds(together).at(epsilon, self.account.case(first[0]).loss, lean=LEAN)
            ends = {self.account.label(k): _above(top) for k, top in enumerate(tops) if top.is_finite()}
            for events, (label, *_) in list(waiting.items()):
                if label in ends and ends[label] < level:
                    self.roads[TOGETHER] += 1
                    yield _Found(label, epsilon, Interval(Fraction(0), ends[label]), TOGETHER)
                    waiting.pop(events)
        tasks = [_Task(events, epsilon, level, False) for events in waiting]
        boxes = map_cases(_settle, tasks, jobs=self.jobs, progress=self.progress, least=16)
        for (label, *_), (box, road) in zip(waiting.values(), boxes, strict=True):
            self.roads[road] += 1
            yield _Found(label, epsilon, box, road)

    def _far_out(self, epsilon: Fraction) -> Fraction:
        """A bound of delta in every case, by zCDP: discrete Laplace noise as its part of rho, or as pure.

        Of a loss that is at most `pure` but for a part that is rho-zCDP, delta(epsilon) is at most
        e^-((epsilon - pure - rho)^2 / (4 rho)).
        """
        best = Fraction(1)
        whole, gaussian, pure = (
            self.account.largest(cost)
            for cost in (
                zcdp_rho,
                lambda events: sum((e.precision for e in events), Fraction(0)) / 2,
                lambda events: sum((e.times * (e.largest or 0) for e in events), Fraction(0)),
            )
        )
        for rho, room in ((whole, epsilon - whole), (gaussian, epsilon - pure - gaussian)):
            if rho == 0 and room >= 0:
                return Fraction(0)
            if room > 0:
                with working_bits(96):
                    best = min(best, _exp_above(-ball(room * room / (4 * rho))))
        return best

    def _none_exceeds(self, epsilon: Fraction, level: Fraction) -> Verification:
        """Whether delta(epsilon) <= level in every case."""
        self.roads.clear()
        at, found = f"delta at epsilon {number_text(epsilon)}", []
        for one in self._each(epsilon, level):
            if one.box.lower > level:
                reason = f"is at least {_decisive(one.box.lower, level)}, above {number_text(level)}."
                return self._answer("refuted", f"In case {one.label} {at} {reason}", *one[:3])
            found.append(one)
        open_ = [one for one in found if one.box.upper > level]
        if not open_:
            return self._answer("proved", self._how(), *found[0][:3])
        label, _, box, _ = open_[0]
        low = decimal(max(box.lower, Fraction(0)), digits=6, down=True)
        return self._answer(
            "undecided",
            f"In {len(open_)} of {self.account.pairs} cases neither side could be proved: in case "
            f"{label} {at} is between {low} and {decimal(box.upper, digits=6, down=False)}.",
            *open_[0][:3],
        )

    def _some_reach(self, epsilon: Fraction, level: Fraction) -> Verification:
        """Whether delta(epsilon) >= level in some case."""
        found = []
        for one in self._each(epsilon, level):
            if one.box.lower >= level:
                return self._answer("proved", "", *one[:3])
            found.append(one)
        largest = max(found, key=lambda one: one.box.upper)
        at = f"delta at epsilon {number_text(epsilon)}"
        if largest.box.upper < level:
            return self._answer(
                "refuted",
                f"In every case {at} is at most {decimal(largest.box.upper, digits=6, down=False)}, below "
                f"{number_text(level)}: the lower end is too high.",
                *largest[:3],
            )
        reason = f"Whether {at} reaches {number_text(level)} in case {largest.label} could not be shown."
        return self._answer("undecided", reason, *largest[:3])

    # -- the two errors of a test --------------------------------------------------------------------

    def _of_errors(self, alpha: Fraction, low: Fraction, high: Fraction) -> Verification:
        """Whether the least type II error at alpha lies between two ends."""
        if low > 1 - alpha:
            flat = f"is {number_text(1 - alpha)}, below {number_text(low)}"
            return self._answer("refuted", f"The type II error of a test that ignores the data {flat}.")
        try:
            (point,) = envelope(self.account, [alpha])
            places = [*self._crossing(alpha, point.threshold), point.threshold]
            worst, about = point.worst, Fraction(point.beta)
        except PrecisionError as problem:
            return self._answer("undecided", f"No test was found to start from: {problem}.")
        says = ""
        if high < 1 - alpha:
            top, says = self._least_error(alpha, places, worst, about, high)
            if top is None or top > high:
                between = (high + about) / 2
                if between > high and self._some_line(alpha, places, between) is not None:
                    return self._answer(
                        "refuted",
                        f"No test of type I error {number_text(alpha)} has a type II error below "
                        f"{decimal(between, digits=6, down=True)}, which is above {number_text(high)}.",
                    )
                return self._answer("undecided", f"No test could be shown to reach the upper end. {says}")
        if low == 0:
            return self._answer("proved", says, worst)
        line = self._some_line(alpha, places, low)
        if line is not None:
            reason = f"{line.reason} {says}".strip()
            return self._answer("proved", reason, line.case, line.epsilon, line.delta)
        alone = self.stated.is_claim_of_errors
        if alone:
            worst, about, places = self._least_alone(alpha, places)
        top, says = self._least_error(alpha, places, worst, about, low, alone=alone)
        if top is not None and top < low:
            return self._answer("refuted", f"{says} That is below {number_text(low)}.", worst)
        return self._answer(
            "undecided", "It could not be shown in every case that no test has a smaller type II error."
        )

    def _least_alone(
        self, alpha: Fraction, places: Sequence[Fraction]
    ) -> tuple[CaseLabel, Fraction, list[Fraction]]:
        """The case whose own type II error is least as far as floats see, that error and its threshold."""
        labels = [label for label, _ in self.account.cases[:16]]
        labels += [label for _, label in lowest_heights(self.account, [*places], [alpha] * len(places))]
        best = min(labels, key=lambda label: float(self.account.case(label).tradeoff(alpha=alpha)))
        loss = self.account.case(best)
        return best, Fraction(float(loss.tradeoff(alpha=alpha))), loss.tradeoff_thresholds([alpha])

    def _some_line(self, alpha: Fraction, places: Sequence[Fraction], beta: Fraction) -> Verification | None:
        """A proof that no test of type I error alpha has a smaller type II error than beta, from one l."""
        for place in places:
            bits = 256 + 3 * abs(float(place)) - log_fraction(beta) / math.log(2)
            with working_bits(bits):
                if place >= 0:
                    level = lower(1 - ball(beta) - ball(place).exp() * ball(alpha))
                else:  # g(w) = w (1 - alpha - delta(-l))
                    level = lower(1 - ball(alpha) - ball(-place).exp() * ball(beta))
            if level > 0 and (found := self._none_exceeds(abs(place), level)).verdict == "proved":
                return found
        return None

    def _crossing(self, alpha: Fraction, place: Fraction) -> list[Fraction]:
        """Where the cases cross that have the least g on either side of a place, if they are two."""
        spread = self.account.case(self.account.main).loss.spread
        for part in (1e-5, 1e-3):
            low, high = place - Fraction(part * spread), place + Fraction(part * spread)
            (_, left), (_, right) = lowest_heights(self.account, [low, high], [alpha, alpha])
            if left != right:
                tails = [self.account.case(label).tails for label in (left, right)]
                for _ in range(50):
                    middle = Fraction(float((low + high) / 2))
                    one, two = (float(heights(each, [middle], [alpha])[0][0]) for each in tails)
                    low, high = (middle, high) if one < two else (low, middle)
                return [high]
        return []

    def _least_error(
        self,
        alpha: Fraction,
        places: Sequence[Fraction],
        worst: CaseLabel,
        beta: Fraction,
        aim: Fraction,
        *,
        alone: bool = False,
    ) -> tuple[Fraction | None, str]:
        """A proved upper bound of f(alpha), about beta, as sharp as the aim asks, and what it rests on.

        Around each place three points serve, the closer the sharper. To the left of the middle one the
        supremum of g is bounded for any one case, to the right of it for the same case or for another one:
        the curve of a release is convex and lies below those of its cases. `alone`: of one case by itself.
        """
        spread = self.account.case(worst).loss.spread
        best: Fraction | None = None
        says = "The values of delta at the points in question could not be enclosed."
        # the bound is off by about the square of a step, relatively
        first = math.sqrt(min(max(float(abs(aim - beta) / aim), 1e-13), 1e-6)) / 2
        for part in (first, first / 4, first / 20):
            for place in places:
                step = Fraction(part * spread)
                levels = (place - step, place, place + step)
                heads = lowest_heights(self.account, [levels[0], levels[2]], [alpha, alpha])
                labels = dict.fromkeys([worst, *(label for _, label in heads)])
                cases = {self.account.events(label): label for label in labels}
                try:
                    found = [
                        (*_greatest(events, levels, alpha, part**2 / 100 * float(aim)), label)
                        for events, label in cases.items()
                    ]
                except (ArithmeticError, ValueError, MemoryError):
                    continue
                left, right = min(found, key=lambda one: one[0]), min(found, key=lambda one: one[1])
                if alone:
                    left = right = min(found, key=lambda one: max(one[:2]))
                top = max(left[0], right[1], Fraction(0))
                if best is None or top < best:
                    best = top
                    names = dict.fromkeys((str(left[3]), str(right[3])))
                    says = (
                        f"{'A test in case' if len(names) == 1 else 'By cases'} {' and '.join(names)} "
                        f"{'has a type II error of' if len(names) == 1 else 'f is'} at most "
                        f"{decimal(top, digits=12, down=False)} ({left[2]})."
                    )
                if best < aim:
                    return best, says
        return best, says


def _greatest(
    events: tuple[Noise, ...], levels: Sequence[Fraction], alpha: Fraction, accuracy: float
) -> tuple[Fraction, Fraction, str]:
    """Upper bounds of g(w) = 1 - delta - w alpha up to the middle of three levels, and from there on.

    A chord of a concave function, continued beyond its ends, lies above it; beyond w = 1 / alpha g is below
    zero; and between two neighbouring values of the loss g is linear.
    """
    boxes, roads = zip(*(_enclosed(events, abs(level), accuracy) for level in levels), strict=True)
    loss = Loss(events)
    places = [(level - loss.offset) / loss.step for level in levels]
    linear = [math.floor(a) + 2 > math.ceil(b) for a, b in pairwise(places)]
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


def _enclosed(events: tuple[Noise, ...], epsilon: Fraction, accuracy: float) -> tuple[Interval, str]:
    """delta of one case to an absolute accuracy, from the definition or else on another contour."""
    bits = math.ceil(-math.log2(accuracy)) + 4
    if seconds(events, bits=bits) < 20:
        return defined_delta(events, epsilon, bits=bits), DEFINITION
    made = compose(events)
    step = made.engine.h if isinstance(made.engine, Quadrature) else made.loss.step
    size = math.exp(min(float(made.log_deltas([epsilon], math.inf)[0]), 0.0))
    relative = min(accuracy / size, 0.01)
    with working_bits(120 - 2 * math.log2(relative) + 2 * math.log2(2 + abs(float(epsilon)))):
        box = interval(tail_ball(made.loss, Kind.DELTA, epsilon, h=step, accuracy=relative, lean=LEAN))
    return box, ANOTHER


def _settle(task: _Task) -> tuple[Interval, str]:
    """Enclose delta of one case until it is known on which side of the level it lies, or nothing helps."""
    roads: list[Callable[[_Task], Iterator[tuple[Interval, str]]]] = [_by_definition, _by_another_contour]
    if not task.anew:
        is_soon_defined = seconds(task.events, bits=_depth(task) + 60) < 0.3
        roads = [_by_little, *roads] if is_soon_defined else [_by_little, *reversed(roads)]
    best = Interval(Fraction(0), Fraction(1))
    last = "nothing"
    for road in roads:
        try:
            for box, last in road(task):
                low, high = max(best.lower, box.lower), min(best.upper, box.upper)
                if low > high:
                    raise RuntimeError("two proofs contradict each other; this is a bug")
                best = Interval(low, high)
                if not low < task.level < high:
                    return best, last
        except (ArithmeticError, ValueError, MemoryError):
            continue  # refused, or beyond the range of floats, which lead the way: no road here
    return best, last


def _by_little(task: _Task) -> Iterator[tuple[Interval, str]]:
    """Chernoff's bound, then a contour that is just fine enough."""
    loss = Loss(task.events)
    if loss.largest is not None and task.epsilon >= loss.largest:
        yield Interval(Fraction(0), Fraction(0)), CHERNOFF  # no loss is as large
        return
    theta = Fraction(saddle(loss, Kind.DELTA, float(task.epsilon), 0.0))
    with working_bits(96):
        # (1 - e^-x) <= c e^(theta x), c = theta^theta / (1 + theta)^(1 + theta)
        t = ball(theta)
        log = log_mgf_ball(loss, theta) - t * ball(task.epsilon) + t * t.log() - (1 + t) * (1 + t).log()
        bound = _exp_above(log)
    yield Interval(Fraction(0), bound), CHERNOFF
    for accuracy in (0.05, 0.002):
        with working_bits(96):
            yield (
                interval(tail_ball(loss, Kind.DELTA, task.epsilon, h=_coarse_step(loss), accuracy=accuracy)),
                COARSE,
            )


def _exp_above(log: arb) -> Fraction:
    """An upper bound of e^log, up to 1; of what is too small for a claim, the least that is written."""
    return min(LEAST if log < -1000 else _above(log.exp()), Fraction(1)) if log < 0 else Fraction(1)


def _above(value: arb) -> Fraction:
    """The upper end of a ball, or the least number that is written."""
    return LEAST if value < ball(LEAST) else upper(value)


def _coarse_step(loss: Loss) -> Fraction | None:
    """The step of a lattice with so few nodes that all are summed; else None, for a cut line."""
    return loss.step if is_coarse(float(loss.step), loss.spread) else None


def _depth(task: _Task) -> int:
    """Bits of the level."""
    return 0 if task.level == 0 else max(0, math.ceil(-log_fraction(task.level) / math.log(2)))


def _by_definition(task: _Task) -> Iterator[tuple[Interval, str]]:
    for more in (60, 200, 1200):
        yield defined_delta(task.events, task.epsilon, bits=_depth(task) + more), DEFINITION


def _by_another_contour(task: _Task) -> Iterator[tuple[Interval, str]]:
    """A contour at a tilt beside the saddle point, and with more bits, finer and finer."""
    made = compose(task.events)
    # as the engine does it, on a lattice where there is one, but for coarse values: those a cut line has soon
    step = made.engine.h if isinstance(made.engine, Quadrature) else made.loss.step
    accuracy = 1e-3
    for _ in range(8):
        h = step if accuracy < 1e-4 else _coarse_step(made.loss)
        bits = 120 - 2 * math.log2(accuracy) + 2 * math.log2(2 + abs(float(task.epsilon)))
        with working_bits(bits):
            box = interval(tail_ball(made.loss, Kind.DELTA, task.epsilon, h=h, accuracy=accuracy, lean=LEAN))
        yield box, ANOTHER
        gap = float(abs(box.midpoint - task.level) / task.level) if task.level else 0.0
        accuracy = max(min(accuracy / 30, gap / 4), 1e-12)


def _decisive(value: Fraction, level: Fraction) -> str:
    """A number above a level, rounded down, with digits enough to see that it is above.

    >>> _decisive(Fraction("1.000000001e-10"), Fraction("1e-10")), _decisive(Fraction(2, 3), Fraction(1, 2))
    ('1.000000001E-10', '0.666666')
    """
    digits = next(n for n in range(6, 400) if Fraction(decimal(value, digits=n, down=True)) > level)
    return decimal(value, digits=digits, down=True)
