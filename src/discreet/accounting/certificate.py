"""Certificates: a number with all that it takes to check it; and the check, by another road than it was made.

A certificate states that the epsilon of a release at some delta (or its delta at some epsilon) lies between
two ends. "This release is (19.5, 1e-10)-differentially private" is the same statement with ends 0 and 19.5.
It holds if and only if

    delta(upper) <= delta of every case      and      delta(lower) >= delta of some case,

and each of these is a question about delta of one case at one exact point. The makers of a certificate answer
it on a contour or from a tilted list. `verify` answers it anew: for the cases that bind, by convolution from
the definition (`certified.definition`) or, where that is too long, on another contour with more bits; for all
others, which have room to spare, by Chernoff's bound or by a contour as coarse as the room allows. Floats
only choose the order.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple

from discreet.accounting.arguments import log_fraction
from discreet.accounting.contour import Kind, Quadrature, saddle
from discreet.accounting.evaluation import Direct
from discreet.accounting.loss import Loss
from discreet.accounting.overall import Account, account
from discreet.accounting.parallel import Progress, map_cases
from discreet.accounting.portfolio import portfolio
from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.budget.levels import RELATIONS, Neighbours
from discreet.budget.release import Release, load, read_file
from discreet.budget.toml import parse_toml
from discreet.errors import InputError, PrecisionError
from discreet.noise import Noise
from discreet.numbers import Exact, Interval, decimal, fraction, shown, whole

FORMAT = "discreet certificate 1"
LARGEST_EPSILON = 10**6

Quantity = Literal["epsilon", "delta"]
Verdict = Literal["proved", "refuted", "undecided"]

DEFINITION = "convolution from the definition"
CHERNOFF = "Chernoff's bound"
COARSE = "a coarse contour"
ANOTHER = "another contour"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What is stated of a release, or of several together, and how it was found.

    `quantity` at `given` (an epsilon at a delta, or a delta at an epsilon) lies in `interval`. An epsilon is
    the smallest one, not below zero. `taken` says which cases are meant: "all", "main" (of several releases
    only the main paths), or the label of a single case.

    >>> from discreet.budget import Level, Query
    >>> level = Level(name="State", queries=[Query(name="total", variance=5)])
    >>> made = Certificate.of([Release(name="one", neighbours="unbounded", levels=[level])], delta="1e-10")
    >>> print(made.says)    # doctest: +ELLIPSIS
    Epsilon at delta 1e-10 lies between 2.72112... and 2.72112....
    >>> Certificate.from_text(made.to_text()) == made
    True
    """

    releases: tuple[Release, ...]
    neighbours: Neighbours
    people: int = 1
    taken: Any = "all"
    quantity: Quantity
    given: Fraction
    interval: Interval
    worst: Any = None
    method: Mapping[str, Any] | None = None
    program: str = field(default_factory=lambda: f"discreet {version('discreet')}")

    def __post_init__(self) -> None:
        low, high = self.interval.lower, self.interval.upper
        if self.quantity == "epsilon" and not 0 < self.given < 1:
            raise InputError(f"delta is {_short(self.given)}; it must lie strictly between 0 and 1")
        if self.quantity == "delta" and not 0 <= self.given <= LARGEST_EPSILON:
            raise InputError(f"epsilon is {_short(self.given)}; it must lie between 0 and {LARGEST_EPSILON}")
        most = LARGEST_EPSILON if self.quantity == "epsilon" else 1
        if not 0 <= low <= high <= most:
            raise InputError(
                f"{self.quantity} is stated to lie between {_short(low)} and {_short(high)}; the ends must "
                f"lie between 0 and {most}"
            )

    # -- made ------------------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        releases: Sequence[Release],
        *,
        delta: Exact | None = None,
        epsilon: Exact | None = None,
        neighbours: Neighbours | None = None,
        people: int = 1,
        digits: int | None = None,
        jobs: int = 1,
    ) -> Certificate:
        """Certify the epsilon of a release at a delta, or its delta at an epsilon."""
        if (delta is None) == (epsilon is None):
            raise InputError("a certificate is of the epsilon at one delta, or of the delta at one epsilon")
        plain = cls._stated(releases, neighbours, people, "all", Fraction(1, 2), Fraction(0))
        found = plain.account(jobs=jobs)
        if delta is not None:
            at = fraction(delta, name="delta")
            box = found.epsilon(delta=at, certified=True, digits=digits)
            box = Interval(max(box.lower, Fraction(0)), max(box.upper, Fraction(0)))
            return cls.from_account(found, releases, "epsilon", at, box, digits=digits)
        at = fraction(epsilon, name="epsilon")  # type: ignore[arg-type]
        box = found.delta(epsilon=at, certified=True, digits=digits)
        return cls.from_account(found, releases, "delta", at, box, digits=digits)

    @classmethod
    def from_account(
        cls,
        account: Account,
        releases: Sequence[Release],
        quantity: Quantity,
        given: Fraction,
        interval: Interval,
        *,
        worst: Any = None,
        digits: int | None = None,
    ) -> Certificate:
        """A certificate of what an account has proved; the ends are written as decimals, rounded outward."""
        many = 17 if digits is None else digits + 2
        ends = Interval(
            fraction(decimal(interval.lower, digits=many, down=True)),
            fraction(decimal(interval.upper, digits=many, down=False)),
        )
        if worst is None:
            points = account.at_delta([given]) if quantity == "epsilon" else account.at_epsilon([given])
            worst = points[0].worst
        taken: Any = "all"
        if account.pairs == 1 and (len(releases) > 1 or _cases_of(releases, account) > 1):
            taken = "main" if len(releases) > 1 else account.main
        return cls(
            releases=tuple(releases),
            neighbours=account.neighbours,
            people=account.people,
            taken=taken,
            quantity=quantity,
            given=given,
            interval=ends,
            worst=worst,
            method=_method(account.case(worst), digits),
        )

    @classmethod
    def claim(
        cls,
        releases: Sequence[Release],
        *,
        epsilon: Exact,
        delta: Exact,
        neighbours: Neighbours | None = None,
        people: int = 1,
        main_path: bool = False,
    ) -> Certificate:
        """The statement that a release is (epsilon, delta)-differentially private, with no proof.

        >>> from discreet.budget import load
        >>> print(Certificate.claim([load("dhc-2020")], epsilon="19.5", delta="1e-10").says)
        This is (19.5, 1e-10)-differentially private.
        """
        small, large = fraction(delta, name="delta"), fraction(epsilon, name="epsilon")
        if large < 0:
            raise InputError(f"epsilon is {_short(large)}; it must be zero or more")
        return cls._stated(releases, neighbours, people, "main" if main_path else "all", small, large)

    @classmethod
    def _stated(
        cls,
        releases: Sequence[Release],
        neighbours: Neighbours | None,
        people: int,
        taken: str,
        delta: Fraction,
        epsilon: Fraction,
    ) -> Certificate:
        if not releases:
            raise InputError("a certificate needs at least one release")
        relations = {release.neighbours for release in releases}
        relation: Neighbours = neighbours or ("bounded" if "bounded" in relations else "unbounded")
        return cls(
            releases=tuple(releases),
            neighbours=relation,
            people=people,
            taken=taken,
            quantity="epsilon",
            given=delta,
            interval=Interval(Fraction(0), epsilon),
        )

    def account(self, *, jobs: int = 1) -> Account:
        """The account of the releases: the cases that the statement is about."""
        people = whole(self.people, name="people")
        if self.neighbours not in RELATIONS:
            raise InputError(f'neighbours is {shown(self.neighbours)}; it must be "bounded" or "unbounded"')
        if len(self.releases) > 1:
            if self.taken not in ("all", "main"):
                raise InputError("a single case is of one release, not of several together")
            return portfolio(
                self.releases,
                neighbours=self.neighbours,
                people=people,
                jobs=jobs,
                all_pairs=self.taken == "all",
            )
        (release,) = self.releases
        found = account(release, neighbours=self.neighbours, people=people, jobs=jobs)
        if self.taken == "all":
            return found
        one = [(self.taken, found.events(self.taken))]
        return Account(
            release.name, release.unit, self.neighbours, one, self.taken, people, claim=release.claim
        )

    # -- said, written and read ------------------------------------------------------------------

    @property
    def says(self) -> str:
        """The statement in one sentence."""
        low, high = (_number(x) for x in (self.interval.lower, self.interval.upper))
        given = _number(self.given)
        if self.quantity == "epsilon" and self.interval.lower == 0:
            return f"This is ({high}, {given})-differentially private."
        other = "delta" if self.quantity == "epsilon" else "epsilon"
        return f"{self.quantity.capitalize()} at {other} {given} lies between {low} and {high}."

    def as_dict(self) -> dict[str, Any]:
        """What the file of the certificate states, all of it."""
        found = self.account()
        other = "delta" if self.quantity == "epsilon" else "epsilon"
        ends = {"lower": _number(self.interval.lower), "upper": _number(self.interval.upper)}
        content: dict[str, Any] = {
            "format": FORMAT,
            "program": self.program,
            "says": self.says,
            "claim": {"quantity": self.quantity, other: str(self.given), **ends},
            "unit": found.unit,
            "neighbours": self.neighbours,
            "people": self.people,
            "cases": {"taken": _listed(self.taken), "compared": found.pairs},
            "answer": found.claim.as_dict(),
            "worst": None,
            "method": None if self.method is None else dict(self.method),
            "releases": [release.to_toml() for release in self.releases],
        }
        if self.worst is not None:
            events = [_event(event) for event in found.events(self.worst)]
            content["worst"] = {"case": _listed(self.worst), "events": events}
        return content | {"digest": _digest(content)}

    def to_text(self) -> str:
        """The certificate as JSON."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_text(cls, text: str, where: str = "the certificate") -> Certificate:
        """Read a certificate. One that was changed, or that contradicts itself, is refused.

        >>> Certificate.from_text('{"format": "discreet certificate 7"}', where="a.json")
        Traceback (most recent call last):
        discreet.errors.InputError: the format of a.json is 'discreet certificate 7'; \
