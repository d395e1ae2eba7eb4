"""Output and ledger entry appear together or not at all, even if the process is killed at any moment.

The output is a directory, the ledger a file that runs share: no single system call can make both appear. So
one call decides, the rename of the staging directory to its final name, and the ledger is read accordingly.
The order, under a lock on the ledger's directory:

1. All files are written into a hidden directory beside the output, and synced to the disk.
2. The ledger is replaced by one with the new entry, marked as pending.
3. The directory is renamed to its final name: the output appears, and the staging directory is gone.
4. The ledger is replaced by one in which nothing is pending.

A pending entry counts if and only if its staging directory is gone. A kill before 3 leaves neither output nor
a counting entry, a kill after 3 leaves both. Why this order: if the output came first, a kill would leave
noisy numbers that nobody has paid for. Other programs that read the file before step 4 see the entry in
either case: they may count too much, never too little.

The name of a staging directory follows from the ledger and the entry, both protected by the ledger's chain
of hashes; nothing else is ever removed. The next run removes what a killed one left behind. A staging
directory is locked while its run lives, and the lock is released when the process ends, so leftovers can be
told from work in progress. The locks are POSIX locks on directories (`flock`), so no lock files remain.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from discreet.errors import InputError
from discreet.files import FilePath, surely, sync, whole_file
from discreet.release.ledger import (
    MANIFESTS,
    Entry,
    JsonDict,
    Ledger,
    Total,
    file_text,
    is_own,
    read_text,
    standing,
)
from discreet.release.ledger import RECEIPT as RECEIPT
from discreet.release.signing import Key

_WRITING = re.compile(r"\.discreet-[0-9a-f]{8}\.tmp")
_OWN = re.compile(r"\.discreet-([0-9a-f]{12}|none)-[0-9a-f]{32}\.partial")


class Staging:
    """A hidden directory that becomes the output, or disappears."""

    def __init__(
        self, out: Path, ledger: Path | None, *, key: Key | None = None, confidential: bool = False
    ) -> None:
        self.out, self.ledger, self.key, self.id = out, ledger, key, uuid4().hex
        self._confidential = confidential
        self._announced = self._renaming = False
        self._lock: int | None = None
        self._place("none")

    def _place(self, tag: str) -> None:
        self.path = self.out.parent / f".discreet-{tag}-{self.id}.partial"

    def make(self) -> None:
        """Make the directory; `close` removes it, even if this fails halfway."""
        # Directories of one ledger are made and removed under one lock, once pending entries are settled.
        with locked(self.out.parent if self.ledger is None else self.ledger.parent):
            tag = "none" if self.ledger is None else recover(self.ledger).tag
            _clean(self.out.parent, tag)
            self._place(tag)
            os.mkdir(self.path, 0o700)
            self._lock = try_lock(self.path)
        self._inode = os.stat(self.path).st_ino

    def commit(
        self, entry: Entry | None = None, *, manifest: str | None = None, again: bool = False
    ) -> Entry | None:
        """Make the output appear and, if there is a ledger, its entry with it; return that entry.

        `manifest` is a JSON file of the output, into which the head of the ledger after this run is written;
        its hash in the entry is that of the file before. An input that the ledger already has a run of is
        refused, unless `again` is set.
        """
        for item in (*self.path.iterdir(), self.path):
            sync(item)
        if self.ledger is None or entry is None:
            self._appear()
            return entry
        entry = replace(entry, output=os.path.relpath(self.out, self.ledger.parent))
        with locked(self.ledger.parent):
            before = recover(self.ledger)
            before.allow(entry, where=str(self.ledger), again=again)
            after = before.with_run(entry, self.key)
            if manifest is not None:
                _receipt(self.path / manifest, after)
            self._announced = True
            try:
                write_text(self.ledger, after.to_text())
                self._appear()
            except BaseException:
                if not self.appeared:
                    # Withdraw the entry, unless it was never written.
                    now = Ledger.from_text(read_text(self.ledger), where=str(self.ledger))
                    if now.head == after.head:
                        write_text(self.ledger, before.to_text())
                    self._announced = False
                raise
            # Not needed for correctness: a pending entry whose staging directory is gone counts.
            with suppress(OSError):
                write_text(self.ledger, after.settled().to_text())
        return after.entries[-1]

    def _appear(self) -> None:
        """Rename the directory to its final name, readable as the umask allows, or by its owner only."""
        if self._confidential:
            for item in self.path.iterdir():
                os.chmod(item, 0o600)
        else:
            mask = os.umask(0o077)  # the only way to read the mask is to set it
            os.umask(mask)
            os.chmod(self.path, 0o777 & ~mask)
        self._renaming = True
        try:
            os.rename(self.path, self.out)
        except OSError:
            # A network file system may report an error for a rename that succeeded.
            if not self.appeared or not os.path.isdir(self.out) or os.stat(self.out).st_ino != self._inode:
                raise
        with suppress(OSError):
            sync(self.out.parent)

    @property
    def appeared(self) -> bool:
        """Whether the output exists, or may exist: then its budget must count as spent.

        The file system decides, so a signal just after the rename is told from one just before it.
        """
        try:
            return self._renaming and not is_own(self.path)
        except OSError:
            return True

    def close(self) -> None:
        """Remove the directory if it has not become the output."""
        if is_own(self.path):
            if self._announced:
                # the ledger could not be restored: while the directory exists, the entry does not count
                _empty(self.path)
            else:
                shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


@contextmanager
def staging(
    out: FilePath,
    ledger: Path | None = None,
    *,
    key: Key | None = None,
    confidential: bool = False,
) -> Iterator[Staging]:
    """Yield a staging directory for the output `out`; on any error nothing is left behind.

    A `confidential` output can be read by its owner only.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with staging(Path(folder) / "out") as stage:
    ...         _ = (stage.path / "a.txt").write_text("a")
    ...         _ = stage.commit()
    ...     sorted(path.name for path in Path(folder).rglob("*"))
    ['a.txt', 'out']
    """
    target, appeared = free(out), False
    try:
        stage = Staging(target, ledger, key=key, confidential=confidential)
        with surely(stage.close):
            stage.make()
            try:
                yield stage
            finally:
                appeared = stage.appeared  # asked before the directory is removed, which decides it
    except OSError as error:
        reason = error.strerror or type(error).__name__
        if appeared:
            raise InputError(
                f"{target} may have been written, although the file system reports: {reason}. Check whether "
                "it exists; if there is a ledger, the run counts in it"
            ) from None
        text = f"{target} cannot be written: {reason}; nothing was written and nothing spent"
        raise InputError(text) from None


def free(out: FilePath) -> Path:
    """Return the path of the output directory if it can be made, else raise: nothing is ever overwritten.

    Links in the path are resolved, so that a ledger moved together with its outputs still finds them.

    >>> free("no/such/place")
    Traceback (most recent call last):
    discreet.errors.InputError: no/such cannot hold the output: it is not a directory
    """
    path = Path(out)
    try:
        if not path.parent.is_dir():
            raise InputError(f"{path.parent} cannot hold the output: it is not a directory")
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise InputError(f"{path} exists and is not a directory; name a new one for the output")
        if path.is_dir() and any(path.iterdir()):
            raise InputError(f"{path} exists and is not empty; name a new directory for the output")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise InputError(f"{path.parent} cannot hold the output: it is not writable")
    except OSError as error:
        raise InputError(f"{path} cannot be used: {error.strerror}") from None
    whole = path if path.name.strip(".") else Path(os.path.abspath(path))
    return Path(os.path.realpath(whole.parent)) / whole.name


def create_ledger(path: FilePath, totals: Sequence[Total] = ()) -> Ledger:
    """Make a new ledger, with the totals that its runs may spend together.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     print(create_ledger(Path(folder) / "ledger.json"))
    an empty ledger, without totals
    """
    file, ledger = Path(os.path.abspath(path)), Ledger.new(totals)
    try:
        with locked(file.parent):
            if file.exists() or file.is_symlink():
                raise InputError(f"the file {path} already exists; a ledger is never overwritten")
            write_text(file, ledger.to_text())
    except OSError as error:
        raise InputError(f"the ledger {path} cannot be made: {error.strerror}") from None
    return ledger


def change_total(path: FilePath, total: Total, reason: str, *, key: Key | None = None) -> Ledger:
    """Declare a total in an existing ledger; it replaces an earlier one for the same unit.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     ledger = create_ledger(Path(folder) / "ledger.json").totals
    ...     more = Total(unit="person", neighbours="bounded", rho=2)
    ...     change_total(Path(folder) / "ledger.json", more, "decided by the board").left("person")
    Fraction(2, 1)
    """
    with _changing(path) as (file, before):
        after = before.with_total(total, reason, key)
        write_text(file, after.to_text())
    return after


def sign_ledger(path: FilePath, key: Key, *, old_key: Key | None = None) -> Ledger:
    """Start signing a ledger with a key, or change to another; `old_key` signs the change."""
    with _changing(path) as (file, before):
        after = before.with_key(key, old_key)
        write_text(file, after.to_text())
    return after


def note_counts(
    path: FilePath, content: str, at_most: int, *, release: str, key: Key | None = None
) -> Ledger:
    """Record in a ledger how many records of one person some counts may hold, before the counts appear.

    If they never appear, nothing is lost: this record spends nothing.
    """
    with _changing(path) as (file, before):
        after = before.with_counts(content, at_most, release, key)
        if after is not before:
            write_text(file, after.to_text())
    return after


@contextmanager
def _changing(path: FilePath) -> Iterator[tuple[Path, Ledger]]:
    """Yield the file of a ledger and the ledger, with nothing pending, while its lock is held."""
    read_text(Path(path))  # an error names the path as it was given
    file = Path(os.path.realpath(path))
    try:
        with locked(file.parent):
            yield file, recover(file)
    except OSError as error:
        raise InputError(f"the ledger {path} cannot be used: {error.strerror}") from None


def open_ledger(path: FilePath, out: FilePath, *, key: Key | None = None) -> tuple[Path, Ledger]:
    """Return an existing ledger for a run into `out`, after undoing what a killed run may have left in it.

    Outputs beside the ledger, beside `out` or beside outputs of its runs may show that the ledger is an older
    copy: then it is refused. So is one that cannot be written to, or that needs another `key`. All this
    happens before anything is read or counted.
    """
    with _changing(path) as (file, ledger):
        if not os.access(file.parent, os.W_OK | os.X_OK):
            raise InputError(f"the ledger {path} cannot be written: its directory is read-only")
        ledger.need_key(key, ledger.key)
        for output in outputs_of(ledger, file, Path(os.path.realpath(out))):
            if wrong := contradiction(ledger, output):
                raise InputError(f"the ledger {path} cannot be used: {wrong}; nothing was spent")
        return file, ledger


def recover(file: Path) -> Ledger:
    """Settle a pending entry in the file itself; the caller holds the lock.

    The staging directory is emptied first, while its existence still says that the run did not happen; then
    the entry is removed, then the empty directory. So a kill during recovery loses nothing either.
    """
    raw = Ledger.from_text(read_text(file), where=str(file))
    for left_over in file.parent.glob(".discreet-*.tmp"):
        if _WRITING.fullmatch(left_over.name) and left_over.is_file():
            left_over.unlink()  # from a run killed while writing a ledger: a live one would hold the lock
    if not raw.pending:
        return raw
    folder, ledger = raw.staging(file.parent), standing(raw, file.parent)
    assert folder is not None
    dead = len(ledger.records) < len(raw.records)
    if dead:
        _empty(folder)
    write_text(file, ledger.to_text())
    if dead:
        folder.rmdir()
    return ledger


def write_text(file: Path, text: str) -> None:
    """Replace a ledger in one step, readable by its owner only."""
    with whole_file(file, private=True) as stream:
        stream.write(text.encode())


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a directory; it is released when the process ends, for whatever reason."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def try_lock(folder: Path) -> int | None:
    """Return a handle that holds the lock of a directory, or None if another process holds it."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def remove_if_dead(folder: Path) -> None:
    """Remove a directory unless its process, which holds the lock, is still running."""
    lock = try_lock(folder)
    if lock is not None:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


