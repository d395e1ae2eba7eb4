"""One thread of linear algebra in this process while many small systems are solved, then as many as before.

NumPy and SciPy each bring a library of linear algebra, which starts a thread for every processor. Matrices of
areas and cells are small: the threads mostly wait for each other, and spin while they do. The number of
threads is asked of and told to the libraries themselves; where there is none that can be told, all stays.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_MAPS = Path("/proc/self/maps")
_FILE = re.compile(r"lib.*blas.*|(lib)?mkl_rt.*", re.IGNORECASE)
_CALLS = (
    *(
        (f"{first}openblas_get_num_threads{last}", f"{first}openblas_set_num_threads{last}")
        for first in ("scipy_", "")
        for last in ("64_", "", "_64")
    ),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
)
"""How libraries call what returns the number of threads and what sets it."""

_LOCK = threading.Lock()
_users = 0
_before: list[tuple[_Library, int]] = []


@dataclass(frozen=True, slots=True)
class _Library:
    """A library of linear algebra: how many threads it has, and what sets that."""

    get: Callable[[], int]
    set: Callable[[int], object]


def algebra_threads() -> tuple[int, ...]:
    """Return how many threads each loaded library of linear algebra uses, of those that tell.

    >>> with one_algebra_thread():
    ...     set(algebra_threads()) <= {1}
    True
    """
    return tuple(library.get() for library in _libraries())


@contextmanager
def one_algebra_thread() -> Iterator[None]:
    """Let linear algebra use one thread meanwhile; it is a decorator of functions, too.

    What the process had comes back when the last of several users at a time has finished.

    >>> before = algebra_threads()
    >>> with one_algebra_thread(), one_algebra_thread():
    ...     pass
    >>> algebra_threads() == before
    True
    """
    global _users  # the libraries have one number each in the whole process
    with _LOCK:
        if _users == 0:
            _load_libraries()
            _before[:] = [(library, library.get()) for library in _libraries()]
            for changed, _ in _before:
                changed.set(1)
        _users += 1
    try:
        yield
    finally:
        with _LOCK:
            _users -= 1
            if _users == 0:
                for changed, many in _before:
                    changed.set(many)
                _before.clear()


@cache
def _load_libraries() -> None:
    """Load the libraries that come with NumPy and SciPy: on use, later, they would not have been told."""
    for name in ("numpy", "scipy"):
        found = find_spec(name)
        for package in [] if found is None else found.submodule_search_locations or ():
            for file in _beside(Path(package)):
                with suppress(OSError):
                    ctypes.CDLL(file)


def _libraries() -> list[_Library]:
    """Return the libraries that are loaded and can be told."""
    libraries = []
    for path in _loaded():
        with suppress(OSError):
            # one that is loaded is not loaded again, and one that is not stays away
            library = ctypes.CDLL(path, mode=getattr(os, "RTLD_NOLOAD", 0) | getattr(os, "RTLD_NOW", 0))
            pair = next((pair for pair in _CALLS if all(hasattr(library, name) for name in pair)), None)
            if pair is not None:
                get, put = (getattr(library, name) for name in pair)
                get.restype, put.restype, put.argtypes = ctypes.c_int, None, [ctypes.c_int]
                libraries.append(_Library(get, put))
    return libraries


def _loaded() -> list[str]:
    """Return the files of libraries that are loaded, or that come with NumPy and SciPy if these are."""
    if _MAPS.exists():
        paths = [line.split(maxsplit=5)[5].strip() for line in _MAPS.read_text().splitlines() if "/" in line]
    else:
        files = [getattr(sys.modules.get(name), "__file__", None) for name in ("numpy", "scipy")]
        paths = [path for file in files if file for path in _beside(Path(file).parent)]
    # a library has a dozen maps, and there are thousands: each file once, and no object made of its path
    return [path for path in dict.fromkeys(paths) if _FILE.fullmatch(os.path.basename(path))]


def _beside(package: Path) -> list[str]:
    """Return the libraries of linear algebra that come with a package."""
    folders = package.parent / f"{package.name}.libs", package / ".dylibs"
    files = [file for folder in folders if folder.is_dir() for file in sorted(folder.iterdir())]
    return [str(file) for file in files if _FILE.fullmatch(file.name)]
