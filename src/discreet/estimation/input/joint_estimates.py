"""Measurements of the same people put together: one tree where they agree, else cell by cell.

Where attributes and areas of releases agree, their information adds up in one tree. Where they do not, each
is estimated by itself, and each number is the mean of theirs, weighted by inverse variances: unbiased, with
the smallest variance of any such mean, but not additive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.areas.layout import Layout
from discreet.areas.output import ArrowArray, arrow, strings
from discreet.areas.tree import Floats, Integers, Tree
from discreet.budget import Attributes, Variable
from discreet.budget.level_names import find_level
from discreet.budget.scope import Extent, Scope
from discreet.budget.variables import COUNT
from discreet.errors import InputError
from discreet.estimation.error_laws import Errors, Terms
from discreet.estimation.estimates import (
    Estimates,
    Measurements,
    Moments,
    NoisySource,
    SharedWork,
    Union,
    UnitEstimates,
    inverse_variance_weights,
)
from discreet.estimation.fit import Residuals
from discreet.estimation.input.bounds import Bounds, joint_bounds
from discreet.estimation.input.exact_counts import join_exact
from discreet.estimation.input.published import Exact, Published
from discreet.estimation.intervals import FAR, Noises, mixed_noises
from discreet.estimation.model import Model, as_written
from discreet.estimation.normal import Law
from discreet.estimation.whole.subtrees import TreePart, part_of_source
from discreet.estimation.whole.tables import Settle, WholeTables, settle_here
from discreet.tables import Numbers

FoundUnits = Sequence[tuple[UnitEstimates, NDArray[np.bool_]] | None]
Found = Sequence[tuple[UnitEstimates | Union, NDArray[np.bool_]] | None]
"""The estimates of some units, or of a union of them, in each group, and which of them the group has."""

Chances = Sequence[tuple[str, float]]
"""Levels of intervals, each with the ending of its columns."""

_TOGETHER = "best linear unbiased, all queries and levels together"
_APART = "best linear unbiased, each query by itself: the release states no attributes"
_SEPARATE = (
    "each release by itself, then cell by cell the mean weighted by inverse variances: unbiased, NOT "
    "ADDITIVE, because the releases state no attributes, or differ in attributes or areas"
)


def name_of_query(query: str) -> str:
    """Return the name of a query such as "one race = cenrace[...]"."""
    return query.partition("=")[0].strip()


@dataclass(frozen=True)
class MeasuredTree:
    """Releases that measure one tree: their attributes, and what all of them measured."""

    tree: Tree
    attributes: Attributes | None
    labels: Mapping[str, ArrowArray]
    given: Measurements
    model: Model
    steps: Mapping[str, Fraction]
    releases: tuple[int, ...]
    """The numbers of its releases, from 1."""
    bounds: tuple[Bounds, ...]

    def names(self, query: str) -> ArrowArray:
        """Return the names of the cells of a query, as it is written."""
        if self.attributes is None:
            self.model.projection(query)
            return self.labels[query]
        return strings(list(self.attributes.tabulation(query, sums=True).labels))

    def adds_up(self, query: str) -> tuple[Fraction, Variable | None]:
        """Return what one unit of the numbers of a query is worth, and what else than records it adds up."""
        if self.attributes is None:
            return self.steps.get(query, Fraction(1)), None
        variable = self.attributes.variable_of(query)
        return variable.step, None if variable == COUNT else variable

    def turned(self, query: str, rows: Numbers) -> Numbers:
        """Turn rows of cells into the order in which the query is written."""
        return rows if self.attributes is None else as_written(self.attributes, query, rows)

    def bounded(self, query: str, units: Integers) -> tuple[Floats, Floats] | None:
        """Return the least and largest counts of the cells of a query in some units; those that the group
        does not have (-1) have no bounds."""
        if not self.bounds or self.attributes is None or not self.answers(query):
            return None
        both = joint_bounds(self.bounds, self.attributes.tabulation(query, sums=True), units)
        return self.turned(query, both[0]), self.turned(query, both[1])

    def answers(self, query: str) -> bool:
        """Whether the query can be answered at all."""
        try:
            self.model.projection(query)
        except InputError:
            return False
        return True

    def estimated(self, held: bool | None = None, workers: SharedWork | None = None) -> Group:
        """Return the same with the estimates from all measurements together; see `Estimates`."""
        estimates = Estimates(self.attributes, self.given, held=held, workers=workers, model=self.model)
        own = {field.name: getattr(self, field.name) for field in fields(MeasuredTree)}
        return Group(**own, estimates=estimates)


@dataclass(frozen=True)
class Group(MeasuredTree):
    """Releases that measure one tree, and the estimates from all of them together."""

    estimates: Estimates

    def whole_tables(self, settle: Settle = settle_here) -> WholeTables:
        """Return whole numbers for all units, which keep exact counts and bounds."""
        return WholeTables(self.estimates, bounds=self.bounds, settle=settle)


@dataclass(frozen=True)
class _Moved:
    """A source whose units are some of a larger tree's, in the same order."""

    source: NoisySource
    place: Integers
    laws: Sequence[Mapping[str, Law]]
    cells: Mapping[str, int]
    in_order: bool

    def read(self, units: slice) -> Iterator[tuple[str, Integers, Numbers]]:
        first, last = np.searchsorted(self.place, [units.start, units.stop])
        if last > first:
            for query, who, rows in self.source.read(slice(int(first), int(last))):
                yield query, self.place[who], rows

    def part(self, part: TreePart) -> _Moved:
        """Return the same of some units of the larger tree, numbered as the part's own."""
        own, positions = [], []
        for start, units in zip(part.starts, part.slices, strict=True):
            first, last = np.searchsorted(self.place, [units.start, units.stop])
            own.append(slice(int(first), int(last)))
            positions.append(self.place[first:last] - units.start + start)
        source = part_of_source(self.source, TreePart(tuple(own)))
        return replace(self, source=source, place=np.concatenate(positions))


