"""`discreet calibrate`: how little noise keeps a promise, what that saves, and its proof."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from discreet.cli import console
from discreet.cli.account import both_curves
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.errors import InputError
from discreet.numbers import read_delta
from discreet.options import Calibrating

app = console.command(
    "calibrate",
    "TARGET (--epsilon E | --zcdp) --delta D [OPTIONS]",
    "dhc-2020 --zcdp --delta 1e-10 --out less-noise.toml",
    "release.toml --epsilon 4 --delta 1e-8 --by level",
    "dhc-2022-08-25 --moe State=5,Block=40 --delta 1e-10",
)


@app.default
@console.takes(Calibrating)
def calibrate(
    target: console.Plan,
    /,
    *,
    out: Annotated[Path | None, option("Write the new release.", "NEW.toml")] = None,
    plot: Annotated[Path | None, option("Plot the release before and after.", "FILE.svg|png|pdf")] = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Find the least noise that keeps a promise."""
    _check_target(given)
    given["jobs"] = console.jobs_or_cpus(given.get("jobs"))
    given["accuracy"] = console.read_accuracy(given.get("accuracy"))
    given["delta"] = read_delta(given["delta"])
    outputs = Outputs(plot=plot)
    outputs.plan("--out", out, (".toml",), source=target)
    release = console.read_plan(target, "calibrate")
    for name in ("weights", "moe"):
        given[name] = console.read_by_level(given.get(name), f"--{name}", release)

    from discreet.accounting.calibration import calibrate as find
    from discreet.accounting.overall import account
    from discreet.answers.calibration import calibration_answer

    with screen.progress("Calibrating") as progress:
        found = find(release, **given, progress=progress)
        cost = partial(account, neighbours=found.neighbours, jobs=given["jobs"])
        after = cost(found.release).with_workers(given["jobs"], progress)
        outputs.write({"--plot": lambda: both_curves(cost(release), after), "--out": found.release.to_toml})
    screen.tell(calibration_answer(found), timed=True)


def _check_target(given: dict[str, console.Given]) -> None:
    """Refuse a command line that names no target, or two."""
    epsilon, moe = given.get("epsilon"), given.get("moe")
    if epsilon is not None:
        console.read_epsilon(epsilon)
    targets = {"--epsilon": epsilon is not None, "--zcdp": given.get("zcdp"), "--moe": moe is not None}
    named = [name for name, is_given in targets.items() if is_given]
    if len(named) != 1:
        found = " and ".join(named) + " are given" if named else "none is given"
        raise InputError(f"one target is needed: --epsilon E, --zcdp or --moe LEVEL=M,...; {found}")
    if moe is not None and given.get("accuracy") is not None:
        raise InputError("--moe sets each level's noise: there is no search that --accuracy could shorten")
    if moe is not None and (given.get("weights") is not None or given.get("by") == "level"):
        raise InputError("--moe sets each level's noise: it cannot be combined with --weights or --by")
