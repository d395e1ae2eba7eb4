"""`discreet ledger`: make, read, change, sign and check the ledger of what runs have spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from discreet.answers.answer import Answer, Paragraph, Part
from discreet.cli import console
from discreet.cli.console import Screen, option
from discreet.errors import InputError
from discreet.ledger.check import check_ledger
from discreet.ledger.composition import ledger_costs
from discreet.ledger.ledger import FORMAT
from discreet.ledger.ledger_file import (
    change_total,
    create_ledger,
    ledger_in,
    read_ledger,
    sign_ledger,
    upgrade_ledger,
    witness_ledger,
)
from discreet.ledger.signing import read_key
from discreet.ledger.total import Total
from discreet.numbers import read_delta

if TYPE_CHECKING:
    from cyclopts import Token


def _in_directory(kind: type, tokens: Sequence[Token]) -> Path:
    """Return the file of a ledger; a directory stands for the one in it."""
    return ledger_in(tokens[0].value)


File = Annotated[
    Path, Parameter(help="The ledger's file, or the directory that holds it.", converter=_in_directory)
]
_TOTAL = "UNIT:NEIGHBOURS:RHO or UNIT:NEIGHBOURS:EPSILON@DELTA"

_NEW = "ledger new ledger.json --total person:bounded:3/2"
_WHY = "ledger total ledger.json person:bounded:20@1e-10 --reason 'decided on 3 May'"

app = console.command(
    "ledger",
    "new|show|total|check|sign|witness|upgrade PATH [OPTIONS]",
    "check discreet-ledger.json published/",
    tries=(_NEW, _WHY, "ledger show ledger.json"),
)
new_app = console.command("ledger new", "PATH [OPTIONS]", tries=[_NEW])
total_app = console.command("ledger total", "PATH TOTAL --reason TEXT [OPTIONS]", tries=[_NEW, _WHY])
show_app = console.command("ledger show", "PATH [OPTIONS]", tries=[_NEW, "ledger show ledger.json"])
check_app = console.command(
    "ledger check",
    "PATH [DIR ...] [OPTIONS]",
    "discreet-ledger.json published/",
    tries=[_NEW, "ledger check ledger.json"],
)
sign_app = console.command(
    "ledger sign",
    "PATH --key FILE [OPTIONS]",
    tries=[_NEW, "ledger sign ledger.json --key ledger.key"],
)
witness_app = console.command(
    "ledger witness",
    "PATH [WITNESS] [OPTIONS]",
    tries=[_NEW, "ledger witness ledger.json --to witness.txt", "ledger witness ledger.json"],
)

upgrade_app = console.command("ledger upgrade", "PATH [OPTIONS]", tries=[_NEW, "ledger upgrade ledger.json"])


def _tell(path: Path, record: Mapping[str, object], said: Sequence[Part], *, json: bool) -> None:
    """Say what was done to a ledger."""
    Screen(json=json, quiet=True).tell(Answer(str(path), {"ledger": str(path), **record}, tuple(said)))


@new_app.default
@console.takes(create_ledger)
def new(path: File, /, *, json: console.Json = False, **given: console.Given) -> None:
    """Make a ledger that runs share, readable by its owner only."""
    ledger = create_ledger(path, [_total(text, "--total") for text in given.get("totals", ())])
    text = f"{path}: a new ledger without totals: nothing limits what runs spend."
    if ledger.totals:
        text = f"{path}: a new ledger. All runs together may spend at most"
    said: list[Part] = [text, *(Paragraph(f"  on one {declared}") for declared in ledger.totals)]
    _tell(path, {"totals": [declared.document() for declared in ledger.totals]}, said, json=json)


@total_app.default
@console.takes(change_total)
def total(
    path: File,
    total: Annotated[str, option("Such as person:bounded:3/2 or person:bounded:20@1e-10.")],
    /,
    *,
    json: console.Json = False,
    **given: console.Given,
) -> None:
    """Declare or change a total; the change and its reason are an entry of the ledger."""
    declared, reason = _total(total, "the total"), given["reason"]
    change_total(path, declared, reason, key=read_key(given.get("key")))
    said = [f"{path}: all runs together may now spend at most", f"  on one {declared}"]
    _tell(path, {"total": declared.document(), "reason": reason}, [*map(Paragraph, said)], json=json)


@show_app.default
@console.takes(ledger_costs)
def show_runs(path: File, /, *, json: console.Json = False, **given: console.Given) -> None:
    """What runs have spent, in rho and in exact epsilon, and what is left of the totals."""
    from discreet.answers.ledger import ledger_answer

    if "delta" in given:
        given["delta"] = read_delta(given["delta"])
    costs = ledger_costs(read_ledger(path), **given)
    Screen(json=json, quiet=True).tell(ledger_answer(costs, file=path))


@check_app.default
@console.takes(check_ledger)
def check(
    path: File,
    outputs: Annotated[list[Path] | None, option("Outputs of runs, or directories of them.")] = None,
    /,
    *,
    json: console.Json = False,
    **given: console.Given,
) -> None:
    """Check that totals, spending, hashes and outputs agree; status 2 if they do not."""
    from discreet.answers.ledger import ledger_check_answer

    checked = check_ledger(path, outputs or (), **given)
    Screen(json=json, quiet=True).tell(ledger_check_answer(checked, file=path))
    if not checked.sound:
        raise SystemExit(2)


@sign_app.default
@console.takes(sign_ledger)
def sign(path: File, /, *, json: console.Json = False, **given: console.Given) -> None:
    """Sign the ledger: from here on every entry needs the key."""
    key: Path = given["key"]
    read_ledger(path)  # no key is made for a ledger that cannot be used
    old = None if "old_key" not in given else read_key(given["old_key"])
    with console.key_of(key) as signer:
        sign_ledger(path, signer, old_key=old)
    said = (
        f"{path}: signed from here on; runs need --key {key}.",
        f"Public key, to be kept elsewhere for `discreet ledger check --key`: {signer.public}",
    )
    _tell(path, {"key": str(key), "public_key": signer.public}, said, json=json)


@witness_app.default
@console.takes(witness_ledger)
def witness(
    path: File,
    witness: Annotated[str | None, option("A witness printed earlier, to check.")] = None,
    /,
    *,
    json: console.Json = False,
    **given: console.Given,
) -> None:
    """Print a short head to keep elsewhere, or check that the ledger continues from one (status 2 if not)."""
    to: Path | None = given.get("to")
    if to is not None and witness is not None:
        raise InputError("give a witness to check, or --to to start one, not both")
    if to is not None:
        witness_ledger(path, to)
    ledger = read_ledger(path)
    agrees = None if witness is None else ledger.agrees(witness)
    head: Part = Paragraph(ledger.witness, wraps=False)
    if to is not None:
        head = f"{to}: a witness of {path}. Keep it where the ledger is not, and name it in the policy."
    elif agrees is not None:
        head = f"{path} continues from this witness."
    if agrees is False:
        head = f"{path} does not continue from this witness: entries were removed or changed since then."
    record = {"witness": ledger.witness, "file": None if to is None else str(to), "continues": agrees}
    _tell(path, record, [head], json=json)
    if agrees is False:
        raise SystemExit(2)


@upgrade_app.default
@console.takes(upgrade_ledger)
def upgrade(path: File, /, *, json: console.Json = False, **given: console.Given) -> None:
    """Write a ledger of an earlier version in the present format; entries stay, and a signed head is new."""
    before = read_ledger(path)
    done = before.format != FORMAT
    ledger = upgrade_ledger(path, key=read_key(given.get("key"))) if done else before
    text = f"{path}: has the format {ledger.format!r} already; nothing was changed."
    if done:
        text = f"{path}: from {before.format!r} to {ledger.format!r}; its runs and heads are as they were."
        text += " From here on its head is signed." if ledger.sealed else ""
    _tell(path, {"format": ledger.format, "from": before.format, "sealed": ledger.sealed}, [text], json=json)


def _total(text: str, name: str) -> Total:
    """Read UNIT:NEIGHBOURS:RHO or UNIT:NEIGHBOURS:EPSILON@DELTA."""
    parts = [part.strip() for part in text.split(":")]
    if len(parts) != 3:
        raise InputError(f"{name} is {text!r}; it must be {_TOTAL}, such as person:bounded:3/2")
    unit, neighbours, limit = parts
    epsilon, sign, delta = limit.partition("@")
    more: dict[str, object] = {"epsilon": epsilon, "delta": delta} if sign else {"rho": limit}
    return Total(unit=unit, neighbours=neighbours, **more)  # type: ignore[arg-type]  # checked there
