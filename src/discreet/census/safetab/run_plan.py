"""The plan of a run: what decides all that it does, before a record is read, and each of its stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from discreet.areas.output import Folder, output_format
from discreet.census.mechanism.adaptive import Mechanism
from discreet.census.mechanism.adaptive import noisy as noisy_groups
from discreet.census.mechanism.configuration import Configuration
from discreet.census.mechanism.corrections import Corrections, Parts, corrected, donate, partners
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.margins import Labels, label
from discreet.census.mechanism.parts import GroupArrays
from discreet.census.mechanism.published import (
    Picked,
    PublishedTotals,
    find_totals,
    picked_groups,
    read_lists,
)
from discreet.census.mechanism.writer import Writer
from discreet.census.safetab.account import budget_release, budget_spent, mechanisms
from discreet.census.safetab.asked import NegativeChoice, SuppressionChoice
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.specification import FILES, JSON_FILE, TOML_FILE, WATER_FILE, read_specification
from discreet.census.safetab.summary import PlaceSummary, Summary
from discreet.errors import InputError
from discreet.files import sha256
from discreet.ledger.admission import Request
from discreet.ledger.clock import Clock
from discreet.ledger.entry import Entry
from discreet.ledger.manifests import JsonDict
from discreet.ledger.questions import Rehearsal
from discreet.noise import Entropy
from discreet.questions import Option
from discreet.rehearsal import not_private_mark, rehearsal_entropy

if TYPE_CHECKING:
    from discreet.census.mechanism.counts import GroupCounts
    from discreet.census.mechanism.records import Source
    from discreet.census.mechanism.regions import Geography


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run does beside the parameters."""

    format: Annotated[
        str,
        Option(
            "Format of the tables. Default: csv, pipe-delimited.",
            "csv|parquet",
            reads=Literal["csv", "parquet"] | None,
        ),
    ] = "csv"
    bureau_columns: Annotated[bool, Option("Leave out TABLE, NOISE_VARIANCE and MOE95.")] = False
    bureau_margins: Annotated[
        bool, Option("Add MOE95_BUREAU, the Bureau's floor(1.96 sigma), which covers less than 95 %.")
    ] = False
    coterminous: Annotated[
        bool, Option("Let regions made of the same blocks differ.", each="no-coterminous")
    ] = True
    tabulation_suppression: SuppressionChoice = None
    negative: NegativeChoice = None
    order: tuple[str, ...] | None = None
    rehearsal: Rehearsal = None
    resume: Annotated[
        bool, Option("If interrupted before noise is drawn, keep the coded records beside OUT and resume.")
    ] = False
    no_noise: Annotated[
        bool, Option("Required if a budget is infinite: writes exact counts, NOT PRIVATE.")
    ] = False

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
        chosen["coterminous"] = self.coterminous and bool(order)
        return {key: value for key, value in chosen.items() if key != "resume"}


