"""`measure`: from records or counts to noisy measurements, estimates and a ledger entry.

All or nothing. What is counted is validated first: see `discreet.records.counts`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.areas.layout import Laws, Layout, laws_of, variances_of
from discreet.areas.output import TEXTS, Columns, Folder, output_format, read_output
from discreet.areas.sum_units import Steps, step_column, unit_steps
from discreet.areas.tree import Floats, Integers
from discreet.budget import Neighbours, Release
from discreet.budget.events import release_of
from discreet.budget.noise_table import noises, queries_of
from discreet.budget.variables import IN_UNITS_OF, as_decimal
from discreet.errors import InputError
from discreet.estimation.input.joint_estimates import JointEstimates
from discreet.estimation.input.published import Exact, in_memory, published
from discreet.estimation.linear_algebra import one_algebra_thread
from discreet.estimation.output.clipping import Clipped, measured_clips
from discreet.estimation.output.estimate_table import in_real_numbers, write_estimates
from discreet.estimation.output.microdata import check_people, people_columns, write_as_records
from discreet.estimation.output.redrawing import Redrawing
from discreet.estimation.whole.replicates import TableErrors
from discreet.estimation.whole.tables import check_whole
from discreet.faces import Summarised
from discreet.ledger import records_per_person as contents
from discreet.ledger.admission import Request
from discreet.ledger.entry import Entry
from discreet.ledger.release_run import ReleaseRun
from discreet.ledger.spending import spent
from discreet.measurement.joined_averages import COLUMNS as AVERAGE_COLUMNS
from discreet.measurement.joined_averages import write_averages
from discreet.measurement.questions import Measuring
from discreet.noise import Entropy, sample
from discreet.numbers import whole
from discreet.questions import asked_with
from discreet.records.counts import CountTable, read_counts
from discreet.records.joined_records import count_asked, join_input, other_files
from discreet.records.records import input_of
from discreet.records.sdhc_columns import check_bureau_names, write_bureau_tables
from discreet.tables import Numbers, table_format
from discreet.tables.frames import DataFrame, as_pandas

POSTS = ("none", "nonnegative", "consistent", "tables")
"""Estimates beside the measurements: none, values below zero set to zero, those of `estimate` with whole
numbers, or these and the whole numbers as histogram and microdata."""

_WHOLE = ("consistent", "tables")
"""Those that have whole numbers."""

_REDRAWING = Redrawing()
"""How the errors of whole numbers are found: from the published numbers, as `estimate` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(Summarised):
    """What a run wrote, and what it spent."""

    name: str
    unit: str
    neighbours: Neighbours
    rho: Fraction
    at_most: int
    rehearsal: int | None
    not_private: bool
    exact: tuple[tuple[str, str], ...]
    post: str
    units: int
    cells: int
    out: Path
    files: tuple[str, ...]
    ledger: Path | None
    clipped: tuple[Clipped, ...] = ()
    """What clipping took away from sums and weights, if there are any."""
    left_out: tuple[str, ...] = ()
    """Attributes without whose values records are left out, as `[input]` says; how many is confidential."""
    table_errors: TableErrors | None = None
    """The errors of the whole numbers, if there are any."""
    together: bool = True
    """Whether estimates are from all queries together; else the release states no attributes."""

    def to_frame(self, table: str = "") -> DataFrame:
        """Return the measurements, or another table of the output, as a DataFrame of pandas."""
        return as_pandas(read_output(self.out, table or "measurements", TEXTS))


