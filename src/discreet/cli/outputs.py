"""Files that a command writes: checked before the long work, and put in place together at its end.

Each is written beside its place under a temporary name and then moved there, so that no reader ever sees
half a file; if one cannot be written, none appears.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from discreet.errors import InputError

TABLE_KINDS = (".csv",)
PLOT_KINDS = (".svg", ".png", ".pdf")


class Outputs:
    """The files that one command will write.

    >>> Outputs().planned
    {}
    """

    def __init__(self) -> None:
        self.planned: dict[str, Path] = {}

    def plan(self, option: str, path: Path | None, kinds: Sequence[str]) -> None:
        """Check that a file can be written, without writing it.

        >>> Outputs().plan("--plot", Path("figure.gif"), PLOT_KINDS)
        Traceback (most recent call last):
        discreet.errors.InputError: --plot is figure.gif; its name must end in .svg, .png or .pdf
        """
        if path is None:
            return
        if path.suffix.lower() not in kinds:
            *most, last = kinds
            choice = f"{', '.join(most)} or {last}" if most else last
            raise InputError(f"{option} is {path}; its name must end in {choice}")
        place = path.resolve()
        if place in self.planned.values():
            raise InputError(f"{option} is {path}, which another option names too")
        _check(path, place)
        self.planned[option] = place

    def wanted(self, option: str) -> bool:
        """Whether the file of this option was asked for."""
        return option in self.planned

    def kind(self, option: str) -> str:
        """The ending of a file's name, which says its kind."""
        return self.planned[option].suffix.lower().removeprefix(".")

    def write(self, contents: Mapping[str, bytes]) -> None:
        """Write all files, each named by its option; all or none, as far as the file system allows."""
        waiting: dict[Path, Path] = {}
        try:
            for option, content in contents.items():
                place = self.planned[option]
                waiting[place] = _beside(place)
                with open(_create(waiting[place]), "wb") as stream:
                    stream.write(content)
                    stream.flush()
                    os.fsync(stream.fileno())
            for place, temporary in waiting.items():
                os.replace(temporary, place)
        except OSError as error:
            raise InputError(f"{place} cannot be written: {error.strerror}") from None
        finally:
            for temporary in waiting.values():
                temporary.unlink(missing_ok=True)


def _check(path: Path, place: Path) -> None:
    try:
        if place.is_dir():
            raise InputError(f"{path} is a directory; the path of a file is needed")
        if place.exists() and not place.is_file():
            raise InputError(f"{path} is not a regular file; it is left alone")
        if not place.parent.is_dir():
            raise InputError(f"{path} cannot be written: there is no directory {path.parent}")
        if place.exists() and not os.access(place, os.W_OK):
            raise InputError(f"{path} cannot be written: the file is read-only")
        probe = _beside(place)
        os.close(_create(probe))
        probe.unlink()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def _beside(place: Path) -> Path:
    return place.with_name(f".{place.name}.{secrets.token_hex(4)}.tmp")


def _create(path: Path) -> int:
    # not tempfile: its files are private to the user, whatever the umask says
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
