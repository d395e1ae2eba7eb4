"""Checks of a ledger against itself, against its totals, and against the files it speaks of."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from discreet.release.ledger import NOT_PRIVATE, Entry, Ledger, read_ledger


@dataclass(frozen=True, slots=True)
class LedgerCheck:
    """What a check found: `problems` need an answer, `remarks` should be known."""

    ledger: Ledger
    problems: tuple[str, ...]
    remarks: tuple[str, ...]
    files: int

    @property
    def sound(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def __str__(self) -> str:
        entries = len(self.ledger.entries)
        head = f"{entries} entr{'y' if entries == 1 else 'ies'}, {self.files} files with the recorded hash: "
        head += "sound" if self.sound else f"{len(self.problems)} problem{'s' * (len(self.problems) > 1)}"
        problems = (f"problem: {text}" for text in self.problems)
        return "\n".join([head, *problems, *(f"remark: {text}" for text in self.remarks)])


def check_ledger(path: str | os.PathLike[str]) -> LedgerCheck:
    """Check totals, recorded spending and the hashes of all outputs; a damaged ledger raises at once.

    An output that is not where it was written (moved, or published and removed) is a remark: its spending
    counts all the same.
    """
    file = Path(os.path.realpath(path))
    ledger = read_ledger(file)
    problems, remarks, good = [], [], 0
    for total in ledger.totals:
        used = ledger.spent(total.unit, total.neighbours)
        if used > total.rho:
            problems.append(f"the runs spend rho {used}, more than the total for one {total}")
    declared = {total.unit for total in ledger.totals}
    for number, entry in enumerate(ledger.entries, start=1):
        label = f"run {number} ({entry.time})"
        if declared and entry.counted and entry.release.unit not in declared:
            problems.append(f"{label} is about one {entry.release.unit}, for which no total is declared")
        if not entry.counted:
            remarks.append(f"{label} is a rehearsal, {NOT_PRIVATE}: its output must not leave the house")
        for level, query in entry.exact:
            remarks.append(f"{label} holds {query!r} of {level} exact, which no rho covers")
        wrong, fine = _files(entry, file.parent)
        good += fine
        if wrong is None:
            remarks.append(f"{label}: its output {entry.output} is no longer there")
        else:
            problems += [f"{label}: {text}" for text in wrong]
    return LedgerCheck(ledger, tuple(problems), tuple(remarks), good)


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _files(entry: Entry, folder: Path) -> tuple[list[str] | None, int]:
    output = folder / entry.output
    if not output.is_dir():
        return None, 0
    wrong, good = [], 0
    for name, digest in entry.files.items():
        try:
            if sha256(output / name) == digest:
                good += 1
            else:
                wrong.append(f"{name} of {entry.output} was changed since it was written")
        except FileNotFoundError:
            wrong.append(f"{name} of {entry.output} is missing")
        except OSError as error:
            wrong.append(f"{name} of {entry.output} cannot be read: {error.strerror}")
    return wrong, good
