"""What cells that are published together cost one person, in words and tables."""

from __future__ import annotations

import shlex
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
from discreet.answers.quantity import NumberKind, Quantity, Style, count_quantity
from discreet.cellkey.account import CaseCost, CellAccount
from discreet.cellkey.answers.table import SECRET, delta_number, epsilon_quantity, given, least_delta

_METHODS = {
    "published exactly": "a cell without noise changes, so that both data sets are always told apart",
    "product": "the keys of the cells are independent, so that their costs multiply to an exact product",
    "joint": "keys of cells depend on each other, so that the joint law of their noises was worked out",
    "revealed": "an upper bound: the adversary is told the keys of all other records",
}

PRODUCT = (
    "A product of the cells is no bound: unaffected cells are not free, for together with a total they tell "
    "the key of the others."
)


@describes(CellAccount)
def cell_account_answer(account: CellAccount) -> Answer:
    """Say what a family of cells costs, in which case, and how that is known.

    >>> from discreet.cellkey import account_cells, entropy_table, hypercube
    >>> answer = cell_account_answer(account_cells(entropy_table(2, 1), hypercube({"sex": 2}), least=1))
    >>> print(answer.summary)
    3 cells with D2V1: delta 0.3984 at epsilon 1, and 0.3160 however large epsilon is
    """
    costs = _costs(account)
    first, certain = delta_number(account.deltas[0].upper), delta_number(account.certain)
    cells = count_quantity(len(account.family.cells))
    record = {
        "table": account.table.name,
        "cells": len(account.family.cells),
        "groups": len(account.family.groups),
        "rank": account.rank,
        "neighbours": account.neighbours,
        "keying": account.keying,
        "everybody_in_a_cell": account.family.everybody,
        "least": None if account.family.counts is not None else account.least,
        "published_exactly": list(account.published),
        "cases": account.cases,
        "methods": list(account.methods),
        "kind": "exact" if account.is_exact else "at most",
        "sample_failure": account.failure,
        "costs": costs,
        "epsilons": [
            {"delta": given(delta), "epsilon": epsilon_quantity(ratio, NumberKind(_kind(account)))}
            for delta, ratio in zip(account.asked, account.ratios, strict=True)
        ],
        "tradeoff": None
        if account.errors is None
        else [
            {"alpha": given(alpha), "beta": Quantity(error, digits=6)}
            for alpha, error in zip(account.alphas, account.errors, strict=True)
        ],
        "prior": given(account.prior),
        "best_guess_right": None if account.accuracy is None else Quantity(account.accuracy, digits=6),
        "keys_must_be": SECRET,
    }
    return Answer(
        f"{cells} cells with {account.table.name}",
        record,
        tuple(_body(account, costs)),
        (
            Fact(f"delta at epsilon {given(account.epsilons[0])}", first, _kind(account)),
            Fact("delta at any epsilon", certain, "the chance of certainty"),
        ),
        cautions=tuple(_cautions(account)),
        tables={"costs": costs},
        command=f"discreet cellkey account {shlex.quote(account.table.name)}",
        summary=sentence(
            "{cells} cells with {name}: delta {first} at epsilon {epsilon}, and {certain} however large "
            "epsilon is",
            cells=cells,
            name=account.table.name,
            first=first,
            epsilon=given(account.epsilons[0]),
            certain=certain,
        ),
    )


def _kind(account: CellAccount) -> str:
    return "exact" if account.is_exact else "at most"


def _costs(account: CellAccount) -> AnswerTable:
    columns = (
        Column("epsilon", is_text=True),
        Column(key="epsilon"),
        Column("delta", "delta"),
        Column("which is", "kind", is_text=True),
        Column("a product would claim", "product_claim"),
        Column("worst case", "case", is_text=True),
        Column(key="counts_before"),
        Column(key="gains"),
        Column(key="loses"),
        Column(key="method"),
    )
    places = [
        (str(given(epsilon)), given(epsilon), cost, cost.deltas[index].upper)
        for index, (epsilon, cost) in enumerate(zip(account.epsilons, account.worst, strict=True))
    ]
    places.append(("any", Quantity(None), account.most_certain, account.certain))
    rows = []
    for (name, number, cost, delta), claim in zip(places, account.product_claim, strict=True):
        groups = account.family.groups
        hides = account.family.counts is not None or len(groups) > 100  # counts of data are confidential
        rows.append(
            (
                name,
                number,
                delta_number(delta),
                "exact" if cost.is_exact else "at most",
                delta_number(claim),
                _case(account, cost),
                None
                if hides
                else [
                    {"group": group, "count": count}
                    for group, count in zip(groups, cost.case.counts, strict=True)
                ],
                groups[cost.case.gains],
                None if cost.case.loses is None else groups[cost.case.loses],
                cost.method,
            )
        )
    return AnswerTable(columns, tuple(rows))


