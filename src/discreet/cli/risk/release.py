"""`discreet risk release` and `explain`: the best any adversary can do, as a table and in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from discreet.budget import load
from discreet.budget.levels import level_name
from discreet.budget.release import AnswerKind
from discreet.cli import options
from discreet.cli.printing import (
    PLAIN,
    Block,
    Hanging,
    LongLine,
    Outputs,
    Screen,
    TextTable,
    write,
    write_json,
)
from discreet.errors import InputError
from discreet.numbers import at_most, chance
from discreet.numbers import prior as read_prior
from discreet.report.words import relation

if TYPE_CHECKING:
    from discreet.risk.profile import RiskProfile

app = App(
    name="release",
    usage="Usage: discreet risk release TARGET --prior P... [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet risk release pl94-2020-persons --prior 1/2\n"
    "  discreet risk release dhc-2020 --prior 1/2 --prior 1/864 --csv risk.csv --plot risk.svg\n"
    "  discreet risk release --rho block=0.0992 --rho block_group=0.2465 --prior 1/2",
)
explain_app = App(
    name="explain",
    usage="Usage: discreet risk explain TARGET --prior P [--out FILE.md] [OPTIONS]",
    help_epilogue="Examples:\n  discreet risk explain pl94-2020-persons --prior 1/2\n"
    "  discreet risk explain dhc-2020 --prior 1/10 --out risk.md",
)


MainOnly = Annotated[
    bool, Parameter(help="Only the main pair of paths: quick, but not a bound for the whole release.")
]


@app.default
def release(
    target: Annotated[str | None, Parameter(help="A preset's name or a TOML file.")] = None,
    /,
    *,
    prior: options.Priors | None = None,
    rho: Annotated[
        list[str] | None,
        Parameter(
            help="Instead of a target: LEVEL=RHO, one count of variance 1/(2 rho).", metavar="LEVEL=RHO"
        ),
    ] = None,
    between: options.Comparing = options.ALL_PATHS,
    main_only: MainOnly = False,
    csv: options.Csv = None,
    plot: options.Plot = None,
    screen: Screen = PLAIN,
) -> None:
    """Say how much the best adversary learns: from one count, from each level, from everything."""
    outputs = Outputs(csv=csv, plot=plot)
    profile, _ = compute(target, prior or ["1/2"], rho, between, main_only, screen)
    from discreet.report.figures import profile_figure

    outputs.write_table_and_figure(profile.table, lambda: profile_figure(profile))
    screen.present(profile.as_dict, _text(profile))


def compute(
    target: str | None,
    priors: list[str],
    rho: list[str] | None,
    between: options.Comparing,
    main_only: bool,
    screen: Screen,
) -> tuple[RiskProfile, str]:
    """Return the profile of a target or of rhos, and its title."""
    from discreet.risk.profile import risk_profile

    if (target is None) == (not rho):
        raise InputError("give either a preset's name or a TOML file, or one or more --rho LEVEL=RHO")
    workers = between.workers
    for one in priors:  # before the long work
        read_prior(one)
    if rho:
        if between.neighbours is not None or main_only or between.people != 1:
            raise InputError("--neighbours, --people and --main-only are about a release, not about --rho")
        return risk_profile(options.by_level(",".join(rho), "--rho"), prior=priors), ""

    assert target is not None
    found = load(target)
    with screen.progress("Comparing paths") as progress:
        profile = risk_profile(
            found,
            prior=priors,
            neighbours=between.neighbours,
            people=between.people,
            pairs="main" if main_only else "all",
            jobs=workers,
            progress=progress,
        )
    return profile, found.title


def _text(profile: RiskProfile) -> Iterator[Block]:

    who = relation(profile.neighbours, profile.unit, profile.people)
    cases = f"{profile.compared} cases compared" if profile.compared > 1 else "one case"
    yield Hanging(f"{profile.name}: {who}; {cases}.")
    if profile.claim.kind is not AnswerKind.EXACT:
        yield Hanging(str(profile.claim))
    for prior in profile.priors:
        part = profile.at(prior)
        base = part.overall[0].baseline
        yield ""
        yield LongLine(f"Prior {prior:g}: right {100 * base:.4g} times in 100 with nothing published.")
        cells = [
            (
                level_name(row.scope),
                row.what,
                f"{row.accuracy:.4f}" if row in part.one_count else at_most(row.accuracy),
                f"{row.advantage:.4f}",
                chance(row.expected),
                f"{_short(row.quantiles[0])} to {_short(row.quantiles[-1])}",
            )
            for row in part.rows
        ]
        yield TextTable(
            ("level", "seen", "right", "advantage", "mean posterior", "5 % to 95 %"), cells, (0, 1)
        )
    yield ""
    yield (
        "right: how often the best adversary with this prior is right, averaged over the prior. Rows of one "
        "count: someone who knows everyone else in the area. Other rows: someone who knows every other "
        "record; bounds, rounded up. Posteriors are those of a target who is present. Left out: records that "
        "change together with the target's (see --people), and what is published without noise."
    )


def _short(chance: float) -> str:
    return f"{chance:.3f}" if chance >= 0.01 else f"{chance:.2g}"


@explain_app.default
def explain(
    target: options.Target,
    /,
    *,
    prior: options.Prior = "1/2",
    out: Annotated[Path | None, Parameter(help="Write the page.", metavar="FILE.md|txt")] = None,
    between: options.Comparing = options.ALL_PATHS,
    main_only: MainOnly = False,
    screen: Screen = PLAIN,
) -> None:
    """Write what can be learned about one person; each sentence names its adversary."""
    if screen.json and out is not None:
        raise InputError("--json and --out cannot be used together")
    outputs = Outputs()
    outputs.plan("--out", out, (".md", ".txt"))
    profile, title = compute(target, [prior], None, between, main_only, screen)
    from discreet.risk.profile import explain_profile

    page = explain_profile(profile, title=title)
    if screen.json:
        write_json({**profile.as_dict(), "page": page})
    elif out is None:
        write(page)
    else:
        outputs.write({"--out": page.encode()})
        write(f"Written to {out}\n")
