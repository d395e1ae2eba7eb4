"""`discreet safetab`: adaptive private tabulation of detailed groups, its subcommands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cli import console
from discreet.cli.console import option

Params = Annotated[
    Path, option("Folder of config.json or safetab.toml and the groups, or a specification (.toml).")
]
Data = Annotated[
    Path, option("Folder of GRF-C and person-records (or household-records), as text or Parquet.")
]
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
