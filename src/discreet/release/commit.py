"""Output and ledger appear together or not at all, also under a kill at any moment.

The output is a directory, the ledger a file that runs share: no single system call can make both appear. So
one call is chosen as the moment of truth, the rename of the staging directory to its final name, and the
ledger is read accordingly. The order, under a lock on the ledger's directory:

1. All files are written into a hidden directory beside the output, and synced to the disk.
2. The ledger is replaced by one with the new entry, which names that directory as `staged`.
3. The directory is renamed to its final name: the output appears, and the staged directory is gone.
4. The ledger is replaced by one whose entry no longer says `staged`.

An entry that says `staged` counts if and only if that directory is gone. A kill before 3 leaves neither
output nor a counting entry, a kill after 3 leaves both. Why this order: if the output came first, a kill
would leave noisy numbers that nobody has paid for. Whoever reads the file by other means before 4 sees
the entry either way and counts too much, never too little.

The next run removes what a killed one left. A staging directory is locked while its run lives, and the
lock dies with the process, so that debris can be told from work. The locks are POSIX ones (`flock`, on
directories), so that no lock files are left.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from discreet.errors import InputError
from discreet.release.ledger import Entry, Ledger, Total, read_text, settled


class Staging:
    """A hidden directory that becomes the output, or disappears."""

    def __init__(self, out: Path, ledger: Path | None) -> None:
        self.out, self.ledger, self.id = out, ledger, uuid4().hex
        self.path = out.parent / f"{_prefix(ledger)}{self.id}.partial"
        self._announced = False
        # Directories of one prefix are made and removed under one lock, after the ledger has settled them.
        with locked(out.parent if ledger is None else ledger.parent):
            if ledger is not None:
                recover(ledger)
            _clean(out.parent, _prefix(ledger))
            self.path.mkdir()
            self._lock = try_lock(self.path)

    def commit(self, entry: Entry | None = None) -> None:
        """Make the output appear and, if there is a shared ledger, its entry with it."""
        _sync_tree(self.path)
        if self.ledger is None or entry is None:
            self._appear()
            return
        with locked(self.ledger.parent):
            before = recover(self.ledger)
            if entry.counted:
                before.allow(entry.release, where=str(self.ledger))
            staged = replace(entry, staged=os.path.relpath(self.path, self.ledger.parent))
            self._announced = True
            try:
                write_text(self.ledger, Ledger(before.totals, (*before.entries, staged)).to_text())
                self._appear()
            except BaseException:
                if self.path.is_dir():
                    # The output has not appeared: take the entry back, unless it was never written.
                    now = Ledger.from_text(read_text(self.ledger), where=str(self.ledger))
                    if any(one.id == entry.id for one in now.entries):
                        write_text(self.ledger, before.to_text())
                    self._announced = False
                raise
            # Not needed for correctness: an entry whose staging directory is gone counts.
            with suppress(OSError):
                write_text(self.ledger, Ledger(before.totals, (*before.entries, entry)).to_text())

    def _appear(self) -> None:
        os.rename(self.path, self.out)
        with suppress(OSError):
            _sync(self.out.parent)

    def close(self) -> None:
        """Remove the directory if it has not become the output."""
        if self._announced and self.path.is_dir():
            _empty(self.path)  # the ledger could not be put back: the directory must go on saying "not done"
        elif self.path.is_dir():
            shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)


@contextmanager
def staging(out: str | os.PathLike[str], ledger: Path | None = None) -> Iterator[Staging]:
    """Yield a staging directory for the output `out`; on any error nothing stays.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with staging(Path(folder) / "out") as stage:
    ...         _ = (stage.path / "a.txt").write_text("a")
    ...         stage.commit()
    ...     sorted(path.name for path in Path(folder).rglob("*"))
    ['a.txt', 'out']
    """
    target = free(out)
    try:
        stage = Staging(target, ledger)
        try:
            yield stage
        finally:
            stage.close()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        text = f"{target} cannot be written: {reason}; nothing was written and nothing spent"
        raise InputError(text) from None


def free(out: str | os.PathLike[str]) -> Path:
    """Return the output directory's path if it can be made, or raise: nothing is ever overwritten.

    >>> free("no/such/place")
    Traceback (most recent call last):
    discreet.errors.InputError: no/such cannot hold the output: it is not a directory
    """
    path = Path(out)
    if not path.parent.is_dir():
        raise InputError(f"{path.parent} cannot hold the output: it is not a directory")
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise InputError(f"{path} exists and is not a directory; name a new one for the output")
    try:
        if path.is_dir() and any(path.iterdir()):
            raise InputError(f"{path} exists and is not empty; name a new directory for the output")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise InputError(f"{path.parent} cannot hold the output: it is not writable")
    except OSError as error:
        raise InputError(f"{path} cannot be used: {error.strerror}") from None
    return Path(os.path.abspath(path))


def create_ledger(path: str | os.PathLike[str], totals: Sequence[Total] = ()) -> Ledger:
    """Make a new ledger, with the totals that its runs together may spend.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(create_ledger(Path(folder) / "ledger.json"))
    an empty ledger, without totals
    """
    file, ledger = Path(os.path.abspath(path)), Ledger(tuple(totals))
    try:
        with locked(file.parent):
            if file.exists() or file.is_symlink():
                raise InputError(f"there already is a file {path}; a ledger is never overwritten")
            write_text(file, ledger.to_text())
    except OSError as error:
        raise InputError(f"the ledger {path} cannot be made: {error.strerror}") from None
    return ledger


def open_ledger(path: str | os.PathLike[str]) -> tuple[Path, Ledger]:
    """Return an existing ledger, after undoing what a killed run may have left in it."""
    read_text(Path(path))  # an error names the path as it was given
    file = Path(os.path.realpath(path))
    try:
        with locked(file.parent):
            return file, recover(file)
    except OSError as error:
        raise InputError(f"the ledger {path} cannot be used: {error.strerror}") from None


def recover(file: Path) -> Ledger:
    """Settle the entries of killed runs in the file itself; the caller holds the lock.

    A staging directory is emptied first, while it still says that its run did not happen; then the entry
    goes, then the empty directory. So a kill in here loses nothing either.
    """
    raw = Ledger.from_text(read_text(file), where=str(file))
    for left_over in file.parent.glob(".discreet-*.tmp"):
        left_over.unlink()  # of a run killed while it wrote a ledger: a living one would hold the lock
    if all(entry.staged is None for entry in raw.entries):
        return raw
    ledger = settled(raw, file.parent)
    kept = {entry.id for entry in ledger.entries}
    dead = [file.parent / entry.staged for entry in raw.entries if entry.staged and entry.id not in kept]
    for folder in dead:
        _empty(folder)
    write_text(file, ledger.to_text())
    for folder in dead:
        folder.rmdir()
    return ledger


def write_text(file: Path, text: str) -> None:
    """Replace a file in one step; after a crash it is the old one or the new one."""
    handle, name = tempfile.mkstemp(prefix=".discreet-", suffix=".tmp", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, file.stat().st_mode & 0o777 if file.exists() else 0o644)
        os.replace(name, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    _sync(file.parent)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a directory; it is freed when the process ends, however it ends."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def try_lock(folder: Path) -> int | None:
    """Return a handle that holds the lock of a directory, or None if somebody else holds it."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _prefix(ledger: Path | None) -> str:
    """Tell staging directories by their ledger: only a run with the same one may remove their debris."""
    tag = "none" if ledger is None else hashlib.sha256(os.fsencode(os.path.realpath(ledger))).hexdigest()[:12]
    return f".discreet-{tag}-"


def _clean(parent: Path, prefix: str) -> None:
    """Remove staging directories whose run is dead; those that a ledger names were settled before."""
    for folder in parent.glob(f"{prefix}*.partial"):
        lock = try_lock(folder)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _empty(folder: Path) -> None:
    for item in folder.iterdir():
        item.unlink()


def _sync_tree(folder: Path) -> None:
    for item in folder.iterdir():
        _sync(item)
    _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
