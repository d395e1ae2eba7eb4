"""Exact privacy accounting for official statistics with discrete noise.

A release is a list of events; the account says what it costs one person, exactly:

>>> import discreet
>>> ten = discreet.account([discreet.DiscreteGaussian(variance=5, times=10)])
>>> round(ten.epsilon(delta="1e-11"), 5)
10.12483

Group privacy, the promise to several people who change together, is `people=`: `account(events, people=4)`.
Names are loaded when they are first used, so that the import itself costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.accounting.calibration import Calibration
    from discreet.accounting.certificate import Certificate
    from discreet.accounting.overall import Account, Point, account, portfolio
    from discreet.accounting.privacy_loss import PrivacyLoss, compose
    from discreet.accounting.verification import verify
    from discreet.budget import (
        DiscreteGaussian,
        DiscreteLaplace,
        Level,
        Query,
        Release,
        Spine,
        load,
        preset_names,
    )
    from discreet.comparisons.gaussian_dp import GaussianDP
    from discreet.comparisons.renyi import RenyiDP
    from discreet.comparisons.zcdp import ZCDP, TightZCDP
    from discreet.errors import DiscreetError, InputError, PrecisionError
    from discreet.measurement.measuring import measure
    from discreet.noise import (
        ContinuousGaussian,
        ContinuousLaplace,
        GaussianNoise,
        LaplaceNoise,
        PowerNoise,
        TableNoise,
        sample,
    )
    from discreet.numbers import Interval
    from discreet.promises.calibrating import calibrate
    from discreet.promises.least_noise import noise_for, rho_for
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.accounting.calibration": "Calibration",
            "discreet.promises.calibrating": "calibrate",
            "discreet.accounting.certificate": "Certificate",
            "discreet.comparisons.gaussian_dp": "GaussianDP",
            "discreet.comparisons.renyi": "RenyiDP",
            "discreet.comparisons.zcdp": "ZCDP TightZCDP",
            "discreet.accounting.overall": "Account Point account portfolio",
            "discreet.accounting.privacy_loss": "PrivacyLoss compose",
            "discreet.promises.least_noise": "noise_for rho_for",
            "discreet.accounting.verification": "verify",
            "discreet.budget": "DiscreteGaussian DiscreteLaplace Level Query Release Spine load preset_names",
            "discreet.errors": "DiscreetError InputError PrecisionError",
            "discreet.numbers": "Interval",
            "discreet.noise": "ContinuousGaussian ContinuousLaplace GaussianNoise LaplaceNoise PowerNoise "
            "TableNoise sample",
            "discreet.measurement.measuring": "measure",
        },
    )

__version__ = "0.3.0"

__all__ = [
    "ZCDP",
    "Account",
    "Calibration",
    "Certificate",
    "ContinuousGaussian",
    "ContinuousLaplace",
    "DiscreetError",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "GaussianDP",
    "GaussianNoise",
    "InputError",
    "Interval",
    "LaplaceNoise",
    "Level",
    "Point",
    "PowerNoise",
    "PrecisionError",
    "PrivacyLoss",
    "Query",
    "Release",
    "RenyiDP",
    "Spine",
    "TableNoise",
    "TightZCDP",
    "account",
    "calibrate",
    "compose",
    "load",
    "measure",
    "noise_for",
    "portfolio",
    "preset_names",
    "rho_for",
    "sample",
    "verify",
]
