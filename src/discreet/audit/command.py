"""`discreet risk audit`: run a mechanism on neighbouring tables; does anything contradict its promise?"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Annotated

from discreet.audit.looks import Audit
from discreet.audit.mechanisms import offered_mechanisms
from discreet.audit.runs import audit_mechanism, audit_release
from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.errors import InputError


def _one_of(options: list[str]) -> str:
    return options[0] if len(options) == 1 else f"({' | '.join(options)})"


_OTHERS = offered_mechanisms()

app = console.command(
    "risk audit",
    f"[{'|'.join(['RELEASE', *(mechanism.target for mechanism in _OTHERS)])}] "
    f"{_one_of(['--counts FILE', *(mechanism.usage for mechanism in _OTHERS)])} [--neighbour FILE] [OPTIONS]",
    "release.toml --counts counts.csv --units units.csv",
    'release.toml --counts counts.csv --runs 500 --mechanism "python mine.py {in} {out}"',
    '--counts people.csv --neighbour fewer.csv --epsilon 1 --delta 0 --mechanism "./mine {in} {out}"',
    *(mechanism.example for mechanism in _OTHERS),
    tries=(
        console.SURVEY,
        console.TABULATE,
        "risk audit survey --counts counts/counts.csv --units survey/units.csv --runs 100",
    ),
    note="Exit status: 0 no alarm, 1 alarm, 2 the input cannot be used.\n\n",
)
_TARGET = "".join(
    [
        "A TOML file or a preset's name; ",
        *(f"with --{mechanism.option} {mechanism.target_words}; " for mechanism in _OTHERS),
        "none if only --epsilon and --delta are promised.",
    ]
)


@app.default
@console.takes(audit_release, audit_mechanism, *(mechanism.audit for mechanism in _OTHERS))
def audit(
    target: Annotated[str | None, option(_TARGET)] = None,
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

    counts, mechanism, neighbour = given.pop("counts", None), given.get("mechanism"), given.get("neighbour")
    epsilon, delta = given.pop("epsilon", None), given.pop("delta", None)
    others = [(kind, _asked_of(kind.audit, given)) for kind in _OTHERS if kind.option in given]
    if (counts is not None) + len(others) != 1:
        ways = ["--counts FILE", *(f"{kind.usage} to audit {kind.name}" for kind in _OTHERS)]
        said = "both are" if others else "neither is"
        raise InputError(f"give {', or '.join(ways)}" + (f"; {said} given" if _OTHERS else ""))
    if others:
        ((other, asked),) = others
        if target is None or mechanism is not None or epsilon is not None or "units" in given:
            raise InputError(
                f"--{other.option} is about {other.name}: name its parameters, and leave --mechanism, "
                "--epsilon and --units out"
            )
        with screen.working("Running"):
            audited = other.audit(Path(target), **asked)
    elif target is not None:
        assert counts is not None
        if epsilon is not None or delta is not None:
            raise InputError("give a release, or --epsilon and --delta of another mechanism; not both")
        release = console.read_release(target)
        with screen.working("Running"):
            audited = audit_release(release, counts, **_asked_of(audit_release, given))
    elif epsilon is None or delta is None or mechanism is None or neighbour is None:
        raise InputError("without a release, --epsilon, --delta, --mechanism and --neighbour are all needed")
    elif "units" in given or "cells" in given:
        raise InputError("--units and --cells are about the counts of a release; name the release first")
    else:
        asked = {name: given[name] for name in ("runs", "false_alarm") if name in given}
        with screen.working("Running"):
            audited = audit_mechanism(mechanism, counts, neighbour, epsilon=epsilon, delta=delta, **asked)
    answer = audit_answer(audited)
    outputs.write({"--csv": csv_of(answer.tables["looks"]), "--plot": answer.figures["points"]})
    screen.tell(answer, timed=True)
    if audited.alarms:
        raise SystemExit(1)


def _asked_of(audit: Callable[..., Audit], given: dict[str, console.Given]) -> dict[str, console.Given]:
    """Return what an audit takes of the options that are given."""
    return {name: given[name] for name in signature(audit).parameters if name in given}
