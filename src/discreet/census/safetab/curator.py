"""True against released, for the curator who may see both. Confidential: never published.

The error of every released number is summed up by geography, level, table and size of the group, beside what
the mechanism says it should be; the sums add up, so that any table of the report comes from one list. Where
small groups are suppressed, those that are left are the lucky ones: their errors are high on average, and the
expectations account for it, as for regions of the same blocks that share their numbers. What else is done to
a table is not in the expectations; the notes say when it applies.

Expectations are own formulas, in floats, on purpose: they check the samplers and margins and share no code
with them. A sum of cells has the law of one cell convolved with itself; where small groups are dropped, the
error of a group that was kept is the noise given that it was large enough. A group below the states is
dropped if its noisy total is too small, unless a region of the same blocks gives it its own numbers: then it
is missing only if all of them dropped it. States drop nothing, so a county that is a state has every group
that the state has.

A cap on race codes is in the noise and in the true counts alike, so that the errors above do not show what it
costs: people who name more codes are missing from combination groups, and may be counted as alone. Where
there is a cap, totals are compared with people who have all their codes as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from math import ceil, nan, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.census.mechanism.adaptive import Mechanism, column, fill, mechanism
from discreet.census.mechanism.configuration import Configuration, Place, Privacy
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.ladder import Ladder
from discreet.census.mechanism.margins import variance_of
from discreet.census.mechanism.parts import Codes, GroupArrays, keys, published_rows
from discreet.census.mechanism.published import Picked, find_totals, picked_groups, read_lists
from discreet.census.mechanism.regions import Classes
from discreet.census.mechanism.released import Released, read_released
from discreet.census.mechanism.tabulation import AdaptiveTabulation
from discreet.census.safetab.asked import EngineName, Memory, SparkMaster, Threads, Totals
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.specification import read_specification, read_water
from discreet.faces import Displayed
from discreet.ledger.admission import Request, admit
from discreet.ledger.ledger_file import find_ledger, read_ledger
from discreet.ledger.manifests import JsonDict, read_manifest, read_receipt
from discreet.noise import Noise

if TYPE_CHECKING:
    from discreet.areas.output import ArrowTable
    from discreet.census.mechanism.counts import GroupCounts

CONFIDENTIAL = "CONFIDENTIAL: made from the true counts, for the trusted curator only. Do not publish."
SIZES = (0, 1, 10, 50, 100, 500, 1_000, 5_000, 20_000)
"""Where the classes of group size begin."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Key = TypeVar("Key")


def size_name(index: int) -> str:
    """Say a class of group sizes.

    >>> [size_name(index) for index in (0, 1, len(SIZES) - 1)]
    ['0', '1 to 9', '20,000 or more']
    """
    if index == len(SIZES) - 1:
        return f"{SIZES[index]:,} or more"
    last = SIZES[index + 1] - 1
    return f"{last:,}" if last == SIZES[index] else f"{SIZES[index]:,} to {last:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedSums:
    """Sums over released numbers; sums of several add up."""

    numbers: int = 0

    def __add__(self, other: Self) -> Self:
        return replace(self, **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})

    def mean(self, name: str) -> float:
        """Return a sum divided by how many numbers it has; NaN if it has none."""
        return float(getattr(self, name)) / self.numbers if self.numbers else nan


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSums(ReleasedSums):
    """Sums of errors over released numbers, and what is expected of them."""

    error: float = 0.0
    absolute: float = 0.0
    square: float = 0.0
    variance: float = 0.0
    within: float = 0.0
    expected_error: float = 0.0
    expected_square: float = 0.0
    expected_within: float = 0.0

    def root(self, name: str) -> float:
        """Return the root of a mean."""
        return sqrt(self.mean(name)) if self.numbers else nan


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLine:
    """The errors of one geography, level, table of the group, kind of number and class of size."""

    geography: str
    level: int
    table: str
    kind: str
    size: int
    errors: ErrorSums


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLine:
    """The groups of one geography, level and class of size: all, released, and released by expectation."""

    geography: str
    level: int
    size: int
    groups: int
    released: int
    expected: float
    suppressing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CapSums(ReleasedSums):
    """Sums over released totals, beside true counts with the cap on race codes and with all codes.

    `noise` sums released less capped counts, `cap` capped counts less those of all codes. `groups` are those
    with people if all codes count, `emptied` those of them that the cap leaves without any.
    """

    noise: float = 0.0
    cap: float = 0.0
    noise_square: float = 0.0
    square: float = 0.0
    within_noise: float = 0.0
    within: float = 0.0
    groups: int = 0
    emptied: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CapLine:
    """What the cap on race codes does to the totals of one geography, level and kind of group."""

    geography: str
    level: int
    kind: str
    sums: CapSums


