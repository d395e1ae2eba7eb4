"""What one noisy count, or several of the same person, tell a stated adversary, in words and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from discreet.answers.answer import Answer, AnswerTable, Column, Fact, Paragraph, Part, sentence
from discreet.answers.describing import describes
from discreet.answers.figure import (
    QUIET,
    Axis,
    Dots,
    Line,
    Notation,
    Panel,
    Picture,
    Points,
    Rule,
    Symbol,
    Weight,
    points,
)
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Style, count_quantity
from discreet.budget.scope import Scope
from discreet.disclosure.counts import TRUTHS, OneCount, SeveralCounts
from discreet.disclosure.decisions import Costs
from discreet.disclosure.joint import Step
from discreet.loss.values import Number

_PUBLISHED = "published count"
_DECISIONS = {True: "present", False: "absent", None: "either"}
_BELIEFS = (
    Column("published", "noisy"),
    Column(key="variance"),
    Column("prior", "prior"),
    Column(key="known"),
    Column("posterior", "posterior"),
    Column("ratio", "ratio"),
    Column(key="log_odds"),
    Column("decision", is_text=True),
    Column(key="decides_present"),
)
_STEPS = (
    Column("published", "noisy"),
    Column("variance", "variance"),
    Column("known"),
    Column("before"),
    Column("after", "posterior"),
    Column("ratio"),
    Column(key="ratio"),
)
_SAVED = ("prior", "noisy", "variance", "known", "before", "posterior", "ratio", "total_ratio")


@describes(OneCount)
def one_count_answer(one_count: OneCount, *, of_rho: bool = False) -> Answer:
    """Say what one noisy count tells someone who knows everyone else, or all but some.

    `of_rho` says that the noise was stated by its rho.

    >>> from discreet.disclosure.counts import one_count
    >>> answer = one_count_answer(one_count([1], prior=["1/2"], rho="0.099"))
    >>> print(answer.body[-1])
    Choosing the likelier answer, this adversary is right 58.9 times in 100 if the target is present, 58.9 \
