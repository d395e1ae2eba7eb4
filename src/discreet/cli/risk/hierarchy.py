"""`discreet risk hierarchy`: a block and the areas around it, together."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, cast

from discreet.cli import console
from discreet.cli.console import Outputs, Screen, option
from discreet.errors import InputError
from discreet.numbers import fraction

if TYPE_CHECKING:
    from discreet.risk.areas import Area
    from discreet.risk.hierarchy import Method

Siblings = Literal["exact", "single"]
KEYS = ("name", "noisy", "variance", "rho", "siblings", "siblings-noisy", "given", "count")


app = console.command(
    "risk hierarchy",
    "--area SPEC... --prior P [OPTIONS]",
    "--area name=block,noisy=2,rho=0.0992,siblings=27,siblings-noisy=-1 "
    "--area name=group,noisy=1,rho=0.2465 --prior 1/2",
    note="An area is written as key=value pairs, the smallest area first:\n"
    "  name, noisy, variance or rho, siblings, siblings-noisy, given (its prior), count (if known)\n\n",
)


@app.default
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
    from discreet.answers.risk_hierarchy import counts_table, hierarchy_answer
    from discreet.render.csv import csv_of
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
    answer = hierarchy_answer(found, other=other)
    outputs.write({"--csv": lambda: csv_of(counts_table(found)), "--plot": answer.figures["areas"]})
    Screen(json=json, quiet=True).tell(answer)


def read_area(text: str) -> Area:
    """Return an area from its key=value pairs; a comma inside a table belongs to the table.

    >>> read_area("name=block,noisy=2,variance=5,given=table:0.5,0.5").noisy
    2
    >>> read_area("noise=2")
    Traceback (most recent call last):
    discreet.errors.InputError: an area has no 'noise'; it has name, noisy, variance, rho, siblings, \
siblings-noisy, given, count
    """
    from discreet.risk.areas import Area

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
        given_smaller=found.get("given"),
        count=whole("count"),
    )
