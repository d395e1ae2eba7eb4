"""`discreet safetab run`: from parameters and records to released tables, with a ledger entry."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.cli.ledger import KeyFile, LedgerFile, SpendAgain

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
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Tabulate, add noise, post-process and write, with a ledger entry."""
    started = time.perf_counter()
    from discreet.cli.printing import say_time, write_json
    from discreet.cli.safetab import run_text
    from discreet.release.safetab.running import Options, run

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
    with run_text.bars(show=not (quiet or json)) as progress, run_text.kept(out, resume):
        done = run(
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
    seconds = time.perf_counter() - started
    if json:
        write_json(run_text.as_object(done, seconds))
        return
    run_text.show(done)
    say_time(seconds, show=not quiet)
