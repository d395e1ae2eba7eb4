"""What all noise has in common: an integer, symmetric around zero, added to a count.

One object serves every question about the noise. *Its probabilities*: a family says how heavy its tail is, in
floats (`log_tail`) and in balls (`ball_tail`), and the rest follows by symmetry. P[X >= m] for m >= 1 is the
only function computed, so neither tail is ever computed as one minus something near one. *Its privacy loss*:
`times` counts get this noise, and one person changes each of them by `sensitivity`. Under the alternative
(the person is there) the loss of one such count is

    L = offset + step * X,    X an integer

with X the noise itself (discrete Gaussian) or one of the values 0..sensitivity (discrete Laplace). Under the
null hypothesis -L has the same law: exchange the two neighbours and reflect. Both families have this mirror,
and `discreet.accounting` relies on it; a family without it would have to hand over two laws of X.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.asked import AskedForDraws, Composable
from discreet.errors import InputError, PrecisionError
from discreet.memory import Forgetful
from discreet.noise import balls
from discreet.noise.count_loss import OUTCOME_NATS, CountLoss, OutcomeChances, TwoSidedDensity, largest_ratio
from discreet.numbers import Exact, Interval, positive, share, shown, up_to_digits, whole

if TYPE_CHECKING:
    from discreet.noise.defined import DefinedLoss
    from discreet.noise.lattice import LatticeNoise

Floats = NDArray[np.float64]

LISTED_NATS = 40.0
"""Probabilities below e^-40 are left out of a transform that is listed."""

RHO_DIGITS = 15
"""Digits of a rho of zCDP that is irrational, and rounded up."""

PARAMETERS = ("variance", "scale")
"""What the parameter of a law may be: a variance grows as the square of the noise, a scale as the noise."""

ChanceTable = tuple[tuple[int, Fraction], ...]
"""Outcomes and the probability of each."""

StatedValue = Fraction | str | dict[str, ChanceTable]
"""What a file states of a law: a number, a word, or chances of outcomes by name."""

OF_ITSELF = (
    *(
        "own_way",
        "bureau_name",
        "is_proved_over_joins",
        "stated",
        "normal_loss",
        "exact_density",
        "proved_cost",
    ),
    *("defined_loss", "defined_width"),
)
"""What a law says of itself alone, and not of laws made of it."""


class Traits(NamedTuple):
    """Properties of a noise: its variance, its fourth cumulant, a variance that bounds its transform
    (|transform(u)| <= e^-(smooth u^2/2) up to pi), and its tails: log E e^(sN) <= proxy s^2/2 for
    |s| < 1/scale."""

    variance: float
    fourth: float
    smooth: float
    proxy: float
    scale: float


class ProvedCost(NamedTuple):
    """A loss that is rho-zCDP, and a sum of one that is `normal`-zCDP and one up to `pure`; all exact."""

    rho: Fraction
    normal: Fraction
    pure: Fraction


class Noise(Composable, AskedForDraws, Forgetful, ABC):
    """Integer noise on a count that one person can change by `sensitivity`, `times` times over.

    The vectorised functions take integers (an array, or one) and return floats of the same shape. They are
    about one draw: `sensitivity` and `times` do not matter. Logarithms have a relative error of about 1e-15
    in both tails, so a probability p has one of about 1e-15 * (1 + |log p|), as long as p is in the range of
    floats. (A logarithm near 0, of a p near 1, is as accurate as 1 - p.)
    """

    FAMILY: ClassVar[str]
    PARAMETER: ClassVar[str]
    RANGE: ClassVar[tuple[Fraction, Fraction]]
    """The parameters for which the noise can be drawn: enough for any release, tested at both ends."""

    # What a law says of itself: nothing asks for its class (`capabilities`: which questions it takes).

    has_size: ClassVar[bool] = True
    """Whether there is a variance or scale to change."""
    has_evidence: ClassVar[bool] = False
    """Whether every value can occur, with a person and without, so that each is finite evidence."""
    own_way: ClassVar[str | None] = None
    """The field of a query that states this very law by its size: variance or scale."""
    bureau_name: ClassVar[str | None] = None
    """What the Census Bureau's files call this very law, if it occurs in them."""
    is_proved_over_joins: ClassVar[bool] = False
    """Whether the worst case over joins of people and households is proved (docs/explanation/joins.md)."""

    def __init_subclass__(cls) -> None:
        """Refuse a law whose parameter is neither: what has one scales by it, or by its root.

        What is proved of a law is not proved of laws made of it: they say so again, or not at all.
        """
        super().__init_subclass__()
        if (stated := getattr(cls, "PARAMETER", "variance")) not in PARAMETERS:
            raise TypeError(f"PARAMETER of {cls.__name__} is {stated!r}; it must be one of {PARAMETERS}")
        for name in OF_ITSELF:
            if name not in vars(cls):
                setattr(cls, name, vars(Noise)[name])

    sensitivity: int
    times: int

    def __init__(self, size: Exact, *, sensitivity: int = 1, times: int = 1) -> None:
        # what `set_fields` does, in one step: an account makes thousands of these
        vars(self).update(
            {
                self.PARAMETER: positive(size, name=self.PARAMETER),
                "sensitivity": whole(sensitivity, name="sensitivity"),
                "times": whole(times, name="times"),
            }
        )

    def __str__(self) -> str:
        times = f"{self.times} times " if self.times > 1 else ""
        sensitivity = f", sensitivity {self.sensitivity}" if self.sensitivity > 1 else ""
        return f"{times}{self.FAMILY} noise of {self.PARAMETER} {shown(self.size)}{sensitivity}"

    @property
    def size(self) -> Fraction:
        """The parameter: variance or scale."""
        size: Fraction = getattr(self, self.PARAMETER)
        return size

    @property
    def is_gaussian(self) -> bool:
        """Whether the noise is discrete Gaussian; deprecated: it is what has a `stated_variance`."""
        warnings.warn("is_gaussian goes: ask for `stated_variance`", DeprecationWarning, stacklevel=2)
        return self.stated_variance is not None

    @property
    def variance_power(self) -> int:
        """How often the parameter is a factor of the variance: once, or twice if it is a scale."""
        return 1 if self.PARAMETER == "variance" else 2

    @property
    def nominal_variance(self) -> Fraction:
        """The variance of continuous noise of this parameter; a scale is taken for that of Laplace noise.

        >>> from discreet.noise import DiscreteLaplace
        >>> DiscreteLaplace(scale=3).nominal_variance
        Fraction(18, 1)
        """
        return self.variance_power * self.size**self.variance_power

    @property
    def stated_variance(self) -> Fraction | None:
        """The variance that tables and files state as it is: the parameter of discrete Gaussian noise."""
        return None

    @property
    def stated_scale(self) -> Fraction | None:
        """The scale that tables state for the noise, if it has one."""
        return self.size if self.variance_power == 2 else None

    @property
    def listed_variance(self) -> Fraction:
        """The variance that is stated, or the true one to twelve digits."""
        stated = self.stated_variance
        return Fraction(f"{self.true_variance():.12g}") if stated is None else stated

    @property
    def parameters(self) -> dict[str, Fraction]:
        """The parameters by their names, first the one that scales it.

        >>> from discreet.noise import PowerNoise
        >>> {name: str(value) for name, value in PowerNoise("3/2", 4).parameters.items()}
        {'scale': '4', 'exponent': '3/2'}
        """
        return {self.PARAMETER: self.size}

    @property
    def tail_exponent(self) -> Fraction | None:
        """The power p of a law of weights exp(-|x / scale|^p); None of other laws."""
        return None

    def label(self, size: str) -> str:
        """Name the law in a table, with its size as written there."""
        return f"{self.FAMILY}, {self.PARAMETER} {size}"

    def stated(self) -> dict[str, StatedValue] | None:
        """Return what a file states of the law, as keys and values; None if files cannot state it."""
        return None

    @cached_property
    def _size(self) -> float:
        """The parameter as a float; one outside `RANGE` is refused."""
        low, high = self.RANGE
        if not low <= self.size <= high:
            raise InputError(f"{self.PARAMETER} is {shown(self.size)}; it must lie between {low} and {high}")
        return float(self.size)

    def _copy(self, size: Exact, sensitivity: int, times: int) -> Self:
        """Return noise of the same family."""
        named = {self.PARAMETER: size, "sensitivity": sensitivity, "times": times}
        return type(self)(**named)  # type: ignore[arg-type]

    @property
    def key(self) -> tuple[object, ...]:
        """Everything but its `times`, in the order in which `grouped` sorts."""
        return self.FAMILY, self.size, self.sensitivity

    @property
    def events(self) -> tuple[Noise, ...]:
        """The noise alone, as a list of events."""
        return (self,)

    def __mul__(self, times: Exact) -> Self:
        return self.repeated(self.times * whole(times, name="times"))

    def repeated(self, times: int) -> Self:
        """Return the same noise on this many counts.

        >>> from discreet.noise import DiscreteLaplace
        >>> DiscreteLaplace(scale=2, times=3).repeated(7)
        DiscreteLaplace(scale=Fraction(2, 1), sensitivity=1, times=7)
        """
        if times == self.times:
            return self
        return self._copy(self.size, self.sensitivity, times)

    def for_people(self, people: int) -> Self:
        """Return the noise as it protects a group of `people`, who change the count that many times more.

        >>> from discreet.noise import DiscreteGaussian
        >>> DiscreteGaussian(variance=5, sensitivity=2).for_people(3).sensitivity
        6
        """
        many = whole(people, name="people") * self.sensitivity
        if many == self.sensitivity:
            return self
        self.check_changes(many, spread=True)
        return self.changed_exactly_by(many)

    def changing_by(self, most: int) -> Self:
        """Return the noise of a count of records that one person changes by `most` at most.

        >>> from discreet.noise import DiscreteLaplace
        >>> DiscreteLaplace(scale=2).changing_by(4).sensitivity
        4
        """
        many = whole(most, name="sensitivity")
        if many == self.sensitivity:
            return self
        self.check_changes(many, spread=False)
        return self.changed_exactly_by(many)

    def changed_exactly_by(self, change: int) -> Self:
        """Return the noise of a count that changes by just this: what smaller changes tell is not asked.

        >>> from discreet.noise import DiscreteLaplace
        >>> DiscreteLaplace(scale=2).changed_exactly_by(3).sensitivity
        3
        """
        return self._copy(self.size, change, self.times)

    @cached_property
    def is_log_concave(self) -> bool:
        """Whether P[X = x]^2 is never below P[X = x - 1] P[X = x + 1]: a larger change then tells more.

        Known of the families of the package; of any other law, as far as floats tell where it reaches.

        >>> from discreet.noise import DiscreteGaussian
        >>> DiscreteGaussian(variance=3).is_log_concave
        True
        """
        most = min(math.ceil(self.reach(60.0)) + 1, 100_000)
        log = self.log_pmf(np.arange(-most, most + 1))
        possible = np.flatnonzero(log > -math.inf)
        inside = log[possible[0] : possible[-1] + 1]
        with np.errstate(invalid="ignore"):
            bends = inside[:-2] + inside[2:] - 2 * inside[1:-1]
        return bool(np.all(np.isfinite(inside)) and np.all(bends <= 1e-9 * (1 + np.abs(inside[1:-1]))))

    def check_changes(self, most: int, *, spread: bool) -> None:
        """Refuse noise of which a change below `most` may tell more than `most` does.

        Of log-concave noise it never does (docs/explanation/accounting.md), nor do changes that are spread
        over several counts and add up to `most` (docs/explanation/joins.md).

        >>> from discreet.noise import TableNoise
        >>> TableNoise({-2: "1/4", 0: "1/2", 2: "1/4"}).check_changes(2, spread=False)
        Traceback (most recent call last):
        discreet.errors.InputError: table noise of variance 2 is not log-concave, and a change of 1 can tell \
more than one of 2, so what up to 2 cost is not known; account for changes of 1, or take log-concave noise
        """
        if most == 1 or self.is_log_concave:
            return
        worse = self.telling_change(most)
        if worse is None and not spread:
            return
        how = "several small changes" if worse is None else f"a change of {worse}"
        raise InputError(
            f"{self} is not log-concave, and {how} can tell more than one of {most}, so what up to {most} "
            "cost is not known; account for changes of 1, or take log-concave noise"
        )

    def telling_change(self, most: int) -> int | None:
        """Return a change below `most` that may tell more than `most` does; None if there is none."""
        return None if self.is_log_concave else 1

    def resized(self, size: Exact) -> Self:
        """Return noise of the same family on the same counts, of another variance or scale."""
        return self._copy(size, self.sensitivity, self.times)

    def for_one(self) -> Self:
        """Return the noise of one count that one person changes by 1.

        >>> from discreet.noise import DiscreteLaplace
        >>> print(DiscreteLaplace(scale=2, sensitivity=3, times=4).for_one())
        discrete Laplace noise of scale 2
        """
        return self._copy(self.size, 1, 1)

    def single(self) -> Self:
        """Return the noise of one count alone, if it can be drawn; else raise an `InputError`.

        >>> from discreet.noise import DiscreteGaussian
        >>> print(DiscreteGaussian(variance=5, sensitivity=2, times=3).single())
        discrete Gaussian noise of variance 5
        >>> DiscreteGaussian(variance="1e-5").single()
        Traceback (most recent call last):
        discreet.errors.InputError: variance is 1/100000; it must lie between 1/10000 and 18446744073709551616
        """
        assert self._size
        return self if self.sensitivity == self.times == 1 else self._copy(self.size, 1, 1)

    @property
    def is_drawn(self) -> bool:
        """Whether samples are drawn: the noise is a whole number, and added."""
        return self.is_added

    @property
    def is_added(self) -> bool:
        """Whether the noise is added, so that it has a variance and margins."""
        return True

    # -- probabilities ----------------------------------------------------------------------------

    def log_pmf(self, x: ArrayLike) -> Floats:
        """Return log P[X = x]."""
        return self._log_pmf(_integers(x))[()]

    def pmf(self, x: ArrayLike) -> Floats:
        """Return P[X = x]."""
        return np.exp(self.log_pmf(x))

    def log_sf(self, x: ArrayLike) -> Floats:
        """Return log P[X > x]."""
        return self._log_upper(_integers(x) + 1.0)[()]

    def sf(self, x: ArrayLike) -> Floats:
        """Return P[X > x]."""
        return np.exp(self.log_sf(x))

    def log_cdf(self, x: ArrayLike) -> Floats:
        """Return log P[X <= x]."""
        return self._log_upper(-_integers(x))[()]

    def cdf(self, x: ArrayLike) -> Floats:
        """Return P[X <= x]."""
        return np.exp(self.log_cdf(x))

    def variance_ball(self) -> balls.arb:
        """Return a ball around E X^2, of laws that have one."""
        raise TypeError(f"the variance of {self} is not known exactly")

    @abstractmethod
    def log_mgf(self, s: ArrayLike) -> Floats:
        """Return log E exp(s X) for real s."""

    def quantile(self, p: Exact) -> int:
        """Return the smallest integer x with P[X <= x] >= p, certified.

        `p` is exact (a string, a Fraction), so the answer is always the right integer.
        """
        chance = share(p, name="p")
        return self._crossing(1 - chance) - 1 if 2 * chance > 1 else 1 - self._crossing(chance)

    def _crossing(self, level: Fraction) -> int:
        """Return the smallest m >= 1 with P[X >= m] < level, up to 1/2: by floats, then certified.

        P[X >= m] cannot equal a rational level for discrete Laplace noise (a power of e would be algebraic),
        and is not known to for discrete Gaussian noise; if it did, this would raise an error.
        """
        log_level = math.log(level.numerator) - math.log(level.denominator)
        low, m = 0, max(2, math.ceil(self.reach(abs(log_level) + 2.0)))
        while m - low > 1:  # P[X >= low] >= level > P[X >= m], 64 sections at a time
            points = np.unique(np.linspace(low, m, 65).round()[1:-1])
            points = points[(points > low) & (points < m)]
            below = self.log_tail(points) < log_level
            first = int(np.argmax(below)) if below.any() else len(points)
            low, m = (
                int(points[first - 1]) if first > 0 else low,
                int(points[first]) if first < len(points) else m,
            )
        while not self._is_below(m, level):
            m += 1
        while m > 1 and self._is_below(m - 1, level):
            m -= 1
        return m

    def _is_below(self, m: int, level: Fraction) -> bool:
        """Return whether P[X >= m] < level, certified."""
        bits = 128
        while bits <= balls.MAX_BITS:
            with balls.working_bits(bits):
                tail, bound = self.ball_tail(m), balls.ball(level)
                if tail < bound:
                    return True
                if tail > bound:
                    return False
            bits *= 2
        raise PrecisionError(f"{balls.MAX_BITS} bits do not tell P[X >= {m}] from {shown(level)} for {self}")

    def margin(self, level: Exact = "0.95", *, draws: int = 1) -> int:
        """Return the margin of error of a sum of `draws` draws: the smallest m with P[|sum| <= m] >= level.

        `level` is exact, and so is the answer.

        >>> from discreet.noise import DiscreteGaussian, DiscreteLaplace
        >>> wide, narrow = DiscreteGaussian(variance=26), DiscreteGaussian(variance="1/25")
        >>> [noise.margin() for noise in (wide, narrow, DiscreteLaplace(scale=3))]
        [10, 0, 9]
        >>> DiscreteGaussian(variance="5000/159").margin(draws=4), DiscreteLaplace(scale=10).margin(draws=8)
        (22, 79)
        """
        return _margin(self, share(level, name="level"), whole(draws, name="draws"))

    def within(self, size: int, *, draws: int = 1) -> float:
        """Return the chance that a sum of `draws` draws lies between -size and size.

        >>> from discreet.noise import DiscreteGaussian
        >>> noise = DiscreteGaussian(variance="5000/159")
        >>> round(noise.within(10), 4), round(noise.within(21, draws=4), 4)
        (0.9392, 0.9448)
        """
        if draws == 1:
            return float(1.0 - 2.0 * self.sf(size))
        outside = _outside(self, draws)
        return float(1.0 - outside[size]) if size < outside.size else 1.0

    def certified_pmf(self, x: int, *, bits: int = 100) -> Interval:
        """Return an interval that contains P[X = x], its relative width below 2^-bits."""
        return self._narrow(lambda: self.ball_pmf(x), bits)

    def certified_sf(self, x: int, *, bits: int = 100) -> Interval:
        """Return an interval that contains P[X > x], its relative width below 2^-bits."""
        return self._narrow(lambda: self.ball_upper(x + 1), bits)

    def certified_cdf(self, x: int, *, bits: int = 100) -> Interval:
        """Return an interval that contains P[X <= x], its relative width below 2^-bits."""
        return self._narrow(lambda: self.ball_upper(-x), bits)

    def _narrow(self, compute: Callable[[], balls.arb], bits: int) -> Interval:
        """Raise the working precision until the ball is narrow enough."""
        self.single()
        working = bits + 64
        while working <= balls.MAX_BITS:
            with balls.working_bits(working):
                value = compute()
            if value.rel_accuracy_bits() > bits + 2:
                return balls.as_interval(value)
            working *= 2
        raise PrecisionError(f"{bits} bits were asked for; {balls.MAX_BITS} bits of work did not reach them")

    # What a family provides; `m` is an integer >= 1, balls have the working precision.

    @abstractmethod
    def _log_pmf(self, x: Floats) -> Floats: ...

    @abstractmethod
    def log_tail(self, m: Floats) -> Floats:
        """Return log P[X >= m]."""

    @abstractmethod
    def ball_pmf(self, x: int) -> balls.arb:
        """Return a ball around P[X = x]."""

    @abstractmethod
    def ball_tail(self, m: int) -> balls.arb:
        """Return a ball around P[X >= m]."""

    @abstractmethod
    def ball_pmfs(self, count: int) -> list[balls.arb]:
        """Return balls around P[X = 0], ..., P[X = count - 1]."""

    @abstractmethod
    def reach(self, nats: float) -> float:
        """Return some m whose tail is below exp(-nats), as the start of a search."""

    def _log_upper(self, m: Floats) -> Floats:
        """Return log P[X >= m] for integers m of either sign."""
        tail = self.log_tail(np.maximum(m, 1.0 - m))
        return np.where(m >= 1.0, tail, np.log1p(-np.exp(tail)))

    def ball_upper(self, m: int) -> balls.arb:
        """Return a ball around P[X >= m], m of either sign."""
        return self.ball_tail(m) if m >= 1 else 1 - self.ball_tail(1 - m)

    def evidence(self, x: Floats) -> Floats:
        """Return log P[X = x - 1] / P[X = x]: what a noisy count says of one who may be in it.

        >>> from discreet.noise import DiscreteLaplace
        >>> DiscreteLaplace(scale=2).evidence(np.array([0.0, 3.0])).tolist()
        [-0.5, 0.5]
        """
        single, whole = self.single(), x.astype(np.int64)
        return np.asarray(single.log_pmf(whole - 1) - single.log_pmf(whole), dtype=np.float64)

    # -- sums with weights ------------------------------------------------------------------------------

    @cached_property
    def is_estimated(self) -> bool:
        """Whether estimates can be made: the noise is symmetric, E cos(uX) positive as far as angles tell."""
        chances = self._listed_chances
        mirrored = self.pmf(-np.arange(chances.size))
        angles = np.linspace(0.0, math.pi, 4096)
        return bool(np.all(chances == mirrored)) and bool(np.all(self._cosines(angles) > 1e-12))

    @cached_property
    def _listed_chances(self) -> Floats:
        return self.pmf(np.arange(math.ceil(self.reach(LISTED_NATS)) + 1))

    def _cosines(self, turn: Floats) -> Floats:
        chances = self._listed_chances
        doubled = [chances[0], *(2 * chances[1:])]
        return np.asarray(np.polynomial.chebyshev.chebval(np.cos(turn), doubled), dtype=np.float64)

    def transform(self, angle: Floats) -> Floats:
        """Return E cos(angle X), of noise with which estimates can be made.

        >>> from discreet.noise import DiscreteGaussian
        >>> DiscreteGaussian(variance=1).transform(np.array([0.0, 1.0])).round(6).tolist()
        [1.0, 0.606532]
        """
        return self._cosines(np.abs(angle - 2 * math.pi * np.rint(angle / (2 * math.pi))))

    def traits(self) -> Traits:
        """Return bounds of the transform and of the tails: by moments, and the mgf up to 1/scale."""
        variance, smooth = self._smoothness()
        steps = np.arange(math.ceil(self.reach(LISTED_NATS)) + 1.0)
        fourth = 2 * float(self.pmf(steps.astype(np.int64)) @ steps**4) - 3 * variance**2
        angles = np.linspace(0.01, math.pi, 400)
        logs = -2 * np.log(np.maximum(np.abs(self.transform(angles)), 1e-300)) / angles**2
        scale = max(1.0, math.sqrt(variance))
        slopes = np.linspace(0.01, 1.0, 100) / scale
        # (K(s) / s^2 is largest at one of the points or within a thousandth of it)
        proxy = max(variance, 1.001 * float(np.max(2 * self.log_mgf(slopes) / slopes**2)))
        lowest = max(min(smooth, 0.99 * float(logs.min())), 1e-6 * variance)
        return Traits(variance, abs(fourth), lowest, proxy, scale)

    def _smoothness(self) -> tuple[float, float]:
        """The variance, and one that bounds the transform at half a turn."""
        variance = max(self.true_variance(), 1e-20)
        flat = float(self.transform(np.array([math.pi]))[0])
        # positive, so that it is not taken for no noise
        return variance, max(min(-2 * math.log(max(flat, 1e-300)) / math.pi**2, variance), 1e-6 * variance)

    def tail_proxy(self, variance: float) -> tuple[float, bool]:
        """Return a with log E e^(tX) <= -log(1 - a v t^2 / 2) and true, or <= a v t^2 / 2 and false."""
        # the former holds for the largest of 2 (1 - 1 / E e^(tX)) / t^2
        t = np.geomspace(1e-3, 30.0, 300) / math.sqrt(variance)
        with np.errstate(over="ignore"):
            return max(1.001 * float(np.max(-2 * np.expm1(-self.log_mgf(t)) / t**2)) / variance, 1.0), True

    # -- the privacy loss of one count ------------------------------------------------------------------

    @property
    def as_lattice(self) -> LatticeNoise | None:
        """The noise, if its loss lies on a lattice and is mirrored; else None."""
        return None

    @property
    def normal_loss(self) -> Fraction | None:
        """The variance of one count's loss, exactly, if that is normal; else None."""
        return None

    @property
    def exact_density(self) -> TwoSidedDensity | None:
        """The law of one count's loss, if it is that of continuous Laplace noise; else None."""
        return None

    @property
    def proved_cost(self) -> ProvedCost | None:
        """What all `times` cost as zCDP and as pure privacy, if that is proved; else None."""
        return None

    def defined_loss(self, bits: int) -> DefinedLoss | None:
        """The law of one count's loss from its definition, in balls; None if there is none to be listed."""
        return None

    def defined_width(self, bits: int) -> float:
        """About how many losses `defined_loss` lists of all `times`."""
        return math.inf

    def outcome_count(self, nats: float) -> int | None:
        """How many outcomes `outcomes_ball` lists; None if outcomes cannot be listed."""
        return 2 * (math.ceil(self.reach(nats)) + self.sensitivity) + self.sensitivity + 1

    def certain_loss(self, *, exchanged: bool = False) -> Fraction:
        """The probability of outcomes with the person that cannot be without them, or vice versa."""
        return min(Fraction(self.loss_law(exchanged=exchanged).infinite), Fraction(1))

    def largest_ball(self) -> balls.arb:
        """The largest loss of one count, which must have a bound, as a ball."""
        return balls.ball(self.largest or Fraction(0))

    @property
    def mean(self) -> Fraction:
        """E X, which is zero where the noise is symmetric."""
        return Fraction(0)

    @property
    def is_mirrored(self) -> bool:
        """Whether the loss has the same law with and without the person: exchange the two and reflect."""
        return True

    def exchanged(self) -> Self:
        """Return the noise with the two hypotheses exchanged: what a person who leaves changes.

        Noise whose loss is mirrored is its own.
        """
        return self

    @property
    def precision(self) -> Fraction:
        """What all `times` add to R, the variance of the loss's Gaussian part: zero unless Gaussian."""
        return Fraction(0)

    @property
    def largest(self) -> Fraction | None:
        """The largest loss of one count, rounded up if irrational; None where there is no bound."""
        return None

    @cached_property
    def zcdp(self) -> Fraction | None:
        """The rho of zCDP that all `times` cost together, rounded up; None if no rho holds.

        The largest of K(t) / (t (t + 1)) over t > 0, K the logarithm of E e^(tL): see `largest_ratio`.
        """
        laws = [self.loss_law(exchanged=way) for way in ((False,) if self.is_mirrored else (False, True))]
        if any(law.infinite > 0 for law in laws):
            return None
        cost = max(largest_ratio(law) for law in laws)
        return self.times * up_to_digits(Fraction(cost), RHO_DIGITS)

    @cached_property
    def outcomes(self) -> OutcomeChances:
        """What one count can show, as far as floats reach: log-probabilities without the person and with."""
        most = math.ceil(self.reach(OUTCOME_NATS)) + self.sensitivity
        x = np.arange(-most, most + self.sensitivity + 1)
        return OutcomeChances(self.log_pmf(x), self.log_pmf(x - self.sensitivity), math.exp(-OUTCOME_NATS))

    def outcomes_ball(self, nats: float) -> tuple[list[tuple[balls.arb, balls.arb]], balls.arb]:
        """The same in balls: pairs of probabilities, and a bound of what is left out under either."""
        most = math.ceil(self.reach(nats)) + self.sensitivity
        half = self.ball_pmfs(most + self.sensitivity + 1)
        pairs = [
            (half[abs(x)], half[abs(x - self.sensitivity)]) for x in range(-most, most + self.sensitivity + 1)
        ]
        return pairs, 2 * self.ball_tail(most + 1)

    def loss_law(self, *, exchanged: bool = False) -> CountLoss:
        """The law of one count's loss with the person, or, with the two hypotheses exchanged, without."""
        without, with_, left_out = self.outcomes
        return CountLoss.of(with_, without, left_out) if exchanged else CountLoss.of(without, with_, left_out)


