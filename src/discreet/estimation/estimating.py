"""`estimate`: best estimates with intervals, areas, contrasts, changes and whole-number tables, written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import numpy as np

from discreet.areas.layout import rising_lengths
from discreet.areas.output import TEXTS, ArrowTable, Folder, FolderInMemory, output_format, read_output
from discreet.budget import Attributes
from discreet.budget.events import release_of
from discreet.budget.presets import load_attributes
from discreet.budget.scope import Scope
from discreet.errors import InputError
from discreet.estimation.estimates import (
    SharedWork,
)
from discreet.estimation.fit import Fit
from discreet.estimation.input.bureau import by_product
from discreet.estimation.input.joint_estimates import JointEstimates, JointMeasurements, MeasuredTree
from discreet.estimation.input.measurements import read_any, with_zeros
from discreet.estimation.input.noisy_table import TableForm, column_names
from discreet.estimation.input.published import Published
from discreet.estimation.input.sampling import SamplingErrors, read_sampling, sampling_columns
from discreet.estimation.linear_algebra import one_algebra_thread
from discreet.estimation.output.bounded_tables import bounded_tables
from discreet.estimation.output.clipping import Clipped, estimated_clips
from discreet.estimation.output.contrasts import CONTRASTS, changes_since, contrast_blocks, named_contrasts
from discreet.estimation.output.draws import Draws
from discreet.estimation.output.estimate_table import (
    TABLES,
    Written,
    check_one_tree,
    kind_of_error,
    write_estimates,
    write_tables,
)
from discreet.estimation.output.fit_report import fit_record, found_fit
from discreet.estimation.output.microdata import PeopleFiles, check_people, write_as_records, write_held
from discreet.estimation.output.own_areas import area_estimates, read_areas
from discreet.estimation.output.part_tables import Settling, fingerprint, parts_within, resumed
from discreet.estimation.output.redrawing import Redrawing
from discreet.estimation.questions import INTERVALS, Estimating
from discreet.estimation.whole.replicates import TableErrors
from discreet.faces import Summarised
from discreet.ledger.commit import free, whole_folder
from discreet.ledger.resumable import Resumable
from discreet.numbers import brief, fraction
from discreet.questions import asked_with
from discreet.rehearsal import NOT_PRIVATE
from discreet.tables import TableSource
from discreet.tables.frames import DataFrame, as_pandas, as_polars


@dataclass(frozen=True, slots=True)
class Estimated(Summarised):
    """What a run of `estimate` wrote, or holds in memory."""

    out: Path | None
    """The directory, or nothing if the tables are in memory."""
    units: int
    queries: tuple[str, ...]
    cells: int
    undetermined: int
    together: bool
    additive: bool
    releases: int
    files: tuple[str, ...]
    fit: Fit | None
    """Whether the measurements contradict each other; nothing if whole numbers alone were made."""
    scope: Scope
    """Which queries, levels and areas of the releases these are, and what was left out."""
    numbered: bool = False
    """Whether several releases were read, an earlier one included."""
    left_out: tuple[str, ...] = ()
    """What the input had that was not used."""
    noise: tuple[str, ...] = ()
    """The laws that noise is taken to have which no release states."""
    counts: bool = True
    """Whether counts were estimated, or real numbers."""
    sampled: bool = False
    """Whether intervals are of noise and sampling; else of noise only."""
    draws: int = 0
    """How many draws of all estimates were written."""
    clipped: tuple[Clipped, ...] = ()
    """What clipping took away from sums and weights, if there are any."""
    people: PeopleFiles = field(default_factory=PeopleFiles)
    """The rows of the histogram and of the microdata."""
    levels: tuple[str, ...] = ()
    """The levels of the intervals; nothing if there are none."""
    table_errors: TableErrors | None = None
    """The errors of the whole numbers, if there are any."""
    held: Mapping[str, ArrowTable] | None = field(default=None, repr=False, compare=False)
    """The tables by name, if they are in memory."""

    def to_arrow(self, table: str = "estimates") -> ArrowTable:
        """Return a table of the output: estimates or tables, units, and if it has them areas, contrasts,
        changes, draws, histogram, microdata or held."""
        if self.out is not None:
            return read_output(self.out, table, TEXTS)
        table_held = (self.held or {}).get(table)
        if table_held is None:
            raise InputError(f"there is no table {table!r}; there are {', '.join(self.held or ())}")
        return table_held

    def to_frame(self, table: str = "") -> DataFrame:
        """Return the estimates, or the whole numbers if they are alone, or another table of the output, as a
        DataFrame of pandas."""
        return self.to_pandas(table or ("estimates" if self.fit is not None else TABLES))

    def to_pandas(self, table: str = "estimates") -> DataFrame:
        """Return a table of the output as a DataFrame of pandas."""
        return as_pandas(self.to_arrow(table))

    def to_polars(self, table: str = "estimates") -> DataFrame:
        """Return a table of the output as a DataFrame of polars."""
        return as_polars(self.to_arrow(table))


@asked_with(Estimating)
@one_algebra_thread()
def estimate(asked: Estimating) -> Estimated:
    """Estimate every query in every unit from all measurements together, and write it to a new directory.

    Without `out` nothing is written: the tables are in the result (`to_pandas`, `to_polars`, `to_arrow`).
    `noisy` is a directory that `measure` wrote, a noisy table (a file or a DataFrame), or a directory of
    noisy measurements as the Census Bureau publishes them (then `release` says what the queries mean, and
    `within` the unit whose part of the tree is wanted). Of a table without a release, `columns` says what its
    columns are called, `noise` and `counts` what its numbers are, `attributes` what its queries are about,
    and `geocodes` how its areas nest. Several are measurements of the same people: of one tree, if their
    attributes and areas agree; else each is estimated by itself, and means weighted by inverse variances are
    taken. `queries` are others than those that were measured. `areas` (area, unit, perhaps weight) are sums
    of units; `differences` and `ratios` are pairs of areas or units, or of queries. `since` is an earlier
    release of the same tables, of which changes are given. `levels` are those of the intervals. `down_to` is
    the lowest level that is written. `tables` adds whole numbers, not negative and consistent over levels,
    and over queries if the release states attributes; their errors are found by making them again from noise
    drawn anew, and `replicates` adds intervals of the whole numbers themselves. `histogram` adds every
    detailed cell of them that is not zero, in every unit, and `microdata` one row a person. With
    `only_tables` whole numbers are all that is written, and memory does not grow with the units. `zeros`
    (unit, and columns of attributes) are values that some units cannot have. `for_spreadsheets` is as in
    `measure`.
    What is large is streamed, or if `streamed` says so. Whole numbers of many units are found by `jobs`
    processes, part by part of the tree; with `resume`, parts that are finished stay if the run is
    interrupted, and the same call goes on from them. The `engine` is "local" or "spark", on a cluster if
    `spark_master` names one: then its processes work on the lowest units and on the parts. Nothing is spent.

    >>> import pyarrow
    >>> noisy = {"unit": ["State", "A", "B"], "level": ["State", "County", "County"],
    ...     "parent": [None, "State", "State"], "value": [103, 40, 60], "variance": [4, 4, 4]}
    >>> best = estimate(pyarrow.table(noisy)).to_arrow()
    >>> [round(value, 6) for value in best.column("estimate").to_pylist()]
    [102.0, 41.0, 61.0]
    """
    chances = [interval_level(level) for level in asked.levels]
    sources = asked.sources
    if asked.prints:
        raise InputError(
            "prints is for `print_tables` of discreet.reports.printed, which writes tables to print"
        )
    if asked.out is not None:
        free(asked.out)
    if asked.histogram or asked.microdata or asked.only_tables:
        asked = replace(asked, tables=True)
    with _workers(asked.engine, asked.spark_master) as cluster:
        if asked.only_tables:
            return _only_tables(asked, sources, cluster)
        given, joint_estimates, earlier = read_joined(asked, sources, cluster)
        wanted = joint_estimates.queries(asked.queries)
        sampling = sampling_errors(asked, sources, joint_estimates, wanted)
        draws = _draws(asked, joint_estimates, sampling)
        redrawing = Redrawing.asked_for(asked, sampled=sampling is not None)
        written = joint_estimates.units_down_to(asked.down_to)
        unions = {} if asked.areas is None else read_areas(asked.areas, joint_estimates)
        pairs = [("difference", difference) for difference in asked.differences] + [
            ("ratio", ratio) for ratio in asked.ratios
        ]
        contrasts = named_contrasts(pairs, unions, wanted, joint_estimates) if pairs else []
        residuals = joint_estimates.residuals(written)
        if asked.histogram or asked.microdata:
            check_people(joint_estimates.groups[0].attributes, joint_estimates.groups[0].model.queries)
        kind = output_format(asked.format, given[0].format, for_spreadsheets=asked.for_spreadsheets)
        mark = (
            f"{NOT_PRIVATE}: made from a rehearsal" if any(published.marked for published in given) else None
        )
        kept = _resumable(asked, given, joint_estimates.groups[0])
        with ExitStack() as opened:
            opened.enter_context(resumed(kept))
            folder = opened.enter_context(_folder(asked, kind, mark))
            stage = folder.path if asked.tables and asked.out is not None else None
            path = opened.enter_context(parts_within(stage, kept))
            made_from = "" if kept is None else json.dumps(kept.made_from)
            done = write_estimates(
                folder,
                joint_estimates,
                wanted,
                chances,
                asked.down_to,
                tables=asked.tables,
                settle=Settling(asked.jobs, cluster, path, made_from, asked.progress),
                cluster=cluster,
                residuals=residuals,
                sampling=sampling,
                progress=asked.progress,
                redrawing=redrawing,
            )
            parts = [(joint_estimates, residuals)]
            if earlier is not None:
                parts.append((earlier, earlier.residuals()))
            fit = found_fit(parts)
            if len(joint_estimates.groups) == 1:
                folder.units(joint_estimates.tree)
            if unions:
                folder.cells("areas", area_estimates(joint_estimates, unions, wanted, chances, sampling))
            if draws is not None:
                folder.cells("draws", *draws.blocks(done.tree, unions, wanted))
            if contrasts:
                blocks = contrast_blocks(
                    joint_estimates, contrasts, unions, wanted, chances, done.tree, sampling
                )
                folder.cells("contrasts", *blocks)
            if earlier is not None:
                changes = changes_since(joint_estimates, earlier, done.tree, asked.queries, wanted, chances)
                folder.cells("changes", changes)
            compares = bool(contrasts) or earlier is not None
            told = _manifest(asked, given, joint_estimates, wanted, done, fit, sampling, compares=compares)
            if redrawing is not None and done.errors is not None:
                told["table_errors"] = redrawing.record(done.errors)
            people = _people(asked, folder, joint_estimates.groups[0], done)
            folder.json("manifest", told | people.manifest(joint_estimates.groups[0].attributes, done.tree))
            taken = estimated_clips(joint_estimates)
    return Estimated(
        None if asked.out is None else Path(asked.out),
        done.tree.size,
        wanted,
        done.cells,
        done.lost,
        all(group.attributes is not None for group in joint_estimates.groups),
        len(joint_estimates.groups) == 1,
        len(given) - (earlier is not None),
        tuple(folder.names),
        fit,
        joint_estimates.scope(release_names(sources), wanted, np.arange(done.tree.size)),
        len(given) > 1,
        joint_estimates.left_out,
        _assumed(given),
        joint_estimates.counts,
        sampling is not None,
        asked.draws or 0,
        taken,
        people,
        tuple(str(level) for level in asked.levels),
        done.errors,
        folder.tables if isinstance(folder, FolderInMemory) else None,
    )


def _only_tables(asked: Estimating, sources: Sequence[TableSource], cluster: SharedWork | None) -> Estimated:
    """Write whole numbers alone."""
    check_only_tables(asked)
    given = _read_given(asked, sources)
    joint_measurements = JointMeasurements.read(given)
    wanted, measured_tree = joint_measurements.queries(asked.queries), joint_measurements.groups[0]
    check_one_tree(joint_measurements)
    joint_measurements.units_down_to(asked.down_to)
    if asked.histogram or asked.microdata:
        check_people(measured_tree.attributes, measured_tree.model.queries)
    kind = output_format(asked.format, given[0].format, for_spreadsheets=asked.for_spreadsheets)
    mark = f"{NOT_PRIVATE}: made from a rehearsal" if any(published.marked for published in given) else None
    kept = _resumable(asked, given, measured_tree)
    with ExitStack() as opened:
        opened.enter_context(resumed(kept))
        folder = opened.enter_context(_folder(asked, kind, mark))
        path = opened.enter_context(parts_within(folder.path if asked.out is not None else None, kept))
        made_from = "" if kept is None else json.dumps(kept.made_from)
        whole = bounded_tables(measured_tree, Settling(asked.jobs, cluster, path, made_from, asked.progress))
        done = write_tables(folder, joint_measurements, whole, wanted, asked.down_to, progress=asked.progress)
        folder.units(joint_measurements.tree)
        people = _people(asked, folder, measured_tree, done)
        told = {
            **_said_of_tables(given, joint_measurements, wanted, done),
            **_bounds(joint_measurements, done, tables=True, intervals=False),
            **({"left_out": list(joint_measurements.left_out)} if joint_measurements.left_out else {}),
        }
        folder.json("manifest", told | people.manifest(measured_tree.attributes, done.tree))
    return Estimated(
        out=None if asked.out is None else Path(asked.out),
        units=done.tree.size,
        queries=wanted,
        cells=done.cells,
        undetermined=done.lost,
        together=measured_tree.attributes is not None,
        additive=True,
        releases=len(given),
        files=tuple(folder.names),
        fit=None,
        scope=joint_measurements.scope(release_names(sources), wanted, np.arange(done.tree.size)),
        numbered=len(given) > 1,
        left_out=joint_measurements.left_out,
        noise=_assumed(given),
        counts=joint_measurements.counts,
        people=people,
        held=folder.tables if isinstance(folder, FolderInMemory) else None,
    )


def check_only_tables(asked: Estimating) -> None:
    """Refuse what is about estimates and intervals, all of it at once."""
    about = {
        "areas": asked.areas is not None,
        "differences": bool(asked.differences),
        "ratios": bool(asked.ratios),
        "since": asked.since is not None,
        "levels": tuple(asked.levels) != INTERVALS,
        "sampling": asked.sampling is not None,
        "replicate_factor": asked.replicate_factor is not None,
        "replicate_noise": asked.replicate_noise is not None,
        "draws": asked.draws is not None,
        "replicates": asked.replicates is not None,
        "seed": asked.seed is not None,
    }
    if named := [name for name, given in about.items() if given]:
        be, them = ("is", "it") if len(named) == 1 else ("are", "them")
        raise InputError(
            f"only_tables writes whole numbers without estimates and intervals, and {', '.join(named)} {be} "
            f"about these: leave {them} out, or only_tables"
        )


def _said_of_tables(
    given: Sequence[Published], joint_measurements: JointMeasurements, wanted: Sequence[str], done: Written
) -> dict[str, object]:
    """Return what every manifest says of the numbers that were written."""
    origins = [published.origin for published in given]
    return {
        "format": "discreet estimates 2",
        "version": version("discreet"),
        "source": origins[0] if len(given) == 1 else origins,
        "queries": list(wanted),
        "units": done.tree.size,
        "cells": done.cells,
        "not_determined": done.lost,
        "columns": done.columns,
        **({"noise": list(laws), "counts": joint_measurements.counts} if (laws := _assumed(given)) else {}),
    }


def _resumable(asked: Estimating, given: Sequence[Published], group: MeasuredTree) -> Resumable | None:
    """Return where finished tables stay if the run is interrupted, if that is asked for."""
    if not asked.resume:
        return None
    if asked.out is None or not asked.tables:
        raise InputError("resume is for whole-number tables that are written: give out and tables (--tables)")
    origins = [published.origin for published in given]
    made_from = fingerprint(group.attributes, group.given, group.bounds, origins)
    return Resumable.of_tables(free(asked.out), made_from)


@contextmanager
def _folder(asked: Estimating, kind: str, mark: str | None) -> Iterator[Folder]:
    """Open the output: a directory that appears whole at the end, or tables in memory."""
    if asked.out is None:
        yield FolderInMemory(mark=mark)
        return
    with whole_folder(asked.out) as path:
        yield Folder(path, kind, mark=mark, for_spreadsheets=asked.for_spreadsheets)


def _people(asked: Estimating, folder: Folder, measured_tree: MeasuredTree, done: Written) -> PeopleFiles:
    """Write the whole tables as records, if that is asked for, and what they keep."""
    if done.whole is None or measured_tree.attributes is None or not (asked.histogram or asked.microdata):
        return PeopleFiles()
    written = write_as_records(
        folder,
        done.whole,
        done.tree,
        measured_tree.attributes,
        histogram=asked.histogram,
        microdata=asked.microdata,
    )
    held = write_held(folder, done.tree, measured_tree.attributes, measured_tree.given, measured_tree.bounds)
    return replace(written, held=held)


def _assumed(given: Sequence[Published]) -> tuple[str, ...]:
    """Return the laws that noise is taken to have which no release states."""
    return tuple(dict.fromkeys(published.assumed for published in given if published.assumed))


def _forms(asked: Estimating, many: int) -> list[TableForm]:
    """Return how each of the tables is written."""
    named = asked.columns
    every = [named] if isinstance(named, str | Mapping) else list(named) or [{}]
    if len(every) not in (1, many):
        raise InputError(
            f"columns are named {len(every)} times for {many} table{'s' * (many > 1)}; name them once for "
            "all, or once for each"
        )
    attributes = asked.attributes
    if attributes is not None and asked.release is not None:
        raise InputError("attributes are given beside a release, which states its own; leave one out")
    if attributes is not None and not isinstance(attributes, Attributes):
        attributes = load_attributes(attributes)
    lengths = () if asked.geocodes is None else tuple(rising_lengths(asked.geocodes))
    if lengths and asked.units is not None:
        raise InputError("geocodes and units both give the tree of areas; leave one out")
    forms = [
        TableForm(
            column_names(product)
            if isinstance(product, str) and product
            else product
            if isinstance(product, Mapping)
            else {},
            asked.noise,
            asked.counts,
            attributes,
            lengths,
        )
        for product in every
    ]
    return forms * many if len(forms) == 1 else forms


def read_joined(
    asked: Estimating, sources: Sequence[TableSource], cluster: SharedWork | None
) -> tuple[list[Published], JointEstimates, JointEstimates | None]:
    """Return the measurements, those of the earlier release last, and the estimates from each release."""
    lean = asked.streamed if cluster is None else True
    given = _read_given(asked, sources)
    joint_estimates, earlier = JointEstimates.of(given, lean, cluster), None
    if asked.since is not None:
        earlier_units = asked.units if any(published.assumed for published in given) else None
        release = None if asked.release is None else release_of(asked.release)
        before = (release, earlier_units, None, asked.within, asked.streamed)
        forms = _forms(asked, len(given))
        given.append(read_any([asked.since], *before, forms[0]))
        _check_distinct([*_first_paths(sources), asked.since], given, [*forms, forms[0]])
        earlier = JointEstimates.of(given[-1:], lean, cluster, first=len(given))
    return given, joint_estimates, earlier


def _read_given(asked: Estimating, sources: Sequence[TableSource]) -> list[Published]:
    """Return the measurements, each of them once."""
    release = None if asked.release is None else release_of(asked.release)
    known = (release, asked.units, asked.invariants, asked.within, asked.streamed)
    products = _products(sources)
    forms = _forms(asked, len(products))
    given = [read_any(some, *known, form) for some, form in zip(products, forms, strict=True)]
    _check_distinct(_first_paths(sources), given, forms)
    if asked.zeros is not None:
        given = [with_zeros(published, asked.zeros) for published in given]
    return given


def _products(sources: Sequence[TableSource]) -> Sequence[Sequence[TableSource]]:
    """Return the sources of each release: the Bureau publishes some in several directories."""
    paths_only = all(isinstance(source, str | os.PathLike) for source in sources)
    return by_product(sources) if paths_only else [[source] for source in sources]


def release_names(sources: Sequence[TableSource]) -> list[str]:
    """Return what releases are called: by their files, or by number if they are in memory."""
    return [
        Path(source).name if isinstance(source, str | os.PathLike) else f"table {number}"
        for number, source in enumerate(sources, 1)
    ]


def _first_paths(sources: Sequence[TableSource]) -> list[TableSource]:
    return [some[0] for some in _products(sources)]


def sampling_errors(
    asked: Estimating, sources: Sequence[TableSource], joint_estimates: JointEstimates, wanted: Sequence[str]
) -> SamplingErrors | None:
    """Read the sampling errors: of a table that is named, or in a column of the only noisy table."""
    path = asked.sampling
    if path is None and len(sources) == 1:
        path = _beside(sources[0], named=bool(asked.columns))
    if path is None:
        if asked.replicate_factor is not None or asked.replicate_noise is not None:
            raise InputError("a replicate factor or noise is given, but no sampling errors (--sampling)")
        return None
    if asked.since is not None:
        raise InputError("changes since an earlier release have intervals of noise only: leave sampling out")
    return read_sampling(path, joint_estimates, wanted, asked.replicate_factor, asked.replicate_noise)


def _beside(table: TableSource, *, named: bool) -> TableSource | None:
    """Return a noisy table if it has sampling errors, too; `named`: its columns have names of their own."""
    if isinstance(table, str | os.PathLike) and not Path(table).is_file():
        return None
    columns = sampling_columns(table)
    if not named:
        return table if columns else None
    for name in columns:
        if name.lower().startswith("sampling"):  # a standard_error may be the error of the values
            raise InputError(
                f"the noisy table has sampling errors (column {name}) beside columns that are named: give "
                "them as a table of their own (--sampling), or take them out"
            )
    return None


def _draws(
    asked: Estimating, joint_estimates: JointEstimates, sampling: SamplingErrors | None
) -> Draws | None:
    if asked.draws is not None:
        if asked.replicate_noise is not None:
            raise InputError("draws are not possible with noisy replicates: their noise would be drawn, too")
        return Draws(joint_estimates, asked.draws, asked.seed, sampling)
    if asked.seed is not None and not asked.tables:
        raise InputError("a seed is given, but there is nothing to draw: give draws or tables, too")
    return None


def _said_of_draws(asked: Estimating) -> dict[str, object]:
    return {
        "draws": asked.draws,
        "seed": asked.seed,
        "draw": "the estimate less an error drawn anew, whose law over all areas and queries is that of the "
        "estimates' errors; combine by Rubin's rules",
    }


def _manifest(
    asked: Estimating,
    given: Sequence[Published],
    joint_estimates: JointEstimates,
    wanted: Sequence[str],
    done: Written,
    fit: Fit,
    sampling: SamplingErrors | None,
    *,
    compares: bool,
) -> dict[str, object]:
    """Return what the manifest of the output says; `compares`: it has contrasts or changes."""
    return {
        **_said_of_tables(given, joint_estimates, wanted, done),
        "estimates": joint_estimates.kind,
        "additive": len(joint_estimates.groups) == 1,
        "levels": [str(level) for level in asked.levels],
        "intervals_with_nothing_left": done.moved,
        "fit": fit_record(fit, numbered=len(given) > 1),
        "intervals": kind_of_error(joint_estimates, sampling),
        **({"sampling": sampling.said} if sampling is not None else {}),
        **({} if asked.draws is None else {"draws": _said_of_draws(asked)}),
        **({"contrasts": CONTRASTS} if compares else {}),
        **_bounds(joint_estimates, done, tables=asked.tables),
        **({"left_out": list(joint_estimates.left_out)} if joint_estimates.left_out else {}),
    }


def _bounds(
    joint_measurements: JointMeasurements, done: Written, *, tables: bool, intervals: bool = True
) -> dict[str, object]:
    """Return what the manifest says of bounds, if there are any."""
    some = [bound for group in joint_measurements.groups for bound in group.bounds]
    if not some:
        return {}
    told: dict[str, object] = {"areas": len(np.unique(np.concatenate([bounds.units for bounds in some])))}
    if intervals:
        told |= {
            "intervals": "cut to the bounds; estimates are not changed, so that they stay unbiased",
            "estimates_with_cut_intervals": done.cut,
        }
    return {"bounds": told | ({"table_cells_outside": done.outside} if tables else {})}


def _check_distinct(
    paths: Sequence[TableSource], given: Sequence[Published], forms: Sequence[TableForm]
) -> None:
    """Refuse measurements that are given twice: their noise is one, so their errors are not independent.

    Two columns of values in one file are two measurements; one column is one, whatever else is said of it.
    """
    seen: dict[object, str] = {}
    for number, (source, published, form) in enumerate(zip(paths, given, forms, strict=True), 1):
        path = str(source) if isinstance(source, str | os.PathLike) else f"table {number}"
        values = form.column("value").strip().casefold()  # as columns are found, whatever their capitals
        mark = published.origin.get("sha256", os.path.realpath(path)), values
        if mark in seen:
            raise InputError(
                f"{path} holds the same measurements as {seen[mark]}; the same noise tells nothing more, "
                "and no change: leave one out"
            )
        seen[mark] = path


def _workers(engine: str, spark_master: str | None) -> AbstractContextManager[SharedWork | None]:
    """Open what shares the work: nothing for "local", a session of Spark for "spark"."""
    if engine == "spark":
        from discreet.records.engine.spark import cluster

        return cluster(spark_master)
    if engine != "local":
        raise InputError(f"engine is {engine!r}; it must be local or spark")
    if spark_master is not None:
        raise InputError("--spark-master is given, but the engine is local; give --engine spark too")
    return nullcontext()


def interval_level(level: str | Fraction) -> tuple[str, float]:
    """Return the ending of the columns of a level, and the level."""
    size = fraction(level, name="level")
    if not Fraction(1, 2) <= size < 1:
        raise InputError(f"level is {level}; the level of an interval lies between 0.5 and 1, such as 0.95")
    return brief(100 * size).replace(".", "_"), float(size)
