"""Options: what a question can be asked with, declared once for Python and for the command line.

A question is a frozen dataclass. Its fields are what it takes: each has a type, a default and, in an
`Option`, the words that the command line shows. The function that answers it takes the fields as arguments
(`asked_with`), and the command has its options from them (`discreet.cli.console.takes`), so that the two
cannot differ. What is imported here is light, because `--help` needs it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import Annotated, Literal, ParamSpec, TypeVar, get_args, get_origin

from discreet.budget import Attributes, Neighbours, TableInput
from discreet.budget.events import Releasable, Releasables
from discreet.budget.goals import Goal
from discreet.errors import InputError
from discreet.files import FilePath
from discreet.numbers import Exact
from discreet.tables import TableSource

P = ParamSpec("P")
Question = TypeVar("Question")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Option:
    """What the command line shows of an option, and what it reads where Python has another type.

    `metavar` stands for the value. `each` is the name of an option that is given once for each of several
    values: `--query` for `queries`. `negative` turns a flag off. `reads` is what is typed: a path, or texts.
    What is `needed` must be typed, even if Python can do without it.
    """

    help: str
    metavar: str = ""
    each: str = ""
    negative: str = ""
    reads: object = None
    needed: bool = False


def file_option(help: str) -> Option:
    """Return an option that names a file.

    >>> file_option("The exact counts, CSV or Parquet.").metavar
    'FILE'
    """
    return Option(help, "FILE", reads=Path | None)


def repeated_option(help: str, metavar: str, each: str) -> Option:
    """Return an option that is given once for each value.

    >>> repeated_option("Tables that were not measured; may be repeated.", "QUERY", "query").each
    'query'
    """
    return Option(help, metavar, each, reads=list[str] | None)


def asked_with(
    question: Callable[P, Question],
) -> Callable[[Callable[[Question], Result]], Callable[P, Result]]:
    """Let a function that answers a question take its fields as arguments.

    >>> @dataclass(frozen=True)
    ... class Adding:
    ...     one: int
    ...     two: int = 1
    >>> @asked_with(Adding)
    ... def add(asked: Adding) -> int:
    ...     return asked.one + asked.two
    >>> add(2, two=3), str(inspect.signature(add))
    (5, '(one: int, two: int = 1) -> int')
    """

    shown = inspect.signature(question, eval_str=True)
    bare = [
        one.replace(annotation=get_args(one.annotation)[0]) if _is_annotated(one.annotation) else one
        for one in shown.parameters.values()
    ]

    def made(function: Callable[[Question], Result]) -> Callable[P, Result]:
        @wraps(function)
        def answer(*arguments: P.args, **options: P.kwargs) -> Result:
            shown.bind(*arguments, **options)  # what is missing or unknown is said of the function
            return function(question(*arguments, **options))

        returns = inspect.signature(function, eval_str=True).return_annotation
        answer.__signature__ = shown.replace(parameters=bare, return_annotation=returns)  # type: ignore[attr-defined]
        return answer

    return made


def _is_annotated(annotation: object) -> bool:
    return get_origin(annotation) is Annotated


# -- options that several questions have ---------------------------------------------------------------------

Out = Annotated[FilePath, Option("A new directory for the output.", "DIR", reads=Path)]
Format = Annotated[
    Literal["csv", "parquet"] | None,
    Option("Format of the output. Default: that of the input.", "csv|parquet"),
]
Geocodes = Annotated[
    str | None,
    Option("With records: the lowest areas are geocodes, nested by prefixes of these lengths.", "N,N"),
]
RecordInput = Annotated[
    TableInput | FilePath | None,
    file_option("With records: how they are written, the section [input]. Default: that of the release."),
]
Identifier = Annotated[str | None, Option("With records: the column that identifies people.", "COLUMN")]
AtMost = Annotated[
    int | None,
    Option("How many records one person may have; the cost is that of K people. Default: 1.", "K"),
]
Excess = Annotated[
    Literal["refuse", "keep"], Option("If a person has more: refuse (default), or keep K at random.", "HOW")
]
Households = Annotated[
    TableSource,
    file_option("With records of people: the households that they live in, if the release has [households]."),
]
Addresses = Annotated[
    TableSource,
    file_option("With households: where they are, a public table, if the release has [addresses]."),
]
BureauColumns = Annotated[
    bool,
    Option("Also write the tables of the Supplemental DHC in the columns of the Census Bureau's program."),
]
LedgerFile = Annotated[
    FilePath | None,
    file_option(
        "The ledger of the population; it must exist. Default: DISCREET_LEDGER, that of the policy, or "
        "discreet-ledger.json beside the input."
    ),
]
KeyFile = Annotated[
    FilePath | None, file_option("The key file of a signed ledger. Default: DISCREET_LEDGER_KEY.")
]
SpendAgain = Annotated[
    bool, Option("Release an input again that the ledger has already counted, and spend again.")
]
Rehearsal = Annotated[
    int | None, Option("Noise that can be repeated and protects nobody: NOT PRIVATE.", "SEED")
]
ForSpreadsheets = Annotated[
    bool,
    Option(
        "Put an apostrophe before names that a spreadsheet would read as a formula; tables to print have it."
    ),
]


Relation = Annotated[
    Neighbours | None,
    Option(
        "bounded: one record is replaced; unbounded: one is added or removed. "
        "Default: what the release was calibrated for.",
        "bounded|unbounded",
    ),
]
People = Annotated[int, Option("Group privacy: the promise to K people who change together.", "K")]
Jobs = Annotated[int, Option("Processes; default: one for each CPU.", "N", reads=int | None)]
Deltas = Annotated[
    Sequence[Exact],
    repeated_option("Epsilon at this delta, an exact number such as 1e-10; may be repeated.", "D", "delta"),
]
Accuracy = Annotated[
    float | None,
    Option(
        "Trade accuracy for speed: how far an epsilon may be off, or what fraction of a delta.",
        "A",
        reads=str | None,
    ),
]
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


Law = Annotated[
    str | None,
    Option(
        "Change the law of the noise: the best for all levels, the best for each, or the one you name.",
        "best|each|gaussian|laplace|power:P",
    ),
]


# -- questions -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Accounting:
    """What `privacy_table` takes, and the command `account`."""

    releases: Releasables
    _: KW_ONLY
    delta: Deltas = ()
    epsilon: Annotated[
        Sequence[Exact],
        repeated_option("Delta at this epsilon, an exact number such as 4; may be repeated.", "E", "epsilon"),
    ] = ()
    pair: Annotated[tuple[int, int] | None, Option("Only this pair of paths (bounded).", "I J")] = None
    path: Annotated[int | None, Option("Only this path (unbounded).", "I")] = None
    all_pairs: Annotated[
        bool,
        Option(
            "For several releases: every combination of their paths, or only the main paths.",
            negative="main-path",
        ),
    ] = True
    one_area: Annotated[
        Sequence[str],
        repeated_option(
            "This level has a single area: leave out its totals, which replacing a record cannot change; may "
            "be repeated.",
            "LEVEL",
            "one-area",
        ),
    ] = ()
    certify: Annotated[bool, Option("Add intervals that provably contain the values of the table.")] = False
    digits: Annotated[int | None, Option("Significant digits of the results.", "N")] = None
    accuracy: Accuracy = None
    neighbours: Relation = None
    people: People = 1
    jobs: Jobs = 1
    progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Comparing:
    """What `compare` takes."""

    a: Releasable
    b: Releasable
    _: KW_ONLY
    delta: Deltas = ()
    accuracy: Accuracy = None
    neighbours: Relation = None
    people: People = 1
    jobs: Jobs = 1
    progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Calibrating:
    """What `calibrate` takes."""

    release: Releasable
    _: KW_ONLY
    delta: Annotated[Exact | float, Option("The delta of the promise, such as 1e-10.", "D", reads=str)]
    epsilon: Annotated[Exact | float | None, Option("The epsilon of the promise.", "E", reads=str | None)] = (
        None
    )
    zcdp: Annotated[bool, Option("Keep what zCDP promises at this delta.")] = False
    by: Annotated[
        Literal["overall", "level"],
        Option("One factor for all variances, or one for each level.", "overall|level"),
    ] = "overall"
    weights: Annotated[
        Mapping[str, Exact] | None, Option("Share the gain unevenly.", "LEVEL=W,...", reads=str | None)
    ] = None
    moe: Annotated[
        Mapping[str, Exact] | None,
        Option("Instead of a promise: the 95 % margins of error you want.", "LEVEL=M,...", reads=str | None),
    ] = None
    law: Law = None
    objective: Annotated[
        str,
        Option(
            "What the best law makes least: variance (default), the 95 % margin, or the chance of an error "
            "above x.",
            "variance|margin|P(>x)",
            "for",
            reads=str | None,
        ),
    ] = "variance"
    neighbours: Relation = None
    accuracy: Accuracy = None
    certify: Annotated[bool, Option("Also prove the exact epsilon of the new release at delta.")] = False
    proof: bool = True
    jobs: Jobs = 1
    progress: Callable[[int, int], None] | None = None


HeldExact = Annotated[
    Sequence[str],
    repeated_option(
        "Counts published without noise: only data sets that agree on them are compared.",
        "LEVEL:QUERY,...",
        "held-exact",
    ),
]


@dataclass(frozen=True, slots=True, eq=False)
class Risking:
    """What `risk` takes, and the command `risk release`."""

    releases: Releasables
    _: KW_ONLY
    prior: Annotated[
        Exact | float | Sequence[Exact | float],
        repeated_option(
            "The adversary's chance that the target is present, such as 1/2 or 1/864; may be repeated. "
            "Default: 1/2, 1/10 and 1/100.",
            "P",
            "prior",
        ),
    ] = ("1/2", "1/10", "1/100")
    exact: HeldExact = ()
    false_positive_rates: Annotated[
        Sequence[Exact | float],
        repeated_option(
            "How often the adversary may accuse wrongly; may be repeated. Default: 1e-6, 1e-5, ..., 1/10.",
            "A",
            "false-positive-rate",
        ),
    ] = ("1e-6", "1e-5", "1e-4", "1e-3", "1e-2", "1e-1")
    guess: Annotated[
        Sequence[Exact | float],
        repeated_option(
            "How often a person's values are guessed with nothing published, such as 1/2016; may be "
            "repeated. Default: one of all detailed cells, and 1/100.",
            "B",
            "guess",
        ),
    ] = ()
    delta: Annotated[
        Exact | float, Option("For the epsilon of each attribute. Default: 1e-10.", "D", reads=str)
    ] = "1e-10"
    pairs: Literal["all", "main"] = "all"
    certify: bool = False
    neighbours: Relation = None
    people: People = 1
    jobs: Jobs = 1
    progress: Callable[[int, int], None] | None = None


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


@dataclass(frozen=True, slots=True, eq=False)
class Tabulating:
    """What `tabulate` takes."""

    release: Releasable
    records: Annotated[
        TableSource,
        Option(
            "One row per record: its lowest area (unit), and a column per attribute. CSV or Parquet.",
            "FILE",
            reads=Path,
        ),
    ]
    out: Out
    _: KW_ONLY
    units: Annotated[
        TableSource,
        file_option(
            "All areas: columns unit, level, parent. Default: those of the addresses, if there are any."
        ),
    ] = None
    households: Households = None
    addresses: Addresses = None
    geocodes: Geocodes = None
    input: RecordInput = None
    id: Identifier = None
    at_most: AtMost = None
    excess: Excess = "refuse"
    ledger: LedgerFile = None
    key: KeyFile = None
    format: Format = None
    bureau_columns: BureauColumns = False


@dataclass(frozen=True, slots=True, eq=False)
class Checking:
    """What `check_records` takes."""

    release: Releasable
    records: TableSource
    _: KW_ONLY
    units: Annotated[
        TableSource,
        file_option("All areas: columns unit, level, parent. Without it, areas are not checked."),
    ] = None
    households: Households = None
    addresses: Addresses = None
    geocodes: Geocodes = None
    input: RecordInput = None
    id: Identifier = None
    at_most: AtMost = None
    excess: Excess = "refuse"
    suggest: Annotated[bool, Option("Suggest an [input] that would read the records.")] = False
    show: Annotated[
        bool, Option("Show texts of the file that are no values; confidential, so on a terminal only.")
    ] = False


@dataclass(frozen=True, slots=True, eq=False)
class RiskingRecords:
    """What `records_risk` takes, and the command `risk records`."""

    release: Releasable | None
    records: Annotated[
        TableSource,
        Option("One row per person: the lowest area (unit), and a column per attribute.", "FILE", reads=Path),
    ]
    _: KW_ONLY
    units: Annotated[
        TableSource, file_option("All areas: columns unit, level, parent. Default: those of --noisy.")
    ] = None
    noisy: Annotated[
        FilePath | None,
        Option("The numbers drawn: the output of measure, or a noisy table.", "DIR|FILE", reads=Path | None),
    ] = None
    priors: Annotated[
        Sequence[Exact | float],
        repeated_option(
            "A chance such as 1/10 (default: 1/2), or flat, population, area, or column:NAME of the records; "
            "may be repeated.",
            "P",
            "prior",
        ),
    ] = ("1/2",)
    prior_level: Annotated[
        str | None, Option("With --prior area: whose rates; default: the level above the lowest.", "LEVEL")
    ] = None
    query: Annotated[
        str | None, Option("The query whose cells count; default: the one of most cells.", "QUERY")
    ] = None
    estimates: Annotated[
        bool, Option("Also with what a reader knows after combining all queries, and their estimates.")
    ] = False
    example: Annotated[
        int | None,
        Option(
            "With --noisy: the row of the person whose counts and posteriors are shown. Default: one who is "
            "unique, whom the hierarchy tells most about.",
            "ROW",
        ),
    ] = None
    geocodes: Geocodes = None
    input: RecordInput = None
    id: Identifier = None
    at_most: AtMost = None
    excess: Excess = "refuse"


@dataclass(frozen=True, slots=True, eq=False)
class Measuring:
    """What `measure` takes."""

    release: Releasable
    counts: Annotated[TableSource, file_option("The exact counts, CSV or Parquet.")]
    out: Out
    _: KW_ONLY
    records: Annotated[
        TableSource,
        file_option(
            "Records instead of counts: the lowest area (unit), and a column per attribute. CSV or Parquet."
        ),
    ] = None
    post: Annotated[
        Literal["none", "nonnegative", "consistent", "tables"],
        Option(
            "Estimates beside the measurements: none (default), nonnegative, consistent, or tables: also "
            "the whole-number tables as histogram and microdata.",
            "KIND",
        ),
    ] = "none"
    units: Annotated[
        TableSource, file_option("All areas: columns unit, level, parent. Default: those of FILE.")
    ] = None
    cells: Annotated[
        TableSource,
        file_option("All cells: query, cell. With it and --units, rows with zeros may be left out."),
    ] = None
    households: Households = None
    addresses: Addresses = None
    geocodes: Geocodes = None
    input: RecordInput = None
    id: Identifier = None
    at_most: AtMost = None
    excess: Excess = "refuse"
    invariants: Annotated[
        Sequence[tuple[str, str]],
        repeated_option(
            "Publish these counts without noise, outside the guarantee; may be repeated.",
            "LEVEL/QUERY",
            "invariant",
        ),
    ] = ()
    additive: Annotated[
        bool,
        Option("Check that children add up to their parents (default), or not.", negative="not-additive"),
    ] = True
    ledger: LedgerFile = None
    key: KeyFile = None
    spend_again: SpendAgain = False
    rehearsal: Rehearsal = None
    format: Format = None
    for_spreadsheets: ForSpreadsheets = False
    bureau_columns: BureauColumns = False


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
        found = list(self.noisy) if isinstance(self.noisy, list | tuple) else [self.noisy]
        if not found:
            raise InputError("there is nothing to estimate from: name the output of `measure`")
        return found


# -- the cell-key method -------------------------------------------------------------------------------------

Zeros = Literal["noisy", "kept", "public"]
"""What becomes of 0: it gets noise as every count does; it stays; or it stays, and is public anyway."""


@dataclass(frozen=True, slots=True, eq=False)
class TableDesigning:
    """What `design_perturbation` takes, and the command `cellkey design`."""

    largest: int
    _: KW_ONLY
    epsilon: Annotated[
        Exact | None, Option("The epsilon of one cell; without it, the least one.", "E", reads=str | None)
    ] = None
    delta: Annotated[
        Exact | None, Option("The delta of one cell; without it, the least one.", "D", reads=str | None)
    ] = None
    variance: Annotated[
        Exact | None,
        Option("The largest variance of a row; without it, the least one.", "V", reads=str | None),
    ] = None
    zeros: Annotated[
        Zeros,
        Option(
            "0 gets noise too, from one row for all counts (noisy, default); it stays 0 (kept); or it stays, "
            "and which cells are empty is public (public).",
            "noisy|kept|public",
        ),
    ] = "noisy"
    small: Annotated[int, Option("No results from 1 to this; default: 0, all may come.", "JS")] = 0
    monotone: Annotated[bool, Option("Probabilities do not rise away from no noise.")] = False


@dataclass(frozen=True, slots=True, eq=False)
class CellKeying:
    """What `perturb` takes, and the command `cellkey run`."""

    records: TableSource
    table: Annotated[
        object,
        Option(
            "The perturbation table: a file of ptable, cellKey, the ONS or a design; or D5V3js2.",
            "T",
            reads=str,
        ),
    ]
    out: Out
    _: KW_ONLY
    attributes: Annotated[
        Attributes | FilePath,
        Option("The columns and all their values: a TOML file with [attributes].", "FILE", reads=Path),
    ]
    secret: Annotated[
        FilePath | None,
        file_option("The secret that keys are made of; a new file is made, for its owner only."),
    ] = None
    record_key: Annotated[str | None, Option("Instead of a secret: the column of record keys.", "COLUMN")] = (
        None
    )
    order: Annotated[int | None, Option("Margins of at most this many attributes; default: all.", "N")] = None
    empty: Annotated[
        Literal["keyed", "none"],
        Option(
            "Empty cells get noise as well (keyed, default), or are left out (none), which shows them.",
            "keyed|none",
        ),
    ] = "keyed"
    zeros: Annotated[bool, Option("List cells that are published as 0 too.")] = False
    epsilon: Annotated[
        Exact, Option("The epsilon of a cell at which its delta is stated; default: 1.", "E", reads=str)
    ] = 1
    unit: Annotated[
        Literal["person", "household", "housing unit", "establishment"],
        Option("What a record is of; default: person.", "UNIT"),
    ] = "person"
    neighbours: Annotated[
        Neighbours,
        Option("One record is added or removed (unbounded, default), or replaced.", "bounded|unbounded"),
    ] = "unbounded"
    ledger: LedgerFile = None
    key: KeyFile = None
    spend_again: SpendAgain = False
    rehearsal: Rehearsal = None
    format: Format = None
    memory: Annotated[str | None, Option("The engine's memory, such as 4GB (default).", "SIZE")] = None
    threads: Annotated[int | None, Option("Threads. Default: one for each CPU.", "N")] = None
