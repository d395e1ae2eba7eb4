"""The manifest of an output: how it is written and hashed, and what it says about the ledger of its run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet.files import sha256

JsonDict = dict[str, Any]
JsonObject = Mapping[str, Any]
"""What stands in the file: checked when it is read."""

RECEIPT = "ledger"
"""The key of an output's manifest under which the head of the ledger stands."""

MANIFESTS = ("manifest", "summary")
"""The files of an output that carry the head of a ledger, without their endings."""


def recorded_hash(file: Path) -> str:
    """Return the hash of a file of an output; a manifest's is that before the ledger's head came into it."""
    if file.name.split(".")[0] in MANIFESTS and file.suffix == ".json":
        with suppress(ValueError, RecursionError):
            data = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(data, dict) and data.pop(RECEIPT, None) is not None:
                return hashlib.sha256(file_text(data).encode()).hexdigest()
    return sha256(file)


def file_text(data: JsonObject) -> str:
    """Return the text of a JSON file, as ledgers and manifests are written."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def read_manifest(output: Path) -> JsonDict | None:
    """Return the manifest of an output; if there are several, one with the head of a ledger."""
    manifests: list[JsonDict] = []
    for path in (path for stem in MANIFESTS for path in sorted(output.glob(f"{stem}*.json"))):
        with suppress(OSError, ValueError, RecursionError):
            # reading a pipe would never end
            data = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
            manifests += [data] if isinstance(data, dict) else []
    with_head = (manifest for manifest in manifests if _head_in(manifest) is not None)
    return next(with_head, manifests[0] if manifests else None)


def read_receipt(output: Path) -> JsonDict | None:
    """Return what the manifest of an output says about its ledger; None if nothing."""
    return _head_in(read_manifest(output) or {})


def _head_in(manifest: JsonDict) -> JsonDict | None:
    said = manifest.get(RECEIPT)
    return said if isinstance(said, dict) and {"ledger", "entry", "number", "head"} <= set(said) else None