# -- what outputs say about their ledger ---------------------------------------------------------------------


def read_manifest(output: Path) -> JsonDict | None:
    """Return the manifest of an output; if there are several, one with the head of a ledger."""
    manifests: list[JsonDict] = []
    for path in (path for stem in MANIFESTS for path in sorted(output.glob(f"{stem}*.json"))):
        with suppress(OSError, ValueError, RecursionError):
            # reading a pipe would never end
            data = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
            manifests += [data] if isinstance(data, dict) else []
    with_head = (manifest for manifest in manifests if _head_in(manifest) is not None)
    return next(with_head, manifests[0] if manifests else None)


def read_receipt(output: Path) -> JsonDict | None:
    """Return what the manifest of an output says about its ledger; None if nothing."""
    return _head_in(read_manifest(output) or {})


def _head_in(manifest: JsonDict) -> JsonDict | None:
    said = manifest.get(RECEIPT)
    return said if isinstance(said, dict) and {"ledger", "entry", "number", "head"} <= set(said) else None


def outputs_of(ledger: Ledger, file: Path, *more: Path) -> list[Path]:
    """Return outputs with the head of a ledger: those in its folder, and those beside its own or `more`."""
    own = [Path(os.path.realpath(file.parent / entry.output)) for entry in ledger.entries]
    paths = dict.fromkeys(own)
    for folder in dict.fromkeys([file.parent, *(output.parent for output in (*more, *own))]):
        with suppress(OSError):
            paths |= dict.fromkeys(path for path in sorted(folder.iterdir()) if not path.name.startswith("."))
    return [path for path in paths if os.path.isdir(path) and read_receipt(path) is not None]


