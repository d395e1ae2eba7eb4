"""How the curves of any laws together are computed: by lists where there are few values, else on a grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.errors import PrecisionError
from discreet.loss.contour import Kind, Tail
from discreet.loss.curves import Quantity
from discreet.loss.gridded import Gridded, TiltedGrid
from discreet.loss.lattice import Floats, log_fraction
from discreet.loss.law import NoiseLossLaw, prior_threshold
from discreet.loss.listed import Listed
from discreet.loss.sides import ROUNDING, Side, sides_of
from discreet.loss.tradeoff import Knots
from discreet.loss.values import FULL, digits_that_hold, held, rounded
from discreet.noise import Noise, grouped
from discreet.noise.capabilities import require
from discreet.numbers import Interval

COARSEST_GRID = 1e-2
"""A delta or f with a larger relative error is refused (an epsilon: absolute error)."""

_GOOD_LIST = 1e-9
_SCAN = 33  # points at which a search begins
_NEXT_TO_THE_END = 1e-3  # of the largest loss, where continuous Laplace losses have a short sum
_FARTHEST = 700.0  # thresholds beyond it are those of type II errors below all floats
_FINE = 2**18  # points of the grid for trade-offs
_TILTS = (-0.97, -0.9, -0.75, -0.5, -0.25, -0.1, -0.03)  # of grids for trade-offs
_MOST_ALPHA_LIST = 200_000
_SMALLEST = 1e-250


class GridEvaluator(NoiseLossLaw):
    """The law of a loss of any laws together, in both directions where they differ: by lists or on grids."""

    is_bound: ClassVar[bool] = True

    def __init__(self, events: Iterable[Noise], *, aim: float | None = None) -> None:
        self.events = grouped(events)
        self._aim, self._enough = aim, aim or COARSEST_GRID

    def with_accuracy(self, accuracy: float | None) -> GridEvaluator:
        """A copy that stops at this accuracy."""
        return self if accuracy is None or accuracy == self._aim else GridEvaluator(self.events, aim=accuracy)

    @cached_property
    def sides(self) -> tuple[Side, ...]:
        """The directions that count."""
        return sides_of(self.events)

    @cached_property
    def _lists(self) -> list[Listed | None]:
        return [Listed.of(side) for side in self.sides]

    @cached_property
    def _grids(self) -> list[Gridded]:
        aim = 1e-7 if self._aim is None else max(self._aim / 20, 1e-9)
        return [Gridded(side, aim) for side in self.sides]

    # -- delta ------------------------------------------------------------------------------------

    def _side_delta(self, k: int, epsilon: float, *, quick: bool = False) -> tuple[float, float]:
        """delta of one direction at epsilon >= 0, from above, and its relative error."""
        listed = self._lists[k]
        value, error = listed.delta(epsilon) if listed is not None else (1.0, math.inf)
        if error <= _GOOD_LIST:
            return value, error
        other = self._grids[k].delta(epsilon, quick=quick)
        value, error = min((value, error), other, key=lambda pair: (pair[1], pair[0]))
        # 1 - e^-x of a loss x above epsilon is no more than x, and than what is left up to the largest
        side = self.sides[k]
        if error > self._enough and (near := _next_to_the_end(side, epsilon)) is not None and near[1] < error:
            return near
        most = math.nextafter(side.infinite + max(side.top - epsilon, 0.0), math.inf)
        return (
            (most, most / side.infinite - 1 if side.infinite else math.inf)
            if most < value
            else (value, error)
        )

    def rough_log_delta(self, epsilon: Fraction) -> float:
        """log of an upper bound of delta at epsilon >= 0, on a coarse grid, for a search."""
        largest = max(grid.delta(float(epsilon), quick=True)[0] for grid in self._grids)
        return math.log(largest) if largest > 0 else -math.inf

    def _delta(self, epsilon: float, *, quick: bool = False) -> tuple[float, float]:
        """delta, the larger of both directions, at an epsilon of either sign, and its relative error."""
        deltas = [self._side_delta(k, abs(epsilon), quick=quick) for k in range(len(self.sides))]
        value, error = max(deltas)
        error = max([error, *(off for other, off in deltas if other >= value)])
        if epsilon >= 0:
            return value, error
        part = math.exp(epsilon) * value
        whole = -math.expm1(epsilon) + part
        return min(whole, 1.0), part * min(error, 1.0) / whole + 4e-16

    def quick_delta(self, epsilon: float) -> float:
        """About delta at an epsilon of at least 0."""
        return max(self._grids[k].delta(epsilon, quick=True)[0] for k in range(len(self.sides)))

    def directed(self, epsilon: float, *, exchanged: bool = False) -> tuple[float, float]:
        """delta of one direction at epsilon >= 0, rounded up, and its relative error.

        >>> from discreet.noise import TableNoise
        >>> law = GridEvaluator([TableNoise({0: "3/4", 1: "1/4"}, {0: "1/8", 1: "7/8"})])
        >>> [round(law.directed(1.0, exchanged=way)[0], 6) for way in (False, True)]
        [0.19543, 0.410215]
        """
        k = len(self.sides) - 1 if exchanged else 0
        ((value, error),) = self._known([Fraction(epsilon)], [self._side_delta(k, epsilon)], self._enough)
        return _digits_of_bound(value, error)

    def _rest(self, epsilon: float) -> tuple[float, float]:
        """1 - delta, the smaller of both directions, from below, and its relative error."""
        if epsilon < 0:
            value, error = self._rest(-epsilon)
            return math.exp(epsilon) * value, error
        return min(self._test_at(k, epsilon, 0.0) for k in range(len(self.sides)))

    def delta_tails(self, epsilons: list[Fraction], accuracy: float) -> Tail:
        """delta at epsilons of either sign."""
        return _tail(self._deltas(epsilons, accuracy))

    def _deltas(self, epsilons: list[Fraction], accuracy: float) -> list[tuple[float, float]]:
        deltas = [(0.0, 0.0) if self._is_beyond(e) else self._delta(float(e)) for e in epsilons]
        return self._known(epsilons, deltas, accuracy)

    def _known(
        self, epsilons: list[Fraction], deltas: list[tuple[float, float]], accuracy: float
    ) -> list[tuple[float, float]]:
        """Deltas, if they are known well enough."""
        # next to the largest loss rounding is all that is known: delta is at most that, and may be none
        rough = [self._is_rounding(float(e), *pair) for e, pair in zip(epsilons, deltas, strict=True)]
        # (so that no accuracy is stated)
        deltas = [
            (value, math.inf if of and error > self._enough else error)
            for (value, error), of in zip(deltas, rough, strict=True)
        ]
        asked = [row for row in zip(epsilons, deltas, rough, strict=True) if not row[2]]
        self._checked("delta", [row[0] for row in asked], [row[1] for row in asked], accuracy)
        return [(value, min(error, 1.0) if value < _SMALLEST else error) for value, error in deltas]

    def _is_beyond(self, epsilon: Fraction) -> bool:
        """Whether no loss is above epsilon, where the largest is a fraction."""
        return all(side.last is not None and side.last <= epsilon for side in self.sides)

    def _is_rounding(self, epsilon: float, value: float, error: float) -> bool:
        """Whether a delta is as uncertain as floats are, and no more."""
        doubt = value if error == math.inf else value * error / (1 + error)
        return doubt <= 40 * max((side.rounding(epsilon) for side in self.sides), default=0.0)

    def _checked(
        self, what: str, at: list[Fraction], found: list[tuple[float, float]], accuracy: float
    ) -> list[tuple[float, float]]:
        # what is hardly a float is known to be no larger, and nothing else
        found = [(value, min(error, 1.0) if value < _SMALLEST else error) for value, error in found]
        for point, (value, error) in zip(at, found, strict=True):
            if not error <= max(accuracy, self._enough) and value > _SMALLEST:
                if error == math.inf:
                    raise PrecisionError(
                        f"{what} at {float(point):.12g} is at most {value:.4g}, and how far above the "
                        f"truth that is, is not known: {self.why_hard()}"
                    )
                raise PrecisionError(
                    f"{what} at {float(point):.12g} is at most {value:.4g}, and known only to a factor of "
                    f"{1 + error:.3g}: {self.why_hard()}"
                )
        return found

    def tails(self, kind: Kind, thresholds: list[Fraction], accuracy: float = COARSEST_GRID) -> Tail:
        """One kind of tail with its relative errors."""
        if kind is Kind.DELTA:
            return self.delta_tails(thresholds, accuracy)
        if kind is Kind.REST:
            rests = [self._rest(float(t)) for t in thresholds]
            return _tail(self._checked("1 - delta", thresholds, rests, accuracy))
        listed = self._lists[0]
        if listed is None:
            raise PrecisionError(
                f"single tails of the loss are listed, and {self} have too many values; delta, epsilon and "
                "the trade-off are known"
            )
        errors = [listed.errors(float(t)) for t in thresholds]
        with np.errstate(divide="ignore"):
            chosen = [row[2] if kind is Kind.ALT else row[0] for row in errors]
            return Tail(np.log(chosen), np.full(len(errors), 1e-12))

    def why_hard(self) -> str:
        """Why this composition is hard to compute."""
        return f"{self} have losses without a lattice, in too many values for a list"

    def null_tails(self, points: list[Fraction]) -> Floats:
        """P_null[L > t]."""
        return np.exp(self.tails(Kind.NULL, points).log)

    # -- epsilon ------------------------------------------------------------------------------------

    def _epsilons_and_errors(self, deltas: list[Fraction], accuracy: float) -> tuple[Floats, Floats]:
        pairs = [self._epsilon(delta) for delta in deltas]
        for delta, (value, error) in zip(deltas, pairs, strict=True):
            if not error <= max(accuracy, self._enough):
                raise PrecisionError(
                    f"epsilon at delta {float(delta):.6g} is at most {value:.6g}, and known only to "
                    f"{error:.1g}: {self.why_hard()}"
                )
        return np.array([value for value, _ in pairs]), np.array([error for _, error in pairs])

    def _epsilon(self, delta: Fraction) -> tuple[float, float]:
        """The epsilon of a delta, from above, and how far below it the truth may lie."""
        if not self.events:
            return float(math.log1p(-float(delta))), 0.0
        if delta <= (certain := max(side.certain for side in self.sides)):
            # at that delta itself all finite losses are allowed, if they have an end
            ends = [side.top for side in self.sides if side.certain == delta]
            return (math.inf if delta < certain else max(ends)), 0.0
        near_one = delta > Fraction(9, 10)
        target = log_fraction(1 - delta) if near_one else log_fraction(delta)

        def height(epsilon: float, *, quick: bool) -> float:
            """How far log delta lies above the one asked for; near 1 by the logarithms of 1 - delta."""
            value = self._rest(epsilon)[0] if near_one else self._delta(epsilon, quick=quick)[0]
            log = math.log(value) if value > 0 else -800.0
            return target - log if near_one else log - target

        top = max(side.largest for side in self.sides)
        start = self._guess(delta)
        for quick in (True, False):
            start = _root(lambda e, quick=quick: height(e, quick=quick), start, top)  # type: ignore[misc]
        return start, self._doubt(start, delta, near_one)

    def _guess(self, delta: Fraction) -> float:
        """About where the curve passes through delta: by Chernoff's bound at a few tilts."""
        side, log = self.sides[0], log_fraction(delta)
        spread = math.sqrt(max(side.tilted_moments(0.0)[1], 1e-300))
        tilts = np.array([0.3, 0.6, 1, 2, 3, 4.5, 6, 8, 11, 15, 20, 40]) / spread
        bounds = (side.log_mgf(tilts) - log - np.log1p(tilts)) / tilts
        return float(np.nanmin(bounds))

    def _doubt(self, epsilon: float, delta: Fraction, near_one: bool) -> float:
        """How far below an epsilon the truth may lie: there even the lower bound of delta exceeds delta."""
        step = 1e-13 * max(abs(epsilon), 1e-3)
        for _ in range(60):
            lower = epsilon - step
            if near_one:
                rest, error = self._rest(lower)
                enough = rest * (1 + error) <= float(1 - delta)
            else:
                value, error = self._delta(lower)
                enough = value / (1 + error) >= float(delta)
            if enough:
                return step
            step *= 3
        return math.inf

    def epsilon_moves(self, deltas: list[Fraction], epsilons: Floats, off: float) -> Floats:
        """By how much epsilons move if their deltas change by this relative amount."""
        moves = []
        for delta, epsilon in zip(deltas, epsilons, strict=True):
            if not math.isfinite(epsilon):
                moves.append(0.0)
                continue
            width = 1e-3
            here, there = (self._delta(float(epsilon) + side)[0] for side in (0.0, width))
            slope = (here - there) / (here * width) if here > 0 else 0.0
            moves.append(off * float(delta) / (here * slope) if slope > 0 else 0.0)
        return np.array(moves)

    # -- the trade-off curve --------------------------------------------------------------------------

    def _test_at(self, k: int, threshold: float, alpha: float) -> tuple[float, float]:
        """P[L <= t] + e^t (Q[L > t] - alpha) of one direction, from below, and its relative error."""
        listed = self._lists[k]
        if listed is not None and listed.right.p.size <= _MOST_ALPHA_LIST:
            null, below, _ = listed.errors(threshold, lift=threshold)
            part = _lifted(alpha, threshold)
            value = below + null - part
            rounding = 2e-15 * (10 + abs(threshold)) + ROUNDING * self.sides[k].depth
            room = rounding * (below + null + part) + 2 * listed.dropped
            return value - room, (2 * room / value if value > room else math.inf)
        if self.sides[k].infinite >= 1:
            return 0.0, 0.0
        grid = self._trade_grid(k, threshold)
        null, below = grid.errors(threshold)
        unit = math.exp(grid.exponent(threshold))
        part = _lifted(alpha, threshold)
        rounding = ROUNDING * (self.sides[k].depth + abs(grid.log_scale) + abs(grid.theta * threshold))
        noise = (grid.noise * math.sqrt(grid.p.size) + grid.outside + rounding * (null + below)) * unit
        value = unit * (null + below) - part
        noise += 1e-15 * part
        room = unit * grid.excess(threshold) + 2 * noise
        return value - noise, (room / (value - noise) if value > room else math.inf)

    @cached_property
    def _trade_grids(self) -> dict[tuple[int, float], TiltedGrid]:
        return {}

    @cached_property
    def _trade_means(self) -> list[list[float]]:
        return [[side.tilted_moments(theta)[0] for theta in _TILTS] for side in self.sides]

    def _trade_grid(self, k: int, threshold: float) -> TiltedGrid:
        """A grid under a tilt between the two hypotheses that suits a threshold."""
        theta = _TILTS[int(np.argmin([abs(mean - threshold) for mean in self._trade_means[k]]))]
        if (k, theta) not in self._trade_grids:
            self._trade_grids[k, theta] = self._grids[k].at_tilt(theta, _FINE)
        return self._trade_grids[k, theta]

    def _tradeoffs(self, alphas: list[Fraction], accuracy: float) -> tuple[Floats, Floats]:
        """f, the lower of both directions and its convex hull, and its relative errors."""
        tests = [lowest_test([self], alpha) for alpha in alphas]
        self._checked("f", alphas, [(beta, error) for beta, error, _ in tests], max(accuracy, self._enough))
        return np.array([beta for beta, _, _ in tests]), np.array([error for _, error, _ in tests])

    def test_at(self, threshold: float, alpha: float) -> tuple[float, float]:
        """The lower of both directions of P[L <= t] + e^t (Q[L > t] - alpha), and its relative error."""
        return min(self._test_at(k, threshold, alpha) for k in range(len(self.sides)))

    def all_thresholds(self, alpha: float) -> tuple[float, float]:
        """Thresholds between which that of any best test lies: where losses are, and e^t alpha is below 1."""
        most = min(max(side.top for side in self.sides), _FARTHEST)
        return -most - 1e-9, min(most, -math.log(alpha)) + 1e-9

    def likely_thresholds(self, alpha: float) -> tuple[float, float]:
        """Thresholds between which that of a best test lies, unless losses far away matter."""
        spread = max(math.sqrt(max(side.tilted_moments(0.0)[1], 1e-12)) for side in self.sides)
        ends = [side.tilted_moments(theta)[0] for side in self.sides for theta in (-1.0, 0.0)]
        reach = 12 * spread + 1
        low, high = min(ends) - reach, max(ends) + reach
        # e^t alpha is at most 1 at the best threshold
        return low, min(high, -math.log(alpha) + 1e-9)

    def tradeoff_thresholds(self, alphas: list[Fraction]) -> list[Fraction]:
        """Losses at which the best tests of these type I errors have their thresholds."""
        return [Fraction(min(lowest_test([self], alpha)[2], 700.0)) for alpha in alphas]

    @property
    def has_exact_thresholds(self) -> bool:
        """Thresholds are found by a search."""
        return False

    def knots(self, low: Fraction, high: Fraction, most: int) -> tuple[Knots, float]:
        """Refused: corners are those of a lattice."""
        return self.on_lattice().knots(low, high, most)

    def errors_at(self, thresholds: list[Fraction]) -> tuple[Floats, Floats]:
        """Type I errors by lists; type II errors are refused: they are those of a lattice."""
        return self.null_tails(thresholds), self.on_lattice().errors_at(thresholds)[1]

    def second_opinions(
        self, epsilon: Fraction, level: Fraction, *, binds: bool
    ) -> Sequence[Iterator[tuple[Interval, str]]]:
        """Every outcome in balls, or bounds on a grid in whole numbers."""
        from discreet.loss.second_opinion import outcome_opinions

        return outcome_opinions(self, epsilon, level)

    # -- beliefs --------------------------------------------------------------------------------------

    @property
    def largest(self) -> Fraction | None:
        """The largest loss, as floats have it."""
        top = self.sides[0].largest
        return None if top == math.inf else Fraction(top)

    def quantiles(self, chances: Sequence[float]) -> Floats:
        """Values of a list, or bounds on a grid."""
        from discreet.loss.spread import spread_of

        return spread_of(self.events).quantiles(chances)

    def mean_posteriors(self, priors: Sequence[Fraction]) -> list[float]:
        """By a list, or from above on a grid."""
        from discreet.loss.spread import spread_of

        present = spread_of(self.events)
        return [present.mean_posterior(math.log(1 - p) - math.log(p)) for p in priors]

    def naming_chances(self, priors: Sequence[Fraction]) -> list[tuple[float, float]]:
        """By lists, or read off a grid."""
        from discreet.loss.spread import naming_chances

        found = []
        for p in priors:
            if 2 * p == 1 and len(self.sides) == 1:
                none = self.total_variation
                found.append(((1.0 + none) / 2.0, (1.0 - none) / 2.0))
            else:
                found.append(naming_chances(self.events, math.log(1 - p) - math.log(p)))
        return found

    def prior_deltas(self, priors: Sequence[Fraction]) -> Floats:
        """Of the one direction."""
        return np.array([self.directed(float(prior_threshold(p)), exchanged=2 * p > 1)[0] for p in priors])

    # -- answers --------------------------------------------------------------------------------------

    def _largest_loss(self) -> Fraction | None:
        largest = max((side.largest for side in self.sides), default=0.0)
        # the logarithm of a ratio is no fraction: the next one above
        return None if largest == math.inf else Fraction(largest) * (1 + Fraction(1, 10**14))

    def _floats(
        self, quantity: Quantity, at: list[Fraction], accuracy: float | None
    ) -> tuple[Floats, Floats]:
        loss = self.with_accuracy(accuracy)
        if quantity == "epsilon":
            value, error = loss._epsilons_and_errors(at, loss._enough)
            return rounded(value, error, np.maximum(1e-11 * np.abs(value), 1e-12), "up")
        if quantity == "beta":
            return held(*loss._tradeoffs(at, loss._enough), "down")
        deltas = loss._deltas(at, loss._enough)
        pairs = np.array([_digits_of_bound(value, error) for value, error in deltas])
        return pairs[:, 0], pairs[:, 1]

    def _intervals(self, quantity: Quantity, at: list[Fraction], digits: int | None) -> list[Interval]:
        """Intervals that provably contain the values."""
        from discreet.loss.proved import proved_delta, proved_epsilon

        if quantity == "beta":
            require("proved trade-off", self.events)
        prove = proved_delta if quantity == "delta" else proved_epsilon
        return [prove(self, x, digits) for x in at]

    def _pure(self, largest: Fraction) -> Interval:
        # the largest loss of tables is no fraction
        return self._intervals("epsilon", [Fraction(0)], None)[0]

    @property
    def mean(self) -> float:
        """Mean of the loss under the alternative; infinite if a loss may be."""
        side = self.sides[0]
        return math.inf if side.infinite > 0 else side.tilted_moments(0.0)[0]

    @property
    def variance(self) -> float:
        """Variance of the loss."""
        side = self.sides[0]
        return math.inf if side.infinite > 0 else side.tilted_moments(0.0)[1]

    def __repr__(self) -> str:
        count = sum(event.times for event in self.events)
        families = ", ".join(sorted({event.FAMILY for event in self.events}))
        return f"{count} event{'s' * (count != 1)} of {len(self.events)} kinds ({families})"


