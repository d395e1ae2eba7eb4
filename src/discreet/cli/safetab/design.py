"""`discreet safetab design` and `account`: what settings show and cost, before there is any data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from discreet.answers.quantity import NumberKind
from discreet.answers.release import claim_text
from discreet.answers.release import relation as words_of
from discreet.budget.neighbours import RELATIONS, Neighbours
from discreet.cli import console
from discreet.cli.console import (
    PLAIN,
    Block,
    Hanging,
    Outputs,
    Screen,
    need_tables,
    option,
    text_table,
)
from discreet.cli.safetab import Params
from discreet.errors import InputError
from discreet.numbers import change, number, percent, plain, with_fraction
from discreet.render.json import json_text

if TYPE_CHECKING:
    from discreet.release.mechanism.adaptive import Mechanism
    from discreet.release.mechanism.configuration import Configuration, Place
    from discreet.release.mechanism.groups import Specification
    from discreet.release.mechanism.tabulation import AdaptiveTabulation
    from discreet.release.safetab.account import PassAccount, TabulationAccount
    from discreet.release.safetab.design import Cap, SizedLevel, Sizing
    from discreet.release.safetab.earlier import TotalOnlyGroups

design_app = App(
    name="design",
    usage="Usage: discreet safetab design [2020|PARAMS] [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet safetab design\n"
    "  discreet safetab design --levels USA,STATE,COUNTY:2 --races 3 --error 0.2\n"
    "  discreet safetab design params --margin COUNTY:2=8 --out design.xlsx\n"
    "  discreet safetab design --total-rho 2 --out safetab.toml\n"
    "  discreet safetab design params --earlier t1.csv",
)


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Designing:
    """The options of a design."""

    levels: Annotated[
        str | None,
        option(
            "What to tabulate, such as USA,STATE,COUNTY:2 or detailed. Default: all with a budget.", "PLACES"
        ),
    ] = None
    races: Annotated[int | None, option("How many race codes count, 1 to 8.", "N")] = None
    error: Annotated[str, option("Target error, such as 0.1 (default) or 10%.", "E")] = "0.1"
    of: Annotated[
        Literal["cell", "total"],
        option("Error relative to the average cell (default), or to the whole group.", "cell|total"),
    ] = "cell"
    rho: Annotated[str | None, option("Budgets, such as USA:2=2.134,regional=0.008.", "PLACE=R,...")] = None
    epsilon: Annotated[str | None, option("The same if the privacy is puredp.", "PLACE=E,...")] = None
    margin: Annotated[
        str | None, option("Budgets from 95 % margins of a cell, such as COUNTY:2=11.", "PLACE=M,...")
    ] = None
    total_rho: Annotated[
        str | None, option("One total, shared out over the levels of each pass as their budgets are.", "R")
    ] = None
    total_epsilon: Annotated[
        str | None,
        option("The same by epsilon: at --delta under zCDP, the sum of epsilons under puredp.", "E"),
    ] = None
    gamma: Annotated[str | None, option("The first stage's share of a budget.", "G")] = None
    chance: Annotated[str | None, option("Chance of dropping an empty group; 0: never.", "P")] = None
    derive: Annotated[bool, option("Derive the thresholds from the target error.")] = False
    delta: Annotated[str, option("The delta of the epsilon. Default: 1e-10.", "D")] = "1e-10"
    codes_named: Annotated[
        str | None,
        option(
            "Public shares of people who name 1, 2, ... race codes; tells what --races leaves out.", "S,..."
        ),
    ] = None
    earlier: Annotated[
        Path | None,
        option("An earlier public count like t1: lists groups that could get a total only.", "FILE"),
    ] = None
    out: Annotated[
        Path | None,
        option("Write .xlsx (with live formulas), .csv, .json, or .toml (a safetab.toml).", "FILE"),
    ] = None


DEFAULT = Designing()


@design_app.default
def design(
    spec: Annotated[
        str, option("2020, a folder of config.json or safetab.toml and the groups, or a specification.")
    ] = "2020",
    /,
    *,
    chosen: Designing = DEFAULT,
    screen: Screen = PLAIN,
) -> None:
    """Size a tabulation: margins, the group sizes that each table needs, thresholds, suppression, cost."""
    (small,) = console.read_deltas([chosen.delta])
    outputs, out = Outputs(), chosen.out
    outputs.plan("--out", out, (".xlsx", ".csv", ".json", ".toml"))
    if out is not None and out.exists():
        raise InputError(f"{out} exists; name a new file")

    from discreet.release.safetab import census2020
    from discreet.release.safetab.configuration import read_configuration
    from discreet.release.safetab.design import sizing
    from discreet.release.safetab.specification import read_specification

    if spec == "2020":
        configuration, specification = census2020.configuration_2020(), census2020.specification_2020()
    else:
        configuration, specification = read_configuration(Path(spec)), read_specification(Path(spec))
    if chosen.races is not None and not 1 <= chosen.races <= configuration.most_codes:
        raise InputError(
            f"--races is {chosen.races}; it must be a whole number from 1 to {configuration.most_codes}"
        )
    part = _error(chosen.error)
    configuration = _changed(configuration, specification, chosen, part)
    totals = None
    if chosen.earlier is not None:
        need_tables("design --earlier")
        from discreet.release.safetab.earlier import total_only_groups

        totals = total_only_groups(configuration, specification, chosen.earlier)
    named = None if chosen.codes_named is None else [one.strip() for one in chosen.codes_named.split(",")]
    size = partial(sizing, error=part, of=chosen.of, delta=small, derive=chosen.derive, codes_named=named)
    with screen.progress("Comparing people") as progress:
        found = [
            size(configuration, specification, which, progress=progress) for which in configuration.passes
        ]
    answer: dict[str, object] = {"specification": spec, "passes": [one.as_dict() for one in found]}
    if totals is not None:
        answer["total_only"] = totals.as_dict()
    if out is not None:
        outputs.write({"--out": _content(outputs.kind("--out"), found, specification, answer)})
    written = None if out is None else str(out)
    screen.present(lambda: {**answer, "out": written}, _text(found, totals, written), timed=True)


def _changed(
    configuration: Configuration, specification: Specification, chosen: Designing, error: str
) -> Configuration:
    from discreet.release.mechanism.configuration import BUDGET_WORDS
    from discreet.release.safetab.design import changed

    tabulation = configuration.tabulation
    levels = None if chosen.levels is None else chosen.levels.split(",")
    word = BUDGET_WORDS[configuration.privacy]
    places = {
        name: _by_place(given, f"--{name}", tabulation)
        for name, given in (("rho", chosen.rho), ("epsilon", chosen.epsilon))
    }
    budgets, margins = places[word], _by_place(chosen.margin, "--margin", tabulation)
    if chosen.total_rho is not None and word != "rho":
        raise InputError(
            f"--total-rho is given, but the privacy is {configuration.privacy}: use --total-epsilon"
        )
    if twice := sorted(set(budgets) & set(margins)):
        raise InputError(f"{':'.join(map(str, twice[0]))} has a --{word} and a --margin; give one of them")
    if chosen.total_rho is not None and chosen.total_epsilon is not None:
        raise InputError("--total-rho and --total-epsilon are given; give one of them")
    found = changed(
        configuration,
        specification,
        levels=None if levels is None else [place for one in levels for place in _places(one, tabulation)],
        rhos=places["rho"],
        epsilons=places["epsilon"],
        margins={place: _whole(text) for place, text in margins.items()},
        total=chosen.total_rho,
        total_epsilon=chosen.total_epsilon,
        delta=chosen.delta,
        races=chosen.races,
        gamma=chosen.gamma,
        chance=chosen.chance,
        error=error,
        of=chosen.of,
    )
    if not found.passes:
        raise InputError("nothing is tabulated: no geography and level has a budget")
    return found


def _content(
    kind: str, found: Sequence[Sizing], specification: Specification, answer: Mapping[str, object]
) -> bytes:
    from discreet.release.safetab.configuration import write_toml
    from discreet.report.workbook import csv_bytes, xlsx_bytes

    if kind == "toml":
        return write_toml(found[0].configuration).encode()
    if kind == "json":
        return f"{json_text(answer)}\n".encode()
    return csv_bytes(found) if kind == "csv" else xlsx_bytes(found, specification)


def _error(text: str) -> str:
    from discreet.numbers import positive

    short = text.strip()
    value = positive(short.removesuffix("%").strip(), name="--error") / (100 if short.endswith("%") else 1)
    if not 1 <= value * 10000 <= 100000:
        raise InputError(f"--error is {short}; it must lie between 0.01% and 1000%")
    return str(value)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"a margin is {text!r}; it must be a whole number such as 11")
    return int(text)


def _places(text: str, tabulation: AdaptiveTabulation) -> list[Place]:
    """Read COUNTY:2, COUNTY (all levels), regional (a level) or all."""
    from discreet.budget.toml import hint

    name, colon, level = text.strip().partition(":")
    words = {one.word: number for number, one in tabulation.workloads.items()}
    geographies, levels = tabulation.geographies, tabulation.levels
    if not colon and name in (*words, "all"):
        wanted = levels if name == "all" else (words[name],)
        return [(geography, number) for geography in geographies for number in wanted]
    if name not in geographies:
        raise InputError(
            f"{name!r} is no geography; they are {', '.join(geographies)}{hint(name, geographies)}"
        )
    if not colon:
        return [(name, number) for number in levels]
    if level not in (*map(str, levels), *words):
        choice = " or ".join(f"{number} ({word})" for word, number in words.items())
        raise InputError(f"{text.strip()!r} has no such level; it must be {choice}")
    return [(name, words[level] if level in words else int(level))]


def _by_place(text: str | None, option: str, tabulation: AdaptiveTabulation) -> dict[Place, str]:
    found: dict[Place, str] = {}
    for one in (text or "").split(",") if text is not None else ():
        name, sign, value = one.partition("=")
        if not sign or not value.strip():
            raise InputError(f"{option} has {one.strip()!r}; it must be like COUNTY:2=0.159")
        found.update(dict.fromkeys(_places(name, tabulation), value.strip()))
    return found


def _text(found: Sequence[Sizing], totals: TotalOnlyGroups | None, written: str | None) -> Iterator[Block]:
    for one in found:
        yield from _one_pass(one)
    if totals is not None:
        yield from _total_only(totals, found[0].configuration.tabulation)
    yield from map(Hanging, _remarks(found))
    if written is not None:
        yield f"Written: {written}."


def _one_pass(found: Sizing) -> Iterator[Block]:
    part = "average cell" if found.of == "cell" else "whole group"
    pass_title = found.configuration.tabulation.passes[found.which].title
    title = f"{pass_title}: sizes from which a table has an error of at most "
    yield Hanging(f"{title}{percent(found.error)} of the {part}, 95 % of the time")
    yield ""
    for ladder in found.configuration.tabulation.ladders.values():
        own = [one for one in found.levels if one.mechanism.ladder is ladder]
        if own:
            yield _sizes(found.word, own)
            yield ""
    kind, zcdp = NumberKind.of(found.claim.kind), found.configuration.privacy == "zcdp"
    sums = ("rho", "zCDP epsilon") if zcdp else ("sum of epsilons",)
    yield text_table(
        ("neighbours", sums[0], kind.column("epsilon"), *sums[1:]),
        [
            (
                cost.neighbours,
                _short(cost.budget),
                str(kind.quantity(cost.epsilon)),
                *([number(cost.converted)] if zcdp else []),
            )
            for cost in found.costs
        ],
    )
    if found.cap is not None:
        yield ""
        plan = found.configuration
        yield from _cap(found.cap, plan.tabulation.answers.word, plan.most_codes)
    if found.rivals is not None:
        yield ""
        yield Hanging(_rivals(found))
    yield ""


def _sizes(word: str, levels: Sequence[SizedLevel]) -> Block:
    """The levels of one ladder: their noise, and the sizes from which each table can be shown."""
    words = [rung.word for rung in levels[0].mechanism.ladder.rungs]
    return text_table(
        ("geography", "L", "s", word, "stage 2", "MOE", *words, "thresholds", "T"),
        [
            (
                one.place[0],
                str(one.place[1]),
                str(one.stability),
                _short(one.budget),
                f"{float(one.variance):.4g}",
                str(one.margin),
                *(f"{size:,}" for size in one.sizes),
                " / ".join(map(str, one.thresholds)),
                "-" if one.suppression is None else str(one.suppression),
            )
            for one in levels
        ],
    )


def _short(value: Fraction) -> str:
    """Write a budget; one that was shared out has no short decimal, so it has six digits."""
    text = plain(value)
    return text if len(text) <= 9 else f"{float(value):.6g}"


def _cap(found: Cap, word: str, most: int) -> Iterator[Block]:
    """What a cap on the codes of a question saves and costs."""
    from discreet.release.safetab.design import CAP_SIZES

    yield Hanging(
        f"A cap of {found.races} {word} codes: less noise, but people are missing from their groups"
    )
    yield ""
    sizes = [f"of {size:,}" for size in CAP_SIZES] if found.lost is not None else []
    yield text_table(
        ("geography", "L", f"MOE, {most} codes", "MOE", "harm from", "% within", *sizes),
        [
            (
                one.place[0],
                str(one.place[1]),
                str(one.margin_all),
                str(one.margin),
                str(one.harm),
                f"{100 * one.within:.1f}",
                *(f"{100 * share:.1f}" for share in one.reach or ()),
            )
            for one in found.levels
        ],
    )
    said = (
        "harm from: a count that misses this many people is further from the truth (mean square error) than "
        "it would be without the cap. % within: how often a count is within its MOE of a true count that has "
        "the cap too."
    )
    if found.lost is None or found.cut is None:
        more = "Give --codes-named to see it against people with all their codes."
    else:
        more = (
            f"of 100, 1,000, 10,000: the same against people with all their codes, for combination groups of "
            f"that size that miss {percent(found.lost)} of their people. That share of all codes named is "
            f"beyond the cap; {percent(found.cut)} of the people name more than {found.races}."
        )
    yield Hanging(f"{said} {more}")


MOST_SHOWN = 20
"""Groups that could get a total only that are listed at the screen."""


def _total_only(found: TotalOnlyGroups, tabulation: AdaptiveTabulation) -> Iterator[Block]:
    """Groups that could get a total only, and what it gains."""
    below = tabulation.sides[1]
    tables = " or ".join(ladder.name for ladder in tabulation.ladders.values() if ladder.picks)
    yield Hanging(
        f"Total only: {len(found.groups):,} of {found.judged:,} groups would get no table by {tables} in "
        f"{tabulation.above}, {percent(found.sure)} of the time or more, going by {found.file}"
    )
    yield ""
    if found.groups:
        yield text_table(
            ("group", "L", "kind", "name", "largest", "total only", below, "again"),
            [
                (
                    one.group.code,
                    str(one.group.level),
                    one.group.kind,
                    one.group.name[:40],
                    f"{one.largest:,}",
                    f"{100 * one.chance:.2f} %",
                    f"{one.below:,}",
                    f"{one.kept:,.1f}",
                )
                for one in found.groups[:MOST_SHOWN]
            ],
            (0, 2, 3),
        )
        if len(found.groups) > MOST_SHOWN:
            yield f"... and {len(found.groups) - MOST_SHOWN:,} more; --json lists all."
        yield ""
    gains = "; ".join(
        f"{one.place[0]}:{one.place[1]} variance {one.variance:.4g} to {one.variance_total_only:.4g}, MOE "
        f"{one.margin} to {one.margin_total_only}"
        for one in found.gains
    )
    yield Hanging(
        f"largest: its largest earlier count. {below}: how many earlier counts it has there; again: how "
        "many of them would be published on average. A group marked DETAILED_ONLY is not published there. It "
        f"spends nothing on the first stage, so its totals have less noise: {gains}. The sum of the budgets "
        "stays the same."
    )
    yield Hanging(
        f"{found.file} must be public, or already paid for: which groups you mark tells about it. Groups "
        f"without an earlier count: {found.unknown:,}, not judged."
    )
    yield from (Hanging(f"Note: {note}.") for note in found.notes)
    yield ""


def _rivals(found: Sizing) -> str:
    assert found.rivals is not None
    gaussian, geometric = found.rivals.gaussian_epsilon, found.rivals.geometric_epsilon
    if not (gaussian > 0 and geometric > 0):
        return "At these margins neither kind of noise costs anything that can be told."
    first, second = ("Gaussian", "geometric")[:: 1 if gaussian <= geometric else -1]
    less = 100 * (1 - min(gaussian, geometric) / max(gaussian, geometric))
    return (
        f"Kinds of noise at these margins, one stage and one person added: discrete Gaussian epsilon "
        f"{gaussian:.4g}, geometric {geometric:.4g}. {first[0].upper() + first[1:]} noise costs {less:.1f} % "
        f"less than {second}."
    )


def _remarks(found: Sequence[Sizing]) -> list[str]:
    delta, tabulation = plain(found[0].delta), found[0].configuration.tabulation
    words = dict.fromkeys(rung.word for ladder in tabulation.ladders.values() for rung in ladder.rungs)
    tables = ", ".join(words)
    remarks = [
        "s: groups of one region that a person can be in. stage 2: variance of a published cell. MOE: "
        f"95 % of the time its noise is within this. {tables}: the number of people from which "
        "a group can be shown so. thresholds: the totals from which it is. T: below "
        f"{tabulation.below} a group with a total only is dropped if its noisy count is not above T.",
        f"epsilon at delta {delta}, the worst over groups with one stage or two.",
    ]
    return remarks + [claim_text(said) for said in dict.fromkeys(one.claim for one in found)]


# -- what a run costs -------------------------------------------------------------------------------------

account_app = console.command(
    "safetab account",
    "PARAMS [OPTIONS]",
    "params",
    "params --delta 1e-10 --neighbours unbounded --json",
)


@account_app.default
def account(
    params: Params,
    /,
    *,
    delta: console.Deltas = None,
    neighbours: Annotated[
        Neighbours | None,
        option(
            "bounded: one person is replaced; unbounded: one is added or removed. Default: both.",
            "bounded|unbounded",
        ),
    ] = None,
    screen: Screen = PLAIN,
) -> None:
    """Account for a run before it is made: no data is read."""
    deltas = console.read_deltas(delta or ())

    from discreet.release.safetab.account import DELTAS
    from discreet.release.safetab.account import account as account_for

    relations = RELATIONS if neighbours is None else (neighbours,)
    with screen.progress("Comparing people") as progress:
        answer = account_for(params, deltas=deltas or DELTAS, neighbours=relations, progress=progress)
    screen.present(answer.as_dict, _account_text(answer), timed=True)


def _account_text(answer: TabulationAccount) -> Iterator[Block]:
    tabulation = answer.configuration.tabulation
    for place, one in enumerate(answer.passes):
        if place:
            yield ""
        yield f"{tabulation.passes[one.which].title}: noise and thresholds"
        yield ""
        names = ("stage 1", "stage 2", "total", "MOE", "thresholds", "T")
        columns = ("geography", "L", "s", answer.word, *names)
        yield text_table(columns, [_account_row(part) for part in one.mechanisms])
        yield ""
        yield from _totals(answer, one)
    yield ""
    yield from map(Hanging, _account_remarks(answer))


def _account_row(part: Mechanism) -> tuple[str, ...]:
    from discreet.release.mechanism.tables import margin_of_error, variance_of

    return (
        part.geography,
        str(part.level),
        str(part.stability.value),
        "infinite" if part.budget is None else plain(part.budget),
        *(
            "none" if noise is None else f"{float(variance_of(noise)):.4g}"
            for noise in (part.stage_one, part.stage_two, part.total_only)
        ),
        str(margin_of_error(part.stage_two)),
        " / ".join(map(str, part.thresholds)),
        "-" if part.suppression is None else str(part.suppression),
    )


def _totals(answer: TabulationAccount, one: PassAccount) -> Iterator[Block]:
    if one.total is None:
        names = ", ".join(f"{part.geography} level {part.level}" for part in one.infinite)
        yield Hanging(f"No privacy: the budget is infinite, so exact counts are released, at {names}.")
        return
    zcdp = answer.configuration.privacy == "zcdp"
    for relation in answer.relations:
        total = one.total_for(relation)
        kind = "zCDP rho" if zcdp else "pure epsilon"
        who = words_of(relation)
        if relation == "bounded" and one.replacing != one.which:
            who += f" who may live in {answer.configuration.tabulation.passes[one.replacing].where}"
        if total is None:
            yield f"Neighbours: {who} ({relation}). No privacy: some of their counts have no noise."
        else:
            yield f"Neighbours: {who} ({relation}). {kind} {with_fraction(total)}."
    yield ""
    columns = [
        "neighbours",
        "delta",
        NumberKind.of(one.claim.kind).column("epsilon"),
        "zCDP epsilon" if zcdp else "sum of epsilons",
        "difference",
    ]
    rows = []
    for cost in one.costs:
        row = [cost.neighbours, plain(cost.delta)]
        if cost.epsilon is None:
            row += ["-", number(cost.converted), "-"]
        else:
            gap = cost.epsilon - cost.converted
            row += [str(NumberKind.of(one.claim.kind).quantity(cost.epsilon)), number(cost.converted)]
            row.append(f"{change(gap)} ({percent(gap / cost.converted)})")
        if zcdp:
            row.append("-" if cost.reduction is None else f"{100 * cost.reduction:.3f} %")
        rows.append(row)
    yield text_table([*columns, "variance to spare"][: len(columns) + zcdp], rows, (0, 1))


def _account_remarks(answer: TabulationAccount) -> list[str]:
    tabulation = answer.configuration.tabulation
    *first, last = (f"{number} {one.word}" for number, one in tabulation.workloads.items())
    levels = f"{', '.join(first)} and {last}" if first else last
    tables = ", ".join(rung.title for ladder in tabulation.ladders.values() for rung in ladder.rungs[1:])
    remarks = [
        f"L: level of the groups, {levels}. s: groups of one region that a person can be in. "
        "stage 1, stage 2, total: variance of the count that picks the table, of each published cell, and of "
        "groups that get a total only.",
        "MOE: 95 % margin of error of a published cell. thresholds: the counts from which "
        f"{tables} is shown. T: below {tabulation.below}, a group that got a total only is dropped if its "
        "noisy count is not above T.",
    ]
    if answer.configuration.privacy == "zcdp" and any(one.costs for one in answer.passes):
        remarks.append(
            "variance to spare: how much smaller all variances could be while the exact epsilon keeps zCDP's "
            "promise at this delta."
        )
    for said in dict.fromkeys(one.claim for one in answer.passes if one.costs):
        remarks.append(str(said))
    if len(answer.passes) == 2:
        remarks.append(
            "The two passes count different people, so each person is in only one. If a person is replaced "
            "by one of the other pass, both change."
        )
    if any(cost.epsilon is None for one in answer.passes for cost in one.costs):
        remarks.append("epsilon -: the budgets are too large for it to be computed, or to matter.")
    stable = (part.stability for one in answer.passes for part in one.mechanisms)
    whys = {one.why for one in stable if not one.plain}
    remarks += [f"Stability: {why}." for why in sorted(whys)]
    return remarks + [f"Note: {note}." for note in answer.notes]
