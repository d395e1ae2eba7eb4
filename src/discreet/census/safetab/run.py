"""`run`: from parameters and records to released tables and a ledger entry, all or nothing.

What a tabulation is, is data: SafeTab-P, SafeTab-H, or a specification of one's own.

A ledger gets one entry for each pass, since they are over different people. A geography and level with an
infinite budget is published without noise. Such a run is not entered: what has no noise has no cost that
could be counted.

`coterminous` and `postprocess` do one step of a run to an output that exists, into a new directory. They
spend nothing. What the output says about its ledger goes along.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from discreet.areas.output import Folder, output_format
from discreet.census.mechanism.corrections import Corrections, Parts, corrected, donate, partners
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.released import Released, read_released
from discreet.census.mechanism.writer import FORMAT, Writer
from discreet.census.safetab.asked import (
    ENGINE,
    Memory,
    NegativeChoice,
    OldParams,
    Result,
    ResultFormat,
    SparkMaster,
    SuppressionChoice,
    Threads,
    Totals,
)
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.run_plan import Options, RunPlan
from discreet.census.safetab.specification import read_specification, read_water
from discreet.census.safetab.summary import Summary
from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.files import sha256
from discreet.ledger.clock import Progress
from discreet.ledger.commit import free, whole_folder
from discreet.ledger.manifests import RECEIPT, read_manifest, read_receipt
from discreet.ledger.questions import KeyFile, LedgerFile, SpendAgain
from discreet.ledger.release_run import ReleaseRun
from discreet.questions import Option
from discreet.rehearsal import NOT_PRIVATE

if TYPE_CHECKING:
    from discreet.census.mechanism.parts import GroupArrays
    from discreet.census.mechanism.regions import Geography
    from discreet.ledger.resumable import Resumable
    from discreet.records.engine import Engine


_DOES = {"coterminous": "donated", "post": "dropped"}


@dataclass(frozen=True, slots=True)
class Reprocessed(Summarised):
    """What a step wrote: rows and groups by table, and how many groups it gave or dropped.

    `options` are those of the run, if the output names them, and of the step.
    """

    out: Path
    step: str
    options: Mapping[str, object]
    rows: dict[str, int]
    groups: dict[str, int]
    changed: int
    marked: bool
    files: tuple[str, ...]

    @property
    def did(self) -> str:
        """What the step does to a group."""
        return _DOES[self.step]


def coterminous(
    released: str | os.PathLike[str],
    to: Result,
    *,
    params: OldParams,
    data: Annotated[
        str | os.PathLike[str], Option("Folder of GRF-C; no person record is read.", "DIR", reads=Path)
    ],
    order: Annotated[
        Sequence[str] | None,
        Option("Donors, first to last. Default: STATE,COUNTY,TRACT,PLACE,AIANNH.", "NAMES", reads=str | None),
    ] = None,
    format: ResultFormat = None,
) -> Reprocessed:
    """Make regions of the same areas agree in an output; `data` needs its areas only, which are public.

    `order` is that of the donors, by default the specification's.
    """
    from discreet.census.mechanism.records import read_geography
    from discreet.records.engine import connect

    params = Path(params)
    configuration, specification, water = (
        read_configuration(params),
        read_specification(params),
        read_water(params),
    )
    tabulation = configuration.tabulation
    if not any(region_type.like for region_type in tabulation.geographies.values()):
        raise InputError(
            f"{tabulation.title} does not compare regions: those of the same {tabulation.areas.many} keep "
            "noise of their own, and their numbers can be averaged"
        )
    order = tabulation.order if order is None else tuple(order)
    free(to)
    with connect() as engine:
        geography = read_geography(Path(data), configuration, engine=engine)
    release = read_released(Path(released), specification, geography.regions)
    tabulated = {place: specification.places(*place) for place in release.parts if configuration.runs(*place)}
    parts = {place: release.parts[place] for place in tabulated}
    after, given = donate(parts, geography.coterminous(water), tabulated, tabulation, order=order)
    return _write(
        Path(released),
        to,
        "coterminous",
        release,
        {**release.parts, **after},
        given,
        specification,
        format,
        options={"coterminous": True, "order": list(order)},
    )


def postprocess(
    released: str | os.PathLike[str],
    to: Result,
    *,
    params: OldParams,
    tabulation_suppression: SuppressionChoice = None,
    negative: NegativeChoice = None,
    format: ResultFormat = None,
) -> Reprocessed:
    """Correct an output; without a choice, `both` groups are dropped and negative counts set to zero."""
    how = Corrections(tabulation_suppression, negative) or Corrections("both")
    specification = read_specification(Path(params))
    free(to)
    release = read_released(Path(released), specification)
    tabulated = {place: specification.places(*place) for place in release.parts}
    parts = corrected(release.parts, partners(specification), tabulated, how)
    dropped = sum(part.size - parts[place].size for place, part in release.parts.items())
    return _write(
        Path(released), to, "post", release, parts, dropped, specification, format, options=how.document()
    )


def _write(
    released: Path,
    new: str | os.PathLike[str],
    step: str,
    release: Released,
    parts: Parts,
    changed: int,
    specification: Specification,
    format: str | None,
    *,
    options: Mapping[str, object],
) -> Reprocessed:
    # what the output says of its run still holds, but for what this step did
    before = (read_manifest(released) or {}).get("options")
    options = {**(before if isinstance(before, dict) else {}), **options}
    kind = output_format(format, release.format)
    codes = [iteration.code for iteration in specification.iterations]
    receipt = read_receipt(released)
    with whole_folder(new) as path:
        mark = f"{NOT_PRIVATE}: made from an output that is not" if release.marked else None
        folder = Folder(path, kind, mark=mark)
        rows: dict[str, int] = {}
        groups: dict[str, int] = {}
        passes = specification.tabulation.passes
        there = {path.name.partition(".")[0] for path in release.files}
        for ladder in specification.tabulation.ladders.values():
            labels = release.labels[ladder.name]
            own = [own_part for own_part in parts.values() if own_part.ladder is ladder]
            with Writer(
                folder,
                ladder,
                codes,
                labels,
                bureau=release.bureau,
                bureau_margins=release.bureau_margins,
                passes={which: passes[which].geographies for which in passes if which in there},
            ) as writer:
                for part in own:
                    writer.write(part, release.regions[part.geography])
            rows |= writer.rows
            tables = np.sum([np.bincount(part.table, minlength=len(ladder.names)) for part in own], axis=0)
            groups |= dict(zip(ladder.names, map(int, tables), strict=True))
        folder.json(
            "summary",
            {
                "format": FORMAT,
                "version": version("discreet"),
                "step": step,
                "options": options,
                "source": [{"name": path.name, "sha256": sha256(path)} for path in release.files],
                "rows": rows,
                "groups": groups,
                _DOES[step]: changed,
                **({} if receipt is None else {RECEIPT: receipt}),
            },
        )
    return Reprocessed(Path(new), step, options, rows, groups, changed, release.marked, tuple(folder.names))


def run(
    params: str | os.PathLike[str],
    data: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    totals: Totals = None,
    engine: Annotated[str | Engine, ENGINE] = "duckdb",
    spark_master: SparkMaster = None,
    memory: Memory = None,
    threads: Threads = None,
    ledger: LedgerFile = None,
    key: KeyFile = None,
    spend_again: SpendAgain = False,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Tabulate the records of `data` with the parameters of `params` into a new directory `out`.

    `totals` is a list of published totals, for a tabulation whose tables they pick, or an output that has one
    (`t1`); without it, the one that the specification names.
    `engine` is a name, or an engine that is open already and stays so. `ledger` is the ledger of the
    population; without it, the one that the environment names (DISCREET_LEDGER), a policy, or
    `discreet-ledger.json` in `data` is used, and if there is none, nothing is noted. What policies forbid is
    refused. `key` is the file of the key if the ledger is
    signed. Records that the ledger has a run of are refused unless `spend_again`.

    Guarantee. Assumed: the records are one for each person (or household: the tabulation's unit), the
    specification, the geography and published totals do not depend on them but through what was accounted
    for when it was published, and the system's random bits are good. Claimed: what is written, but for the
    ledger (which holds a hash of the records and is not published), is the mechanism of the parameters on the
    counts and functions of its outcome. So it costs what `discreet safetab account` says. Files and ledger
    entry all appear, or none.
    """
    options, params = options or Options(), Path(params)
    plan = RunPlan.read(params, options, Path(data), None if totals is None else Path(totals))
    run = ReleaseRun(
        out,
        reads=(data,),
        request=plan.request(spend_again),
        ledger=ledger,
        key=key,
        rehearsal=options.rehearsal,
        not_private=plan.not_private,
        progress=progress,
    )
    water = read_water(params)
    plan.check(ledger=run.ledger is not None)
    run.open()
    if drafts := plan.entries():
        run.spend(*drafts)
    else:  # all without noise
        run.state_no_cost()
    # drawn up first: a budget that cannot be used is told before the long work
    _ = plan.mechanisms
    with _connected(engine, memory=memory, threads=threads, spark_master=spark_master) as connection:
        noisy, geography = _noisy_groups(plan, Path(data), connection, run)
    with run.clock.stage("post-processing"):
        processed = plan.process(noisy, geography, water)
    with run.writing(options.format) as folder:
        rows = plan.write(folder, processed[0], geography, run.tell)
        summary = plan.summary(Path(out), rows, geography, noisy, processed)
        folder.json("summary", summary.document())
    seconds = dict(run.clock.seconds)
    return replace(summary, files=run.files, entries=run.entries, ledger=run.ledger, seconds=seconds)


