"""`discreet plan`: the noise that is best for the estimates."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.budget.text_files import read_text_file
from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, need_tables, option
from discreet.errors import InputError
from discreet.estimation.goals import read_goals
from discreet.estimation.questions import Planning
from discreet.numbers import read_delta

if TYPE_CHECKING:
    from discreet.areas.tree import Tree
    from discreet.budget import Release

app = console.command(
    "plan",
    "RELEASE (--keep LEVEL[:QUERY] | --goal FILE.toml | --weights LEVEL=W,...)\n"
    "         (--epsilon E | --risk LIMIT... | --least-cost) [OPTIONS]",
    "pl94-2020 --keep State --keep County --keep Tract --least-cost",
    "release.toml --tree 16,25 --goal goals.toml --epsilon 4 --delta 1e-8 --out new.toml",
    "pl94-2020 --keep State --keep County --risk right=60%,prior=1/2",
    tries=(
        console.SURVEY,
        "plan survey --tree survey/units.csv --weights Region=2,District=1 --epsilon 4 --out new.toml",
    ),
)


@app.default
@console.takes(Planning)
def plan(
    target: console.Plan,
    /,
    *,
    least_cost: Annotated[bool, option("Find the cheapest plan that meets the goals.")] = False,
    out: Annotated[Path | None, option("Write the new release.", "NEW.toml")] = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Find the plan that is best for the accuracy of the estimates."""
    epsilon, risk = given.get("epsilon"), given.get("risk")
    if (epsilon is None and not risk) != least_cost:
        problem = "they are given together" if least_cost else "none is given"
        raise InputError(f"give --epsilon E, --risk LIMIT or both, or else --least-cost; {problem}")
    if "delta" in given:
        given["delta"] = read_delta(given["delta"])
    if epsilon is not None:
        console.read_epsilon(epsilon)
    outputs = Outputs()
    outputs.plan("--out", out, (".toml",), source=target)
    from discreet.answers.plan import plan_answer
    from discreet.estimation.best_plan import plan as find

    release = console.read_plan(target, "plan")
    if "goals" in given:
        text, where = read_text_file(given["goals"])
        given["goals"] = read_goals(text, Path(where).name)
    given["weights"] = console.read_by_level(given.get("weights"), "--weights")
    tree = read_tree_option(given.get("tree"), release)
    given["tree"] = _children([level.name for level in release.levels], tree)
    result = find(release, **given)
    outputs.write({"--out": result.release.to_toml})
    screen.tell(plan_answer(result, of=release.name))


def _children(levels: list[str], children: list[float] | Tree | None) -> list[float] | None:
    """Return the children of an area on average; a plan is made for a uniform tree."""
    if children is None or isinstance(children, list):
        return children
    spans = [[levels.index(part) for part in name.split("+")] for name in children.levels]
    units = [
        sum(int((children.kind == code).sum()) for code, span in enumerate(spans) if number in span)
        for number in range(len(levels))
    ]
    return [below / above for above, below in pairwise(units)]


def read_tree_option(text: str | None, release: Release) -> list[float] | Tree | None:
    """Read numbers separated by commas, or the table of areas in a file."""
    if text is None:
        return None
    from discreet.tables import is_table

    if is_table(text):
        need_tables("a table of areas")
        from discreet.areas.layout import read_tree as read

        return read(text, release)
    try:
        return [float(part) for part in text.split(",")] if text.strip() else []
    except ValueError:
        raise InputError(
            f"--tree is {text!r}; it must be numbers such as 51,61.6 or a file with a table of areas"
        ) from None
