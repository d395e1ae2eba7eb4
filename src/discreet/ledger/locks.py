"""Locks on directories, released when the process ends, and directories whose run has died.

On POSIX systems the directory itself is locked (`flock`), and no lock files remain. Windows cannot lock a
directory, nor rename one that holds an open file: there a file is locked (`msvcrt.locking`), which stays in a
directory that is `locked`, and lies beside one that is held by `try_lock`, until `unlock` removes it.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType

from discreet.errors import InputError


def is_own(folder: Path) -> bool:
    """Whether this is a staging directory, and not a link to something else."""
    try:
        return stat.S_ISDIR(os.lstat(folder).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a directory; it is released when the process ends, for whatever reason."""
    posix = _posix_locks()
    if posix is None:
        handle = _lock_file(folder / ".discreet-lock", wait=True)
    else:
        handle = os.open(folder, os.O_RDONLY)
    assert handle is not None  # it was waited for
    try:
        if posix is not None:
            posix.flock(handle, posix.LOCK_EX)
        yield
    finally:
        os.close(handle)


def empty_folder(folder: Path) -> None:
    """Remove the files of a directory, and the directories in it."""
    for item in folder.iterdir():
        if item.is_dir() and not item.is_symlink():
            shutil.rmtree(item)
        else:
            item.unlink()


def try_lock(folder: Path) -> int | None:
    """Return a handle that holds the lock of a directory, or None if another process holds it."""
    posix = _posix_locks()
    if posix is None:
        return _lock_file(_beside(folder), wait=False)
    handle = os.open(folder, os.O_RDONLY)
    try:
        posix.flock(handle, posix.LOCK_EX | posix.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def unlock(folder: Path, handle: int) -> None:
    """Give back what `try_lock` gave; the directory may have been renamed or removed since."""
    os.close(handle)
    if _posix_locks() is None:
        with suppress(OSError):  # on Windows no file is removed that another process has opened
            _beside(folder).unlink()


def remove_if_dead(folder: Path) -> None:
    """Remove a directory unless its process, which holds the lock, is still running."""
    lock = try_lock(folder)
    if lock is not None:
        shutil.rmtree(folder, ignore_errors=True)
        unlock(folder, lock)


def _posix_locks() -> ModuleType | None:
    try:
        return import_module("fcntl")
    except ImportError:
        return None


def _beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def _lock_file(file: Path, *, wait: bool) -> int | None:
    """Return a handle that holds the lock of a file, made if need be; None if another process holds it."""
    try:
        windows = import_module("msvcrt")
    except ImportError:
        raise InputError(
            "this command locks files, so that no budget is spent twice, and this system's Python can lock "
            "none (it has neither fcntl nor msvcrt): run it on Linux, macOS or Windows"
        ) from None
    while True:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            windows.locking(handle, windows.LK_NBLCK, 1)
            if file.exists() and os.path.samestat(os.fstat(handle), os.stat(file)):
                return handle
            os.close(handle)  # whoever held it has removed the file
        except PermissionError:  # another process holds it
            os.close(handle)
            if not wait:
                return None
            time.sleep(0.02)
        except BaseException:
            os.close(handle)
            raise
