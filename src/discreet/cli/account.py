"""`discreet account` and `compare`: what a release costs, exactly, beside what zCDP or another one says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.answers.quantity import FLOAT_DIGITS
from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.comparisons.questions import Accounting, Comparing
from discreet.errors import InputError
from discreet.ledger.questions import Unit

if TYPE_CHECKING:
    from discreet.comparisons.costs import PrivacyTable
    from discreet.comparisons.sampling import Sampled

_CERTIFIED_DIGITS = 300

app = console.command(
    "account",
    "TARGET... [OPTIONS]",
    "dhc-2020",
    "dhc-2020 --neighbours unbounded --delta 1e-10 --certify",
    "- < release.toml",
    tries=(console.SURVEY, "account survey --epsilon 4 --curve curve.csv --plot curve.svg"),
)


@app.default
@console.takes(Accounting)
def account(
    *targets: console.Targets,
    unit: Annotated[str | None, console.declared(Unit)] = None,
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
    given["delta"] = console.read_deltas(given.get("delta", ()), zero=export is None)
    given["epsilon"] = list(dict.fromkeys(map(console.read_epsilon, given.get("epsilon", ()))))
    given["jobs"] = console.jobs_or_cpus(given.get("jobs"))
    outputs = Outputs(plot=plot, curve=curve, tradeoff=tradeoff)
    if not targets:
        raise InputError("account needs a preset's name or a TOML file; `discreet presets` lists all names")
    releases = [console.read_release(target, given.get("neighbours"), unit) for target in targets]
    if export is not None:
        from discreet.ledger.commit import free

        free(export)

    from discreet.answers.account import account_answer
    from discreet.comparisons.costs import DELTAS, privacy_table, usual_zcdp
    from discreet.comparisons.sampling import sampled

    with screen.progress("Comparing paths") as progress:
        table = privacy_table(releases, **given, progress=progress)
        drawn = sampled(table.account, usual_zcdp(table.account)) if plot else None
        answer = account_answer(table, drawn=drawn)
        pictures = {"--plot": answer.figures["curves"]} if drawn else {}
        contents = outputs.made({**pictures, **_curves(table, drawn)}) if outputs.planned else {}
        if export is not None:
            from discreet.reports.export import write_export

            deltas = given["delta"] if given["delta"] or given["epsilon"] else [*DELTAS]
            rows = {"epsilon": (deltas, table.by_delta), "delta": (given["epsilon"], table.by_epsilon)}
            write_export(table.account, releases, export, rows, digits=table.digits)
    outputs.write(contents)
    screen.tell(answer, timed=True)


def _check_digits(digits: int | None, certify: bool) -> None:
    most = _CERTIFIED_DIGITS if certify else FLOAT_DIGITS
    if digits is not None and not 1 <= digits <= most:
        which = f"without --certify a result has 1 to {most} digits that hold"
        if certify:
            which = f"with --certify 1 to {most} digits are possible"
        raise InputError(f"digits is {digits}; {which}")


def _curves(table: PrivacyTable, drawn: Sampled | None) -> dict[str, Callable[[], str]]:
    """Return what writes the curves; the points of a picture, which has more of them, are used again."""
    import numpy as np

    from discreet.answers.curves import curve_table
    from discreet.comparisons import sampling
    from discreet.comparisons.costs import usual_zcdp
    from discreet.render.csv import csv_of

    account, zcdp = table.account, usual_zcdp(table.account)

    def curve() -> str:
        grid = sampling.epsilon_grid(zcdp) if zcdp else sampling.finite_epsilons(account)
        if drawn is None:
            return csv_of(curve_table(sampling.sample_profile(account, grid), zcdp))
        deltas = drawn.profile.delta[np.isin(drawn.profile.epsilon, grid)]
        return csv_of(curve_table(sampling.Profile(grid, deltas), zcdp))

    def tradeoff() -> str:
        return csv_of(curve_table(sampling.sample_tradeoff(account, sampling.curve_alphas()), zcdp))

    return {"--curve": curve, "--tradeoff": tradeoff}


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
    from discreet.answers.account import comparison_answer
    from discreet.comparisons.costs import compare as side_by_side

    given["accuracy"] = console.read_accuracy(given.get("accuracy"))
    given["delta"] = console.read_deltas(given.get("delta", ()))
    given["jobs"] = console.jobs_or_cpus(given.get("jobs"))
    outputs = Outputs(plot=plot)
    with screen.progress("Comparing paths") as progress:
        both = (console.read_release(target, given.get("neighbours")) for target in (a, b))
        costs = side_by_side(*both, **given, progress=progress)
        answer = comparison_answer(costs)
        outputs.write({"--plot": answer.on_request["curves"]})
    screen.tell(answer, timed=True)
