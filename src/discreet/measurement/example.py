"""Examples to start from: an invented health survey, detailed groups, rules for data."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from discreet.errors import InputError
from discreet.files import FilePath
from discreet.questions import Option

EXAMPLES = {
    "health-survey": ("release.toml", "units.csv", "records.csv", "goals.toml"),
    "birthplace": ("specification.toml", "areas.csv", "people.csv", "published.csv"),
    "policy": ("discreet-policy.toml",),
}
"""The files of each example."""


def write_example(
    folder: FilePath,
    *,
    name: Annotated[
        Literal["health-survey", "birthplace", "policy"],
        Option(
            "health-survey (default): a release, its areas, its records and goals for a plan; birthplace: "
            "detailed groups; policy: rules for data.",
            "NAME",
        ),
    ] = "health-survey",
) -> tuple[Path, ...]:
    """Write the files of an example to a folder; nothing is overwritten.

    `health-survey` has a release, its units, its records and goals for a plan; `birthplace` detailed
    groups, and `policy` rules for data.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_example(folder)]
    ['release.toml', 'units.csv', 'records.csv', 'goals.toml']
    """
    if name not in EXAMPLES:
        raise InputError(f"there is no example {name!r}; the examples are {', '.join(EXAMPLES)}")
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file; the name of a directory is needed")
    target.mkdir(parents=True, exist_ok=True)
    source = files("discreet.measurement") / "examples" / name
    made = tuple(target / example for example in EXAMPLES[name])
    for path in made:
        if path.exists():
            raise InputError(f"{path} exists; nothing is overwritten")
    for path in made:
        path.write_text((source / path.name).read_text(encoding="utf-8"), encoding="utf-8")
    return made
