"""All pairs of paths at once: one transform a path, one matrix product for all cases.

The transform of a case is the product of those of its paths. On one contour with tilt theta, nodes
y_k = 2 pi k / P and weights w_k (the kernel, and the phase of the threshold)

    delta_ij = M_i M_j e^(-theta eps) (1 / P) sum_k Re( w_k Phi_i(y_k) Phi_j(y_k) )

is one matrix product for all pairs (i, j). Only nodes near the origin are summed. What lies farther out is
at most sqrt(T_i T_j) by the inequality of Cauchy and Schwarz, where T_i = (1/pi) int |Phi_i|^2 / y^2 over the
rest of the line is what the pair (i, i) leaves out. So the rest of the contour is looked at once for each
path, not for each pair, and only pairs whose rest could matter have to be evaluated one by one. For several
releases the product runs over the paths of all of them; since no factor exceeds 1 the T of any one of them
will do.

Where all losses lie on one coarse lattice, the sum runs over its whole period, and nothing is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.contour import (
    DEPTH,
    Kind,
    Sieve,
    SieveOverflowError,
    kernel_size,
    octave,
    saddle,
    short_above,
)
from discreet.accounting.loss import (
    Floats,
    Loss,
    TiltedTransform,
    exact_exponent,
    log_scale,
    turns,
)
from discreet.budget.neighbours import Cases
from discreet.noise.balls import working_bits
from discreet.noise.theta import Complexes

_TWO_PI = 2 * math.pi
_ALIAS = 41.0  # aliases below e^-41 of the scale of the value
_DEEPEST = 37.0  # standard deviations at which a tail is about 1e-300
CORE = 64  # the core of the contour ends at so many times the largest tilt in use
_SHALLOW = 34.0  # of the rest only what exceeds e^-34 is looked at: 1e-15 of the value is lost
_COARSE = 4096  # nodes of a whole period that are all summed
_MOST_NODES = 200_000
_OFFSETS = np.array([0.5, 1, 2, 3, 4.5, 6, 7.5, 8.5, 9.5, 11, 14, 20, 30, 45, 70, 120, 300, 1000])
_ROUNDING = 2.3e-16


class Scan(NamedTuple):
    """One threshold: the values of all cases in units of e^exponent, and how far off each may be."""

    place: int
    exponent: float
    value: Floats
    error: Floats


_Far = tuple[Floats, tuple[Fraction | None, ...], NDArray[np.int64]]
"""For each case what lies beyond the core; steps of lattices; and which of them each case has."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One contour: transforms of all paths at its nodes, and for which thresholds it serves."""

    kind: Kind
    theta: float
    period: Fraction
    low: float
    high: float
    alias: float
    nodes: NDArray[np.int64]
    count: int
    base: object  # log M(theta) of the main case, exactly
    centre: Fraction
    factors: tuple[Complexes, ...]  # for each group, paths by nodes
    shifts: tuple[Floats, ...]  # for each group, log M of each path less that of its main path
    moduli: Floats  # for each case, the sum of the moduli: rounding errors are measured against it
    left_out: Floats  # for each case, what the nodes beyond the core may add
    lattices: tuple[Fraction | None, ...]  # steps whose repetitions of the core are summed exactly ...
    lattice: NDArray[np.int64]  # ... and which of them each case has


