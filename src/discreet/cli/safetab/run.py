"""`discreet safetab run` and what comes before and after it: `validate`, `coterminous`, `post`, `report`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from cyclopts import App, Parameter

from discreet.cli import console, seconds_so_far
from discreet.cli.console import (
    PLAIN,
    Block,
    Hanging,
    KeyFile,
    LedgerFile,
    Outputs,
    Rehearsal,
    Screen,
    SpendAgain,
    need_tables,
    option,
    text_table,
)
from discreet.cli.safetab import DUCKDB, FORMATS, Counting, Data, Format, Params
from discreet.errors import InputError
from discreet.numbers import plain

if TYPE_CHECKING:
    from discreet.release.safetab.run import Reprocessed, Summary

T = TypeVar("T")

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

run_app = console.command(
    "safetab run",
    "PARAMS DATA OUT [OPTIONS]",
    "params data trial --rehearsal 1",
    "params data published --memory 8GB",
    "params data published --engine spark --spark-master local[4]",
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
    key: KeyFile = None
    spend_again: SpendAgain = False
    rehearsal: Rehearsal = None
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
    from discreet.release.safetab.run import Options
    from discreet.release.safetab.run import run as tabulate

    given = asdict(chosen)
    entered = {name: given.pop(name) for name in ("ledger", "key", "spend_again")}
    options = Options(coterminous=not given.pop("no_coterminous"), **given)
    with screen.stages() as progress, _kept(out, chosen.resume):
        done = tabulate(params, data, out, **asdict(counting), **entered, options=options, progress=progress)
    # the seconds of the whole command beside those of its stages
    seconds = {**done.seconds, "all": seconds_so_far()}
    screen.present(replace(done, seconds=seconds).as_dict, _text(done))


@contextmanager
def _kept(out: Path, resume: bool) -> Iterator[None]:
    """Say where the coded records of an interrupted run are, if they are kept."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        from discreet.release.mechanism.counts import Resumable

        folder = Resumable.beside(out, {}).folder
        if resume and folder.is_dir():
            print(
                f"discreet: coded records, as confidential as the input, are kept in {folder}; the same "
                "command goes on from them",
                file=sys.stderr,
            )
        raise


def _text(done: Summary) -> Iterator[Block]:
    from discreet.answers.ledger import ledger_note

    if done.warning is not None:
        what = done.warning.partition(": ")[2]
        yield Hanging(f"NOT PRIVATE: {_short(what)}. Nothing of it may be published.")
    rows = ", ".join(f"{count:,} {name}" for name, count in done.rows.items())
    yield Hanging(f"{sum(done.rows.values()):,} rows in {done.out}: {rows}.")
    for ladder in dict.fromkeys(place.mechanism.ladder for place in done.places):
        yield text_table(
            ["geography", "level", *ladder.names, *(["suppressed"] if ladder.picks else [])],
            [
                [
                    place.mechanism.geography,
                    str(place.mechanism.level),
                    *(f"{count:,}" for count in place.tables),
                    *([f"{place.suppressed:,}"] if ladder.picks else []),
                ]
                for place in done.places
                if place.mechanism.ladder is ladder
            ],
        )
    if done.donated or done.dropped:
        given = f"Donated to regions of the same {done.areas}: {done.donated:,} groups."
        yield f"{given} Dropped: {done.dropped:,}."
    if done.warning is None:
        kind = "rho" if done.privacy == "zcdp" else "epsilon"
        for which, budget in done.budgets.items():
            assert budget is not None
            yield f"Spent on one person of the {which} pass, added or removed: {kind} {plain(budget)}."
    yield from (Hanging(f"Note: {note}.") for note in done.notes)
    yield from ledger_note(done.ledger, "records", counted=done.warning is None)


def _short(what: str) -> str:
    """Keep a list of places without noise readable."""
    head, _, places = what.partition("no noise at ")
    names = places.split(", ")
    if not places or len(names) <= 4:
        return what
    return f"{head}no noise at {names[0]} and {len(names) - 1} more places"


# -- checks before a run -----------------------------------------------------------------------------------

validate_app = console.command(
    "safetab validate",
    "PARAMS DATA [OPTIONS]",
    "params data",
    "params data --json",
)


