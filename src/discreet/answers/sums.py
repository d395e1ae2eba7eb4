"""What queries add up, and what clipping takes away, in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.answers.answer import Sentence, sentence
from discreet.answers.quantity import Quantity, Style
from discreet.budget import Release, Variable
from discreet.budget.variables import COUNT, as_decimal

if TYPE_CHECKING:
    from discreet.estimation.output.clipping import Clipped, TakenAway


def has_sums(release: Release) -> bool:
    """Whether a release has other numbers than counts.

    >>> from discreet.budget import load
    >>> has_sums(load("pl94-2020"))
    False
    """
    return any(variable.is_sum for variable in release.variables.values())


def counts_word(release: Release) -> str:
    """Name the numbers of a release.

    >>> from discreet.budget import load
    >>> counts_word(load("pl94-2020"))
    'counts'
    """
    return "counts and sums" if has_sums(release) else "counts"


def sums_notes(release: Release) -> Iterator[str]:
    """Say what each query adds up that does not simply count records, and how one record is bounded.

    >>> from discreet.budget import Level, Query, Release, Variable
    >>> hours = Query(name="hours", variable=Variable(sum="hours", at_most=80, unit="1/2"), variance=400)
    >>> release = Release(name="work", neighbours="bounded", levels=[Level(name="US", queries=[hours])])
    >>> print(*sums_notes(release), sep="\\n")
    hours: sum of hours, rounded to multiples of 0.5 and clipped at 80; one record adds at most 160 units of \
0.5.
    Variances are of the noise, in units; standard deviations, margins and estimates are in what is summed.
    """
    known = dict.fromkeys(each for each in release.variables.values() if each.is_sum)
    for variable in known:
        yield f"{variable.name or 'Counts'}: {_adds(variable)}; one record adds at most {_bound(variable)}."
    if any(each.step != 1 for each in known):
        yield (
            "Variances are of the noise, in units; standard deviations, margins and estimates are in what is "
            "summed."
        )


def _adds(variable: Variable) -> str:
    """Say what a sum adds up."""
    if variable.sum is None:
        assert variable.weight is not None
        rounded = _clipped_at(variable.weight.unit, variable.weight.at_most)
        return f"sum of weights ({variable.weight.column}), {rounded}"
    assert variable.at_most is not None
    above = "" if variable.above is None else f"what lies above {as_decimal(variable.above)} of "
    own = f"sum of {above}{variable.sum}, {_clipped_at(variable.unit, variable.at_most)}"
    return f"{own}, times the weight" if variable.weight is not None else own


def _clipped_at(unit: Fraction, at_most: Fraction) -> str:
    return f"rounded to multiples of {as_decimal(unit)} and clipped at {as_decimal(at_most)}"


def _bound(variable: Variable) -> str:
    units = Quantity(variable.bound, Style.COUNT)
    return str(units) if variable.step == 1 else f"{units} units of {as_decimal(variable.step)}"


def variable_record(variable: Variable) -> dict[str, object]:
    """Return what a query adds up, for machines; nothing if it counts records.

    >>> variable_record(Variable(sum="hours", at_most=80))["adds_up"]["at_most"]
    '80'
    """
    if variable == COUNT:
        return {}
    texts = {
        key: str(value) if isinstance(value, Fraction) else value for key, value in asdict(variable).items()
    }
    if variable.weight is not None:
        texts["weight"] = {key: str(value) for key, value in asdict(variable.weight).items()}
    stated = {key: value for key, value in texts.items() if value is not None}
    return {"adds_up": {**stated, "in_units_of": str(variable.step)}}


# -- what clipping takes away --------------------------------------------------------------------------------


def clipped_sentences(clipped: Sequence[Clipped]) -> Iterator[Sentence]:
    """Say what clipping took away of each column, or which queries would tell it."""
    for lost in clipped:
        what = f"weights ({lost.column})" if lost.is_weight else lost.column
        bound = as_decimal(lost.at_most)
        if lost.records is None and lost.amount is None:
            records, amount = lost.queries
            yield sentence(
                "What clipping {what} at {bound} takes away is not measured; the queries {records} and "
                "{amount} would tell.",
                what=what,
                bound=bound,
                records=f'"{records}"',
                amount=f'"{amount}"',
            )
            continue
        parts = []
        if lost.amount is not None:
            parts.append(_taken(lost.amount, ""))
        if lost.records is not None:
            parts.append(_taken(lost.records, " records"))
        join = " from about " if len(parts) == 2 else ""
        lead = "took away about " if lost.amount is not None else "changed about "
        beyond = (
            ""
            if lost.beyond is None or lost.amount is None
            else (f" What a record has above {as_decimal(lost.beyond)} is not in it.")
        )
        yield sentence(
            "Clipping {what} at {bound} {lead}{parts}.{beyond}",
            what=what,
            bound=bound,
            lead=lead,
            parts=join.join(parts),
            beyond=beyond,
        )


def _taken(taken: TakenAway, word: str) -> str:
    """Write an estimate with its interval, rounded outwards."""
    about = _whole(max(taken.estimate, 0.0), round)
    return f"{about}{word} (95 %: {_whole(taken.lower95, math.floor)} to {_whole(taken.upper95, math.ceil)})"


def _whole(number: float, turn: object) -> str:
    if abs(number) < 1000:
        return str(Quantity(number, Style.BRIEF, digits=4))
    assert callable(turn)
    return str(Quantity(int(turn(number)), Style.COUNT))


def clipped_records(clipped: Iterable[Clipped]) -> list[dict[str, object]]:
    """Return what clipping took away, for machines."""
    return [{**asdict(lost), "at_most": str(lost.at_most), "beyond": _text(lost.beyond)} for lost in clipped]


def _text(number: Fraction | None) -> str | None:
    return None if number is None else str(number)
