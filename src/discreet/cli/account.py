"""`discreet account`: what a release costs, exactly, beside what zCDP says."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.cli.outputs import PLOT_KINDS, TABLE_KINDS, Outputs
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.accounting.overall import Account
    from discreet.budget import Neighbours, Release

app = App(
    name="account",
    usage="Usage: discreet account TARGET... [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet account dhc-2020\n"
    "  discreet account dhc-2020 --neighbours unbounded --delta 1e-10 --certify\n"
    "  discreet account release.toml --epsilon 4 --curve curve.csv --plot curve.svg",
)


@app.default
def account(
    *targets: options.Targets,
    neighbours: options.Relation = None,
    delta: options.Deltas = None,
    epsilon: Annotated[
        list[str] | None,
        Parameter(help="Delta at this epsilon, an exact number such as 4; may be repeated.", metavar="E"),
    ] = None,
    pair: Annotated[
        tuple[int, int] | None, Parameter(help="Only this pair of paths (bounded).", metavar="I J")
    ] = None,
    path: Annotated[int | None, Parameter(help="Only this path (unbounded).", metavar="I")] = None,
    people: options.People = 1,
    all_pairs: Annotated[
        bool,
        Parameter(
            help="For several releases: every combination of their paths, or the main ones alone.",
            negative="--main-path",
        ),
    ] = True,
    unit: Annotated[
        str | None, Parameter(help="For a ledger with runs about several units: which.", metavar="UNIT")
    ] = None,
    curve: Annotated[
        Path | None, Parameter(help="Write epsilon, exact delta and zCDP's delta.", metavar="FILE.csv")
    ] = None,
    tradeoff: Annotated[
        Path | None, Parameter(help="Write alpha, exact f and zCDP's f.", metavar="FILE.csv")
    ] = None,
    plot: Annotated[
        Path | None, Parameter(help="Draw both curves, exact against zCDP.", metavar="FILE.svg|png|pdf")
    ] = None,
    certify: Annotated[
        bool, Parameter(help="Also intervals that provably contain the values of the table.")
    ] = False,
    digits: Annotated[int | None, Parameter(help="Significant digits of the results.", metavar="N")] = None,
    jobs: options.Jobs = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Account for one release, or for several together."""
    started = time.perf_counter()
    workers = options.jobs_or_cpus(jobs)
    options.checked_digits(digits, certify=certify)
    deltas = options.read_deltas(delta or ())
    epsilons = options.read_epsilons(epsilon or ())
    outputs = Outputs()
    outputs.plan("--curve", curve, TABLE_KINDS)
    outputs.plan("--tradeoff", tradeoff, TABLE_KINDS)
    outputs.plan("--plot", plot, PLOT_KINDS)
    releases = _load(targets, neighbours, unit)

    from discreet.cli import account_text
    from discreet.cli.account_files import file_contents
    from discreet.cli.printing import progress_bar, say_time, write_json
    from discreet.report.tables import DELTAS, delta_rows, epsilon_rows, zcdp_of

    if pair is not None or path is not None:
        whole = _one_case(releases, neighbours, pair, path, people)
    else:
        whole = _whole(releases, neighbours, people, workers, all_pairs)
    zcdp = zcdp_of(whole)
    asked = deltas if delta or epsilon else [*DELTAS]
    with progress_bar("Comparing paths", show=not (quiet or json)) as progress:
        running = whole.with_workers(workers, progress)
        by_delta = epsilon_rows(running, asked, zcdp=zcdp, certified=certify, digits=digits)
        by_epsilon = delta_rows(running, epsilons, zcdp=zcdp, certified=certify, digits=digits)
        contents = file_contents(running, zcdp, outputs)
    outputs.write(contents)
    answer = account_text.Answer(releases, whole, zcdp.rho, by_delta, by_epsilon, digits)
    seconds = time.perf_counter() - started
    if json:
        write_json(account_text.as_object(answer, seconds))
        return
    account_text.show(answer)
    say_time(seconds, show=not quiet)


def _load(targets: tuple[str, ...], neighbours: Neighbours | None, unit: str | None) -> list[Release]:
    if not targets:
        raise InputError("account needs a preset's name or a TOML file; `discreet presets` lists all names")
    return [_read(target, neighbours, unit) for target in targets]


def _read(target: str, neighbours: Neighbours | None, unit: str | None) -> Release:
    """The release of a target; all runs of a ledger are one."""
    from discreet.budget import load

    if os.path.isfile(target):
        from discreet.release import is_ledger, ledger_release

        if is_ledger(target):
            return ledger_release(target, neighbours=neighbours, unit=unit)
    if unit is not None:
        raise InputError(f"--unit picks among the runs of a ledger, and {target} is none")
    return load(target)


def _whole(
    releases: list[Release], neighbours: Neighbours | None, people: int, jobs: int, all_pairs: bool
) -> Account:
    if len(releases) == 1:
        from discreet.accounting.overall import account

        return account(releases[0], neighbours=neighbours, people=people, jobs=jobs)
    from discreet.accounting.portfolio import portfolio

    return portfolio(releases, neighbours=neighbours, people=people, jobs=jobs, all_pairs=all_pairs)


def _one_case(
    releases: list[Release],
    neighbours: Neighbours | None,
    pair: tuple[int, int] | None,
    path: int | None,
    people: int,
) -> Account:
    """The account of a single pair of paths or a single path."""
    from discreet.accounting.overall import Account, account

    if len(releases) > 1:
        raise InputError("--pair and --path are for one release, not for several together")
    if pair is not None and path is not None:
        raise InputError("--pair and --path cannot be asked for together")
    implied: Neighbours = "unbounded" if pair is None else "bounded"
    if neighbours not in (None, implied):
        option = "--path" if pair is None else "--pair"
        raise InputError(f"{option} is about {implied} neighbours, but --neighbours is {neighbours}")
    release, numbers = releases[0], tuple(sorted(pair)) if pair is not None else (path,)
    # the unbounded account has the fewest cases to prepare; a single pair or path is the same in both
    base = account(release, neighbours="unbounded", people=people)
    loss = base.pair(*numbers) if pair is not None else base.path(*numbers)
    cases = [(numbers, loss.events)]
    return Account(release.name, release.unit, implied, cases, numbers, people, claim=release.claim)
