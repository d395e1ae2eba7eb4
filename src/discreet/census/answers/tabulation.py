"""What a tabulation of detailed groups wrote and spent, and what comes before and after it, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from discreet.answers.answer import Answer, AnswerTable, Caution, Column, Fact, Paragraph, Part, sentence
from discreet.answers.describing import describes
from discreet.answers.ledger import ledger_note
from discreet.answers.quantity import Quantity, Rounding, Style, count_quantity
from discreet.census.mechanism.ladder import Ladder
from discreet.census.safetab.census2020 import ParameterFolder
from discreet.census.safetab.run import Reprocessed
from discreet.census.safetab.summary import Summary
from discreet.census.safetab.synthetic import Nation
from discreet.census.safetab.validation import Validation
from discreet.files import json_fields
from discreet.rehearsal import NOT_PRIVATE

PRODUCTS = {"2020": "Detailed DHC-A 2020", "2020-h": "Detailed DHC-B 2020"}
"""What the parameters are of that come with the package."""


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{count_quantity(number)} {name}" for name, number in numbers.items())


# -- before a run ------------------------------------------------------------------------------------------


@describes(ParameterFolder)
def parameters_answer(written: ParameterFolder) -> Answer:
    """Say which codes and groups a new folder of parameters has, and what else a run needs.

    >>> from pathlib import Path
    >>> written = ParameterFolder(Path("params"), "2020", ("safetab.toml",), 1755, 3054)
    >>> print(parameters_answer(written).summary)
    params: 1,755 codes and 3,054 groups of Detailed DHC-A 2020, and its settings in safetab.toml.
    """
    product = PRODUCTS[written.spec]
    folder, codes, groups = str(written.folder), count_quantity(written.codes), count_quantity(written.groups)
    summary = sentence(
        "{folder}: {codes} codes and {groups} groups of {product}, and its settings in safetab.toml.",
        folder=folder,
        codes=codes,
        groups=groups,
        product=product,
    )
    needed = (
        "Still needed for a run: a folder with the blocks (GRF-C) and the person records. "
        f"`discreet safetab synth nation --persons 20000 --params {folder}` invents both, to practise "
        "on, in nation/data."
    )
    if written.spec == "2020-h":
        needed = (
            "Still needed for a run: a folder with the blocks (GRF-C) and the household records, and the t1 "
            "of a published run of SafeTab-P (--totals OUT, or pop-group-totals in that folder)."
        )
    next_step = f"What the settings cost and show: `discreet safetab design {folder}`."
    return Answer(
        f"Parameters of {product}",
        json_fields(written),
        (summary, Paragraph(needed), Paragraph(next_step)),
        (Fact("codes", codes), Fact("groups", groups)),
        command=f"discreet safetab init {folder}",
        summary=summary,
    )


@describes(Nation)
def nation_answer(made: Nation) -> Answer:
    """Say how large an invented nation is, and where it is."""
    people = count_quantity(made.people)
    summary = sentence(
        "An invented nation with {people} people (seed {seed}): {states} states, with Puerto Rico, "
        "{counties} counties, {tracts} tracts, {blocks} blocks, {places} places, {areas} AIANNH areas.",
        people=people,
        seed=str(made.seed),
        states=count_quantity(made.states),
        counties=count_quantity(made.counties),
        tracts=count_quantity(made.tracts),
        blocks=count_quantity(made.blocks),
        places=count_quantity(made.places),
        areas=count_quantity(made.areas),
    )
    groups = sentence(
        "Groups: {codes} codes of {params}.", codes=count_quantity(made.codes), params=str(made.params)
    )
    size = Quantity(made.bytes, Style.BYTES)
    data = sentence("Data: {data}, {size} in all.", data=str(made.data), size=size)
    return Answer(
        "An invented nation",
        json_fields(made, people="persons", areas="aiannh_areas"),
        (summary, Paragraph(groups), Paragraph(data)),
        (Fact("people", people, "invented"), Fact("size", size)),
        command=f"discreet safetab synth {made.out} --persons {made.people} --seed {made.seed}",
        summary=summary,
    )


@describes(Validation)
def validation_answer(validation: Validation) -> Answer:
    """Say whether parameters and records can be used, and every problem if not.

    >>> print(validation_answer(Validation((), (), {"USA": 1, "STATE": 51})).summary)
    The input can be used. Regions: USA 1, STATE 51.
    """
    several = len(validation.problems) > 1
    kinds = f"{len(validation.problems)} kinds of problems" if several else "1 kind of problem"
    regions = ", ".join(f"{name} {number}" for name, number in validation.regions.items())
    verdict = f"The input can be used. Regions: {regions}."
    if not validation.valid:
        verdict = f"The input cannot be used: {kinds}."
    return Answer(
        "Check of parameters and records",
        {"valid": validation.valid, **asdict(validation)},
        (verdict, *(Paragraph(f"- {problem}") for problem in validation.problems)),
        (Fact("kinds of problems", count_quantity(len(validation.problems))),),
        tuple(Caution(f"{note}.") for note in validation.notes),
        command="discreet safetab validate PARAMS DATA",
        summary=verdict,
    )


# -- a run -------------------------------------------------------------------------------------------------


@describes(Summary)
def summary_answer(done: Summary) -> Answer:
    """Say what a run wrote, what was released of each geography and level, and what it spent."""
    published = done.document()
    published.pop("format")
    record = {
        "out": str(done.out),
        "not_private": done.warning is not None,
        "warning": done.warning,
        **published,
        "files": done.files,
        "ledger": {
            "file": None if done.ledger is None else str(done.ledger),
            "entries": [entry.document() for entry in done.entries],
        },
        "seconds": {stage: round(spent, 3) for stage, spent in done.seconds.items()},
    }
    places = {
        ladder.name: _places(done, ladder)
        for ladder in dict.fromkeys(place.mechanism.ladder for place in done.places)
    }
    facts = (
        Fact("rows", count_quantity(sum(done.rows.values())), "" if done.warning is None else NOT_PRIVATE),
        Fact("suppressed groups", count_quantity(done.suppressed)),
        *(Fact(f"{_loss(done)} of the {which} pass", spent) for which, spent in _spent(done).items()),
    )
    return Answer(
        "Tabulated groups",
        record,
        tuple(_summary_body(done, places)),
        facts,
        tables=places,
        command=f"discreet safetab run PARAMS DATA {done.out}",
        summary=_summary_line(done),
    )


def _loss(done: Summary) -> str:
    return "rho" if done.privacy == "zcdp" else "epsilon"


def _spent(done: Summary) -> dict[str, Quantity]:
    """What one of the unit is charged in each pass; nothing if the output is not private."""
    if done.warning is not None:
        return {}
    return {which: Quantity(spent, Style.GIVEN, Rounding.UP) for which, spent in done.budgets.items()}


def _summary_line(done: Summary) -> str:
    rows, suppressed = count_quantity(sum(done.rows.values())), count_quantity(done.suppressed)
    line = f"{rows} rows in {done.out}; groups: {_counts(done.groups)}; suppressed {suppressed}"
    return f"{done.warning}\n{line}" if done.warning else line


def _places(done: Summary, ladder: Ladder) -> AnswerTable:
    """The groups of each geography and level by table; those of one ladder."""
    columns = (
        Column("geography", "geography", is_text=True),
        Column("level", "level"),
        *(Column(name, name) for name in ladder.names),
        *([Column("suppressed", "suppressed")] if ladder.picks else []),
    )
    rows = tuple(
        (
            place.mechanism.geography,
            place.mechanism.level,
            *map(count_quantity, place.tables),
            *([count_quantity(place.suppressed)] if ladder.picks else []),
        )
        for place in done.places
        if place.mechanism.ladder is ladder
    )
    return AnswerTable(columns, rows)


def _summary_body(done: Summary, places: Mapping[str, AnswerTable]) -> Iterator[Part]:
    if done.warning is not None:
        why = _short(done.warning.partition(": ")[2])
        yield Paragraph(f"{NOT_PRIVATE}: {why}. Nothing of it may be published.")
    rows = count_quantity(sum(done.rows.values()))
    yield Paragraph(f"{rows} rows in {done.out}: {_counts(done.rows)}.")
    yield from places.values()
    if done.donated or done.dropped:
        yield sentence(
            "Donated to regions of the same {areas}: {donated} groups. Dropped: {dropped}.",
            areas=done.areas,
            donated=count_quantity(done.donated),
            dropped=count_quantity(done.dropped),
        )
    for which, spent in _spent(done).items():
        yield sentence(
            "Spent on one {unit} of the {which} pass, added or removed: {loss} {spent}.",
            unit=done.unit,
            which=which,
            loss=_loss(done),
            spent=spent,
        )
    if done.totals:
        yield Paragraph(
            f"{' and '.join(done.totals)} picked groups and tables: these totals are published, so that cost "
            f"nothing here. What they cost when they were made is in another account; unless that is of one "
            f"{done.unit} too, the two are stated side by side, never added."
        )
    yield from (Paragraph(f"Note: {note}.") for note in done.notes)
    yield from ledger_note(done.ledger, "records", counted=done.warning is None)


def _short(why: str) -> str:
    """Keep a list of places without noise readable.

    >>> _short("no noise at USA 1, USA 2, STATE 1, STATE 2, COUNTY 1")
    'no noise at USA 1 and 4 more places'
    """
    head, _, places = why.partition("no noise at ")
    names = places.split(", ")
    if not places or len(names) <= 4:
        return why
    return f"{head}no noise at {names[0]} and {len(names) - 1} more places"


# -- after a run -------------------------------------------------------------------------------------------


@describes(Reprocessed)
def reprocessed_answer(done: Reprocessed) -> Answer:
    """Say what a step wrote that was done to an output, and how many groups it gave or dropped."""
    record = {
        "step": done.step,
        "out": str(done.out),
        "not_private": done.marked,
        "options": done.options,
        "rows": done.rows,
        "groups": done.groups,
        done.did: done.changed,
        "files": done.files,
    }
    rows, changed = count_quantity(sum(done.rows.values())), count_quantity(done.changed)
    wrote = sentence("{rows} rows in {out}. Nothing was spent.", rows=rows, out=str(done.out))
    changes = sentence("Groups {did}: {changed}.", did=done.did, changed=changed)
    warning = f"{NOT_PRIVATE}: made from an output that is not; nothing of it may be published."
    files = Paragraph(f"Files: {', '.join(done.files)}.")
    return Answer(
        "Tabulated groups, after one more step",
        record,
        (*([warning] if done.marked else []), wrote, changes, files),
        (Fact("rows", rows), Fact(f"groups {done.did}", changed)),
        command=f"discreet safetab {done.step} OUT --to {done.out}",
        summary=sentence("{wrote} {changes}", wrote=wrote, changes=changes),
    )