this program reads 'discreet certificate 1'
        """
        data = _parsed(text, where)
        if data.get("format") != FORMAT:
            raise InputError(
                f"the format of {where} is {shown(data.get('format'))}; this program reads {shown(FORMAT)}"
            )
        digest = data.pop("digest", None)
        if digest != _digest(data):
            raise InputError(f"{where} was changed after it was made: its digest does not fit its content")
        try:
            claim, taken, worst = data["claim"], data["cases"]["taken"], data["worst"]
            quantity = claim["quantity"]
            if quantity not in ("epsilon", "delta"):
                raise InputError(f'quantity is {shown(quantity)}; it must be "epsilon" or "delta"')
            texts = data["releases"]
            if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
                raise InputError("releases must be a list of TOML texts")
            given = claim["delta" if quantity == "epsilon" else "epsilon"]
            made = cls(
                releases=tuple(Release.from_toml(t, where=f"a release in {where}") for t in texts),
                neighbours=data["neighbours"],
                people=data["people"],
                taken=_label(taken),
                quantity=quantity,
                given=fraction(given, name="what is given"),
                interval=Interval(
                    fraction(claim["lower"], name="lower"), fraction(claim["upper"], name="upper")
                ),
                worst=None if worst is None else _label(worst["case"]),
                method=data["method"],
                program=data["program"],
            )
            again = made.as_dict()
        except InputError as error:
            raise InputError(f"{error} ({where})") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{where} is no certificate: {type(error).__name__} at {shown(str(error))}"
            ) from None
        again.pop("digest")
        for key in dict.fromkeys([*data, *again]):
            if data.get(key) != again.get(key):
                raise InputError(f"{where} contradicts itself: {key} is not what the rest of it implies")
        return made


# -- verified ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verification:
    """What came out when a statement was checked.

    `case` and `delta` are the witness: a case, and an interval that provably contains its delta at `epsilon`.
    `roads` says how many cases were settled by which method.
    """

    certificate: Certificate
    verdict: Verdict
    reason: str
    case: Any = None
    epsilon: Fraction | None = None
    delta: Interval | None = None
    roads: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """What JSON says of it."""
        witness = None
        if self.case is not None and self.epsilon is not None and self.delta is not None:
            ends = {
                "lower": decimal(max(self.delta.lower, Fraction(0)), down=True),
                "upper": decimal(self.delta.upper, down=False),
            }
            witness = {"case": _listed(self.case), "epsilon": _number(self.epsilon), "delta": ends}
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
    neighbours: Neighbours | None = None,
    people: int = 1,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Verification:
    """Prove or refute a certificate, a file with a claim, or that a release is (epsilon, delta)-private.

    Guarantee. "proved" and "refuted" rest on ball arithmetic for every case of the release; whatever neither
    can be shown of is "undecided". What is trusted: docs/explanation/certified.md.

    >>> from discreet.budget import Level, Query
    >>> level = Level(name="State", queries=[Query(name="total", variance=5)])
    >>> release = Release(name="one", neighbours="unbounded", levels=[level])
    >>> print(verify(release, epsilon="2.8", delta="1e-10"))
    Proved: This is (2.8, 1e-10)-differentially private. One case: convolution from the definition.
    >>> verify(release, epsilon="2.72", delta="1e-10").verdict
    'refuted'
    """
    if isinstance(what, Certificate | str | os.PathLike):
        if epsilon is not None or delta is not None:
            raise InputError("a certificate states its own epsilon and delta; none can be given beside it")
        stated = what if isinstance(what, Certificate) else read_statement(what)
    else:
        if epsilon is None or delta is None:
            raise InputError("of a release an epsilon and a delta are needed, to prove or refute them")
        releases = [what] if isinstance(what, Release) else list(what)
        stated = Certificate.claim(
            releases, epsilon=epsilon, delta=delta, neighbours=neighbours, people=people
        )
    return _Check(stated, jobs, progress).run()


def read_statement(path: str | os.PathLike[str]) -> Certificate:
    """Read a certificate (JSON), or a claim (TOML or JSON): `releases`, `epsilon` and `delta`."""
    text, name = read_file(path, "certificate or claim")
    if text.lstrip().startswith("{"):
        data = _parsed(text, name)
        if "format" in data:
            return Certificate.from_text(text, where=name)
    else:
        data = parse_toml(text, name, parse_float=str)
    known = ("releases", "epsilon", "delta", "neighbours", "people")
    for key in data:
        if key not in known:
            raise InputError(
                f"{name} is neither a certificate nor a claim: it has {shown(key)}, and a claim states "
                "releases, epsilon and delta, and perhaps neighbours and people"
            )
    for key in known[:3]:
        if key not in data:
            raise InputError(f"{name} has no {key}; a claim states releases, epsilon and delta")
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
        epsilon=data["epsilon"],
        delta=data["delta"],
        neighbours=relation,
        people=whole(data.get("people", 1), name=f"people in {name}"),
    )


class _Found(NamedTuple):
    """An interval that contains delta of a case, and how it was had."""

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
        case: Any = None,
        epsilon: Fraction | None = None,
        box: Interval | None = None,
    ) -> Verification:
        return Verification(self.stated, verdict, reason, case, epsilon, box, dict(self.roads))

    def _how(self) -> str:
        parts = [f"{road} ({many})" for road, many in self.roads.most_common()]
        cases = self.account.pairs
        if cases == 1:
            return f"One case: {next(iter(self.roads), 'nothing to show')}."
        return f"All {cases} cases: {', '.join(parts)}."

    def _likeliest(self, epsilon: Fraction) -> list[Any]:
        """Cases to look at first: where floats see the largest delta, and what the certificate names."""
        found = [] if self.stated.worst is None else [self.stated.worst]
        try:
            found.append(self.account.at_epsilon([epsilon])[0].worst)
        except PrecisionError:
            found.append(self.account.main)
        return list(dict.fromkeys(found))

    def _settled(self, labels: Sequence[Any], epsilon: Fraction, level: Fraction) -> list[_Found]:
        """The named cases, anew."""
        found = [_settle(_Task(self.account.events(label), epsilon, level, True)) for label in labels]
        self.roads.update(one.road for one in found)
        return found

    def _rest(self, known: Sequence[Any], epsilon: Fraction, level: Fraction) -> Iterator[tuple[Any, _Found]]:
        """All other cases; those with the same events are one."""
        done = {self.account.events(label) for label in known}
        waiting: dict[tuple[Noise, ...], list[Any]] = {}
        for label, events in self.account.cases:
            if events not in done:
                waiting.setdefault(events, []).append(label)
        self.roads["the same events as another case"] += self.account.pairs - len(known) - len(waiting)
        self.roads += Counter()  # leave out what is zero
        tasks = [_Task(events, epsilon, level, False) for events in waiting]
        found = map_cases(_settle, tasks, jobs=self.jobs, progress=self.progress, least=16)
        for labels, one in zip(waiting.values(), found, strict=True):
            self.roads[one.road] += 1
            yield labels[0], one

    def _none_exceeds(self, epsilon: Fraction, level: Fraction) -> Verification:
        """Whether delta(epsilon) <= level in every case."""
        self.roads.clear()
        first = self._likeliest(epsilon)
        known = list(zip(first, self._settled(first, epsilon, level), strict=True))
        for label, one in known:
            if one.box.lower > level:
                return self._exceeds(label, one.box, epsilon, level)
        open_: list[tuple[Any, _Found]] = []
        for label, one in (*known, *self._rest(first, epsilon, level)):
            if one.box.lower > level:
                return self._exceeds(label, one.box, epsilon, level)
            if one.box.upper > level:
                open_.append((label, one))
        if not open_:
            return self._answer("proved", self._how(), known[0][0], epsilon, known[0][1].box)
        label, one = open_[0]
        return self._answer(
            "undecided",
            f"Of {len(open_)} of {self.account.pairs} cases it could not be shown on which side they lie: "
            f"in case {label} delta at epsilon {_number(epsilon)} is between "
            f"{decimal(max(one.box.lower, Fraction(0)), digits=6, down=True)} and "
            f"{decimal(one.box.upper, digits=6, down=False)}.",
            label,
            epsilon,
            one.box,
        )

    def _exceeds(self, label: Any, box: Interval, epsilon: Fraction, level: Fraction) -> Verification:
        return self._answer(
            "refuted",
            f"In case {label} delta at epsilon {_number(epsilon)} is at least "
            f"{decimal(box.lower, digits=6, down=True)}, above {_number(level)}.",
            label,
            epsilon,
            box,
        )

    def _some_reach(self, epsilon: Fraction, level: Fraction) -> Verification:
        """Whether delta(epsilon) >= level in some case."""
        first = self._likeliest(epsilon)
        known = list(zip(first, self._settled(first, epsilon, level), strict=True))
        for label, one in known:
            if one.box.lower >= level:
                return self._answer("proved", "", label, epsilon, one.box)
        largest: tuple[Any, _Found] = max(known, key=lambda pair: pair[1].box.upper)
        for label, one in self._rest(first, epsilon, level):
            if one.box.lower >= level:
                return self._answer("proved", "", label, epsilon, one.box)
            if one.box.upper > largest[1].box.upper:
                largest = (label, one)
        if largest[1].box.upper < level:
            return self._answer(
                "refuted",
                f"In every case delta at epsilon {_number(epsilon)} is at most "
                f"{decimal(largest[1].box.upper, digits=6, down=False)}, below {_number(level)}: the lower "
                "end is too high.",
                largest[0],
                epsilon,
                largest[1].box,
            )
        return self._answer(
            "undecided",
            f"Whether delta at epsilon {_number(epsilon)} reaches {_number(level)} in case {largest[0]} "
            "could not be shown.",
            largest[0],
            epsilon,
            largest[1].box,
        )


def _settle(task: _Task) -> _Found:
    """Enclose delta of one case until it is known on which side of the level it lies, or nothing helps."""
    roads: list[Callable[[_Task], Iterator[tuple[Interval, str]]]] = [_by_definition, _by_another_contour]
    if not task.anew:
        roads = [_by_little, *roads] if _is_soon_defined(task) else [_by_little, *reversed(roads)]
    best = Interval(Fraction(0), Fraction(1))
    last = "nothing"
    for road in roads:
        try:
            for box, last in road(task):
                low, high = max(best.lower, box.lower), min(best.upper, box.upper)
                if low > high:
                    raise RuntimeError("two proofs contradict each other, which is a mistake of the program")
                best = Interval(low, high)
                if not low < task.level < high:
                    return _Found(best, last)
        except (ArithmeticError, ValueError, MemoryError):
            continue  # refused, or beyond the range of floats, which lead the way: no road here
    return _Found(best, last)


def _by_little(task: _Task) -> Iterator[tuple[Interval, str]]:
    """Chernoff's bound, then a contour that is just fine enough."""
    from discreet.accounting.certified.tails import log_mgf_ball, tail_ball
    from discreet.noise.balls import ball, interval, upper, working_bits

    loss = Loss(task.events)
    if loss.largest is not None and task.epsilon >= loss.largest:
        yield Interval(Fraction(0), Fraction(0)), CHERNOFF  # no loss is as large
        return
    theta = Fraction(saddle(loss, Kind.DELTA, float(task.epsilon), 0.0))
    with working_bits(96):
        # (1 - e^-x) <= c e^(theta x), c = theta^theta / (1 + theta)^(1 + theta)
        t = ball(theta)
        log = log_mgf_ball(loss, theta) - t * ball(task.epsilon) + t * t.log() - (1 + t) * (1 + t).log()
        bound = upper(log.exp()) if log < 0 else Fraction(1)
    yield Interval(Fraction(0), min(bound, Fraction(1))), CHERNOFF
    for accuracy in (0.05, 0.002):
        with working_bits(96):
            yield (
                interval(tail_ball(loss, Kind.DELTA, task.epsilon, h=_coarse_step(loss), accuracy=accuracy)),
                COARSE,
            )


