"""`discreet reproduce`: the tables and figures of the papers, computed anew."""

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
    from discreet.studies import Entry, Study

app = App(
    name="reproduce",
    usage="Usage: discreet reproduce [NAME|all] --out DIR [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet reproduce --list\n"
    "  discreet reproduce reduced-noise --out tables\n"
    "  discreet reproduce all --out tables",
)


@app.default
def reproduce(
    name: Annotated[str, Parameter(help="A study of the list, or all.", metavar="NAME|all")] = "all",
    /,
    *,
    out: Annotated[Path | None, Parameter(help="Where the files go; made if need be.", metavar="DIR")] = None,
    list_: Annotated[bool, Parameter(name="--list", help="List the studies and stop.")] = False,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
) -> None:
    """Write each study as a CSV and a figure (PNG and SVG), published values beside the computed ones."""
    from discreet.studies import STUDIES, find

    chosen = find(name)
    if list_:
        _show_list(STUDIES)
        return
    if out is None:
        raise InputError("reproduce needs --out DIR, where the files go; --list shows the studies")
    started = time.perf_counter()
    workers = options.jobs_or_cpus(jobs)
    from discreet.cli.printing import progress_bar, say_time

    with _directory(out):
        outputs = Outputs()
        for entry in chosen:
            for file in entry.file_names:
                outputs.plan(file, out / file, (Path(file).suffix,))
        contents: dict[str, bytes] = {}
        studies = []
        for entry in chosen:
            with progress_bar(entry.name, show=not quiet) as progress:
                study = entry.compute(jobs=workers, progress=progress)
                contents |= entry.files(study)
            studies.append(study)
        outputs.write(contents)
    for study in studies:
        _show(study)
    say_time(time.perf_counter() - started, show=not quiet)


@contextmanager
def _directory(out: Path) -> Iterator[None]:
    """Make the directory if there is none, and take it away again if the work fails."""
    fresh = not out.exists()
    try:
        out.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{out} cannot be made: {error.strerror}") from None
    try:
        yield
    except BaseException:
        if fresh and not any(out.iterdir()):
            out.rmdir()
        raise


def _show_list(studies: tuple[Entry, ...]) -> None:
    from discreet.cli.printing import table

    rows = [(entry.name, entry.title, "yes" if entry.is_long else "", entry.source) for entry in studies]
    table(("name", "what", "takes long", "paper"), rows, left=(0, 1, 2, 3))


def _show(study: Study) -> None:
    from discreet.cli.printing import say, write

    known = study.published()
    many = "value" if len(known) == 1 else "values"
    beside = f"{len(known)} published {many} beside them" if known else "no published values known"
    write(f"{study.name}: {len(study.rows)} rows, {beside}\n")
    for note in study.notes:
        say(f"  {note}", indent="  ")
