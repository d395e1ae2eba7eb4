"""`discreet accuracy`: how accurate estimates will be."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.cli.plan import read_tree_option
from discreet.estimation.expected_accuracy import accuracy as find
from discreet.estimation.questions import Children

app = console.command(
    "accuracy",
    "RELEASE [--tree N,N,...|FILE] [OPTIONS]",
    "pl94-2020",
    "release.toml --tree 16,25 --plot accuracy.svg",
    "release.toml --tree 16,25 --tables --people 40",
    tries=(console.SURVEY, "accuracy survey --tree survey/units.csv"),
)


@app.default
@console.takes(find)
def accuracy(
    target: console.Target,
    /,
    *,
    tree: Annotated[str | None, console.declared(Children)] = None,
    plot: Annotated[
        Path | None,
        option("Plot a heat map of levels and queries, or with tables their errors.", "FILE.svg|png|pdf"),
    ] = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Work out how accurate the estimates of a release will be, for every query at every level."""
    outputs = Outputs(plot=plot)
    from discreet.answers.accuracy import accuracy_answer

    release, tables = console.read_release(target), given.get("tables", False)
    with screen.working("Simulating") if tables else nullcontext():
        expected = find(release, tree=read_tree_option(tree, release), **given)
    answer = accuracy_answer(expected)
    outputs.write({"--plot": answer.figures["printed" if tables else "accuracy"]})
    screen.tell(answer)
