"""`discreet synth`: a synthetic nation with households, in the files of every product."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cli import console
from discreet.cli.console import PLAIN, Screen, need_tables, option
from discreet.nation.synthesis import synthesize_nation

app = console.command(
    "synth",
    "OUT --people N [OPTIONS]",
    "nation --people 1000000 --groups 2020 --format parquet",
    "nation --people 2000",
)


@app.default
@console.takes(synthesize_nation)
def synthetic_nation(
    out: Annotated[Path, option("A new directory; it gets data/, params/, phsafe/ and records/.")],
    /,
    *,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Write an invented nation with households: the same people in the files of every product."""
    need_tables("synth")
    from discreet.nation.answer import synthetic_nation_answer

    with screen.progress("People") as progress:
        made = synthesize_nation(out, **given, progress=progress)
    screen.tell(synthetic_nation_answer(made), timed=True)
