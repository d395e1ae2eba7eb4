"""Where an input really lies: the directories in which its ledger and its policies are looked for.

A link to an input is not beside its ledger, and neither is the shell's `< counts.csv`. So the directory of a
path as it was given counts, and that of the file it leads to.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from discreet.budget.text_files import STANDARD_INPUT
from discreet.tables import file_of

_DEEPEST = 3
"""How deep links are looked for within a folder of records."""


def folders_of(*sources: object) -> tuple[Path, ...]:
    """Return the directories that an input lies in: as it was named first, then where its links lead.

    An input of several files lies in the directories of all. A table in memory is taken to be in the working
    directory, and so is standard input, unless it is a file.

    >>> folders_of("no-such-folder/counts.csv")[0]
    PosixPath('no-such-folder')
    """
    kept: dict[Path, Path] = {}
    for folder in [path for source in sources for path in _folders(source)]:
        kept.setdefault(Path(os.path.realpath(folder)), folder)
    return tuple(kept.values())


def _folders(source: object) -> list[Path]:
    named = file_of(source)
    folders = [named if named.is_dir() else named.parent]
    if isinstance(source, str | os.PathLike) and os.fspath(source) in STANDARD_INPUT:
        folders += [real.parent for real in [Path(os.path.realpath("/dev/stdin"))] if real.is_file()]
    else:
        folders.append(_real(named))
        if named.is_dir():
            folders += _linked(named, _DEEPEST)
    return folders


def _real(path: Path) -> Path:
    """Return the directory that a path leads to, or that of the file it leads to."""
    real = Path(os.path.realpath(path))
    return real if real.is_dir() else real.parent


def _linked(folder: Path, deep: int) -> Iterator[Path]:
    """Yield where the links in a folder of records lead: a folder of links is no other data."""
    with suppress(OSError), os.scandir(folder) as items:
        for item in items:
            if item.is_symlink():
                yield _real(Path(item.path))
            elif deep > 1 and item.is_dir(follow_symlinks=False):
                yield from _linked(Path(item.path), deep - 1)


def with_parents(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return directories and all above them, each once, by their real names and by those they were given.

    >>> with_parents((Path("/no/such"),))
    (PosixPath('/no/such'), PosixPath('/no'), PosixPath('/'))
    """
    every: dict[Path, None] = {}
    for folder in folders:
        for name in (Path(os.path.abspath(folder)), Path(os.path.realpath(folder))):
            every |= dict.fromkeys([name, *name.parents])
    return tuple(every)
