"""An audit of a tabulation: many runs of the adaptive mechanism on records, and as many without one of them.

*Which code runs.* Most runs call `RunPlan.add_noise`, which draws both stages, on the exact counts of all
groups, with the noise of a rehearsal, a seed for each run. Some go the whole way: `run` writes a directory
for the same seed, it is read back, and every group must be the one drawn. Nothing is entered into a ledger.

*What is looked at.* The counts are known, so that of every group the law of its outcome is: with first-stage
noise N1, second-stage noise N2, count n, thresholds t_1 < t_2 < ... and bound T,

    it has table k or a larger one   with chance  P[n + N1 >= t_k],
    it is dropped                    with chance  P[n + N1 < t_1] P[n + N2 <= T],

and given its table each cell that is published has noise of the second stage, which does not depend on the
first. Totals that may be dropped are not looked at singly: being published, they are large. Groups are
independent, so a number of them with chances p_1, ..., p_m is as far from its mean as seen, or farther, with
a chance of at most 2 exp(-m KL(x, p)), where x is the share seen and p the mean chance (Hoeffding 1963).

The likelihood ratio of the groups that the record is in is put against the curve of the account, which holds
for all that is drawn; what is published tells less. And the account itself must hold what the mechanisms draw
for a person in as many groups as one can be in, by a second composition of their noise.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.account import Account
from discreet.accounting.privacy_loss import compose
from discreet.areas.output import ArrowTable, arrow
from discreet.audit.learned import Scores
from discreet.audit.looks import (
    ALPHAS,
    FALSE_ALARM,
    OTHER_PAIRS,
    Audit,
    Floats,
    Integers,
    Seen,
    drawn_curve,
    judge_looks,
    needed_runs,
    repeated_runs,
    seen_in_values,
    sign_look,
    summed_look,
)
from discreet.audit.mechanisms import AuditedMechanism
from discreet.audit.power import smallest_faults
from discreet.audit.runs import MOST_NUMBERS, asked_runs, run_seed
from discreet.budget import grouped
from discreet.budget.scope import Extent, Scope
from discreet.census.mechanism.adaptive import Mechanism, column
from discreet.census.mechanism.parts import Codes, GroupArrays, keys
from discreet.census.mechanism.published import Picked
from discreet.census.mechanism.records import count, find_sources
from discreet.census.mechanism.released import read_released
from discreet.census.safetab.account import exact_account
from discreet.census.safetab.run import run
from discreet.census.safetab.run_plan import Options, RunPlan
from discreet.census.safetab.specification import read_water
from discreet.errors import InputError
from discreet.ledger.admission import Request, admit
from discreet.ledger.clock import Clock
from discreet.noise import Noise
from discreet.numbers import share
from discreet.questions import Option
from discreet.records.engine import connect
from discreet.rehearsal import rehearsal_entropy

if TYPE_CHECKING:
    from discreet.census.mechanism.counts import GroupCounts
    from discreet.census.mechanism.regions import Geography
    from discreet.records.engine import Engine

Flags = NDArray[np.bool_]
Place = tuple[str, int]

TRIED = 5
"""Records that are tried, to leave out the one that is in most groups."""

_CERTAIN = 1e-9  # a group whose chance is as close to 0 or 1 shows nothing
_SHOWN = 0.02  # and one whose chance is farther from both shows the noise of a stage


def audit_tabulation(
    params: str | os.PathLike[str],
    data: Annotated[
        str | os.PathLike[str],
        Option("Audit safetab run: the folder of its records.", "DIR", reads=Path | None),
    ],
    *,
    neighbour: str | os.PathLike[str] | None = None,
    totals: Annotated[
        str | os.PathLike[str] | None,
        Option(
            "With --data: published totals that pick tables, as for safetab run.",
            "FILE|OUT",
            reads=Path | None,
        ),
    ] = None,
    runs: int = 300,
    written: int = 2,
    seed: int = 1,
    false_alarm: str | Fraction = FALSE_ALARM,
) -> Audit:
    """Run a tabulation on records and on a neighbour of them, and judge what comes out.

    `params` and `data` are those of `run`. Without a `neighbour`, a folder like `data`, one record is left
    out: of some that are tried, one that is in most groups. All runs are rehearsals, with seeds made of
    `seed`; `written` of them on each side go through `run` and its files.

    Guarantee. If groups and runs are independent and have the laws that the parameters claim, there is an
    alarm with a chance of at most `false_alarm`: see the head of this module, and
    `tests/audit/tabulations/test_safetab_audit.py`, which counts false alarms at a chance of 1/20.
    """
    asked_runs(runs, written, seed, false_alarm).stop()
    level, params = share(false_alarm, name="false_alarm"), Path(params)
    lists = None if totals is None else Path(totals)
    plan = RunPlan.read(params, Options(format="parquet"), Path(data), lists)
    plan.check(ledger=False)
    for source in (data,) if neighbour is None else (data, neighbour):
        if admit(source, Request(rehearsal=True)).ledger is not None and written:
            raise InputError(
                "written runs would be entered into the ledger that is prescribed; leave them out "
                "(written=0, or --written 0)"
            )
    with (
        connect() as engine,
        tempfile.TemporaryDirectory(prefix="discreet-audit-") as folder,
    ):
        table = _fetched(count(Path(data), plan.configuration, plan.specification, engine=engine), plan)
        if neighbour is None:
            beside = _left_out(plan, Path(data), Path(folder), engine, table)
        else:
            other = count(Path(neighbour), plan.configuration, plan.specification, engine=engine)
            beside = Path(neighbour), _fetched(other, plan)
        pair = TabulationPair(plan, (Path(data), beside[0]), (table, beside[1]))
        pair.check(runs)
        drawn = pair.drawn(runs, seed)
        wrong = pair.mismatches(drawn, seed, min(written, runs), Path(folder))
    return judged_runs(pair, drawn, seed=seed, written=min(written, runs), wrong=wrong, false_alarm=level)


SAFETAB_RUN = AuditedMechanism(
    name="safetab run",
    audit=audit_tabulation,
    option="data",
    metavar="DIR",
    target="PARAMS",
    target_words="the parameters of safetab run",
    example="params --data records --runs 300",
)


def judged_runs(
    pair: TabulationPair,
    drawn: Sequence[Sequence[Mapping[Place, GroupArrays]]],
    *,
    seed: int,
    written: int = 0,
    wrong: tuple[int, int] = (0, 0),
    false_alarm: Fraction = Fraction(FALSE_ALARM),
) -> Audit:
    """Judge the runs on both sides of a pair; `wrong` groups, of how many, were not as drawn."""
    places = [
        _PlaceRuns(pair, mechanism, [[parts[mechanism.place] for parts in side] for side in drawn])
        for mechanism in pair.noisy
    ]
    seen = [look for runs_there in places for look in runs_there.looks()]
    seen += [look for first, second in pairwise(places) for look in first.beside(second)]
    seen += [_same_runs(places), pair.account_look]
    if written:
        seen.append(Seen("written", "", wrong[1], wrong[0], 0.0, 0.0 if wrong[0] else 1.0))
    ratios = [
        sum((runs_there.log_ratios(side) for runs_there in places), np.zeros(len(drawn[side])))
        for side in (0, 1)
    ]
    scores = [Scores("likelihood ratio", ratios[0], ratios[1], pair.thresholds)]
    points, noise = judge_looks(pair.curve, scores, seen, false_alarm)
    part = float(false_alarm) / (len(points) + len(noise))
    unseen = tuple(runs_there.name for runs_there in places if not runs_there.shows_stage_one)
    return Audit(
        name=pair.plan.configuration.tabulation.name,
        mechanism="safetab run",
        promise="laws",
        runs=len(drawn[0]),
        written=written,
        cells=sum(runs_there.change.size for runs_there in places),
        changed=sum(int(np.count_nonzero(runs_there.change)) for runs_there in places),
        seed=seed,
        false_alarm=false_alarm,
        scope=pair.scope([runs_there.mechanism for runs_there in places], unseen, len(drawn[0]), written),
        points=points,
        noise=noise,
        curve=drawn_curve(pair.curve),
        needed=needed_runs(pair.curve, part),
        unseen=unseen,
        smallest=smallest_faults(pair.curve, points, noise, part),
    )


# -- counts --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CountsInMemory:
    """Exact counts of all groups, asked for once: what the mechanism asks of `GroupCounts`."""

    geography: Geography
    known_totals: Mapping[Place, ArrowTable]
    known_cells: Mapping[Place, ArrowTable]

    def regions(self, geography: str) -> tuple[str, ...]:
        """Return the regions of a geography."""
        return self.geography.regions[geography]

    def totals(self, geography: str, level: int) -> ArrowTable:
        """Return region, iteration and count of groups with people."""
        return self.known_totals[geography, level]

    def cells(self, geography: str, level: int, groups: ArrowTable) -> ArrowTable:
        """Return region, iteration, finest cell and count of cells with people, for some groups."""
        every = self.known_cells[geography, level]
        wanted, there = (
            keys(column(listed, "region", np.int32), column(listed, "iteration", np.int32))
            for listed in (groups, every)
        )
        return every.filter(arrow().array(np.isin(there, wanted)))


def _fetched(counted: GroupCounts, plan: RunPlan) -> CountsInMemory:
    """Ask for all counts once."""
    with counted as counts:
        totals = {mechanism.place: counts.totals(*mechanism.place) for mechanism in plan.mechanisms}
        cells = {at: counts.cells(*at, known.select(["region", "iteration"])) for at, known in totals.items()}
        return CountsInMemory(plan.picked(counts.geography)[0], totals, cells)


def _left_out(
    plan: RunPlan, data: Path, folder: Path, engine: Engine, table: CountsInMemory
) -> tuple[Path, CountsInMemory]:
    """Return the folder and the counts of the records without one, which is in most groups of those tried."""
    areas, records = find_sources(data, plan.configuration.tabulation)
    if records.is_parquet:
        rows = arrow("parquet").read_table(records.path)
        many = rows.num_rows
    elif records.text is not None:
        lines = records.path.read_text(encoding="utf-8").splitlines(keepends=True)
        many = len(lines) - 1
    else:
        raise InputError(
            f"{records.name} is neither Parquet nor text with bars, so no record can be left out; give a "
            "neighbour (--neighbour), a folder without one of the records"
        )
    best: tuple[int, Path, CountsInMemory] | None = None
    for row in sorted({round(at) for at in np.linspace(0, many - 1, TRIED)} if many else set()):
        other = folder / f"without-{row}"
        other.mkdir(mode=0o700)
        shutil.copy(areas.path, other / areas.path.name)
        if records.is_parquet:
            pa = arrow()
            left = pa.concat_tables([rows.slice(0, row), rows.slice(row + 1)])
            arrow("parquet").write_table(left, other / records.path.name)
        else:
            text = "".join(lines[: row + 1] + lines[row + 2 :])
            (other / records.path.name).write_text(text, encoding="utf-8")
        without = _fetched(count(other, plan.configuration, plan.specification, engine=engine), plan)
        changed = sum(
            _sum(table.known_totals[mechanism.place]) - _sum(without.known_totals[mechanism.place])
            for mechanism in plan.mechanisms
        )
        if best is None or changed > best[0]:
            best = changed, other, without
    if best is None or not best[0]:
        raise InputError(
            "none of the records that were left out to try is in a group that is tabulated; give a neighbour "
            "(--neighbour), a folder without a record that is"
        )
    return best[1], best[2]


def _sum(totals: ArrowTable) -> int:
    return int(column(totals, "count", np.int64).sum())


# -- neighbouring records ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TabulationPair:
    """Records and a neighbour of them, and what is claimed of their tabulation."""

    plan: RunPlan
    folders: tuple[Path, Path]
    counts: tuple[CountsInMemory, CountsInMemory]

    @cached_property
    def noisy(self) -> tuple[Mechanism, ...]:
        """The mechanisms that have noise, with at least one group."""
        return tuple(
            mechanism
            for mechanism in self.plan.mechanisms
            if mechanism.stage_two is not None and self.plan.specification.places(*mechanism.place)
        )

    @cached_property
    def changes(self) -> dict[Place, Integers]:
        """By how much the totals of each geography and level differ, group by group."""
        changes = {}
        for mechanism in self.noisy:
            first, second = (_Truth(self.plan, mechanism, side) for side in self.counts)
            if first.totals.size != second.totals.size:
                raise InputError("the neighbour has other areas than the data; only one record may differ")
            changes[mechanism.place] = second.totals - first.totals
        return changes

    @cached_property
    def which(self) -> str:
        """The pass of the person who is left out or added."""
        changed = {at for at, change in self.changes.items() if change.any()}
        for which in self.plan.configuration.passes:
            if changed and changed <= set(self.plan.configuration.levels(which)):
                return which
        raise InputError(
            "the neighbour has the same counts as the data"
            if not changed
            else "the neighbour differs in more than one pass, so more than one record differs"
        )

    def check(self, runs: int) -> None:
        """Refuse tables that differ by more than one record, and more numbers than are kept."""
        _ = self.which
        for mechanism in self.noisy:
            change = self.changes[mechanism.place]
            groups = np.abs(change.reshape(len(self.counts[0].regions(mechanism.geography)), -1))
            if len(np.unique(change[change != 0])) > 1 or groups.max(initial=0) > 1:
                raise InputError("the neighbour must have one record more than the data, or one less")
            if groups.sum(axis=1).max(initial=0) > max(mechanism.stability.value, 1):
                raise InputError(
                    "the neighbour differs in more groups than one person can be in; one record may differ"
                )
        sizes = [
            self.changes[mechanism.place].size * int(mechanism.ladder.cells.max()) for mechanism in self.noisy
        ]
        if 2 * runs * sum(sizes) > MOST_NUMBERS:
            raise InputError(
                f"{runs} runs on each side of {sum(sizes)} cells are more numbers than the {MOST_NUMBERS} "
                "that are kept; take fewer runs, or a part of the areas"
            )

    def scope(self, looked_at: Sequence[Mechanism], unseen: Sequence[str], runs: int, written: int) -> Scope:
        """Return of what an audit is true that looked at some geographies and levels."""
        words = self.plan.configuration.tabulation.place_words
        places = Extent.of(
            "geography and level",
            taken=[words(mechanism.place) for mechanism in looked_at],
            every=[words(mechanism.place) for mechanism in self.plan.mechanisms],
        )
        files = Extent("run through files", written, runs, ())
        whole = Scope.whole(
            self.plan.configuration.tabulation.name, unit="person", neighbours=self.account.neighbours
        )
        first = (f"the first stage at {name}" for name in unseen)
        return (
            whole.with_part(places)
            .with_part(files)
            .without(*first, "each area alone", "files beside those of the groups", *OTHER_PAIRS)
        )

    @cached_property
    def account(self) -> Account:
        """What the tabulation promises the person who is left out or added."""
        return exact_account(self.plan.configuration, self.plan.specification, self.which, "unbounded")

    @cached_property
    def account_look(self) -> Seen:
        """At how many errors the account promises more than the noise of the mechanisms keeps."""
        events: list[Noise] = []
        places = set(self.plan.configuration.levels(self.which))
        for mechanism in self.plan.mechanisms:
            if mechanism.place in places:
                often = max(mechanism.stability.value, 1)
                events += [
                    law.repeated(often)
                    for law in (mechanism.stage_one, mechanism.stage_two)
                    if law is not None
                ]
        alphas = [Fraction(alpha) for alpha in ALPHAS]
        promised = np.asarray(self.account.tradeoff(alpha=alphas))
        kept = np.asarray(compose(grouped(events)).tradeoff(alpha=alphas))
        more = int(np.count_nonzero(promised > kept * (1 + 1e-7) + 1e-12))
        return Seen("account", self.which, len(alphas), more, 0.0, 0.0 if more else 1.0)

    @cached_property
    def thresholds(self) -> tuple[float, ...]:
        """Thresholds of the likelihood ratio: those of the best tests if all that is drawn were seen."""
        loss = self.account.case(self.account.main)
        thresholds = loss.law.tradeoff_thresholds([Fraction(alpha) for alpha in ALPHAS])
        return tuple(dict.fromkeys(float(threshold) for threshold in thresholds))

    def curve(self, alphas: Sequence[float]) -> Floats:
        """Return f of the account, made smaller by more than its error."""
        new = [alpha for alpha in dict.fromkeys(alphas) if alpha not in self._known]
        if new:
            asked = [Fraction(min(max(alpha, 0.0), 1.0)) for alpha in new]
            misses = np.asarray(self.account.tradeoff(alpha=asked)) * (1 - 1e-9)
            self._known.update(zip(new, misses.tolist(), strict=True))
        return np.array([self._known[alpha] for alpha in alphas])

    @cached_property
    def _known(self) -> dict[float, float]:
        return {}

    @cached_property
    def _picked(self) -> dict[Place, Picked]:
        return self.plan.picked(self.counts[0].geography)[1]

    def drawn(self, runs: int, seed: int) -> list[list[dict[Place, GroupArrays]]]:
        """Draw so many runs of each side."""
        return [[self.draw(side, run_seed(seed, side, run)) for run in range(runs)] for side in (0, 1)]

    def draw(self, side: int, seed: int) -> dict[Place, GroupArrays]:
        """Draw the noise of a run as `run` does, before negative counts are cut."""
        options = replace(self.plan.options, rehearsal=seed)
        uncut = replace(self.plan.configuration, allow_negative_counts=True)
        plan = replace(self.plan, options=options, configuration=uncut)
        vars(plan)["mechanisms"] = self.plan.mechanisms  # the same for every seed
        return plan.add_noise(
            cast("GroupCounts", self.counts[side]), rehearsal_entropy(seed), Clock(), self._picked
        )

    def mismatches(
        self, drawn: Sequence[Sequence[Mapping[Place, GroupArrays]]], seed: int, written: int, folder: Path
    ) -> tuple[int, int]:
        """Return how many groups that were written are not those drawn, of how many."""
        wrong, many = 0, 0
        cut = not self.plan.configuration.allow_negative_counts
        for side in (0, 1):
            for number in range(written):
                out = folder / f"written-{side}-{number}"
                options = replace(self.plan.options, rehearsal=run_seed(seed, side, number))
                # one list picks the tables of all ladders of the run
                lists = next(iter(self.plan.totals.values()), None)
                run(self.plan.params, self.folders[side], out, options=options, totals=lists)
                geography = self.counts[side].geography
                released = read_released(out, self.plan.specification, geography.regions).parts
                own = {at: part.clamped() if cut else part for at, part in drawn[side][number].items()}
                due, _, _ = self.plan.process(own, geography, read_water(self.plan.params))
                shutil.rmtree(out)
                for at, part in due.items():
                    many += max(part.size, 1)
                    if at not in released:
                        wrong += part.size
                    elif not _is_same(part, released[at]):
                        wrong += max(part.size, 1)
        return wrong, many


def _is_same(drawn: GroupArrays, read: GroupArrays) -> bool:
    return all(
        np.array_equal(getattr(drawn, name), getattr(read, name))
        for name in ("region", "iteration", "table", "values")
    )


class _Truth:
    """The exact counts of a geography and level: totals of all groups, and the cells of each table."""

    def __init__(self, plan: RunPlan, mechanism: Mechanism, counts: CountsInMemory) -> None:
        self.iterations: Codes = np.array(plan.specification.places(*mechanism.place), dtype=np.int32)
        regions, ladder = len(counts.regions(mechanism.geography)), mechanism.ladder
        groups, cells = counts.known_totals[mechanism.place], counts.known_cells[mechanism.place]
        self.totals = np.zeros(regions * self.iterations.size, dtype=np.int64)
        self.totals[self.place(groups)] = column(groups, "count", np.int64)
        self.cells = np.zeros((len(ladder.rungs), self.totals.size, int(ladder.cells.max())), dtype=np.int64)
        group, finest = self.place(cells), column(cells, "cell", np.int64)
        for table in range(len(ladder.rungs)):
            np.add.at(
                self.cells[table], (group, ladder.cell_of[table, finest]), column(cells, "count", np.int64)
            )

    def place(self, groups: ArrowTable) -> Integers:
        """Return the places of groups among all pairs of a region and an iteration."""
        region, iteration = (column(groups, name, np.int32) for name in ("region", "iteration"))
        return self.at(region, iteration)

    def at(self, region: Codes, iteration: Codes) -> Integers:
        """Return the places of groups by region and iteration."""
        own = np.searchsorted(self.iterations, iteration)
        return np.asarray(region.astype(np.int64) * self.iterations.size + own)


# -- the runs of a geography and level -----------------------------------------------------------------------


class _PlaceRuns:
    """All runs of a geography and level: the table of each group (-1: not published), and its noise."""

    def __init__(
        self, pair: TabulationPair, mechanism: Mechanism, runs: Sequence[Sequence[GroupArrays]]
    ) -> None:
        plan, self.mechanism = pair.plan, mechanism
        self.name = plan.configuration.tabulation.place_words(mechanism.place)
        self.truth = [_Truth(plan, mechanism, side) for side in pair.counts]
        self.change = pair.changes[mechanism.place]
        iterations = self.truth[0].iterations
        alone = np.array([iteration.total_only for iteration in plan.specification.iterations], dtype=bool)[
            iterations
        ]
        self.alone: Flags = np.tile(alone, self.change.size // max(iterations.size, 1))
        shape = len(runs[0]), self.change.size
        self.tables = [np.full(shape, -1, dtype=np.int8) for _ in runs]
        self.noise = [np.zeros((*shape, self.truth[0].cells.shape[2]), dtype=np.int64) for _ in runs]
        for side, parts in enumerate(runs):
            for number, part in enumerate(parts):
                group, widths = self.truth[side].at(part.region, part.iteration), part.widths()
                self.tables[side][number, group] = part.table
                row = np.repeat(np.arange(part.size), widths)
                cell = np.arange(row.size) - np.repeat(part.starts(), widths)
                exact = self.truth[side].cells[part.table[row], group[row], cell]
                self.noise[side][number, group[row], cell] = part.values - exact

    @cached_property
    def valid(self) -> list[tuple[Flags, Flags]]:
        """Which noise of each side has the law of the second stage, and of total-only groups, as drawn."""
        width, flags = self.noise[0].shape[2], []
        for table in self.tables:
            there = table >= 0
            if self.mechanism.suppression is not None:
                there &= table > 0
            cells = np.arange(width) < np.where(there, self.mechanism.ladder.cells[table], 0)[:, :, None]
            single = self.alone[None, :, None] & (table == 0)[:, :, None]
            flags.append((cells & ~single, cells & single))
        return flags

    @property
    def laws(self) -> tuple[tuple[str, Noise | None], ...]:
        """The laws of published numbers, in the order of `valid`."""
        return (("stage 2", self.mechanism.stage_two), ("total only", self.mechanism.total_only))

    def looks(self) -> Iterator[Seen]:
        """Yield what the runs show: noise of the cells, tables that were picked, groups that were dropped."""
        for kind, (word, law) in enumerate(self.laws):
            if law is None:
                continue
            noise, valid = self.noise, [both_kinds[kind] for both_kinds in self.valid]
            values = np.concatenate([own[here] for own, here in zip(noise, valid, strict=True)])
            if not values.size:
                continue
            even, half = values.size // 2 * 2, len(noise[0]) // 2 * 2
            pairs = {"neighbouring cells": (values[:even:2], values[1:even:2])}
            both = [here[:half:2] & here[1:half:2] for here in valid]
            pairs["runs"] = (
                np.concatenate([own[:half:2][here] for own, here in zip(noise, both, strict=True)]),
                np.concatenate([own[1:half:2][here] for own, here in zip(noise, both, strict=True)]),
            )
            here = valid[0] & valid[1]
            pairs["tables"] = noise[0][here], noise[1][here]
            yield from seen_in_values(f"{self.name}, {word}", law, values, pairs, self._leaning(kind))
        yield from self._chances()

    def _leaning(self, kind: int) -> dict[str, Integers]:
        """The noise of the cells that differ, to the side of the difference."""
        groups, leaning = np.flatnonzero(self.change), {}
        for side, word in enumerate(("shift, table", "shift, neighbour")):
            some = []
            for group in groups.tolist():
                for table, cell in enumerate(self._changed_cell(group)):
                    here = (self.tables[side][:, group] == table) & self.valid[side][kind][:, group, cell]
                    some.append(self.noise[side][here, group, cell] * self.change[group])
            leaning[word] = np.concatenate(some) if some else np.zeros(0, dtype=np.int64)
        return leaning

    def _changed_cell(self, group: int) -> list[int]:
        """The cell of each table that differs."""
        first, second = (truth.cells[:, group] for truth in self.truth)
        return [int(at) for at in np.argmax(first != second, axis=1)]

    def _picking(self, totals: Integers, table: int) -> Floats:
        """P[a group gets this table or a larger one]."""
        law, at = self.mechanism.stage_one, self.mechanism.thresholds[table - 1]
        assert law is not None
        return np.where(self.alone, 0.0, law.sf(at - totals - 1))

    def _dropping(self, totals: Integers) -> Floats:
        """P[a group is dropped]."""
        bound = self.mechanism.suppression
        assert bound is not None
        chances = np.zeros(totals.size)
        for law, own in ((self.mechanism.stage_two, ~self.alone), (self.mechanism.total_only, self.alone)):
            assert law is not None
            chances[own] = np.asarray(law.cdf(bound - totals[own]))
        return chances * (1 - self._picking(totals, 1))

    @cached_property
    def shows_stage_one(self) -> bool:
        """Whether some group may get either of two tables, so that first-stage noise can be seen."""
        if self.mechanism.stage_one is None:
            return True
        tables = range(1, len(self.mechanism.thresholds) + 1)
        chances = [self._picking(self.truth[0].totals, table) for table in tables]
        return any(((p > _SHOWN) & (p < 1 - _SHOWN)).any() for p in chances)

    def _chances(self) -> Iterator[Seen]:
        """How many groups got a larger table, and how many were dropped; rare and frequent ones apart."""
        asked: list[tuple[str, str, list[Floats], list[Flags]]] = []
        totals = [truth.totals for truth in self.truth]
        if self.mechanism.stage_one is not None:
            for table in range(1, len(self.mechanism.thresholds) + 1):
                name = self.mechanism.ladder.names[table]
                chances = [self._picking(own, table) for own in totals]
                asked.append(
                    ("picked", f"{self.name}, {name}", chances, [tables >= table for tables in self.tables])
                )
        if self.mechanism.suppression is not None:
            chances = [self._dropping(own) for own in totals]
            asked.append(("dropped", self.name, chances, [tables < 0 for tables in self.tables]))
        for kind, where, chances, happened in asked:
            for rare in (True, False):
                trials, found, expected = 0, 0, 0.0
                for chance, did in zip(chances, happened, strict=True):
                    own = (chance > _CERTAIN) & (chance < 1 - _CERTAIN) & ((chance < 0.5) == rare)
                    trials += did.shape[0] * int(own.sum())
                    found += int(did[:, own].sum())
                    expected += did.shape[0] * float(chance[own].sum())
                if trials:
                    yield summed_look(kind, where, found, trials, expected / trials)

    def beside(self, other: _PlaceRuns) -> Iterator[Seen]:
        """Yield whether the signs of two geographies or levels agree more often than they should."""
        first, second = self.mechanism.stage_two, other.mechanism.stage_two
        assert first is not None
        assert second is not None
        some: list[tuple[Integers, Integers]] = []
        for side in (0, 1):
            groups = min(self.change.size, other.change.size)
            width = min(self.noise[side].shape[2], other.noise[side].shape[2])
            mine, theirs = (part.noise[side][:, :groups, :width] for part in (self, other))
            here = np.logical_and(*(part.valid[side][0][:, :groups, :width] for part in (self, other)))
            some.append((mine[here], theirs[here]))
        pairs = [np.concatenate(column_) for column_ in zip(*some, strict=True)]
        yield from sign_look("blocks", f"{self.name} and {other.name}", (first, second), pairs[0], pairs[1])

    def log_ratios(self, side: int) -> Floats:
        """Return the log-likelihood ratio of each run, neighbour against data."""
        score = np.zeros(len(self.tables[side]))
        for group in np.flatnonzero(self.change).tolist():
            score += self._log_chance(side, group, 1) - self._log_chance(side, group, 0)
        return score

    def _log_chance(self, side: int, group: int, given: int) -> Floats:
        """The logarithm of the chance of what was published of a group, if its counts were those given."""
        mechanism, total = self.mechanism, self.truth[given].totals[[group]]
        law = mechanism.total_only if self.alone[group] else mechanism.stage_two
        assert law is not None
        tables, score = self.tables[side][:, group], np.zeros(len(self.tables[side]))
        only = self.alone[group] or mechanism.stage_one is None
        larger = (0.0,) * len(mechanism.thresholds) if only else self._at_least(total)
        at_least = [1.0, *larger, 0.0]
        for table, cell in enumerate(self._changed_cell(group)):
            here = tables == table
            values = self.noise[side][here, group, cell] + self.truth[side].cells[table, group, cell]
            score[here] = law.log_pmf(values - self.truth[given].cells[table, group, cell])
            if not only:
                score[here] += math.log(max(at_least[table] - at_least[table + 1], 1e-300))
        if mechanism.suppression is not None:
            dropped = float(law.cdf(mechanism.suppression - int(total[0]))) * (1 - at_least[1])
            score[tables < 0] = math.log(max(dropped, 1e-300))
        return score

    def _at_least(self, total: Integers) -> Iterator[float]:
        law = self.mechanism.stage_one
        assert law is not None
        for at in self.mechanism.thresholds:
            yield float(law.sf(at - int(total[0]) - 1))


def _same_runs(places: Sequence[_PlaceRuns]) -> Seen:
    """How many pairs of runs have the same tables and noise everywhere."""
    rows = [
        np.concatenate(
            [
                part.reshape(len(part), -1)
                for runs_there in places
                for part in (runs_there.tables[side], runs_there.noise[side])
            ],
            axis=1,
        )
        for side in (0, 1)
    ]
    laws = [(runs_there.mechanism.stage_two, _fewest(runs_there)) for runs_there in places]
    return repeated_runs(np.concatenate(rows), [(law, many) for law, many in laws if law is not None])


def _fewest(runs_there: _PlaceRuns) -> int:
    """The fewest numbers of the second stage that a run has: each is as likely to repeat in every run."""
    return min(int(here[0].sum(axis=(1, 2)).min()) for here in runs_there.valid)
