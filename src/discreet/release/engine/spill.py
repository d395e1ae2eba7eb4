"""A private directory for what an engine spills to disk, removed at the end and also after Ctrl-C.

What is spilled is confidential. If a process is killed outright its directory stays; it is locked while
its process lives, so the next run can tell, and removes it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

from discreet.errors import InputError
from discreet.release.commit import locked, try_lock

PREFIX = "discreet-spill-"


@contextmanager
def spill_directory() -> Iterator[Path]:
    """Make the directory, in the system's place for temporary files (TMPDIR), readable by its owner only.

    >>> with spill_directory() as place:
    ...     oct(place.stat().st_mode)[-3:]
    '700'
    >>> place.exists()
    False
    """
    root = Path(tempfile.gettempdir())
    lock: int | None = None
    try:
        with locked(root):  # nobody looks for abandoned ones while this one has no lock yet
            remove_abandoned(root)
            place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
            lock = try_lock(place)
    except OSError as error:
        raise InputError(f"no temporary directory can be made in {root}: {error.strerror}") from None
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@contextmanager
def lasting_directory() -> Iterator[Path]:
    """The same directory for every session of this process, emptied when none uses it, removed at exit.

    Java goes on using the first one that it was given, so Spark must not find it gone.

    >>> with lasting_directory() as first, lasting_directory() as second:
    ...     first == second
    True
    """
    place = _of_this_process()
    _users.append(place)
    try:
        yield place
    finally:
        _users.remove(place)
        if not _users:
            for path in place.iterdir():
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


_users: list[Path] = []


@cache
def _of_this_process() -> Path:
    until_exit = ExitStack()
    atexit.register(until_exit.close)
    return until_exit.enter_context(spill_directory())


def remove_abandoned(root: Path) -> None:
    """Remove directories of ours whose process is gone: the lock of a directory dies with its process."""
    with suppress(OSError):
        for place in root.glob(f"{PREFIX}*"):
            if place.is_symlink() or place.stat().st_uid != os.getuid():
                continue
            with suppress(OSError):
                lock = try_lock(place)
                if lock is not None:
                    shutil.rmtree(place, ignore_errors=True)
                    os.close(lock)
