"""How numbers come out: measurements with noise, estimates from them, and the ledger of what was spent."""

from discreet.release.audit import LedgerCheck, check_ledger
from discreet.release.commit import create_ledger
from discreet.release.composition import ledger_release
from discreet.release.hierarchy import POSTS, Measured, Processed, measure, post
from discreet.release.ledger import Entry, Ledger, Total, is_ledger, read_ledger
from discreet.release.spending import spent

__all__ = [
    "POSTS",
    "Entry",
    "Ledger",
    "LedgerCheck",
    "Measured",
    "Processed",
    "Total",
    "check_ledger",
    "create_ledger",
    "is_ledger",
    "ledger_release",
    "measure",
    "post",
    "read_ledger",
    "spent",
]
