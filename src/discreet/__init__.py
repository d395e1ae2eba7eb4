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

import sys
from typing import TYPE_CHECKING

from discreet._moved import find_old_places
from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.accounting.account import Account, Point, account, portfolio
    from discreet.accounting.calibration import Calibration
    from discreet.accounting.certificate import Certificate
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
    from discreet.comparisons.costs import compare
    from discreet.comparisons.gaussian_dp import GaussianDP
    from discreet.comparisons.renyi import RenyiDP
    from discreet.comparisons.zcdp import ZCDP, TightZCDP
    from discreet.disclosure.everything import risk
    from discreet.disclosure.promise import explain
    from discreet.errors import DiscreetError, InputError, PrecisionError
    from discreet.estimation.best_plan import plan
    from discreet.estimation.estimating import estimate
    from discreet.estimation.expected_accuracy import accuracy
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
    from discreet.reports.html import report
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
            "discreet.comparisons.costs": "compare",
            "discreet.accounting.account": "Account Point account portfolio",
            "discreet.accounting.privacy_loss": "PrivacyLoss compose",
            "discreet.promises.least_noise": "noise_for rho_for",
            "discreet.accounting.verification": "verify",
            "discreet.budget": "DiscreteGaussian DiscreteLaplace Level Query Release Spine load preset_names",
            "discreet.disclosure.everything": "risk",
            "discreet.disclosure.promise": "explain",
            "discreet.errors": "DiscreetError InputError PrecisionError",
            "discreet.estimation.best_plan": "plan",
            "discreet.estimation.estimating": "estimate",
            "discreet.estimation.expected_accuracy": "accuracy",
            "discreet.noise": "ContinuousGaussian ContinuousLaplace GaussianNoise LaplaceNoise PowerNoise "
            "TableNoise sample",
            "discreet.measurement.measuring": "measure",
            "discreet.numbers": "Interval",
            "discreet.reports.html": "report",
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
    "accuracy",
    "calibrate",
    "compare",
    "compose",
    "estimate",
    "explain",
    "load",
    "measure",
    "noise_for",
    "plan",
    "portfolio",
    "preset_names",
    "report",
    "rho_for",
    "risk",
    "sample",
    "verify",
]

find_old_places(sys.modules[__name__])