class AllPairs:
    """Tails of all cases of a release, or of several together.

    >>> from discreet.budget import cases, load
    >>> whole = AllPairs(cases(load("pl94-2020-units"), "bounded"))
    >>> (scan,) = whole.scan(Kind.DELTA, [Fraction(2)])
    >>> len(scan.value), bool((scan.error < 1e-6 * scan.value).all())
    (36, True)
    """

    def __init__(self, cases: Cases) -> None:
        self.cases = cases
        self.sides = 2 if cases.paired else 1
        self.paths = [[Loss(events) for events in group.events] for group in cases.groups]
        self.main = Loss(cases[cases.main][1])
        self._lines: list[_Line] = []
        self._far: dict[float | None, _Far] = {}
        self._rests: dict[tuple[int, int, float | None], Rest] = {}

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
        steps = {loss.step for row in self.paths for loss in row}
        bottom = math.lcm(*(s.denominator for s in steps))
        step = Fraction(math.gcd(*(int(s * bottom) for s in steps)), bottom)
        is_coarse = 20 * max(self.spread, float(step)) <= _COARSE * float(step)
        return step if is_coarse and offsets == {Fraction(0)} else None

    # -- contours ------------------------------------------------------------------------------------

    def scan(self, kind: Kind, thresholds: list[Fraction]) -> Iterator[Scan]:
        """Yield delta(t), or 1 - delta(t), of all cases at each threshold, in some order."""
        if kind not in (Kind.DELTA, Kind.REST):
            raise ValueError(f"tails of kind {kind.value!r} have no bound for what lies far out")
        order = sorted(range(len(thresholds)), key=thresholds.__getitem__)
        values = np.array([float(thresholds[i]) for i in order])
        position = 0
        while position < len(order):
            line = self._line(kind, values[position:])
            until = max(1, int(np.searchsorted(values[position:], line.high, side="right")))
            for i in order[position : position + until]:
                yield self._sums(line, i, thresholds[i])
            position += until

    def _line(self, kind: Kind, values: Floats) -> _Line:
        """A contour for the first of the ascending thresholds, and perhaps more of them."""
        lowest = float(values[0])
        for line in self._lines:
            if line.kind is kind and line.low <= lowest <= line.high:
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
            for k, loss in enumerate(row):
                transform = TiltedTransform(loss, theta)
                log = transform.log(nodes, period)
                lean = (transform.centre - reference.centre) / period
                table[k] = np.exp(log + 1j * _TWO_PI * turns(nodes, lean))
                with working_bits(320):
                    logs[k] = float(log_scale(loss, theta) - base)
            factors.append(table)
            shifts.append(logs)
        _, kernel = _kernel(_points(theta, nodes, period), self.lattice, Fraction(0), Fraction(0))
        rest: _Far = (np.zeros(len(self.cases)), (self.lattice,), np.zeros(len(self.cases), dtype=np.int64))
        if not count:
            key = theta if any(k[2] is not None for k in self._sieves) else None
            if key not in self._far:
                self._far = {key: self._left_out(theta)}
            rest = self._far[key]
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
            tuple(shifts),
            self._product(tuple(map(_moduli, factors)), 2 * _moduli(kernel)),
            *rest,
        )

    def alias_free(self, kind: Kind, theta: float, low: float, high: float) -> tuple[float, float]:
        """A period whose aliases are negligible in every case, and how large they may be.

        Chernoff's bounds add up over paths.
        """
        h = float(self.lattice or 0)
        spread = math.sqrt(self.main.tilted_moments(theta)[1])
        unit = max(spread, h)
        size = kernel_size(kind, theta, h) * min(1.0, (h or 1.0) / (2.5 * spread))
        need = _ALIAS - math.log(size)
        up = _OFFSETS / unit
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
            found = [self._near(g, k, theta).nodes(float(period), _MOST_NODES) for k in range(len(row))]
            union = np.unique(np.concatenate(found))
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

    @cached_property
    def _sieves(self) -> dict[tuple[int, int, float | None], Sieve]:
        return {}

    @cached_property
    def _doubled(self) -> dict[tuple[int, int], Loss]:
        return {}

    def _alone(self, g: int, k: int) -> Loss:
        """The loss of the case in which all records follow this path."""
        if (g, k) not in self._doubled:
            events = self.cases.groups[g].events[k]
            self._doubled[g, k] = self.paths[g][k] if self.sides == 1 else Loss([*events, *events])
        return self._doubled[g, k]

    def _key(self, g: int, k: int, theta: float) -> tuple[int, int, float | None]:
        """What a modulus depends on: from variance 1/2 on the tilt changes it by e^(-pi^2) at most."""
        terms = self.paths[g][k].terms
        is_smooth = all(term.is_dual for term in terms)
        return g, k, None if is_smooth else theta

    # -- far out -------------------------------------------------------------------------------------

    def _left_out(self, theta: float) -> _Far:
        """For each case a bound of what lies beyond the core, in units of e^(log M - theta t)."""
        if len(self.paths) == 1:
            return self._with_lattices([self._rest(0, k, theta) for k in range(len(self.paths[0]))])
        # the value is about 1 / (theta (theta + 1) 2.5 spread), and theta at most the largest tilt
        enough = 1e-14 / (self.tilt * (self.tilt + 1) * 2.5 * self.spread)
        best: Floats | None = None
        for g in sorted(range(len(self.paths)), key=lambda g: len(self.paths[g])):
            rests = np.array([self._rest(g, k, theta).whole for k in range(len(self.paths[g]))])
            if self.sides == 2:
                root = np.sqrt(rests)
                i, j = np.triu_indices(rests.size)
                rests = root[i] * root[j]
            shape = [1] * len(self.paths)
            shape[g] = rests.size
            here = np.broadcast_to(rests.reshape(shape), self.cases.sizes).ravel()
            best = here if best is None else np.minimum(best, here)
            if best.max() <= enough:
                break
        assert best is not None
        return best, (None,), np.zeros(len(self.cases), dtype=np.int64)

    def _with_lattices(self, rests: list[Rest]) -> _Far:
        """The same for one spine, the repetitions of the core that a case's own lattice makes taken out.

        A path repeats its core at multiples of 2 pi / step. Where those of both paths of a case coincide, the
        kernel is summed over the repetitions, exactly. Elsewhere the other path is off its peaks, and small.
        """
        steps = [loss.step for loss in self.paths[0]]
        inner, near, sup = (np.array([getattr(r, name) for r in rests]) for name in ("inner", "near", "sup"))
        i, j = np.triu_indices(len(rests)) if self.sides == 2 else (np.arange(len(rests)),) * 2
        bound = np.sqrt((inner + near)[i] * (inner + near)[j])
        which = np.zeros(i.size, dtype=np.int64)
        lattices: list[Fraction | None] = [None]
        known: dict[tuple[Fraction, Fraction], int] = {}
        core = CORE * self.tilt
        for case in range(i.size):
            one, two = steps[i[case]], steps[j[case]]
            if (one, two) not in known:
                common = common_step(one, two)
                # repetitions that do not coincide must be apart, and the core within half a period
                apart = math.pi * float(common / one / two) >= core if one != two else True
                usable = apart and math.pi / float(max(one, two)) > core
                if usable and common not in lattices:
                    lattices.append(common)
                known[one, two] = lattices.index(common) if usable else 0
            which[case] = known[one, two]
        exact = which > 0
        # (with one path the rest is its own)
        apart_bound = np.sqrt(inner[i] * inner[j]) + 1.5 * (near[i] * sup[j] + near[j] * sup[i]) * (i != j)
        return np.where(exact, apart_bound, bound), tuple(lattices), which

    def _rest(self, g: int, k: int, theta: float) -> Rest:
        key = self._key(g, k, theta)
        if key not in self._rests:
            self._rests[key] = rest_of_line(self._alone(g, k), theta, self.tilt)
        return self._rests[key]

    # -- the matrix product --------------------------------------------------------------------------

    def _sums(self, line: _Line, place: int, threshold: Fraction) -> Scan:
        z = _points(line.theta, line.nodes, line.period)
        twice = np.where(line.nodes == 0, 1.0, 2.0)
        if line.count:
            assert self.lattice is not None
            if 2 * line.nodes[-1] == line.count:
                twice[-1] = 1.0  # the middle of the period belongs to both halves
        norm = float(line.period)
        value = np.zeros(len(self.cases))
        exponent = exact_exponent(line.base, line.theta, threshold)  # type: ignore[arg-type]
        for number, step in enumerate(line.lattices):
            chosen = line.lattice == number
            if not chosen.any():
                continue
            gap, kernel = _kernel(z, step, threshold, self.main.offset)
            if line.kind is Kind.REST:
                kernel = -kernel
            angle = _TWO_PI * turns(line.nodes, (line.centre - threshold - gap) / line.period)
            weight = twice * kernel * np.exp(1j * angle - line.theta * float(gap))
            value[chosen] = self._product(line.factors, weight)[chosen]
        shift = np.zeros(())
        for row in line.shifts:
            if self.sides == 2:
                i, j = np.triu_indices(row.size)
                row = row[i] + row[j]
            shift = np.add.outer(shift, row)
        scale = np.exp(shift.ravel())
        error = _ROUNDING * (4 * line.moduli + (abs(exponent) + 4) * np.abs(value)) / norm
        error += line.alias + line.left_out
        return Scan(place, exponent, scale * value / norm, scale * error)

    def _product(self, factors: tuple[Complexes, ...], weight: Complexes) -> Floats:
        """For all cases sum_k Re(weight_k * product of factors)."""
        if len(factors) == 1:
            if self.sides == 1:
                return np.asarray(_real_product(weight[None, :], factors[0])[0])
            square = _real_product(factors[0] * weight, factors[0])
            return np.asarray(square[np.triu_indices(factors[0].shape[0])])
        choices = [self._choices(table) for table in factors]
        last = max(range(len(choices)), key=lambda g: choices[g].shape[0])
        rows = weight[None, :]
        for g, table in enumerate(choices):
            if g != last:
                rows = (rows[:, None, :] * table[None, :, :]).reshape(-1, weight.size)
        shape = [n for g, n in enumerate(self.cases.sizes) if g != last]
        value = _real_product(rows, choices[last]).reshape([*shape, self.cases.sizes[last]])
        return np.moveaxis(value, -1, last).ravel()

    def _choices(self, table: Complexes) -> Complexes:
        if self.sides == 1:
            return table
        i, j = np.triu_indices(table.shape[0])
        return np.asarray(table[i] * table[j], dtype=np.complex128)


