"""`run`: from parameters and records to released tables and a ledger entry, all or nothing.

The summary of a run says public facts and what can be counted in its output, nothing else. How many groups
were suppressed is the number of all groups, which is public, less those released. How long the stages took
depends on the records, so it is told to the person at the screen and not written to `summary.json`.

A ledger gets one entry for each pass, since they are over different people. A geography and level with an
infinite budget is published without noise. Such a run is not entered: what has no noise has no cost that
could be counted.

`coterminous` and `postprocess` do one step of a run to an output that exists, into a new directory. They
spend nothing. What the output says about its ledger goes along.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.files import sha256
from discreet.noise import Noise
from discreet.release.commit import free, staging
from discreet.release.entry import Entry, now
from discreet.release.ledger_file import find_ledger, open_ledger
from discreet.release.manifests import RECEIPT, read_manifest, read_receipt
from discreet.release.mechanism.adaptive import Mechanism
from discreet.release.mechanism.adaptive import noisy as noisy_groups
from discreet.release.mechanism.configuration import Configuration
from discreet.release.mechanism.corrections import (
    Corrections,
    Negative,
    Parts,
    Suppression,
    corrected,
    donate,
    partners,
)
from discreet.release.mechanism.groups import Specification
from discreet.release.mechanism.tables import (
    FORMAT,
    Labels,
    Part,
    Picked,
    Released,
    Writer,
    label,
    read_picked,
    read_released,
)
from discreet.release.rehearsal import NOT_PRIVATE, rehearsal_entropy
from discreet.release.safetab.account import budget_release, budget_spent, mechanisms
from discreet.release.safetab.configuration import JSON_FILE, TOML_FILE, read_configuration
from discreet.release.safetab.specification import FILES, WATER_FILE, read_specification, read_water
from discreet.release.signing import read_key
from discreet.release.tables import Folder, output_format

if TYPE_CHECKING:
    from discreet.release.engine import Engine
    from discreet.release.mechanism.counts import GroupCounts, Resumable
    from discreet.release.mechanism.records import Source
    from discreet.release.mechanism.regions import Geography

# -- what is done to finished tables -----------------------------------------------------------------------

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
    to: str | os.PathLike[str],
    *,
    params: str | os.PathLike[str],
    data: str | os.PathLike[str],
    order: Sequence[str] | None = None,
    format: str | None = None,
) -> Reprocessed:
    """Make regions of the same areas agree in an output; `data` needs its areas only, which are public.

    `order` is that of the donors, by default the specification's.
    """
    from discreet.release.engine import connect
    from discreet.release.mechanism.records import read_geography

    params = Path(params)
    configuration, specification, water = (
        read_configuration(params),
        read_specification(params),
        read_water(params),
    )
    order = configuration.tabulation.order if order is None else tuple(order)
    free(to)
    with connect() as engine:
        geography = read_geography(Path(data), configuration, engine=engine)
    found = read_released(Path(released), specification, geography.regions)
    tabulated = {place: specification.places(*place) for place in found.parts if configuration.runs(*place)}
    parts = {place: found.parts[place] for place in tabulated}
    tabulation = configuration.tabulation
    after, given = donate(parts, geography.coterminous(water), tabulated, tabulation, order=order)
    return _write(
        Path(released),
        to,
        "coterminous",
        found,
        {**found.parts, **after},
        given,
        specification,
        format,
        options={"coterminous": True, "order": list(order)},
    )


def postprocess(
    released: str | os.PathLike[str],
    to: str | os.PathLike[str],
    *,
    params: str | os.PathLike[str],
    tabulation_suppression: Suppression | None = None,
    negative: Negative | None = None,
    format: str | None = None,
) -> Reprocessed:
    """Correct an output; without a choice, `both` groups are dropped and negative counts set to zero."""
    how = Corrections(tabulation_suppression, negative) or Corrections("both")
    specification = read_specification(Path(params))
    free(to)
    found = read_released(Path(released), specification)
    tabulated = {place: specification.places(*place) for place in found.parts}
    parts = corrected(found.parts, partners(specification), tabulated, how)
    dropped = sum(part.size - parts[place].size for place, part in found.parts.items())
    return _write(
        Path(released), to, "post", found, parts, dropped, specification, format, options=how.document()
    )


def _write(
    released: Path,
    new: str | os.PathLike[str],
    step: str,
    found: Released,
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
    kind = output_format(format, found.format)
    codes = [one.code for one in specification.iterations]
    receipt = read_receipt(released)
    with staging(new) as stage:
        mark = f"{NOT_PRIVATE}: made from an output that is not" if found.marked else None
        folder = Folder(stage.path, kind, mark=mark)
        rows: dict[str, int] = {}
        groups: dict[str, int] = {}
        for ladder in specification.tabulation.ladders.values():
            labels, own = found.labels[ladder.name], [one for one in parts.values() if one.ladder is ladder]
            with Writer(
                folder, ladder, codes, labels, bureau=found.bureau, bureau_margins=found.bureau_margins
            ) as writer:
                for part in own:
                    writer.write(part, found.regions[part.geography])
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
                "source": [{"name": path.name, "sha256": sha256(path)} for path in found.files],
                "rows": rows,
                "groups": groups,
                _DOES[step]: changed,
                **({} if receipt is None else {RECEIPT: receipt}),
            },
        )
        stage.commit()
    return Reprocessed(Path(new), step, options, rows, groups, changed, found.marked, tuple(folder.names))


# -- a run -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlaceSummary:
    """The groups of one geography and level: how many there could be, and what was released."""

    mechanism: Mechanism
    regions: int
    iterations: int
    suppressed: int
    tables: tuple[int, ...]
    """Groups by table, after post-processing."""

    def document(self) -> dict[str, object]:
        """Return the numbers, and the noise in exact terms."""
        one = self.mechanism
        return {
            "geography": one.geography,
            "level": one.level,
            "budget": "infinite" if one.budget is None else str(one.budget),
            "stability": one.stability.value,
            "noise": {
                "total_only": noise_text(one.total_only),
                "stage_1": noise_text(one.stage_one),
                "stage_2": noise_text(one.stage_two),
            },
            "thresholds": list(one.thresholds),
            "suppression_threshold": one.suppression,
            "regions": self.regions,
            "iterations": self.iterations,
            "suppressed": self.suppressed,
            "groups": dict(zip(one.ladder.names, self.tables, strict=True)),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(Summarised):
    """What a run wrote, and what it spent."""

    out: Path
    rows: Mapping[str, int]
    places: tuple[PlaceSummary, ...]
    budgets: Mapping[str, Fraction | None]
    """What one person of each pass is charged (add or remove), None if infinite."""
    privacy: str
    options: Mapping[str, object]
    donated: int
    dropped: int
    areas: str
    """What the smallest areas are called."""
    warning: str | None
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    ledger: Path | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def groups(self) -> dict[str, int]:
        """Released groups by the table they got."""
        found: dict[str, int] = {}
        for place in self.places:
            for name, groups in zip(place.mechanism.ladder.names, place.tables, strict=True):
                found[name] = found.get(name, 0) + groups
        return found

    @property
    def suppressed(self) -> int:
        """Groups whose noisy total was too small to be released."""
        return sum(place.suppressed for place in self.places)

    def document(self) -> dict[str, object]:
        """Return what `summary.json` says: nothing of it depends on the records but through the output."""
        return {
            "format": FORMAT,
            "privacy": self.privacy,
            "budgets": {
                which: "infinite" if spent is None else str(spent) for which, spent in self.budgets.items()
            },
            "options": dict(self.options),
            "rows": dict(self.rows),
            "groups": self.groups,
            "suppressed": self.suppressed,
            "donated": self.donated,
            "dropped": self.dropped,
            "places": [place.document() for place in self.places],
            "notes": list(self.notes),
        }


def noise_text(noise: Noise | None) -> str:
    """Say a noise in exact terms.

    >>> from discreet.noise import DiscreteGaussian, DiscreteLaplace
    >>> noise_text(DiscreteGaussian("31.25")), noise_text(DiscreteLaplace(10)), noise_text(None)
    ('discrete Gaussian, variance 125/4', 'discrete Laplace, scale 10', 'none')
    """
    return "none" if noise is None else f"{noise.FAMILY}, {noise.PARAMETER} {noise.size}"


Progress = Callable[[str, int, int], None]
"""Called with a stage, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run does beside the parameters."""

    format: str = "csv"
    bureau_columns: bool = False
    bureau_margins: bool = False
    coterminous: bool = True
    tabulation_suppression: Suppression | None = None
    negative: Negative | None = None
    order: tuple[str, ...] | None = None
    rehearsal: int | None = None
    resume: bool = False
    """Whether coded records stay if the run is interrupted before noise is drawn, and are used if there."""
    no_noise: bool = False
    """Whether it was said that some or all budgets are infinite, so that exact counts are written."""

    def __post_init__(self) -> None:
        output_format(self.format, "")
        if self.bureau_columns and self.bureau_margins:
            raise InputError("the Bureau's columns have no margins: ask for one of the two, not both")
        rehearsal_entropy(self.rehearsal)
        _ = self.corrections  # a choice that there is not is refused

    @property
    def corrections(self) -> Corrections:
        """What is done about alone counts above the combination's, and about negative counts."""
        return Corrections(self.tabulation_suppression, self.negative)

    def listed(self, order: tuple[str, ...]) -> dict[str, object]:
        """Return the options as the summary lists them; `order` is that of the specification."""
        chosen = {**asdict(self), **self.corrections.document(), "order": self.order or order}
        return {key: value for key, value in chosen.items() if key != "resume"}


