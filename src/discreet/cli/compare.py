"""`discreet compare`: two releases side by side."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.cli.outputs import PLOT_KINDS, Outputs

app = App(
    name="compare",
    usage="Usage: discreet compare A B [OPTIONS]",
    help_epilogue="Example:\n  discreet compare pl94-2020-units pl94-2020-units-pr --delta 1e-10",
)


@app.default
def compare(
    a: options.Target,
    b: options.Target,
    /,
    *,
    neighbours: options.Relation = None,
    delta: options.Deltas = None,
    people: options.People = 1,
    plot: Annotated[Path | None, Parameter(help="Draw both releases.", metavar="FILE.svg|png|pdf")] = None,
    jobs: options.Jobs = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare two releases."""
    started = time.perf_counter()
    workers = options.jobs_or_cpus(jobs)
    deltas = options.read_deltas(delta or ())
    outputs = Outputs()
    outputs.plan("--plot", plot, PLOT_KINDS)

    from discreet.budget import load

    releases = (load(a), load(b))

    from discreet.accounting.overall import account
    from discreet.cli import compare_text
    from discreet.cli.account_files import compare_contents
    from discreet.cli.printing import progress_bar, say_time, write_json
    from discreet.report.tables import DELTAS, epsilon_rows

    first, second = (
        account(release, neighbours=neighbours, people=people, jobs=workers) for release in releases
    )
    with progress_bar("Comparing paths", show=not (quiet or json)) as progress:
        running = first.with_workers(workers, progress), second.with_workers(workers, progress)
        rows = [epsilon_rows(one, deltas or [*DELTAS]) for one in running]
        contents = compare_contents(*running, outputs)
    outputs.write(contents)
    both = compare_text.Side(releases[0], first, rows[0]), compare_text.Side(releases[1], second, rows[1])
    seconds = time.perf_counter() - started
    if json:
        write_json(compare_text.as_object(*both, seconds))
        return
    compare_text.show(*both)
    say_time(seconds, show=not quiet)
