"""An example to start from: the release, the units and the records of an invented health survey."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from discreet.errors import InputError
from discreet.files import FilePath

EXAMPLE = ("release.toml", "units.csv", "records.csv")


def write_example(folder: FilePath) -> tuple[Path, ...]:
    """Write the release, the units and the records of the health survey to a folder; nothing is overwritten.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_example(folder)]
    ['release.toml', 'units.csv', 'records.csv']
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    source = files("discreet.release") / "examples" / "health-survey"
    made = tuple(target / name for name in EXAMPLE)
    for path in made:
        if path.exists():
            raise InputError(f"{path} exists; nothing is overwritten")
    for path in made:
        path.write_text((source / path.name).read_text(encoding="utf-8"), encoding="utf-8")
    return made
