"""`discreet accuracy`: how accurate the estimates of a release will be, before anything is released."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from discreet.budget import load
from discreet.budget.levels import level_name
from discreet.cli import options
from discreet.cli.printing import PLAIN, Block, Hanging, Outputs, Screen, TextTable, need_tables
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.budget import Release
    from discreet.estimation.accuracy import Accuracy
    from discreet.estimation.tree import Tree

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
    screen: Screen = PLAIN,
) -> None:
    """Work out how accurate the estimates of a release will be, for every query at every level."""
    outputs = Outputs(plot=plot)
    from discreet.estimation import accuracy as find

    release = load(target)
    found = find(release, tree=read_tree(tree, release))
    if outputs.planned:
        from discreet.report.figures import accuracy_figure, figure_bytes

        outputs.write({"--plot": figure_bytes(accuracy_figure(found), outputs.kind("--plot"))})
    screen.present(found.as_dict, _text(release, found))


def _text(release: Release, found: Accuracy) -> Iterator[Block]:
    from discreet.estimation.accuracy import COLUMNS, KINDS

    yield Hanging(f"{release.name}: accuracy of the best estimates from {KINDS[found.together]}.")
    if found.children is not None and len(release.levels) > 1:
        names = [level_name(level.name) for level in found.levels]
        steps = zip(names, found.children, names[1:], strict=False)
        tree = "; ".join(f"a unit of {up} has {many:g} of {down}" for up, many, down in steps)
        yield Hanging(f"Tree: {tree}.")
    yield "Standard deviations are root mean squares over the cells of a query."
    yield TextTable(COLUMNS, found.rows(), (0, 1))


def read_tree(text: str | None, release: Release) -> list[float] | Tree | None:
    """Read numbers separated by commas, or the table of units in a file."""
    if text is None:
        return None
    if text.lower().endswith((".csv", ".parquet")):
        need_tables("a table of units")
        from discreet.release.hierarchy.layout import read_tree as read

        return read(text, release)
    try:
        return [float(part) for part in text.split(",")] if text.strip() else []
    except ValueError:
        raise InputError(
            f"--tree is {text!r}; it must be numbers such as 51,61.6 or a file that ends in .csv or .parquet"
        ) from None
