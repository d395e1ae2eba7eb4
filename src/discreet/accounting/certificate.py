"""Certificates: a number with everything needed to check it (by `verification`).

A certificate states that the epsilon of a release at some delta, its delta at some epsilon, or its trade-off
curve beta = f(alpha) at some alpha lies between two ends. A claim is the same with one end open: "this
release is (19.5, 1e-10)-differentially private" has the ends 0 and 19.5, and "no test of type I error 0.05
has a type II error below 0.06" the ends 0.06 and 1.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import version
from typing import Annotated, Any, Final, Literal

from discreet.accounting.account import Account, account, portfolio
from discreet.accounting.envelope import envelope
from discreet.accounting.questions import People, Relation
from discreet.budget.claims import AnswerKind
from discreet.budget.events import Releasables, releases_of
from discreet.budget.neighbours import RELATIONS, CaseLabel, Cases, Neighbours, cases, joint_cases
from discreet.budget.release import Release
from discreet.errors import InputError
from discreet.loss.curves import Quantity, certified_values
from discreet.loss.lattice_evaluator import LatticeEvaluator
from discreet.loss.values import read_probabilities
from discreet.noise import Noise
from discreet.noise.capabilities import require
from discreet.numbers import Exact, Interval, decimal, fraction, share, shown, whole
from discreet.questions import Option

FORMAT: Final = "discreet certificate 2"
FORMAT_WITHOUT_SCOPE: Final = "discreet certificate 1"
"""Read, but never proved: such a file does not state which cases its sentence is about."""

Format = Literal["discreet certificate 1", "discreet certificate 2"]
LARGEST_EPSILON = 10**6

Taken = CaseLabel | Literal["all", "main"]
"""The cases that a certificate is about."""

GIVEN: Mapping[Quantity, str] = {"epsilon": "delta", "delta": "epsilon", "beta": "alpha"}
"""The argument of each quantity."""

DIGITS: Mapping[Quantity, int] = {"epsilon": 17, "delta": 17, "beta": 12}
"""Digits of the ends, unless others were asked for; all digits of a float would make beta hard to check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What is stated of a release, or of several together, and how it was found.

    `quantity` at `given` (an epsilon at a delta, a delta at an epsilon, or beta = f(alpha) at an alpha)
    lies in `interval`. An epsilon is the smallest one that is zero or more. `taken` says which cases are
    meant: "all", "main" (only the main paths of several releases), or the label of a single case.

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
    taken: Taken = "all"
    quantity: Quantity
    given: Fraction
    interval: Interval
    worst: CaseLabel | None = None
    method: Mapping[str, object] | None = None
    program: str = field(default_factory=lambda: f"discreet {version('discreet')}")
    format: Format = FORMAT

    def __post_init__(self) -> None:
        low, high = self.interval.lower, self.interval.upper
        if self.quantity != "delta":
            read_probabilities(self.given, name=GIVEN[self.quantity])
        if self.quantity == "delta" and not 0 <= self.given <= LARGEST_EPSILON:
            raise InputError(f"epsilon is {_short(self.given)}; it must lie between 0 and {LARGEST_EPSILON}")
        most = LARGEST_EPSILON if self.quantity == "epsilon" else 1
        if not 0 <= low <= high <= most:
            raise InputError(
                f"{self.quantity} is stated to lie between {_short(low)} and {_short(high)}; the ends must "
                f"lie between 0 and {most}"
            )

    # -- making one -------------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        releases: Releasables,
        *,
        delta: Exact | None = None,
        epsilon: Exact | None = None,
        alpha: Exact | None = None,
        neighbours: Neighbours | None = None,
        people: int = 1,
        digits: int | None = None,
        jobs: int = 1,
    ) -> Certificate:
        """Certify the epsilon of a release at a delta, its delta at an epsilon, or its f at an alpha."""
        releases = releases_of(releases)
        asked = {"delta": delta, "epsilon": epsilon, "alpha": alpha}
        given = {name: fraction(value, name=name) for name, value in asked.items() if value is not None}
        if len(given) != 1:
            raise InputError(
                "a certificate states one number: epsilon at a delta, delta at an epsilon or beta at an alpha"
            )
        ((name, at),) = given.items()
        quantity = next(stated for stated, argument in GIVEN.items() if argument == name)
        nothing = Interval(Fraction(0), Fraction(0))
        accounted = cls._stated(releases, neighbours, people, quantity, at, nothing).account(jobs=jobs)
        (box,) = certified_values(accounted, quantity, [at], digits)
        box = Interval(max(box.lower, Fraction(0)), max(box.upper, Fraction(0)))
        return cls.from_account(accounted, releases, quantity, at, box, digits=digits)

    @classmethod
    def from_account(
        cls,
        account: Account,
        releases: Sequence[Release],
        quantity: Quantity,
        given: Fraction,
        interval: Interval,
        *,
        worst: CaseLabel | None = None,
        digits: int | None = None,
    ) -> Certificate:
        """A certificate of what an account has proved, its ends rounded outward to decimals."""
        require("certificate", account.all_events)
        if account.one_area:
            raise InputError(
                "a certificate is about all queries, and this account leaves out totals of "
                f"{', '.join(account.one_area)}; name no level as one_area (--certify proves single values)"
            )
        many = DIGITS[quantity] if digits is None else digits + 2
        ends = Interval(
            fraction(decimal(interval.lower, digits=many, down=True)),
            fraction(decimal(interval.upper, digits=many, down=False)),
        )
        if worst is None and quantity == "beta":
            worst = envelope(account, [given])[0].worst
        elif worst is None:
            points = account.at_delta([given]) if quantity == "epsilon" else account.at_epsilon([given])
            worst = points[0].worst
        made = cls._stated(releases, account.neighbours, account.people, quantity, given, ends)
        if account.pairs < made.cases_of_all:
            if account.pairs > 1 or (
                len(releases) > 1 and account.main != made.all_cases.label(made.all_cases.main)
            ):
                raise InputError(
                    f"{account.pairs} of {made.cases_of_all} cases were compared; a certificate is of all of "
                    "them, of the main path of each release, or of one case"
                )
            made = replace(made, taken="main" if len(releases) > 1 else account.main)
        return replace(
            made, worst=worst, method=_method(account.case(worst).law.on_lattice("certificate"), digits)
        )

    @classmethod
    def claim(
        cls,
        releases: Releasables,
        *,
        epsilon: Annotated[
            Exact | None, Option("The epsilon that is claimed.", "E", reads=str | None)
        ] = None,
        delta: Annotated[Exact | None, Option("The delta that is claimed.", "D", reads=str | None)] = None,
        alpha: Annotated[Exact | None, Option("The type I error of a test.", "A", reads=str | None)] = None,
        beta: Annotated[
            Exact | None, Option("The least type II error that is claimed for it.", "B", reads=str | None)
        ] = None,
        neighbours: Relation = None,
        people: People = 1,
        main_path: bool = False,
    ) -> Certificate:
        """A statement without proof: a release is (epsilon, delta)-private, or beta is the least at alpha.

        >>> from discreet.budget import load
        >>> print(Certificate.claim([load("dhc-2020")], epsilon="19.5", delta="1e-10").says)
        This is (19.5, 1e-10)-differentially private.
        >>> print(Certificate.claim([load("dhc-2020")], alpha="0.05", beta="0.06").says)
        At a type I error of 0.05 the type II error is at least 0.06.
        """
        releases = releases_of(releases)
        taken: Taken = "main" if main_path else "all"
        if epsilon is not None and delta is not None and alpha is None and beta is None:
            small, large = fraction(delta, name="delta"), fraction(epsilon, name="epsilon")
            if large < 0:
                raise InputError(f"epsilon is {_short(large)}; it must be zero or more")
            ends = Interval(Fraction(0), large)
            return cls._stated(releases, neighbours, people, "epsilon", small, ends, taken)
        if alpha is not None and beta is not None and epsilon is None and delta is None:
            first, second = fraction(alpha, name="alpha"), share(beta, name="beta", closed=True)
            ends = Interval(second, Fraction(1))
            return cls._stated(releases, neighbours, people, "beta", first, ends, taken)
        raise InputError("a claim states an epsilon and a delta, or an alpha and a beta")

    @classmethod
    def _stated(
        cls,
        releases: Sequence[Release],
        neighbours: Neighbours | None,
        people: int,
        quantity: Quantity,
        given: Fraction,
        ends: Interval,
        taken: Taken = "all",
    ) -> Certificate:
        if not releases:
            raise InputError("a certificate needs at least one release")
        relations = {release.neighbours for release in releases}
        stated: Neighbours = "bounded" if "bounded" in relations else "unbounded"
        relation = stated if neighbours is None else neighbours
        return cls(
            releases=tuple(releases),
            neighbours=relation,
            people=people,
            taken=taken,
            quantity=quantity,
            given=given,
            interval=ends,
        )

    def account(self, *, jobs: int = 1) -> Account:
        """The account of the releases, with the cases that the statement is about."""
        people = whole(self.people, name="people")
        if self.neighbours not in RELATIONS:
            raise InputError(f'neighbours is {shown(self.neighbours)}; it must be "bounded" or "unbounded"')
        if len(self.releases) > 1:
            if self.taken not in ("all", "main"):
                raise InputError("a single case belongs to one release, not to several together")
            return portfolio(
                self.releases,
                neighbours=self.neighbours,
                people=people,
                jobs=jobs,
                all_pairs=self.taken == "all",
            )
        (release,) = self.releases
        all_cases = account(release, neighbours=self.neighbours, people=people, jobs=jobs)
        if self.taken == "all":
            return all_cases
        if self.taken == "main":
            raise InputError("the main path alone is taken of several releases together, not of one")
        return all_cases.only([self.taken])

    @property
    def all_cases(self) -> Cases:
        """All cases that the neighbour relation allows in the releases, derived from these alone."""
        people = whole(self.people, name="people")
        if len(self.releases) > 1:
            return joint_cases(self.releases, self.neighbours, people)
        return cases(self.releases[0], self.neighbours, people)

    @property
    def cases_of_all(self) -> int:
        """How many cases there are in all."""
        return len(self.all_cases)

    @property
    def covers(self) -> str:
        """What the statement is about, where that is less than all cases; else nothing.

        >>> from discreet.budget import load
        >>> both = [load("pl94-2020-persons"), load("dhc-2020")]
        >>> print(Certificate.claim(both, epsilon=40, delta="1e-10", main_path=True).covers)
        Only the main path of each release is meant, one of 34056 cases: nothing is said of the others.
        """
        if self.taken == "all" or self.cases_of_all == 1:
            return ""
        which = "the main path of each release" if self.taken == "main" else f"case {self.taken}"
        return f"Only {which} is meant, one of {self.cases_of_all} cases: nothing is said of the others."

    # -- text, out and in ------------------------------------------------------------------------

    @property
    def is_claim_of_errors(self) -> bool:
        """Whether it claims, for every single case, that no type II error is below the lower end."""
        return self.quantity == "beta" and self.interval.upper == 1

    @property
    def says(self) -> str:
        """The statement in one sentence; others say where it is not about all cases, or about whose change.

        >>> from discreet.budget import load
        >>> claim = Certificate.claim([load("dhc-2020")], epsilon=18, delta="1e-10", neighbours="unbounded")
        >>> print(claim.says)
        This is (18, 1e-10)-differentially private. Meant are unbounded neighbours.
        """
        if self.format == FORMAT_WITHOUT_SCOPE:
            return self._sentence
        return " ".join(part for part in (self._sentence, self._of_what, self.covers, self._whose) if part)

    @property
    def is_one_sided(self) -> bool:
        """Whether it claims a promise, not where a number lies: one of its ends is open."""
        return self.is_claim_of_errors or (self.quantity != "beta" and self.interval.lower == 0)

    @property
    def _of_what(self) -> str:
        """Of what the number is, where that is not the value itself: a bound of it, or of a model."""
        kind = self.account().claim.kind
        if kind is AnswerKind.MODEL:
            return "Meant is what is modelled: part of what was released is not."
        if kind is AnswerKind.BOUND and not self.is_one_sided:
            return "Meant is the bound that the account gives: the release may cost less."
        return ""

    @property
    def _whose(self) -> str:
        """Who changes, where that is not one record under the relation that all the releases state."""
        usual = self.people == 1 and all(release.neighbours == self.neighbours for release in self.releases)
        groups = f", and groups of {self.people}" if self.people > 1 else ""
        return "" if usual else f"Meant are {self.neighbours} neighbours{groups}."

    @property
    def _sentence(self) -> str:
        low, high = (number_text(x) for x in (self.interval.lower, self.interval.upper))
        given = number_text(self.given)
        if self.quantity == "epsilon" and self.interval.lower == 0:
            return f"This is ({high}, {given})-differentially private."
        if self.quantity == "beta":
            if self.is_claim_of_errors:
                return f"At a type I error of {given} the type II error is at least {low}."
            return f"The trade-off curve f at {given} lies between {low} and {high}."
        other = GIVEN[self.quantity]
        return f"{self.quantity.capitalize()} at {other} {given} lies between {low} and {high}."

    def document(self) -> dict[str, object]:
        """Return all that the file of the certificate states."""
        accounted = self.account()
        other = GIVEN[self.quantity]
        ends = {"lower": number_text(self.interval.lower), "upper": number_text(self.interval.upper)}
        content: dict[str, object] = {
            "format": self.format,
            "program": self.program,
            "says": self.says,
            "claim": {"quantity": self.quantity, other: str(self.given), **ends},
            "unit": accounted.unit,
            "neighbours": self.neighbours,
            "people": self.people,
            "cases": {"taken": listed(self.taken), "compared": accounted.pairs, "of": self.cases_of_all},
            "answer": accounted.claim.document(),
            "worst": None,
            "method": None if self.method is None else dict(self.method),
            "releases": [release.to_toml(input=False) for release in self.releases],
        }
        if self.format == FORMAT_WITHOUT_SCOPE:
            content["cases"] = {"taken": listed(self.taken), "compared": accounted.pairs}
            content["answer"] = {
                key: said for key, said in accounted.claim.document().items() if key != "scope"
            }
        if self.worst is not None:
            events = [_event(event) for event in accounted.events(self.worst)]
            content["worst"] = {"case": listed(self.worst), "events": events}
        return content | {"digest": _digest(content)}

    def to_text(self) -> str:
        """The certificate as JSON."""
        return json.dumps(self.document(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_text(cls, text: str, where: str = "the certificate") -> Certificate:
        """Read a certificate. One that was changed, or that contradicts itself, is refused.

        >>> Certificate.from_text('{"format": "discreet certificate 7"}', where="a.json")
        Traceback (most recent call last):
        discreet.errors.InputError: the format of a.json is 'discreet certificate 7'; \
this program reads 'discreet certificate 2' and 'discreet certificate 1'
        """
        data = strict_json(text, where)
        if data.get("format") not in (FORMAT, FORMAT_WITHOUT_SCOPE):
            raise InputError(
                f"the format of {where} is {shown(data.get('format'))}; this program reads {shown(FORMAT)} "
                f"and {shown(FORMAT_WITHOUT_SCOPE)}"
            )
        digest = data.pop("digest", None)
        if digest != _digest(data):
            raise InputError(f"{where} was changed after it was made: its digest does not fit its content")
        try:
            claim, taken, worst = data["claim"], data["cases"]["taken"], data["worst"]
            quantity = claim["quantity"]
            if quantity not in ("epsilon", "delta", "beta"):
                raise InputError(f'quantity is {shown(quantity)}; it must be "epsilon", "delta" or "beta"')
            texts = data["releases"]
            if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
                raise InputError("releases must be a list of TOML texts")
            given = claim[GIVEN[quantity]]
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
                method=_read_method(data["method"]),
                program=_read_program(data["program"]),
                format=data["format"],
            )
            again = made.document()
        except InputError as error:
            raise InputError(f"{error} ({where})") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{where} is not a certificate: {type(error).__name__} at {shown(str(error))}"
            ) from None
        again.pop("digest")
        for key in dict.fromkeys([*data, *again]):
            if data.get(key) != again.get(key):
                raise InputError(f"{where} contradicts itself: {key} is not what the rest of it implies")
        return made


