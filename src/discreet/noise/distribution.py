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
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InputError, PrecisionError
from discreet.memory import Forgetful
from discreet.noise import balls
from discreet.noise.loss_law import OUTCOME_NATS, LossLaw, OutcomeChances, largest_ratio
from discreet.numbers import Exact, Interval, positive, share, shown, up_to_digits, whole

if TYPE_CHECKING:
    from discreet.noise.factors import BallFactor

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_BLOCK = 1 << 22  # angles times values in memory at a time

RADII = np.concatenate([[0.0], math.pi * 1.01 ** np.arange(-2200.0, 1.0)])
"""Distances at which moduli are computed if they need not fall with the distance."""


RHO_DIGITS = 15
"""Digits of a rho of zCDP that is irrational, and rounded up."""

PARAMETERS = ("variance", "scale")
"""What the parameter of a law may be: a variance grows as the square of the noise, a scale as the noise."""


class Noise(Forgetful, ABC):
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
    is_gaussian: ClassVar[bool] = False
    """Whether the noise is discrete Gaussian, so that its loss has a Gaussian part and it has a rho."""

    def __init_subclass__(cls) -> None:
        """Refuse a law whose parameter is neither: what has one scales by it, or by its root."""
        super().__init_subclass__()
        if (stated := getattr(cls, "PARAMETER", "variance")) not in PARAMETERS:
            raise TypeError(f"PARAMETER of {cls.__name__} is {stated!r}; it must be one of {PARAMETERS}")

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

    @cached_property
    def _size(self) -> float:
        """The parameter as a float; one outside `RANGE` is refused."""
        low, high = self.RANGE
        if not low <= self.size <= high:
            raise InputError(f"{self.PARAMETER} is {shown(self.size)}; it must lie between {low} and {high}")
        return float(self.size)

    def _copy(self, size: Exact, sensitivity: int, times: int) -> Self:
        """Return noise of the same family."""
        return type(self)(size, sensitivity=sensitivity, times=times)

    @property
    def key(self) -> tuple[object, ...]:
        """Everything but its `times`, in the order in which `grouped` sorts."""
        return self.FAMILY, self.size, self.sensitivity

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
        >>> DiscreteGaussian(3).is_log_concave
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

    @abstractmethod
    def true_variance(self) -> float:
        """Return the variance E X^2."""

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
        >>> [noise.margin() for noise in (DiscreteGaussian(26), DiscreteGaussian("1/25"), DiscreteLaplace(3))]
        [10, 0, 9]
        >>> DiscreteGaussian("5000/159").margin(draws=4), DiscreteLaplace(10).margin(draws=8)
        (22, 79)
        """
        return _margin(self, share(level, name="level"), whole(draws, name="draws"))

    def within(self, size: int, *, draws: int = 1) -> float:
        """Return the chance that a sum of `draws` draws lies between -size and size.

        >>> from discreet.noise import DiscreteGaussian
        >>> noise = DiscreteGaussian("5000/159")
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

    # -- the privacy loss of one count ------------------------------------------------------------------

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

    def loss_law(self, *, exchanged: bool = False) -> LossLaw:
        """The law of one count's loss with the person, or, with the two hypotheses exchanged, without."""
        without, with_, left_out = self.outcomes
        return LossLaw.of(with_, without, left_out) if exchanged else LossLaw.of(without, with_, left_out)


