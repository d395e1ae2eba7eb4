"""Whole-number tables of a large tree: settled part by part, in processes, and kept in a file for each part.

Memory holds the crown of the tree and one part a process, however many parts there are. The file of a part is
written whole or not at all, and says what it was made from: the measurements, what is held exact, and the
cells of the part's roots. So a run that was interrupted goes on from the parts that are there, with the same
result. A part's cells do not depend on who settles them: one process, several, or a cluster.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import numpy as np

from discreet.accounting.parallel import stream_cases
from discreet.areas.output import arrow
from discreet.areas.tree import Integers, Numbers
from discreet.budget import Attributes
from discreet.errors import DiscreetError
from discreet.estimation.estimates import Measurements, SharedWork
from discreet.estimation.whole.by_part import (
    CutMeasurements,
    DivisibleBounds,
    Key,
    Partwise,
    cells_of_columns,
    settled_columns,
)
from discreet.estimation.whole.descent import Descent
from discreet.estimation.whole.sparse import WholeCells
from discreet.estimation.whole.subtrees import TreeCut, cut_tree
from discreet.estimation.whole.tables import CellStore, settle_here
from discreet.files import whole_file
from discreet.ledger.locks import unlock
from discreet.ledger.resumable import Resumable

CELLS = 5_000_000
"""Cells of the units of one part, on which memory depends. What has fewer is settled without processes."""

Sent = TypeVar("Sent")

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total) as work goes on."""


