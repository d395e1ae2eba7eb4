"""One kind of noise on one kind of count: the classes of `discreet.noise`, under the name of an event."""

from discreet.noise import DiscreteGaussian, DiscreteLaplace, grouped
from discreet.noise import Noise as Event

__all__ = ["DiscreteGaussian", "DiscreteLaplace", "Event", "grouped"]
