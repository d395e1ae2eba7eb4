"""One noisy count, or several of the same person: all that is asked of them, as one result.

`one_count` and `several_counts` take what somebody states about an adversary and give a frozen result. The
computing is in `discreet.disclosure.attack` and `discreet.disclosure.joint`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from discreet.budget.scope import Scope
from discreet.disclosure.attack import Attack, independent_others
from discreet.disclosure.decisions import Costs
from discreet.disclosure.inputs import Numbers, read_known, read_prior, read_variance, read_whole
from discreet.disclosure.joint import Step, joint_accuracy, sequence
from discreet.errors import InputError
from discreet.faces import Displayed
from discreet.loss.values import Number
from discreet.questions import Option, repeated_option

TRUTHS = ("present", "absent", "prior")


OTHER_COUNTS = "other published counts"
"""What numbers that are given, and not a release, leave out."""

OTHER_LEVELS = "the other levels, in rows of one level"
"""What a row of one level leaves out, beside rows of several."""


@dataclass(frozen=True, slots=True)
class Belief:
    """What one noisy value makes of one prior; `prior` is as it was given."""

    noisy: int
    variance: float
    prior: Number
    known: int
    posterior: float
    ratio: float
    log_odds: float
    decides_present: bool | None
    """None where both decisions cost the same and a coin decides."""


@dataclass(frozen=True, slots=True, eq=False)
class OneCount(Displayed):
    """One attack at some noisy values, for some priors, with what decisions cost."""

    attack: Attack
    values: tuple[int, ...]
    priors: tuple[Number, ...]
    costs: Costs

    @property
    def scope(self) -> Scope:
        """Of what each belief is true: of one noisy count alone."""
        many = len(self.values)
        of = "one noisy count" if many == 1 else f"each of {many} noisy counts alone"
        return Scope.whole(of, unit="", neighbours="").without(OTHER_COUNTS)

    @property
    def beliefs(self) -> list[Belief]:
        """One for each prior and value."""
        attack = self.attack
        return [
            Belief(
                noisy=value,
                variance=attack.variance,
                prior=prior,
                known=int(attack.known),
                posterior=attack.posterior(value, prior=prior),
                ratio=attack.ratio(value, prior=prior),
                log_odds=attack.log_odds(value, prior=prior),
                decides_present={0.0: False, 1.0: True}.get(
                    attack.decide(value, prior=prior, loss=self.costs)
                ),
            )
            for prior in self.priors
            for value in self.values
        ]

    def averages(self, prior: Number) -> dict[str, float]:
        """Return the means over the noise, and the chances of a right decision."""
        attack, averages = self.attack, {}
        means = {"expected_posterior": attack.expected_posterior, "expected_ratio": attack.expected_ratio}
        for name, mean in means.items():
            for truth in ("present", "absent"):
                averages[f"{name}_given_{truth}"] = mean(prior=prior, given=truth)
        for truth in TRUTHS:
            averages[f"accuracy_given_{truth}"] = attack.accuracy(prior=prior, loss=self.costs, given=truth)
        return averages

    def without_release(self, prior: Number) -> float:
        """How often the same rule is right with nothing published."""
        before = read_prior(prior)
        says = self.costs.says_present(before.log_odds)
        return float(says * before.present + (1.0 - says) * before.absent)


def one_count(
    noisy: Annotated[Numbers, Option("The published count; may be repeated.", "Y", reads=list[str])],
    *,
    prior: Annotated[
        Sequence[Number],
        Option(
            "The adversary's chance that the target is present, such as 1/2 or 1/864; may be repeated.",
            "P",
            reads=list[str],
        ),
    ],
    variance: Annotated[
        Number | None, repeated_option("Variance of the noise, an exact number.", "V", "variance")
    ] = None,
    rho: Annotated[
        Number | None,
        repeated_option(
            "Instead of the variance: zCDP's rho with a record added or removed, 1/(2 variance).", "R", "rho"
        ),
    ] = None,
    known: Annotated[
        Number,
        repeated_option(
            "How many others with the characteristics the adversary knows of; default 0.", "K", "known"
        ),
    ] = 0,
    unsure: Annotated[
        int | None, Option("This many others may or may not have the characteristics.", "M")
    ] = None,
    chance: Annotated[
        Sequence[Number],
        repeated_option("The chance of each of them, one for all or one for each.", "C", "chance"),
    ] = (),
    loss: Annotated[
        object,
        Option(
            "Costs of deciding absent, present; first if the target is absent. Default 0 1 1 0.",
            "A B C D",
            reads=tuple[str, str, str, str] | None,
        ),
    ] = None,
    nonnegative: Annotated[bool, Option("Negative values were published as zero.")] = False,
) -> OneCount:
    """Return what one noisy count tells someone who knows everyone else, or all but some.

    Of `unsure` others each is counted with the `chance`: one for all of them, or one for each.

    >>> told = one_count([1], prior=["1/2"], rho="0.099")
    >>> round(told.beliefs[0].posterior, 4), round(told.averages("1/2")["accuracy_given_present"], 4)
    (0.5247, 0.5888)
    """
    costs, values = Costs.read(loss), [int(value) for value in read_whole(noisy)]
    for each_prior in prior:
        read_prior(each_prior)
    others: Numbers = (1.0,)
    if unsure is not None and not chance:
        raise InputError(f"unsure is {unsure}; it needs chance, how likely each of them is counted")
    if unsure is not None and len(chance) not in (1, unsure):
        raise InputError(f"unsure is {unsure}, but chance is given {len(chance)} times")
    if unsure is not None and len(chance) == 1:
        others = independent_others(chance[0], people=unsure)
    elif chance:
        others = independent_others(list(chance))
    attack = Attack(variance=variance, rho=rho, known=known, others=others, nonnegative=nonnegative)
    attack.log_ratio(values)  # refuses what cannot be
    return OneCount(attack, tuple(values), tuple(prior), costs)


@dataclass(frozen=True, slots=True, eq=False)
class SeveralCounts(Displayed):
    """Several counts of the same person: what each adds, and all together."""

    noisy: tuple[int, ...]
    variances: tuple[float, ...]
    known: tuple[int, ...]
    priors: tuple[Number, ...]
    costs: Costs
    nonnegative: bool

    @property
    def scope(self) -> Scope:
        """Of what the last belief is true: of these counts together."""
        of = f"{len(self.noisy)} noisy counts of one person"
        return Scope.whole(of, unit="", neighbours="").without(OTHER_COUNTS)

    def steps(self, prior: Number) -> tuple[Step, ...]:
        """Return what each count adds, one after another."""
        known, variance, floor = self.known, self.variances, self.nonnegative
        return sequence(self.noisy, prior=prior, known=known, variance=variance, nonnegative=floor)

    def accuracies(self, prior: Number) -> dict[str, float]:
        """Return the chances of a right decision from all of them; none if zero may stand for less."""
        return {
            truth: joint_accuracy(variance=self.variances, prior=prior, loss=self.costs, given=truth)
            for truth in (() if self.nonnegative else TRUTHS)
        }


def several_counts(
    noisy: Numbers,
    *,
    prior: Sequence[Number],
    variance: Numbers = None,
    rho: Numbers = None,
    known: Numbers = 0,
    loss: object = None,
    nonnegative: bool = False,
) -> SeveralCounts:
    """Return what several noisy counts of the same person tell someone who knows each without the target.

    `variance` (or `rho`) and `known` have one value for each count, or one for all.

    >>> told = several_counts([2, 1], prior=["1/2"], variance=[5, 2])
    >>> round(told.steps("1/2")[-1].posterior, 4)
    0.6341
    """
    costs, values = Costs.read(loss), [int(value) for value in read_whole(noisy)]
    for each_prior in prior:
        read_prior(each_prior)
    each = {}
    for name, read in (("variance", read_variance(variance, rho)), ("known", read_known(known))):
        listed = read.reshape(-1).tolist()
        each[name] = listed * (len(values) if len(listed) == 1 else 1)
        if len(each[name]) != len(values):
            raise InputError(f"there are {len(values)} noisy values but {len(listed)} of {name}")
    found_known = tuple(map(int, each["known"]))
    return SeveralCounts(
        tuple(values), tuple(each["variance"]), found_known, tuple(prior), costs, bool(nonnegative)
    )
