"""`discreet risk`: what can be learned about one person, for a stated adversary.

`single`: one noisy count, or several counts of the same person. `hierarchy`: a block and the areas around it,
together. `release` and `explain`: the best any adversary can do with a whole release, as a table and in plain
words. `table`: every row of a released table, and a summary by level.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

from cyclopts import App, Parameter

from discreet.answers.release import claim_text, relation
from discreet.budget import AnswerKind, load
from discreet.budget.level_names import level_name
from discreet.cli import console
from discreet.cli.console import PLAIN, Block, Hanging, Outputs, Screen, long_line, option, text_table
from discreet.errors import InputError, visible
from discreet.numbers import chance as shown
from discreet.numbers import fraction, in_hundred, times
from discreet.numbers import prior as read_prior
from discreet.render.json import json_text

if TYPE_CHECKING:
    from discreet.risk.counts import OneCount, SeveralCounts
    from discreet.risk.hierarchy import Area, HierarchyPosterior, Method
    from discreet.risk.profile import RiskProfile
    from discreet.risk.table import TableRisk

app = App(
    name="risk",
    usage="Usage: discreet risk COMMAND ...",
    help="Posterior probabilities, ratios and accuracies for a stated adversary.",
)


# -- one noisy count, or several of the same person --------------------------------------------------------

TRUTHS = ("present", "absent", "prior")


@console.command(
    "risk single",
    "--noisy Y --variance V --prior P [OPTIONS]",
    "--noisy 1 --rho 0.099 --prior 1/2",
    "--noisy 14 --known 12 --variance 10 --prior 1/2 --prior 1/864",
    "--noisy 3 --variance 10 --prior 1/2 --unsure 20 --chance 1/10",
    "--together --noisy 2 --noisy 1 --variance 10 --variance 4 --prior 1/2",
    help="One noisy count: the posterior, the ratio and how often the adversary is right.",
    group=app,
).default
def single(
    *,
    noisy: Annotated[
        list[str], option("The published count; may be repeated.", "Y", allow_leading_hyphen=True)
    ],
    prior: console.Priors,
    variance: console.Variances = None,
    rho: console.Rhos = None,
    known: Annotated[
        list[str] | None,
        option(
            "How many others with the characteristics the adversary knows of; default 0.",
            "K",
            allow_leading_hyphen=True,
        ),
    ] = None,
    unsure: Annotated[
        int | None, option("This many others may or may not have the characteristics.", "M")
    ] = None,
    chance: Annotated[
        list[str] | None, option("The chance of each of them, one for all or one for each.", "C")
    ] = None,
    loss: Annotated[
        tuple[str, str, str, str] | None,
        option(
            "Costs of deciding absent, present; first if the target is absent. Default 0 1 1 0.", "A B C D"
        ),
    ] = None,
    nonnegative: console.Floor = False,
    together: Annotated[
        bool, option("The noisy values are several counts of the same person, each with its noise.")
    ] = False,
    json: console.Json = False,
    csv: console.Csv = None,
    plot: console.Plot = None,
) -> None:
    """Say what a noisy count tells someone who knows everyone else."""
    outputs = Outputs(csv=csv, plot=plot)
    from discreet.report.figures import attack_figure
    from discreet.risk.counts import one_count, several_counts

    costs = loss and [loss[:2], loss[2:]]
    answer: OneCount | SeveralCounts
    if together:
        if unsure is not None or chance or plot:
            raise InputError("--together cannot be combined with --unsure, --chance or --plot")
        answer = several_counts(
            noisy,
            prior=prior,
            variance=variance,
            rho=rho,
            known=known or 0,
            loss=costs,
            nonnegative=nonnegative,
        )
        outputs.write({"--csv": answer.table})
        text = _several_text(answer)
    else:
        for name, stated in (("--variance", variance), ("--rho", rho), ("--known", known)):
            if stated and len(stated) > 1:
                raise InputError(f"{name} is stated {len(stated)} times; without --together one is needed")
        answer = found = one_count(
            noisy,
            prior=prior,
            variance=variance[0] if variance else None,
            rho=rho[0] if rho else None,
            known=known[0] if known else 0,
            unsure=unsure,
            chance=chance or (),
            loss=costs,
            nonnegative=nonnegative,
        )
        drawn = {"--plot": lambda: attack_figure(found.attack, prior, marked=found.values)}
        outputs.write({"--csv": answer.table, **drawn})
        text = _single_text(answer, of_rho=bool(rho), likelier=loss is None)
    Screen(json=json, quiet=True).present(answer.as_dict, text)


def _single_text(found: OneCount, *, of_rho: bool, likelier: bool) -> Iterator[Block]:
    variance = found.attack.variance
    noise = f"{variance:.6g}"
    if of_rho:
        noise += (
            " = 1/(2 rho), as in the paper; a rho calibrated for replacement of one record has "
            f"noise of variance 1/rho = {2 * variance:.6g}, which --variance takes"
        )
    yield Hanging(f"Adversary: {found.adversary}.")
    yield Hanging(f"Noise: discrete Gaussian, variance {noise}.")
    if found.attack.nonnegative:
        yield "A published 0 may stand for any value below it; the numbers allow for that."
    yield ""
    rows = [
        (
            f"{one.noisy:,}",
            str(one.prior),
            shown(one.posterior),
            f"{one.ratio:.4g}",
            {True: "present", False: "absent", None: "either"}[one.decides_present],
        )
        for one in found.beliefs
    ]
    yield text_table(("published", "prior", "posterior", "ratio", "decision"), rows, (4,))
    rule = "Choosing the likelier answer" if likelier else "Choosing what costs less on average"
    for prior in found.priors:
        means = found.averages(prior)
        present, absent, either = (in_hundred(means[f"accuracy_given_{truth}"]) for truth in TRUTHS)
        yield ""
        yield (
            f"With prior {prior}, this adversary's posterior is "
            f"{shown(means['expected_posterior_given_present'])} on average if the target is present "
            f"({means['expected_ratio_given_present']:.4g} times the prior), and "
            f"{shown(means['expected_posterior_given_absent'])} if absent."
        )
        yield (
            f"{rule}, this adversary is right {present} if the target is present, {absent} if absent, and "
            f"{either} averaged over the prior; without the release, "
            f"{in_hundred(found.without_release(prior))}."
        )


def _several_text(found: SeveralCounts) -> Iterator[Block]:
    yield Hanging(f"Adversary: {found.adversary}.")
    for prior in found.priors:
        yield ""
        steps = found.steps(prior)
        rows = [
            (
                f"{step.noisy:,}",
                f"{step.variance:.6g}",
                f"{known:,}",
                shown(step.prior),
                shown(step.posterior),
                f"{step.ratio:.4g}",
            )
            for step, known in zip(steps, found.known, strict=True)
        ]
        yield text_table(("published", "variance", "known", "before", "after", "ratio"), rows, ())
        yield (
            f"After all of them this adversary, with prior {prior}, gives “present” a probability of "
            f"{shown(steps[-1].posterior)}, {steps[-1].total_ratio:.4g} times the prior."
        )
        if right := {truth: in_hundred(share) for truth, share in found.accuracies(prior).items()}:
            yield (
                f"Choosing by all {len(steps)} counts, this adversary is right {right['present']} "
                f"if the target is present, {right['absent']} if absent, and {right['prior']} averaged "
                "over the prior."
            )


# -- a block and the areas around it -------------------------------------------------------------------------

Siblings = Literal["exact", "single"]
KEYS = ("name", "noisy", "variance", "rho", "siblings", "siblings-noisy", "given", "count")


@console.command(
    "risk hierarchy",
    "--area SPEC... --prior P [OPTIONS]",
    "--area name=block,noisy=2,rho=0.0992,siblings=27,siblings-noisy=-1 "
    "--area name=group,noisy=1,rho=0.2465 --prior 1/2",
    note="An area is written as key=value pairs, the smallest area first:\n"
    "  name, noisy, variance or rho, siblings, siblings-noisy, given (its prior), count (if known)\n\n",
    help="A block and the areas above it, together.",
    group=app,
).default
def hierarchy(
    *,
    area: Annotated[list[str] | None, option("One area; repeat for the next larger one.", "SPEC")] = None,
    prior: console.Prior = "1/2",
    known: Annotated[int, option("How many others in the block the adversary knows of.", "K")] = 0,
    siblings: Annotated[
        str, option("Noise of the siblings' sum: exact, or single as in the paper.", "exact|single")
    ] = "exact",
    method: Annotated[
        str,
        option(
            "exact; gibbs: a sampler of the same posterior; gibbs-unconstrained: without the condition "
            "that the block counts no more than the group, as in the paper's tables.",
            "exact|gibbs|gibbs-unconstrained",
        ),
    ] = "exact",
    draws: Annotated[int, option("Draws of a sampler.", "N")] = 100_000,
    seed: Annotated[int | None, option("Seed of a sampler.", "N")] = None,
    csv: console.Csv = None,
    plot: console.Plot = None,
    json: console.Json = False,
) -> None:
    """Compute the posterior of the target's count and of every area's count."""
    from discreet.report.figures import hierarchy_figure
    from discreet.risk.hierarchy import hierarchy_posterior

    outputs = Outputs(csv=csv, plot=plot)
    method, siblings = method.lower(), siblings.lower()
    if seed is not None and seed < 0:
        raise InputError(f"seed is {seed}; it must be zero or more")
    areas = [read_area(text) for text in area or ()]
    ask = partial(hierarchy_posterior, areas, prior=prior, known=known)
    # words are checked there
    found = ask(siblings=cast("Siblings", siblings), method=cast("Method", method), draws=draws, seed=seed)
    other = None
    if method == "exact" and found.sibling_error > 0:
        other = ask(siblings="single" if siblings == "exact" else "exact").probability
    outputs.write({"--csv": found.table, "--plot": lambda: hierarchy_figure(found)})
    Screen(json=json, quiet=True).present(
        lambda: {**found.as_dict(), "posterior_other_siblings": other}, _hierarchy_text(found, other)
    )


def read_area(text: str) -> Area:
    """Return an area from its key=value pairs; a comma inside a table belongs to the table.

    >>> read_area("name=block,noisy=2,variance=5,given=table:0.5,0.5").noisy
    2
    >>> read_area("noise=2")
    Traceback (most recent call last):
    discreet.errors.InputError: an area has no 'noise'; it has name, noisy, variance, rho, siblings, \
