"""`discreet safetab report`: true against released, for the trusted curator. Confidential."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.cli.outputs import Outputs
    from discreet.release.safetab.curator import Curated

MARK = "CONFIDENTIAL-"

app = App(
    name="report",
    usage="Usage: discreet safetab report PARAMS DATA OUT [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet safetab report nation/params nation/data released\n"
    "  discreet safetab report nation/params nation/data released --out report.html",
)


@app.default
def report(
    params: Annotated[Path, Parameter(help="The folder of parameters that OUT was made with.")],
    data: Annotated[Path, Parameter(help="The folder of records that OUT was made from.")],
    released: Annotated[Path, Parameter(help="The output of a run.")],
    /,
    *,
    out: Annotated[
        Path | None,
        Parameter(
            help="Also write a page, and beside it a table (.csv); their names begin with CONFIDENTIAL-.",
            metavar="FILE.html",
        ),
    ] = None,
    engine: Annotated[str, Parameter(help="duckdb (default) or spark.", metavar="ENGINE")] = "duckdb",
    memory: Annotated[str | None, Parameter(help="The engine's memory, such as 4GB.", metavar="SIZE")] = None,
    threads: Annotated[int | None, Parameter(help="The engine's threads.", metavar="N")] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare the released tables with the true counts."""
    started = time.perf_counter()
    from discreet.cli.outputs import Outputs
    from discreet.cli.printing import need_tables, say_time, working, write_json

    need_tables("report")
    outputs = Outputs()
    if out is not None:
        _plan(outputs, out, released)
    from discreet.release.safetab.curator import curate
    from discreet.report import curator

    with working("Comparing", show=not (quiet or json)):
        found = curate(params, data, released, engine=engine, memory=memory, threads=threads)
    if out is not None:
        outputs.write({"--out": curator.page(found).encode(), "the table": curator.table_csv(found).encode()})
    if json:
        answer = found.as_dict()
        head = {name: answer.pop(name) for name in ("warning", "out", "rehearsal")}
        write_json({**head, "headline": curator.headline(found), **answer})
        return
    _show(found, outputs)
    say_time(time.perf_counter() - started, show=not quiet)


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


def _show(found: Curated, outputs: Outputs) -> None:
    from discreet.cli.printing import say, table, write
    from discreet.release.safetab.curator import CONFIDENTIAL
    from discreet.report import curator

    say(CONFIDENTIAL)
    if found.rehearsal:
        say("Of a rehearsal, whose noise protects nobody.")
    write("\n")
    say(*curator.headline(found))
    marked = False
    for sheet in curator.sheets(found):
        write("\n")
        say(f"{sheet.title}. {sheet.note}")
        table(sheet.columns, sheet.rows, left=range(sheet.left))
        marked |= any(cell.endswith(curator.MARK) for row in sheet.rows for cell in row)
    write("\n")
    if marked:
        say(curator.star())
    say(*(f"Note: {note}" for note in found.notes), indent="  ")
    for place in outputs.planned.values():
        say(f"Written: {place.name}, confidential.")
