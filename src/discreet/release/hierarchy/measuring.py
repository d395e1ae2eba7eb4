"""`measure`: from a table of counts to noisy measurements, estimates and a ledger entry, all or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from discreet.budget import Release
from discreet.errors import InputError
from discreet.estimation.model import Noises, noises
from discreet.estimation.tables import check_whole
from discreet.estimation.tree import Floats, Integers
from discreet.noise import Entropy, Noise, sample
from discreet.release.audit import sha256
from discreet.release.commit import free, open_ledger, staging
from discreet.release.hierarchy.counts import CountTable, count_records, level_pairs, read_counts
from discreet.release.hierarchy.estimates import write_estimates
from discreet.release.hierarchy.joint import JointEstimates
from discreet.release.hierarchy.layout import Layout
from discreet.release.hierarchy.noisy import Exact, Laws, cell_order, published
from discreet.release.hierarchy.tables import Folder, output_format, table_format
from discreet.release.ledger import NOT_PRIVATE, Entry, find_ledger, now, spent
from discreet.release.signing import read_key

POSTS = ("none", "nonnegative", "consistent")
"""Estimates beside the measurements: none, values below zero set to zero, or those of `estimate`."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run wrote, and what it spent."""

    out: Path
    ledger: Path | None
    name: str
    units: int
    cells: int
    post: str
    rho: Fraction
    rehearsal: int | None
    files: tuple[str, ...]
    unit: str
    neighbours: str
    exact: tuple[tuple[str, str], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON says."""
        return {
            "release": self.name,
            "unit": self.unit,
            "neighbours": self.neighbours,
            "rho": str(self.rho),
            "rehearsal": self.rehearsal,
            "not_private": self.rehearsal is not None,
            "exact": [list(pair) for pair in self.exact],
            "post": self.post,
            "units": self.units,
            "cells": self.cells,
            "out": str(self.out),
            "files": list(self.files),
            "ledger": None if self.ledger is None else str(self.ledger),
        }

    def __str__(self) -> str:
        cost = f"rho {self.rho}" if self.rehearsal is None else f"{NOT_PRIVATE}, seed {self.rehearsal}"
        return (
            f"{self.name}: {self.cells} noisy cells of {self.units} units in {self.out}, {cost}\n"
            f"  {', '.join(self.files)}\n  {f'ledger {self.ledger}' if self.ledger else 'no ledger'}"
        )


def measure(
    release: Release,
    counts: str | os.PathLike[str] | None,
    out_dir: str | os.PathLike[str],
    *,
    post: str = "none",
    units: str | os.PathLike[str] | None = None,
    cells: str | os.PathLike[str] | None = None,
    records: Any = None,
    geocodes: str | None = None,
    person: str | None = None,
    at_most: int | None = None,
    excess: str = "refuse",
    invariants: Sequence[tuple[str, str]] = (),
    ledger: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    spend_again: bool = False,
    rehearsal: int | None = None,
    additive: bool = True,
    format: str | None = None,
    for_spreadsheets: bool = False,
) -> Measured:
    """Add the noise of `release` to a table of counts and write the result to a new directory `out_dir`.

    `counts` has the columns unit, parent, level, query, cell and count (CSV or Parquet). `units` (unit,
    level, parent) may state the tree instead, `cells` (query, cell) the cells, so that rows with zeros may be
    left out. Instead of counts, `records` may be given with all `units`: they are counted as `tabulate`
    does, with its `geocodes`, `person`, `at_most` and `excess`. `invariants` are pairs of a level and a
    query that are held exact, outside the guarantee. `ledger` is the ledger of the population; without it,
    the one that the environment names (DISCREET_LEDGER) or `discreet-ledger.json` beside the counts is
    used, and if there is none, nothing is noted. `key` is the file of the key if the ledger is signed.
    Counts that the ledger has a run of are refused unless `spend_again`. `rehearsal` is a seed:
    reproducible noise that protects nobody, in files marked so. Tables are written in the `format` of the
    counts, or another; `for_spreadsheets` puts an apostrophe before names that a spreadsheet would take for
    a formula.

    Guarantee. Assumed: one record is counted in one unit of each level, along the tree, and as often as
    the release says; the units and cells do not depend on the records; the system's random bits are good.
    Claimed: what is written, but for invariants and the ledger (which holds a hash of the input and is not
    published), is the release's mechanism on the counts, with the noise of `discreet.noise`, and functions of
    its outcome. So it costs what `release.account()` says. Output and ledger entry both appear, or neither.
    """
    if post not in POSTS:
        raise InputError(f"post is {post!r}; it must be none, nonnegative or consistent")
    if (counts is None) == (records is None):
        raise InputError("counts or records are needed, exactly one of them")
    by_file = isinstance(records, str | os.PathLike)
    origin = counts if counts is not None else records if by_file else Path("records.parquet")
    kind = output_format(format, "" if format else table_format(origin), for_spreadsheets=for_spreadsheets)
    pairs = level_pairs(release, invariants)
    source = _entropy(rehearsal)
    if post == "consistent" and not additive:
        raise InputError(
            "post is consistent, which needs counts that add up; leave additive=False (--not-additive) out"
        )
    table = noises(release)
    free(out_dir)
    named = find_ledger(ledger, origin)
    signer = None if named is None else read_key(key)
    shared, before = (None, None) if named is None else open_ledger(named, out_dir)
    if counts is not None:
        found = read_counts(release, counts, units=units, cells=cells, additive=additive)
    else:
        found = count_records(
            release, records, units=units, geocodes=geocodes, person=person, at_most=at_most, excess=excess
        )
    layout = found.layout
    entry = Entry(
        id="",
        time=now(),
        version=version("discreet"),
        command="measure",
        release=release,
        rehearsal=rehearsal,
        inputs=found.inputs,
        tree=layout.tree.digest,
        exact=pairs,
    )
    if before is not None:
        before.allow(entry, where=str(named), again=spend_again)
    run = _Run(release, found, pairs, _exact(found, pairs), laws_of(layout, table), source, post)
    if post == "consistent":  # what cannot be done is said before any noise is drawn
        for query in layout.queries:
            cell_order(layout, query, release.attributes)
        check_whole(release, layout.tree, run.exact)
    with staging(out_dir, shared, key=signer) as stage:
        mark = None if rehearsal is None else f"{NOT_PRIVATE}: rehearsal with seed {rehearsal}"
        folder = Folder(stage.path, kind, mark=mark, for_spreadsheets=for_spreadsheets)
        run.write(folder)
        files = {name: sha256(stage.path / name) for name in folder.names}
        entry = replace(entry, id=stage.id, files=files)
        stage.commit(entry, manifest=folder.names[-1], again=spend_again)
    return Measured(
        Path(out_dir),
        named,
        release.name,
        layout.tree.size,
        layout.size,
        post,
        entry.rho,
        rehearsal,
        tuple(folder.names),
        release.unit,
        release.neighbours,
        pairs,
    )


def laws_of(layout: Layout, table: Noises) -> dict[tuple[int, str], Noise]:
    """Return the noise by kind of unit and query, kinds being levels."""
    kinds = enumerate(zip(layout.tree.levels, layout.asked, strict=True))
    return {(kind, query): table[level, query] for kind, (level, some) in kinds for query in some}


@dataclass(frozen=True)
class _Run:
    """All that a run writes of: validated counts, what is held exact, and the noise to be drawn."""

    release: Release
    found: CountTable
    pairs: tuple[tuple[str, str], ...]
    exact: Exact
    laws: Laws
    source: Entropy | None
    post: str

    def write(self, folder: Folder) -> None:
        """Draw the noise, once, and write what comes of it, some units at a time."""
        layout = self.found.layout
        drawn = _drawn(self.found, self.laws, self.source)
        kept = None if self.post == "none" else np.empty(layout.size, dtype=np.int64)
        pattern = np.concatenate(
            [np.full(len(layout.cells[query]), law.true_variance()) for (_, query), law in self.laws.items()]
        )

        def measured(units: slice, rows: slice) -> dict[str, Any]:
            values = drawn(rows.stop - rows.start)
            if kept is not None:
                kept[rows] = values
            return {"value": values, "variance": pattern[layout.columns(units)]}

        folder.cells("measurements", layout, measured)
        columns = {"measurements": {"variance": "the variance of the noise"}}
        if kept is not None:
            columns["estimates"] = self._estimates(folder, kept, pattern)
        folder.units(layout.tree)
        if self.exact:
            folder.cells("invariants", *_held(layout, self.exact))
        folder.text("release", "toml", self.release.to_toml())
        folder.json(
            "manifest",
            {
                "format": "discreet measurements 1",
                "version": version("discreet"),
                "release": self.release.name,
                "post": self.post,
                "rho": str(spent(self.release)),
                "units": layout.tree.size,
                "cells": layout.size,
                "columns": columns,
                "exact": [list(pair) for pair in self.pairs],
                "noise": _noise_table(layout, self.laws),
            },
        )

    def _estimates(self, folder: Folder, values: Integers, pattern: Floats) -> dict[str, str]:
        """Write the estimates that are asked for; return what their columns are."""
        layout, exact = self.found.layout, self.exact
        if self.post == "consistent":
            given = published(layout, values, self.laws, exact, self.release.attributes, folder.kind)
            return write_estimates(folder, JointEstimates.of([given]), tables=True).columns
        estimate, variance = np.maximum(values, 0), pattern[layout.columns(slice(0, layout.tree.size))]
        for query, (who, counts) in exact.items():
            rows = layout.first(query)[who][:, None] + np.arange(counts.shape[1])
            estimate[rows], variance[rows] = counts, 0.0
        folder.cells("estimates", layout, {"estimate": estimate, "variance": variance})
        return {"variance": "the variance of the noise, before values below zero were set to zero"}


def _held(layout: Layout, exact: Exact) -> tuple[Layout, dict[str, Integers]]:
    """Lay out the counts that are held exact as a table of their own."""
    masks = np.zeros((len(exact), layout.tree.size), dtype=bool)
    for place, (who, _) in enumerate(exact.values()):
        masks[place, who] = True
    kinds, kind = np.unique(masks, axis=1, return_inverse=True)
    asked = tuple(tuple(query for query, on in zip(exact, one, strict=True) if on) for one in kinds.T)
    part = Layout(layout.tree, layout.cells, asked, kind.ravel())
    vector = np.empty(part.size, dtype=np.int64)
    for query, (who, rows) in exact.items():
        vector[part.first(query)[who][:, None] + np.arange(rows.shape[1])] = rows
    return part, {"count": vector}


def _drawn(found: CountTable, laws: Laws, source: Entropy | None) -> Callable[[int], Integers]:
    """Return a function that gives the next so many noisy counts; the noise is drawn for many at a time."""
    parts = found.layout.chunks(DRAWN)
    left: Integers = np.empty(0, dtype=np.int64)

    def take(many: int) -> Integers:
        nonlocal left
        while len(left) < many:
            units, _ = next(parts)
            values = found.read(units)
            add_noise(found.layout, values, laws, source, units)
            left = np.concatenate([left, values])
        taken, left = left[:many], left[many:]
        return taken

    return take


DRAWN = 1 << 23
"""Cells that get their noise at a time. A rehearsal draws in this order, so it is part of its seed."""


def _exact(found: CountTable, pairs: tuple[tuple[str, str], ...]) -> Exact:
    """Return the counts that are published without noise."""
    layout = found.layout
    masks: dict[str, Any] = {}
    for level, query in pairs:
        inside = np.array([level in run.split("+") for run in layout.tree.levels])[layout.tree.kind]
        masks[query] = masks.get(query, False) | (inside & (layout.first(query) >= 0))
    exact: Exact = {}
    for query, mask in masks.items():
        who, cells = np.flatnonzero(mask), np.arange(len(layout.cells[query]))
        rows = np.zeros((len(who), len(cells)), dtype=np.int64)
        first = layout.first(query)
        for place, unit in enumerate(who.tolist()):
            counts = found.read(slice(unit, unit + 1))
            rows[place] = counts[first[unit] - layout.base[unit] + cells]
        exact[query] = who, rows
    return exact


def _entropy(rehearsal: int | None) -> Entropy | None:
    if rehearsal is None:
        return None
    if isinstance(rehearsal, bool) or not isinstance(rehearsal, int):
        raise InputError(f"rehearsal is {rehearsal!r}; a seed is a whole number")
    from discreet.testing import NotPrivateSeededEntropy

    return NotPrivateSeededEntropy(rehearsal)


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
                draws = sample(laws[kind, query], (part.size, width), source=source)
                counts[part[:, None] + np.arange(width)] += draws


def _noise_table(layout: Layout, laws: Laws) -> list[dict[str, Any]]:
    """Return the noise of each level and query as a manifest lists it: exact, as a variance, as a margin."""
    rows = []
    for (kind, query), noise in laws.items():
        key = "variance_parameter" if noise.PARAMETER == "variance" else noise.PARAMETER
        rows.append(
            {
                "level": layout.tree.levels[kind],
                "query": query,
                "noise": noise.FAMILY,
                key: str(noise.size),
                "variance": noise.true_variance(),
                "margin_95": noise.quantile("0.975"),
                "cells": len(layout.cells[query]),
            }
        )
    return rows
