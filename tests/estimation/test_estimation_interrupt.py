"""An interrupt, wherever it comes, leaves nothing: no output, no part of one, no entry in a ledger."""

from __future__ import annotations

import shutil
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


def places_of(work: Callable[[], Any]) -> list[tuple[Any, str, int]]:
    """Return the places that a command comes by."""
    met = {(owner, name): [0] for owner, name, _ in PLACES}
    with pytest.MonkeyPatch.context() as patch:
        for (owner, name), hits in met.items():
            patch.setattr(owner, name, interrupting(getattr(owner, name), 0, hits))
        work()
    return [place for place in PLACES if met[place[:2]][0] >= place[2]]


def interrupting(function: Callable[..., Any], at: int, hits: list[int]) -> Callable[..., Any]:
    def wrapped(*arguments: Any, **more: Any) -> Any:
        hits[0] += 1
        if hits[0] == at:
            raise KeyboardInterrupt
        return function(*arguments, **more)

    return wrapped


@pytest.mark.parametrize("command", ["tabulate", "measure", "estimate"])
def test_an_interrupt_leaves_nothing(command: str, tmp_path: Path, thorough: bool) -> None:
    people, units = records(tmp_path, truth())
    ledger = tmp_path / "ledger.json"
    create_ledger(ledger)
    measure(RELEASE, None, tmp_path / "m", records=people, units=units, rehearsal=1)
    out = tmp_path / "out"
    work = {
        "tabulate": lambda: tabulate(RELEASE, people, out, units=units),
        "measure": lambda: measure(RELEASE, None, out, records=people, units=units, ledger=ledger),
        "estimate": lambda: estimate(tmp_path / "m", out, tables=thorough),
    }[command]
    places = places_of(work)
    assert len(places) >= 5
    shutil.rmtree(out)
    ledger.unlink()
    create_ledger(ledger)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for owner, name, at in places:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, name, interrupting(getattr(owner, name), at, [0]))
            with pytest.raises(KeyboardInterrupt):
                work()
        after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        assert after == before, (name, at)
        assert not out.exists()
    work()  # and then it can be done
    assert out.is_dir()
