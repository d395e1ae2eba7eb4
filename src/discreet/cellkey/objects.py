"""What the commands of this guest print with --json."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from discreet.answers.objects.shared import Claims


class CountsBeforeKeys(TypedDict):
    """What stands under `counts_before`."""

    group: str
    count: int


class CostKeys(TypedDict):
    """What stands under `costs`."""

    epsilon: float | None
    delta: float
    kind: str
    product_claim: float
    case: str
    counts_before: list[CountsBeforeKeys] | None
    gains: str
    loses: str | None
    method: str
    claims: NotRequired[Claims]


class EpsilonKeys(TypedDict):
    """What stands under `epsilons`."""

    delta: float
    epsilon: float | None
    claims: NotRequired[Claims]


class TradeoffKeys(TypedDict):
    """What stands under `tradeoff`."""

    alpha: float
    beta: float


class CellkeyAccountKeys(TypedDict):
    """What `discreet cellkey account` prints."""

    table: str
    cells: int
    groups: int
    rank: int
    neighbours: str
    keying: str
    everybody_in_a_cell: bool
    least: int | None
    published_exactly: list[str]
    cases: int
    methods: list[str]
    kind: str
    sample_failure: float
    costs: list[CostKeys]
    epsilons: list[EpsilonKeys]
    tradeoff: list[TradeoffKeys] | None
    prior: float
    best_guess_right: float | None
    keys_must_be: str
    claims: NotRequired[Claims]


class RowKeys(TypedDict):
    """What stands under `rows`."""

    count: int
    mean: float
    variance: float
    lowest: int
    highest: int
    monotone: bool
    stated_sum: float | None
    largest_deviation: float | None


class DeltaKeys(TypedDict):
    """What stands under `deltas`."""

    epsilon: float
    delta: float
    between: list[int]
    claims: NotRequired[Claims]


class CellkeyCheckCostKeys(TypedDict):
    """What stands under `costs`."""

    counts: str
    delta_at_any: float
    between_at_any: list[int]
    deltas: list[DeltaKeys]


class DeltaAtAnyEpsilonKeys(TypedDict):
    """What stands under `delta_at_any_epsilon`."""

    value: float
    exact: str
    between: list[int]


class CellkeyCheckKeys(TypedDict):
    """What `discreet cellkey check` prints."""

    table: str
    origin: str
    keys: str
    keying: str
    modulus: None
    last_row: int
    bound: int
    small: int
    unbiased: bool
    variance: float
    monotone: bool
    negative_counts: list[object]
    without_noise: list[int]
    always_told_apart: list[list[int]]
    rows: list[RowKeys]
    costs: list[CellkeyCheckCostKeys]
    delta_at_any_epsilon: DeltaAtAnyEpsilonKeys
    epsilons: list[EpsilonKeys]
    tradeoff: list[TradeoffKeys]
    prior: float
    best_guess_right: float
    keys_must_be: str
    claims: NotRequired[Claims]


class CellkeyDesignRowKeys(TypedDict):
    """What stands under `rows`."""

    count: int
    noise: int
    probability: str


class VarianceKeys(TypedDict):
    """What stands under `variances`."""

    count: int
    variance: float


class OtherKeys(TypedDict):
    """What stands under `others`."""

    noise: str
    largest: int
    variance: float


class CellkeyDesignKeys(TypedDict):
    """What `discreet cellkey design` prints."""

    largest: int
    small: int
    zeros: str
    monotone: bool
    made_least: str
    epsilon: str
    delta: float
    variance: str
    optimum: float
    rows: list[CellkeyDesignRowKeys]
    variances: list[VarianceKeys]
    others: list[OtherKeys]
    written: list[str]
    seconds: float
    claims: NotRequired[Claims]


class OfOneCellKeys(TypedDict):
    """What stands under `of_one_cell`."""

    epsilon: str
    delta: float
    claims: NotRequired[Claims]


class OfAllCellsOfOneRecordKeys(TypedDict):
    """What stands under `of_all_cells_of_one_record`."""

    cells_changed: int
    epsilon: str
    delta: float
    delta_at_any_epsilon: float
    kind: str


class CellkeyRunKeys(TypedDict):
    """What `discreet cellkey run` prints."""

    keys: str
    table: str
    attributes: list[str]
    margins: int
    cells: int
    rows: int
    empty: str
    zeros: bool
    unit: str
    neighbours: str
    rehearsal: int | None
    not_private: bool
    secret: str | None
    new_secret: bool
    out: str
    files: list[str]
    ledger: str | None
    seconds: float
    of_one_cell: OfOneCellKeys | None
    of_all_cells_of_one_record: OfAllCellsOfOneRecordKeys | None
