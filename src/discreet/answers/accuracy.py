"""How accurate the estimates of a release will be, and the best plan for them, in words and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Cell,
    Column,
    Fact,
    Paragraph,
    Part,
    Sentence,
    sentence,
)
from discreet.answers.describing import describes
from discreet.answers.figure import Axis, Cells, Line, Notation, Panel, Picture, Points
from discreet.answers.quantity import NumberKind, Quantity, Style
from discreet.budget.level_names import level_name
from discreet.estimation.accuracy import Accuracy, MarginLine, QueryAccuracy
from discreet.estimation.plan import Plan
from discreet.numbers import float_up

_TOGETHER = {
    True: "all queries and levels together",
    False: "each query by itself, over the levels: the release states no attributes",
}
_SIZES = (
    Column(key="cells"),
    Column("sd of the noise", "noise_sd"),
    Column("sd of the estimate", "sd"),
    Column("95 % margin", "margin95"),
)
_LEVELS = (Column("level", is_text=True), Column("query", "query", is_text=True), Column(key="level"))
_UNKNOWN = "not determined"
_NOTHING = "–"


# -- accuracy ------------------------------------------------------------------------------------------------


@describes(Accuracy)
def accuracy_answer(found: Accuracy) -> Answer:
    """Say how accurate the estimates of every query at every level will be.

    >>> from discreet.budget import load
    >>> from discreet.estimation import accuracy
    >>> answer = accuracy_answer(accuracy(load("pl94-2020")))
    >>> answer.tables["accuracy"].cells[0]
    ['US', 'cenrace', '34.9', '12.4', '24.4']
    """
    levels, lines = [], []
    for level in found.levels:
        rows = [(query.name, *_sizes(query)) for query in level.queries]
        table = AnswerTable((Column(key="name"), *_SIZES), tuple(rows))
        levels.append({"name": level.name, "units": level.units, "queries": table})
        lines += [(level_name(level.name), name, level.name, *sizes) for name, *sizes in rows]
    record = {
        "release": found.release,
        "tree": None if found.children is None else list(found.children),
        "estimates": _TOGETHER[found.together],
        "levels": levels,
    }
    every = AnswerTable((*_LEVELS, *_SIZES), tuple(lines))
    lines_of = (
        f"  {level}, {query}: sd {sd}, within {margin} 95 % of the time (noise alone {noise})"
        for level, query, noise, sd, margin in every.cells
    )
    return Answer(
        f"{found.release}: accuracy",
        record,
        tuple(_accuracy_body(found, every)),
        tables={"accuracy": every},
        command=f"discreet accuracy {found.release}",
        summary="\n".join([f"{found.release}: {_TOGETHER[found.together]}", *lines_of]),
        figures={"accuracy": partial(accuracy_picture, found)},
    )


def accuracy_picture(found: Accuracy) -> Picture:
    """Return the standard deviation of every estimate as a map, one row a query, one column a level.

    >>> from discreet.budget import load
    >>> from discreet.estimation import accuracy
    >>> (panel,) = accuracy_picture(accuracy(load("pl94-2020"))).panels
    >>> panel.x.names[:2], panel.y.names[0], panel.items[0].texts[0][:2]
    (('US', 'State'), 'cenrace', ('12.4', '11.3'))
    """
    queries = range(len(found.levels[0].queries))
    sizes = [[level.queries[row].sd for level in found.levels] for row in queries]
    texts = (
        tuple(str(Quantity(size, Style.MARGIN, missing="not\ndetermined")) for size in row) for row in sizes
    )
    # a size of zero has no shade on a logarithmic scale
    cells = Cells(tuple(tuple(size or None for size in row) for row in sizes), tuple(texts))
    levels = Axis(names=tuple(level_name(level.name) for level in found.levels))
    names = Axis(names=tuple(query.name for query in found.levels[0].queries), is_downward=True)
    return Picture((Panel(levels, names, (cells,)),), "Standard deviation of the estimates")


def sizes_panel(margins: Mapping[str, float], unit: str) -> Panel:
    """Return the 95 % margin over the size of a group, against that size, a line for each level.

    >>> panel = sizes_panel({"State": 5.0}, "person")
    >>> panel.x.title, panel.items[0].points[0]
    ('people in the group', (10.0, 0.5))
    """

    def line(margin: float) -> Points:
        return tuple((10.0**power, max(margin, 0.5) / 10.0**power) for power in range(1, 7))

    lines = [Line(line(margin), level_name(level), k) for k, (level, margin) in enumerate(margins.items())]
    low = min((share for one in lines for _, share in one.points), default=1e-6)
    who = "people in the group" if unit == "person" else f"{unit}s in the group"
    x = Axis(who, 10.0, 1e6, is_log=True, written=Notation.COUNT)
    least = 10.0 ** math.floor(math.log10(low))
    y = Axis("95 % margin over the size", least, is_log=True, written=Notation.PERCENT)
    return Panel(x, y, tuple(lines))


def _sizes(query: QueryAccuracy) -> tuple[Cell, ...]:
    return (
        query.cells,
        Quantity(query.noise_sd, Style.MARGIN, missing="not asked"),
        *(Quantity(size, Style.MARGIN, missing=_UNKNOWN) for size in (query.sd, query.margin95)),
    )


def _accuracy_body(found: Accuracy, every: AnswerTable) -> Iterator[Part]:
    yield Paragraph(f"{found.release}: accuracy of the best estimates from {_TOGETHER[found.together]}.")
    if found.children is not None and len(found.levels) > 1:
        names = [level_name(level.name) for level in found.levels]
        steps = zip(names, found.children, names[1:], strict=False)
        tree = ", ".join(f"{up} to {down} {Quantity(many, Style.BRIEF)}" for up, many, down in steps)
        yield Paragraph(f"Tree, average number of children: {tree}.")
    yield "Standard deviations are root mean squares over the cells of a query."
    yield every


# -- margins of the noise and of estimates, side by side -----------------------------------------------------


def estimates_text(*, together: bool) -> str:
    """Say what the estimates of a release are made from.

    >>> estimates_text(together=True)
    'Best estimates use all queries and levels together.'
    """
    if together:
        return "Best estimates use all queries and levels together."
    return "Each query is estimated separately, from all levels: the release states no attributes."


def noise_cells(line: MarginLine) -> tuple[str, str]:
    """Write the standard deviation and the 95 % margin of the noise.

    >>> noise_cells(MarginLine("State", ("total",), (2.2361, 4)))
    ('2.24', '± 4')
    """
    if line.noise is None:
        return "not asked", _NOTHING
    deviation, margin = line.noise
    return str(Quantity(deviation, Style.MARGIN)), f"± {Quantity(margin, Style.COUNT)}"


def estimate_cells(line: MarginLine, unknown: str = _NOTHING) -> tuple[str, str]:
    """Write the standard deviation and the 95 % margin of the estimate; `unknown` if none was asked for.

    >>> estimate_cells(MarginLine("State", ("total",), None, (1.5, 2.94)))
    ('1.50', '± 2.94')
    """
    if line.estimate is None:
        return unknown, unknown
    deviation, margin = line.estimate
    if deviation is None or margin is None:
        return _UNKNOWN, _NOTHING
    return str(Quantity(deviation, Style.MARGIN)), f"± {Quantity(margin, Style.MARGIN)}"


def relative_error(margin: float, size: int) -> str:
    """Write a margin as a part of a group of some size.

    >>> relative_error(12, 1000), relative_error(12345, 1000)
    ('1.2 %', '1,234 %')
    """
    part = margin / size
    return (
        str(Quantity(part, Style.PERCENT)) if part < 1 else f"{Quantity(100 * part, Style.COUNT, digits=0)} %"
    )


# -- plans ---------------------------------------------------------------------------------------------------

_PLAN_COLUMNS = (
    *_LEVELS,
    Column("rho before", "rho_before"),
    Column("after", "rho_after"),
    Column("sd before", "sd_before"),
    Column("after", "sd_after"),
    Column("goal", "goal", is_text=True),
)


@describes(Plan)
def plan_answer(found: Plan, *, of: str = "") -> Answer:
    """Say what the best plan costs and how accurate it is, beside the release it was made `of`."""
    budgets = {(level, query): both for level, query, *both in found.budgets}
    sides = (found.before.by_query, found.after.by_query)
    levels, lines = [], []
    for level in found.before.levels:
        queries = []
        for query in level.queries:
            key = level.name, query.name
            sizes = budgets.get(key, (None, None))
            queries.append(
                {
                    "name": query.name,
                    "cells": query.cells,
                    **{
                        word: _side(rho, side[key])
                        for word, rho, side in zip(("before", "after"), sizes, sides, strict=True)
                    },
                }
            )
            sds = (Quantity(side[key].sd, Style.BRIEF, digits=4, missing=_UNKNOWN) for side in sides)
            goal = "binds" if key in found.binding else ""
            lines.append((level_name(level.name), query.name, level.name, *map(_budget, sizes), *sds, goal))
        levels.append({"name": level.name, "queries": queries})
    every = AnswerTable(_PLAN_COLUMNS, tuple(lines))
    epsilon, delta = (_bound(value, 17) for value in (found.epsilon, found.delta))
    rho, before = (Quantity(value, Style.BRIEF, digits=5) for value in (found.rho, found.rho_before))
    record = {
        "release": found.release.name,
        "rho": rho,
        "rho_exact": Quantity(found.rho, Style.FRACTION),
        "rho_before": before,
        "epsilon": epsilon,
        "delta": delta,
        "proof": None if found.proof is None else {"delta_upper": float_up(found.proof.upper)},
        "possible": found.possible,
        "largest_ratio": found.ratio,
        "binding": found.binding,
        "dropped": found.dropped,
        "tree": found.before.children or (),
        "levels": levels,
    }
    facts = (Fact("rho", rho, f"before: {before}"), Fact("epsilon", epsilon, f"at delta {delta}"))
    name = of or found.before.release
    return Answer(
        f"{name}: best plan",
        record,
        tuple(_plan_body(found, name, epsilon, delta, every)),
        facts,
        tables={"plan": every},
        command=f"discreet plan {name}",
        summary=_plan_summary(found, epsilon, delta),
    )


def _plan_summary(found: Plan, epsilon: Quantity, delta: Quantity) -> Sentence:
    missed = Quantity(math.sqrt(found.ratio), Style.BRIEF, digits=3)
    return sentence(
        "{name}: rho {rho} (before {before}), epsilon {epsilon} at delta {delta}{missed}",
        name=found.release.name,
        rho=Quantity(found.rho, Style.BRIEF),
        before=Quantity(found.rho_before, Style.BRIEF),
        epsilon=epsilon,
        delta=delta,
        missed="" if found.possible else f", standard deviations up to {missed} times the goals",
    )


def _bound(value: Fraction, digits: int | None = None) -> Quantity:
    return Quantity(value, Style.GIVEN, NumberKind.AT_MOST, digits)


def _budget(rho: Fraction | None) -> Quantity | str:
    return "dropped" if rho == 0 else Quantity(rho, Style.BRIEF, digits=4, missing="not asked")


def _side(rho: Fraction | None, query: QueryAccuracy) -> dict[str, object]:
    """A query at a level before or after: its budget, and how accurate it is."""
    sizes = {"noise_sd": query.noise_sd, "sd": query.sd, "margin95": query.margin95}
    return {"rho": None if rho is None else str(rho), **sizes}


def _plan_body(
    found: Plan, name: str, epsilon: Quantity, delta: Quantity, every: AnswerTable
) -> Iterator[Part]:
    proved = " (not proved)"
    if found.proof is not None:
        proved = f" (proved: delta is at most {_bound(found.proof.upper)} there)"
    yield Paragraph(
        sentence(
            "{name}: the best plan costs rho {rho} (before: {before}), and keeps epsilon {epsilon} at delta "
            "{delta}{proved}.",
            name=name,
            rho=Quantity(found.rho, Style.BRIEF, digits=5),
            before=Quantity(found.rho_before, Style.BRIEF, digits=5),
            epsilon=epsilon,
            delta=delta,
            proved=proved,
        )
    )
    if not found.possible:
        yield Paragraph(
            sentence(
                "Not possible: at epsilon {epsilon} the best plan has {ratio} times the standard deviations "
                "you want, for every goal that binds. It is shown below.",
                epsilon=epsilon,
                ratio=Quantity(math.sqrt(found.ratio), Style.BRIEF, digits=4),
            )
        )
    if found.dropped:
        yield f"{len(found.dropped)} of {len(found.budgets)} measurements are not needed and are dropped."
    yield every