times in 100 if absent, and 58.9 times in 100 averaged over the prior; without the release, 50.0 times in 100.
    """
    attack, beliefs = one_count.attack, _beliefs(one_count)
    means = [(prior, one_count.averages(prior)) for prior in one_count.priors]
    record = {
        "adversary": _one_count_adversary(one_count),
        "variance": attack.variance,
        "known": int(attack.known),
        "unsure": attack.others.size - 1,
        "nonnegative": attack.nonnegative,
        "loss": [one_count.costs.absent, one_count.costs.present],
        "results": beliefs,
        "averages": [{"prior": prior, **mean} for prior, mean in means],
    }
    first = one_count.beliefs[0]
    facts = (
        Fact("posterior", _posterior(first.posterior, one_count.scope), f"prior {first.prior}"),
        Fact("ratio", _brief(first.ratio), "posterior over prior"),
    )
    body = tuple(_one_body(one_count, beliefs, means, of_rho=of_rho))
    return Answer(
        "One count",
        record,
        body,
        facts,
        tables={"beliefs": beliefs},
        command="discreet risk single",
        figures={"attack": partial(_attack_picture, one_count)},
    )


def _attack_picture(one_count: OneCount) -> Picture:
    """Return how likely each published value is, with the target and without, and what is believed then.

    >>> from discreet.disclosure.counts import one_count
    >>> left, right = _attack_picture(one_count([1], prior=["1/2"], rho="0.099")).panels
    >>> [item.label for item in left.items[:2]], right.items[0].label
    (['target absent', 'target present'], 'prior 1/2')
    """
    attack = one_count.attack
    seen = attack.outcomes(tolerance=1e-3)
    some = slice(None, None, max(1, seen.noisy.size // 500))  # more cannot be told apart
    chances = [points(seen.noisy[some], np.exp(logs[some])) for logs in (seen.log_absent, seen.log_present)]
    noisy = attack.outcomes(tolerance=1e-6).noisy[some]
    marked = tuple(Rule(float(value)) for value in one_count.values)
    beliefs = (
        Line(points(noisy, np.atleast_1d(attack.posterior(noisy, prior=prior))), f"prior {prior}", number)
        for number, prior in enumerate(one_count.priors)
    )
    x = Axis(_PUBLISHED)
    without = Dots(chances[0], "target absent", QUIET, has_stems=True)
    there = Dots(chances[1], "target present", 0, Symbol.DIAMOND, has_stems=True)
    variance, known = _brief(attack.variance, 6), count_quantity(int(attack.known))
    return Picture(
        (
            Panel(x, Axis("probability", low=0.0), (without, there, *marked)),
            Panel(x, _belief_axis(), (*beliefs, *marked)),
        ),
        f"One count, noise of variance {variance}, {known} others known",
    )


def belief_panel(beliefs: Points, *, prior: float, value: int, posterior: float) -> Panel:
    """Return what is believed against what is published, with the prior, and one published value marked.

    >>> panel = belief_panel(((0, 0.4), (5, 0.9)), prior=0.5, value=3, posterior=0.7)
    >>> [item.label for item in panel.items]
    ['after the release', 'before', '']
    """
    items = (
        Line(beliefs, "after the release", 0, Weight.HEAVY),
        Rule(prior, "before", is_upright=False),
        Dots(((value, posterior),), is_marked=True),
    )
    return Panel(Axis(_PUBLISHED, beliefs[0][0], beliefs[-1][0]), _belief_axis(), items)


def _belief_axis() -> Axis:
    return Axis("belief that the target is there", 0.0, 1.0, written=Notation.PERCENT)


def _belief(value: float) -> Quantity:
    return Quantity(value, Style.CHANCE)


def _posterior(value: float, scope: Scope) -> Claimed:
    """A belief after the release, of the counts that it is made of."""
    return Claimed(value=value, style=Style.CHANCE, kind=NumberKind.EXACT, scope=scope)


def _brief(value: float, digits: int = 4) -> Quantity:
    return Quantity(value, Style.BRIEF, digits=digits)


def _often(value: float) -> Quantity:
    return Quantity(value, Style.TIMES, digits=1)


def _beliefs(one_count: OneCount) -> AnswerTable:
    return AnswerTable(
        _BELIEFS,
        tuple(
            (
                count_quantity(belief.noisy),
                belief.variance,
                belief.prior,
                belief.known,
                _posterior(belief.posterior, one_count.scope),
                _brief(belief.ratio),
                belief.log_odds,
                _DECISIONS[belief.decides_present],
                belief.decides_present,
            )
            for belief in one_count.beliefs
        ),
    )


def _one_count_adversary(one_count: OneCount) -> str:
    """Say who the adversary is.

    >>> from discreet.disclosure.counts import one_count
    >>> _one_count_adversary(one_count([1], prior=["1/2"], rho="0.099"))
    'someone who knows everyone else in the area, 0 of them with the characteristics'
    """
    count, unsure = count_quantity(int(one_count.attack.known)), one_count.attack.others.size - 1
    if not unsure:
        return f"someone who knows everyone else in the area, {count} of them with the characteristics"
    return (
        f"someone who knows {count} other people in the area with the characteristics, is unsure about "
        f"{count_quantity(unsure)} more, gives each of these a chance, and knows that no one else has them"
    )


def _one_body(
    one_count: OneCount,
    beliefs: AnswerTable,
    means: Sequence[tuple[Number, Mapping[str, float]]],
    *,
    of_rho: bool,
) -> Iterator[Part]:
    variance = one_count.attack.variance
    yield Paragraph(f"Adversary: {_one_count_adversary(one_count)}.")
    if of_rho:
        noise = sentence(
            "Noise: discrete Gaussian, variance {variance} = 1/(2 rho), as in the paper; a rho calibrated "
            "for replacement of one record has noise of variance 1/rho = {twice}, which --variance takes.",
            variance=_brief(variance, 6),
            twice=_brief(2 * variance, 6),
        )
    else:
        noise = sentence("Noise: discrete Gaussian, variance {variance}.", variance=_brief(variance, 6))
    yield Paragraph(noise)
    if one_count.attack.nonnegative:
        yield "A published 0 may stand for any value below it; the numbers allow for that."
    yield ""
    yield beliefs
    rule = (
        "Choosing the likelier answer"
        if one_count.costs == Costs()
        else "Choosing what costs less on average"
    )
    for prior, mean in means:
        yield ""
        yield sentence(
            "With prior {prior}, this adversary's posterior is {present} on average if the target is present "
            "({ratio} times the prior), and {absent} if absent.",
            prior=str(prior),
            present=_belief(mean["expected_posterior_given_present"]),
            ratio=_brief(mean["expected_ratio_given_present"]),
            absent=_belief(mean["expected_posterior_given_absent"]),
        )
        yield sentence(
            "{rule}, this adversary is right {present} if the target is present, {absent} if absent, and "
            "{prior} averaged over the prior; without the release, {unaided}.",
            rule=rule,
            unaided=_often(one_count.without_release(prior)),
            **{truth: _often(mean[f"accuracy_given_{truth}"]) for truth in TRUTHS},
        )


# -- several counts of the same person ---------------------------------------------------------------------


@describes(SeveralCounts)
def several_counts_answer(several_counts: SeveralCounts) -> Answer:
    """Say what several noisy counts of the same person tell, one after another and together.

    A ratio beyond all floats is not told to machines.

    >>> from discreet.disclosure.counts import several_counts
    >>> answer = several_counts_answer(several_counts([2, 1], prior=["1/2"], variance=[5, 2]))
    >>> print(answer.body[3])
    After all of them this adversary, with prior 1/2, gives “present” a probability of 0.6341, 1.268 times \
