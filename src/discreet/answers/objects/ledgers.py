"""What commands about ledgers and policies print with --json."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from discreet.answers.objects.shared import Claims


class LedgerCheckKeys(TypedDict):
    """What `discreet ledger check` prints."""

    ledger: str
    sound: bool
    runs: int
    files: int
    problems: list[str]
    remarks: list[object]
    not_seen: Annotated[list[str], "What no check without a witness can see."]


class TotalKeys(TypedDict):
    """What stands under `totals`."""

    unit: str
    neighbours: str
    rho: NotRequired[str]
    epsilon: NotRequired[str]
    delta: NotRequired[str]
    claims: NotRequired[Claims]


class LedgerNewKeys(TypedDict):
    """What `discreet ledger new` prints."""

    ledger: str
    totals: list[TotalKeys]


class LedgerShowTotalKeys(TypedDict):
    """What stands under `totals`."""

    unit: str
    neighbours: str
    rho: NotRequired[str]
    spent: NotRequired[str]
    left: NotRequired[str]
    epsilon: NotRequired[str]
    delta: NotRequired[str]
    claims: NotRequired[Claims]


class SpentKeys(TypedDict):
    """What stands under `spent`."""

    unit: str
    bounded: str
    unbounded: str


class RunKeys(TypedDict):
    """What stands under `runs`."""

    id: str
    time: str
    version: str
    command: str
    unit: str
    neighbours: str
    rho: str
    at_most: int
    rehearsal: None
    exact: list[object]
    output: str
    release: str
    files: list[str]
    delta: NotRequired[str]
    claims: NotRequired[Claims]


class CountKeys(TypedDict):
    """What stands under `counts`."""

    time: str
    release: str
    at_most: int


class LedgerShowCostKeys(TypedDict):
    """What stands under `costs`."""

    unit: str
    neighbours: str
    delta: float
    epsilon: float | None
    kind: str
    delta_must_exceed: float
    claims: NotRequired[Claims]
    runs: NotRequired[int]
    counted_in_households: NotRequired[int]
    left_out: NotRequired[list[dict[str, object]]]


class LedgerShowKeys(TypedDict):
    """What `discreet ledger show` prints."""

    ledger: str
    head: str
    key: str | None
    totals: list[LedgerShowTotalKeys]
    spent: list[SpentKeys]
    runs: list[RunKeys]
    counts: list[CountKeys]
    costs: list[LedgerShowCostKeys]


class LedgerSignKeys(TypedDict):
    """What `discreet ledger sign` prints."""

    ledger: str
    key: str
    public_key: str


class LedgerTotalKeys(TypedDict):
    """What `discreet ledger total` prints."""

    ledger: str
    total: TotalKeys
    reason: str


LedgerUpgradeKeys = TypedDict(
    "LedgerUpgradeKeys",
    {
        "ledger": str,
        "format": Annotated[str, "The format that the ledger has now."],
        "from": Annotated[str, "The format that it had."],
        "sealed": Annotated[bool, "Whether its head is signed."],
    },
)
"""What `discreet ledger upgrade` prints."""


class LedgerWitnessKeys(TypedDict):
    """What `discreet ledger witness` prints."""

    ledger: str
    witness: str
    file: str | None
    continues: bool | None


class PolicyCheckLedgerKeys(TypedDict):
    """What stands under `ledger`."""

    required: bool
    file: str | None
    public_key: list[str]
    witness: str | None


class LargestTotalKeys(TypedDict):
    """What stands under `largest_total`."""

    unit: str
    neighbours: str
    epsilon: str
    delta: str
    claims: NotRequired[Claims]


class RuleKeys(TypedDict):
    """What stands under `rules`."""

    rule: str
    says: str


class PolicyCheckKeys(TypedDict):
    """What `discreet policy check` prints."""

    file: str
    title: str
    signed_by: str | None
    pinned: bool
    ledger: PolicyCheckLedgerKeys
    largest_run: list[TotalKeys]
    largest_total: list[LargestTotalKeys]
    may: dict[str, list[str] | str]
    rules: list[RuleKeys]
    sound: bool
    problems: list[str]
    remarks: list[str]


class PolicyKeys(TypedDict):
    """What stands under `policies`."""

    file: str
    title: str
    signed_by: None
    pinned: bool
    ledger: PolicyCheckLedgerKeys
    largest_run: list[TotalKeys]
    largest_total: list[LargestTotalKeys]
    may: dict[str, list[str] | str]
    rules: list[RuleKeys]


class MayKeys(TypedDict):
    """What stands under `may`."""

    spend_again: bool
    invariants: bool
    no_noise: bool
    exact_counts: bool
    rehearsal: bool


class RefusalKeys(TypedDict):
    """What stands under `refusals`."""

    policy: str
    rule: str
    reason: str


class PolicyShowKeys(TypedDict):
    """What `discreet policy show` prints."""

    source: str
    user: str
    groups: list[str]
    ledger: str | None
    policies: list[PolicyKeys]
    may: MayKeys
    refusals: list[RefusalKeys]


class PolicySignKeys(TypedDict):
    """What `discreet policy sign` prints."""

    policy: str
    signature: str
    public_key: str
