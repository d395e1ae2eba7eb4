"""`discreet risk single`: one noisy count, or several counts of the same person, and what they give away."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.cli.printing import Block, Hanging, Outputs, Screen, TextTable
from discreet.errors import InputError
from discreet.numbers import chance as shown
from discreet.numbers import in_hundred

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.risk import Attack, Step
    from discreet.risk.attack import Costs

app = App(
    name="single",
    usage="Usage: discreet risk single --noisy Y --variance V --prior P [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet risk single --noisy 1 --rho 0.099 --prior 1/2\n"
    "  discreet risk single --noisy 14 --known 12 --variance 10 --prior 1/2 --prior 1/864\n"
    "  discreet risk single --noisy 3 --variance 10 --prior 1/2 --unsure 20 --chance 1/10\n"
    "  discreet risk single --together --noisy 2 --noisy 1 --variance 10 --variance 4 --prior 1/2",
)

ResultRow = tuple[int, float, str, int, float, float, float, bool]
COLUMNS = ("noisy", "variance", "prior", "known", "posterior", "ratio", "log_odds", "decides_present")


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
        int | None, Parameter(help="This many others may or may not have the characteristics.", metavar="M")
    ] = None,
    chance: Annotated[
        list[str] | None,
        Parameter(help="The chance of each of them, one for all or one for each.", metavar="C"),
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
    json: options.Json = False,
    csv: options.Csv = None,
    plot: options.Plot = None,
) -> None:
    """Say what a noisy count tells someone who knows everyone else."""
    outputs = Outputs(csv=csv, plot=plot)
    from discreet.risk.attack import Attack, Costs, read_known, read_prior, read_variance, read_whole

    costs = Costs.read(None if loss is None else [loss[:2], loss[2:]])
    values = [int(value) for value in read_whole(list(noisy))]
    read_prior(list(prior))
    answer: OneCount | Together
    if together:
        if unsure is not None or chance or plot:
            raise InputError("--together cannot be combined with --unsure, --chance or --plot")
        many = len(values)
        read = {"variance": read_variance(variance, rho), "known": read_known(known or [0])}
        each = {name: x.tolist() * (many if x.size == 1 else 1) for name, x in read.items()}
        for name, found in each.items():
            if len(found) != many:
                raise InputError(f"there are {many} noisy values but {len(found)} of {name}")
        counts = [int(count) for count in each["known"]]
        answer = Together(values, each["variance"], counts, prior, costs, nonnegative)
    else:
        for name, stated in (("--variance", variance), ("--rho", rho), ("--known", known)):
            if stated and len(stated) > 1:
                raise InputError(f"{name} is stated {len(stated)} times; without --together one is needed")
        attack = Attack(
            variance=variance[0] if variance else None,
            rho=rho[0] if rho else None,
            known=known[0] if known else 0,
            others=_others(unsure, chance),
            nonnegative=nonnegative,
        )
        attack.log_ratio(values)  # refuses what cannot be
        answer = OneCount(attack, values, prior, costs, loss is None, rho[0] if rho else None)

    def figure() -> Figure:
        from discreet.report.figures import attack_figure

        return attack_figure(attack, prior, marked=values)

    outputs.write_table_and_figure(answer.table, figure)
    Screen(json=json, quiet=True).present(answer.as_dict, answer.text())


def _others(unsure: int | None, chance: list[str] | None) -> object:
    """The law of how many of the people are counted of whom the adversary is unsure."""
    from discreet.risk import independent_others

    if unsure is None and not chance:
        return (1.0,)
    if not chance:
        raise InputError("--unsure needs --chance, how likely each of them is counted")
    if unsure is not None and len(chance) not in (1, unsure):
        raise InputError(f"--unsure is {unsure}, but --chance is given {len(chance)} times")
    one = len(chance) == 1 and unsure is not None
    return independent_others(chance[0], people=unsure) if one else independent_others(chance)


@dataclass(frozen=True, slots=True, eq=False)
class OneCount:
    """One attack at some noisy values, for some priors."""

    attack: Attack
    values: list[int]
    priors: list[str]
    costs: Costs
    is_zero_one: bool
    rho: str | None

    def table(
        self,
    ) -> tuple[tuple[str, ...], Iterator[tuple[int, float, str, int, float, float, float, bool]]]:
        """Return the header, and one row for each prior and value, as CSV has them."""
        attack, known = self.attack, int(self.attack.known)
        return COLUMNS, (
            (
                value,
                attack.variance,
                prior,
                known,
                attack.posterior(value, prior=prior),
                attack.ratio(value, prior=prior),
                attack.log_odds(value, prior=prior),
                attack.decide(value, prior=prior, loss=self.costs),
            )
            for prior in self.priors
            for value in self.values
        )

    def averages(self, prior: str) -> dict[str, float]:
        """Return the means over the noise, and the chances of a right decision."""
        attack = self.attack
        means = {"expected_posterior": attack.expected_posterior, "expected_ratio": attack.expected_ratio}
        found = {
            f"{name}_given_{truth}": mean(prior=prior, given=truth)
            for name, mean in means.items()
            for truth in ("present", "absent")
        }
        for truth in ("present", "absent", "prior"):
            found[f"accuracy_given_{truth}"] = attack.accuracy(prior=prior, loss=self.costs, given=truth)
        return found

    def as_dict(self) -> dict[str, object]:
        """Return the answer as JSON has it."""
        return {
            "adversary": self._who(),
            "variance": self.attack.variance,
            "known": int(self.attack.known),
            "unsure": self.attack.others.size - 1,
            "nonnegative": self.attack.nonnegative,
            "loss": [list(self.costs.absent), list(self.costs.present)],
            "results": [dict(zip(COLUMNS, row, strict=True)) for row in self.table()[1]],
            "averages": [{"prior": prior, **self.averages(prior)} for prior in self.priors],
        }

    def text(self) -> Iterator[Block]:
        """Yield the answer for a reader."""
        variance = self.attack.variance
        noise = f"{variance:.6g}"
        if self.rho is not None:
            noise += (
                " = 1/(2 rho), as in the paper; a rho calibrated for replacement of one record has "
                f"noise of variance 1/rho = {2 * variance:.6g}, which --variance takes"
            )
        yield Hanging(f"Adversary: {self._who()}.")
        yield Hanging(f"Noise: discrete Gaussian, variance {noise}.")
        if self.attack.nonnegative:
            yield "A published 0 may stand for any value below it; the numbers allow for that."
        yield ""
        rows = [
            (f"{value:,}", prior, shown(after), f"{ratio:.4g}", "present" if decides else "absent")
            for value, _, prior, _, after, ratio, _, decides in self.table()[1]
        ]
        yield TextTable(("published", "prior", "posterior", "ratio", "decision"), rows, (4,))
        for prior in self.priors:
            yield ""
            yield from self._sentences(prior)

    def _sentences(self, prior: str) -> Iterator[str]:
        from discreet.risk.attack import read_prior

        found, before = self.averages(prior), read_prior(prior)
        yield (
            f"With prior {prior}, this adversary on average believes "
            f"{shown(found['expected_posterior_given_present'])} if the target is present "
            f"({found['expected_ratio_given_present']:.4g} times the prior), "
            f"{shown(found['expected_posterior_given_absent'])} if absent."
        )
        rule = "choosing the likelier answer" if self.is_zero_one else "choosing what costs less on average"
        says = bool(self.costs.says_present(before.log_odds))  # by the same rule, knowing the prior alone
        guessed = float(before.present if says else before.absent)
        yield (
            f"By {rule} this adversary is right {in_hundred(found['accuracy_given_present'])} if the "
            f"target is present, {in_hundred(found['accuracy_given_absent'])} if absent, and "
            f"{in_hundred(found['accuracy_given_prior'])} averaged over the prior; without the release, "
            f"{in_hundred(guessed)}."
        )

    def _who(self) -> str:
        count, unsure = f"{int(self.attack.known):,}", self.attack.others.size - 1
        if not unsure:
            return f"someone who knows everyone else in the area, {count} of them with the characteristics"
        return (
            f"someone who knows {count} other people in the area with the characteristics, is unsure of "
            f"{unsure:,} more and gives each of these a chance, and knows that no one else has them"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """Several counts of the same person: what each adds, and all together."""

    noisy: list[int]
    variances: list[float]
    known: list[int]
    priors: list[str]
    costs: Costs
    nonnegative: bool

    def steps(self, prior: str) -> tuple[Step, ...]:
        """Return what each count adds, one after another."""
        from discreet.risk import sequence

        return sequence(
            self.noisy, variance=self.variances, prior=prior, known=self.known, nonnegative=self.nonnegative
        )

    def accuracies(self, prior: str) -> dict[str, float]:
        """Return the chances of a right decision from all of them."""
        from discreet.risk import joint_accuracy

        return {
            truth: joint_accuracy(variance=self.variances, prior=prior, loss=self.costs, given=truth)
            for truth in ("present", "absent", "prior")
        }

    def table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return the header and the steps, as CSV has them."""
        names = ("prior", "noisy", "variance", "known", "before", "posterior", "ratio", "total_ratio")
        return names, [
            (prior, s.noisy, s.variance, k, s.prior, s.posterior, s.ratio, s.total_ratio)
            for prior in self.priors
            for s, k in zip(self.steps(prior), self.known, strict=True)
        ]

    def as_dict(self) -> dict[str, object]:
        """Return the answer as JSON has it; a ratio beyond all floats is left out."""
        results = []
        for prior in self.priors:
            steps = self.steps(prior)
            result: dict[str, object] = {
                "prior": prior,
                "posterior": steps[-1].posterior,
                "ratio": steps[-1].total_ratio,
                "steps": [
                    {
                        "noisy": s.noisy,
                        "variance": s.variance,
                        "posterior": s.posterior,
                        "ratio": s.ratio if math.isfinite(s.ratio) else None,
                    }
                    for s in steps
                ],
            }
            if not self.nonnegative:
                result["accuracy"] = self.accuracies(prior)
            results.append(result)
        return {"adversary": self._who(), "counts": len(self.noisy), "known": self.known, "results": results}

    def text(self) -> Iterator[Block]:
        """Yield the answer for a reader."""
        yield Hanging(f"Adversary: {self._who()}.")
        for prior in self.priors:
            yield ""
            steps = self.steps(prior)
            rows = [
                (
                    f"{s.noisy:,}",
                    f"{s.variance:.6g}",
                    f"{k:,}",
                    shown(s.prior),
                    shown(s.posterior),
                    f"{s.ratio:.4g}",
                )
                for s, k in zip(steps, self.known, strict=True)
            ]
            yield TextTable(("published", "variance", "known", "before", "after", "ratio"), rows, ())
            yield (
                f"After all of them this adversary, with prior {prior}, believes "
                f"{shown(steps[-1].posterior)}, {steps[-1].total_ratio:.4g} times as much as before."
            )
            if not self.nonnegative:
                right = self.accuracies(prior)
                yield (
                    f"Choosing by all {len(self.noisy)} counts, this adversary is right "
                    f"{in_hundred(right['present'])} if the target is present, "
                    f"{in_hundred(right['absent'])} if absent, and {in_hundred(right['prior'])} averaged "
                    "over the prior."
                )

    def _who(self) -> str:
        return f"someone who knows each of the {len(self.noisy)} counts without the target"
