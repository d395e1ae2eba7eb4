"""`discreet safetab`: adaptive private tabulation of detailed groups, one module for each subcommand."""

from __future__ import annotations

from cyclopts import App

SUBCOMMANDS = {
    "init": "A folder of parameters to start from: the groups and settings of 2020.",
    "design": "Margins, group sizes, thresholds and cost of settings, before there is any data.",
    "validate": "Check parameters and data; report every problem with its file, line and field.",
    "run": "Tabulate, add noise, post-process and write, with a ledger entry.",
    "account": "What a run with these parameters costs one person, by zCDP and exactly.",
    "report": "Released tables against the truth, for the trusted curator. Confidential.",
    "synth": "A synthetic nation in the same file formats.",
    "coterminous": "Make regions of the same blocks agree in an existing output.",
    "post": "Drop groups whose alone count exceeds the combination count; no negative counts.",
}

app = App(
    name="safetab",
    usage="Usage: discreet safetab COMMAND ...",
    help="Detailed race and ethnicity groups by geography, sex and age, tabulated adaptively.",
)
for _name, _help in SUBCOMMANDS.items():
    app.command(f"discreet.cli.safetab.{_name}:app", name=_name, help=_help)
