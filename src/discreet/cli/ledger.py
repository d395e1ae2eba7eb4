"""`discreet ledger`: make, read and check the ledger of what runs have spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.release import Total

File = Annotated[Path, Parameter(help="The ledger's file.")]

app = App(
    name="ledger",
    usage="Usage: discreet ledger new|show|check PATH [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet ledger new ledger.json --total person:bounded:3/2\n"
    "  discreet ledger show ledger.json\n"
    "  discreet account ledger.json",
)


@app.command(name="new", usage="Usage: discreet ledger new PATH [OPTIONS]")
def new(
    path: File,
    /,
    *,
    total: Annotated[
        list[str] | None,
        Parameter(
            help="The most that all runs together may spend, such as person:bounded:3/2; may be repeated.",
            metavar="UNIT:NEIGHBOURS:RHO",
        ),
    ] = None,
) -> None:
    """Make a ledger that runs share."""
    from discreet.cli import ledger_text
    from discreet.release import create_ledger

    ledger_text.show_new(path, create_ledger(path, [_total(text) for text in total or ()]))


@app.command(name="show", usage="Usage: discreet ledger show PATH [OPTIONS]")
def show(path: File, /, *, json: options.Json = False) -> None:
    """What runs have spent, and what is left of the totals."""
    from discreet.cli import ledger_text
    from discreet.cli.printing import write_json
    from discreet.release import read_ledger

    ledger = read_ledger(path)
    if json:
        write_json(ledger_text.as_object(path, ledger))
    else:
        ledger_text.show(path, ledger)


@app.command(name="check", usage="Usage: discreet ledger check PATH")
def check(path: File, /) -> None:
    """Whether totals, recorded spending and the hashes of all output agree; status 2 if not."""
    from discreet.cli import ledger_text
    from discreet.release import check_ledger

    found = check_ledger(path)
    ledger_text.show_check(path, found)
    if not found.sound:
        raise SystemExit(2)


def _total(text: str) -> Total:
    """Read UNIT:NEIGHBOURS:RHO."""
    from discreet.release import Total

    parts = [part.strip() for part in text.split(":")]
    if len(parts) != 3:
        raise InputError(f"--total is {text!r}; it must be UNIT:NEIGHBOURS:RHO, such as person:bounded:3/2")
    unit, neighbours, rho = parts
    return Total(unit=unit, neighbours=neighbours, rho=rho)  # type: ignore[arg-type]  # checked there