class JointMeasurements:
    """What one or several groups of releases measured: units, queries and cells, before any estimate."""

    def __init__(
        self, groups: Sequence[MeasuredTree], left_out: Sequence[str] = (), *, as_given: bool = False
    ) -> None:
        """`as_given`: errors are those that a table states, not the noise of a release."""
        self.groups: tuple[MeasuredTree, ...] = tuple(groups)
        self.as_given = as_given
        self.left_out = tuple(left_out)
        tree = groups[0].tree
        names = [measured_tree.tree.names for measured_tree in groups]
        if len(groups) > 1:
            # units of all groups, those of the first one first; there is no tree that they share
            pa = arrow()
            every = pa.chunked_array(names).unique()
            index = [
                arrow("compute").index_in(every, value_set=name).fill_null(-1).to_numpy() for name in names
            ]
            levels = tuple(
                dict.fromkeys(level for measured_tree in groups for level in measured_tree.tree.levels)
            )
            level = np.zeros(len(every), dtype=np.int64)
            for group, at in reversed(list(zip(groups, index, strict=True))):
                code = np.array([levels.index(name) for name in group.tree.levels])
                level[at >= 0] = code[group.tree.kind[at[at >= 0]]]
            tree = Tree(np.full(len(every), -1), level, (0,), levels, every)
            self.index = [at.astype(np.int64) for at in index]
        else:
            self.index = [np.arange(tree.size)]
        self.tree = tree

    @classmethod
    def read(cls, given: Sequence[Published], first: int = 1) -> JointMeasurements:
        """Join the releases that agree in attributes and areas; `first` is the number of the first one."""
        joined: list[list[Published]] = []
        numbers: list[list[int]] = []
        for number, published in enumerate(given, first):
            for some, its in zip(joined, numbers, strict=True):
                if _agree(some, published):
                    some.append(published)
                    its.append(number)
                    break
            else:
                joined.append([published])
                numbers.append([number])
        left = [text for product in given for text in product.left_out]
        groups = [_measured(some, its) for some, its in zip(joined, numbers, strict=True)]
        return JointMeasurements(groups, left, as_given=any(product.assumed for product in given))

    @property
    def counts(self) -> bool:
        """Whether counts were measured, or real numbers."""
        return all(group.given.counts for group in self.groups)

    @property
    def kind(self) -> str:
        """What the estimates are."""
        if len(self.groups) > 1:
            return _SEPARATE
        return _APART if self.groups[0].attributes is None else _TOGETHER

    def queries(self, named: Sequence[str]) -> tuple[str, ...]:
        """Check the queries that are wanted; without any, those that were measured."""
        own = [query for group in self.groups for query in group.model.queries]
        for query in dict.fromkeys(named or own):
            able = [group for group in self.groups if group.answers(query)]
            if not able:
                self.groups[0].model.projection(query)  # says what is wrong
            if any(name_of_query(other) == name_of_query(query) for other in named if other != query):
                raise InputError(
                    f"two queries are called {name_of_query(query)!r}; give them different names"
                )
            names = [group.names(query) for group in able]
            if any(not name.equals(names[0]) for name in names):
                raise InputError(
                    f"the releases have different cells for query {query!r}, so they cannot be combined; "
                    "name the queries you want"
                )
            if len({group.adds_up(query) for group in able}) > 1:
                raise InputError(
                    f"the releases add up different things in query {query!r}: other bounds, units or "
                    "weights; estimate each by itself"
                )
        return tuple(dict.fromkeys(named or own))

    def names(self, query: str) -> ArrowArray:
        """Return the names of the cells of a query."""
        return next(group.names(query) for group in self.groups if group.answers(query))

    def adds_up(self, query: str) -> tuple[Fraction, Variable | None]:
        """Return what one unit of the numbers of a query is worth, and what else than records it adds up."""
        return next(group.adds_up(query) for group in self.groups if group.answers(query))

    def step(self, query: str) -> Fraction:
        """Return what one unit of the numbers of a query is worth: estimates are that many times as large."""
        return self.adds_up(query)[0]

    def layout(self, tree: Tree, queries: Sequence[str]) -> Layout:
        """Return where the cells of queries of some units or areas stand."""
        cells = {name_of_query(query): self.names(query) for query in queries}
        return Layout.same(tree, cells)

    def scope(self, of: Sequence[str], wanted: Sequence[str], units: Integers | None) -> Scope:
        """Return what of the releases some queries in some units are, and what in the files was not used.

        Without units they are in other areas, of which the releases say nothing.
        """
        measured = [query for group in self.groups for query in group.model.queries]
        written = list(dict.fromkeys(map(name_of_query, wanted)))
        queries = Extent.of("query", taken=written, every=[*map(name_of_query, measured), *written])
        scope = Scope.whole(*of, unit="", neighbours="").with_part(queries).without(*self.left_out)
        if units is None:
            return scope
        kinds, first = np.unique(self.tree.kind, return_index=True)
        downward = kinds[np.argsort(first)].tolist()
        there = set(np.unique(self.tree.kind[units]).tolist())
        levels = [self.tree.levels[kind] for kind in downward if kind in there]
        everywhere = [self.tree.levels[kind] for kind in downward]
        areas = Extent.count("area", taken=len(units), every=self.tree.size)
        return scope.with_part(Extent.of("level", taken=levels, every=everywhere)).with_part(areas)

    def units_down_to(self, level: str | None) -> int:
        """Return how many units are written: all, or those down to a level."""
        tree = self.tree
        if level is None:
            return tree.size
        if len(self.groups) > 1:
            raise InputError("down_to is for releases that share a tree")
        level = find_level(level, [part for name in tree.levels for part in name.split("+")]) or level
        wanted = [number for number, name in enumerate(tree.levels) if level in name.split("+")]
        if not wanted:
            raise InputError(f"down_to names level {level!r}; the areas have {', '.join(tree.levels)}")
        last = int(np.flatnonzero(np.isin(tree.kind, wanted))[-1])
        return int(next(part.stop for part in tree.depths if part.start <= last < part.stop))

    def bounds(self, query: str, units: Integers) -> tuple[Floats, Floats] | None:
        """Return the least and largest counts of the cells of a query in some units, or None if none are
        known."""
        pairs = zip(self.groups, self.index, strict=True)
        return _tightest([group.bounded(query, index[units]) for group, index in pairs])


