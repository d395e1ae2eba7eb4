"""The characteristic function of the tilted loss, at the nodes of a trapezoidal rule.

Tilting by e^(theta L) moves the bulk of the law to where the sought tail is, so that sums have no
cancellation. Node j lies at y = 2 pi j / P. What matters of a term at that node is the *turn*
j * step / P modulo 1, which is computed in fixed point: no digit is lost however far out the node is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.loss import Floats, GaussianTerm, Loss

Complexes = NDArray[np.complex128]
Nodes = NDArray[np.int64]

MOST_NODES = 2**40
"""Node numbers stay below this, so that 88-bit turns can be had from 64-bit products."""

_BLOCK = 1 << 22  # angles times values in memory at a time
_SCALE = 2.0**-64
_TWO_PI = 2 * math.pi


def turns(nodes: Nodes, per_node: Fraction) -> Floats:
    """Return nodes * per_node modulo 1, in [-1/2, 1/2), to relative rather than absolute accuracy.

    >>> turns(np.array([1, 2, 4]), Fraction(1, 3))
    array([ 0.33333333, -0.33333333,  0.33333333])
    """
    return np.asarray(turn_table(nodes, [per_node.numerator], per_node.denominator)[0])


def turn_table(nodes: Nodes, tops: Sequence[int], bottom: int) -> Floats:
    """The same for several rates top / bottom, a row each."""
    rates = np.array([top / bottom for top in tops])[:, None]
    product: Floats = rates * nodes.astype(np.float64)
    if nodes.size == 0 or np.abs(rates).max() * nodes.max() < 0.25:
        return product
    # 88 bits of the turn per node: the error of node j is below j 2^-88, far nodes counting for little
    fixed = [((top << 88) // bottom) & ((1 << 88) - 1) for top in tops]
    high = np.array([f >> 24 for f in fixed], dtype=np.uint64)[:, None]
    low = np.array([f & 0xFFFFFF for f in fixed], dtype=np.uint64)[:, None]
    index = nodes.astype(np.uint64)
    wrapped = (index * high + ((index * low) >> np.uint64(24))).view(np.int64)
    return np.where(np.abs(product) < 0.25, product, wrapped * _SCALE)


def log1p_complex(z: Complexes) -> Complexes:
    """log(1 + z) with full relative accuracy near 0 (NumPy's own loses it), and near its zero at -1.

    >>> log1p_complex(np.array([-1 + 1e-12, 1e-20 + 0j])).real.round(4).tolist()
    [-27.631, 0.0]
    """
    x, y = z.real, z.imag
    size = np.hypot(1 + x, y)
    with np.errstate(divide="ignore"):
        # the square of a small size would have lost half of its digits
        real = np.where(size < 0.5, np.log(size), 0.5 * np.log1p(np.maximum(x * (2 + x) + y * y, -1.0)))
    return np.asarray(real + 1j * np.arctan2(y, 1 + x))


class TiltedTransform:
    """log of E_theta e^(iy (L - centre)), E_theta the expectation under the tilt e^(theta L).

    `centre` is an exact fraction near the tilted mean; the phase that belongs to it is applied by the
    caller together with the threshold, in one exact step. `theta` must be dyadic with at most 24
    significant bits: then theta * mu is exact and so is every reduction modulo 1.
    """

    def __init__(self, loss: Loss, theta: float) -> None:
        self.loss = loss
        self.theta = theta
        steps = sum(t.times * loss.multiples[id(t)] * round(theta * t.mu) for t in loss.dual)
        self._laws = []
        for law in loss.primal:
            shift, u, p = law.tilted(theta)
            steps += law.times * loss.multiples[id(law)] * shift
            keep = p > 1e-22
            self._laws.append((law, u[keep], p[keep]))
        self.centre = loss.offset + steps * loss.step

    def log(self, nodes: Nodes, period: Fraction) -> Complexes:
        """The log-transform at y = 2 pi nodes / period (nodes ascending); zero at node 0."""
        total = np.zeros(nodes.shape, dtype=np.complex128)
        plain = [t for t in self.loss.dual if t.is_plain]
        # near the origin no turn wraps, and all plain factors together are one Gaussian
        fastest = max((float(t.step) for t in plain), default=0.0)
        inner = int(np.searchsorted(nodes, 0.25 * float(period) / fastest)) if fastest else 0
        if inner:
            y = (_TWO_PI / float(period)) * nodes[:inner]
            spread = sum(t.times * float(t.step) * t.mu for t in plain)
            lean = sum(t.times * float(t.step) * _off_integer(self.theta * t.mu) for t in plain)
            total[:inner] = -0.5 * spread * y * y + 1j * lean * y
        for term in self.loss.dual:
            if not term.is_plain:
                total += _dual(term, self.theta, turns(nodes, term.step / period))
            elif inner < nodes.size:
                total[inner:] += _plain_dual(term, self.theta, turns(nodes[inner:], term.step / period))
        for law, u, p in self._laws:
            angle = _TWO_PI * turns(nodes, law.step / period)
            blocks = np.array_split(angle, max(1, angle.size * u.size // _BLOCK))
            weights = p.astype(np.complex128)
            logs = np.concatenate(
                [log1p_complex(weights @ np.expm1(1j * np.multiply.outer(u, block))) for block in blocks]
            )
            total += law.times * logs.real + 1j * (law.times * logs.imag)
        # a factor that vanishes exactly gives -inf, whose phase is not a number
        return np.where(np.isfinite(total), total, -800.0)


def _off_integer(x: float) -> float:
    return x - round(x)


def _plain_dual(term: GaussianTerm, theta: float, turn: Floats) -> Complexes:
    angle = _TWO_PI * turn
    lean = term.times * _off_integer(theta * term.mu)
    return np.asarray((-0.5 * term.times * float(term.sigma2)) * angle * angle + 1j * lean * angle)


def _dual(term: GaussianTerm, theta: float, turn: Floats) -> Complexes:
    """times * log of the factor of one discrete Gaussian, by Poisson summation."""
    sigma2 = float(term.sigma2)
    near = _off_integer(theta * term.mu)
    angle = _TWO_PI * turn
    correction = np.zeros(turn.shape, dtype=np.complex128)
    at_zero = 0.0
    # from variance 1 on the second neighbours are below e^(-4 pi^2) even at half a turn
    for v in (-1, 1) if sigma2 >= 1 else (-2, -1, 1, 2):
        weight = -2 * math.pi**2 * sigma2 * v * v
        correction += np.exp(weight + 2 * math.pi * sigma2 * v * angle - 1j * _TWO_PI * v * near)
        at_zero += math.exp(weight) * math.cos(_TWO_PI * v * near)
    ratio = log1p_complex(correction)
    plain = _plain_dual(term, theta, turn)
    # by parts: a factor that vanishes has the logarithm -inf, which complex products turn into nan
    real = plain.real + term.times * (ratio.real - math.log1p(at_zero))
    return np.asarray(real + 1j * (plain.imag + term.times * ratio.imag))
