"""`discreet cellkey account`: what cells that are published together cost one person."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.cellkey import account_cells, hypercube, read_cells, read_perturbation_table
from discreet.cellkey import commands as cellkey
from discreet.cli import console
from discreet.cli.console import PLAIN, Screen
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.cellkey import CellFamily

app = console.command(
    "cellkey account",
    "TABLE (--cells FILE | --attributes NAME=N,...) [OPTIONS]",
    "ptable.csv --cells cells.csv --neighbours bounded --everybody --published total",
    "D2V1 --attributes sex=2,age=3 --least 2",
    "D2V1 --attributes sex=2,age=3 --keying definition --least 2 --delta 0.3",
)


@app.default
@console.takes(read_cells, hypercube, account_cells, read_perturbation_table)
def account_command(table: cellkey.Table, /, *, screen: Screen = PLAIN, **given: console.Given) -> None:
    """Say what cells that are published together cost one person: a product only where it is one."""
    from discreet.cellkey.answers.account import cell_account_answer

    cells, attributes = given.pop("source", None), given.pop("attributes", None)
    if (cells is None) == (attributes is None):
        stated = "neither is" if cells is None else "both are"
        raise InputError(f"give the cells by --cells FILE or by --attributes NAME=N,...; {stated} given")
    read = cellkey.read_table_option(table, given.pop("big_n", None), given.pop("small_n", None))
    family = _family(cells, attributes, given.pop("everybody", False))
    with screen.working("Comparing cases"):
        cost = account_cells(read, family, **given)
    screen.tell(cell_account_answer(cost))


def _family(cells: Path | None, attributes: str | None, everybody: bool) -> CellFamily:
    if cells is not None:
        console.need_tables("the cells in a file")
        return read_cells(cells, everybody=everybody)
    sizes = console.read_by_level(attributes, "--attributes")
    wrong = [name for name, size in sizes.items() if not size.isdecimal() or not 1 <= len(size) <= 6]
    if wrong:
        raise InputError(
            f"--attributes must say a number of values, such as sex=2; that of {wrong[0]!r} is none"
        )
    return hypercube({name: int(size) for name, size in sizes.items()})
