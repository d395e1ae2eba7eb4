"""`discreet reproduce`: the tables and figures of the papers, computed anew, beside what is printed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.cli import console
from discreet.cli.console import PLAIN, Block, Hanging, Outputs, Screen, long_line, option, show, text_table
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.studies import Study

app = console.command(
    "reproduce",
    "[NAME|all] [--out DIR] [OPTIONS]",
    "--list",
    "risk-table-4",
    "reduced-noise --out tables",
    "accuracy --counts counts.csv --out tables",
    "dhc-tables --from deltas.csv.gz",
    "all --out tables",
)


@app.default
def reproduce(
    name: Annotated[str | None, option("A study from --list, or all.", "NAME|all")] = None,
    /,
    *,
    out: Annotated[Path | None, option("The directory of the files; made if necessary.", "DIR")] = None,
    counts: Annotated[Path | None, option("Your own counts, for accuracy and slope.", "FILE.csv")] = None,
    from_: Annotated[
        Path | None, option("The authors' published deltas, for dhc-tables.", "FILE", name="--from")
    ] = None,
    list_: Annotated[bool, option("List the studies and stop.", name="--list")] = False,
    jobs: console.Jobs = None,
    screen: Screen = PLAIN,
) -> None:
    """Compute studies of the papers: each printed value beside ours, with a verdict.

    With --out each study is written as tables (CSV) and a figure (PNG and SVG).
    """
    from discreet.studies import find, studies, verdicts
    from discreet.studies.figures import where

    if list_:
        rows = [
            (one.name, one.what, where(one), "yes" if one.is_long else "", one.source) for one in studies()
        ]
        show([text_table(("name", "what", "where", "takes long", "paper"), rows, (0, 1, 2, 3, 4))])
        return
    if name is None and out is None:
        raise InputError(
            "reproduce needs the NAME of a study, or --out DIR for all; --list shows the studies"
        )
    chosen = find(name or "all")
    if counts is not None and len(chosen) > 1:
        raise InputError("--counts is for one study: accuracy or slope")
    if from_ is not None and len(chosen) > 1:
        raise InputError("--from is for one study: dhc-tables")
    left_out = [entry.name for entry in chosen if entry.takes_tables] if len(chosen) > 1 else []
    chosen = tuple(entry for entry in chosen if entry.name not in left_out)
    workers = console.jobs_or_cpus(jobs)
    found: list[Study] = []
    with _directory(out):
        outputs = Outputs()
        for entry in chosen if out else ():
            for file in entry.file_names:
                outputs.plan(file, out / file, (Path(file).suffix,))  # type: ignore[operator]
        contents: dict[str, bytes] = {}
        for entry in chosen:
            with screen.progress(entry.name) as progress:
                study = entry.compute(jobs=workers, progress=progress, counts=counts, tables=from_)
                contents |= entry.files(study) if out else {}
            found.append(study)
        outputs.write(contents)
    checks = [check for study in found for check in study.checks]
    screen.present(
        lambda: {"studies": [study.as_dict() for study in found], "summary": verdicts(checks)},
        _text(found, own=counts is not None or from_ is not None, left_out=left_out),
    )


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


def _text(found: list[Study], *, own: bool, left_out: list[str]) -> Iterator[Block]:
    """Say the verdicts: all of one study, of many only what is not confirmed; of own counts the results."""
    from discreet.studies import Verdict, verdicts

    quiet = () if len(found) == 1 else (Verdict.CONFIRMED, Verdict.GIVEN)
    for study in found:
        if own:
            yield long_line(study.title)
            digits = 3 if study.name == "dhc-tables" else 5  # differences near rounding have no more
            cells = [
                ["" if v is None else f"{v:.{digits}g}" if isinstance(v, float) else str(v) for v in row]
                for row in study.rows
            ]
            left = {"accuracy": (0, 1, 2), "slope": (0,)}.get(study.name, ())
            yield text_table([name.replace("_", " ") for name in study.columns], cells, left)
        else:
            yield long_line(f"{study.name}: {len(study.rows)} rows; {verdicts(study.checks)}")
            rows = [
                (said.place, said.what, said.at, said.text, one.digits, one.verdict.value, one.why)
                for one in study.checks
                if one.verdict not in quiet and (said := one.printed)
            ]
            if rows:
                columns = ("place", "what", "at", "printed", "ours", "verdict", "why")
                yield text_table(columns, rows, (0, 1, 2, 5, 6))
        yield from (Hanging(f"  {note}") for note in study.notes)
    if len(found) > 1:
        yield long_line(f"together: {verdicts(one for study in found for one in study.checks)}")
    if left_out:
        yield long_line(f"left out, since it needs --from FILE: {', '.join(left_out)}")
