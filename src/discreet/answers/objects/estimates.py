"""What commands about counts and estimates print with --json."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from discreet.answers.objects.shared import Claims, LimitKeys, ScopeKeys


class QueryKeys(TypedDict):
    """What stands under `queries`."""

    name: str
    cells: int
    noise_sd: float | None
    sd: float | None
    margin95: float | None


class AccuracyLevelKeys(TypedDict):
    """What stands under `levels`."""

    name: str
    units: float
    queries: list[QueryKeys]


class AccuracyErrorKeys(TypedDict):
    """What stands under `errors`."""

    query: str
    level: str
    least: int
    most: int
    cells: int
    bias: float
    bias_error: float
    rmse: float
    margin95: int
    sd: float


class TablesKeys(TypedDict):
    """What stands under `tables`."""

    people: float
    tree: list[int]
    populations: int
    replicates: int
    left_out: list[object]
    errors: list[AccuracyErrorKeys]


class AccuracyKeys(TypedDict):
    """What `discreet accuracy` prints."""

    release: str
    tree: list[float] | None
    estimates: str
    margins: Annotated[str, "Of what the margins hold."]
    levels: list[AccuracyLevelKeys]
    tables: NotRequired[TablesKeys]


class ColumnKeys(TypedDict):
    """What stands under `columns`."""

    name: str
    column: str
    missing: int
    unknown: int
    distinct: int


class ProblemKeys(TypedDict):
    """What stands under `problems`."""

    text: str
    file: str
    column: str
    rows: int
    first: list[int]


class SuggestionKeys(TypedDict):
    """What stands under `suggestion`."""

    text: str
    undecided: list[str]
    usable: bool
    problems: list[ProblemKeys]
    scope: ScopeKeys


class CheckRecordsKeys(TypedDict):
    """What `discreet check-records` prints."""

    release: str
    records: str
    rows: int
    areas: int | None
    usable: bool
    incomplete: int
    excess: int
    columns: list[ColumnKeys]
    problems: list[ProblemKeys]
    scope: ScopeKeys
    suggestion: SuggestionKeys | None
    seconds: float


class FirstKeys(TypedDict):
    """What stands under `first`."""

    unit: str
    level: str
    query: str
    cell: str
    found: int | None
    counted: int


class DifferenceKeys(TypedDict):
    """What stands under `differences`."""

    what: str
    file: str
    count: int
    first: list[FirstKeys]


class CheckTablesKeys(TypedDict):
    """What `discreet check-tables` prints."""

    tables: str
    counted_from: str
    agrees: bool
    people: int
    areas: int
    numbers: int
    queries: list[str]
    not_checked: list[str]
    held: int
    differences: list[DifferenceKeys]
    problems: list[str]
    not_private: bool
    seconds: float


class CheckedKeys(TypedDict):
    """What stands under `checked`."""

    part: str
    taken: int
    of: int
    names: list[str]


class LargestResidualKeys(TypedDict):
    """What stands under `largest_residuals`."""

    unit: str
    level: str
    query: str
    cell: str
    measured: float
    estimate: float
    standardised: float


class ByQueryKeys(TypedDict):
    """What stands under `by_query`."""

    level: str
    query: str
    cells: int
    chi_square: float
    degrees_of_freedom: float
    chance: float | None
    finding: str | None


class FitKeys(TypedDict):
    """What stands under `fit`."""

    warning: str | None
    chi_square: float
    degrees_of_freedom: float
    chance: float | None
    largest_residual_chance: float | None
    not_checked: int
    checked: CheckedKeys
    largest_residuals: list[LargestResidualKeys]
    by_query: list[ByQueryKeys]


class RowsKeys(TypedDict):
    """What stands under `rows`."""

    histogram: NotRequired[int]
    microdata: int
    held: int


class TableKeys(TypedDict):
    """What stands under `tables`."""

    query: str
    rows: int
    columns: int


class RecordsKeys(TypedDict):
    """What stands under `records`."""

    estimate: float
    lower95: float
    upper95: float


class ClippedKeys(TypedDict):
    """What stands under `clipped`."""

    column: str
    is_weight: bool
    at_most: str
    records: RecordsKeys | None
    amount: RecordsKeys | None
    beyond: str | None


class CoverageKeys(TypedDict):
    """What stands under `coverage`."""

    of: str
    numbers: int
    levels: list[str]


class EstimateKeys(TypedDict):
    """What `discreet estimate` prints."""

    out: str
    units: NotRequired[int]
    queries: NotRequired[list[str]]
    cells: NotRequired[int]
    not_determined: NotRequired[int]
    together: NotRequired[bool]
    additive: NotRequired[bool]
    releases: NotRequired[int]
    files: NotRequired[list[str]]
    fit: FitKeys
    numbered: NotRequired[bool]
    left_out: NotRequired[list[object]]
    noise: NotRequired[list[str]]
    counts: NotRequired[bool]
    sampled: NotRequired[bool]
    draws: NotRequired[int]
    rows: NotRequired[RowsKeys]
    table_errors: NotRequired[list[AccuracyErrorKeys]]
    tables: NotRequired[list[TableKeys]]
    level: NotRequired[float]
    margins: NotRequired[str]
    intervals: NotRequired[str]
    whole: NotRequired[bool]
    replicates: NotRequired[int]
    not_private: NotRequired[bool]
    clipped: NotRequired[list[ClippedKeys]]
    scope: NotRequired[ScopeKeys]
    coverage: NotRequired[Annotated[CoverageKeys, "Of which numbers the levels of intervals hold."]]
    claims: NotRequired[Claims]


class MeasureKeys(TypedDict):
    """What `discreet measure` prints."""

    release: str
    unit: str
    neighbours: str
    rho: str
    at_most: int
    rehearsal: int | None
    not_private: bool
    exact: list[list[str]]
    post: str
    units: int
    cells: int
    out: str
    files: list[str]
    ledger: str | None
    seconds: float
    table_errors: NotRequired[list[AccuracyErrorKeys]]
    together: Annotated[bool, "Whether estimates are from all queries together."]


class ProofKeys(TypedDict):
    """What stands under `proof`."""

    delta_upper: float


class BeforeKeys(TypedDict):
    """What stands under `before`."""

    rho: str | None
    noise_sd: float | None
    sd: float
    margin95: float


class AfterKeys(TypedDict):
    """What stands under `after`."""

    rho: str | None
    noise_sd: float | None
    sd: float | None
    margin95: float | None


class PlanQueryKeys(TypedDict):
    """What stands under `queries`."""

    name: str
    cells: int
    before: BeforeKeys
    after: AfterKeys


class PlanLevelKeys(TypedDict):
    """What stands under `levels`."""

    name: str
    queries: list[PlanQueryKeys]


class PlanKeys(TypedDict):
    """What `discreet plan` prints."""

    release: str
    rho: float
    rho_exact: str
    rho_before: float
    epsilon: float
    delta: float
    proof: ProofKeys | None
    possible: bool
    largest_ratio: float
    binding: list[list[str]]
    dropped: list[list[str]]
    tree: list[float]
    levels: list[PlanLevelKeys]
    limits: NotRequired[list[LimitKeys]]
    law: NotRequired[str]
    claims: NotRequired[Claims]


class TabulateKeys(TypedDict):
    """What `discreet tabulate` prints."""

    out: str
    units: int
    cells: int
    records: int
    left_out: int
    incomplete: int
    at_most: int
    files: list[str]
    ledger: str | None
