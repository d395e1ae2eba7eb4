"""An audit of a mechanism: what its runs on two neighbouring tables show, against what is promised.

Every question put to the runs is a *look*. All looks of an audit share one error budget: with K looks, each
may raise a false alarm with a chance of at most `false_alarm` / K, so an audit of a mechanism that keeps its
promise raises one with a chance of at most `false_alarm` (the union bound; the looks may depend on each
other). Each look is exact in finite samples:

*Points.* A test that was fixed before its runs were made says "neighbour" in k0 of n0 runs on the table, and
in k1 of n1 runs on its neighbour. With s = false_alarm / K, the upper Clopper-Pearson bound u of the false
positives and the lower bound l of the true positives, each of level 1 - s/2, hold together with a chance of
at least 1 - s. A trade-off curve f that is promised falls, so that then

    l <= true positive rate <= 1 - f(false positive rate) <= 1 - f(u),

and l > 1 - f(u) is an alarm. Since f is its own inverse (noise is symmetric), the same look tests the other
direction: the points (a, b) and (1 - b, 1 - a) lie above 1 - f together.

*Noise.* What is left when the known counts are taken away must have the law that is claimed. Tails, signs and
agreements of signs in disjoint pairs are binomial with exactly known chances; the chance of a count as far
out as the one seen is twice the smaller tail. The distance of the empirical distribution from the law is at
least d with a chance of at most 2 exp(-2 N d^2), for discrete laws too (Massart 1990). That k pairs of runs
have the same noise in every cell has a chance of at most their expected number over k (Markov), which is at
most the number of pairs times the product over cells of the chance that two noises are equal. Each area has a
look of its own at the distance from its law, and the number of runs without any noise is binomial too.

*The rest.* What else is put out (other columns, the order of rows, metadata) is put to tests that half of the
runs learn (`discreet.audit.learned`). What was not looked at is in the scope of the answer, and the smallest
faults that these looks would have found are in `discreet.audit.power`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, pairwise

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.audit.learned import Scores, learned_from_numbers, learned_from_parts
from discreet.audit.power import SmallestFault, smallest_faults
from discreet.budget import grouped
from discreet.budget.scope import Extent, Scope
from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.noise import Noise
from discreet.numbers import fraction, share, whole

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Signed = NDArray[np.int64] | NDArray[np.int8]
TradeOffCurve = Callable[[Sequence[float]], Floats]
"""f at some type I errors."""

ALPHAS = ("0.001", "0.01", "0.05", "0.1", "0.25", "0.5", "0.75", "0.9", "0.95")
"""Type I errors of the likelihood-ratio tests that are looked at."""

TAILS = (0.5, 0.2, 0.05, 0.01, 1e-3, 1e-4)
"""About which parts of the noise are counted as tails."""

FALSE_ALARM = "1e-6"
_LEAST = 1e-300  # smaller chances are bounded by this
_ALL_PAIRS = 10  # up to this many blocks, each is compared with every other; else with the next


@dataclass(frozen=True, slots=True)
class PointLook:
    """A test, its error rates with their bands, and the most true positives that are promised."""

    statistic: str
    threshold: float
    is_above: bool
    """Whether the test says "neighbour" above the threshold; else at it or below."""
    runs: tuple[int, int]
    found: tuple[int, int]
    """In how many runs on the table, and on its neighbour, the test said "neighbour"."""
    false_positives: float
    """Upper band of the rate of false positives."""
    true_positives: float
    """Lower band of the rate of true positives."""
    bound: float
    """The most true positives that the promise allows at that rate of false positives."""

    @property
    def is_alarm(self) -> bool:
        """Whether the point lies above the curve, beyond its band."""
        return self.true_positives > self.bound

    @property
    def rates(self) -> tuple[float, float]:
        """The observed rates of false and of true positives."""
        return self.found[0] / self.runs[0], self.found[1] / self.runs[1]


@dataclass(frozen=True, slots=True)
class NoiseLook:
    """A property of the noise: what was seen of it, what the law says, and how rare that is at most."""

    kind: str
    """tails, law, area, shift, neighbouring cells, neighbouring areas, runs, blocks, repeats, noiseless,
    rows, written, beside or again; of detailed groups also tables, dropped or account."""
    where: str
    trials: int
    observed: float
    expected: float | None
    chance: float
    """The chance of such a deviation is at most this."""
    share: float
    """The chance of a false alarm that this look may have."""
    size: int = 0
    """With tails: from which absolute value on."""

    @property
    def is_alarm(self) -> bool:
        """Whether the deviation is rarer than the look's share of the false alarms."""
        return self.chance <= self.share


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit(Summarised):
    """What an audit of a mechanism looked at, and whether something contradicts its promise."""

    name: str
    mechanism: str
    """measure, function or command."""
    promise: str
    """laws (a release, all noise known) or epsilon-delta."""
    runs: int
    written: int
    """Runs on each table that went through files, and were read back."""
    cells: int
    changed: int
    """How many cells the neighbouring tables differ in; 0 if they are not compared."""
    seed: int | None
    false_alarm: Fraction
    scope: Scope
    """What of the mechanism was looked at, and what was not."""
    points: tuple[PointLook, ...]
    noise: tuple[NoiseLook, ...] = ()
    curve: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    """Points of 1 - f, to draw."""
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    post: str = "none"
    unseen: tuple[str, ...] = ()
    """Geographies and levels of detailed groups whose first stage these data do not show."""
    needed: int = 0
    """The fewest runs, of those that are judged, with which a test could raise an alarm: for whatever the
    mechanism tells."""
    smallest: tuple[SmallestFault, ...] = ()
    """The smallest faults that these looks would have found with a chance of 95 %."""

    @property
    def looks(self) -> int:
        """How many looks share the chance of a false alarm."""
        return len(self.points) + len(self.noise)

    @property
    def blind(self) -> int:
        """How many looks could raise no alarm with so few runs, whatever the mechanism does."""
        return sum(look.runs[0] < self.needed for look in self.points)

    @property
    def alarms(self) -> tuple[PointLook | NoiseLook, ...]:
        """The looks that contradict the promise."""
        looks: tuple[PointLook | NoiseLook, ...] = (*self.points, *self.noise)
        return tuple(look for look in looks if look.is_alarm)


