"""`discreet account` and `compare`: what a release costs, exactly, beside what zCDP or another one says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.answers.quantity import FLOAT_DIGITS
from discreet.budget import load
from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.errors import InputError
from discreet.options import Accounting, Comparing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.accounting.overall import Account
    from discreet.budget import Neighbours, Release

CERTIFIED_DIGITS = 300

app = console.command(
    "account",
    "TARGET... [OPTIONS]",
    "dhc-2020",
    "dhc-2020 --neighbours unbounded --delta 1e-10 --certify",
    "release.toml --epsilon 4 --curve curve.csv --plot curve.svg",
)


@app.default
@console.takes(Accounting)
def account(
    *targets: console.Targets,
    unit: Annotated[str | None, option("The unit, for a ledger with runs about several.", "UNIT")] = None,
    curve: Annotated[Path | None, option("Write epsilon, exact delta and zCDP's delta.", "FILE.csv")] = None,
    tradeoff: Annotated[Path | None, option("Write alpha, exact f and zCDP's f.", "FILE.csv")] = None,
    plot: Annotated[Path | None, option("Plot both curves, exact and zCDP.", "FILE.svg|png|pdf")] = None,
    export: Annotated[
        Path | None, option("Write all pairs' curves, and certificates of the results.", "DIR")
    ] = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Account for one release, or for several together."""
    given["certify"] = given.get("certify", False) or export is not None
    _check_digits(given.get("digits"), given["certify"])
    given["accuracy"] = console.read_accuracy(given.get("accuracy"))
    if given["accuracy"] is not None and given["certify"]:
        raise InputError(
            "--accuracy asks for fewer digits than a float has, so it cannot be combined with a proof"
        )
    given["delta"] = console.read_deltas(given.get("delta", ()))
    given["epsilon"] = list(dict.fromkeys(map(console.read_epsilon, given.get("epsilon", ()))))
    given["jobs"] = console.jobs_or_cpus(given.get("jobs"))
    outputs = Outputs(plot=plot, curve=curve, tradeoff=tradeoff)
    if not targets:
        raise InputError("account needs a preset's name or a TOML file; `discreet presets` lists all names")
    releases = [read_release(target, given.get("neighbours"), unit) for target in targets]
    if export is not None:
        from discreet.release.commit import free

        free(export)

    from discreet.accounting.costs import DELTAS, privacy_table
    from discreet.answers.account import account_answer

    with screen.progress("Comparing paths") as progress:
        table = privacy_table(releases, **given, progress=progress)
        contents = _files(table.account, releases, outputs) if outputs.planned else {}
        if export is not None:
            from discreet.report.export import write_export

            deltas = given["delta"] if given["delta"] or given["epsilon"] else [*DELTAS]
            rows = {"epsilon": (deltas, table.by_delta), "delta": (given["epsilon"], table.by_epsilon)}
            write_export(table.account, releases, export, rows, digits=table.digits)
    outputs.write(contents)
    screen.tell(account_answer(table), timed=True)


def _check_digits(digits: int | None, certify: bool) -> None:
    most = CERTIFIED_DIGITS if certify else FLOAT_DIGITS
    if digits is not None and not 1 <= digits <= most:
        which = f"without --certify a result has 1 to {most} digits that hold"
        if certify:
            which = f"with --certify 1 to {most} digits are possible"
        raise InputError(f"digits is {digits}; {which}")


def read_release(target: str, neighbours: Neighbours | None, unit: str | None = None) -> Release:
    """The release of a target; all runs of a ledger are one."""
    if os.path.isfile(target):
        from discreet.release import is_ledger, ledger_release

        if is_ledger(target):
            return ledger_release(target, neighbours=neighbours, unit=unit)
    if unit is not None:
        raise InputError(f"--unit selects runs of a ledger, and {target} is not a ledger")
    return load(target)


def _files(account: Account, releases: list[Release], outputs: Outputs) -> dict[str, bytes]:
    """Return the bytes of each file that was asked for."""
    import numpy as np

    from discreet.accounting.costs import zcdp_of
    from discreet.answers.account import case_text
    from discreet.answers.release import relation
    from discreet.report import figures

    title, zcdp = account.name, zcdp_of(account)
    if account.pairs == 1 and any(len(release.paths) > 1 for release in releases):
        title += f", {'pair' if account.neighbours == 'bounded' else 'path'} {case_text(account.main)}"
    title += f": {relation(account.neighbours, account.unit, account.people)}"
    drawn = figures.sampled(account, zcdp) if "--plot" in outputs.planned else None

    def curve() -> str:
        grid = figures.epsilon_grid(zcdp)
        if drawn is None:
            return figures.curve_csv(figures.sample_profile(account, grid), zcdp)
        deltas = drawn.profile.delta[np.isin(drawn.profile.epsilon, grid)]  # it has these points and more
        return figures.curve_csv(figures.Profile(grid, deltas), zcdp)

    def tradeoff() -> str:
        return figures.curve_csv(figures.sample_tradeoff(account, figures.curve_alphas()), zcdp)

    plot = {"--plot": figures.account_figure(drawn, title=title)} if drawn else {}
    return outputs.made({**plot, "--curve": curve, "--tradeoff": tradeoff})


# -- two releases side by side -------------------------------------------------------------------------------

compare_app = console.command("compare", "A B [OPTIONS]", "pl94-2020-units pl94-2020-units-pr --delta 1e-10")


@compare_app.default
@console.takes(Comparing)
def compare(
    a: console.Target,
    b: console.Target,
    /,
    *,
    plot: Annotated[Path | None, option("Plot both releases.", "FILE.svg|png|pdf")] = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Compare two releases."""
    from discreet.accounting.costs import compare as side_by_side
    from discreet.answers.account import comparison_answer

    given["accuracy"] = console.read_accuracy(given.get("accuracy"))
    given["delta"] = console.read_deltas(given.get("delta", ()))
    given["jobs"] = console.jobs_or_cpus(given.get("jobs"))
    outputs = Outputs(plot=plot)
    with screen.progress("Comparing paths") as progress:
        found = side_by_side(load(a), load(b), **given, progress=progress)
        outputs.write({"--plot": lambda: both_curves(found.a.account, found.b.account)})
    screen.tell(comparison_answer(found), timed=True)


def both_curves(first: Account, second: Account) -> Figure:
    """Return the picture of two accounts."""
    from discreet.accounting.costs import zcdp_of
    from discreet.report.figures import compare_figure, sampled

    both = (sampled(one, zcdp_of(one)) for one in (first, second))
    return compare_figure(*both, title=f"{first.name} and {second.name}")
