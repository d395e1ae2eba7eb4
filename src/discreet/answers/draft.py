"""What a first draft tells: what is promised, how accurate estimates will be, and what to run next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

from discreet.answers.accuracy import accuracy_answer
from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Bullets,
    Column,
    Fact,
    Heading,
    Paragraph,
    Part,
    Verbatim,
    sentence,
)
from discreet.answers.describing import describes
from discreet.answers.quantity import Quantity, Rounding, Style, count_quantity
from discreet.answers.release import relation, release_answer
from discreet.measurement.drafting import Draft
from discreet.measurement.rehearsing import Rehearsed
from discreet.rehearsal import NOT_PRIVATE

_COUNTS = (
    Column("area", "unit", is_text=True),
    Column("table", "query", is_text=True),
    Column("cell", "cell", is_text=True),
    Column("invented people", "invented"),
    Column("with noise", "noisy"),
    Column("estimate", "estimate"),
    Column("95 % from", "lower"),
    Column("to", "upper"),
)


def _bound(value: Fraction) -> Quantity:
    return Quantity(value, Style.GIVEN, Rounding.UP)


@describes(Draft)
def draft_answer(draft: Draft, *, out: Path = Path(), written: Sequence[str] = ()) -> Answer:
    """Say what a draft promises, how accurate its estimates will be, what is open, and the next commands."""
    release, promise = draft.release, draft.plan
    epsilon, delta = _bound(promise.epsilon), _bound(promise.delta)
    accuracy = accuracy_answer(promise.after).tables["accuracy"]
    steps = next_commands(draft, out)
    record = {
        "release": release.name,
        "epsilon": epsilon,
        "delta": delta,
        "levels": [{"name": level, "areas": many} for level, many in draft.sizes],
        "areas_of_the_file": draft.are_of_the_file,
        "left_out": draft.left_out,
        "accuracy": accuracy,
        "out": str(out),
        "files": written,
        "next": steps,
        "scope": draft.scope.document(),
    }
    return Answer(
        f"{release.name}: a first draft",
        record,
        tuple(_body(draft, epsilon, delta, accuracy, written, steps)),
        (Fact("epsilon", epsilon, sentence("at delta {delta}", delta=delta)),),
        tables={"accuracy": accuracy},
        command="discreet init",
        summary=sentence(
            "{name}: a draft that keeps epsilon {epsilon} at delta {delta}",
            name=release.name,
            epsilon=epsilon,
            delta=delta,
        ),
    )


def next_commands(draft: Draft, out: Path) -> list[str]:
    """Return the three commands that follow a draft in a directory."""
    release, rehearsed = shlex.quote(str(out / "release.toml")), shlex.quote(str(out / "rehearsed"))
    areas = shlex.quote(draft.areas_file or str(out / "areas.csv"))
    estimates = shlex.quote(str(out / "estimates"))
    records = shlex.quote(draft.records)
    person = "" if draft.id is None else f" --id {shlex.quote(draft.id)}"
    return [
        f"discreet account {release} --delta {_bound(draft.plan.delta)}",
        f"discreet measure {release} --records {records} --units {areas}{person} --out {rehearsed} "
        "--rehearsal 1",
        f"discreet estimate {rehearsed} --out {estimates}",
    ]


def _body(
    draft: Draft,
    epsilon: Quantity,
    delta: Quantity,
    accuracy: AnswerTable,
    written: Sequence[str],
    steps: Sequence[str],
) -> Iterator[Part]:
    proved = " (not proved)" if draft.plan.proof is None else " (proved)"
    yield sentence(
        "{name}: a draft that keeps epsilon {epsilon} at delta {delta}{proved}, for {relation}.",
        name=draft.release.name,
        epsilon=epsilon,
        delta=delta,
        proved=proved,
        relation=relation(draft.release.neighbours, draft.release.unit),
    )
    yield Paragraph("What the best estimates will be like, on average over areas of a level:")
    yield accuracy
    yield ""
    if notes := tuple(_notes(draft)):
        yield Bullets(notes)
    if written:
        yield Paragraph(f"Files: {', '.join(written)}.")
    yield Heading("Next")
    yield Verbatim("\n".join(steps))


def _notes(draft: Draft) -> Iterator[str]:
    """Say what is open, or left out."""
    if draft.are_of_the_file and len(draft.areas) > 1:
        yield (
            "areas.csv has the areas of the file alone, so it tells that somebody was counted in each. Add "
            "those in which nobody was before you publish."
        )
    if (coded := _encoding(draft)) and draft.are_of_the_file:
        yield f"The file is read as {coded}. If letters in areas.csv look wrong, name another (--encoding)."
    if draft.plan.dropped:
        dropped = ", ".join(f"{query} ({level})" for level, query in draft.plan.dropped)
        yield f"Not measured, because other tables tell it as well: {dropped}. It is estimated from them."
    if draft.public_totals:
        yield (
            f"Not measured, because the number of records is known: the total of "
            f"{', '.join(draft.public_totals)}, which has one area. --table total, beside the other tables, "
            "measures it all the same."
        )
    if draft.id is None:
        yield "Each line is one person. If a column identifies people, --id checks that nobody has two."
    if draft.left_out:
        yield f"Records without a value of {', '.join(draft.left_out)} are left out, if there are any."
    if draft.scope.left_out:
        yield f"Not looked at: {', '.join(draft.scope.left_out)}."


def _encoding(draft: Draft) -> str:
    """Return the encoding that had to be guessed, or stated; nothing if the file shows it itself."""
    assert draft.release.input is not None
    name = draft.release.input.encoding
    return "" if name.startswith("utf") else name


@describes(Rehearsed)
def rehearsed_answer(found: Rehearsed) -> Answer:
    """Show what would be published of invented people, beside the truth."""
    rows = tuple(
        (
            count.unit,
            count.query,
            count.cell,
            count_quantity(count.invented),
            count_quantity(round(count.noisy)),
            Quantity(count.estimate, Style.PLACES, digits=1),
            Quantity(count.lower, Style.BRIEF),
            Quantity(count.upper, Style.BRIEF),
        )
        for count in found.counts
    )
    table = AnswerTable(_COUNTS, rows)
    people = count_quantity(found.people)
    return Answer(
        "One area of each level, rehearsed",
        {"people": people, "held": found.held, "intervals": found.every, "counts": table},
        (
            Paragraph(
                sentence(
                    "{mark}. {people} people were invented, spread evenly over areas and values; nobody "
                    "of the file is here. A real run draws its noise from the system, and nobody "
                    "would see the truth.",
                    mark=found.mark,
                    people=people,
                ),
                role="warning",
            ),
            sentence(
                "{held} of {every} intervals, of all areas, hold the invented truth; about 95 % should.",
                held=count_quantity(found.held),
                every=count_quantity(found.every),
            ),
            table,
        ),
        (Fact("invented people", people, NOT_PRIVATE),),
        tables={"counts": table},
        summary=sentence("{people} invented people, rehearsed: {mark}", people=people, mark=found.mark),
    )


def rehearsal_sections(found: Rehearsed, *, out: Path = Path()) -> dict[str, Answer]:
    """Return the sections of the page of a rehearsal, by their anchors."""
    return {
        "draft": draft_answer(found.draft, out=out),
        "rehearsal": rehearsed_answer(found),
        "release": release_answer(found.draft.release),
    }
