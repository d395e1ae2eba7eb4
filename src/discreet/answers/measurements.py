"""What was counted, measured and estimated, in words: the files that were written, and what was spent."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from functools import partial

from discreet.answers.answer import Answer, Fact, Heading, Paragraph, Part, Verbatim, sentence
from discreet.answers.describing import describes
from discreet.answers.figure import Drawable
from discreet.answers.fit import fit_caution, fit_sentence, residual_table
from discreet.answers.ledger import ledger_note
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Style, count_quantity
from discreet.answers.release import relation
from discreet.answers.sums import clipped_records, clipped_sentences
from discreet.answers.table_errors import error_cells, error_picture, error_said
from discreet.budget.level_names import level_name
from discreet.estimation.estimating import Estimated
from discreet.estimation.output.clipping import Clipped
from discreet.estimation.output.fit_report import fit_record, fit_warnings
from discreet.estimation.whole.replicates import TableErrors
from discreet.files import json_fields
from discreet.ledger.entry import several
from discreet.measurement.measuring import Measured
from discreet.measurement.tabulating import Tabulated
from discreet.numbers import brief, fraction
from discreet.rehearsal import NOT_PRIVATE

_ESTIMATES = {
    "none": "No estimates were asked for; measurements are unbiased and may be negative.",
    "nonnegative": "The estimates are the measurements, with negative values set to zero.",
    "consistent": "The estimates are unbiased, with intervals. The column table has whole numbers, none "
    "negative, that add up over areas{queries}.",
    "tables": "The estimates are unbiased, with intervals. The column table has whole numbers, none "
    "negative, that add up over areas and queries. The files histogram (every cell that is not zero, in "
    "every area) and microdata (one row a person, none of them anybody's record) have the same numbers.",
}


def counted(number: int, what: str) -> str:
    """Write how many there are of something.

    >>> counted(1, "cell"), counted(1200, "area")
    ('1 cell', '1,200 areas')
    """
    return f"{count_quantity(number)} {what}{'s' * (number != 1)}"


def _files(names: tuple[str, ...]) -> Paragraph:
    return Paragraph(f"Files: {', '.join(names)}.")


def _clipped_record(record: dict[str, object], clipped: Sequence[Clipped]) -> dict[str, object]:
    """Return what clipping took away, for machines; a release without sums has no such key."""
    del record["clipped"]
    return {"clipped": clipped_records(clipped)} if clipped else {}


def _error_record(record: dict[str, object], errors: TableErrors | None) -> dict[str, object]:
    """Return the errors of whole numbers, for machines; estimates without whole numbers have no such key."""
    del record["table_errors"]
    return {} if errors is None else {"table_errors": error_cells(errors.errors)}


def _error_figures(errors: TableErrors | None) -> dict[str, Drawable]:
    return {} if errors is None else {"table_errors": partial(error_picture, errors.errors)}


# -- exact counts --------------------------------------------------------------------------------------------


@describes(Tabulated)
def tabulated_answer(done: Tabulated, *, target: str = "RELEASE.toml") -> Answer:
    """Say what a tabulation of a release, the `target`, wrote, that it is confidential, and what is next."""
    facts = (
        Fact("exact counts", count_quantity(done.cells), "confidential"),
        Fact("areas", count_quantity(done.units)),
    )
    return Answer(
        "Exact counts",
        json_fields(done),
        tuple(_tabulated_body(done, target)),
        facts,
        command="discreet tabulate",
        summary=f"{done.cells} exact counts of {done.units} areas in {done.out}: confidential",
    )


def _tabulated_body(done: Tabulated, target: str) -> Iterator[Part]:
    yield sentence(
        "CONFIDENTIAL: {cells} of {units}, in {out}. No noise.",
        cells=counted(done.cells, "exact count"),
        units=counted(done.units, "area"),
        out=str(done.out),
    )
    if done.at_most > 1:
        yield Paragraph(
            f"A person may have {done.at_most} records: `measure` spends what `account --people "
            f"{done.at_most}` says. The column at_most of the counts says so, and must stay with them."
        )
    if done.ledger:
        yield Paragraph(f"The ledger {done.ledger} remembers that by their content. Nothing was spent.")
    if done.left_out:
        yield sentence(
            "{left_out} of {records} records were left out, chosen at random.",
            left_out=count_quantity(done.left_out),
            records=count_quantity(done.records),
        )
    if done.incomplete:
        yield sentence(
            "{incomplete} of {records} records were left out because a value is missing, as [input] says.",
            incomplete=count_quantity(done.incomplete),
            records=count_quantity(done.records),
        )
    yield _files(done.files)
    yield Heading("Next, a rehearsal")
    counts, units, *_ = (done.out / name for name in done.files)
    rehearsed = done.out.with_name(f"{done.out.name}-rehearsed")
    words = ["measure", target, "--counts", counts, "--units", units, "--out", rehearsed, "--rehearsal", 1]
    yield Verbatim(shlex.join(["discreet", *map(str, words)]))


# -- counts with noise ---------------------------------------------------------------------------------------


@describes(Measured)
def measured_answer(done: Measured) -> Answer:
    """Say what a run wrote, and what it spent."""
    rho = Quantity(done.rho, Style.FRACTION)
    record = {**json_fields(done, name="release"), "rho": rho, "exact": done.exact}
    record |= _clipped_record(record, done.clipped)
    record |= _error_record(record, done.table_errors)
    if not done.left_out:
        del record["left_out"]
    spent = "" if done.rehearsal is None else NOT_PRIVATE
    facts = (Fact("rho spent", rho, spent), Fact("cells", count_quantity(done.cells)))
    return Answer(
        done.name,
        record,
        tuple(_measured_body(done, rho)),
        facts,
        command="discreet measure",
        summary=_measured_summary(done),
        figures=_error_figures(done.table_errors),
    )


def _measured_summary(done: Measured) -> str:
    cost = f"rho {done.rho}" if done.rehearsal is None else f"{NOT_PRIVATE}, seed {done.rehearsal}"
    cost += f", {several(done.unit, done.at_most)}" if done.at_most > 1 else ""
    cells, areas = counted(done.cells, "noisy cell"), counted(done.units, "area")
    return (
        f"{done.name}: {cells} of {areas} in {done.out}, {cost}\n"
        f"  {', '.join(done.files)}\n  {f'ledger {done.ledger}' if done.ledger else 'no ledger'}"
    )


def _measured_body(done: Measured, rho: Quantity) -> Iterator[Part]:
    if done.rehearsal is not None:
        yield (
            f"{NOT_PRIVATE}: a rehearsal with seed {done.rehearsal}. Its noise can be repeated and protects "
            "nobody; nothing was spent, and nothing of it may be published."
        )
    what = f"{counted(done.cells, 'cell')} of {counted(done.units, 'area')}"
    yield f"{done.name}: {what} measured, in {done.out}."
    if done.rehearsal is None:
        who = relation(done.neighbours, done.unit)
        who += f", {several(done.unit, done.at_most)}" if done.at_most > 1 else ""
        yield Paragraph(sentence("Spent: rho {rho}; {who}.", rho=rho, who=who))
    if done.exact:
        pairs = ", ".join(f"{query} of {level_name(level)}" for level, query in done.exact)
        yield Paragraph(f"Published without noise, outside the guarantee: {pairs}.")
    if done.left_out:
        yield Paragraph(
            f"Records without a value of {' or '.join(done.left_out)} were left out, if there are any, as "
            "[input] says. How many is confidential: `discreet check-records` counts them."
        )
    kind = "whole numbers of units" if done.clipped else "whole numbers"
    queries = " and queries" if done.together else ", each query by itself: the release states no attributes"
    yield _ESTIMATES[done.post].replace("whole numbers", kind).replace("{queries}", queries)
    if done.table_errors is not None:
        yield from error_said(done.table_errors)
    yield from map(Paragraph, clipped_sentences(done.clipped))
    yield _files(done.files)
    yield from ledger_note(done.ledger, "input", counted=done.rehearsal is None)


# -- estimates from noisy measurements -----------------------------------------------------------------------


@describes(Estimated)
def estimated_answer(done: Estimated) -> Answer:
    """Say what a run of `estimate` wrote, and what kind of estimates they are."""
    what = "estimates" if done.fit is not None else "whole numbers"
    facts = (Fact(what, count_quantity(done.cells)), Fact("areas", count_quantity(done.units)))
    caution = None if done.fit is None else fit_caution(done.fit, numbered=done.numbered)
    lost = f", {done.undetermined} of them not determined" if done.undetermined else ""
    record = json_fields(done, undetermined="not_determined")
    record.pop("held")
    record.pop("people")
    del record["scope"]
    record["cells"] = _estimates_of(done)
    many = done.cells - done.undetermined if done.levels else 0
    record["coverage"] = {"of": "each number by itself", "numbers": many, "levels": record.pop("levels")}
    if done.people.rows:
        record["rows"] = {**done.people.rows, "held": done.people.held}
    record |= _clipped_record(record, done.clipped)
    if done.fit is None:
        del record["fit"]
    else:
        record["fit"] = fit_record(done.fit, numbered=done.numbered)
    record |= _error_record(record, done.table_errors)
    where = f"in {_place(done)}: {', '.join(done.files)}"
    return Answer(
        "Estimates" if done.fit is not None else "Whole numbers",
        record,
        tuple(_estimated_body(done)),
        facts,
        () if caution is None else (caution,),
        command="discreet estimate",
        summary=f"{done.cells} {what} of {done.units} areas{lost}, {where}"
        + "".join(f"\n  WARNING: {text}" for text in (fit_warnings(done.fit) if done.fit else ())),
        figures=_error_figures(done.table_errors),
    )


def _estimates_of(done: Estimated) -> Claimed:
    """How many estimates there are, and of what."""
    return Claimed(value=done.cells, style=Style.COUNT, kind=NumberKind.EXACT, scope=done.scope)


def _place(done: Estimated) -> str:
    return "memory" if done.out is None else str(done.out)


def _assumption(done: Estimated) -> str:
    """Say what was taken for granted about a table whose noise no release states."""
    laws = " and ".join(
        law.replace("gaussian", "Gaussian").replace("laplace", "Laplace") for law in done.noise
    )
    text = f"No release states the noise: it is taken as {laws}, of the variances given. "
    if done.counts:
        return f"{text}Values are taken as counts, so intervals have whole ends, not below zero."
    return f"{text}Values are not taken as counts: intervals are neither rounded nor cut at zero."


def _estimated_body(done: Estimated) -> Iterator[Part]:
    if any("NOT-PRIVATE" in name for name in done.files):
        yield f"{NOT_PRIVATE}: made from a rehearsal; nothing of it may be published."
    yield sentence(
        "{cells} {what} of {units} areas, in {out}. Nothing was spent.",
        what="estimates" if done.fit is not None else "whole numbers",
        cells=_estimates_of(done),
        units=count_quantity(done.units),
        out=_place(done),
    )
    if done.noise:
        yield Paragraph(_assumption(done))
    if not done.additive:
        yield (
            f"The {done.releases} releases state no attributes, or differ in attributes or areas: each was "
            "estimated by itself, and the means are weighted by inverse variances. They are unbiased, and "
            "NOT ADDITIVE."
        )
    else:
        how, what = "each query by itself, because no attributes are stated", "children"
        if done.together:
            many = f" of {done.releases} releases" if done.releases > 1 else ""
            how, what = f"all queries and levels{many} together", "cells and children"
        if done.fit is not None:
            yield f"Best linear unbiased estimates from {how}; {what} add up."
        else:
            yield (
                f"Whole numbers, not negative, from {how}; {what} add up. Estimates and intervals were not "
                "asked for, nor whether the measurements contradict each other: run without --only-tables, "
                "or ask `discreet accuracy --tables` how large the errors are."
            )
    yield from (Paragraph(f"Not used: {text}.") for text in done.left_out)
    if done.undetermined:
        yield sentence(
            "No measurement determines {many} of them; they are left empty.",
            many=count_quantity(done.undetermined),
        )
    yield from map(Paragraph, clipped_sentences(done.clipped))
    if done.fit is not None:
        yield from intervals_said(
            sampled=done.sampled,
            as_given=bool(done.noise),
            number=done.cells - done.undetermined,
            levels=done.levels,
        )
    if done.draws:
        yield Paragraph(
            f"Draws: {count_quantity(done.draws)} of every estimate. Each is the estimate less an error "
            "drawn anew, with the covariances of all areas and tables."
        )
    yield from _people_said(done)
    if done.table_errors is not None:
        yield from error_said(done.table_errors)
    if done.fit is not None:
        yield fit_sentence(done.fit)
        if done.fit.warning:
            yield residual_table(done.fit, numbered=done.numbered)
    if done.out is None:
        yield Paragraph(f"Tables: {', '.join(done.files)} (to_pandas, to_polars, to_arrow).")
    else:
        yield _files(done.files)


def _people_said(done: Estimated) -> Iterator[Part]:
    """Say what the whole-number tables were written as, for other programs."""
    rows = done.people.rows
    if "histogram" in rows:
        yield sentence(
            "Histogram: {rows}, every cell of every area that is not zero.",
            rows=counted(rows["histogram"], "row"),
        )
    if "microdata" in rows:
        yield sentence(
            "Microdata: {rows}, one for each person in the tables. Counted, they give the column table; none "
            "of them is anybody's record.",
            rows=counted(rows["microdata"], "row"),
        )
    if rows and done.people.held:
        yield sentence(
            "Held: {rows}, sums of cells that are exact or bounded.", rows=counted(done.people.held, "row")
        )
    if rows and done.out is not None:
        yield Paragraph(f"`discreet check-tables {done.out}` reads them back and compares all tables.")


def each_by_itself(number: int, levels: Sequence[str | float], what: str = "interval") -> str:
    """Say that intervals hold one by one, not together; nothing where there is but one.

    >>> each_by_itself(12, ["0.9", "0.95"])
    'Each interval holds 90 % and 95 % of the time by itself; nothing is said of all 12 together.'
    >>> each_by_itself(1, ["0.9"])
    ''
    """
    if number < 2 or not levels:
        return ""
    often = " and ".join(f"{brief(100 * fraction(level, name='level', floats=True))} %" for level in levels)
    return (
        f"Each {what} holds {often} of the time by itself; nothing is said of all {count_quantity(number)} "
        "together."
    )


def intervals_said(
    *,
    sampled: bool,
    as_given: bool = False,
    number: int,
    levels: Sequence[str | float],
    what: str = "interval",
) -> Iterator[Paragraph]:
    """Say what intervals and margins of error allow for, and that they hold one by one; `as_given`: no
    release states the noise."""
    if each := each_by_itself(number, levels, what):
        yield Paragraph(each)
    if as_given and not sampled:
        yield Paragraph("Intervals: of the errors as given, and of nothing else.")
        return
    if not sampled:
        yield Paragraph(
            "Intervals: noise only. They hold the count as it is in the data, not that of a population of "
            "which the data are a sample."
        )
        return
    yield Paragraph(
        "Intervals: noise and sampling. They are about the population, as far as the sampling errors given "
        "are right."
    )
    yield Paragraph(
        "CAUTION: sampling errors computed from confidential records are a release of their own. They must "
        "be public already, or protected and paid for; nothing here does so."
    )
