"""`measure`: from a table of counts to noisy measurements, estimates and a ledger entry, all or nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from discreet.budget import Release
from discreet.errors import InputError
from discreet.noise import Entropy
from discreet.release.audit import sha256
from discreet.release.commit import free, open_ledger, staging
from discreet.release.hierarchy.counts import Counts, level_pairs, read_counts
from discreet.release.hierarchy.estimates import check_whole, together, write_held
from discreet.release.hierarchy.layout import Layout
from discreet.release.hierarchy.noise import Noises, add_noise, noise_table, noises, variances
from discreet.release.hierarchy.processing import MEANING, Held, Post, check_post, process
from discreet.release.hierarchy.reading import FORMATS, table_format
from discreet.release.hierarchy.records import count_records
from discreet.release.hierarchy.writing import Folder, check_kind
from discreet.release.ledger import NOT_PRIVATE, Entry, find_ledger, now, spent
from discreet.release.signing import read_key


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run wrote, and what it spent."""

    out: Path
    ledger: Path | None
    name: str
    units: int
    cells: int
    post: Post
    rho: Fraction
    rehearsal: int | None
    files: tuple[str, ...]

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
    how = check_post(post)
    if (counts is None) == (records is None):
        raise InputError("counts or records are needed, exactly one of them")
    by_file = isinstance(records, str | os.PathLike)
    origin = counts if counts is not None else records if by_file else Path("records.parquet")
    kind = _format(format, origin)
    check_kind(kind, for_spreadsheets=for_spreadsheets)
    pairs = level_pairs(release, invariants)
    source = _entropy(rehearsal)
    if how == "consistent" and not additive:
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
        ).counts
    layout, values = found.layout, found.counts
    entry = _entry(release, found, pairs, rehearsal)
    if before is not None:
        before.allow(entry, where=str(named), again=spend_again)
    held = _held(layout, values, pairs)
    if how == "consistent" and release.attributes is not None:
        check_whole(release, layout, held)  # before any noise is drawn
    add_noise(layout, values, table, source)
    with staging(out_dir, shared, key=signer) as stage:
        mark = None if rehearsal is None else f"{NOT_PRIVATE}: rehearsal with seed {rehearsal}"
        folder = Folder(stage.path, kind, mark=mark, for_spreadsheets=for_spreadsheets)
        _write(folder, release, found, how, table, held, pairs)
        files = {name: sha256(stage.path / name) for name in folder.names}
        entry = replace(entry, id=stage.id, files=files)
        stage.commit(entry, manifest=folder.names[-1], again=spend_again)
    names = tuple(folder.names)
    return Measured(
        Path(out_dir), named, release.name, layout.tree.size, layout.size, how, entry.rho, rehearsal, names
    )


def _entry(
    release: Release, found: Counts, pairs: tuple[tuple[str, str], ...], rehearsal: int | None
) -> Entry:
    """Return what a ledger says about the run before anything is written."""
    return Entry(
        id="",
        time=now(),
        version=version("discreet"),
        command="measure",
        release=release,
        rehearsal=rehearsal,
        inputs=found.inputs,
        tree=found.layout.tree.digest,
        exact=pairs,
    )


def _write(
    folder: Folder,
    release: Release,
    found: Counts,
    how: Post,
    table: Noises,
    held: Held | None,
    pairs: tuple[tuple[str, str], ...],
) -> None:
    layout, values = found.layout, found.counts
    sizes = variances(layout, table)
    plain = process("none", layout, values, sizes)
    folder.cells("measurements", layout, plain.columns)
    del plain
    columns = {"measurements": {"variance": MEANING["none"]}}
    if how != "none":
        if how == "consistent" and release.attributes is not None:
            laws = {key: table[layout.tree.levels[key[0]], key[1]] for key in sizes}
            folder.cells("estimates", *together(layout, values, laws, held, release.attributes))
        else:
            estimates = process(how, layout, values, sizes, held)
            folder.cells("estimates", estimates.layout, estimates.columns)
        columns["estimates"] = {"variance": MEANING[how]}
    folder.units(layout.tree)
    if held is not None:
        write_held(folder, layout, held)
    folder.text("release", "toml", release.to_toml())
    folder.json(
        "manifest",
        {
            "format": "discreet measurements 1",
            "version": version("discreet"),
            "release": release.name,
            "post": how,
            "rho": str(spent(release)),
            "units": layout.tree.size,
            "cells": layout.size,
            "columns": columns,
            "exact": [list(pair) for pair in pairs],
            "noise": noise_table(layout, table),
        },
    )


def _held(layout: Layout, values: Any, pairs: tuple[tuple[str, str], ...]) -> Held | None:
    if not pairs:
        return None
    masks: dict[str, Any] = {}
    for level, query in pairs:
        inside = np.array([level in run.split("+") for run in layout.tree.levels])[layout.tree.level]
        mask = inside & (layout.first(query) >= 0)
        masks[query] = masks.get(query, False) | mask
    return Held(masks, values.copy())


def _format(asked: str | None, counts: str | os.PathLike[str]) -> str:
    kind = table_format(counts) if asked is None else asked
    if kind not in FORMATS:
        raise InputError(f"format is {kind!r}; it must be csv or parquet")
    return kind


def _entropy(rehearsal: int | None) -> Entropy | None:
    if rehearsal is None:
        return None
    if isinstance(rehearsal, bool) or not isinstance(rehearsal, int):
        raise InputError(f"rehearsal is {rehearsal!r}; a seed is a whole number")
    from discreet.testing import NotPrivateSeededEntropy

    return NotPrivateSeededEntropy(rehearsal)
