"""Whole-number tables of a tree that is larger than memory: no estimate of all units is ever held.

Each part of the tree is summarised: what its measurements say of its roots. The crown, the areas above, is
settled from the summaries, and then each part from the whole cells of its roots. Measurements are read twice.
A process holds one part; this one holds the crown, and the names and parents of all units.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from discreet.estimation.input.joint_estimates import MeasuredTree
from discreet.estimation.output import part_tables
from discreet.estimation.output.part_tables import Settling
from discreet.estimation.whole.by_part import (
    TANGLED,
    CutMeasurements,
    Partwise,
    summaries_of_columns,
    summary_columns,
)
from discreet.estimation.whole.subtrees import TreeCut, cut_evenly
from discreet.estimation.whole.summary import SubtreeSummary, read_summaries, summary_bytes
from discreet.estimation.whole.tables import WholeTables, check_counts, determined
from discreet.files import whole_file


def bounded_tables(measured: MeasuredTree, settling: Settling) -> WholeTables:
    """Settle all units in memory that does not grow with them; the numbers are those of `Group.whole_tables`.

    A small tree is settled at once. Where limits of several tables meet, they are kept near to the estimates
    of all limited units, so these are made after all, and held.
    """
    check_counts(measured.given)
    lost = determined(measured.model, measured.given)
    width = sum(component.size * component.copies for component in measured.model.components)
    divided = cut_evenly(measured.tree, max(1, part_tables.CELLS // width))
    if len(divided.parts) > 1:
        above = CutMeasurements(measured.attributes, measured.given, measured.bounds, divided, lost)
        summaries = _summaries(above, settling)
        crown = None if summaries is None else above.crown_from(summaries)
        del summaries
        if crown is not None:
            work = Partwise(above.attributes, above.given, above.bounds, divided, lost, crown)
            return WholeTables.kept(measured.model, settling.below(work), lost)
    return measured.estimated().whole_tables(settling)


def _summaries(above: CutMeasurements, settling: Settling) -> dict[str, SubtreeSummary] | None:
    """Summarise all parts; nothing if limits of several tables meet below a root."""
    parts = above.cut.parts
    kept = SummaryFiles(above.cut, settling.folder if settling.made_from else None, settling.made_from)
    todo = [number for number in range(len(parts)) if kept.read(number) is None]
    total = sum(part.size for part in parts)
    done = total - sum(parts[number].size for number in todo)
    settling.tell("summaries", done, total)
    summaries: dict[str, SubtreeSummary] = {}
    columns = settling.each(above, summary_columns, above.part, todo)
    for number in range(len(parts)):
        read = kept.read(number)
        if read is None:
            some, note = summaries_of_columns(next(columns))
            if note == TANGLED:
                return None
            kept.add(number, some)
            done += parts[number].size
            settling.tell("summaries", done, total)
        else:
            some = read
        summaries |= some
    return summaries


class SummaryFiles:
    """The summaries of parts, kept in a file each for a run that goes on; without a folder nowhere."""

    def __init__(self, divided: TreeCut, folder: Path | None, made_from: str) -> None:
        self._cut, self._folder, self._made_from = divided, folder, made_from

    def _file(self, number: int) -> Path:
        assert self._folder is not None
        return self._folder / f"summary-{number:06d}.npz"

    def _mark(self, number: int) -> str:
        """Return a digest of all that decides the summaries of a part."""
        digest = hashlib.sha256(self._made_from.encode())
        digest.update(repr(self._cut.parts[number].slices).encode())
        return digest.hexdigest()

    def read(self, number: int) -> dict[str, SubtreeSummary] | None:
        """Return the summaries of a part that an earlier run made from the same measurements."""
        if self._folder is None or not self._file(number).is_file():
            return None
        try:
            summaries, mark = read_summaries(self._file(number).read_bytes())
        except ValueError:  # damaged
            return None
        return summaries if mark == self._mark(number) else None

    def add(self, number: int, summaries: dict[str, SubtreeSummary]) -> None:
        """Keep the summaries of a part."""
        if self._folder is not None:
            with whole_file(self._file(number), private=True) as stream:
                stream.write(summary_bytes(summaries, self._mark(number)))
