"""Noise on counts: its laws, their probabilities, exact draws, privacy losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.noise.continuous import ContinuousGaussian, ContinuousLaplace, ContinuousNoise
    from discreet.noise.count_loss import CountLoss, Density, OutcomeChances
    from discreet.noise.distribution import Noise, grouped
    from discreet.noise.entropy import Entropy, SystemEntropy
    from discreet.noise.gaussian import DiscreteGaussian, GaussianNoise
    from discreet.noise.laplace import DiscreteLaplace, LaplaceNoise
    from discreet.noise.lattice import LatticeNoise
    from discreet.noise.power import PowerNoise
    from discreet.noise.sampler import sample, sample_many
    from discreet.noise.table import TableNoise
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.noise.continuous": "ContinuousGaussian ContinuousLaplace ContinuousNoise",
            "discreet.noise.count_loss": "CountLoss Density OutcomeChances",
            "discreet.noise.distribution": "Noise grouped",
            "discreet.noise.entropy": "Entropy SystemEntropy",
            "discreet.noise.gaussian": "DiscreteGaussian GaussianNoise",
            "discreet.noise.laplace": "DiscreteLaplace LaplaceNoise",
            "discreet.noise.lattice": "LatticeNoise",
            "discreet.noise.power": "PowerNoise",
            "discreet.noise.sampler": "sample sample_many",
            "discreet.noise.table": "TableNoise",
        },
    )

__all__ = [
    "ContinuousGaussian",
    "ContinuousLaplace",
    "ContinuousNoise",
    "CountLoss",
    "Density",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Entropy",
    "GaussianNoise",
    "LaplaceNoise",
    "LatticeNoise",
    "Noise",
    "OutcomeChances",
    "PowerNoise",
    "SystemEntropy",
    "TableNoise",
    "grouped",
    "sample",
    "sample_many",
]
