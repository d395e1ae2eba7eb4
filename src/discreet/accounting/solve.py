"""Roots of falling functions, many at a time: a secant method that keeps a bracket."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.accounting.contour import Kind
from discreet.accounting.loss import Floats, Loss
from discreet.errors import PrecisionError

Falling = Callable[[list[int], Floats], Floats]
"""f(which, x): the values of the problems `which` at their points x."""


def roots(
    falling: Falling,
    start: Floats,
    slope: Floats,
    target: Floats,
    *,
    low: Floats,
    high: Floats | None = None,
    tolerance: float = 4e-15,
    most: int = 300,
) -> Floats:
    """Solve falling(x) = target for each problem, from a start and a guess of the (negative) slope.

    `low` is where each function is known to lie at or above its target, `high` where at or below. Stops where
    the step no longer changes x by more than `tolerance` relatively.
    """
    x = start.copy()
    low = low.copy()
    high = np.full(x.shape, math.inf) if high is None else high.copy()
    last_x = np.full(x.shape, math.nan)
    last_y = np.full(x.shape, math.nan)
    rate = slope.copy()
    room = np.full(x.shape, math.inf)  # the bracket's width some steps ago
    stride = 2 / np.abs(slope)  # how far to go where an end of the bracket has not been seen yet
    seen = {1: [False] * x.size, -1: [False] * x.size}
    active = list(range(x.size))
    for step_number in range(most):
        if not active:
            return x
        y = falling(active, x[active]) - target[active]
        still = []
        for i, value in zip(active, y, strict=True):
            if value == 0:
                continue
            if value > 0:
                low[i], seen[1][i] = max(low[i], x[i]), True
            else:
                high[i], seen[-1][i] = min(high[i], x[i]), True
            if math.isfinite(last_y[i]) and math.isfinite(value) and x[i] != last_x[i]:
                secant = (value - last_y[i]) / (x[i] - last_x[i])
                if secant < 0:
                    rate[i] = secant
            last_x[i], last_y[i] = x[i], value
            width = high[i] - low[i]
            better = x[i] - value / rate[i] if math.isfinite(value) else math.nan
            # on plateaus the secant creeps: if three steps have not halved the bracket, bisect
            creeping = step_number % 3 == 2 and math.isfinite(width) and width > 0.5 * room[i]
            if step_number % 3 == 2:
                room[i] = width
            if creeping or not low[i] < better < high[i]:
                if seen[1][i] and seen[-1][i]:
                    better = 0.5 * (low[i] + high[i])
                else:  # away from the end that was seen, by more and more
                    better = x[i] + stride[i] if value > 0 else x[i] - stride[i]
                    stride[i] *= 4
                    if not low[i] < better < high[i]:
                        better = 0.5 * (x[i] + (high[i] if value > 0 else low[i]))
            step = abs(better - x[i])
            x[i] = better
            # next to a cliff the secant is steep and its steps are short, far from the root as they may be
            is_close = abs(value) <= 2.5e5 * tolerance
            if width > tolerance * abs(better) and not (is_close and step <= tolerance * abs(better)):
                still.append(i)
        active = still
    raise PrecisionError(f"a root near {x[active[0]]:.6g} was not found in {most} steps")


def saddlepoint_guess(loss: Loss, kind: Kind, log_target: Floats) -> tuple[Floats, Floats, Floats]:
    """Where the tail of this kind is about e^log_target, the slope of its logarithm there, and an upper end.

    The saddlepoint approximation, tabulated over tilts and read off: good to a few per cent of the tail. The
    upper end is Chernoff's: no tail reaches e^log_target beyond it.
    """
    spread = loss.spread
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
    bound = (k0[None, :] - log_target[:, None]) / distance[None, :]
    highest = bound.min(axis=1) * (1 + 1e-12) + 1e-300
    return np.minimum(guess, highest), slope, highest
