"""The risk of everyone in some records, from a release and, if they are there, the numbers that were drawn.

Here records, areas and measurements come together with `discreet.disclosure.records`, which knows neither.
People who share lowest area, cell and prior are one group. Memory follows the records and one row of cells
for each area above the lowest, not the measurements, which are read part by part.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.areas.cells import detailed_cells
from discreet.areas.output import arrow, find_output
from discreet.areas.tree import Floats, Integers, Tree
from discreet.budget import Release, load_file
from discreet.budget.events import release_of
from discreet.budget.noise_table import noises
from discreet.budget.scope import Extent, Scope
from discreet.budget.variables import COUNT
from discreet.disclosure.area_paths import MOST_WIDE, SimulatedLaw
from discreet.disclosure.category import counting_queries, possible_cells
from discreet.disclosure.evidence import EvidenceLaw, PresentLaw, evidence_law, evidence_of
from discreet.disclosure.odds import Prior
from discreet.disclosure.paths_above import PathAbove, paths_above, rounded_counts
from discreet.disclosure.questions import RiskingRecords
from discreet.disclosure.record_curves import RiskCurve, group_curve, noise_curve, rest_curve
from discreet.disclosure.record_example import DecisionMap, ExamplePerson, decision_map, example_person
from discreet.disclosure.records import (
    MOST_OUTCOMES,
    AdversaryView,
    AreaRisk,
    EachPerson,
    GroupRisk,
    OffRisk,
    PeopleRisk,
    RecordsRisk,
    SizeRisk,
    TwoLevelLaws,
    group_risk,
    is_above,
    level_sight,
    off_rows,
    people_rows,
    ratio_histogram,
    size_rows,
)
from discreet.errors import InputError
from discreet.estimation.estimates import Estimates
from discreet.estimation.input.joint_estimates import JointEstimates
from discreet.estimation.input.measurements import read_published
from discreet.estimation.input.published import Published
from discreet.estimation.intervals import View
from discreet.estimation.model import Model, known_by_level
from discreet.files import readable
from discreet.ledger.admission import Request, admit
from discreet.loss.values import Number
from discreet.noise import DiscreteGaussian, Noise
from discreet.numbers import prior as read_prior
from discreet.questions import asked_with
from discreet.records.records import Examined, examine_records
from discreet.tables import TableSource
from discreet.tables.problems import Problems

TOGETHER = "all levels together"
COLUMN = "column:"
RATES = ("flat", "population", "area")
HIERARCHY = "with the hierarchy"
ALL_ABOVE = "with all levels above"
ESTIMATED = "after estimation"

EVALUATIONS = 1 << 17
"""Releases that are drawn to average over the noise of all levels above: shared by the laws."""

FEWEST_DRAWS, MOST_DRAWS, MOST_LAWS, SEED = 64, 1 << 15, 2048, 2020
ROUNDING = (0.0, 0.1, 0.2, 0.5, 1.0, 3.0)
"""By how much numbers may be rounded if there were more laws."""

Bools = NDArray[np.bool_]


@asked_with(RiskingRecords)
def records_risk(asked: RiskingRecords) -> RecordsRisk:
    """Return the risk of everyone in some records, expected over the noise of a release and as drawn.

    Records and areas (`units`) are as `tabulate` takes them; `noisy` is the output of `measure`, or a noisy
    table, and gives release and areas if they are not named. `query` is whose cells people are looked for in:
    by default the one of most cells at the lowest level. Each of `priors` is a chance such as "1/10", `flat`
    (one over the number of cells), `population` (the rate of the person's cell among all), `area` (among
    those of the person's area of `prior_level`, by default the level above the lowest), or `column:NAME`, a
    column of the records, which `[input]` may describe. With `estimates` there are also adversaries who look
    at the best estimates from all queries, with their variances. Every record counts as a person.

    The result is confidential. It says nothing that the records do not, but nothing in it has noise.

    >>> import tempfile
    >>> from discreet.measurement import write_example
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release, units, records, _ = write_example(folder)
    ...     risk = records_risk(load_file(release), records, units=units, priors=["1/10"])
    >>> risk.people, risk.uniques, round(risk.row("District").mean_posterior, 4)  # slow
    (2410, 26, 0.1083)
    """
    admit(asked.records, Request(exact_counts=True, entered=False))
    if asked.noisy is not None:
        with readable(Path(asked.noisy)):
            os.stat(asked.noisy)
    release, units = _named(asked)
    problems = Problems()
    with problems.gathering():
        query = _query(release, asked.query)
    _check_priors(release, asked, problems)
    if asked.example is not None and asked.noisy is None:
        problems.say("an example needs the numbers drawn (--noisy)")
    problems.stop()  # before the records are read
    columns = {
        str(prior): str(prior).removeprefix(COLUMN) for prior in asked.priors if str(prior).startswith(COLUMN)
    }
    examined = examine_records(release, replace(asked, units=units), chances=list(columns.values()))
    examined.problems.stop()
    people = _People.grouped(release, query, examined, columns)
    shown = None if asked.noisy is None else _drawn(Path(asked.noisy), release, units, people.tree)
    return _Study(release, query, people, shown).result(
        asked.priors, asked.prior_level, estimates=asked.estimates, example=asked.example
    )


def _named(asked: RiskingRecords) -> tuple[Release, TableSource]:
    """Return the release and the table of areas: those that are named, or those of the numbers drawn."""
    folder = None if asked.noisy is None or not Path(asked.noisy).is_dir() else Path(asked.noisy)
    if asked.release is not None:
        release = release_of(asked.release)
    else:
        written = find_output(folder, "release", ["toml"])
        if written is None:
            raise InputError("the release is not known: name it, or the output of `measure` that has it")
        release = load_file(written)
    listed = asked.units if asked.units is not None else find_output(folder, "units")
    if listed is None:
        raise InputError("records need a table of areas: all areas, inhabited or not, must be known")
    return release, listed


def _check_priors(release: Release, asked: RiskingRecords, problems: Problems) -> None:
    """Say what is wrong with the priors, as far as it can be told without the records."""
    if not asked.priors:
        problems.say("at least one prior is needed, such as 1/10, flat, population or area")
    labels = list(map(str, asked.priors))
    for given in asked.priors:
        if labels.count(str(given)) > 1:
            problems.say(f"prior {given} is given twice")
        if isinstance(given, str) and (given in RATES or given.startswith(COLUMN)):
            continue
        with problems.gathering():
            if isinstance(given, str) and not given[:1].isdigit() and not given.startswith("."):
                raise InputError(
                    f"prior is {given!r}; it must be a chance such as 1/10, flat, population, area, or "
                    "column:NAME"
                )
            read_prior(given)
    if asked.prior_level is not None:
        with problems.gathering():
            release.level(asked.prior_level)
        if "area" not in labels:
            problems.say("a level of the prior (--prior-level) is about prior area; add --prior area")


def _drawn(source: Path, release: Release, units: TableSource, tree: Tree) -> Published:
    """Read the numbers that were drawn, of the same areas."""
    folder = source if source.is_dir() else None
    streamed = True if folder is not None and find_output(folder, "measurements", ["parquet"]) else None
    listed = units if isinstance(units, str | Path) and find_output(folder, "units") is None else None
    shown = read_published(source, release=release, units=listed, streamed=streamed)
    if shown.tree.digest != tree.digest:
        raise InputError(
            f"the areas of the records are not those of {source}: give the table of areas that was measured"
        )
    return shown


def _query(release: Release, query: str | None) -> str:
    """Return the query in whose cells people are looked for."""
    attributes = release.attributes
    if attributes is None:
        raise InputError(f"release {release.name!r} states no attributes, so its queries cannot be counted")
    attributes = attributes.with_variables((COUNT,))
    lowest = counting_queries(release.levels[-1])
    known = dict.fromkeys(name for level in release.levels for name in counting_queries(level))
    if query is None:
        query = max(lowest, key=lambda name: attributes.tabulation(name).cells, default="total")
    elif query not in known:
        names = ", ".join(map(repr, known)) or "none"
        raise InputError(
            f"release {release.name!r} has no query {query!r} that counts records; it has {names}"
        )
    table = attributes.tabulation(query)
    if table.cells < 2 or not table.is_covering:
        raise InputError(
            f"query {query!r} does not put every record into one of several cells; name another (--query)"
        )
    return query


@dataclass(frozen=True)
class _People:
    """Groups of people who share lowest area, cell and priors of columns; `of` is each person's group."""

    tree: Tree
    record: Integers
    of: Integers
    unit: Integers
    cell: Integers
    cells: int
    people: Integers
    columns: Mapping[str, Floats]

    @staticmethod
    def grouped(release: Release, query: str, examined: Examined, columns: Mapping[str, str]) -> _People:
        """Group the records that count; `columns` are those of their priors, by the name of the prior."""
        assert release.attributes is not None
        assert examined.tree is not None
        attributes = release.attributes.with_variables((COUNT,))
        record = np.flatnonzero(examined.counted)
        if not record.size:
            raise InputError("the records have no rows: there is nobody whose risk could be said")
        unit, cells = examined.unit[record], attributes.tabulation(query).cells
        cell = detailed_cells(attributes, query)[examined.cell[record]]
        chances = {
            prior: np.array([float(value) for value in numbers.values])[numbers.codes[record]]
            for prior, numbers in ((prior, examined.columns.numbers[name]) for prior, name in columns.items())
        }
        distinct, of = np.unique(unit * cells + cell, return_inverse=True)
        for values in chances.values():
            _, code = np.unique(values, return_inverse=True)
            distinct, of = np.unique(of.ravel() * (int(code.max()) + 1) + code.ravel(), return_inverse=True)
        of = of.ravel().astype(np.int64)
        first = np.empty(len(distinct), dtype=np.int64)
        first[of[::-1]] = np.arange(len(of) - 1, -1, -1)
        own = {prior: values[first] for prior, values in chances.items()}
        return _People(examined.tree, record, of, unit[first], cell[first], cells, np.bincount(of), own)

    def above(self) -> list[Integers]:
        """Return for each kind of area the area of it that each group is in; -1 where there is none."""
        tree, at = self.tree, self.unit
        depth = np.searchsorted(np.array(tree.starts), np.arange(tree.size), side="right") - 1
        areas = [np.full(at.size, -1, dtype=np.int64) for _ in tree.levels]
        for level in range(len(tree.starts) - 1, -1, -1):
            here = (at >= 0) & (depth[at] == level)
            for kind in np.unique(tree.kind[at[here]]):
                mine = here & (tree.kind[at] == kind)
                areas[kind][mine] = at[mine]
            at = np.where(here, tree.parent[at], at)
        return areas

    def counted(self, area: Integers) -> Integers:
        """Return how many people share area and cell with each group; 0 where the area is none."""
        key = np.where(area >= 0, area * self.cells + self.cell, -1)
        _, of = np.unique(key, return_inverse=True)
        sums = np.bincount(of.ravel(), self.people).astype(np.int64)
        return np.where(area >= 0, sums[of.ravel()], 0)


@dataclass
class _Noisy:
    """The noisy counts of each group's cell by kind of area, and their sums over all parts of its parent."""

    values: dict[int, Floats]
    family: dict[int, Floats]


def _read_noisy(shown: Published, query: str, people: _People, areas: list[Integers]) -> _Noisy:
    """Read the measurements once, part by part, and keep what is asked of them."""
    tree, cell = people.tree, people.cell
    values = {kind: np.full(cell.size, np.nan) for kind in range(len(tree.levels))}
    orders = [np.argsort(area, kind="stable") for area in areas]
    sorted_areas = [area[order] for area, order in zip(areas, orders, strict=True)]
    parents = np.unique(tree.parent[tree.parent >= 0])
    sums = np.zeros((parents.size, people.cells))
    for name, who, rows in shown.source.read(slice(0, tree.size)):
        if name != query:
            continue
        for kind in np.unique(tree.kind[who]):
            first, last = np.searchsorted(sorted_areas[kind], [who[0], who[-1] + 1])
            some = orders[kind][first:last]
            positions = np.searchsorted(who, areas[kind][some])
            values[kind][some] = rows[positions, cell[some]]
        above = tree.parent[who]
        begin = np.flatnonzero(np.diff(above, prepend=-2))  # parts of one area stand together
        begin = begin[above[begin] >= 0]
        if begin.size:
            start = int(begin[0])
            at = np.searchsorted(parents, above[begin])
            np.add.at(sums, at, np.add.reduceat(rows[start:], begin - start, axis=0))
    family = {}
    for kind, area in enumerate(areas):
        above = np.where(area >= 0, tree.parent[area], -1)
        row = np.minimum(np.searchsorted(parents, above), parents.size - 1)
        family[kind] = np.where(above >= 0, sums[row, cell] if parents.size else np.nan, np.nan)
    return _Noisy(values, family)


class _LawsOnDemand(Sequence[PresentLaw]):
    """Laws with the hierarchy, by pairs of numbers: siblings, and others in them. None is kept."""

    def __init__(self, laws: TwoLevelLaws, pairs: Integers) -> None:
        self._laws, self._pairs = laws, pairs

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, index: int) -> PresentLaw:  # type: ignore[override]
        siblings, rest = self._pairs[index]
        return self._laws.law(int(siblings), int(rest))


