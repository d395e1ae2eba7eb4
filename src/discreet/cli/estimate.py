"""`discreet estimate`: the best estimates from noisy measurements. They spend nothing."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from discreet.cli import console
from discreet.cli.console import PLAIN, Screen, need_tables, option
from discreet.errors import InputError
from discreet.estimation.questions import Estimating

app = console.command(
    "estimate",
    "MEASUREMENTS... --out DIR [OPTIONS]",
    "published --out estimates",
    'published --out school --query "age * sex" --areas school-districts.csv',
    "published --out print --tables",
    'published --print "age * sex" --areas regions.csv --out tables.xlsx',
    "pl94 dhc --out both --query total",
    "nmf --release pl94-2020 --within 0144001 --down-to Block_Group --out county",
    tries=(console.SURVEY, console.MEASURE, 'estimate noisy --out estimates --query "adult * limitation"'),
)


@app.default
@console.takes(Estimating)
def estimate(
    *noisy: Annotated[
        Path,
        option(
            "The output of `measure`, a noisy table, or the Census Bureau's noisy measurement files, by "
            "directory or level. Several are releases of the same people.",
            "MEASUREMENTS",
        ),
    ],
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Estimate every table in every area from all measurements together."""
    need_tables("estimate")
    from discreet.answers.measurements import estimated_answer
    from discreet.answers.printed import printed_answer
    from discreet.estimation import estimate as find
    from discreet.reports.printed import print_tables

    if not noisy:
        raise InputError("there is nothing to estimate from: name the output of `discreet measure`")
    if "release" in given:
        given["release"] = console.read_plan(given["release"], "estimate")
    for name in ("difference", "ratio"):
        given[f"{name}s"] = [_two(text, f"--{name}") for text in given.get(f"{name}s", ())]
    prints = bool(given.get("prints"))
    if not prints and given["out"].suffix.lower() in (".xlsx", ".html", ".csv"):
        raise InputError(
            f"--out is {given['out']}, a file; estimates are written to a directory. Give --print QUERY for "
            "tables to print"
        )
    given["jobs"] = console.jobs_or_cpus(given.get("jobs"))
    reading = f"Estimating from {' and '.join(str(source) for source in noisy)}"
    if prints:
        with screen.working(reading):
            answer = printed_answer(print_tables(noisy, **given))
    else:
        with screen.stages() as progress, _kept(given["out"], given.get("resume", False)):
            if progress is not None:
                progress(reading, 0, 0)
            answer = estimated_answer(find(noisy, **given, progress=progress))
    screen.tell(answer)


@contextmanager
def _kept(out: Path, resume: bool) -> Iterator[None]:
    """Say where the finished tables of an interrupted run are, if they are kept."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        from discreet.ledger.resumable import Resumable

        folder = Resumable.of_tables(out, {}).folder
        if resume and folder.is_dir():
            print(
                f"discreet: finished tables are kept in {folder}; the same command goes on from them",
                file=sys.stderr,
            )
        raise


def _two(text: str, option: str) -> tuple[str, str]:
    parts = [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]
    if len(parts) != 2 or not all(parts):
        raise InputError(
            f"{option} is {text!r}; it must be two areas, or two queries, separated by a comma; a "
            'name with a comma in it stands in quotes: "Paris, Texas",Rome'
        )
    return parts[0], parts[1]
