"""What `discreet calibrate` prints."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.budget import AnswerKind
from discreet.cli.printing import say, table, write
from discreet.numbers import Interval, decimal
from discreet.report.words import plain

if TYPE_CHECKING:
    from discreet.accounting.calibration import Calibration, NoiseChange
    from discreet.budget import Release


def as_object(release: Release, found: Calibration, box: Interval | None, seconds: float) -> dict[str, Any]:
    """The answer as one JSON object."""
    made: dict[str, Any] = {
        "release": release.name,
        "neighbours": found.neighbours,
        "factor": None if found.factor is None else float(found.factor),
        "reduction": found.reduction,
        "epsilon": None if found.epsilon is None else float(found.epsilon),
        "delta": float(found.delta),
        "answer": found.claim.as_dict(),
        "lower": None if found.proof is None else float(found.proof.lower),
        "upper": None if found.proof is None else float(found.proof.upper),
        "price": found.price,
        "levels": [
            {
                "name": level.name,
                "factor": float(level.factor),
                "before": float(level.before),
                "after": float(level.after),
                **({} if level.epsilon is None else {"epsilon": float(level.epsilon)}),
                "queries": [
                    {
                        "name": query.name,
                        "before": str(query.before),
                        "after": str(query.after),
                        "margins": list(query.margins),
                    }
                    for query in level.queries
                ],
            }
            for level in found.levels
        ],
        "notes": list(found.notes),
        "seconds": seconds,
    }
    if box is not None:
        made["certified_epsilon"] = {"lower": float(box.lower), "upper": float(box.upper)}
    return made


def show(release: Release, found: Calibration, box: Interval | None) -> None:
    """The answer for a reader."""
    say(f"{release.name}: {release.title}" if release.title else release.name)
    say(f"{found.neighbours.capitalize()} neighbours, delta {plain(found.delta)}. {' '.join(found.notes)}")
    write("\n")
    rows = []
    for level in found.levels:
        for name, query in _distinct(level.queries):
            both = (query.before, query.after)
            rows.append(
                [
                    level.name,
                    name,
                    *(f"{float(v):.6g}" for v in both),
                    *(f"{math.sqrt(v):.4g}" for v in both),
                    *map(str, query.margins),
                    f"{-100 * query.saving:+.2f} %",
                ]
            )
    columns = [
        "level",
        "query",
        "variance",
        "new",
        "std. dev.",
        "new",
        "95 % margin",
        "new",
        "variance change",
    ]
    table(columns, rows, left=(0, 1))
    write("\n")
    delta = plain(found.delta)
    alone = found.by == "level"
    if found.factor is not None:
        size = (
            f"{float(found.factor):.6f}" if found.factor >= Fraction(1, 10) else f"{float(found.factor):.6g}"
        )
        say(
            f"All {_sizes(found)} times {found.factor} = {size}: {found.saved} "
            f"for epsilon {float(found.epsilon or 0):.6f} at delta {delta}."
        )
    elif found.epsilon is not None:
        who = "Each level by itself" if alone else "The new release"
        say(f"{who} keeps epsilon {float(found.epsilon):.6f} at delta {delta}.")
    if found.claim.kind is not AnswerKind.EXACT:
        say(str(found.claim))
    if found.proof is not None and alone:
        most = decimal(found.proof.upper, down=False)
        say(f"Proved: the true delta of each level at its promise is at most {most}, not above {delta}.")
    elif found.proof is not None:
        say(f"Proved: the true delta there lies in {found.proof}, not above {delta}.")
    if box is not None:
        say(f"Proved: the exact epsilon of the new release at delta {delta} lies in {box}.")
    if found.price is not None:
        which = "may be the better one at some level" if alone else "was the better one"  # levels cross apart
        below = plain(float(f"{found.price:.3g}"))
        say(
            f"The price: below delta {below} the zCDP promise of the old noise {which} "
            "(less noise costs more in the far tail)."
        )


def _sizes(found: Calibration) -> str:
    """What the factor is on: a Laplace scale is multiplied by its root."""
    laplace = [level.has_laplace for level in found.release.levels]
    if not any(laplace):
        return "variances"
    gaussian = any(query.scale is None for level in found.release.levels for query in level.queries)
    return "variances and squares of Laplace scales" if gaussian else "squares of scales"


def _distinct(queries: tuple[NoiseChange, ...]) -> list[tuple[str, NoiseChange]]:
    """One row for queries of equal noise."""
    groups: dict[tuple[Fraction, Fraction], list[NoiseChange]] = {}
    for query in queries:
        groups.setdefault((query.before, query.after), []).append(query)
    return [
        (alike[0].name if len(alike) == 1 else f"{len(alike)} queries alike", alike[0])
        for alike in groups.values()
    ]
