"""`discreet safetab run` and what comes before and after it: `validate`, `coterminous`, `post`, `report`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated

from discreet.census.commands import NATION, TRIAL, Data, Params
from discreet.census.safetab.curator import curate
from discreet.census.safetab.run import coterminous as make_coterminous
from discreet.census.safetab.run import postprocess
from discreet.census.safetab.run import run as tabulate
from discreet.census.safetab.run_plan import Options
from discreet.census.safetab.validation import check_input
from discreet.cli import console, seconds_so_far
from discreet.cli.console import PLAIN, NoLedger, Outputs, Screen, need_tables, option
from discreet.errors import InputError

Released = Annotated[Path, option("The output of `discreet safetab run`.", name="OUT")]

run_app = console.command(
    "safetab run",
    "PARAMS DATA OUT [OPTIONS]",
    "params data published --memory 8GB",
    "params data published --engine spark --spark-master local[4]",
    tries=(NATION, TRIAL),
)


@run_app.default
@console.takes(Options, tabulate)
def run(
    params: Params,
    data: Data,
    out: Annotated[Path, option("A new directory for the output.")],
    /,
    *,
    no_ledger: NoLedger = False,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Tabulate, add noise, post-process and write, with a ledger entry."""
    from discreet.census.answers.tabulation import summary_answer
    from discreet.ledger.release_run import say_where

    options = Options(
        **{field.name: given.pop(field.name) for field in fields(Options) if field.name in given}
    )
    free = options.rehearsal is not None or options.no_noise
    say_where(data, ledger=given.get("ledger"), rehearsal=free, no_ledger=no_ledger, what="safetab run")
    with screen.stages() as progress, _kept(out, options.resume):
        done = tabulate(params, data, out, **given, options=options, progress=progress)
    # the seconds of the whole command beside those of its stages
    seconds = {**done.seconds, "all": seconds_so_far()}
    screen.tell(summary_answer(replace(done, seconds=seconds)))


@contextmanager
def _kept(out: Path, resume: bool) -> Iterator[None]:
    """Say where the coded records of an interrupted run are, if they are kept."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        from discreet.ledger.resumable import Resumable

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
@console.takes(check_input)
def validate(params: Params, data: Data, /, *, screen: Screen = PLAIN, **given: console.Given) -> None:
    """Check parameters and data; status 2 if there is any problem. Prints no confidential value."""
    need_tables("safetab validate")
    from discreet.census.answers.tabulation import validation_answer

    with screen.working("Checking"):
        validation = check_input(params, data, **given)
    screen.tell(validation_answer(validation))
    if not validation.valid:
        raise SystemExit(2)


# -- what is done to an output -----------------------------------------------------------------------------

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
@console.takes(make_coterminous)
def coterminous(released: Released, /, *, screen: Screen = PLAIN, **given: console.Given) -> None:
    """Make regions of the same blocks agree in an existing output. This spends nothing."""
    from discreet.census.answers.tabulation import reprocessed_answer

    if "order" in given:
        given["order"] = tuple(name.strip().upper() for name in given["order"].split(","))
    done = make_coterminous(released, given.pop("to"), **given)
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
@console.takes(postprocess)
def post(released: Released, /, *, screen: Screen = PLAIN, **given: console.Given) -> None:
    """Drop groups whose alone count exceeds the combination count; no negative counts. Nothing is spent.

    Without options: --tabulation-suppression both --negative zero.
    """
    from discreet.census.answers.tabulation import reprocessed_answer

    done = postprocess(released, given.pop("to"), **given)
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
@console.takes(curate)
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
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Compare the released tables with the true counts."""
    need_tables("report")
    outputs = Outputs()
    if out is not None:
        _plan(outputs, out, released)
    from discreet.census.answers.curator import curator_answer
    from discreet.census.reports import curator

    with screen.working("Comparing"):
        curated = curate(params, data, released, **given)
    if out is not None:
        contents = {
            "--out": curator.curator_page(curated).encode(),
            "the table": curator.table_csv(curated).encode(),
        }
        outputs.write(contents, confidential=True)
    screen.tell(curator_answer(curated, written=[path.name for path in outputs.planned.values()]))


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
