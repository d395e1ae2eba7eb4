"""Coded records: what the one reading of a file leaves, small integers in Parquet, apart for each state.

They are as confidential as the records. They lie in the engine's private directory, which goes at the end.
Few records are not worth files, and a cluster spreads rows itself: there the engine keeps them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from discreet.release.engine import Engine, Relation
from discreet.release.engine.duckdb import DuckDB
from discreet.release.hierarchy.arrow import arrow
from discreet.release.safetab.people import NOWHERE

FEW = 1_000_000
"""Up to so many records are counted all at once."""


class Parts:
    """The coded records of a run, state by state."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._kept: Relation | None = None
        self._folder = engine.place / engine.fresh()

    def write(self, records: Relation) -> None:
        """Compute and store the records; this reads their file."""
        if isinstance(self.engine, DuckDB):
            self.engine.store(records, self._folder / "coded", by="part")
        else:
            self._kept = self.engine.keep(records)

    def place(self, name: str, state: int | None = None) -> Path:
        """Return the folder of a table of one state, or a pattern for those of all states."""
        return self._folder / name / ("*" if state is None else f"part={state}")

    def batches(self) -> list[tuple[int, ...]]:
        """Return which states are counted together: each by itself, or all if there are few records."""
        if self._kept is not None:
            return [()]
        files = sorted((self._folder / "coded").glob("part=*/*.parquet"))
        states = sorted({int(file.parent.name.partition("=")[2]) for file in files} - {NOWHERE})
        rows = sum(arrow("parquet").read_metadata(file).num_rows for file in files)
        return [(state,) for state in states] if rows > FEW else [tuple(states)] * bool(states)

    def of(self, *states: int) -> Relation:
        """Return the records of some states, or all that the engine keeps."""
        if self._kept is not None:
            return self._kept
        assert isinstance(self.engine, DuckDB)
        return self.engine.stored(*(self.place("coded", state) for state in states))

    def wrong(self) -> bool:
        """Whether a record breaks a rule."""
        if self.place("coded", NOWHERE).exists():
            return True
        batches = self.batches()
        if not batches:
            return False
        rows = self.of(*(state for batch in batches for state in batch))
        bad = rows.filter(rows.wrong > 0)
        return bool(self.engine.fetch(bad.agg(rows=bad.count())).column("rows").to_pylist()[0])

    def close(self) -> None:
        """Remove what was stored."""
        if self._kept is not None:
            self.engine.drop(self._kept)
        shutil.rmtree(self._folder, ignore_errors=True)
