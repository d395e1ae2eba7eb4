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

SUBCOMMANDS = {
    "init": "A folder of parameters to start from: the groups and settings of 2020, of people or households.",
    "design": "Margins, group sizes, thresholds and cost of settings, before there is any data.",
    "validate": "Check parameters and data; report every problem with its file, line and field.",
    "run": "Tabulate, add noise, post-process and write, with a ledger entry.",
    "account": "What a run with these parameters costs one person or household, by zCDP and exactly.",
    "report": "Released tables against the truth, for the trusted curator. Confidential.",
    "synth": "A synthetic nation in the same file formats.",
    "coterminous": "Make regions of the same blocks agree in an existing output.",
    "post": "Drop groups whose alone count exceeds the combination count; no negative counts.",
}

HOMES = {"init": "synth", "account": "design"}
HOMES |= dict.fromkeys(("validate", "coterminous", "post", "report"), "run")
"""The modules of subcommands that do not live in one of their own name."""

NATION = "safetab synth nation --persons 2000 --states 1"
TRIAL = "safetab run nation/params nation/data trial --rehearsal 1"
"""What examples begin with: an invented nation, and a run on it."""

app = console.command(
    "safetab",
    "COMMAND ...",
    "init params",
    "design --levels USA,STATE,COUNTY:2",
    tries=(NATION, TRIAL),
    help="Detailed race and ethnicity groups, of people or of households, tabulated adaptively.",
)
for _name, _help in SUBCOMMANDS.items():
    app.command(f"discreet.cli.safetab.{HOMES.get(_name, _name)}:{_name}_app", name=_name, help=_help)
