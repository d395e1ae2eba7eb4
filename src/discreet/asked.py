"""What people ask noise at a prompt: `a + b`, `10 * a`, its epsilon, draws.

It is answered above the laws, in `discreet.accounting` and by the sampler, which are asked there and then; no
number of an account comes from here.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self, overload

from discreet.calls import Hinting, understandable
from discreet.errors import InputError
from discreet.numbers import Exact

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.accounting.privacy_loss import PrivacyLoss
    from discreet.loss.values import Many, Number, Numbers, Value, Values
    from discreet.noise.distribution import Noise
    from discreet.noise.entropy import Entropy


class AskedForDraws:
    """Noise that is asked for draws; `discreet.sample` makes them.

    >>> from discreet import DiscreteLaplace
    >>> DiscreteLaplace(scale=2).sample((2, 3)).shape
    (2, 3)
    """

    __slots__ = ()

    @understandable
    def sample(self, size: int | Sequence[int] = (), *, source: Entropy | None = None) -> NDArray[np.int64]:
        """Return so many independent draws, or one."""
        from discreet.noise.sampler import sample

        return sample(self, size, source=source)[()]  # type: ignore[arg-type]

    @abstractmethod
    def true_variance(self) -> float:
        """Return the variance E X^2."""

    @property
    def var(self) -> float:
        """The variance E X^2; the parameter `variance` of discrete Gaussian noise is a little more."""
        return self.true_variance()

    @property
    def std(self) -> float:
        """The standard deviation, the root of `var`."""
        return math.sqrt(self.var)


class Composable(Hinting):
    """One event or several, of which `+` and `*` make more, and what they cost together.

    Certified values and all else that can be asked: `discreet.compose(events)`.

    >>> from discreet import DiscreteGaussian
    >>> ten = 10 * DiscreteGaussian(variance=5)
    >>> round(ten.epsilon(1e-6), 4), round(ten.delta(2), 4), round(ten.tradeoff(0.05), 4)
    (7.2923, 0.1138, 0.5913)
    """

    __slots__ = ()
    __array_ufunc__: ClassVar[None] = None  # NumPy leaves + and * to this class

    if TYPE_CHECKING:  # (a field of a dataclass is no property of its base)

        @property
        def events(self) -> tuple[Noise, ...]:
            """What is published, equal events grouped."""

    @abstractmethod
    def __mul__(self, times: Exact) -> Self: ...

    def __rmul__(self, times: Exact) -> Self:
        return self * times

    def __add__(self, other: Composable) -> Composition:
        if not isinstance(other, Composable):
            raise self._no_event(other)
        from discreet.noise.distribution import grouped

        return Composition(grouped((*self.events, *other.events)))

    def __radd__(self, other: int) -> Self:
        if type(other) is int and other == 0:  # as `sum` starts
            return self
        raise self._no_event(other)

    def _no_event(self, other: object) -> InputError:
        # (its value may be a count that is confidential)
        return InputError(
            f"+ composes events, and one side is of type {type(other).__name__}: type a + b for two that are "
            "published together; to add noise to counts, type counts + noise.sample(len(counts))"
        )

    @overload
    def epsilon(self, delta: Number) -> Value: ...  # type: ignore[overload-overlap]
    @overload
    def epsilon(self, delta: Many) -> Values: ...
    @understandable
    def epsilon(self, delta: Numbers) -> Value | Values:
        """Return the epsilon at which the curve of all these events passes through delta."""
        return self._loss.epsilon(delta)

    @overload
    def delta(self, epsilon: Number) -> Value: ...  # type: ignore[overload-overlap]
    @overload
    def delta(self, epsilon: Many) -> Values: ...
    @understandable
    def delta(self, epsilon: Numbers) -> Value | Values:
        """Return the smallest delta for which all these events are (epsilon, delta)-private."""
        return self._loss.delta(epsilon)

    @overload
    def tradeoff(self, alpha: Number) -> Value: ...  # type: ignore[overload-overlap]
    @overload
    def tradeoff(self, alpha: Many) -> Values: ...
    @understandable
    def tradeoff(self, alpha: Numbers) -> Value | Values:
        """Return the least type II error of any test of type I error alpha."""
        return self._loss.tradeoff(alpha)

    @property
    def _loss(self) -> PrivacyLoss:
        from discreet.accounting.privacy_loss import compose

        return compose(self)  # type: ignore[arg-type]


@dataclass(frozen=True, repr=False)
class Composition(Composable):
    """Several events that are published together.

    >>> from discreet import DiscreteGaussian, DiscreteLaplace
    >>> both = 10 * DiscreteGaussian(variance=5) + DiscreteLaplace(scale=4)
    >>> both
    DiscreteGaussian(variance=Fraction(5, 1), sensitivity=1, times=10) + \
DiscreteLaplace(scale=Fraction(4, 1), sensitivity=1, times=1)
    >>> round(both.epsilon(1e-6), 4), [event.times for event in 2 * both]
    (7.4057, [20, 2])
    """

    events: tuple[Noise, ...]

    def __iter__(self) -> Iterator[Noise]:
        return iter(self.events)

    def __mul__(self, times: Exact) -> Composition:
        return Composition(tuple(event * times for event in self.events))

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.events))
