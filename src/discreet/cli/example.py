"""`discreet example`: the files of an example to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from discreet.cli import console
from discreet.cli.console import Screen, option

app = console.command(
    "example",
    "FOLDER [OPTIONS]",
    "detailed --name birthplace",
    "survey",
)


@app.default
def example(
    folder: Annotated[Path, option("Where to; made if necessary. Nothing is overwritten.")],
    /,
    *,
    name: Annotated[
        Literal["health-survey", "birthplace", "policy"],
        option(
            "health-survey (default): a release, its areas and its records; birthplace: detailed groups; "
            "policy: rules for data.",
            "NAME",
        ),
    ] = "health-survey",
    json: console.Json = False,
) -> None:
    """Write the files of an invented survey, to plan and rehearse a release; or of another example."""
    from discreet.answers.answer import Answer
    from discreet.release import write_example

    made = write_example(folder, name=name)
    record = {"example": name, "folder": str(folder), "files": [path.name for path in made]}
    said = f"{folder}: {', '.join(path.name for path in made)}."
    Screen(json=json, quiet=True).tell(Answer(name, record, (said,)))
