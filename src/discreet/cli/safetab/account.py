"""`discreet safetab account`: what a run with these parameters costs one person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from discreet import numbers
from discreet.budget.levels import RELATIONS, Neighbours
from discreet.cli import console
from discreet.cli.console import PLAIN, Block, Hanging, Screen, TextTable, option
from discreet.cli.safetab import Params
from discreet.report.tables import relation as words_of

if TYPE_CHECKING:
    from discreet.release.safetab.account import PassAccount, TabulationAccount
    from discreet.release.safetab.mechanism import Mechanism


app = console.command(
    "safetab account",
    "PARAMS [OPTIONS]",
    "params",
    "params --delta 1e-10 --neighbours unbounded --json",
)


@app.default
def account(
    params: Params,
    /,
    *,
    delta: console.Deltas = None,
    neighbours: Annotated[
        Neighbours | None,
        option(
            "bounded: one person is replaced; unbounded: one is added or removed. Default: both.",
            "bounded|unbounded",
        ),
    ] = None,
    screen: Screen = PLAIN,
) -> None:
    """Account for a run before it is made: no data is read."""
    deltas = console.read_deltas(delta or ())

    from discreet.release.safetab.account import DELTAS
    from discreet.release.safetab.account import account as account_for

    relations = RELATIONS if neighbours is None else (neighbours,)
    with screen.progress("Comparing people") as progress:
        answer = account_for(params, deltas=deltas or DELTAS, neighbours=relations, progress=progress)
    screen.present(answer.as_dict, _text(answer), timed=True)


def _text(answer: TabulationAccount) -> Iterator[Block]:
    from discreet.release.safetab.specification import PASS_NAMES

    for place, one in enumerate(answer.passes):
        if place:
            yield ""
        yield f"{PASS_NAMES[one.which]}: noise and thresholds"
        yield ""
        names = ("stage 1", "stage 2", "total", "MOE", "thresholds", "T")
        columns = ("geography", "L", "s", answer.word, *names)
        yield TextTable(columns, [_row(part) for part in one.mechanisms])
        yield ""
        yield from _totals(answer, one)
    yield ""
    yield from map(Hanging, _remarks(answer))


def _row(part: Mechanism) -> tuple[str, ...]:
    from discreet.release.safetab.tables import margin, variance_of

    return (
        part.geography,
        str(part.level),
        str(part.stability.value),
        "infinite" if part.budget is None else numbers.plain(part.budget),
        *(
            "none" if noise is None else f"{float(variance_of(noise)):.4g}"
            for noise in (part.stage_one, part.stage_two, part.total_only)
        ),
        str(margin(part.stage_two)),
        " / ".join(map(str, part.thresholds)),
        "-" if part.suppression is None else str(part.suppression),
    )


def _totals(answer: TabulationAccount, one: PassAccount) -> Iterator[Block]:
    if one.total is None:
        names = ", ".join(f"{part.geography} level {part.level}" for part in one.infinite)
        yield Hanging(f"No privacy: the budget is infinite, so exact counts are released, at {names}.")
        return
    zcdp = answer.configuration.privacy == "zcdp"
    for relation in answer.relations:
        total = one.total_for(relation)
        kind = "zCDP rho" if zcdp else "pure epsilon"
        who = words_of(relation)
        if relation == "bounded" and one.replacing != one.which:
            who += f" who may live in {'the United States' if one.replacing == 'US' else 'Puerto Rico'}"
        if total is None:
            yield f"Neighbours: {who} ({relation}). No privacy: some of their counts have no noise."
        else:
            yield f"Neighbours: {who} ({relation}). {kind} {numbers.with_fraction(total)}."
    yield ""
    columns = [
        "neighbours",
        "delta",
        one.claim.kind.titled("epsilon"),
        "zCDP epsilon" if zcdp else "sum of epsilons",
        "difference",
    ]
    rows = []
    for cost in one.costs:
        row = [cost.neighbours, numbers.plain(cost.delta)]
        if cost.epsilon is None:
            row += ["-", numbers.number(cost.converted), "-"]
        else:
            gap = cost.epsilon - cost.converted
            row += [one.claim.kind.number(cost.epsilon), numbers.number(cost.converted)]
            row.append(f"{numbers.change(gap)} ({numbers.percent(gap / cost.converted)})")
        if zcdp:
            row.append("-" if cost.reduction is None else f"{100 * cost.reduction:.3f} %")
        rows.append(row)
    yield TextTable([*columns, "variance to spare"][: len(columns) + zcdp], rows, (0, 1))


def _remarks(answer: TabulationAccount) -> list[str]:
    remarks = [
        "L: level of the groups, 1 regional and 2 detailed. s: groups of one region that a person can be in. "
        "stage 1, stage 2, total: variance of the count that picks the table, of each published cell, and of "
        "groups that get a total only.",
        "MOE: 95 % margin of error of a published cell. thresholds: from which counts on sex by 4, 9 or 23 "
        "ages are shown. T: below the states, a group that got a total only is dropped if its noisy count is "
        "not above T.",
    ]
    if answer.configuration.privacy == "zcdp" and any(one.costs for one in answer.passes):
        remarks.append(
            "variance to spare: how much smaller all variances could be with zCDP's promise at this delta "
            "still kept, exactly."
        )
    for said in dict.fromkeys(one.claim for one in answer.passes if one.costs):
        remarks.append(str(said))
    if len(answer.passes) == 2:
        remarks.append(
            "The two passes are over different people: one person meets one of them. If a resident of the "
            "other pass takes the place, both are met."
        )
    if any(cost.epsilon is None for one in answer.passes for cost in one.costs):
        remarks.append("epsilon -: the budgets are too large for it to be computed, or to matter.")
    unpaired = sorted(
        {p.stability.why for one in answer.passes for p in one.mechanisms if not p.stability.paired}
    )
    remarks += [f"Stability: {why}." for why in unpaired]
    return remarks + [f"Note: {note}." for note in answer.notes]