@dataclass(frozen=True)
class RunPlan:
    """What decides all that a run does, before a record is read: parameters and options."""

    params: Path
    options: Options
    configuration: Configuration
    specification: Specification
    totals: Mapping[str, Path] = field(default_factory=dict)
    """The list of published totals of each ladder that has one, by its name."""

    @classmethod
    def read(cls, params: Path, options: Options, data: Path, totals: Path | None = None) -> RunPlan:
        """Read parameters; `totals` is a list of published totals, or an output that has one."""
        configuration, specification = read_configuration(params), read_specification(params)
        lists = find_totals(configuration.tabulation, params, data, totals)
        return cls(params, options, configuration, specification, lists)

    @property
    def folder(self) -> Path:
        """The folder of the parameters."""
        return self.params.parent if self.params.is_file() else self.params

    @cached_property
    def lists(self) -> dict[str, PublishedTotals]:
        """The published totals of each ladder that has a list of them; read once."""
        return read_lists(self.totals, self.specification)

    @cached_property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The noise of every geography and level, pass by pass."""
        passes = self.configuration.passes
        return tuple(
            mechanism for w in passes for mechanism in mechanisms(self.configuration, self.specification, w)
        )

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
        return [" ".join(pair) for some in self.exact.values() for pair in some]

    @property
    def warning(self) -> str | None:
        """Why the output is not private, if it is not."""
        return not_private_mark(self.options.rehearsal, self.not_private)

    @property
    def not_private(self) -> list[str]:
        """Why the output is not private, beside a rehearsal."""
        reasons = []
        if any(published_totals.marked for published_totals in self.lists.values()):
            reasons.append("the published totals are not private")
        if self._exact:
            every = len(self._exact) == len(self.mechanisms)
            reasons.append("no noise" if every else f"no noise at {', '.join(self._exact)}")
        return reasons

    def request(self, spend_again: bool) -> Request:
        """Return what policies are asked for, beside a rehearsal."""
        return Request(spend_again=spend_again, no_noise=bool(self._exact))

    def check(self, *, ledger: bool) -> None:
        """Raise unless budgets are infinite if and only if that was said, and the run fits into its ledger.

        A ledger that several runs share takes one pass, all of it with noise.
        """
        exact = self._exact
        marked = next(
            (
                published_totals.path.name
                for published_totals in self.lists.values()
                if published_totals.marked
            ),
            None,
        )
        if marked is not None and self.options.rehearsal is None and not self.options.no_noise:
            raise InputError(
                f"{marked} is of an output that is not private, so that this one would not be either; take "
                "totals that are published, or rehearse (--rehearsal)"
            )
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
            both = " and ".join(one_pass.switch or one_pass.name for one_pass in passes)
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
                command=f"safetab run {which}"
                if len(self.configuration.tabulation.passes) > 1
                else "safetab run",
                release=budget_release(finite, self.specification, which),
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
            without = self.configuration.tabulation.without[0]
            names = (self.params.name, *([without] if without else []))
        paths = [*(self.folder / name for name in names), *dict.fromkeys(self.totals.values())]
        return [
            {"role": path.name, "sha256": sha256(path), "bytes": path.stat().st_size}
            for path in paths
            if path.is_file()
        ]

    def made_from(self, sources: Sequence[Source]) -> JsonDict:
        """Say what the coded records of a run were made from."""
        data = [[source.name, *source.state] for source in sources]
        return {"version": version("discreet"), "parameters": self.files(), "data": data}

    @cached_property
    def numbers(self) -> dict[tuple[str, int], int]:
        """The number of each mechanism among those of its ladder: labels are counted through."""
        numbers: dict[tuple[str, int], int] = {}
        for ladder in self.configuration.tabulation.ladders.values():
            own = (mechanism.place for mechanism in self.mechanisms if mechanism.ladder is ladder)
            numbers |= {place: number for number, place in enumerate(own)}
        return numbers

    def picked(self, geography: Geography) -> tuple[Geography, dict[tuple[str, int], Picked]]:
        """Return the groups that published totals pick, and the regions with those that only a list has."""
        places = [mechanism.place for mechanism in self.mechanisms]
        return picked_groups(self.lists, geography, self.configuration, places)

    def add_noise(
        self,
        counts: GroupCounts,
        source: Entropy | None,
        clock: Clock,
        picked: Mapping[tuple[str, int], Picked] | None = None,
    ) -> dict[tuple[str, int], GroupArrays]:
        """Return the released groups of every geography and level, before post-processing."""
        parts = {}
        with clock.stage("noise") as tell:
            for number, mechanism in enumerate(self.mechanisms, 1):
                part = noisy_groups(
                    counts,
                    self.specification,
                    mechanism,
                    allow_negative=self.configuration.allow_negative_counts,
                    source=source,
                    picked=(picked or {}).get(mechanism.place),
                )
                # labels of all mechanisms are counted through, so that a donated group keeps its own
                parts[mechanism.place] = replace(part, label=part.label + 2 * self.numbers[mechanism.place])
                tell(number, len(self.mechanisms))
        return parts

    def process(
        self, noisy: Parts, geography: Geography, water: frozenset[str]
    ) -> tuple[dict[tuple[str, int], GroupArrays], int, int]:
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
        codes = [iteration.code for iteration in self.specification.iterations]
        options, done = self.options, 0
        rows, passes = dict[str, int](), self.configuration.passes
        for ladder in self.configuration.tabulation.ladders.values():
            own = [mechanism for mechanism in self.mechanisms if mechanism.ladder is ladder]
            labels = Labels(
                [
                    label(noise, ladder, table)
                    for mechanism in own
                    for noise in mechanism.noises
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
                passes={which: self.configuration.tabulation.passes[which].geographies for which in passes},
            ) as writer:
                for mechanism in own:
                    writer.write(parts[mechanism.place], geography.regions[mechanism.geography])
                    done += 1
                    tell(done, len(self.mechanisms))
            rows |= writer.rows
        return rows

    def place(self, mechanism: Mechanism, geography: Geography, noisy: Parts, parts: Parts) -> PlaceSummary:
        """Return what there could be of a geography and level, and what was released."""
        regions = len(geography.regions[mechanism.geography])
        iterations = len(self.specification.places(*mechanism.place))
        tables = np.bincount(parts[mechanism.place].table, minlength=len(mechanism.ladder.rungs))
        # where published counts pick the tables, they say which groups there are
        suppressed = regions * iterations - noisy[mechanism.place].size if mechanism.ladder.picks else 0
        return PlaceSummary(mechanism, regions, iterations, suppressed, tuple(map(int, tables)))

    def summary(
        self,
        out: Path,
        rows: Mapping[str, int],
        geography: Geography,
        noisy: Parts,
        processed: tuple[Parts, int, int],
    ) -> Summary:
        """Return the summary of what was written; `processed` is what `process` returned."""
        parts, donated, dropped = processed
        configuration = self.configuration
        return Summary(
            out=out,
            rows=rows,
            places=tuple(self.place(mechanism, geography, noisy, parts) for mechanism in self.mechanisms),
            budgets={which: budget_spent(configuration, which) for which in configuration.passes},
            privacy=configuration.privacy,
            options=self.options.listed(configuration.tabulation.order),
            donated=donated,
            dropped=dropped,
            areas=configuration.tabulation.areas.many,
            unit=configuration.tabulation.unit,
            totals=tuple(dict.fromkeys(path.name for path in self.totals.values())),
            warning=self.warning,
            notes=(*configuration.notes, *self.specification.notes, *geography.notes),
        )