@dataclass(slots=True)
class Clock:
    """Seconds by stage, and who wants to know how far it is."""

    progress: Progress | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[Callable[[int, int], None]]:
        """Time a stage; it is given a callable for its progress."""
        tell = self.progress or (lambda _name, _done, _total: None)
        tell(name, 0, 1)
        start = time.perf_counter()
        yield lambda done, total: tell(name, done, total)
        self.seconds[name] = time.perf_counter() - start
        tell(name, 1, 1)


@dataclass(frozen=True)
class RunPlan:
    """What decides all that a run does, before a record is read: parameters and options."""

    params: Path
    options: Options
    configuration: Configuration
    specification: Specification

    @property
    def folder(self) -> Path:
        """The folder of the parameters."""
        return self.params.parent if self.params.is_file() else self.params

    @cached_property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The noise of every geography and level, pass by pass."""
        passes = self.configuration.passes
        return tuple(one for w in passes for one in mechanisms(self.configuration, self.specification, w))

    @cached_property
    def exact(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """The geographies and levels that are published without noise, by pass."""
        budgets = self.configuration.budgets
        return {
            which: tuple(
                (where, self.configuration.tabulation.workloads[level].word)
                for where, level in self.configuration.levels(which)
                if budgets[where, level] is None
            )
            for which in self.configuration.passes
        }

    @cached_property
    def _exact(self) -> list[str]:
        return [" ".join(one) for some in self.exact.values() for one in some]

    @property
    def warning(self) -> str | None:
        """Why the output is not private, if it is not."""
        seed = self.options.rehearsal
        reasons = [] if seed is None else [f"rehearsal with seed {seed}"]
        if self._exact:
            every = len(self._exact) == len(self.mechanisms)
            reasons.append("no noise" if every else f"no noise at {', '.join(self._exact)}")
        return f"{NOT_PRIVATE}: {'; '.join(reasons)}" if reasons else None

    def check(self, *, ledger: bool) -> None:
        """Raise unless budgets are infinite if and only if that was said, and the run fits into its ledger.

        A ledger that several runs share takes one pass, all of it with noise.
        """
        exact = self._exact
        more = f" and {len(exact) - 1} more" if len(exact) > 1 else ""
        if exact and not self.options.no_noise:
            raise InputError(
                f"the budget of {exact[0]}{more} is infinite, so exact counts would be written; if you mean "
                "that, say --no-noise; the output is then marked NOT PRIVATE"
            )
        if self.options.no_noise and not exact:
            raise InputError(
                "--no-noise is given, but every budget is finite; leave it out, or make a budget infinite"
            )
        if ledger and len(self.configuration.passes) > 1:
            passes = [self.configuration.tabulation.passes[which] for which in self.configuration.passes]
            both = " and ".join(one.switch or one.name for one in passes)
            raise InputError(
                f"the run is to be entered in a ledger, but both {both} are true; the two passes "
                "count different people, and a ledger is for one population: run one pass at a time, each "
                "with its own ledger"
            )
        if ledger and exact:
            raise InputError(
                "the run is to be entered in a ledger, but a budget is infinite; what is published without "
                "noise has no finite cost to enter: give finite budgets, or use no ledger"
            )

    def entries(self) -> tuple[Entry, ...]:
        """Return drafts of the ledger entries: one for each pass, of the part of it that has noise."""
        budgets = {place: rho or Fraction(0) for place, rho in self.configuration.budgets.items()}
        finite = replace(self.configuration, budgets=budgets)
        return tuple(
            Entry(
                id=f"-{which}",
                time=now(),
                version=version("discreet"),
                command=f"safetab run {which}"
                if len(self.configuration.tabulation.passes) > 1
                else "safetab run",
                release=budget_release(finite, self.specification, which),
                rehearsal=self.options.rehearsal,
                exact=self.exact[which],
                output=".",
            )
            for which in self.configuration.passes
            if finite.levels(which)
        )

    def files(self) -> list[dict[str, str | int]]:
        """Return role, hash and size of the files of parameters, as a ledger lists them."""
        names: tuple[str, ...] = (JSON_FILE, TOML_FILE, *FILES, WATER_FILE)
        if self.params.is_file():
            tabulation = self.configuration.tabulation
            inputs = (one.input for one in tabulation.ladders.values())
            names = (self.params.name, *(name for name in (*inputs, tabulation.without[0]) if name))
        paths = [self.folder / name for name in names]
        return [
            {"role": path.name, "sha256": sha256(path), "bytes": path.stat().st_size}
            for path in paths
            if path.is_file()
        ]

    def resumable(self, out: Path, sources: Sequence[Source]) -> Resumable:
        """Say where the coded records of a run stay, and what they were made from."""
        from discreet.release.mechanism.counts import Resumable

        data = [[source.name, *source.state] for source in sources]
        made_from = {"version": version("discreet"), "parameters": self.files(), "data": data}
        return Resumable.beside(out, made_from)

    @cached_property
    def numbers(self) -> dict[tuple[str, int], int]:
        """The number of each mechanism among those of its ladder: labels are counted through."""
        found: dict[tuple[str, int], int] = {}
        for ladder in self.configuration.tabulation.ladders.values():
            own = (one.place for one in self.mechanisms if one.ladder is ladder)
            found |= {place: number for number, place in enumerate(own)}
        return found

    def picked(self, geography: Geography) -> dict[tuple[str, int], Picked]:
        """Read the published counts that pick tables, where the specification says so."""
        found: dict[tuple[str, int], Picked] = {}
        for ladder in self.configuration.tabulation.ladders.values():
            if not ladder.picks:
                places = [one.place for one in self.mechanisms if one.ladder is ladder]
                found |= read_picked(
                    self.folder / ladder.input, self.specification, geography.regions, places
                )
        return found

    def add_noise(
        self, counts: GroupCounts, clock: Clock, picked: Mapping[tuple[str, int], Picked] | None = None
    ) -> dict[tuple[str, int], Part]:
        """Return the released groups of every geography and level, before post-processing."""
        source, found = rehearsal_entropy(self.options.rehearsal), {}
        with clock.stage("noise") as tell:
            for number, one in enumerate(self.mechanisms, 1):
                part = noisy_groups(
                    counts,
                    self.specification,
                    one,
                    allow_negative=self.configuration.allow_negative_counts,
                    source=source,
                    picked=(picked or {}).get(one.place),
                )
                # labels of all mechanisms are counted through, so that a donated group keeps its own
                found[one.place] = replace(part, label=part.label + 2 * self.numbers[one.place])
                tell(number, len(self.mechanisms))
        return found

    def process(
        self, noisy: Parts, geography: Geography, water: frozenset[str]
    ) -> tuple[dict[tuple[str, int], Part], int, int]:
        """Return the groups after post-processing, and how many were donated and dropped."""
        parts, donated, dropped = dict(noisy), 0, 0
        classes = geography.coterminous(water) if self.options.coterminous else ()
        tabulated = {place: self.specification.places(*place) for place in noisy}
        if classes:
            tabulation, order = self.configuration.tabulation, self.options.order
            parts, donated = donate(noisy, classes, tabulated, tabulation, order=order)
        if how := self.options.corrections:
            before, parts = parts, corrected(parts, partners(self.specification), tabulated, how)
            dropped = sum(part.size - parts[place].size for place, part in before.items())
        return parts, donated, dropped

    def write(
        self, folder: Folder, parts: Parts, geography: Geography, tell: Callable[[int, int], None]
    ) -> dict[str, int]:
        """Write the tables and return the rows of each."""
        codes, options, done = [one.code for one in self.specification.iterations], self.options, 0
        rows: dict[str, int] = {}
        for ladder in self.configuration.tabulation.ladders.values():
            own = [one for one in self.mechanisms if one.ladder is ladder]
            labels = Labels(
                [
                    label(noise, ladder, table)
                    for one in own
                    for noise in one.noises
                    for table in range(len(ladder.rungs))
                ]
            )
            with Writer(
                folder,
                ladder,
                codes,
                labels,
                bureau=options.bureau_columns,
                bureau_margins=options.bureau_margins,
            ) as writer:
                for one in own:
                    writer.write(parts[one.place], geography.regions[one.geography])
                    done += 1
                    tell(done, len(self.mechanisms))
            rows |= writer.rows
        return rows

    def place(self, one: Mechanism, geography: Geography, noisy: Parts, parts: Parts) -> PlaceSummary:
        """Return what there could be of a geography and level, and what was released."""
        regions = len(geography.regions[one.geography])
        iterations = len(self.specification.places(*one.place))
        tables = np.bincount(parts[one.place].table, minlength=len(one.ladder.rungs))
        # where published counts pick the tables, they say which groups there are
        suppressed = regions * iterations - noisy[one.place].size if one.ladder.picks else 0
        return PlaceSummary(one, regions, iterations, suppressed, tuple(map(int, tables)))


def run(
    params: str | os.PathLike[str],
    data: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    engine: str | Engine = "duckdb",
    spark_master: str | None = None,
    memory: str | None = None,
    threads: int | None = None,
    ledger: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    spend_again: bool = False,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Tabulate the records of `data` with the parameters of `params` into a new directory `out`.

    `engine` is a name, or an engine that is open already and stays so. `ledger` is the ledger of the
    population; without it, the one that the environment names (DISCREET_LEDGER) or `discreet-ledger.json` in
    `data` is used, and if there is none, nothing is noted. `key` is the file of the key if the ledger is
    signed. Records that the ledger has a run of are refused unless `spend_again`.

    Guarantee. Assumed: the records are one for each person, the specification and the geography do not
    depend on them, and the system's random bits are good. Claimed: what is written, but for the ledger
    (which holds a hash of the records and is not published), is the mechanism of the parameters on the
    counts and functions of its outcome. So it costs what `discreet safetab account` says. Files and ledger
    entry all appear, or none.
    """
    from discreet.release.engine import connect
    from discreet.release.mechanism.records import count

    options, clock, params = options or Options(), Clock(progress), Path(params)
    plan = RunPlan(params, options, read_configuration(params), read_specification(params))
    water, named = read_water(params), find_ledger(ledger, data)
    plan.check(ledger=named is not None)
    free(out)
    signer, shared, before = None, None, None
    drafts = plan.entries()
    if named is not None:
        signer = read_key(key)
        shared, before = open_ledger(named, out, key=signer)
        before.allow(drafts[0], where=str(named))
    # drawn up first: a budget that cannot be used is told before the long work
    every = plan.mechanisms
    with (
        connect(engine, memory=memory, threads=threads, spark_master=spark_master)
        if isinstance(engine, str)
        else nullcontext(engine)
    ) as connection:
        with clock.stage("counting") as tell:
            counted = count(
                Path(data),
                plan.configuration,
                plan.specification,
                engine=connection,
                resumable=partial(plan.resumable, Path(out)) if options.resume else None,
                progress=tell,
            )
        with counted as counts:
            # hashing a large file may take long: the run can be resumed until noise is about to be drawn
            inputs = (*plan.files(), *counts.origins())
            drafts = tuple(replace(one, inputs=inputs) for one in drafts)
            if before is not None:
                before.allow(drafts[0], where=str(named), again=spend_again)
            geography = counts.geography
            picked = plan.picked(geography)
            counts.forget()
            noisy = plan.add_noise(counts, clock, picked)
            # the engine is asked for cells while noise is drawn: that is counting
            clock.seconds["counting"] += counts.seconds
            clock.seconds["noise"] -= counts.seconds
    with clock.stage("post-processing"):
        parts, donated, dropped = plan.process(noisy, geography, water)
    with staging(out, shared, key=signer) as stage:
        with clock.stage("writing") as tell:
            folder = Folder(stage.path, options.format, mark=plan.warning)
            summary = Summary(
                out=Path(out),
                rows=plan.write(folder, parts, geography, tell),
                places=tuple(plan.place(one, geography, noisy, parts) for one in every),
                budgets={
                    which: budget_spent(plan.configuration, which) for which in plan.configuration.passes
                },
                privacy=plan.configuration.privacy,
                options=options.listed(plan.configuration.tabulation.order),
                donated=donated,
                dropped=dropped,
                areas=plan.configuration.tabulation.areas.many,
                warning=plan.warning,
                notes=(*plan.configuration.notes, *plan.specification.notes, *geography.notes),
            )
            folder.json("summary", summary.document())
            files = {name: sha256(stage.path / name) for name in folder.names}
            made = tuple(replace(one, id=stage.id + one.id, files=files) for one in drafts)
        if shared is None:
            stage.commit()
        else:
            entered = stage.commit(made[0], manifest=folder.names[-1], again=spend_again)
            made = () if entered is None else (entered,)
    return replace(
        summary, files=tuple(folder.names), entries=made, ledger=named, seconds=dict(clock.seconds)
    )
