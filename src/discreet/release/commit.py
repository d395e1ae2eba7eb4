"""Output and ledger appear together or not at all, also under a kill at any moment.

The output is a directory, the ledger a file that runs share: no single system call can make both appear. So
one call is chosen as the moment of truth, the rename of the staging directory to its final name, and the
ledger is read accordingly. The order, under a lock on the ledger's directory:

1. All files are written into a hidden directory beside the output, and synced to the disk.
2. The ledger is replaced by one with the new entry, which it says is pending.
3. The directory is renamed to its final name: the output appears, and the staging directory is gone.
4. The ledger is replaced by one in which nothing is pending.

A pending entry counts if and only if its staging directory is gone. A kill before 3 leaves neither output nor
a counting entry, a kill after 3 leaves both. Why this order: if the output came first, a kill would leave
noisy numbers that nobody has paid for. Whoever reads the file by other means before 4 sees the entry either
way and counts too much, never too little.

The name of a staging directory follows from the ledger and the entry, both under the ledger's chain of
hashes; nothing else is ever removed. The next run removes what a killed one left. A staging directory is
locked while its run lives, and the lock dies with the process, so that debris can be told from work. The
locks are POSIX ones (`flock`, on directories), so that no lock files are left.
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
        """Make the directory; `close` removes it, however far this came."""
        # Directories of one ledger are made and removed under one lock, after the ledger has settled them.
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

        `manifest` is a JSON file of the output that gets the head of the ledger after this run; the hash
        of it in the entry is that of the file without it. Unless `again`, an input that the ledger has a run
        of is refused.
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
                    # Take the entry back, unless it was never written.
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
        """Rename the directory to its final name, readable as the user's mask says, or by its owner only."""
        if self._confidential:
            for item in self.path.iterdir():
                os.chmod(item, 0o600)
        else:
            mask = os.umask(0o077)  # there is no way to ask for the user's mask without setting it
            os.umask(mask)
            os.chmod(self.path, 0o777 & ~mask)
        self._renaming = True
        try:
            os.rename(self.path, self.out)
        except OSError:
            # A network file system may report an error for a rename that it has done.
            if not self.appeared or not os.path.isdir(self.out) or os.stat(self.out).st_ino != self._inode:
                raise
        with suppress(OSError):
            sync(self.out.parent)

    @property
    def appeared(self) -> bool:
        """Whether the output is there, or may be: then nothing may be said to be unspent.

        The directory itself says it, so that a signal just after the rename is told from one just before.
        """
        try:
            return self._renaming and not is_own(self.path)
        except OSError:
            return True

    def close(self) -> None:
        """Remove the directory if it has not become the output."""
        if is_own(self.path):
            if self._announced:
                # the ledger could not be put back: the directory must go on saying "not done"
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
    """Yield a staging directory for the output `out`; on any error nothing stays.

    Only its owner can read an output that is confidential.

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
                appeared = stage.appeared  # before the directory is removed, which says it
    except OSError as error:
        reason = error.strerror or type(error).__name__
        if appeared:
            raise InputError(
                f"{target} may have been written, although the file system reports: {reason}. Look whether "
                "it is there; if there is a ledger, the run counts in it"
            ) from None
        text = f"{target} cannot be written: {reason}; nothing was written and nothing spent"
        raise InputError(text) from None


def free(out: FilePath) -> Path:
    """Return the output directory's path if it can be made, or raise: nothing is ever overwritten.

    Links on the way to it are resolved: a ledger that moves with its outputs finds them again.

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
    """Make a new ledger, with the totals that its runs together may spend.

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
    """Declare a total in a ledger that exists, in place of an earlier one for the same unit.

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


def sign_ledger(path: FilePath, key: Key, *, old: Key | None = None) -> Ledger:
    """Begin to sign a ledger with a key, or go on with another; `old` is the one that signs the change."""
    with _changing(path) as (file, before):
        after = before.with_key(key, old)
        write_text(file, after.to_text())
    return after


def note_counts(
    path: FilePath, content: str, at_most: int, *, release: str, key: Key | None = None
) -> Ledger:
    """Let a ledger remember how many records of a person counts may hold, before these counts appear.

    If they never do, nothing is lost: what is remembered spends nothing.
    """
    with _changing(path) as (file, before):
        after = before.with_counts(content, at_most, release, key)
        if after is not before:
            write_text(file, after.to_text())
    return after


