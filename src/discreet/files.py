"""Files that appear whole: written under a hidden name beside their place, synced, and moved there.

No reader ever sees half a file, and after a crash it is the old one or the new one. Results as CSV and JSON
have them, and PyArrow, which reads and writes tables.
"""

from __future__ import annotations

import atexit
import csv
import errno
import hashlib
import io
import os
import secrets
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, BinaryIO

from discreet.errors import DiscreetError, InputError, install_hint

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FilePath = str | os.PathLike[str]
"""A file or a directory, as a caller names it."""

TableSource = Any
"""A table, as a caller names it: a file, a table or sheet in one, or standard input. Or a pandas, polars or
Arrow table, or what else gives its columns in Arrow's way."""

WINDOWS = os.name == "nt"
BINARY: int = getattr(os, "O_BINARY", 0)
"""A flag of `os.open` without which Windows would write every end of a line as two characters."""


@contextmanager
def surely(undo: Callable[[], None]) -> Iterator[None]:
    """Call `undo` when the block ends, and again as the process ends if a signal broke into it.

    What is named before the block and made within it is thus never left behind, whatever moment Ctrl-C or
    SIGTERM chooses. `undo` may be called twice.

    >>> with surely(lambda: print("gone")):
    ...     print("there")
    there
    gone
    """
    atexit.register(undo)
    try:
        yield
    finally:
        undo()
        atexit.unregister(undo)


