"""`discreet safetab run`: from parameters and records to released tables, with a ledger entry."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from discreet.cli import seconds_so_far
from discreet.cli.ledger import KeyFile, LedgerFile, SpendAgain, about_ledger
from discreet.cli.printing import PLAIN, Block, Hanging, Screen, TextTable
from discreet.numbers import plain

if TYPE_CHECKING:
    from discreet.release.safetab.run import Summary

Format = Annotated[
    Literal["csv", "parquet"],
    Parameter(
        help="Format of the tables. Default: csv, pipe-delimited.", show_choices=False, metavar="csv|parquet"
    ),
]
BureauColumns = Annotated[bool, Parameter(help="Leave out TABLE, NOISE_VARIANCE and MOE95.")]
BureauMargins = Annotated[
    bool, Parameter(help="Add MOE95_BUREAU, the Bureau's floor(1.96 sigma), which covers less than 95 %.")
]

app = App(
    name="run",
    usage="Usage: discreet safetab run PARAMS DATA OUT [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet safetab run params data trial --rehearsal 1\n"
    "  discreet safetab run params data published --memory 8GB\n"
    "  discreet safetab run params data published --engine spark --spark-master local[4]",
)


@app.default
def run(
    params: Annotated[Path, Parameter(help="Folder of config.json or safetab.toml and the groups.")],
    data: Annotated[Path, Parameter(help="Folder of GRF-C and person-records, as text or Parquet.")],
    out: Annotated[Path, Parameter(help="A new directory for the output.")],
    /,
    *,
    engine: Annotated[
        Literal["duckdb", "spark"],
        Parameter(
            help="The engine that counts. Default: duckdb.", show_choices=False, metavar="duckdb|spark"
        ),
    ] = "duckdb",
    spark_master: Annotated[str | None, Parameter(help="Where Spark runs.", metavar="URL")] = None,
    memory: Annotated[
        str | None, Parameter(help="The engine's memory, such as 4GB (default).", metavar="SIZE")
    ] = None,
    threads: Annotated[int | None, Parameter(help="Threads. Default: one for each CPU.", metavar="N")] = None,
    format: Format = "csv",
    bureau_columns: BureauColumns = False,
    bureau_margins: BureauMargins = False,
    no_coterminous: Annotated[bool, Parameter(help="Let regions made of the same blocks differ.")] = False,
    tabulation_suppression: Annotated[
        bool,
        Parameter(help="Drop groups whose alone count exceeds the combination count; no negative counts."),
    ] = False,
    ledger: LedgerFile = None,
    key: KeyFile = None,
    spend_again: SpendAgain = False,
    rehearsal: Annotated[
        int | None,
        Parameter(help="Noise that can be repeated and protects nobody: NOT PRIVATE.", metavar="SEED"),
    ] = None,
    resume: Annotated[
        bool,
        Parameter(help="If interrupted before noise is drawn, keep the coded records beside OUT and resume."),
    ] = False,
    no_noise: Annotated[
        bool, Parameter(help="Required if a budget is infinite: writes exact counts, NOT PRIVATE.")
    ] = False,
    screen: Screen = PLAIN,
) -> None:
    """Tabulate, add noise, post-process and write, with a ledger entry."""
    from discreet.release.safetab.run import Options
    from discreet.release.safetab.run import run as tabulate

    chosen = Options(
        format=format,
        bureau_columns=bureau_columns,
        bureau_margins=bureau_margins,
        coterminous=not no_coterminous,
        tabulation_suppression=tabulation_suppression,
        rehearsal=rehearsal,
        no_noise=no_noise,
        resume=resume,
    )
    with screen.stages() as progress, _kept(out, resume):
        done = tabulate(
            params,
            data,
            out,
            engine=engine,
            spark_master=spark_master,
            memory=memory,
            threads=threads,
            ledger=ledger,
            key=key,
            spend_again=spend_again,
            options=chosen,
            progress=progress,
        )
    screen.present(lambda: _timed(done.as_dict()), _text(done))


def _timed(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, with the seconds of the whole command beside those of its stages."""
    return {**answer, "seconds": {**answer["seconds"], "all": round(seconds_so_far(), 3)}}


@contextmanager
def _kept(out: Path, resume: bool) -> Iterator[None]:
    """Say where the coded records of an interrupted run are, if they are kept."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        from discreet.release.safetab.records import Resumable

        folder = Resumable.beside(out, {}).folder
        if resume and folder.is_dir():
            print(
                f"discreet: coded records, as confidential as the input, are kept in {folder}; the same "
                "command goes on from them",
                file=sys.stderr,
            )
        raise


def _text(done: Summary) -> Iterator[Block]:
    if done.warning is not None:
        what = done.warning.partition(": ")[2]
        yield Hanging(f"NOT PRIVATE: {_short(what)}. Nothing of it may be published.")
    rows = ", ".join(f"{count:,} {name}" for name, count in done.rows.items())
    yield Hanging(f"{sum(done.rows.values()):,} rows in {done.out}: {rows}.")
    yield TextTable(
        ["geography", "level", *done.groups, "suppressed"],
        [
            [
                place.mechanism.geography,
                str(place.mechanism.level),
                *(f"{count:,}" for count in place.tables),
                f"{place.suppressed:,}",
            ]
            for place in done.places
        ],
    )
    if done.donated or done.dropped:
        yield (f"Donated to regions of the same blocks: {done.donated:,} groups. Dropped: {done.dropped:,}.")
    if done.warning is None:
        kind = "rho" if done.privacy == "zcdp" else "epsilon"
        for which, budget in done.budgets.items():
            assert budget is not None
            yield f"Spent on one person of the {which} pass, added or removed: {kind} {plain(budget)}."
    yield from (Hanging(f"Note: {note}.") for note in done.notes)
    yield from about_ledger(done.ledger, "records", counted=done.warning is None)


def _short(what: str) -> str:
    """Keep a list of places without noise readable."""
    head, _, places = what.partition("no noise at ")
    names = places.split(", ")
    if not places or len(names) <= 4:
        return what
    return f"{head}no noise at {names[0]} and {len(names) - 1} more places"
