"""The law that was chosen for a promise, in words and tables: beside the noise before and the Gaussian."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.answers.answer import AnswerTable, Cell, Column, Paragraph, Part, Sentence, sentence
from discreet.answers.quantity import Quantity, Style
from discreet.budget.level_names import level_name
from discreet.promises.best_law import COARSE, FINE, LawChoice, Objective, law_name

_LEAST = {"variance": "the variance", "margin": "the 95 % margin"}


def law_record(choice: LawChoice) -> dict[str, object]:
    """Return what `--json` says of a choice."""
    return {
        "asked": choice.asked,
        "objective": str(choice.objective),
        "laws": [{"level": level, "exponent": str(exponent)} for level, exponent in choice.laws],
        "comparison": sides_table(choice),
        "tried": [
            {
                "exponents": [str(exponent) for exponent in law.exponents],
                "factor": law.factor,
                "objective": law.value,
            }
            for law in choice.tried
        ],
        "saved": dict(zip(("today", "gaussian"), choice.saved, strict=True)),
    }


def sides_table(choice: LawChoice) -> AnswerTable:
    """Return the noise before, the Gaussian that keeps the same promise, and the noise that was chosen."""
    has_chance = choice.objective.kind == "chance"
    columns = (
        Column("noise", "noise", is_text=True),
        Column("variance", "variance"),
        Column("95 % margin", "margin"),
        *((Column(f"error above {choice.objective.beyond}", "chance"),) if has_chance else ()),
    )
    sides = [
        ("as it was", choice.today),
        ("discrete Gaussian, same promise", choice.gaussian),
        (f"{laws_words(choice)}, same promise", choice.found),
    ]
    rows: list[tuple[Cell, ...]] = []
    for name, side in sides:
        if side is None:
            continue
        sizes = [side.variance, side.margin, *([side.chance] if side.chance is not None else [])]
        rows.append((name, *(Quantity(size, Style.BRIEF, digits=5) for size in sizes)))
    return AnswerTable(columns, tuple(rows))


def laws_words(choice: LawChoice) -> str:
    """Name the law, or the law of each level.

    >>> from discreet.promises.calibrating import calibrate
    >>> from discreet.noise import DiscreteGaussian
    >>> found = calibrate([DiscreteGaussian(variance=5, times=2)], epsilon=2, delta="1e-6", law="laplace")
    >>> laws_words(found.law)
    'discrete Laplace'
    """
    if len(choice.names) == 1:
        return choice.names[0]
    return "; ".join(f"{level_name(level)}: {law_name(exponent)}" for level, exponent in choice.laws)


def law_parts(choice: LawChoice) -> Iterator[Part]:
    """Say which law was chosen, what it saves, and how it was found."""
    yield sides_table(choice)
    yield "Means over all queries; variances and margins relative to those before, margins interpolated."
    yield ""
    yield _saved_sentence(choice)
    if choice.tried:
        yield Paragraph(_search_sentence(choice))


def _aim(objective: Objective) -> str:
    return _LEAST.get(objective.kind, f"the chance of an error above {objective.beyond}")


def _saved_sentence(choice: LawChoice) -> Sentence:
    today, gaussian = choice.saved
    name = laws_words(choice)
    words = f"{name[0].upper()}{name[1:]} noise: {_aim(choice.objective)} is {{today}}"
    beside = {"today": _beside(today, "with the noise before")}
    if gaussian is not None:
        words += ", and {gaussian}"
        beside["gaussian"] = _beside(gaussian, "with Gaussian noise that keeps the same promise")
    return sentence(words + ".", **beside)


def _beside(saved: float, other: str) -> Sentence:
    """Compare in percent, or as a multiple of more than two.

    >>> print(_beside(0.141, "before"), "|", _beside(-16.7, "before"))
    14.1 % less than before | 17.7 times what it is before
    """
    if saved < -1:
        return sentence(f"{{factor}} times what it is {other}", factor=Quantity(1 - saved, Style.FACTOR))
    size = Quantity(abs(saved), Style.PERCENT)
    return sentence(f"{{size}} {'less' if saved >= 0 else 'more'} than {other}", size=size)


def _search_sentence(choice: LawChoice) -> Sentence:
    return sentence(
        "{aim} was least among exponents between 1 (Laplace) and 2 (Gaussian){how}. That is a search: an "
        "exponent in between may be slightly better. The promise does not depend on it.",
        aim=_aim(choice.objective).capitalize(),
        how=f" in steps of {COARSE}, then {FINE}"
        if choice.asked == "best"
        else f" of each level, by {COARSE}",
    )
