"""The code of the pages about releases runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_how_to_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = BLOCK.findall((DOCS / "howto" / "measure.md").read_text())
    assert len(blocks) == 4
    for block in blocks:
        exec(block, names)


def test_the_reference_names_every_file_and_key() -> None:
    text = (DOCS / "reference" / "measurements.md").read_text()
    for word in (
        "measurements",
        "estimates",
        "units",
        "invariants",
        "manifest.json",
        "discreet-ledger.json",
        "table",
    ):
        assert f"`{word}`" in text
    for key in (
        "total",
        "head",
        "entries",
        "tree",
        "exact",
        "pending",
        "rehearsal",
        "inputs",
        "output",
        "release",
    ):
        assert f"`{key}`" in text