def _coarse_step(loss: Loss) -> Fraction | None:
    """The step of a lattice with so few nodes that all are summed; else None, for a cut line."""
    return loss.step if 20 * max(loss.spread, float(loss.step)) <= 4096 * float(loss.step) else None


def _depth(task: _Task) -> int:
    """Bits of the level."""
    return 0 if task.level == 0 else max(0, math.ceil(-log_fraction(task.level) / math.log(2)))


def _is_soon_defined(task: _Task) -> bool:
    """Whether the sum from the definition takes less than a contour may."""
    from discreet.accounting.certified.definition import seconds

    return seconds(task.events, bits=_depth(task) + 60) < 0.3


def _by_definition(task: _Task) -> Iterator[tuple[Interval, str]]:
    from discreet.accounting.certified.definition import defined_delta

    for more in (60, 200, 1200):
        yield defined_delta(task.events, task.epsilon, bits=_depth(task) + more), DEFINITION


def _by_another_contour(task: _Task) -> Iterator[tuple[Interval, str]]:
    """A contour at a tilt beside the saddle point, and with more bits, finer and finer."""
    from discreet.accounting.certified.tails import tail_ball
    from discreet.noise.balls import interval, working_bits

    made = compose(task.events)
    # as the engine does it, on a lattice where there is one, but for coarse values: those a cut line has soon
    step = made.engine.h if isinstance(made.engine, Quadrature) else made.loss.step
    accuracy = 1e-3
    for _ in range(8):
        h = step if accuracy < 1e-4 else _coarse_step(made.loss)
        bits = 120 - 2 * math.log2(accuracy) + 2 * math.log2(2 + abs(float(task.epsilon)))
        with working_bits(bits):
            box = interval(tail_ball(made.loss, Kind.DELTA, task.epsilon, h=h, accuracy=accuracy, lean=0.07))
        yield box, ANOTHER
        gap = float(abs(box.midpoint - task.level) / task.level) if task.level else 0.0
        accuracy = max(min(accuracy / 30, gap / 4), 1e-12)


