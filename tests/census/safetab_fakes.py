"""A tiny nation in memory: what the engine would have counted, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from safetab_facts import LADDER, groups_of_safetab

from discreet.census.mechanism.adaptive import Mechanism
from discreet.census.mechanism.groups import Iteration, Specification, Stability

ONE = Stability(value=1, race=1, ethnicity=0, paired=True, reached=True, why="for the test")


def specification(count: int, *, total_only: Sequence[int] = (), level: int = 1) -> Specification:
    """Groups of one level, alone and in combination by turns; each has a code of its own pair."""
    iterations = tuple(
        Iteration(
            code=f"{1000 + i}",
            name=f"group {i}",
            level=level,
            kind="combination" if i % 2 else "alone",
            total_only=i in total_only,
        )
        for i in range(count)
    )
    mapped = {f"c{i // 2}": (f"{1000 + i // 2 * 2}", f"{1001 + i // 2 * 2}") for i in range(0, count - 1, 2)}
    return groups_of_safetab(iterations=iterations, codes={code: code for code in mapped}, mapped=mapped)


def mechanism(**changes: Any) -> Mechanism:
    """A mechanism of a county, without noise unless it is given."""
    given: dict[str, Any] = {
        "geography": "COUNTY",
        "level": 1,
        "budget": None,
        "stability": ONE,
        "total_only": None,
        "stage_one": None,
        "stage_two": None,
        "thresholds": (100, 200, 300),
        "suppression": 0,
        "ladder": LADDER,
    }
    return Mechanism(**{**given, **changes})


@dataclass(frozen=True)
class FakeCounts:
    """True cells by geography and level: regions x iterations x 2 sexes x 23 ages."""

    true: Mapping[tuple[str, int], NDArray[np.int64]]

    def regions(self, geography: str) -> list[str]:
        """The regions of a geography."""
        size = next(cells.shape[0] for (where, _), cells in self.true.items() if where == geography)
        return [f"{i:05}" for i in range(size)]

    def totals(self, geography: str, level: int) -> pa.Table:
        """The groups that are not empty."""
        sums = self.true[geography, level].sum(axis=(2, 3))
        region, iteration = np.nonzero(sums)
        return pa.table(
            {
                "region": region.astype(np.int32),
                "iteration": iteration.astype(np.int32),
                "count": sums[region, iteration],
            }
        )

    def cells(self, geography: str, level: int, groups: pa.Table) -> pa.Table:
        """The cells of some groups that are not zero, in no order that could be relied on."""
        region, iteration = (groups.column(name).to_numpy() for name in ("region", "iteration"))
        cells = self.true[geography, level][region, iteration]
        group, sex, age = (part[::-1] for part in np.nonzero(cells))
        return pa.table(
            {
                "region": region[group],
                "iteration": iteration[group],
                "cell": (sex * cells.shape[-1] + age).astype(np.int32),
                "count": cells[group, sex, age],
            }
        )