# -- what is looked at -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """Cells that have the same law of noise: the places of those of each unit, one row a unit."""

    name: str
    law: Noise
    places: Integers
    units: tuple[str, ...] = ()
    """The names of the units."""

    def unit_name(self, row: int) -> str:
        """Return the name of a unit, or which it is."""
        return self.units[row] if self.units else f"unit {row + 1}"


@dataclass(frozen=True, slots=True)
class Seen:
    """A property of the noise before it is judged: how rare it is, without a share of the false alarms."""

    kind: str
    where: str
    trials: int
    observed: float
    expected: float | None
    chance: float
    size: int = 0


def upper_rate(successes: int, trials: int, level: float) -> float:
    """Return the upper Clopper-Pearson bound of a rate: it is exceeded with a chance of at most `level`.

    >>> round(upper_rate(0, 100, 0.05), 6), upper_rate(100, 100, 0.05)
    (0.029513, 1.0)
    """
    return (
        1.0
        if successes >= trials
        else 1 - float(scipy.special.betaincinv(trials - successes, successes + 1, level))
    )


def lower_rate(successes: int, trials: int, level: float) -> float:
    """Return the lower Clopper-Pearson bound of a rate.

    >>> round(lower_rate(100, 100, 0.05), 6), lower_rate(0, 100, 0.05)
    (0.970487, 0.0)
    """
    return (
        0.0 if successes <= 0 else float(scipy.special.betaincinv(successes, trials - successes + 1, level))
    )


def promised_curve(*, epsilon: Fraction, delta: Fraction) -> TradeOffCurve:
    """Return f of an (epsilon, delta) promise: max(0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)).

    >>> promised_curve(epsilon=Fraction(0), delta=Fraction(1, 10))([0.0, 0.5]).round(3).tolist()
    [0.9, 0.4]
    """
    factor, left = math.exp(epsilon), float(1 - delta)

    def curve(alphas: Sequence[float]) -> Floats:
        alpha = np.asarray(alphas, dtype=np.float64)
        return np.maximum(0.0, np.maximum(left - factor * alpha, (left - alpha) / factor))

    return curve


