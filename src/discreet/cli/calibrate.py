"""`discreet calibrate`: how little noise keeps a promise, what that saves, and its proof."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.accounting.questions import Calibrating
from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, option
from discreet.disclosure.questions import Limits
from discreet.errors import InputError
from discreet.numbers import read_delta

if TYPE_CHECKING:
    from discreet.disclosure.limits import RiskCalibration

_NOT_WITH_RISK = ("accuracy", "certify", "law", "objective")

app = console.command(
    "calibrate",
    "TARGET (--epsilon E | --zcdp | --risk LIMIT...) --delta D [OPTIONS]",
    "dhc-2020 --zcdp --delta 1e-10 --out less-noise.toml",
    "release.toml --epsilon 4 --delta 1e-8 --by level",
    "dhc-2022-08-25 --risk predictive=20%,prior=1/100,false-positive-rate=1e-3 --delta 1e-10",
    "dhc-2022-08-25 --epsilon 4 --delta 1e-10 --law best --for margin",
    "dhc-2022-08-25 --moe State=5,Block=40 --delta 1e-10",
    note="A limit on risk is one of these; --risk may be repeated, to keep several:\n"
    "  right=60%,prior=1/2\n"
    "  predictive=20%,prior=1/100,false-positive-rate=1e-3\n"
    "  guess=1/2016,most=5%\n"
    "  belief=70%,prior=1/10,chance=1/20\n\n",
)


@app.default
@console.takes(Calibrating)
def calibrate(
    target: console.Plan,
    /,
    *,
    risk: Annotated[list[str] | None, console.declared(Limits)] = None,
    out: Annotated[Path | None, option("Write the new release.", "NEW.toml")] = None,
    plot: Annotated[Path | None, option("Plot the release before and after.", "FILE.svg|png|pdf")] = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Find the least noise that keeps a promise."""
    _check_target(given, risk)
    given["jobs"] = console.jobs_or_cpus(given.get("jobs"))
    given["accuracy"] = console.read_accuracy(given.get("accuracy"))
    given["delta"] = read_delta(given["delta"], zero=True)
    outputs = Outputs(plot=plot)
    outputs.plan("--out", out, (".toml",), source=target)
    release = console.read_plan(target, "calibrate")
    for name in ("weights", "moe"):
        given[name] = console.read_by_level(given.get(name), f"--{name}", release)

    from discreet.accounting.account import account
    from discreet.accounting.calibration import Calibration
    from discreet.answers.calibration import calibration_answer
    from discreet.answers.curves import both_curves
    from discreet.promises.calibrating import calibrate as find

    with screen.progress("Calibrating") as progress:
        result: Calibration | RiskCalibration
        if risk:
            from discreet.disclosure.limits import calibrate_risk

            asked = {
                key: given[key] for key in ("delta", "by", "weights", "jobs", "neighbours") if key in given
            }
            result = calibrate_risk(release, risk=risk, progress=progress, **asked)
        else:
            result = find(release, **given, progress=progress)
        cost = partial(account, neighbours=result.neighbours, jobs=given["jobs"])
        after = cost(result.release).with_workers(given["jobs"], progress)
        curves = partial(both_curves, cost(release), after)
        outputs.write({"--plot": curves, "--out": result.release.to_toml})
    if isinstance(result, Calibration):
        screen.tell(calibration_answer(result), timed=True)
    else:
        from discreet.answers.risk_limits import risk_calibration_answer

        screen.tell(risk_calibration_answer(result), timed=True)


def _check_target(given: dict[str, console.Given], risk: list[str] | None) -> None:
    """Refuse a command line that names no target, or two."""
    epsilon, moe = given.get("epsilon"), given.get("moe")
    if epsilon is not None:
        console.read_epsilon(epsilon)
    targets = {
        "--epsilon": epsilon is not None,
        "--zcdp": given.get("zcdp"),
        "--moe": moe is not None,
        "--risk": risk,
    }
    named = [name for name, is_given in targets.items() if is_given]
    if len(named) != 1:
        problem = " and ".join(named) + " are given" if named else "none is given"
        raise InputError(
            f"one target is needed: --epsilon E, --zcdp, --moe LEVEL=M,... or --risk LIMIT; {problem}"
        )
    if risk and (extra := [f"--{name}" for name in _NOT_WITH_RISK if given.get(name)]):
        names = " and no ".join(extra).replace("--objective", "--for")
        raise InputError(f"--risk proves its limits to the last digit: it has no {names}")
    if moe is not None and given.get("accuracy") is not None:
        raise InputError("--moe sets each level's noise: there is no search that --accuracy could shorten")
    if moe is not None and (given.get("weights") is not None or given.get("by") == "level"):
        raise InputError("--moe sets each level's noise: it cannot be combined with --weights or --by")
