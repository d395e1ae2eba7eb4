"""`discreet verify`: prove or refute a certificate, or what is claimed of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.accounting.certificate import Certificate
from discreet.accounting.questions import Jobs
from discreet.budget import ALIASES, preset_names
from discreet.cli import console
from discreet.cli.console import PLAIN, Screen, option
from discreet.errors import InputError
from discreet.numbers import read_delta

app = console.command(
    "verify",
    "FILE | discreet verify TARGET... (--epsilon E --delta D | --alpha A --beta B) [OPTIONS]",
    "handed-on/certificates/epsilon-at-delta-1e-10.json",
    "dhc-2020 --alpha 0.05 --beta 0.066",
    "dhc-2022-08-25 --epsilon 20.4 --delta 1e-10",
    note="Exit status: 0 proved, 1 refuted or undecided, 2 the input cannot be used.\n\n",
)


@app.default
@console.takes(Certificate.claim)
def verify(
    *targets: Annotated[
        str, option("A certificate, a claim in TOML or JSON, or beside a claim in options a release.")
    ],
    jobs: Annotated[int | None, console.declared(Jobs)] = None,
    screen: Screen = PLAIN,
    **claimed: console.Given,
) -> None:
    """Prove or refute a number that was handed on, by another method than the one that made it."""
    from discreet.accounting.verification import read_statement
    from discreet.accounting.verification import verify as check
    from discreet.answers.verification import verification_answer

    workers, neighbours = console.jobs_or_cpus(jobs), claimed.get("neighbours")
    given = claimed.keys() & {"epsilon", "delta", "alpha", "beta"}
    if given and given not in ({"epsilon", "delta"}, {"alpha", "beta"}):
        raise InputError(
            "--epsilon and --delta go together: the claim that a release is (E, D)-private; "
            "and so do --alpha and --beta: that a type II error is at least B at a type I error of A"
        )
    if given and not targets:
        raise InputError("verify needs a release: a preset's name or a TOML file")
    if "epsilon" in given:
        console.read_epsilon(claimed["epsilon"])
        read_delta(claimed["delta"])
    if given:
        releases = [console.read_release(target, neighbours) for target in targets]
        stated = Certificate.claim(releases, **claimed)
    elif len(targets) != 1:
        raise InputError(
            "verify needs one certificate or claim, or releases together with --epsilon and --delta, or with "
            "--alpha and --beta"
        )
    elif neighbours is not None or claimed.get("people", 1) != 1:
        raise InputError("a certificate states its own neighbours and people; none can be given beside it")
    elif Path(targets[0]).is_dir() or (
        not Path(targets[0]).exists() and targets[0].strip().lower() in (*preset_names(), *ALIASES)
    ):
        console.read_release(targets[0])  # says what else it is
        raise InputError(
            f"{targets[0]} is a release; say what is claimed of it: --epsilon and --delta, or "
            "--alpha and --beta"
        )
    else:
        stated = read_statement(targets[0])
    with screen.progress("Checking paths") as progress:
        verification = check(stated, jobs=workers, progress=progress)
    screen.tell(verification_answer(verification), timed=True)
    if verification.verdict != "proved":
        raise SystemExit(1)