def grouped(noises: Iterable[Noise]) -> tuple[Noise, ...]:
    """Merge equal noise by adding its `times`; Gaussian before Laplace, small noise before large.

    >>> from discreet.noise import DiscreteGaussian
    >>> a, b = DiscreteGaussian(variance=9, times=3), DiscreteGaussian(variance=5)
    >>> for noise in grouped([a, b, a]):
    ...     print(noise)
    discrete Gaussian noise of variance 5
    6 times discrete Gaussian noise of variance 9
    """
    by_key: dict[tuple[object, ...], Noise] = {}
    times: dict[tuple[object, ...], int] = {}
    for noise in noises:
        key = noise.key
        by_key[key], times[key] = noise, times.get(key, 0) + noise.times
    return tuple(by_key[key].repeated(times[key]) for key in sorted(times))


def stated_size(variance: Exact | None, sigma: Exact | None) -> Exact:
    """Return the variance, or the square of the standard deviation."""
    if variance is None and sigma is None:
        raise InputError("variance is not given, and neither is sigma; give one of them, such as sigma=3")
    if variance is not None and sigma is not None:
        raise InputError("variance is given, and so is sigma; give one of them")
    return positive(sigma, name="sigma") ** 2 if variance is None else variance  # type: ignore[arg-type]


