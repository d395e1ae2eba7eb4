"""What was spent: policies, ledgers that are signed and witnessed, and `ReleaseRun`, the only way to spend.

A run that is stopped at any moment has both written its output and its entry, or neither (`commit`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.ledger.admission import Request
    from discreet.ledger.check import LedgerCheck, check_ledger
    from discreet.ledger.composition import ledger_cost, ledger_release
    from discreet.ledger.entry import Entry
    from discreet.ledger.ledger import Ledger
    from discreet.ledger.ledger_file import (
        change_total,
        create_ledger,
        is_ledger,
        read_ledger,
        sign_ledger,
        upgrade_ledger,
        witness_ledger,
    )
    from discreet.ledger.policy import Policy, PolicyError, read_policy, sign_policy
    from discreet.ledger.policy_review import rules_in_force
    from discreet.ledger.release_run import OrderError, ReleaseRun
    from discreet.ledger.signing import new_key, read_key
    from discreet.ledger.spending import spent
    from discreet.ledger.total import Total
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.ledger.admission": "Request",
            "discreet.ledger.check": "LedgerCheck check_ledger",
            "discreet.ledger.composition": "ledger_cost ledger_release",
            "discreet.ledger.entry": "Entry",
            "discreet.ledger.ledger": "Ledger",
            "discreet.ledger.ledger_file": "change_total create_ledger is_ledger read_ledger sign_ledger "
            "upgrade_ledger witness_ledger",
            "discreet.ledger.policy": "Policy PolicyError read_policy sign_policy",
            "discreet.ledger.policy_review": "rules_in_force",
            "discreet.ledger.release_run": "OrderError ReleaseRun",
            "discreet.ledger.signing": "new_key read_key",
            "discreet.ledger.spending": "spent",
            "discreet.ledger.total": "Total",
        },
    )

__all__ = [
    "Entry",
    "Ledger",
    "LedgerCheck",
    "OrderError",
    "Policy",
    "PolicyError",
    "ReleaseRun",
    "Request",
    "Total",
    "change_total",
    "check_ledger",
    "create_ledger",
    "is_ledger",
    "ledger_cost",
    "ledger_release",
    "new_key",
    "read_key",
    "read_ledger",
    "read_policy",
    "rules_in_force",
    "sign_ledger",
    "sign_policy",
    "spent",
    "upgrade_ledger",
    "witness_ledger",
]
