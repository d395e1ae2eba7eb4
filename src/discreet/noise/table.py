"""Table noise: finitely many outcomes with exact probabilities, with a person and without.

*Noise to add.* A table of chances P[X = x] alone: what is added to a count, whoever is counted. A person
who changes the count by mu shifts it by mu. Perturbation tables, truncated, clamped and staircase noise are
such. *An answer that depends on the person.* Two tables, `absent` and `present`, for what is shown without
the person and with them: randomised response. It says what one person reveals; it is no noise that could be
added.

OutcomeChances that one of the two cannot give have an infinite loss: no epsilon covers their probability.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from discreet.calls import understandable
from discreet.errors import InputError
from discreet.memory import set_fields
from discreet.noise import balls
from discreet.noise.count_loss import OutcomeChances
from discreet.noise.distribution import RHO_DIGITS, Floats, Noise, StatedValue
from discreet.numbers import Exact, fraction, is_column, share, shown, whole

Chances = Mapping[int, Exact] | Iterable[tuple[int, Exact]]
"""The probability of each outcome."""

MOST_OUTCOMES = 20_000
"""Of a table."""

MOST_COMPARED = 100_000
"""Outcomes times changes that are compared to find the change that tells most."""

FARTHEST = 1_000_000
"""OutcomeChances lie between minus this and this."""


@dataclass(frozen=True, init=False)
class TableNoise(Noise):
    """Noise with exact probabilities on a count that one person changes by `sensitivity`, `times` times over.

    `absent` has the probability of each integer; without `present` it is the noise that is added to a count.
    With `present`, the two tables say what is shown without the person and with them.

    >>> noise = TableNoise({-1: "1/4", 0: "1/2", 1: "1/4"})
    >>> noise.variance, noise.margin(), noise.pmf([0, 1, 2]).tolist()
    (Fraction(1, 2), 1, [0.5, 0.25, 0.0])
    >>> answer = TableNoise(absent={0: "3/4", 1: "1/4"}, present={0: "1/4", 1: "3/4"})
    >>> answer.loss_law().value.round(4).tolist()
    [-1.0986, 1.0986]
    """

    FAMILY: ClassVar = "table"
    PARAMETER: ClassVar = "variance"
    RANGE: ClassVar = (Fraction(0), Fraction(FARTHEST) ** 2)
    has_size: ClassVar[bool] = False

    absent: tuple[tuple[int, Fraction], ...]
    present: tuple[tuple[int, Fraction], ...] | None
    sensitivity: int
    times: int

    @understandable
    def __init__(
        self, absent: Chances, present: Chances | None = None, *, sensitivity: int = 1, times: int = 1
    ) -> None:
        set_fields(
            self,
            absent=_read(absent, "absent"),
            present=None if present is None else _read(present, "present"),
            sensitivity=whole(sensitivity, name="sensitivity"),
            times=whole(times, name="times"),
        )
        if self.present is not None and self.sensitivity != 1:
            raise InputError(
                f"sensitivity is {self.sensitivity}, and `present` is given; the two tables say what "
                "one person changes, so leave one of them out"
            )

    def __str__(self) -> str:
        times = f"{self.times} times " if self.times > 1 else ""
        sensitivity = f", sensitivity {self.sensitivity}" if self.sensitivity > 1 else ""
        what = "table noise" if self.present is None else "an answer by two tables"
        outcomes = len(self.absent)
        size = f"variance {shown(self.variance)}" if self.present is None else f"{outcomes} outcomes"
        return f"{times}{what} of {size}{sensitivity}"

    @property
    def size(self) -> Fraction:
        """The variance."""
        return self.variance

    @property
    def is_noise(self) -> bool:
        """Whether it can be added to a count; deprecated: `is_added` says so of every law."""
        warnings.warn("is_noise goes: `is_added` says so of every law", DeprecationWarning, stacklevel=2)
        return self.is_added

    @property
    def is_added(self) -> bool:
        """Whether it can be added to a count: it has one table."""
        return self.present is None

    @cached_property
    def is_estimated(self) -> bool:
        """Whether it is added, symmetric, and has a positive transform."""
        return self.is_added and self.is_even and self.has_positive_transform

    def label(self, size: str) -> str:
        """Name the law in a table, with its variance as written there; two tables by their outcomes."""
        return (
            super().label(size) if self.is_added else f"an answer by two tables, {len(self.pairs)} outcomes"
        )

    def stated(self) -> dict[str, StatedValue]:
        """Return what a file states of the law: its tables."""
        tables = {"absent": self.absent}
        if self.present is not None:
            tables["present"] = self.present
        return {"noise": tables}

    @property
    def key(self) -> tuple[object, ...]:
        """Everything but its `times`."""
        return self.FAMILY, self.variance, self.sensitivity, self.absent, self.present or ()

    def _copy(self, size: Exact, sensitivity: int, times: int) -> Self:
        if size != self.variance:
            raise InputError(f"{self} has no scale that could be changed; give another table instead")
        if self.present is not None and sensitivity != 1:
            raise InputError(
                f"{self} says what one person changes, and nothing of {sensitivity} people; a table of "
                "noise alone, without `present`, does"
            )
        return type(self)(self.absent, self.present, sensitivity=sensitivity, times=times)

    def single(self) -> Self:
        """Return the noise of one count alone; two tables are no noise, and raise an `InputError`."""
        if self.present is not None:
            raise InputError(
                f"{self} is no noise that could be added to a count; leave `present` out for a table of noise"
            )
        return super().single()

    @cached_property
    def _size(self) -> float:
        return float(self.variance) or 1e-300  # (of no noise at all)

    def certain_loss(self, *, exchanged: bool = False) -> Fraction:
        """Return the probability of outcomes with the person that cannot be without them, or vice versa.

        >>> TableNoise({0: "1/2", 1: "1/2"}).certain_loss()
        Fraction(1, 2)
        """
        with_person = dict(self.present or ((x + self.sensitivity, p) for x, p in self.absent))
        without = dict(self.absent)
        first, other = (without, with_person) if exchanged else (with_person, without)
        return sum((p for x, p in first.items() if not other.get(x)), Fraction(0))

    # -- probabilities ----------------------------------------------------------------------------

    @cached_property
    def mean(self) -> Fraction:
        """E X, exactly."""
        return sum((x * p for x, p in self.absent), Fraction(0))

    @cached_property
    def variance(self) -> Fraction:
        """The variance of X, exactly."""
        return sum((x * x * p for x, p in self.absent), Fraction(0)) - self.mean**2

    def true_variance(self) -> float:
        """Return the variance."""
        return float(self.variance)

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats]:
        """The outcomes, ascending, and the logarithms of their probabilities."""
        return np.array([float(x) for x, _ in self.absent]), np.array([_log(p) for _, p in self.absent])

    def log_mgf(self, s: ArrayLike) -> Floats:
        """Return log E exp(s X)."""
        x, log = self._arrays
        slope = np.asarray(s, dtype=np.float64)
        result: Floats = np.logaddexp.reduce(np.multiply.outer(slope, x) + log, axis=-1)
        return result[()]

    def _log_pmf(self, x: Floats) -> Floats:
        known, log = self._arrays
        at = np.minimum(np.searchsorted(known, x), known.size - 1)
        return np.where(known[at] == x, log[at], -math.inf)

    @cached_property
    def _log_uppers(self) -> Floats:
        """log P[X >= x] at each outcome, and of none."""
        total, logs = Fraction(0), [-math.inf]
        for _, p in reversed(self.absent):
            total += p
            logs.append(_log(total))
        return np.array(logs[::-1])

    def log_tail(self, m: Floats) -> Floats:
        """Return log P[X >= m]."""
        return self._log_uppers[np.searchsorted(self._arrays[0], m)]

    def _log_upper(self, m: Floats) -> Floats:
        return self.log_tail(m)

    def log_cdf(self, x: ArrayLike) -> Floats:
        """Return log P[X <= x]."""
        return self._reflected.log_tail(-np.asarray(x, dtype=np.float64))[()]

    @cached_property
    def _reflected(self) -> TableNoise:
        return TableNoise([(-x, p) for x, p in self.absent])

    def _upper(self, m: int) -> Fraction:
        return sum((p for x, p in self.absent if x >= m), Fraction(0))

    def ball_pmf(self, x: int) -> balls.arb:
        """Return a ball around P[X = x]."""
        return balls.ball(dict(self.absent).get(x, Fraction(0)))

    def ball_tail(self, m: int) -> balls.arb:
        """Return a ball around P[X >= m]."""
        return balls.ball(self._upper(m))

    def ball_upper(self, m: int) -> balls.arb:
        """Return a ball around P[X >= m]."""
        return balls.ball(self._upper(m))

    def ball_pmfs(self, count: int) -> list[balls.arb]:
        """Return balls around P[X = 0], ..., P[X = count - 1]."""
        chances = dict(self.absent)
        return [balls.ball(chances.get(x, Fraction(0))) for x in range(count)]

    def reach(self, nats: float) -> float:
        """Return some m whose tail is below exp(-nats): beyond the last outcome."""
        return float(max(abs(self.absent[0][0]), abs(self.absent[-1][0])) + 1)

    def quantile(self, p: Exact) -> int:
        """Return the smallest integer x with P[X <= x] >= p, exactly."""
        level, below = share(p, name="p"), Fraction(0)
        for x, chance in self.absent:
            below += chance
            if below >= level:
                return x
        raise AssertionError("probabilities add up to one")

    def margin(self, level: Exact = "0.95", *, draws: int = 1) -> int:
        """Return the smallest m with P[|sum of `draws` draws| <= m] >= level, exactly."""
        wanted, sums = share(level, name="level"), self._sums(whole(draws, name="draws"))
        inside = Fraction(0)
        sizes: dict[int, Fraction] = {}
        for x, p in sums.items():
            sizes[abs(x)] = sizes.get(abs(x), Fraction(0)) + p
        for size in sorted(sizes):
            inside += sizes[size]
            if inside >= wanted:
                return size
        raise AssertionError("probabilities add up to one")

    def within(self, size: int, *, draws: int = 1) -> float:
        """Return the chance that a sum of `draws` draws lies between -size and size."""
        return float(sum((p for x, p in self._sums(draws).items() if abs(x) <= size), Fraction(0)))

    def _sums(self, draws: int) -> dict[int, Fraction]:
        """The law of a sum of several draws, exactly: a power of a polynomial with integer coefficients."""
        from flint import fmpz_poly

        bottom = math.lcm(*(p.denominator for _, p in self.absent))
        first, last = self.absent[0][0], self.absent[-1][0]
        if (last - first) * draws > 2_000_000:
            raise InputError(f"{draws} draws of {self} have too many sums; at most 2,000,000 are listed")
        coefficients = [0] * (last - first + 1)
        for x, p in self.absent:
            coefficients[x - first] = int(p * bottom)
        whole_sum = fmpz_poly(coefficients) ** draws
        total = bottom**draws
        return {draws * first + k: Fraction(int(c), total) for k, c in enumerate(whole_sum.coeffs()) if c}

    @cached_property
    def is_even(self) -> bool:
        """Whether the noise is symmetric around zero."""
        chances = dict(self.absent)
        return all(chances.get(-x) == p for x, p in self.absent)

    @cached_property
    def is_log_concave(self) -> bool:
        """Whether P[X = x]^2 is never below P[X = x - 1] P[X = x + 1], exactly, without gaps.

        >>> TableNoise({-1: "1/4", 0: "1/2", 1: "1/4"}).is_log_concave
        True
        """
        if self.present is not None or self.absent[-1][0] - self.absent[0][0] != len(self.absent) - 1:
            return self.present is None and len(self.absent) == 1
        p = [chance for _, chance in self.absent]
        return all(
            here * here >= before * after for before, here, after in zip(p, p[1:], p[2:], strict=False)
        )

    def check_changes(self, most: int, *, spread: bool) -> None:
        """Refuse noise of which a change below `most` may tell more; two tables are of one change alone."""
        if self.present is None:
            super().check_changes(most, spread=spread)

    def telling_change(self, most: int) -> int | None:
        """Return a change below `most` that tells more than `most` does at some epsilon; None if none does.

        Compared exactly: delta is linear in e^epsilon between the ratios that outcomes have.

        >>> two = {-2: "1/80", -1: "1/40", 0: "37/40", 1: "1/40", 2: "1/80"}
        >>> TableNoise({-1: "1/2", 1: "1/2"}).telling_change(2), TableNoise(two).telling_change(2)
        (1, None)
        """
        if self.is_log_concave:
            return None
        if len(self.absent) * most > MOST_COMPARED:
            return 1  # (not looked at)
        largest = _curve_of(self.absent, most)
        smaller = ((change, _curve_of(self.absent, change)) for change in range(most - 1, 0, -1))
        return next((change for change, curve in smaller if _exceeds(curve, largest)), None)

    @cached_property
    def has_positive_transform(self) -> bool:
        """Whether E cos(uX) is positive for all u, as far as 4096 angles tell."""
        x, log = self._arrays
        angles = np.linspace(0.0, math.pi, 4096)
        return all(float(np.exp(log) @ np.cos(u * x)) > 1e-12 for u in angles)

    # -- the privacy loss -----------------------------------------------------------------------------

    @cached_property
    def pairs(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The probabilities of each outcome without the person and with, in the order of the outcomes."""
        with_ = self.present or tuple((x + self.sensitivity, p) for x, p in self.absent)
        absent, present, none = dict(self.absent), dict(with_), Fraction(0)
        return tuple((absent.get(x, none), present.get(x, none)) for x in sorted({*absent, *present}))

    @cached_property
    def is_mirrored(self) -> bool:
        """Whether the same pairs of probabilities occur with the two hypotheses exchanged."""
        return sorted(self.pairs) == sorted((q, p) for p, q in self.pairs)

    @cached_property
    def largest(self) -> Fraction | None:
        """The largest loss in either direction, rounded up; None if a loss is infinite."""
        if any(p == 0 or q == 0 for p, q in self.pairs):
            return None
        ratio = max(max(p / q, q / p) for p, q in self.pairs)
        return Fraction(_log(ratio)) * (1 + Fraction(1, 10**14))

    def largest_ball(self) -> balls.arb:
        """The largest loss of one count, as a ball."""
        return balls.ball(max(max(p / q, q / p) for p, q in self.pairs)).log()

    def outcome_count(self, nats: float) -> int:
        """How many outcomes there are."""
        return len(self.pairs)

    @cached_property
    def zcdp(self) -> Fraction | None:
        """The rho of zCDP that all `times` cost together, rounded up; None if a loss is infinite.

        Randomised response has the losses e, 0 and -e. Where those of 0 are not too likely, D_a / a is
        largest at a = 1, and rho is E L (docs/explanation/laws.md), rounded up in its last of 15 digits. Of
        other tables it is found as `largest_ratio` says.

        >>> answer = TableNoise({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"})
        >>> float(answer.zcdp), math.log(3) / 2
        (0.549306144334055, 0.5493061443340549)
        """
        above = [(p, q) for p, q in self.pairs if q > p > 0]
        below = [(p, q) for p, q in self.pairs if p > q > 0]
        ratios = {q / p for p, q in above} | {p / q for p, q in below}
        ratio = max(ratios, default=Fraction(1))
        if self.largest is None or not self.is_mirrored or len(ratios) != 1:
            return super().zcdp
        absent, present = (sum((pair[which] for pair in above), Fraction(0)) for which in (0, 1))
        if (1 - absent - present) ** 2 > 4 * absent * present:
            return super().zcdp

        def mean() -> balls.arb:
            return balls.ball(present - absent) * balls.ball(ratio).log()

        return self.times * balls.decimal_above(mean, RHO_DIGITS)

    def exchanged(self) -> Self:
        """Return the noise with the two hypotheses exchanged."""
        if self.is_mirrored:
            return self
        with_ = self.present or tuple((x + self.sensitivity, p) for x, p in self.absent)
        return type(self)(with_, self.absent, times=self.times)

    @cached_property
    def outcomes(self) -> OutcomeChances:
        """Logarithms of the probabilities of all outcomes."""
        logs = np.array([[_log(p), _log(q)] for p, q in self.pairs])
        return OutcomeChances(logs[:, 0], logs[:, 1], 0.0)

    def outcomes_ball(self, nats: float) -> tuple[list[tuple[balls.arb, balls.arb]], balls.arb]:
        """The same in balls; nothing is left out."""
        return [(balls.ball(p), balls.ball(q)) for p, q in self.pairs], balls.arb(0)