@dataclass(frozen=True)
class Settling:
    """How whole tables are settled: with how many processes, or on which cluster, and where parts are kept.

    Without a `folder` they are held in memory. `made_from` is what decides the result.
    """

    jobs: int = 1
    cluster: SharedWork | None = None
    folder: Path | None = None
    made_from: str = ""
    progress: Progress | None = None

    def __call__(
        self, descents: Mapping[Key, Descent], bounds: Sequence[DivisibleBounds]
    ) -> Mapping[Key, CellStore]:
        """Settle all units; return the cells of each variable, or query."""
        estimates = next(iter(descents.values())).estimates
        divided = cut_tree(estimates.given.tree, max(1, CELLS // estimates.width))
        if len(divided.parts) <= 1:
            return settle_here(descents, bounds)
        upper = divided.crown.size
        self.tell("upper areas", 0, upper)
        work = Partwise.of(descents, bounds, divided)
        self.tell("upper areas", upper, upper)
        return self.below(work)

    def below(self, work: Partwise) -> Mapping[Key, CellStore]:
        """Settle the parts below a crown; return the cells of each variable, or query, in all units."""
        divided = work.cut
        parts = PartStore(divided, work.crown, self.folder, self.made_from)
        below = [part.size - (part.roots.stop - part.roots.start) for part in divided.parts]
        todo = [number for number in range(len(below)) if not parts.has(number)]
        total = sum(below)
        settled = total - sum(below[number] for number in todo)
        self.tell("tables", settled, total)
        for number, columns in zip(todo, self.each(work, settled_columns, work.work, todo), strict=True):
            parts.add(number, cells_of_columns(columns, list(work.crown)))
            settled += below[number]
            self.tell("tables", settled, total)
        return {key: StoredCells(parts, key) for key in work.crown}

    def tell(self, stage: str, done: int, total: int) -> None:
        """Report progress, if anyone asks for it."""
        if self.progress is not None:
            self.progress(stage, done, total)

    def each(
        self,
        shared: CutMeasurements,
        function: Callable[[Sent], Mapping[str, Numbers]],
        sent: Callable[[int], Sent],
        todo: Sequence[int],
    ) -> Iterator[Mapping[str, Numbers]]:
        """Yield the columns of some parts, in order: what a `function` makes of what is `sent` to processes,
        or `shared` on a cluster."""
        if self.cluster is not None:
            return self.cluster.map(shared, [slice(number, number + 1) for number in todo])
        return stream_cases(function, map(sent, todo), jobs=min(self.jobs, len(todo)))


class PartStore:
    """The cells of all units: of the crown in memory, of each part in memory or in a file."""

    def __init__(
        self,
        divided: TreeCut,
        crown: Mapping[Key, WholeCells],
        folder: Path | None = None,
        made_from: str = "",
    ) -> None:
        self.crown = crown
        self._cut, self._folder, self._made_from = divided, folder, made_from
        self._held: dict[int, dict[Key, WholeCells]] = {}
        # by depth below the crown: where the units of each part begin, which part it is, and how many of its
        # units lie between them and its roots
        self._begin: list[tuple[Integers, Integers, Integers]] = []
        for below in range(1, len(divided.tree.depths) - divided.depth):
            rows = [
                (part.slices[below].start, number, part.starts[below] - part.starts[1])
                for number, part in enumerate(divided.parts)
                if below < len(part.slices)
            ]
            start, number, ahead = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
            self._begin.append((start, number, ahead))

    def _file(self, number: int) -> Path:
        assert self._folder is not None
        return self._folder / f"part-{number:06d}.parquet"

    def _mark(self, number: int) -> bytes:
        """Return a digest of all that decides the cells of a part."""
        part, digest = self._cut.parts[number], hashlib.sha256(self._made_from.encode())
        digest.update(repr(part.slices).encode())
        roots = np.arange(part.roots.start, part.roots.stop)
        for key, every in self.crown.items():
            cells = every.take(roots)
            digest.update(repr(key).encode())
            for column in (cells.start, cells.cell, cells.count):
                digest.update(column.astype("<i8").tobytes())
        return digest.hexdigest().encode()

    def has(self, number: int) -> bool:
        """Whether an earlier run settled this part, from the same measurements and roots."""
        if self._folder is None or not self._file(number).is_file():
            return False
        try:
            said = arrow("parquet").read_schema(self._file(number)).metadata or {}
        except (OSError, arrow().ArrowException):  # damaged
            said = {}
        return bool(said.get(b"made_from") == self._mark(number))

    def add(self, number: int, cells: Mapping[Key, WholeCells]) -> None:
        """Keep the cells of a part."""
        if self._folder is None:
            self._held[number] = dict(cells)
            return
        every = list(cells.values())
        columns = {
            "table": np.repeat(np.arange(len(every)), [len(whole_cells.cell) for whole_cells in every]),
            "unit": np.concatenate([whole_cells.places() for whole_cells in every]),
            "cell": np.concatenate([whole_cells.cell for whole_cells in every]),
            "count": np.concatenate([whole_cells.count for whole_cells in every]),
        }
        table = arrow().table(columns).replace_schema_metadata({"made_from": self._mark(number)})
        with whole_file(self._file(number), private=True) as stream:
            arrow("parquet").write_table(table, stream, compression="zstd")

    def part(self, number: int) -> Mapping[Key, WholeCells]:
        """Return the cells of a part; the last one that was read is kept."""
        if self._folder is not None and number not in self._held:
            self._held.clear()
            self._held[number] = self._read(number)
        return self._held[number]

    def _read(self, number: int) -> dict[Key, WholeCells]:
        table = arrow("parquet").read_table(self._file(number))
        of, unit, cell, count = (table.column(name).to_numpy() for name in table.column_names)
        part, tables = self._cut.parts[number], {}
        for position, key in enumerate(self.crown):
            first, last = np.searchsorted(of, [position, position + 1])
            start = np.searchsorted(unit[first:last], np.arange(part.size - part.starts[1] + 1))
            tables[key] = WholeCells(start, cell[first:last], count[first:last])
        return tables

    def where(self, units: Integers) -> tuple[Integers, Integers]:
        """Return the part of each unit (-1: the crown), and its place among those below the part's roots."""
        number, position = np.full(len(units), -1), units.copy()
        depth = np.searchsorted(self._cut.tree.starts, units, side="right") - 1
        for below, (start, numbers, ahead) in enumerate(self._begin, 1):
            here = np.flatnonzero(depth == self._cut.depth + below)
            at = np.searchsorted(start, units[here], side="right") - 1
            number[here], position[here] = numbers[at], units[here] - start[at] + ahead[at]
        return number, position


@dataclass(frozen=True)
class StoredCells:
    """The cells of one variable, or query, in all units, read part by part."""

    parts: PartStore
    key: Key

    def take(self, units: Integers) -> WholeCells:
        """Return the cells of some units, in any order."""
        number, position = self.parts.where(units)
        taken, order = [], [np.zeros(0, dtype=np.int64)]
        for part in np.unique(number).tolist():
            mine = np.flatnonzero(number == part)
            cells = self.parts.crown[self.key] if part < 0 else self.parts.part(part)[self.key]
            taken.append(cells.take(position[mine]))
            order.append(mine)
        return WholeCells.join(taken).take(np.argsort(np.concatenate(order), kind="stable"))


# -- runs that go on -----------------------------------------------------------------------------------------


def fingerprint(
    attributes: Attributes | None,
    given: Measurements,
    bounds: Sequence[DivisibleBounds],
    origins: Sequence[Mapping[str, object]],
) -> dict[str, object]:
    """Return what decides whole-number tables; `origins` say which files the measurements were read from."""
    digest = hashlib.sha256(given.tree.digest.encode())
    laws = [list(source.laws) for source in given.sources]
    for some in (attributes, laws, given.blocks, given.pieces):
        digest.update(repr(some).encode())
    arrays = [(query, units, rows) for query, (units, rows) in given.exact.items()]
    for bound in bounds:
        arrays += [(bound.table.name, bound.units, bound.lower), (bound.table.name, bound.units, bound.upper)]
    for name, units, rows in arrays:
        digest.update(name.encode() + units.astype("<i8").tobytes() + rows.astype("<f8").tobytes())
    return {
        "version": version("discreet"),
        "measurements": [dict(origin) for origin in origins],
        "known": digest.hexdigest(),
        "cells": CELLS,
    }


@contextmanager
def resumed(kept: Resumable | None) -> Iterator[None]:
    """Hold the directory in which finished parts stay if the run is interrupted. It goes when the block ends,
    and after an error that would come again."""
    if kept is None:
        yield
        return
    lock = kept.take()
    try:
        if not kept.found():
            kept.write_note()
        try:
            yield
        except BaseException as error:
            if isinstance(error, DiscreetError):
                shutil.rmtree(kept.folder, ignore_errors=True)
            raise
        shutil.rmtree(kept.folder, ignore_errors=True)
    finally:
        unlock(kept.folder, lock)


@contextmanager
def parts_within(stage: Path | None, kept: Resumable | None) -> Iterator[Path | None]:
    """Give the directory for parts: that of a run that may be resumed, or one within the output's, which is
    gone before the output appears. Without either, parts are held in memory."""
    if kept is not None or stage is None:
        yield None if kept is None else kept.folder
        return
    path = stage / "parts"
    path.mkdir()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
