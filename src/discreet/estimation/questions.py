"""What is asked of measurements, and before there are any: estimates, and which plan of a release is best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from discreet.accounting.questions import Jobs, Law
from discreet.budget.attributes import Attributes
from discreet.budget.events import Releasable
from discreet.errors import InputError
from discreet.estimation.goals import Goal
from discreet.files import FilePath, TableSource
from discreet.ledger.questions import Format, ForSpreadsheets
from discreet.numbers import Exact
from discreet.questions import Option, file_option, repeated_option

Children = Annotated[
    Sequence[float] | None,
    Option(
        "Children of an area on average, for each level below the top, such as 51,61.6; or a table of "
        "areas (columns unit, level, parent). Default: the United States of 2020, for releases with its "
        "levels US, State, County, Tract, Block group and Block.",
        "N,N,...|FILE",
        reads=str | None,
    ),
]


@dataclass(frozen=True, slots=True, eq=False)
class Planning:
    """What `plan` takes."""

    release: Releasable
    _: KW_ONLY
    keep: Annotated[
        Sequence[str],
        repeated_option(
            "Estimates to keep as accurate as now: a level, or one of its queries; may be repeated.",
            "LEVEL[:QUERY]",
            "keep",
        ),
    ] = ()
    goals: Annotated[
        Sequence[Goal],
        Option(
            "The accuracy you want: [[goals]] with level, query, and sd or margin95.",
            "FILE.toml",
            "goal",
            reads=Path | None,
        ),
    ] = ()
    weights: Annotated[
        Mapping[str, Exact] | None,
        Option(
            "Minimise the relative variances with these weights.",
            "LEVEL[:QUERY]=W,...",
            reads=str | None,
        ),
    ] = None
    epsilon: Annotated[Exact | None, Option("The epsilon that may be spent.", "E", reads=str | None)] = None
    risk: Annotated[
        Sequence[str],
        repeated_option(
            "Instead of an epsilon or beside it: a limit on what an adversary gains, as in calibrate; "
            "may be repeated.",
            "LIMIT",
            "risk",
        ),
    ] = ()
    delta: Annotated[Exact, Option("Default: 1e-10.", "D", reads=str)] = "1e-10"
    law: Law = None
    certify: Annotated[
        bool, Option("Prove the epsilon in ball arithmetic (default), or not.", negative="no-certify")
    ] = True
    tree: Children = None


INTERVALS = ("0.9", "0.95")
"""The levels of intervals, unless others are asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimating:
    """What `estimate` takes."""

    noisy: TableSource | Sequence[TableSource]
    out: Annotated[
        FilePath | None, Option("A new directory for the output.", "DIR", reads=Path, needed=True)
    ] = None
    _: KW_ONLY
    columns: Annotated[
        Mapping[str, str | Sequence[str]] | str | Sequence[Mapping[str, str | Sequence[str]] | str],
        repeated_option(
            "The columns of a noisy table by their own names: unit, value, level, parent, query, cell, and "
            "one of variance, sd, se, margin90 (or another level); cell=age*sex if two hold the cell. Once "
            "for all tables, or once for each.",
            "unit=GEO_ID,value=...",
            "columns",
        ),
    ] = ()
    noise: Annotated[
        Literal["discrete gaussian", "discrete laplace", "normal"] | None,
        Option(
            "The noise of a table without a release. Default: discrete gaussian if values are whole and the "
            "table has variances, else normal.",
            "NOISE",
        ),
    ] = None
    counts: Annotated[
        bool | None,
        Option(
            "Values of a table without a release are counts, so that intervals have whole ends, not below "
            "zero; or they are not. Default: they are if all are whole.",
            negative="not-counts",
        ),
    ] = None
    attributes: Annotated[
        Attributes | FilePath | None,
        file_option(
            "What the queries of a table without a release are about: a TOML file with [attributes]."
        ),
    ] = None
    geocodes: Annotated[
        str | None,
        Option("The areas of a noisy table are geocodes, nested by prefixes of these lengths.", "N,N"),
    ] = None
    queries: Annotated[
        Sequence[str],
        repeated_option(
            'Tables that were not measured, such as "age * sex" or "adults = age[18-64 | 65+]"; '
            "may be repeated.",
            "QUERY",
            "query",
        ),
    ] = ()
    areas: Annotated[
        TableSource | None,
        file_option("Your own areas as sums of those released: columns area, unit, perhaps weight."),
    ] = None
    differences: Annotated[
        Sequence[tuple[str, str]],
        repeated_option(
            "Differences between areas, or between queries; may be repeated.", "A,B", "difference"
        ),
    ] = ()
    ratios: Annotated[
        Sequence[tuple[str, str]],
        repeated_option("Ratios of areas, or of queries; may be repeated.", "A,B", "ratio"),
    ] = ()
    since: Annotated[
        TableSource | None,
        Option("Changes since an earlier release: its measurements.", "EARLIER", reads=Path | None),
    ] = None
    prints: Annotated[
        Sequence[str],
        repeated_option(
            'Tables to print, such as "age * sex": --out is a file .xlsx, .html or .csv, or a directory for '
            "CSV files; may be repeated.",
            "QUERY",
            "print",
        ),
    ] = ()
    margins: Annotated[
        Literal["beside", "beneath", "none"],
        Option("With --print: where margins of error stand. Default: beside.", "beside|beneath|none"),
    ] = "beside"
    levels: Annotated[
        Sequence[str | Fraction],
        repeated_option("Levels of the intervals; default: 0.9 and 0.95; may be repeated.", "P", "level"),
    ] = INTERVALS
    down_to: Annotated[str | None, Option("The lowest level to write; default: all.", "LEVEL")] = None
    tables: Annotated[bool, Option("Add whole numbers, not negative, consistent over tables and levels.")] = (
        False
    )
    histogram: Annotated[
        bool, Option("Add every detailed cell of the whole-number tables that is not zero, in every area.")
    ] = False
    microdata: Annotated[
        bool,
        Option("Add the whole-number tables as one row a person: the lowest area, and all attributes."),
    ] = False
    only_tables: Annotated[
        bool,
        Option(
            "Write or print whole numbers alone, without estimates and intervals; written ones then take "
            "memory that does not grow with the number of areas."
        ),
    ] = False
    jobs: Jobs = 1
    resume: Annotated[
        bool, Option("If interrupted, keep the finished tables beside OUT; the same command goes on.")
    ] = False
    release: Annotated[
        Releasable | None,
        Option("The release, for a table without one: a preset or a TOML file.", "R", reads=str | None),
    ] = None
    units: Annotated[TableSource | None, file_option("All areas: columns unit, level, parent.")] = None
    invariants: Annotated[
        TableSource | None, file_option("Counts to keep exact: columns unit, query, cell, count.")
    ] = None
    zeros: Annotated[
        TableSource | None,
        file_option("Combinations that some areas cannot have: unit, and columns of attributes."),
    ] = None
    sampling: Annotated[
        TableSource | None,
        file_option(
            "Sampling errors, so that intervals are about the population: columns unit, query, cell, and "
            "sampling_variance, sampling_sd or rep_1, rep_2, ..."
        ),
    ] = None
    replicate_factor: Annotated[
        str | Fraction | None,
        Option(
            "With replicates: what their squared deviations are multiplied by, such as 4/80.",
            "F",
            reads=str | None,
        ),
    ] = None
    replicate_noise: Annotated[
        str | Fraction | None,
        Option(
            "With replicates that are noisy: the variance of their noise, to take off.", "V", reads=str | None
        ),
    ] = None
    draws: Annotated[
        int | None,
        Option("Add this many draws of all estimates, with their covariances, for other programs.", "N"),
    ] = None
    replicates: Annotated[
        int | None,
        Option(
            "With tables: intervals of the whole numbers themselves, from noise drawn anew this often, such "
            "as 200.",
            "N",
        ),
    ] = None
    seed: Annotated[int | None, Option("With draws or tables: draw the same again.", "SEED")] = None
    within: Annotated[
        str | None,
        Option("Only the part of the Bureau's files within this area, such as a state.", "GEOCODE"),
    ] = None
    engine: Annotated[
        Literal["local", "spark"],
        Option("The engine for the lowest areas. Default: local.", "local|spark"),
    ] = "local"
    spark_master: Annotated[str | None, Option("Where Spark runs; default: this machine.", "URL")] = None
    format: Format = None
    for_spreadsheets: ForSpreadsheets = False
    streamed: bool | None = None
    progress: Callable[[str, int, int], None] | None = None

    @property
    def sources(self) -> list[TableSource]:
        """The measurements: at least one."""
        sources = list(self.noisy) if isinstance(self.noisy, list | tuple) else [self.noisy]
        if not sources:
            raise InputError("there is nothing to estimate from: name the output of `measure`")
        return sources
