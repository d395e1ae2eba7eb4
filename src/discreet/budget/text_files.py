"""Texts that are read whole, such as TOML: from a file, or from what was piped into the program."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from discreet.errors import InputError

LARGEST_FILE = 10_000_000
"""The largest file that is read, in bytes."""

STANDARD_INPUT = ("-", "/dev/stdin", str(Path("/dev/stdin")))  # Windows turns the strokes around
"""What stands for standard input where a file is named."""


def piped_bytes(needed: str, *, what: str, most: int | None = None) -> bytes:
    """Return what was piped into the program: all of it, or one byte more than `most`.

    It can be read once, so one input of a command comes that way. A person at a terminal is not waited for.
    The messages say that `what` is to be piped, and that `needed` must stand in it.
    """
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise InputError(f"there is nothing on standard input (-); pipe {what} into it, or name a file")
    try:
        content = sys.stdin.buffer.read(-1 if most is None else most + 1)
    except OSError as error:
        raise InputError(f"standard input cannot be read: {error.strerror}") from None
    if not content:
        raise InputError(f"standard input (-) is empty; {needed}, and one input at most comes that way")
    return content


def read_text_file(path: str | os.PathLike[str], kind: str = "TOML file") -> tuple[str, str]:
    """Return the text of a file, and its name for error messages; files that are too large are refused.

    `-` stands for standard input.

    >>> read_text_file("no-such-file.json", "certificate")
    Traceback (most recent call last):
    discreet.errors.InputError: there is no file no-such-file.json
    """
    if os.fspath(path) in STANDARD_INPUT:
        what = f"a {kind.partition(',')[0]}"
        return _decoded(piped_bytes(f"{what} is needed", what=what, most=LARGEST_FILE), "standard input")
    file = Path(path)
    name = str(file) if str(file).isprintable() else ascii(str(file))
    needed = f"the path of {'an' if kind[0] in 'aeiou' else 'a'} {kind} is needed"
    try:
        if file.is_dir():
            raise InputError(f"{name} is a directory; {needed}")
        if not file.exists():
            raise InputError(f"there is no file {name}")
        if not file.is_file():
            raise InputError(f"{name} is not a regular file; {needed}")
        with file.open("rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from None
    return _decoded(content, name)


def _decoded(content: bytes, name: str) -> tuple[str, str]:
    if len(content) > LARGEST_FILE:
        raise InputError(f"{name} is larger than {LARGEST_FILE // 10**6} MB, the largest file that is read")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"not UTF-8: byte 0x{content[error.start]:02x} (line {line} of {name})") from None
    return text, name
