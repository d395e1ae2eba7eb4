"""Where to put the contour: the tilt for a threshold, and the period of the trapezoidal rule.

Four sought quantities share the transform M(z) = E e^(zL) and differ in their kernel:

    delta   E (1 - e^(eps - L))_+        1 / (z (z + 1))    contour right of 0
    alt     P[L > l], alternative        1 / z              contour right of 0
    null    P[L > l], null hypothesis    1 / (z + 1)        contour right of -1
    rest    1 - delta                   -1 / (z (z + 1))    contour between -1 and 0

(on a lattice 1/z becomes h / (1 - e^(-zh))). Lower tails follow by the symmetry of L and -L.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import NamedTuple

import numpy as np

from discreet.accounting.loss import Loss

_OFFSETS = np.array([0.5, 1, 2, 3, 4.5, 6, 7.5, 8.5, 9.5, 11, 14, 20, 30, 45, 70, 120, 300, 1000])


class Kind(Enum):
    """What is asked of the loss."""

    DELTA = "delta"
    ALT = "alt"
    NULL = "null"
    REST = "rest"

    @property
    def pole(self) -> float:
        """The pole nearest to the contour, to its left."""
        return 0.0 if self in (Kind.DELTA, Kind.ALT) else -1.0

    @property
    def room(self) -> float:
        """How far right of the pole the contour may lie."""
        return 1.0 if self is Kind.REST else math.inf

    @property
    def has_both_poles(self) -> bool:
        """Whether the kernel is that of delta."""
        return self in (Kind.DELTA, Kind.REST)


def rounded(theta: float) -> float:
    """The tilt to 20 significant bits: products with small integers are then exact.

    >>> rounded(1 / 3) * 3 == 1 - 2**-21
    False
    >>> (rounded(1 / 3) * 2**22).is_integer()
    True
    """
    mantissa, exponent = math.frexp(theta)
    return math.ldexp(round(mantissa * 2**20), exponent - 20)


def _pull(distance: float, h: float) -> float:
    """-d/dtheta of log kernel at this distance from its pole."""
    if h * abs(distance) > 30:
        return h * math.exp(-h * distance) if distance > 0 else -h
    return h / math.expm1(h * distance) if h > 0 else 1 / distance


def _kernel_pull(kind: Kind, distance: float, h: float) -> tuple[float, float]:
    """The pull of all poles, and how fast it falls with the distance: p (p + h) for each."""
    pulls = [_pull(distance, h)]
    if kind.has_both_poles:
        pulls.append(_pull(distance + (-1 if kind is Kind.REST else 1), h))
    return sum(pulls), sum(p * (p + h) for p in pulls)


def saddle(loss: Loss, kind: Kind, threshold: float, h: float) -> float:
    """The tilt at which the integrand is flattest: K'(theta) = threshold + pull of the kernel.

    `h` is the lattice step, or 0 for the continuous kernel.
    """
    pole = kind.pole
    R = float(loss.R)

    def excess(distance: float) -> tuple[float, float]:
        mean, variance = loss.tilted_moments(pole + distance)
        pull, fall = _kernel_pull(kind, distance, h)
        return mean - threshold - pull, variance + fall

    if kind is Kind.REST:
        distance = 0.5
    elif R > 0:
        # with d = theta - pole the Gaussian part gives R d^2 - x d - c = 0
        x = threshold - float(loss.offset) - R * pole
        c = 2.0 if kind is Kind.DELTA else 1.0
        root = math.sqrt(x * x + 4 * c * R)
        distance = (x + root) / (2 * R) if x > 0 else 2 * c / (root - x)
    else:
        distance = 1.0
    # a bounded loss has no saddle at its top; a tilt of e^60 between neighbouring points is as good
    most = min(60 / h if h > 0 and loss.largest is not None else 1e12, kind.room)
    # next to the pole at -1 a float does not tell smaller distances from none
    low, high = (1e-9 if pole else 1e-40), most
    distance = min(max(distance, 2 * low), most)
    for _ in range(100):
        value, slope = excess(distance)
        if value > 0:
            high = distance
        else:
            low = distance
        # Newton's method for the logarithm of the distance: the kernel's pull is a power of it
        move = -value / (distance * slope) if slope > 0 else math.copysign(4.0, -value)
        better = distance * math.exp(max(min(move, 4.0), -4.0))
        if not low < better < high:
            better = math.sqrt(low) * math.sqrt(high) if high > 4 * low else 0.5 * (low + high)
        close = abs(better - distance) < 1e-3 * min(distance, 1 / math.sqrt(slope) if slope > 0 else distance)
        distance = better
        if close or high - low < 1e-4 * low:
            break
    return rounded(pole + distance) if pole + distance != 0 else pole + distance


class Period(NamedTuple):
    """A period of the trapezoidal rule, and the two tilts whose Chernoff bounds justify it."""

    length: float
    above: float
    below: float


def period(
    loss: Loss, kind: Kind, theta: float, spread: float, low: float, high: float, need: float
) -> Period:
    """The least period P for which the aliases of the thresholds in [low, high] stay below e^-need.

    The rule returns sum_n e^(theta n P) G(l + nP). By Chernoff's bound at another tilt t,
    G(l + nP) <= M(t) e^(-t (l + nP)): t above theta serves n > 0, t below it n < 0.
    """
    unit = math.sqrt(need / 40) / spread
    base = float(loss.log_mgf(np.array([theta]))[0])
    up = _OFFSETS * unit
    if kind is Kind.REST:
        up = np.append(up[up < -theta], -theta)
    above = (loss.log_mgf(theta + up) - base - up * low + need) / up
    room = theta - kind.pole
    down = np.append(up[up < room], room)
    below = (loss.log_mgf(theta - down) - base + down * high + need) / down
    i, j = int(np.argmin(above)), int(np.argmin(below))
    length = max(float(above[i]), float(below[j]), unit * 1e-6)
    return Period(length, theta + float(up[i]), theta - float(down[j]))