class JointEstimates(JointMeasurements):
    """The estimates of one or several groups of releases, unit by unit and cell by cell.

    Where there are several groups, each is estimated by itself, and the estimate is the mean of theirs, cell
    by cell, weighted by inverse variances.
    """

    groups: tuple[Group, ...]

    @classmethod
    def of(
        cls,
        given: Sequence[Published],
        streamed: bool | None = None,
        workers: SharedWork | None = None,
        first: int = 1,
    ) -> JointEstimates:
        """Join the releases that agree in attributes and areas, and estimate each group; `first` is the
        number of the first release."""
        joint_measurements = cls.read(given, first)
        held = None if streamed is None else not streamed
        groups = [group.estimated(held, workers) for group in joint_measurements.groups]
        return cls(groups, joint_measurements.left_out, as_given=joint_measurements.as_given)

    def at(self, units: Integers, residuals: Sequence[Residuals] = ()) -> FoundUnits:
        """Return the estimates of some units in each group, and which of the units the group has. What is
        read is added to the residuals of the group."""
        estimates: list[tuple[UnitEstimates, NDArray[np.bool_]] | None] = []
        for number, (group, index) in enumerate(zip(self.groups, self.index, strict=True)):
            there, watched = index[units] >= 0, residuals[number] if residuals else None
            estimates.append(
                (group.estimates.at(index[units][there], watched), there) if there.any() else None
            )
        return estimates

    def area_bounds(self, query: str, area: Found) -> tuple[Floats, Floats] | None:
        """Return the same for a union of units, in one row."""
        bounds = []
        for group, some in zip(self.groups, area, strict=True):
            if some is not None and isinstance(some[0], Union):
                both = group.bounded(query, some[0].units)
                bounds.append(both and (both[0].sum(axis=0)[None], both[1].sum(axis=0)[None]))
        return _tightest(bounds)

    def residuals(self, written: int = 0) -> list[Residuals]:
        """Return the residuals of each group. Those of units that are held in memory are already added up,
        unless they will be when the first `written` units are."""
        residuals = [Residuals(group.estimates, group.tree.kind) for group in self.groups]
        for residual in residuals:
            residual.add_held(written)
        return residuals

    def numbers(
        self, parts: FoundUnits, units: int, query: str, chances: Chances
    ) -> tuple[Floats, Floats, list[Floats]]:
        """Return estimates, standard deviations and half-widths of a query in some units."""
        if len(self.groups) == 1:
            assert parts[0] is not None
            part, turn = parts[0][0], self.groups[0].turned
            widths = [turn(query, part.widths(query, level)) for _, level in chances]
            return turn(query, part.values(query)), turn(query, part.deviations(query)), widths
        shape = len(self.groups), units, len(self.names(query))
        values, sizes, codes = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, -1)
        for number, (group, got) in enumerate(zip(self.groups, parts, strict=True)):
            if got is None or not group.answers(query):
                continue
            (part, there), projection = got, group.estimates.model.projection(query)
            values[number, there] = group.turned(query, part.values(query))
            sizes[number, there] = group.turned(query, part.deviations(query)) ** 2
            node = group.estimates.node[part.units][:, None]
            codes[number, there] = group.turned(
                query, projection.classes[None] + len(projection.class_sizes) * node
            )
        codes[np.isnan(sizes)] = -1
        weights, variance = inverse_variance_weights(sizes)
        estimate = np.nansum(weights * values, axis=0)
        lost = np.isnan(variance)
        estimate[lost] = np.nan
        # cells with the same law in every group have the same width
        flat_codes = codes.reshape(len(self.groups), -1)
        distinct, first, of = np.unique(flat_codes, axis=1, return_index=True, return_inverse=True)
        parts_of = []
        for number, group in enumerate(self.groups):
            rows = np.flatnonzero(distinct[number] >= 0)
            if rows.size:
                terms = group.estimates.view.terms(query)
                scale = weights[number].ravel()[first[rows]]
                parts_of.append(terms.picked(distinct[number, rows], rows, scale))
        flat = np.nan_to_num(variance.ravel()[first])
        errors = Errors(flat, [Terms.together(parts_of)], FAR * np.sqrt(flat))
        widths = [errors.half_widths(level)[of.ravel()].reshape(variance.shape) for _, level in chances]
        return estimate, np.sqrt(variance), [np.where(lost, np.nan, width) for width in widths]

    def union(self, members: Integers, weights: Floats | None = None) -> Found:
        """Return a union of units, or a weighted sum of them, in each group that has all of them."""
        unions: list[tuple[Union, NDArray[np.bool_]] | None] = []
        for group, index in zip(self.groups, self.index, strict=True):
            units = index[members]
            whole = bool(np.all(units >= 0))
            unions.append((group.estimates.union(units, weights), np.ones(1, dtype=bool)) if whole else None)
        if all(some is None for some in unions):
            raise InputError("an area is made of areas of several releases that differ; none has all of them")
        return unions

    def area_widths(self, unions: Sequence[Found], query: str, variances: Floats, level: float) -> Floats:
        """Return half-widths of a query in unions."""
        rows = []
        for area in unions:
            moments = self.moments(area, query, area, query) if len(self.groups) > 1 else None
            if moments is not None:
                rows.append(moments.widths(np.zeros_like(moments.a), level))
            elif area[0] is not None:
                rows.append(self.groups[0].turned(query, area[0][0].widths(query, level)))
        return np.concatenate(rows)

    def moments(self, first: Found, query: str, second: Found, its: str) -> Moments:
        """Return estimates of a query in units or a union, and of another query there or in another union."""
        got: list[list[Floats]] = []
        noises: list[Noises] = []
        for group, here, there in zip(self.groups, first, second, strict=True):
            if here is None or there is None or not (group.answers(query) and group.answers(its)):
                continue
            (a, mask), (b, _) = here, there
            turn = group.turned
            rows = [turn(query, a.values(query)), turn(its, b.values(its))]
            rows += [turn(query, a.variances(query)), turn(its, b.variances(its))]
            if isinstance(a, Union) and isinstance(b, Union):
                rows.append(a.covariances(query, b, its))
                mine, of = a.shared(query, b, its)
            else:  # both are the same units
                assert isinstance(a, UnitEstimates)
                rows.append(a.covariances(query, its))
                mine, of = a.shared(query, its)
            wide = [np.full((len(mask), row.shape[1]), np.nan) for row in rows]
            for block, row in zip(wide, rows, strict=True):
                block[mask] = row
            got.append(wide)
            every = np.full((len(mask), rows[0].shape[1]), -1)
            every[mask] = of
            noises.append((mine, every))
        if not got:  # no release tells it
            units = next(len(estimates[1]) for estimates in first if estimates is not None)
            x, y = (np.full((units, len(self.names(name))), np.nan) for name in (query, its))
            return Moments(x, y, x, y, x)
        if len(got) == 1:
            x, y, vx, vy, covariance = got[0]
            return Moments(x, y, vx, vy, covariance, noises[0])
        x, y, vx, vy, covariance = (np.stack(rows) for rows in zip(*got, strict=True))
        wx, vx = inverse_variance_weights(vx)
        wy, vy = inverse_variance_weights(vy)
        both = np.nansum(wx * wy * covariance, axis=0)
        # a sum of nothing is no estimate
        x = np.where(np.isnan(vx), np.nan, np.nansum(wx * x, axis=0))
        y = np.where(np.isnan(vy), np.nan, np.nansum(wy * y, axis=0))
        return Moments(x, y, vx, vy, both, mixed_noises(noises, wx, wy))


