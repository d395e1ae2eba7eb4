"""`discreet risk hierarchy`: a block and the areas around it, together."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.cli.printing import Block, Hanging, Outputs, Screen, TextTable
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.risk.hierarchy import Area, HierarchyPosterior, Method

app = App(
    name="hierarchy",
    usage="Usage: discreet risk hierarchy --area SPEC... --prior P [OPTIONS]",
    help_epilogue="An area is written as key=value pairs, the smallest area first:\n"
    "  name, noisy, variance or rho, siblings, siblings-noisy, given (its prior), count (if known)\n\n"
    "Examples:\n"
    "  discreet risk hierarchy --area name=block,noisy=2,rho=0.0992,siblings=27,siblings-noisy=-1 "
    "--area name=group,noisy=1,rho=0.2465 --prior 1/2",
)

Siblings = Literal["exact", "single"]
KEYS = ("name", "noisy", "variance", "rho", "siblings", "siblings-noisy", "given", "count")
_WHOLE = ("noisy", "siblings", "siblings-noisy", "count")
_RENAMED = {"siblings-noisy": "siblings_noisy", "given": "given_smaller"}


@app.default
def hierarchy(
    *,
    area: Annotated[
        list[str] | None, Parameter(help="One area; repeat for the next larger one.", metavar="SPEC")
    ] = None,
    prior: options.Prior = "1/2",
    known: Annotated[
        int, Parameter(help="How many others in the block the adversary knows of.", metavar="K")
    ] = 0,
    siblings: Annotated[
        str,
        Parameter(
            help="Noise of the siblings' sum: exact, or single as in the paper.", metavar="exact|single"
        ),
    ] = "exact",
    method: Annotated[
        str,
        Parameter(
            help="exact; gibbs: a sampler of the same posterior; gibbs-unconstrained: without the condition "
            "that the block counts no more than the group, as in the paper's tables.",
            metavar="exact|gibbs|gibbs-unconstrained",
        ),
    ] = "exact",
    draws: Annotated[int, Parameter(help="Draws of a sampler.", metavar="N")] = 100_000,
    seed: Annotated[int | None, Parameter(help="Seed of a sampler.", metavar="N")] = None,
    csv: options.Csv = None,
    plot: options.Plot = None,
    json: options.Json = False,
) -> None:
    """Compute the posterior of the target's count and of every area's count."""
    from discreet.risk.hierarchy import hierarchy_posterior

    outputs = Outputs(csv=csv, plot=plot)
    if method == "gibbs-as-published":
        method = "gibbs-unconstrained"
        print("discreet: --method gibbs-as-published is now gibbs-unconstrained", file=sys.stderr)
    if seed is not None and seed < 0:
        raise InputError(f"seed is {seed}; it must be zero or more")
    areas = [read_area(text) for text in area or ()]
    found = hierarchy_posterior(
        areas,
        prior=prior,
        known=known,
        siblings=cast("Siblings", siblings),  # words are checked there
        method=cast("Method", method),
        draws=draws,
        seed=seed,
    )
    other = None
    if method == "exact" and found.sibling_error > 0:
        otherwise: Siblings = "single" if siblings == "exact" else "exact"
        other = hierarchy_posterior(areas, prior=prior, known=known, siblings=otherwise).probability
    from discreet.report.figures import hierarchy_figure

    outputs.write_table_and_figure(found.table, lambda: hierarchy_figure(found))
    Screen(json=json, quiet=True).present(
        lambda: {**found.as_dict(), "posterior_other_siblings": other}, _text(found, other)
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

    found: dict[str, Any] = {}
    last = ""
    for piece in text.split(","):
        key, sign, value = (part.strip() for part in piece.partition("="))
        if not sign:
            if not last:
                raise InputError(f"--area is {text!r}; it must look like name=block,noisy=2,rho=0.0992")
            found[last] += f",{piece}"
            continue
        if key not in KEYS:
            raise InputError(f"an area has no {key!r}; it has {', '.join(KEYS)}")
        if key in found:
            raise InputError(f"--area is {text!r}; it states {key} twice")
        found[key], last = value, key
    for key in _WHOLE:
        if key in found:
            try:
                found[key] = int(found[key])
            except ValueError:
                raise InputError(f"{key} of an area is {found[key]!r}; a whole number is needed") from None
    return Area(**{_RENAMED.get(key, key): value for key, value in found.items()})


def _text(found: HierarchyPosterior, other: float | None) -> Iterator[Block]:
    yield Hanging(f"The target is counted: {found}.")
    if found.method == "gibbs-unconstrained":
        yield Hanging(
            "Note: this chain lets the block count more than the group, as the program behind the paper's "
            "tables did. What it tends to is not the posterior of the stated model (method exact)."
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
    yield TextTable(("area", "mean count", "standard deviation", "95 % of the posterior"), rows)
    if other is not None:
        there = "one discrete Gaussian" if found.siblings == "exact" else "the exact sum"
        yield ""
        yield Hanging(
            f"Siblings' noise as {there} instead: posterior {other:.6g}, "
            f"{abs(other - found.probability):.1e} away; "
            f"the two laws differ by at most {found.sibling_error:.1e}, relatively."
        )
