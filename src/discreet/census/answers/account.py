"""What a run of an adaptive tabulation costs one person, in words and tables: noise, budgets, epsilons."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Caution,
    Column,
    Fact,
    Paragraph,
    Part,
    Sentence,
    sentence,
)
from discreet.answers.describing import describes
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Style
from discreet.answers.release import claim_text, relation
from discreet.budget import Neighbours
from discreet.census.mechanism.adaptive import Mechanism
from discreet.census.mechanism.margins import margin_of_error, variance_of
from discreet.census.safetab.account import PassAccount, PassCost, TabulationAccount
from discreet.noise import Noise


@describes(TabulationAccount)
def tabulation_account_answer(account: TabulationAccount) -> Answer:
    """Say for each pass the noise of every geography and level, and what one person pays.

    Exact numbers are fractions in quotes for machines, and an infinite budget is null.

    >>> from dataclasses import replace
    >>> from discreet.census.safetab.account import TabulationAccount, account_pass
    >>> from discreet.census.safetab.census2020 import configuration_2020, specification_2020
    >>> plan, groups = replace(configuration_2020(), passes=("US",)), specification_2020()
    >>> of_nation = account_pass(plan, groups, "US", deltas=["1e-10"], neighbours=["unbounded"])
    >>> answer = tabulation_account_answer(TabulationAccount(plan, groups, (of_nation,), ("unbounded",)))
    >>> answer.objects["passes"][0]["rho_unbounded"], str(answer.facts[0].value)
    ('618/125', '24.4020')
    """
    noises, costs = (
        [make(account, pass_account) for pass_account in account.passes] for make in (_noises, _costs)
    )
    record = {
        "unit": account.configuration.tabulation.unit,
        "privacy": account.configuration.privacy,
        "passes": [
            {
                "pass": pass_account.which,
                "private": pass_account.total is not None,
                "answer": pass_account.claim.document(),
                **{
                    f"{account.word}_{which}": Quantity(pass_account.total_for(which), Style.FRACTION)
                    for which in account.relations
                },
                "results": cost,
                "levels": noise,
            }
            for pass_account, noise, cost in zip(account.passes, noises, costs, strict=True)
        ],
        "notes": list(account.notes),
    }
    return Answer(
        account.configuration.tabulation.title,
        record,
        tuple(_body(account, noises, costs)),
        tuple(_facts(account)),
        tuple(Caution(f"{note}.") for note in account.notes),
        command="discreet safetab account PARAMS",
    )


def steps_text(steps: tuple[int, ...]) -> str:
    """Write the thresholds of a ladder.

    >>> steps_text((971, 4971, 19971))
    '971 / 4971 / 19971'
    """
    return " / ".join(map(str, steps))


def _noises(account: TabulationAccount, pass_account: PassAccount) -> AnswerTable:
    columns = (
        Column("geography", "geography", is_text=True),
        Column("L", "level"),
        Column(key="groups"),
        Column("s", "stability"),
        Column(key="stability_because"),
        Column(account.word),
        Column(key=account.word),
        *map(Column, ("stage 1", "stage 2", "total")),
        *(Column(key=f"variance_{which}") for which in ("total_only", "stage_1", "stage_2")),
        Column("MOE", "margin_of_error"),
        Column("thresholds"),
        Column(key="thresholds"),
        Column("T", "suppressed_up_to"),
    )
    return AnswerTable(columns, tuple(_noise(account, part) for part in pass_account.mechanisms))


def _noise(account: TabulationAccount, part: Mechanism) -> tuple[object, ...]:
    budget = Quantity(part.budget, Style.EXACT)
    return (
        part.geography,
        part.level,
        len(account.specification.tabulated(part.geography, part.level)),
        part.stability.value,
        part.stability.why,
        "infinite" if part.budget is None else budget,
        budget,
        *map(_variance, (part.stage_one, part.stage_two, part.total_only)),
        *(
            Quantity(variance_of(noise), Style.EXACT)
            for noise in (part.total_only, part.stage_one, part.stage_two)
        ),
        margin_of_error(part.stage_two),
        steps_text(part.thresholds),
        part.thresholds,
        part.suppression,
    )


def _variance(noise: Noise | None) -> Quantity | str:
    return "none" if noise is None else Quantity(variance_of(noise), Style.EXACT, digits=4)


def _costs(account: TabulationAccount, pass_account: PassAccount) -> AnswerTable:
    zcdp = account.configuration.privacy == "zcdp"
    columns = (
        Column("neighbours", "neighbours", is_text=True),
        Column("delta", "delta", is_text=True),
        Column(NumberKind.of(pass_account.claim.kind).column("epsilon"), "epsilon"),
        Column("zCDP epsilon", "zcdp_epsilon") if zcdp else Column("sum of epsilons", "pure_epsilon"),
        Column("difference"),
        *((Column("variance to spare", "variance_reduction"),) if zcdp else ()),
    )
    rows = (
        (
            cost.neighbours,
            Quantity(cost.delta, Style.GIVEN),
            Claimed.by(pass_account.claim, cost.epsilon),
            Quantity(cost.converted),
            _difference(cost),
            *((Quantity(cost.reduction, Style.PERCENT, digits=3),) if zcdp else ()),
        )
        for cost in pass_account.costs
    )
    return AnswerTable(columns, tuple(rows))


def _difference(cost: PassCost) -> Sentence | None:
    if cost.epsilon is None:
        return None
    gap = cost.epsilon - cost.converted
    part = Quantity(gap / cost.converted, Style.PERCENT)
    return sentence("{gap} ({part})", gap=Quantity(gap, Style.CHANGE), part=part)


def _facts(account: TabulationAccount) -> Iterator[Fact]:
    for pass_account in account.passes:
        title = account.configuration.tabulation.passes[pass_account.which].title
        for cost in pass_account.costs:
            delta = Quantity(cost.delta, Style.GIVEN)
            epsilon = Claimed.by(pass_account.claim, cost.epsilon)
            yield Fact(f"{title}: epsilon at delta {delta}", epsilon, cost.neighbours)


def _body(account: TabulationAccount, noises: list[AnswerTable], costs: list[AnswerTable]) -> Iterator[Part]:
    tabulation = account.configuration.tabulation
    for index, pass_account in enumerate(account.passes):
        if index:
            yield ""
        yield f"{tabulation.passes[pass_account.which].title}: noise and thresholds"
        yield ""
        yield noises[index]
        yield ""
        if pass_account.total is None:
            names = ", ".join(f"{part.geography} level {part.level}" for part in pass_account.infinite)
            text = f"No privacy: the budget is infinite, so exact counts are released, at {names}."
            yield Paragraph(text)
        else:
            yield from (_spent(account, pass_account, neighbours) for neighbours in account.relations)
            yield ""
            yield costs[index]
    yield ""
    yield from map(Paragraph, _remarks(account))


def _spent(account: TabulationAccount, pass_account: PassAccount, neighbours: Neighbours) -> Sentence:
    """Say what one person spends, or one removed and one added."""
    who = relation(neighbours, account.configuration.tabulation.unit)
    if neighbours == "bounded" and pass_account.replacing != pass_account.which:
        who += f" who may live in {account.configuration.tabulation.passes[pass_account.replacing].where}"
    lead, total = f"Neighbours: {who} ({neighbours}).", pass_account.total_for(neighbours)
    if total is None:
        return sentence("{lead} No privacy: some of their counts have no noise.", lead=lead)
    kind = "zCDP rho" if account.configuration.privacy == "zcdp" else "pure epsilon"
    return sentence("{lead} {kind} {total}.", lead=lead, kind=kind, total=Quantity(total, Style.FRACTION))


def _remarks(account: TabulationAccount) -> Iterator[str]:
    tabulation, unit = account.configuration.tabulation, account.configuration.tabulation.unit
    *first, last = (f"{number} {workload.word}" for number, workload in tabulation.workloads.items())
    levels = f"{', '.join(first)} and {last}" if first else last
    tables = ", ".join(rung.title for ladder in tabulation.ladders.values() for rung in ladder.rungs[1:])
    picks = any(ladder.picks for ladder in tabulation.ladders.values())
    picked = " A total that stage 1 picks has the variance of stage 2." if picks else ""
    yield (
        f"L: level of the groups, {levels}. s: groups of one region that a {unit} can be in. "
        "stage 1, stage 2, total: variance of the count that picks the table, of each published cell, and of "
        f"groups specified as total only.{picked}"
    )
    dropped = (
        f" T: below {tabulation.below}, a group for which stage 1 picks the total is dropped if its noisy "
        "count is not above T."
    )
    yield (
        "MOE: 95 % margin of error (noise only) of a published cell. thresholds: the counts from which a "
        f"group gets these tables: {tables}.{dropped if picks else ''}"
    )
    if not picks:
        yield (
            "The tables are picked by totals that are published already: there is no stage 1, nothing is "
            "dropped, and what those totals cost is an account of its own, in its own unit. The two are "
            "stated side by side, never added."
        )
    if account.configuration.privacy == "zcdp" and any(pass_account.costs for pass_account in account.passes):
        yield (
            "variance to spare: how much smaller all variances could be while the exact epsilon keeps zCDP's "
            "promise at this delta."
        )
    yield from map(
        claim_text, dict.fromkeys(pass_account.claim for pass_account in account.passes if pass_account.costs)
    )
    if len(account.passes) == 2:
        yield (
            f"The two passes count different {tabulation.units}, so each {unit} is in only one. If a {unit} "
            "is replaced by one of the other pass, both change."
        )
    if any(cost.epsilon is None for pass_account in account.passes for cost in pass_account.costs):
        yield "epsilon -: the budgets are too large for it to be computed, or to matter."
    stable = (part.stability for pass_account in account.passes for part in pass_account.mechanisms)
    yield from (
        f"Stability: {why}." for why in sorted({stability.why for stability in stable if not stability.plain})
    )