def judge_looks(
    curve: TradeOffCurve, scores: Sequence[Scores], seen: Sequence[Seen], false_alarm: Fraction
) -> tuple[tuple[PointLook, ...], tuple[NoiseLook, ...]]:
    """Give every look its share of the false alarms, and judge it."""
    tests = [(score, t, above) for score in scores for t in score.thresholds for above in (True, False)]
    part = float(false_alarm) / max(len(tests) + len(seen), 1)
    rows = []
    for score, threshold, above in tests:
        runs = score.table.size, score.neighbour.size
        counts = [
            int(np.count_nonzero((side > threshold) == above)) for side in (score.table, score.neighbour)
        ]
        most, least = upper_rate(counts[0], runs[0], part / 2), lower_rate(counts[1], runs[1], part / 2)
        rows.append((score.statistic, threshold, above, runs, (counts[0], counts[1]), most, least))
    bounds = 1 - curve([row[5] for row in rows]) if rows else ()
    points = tuple(PointLook(*row, float(bound)) for row, bound in zip(rows, bounds, strict=True))
    noise = tuple(
        NoiseLook(
            look.kind, look.where, look.trials, look.observed, look.expected, look.chance, part, look.size
        )
        for look in seen
    )
    return points, noise


def needed_runs(curve: TradeOffCurve, part: float) -> int:
    """Return the fewest runs with which a mechanism that tells all is caught by a look of this share.

    Its test is never wrong, in n runs on each table: its bands are 1 - s^(1/n) and s^(1/n), with s half the
    share. Here log s / log(e / (1 + e)) is 61.01:

    >>> needed_runs(promised_curve(epsilon=Fraction(1), delta=Fraction(0)), 1e-8)
    62
    """
    low, high = 0, 2**40
    while high - low > 1:  # several numbers at once: the curve is faster for many points together
        tried = sorted({int(x) for x in np.geomspace(low + 1, high, 18)} - {high})
        misses = 1 - curve([upper_rate(0, runs, part / 2) for runs in tried])
        seen = [lower_rate(n, n, part / 2) > miss for n, miss in zip(tried, misses.tolist(), strict=True)]
        first = seen.index(True) if True in seen else len(tried)
        low, high = ([low, *tried][first], [*tried, high][first])
    return high


# -- likelihood ratios -------------------------------------------------------------------------------------


def pair_events(change: Integers, blocks: Sequence[Block]) -> tuple[Noise, ...]:
    """Return what tells a table from its neighbour: the noise of each cell that changes, by how much."""
    return tuple(
        block.law.for_people(abs(int(change[cell])))
        for block in blocks
        for cell in block.places.ravel()
        if change[cell]
    )


