"""What the commands of this guest print with --json."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from discreet.answers.objects.shared import AnswerKeys, Claims


class MissingKeys(TypedDict):
    """What stands under `missing`."""

    field: str
    tier: int
    asks: str


class ProvedClaimKeys(TypedDict):
    """What stands under `claim`."""

    quantity: str
    delta: str
    lower: str
    upper: str
    claims: NotRequired[Claims]


class RegistryCasesKeys(TypedDict):
    """What stands under `cases`."""

    taken: str
    compared: int
    of: int


class EventKeys(TypedDict):
    """What stands under `events`."""

    noise: str
    variance: str
    sensitivity: int
    times: int


class WorstKeys(TypedDict):
    """What stands under `worst`."""

    case: list[int]
    events: list[EventKeys]


class MethodKeys(TypedDict):
    """What stands under `method`."""

    arithmetic: str
    road: str
    relative_accuracy: str
    digits: None


class CertificateKeys(TypedDict):
    """What stands under `certificates`."""

    format: str
    program: str
    says: str
    claim: ProvedClaimKeys
    unit: str
    neighbours: str
    people: int
    cases: RegistryCasesKeys
    answer: AnswerKeys
    worst: WorstKeys
    method: MethodKeys
    releases: list[str]
    digest: str


class BasicKeys(TypedDict):
    """What stands under `basic`."""

    name: str
    data_curators: list[str]
    intended_use: str
    data_product_type: str
    data_product_region: str
    description: str
    publication_date: str


class DpVariantKeys(TypedDict):
    """What stands under `dp_variant`."""

    variant_name: str
    unprotected_quantities: NotRequired[str]


class PrivacyParametersKeys(TypedDict):
    """What stands under `privacy_parameters`."""

    epsilon: float
    delta: float
    rho: float
    claims: NotRequired[Claims]


class PrivacyLossKeys(TypedDict):
    """What stands under `privacy_loss`."""

    privacy_unit: str
    privacy_unit_details: str
    privacy_parameters: PrivacyParametersKeys
    privacy_parameters_details: str


class DeploymentModelKeys(TypedDict):
    """What stands under `deployment_model`."""

    model_name: str
    release_type: NotRequired[str]
    release_type_details: NotRequired[str]


class AccountingKeys(TypedDict):
    """What stands under `accounting`."""

    composition: str


class ImplementationKeys(TypedDict):
    """What stands under `implementation`."""

    mechanisms: str


class AdministrativeKeys(TypedDict):
    """What stands under `administrative`."""

    sources: NotRequired[str]
    registry_authors: list[str]


class DeploymentKeys(TypedDict):
    """What stands under `deployment`."""

    basic: BasicKeys
    dp_variant: DpVariantKeys
    privacy_loss: PrivacyLossKeys
    deployment_model: DeploymentModelKeys
    accounting: AccountingKeys
    implementation: ImplementationKeys
    administrative: NotRequired[AdministrativeKeys]


class RegistryEntryRowKeys(TypedDict):
    """What stands under `entry`."""

    url_slug: str
    status: str
    tier: int
    deployment: DeploymentKeys


class RegistryEntryKeys(TypedDict):
    """What stands under ``."""

    releases: list[str]
    tier: int
    missing: list[MissingKeys]
    certificates: list[CertificateKeys]
    entry: RegistryEntryRowKeys
    yaml: str


class FindingKeys(TypedDict):
    """What stands under `findings`."""

    about: str
    agrees: bool
    stated: float | None
    recomputed: float | None
    says: str


class RegistryReviewKeys(TypedDict):
    """What stands under ``."""

    entry: str
    name: str
    adds_up: bool
    findings: list[FindingKeys]


class RegistryTemplateKeys(TypedDict):
    """What stands under ``."""

    template: str


RegistryKeys = RegistryEntryKeys | RegistryReviewKeys | RegistryTemplateKeys
"""What `registry` prints, by what it is asked."""
