"""Noise that is composed: `a + b` is both events, `10 * a` ten of one, whatever is asked of them together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from discreet.errors import InputError
from discreet.faces import Accountable
from discreet.numbers import Exact, shown

if TYPE_CHECKING:
    from discreet.noise.distribution import Noise


class Composable(Accountable):
    """One event or several: what they are added to is published too, and so often as they are taken."""

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
        found = f"a {type(other).__name__}" if shown(other).startswith("of type") else shown(other)
        return InputError(
            f"+ composes events, and {found} is none: type a + b for two that are published together; to add "
            "noise to counts, type counts + noise.sample(len(counts))"
        )


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