def common_step(one: Fraction, two: Fraction) -> Fraction:
    """The largest step of which both are multiples."""
    bottom = math.lcm(one.denominator, two.denominator)
    return Fraction(math.gcd(int(one * bottom), int(two * bottom)), bottom)


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
    """Re(left @ right.T), by one product of real matrices."""
    product = np.hstack([left.real, -left.imag]) @ np.hstack([right.real, right.imag]).T
    return np.asarray(product, dtype=np.float64)


class Rest(NamedTuple):
    """Estimates of (1/pi) int |Phi| / y^2 over y beyond the core, from above."""

    inner: float
    """Off the repetitions of the core ..."""
    near: float
    """... and on them."""
    sup: float
    """The largest root of |Phi| off the repetitions: of one path, where the loss is of two alike."""

    @property
    def whole(self) -> float:
        """All of it."""
        return self.inner + self.near


def rest_of_line(loss: Loss, theta: float, tilt: float) -> Rest:
    """What a loss leaves out if its contour ends with the core.

    Octave by octave, until the period of the lattice ends (and repeats itself), or until what lies beyond is
    negligible by the mean modulus of the last octave, or too long to be looked at: |Phi| is at most 1.

    >>> from discreet.budget import DiscreteGaussian
    >>> loss = Loss([DiscreteGaussian(variance=v, times=9) for v in (3, 7, "29/3")])
    >>> rest_of_line(loss, 1.0, 10.0).whole < 1e-6
    True
    """
    spread = math.sqrt(loss.tilted_moments(theta)[1])
    period = short_above(20 * spread)
    per_node = _TWO_PI / float(period)
    transform = TiltedTransform(loss, theta)
    step = float(loss.step)
    whole = math.pi / step

    def moduli(part: Sieve) -> tuple[Floats, Floats]:
        nodes = part.nodes(float(period), _MOST_NODES)
        logs = np.asarray(transform.log(nodes, period).real, dtype=np.float64)
        return np.asarray(per_node * nodes, dtype=np.float64), np.exp(logs)

    def stretch(start: float, end: float) -> Sieve:
        return octave(loss, start, end, depth=_SHALLOW, theta=theta, falloff=1.0, scale=tilt)

    start = CORE * tilt
    try:
        if whole <= start:
            # The core spans half a period or more. Beyond it each period, of length 2 pi / step, weighs at
            # most its mean times its length over the square of where it begins.
            _, size = moduli(stretch(0.0, whole))
            mean = float(size.sum() - 0.5) * per_node / whole
            return Rest(mean * (1 + 2 * whole / start) / (math.pi * start), 0.0, 1.0)
        # what the periods beyond the first add to the nodes of the core
        near = 0.06 * step**2 / spread
        total, seen, end, largest = 0.0, 0, 8 * start, 0.0
        while True:
            end = min(end, whole)
            part = stretch(start, end)
            y, size = moduli(part)
            seen += y.size
            largest = max(largest, float(size.max(initial=0.0)), math.exp(-part.depth))
            # with its repetitions a node weighs sum_n 1/(y + 2 pi n / step)^2
            total += float((size * (step / 2 / np.sin(step / 2 * y)) ** 2).sum()) * per_node / math.pi
            if end == whole:
                return Rest(total, near, math.sqrt(largest))
            beyond = 4 * float(size.sum()) * per_node / (end - start) / (math.pi * end)
            small = 1e-15 * (total + 1e-3 / (math.pi * CORE * tilt))
            if (part.low.size >= 50 or end >= 3e6 * tilt) and beyond < small:
                return Rest(total + beyond, near, 1.0)
            if end >= 1e9 * tilt or seen > _MOST_NODES:
                return Rest(total + max(beyond, small), near, 1.0)
            start, end = end, 8 * end
    except SieveOverflowError:
        inside = 0.0 if start == CORE * tilt else total
        return Rest(inside + 1 / (math.pi * start), 0.06 * step**2 / spread, 1.0)
