"""dp-accounting: its events read into an account, and an account as its privacy-loss distribution.

*Distributions.* dp-accounting keeps losses on a grid of steps h. The loss L of an account lies between grid
points; the probability of a cell is split between its two ends so that both hypotheses keep theirs. With the
probabilities A (alternative) and B (null) of the cell above g,

    A = low + high,   B = low e^-g + high e^-(g + h),   so   high = (A - B e^g) / (1 - e^-h).

The curve of delta, convex in e^epsilon, is then replaced by chords between grid points. A and B are
differences of tails whose errors are known; what they may change is added to `high`, and tails are raised by
their errors, so that every error is on the safe side. Outcomes beyond the last point get an infinite loss.
Proof: docs/explanation/certified.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.accounting.zcdp import zcdp_rho
from discreet.comparisons.gaussian_dp import GaussianDP
from discreet.comparisons.zcdp import TightZCDP
from discreet.errors import DiscreetError, InputError, install_hint
from discreet.loss.contour import Kind, Tail
from discreet.loss.lattice import Floats
from discreet.noise import (
    ContinuousGaussian,
    ContinuousLaplace,
    DiscreteGaussian,
    DiscreteLaplace,
    Noise,
    TableNoise,
)
from discreet.noise.capabilities import require
from discreet.noise.table import MOST_OUTCOMES
from discreet.numbers import Exact, read_delta, shown

INTERVAL = 1e-4
"""dp-accounting's own step of the grid; distributions are composed with others of the same step."""

MOST_POINTS = 4_000_000
"""Of the grid: they take minutes."""

_ROUNDING = 1e-13  # relative, of a tail whose error is stated as smaller
_WHOLE = "whole numbers change by a whole number, so give the next one above"
_MISSING = f"dp-accounting is not installed: {install_hint('dp-accounting')}"


@dataclass(slots=True)
class _Found:
    """What a tree of events holds."""

    noises: list[Noise]
    """All noise that is not continuous Gaussian noise."""
    gaussian: Fraction = Fraction(0)
    """The sum of 1 / (2 sigma^2) over continuous Gaussians of sensitivity 1."""
    rho: Fraction | None = None
    """The sum over events of which only rho is known."""


def from_dp_event(event: object) -> PrivacyLoss | GaussianDP | TightZCDP:
    """Return the account of a tree of dp-accounting's events; whatever is not covered is named.

    - `DiscreteGaussianDpEvent` (of one number), `DiscreteLaplaceDpEvent`, `LaplaceDpEvent`, `GaussianDpEvent`
      and `RandomizedResponseDpEvent` (somebody gives another answer: neighbours that replace) together: their
      exact loss.
    - `GaussianDpEvent` alone: the exact curve of continuous Gaussian noise, closed under composition.
    - With a `ZCDpEvent` (xi = 0) among any of these: what the sum of all rhos implies, a bound.

    `NoOpDpEvent`, `ComposedDpEvent` and `SelfComposedDpEvent` may hold them. A float is read as the decimal
    that Python prints for it: 0.1 is 1/10.
    """
    try:
        from dp_accounting import dp_event
    except ImportError:
        raise DiscreetError(_MISSING) from None
    if not isinstance(event, dp_event.DpEvent):
        raise InputError(f"event is a {type(event).__name__}; it must be a DpEvent of dp-accounting")
    collected = _Found([])
    problems = list(_collected(dp_event, event, "event", 1, collected))
    if problems:
        raise InputError("; ".join(problems))
    if collected.rho is not None:
        others = zcdp_rho(collected.noises) if collected.noises else Fraction(0)
        return TightZCDP.from_rho(collected.rho + collected.gaussian + others)
    if collected.gaussian and not collected.noises:
        return GaussianDP.from_rho(collected.gaussian)
    # normal losses add up to one: that of a single number whose noise has this variance
    normal = [ContinuousGaussian(variance=1 / (2 * collected.gaussian))] if collected.gaussian else []
    return compose([*collected.noises, *normal])


