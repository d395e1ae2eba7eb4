"""`discreet safetab account`: what a run with these parameters costs one person."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from discreet.budget.neighbours import RELATIONS, Neighbours
from discreet.cli import options

app = App(
    name="account",
    usage="Usage: discreet safetab account PARAMS [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet safetab account params\n"
    "  discreet safetab account params --delta 1e-10 --neighbours unbounded --json",
)


@app.default
def account(
    params: Annotated[Path, Parameter(help="Folder of config.json or safetab.toml and the groups.")],
    /,
    *,
    delta: options.Deltas = None,
    neighbours: Annotated[
        Neighbours | None,
        Parameter(
            help="bounded: one person is replaced; unbounded: one is added or removed. Default: both.",
            show_choices=False,
            metavar="bounded|unbounded",
        ),
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Account for a run before it is made: no data is read."""
    started = time.perf_counter()
    deltas = options.read_deltas(delta or ())

    from discreet.cli.printing import progress_bar, say_time, write_json
    from discreet.cli.safetab import account_text
    from discreet.release.safetab.account import DELTAS, account_pass
    from discreet.release.safetab.configuration import read_configuration
    from discreet.release.safetab.specification import read_specification

    configuration, specification = read_configuration(params), read_specification(params)
    relations = RELATIONS if neighbours is None else (neighbours,)
    with progress_bar("Comparing people", show=not (quiet or json)) as progress:
        passes = [
            account_pass(
                configuration,
                specification,
                which,
                deltas=deltas or DELTAS,
                neighbours=relations,
                progress=progress,
            )
            for which in configuration.passes
        ]
    answer = account_text.Answer(configuration, specification, passes, relations)
    seconds = time.perf_counter() - started
    if json:
        write_json(account_text.as_object(answer, seconds))
        return
    account_text.show(answer)
    say_time(seconds, show=not quiet)