@dataclass(frozen=True)
class ClaimedNoise:
    """What is claimed of a pair of tables: by how much each cell changes, and the law of its noise.

    >>> from discreet.noise import DiscreteGaussian
    >>> block = Block("State, total", DiscreteGaussian(variance=4), np.array([[0, 1]]))
    >>> claimed = ClaimedNoise(np.array([1, 0]), (block,))
    >>> claimed.loss.events, len(claimed.thresholds)
    ((DiscreteGaussian(variance=Fraction(4, 1), sensitivity=1, times=1),), 7)
    """

    change: Integers
    blocks: tuple[Block, ...]

    @cached_property
    def _pair(self) -> _ComparedTables:
        return _compared_tables(grouped(pair_events(self.change, self.blocks)))

    @property
    def loss(self) -> PrivacyLoss:
        """The privacy loss between the two tables."""
        return self._pair.loss

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The thresholds of the best tests at some type I errors."""
        return self._pair.thresholds

    def curve(self, alphas: Sequence[float]) -> Floats:
        """Return f, made smaller by more than its error, so that it stays a promise."""
        return self._pair.curve(alphas)

    @cached_property
    def drawn(self) -> tuple[tuple[float, float], ...]:
        """Points of 1 - f, to draw."""
        return drawn_curve(self.curve)


@dataclass(frozen=True)
class _ComparedTables:
    """What tells two tables apart, and what is known of their curve: audits of the same two share it."""

    events: tuple[Noise, ...]

    @cached_property
    def loss(self) -> PrivacyLoss:
        return compose(self.events)

    @cached_property
    def thresholds(self) -> tuple[float, ...]:
        thresholds = self.loss.law.tradeoff_thresholds([Fraction(alpha) for alpha in ALPHAS])
        return tuple(dict.fromkeys(float(threshold) for threshold in thresholds))

    @cached_property
    def _known(self) -> dict[float, float]:
        return {}

    def curve(self, alphas: Sequence[float]) -> Floats:
        new = [alpha for alpha in dict.fromkeys(alphas) if alpha not in self._known]
        if new:
            values = self.loss.tradeoff(alpha=[Fraction(min(max(alpha, 0.0), 1.0)) for alpha in new])
            self._known.update(zip(new, (np.asarray(values) * (1 - 1e-9)).tolist(), strict=True))
        return np.array([self._known[alpha] for alpha in alphas])


_compared_tables = lru_cache(maxsize=8)(_ComparedTables)


def log_ratios(noise: Integers, change: Integers, blocks: Sequence[Block], *, is_neighbour: bool) -> Floats:
    """Return the log-likelihood ratio, neighbour against table, of each run, by its recovered noise."""
    score = np.zeros(len(noise))
    for block in blocks:
        for cell in block.places.ravel():
            if step := int(change[cell]):
                own = noise[:, cell]
                from_table = own + step if is_neighbour else own
                score += block.law.log_pmf(from_table - step) - block.law.log_pmf(from_table)
    return score


# -- the noise ---------------------------------------------------------------------------------------------


def seen_in_noise(
    table: Integers, neighbour: Integers, change: Integers, blocks: Sequence[Block]
) -> Iterator[Seen]:
    """Yield what can be seen in the noise of runs (rows) on both tables, against the laws of the blocks."""
    both = np.concatenate([table, neighbour])
    signs = np.sign(both).astype(np.int8)
    for block in blocks:
        values, own = both[:, block.places], signs[:, block.places]
        yield from _tails(block, values)
        yield _distance(block, values)
        yield from _areas(block, values)
        half = own[:, :, : own.shape[2] // 2 * 2]
        yield from _agreement("neighbouring cells", block, half[:, :, ::2], half[:, :, 1::2])
        half = own[:, : own.shape[1] // 2 * 2]
        yield from _agreement("neighbouring areas", block, half[:, ::2], half[:, 1::2])
        half = own[: len(own) // 2 * 2]
        yield from _agreement("runs", block, half[::2], half[1::2])
        few = min(len(table), len(neighbour))
        yield from _agreement("tables", block, own[:few], own[len(table) : len(table) + few])
        yield from _shifts(block, table, neighbour, change)
    for one, other in combinations(blocks, 2) if len(blocks) <= _ALL_PAIRS else pairwise(blocks):
        few = min(one.places.size, other.places.size)
        first, second = (signs[:, block.places.ravel()[:few]] for block in (one, other))
        yield from _agreement("blocks", one, first, second, other)
    sizes = [(block.law, block.places.size) for block in blocks]
    yield repeated_runs(both, sizes)
    yield _noiseless("", both, sizes)
    if len(blocks) > 1:
        for block, size in zip(blocks, sizes, strict=True):
            yield _noiseless(block.name, both[:, block.places.ravel()], [size])


def _binomial(successes: int, trials: int, chance: float) -> float:
    """Return twice the smaller tail of a binomial count."""
    low = float(scipy.special.bdtr(successes, trials, chance))
    high = 1.0 if successes == 0 else float(scipy.special.bdtrc(successes - 1, trials, chance))
    return min(1.0, max(_LEAST, 2 * min(low, high)))


def _binomial_look(kind: str, where: str, successes: int, trials: int, chance: float, size: int = 0) -> Seen:
    rare = _binomial(successes, trials, chance)
    return Seen(kind, where, trials, successes / trials, chance, rare, size)


@lru_cache(maxsize=1024)
def _tail_chances(law: Noise) -> tuple[tuple[int, float], ...]:
    """Return absolute values, and the chances that noise is as large or larger."""
    sizes = {max(1, law.quantile(Fraction(1 - part / 2))) for part in TAILS} | {1}
    return tuple((size, min(1.0, 2 * float(law.sf(size - 1)))) for size in sorted(sizes))


@lru_cache(maxsize=1024)
def _same(law: Noise) -> float:
    """Return the chance that two noises are equal; of wide noise, the largest probability, which is more."""
    deviation = math.sqrt(law.true_variance())
    if deviation > 1e5:
        return float(law.pmf(0))
    most = 40 + int(40 * deviation)
    return float(np.sum(law.pmf(np.arange(-most, most + 1)) ** 2)) + 2 * float(law.sf(most))


def _positive(law: Noise) -> float:
    """Return the chance of noise above zero."""
    return _tail_chances(law)[0][1] / 2


def _tails(block: Block, values: Integers) -> Iterator[Seen]:
    """How much of the noise lies at or beyond some absolute values."""
    for size, chance in _tail_chances(block.law):
        beyond = int(np.count_nonzero(np.abs(values) >= size))
        yield _binomial_look("tails", block.name, beyond, values.size, chance, size)


def _distance(block: Block, values: Integers) -> Seen:
    """The largest distance between the empirical distribution and that of the law."""
    points, counts = np.unique(values, return_counts=True)
    return _distance_look("law", block.name, counts, block.law.cdf(points), block.law.cdf(points - 1))


def _distance_look(kind: str, where: str, counts: Integers, here: Floats, before: Floats) -> Seen:
    """The distance at the values seen, so many times, with the law's chances up to each and below it."""
    many = int(counts.sum())
    below = np.cumsum(counts) / many
    apart = np.maximum(np.abs(below - here), np.abs(np.concatenate([[0.0], below[:-1]]) - before))
    largest = float(apart.max())
    chance = min(1.0, max(_LEAST, 2 * math.exp(-2 * many * largest**2)))
    return Seen(kind, where, many, largest, None, chance)


