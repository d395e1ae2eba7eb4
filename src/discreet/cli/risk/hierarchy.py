"""`discreet risk hierarchy`: a block and the areas around it, together."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.cli.risk import options as risk_options
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.risk.hierarchy import Area, HierarchyPosterior

app = App(
    name="hierarchy",
    usage="Usage: discreet risk hierarchy --area SPEC... --prior P [OPTIONS]",
    help_epilogue="An area is written as key=value pairs, the smallest area first:\n"
    "  name, noisy, variance or rho, siblings, siblings-noisy, given (its prior), count (if known)\n\n"
    "Examples:\n"
    "  discreet risk hierarchy --area name=block,noisy=2,rho=0.0992,siblings=27,siblings-noisy=-1 "
    "--area name=group,noisy=1,rho=0.2465 --prior 1/2",
)

KEYS = ("name", "noisy", "variance", "rho", "siblings", "siblings-noisy", "given", "count")
_WHOLE = ("noisy", "siblings", "siblings-noisy", "count")
_RENAMED = {"siblings-noisy": "siblings_noisy", "given": "given_smaller"}


@app.default
def hierarchy(
    *,
    area: Annotated[
        list[str] | None, Parameter(help="One area; repeat for the next larger one.", metavar="SPEC")
    ] = None,
    prior: risk_options.Prior = "1/2",
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
    csv: risk_options.Csv = None,
    plot: risk_options.Plot = None,
    json: options.Json = False,
) -> None:
    """Compute the posterior of the target's count and of every area's count."""
    from discreet.risk.hierarchy import hierarchy_posterior

    outputs = risk_options.planned(csv, plot)
    if method == "gibbs-as-published":
        method = "gibbs-unconstrained"
        print("discreet: --method gibbs-as-published is now gibbs-unconstrained", file=sys.stderr)
    if seed is not None and seed < 0:
        raise InputError(f"seed is {seed}; it must be zero or more")
    areas = [read_area(text) for text in area or ()]
    arguments: dict[str, Any] = {"prior": prior, "known": known}
    chosen: dict[str, Any] = {"siblings": siblings, "method": method, "draws": draws, "seed": seed}
    found = hierarchy_posterior(areas, **arguments, **chosen)
    other = None
    if method == "exact" and found.sibling_error > 0:
        other = hierarchy_posterior(
            areas, **arguments, siblings="single" if siblings == "exact" else "exact"
        ).probability
    from discreet.report.risk_plots import hierarchy_figure

    risk_options.write_files(outputs, found.table, lambda: hierarchy_figure(found))
    if json:
        from discreet.cli.printing import write_json

        write_json({**found.as_dict(), "posterior_other_siblings": other})
        return
    _show(found, other)


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


def _show(found: HierarchyPosterior, other: float | None) -> None:
    from discreet.cli.printing import say, table, write

    say(f"The target is counted: {found}.", indent="  ")
    if found.method == "gibbs-unconstrained":
        say(
            "Note: this chain lets the block count more than the group, as the program behind the paper's "
            "tables did. What it tends to is not the posterior of the stated model (method exact).",
            indent="  ",
        )
    write("\n")
    rows = [
        (
            area.name,
            f"{area.mean:.6g}",
            f"{area.standard_deviation:.4g}",
            f"{area.quantile(0.025)} to {area.quantile(0.975)}",
        )
        for area in found.areas
    ]
    table(("area", "mean count", "standard deviation", "95 % of the posterior"), rows)
    if other is not None:
        kinds = ("one discrete Gaussian", "the exact sum")
        there = kinds[0] if found.siblings == "exact" else kinds[1]
        write("\n")
        say(
            f"Siblings' noise as {there} instead: posterior {other:.6g}, "
            f"{abs(other - found.probability):.1e} away; "
            f"the two laws differ by at most {found.sibling_error:.1e}, relatively.",
            indent="  ",
        )
