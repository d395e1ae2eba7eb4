"""Integer noise: discrete Gaussian and discrete Laplace, their probabilities, and exact samples of them."""

from discreet.noise.distribution import Noise
from discreet.noise.entropy import Entropy, SystemEntropy
from discreet.noise.gaussian import GaussianNoise
from discreet.noise.laplace import LaplaceNoise
from discreet.noise.sampler import sample, sample_many

__all__ = [
    "Entropy",
    "GaussianNoise",
    "LaplaceNoise",
    "Noise",
    "SystemEntropy",
    "sample",
    "sample_many",
]
