"""`discreet risk table`: every row of a released table, and a summary by level."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.errors import InputError


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The options, named as `discreet.risk.table_risk` has them."""

    prior: Annotated[
        str | None, option("The adversary's chance that the target is present, such as 1/2.", "P")
    ] = None
    prior_column: Annotated[
        str | None, option("Instead: the column with this chance for each row (with known counts).", "NAME")
    ] = None
    known: Annotated[
        str | None,
        option(
            "How many others with the characteristics the adversary knows of, in every row. Default: "
            "an average over the counts that may be known if the target is present (see --law).",
            "K",
            allow_leading_hyphen=True,
        ),
    ] = None
    known_column: Annotated[str | None, option("The column with this number for each row.", "NAME")] = None
    law: Annotated[
        Literal["table", "flat"],
        option(
            "Without known counts: how likely each is. table: as the table itself suggests (empirical "
            "Bayes); flat: all equally.",
            "table|flat",
        ),
    ] = "table"
    noisy_column: Annotated[
        str | None, option("Noisy counts. Default: value, COUNT, noisy or count.", "NAME")
    ] = None
    variance_column: Annotated[
        str | None, option("Variances. Default: variance or NOISE_VARIANCE.", "NAME")
    ] = None
    level_column: Annotated[
        str | None, option("Level to summarise by. Default: level or REGION_TYPE.", "NAME")
    ] = None
    nonnegative: console.Floor = False


NOTHING = Reading()

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
def table_command(
    file: Annotated[Path, option("The released table: CSV or Parquet.")],
    /,
    *,
    chosen: Reading = NOTHING,
    csv: Annotated[Path | None, option("Write all rows with their risk.", "FILE.csv")] = None,
    plot: console.Plot = None,
    screen: Screen = PLAIN,
) -> None:
    """Say for every row of a table what it tells someone who knows everyone else in it."""
    outputs = Outputs(csv=csv, plot=plot)
    if csv is not None and csv.resolve() == file.resolve():
        raise InputError(f"--csv is {csv}, which is the table itself")
    console.need_tables("risk table")
    from discreet.answers.risk_table import table_risk_answer
    from discreet.risk import table_risk
    from discreet.risk.inputs import read_whole

    known = None if chosen.known is None else int(read_whole(chosen.known, name="known"))
    with screen.working(f"Reading {file.name}"):
        found = table_risk(file, **asdict(chosen) | {"known": known}, out=csv)
    answer = table_risk_answer(found, table=str(file))
    outputs.write({"--plot": answer.figures["ratios"]})
    screen.tell(answer, timed=True)