def _areas(block: Block, values: Integers) -> Iterator[Seen]:
    """The same distance in each area alone, where there are several; its values are runs, areas, cells."""
    if values.shape[1] < 2:
        return
    points, point = np.unique(values, return_inverse=True)
    here, before = block.law.cdf(points), block.law.cdf(points - 1)
    point = point.reshape(values.shape)
    for row in range(values.shape[1]):
        own, counts = np.unique(point[:, row], return_counts=True)
        name = f"{block.name}: {block.unit_name(row)}"
        yield _distance_look("area", name, counts, here[own], before[own])


def _noiseless(where: str, noise: Integers, laws: Sequence[tuple[Noise, int]]) -> Seen:
    """How many whole runs are equal to the truth, and how likely so many are by the laws."""
    empty, runs = int(np.count_nonzero(~noise.any(axis=1))), len(noise)
    expected = math.exp(sum(many * math.log(float(law.pmf(0))) for law, many in laws))
    chance = (
        1.0 if not empty else min(1.0, max(_LEAST, float(scipy.special.bdtrc(empty - 1, runs, expected))))
    )
    return Seen("noiseless", where, runs, empty, expected, chance)


def _agreement(
    kind: str, block: Block, one: NDArray[np.int8], other: NDArray[np.int8], second: Block | None = None
) -> Iterator[Seen]:
    """How often two independent noises have the same sign, neither of them zero."""
    where = block.name if second is None else f"{block.name} and {second.name}"
    yield from sign_look(kind, where, (block.law, (second or block).law), one, other)


def sign_look(kind: str, where: str, laws: tuple[Noise, Noise], one: Signed, other: Signed) -> Iterator[Seen]:
    """Yield how often the noises of two laws have the same sign, neither of them zero, if there are any.

    >>> from discreet.noise import DiscreteLaplace
    >>> law, same = DiscreteLaplace(scale=5), np.ones(100, dtype=np.int8)
    >>> [look.chance < 1e-20 for look in sign_look("runs", "State", (law, law), same, same)]
    [True]
    """
    if one.size:
        agreeing = int(np.count_nonzero(np.sign(one) * np.sign(other) > 0))
        yield _binomial_look(kind, where, agreeing, one.size, 2 * _positive(laws[0]) * _positive(laws[1]))


