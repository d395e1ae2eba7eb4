"""`discreet risk records`: everyone in the data, one command for the curator."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from discreet import options
from discreet.budget import load
from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, declared, option
from discreet.errors import InputError


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """The options, named as `discreet.release.hierarchy.people.records_risk` has them."""

    records: Annotated[
        Path, option("One row per person: the lowest area (unit), and a column per attribute.", "FILE")
    ]
    units: Annotated[
        Path | None, option("All areas: columns unit, level, parent. Default: those of --noisy.", "FILE")
    ] = None
    noisy: Annotated[
        Path | None, option("The numbers drawn: the output of measure, or a noisy table.", "DIR|FILE")
    ] = None
    prior: Annotated[
        list[str] | None,
        option(
            "A chance such as 1/10 (default: 1/2), or flat, population, area, or column:NAME of the records; "
            "may be repeated.",
            "P",
        ),
    ] = None
    prior_level: Annotated[
        str | None, option("With --prior area: whose rates; default: the level above the lowest.", "LEVEL")
    ] = None
    query: Annotated[
        str | None, option("The query whose cells count; default: the one of most cells.", "QUERY")
    ] = None
    estimates: Annotated[
        bool, option("Also with the variances that a reader has after combining all queries.")
    ] = False
    geocodes: Annotated[str | None, declared(options.Geocodes)] = None
    input: Annotated[Path | None, declared(options.RecordInput)] = None
    id: Annotated[str | None, declared(options.Identifier)] = None
    at_most: Annotated[int | None, declared(options.AtMost)] = None
    excess: Annotated[Literal["refuse", "keep"], declared(options.Excess)] = "refuse"


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
    "release.toml --records records.csv --units units.csv --prior 1/10",
    "--records records.csv --noisy published --prior flat --prior area --out curator",
    "--records records.csv --noisy published --out curator --shapes map.geojson --shape-key name",
    help="Everyone in the data: shares of people, uniques apart. Confidential.",
)


@app.default
def records_command(
    target: Annotated[
        str | None, option("A TOML file or a preset's name. Default: the release of --noisy.")
    ] = None,
    /,
    *,
    people: StudyOptions,
    out: Annotated[
        Path | None, option("A new directory, for its owner alone: people, areas, pictures.", "DIR")
    ] = None,
    files: StudyFiles = NO_FILES,
    plot: console.Plot = None,
    screen: Screen = PLAIN,
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

    if out is not None:
        free(out)
    given = asdict(people)
    given["priors"] = given.pop("prior") or ["1/2"]
    with screen.working(f"Reading {people.records.name}"):
        found = records_risk(None if target is None else load(target), given.pop("records"), **given)
    answer = records_answer(found)
    with screen.working("Writing"):
        if out is not None:
            write_records_risk(found, out, **asdict(files))
    outputs.write({"--plot": answer.figures["ratios"]}, confidential=True)
    screen.tell(answer, timed=True)
