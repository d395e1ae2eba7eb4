"""A private directory for what an engine spills to disk, removed at the end and also after Ctrl-C.

What is spilled is confidential. If a process is killed outright its directory stays; it is locked while
its process lives, so the next run can tell, and removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.errors import InputError

PREFIX = "discreet-spill-"
_LOCK = "lock"


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
    remove_abandoned(root)
    try:
        place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
        lock = os.open(place / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InputError(f"no temporary directory can be made in {root}: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(lock)


def remove_abandoned(root: Path) -> None:
    """Remove directories of ours whose process is gone."""
    with suppress(OSError):
        for place in root.glob(f"{PREFIX}*"):
            if place.is_symlink() or place.stat().st_uid != os.getuid():
                continue
            with suppress(OSError):
                lock = os.open(place / _LOCK, os.O_RDWR)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while the process lives
                    shutil.rmtree(place, ignore_errors=True)
                finally:
                    os.close(lock)
