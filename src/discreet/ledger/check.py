"""Checks of a ledger: its own consistency, its totals, and the outputs of its runs."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.files import FilePath
from discreet.ledger import records_per_person as contents
from discreet.ledger.entry import Entry
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_file import read_ledger
from discreet.ledger.manifests import MANIFESTS, read_manifest, read_receipt, recorded_hash
from discreet.ledger.receipts import contradiction, outputs_of
from discreet.ledger.rules import rules_beside
from discreet.questions import Option
from discreet.rehearsal import NOT_PRIVATE

_RUNS = ("discreet measurements 1", "discreet safetab 1")
"""The manifest formats of runs that spend budget."""


@dataclass(frozen=True, slots=True)
class LedgerCheck(Summarised):
    """What a check found: `problems` need action, `remarks` are for information.

    `not_seen` is what the ledger and its outputs could not show, whatever was done to them.
    """

    ledger: Ledger
    problems: tuple[str, ...]
    remarks: tuple[str, ...]
    files: int
    not_seen: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether no problem was found."""
        return not self.problems


@dataclass(slots=True)
class _Findings:
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    files: int = 0


def check_ledger(
    path: FilePath,
    outputs: Sequence[FilePath] = (),
    *,
    witness: Annotated[
        str | None, Option("What `discreet ledger witness` printed earlier.", "WITNESS")
    ] = None,
    key: Annotated[str | None, Option("The public key that entries must be signed with.", "HEX")] = None,
) -> LedgerCheck:
    """Check totals, recorded spending, the hashes of all outputs and what outputs say about the ledger.

    `outputs` are output directories of runs, or directories of such, wherever they were copied to. The check
    finds changed and missing files, and outputs that the ledger lacks; from the manifests it finds a ledger
    that is older than an output, and a chain that was recomputed. A directory without any output is a
    problem, and so is a ledger whose keys or head a policy beside it refuses. A `witness` is an earlier value
    of `ledger.witness`; `key` is the public key that must have signed the entries. An inconsistent ledger
    raises at once. An output that is no longer where it was written (moved, or published and removed) is a
    remark: its spending counts all the same.

    What no file can show: if every copy of the ledger and every output is replaced by an older state, and
    no witness is kept elsewhere, the result cannot be told from a ledger that is really that old.
    """
    ledger, file = read_ledger(path), Path(os.path.realpath(path))
    findings = _Findings()
    for total in ledger.totals:
        if more := ledger.over(total):
            findings.problems.append(f"the runs come to {more}, more than the total for one {total}")
    declared = {unit for total in ledger.totals for unit in total.units}
    for number, entry in enumerate(ledger.entries, start=1):
        label = f"run {number} ({entry.time})"
        if declared and entry.counted and entry.release.unit not in declared:
            findings.problems.append(
                f"{label} is about one {entry.release.unit}, for which no total is declared"
            )
        if not entry.counted:
            findings.remarks.append(
                f"{label} is a rehearsal, {NOT_PRIVATE}: its output must not be published"
            )
        for level, query in entry.exact:
            findings.remarks.append(f"{label} holds {query!r} of {level} exact, which no rho covers")
        output = file.parent / entry.output
        if os.path.isdir(output):
            _files(entry, output, f"{label}: ", entry.output, findings)
        else:
            findings.remarks.append(f"{label}: its output {entry.output} is no longer there")
    times = [str(record["time"]) for record in ledger.records if record.get("time")]
    if times != sorted(times):
        findings.remarks.append("the times of its entries go backwards: a clock was set back")
    if contents.unknown_contents(ledger, contents.read_secret(file)):
        findings.remarks.append(
            f"it remembers counts in which a person may have several records, but the key that it knows them "
            f"by, {contents.secret_file(file).name}, is missing or another: such counts without their column "
            f"{contents.COLUMN} will not be known again"
        )
    if witness is not None and not ledger.agrees(witness):
        findings.problems.append(
            f"it does not continue from the witness {witness.strip()}: entries were removed or changed "
            "since then"
        )
    if key is not None and not re.fullmatch("[0-9a-fA-F]{64}", key.strip()):
        raise InputError(f"the public key is {key[:80]!r}; it must be 64 hexadecimal digits")
    if key is not None and ledger.key != key.strip().lower():
        what = f"signed with the key {ledger.key[:16]}" if ledger.key else "not signed"
        findings.problems.append(f"it is {what}, but the key {key.strip()[:16]} was asked for")
    elif key is not None and len(ledger.keys) > 1:
        earlier = ", ".join(old[:16] for old in ledger.keys[:-1])
        findings.remarks.append(
            f"its key was handed over by an earlier one ({earlier}): whoever has that could have rewritten "
            "what came before"
        )
    findings.problems += [f"refused {refusal}" for refusal in rules_beside(file).about(ledger)]
    own = [Path(os.path.realpath(file.parent / entry.output)) for entry in ledger.entries]
    given = _outputs(outputs, findings)
    for output in dict.fromkeys([*outputs_of(ledger, file), *given]):
        if wrong := contradiction(ledger, output):
            findings.problems.append(wrong)
    for output, shown in given.items():
        if output not in own:
            _given(ledger, output, shown, findings)
    seen = witness is not None or any(policy.witness for policy in rules_beside(file).binding)
    return LedgerCheck(
        ledger,
        tuple(findings.problems),
        tuple(findings.remarks),
        findings.files,
        () if seen else (_without_witness(ledger),),
    )