def _collected(dp_event: Any, event: Any, where: str, times: int, collected: _Found) -> Iterator[str]:
    """Add what an event holds, `times` times over, to what was found; yield what is wrong with it."""
    match event:
        case dp_event.NoOpDpEvent():
            pass
        case dp_event.ComposedDpEvent():
            for number, inner in enumerate(event.events):
                yield from _collected(dp_event, inner, f"{where}.events[{number}]", times, collected)
        case dp_event.SelfComposedDpEvent():
            if event.count < 0:
                yield f"{where}.count is {event.count}; it must be zero or more"
            elif event.count:
                yield from _collected(dp_event, event.event, f"{where}.event", times * event.count, collected)
        case dp_event.DiscreteLaplaceDpEvent():
            rate = _decimal(event.noise_parameter)
            if rate is None or not event.sensitivity > 0:
                yield (
                    f"{where} has noise_parameter {event.noise_parameter} and sensitivity "
                    f"{event.sensitivity}; both must be above zero"
                )
            elif event.sensitivity != int(event.sensitivity):
                yield f"{where}.sensitivity is {event.sensitivity}; {_WHOLE}"
            else:
                sensitivity = int(event.sensitivity)
                collected.noises.append(DiscreteLaplace(scale=1 / rate, sensitivity=sensitivity, times=times))
        case dp_event.RandomizedResponseDpEvent():
            chance, answers = _decimal(event.noise_parameter), event.num_buckets
            if chance is None or chance > 1 or not 2 <= answers <= MOST_OUTCOMES or answers != int(answers):
                yield (
                    f"{where} has noise_parameter {event.noise_parameter} and {answers} num_buckets; it must "
                    f"be above 0 and at most 1, with 2 to {MOST_OUTCOMES} whole buckets"
                )
            elif chance < 1:  # (with 1 the answer tells nothing)
                collected.noises.append(_randomised_response(chance, int(answers)).repeated(times))
        case dp_event.LaplaceDpEvent():
            scale = _decimal(event.noise_multiplier)
            if scale is None:
                yield f"{where}.noise_multiplier is {event.noise_multiplier}; it must be above zero"
            else:
                collected.noises.append(ContinuousLaplace(scale=scale, times=times))
        case dp_event.GaussianDpEvent():
            sigma = _decimal(event.noise_multiplier)
            if sigma is None:
                yield f"{where}.noise_multiplier is {event.noise_multiplier}; it must be above zero"
            else:
                collected.gaussian += times / (2 * sigma * sigma)
        case dp_event.ZCDpEvent() if not event.xi:
            rho = _decimal(event.rho)
            if rho is None:
                yield f"{where}.rho is {event.rho}; it must be above zero"
            else:
                collected.rho = (collected.rho or Fraction(0)) + times * rho
        case _ if (
            type(event).__name__ == "DiscreteGaussianDpEvent"
        ):  # older versions of the package have none
            sigma, sensitivity = _decimal(event.sigma), event.sensitivity
            if sigma is None or not 0 < sensitivity < float("inf"):
                yield (
                    f"{where} has sigma {event.sigma} and sensitivity {sensitivity}; both must be above zero"
                )
            elif event.dimension != 1:
                yield (
                    f"{where}.dimension is {event.dimension}; a vector's exact loss depends on how its "
                    "numbers share the change, so give an event for each number, or for a bound "
                    "ZCDpEvent(sensitivity^2 / (2 sigma^2))"
                )
            elif sensitivity != int(sensitivity):
                yield f"{where}.sensitivity is {sensitivity}; {_WHOLE}"
            else:
                noise = DiscreteGaussian(variance=sigma * sigma, sensitivity=int(sensitivity), times=times)
                collected.noises.append(noise)
        case _:
            yield f"{where} is a {type(event).__name__}, which is not accounted for here{_instead(event)}"


def _randomised_response(chance: Fraction, answers: int) -> TableNoise:
    """The answer of somebody who replaces one bucket by another: with this chance it is drawn from all."""
    other = chance / answers
    shown_as = [{x: other + (1 - chance if x == true else 0) for x in range(answers)} for true in (0, 1)]
    return TableNoise(*shown_as)


def _instead(event: object) -> str:
    """What can be done with an event that is not covered."""
    match type(event).__name__:
        case "ZCDpEvent":
            return " (xi is not zero)"
        case "NonPrivateDpEvent":
            return " (no noise: nothing bounds its loss)"
        case _:
            return "; dp-accounting's PLDAccountant has its own bound"


def _decimal(value: float) -> Fraction | None:
    """Return a number above zero as it prints; None if it is none."""
    return Fraction(repr(float(value))) if 0 < value < float("inf") else None


