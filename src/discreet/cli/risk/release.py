"""`discreet risk release` and `explain`: the best any adversary can do with a whole release."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.disclosure.questions import DEFAULT_PRIOR, Risking
from discreet.errors import InputError
from discreet.numbers import prior as read_prior

if TYPE_CHECKING:
    from discreet.answers import Answer

MainOnly = Annotated[
    bool, option("Only the main pair of paths: quick, but not a bound for the whole release.")
]


app = console.command(
    "risk release",
    "TARGET... [--prior P...] [OPTIONS]",
    "pl94-2020-persons --prior 1/2",
    "pl94-2020-persons dhc-2020-persons --people 2 --held-exact State:total",
    "dhc-2020 --prior 1/2 --prior 1/864 --csv risk.csv --plot risk.svg",
    "--rho block=0.0992 --rho block_group=0.2465 --prior 1/2",
)


@app.default
@console.takes(Risking)
def release(
    *targets: console.Targets,
    rho: Annotated[
        list[str] | None,
        option(
            "Instead of a target: zCDP's rho of one count of a level, record added or removed.", "LEVEL=RHO"
        ),
    ] = None,
    main_only: MainOnly = False,
    csv: console.Csv = None,
    plot: console.Plot = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Say how much the best adversary learns: from everything published, and from each level."""
    from discreet.render.csv import csv_of

    outputs = Outputs(csv=csv, plot=plot)
    if bool(targets) == bool(rho):
        raise InputError("give either a preset's name or a TOML file, or one or more --rho LEVEL=RHO")
    for stated in given.get("prior") or ():  # before the long work
        read_prior(stated)
    if rho:
        from discreet.answers.risk import risk_answer
        from discreet.disclosure.profile import risk_profile

        if main_only or set(given) - {"prior"}:
            raise InputError("with --rho only --prior, --csv, --plot, --json and --quiet have a meaning")
        profile = risk_profile(
            console.read_by_level(",".join(rho), "--rho"), prior=given.get("prior") or DEFAULT_PRIOR
        )
        answer, figure = risk_answer(profile), "levels"
    else:
        from discreet.answers.risk_everything import whole_risk_answer
        from discreet.disclosure.everything import risk

        given["exact"] = [held for text in given.get("exact", ()) for held in _held(text)]
        given["jobs"] = console.jobs_or_cpus(given.get("jobs"))
        releases = [console.read_release(target, given.get("neighbours")) for target in targets]
        with screen.progress("Comparing data sets") as progress:
            result = risk(releases, pairs="main" if main_only else "all", progress=progress, **given)
        answer, figure = whole_risk_answer(result), "risk"
    outputs.write({"--csv": csv_of(answer.tables["risks"]), "--plot": answer.figures[figure]})
    screen.tell(answer)


def _held(text: str) -> list[str]:
    """Return what is held exact from one text; a comma may be part of a level's name.

    >>> _held("State:total,County:sex"), _held("STATE, A-G:total")
    (['State:total', 'County:sex'], ['STATE, A-G:total'])
    """
    parts = [part.strip() for part in text.split(",")]
    return parts if all(":" in part for part in parts) else [text]


_RARE = ("1/100",)  # the page says what changes at a low prior, whatever else is asked

explain_app = console.command(
    "risk explain",
    "TARGET [--prior P] [--out FILE.md] [OPTIONS]",
    "dhc-2020 --out risk.md",
    "pl94-2020-persons --held-exact State:total",
    "pl94-2020-units --prior 1/10",
)


@explain_app.default
@console.takes(Risking, only=("exact", "delta", "neighbours", "people", "jobs"))
def explain(
    target: console.Target,
    /,
    *,
    prior: console.Prior = DEFAULT_PRIOR,
    out: Annotated[Path | None, option("Write the page.", "FILE.md|txt")] = None,
    main_only: MainOnly = False,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Write what can be learned about one person; each sentence names its adversary."""
    outputs = page_outputs(out, screen)
    answer = explained(target, prior=prior, is_main_only=main_only, screen=screen, **given)
    tell_page(answer, out, outputs, screen)


def page_outputs(out: Path | None, screen: Screen, plot: Path | None = None) -> Outputs:
    """Return where a page goes, once it is clear that it may."""
    if screen.json and out is not None:
        raise InputError("--json and --out cannot be used together")
    outputs = Outputs(plot=plot)
    outputs.plan("--out", out, (".md", ".txt"))
    return outputs


def tell_page(answer: Answer, out: Path | None, outputs: Outputs, screen: Screen) -> None:
    """Write a page in plain words: as Markdown into its file, or on the terminal as prose and tables."""
    outputs.write({"--out": str(answer.record["page"]), "--plot": answer.figures.get("promise", "")})
    if out is not None:
        console.write(f"Written to {out}\n")
    else:
        Screen(json=screen.json, quiet=True).tell(answer)


def explained(
    target: str, *, prior: str, screen: Screen, is_main_only: bool = False, **given: console.Given
) -> Answer:
    """Return what can be learned about one person from a release, as a page in plain words."""
    read_prior(prior)  # before the long work
    given["jobs"] = console.jobs_or_cpus(given.get("jobs"))
    release = console.read_release(target, given.get("neighbours"))
    from discreet.answers.risk_explain import explain_answer
    from discreet.disclosure.everything import ReleaseRisk, risk

    held = [exact for text in given.pop("exact", ()) for exact in _held(text)]

    def asked(exact: list[str], progress: Callable[[int, int], None] | None) -> ReleaseRisk:
        return risk(
            release,
            exact=exact,
            prior=list(dict.fromkeys([prior, *_RARE])),
            pairs="main" if is_main_only else "all",
            false_positive_rates=["1e-4"],
            progress=progress,
            **given,
        )

    with screen.progress("Comparing data sets") as progress:
        result = asked(held, progress)
    before = None
    if held:
        with screen.progress("With nothing held exact") as progress:
            before = asked([], progress)
    return explain_answer(result, title=release.title, before=before)