def _next_to_the_end(side: Side, epsilon: float) -> tuple[float, float] | None:
    """delta hardly below the largest loss, from above, and its relative error; None unless it has this form.

    Of the losses above epsilon all that are discrete are then the largest. Each of n continuous Laplace
    losses is the largest with chance 1/2, or lies g below with density e^(-g/2) / 4. So with x the distance
    of epsilon from the end, delta is the chance of the discrete ones times the sum over k of

        C(n, k) 2^(k - n) 4^-k integral over 0 < g < x of g^(k-1) / (k-1)! e^(-g/2) (1 - e^(g-x)),

    or 2^-n (1 - e^-x) for k = 0. The integrals are at most x^(k+1) / (k+1)!, and at least e^(-3x/2) of it.
    """
    x = side.top - epsilon
    if not 0 < x < _NEXT_TO_THE_END:
        return None
    log_chance, many = 0.0, 0
    for term, (law, times) in zip(side.terms, side.laws, strict=True):
        if (density := term.exact_density) is not None and x < float(density.end):
            many += times
        elif law.density is None and not law.infinite and not law.left_out and law.value.size:
            if law.value.size > 1 and law.value[-1] - law.value[-2] < 2 * x:
                return None
            log_chance += times * float(law.log[-1])
        else:
            return None
    exponent = log_chance - many * math.log(2)
    if exponent < -600:
        return None

    def total(room: float) -> float:
        part, whole = 0.5 * many * room * room / 2, -math.expm1(-room)
        for k in range(1, many + 1):
            whole += part
            part *= (many - k) / (k + 1) / 2 * room / (k + 2)
        return whole

    doubt = 4e-16 * side.top + 2 * side.rounding(side.top)
    upper = math.exp(exponent) * total(x + doubt) * (1 + ROUNDING * (10 + side.depth))
    lower = math.exp(exponent - 1.5 * x) * total(max(x - doubt, 0.0)) * (1 - ROUNDING * (10 + side.depth))
    return upper, upper / lower - 1 if lower > 0 else math.inf


