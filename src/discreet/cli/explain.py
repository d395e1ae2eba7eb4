"""`discreet explain`: what a promise (epsilon, delta) means for one person, with no release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.budget import Neighbours
from discreet.cli import console
from discreet.cli.console import Outputs, Screen, option
from discreet.errors import InputError

app = console.command(
    "explain",
    "--epsilon E --delta D [--prior P] [OPTIONS]",
    "--epsilon 1 --delta 0 --prior 1/2 --out page.md --plot people.svg",
    "--epsilon 4 --delta 1e-6 --prior 1/100",
)


@app.default
def explain_promise(
    *,
    epsilon: Annotated[str, option("The epsilon of the promise.", "E")],
    delta: Annotated[str, option("The delta of the promise, such as 1e-6; 0 is allowed.", "D")],
    prior: console.Prior = "1/100",
    neighbours: Annotated[
        Neighbours,
        option(
            "What the promise compares. unbounded (default): one record more or less; bounded: another in "
            "its place.",
            "bounded|unbounded",
        ),
    ] = "unbounded",
    false_positive_rate: Annotated[
        list[str] | None, option("How often an adversary may accuse wrongly; may be repeated.", "A")
    ] = None,
    guess: Annotated[
        list[str] | None,
        option("How often her values are guessed with nothing published; may be repeated.", "B"),
    ] = None,
    out: Annotated[Path | None, option("Write the page.", "FILE.md|txt")] = None,
    plot: console.Plot = None,
    json: console.Json = False,
) -> None:
    """Say what a promise means for one person: odds first, then decisions."""
    if json and out is not None:
        raise InputError("--json and --out cannot be used together")
    outputs = Outputs(plot=plot)
    outputs.plan("--out", out, (".md", ".txt"))
    from discreet.answers.promise import promise_answer
    from discreet.risk.promise import promised_risk

    lists = {"false_positive_rates": false_positive_rate, "guess": guess}
    found = promised_risk(
        epsilon=epsilon,
        delta=delta,
        prior=prior,
        neighbours=neighbours,
        **{key: one for key, one in lists.items() if one},
    )
    answer = promise_answer(found)
    outputs.write({"--out": str(answer.record["page"]), "--plot": answer.figures["promise"]})
    if out is not None:
        console.write(f"Written to {out}\n")
    else:
        Screen(json=json, quiet=True).tell(answer)
