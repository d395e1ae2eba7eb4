"""All pairs of paths together: one transform a path, one matrix product for all cases.

The transform of a case is the product of those of its paths. On one contour with tilt theta, nodes
y_k = 2 pi k / P and weights w_k (the kernel, and the phase of the threshold)

    delta_ij = M_i M_j e^(-theta eps) (1 / P) sum_k Re( w_k Phi_i(y_k) Phi_j(y_k) )

is one matrix product for all pairs (i, j). Only nodes near the origin are summed. What lies farther out is
at most sqrt(T_i T_j) by the inequality of Cauchy and Schwarz, where T_i = (1/pi) int |Phi_i|^2 / y^2 over the
rest of the line is what the pair (i, i) leaves out. So the rest of the contour is computed once for each
path, not for each pair. Most pairs whose rest could matter are ruled out as the worst by `on_grid`, an upper
bound for all of them, or by `outward`, which sums more of the contour; only the others are evaluated one by
one. For several releases the product runs over the paths of all of them; since no factor exceeds 1, the T of
any one of them is enough.

Where all losses lie on one coarse lattice, the sum runs over its whole period, and nothing is left out.

*Both errors of a test* are bare tails, whose kernel 1/z falls too slowly for such a bound: each case is
summed over a whole period of its own lattice (`both_errors`). Under the tilt e^(theta L) a discrete Gaussian
is the same law shifted by theta mu, so that a transform has period 1 in theta: tilts that differ by whole
numbers share it, and at whole theta it is real. Kernel and phase of a threshold are the same for all
cases on a lattice, which again makes one matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.loss.cases import GroupedCases
from discreet.loss.contour import (
    DEPTH,
    MOST_INTERVALS,
    OFFSETS,
    Kind,
    Points,
    Quadrature,
    Sieve,
    SieveOverflowError,
    kernel_size,
    octave,
    period,
    saddle,
    short_above,
)
from discreet.loss.evaluation import ACCURACY, Evaluations
from discreet.loss.grids import GridLaw
from discreet.loss.lattice import (
    Floats,
    Loss,
    Nodes,
    TiltedTransform,
    common_step,
    exact_exponent,
    is_coarse,
    log_scale,
    turn_table,
    turns,
)
from discreet.memory import Forgetful
from discreet.noise.balls import working_bits
from discreet.noise.lattice import Complexes, LatticeNoise
from discreet.noise.theta import dual_log_ratio

_TWO_PI = 2 * math.pi
_ALIAS = 41.0  # aliases below e^-41 of the scale of the value
_END = 1e-6  # spreads before the largest loss: a tilt to there leaves nothing of the spread
_DEEPEST = 37.0  # standard deviations at which a tail is about 1e-300
CORE = 64  # the core of the contour ends at this multiple of the largest tilt in use
_SHALLOW = 34.0  # beyond the core, factors below e^-34 are left out: 1e-15 of the value
_MOST_NODES = 200_000
FARTHEST = 6
"""Octaves beyond the core that are summed for one case, at most."""

_PEAKS = 4  # allowed for beyond the last octave, each as high as at the origin
_SINGLY = 50_000  # nodes of one octave of a case; with more, evaluating the case is faster
_FEW = 4000  # values of terms that are split together
_MOST_LATTICES = 12  # with more, a product for each takes longer than it saves
_MOST_POINTS = 2**23  # of the grids of all paths together
_ROWS = 64  # paths whose products are taken at a time
_FREQUENCIES = 2**16  # of a grid, whose products are taken at a time
_IN_ONE_THREAD, _SHORTEST = 2**18, 32  # products for which no threads start, and how long a part is worth it
_ROUNDING = 2.3e-16
_MOST_TOGETHER = 2048  # nodes of cases whose errors are summed together
_MOST_ROWS = 256
_STRIDE = 16  # thresholds from one whose phases are computed to the next
_FINE = 0.03  # of the spread: on a finer lattice neighbouring values are alike


class Scan(NamedTuple):
    """One threshold, by its number: the values of all cases in units of e^exponent, and their errors."""

    threshold: int
    exponent: float
    value: Floats
    error: Floats
    exact: tuple[Floats, Floats] | None = None
    """The same with the repetitions of the core on a case's own lattice summed exactly, where known."""


class _Lattices(NamedTuple):
    """The lattices of single cases, and what their cores with all repetitions leave out."""

    steps: tuple[Fraction, ...]
    which: NDArray[np.int64]
    """For each case the index of its step, or -1."""
    left_out: Floats


@dataclass(frozen=True, slots=True)
class _Line:
    """One contour: transforms of all paths at its nodes, and the thresholds it serves."""

    kind: Kind
    theta: float
    period: Fraction
    low: float
    high: float
    alias: float
    nodes: NDArray[np.int64]
    count: int
    base: arb  # log M(theta) of the main case, exactly
    centre: Fraction
    factors: tuple[Complexes, ...]  # for each group, paths by nodes
    scale: Floats  # for each case, M over that of the main case
    moduli: Floats  # for each case, the sum of the moduli: rounding errors are measured against it
    left_out: Floats  # for each case, what the nodes beyond the core may add
    lattices: _Lattices | None

    def serves(self, kind: Kind, threshold: float | Fraction) -> bool:
        return self.kind is kind and self.low <= threshold <= self.high


