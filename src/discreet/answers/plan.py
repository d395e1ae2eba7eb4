"""The best plan for the accuracy of estimates, in words and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from discreet.answers.accuracy import LEVELS, UNKNOWN
from discreet.answers.answer import Answer, AnswerTable, Column, Fact, Paragraph, Part, Sentence, sentence
from discreet.answers.describing import describes
from discreet.answers.quantity import Quantity, Rounding, Style
from discreet.answers.risk_limits import limits_table
from discreet.budget.level_names import level_name
from discreet.estimation import Plan  # through the package, in which the function `plan` must win
from discreet.estimation.expected_accuracy import QueryAccuracy
from discreet.numbers import float_up

_PLAN_COLUMNS = (
    *LEVELS,
    Column("rho before", "rho_before"),
    Column("after", "rho_after"),
    Column("sd before", "sd_before"),
    Column("after", "sd_after"),
    Column("goal", "goal", is_text=True),
)


@describes(Plan)
def plan_answer(plan: Plan, *, of: str = "") -> Answer:
    """Say what the best plan costs and how accurate it is, beside the release it was made `of`."""
    budgets = {(level, query): both for level, query, *both in plan.budgets}
    sides = (plan.before.by_query, plan.after.by_query)
    levels, lines = [], []
    for level in plan.before.levels:
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
            sds = (Quantity(side[key].sd, Style.BRIEF, digits=4, missing=UNKNOWN) for side in sides)
            goal = "binds" if key in plan.binding else ""
            lines.append((level_name(level.name), query.name, level.name, *map(_budget, sizes), *sds, goal))
        levels.append({"name": level.name, "queries": queries})
    every = AnswerTable(_PLAN_COLUMNS, tuple(lines))
    epsilon, delta = (_bound(value, 17) for value in (plan.epsilon, plan.delta))
    rho, before = (Quantity(value, Style.BRIEF, digits=5) for value in (plan.rho, plan.rho_before))
    record = {
        "release": plan.release.name,
        "rho": rho,
        "rho_exact": Quantity(plan.rho, Style.FRACTION),
        "rho_before": before,
        "epsilon": epsilon,
        "delta": delta,
        "proof": None if plan.proof is None else {"delta_upper": float_up(plan.proof.upper)},
        "possible": plan.possible,
        "largest_ratio": plan.ratio,
        "binding": plan.binding,
        "dropped": plan.dropped,
        "tree": plan.before.children or (),
        "levels": levels,
    }
    if plan.law:
        record["law"] = plan.law
    if plan.limits:
        record["limits"] = limits_table(plan.limits)
    facts = (Fact("rho", rho, f"before: {before}"), Fact("epsilon", epsilon, f"at delta {delta}"))
    name = of or plan.before.release
    return Answer(
        f"{name}: best plan",
        record,
        tuple(_plan_body(plan, name, epsilon, delta, every)),
        facts,
        tables={"plan": every},
        command=f"discreet plan {name}",
        summary=_plan_summary(plan, epsilon, delta),
    )


def _plan_summary(plan: Plan, epsilon: Quantity, delta: Quantity) -> Sentence:
    missed = Quantity(math.sqrt(plan.ratio), Style.BRIEF, digits=3)
    return sentence(
        "{name}: rho {rho} (before {before}), epsilon {epsilon} at delta {delta}{missed}",
        name=plan.release.name,
        rho=Quantity(plan.rho, Style.BRIEF),
        before=Quantity(plan.rho_before, Style.BRIEF),
        epsilon=epsilon,
        delta=delta,
        missed="" if plan.possible else f", standard deviations up to {missed} times the goals",
    )


def _bound(value: Fraction, digits: int | None = None) -> Quantity:
    return Quantity(value, Style.GIVEN, Rounding.UP, digits)


def _budget(rho: Fraction | None) -> Quantity | str:
    return "dropped" if rho == 0 else Quantity(rho, Style.BRIEF, digits=4, missing="not asked")


def _side(rho: Fraction | None, query: QueryAccuracy) -> dict[str, object]:
    """A query at a level before or after: its budget, and how accurate it is."""
    sizes = {"noise_sd": query.noise_sd, "sd": query.sd, "margin95": query.margin95}
    return {"rho": None if rho is None else str(rho), **sizes}


def _plan_body(
    plan: Plan, name: str, epsilon: Quantity, delta: Quantity, every: AnswerTable
) -> Iterator[Part]:
    proved = " (not proved)"
    if plan.proof is not None:
        proved = f" (proved: delta is at most {_bound(plan.proof.upper)} there)"
    yield Paragraph(
        sentence(
            "{name}: the best plan costs rho {rho} (before: {before}), and keeps epsilon {epsilon} at delta "
            "{delta}{proved}.",
            name=name,
            rho=Quantity(plan.rho, Style.BRIEF, digits=5),
            before=Quantity(plan.rho_before, Style.BRIEF, digits=5),
            epsilon=epsilon,
            delta=delta,
            proved=proved,
        )
    )
    if not plan.possible:
        yield Paragraph(
            sentence(
                "Not possible: {ceiling} the best plan has {ratio} times the standard deviations "
                "you want, for every goal that binds. It is shown below.",
                ceiling="within these limits" if plan.limits else f"at epsilon {epsilon}",
                ratio=Quantity(math.sqrt(plan.ratio), Style.BRIEF, digits=4),
            )
        )
    if plan.law:
        yield Paragraph(
            f"The noise is {plan.law}; its variances have the ratios that are best for Gaussian noise."
        )
    if plan.dropped:
        yield f"{len(plan.dropped)} of {len(plan.budgets)} measurements are not needed and are dropped."
    if plan.limits:
        yield limits_table(plan.limits)
        yield ""
    yield every