@contextmanager
def whole_file(path: Path, *, private: bool = False, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Give a stream whose content is the file at `path` once the block ends without an error.

    A private file can be read by its owner only, and stays through a power failure: its directory is synced.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, whole_file(Path(folder) / "a.txt") as stream:
    ...     _ = stream.write(b"all of it")
    """
    temporary = _hidden_name(path, private=private)
    with surely(partial(temporary.unlink, missing_ok=True)):
        with open(_create(temporary, 0o600 if private else mode), "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    if private:
        sync(path.parent)


def write_whole(contents: Mapping[Path, bytes], *, confidential: bool = False) -> None:
    """Write several files: all or none, as far as the file system allows.

    If they are confidential, only their owner can read them.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_whole({Path(folder) / "a": b"1", Path(folder) / "b": b"2"})
    ...     sorted(os.listdir(folder))
    ['a', 'b']
    """
    staged: Path | None = None
    try:
        with ExitStack() as waiting:
            for staged, content in contents.items():
                stream = waiting.enter_context(whole_file(staged, mode=0o600 if confidential else 0o666))
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())  # a full disk shows here, before any file is in its place
    except OSError as error:
        raise InputError(f"{staged} cannot be written: {error.strerror}") from None


def disk_trouble(error: OSError, what: str) -> str:
    """Say why something cannot be written, and of a disk that is full or read-only that it is.

    >>> disk_trouble(OSError(errno.ENOSPC, "No space left on device"), "the ledger a.json")
    'the disk of the ledger a.json is full (No space left on device)'
    """
    reason = error.strerror or type(error).__name__
    states = {
        errno.ENOSPC: f"the disk of {what} is full",
        errno.EDQUOT: f"the quota on the disk of {what} is used up",
        errno.EROFS: f"the disk of {what} is read-only",
    }
    state = states.get(error.errno or 0)
    return f"{state} ({reason})" if state else f"{what} cannot be written: {reason}"


def check_writable(path: Path) -> Path:
    """Return where a file will be, if it can be written there; nothing is changed.

    >>> check_writable(Path("no-such-directory/a.csv"))
    Traceback (most recent call last):
    discreet.errors.InputError: no-such-directory/a.csv cannot be written: there is no directory \
no-such-directory
    """
    target = path.resolve()
    try:
        if target.is_dir():
            raise InputError(f"{path} is a directory; the path of a file is needed")
        if target.exists() and not target.is_file():
            raise InputError(f"{path} is not a regular file; it is left alone")
        if not target.parent.is_dir():
            raise InputError(f"{path} cannot be written: there is no directory {path.parent}")
        if target.exists() and not os.access(target, os.W_OK):
            raise InputError(f"{path} cannot be written: the file is read-only")
        probe = _hidden_name(target)
        with surely(partial(probe.unlink, missing_ok=True)):
            os.close(_create(probe, 0o666))
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    return target


def check_regular(path: Path, name: str, *, most: int) -> None:
    """Raise if a file would never end, such as a pipe or a device, or is longer than any of its kind.

    >>> check_regular(Path("/dev/null"), "the key", most=100)
    Traceback (most recent call last):
    discreet.errors.InputError: the key is not a regular file
    """
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(
        status.st_mode
    ):  # opening a directory says it all
        raise InputError(f"{name} is not a regular file")
    if stat.S_ISREG(status.st_mode) and status.st_size > most:
        raise InputError(f"{name} has {status.st_size:,} bytes; at most {most:,} are read")


def _hidden_name(path: Path, *, private: bool = False) -> Path:
    """Return a new name beside `path`; those of private files can be told from all others."""
    return path.with_name(f".{'discreet-' if private else path.name + '.'}{secrets.token_hex(4)}.tmp")


def sync(path: Path) -> None:
    """Wait until a file or a directory is on the disk."""
    if WINDOWS and path.is_dir():  # its file system keeps a journal of names, and does not sync directories
        return
    handle = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def belongs_to_another(state: os.stat_result) -> bool:
    """Whether a file is another user's, where files have owners (not on Windows).

    >>> belongs_to_another(os.stat(os.curdir)) in (True, False)
    True
    """
    return hasattr(os, "getuid") and state.st_uid != os.getuid()


def open_to_others(state: os.stat_result) -> bool:
    """Whether others than its owner may use a file, where its mode says so (not on Windows).

    >>> open_to_others(os.stat(os.devnull))
    True
    """
    return not WINDOWS and bool(state.st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def _create(path: Path, mode: int) -> int:
    # not tempfile: its files are private to the user, whatever the umask says
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)


def json_fields(result: DataclassInstance, **names: str) -> dict[str, object]:
    """Return the fields of a result as JSON has them: paths as texts, tuples as lists, some by another name.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Written:
    ...     out: Path
    ...     names: tuple[str, ...]
    >>> json_fields(Written(Path("published"), ("a.csv",)), names="files")
    {'out': 'published', 'files': ['a.csv']}
    """
    values: dict[str, object] = {}
    for field in fields(result):
        value = getattr(result, field.name)
        value = list(value) if isinstance(value, tuple) else str(value) if isinstance(value, Path) else value
        values[names.get(field.name, field.name)] = value
    return values


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say which file it was, if it cannot be opened, or unpacked, or read to its end.

    >>> with readable(Path("no-such-file")):
    ...     _ = open("no-such-file")
    Traceback (most recent call last):
    discreet.errors.InputError: no-such-file cannot be read: No such file or directory
    """
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", "") or "it is damaged"
        raise InputError(f"{path} cannot be read: {reason}") from None


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV, every float with all its digits and None as an empty field.

    >>> csv_text(["level", "sd"], [("State, all", 0.1), ("County", None)])
    'level,sd\\n"State, all",0.1\\nCounty,\\n'
    """
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return stream.getvalue()


FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
"""What a text begins with that a spreadsheet reads as a formula, or passes over to find one."""


def inert_text(text: str) -> str:
    """Return a text with an apostrophe before it, if a spreadsheet would read it as a formula.

    >>> inert_text("=1+1"), inert_text("A1")
    ("'=1+1", 'A1')
    """
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text


def sha256(file: Path, stop: Event | None = None) -> str:
    """Return the SHA-256 of a file in hexadecimal digits; nonsense if it is told to stop before its end."""
    hashed = hashlib.sha256()
    with open(file, "rb", buffering=0) as stream:
        while (piece := stream.read(1 << 22)) and not (stop is not None and stop.is_set()):
            hashed.update(piece)
    return hashed.hexdigest()


# -- PyArrow -----------------------------------------------------------------------------------------------

ArrowTable = Any
ArrowArray = Any
ArrowSchema = Any
ArrowType = Any
"""What PyArrow gives: it has no types of its own that a checker could use."""


def arrow(part: str = "") -> Any:
    """Return PyArrow, or one of its modules such as `csv`."""
    try:
        _prepare()
        return import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError:  # pragma: no cover
        text = "reading and writing tables needs PyArrow, which is not installed"
        raise DiscreetError(f"{text}: {install_hint('release')}") from None


@cache
def _prepare() -> None:
    """Let PyArrow load what it loads on first use; later, in a comparison, an interrupt would be misread."""
    import_module("pyarrow").array([])