def seen_in_values(
    name: str,
    law: Noise,
    values: Integers,
    pairs: Mapping[str, tuple[Integers, Integers]],
    leaning: Mapping[str, Integers],
) -> Iterator[Seen]:
    """Yield what can be seen in noises of one law, in pairs of them, and in those that could lean.

    >>> from discreet.noise import DiscreteGaussian
    >>> law = DiscreteGaussian(variance=5)
    >>> looks = seen_in_values("cells", law, np.zeros(100, dtype=np.int64), {}, {})
    >>> min(look.chance for look in looks) < 1e-20
    True
    """
    block = Block(name, law, np.zeros((0, 0), dtype=np.int64))
    yield from _tails(block, values)
    yield _distance(block, values)
    for kind, (one, other) in pairs.items():
        yield from sign_look(kind, name, (law, law), one, other)
    for kind, own in leaning.items():
        if own.size:
            yield _binomial_look(kind, name, int(np.count_nonzero(own > 0)), own.size, _positive(law))


def summed_look(kind: str, where: str, successes: int, trials: int, mean: float) -> Seen:
    """Return how rare a number of independent events is whose chances differ, with this mean.

    By Hoeffding (1963) both tails are at most exp(-n KL(x, p)), with x the share seen and p the mean chance.

    >>> look = summed_look("dropped", "County", 70, 100, 0.5)
    >>> round(look.chance, 6)   # twice exp(-100 * 0.082283)
    0.000534
    """
    seen = successes / trials
    parts = ((seen, mean), (1 - seen, 1 - mean))
    apart = sum(x * math.log(x / p) if p > 0 else math.inf for x, p in parts if x > 0)
    chance = min(1.0, max(_LEAST, 2 * math.exp(-min(trials * apart, 690.0))))
    return Seen(kind, where, trials, seen, mean, chance)


def _shifts(block: Block, table: Integers, neighbour: Integers, change: Integers) -> Iterator[Seen]:
    """Whether the noise of the cells that differ leans to the side of the difference, on each table."""
    places = block.places.ravel()
    places = places[change[places] != 0]
    if places.size:
        lean = np.sign(change[places])
        for kind, values in (("shift, table", table), ("shift, neighbour", neighbour)):
            leaning = values[:, places] * lean
            upwards = int(np.count_nonzero(leaning > 0))
            yield _binomial_look(kind, block.name, upwards, leaning.size, _positive(block.law))