# -- small things ----------------------------------------------------------------------------------


def _method(loss: LatticeEvaluator, digits: int | None) -> dict[str, object]:
    """How the numbers of a case are made, so that a checker may use another method."""
    from discreet.loss.certified.intervals import default_accuracy

    accuracy = default_accuracy(loss, digits)
    return {
        "arithmetic": "balls (FLINT arb)",
        "road": loss.road,
        "relative_accuracy": f"{accuracy:.1e}",
        "digits": digits,
    }


def _read_method(data: Any) -> Mapping[str, object] | None:
    """What a file says of the method: of the right form; whether it is true is not checked."""
    known = ("arithmetic", "road", "relative_accuracy", "digits")
    if data is not None and (not isinstance(data, dict) or set(data) != set(known)):
        raise InputError(f"method must be null, or have {', '.join(known)}")
    if data is not None and not all(isinstance(value, str | int | None) for value in data.values()):
        raise InputError("the method is said in words and numbers")
    return data


def _read_program(data: Any) -> str:
    """The program that a file names: of the right form; whether it made the file is not checked."""
    if not isinstance(data, str) or not re.fullmatch(r"discreet [0-9A-Za-z.+-]{1,40}", data):
        raise InputError(f"program is {shown(data)}; it must be discreet and its version")
    return data