siblings-noisy, given, count
    """
    from discreet.risk.hierarchy import Area

    found: dict[str, str] = {}
    for piece in re.split(",(?=[^,=]*=)", text):
        key, sign, value = (part.strip() for part in piece.partition("="))
        key = key.lower().replace("_", "-")
        if not sign:
            raise InputError(f"--area is {text!r}; it must look like name=block,noisy=2,rho=0.0992")
        if key not in KEYS:
            raise InputError(f"an area has no {key!r}; it has {', '.join(KEYS)}")
        if key in found:
            raise InputError(f"--area is {text!r}; it states {key} twice")
        found[key] = value

    def whole(key: str) -> int | None:
        if key not in found:
            return None
        value = fraction(found[key], name=f"{key} of an area")
        if value.denominator != 1:
            raise InputError(f"{key} of an area is {found[key]}; a whole number is needed")
        return int(value)

    return Area(
        name=found.get("name", ""),
        noisy=whole("noisy"),
        variance=found.get("variance"),
        rho=found.get("rho"),
        siblings=whole("siblings") or 0,
        siblings_noisy=whole("siblings-noisy"),
        given_smaller=found.get("given", "uniform"),
        count=whole("count"),
    )


def _hierarchy_text(found: HierarchyPosterior, other: float | None) -> Iterator[Block]:
    yield Hanging(f"Target present: {found}.")
    if found.method == "gibbs-unconstrained":
        yield Hanging(
            "Note: this chain lets the block count more than the group, as the paper's tables suggest. "
            "Its limit is not the posterior of the stated model (method exact)."
        )
    yield ""
    rows = [
        (
            area.name,
            f"{area.mean:.6g}",
            f"{area.standard_deviation:.4g}",
            f"{area.quantile(0.025)} to {area.quantile(0.975)}",
        )
        for area in found.areas
    ]
    yield text_table(("area", "mean count", "standard deviation", "95 % interval"), rows)
    if other is not None:
        from discreet.risk.hierarchy import small_bound

        there = "one discrete Gaussian" if found.siblings == "exact" else "the exact sum"
        off = abs(other - found.probability)
        gap = f"a difference of {off:.1e}" if off else "the same to every digit"
        yield ""
        yield Hanging(
            f"With {there} for the siblings' noise instead, the posterior is {other:.6g}, {gap}. The two "
            f"distributions differ by at most {small_bound(found.sibling_error, 1)} in relative terms."
        )


# -- everything that a release publishes ---------------------------------------------------------------------

MainOnly = Annotated[
    bool, option("Only the main pair of paths: quick, but not a bound for the whole release.")
]


@console.command(
    "risk release",
    "TARGET --prior P... [OPTIONS]",
    "pl94-2020-persons --prior 1/2",
    "dhc-2020 --prior 1/2 --prior 1/864 --csv risk.csv --plot risk.svg",
    "--rho block=0.0992 --rho block_group=0.2465 --prior 1/2",
    help="The best any adversary can do with a whole release, by level and overall.",
    group=app,
).default
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
    between: console.Comparing = console.ALL_PATHS,
    main_only: MainOnly = False,
    csv: console.Csv = None,
    plot: console.Plot = None,
    screen: Screen = PLAIN,
) -> None:
    """Say how much the best adversary learns: from one count, from each level, from everything."""
    from discreet.report.figures import profile_figure
    from discreet.risk.profile import risk_profile

    outputs, priors = Outputs(csv=csv, plot=plot), prior or ["1/2"]
    if (target is None) == (not rho):
        raise InputError("give either a preset's name or a TOML file, or one or more --rho LEVEL=RHO")
    workers = between.workers
    if target is not None:
        profile, _ = _profile(target, priors, between, workers, main_only, screen)
    elif between.neighbours is not None or main_only or between.people != 1:
        raise InputError("--neighbours, --people and --main-only are about a release, not about --rho")
    else:
        profile = risk_profile(console.by_level(",".join(rho or ()), "--rho"), prior=priors)
    outputs.write({"--csv": profile.table, "--plot": lambda: profile_figure(profile)})
    screen.present(profile.as_dict, _release_text(profile))


def _profile(
    target: str, priors: list[str], between: console.Comparing, workers: int, main_only: bool, screen: Screen
) -> tuple[RiskProfile, str]:
    """Return the profile of a target, and its title."""
    from discreet.risk.profile import risk_profile

    for one in priors:  # before the long work
        read_prior(one)
    release = load(target)
    with screen.progress("Comparing paths") as progress:
        profile = risk_profile(
            release,
            prior=priors,
            neighbours=between.neighbours,
            people=between.people,
            pairs="main" if main_only else "all",
            jobs=workers,
            progress=progress,
        )
    return profile, release.title


def _release_text(profile: RiskProfile) -> Iterator[Block]:
    from discreet.risk.profile import prior_text

    who = relation(profile.neighbours, profile.unit, profile.people)
    cases = f"{profile.compared} cases compared" if profile.compared > 1 else "one case"
    yield Hanging(f"{profile.name}: {who}; {cases}.")
    if profile.claim.kind is not AnswerKind.EXACT:
        yield Hanging(claim_text(profile.claim))
    for prior in profile.priors:
        part = profile.at(prior)
        base = part.overall[0].baseline
        yield ""
        yield long_line(f"Prior {prior_text(prior)}: right {times(base)} with nothing published.")
        cells = [
            (
                level_name(row.scope),
                row.what,
                row.right(),
                row.over_chance,
                row.belief(row.expected),
                f"{row.belief(row.quantiles[0])} to {row.belief(row.quantiles[-1])}",
            )
            for row in part.rows
        ]
        yield text_table(
            ("level", "seen", "right", "advantage", "mean posterior", "5 % to 95 %"), cells, (0, 1)
        )
    yield ""
    bounds = "bounds, rounded up" if profile.is_bound else "rounded up"
    largest = "Of the cases compared, none has more. " if profile.compared > 1 else ""
    yield (
        "right: how often the best adversary with this prior is right, averaged over the prior. Rows of one "
        "count: someone who knows everyone else in the area. Other rows: someone who knows every other "
        f"record; {bounds}. Posteriors are those of a target who is present. {largest}Left out: records that "
        "change together with the target's (see --people), and what is published without noise."
    )


@console.command(
    "risk explain",
    "TARGET --prior P [--out FILE.md] [OPTIONS]",
    "pl94-2020-persons --prior 1/2",
    "dhc-2020 --prior 1/10 --out risk.md",
    help="One page in plain words; each sentence names its adversary.",
    group=app,
).default
def explain(
    target: console.Target,
    /,
    *,
    prior: console.Prior = "1/2",
    out: Annotated[Path | None, option("Write the page.", "FILE.md|txt")] = None,
    between: console.Comparing = console.ALL_PATHS,
    main_only: MainOnly = False,
    screen: Screen = PLAIN,
) -> None:
    """Write what can be learned about one person; each sentence names its adversary."""
    if screen.json and out is not None:
        raise InputError("--json and --out cannot be used together")
    outputs = Outputs()
    outputs.plan("--out", out, (".md", ".txt"))
    profile, title = _profile(target, [prior], between, between.workers, main_only, screen)
    from discreet.risk.profile import explain_profile

    page = explain_profile(profile, title=title)
    outputs.write({"--out": page})
    if out is not None:
        console.write(f"Written to {out}\n")
    elif screen.json:
        console.write(f"{json_text({**profile.as_dict(), 'page': page})}\n")
    else:
        console.write(visible(page))


# -- the rows of a table -------------------------------------------------------------------------------------


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The options, named as `discreet.risk.table_risk` has them."""

    prior: console.Prior
    known: Annotated[
        str | None,
        option(
            "How many others with the characteristics the adversary knows of, in every row. Default: "
            "an average over the counts that may be known if the target is present (see --law).",
            "K",
            allow_leading_hyphen=True,
        ),
    ] = None
    known_column: Annotated[str | None, option("The column with this number for each row.", "NAME")] = None
    law: Annotated[
        Literal["table", "flat"],
        option(
            "Without known counts: how likely each is. table: as the table itself suggests (empirical "
            "Bayes); flat: all equally.",
            "table|flat",
        ),
    ] = "table"
    noisy_column: Annotated[
        str | None, option("Noisy counts. Default: value, COUNT, noisy or count.", "NAME")
    ] = None
    variance_column: Annotated[
        str | None, option("Variances. Default: variance or NOISE_VARIANCE.", "NAME")
    ] = None
    level_column: Annotated[
        str | None, option("Level to summarise by. Default: level or REGION_TYPE.", "NAME")
    ] = None
    nonnegative: console.Floor = False