@asked_with(Measuring)
@one_algebra_thread()
def measure(asked: Measuring) -> Measured:
    """Add the noise of `release` to a table of counts and write the result to a new directory `out`.

    `counts` has the columns unit, parent, level, query, cell and count (a file, CSV or Parquet, or a pandas,
    polars or Arrow table, as are the other tables). `units` (unit, level, parent) may state the tree instead,
    `cells` (query, cell) the cells; with both, rows with zeros may be left out. Instead of counts, `records`
    may be given with all `units`: they are counted as `tabulate` does, with its `households`, `addresses`,
    `geocodes`, `input`, `id`, `at_most`, `excess` and `bureau_columns`. A person with up to `at_most` records
    changes a count by as much: the noise stays as the release states it, and what is spent and noted is the
    cost for that many people. Counts that
    `tabulate` wrote say it in their column `at_most`, and the ledger knows them by their content; for others
    `at_most` states it. The largest number counts; stating less is refused. `invariants` are pairs of a level
    and a query that are held exact, outside the guarantee. `ledger` is the ledger of the population; without
    it, the one that the environment names (DISCREET_LEDGER), a policy, or `discreet-ledger.json` beside the
    counts is used, and if there is none, nothing is noted. What policies forbid is refused. `key` is the file
    of the key if the ledger is signed. Counts that the ledger has a run of are refused unless `spend_again`.
    `rehearsal` is a seed: reproducible noise that protects nobody, in files marked so. Tables are written in
    the `format` of the counts, or another; `for_spreadsheets` puts an apostrophe before names that a
    spreadsheet would take for a formula.

    Guarantee. Assumed: one record is counted in one unit of each level, along the tree, and as often as
    the release says (or one household: limits on its people are enforced), and adds to a sum at most its
    bound (values of records are clipped at it); the units and cells do not depend on the records; the
    system's random bits are good.
    Claimed: what is written, but for invariants and the ledger (which holds a hash of the input and is not
    published), is the release's mechanism on the counts, with the noise of `discreet.noise`, and functions of
    its outcome. So it costs what `account(release, people=at_most)` says. Output and ledger entry appear
    together, or neither does.

    >>> import tempfile
    >>> from discreet.measurement import write_example
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release, units, records, _ = write_example(folder)
    ...     noisy = measure(release, None, f"{folder}/noisy", records=records, units=units, rehearsal=1)
    ...     noisy.units, len(noisy.to_frame()) == noisy.cells
    (25, True)
    """
    release, post = release_of(asked.release), asked.post
    _check_question(asked)
    if asked.bureau_columns:
        check_bureau_names(release)
    origin, others = (asked.counts, ()) if asked.counts is not None else (asked.records, other_files(asked))
    is_text = asked.format is None and isinstance(origin, str | os.PathLike) and table_format(origin) == "csv"
    like = "csv" if is_text else "parquet"
    kind = output_format(asked.format, like, for_spreadsheets=asked.for_spreadsheets)
    pairs = _level_pairs(release, asked.invariants)
    table = noises(release)
    run = ReleaseRun(
        asked.out,
        reads=(origin, *others),
        request=Request(spend_again=asked.spend_again, invariants=bool(pairs)),
        ledger=asked.ledger,
        key=asked.key,
        rehearsal=asked.rehearsal,
    )
    run.open()
    count_table = _exact_counts(asked, release, run.ledger)
    layout = count_table.layout
    most, known = _records_of_one(asked, count_table, run)
    run.spend(
        Entry(
            command="measure",
            release=release.for_people(most),
            at_most=most,
            inputs=count_table.inputs,
            tree=layout.tree.digest,
            exact=pairs,
        )
    )
    if run.ledger is not None and most > 1:  # remembered by the run
        known = known or contents.make_secret(run.ledger).content(layout, count_table.read)
        run.made_from(({**count_table.inputs[0], "content": known}, *count_table.inputs[1:]))
    exact, laws = _exact(count_table, pairs), laws_of(layout, table)
    left_out = () if asked.records is None else _leaving_out(release, asked)
    tables = _Tables(release, most, count_table, pairs, exact, laws, post, left_out, asked.bureau_columns)
    if post in _WHOLE:  # what cannot be done is said before any noise is drawn
        if post == "tables":
            check_people(release.attributes, queries_of(release))
        check_whole(release, layout.tree)
    with run.writing(kind, for_spreadsheets=asked.for_spreadsheets) as folder:
        taken, errors = tables.write(folder, run.entropy)
    (entry,) = run.entries
    return Measured(
        name=release.name,
        unit=release.unit,
        neighbours=release.neighbours,
        rho=entry.rho,
        at_most=most,
        rehearsal=asked.rehearsal,
        not_private=not entry.counted,
        exact=pairs,
        post=post,
        units=layout.tree.size,
        cells=layout.size,
        out=Path(asked.out),
        files=run.files,
        ledger=run.ledger,
        clipped=taken,
        left_out=left_out,
        table_errors=errors,
        together=release.attributes is not None or release.join is not None,
    )