def _event(event: Noise) -> dict[str, object]:
    size = {"noise": event.FAMILY, **{name: str(value) for name, value in event.parameters.items()}}
    return {**size, "sensitivity": event.sensitivity, "times": event.times}


def _digest(content: Mapping[str, object]) -> str:
    """SHA-256 of the content as JSON with sorted keys and no spaces, without the digest."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


def strict_json(text: str, where: str, *, parse_float: Callable[[str], Any] = str) -> dict[str, Any]:
    """Read JSON, and refuse anything that could be read in two ways."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            raise InputError(f"{where} states one key twice")
        return table

    def refused(word: str) -> None:
        raise InputError(f"{where} has the number {word}; numbers must be finite")

    try:
        data = json.loads(text, object_pairs_hook=once, parse_constant=refused, parse_float=parse_float)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg} (line {error.lineno} of {where})") from None
    except (RecursionError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"not usable JSON: brackets too deep, or a number too long ({where})") from None
    if not isinstance(data, dict):
        raise InputError(f"{where} must be a JSON object with braces")
    return data


def listed(label: object) -> object:
    """A label as nested lists, for JSON."""
    return [listed(part) for part in label] if isinstance(label, tuple) else label


def _label(data: Any) -> Any:
    return tuple(_label(part) for part in data) if isinstance(data, list) else data


def number_text(value: Fraction) -> str:
    """A fraction as a decimal if that is exact, otherwise as a fraction."""
    for digits in (17, 40, 400):
        text = decimal(value, digits=digits, down=True)
        if Fraction(text) == value:
            small = 0 < abs(value) < Fraction(1, 1000)
            return (f"{Decimal(text):e}" if small else text).replace("E", "e").replace("e+", "e")
    return str(value)


def _short(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.6g}"
