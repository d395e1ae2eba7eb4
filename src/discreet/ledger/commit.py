"""Output and ledger entry appear together or not at all, even if the process is killed at any moment.

The output is a directory, the ledger a file that runs share: no single system call can make both appear. So
one call decides, the rename of the staging directory to its final name, and the ledger is read accordingly.
The order, under a lock on the ledger's directory:

1. All files are written into a hidden directory beside the output, and synced to the disk.
2. The ledger is replaced by one with the new entry, marked as pending.
3. The directory is renamed to its final name: the output appears, and the staging directory is gone.
4. If a policy names a witness, the head after the entry is appended to it.
5. The ledger is replaced by one in which nothing is pending.

A pending entry counts if and only if its staging directory is gone. A kill before 3 leaves neither output nor
a counting entry, a kill after 3 leaves both. Why this order: if the output came first, a kill would leave
noisy numbers that nobody has paid for. Other programs that read the file before step 5 see the entry in
either case: they may count too much, never too little. A witness sees only entries that count, so that it
never contradicts a ledger from which a killed run was removed; one that a kill left behind by an entry is
brought up to date by the next run, before anything is read (`discreet.ledger.witness_file`).

The name of a staging directory follows from the ledger and the entry, both protected by the ledger's chain
of hashes; nothing else is ever removed. The next run removes what a killed one left behind. A staging
directory is locked while its run lives, and the lock is released when the process ends, so leftovers can be
told from work in progress (`discreet.ledger.locks`).
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from discreet.errors import InputError
from discreet.files import WINDOWS, FilePath, surely, sync
from discreet.ledger.entry import Entry
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_file import read_text, recover, standing, write_text
from discreet.ledger.locks import empty_folder, is_own, locked, remove_if_dead, try_lock, unlock
from discreet.ledger.receipts import write_receipt
from discreet.ledger.rules import Rules
from discreet.ledger.signing import Key

_OWN = re.compile(r"\.discreet-([0-9a-f]{12}|none)-[0-9a-f]{32}\.partial")


class Staging:
    """A hidden directory that becomes the output, or disappears."""

    def __init__(
        self,
        out: Path,
        ledger: Path | None,
        *,
        key: Key | None = None,
        rules: Rules | None = None,
        confidential: bool = False,
    ) -> None:
        self.out, self.ledger, self.key, self.id = out, ledger, key, uuid4().hex
        self.rules = rules or Rules()
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
            tag = "none"
            if self.ledger is not None:
                self.rules.refuse(self._standing(self.ledger))
                tag = recover(self.ledger, self.key).tag
            _clean(self.out.parent, tag)
            self._place(tag)
            os.mkdir(self.path, 0o700)
            self._lock = try_lock(self.path)
        self._inode = os.stat(self.path).st_ino

    @staticmethod
    def _standing(file: Path) -> Ledger:
        return standing(Ledger.from_text(read_text(file), where=str(file)), file.parent)

    def commit(
        self, entry: Entry | None = None, *, manifest: str | None = None, again: bool = False
    ) -> Entry | None:
        """Make the output appear and, if there is a ledger, its entry with it; return that entry.

        `manifest` is a JSON file of the output, into which the head of the ledger after this run is written;
        its hash in the entry is that of the file before. An input that the ledger already has a run of is
        refused, unless `again` is set.
        """
        for item in (*self.path.rglob("*"), self.path):
            sync(item)
        if self.ledger is None or entry is None:
            self._appear()
            return entry
        entry = replace(entry, output=_seen_from(self.ledger.parent, self.out))
        with locked(self.ledger.parent):
            before = self._standing(self.ledger)
            before.allow(entry, where=str(self.ledger), again=again)
            self.rules.check(before)
            self.rules.allow(entry, before)
            before.need_key(self.key, before.key)
            recover(self.ledger, self.key)  # a run that is refused changes nothing
            after = before.with_run(entry, self.key)
            if manifest is not None:
                write_receipt(self.path / manifest, after)
            self._announced = True
            try:
                write_text(self.ledger, after.to_text(self.key))
                self._appear()
            except BaseException:
                if not self.appeared:
                    # Withdraw the entry, unless it was never written.
                    now = Ledger.from_text(read_text(self.ledger), where=str(self.ledger))
                    if now.head == after.head:
                        write_text(self.ledger, before.to_text(self.key))
                    self._announced = False
                raise
            self.rules.seen(after)
            # Not needed for correctness: a pending entry whose staging directory is gone counts.
            with suppress(OSError, InputError):
                write_text(self.ledger, after.settled().to_text(self.key))
        return after.entries[-1]

    def _appear(self) -> None:
        """Rename the directory to its final name, readable as the umask allows, or by its owner only."""
        if self._confidential:
            for item in self.path.rglob("*"):
                os.chmod(item, 0o700 if item.is_dir() else 0o600)
        else:
            mask = os.umask(0o077)  # the only way to read the mask is to set it
            os.umask(mask)
            os.chmod(self.path, 0o777 & ~mask)
        if WINDOWS and self.out.is_dir():  # elsewhere a rename replaces an empty directory
            self.out.rmdir()
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
                empty_folder(self.path)
            else:
                shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            unlock(self.path, self._lock)
            self._lock = None


@contextmanager
def staging(
    out: FilePath,
    ledger: Path | None = None,
    *,
    key: Key | None = None,
    rules: Rules | None = None,
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
        stage = Staging(target, ledger, key=key, rules=rules, confidential=confidential)
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


@contextmanager
def whole_folder(out: FilePath, *, confidential: bool = False) -> Iterator[Path]:
    """Yield a hidden directory that becomes `out` at the end of the block, or disappears; nothing is spent.

    For what is invented, public, or made from what was released before. What is made from confidential data
    goes through `discreet.ledger.release_run`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with whole_folder(Path(folder) / "out") as made:
    ...         _ = (made / "a.txt").write_text("a")
    ...     sorted(path.name for path in Path(folder).rglob("*"))
    ['a.txt', 'out']
    """
    with staging(out, confidential=confidential) as stage:
        yield stage.path
        stage.commit()


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


def _seen_from(folder: Path, out: Path) -> str:
    """Return the path of an output as its ledger writes it, on every system alike."""
    try:
        return os.path.relpath(out, folder).replace(os.sep, "/")
    except ValueError:  # Windows has drives
        text = f"{out} and its ledger, in {folder}, are on different drives; both must be on one"
        raise InputError(text) from None


def _clean(parent: Path, tag: str) -> None:
    """Remove staging directories whose run has died; one pending in the ledger was settled before."""
    for folder in parent.glob(f".discreet-{tag}-*.partial"):
        if _OWN.fullmatch(folder.name) and is_own(folder):
            remove_if_dead(folder)