def _integers(x: ArrayLike) -> Floats:
    array = np.asarray(x)
    if array.dtype.kind not in "iuf":
        raise InputError(f"x is of type {array.dtype}; the noise is an integer, so ask at integers")
    if array.dtype.kind == "f" and (odd := array[array != np.rint(array)]).size:
        raise InputError(f"x is {odd[0]:.12g}; the noise is an integer, so ask at integers")
    return array.astype(np.float64)


# -- sums of several draws ----------------------------------------------------------------------------------
#
# The law of a sum is that of one draw convolved with itself. Floats (one Fourier transform) decide where the
# answer is clear; balls (a power of a polynomial whose coefficients are the probabilities) where it is close.

CLEAR = 1e-9
"""Floats decide if they differ by more than this; their errors are a thousand times smaller."""

_NATS = 60.0  # what is left out of a sum, as a logarithm


@lru_cache(maxsize=1024)
def _margin(noise: Noise, chance: Fraction, times: int) -> int:
    if times == 1:  # by symmetry P[|X| <= m] >= level says that P[X <= m] >= (1 + level) / 2
        return noise.quantile((1 + chance) / 2)
    outside, limit = _outside(noise, times), float(1 - chance)
    margin = int(np.searchsorted(-outside, -limit))
    near = outside[max(margin - 1, 0) : margin + 1]
    if margin < outside.size and np.all(np.abs(near - limit) > CLEAR):
        return margin
    return _certified(noise, chance, times)


