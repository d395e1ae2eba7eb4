"""`discreet reproduce`: the tables and figures of the papers, computed anew, beside what is printed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.cli.outputs import Outputs
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.studies import Study, StudyEntry

app = App(
    name="reproduce",
    usage="Usage: discreet reproduce [NAME|all] [--out DIR] [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet reproduce --list\n"
    "  discreet reproduce risk-table-4\n"
    "  discreet reproduce reduced-noise --out tables\n"
    "  discreet reproduce accuracy --counts counts.csv --out tables\n"
    "  discreet reproduce all --out tables",
)


@app.default
def reproduce(
    name: Annotated[str | None, Parameter(help="A study from --list, or all.", metavar="NAME|all")] = None,
    /,
    *,
    out: Annotated[
        Path | None, Parameter(help="The directory of the files; made if necessary.", metavar="DIR")
    ] = None,
    counts: Annotated[
        Path | None, Parameter(help="Your own counts, for accuracy and slope.", metavar="FILE.csv")
    ] = None,
    list_: Annotated[bool, Parameter(name="--list", help="List the studies and stop.")] = False,
    json: options.Json = False,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
) -> None:
    """Compute studies of the papers: each printed value beside ours, with a verdict.

    With --out each study is written as tables (CSV) and a figure (PNG and SVG).
    """
    from discreet.cli.printing import progress_bar, say_time, write, write_json
    from discreet.studies import find, studies, verdicts

    if list_:
        _show_list(studies())
        return
    if name is None and out is None:
        raise InputError(
            "reproduce needs the NAME of a study, or --out DIR for all; --list shows the studies"
        )
    chosen = find(name or "all")
    if counts is not None and len(chosen) > 1:
        raise InputError("--counts is for one study: accuracy or slope")
    started = time.perf_counter()
    workers = options.jobs_or_cpus(jobs)
    found: list[Study] = []
    with _directory(out):
        outputs = Outputs()
        for entry in chosen if out else ():
            for file in entry.file_names:
                outputs.plan(file, out / file, (Path(file).suffix,))  # type: ignore[operator]
        contents: dict[str, bytes] = {}
        for entry in chosen:
            with progress_bar(entry.name, show=not quiet) as progress:
                study = entry.compute(jobs=workers, progress=progress, counts=counts)
                contents |= entry.files(study) if out else {}
            found.append(study)
        outputs.write(contents)
    checks = [check for study in found for check in study.checks]
    if json:
        write_json({"studies": [study.as_dict() for study in found], "summary": verdicts(checks)})
    else:
        for study in found:
            _show(study, all_=len(found) == 1, own=counts is not None)
        if len(found) > 1:
            write(f"together: {verdicts(checks)}\n")
    say_time(time.perf_counter() - started, show=not quiet)


@contextmanager
def _directory(out: Path | None) -> Iterator[None]:
    """Make the directory if there is none, and take it away again if the work fails."""
    fresh = out is not None and not out.exists()
    try:
        if out is not None:
            out.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{out} cannot be made: {error.strerror}") from None
    try:
        yield
    except BaseException:
        if out is not None and fresh and not any(out.iterdir()):
            out.rmdir()
        raise


def _show_list(entries: tuple[StudyEntry, ...]) -> None:
    from discreet.cli.printing import table

    rows = [
        (one.name, one.what, ", ".join(one.shows), "yes" if one.is_long else "", one.source)
        for one in entries
    ]
    table(("name", "what", "where", "takes long", "paper"), rows, left=(0, 1, 2, 3, 4))


def _show(study: Study, *, all_: bool, own: bool) -> None:
    """Show the verdicts: all of one study, of many only what is not confirmed; of own counts the results."""
    from discreet.cli.printing import say, table, write
    from discreet.studies import Verdict, verdicts

    if own:
        cells = [
            ["" if v is None else f"{v:.5g}" if isinstance(v, float) else str(v) for v in row]
            for row in study.rows
        ]
        write(f"{study.title}\n")
        table(
            [name.replace("_", " ") for name in study.columns],
            cells,
            left=(0, 1, 2) if study.name == "accuracy" else (0,),
        )
        for note in study.notes:
            say(f"  {note}", indent="  ")
        return
    write(f"{study.name}: {len(study.rows)} rows; {verdicts(study.checks)}\n")
    quiet = () if all_ else (Verdict.CONFIRMED, Verdict.GIVEN)
    shown = [one for one in study.checks if one.verdict not in quiet]
    if shown:
        columns = ("place", "what", "at", "printed", "ours", "verdict", "why")
        rows = [
            (c.printed.place, c.printed.what, c.printed.at, c.printed.text, c.digits, c.verdict.value, c.why)
            for c in shown
        ]
        table(columns, rows, left=(0, 1, 2, 5, 6))
    for note in study.notes:
        say(f"  {note}", indent="  ")