def _leaving_out(release: Release, asked: Measuring) -> tuple[str, ...]:
    """Return the attributes without whose values records are left out."""
    if release.join is None:
        return input_of(release, asked.input).leaving_out
    how = join_input(release, asked.input)
    parts = (how, how.households, how.addresses)
    return tuple(name for part in parts if part is not None for name in part.leaving_out)


def _check_question(asked: Measuring) -> None:
    """Refuse what cannot be asked, before anything is read."""
    if asked.post not in POSTS:
        raise InputError(f"post is {asked.post!r}; it must be none, nonnegative, consistent or tables")
    if (asked.counts is None) == (asked.records is None):
        given = "neither is" if asked.counts is None else "both are"
        raise InputError(f"give either counts or records; {given} given")
    if asked.records is None and not (asked.households is asked.addresses is None):
        raise InputError(
            "households and addresses (--households, --addresses) need records; counts have none"
        )
    if asked.records is None and not (asked.geocodes is asked.id is asked.input is None):
        raise InputError("geocodes, id and input (--geocodes, --id, --input) need records; counts have none")
    if asked.post in _WHOLE and not asked.additive:
        raise InputError(
            f"post is {asked.post}, which needs counts that add up; leave additive=False (--not-additive) out"
        )
    if asked.at_most is not None:
        whole(asked.at_most, name="at_most")


def _exact_counts(asked: Measuring, release: Release, ledger: Path | None) -> CountTable:
    """Read the counts, or count the records."""
    if asked.counts is None:
        return count_asked(release, asked, ledger=ledger, rehearsal=asked.rehearsal)
    return read_counts(release, asked.counts, units=asked.units, cells=asked.cells, additive=asked.additive)


def _records_of_one(asked: Measuring, table: CountTable, run: ReleaseRun) -> tuple[int, str | None]:
    """Return how many records of a person the counts may hold, and by what the ledger knows the counts."""
    if asked.counts is None:
        return asked.at_most or 1, None
    secret = None if run.ledger is None else contents.read_secret(run.ledger)
    known = None if secret is None else secret.content(table.layout, table.read)
    most = contents.records_of_one(
        asked.counts,
        table.at_most,
        asked.at_most,
        content=known,
        ledger=run.before,
        where=run.ledger,
        secret=secret,
    )
    return most, known