def _tail(pairs: list[tuple[float, float]]) -> Tail:
    with np.errstate(divide="ignore"):
        return Tail(np.log([value for value, _ in pairs]), np.array([error for _, error in pairs]))


def _digits_of_bound(upper: float, error: float) -> tuple[float, float]:
    """An upper bound rounded up to the digits that hold, and how far below it the truth may lie, relatively.

    The bound covers its error already: to add the error again would lift delta at the epsilon of a delta
    above that delta.

    >>> _digits_of_bound(9.9999999993e-07, 6.6e-08)[0]
    1e-06
    """
    if not error > FULL or not upper > 0:
        return upper, error
    doubt = upper * (error / (1 + error)) if error < math.inf else upper
    rounder = min(max(digits_that_hold(upper - doubt, doubt, "up"), upper), 1.0)
    return rounder, rounder / upper * (1 + error) - 1


def lowest_test(cases: Sequence[GridEvaluator], alpha: Fraction) -> tuple[float, float, float]:
    """f of all cases together at one alpha, its relative error, and the threshold of its test.

    f is the convex hull of the least curve: the supremum over thresholds t of the least height at t, over all
    cases and both directions. Heights are concave in e^t.
    """
    if alpha == 1:
        return 0.0, 0.0, 0.0
    if alpha == 0:
        return 1.0 - max(side.infinite for case in cases for side in case.sides), 1e-15, math.inf
    size = float(alpha)
    likely = [case.likely_thresholds(size) for case in cases]
    every = [case.all_thresholds(size) for case in cases]
    spans = [(min(low for low, _ in ends), max(high for _, high in ends)) for ends in (likely, every)]
    low, high = spans[1]
    best, at, off, top = -math.inf, low, 0.0, 0.0

    def height(t: float) -> float:
        nonlocal best, at, off, top
        value, error = min(case.test_at(t, size) for case in cases)
        if value > best:
            best, at, off = value, t, error
        if error < math.inf:
            top = max(top, value * (1 + error))  # what f may be, seen from here
        return value

    for _ in range(2):  # where floats are rough far away from the top, then to the last digit
        points = np.unique(np.concatenate([np.linspace(*ends, _SCAN) for ends in spans]))
        heights = [height(float(t)) for t in points]
        k = max(range(points.size), key=heights.__getitem__)
        low, high = float(points[max(k - 1, 0)]), float(points[min(k + 1, points.size - 1)])
        spans = [(low, high)]
    top = 0.0  # heights far away are lower, however roughly they are known
    _golden_section(height, low, high)
    if best <= 0:
        return 0.0, 1.0, at
    return min(best, 1.0 - size), max(off, top / best - 1), at


