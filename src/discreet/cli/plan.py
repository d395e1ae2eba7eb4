"""`discreet plan`: the noise that is best for the accuracy of the estimates, and its proof."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from discreet.budget import load
from discreet.cli import options
from discreet.cli.accuracy import TreeOption, read_tree
from discreet.cli.printing import PLAIN, Block, Hanging, Outputs, Screen, TextTable
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.budget import Release
    from discreet.estimation.plan import Plan

app = App(
    name="plan",
    usage="Usage: discreet plan RELEASE (--keep LEVEL[:QUERY] | --goal FILE.toml | --weights LEVEL=W,...)\n"
    "         (--epsilon E | --least-cost) [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet plan pl94-2020 --keep State --keep County --keep Tract --least-cost\n"
    "  discreet plan release.toml --tree 16,25 --goal goals.toml --epsilon 4 --delta 1e-8 --out new.toml\n"
    "  discreet plan release.toml --tree 16,25 --weights Region=2,District=1 --epsilon 4",
)


@app.default
def plan(
    target: options.Target,
    /,
    *,
    keep: Annotated[
        list[str] | None,
        Parameter(
            help="Estimates to keep as accurate as now: a level, or one of its queries; may be repeated.",
            metavar="LEVEL[:QUERY]",
        ),
    ] = None,
    goal: Annotated[
        Path | None,
        Parameter(
            help="The accuracy you want: [[goals]] with level, query, and sd or margin95.",
            metavar="FILE.toml",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        Parameter(help="Minimise the relative variances with these weights.", metavar="LEVEL[:QUERY]=W,..."),
    ] = None,
    epsilon: Annotated[str | None, Parameter(help="The epsilon that may be spent.", metavar="E")] = None,
    delta: Annotated[str, Parameter(help="Default: 1e-10.", metavar="D")] = "1e-10",
    certify: Annotated[
        bool,
        Parameter(
            negative="--no-certify",
            help="Prove the epsilon in ball arithmetic (default), or not.",
        ),
    ] = True,
    least_cost: Annotated[bool, Parameter(help="Find the cheapest plan that meets the goals.")] = False,
    tree: TreeOption = None,
    out: Annotated[Path | None, Parameter(help="Write the new release.", metavar="NEW.toml")] = None,
    screen: Screen = PLAIN,
) -> None:
    """Find the plan that is best for the accuracy of the estimates."""
    if (epsilon is None) != least_cost:
        found = "none is given" if epsilon is None else "both are given"
        raise InputError(f"the cost is --epsilon E or --least-cost, exactly one of them; {found}")
    (small,) = options.read_deltas([delta])
    if epsilon is not None:
        options.read_epsilons([epsilon])
    outputs = Outputs()
    outputs.plan("--out", out, (".toml",))
    from discreet.estimation.plan import plan as find
    from discreet.estimation.plan import read_goals

    release = load(target)
    goals = [] if goal is None else read_goals(_read(goal), goal.name)
    result = find(
        release,
        tree=_children([level.name for level in release.levels], read_tree(tree, release)),
        keep=keep or (),
        goals=goals,
        weights=options.by_level(weights, "--weights") or None,
        epsilon=epsilon,
        delta=small,
        certified=certify,
    )
    if outputs.planned:
        outputs.write({"--out": result.release.to_toml().encode()})
    screen.present(result.as_dict, _text(release, result, float(small)))


def _text(release: Release, result: Plan, delta: float) -> Iterator[Block]:
    from discreet.estimation.plan import COLUMNS

    proved = " (not proved)"
    if result.proof is not None:
        proved = f" (proved: delta is at most {float(result.proof.upper):.6g} there)"
    size, cap = f"{float(result.rho):.5g}", f"{float(result.epsilon):.6g}"
    yield Hanging(
        f"{release.name}: the best plan costs rho {size} (before: {float(result.rho_before):.5g}), and keeps "
        f"epsilon {cap} at delta {delta:.3g}{proved}."
    )
    if not result.possible:
        yield Hanging(
            f"Not possible: at epsilon {cap} the best you can have is {math.sqrt(result.ratio):.4g} times "
            "the wanted standard deviations, for every goal that binds. That is the plan below."
        )
    if result.dropped:
        yield f"{len(result.dropped)} of {len(result.budgets)} measurements are not needed and are dropped."
    yield TextTable(COLUMNS, result.rows(), (0, 1, 6))


def _children(levels: list[str], found: object) -> list[float] | None:
    """Return the children a unit on average; a plan is made for a uniform tree."""
    if found is None or isinstance(found, list):
        return found
    from discreet.estimation.tree import Tree

    assert isinstance(found, Tree)
    lowest = [name.split("+")[-1] for name in found.levels]
    highest = [name.split("+")[0] for name in found.levels]
    units = []
    for place in range(len(levels)):
        codes = [
            code
            for code in range(len(found.levels))
            if levels.index(highest[code]) <= place <= levels.index(lowest[code])
        ]
        units.append(sum(int((found.kind == code).sum()) for code in codes))
    return [below / above for above, below in pairwise(units)]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"{path} cannot be read: {reason}") from None