def to_pld(loss: PrivacyLoss, *, interval: float = INTERVAL, smallest: Exact = "1e-10") -> Any:
    """Return the loss as a `PrivacyLossDistribution` of dp-accounting, on the safe side.

    Guarantee. Its epsilon at any delta is never below the exact one, and at deltas from `smallest` on at
    most `interval` above it (above the exact one at a delta smaller by 2e-6 of itself). Composed with others
    it stays a bound. Proof: docs/explanation/certified.md, "A loss on somebody else's grid"; checked by
    `test_epsilons_of_the_package_are_never_below_ours_and_within_its_step`.
    """
    try:
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution
    except ImportError:
        raise DiscreetError(_MISSING) from None
    if not isinstance(loss, PrivacyLoss):
        raise InputError(
            f"loss is a {type(loss).__name__}; it must be one PrivacyLoss: compose(events), or one case of "
            "an account, such as account(release).pair(1, 1) or .path(1)"
        )
    require("export", loss.events)
    if not 1e-7 <= interval <= 0.1:
        raise InputError(f"interval is {shown(interval)}; it must lie between 1e-7 and 0.1")
    if not loss.events:
        return privacy_loss_distribution.identity(interval)
    lowest, probabilities, infinite = loss_grid(loss, interval, read_delta(smallest))
    return privacy_loss_distribution.PrivacyLossDistribution(
        pld_pmf.DensePLDPmf(interval, lowest, probabilities, infinite, pessimistic_estimate=True)
    )


def loss_grid(loss: PrivacyLoss, interval: float, smallest: Fraction) -> tuple[int, Floats, float]:
    """Return the number of the lowest grid point, the probability of each, and that of an infinite loss.

    >>> loss = compose([DiscreteLaplace(scale=1)])
    >>> lowest, probabilities, infinite = loss_grid(loss, 0.1, Fraction(1, 10**10))
    >>> lowest, len(probabilities), round(float(probabilities.sum()), 12), infinite
    (-10, 22, 1.0, 0.0)
    """
    step = Fraction(repr(interval))
    bottom, top = _ends(loss, smallest / 10**6)
    first, last = int(bottom // step), int(-(-top // step))
    if last - first > MOST_POINTS:
        raise InputError(
            f"the losses reach from {float(bottom):.4g} to {float(top):.4g}, {last - first:,} steps of "
            f"{interval:g}; at most {MOST_POINTS:,} are possible: take a larger interval"
        )
    # cells end just below the grid points, since dp-accounting rounds those to floats
    top_of, bottom_of = step.numerator, step.denominator << 20
    edges = [Fraction(top_of * ((j << 20) - 1), bottom_of) for j in range(first, last + 2)]
    alternative, null = (_tails(loss, kind, edges) for kind in (Kind.ALT, Kind.NULL))
    with np.errstate(all="ignore"):
        errors = alternative.error + null.error + _ROUNDING
        above = np.minimum(np.exp(alternative.log) * (1 + alternative.error + _ROUNDING), 1.0)
        above = np.maximum.accumulate(above[::-1])[::-1]
        if loss.law.on_lattice("export").loss.largest is not None:
            above[-1] = 0.0
        other = np.exp(null.log)
        growth = np.exp(interval * np.arange(first, last + 1))  # e^g at the lower end of each cell
        inside = above[:-1] - above[1:]
        high = inside - (other[:-1] - other[1:]) * growth
        doubt = 2 * errors[:-1] * (above[:-1] + other[:-1] * growth)
        high = (high + doubt) / -np.expm1(-interval) + 1e-4 * inside
    high = np.where(np.isfinite(high), np.clip(high, 0.0, inside), inside)
    probabilities = np.zeros(last - first + 2)
    probabilities[:-1] = inside - high
    probabilities[1:] += high
    probabilities[0] += 1.0 - above[0]
    return first, probabilities, float(above[-1])


def _tails(loss: PrivacyLoss, kind: Kind, edges: list[Fraction]) -> Tail:
    """Tails at the edges; between two values that the loss can take they are the same, and computed once."""
    composed = loss.law.on_lattice("export").loss
    step, offset = composed.step, composed.offset
    if step < (edges[1] - edges[0]) * 2:
        return loss.law.tails(kind, edges)
    values = [(edge - offset) // step for edge in edges]
    tails = loss.law.tails(kind, [offset + step * value + step / 2 for value in dict.fromkeys(values)])
    index = np.array(values) - values[0]
    return Tail(tails.log[index], tails.error[index])


def _ends(loss: PrivacyLoss, tail: Fraction) -> tuple[Fraction, Fraction]:
    """Losses beyond which at most `tail` of the probability lies, on either side."""
    # P[L > e + 1] (1 - 1/e) <= delta(e)
    top = Fraction(float(loss.epsilon(delta=tail / 2, accuracy=1e-3))) + 1
    if (largest := loss.law.on_lattice("export").loss.largest) is not None:
        top = min(top, largest)
    tried = [top * k / 64 for k in range(1, 65)]
    # P[L < -t] = P_null[L > t], by symmetry
    far = loss.tail(above=tried, under="null") <= float(tail)
    return -next((t for t, is_far in zip(tried, far, strict=True) if is_far), top), top
