"""What commands about accounts print with --json."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from discreet.answers.objects.shared import AnswerKeys, BestGuessKeys, Claims, LimitKeys, ScopeKeys


class AccountResultKeys(TypedDict):
    """What stands under `results`."""

    epsilon: float | None
    delta: float
    zcdp_delta: NotRequired[float]
    worst: list[list[int] | int]
    zcdp_epsilon: NotRequired[float | None]
    lower: NotRequired[float]
    upper: NotRequired[float]
    accuracy: NotRequired[float]
    claims: NotRequired[Claims]


class RelationKeys(TypedDict):
    """What stands under `relations`."""

    relation: str
    neighbours: str
    households: int
    rho: str
    epsilons: list[float]
    claims: NotRequired[Claims]


class AccountKeys(TypedDict):
    """What `discreet account` prints."""

    release: str
    releases: list[str]
    unit: str
    neighbours: str
    people: int
    rho: str | None
    pairs: int
    answer: AnswerKeys
    results: list[AccountResultKeys]
    cautions: list[str]
    relations: NotRequired[list[RelationKeys]]
    seconds: float


class CalibrateQueryKeys(TypedDict):
    """What stands under `queries`."""

    name: str
    before: str
    after: str
    margins: list[int]


class CalibrateLevelKeys(TypedDict):
    """What stands under `levels`."""

    name: NotRequired[str]
    factor: NotRequired[float]
    before: NotRequired[float]
    after: NotRequired[float]
    queries: NotRequired[list[CalibrateQueryKeys]]
    level: NotRequired[str]
    variance_before: NotRequired[str]
    variance_after: NotRequired[str]
    epsilon: NotRequired[float]
    claims: NotRequired[Claims]


class AloneKeys(TypedDict):
    """What stands under `alone`."""

    level: str
    factor: str
    variance_before: str
    variance_after: str
    epsilon: float
    decided_by: str
    limit: float
    now: float
    proved_at_most: float
    claims: NotRequired[Claims]


class CertifiedEpsilonKeys(TypedDict):
    """What stands under `certified_epsilon`."""

    lower: float
    upper: float


class CalibrateLawKeys(TypedDict):
    """What stands under `laws`."""

    level: str
    exponent: str


class ComparisonKeys(TypedDict):
    """What stands under `comparison`."""

    noise: str
    variance: float
    margin: float
    chance: NotRequired[float]


class TriedKeys(TypedDict):
    """What stands under `tried`."""

    exponents: list[str]
    factor: float
    objective: float


class SavedKeys(TypedDict):
    """What stands under `saved`."""

    today: float
    gaussian: float | None


class LawKeys(TypedDict):
    """What stands under `law`."""

    asked: str
    objective: str
    laws: list[CalibrateLawKeys]
    comparison: list[ComparisonKeys]
    tried: list[TriedKeys]
    saved: SavedKeys


class CalibrateKeys(TypedDict):
    """What `discreet calibrate` prints."""

    release: str
    neighbours: str
    factor: float | str | None
    reduction: NotRequired[float | None]
    epsilon: float | None
    delta: float
    answer: AnswerKeys
    lower: NotRequired[float]
    upper: NotRequired[float]
    price: NotRequired[float | None]
    levels: list[CalibrateLevelKeys]
    notes: NotRequired[list[str]]
    seconds: float
    name: NotRequired[str]
    by: NotRequired[str]
    limits: NotRequired[list[LimitKeys]]
    smaller_factors_tried: NotRequired[int]
    alone: NotRequired[list[AloneKeys]]
    certified_epsilon: NotRequired[CertifiedEpsilonKeys]
    law: NotRequired[LawKeys]
    unproved: NotRequired[str]
    claims: NotRequired[Claims]


class AKeys(TypedDict):
    """What stands under `a`."""

    name: str
    title: str
    unit: str
    neighbours: str
    rho: str | None
    paths: int
    accounted: str
    answer: AnswerKeys
    accounted_rho: str | None
    pairs: int


class CompareAKeys(TypedDict):
    """What stands under `a`."""

    epsilon: float | None
    zcdp_epsilon: float | None
    worst: list[int]
    claims: NotRequired[Claims]


class CompareResultKeys(TypedDict):
    """What stands under `results`."""

    delta: float
    a: CompareAKeys
    b: CompareAKeys
    difference: float | None
    claims: NotRequired[Claims]


class CompareVarianceKeys(TypedDict):
    """What stands under `variances`."""

    level: str
    query: str
    a: str
    b: str
    ratio: float
    claims: NotRequired[Claims]


class CompareKeys(TypedDict):
    """What `discreet compare` prints."""

    a: AKeys
    b: AKeys
    results: list[CompareResultKeys]
    variances: list[CompareVarianceKeys]
    comparable: bool
    seconds: float
    claims: NotRequired[Claims]


class PresetKeys(TypedDict):
    """What stands under `presets`."""

    name: str
    title: str
    unit: str
    neighbours: str
    rho: str
    paths: int


class PresetsKeys(TypedDict):
    """What `discreet presets` prints."""

    presets: list[PresetKeys]
    aliases: dict[str, str]


class ReportAnswerKeys(TypedDict):
    """What stands under `answer`."""

    kind: str
    says: str
    reasons: list[object]
    scope: ScopeKeys


class ReportKeys(TypedDict):
    """What `discreet report` prints."""

    release: str
    neighbours: str
    answer: ReportAnswerKeys
    delta: float
    epsilon: float | None
    zcdp_epsilon: float | None
    worst: list[int]
    prior: str
    accuracy: float
    best_guess: BestGuessKeys
    reduction: float | None
    certified: bool
    files: list[str]
    seconds: float
    lower: NotRequired[float]
    upper: NotRequired[float]
    accuracy_lower: NotRequired[float]
    accuracy_upper: NotRequired[float]
    claims: NotRequired[Claims]


class ShowQueryKeys(TypedDict):
    """What stands under `queries`."""

    name: str
    noise: str
    variance: NotRequired[float]
    variance_exact: NotRequired[str]
    rho: str | None
    share: str | None
    sensitivity: int
    groups: int
    scale: NotRequired[float]
    scale_exact: NotRequired[str]
    exponent: NotRequired[str]


class ShowLevelKeys(TypedDict):
    """What stands under `levels`."""

    name: str
    rho: str | None
    queries: list[ShowQueryKeys]


class ShowKeys(TypedDict):
    """What `discreet show` prints."""

    name: str
    title: str
    unit: str
    neighbours: str
    rho: str | None
    paths: int
    main_path: int
    levels: list[ShowLevelKeys]
    path_levels: dict[str, list[str]]
    answer: AnswerKeys
    sources: list[str]
    notes: list[str]


class VerifyDeltaKeys(TypedDict):
    """What stands under `delta`."""

    lower: str
    upper: str


class WitnessKeys(TypedDict):
    """What stands under `witness`."""

    case: list[list[int] | int]
    epsilon: str
    delta: VerifyDeltaKeys
    claims: NotRequired[Claims]


class CasesKeys(TypedDict):
    """What stands under `cases`."""

    taken: list[object] | str
    of: int


class VerifyKeys(TypedDict):
    """What `discreet verify` prints."""

    verdict: str
    says: str
    reason: str
    release: str
    unit: str
    neighbours: str
    people: int
    pairs: int
    answer: AnswerKeys
    witness: WitnessKeys | None
    roads: dict[str, int]
    cases: CasesKeys
    not_checked: list[str]
    seconds: float
