"""What `discreet ledger` prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.budget.neighbours import RELATIONS
from discreet.cli.printing import say, table, write
from discreet.report.words import plain

if TYPE_CHECKING:
    from discreet.release import Ledger, LedgerCheck


def as_object(path: Path, ledger: Ledger) -> dict[str, Any]:
    """The ledger as one JSON object; numbers that count are exact fractions."""
    return {
        "ledger": str(path),
        "totals": [
            {
                "unit": total.unit,
                "neighbours": total.neighbours,
                "rho": str(total.rho),
                "spent": str(ledger.spent(total.unit, total.neighbours)),
                "left": str(ledger.left(total.unit)),
            }
            for total in ledger.totals
        ],
        "spent": [
            {"unit": unit, **{relation: str(ledger.spent(unit, relation)) for relation in RELATIONS}}
            for unit in _units(ledger)
        ],
        "runs": [
            {
                "id": entry.id,
                "time": entry.time,
                "version": entry.version,
                "command": entry.command,
                "release": entry.release.name,
                "unit": entry.release.unit,
                "neighbours": entry.release.neighbours,
                "rho": str(entry.rho),
                "rehearsal": entry.rehearsal,
                "exact": [list(pair) for pair in entry.exact],
                "output": entry.output,
                "files": list(entry.files),
            }
            for entry in ledger.entries
        ],
    }


def show_new(path: Path, ledger: Ledger) -> None:
    """Say what was made."""
    if not ledger.totals:
        say(f"{path}: a new ledger without totals; runs are noted, and none is refused.")
        return
    say(f"{path}: a new ledger. All runs together may spend at most")
    for total in ledger.totals:
        say(f"  on one {total}", indent="  ")


def show(path: Path, ledger: Ledger) -> None:
    """The ledger for a reader."""
    many = len(ledger.entries)
    say(f"{path}: {many} run{'s' * (many != 1)}.")
    if ledger.entries:
        write("\n")
        rows = [
            (
                str(number),
                entry.time,
                entry.release.name,
                entry.release.unit,
                entry.release.neighbours,
                plain(entry.rho) if entry.counted else "none: a rehearsal, NOT PRIVATE",
                str(entry.rho) if entry.counted else "",
                entry.output,
            )
            for number, entry in enumerate(ledger.entries, start=1)
        ]
        columns = ("run", "time", "release", "unit", "neighbours", "rho", "as a fraction", "output")
        table(columns, rows, left=(0, 1, 2, 3, 4, 7))
    _show_sums(ledger)
    for number, entry in enumerate(ledger.entries, start=1):
        for level, query in entry.exact:
            say(f"Run {number} publishes {query} of {level} without noise, outside the guarantee.")
    if any(entry.counted for entry in ledger.entries):
        say(
            "Sums of rho are exact, and as a promise a little too large: `discreet account` on this file "
            "says what all runs cost together.",
        )


def show_check(path: Path, found: LedgerCheck) -> None:
    """What a check found: one line for each problem and each remark."""
    runs, files = len(found.ledger.entries), found.files
    seen = f"{runs} run{'s' * (runs != 1)}, {files} file{'s' * (files != 1)} as recorded"
    problems = len(found.problems)
    verdict = f"{problems} problem{'s' * (problems != 1)}" if problems else "sound"
    lines = [f"{path}: {verdict}; {seen}"]
    lines += [f"problem: {text}" for text in found.problems]
    lines += [f"remark: {text}" for text in found.remarks]
    write("".join(f"{' '.join(line.split())}\n" for line in lines))


def _show_sums(ledger: Ledger) -> None:
    rows = []
    for total in ledger.totals:
        numbers = (total.rho, ledger.spent(total.unit, total.neighbours), ledger.left(total.unit) or 0)
        rows.append((total.unit, total.neighbours, *map(str, numbers)))
    declared = {(total.unit, total.neighbours) for total in ledger.totals}
    for unit in _units(ledger):
        for relation in RELATIONS:
            if (unit, relation) not in declared:
                rows.append((unit, relation, "no total", str(ledger.spent(unit, relation)), ""))
    if rows:
        write("\n")
        table(("unit", "neighbours", "total rho", "spent", "left"), rows, left=(0, 1))
        write("\n")


def _units(ledger: Ledger) -> list[str]:
    """The units that runs are about, in order of appearance."""
    return list(dict.fromkeys(entry.release.unit for entry in ledger.entries if entry.counted))