_Curve = tuple[list[Fraction], list[Fraction], list[Fraction]]


def _curve_of(chances: tuple[tuple[int, Fraction], ...], change: int) -> _Curve:
    """The ratios of outcomes, descending, and the probabilities of all down to each, with and without."""
    without = dict(chances)
    pieces: list[tuple[Fraction, Fraction, Fraction]] = []
    sure = Fraction(0)
    for x, with_ in ((x + change, p) for x, p in chances):
        if x in without:
            pieces.append((with_ / without[x], with_, without[x]))
        else:
            sure += with_
    pieces.sort(reverse=True)
    ratios, sums, others = [], [sure], [Fraction(0)]
    for ratio, with_, other in pieces:
        ratios.append(ratio)
        sums.append(sums[-1] + with_)
        others.append(others[-1] + other)
    return ratios, sums, others


def _value(curve: _Curve, ratio: Fraction) -> Fraction:
    """The sum of max(with - ratio * without, 0)."""
    ratios, sums, others = curve
    place = bisect_left(ratios, -ratio, key=lambda one: -one)
    return sums[place] - ratio * others[place]


def _exceeds(one: _Curve, other: _Curve) -> bool:
    """Whether a curve lies above another somewhere: at a ratio of either, or far out."""
    return one[1][0] > other[1][0] or any(
        _value(one, ratio) > _value(other, ratio) for ratio in {*one[0], *other[0]}
    )


