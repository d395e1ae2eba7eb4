"""`discreet safetab report`: true against released, for the trusted curator. Confidential."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.cli import console
from discreet.cli.console import PLAIN, Block, Hanging, Outputs, Screen, TextTable, need_tables, option
from discreet.cli.safetab import DUCKDB, Counting
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.release.safetab.curator import Curated

MARK = "CONFIDENTIAL-"

app = console.command(
    "safetab report",
    "PARAMS DATA OUT [OPTIONS]",
    "nation/params nation/data released",
    "nation/params nation/data released --out report.html",
)


@app.default
def report(
    params: Annotated[Path, option("The folder of parameters that OUT was made with.")],
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
    from discreet.release.safetab.curator import curate
    from discreet.report import curator

    with screen.working("Comparing"):
        found = curate(params, data, released, **asdict(counting))
    if out is not None:
        contents = {"--out": curator.page(found).encode(), "the table": curator.table_csv(found).encode()}
        outputs.write(contents, confidential=True)
    # the sentences follow what the report is of
    head = dict.fromkeys(("warning", "out", "rehearsal"))
    answer = head | {"headline": curator.headline(found)} | found.as_dict()
    screen.present(lambda: answer, _text(found, outputs))


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


def _text(found: Curated, outputs: Outputs) -> Iterator[Block]:
    from discreet.release.safetab.curator import CONFIDENTIAL
    from discreet.report import curator

    yield CONFIDENTIAL
    if found.rehearsal:
        yield "Of a rehearsal, whose noise protects nobody."
    yield ""
    yield from curator.headline(found)
    marked = False
    for sheet in curator.sheets(found):
        yield ""
        yield f"{sheet.title}. {sheet.note}"
        yield TextTable(sheet.columns, sheet.rows, range(sheet.left))
        marked |= sheet.marked
    yield ""
    if marked:
        yield curator.star()
    yield from (Hanging(f"Note: {note}") for note in found.notes)
    yield from (f"Written: {place.name}, confidential." for place in outputs.planned.values())