def _simulated(
    paths: Mapping[int, PathAbove], of: Integers, rests: Integers, people: Integers
) -> tuple[list[SimulatedLaw], Integers, float]:
    """The laws of the evidence by path and others in the siblings, drawn, and which of them each group has.

    If there are too many, numbers of areas and of others are rounded: by how much at most is said.
    """
    for tolerance in ROUNDING:
        alike: dict[object, int] = {}
        same = {number: alike.setdefault(path.rounded(tolerance), number) for number, path in paths.items()}
        shape = np.array([same.get(number, -1) for number in range(max(paths) + 1)])[of]
        near = rounded_counts(rests, tolerance)
        law = shape
        for column in near.T:
            _, law = np.unique(law * (int(column.max()) + 1) + column, return_inverse=True)
        distinct, first, law = np.unique(law, return_index=True, return_inverse=True)
        if distinct.size <= MOST_LAWS:
            break
    share = np.bincount(law.ravel(), people) / people.sum()  # half for each law alike, half by its people
    draws = np.clip(EVALUATIONS / 2 * (share + 1 / distinct.size), FEWEST_DRAWS, MOST_DRAWS).astype(np.int64)
    random, laws = np.random.default_rng(SEED), []
    for row, many in zip(first.tolist(), draws.tolist(), strict=True):
        path = paths[int(shape[row])]
        laws.append(path.areas.drawn_law(near[row, : len(path.beside)].tolist(), many, random))
    return laws, law.ravel().astype(np.int64), tolerance


