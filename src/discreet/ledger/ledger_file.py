"""The file of a ledger: found, read as it stands, made, changed under its lock, and recovered after a kill.

The lock is that of the ledger's directory (`discreet.ledger.locks`), released when the process ends. How a
run's output and its entry appear together is told in `discreet.ledger.commit`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from discreet.errors import InputError
from discreet.files import FilePath, check_regular, disk_trouble, whole_file
from discreet.ledger.input_folders import folders_of
from discreet.ledger.ledger import FORMAT, UNSEALED, Ledger
from discreet.ledger.locks import empty_folder, is_own, locked
from discreet.ledger.policy import PolicyError
from discreet.ledger.receipts import contradiction, outputs_of
from discreet.ledger.rules import Rules, rules_beside
from discreet.ledger.signing import Key
from discreet.ledger.total import Total
from discreet.ledger.witness_file import Witness, start_witness
from discreet.questions import Option, repeated_option

FILE = "discreet-ledger.json"
"""The name under which a ledger is looked for beside an input."""

VARIABLE = "DISCREET_LEDGER"
"""The environment variable that may name the ledger."""

LARGEST = 1 << 28
"""The most bytes that a ledger may have: some hundred thousand runs."""


def find_ledger(given: FilePath | None, *sources: object) -> Path | None:
    """Return the ledger of a run: the one named, that of the environment, or the one beside the input.

    An input that is reached by a link lies beside two ledgers, if there is one at either end, and so may one
    of several files: then one must be named. None is ever made unasked.

    >>> find_ledger("mine.json", "counts.csv")
    PosixPath('mine.json')
    """
    if given is not None:
        return ledger_in(given)
    named = os.environ.get(VARIABLE)
    if named:
        return ledger_in(named)
    beside = [folder / FILE for folder in folders_of(*sources)]
    files = [file for file in beside if file.exists() or file.is_symlink()]
    if len({os.path.realpath(file) for file in files}) > 1:
        why = "is reached by a link, and lies" if len(sources) == 1 else "has several files, which lie"
        raise InputError(
            f"the input {why} beside two ledgers, {' and '.join(map(str, files))}: "
            "name the one that its people belong to (--ledger)"
        )
    return files[0] if files else None


def ledger_in(path: FilePath) -> Path:
    """Return a ledger's file; a directory stands for the ledger in it.

    >>> ledger_in("mine.json"), ledger_in(".").name
    (PosixPath('mine.json'), 'discreet-ledger.json')
    """
    file = Path(path)
    return file / FILE if file.is_dir() else file


def read_ledger(path: FilePath) -> Ledger:
    """Return the ledger as it stands: runs whose output has appeared, and no others.

    >>> read_ledger("no-such-ledger.json")
    Traceback (most recent call last):
    discreet.errors.InputError: there is no ledger no-such-ledger.json
    """
    file = Path(path)
    text = read_text(file)
    while True:
        ledger = standing(Ledger.from_text(text, where=str(file)), Path(os.path.realpath(file)).parent)
        # A run that is being undone removes its staging directory after its entry: read until both agree.
        if (again := read_text(file)) == text:
            return ledger
        text = again


def standing(ledger: Ledger, folder: Path) -> Ledger:
    """Return the ledger without a pending run whose output still waits in its staging directory.

    The rename that makes the output appear makes that directory disappear, in one step. So the run counts
    unless its directory is there; if somebody removed that by hand, it counts: the safe side. It also counts
    if its output is there, whatever stands beside it under the name of its directory; and in a signed ledger
    whose head is not signed, where anybody may have written that it is pending.
    """
    staging = None if ledger.key and not ledger.sealed else ledger.staging(folder)
    if staging is None or not is_own(staging) or ledger.entries[-1].made(folder / ledger.entries[-1].output):
        return ledger.settled()
    return replace(ledger.settled(), records=ledger.records[:-1])


def is_ledger(path: FilePath) -> bool:
    """Tell a ledger from a release by the first bytes of the file.

    >>> is_ledger("no-such-file")
    False
    """
    try:
        with open(path, "rb") as stream:
            start = stream.read(200)
    except (OSError, ValueError):
        return False
    return any(known.encode() in start for known in (FORMAT, UNSEALED))


def read_text(file: Path) -> str:
    """Return the text of a ledger file, or raise an `InputError`."""
    try:
        if not file.exists():
            raise InputError(f"there is no ledger {file}")
        check_regular(file, f"the ledger {file}", most=LARGEST)
        if file.is_file() and file.stat().st_nlink > 1:
            raise InputError(
                f"the ledger {file} has another name too (a hard link), under which an old state would live "
                "on; remove one of the names"
            )
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"the ledger {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"not a ledger: the text is not UTF-8 ({file})") from None


_WRITING = re.compile(r"\.discreet-[0-9a-f]{8}\.tmp")


SigningKey = Annotated[
    Key | None,
    Option("The key file of a signed ledger. Default: DISCREET_LEDGER_KEY.", "FILE", reads=Path | None),
]


def create_ledger(
    path: FilePath,
    totals: Annotated[
        Sequence[Total],
        repeated_option(
            "The most that all runs together may spend, such as person:bounded:3/2 or "
            "person:bounded:20@1e-10; may be repeated.",
            "UNIT:NEIGHBOURS:LIMIT",
            "total",
        ),
    ] = (),
) -> Ledger:
    """Make a new ledger, with the totals that its runs may spend together.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     print(create_ledger(Path(folder) / "ledger.json"))
    an empty ledger, without totals
    """
    file, ledger = Path(os.path.abspath(path)), Ledger.new(totals)
    try:
        with locked(file.parent):
            if file.exists() or file.is_symlink():
                raise InputError(f"the file {path} already exists; a ledger is never overwritten")
            write_text(file, ledger.to_text())
    except OSError as error:
        raise InputError(f"the ledger {path} cannot be made: {error.strerror}") from None
    return ledger


def change_total(
    path: FilePath,
    total: Total,
    reason: Annotated[str, Option("Why; the ledger keeps it.", "TEXT")],
    *,
    key: SigningKey = None,
) -> Ledger:
    """Declare a total in an existing ledger; it replaces an earlier one for the same unit.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     ledger = create_ledger(Path(folder) / "ledger.json").totals
    ...     more = Total(unit="person", neighbours="bounded", rho=2)
    ...     change_total(Path(folder) / "ledger.json", more, "decided by the board").left("person")
    Fraction(2, 1)
    """
    return _changed(path, lambda before: before.with_total(total, reason, key), key)


def sign_ledger(
    path: FilePath,
    key: Annotated[Key, Option("The key's file; it is made if it does not exist.", "FILE", reads=Path)],
    *,
    old_key: Annotated[
        Key | None, Option("The file of the current key, if the ledger is signed.", "FILE", reads=Path | None)
    ] = None,
) -> Ledger:
    """Start signing a ledger with a key, or change to another; `old_key` signs the change."""
    return _changed(path, lambda before: before.with_key(key, old_key), key, old_key)


def upgrade_ledger(
    path: FilePath,
    *,
    key: SigningKey = None,
) -> Ledger:
    """Write a ledger of the format before in the present one: entries and heads stay, a signed one is sealed.

    The file is replaced in one step, so a kill leaves one or the other.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "ledger.json"
    ...     write_text(file, replace(create_ledger(file), format=UNSEALED).to_text())
    ...     before = read_ledger(file)
    ...     before.format, upgrade_ledger(file).format, read_ledger(file).heads == before.heads
    ('discreet ledger 2', 'discreet ledger 3', True)
    """
    return _changed(path, lambda before: before.upgraded(key), key)


def note_counts(
    path: FilePath, content: str, at_most: int, *, release: str, key: Key | None = None
) -> Ledger:
    """Record in a ledger how many records of one person some counts may hold, before the counts appear.

    If they never appear, nothing is lost: this record spends nothing.
    """
    return _changed(path, lambda before: before.with_counts(content, at_most, release, key), key)


def witness_ledger(
    path: FilePath,
    to: Annotated[
        FilePath,
        Option(
            "Start a witness in this new file, which runs add to if a policy names it.",
            "FILE",
            reads=Path | None,
        ),
    ],
) -> Witness:
    """Start the witness of a ledger, in a new file, with its head as it is now.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = create_ledger(Path(folder) / "ledger.json")
    ...     len(witness_ledger(Path(folder) / "ledger.json", Path(folder) / "witness.txt").heads)
    1
    """
    with _changing(path) as (_, ledger):
        return start_witness(to, ledger)


def _changed(
    path: FilePath, change: Callable[[Ledger], Ledger], key: Key | None, old_key: Key | None = None
) -> Ledger:
    """Replace a ledger by a changed one, which its witnesses see; they must have seen no other before.

    `key` seals the changed one; where it is another, `old_key` seals what a killed run is taken off.
    """
    with _changing(path) as (file, before):
        rules = rules_beside(file)
        if wrong := [
            excess for excess in rules.about(before, started=False) if excess.rule == "ledger.witness"
        ]:
            raise PolicyError(wrong)
        after = change(before)
        if after is not before:
            recover(file, old_key or key)
            write_text(file, after.to_text(key))
            rules.seen(after)
    return after


@contextmanager
def _changing(path: FilePath) -> Iterator[tuple[Path, Ledger]]:
    """Yield the file of a ledger and the ledger as it stands, while its lock is held; nothing is written."""
    read_text(Path(path))  # an error names the path as it was given
    file = Path(os.path.realpath(path))
    try:
        with locked(file.parent):
            yield file, standing(Ledger.from_text(read_text(file), where=str(file)), file.parent)
    except OSError as error:
        raise InputError(f"the ledger {path} cannot be used: {error.strerror}") from None


def open_ledger(
    path: FilePath, out: FilePath, *, key: Key | None = None, rules: Rules | None = None
) -> tuple[Path, Ledger]:
    """Return an existing ledger for a run into `out`, after undoing what a killed run may have left in it.

    Outputs beside the ledger, beside `out` or beside outputs of its runs may show that the ledger is an older
    copy: then it is refused. So is one that cannot be written to, that needs another `key`, or that the
    `rules` refuse. All this happens before anything is read or counted, and before the ledger is touched.
    """
    with _changing(path) as (file, ledger):
        if not os.access(file.parent, os.W_OK | os.X_OK):
            raise InputError(f"the ledger {path} cannot be written: its directory is read-only")
        if rules is not None:
            rules.check(ledger)
        ledger.need_key(key, ledger.key)
        for output in outputs_of(ledger, file, Path(os.path.realpath(out))):
            if wrong := contradiction(ledger, output):
                raise InputError(f"the ledger {path} cannot be used: {wrong}; nothing was spent")
        return file, recover(file, key)


def recover(file: Path, key: Key | None) -> Ledger:
    """Settle a pending entry in the file itself; the caller holds the lock and has checked the ledger.

    A ledger whose head is signed needs its key for that.

    The staging directory is emptied first, while its existence still says that the run did not happen; then
    the entry is removed, then the empty directory. So a kill during recovery loses nothing either.
    """
    raw = Ledger.from_text(read_text(file), where=str(file))
    for left_over in file.parent.glob(".discreet-*.tmp"):
        if _WRITING.fullmatch(left_over.name) and left_over.is_file():
            left_over.unlink()  # from a run killed while writing a ledger: a live one would hold the lock
    if not raw.pending:
        return raw
    folder, ledger = raw.staging(file.parent), standing(raw, file.parent)
    assert folder is not None
    text = ledger.to_text(key)  # a key that is missing or another changes nothing
    dead = len(ledger.records) < len(raw.records)
    if dead:
        empty_folder(folder)
    write_text(file, text)
    if dead:
        folder.rmdir()
    return ledger


def write_text(file: Path, text: str, what: str = "ledger") -> None:
    """Replace a ledger, or a file that belongs to it, in one step, readable by its owner only."""
    try:
        with whole_file(file, private=True) as stream:
            stream.write(text.encode())
    except OSError as error:
        trouble = disk_trouble(error, f"the {what} {file}")
        raise InputError(f"{trouble}; nothing was written and nothing spent") from None
