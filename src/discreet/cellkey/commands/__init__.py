"""`discreet cellkey`: perturbation tables of the cell-key method, its subcommands and what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from discreet.cli import console
from discreet.cli.console import option

if TYPE_CHECKING:
    from discreet.cellkey import PerturbationTable

Table = Annotated[
    str,
    option(
        "The perturbation table: a file of ptable, cellKey, the ONS or the ABS; or D5V3js2, the table of "
        "maximum entropy for D, V and js."
    ),
]
app = console.command(
    "cellkey",
    "COMMAND ...",
    "check D5V3js2",
    "account D2V1 --attributes sex=2 --least 1",
)


def read_table_option(text: str, big_n: int | None, small_n: int | None) -> PerturbationTable:
    """Return the table that a file holds or a name stands for."""
    from discreet.cellkey import named_table, read_perturbation_table

    named = named_table(text) if big_n is None and small_n is None else None
    if named is not None:
        return named
    console.need_tables("a perturbation table in a file")
    return read_perturbation_table(text, big_n=big_n, small_n=small_n)
