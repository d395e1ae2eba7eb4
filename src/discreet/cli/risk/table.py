"""`discreet risk table`: the risk of every row of a released table, and a summary by level."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from discreet.budget.levels import level_name
from discreet.cli import options
from discreet.cli.printing import PLAIN, Block, Hanging, Outputs, Screen, TextTable, need_tables
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.risk.table import TableRisk

app = App(
    name="table",
    usage="Usage: discreet risk table FILE --prior P [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet risk table published/measurements.csv --prior 1/10\n"
    "  discreet risk table t1.csv --prior 1/2 --known 0 --nonnegative --json\n"
    "  discreet risk table measurements.parquet --prior 1/10 --known-column others --csv rows.csv",
)


@app.default
def table(
    file: Annotated[Path, Parameter(help="The released table: CSV or Parquet.")],
    /,
    *,
    prior: options.Prior,
    known: Annotated[
        str | None,
        Parameter(
            help="How many others with the characteristics the adversary knows of, in every row. Default: "
            "an average over the counts that may be known if the target is present (see --law).",
            metavar="K",
            allow_leading_hyphen=True,
        ),
    ] = None,
    known_column: Annotated[
        str | None, Parameter(help="The column with this number for each row.", metavar="NAME")
    ] = None,
    law: Annotated[
        Literal["table", "flat"],
        Parameter(
            help="Without known counts: how likely each is. table: as the table itself suggests (empirical "
            "Bayes); flat: all equally.",
            metavar="table|flat",
        ),
    ] = "table",
    noisy_column: Annotated[
        str | None, Parameter(help="Noisy counts. Default: value, COUNT, noisy or count.", metavar="NAME")
    ] = None,
    variance_column: Annotated[
        str | None, Parameter(help="Variances. Default: variance or NOISE_VARIANCE.", metavar="NAME")
    ] = None,
    level_column: Annotated[
        str | None, Parameter(help="Level to summarise by. Default: level or REGION_TYPE.", metavar="NAME")
    ] = None,
    nonnegative: options.Floor = False,
    csv: Annotated[Path | None, Parameter(help="Write all rows with their risk.", metavar="FILE.csv")] = None,
    plot: options.Plot = None,
    screen: Screen = PLAIN,
) -> None:
    """Say for every row of a table what it tells someone who knows everyone else in it."""
    outputs = Outputs(csv=csv, plot=plot)
    if csv is not None and csv.resolve() == file.resolve():
        raise InputError(f"--csv is {csv}, which is the table itself")
    need_tables("risk table")
    from discreet.risk import table_risk
    from discreet.risk.attack import read_whole

    with screen.working(f"Reading {file.name}"):
        found = table_risk(
            file,
            prior=prior,
            known=None if known is None else int(read_whole(known, name="known")),
            noisy_column=noisy_column,
            variance_column=variance_column,
            level_column=level_column,
            known_column=known_column,
            law=law,
            nonnegative=nonnegative,
            out=csv,
        )
    if plot is not None:
        from discreet.report.figures import figure_bytes, table_figure

        outputs.write({"--plot": figure_bytes(table_figure(found), outputs.kind("--plot"))})
    how = law if known is None and known_column is None else None
    screen.present(lambda: {"table": str(file), **found.as_dict()}, _text(found, file, how), timed=True)


def _text(found: TableRisk, file: Path, law: str | None) -> Iterator[Block]:
    from discreet.risk.table import QUANTILES

    yield f"{file}: {found.rows:,} row{'s' * (found.rows != 1)}."
    yield Hanging(f"Adversary: {found.adversary}.")
    yield ""
    rows = [
        (
            level_name(level.level),
            f"{level.rows:,}",
            f"{100 * level.share_above_two:.3g} %",
            *(f"{value:.4g}" for value in level.quantiles),
            f"{level.maximum:.4g}",
            f"{level.mean_posterior:.4g}",
        )
        for level in (*found.levels, found.total)
    ]
    quantiles = (f"{100 * q:g} %" for q in QUANTILES)
    yield TextTable(("level", "rows", "ratio above 2", *quantiles, "largest", "mean posterior"), rows)
    yield ""
    total = found.total
    if law is None:
        yield (
            f"In {100 * total.share_above_two:.3g} of 100 rows this adversary comes to believe more than "
            "twice as much as before that the target is present. The percentages above the columns are "
            "shares of rows whose ratio is no larger."
        )
        return
    how = {
        "table": "How many others the adversary knows of in a row is taken from the law of counts that the "
        "table itself suggests for each level and noise (empirical Bayes).",
        "flat": "All numbers of others that the adversary may know of in a row are taken to be equally "
        "likely, which understates the risk in sparse tables.",
    }
    yield (
        f"Of the people counted in the table, about {100 * (total.targets_above_two or 0.0):.3g} in 100 are "
        "such that this adversary comes to believe more than twice as much as before that they are present. "
        f"{how[law]} The column “ratio above 2” takes every row as if the target were in it; the "
        "percentages above the columns are shares of rows whose average ratio is no larger."
    )