def _without_witness(ledger: Ledger) -> str:
    """Say what no check can see that knows of no earlier state of the ledger."""
    if ledger.sealed:
        done = "whether this is an older copy"
        how = "its head is signed, so no entry was cut off, but a whole older file was signed too"
    elif ledger.key is not None:
        done = "whether its last entries were cut off"
        how = "its entries are signed, but not its head (`discreet ledger upgrade` signs it)"
    else:
        done = "whether it was put back to an older state, cut short or rewritten"
        how = "it is not signed"
    return f"{done}: {how}, and no witness was given (`discreet ledger witness`)"


def _files(entry: Entry, output: Path, label: str, shown: str, findings: _Findings) -> None:
    """Compare the files of an output with the hashes in the ledger."""
    for name, digest in entry.files.items():
        try:
            if not stat.S_ISREG(os.stat(output / name).st_mode):
                findings.problems.append(f"{label}{name} of {shown} is not a regular file")
            elif recorded_hash(output / name) == digest:
                findings.files += 1
            else:
                findings.problems.append(f"{label}{name} of {shown} was changed since it was written")
        except FileNotFoundError:
            findings.problems.append(f"{label}{name} of {shown} is missing")
        except OSError as error:
            findings.problems.append(f"{label}{name} of {shown} cannot be read: {error.strerror}")


def _outputs(given: Sequence[FilePath], findings: _Findings) -> dict[Path, str]:
    """Return the outputs that were given, directly or by their parent directory, with a name for each."""
    named: dict[Path, str] = {}
    for name in given:
        path = Path(os.path.realpath(name))
        if not path.is_dir():
            raise InputError(f"{name} is not a directory; outputs of runs are needed")
        if _is_output(path):
            named[path] = str(name)
            continue
        try:
            inside = [item for item in sorted(path.iterdir()) if not item.name.startswith(".")]
        except OSError as error:
            raise InputError(f"{name} cannot be read: {error.strerror}") from None
        inside = [item for item in inside if item.is_dir() and _is_output(item)]
        named |= {item: str(Path(name) / item.name) for item in inside}
        if not inside:
            findings.problems.append(f"{name} holds no output of a run")
    return named


def _is_output(folder: Path) -> bool:
    """Whether a directory looks like the output of a run, even one with a damaged manifest."""
    return any(any(folder.glob(f"{stem}*")) for stem in (*MANIFESTS, "measurements"))


def _given(ledger: Ledger, output: Path, shown: str, findings: _Findings) -> None:
    """Check an output that is not where its run wrote it: a copy, or one the ledger lacks."""
    said, manifest = read_receipt(output), read_manifest(output)
    kind = manifest.get("format") if manifest else None
    number, entry = next(
        (
            (number, entry)
            for number, entry in enumerate(ledger.entries, start=1)
            if (said is not None and said["entry"] == entry.id) or (said is None and entry.made(output))
        ),
        (0, None),
    )
    if entry is not None and manifest is not None and "step" in manifest:
        findings.remarks.append(
            f"{shown} was made from the output of run {number}; its files are not recorded"
        )
    elif entry is not None:
        _files(entry, output, f"run {number} ({entry.time}): ", shown, findings)
        more = sorted({item.name for item in output.iterdir()} - set(entry.files))
        if more:
            findings.remarks.append(f"{shown} also holds {', '.join(more)}, which run {number} did not write")
    elif said is not None and said["ledger"] != ledger.id:
        findings.problems.append(f"{shown} comes from a run of another ledger, {str(said['ledger'])[:12]}")
    elif said is not None:
        pass  # a run that this ledger lacks: `contradiction` has reported it
    elif manifest is None:
        findings.problems.append(f"{shown} has no readable manifest, so its run is unknown")
    elif kind == contents.FORMAT:
        most = contents.said_of_counts(manifest)
        several = "" if most == 1 else f", of at most {most or 'an unknown number of'} records of one person"
        findings.remarks.append(
            f"{shown} holds exact counts{several}, which are confidential and cost nothing yet"
        )
    elif str(kind).startswith("discreet estimates"):
        findings.remarks.append(f"{shown} holds estimates, which spend nothing; its files are not recorded")
    elif NOT_PRIVATE in str(manifest.get("warning", "")):
        findings.remarks.append(f"{shown} comes from a rehearsal, {NOT_PRIVATE}: it must not be published")
    elif kind in _RUNS:
        findings.problems.append(
            f"{shown} comes from a run that the ledger lacks: it was made without a ledger"
        )
    else:
        findings.problems.append(f"{shown} is not the output of a run")
