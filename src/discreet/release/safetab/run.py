"""`run`: from parameters and records to released tables and a ledger entry, all or nothing.

The summary of a run says public facts and what can be counted in its output, nothing else. How many groups
were suppressed is the number of all groups, which is public, less those released. How long the stages took
depends on the records, so it is told to the person at the screen and not written to `summary.json`.

A ledger gets one entry for each pass, since they are over different people. A geography and level with an
infinite budget is published without noise. Such a run is not entered: what has no noise has no cost that
could be counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError
from discreet.noise import Entropy, Noise
from discreet.release.audit import sha256
from discreet.release.commit import free, open_ledger, staging
from discreet.release.hierarchy.tables import Folder
from discreet.release.ledger import NOT_PRIVATE, Entry, find_ledger, now
from discreet.release.safetab import adaptive
from discreet.release.safetab.account import budget_release, mechanisms, spent
from discreet.release.safetab.configuration import JSON_FILE, TOML_FILE, Configuration, read_configuration
from discreet.release.safetab.geography import LEVEL_WORDS, WATER_FILE, Classes, Pass, read_water
from discreet.release.safetab.mechanism import Mechanism
from discreet.release.safetab.postprocessing import ORDER, consistent, partners
from discreet.release.safetab.postprocessing import donated as donate
from discreet.release.safetab.specification import FILES, Specification, read_specification
from discreet.release.safetab.tables import FORMAT, TABLES, Labels, Part, Writer, label
from discreet.release.signing import read_key

if TYPE_CHECKING:
    from discreet.release.engine import Engine
    from discreet.release.safetab.counts import GroupCounts
    from discreet.release.safetab.records import Resumable, Source


@dataclass(frozen=True, slots=True)
class PlaceSummary:
    """The groups of one geography and level: how many there could be, and what was released."""

    mechanism: Mechanism
    regions: int
    iterations: int
    suppressed: int
    tables: tuple[int, ...]
    """Groups by table, after post-processing."""

    def to_json(self) -> dict[str, Any]:
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
            "groups": dict(zip(TABLES, self.tables, strict=True)),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run wrote, and what it spent."""

    out: Path
    rows: Mapping[str, int]
    places: tuple[PlaceSummary, ...]
    budgets: Mapping[str, Fraction | None]
    """What one person of each pass is charged (add or remove), None if infinite."""
    privacy: str
    options: Mapping[str, Any]
    donated: int
    dropped: int
    warning: str | None
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    ledger: Path | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def groups(self) -> dict[str, int]:
        """Released groups by the table they got."""
        return {name: sum(place.tables[i] for place in self.places) for i, name in enumerate(TABLES)}

    @property
    def suppressed(self) -> int:
        """Groups whose noisy total was too small to be released."""
        return sum(place.suppressed for place in self.places)

    def to_json(self) -> dict[str, Any]:
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
            "places": [place.to_json() for place in self.places],
            "notes": list(self.notes),
        }

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON says of a run at the screen: more than the summary that is published."""
        return {
            "out": str(self.out),
            "not_private": self.warning is not None,
            "warning": self.warning,
            **{key: value for key, value in self.to_json().items() if key != "format"},
            "files": list(self.files),
            "ledger": {
                "file": None if self.ledger is None else str(self.ledger),
                "entries": [entry.to_json() for entry in self.entries],
            },
            "seconds": {stage: round(spent, 3) for stage, spent in self.seconds.items()},
        }

    def __str__(self) -> str:
        groups = ", ".join(f"{count:,} {name}" for name, count in self.groups.items())
        lines = [self.warning] if self.warning else []
        rows = sum(self.rows.values())
        lines.append(f"{rows:,} rows in {self.out}; groups: {groups}; suppressed {self.suppressed:,}")
        return "\n".join(lines)


def noise_text(noise: Noise | None) -> str:
    """Say a noise in exact terms.

    >>> from discreet.noise import DiscreteGaussian, DiscreteLaplace
    >>> noise_text(DiscreteGaussian("31.25")), noise_text(DiscreteLaplace(10)), noise_text(None)
    ('discrete Gaussian, variance 125/4', 'discrete Laplace, scale 10', 'none')
    """
    return "none" if noise is None else f"{noise.FAMILY}, {noise.PARAMETER} {noise.size}"


def exact_places(configuration: Configuration, which: Pass) -> tuple[tuple[str, str], ...]:
    """Return the geographies and levels of a pass that are published without noise."""
    places = configuration.levels(which)
    return tuple(
        (where, LEVEL_WORDS[level]) for where, level in places if configuration.budgets[where, level] is None
    )


def _exact_texts(configuration: Configuration) -> list[str]:
    return [" ".join(pair) for which in configuration.passes for pair in exact_places(configuration, which)]


def warning(configuration: Configuration, rehearsal: int | None) -> str | None:
    """Return why the output is not private, if it is not."""
    reasons = [] if rehearsal is None else [f"rehearsal with seed {rehearsal}"]
    exact = _exact_texts(configuration)
    if exact:
        every = sum(len(configuration.levels(which)) for which in configuration.passes)
        reasons.append("no noise" if len(exact) == every else f"no noise at {', '.join(exact)}")
    return f"{NOT_PRIVATE}: {'; '.join(reasons)}" if reasons else None


def entries(
    configuration: Configuration, specification: Specification, *, rehearsal: int | None
) -> tuple[Entry, ...]:
    """Return drafts of the ledger entries of a run: one for each pass, of the part of it that has noise."""
    budgets = {place: Fraction(0) if rho is None else rho for place, rho in configuration.budgets.items()}
    finite = replace(configuration, budgets=budgets)
    return tuple(
        Entry(
            id=f"-{which}",
            time=now(),
            version=version("discreet"),
            command=f"safetab run {which}",
            release=budget_release(finite, specification, which),
            rehearsal=rehearsal,
            exact=exact_places(configuration, which),
            output=".",
        )
        for which in configuration.passes
        if finite.levels(which)
    )


def check_budgets(configuration: Configuration, *, no_noise: bool, ledger: bool) -> None:
    """Raise unless budgets are infinite if and only if that was said, and the run fits into its ledger.

    A ledger that several runs share takes one pass, all of it with noise.
    """
    exact = _exact_texts(configuration)
    if exact and not no_noise:
        more = f" and {len(exact) - 1} more" if len(exact) > 1 else ""
        raise InputError(
            f"the budget of {exact[0]}{more} is infinite, so exact counts would be written; if you mean "
            "that, say --no-noise; the output is then marked NOT PRIVATE"
        )
    if no_noise and not exact:
        raise InputError(
            "--no-noise is given, but every budget is finite; leave it out, or make a budget infinite"
        )
    if ledger and len(configuration.passes) > 1:
        raise InputError(
            "the run is to be entered in a ledger, but both run_us and run_pr are true; the two passes count "
            "different people, and a ledger is for one population: run one pass at a time, each with its own "
            "ledger"
        )
    if ledger and exact:
        raise InputError(
            "the run is to be entered in a ledger, but a budget is infinite; what is published without noise "
            "has no finite cost to enter: give finite budgets, or use no ledger"
        )


FORMATS = ("csv", "parquet")

Progress = Callable[[str, int, int], None]
"""Called with a stage, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run does beside the parameters."""

    format: str = "csv"
    bureau_columns: bool = False
    bureau_margins: bool = False
    coterminous: bool = True
    tabulation_suppression: bool = False
    order: tuple[str, ...] = ORDER
    rehearsal: int | None = None
    resume: bool = False
    """Whether coded records stay if the run is interrupted before noise is drawn, and are used if there."""
    no_noise: bool = False
    """Whether it was said that some or all budgets are infinite, so that exact counts are written."""

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise InputError(f"format is {self.format!r}; it must be csv or parquet")
        if self.bureau_columns and self.bureau_margins:
            raise InputError("the Bureau's columns have no margins: choose its columns or its margins")
        if self.rehearsal is not None and (
            isinstance(self.rehearsal, bool) or not isinstance(self.rehearsal, int)
        ):
            raise InputError(f"rehearsal is {self.rehearsal!r}; a seed is a whole number")

    def to_json(self) -> dict[str, Any]:
        """Return the options as the summary lists them."""
        return {key: value for key, value in asdict(self).items() if key != "resume"}


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
    from discreet.release.safetab.counts import count

    options, clock, params = options or Options(), Clock(progress), Path(params)
    configuration, specification = read_configuration(params), read_specification(params)
    water, named = read_water(params), find_ledger(ledger, data)
    check_budgets(configuration, no_noise=options.no_noise, ledger=named is not None)
    free(out)
    signer, shared, before = None, None, None
    drafts = entries(configuration, specification, rehearsal=options.rehearsal)
    if named is not None:
        signer = read_key(key)
        shared, before = open_ledger(named, out)
        before.allow(drafts[0], where=str(named))
    # drawn up first: a budget that cannot be used is told before the long work
    plan = [one for which in configuration.passes for one in mechanisms(configuration, specification, which)]
    with (
        connect(engine, memory=memory, threads=threads, spark_master=spark_master)
        if isinstance(engine, str)
        else nullcontext(engine)
    ) as connection:
        with clock.stage("counting") as tell:
            counted = count(
                Path(data),
                configuration,
                specification,
                engine=connection,
                resumable=partial(_resumable, Path(out), params) if options.resume else None,
                progress=tell,
            )
        with counted as counts:
            # hashing a large file may take long: the run can be resumed until noise is about to be drawn
            inputs = (*_parameter_files(params), *counts.origins())
            drafts = tuple(replace(one, inputs=inputs) for one in drafts)
            if before is not None:
                before.allow(drafts[0], where=str(named), again=spend_again)
            counts.forget()
            noisy = add_noise(counts, specification, plan, configuration, options, clock)
            # the engine is asked for cells while noise is drawn: that is counting
            clock.seconds["counting"] += counts.seconds
            clock.seconds["noise"] -= counts.seconds
            geography = counts.geography
    regions = {one.geography: geography.regions[one.geography] for one in plan}
    with clock.stage("post-processing"):
        classes = geography.coterminous(water) if options.coterminous else ()
        parts, donated, dropped = processed(noisy, specification, classes, options)
    mark = warning(configuration, options.rehearsal)
    with staging(out, shared, key=signer) as stage:
        with clock.stage("writing") as tell:
            folder = Folder(stage.path, options.format, mark=mark)
            rows = write(folder, specification, plan, parts, regions, options, tell)
            summary = Summary(
                out=Path(out),
                rows=rows,
                places=tuple(
                    _place(one, regions[one.geography], specification, noisy, parts) for one in plan
                ),
                budgets={which: spent(configuration, which) for which in configuration.passes},
                privacy=configuration.privacy,
                options=options.to_json(),
                donated=donated,
                dropped=dropped,
                warning=mark,
                notes=(*configuration.notes, *specification.notes, *geography.notes),
            )
            folder.json("summary", summary.to_json())
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


def _resumable(out: Path, params: Path, sources: Sequence[Source]) -> Resumable:
    """Say where the coded records of a run stay, and what they were made from."""
    from discreet.release.safetab.records import Resumable

    return Resumable.beside(
        out,
        {
            "version": version("discreet"),
            "parameters": _parameter_files(params),
            "data": [[source.name, *source.state] for source in sources],
        },
    )


def _place(
    mechanism: Mechanism,
    regions: Sequence[str],
    specification: Specification,
    noisy: Mapping[tuple[str, int], Part],
    parts: Mapping[tuple[str, int], Part],
) -> PlaceSummary:
    place = mechanism.geography, mechanism.level
    iterations = len(specification.tabulated(*place))
    tables = np.bincount(parts[place].table, minlength=len(TABLES))
    suppressed = len(regions) * iterations - noisy[place].size
    return PlaceSummary(mechanism, len(regions), iterations, suppressed, tuple(map(int, tables)))


def add_noise(
    counts: GroupCounts,
    specification: Specification,
    plan: Sequence[Mechanism],
    configuration: Configuration,
    options: Options,
    clock: Clock,
) -> dict[tuple[str, int], Part]:
    """Return the released groups of every geography and level, before post-processing."""
    source, found = _entropy(options.rehearsal), {}
    with clock.stage("noise") as tell:
        for number, one in enumerate(plan):
            part = adaptive.noisy(
                counts, specification, one, allow_negative=configuration.allow_negative_counts, source=source
            )
            # labels of all mechanisms are counted through, so that a donated group keeps its own
            found[one.geography, one.level] = replace(part, label=part.label + 2 * number)
            tell(number + 1, len(plan))
    return found


def processed(
    noisy: Mapping[tuple[str, int], Part],
    specification: Specification,
    classes: Classes,
    options: Options,
) -> tuple[dict[tuple[str, int], Part], int, int]:
    """Return the groups after post-processing, and how many were donated and dropped."""
    parts, donated, dropped = dict(noisy), 0, 0
    if classes:
        tabulated = {place: specification.places(*place) for place in noisy}
        parts, donated = donate(noisy, classes, tabulated, order=options.order)
    if options.tabulation_suppression:
        before = sum(part.size for part in parts.values())
        parts = consistent(parts, partners(specification))
        dropped = before - sum(part.size for part in parts.values())
    return parts, donated, dropped


def write(
    folder: Folder,
    specification: Specification,
    plan: Sequence[Mechanism],
    parts: Mapping[tuple[str, int], Part],
    regions: Mapping[str, Sequence[str]],
    options: Options,
    tell: Callable[[int, int], None],
) -> dict[str, int]:
    """Write the tables and return the rows of each."""
    noises: list[Noise | None] = [noise for one in plan for noise in adaptive.noises(one).values()]
    labels = Labels([label(noise, table) for noise in noises for table in range(len(TABLES))])
    codes = [one.code for one in specification.iterations]
    with Writer(
        folder, codes, labels, bureau=options.bureau_columns, bureau_margins=options.bureau_margins
    ) as writer:
        for number, one in enumerate(plan):
            writer.write(parts[one.geography, one.level], regions[one.geography])
            tell(number + 1, len(plan))
    return writer.rows


def _parameter_files(params: Path) -> list[dict[str, Any]]:
    paths = [params / name for name in (JSON_FILE, TOML_FILE, *FILES, WATER_FILE)]
    return [
        {"role": path.name, "sha256": sha256(path), "bytes": path.stat().st_size}
        for path in paths
        if path.is_file()
    ]


def _entropy(rehearsal: int | None) -> Entropy | None:
    if rehearsal is None:
        return None
    from discreet.testing import NotPrivateSeededEntropy

    return NotPrivateSeededEntropy(rehearsal)
