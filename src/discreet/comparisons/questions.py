"""What is asked of an account beside zCDP's: its cost, and two costs side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from discreet.accounting.questions import Accuracy, Deltas, Jobs, People, Relation
from discreet.budget.events import Releasable, Releasables
from discreet.numbers import Exact
from discreet.questions import Option, repeated_option


@dataclass(frozen=True, slots=True, eq=False)
class Accounting:
    """What `privacy_table` takes, and the command `account`."""

    releases: Releasables
    _: KW_ONLY
    delta: Deltas = ()
    epsilon: Annotated[
        Exact | Sequence[Exact],
        repeated_option("Delta at this epsilon, an exact number such as 4; may be repeated.", "E", "epsilon"),
    ] = ()
    pair: Annotated[tuple[int, int] | None, Option("Only this pair of paths (bounded).", "I J")] = None
    path: Annotated[int | None, Option("Only this path (unbounded).", "I")] = None
    all_pairs: Annotated[
        bool,
        Option(
            "For several releases: every combination of their paths, or only the main paths.",
            negative="main-path",
        ),
    ] = True
    one_area: Annotated[
        Sequence[str],
        repeated_option(
            "This level has a single area: leave out its totals, which replacing a record cannot change; may "
            "be repeated.",
            "LEVEL",
            "one-area",
        ),
    ] = ()
    certify: Annotated[bool, Option("Add intervals that provably contain the values of the table.")] = False
    digits: Annotated[int | None, Option("Significant digits of the results.", "N")] = None
    accuracy: Accuracy = None
    neighbours: Relation = None
    people: People = 1
    jobs: Jobs = 1
    progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Comparing:
    """What `compare` takes."""

    a: Releasable
    b: Releasable
    _: KW_ONLY
    delta: Deltas = ()
    accuracy: Accuracy = None
    neighbours: Relation = None
    people: People = 1
    jobs: Jobs = 1
    progress: Callable[[int, int], None] | None = None
