"""The normal distribution function in floats, by SciPy, which is loaded with the first call.

SciPy takes longer to load than NumPy, and most accounts need none of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def ndtr(x: ArrayLike) -> Floats:
    """Return the distribution function of the standard normal law.

    >>> ndtr(0.0).item()
    0.5
    """
    from scipy import special

    return np.asarray(special.ndtr(x))


def log_ndtr(x: ArrayLike) -> Floats:
    """Return its logarithm, also where the probability itself is zero in floats.

    >>> round(log_ndtr(-100.0).item(), 3)
    -5005.524
    """
    from scipy import special

    return np.asarray(special.log_ndtr(x))


def erfcx(x: ArrayLike) -> Floats:
    """Return e^(x^2) erfc(x), which is Mills's ratio but for its scale.

    >>> round(erfcx(1e9).item() * 1e9, 9)
    0.564189584
    """
    from scipy import special

    return np.asarray(special.erfcx(x))
