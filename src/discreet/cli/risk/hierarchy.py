"""`discreet risk hierarchy`: a block and the areas around it, together."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from discreet.cli import console
from discreet.cli.console import Outputs, Screen
from discreet.disclosure.hierarchy import hierarchy_posterior
from discreet.errors import InputError
from discreet.numbers import fraction

if TYPE_CHECKING:
    from discreet.disclosure.areas import Area

_KEYS = ("name", "noisy", "variance", "rho", "siblings", "siblings-noisy", "given", "count")


app = console.command(
    "risk hierarchy",
    "--area SPEC... --prior P [OPTIONS]",
    "--area name=block,noisy=2,rho=0.0992,siblings=27,siblings-noisy=-1 "
    "--area name=group,noisy=1,rho=0.2465 --prior 1/2",
    note="An area is written as key=value pairs, the smallest area first:\n"
    "  name, noisy, variance or rho, siblings, siblings-noisy,\n  given (its prior), count (if known)\n\n",
)


@app.default
@console.takes(hierarchy_posterior)
def hierarchy(
    *,
    csv: console.Csv = None,
    plot: console.Plot = None,
    json: console.Json = False,
    **given: console.Given,
) -> None:
    """Compute the posterior of the target's count and of every area's count."""
    from discreet.answers.risk_hierarchy import counts_table, hierarchy_answer
    from discreet.render.csv import csv_of

    outputs = Outputs(csv=csv, plot=plot)
    # words are checked there
    method, siblings = (given.pop(name, "exact").lower() for name in ("method", "siblings"))
    if "seed" in given and given["seed"] < 0:
        raise InputError(f"seed is {given['seed']}; it must be zero or more")
    areas = [_read_area(text) for text in given.pop("areas", ())]
    sampled = {name: given.pop(name) for name in ("draws", "seed") if name in given}
    ask = partial(hierarchy_posterior, areas, prior=given.pop("prior", "1/2"), **given)
    posterior = ask(siblings=siblings, method=method, **sampled)
    other = None
    if method == "exact" and posterior.sibling_error > 0:
        other = ask(siblings="single" if siblings == "exact" else "exact").probability
    answer = hierarchy_answer(posterior, other=other)
    outputs.write({"--csv": lambda: csv_of(counts_table(posterior)), "--plot": answer.figures["areas"]})
    Screen(json=json, quiet=True).tell(answer)


def _read_area(text: str) -> Area:
    """Return an area from its key=value pairs; a comma inside a table belongs to the table.

    >>> _read_area("name=block,noisy=2,variance=5,given=table:0.5,0.5").noisy
    2
    >>> _read_area("noise=2")
    Traceback (most recent call last):
    discreet.errors.InputError: an area has no 'noise'; it has name, noisy, variance, rho, siblings, \
siblings-noisy, given, count
    """
    from discreet.disclosure.areas import Area

    values: dict[str, str] = {}
    for piece in re.split(",(?=[^,=]*=)", text):
        key, sign, value = (part.strip() for part in piece.partition("="))
        key = key.lower().replace("_", "-")
        if not sign:
            raise InputError(f"--area is {text!r}; it must look like name=block,noisy=2,rho=0.0992")
        if key not in _KEYS:
            raise InputError(f"an area has no {key!r}; it has {', '.join(_KEYS)}")
        if key in values:
            raise InputError(f"--area is {text!r}; it states {key} twice")
        values[key] = value

    def whole(key: str) -> int | None:
        if key not in values:
            return None
        value = fraction(values[key], name=f"{key} of an area")
        if value.denominator != 1:
            raise InputError(f"{key} of an area is {values[key]}; a whole number is needed")
        return int(value)

    return Area(
        name=values.get("name", ""),
        noisy=whole("noisy"),
        variance=values.get("variance"),
        rho=values.get("rho"),
        siblings=whole("siblings") or 0,
        siblings_noisy=whole("siblings-noisy"),
        given_smaller=values.get("given"),
        count=whole("count"),
    )