def _connected(
    engine: str | Engine, *, memory: str | None, threads: int | None, spark_master: str | None
) -> AbstractContextManager[Engine]:
    """Open an engine by its name; one that is open already stays so."""
    from discreet.records.engine import connect

    if not isinstance(engine, str):
        return nullcontext(engine)
    return connect(engine, memory=memory, threads=threads, spark_master=spark_master)


def _noisy_groups(
    plan: RunPlan, data: Path, engine: Engine, run: ReleaseRun
) -> tuple[dict[tuple[str, int], GroupArrays], Geography]:
    """Count the records and add noise, once it is allowed for these inputs; return groups and regions."""
    from discreet.census.mechanism.records import Source, count

    def kept(sources: Sequence[Source]) -> Resumable:
        return run.resumable(plan.made_from(sources))

    with run.clock.stage("counting") as tell:
        counted = count(
            data,
            plan.configuration,
            plan.specification,
            engine=engine,
            resumable=kept if plan.options.resume else None,
            progress=tell,
        )
    with counted as counts:
        # hashing a large file may take long: the run can be resumed until noise is about to be drawn
        run.made_from((*plan.files(), *counts.origins()))
        geography, picked = plan.picked(counts.geography)
        noisy = plan.add_noise(counts, run.entropy, run.clock, picked)
        # the engine is asked for cells while noise is drawn: that is counting
        run.clock.seconds["counting"] += counts.seconds
        run.clock.seconds["noise"] -= counts.seconds
        return noisy, geography
