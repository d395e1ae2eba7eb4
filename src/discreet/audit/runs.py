"""The runs of an audit: many of a mechanism on a table of counts, and as many on a neighbour of it.

*Which code runs.* Most runs call what draws the noise of a release, `measuring.add_noise`, on the validated
counts, with the noise of a rehearsal, a seed for each run. Some go the whole way: `measure` writes a
directory for the same seed, it is read back, and every number must be the one drawn; so that what holds of
the many holds of what is written. Nothing is entered into a ledger.

*Estimates* of these runs are looked at twice. They are made again from the written measurements alone, and
must be the same: what is a function of the measurements tells no more than they do. And a linear statistic of
them tells the table from its neighbour, with the difference d of the two tables over the variances of the
noise as weights. Least-squares estimates are the projection P of the measurements, with these weights, onto
tables that add up; d adds up, so <d, P y> = <P d, y> = <d, y>, which for Gaussian noise is the likelihood
ratio: no statistic of the estimates tells more.

*Another mechanism* is a function or a command that maps a table of counts to a table of measurements. If a
release is claimed for it, its noise is judged by the laws; if only epsilon and delta are, by statistics that
half of the runs learn. All else that it puts out is compared between the two tables: other columns, the order
of rows, metadata (`run_outputs`). If runs do not put out one row for each cell, that is an alarm.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from discreet.accounting.account import account
from discreet.accounting.zcdp import zcdp_rho
from discreet.areas.cells import detailed_cells, impossible_cells
from discreet.areas.layout import Laws, Layout, laws_of, positions, units_of
from discreet.areas.output import MARK, ArrowTable, arrow
from discreet.areas.sum_units import step_column, unit_steps
from discreet.areas.tree import Floats, Integers
from discreet.audit.learned import Scores, learned_from_numbers, learned_from_parts
from discreet.audit.looks import (
    FALSE_ALARM,
    Audit,
    Block,
    ClaimedNoise,
    audit_noise,
    audit_parts,
    audit_promise,
    pair_events,
    read_promise,
    read_runs,
    silent_words,
)
from discreet.audit.run_outputs import Mechanism, RunOutput, arrow_of, numbers_of, raw_outputs, taken_apart
from discreet.budget import Release
from discreet.budget.events import Releasable, release_of
from discreet.budget.noise_table import noises
from discreet.budget.scope import Extent, Scope
from discreet.errors import InputError
from discreet.estimation.estimating import estimate
from discreet.ledger.admission import Request, admit
from discreet.ledger.records_per_person import records_of_one
from discreet.measurement.measuring import POSTS, add_noise, measure
from discreet.numbers import share
from discreet.questions import Option, file_option
from discreet.records.counts import CountTable, read_counts
from discreet.rehearsal import rehearsal_entropy
from discreet.tables import TableSource, read_table
from discreet.tables.problems import Problems

MOST_NUMBERS = 50_000_000
"""The most noisy numbers of all runs together: they are kept, 8 bytes each."""


def audit_release(
    release: Releasable,
    counts: Annotated[
        TableSource,
        Option("The table: exact counts, or with --epsilon any CSV file.", "FILE", reads=Path | None),
    ],
    *,
    neighbour: Annotated[
        TableSource,
        Option(
            "Its neighbour. Default: made, with one record added, replaced or left out.",
            "FILE|DIR",
            reads=Path | None,
        ),
    ] = None,
    units: Annotated[
        TableSource, file_option("All areas: columns unit, level, parent. Default: those of FILE.")
    ] = None,
    cells: Annotated[TableSource, file_option("All cells: query, cell.")] = None,
    mechanism: Annotated[
        Mechanism | None,
        Option(
            "Audit this instead of measure; {in} and {out} stand for CSV files.", "COMMAND", reads=str | None
        ),
    ] = None,
    runs: Annotated[int, Option("Runs on each table. Default: 1,000, of safetab run 300.", "N")] = 1000,
    written: Annotated[
        int,
        Option(
            "Of these, runs on each table that are written and read back. Default: 10, of safetab run 2.", "N"
        ),
    ] = 10,
    post: Annotated[
        Literal["none", "nonnegative", "consistent"],
        Option("The estimates of written runs that are looked at.", "KIND"),
    ] = "consistent",
    at_most: Annotated[
        int | None, Option("How many records one person may have. Default: as the counts say, or 1.", "K")
    ] = None,
    seed: Annotated[int, Option("The seed of the rehearsals.", "N")] = 1,
    false_alarm: Annotated[
        str | Fraction, Option("The largest chance of a false alarm.", "P", reads=str)
    ] = FALSE_ALARM,
) -> Audit:
    """Run a release on a table of counts and on a neighbour of it, and judge what comes out.

    `counts`, `units` and `cells` are those of `measure`. Without a `neighbour`, the audit makes one: it adds
    a record to the counts, or if people are replaced, one record to the table and another, in another area,
    to its neighbour; to a sum a record adds its bound. A person with up to `at_most` records, by default as
    many as the counts say, has all of them in one place. All runs are rehearsals, with seeds made of `seed`.
    `written` of them on each table go through `measure` and its files, with the estimates that `post` says.
    `mechanism` is another mechanism for which the release is claimed: it gets a table with the columns unit,
    parent, level, query, cell and count (and in_units_of, if there are sums), and returns one with unit,
    level, query, cell and value.

    Guarantee. That of `discreet.audit.looks.audit_noise`: a mechanism that keeps its promise is accused with
    a chance of at most `false_alarm`.

    >>> from discreet.budget import Level, Query
    >>> import pyarrow
    >>> state = Level(name="State", queries=[Query(name="total", variance=4)])
    >>> release = Release(name="small", neighbours="unbounded", levels=[state])
    >>> table = pyarrow.table({"unit": ["A"], "level": ["State"], "query": ["total"], "cell": ["all"],
    ...     "count": [100]})
    >>> audit_release(release, table, runs=200, written=2, post="none").alarms
    ()
    """
    release = release_of(release)
    _check(runs, written, post, seed, false_alarm)
    for source in (counts,) if neighbour is None else (counts, neighbour):
        admit(source, Request(rehearsal=True, entered=False))
    exact = read_counts(release, counts, units=units, cells=cells)
    people = records_of_one(
        counts, exact.at_most, at_most, content=None, ledger=None, where=None, secret=None
    )
    pair = _given_pair(release, exact, neighbour, units, cells, people) if neighbour is not None else None
    pair = pair or _made_pair(release, exact, people)
    if 2 * runs * pair.layout.size > MOST_NUMBERS:
        most = MOST_NUMBERS // (2 * pair.layout.size)
        raise InputError(
            f"{runs} runs on each of two tables of {pair.layout.size} cells are more numbers than the "
            f"{MOST_NUMBERS} that are kept; take {most} runs, or a part of the areas"
        )
    facts: dict[str, object] = {"name": release.name, "seed": seed if mechanism is None else None}
    if mechanism is not None:
        own = _OwnRuns(pair, mechanism, runs)
        return own.audit(facts, false_alarm)
    table, beside = (
        np.array([pair.noise(side, run_seed(seed, side, run)) for run in range(runs)]) for side in (0, 1)
    )
    checked = _Written(pair, seed, min(written, runs), post)
    mismatches, scores = checked.compare((table, beside))
    files = Extent("run through files", checked.runs, runs, ())
    left_out = ["the counting of records", "the random bits of the system", *sorted(checked.unread)]
    facts |= {
        "mechanism": "measure",
        "written": checked.runs,
        "post": post if checked.runs else "none",
        "scope": pair.scope.with_part(files).without(*left_out),
    }
    return audit_noise(
        table,
        beside,
        claimed=pair.claimed,
        false_alarm=false_alarm,
        more=scores,
        mismatches=mismatches,
        facts=facts,
    )


def audit_mechanism(
    mechanism: Mechanism,
    table: TableSource,
    neighbour: TableSource,
    *,
    epsilon: Annotated[
        str | int | Fraction, Option("Without a release: the epsilon promised.", "E", reads=str | None)
    ],
    delta: Annotated[
        str | int | Fraction, Option("Without a release: the delta promised.", "D", reads=str | None)
    ],
    runs: int = 1000,
    false_alarm: str | Fraction = FALSE_ALARM,
) -> Audit:
    """Run any mechanism on two neighbouring tables, and judge it by the epsilon and delta promised for it.

    `table` and `neighbour` are CSV files or Arrow tables, of any columns. What the mechanism returns (a
    table, or numbers) must have the same shape in each run; its columns of numbers are used. Whether the two
    tables are neighbours is for the caller to know.

    >>> import pyarrow
    >>> from discreet.noise import DiscreteLaplace, sample
    >>> from discreet.testing import NotPrivateSeededEntropy
    >>> source = NotPrivateSeededEntropy(1)
    >>> def rows(table):
    ...     return [[table.num_rows + sample(DiscreteLaplace(scale=1), 1, source=source)[0]]]
    >>> data = pyarrow.table({"name": ["Ann", "Bob", "Cy"]})
    >>> audit_mechanism(rows, data, data.slice(1), epsilon=1, delta=0, runs=500).alarms
    ()
    """
    problems = Problems()
    with problems.gathering():
        read_runs(runs, "runs", least=2)
    with problems.gathering():
        read_promise(epsilon, delta, false_alarm)
    problems.stop()
    for source in (table, neighbour):
        admit(source, Request(rehearsal=True, entered=False))
    read = [arrow_of(source) for source in (table, neighbour)]  # both, before anything runs
    sides = [[taken_apart(out) for out in raw_outputs(mechanism, table, runs)] for table in read]
    kind = "command" if isinstance(mechanism, str) else "function"
    numbers = numbers_of(sides)
    scope = Scope.whole("mechanism", unit="", neighbours="").without(*OUTSIDE[kind])
    if numbers is None and any(output.numbers.size for side in sides for output in side):
        scope = scope.without("the numbers (runs do not put out as many)")
    judged = numbers or (np.zeros((runs, 0)), np.zeros((runs, 0)))
    return audit_promise(
        *judged,
        epsilon=epsilon,
        delta=delta,
        false_alarm=false_alarm,
        parts=[[output.parts for output in side] for side in sides],
        mechanism=kind,
        scope=scope,
    )


OUTSIDE = {
    "function": ("time and memory", "files, the screen and the network"),
    "command": ("time and memory", "files other than {out}, the screen and the network"),
}
"""What a mechanism can tell beside its output, which an audit does not look at."""


def _check(runs: int, written: int, post: str, seed: int, false_alarm: str | Fraction) -> None:
    """Refuse what cannot be asked, before anything is read."""
    problems = asked_runs(runs, written, seed, false_alarm)
    if post not in POSTS or post == "tables":  # these have the numbers of consistent
        problems.say(f"post is {post!r}; it must be none, nonnegative or consistent")
    problems.stop()


def asked_runs(runs: int, written: int, seed: int, false_alarm: str | Fraction) -> Problems:
    """Return all that is wrong with the runs that are asked for.

    >>> asked_runs(1, 0, 1, "2").stop()
    Traceback (most recent call last):
    discreet.errors.InputError: 2 kinds of problems:
      1. runs is 1; it must be 2 or more
      2. false_alarm is 2; it must lie strictly between 0 and 1
    """
    problems = Problems()
    with problems.gathering():
        read_runs(runs, "runs", least=2)
    with problems.gathering():
        read_runs(written, "written", least=0)
    with problems.gathering():
        rehearsal_entropy(seed)
    with problems.gathering():
        share(false_alarm, name="false_alarm")
    return problems


def run_seed(seed: int, side: int, run: int) -> int:
    """Return the seed of one run; those of different audits do not meet.

    >>> run_seed(1, 0, 0) == run_seed(1, 1, 0) - 1
    True
    """
    return (seed << 40) + 2 * run + side


# -- neighbouring tables -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pair:
    """A table and its neighbour, laid out alike."""

    release: Release
    layout: Layout
    counts: tuple[Integers, Integers]
    people: int = 1
    """How many records one person may have."""

    @property
    def change(self) -> Integers:
        return self.counts[1] - self.counts[0]

    @property
    def blocks(self) -> list[Block]:
        """The cells of each level and query, with the law that the release claims."""
        layout, laws, blocks = self.layout, self._laws, []
        names = layout.tree.names
        for kind, queries in enumerate(layout.asked):
            for query in queries:
                first = layout.first(query)[layout.kind == kind]
                places = first[:, None] + np.arange(len(layout.cells[query]))
                if places.size:
                    name = f"{layout.tree.levels[kind]}, {query}"
                    units = tuple(names.filter(arrow().array(layout.kind == kind)).to_pylist())
                    blocks.append(Block(name, laws[kind][query], places, units))
        return blocks

    @property
    def claimed(self) -> ClaimedNoise:
        return ClaimedNoise(self.change, tuple(self.blocks))

    @property
    def scope(self) -> Scope:
        release = self.release
        return Scope.whole(release.name, unit=release.unit, neighbours=release.neighbours, people=self.people)

    @cached_property
    def variances(self) -> Floats:
        """The variance of the noise of each cell."""
        variances = np.empty(self.layout.size)
        for block in self.blocks:
            variances[block.places] = block.law.true_variance()
        return variances

    @cached_property
    def steps(self) -> Floats:
        """What one unit of each cell is worth: one, but for sums."""
        steps = np.ones(self.layout.size)
        for query in self.layout.queries:
            first = self.layout.first(query)
            places = first[first >= 0][:, None] + np.arange(len(self.layout.cells[query]))
            steps[places] = float(self.release.variables[query].step)
        return steps

    @cached_property
    def _laws(self) -> Laws:
        return laws_of(self.layout, noises(self.release))

    def noise(self, side: int, seed: int) -> Integers:
        """Draw the noise of a release as `measure` does, and take the counts away again."""
        values = self.counts[side].copy()
        add_noise(self.layout, values, self._laws, rehearsal_entropy(seed))
        return values - self.counts[side]

    def table(self, side: int) -> ArrowTable:
        """Return the counts as `measure` reads them."""
        pa, tree = arrow(), self.layout.tree
        rows = self.layout.rows(slice(0, tree.size))
        columns = {name: words.take(pa.array(codes)) for name, (words, codes) in rows.items()}
        names = [*tree.names.to_pylist(), ""]
        parents = pa.array([names[above] for above in tree.parent.tolist()])
        columns["parent"] = parents.take(pa.array(rows["unit"][1]))
        units = step_column(self.layout, unit_steps(self.release), slice(0, tree.size))
        return pa.table({**columns, "count": self.counts[side], **units})


def _given_pair(
    release: Release,
    exact: CountTable,
    neighbour: TableSource,
    units: TableSource,
    cells: TableSource,
    people: int,
) -> _Pair:
    """Return two tables that were given; those that differ by more than one may change are refused."""
    other = read_counts(release, neighbour, units=units, cells=cells)
    layout = exact.layout
    if other.layout.tree.digest != layout.tree.digest or other.layout.size != layout.size:
        raise InputError(
            "the neighbour has other areas or cells than the counts; both tables list all of them"
        )
    every = slice(0, layout.tree.size)
    pair = _Pair(release, layout, (exact.read(every), other.read(every)), people)
    events = pair_events(pair.change, pair.blocks)
    if not events:
        raise InputError("the neighbour has the same counts as the table; one record must differ")
    if zcdp_rho(events) > account(release, people=people).rho:
        records = f" with {people} records" if people > 1 else ""
        raise InputError(
            f"the tables are not neighbours: they differ by more than one {release.unit}{records} may change "
            f"({release.neighbours} neighbours), so some record is counted twice, or several differ"
        )
    return pair


def _made_pair(release: Release, exact: CountTable, people: int) -> _Pair:
    """Add a person's records; if people are replaced, one's to the table and another's to its neighbour."""
    layout = exact.layout
    counts = exact.read(slice(0, layout.tree.size))
    above = np.zeros(layout.tree.size, dtype=bool)
    above[layout.tree.parent[layout.tree.parent >= 0]] = True
    lowest = np.flatnonzero(~above)
    record, other = (people * _record(release, layout, int(lowest[end]), end) for end in (0, -1))
    if release.neighbours == "bounded":
        return _Pair(release, layout, (counts + record, counts + other), people)
    return _Pair(release, layout, (counts, counts + record), people)


