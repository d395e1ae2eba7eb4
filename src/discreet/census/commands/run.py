"""`discreet safetab run` and what comes before and after it: `validate`, `coterminous`, `post`, `report`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from discreet.census.commands import DUCKDB, FORMATS, NATION, TRIAL, Counting, Data, Format, Params
from discreet.cli import console, seconds_so_far
from discreet.cli.console import (
    PLAIN,
    KeyFile,
    LedgerFile,
    NoLedger,
    Outputs,
    Rehearsal,
    Screen,
    SpendAgain,
    need_tables,
    option,
)
from discreet.errors import InputError

SuppressionOption = Annotated[
    Literal["both", "alone"] | None,
    option(
        "Where an alone count exceeds the combination count, drop both groups or the alone one.", "both|alone"
    ),
]
NegativeOption = Annotated[
    Literal["zero", "drop"] | None,
    option("Set negative counts to zero, or drop groups that have one.", "zero|drop"),
]

TotalsOption = Annotated[
    Path | None,
    option(
        "Published totals that pick tables: a file, or an output with t1. Default: as the parameters say.",
        "FILE|OUT",
    ),
]

run_app = console.command(
    "safetab run",
    "PARAMS DATA OUT [OPTIONS]",
    "params data published --memory 8GB",
    "params data published --engine spark --spark-master local[4]",
    tries=(NATION, TRIAL),
)


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Running:
    """The options of a run."""

    format: Annotated[
        Format, FORMATS, Parameter(help="Format of the tables. Default: csv, pipe-delimited.")
    ] = "csv"
    bureau_columns: Annotated[bool, option("Leave out TABLE, NOISE_VARIANCE and MOE95.")] = False
    bureau_margins: Annotated[
        bool, option("Add MOE95_BUREAU, the Bureau's floor(1.96 sigma), which covers less than 95 %.")
    ] = False
    no_coterminous: Annotated[bool, option("Let regions made of the same blocks differ.")] = False
    tabulation_suppression: SuppressionOption = None
    negative: NegativeOption = None
    ledger: LedgerFile = None
    no_ledger: NoLedger = False
    key: KeyFile = None
    spend_again: SpendAgain = False
    rehearsal: Rehearsal = None
    totals: TotalsOption = None
    resume: Annotated[
        bool, option("If interrupted before noise is drawn, keep the coded records beside OUT and resume.")
    ] = False
    no_noise: Annotated[
        bool, option("Required if a budget is infinite: writes exact counts, NOT PRIVATE.")
    ] = False


DEFAULT = Running()


@run_app.default
def run(
    params: Params,
    data: Data,
    out: Annotated[Path, option("A new directory for the output.")],
    /,
    *,
    counting: Counting = DUCKDB,
    chosen: Running = DEFAULT,
    screen: Screen = PLAIN,
) -> None:
    """Tabulate, add noise, post-process and write, with a ledger entry."""
    from discreet.answers.tabulation import summary_answer
    from discreet.release.admission import say_where
    from discreet.release.safetab.run import run as tabulate
    from discreet.release.safetab.run_plan import Options

    given = asdict(chosen)
    no_ledger, free = given.pop("no_ledger"), chosen.rehearsal is not None or chosen.no_noise
    say_where(data, ledger=chosen.ledger, rehearsal=free, no_ledger=no_ledger, what="safetab run")
    entered = {name: given.pop(name) for name in ("totals", "ledger", "key", "spend_again")}
    options = Options(coterminous=not given.pop("no_coterminous"), **given)
    with screen.stages() as progress, _kept(out, chosen.resume):
        done = tabulate(params, data, out, **asdict(counting), **entered, options=options, progress=progress)
    # the seconds of the whole command beside those of its stages
    seconds = {**done.seconds, "all": seconds_so_far()}
    screen.tell(summary_answer(replace(done, seconds=seconds)))


@contextmanager
def _kept(out: Path, resume: bool) -> Iterator[None]:
    """Say where the coded records of an interrupted run are, if they are kept."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        from discreet.release.resumable import Resumable

        folder = Resumable.beside(out, {}).folder
        if resume and folder.is_dir():
            print(
                f"discreet: coded records, as confidential as the input, are kept in {folder}; the same "
                "command goes on from them",
                file=sys.stderr,
            )
        raise


# -- checks before a run -----------------------------------------------------------------------------------

validate_app = console.command(
    "safetab validate",
    "PARAMS DATA [OPTIONS]",
    "params data",
    tries=(NATION, "safetab validate nation/params nation/data"),
)


@validate_app.default
def validate(
    params: Params,
    data: Data,
    /,
    *,
    totals: TotalsOption = None,
    counting: Counting = DUCKDB,
    screen: Screen = PLAIN,
) -> None:
    """Check parameters and data; status 2 if there is any problem. Prints no confidential value."""
    need_tables("safetab validate")
    from discreet.answers.tabulation import validation_answer
    from discreet.release.safetab.validation import check_input

    with screen.working("Checking"):
        found = check_input(params, data, totals=totals, **asdict(counting))
    screen.tell(validation_answer(found))
    if not found.valid:
        raise SystemExit(2)


