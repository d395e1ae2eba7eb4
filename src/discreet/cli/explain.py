"""`discreet explain`: how risky a release is for one person, or what a promise (epsilon, delta) means."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cli import console
from discreet.cli.console import Screen, option
from discreet.cli.risk.release import explained, page_outputs, tell_page
from discreet.disclosure.promise import promised_risk
from discreet.disclosure.questions import DEFAULT_PRIOR
from discreet.errors import InputError

app = console.command(
    "explain",
    "TARGET [--prior P] [OPTIONS], or --epsilon E --delta D [OPTIONS]",
    "--epsilon 1 --delta 0 --out page.md --plot people.svg",
    "pl94-2020-units",
    "--epsilon 4 --delta 1e-6 --prior 1/100",
)

_OF_A_RELEASE = {"prior", "neighbours"}


@app.default
@console.takes(promised_risk, optional=("epsilon", "delta"))
def explain_release_or_promise(
    target: Annotated[str | None, option("The release, instead of a promise: as `discreet account`.")] = None,
    /,
    *,
    out: Annotated[Path | None, option("Write the page.", "FILE.md|txt")] = None,
    plot: console.Plot = None,
    json: console.Json = False,
    **given: console.Given,
) -> None:
    """Say how risky a release is for one person, or any that keeps a promise; the answer first.

    Of a release it prints what `discreet risk explain` does.
    """
    screen = Screen(json=json)
    outputs = page_outputs(out, screen, plot)
    if target is not None:
        _refuse_beside_a_release({*given, *({"plot"} if plot is not None else ())})
        answer = explained(target, screen=screen, **{"prior": DEFAULT_PRIOR, **given})
        tell_page(answer, out, outputs, screen)
        return
    if missing := [f"--{name}" for name in ("epsilon", "delta") if name not in given]:
        raise InputError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing: give a release, such "
            "as pl94-2020-units, or a promise, such as --epsilon 4 --delta 1e-6"
        )
    from discreet.answers.promise import promise_answer

    answer = promise_answer(promised_risk(**given))
    tell_page(answer, out, outputs, screen)


def _refuse_beside_a_release(given: set[str]) -> None:
    """Raise if something was given that only a promise takes."""
    if extra := sorted(given - _OF_A_RELEASE):
        options = ", ".join(f"--{name.replace('_', '-')}" for name in extra)
        raise InputError(
            f"{options} {'is' if len(extra) == 1 else 'are'} of a promise, which --epsilon and --delta "
            "state; of a release --prior, --neighbours, --out and --json have a meaning here, and `discreet "
            "risk explain` has more options"
        )
