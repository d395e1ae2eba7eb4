"""The witness of a ledger: a file elsewhere that every run adds one line to, and that a ledger must continue.

The first line names the ledger, each other line a number of entries and the head after them:

    discreet witness 1 LEDGER
    NUMBER HEAD TIME

Lines are only ever appended, so the file may be one that can only be appended to (`chattr +a`), on another
disk or of another owner. A ledger that is older than a line, or other than it, was put back or rewritten.

A line is written once the output of a run has appeared, and so its entry counts whatever happens. A kill
before that leaves a ledger that is one entry ahead, which is no contradiction; the next run adds the line
before it does anything else, and is refused if it cannot. So a kill never blocks a ledger, and at most the
last entry has no line. A line that a kill or a full disk cut short has no end: it says nothing, and the next
one begins on a new line.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import InputError
from discreet.files import BINARY, FilePath, check_regular, sync
from discreet.ledger.entry import now
from discreet.ledger.ledger import Ledger

FORMAT = "discreet witness 1"

LARGEST = 1 << 28
"""The most bytes that a witness may have: a million lines and more."""

_LINE = re.compile(r"(\d{1,9}) ([0-9a-f]{64}) \S+")


@dataclass(frozen=True, slots=True)
class Witness:
    """What the file of a witness says: of which ledger, and its heads by the number of entries."""

    file: Path
    ledger: str
    heads: tuple[tuple[int, str], ...]

    def contradiction(self, ledger: Ledger) -> str:
        """Say how a ledger contradicts the witness; an empty text if it continues from it.

        >>> mine = Ledger.new()
        >>> Witness(Path("w"), mine.id, ((0, mine.head),)).contradiction(mine)
        ''
        >>> Witness(Path("w"), mine.id, ((3, mine.head),)).contradiction(mine)
        'the witness w has seen 3 entries of the ledger, and now it has 0: it was put back to an older state'
        """
        if ledger.id != self.ledger:
            return (
                f"the witness {self.file} is of another ledger, {self.ledger[:12]}, not of {ledger.id[:12]}"
            )
        most = max((number for number, _ in self.heads), default=0)
        if most > len(ledger.records):
            return (
                f"the witness {self.file} has seen {_entries(most)} of the ledger, and now it has "
                f"{len(ledger.records)}: it was put back to an older state"
            )
        if any(ledger.heads[number] != head for number, head in self.heads):
            return f"the witness {self.file} has seen other entries than the ledger has: it was rewritten"
        return ""

    def lacks(self, ledger: Ledger) -> bool:
        """Whether the last entry of a ledger has no line yet."""
        return (len(ledger.records), ledger.head) not in self.heads


def _entries(many: int) -> str:
    return f"{many} entr{'y' if many == 1 else 'ies'}"


def start_witness(file: FilePath, ledger: Ledger) -> Witness:
    """Make the witness of a ledger, in a new file, with its head as it is now.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     start_witness(Path(folder) / "witness.txt", Ledger.new()).heads[0][0]
    0
    """
    path = Path(file)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | BINARY, 0o600)
    except FileExistsError:
        raise InputError(f"the file {file} already exists; a witness is never overwritten") from None
    except OSError as error:
        raise InputError(f"the witness {file} cannot be made: {error.strerror}") from None
    try:
        _append(handle, f"{FORMAT} {ledger.id}\n{_line(ledger)}")
        sync(path.parent)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise InputError(f"the witness {file} cannot be made: {error.strerror}") from None
    finally:
        os.close(handle)
    return read_witness(path)


def read_witness(file: Path) -> Witness:
    """Return what a witness says.

    >>> read_witness(Path("no-such-witness"))
    Traceback (most recent call last):
    discreet.errors.InputError: there is no witness no-such-witness; `discreet ledger witness LEDGER --to \
FILE` starts one
    """
    try:
        if not file.exists():
            raise InputError(
                f"there is no witness {file}; `discreet ledger witness LEDGER --to FILE` starts one"
            )
        check_regular(file, f"the witness {file}", most=LARGEST)
        text = file.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise InputError(f"the witness {file} cannot be read: {error.strerror}") from None
    first, *lines = text.split("\n")[:-1] or [""]  # what has no end says nothing
    if not re.fullmatch(f"{FORMAT} [0-9a-f]{{32}}", first):
        raise InputError(f'{file} is not a witness: it must begin with "{FORMAT}" and the name of a ledger')
    matches = (_LINE.fullmatch(line) for line in lines)
    return Witness(file, first[-32:], tuple((int(match[1]), match[2]) for match in matches if match))


def add_line(witness: Witness, ledger: Ledger) -> None:
    """Append the head of a ledger, unless it is there; an `OSError` says why it cannot be done."""
    if not witness.lacks(ledger):
        return
    handle = os.open(witness.file, os.O_RDWR | os.O_APPEND | BINARY)
    try:
        size = os.fstat(handle).st_size
        os.lseek(handle, max(size - 1, 0), os.SEEK_SET)
        cut_short = size > 0 and os.read(handle, 1) != b"\n"
        _append(handle, ("\n" if cut_short else "") + _line(ledger))
    finally:
        os.close(handle)


def _line(ledger: Ledger) -> str:
    return f"{len(ledger.records)} {ledger.head} {now()}\n"


def _append(handle: int, text: str) -> None:
    left = text.encode()
    while left:
        left = left[os.write(handle, left) :]
    os.fsync(handle)
