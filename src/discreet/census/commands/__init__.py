"""`discreet safetab`: adaptive private tabulation of detailed groups, its subcommands and their options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from discreet.cli import console
from discreet.cli.console import option

Format = Literal["csv", "parquet"]
FORMATS = Parameter(show_choices=False, metavar="csv|parquet")
Params = Annotated[
    Path, option("Folder of config.json or safetab.toml and the groups, or a specification (.toml).")
]
Data = Annotated[
    Path, option("Folder of GRF-C and person-records (or household-records), as text or Parquet.")
]
Engine = Annotated[
    Literal["duckdb", "spark"], option("The engine that counts. Default: duckdb.", "duckdb|spark")
]


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Counting:
    """The options of commands that read the records."""

    engine: Engine = "duckdb"
    spark_master: Annotated[str | None, option("Where Spark runs.", "URL")] = None
    memory: Annotated[str | None, option("The engine's memory, such as 4GB (default).", "SIZE")] = None
    threads: Annotated[int | None, option("Threads. Default: one for each CPU.", "N")] = None


DUCKDB = Counting()

NATION = "safetab synth nation --persons 2000 --states 1"
TRIAL = "safetab run nation/params nation/data trial --rehearsal 1"
"""What examples begin with: an invented nation, and a run on it."""

app = console.command(
    "safetab",
    "COMMAND ...",
    "init params",
    "design --levels USA,STATE,COUNTY:2",
    tries=(NATION, TRIAL),
)
