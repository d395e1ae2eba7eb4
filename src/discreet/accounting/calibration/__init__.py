"""How little noise will do: the smallest variances that keep a promise, and the proof that they do.

Variances are multiplied by short exact factors, rounded up, so that a calibrated release errs to the safe
side and keeps a lattice that exact accounting can use.
"""

from discreet.accounting.calibration.margins import margins, reached
from discreet.accounting.calibration.overall import calibrate
from discreet.accounting.calibration.result import Calibration, LevelChange, NoiseChange, changes
from discreet.accounting.calibration.search import below, bounds, solve_factor

__all__ = [
    "Calibration",
    "LevelChange",
    "NoiseChange",
    "below",
    "bounds",
    "calibrate",
    "changes",
    "margins",
    "reached",
    "solve_factor",
]
