"""How accurate the estimates of a release will be, before anything is released.

The variance of the best linear unbiased estimate depends on the plan and on the tree alone. `accuracy` gives
it for every query at every level, root mean square over the cells of the query, beside that of the noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import numpy as np

from discreet.areas.tree import Floats, Integers, Tree, uniform_tree
from discreet.budget import Release
from discreet.budget.events import Releasable, release_of
from discreet.budget.noise_table import levels_of, noise_lines, queries_of
from discreet.calls import understandable
from discreet.errors import InputError
from discreet.estimation.intervals import View
from discreet.estimation.linear_algebra import one_algebra_thread
from discreet.estimation.model import Model, known_by_level
from discreet.faces import Summarised
from discreet.numbers import times
from discreet.questions import Option

if TYPE_CHECKING:
    from discreet.estimation.whole.forecast import PrintedAccuracy


@dataclass(frozen=True, slots=True)
class QueryAccuracy:
    """One query at one level: standard deviation of its noise (None: not asked) and of its estimate.

    Of sums they are in what is summed, not in units.
    `sd` and `margin95` are None where no measurement determines the query. 95 % of the time the estimate of
    a cell lies within `margin95` of the truth; where cells differ, it is the largest of their margins.
    """

    name: str
    cells: int
    noise_sd: float | None
    sd: float | None
    margin95: float | None


@dataclass(frozen=True, slots=True)
class LevelAccuracy:
    """The accuracy of every query at one level."""

    name: str
    units: float
    queries: tuple[QueryAccuracy, ...]


@dataclass(frozen=True, slots=True)
class Accuracy(Summarised):
    """The accuracy of the estimates of a release: every query at every level.

    Guarantee. Assumed: noise as the release says, estimates by least squares over all measurements together
    (`together`; without attributes over the levels, each query by itself). Claimed: `sd` is the standard
    deviation of these estimates, before anything is rounded or kept from being negative.
    """

    release: str
    children: tuple[float, ...] | None
    together: bool
    levels: tuple[LevelAccuracy, ...]
    printed: PrintedAccuracy | None = None
    """How good printed whole numbers will be, if that was asked for."""

    @property
    def by_query(self) -> dict[tuple[str, str], QueryAccuracy]:
        """Every query at every level, by the names of level and query."""
        return {(level.name, query.name): query for level in self.levels for query in level.queries}

    def sd(self, level: str, query: str) -> float:
        """Return the standard deviation of one query at one level."""
        query_accuracy = self.by_query.get((level, query))
        if query_accuracy is None:
            raise InputError(f"there is no query {query!r} at level {level!r}")
        if query_accuracy.sd is None:
            raise InputError(f"query {query!r} at level {level!r} is not determined")
        return query_accuracy.sd


@understandable
@one_algebra_thread()
def accuracy(
    release: Releasable,
    *,
    tree: Sequence[float] | Tree | None = None,
    tables: Annotated[
        bool, Option("Also simulate printed whole numbers, from synthetic counts; may take minutes.")
    ] = False,
    people: Annotated[
        float | None, Option("With tables: people in a lowest area on average. Default: 40.", "N")
    ] = None,
    seed: Annotated[int, Option("With tables: draw other synthetic counts. Default: 0.", "SEED")] = 0,
) -> Accuracy:
    """Return how accurate the estimates of every query at every level will be.

    `tree` says how many children a unit has on average, for each level below the top (no level is merged
    then), or it is a tree of units. Without it the numbers of the United States in 2020 are taken, for
    releases with its levels. With `tables` whole-number tables of synthetic counts, of `people` in a lowest
    unit on average, are simulated too (`discreet.estimation.whole.forecast` says what is assumed; the same
    `seed` draws the same again).

    >>> found = accuracy("pl94-2020")
    >>> round(found.sd("Tract", "cenrace"), 2)
    2.57
    """
    release = release_of(release)
    model = Model(release.attributes, queries_of(release))
    children: tuple[float, ...] | None = None
    if tree is None or isinstance(tree, Sequence):
        children = uniform_tree(release, tree)
        shape = Tree.chain(children)
        names: tuple[str, ...] = tuple(level.name for level in release.levels)
        units = shape.totals
    else:
        shape, node = tree.folded()
        names = tree.levels
        units = np.bincount(node, minlength=shape.size).astype(np.float64)
    told = known_by_level(release, names)
    steps = {query: variable.step for query, variable in release.variables.items()}
    levels = by_level(View(model, shape, told, model.solve(shape, told)), units, names, steps)
    order = [level.name for level in release.levels]
    levels = tuple(
        sorted(
            levels, key=lambda level_accuracy: [order.index(part) for part in level_accuracy.name.split("+")]
        )
    )
    printed = None
    if tables:
        # loads what only tables need
        from discreet.estimation.whole.forecast import PEOPLE, printed_accuracy

        around = PEOPLE if people is None else people
        printed = printed_accuracy(release, tree if children is None else children, people=around, seed=seed)
    elif people is not None:
        raise InputError("people are for the tables that are simulated: give tables, too")
    return Accuracy(release.name, children, release.attributes is not None, levels, printed)


def by_level(
    view: View, units: Floats, names: Sequence[str], steps: Mapping[str, Fraction]
) -> tuple[LevelAccuracy, ...]:
    """Return the accuracy of the queries of a model at each level; a node stands for so many `units`.

    `steps` are what one unit of the numbers of each query is worth.
    """
    levels = []
    for number, name in enumerate(names):
        nodes = np.flatnonzero(view.shape.kind == number)
        query_accuracies = []
        for query in view.model.queries:
            noise, cells = dict(view.told[number].variances).get(query), view.model.projection(query).cells
            step = steps[query]
            noise_sd, sd, margin = None if noise is None else times(noise**0.5, step), None, None
            mean = _mean_variance(view, query, nodes, units[nodes] / units[nodes].sum())
            if mean is not None:
                widest = float(view.largest_widths(query, 0.95)[nodes].max())
                sd, margin = times(mean**0.5, step), times(widest, step)
            query_accuracies.append(QueryAccuracy(query, cells, noise_sd, sd, margin))
        levels.append(LevelAccuracy(name, float(units[nodes].sum()), tuple(query_accuracies)))
    return tuple(levels)


def _mean_variance(view: View, query: str, nodes: Integers, weights: Floats) -> float | None:
    """Return the mean variance of the cells in nodes of these weights; None if one is not determined."""
    if view.undetermined(query, nodes).any():
        return None
    projection = view.model.projection(query)
    return float(weights @ view.variances(query, nodes) @ projection.class_sizes) / projection.cells


@dataclass(frozen=True, slots=True)
class MarginLine:
    """Queries of a level that are equally accurate: standard deviations and 95 % margins.

    `noise` is None where the level does not ask the query. `estimate` is None where no estimates were asked
    for, and has None in it where no measurement determines the query.
    """

    level: str
    queries: tuple[str, ...]
    noise: tuple[float | None, float | None] | None
    estimate: tuple[float | None, float | None] | None = None
    sums_column: bool = False
    """Whether the numbers are sums of a column: then they have no size of a group to compare them with."""


def margin_lines(release: Release, estimates: Accuracy | None = None) -> tuple[MarginLine, ...]:
    """Return the noise of each level beside the best estimates, queries that are alike in both together.

    A query that a level does not ask has a line of its own if it can be estimated there.

    >>> from discreet.budget import load
    >>> from discreet.estimation import accuracy
    >>> release = load("pl94-2020")
    >>> line = next(one for one in margin_lines(release, accuracy(release)) if one.noise is None)
    >>> line.level, line.queries, round(line.estimate[1], 1)
    ('US', ('total',), 15.0)
    """
    noise = {
        (line.level, name): (line.deviation, line.margin)
        for line in noise_lines(release)
        for name in line.queries
    }
    asked = dict.fromkeys((level, row.query) for level, rows in levels_of(release).items() for row in rows)
    best = {} if estimates is None else {k: (v.sd, v.margin95) for k, v in estimates.by_query.items()}
    known = (goal for goal, margins in best.items() if margins[0] is not None)
    order = {level.name: number for number, level in enumerate(release.levels)}
    sums = {query for query, variable in release.variables.items() if variable.sum is not None}
    alike: dict[tuple[str, object, object, bool], list[str]] = {}
    for level, name in sorted({**asked, **dict.fromkeys(known)}, key=lambda goal: order[goal[0]]):
        key = level, noise.get((level, name)), best.get((level, name)), name in sums
        alike.setdefault(key, []).append(name)
    return tuple(
        MarginLine(level, tuple(names), noise.get((level, names[0])), best.get((level, names[0])), is_sum)
        for (level, _, _, is_sum), names in alike.items()
    )
