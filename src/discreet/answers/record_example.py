"""One person's release and all decisions, as the paper's Tables 6 to 8 and Figure 4 show them."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.answers.answer import AnswerTable, Column, Part, Sentence, Words, sentence
from discreet.answers.figure import Axis, Cells, Panel, Picture
from discreet.answers.quantity import Quantity, Style, count_quantity
from discreet.budget.level_names import level_name
from discreet.disclosure.record_example import DecisionMap, ExamplePerson
from discreet.disclosure.records import RecordsRisk

MOST_CELLS = 12
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


def examples_table(found: RecordsRisk) -> AnswerTable:
    """Return one person for each prior: the counts, those drawn, and what they tell."""
    rows = [
        (
            one.prior,
            one.record,
            *one.areas,
            one.siblings,
            *one.counts,
            *one.noisy,
            one.alone,
            one.posterior,
            one.above,
            [[count, chance] for count, chance in one.group],
            [[cell, count] for cell, count in one.cells],
        )
        for one in found.examples
    ]
    return AnswerTable(_EXAMPLE, tuple(rows))


def decisions_table(found: RecordsRisk) -> AnswerTable:
    """Return from which noisy count of the lowest area on "present" is said, for every release around it."""
    rows = [
        (one.prior, one.siblings, above, beside, one.thresholds[i, j], one.alone)
        for one in found.decisions
        for i, above in enumerate(one.group.tolist())
        for j, beside in enumerate(one.others.tolist())
    ]
    return AnswerTable(_DECISIONS, tuple((*row[:4], int(row[4]), row[5]) for row in rows))


def decisions_picture(found: RecordsRisk) -> Picture:
    """Return all decisions as a map, one panel for each prior."""
    lowest = level_name(found.levels[-1])
    panels = []
    for one in found.decisions[:4]:
        far = max(abs(int(one.thresholds.min()) - one.alone), abs(int(one.thresholds.max()) - one.alone), 1)
        ends = (float(one.alone - far), float(one.alone + far))
        cells = Cells(
            tuple(tuple(map(float, row)) for row in one.thresholds.T.tolist()),
            (),
            ends,
            (float(one.group[0]), float(one.others[0])),
        )
        x = Axis("noisy count above, less known", is_whole=True)
        y = Axis(f"noisy sum of {count_quantity(one.siblings)} siblings", is_whole=True)
        panels.append(Panel(x, y, (cells,), f"prior {one.prior}; alone: from {one.alone}"))
    return Picture(
        tuple(panels),
        f"As Figure 4: the {lowest} count, less known, from which “present” is said – CONFIDENTIAL",
        across=min(2, len(panels)),
        size=(4.6 * min(2, len(panels)), 3.8 * ((len(panels) + 1) // 2)),
    )


def example_parts(found: RecordsRisk) -> Iterator[Part]:
    """Say what the release tells about one person, and how often the hierarchy changes a decision."""
    for one in found.examples[:1]:
        yield ""
        yield from _person(one)
    for map_ in found.decisions[:1]:
        yield ""
        yield _changes(map_)


def _person(one: ExamplePerson) -> Iterator[Part]:
    here, above = map(level_name, one.levels)
    yield sentence(
        "One person (record {record}, prior {prior}), as Tables 3 and 6 to 8 of Kazan and Reiter:",
        record=count_quantity(one.record),
        prior=one.prior,
    )
    yield AnswerTable(
        (Column(f"cell in {here} {one.areas[0]}, theirs first", is_text=True), Column("people")),
        tuple((cell, count_quantity(count)) for cell, count in one.cells[:MOST_CELLS]),
    )
    if len(one.cells) > MOST_CELLS:
        yield f"and {count_quantity(len(one.cells) - MOST_CELLS)} more cells with people in them."
    columns = (
        Column("count", "what", is_text=True),
        Column(f"{here} {one.areas[0]}"),
        Column(f"{above} {one.areas[1]}"),
        Column(f"its {count_quantity(one.siblings)} other parts"),
    )
    rows = (("true", *map(count_quantity, one.counts)), ("drawn", *map(count_quantity, one.noisy)))
    yield AnswerTable(columns, rows)
    text = "The chance that they are counted here: {alone} from the {here} count, {both} with the hierarchy"
    told: dict[str, Words] = {
        "alone": Quantity(one.alone, Style.CHANCE),
        "both": Quantity(one.posterior, Style.CHANCE),
    }
    if one.above is not None:
        text += ", {above} with all levels above"
        told["above"] = Quantity(one.above, Style.CHANCE)
    yield sentence(f"{text}.", here=here, **told)
    shown = sorted(one.group, key=lambda pair: -pair[1])[:8]
    yield AnswerTable(
        (Column(f"count of {above} {one.areas[1]}"), Column("posterior")),
        tuple((count_quantity(count), Quantity(share, Style.CHANCE)) for count, share in sorted(shown)),
    )


def _changes(one: DecisionMap) -> Sentence:
    return sentence(
        "Of all releases of someone unique in both areas ({siblings} siblings, prior {prior}) the hierarchy "
        "turns the decision to “present” in {yes}, and to “absent” in {no}, as Figure 4 shows; the picture "
        "has {inside} of them.",
        siblings=count_quantity(one.siblings),
        prior=one.prior,
        yes=_share(one.to_yes),
        no=_share(one.to_no),
        inside=Quantity(one.inside, Style.PERCENT, digits=1),
    )


def _share(share: float) -> Quantity | str:
    return Quantity(share, Style.PERCENT, digits=2) if share >= 1e-4 else "fewer than 0.01 %"
