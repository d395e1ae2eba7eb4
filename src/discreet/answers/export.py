"""What an exported account holds, in words: its curves, certificates and how they are to be read."""

from __future__ import annotations

from discreet.accounting.account import Account
from discreet.answers.account import compared
from discreet.answers.quantity import Quantity
from discreet.answers.release import claim_text, relation

_PAIR = ("", "The pair of paths, or the path, as the release numbers them.")
CURVE_COLUMNS = {
    "profiles.parquet": {
        "pair": _PAIR,
        "epsilon": ("natural logarithm of a ratio of probabilities", "Where delta is asked."),
        "delta": ("probability", "The smallest delta that holds for this pair at epsilon."),
        "accuracy": ("part of delta", "How far delta may be off, relatively; null: refused."),
    },
    "tradeoffs.parquet": {
        "pair": _PAIR,
        "alpha": ("probability", "Type I error of a test of one neighbour against the other."),
        "beta": ("probability", "The least type II error of any such test: f(alpha)."),
        "accuracy": ("part of beta", "How far beta may be off, relatively; null: refused."),
    },
}
"""The files, and the unit and meaning of each column."""

_README = """\
# {name}

What this release costs {who}, as computed by {program}.

- `profiles.parquet`: delta at each epsilon, for each of {pairs}.
- `tradeoffs.parquet`: the trade-off curve beta = f(alpha) of each.
- `certificates/`: for each number of the table, and for the type II error at a type I error of {alpha}, an
  interval that provably contains it, with all that a checker needs. `discreet verify FILE` re-derives it by
  another method.{missing}
- `manifest.json`: the columns with their types and units, the number of rows, and the SHA-256 of each file.

{claim}
"""


def export_page(account: Account, program: str, *, alpha: Quantity, missing: str = "") -> str:
    """Say what is in the folder of an exported account; `missing` says why a certificate is not there.

    >>> from discreet.accounting.account import account
    >>> from discreet.budget import load
    >>> page = export_page(account(load("dhc-2022-08-25")), "discreet 1", alpha=Quantity(0.05))
    >>> print(page.splitlines()[2])
    What this release costs one person added or removed, as computed by discreet 1.
    """
    return _README.format(
        name=account.name,
        who=relation(account.neighbours, account.unit, account.people),
        program=program,
        pairs=compared(account).removesuffix(" compared").lower(),
        claim=claim_text(account.claim),
        alpha=alpha,
        missing=missing,
    )
