"""The tail of a discrete Gaussian over its first term, in floats and in balls.

With m >= 0 and

    T(m) = sum_{k >= m} exp(-(k^2 - m^2) / (2v))     so that  P[X >= m] = P[X = m] T(m),

T is summed directly if a few dozen terms are enough, that is for small v or large m/v. Otherwise by
Euler-Maclaurin: with He_n the Hermite polynomials and B_n the Bernoulli numbers

    T(m) = sqrt(pi v / 2) erfcx(m / sqrt(2v)) + 1/2 + sum_{j=1}^{N} B_2j / (2j)! h_{2j-1} + R,
    h_n = He_n(m / sqrt v) / v^(n/2),   h_{n+1} = (m/v) h_n - (n/v) h_{n-1}

The remainder is at most |B_2N| / (2N)! times the integral of the (2N)-th derivative's modulus; with
Cramer's inequality |He_n(t)| <= 1.09 sqrt(n!) exp(t^2 / 4) that gives, relative to the first term,

    |R| <= 8 sqrt(v) sqrt((2N)!) (2 pi sqrt v)^(-2N) exp(m^2 / (4v)).

Far out, where m^2 / v >= 8N + 2, beyond all zeros of He_2N, the derivative keeps its sign, and the integral
is the value at its end: |R| <= 4 (2 pi)^(-2N) (m/v)^(2N - 1).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.noise import balls
from discreet.noise.distribution import Floats

_NATS = 40.0  # exp(-40) is below the last digit of a float

_EULER = (  # B_2j / (2j)!
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
    -174611 / 802857662698291200000,
    77683 / 14101100039391805440000,
)


def tail_ratio(m: Floats, v: float) -> Floats:
    """Return T(m), to about 1e-15 relative.

    >>> tail_ratio(np.array([0.0, 3.0]), 1.0).round(6).tolist()
    [1.753314, 1.030534]
    """
    if v <= 25.0:
        return _direct(m, v)
    steep = m >= v
    smooth = _euler_maclaurin(np.minimum(m, v), v)
    return np.where(steep, _direct(np.maximum(m, v), v), smooth) if np.any(steep) else smooth


def _direct(m: Floats, v: float) -> Floats:
    """Sum the series as a polynomial in exp(-m/v) with coefficients exp(-j^2 / (2v))."""
    start = float(np.min(m, initial=math.inf)) if m.size else 0.0
    count = math.ceil(2.0 * v * _NATS / (start + math.sqrt(start * start + 2.0 * v * _NATS)))
    base = np.exp(-m / v)
    total = np.zeros_like(base)
    for j in range(count, -1, -1):
        total = total * base + math.exp(-j * j / (2.0 * v))
    return total


def _euler_maclaurin(m: Floats, v: float) -> Floats:
    slope = m / v
    total = math.sqrt(math.pi * v / 2.0) * erfcx(m / math.sqrt(2.0 * v)) + 0.5
    previous, current = np.ones_like(slope), slope  # h_0, h_1
    for j, coefficient in enumerate(_EULER):
        total = total + coefficient * current
        for n in (2 * j + 1, 2 * j + 2):
            previous, current = current, slope * current - (n / v) * previous
    return total


def erfcx(z: Floats) -> Floats:
    """Return exp(z^2) erfc(z) for z >= 0, to the last digits.

    The midpoint rule with step h = 1/2 on erfcx(z) = (2z/pi) int_0^inf exp(-t^2)/(z^2 + t^2) dt, and
    the residue at t = iz, which the rule leaves out while z < pi/h; the error is exp(-(pi/h)^2).

    >>> erfcx(np.array([0.0, 1.0, 100.0])).round(12).tolist()
    [1.0, 0.427583576156, 0.005641613783]
    """
    h = 0.5
    total = np.zeros_like(z)
    for n in range(13):
        node = ((n + 0.5) * h) ** 2
        total = total + math.exp(-node) / (z * z + node)
    inner = np.minimum(z, math.pi / h)
    pole = 2.0 * np.exp(inner * (inner - 2.0 * math.pi / h)) / (1.0 + np.exp(-2.0 * math.pi / h * inner))
    return 2.0 * h / math.pi * z * total + np.where(z < math.pi / h, pole, 0.0)


def ball_tail_ratio(m: int, v: Fraction) -> balls.arb:
    """Return a ball around T(m), at the working precision.

    >>> with balls.working_bits(100):
    ...     print(ball_tail_ratio(3, Fraction(1)).str(20))
    [1.0305342190716012429 +/- 2.43e-20]
    """
    nats = (balls.current_bits() + 8) * math.log(2.0)
    variance, start = float(v), float(m)
    count = math.ceil(2.0 * variance * nats / (start + math.sqrt(start * start + 2.0 * variance * nats)))
    order = _order(start, variance, nats) if count > 200 else None
    # An Euler-Maclaurin term costs about as much as two of the series.
    if order is None or count < 2 * order:
        return _ball_direct(m, v, count)
    return _ball_euler_maclaurin(m, v, order)


def _order(m: float, v: float, nats: float) -> int | None:
    """Return an even order whose remainder bound is below exp(-nats), if a moderate one exists."""
    base = math.log(8.0 * math.sqrt(v)) + m * m / (4.0 * v)
    for n in range(4, 800, 4):
        if base + math.lgamma(n + 1.0) / 2.0 - n * math.log(2.0 * math.pi * math.sqrt(v)) < -nats:
            return n
        if m * m > (4 * n + 3) * v and 2.0 + (n - 1) * math.log(m / v / (2.0 * math.pi)) < -nats:
            return n
    return None


def _ball_direct(m: int, v: Fraction, count: int) -> balls.arb:
    term, total = balls.arb(1), balls.arb(0)
    quotient = (-balls.ball(Fraction(2 * m + 1) / (2 * v))).exp()
    step = (-balls.ball(1 / v)).exp()
    for _ in range(count + 1):
        total += term
        term *= quotient
        quotient *= step
    # `term` is the first one left out, and the quotients keep falling: a geometric series bounds the rest
    return balls.padded(total, term / (1 - quotient))


def _ball_euler_maclaurin(m: int, v: Fraction, order: int) -> balls.arb:
    variance = balls.ball(v)
    square = balls.ball(Fraction(m * m) / (2 * v))
    total = (balls.arb.pi() * variance / 2).sqrt() * square.exp() * square.sqrt().erfc() + balls.arb(1) / 2
    slope, inverse = balls.ball(m / v), balls.ball(1 / v)
    previous, current = balls.arb(1), slope
    for n in range(1, order):
        if n % 2:
            total += balls.arb.bernoulli(n + 1) / balls.arb.fac_ui(n + 1) * current
        previous, current = current, slope * current - n * inverse * previous
    if m * m >= (4 * order + 2) * v:
        return balls.padded(total, 4 * slope ** (order - 1) / (2 * balls.arb.pi()) ** order)
    scale = 2 * balls.arb.pi() * variance.sqrt()
    remainder = 8 * variance.sqrt() * balls.arb.fac_ui(order).sqrt() / scale**order * (square / 2).exp()
    return balls.padded(total, remainder)