@console.command(
    "risk table",
    "FILE --prior P [OPTIONS]",
    "published/measurements.csv --prior 1/10",
    "t1.csv --prior 1/2 --known 0 --nonnegative --json",
    "measurements.parquet --prior 1/10 --known-column others --csv rows.csv",
    help="Every row of a released table, and a summary by level.",
    group=app,
).default
def table(
    file: Annotated[Path, option("The released table: CSV or Parquet.")],
    /,
    *,
    chosen: Reading,
    csv: Annotated[Path | None, option("Write all rows with their risk.", "FILE.csv")] = None,
    plot: console.Plot = None,
    screen: Screen = PLAIN,
) -> None:
    """Say for every row of a table what it tells someone who knows everyone else in it."""
    outputs = Outputs(csv=csv, plot=plot)
    if csv is not None and csv.resolve() == file.resolve():
        raise InputError(f"--csv is {csv}, which is the table itself")
    console.need_tables("risk table")
    from discreet.report.figures import table_figure
    from discreet.risk import table_risk
    from discreet.risk.attack import read_whole

    known = None if chosen.known is None else int(read_whole(chosen.known, name="known"))
    with screen.working(f"Reading {file.name}"):
        found = table_risk(file, **asdict(chosen) | {"known": known}, out=csv)
    outputs.write({"--plot": lambda: table_figure(found)})
    law = chosen.law if known is None and chosen.known_column is None else None
    screen.present(lambda: {"table": str(file), **found.as_dict()}, _table_text(found, file, law), timed=True)