class LatticeNoise(Noise):
    """Noise whose loss is L = offset + step X, X an integer, and mirrored: what contours are made for."""

    is_log_concave: ClassVar[bool] = True

    PER_BIT: ClassVar[int]
    """The divisor of the parameter that makes the noise half as wide."""
    WIDEST: ClassVar[Fraction]
    """The largest parameter whose draws fit a table of 16 bits."""

    def narrowed(self, bits: int) -> Self:
        """Return the noise that is 2^bits times narrower."""
        return type(self)(self.size / self.PER_BIT**bits)

    @abstractmethod
    def split_exponent(self, k: int, u: int, s: int) -> tuple[int, int]:
        """Return t, a quotient of integers that grows with u: weight(k s + u) = narrow weight(k) exp(-t)."""

    @property
    @abstractmethod
    def step(self) -> Fraction:
        """Loss per unit of X."""

    @property
    @abstractmethod
    def offset(self) -> Fraction:
        """Loss at X = 0."""

    @property
    def mean_loss(self) -> float:
        """E L: the offset, where X is symmetric."""
        return float(self.offset)

    @property
    def is_dual(self) -> bool:
        """Whether the transform of X is summed by Poisson duality; else over the values that X takes."""
        return False

    @property
    def is_plain(self) -> bool:
        """Whether that sum has one term: the transform of X is Gaussian up to half a turn."""
        return False

    @abstractmethod
    def tilted(self, theta: float, nats: float = 40.0) -> tuple[int, NDArray[np.int64], Floats]:
        """Return (shift, u, p): under the tilt e^(theta L), X = shift + u with probability p.

        Probabilities below about e^-nats of the largest may be left out.
        """

    @abstractmethod
    def log_factor(self, theta: Floats) -> Floats:
        """log E e^(theta L) of one count, less theta offset + theta^2 precision / 2."""

    @abstractmethod
    def log_factor_ball(self, theta: Fraction) -> balls.arb:
        """The same, as a ball."""

    @abstractmethod
    def shift(self, theta: float) -> int:
        """The shift of `tilted`: an integer where X is likely under the tilt."""

    def log_transform(self, theta: float, turn: Floats) -> Complexes:
        """log E e^(2 pi i turn (X - shift)) under the tilt, summed over the `times`, for |turn| <= 1/2."""
        _, u, p = self.tilted(theta)
        logs = finite_transform(u[p > 1e-22], p[p > 1e-22], 2 * math.pi * turn)
        # by parts: the logarithm of zero is -inf, which complex products turn into nan
        return self.times * logs.real + 1j * (self.times * logs.imag)

    def tilted_variance(self, theta: float = 0.0) -> float:
        """Variance of one count's X under the tilt."""
        _, u, p = self.tilted(theta)
        return float(p @ (u - float(p @ u)) ** 2)

    def modulus(self, theta: float, angle: Floats) -> Floats:
        """|E e^(i angle X)| under the tilt."""
        _, u, p = self.tilted(theta)
        return np.abs(p @ np.exp(1j * np.multiply.outer(u, angle)))

    def radius(self, depth: float, theta: float) -> float:
        """The least d in [0, pi] beyond which modulus^times stays below e^-depth; pi if there is none.

        It is computed at the RADII; between them the slope of the squared modulus at d is at most twice the
        variance times d.
        """
        slope = 2 * self.tilted_variance(theta) * RADII[1:]
        largest = self.modulus(theta, RADII)[:-1] ** 2 + slope * np.diff(RADII)
        # 1e-12 is far above the rounding of the sums
        above = np.flatnonzero(largest + 1e-12 >= math.exp(-2 * (depth / self.times)))
        return float(RADII[above[-1] + 1])

    # The same in balls, at the working precision.

    @abstractmethod
    def factor_ball(self, theta: Fraction) -> BallFactor:
        """The characteristic function of one count's X under the tilt."""

    @abstractmethod
    def law_ball(self, theta: Fraction) -> tuple[int, list[balls.arb], balls.arb]:
        """The law of X under the tilt: its first value, probabilities, and a bound of the mass left out."""

    @abstractmethod
    def radius_ball(self, depth: float, theta: float) -> float:
        """About the least radius beyond which modulus^times is proved to stay below e^-depth, or pi."""

    @abstractmethod
    def moduli_ball(self, theta: Fraction, distances: Sequence[float]) -> list[balls.arb]:
        """Bounds of times * log |factor| between each of some ascending distances and the next."""


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


def _integers(x: ArrayLike) -> Floats:
    array = np.asarray(x)
    if array.dtype.kind not in "iu":
        raise InputError(f"x is of type {array.dtype}; the noise is an integer, so ask at integers")
    return array.astype(np.float64)


# -- transforms ---------------------------------------------------------------------------------------------


def finite_transform(u: NDArray[np.int64], p: Floats, angle: Floats) -> Complexes:
    """log of sum p e^(i angle u) for probabilities p, accurate to the last digits near angle 0."""
    weights = p.astype(np.complex128)
    blocks = np.array_split(angle, max(1, angle.size * u.size // _BLOCK))
    return np.concatenate(
        [log1p_complex(weights @ np.expm1(1j * np.multiply.outer(u, block))) for block in blocks]
    )


def log1p_complex(z: Complexes) -> Complexes:
    """log(1 + z) with full relative accuracy near 0 (NumPy's own loses it), and near its zero at -1.

    >>> log1p_complex(np.array([-1 + 1e-12, 1e-20 + 0j])).real.round(4).tolist()
    [-27.631, 0.0]
    """
    x, y = z.real, z.imag
    excess = np.maximum(x * (2 + x) + y * y, -1.0)
    result = np.empty(z.shape, dtype=np.complex128)
    with np.errstate(divide="ignore"):
        result.real = 0.5 * np.log1p(excess)
        # the square of a small modulus has lost half of its digits
        small = np.flatnonzero(excess < -0.75)
        if small.size:
            result.real[small] = np.log(np.hypot(1 + x[small], y[small]))
    result.imag = np.arctan2(y, 1 + x)
    return result


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
