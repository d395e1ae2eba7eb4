"""`discreet risk single`: one noisy count, or several counts of the same person, and what they give away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from discreet.cli.options import Json
from discreet.cli.outputs import PLOT_KINDS, TABLE_KINDS, Outputs
from discreet.cli.risk import options
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.cli.risk.single_text import Answer

app = App(
    name="single",
    usage="Usage: discreet risk single --noisy Y --variance V --prior P [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet risk single --noisy 1 --rho 0.099 --prior 1/2\n"
    "  discreet risk single --noisy 14 --known 12 --variance 10 --prior 1/2 --prior 1/864\n"
    "  discreet risk single --noisy 3 --variance 10 --prior 1/2 --unsure 20 --chance 1/10\n"
    "  discreet risk single --together --noisy 2 --noisy 1 --variance 10 --variance 4 --prior 1/2",
)


@app.default
def single(
    *,
    noisy: Annotated[
        list[str],
        Parameter(help="The published count; may be repeated.", metavar="Y", allow_leading_hyphen=True),
    ],
    prior: options.Priors,
    variance: options.Variances = None,
    rho: options.Rhos = None,
    known: Annotated[
        list[str] | None,
        Parameter(
            help="How many others with the characteristics the adversary knows of; default 0.",
            metavar="K",
            allow_leading_hyphen=True,
        ),
    ] = None,
    unsure: Annotated[
        int | None, Parameter(help="So many others may have the characteristics or not.", metavar="M")
    ] = None,
    chance: Annotated[
        list[str] | None,
        Parameter(help="Their chance, one for all or one for each.", metavar="C"),
    ] = None,
    loss: Annotated[
        tuple[str, str, str, str] | None,
        Parameter(
            help="Costs of deciding absent, present; first if the target is absent. Default 0 1 1 0.",
            metavar="A B C D",
        ),
    ] = None,
    nonnegative: options.Floor = False,
    together: Annotated[
        bool, Parameter(help="The noisy values are several counts of the same person, each with its noise.")
    ] = False,
    json: Json = False,
    csv: options.Csv = None,
    plot: options.Plot = None,
) -> None:
    """Say what a noisy count tells someone who knows everyone else."""
    outputs = Outputs()
    outputs.plan("--csv", csv, TABLE_KINDS)
    outputs.plan("--plot", plot, PLOT_KINDS)
    from discreet.cli.printing import write_json
    from discreet.cli.risk import single_text

    table = None if loss is None else [loss[:2], loss[2:]]
    if together:
        if unsure is not None or chance or plot:
            raise InputError("--together goes with neither --unsure nor --chance nor --plot")
        joint = single_text.Together.build(noisy, variance, rho, prior, known or ["0"], table, nonnegative)
        outputs.write({"--csv": joint.csv().encode()} if csv else {})
        write_json(joint.as_object()) if json else joint.show()
        return
    answer = _answer(noisy, variance, rho, prior, known, unsure, chance, table, nonnegative)
    contents = {"--csv": answer.csv().encode()} if csv else {}
    if plot is not None:
        contents["--plot"] = _drawing(answer, plot)
    outputs.write(contents)
    write_json(answer.as_object()) if json else answer.show()


def _answer(
    noisy: list[str],
    variance: list[str] | None,
    rho: list[str] | None,
    prior: list[str],
    known: list[str] | None,
    unsure: int | None,
    chance: list[str] | None,
    loss: object,
    nonnegative: bool,
) -> Answer:
    from discreet.cli.risk.single_text import Answer
    from discreet.risk import Attack, independent_others

    for name, values in (("--variance", variance), ("--rho", rho), ("--known", known)):
        if values and len(values) > 1:
            raise InputError(f"{name} is stated {len(values)} times; without --together one is needed")
    others: object = (1.0,)
    if unsure is not None or chance:
        if not chance:
            raise InputError("--unsure needs --chance, how likely each of them is counted")
        if unsure is not None and len(chance) not in (1, unsure):
            raise InputError(f"--unsure is {unsure}, but --chance is given {len(chance)} times")
        one = len(chance) == 1 and unsure is not None
        others = independent_others(chance[0], people=unsure) if one else independent_others(chance)
    attack = Attack(
        variance=variance[0] if variance else None,
        rho=rho[0] if rho else None,
        known=known[0] if known else 0,
        others=others,
        nonnegative=nonnegative,
    )
    return Answer.build(attack, noisy, prior, loss, rho[0] if rho else None)


def _drawing(answer: Answer, path: Path) -> bytes:
    from discreet.report.figures import figure_bytes
    from discreet.report.risk_plots import attack_figure

    figure = attack_figure(answer.attack, answer.priors, marked=answer.values)
    return figure_bytes(figure, path.suffix.lower().removeprefix("."))
