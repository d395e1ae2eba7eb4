"""How well measurements fit together: chi-square, the largest residuals, and whether chance explains them.

Measurements are y = A x + e with independent noises e of known laws and variances s. In units of standard
deviations the residuals are M e, where M is a projector of rank n - rank A, the degrees of freedom. M_ii is 1
minus the *leverage* of a measurement, the variance of its estimate over s. The statistics:

    overall     sum of all r^2/s = e'Me
    a query     the same sum over its cells at one level: e'Be, B = M D M with D its cells: 0 <= B <= I,
                trace d = sum of M_ii, and trace of B^2 at most w = sum of M_ii less the M_ij^2 of cells i of
                the query and j of other queries in the same unit, because the squares of a row add up to M_ii
    largest     r/sqrt(s M_ii): a weighted sum of noises, with squared weights that add up to 1

*Gaussian noise.* With eigenvalues l in [0, 1], sum d, sum of squares at most w, the cumulant generating
function is a sum of -log(1 - 2tl)/2. For t > 0 its powers l^k are at most l^2, so that it is at most that of
d - w plus a chi-square variable of w degrees; for t < 0 Jensen's inequality bounds it by that of w/d times a
chi-square variable of d^2/w degrees. Tails of these two laws are used.

*Other noise.* The fourth cumulant k of a noise adds k B_ii^2 to the variance 2 w, and one large noise enters
with B_ii e^2. So the upper tail is that of a gamma law of the same mean, with this larger variance and with a
scale of at least 2 + k B_ii; for Laplace noise, whose square has heavier tails than any gamma law, k is taken
ENLARGED times. The lower tail is that of a gamma law of the larger variance. Whole numbers may all agree by
chance, which no Gaussian can: uniform noise between them makes them smooth, and adds B_ii/12s to the sum. The
largest residual uses the moment generating functions of the laws (Chernoff).

Chances are added up over all tests (Bonferroni); SHARES of ALARM go to each kind. That honest measurements
are warned of in at most 1 of 1,000 is simulated (tests/estimation/test_fit_honest.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy

from discreet.areas.tree import Floats, Integers, Numbers
from discreet.budget.scope import Extent
from discreet.estimation.error_laws import traits
from discreet.estimation.model import size_of
from discreet.estimation.normal import UNIT, Law, Normal

if TYPE_CHECKING:
    from discreet.estimation.estimates import Estimates

ALARM = 1e-3
"""The largest chance that honest measurements are warned of."""
SHARES = {"overall": 0.1, "query": 0.5, "largest": 0.2}
"""The parts of ALARM that the tests of each kind may use; the rest is kept in reserve."""
UNCHECKED = 1e-6
"""A measurement with a smaller M_ii stands alone: its residual is a rounding error."""
_ENLARGED = 4.0
"""The factor of the fourth cumulant of Laplace noise."""
_LISTED = 5
"""The largest residuals that are named."""


@dataclass(frozen=True, slots=True)
class QueryFit:
    """The measurements of one query at one level: chi-square, its degrees of freedom, and the chance of a
    value as extreme, at most, multiplied by the number of tests."""

    level: str
    query: str
    release: int
    cells: int
    chi_square: float
    degrees_of_freedom: float
    chance: float | None
    """None: nothing can be checked."""
    finding: str | None
    """None, "too large" or "too small"."""


@dataclass(frozen=True, slots=True)
class Residual:
    """A measurement that lies far from its estimate: by how many standard deviations of that difference."""

    unit: str
    level: str
    query: str
    cell: str
    release: int
    measured: float
    estimate: float
    standardised: float


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether measurements contradict each other."""

    cells: int
    chi_square: float
    degrees_of_freedom: float
    chance: float | None
    finding: str | None
    largest_chance: float | None
    largest_finding: str | None
    largest: tuple[Residual, ...]
    by_query: tuple[QueryFit, ...]
    unread: int = 0
    """Measurements of areas that were not written, whose residuals were not computed."""

    @property
    def checked(self) -> Extent:
        """How many of the measurements were compared with their estimates."""
        return Extent.count("measurement", taken=self.cells, every=self.cells + self.unread)

    @property
    def warning(self) -> bool:
        """Whether chance does not explain the residuals."""
        return any((self.finding, self.largest_finding, *(query_fit.finding for query_fit in self.by_query)))


