"""`discreet risk single`: one noisy count, or several counts of the same person."""

from __future__ import annotations

from typing import Annotated

from discreet.cli import console
from discreet.cli.console import Outputs, Screen, option
from discreet.disclosure.counts import one_count, several_counts
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
@console.takes(one_count, signed=("noisy", "known"))
def single(
    *,
    together: Annotated[
        bool, option("The noisy values are several counts of the same person, each with its noise.")
    ] = False,
    json: console.Json = False,
    csv: console.Csv = None,
    plot: console.Plot = None,
    **given: console.Given,
) -> None:
    """Say what a noisy count tells someone who knows everyone else."""
    outputs = Outputs(csv=csv, plot=plot)
    from discreet.answers.risk_counts import one_count_answer, several_counts_answer
    from discreet.render.csv import csv_of

    noisy = given.pop("noisy")
    if "loss" in given:
        given["loss"] = [given["loss"][:2], given["loss"][2:]]
    if together:
        if "unsure" in given or "chance" in given or plot:
            raise InputError("--together cannot be combined with --unsure, --chance or --plot")
        several = several_counts(noisy, **given)
        answer = several_counts_answer(several)
        outputs.write({"--csv": csv_of(answer.tables["steps"])})
    else:
        for name in ("variance", "rho", "known"):
            stated = given.get(name, [])
            if len(stated) > 1:
                raise InputError(f"--{name} is stated {len(stated)} times; without --together one is needed")
            if stated:
                given[name] = stated[0]
        result = one_count(noisy, **given)
        answer = one_count_answer(result, of_rho="rho" in given)
        outputs.write({"--csv": csv_of(answer.tables["beliefs"]), "--plot": answer.figures["attack"]})
    Screen(json=json, quiet=True).tell(answer)
