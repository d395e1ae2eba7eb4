"""`discreet risk table`: every row of a released table, and a summary by level."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.disclosure.inputs import read_whole
from discreet.disclosure.table import table_risk
from discreet.errors import InputError

app = console.command(
    "risk table",
    "FILE (--prior P | --prior-column NAME) [OPTIONS]",
    "t1.csv --prior 1/2 --known 0 --nonnegative --json",
    "measurements.parquet --prior 1/10 --known-column others --csv rows.csv",
    tries=(
        console.SURVEY,
        console.MEASURE,
        "risk table noisy/measurements.NOT-PRIVATE.csv --prior 1/10",
    ),
)


@app.default
@console.takes(table_risk, signed=("known",))
def table_command(
    file: Annotated[Path, option("The released table: CSV or Parquet.")],
    /,
    *,
    plot: console.Plot = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Say for every row of a table what it tells someone who knows everyone else in it."""
    csv = given.get("out")
    outputs = Outputs(csv=csv, plot=plot)
    if csv is not None and csv.resolve() == file.resolve():
        raise InputError(f"--csv is {csv}, which is the table itself")
    console.need_tables("risk table")
    from discreet.answers.risk_table import table_risk_answer

    if "known" in given:
        given["known"] = int(read_whole(given["known"], name="known"))
    with screen.working(f"Reading {file.name}"):
        risk = table_risk(file, **given)
    answer = table_risk_answer(risk, table=str(file))
    outputs.write({"--plot": answer.figures["ratios"]})
    screen.tell(answer, timed=True)
