"""How numbers come out: measurements with noise, estimates from them, and the ledger of what was spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.release.admission import Request
    from discreet.release.audit import LedgerCheck, check_ledger
    from discreet.release.cellkey.run import Perturbed, perturb
    from discreet.release.composition import ledger_cost, ledger_release
    from discreet.release.entry import Entry
    from discreet.release.hierarchy.audit_runs import audit_mechanism, audit_release
    from discreet.release.hierarchy.estimates import Estimated, estimate
    from discreet.release.hierarchy.example import write_example
    from discreet.release.hierarchy.measuring import POSTS, Measured, measure
    from discreet.release.hierarchy.people import records_risk
    from discreet.release.hierarchy.record_check import RecordCheck, check_records
    from discreet.release.hierarchy.table_check import TableCheck, check_tables
    from discreet.release.hierarchy.tabulating import Tabulated, tabulate
    from discreet.release.ledger import Ledger
    from discreet.release.ledger_file import (
        change_total,
        create_ledger,
        is_ledger,
        read_ledger,
        sign_ledger,
        upgrade_ledger,
        witness_ledger,
    )
    from discreet.release.policy import Policy, PolicyError, read_policy, sign_policy
    from discreet.release.policy_review import rules_in_force
    from discreet.release.release_run import OrderError, ReleaseRun
    from discreet.release.signing import new_key, read_key
    from discreet.release.spending import spent
    from discreet.release.total import Total
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.release.admission": "Request",
            "discreet.release.audit": "LedgerCheck check_ledger",
            "discreet.release.cellkey.run": "Perturbed perturb",
            "discreet.release.composition": "ledger_cost ledger_release",
            "discreet.release.entry": "Entry",
            "discreet.release.hierarchy.audit_runs": "audit_mechanism audit_release",
            "discreet.release.hierarchy.estimates": "Estimated estimate",
            "discreet.release.hierarchy.example": "write_example",
            "discreet.release.hierarchy.measuring": "POSTS Measured measure",
            "discreet.release.hierarchy.people": "records_risk",
            "discreet.release.hierarchy.record_check": "RecordCheck check_records",
            "discreet.release.hierarchy.table_check": "TableCheck check_tables",
            "discreet.release.hierarchy.tabulating": "Tabulated tabulate",
            "discreet.release.ledger": "Ledger",
            "discreet.release.ledger_file": "change_total create_ledger is_ledger read_ledger sign_ledger "
            "upgrade_ledger witness_ledger",
            "discreet.release.policy": "Policy PolicyError read_policy sign_policy",
            "discreet.release.policy_review": "rules_in_force",
            "discreet.release.release_run": "OrderError ReleaseRun",
            "discreet.release.signing": "new_key read_key",
            "discreet.release.spending": "spent",
            "discreet.release.total": "Total",
        },
    )

__all__ = [
    "POSTS",
    "Entry",
    "Estimated",
    "Ledger",
    "LedgerCheck",
    "Measured",
    "OrderError",
    "Perturbed",
    "Policy",
    "PolicyError",
    "RecordCheck",
    "ReleaseRun",
    "Request",
    "TableCheck",
    "Tabulated",
    "Total",
    "audit_mechanism",
    "audit_release",
    "change_total",
    "check_ledger",
    "check_records",
    "check_tables",
    "create_ledger",
    "estimate",
    "is_ledger",
    "ledger_cost",
    "ledger_release",
    "measure",
    "new_key",
    "perturb",
    "read_key",
    "read_ledger",
    "read_policy",
    "records_risk",
    "rules_in_force",
    "sign_ledger",
    "sign_policy",
    "spent",
    "tabulate",
    "upgrade_ledger",
    "witness_ledger",
    "write_example",
]