def is_at_end(loss: Loss, threshold: Fraction) -> bool:
    """Whether the largest loss is so near, or so far below, that no contour can be laid before it."""
    largest = loss.largest
    return largest is not None and float(largest - threshold) < _END * loss.spread


class AllPairs(Forgetful):
    """Tails of all cases of a release, or of several together.

    >>> from discreet.budget import cases, load
    >>> whole = AllPairs(cases(load("pl94-2020-units"), "bounded"))
    >>> (scan,) = whole.scan(Kind.DELTA, [Fraction(2)])
    >>> len(scan.value), bool((scan.error < 1e-5 * scan.value).all())
    (36, True)
    """

    def __init__(self, cases: GroupedCases) -> None:
        self.cases = cases
        self.sides = 2 if cases.paired else 1
        self.paths = [[Loss(events) for events in group.events] for group in cases.groups]
        self.main = Loss(cases[cases.main][1])

    # -- what is computed once --------------------------------------------------------------------------

    @cached_property
    def _lines(self) -> list[_Line]:
        return []

    @cached_property
    def _far(self) -> dict[float | None, tuple[Floats, _Lattices | None]]:
        return {}

    @cached_property
    def _rests(self) -> dict[tuple[int, int, float | None], Rest]:
        return {}

    @cached_property
    def _joint(self) -> dict[int, Loss]:
        return {}

    @cached_property
    def _beyond(self) -> dict[tuple[int, int, float], float]:
        """By case, octave and tilt: a bound of what lies beyond the beginning of the octave."""
        return {}

    @cached_property
    def _sieves(self) -> dict[tuple[int, int, float | None], Sieve]:
        return {}

    @cached_property
    def _doubled(self) -> dict[tuple[int, int], Loss]:
        return {}

    # -- what all cases have in common ---------------------------------------------------------------

    @cached_property
    def spread(self) -> float:
        """The standard deviation of the main case's loss."""
        return math.sqrt(self.main.tilted_moments(0.0)[1])

    @cached_property
    def tilt(self) -> float:
        """The largest tilt in use."""
        return _DEEPEST / self.spread

    @cached_property
    def lattice(self) -> Fraction | None:
        """The step of a lattice of all losses, if it is coarse enough to sum over a whole period."""
        offsets = {loss.offset - self.paths[g][0].offset for g, row in enumerate(self.paths) for loss in row}
        step = common_step(loss.step for row in self.paths for loss in row)
        return step if is_coarse(float(step), self.spread) and offsets == {Fraction(0)} else None

    # -- contours ------------------------------------------------------------------------------------

    def scan(self, kind: Kind, thresholds: list[Fraction], *, exact: bool = True) -> Iterator[Scan]:
        """Yield delta(t), or 1 - delta(t), of all cases at each threshold, in some order.

        Without `exact` no case is summed on its own lattice.
        """
        order = sorted(range(len(thresholds)), key=thresholds.__getitem__)
        values = np.array([float(thresholds[i]) for i in order])
        position = 0
        while position < len(order):
            line = self._line(kind, values[position:])
            until = max(1, int(np.searchsorted(values[position:], line.high, side="right")))
            for i in order[position : position + until]:
                yield self._sums(line, i, thresholds[i], exact=exact)
            position += until

    def _line(self, kind: Kind, values: Floats) -> _Line:
        """A contour for the first of the ascending thresholds, and perhaps more of them."""
        lowest = float(values[0])
        for line in self._lines:
            if line.serves(kind, lowest):
                return line
        h = float(self.lattice or 0)
        theta = saddle(self.main, kind, lowest, h)
        spread = math.sqrt(self.main.tilted_moments(theta)[1])
        low, high = lowest - 0.2 * spread, lowest + spread
        if values.size > 1 and values[1] <= high:
            # a tilt for the middle of a window serves more thresholds
            theta = saddle(self.main, kind, lowest + spread, h)
            spread = math.sqrt(self.main.tilted_moments(theta)[1])
            high = lowest + 2 * spread
        line = self._built(kind, theta, low, high, h)
        self._lines = [*self._lines[-7:], line]
        return line

    def _built(self, kind: Kind, theta: float, low: float, high: float, h: float) -> _Line:
        length, alias = self.alias_free(kind, theta, low, high)
        if self.lattice is not None:
            count = max(8, math.ceil(length / h))
            period = count * self.lattice
            nodes = np.arange(count // 2 + 1, dtype=np.int64)
        else:
            count, period = 0, short_above(length)
            nodes = self.core(theta, period)
        factors, shifts, centre = [], [], Fraction(0)
        for group, row in zip(self.cases.groups, self.paths, strict=True):
            reference = TiltedTransform(row[group.main], theta)
            centre += self.sides * reference.centre
            base = log_scale(row[group.main], theta)
            table, logs = np.empty((len(row), nodes.size), dtype=np.complex128), np.empty(len(row))
            known: dict[LatticeNoise, Complexes] = {}  # paths have most of their terms in common
            for k, loss in enumerate(row):
                transform = TiltedTransform(loss, theta)
                log = transform.log(nodes, period, known)
                lean = (transform.centre - reference.centre) / period
                table[k] = np.exp(log + 1j * _TWO_PI * turns(nodes, lean))
                with working_bits(320):
                    logs[k] = float(log_scale(loss, theta) - base)
            factors.append(table)
            shifts.append(logs)
        _, kernel = _kernel(_points(theta, nodes, period), self.lattice, Fraction(0), Fraction(0))
        rest, lattices = np.zeros(len(self.cases)), None
        if not count:
            key = theta if any(k[2] is not None for k in self._sieves) else None
            if key not in self._far:
                self._far = {key: (self._left_out(theta), self._lattices(theta))}
            rest, lattices = self._far[key]
        return _Line(
            kind,
            theta,
            period,
            low,
            high,
            alias,
            nodes,
            count,
            log_scale(self.main, theta),
            centre,
            tuple(factors),
            self._scale(shifts),
            self._product(tuple(map(_moduli, factors)), 2 * _moduli(kernel)),
            rest,
            lattices,
        )

    def _scale(self, shifts: list[Floats]) -> Floats:
        """For each case M over that of the main case, from the logarithms of its paths."""
        total = np.zeros(())
        for row in shifts:
            if self.sides == 2:
                i, j = np.triu_indices(row.size)
                row = row[i] + row[j]
            total = np.add.outer(total, row)
        return np.asarray(np.exp(total.ravel()))

    def alias_free(self, kind: Kind, theta: float, low: float, high: float) -> tuple[float, float]:
        """A period whose aliases are negligible in every case, and how large they may be.

        Chernoff's bounds add up over paths.
        """
        h = float(self.lattice or 0)
        spread = math.sqrt(self.main.tilted_moments(theta)[1])
        unit = max(spread, h)
        size = kernel_size(kind, theta, h) * min(1.0, (h or 1.0) / (2.5 * spread))
        need = _ALIAS - math.log(size)
        up = OFFSETS / unit
        if kind is Kind.REST:
            up = np.append(up[up < -theta], -theta)
        room = theta - kind.pole
        down = np.append(up[up < room], room)

        def rise(offsets: Floats) -> Floats:
            total = np.zeros(offsets.size)
            for row in self.paths:
                here = np.array([loss.log_mgf(np.append(theta, theta + offsets)) for loss in row])
                total += self.sides * (here[:, 1:] - here[:, :1]).max(axis=0)
            return total

        above = (rise(up) - up * low + need) / up
        below = (rise(-down) + down * high + need) / down
        return max(float(above.min()), float(below.min()), unit * 1e-6), math.exp(-need)

    # -- near the origin -----------------------------------------------------------------------------

    def core(self, theta: float, period: Fraction) -> NDArray[np.int64]:
        """The nodes near the origin at which some case of each group is not negligible."""
        kept: NDArray[np.int64] | None = None
        for g, row in enumerate(self.paths):
            nodes = [self._near(g, k, theta).nodes(float(period), _MOST_NODES) for k in range(len(row))]
            union = np.unique(np.concatenate(nodes))
            kept = union if kept is None else np.intersect1d(kept, union)
        assert kept is not None
        return kept

    def _near(self, g: int, k: int, theta: float) -> Sieve:
        """Where the case of one path alone is not negligible, up to the end of the core."""
        loss, key = self._alone(g, k), self._key(g, k, theta)
        if key not in self._sieves:
            self._sieves[key] = octave(
                loss, 0.0, CORE * self.tilt, depth=DEPTH, theta=theta, falloff=2.0, scale=self.tilt
            )
        return self._sieves[key]

    def _alone(self, g: int, k: int) -> Loss:
        """The loss of the case in which all records follow this path."""
        if (g, k) not in self._doubled:
            events = self.cases.groups[g].events[k]
            self._doubled[g, k] = self.paths[g][k] if self.sides == 1 else Loss([*events, *events])
        return self._doubled[g, k]

    def _key(self, g: int, k: int, theta: float) -> tuple[int, int, float | None]:
        """What a modulus depends on: from variance 1/2 on, the tilt changes it by at most e^(-pi^2)."""
        terms = self.paths[g][k].terms
        is_smooth = all(term.is_dual for term in terms)
        return g, k, None if is_smooth else theta

    # -- far out -------------------------------------------------------------------------------------

    def _left_out(self, theta: float) -> Floats:
        """For each case a bound of what lies beyond the core, in units of e^(log M - theta t)."""
        # the value is about 1 / (theta (theta + 1) 2.5 spread), and theta at most the largest tilt
        enough = 1e-14 / (self.tilt * (self.tilt + 1) * 2.5 * self.spread)
        best = np.full(len(self.cases), math.inf)
        for g in sorted(range(len(self.paths)), key=lambda g: len(self.paths[g])):
            rests = np.array([self._rest(g, k, theta).beyond(0) for k in range(len(self.paths[g]))])
            if self.sides == 2:
                i, j = np.triu_indices(rests.size)
                rests = np.sqrt(rests[i] * rests[j])
            shape = [1] * len(self.paths)
            shape[g] = rests.size
            best = np.minimum(best, np.broadcast_to(rests.reshape(shape), self.cases.sizes).ravel())
            if best.max() <= enough:
                break
        return best

    def _lattices(self, theta: float) -> _Lattices | None:
        """The lattices of the cases of one spine, unless there are many.

        A path repeats its core at multiples of 2 pi / step. Where those of both paths of a case coincide, the
        kernel is summed over the repetitions, exactly. Elsewhere the other path is off its peaks, and small.
        """
        if len(self.paths) > 1:
            return None
        rests = [self._rest(0, k, theta) for k in range(len(self.paths[0]))]
        inner, near, sup = (np.array([getattr(r, name) for r in rests]) for name in ("inner", "near", "sup"))
        i, j = np.triu_indices(len(rests)) if self.sides == 2 else (np.arange(len(rests)),) * 2
        # the core within half a period
        has_core = [math.pi / float(loss.step) > CORE * self.tilt for loss in self.paths[0]]
        steps = [loss.step if fits else None for loss, fits in zip(self.paths[0], has_core, strict=True)]
        index: dict[Fraction, int] = {}
        known: dict[tuple[Fraction | None, Fraction | None], int] = {}
        for first, second in {(steps[a], steps[b]) for a, b in zip(i, j, strict=True)}:
            known[first, second] = -1
            if first is not None and second is not None:
                common = common_step((first, second))
                # repetitions that do not coincide must be apart
                if first == second or math.pi * float(common / first / second) >= CORE * self.tilt:
                    known[first, second] = index.setdefault(common, len(index))
            if len(index) > _MOST_LATTICES:
                return None
        which = np.array([known[steps[a], steps[b]] for a, b in zip(i, j, strict=True)])
        # (with one path the rest is its own)
        off = np.sqrt(inner[i] * inner[j]) + 1.5 * (near[i] * sup[j] + near[j] * sup[i]) * (i != j)
        return _Lattices(tuple(index), which, off)

    def _rest(self, g: int, k: int, theta: float) -> Rest:
        key = self._key(g, k, theta)
        if key not in self._rests:
            # of many paths less is summed for each: what stays open is summed pair by pair
            most = max(_MOST_NODES // max(1, len(self.paths[g]) // 64), 5000)
            self._rests[key] = rest_of_line(self._alone(g, k), theta, self.tilt, most)
        return self._rests[key]

    def outward(
        self, kind: Kind, threshold: Fraction, number: int, octave_: int
    ) -> tuple[float, float] | None:
        """What one octave beyond the core adds to a case, and the change of its error.

        In units of the scan at this threshold, which must come first; octaves in order. None where there are
        too many nodes to add. What lies beyond is at most what its two paths leave out, by the inequality of
        Cauchy and Schwarz. Usually it is far less, since peaks of one path meet few of the other's, as the
        octave itself shows.
        """
        line = next((line for line in reversed(self._lines) if line.serves(kind, threshold)), None)
        if line is None or line.count or len(self.paths) > 1:
            return None
        (chosen,) = self.cases.choice(number)
        rests = [self._rest(0, k, line.theta) for k in (chosen[0], chosen[-1])]
        before, after = (math.sqrt(rests[0].beyond(n) * rests[1].beyond(n)) for n in (octave_, octave_ + 1))
        before = min(before, self._beyond.get((number, octave_, line.theta), math.inf))
        start = CORE * self.tilt * 8**octave_
        if number not in self._joint:
            self._joint[number] = Loss(self.cases[number][1])
        loss = self._joint[number]
        try:
            part = _stretch(loss, start, 8 * start, line.theta, self.tilt)
            nodes = part.nodes(float(line.period), _SINGLY)
        except SieveOverflowError:
            return None
        # nodes at the border belong to the stretch before
        nodes = nodes[nodes > math.floor(start * float(line.period) / _TWO_PI * (1 + 1e-15) + 1e-6)]
        transform = TiltedTransform(loss, line.theta)
        angle = _TWO_PI * turns(nodes, (transform.centre - threshold) / line.period)
        z = _points(line.theta, nodes, line.period)
        factor = np.exp(transform.log(nodes, line.period) + 1j * angle)
        if is_typical(part, self.tilt):
            seen = float(np.abs(factor).sum()) * _TWO_PI / float(line.period)
            # and peaks of full height that may come next, such as the first one of a lattice
            peak = math.sqrt(_TWO_PI) / loss.tilted_spread(line.theta) / (math.pi * (8 * start) ** 2)
            after = min(after, beyond_octave(seen, start, 8 * start) + _PEAKS * peak)
        self._beyond[number, octave_ + 1, line.theta] = after
        terms = factor / (z * (z + 1))
        unit = float(line.scale[number])
        norm = (-2 if kind is Kind.REST else 2) * unit / float(line.period)
        lost = _ROUNDING * 4 * abs(norm) * float(np.abs(terms).sum())
        return norm * float(terms.real.sum()), lost + unit * (after - before)

    def on_grid(self, threshold: Fraction, numbers: NDArray[np.int64], size: int) -> tuple[Floats, float]:
        """Upper bounds of delta(t) of some cases: values in units of e^exponent, and the exponent.

        By connecting the dots, with one grid for all cases: the transform of a case is the product of those
        of its paths, and its delta again a product of matrices. Nothing is left out. (One spine only.)
        """
        point = float(threshold)
        theta = saddle(self.main, Kind.DELTA, point, 0.0)
        length, alias = self.alias_free(Kind.DELTA, theta, point, point)
        chosen = np.array([self.cases.choice(int(number))[0] for number in numbers])
        paths, where = np.unique(chosen, return_inverse=True)
        where = where.reshape(chosen.shape)
        size = min(size, 1 << int(math.log2(_MOST_POINTS / paths.size)))
        h = length / size
        laws = [GridLaw.of(self.paths[0][k], theta, size, h, _FEW) for k in paths]
        table, missing = np.array([law.spectrum for law in laws]), np.array([law.left_out for law in laws])
        # delta is the sum over points of the grid, from the threshold on, of p e^(-theta x) (1 - e^-x)
        first = math.floor(point / h) + 1
        distance = (np.arange(first, first + size) - point / h) * h
        with np.errstate(under="ignore"):
            kernel = np.zeros(size)
            kernel[np.arange(first, first + size) % size] = np.exp(-theta * distance) * -np.expm1(-distance)
        weight = np.fft.rfft(kernel).conj() * np.where(np.arange(size // 2 + 1) % (size // 2) == 0, 1.0, 2.0)
        square = np.zeros((len(paths) if self.sides == 2 else 1, len(paths)))
        for first in range(0, weight.size, _FREQUENCIES):
            part = slice(first, first + _FREQUENCIES)
            rows = table[:, part] * weight[part] if self.sides == 2 else weight[None, part]
            square += _real_product(rows, table[:, part]) / size
        value = square[where[:, 0] if self.sides == 2 else 0, where[:, -1]] + missing[where].sum(axis=1)
        with working_bits(320):
            base = log_scale(self.main, theta)
            unit = np.array([float(law.scale - base / self.sides) for law in laws])
        noise = 1e-15 * math.log2(size) * float(np.linalg.norm(kernel))
        factor = np.exp(unit[where].sum(axis=1))
        return factor * (value + noise + alias), exact_exponent(base, theta, threshold)

    # -- the matrix product --------------------------------------------------------------------------

    def _sums(self, line: _Line, number: int, threshold: Fraction, *, exact: bool) -> Scan:
        z = _points(line.theta, line.nodes, line.period)
        twice = np.where(line.nodes == 0, 1.0, 2.0)
        if line.count and 2 * line.nodes[-1] == line.count:
            twice[-1] = 1.0  # the middle of the period belongs to both halves
        norm = float(line.period)
        exponent = exact_exponent(line.base, line.theta, threshold)

        def summed(step: Fraction | None, cases: NDArray[np.int64] | None = None) -> Floats:
            gap, kernel = _kernel(z, step, threshold, self.main.offset)
            if line.kind is Kind.REST:
                kernel = -kernel
            angle = _TWO_PI * turns(line.nodes, (line.centre - threshold - gap) / line.period)
            weight = twice * kernel * np.exp(1j * angle - line.theta * float(gap))
            return self._product(line.factors, weight) if cases is None else self._some(line, weight, cases)

        def scaled(value: Floats, left_out: Floats) -> tuple[Floats, Floats]:
            error = _ROUNDING * (4 * line.moduli + (abs(exponent) + 4) * np.abs(value)) / norm
            return line.scale * value / norm, line.scale * (error + line.alias + left_out)

        on_lattices = None
        if exact and line.lattices is not None:
            steps, which, left_out = line.lattices
            value = np.full(len(self.cases), math.inf)  # where there is no lattice
            for k, step in enumerate(steps):
                cases = np.flatnonzero(which == k)
                value[cases] = summed(step, cases)
            with np.errstate(invalid="ignore"):
                on_lattices = scaled(value, left_out)
        return Scan(number, exponent, *scaled(summed(self.lattice), line.left_out), on_lattices)

    def _product(self, factors: tuple[Complexes, ...], weight: Complexes) -> Floats:
        """For all cases sum_k Re(weight_k * product of factors)."""
        if len(factors) == 1:
            (table,) = factors
            if self.sides == 1:
                return np.asarray(_real_product(weight[None, :], table)[0])
            # block by block, and of each only what lies at or beyond the diagonal
            rows_of_pairs = []
            for first in range(0, len(table), _ROWS):
                square = _real_product(table[first : first + _ROWS] * weight, table[first:])
                rows_of_pairs += [row[k:] for k, row in enumerate(square)]
            return np.concatenate(rows_of_pairs)
        choices = [self._choices(table) for table in factors]
        last = max(range(len(choices)), key=lambda g: choices[g].shape[0])
        rows = weight[None, :]
        for g, table in enumerate(choices):
            if g != last:
                rows = (rows[:, None, :] * table[None, :, :]).reshape(-1, weight.size)
        shape = [n for g, n in enumerate(self.cases.sizes) if g != last]
        value = _real_product(rows, choices[last]).reshape([*shape, self.cases.sizes[last]])
        return np.moveaxis(value, -1, last).ravel()

    def _some(self, line: _Line, weight: Complexes, cases: NDArray[np.int64]) -> Floats:
        """The same for some cases of one spine: only the paths that occur in them are multiplied."""
        (table,) = line.factors
        if self.sides == 1:
            return np.asarray(_real_product(weight[None, :], table[cases])[0])
        pairs = np.array(np.triu_indices(len(table)))[:, cases]
        (rows, row), (columns, column) = (np.unique(side, return_inverse=True) for side in pairs)
        return np.asarray(_real_product(table[rows] * weight, table[columns])[row, column])

    def _choices(self, table: Complexes) -> Complexes:
        if self.sides == 1:
            return table
        i, j = np.triu_indices(table.shape[0])
        return np.asarray(table[i] * table[j], dtype=np.complex128)


def _points(theta: float, nodes: NDArray[np.int64], period: Fraction) -> Complexes:
    """The nodes as points of the contour."""
    return np.asarray(theta + 1j * ((_TWO_PI / float(period)) * nodes), dtype=np.complex128)


def _kernel(
    z: Complexes, step: Fraction | None, threshold: Fraction, offset: Fraction
) -> tuple[Fraction, Complexes]:
    """The kernel of delta, on a lattice summed over all repetitions, and the gap to its next point."""
    if step is None:
        return Fraction(0), np.asarray(1 / (z * (z + 1)), dtype=np.complex128)
    gap = step - (threshold - offset) % step
    h, g = float(step), float(gap)
    e0, e1 = -np.expm1(-z * h), -np.expm1(-(z + 1) * h)
    # 1/e0 - e^-gap/e1, written so that nothing cancels
    first, second = -math.expm1(-g), math.exp(-g) * -math.expm1(g - h)
    return gap, np.asarray(h * (first + np.exp(-z * h) * second) / (e0 * e1), dtype=np.complex128)


def _moduli(table: Complexes) -> Complexes:
    return np.abs(table).astype(np.complex128)


def _real_product(left: Complexes, right: Complexes) -> Floats:
    """Re(left @ right.T), by products of real matrices: of few rows part by part, each too short for threads.

    Threads that share a product of a millisecond take several times as long as one alone.
    """
    rows, columns = np.hstack([left.real, -left.imag]), np.hstack([right.real, right.imag])
    part = _IN_ONE_THREAD // (len(rows) * len(columns))
    if part < _SHORTEST:
        return np.asarray(rows @ columns.T, dtype=np.float64)
    product = np.zeros((len(rows), len(columns)))
    for first in range(0, rows.shape[1], part):
        product += rows[:, first : first + part] @ columns[:, first : first + part].T
    return product


class Rest(NamedTuple):
    """Upper estimates of (1/pi) int |Phi| / y^2 over y beyond the core, octave by octave."""

    octaves: tuple[float, ...]
    """What each octave adds: from 1, 8, 64, ... times the end of the core on."""
    last: float
    """What lies beyond all of them."""
    inner: float
    """With all repetitions on the lattice, summed over one period: what lies off those of the core ..."""
    near: float
    """... and on them."""
    sup: float = 1.0
    """The largest root of |Phi| off the repetitions: of one path, where the loss is of two alike."""

    def beyond(self, octave_: int) -> float:
        """What lies beyond the beginning of an octave; beyond the last octave summed it falls like 1/y."""
        return float(sum(self.octaves[octave_:]) + self.last * 8.0 ** min(len(self.octaves) - octave_, 0))


def _stretch(
    loss: Loss, start: float, end: float, theta: float, tilt: float, most: int = MOST_INTERVALS
) -> Sieve:
    return octave(loss, start, end, depth=_SHALLOW, theta=theta, falloff=1.0, scale=tilt, most=most)


def is_typical(part: Sieve, tilt: float) -> bool:
    """Whether an octave shows what lies beyond it: it has many peaks, or one more would not count.

    From 3e6 tilts on, a peak of full height adds some 1e-13 of the value: the kernel falls with the square.
    """
    return part.low.size >= 50 or part.reach >= 3e6 * tilt


def beyond_octave(seen: float, start: float, end: float) -> float:
    """An upper estimate of (1/pi) int |Phi| / y^2 beyond an octave over which int |Phi| is `seen`."""
    return 4 * seen / (end - start) / (math.pi * end)


def rest_of_line(loss: Loss, theta: float, tilt: float, most: int = _MOST_NODES) -> Rest:
    """What a loss leaves out if its contour ends with the core.

    Octave by octave, until the period of the lattice ends (and repeats itself), until what lies beyond is
    negligible by the mean modulus of the last octave, or until there are too many nodes: |Phi| is at most 1.

    >>> from discreet.budget import DiscreteGaussian
    >>> loss = Loss([DiscreteGaussian(variance=v, times=9) for v in (3, 7, "29/3")])
    >>> rest_of_line(loss, 1.0, 10.0).beyond(0) < 1e-6
    True
    """
    spread = math.sqrt(loss.tilted_moments(theta)[1])
    period = short_above(20 * spread)
    per_node = _TWO_PI / float(period)
    transform = TiltedTransform(loss, theta)
    step = float(loss.step)
    whole = math.pi / step
    near = 0.06 * step**2 / spread  # what the periods beyond the first add to the nodes of the core
    inner = largest = 0.0

    def moduli(start: float, end: float) -> tuple[Sieve, Floats, Floats]:
        part = _stretch(loss, start, end, theta, tilt, MOST_INTERVALS if most == _MOST_NODES else 4 * most)
        nodes = part.nodes(float(period), most)
        logs = np.asarray(transform.log(nodes, period).real, dtype=np.float64)
        return part, np.asarray(per_node * nodes, dtype=np.float64), np.exp(logs)

    octaves: list[float] = []
    start = CORE * tilt
    try:
        _, y, size = moduli(0.0, min(start, whole))
        mass, seen = float(size.sum() - 0.5), y.size
        while start < whole:
            end = min(8 * start, whole)
            part, y, size = moduli(start, end)
            seen += y.size
            mass += float(size.sum())
            largest = max(largest, float(size.max(initial=0.0)), math.exp(-part.depth))
            inner += float((size * (step / 2 / np.sin(step / 2 * y)) ** 2).sum()) * per_node / math.pi
            octaves.append(float((size / y**2).sum()) * per_node / math.pi)
            if end == whole:
                break
            beyond = beyond_octave(float(size.sum()) * per_node, start, end)
            small = 1e-15 * (sum(octaves) + 1e-3 / (math.pi * CORE * tilt))
            if is_typical(part, tilt) and (beyond < small or seen > most):
                return Rest(tuple(octaves), beyond, inner + beyond, near)
            if end >= 1e9 * tilt or seen > most:
                return Rest(tuple(octaves), max(beyond, small), inner + max(beyond, small), near)
            start = end
        # each further period, of length 2 pi / step, weighs at most its mean times its length over the
        # square of where it begins
        edge = CORE * tilt * 8 ** len(octaves)
        mean = mass * per_node / whole
        # (the last octave may end with the period, before its end)
        inside = mean * (1 / max(whole, CORE * tilt) - 1 / edge) / math.pi if octaves else 0.0
        last = mean * (1 + 2 * whole / max(whole, CORE * tilt)) / (math.pi * edge)
        if octaves:
            octaves[-1] += 3 * inside
        return Rest(tuple(octaves), last, inner, near, math.sqrt(largest))
    except SieveOverflowError:
        last = 1 / (math.pi * CORE * tilt * 8 ** len(octaves))
        return Rest(tuple(octaves), last, inner + last, near)


# -- both errors of a test -----------------------------------------------------------------------------------


def both_errors(losses: Sequence[Loss], thresholds: list[Fraction]) -> tuple[Floats, Floats]:
    """Type I and type II errors of the tests that reject above thresholds: tables, losses by thresholds.

    NaN where a loss has to be evaluated on its own.

    >>> from discreet.budget import DiscreteGaussian
    >>> losses = [Loss([DiscreteGaussian(variance=v, times=900)]) for v in (500, 501)]
    >>> alpha, beta = both_errors(losses, [Fraction(-1), Fraction(1)])
    >>> alpha.round(6).tolist()
    [[0.529411, 0.078253], [0.529975, 0.078242]]
    """
    alpha, beta = (np.full((len(losses), len(thresholds)), math.nan) for _ in range(2))
    lattices: dict[tuple[Fraction, Fraction], list[tuple[int, Quadrature]]] = {}
    for row, loss in enumerate(losses):
        if loss.terms and not loss.primal:
            engine = Evaluations(loss).first
            if isinstance(engine, Quadrature) and engine.h and float(engine.h) < _FINE * loss.spread:
                lattices.setdefault((engine.h, loss.offset), []).append((row, engine))
    for (step, offset), members in lattices.items():
        # L > t, and -L <= t, that is L >= -t, each under the null hypothesis
        above = Points.on_lattice(thresholds, offset, step).tops
        mirrored = [math.ceil((-t - offset) / step) for t in thresholds]
        tops = sorted({*above, *mirrored})
        column = {top: k for k, top in enumerate(tops)}
        table = _NullTails([engine for _, engine in members], tops).table()
        rows = [row for row, _ in members]
        alpha[rows] = table[:, [column[top] for top in above]]
        beta[rows] = table[:, [column[top] for top in mirrored]]
    return alpha, beta


class _Window(NamedTuple):
    """Points of a lattice that share a kind of tail and a tilt."""

    kind: Kind
    tilt: Fraction
    tops: list[int]
    columns: list[int]
    need: float
    """Aliases are below e^-need."""


class _NullTails:
    """P_null[L >= l] of losses on one lattice and with one R, at points l of the lattice."""

    def __init__(self, engines: list[Quadrature], tops: list[int]) -> None:
        self.engines, self.many = engines, len(tops)
        self.main = engines[0].loss
        self.step, self.offset, self.R = self.main.step, self.main.offset, self.main.R
        # between tilts 1/q apart the tilted law moves by some three standard deviations
        self.q = 1 << max(0, math.ceil(math.log2(math.sqrt(self.R) / 3.2)))
        # how far log M lies below that of a continuous Gaussian, at most
        lows = [(v, n) for _, v, _, n in (engine.loss.dual_arrays for engine in engines)]
        lean = max(-float((n * dual_log_ratio(np.array([0.5]), v)).sum()) for v, n in lows)
        self.windows = self._windows(tops, _ALIAS + 8 + 2 * lean)
        length = 0.0
        for window in self.windows:
            low, high = (float(self.offset + self.step * end(window.tops)) for end in (min, max))
            theta = float(window.tilt)
            span = period(self.main, window.kind, theta, self.main.spread, low, high, window.need)
            length = max(length, span.length)
        self.count = math.ceil(length / float(self.step))
        self.period = self.count * self.step

    def _windows(self, tops: list[int], need: float) -> list[_Window]:
        """The points by tilt; those below the mean are found from P_null[L < l] = P_alt[L > -l]."""
        R, h = float(self.R), float(self.step)
        turned = int(2 * self.offset / self.step)
        windows: dict[tuple[Kind, Fraction], _Window] = {}
        for column, top in enumerate(tops):
            kind = Kind.NULL
            if top < -turned:
                kind, top = Kind.ALT, 1 - top - turned
            x = h * top - R * kind.pole
            distance = (x + math.sqrt(x * x + 4 * R)) / (2 * R)
            tilt = int(kind.pole) + Fraction(max(1, round(distance * self.q)), self.q)
            if (kind, tilt) not in windows:
                size = kernel_size(kind, float(tilt), h) * h / (2.5 * math.sqrt(R))
                windows[kind, tilt] = _Window(kind, tilt, [], [], need - math.log(size))
            windows[kind, tilt].tops.append(top)
            windows[kind, tilt].columns.append(column)
        return list(windows.values())

    def table(self) -> Floats:
        """One row a loss, one column a point; NaN where the error is too large."""
        table = np.full((len(self.engines), self.many), math.nan)
        kept = [self._kept(engine) for engine in self.engines]
        rows: list[int] = []
        union = np.zeros(0, dtype=np.int64)
        # those of few nodes first: they have most nodes in common
        for row in sorted(range(len(kept)), key=lambda row: kept[row].size):
            wider = np.union1d(union, kept[row])
            if rows and (wider.size > _MOST_TOGETHER or len(rows) == _MOST_ROWS):
                table[rows] = self._rows({k: kept[k] for k in rows}, union)
                rows, wider = [], kept[row]
            rows.append(row)
            union = wider
        table[rows] = self._rows({k: kept[k] for k in rows}, union)
        return table

    def _kept(self, engine: Quadrature) -> Nodes:
        """The nodes at which a loss counts: at the largest tilt, where the kernel falls least."""
        distance = max(float(window.tilt - int(window.kind.pole)) for window in self.windows)
        nodes = engine.nodes(Kind.ALT, distance, self.count)
        sizes = np.exp(TiltedTransform(engine.loss, 0.0).log(nodes, self.period).real)
        sizes *= np.abs(self._kernel(distance, nodes))
        return np.asarray(nodes[sizes > 1e-16 * sizes.sum() / nodes.size])

    def _kernel(self, distance: float, nodes: Nodes) -> Complexes:
        """1 / (1 - e^-zh), z at some distance to the right of the pole; nodes of both signs together."""
        twice = np.where((nodes == 0) | (2 * nodes == self.count), 1.0, 2.0)
        z = _points(distance, nodes, self.period)
        return np.asarray(-twice / np.expm1(-z * float(self.step)), dtype=np.complex128)

    def _rows(self, kept: dict[int, Nodes], nodes: Nodes) -> Floats:
        """Some rows, summed over the nodes of all of them."""
        table = np.full((len(kept), self.many), math.nan)
        for part in {window.tilt % 1 for window in self.windows}:
            factors = np.zeros((len(kept), nodes.size), dtype=np.complex128)
            lean = np.zeros((len(kept), 1))
            for k, (row, own) in enumerate(kept.items()):
                loss = self.engines[row].loss
                transform = TiltedTransform(loss, float(part))
                angle = _TWO_PI * turns(own, (transform.centre - self.offset) / self.period)
                logs = transform.log(own, self.period) + 1j * angle
                factors[k, np.searchsorted(nodes, own)] = np.exp(logs)
                lean[k] = loss.dual_theta_part(np.array([float(part)]))[0]
            for window in self.windows:
                if window.tilt % 1 == part:
                    table[:, window.columns] = self._summed(window, part, factors, lean, nodes)
        return table

    def _summed(
        self, window: _Window, part: Fraction, factors: Complexes, lean: Floats, nodes: Nodes
    ) -> Floats:
        """The probabilities at the points of a window."""
        tilt, pole, tops = window.tilt, int(window.kind.pole), window.tops
        kernel = self._kernel(float(tilt - pole), nodes)
        # log M - theta l, and for the null hypothesis -l, exactly at the first point
        start = tilt * self.offset + self.R * tilt * tilt / 2
        start -= (tilt - pole) * (self.offset + self.step * tops[0])
        distance = np.array([float(top - tops[0]) for top in tops])
        exponent = float(start) - float((tilt - pole) * self.step) * distance
        # (centre - l) / period = (ahead - top) / count, the tilted law centred at offset + (tilt - part) R
        ahead = (tilt - part) * self.R / self.step
        weight = self._phased(kernel, nodes, ahead, tops)
        value = factors.real @ weight.real.T
        if factors.imag.any():  # not at whole tilts
            value -= factors.imag @ weight.imag.T
        sizes = (np.abs(factors) @ np.abs(kernel))[:, None]
        with np.errstate(all="ignore"):
            error = _ROUNDING * (4 * sizes / value + np.abs(exponent) + 4)
            error += math.exp(-window.need) * self.count / value
            chance = np.exp(exponent + lean) * value / self.count
            chance = np.where((value > 0) & (error <= ACCURACY), chance, math.nan)
        return -np.expm1(np.log(chance)) if window.kind is Kind.ALT else chance

    def _phased(self, kernel: Complexes, nodes: Nodes, ahead: Fraction, tops: list[int]) -> Complexes:
        """kernel * e^(2 pi i node (ahead - top) / count), one row a top.

        From some of the tops and the distances of the others to them, which are few where thresholds are
        evenly spaced.
        """
        bases = tops[::_STRIDE]
        distances = [top - bases[k // _STRIDE] for k, top in enumerate(tops)]
        different = {distance: row for row, distance in enumerate(dict.fromkeys(distances))}
        below = ahead.denominator
        starts = [ahead.numerator - top * below for top in bases]
        table = kernel * np.exp(1j * _TWO_PI * turn_table(nodes, starts, below * self.count))
        moves = np.exp(-1j * _TWO_PI * turn_table(nodes, [*different], self.count))
        phased = np.empty((len(tops), nodes.size), dtype=np.complex128)
        for k, distance in enumerate(distances):
            np.multiply(table[k // _STRIDE], moves[different[distance]], out=phased[k])
        return phased
