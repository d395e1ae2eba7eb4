"""`discreet safetab validate`: whether parameters and data can be used, with every problem that there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from cyclopts import App, Parameter

from discreet.cli.printing import PLAIN, Block, Hanging, Screen, need_tables
from discreet.errors import InputError

T = TypeVar("T")

app = App(
    name="validate",
    usage="Usage: discreet safetab validate PARAMS DATA [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet safetab validate params data\n"
    "  discreet safetab validate params data --json",
)


@app.default
def validate(
    params: Annotated[
        Path, Parameter(help="The folder with config.json or safetab.toml and the specification.")
    ],
    data: Annotated[Path, Parameter(help="The folder with GRF-C and person-records, as text or Parquet.")],
    /,
    *,
    engine: Annotated[
        Literal["duckdb", "spark"],
        Parameter(help="duckdb (default) or spark.", show_choices=False, metavar="duckdb|spark"),
    ] = "duckdb",
    spark_master: Annotated[str | None, Parameter(help="Where Spark runs.", metavar="URL")] = None,
    memory: Annotated[
        str | None, Parameter(help="The engine's memory, such as 4GB (default).", metavar="SIZE")
    ] = None,
    threads: Annotated[int | None, Parameter(help="Threads. Default: one for each CPU.", metavar="N")] = None,
    screen: Screen = PLAIN,
) -> None:
    """Check parameters and data; status 2 if there is any problem. Prints no confidential value."""
    need_tables("safetab validate")
    with screen.working("Checking"):
        problems, notes, regions = _checked(
            params, data, engine=engine, spark_master=spark_master, memory=memory, threads=threads
        )
    found = {"valid": not problems, "problems": problems, "notes": notes, "regions": regions}
    screen.present(lambda: found, _text(problems, notes, regions))
    if problems:
        raise SystemExit(2)


def _checked(
    params: Path,
    data: Path,
    *,
    engine: str,
    spark_master: str | None,
    memory: str | None,
    threads: int | None,
) -> tuple[list[str], list[str], dict[str, int]]:
    """Return problems, notes, and the number of regions by geography."""
    from discreet.release.engine import MEMORY, connect
    from discreet.release.safetab.configuration import read_configuration
    from discreet.release.safetab.geography import read_water
    from discreet.release.safetab.records import check, find_sources
    from discreet.release.safetab.specification import read_specification

    problems: list[str] = []
    configuration = _collect(lambda: read_configuration(params), problems)
    specification = _collect(lambda: read_specification(params), problems)
    _collect(lambda: read_water(params), problems)
    if configuration is None or specification is None:
        _collect(lambda: find_sources(data), problems)
        return problems, ["the records were not looked at, for the parameters must be right first"], {}
    notes = [*configuration.notes, *specification.notes]
    with connect(engine, memory=memory or MEMORY, threads=threads, spark_master=spark_master) as connection:
        geography = _collect(lambda: check(data, configuration, specification, engine=connection), problems)
    if geography is None:
        return problems, notes, {}
    found = {name: len(regions) for name, regions in geography.regions.items() if regions}
    return problems, [*notes, *geography.notes], found


def _collect(work: Callable[[], T], problems: list[str]) -> T | None:
    """Do the work; if it cannot be done, note each problem and return None."""
    try:
        return work()
    except InputError as error:
        head, *rest = str(error).split("\n")
        problems += [line.strip().partition(". ")[2] for line in rest] or [head]
        return None


def _text(problems: list[str], notes: list[str], regions: dict[str, int]) -> Iterator[Block]:
    if problems:
        kinds = f"{len(problems)} kinds of problems" if len(problems) > 1 else "1 kind of problem"
        yield f"The input cannot be used: {kinds}."
        yield from (Hanging(f"- {problem}") for problem in problems)
    else:
        counts = ", ".join(f"{name} {number}" for name, number in regions.items())
        yield f"The input can be used. Regions: {counts}."
    yield from (Hanging(f"Note: {note}.") for note in notes)
