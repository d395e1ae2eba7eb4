"""Work that an interrupted run leaves beside its output, so that the same command goes on from it.

The directory can be read by its owner only, and is locked while a run uses it. A note in it says what the
work was made from: a run with other inputs or options does not take it for its own.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import InputError
from discreet.files import belongs_to_another, open_to_others, sync, whole_file
from discreet.ledger.locks import try_lock


@dataclass(frozen=True, slots=True)
class Resumable:
    """Where the work of a run stays if it is interrupted, and what it was made from."""

    folder: Path
    made_from: Mapping[str, object]
    what: str = "records"
    note: str = "coded.json"

    @classmethod
    def beside(cls, out: Path, made_from: Mapping[str, object]) -> Resumable:
        """Return the place of coded records beside an output."""
        return cls(out.parent / f".discreet-{out.name}.coded", made_from)

    @classmethod
    def of_tables(cls, out: Path, made_from: Mapping[str, object]) -> Resumable:
        """Return the place of whole-number tables beside an output."""
        return cls(out.parent / f".discreet-{out.name}.tables", made_from, "tables", "tables.json")

    def take(self) -> int:
        """Make the directory, or find it, and return a handle that holds its lock."""
        folder = self.folder
        if folder.is_symlink():
            raise InputError(f"{folder} is a link; {self.what} are not kept behind one")
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.stat()
        if belongs_to_another(state) or open_to_others(state):
            raise InputError(f"{folder} can be read by others; remove it, or make it private to you")
        lock = try_lock(folder)
        if lock is None:
            raise InputError(f"another run uses {folder}; wait for it, or name another output")
        return lock

    def found(self) -> bool:
        """Whether the directory holds work of such a run; what no note speaks for is removed."""
        file = self.folder / self.note
        if not file.is_file():
            for path in self.folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            return False
        try:
            said = json.loads(file.read_bytes())
        except ValueError:  # damaged
            said = None
        if said != self.made_from:
            raise InputError(
                f"{self.folder} has the {self.what} of an interrupted run with other parameters, data or "
                "version; remove it to start again"
            )
        return True

    @property
    def is_noted(self) -> bool:
        """Whether the note is there, so that a run can go on from the work."""
        return (self.folder / self.note).exists()

    def write_note(self) -> None:
        """Remember what the work was made from."""
        with whole_file(self.folder / self.note, private=True) as stream:
            stream.write(json.dumps(self.made_from).encode())

    def forget(self) -> None:
        """Make sure that no run goes on from the work."""
        (self.folder / self.note).unlink(missing_ok=True)
        sync(self.folder)
