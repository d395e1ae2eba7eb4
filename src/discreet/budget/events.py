"""What one noisy release of one count is. An event is not its price: it knows no epsilon."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.budget.fields import whole
from discreet.numbers import Exact, positive


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class DiscreteGaussian:
    """Discrete Gaussian noise on a count that one person can change by `sensitivity`, `times` times over.

    The noise takes the integer x with probability proportional to exp(-x^2 / (2 variance)).

    >>> DiscreteGaussian(variance="5/2", times=10)
    DiscreteGaussian(variance=Fraction(5, 2), sensitivity=1, times=10)
    >>> DiscreteGaussian(variance=2.5)
    Traceback (most recent call last):
    discreet.errors.InputError: variance is the float 2.5, which is not exactly what it looks like; \
write it as a string such as "2.5", or as a Fraction or an int
    """

    variance: Fraction
    sensitivity: int
    times: int

    def __init__(self, *, variance: Exact, sensitivity: int = 1, times: int = 1) -> None:
        object.__setattr__(self, "variance", positive(variance, name="variance"))
        object.__setattr__(self, "sensitivity", whole(sensitivity, name="sensitivity"))
        object.__setattr__(self, "times", whole(times, name="times"))

    @property
    def precision(self) -> Fraction:
        """Squared sensitivity over variance, summed over the `times`: what the event adds to R = 2 rho.

        >>> DiscreteGaussian(variance=5, sensitivity=2, times=10).precision
        Fraction(8, 1)
        """
        return self.times * self.sensitivity**2 / self.variance

    def for_people(self, people: int) -> DiscreteGaussian:
        """Return the event as a group of `people` sees it: they change the count that many times more.

        >>> DiscreteGaussian(variance=5).for_people(3).sensitivity
        3
        """
        many = whole(people, name="people")
        if many == 1:
            return self
        return DiscreteGaussian(variance=self.variance, sensitivity=self.sensitivity * many, times=self.times)

    def __str__(self) -> str:
        return f"{_often(self)}discrete Gaussian of variance {self.variance}, sensitivity {self.sensitivity}"


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class DiscreteLaplace:
    """Two-sided geometric noise on a count that one person can change by `sensitivity`, `times` times over.

    The noise takes the integer x with probability proportional to exp(-|x| / scale).

    >>> DiscreteLaplace(scale=2)
    DiscreteLaplace(scale=Fraction(2, 1), sensitivity=1, times=1)
    """

    scale: Fraction
    sensitivity: int
    times: int

    def __init__(self, *, scale: Exact, sensitivity: int = 1, times: int = 1) -> None:
        object.__setattr__(self, "scale", positive(scale, name="scale"))
        object.__setattr__(self, "sensitivity", whole(sensitivity, name="sensitivity"))
        object.__setattr__(self, "times", whole(times, name="times"))

    def for_people(self, people: int) -> DiscreteLaplace:
        """Return the event as a group of `people` sees it: they change the count that many times more.

        >>> DiscreteLaplace(scale=2, sensitivity=2).for_people(3).sensitivity
        6
        """
        many = whole(people, name="people")
        if many == 1:
            return self
        return DiscreteLaplace(scale=self.scale, sensitivity=self.sensitivity * many, times=self.times)

    def __str__(self) -> str:
        return f"{_often(self)}discrete Laplace of scale {self.scale}, sensitivity {self.sensitivity}"


Event = DiscreteGaussian | DiscreteLaplace
"""One kind of noise on one kind of count."""


def grouped(events: Iterable[Event]) -> tuple[Event, ...]:
    """Merge equal events by adding their `times`; Gaussian before Laplace, small noise before large.

    >>> a, b = DiscreteGaussian(variance=9, times=3), DiscreteGaussian(variance=5)
    >>> for event in grouped([a, b, a]):
    ...     print(event)
    discrete Gaussian of variance 5, sensitivity 1
    6 times discrete Gaussian of variance 9, sensitivity 1
    """
    times: dict[tuple[bool, Fraction, int], int] = {}
    for event in events:
        key = kind(event)
        times[key] = times.get(key, 0) + event.times
    return tuple(of_kind(key, times[key]) for key in sorted(times))


def kind(event: Event) -> tuple[bool, Fraction, int]:
    """Return all of an event but its `times`, in the order in which `grouped` sorts.

    >>> kind(DiscreteLaplace(scale=2, times=7))
    (True, Fraction(2, 1), 1)
    """
    if isinstance(event, DiscreteGaussian):
        return False, event.variance, event.sensitivity
    return True, event.scale, event.sensitivity


def of_kind(key: tuple[bool, Fraction, int], times: int) -> Event:
    """Return the event of which `key` is the `kind`.

    >>> of_kind((True, Fraction(2), 1), 7)
    DiscreteLaplace(scale=Fraction(2, 1), sensitivity=1, times=7)
    """
    laplace, size, sensitivity = key
    if laplace:
        return DiscreteLaplace(scale=size, sensitivity=sensitivity, times=times)
    return DiscreteGaussian(variance=size, sensitivity=sensitivity, times=times)


def _often(event: Event) -> str:
    return f"{event.times} times " if event.times > 1 else ""
