"""What `discreet risk single` prints: every sentence says whose belief or decision it is about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.cli.printing import say, table
from discreet.cli.risk.options import chance, csv_text, in_hundred
from discreet.risk import (
    Attack,
    Step,
    joint_accuracy,
    joint_posterior,
    joint_ratio,
    sequence,
)
from discreet.risk.losses import Loss, read_loss
from discreet.risk.model import read_known, read_prior, read_variance, read_whole

COLUMNS = ("noisy", "variance", "prior", "known", "posterior", "ratio", "log_odds", "decides_present")


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """One attack at some noisy values, for some priors."""

    attack: Attack
    values: list[int]
    priors: list[str]
    loss: Loss
    is_zero_one: bool
    rho: str | None

    @classmethod
    def build(
        cls, attack: Attack, noisy: Sequence[str], prior: Sequence[str], loss: Any, rho: str | None
    ) -> Answer:
        """Check the values and priors."""
        values = [int(value) for value in read_whole(list(noisy))]
        read_prior(list(prior))
        attack.log_ratio(values)
        return cls(attack, values, list(prior), read_loss(loss), loss is None, rho)

    def rows(self) -> list[tuple[Any, ...]]:
        """One row for each prior and value, as COLUMNS."""
        found = []
        for prior in self.priors:
            for value in self.values:
                posterior = self.attack.posterior(value, prior=prior)
                odds = float(read_prior(prior).log_odds) + self.attack.log_ratio(value)
                decides = bool(self.loss.says_present(odds))
                ratio = self.attack.ratio(value, prior=prior)
                shown = (value, self.attack.variance, prior, int(self.attack.known))
                found.append((*shown, posterior, ratio, odds, decides))
        return found

    def averages(self, prior: str) -> dict[str, float]:
        """The means over the noise, and the chances of a right decision."""
        attack = self.attack
        found = {
            f"{name}_given_{truth}": work(prior=prior, given=truth)
            for name, work in (
                ("expected_posterior", attack.expected_posterior),
                ("expected_ratio", attack.expected_ratio),
            )
            for truth in ("present", "absent")
        }
        for truth in ("present", "absent", "prior"):
            found[f"accuracy_given_{truth}"] = attack.accuracy(prior=prior, loss=self.loss, given=truth)
        return found

    def csv(self) -> str:
        """The rows as CSV."""
        return csv_text(COLUMNS, self.rows())

    def as_object(self) -> dict[str, Any]:
        """The answer as one JSON object."""
        attack = self.attack
        return {
            "adversary": self._who(),
            "variance": attack.variance,
            "known": int(attack.known),
            "unsure": attack.others.size - 1,
            "nonnegative": attack.nonnegative,
            "loss": [list(self.loss.absent), list(self.loss.present)],
            "results": [dict(zip(COLUMNS, row, strict=True)) for row in self.rows()],
            "averages": [{"prior": prior, **self.averages(prior)} for prior in self.priors],
        }

    def show(self) -> None:
        """The answer for a reader."""
        say(f"Adversary: {self._who()}.", indent="  ")
        say(f"Noise: discrete Gaussian, variance {_variance(self.attack.variance, self.rho)}.", indent="  ")
        if self.attack.nonnegative:
            say("A published 0 may stand for any value below it; that is in the numbers.", indent="  ")
        say("")
        rows = [
            (f"{row[0]:,}", str(row[2]), chance(row[4]), f"{row[5]:.4g}", "present" if row[7] else "absent")
            for row in self.rows()
        ]
        table(("published", "prior", "posterior", "ratio", "decision"), rows, left=(4,))
        for prior in self.priors:
            say("")
            say(*self._sentences(prior))

    def _sentences(self, prior: str) -> Iterable[str]:
        found = self.averages(prior)
        start = f"This adversary, with prior {prior}:"
        yield (
            f"{start} on average over the noise believes {chance(found['expected_posterior_given_present'])} "
            f"if the target is there ({found['expected_ratio_given_present']:.4g} times the prior), "
            f"{chance(found['expected_posterior_given_absent'])} if not."
        )
        rule = "choosing the likelier answer" if self.is_zero_one else "choosing what costs less on average"
        before = read_prior(prior)
        says = bool(self.loss.says_present(before.log_odds))  # by the same rule, knowing the prior alone
        guessed = float(before.present if says else before.absent)
        yield (
            f"By {rule} this adversary is right {in_hundred(found['accuracy_given_present'])} if the "
            f"target is there, {in_hundred(found['accuracy_given_absent'])} if not, and "
            f"{in_hundred(found['accuracy_given_prior'])} averaged over the prior; without the release, "
            f"{in_hundred(guessed)}."
        )

    def _who(self) -> str:
        attack, unsure = self.attack, self.attack.others.size - 1
        count = f"{int(attack.known):,}"
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
    loss: Loss
    nonnegative: bool

    @classmethod
    def build(
        cls,
        noisy: Sequence[str],
        variance: Sequence[str] | None,
        rho: Sequence[str] | None,
        prior: Sequence[str],
        known: Sequence[str],
        loss: Any,
        nonnegative: bool,
    ) -> Together:
        """Check the counts: one variance and known count for each noisy value, or one for all."""
        y, v, k = read_whole(list(noisy)), read_variance(variance, rho), read_known(list(known))
        counts = len(y)
        repeated = [x.tolist() * (counts if x.size == 1 else 1) for x in (v, k)]
        for name, values in zip(("variance", "known"), repeated, strict=True):
            if len(values) != counts:
                from discreet.errors import InputError

                raise InputError(f"there are {counts} noisy values but {len(values)} of {name}")
        read_prior(list(prior))
        whole = [int(x) for x in repeated[1]]
        return cls([int(x) for x in y], repeated[0], whole, list(prior), read_loss(loss), nonnegative)

    def steps(self, prior: str) -> tuple[Step, ...]:
        """One after another."""
        return sequence(
            self.noisy, variance=self.variances, prior=prior, known=self.known, nonnegative=self.nonnegative
        )

    def csv(self) -> str:
        """The steps as CSV."""
        rows = [
            (prior, s.noisy, s.variance, k, s.prior, s.posterior, s.ratio, s.total_ratio)
            for prior in self.priors
            for s, k in zip(self.steps(prior), self.known, strict=True)
        ]
        names = ("prior", "noisy", "variance", "known", "before", "posterior", "ratio", "total_ratio")
        return csv_text(names, rows)

    def as_object(self) -> dict[str, Any]:
        """The answer as one JSON object."""
        results = []
        for prior in self.priors:
            shared: dict[str, Any] = {
                "variance": self.variances,
                "prior": prior,
                "known": self.known,
                "nonnegative": self.nonnegative,
            }
            result = {
                "prior": prior,
                "posterior": joint_posterior(self.noisy, **shared),
                "ratio": joint_ratio(self.noisy, **shared),
                "steps": [
                    {
                        "noisy": s.noisy,
                        "variance": s.variance,
                        "posterior": s.posterior,
                        "ratio": _finite(s.ratio),
                    }
                    for s in self.steps(prior)
                ],
            }
            if not self.nonnegative:
                result["accuracy"] = self._accuracies(prior)
            results.append(result)
        return {"adversary": self._who(), "counts": len(self.noisy), "known": self.known, "results": results}

    def show(self) -> None:
        """The answer for a reader."""
        say(f"Adversary: {self._who()}.", indent="  ")
        for prior in self.priors:
            say("")
            rows = [
                (
                    f"{s.noisy:,}",
                    f"{s.variance:.6g}",
                    f"{k:,}",
                    chance(s.prior),
                    chance(s.posterior),
                    f"{s.ratio:.4g}",
                )
                for s, k in zip(self.steps(prior), self.known, strict=True)
            ]
            table(("published", "variance", "known", "before", "after", "ratio"), rows, left=())
            last = self.steps(prior)[-1]
            say(
                f"After all of them this adversary, with prior {prior}, believes {chance(last.posterior)}, "
                f"{last.total_ratio:.4g} times as much as before."
            )
            if not self.nonnegative:
                right = self._accuracies(prior)
                say(
                    f"Choosing by all {len(self.noisy)} counts this adversary is right "
                    f"{in_hundred(right['present'])} if the target is there, {in_hundred(right['absent'])} "
                    f"if not, {in_hundred(right['prior'])} averaged over the prior."
                )

    def _accuracies(self, prior: str) -> dict[str, float]:
        truths = ("present", "absent", "prior")
        return {
            truth: joint_accuracy(variance=self.variances, prior=prior, loss=self.loss, given=truth)
            for truth in truths
        }

    def _who(self) -> str:
        return f"someone who knows each of the {len(self.noisy)} counts without the target"


def _variance(variance: float, rho: str | None) -> str:
    if rho is None:
        return f"{variance:.6g}"
    return (
        f"{variance:.6g} = 1/(2 rho), as in the paper; a rho calibrated for replacement of one record has "
        f"noise of variance 1/rho = {2 * variance:.6g}, which --variance takes"
    )


def _finite(ratio: float) -> float | None:
    """A ratio beyond all floats, after a belief that was as good as zero, is left out of JSON."""
    return ratio if math.isfinite(ratio) else None
