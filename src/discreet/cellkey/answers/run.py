"""A hypercube with cell keys in words: what was written, what is claimed, and what is not."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.answers.answer import Answer, Caution, Fact, Paragraph, Part, sentence
from discreet.answers.describing import describes
from discreet.answers.ledger import ledger_note
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Style, count_quantity
from discreet.answers.release import relation
from discreet.cellkey.answers.table import delta_number, given
from discreet.cellkey.run import ComposedCells, Perturbed
from discreet.files import json_fields
from discreet.numbers import float_up
from discreet.rehearsal import NOT_PRIVATE

_RECORD_KEYS = (
    "Keys are sums of record keys: cells with common records have noises that depend on each other, and an "
    "empty cell has none. So no cost is stated. `discreet cellkey account` says what such cells give away; "
    "keys must be secret and random."
)
_LEFT_OUT = (
    "Empty cells are left out: that a cell is listed shows that somebody is in it, with certainty, so that "
    "nobody who is alone in a cell is protected. No cost is stated."
)
_REPEATED = (
    "Repeating this run with the same secret and table gives the same noise and tells nothing more; with "
    "another secret or table it spends again, and averaging takes noise away."
)


@describes(Perturbed)
def perturbed_answer(done: Perturbed) -> Answer:
    """Say what a run wrote and what it costs, or why no cost can be stated."""
    delta = (
        None
        if done.delta_of_one_cell is None
        else Claimed(
            value=float_up(done.delta_of_one_cell),
            kind=NumberKind.AT_MOST,
            scope=done.scope_of_one_cell,
            digits=6,
        )
    )
    left_out = ("epsilon_of_one_cell", "delta_of_one_cell", "scope_of_one_cell", "composed")
    record: dict[str, object] = {
        key: value for key, value in json_fields(done).items() if key not in left_out
    }
    record["of_one_cell"] = (
        None
        if delta is None
        else {"epsilon": Quantity(done.epsilon_of_one_cell, Style.FRACTION), "delta": delta}
    )
    record["of_all_cells_of_one_record"] = (
        None
        if done.composed is None
        else {
            "cells_changed": done.composed.changed,
            "epsilon": Quantity(done.composed.epsilon, Style.FRACTION),
            "delta": delta_number(done.composed.delta),
            "delta_at_any_epsilon": delta_number(done.composed.certain),
            "kind": _kind(done.composed),
        }
    )
    record["attributes"] = list(done.attributes)
    facts = [Fact("margins", count_quantity(done.margins)), Fact("cells", count_quantity(done.cells))]
    cautions = []
    if delta is None:
        text = _RECORD_KEYS if done.keys == "records" else _LEFT_OUT
        cautions.append(Caution(text))
    else:
        assert done.composed is not None
        mark = NOT_PRIVATE if done.not_private else ""
        facts.append(
            Fact(
                f"delta of all {done.composed.changed} cells that one record changes",
                delta_number(done.composed.delta),
                mark or f"{_kind(done.composed)}, at epsilon {given(done.composed.epsilon)}",
            )
        )
        facts.append(Fact("delta of one cell", delta, mark))
    return Answer(
        "A hypercube with cell keys",
        record,
        tuple(_body(done, delta)),
        tuple(facts),
        tuple(cautions),
        command="discreet cellkey run",
        summary=f"{done.margins} margins, {done.rows} rows in {done.out}; {_claim(done)}",
    )


def _kind(composed: ComposedCells) -> str:
    return "exact" if composed.is_exact else "at most"


def _changed(done: Perturbed) -> str:
    """Say in how many cells neighbours differ: a record that is replaced leaves some and joins others."""
    if done.neighbours == "bounded":
        return f"One record leaves up to {done.margins} cells and another joins as many"
    return f"One record is in {done.margins} cell{'s' * (done.margins != 1)}"


def _claim(done: Perturbed) -> str:
    if done.not_private:
        return f"{NOT_PRIVATE}, seed {done.rehearsal}"
    return "no cost is stated" if done.delta_of_one_cell is None else f"one record is in {done.margins} cells"


def _body(done: Perturbed, delta: Claimed | None) -> Iterator[Part]:
    if done.not_private:
        yield (
            f"{NOT_PRIVATE}: a rehearsal with seed {done.rehearsal}. Its keys can be repeated and protect "
            "nobody; nothing was spent, and nothing of it may be published."
        )
    yield sentence(
        "{margins} margins of {attributes} attributes, {cells} cells: {rows} rows in {out}.",
        margins=count_quantity(done.margins),
        attributes=count_quantity(len(done.attributes)),
        cells=count_quantity(done.cells),
        rows=count_quantity(done.rows),
        out=str(done.out),
    )
    if not done.zeros:
        yield Paragraph("A cell that is not listed is published as 0; it need not be empty.")
    if delta is not None:
        yield Paragraph(
            sentence(
                "One cell alone: epsilon {epsilon}, delta {delta}, one record more or less; {who}. "
                "{changed}, with independent noises, whose costs compose.",
                epsilon=Quantity(done.epsilon_of_one_cell, Style.GIVEN),
                delta=delta.claimed,
                who=relation(done.neighbours, done.unit),
                changed=_changed(done),
            )
        )
    if done.composed is not None:
        yield Paragraph(
            sentence(
                "All {changed} cells that one record can change, together: delta {kind}{delta} at epsilon "
                "{epsilon}, and {certain} however large epsilon is.",
                changed=count_quantity(done.composed.changed),
                kind="" if done.composed.is_exact else "at most ",
                delta=delta_number(done.composed.delta),
                epsilon=given(done.composed.epsilon),
                certain=delta_number(done.composed.certain),
            )
        )
    if done.secret is not None:
        new = "A new secret" if done.new_secret else "The secret"
        yield Paragraph(
            f"{new}: {done.secret}. Whoever has it can take the noise away. With it and the same "
            "table, equal cells of these records have equal noise in later runs; it refuses other records."
        )
    yield Paragraph(f"Files: {', '.join(done.files)}.")
    if delta is not None:
        yield from ledger_note(done.ledger, "records", counted=not done.not_private, repeated=_REPEATED)
