"""Integer noise: discrete Gaussian and discrete Laplace, their probabilities, exact draws, privacy losses."""

from discreet.noise.distribution import Noise, grouped
from discreet.noise.entropy import Entropy, SystemEntropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.sampler import sample, sample_many

GaussianNoise = DiscreteGaussian
"""Another name of the same class."""

LaplaceNoise = DiscreteLaplace
"""Another name of the same class."""

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Entropy",
    "GaussianNoise",
    "LaplaceNoise",
    "Noise",
    "SystemEntropy",
    "grouped",
    "sample",
    "sample_many",
]
