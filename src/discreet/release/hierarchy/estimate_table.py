"""The table of estimates as it is written: every query in every unit, with its intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.estimation.estimates import SharedWork
from discreet.estimation.intervals import count_ends
from discreet.estimation.tables import WholeTables
from discreet.estimation.tree import Floats, Tree
from discreet.numbers import brief
from discreet.release.hierarchy.joint_estimates import Chances, JointEstimates
from discreet.release.tables import Folder, chunks
from discreet.tables import Numbers

LEVELS: Chances = (("90", 0.9), ("95", 0.95))


@dataclass
class Written:
    """A table of estimates that was written: how many are not determined, or have an interval left empty."""

    tree: Tree
    cells: int
    columns: dict[str, str]
    """What each column is."""
    lost: int = 0
    moved: int = 0


def write_estimates(
    folder: Folder,
    found: JointEstimates,
    queries: Sequence[str] | None = None,
    chances: Chances = LEVELS,
    down_to: str | None = None,
    *,
    tables: bool = False,
    cluster: SharedWork | None = None,
) -> Written:
    """Write the estimates of queries in all units, or those down to a level, with intervals."""
    wanted = found.queries(()) if queries is None else queries
    if tables and len(found.groups) > 1:
        raise InputError(
            "whole-number tables add up; estimates of releases that differ do not: leave them out"
        )
    if tables and (not found.counts or found.groups[0].estimates.given.pieces):
        reason = "variances that differ within a query" if found.counts else "values that are not counts"
        raise InputError(f"whole-number tables cannot be made of {reason}: leave them out")
    whole = WholeTables(found.groups[0].estimates) if tables else None
    tree = found.tree.first(found.units_down_to(down_to))
    layout = found.layout(tree, wanted)
    together = found.groups[0].attributes is not None
    counts = found.counts
    written = Written(tree, layout.size, _meanings(chances, tables, together, counts))

    def columns(part: slice) -> dict[str, Numbers]:
        units = np.arange(part.start, part.stop)
        parts = found.at(units)
        made = []
        for query in wanted:
            numbers = found.numbers(parts, len(units), query, chances)
            table, moved = with_ends(*numbers, chances, counts, counts)
            if whole is not None:
                table["table"] = found.groups[0].turned(query, whole.rows(query, units))
            made.append({**table, "moved": moved})
        return joined_columns(made)

    parts = [units for units, _ in chunks(layout)]
    made = map(columns, parts) if cluster is None else cluster.map(columns, parts)

    def counted(_units: slice, _rows: slice) -> dict[str, Numbers]:
        table = dict(next(made))
        written.lost += int(np.isnan(table["estimate"]).sum())
        written.moved += int(table.pop("moved").sum())
        if whole is not None:
            table["table"] = np.ma.masked_less(table["table"], 0)
        return table

    folder.cells("estimates", (layout, counted))
    return written


def with_ends(
    values: Floats,
    deviations: Floats,
    widths: Sequence[Floats],
    chances: Chances,
    whole: NDArray[np.bool_] | bool = True,
    positive: NDArray[np.bool_] | bool = True,
) -> tuple[dict[str, Numbers], Numbers]:
    """Return the columns of estimates with their intervals, and where nothing was left of one.

    Ends are rounded inwards where what is estimated is `whole`, and cut at zero where it is `positive`."""
    lost = np.isnan(values)
    table: dict[str, Numbers] = {"estimate": values, "sd": deviations}
    moved = np.zeros(values.shape, dtype=np.int8)
    for (name, _), width in zip(chances, widths, strict=True):
        ends = count_ends(values, width, whole, positive)
        moved |= ends.moved & ~lost
        table[f"lower{name}"] = np.where(lost, np.nan, ends.lower)
        table[f"upper{name}"] = np.where(lost, np.nan, ends.upper)
    return table, moved


def joined_columns(tables: Sequence[Mapping[str, Numbers]]) -> dict[str, Numbers]:
    """Put the columns of several queries after each other, unit by unit."""
    return {name: np.concatenate([one[name] for one in tables], axis=1).ravel() for name in tables[0]}


def _meanings(chances: Chances, tables: bool, together: bool, counts: bool) -> dict[str, str]:
    found = {
        "estimate": "best linear unbiased estimate; empty: no measurement determines it",
        "sd": "its standard deviation",
    }
    for name, level in chances:
        lower, upper = f"lower end of the {brief(100 * level)} % interval", "upper end"
        if counts:
            lower += ": whole, not negative"
            upper += "; if the interval would be empty, both ends are the nearest count"
        found[f"lower{name}"], found[f"upper{name}"] = lower, upper
    if tables:
        over = "over queries and levels" if together else "over levels, each query by itself"
        found["table"] = f"whole, not negative, consistent {over}; not unbiased"
    return found
