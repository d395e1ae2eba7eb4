"""The answer of `discreet account`, as text and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.budget import AnswerKind
from discreet.cli.options import FLOAT_DIGITS
from discreet.cli.printing import say, table, write
from discreet.report import words
from discreet.report.releases import path_text
from discreet.report.tables import PrivacyRow

if TYPE_CHECKING:
    from discreet.accounting.overall import Account
    from discreet.budget import Release

REPORTED = 1e-10
"""The delta that the sentence below the table is about, if it was asked for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """All that was asked and found."""

    releases: Sequence[Release]
    account: Account
    rho: Fraction
    by_delta: Sequence[PrivacyRow]
    by_epsilon: Sequence[PrivacyRow]
    digits: int | None

    def tables(self) -> Iterator[tuple[str, str, Sequence[PrivacyRow]]]:
        """Yield what was given, what was asked, and the rows."""
        if self.by_delta:
            yield "delta", "epsilon", self.by_delta
        if self.by_epsilon:
            yield "epsilon", "delta", self.by_epsilon


def as_object(answer: Answer, seconds: float) -> dict[str, Any]:
    """Return the answer for JSON."""
    account, results = answer.account, []
    for given, asked, rows in answer.tables():
        for row in rows:
            result = {given: getattr(row, given), asked: getattr(row, asked), f"zcdp_{asked}": row.zcdp}
            result["worst"] = row.worst
            if row.certified is not None:
                lower, upper = words.interval(row.certified, answer.digits)
                result |= {"lower": Decimal(lower), "upper": Decimal(upper)}
            results.append(result)
    return {
        "release": account.name,
        "releases": [release.name for release in answer.releases],
        "unit": account.unit,
        "neighbours": account.neighbours,
        "people": account.people,
        "rho": str(answer.rho),
        "pairs": account.pairs,
        "answer": account.claim.as_dict(),
        "results": results,
        "cautions": [text for _, text in _cautions(answer)],
        "seconds": round(seconds, 3),
    }


def show(answer: Answer) -> None:
    """Write the answer as text."""
    account, releases = answer.account, answer.releases
    digits = min(answer.digits or words.DIGITS, FLOAT_DIGITS)
    for release in releases:
        say(f"{release.name}: {release.title}" if release.title else release.name, indent="  ")
    who = words.relation(account.neighbours, account.unit, account.people)
    together = "together " if len(releases) > 1 else ""
    rho = f"zCDP rho {together}{words.with_fraction(answer.rho)}"
    say(f"Neighbours: {who} ({account.neighbours}). {rho}. {words.compared(account)}.", indent="  ")
    worst = "worst pair" if account.neighbours == "bounded" else "worst path"
    for given, asked, rows in answer.tables():
        write("\n")
        columns = (given, account.claim.kind.titled(asked), f"zCDP {asked}", "difference", worst)
        cells = _epsilon_cells if asked == "epsilon" else _delta_cells
        table(columns, [(*cells(row, account, digits), words.label(row.worst)) for row in rows], left=(0, 4))
    _show_certified(answer)
    write("\n")
    if account.claim.kind is not AnswerKind.EXACT:
        say(account.claim.kind.sentence)
    for row in answer.by_delta:
        if row.delta == REPORTED or len(answer.by_delta) == 1:
            say(_sentence(row, digits, account.claim.kind))
            break
    for line in _worst_paths(answer):
        say(line, indent="  ")
    for source, text in _cautions(answer):
        about = f"Note on {source.name}" if source and len(releases) > 1 else "Note"
        say(f"{about}: {text}", indent="  ")


def _epsilon_cells(row: PrivacyRow, account: Account, digits: int) -> tuple[str, ...]:
    gap = row.epsilon - row.zcdp
    return (
        words.plain(row.delta),
        account.claim.kind.number(row.epsilon, digits),
        words.number(row.zcdp, digits),
        f"{words.change(gap)} ({words.percent(gap / row.zcdp)})",
    )


def _delta_cells(row: PrivacyRow, account: Account, digits: int) -> tuple[str, ...]:
    zero = row.delta == 0 and account.case(row.worst).log_delta(epsilon=row.epsilon) == -math.inf
    return (
        words.plain(row.epsilon),
        account.claim.kind.number(row.delta, digits) if row.delta >= 1e-300 or zero else "below 1e-300",
        words.probability(row.zcdp, digits),
        f"{words.number(row.zcdp / row.delta, 3)} times less" if row.delta > 0 else "-",
    )


def _show_certified(answer: Answer) -> None:
    lines = []
    for given, asked, rows in answer.tables():
        for row in rows:
            if row.certified is not None:
                lower, upper = words.interval(row.certified, answer.digits)
                at = f"{given} {words.plain(getattr(row, given))}:"
                lines.append((at, f"{lower} <= {asked} <= {upper}"))
    if lines:
        write("\n")
        say("Certified by ball arithmetic, ends rounded outward:")
        width = max(len(at) for at, _ in lines)
        write("".join(f"  {at:<{width}}  {text}\n" for at, text in lines))


def _sentence(row: PrivacyRow, digits: int, kind: AnswerKind) -> str:
    gap = row.zcdp - row.epsilon
    text = f"At delta {words.plain(row.delta)} {kind.states('epsilon', row.epsilon, digits)}"
    if row.epsilon <= 0:
        return f"{text}: delta alone covers all that can be lost."
    return (
        f"{text}, {words.number(gap, 3)} ({words.percent(gap / row.zcdp)}) below the "
        f"{words.number(row.zcdp, digits)} of the usual zCDP conversion."
    )


def _worst_paths(answer: Answer) -> list[str]:
    """Say which levels the worst paths merge."""
    release = answer.releases[0]
    if len(answer.releases) > 1 or len(release.paths) == 1:
        return []
    rows = [*answer.by_delta, *answer.by_epsilon]
    numbers = sorted({number for row in rows for number in row.worst})
    return [f"Path {number}: {path_text(release, number)}." for number in numbers]


def _cautions(answer: Answer) -> list[tuple[Release | None, str]]:
    """What limits how the result may be read, with the release it is about."""
    found: list[tuple[Release | None, str]] = []
    if len(answer.releases) > 1 and answer.account.claim.kind is AnswerKind.MAIN:
        text = (
            "Only the main path of each release is accounted for, the one that merges nothing; "
            "other combinations of paths may cost a little more. --all-pairs compares them all."
        )
        found.append((None, text))
    for release in answer.releases:
        if release.neighbours != answer.account.neighbours:
            who = words.relation(release.neighbours, release.unit)
            found.append((release, f"The noise was calibrated for {release.neighbours} neighbours ({who})."))
        notes = words.cautions(release, all_paths=answer.account.pairs > 1)
        found += [(release, text) for text in notes]
    return found
