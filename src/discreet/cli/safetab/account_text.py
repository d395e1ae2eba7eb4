"""The answer of `discreet safetab account`, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.budget import Neighbours
from discreet.cli.printing import say, table, write
from discreet.noise import Noise
from discreet.release.safetab.account import PassAccount
from discreet.release.safetab.configuration import Configuration
from discreet.release.safetab.mechanism import Mechanism, margin, variance_of
from discreet.release.safetab.safetab_toml import BUDGET_WORDS
from discreet.release.safetab.specification import Specification
from discreet.report import words

_PASS_WORDS = {"US": "United States", "PR": "Puerto Rico"}
_IN_WORDS = {"US": "the United States", "PR": "Puerto Rico"}


@dataclass(frozen=True, slots=True)
class Answer:
    """All that was asked and found."""

    configuration: Configuration
    specification: Specification
    passes: Sequence[PassAccount]
    relations: Sequence[Neighbours]

    @property
    def word(self) -> str:
        """What a budget is called."""
        return BUDGET_WORDS[self.configuration.privacy]

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said about the parameters."""
        return (*self.configuration.notes, *self.specification.notes)


def as_object(answer: Answer, seconds: float) -> dict[str, Any]:
    """Return the answer for JSON; exact numbers are fractions in quotes, an infinite budget is null."""
    return {
        "privacy": answer.configuration.privacy,
        "passes": [_pass_object(answer, one) for one in answer.passes],
        "notes": list(answer.notes),
        "seconds": round(seconds, 3),
    }


def _pass_object(answer: Answer, one: PassAccount) -> dict[str, Any]:
    zcdp = answer.configuration.privacy == "zcdp"
    results = [
        {
            "neighbours": cost.neighbours,
            "delta": float(cost.delta),
            "epsilon": cost.epsilon,
            "zcdp_epsilon" if zcdp else "pure_epsilon": cost.converted,
            **({"variance_reduction": cost.reduction} if zcdp else {}),
        }
        for cost in one.costs
    ]
    return {
        "pass": one.which,
        "private": one.total is not None,
        "answer": one.claim.as_dict(),
        **{f"{answer.word}_{relation}": _exact(one.total_for(relation)) for relation in answer.relations},
        "results": results,
        "levels": [_level_object(answer, part) for part in one.mechanisms],
    }


def _level_object(answer: Answer, part: Mechanism) -> dict[str, Any]:
    return {
        "geography": part.geography,
        "level": part.level,
        "groups": len(answer.specification.tabulated(part.geography, part.level)),
        "stability": part.stability.value,
        "stability_because": part.stability.why,
        answer.word: _exact(part.budget),
        "variance_total_only": _exact(variance_of(part.total_only)),
        "variance_stage_1": _exact(variance_of(part.stage_one)),
        "variance_stage_2": _exact(variance_of(part.stage_two)),
        "margin_of_error": margin(part.stage_two),
        "thresholds": list(part.thresholds),
        "suppressed_up_to": part.suppression,
    }


def show(answer: Answer) -> None:
    """Write the answer as text."""
    for place, one in enumerate(answer.passes):
        if place:
            write("\n")
        say(f"{_PASS_WORDS[one.which]}: noise and thresholds", indent="  ")
        write("\n")
        _show_levels(answer, one)
        write("\n")
        _show_totals(answer, one)
    write("\n")
    for text in _remarks(answer):
        say(text, indent="  ")


def _show_levels(answer: Answer, one: PassAccount) -> None:
    columns = ("geography", "L", "s", answer.word, "stage 1", "stage 2", "total", "MOE", "thresholds", "T")
    table(columns, [_row(part) for part in one.mechanisms], left=(0,))


def _row(part: Mechanism) -> tuple[str, ...]:
    return (
        part.geography,
        str(part.level),
        str(part.stability.value),
        "infinite" if part.budget is None else words.plain(part.budget),
        *(_variance(noise) for noise in (part.stage_one, part.stage_two, part.total_only)),
        str(margin(part.stage_two)),
        " / ".join(map(str, part.thresholds)),
        "-" if part.suppression is None else str(part.suppression),
    )


def _show_totals(answer: Answer, one: PassAccount) -> None:
    if one.total is None:
        names = ", ".join(f"{part.geography} level {part.level}" for part in one.infinite)
        say(f"No privacy: the budget is infinite, so exact counts are released, at {names}.", indent="  ")
        return
    zcdp = answer.configuration.privacy == "zcdp"
    for relation in answer.relations:
        total = one.total_for(relation)
        kind = "zCDP rho" if zcdp else "pure epsilon"
        who = words.relation(relation)
        if relation == "bounded" and one.replacing != one.which:
            who += f" who may live in {_IN_WORDS[one.replacing]}"
        if total is None:
            say(f"Neighbours: {who} ({relation}). No privacy: some of their counts have no noise.")
        else:
            say(f"Neighbours: {who} ({relation}). {kind} {words.with_fraction(total)}.")
    write("\n")
    columns = [
        "neighbours",
        "delta",
        one.claim.kind.titled("epsilon"),
        "zCDP epsilon" if zcdp else "sum of epsilons",
        "difference",
    ]
    rows = []
    for cost in one.costs:
        row = [cost.neighbours, words.plain(cost.delta)]
        if cost.epsilon is None:
            row += ["-", words.number(cost.converted), "-"]
        else:
            gap = cost.epsilon - cost.converted
            row += [one.claim.kind.number(cost.epsilon), words.number(cost.converted)]
            row.append(f"{words.change(gap)} ({words.percent(gap / cost.converted)})")
        if zcdp:
            row.append("-" if cost.reduction is None else f"{100 * cost.reduction:.3f} %")
        rows.append(row)
    table([*columns, "variance to spare"][: len(columns) + zcdp], rows, left=(0, 1))


def _remarks(answer: Answer) -> list[str]:
    remarks = [
        "L: level of the groups, 1 regional and 2 detailed. s: groups of one region that a person can be in. "
        "stage 1, stage 2, total: variance of the count that picks the table, of each published cell, and of "
        "groups that get a total only.",
        "MOE: 95 % margin of error of a published cell. thresholds: from which counts on sex by 4, 9 or 23 "
        "ages are shown. T: below the states, a group that got a total only is dropped if its noisy count is "
        "not above T.",
    ]
    if answer.configuration.privacy == "zcdp" and any(one.costs for one in answer.passes):
        remarks.append(
            "variance to spare: how much smaller all variances could be with zCDP's promise at this delta "
            "still kept, exactly."
        )
    for said in dict.fromkeys(one.claim for one in answer.passes if one.costs):
        remarks.append(str(said))
    if len(answer.passes) == 2:
        remarks.append(
            "The two passes are over different people: one person meets one of them. If a resident of the "
            "other pass takes the place, both are met."
        )
    if any(cost.epsilon is None for one in answer.passes for cost in one.costs):
        remarks.append("epsilon -: the budgets are too large for it to be computed, or to matter.")
    unpaired = sorted(
        {p.stability.why for one in answer.passes for p in one.mechanisms if not p.stability.paired}
    )
    remarks += [f"Stability: {why}." for why in unpaired]
    return remarks + [f"Note: {note}." for note in answer.notes]


def _variance(noise: Noise | None) -> str:
    return "none" if noise is None else f"{float(variance_of(noise)):.4g}"


def _exact(value: Fraction | float | None) -> str | float | None:
    return str(value) if isinstance(value, Fraction) else value
