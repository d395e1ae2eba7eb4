"""What is asked of the cell-key method: a perturbation table with wanted properties."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal

from discreet.budget.attributes import Attributes
from discreet.budget.neighbours import Neighbours
from discreet.files import FilePath, TableSource
from discreet.ledger.questions import Format, KeyFile, LedgerFile, Out, Rehearsal, SpendAgain
from discreet.numbers import Exact
from discreet.questions import Option, file_option

Zeros = Literal["noisy", "kept", "public"]
"""What becomes of 0: it gets noise as every count does; it stays; or it stays, and is public anyway."""


@dataclass(frozen=True, slots=True, eq=False)
class TableDesigning:
    """What `design_perturbation` takes, and the command `cellkey design`."""

    largest: int
    _: KW_ONLY
    epsilon: Annotated[
        Exact | None, Option("The epsilon of one cell; without it, the least one.", "E", reads=str | None)
    ] = None
    delta: Annotated[
        Exact | None, Option("The delta of one cell; without it, the least one.", "D", reads=str | None)
    ] = None
    variance: Annotated[
        Exact | None,
        Option("The largest variance of a row; without it, the least one.", "V", reads=str | None),
    ] = None
    zeros: Annotated[
        Zeros,
        Option(
            "0 gets noise too, from one row for all counts (noisy, default); it stays 0 (kept); or it stays, "
            "and which cells are empty is public (public).",
            "noisy|kept|public",
        ),
    ] = "noisy"
    small: Annotated[int, Option("No results from 1 to this; default: 0, all may come.", "JS")] = 0
    monotone: Annotated[bool, Option("Probabilities do not rise away from no noise.")] = False


@dataclass(frozen=True, slots=True, eq=False)
class CellKeying:
    """What `perturb` takes, and the command `cellkey run`."""

    records: TableSource
    table: Annotated[
        object,
        Option(
            "The perturbation table: a file of ptable, cellKey, the ONS or a design; or D5V3js2.",
            "T",
            reads=str,
        ),
    ]
    out: Out
    _: KW_ONLY
    attributes: Annotated[
        Attributes | FilePath,
        Option("The columns and all their values: a TOML file with [attributes].", "FILE", reads=Path),
    ]
    secret: Annotated[
        FilePath | None,
        file_option("The secret that keys are made of; a new file is made, for its owner only."),
    ] = None
    record_key: Annotated[str | None, Option("Instead of a secret: the column of record keys.", "COLUMN")] = (
        None
    )
    order: Annotated[int | None, Option("Margins of at most this many attributes; default: all.", "N")] = None
    empty: Annotated[
        Literal["keyed", "none"],
        Option(
            "Empty cells get noise as well (keyed, default), or are left out (none), which shows them.",
            "keyed|none",
        ),
    ] = "keyed"
    zeros: Annotated[bool, Option("List cells that are published as 0 too.")] = False
    epsilon: Annotated[
        Exact, Option("The epsilon of a cell at which its delta is stated; default: 1.", "E", reads=str)
    ] = 1
    unit: Annotated[
        Literal["person", "household", "housing unit", "establishment"],
        Option("What a record is of; default: person.", "UNIT"),
    ] = "person"
    neighbours: Annotated[
        Neighbours,
        Option("One record is added or removed (unbounded, default), or replaced.", "bounded|unbounded"),
    ] = "unbounded"
    ledger: LedgerFile = None
    key: KeyFile = None
    spend_again: SpendAgain = False
    rehearsal: Rehearsal = None
    format: Format = None
    memory: Annotated[str | None, Option("The engine's memory, such as 4GB (default).", "SIZE")] = None
    threads: Annotated[int | None, Option("Threads. Default: one for each CPU.", "N")] = None