@contextmanager
def _changing(path: FilePath) -> Iterator[tuple[Path, Ledger]]:
    """Yield the file of a ledger and the ledger itself, settled, under its lock."""
    read_text(Path(path))  # an error names the path as it was given
    file = Path(os.path.realpath(path))
    try:
        with locked(file.parent):
            yield file, recover(file)
    except OSError as error:
        raise InputError(f"the ledger {path} cannot be used: {error.strerror}") from None


def open_ledger(path: FilePath, out: FilePath, *, key: Key | None = None) -> tuple[Path, Ledger]:
    """Return an existing ledger for a run into `out`, after undoing what a killed run may have left in it.

    A ledger that outputs beside it, beside `out` or beside outputs of its runs show to be an older copy is
    refused, and so is one that cannot be written to, or not without another `key`: before anything is read or
    counted.
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

    A staging directory is emptied first, while it still says that its run did not happen; then the entry
    goes, then the empty directory. So a kill in here loses nothing either.
    """
    raw = Ledger.from_text(read_text(file), where=str(file))
    for left_over in file.parent.glob(".discreet-*.tmp"):
        if _WRITING.fullmatch(left_over.name) and left_over.is_file():
            left_over.unlink()  # of a run killed while it wrote a ledger: a living one would hold the lock
    if not raw.pending:
        return raw
    place, ledger = raw.staging(file.parent), standing(raw, file.parent)
    assert place is not None
    dead = len(ledger.records) < len(raw.records)
    if dead:
        _empty(place)
    write_text(file, ledger.to_text())
    if dead:
        place.rmdir()
    return ledger


def write_text(file: Path, text: str) -> None:
    """Replace a ledger in one step, readable by its owner only."""
    with whole_file(file, private=True) as stream:
        stream.write(text.encode())


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


def remove_if_dead(folder: Path) -> None:
    """Remove a directory unless its process lives: the lock dies with it."""
    lock = try_lock(folder)
    if lock is not None:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


# -- what outputs say of their ledger ------------------------------------------------------------------------


def read_manifest(output: Path) -> JsonDict | None:
    """Return what the manifest of an output says; of several, one with the head of a ledger."""
    found: list[JsonDict] = []
    for path in (path for stem in MANIFESTS for path in sorted(output.glob(f"{stem}*.json"))):
        with suppress(OSError, ValueError, RecursionError):
            # a pipe would never end
            data = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
            found += [data] if isinstance(data, dict) else []
    return next((one for one in found if _head_in(one) is not None), found[0] if found else None)


def read_receipt(output: Path) -> JsonDict | None:
    """Return what the manifest of an output says about its ledger; None if there is nothing."""
    return _head_in(read_manifest(output) or {})


def _head_in(manifest: JsonDict) -> JsonDict | None:
    said = manifest.get(RECEIPT)
    return said if isinstance(said, dict) and {"ledger", "entry", "number", "head"} <= set(said) else None


def outputs_of(ledger: Ledger, file: Path, *more: Path) -> list[Path]:
    """Return outputs with the head of a ledger: those in its folder, and those beside its own or `more`."""
    own = [Path(os.path.realpath(file.parent / entry.output)) for entry in ledger.entries]
    found = dict.fromkeys(own)
    for folder in dict.fromkeys([file.parent, *(one.parent for one in (*more, *own))]):
        with suppress(OSError):
            found |= dict.fromkeys(one for one in sorted(folder.iterdir()) if not one.name.startswith("."))
    return [one for one in found if os.path.isdir(one) and read_receipt(one) is not None]


def contradiction(ledger: Ledger, output: Path) -> str:
    """Say how what an output says about its ledger contradicts the ledger; nothing if it does not."""
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
    """Remove staging directories whose run is dead; one that is pending in the ledger was settled before."""
    for folder in parent.glob(f".discreet-{tag}-*.partial"):
        if _OWN.fullmatch(folder.name) and is_own(folder):
            remove_if_dead(folder)


def _empty(folder: Path) -> None:
    for item in folder.iterdir():
        item.unlink()
