"""What is asked of an account: its cost, two costs side by side, and the least noise that keeps a promise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal

from discreet.budget.events import Releasable
from discreet.budget.neighbours import Neighbours
from discreet.numbers import Exact
from discreet.questions import Option, repeated_option

Relation = Annotated[
    Neighbours | None,
    Option(
        "bounded: one record is replaced; unbounded: one is added or removed. "
        "Default: what the release was calibrated for.",
        "bounded|unbounded",
    ),
]
People = Annotated[int, Option("Group privacy: the promise to K people who change together.", "K")]
Jobs = Annotated[int, Option("Processes; default: one for each CPU.", "N", reads=int | None)]
Deltas = Annotated[
    Exact | Sequence[Exact],
    repeated_option("Epsilon at this delta, an exact number such as 1e-10; may be repeated.", "D", "delta"),
]
Accuracy = Annotated[
    float | None,
    Option(
        "Trade accuracy for speed: how far an epsilon may be off, or what fraction of a delta.",
        "A",
        reads=str | None,
    ),
]
Law = Annotated[
    str | None,
    Option(
        "Change the law of the noise: the best for all levels, the best for each, or the one you name.",
        "best|each|gaussian|laplace|power:P",
    ),
]


@dataclass(frozen=True, slots=True, eq=False)
class Calibrating:
    """What `calibrate` takes."""

    release: Releasable
    _: KW_ONLY
    delta: Annotated[Exact, Option("The delta of the promise, such as 1e-10.", "D", reads=str)]
    epsilon: Annotated[Exact | None, Option("The epsilon of the promise.", "E", reads=str | None)] = None
    zcdp: Annotated[bool, Option("Keep what zCDP promises at this delta.")] = False
    by: Annotated[
        Literal["overall", "level"],
        Option("One factor for all variances, or one for each level.", "overall|level"),
    ] = "overall"
    weights: Annotated[
        Mapping[str, Exact] | None, Option("Share the gain unevenly.", "LEVEL=W,...", reads=str | None)
    ] = None
    moe: Annotated[
        Mapping[str, Exact] | None,
        Option("Instead of a promise: the 95 % margins of error you want.", "LEVEL=M,...", reads=str | None),
    ] = None
    law: Law = None
    objective: Annotated[
        str,
        Option(
            "What the best law makes least: variance (default), the 95 % margin, or the chance of an error "
            "above x.",
            "variance|margin|P(>x)",
            "for",
            reads=str | None,
        ),
    ] = "variance"
    neighbours: Relation = None
    accuracy: Accuracy = None
    certify: Annotated[bool, Option("Also prove the exact epsilon of the new release at delta.")] = False
    proof: bool = True
    jobs: Jobs = 1
    progress: Callable[[int, int], None] | None = None