def _record(release: Release, layout: Layout, unit: int, end: int) -> Integers:
    """Return the counts of one record in a unit, in the first or last cell that it can be in.

    It adds to every query what a record adds at most: with values above all bounds, it does so to all.
    """
    record, attributes = np.zeros(layout.size, dtype=np.int64), release.attributes
    possible = None if attributes is None else np.flatnonzero(~impossible_cells(attributes))
    while unit >= 0:
        for query in layout.asked[layout.kind[unit]]:
            cell = end % len(layout.cells[query])
            if attributes is not None and possible is not None:
                cell = int(detailed_cells(attributes, query, written=True)[possible[end]])
            record[layout.first(query)[unit] + cell] = release.variables[query].bound
        unit = int(layout.tree.parent[unit])
    return record


# -- runs of another mechanism -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _OwnRuns:
    """Runs of somebody's mechanism, for which a release is claimed."""

    pair: _Pair
    mechanism: Mechanism
    runs: int

    def audit(self, facts: dict[str, object], false_alarm: str | Fraction) -> Audit:
        """Judge the noise of all cells, and all else that the runs put out."""
        kind = "command" if isinstance(self.mechanism, str) else "function"
        size = self.pair.layout.size
        sides = [[self._taken(side, out) for out in self._outputs(side)] for side in (0, 1)]
        outputs = [[output for output, _ in side] for side in sides]
        scores, silent = learned_from_parts(*([output.parts for output in side] for side in outputs))
        more = numbers_of(outputs)
        if more is not None:
            scores += learned_from_numbers(*more, name="other columns")
        wrong = sum(output.rows != size for side in outputs for output in side)
        columns = dict.fromkeys(name for side in outputs for output in side for name in output.columns)
        unlooked = {f"column {name}" for name in columns} & set(silent)
        left_out = [*map(silent_words, sorted(set(silent) - unlooked)), *OUTSIDE[kind]]
        if more is None and any(output.numbers.size for side in outputs for output in side):
            left_out.append("the numbers in other columns (runs do not put out as many)")
        extent = Extent.of(
            "column", taken=[name for name in columns if f"column {name}" not in unlooked], every=columns
        )
        scope = self.pair.scope.with_part(extent).without(*left_out)
        facts = {**facts, "mechanism": kind, "scope": scope}
        rows = {"rows": (wrong, 2 * self.runs)}
        claimed = self.pair.claimed
        if wrong:
            return audit_parts(
                self.runs, claimed=claimed, false_alarm=false_alarm, more=scores, mismatches=rows, facts=facts
            )
        noise = (
            np.array([values for _, values in side if values is not None]) - self.pair.counts[table]
            for table, side in enumerate(sides)
        )
        return audit_noise(
            *noise, claimed=claimed, false_alarm=false_alarm, more=scores, mismatches=rows, facts=facts
        )

    def _outputs(self, side: int) -> Iterator[object]:
        return raw_outputs(self.mechanism, self.pair.table(side), self.runs)

    def _taken(self, side: int, out: object) -> tuple[RunOutput, Integers | None]:
        """Return an output taken apart, and what was measured if there is one row for each cell."""
        output, layout = taken_apart(out, known=("unit", "level", "query", "cell", "value")), self.pair.layout
        if output.rows != layout.size:
            return output, None
        values, rows = _column(layout, out, "value")
        many = output.numbers.size // layout.size
        by_cell = np.empty((many, layout.size))
        by_cell[:, rows] = output.numbers.reshape(many, layout.size)  # other columns, cell by cell
        order: Hashable = rows.tobytes()
        parts = {**output.parts, "order of rows": order}
        return replace(output, numbers=by_cell.ravel(), parts=parts), values.astype(np.int64)


