"""`discreet cellkey`: perturbation tables of the cell-key method, its subcommands and what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

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
BigN = Annotated[int | None, option("With a table of the ABS: keys are below this prime.", "N")]
SmallN = Annotated[
    int | None, option("With a table of the ABS: this many last columns take turns for large counts.", "N")
]
Epsilons = Annotated[list[str] | None, option("Delta at this epsilon; may be repeated. Default: 1.", "E")]
Deltas = Annotated[list[str] | None, option("Epsilon at this delta; may be repeated.", "D")]
Alphas = Annotated[
    list[str] | None,
    option("Type I error of a test; may be repeated. Default: 0.01, 0.05 and 0.1.", "A"),
]
Prior = Annotated[str, option("The adversary's chance that the record is there. Default: 1/2.", "P")]

KeySource = Annotated[
    Literal["records", "definition"],
    option(
        "The key of a cell: the sum of its records' keys (default), or a pseudorandom function of a "
        "secret and its definition.",
        "records|definition",
    ),
]

app = console.command(
    "cellkey",
    "COMMAND ...",
    "check D5V3js2",
    "account D2V1 --attributes sex=2 --least 1",
)


def given_or_default(**options: list[str] | None) -> dict[str, list[str]]:
    """Return the options that were given; the others have the defaults of Python.

    >>> given_or_default(epsilons=["1"], deltas=None)
    {'epsilons': ['1']}
    """
    return {name: values for name, values in options.items() if values is not None}


def read_table_option(text: str, big_n: int | None, small_n: int | None) -> PerturbationTable:
    """Return the table that a file holds or a name stands for."""
    from discreet.cellkey import named_table, read_perturbation_table

    found = named_table(text) if big_n is None and small_n is None else None
    if found is not None:
        return found
    console.need_tables("a perturbation table in a file")
    return read_perturbation_table(text, big_n=big_n, small_n=small_n)
