"""What a ledger says: its runs, its totals, what was spent and what is left, and what a check of it found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

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
from discreet.answers.quantity import Claimed, Quantity, Rounding, Style
from discreet.budget.level_names import level_name
from discreet.budget.neighbours import RELATIONS
from discreet.files import FilePath
from discreet.ledger.check import LedgerCheck
from discreet.ledger.composition import Cost, LedgerCosts, named_runs
from discreet.ledger.entry import Entry, several
from discreet.ledger.ledger import Ledger
from discreet.numbers import bound, float_up
from discreet.rehearsal import NOT_PRIVATE

_RUN_COLUMNS = (
    Column("run", "run", is_text=True),
    Column("time", "time", is_text=True),
    Column("release", "release", is_text=True),
    Column("unit", "unit", is_text=True),
    Column("neighbours", "neighbours", is_text=True),
    Column("rho"),
    Column("as a fraction", "rho"),
    Column("output", "output", is_text=True),
)
_TOTAL_COLUMNS = (
    Column("unit", "unit", is_text=True),
    Column("neighbours", "neighbours", is_text=True),
    Column("total rho", "total"),
    Column("spent", "spent"),
    Column("left", "left"),
)


@describes(LedgerCosts)
def ledger_answer(ledger_costs: LedgerCosts, *, file: FilePath = "ledger") -> Answer:
    """Say what the runs of a ledger have spent, in rho and in epsilon, and what is left of its totals.

    >>> from discreet.ledger import Ledger
    >>> from discreet.ledger.composition import ledger_costs
    >>> print(*ledger_answer(ledger_costs(Ledger.new()), file="ledger.json").body)
    ledger.json: 0 runs.
    """
    ledger = ledger_costs.ledger
    record = {
        "ledger": str(file),
        **_record(ledger),
        "costs": [cost_answer(cost).record for cost in ledger_costs.costs],
    }
    runs, totals = _runs(ledger), _totals(ledger)
    facts = tuple(Fact(f"epsilon of one {cost.unit}", _epsilon(cost)) for cost in ledger_costs.costs)
    tables = {"runs": runs, "totals": totals}
    body = tuple(_body(ledger_costs, str(file), runs, totals))
    return Answer(str(file), record, body, facts, (), tables, f"discreet ledger show {file}")


def _epsilon(cost: Cost) -> Claimed:
    if math.isinf(cost.epsilon):
        return Claimed.by(cost.claim, None, missing="none")
    return Claimed.by(cost.claim, cost.epsilon)


def _without_epsilon(cost: Cost) -> Sentence:
    """Say that no epsilon can be stated at a delta, and at which delta one can."""
    text = (
        "No epsilon can be stated for {runs} together at delta {delta}, for one {unit} ({neighbours} "
        "neighbours)"
    )
    enough = bound(cost.failing * Fraction(11, 10), digits=2)
    if cost.failing:
        text += ": they keep their promises but for an event of probability {failing} at most"
        text += ". Ask at a larger delta, such as {enough}" if Fraction(enough) < 1 else ""
    return sentence(
        text + _rest(cost),
        runs="all runs" if not cost.left_out else _several(cost.runs, "run"),
        delta=Quantity(float(cost.delta), Style.BRIEF),
        unit=cost.unit,
        neighbours=cost.neighbours,
        failing=_failing(cost.failing),
        enough=enough,
    )


@describes(Cost)
def cost_answer(cost: Cost) -> Answer:
    """Say what the runs of a ledger cost one record together.

    >>> from discreet.ledger import Ledger, ledger_cost
    >>> print(cost_answer(ledger_cost(Ledger.new(), unit="person", neighbours="bounded")).summary)
    All runs together cost one person (bounded neighbours) epsilon 0 (exact) at delta 1e-10
    """
    epsilon = _epsilon(cost)
    record = {
        "unit": cost.unit,
        "neighbours": cost.neighbours,
        "delta": float(cost.delta),
        "epsilon": epsilon,
        "kind": str(cost.kind),
        "delta_must_exceed": float_up(cost.failing),
        "runs": cost.runs,
        "counted_in_households": cost.by_household,
        "left_out": [{"unit": unit, "runs": many} for unit, many in cost.left_out],
    }
    said = sentence(
        "{runs} together cost one {unit} ({neighbours} neighbours) epsilon {epsilon} at delta {delta}"
        + _rest(cost),
        runs=f"The {_several(cost.runs, 'run')} charged to this unit" if cost.left_out else "All runs",
        unit=cost.unit,
        neighbours=cost.neighbours,
        epsilon=epsilon.claimed,
        delta=Quantity(float(cost.delta), Style.BRIEF),
    )
    if epsilon.value is None:
        said = _without_epsilon(cost)
    return Answer(f"One {cost.unit}", record, (said,), (Fact("epsilon", epsilon),), summary=said)


def _rest(cost: Cost) -> str:
    """Say what a sum holds in another way than its own runs, and which runs it does not hold."""
    text = ""
    if cost.by_household:
        changed = "up to two households" if cost.neighbours == "bounded" else "one household"
        many = _several(cost.by_household, "run")
        text += f"; {many} of these {'is' if cost.by_household == 1 else 'are'} about households and count"
        text += f"{'s' * (cost.by_household == 1)} the people in them, of which one person changes {changed}"
    if cost.left_out:
        text += f"; left out: {named_runs(cost.left_out)}"
    return text


@describes(Ledger)
def ledger_contents(ledger: Ledger) -> Answer:
    """Say what stands in a ledger: its totals, its runs, and what they have spent.

    >>> print(Ledger.new())
    an empty ledger, without totals
    """
    lines = []
    for total in ledger.totals:
        left = f", left {ledger.left(total.unit)}" if total.rho is not None else ""
        lines.append(f"total for one {total}{left}")
    lines += [_entry_line(entry) for entry in ledger.entries]
    for unit in ledger.units:
        spends = (f"{ledger.spent(unit, relation)} {relation}" for relation in RELATIONS)
        lines.append(f"spent on one {unit}: rho {', '.join(spends)}")
    said = lines or ["an empty ledger, without totals"]
    tables = {"runs": _runs(ledger), "totals": _totals(ledger)}
    return Answer("ledger", _record(ledger), tuple(said), tables=tables, summary="\n".join(said))


@describes(Entry)
def entry_answer(entry: Entry) -> Answer:
    """Say what one run released, and what it spent.

    >>> from discreet.budget import load
    >>> print(Entry(release=load("dhc-2022-08-25"), time="2024-05-01T10:00:00Z", command="measure"))
    2024-05-01T10:00:00Z  measure dhc-2022-08-25  rho 73/20
    """
    said = _entry_line(entry)
    return Answer(f"run {entry.id}", _run_record(entry), (said,), summary=said)


def _entry_line(entry: Entry) -> str:
    what = f"rho {entry.rho}" if entry.counted else f"{NOT_PRIVATE}, a rehearsal: not counted"
    if entry.counted and entry.delta:
        what += f" but for an event of probability {_failing(entry.delta)}"
    what += f", {several(entry.release.unit, entry.at_most)}" if entry.at_most > 1 else ""
    pairs = ", ".join(f"{level}: {query}" for level, query in entry.exact)
    kept = f"; exact, outside the guarantee: {pairs}" if pairs else ""
    return f"{entry.time}  {entry.command} {entry.release.name}  {what}{kept}"


def _failing(delta: Fraction) -> Quantity:
    return Quantity(delta, Style.GIVEN, Rounding.UP, digits=4)


def _run_record(entry: Entry) -> dict[str, object]:
    names = ("id", "time", "version", "command", "unit", "neighbours", "rho", "at_most", "rehearsal")
    written = entry.document() | {"at_most": entry.at_most}
    run = {name: written[name] for name in (*names, "exact", "output")}
    run |= {"release": entry.release.name, "files": list(entry.files)}
    run |= {"rho": str(entry.rho), "delta": str(entry.delta)} if entry.delta else {}
    return run if entry.epsilon is None else run | {"epsilon": str(entry.epsilon)}


def _record(ledger: Ledger) -> dict[str, object]:
    """What machines read of a ledger; numbers that count are exact fractions."""
    totals = []
    for total in ledger.totals:
        stated = total.document()
        if total.rho is not None:
            used = ledger.spent(total.unit, total.neighbours)
            stated |= {"spent": str(used), "left": str(total.rho - used)}
        totals.append(stated)
    spent = [
        {"unit": unit, **{relation: str(ledger.spent(unit, relation)) for relation in RELATIONS}}
        for unit in ledger.units
    ]
    head = {"head": ledger.head, "key": ledger.key, "totals": totals, "spent": spent}
    runs = [_run_record(entry) for entry in ledger.entries]
    return {**head, "runs": runs, "counts": ledger.noted_counts}


def _runs(ledger: Ledger) -> AnswerTable:
    rows: list[tuple[Cell, ...]] = []
    for number, entry in enumerate(ledger.entries, start=1):
        release, counts = entry.release, entry.counted
        rho: tuple[Cell, ...] = (f"none: a rehearsal, {NOT_PRIVATE}", "")
        if counts:
            rho = Quantity(float(entry.rho), Style.GIVEN), str(entry.rho)
        names = (release.name, release.unit, release.neighbours)
        rows.append((number, entry.time, *names, *rho, entry.output))
    return AnswerTable(_RUN_COLUMNS, tuple(rows))


def _totals(ledger: Ledger) -> AnswerTable:
    rows, declared = [], set()
    for total in ledger.totals:
        if total.rho is not None:
            used = ledger.spent(total.unit, total.neighbours)
            rows.append((total.unit, total.neighbours, str(total.rho), str(used), str(total.rho - used)))
            declared.add((total.unit, total.neighbours))
    for unit in ledger.units:
        for relation in RELATIONS:
            if (unit, relation) not in declared:
                rows.append((unit, relation, "no total", str(ledger.spent(unit, relation)), ""))
    return AnswerTable(_TOTAL_COLUMNS, tuple(rows))


def _body(ledger_costs: LedgerCosts, file: str, runs: AnswerTable, totals: AnswerTable) -> Iterator[Part]:
    ledger = ledger_costs.ledger
    yield f"{file}: {_several(len(runs.rows), 'run')}."
    if runs.rows:
        yield ""
        yield runs
    if totals.rows:
        yield ""
        yield totals
        yield ""
    for total, cost in ledger_costs.totals:
        yield Paragraph(
            sentence(
                "Total for one {total}; spent so far: {spent}.",
                total=str(total),
                spent="more than any epsilon" if math.isinf(cost.epsilon) else _epsilon(cost).claimed,
            )
        )
    for number, entry in enumerate(ledger.entries, start=1):
        if entry.at_most > 1:
            who = several(entry.release.unit, entry.at_most)
            yield f"Run {number} has {who}, and costs what they cost together."
        if entry.counted and entry.delta:
            chances = (f"{_failing(entry.delta_for(relation))} ({relation})" for relation in RELATIONS)
            yield Paragraph(
                f"Run {number} costs this rho but for an event of probability {', '.join(chances)}, which is "
                "added to delta."
            )
        for level, query in entry.exact:
            what = f"{query} of {level_name(level)}"
            yield f"Run {number} publishes {what} without noise, outside the guarantee."
    for counts in ledger.noted_counts:
        yield Paragraph(
            f"Counts of {counts['release']}, tabulated {counts['time']}, have at most {counts['at_most']} "
            f"records of one person: measuring them costs what {counts['at_most']} people cost."
        )
    yield from (Paragraph(f"{cost_answer(cost).summary}.") for cost in ledger_costs.costs)
    for unit, reason in ledger_costs.failed:
        yield Paragraph(f"The epsilon of one {unit} could not be computed: {reason}")
    if any(entry.counted for entry in ledger.entries):
        yield "Sums of rho are exact but overstate the cost a little; the epsilon is for all runs together."
    if ledger.key:
        yield f"Entries are signed with the key {ledger.key}."


def _several(many: int, what: str) -> str:
    return f"{many} {what}{'s' * (many != 1)}"


# -- a check -------------------------------------------------------------------------------------------------


@describes(LedgerCheck)
def ledger_check_answer(checked: LedgerCheck, *, file: FilePath = "ledger") -> Answer:
    """Say whether a ledger is sound, and list problems and remarks, one a line."""
    runs, verdict = len(checked.ledger.entries), "sound"
    if checked.problems:
        verdict = _several(len(checked.problems), "problem")
    lines = [f"{file}: {verdict}; {_several(runs, 'run')}, {_several(checked.files, 'file')} as recorded"]
    lines += [f"problem: {text}" for text in checked.problems]
    lines += [f"remark: {text}" for text in checked.remarks]
    lines += [f"not seen: {text}" for text in checked.not_seen]
    body = tuple(Paragraph(" ".join(line.split()), wraps=False) for line in lines)
    entries = (
        f"{runs} entr{'y' if runs == 1 else 'ies'}, {checked.files} files with the recorded hash: {verdict}"
    )
    record = {
        "ledger": str(file),
        "sound": checked.sound,
        "runs": runs,
        "files": checked.files,
        "problems": list(checked.problems),
        "remarks": list(checked.remarks),
        "not_seen": list(checked.not_seen),
    }
    summary = "\n".join([entries, *lines[1:]])
    return Answer(str(file), record, body, command=f"discreet ledger check {file}", summary=summary)


# -- words of other answers ----------------------------------------------------------------------------------


_REPEATED = (
    "Whoever repeats this run on the same people spends again, and the noise of repeated runs can be "
    "averaged away."
)


def ledger_note(
    ledger: Path | None, what: str, *, counted: bool, repeated: str = _REPEATED
) -> Iterator[Part]:
    """Say where a run was noted; or that it was not, and what it means to repeat it.

    >>> [part.text for part in ledger_note(Path("ledger.json"), "counts", counted=True)]
    ['Ledger: ledger.json. It holds a hash of the counts: do not publish it.']
    """
    if ledger is not None:
        yield Paragraph(f"Ledger: {ledger}. It holds a hash of the {what}: do not publish it.")
    elif counted:
        yield Paragraph(
            f"No ledger: nothing keeps count of what is spent. {repeated} To make a ledger, run `discreet "
            "ledger new discreet-ledger.json` beside the input."
        )