def _table_text(found: TableRisk, file: Path, law: str | None) -> Iterator[Block]:
    from discreet.risk.table import QUANTILES

    yield f"{file}: {found.rows:,} row{'s' * (found.rows != 1)}."
    yield Hanging(f"Adversary: {found.adversary}.")
    yield ""
    rows = [
        (
            level_name(level.level),
            f"{level.rows:,}",
            f"{100 * level.share_doubled:.3g} %",
            *(f"{value:.4g}" for value in level.quantiles),
            f"{level.maximum:.4g}",
            f"{level.mean_posterior:.4g}",
        )
        for level in (*found.levels, found.total)
    ]
    quantiles = (f"{100 * q:g} %" for q in QUANTILES)
    yield text_table(("level", "rows", "odds doubled", *quantiles, "largest", "mean posterior"), rows)
    yield ""
    total = found.total
    if law is None:
        yield (
            f"In {100 * total.share_doubled:.3g} of 100 rows this adversary's odds that the target is "
            "present (chance present to chance absent) more than double. The percentages above the columns "
            "are shares of rows whose ratio, posterior to prior, is no larger."
        )
        return
    how = {
        "table": "How many others the adversary knows of in a row is taken from the law of counts that the "
        "table itself suggests for each level and noise (empirical Bayes).",
        "flat": "All counts of others that the adversary may know in a row are treated as equally "
        "likely, which understates the risk in sparse tables.",
    }
    yield (
        f"For about {100 * (total.targets_doubled or 0.0):.3g} in 100 of the people counted in the table, "
        "this adversary's odds that they are present (chance present to chance absent) more than double. "
        f"{how[law]} The column “odds doubled” treats every row as if the target were in it; the percentages "
        "above the columns are shares of rows whose average ratio, posterior to prior, is no larger."
    )
