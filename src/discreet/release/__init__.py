"""How numbers come out: measurements with noise, estimates from them, and the ledger of what was spent."""

from discreet.release.audit import LedgerCheck, check_ledger
from discreet.release.composition import ledger_cost, ledger_release
from discreet.release.entry import Entry
from discreet.release.hierarchy.estimates import Estimated, estimate
from discreet.release.hierarchy.example import write_example
from discreet.release.hierarchy.measuring import POSTS, Measured, measure
from discreet.release.hierarchy.people import records_risk
from discreet.release.hierarchy.tabulating import Tabulated, tabulate
from discreet.release.ledger import Ledger
from discreet.release.ledger_file import change_total, create_ledger, is_ledger, read_ledger, sign_ledger
from discreet.release.signing import new_key, read_key
from discreet.release.spending import spent
from discreet.release.total import Total

__all__ = [
    "POSTS",
    "Entry",
    "Estimated",
    "Ledger",
    "LedgerCheck",
    "Measured",
    "Tabulated",
    "Total",
    "change_total",
    "check_ledger",
    "create_ledger",
    "estimate",
    "is_ledger",
    "ledger_cost",
    "ledger_release",
    "measure",
    "new_key",
    "read_key",
    "read_ledger",
    "records_risk",
    "sign_ledger",
    "spent",
    "tabulate",
    "write_example",
]