def repeated_runs(noise: Integers, laws: Sequence[tuple[Noise, int]]) -> Seen:
    """Return how many pairs of runs (rows) are the same, with noise of these laws, so many numbers of each.

    >>> from discreet.noise import DiscreteGaussian
    >>> rows = np.zeros((2, 40), dtype=np.int64)
    >>> repeated_runs(rows, [(DiscreteGaussian(variance=5), 40)]).chance < 1e-30
    True
    """
    _, counts = np.unique(noise, axis=0, return_counts=True)
    equal, pairs = int((counts * (counts - 1) // 2).sum()), len(noise) * (len(noise) - 1) // 2
    log_same = sum(many * math.log(_same(law)) for law, many in laws)
    expected = math.exp(math.log(max(pairs, 1)) + log_same)
    expected = expected if expected > _LEAST else 0.0
    chance = min(1.0, max(_LEAST, expected / equal)) if equal else 1.0
    return Seen("repeats", "", pairs, equal, expected, chance)


# -- audits ------------------------------------------------------------------------------------------------


def audit_noise(
    table: Integers,
    neighbour: Integers,
    *,
    claimed: ClaimedNoise,
    false_alarm: str | Fraction = FALSE_ALARM,
    more: Sequence[Scores] = (),
    mismatches: Mapping[str, tuple[int, int]] | None = None,
    facts: Mapping[str, object] | None = None,
) -> Audit:
    """Audit the noise of runs on a table and on its neighbour: what was measured, less the known counts.

    Rows are runs and columns are cells. `more` are further statistics of the same pair, such as those of
    estimates; `mismatches` is how many of how many numbers were not what they must be: those `written` not
    those drawn, estimates made `again` from the measurements not those written.

    Guarantee. If the rows are independent, and each cell's noise is independent of the others with the law
    claimed, there is an alarm with a chance of at most `false_alarm`: see the head of this module, and
    `tests/audit/test_audit.py`, which counts false alarms at a chance of 1/20.

    >>> from discreet.noise import DiscreteGaussian, sample
    >>> from discreet.testing import NotPrivateSeededEntropy
    >>> law, source = DiscreteGaussian(variance=5), NotPrivateSeededEntropy(1)
    >>> runs = [sample(law, (1000, 4), source=source) for side in range(2)]
    >>> block = Block("State, total", law, np.array([[0], [1], [2], [3]]))
    >>> claimed = ClaimedNoise(np.array([1, -1, 0, 0]), (block,))
    >>> len(audit_noise(*runs, claimed=claimed).alarms)
    0
    >>> quiet = [sample(DiscreteGaussian(variance=4), (1000, 4), source=source) for side in range(2)]
    >>> {look.kind for look in audit_noise(*quiet, claimed=claimed).alarms} >= {"tails"}
    True
    """
    change, blocks = claimed.change, claimed.blocks
    ratios = [
        log_ratios(noise, change, blocks, is_neighbour=side == 1)
        for side, noise in enumerate((table, neighbour))
    ]
    scores = [Scores("likelihood ratio", ratios[0], ratios[1], claimed.thresholds), *more]
    seen = [*seen_in_noise(table, neighbour, change, blocks), *_must_agree(mismatches or {})]
    cells = Extent.of(
        "cell",
        taken=sorted({int(cell) for block in blocks for cell in block.places.ravel()}),
        every=range(table.shape[1]),
    )
    return _audit_of_laws(claimed, scores, seen, false_alarm, facts or {}, len(table), cells)


def audit_parts(
    runs: int,
    *,
    claimed: ClaimedNoise,
    false_alarm: str | Fraction = FALSE_ALARM,
    more: Sequence[Scores] = (),
    mismatches: Mapping[str, tuple[int, int]],
    facts: Mapping[str, object] | None = None,
) -> Audit:
    """Audit what can be looked at where runs did not put out every cell, so that their noise is not known.

    >>> from discreet.noise import DiscreteGaussian
    >>> block = Block("all", DiscreteGaussian(variance=4), np.array([[0, 1]]))
    >>> claimed = ClaimedNoise(np.array([1, 0]), (block,))
    >>> found = audit_parts(50, claimed=claimed, mismatches={"rows": (50, 100)})
    >>> len(found.alarms), found.scope.words
    (1, 'none of 2 cells, without other pairs of tables')
    """
    cells = Extent.of("cell", taken=(), every=range(len(claimed.change)))
    return _audit_of_laws(claimed, more, _must_agree(mismatches), false_alarm, facts or {}, runs, cells)


def _must_agree(mismatches: Mapping[str, tuple[int, int]]) -> list[Seen]:
    """What must not be otherwise: how many of how many are."""
    return [
        Seen(kind, "", many, wrong, 0.0, 0.0 if wrong else 1.0) for kind, (wrong, many) in mismatches.items()
    ]


def _audit_of_laws(
    claimed: ClaimedNoise,
    scores: Sequence[Scores],
    seen: Sequence[Seen],
    false_alarm: str | Fraction,
    facts: Mapping[str, object],
    runs: int,
    cells: Extent,
) -> Audit:
    level = share(false_alarm, name="false_alarm")
    points, noise = judge_looks(claimed.curve, scores, seen, level)
    part = float(level) / (len(points) + len(noise))
    told: dict[str, object] = {"name": "noise", "mechanism": "function", "seed": None, "written": 0}
    told |= facts
    scope = told.pop("scope", None) or Scope.whole(str(told["name"]), unit="", neighbours="")
    assert isinstance(scope, Scope)
    return Audit(
        **told,  # type: ignore[arg-type]
        promise="laws",
        runs=runs,
        cells=len(claimed.change),
        changed=int(np.count_nonzero(claimed.change)),
        false_alarm=level,
        scope=scope.with_part(cells).without(*OTHER_PAIRS),
        points=points,
        noise=noise,
        curve=claimed.drawn,
        needed=needed_runs(claimed.curve, part),
        smallest=smallest_faults(claimed.curve, points, noise, part),
    )


OTHER_PAIRS = ("other pairs of tables",)
"""What no audit looks at: its runs are made of two tables."""


def audit_promise(
    table: Floats,
    neighbour: Floats,
    *,
    epsilon: str | int | Fraction,
    delta: str | int | Fraction,
    false_alarm: str | Fraction = FALSE_ALARM,
    parts: Sequence[Sequence[Mapping[str, Hashable]]] = ((), ()),
    name: str = "mechanism",
    mechanism: str = "function",
    scope: Scope | None = None,
) -> Audit:
    """Audit outputs of a mechanism of which only (epsilon, delta) is promised; rows are runs.

    The first half of the runs learns statistics of the numbers and their thresholds; the second half is
    judged. `parts` is what each run on the table, and on its neighbour, puts out beside numbers, by name.

    Guarantee. If the runs are independent and the mechanism is (epsilon, delta)-differentially private in
    both directions, there is an alarm with a chance of at most `false_alarm`. No alarm proves nothing:
    another statistic may tell more.

    >>> from discreet.noise import DiscreteLaplace, sample
    >>> from discreet.testing import NotPrivateSeededEntropy
    >>> source = NotPrivateSeededEntropy(1)
    >>> runs = [sample(DiscreteLaplace(scale=1), (4000, 1), source=source) + side for side in range(2)]
    >>> [bool(audit_promise(*runs, epsilon=e, delta=0).alarms) for e in (1, "1/2")]
    [False, True]
    """
    *promised, level = read_promise(epsilon, delta, false_alarm)
    if min(len(table), len(neighbour)) < 2:
        raise InputError("an audit needs at least 2 runs on each table; give more (runs=, or --runs)")
    scores, silent = learned_from_parts(*parts)
    if table.shape[1]:
        scores = [*learned_from_numbers(table, neighbour), *scores]
    if not scores:
        raise InputError("the mechanism put out nothing that can be compared")
    curve = promised_curve(epsilon=promised[0], delta=promised[1])
    points, _ = judge_looks(curve, scores, [], level)
    part = float(level) / len(points)
    scope = scope or Scope.whole(name, unit="", neighbours="")
    return Audit(
        name=name,
        mechanism=mechanism,
        promise="epsilon-delta",
        runs=len(table),
        written=0,
        cells=table.shape[1],
        changed=0,
        seed=None,
        false_alarm=level,
        scope=scope.without(*map(silent_words, silent), *OTHER_PAIRS),
        points=points,
        curve=drawn_curve(curve),
        needed=needed_runs(curve, part),
        smallest=smallest_faults(curve, points, (), part),
        epsilon=promised[0],
        delta=promised[1],
    )


def silent_words(name: str) -> str:
    """Say of a part of an output why it tells nothing.

    >>> silent_words("metadata")
    'metadata (other ones in every run)'
    """
    return f"{name} (other ones in every run)"


def read_promise(
    epsilon: str | int | Fraction, delta: str | int | Fraction, false_alarm: str | Fraction
) -> tuple[Fraction, Fraction, Fraction]:
    """Return a promise and the chance of a false alarm, if they can be such."""
    promised = fraction(epsilon, name="epsilon")
    if promised < 0:
        raise InputError(f"epsilon is {epsilon}; it must be zero or more")
    return promised, share(delta, name="delta", closed=True), share(false_alarm, name="false_alarm")


def read_runs(given: int, name: str, least: int = 1) -> int:
    """Return a number of runs."""
    if given < least:
        raise InputError(f"{name} is {given}; it must be {least} or more")
    return whole(given, name=name) if given else 0


def drawn_curve(curve: TradeOffCurve) -> tuple[tuple[float, float], ...]:
    """Return points of 1 - f, false positives ascending."""
    alphas = np.unique(np.concatenate([np.linspace(0, 1, 41), np.geomspace(1e-4, 0.03, 12)]))
    return tuple(zip(alphas.tolist(), (1 - curve(alphas.tolist())).tolist(), strict=True))