@dataclass(frozen=True, slots=True, kw_only=True)
class Curated(Displayed):
    """Everything that the curator's report shows; `caps` is empty if all race codes count."""

    errors: tuple[ErrorLine, ...]
    groups: tuple[GroupLine, ...]
    notes: tuple[str, ...] = ()
    rehearsal: bool = False
    out: str = ""
    tabulation: AdaptiveTabulation
    max_race_codes: int
    caps: tuple[CapLine, ...] = ()

    def by(
        self, key: Callable[[ErrorLine], Key], *, kinds: Sequence[str] | None = None
    ) -> dict[Key, ErrorSums]:
        """Return the errors summed over the lines that have the same key."""
        sums: dict[Key, ErrorSums] = {}
        for line in self.errors:
            if kinds is None or line.kind in kinds:
                sums[key(line)] = sums.get(key(line), ErrorSums()) + line.errors
        return sums


REACH = 14
"""Standard deviations that the grid covers; both laws have less than 1e-8 beyond."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The chance that a group is kept and, if so, its mean error, mean square and chance to be within."""

    kept: Floats
    mean: Floats
    square: Floats
    within: Floats


class ErrorLaw:
    """The noise of a sum of cells on a grid of integers.

    >>> law = ErrorLaw("zcdp", 100.0, 1)
    >>> round(float(law.expected(np.array([-10**6]), np.array([19])).within[0]), 4)
    0.9489
    """

    def __init__(self, privacy: Privacy, variance: float, cells: int) -> None:
        """`variance` is that of one cell: the parameter of a Gaussian, E X^2 of a Laplace."""
        self.reach = ceil(REACH * sqrt(variance * cells)) + 20
        size = 1 << (2 * self.reach + 1).bit_length()
        x = np.arange(-size // 2, size // 2)
        if variance == 0:
            mass = (x == 0).astype(float)
        elif privacy == "zcdp":
            mass = np.exp(-(x**2) / (2 * variance))
        else:
            ratio = (variance + 1 - sqrt(2 * variance + 1)) / variance  # solves variance = 2 r / (1 - r)^2
            mass = ratio ** np.abs(x)
        mass /= mass.sum()
        if cells > 1:
            wave = np.fft.rfft(np.fft.ifftshift(mass)) ** cells
            mass = np.maximum(np.fft.fftshift(np.fft.irfft(wave, size)), 0)
            mass /= mass.sum()
        self._low, self._high = int(x[0]), int(x[-1])
        self._sums = [np.append(0, np.cumsum(mass * x**power)) for power in range(3)]

    def below(self, value: Ints) -> Floats:
        """Return the chance that the noise is at most a value."""
        chance: Floats = self._sums[0][self._place(value)]
        return np.clip(chance, 0, 1)

    def margin(self, chance: float = 0.95) -> int:
        """Return the smallest integer that the noise does not exceed with this chance."""
        sizes = np.arange(self.reach)
        return int(np.argmax(self.below(sizes) - self.below(-sizes - 1) >= chance))

    def expected(self, cut: Ints, margin: Ints) -> Expected:
        """Return what is expected of groups that are kept if the noise is above `cut`."""
        start, end = self._place(cut), self._sums[0].size - 1
        kept = 1 - self.below(cut)
        safe = np.maximum(kept, 1e-12)
        moments = [(sums[end] - sums[start]) / safe for sums in self._sums]
        inside = self.below(margin) - self._sums[0][np.maximum(start, self._place(-margin - 1))]
        return Expected(kept, moments[1], moments[2], np.clip(inside / safe, 0, 1))

    def _place(self, value: Ints) -> Ints:
        return np.clip(value, self._low - 1, self._high) - self._low + 1


@lru_cache(maxsize=512)
def law(privacy: Privacy, variance: float, cells: int) -> ErrorLaw:
    """Return a law, made once."""
    return ErrorLaw(privacy, variance, cells)


NO_CUT = -(1 << 40)
"""Below every noise: nothing is dropped."""


class ReleaseChances:
    """Chances under given parameters; `classes` are regions of the same blocks that share numbers."""

    def __init__(self, configuration: Configuration, specification: Specification, classes: Classes) -> None:
        self.configuration, groups = configuration, specification.iterations
        tabulation = self.tabulation = configuration.tabulation
        self.simple = np.array([group.total_only for group in groups], dtype=bool)
        self._tabulated = {
            name: np.array([group.tabulated(below=where.below) for group in groups], dtype=bool)
            for name, where in tabulation.geographies.items()
        }
        rank = {
            name: tabulation.order.index(where.like) if where.like in tabulation.order else 0
            for name, where in tabulation.geographies.items()
        }
        self._shared: dict[str, dict[int, tuple[str, ...]]] = {}
        for members in classes:
            names = tuple(sorted((name for name, _ in members), key=rank.__getitem__))
            for name, region in members:
                self._shared.setdefault(name, {})[region] = names
        self.mechanism = lru_cache(maxsize=None)(partial(mechanism, configuration, specification))

    def kept(self, geography: str, level: int, region: Codes, iteration: Codes, count: Ints) -> Floats:
        """Return the chance that groups of these true sizes are released."""
        chances = np.ones(count.size)
        for rows, names in self._parts(geography, region):
            chances[rows] = self._any(names, level, iteration[rows], count[rows])
        return chances

    def kept_if_empty(self, geography: str, level: int, regions: int, iterations: Codes) -> float:
        """Return how many groups would be released if all were empty."""
        every = np.arange(regions, dtype=np.int32)
        zeros = np.zeros(iterations.size, dtype=np.int64)
        return sum(
            rows.size * float(self._any(names, level, iterations, zeros).sum())
            for rows, names in self._parts(geography, every)
        )

    def cut(
        self, geography: str, level: int, region: Codes, iteration: Codes, count: Ints, variance: Floats
    ) -> Ints:
        """Return what the noise of released totals must have been above; the variance tells whose it is."""
        cuts = np.full(count.size, NO_CUT)
        for rows, names in self._parts(geography, region):
            open_ = np.ones(rows.size, dtype=bool)
            for place_mechanism in self._mechanisms(names, level):
                simple = self.simple[iteration[rows]] & place_mechanism.ladder.picks
                noise = np.where(
                    simple, _variance(place_mechanism.total_only), _variance(place_mechanism.stage_two)
                )
                own = open_ & self._tabulated[place_mechanism.geography][iteration[rows]]
                own &= np.isclose(variance[rows], noise, rtol=1e-9, atol=0.0)
                if place_mechanism.suppression is not None:
                    cuts[rows[own]] = place_mechanism.suppression - count[rows[own]]
                open_ &= ~own
        return cuts

    def _parts(self, geography: str, region: Codes) -> Iterator[tuple[NDArray[np.intp], tuple[str, ...]]]:
        """Yield the rows whose regions share their numbers with the same geographies."""
        shared = self._shared.get(geography, {})
        kinds = [(geography,), *sorted(set(shared.values()))]
        number = {names: index for index, names in enumerate(kinds) if index}
        of = np.zeros(int(region.max(initial=-1)) + 1, dtype=np.int64)
        for region_index, names in shared.items():
            if region_index < of.size:
                of[region_index] = number[names]
        which = of[region]
        for index, names in enumerate(kinds):
            rows = np.flatnonzero(which == index)
            if rows.size:
                yield rows, names

    def _any(self, names: Sequence[str], level: int, iteration: Codes, count: Ints) -> Floats:
        """Return the chance that at least one of these geographies releases a group."""
        missed, simple = np.ones(count.size), self.simple[iteration]
        for place_mechanism in self._mechanisms(names, level):
            dropped = np.zeros(count.size)
            if place_mechanism.suppression is not None:
                only, first, second = (
                    law(self.configuration.privacy, _variance(noise), 1)
                    for noise in (
                        place_mechanism.total_only,
                        place_mechanism.stage_one,
                        place_mechanism.stage_two,
                    )
                )
                limit = place_mechanism.suppression - count
                small = np.where(simple, only.below(limit), second.below(limit))
                moved = np.where(simple, 0.0, 1 - first.below(place_mechanism.thresholds[0] - 1 - count))
                dropped = (1 - moved) * small
            missed *= np.where(self._tabulated[place_mechanism.geography][iteration], dropped, 1)
        return 1 - missed

    def _mechanisms(self, names: Sequence[str], level: int) -> list[Mechanism]:
        return [self.mechanism(name, level) for name in names if self.configuration.runs(name, level)]


def _variance(noise: Noise | None) -> float:
    return float(variance_of(noise))


def curate(
    params: Path,
    data: Path,
    out: Path,
    *,
    totals: Totals = None,
    engine: EngineName = "duckdb",
    spark_master: SparkMaster = None,
    memory: Memory = None,
    threads: Threads = None,
    progress: Callable[[int, int], None] | None = None,
) -> Curated:
    """Compare the released tables of `out` with the true counts of `data`; `totals` is that of the run."""
    from discreet.census.mechanism.records import count
    from discreet.records.engine import connect

    params, data, out = Path(params), Path(data), Path(out)
    admit(data, Request(exact_counts=True, entered=False))
    configuration, specification = read_configuration(params), read_specification(params)
    lists = read_lists(
        find_totals(configuration.tabulation, params, data, None if totals is None else Path(totals)),
        specification,
    )
    errors: list[ErrorLine] = []
    groups: list[GroupLine] = []
    caps: list[CapLine] = []
    places = [place for which in configuration.passes for place in configuration.levels(which)]
    with ExitStack() as open_:
        connected = open_.enter_context(
            connect(engine, memory=memory, threads=threads, spark_master=spark_master)
        )
        whole: dict[Place, Counts] = {}
        if configuration.max_race_codes < configuration.most_codes:
            every = replace(configuration, max_race_codes=configuration.most_codes)
            with count(data, every, specification, engine=connected) as counts:
                whole = {place: Counts.of(counts.totals(*place)) for place in places}
        counts = open_.enter_context(count(data, configuration, specification, engine=connected))
        geography, picked = picked_groups(lists, counts.geography, configuration, places)
        regions = geography.regions
        released, summary = read_released(out, specification, regions), read_manifest(out) or {}
        options, water = summary.get("options", {}), read_water(params)
        classes = counts.geography.coterminous(water) if options.get("coterminous") else ()
        releasing = ReleaseChances(configuration, specification, classes)
        for done, place in enumerate(places, 1):
            curated_place = _Place(releasing, counts, released, released.parts[place], picked.get(place))
            errors += curated_place.errors()
            if place in whole:
                caps += curated_place.caps(whole[place], specification)
            iterations = np.array(specification.places(*place), dtype=np.int32)
            groups += curated_place.groups(len(regions[place[0]]), iterations)
            if progress is not None:
                progress(done, len(places))
        notes = tuple(_notes(configuration, released, summary, counts, out, data))
    return Curated(
        errors=tuple(errors),
        groups=tuple(groups),
        notes=notes,
        rehearsal=options.get("rehearsal") is not None,
        out=out.name,
        tabulation=configuration.tabulation,
        max_race_codes=configuration.max_race_codes,
        caps=tuple(caps),
    )


@dataclass(frozen=True, slots=True)
class Counts:
    """True totals: groups with people, as sorted keys, and how many they have."""

    key: Ints
    iteration: Codes
    count: Ints

    @classmethod
    def of(cls, table: ArrowTable) -> Counts:
        """Read the totals of one geography and level."""
        iteration = column(table, "iteration", np.int32)
        return cls(
            keys(column(table, "region", np.int32), iteration), iteration, column(table, "count", np.int64)
        )

    def at(self, wanted: Ints) -> Ints:
        """Return the counts of some groups; one that is not among those with people is empty."""
        position = np.searchsorted(self.key, wanted)
        return np.where(np.append(self.key, -1)[position] == wanted, np.append(self.count, 0)[position], 0)


class _Place:
    """One geography and level: the released groups beside the true ones."""

    def __init__(
        self,
        releasing: ReleaseChances,
        counts: GroupCounts,
        released: Released,
        part: GroupArrays,
        picked: Picked | None,
    ) -> None:
        self._releasing, self._part, self._ladder = releasing, part, part.ladder
        self._picked = None if picked is None else keys(picked.region, picked.iteration)
        self._labels = None if released.bureau else released.labels[part.ladder.name]
        self._where = part.geography, part.level
        table = counts.totals(*self._where)
        self._groups, self._count = (
            (column(table, "region", np.int32), column(table, "iteration", np.int32)),
            column(table, "count", np.int64),
        )
        self._true, self._keys = Counts.of(table), keys(part.region, part.iteration)
        self._total = self._true.at(self._keys)
        self._large = part.keep(part.table > 0)
        self._truth = replace(self._large, values=np.zeros_like(self._large.values))
        fill(counts, self._truth, np.arange(self._truth.size))

    def _cell_variance(self) -> Floats:
        """Return the variance of one cell of each group: as published, or as the parameters say."""
        part = self._part
        if self._labels is not None:
            words = np.array([float(margin.variance) for margin in self._labels.total])
            variance: Floats = (
                words[part.label.astype(np.int64) * len(self._ladder.rungs) + part.table] / part.widths()
            )
            return variance
        place_mechanism = self._releasing.mechanism(*self._where)
        simple = self._releasing.simple[part.iteration] & self._ladder.picks
        return np.where(simple, _variance(place_mechanism.total_only), _variance(place_mechanism.stage_two))

    def caps(self, whole: Counts, specification: Specification) -> list[CapLine]:
        """Return what the cap does to the totals here; `whole` are the counts of all race codes."""
        part, every = self._part, np.arange(self._part.size)
        margin = self._margins("total", every, self._cell_variance(), part.widths())
        noise = part.totals() - self._total
        cap = self._total - whole.at(self._keys)
        error = noise + cap
        sums = {
            "noise": noise,
            "cap": cap,
            "noise_square": noise.astype(float) ** 2,
            "square": error.astype(float) ** 2,
            "within_noise": np.abs(noise) <= margin,
            "within": np.abs(error) <= margin,
        }
        classes = specification.tabulation.answers.kinds
        of = np.array([classes.index(iteration.kind) for iteration in specification.iterations])
        numbers, groups, emptied = (
            np.bincount(of[iteration], minlength=len(classes))
            for iteration in (
                part.iteration,
                whole.iteration,
                whole.iteration[self._true.at(whole.key) == 0],
            )
        )
        totals = {
            name: np.bincount(of[part.iteration], values, len(classes)) for name, values in sums.items()
        }
        return [
            CapLine(
                geography=self._where[0],
                level=self._where[1],
                kind=kind,
                sums=CapSums(
                    numbers=int(numbers[at]),
                    groups=int(groups[at]),
                    emptied=int(emptied[at]),
                    **{name: float(values[at]) for name, values in totals.items()},
                ),
            )
            for at, kind in enumerate(classes)
            if numbers[at] or groups[at]
        ]

    def errors(self) -> list[ErrorLine]:
        """Return the errors of all numbers that were released here."""
        part, cells = self._part, self._part.widths()
        variance = self._cell_variance()
        cut = self._releasing.cut(*self._where, part.region, part.iteration, self._total, variance)
        cut[part.table > 0] = NO_CUT
        every = np.arange(part.size)
        lines = self._lines("total", every, part.totals() - self._total, variance * cells, cells, cut)
        if not self._large.size:
            return lines
        error = published_rows(self._large) - published_rows(self._truth)
        heights = self._ladder.heights[self._large.table]
        group = np.repeat(np.flatnonzero(part.table > 0), heights)
        row = np.arange(error.size) - np.repeat(np.cumsum(heights) - heights, heights)
        many, of_kind = _row_kinds(self._ladder)
        row_kind, added = (table[np.repeat(self._large.table, heights), row] for table in (of_kind, many))
        for number, kind in enumerate(self._ladder.kinds[1:], 1):
            chosen = row_kind == number
            at, summed = group[chosen], added[chosen]
            if at.size:
                none = np.full(at.size, NO_CUT)
                lines += self._lines(kind, at, error[chosen], variance[at] * summed, summed, none)
        return lines

    def _lines(
        self, kind: str, group: NDArray[np.intp], error: Ints, variance: Floats, cells: Ints, cut: Ints
    ) -> list[ErrorLine]:
        """Sum up numbers of one kind, each of a group, with the variance of a sum of so many cells."""
        margin = self._margins(kind, group, variance / cells, cells)
        expected = Expected(*(np.zeros(group.size) for _ in range(4)))
        for error_law, chosen in self._laws(variance / cells, cells):
            part = error_law.expected(cut[chosen], margin[chosen])
            for name in Expected.__slots__:
                getattr(expected, name)[chosen] = getattr(part, name)
        sums = {
            "error": error,
            "absolute": np.abs(error),
            "square": error.astype(float) ** 2,
            "variance": variance,
            "within": np.abs(error) <= margin,
            "expected_error": expected.mean,
            "expected_square": expected.square,
            "expected_within": expected.within,
        }
        code = _size(self._total[group]) * len(self._ladder.rungs) + self._part.table[group]
        many = len(SIZES) * len(self._ladder.rungs)
        numbers = np.bincount(code, minlength=many)
        totals = {name: np.bincount(code, values, many) for name, values in sums.items()}
        return [
            ErrorLine(
                geography=self._where[0],
                level=self._where[1],
                table=self._ladder.names[at % len(self._ladder.rungs)],
                kind=kind,
                size=at // len(self._ladder.rungs),
                errors=ErrorSums(
                    numbers=int(numbers[at]), **{name: float(values[at]) for name, values in totals.items()}
                ),
            )
            for at in np.flatnonzero(numbers).tolist()
        ]

    def _laws(self, each: Floats, cells: Ints) -> Iterator[tuple[ErrorLaw, NDArray[np.intp]]]:
        """Yield the noise of sums of cells of some variance, and where it is that of the numbers."""
        kinds, which = np.unique(np.stack([each, cells]), axis=1, return_inverse=True)
        for index, (variance, many) in enumerate(kinds.T):
            error_law = law(self._releasing.configuration.privacy, float(variance), int(many))
            yield error_law, np.flatnonzero(which.ravel() == index)

    def _margins(self, kind: str, group: NDArray[np.intp], each: Floats, cells: Ints) -> Ints:
        """Return the margins of error of numbers of one kind: as published, or as the parameters say."""
        if self._labels is None:
            margin = np.zeros(group.size, dtype=np.int64)
            for error_law, chosen in self._laws(each, cells):
                margin[chosen] = error_law.margin()
            return margin
        many = len(self._ladder.kinds) - 1
        said = {"total": self._labels.total}
        said |= {own: self._labels.rows[at::many] for at, own in enumerate(self._ladder.kinds[1:])}
        number = self._part.label[group].astype(np.int64) * len(self._ladder.rungs) + self._part.table[group]
        margins: Ints = np.array([stated.margin for stated in said[kind]], dtype=np.int64)[number]
        return margins

    def _listed(self) -> list[GroupLine]:
        """Return the groups of a published list by size: all of them are released."""
        assert self._picked is not None
        many = len(SIZES)
        groups = np.bincount(_size(self._true.at(self._picked)), minlength=many)
        released = np.bincount(_size(self._total), minlength=many)
        return self._group_lines(groups, released, groups, suppressing=False)

    def groups(self, regions: int, iterations: Codes) -> list[GroupLine]:
        """Return how many groups there are and how many were released, by size."""
        count, chances, many = self._count, self._releasing, len(SIZES)
        if self._picked is not None:
            return self._listed()
        groups = np.bincount(_size(count), minlength=many)
        expected = np.bincount(_size(count), chances.kept(*self._where, *self._groups, count), many)
        released = np.bincount(_size(self._total), minlength=many)
        groups[0] += regions * iterations.size - count.size
        # the empty groups: as if all were, less those that are not
        expected[0] += chances.kept_if_empty(*self._where, regions, iterations)
        expected[0] -= chances.kept(*self._where, *self._groups, np.zeros_like(count)).sum()
        suppressing = chances.mechanism(*self._where).suppression is not None
        return self._group_lines(groups, released, expected, suppressing=suppressing)

    def _group_lines(
        self, groups: Ints, released: Ints, expected: Ints | Floats, *, suppressing: bool
    ) -> list[GroupLine]:
        return [
            GroupLine(
                geography=self._where[0],
                level=self._where[1],
                size=index,
                groups=int(groups[index]),
                released=int(released[index]),
                expected=float(expected[index]),
                suppressing=suppressing,
            )
            for index in np.flatnonzero(groups).tolist()
        ]


def _row_kinds(ladder: Ladder) -> tuple[Ints, Ints]:
    """Return how many cells each row of each table adds up, and the number of its kind."""
    shape = len(ladder.rungs), int(ladder.heights.max())
    many, kind = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for table, rung in enumerate(ladder.rungs[1:], 1):
        for index, row in enumerate(rung.rows):
            many[table, index], kind[table, index] = len(row.cells), ladder.kinds.index(row.kind)
    return many, kind


def _size(count: Ints) -> NDArray[np.intp]:
    """Return the class of sizes of each group."""
    return np.searchsorted(SIZES, count, side="right") - 1


def _notes(
    configuration: Configuration,
    released: Released,
    summary: JsonDict,
    counts: GroupCounts,
    out: Path,
    data: Path,
) -> Iterable[str]:
    """Say what a reader must know to read the numbers."""
    options = summary.get("options", {})
    if not summary:
        yield "There is no summary.json beside the tables, so how they were post-processed is not known."
    if configuration.max_race_codes < configuration.most_codes:
        word = configuration.tabulation.answers.word
        yield (
            f"Only the first {configuration.max_race_codes} {word} codes of a person count, in the release "
            "and in the true counts, unless a table says that all codes do."
        )
    if options.get("coterminous") and configuration.tabulation.order:
        yield (
            f"Regions of the same {configuration.tabulation.areas.many} share their numbers, so that errors "
            "come more than once."
        )
    if options.get("tabulation_suppression"):
        yield (
            "Groups whose alone count exceeded the combination count were dropped; "
            "the expectations ignore this."
        )
    if not configuration.allow_negative_counts or options.get("negative") == "zero":
        yield "Counts below zero were set to zero, which raises small ones; the expectations ignore this."
    if options.get("negative") == "drop":
        yield (
            "Groups with a count below zero were dropped, which leaves the larger ones; "
            "the expectations ignore this."
        )
    if released.bureau:
        yield "The tables state no margins of error; those of the parameters are used."
    # the hashes of the inputs of the output's run, if the ledger beside the data has it
    said: set[str] = set()
    receipt, ledger = read_receipt(out), find_ledger(None, data)
    if receipt is not None and ledger is not None:
        for entry in read_ledger(ledger).entries:
            if entry.id == receipt["entry"]:
                said |= {str(item["sha256"]) for item in entry.inputs}
    if said and not {origin["sha256"] for origin in counts.origins()} <= said:
        yield "WARNING: the ledger says that the output was made from other files than these."