@lru_cache(maxsize=64)
def _outside(noise: Noise, times: int) -> NDArray[np.float64]:
    """P[|S| > m] for m = 0, 1, ..., to about 1e-12."""
    spread = (times * noise.true_variance()) ** 0.5 + 1e-3
    slopes = np.concatenate([np.array([1, 2, 4, 8, 16]) / spread, np.array([0.2, 0.5, 0.8]) / noise.reach(1)])
    reach = math.ceil(float(np.min((times * noise.log_mgf(slopes) + _NATS) / slopes)))  # Chernoff's bound
    size = 1 << (2 * reach + 1).bit_length()
    index = np.arange(size)
    mass = noise.pmf(np.where(index < size // 2, index, index - size))
    sums = np.fft.irfft(np.fft.rfft(mass) ** times, size)[: reach + 2]
    outside: NDArray[np.float64] = 2.0 * np.append(np.cumsum(sums[::-1])[::-1][1:], 0.0)
    return np.minimum(np.maximum(outside, 0.0), 1.0)


def _certified(noise: Noise, chance: Fraction, times: int) -> int:
    """The margin by balls, where floats cannot decide."""
    bits, nats = 128, _NATS
    while bits <= balls.MAX_BITS:
        reach = math.ceil(noise.reach(nats))
        with balls.working_bits(bits):
            half = noise.ball_pmfs(reach + 1)
            powers = (balls.arb_poly([*half[:0:-1], *half]) ** times).coeffs()
            left_out = 2 * times * noise.ball_tail(reach + 1)  # some draw lies beyond the reach
            inside, wanted = balls.arb(0), balls.ball(chance)
            for size in range(times * reach + 1):
                inside += powers[times * reach + size] * (1 if size == 0 else 2)
                if inside >= wanted:
                    return size
                if not inside + left_out < wanted:
                    break
        bits, nats = 2 * bits, 2 * nats
    raise PrecisionError(f"the margin of {times} draws of {noise} could not be separated from an integer")
