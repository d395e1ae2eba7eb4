"""Measurements of one release as the estimates take them: cells in the order of the attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from discreet.areas.layout import Laws, Layout, cell_order
from discreet.areas.output import ArrowArray
from discreet.areas.tree import Integers, Tree
from discreet.budget import Attributes, Release, Tabulation
from discreet.estimation.estimates import InMemory, NoisySource, Rows
from discreet.estimation.input.bounds import Bounds
from discreet.estimation.model import Piece

LARGEST = 10**13
"""The largest absolute value of a noisy count."""

_LARGEST_SUM = 10**15
"""The largest absolute value of a noisy sum, in units: a float still has its last digit."""


def largest_of(release: Release) -> int:
    """Return the largest absolute value that noisy numbers of a release may have."""
    return _LARGEST_SUM if any(variable.is_sum for variable in release.variables.values()) else LARGEST


Exact = dict[str, Rows]
"""Counts held exact: for each query the units, and a row of cells for each, in the order of a layout."""


@dataclass(frozen=True)
class Published:
    """The measurements of one release, as the estimates take them: cells in the order of the attributes."""

    tree: Tree
    attributes: Attributes | None
    labels: Mapping[str, ArrowArray]
    """The names of the cells of each query, where no attributes say them."""
    source: NoisySource
    exact: Exact
    format: str
    marked: bool
    """Whether it comes from a rehearsal."""
    origin: dict[str, object]
    kind: Integers
    """The kind of each unit, by which the source has its laws."""
    blocks: Mapping[str, Tabulation] = field(default_factory=dict)
    """Cells that some units cannot have, by the name they have in `exact`."""
    left_out: tuple[str, ...] = ()
    """What stands in the files and was not used, and why."""
    pieces: Mapping[str, Piece] = field(default_factory=dict)
    """Parts of queries, in `source` and `exact` in the place of the whole query."""
    counts: bool = True
    """Whether what was measured are counts, or real numbers."""
    assumed: str = ""
    """The law that the noise is taken to have, if no release states it."""
    bounds: tuple[Bounds, ...] = ()
    """Least and largest counts."""
    steps: Mapping[str, Fraction] = field(default_factory=dict)
    """What one unit of the numbers of a query is worth, where no attributes say it, if not 1."""


def in_memory(layout: Layout, values: Integers, laws: Laws, attributes: Attributes | None) -> InMemory:
    """Return noisy counts as a layout has them, with the laws of the noise by kind and query."""
    noisy = {}
    for query in layout.queries:
        first = layout.first(query)
        who = np.flatnonzero(first >= 0)
        noisy[query] = who, values[first[who][:, None] + cell_order(layout, query, attributes)]
    return InMemory(laws, noisy)


def published(
    layout: Layout,
    source: NoisySource,
    exact: Exact,
    attributes: Attributes | None,
    format: str,
    marked: bool = False,
    origin: dict[str, object] | None = None,
    steps: Mapping[str, Fraction] | None = None,
) -> Published:
    """Return measurements of a source, and counts held exact, which stand as the layout has them."""
    turned = {
        query: (who, rows[:, cell_order(layout, query, attributes)]) for query, (who, rows) in exact.items()
    }
    return Published(
        layout.tree,
        attributes,
        layout.cells,
        source,
        turned,
        format,
        marked,
        origin or {},
        layout.kind,
        steps=steps or {},
    )
