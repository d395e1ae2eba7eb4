"""Coded records: what the one reading of a file leaves, small integers in Parquet, apart for each state.

They are as confidential as the records. They lie in a directory that only its owner can read, and go at the
end: in the engine's, or, for a run that may be resumed, beside the output. Such a run that is interrupted
leaves them, with a note of what they were made from, and the next one goes on from there. The note goes
before noise is drawn: after that nothing is resumed. A cluster reads the records and sums up those that are
alike, in one plan; what it finds is stored and counted on this machine, as all else.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import InputError
from discreet.release.commit import try_lock
from discreet.release.engine import Engine, Relation, connect
from discreet.release.engine.duckdb import DuckDB
from discreet.release.hierarchy.arrow import arrow
from discreet.release.safetab.people import NOWHERE, summed

FEW = 1_000_000
"""Up to so many records are counted all at once."""


NOTE = "coded.json"
"""Says that all records are coded, and what from."""


@dataclass(frozen=True, slots=True)
class Resumable:
    """Where the coded records of a run stay if it is interrupted, and what they were made from."""

    folder: Path
    made_from: dict[str, object]

    @classmethod
    def beside(cls, out: Path, made_from: dict[str, object]) -> Resumable:
        """Return the place beside an output."""
        return cls(out.parent / f".discreet-{out.name}.coded", made_from)


class Parts:
    """The coded records of a run, state by state."""

    def __init__(self, reader: Engine, resumable: Resumable | None = None) -> None:
        """`reader` reads the records; `engine`, on this machine, does the rest: the same one, if it can."""
        self._reader, self._resumable, self._open = reader, resumable, ExitStack()
        if isinstance(reader, DuckDB):
            self.engine = reader
        else:
            local = self._open.enter_context(connect("duckdb"))
            assert isinstance(local, DuckDB)
            self.engine = local
        self._lock: int | None = None
        own = self.engine.place / self.engine.fresh()
        self._folder = own if resumable is None else resumable.folder
        try:
            self.complete = resumable is not None and self._found(resumable)
        except BaseException:
            self._open.close()
            raise
        """Whether all records are here already, from a run that was interrupted."""

    def _found(self, resumable: Resumable) -> bool:
        """Take the directory, and say whether it holds the records of such a run."""
        folder, made_from = resumable.folder, resumable.made_from
        if folder.is_symlink():
            raise InputError(f"{folder} is a link; coded records are not kept behind one")
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.stat()
        if state.st_uid != os.getuid() or state.st_mode & 0o077:
            raise InputError(f"{folder} can be read by others; remove it, or make it private to you")
        self._lock = try_lock(folder)
        if self._lock is None:
            raise InputError(f"another run uses {folder}; wait for it, or name another output")
        if not (folder / NOTE).is_file():
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            return False
        if json.loads((folder / NOTE).read_text(encoding="utf-8")) != made_from:
            os.close(self._lock)
            raise InputError(
                f"{folder} has the records of an interrupted run with other parameters, data or version; "
                "remove it to start again"
            )
        return True

    def write(self, records: Relation, progress: Callable[[float], None] | None = None) -> None:
        """Compute and store the records; this reads their file."""
        if self._reader is not self.engine:
            records = self.engine.upload(self._reader.fetch(summed(records)))
        self.engine.store(records, self._folder / "coded", by="part", progress=progress)
        if self._reader is not self.engine:
            self.engine.drop(records)

    def note(self) -> None:
        """Remember that all records are here and right, so that the run can be resumed."""
        if self._resumable is not None:
            made = self._folder / f"{NOTE}.new"
            made.write_text(json.dumps(self._resumable.made_from), encoding="utf-8")
            os.replace(made, self._folder / NOTE)

    def forget(self) -> None:
        """Make sure that the run is never resumed: noise is about to be drawn."""
        if self._resumable is not None:
            (self._folder / NOTE).unlink(missing_ok=True)
            handle = os.open(self._folder, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)

    def place(self, name: str, state: int | None = None) -> Path:
        """Return the folder of a table of one state, or a pattern for those of all states."""
        return self._folder / name / ("*" if state is None else f"part={state}")

    def batches(self) -> list[tuple[int, ...]]:
        """Return which states are counted together: each by itself, or all if there are few records."""
        files = sorted((self._folder / "coded").glob("part=*/*.parquet"))
        states = sorted({int(file.parent.name.partition("=")[2]) for file in files} - {NOWHERE})
        rows = sum(arrow("parquet").read_metadata(file).num_rows for file in files)
        return [(state,) for state in states] if rows > FEW else [tuple(states)] * bool(states)

    def of(self, *states: int) -> Relation:
        """Return the records of some states."""
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

    def close(self, error: type[BaseException] | None = None) -> None:
        """Remove what was stored, unless an interrupted run (`error`) can be resumed from it."""
        interrupted = error is not None and not issubclass(error, Exception)
        if not (interrupted and self._resumable is not None and (self._folder / NOTE).exists()):
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        self._open.close()