# -- what is expected ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spread:
    """What the law of a sum of squared residuals follows from: its mean d, the bound w on the trace of B^2,
    the sum of k B_ii^2 over noises of fourth cumulant k, the same and the largest k B_ii with Laplace noise
    enlarged, and the sum of B_ii/12s."""

    d: float
    w: float
    fourth: float = 0.0
    wide: float = 0.0
    peak: float = 0.0
    grain: float = 0.0

    def above(self, statistic: float) -> float:
        """Return a bound on the chance of at least this sum."""
        if statistic <= self.d:
            return 1.0
        variance, scale = 2 * self.w + self.wide, 2 + self.peak
        variance = min(variance, scale * self.d)
        start = self.d - variance / scale
        return float(scipy.special.gammaincc(variance / scale**2, (statistic - start) / scale))

    def below(self, statistic: float) -> float:
        """Return a bound on the chance of at most this sum."""
        if statistic >= self.d:
            return 1.0
        smooth = min(max(statistic, 0.0) + self.grain, self.d)
        variance = 2 * self.w + self.fourth
        return float(scipy.special.gammainc(self.d**2 / variance, smooth * self.d / variance))


def tail_of_largest(size: float, own: tuple[float, bool], share: float, rest: tuple[float, bool]) -> float:
    """Return a bound on the chance that a standardised residual is at least this large.

    `share` is the squared weight of the own noise. `own` and `rest` are the proxies (log E e^(tN) is at most
    proxy t^2/2, or -log(1 - proxy t^2/2) for Laplace noise) of the own and of any other noise.

    >>> round(tail_of_largest(5.0, (1.0, False), 1.0, (1.0, False)) / (2 * math.exp(-12.5)), 6)
    1.0
    """
    parts = [(proxy * part, heavy) for (proxy, heavy), part in ((own, share), (rest, 1 - share)) if part > 0]
    most = min([math.sqrt(2 / proxy) for proxy, heavy in parts if heavy], default=math.inf)
    top = min(0.999999 * most, 2 * size / sum(proxy for proxy, _ in parts))
    t = np.linspace(0.0, top, 4001)
    bound = -t * size
    for proxy, heavy in parts:
        half = proxy * t * t / 2
        bound = bound + (-np.log1p(-half) if heavy else half)
    return min(1.0, 2 * math.exp(float(bound.min())))


def _proxy(law: Law) -> tuple[float, bool]:
    """Return the proxy of a noise in units of its variance, and whether its bound is as of Laplace noise."""
    return law.tail_proxy(size_of(law))


def _kurtosis(law: Law) -> float:
    """Return the excess kurtosis of a noise, without its sign."""
    law_traits = traits(law)
    return float(law_traits.fourth / law_traits.variance**2)


Top = tuple[float, int, int, float, float, float]
"""A large residual: in standard deviations, unit, cell, measured, estimate, M_ii."""


@dataclass
class _Tally:
    """What is known and found of one query at one level in one release."""

    level: int
    query: str
    release: int
    cells: int = 0
    read: int = 0
    chi_square: float = 0.0
    d: float = 0.0
    squares: float = 0.0
    w: float = 0.0
    grain: float = 0.0
    """The sum of M_ii/12s."""
    steepest: float = 0.0
    """The largest M_ii."""
    across: float = 0.0
    """The largest M_ii (1 - M_ii): a bound on B_ii for other queries."""
    laws: set[Law] = field(default_factory=set)
    top: list[Top] = field(default_factory=list)


