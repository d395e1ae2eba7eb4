"""Roots of falling functions, many at a time: a secant method that keeps a bracket."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.accounting.loss import Floats, Loss
from discreet.accounting.saddle import Kind

Falling = Callable[[list[int], Floats], Floats]
"""f(which, x): the values of the problems `which` at their points x."""


def roots(
    falling: Falling,
    start: Floats,
    slope: Floats,
    target: Floats,
    *,
    low: Floats,
    tolerance: float = 4e-15,
    most: int = 80,
) -> Floats:
    """Solve falling(x) = target for each problem, from a start and a guess of the (negative) slope.

    `low` is where each function is known to lie at or above its target. Stops where the step no longer
    changes x by more than `tolerance` relatively.
    """
    x = start.copy()
    low = low.copy()
    high = np.full(x.shape, math.inf)
    last_x = np.full(x.shape, math.nan)
    last_y = np.full(x.shape, math.nan)
    rate = slope.copy()
    active = list(range(x.size))
    for _ in range(most):
        if not active:
            break
        y = falling(active, x[active]) - target[active]
        still = []
        for i, value in zip(active, y, strict=True):
            if value == 0 or not math.isfinite(x[i]):
                continue
            if value > 0:
                low[i] = max(low[i], x[i])
            else:
                high[i] = min(high[i], x[i])
            if math.isfinite(last_y[i]) and math.isfinite(value) and x[i] != last_x[i]:
                secant = (value - last_y[i]) / (x[i] - last_x[i])
                if secant < 0:
                    rate[i] = secant
            last_x[i], last_y[i] = x[i], value
            better = x[i] - value / rate[i] if math.isfinite(value) else math.nan
            if not low[i] < better < high[i]:
                if not math.isfinite(high[i]):
                    better = low[i] + 2 * (x[i] - low[i]) + abs(1 / rate[i])
                else:
                    better = 0.5 * (low[i] + high[i])
            step = abs(better - x[i])
            x[i] = better
            if step > tolerance * max(abs(better), 1e-300) and step > 1e-300 and high[i] - low[i] > 0:
                still.append(i)
        active = still
    return x


def saddlepoint_guess(loss: Loss, kind: Kind, log_target: Floats) -> tuple[Floats, Floats]:
    """Where the tail of this kind is about e^log_target, and the slope of its logarithm there.

    The saddlepoint approximation, tabulated over tilts and read off: good to a few per cent of the tail.
    """
    spread = math.sqrt(loss.tilted_moments(0.0)[1])
    distance = np.geomspace(1e-3, 400, 240) / spread
    theta = distance + kind.pole
    eta = 1e-4 * distance
    k0, k1, k2 = loss.log_mgf(theta), loss.log_mgf(theta - eta), loss.log_mgf(theta + eta)
    mean = (k2 - k1) / (2 * eta)
    variance = np.maximum((k2 - 2 * k0 + k1) / eta**2, 1e-6 * spread**2)
    pull = 1 / distance + (1 / (distance + 1) if kind is Kind.DELTA else 0.0)
    kernel = np.log(distance) + (np.log(distance + 1) if kind is Kind.DELTA else 0.0)
    curvature = variance + 1 / distance**2
    threshold = mean - pull
    log_tail = k0 - theta * threshold - kernel - 0.5 * np.log(2 * math.pi * curvature)
    if kind is Kind.NULL:
        log_tail -= threshold
    log_tail = np.minimum.accumulate(log_tail)
    guess = np.interp(-log_target, -log_tail, threshold)
    slope = -np.interp(-log_target, -log_tail, distance)
    return guess, slope
