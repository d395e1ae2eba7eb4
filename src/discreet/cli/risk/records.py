"""`discreet risk records`: everyone in the data, one command for the curator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.budget import load
from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.disclosure.questions import RiskingRecords
from discreet.errors import InputError
from discreet.reports.records import write_records_risk

_OF_FILES = ("shapes", "shape_key", "shape_level", "format")


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
@console.takes(RiskingRecords, write_records_risk)
def records_command(
    target: Annotated[
        str | None, option("A TOML file or a preset's name. Default: the release of --noisy.")
    ] = None,
    /,
    *,
    out: Annotated[
        Path | None, option("A new directory, for its owner alone: a page, people, areas, pictures.", "DIR")
    ] = None,
    plot: console.Plot = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Say of how many people how much can be learned, for every person as the target."""
    outputs = Outputs(plot=plot)
    files = {name: given.pop(name) for name in _OF_FILES if name in given}
    if out is None and files:
        raise InputError("--shapes, --shape-key, --shape-level and --format are about files; name --out")
    console.need_tables("risk records")
    from discreet.answers.risk_records import records_answer
    from discreet.disclosure.population import records_risk
    from discreet.ledger.commit import free
    from discreet.tables.problems import Problems
    from discreet.tables.shapes import read_shapes

    shapes, problems = None, Problems()
    if out is not None:
        with problems.gathering():
            free(out)
    if "shapes" in files:
        with problems.gathering():
            shapes = read_shapes(files["shapes"], files.get("shape_key"))
    elif files.get("shape_key") or files.get("shape_level"):
        problems.say("shape_key and shape_level are about a file of shapes; name it (--shapes)")
    problems.stop()  # before the records are read
    with screen.working(f"Reading {given['records'].name}"):
        risk = records_risk(None if target is None else load(target), given.pop("records"), **given)
    answer = records_answer(risk)
    with screen.working("Writing"):
        if out is not None:
            write_records_risk(risk, out, **{**files, "shapes": shapes})
    outputs.write({"--plot": answer.figures["ratios"]}, confidential=True)
    screen.tell(answer, timed=True)