class Residuals:
    """The residuals of all measurements of one group of releases, added up part by part."""

    def __init__(self, estimates: Estimates, level: Integers) -> None:
        """`level` is the number of the level of each unit."""
        self._estimates, self._level = estimates, level
        self._first = np.unique(estimates.tree.kind, return_index=True)[1]
        self.tallies: dict[tuple[int, str, int], _Tally] = {}
        self._free: dict[tuple[int, str], Floats] = {}
        self._sizes: dict[tuple[int, str], Floats] = {}
        self._expect()

    def _laws(self, release: int) -> list[Mapping[str, Law]]:
        """Return the laws of a source by kind of unit."""
        given = self._estimates.given
        return [given.sources[release].laws[given.tree.kind[unit]] for unit in self._first]

    def _expect(self) -> None:
        """Compute the mean and the spread of each sum."""
        estimates = self._estimates
        shape, view = estimates.shape, estimates.view
        nodes = np.arange(shape.size)
        units = np.bincount(estimates.node, minlength=shape.size).astype(np.float64)
        level = np.zeros(shape.size, dtype=np.int64)
        level[estimates.node] = self._level
        shared = self._products()
        for release in range(len(estimates.given.sources)):
            laws = self._laws(release)
            whole: dict[str, list[str]] = {}  # pieces of a query are checked together
            for name in dict.fromkeys(name for some in laws for name in some):
                whole.setdefault(estimates.given.query_of(name), []).append(name)
            for query, names in whole.items():
                for name in names:
                    sizes = np.array([size_of(some[name]) if name in some else np.nan for some in laws])
                    self._sizes[release, name] = sizes
                    free = np.clip(1 - view.variances(name, nodes) / sizes[shape.kind][:, None], 0.0, 1.0)
                    free[free < UNCHECKED] = 0.0
                    self._free[release, name] = free
                    self._expect_of(_Tally(0, query, release), name, laws, units, level)
                outside = np.clip(self._outside(release, names, shared), 0.0, None)
                for code in np.unique(level).tolist():
                    if (tally := self.tallies.get((code, query, release))) is not None:
                        known = float((units * outside)[level == code].sum())
                        tally.w = max(min(tally.d - known, tally.d), tally.squares, 1e-300)

    def _expect_of(
        self, query: _Tally, name: str, laws: Sequence[Mapping[str, Law]], units: Floats, level: Integers
    ) -> None:
        """Add to the tallies of a query what is expected of it, or of a piece of it."""
        estimates, key = self._estimates, (query.release, name)
        kind, projection = estimates.shape.kind, estimates.model.projections[name]
        size, free = self._sizes[key][kind], self._free[key]
        many = units[:, None] * projection.class_sizes
        mine = np.flatnonzero(~np.isnan(size))
        for code in np.unique(level[mine]).tolist():
            here = mine[level[mine] == code]
            part, often = free[here], many[here]
            measured = code, query.query, query.release
            tally = self.tallies.setdefault(measured, replace(query, level=code, laws=set(), top=[]))
            tally.cells += round(float(units[here].sum()) * projection.cells)
            tally.d += float((often * part).sum())
            tally.squares += float((often * part**2).sum())
            tally.grain += float(((often * part).sum(axis=1) / (12 * size[here])).sum())
            tally.steepest = max(tally.steepest, float(part.max(initial=0.0)))
            tally.across = max(tally.across, float((part * (1 - part)).max(initial=0.0)))
            own = (laws[row][name] for row in np.unique(kind[here]).tolist())
            tally.laws |= {UNIT if isinstance(law, Normal) else law for law in own}

    def _products(self) -> list[tuple[Floats, Floats]]:
        """Return by component P and P J P at each node, J the information of the unit itself."""
        estimates = self._estimates
        products = []
        own = estimates.model.information(estimates.view.told)
        for information, solution in zip(own, estimates.solutions, strict=True):
            P = solution.P
            products.append((P, P @ information[estimates.shape.kind] @ P))
        return products

    def _outside(self, release: int, names: Sequence[str], shared: Sequence[tuple[Floats, Floats]]) -> Floats:
        """Return at each node the sum of M_ij^2 over the cells i of a query and j of others there; the query
        is given by the names of its pieces, or by its own."""
        estimates = self._estimates
        total = np.zeros(estimates.shape.size)
        for component, (P, PJP) in zip(estimates.model.components, shared, strict=True):
            seen = [name for name in names if estimates.model.projections[name].sees(component)]
            if not seen:
                continue
            told = np.zeros_like(P)
            for name in seen:
                size = self._sizes[release, name][estimates.shape.kind]
                inverse = np.where(np.isnan(size), 0.0, 1 / size)
                told += estimates.model.projections[name].gram(component) * inverse[:, None, None]
            told_P = told @ P
            twice = np.einsum("nij,nji->n", told_P, told_P)
            total += component.copies * (np.einsum("nij,nji->n", told, PJP) - twice)
        return total

    # -- what is found ---------------------------------------------------------------------------------------

    def add(self, release: int, query: str, who: Integers, values: Numbers, cells: Floats) -> None:
        """Add measurements of some units of one query, with their estimates."""
        estimates = self._estimates
        projection, piece = estimates.model.projections[query], estimates.given.pieces.get(query)
        residual = values - cells
        squares = residual * residual
        size = self._sizes[release, query][estimates.tree.kind[who]]
        free = self._free[release, query][estimates.node[who]]
        with np.errstate(divide="ignore"):
            scale = np.where(free > 0, 1 / free, 0.0) / size[:, None]
        checked = (free > 0) / size[:, None]
        if free.shape[1] > 1:  # else all cells of a unit are alike
            scale, checked = scale[:, projection.classes], checked[:, projection.classes]
            sums = np.einsum("ij,ij->i", squares, checked)
        else:
            sums = squares.sum(axis=1) * checked[:, 0]
        squares *= scale
        level = self._level[who]
        for code in np.unique(level).tolist():
            rows = np.flatnonzero(level == code)
            tally = self.tallies[code, estimates.given.query_of(query), release]
            tally.read += len(rows) * projection.cells
            tally.chi_square += float(sums[rows].sum())
            flat = (squares if len(rows) == len(level) else squares[rows]).ravel()
            least = tally.top[-1][0] ** 2 if len(tally.top) == _LISTED else 0.0
            for far in _largest(flat, least):
                row, cell = divmod(far, projection.cells)
                row = int(rows[row])
                away, measured = float(residual[row, cell]), float(values[row, cell])
                share = float(free[row, projection.classes[cell] if free.shape[1] > 1 else 0])
                ratio = math.copysign(math.sqrt(flat[far]), away)
                number = cell if piece is None else int(piece.cells[cell])
                tally.top.append((ratio, int(who[row]), number, measured, measured - away, share))
            tally.top = _kept(tally.top)

    def packed(self) -> Floats:
        """Return what was found as one array, which other processes can send."""
        rows = [np.zeros(2 + 6 * _LISTED) for _ in self.tallies]
        for row, tally in zip(rows, self.tallies.values(), strict=True):
            row[:2] = tally.read, tally.chi_square
            flat = [number for entry in tally.top for number in entry]
            row[2:] = np.nan
            row[2 : 2 + len(flat)] = flat
        return np.concatenate(rows) if rows else np.zeros(0)

    def unpack(self, packed: Floats) -> None:
        """Add what another has found."""
        width = 2 + 6 * _LISTED
        for tally, row in zip(self.tallies.values(), packed.reshape(-1, width), strict=True):
            tally.read += int(row[0])
            tally.chi_square += float(row[1])
            more = [entry for entry in row[2:].reshape(-1, 6).tolist() if not math.isnan(entry[0])]
            tally.top += [(size, int(unit), int(cell), a, b, c) for size, unit, cell, a, b, c in more]
            tally.top = _kept(tally.top)

    def empty(self) -> Residuals:
        """Return the same without anything found, for a part of the units."""
        from copy import copy

        other = copy(self)
        other.tallies = {
            key: _Tally(tally.level, tally.query, tally.release) for key, tally in self.tallies.items()
        }
        return other

    def add_held(self, written: int = 0) -> None:
        """Add the measurements of units that are held in memory and not added while they are `written`."""
        estimates = self._estimates
        first = written if estimates.in_order else 0
        step = max(1, (1 << 22) // estimates.width)
        for release, source in enumerate(estimates.given.sources):
            for query, who, values in source.read(slice(first, estimates.cut)):
                for start in range(0, len(who), step):
                    some = slice(start, start + step)
                    cells = estimates.model.projections[query].read(estimates.at(who[some]).x)
                    self.add(release, query, who[some], values[some], cells)


def _largest(sizes: Floats, least: float) -> list[int]:
    """Return the places of the largest numbers, if they reach the least that counts; of those that are equal
    up to rounding, the first."""
    near = 1 - 1e-9
    some = np.flatnonzero(sizes >= least * near) if least else np.arange(len(sizes))
    if len(some) > _LISTED:
        last = np.partition(sizes[some], len(some) - _LISTED)[-_LISTED]
        some = some[sizes[some] >= last * near]
        larger = some[sizes[some] > last / near]
        some = np.concatenate([larger, np.setdiff1d(some, larger)])[:_LISTED]
    return [int(number) for number in some]


def _kept(top: list[Top]) -> list[Top]:
    # equal sizes in the order of the units, so that parts can be read in any order
    return sorted((row for row in top if row[5] > 0), key=lambda row: (-round(abs(row[0]), 6), *row[1:3]))[
        :_LISTED
    ]


# -- whether it can be chance --------------------------------------------------------------------------------


def spreads(tallies: Sequence[_Tally]) -> tuple[Spread, list[Spread]]:
    """Return what the laws of the overall sum, and of each query's, follow from."""
    steep = []
    for tally in tallies:
        known = max((_kurtosis(law) for law in tally.laws), default=0.0)
        heavy = any(_proxy(law)[1] for law in tally.laws)
        steep.append((known, known * (_ENLARGED if heavy else 1.0)))

    def most(part: Iterable[float]) -> float:
        return max(part, default=0.0)

    every = range(len(tallies))
    d = sum(tally.d for tally in tallies)
    overall = Spread(
        d,
        max(d, 1e-300),
        sum(steep[i][0] * tallies[i].squares for i in every),
        sum(steep[i][1] * tallies[i].squares for i in every),
        most(steep[i][1] * tallies[i].steepest for i in every),
        sum(tally.grain for tally in tallies),
    )
    made = []
    for number, tally in enumerate(tallies):
        others = [i for i in every if i != number and tallies[i].d > 0]
        rest = max(tally.d - tally.squares, 0.0)
        across = [most(steep[i][side] * tallies[i].across for i in others) * (rest > 0) for side in (0, 1)]
        fourth, wide = (steep[number][side] * tally.squares + across[side] * rest for side in (0, 1))
        peak = max(steep[number][1] * tally.steepest, across[1])
        grain = tally.grain + rest * most(tallies[i].grain / tallies[i].d for i in others)
        made.append(Spread(tally.d, tally.w, fourth, wide, peak, grain))
    return overall, made


def _judged(chance_above: float, chance_below: float, tests: int, alarm: float) -> tuple[float, str | None]:
    """Return the chance of something as extreme on either side in any of the tests, and what is found."""
    least = min(chance_above, chance_below)
    finding = None
    if 2 * tests * least <= alarm:
        finding = "too large" if chance_above <= chance_below else "too small"
    return min(1.0, 2 * tests * least), finding


@dataclass(frozen=True)
class NamedResiduals:
    """Residuals of a group with what names its levels, units and cells, and the number of its release."""

    residuals: Residuals
    levels: Sequence[str]
    unit: Callable[[int], str]
    cell: Callable[[str, int], str]
    release: Sequence[int]
    step: Callable[[str], float] = lambda _: 1.0
    """What one unit of the numbers of a query is worth."""


def fit_of(groups: Sequence[NamedResiduals]) -> Fit:
    """Judge the residuals of all groups together; groups share no noise."""
    listed: list[tuple[NamedResiduals, _Tally]] = []
    overall: list[Spread] = []
    by_query: list[Spread] = []
    for group in groups:
        # of areas that are not written, nothing is read
        tallies = [tally for tally in group.residuals.tallies.values() if tally.read == tally.cells]
        whole, each = spreads(tallies)
        overall.append(whole)
        by_query += each
        listed += [(group, tally) for tally in tallies]
    every = sum(tally.cells for group in groups for tally in group.residuals.tallies.values())
    checked = [spread.d > UNCHECKED for spread in by_query]
    tests, chi_square = sum(checked), sum(tally.chi_square for _, tally in listed)
    rows = []
    for (group, tally), spread, able in zip(listed, by_query, checked, strict=True):
        chance, finding = None, None
        if able:
            tails = spread.above(tally.chi_square), spread.below(tally.chi_square)
            chance, finding = _judged(*tails, tests, SHARES["query"] * ALARM)
        rows.append(
            QueryFit(
                group.levels[tally.level],
                tally.query,
                group.release[tally.release],
                tally.cells,
                tally.chi_square,
                _freedom(spread.d),
                chance,
                finding,
            )
        )
    joint = _joint(overall)
    chance, finding = None, None
    if tests:
        tails = joint.above(chi_square), joint.below(chi_square)
        chance, finding = _judged(*tails, 1, SHARES["overall"] * ALARM)
    most, named = _largest_of(listed)
    far = "too large" if most is not None and most <= SHARES["largest"] * ALARM else None
    cells = sum(tally.cells for _, tally in listed)
    degrees = _freedom(joint.d)
    return Fit(cells, chi_square, degrees, chance, finding, most, far, named, tuple(rows), every - cells)


def _freedom(degrees: float) -> float:
    """Return degrees of freedom as the whole number that they are but for rounding, if they are one."""
    near = float(round(degrees))
    return near if abs(degrees - near) <= 1e-9 * max(1.0, degrees) else degrees


def _joint(spreads: Sequence[Spread]) -> Spread:
    """Return the spread of the sum of independent sums."""
    columns = list(zip(*((s.d, s.w, s.fourth, s.wide, s.grain) for s in spreads), strict=True))
    d, w, fourth, wide, grain = (
        (sum(column) for column in columns) if columns else (0.0, 1e-300, 0.0, 0.0, 0.0)
    )
    peak = max((spread.peak for spread in spreads), default=0.0)
    return Spread(d, w, fourth, wide, peak, grain)


def _largest_of(
    listed: Sequence[tuple[NamedResiduals, _Tally]],
) -> tuple[float | None, tuple[Residual, ...]]:
    """Return the chance of the largest residual, multiplied by their number, and the largest by name."""
    many = sum(tally.cells for _, tally in listed if tally.d > UNCHECKED)
    if not many:
        return None, ()
    rest = {id(group): _worst(tally for other, tally in listed if other is group) for group, _ in listed}
    least = 1.0
    named: list[tuple[float, Residual]] = []
    for group, tally in listed:
        own, step = _worst([tally]), group.step(tally.query)
        for number, (size, unit, cell, measured, estimate, free) in enumerate(tally.top):
            if not number:
                least = min(least, tail_of_largest(abs(size), own, free, rest[id(group)]))
            named.append(
                (
                    -abs(size),
                    Residual(
                        group.unit(unit),
                        group.levels[tally.level],
                        tally.query,
                        group.cell(tally.query, cell),
                        group.release[tally.release],
                        step * measured,
                        step * estimate,
                        size,
                    ),
                )
            )
    named.sort(key=lambda pair: pair[0])
    return min(1.0, many * least), tuple(residual for _, residual in named[:_LISTED])


def _worst(tallies: Iterable[_Tally]) -> tuple[float, bool]:
    """Return a proxy that bounds all laws of these; Laplace noise bounds Gaussian noise of its proxy."""
    known = [_proxy(law) for tally in tallies for law in tally.laws]
    return max(proxy for proxy, _ in known), any(heavy for _, heavy in known)
