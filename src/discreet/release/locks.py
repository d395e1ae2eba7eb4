"""Locks on directories, released when the process ends, and directories whose run has died."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def is_own(place: Path) -> bool:
    """Whether this is a staging directory, and not a link to something else."""
    try:
        return stat.S_ISDIR(os.lstat(place).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


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


def empty_folder(folder: Path) -> None:
    """Remove the files of a directory."""
    for item in folder.iterdir():
        item.unlink()


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