@dataclass(frozen=True)
class _Tables:
    """All that a run writes of: validated counts, what is held exact, and the noise to be drawn."""

    release: Release
    at_most: int
    found: CountTable
    pairs: tuple[tuple[str, str], ...]
    exact: Exact
    laws: Laws
    post: str
    left_out: tuple[str, ...]
    bureau_columns: bool = False

    def write(self, folder: Folder, source: Entropy | None) -> tuple[tuple[Clipped, ...], TableErrors | None]:
        """Draw the noise, once, and write what comes of it, some units at a time.

        Returned is what clipping took away, as measured, and the errors of whole numbers.
        """
        layout, steps = self.found.layout, unit_steps(self.release)
        drawn = _drawn(self.found, self.laws, source)
        join = self.release.join
        averages = join is not None and bool(join.averages)
        is_needed = self.post != "none" or self.bureau_columns or averages
        kept = np.empty(layout.size, dtype=np.int64) if is_needed else None
        pattern = variances_of(layout, self.laws)
        first: list[Integers] = []

        def measured(units: slice, rows: slice) -> dict[str, Numbers]:
            values = drawn(rows.stop - rows.start)
            if kept is not None:
                kept[rows] = values
            if not units.start:
                first.append(values[: layout.base[1]])
            numbers = {"value": values, "variance": pattern[layout.columns(units)]}
            return {**numbers, **step_column(layout, steps, units)}

        folder.cells("measurements", (layout, measured))
        columns = {"measurements": {"variance": "the variance of the noise"}}
        if steps:
            columns["measurements"] = {
                "value": f"whole numbers of units, each worth what {IN_UNITS_OF} says",
                "variance": "the variance of the noise, in units",
            }
        errors = None
        if kept is not None and self.post != "none":
            told, errors = self._estimates(folder, kept, pattern)
            columns |= told
        folder.units(layout.tree)
        if kept is not None and self.bureau_columns:
            write_bureau_tables(
                folder,
                layout,
                lambda units: kept[layout.base[units.start] : layout.base[units.stop]],
                self.laws,
            )
        if kept is not None and join is not None and averages:
            write_averages(folder, join, layout, kept, self.laws)
            columns["averages"] = AVERAGE_COLUMNS
        if self.exact:
            folder.cells("invariants", _held(layout, self.exact, steps))
        folder.text("release", "toml", self.release.to_toml(input=False))
        folder.json(
            "manifest",
            {
                "format": "discreet measurements 1",
                "version": version("discreet"),
                "release": self.release.name,
                "post": self.post,
                "rho": str(spent(self.release.for_people(self.at_most))),
                "at_most": self.at_most,
                "units": layout.tree.size,
                "cells": layout.size,
                "columns": columns,
                "exact": [list(pair) for pair in self.pairs],
                **({"left_out_without": list(self.left_out)} if self.left_out else {}),
                "noise": _noise_table(layout, self.laws, steps),
                **({} if errors is None else {"table_errors": _REDRAWING.record(errors)}),
            },
        )
        return measured_clips(self.release, layout, first[0], self.laws), errors

    def _estimates(
        self, folder: Folder, values: Integers, pattern: Floats
    ) -> tuple[dict[str, dict[str, str]], TableErrors | None]:
        """Write the estimates that are asked for; return what the columns of each file are, and the errors of
        whole numbers."""
        layout, exact = self.found.layout, self.exact
        if self.post in _WHOLE:
            attributes = self.release.attributes
            source = in_memory(layout, values, self.laws, attributes)
            given = published(layout, source, exact, attributes, folder.kind, steps=unit_steps(self.release))
            done = write_estimates(folder, JointEstimates.of([given]), tables=True, redrawing=_REDRAWING)
            if done.whole is None or attributes is None or self.post != "tables":
                return {"estimates": done.columns}, done.errors
            write_as_records(folder, done.whole, done.tree, attributes)
            return {"estimates": done.columns, **people_columns(done.tree, attributes)}, done.errors
        estimate, variance = np.maximum(values, 0), pattern[layout.columns(slice(0, layout.tree.size))]
        for query, (who, counts) in exact.items():
            rows = layout.first(query)[who][:, None] + np.arange(counts.shape[1])
            estimate[rows], variance[rows] = counts, 0.0
        steps = unit_steps(self.release)
        estimate = estimate.astype(np.float64) if steps else estimate
        for query, step in steps.items():
            first = layout.first(query)
            rows = first[first >= 0][:, None] + np.arange(len(layout.cells[query]))
            estimate[rows] = in_real_numbers({"estimate": estimate[rows]}, step)["estimate"]
            variance[rows] = in_real_numbers({"variance": variance[rows]}, step**2)["variance"]
        folder.cells("estimates", (layout, {"estimate": estimate, "variance": variance}))
        said = {"variance": "the variance of the noise, before values below zero were set to zero"}
        return {"estimates": said}, None


