"""`discreet safetab design` and `account`: what settings show and cost, before there is any data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.census.commands import NATION, Params
from discreet.census.mechanism.configuration import BUDGET_WORDS
from discreet.census.safetab import census2020
from discreet.census.safetab.account import account as account_for
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.design import changed, sizing
from discreet.census.safetab.earlier import total_only_groups
from discreet.census.safetab.specification import read_specification
from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, need_tables, option
from discreet.errors import InputError
from discreet.render.json import json_of

if TYPE_CHECKING:
    from discreet.answers import Answer
    from discreet.census.mechanism.configuration import Configuration, Place
    from discreet.census.mechanism.groups import Specification
    from discreet.census.mechanism.tabulation import AdaptiveTabulation
    from discreet.census.safetab.design import Sizing

design_app = console.command(
    "safetab design",
    "[2020|2020-h|PARAMS] [OPTIONS]",
    "--levels USA,STATE,COUNTY:2 --races 3 --error 0.2",
    "params --margin COUNTY:2=8 --out design.xlsx",
    "params --earlier t1.csv",
    "--total-rho 2 --out safetab.toml",
)


@design_app.default
@console.takes(changed, sizing, total_only_groups)
def design(
    spec: Annotated[
        str,
        option("2020, 2020-h, a folder of config.json or safetab.toml and the groups, or a specification."),
    ] = "2020",
    /,
    *,
    out: Annotated[
        Path | None,
        option("Write .xlsx (with live formulas), .csv, .json, or .toml (a safetab.toml).", "FILE"),
    ] = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Size a tabulation: margins, the group sizes that each table needs, thresholds, suppression, cost."""
    (small,) = console.read_deltas([given.get("delta", "1e-10")])
    outputs = Outputs()
    outputs.plan("--out", out, (".xlsx", ".csv", ".json", ".toml"))
    if out is not None and out.exists():
        raise InputError(f"{out} exists; name a new file")

    from discreet.census.answers.design import design_answer, design_written

    if spec in census2020.SETTINGS:
        households = spec == "2020-h"
        configuration = census2020.configuration_2020(households=households)
        specification = census2020.specification_2020(households=households)
    else:
        configuration, specification = read_configuration(Path(spec)), read_specification(Path(spec))
    races = given.get("races")
    if races is not None and not 1 <= races <= configuration.most_codes:
        raise InputError(
            f"--races is {races}; it must be a whole number from 1 to {configuration.most_codes}"
        )
    given["error"] = _error(given.get("error", "0.1"))
    earlier, codes = given.pop("earlier", None), given.pop("codes_named", None)
    sized: dict[str, console.Given] = {"derive": given.pop("derive", False), "delta": small}
    sized |= {name: given[name] for name in ("error", "of") if name in given}
    configuration = _changed(configuration, specification, given)
    totals = None
    if earlier is not None:
        need_tables("design --earlier")
        totals = total_only_groups(configuration, specification, earlier)
    named = None if codes is None else [code.strip() for code in codes.split(",")]
    with screen.progress("Comparing people") as progress:
        sizings = [
            sizing(configuration, specification, which, **sized, codes_named=named, progress=progress)
            for which in configuration.passes
        ]
    answer = design_answer(sizings, specification=spec, totals=totals)
    if out is not None:
        outputs.write({"--out": _content(outputs.kind("--out"), sizings, specification, answer)})
    screen.tell(design_written(answer, out), timed=True)


def _changed(
    configuration: Configuration, specification: Specification, given: dict[str, console.Given]
) -> Configuration:
    """Return the configuration as the options change it."""
    tabulation, word = configuration.tabulation, BUDGET_WORDS[configuration.privacy]
    levels = given.pop("levels", None)
    places = {
        name: _by_place(given.pop(f"{name}s", None), f"--{name}", tabulation) for name in ("rho", "epsilon")
    }
    margins = _by_place(given.pop("margins", None), "--margin", tabulation)
    if "total_rho" in given and word != "rho":
        raise InputError(
            f"--total-rho is given, but the privacy is {configuration.privacy}: use --total-epsilon"
        )
    if twice := sorted(set(places[word]) & set(margins)):
        raise InputError(f"{':'.join(map(str, twice[0]))} has a --{word} and a --margin; give one of them")
    if "total_rho" in given and "total_epsilon" in given:
        raise InputError("--total-rho and --total-epsilon are given; give one of them")
    wanted = None
    if levels is not None:
        wanted = [place for level in levels.split(",") for place in _places(level, tabulation)]
    changed_configuration = changed(
        configuration,
        specification,
        levels=wanted,
        rhos=places["rho"],
        epsilons=places["epsilon"],
        margins={place: _whole(text) for place, text in margins.items()},
        **given,
    )
    if not changed_configuration.passes:
        raise InputError("nothing is tabulated: no geography and level has a budget")
    return changed_configuration


def _content(kind: str, sizings: Sequence[Sizing], specification: Specification, answer: Answer) -> bytes:
    from discreet.census.reports.workbook import csv_bytes, xlsx_bytes
    from discreet.census.safetab.configuration import write_toml

    if kind == "toml":
        return write_toml(sizings[0].configuration).encode()
    if kind == "json":
        return f"{json_of(answer)}\n".encode()
    return csv_bytes(sizings) if kind == "csv" else xlsx_bytes(sizings, specification)


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
    words = {workload.word: number for number, workload in tabulation.workloads.items()}
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
    by_place: dict[Place, str] = {}
    for assignment in (text or "").split(",") if text is not None else ():
        name, sign, value = assignment.partition("=")
        if not sign or not value.strip():
            raise InputError(f"{option} has {assignment.strip()!r}; it must be like COUNTY:2=0.159")
        by_place.update(dict.fromkeys(_places(name, tabulation), value.strip()))
    return by_place


# -- what a run costs -------------------------------------------------------------------------------------

account_app = console.command(
    "safetab account",
    "PARAMS [OPTIONS]",
    "params",
    tries=(NATION, "safetab account nation/params --delta 1e-10 --neighbours unbounded"),
)


@account_app.default
@console.takes(account_for)
def account(params: Params, /, *, screen: Screen = PLAIN, **given: console.Given) -> None:
    """Account for a run before it is made: no data is read."""
    if "deltas" in given:
        given["deltas"] = console.read_deltas(given["deltas"])
    if "neighbours" in given:
        given["neighbours"] = (given["neighbours"],)

    from discreet.census.answers.account import tabulation_account_answer

    with screen.progress("Comparing people") as progress:
        tabulation_account = account_for(params, **given, progress=progress)
    screen.tell(tabulation_account_answer(tabulation_account), timed=True)
