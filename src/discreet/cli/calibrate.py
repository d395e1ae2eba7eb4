"""`discreet calibrate`: how little noise keeps a promise, what that saves, and its proof."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from discreet.budget import load
from discreet.cli import console
from discreet.cli.account import both_curves
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.errors import InputError
from discreet.numbers import read_delta

app = console.command(
    "calibrate",
    "TARGET (--epsilon E | --zcdp) --delta D [OPTIONS]",
    "dhc-2020 --zcdp --delta 1e-10 --out less-noise.toml",
    "release.toml --epsilon 4 --delta 1e-8 --by level",
    "dhc-2022-08-25 --moe State=5,Block=40 --delta 1e-10",
)


@app.default
def calibrate(
    target: console.Target,
    /,
    *,
    delta: Annotated[str, option("The delta of the promise, such as 1e-10.", "D")],
    epsilon: Annotated[str | None, option("The epsilon of the promise.", "E")] = None,
    zcdp: Annotated[bool, option("Keep what zCDP promises at this delta.")] = False,
    by: Annotated[
        Literal["overall", "level"],
        option("One factor for all variances, or one for each level.", "overall|level"),
    ] = "overall",
    weights: Annotated[str | None, option("Share the gain unevenly.", "LEVEL=W,...")] = None,
    moe: Annotated[
        str | None, option("Instead of a promise: the 95 % margins of error you want.", "LEVEL=M,...")
    ] = None,
    neighbours: console.Relation = None,
    accuracy: console.Accuracy = None,
    out: Annotated[Path | None, option("Write the new release.", "NEW.toml")] = None,
    certify: Annotated[bool, option("Also prove the exact epsilon of the new release at delta.")] = False,
    plot: Annotated[Path | None, option("Plot the release before and after.", "FILE.svg|png|pdf")] = None,
    jobs: console.Jobs = None,
    screen: Screen = PLAIN,
) -> None:
    """Find the least noise that keeps a promise."""
    workers = console.jobs_or_cpus(jobs)
    enough, small = console.read_accuracy(accuracy), read_delta(delta)
    _check_target(epsilon, zcdp, moe, weights is not None or by == "level", accuracy is not None)
    outputs = Outputs(plot=plot)
    outputs.plan("--out", out, (".toml",), source=target)
    release = load(target)
    shares = console.read_by_level(weights, "--weights", release)
    wanted = console.read_by_level(moe, "--moe", release)

    from discreet.accounting.calibration import calibrate as find
    from discreet.accounting.calibration import reached
    from discreet.accounting.overall import account
    from discreet.answers.calibration import calibration_answer

    search = partial(
        find, release, epsilon=epsilon, zcdp=zcdp, by=by, weights=shares or None, accuracy=enough
    )
    if wanted:
        search = partial(reached, release, wanted)
    relation = neighbours or release.neighbours
    with screen.progress("Calibrating") as progress:
        found = search(delta=small, neighbours=relation, jobs=workers, progress=progress)
        after = account(found.release, neighbours=relation, jobs=workers).with_workers(workers, progress)
        box = after.epsilon(delta=small, certified=True) if certify else None
        before = partial(account, release, neighbours=relation, jobs=workers)
        outputs.write({"--plot": lambda: both_curves(before(), after), "--out": found.release.to_toml})
    screen.tell(calibration_answer(found, certified=box), timed=True)


def _check_target(
    epsilon: str | None, zcdp: bool, moe: str | None, is_shared: bool, has_accuracy: bool
) -> None:
    """Refuse a command line that names no target, or two."""
    if epsilon is not None:
        console.read_epsilon(epsilon)
    targets = {"--epsilon": epsilon is not None, "--zcdp": zcdp, "--moe": moe is not None}
    given = [name for name, is_given in targets.items() if is_given]
    if len(given) != 1:
        found = " and ".join(given) + " are given" if given else "none is given"
        raise InputError(f"one target is needed: --epsilon E, --zcdp or --moe LEVEL=M,...; {found}")
    if moe is not None and has_accuracy:
        raise InputError("--moe sets each level's noise: there is no search that --accuracy could shorten")
    if moe is not None and is_shared:
        raise InputError("--moe sets each level's noise: it cannot be combined with --weights or --by")