def _level_pairs(release: Release, pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Check pairs of a level and one of its queries, such as those to hold exact."""
    for level, query in pairs:
        queries = {one_level.name: [q.name for q in one_level.queries] for one_level in release.levels}
        if level not in queries:
            raise InputError(f"invariants name level {level!r}; the release has {', '.join(queries)}")
        if query not in queries[level]:
            raise InputError(
                f"invariants name query {query!r} of level {level!r}, which has {', '.join(queries[level])}"
            )
    return tuple(dict.fromkeys((level, query) for level, query in pairs))


def _held(layout: Layout, exact: Exact, steps: Steps) -> tuple[Layout, Columns]:
    """Lay out the counts that are held exact as a table of their own."""
    masks = np.zeros((len(exact), layout.tree.size), dtype=bool)
    for row, (who, _) in enumerate(exact.values()):
        masks[row, who] = True
    kinds, kind = np.unique(masks, axis=1, return_inverse=True)
    asked = tuple(tuple(query for query, on in zip(exact, column, strict=True) if on) for column in kinds.T)
    part = Layout(layout.tree, layout.cells, asked, kind.ravel())
    vector = np.empty(part.size, dtype=np.int64)
    for query, (who, rows) in exact.items():
        vector[part.first(query)[who][:, None] + np.arange(rows.shape[1])] = rows
    return part, lambda units, rows: {"count": vector[rows], **step_column(part, steps, units)}


def _drawn(table: CountTable, laws: Laws, source: Entropy | None) -> Callable[[int], Integers]:
    """Return a function that gives the next so many noisy counts; the noise is drawn for many at a time."""
    parts = table.layout.chunks(DRAWN)
    left: Integers = np.empty(0, dtype=np.int64)

    def take(many: int) -> Integers:
        nonlocal left
        while len(left) < many:
            units, _ = next(parts)
            values = table.read(units)
            add_noise(table.layout, values, laws, source, units)
            left = np.concatenate([left, values])
        taken, left = left[:many], left[many:]
        return taken

    return take


DRAWN = 1 << 23
"""Cells that get their noise at a time. A rehearsal draws in this order, so it is part of its seed."""


def _exact(table: CountTable, pairs: tuple[tuple[str, str], ...]) -> Exact:
    """Return the counts that are published without noise."""
    layout = table.layout
    masks: dict[str, NDArray[np.bool_]] = {}
    for level, query in pairs:
        inside = np.array([level in run.split("+") for run in layout.tree.levels])[layout.tree.kind]
        masks[query] = masks.get(query, False) | (inside & (layout.first(query) >= 0))
    exact: Exact = {}
    for query, mask in masks.items():
        who, cells = np.flatnonzero(mask), np.arange(len(layout.cells[query]))
        rows = np.zeros((len(who), len(cells)), dtype=np.int64)
        first = layout.first(query)
        for row, unit in enumerate(who.tolist()):
            counts = table.read(slice(unit, unit + 1))
            rows[row] = counts[first[unit] - layout.base[unit] + cells]
        exact[query] = who, rows
    return exact


def add_noise(
    layout: Layout, counts: Integers, laws: Laws, source: Entropy | None, units: slice | None = None
) -> None:
    """Add noise to each cell of all units, or of some, in place. A seeded source gives the same noise to the
    same layout."""
    some = units or slice(0, layout.tree.size)
    begin = layout.base[some.start]
    for kind, queries in enumerate(layout.asked):
        base = layout.base[some][layout.kind[some] == kind] - begin
        for query in queries:
            width = len(layout.cells[query])
            first = base + layout.offset(kind, query)
            rows = max(1, (1 << 22) // max(width, 1))
            for start in range(0, first.size, rows):
                part = first[start : start + rows]
                draws = sample(laws[kind][query], (part.size, width), source=source)
                counts[part[:, None] + np.arange(width)] += draws


def _noise_table(layout: Layout, laws: Laws, steps: Steps) -> list[dict[str, object]]:
    """Return the noise of each level and query as a manifest lists it: exact, as a variance, as a margin.

    All are in units, which are told if they are not 1.
    """
    rows = []
    every = [(kind, query, noise) for kind, law in enumerate(laws) for query, noise in law.items()]
    for kind, query, noise in every:
        # (what is called the variance is the true one)
        named = {"variance_parameter" if key == "variance" else key: v for key, v in noise.parameters.items()}
        rows.append(
            {
                "level": layout.tree.levels[kind],
                "query": query,
                "noise": noise.FAMILY,
                **{key: str(value) for key, value in named.items()},
                "variance": noise.true_variance(),
                "margin_95": noise.margin(),
                "cells": len(layout.cells[query]),
                **({IN_UNITS_OF: as_decimal(steps[query])} if query in steps else {}),
            }
        )
    return rows
