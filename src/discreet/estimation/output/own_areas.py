"""Areas of a user's own: unions or weighted sums of the units of a release, and their estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from discreet.areas.layout import Layout, units_of
from discreet.areas.output import strings
from discreet.areas.tree import Tree
from discreet.estimation.input.bounds import cut_ends
from discreet.estimation.input.joint_estimates import Chances, Found, JointEstimates
from discreet.estimation.input.sampling import SamplingErrors
from discreet.estimation.output.estimate_table import (
    in_real_numbers,
    joined_columns,
    with_ends,
    with_sampling,
)
from discreet.tables import Numbers, TableSource, read_table


def flat_tree(names: Sequence[str], level: str) -> Tree:
    """Return areas as a tree of one level, in the order given."""
    many = len(names)
    return Tree(np.full(many, -1), np.zeros(many, np.int64), (0,), (level,), strings(list(names)))


def read_areas(source: TableSource, joint_estimates: JointEstimates) -> dict[str, Found]:
    """Read unions of units: area, unit; or weighted sums of them, if there is a column weight."""
    table = read_table(source, words=["area", "unit"], optional_gaps=["weight"], name="the areas", of="areas")
    unit, area, weight = (
        units_of(table, joint_estimates.tree),
        table.words["area"],
        table.numbers.get("weight"),
    )
    if weight is not None:
        table.problems.rows(~np.isfinite(weight), "a weight is missing or not a finite number", "weight")
    pair = np.where(
        unit >= 0, area.codes * np.int64(joint_estimates.tree.size) + unit, -1 - np.arange(table.rows)
    )
    again = np.ones(table.rows, dtype=bool)
    again[np.unique(pair, return_index=True)[1]] = False
    table.problems.rows(again, "an area names another twice", "unit")
    table.problems.stop()
    unions = {}
    for code, name in enumerate(area.values.to_pylist()):
        mine = area.codes == code
        unions[name] = joint_estimates.union(unit[mine], None if weight is None else weight[mine])
    return unions


def area_estimates(
    joint_estimates: JointEstimates,
    unions: Mapping[str, Found],
    queries: Sequence[str],
    chances: Chances,
    sampling: SamplingErrors | None = None,
) -> tuple[Layout, dict[str, Numbers]]:
    """Return the layout and columns of the estimates of unions of units."""
    tables = []
    every = [[union for union in area if union is not None] for area in unions.values()]
    whole, positive = (
        np.array([all(getattr(union, what) for union, _ in area) for area in every])
        for what in ("is_whole", "is_positive")
    )
    for query in queries:
        if sampling is not None:
            rows = [
                with_sampling(joint_estimates, union, query, sampling, chances)[0]
                for union in unions.values()
            ]
            table = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
            tables.append(in_real_numbers(table, joint_estimates.step(query)))
            continue
        got = [joint_estimates.moments(union, query, union, query) for union in unions.values()]
        values, variances = (
            np.concatenate(rows) for rows in zip(*((m.a, m.var_a) for m in got), strict=True)
        )
        widths = [
            joint_estimates.area_widths(list(unions.values()), query, variances, level)
            for _, level in chances
        ]
        deviations = np.sqrt(variances)
        table = with_ends(values, deviations, widths, chances, whole[:, None], positive[:, None])[0]
        bounds = [
            both
            for union in unions.values()
            if (both := joint_estimates.area_bounds(query, union)) is not None
        ]
        if len(bounds) == len(unions):
            lower, upper = (np.concatenate(sides) for sides in zip(*bounds, strict=True))
            cut_ends(table, [name for name, _ in chances], lower, upper)
        tables.append(in_real_numbers(table, joint_estimates.step(query)))
    return joint_estimates.layout(flat_tree(list(unions), "area"), queries), joined_columns(tables)
