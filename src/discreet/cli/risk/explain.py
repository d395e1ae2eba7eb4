"""`discreet risk explain`: one page in plain words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.cli.outputs import Outputs
from discreet.cli.printing import PLAIN, Screen, write, write_json
from discreet.cli.risk.release import MainOnly, compute
from discreet.errors import InputError

app = App(
    name="explain",
    usage="Usage: discreet risk explain TARGET --prior P [--out FILE.md] [OPTIONS]",
    help_epilogue="Examples:\n  discreet risk explain pl94-2020-persons --prior 1/2\n"
    "  discreet risk explain dhc-2020 --prior 1/10 --out risk.md",
)


@app.default
def explain(
    target: options.Target,
    /,
    *,
    prior: options.Prior = "1/2",
    out: Annotated[Path | None, Parameter(help="Write the page.", metavar="FILE.md|txt")] = None,
    neighbours: options.Relation = None,
    people: options.People = 1,
    main_only: MainOnly = False,
    jobs: options.Jobs = None,
    screen: Screen = PLAIN,
) -> None:
    """Write what can be learned about one person; each sentence names its adversary."""
    if screen.json and out is not None:
        raise InputError("--json and --out cannot be used together")
    outputs = Outputs()
    outputs.plan("--out", out, (".md", ".txt"))
    profile, title = compute(
        target,
        [prior],
        None,
        neighbours,
        people=people,
        main_only=main_only,
        jobs=jobs,
        screen=screen,
    )
    from discreet.risk.explain import explain_profile

    page = explain_profile(profile, title=title)
    if screen.json:
        write_json({**profile.as_dict(), "page": page})
    elif out is None:
        write(page)
    else:
        outputs.write({"--out": page.encode()})
        write(f"Written to {out}\n")
