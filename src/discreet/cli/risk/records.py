"""`discreet risk records`: everyone in the data, one command for the curator."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from discreet.budget import load
from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.errors import InputError
from discreet.release.hierarchy.questions import RiskingRecords


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFiles:
    """The options of the files, named as `discreet.report.records.write_records_risk` has them."""

    shapes: Annotated[
        Path | None, option("With --out: shapes of areas, for a map; GeoJSON polygons.", "FILE")
    ] = None
    shape_key: Annotated[str | None, option("The property that names the areas.", "NAME")] = None
    shape_level: Annotated[
        str | None, option("The level on the map; default: the lowest with shapes.", "LEVEL")
    ] = None
    format: Annotated[
        Literal["csv", "parquet"], option("Format of the tables; default: csv.", "csv|parquet")
    ] = "csv"


NO_FILES = StudyFiles()

app = console.command(
    "risk records",
    "[RELEASE] --records FILE (--units FILE | --noisy DIR) [OPTIONS]",
    "--records records.csv --noisy published --prior flat --prior area --out curator",
    "--records records.csv --noisy published --out curator --shapes map.geojson --shape-key name",
    tries=(
        console.SURVEY,
        "risk records survey --records survey/records.csv --units survey/units.csv --prior 1/10",
    ),
)


@app.default
@console.takes(RiskingRecords)
def records_command(
    target: Annotated[
        str | None, option("A TOML file or a preset's name. Default: the release of --noisy.")
    ] = None,
    /,
    *,
    out: Annotated[
        Path | None, option("A new directory, for its owner alone: a page, people, areas, pictures.", "DIR")
    ] = None,
    files: StudyFiles = NO_FILES,
    plot: console.Plot = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Say of how many people how much can be learned, for every person as the target."""
    outputs = Outputs(plot=plot)
    if out is None and files != NO_FILES:
        raise InputError("--shapes, --shape-key, --shape-level and --format are about files; name --out")
    console.need_tables("risk records")
    from discreet.answers.risk_records import records_answer
    from discreet.release.commit import free
    from discreet.release.hierarchy.people import records_risk
    from discreet.report.records import write_records_risk
    from discreet.tables.problems import Problems
    from discreet.tables.shapes import read_shapes

    shapes, problems = None, Problems()
    if out is not None:
        with problems.gathering():
            free(out)
    if files.shapes is not None:
        with problems.gathering():
            shapes = read_shapes(files.shapes, files.shape_key)
    elif files.shape_key or files.shape_level:
        problems.say("shape_key and shape_level are about a file of shapes; name it (--shapes)")
    problems.stop()  # before the records are read
    with screen.working(f"Reading {given['records'].name}"):
        found = records_risk(None if target is None else load(target), given.pop("records"), **given)
    answer = records_answer(found)
    with screen.working("Writing"):
        if out is not None:
            write_records_risk(found, out, **{**asdict(files), "shapes": shapes})
    outputs.write({"--plot": answer.figures["ratios"]}, confidential=True)
    screen.tell(answer, timed=True)
