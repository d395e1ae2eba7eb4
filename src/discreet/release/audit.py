"""Checks of a ledger against itself, against its totals, and against the outputs that it speaks of."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from discreet.errors import InputError
from discreet.files import sha256
from discreet.release.commit import (
    MANIFESTS,
    RECEIPT,
    contradiction,
    outputs_in,
    read_receipt,
    receipt_free,
)
from discreet.release.composition import exceeds
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


@dataclass(slots=True)
class _Findings:
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    files: int = 0


def check_ledger(
    path: str | os.PathLike[str],
    outputs: Sequence[str | os.PathLike[str]] = (),
    *,
    witness: str | None = None,
    key: str | None = None,
) -> LedgerCheck:
    """Check totals, recorded spending, the hashes of all outputs and what outputs say of the ledger.

    `outputs` are directories of runs, or directories of such: an output that the ledger lacks, a ledger
    that is older than an output, and a chain that was recomputed are found by what their manifests say. A
    `witness` is what `ledger.witness` was at some time; `key` is the public key that entries must be signed
    with. A ledger that does not fit together raises at once. An output that is not where it was written
    (moved, or published and removed) is a remark: its spending counts all the same.

    What no file can show: if every copy of the ledger and every output is replaced by an older state, and
    there is no witness kept elsewhere, nothing differs from a ledger that is as old.
    """
    ledger, file = read_ledger(path), Path(os.path.realpath(path))
    found = _Findings()
    _totals(ledger, found)
    declared = {unit for total in ledger.totals for unit in total.units}
    for number, entry in enumerate(ledger.entries, start=1):
        label = f"run {number} ({entry.time})"
        if declared and entry.counted and entry.release.unit not in declared:
            found.problems.append(
                f"{label} is about one {entry.release.unit}, for which no total is declared"
            )
        if not entry.counted:
            found.remarks.append(f"{label} is a rehearsal, {NOT_PRIVATE}: its output must not be published")
        for level, query in entry.exact:
            found.remarks.append(f"{label} holds {query!r} of {level} exact, which no rho covers")
        _files(entry, file.parent / entry.output, label, found)
    _order(ledger, found)
    if any(one["kind"] == "import" for one in ledger.records):
        found.remarks.append("its first entries are of format 1, in which totals were not protected")
    if witness is not None and not ledger.agrees(witness):
        found.problems.append(
            f"it does not go on from the witness {witness.strip()}: entries were removed or changed "
            "since then"
        )
    if key is not None and ledger.key != key.strip().lower():
        what = f"signed with the key {ledger.key[:16]}" if ledger.key else "not signed"
        found.problems.append(f"it is {what}, where the key {key.strip()[:16]} was asked for")
    own = [file.parent / entry.output for entry in ledger.entries]
    for output in dict.fromkeys([*own, *outputs_in(file.parent), *_outputs(outputs)]):
        wrong = contradiction(ledger, output)
        if wrong:
            found.problems.append(wrong)
    return LedgerCheck(ledger, tuple(found.problems), tuple(found.remarks), found.files)


def _totals(ledger: Ledger, found: _Findings) -> None:
    for total in ledger.totals:
        if total.rho is not None:
            used = ledger.spent(total.unit, total.neighbours)
            if used > total.rho:
                found.problems.append(f"the runs spend rho {used}, more than the total for one {total}")
        elif ledger.runs(total.unit):
            more = exceeds(total, ledger.runs(total.unit))
            if more:
                found.problems.append(f"the runs come to {more}, more than the total for one {total}")


def _order(ledger: Ledger, found: _Findings) -> None:
    times = [str(one.get("time", "")) for one in ledger.records if one.get("time")]
    if times != sorted(times):
        found.remarks.append("the times of its entries do not rise: a clock was set back")


def _files(entry: Entry, output: Path, label: str, found: _Findings) -> None:
    if not output.is_dir():
        found.remarks.append(f"{label}: its output {entry.output} is no longer there")
        return
    for name, digest in entry.files.items():
        try:
            if _hash(output / name) == digest:
                found.files += 1
            else:
                found.problems.append(f"{label}: {name} of {entry.output} was changed since it was written")
        except FileNotFoundError:
            found.problems.append(f"{label}: {name} of {entry.output} is missing")
        except OSError as error:
            found.problems.append(f"{label}: {name} of {entry.output} cannot be read: {error.strerror}")


def _hash(file: Path) -> str:
    """The hash of a file of an output; a manifest's is that before the ledger's head came into it."""
    if file.name.split(".")[0] in MANIFESTS and file.suffix == ".json":
        try:
            text = file.read_text(encoding="utf-8")
            if RECEIPT in json.loads(text):
                return hashlib.sha256(receipt_free(text).encode()).hexdigest()
        except (ValueError, TypeError):
            pass
    return sha256(file)


def _outputs(given: Sequence[str | os.PathLike[str]]) -> Iterator[Path]:
    for one in given:
        path = Path(os.path.realpath(one))
        if not path.is_dir():
            raise InputError(f"{one} is not a directory; outputs of runs are needed")
        if read_receipt(path) is not None:
            yield path
        else:
            yield from outputs_in(path)
