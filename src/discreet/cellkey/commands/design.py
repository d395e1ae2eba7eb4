"""`discreet cellkey design`: the best perturbation table for a promise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cellkey.questions import TableDesigning
from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option

app = console.command(
    "cellkey design",
    "D (two of --epsilon E, --delta D, --variance V) [OPTIONS]",
    "5 --epsilon 1 --delta 0.01 --out table.csv",
    "5 --epsilon 1 --variance 3 --zeros public --small 2",
    "5 --delta 0.25 --variance 4 --zeros kept",
)


@app.default
@console.takes(TableDesigning)
def design_command(
    largest: Annotated[int, option("D, the largest noise, up or down: 1 to 40.")],
    /,
    *,
    out: Annotated[
        Path | None, option("Write the table as ptable exports it, with semicolons.", "FILE.csv")
    ] = None,
    csv: Annotated[Path | None, option("Write the same with commas.", "FILE.csv")] = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Find the table with the least variance, delta or epsilon that keeps a promise; checked exactly."""
    outputs = Outputs(csv=csv)
    outputs.plan("--out", out, (".csv",))
    from discreet.cellkey.answers.design import table_design_answer
    from discreet.cellkey.design import design_perturbation

    with screen.working("Solving"):
        design = design_perturbation(largest, **given)
    text = design.table.to_csv()
    outputs.write({"--out": text, "--csv": text.replace(";", ",")})
    written = tuple(str(file) for file in (out, csv) if file is not None)
    screen.tell(table_design_answer(design, written=written), timed=True)
