"""Receipts: the head of the ledger in the manifest of an output, and whether an output contradicts a ledger.

Each output carries the head of its ledger after its own entry, so that a ledger which lacks the run, is older
than it, or was rewritten, is found out.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from discreet.ledger.ledger import Ledger
from discreet.ledger.manifests import RECEIPT, file_text, read_receipt


def outputs_of(ledger: Ledger, file: Path, *more: Path) -> list[Path]:
    """Return outputs with the head of a ledger: those in its folder, and those beside its own or `more`."""
    own = [Path(os.path.realpath(file.parent / entry.output)) for entry in ledger.entries]
    paths = dict.fromkeys(own)
    for folder in dict.fromkeys([file.parent, *(output.parent for output in (*more, *own))]):
        with suppress(OSError):
            paths |= dict.fromkeys(path for path in sorted(folder.iterdir()) if not path.name.startswith("."))
    return [path for path in paths if os.path.isdir(path) and read_receipt(path) is not None]


def contradiction(ledger: Ledger, output: Path) -> str:
    """Say how the manifest of an output contradicts the ledger; an empty text if it does not."""
    said = read_receipt(output)
    if said is None or said["ledger"] != ledger.id or said["head"] in ledger.heads:
        return ""
    number = said["number"] if isinstance(said["number"], int) else 0
    if number > len(ledger.records):
        return (
            f"the output {output.name} was made when the ledger had {number} entries, and now it has "
            f"{len(ledger.records)}: this is an older copy, which lacks what was spent since"
        )
    if said["entry"] in {entry.id for entry in ledger.entries}:
        return (
            f"the output {output.name} has another head than the ledger had after its run: the chain was "
            "recomputed, so something before it was changed"
        )
    return (
        f"the output {output.name} comes from a run that the ledger lacks: an older copy was put back and "
        "used, or the chain was recomputed"
    )


def write_receipt(manifest: Path, ledger: Ledger) -> None:
    """Write the head of the ledger into a manifest."""
    data = json.loads(manifest.read_text(encoding="utf-8"))
    data[RECEIPT] = {
        "ledger": ledger.id,
        "entry": ledger.entries[-1].id,
        "number": len(ledger.records),
        "head": ledger.head,
    }
    with manifest.open("w", encoding="utf-8") as stream:
        stream.write(file_text(data))
        stream.flush()
        os.fsync(stream.fileno())
