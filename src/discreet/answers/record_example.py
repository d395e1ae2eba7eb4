"""One person's release and all decisions, as the paper's Tables 6 to 8 and Figure 4 show them."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.answers.answer import AnswerTable, Column, Part, Sentence, Words, sentence
from discreet.answers.figure import Axis, Cells, Panel, Picture
from discreet.answers.quantity import Quantity, Style, count_quantity
from discreet.budget.level_names import level_name
from discreet.disclosure.record_example import DecisionMap, ExamplePerson
from discreet.disclosure.records import RecordsRisk

_MOST_CELLS = 12
"""Cells of the area that are listed for people; the files have all."""

_EXAMPLE = tuple(
    Column(key=key)
    for key in (
        "prior",
        "record",
        "area",
        "area_above",
        "siblings",
        "count",
        "count_above",
        "count_beside",
        "noisy",
        "noisy_above",
        "noisy_beside",
        "posterior_alone",
        "posterior_with_the_hierarchy",
        "posterior_with_all_levels_above",
        "posterior_of_count_above",
        "cells",
    )
)
_DECISIONS = tuple(
    Column(key=key)
    for key in ("prior", "siblings", "above_less_known", "beside", "present_from", "present_from_alone")
)


def examples_table(records_risk: RecordsRisk) -> AnswerTable:
    """Return one person for each prior: the counts, those drawn, and what they tell."""
    rows = [
        (
            example.prior,
            example.record,
            *example.areas,
            example.siblings,
            *example.counts,
            *example.noisy,
            example.alone,
            example.posterior,
            example.above,
            [[count, chance] for count, chance in example.group],
            [[cell, count] for cell, count in example.cells],
        )
        for example in records_risk.examples
    ]
    return AnswerTable(_EXAMPLE, tuple(rows))


def decisions_table(records_risk: RecordsRisk) -> AnswerTable:
    """Return from which noisy count of the lowest area on "present" is said, for every release around it."""
    rows = [
        (decision.prior, decision.siblings, above, beside, decision.thresholds[i, j], decision.alone)
        for decision in records_risk.decisions
        for i, above in enumerate(decision.group.tolist())
        for j, beside in enumerate(decision.others.tolist())
    ]
    return AnswerTable(_DECISIONS, tuple((*row[:4], int(row[4]), row[5]) for row in rows))


def decisions_picture(records_risk: RecordsRisk) -> Picture:
    """Return all decisions as a map, one panel for each prior."""
    lowest = level_name(records_risk.levels[-1])
    panels = []
    for decision in records_risk.decisions[:4]:
        far = max(
            abs(int(decision.thresholds.min()) - decision.alone),
            abs(int(decision.thresholds.max()) - decision.alone),
            1,
        )
        ends = (float(decision.alone - far), float(decision.alone + far))
        cells = Cells(
            tuple(tuple(map(float, row)) for row in decision.thresholds.T.tolist()),
            (),
            ends,
            (float(decision.group[0]), float(decision.others[0])),
        )
        x = Axis("noisy count above, less known", is_whole=True)
        y = Axis(f"noisy sum of {count_quantity(decision.siblings)} siblings", is_whole=True)
        panels.append(Panel(x, y, (cells,), f"prior {decision.prior}; alone: from {decision.alone}"))
    return Picture(
        tuple(panels),
        f"As Figure 4: the {lowest} count, less known, from which “present” is said – CONFIDENTIAL",
        across=min(2, len(panels)),
        size=(4.6 * min(2, len(panels)), 3.8 * ((len(panels) + 1) // 2)),
    )


def example_parts(records_risk: RecordsRisk) -> Iterator[Part]:
    """Say what the release tells about one person, and how often the hierarchy changes a decision."""
    for example in records_risk.examples[:1]:
        yield ""
        yield from _person(example)
    for map_ in records_risk.decisions[:1]:
        yield ""
        yield _changes(map_)


def _person(example_person: ExamplePerson) -> Iterator[Part]:
    here, above = map(level_name, example_person.levels)
    yield sentence(
        "One person (record {record}, prior {prior}), as Tables 3 and 6 to 8 of Kazan and Reiter:",
        record=count_quantity(example_person.record),
        prior=example_person.prior,
    )
    yield AnswerTable(
        (Column(f"cell in {here} {example_person.areas[0]}, theirs first", is_text=True), Column("people")),
        tuple((cell, count_quantity(count)) for cell, count in example_person.cells[:_MOST_CELLS]),
    )
    if len(example_person.cells) > _MOST_CELLS:
        yield f"and {count_quantity(len(example_person.cells) - _MOST_CELLS)} more cells with people in them."
    columns = (
        Column("count", "what", is_text=True),
        Column(f"{here} {example_person.areas[0]}"),
        Column(f"{above} {example_person.areas[1]}"),
        Column(f"its {count_quantity(example_person.siblings)} other parts"),
    )
    rows = (
        ("true", *map(count_quantity, example_person.counts)),
        ("drawn", *map(count_quantity, example_person.noisy)),
    )
    yield AnswerTable(columns, rows)
    text = "The chance that they are counted here: {alone} from the {here} count, {both} with the hierarchy"
    told: dict[str, Words] = {
        "alone": Quantity(example_person.alone, Style.CHANCE),
        "both": Quantity(example_person.posterior, Style.CHANCE),
    }
    if example_person.above is not None:
        text += ", {above} with all levels above"
        told["above"] = Quantity(example_person.above, Style.CHANCE)
    yield sentence(f"{text}.", here=here, **told)
    shown = sorted(example_person.group, key=lambda pair: -pair[1])[:8]
    yield AnswerTable(
        (Column(f"count of {above} {example_person.areas[1]}"), Column("posterior")),
        tuple((count_quantity(count), Quantity(share, Style.CHANCE)) for count, share in sorted(shown)),
    )


def _changes(decision_map: DecisionMap) -> Sentence:
    return sentence(
        "Of all releases of someone unique in both areas ({siblings} siblings, prior {prior}) the hierarchy "
        "turns the decision to “present” in {yes}, and to “absent” in {no}, as Figure 4 shows; the picture "
        "has {inside} of them.",
        siblings=count_quantity(decision_map.siblings),
        prior=decision_map.prior,
        yes=_share(decision_map.to_yes),
        no=_share(decision_map.to_no),
        inside=Quantity(decision_map.inside, Style.PERCENT, digits=1),
    )


def _share(share: float) -> Quantity | str:
    return Quantity(share, Style.PERCENT, digits=2) if share >= 1e-4 else "fewer than 0.01 %"
