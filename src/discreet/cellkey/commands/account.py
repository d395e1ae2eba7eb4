"""`discreet cellkey account`: what cells that are published together cost one person."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.budget import Neighbours
from discreet.cellkey import commands as cellkey
from discreet.cli import console
from discreet.cli.console import PLAIN, Screen, option
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
def account_command(
    table: cellkey.Table,
    /,
    *,
    cells: Annotated[
        Path | None,
        option(
            "The cells: columns cell and group, a line for each group of records in a cell; and maybe count.",
            "FILE",
        ),
    ] = None,
    attributes: Annotated[
        str | None,
        option("Instead: all margins of a hypercube, with the number of values of each.", "NAME=N,..."),
    ] = None,
    everybody: Annotated[
        bool, option("With --cells: everybody is in one of the cells; matters where records are replaced.")
    ] = False,
    neighbours: Annotated[
        Neighbours,
        option(
            "unbounded (default): a record is added or removed; bounded: one is replaced by another.",
            "bounded|unbounded",
        ),
    ] = "unbounded",
    keying: cellkey.KeySource = "records",
    least: Annotated[
        int,
        option("Consider data with at least this many in every group besides the record. Default: 0.", "N"),
    ] = 0,
    published: Annotated[
        list[str] | None, option("A cell that is published without noise; may be repeated.", "CELL")
    ] = None,
    epsilon: cellkey.Epsilons = None,
    delta: cellkey.Deltas = None,
    alpha: cellkey.Alphas = None,
    prior: cellkey.Prior = "1/2",
    big_n: cellkey.BigN = None,
    small_n: cellkey.SmallN = None,
    screen: Screen = PLAIN,
) -> None:
    """Say what cells that are published together cost one person: a product only where it is one."""
    from discreet.answers.cellkey_account import cell_account_answer
    from discreet.cellkey import account_cells

    if (cells is None) == (attributes is None):
        found = "neither is" if cells is None else "both are"
        raise InputError(f"give the cells by --cells FILE or by --attributes NAME=N,...; {found} given")
    read = cellkey.read_table_option(table, big_n, small_n)
    family = _family(cells, attributes, everybody)
    asked = cellkey.given_or_default(epsilons=epsilon, deltas=delta, alphas=alpha, published=published)
    with screen.working("Comparing cases"):
        cost = account_cells(
            read, family, neighbours=neighbours, keying=keying, least=least, prior=prior, **asked
        )
    screen.tell(cell_account_answer(cost))


def _family(cells: Path | None, attributes: str | None, everybody: bool) -> CellFamily:
    from discreet.cellkey import hypercube, read_cells

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
