"""`discreet ledger`: make, read, change, sign and check the ledger of what runs have spent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App

from discreet.answers.quantity import NumberKind
from discreet.budget.level_names import level_name
from discreet.budget.neighbours import RELATIONS
from discreet.cli import console
from discreet.cli.console import Block, Hanging, Screen, option, show, text_table, write
from discreet.errors import DiscreetError, InputError, visible
from discreet.numbers import plain, read_delta

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.release import Ledger, Total
    from discreet.release.composition import Cost

File = Annotated[Path, option("The ledger's file.")]
_TOTAL = "UNIT:NEIGHBOURS:RHO or UNIT:NEIGHBOURS:EPSILON@DELTA"

app = App(
    name="ledger",
    usage="Usage: discreet ledger new|show|total|check|sign|witness PATH [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet ledger new discreet-ledger.json --total person:bounded:3/2\n"
    "  discreet ledger total discreet-ledger.json person:bounded:20@1e-10 --reason 'decided on 3 May'\n"
    "  discreet ledger show discreet-ledger.json\n"
    "  discreet ledger check discreet-ledger.json published/\n"
    "  discreet account discreet-ledger.json",
)


@app.command(name="new", usage="Usage: discreet ledger new PATH [OPTIONS]")
def new(
    path: File,
    /,
    *,
    total: Annotated[
        list[str] | None,
        option(
            "The most that all runs together may spend, such as person:bounded:3/2 or "
            "person:bounded:20@1e-10; may be repeated.",
            "UNIT:NEIGHBOURS:LIMIT",
        ),
    ] = None,
) -> None:
    """Make a ledger that runs share, readable by its owner only."""
    from discreet.release import create_ledger

    ledger = create_ledger(path, [_total(text, "--total") for text in total or ()])
    text = f"{path}: a new ledger without totals; runs are entered, and none is refused."
    if ledger.totals:
        text = f"{path}: a new ledger. All runs together may spend at most"
    show([text, *(Hanging(f"  on one {one}") for one in ledger.totals)])


@app.command(name="total", usage="Usage: discreet ledger total PATH TOTAL --reason TEXT [OPTIONS]")
def total(
    path: File,
    total: Annotated[str, option("Such as person:bounded:3/2 or person:bounded:20@1e-10.")],
    /,
    *,
    reason: Annotated[str, option("Why; the ledger keeps it.", "TEXT")],
    key: console.KeyFile = None,
) -> None:
    """Declare or change a total; the change and its reason are an entry of the ledger."""
    from discreet.release import change_total, read_key

    declared = _total(total, "the total")
    change_total(path, declared, reason, key=read_key(key))
    text = f"{path}: all runs together may now spend at most"
    show([Hanging(text), Hanging(f"  on one {declared}")])


@app.command(name="show", usage="Usage: discreet ledger show PATH [OPTIONS]")
def show_runs(
    path: File,
    /,
    *,
    delta: Annotated[str, option("The delta of the epsilon. Default: 1e-10.", "D")] = "1e-10",
    json: console.Json = False,
) -> None:
    """What runs have spent, in rho and in exact epsilon, and what is left of the totals."""
    from discreet.release import read_ledger

    at = read_delta(delta)
    ledger = read_ledger(path)
    costs, failed = _costs(ledger, at) if json or any(entry.counted for entry in ledger.entries) else ([], [])
    Screen(json=json, quiet=True).present(
        lambda: {"ledger": str(path), **ledger.as_dict(), "costs": [cost.as_dict() for cost in costs]},
        _text(path, ledger, costs, failed),
    )


def _text(path: Path, ledger: Ledger, costs: list[Cost], failed: list[str]) -> Iterator[Block]:
    from discreet.release.ledger import several

    entries = list(enumerate(ledger.entries, start=1))
    yield f"{path}: {_several(len(entries), 'run')}."
    if entries:
        yield ""
        rows = [
            (
                *(str(number), entry.time, entry.release.name, entry.release.unit, entry.release.neighbours),
                plain(entry.rho) if entry.counted else "none: a rehearsal, NOT PRIVATE",
                str(entry.rho) if entry.counted else "",
                entry.output,
            )
            for number, entry in entries
        ]
        columns = ("run", "time", "release", "unit", "neighbours", "rho", "as a fraction", "output")
        yield text_table(columns, rows, (0, 1, 2, 3, 4, 7))
    yield from _sums(ledger)
    for number, entry in entries:
        if entry.at_most > 1:
            who = several(entry.release.unit, entry.at_most)
            yield f"Run {number} has {who}, and costs what they cost together."
        for level, query in entry.exact:
            what = f"{query} of {level_name(level)}"
            yield f"Run {number} publishes {what} without noise, outside the guarantee."
    for one in ledger.as_dict()["counts"]:
        yield Hanging(
            f"Counts of {one['release']}, tabulated {one['time']}, have at most {one['at_most']} records of "
            f"one person: measuring them costs what {one['at_most']} people cost."
        )
    if any(entry.counted for entry in ledger.entries):
        yield from (
            Hanging(
                f"All runs together cost one {cost.unit} ({cost.neighbours} neighbours) epsilon "
                f"{_epsilon(cost)} at delta {float(cost.delta):g}."
            )
            for cost in costs
        )
        yield from map(Hanging, failed)
        yield ("Sums of rho are exact but overstate the cost a little; the epsilon is for all runs together.")
    if ledger.key:
        yield f"Entries are signed with the key {ledger.key}."


def _several(many: int, what: str) -> str:
    return f"{many} {what}{'s' * (many != 1)}"


@app.command(name="check", usage="Usage: discreet ledger check PATH [DIR ...] [OPTIONS]")
def check(
    path: File,
    outputs: Annotated[list[Path] | None, option("Outputs of runs, or directories of them.")] = None,
    /,
    *,
    witness: Annotated[
        str | None, option("What `discreet ledger witness` printed earlier.", "WITNESS")
    ] = None,
    key: Annotated[str | None, option("The public key that entries must be signed with.", "HEX")] = None,
) -> None:
    """Check that totals, spending, hashes and outputs agree; status 2 if they do not."""
    from discreet.release import check_ledger

    found = check_ledger(path, outputs or (), witness=witness, key=key)
    seen = f"{_several(len(found.ledger.entries), 'run')}, {_several(found.files, 'file')} as recorded"
    verdict = _several(len(found.problems), "problem") if found.problems else "sound"
    lines = [f"{path}: {verdict}; {seen}"]
    lines += [f"problem: {text}" for text in found.problems]
    lines += [f"remark: {text}" for text in found.remarks]
    write("".join(f"{visible(' '.join(line.split()))}\n" for line in lines))
    if not found.sound:
        raise SystemExit(2)


@app.command(name="sign", usage="Usage: discreet ledger sign PATH --key FILE [OPTIONS]")
def sign(
    path: File,
    /,
    *,
    key: Annotated[Path, option("The key's file; it is made if it does not exist.", "FILE")],
    old_key: Annotated[
        Path | None, option("The file of the current key, if the ledger is signed.", "FILE")
    ] = None,
) -> None:
    """Sign the ledger: from here on every entry needs the key."""
    from discreet.release import new_key, read_key, read_ledger, sign_ledger

    read_ledger(path)  # no key is made for a ledger that cannot be used
    old = None if old_key is None else read_key(old_key)
    made = not key.exists()
    signer = new_key(key) if made else read_key(key)
    assert signer is not None
    try:
        sign_ledger(path, signer, old=old)
    except DiscreetError:
        if made:
            key.unlink()
        raise
    show(
        [
            f"{path}: signed from here on; runs need --key {key}.",
            f"Public key, to be kept elsewhere for `discreet ledger check --key`: {signer.public}",
        ]
    )


@app.command(name="witness", usage="Usage: discreet ledger witness PATH [WITNESS]")
def witness(
    path: File, witness: Annotated[str | None, option("A witness printed earlier, to check.")] = None, /
) -> None:
    """Print a short head to keep elsewhere, or check that the ledger continues from one (status 2 if not)."""
    from discreet.release import read_ledger

    ledger = read_ledger(path)
    if witness is None:
        write(f"{ledger.witness}\n")
    elif ledger.agrees(witness):
        show([f"{path} continues from this witness."])
    else:
        show([f"{path} does not continue from this witness: entries were removed or changed since then."])
        raise SystemExit(2)


def _total(text: str, name: str) -> Total:
    """Read UNIT:NEIGHBOURS:RHO or UNIT:NEIGHBOURS:EPSILON@DELTA."""
    from discreet.release import Total

    parts = [part.strip() for part in text.split(":")]
    if len(parts) != 3:
        raise InputError(f"{name} is {text!r}; it must be {_TOTAL}, such as person:bounded:3/2")
    unit, neighbours, limit = parts
    epsilon, sign, delta = limit.partition("@")
    more: dict[str, object] = {"epsilon": epsilon, "delta": delta} if sign else {"rho": limit}
    return Total(unit=unit, neighbours=neighbours, **more)  # type: ignore[arg-type]  # checked there


def _costs(ledger: Ledger, delta: Fraction) -> tuple[list[Cost], list[str]]:
    """The exact cost for each unit, and for all of them together; and why one could not be had."""
    from discreet.release import ledger_cost

    units = list(dict.fromkeys(entry.release.unit for entry in ledger.entries if entry.counted))
    found, failed = [], []
    for unit in [*units, *(["+".join(units)] if len(units) > 1 else [])]:
        own = {entry.release.neighbours for entry in ledger.runs(unit)}
        relation = "bounded" if "bounded" in own else "unbounded"
        try:
            found.append(ledger_cost(ledger, unit=unit, neighbours=relation, delta=delta))  # type: ignore[arg-type]
        except DiscreetError as error:
            failed.append(f"The epsilon of one {unit} could not be computed: {error}")
    return found, failed


def _epsilon(cost: Cost) -> str:
    return NumberKind.of(cost.kind).quantity(cost.epsilon).claimed


def _sums(ledger: Ledger) -> Iterator[Block]:
    rows, declared = [], set()
    for one in ledger.totals:
        if one.rho is not None:
            used = ledger.spent(one.unit, one.neighbours)
            rows.append((one.unit, one.neighbours, str(one.rho), str(used), str(one.rho - used)))
            declared.add((one.unit, one.neighbours))
    for unit in dict.fromkeys(entry.release.unit for entry in ledger.entries if entry.counted):
        for relation in RELATIONS:
            if (unit, relation) not in declared:
                rows.append((unit, relation, "no total", str(ledger.spent(unit, relation)), ""))
    if rows:
        yield ""
        yield text_table(("unit", "neighbours", "total rho", "spent", "left"), rows, (0, 1))
        yield ""
    from discreet.release import ledger_cost

    for one in ledger.totals:
        if one.epsilon is not None and one.delta is not None:
            cost = ledger_cost(ledger, unit=one.unit, neighbours=one.neighbours, delta=one.delta)
            yield Hanging(f"Total for one {one}; spent so far: {_epsilon(cost)}.")
