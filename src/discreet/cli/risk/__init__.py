"""`discreet risk`: what can be learned about one person, one module for each subcommand."""

from __future__ import annotations

from cyclopts import App

SUBCOMMANDS = {
    "single": "One noisy count: the posterior, the ratio and how often the adversary is right.",
    "hierarchy": "A block and the areas above it, together.",
    "release": "The best any adversary can do with a whole release, by level and overall.",
    "table": "Every row of a released table, and a summary by level.",
    "explain": "One page in plain words, each sentence with its adversary.",
}

app = App(
    name="risk",
    usage="Usage: discreet risk COMMAND ...",
    help="Posterior probabilities, ratios and accuracies for a stated adversary.",
)
for _name, _help in SUBCOMMANDS.items():
    _home = "release:explain_app" if _name == "explain" else f"{_name}:app"
    app.command(f"discreet.cli.risk.{_home}", name=_name, help=_help)
