"""Noise on counts: its laws, their probabilities, exact draws, privacy losses."""

from discreet.noise.continuous import ContinuousGaussian, ContinuousLaplace, ContinuousNoise
from discreet.noise.distribution import LatticeNoise, Noise, grouped
from discreet.noise.entropy import Entropy, SystemEntropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.loss_law import Density, LossLaw, OutcomeChances
from discreet.noise.power import PowerNoise
from discreet.noise.sampler import sample, sample_many
from discreet.noise.table import TableNoise

GaussianNoise = DiscreteGaussian
"""Another name of the same class."""

LaplaceNoise = DiscreteLaplace
"""Another name of the same class."""

__all__ = [
    "ContinuousGaussian",
    "ContinuousLaplace",
    "ContinuousNoise",
    "Density",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Entropy",
    "GaussianNoise",
    "LaplaceNoise",
    "LatticeNoise",
    "LossLaw",
    "Noise",
    "OutcomeChances",
    "PowerNoise",
    "SystemEntropy",
    "TableNoise",
    "grouped",
    "sample",
    "sample_many",
]