def contradiction(ledger: Ledger, output: Path) -> str:
    """Say how the manifest of an output contradicts the ledger; an empty text if it does not."""
    said = read_receipt(output)
    if said is None or said["ledger"] != ledger.id or said["head"] in ledger.heads:
        return ""
    number = said["number"] if isinstance(said["number"], int) else 0
    if number > len(ledger.records):
        return (
            f"the output {output.name} was made when the ledger had {number} entries, and now it has "
            f"{len(ledger.records)}: this is an older copy, which lacks what was spent since"
        )
    if said["entry"] in {entry.id for entry in ledger.entries}:
        return (
            f"the output {output.name} has another head than the ledger had after its run: the chain was "
            "recomputed, so something before it was changed"
        )
    return (
        f"the output {output.name} comes from a run that the ledger lacks: an older copy was put back and "
        "used, or the chain was recomputed"
    )


def _receipt(manifest: Path, ledger: Ledger) -> None:
    """Write the head of the ledger into a manifest."""
    data = json.loads(manifest.read_text(encoding="utf-8"))
    data[RECEIPT] = {
        "ledger": ledger.id,
        "entry": ledger.entries[-1].id,
        "number": len(ledger.records),
        "head": ledger.head,
    }
    with manifest.open("w", encoding="utf-8") as stream:
        stream.write(file_text(data))
        stream.flush()
        os.fsync(stream.fileno())


def _clean(parent: Path, tag: str) -> None:
    """Remove staging directories whose run has died; one pending in the ledger was settled before."""
    for folder in parent.glob(f".discreet-{tag}-*.partial"):
        if _OWN.fullmatch(folder.name) and is_own(folder):
            remove_if_dead(folder)


def _empty(folder: Path) -> None:
    for item in folder.iterdir():
        item.unlink()
