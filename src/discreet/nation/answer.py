"""A synthetic nation with households, in words."""

from __future__ import annotations

from discreet.answers.answer import Answer, Caution, Fact, Paragraph, sentence
from discreet.answers.describing import describes
from discreet.answers.quantity import Quantity, Style, count_quantity
from discreet.files import json_fields
from discreet.nation.synthesis import SyntheticNation


@describes(SyntheticNation)
def synthetic_nation_answer(made: SyntheticNation) -> Answer:
    """Say how large an invented nation with households is, and where its files are."""
    people = count_quantity(made.people)
    households = count_quantity(made.households)
    summary = sentence(
        "An invented nation with {people} people (seed {seed}): {households} households, {inside} people in "
        "{quarters} group quarters, {vacant} vacant units.",
        people=people,
        seed=str(made.seed),
        households=households,
        inside=count_quantity(made.in_quarters),
        quarters=count_quantity(made.quarters),
        vacant=count_quantity(made.vacant),
    )
    areas = sentence(
        "{states} states, {counties} counties, {tracts} tracts, {blocks} blocks, {places} places, {areas} "
        "AIANNH areas; {codes} codes of races and origins.",
        states=count_quantity(made.states),
        counties=count_quantity(made.counties),
        tracts=count_quantity(made.tracts),
        blocks=count_quantity(made.blocks),
        places=count_quantity(made.places),
        areas=count_quantity(made.areas),
        codes=count_quantity(made.codes),
    )
    size = Quantity(made.bytes, Style.BYTES)
    where = sentence(
        "In {out}, {size}: data and params for `safetab`, phsafe for PHSafe's tables, records for `measure`.",
        out=str(made.out),
        size=size,
    )
    return Answer(
        "An invented nation with households",
        json_fields(made, areas="aiannh_areas"),
        (summary, Paragraph(areas), Paragraph(where)),
        (Fact("people", people, "invented"), Fact("households", households), Fact("size", size)),
        (Caution("Everybody in it is invented: nothing counted from it says anything about real people."),),
        command=f"discreet synth {made.out} --people {made.people} --seed {made.seed}",
        summary=summary,
    )