# -- runs that go through files ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Written:
    """Runs of `measure` that are written and read back."""

    pair: _Pair
    seed: int
    runs: int
    post: str
    unread: set[str] = field(default_factory=set)
    """Files that were written and are not compared."""

    def compare(self, noise: tuple[Integers, Integers]) -> tuple[dict[str, tuple[int, int]], list[Scores]]:
        """Return how many numbers are not what they should be, of how many; and a statistic of the estimates.

        Measurements are those drawn, and estimates those that the measurements give.
        """
        if not self.runs:
            return {}, []
        pair, scores, beside = self.pair, [], list[Hashable]()
        weights, wrong = pair.change / pair.variances, {"written": [0, 0]}
        with tempfile.TemporaryDirectory(prefix="discreet-audit-") as folder:
            for side in (0, 1):
                reads = list(self._read(side, Path(folder)))
                beside += [read.beside for read in reads]
                drawn = noise[side][: self.runs] + pair.counts[side]
                values = np.array([read.values for read in reads])
                wrong["written"][0] += int(np.count_nonzero(values != drawn))
                wrong["written"][1] += values.size
                for read in reads:
                    if read.again is not None:
                        both = wrong.setdefault("again", [0, 0])
                        off = np.abs(read.estimates - read.again) > 1e-9 * (1 + np.abs(read.again))  # units
                        both[0] += int(np.count_nonzero(off))
                        both[1] += read.again.size
                scores.append(np.array([(read.estimates - pair.counts[0]) @ weights for read in reads]))
        wrong["beside"] = [sum(columns != beside[0] for columns in beside), len(beside)]
        steps = [part * float(pair.change @ weights) for part in PARTS]
        statistic = [] if self.post == "none" else [Scores("estimates", scores[0], scores[1], steps)]
        return {kind: (both[0], both[1]) for kind, both in wrong.items()}, statistic

    def _read(self, side: int, folder: Path) -> Iterator[_Read]:
        """Yield the measurements and the estimates of each run, as they were written."""
        pair, table = self.pair, self.pair.table(side)
        if (named := admit(table, Request(rehearsal=True)).ledger) is not None:
            raise InputError(
                f"written runs would be entered into the ledger {named}; leave them out (written=0, or "
                "--written 0), or audit where no ledger is prescribed"
            )
        for run in range(self.runs):
            out = folder / f"{side}-{run}"
            done = measure(
                pair.release,
                table,
                out,
                post=self.post,  # type: ignore[arg-type]
                at_most=pair.people,
                rehearsal=run_seed(self.seed, side, run),
                format="parquet",
            )
            files = {name.split(".")[0]: out / name for name in done.files}
            values, beside = _measured(pair.layout, files["measurements"]), _beside(files["measurements"])
            self.unread.update(
                f"the written file {name}" for name in done.files if name.split(".")[0] not in READ
            )
            estimates, again = np.zeros(values.size), None
            if self.post != "none":
                estimates = self._estimates(files["estimates"])
                if run < AGAIN:
                    again = self._made_again(out, values)
            shutil.rmtree(out)
            yield _Read(values, beside, estimates, again)

    def _made_again(self, out: Path, values: Integers) -> Floats:
        """Return the estimates as the measurements alone give them."""
        if self.post == "nonnegative":
            return np.maximum(values, 0).astype(np.float64)
        done = estimate(out, out / "again", tables=True, format="parquet")
        files = {name.split(".")[0]: out / "again" / name for name in done.files}
        return self._estimates(files["estimates"])

    def _estimates(self, file: Path) -> Floats:
        """Return the estimates of the cells that are measured, in the units of the measurements."""
        layout, rows = self.pair.layout, arrow("parquet").read_table(file)
        best = rows["estimate"]
        if "table" in rows.column_names:  # a sum that is not made of detailed cells has none
            best = arrow("compute").coalesce(rows["table"].cast("double"), best)
        rows = rows.select(["unit", "level", "query", "cell"]).append_column("estimate", best)
        whole = Layout.same(layout.tree, layout.cells)
        there = rows.filter(best.is_valid())  # a level may not ask a query
        return np.asarray(_column(layout, there, "estimate", whole)[0] / self.pair.steps)


