"""Power noise: P[X = x] ~ exp(-|x / scale|^exponent), from Laplace (exponent 1) to Gaussian noise (exponent
2).

Its sums have no closed form: weights are added up, a few hundred of them, and what lies beyond x = N is
bounded by an integral. With u = (t / c)^p and p >= 1,

    sum over x > N of exp(-(x/c)^p)  <=  integral from N of exp(-(t/c)^p) dt  <=  (c/p) (N/c)^(1-p)
    exp(-(N/c)^p).

On a count that changes by mu the loss is (|x|^p - |x - mu|^p) / c^p: no lattice, but for the exponents 1
and 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from discreet.calls import understandable
from discreet.errors import InputError
from discreet.memory import set_fields
from discreet.noise import balls
from discreet.noise.count_loss import OUTCOME_NATS, CountLoss, merged
from discreet.noise.distribution import Floats, Noise, StatedValue
from discreet.numbers import Exact, positive, shown

_NATS = OUTCOME_NATS + 40.0


@dataclass(frozen=True, init=False)
class PowerNoise(Noise):
    """Power noise on a count that one person can change by `sensitivity`, `times` times over.

    The noise takes the integer x with probability proportional to exp(-|x / scale|^exponent); the exponent
    lies between 1 and 2.

    >>> noise = PowerNoise(exponent="17/10", scale=5)
    >>> noise
    PowerNoise(exponent=Fraction(17, 10), scale=Fraction(5, 1), sensitivity=1, times=1)
    >>> noise.pmf([0, 5]).round(6).tolist(), round(noise.true_variance(), 4), noise.margin()
    ([0.112056, 0.041223], 15.2015, 8)
    """

    FAMILY: ClassVar = "power"
    PARAMETER: ClassVar = "scale"
    RANGE: ClassVar = (Fraction(1, 100), Fraction(700))
    is_log_concave: ClassVar[bool] = True
    has_evidence: ClassVar[bool] = True
    is_estimated: ClassVar[bool] = True
    is_proved_over_joins: ClassVar[bool] = True

    exponent: Fraction
    scale: Fraction
    sensitivity: int
    times: int

    @understandable
    def __init__(self, exponent: Exact, scale: Exact, *, sensitivity: int = 1, times: int = 1) -> None:
        power = positive(exponent, name="exponent")
        if not 1 <= power <= 2:
            raise InputError(
                f"exponent is {shown(power)}; it must lie between 1 (discrete Laplace noise) and 2 (Gaussian)"
            )
        set_fields(self, exponent=power)
        super().__init__(scale, sensitivity=sensitivity, times=times)

    def __str__(self) -> str:
        return super().__str__().replace("power noise of", f"power noise of exponent {shown(self.exponent)},")

    def _copy(self, size: Exact, sensitivity: int, times: int) -> Self:
        return type(self)(self.exponent, size, sensitivity=sensitivity, times=times)

    @property
    def key(self) -> tuple[object, ...]:
        """Everything but its `times`."""
        return self.FAMILY, self.scale, self.sensitivity, self.exponent

    @property
    def tail_exponent(self) -> Fraction:
        """The exponent."""
        return self.exponent

    @property
    def parameters(self) -> dict[str, Fraction]:
        """The scale and the exponent."""
        return {"scale": self.scale, "exponent": self.exponent}

    def label(self, size: str) -> str:
        """Name the law in a table, with its size as written there."""
        return f"{self.FAMILY} of exponent {self.exponent}, scale {size}"

    def stated(self) -> dict[str, StatedValue]:
        """Return what a file states of the law."""
        return {**self.parameters}

    # -- probabilities ----------------------------------------------------------------------------

    def _nats_at(self, x: Floats) -> Floats:
        """-log of the weight."""
        return np.asarray((np.abs(x) / self._size) ** float(self.exponent))

    @cached_property
    def _half(self) -> tuple[Floats, Floats, float]:
        """x = 0, 1, ..., the weights there, and the logarithm of the sum of all weights."""
        x = np.arange(math.ceil(self.reach(_NATS)) + 2.0)
        weight = np.exp(-self._nats_at(x))
        return x, weight, math.log(weight[0] + 2.0 * math.fsum(weight[1:]))

    @cached_property
    def _log_tails(self) -> Floats:
        """log P[X >= x] at x = 0, 1, ..., each summed from its small end."""
        x, _, log_sum = self._half
        logs = np.append(-self._nats_at(x), self._beyond(x[-1:] + 1.0) + log_sum)
        return np.asarray(np.logaddexp.accumulate(logs[::-1])[::-1][:-1] - log_sum)

    def _beyond(self, m: Floats) -> Floats:
        """log P[X >= m] so far out that the weights are a geometric series."""
        here = self._nats_at(m)
        return -here - np.log(-np.expm1(here - self._nats_at(m + 1.0))) - self._half[2]

    def true_variance(self) -> float:
        """Return E X^2.

        >>> from discreet.noise import DiscreteLaplace
        >>> PowerNoise(1, 3).true_variance() / DiscreteLaplace(scale=3).true_variance()
        1.0
        """
        x, weight, log_sum = self._half
        return 2.0 * math.fsum(weight * x * x) * math.exp(-log_sum)

    def log_mgf(self, s: ArrayLike) -> Floats:
        """Return log E exp(s X); infinite where the exponent is 1 and |s| is at least 1 / scale."""
        slope = np.abs(np.asarray(s, dtype=np.float64))
        result = np.empty(slope.shape)
        for index, value in np.ndenumerate(slope):
            if self.exponent == 1 and value >= 1 / self._size:
                result[index] = math.inf
                continue
            # beyond the mode of the tilted weights by as much again as the weights reach
            most = self.reach(_NATS)
            if self.exponent > 1:
                power = float(self.exponent)
                most += 2 * self._size * (value * self._size / power) ** (1 / (power - 1))
            else:
                most = _NATS / (1 / self._size - value)
            x = np.arange(-math.ceil(most), math.ceil(most) + 1.0)
            result[index] = np.logaddexp.reduce(value * x - self._nats_at(x)) - self._half[2]
        return np.asarray(result)[()]

    def _log_pmf(self, x: Floats) -> Floats:
        return -self._nats_at(x) - self._half[2]

    def log_tail(self, m: Floats) -> Floats:
        """Return log P[X >= m]."""
        known = self._log_tails
        inside = np.minimum(m, known.size - 1.0).astype(np.int64)
        return np.where(m < known.size, known[inside], self._beyond(np.maximum(m, 1.0)))

    def reach(self, nats: float) -> float:
        """Return some m whose tail is below exp(-nats)."""
        # the tail is at most (c/p) e^-u (and its first weight), u = (m/c)^p
        more = nats + max(math.log(self._size + 1.0), 0.0) + 1.0
        return self._size * float(more ** (1 / float(self.exponent))) + 1.0

    @property
    def largest(self) -> Fraction | None:
        """The largest loss of one count: only the exponent 1 has one."""
        return self.sensitivity / self.scale if self.exponent == 1 else None

    def loss_law(self, *, exchanged: bool = False) -> CountLoss:
        """The law of the loss (|x|^p - |x - mu|^p) / c^p; the same with the hypotheses exchanged."""
        mu, power = self.sensitivity, float(self.exponent)
        most = math.ceil(self.reach(OUTCOME_NATS)) + mu
        x = np.arange(-most, most + mu + 1.0)
        near = np.abs(x) < 2 * mu
        with np.errstate(divide="ignore", invalid="ignore"):
            # far out the two powers cancel: by the logarithm of their ratio
            far = -self._nats_at(x) * np.expm1(power * np.log1p(-mu / np.where(near, math.inf, x)))
        value = np.where(near, self._nats_at(x) - self._nats_at(x - mu), far)
        order = np.argsort(value, kind="stable")
        # an exponent of 1 has no loss beyond mu / c: what is left out belongs to the ends
        left_out = 0.0 if self.exponent == 1 else math.exp(-OUTCOME_NATS)
        return CountLoss(
            *merged(value[order], self.log_pmf((x - mu).astype(np.int64))[order]), left_out=left_out
        )

    # -- in balls -----------------------------------------------------------------------------------

    def _ball_weight(self, x: int) -> balls.arb:
        if x == 0:
            return balls.arb(1)
        return (-((balls.ball(abs(x) / self.scale).log() * balls.ball(self.exponent)).exp())).exp()

    def _ball_beyond(self, last: int) -> balls.arb:
        """A bound of the sum of the weights beyond `last`, at least 1: the integral of the heading."""
        ratio = balls.ball(last / self.scale)
        return (
            balls.ball(self.scale / self.exponent)
            * (ratio.log() * balls.ball(1 - self.exponent)).exp()
            * self._ball_weight(last)
        )

    def _ball_sum(self) -> balls.arb:
        return _ball_sum(self.single(), balls.current_bits())

    def ball_pmf(self, x: int) -> balls.arb:
        """Return a ball around P[X = x]."""
        return self._ball_weight(x) / self._ball_sum()

    def ball_tail(self, m: int) -> balls.arb:
        """Return a ball around P[X >= m]."""
        start = float(self._nats_at(np.array([float(m)]))[0])
        last = max(m, math.ceil(self.reach(start + _nats(balls.current_bits()))))
        inside = sum((self._ball_weight(x) for x in range(m, last + 1)), balls.arb(0))
        beyond = self._ball_beyond(last) / 2
        return balls.padded(inside + beyond, beyond) / self._ball_sum()

    def ball_pmfs(self, count: int) -> list[balls.arb]:
        """Return balls around P[X = 0], ..., P[X = count - 1]."""
        total = self._ball_sum()
        return [self._ball_weight(x) / total for x in range(count)]


def _nats(bits: int) -> float:
    """How far sums go so that what is left out does not show in this many bits."""
    return (bits + 24) * math.log(2)


@lru_cache(maxsize=16)
def _ball_sum(noise: PowerNoise, bits: int) -> balls.arb:
    """The sum of all weights, at a working precision."""
    last = math.ceil(noise.reach(_nats(bits)))
    inside = sum((noise._ball_weight(x) for x in range(1, last + 1)), balls.arb(0))
    beyond = noise._ball_beyond(last)
    return 1 + 2 * balls.padded(inside + beyond / 2, beyond / 2)