def _log(p: Fraction) -> float:
    if p <= 0:
        return -math.inf
    if 1 < 2 * p < 3:
        return math.log1p(float(p - 1))
    return math.log(p.numerator) - math.log(p.denominator) if p.denominator >= 1 << 900 else math.log(p)


def _read(chances: Chances, name: str) -> tuple[tuple[int, Fraction], ...]:
    """Check a table of probabilities: integers, no negative chance, a sum of one; chances of zero go."""
    given = chances.items() if isinstance(chances, Mapping) else chances
    pairs: list[tuple[int, Exact]] = list(given) if is_column(given) else [given]  # type: ignore[list-item]
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise InputError(f'{name} must have a chance for each outcome, such as {{0: "1/2", 1: "1/2"}}')
    problems: list[str] = []
    read: dict[int, Fraction] = {}
    for x, p in pairs:
        if isinstance(x, bool) or not isinstance(x, int | np.integer) or abs(int(x)) > FARTHEST:
            problems.append(
                f"outcome {shown(x)} of {name} must be a whole number between -{FARTHEST} and {FARTHEST}"
            )
            continue
        chance = fraction(p, name=f"the chance of {x} in {name}")
        if not 0 <= chance <= 1:
            problems.append(f"the chance of {x} in {name} is {shown(chance)}; it must lie between 0 and 1")
        if int(x) in read:
            problems.append(f"outcome {x} of {name} occurs twice; each outcome has one chance")
        read[int(x)] = chance
    total = sum(read.values(), Fraction(0))
    if not problems and total != 1:
        problems.append(
            f"the chances of {name} add up to {shown(total)}, not to 1; write them as fractions such as "
            '"1/3", or adjust one of them'
        )
    if len(read) > MOST_OUTCOMES:
        problems.append(f"{name} has {len(read)} outcomes; at most {MOST_OUTCOMES} are possible")
    if problems:
        raise InputError("; ".join(problems[:8]))
    return tuple(sorted((x, p) for x, p in read.items() if p))