# -- small things ----------------------------------------------------------------------------------


def _method(loss: PrivacyLoss, digits: int | None) -> dict[str, Any]:
    """How the numbers of a case are made, so that a checker may take another road."""
    from discreet.accounting.certified.intervals import default_accuracy

    engine = loss.engine
    if isinstance(engine, Direct) or loss.is_listed_sooner:
        road = "tilted list of the losses"
    elif isinstance(engine, Quadrature):
        road = "contour integral on a lattice" if engine.h is not None else "contour integral on a cut line"
    else:
        road = "bounds on a grid"
    accuracy = default_accuracy(loss, digits)
    return {
        "arithmetic": "balls (FLINT arb)",
        "road": road,
        "relative_accuracy": f"{accuracy:.1e}",
        "digits": digits,
    }


def _cases_of(releases: Sequence[Release], found: Account) -> int:
    return account(releases[0], neighbours=found.neighbours, people=found.people).pairs


def _event(event: Noise) -> dict[str, Any]:
    size = {"noise": event.FAMILY, event.PARAMETER: str(event.size)}
    return {**size, "sensitivity": event.sensitivity, "times": event.times}


def _digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content as JSON with sorted keys and no spaces, its own digest left out."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


def _parsed(text: str, where: str) -> dict[str, Any]:
    """JSON with nothing in it that could be read in two ways."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise InputError(f"{where} states one key twice")
        return found

    def refused(word: str) -> None:
        raise InputError(f"{where} has the number {word}; numbers must be finite")

    try:
        data = json.loads(text, object_pairs_hook=once, parse_constant=refused, parse_float=str)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg} (line {error.lineno} of {where})") from None
    except (RecursionError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"not usable JSON: brackets too deep, or a number too long ({where})") from None
    if not isinstance(data, dict):
        raise InputError(f"{where} must be a JSON object with braces")
    return data


def _listed(label: Any) -> Any:
    return [_listed(part) for part in label] if isinstance(label, tuple) else label


def _label(data: Any) -> Any:
    return tuple(_label(part) for part in data) if isinstance(data, list) else data


def _number(value: Fraction) -> str:
    """A fraction as the decimal that it is, or else as a fraction."""
    for digits in (17, 40, 400):
        text = decimal(value, digits=digits, down=True)
        if Fraction(text) == value:
            small = 0 < abs(value) < Fraction(1, 1000)
            return (f"{Decimal(text):e}" if small else text).replace("E", "e").replace("e+", "e")
    return str(value)


def _short(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.6g}"
