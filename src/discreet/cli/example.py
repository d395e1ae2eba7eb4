"""`discreet example`: the files of an example to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cli import console
from discreet.cli.console import Screen, option
from discreet.measurement.example import EXAMPLES, write_example

app = console.command(
    "example",
    "FOLDER [OPTIONS]",
    "detailed --name birthplace",
    "survey",
)


@app.default
@console.takes(write_example)
def example(
    folder: Annotated[Path, option("Where to; made if necessary. Nothing is overwritten.")],
    /,
    *,
    json: console.Json = False,
    **given: console.Given,
) -> None:
    """Write the files of an invented survey, to plan and rehearse a release; or of another example."""
    from discreet.answers.answer import Answer

    made = write_example(folder, **given)
    name = given.get("name", next(iter(EXAMPLES)))
    record = {"example": name, "folder": str(folder), "files": [path.name for path in made]}
    said = f"{folder}: {', '.join(path.name for path in made)}."
    Screen(json=json, quiet=True).tell(Answer(name, record, (said,)))
