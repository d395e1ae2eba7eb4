"""Proved upper bounds of delta for all cases of a release together.

The trapezoidal sum over all nodes is a sum of positive terms, the sought delta among them (Poisson
summation), so that it bounds delta from above whatever the spacing. Nodes near the origin are summed in
balls, for all pairs by one product of matrices. What the other nodes add to the pair (i, j) is at most
sqrt(T_i T_j) by the inequality of Cauchy and Schwarz, where T_i is the sum of |Phi_i|^2 / y^2 over them.

T_i is bounded by basic operations on floats, each padded: moduli are looked up in tables of bounds that come
from balls, so that no exponential of a float is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import acb, arb, arb_mat

from discreet.loss.all_pairs import CORE, AllPairs, is_at_end
from discreet.loss.certified.tails import (
    centred,
    kernel_ball,
    log_mgf_ball,
)
from discreet.loss.contour import (
    Kind,
    Sieve,
    SieveOverflowError,
    saddle,
    short_above,
    short_tilt,
    sieved,
)
from discreet.loss.lattice import MOST_NODES, Floats, Loss, Nodes, turns
from discreet.memory import Forgetful
from discreet.noise import LatticeNoise
from discreet.noise.balls import ball, working_bits

_TWO_PI = 2 * math.pi
_BITS = 128
_LEVELS = 256  # entries of a table of moduli, ...
_FINE = 4  # ... this many of them for each factor e
_AIM = 1e-12  # what may be left out, relative to the value; pairs still open are proved one by one
_MOST_SEEN = 400_000
_EACH = 1000  # values of a transform take as long as the proof of one case
_PAD = 1e-9  # far above the rounding of a few operations, and of sums of as many terms as there are nodes


class Moduli:
    """Proved bounds of the modulus of a term's factor, by the distance d of its angle to a full turn.

    `log[g]` bounds times * log |factor| for all d with floor(rate d^2) = g, and the last for all beyond.

    >>> from discreet.noise import DiscreteGaussian
    >>> table = Moduli(DiscreteGaussian(variance=5, times=10), Fraction(1))
    >>> bool(table.log[0] < 1e-6), bool(table.radius(8.0) < 0.7)
    (True, True)
    """

    def __init__(self, term: LatticeNoise, theta: Fraction) -> None:
        self.step = term.step
        spread = term.tilted_variance(float(theta))
        self.rate = _FINE * term.times * max(spread, 1e-30) / 2
        count = min(_LEVELS, math.floor(self.rate * math.pi**2))
        # (roots rounded down, so that no angle is looked up beyond the range of its bound)
        self.distance = [math.sqrt(g / self.rate) * (1 - 1e-12) for g in range(count + 1)]
        with working_bits(_BITS):
            logs = term.moduli_ball(theta, self.distance)
            tops = [min(float(log.upper()), 0.0) if log.is_finite() else 0.0 for log in logs]
        self.log = np.array([top * (1 - 1e-12) + 1e-12 for top in tops])

    def radius(self, depth: float) -> float:
        """A distance beyond which the modulus is below e^-depth; pi if there is none."""
        above = np.flatnonzero(self.log > -depth)
        first = int(above[-1]) + 1 if above.size else 0
        return self.distance[first] * (1 + 1e-9) if first < len(self.distance) else math.pi

    def at(self, nodes: Nodes, period: Fraction) -> Floats:
        """Bounds of the logarithm at nodes."""
        d = np.maximum(_TWO_PI * np.abs(turns(nodes, self.step / period)) - 1e-12, 0.0)
        entry = np.minimum(self.rate * (1 - 1e-9) * d * d, self.log.size - 1).astype(np.int64)
        return np.asarray(self.log[entry])


class _Path:
    """One path on a contour: its moduli, and what it leaves out, alone or paired with an equal path."""

    def __init__(self, loss: Loss, tables: Sequence[Moduli], sides: int) -> None:
        self.loss = loss
        self.tables = tables
        self.sides = sides

    def _kept(self, start: float, end: float, depth: float, period: Fraction) -> Nodes:
        """The nodes between two points at which |Phi|^sides may exceed e^-depth."""
        radii = [table.radius(depth / self.sides) for table in self.tables]
        kept = Sieve(*sieved(self.loss, start, end, radii), end, depth)
        return kept.nodes(float(period), _MOST_SEEN)

    def _weighed(self, nodes: Nodes, weight: Floats, period: Fraction) -> arb:
        """A bound of sum weight |Phi|^sides."""
        if nodes.size == 0:
            return arb(0)
        logs = np.zeros(nodes.size)
        for table in self.tables:
            logs += table.at(nodes, period)
        # in classes of equal bound, rounded up to quarters
        quarter = np.clip(np.floor(-4 * self.sides * logs - 1e-6), 0, 4 * 800).astype(np.int64)
        total = arb(0)
        for k, size in enumerate(np.bincount(quarter, weights=weight)):
            if size:
                total += arb(float(size)) * arb(-k / 4).exp()
        return total * (1 + arb(_PAD))

    def left_out(self, theta: Fraction, period: Fraction, core: Nodes, end: float, aim: float) -> arb:
        """A bound of (1/P) sum |Phi|^sides / |z (z + 1)| over all nodes outside the core, of either sign."""
        per_node = _TWO_PI / float(period)
        each = 2 / float(period) * (1 + _PAD)
        tilt = ball(theta)
        # the mean of the kernel over all nodes: coth(theta P / 2) / (2 theta)
        whole = 1 / (2 * tilt * (tilt * ball(period) / 2).tanh())
        step = float(self.loss.step)
        half = math.pi / step
        is_folded = (period / self.loss.step).denominator == 1 and end < half

        def weight(nodes: Nodes) -> Floats:
            y = per_node * nodes
            weights = each / (y * y)
            if is_folded:
                # sum_n 1 / (y + 2 pi n / step)^2 = (step / 2 / sin x)^2, x = step y / 2,
                # and sin x >= x (1 - x^2 / 6)
                x = step / 2 * y
                weights /= (1 - np.minimum(x * x, 2.5) / 6) ** 2
            return np.asarray(weights, dtype=np.float64)

        if is_folded:
            # with all repetitions a node weighs less than 3 / y^2, and (2 / P) sum 1 / y^2 = P / 12
            whole += ball(period) / 4
        try:
            depth = math.log(float(whole) / aim) + 1
            inner = self._kept(0.0, end, depth, period)
            inner = inner[~np.isin(inner, core)]
            if inner.size and inner[0] == 0:
                return arb("inf")
            total = self._weighed(inner, weight(inner), period) + whole * (-ball(Fraction(depth))).exp()
        except SieveOverflowError:
            return arb("inf")
        if is_folded:
            # periods beyond the first: a node of the core is repeated with less than 0.15 step^2 in all
            total += self._weighed(core, np.full(core.size, each * 0.15 * step * step), period)
        start = end
        while True:
            beyond = 1 / (arb.pi() * ball(Fraction(start * (1 - 1e-9)) - 8 / period))
            depth = math.log(float(beyond) / aim) + 1
            if depth < 1:
                return total + beyond
            stop = 8 * start
            if is_folded:
                stop = min(stop, half)
            try:
                if stop / per_node > MOST_NODES:
                    raise SieveOverflowError
                nodes = self._kept(start, stop, depth, period)
            except SieveOverflowError:
                return total + beyond
            nodes = nodes[~np.isin(nodes, core)]
            # nodes that are not kept: with all repetitions at most three times their weight
            total += self._weighed(nodes, weight(nodes), period) + 3 * beyond * (-ball(Fraction(depth))).exp()
            if is_folded and stop == half:
                return total
            start = stop


class UpperBounds(Forgetful):
    """Proved upper bounds of delta for all cases of a release.

    >>> from discreet.budget import cases, load
    >>> proved = UpperBounds(AllPairs(cases(load("pl94-2020-units"), "bounded")))
    >>> all(bound < 1e-6 for bound in proved.at(Fraction(20), proved.whole.main))   # of delta(20)
    True
    """

    def __init__(self, whole: AllPairs) -> None:
        self.whole = whole

    @cached_property
    def _tables(self) -> dict[LatticeNoise, Moduli]:
        return {}

    @cached_property
    def _tilted(self) -> dict[LatticeNoise, Moduli]:
        return {}

    @cached_property
    def _values(self) -> dict[tuple[LatticeNoise, Fraction], tuple[int, list[acb]]]:
        return {}

    def unproved(self, epsilon: Fraction, bound: Fraction, worst: Loss) -> list[int]:
        """The numbers of the cases whose delta(epsilon) is not proved to lie at or below the bound."""
        tops = self.at(epsilon, worst)
        with working_bits(_BITS):
            limit = ball(bound).lower()
        return [number for number, top in enumerate(tops) if not top <= limit]

    def at(self, epsilon: Fraction, worst: Loss, *, lean: float = 0.0) -> list[arb]:
        """For each case a number that delta(epsilon) does not exceed, sharpest for a loss like the worst.

        `lean` puts the contour to the right of the saddle point, by this share of its distance from the pole,
        and computes with more bits: a second opinion.

        Infinite where proving all cases one by one is faster: few cases, of few terms and many nodes; and
        next to the largest loss.
        """
        whole = self.whole
        if is_at_end(worst, epsilon) or is_at_end(whole.main, epsilon):
            return [arb("inf")] * len(whole.cases)
        step = whole.lattice
        with working_bits(_BITS * (2 if lean else 1) + 2 * math.log2(1 + abs(float(epsilon)))):
            theta = saddle(worst, Kind.DELTA, float(epsilon), float(step or 0))
            if lean:
                theta = short_tilt(theta + lean * (theta - Kind.DELTA.pole))
            tilt = Fraction(theta)
            length, _ = whole.alias_free(Kind.DELTA, theta, float(epsilon), float(epsilon))
            point, gap, count = epsilon, Fraction(0), 0
            if step is not None:
                count = max(8, math.ceil(length / float(step)))
                period = count * step
                nodes = np.arange(count // 2 + 1, dtype=np.int64)
                gap = step - (epsilon - whole.main.offset) % step
                point = epsilon + gap
            else:
                period = self._period(length)
                nodes = whole.core(theta, period)
            terms = {term for row in whole.paths for loss in row for term in loss.terms}
            if nodes.size * len(terms) > _EACH * len(whole.cases):
                return [arb("inf")] * len(whole.cases)
            share = point / (whole.sides * len(whole.paths))
            self._tilted, self._values = {}, {}
            tables, scales, rests = [], [], []
            for row in whole.paths:
                logs = [log_mgf_ball(loss, tilt) - ball(tilt * share) for loss in row]
                scales.append([log.exp() for log in logs])
                tables.append([self._transforms(loss, tilt, period, nodes, share) for loss in row])
                if step is None:
                    rests.append([self._rest(loss, tilt, period, nodes) for loss in row])
            weights = []
            turn = 2 * arb.pi() / ball(period)
            for k in map(int, nodes):
                kernel = kernel_ball(Kind.DELTA, acb(ball(tilt), turn * k), step, gap)
                once = k == 0 or 2 * k == count
                weights.append(kernel * (1 if once else 2) / (count if step is not None else ball(period)))
            return self._together(tables, scales, rests, weights)

    def _period(self, length: float) -> Fraction:
        """A period that is a multiple of as many steps as possible, the coarsest first."""
        shared = Fraction(0)
        for step in sorted({loss.step for row in self.whole.paths for loss in row}, reverse=True):
            # the least common multiple of two fractions in lowest terms
            both = (
                Fraction(
                    math.lcm(shared.numerator, step.numerator), math.gcd(shared.denominator, step.denominator)
                )
                if shared
                else step
            )
            if both <= Fraction(length) / 4:
                shared = both
        return math.ceil(Fraction(length) / shared) * shared if shared else short_above(length)

    def _transforms(
        self, loss: Loss, tilt: Fraction, period: Fraction, nodes: Nodes, share: Fraction
    ) -> list[acb]:
        """The tilted transform of one path at the nodes, with the phase of its share of the threshold."""
        centre, product = loss.offset - share, [acb(1)] * nodes.size
        for term in loss.terms:
            # most terms belong to many paths
            if (term, period) not in self._values:
                factor = term.factor_ball(tilt)
                rate = term.step / period
                turns_ = (arb(centred(int(k) * rate.numerator, rate.denominator)) for k in nodes)
                self._values[term, period] = (
                    factor.shift,
                    [factor.at(turn) ** term.times for turn in turns_],
                )
            shift, values = self._values[term, period]
            centre += term.times * term.step * shift
            product = [a * b for a, b in zip(product, values, strict=True)]
        per_node = centre / period
        angles = (2 * arb(centred(int(k) * per_node.numerator, per_node.denominator)) for k in nodes)
        return [a * acb(b.cos_pi(), b.sin_pi()) for a, b in zip(product, angles, strict=True)]

    def _rest(self, loss: Loss, tilt: Fraction, period: Fraction, nodes: Nodes) -> arb:
        tables = []
        for term in loss.terms:
            # the bound for large variances holds for every tilt
            known = self._tables if term.is_dual else self._tilted
            if term not in known:
                known[term] = Moduli(term, tilt)
            tables.append(known[term])
        spread = math.sqrt(self.whole.main.tilted_moments(float(tilt))[1])
        aim = _AIM / (float(tilt) * (float(tilt) + 1) * 2.5 * spread)
        end = CORE * self.whole.tilt
        rest = _Path(loss, tables, self.whole.sides).left_out(tilt, period, nodes, end, aim)
        return rest.sqrt() if self.whole.sides == 2 else rest

    def _together(
        self,
        tables: list[list[list[acb]]],
        scales: list[list[arb]],
        rests: list[list[arb]],
        weights: list[acb],
    ) -> list[arb]:
        """Core, rest and scale of each case, put together."""
        if len(tables) == 1 and self.whole.sides == 2:
            (table,), (scale,) = tables, scales
            sums = _real_product([[w * v for w, v in zip(weights, row, strict=True)] for row in table], table)
            far = rests[0] if rests else [arb(0)] * len(scale)
            many = len(scale)
            return [
                (scale[i] * scale[j] * (sums[i * many + j] + far[i] * far[j])).upper()
                for i in range(many)
                for j in range(i, many)
            ]
        groups = [self._choices(row) for row in tables]
        sizes = [[_product(pair) for pair in self._choices_of(row)] for row in scales]
        fars = [[_product(pair) for pair in self._choices_of(row)] for row in rests]
        last = len(groups) - 1
        lead, lead_scale, lead_far = [weights], [arb(1)], [arb("inf")]
        for g in range(last):
            lead = [[a * b for a, b in zip(row, more, strict=True)] for row in lead for more in groups[g]]
            lead_scale = [a * b for a in lead_scale for b in sizes[g]]
            # no factor exceeds 1, so that the rest of any one group is a bound
            lead_far = [_least(a, b) for a in lead_far for b in fars[g]] if fars else [arb(0)] * len(lead)
        sums = _real_product(lead, groups[last])
        tops, width = [], len(groups[last])
        for i, (size, far_) in enumerate(zip(lead_scale, lead_far, strict=True)):
            for j in range(width):
                rest = _least(far_, fars[last][j]) if fars else arb(0)
                tops.append((size * sizes[last][j] * (sums[i * width + j] + rest)).upper())
        return tops

    def _choices_of(self, row: Sequence[arb]) -> list[tuple[arb, ...]]:
        if self.whole.sides == 1:
            return [(value,) for value in row]
        return [(row[i], row[j]) for i in range(len(row)) for j in range(i, len(row))]

    def _choices(self, row: list[list[acb]]) -> list[list[acb]]:
        if self.whole.sides == 1:
            return row
        return [
            [a * b for a, b in zip(row[i], row[j], strict=True)]
            for i in range(len(row))
            for j in range(i, len(row))
        ]


def _product(values: Sequence[arb]) -> arb:
    return math.prod(values[1:], start=values[0])


def _least(first: arb, second: arb) -> arb:
    """An upper bound of the smaller of two upper bounds."""
    return second.upper() if second < first else first.upper()


def _real_product(left: list[list[acb]], right: list[list[acb]]) -> list[arb]:
    """The real parts of left times the transpose of right, row by row."""
    rows = arb_mat([[v.real for v in row] + [-v.imag for v in row] for row in left])
    columns = arb_mat([[v.real for v in row] + [v.imag for v in row] for row in right])
    return list((rows * columns.transpose()).entries())
