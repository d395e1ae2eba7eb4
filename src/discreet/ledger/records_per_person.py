"""How many records of one person a table of counts may hold: who says so, and how a ledger remembers it.

If the number is above one, `tabulate` writes it beside every count, in the column `at_most`: a column
survives copying, renaming, CSV, Parquet and data frames. A ledger also remembers it by content: by a hash of
areas, cells and counts that does not depend on the format, the order of rows or other columns, so that counts
are recognised even if the column was removed.

Small counts can be guessed, and a plain hash would confirm the guess. So the hash is keyed (HMAC-SHA-256).
The key, 256 random bits, lies beside the ledger in a file that only its owner can read. To anyone who sees
the ledger, or a head of its chain, without the key, such a hash looks random: HMAC is a pseudorandom
function under the usual assumptions on SHA-256. The key is made when the ledger first has counts to remember.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.areas.output import ROWS
from discreet.errors import InputError
from discreet.files import FilePath, arrow, check_regular, open_to_others
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_file import write_text
from discreet.ledger.locks import locked
from discreet.ledger.manifests import JsonDict
from discreet.numbers import whole
from discreet.tables import file_of

if TYPE_CHECKING:
    from discreet.areas.layout import Layout
    from discreet.areas.tree import Integers

COLUMN = "at_most"
"""The column of a table of counts that says how many records of one person they may hold."""

FORMAT = "discreet counts 1"
"""The format that `tabulate` writes."""


@dataclass(frozen=True, slots=True)
class Secret:
    """The key under which a ledger remembers counts; its `repr` does not show it."""

    value: bytes = field(repr=False)

    @property
    def name(self) -> str:
        """A name that tells this key from others and reveals nothing about it."""
        return hmac.digest(self.value, b"name", "sha256").hex()[:16]

    def content(self, layout: Layout, read: Callable[[slice], Integers]) -> str:
        """Return what identifies counts: the key's name and the keyed hash of areas, cells and counts."""
        cells = {query: layout.cells[query].to_pylist() for query in sorted(layout.queries)}
        order = {query: np.array(arrow("compute").sort_indices(layout.cells[query])) for query in cells}
        named = [layout.tree.digest, {query: sorted(names) for query, names in cells.items()}]
        digest = hmac.new(self.value, json.dumps(named).encode(), "sha256")
        columns = [
            np.concatenate(
                [
                    np.empty(0, dtype=np.int64),
                    *(layout.offset(kind, query) + order[query] for query in sorted(asked)),
                ]
            ).astype(np.int64)
            for kind, asked in enumerate(layout.asked)
        ]
        for units, _ in layout.chunks(ROWS):
            counts = read(units)
            sorted_counts = np.empty_like(counts)
            base = layout.base[units.start : units.stop] - layout.base[units.start]
            for kind, chosen in enumerate(columns):
                begin = base[layout.kind[units] == kind][:, None]
                sorted_counts[begin + np.arange(len(chosen))] = counts[begin + chosen]
            digest.update(sorted_counts.astype("<i8").tobytes())
        return f"{self.name}:{digest.hexdigest()}"


def secret_file(ledger: FilePath) -> Path:
    """Return the path of the key of a ledger.

    >>> secret_file("no-such-folder/discreet-ledger.json").name
    'discreet-ledger.json.secret'
    """
    file = Path(os.path.realpath(ledger))
    return file.with_name(f"{file.name}.secret")


def read_secret(ledger: FilePath) -> Secret | None:
    """Return the key of a ledger; None if it has none."""
    file = secret_file(ledger)
    try:
        if not os.path.lexists(file):  # a broken link must not lead to a second key
            return None
        check_regular(file, f"the secret {file}", most=1 << 10)
        state, text = os.stat(file), file.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise InputError(f"the secret {file} cannot be read: {error.strerror}") from None
    if open_to_others(state):
        raise InputError(f"the secret {file} can be read by others; run chmod 600 on it")
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise InputError(f"the secret {file} is damaged: it must be 64 hexadecimal digits")
    return Secret(bytes.fromhex(text))


def make_secret(ledger: FilePath) -> Secret:
    """Return the key of a ledger; make one if it has none."""
    file = secret_file(ledger)
    try:
        with locked(file.parent):
            secret = read_secret(ledger)
            if secret is None:
                secret = Secret(secrets.token_bytes(32))
                write_text(file, f"{secret.value.hex()}\n", "secret")
            return secret
    except OSError as error:
        raise InputError(f"the secret {file} cannot be written: {error.strerror}") from None


def unknown_contents(ledger: Ledger, secret: Secret | None) -> bool:
    """Whether the ledger remembers counts with several records a person that it cannot recognise."""
    mine = "" if secret is None else f"{secret.name}:"
    several = (content for content, most in ledger.remembered.items() if most > 1)
    return any(secret is None or not content.startswith(mine) for content in several)


def said_of_counts(manifest: JsonDict) -> int | None:
    """Return how many records of a person counts may hold by their manifest; None if it does not say it.

    >>> said_of_counts({"at_most": 3}), said_of_counts({}), said_of_counts({"at_most": "many"})
    (3, None, None)
    """
    with suppress(InputError, KeyError):
        return whole(manifest["at_most"], name="at_most")
    return None


def _noted_beside(counts: object) -> int | None:
    """Return the number in the manifest beside counts: 1 if there is no manifest, None if it lacks it."""
    file = file_of(counts)
    manifest: object = None
    if file.name.split(".")[0] == "counts":
        with suppress(OSError, ValueError, RecursionError):
            manifest = json.loads((file.parent / "manifest.json").read_text(encoding="utf-8"))
    if isinstance(manifest, dict) and manifest.get("format") == FORMAT:
        return said_of_counts(manifest)
    return 1


def records_of_one(
    counts: object,
    column: int | None,
    stated: int | None,
    *,
    content: str | None,
    ledger: Ledger | None,
    where: FilePath | None,
    secret: Secret | None,
) -> int:
    """Return how many records of one person counts may hold: the largest number any source states, or 1.

    `column` is the number in their column (0 if it has no rows), `stated` the caller's. A caller who states
    less than is known is refused, and so is one who states nothing where the number may have been lost.
    """
    name = str(counts) if isinstance(counts, str | os.PathLike) else "the counts"
    remembered = 1 if ledger is None else ledger.remembered.get(content or "", 1)
    noted = _noted_beside(counts)
    known, who = max(
        (column or 1, f"the column {COLUMN} of {name}"),
        (noted or 1, f"the manifest beside {name}"),
        (remembered, f"the ledger {where}, which knows these counts by their content,"),
        key=lambda statement: statement[0],
    )
    if stated is not None:
        if whole(stated, name="at_most") < known:
            raise InputError(
                f"at_most is {stated}, but {who} says that a person may have {known} records in them; say at "
                f"least {known}, or leave it out: then {known} is charged"
            )
        return stated
    if known == 1 and noted is None and not column:
        raise InputError(
            f"the manifest beside {name} is that of counts and does not say how many records a person may "
            "have in them (at_most); say it (--at-most)"
        )
    if known == 1 and column == 0:
        raise InputError(
            f"{name} has a column {COLUMN} and no rows, so how many records a person may have is lost; say "
            "it (--at-most)"
        )
    if known == 1 and column is None and where is not None and ledger and unknown_contents(ledger, secret):
        raise InputError(
            f"the ledger {where} remembers counts in which a person may have several records, but the key "
            f"that it knows them by, {secret_file(where)}, is {'missing' if secret is None else 'another'}: "
            "put it back, or say how many records a person may have in these (--at-most)"
        )
    return known
