"""What commands about risk print with --json."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from discreet.answers.objects.shared import AnswerKeys, BestGuessKeys, Claims


class GuessKeys(TypedDict):
    """What stands under `guesses`."""

    counts: list[str]
    variances: list[float]
    right: float
    kind: str
    right_may_be_off_by: float
    draws: int
    times_unaided: float
    one_cell_right_if_present: float
    claims: NotRequired[Claims]


class RiskCategoriesResultKeys(TypedDict):
    """What stands under `results`."""

    cell: str
    prior: float
    evidence: float
    posterior: float
    ratio: float
    one_cell_posterior: NotRequired[float]


class GroupResultKeys(TypedDict):
    """What stands under `group_results`."""

    group: str
    prior: float
    evidence: float
    posterior: float
    ratio: float


class RiskCategoriesKeys(TypedDict):
    """What `discreet risk categories` prints."""

    release: NotRequired[str]
    query: NotRequired[str]
    adversary: str
    cells: int
    even_priors: bool
    right_without_release: float
    guesses: list[GuessKeys]
    one_cell_adversary: str
    groups: NotRequired[int]
    totals_of_others: NotRequired[list[int]]
    named: NotRequired[list[str]]
    results: NotRequired[list[RiskCategoriesResultKeys]]
    group_results: NotRequired[list[GroupResultKeys]]
    asked: NotRequired[str]
    claims: NotRequired[Claims]


class RiskExplainRowKeys(TypedDict):
    """What stands under `rows`."""

    scope: str
    what: str
    prior: float
    baseline: float
    accuracy: float
    advantage: float
    expected_posterior: float
    posterior_quantiles: dict[str, float]
    true_positive_rate: float
    positive_predictive_value: float | None
    largest_posterior: float | None
    worst_case: list[int] | None
    claims: NotRequired[Claims]


class ChangedByExactCountKeys(TypedDict):
    """What stands under `changed_by_exact_counts`."""

    what: str
    all_data_sets: float
    those_that_agree: float
    claims: NotRequired[Claims]


class RiskExplainKeys(TypedDict):
    """What `discreet risk explain` prints."""

    name: str
    unit: str
    neighbours: str
    cases_compared: int
    is_bound: bool
    answer: AnswerKeys
    rows: list[RiskExplainRowKeys]
    best_guess: BestGuessKeys
    page: str
    held_exact: NotRequired[list[str]]
    changed_by_exact_counts: NotRequired[list[ChangedByExactCountKeys]]
    claims: NotRequired[Claims]


class DetectionKeys(TypedDict):
    """What stands under `detection`."""

    false_positive_rate: float
    true_positive_rate: float
    kind: str
    predictive_values: dict[str, float]
    worst_case: None
    claims: NotRequired[Claims]


class GuessingKeys(TypedDict):
    """What stands under `guessing`."""

    before: float
    at_most: float


class OfWhatHerRecordSaysKeys(TypedDict):
    """What stands under `of_what_her_record_says`."""

    epsilon: float
    delta: float
    accuracy: float
    expected_posterior: float
    posterior_but_for_rare_outcomes: float
    probability_of_rare_outcomes: float


class ExplainKeys(TypedDict):
    """What `discreet explain` prints: of a promise, or of a release what `discreet risk explain` prints."""

    best_guess: BestGuessKeys
    page: str
    neighbours: str
    epsilon: NotRequired[float]
    delta: NotRequired[float]
    prior: NotRequired[float]
    baseline: NotRequired[float]
    accuracy: NotRequired[float]
    expected_posterior: NotRequired[float]
    posterior_but_for_rare_outcomes: NotRequired[float]
    probability_of_rare_outcomes: NotRequired[float]
    detection: NotRequired[list[DetectionKeys]]
    guessing: NotRequired[list[GuessingKeys]]
    compares: NotRequired[str]
    of_what_her_record_says: NotRequired[OfWhatHerRecordSaysKeys | None]
    name: NotRequired[str]
    unit: NotRequired[str]
    cases_compared: NotRequired[int]
    is_bound: NotRequired[bool]
    answer: NotRequired[AnswerKeys]
    rows: NotRequired[list[RiskExplainRowKeys]]


AreaKeys = TypedDict(
    "AreaKeys",
    {"name": str, "mean": float, "standard_deviation": float, "quantile_0.025": int, "quantile_0.975": int},
)
"""What stands under `areas`."""


class RiskHierarchyKeys(TypedDict):
    """What `discreet risk hierarchy` prints."""

    posterior: float
    prior: float
    ratio: float
    known: int
    method: str
    siblings: str
    truncation_error: float | None
    standard_error: float | None
    draws: int | None
    sibling_error: float
    areas: list[AreaKeys]
    posterior_other_siblings: float | None
    claims: NotRequired[Claims]


RiskRecordsRowKeys = TypedDict(
    "RiskRecordsRowKeys",
    {
        "prior": str,
        "adversary": str,
        "kind": str,
        "who": str,
        "people": int,
        "mean_prior": float,
        "mean_posterior": float,
        "mean_ratio": float,
        "expected_ratio_above_1.5": float,
        "expected_ratio_above_2": float,
        "expected_ratio_above_5": float,
        "expected_ratio_above_10": float,
        "expected_posterior_above_0.1": float,
        "expected_posterior_above_0.5": float,
        "expected_posterior_above_0.9": float,
        "standard_error_of_mean_posterior": float | None,
        "standard_error_of_expected_ratio_above_2": float | None,
        "drawn_ratio_above_1.5": int | None,
        "drawn_ratio_above_2": int | None,
        "drawn_ratio_above_5": int | None,
        "drawn_ratio_above_10": int | None,
        "drawn_posterior_above_0.1": int | None,
        "drawn_posterior_above_0.5": int | None,
        "drawn_posterior_above_0.9": int | None,
        "drawn_mean_posterior": float | None,
        "drawn_mean_ratio": float | None,
        "drawn_largest_ratio": float | None,
        "drawn_quantiles": list[float] | None,
        "claims": NotRequired[Claims],
    },
)
"""What stands under `rows`."""


class SizeKeys(TypedDict):
    """What stands under `sizes`."""

    prior: str
    size: str
    people: int
    mean_posterior: float
    mean_ratio: float
    drawn_ratio_above_2: int | None
    claims: NotRequired[Claims]


class PublishedKeys(TypedDict):
    """What stands under `published`."""

    prior: str
    off: int
    chance: float
    posterior: float
    ratio: float
    people_drawn: int | None
    claims: NotRequired[Claims]


CurveKeys = TypedDict(
    "CurveKeys",
    {
        "prior": str,
        "against": str,
        "siblings": int | None,
        "at": float,
        "mean_posterior": float,
        "mean_ratio": float,
        "posterior_above_0.5": float,
    },
)
"""What stands under `curves`."""


class RiskRecordsExampleKeys(TypedDict):
    """What stands under `examples`."""

    prior: str
    record: int
    area: str
    area_above: str
    siblings: int
    count: int
    count_above: int
    count_beside: int
    noisy: int
    noisy_above: int
    noisy_beside: int
    posterior_alone: float
    posterior_with_the_hierarchy: float
    posterior_with_all_levels_above: float
    posterior_of_count_above: list[list[float]]
    cells: list[list[int | str]]


class DecisionKeys(TypedDict):
    """What stands under `decisions`."""

    prior: str
    siblings: int
    above_less_known: int
    beside: int
    present_from: int
    present_from_alone: int


class RiskRecordsKeys(TypedDict):
    """What `discreet risk records` prints."""

    confidential: str
    release: str
    query: str
    cells: int
    people: int
    uniques: int
    levels: list[str]
    variances: list[float]
    priors: list[str]
    drawn: bool
    certain: int
    left_out: list[object]
    rows: list[RiskRecordsRowKeys]
    sizes: list[SizeKeys]
    published: list[PublishedKeys]
    curves: list[CurveKeys]
    examples: list[RiskRecordsExampleKeys]
    decisions: list[DecisionKeys]
    seconds: float
    claims: NotRequired[Claims]


class RiskReleaseRowKeys(TypedDict):
    """What stands under `rows`."""

    scope: str
    what: str
    prior: float
    baseline: float
    accuracy: float
    advantage: float
    expected_posterior: float
    posterior_quantiles: dict[str, float]
    true_positive_rate: float
    positive_predictive_value: float | None
    largest_posterior: float | None
    worst_case: list[int] | None
    claims: NotRequired[Claims]


class RiskReleaseDetectionKeys(TypedDict):
    """What stands under `detection`."""

    false_positive_rate: float
    true_positive_rate: float
    kind: str
    predictive_values: dict[str, float]
    worst_case: list[int]
    claims: NotRequired[Claims]


class RiskReleaseGuessingKeys(TypedDict):
    """What stands under `guessing`."""

    before: float
    at_most: float
    at_most_against_another_person: float | None
    at_most_against_nobody: float
    possibilities: int
    claims: NotRequired[Claims]


class AttributeKeys(TypedDict):
    """What stands under `attributes`."""

    attribute: str
    values: int
    queries_that_see_it: int
    epsilon: float | None
    right_between_two_values: float
    guess_before: float
    guess_at_most: float
    delta: float
    kind: str
    worst_case: list[int]
    true_positive_rates: dict[str, float]
    claims: NotRequired[Claims]


class RiskReleaseKeys(TypedDict):
    """What `discreet risk release` prints."""

    name: str
    unit: str
    neighbours: str
    cases_compared: int
    is_bound: bool
    answer: AnswerKeys
    rows: list[RiskReleaseRowKeys]
    best_guess: NotRequired[BestGuessKeys]
    releases: NotRequired[list[str]]
    people: NotRequired[int]
    held_exact: NotRequired[list[str]]
    told_apart_by_exact_counts: NotRequired[bool]
    queries: NotRequired[int]
    queries_fixed_by_exact_counts: NotRequired[int]
    detection: NotRequired[list[RiskReleaseDetectionKeys]]
    guessing: NotRequired[list[RiskReleaseGuessingKeys]]
    attributes: NotRequired[list[AttributeKeys]]
    claims: NotRequired[Claims]


class StepKeys(TypedDict):
    """What stands under `steps`."""

    noisy: int
    variance: float
    posterior: float
    ratio: float


class RiskSingleAccuracyKeys(TypedDict):
    """What stands under `accuracy`."""

    present: float
    absent: float
    prior: float


class RiskSingleResultKeys(TypedDict):
    """What stands under `results`."""

    prior: str
    posterior: float
    ratio: float
    steps: NotRequired[list[StepKeys]]
    accuracy: NotRequired[RiskSingleAccuracyKeys]
    noisy: NotRequired[int]
    variance: NotRequired[float]
    known: NotRequired[int]
    log_odds: NotRequired[float]
    decides_present: NotRequired[bool | None]
    claims: NotRequired[Claims]


class AverageKeys(TypedDict):
    """What stands under `averages`."""

    prior: str
    expected_posterior_given_present: float
    expected_posterior_given_absent: float
    expected_ratio_given_present: float
    expected_ratio_given_absent: float
    accuracy_given_present: float
    accuracy_given_absent: float
    accuracy_given_prior: float
    claims: NotRequired[Claims]


class RiskSingleKeys(TypedDict):
    """What `discreet risk single` prints."""

    adversary: str
    counts: NotRequired[int]
    known: list[int] | int
    results: list[RiskSingleResultKeys]
    variance: NotRequired[float]
    unsure: NotRequired[int]
    nonnegative: NotRequired[bool]
    loss: NotRequired[list[list[float]]]
    averages: NotRequired[list[AverageKeys]]
    claims: NotRequired[Claims]


RiskTableLevelKeys = TypedDict(
    "RiskTableLevelKeys",
    {
        "level": str,
        "rows": int,
        "share_odds_doubled": float,
        "targets_odds_doubled": float,
        "maximum_ratio": float,
        "quantiles": dict[str, float],
        "mean_posterior": float,
        "quantiles_rounded": bool,
        "people": None,
        "people_mean_ratio": None,
        "people_ratio_above_1.5": None,
        "people_ratio_above_2": None,
        "people_ratio_above_5": None,
        "people_ratio_above_10": None,
        "people_posterior_above_0.1": None,
        "people_posterior_above_0.5": None,
        "people_posterior_above_0.9": None,
        "people_quantiles": None,
        "claims": NotRequired[Claims],
    },
)
"""What stands under `levels`."""


AllKeys = TypedDict(
    "AllKeys",
    {
        "level": str,
        "rows": int,
        "share_odds_doubled": float,
        "targets_odds_doubled": float,
        "maximum_ratio": float,
        "quantiles": dict[str, float],
        "mean_posterior": float,
        "quantiles_rounded": bool,
        "people": int | None,
        "people_mean_ratio": float | None,
        "people_ratio_above_1.5": int | None,
        "people_ratio_above_2": int | None,
        "people_ratio_above_5": int | None,
        "people_ratio_above_10": int | None,
        "people_posterior_above_0.1": int | None,
        "people_posterior_above_0.5": int | None,
        "people_posterior_above_0.9": int | None,
        "people_quantiles": list[float] | None,
        "claims": NotRequired[Claims],
    },
)
"""What stands under `all`."""


class RiskTableKeys(TypedDict):
    """What `discreet risk table` prints."""

    table: str
    rows: int
    prior: float | None
    adversary: str
    confidential: bool
    maximum_ratio: float
    levels: list[RiskTableLevelKeys]
    all: AllKeys
    seconds: float
    claims: NotRequired[Claims]
