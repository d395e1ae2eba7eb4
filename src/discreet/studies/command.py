"""`discreet reproduce`: the tables and figures of the papers, computed anew, beside what is printed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.errors import InputError
from discreet.studies.register import StudyEntry, find, studies

if TYPE_CHECKING:
    from discreet.studies import Study


def _names() -> list[str]:
    return [*(study.name for study in studies()), "all"]


app = console.command(
    "reproduce",
    "[NAME|all] [--out DIR] [OPTIONS]",
    "--list",
    "reduced-noise --out tables",
    "accuracy --counts counts.csv --out tables",
    "dhc-tables --from deltas.csv.gz",
    "all --out tables",
    "risk-table-4",
    offers=_names,
)


@app.default
@console.takes(StudyEntry.compute)
def reproduce(
    name: Annotated[str | None, option("A study from --list, or all.", "NAME|all")] = None,
    /,
    *,
    out: Annotated[Path | None, option("The directory of the files; made if necessary.", "DIR")] = None,
    list_: Annotated[bool, option("List the studies and stop.", name="--list")] = False,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Compute studies of the papers: each printed value beside ours, with a verdict.

    With --out each study is written as tables (CSV) and a figure (PNG and SVG).
    """
    from discreet.studies.answer import studies_answer, study_list_answer

    if list_:
        Screen(json=screen.json, quiet=True).tell(study_list_answer(studies()))
        return
    if name is None and out is None:
        raise InputError(
            "reproduce needs the NAME of a study, or --out DIR for all; --list shows the studies"
        )
    chosen = find(name or "all")
    if "counts" in given and len(chosen) > 1:
        raise InputError("--counts is for one study: accuracy or slope")
    if "tables" in given and len(chosen) > 1:
        raise InputError("--from is for one study: dhc-tables")
    left_out = [entry.name for entry in chosen if entry.takes_tables] if len(chosen) > 1 else []
    chosen = tuple(entry for entry in chosen if entry.name not in left_out)
    given["jobs"] = console.jobs_or_cpus(given.get("jobs"))
    computed: list[Study] = []
    with _directory(out):
        outputs = Outputs()
        for entry in chosen if out else ():
            for file in entry.file_names:
                outputs.plan(file, out / file, (Path(file).suffix,))  # type: ignore[operator]
        contents: dict[str, bytes] = {}
        for entry in chosen:
            with screen.progress(entry.name) as progress:
                study = entry.compute(**given, progress=progress)
                contents |= entry.files(study) if out else {}
            computed.append(study)
        outputs.write(contents)
    own = "counts" in given or "tables" in given
    screen.tell(studies_answer(computed, own=own, left_out=left_out))


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
