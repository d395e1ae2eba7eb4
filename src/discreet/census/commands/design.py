"""`discreet safetab design` and `account`: what settings show and cost, before there is any data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from discreet.budget.neighbours import RELATIONS, Neighbours
from discreet.census.commands import NATION, Params
from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, need_tables, option
from discreet.errors import InputError
from discreet.render.json import json_of

if TYPE_CHECKING:
    from discreet.answers import Answer
    from discreet.release.mechanism.configuration import Configuration, Place
    from discreet.release.mechanism.groups import Specification
    from discreet.release.mechanism.tabulation import AdaptiveTabulation
    from discreet.release.safetab.design import Sizing

design_app = console.command(
    "safetab design",
    "[2020|2020-h|PARAMS] [OPTIONS]",
    "--levels USA,STATE,COUNTY:2 --races 3 --error 0.2",
    "params --margin COUNTY:2=8 --out design.xlsx",
    "params --earlier t1.csv",
    "--total-rho 2 --out safetab.toml",
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
        str,
        option("2020, 2020-h, a folder of config.json or safetab.toml and the groups, or a specification."),
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

    from discreet.answers.tabulation_design import design_answer, design_written
    from discreet.release.safetab import census2020
    from discreet.release.safetab.configuration import read_configuration
    from discreet.release.safetab.design import sizing
    from discreet.release.safetab.specification import read_specification

    if spec in census2020.SETTINGS:
        households = spec == "2020-h"
        configuration = census2020.configuration_2020(households=households)
        specification = census2020.specification_2020(households=households)
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
    answer = design_answer(found, specification=spec, totals=totals)
    if out is not None:
        outputs.write({"--out": _content(outputs.kind("--out"), found, specification, answer)})
    screen.tell(design_written(answer, out), timed=True)


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
        total_rho=chosen.total_rho,
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


def _content(kind: str, found: Sequence[Sizing], specification: Specification, answer: Answer) -> bytes:
    from discreet.release.safetab.configuration import write_toml
    from discreet.report.workbook import csv_bytes, xlsx_bytes

    if kind == "toml":
        return write_toml(found[0].configuration).encode()
    if kind == "json":
        return f"{json_of(answer)}\n".encode()
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


# -- what a run costs -------------------------------------------------------------------------------------

account_app = console.command(
    "safetab account",
    "PARAMS [OPTIONS]",
    "params",
    tries=(NATION, "safetab account nation/params --delta 1e-10 --neighbours unbounded"),
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
            "bounded: one person (household) is replaced; unbounded: one is added or removed. Default: both.",
            "bounded|unbounded",
        ),
    ] = None,
    screen: Screen = PLAIN,
) -> None:
    """Account for a run before it is made: no data is read."""
    deltas = console.read_deltas(delta or ())

    from discreet.answers.tabulation_account import tabulation_account_answer
    from discreet.release.safetab.account import DELTAS
    from discreet.release.safetab.account import account as account_for

    relations = RELATIONS if neighbours is None else (neighbours,)
    with screen.progress("Comparing people") as progress:
        found = account_for(params, deltas=deltas or DELTAS, neighbours=relations, progress=progress)
    screen.tell(tabulation_account_answer(found), timed=True)