def _tightest(bounds: Sequence[tuple[Floats, Floats] | None]) -> tuple[Floats, Floats] | None:
    known = [both for both in bounds if both is not None]
    if not known:
        return None
    return np.max([low for low, _ in known], axis=0), np.min([high for _, high in known], axis=0)


def _agree(some: Sequence[Published], published: Published) -> bool:
    """Whether a release fits into the tree and the attributes of others."""
    largest = max((each.tree for each in some), key=lambda tree: tree.size)
    if any(each.attributes is None for each in [*some, published]):
        return False
    try:
        _attributes([*some, published])
    except InputError:
        return False
    small, large = sorted([published.tree, largest], key=lambda tree: tree.size)
    return _inside(small, large) is not None


def _inside(small: Tree, large: Tree) -> Integers | None:
    """Return the places of a tree's units in a larger tree, or None if they do not have the same parents."""
    if small is large:
        return np.arange(small.size)
    names, known = small.names, large.names
    if arrow("compute").count_distinct(known).as_py() < large.size:
        # a name comes again where one area is the whole of another: the level tells them apart
        names, known = (
            strings(
                [
                    f"{name} {tree.levels[kind]}"
                    for name, kind in zip(tree.names.to_pylist(), tree.kind, strict=True)
                ]
            )
            for tree in (small, large)
        )
    index = arrow("compute").index_in(names, value_set=known).fill_null(-1).to_numpy()
    position = np.append(index, -1).astype(np.int64)
    if (position[:-1] < 0).any() or (np.diff(position[:-1]) <= 0).any():
        return None
    if not np.array_equal(large.parent[position[:-1]], position[small.parent]):
        return None
    return position[:-1]


