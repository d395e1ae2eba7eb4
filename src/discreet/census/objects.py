"""What the commands of this guest print with --json."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from discreet.answers.objects.shared import AnswerKeys, Claims


class ResultKeys(TypedDict):
    """What stands under `results`."""

    neighbours: str
    delta: float
    epsilon: float
    zcdp_epsilon: NotRequired[float]
    variance_reduction: NotRequired[float]
    pure_epsilon: NotRequired[float]
    claims: NotRequired[Claims]


class LevelKeys(TypedDict):
    """What stands under `levels`."""

    geography: str
    level: int
    groups: int
    stability: int
    stability_because: str
    rho: NotRequired[str | None]
    variance_total_only: float | str
    variance_stage_1: float | str
    variance_stage_2: float | str
    margin_of_error: int
    thresholds: list[int]
    suppressed_up_to: int | None
    epsilon: NotRequired[str | None]
    claims: NotRequired[Claims]


PassKeys = TypedDict(
    "PassKeys",
    {
        "pass": str,
        "private": bool,
        "answer": AnswerKeys,
        "rho_unbounded": NotRequired[str | None],
        "results": list[ResultKeys],
        "levels": list[LevelKeys],
        "epsilon_bounded": NotRequired[str | None],
        "epsilon_unbounded": NotRequired[str | None],
        "rho_bounded": NotRequired[str | None],
    },
)
"""What stands under `passes`."""


class SafetabAccountKeys(TypedDict):
    """What `discreet safetab account` prints."""

    unit: str
    privacy: str
    passes: list[PassKeys]
    notes: list[object]
    seconds: float


class OptionsKeys(TypedDict):
    """What stands under `options`."""

    format: str
    bureau_columns: bool
    bureau_margins: bool
    coterminous: bool
    tabulation_suppression: None
    negative: None
    order: list[str]
    rehearsal: int | None
    no_noise: bool


class SafetabCoterminousKeys(TypedDict):
    """What `discreet safetab coterminous` prints."""

    step: str
    out: str
    not_private: bool
    options: OptionsKeys
    rows: dict[str, int]
    groups: dict[str, int]
    donated: int
    files: list[str]
    seconds: float


class SafetabDesignLevelKeys(TypedDict):
    """What stands under `levels`."""

    geography: str
    level: int
    stability: int
    rho: NotRequired[str]
    rho_stage_2: NotRequired[str]
    variance: float | str
    margin: int
    sizes: dict[str, int]
    thresholds: list[int]
    suppressed_up_to: int | None
    empty_dropped: float | None
    epsilon: NotRequired[str]
    epsilon_stage_2: NotRequired[str]
    claims: NotRequired[Claims]


class SafetabDesignCostKeys(TypedDict):
    """What stands under `costs`."""

    neighbours: str
    rho: NotRequired[str]
    zcdp_epsilon: NotRequired[float]
    epsilon: float
    cases: int
    pure_epsilon: NotRequired[str]
    claims: NotRequired[Claims]


class OneStageKeys(TypedDict):
    """What stands under `one_stage`."""

    gaussian_epsilon: float
    geometric_epsilon: float


WithinMarginAgainstAllCodesKeys = TypedDict(
    "WithinMarginAgainstAllCodesKeys",
    {"100": float, "1000": float, "10000": float},
)
"""What stands under `within_margin_against_all_codes`."""


class SafetabDesignLevelRowKeys(TypedDict):
    """What stands under `levels`."""

    geography: str
    level: int
    margin: int
    margin_all_codes: int
    harm_from: int
    within_margin_against_capped: float
    within_margin_against_all_codes: WithinMarginAgainstAllCodesKeys | None


class CapKeys(TypedDict):
    """What stands under `cap`."""

    max_race_codes: int
    people_cut: float | None
    codes_lost: float | None
    levels: list[SafetabDesignLevelRowKeys]


SafetabDesignPassKeys = TypedDict(
    "SafetabDesignPassKeys",
    {
        "pass": str,
        "privacy": str,
        "error": str,
        "of": str,
        "delta": float,
        "max_race_codes": NotRequired[int],
        "gamma": str,
        "zero_suppression_chance": str,
        "answer": AnswerKeys,
        "levels": list[SafetabDesignLevelKeys],
        "costs": list[SafetabDesignCostKeys],
        "one_stage": OneStageKeys,
        "max_codes": NotRequired[int],
        "cap": NotRequired[CapKeys],
        "claims": NotRequired[Claims],
    },
)
"""What stands under `passes`."""


class GroupKeys(TypedDict):
    """What stands under `groups`."""

    group: str
    name: str
    level: int
    kind: str
    largest_earlier_count: int
    chance_of_a_total_only: float
    earlier_counts_below_states: int
    expected_below_states: float


class GainKeys(TypedDict):
    """What stands under `gains`."""

    geography: str
    level: int
    variance: float
    variance_total_only: float
    margin: int
    margin_total_only: int


class TotalOnlyKeys(TypedDict):
    """What stands under `total_only`."""

    earlier: str
    sure: str
    judged: int
    unknown: int
    groups: list[GroupKeys]
    gains: list[GainKeys]
    notes: list[object]


class SafetabDesignKeys(TypedDict):
    """What `discreet safetab design` prints."""

    specification: str
    passes: list[SafetabDesignPassKeys]
    out: str | None
    seconds: float
    total_only: NotRequired[TotalOnlyKeys]


class SafetabInitKeys(TypedDict):
    """What `discreet safetab init` prints."""

    folder: str
    spec: str
    files: list[str]
    codes: int
    groups: int


class SafetabPostOptionsKeys(TypedDict):
    """What stands under `options`."""

    format: str
    bureau_columns: bool
    bureau_margins: bool
    coterminous: bool
    tabulation_suppression: str | None
    negative: str | None
    order: list[str]
    rehearsal: int | None
    no_noise: bool


class SafetabPostKeys(TypedDict):
    """What `discreet safetab post` prints."""

    step: str
    out: str
    not_private: bool
    options: SafetabPostOptionsKeys
    rows: dict[str, int]
    groups: dict[str, int]
    dropped: int
    files: list[str]
    seconds: float


class SafetabReportErrorKeys(TypedDict):
    """What stands under `errors`."""

    geography: str
    level: int
    table: str
    number: str
    size: str
    numbers: int
    noise_sd: float
    mean_error: float
    expected_mean_error: float
    mae: float
    rmse: float
    expected_rmse: float
    within_moe: float
    expected_within_moe: float


class SafetabReportGroupKeys(TypedDict):
    """What stands under `groups`."""

    geography: str
    level: int
    size: str
    groups: int
    released: int
    expected_released: float


class SafetabReportKeys(TypedDict):
    """What `discreet safetab report` prints."""

    warning: str
    out: str
    rehearsal: bool
    headline: list[str]
    notes: list[str]
    max_race_codes: NotRequired[int]
    cap: list[object]
    errors: list[SafetabReportErrorKeys]
    groups: list[SafetabReportGroupKeys]
    max_codes: NotRequired[int]


class SafetabRunOptionsKeys(TypedDict):
    """What stands under `options`."""

    format: str
    bureau_columns: bool
    bureau_margins: bool
    coterminous: bool
    tabulation_suppression: str | None
    negative: str | None
    order: list[str]
    rehearsal: int | None
    no_noise: bool


class NoiseKeys(TypedDict):
    """What stands under `noise`."""

    total_only: str
    stage_1: str
    stage_2: str


class PlaceKeys(TypedDict):
    """What stands under `places`."""

    geography: str
    level: int
    budget: str
    stability: int
    noise: NoiseKeys
    thresholds: list[int]
    suppression_threshold: int | None
    regions: int
    iterations: int
    suppressed: int
    groups: dict[str, int]


class InputKeys(TypedDict):
    """What stands under `inputs`."""

    role: str
    sha256: str
    bytes: int


class EntryKeys(TypedDict):
    """What stands under `entries`."""

    warning: NotRequired[str]
    id: str
    time: str
    version: str
    command: str
    rehearsal: int | None
    unit: str
    neighbours: str
    rho: str
    exact: list[object]
    inputs: list[InputKeys]
    tree: str
    output: str
    files: dict[str, str]
    release: str


class LedgerKeys(TypedDict):
    """What stands under `ledger`."""

    file: None
    entries: list[EntryKeys]


class SafetabRunKeys(TypedDict):
    """What `discreet safetab run` prints."""

    out: str
    not_private: bool
    warning: str | None
    unit: str
    privacy: str
    budgets: dict[str, str]
    options: SafetabRunOptionsKeys
    rows: dict[str, int]
    groups: dict[str, int]
    suppressed: int
    donated: int
    dropped: int
    places: list[PlaceKeys]
    notes: list[object]
    files: list[str]
    ledger: LedgerKeys
    seconds: dict[str, float]


class SafetabSynthKeys(TypedDict):
    """What `discreet safetab synth` prints."""

    out: str
    params: str
    data: str
    persons: int
    seed: int
    states: int
    counties: int
    tracts: int
    blocks: int
    places: int
    aiannh_areas: int
    codes: int
    files: list[str]
    bytes: int
    seconds: float


class SafetabValidateKeys(TypedDict):
    """What `discreet safetab validate` prints."""

    valid: bool
    problems: list[str]
    notes: list[object]
    regions: dict[str, int]
