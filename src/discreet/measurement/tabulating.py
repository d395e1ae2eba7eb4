"""`tabulate`: the exact counts of records, which are confidential, written to a new directory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

from discreet.areas.output import output_format
from discreet.areas.sum_units import Steps, step_column, unit_steps
from discreet.budget.events import release_of
from discreet.faces import Summarised
from discreet.ledger import records_per_person as contents
from discreet.ledger.admission import Request
from discreet.ledger.ledger_file import read_ledger
from discreet.ledger.release_run import ReleaseRun
from discreet.measurement.questions import Tabulating
from discreet.questions import asked_with
from discreet.records.counts import CountTable
from discreet.records.joined_records import count_asked, other_files
from discreet.records.sdhc_columns import check_bureau_names, write_bureau_tables
from discreet.tables import Numbers


@dataclass(frozen=True, slots=True)
class Tabulated(Summarised):
    """What a tabulation wrote: exact counts, which are confidential."""

    out: Path
    units: int
    cells: int
    records: int
    left_out: int
    incomplete: int
    at_most: int
    files: tuple[str, ...]
    ledger: Path | None


@asked_with(Tabulating)
def tabulate(asked: Tabulating) -> Tabulated:
    """Count records for every query at every level and write the exact counts to a new directory.

    `records` is a file (CSV, Parquet) or a pandas, polars or Arrow table, one row a record: `unit`, its
    lowest unit, and one column for each attribute. `units`, a table too, are all of them (unit, level,
    parent); with `geocodes` such as "2,5,11" they are the lowest ones only, and their first letters name
    those above. `id` is a column that identifies people; one may have at most `at_most` records (1), and
    more are refused, or with excess="keep" that many are kept at random. `input` says how the records are
    written (a `TableInput`, or a file of it), if the release does not. The counts are confidential: they are
    what `measure` takes. For a release over people and households, `records` are the people; `households`,
    and `addresses` if the release has them, are the other files, and the areas of public addresses need no
    `units`. With `bureau_columns`, the tables of the Supplemental DHC are also written as the Bureau does.

    If `at_most` is above 1, a column of the counts says so, and the ledger of the population remembers it by
    their content: the one named, that of the environment (DISCREET_LEDGER), of a policy, or
    `discreet-ledger.json` beside the records, with its `key` if it is signed. Nothing is spent. What policies
    forbid is refused.
    """
    release, records, most = release_of(asked.release), asked.records, asked.at_most or 1
    if asked.bureau_columns:
        check_bureau_names(release)
    # nothing is spent; a ledger is needed if it must remember how many records of a person the counts hold
    run = ReleaseRun(
        asked.out,
        reads=(records, *other_files(asked)),
        request=Request(exact_counts=True, entered=most > 1),
        ledger=asked.ledger,
        key=asked.key,
    )
    named = run.ledger
    noting = named is not None and asked.id is not None and (most > 1 or bool(read_ledger(named).remembered))
    if noting:
        run.open()
    table = count_asked(release, asked, ledger=named)
    kind = output_format(asked.format, table.format)
    layout = table.layout
    with run.writing(kind) as folder:
        folder.cells("counts", (layout, partial(_exact_columns, table, most, unit_steps(release))))
        folder.units(layout.tree)
        if asked.bureau_columns:
            write_bureau_tables(folder, layout, table.read)
        folder.json(
            "manifest",
            {
                "format": contents.FORMAT,
                "confidential": "exact counts, without noise: not for publication",
                "version": version("discreet"),
                "release": release.name,
                "at_most": most,
                "incomplete": table.incomplete,
                "units": layout.tree.size,
                "cells": layout.size,
            },
        )
        if named is not None and noting:
            content = contents.make_secret(named).content(layout, table.read)
            run.remember_counts(content, most, release=release.name)
    return Tabulated(
        out=Path(asked.out),
        units=layout.tree.size,
        cells=layout.size,
        records=table.records,
        left_out=table.left_out,
        incomplete=table.incomplete,
        at_most=most,
        files=run.files,
        ledger=named if noting else None,
    )


def _exact_columns(
    table: CountTable, most: int, steps: Steps, units: slice, rows: slice
) -> dict[str, Numbers]:
    """Return the columns of exact counts: the counts, what a unit of them is worth, and how many records of a
    person they may hold."""
    several = {contents.COLUMN: np.full(rows.stop - rows.start, most)} if most > 1 else {}
    return {"count": table.read(units), **step_column(table.layout, steps, units), **several}