@validate_app.default
def validate(
    params: Params,
    data: Data,
    /,
    *,
    counting: Counting = DUCKDB,
    screen: Screen = PLAIN,
) -> None:
    """Check parameters and data; status 2 if there is any problem. Prints no confidential value."""
    need_tables("safetab validate")
    with screen.working("Checking"):
        problems, notes, regions = _checked(params, data, counting)
    found = {"valid": not problems, "problems": problems, "notes": notes, "regions": regions}
    screen.present(lambda: found, _validated(problems, notes, regions))
    if problems:
        raise SystemExit(2)


def _checked(params: Path, data: Path, counting: Counting) -> tuple[list[str], list[str], dict[str, int]]:
    """Return problems, notes, and the number of regions by geography."""
    from discreet.release.engine import connect
    from discreet.release.mechanism.records import check_records, find_sources
    from discreet.release.safetab.configuration import read_configuration
    from discreet.release.safetab.specification import read_specification, read_water, safetab_p

    problems: list[str] = []
    configuration = _collect(lambda: read_configuration(params), problems)
    specification = _collect(lambda: read_specification(params), problems)
    _collect(lambda: read_water(params), problems)
    if configuration is None or specification is None:
        known = configuration or specification
        _collect(lambda: find_sources(data, known.tabulation if known else safetab_p()), problems)
        return problems, ["the records were not looked at, for the parameters must be right first"], {}
    notes = [*configuration.notes, *specification.notes]
    with connect(**asdict(counting)) as connection:
        geography = _collect(
            lambda: check_records(data, configuration, specification, engine=connection), problems
        )
    if geography is None:
        return problems, notes, {}
    found = {name: len(regions) for name, regions in geography.regions.items() if regions}
    return problems, [*notes, *geography.notes], found


def _collect(work: Callable[[], T], problems: list[str]) -> T | None:
    """Do the work; if it cannot be done, note each problem and return None."""
    try:
        return work()
    except InputError as error:
        head, *rest = str(error).split("\n")
        problems += [line.strip().partition(". ")[2] for line in rest] or [head]
        return None


def _validated(problems: list[str], notes: list[str], regions: dict[str, int]) -> Iterator[Block]:
    if problems:
        kinds = f"{len(problems)} kinds of problems" if len(problems) > 1 else "1 kind of problem"
        yield f"The input cannot be used: {kinds}."
        yield from (Hanging(f"- {problem}") for problem in problems)
    else:
        counts = ", ".join(f"{name} {number}" for name, number in regions.items())
        yield f"The input can be used. Regions: {counts}."
    yield from (Hanging(f"Note: {note}.") for note in notes)


# -- what is done to an output -----------------------------------------------------------------------------

Released = Annotated[Path, option("The output of `discreet safetab run`.", name="OUT")]
OldParams = Annotated[Path, option("Folder of the parameters of that run.", "DIR")]
To = Annotated[Path, option("A new directory for the result.", "DIR")]
NewFormat = Annotated[Format | None, FORMATS, Parameter(help="Format of the tables. Default: that of OUT.")]

coterminous_app = console.command(
    "safetab coterminous",
    "OUT --params DIR --data DIR --to DIR [OPTIONS]",
    "published --params params --data data --to agreed",
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
    from discreet.release.safetab.run import coterminous

    names = None if order is None else tuple(name.strip().upper() for name in order.split(","))
    done = coterminous(released, to, params=params, data=data, order=names, format=format)
    screen.present(done.as_dict, _reprocessed(done), timed=True)


post_app = App(
    name="post",
    usage="Usage: discreet safetab post OUT --params DIR --to DIR [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet safetab post published --params params --to final\n"
    "  discreet safetab post published --params params --to final --tabulation-suppression alone",
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
    from discreet.release.safetab.run import postprocess

    done = postprocess(
        released,
        to,
        params=params,
        tabulation_suppression=tabulation_suppression,
        negative=negative,
        format=format,
    )
    screen.present(done.as_dict, _reprocessed(done), timed=True)


def _reprocessed(done: Reprocessed) -> Iterator[Block]:
    if done.marked:
        yield "NOT PRIVATE: made from an output that is not; nothing of it may be published."
    yield f"{sum(done.rows.values()):,} rows in {done.out}. Nothing was spent."
    yield f"Groups {done.did}: {done.changed:,}."
    yield Hanging(f"Files: {', '.join(done.files)}.")


# -- true against released, for the trusted curator --------------------------------------------------------

MARK = "CONFIDENTIAL-"

report_app = console.command(
    "safetab report",
    "PARAMS DATA OUT [OPTIONS]",
    "nation/params nation/data released",
    "nation/params nation/data released --out report.html",
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
        found = curate(params, data, released, **asdict(counting))
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
