"""Areas of a user's own: unions of the units of a release, and their estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from discreet.estimation.tree import Tree
from discreet.files import FilePath
from discreet.release.hierarchy.bounds import cut_ends
from discreet.release.hierarchy.estimate_table import (
    in_real_numbers,
    joined_columns,
    with_ends,
    with_sampling,
)
from discreet.release.hierarchy.joint_estimates import Chances, Found, JointEstimates
from discreet.release.hierarchy.layout import Layout, units_of
from discreet.release.hierarchy.sampling import SamplingErrors
from discreet.release.tables import strings
from discreet.tables import Numbers, read_table


def flat_tree(names: Sequence[str], level: str) -> Tree:
    """Return areas as a tree of one level, in the order given."""
    many = len(names)
    return Tree(np.full(many, -1), np.zeros(many, np.int64), (0,), (level,), strings(list(names)))


def read_areas(path: FilePath, found: JointEstimates) -> dict[str, Found]:
    """Read unions of units: area, unit."""
    table = read_table(path, words=["area", "unit"], of="areas")
    unit, area = units_of(table, found.tree), table.words["area"]
    table.problems.stop()
    names = enumerate(area.values.to_pylist())
    return {name: found.union(unit[area.codes == code]) for code, name in names}


def area_estimates(
    found: JointEstimates,
    unions: Mapping[str, Found],
    queries: Sequence[str],
    chances: Chances,
    sampling: SamplingErrors | None = None,
) -> tuple[Layout, dict[str, Numbers]]:
    """Return the layout and columns of the estimates of unions of units."""
    tables = []
    for query in queries:
        if sampling is not None:
            rows = [with_sampling(found, one, query, sampling, chances)[0] for one in unions.values()]
            table = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
            tables.append(in_real_numbers(table, found.step(query)))
            continue
        got = [found.moments(one, query, one, query) for one in unions.values()]
        values, variances = (
            np.concatenate(rows) for rows in zip(*((m.a, m.var_a) for m in got), strict=True)
        )
        widths = [found.area_widths(list(unions.values()), query, variances, level) for _, level in chances]
        table = with_ends(values, np.sqrt(variances), widths, chances)[0]
        bounds = [both for one in unions.values() if (both := found.area_bounds(query, one)) is not None]
        if len(bounds) == len(unions):
            lower, upper = (np.concatenate(sides) for sides in zip(*bounds, strict=True))
            cut_ends(table, [name for name, _ in chances], lower, upper)
        tables.append(in_real_numbers(table, found.step(query)))
    return found.layout(flat_tree(list(unions), "area"), queries), joined_columns(tables)
