"""`discreet risk release` and `explain`: the best any adversary can do with a whole release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.errors import InputError
from discreet.numbers import prior as read_prior

if TYPE_CHECKING:
    from discreet.risk.profile import RiskProfile

MainOnly = Annotated[
    bool, option("Only the main pair of paths: quick, but not a bound for the whole release.")
]


app = console.command(
    "risk release",
    "TARGET --prior P... [OPTIONS]",
    "pl94-2020-persons --prior 1/2",
    "dhc-2020 --prior 1/2 --prior 1/864 --csv risk.csv --plot risk.svg",
    "--rho block=0.0992 --rho block_group=0.2465 --prior 1/2",
    help="The best any adversary can do with a whole release, by level and overall.",
)


@app.default
def release(
    target: Annotated[str | None, option("A preset's name or a TOML file.")] = None,
    /,
    *,
    prior: console.Priors | None = None,
    rho: Annotated[
        list[str] | None,
        option(
            "Instead of a target: zCDP's rho of one count of a level, record added or removed.", "LEVEL=RHO"
        ),
    ] = None,
    between: console.AllPaths = console.ALL_PATHS,
    main_only: MainOnly = False,
    csv: console.Csv = None,
    plot: console.Plot = None,
    screen: Screen = PLAIN,
) -> None:
    """Say how much the best adversary learns: from one count, from each level, from everything."""
    from discreet.answers.risk import risk_answer
    from discreet.render.csv import csv_of
    from discreet.risk.profile import risk_profile

    outputs, priors = Outputs(csv=csv, plot=plot), prior or ["1/2"]
    if (target is None) == (not rho):
        raise InputError("give either a preset's name or a TOML file, or one or more --rho LEVEL=RHO")
    if target is not None:
        profile, _ = _profile(target, priors, between, main_only, screen)
    elif between.neighbours is not None or main_only or between.people != 1:
        raise InputError("--neighbours, --people and --main-only are about a release, not about --rho")
    else:
        profile = risk_profile(console.read_by_level(",".join(rho or ()), "--rho"), prior=priors)
    answer = risk_answer(profile)
    outputs.write({"--csv": csv_of(answer.tables["risks"]), "--plot": answer.figures["levels"]})
    screen.tell(answer)


def _profile(
    target: str, priors: list[str], between: console.AllPaths, main_only: bool, screen: Screen
) -> tuple[RiskProfile, str]:
    """Return the profile of a target, and its title."""
    from discreet.risk.profile import risk_profile

    for one in priors:  # before the long work
        read_prior(one)
    release = console.read_release(target, between.neighbours)
    with screen.progress("Comparing paths") as progress:
        profile = risk_profile(
            release,
            prior=priors,
            neighbours=between.neighbours,
            people=between.people,
            pairs="main" if main_only else "all",
            jobs=between.workers,
            progress=progress,
        )
    return profile, release.title


explain_app = console.command(
    "risk explain",
    "TARGET --prior P [--out FILE.md] [OPTIONS]",
    "pl94-2020-persons --prior 1/2",
    "dhc-2020 --prior 1/10 --out risk.md",
    help="One page in plain words; each sentence names its adversary.",
)


@explain_app.default
def explain(
    target: console.Target,
    /,
    *,
    prior: console.Prior = "1/2",
    out: Annotated[Path | None, option("Write the page.", "FILE.md|txt")] = None,
    between: console.AllPaths = console.ALL_PATHS,
    main_only: MainOnly = False,
    screen: Screen = PLAIN,
) -> None:
    """Write what can be learned about one person; each sentence names its adversary."""
    if screen.json and out is not None:
        raise InputError("--json and --out cannot be used together")
    outputs = Outputs()
    outputs.plan("--out", out, (".md", ".txt"))
    profile, title = _profile(target, [prior], between, main_only, screen)
    from discreet.answers.risk_explain import explain_answer

    answer = explain_answer(profile, title=title)
    if out is not None:
        outputs.write({"--out": str(answer.record["page"])})
        console.write(f"Written to {out}\n")
    else:
        Screen(json=screen.json, quiet=True).tell(answer)