the prior.
    """
    each = [
        (prior, several_counts.steps(prior), several_counts.accuracies(prior))
        for prior in several_counts.priors
    ]
    adversary = f"someone who knows each of the {len(several_counts.noisy)} counts without the target"
    parts: list[Part] = [Paragraph(f"Adversary: {adversary}.")]
    results, saved = [], []
    for prior, steps, right in each:
        last, table = steps[-1], _steps(several_counts, steps)
        told = {"prior": prior, "posterior": last.posterior, "ratio": last.total_ratio, "steps": table}
        results.append(told | ({"accuracy": right} if right else {}))
        parts += ["", table, *_together(prior, last, len(steps), right)]
        saved += [
            (prior, s.noisy, s.variance, known, s.prior, s.posterior, s.ratio, s.total_ratio)
            for s, known in zip(steps, several_counts.known, strict=True)
        ]
    record = {
        "adversary": adversary,
        "counts": len(several_counts.noisy),
        "known": several_counts.known,
        "results": results,
    }
    tables = {"steps": AnswerTable(tuple(Column(key=key) for key in _SAVED), tuple(saved))}
    first = each[0][1][-1]
    facts = (
        Fact("posterior", _belief(first.posterior), f"prior {several_counts.priors[0]}"),
        Fact("ratio", _brief(first.total_ratio), "posterior over prior"),
    )
    command = "discreet risk single --together"
    return Answer("Several counts", record, tuple(parts), facts, tables=tables, command=command)


def _steps(several_counts: SeveralCounts, steps: Sequence[Step]) -> AnswerTable:
    return AnswerTable(
        _STEPS,
        tuple(
            (
                count_quantity(step.noisy),
                _brief(step.variance, 6),
                count_quantity(known),
                _belief(step.prior),
                _belief(step.posterior),
                _brief(step.ratio),
                step.ratio if math.isfinite(step.ratio) else None,
            )
            for step, known in zip(steps, several_counts.known, strict=True)
        ),
    )


def _together(prior: Number, last: Step, many: int, right: Mapping[str, float]) -> Iterator[Part]:
    yield sentence(
        "After all of them this adversary, with prior {prior}, gives “present” a probability of {posterior}, "
        "{ratio} times the prior.",
        prior=str(prior),
        posterior=_belief(last.posterior),
        ratio=_brief(last.total_ratio),
    )
    if right:
        yield sentence(
            "Choosing by all {many} counts, this adversary is right {present} if the target is present, "
            "{absent} if absent, and {prior} averaged over the prior.",
            many=str(many),
            **{truth: _often(share) for truth, share in right.items()},
        )
