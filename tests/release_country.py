"""A small country: two states, one of which is merged with its only county, and its tables."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TOML = """
name = "small"
unit = "person"
neighbours = "bounded"

[[levels]]
name = "Nation"
queries = { "sex" = { variance = "9" } }

[[levels]]
name = "State"
queries = { "total" = { variance = "4" }, "sex" = { variance = "5" } }

[[levels]]
name = "County"
queries = { "total" = { variance = "6" }, "sex" = { variance = "7/2" } }

[spine]
may_merge_up = ["County"]
"""

UNITS = [
    ("N", "Nation", ""),
    ("A", "State", "N"),
    ("B", "State+County", "N"),
    ("A1", "County", "A"),
    ("A2", "County", "A"),
    ("A3", "County", "A"),
]
SEXES = ("f", "m")
LEAVES = {"A1": (301, 7), "A2": (0, 0), "A3": (12, 40), "B": (5, 0)}


@dataclass
class Country:
    """Rows of a table of counts that tests may spoil before it is written."""

    folder: Path
    rows: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        totals = {unit: np.array(counts) for unit, counts in LEAVES.items()}
        totals["A"] = totals["A1"] + totals["A2"] + totals["A3"]
        totals["N"] = totals["A"] + totals["B"]
        for unit, level, parent in UNITS:
            sexes = {("sex", cell): int(n) for cell, n in zip(SEXES, totals[unit], strict=True)}
            cells = sexes if level == "Nation" else {("total", "all"): int(totals[unit].sum())} | sexes
            for (query, cell), count in cells.items():
                row = {"unit": unit, "parent": parent, "level": level, "query": query, "cell": cell}
                self.rows.append(row | {"count": count})

    def find(self, unit: str, query: str, cell: str) -> dict[str, Any]:
        """Return one row."""
        return next(r for r in self.rows if (r["unit"], r["query"], r["cell"]) == (unit, query, cell))

    def csv(self, name: str = "counts.csv") -> Path:
        """Write the rows as CSV."""
        path = self.folder / name
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(self.rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        return path

    def parquet(self, name: str = "counts.parquet") -> Path:
        """Write the rows as Parquet."""
        path = self.folder / name
        pq.write_table(pa.Table.from_pylist(self.rows), path)
        return path
