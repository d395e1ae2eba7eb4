"""`discreet risk single`: one noisy count, or several counts of the same person."""

from __future__ import annotations

from typing import Annotated

from discreet.cli import console
from discreet.cli.console import Outputs, Screen, option
from discreet.errors import InputError

app = console.command(
    "risk single",
    "--noisy Y --variance V --prior P [OPTIONS]",
    "--noisy 1 --rho 0.099 --prior 1/2",
    "--noisy 14 --known 12 --variance 10 --prior 1/2 --prior 1/864",
    "--noisy 3 --variance 10 --prior 1/2 --unsure 20 --chance 1/10",
    "--together --noisy 2 --noisy 1 --variance 10 --variance 4 --prior 1/2",
)


@app.default
def single(
    *,
    noisy: Annotated[
        list[str], option("The published count; may be repeated.", "Y", allow_leading_hyphen=True)
    ],
    prior: console.Priors,
    variance: console.Variances = None,
    rho: console.Rhos = None,
    known: Annotated[
        list[str] | None,
        option(
            "How many others with the characteristics the adversary knows of; default 0.",
            "K",
            allow_leading_hyphen=True,
        ),
    ] = None,
    unsure: Annotated[
        int | None, option("This many others may or may not have the characteristics.", "M")
    ] = None,
    chance: Annotated[
        list[str] | None, option("The chance of each of them, one for all or one for each.", "C")
    ] = None,
    loss: Annotated[
        tuple[str, str, str, str] | None,
        option(
            "Costs of deciding absent, present; first if the target is absent. Default 0 1 1 0.", "A B C D"
        ),
    ] = None,
    nonnegative: console.Floor = False,
    together: Annotated[
        bool, option("The noisy values are several counts of the same person, each with its noise.")
    ] = False,
    json: console.Json = False,
    csv: console.Csv = None,
    plot: console.Plot = None,
) -> None:
    """Say what a noisy count tells someone who knows everyone else."""
    outputs = Outputs(csv=csv, plot=plot)
    from discreet.answers.risk_counts import one_count_answer, several_counts_answer
    from discreet.render.csv import csv_of
    from discreet.risk.counts import one_count, several_counts

    costs = loss and [loss[:2], loss[2:]]
    if together:
        if unsure is not None or chance or plot:
            raise InputError("--together cannot be combined with --unsure, --chance or --plot")
        several = several_counts(
            noisy,
            prior=prior,
            variance=variance,
            rho=rho,
            known=known or 0,
            loss=costs,
            nonnegative=nonnegative,
        )
        answer = several_counts_answer(several)
        outputs.write({"--csv": csv_of(answer.tables["steps"])})
    else:
        for name, stated in (("--variance", variance), ("--rho", rho), ("--known", known)):
            if stated and len(stated) > 1:
                raise InputError(f"{name} is stated {len(stated)} times; without --together one is needed")
        found = one_count(
            noisy,
            prior=prior,
            variance=variance[0] if variance else None,
            rho=rho[0] if rho else None,
            known=known[0] if known else 0,
            unsure=unsure,
            chance=chance or (),
            loss=costs,
            nonnegative=nonnegative,
        )
        answer = one_count_answer(found, of_rho=bool(rho))
        outputs.write({"--csv": csv_of(answer.tables["beliefs"]), "--plot": answer.figures["attack"]})
    Screen(json=json, quiet=True).tell(answer)
