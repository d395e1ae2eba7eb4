"""`discreet calibrate`: how little noise keeps a promise, what that saves, and its proof."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from discreet.answers.release import heading, scaled_sizes
from discreet.budget import AnswerKind, load
from discreet.budget.levels import level_name
from discreet.cli import console
from discreet.cli.account import drawn
from discreet.cli.console import PLAIN, Block, Outputs, Screen, option, text_table
from discreet.errors import InputError
from discreet.numbers import bound, decimal, exact_text, float_up, plain, read_delta

if TYPE_CHECKING:
    from discreet.accounting.calibration import Calibration
    from discreet.budget import Release
    from discreet.numbers import Interval


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
    shares = console.by_level(weights, "--weights", release)
    wanted = console.by_level(moe, "--moe", release)

    from discreet.accounting.calibration import calibrate as find
    from discreet.accounting.calibration import reached
    from discreet.accounting.overall import account

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
        outputs.write({"--plot": lambda: drawn(before(), after), "--out": found.release.to_toml})
    ends = None if box is None else {"lower": -float_up(-box.lower), "upper": float_up(box.upper)}
    proved = {"certified_epsilon": ends} if ends else {}
    screen.present(
        lambda: {"release": release.name, **found.as_dict(), **proved}, _text(release, found, box), timed=True
    )


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


def _text(release: Release, found: Calibration, box: Interval | None) -> Iterator[Block]:
    from discreet.accounting.calibration import calibrated_lines

    delta, epsilon = exact_text(found.delta), bound(found.epsilon or Fraction(0), digits=8)
    yield heading(release)
    yield f"{found.neighbours.capitalize()} neighbours, delta {delta}. {' '.join(found.notes)}"
    yield ""
    rows = [
        (
            level_name(line.level),
            line.queries[0] if len(line.queries) == 1 else f"{len(line.queries)} queries alike",
            *(f"{float(v):.6g}" for v in (line.before, line.after)),
            *(f"{math.sqrt(v):.4g}" for v in (line.before, line.after)),
            *map(str, line.margins),
            f"{100 * line.change:+.2f} %" if line.change else "0 %",
        )
        for line in calibrated_lines(found)
    ]
    columns = ("variance", "new", "std. dev.", "new", "95 % margin", "new", "variance change")
    yield text_table(("level", "query", *columns), rows, (0, 1))
    yield ""
    alone = found.by == "level"
    if found.factor is not None:
        size = f"{float(found.factor):.6{'f' if found.factor >= Fraction(1, 10) else 'g'}}"
        has_scales = any(level.has_laplace for level in release.levels)
        yield (
            f"All {scaled_sizes(found.release)} times {found.factor} = {size}"
            f"{', scales rounded up to six digits' if has_scales else ''}: {found.saved} "
            f"for epsilon {epsilon} at delta {delta}."
        )
    elif found.epsilon is not None:
        who = "Each level alone" if alone else "The new release"
        yield f"{who} keeps epsilon {epsilon} at delta {delta}."
    if found.claim.kind is not AnswerKind.EXACT:
        yield str(found.claim)
    if found.proof is not None and alone:
        most = decimal(found.proof.upper, down=False)
        yield f"Proved: the true delta of each level at its promise is at most {most}, not above {delta}."
    elif found.proof is not None:
        yield f"Proved: the true delta there lies in {found.proof}, not above {delta}."
    if box is not None:
        yield f"Proved: the exact epsilon of the new release at delta {delta} lies in {box}."
    if found.price is not None:
        which = "may be the better one at some level" if alone else "was the better one"  # levels cross apart
        yield (
            f"The price: below delta {plain(float(f'{found.price:.3g}'))} the zCDP promise of the old noise "
            f"{which} (less noise costs more in the far tail)."
        )