def _case(account: CellAccount, cost: CaseCost) -> str:
    """Say which change is worst; counts of groups only where there are few and they are not data."""
    groups, case = account.family.groups, cost.case
    gains = groups[case.gains]
    if case.loses is not None:
        text = f"a record moves from {groups[case.loses]} to {gains}"
    elif account.neighbours == "bounded":
        text = f"a record of {gains} replaces one that is in no cell"
    else:
        text = f"a record joins {'the empty ' if not case.counts[case.gains] else ''}{gains}"
    if account.family.counts is None and len(groups) <= 4:
        text += f" ({', '.join(f'{name}: {count}' for name, count in zip(groups, case.counts, strict=True))})"
    return text


def _body(account: CellAccount, costs: AnswerTable) -> Iterator[Part]:
    yield Paragraph(_subject(account))
    yield Paragraph(_assumed(account))
    yield ""
    yield costs
    yield ""
    for method in account.methods:
        yield Paragraph(f"Method: {_METHODS[method]}.")
    if account.is_exact:
        yield Paragraph(
            sentence(
                "No epsilon, however large, holds with a delta below {certain}.",
                certain=least_delta(account.certain),
            )
        )
    at_most, at_least = ("", "") if account.is_exact else ("at most ", ", or more")
    for delta, ratio in zip(account.asked, account.ratios, strict=True):
        text = (
            f"At delta {{delta}} no epsilon {'holds' if account.is_exact else 'can be stated'}."
            if ratio is None
            else f"At delta {{delta}} epsilon is {at_most}{{epsilon}}."
        )
        epsilon = epsilon_quantity(ratio, NumberKind(_kind(account)))
        yield Paragraph(sentence(text, delta=given(delta), epsilon=epsilon))
    if account.errors is not None and account.accuracy is not None:
        least = NumberKind.EXACT if account.is_exact else NumberKind.AT_LEAST
        pairs = ", ".join(
            f"{Quantity(error, rounding=least.rounding, digits=4) if error else 0} at {given(alpha)}"
            for alpha, error in zip(account.alphas, account.errors, strict=True)
        )
        pairs += at_least
        yield Paragraph(
            sentence(
                "Trade-off f, the least type II error of a test at its type I error: {pairs}. Someone who "
                "knows all else and gives the change a chance of {prior} guesses right {at_most}{right} of "
                "the time.",
                at_most=at_most,
                pairs=pairs,
                prior=given(account.prior),
                right=Quantity(account.accuracy, Style.PERCENT, NumberKind(_kind(account)).rounding),
            )
        )


def _subject(account: CellAccount) -> Sentence:
    groups = len(account.family.groups)
    return sentence(
        "{cells} published cells of {groups} groups of records; their keys have {rank} degrees of freedom.",
        cells=count_quantity(len(account.family.cells)),
        groups=count_quantity(groups),
        rank=count_quantity(account.rank),
    )


def _assumed(account: CellAccount) -> Sentence:
    if account.neighbours == "unbounded":
        relation = "One record is added or removed"
    elif account.family.everybody:
        relation = "One record is replaced by another (everybody is in one of the cells)"
    else:
        relation = "One record is replaced by another, also by somebody who is in none of the cells,"
    if account.family.counts is not None:
        data = "in the data whose counts are given, so that this is no promise for other data"
    elif account.least:
        data = f"in any data with at least {account.least} in every group besides the record"
    else:
        data = "in any data"
    keys = (
        "the key of a cell is the sum of the keys of its records"
        if account.keying == "records"
        else "the key of a cell comes from a secret and its definition"
    )
    return sentence(
        "{relation} {data}; {keys}. {cases} cases were compared.",
        relation=relation,
        data=data,
        keys=keys,
        cases=count_quantity(account.cases),
    )


def _cautions(account: CellAccount) -> Iterator[Caution]:
    if "published exactly" in account.methods and account.neighbours == "unbounded":
        yield Caution(
            f"Published without noise: {', '.join(account.published)}. One record more or less shows there, "
            "so delta is 1. With exact totals, a record can only be protected against being replaced "
            "(neighbours bounded)."
        )
    if account.methods != ("product",) and account.methods != ("published exactly",):
        yield Caution(PRODUCT)
    if account.family.counts is not None:
        yield Caution("These numbers depend on the counts that were given, and are as confidential as those.")
    if account.failure:
        yield Caution(
            "The bound averages over a sample of keys; the draw of the sample leaves it too low with a "
            f"chance of {Quantity(account.failure, Style.POWER)}."
        )
    if account.keying == "records":
        yield Caution(SECRET)
    else:
        yield Caution("The secret must be known to nobody, and must not be used for other records.")
