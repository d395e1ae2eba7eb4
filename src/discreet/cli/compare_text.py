"""The answer of `discreet compare`, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.budget import AnswerKind
from discreet.cli.printing import say, table, write
from discreet.report import words
from discreet.report.releases import VariancePair, matching_variances, preset_object
from discreet.report.tables import PrivacyRow, zcdp_of

if TYPE_CHECKING:
    from discreet.accounting.overall import Account
    from discreet.budget import Release


class Side(NamedTuple):
    """One of the two releases, its account, and its rows."""

    release: Release
    account: Account
    rows: Sequence[PrivacyRow]


def as_object(a: Side, b: Side, seconds: float) -> dict[str, Any]:
    """Return the answer for JSON."""
    return {
        "a": _facts(a),
        "b": _facts(b),
        "results": [
            {
                "delta": one.delta,
                "a": {"epsilon": one.epsilon, "zcdp_epsilon": one.zcdp, "worst": one.worst},
                "b": {"epsilon": two.epsilon, "zcdp_epsilon": two.zcdp, "worst": two.worst},
                "difference": two.epsilon - one.epsilon,
            }
            for one, two in zip(a.rows, b.rows, strict=True)
        ],
        "variances": [
            {
                "level": pair.level,
                "query": pair.query,
                "a": str(pair.first),
                "b": str(pair.second),
                "ratio": pair.ratio,
            }
            for pair in matching_variances(a.release, b.release)
        ],
        "comparable": not _differences(a, b),
        "seconds": round(seconds, 3),
    }


def _facts(side: Side) -> dict[str, Any]:
    facts = preset_object(side.release)
    return facts | {
        "accounted": side.account.neighbours,
        "answer": side.account.claim.as_dict(),
        "accounted_rho": str(zcdp_of(side.account).rho),
        "pairs": side.account.pairs,
    }


def show(a: Side, b: Side) -> None:
    """Write the answer as text."""
    for letter, side in (("A", a), ("B", b)):
        who = words.relation(side.account.neighbours, side.account.unit, side.account.people)
        title = side.release.title or side.release.name
        say(f"{letter}: {side.release.name}. {title}", indent="   ")
        rho = words.with_fraction(zcdp_of(side.account).rho)
        say(
            f"   {who} ({side.account.neighbours} neighbours); zCDP rho {rho}; "
            f"{words.compared(side.account).lower()}",
            indent="   ",
        )
    write("\n")
    rows = [
        (
            words.plain(one.delta),
            a.account.claim.kind.number(one.epsilon),
            b.account.claim.kind.number(two.epsilon),
            words.change(two.epsilon - one.epsilon),
            words.number(one.zcdp),
            words.number(two.zcdp),
        )
        for one, two in zip(a.rows, b.rows, strict=True)
    ]
    titles = (
        f"{letter}, {side.account.claim.kind.titled('epsilon')}" for letter, side in (("A", a), ("B", b))
    )
    columns = ("delta", *titles, "B minus A", "A, zCDP", "B, zCDP")
    table(columns, rows)
    write("\n")
    for line in _differences(a, b):
        say(line)
    say(_verdict(a, b))
    for letter, side in (("A", a), ("B", b)):
        if side.account.claim.kind is not AnswerKind.EXACT:
            say(f"{letter}: {side.account.claim.kind.sentence}")
        for note in words.cautions(side.release):
            say(f"Note on {letter}: {note}", indent="  ")
    _print_variances(a, b)


def _differences(a: Side, b: Side) -> list[str]:
    """Say why the two epsilons may not mean the same."""
    lines = []
    if a.account.neighbours != b.account.neighbours:
        lines.append(
            f"A is about {a.account.neighbours} and B about {b.account.neighbours} neighbours, so the two "
            "epsilons promise different things; --neighbours takes one relation for both."
        )
    if a.account.unit != b.account.unit:
        lines.append(f"A protects a {a.account.unit}, B a {b.account.unit}.")
    return lines


def _verdict(a: Side, b: Side) -> str:
    """Say in words which of the two promises more."""
    pairs = list(zip(a.rows, b.rows, strict=True))
    signs = {_sign(one.epsilon, two.epsilon) for one, two in pairs}
    if signs == {0}:
        return "Both have the same epsilon at every delta shown, to the digits shown."
    if {1, -1} <= signs:
        return "Neither promises more throughout: which epsilon is smaller depends on delta."
    lower, higher = ("A", "B") if 1 in signs else ("B", "A")
    one, two = next((pair for pair in pairs if pair[0].delta == 1e-10), pairs[0])
    kinds = {"A": a.account.claim.kind, "B": b.account.claim.kind}
    if kinds[lower] not in (AnswerKind.EXACT, AnswerKind.BOUND) or kinds[higher] is not AnswerKind.EXACT:
        return (
            f"At delta {words.plain(one.delta)} A has epsilon {kinds['A'].beside(one.epsilon)} and B "
            f"{kinds['B'].beside(two.epsilon)}: which promises more cannot be said from these."
        )
    small, large = sorted((one.epsilon, two.epsilon))
    is_bound = kinds[lower] is AnswerKind.BOUND
    small_text = kinds[lower].beside(small) if is_bound else words.number(small)
    gap = f"{words.number(large - small, 3)} ({words.percent((large - small) / large)})"
    gap = f"at least {gap}" if is_bound else gap
    return (
        f"At delta {words.plain(one.delta)} {lower} has epsilon {small_text}, "
        f"{gap} less than {higher}'s {words.number(large)}: {lower} promises more."
    )


def _sign(first: float, second: float) -> int:
    """Which is larger, to the digits shown."""
    if words.number(first) == words.number(second):
        return 0
    return 1 if second > first else -1


def _print_variances(a: Side, b: Side) -> None:
    pairs = matching_variances(a.release, b.release)
    write("\n")
    if not pairs:
        say("No level and query have the same names in both.")
        return
    say("Variance of the noise, where level and query have the same names in both:")
    level, rows = "", []
    for pair in pairs:
        rows.append(_variance_cells(pair, first=pair.level != level))
        level = pair.level
    table(("level", "query", "A", "B", "B / A"), rows, left=(0, 1))


def _variance_cells(pair: VariancePair, *, first: bool) -> tuple[str, ...]:
    return (
        pair.level if first else "",
        pair.query,
        words.plain(pair.first),
        words.plain(pair.second),
        words.number(pair.ratio, 4),
    )
