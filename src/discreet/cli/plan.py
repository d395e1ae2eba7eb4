"""`discreet accuracy` and `plan`: how accurate estimates will be, and the noise that is best for them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.budget import load
from discreet.budget.presets import read_text_file
from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, need_tables, option
from discreet.errors import InputError
from discreet.numbers import read_delta

if TYPE_CHECKING:
    from discreet.budget import Release
    from discreet.estimation.tree import Tree

TreeOption = Annotated[
    str | None,
    option(
        "Children of an area on average, for each level below the top, such as 51,61.6; or a table of "
        "areas (columns unit, level, parent). Default: the United States of 2020, for releases with its "
        "levels US, State, County, Tract, Block group and Block.",
        "N,N,...|FILE",
        name="--tree",
    ),
]

app = console.command(
    "plan",
    "RELEASE (--keep LEVEL[:QUERY] | --goal FILE.toml | --weights LEVEL=W,...)\n"
    "         (--epsilon E | --least-cost) [OPTIONS]",
    "pl94-2020 --keep State --keep County --keep Tract --least-cost",
    "release.toml --tree 16,25 --goal goals.toml --epsilon 4 --delta 1e-8 --out new.toml",
    "release.toml --tree 16,25 --weights Region=2,District=1 --epsilon 4",
)


@app.default
def plan(
    target: console.Target,
    /,
    *,
    keep: Annotated[
        list[str] | None,
        option(
            "Estimates to keep as accurate as now: a level, or one of its queries; may be repeated.",
            "LEVEL[:QUERY]",
        ),
    ] = None,
    goal: Annotated[
        Path | None,
        option("The accuracy you want: [[goals]] with level, query, and sd or margin95.", "FILE.toml"),
    ] = None,
    weights: Annotated[
        str | None, option("Minimise the relative variances with these weights.", "LEVEL[:QUERY]=W,...")
    ] = None,
    epsilon: Annotated[str | None, option("The epsilon that may be spent.", "E")] = None,
    delta: Annotated[str, option("Default: 1e-10.", "D")] = "1e-10",
    certify: Annotated[
        bool, option("Prove the epsilon in ball arithmetic (default), or not.", negative="--no-certify")
    ] = True,
    least_cost: Annotated[bool, option("Find the cheapest plan that meets the goals.")] = False,
    tree: TreeOption = None,
    out: Annotated[Path | None, option("Write the new release.", "NEW.toml")] = None,
    screen: Screen = PLAIN,
) -> None:
    """Find the plan that is best for the accuracy of the estimates."""
    if (epsilon is None) != least_cost:
        found = "none is given" if epsilon is None else "both are given"
        raise InputError(f"give exactly one of --epsilon E and --least-cost; {found}")
    small = read_delta(delta)
    if epsilon is not None:
        console.read_epsilon(epsilon)
    outputs = Outputs()
    outputs.plan("--out", out, (".toml",), source=target)
    from discreet.answers.accuracy import plan_answer
    from discreet.estimation.plan import plan as find
    from discreet.estimation.plan import read_goals

    release = load(target)
    goals = [] if goal is None else read_goals(read_text_file(goal)[0], goal.name)
    result = find(
        release,
        tree=_children([level.name for level in release.levels], read_tree_option(tree, release)),
        keep=keep or (),
        goals=goals,
        weights=console.read_by_level(weights, "--weights") or None,
        epsilon=epsilon,
        delta=small,
        certified=certify,
    )
    outputs.write({"--out": result.release.to_toml})
    screen.tell(plan_answer(result, of=release.name))


def _children(levels: list[str], found: list[float] | Tree | None) -> list[float] | None:
    """Return the children of an area on average; a plan is made for a uniform tree."""
    if found is None or isinstance(found, list):
        return found
    spans = [[levels.index(one) for one in name.split("+")] for name in found.levels]
    units = [
        sum(int((found.kind == code).sum()) for code, span in enumerate(spans) if place in span)
        for place in range(len(levels))
    ]
    return [below / above for above, below in pairwise(units)]


# -- accuracy ----------------------------------------------------------------------------------------------

accuracy_app = console.command(
    "accuracy",
    "RELEASE [--tree N,N,...|FILE] [OPTIONS]",
    "pl94-2020",
    "release.toml --tree 16,25 --plot accuracy.svg",
    "release.toml --tree units.csv --json",
)


@accuracy_app.default
def accuracy(
    target: console.Target,
    /,
    *,
    tree: TreeOption = None,
    plot: Annotated[Path | None, option("Plot a heat map of levels and queries.", "FILE.svg|png|pdf")] = None,
    screen: Screen = PLAIN,
) -> None:
    """Work out how accurate the estimates of a release will be, for every query at every level."""
    outputs = Outputs(plot=plot)
    from discreet.answers.accuracy import accuracy_answer
    from discreet.estimation import accuracy as find

    release = load(target)
    found = find(release, tree=read_tree_option(tree, release))
    if outputs.planned:
        from discreet.report.figures import accuracy_figure

        outputs.write({"--plot": accuracy_figure(found)})
    screen.tell(accuracy_answer(found))


def read_tree_option(text: str | None, release: Release) -> list[float] | Tree | None:
    """Read numbers separated by commas, or the table of areas in a file."""
    if text is None:
        return None
    from discreet.tables import is_table

    if is_table(text):
        need_tables("a table of areas")
        from discreet.release.hierarchy.layout import read_tree as read

        return read(text, release)
    try:
        return [float(part) for part in text.split(",")] if text.strip() else []
    except ValueError:
        raise InputError(
            f"--tree is {text!r}; it must be numbers such as 51,61.6 or a file with a table of areas"
        ) from None