def _attributes(given: Sequence[Published]) -> Attributes | None:
    """Return attributes that all of the releases are about, with the recodes of all."""
    first = given[0].attributes
    if first is None:
        return None
    recodes, variables = dict(first.recodes), {each.name: each for each in first.variables}
    for other in given[1:]:
        if other.attributes is None or (other.attributes.values, other.attributes.impossible) != (
            first.values,
            first.impossible,
        ):
            raise InputError("the releases have different attributes")
        for name, recode in other.attributes.recodes:
            if recodes.setdefault(name, recode) != recode:
                raise InputError(f"the releases have different recodes {name!r}")
        for variable in other.attributes.variables:
            if variables.setdefault(variable.name, variable) != variable:
                raise InputError(f"the releases add up different things as {variable.name!r}")
    zeros = [{name: list(values) for name, values in cell} for cell in first.impossible]
    values = {name: list(values) for name, values in first.values}
    return Attributes(values, recodes, zeros, variables.values())


def _measured(given: Sequence[Published], numbers: Sequence[int]) -> MeasuredTree:
    """Put releases into one tree."""
    tree = max((published.tree for published in given), key=lambda tree: tree.size)
    attributes = _attributes(given)
    kind, sources = np.zeros(tree.size, dtype=np.int64), []
    exact: Exact = {}
    placed, bounds = [], []
    variables = 1 if attributes is None else len(attributes.variables)
    blocks = {
        query: replace(block, variables=variables)
        for published in given
        for query, block in published.blocks.items()
    }
    for product in given:
        within = _inside(product.tree, tree)
        assert within is not None
        level = np.full(tree.size, len(product.source.laws), dtype=np.int64)
        level[within] = product.kind
        kind = kind * (len(product.source.laws) + 1) + level
        placed.append((product, within, level))
        bounds += [some.placed(within) for some in product.bounds]
    _, first, kind = np.unique(kind, return_index=True, return_inverse=True)
    for product, position, level in placed:
        source, laws = product.source, [*product.source.laws, {}]
        own = [laws[level[unit]] for unit in first.tolist()]
        sources.append(_Moved(source, position, own, source.cells, source.in_order))
        for query, (who, rows) in product.exact.items():
            if query in blocks and rows.shape[1] != blocks[query].cells:
                # nobody is there, so what the other releases add up is zero, too
                assert not rows.any()
                rows = np.zeros((len(who), blocks[query].cells), dtype=np.int64)
            exact[query] = join_exact(query, exact.get(query), (position[who], rows))
    pieces = {name: piece for published in given for name, piece in published.pieces.items()}
    counts = all(published.counts for published in given)
    measured = Measurements(replace(tree, kind=kind.ravel()), tuple(sources), exact, blocks, pieces, counts)
    labels = {query: names for published in given for query, names in published.labels.items()}
    model = Model(attributes, measured.queries, cells=measured.cells, blocks=blocks, pieces=pieces)
    steps = {query: step for published in given for query, step in published.steps.items()}
    return MeasuredTree(tree, attributes, labels, measured, model, steps, tuple(numbers), tuple(bounds))
