"""`perturb`: from records to a hypercube with the noise of a perturbation table, and a ledger entry.

All or nothing. Keys come from a secret and the definition of each cell, or from a column of record keys. With
the first, noises are independent, also those of empty cells, so that costs add up: the run can be entered in
a ledger. With the second, as offices have it, nothing is claimed and nothing entered: what the joint noise of
cells with common records gives away, `discreet cellkey account` says.

What is entered. The errors a test of a cell's two laws can have lie above the trade-off of (epsilon, delta),
max(0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)). That is exactly the trade-off of an experiment
that gives all away with probability delta, and else shows a count with discrete Laplace noise of scale
1 / epsilon, whose loss is epsilon or -epsilon. By Blackwell's theorem the cell is a function of that
experiment, and the k independent cells of one record are one of k such experiments. None gives all away, but
with probability k delta. So the entry has a release of Laplace noise, one query for each margin, and its
`delta`, k delta, is added to that of any account of the release.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from importlib.metadata import version
from math import ceil
from pathlib import Path
from typing import Literal

import numpy as np

from discreet.areas.output import Folder, coded, output_format, read_output
from discreet.areas.tree import Integers
from discreet.budget import Attributes, Level, Neighbours, Query, Release
from discreet.budget.presets import load_attributes
from discreet.budget.scope import Extent, Scope
from discreet.cellkey import PerturbationTable, named_table, read_perturbation_table
from discreet.cellkey.design import worst_delta
from discreet.cellkey.fraction_law import FractionLaw, certain_together, exp_interval, together
from discreet.cellkey.lookup import NoiseLookup
from discreet.cellkey.margins import (
    CountedCube,
    CubeMargin,
    KeyedRecords,
    check_order,
    check_total,
    counted_cube,
    margins_of,
    read_coded,
    refuse_too_many,
    unravelled,
)
from discreet.cellkey.questions import CellKeying
from discreet.cellkey.secret import CellSecret, SecretFile, open_secret
from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.files import ArrowArray
from discreet.ledger.admission import Request
from discreet.ledger.entry import Entry
from discreet.ledger.release_run import ReleaseRun
from discreet.numbers import brief, float_up, positive
from discreet.questions import asked_with
from discreet.records.engine import connect
from discreet.rehearsal import rehearsal_entropy
from discreet.tables import Numbers
from discreet.tables.frames import DataFrame, as_pandas

TOTAL = "_T"
"""What stands in the place of a value where an attribute is summed over: the code of SDMX for a total."""

MOST_CELLS = 200_000_000
"""Cells of a hypercube, empty ones included, that can be given keys."""

ROWS = 1 << 20
"""Cells that are given keys at a time."""

_SMALLEST = Fraction(1, 10**12)
"""Deltas of entries are rounded up to a multiple."""


@dataclass(frozen=True, slots=True)
class ComposedCells:
    """What all cells that one record can change cost together: `delta` at `epsilon`, and at any epsilon.

    Exact for a table of one law for every count, if it says so; else an upper bound.
    """

    changed: int
    epsilon: Fraction
    delta: Fraction
    certain: Fraction
    is_exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturbed(Summarised):
    """What a run wrote, and what it costs.

    One record is in `margins` cells, one of each margin. `epsilon_of_one_cell` and `delta_of_one_cell` are
    those of one cell, with one record more or less; `composed` is what all cells cost together that one
    record changes. The last two are None where nothing is claimed, because keys are those of records or empty
    cells are left out.
    """

    keys: Literal["definition", "records"]
    table: str
    attributes: tuple[str, ...]
    margins: int
    cells: int
    rows: int
    empty: Literal["keyed", "none"]
    zeros: bool
    unit: str
    neighbours: Neighbours
    epsilon_of_one_cell: Fraction
    delta_of_one_cell: Fraction | None
    scope_of_one_cell: Scope
    composed: ComposedCells | None
    rehearsal: int | None
    not_private: bool
    secret: Path | None
    new_secret: bool
    out: Path
    files: tuple[str, ...]
    ledger: Path | None

    def to_frame(self, table: str = "") -> DataFrame:
        """Return the cells as a DataFrame of pandas."""
        return as_pandas(read_output(self.out, table or "cells", self.attributes))


@asked_with(CellKeying)
def perturb(asked: CellKeying) -> Perturbed:
    """Count a hypercube and add the noise of a perturbation table, by cell keys, into a new directory `out`.

    `records` have a column for each of `attributes`, whose values are all public: [attributes] of a TOML
    file, or an `Attributes`. Written is every margin that splits up to `order` attributes, by default all.
    Where an attribute is summed over, its column says _T. Values below zero are written as 0.

    Keys come from the file `secret`, which is made if it does not exist, and the definition of the cell. Then
    empty cells have keys too, unless `empty` is "none". Rows with a published 0 are left out unless `zeros`:
    what is not listed is 0. With `record_key`, keys are the sums of that column over the records of a cell,
    modulo 1 or the number of keys of an ONS or ABS table, and empty cells have none: their 0 is exact.

    `ledger` is that of the population; without it, the one that the environment names (DISCREET_LEDGER), a
    policy, or `discreet-ledger.json` beside the records is used, and if there is none, nothing is noted. The
    cost is stated at `epsilon` a cell, for one `unit` of these `neighbours`. A run with record keys, or that
    leaves empty cells out, has no cost that could be entered, so it is refused where there is a ledger.
    `rehearsal` is a seed: keys that can be repeated and protect nobody, in files marked so.

    Guarantee. Assumed: a person has one record; attributes and values do not depend on the records; the
    secret is known to nobody; HMAC-SHA-256 and AES-256 are pseudorandom. Claimed, with keys from definitions
    and empty cells keyed: noises of different cells are independent and follow the rows of the table exactly,
    so the output is a composition of as many cells as there are margins, each (epsilon, delta)-private.
    Output, ledger entry and a new secret appear together, or none does (tests/cellkey/test_cellkey_run.py).
    """
    plan = _plan(asked)
    run = ReleaseRun(
        asked.out,
        reads=(asked.records,),
        request=Request(spend_again=asked.spend_again, no_noise=plan.delta is None),
        ledger=asked.ledger,
        key=asked.key,
        rehearsal=asked.rehearsal,
    )
    _check_ledger(plan, run.ledger)
    run.open()
    modulus = plan.lookup.table.modulus
    records = read_coded(asked.records, plan.attributes, record_key=asked.record_key, modulus=modulus)
    if plan.secret is not None:
        plan.secret.check(records.sha256)
    entry = plan.entry(records)
    if entry is None:
        run.state_no_cost()
    else:
        run.spend(entry)
    if plan.secret is not None and plan.secret.is_new:
        run.with_file(plan.secret.path, partial(plan.secret.write, records.sha256))
    kind = output_format(asked.format, records.format)
    with connect(memory=asked.memory, threads=asked.threads) as engine, run.writing(kind) as folder:
        with counted_cube(engine, records, modulus=modulus) as base:
            rows = plan.write(folder, base)
        folder.json("manifest", plan.manifest(rows))
    return Perturbed(
        keys=plan.keys,
        table=plan.lookup.table.name,
        attributes=plan.attributes.names,
        margins=len(plan.margins),
        cells=plan.cells,
        rows=rows,
        empty=plan.empty,
        zeros=asked.zeros,
        unit=asked.unit,
        neighbours=asked.neighbours,
        epsilon_of_one_cell=plan.epsilon,
        delta_of_one_cell=plan.delta,
        scope_of_one_cell=plan.scope_of_one_cell,
        composed=plan.composed,
        rehearsal=asked.rehearsal,
        not_private=asked.rehearsal is not None,
        secret=None if plan.secret is None else plan.secret.path,
        new_secret=plan.secret is not None and plan.secret.is_new,
        out=Path(asked.out),
        files=run.files,
        ledger=run.ledger,
    )


@dataclass(frozen=True)
class _Plan:
    """What decides all that a run does, before a record is read."""

    asked: CellKeying
    attributes: Attributes
    lookup: NoiseLookup
    margins: tuple[CubeMargin, ...]
    secret: SecretFile | None
    epsilon: Fraction
    delta: Fraction | None

    @property
    def keys(self) -> Literal["definition", "records"]:
        """Where keys come from."""
        return "definition" if self.asked.record_key is None else "records"

    @property
    def empty(self) -> Literal["keyed", "none"]:
        """Whether empty cells have keys: those of records give them none."""
        return self.asked.empty if self.asked.record_key is None else "none"

    @property
    def cells(self) -> int:
        """The cells of all margins, empty ones included."""
        return sum(margin.cells for margin in self.margins)

    @property
    def scope_of_one_cell(self) -> Scope:
        """Of what `epsilon` and `delta` are true: any one cell of all there are."""
        cells = Extent("cell", 1, self.cells, ())
        return Scope.whole("the hypercube", unit=self.asked.unit, neighbours=self.asked.neighbours).with_part(
            cells
        )

    @cached_property
    def composed(self) -> ComposedCells | None:
        """What all cells cost together that one record changes; None if nothing is claimed."""
        if self.delta is None:
            return None
        margins = len(self.margins)
        if self.asked.neighbours == "unbounded":
            changed = margins
        else:  # a record leaves its cells, and another joins as many, of margins in which they can differ
            changed = 2 * sum(any(size > 1 for size in margin.sizes) for margin in self.margins)
        return composed_cells(
            self.lookup.table, changed, self.epsilon, self.delta, swaps=self.asked.neighbours == "bounded"
        )

    @property
    def left_over(self) -> Fraction | None:
        """The delta of all cells of one record together, rounded up; None if nothing is claimed."""
        if self.delta is None:
            return None
        return ceil(len(self.margins) * self.delta / _SMALLEST) * _SMALLEST

    def entry(self, records: KeyedRecords) -> Entry | None:
        """Return the draft of the ledger entry; None if nothing is claimed that could be entered."""
        if self.left_over is None or self.left_over >= 1:
            return None
        names = self.attributes.names
        queries = [
            Query(
                name=" * ".join(names[attribute] for attribute in margin.attributes) or "total",
                scale=1 / self.epsilon,
            )
            for margin in self.margins
        ]
        release = Release(
            name=f"cell keys with {Path(self.lookup.table.name).name}",
            unit=self.asked.unit,
            neighbours=self.asked.neighbours,
            levels=[Level(name="hypercube", queries=queries)],
            kind="bound",
            reason="Laplace noise stands for each cell at its epsilon.",
        )
        return Entry(
            command="cellkey run",
            release=release,
            delta=self.left_over,
            inputs=(records.origin,),
        )

    def manifest(self, rows: int) -> dict[str, object]:
        """Return what the output says about itself."""
        return {
            "format": "discreet cell keys 2",
            "version": version("discreet"),
            "table": {"name": Path(self.lookup.table.name).name, "digest": self.lookup.digest},
            "keys": self.keys,
            "attributes": {name: list(values) for name, values in self.attributes.values},
            "margins": len(self.margins),
            "order": max(len(margin.attributes) for margin in self.margins),
            "cells": self.cells,
            "rows": rows,
            "empty": self.empty,
            "zeros": self.asked.zeros,
            "total": TOTAL,
            "of_one_cell": None
            if self.delta is None
            else {"epsilon": str(self.epsilon), "delta": _rounded_up(self.delta)},
            "of_all_cells_of_one_record": None
            if self.composed is None
            else {
                "cells_changed": self.composed.changed,
                "epsilon": str(self.composed.epsilon),
                "delta": _rounded_up(self.composed.delta),
                "delta_at_any_epsilon": _rounded_up(self.composed.certain),
                "kind": "exact" if self.composed.is_exact else "at most",
            },
            "neighbours": self.asked.neighbours,
        }

    def write(self, folder: Folder, base: CountedCube) -> int:
        """Write the cells, margin by margin; return how many rows there are."""
        rows = 0

        def parts() -> Iterator[dict[str, ArrowArray]]:
            nonlocal rows
            for margin in self.margins:
                for cells, values in self._published(base, margin):
                    rows += len(cells)
                    yield self._columns(margin, cells, values)

        folder.parts("cells", parts())
        return rows

    def _published(self, base: CountedCube, margin: CubeMargin) -> Iterator[tuple[Integers, Integers]]:
        """Yield cells of a margin, by number, and what is published of them."""
        occupied, counts, keys = base.margin(margin)
        if self.keys == "records":
            values = self.lookup.published(counts, keys, base.modulus)
            # a 0 that is listed would show that its cell is not empty
            yield occupied[values > 0], values[values > 0]
            return
        assert self.secret is not None or self.asked.rehearsal is not None
        names = [self.attributes.names[attribute] for attribute in margin.attributes]
        codes = [self._secret.codes(name, dict(self.attributes.values)[name]) for name in names]
        every = margin.cells if self.empty == "keyed" else len(occupied)
        for start in range(0, every, ROWS):
            if self.empty == "keyed":
                cells = np.arange(start, min(start + ROWS, every))
                known = np.zeros(len(cells), dtype=np.int64)
                first, last = np.searchsorted(occupied, [start, start + ROWS])
                known[occupied[first:last] - start] = counts[first:last]
            else:
                cells, known = occupied[start : start + ROWS], counts[start : start + ROWS]
            mine = [code[at] for code, at in zip(codes, unravelled(cells, margin), strict=True)]
            cell_keys = self._secret.cell_keys(
                names, mine, table=self.lookup.digest, modulus=self.lookup.keys
            )
            values = self.lookup.published(known, cell_keys, self.lookup.keys)
            shown = np.ones(len(cells), dtype=bool) if self.asked.zeros else values > 0
            yield cells[shown], values[shown]

    @property
    def _secret(self) -> CellSecret:
        if self.asked.rehearsal is not None:
            return CellSecret.rehearsal(self.asked.rehearsal)
        assert self.secret is not None
        return self.secret.secret

    def _columns(self, margin: CubeMargin, cells: Integers, values: Integers) -> dict[str, ArrowArray]:
        """Return rows of the output: a value of each attribute, or the word for a total, and the count."""
        at: dict[int, Numbers] = dict(zip(margin.attributes, unravelled(cells, margin), strict=True))
        columns = {}
        for number, (name, words) in enumerate(self.attributes.values):
            codes = at.get(number, np.full(len(cells), len(words)))
            columns[name] = coded(codes, [*words, TOTAL])
        return {**columns, "count": values}


def _plan(asked: CellKeying) -> _Plan:
    """Read everything but the records; what is wrong with it is said at once."""
    problems: list[str] = []

    def attempt(reader: object, *arguments: object) -> object:
        try:
            return reader(*arguments)  # type: ignore[operator]
        except InputError as error:
            problems.append(str(error))
            return None

    given = asked.attributes
    attributes = given if isinstance(given, Attributes) else attempt(load_attributes, given)
    table = asked.table
    if not isinstance(table, PerturbationTable):
        attempted = attempt(_table, table)
        table = attempted if isinstance(attempted, PerturbationTable) else None
    looked_up = None if table is None else attempt(NoiseLookup, table)
    if isinstance(attributes, Attributes):
        check_order(asked.order, attributes, problems)
        check_total(attributes, TOTAL, problems)
    problems += _misused(asked)
    epsilon = attempt(lambda: positive(asked.epsilon, name="epsilon"))
    attempt(rehearsal_entropy, asked.rehearsal)
    secret = None
    if asked.secret is not None and not problems:
        secret = attempt(open_secret, asked.secret)
    if problems:
        raise InputError(problems[0] if len(problems) == 1 else "\n".join(["several problems:", *problems]))
    assert isinstance(attributes, Attributes)
    assert isinstance(looked_up, NoiseLookup)
    assert isinstance(epsilon, Fraction)
    margins = margins_of(attributes, asked.order)
    keyed = asked.record_key is None and asked.empty == "keyed"
    if keyed:
        refuse_too_many(sum(margin.cells for margin in margins), MOST_CELLS)
    delta = cell_delta(looked_up.table, epsilon) if keyed else None
    kept = secret if isinstance(secret, SecretFile) else None
    return _Plan(asked, attributes, looked_up, margins, kept, epsilon, delta)


def _table(source: object) -> PerturbationTable:
    """Return the table of maximum entropy that a name stands for, such as D5V3js2, or that of a file."""
    known = named_table(source) if isinstance(source, str) else None
    return read_perturbation_table(source) if known is None else known


def _misused(asked: CellKeying) -> Iterator[str]:
    """Report options that do not belong together."""
    if asked.record_key is None and asked.secret is None and asked.rehearsal is None:
        yield (
            "keys need a secret or a column of record keys: name a file for the secret (--secret), which is "
            "made if it does not exist, or the column (--record-key)"
        )
    if asked.record_key is not None and (asked.secret is not None or asked.rehearsal is not None):
        other = "a secret" if asked.secret is not None else "a rehearsal"
        yield f"a column of record keys is given and {other} too; keys come from one of them"
    if asked.secret is not None and asked.rehearsal is not None:
        yield "a rehearsal has no secret: leave --secret out, so that a seed is never taken for it"
    if asked.record_key is not None and asked.zeros:
        yield "with record keys a 0 that is listed shows a cell that is not empty: leave --zeros out"
    if asked.empty not in ("keyed", "none"):
        yield f"empty is {asked.empty!r}; it must be keyed or none"
    if asked.secret is not None and os.path.realpath(asked.secret).startswith(
        os.path.realpath(asked.out) + os.sep
    ):
        yield f"the secret {asked.secret} would lie in the output, which is published; name another place"


def _check_ledger(plan: _Plan, named: Path | None) -> None:
    if named is None:
        return
    if plan.delta is None:
        how = "keys are those of records" if plan.keys == "records" else "empty cells are left out"
        raise InputError(
            f"the run is to be entered in the ledger {named}, but {how}, so that no cost can be stated: let "
            "keys come from a secret (--secret), with empty cells keyed, or use no ledger"
        )
    left = plan.left_over
    assert left is not None
    moves = plan.asked.neighbours == "bounded"  # a record leaves as many cells as another joins
    if left * (1 + moves) >= 1:
        many = len(plan.margins)
        cells = f"{many} cell{'s' * (many != 1)}"
        does = f"one record leaves {cells} and joins as many" if moves else f"one record is in {cells}"
        raise InputError(
            f"the run is to be entered in the ledger {named}, but {does}, each "
            f"with delta {brief(plan.delta)} at epsilon {brief(plan.epsilon)}: together they "
            "promise nothing. Publish fewer margins (--order), use a table with a smaller delta (discreet "
            "cellkey design), or state a larger epsilon (--epsilon)"
        )


def composed_cells(
    table: PerturbationTable, changed: int, epsilon: Fraction, delta: Fraction, *, swaps: bool = False
) -> ComposedCells:
    """Return what so many cells cost together, keys coming from definitions, at this epsilon.

    `delta` is that of one cell. With one law for every count the cells are a product of that law, and, if a
    record replaces another (`swaps`), half of them lose one. With several laws each cell is a function of one
    that gives all away with probability delta, and else has a loss of epsilon or -epsilon.

    >>> from discreet.cellkey import perturbation_table
    >>> table = perturbation_table({0: {-1: "1/4", 0: "1/2", 1: "1/4"}})
    >>> composed = composed_cells(table, 2, Fraction(1), Fraction(1, 4))
    >>> composed.certain, composed.is_exact
    (Fraction(7, 16), True)
    """
    if table.last == 0 and table.large is None:
        law = FractionLaw.of(*(table.law(count, keying="definition") for count in (0, 1)))
        is_exact = True
    else:
        ratio, left = exp_interval(epsilon).upper, 1 - delta
        more, less = left * ratio / (1 + ratio), left / (1 + ratio)
        nothing = Fraction(0)
        law = FractionLaw(((delta, nothing), (more, less), (less, more), (nothing, delta)), is_exact=False)
        is_exact = False
    gained = changed - changed // 2 if swaps else changed
    cells = [law] * gained + [law.swapped] * (changed - gained)
    every = together(cells)
    return ComposedCells(
        changed,
        epsilon,
        every.delta(epsilon=epsilon, certified=True).upper,
        max(certain_together(cells), certain_together(cells, swapped=True)),
        is_exact and every.is_exact,
    )


def _rounded_up(delta: Fraction) -> str:
    """A delta as the next float that is not below it."""
    return str(float_up(delta))


def cell_delta(table: PerturbationTable, epsilon: Fraction) -> Fraction:
    """Return the delta of one cell at an epsilon, keys coming from definitions: the worst pair of counts.

    It is an upper bound, from ball arithmetic. Setting negative results to 0 can only make it smaller.

    >>> from discreet.cellkey import perturbation_table
    >>> float(cell_delta(perturbation_table({0: {-1: "1/4", 0: "1/2", 1: "1/4"}}), Fraction(1)))
    0.25
    """
    return max(
        worst_delta(table.law(count, keying="definition"), table.law(count + 1, keying="definition"), epsilon)
        for count in table.counts_to_compare
    )
