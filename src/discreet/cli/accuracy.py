"""`discreet accuracy`: how accurate the estimates of a release will be, before anything is released."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.cli.outputs import PLOT_KINDS, Outputs
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.budget import Release
    from discreet.estimation.model import Units

TreeOption = Annotated[
    str | None,
    Parameter(
        name="--tree",
        help="Children of an area on average, for each level below the top, such as 51,61.6; or a table of "
        "units (unit, level, parent). Default: the United States of 2020.",
        metavar="N,N,...|FILE",
    ),
]

app = App(
    name="accuracy",
    usage="Usage: discreet accuracy RELEASE [--tree N,N,...|FILE] [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet accuracy pl94-2020\n"
    "  discreet accuracy release.toml --tree 16,25 --plot accuracy.svg\n"
    "  discreet accuracy release.toml --tree units.csv --json",
)


@app.default
def accuracy(
    target: options.Target,
    /,
    *,
    tree: TreeOption = None,
    plot: Annotated[
        Path | None, Parameter(help="Plot a heat map of levels and queries.", metavar="FILE.svg|png|pdf")
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Work out how accurate the estimates of a release will be, for every query at every level."""
    started = time.perf_counter()
    outputs = Outputs()
    outputs.plan("--plot", plot, PLOT_KINDS)
    from discreet.budget import load
    from discreet.cli.printing import say, say_time, table, write_json
    from discreet.estimation import accuracy as find
    from discreet.estimation.accuracy import COLUMNS, KINDS

    release = load(target)
    found = find(release, tree=read_tree(tree, release))
    if outputs.planned:
        from matplotlib.figure import Figure

        from discreet.report.figures import figure_bytes
        from discreet.report.plots import plot_accuracy

        levels, queries = len(found.levels), len(found.levels[0].queries)
        figure = Figure(figsize=(3.5 + 0.8 * levels, 1.5 + 0.35 * queries), layout="constrained")
        plot_accuracy(found, ax=figure.subplots())
        kind = outputs.planned["--plot"].suffix.lower().removeprefix(".")
        outputs.write({"--plot": figure_bytes(figure, kind)})
    if json:
        write_json(found.as_dict())
        return
    say(f"{release.name}: accuracy of the best estimates from {KINDS[found.together]}.", indent="  ")
    if found.children is not None and len(release.levels) > 1:
        steps = zip(found.levels, found.children, found.levels[1:], strict=False)
        tree_text = "; ".join(f"a unit of {up.name} has {many:g} of {down.name}" for up, many, down in steps)
        say(f"Tree: {tree_text}.", indent="  ")
    say("Standard deviations are root mean squares over the cells of a query.", indent="  ")
    table(COLUMNS, found.rows(), left=(0, 1))
    say_time(time.perf_counter() - started, show=not quiet)


def read_tree(text: str | None, release: Release) -> list[float] | Units | None:
    """Read numbers separated by commas, or the table of units in a file."""
    if text is None:
        return None
    if text.lower().endswith((".csv", ".parquet")):
        from discreet.cli.measure_text import need_tables

        need_tables("a table of units")
        from discreet.release.hierarchy.tree import read_tree as read

        return read(text, release)
    try:
        return [float(part) for part in text.split(",")] if text.strip() else []
    except ValueError:
        raise InputError(
            f"--tree is {text!r}; it must be numbers such as 51,61.6 or a file that ends in .csv or .parquet"
        ) from None