class _Study:
    """One query of one release, the groups of people, and what adversaries see of them."""

    def __init__(self, release: Release, query: str, people: _People, shown: Published | None) -> None:
        self.release, self.query, self.people, self.shown = release, query, people, shown
        self.tree = people.tree
        known = noises(release, self.tree.levels)
        order = {level.name: position for position, level in enumerate(release.levels)}
        kinds = sorted(range(len(self.tree.levels)), key=lambda k: order[self.tree.levels[k].split("+")[0]])
        self.noise: dict[int, Noise] = {
            kind: known[self.tree.levels[kind], query].single()
            for kind in kinds
            if (self.tree.levels[kind], query) in known
        }
        self.left_out = [
            (self.tree.levels[kind], "does not ask this query") for kind in kinds if kind not in self.noise
        ]
        if not self.noise:
            raise InputError(f"no level that areas have asks query {query!r}")
        self.kinds = [kind for kind in kinds if kind in self.noise]
        self.lowest = self.kinds[-1]
        self.laws: TwoLevelLaws | None = None
        self.siblings = 0  # what most groups of people have
        self.rounded = 0.0  # numbers of areas and others, by how much at most
        self.areas = people.above()
        self.count = {kind: people.counted(self.areas[kind]) for kind in kinds}
        self.noisy = None if shown is None else _read_noisy(shown, query, people, self.areas)

    def result(
        self, priors: Sequence[Number], level: str | None, *, estimates: bool, example: int | None
    ) -> RecordsRisk:
        """Ask every adversary, for every prior; `example` is the row of the person to look at."""
        sights = [*self._levels(), *self._together(), *self._hierarchy()]
        sights += self._all_above(sights)
        sights += self._estimates() if estimates else []
        rows: list[PeopleRisk] = []
        sizes: list[SizeRisk] = []
        offs: list[OffRisk] = []
        curves: list[RiskCurve] = []
        histograms, areas = [], []
        each: dict[tuple[str, str], GroupRisk] = {}
        own: dict[str, Floats] = {}
        examples: list[ExamplePerson] = []
        maps: list[DecisionMap] = []
        people, certain = self.people.people, 0
        for given in priors:
            label, prior = self._prior(given, level)
            own[label] = prior.present
            sure = int(people[prior.absent <= 0].sum())
            certain = max(certain, sure)
            for sight in sights:
                risk = group_risk(sight, prior)
                each[label, sight.name] = risk
                rows += people_rows(label, sight, prior, risk, people)
                histograms.append(ratio_histogram(label, sight, prior, risk, people))
                if sight.kind == "level":
                    areas.append(self._areas(label, sight, risk))
            lowest = self.tree.levels[self.lowest]
            here = self.areas[self.lowest] >= 0
            low = each[label, lowest].at(here)
            sizes += size_rows(label, self.count[self.lowest][here], low, people[here])
            off = None
            if self.noisy is not None:
                off = self.noisy.values[self.lowest] - (self.count[self.lowest] - 1)
            offs += off_rows(label, self.noise[self.lowest], prior, off, people)
            examples += self._example(label, prior, each, example)
            if np.ptp(prior.present) == 0 and not sure:
                curves += self._curves(label, float(prior.present[0]))
                maps += self._decisions(label, Fraction(float(prior.present[0])))
        together = self.people.counted(self.people.unit)
        names = tuple(self.tree.names.to_pylist())
        persons = EachPerson(self.people.record, self.people.of, self.people.unit, names, together, own, each)
        return RecordsRisk(
            scope=self._scope,
            release=self.release.name,
            query=self.query,
            cells=self._possible(),
            people=int(people.sum()),
            uniques=int(people[together == 1].sum()),
            levels=tuple(self.tree.levels[kind] for kind in self.kinds),
            priors=tuple(own),
            rows=tuple(rows),
            sizes=tuple(sizes),
            offs=tuple(offs),
            left_out=tuple(self.left_out),
            is_drawn=self.noisy is not None,
            is_rehearsal=self.shown is not None and self.shown.marked,
            certain=certain,
            variances=tuple(self.noise[kind].true_variance() for kind in self.kinds),
            rounded=self.rounded,
            histograms=tuple(histograms),
            areas=tuple(areas),
            curves=tuple(curves),
            examples=tuple(examples),
            decisions=tuple(maps),
            each=persons,
        )

    @property
    def _scope(self) -> Scope:
        """Adversaries see the counts of one query, of all that the release asks."""
        release = self.release
        queries = (query.name for level in release.levels for query in level.queries)
        return Scope.whole(release.name, unit=release.unit, neighbours=release.neighbours).with_part(
            Extent.of("query", taken=[self.query], every=queries)
        )

    def _possible(self) -> int:
        """The number of cells that some record may have."""
        assert self.release.attributes is not None
        return possible_cells(self.release.attributes.with_variables((COUNT,)), self.query)

    # -- adversaries -----------------------------------------------------------------------------------

    def _levels(self) -> list[AdversaryView]:
        views = []
        for kind in self.kinds:
            values = None if self.noisy is None else self.noisy.values[kind]
            name, asked = self.tree.levels[kind], self.areas[kind] >= 0
            views.append(level_sight(name, self.noise[kind], self.count[kind], values, asked))
        return views

    def _together(self) -> list[AdversaryView]:
        """Someone who knows the largest areas: the evidence of all levels adds up."""
        there = np.array([self.areas[kind] >= 0 for kind in self.kinds])
        chains, of = np.unique(there, axis=1, return_inverse=True)
        if len(self.kinds) < 2 or (chains.sum(axis=0) < 2).all():
            return []
        asked = chains.any(axis=0)  # somebody may be in no area that asks
        laws = [
            evidence_law([self.noise[kind] for kind, is_in in zip(self.kinds, chain, strict=True) if is_in])
            for chain in chains.T[asked]
        ]
        law = np.where(asked, np.cumsum(asked) - 1, -1)[of.ravel()]
        drawn = None
        if self.noisy is not None:
            drawn = np.zeros(self.people.cell.size)
            for kind, inside in zip(self.kinds, there, strict=True):
                off = self.noisy.values[kind] - (self.count[kind] - 1)
                drawn += np.where(inside, evidence_of(self.noise[kind], np.where(inside, off, 0.0)), 0.0)
        smallest = len(self.kinds) - 1 - np.argmax(there[::-1], axis=0)  # of the areas that ask
        counts = np.stack([self.count[kind] for kind in self.kinds])
        unique = counts[smallest, np.arange(smallest.size)] == 1
        return [AdversaryView(TOGETHER, "together", laws, law, unique, drawn)]

    def _hierarchy(self) -> list[AdversaryView]:
        """The paper's: the lowest area is known, the area above and the siblings are seen."""
        tree, lowest, noise = self.tree, self.lowest, self.noise
        area = self.areas[lowest]
        above = np.where(area >= 0, tree.parent[area], -1)
        kinds = np.unique(tree.kind[above[above >= 0]])
        if kinds.size != 1 or int(kinds[0]) not in noise:
            if len(self.kinds) > 1:
                self.left_out.append((HIERARCHY, "needs one level above the lowest that asks this query"))
            return []
        upper = int(kinds[0])
        if any(noise[kind].stated_variance is None for kind in (lowest, upper)):
            self.left_out.append((HIERARCHY, "needs discrete Gaussian noise"))
            return []
        children = np.bincount(tree.parent[tree.parent >= 0], minlength=tree.size)
        alike = np.bincount(tree.parent[(tree.kind == lowest) & (tree.parent >= 0)], minlength=tree.size)
        seen = (above >= 0) & (children[above] == alike[above])  # families of one kind of area
        if not seen.any():
            self.left_out.append((HIERARCHY, "needs families of areas of one kind"))
            return []
        siblings = np.where(seen, children[above] - 1, -1)
        laws = self.laws = TwoLevelLaws(noise[lowest].size, noise[upper].size)
        many, often = np.unique(siblings[seen], return_counts=True)
        self.siblings = int(many[np.argmax(often)])
        if laws.outcomes(int(siblings.max())) > MOST_OUTCOMES:
            self.laws = None
            self.left_out.append((HIERARCHY, "needs noise of the siblings that is less wide"))
            return []
        far = np.array([laws.far(many) if many > 0 else 0 for many in range(int(siblings.max()) + 1)])
        rest = np.where(seen, np.minimum(self.count[upper] - self.count[lowest], far[siblings]), -1)
        pairs, of = np.unique(np.stack([siblings, rest], axis=1)[seen], axis=0, return_inverse=True)
        law = np.full(area.size, -1, dtype=np.int64)
        law[seen] = of.ravel()
        every = _LawsOnDemand(laws, pairs)
        drawn = None
        if self.noisy is not None:
            drawn = np.full(area.size, np.nan)
            known = (self.count[lowest] - 1)[seen]
            own, group = (self.noisy.values[kind][seen] for kind in (lowest, upper))
            drawn[seen] = laws.evidence(
                own - known, group - known, self.noisy.family[lowest][seen] - own, siblings[seen]
            )
        unique = self.count[lowest] == 1
        return [AdversaryView(HIERARCHY, "hierarchy", every, law, unique, drawn)]

    def _all_above(self, others: Sequence[AdversaryView]) -> list[AdversaryView]:
        """As with the hierarchy, but all areas above are seen, with their other parts, merged or not."""
        unit = self.people.unit
        if len(self.kinds) < 2:
            return []
        if any(noise.stated_variance is None for noise in self.noise.values()):
            self.left_out.append((ALL_ABOVE, "needs discrete Gaussian noise"))
            return []
        sizes = {kind: float(noise.size) for kind, noise in self.noise.items()}
        of, every = paths_above(self.tree, sizes)
        of = of[unit]
        some = np.flatnonzero(np.array([bool(path.kinds) for path in every])[of])  # whom somebody asks about
        paths = {int(number): every[number] for number in np.unique(of[some])}
        told = [view for view in others if view.kind == "hierarchy"]
        if max(len(path.kinds) for path in paths.values()) < 3 and told and (told[0].law >= 0).all():
            return []  # the two levels are all there are
        if max(path.areas.width for path in paths.values()) > MOST_WIDE:
            self.left_out.append((ALL_ABOVE, "needs noise that is less wide"))
            return []
        drawn = None if self.noisy is None else np.full(unit.size, np.nan)
        unique, order = np.zeros(unit.size, dtype=np.bool_), some[np.argsort(of[some], kind="stable")]
        rests = np.zeros((unit.size, max(len(path.beside) for path in paths.values())), dtype=np.int64)
        edges = np.searchsorted(of[order], [*paths, self.tree.size])
        for (path, start), stop in zip(zip(paths.values(), edges, strict=False), edges[1:], strict=True):
            mine = order[start:stop]
            counts = np.column_stack([self.count[kind][mine] for kind in path.kinds])
            unique[mine] = counts[:, 0] == 1
            rests[mine, : len(path.beside)] = np.minimum(np.diff(counts, axis=1), path.areas.far())
            if drawn is not None:
                drawn[mine] = self._seen_above(path, mine, counts[:, 0] - 1)
        law = np.full(unit.size, -1, dtype=np.int64)
        laws, law[some], self.rounded = _simulated(paths, of[some], rests[some], self.people.people[some])
        return [AdversaryView(ALL_ABOVE, "above", laws, law, unique, drawn)]

    def _seen_above(self, path: PathAbove, mine: Integers, known: Integers) -> Floats:
        """The evidence of the numbers drawn, of the lowest area and of all above it."""
        assert self.noisy is not None
        noisy = np.column_stack([self.noisy.values[kind][mine] for kind in path.kinds])
        family = np.column_stack([self.noisy.family[kind][mine] for kind in path.kinds])[:, :-1]
        seen = np.array([noise is not None and noise.count > 0 for noise in path.beside], dtype=np.bool_)
        sums = np.where(seen, family - noisy[:, :-1], 0.0)
        noisy = noisy - known[:, None]
        own = (noisy[:, 0] - 0.5) / path.variances[0]
        return np.asarray(own + path.areas.evidence_from_above(noisy[:, 1:], sums))

    def _estimates(self) -> list[AdversaryView]:
        """As of each level, from the best estimates of all queries of the release: variances and numbers."""
        view, node, made = self._best()
        classes = view.model.projection(self.query).classes[self.people.cell]
        variances = view.variances(self.query, np.arange(view.shape.size))
        open_cells = view.undetermined(self.query, np.arange(view.shape.size))
        views = []
        for kind in self.kinds:
            area = self.areas[kind]
            inside = area >= 0
            own = np.where(inside, variances[node[area], classes], 0.0)
            own = np.where(inside & ~open_cells[node[area], classes], own, 0.0)
            distinct, of = np.unique(np.round(own, 9), return_inverse=True)
            usable = distinct >= 1e-4
            laws = [
                EvidenceLaw.of_noise(DiscreteGaussian(variance=Fraction(v)))
                for v in distinct[usable].tolist()
            ]
            law = np.where(usable[of.ravel()], (np.cumsum(usable) - 1)[of.ravel()], -1)
            drawn = None
            if made is not None:
                off = self._estimated(made, area) - (self.count[kind] - 1)
                drawn = np.where(law >= 0, (off - 0.5) / np.where(law >= 0, own, 1.0), np.nan)
            name = f"{self.tree.levels[kind]}, {ESTIMATED}"
            sizes = tuple(distinct[usable].tolist())
            unique = self.count[kind] == 1
            views.append(AdversaryView(name, "estimates", laws, law.astype(np.int64), unique, drawn, sizes))
        return views

    def _best(self) -> tuple[View, Integers, Estimates | None]:
        """The covariances of the best estimates, the node of each area, and the estimates of what was drawn.

        Counts that were published without noise are known to whoever reads the numbers drawn.
        """
        if self.shown is not None:
            made = JointEstimates.of([self.shown]).groups[0].estimates
            return made.view, made.node, made
        release, tree = self.release, self.tree
        shape, node = tree.folded()
        queries = dict.fromkeys(query.name for level in release.levels for query in level.queries)
        model, told = Model(release.attributes, list(queries)), known_by_level(release, tree.levels)
        return View(model, shape, told, model.solve(shape, told)), node, None

    def _estimated(self, made: Estimates, area: Integers) -> Floats:
        """The estimates of each group's cell in an area of one kind; nan where there is none."""
        estimates, order = np.full(area.size, np.nan), np.argsort(area, kind="stable")
        order = order[np.searchsorted(area[order], 0) :]
        units, first = np.unique(area[order], return_index=True)
        step = max(1, (1 << 21) // max(made.width, 1))
        for start in range(0, units.size, step):
            some = units[start : start + step]
            stop = first[start + step] if start + step < units.size else order.size
            mine = order[first[start] : stop]
            rows = made.at(some).values(self.query)
            estimates[mine] = rows[np.searchsorted(some, area[mine]), self.people.cell[mine]]
        return estimates

    def _curves(self, label: str, chance: float) -> list[RiskCurve]:
        """The paper's figures for the noise and the areas of this release, and one prior for all."""
        curves = [noise_curve(label, self.noise[self.lowest], chance)]
        if self.laws is not None and self.siblings:
            curves.append(rest_curve(label, self.laws, self.siblings, chance))
            curves.append(group_curve(label, self.laws, self.siblings, chance))
        return curves

    def _decisions(self, label: str, chance: Fraction) -> list[DecisionMap]:
        """Figure 4, for the number of siblings that most have."""
        if self.laws is None or not self.siblings:
            return []
        figure = decision_map(label, chance, self.laws.variances, self.siblings)
        return [] if figure is None else [figure]

    def _example(
        self, label: str, prior: Prior, each: Mapping[tuple[str, str], GroupRisk], row: int | None
    ) -> list[ExamplePerson]:
        """Tables 6 to 8: whom the hierarchy tells most about, of those unique in both areas, if any are."""
        if self.noisy is None or self.laws is None:
            if row is not None:
                raise InputError("an example needs two levels that ask the query")
            return []
        lowest, known = self.lowest, np.where(prior.absent > 0, each[label, HIERARCHY].drawn_ratio, np.nan)
        if np.isnan(known).all() and row is None:
            return []
        area = self.areas[lowest]
        above = np.where(area >= 0, self.tree.parent[area], -1)
        if row is not None:
            places = np.flatnonzero(self.people.record == row - 1)
            if not places.size or np.isnan(known[self.people.of[places[0]]]):
                raise InputError(
                    f"example is {row}; it must be the row of a record that counts, of somebody about whom "
                    f"the prior leaves a doubt, in a {self.tree.levels[lowest]} of a family of such areas"
                )
            chosen = int(self.people.of[places[0]])
        else:
            upper = int(self.tree.kind[above[~np.isnan(known)][0]])
            unique = [self.count[kind] == 1 for kind in (lowest, upper)]
            rank = unique[0].astype(np.int64) + (unique[0] & unique[1])
            order = np.lexsort((np.nan_to_num(known, nan=-1.0), np.where(np.isnan(known), -1, rank)))
            chosen = int(order[-1])
            row = int(self.people.record[np.flatnonzero(self.people.of == chosen)[0]]) + 1
        upper = int(self.tree.kind[above[chosen]])
        here, over = (int(self.count[kind][chosen]) for kind in (lowest, upper))
        drawn = [int(self.noisy.values[kind][chosen]) for kind in (lowest, upper)]
        names = [str(self.tree.names[int(unit)].as_py()) for unit in (area[chosen], above[chosen])]
        all_above = each.get((label, ALL_ABOVE))
        return [
            example_person(
                label,
                float(prior.present[chosen]),
                record=row,
                areas=(names[0], names[1]),
                levels=(self.tree.levels[lowest], self.tree.levels[upper]),
                siblings=int(np.count_nonzero(self.tree.parent == above[chosen])) - 1,
                variances=self.laws.variances,
                counts=(here, over, over - here),
                noisy=(drawn[0], drawn[1], int(self.noisy.family[lowest][chosen]) - drawn[0]),
                above=None if all_above is None else float(all_above.drawn_posterior[chosen]),
                cells=self._cells_of(area == area[chosen], int(self.people.cell[chosen])),
            )
        ]

    def _cells_of(self, inside: Bools, first: int) -> tuple[tuple[str, int], ...]:
        """The people of some groups by cell: the first one, then the others from the largest down."""
        assert self.release.attributes is not None
        attributes = self.release.attributes.with_variables((COUNT,))
        written = np.zeros(self.people.cells, dtype=np.int64)
        written[detailed_cells(attributes, self.query)] = detailed_cells(attributes, self.query, written=True)
        labels = list(attributes.tabulation(self.query).labels)
        many = np.bincount(self.people.cell[inside], self.people.people[inside]).astype(np.int64)
        others = [int(cell) for cell in np.argsort(-many, kind="stable") if many[cell] and cell != first]
        return tuple((labels[written[cell]], int(many[cell])) for cell in (first, *others))

    # -- priors and areas --------------------------------------------------------------------------------

    def _prior(self, given: Number, level: str | None) -> tuple[str, Prior]:
        """Return the name of a prior, and the chance that it gives each group."""
        people, many = self.people, self.people.cell.size
        if isinstance(given, str) and given.startswith(COLUMN):
            values = people.columns[given]
            return given, Prior(values, 1.0 - values)
        if given == "flat":
            cells = self._possible()
            return "flat", Prior(np.full(many, 1.0 / cells), np.full(many, 1.0 - 1.0 / cells))
        if given in RATES:
            area = np.zeros(many, dtype=np.int64) if given == "population" else self._prior_areas(level)
            inside = people.counted(area)
            _, of = np.unique(area, return_inverse=True)
            total = np.bincount(of.ravel(), people.people)[of.ravel()]
            return str(given), Prior(inside / total, (total - inside) / total)
        chance = read_prior(given)
        return str(given), Prior(np.full(many, float(chance)), np.full(many, float(1 - chance)))

    def _prior_areas(self, level: str | None) -> Integers:
        """The area of each group among whose people the rates are those of the prior."""
        if level is not None:
            names = {self.release.level(level).name}
            kinds = [kind for kind, run in enumerate(self.tree.levels) if names & {*run.split("+")}]
            areas = np.full(self.people.cell.size, -1, dtype=np.int64)
            for kind in kinds:
                areas = np.maximum(areas, self.areas[kind])
            if (areas < 0).any():
                raise InputError(f"some people are in no area of level {level!r}; name another for the prior")
            return areas
        above = self.tree.parent[self.people.unit]
        return np.where(above >= 0, above, self.people.unit)

    def _areas(self, label: str, sight: AdversaryView, risk: GroupRisk) -> AreaRisk:
        """The people of each area of a level, for the adversary of that level."""
        kind = self.tree.levels.index(sight.name)
        seen = self.areas[kind] >= 0
        units, of = np.unique(self.areas[kind][seen], return_inverse=True)
        of, people, mine = of.ravel(), self.people.people[seen], risk.at(seen)

        def summed(values: Floats | Bools) -> Floats:
            return np.asarray(np.bincount(of, people * values, minlength=units.size), dtype=np.float64)

        total = np.bincount(of, people, minlength=units.size)
        drawn: tuple[Floats | None, Integers | None, Floats | None] = (None, None, None)
        if sight.drawn is not None:
            largest = np.zeros(units.size)
            np.maximum.at(largest, of, mine.drawn_ratio)
            doubled = summed(is_above(mine.drawn_ratio, 2.0)).astype(np.int64)
            drawn = summed(mine.drawn_ratio) / total, doubled, largest
        return AreaRisk(
            label,
            sight.name,
            tuple(self.tree.names.take(arrow().array(units)).to_pylist()),
            total.astype(np.int64),
            summed(sight.is_unique[seen]).astype(np.int64),
            summed(mine.posterior) / total,
            summed(mine.ratio) / total,
            summed(mine.ratio_above[1]),
            *drawn,
        )