# -- what is done to an output -----------------------------------------------------------------------------

Released = Annotated[Path, option("The output of `discreet safetab run`.", name="OUT")]
OldParams = Annotated[Path, option("Folder of the parameters of that run.", "DIR")]
To = Annotated[Path, option("A new directory for the result.", "DIR")]
NewFormat = Annotated[Format | None, FORMATS, Parameter(help="Format of the tables. Default: that of OUT.")]

coterminous_app = console.command(
    "safetab coterminous",
    "OUT --params DIR --data DIR --to DIR [OPTIONS]",
    tries=(
        NATION,
        f"{TRIAL} --no-coterminous",
        "safetab coterminous trial --params nation/params --data nation/data --to agreed",
    ),
)


@coterminous_app.default
def coterminous(
    released: Released,
    /,
    *,
    params: OldParams,
    data: Annotated[Path, option("Folder of GRF-C; no person record is read.", "DIR")],
    to: To,
    order: Annotated[
        str | None, option("Donors, first to last. Default: STATE,COUNTY,TRACT,PLACE,AIANNH.", "NAMES")
    ] = None,
    format: NewFormat = None,
    screen: Screen = PLAIN,
) -> None:
    """Make regions of the same blocks agree in an existing output. This spends nothing."""
    from discreet.answers.tabulation import reprocessed_answer
    from discreet.release.safetab.run import coterminous

    names = None if order is None else tuple(name.strip().upper() for name in order.split(","))
    done = coterminous(released, to, params=params, data=data, order=names, format=format)
    screen.tell(reprocessed_answer(done), timed=True)


post_app = console.command(
    "safetab post",
    "OUT --params DIR --to DIR [OPTIONS]",
    "published --params params --to final",
    tries=(
        NATION,
        TRIAL,
        "safetab post trial --params nation/params --to final --tabulation-suppression alone",
    ),
)


@post_app.default
def post(
    released: Released,
    /,
    *,
    params: OldParams,
    to: To,
    tabulation_suppression: SuppressionOption = None,
    negative: NegativeOption = None,
    format: NewFormat = None,
    screen: Screen = PLAIN,
) -> None:
    """Drop groups whose alone count exceeds the combination count; no negative counts. Nothing is spent.

    Without options: --tabulation-suppression both --negative zero.
    """
    from discreet.answers.tabulation import reprocessed_answer
    from discreet.release.safetab.run import postprocess

    done = postprocess(
        released,
        to,
        params=params,
        tabulation_suppression=tabulation_suppression,
        negative=negative,
        format=format,
    )
    screen.tell(reprocessed_answer(done), timed=True)


# -- true against released, for the trusted curator --------------------------------------------------------

MARK = "CONFIDENTIAL-"

report_app = console.command(
    "safetab report",
    "PARAMS DATA OUT [OPTIONS]",
    "params data published",
    tries=(NATION, TRIAL, "safetab report nation/params nation/data trial --out report.html"),
)


@report_app.default
def report(
    params: Annotated[Path, option("The parameters that OUT was made with.")],
    data: Annotated[Path, option("The folder of records that OUT was made from.")],
    released: Annotated[Path, option("The output of a run.")],
    /,
    *,
    out: Annotated[
        Path | None,
        option(
            "Also write a page, and beside it a table (.csv); their names begin with CONFIDENTIAL-.",
            "FILE.html",
        ),
    ] = None,
    totals: TotalsOption = None,
    counting: Counting = DUCKDB,
    screen: Screen = PLAIN,
) -> None:
    """Compare the released tables with the true counts."""
    need_tables("report")
    outputs = Outputs()
    if out is not None:
        _plan(outputs, out, released)
    from discreet.answers.curator import curator_answer
    from discreet.release.safetab.curator import curate
    from discreet.report import curator

    with screen.working("Comparing"):
        found = curate(params, data, released, totals=totals, **asdict(counting))
    if out is not None:
        contents = {
            "--out": curator.curator_page(found).encode(),
            "the table": curator.table_csv(found).encode(),
        }
        outputs.write(contents, confidential=True)
    screen.tell(curator_answer(found, written=[place.name for place in outputs.planned.values()]))


def _plan(outputs: Outputs, out: Path, released: Path) -> None:
    """Check both files: marked in their names, and not in the directory that will be published."""
    page = out if out.name.startswith(MARK) else out.with_name(MARK + out.name)
    inside = released.resolve()
    if inside == page.resolve() or inside in page.resolve().parents:
        raise InputError(
            f"--out is {out}, which lies in {released}; a confidential file must not be put there"
        )
    outputs.plan("--out", page, (".html",))
    outputs.plan("the table", page.with_suffix(".csv"), (".csv",))
