"""An interrupt, wherever it comes, leaves nothing: no output, no part of one, no entry in a ledger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from health import RELEASE, records, truth

from discreet.areas import output as tables
from discreet.estimation import estimate
from discreet.estimation.input import measurements
from discreet.estimation.output import estimate_table
from discreet.ledger import create_ledger
from discreet.measurement import measure, measuring, tabulate
from discreet.records import record_columns
from discreet.records import records as counting

PLACES: list[tuple[Any, str, int]] = [
    (record_columns, "read_table", 1),
    (counting, "_codes", 1),
    (measurements, "read_table", 1),
    (estimate_table, "count_ends", 3),
    (measuring, "add_noise", 1),
    (tables.OutputTable, "write", 1),
    (tables.OutputTable, "write", 2),
    (tables.Folder, "units", 1),
    (tables.Folder, "json", 1),
]
"""What is interrupted, at which call of it."""


def interrupting(function: Callable[..., Any], at: int, hits: list[int]) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **more: Any) -> Any:
        hits[0] += 1
        if hits[0] == at:
            raise KeyboardInterrupt
        return function(*arguments, **more)

    return wrapped


@pytest.mark.parametrize("command", ["tabulate", "measure", "estimate"])
def test_an_interrupt_leaves_nothing(command: str, tmp_path: Path) -> None:
    people, units = records(tmp_path, truth())
    ledger = tmp_path / "ledger.json"
    create_ledger(ledger)
    measure(RELEASE, None, tmp_path / "m", records=people, units=units, rehearsal=1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    out = tmp_path / "out"
    work = {
        "tabulate": lambda: tabulate(RELEASE, people, out, units=units),
        "measure": lambda: measure(RELEASE, None, out, records=people, units=units, ledger=ledger),
        "estimate": lambda: estimate(tmp_path / "m", out, tables=True),
    }[command]
    struck = 0
    for owner, name, at in PLACES:
        hits = [0]
        patch = pytest.MonkeyPatch()
        patch.setattr(owner, name, interrupting(getattr(owner, name), at, hits))
        try:
            work()
        except KeyboardInterrupt:
            struck += 1
            after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
            assert after == before, (name, at)
            assert not out.exists()
            continue
        finally:
            patch.undo()
        # this command does not come by there: take its output away again
        for path in sorted(out.rglob("*"), reverse=True):
            path.unlink()
        out.rmdir()
        ledger.unlink()
        create_ledger(ledger)
        before[ledger] = ledger.read_bytes()
    assert struck >= 5
    work()  # and then it can be done
    assert out.is_dir()
