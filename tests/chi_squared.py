"""A chi-squared test of drawn values against their chances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats


def p_value(values: NDArray[np.int64], chances: NDArray[np.float64]) -> float:
    """Chi-squared p-value of values 0, 1, ... against their chances; the rare end is one cell."""
    expected = chances * values.size
    last = int(np.flatnonzero(np.cumsum(expected[::-1])[::-1] >= 20)[-1])
    observed = np.bincount(np.minimum(values, last), minlength=last + 1)
    grouped = np.append(expected[:last], values.size - expected[:last].sum())
    statistic = np.sum((observed - grouped) ** 2 / grouped)
    return float(stats.chi2.sf(statistic, last))
