"""`discreet risk audit`: run a mechanism on neighbouring tables; does anything contradict its promise?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.audit.runs import audit_mechanism, audit_release
from discreet.audit.tabulation import audit_tabulation
from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.errors import InputError

_TABULATION = ("neighbour", "runs", "written", "seed", "false_alarm")
"""The options that an audit of `safetab run` has of those of any audit."""

app = console.command(
    "risk audit",
    "[RELEASE|PARAMS] (--counts FILE | --data DIR) [--neighbour FILE] [OPTIONS]",
    "release.toml --counts counts.csv --units units.csv",
    'release.toml --counts counts.csv --runs 500 --mechanism "python mine.py {in} {out}"',
    '--counts people.csv --neighbour fewer.csv --epsilon 1 --delta 0 --mechanism "./mine {in} {out}"',
    "params --data records --runs 300",
    tries=(
        console.SURVEY,
        console.TABULATE,
        "risk audit survey --counts counts/counts.csv --units survey/units.csv --runs 100",
    ),
    note="Exit status: 0 no alarm, 1 alarm, 2 the input cannot be used.\n\n",
)


@app.default
@console.takes(audit_release, audit_mechanism, audit_tabulation)
def audit(
    target: Annotated[
        str | None,
        option(
            "A TOML file or a preset's name; with --data the parameters of safetab run; none if only "
            "--epsilon and --delta are promised."
        ),
    ] = None,
    /,
    *,
    csv: console.Csv = None,
    plot: console.Plot = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Run a mechanism many times on a table and on a neighbour, and compare with what is promised."""
    outputs = Outputs(csv=csv, plot=plot)
    console.need_tables("risk audit")
    from discreet.audit.answer import audit_answer
    from discreet.render.csv import csv_of

    counts, data, mechanism = given.pop("counts", None), given.pop("data", None), given.get("mechanism")
    epsilon, delta, totals = given.pop("epsilon", None), given.pop("delta", None), given.pop("totals", None)
    neighbour = given.get("neighbour")
    if (counts is None) == (data is None):
        both = "neither is" if counts is None else "both are"
        raise InputError(f"give --counts FILE, or --data DIR to audit safetab run; {both} given")
    if data is not None:
        if target is None or mechanism is not None or epsilon is not None or "units" in given:
            raise InputError(
                "--data is about safetab run: name its parameters, and leave --mechanism, --epsilon and "
                "--units out"
            )
        asked = {name: given[name] for name in _TABULATION if name in given}
        with screen.working("Running"):
            found = audit_tabulation(Path(target), data, totals=totals, **asked)
    elif target is not None:
        assert counts is not None
        if epsilon is not None or delta is not None:
            raise InputError("give a release, or --epsilon and --delta of another mechanism; not both")
        release = console.read_release(target)
        with screen.working("Running"):
            found = audit_release(release, counts, **given)
    elif epsilon is None or delta is None or mechanism is None or neighbour is None:
        raise InputError("without a release, --epsilon, --delta, --mechanism and --neighbour are all needed")
    elif "units" in given or "cells" in given:
        raise InputError("--units and --cells are about the counts of a release; name the release first")
    else:
        asked = {name: given[name] for name in ("runs", "false_alarm") if name in given}
        with screen.working("Running"):
            found = audit_mechanism(mechanism, counts, neighbour, epsilon=epsilon, delta=delta, **asked)
    answer = audit_answer(found)
    outputs.write({"--csv": csv_of(answer.tables["looks"]), "--plot": answer.figures["points"]})
    screen.tell(answer, timed=True)
    if found.alarms:
        raise SystemExit(1)