@dataclass(frozen=True)
class _Read:
    """A run that was written: its measurements, all else beside them, its estimates, and those made again."""

    values: Integers
    beside: Hashable
    estimates: Floats
    again: Floats | None


READ = ("measurements", "estimates")
"""The files of a written run that are read back."""


def _beside(file: Path) -> Hashable:
    """All of a file of measurements but the values: its other columns, the order of rows, its metadata."""
    table = arrow("parquet").read_table(file)
    left = {key: text for key, text in (table.schema.metadata or {}).items() if key != b"warning"}
    # the mark of a rehearsal names its seed
    output = taken_apart(table.drop_columns(["value", MARK]).replace_schema_metadata(left))
    return output.numbers.tobytes(), tuple(sorted(output.parts.items()))


PARTS = (-1.0, 0.0, 0.5, 1.0, 2.0)
"""Thresholds of the statistic of the estimates: parts of the way from the table to its neighbour."""

AGAIN = 2
"""Of how many written runs on each table the estimates are made again."""


def _measured(layout: Layout, source: object) -> Integers:
    return _column(layout, source, "value")[0].astype(np.int64)


def _column(
    layout: Layout, source: object, column: str, whole: Layout | None = None
) -> tuple[Floats, Integers]:
    """Return a column of a table by the place of each cell in a layout, and the place of each row.

    Every cell must be there.

    A table of a `whole` layout may have more cells, of queries that a level does not ask.
    """
    is_whole = column == "value"
    table = read_table(
        source,
        words=["unit", "level", "query", "cell"],
        whole=[column] if is_whole else [],
        floats=[] if is_whole else [column],
        name="what the mechanism put out",
    )
    own = whole or layout
    rows, there = positions(own, table, units_of(table, own.tree, levels=True))
    table.problems.stop()
    values = np.full(own.size, np.nan)
    values[rows] = table.numbers[column]
    if whole is not None:
        taken = np.empty(layout.size)
        for query in layout.queries:
            asked, cells = layout.first(query) >= 0, np.arange(len(layout.cells[query]))
            taken[layout.first(query)[asked][:, None] + cells] = values[
                whole.first(query)[asked][:, None] + cells
            ]
        values, there = taken, ~np.isnan(taken)
    if not there.all():
        raise InputError(
            f"what the mechanism put out lacks {np.count_nonzero(~there)} of {layout.size} cells"
        )
    return values, rows
