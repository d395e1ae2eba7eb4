"""`discreet explain`: what a promise (epsilon, delta) means for one person, with no release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cli import console
from discreet.cli.console import Outputs, Screen, option
from discreet.disclosure.promise import promised_risk
from discreet.errors import InputError

app = console.command(
    "explain",
    "--epsilon E --delta D [--prior P] [OPTIONS]",
    "--epsilon 1 --delta 0 --prior 1/2 --out page.md --plot people.svg",
    "--epsilon 4 --delta 1e-6 --prior 1/100",
)


@app.default
@console.takes(promised_risk)
def explain_promise(
    *,
    out: Annotated[Path | None, option("Write the page.", "FILE.md|txt")] = None,
    plot: console.Plot = None,
    json: console.Json = False,
    **given: console.Given,
) -> None:
    """Say what a promise means for one person: odds first, then decisions."""
    if json and out is not None:
        raise InputError("--json and --out cannot be used together")
    outputs = Outputs(plot=plot)
    outputs.plan("--out", out, (".md", ".txt"))
    from discreet.answers.promise import promise_answer

    risk = promised_risk(**given)
    answer = promise_answer(risk)
    outputs.write({"--out": str(answer.record["page"]), "--plot": answer.figures["promise"]})
    if out is not None:
        console.write(f"Written to {out}\n")
    else:
        Screen(json=json, quiet=True).tell(answer)