def _lifted(alpha: float, threshold: float) -> float:
    """e^threshold alpha; infinite beyond all floats."""
    if alpha <= 0:
        return 0.0
    log = threshold + math.log(alpha)
    return math.exp(log) if log < 709.0 else math.inf


def _golden_section(height: Callable[[float], float], low: float, high: float) -> None:
    """Ask for the heights of a function with one top until it is found to the last digits."""
    ratio = 0.5 * (math.sqrt(5) - 1)
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = height(left), height(right)
    while high - low > 1e-13 * max(1.0, abs(low), abs(high)):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = height(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = height(right)


def _root(height: Callable[[float], float], start: float, top: float) -> float:
    """The root of a falling function, from its upper side: bracketed, then by false position and halves."""
    width = 0.05 + 0.02 * abs(start)
    low, high = start - width, min(start + width, top)
    at_low, at_high = height(low), height(high)
    while at_low < 0:
        high, at_high = low, at_low
        width *= 2
        low -= width
        at_low = height(low)
    while at_high > 0 and high < top:
        low, at_low = high, at_high
        width *= 2
        high = min(high + width, top)
        at_high = height(high)
    for turn in range(200):
        if high - low <= 2e-14 * max(abs(low), abs(high), 1e-2):
            break
        if turn % 3 == 2 or not math.isfinite(at_low - at_high) or at_low == at_high:
            middle = 0.5 * (low + high)
        else:
            middle = low + (high - low) * min(max(at_low / (at_low - at_high), 0.0), 1.0)
            # a little to either side of the guess, so that both ends move
            middle += (1 if turn % 2 else -1) * 1e-3 * (high - low)
            middle = min(max(middle, low + 1e-4 * (high - low)), high - 1e-4 * (high - low))
        value = height(middle)
        if value > 0:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
    return high
